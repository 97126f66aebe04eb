/* What a search finds where symbols have values is a way of the program with symbols, too: programs
 * of each law, each at many sizes.
 *
 * usage: einnet_sizes [SIZES [SEED]]    for each program; 8 in make test
 */
#include <stdio.h>
#include <stdlib.h>

#include "unit.h"

#include "einnet/derivation.h"
#include "einnet/search.h"
#include "expr/scalar/ctx.h"
#include "expr/stage/canon.h"
#include "random_number.h"

enum { SIZES = 8, SYMBOLS = 8, LARGEST = 40, CANDIDATES = 30 };

static int sizes = SIZES;
static uint64_t state = 1;
static Arena *arena;

typedef struct Open {
	const char *text;
	bool is_known;   /* the inputs behind the first */
	int alike, lost; /* of a hundred ways: at least so many cost the same, at most are lost */
} Open;

static const Open open_programs[] = {
	/* linear attention */
	{"expr f(Q: f32[2,N,16], K: f32[2,16,M], V: f32[2,M,L]) -> Y {\n"
     " T[b:2, n:N, m:M]: f32 = sum(k:16) Q[b, n, k] * K[b, k, m]\n"
     " Y[b:2, n:N, l:L]: f32 = sum(m:M) T[b, n, m] * V[b, m, l]\n}\n",
     false, 90, 0},
	/* of which the number of images is open */
	{"expr f(X: f32[N,5,11,13], K: f32[4,5,3,3]) -> Y {\n"
     " Y[n:N, f:4, p:11, q:13]: f32 = sum(c:5, r:3, s:3 where 0 <= p+r-1, p+r-1 < 11, 0 <= q+s-1,"
     " q+s-1 < 13) X[n, c, p+r-1, q+s-1] * K[f, c, r, s]\n}\n",
     true, 95, 0},
	{"expr f(X: f32[N,3,9], K: f32[3,4,4]) -> Y {\n"
     " Y[n:N, f:4, p:18]: f32 = sum(c:3, r:4 where (p+1-r)%2 == 0, 0 <= (p+1-r)/2,"
     " (p+1-r)/2 < 9) X[n, c, (p+1-r)/2] * K[c, f, r]\n}\n",
     true, 95, 0},
	{"expr f(X: f32[B,20,K], V: f32[B,20,K]) -> Y {\n"
     " Y[b:B, m:20, w:7]: f32 = sum(k:K where 0 <= m+2*w-6, m+2*w-6 < 20)"
     " X[b, m, k] * V[b, m+2*w-6, k]\n}\n",
     false, 95, 0},
	/* whose sides are open, too: less is proven there, and tiles are others; dilated */
	{"expr f(X: f32[N,5,H,W], K: f32[4,5,3,3]) -> Y {\n"
     " Y[n:N, f:4, p:H, q:W]: f32 = sum(c:5, r:3, s:3 where 0 <= p+r-1, p+r-1 < H, 0 <= q+s-1,"
     " q+s-1 < W) X[n, c, p+r-1, q+s-1] * K[f, c, r, s]\n}\n",
     true, 80, 15},
	{"expr f(X: f32[N,C,H,6], K: f32[4,C,3,2]) -> Y {\n"
     " Y[n:N, f:4, p:H, q:6]: f32 = sum(c:C, r:3, s:2 where 0 <= p+2*r-2, p+2*r-2 < H, q+s < 6)"
     " X[n, c, p+2*r-2, q+s] * K[f, c, r, s]\n}\n",
     true, 60, 30},
	/* a transposed one */
	{"expr f(X: f32[N,3,H], K: f32[3,4,4]) -> Y {\n"
     " Y[n:N, f:4, p:2*H]: f32 = sum(c:3, r:4 where (p+1-r)%2 == 0, 0 <= (p+1-r)/2,"
     " (p+1-r)/2 < H) X[n, c, (p+1-r)/2] * K[c, f, r]\n}\n",
     true, 65, 35},
	/* a band */
	{"expr f(X: f32[B,M,K], V: f32[B,M,K]) -> Y {\n"
     " Y[b:B, m:M, w:7]: f32 = sum(k:K where 0 <= m+2*w-6, m+2*w-6 < M)"
     " X[b, m, k] * V[b, m+2*w-6, k]\n}\n",
     false, 40, 45},
	/* siblings */
	{"expr f(X: f32[N,24], V: f32[24,16], W: f32[24,8]) -> Y, Z {\n"
     " Y[n:N, l:16]: f32 = sum(k:24) X[n, k] * V[k, l]\n"
     " Z[n:N, m:8]: f32 = sum(k:24) X[n, k] * W[k, m]\n}\n",
     true, 95, 0},
};

static int found, alike, lost;

static bool
is_alike(const Target *target, const bool *constant, const Program *open, const Cost *wanted)
{
	const Program *bound = program_canon(program_bind(open, target->probe));
	Cost cost = einnet_cost(einnet_calls_new(arena, target), arena, bound, constant);
	return cost.calls == wanted->calls && cost.kernels == wanted->kernels &&
	       cost.bytes == wanted->bytes && cost.flops == wanted->flops;
}

/* The way is one that replays, and what it leads to costs what was found. */
static void
try_candidate(const Program *program, const Target *target, const bool *constant,
              const Candidate *candidate)
{
	Derivation way;
	Reason why = "";
	const Program *end =
		derivation_generalize(arena, target, program, constant, &candidate->way, &way, &why);
	found++;
	lost += !end;
	if (!end)
		return;
	const Program *again = derivation_replay(arena, program, constant, &way);
	ck_assert_msg(again && hash128_equal(program_fingerprint(again), program_fingerprint(end)),
	              "%s leads elsewhere when it is replayed", derivation_text(arena, &way));
	alike += is_alike(target, constant, end, &candidate->cost);
}

static void
try_sizes(const Open *open)
{
	int64_t values[SYMBOLS];
	bool is_bound[SYMBOLS], constant[] = {false, open->is_known, open->is_known};
	for (int i = 0; i < SYMBOLS; i++) {
		values[i] = 1 + (int64_t)random_below(&state, LARGEST);
		is_bound[i] = true;
	}
	Binding binding = {SYMBOLS, values, is_bound};
	Target target = {.device = device_find("cpu:x86-64-v3"), .probe = &binding};
	const Program *program = program_parse(expr_ctx_new(arena), "open.e", open->text);
	program_check(program);
	SearchOptions options = {
		.target = &target, .constant = constant, .depth = 3, .states = 40, .keeps_dear = true};
	SearchResult result =
		einnet_search(arena, expr_ctx_new(arena), program_bind(program, &binding), &options);
	for (int i = 0; i < result.list.count && i < CANDIDATES; i++)
		try_candidate(program, &target, constant, &result.list.data[i]);
}

START_TEST(ways_are_found_again_with_symbols)
{
	const Open *open = &open_programs[_i];
	found = alike = lost = 0;
	for (int k = 0; k < sizes; k++) {
		arena = arena_new("test");
		try_sizes(open);
		arena_free(arena);
	}
	ck_assert_int_gt(found, 3 * sizes);
	if (sizes > SIZES)
		printf("%d ways, %d alike, %d lost\n", found, alike, lost);
	ck_assert_msg(100 * alike >= open->alike * found && 100 * lost <= open->lost * found,
	              "of %d ways %d are alike, %d lost, of\n%s", found, alike, lost, open->text);
}
END_TEST

int
main(int argc, char **argv)
{
	if (argc > 1)
		sizes = atoi(argv[1]);
	if (argc > 2)
		state = strtoull(argv[2], NULL, 10);
	TCase *tcase = tcase_create("sizes");
	tcase_add_loop_test(tcase, ways_are_found_again_with_symbols, 0, (int)countof(open_programs));
	return unit_run(tcase);
}
