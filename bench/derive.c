/* How fast a search over programs can be: every elementary derivation of every program that a
 * breadth-first search meets, once: apply it, put what comes out in canonical form, look it up. Two
 * memories: what the search keeps, and what a step makes, which goes when its state is done.
 *
 * usage: build/bench-derive [DEPTH]    3 by default; one thread, processor time, the best of 3 runs
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../tests/unit/derive_steps.h"
#include "base/map.h"
#include "expr/stage/intern.h"

enum { RUNS = 3 };

typedef struct Case {
	const char *name, *text;
} Case;

static const Case cases[] = {
	{"Conv3x3", "expr e(A: f32[1,7,7,512], K: f32[3,3,512,512]) -> Y {\n"
                " Y[n:1, h:7, w:7, f:512]: f32 = sum(c:512, r:3, s:3 where 0 <= h+r-1, h+r-1 < 7,"
                " 0 <= w+s-1, w+s-1 < 7) A[n, h+r-1, w+s-1, c] * K[r, s, f, c]\n}\n"},
	{"ConvTranspose 4x4, stride 2",
     "expr e(A: f32[16,2,2,448], K: f32[4,4,256,448]) -> Y {\n"
     " Y[n:16, h:4, w:4, f:256]: f32 = sum(c:448, r:4, s:4 where (h+1-r)%2 == 0,"
     " 0 <= (h+1-r)/2, (h+1-r)/2 < 2, (w+1-s)%2 == 0, 0 <= (w+1-s)/2, (w+1-s)/2 < 2)"
     " A[n, (h+1-r)/2, (w+1-s)/2, c] * K[r, s, f, c]\n}\n"},
};

static double
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the search ------------------------------------------------------------------------------ */

typedef struct Search {
	Arena *kept, *work;
	StageTable *table;
	VEC(const Program *) states;
	HashSet seen;
	int64_t steps, refused, again;
} Search;

/* Keep the program if it is new. */
static void
visit(Search *search, const Program *program)
{
	if (hash_set_add(search->kept, &search->seen, program_fingerprint(program)))
		vec_push(search->kept, &search->states, program_intern(search->table, program));
	else
		search->again++;
}

static void
expand(Search *search, const Program *state)
{
	ArenaMark mark = arena_mark(search->work);
	const Program *program = program_import(expr_ctx_beside(search->work, state->ctx), state, NULL);
	Steps steps = {.arena = search->work};
	list_steps(&steps, program);
	for (int i = 0; i < steps.list.count; i++) {
		const Program *next = apply_step(program, &steps.list.data[i], NULL);
		search->steps++;
		if (next)
			visit(search, program_canon_in(search->table, next));
		else
			search->refused++;
	}
	arena_release(search->work, mark);
}

/* Seconds of processor time. */
static double
run(const Case *test, int depth, bool is_last)
{
	Search search = {.kept = arena_new("kept"), .work = arena_new("work")};
	double begin = now();
	ExprCtx *ctx = expr_ctx_new(search.kept);
	search.table = stage_table_new(ctx);
	visit(&search, program_parse(ctx, "bench.e", test->text));
	for (int level = 0, from = 0; level < depth; level++)
		for (int to = search.states.count; from < to; from++)
			expand(&search, search.states.data[from]);
	double seconds = now() - begin;
	if (is_last)
		printf("%s, depth %d: %lld steps (%lld refused, %lld to programs met before), %d states of "
		       "%.0f bytes, and %.0f for a fingerprint\n",
		       test->name, depth, (long long)search.steps, (long long)search.refused,
		       (long long)search.again, search.states.count,
		       (double)arena_used(search.kept) / search.states.count,
		       (double)(search.seen.slot_count * sizeof *search.seen.slots) /
		           (double)search.seen.count);
	double rate = (double)search.steps / seconds;
	arena_free(search.work);
	arena_free(search.kept);
	return rate;
}

int
main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 3;
	for (size_t i = 0; i < countof(cases); i++) {
		double best = 0;
		for (int k = 0; k < RUNS; k++) {
			double rate = run(&cases[i], depth, k == RUNS - 1);
			best = rate > best ? rate : best;
		}
		printf("  %.0f steps a second\n", best);
	}
	return 0;
}
