/* Index arithmetic: dims in normal form, proofs, and simplification checked against evaluation of
 * random expressions over random small boxes.
 */
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/scan.h"
#include "expr/index/text.h"
#include "expr/stage/build.h"
#include "unit.h"

static Arena *arena;
static ExprCtx *ctx;

static void
open_ctx(void)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
}

static void
close_ctx(void)
{
	arena_free(arena);
}

/* Iterators h w n c i j k r by position; other names are symbols. */
static const char iters[] = "hwncijkr";

static const Expr *
parse(const char *text, DType type)
{
	Scanner scan;
	Map names = {.arena = arena};
	for (int i = 0; iters[i]; i++)
		map_set(&names, arena_strndup(arena, iters + i, 1), (void *)(uintptr_t)expr_iter(ctx, i));
	scan_open(&scan, arena, "test", text);
	TextScope scope = {.names = &names, .symbols = SYMBOLS_NEW};
	const Expr *e = expr_parse_in(ctx, &scan, &scope, type);
	ck_assert_int_eq(scan_peek(&scan)->kind, TOK_END);
	return e;
}

static const char *
text_of(const Expr *e)
{
	static const char *const names[] = {"h", "w", "n", "c", "i", "j", "k", "r"};
	Buf buf = {.arena = arena};
	TextNames text = {.iters = names, .niter = 8};
	expr_print_in(&buf, e, &text, DT_I64);
	return buf_text(&buf);
}

static const Dim *
dim(const char *text)
{
	Scanner scan;
	scan_open(&scan, arena, "dim", text);
	return dim_parse(ctx, &scan);
}

/* ---- dims ------------------------------------------------------------------------------------ */

START_TEST(equal_dims_are_equal_pointers)
{
	static const char *const pairs[][2] = {
		{"N*S*768/(64*12)", "N*S"},
		{"N+M", "M+N"},
		{"(N+1)*(N-1)", "N*N-1"},
		{"(2*H+2)/2", "H+1"},
		{"(H-3)/2+1", "(H-1)/2"},
		{"(N*64+7)/64", "N"},
		{"(N*64+7)%64", "7"},
		{"H%2+H/2*2", "H"},
		{"(N+S-N)*4/S", "4"},
		{"min(N, N)", "N"},
		{"max(N, 0)", "N"},
		{"min(M, N)", "min(N, M)"},
		{"N/2/3", "N/6"},
		{"(N*C*H)/(C*H)", "N"},
		{"(N*N-M*M)/(N-M)", "N+M"},
		{"-(N-M)+N", "M"},
		{"(4*N)/(6*M)", "(2*N)/(3*M)"},
		{"(N*6)%4", "(N*3)%2*2"},
		{"max(0, (H+7)/8-1)/2", "max(0, (H-1)/16)"},
		{"(max(0, N-9)+3)/2", "max(0, N/2-4)+1"},
		{"min(7, N-9)/2", "min(3, (N-9)/2)"},
		{"max(N, M)/2", "max(M, N)/2"},
	};
	open_ctx();
	for (size_t i = 0; i < countof(pairs); i++)
		ck_assert_msg(dim(pairs[i][0]) == dim(pairs[i][1]), "%s is %s, not %s", pairs[i][0],
		              text_of(dim(pairs[i][0])), text_of(dim(pairs[i][1])));
	ck_assert_ptr_ne(dim("N"), dim("M"));
	ck_assert_ptr_ne(dim("N/2"), dim("(N+1)/2"));
	close_ctx();
}
END_TEST

/* What is left of a sum of many terms less another, in whatever order they come. */
START_TEST(sums_may_be_long)
{
	open_ctx();
	const Dim *sum = dim_const(ctx, 0), *other = sum, *sums[92];
	for (int i = 0; i < 92; i++) {
		char name[16];
		snprintf(name, sizeof name, "N%d", i * 37 % 92);
		sums[i] = sum;
		sum = dim_add(ctx, sum, dim_min(ctx, dim(name), dim_const(ctx, 300)));
		snprintf(name, sizeof name, "N%d", i);
		other = dim_add(ctx, dim_min(ctx, dim(name), dim_const(ctx, 300)), other);
	}
	ck_assert_ptr_eq(sum, other);
	ck_assert_ptr_eq(dim_sub(ctx, sum, sums[91]), dim("min(N55, 300)"));
	ck_assert(dim_is(
		dim_sub(ctx, dim_mul_i64(ctx, sum, 3), dim_add(ctx, sum, dim_add(ctx, sum, other))), 0));
	for (int i = 0; i < 92; i++)
		ck_assert(dim_proves_le(ctx, sums[i], sum));
	close_ctx();
}
END_TEST

START_TEST(dims_have_values)
{
	open_ctx();
	const Dim *d = dim("(N*3-M)/2 + M%N + min(N, M)*max(N, 7)");
	int64_t values[2], seen;
	bool is_bound[2] = {true, true};
	int n = expr_symbol(ctx, symbol_get(ctx, "N"))->symbol->id;
	Binding binding = {2, values, is_bound};
	values[n] = 5;
	values[1 - n] = 18;
	ck_assert(dim_eval(d, &binding, &seen));
	ck_assert_int_eq(seen, -2 + 3 + 35);
	ck_assert(dim_is(dim_bind(ctx, d, &binding), seen));
	values[n] = 0;
	ck_assert(!dim_eval(d, &binding, &seen)); /* M % 0 */
	values[n] = INT64_MAX;
	ck_assert(!dim_eval(d, &binding, &seen));
	is_bound[n] = false;
	ck_assert(!dim_eval(d, &binding, &seen));
	close_ctx();
}
END_TEST

START_TEST(dims_compare)
{
	open_ctx();
	ck_assert(dim_proves_le(ctx, dim("N/2"), dim("N")));
	ck_assert(dim_proves_le(ctx, dim("(N+1)/2"), dim("N")));
	ck_assert(!dim_proves_le(ctx, dim("(N+2)/2"), dim("N")));
	ck_assert(dim_proves_lt(ctx, dim("N"), dim("N+1")));
	ck_assert(dim_proves_le(ctx, dim("min(N, M)"), dim("M")));
	ck_assert(dim_proves_le(ctx, dim("N%4"), dim("3")));
	ck_assert(!dim_proves_le(ctx, dim("N"), dim("N*M")));
	ck_assert(!dim_proves_le(ctx, dim("A"), dim("B")));
	dim_assume_equal(ctx, dim("A"), dim("B"));
	ck_assert(dim_proves_le(ctx, dim("A"), dim("B")));
	ck_assert(dim_proves_le(ctx, dim("B"), dim("A")));
	dim_assume_equal(ctx, dim("max(0, N-8)"), dim("0"));
	ck_assert(dim_proves_le(ctx, dim("max(0, N-8)"), dim("0")));
	close_ctx();
}
END_TEST

/* Dims are equal only where K is 0: a box over K has no points then, and each claim holds there. */
START_TEST(in_an_empty_box_all_is_true)
{
	open_ctx();
	dim_assume_equal(ctx, dim("K"), dim("K-(K+1)/2"));
	ck_assert(dim_proves_le(ctx, dim("K"), dim("K-(K+1)/2")));
	Facts *facts = facts_new(ctx, expr_ctx_arena(ctx));
	facts_iter(facts, 0, dim_const(ctx, 0), dim("K"));
	ck_assert(facts_prove(facts, expr_lt(ctx, expr_iter(ctx, 0), dim("K-(K+1)/2"))));
	facts_close(facts);
	close_ctx();
}
END_TEST

/* Whether facts of a question, as a stage asks them, prove a <= b. */
static bool
facts_prove_le(const char *a, const char *b)
{
	Facts *facts = facts_new(ctx, expr_ctx_arena(ctx));
	bool is_proved = facts_prove(facts, expr_le(ctx, dim(a), dim(b)));
	facts_close(facts);
	return is_proved;
}

/* What a region assumed is no fact behind it, also for whoever takes over facts of a question. */
START_TEST(assumptions_are_forgotten)
{
	open_ctx();
	dim_assume_equal(ctx, dim("A"), dim("B"));
	dim_assume_equal(ctx, dim("A"), dim("C"));
	ck_assert(facts_prove_le("A", "C"));
	Facts *open = facts_new(ctx, expr_ctx_arena(ctx));
	dim_forget(ctx, 1);
	dim_assume_equal(ctx, dim("D"), dim("E"));
	facts_close(open);
	ck_assert(facts_prove_le("A", "B") && facts_prove_le("D", "E"));
	ck_assert(!facts_prove_le("A", "C") && !dim_proves_le(ctx, dim("A"), dim("C")));
	close_ctx();
}
END_TEST

static void
multiply_extents(void *unused)
{
	(void)unused;
	dim_mul_i64(ctx, dim_const(ctx, INT64_MAX / 2), 3);
}

START_TEST(products_that_overflow_fail)
{
	Failure failure;
	open_ctx();
	ck_assert(!try_run(multiply_extents, NULL, &failure));
	ck_assert_ptr_nonnull(strstr(failure.text, "does not fit in 64 bits"));
	close_ctx();
}
END_TEST

/* ---- simplification -------------------------------------------------------------------------- */

static Facts *
facts_for(const char *boxes[][2], int count)
{
	Facts *facts = facts_new(ctx, arena);
	for (int i = 0; i < count; i++)
		facts_iter(facts, (int)(strchr(iters, *boxes[i][0]) - iters), dim_const(ctx, 0),
		           dim(boxes[i][1]));
	return facts;
}

START_TEST(quotients_join)
{
	static const char *const cases[][2] = {
		{"(i*S+j)/S", "i"},
		{"(i*S+j)%S", "j"},
		{"((n*C+c)*H+h)/H", "n*C+c"},
		{"((n*C+c)*H+h)/(C*H)", "n"},
		{"((n*C+c)*H+h)%(C*H)/H", "c"},
		{"((n*C+c)*H+h)/H%C", "c"},
		{"k/4*4+k%4", "k"},
		{"k/12*12+k/4%3*4+k%4", "k"},
		{"(8*i+4*r+3)/8", "(r*4+3)/8+i"},
		{"(4*i+r)/8", "i/2"},
		{"(4*i+r)%8", "i%2*4+r"},
		{"(k%12)%4", "k%4"},
		{"(h-H)/H", "-1"},
		{"(h+H)%H", "h"},
		{"min(i, i+j)", "i"},
		{"max(h, H)", "H"},
		{"r < 4 ? i : 7", "i"},
		{"i >= 3 ? i > 2 ? i : 5 : 6", "3 <= i ? i : 6"},
		{"j-j+2*i-i", "i"},
	};
	static const char *boxes[][2] = {{"h", "H"}, {"n", "N"}, {"c", "C"}, {"i", "I"},
	                                 {"j", "S"}, {"k", "K"}, {"r", "4"}};
	open_ctx();
	Facts *facts = facts_for(boxes, 7);
	for (size_t i = 0; i < countof(cases); i++) {
		const Expr *seen = expr_simplify(facts, parse(cases[i][0], DT_I64));
		const Expr *wanted = expr_simplify(facts, parse(cases[i][1], DT_I64));
		if (strstr(cases[i][1], "?"))
			continue;
		ck_assert_msg(seen == wanted, "%s became %s", cases[i][0], text_of(seen));
	}
	ck_assert_str_eq(text_of(expr_simplify(facts, parse(cases[17][0], DT_I64))), "i >= 3 ? i : 6");
	close_ctx();
}
END_TEST

START_TEST(conditions_are_decided)
{
	/* condition, 1 = certain, 0 = not certain, -1 = certainly false */
	static const struct {
		const char *text;
		int wanted;
	} cases[] = {
		{"0 <= h+r", 1},
		{"h+r < H+3", 1},
		{"h+r < H+2", 0},
		{"h < 0", -1},
		{"(n*C+c)*H+h < N*C*H", 1},
		{"(n*C+c)*H+h < N*C*H-1", 0},
		{"k/(W+1) < K/(W+1)+1", 1},
		{"k/L < K/L+1", 1}, /* w runs over L*M, so L is not 0 */
		{"k%W < W", 0},     /* W may be 0 */
		{"k%(W+1) < W+1", 1},
		{"2*i+r < 2*I+2", 1},
		{"i/2 < (I+1)/2", 1},
		{"i/2 < I/2", 0},
		{"max(i, j) < max(I, S)", 1},
		{"i == i/2*2+i%2", 1},
		{"i != I", 1},
		{"h >= H || r < 4", 1},
	};
	static const char *boxes[][2] = {{"h", "H"}, {"n", "N"}, {"c", "C"}, {"i", "I"},
	                                 {"j", "S"}, {"k", "K"}, {"r", "4"}, {"w", "L*M"}};
	open_ctx();
	Facts *facts = facts_for(boxes, 8);
	for (size_t i = 0; i < countof(cases); i++) {
		const Expr *e = parse(cases[i].text, DT_BOOL);
		int seen = facts_prove(facts, e) - facts_disprove(facts, e);
		ck_assert_msg(seen == cases[i].wanted, "%s: %d", cases[i].text, seen);
	}
	close_ctx();
}
END_TEST

/* The guard of a convolution's stage, as text. */
static const char *
conv_guard(int64_t pad, int64_t end_pad, int64_t stride, int64_t dilation)
{
	const Dim *H = dim_symbol(ctx, "H");
	const Dim *reach = dim_add_i64(ctx, H, pad + end_pad - dilation * 2 - 1);
	const Dim *P = dim_add_i64(ctx, dim_floordiv(ctx, reach, dim_const(ctx, stride)), 1);
	Tensor *X = tensor_new(ctx, "X", DT_F32, 1, &H);
	StageBuilder *stage = stage_open(ctx, "Y", 1, &P);
	const Expr *p = stage_iter(stage, 0);
	const Expr *r = stage_over(stage, "r", dim_const(ctx, 0), dim_const(ctx, 3));
	const Expr *at = expr_add(ctx, expr_mul(ctx, p, expr_i64(ctx, stride)),
	                          expr_mul(ctx, r, expr_i64(ctx, dilation)));
	at = expr_sub(ctx, at, expr_i64(ctx, pad));
	const Tensor *Y = stage_reduce(stage, REDUCE_sum, DT_F32, stage_read(stage, X, &at));
	return Y->stage->guard ? text_of(Y->stage->guard) : "";
}

START_TEST(convolutions_without_padding_have_no_guard)
{
	open_ctx();
	for (int64_t stride = 1; stride <= 3; stride++)
		for (int64_t dilation = 1; dilation <= 3; dilation++)
			ck_assert_str_eq(conv_guard(0, 0, stride, dilation), "");
	ck_assert_ptr_nonnull(strstr(conv_guard(1, 0, 1, 1), "0 <= "));
	ck_assert_ptr_null(strstr(conv_guard(1, 0, 1, 1), "&&"));
	ck_assert_ptr_null(strstr(conv_guard(0, 1, 2, 1), "0 <= "));
	ck_assert_ptr_nonnull(strstr(conv_guard(1, 1, 2, 1), "&&"));
	close_ctx();
}
END_TEST

/* ---- fuzz ------------------------------------------------------------------------------------ */

static uint64_t seed;

static int
pick(int below)
{
	return (int)(random_next(&seed) % (uint64_t)below);
}

enum { FUZZ_ITERS = 3 };
static const char *const fuzz_symbols[2] = {"A", "B"};

static const Expr *
random_index(int depth)
{
	static const ExprOp ops[] = {EX_add, EX_sub, EX_mul, EX_floordiv, EX_floormod, EX_min,
	                             EX_max, EX_add, EX_mul, EX_floordiv, EX_floormod};
	int kind = pick(depth == 0 ? 3 : 8);
	if (kind == 0)
		return expr_i64(ctx, pick(12) - 2);
	if (kind == 1)
		return expr_iter(ctx, pick(FUZZ_ITERS));
	if (kind == 2)
		return pick(3) ? expr_iter(ctx, pick(FUZZ_ITERS)) : dim_symbol(ctx, fuzz_symbols[pick(2)]);
	ExprOp op = ops[pick(countof(ops))];
	const Expr *a = random_index(depth - 1), *b = random_index(depth - 1);
	if ((op == EX_floordiv || op == EX_floormod) && pick(3))
		b = pick(3) ? expr_i64(ctx, pick(6) + 1) : dim_symbol(ctx, fuzz_symbols[pick(2)]);
	if (kind == 7) {
		const Expr *condition = expr_lt(ctx, a, random_index(depth - 1));
		return expr_select(ctx, condition, b, random_index(depth - 1));
	}
	return expr_op(ctx, op, (const Expr *[]){a, b});
}

static const Expr *
random_condition(int depth)
{
	static const ExprOp ops[] = {EX_lt, EX_le, EX_gt, EX_ge, EX_eq, EX_ne};
	int kind = pick(5);
	if (depth > 0 && kind < 2) {
		const Expr *a = random_condition(depth - 1), *b = random_condition(depth - 1);
		return kind ? expr_and(ctx, a, b) : expr_or(ctx, a, b);
	}
	if (depth > 0 && kind == 2)
		return expr_not(ctx, random_condition(depth - 1));
	return expr_op(ctx, ops[pick(6)], (const Expr *[]){random_index(2), random_index(2)});
}

/* Value of a scalar at a point, by putting constants in and folding. */
static int64_t
value_at(const Expr *e, const int64_t *iter, const int64_t *symbol)
{
	const Expr *map[FUZZ_ITERS];
	int64_t value = 0, values[8];
	bool is_bound[8] = {false};
	for (int i = 0; i < FUZZ_ITERS; i++)
		map[i] = expr_i64(ctx, iter[i]);
	for (int i = 0; i < 2; i++) {
		int id = symbol_get(ctx, fuzz_symbols[i])->id;
		is_bound[id] = true;
		values[id] = symbol[i];
	}
	const Expr *point = expr_substitute(ctx, e, FUZZ_ITERS, map);
	Tensor *Y = tensor_new(ctx, "Y", point->type, 0, NULL);
	Stage stage = {.kind = STAGE_map,
	               .nbody = 1,
	               .body = &point,
	               .nresult = 1,
	               .results = (Tensor *const[]){Y}};
	Y->stage = &stage;
	const Tensor *output = Y;
	Binding binding = {8, values, is_bound};
	Program *program = program_new(ctx, "p", 0, NULL, 1, &output);
	const Expr *folded = program_bind(program, &binding)->stages[0]->body[0];
	ck_assert(expr_as_i64(folded, &value));
	return value;
}

typedef struct Box {
	int64_t extent[FUZZ_ITERS], lo[FUZZ_ITERS];
	int symbol_of[FUZZ_ITERS]; /* extent is this symbol; -1: a number */
	int64_t symbol[2];
} Box;

static void
check_points(const Expr *before, const Expr *after, const Box *box)
{
	int64_t at[FUZZ_ITERS];
	for (int point = 0; point < 12; point++) {
		for (int i = 0; i < FUZZ_ITERS; i++)
			at[i] = box->lo[i] + pick((int)box->extent[i]);
		int64_t x = value_at(before, at, box->symbol), y = value_at(after, at, box->symbol);
		ck_assert_msg(x == y, "%s became %s: %lld, %lld at h=%d w=%d n=%d A=%d B=%d",
		              text_of(before), text_of(after), (long long)x, (long long)y, (int)at[0],
		              (int)at[1], (int)at[2], (int)box->symbol[0], (int)box->symbol[1]);
	}
}

static Facts *
random_box(Box *box)
{
	Facts *facts = facts_new(ctx, arena);
	box->symbol[0] = pick(5) + 1;
	box->symbol[1] = pick(5) + 1;
	for (int i = 0; i < FUZZ_ITERS; i++) {
		box->symbol_of[i] = pick(4) - 2;
		box->lo[i] = box->symbol_of[i] < 0 ? pick(5) - 2 : 0;
		box->extent[i] = box->symbol_of[i] < 0 ? pick(6) + 1 : box->symbol[box->symbol_of[i]];
		const Dim *hi = box->symbol_of[i] < 0 ? dim_const(ctx, box->lo[i] + box->extent[i])
		                                      : dim_symbol(ctx, fuzz_symbols[box->symbol_of[i]]);
		facts_iter(facts, i, dim_const(ctx, box->lo[i]), hi);
	}
	return facts;
}

START_TEST(simplified_is_equal)
{
	seed = 1 + (uint64_t)_i * 977;
	int changed = 0, decided = 0;
	for (int round = 0; round < 300; round++) {
		Box box;
		open_ctx();
		Facts *facts = random_box(&box);
		const Expr *e = pick(3) ? random_index(4) : random_condition(3);
		const Expr *simple = expr_simplify(facts, e);
		changed += simple != e;
		decided += e->type == DT_BOOL && simple->op == EX_const;
		check_points(e, simple, &box);
		int64_t lo, hi, seen;
		if (e->type == DT_I64 && facts_range(facts, e, &lo, &hi)) {
			seen = value_at(e, box.lo, box.symbol);
			ck_assert(lo <= seen && seen <= hi);
		}
		close_ctx();
	}
	ck_assert_int_gt(changed, 100);
	ck_assert_int_gt(decided, 5);
}
END_TEST

/* What lies within a block decides nothing. Here 0 <= w < 16, 0 <= n < N, 0 <= c < 4. */
START_TEST(conditions_count_blocks)
{
	static const char *const cases[][2] = {
		{"n*16+w < 160", "n < 10"},
		{"n*16+w < 161", "w+n*16 < 161"}, /* the first of block 10 is below, the others are not */
		{"n*16+w < 175", "w+n*16 < 175"},
		{"n*16+w < 176", "n < 11"},
		{"n*16+w >= 160", "9 < n"},
		{"n*16+w > 159", "9 < n"},
		{"160 <= n*16+w", "9 < n"},
		{"16*n-w <= 0", "n < 1"},
		{"n*16+w < N*16", "n < N"},
		{"n*64+c*16+w < 640", "n < 10"},
		{"n*64+c*16+w < 160", "c+n*4 < 10"},
		{"n*8+w < 160", "w+n*8 < 160"}, /* blocks overlap */
		{"n*3 < 10", "n < 4"},
		{"n*3 >= 9", "2 < n"},
		{"n/3 < 4", "n/3 < 4"}, /* bounds a quotient that is read at */
		{"n*6 == c*4", "n*3 == c*2"},
		{"n*3 == 12", "n == 4"},
		{"n*2+1 != 6", "true"},
		{"!(n*2 < 7)", "n >= 4"},
	};
	static const char *boxes[][2] = {{"w", "16"}, {"n", "N"}, {"c", "4"}};
	open_ctx();
	Facts *facts = facts_for(boxes, 3);
	for (size_t i = 0; i < countof(cases); i++) {
		const Expr *e = expr_simplify(facts, parse(cases[i][0], DT_BOOL));
		const Expr *wanted = expr_simplify(facts, parse(cases[i][1], DT_BOOL));
		ck_assert_msg(e == wanted, "%s: %s", cases[i][0], text_of(e));
	}
	close_ctx();
}
END_TEST

START_TEST(affine_forms_add_up)
{
	open_ctx();
	const Dim *coefficient[4];
	const Expr *rest;
	ck_assert(expr_affine(ctx, parse("(h*N+w)*3-h+k-2", DT_I64), 4, coefficient, &rest));
	ck_assert_str_eq(text_of(coefficient[0]), "N*3-1");
	ck_assert(dim_is(coefficient[1], 3));
	ck_assert(dim_is(coefficient[2], 0));
	ck_assert_str_eq(text_of(rest), "k-2");
	ck_assert(!expr_affine(ctx, parse("h/2", DT_I64), 4, coefficient, &rest));
	ck_assert(!expr_affine(ctx, parse("h*w", DT_I64), 4, coefficient, &rest));
	ck_assert(!expr_affine(ctx, parse("h*k", DT_I64), 4, coefficient, &rest));
	close_ctx();
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("expr_index");
	tcase_add_test(t, equal_dims_are_equal_pointers);
	tcase_add_test(t, sums_may_be_long);
	tcase_add_test(t, dims_have_values);
	tcase_add_test(t, dims_compare);
	tcase_add_test(t, in_an_empty_box_all_is_true);
	tcase_add_test(t, assumptions_are_forgotten);
	tcase_add_test(t, products_that_overflow_fail);
	tcase_add_test(t, quotients_join);
	tcase_add_test(t, conditions_are_decided);
	tcase_add_test(t, convolutions_without_padding_have_no_guard);
	tcase_add_loop_test(t, simplified_is_equal, 0, 10);
	tcase_add_test(t, conditions_count_blocks);
	tcase_add_test(t, affine_forms_add_up);
	return unit_run(t);
}
