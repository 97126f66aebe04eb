/* Schedules: every primitive keeps the meaning, by the interpreter, or refuses with the reason. */
#include <string.h>

#include "target/target.h"
#include "tir/loops/loops.h"
#include "tir/rewrite.h"
#include "tir/script.h"

#include "kernels.h"
#include "random_number.h"
#include "unit.h"

static const char ADD[] = "kernel add(N, X: f32[N,13], Y: out f32[N,13]) {\n"
						  "  for i in N, j in 13\n"
						  "    Y[i, j] = X[i, j] + 1\n"
						  "}\n";

/* ---- schedule primitives --------------------------------------------------------------------- */

static const char SUMS[] = "kernel sums(X: f32[20,70], Z: out f32[70], Y: out f32[70]) {\n"
						   "  for i in 70 {\n"
						   "    s: f32 @reg\n"
						   "    acc: f32 @reg = 0\n"
						   "    for k in 20\n"
						   "      if (k < 19)\n"
						   "        acc[] += X[k, i]\n"
						   "    s[] = acc[]\n"
						   "    Z[i] = s[]\n"
						   "    Y[i] = s[] * 2\n"
						   "  }\n"
						   "}\n";

static const char PRODUCT[] = "kernel mm(A: f32[14,20], B: f32[20,10], Y: out f32[14,10]) {\n"
							  "  for m in 14, n in 10 {\n"
							  "    acc: f32 @reg = 0\n"
							  "    for k in 20\n"
							  "      acc[] += A[m, k] * B[k, n]\n"
							  "    Y[m, n] = acc[]\n"
							  "  }\n"
							  "}\n";

static const char STAGES[] = "kernel stages(X: f32[30], Z: out f32[28], Y: out f32[28]) {\n"
							 "  t: f32[30] @stack\n"
							 "  s: f32[30] @stack\n"
							 "  for i in 30\n"
							 "    t[i] = X[i] * 2\n"
							 "  for i_1 in 30 {\n"
							 "    acc: f32 @reg = 0\n"
							 "    for k in 3\n"
							 "      if (0 <= i_1-k)\n"
							 "        acc[] += t[i_1-k]\n"
							 "    s[i_1] = acc[]\n"
							 "  }\n"
							 "  for j in 28 {\n"
							 "    Z[j] = s[j] - s[j+2]\n"
							 "    Y[j] = s[j+1] + X[29-j]\n"
							 "  }\n"
							 "}\n";

/* Where N is 3 the second loop does not run. */
static const char SHORT[] = "kernel k(N, Y: out f32[N]) {\n"
							"  for j in N\n"
							"    Y[j] = 0\n"
							"  for i in 5..N\n"
							"    Y[i] = 1\n"
							"}\n";

/* The scheduled kernel and what is computed by it, straight from the script and simplified. */
static void
same_meaning(const char *text, const char *steps)
{
	const Array *expected = evaluated(read_kernel(text));
	char *scheduled = arena_printf(arena, "%sschedule {\n%s}\n", text, steps);
	ck_assert_str_eq(printed(read_kernel(scheduled)), scheduled);
	for (int simplified = 0; simplified < 2; simplified++) {
		Kernel *kernel = read_kernel(scheduled);
		script_apply(kernel, kernel->script);
		kernel->script = NULL;
		if (simplified)
			tir_simplify(kernel);
		kernel_check(kernel);
		ck_assert_msg(array_same_bytes(evaluated(kernel), expected), "%s", printed(kernel));
		ck_assert_str_eq(printed(read_kernel(printed(kernel))), printed(kernel));
	}
}

START_TEST(test_primitives)
{
	static const struct {
		const char *text, *steps;
	} cases[] = {
		{CONV, "  split q 4 -> qo, qi\n"},
		{CONV, "  split_tail q 2 -> qo, qi, qt\n"},
		{CONV, "  split s 3 -> so, si\n"},
		{CONV, "  fuse p, q -> pq\n"},
		{CONV, "  reorder s, c, r\n"},
		{CONV, "  unroll r\n"},
		{CONV, "  bind n @parallel\n  bind f @parallel\n  bind q @vector\n"},
		{CONV, "  fission q acc @stack -> q_1\n  fission p acc @scratch -> p_1\n"},
		{CONV, "  fission q acc @stack -> q_1\n  reorder c, r, s, q\n  bind q @vector\n"},
		{CONV, "  split q 5 -> qo, u\n  fission u acc @reg -> u_1\n  reorder c, r, s, u\n"
	           "  bind u @unroll\n  bind s @unroll\n"},
		{CONV, "  split q 5 -> qo, u\n  fission u acc @reg -> u_1\n  skew u, s -> v\n"},
		{ADD, "  reorder j, i\n  bind j @parallel\n  bind i @parallel\n"},
		{ADD, "  split j 4 -> piece, lane\n  reorder piece, i, lane\n  bind lane @vector\n"},
		{SUMS, "  split i 64 -> piece, lane\n  bind piece @parallel\n  bind lane @vector\n"
	           "  fission lane Z @stack -> lane_1\n  fission lane acc @stack -> lane_2\n"
	           "  reorder k, lane\n  unswitch lane\n"},
		{SUMS, "  fission i s @stack -> j\n  bind i @vector\n  split j 8 -> jo, ji\n"},
		{CONV, "  cache_read X at p @stack -> Xc\n  cache_read W at f @reg -> Wc\n"},
		{CONV, "  cache_write Y at p @stack -> Yc\n  cache_write acc at r @reg -> a\n"},
		{STAGES, "  compute_at s at j @reg\n"},
		{STAGES,
	     "  compute_at t at i_1 @reg\n  split j 5 -> jo, ji\n  compute_at s at jo @stack\n"},
		{SHORT, "  split_tail i 4 -> o, l, r\n"},
		{SHORT, "  split_whole i 4 -> o, l\n"},
		{CONV, "  split_whole q 4 -> qo, qi\n  bind qi @vector\n"},
		{PRODUCT, "  split_whole m 4 -> mo, u\n  split_whole n 8 -> no, v\n"
	              "  reorder mo, no, v, u\n  fission u acc @reg -> u_1\n  reorder k, u\n"
	              "  pack A at no a4b @scratch -> Ap\n  cache_read B at no @scratch -> Bp\n"
	              "  bind v @vector\n  bind u @unroll\n"},
		{STAGES, "  cache_read X at j @reg -> a\n  cache_read X at i @reg -> b\n"},
		{CONV, "  rfactor s @reg -> a\n  bind s @vector\n"},
		{CONV, "  pack X at f a2d4c3b @stack -> Xp\n"},
		{SUMS, "  split k 8 -> ko, ki\n  rfactor ki @reg -> a\n  bind ki @vector\n"},
		{SUMS, "  split i 8 -> io, ii\n  cache_read X at io @scratch -> Xc\n"
	           "  cache_write Z at io @stack -> Zc\n  bind io @parallel\n  bind Zc_0 @vector\n"},
		{PRODUCT, "  split m 7 -> mo, u\n  split n 5 -> ni, v\n  split k 16 -> ko, ki\n"
	              "  reorder v, u, ni, mo\n  fission mo acc @scratch -> mo_1\n"
	              "  fission ni acc @scratch -> ni_1\n  fission u acc @scratch -> u_1\n"
	              "  fission v acc @scratch -> v_1\n  reorder v_init, u_init, ni_init, mo_init\n"
	              "  reorder mo_1, u_1, ni_1, v_1\n  bind v_1 @vector\n"},
	};
	for (size_t i = 0; i < countof(cases); i++)
		same_meaning(cases[i].text, cases[i].steps);
}
END_TEST

static void
apply_text(void *text)
{
	Kernel *kernel = read_kernel(text);
	script_apply(kernel, kernel->script);
}

static const char SWAP[] = "kernel k(Y: out f32[5,5]) {\n  for p in 5, q in 5\n"
						   "    Y[p, q] = Y[q, p] + 1\n}\n";
static const char LAST[] = "kernel k(N, X: f32[9], Y: out f32[9]) {\n  t: f32[9] @stack = 0\n"
						   "  for i in 9 {\n    t[0] = X[i]\n    Y[i] = t[0]\n  }\n"
						   "  for r in N\n    t[1] = 1\n}\n";
static const char PAIR[] = "kernel k(X: f32[10], Y: out f32[10]) {\n  for i in 5, j in 2\n"
						   "    Y[2*i+j] = X[2*i+j]\n}\n";
static const char MEET[] = "kernel k(X: f32[10], Y: out f32[10]) {\n  for i in 5, j in 3\n"
						   "    Y[2*i+j] = X[2*i+j]\n}\n";
static const char HALF[] = "kernel k(X: f32[10], Y: out f32[10]) {\n  for i in 10\n"
						   "    Y[i/2] += X[i]\n}\n";
static const char LETS[] = "kernel k(I: i64[10], Y: out f32[10]) {\n  for i in 10 {\n"
						   "    let t = at(I[i], 0..10, nowrap, clamp)\n    Y[t] = 1\n  }\n}\n";
static const char GATHER[] =
	"kernel k(I: i64[9], X: f32[10], Y: out f32[9]) {\n  for i in 3, j in 3\n"
	"    Y[3*i+j] = X[at(I[3*i+j], 0..10, nowrap, clamp)]\n}\n";
static const char WIDE[] = "kernel k(X: f32[3,9000], Y: out f32[3]) {\n  for i in 3 {\n"
						   "    acc: f32 @reg = 0\n    for j in 9000\n      acc[] += X[i, j]\n"
						   "    Y[i] = acc[]\n  }\n}\n";
static const char TWICE[] = "kernel k(X: f32[9], Y: out f32[9]) {\n  for i in 9 {\n"
							"    Y[i] = 0\n    for j in 9\n      Y[i] += X[j]\n  }\n}\n";
static const char HOLES[] = "kernel k(Y: out f32[20]) {\n  for i in 2, j in 5\n"
							"    Y[10*i + 2*j] = 1\n}\n";
static const char SOME[] = "kernel k(X: f32[20], Y: out f32[20]) {\n  for i in 2, j in 10\n"
						   "    if (j < 7)\n      Y[10*i + j] = X[j]\n}\n";
static const char BEHIND[] = "kernel k(Y: out f32[9]) {\n  t: f32[9] @stack\n  for i in 9\n"
							 "    t[i] = Y[8-i]\n  for j in 9\n    Y[j] = t[j]\n}\n";
static const char FLAT[] = "kernel k(X: f32[9], Y: out f32[8]) {\n  t: f32[9] @stack\n"
						   "  for i in 3, h in 3\n    t[3*i+h] = X[i]\n  for j in 8\n"
						   "    Y[j] = t[j+1]\n}\n";
static const char CHECKED[] =
	"kernel k(I: i64[9], X: f32[9], Y: out f32[8]) {\n  t: f32[9] @stack\n  for i in 9\n"
	"    t[i] = X[at(I[i], 0..9, nowrap, check)]\n  for j in 8\n    Y[j] = t[j+1]\n}\n";
static const char PICKS[] =
	"kernel k(N, A: i64[N,9], W: f32[4], X: f32[5,8], Y: out f32[N,8]) {\n"
	"  for n in N @parallel\n    for q in 8 {\n      acc: f32 @reg = 0\n      for k in 9 {\n"
	"        let t = at(A[n,k], 0..5, wrap, check)\n        if (n + k < 9 && q > 1)\n"
	"          acc[] += X[t, q] * W[at(A[n,k] + q, 0..4, nowrap, check)]\n      }\n"
	"      Y[n, q] = acc[] + f32(0 * at(A[n,8] - q, 0..9, nowrap, check))\n    }\n}\n";
static const char TESTED[] = "kernel k(N, Y: out f32[9]) {\n  for i in 9\n"
							 "    if (at(N, 0..9, nowrap, check) < 3)\n      Y[i] = 1\n}\n";
static const char BOTH[] = "kernel k(X: f32[9], Z: out f32[1], Y: out f32[1]) {\n"
						   "  for i in 9 {\n    Z[0] += X[i]\n    Y[0] += X[i]\n  }\n}\n";
static const char LONG[] = "kernel k(Y: out f32[1000000]) {\n  for i in 1000000\n"
						   "    Y[i] = 1\n}\n";

START_TEST(test_refused_primitives)
{
	static const struct {
		const char *text, *step, *message;
	} cases[] = {
		{CONV, "split z 4 -> a, b", "kernel conv: split z: there is no loop z; the loops are n, f"},
		{CONV, "split q 0 -> a, b", "a piece has 1 to 2147483647 iterations"},
		{CONV, "split q 9223372036854775807 -> a, b", "a piece has 1 to 2147483647 iterations"},
		{CONV, "split q 4 -> a, a", "the name a is taken"},
		{CONV, "split q 4 -> a, N", "the name N is taken"},
		{LONG, "unroll i", "more than 1024 copies"},
		{CONV, "split q 4 -> r, b", "the name r is taken"},
		{CONV, "fuse q, p -> pq", "does not hold exactly one loop"},
		{CONV, "fuse n, p -> np", "what it holds is loop f"},
		{CONV, "reorder q, c", "not a nest of their own"},
		{SWAP, "reorder q, p", "an iteration may read of Y what another stored"},
		{SWAP, "bind q @vector", "an iteration may read of Y what another stored"},
		{CONV, "bind q @parallel", "does not stand in @parallel loops alone"},
		{LAST, "bind i @vector", "iterations may store to one place of t"},
		{MEET, "bind i @parallel", "iterations may store to one place of Y"},
		{MEET, "bind j @vector", NULL},
		{MEET, "reorder j, i", "iterations may store to one place of Y"},
		{PAIR, "bind i @parallel\n  bind j @vector", NULL},
		{HALF, "bind i @vector", "iterations may store to one place of Y"},
		{LETS, "bind i @parallel", "iterations may store to one place of Y"},
		{LAST, "bind r @unroll", "no number bounds it"},
		{LAST, "unroll r", "its bounds are no constants"},
		{LAST, "fission i t @stack -> j", "t is stored on one side of the cut and used"},
		{CONV, "fission q Y @stack -> j", "nothing stands behind the last store to Y"},
		{CONV, "fission q X @stack -> j", "nothing in it stores to X"},
		{CONV, "fission n Y @reg -> j", "a @parallel loop is not cut"},
		{SUMS, "unswitch k", "the condition depends on it"},
		{SUMS, "unswitch i", "more than a condition"},
		{CONV, "cache_read Z at q @reg -> a", "nothing in it uses Z"},
		{CONV, "cache_read Y at q @reg -> a", "Y is stored too"},
		{CONV, "cache_read X at q @reg -> f", "the name f is taken"},
		{CONV, "cache_read acc at c @reg -> a", "acc is no argument of the kernel"},
		{CONV, "cache_read X at z @reg -> a", "there is no loop z"},
		{PAIR, "bind i @parallel\n  bind j @parallel\n  cache_read X at i @stack -> a",
	     "@parallel loop j in it stands in @parallel loops alone"},
		{GATHER, "cache_read X at i @stack -> a", "which part of dim 0 of X is used there"},
		{GATHER, "cache_read I at i @stack -> a", NULL},
		{WIDE, "cache_read X at i @reg -> a", "a does not fit into registers"},
		{WIDE, "cache_read X at i @stack -> a", NULL},
		{CONV, "pack X at q abc @stack -> a", "abc does not name each dim of X once"},
		{CONV, "pack X at q abcc @stack -> a", "abcc does not name each dim of X once"},
		{CONV, "pack X at q a0bcd @stack -> a", "a0bcd does not name each dim of X once"},
		{CONV, "pack X at q abcde @stack -> a", "abcde does not name each dim of X once"},
		{SWAP, "cache_write Y at q @reg -> a", "Y is read there"},
		{TWICE, "cache_write Y at i @reg -> a", "Y is stored in two ways there"},
		{MEET, "cache_write Y at i @reg -> a", NULL},
		{HOLES, "cache_write Y at i @reg -> a", "not certain that all of a box of Y is stored"},
		{SOME, "cache_write Y at i @reg -> a", "not certain that all of a box of Y is stored"},
		{BOTH, "rfactor i @reg -> a", "it stores to Z and to Y"},
		{MEET, "rfactor j @reg -> a", "what it stores to Y is no sum over its iterations"},
		{LAST, "rfactor r @reg -> a", "it is no loop of a sum"},
		{STAGES, "compute_at t at j @reg", "t is read elsewhere, or not there"},
		{STAGES, "compute_at q at j @reg", "there is no local q"},
		{SUMS, "compute_at acc at k @reg", "acc is not computed by a statement behind it"},
		{BEHIND, "compute_at t at j @reg", "Y, which t is computed from, is stored behind it"},
		{FLAT, "compute_at t at j @reg", "dim 0 of t is not counted by a loop of its own"},
		{CHECKED, "compute_at t at j @reg", "what computes t checks indices"},
		{TESTED, "unswitch i", "the condition or the loop's bounds check indices"},
		{CONV, "skew c, f -> d", "does not hold exactly one loop"},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		Failure failure;
		char *text = arena_printf(arena, "%sschedule {\n  %s\n}\n", cases[i].text, cases[i].step);
		bool is_done = try_run(apply_text, text, &failure);
		ck_assert_msg(is_done == !cases[i].message, "%s", cases[i].step);
		if (is_done)
			continue;
		ck_assert_msg(strstr(failure.text, cases[i].message), "%s: %s", cases[i].step,
		              failure.text);
		ck_assert_int_eq(failure.kind, FAIL_INVALID);
	}
}
END_TEST

/* ---- random scripts -------------------------------------------------------------------------- */

enum { SCRIPTS = 100, TRIES = 20 };

/* A step over loops of the kernel, right or wrong; the names it makes end in `n`. */
static const char *
random_step(uint64_t *state, const Kernel *kernel, int n)
{
	static const char *const buffers[] = {"acc", "s", "Y", "Z", "X", "W", "A", "B", "t"};
	static const char *const orders[] = {"ab", "ba", "a3b",  "b2a",   "a4b3",
	                                     "a2", "a",  "abcd", "da2c3b"};
	static const char *const binds[] = {"parallel", "vector", "unroll"};
	static const char *const scopes[] = {"reg", "stack", "scratch"};
	static const char *const axes[] = {"block.x", "thread.x", "thread.y"};
	StrVec loops = {0};
	for (StmtWalk walk = stmt_walk(arena, kernel->body); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_FOR)
			vec_push(arena, &loops, walk.stmt->var->name);
	const char *a = loops.data[random_below(state, (unsigned)loops.count)];
	const char *b = loops.data[random_below(state, (unsigned)loops.count)];
	unsigned pick = random_below(state, 3), size = 2 + 3 * pick;
	const char *buffer = buffers[random_below(state, countof(buffers))];
	switch (random_below(state, 21)) {
	case 0:
		return arena_printf(arena, "split %s %u -> o%d, i%d", a, size, n, n);
	case 1:
		return arena_printf(arena, "split_tail %s %u -> o%d, i%d, t%d", a, size, n, n, n);
	case 19:
		return arena_printf(arena, "spread %s, %s 64 -> v%d", a, b, n);
	case 18:
		return arena_printf(arena, "split_whole %s %u -> o%d, i%d", a, size, n, n);
	case 14:
		return arena_printf(arena, "fetch %s %s %u at %s", a, buffer, 1 + pick % 2, b);
	case 2:
		return arena_printf(arena, "fuse %s, %s -> f%d", a, b, n);
	case 3:
		return arena_printf(arena, "reorder %s, %s", a, b);
	case 5:
		return arena_printf(arena, "bind %s @%s", a, binds[pick]);
	case 6:
		return arena_printf(arena, "skew %s, %s -> w%d", a, b, n);
	case 7:
		return arena_printf(arena, "unswitch %s", a);
	case 8:
		return arena_printf(arena, "cache_read %s at %s @%s -> c%d", buffer, a, scopes[pick], n);
	case 9:
		return arena_printf(arena, "cache_write %s at %s @%s -> c%d", buffer, a, scopes[pick], n);
	case 10:
		return arena_printf(arena, "pack %s at %s %s @%s -> c%d", buffer, a,
		                    orders[random_below(state, countof(orders))], scopes[pick], n);
	case 11:
		return arena_printf(arena, "rfactor %s @%s -> c%d", a, scopes[pick], n);
	case 12:
		return arena_printf(arena, "compute_at %s at %s @%s", buffer, a, scopes[pick]);
	case 13:
		return arena_printf(arena, "bind %s @%s", a, axes[pick]);
	case 15:
		return arena_printf(arena, "cache_read %s at %s @shared -> c%d", buffer, a, n);
	case 20:
		return arena_printf(arena, "reindex %s %u %s at %s @shared -> c%d", a, pick, buffer, b, n);
	case 16:
		return arena_printf(arena, "prefetch c%u at %s", random_below(state, TRIES), a);
	default:
		return arena_printf(arena, "fission %s %s @%s -> z%d", a, buffer, scopes[pick], n);
	}
}

static void
check_kernel(void *kernel)
{
	kernel_check(kernel);
}

typedef struct Expected {
	const Array *results;
	OutsideIndices reports;
} Expected;

static Expected
expected_of(const Kernel *kernel)
{
	Expected expected = {.reports.arena = arena};
	expected.results = evaluated_reporting(kernel, &expected.reports);
	return expected;
}

typedef struct Evaluation {
	const Kernel *kernel;
	Expected seen;
} Evaluation;

static void
evaluate(void *evaluation)
{
	Evaluation *e = evaluation;
	e->seen = expected_of(e->kernel);
}

/* Nothing but what is expected, and no barrier missed, nothing read before it is written. */
static bool
computes(const Kernel *kernel, const Expected *expected)
{
	Failure failure;
	Evaluation e = {.kernel = kernel};
	size_t size = (size_t)array_count(expected->results) * sizeof(float); /* flat: one dim */
	return try_run(evaluate, &e, &failure) &&
	       memcmp(e.seen.results->data, expected->results->data, size) == 0 &&
	       reports_equal(&e.seen.reports, &expected->reports);
}

/* The loop passes behind keep what the script left, as far as the verifier can follow: loops that
 * were cut many times have indices that are not proven in range. */
static void
through_passes(Kernel *kernel, const Expected *expected, const char *steps)
{
	static bool (*const passes[])(Kernel *, PassContext *) = {
		pass_SimplifyLoops, pass_UnfuseLoops,   pass_SplitBorders, pass_PartitionLoops,
		pass_Flatten,       pass_Vectorize,     pass_SplitMasks,   pass_Unroll,
		pass_Normalize,     pass_HoistBranches, pass_TurnLoops,    pass_LICM};
	Target target = {.device = device_find("cpu:x86-64-v3")};
	PassContext context = {.arena = arena, .target = &target};
	Failure failure;
	for (size_t i = 0; i < countof(passes) && try_run(check_kernel, kernel, &failure); i++) {
		passes[i](kernel, &context);
		ck_assert_msg(computes(kernel, expected), "%zu: %s%s", i, steps, printed(kernel));
	}
}

/* Whatever is not refused computes the same, and reports the same indices outside. */
START_TEST(test_random_scripts)
{
	static const char *const texts[] = {CONV, SUMS, PRODUCT, STAGES, PICKS};
	uint64_t state = (uint64_t)_i + 1;
	const char *text = texts[_i % 5], *steps = "";
	Expected expected = expected_of(read_kernel(text));
	ck_assert_int_eq(expected.reports.list.count > 0, text == PICKS);
	for (int n = 0; n < TRIES; n++) {
		Failure failure;
		Kernel *kernel = read_kernel(arena_printf(arena, "%sschedule {\n%s}\n", text, steps));
		script_apply(kernel, kernel->script);
		const char *step = random_step(&state, kernel, n);
		char *more = arena_printf(arena, "%s%s\n", steps, step);
		char *all = arena_printf(arena, "%sschedule {\n%s}\n", text, more);
		if (!try_run(apply_text, all, &failure)) {
			ck_assert_msg(failure.kind == FAIL_INVALID, "%s: %s", more, failure.text);
			continue;
		}
		steps = more;
		kernel = read_kernel(all);
		script_apply(kernel, kernel->script);
		kernel->script = NULL;
		ck_assert_msg(computes(kernel, &expected), "%s%s", more, printed(kernel));
		through_passes(kernel, &expected, more);
	}
}
END_TEST

/* ---- products in panels ---------------------------------------------------------------------- */

enum { PANEL_CASES = 60 };

/* A number up to `most`, or a symbol that is BATCH. */
static const char *
random_dim(uint64_t *state, const char *symbol, int most)
{
	int size = 1 + (int)random_below(state, (unsigned)most);
	return random_below(state, 4) == 0 ? symbol : arena_printf(arena, "%d", size);
}

static const char *
random_product(uint64_t *state)
{
	const char *m = random_dim(state, "M", 20), *n = random_dim(state, "N", 40);
	const char *k = random_dim(state, "K", 12);
	return arena_printf(arena,
	                    "kernel mm(M, N, K, A: f32[%s,%s], B: f32[%s,%s], Y: out f32[%s,%s]) {\n"
	                    "  for m in %s, n in %s {\n"
	                    "    acc: f32 @reg = 0\n"
	                    "    for k in %s\n"
	                    "      acc[] += A[m, k] * B[k, n]\n"
	                    "    Y[m, n] = acc[] + 1\n"
	                    "  }\n"
	                    "}\n",
	                    m, k, k, n, m, n, m, n, k);
}

/* Sums of a piece in memory, with blocks of the sum; as src/lower/cpu/panels.c writes them. */
static const char BLOCKS[] =
	"  split k %d -> ko, ki\n  reorder mo, no, v, w, u, ni, mi\n"
	"  bind mo @parallel\n  bind no @parallel\n"
	"  fission mi acc @scratch -> mi_1\n  fission ni acc @scratch -> ni_1\n"
	"  fission u acc @scratch -> u_1\n  fission w acc @scratch -> w_1\n"
	"  fission v acc @scratch -> v_1\n"
	"  reorder mi_init, ni_init, u_init, w_init, v_init\n"
	"  reorder ko, ni, mi, v, ki, w, u\n"
	"  reorder mi_1, u_1, ni_1, w_1, v_1\n  bind v_init @vector\n"
	"  bind v_1 @vector\n  cache_write acc at v @reg -> r\n"
	"  bind v @vector\n  pack B at ko b4a @scratch -> Bp\n"
	"  bind Bp_2 @vector\n  pack A at ko %s @scratch -> Ap\n";

/* The whole sum of a tile in registers. */
static const char TILES[] = "  reorder mo, no, mi, ni, v, w, u\n  bind mo @parallel\n"
							"  bind no @parallel\n  bind v @vector\n"
							"  fission u acc @reg -> u_1\n  bind u_1 @unroll\n"
							"  fission w acc @reg -> w_1\n  bind w_1 @unroll\n"
							"  reorder k, w, u\n  pack B at no b4a @scratch -> Bp\n"
							"  bind Bp_2 @vector\n";

/* Tiles of any size for products of any size. */
START_TEST(test_panels)
{
	uint64_t state = (uint64_t)_i + 1;
	const char *text = random_product(&state);
	int rows = 1 + (int)random_below(&state, 5), vectors = 1 + (int)random_below(&state, 3),
		terms = 1 + (int)random_below(&state, 8);
	const char *order = random_below(&state, 2) ? "ab" : arena_printf(arena, "a%db", rows);
	Buf steps = {.arena = arena};
	buf_printf(&steps, "  split_whole m %d -> mt, u\n  split mt %d -> mo, mi\n", rows,
	           1 + (int)random_below(&state, 3));
	buf_printf(&steps, "  split_whole n %d -> nt, nv\n  split nv 4 -> w, v\n", vectors * 4);
	buf_printf(&steps, "  split nt %d -> no, ni\n", 1 + (int)random_below(&state, 3));
	if (random_below(&state, 2)) {
		buf_printf(&steps, BLOCKS, terms, order);
	} else {
		buf_puts(&steps, TILES);
		if (random_below(&state, 2))
			buf_printf(&steps, "  pack A at no %s @scratch -> Ap\n", order);
	}
	buf_puts(&steps, "  bind u @unroll\n  bind w @unroll\n");
	const char *script = buf_text(&steps);
	Expected expected = expected_of(read_kernel(text));
	Kernel *kernel = read_kernel(arena_printf(arena, "%sschedule {\n%s}\n", text, script));
	script_apply(kernel, kernel->script);
	kernel->script = NULL;
	kernel_check(kernel);
	ck_assert_msg(computes(kernel, &expected), "%s%s", script, printed(kernel));
	through_passes(kernel, &expected, script);
}
END_TEST

/* ---- races ----------------------------------------------------------------------------------- */

enum { RACES = 40, RACE_CASES = 25 };

/* An index below 40 over i in 4 and j in 5: one place for each pair of them, or for several. */
static const char *
random_index(uint64_t *state)
{
	unsigned a = random_below(state, 6), b = random_below(state, 6), c = 1 + random_below(state, 6);
	switch (random_below(state, 7)) {
	case 0:
		return "i";
	case 1:
		return "j";
	case 2:
		return arena_printf(arena, "(%u*i + %u*j) / %u", a, b, c);
	case 3:
		return arena_printf(arena, "(%u*i + %u*j) %% %u", a, b, c);
	case 4:
		return arena_printf(arena, "max(i, j - %u)", a);
	default:
		return arena_printf(arena, "%u*i + %u*j", a, b);
	}
}

static const char *
random_race(uint64_t *state)
{
	const char *x = random_index(state), *y = random_index(state);
	const char *to = arena_printf(arena, "Y[%s, %s]", x, y), *from = to;
	if (random_below(state, 2))
		from = arena_printf(arena, "Y[%s, %s]", random_index(state), random_index(state));
	static const char *const forms[] = {"%s = 9*i + j", "%s += i + j", "%s = 9*i + j + %s",
	                                    "let t = j - i Y[20 + t, 3] = 9*i + j %s += 2*%s"};
	const char *form = forms[random_below(state, countof(forms))];
	Buf body = {.arena = arena};
	buf_printf(&body, form, to, from);
	return arena_printf(arena,
	                    "kernel k(Y: out i64[40,40]) {\n  for i in 4, j in 5 {\n    %s\n  }\n}\n",
	                    buf_text(&body));
}

static void
reverse_loop(Kernel *kernel, Stmt *stmt)
{
	const Expr *last = expr_sub(ctx, stmt->hi, expr_i64(ctx, 1));
	stmt_substitute(kernel, stmt->body, stmt->var, expr_sub(ctx, last, expr_var(ctx, stmt->var)));
}

/* What is bound computes the same when its iterations come the other way round, and what is
 * reordered the same as before: no place is stored twice, or read and stored, by two of them. */
START_TEST(test_random_races)
{
	static const char *const steps[] = {
		"bind i @parallel", "bind i @parallel\n bind j @parallel",
		"bind i @vector",   "bind j @vector",
		"reorder j, i",     "reorder j, i\n bind j @parallel\n bind i @vector"};
	uint64_t state = (uint64_t)_i + 1;
	for (int n = 0; n < RACE_CASES; n++) {
		Failure failure;
		const char *text = random_race(&state), *step = steps[random_below(&state, 6)];
		char *all = arena_printf(arena, "%sschedule {\n %s\n}\n", text, step);
		if (!try_run(apply_text, all, &failure)) {
			ck_assert_msg(failure.kind == FAIL_INVALID, "%s: %s", all, failure.text);
			continue;
		}
		Kernel *kernel = read_kernel(all);
		script_apply(kernel, kernel->script);
		kernel->script = NULL;
		for (StmtWalk walk = stmt_walk(arena, kernel->body); stmt_step(&walk);)
			if (walk.stmt->kind == STMT_FOR && walk.stmt->bind != BIND_SERIAL)
				reverse_loop(kernel, walk.stmt);
		const Array *expected = evaluated(read_kernel(text));
		ck_assert_msg(array_same_bytes(evaluated(kernel), expected), "%s%s", all, printed(kernel));
	}
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("loops");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_primitives);
	tcase_add_loop_test(tests, test_panels, 0, PANEL_CASES);
	tcase_add_test(tests, test_refused_primitives);
	tcase_add_loop_test(tests, test_random_scripts, 0, SCRIPTS);
	tcase_add_loop_test(tests, test_random_races, 0, RACES);
	return unit_run(tests);
}
