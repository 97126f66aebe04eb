/* Whether windows of neighbouring rows share what they read (cpu.h). */
#include "base/work.h"
#include "lower/cpu/cpu.h"

enum {
	MAX_TERMS = 100,
	MAX_WINDOW = 32,
	MAX_ROW = 64, /* longer rows wait for memory, not for loads from cache */
};

static const int ROWS[] = {4, 5, 3, 2}; /* in the order they are tried */

typedef struct Window {
	ExprCtx *ctx;
	Arena *arena;
	const Stage *stage;
} Window;

/* Whether the index grows by one with the iterator. */
static bool
moves_by_one(const Window *window, const Expr *index, int iter)
{
	ExprCtx *ctx = window->ctx;
	int n = window->stage->nloop + window->stage->nreduce;
	const Expr **next = NEW_N(window->arena, const Expr *, n);
	stage_identity(ctx, n, next);
	next[iter] = expr_add(ctx, next[iter], expr_i64(ctx, 1));
	const Expr *step = expr_sub(ctx, expr_substitute(ctx, index, n, next), index);
	return expr_is_one(expr_simplify(facts_new(ctx, window->arena), step));
}

/* The reduction's iterator with which something is read at row + iterator; -1: nothing is. */
static int
find_counter(const Window *window, int row)
{
	const Stage *stage = window->stage;
	int counter = -1;
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
		for (int d = 0; walk.e->op == EX_read && d < walk.e->argc; d++) {
			const Expr *index = walk.e->arg[d];
			for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
				if (index->type == DT_I64 && expr_uses_iter(index, row) &&
				    expr_is_zero(stage->iters[i].lo) && moves_by_one(window, index, row) &&
				    moves_by_one(window, index, i))
					counter = i;
		}
	return counter;
}

/* Iterations from 0, or 0 where that is no number. */
static int64_t
extent_of(const Iter *iter)
{
	int64_t lo, hi;
	bool is_known = expr_as_i64(iter->lo, &lo) && expr_as_i64(iter->hi, &hi) && lo == 0;
	return is_known ? hi : 0;
}

/* Terms of a reduction over a small box, behind which stages are maps; else 0. */
static int64_t
window_terms(const Program *p)
{
	const Stage *stage = program_reduction(p);
	int64_t terms = 1;
	if (!stage)
		return 0;
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++) {
		int64_t extent = extent_of(&stage->iters[i]);
		terms = extent > MAX_WINDOW ? 0 : terms * extent;
		if (terms > MAX_WINDOW)
			return 0;
	}
	return terms;
}

int
window_rows(Arena *arena, const Group *group, int row, int lane, int *counter)
{
	const Stage *stage = group->program->stages[0];
	const Iter *iters = group->root->iters;
	int64_t terms = window_terms(group->program), pieces = 1;
	int64_t extent = extent_of(&iters[group->shared[row]]);
	int64_t length = extent_of(&iters[group->shared[lane]]);
	Window window = {group->program->ctx, arena, stage};
	if (terms == 0 || extent == 0 || length == 0 || length > MAX_ROW)
		return 0;
	for (int k = 0; k < group->nshared; k++)
		if (k != lane && extent_of(&iters[group->shared[k]]) > 0)
			pieces *= extent_of(&iters[group->shared[k]]);
	*counter = find_counter(&window, group->map[0][row]);
	for (size_t i = 0; *counter >= 0 && i < countof(ROWS); i++)
		if (extent % ROWS[i] == 0 && terms * ROWS[i] <= MAX_TERMS &&
		    pieces / ROWS[i] >= WORK_PIECES)
			return ROWS[i];
	return 0;
}
