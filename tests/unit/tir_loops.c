/* Loop IR: texts read back as they print, the verifier refuses what its rules name, and every
 * schedule primitive keeps the meaning, judged by the interpreter on the same data.
 */
#include <string.h>

#include "tir/rewrite.h"
#include "tir/schedule/schedule.h"

#include "random_number.h"

#include <check.h>

static const char CONV[] =
	"kernel conv(N, X: f32[N,2,9,9], W: f32[3,2,3,3], Y: out f32[N,3,5,5]) \"conv1; naive\" {\n"
	"  for n in N @parallel\n"
	"    for f in 3 @parallel\n"
	"      for p in 5, q in 5 {\n"
	"        acc: f32 @reg = 0\n"
	"        for c in 2, r in 3, s in 3\n"
	"          if (0 <= 2*p+r-1 && 2*p+r-1 < 9 && 0 <= 2*q+s-1 && 2*q+s-1 < 9)\n"
	"            acc[] += X[n, c, 2*p+r-1, 2*q+s-1] * W[f, c, r, s]\n"
	"        Y[n, f, p, q] = max(acc[], 0)\n"
	"      }\n"
	"}\n";

static const char ADD[] = "kernel add(N, X: f32[N,13], Y: out f32[N,13]) {\n"
						  "  for i in N, j in 13\n"
						  "    Y[i, j] = X[i, j] + 1\n"
						  "}\n";

static const char MIXED[] =
	"kernel mixed(N in 1..64, I: i64[N], X: f32[7] strides(2), Z: out alias f16[N] strides(3), "
	"Y: out f32[N]) {\n"
	"  t: f32[4,2] @stack = 0.5\n"
	"  u: i32[N] @scratch\n"
	"  for i in 1..N @parallel {\n"
	"    let k = at(I[i], 0..7, wrap, check)\n"
	"    check 1 (k < 7) value k\n"
	"    if (X[k] > 0) {\n"
	"      Y[i] = X[k]\n"
	"      Y[i] *= 2\n"
	"      Y[i] max= 0.25\n"
	"    }\n"
	"    else {\n"
	"      Y[i] min= -X[k]\n"
	"    }\n"
	"    Z[i] = f16(X[k])\n"
	"    for j in 2 @unroll\n"
	"      t[j, 0] += X[k]\n"
	"  }\n"
	"}\n";

static Arena *arena;
static ExprCtx *ctx;

static void
setup(void)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
}

static void
teardown(void)
{
	arena_free(arena);
}

static Kernel *
read_kernel(const char *text)
{
	return kernel_parse(arena, ctx, "test.l", text);
}

static const char *
printed(const Kernel *kernel)
{
	Buf buf = {.arena = arena};
	kernel_print(&buf, kernel);
	return buf_text(&buf);
}

START_TEST(test_round_trip)
{
	static const char *const texts[] = {CONV, ADD, MIXED};
	for (size_t i = 0; i < countof(texts); i++)
		ck_assert_str_eq(printed(read_kernel(texts[i])), texts[i]);
}
END_TEST

START_TEST(test_finish)
{
	const Kernel *kernel = read_kernel(CONV);
	ck_assert_int_eq(kernel->symbols.count, 1);
	ck_assert_ptr_eq(kernel->extent, dim_mul_i64(ctx, dim_symbol(ctx, "N"), 3));
	ck_assert_ptr_null(kernel->scratch);
	ck_assert_ptr_nonnull(read_kernel(MIXED)->scratch);
	kernel_check(kernel);
}
END_TEST

/* ---- the verifier ---------------------------------------------------------------------------- */

static void
check_text(void *text)
{
	kernel_check(read_kernel(text));
}

START_TEST(test_refusals)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"kernel k(X: f32[4], Y: out f32[4]) {\n  for i in 5\n    Y[i] = 1\n}",
	     "not proven in range"},
		{"kernel k(X: f32[4], Y: out f32[4]) {\n  for i in 4\n    Y[i] = X[i+1]\n}",
	     "not proven in range"},
		{"kernel k(X: f32[4], Y: out f32[4]) {\n  for i in 4\n    X[i] = 1\n}", "no output"},
		{"kernel k(X: f32[4], Y: out f32[4]) {\n  for i in 4\n    let x = X[i]\n}",
	     "never written"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 {\n    for j in 2 @parallel\n      Y[i] = 1\n"
	     "    Y[i] = 2\n  }\n}",
	     "perfectly"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 @vector\n    Y[0] = 1\n}", "one place"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 @vector\n    for j in 4 @vector\n      Y[i] = "
	     "1\n}",
	     "stands in another"},
		{"kernel k(Y: out f32[4]) {\n  for i in 4 @vector\n    for j in i\n      Y[i] = 1\n}",
	     "differ between lanes"},
		{"kernel k(N, Y: out f32[4]) {\n  a: f32[N] @reg\n  for i in 4\n    Y[i] = 1\n}",
	     "constant extents"},
		{"kernel k(Y: out f32[4]) {\n  a: f32[100,100] @stack\n  for i in 4\n    Y[i] = 1\n}",
	     "too large for the stack"},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		Failure failure;
		ck_assert_msg(!try_run(check_text, (void *)cases[i].text, &failure), "%s", cases[i].text);
		ck_assert_msg(strstr(failure.text, cases[i].message), "%s", failure.text);
		ck_assert_int_eq(failure.kind, FAIL_BUG);
	}
}
END_TEST

START_TEST(test_a_guard_is_a_proof)
{
	kernel_check(read_kernel("kernel k(N, X: f32[N], Y: out f32[N]) {\n  for i in N\n"
	                         "    Y[i] = 3 <= i ? X[i-3] : 0.0\n}"));
	kernel_check(read_kernel("kernel k(N, X: f32[N], Y: out f32[N]) {\n  for i in N {\n"
	                         "    let j = i - 3\n    if (0 <= j)\n      Y[j] = X[i]\n  }\n}"));
}
END_TEST

/* ---- the interpreter ------------------------------------------------------------------------- */

enum { BATCH = 3, MAX_BUFFERS = 8 };

/* Evaluate with N = BATCH on fixed data; gives the last argument's elements. */
static Array *
evaluated(const Kernel *kernel)
{
	int64_t values[64];
	bool is_bound[64];
	for (int i = 0; i < 64; i++) {
		values[i] = BATCH;
		is_bound[i] = true;
	}
	Binding binding = {64, values, is_bound};
	Array *arrays[MAX_BUFFERS] = {NULL};
	uint64_t state = 1;
	for (int i = 0; i < kernel->buffers.count; i++) {
		const Tensor *tensor = &kernel->buffers.data[i]->tensor;
		int64_t dims[8];
		for (int d = 0; d < tensor->rank; d++)
			ck_assert(dim_eval(tensor->hi[d], &binding, &dims[d]));
		arrays[i] = array_new(arena, tensor->type, tensor->rank, dims);
		for (int64_t k = 0; k < array_count(arrays[i]); k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			/* small integers: sums are exact, so their order does not matter */
			dtype_store_f64(tensor->type, arrays[i]->data, k, (double)((int)(state >> 60) - 7));
		}
	}
	kernel_eval(kernel, &binding, arrays);
	return arrays[kernel->buffers.count - 1];
}

static void
evaluate_text(void *text)
{
	evaluated(read_kernel(text));
}

START_TEST(test_eval)
{
	Array *y =
		evaluated(read_kernel("kernel k(Y: out i64[4]) {\n  s: i64 @reg = 1\n  for i in 4 {\n"
	                          "    Y[i] = i / 3 + s\n    s *= 2\n  }\n}"));
	static const int64_t expected[] = {1, 2, 4, 9};
	ck_assert_mem_eq(y->data, expected, sizeof expected);
	Failure failure;
	ck_assert(!try_run(evaluate_text,
	                   "kernel k(Y: out f32[4]) {\n  a: f32[2] @reg\n  Y[0] = a[1]\n}", &failure));
	ck_assert_msg(strstr(failure.text, "read before it is written"), "%s", failure.text);
	ck_assert(!try_run(evaluate_text, "kernel k(Y: out f32[4]) {\n  for i in 5\n    Y[i] = 1\n}",
	                   &failure));
	ck_assert_msg(strstr(failure.text, "outside 0..4"), "%s", failure.text);
}
END_TEST

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

START_TEST(test_refused_primitives)
{
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
	static const char LONG[] = "kernel k(Y: out f32[1000000]) {\n  for i in 1000000\n"
							   "    Y[i] = 1\n}\n";
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
		{LAST, "bind r @unroll", "its bounds are no constants"},
		{LAST, "unroll r", "its bounds are no constants"},
		{LAST, "fission i t @stack -> j", "t is stored on one side of the cut and used"},
		{CONV, "fission q Y @stack -> j", "nothing stands behind the last store to Y"},
		{CONV, "fission q X @stack -> j", "nothing in it stores to X"},
		{CONV, "fission n Y @reg -> j", "a @parallel loop is not cut"},
		{SUMS, "unswitch k", "the condition depends on it"},
		{SUMS, "unswitch i", "more than a condition"},
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

enum { SCRIPTS = 60, TRIES = 12 };

static void
note_loop(Stmt *stmt, void *arg)
{
	StrVec *loops = arg;
	if (stmt->kind == STMT_FOR)
		vec_push(arena, loops, stmt->var->name);
}

/* A step over loops of the kernel, right or wrong; the names it makes end in `n`. */
static const char *
random_step(uint64_t *state, const Kernel *kernel, int n)
{
	static const char *const buffers[] = {"acc", "s", "Y", "Z"};
	static const char *const binds[] = {"parallel", "vector", "unroll"};
	static const char *const scopes[] = {"reg", "stack", "scratch"};
	StrVec loops = {0};
	stmt_visit(kernel->body, note_loop, &loops);
	const char *a = loops.data[random_below(state, (unsigned)loops.count)];
	const char *b = loops.data[random_below(state, (unsigned)loops.count)];
	unsigned pick = random_below(state, 3), size = 2 + 3 * pick;
	switch (random_below(state, 9)) {
	case 0:
		return arena_printf(arena, "split %s %u -> o%d, i%d", a, size, n, n);
	case 1:
		return arena_printf(arena, "split_tail %s %u -> o%d, i%d, t%d", a, size, n, n, n);
	case 2:
		return arena_printf(arena, "fuse %s, %s -> f%d", a, b, n);
	case 3:
	case 4:
		return arena_printf(arena, "reorder %s, %s", a, b);
	case 5:
		return arena_printf(arena, "bind %s @%s", a, binds[pick]);
	case 6:
		return arena_printf(arena, "skew %s, %s -> w%d", a, b, n);
	case 7:
		return arena_printf(arena, "unswitch %s", a);
	default:
		return arena_printf(arena, "fission %s %s @%s -> z%d", a,
		                    buffers[random_below(state, countof(buffers))], scopes[pick], n);
	}
}

/* Whatever is not refused computes the same. */
START_TEST(test_random_scripts)
{
	static const char *const texts[] = {CONV, SUMS};
	uint64_t state = (uint64_t)_i + 1;
	const char *text = texts[_i % 2], *steps = "";
	const Array *expected = evaluated(read_kernel(text));
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
		ck_assert_msg(array_same_bytes(evaluated(kernel), expected), "%s%s", more, printed(kernel));
		tir_simplify(kernel);
		ck_assert_msg(array_same_bytes(evaluated(kernel), expected), "%s%s", more, printed(kernel));
	}
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
reverse_loop(Stmt *stmt, void *arg)
{
	Kernel *kernel = arg;
	if (stmt->kind != STMT_FOR || stmt->bind == BIND_SERIAL)
		return;
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
		stmt_visit(kernel->body, reverse_loop, kernel);
		const Array *expected = evaluated(read_kernel(text));
		ck_assert_msg(array_same_bytes(evaluated(kernel), expected), "%s%s", all, printed(kernel));
	}
}
END_TEST

START_TEST(test_simplify)
{
	Kernel *kernel = read_kernel(
		"kernel k(N, X: f32[N,12], Y: out f32[N,12]) {\n  for i in N, h in 1, j in 12 {\n"
		"    if (j < 20)\n      Y[i, (12*i + j) % 12] = X[(12*i + j) / 12, j]\n"
		"    if (13 < j)\n      Y[i, j] = 2\n  }\n}");
	tir_simplify(kernel);
	ck_assert_str_eq(printed(kernel), "kernel k(N, X: f32[N,12], Y: out f32[N,12]) {\n"
	                                  "  for i in N, j in 12\n"
	                                  "    Y[i, j] = X[i, j]\n"
	                                  "}\n");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("tir_loops");
	TCase *tests = tcase_create("loops");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_round_trip);
	tcase_add_test(tests, test_finish);
	tcase_add_test(tests, test_refusals);
	tcase_add_test(tests, test_a_guard_is_a_proof);
	tcase_add_test(tests, test_eval);
	tcase_add_test(tests, test_primitives);
	tcase_add_test(tests, test_refused_primitives);
	tcase_add_loop_test(tests, test_random_scripts, 0, SCRIPTS);
	tcase_add_loop_test(tests, test_random_races, 0, RACES);
	tcase_add_test(tests, test_simplify);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
