/* Epilogues against the rows POST: what exporters write; random ones by the laws of sums, products
 * and bounds; the same with a number changed by 1 %; and any scalars at all. Whatever
 * matches must give what the interpreter gives, by the definitions in vendor_rows.h.
 * MATCH_PROGRAMS says how many random ones; a few thousand without it.
 */
#include "program/forms.h"
#include "vendor_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "expr/interp/interp.h"
#include "program/match.h"
#include "random_number.h"

enum { PROGRAMS = 3000, POINTS = 16 };

#define X "S[m, n]"

/* ---- one epilogue ---- */

static const char *
kinds_of(Arena *arena, const VendorMatch *m)
{
	Buf text = {.arena = arena};
	StepPost posts[POST_MAX];
	for (int i = 0; i < m->npost; i++)
		posts[i] = m->post[i].post;
	posts_write(&text, m->npost, posts);
	return buf_text(&text);
}

static double
apply_posts(Arena *arena, const VendorMatch *m, double x)
{
	for (int i = 0; i < m->npost; i++) {
		Buf text = {.arena = arena};
		posts_write(&text, 1, &m->post[i].post);
		char *name = arena_strdup(arena, buf_text(&text));
		name[strcspn(name, "(")] = '\0';
		x = row_post(name, x, m->post[i].post.numbers[0], m->post[i].post.numbers[1], 0);
	}
	return x;
}

/* S is A itself: a product with one term, by 1. */
static bool
match_epilogue(Arena *arena, const char *epilogue, VendorMatch *m)
{
	const char *text = arena_printf(arena,
	                                "expr made(A: f32[%d,1], B: f32[1,1]) -> Z {\n"
	                                "S[m:%d, n:1]: f32 = sum(k:1) A[m,k] * B[k,n]\n"
	                                "Z[m:%d, n:1]: f32 = %s\n}\n",
	                                POINTS, POINTS, POINTS, epilogue);
	Program *program = program_parse(expr_ctx_new(arena), "made", text);
	program_check(program);
	if (!vendor_match(arena, program_inline_stages(arena, program), NULL, NULL, m))
		return false;
	Array *a = array_new(arena, DT_F32, 2, (int64_t[]){POINTS, 1}), *z;
	Array *one = array_new(arena, DT_F32, 2, (int64_t[]){1, 1});
	dtype_store_f64(DT_F32, one->data, 0, 1);
	for (int i = 0; i < POINTS; i++)
		dtype_store_f64(DT_F32, a->data, i, -4 + 0.53 * i);
	program_eval(arena, program, NULL, (const Array *const[]){a, one}, &z);
	for (int i = 0; i < POINTS; i++) {
		double is = dtype_load_f64(DT_F32, z->data, i);
		double x = dtype_load_f64(DT_F32, a->data, i);
		double by_row = apply_posts(arena, m, x);
		ck_assert_msg(fabs(is - by_row) <= 2e-5 * fmax(1, fabs(is)) ||
		                  (isnan(is) && isnan(by_row)) || isinf(is),
		              "%s matches %s: %g at %g, instead of %g", epilogue, kinds_of(arena, m),
		              by_row, x, is);
	}
	return true;
}

/* ---- spellings ---- */

static const struct {
	const char *epilogue, *posts; /* NULL: no match */
} spellings[] = {
	{"0.5 * x * (1.0 + erf(x * 0.70710678))", "gelu_erf"},
	{"0.5 * x * (1.0 + erf(x / 1.41421356))", "gelu_erf"},
	{"x * (1.0 + erf(x / 1.41421354)) * 0.5", "gelu_erf"},
	{"x * (erf(x / 1.4142135) + 1.0) * 0.5", "gelu_erf"},
	{"x * 0.5 * (erf(x * 0.70710677) + 1.0)", "gelu_erf"},
	{"x * (0.5 * (1.0 + erf(x / 1.41421356)))", "gelu_erf"},
	{"x * (erf(x * 0.70710678) * 0.5 + 0.5)", "gelu_erf"},
	{"x * (1.0 + erf(x / sqrt(2.0))) / 2.0", "gelu_erf"},
	{"0.5 * (x + x * erf(0.70710678 * x))", "gelu_erf"},
	{"0.5 * x * (1.0 + tanh(0.79788456 * (x + 0.044715 * x * x * x)))", "gelu_tanh"},
	{"0.5 * x * (1.0 + tanh(0.79788456 * (x + 0.044715 * pow(x, 3.0))))", "gelu_tanh"},
	{"x * 0.5 * (tanh((pow(x, 3.0) * 0.044715 + x) * 0.7978846) + 1.0)", "gelu_tanh"},
	{"0.5 * x * (1.0 + tanh(x * 0.79788456 * (1.0 + 0.044715 * x * x)))", "gelu_tanh"},
	{"x * (0.5 + 0.5 * tanh(0.79788456 * x + 0.0356774081 * x * x * x))", "gelu_tanh"},
	{"x / (1.0 + exp(-x))", "swish(1)"},
	{"x * (1.0 / (exp(-1.0 * x) + 1.0))", "swish(1)"},
	{"x * (1.0 / (1.0 + exp(-(1.75 * x))))", "swish(1.75)"},
	{"1.0 / (exp(-x) + 1.0)", "sigmoid"},
	{"x * max(0.0, min(1.0, x * 0.16666667 + 0.5))", "hardswish"},
	{"x * min(max(x + 3.0, 0.0), 6.0) / 6.0", "hardswish"},
	{"x * (max(0.0, min(6.0, x + 3.0)) * 0.16666667)", "hardswish"},
	{"min(6.0, max(0.0, x))", "clip(0,6)"},
	{"max(min(x, 6.0), 0.0)", "clip(0,6)"},
	{"0.0 <= x ? x : 0.25 * x", "leaky_relu(0.25)"},
	{"x < 0.0 ? x * 0.25 : x", "leaky_relu(0.25)"},
	{"x < 0.0 ? 0.5 * exp(x) - 0.5 : x", "elu(0.5)"},
	{"max(x, 0.0)", "relu"},
	{"max(0.0, x - 1.0)", "linear(1,-1);relu"},
	/* near ones */
	{"0.5 * x * (1.0 + erf(x * 0.7142))", NULL},
	{"0.5 * x * (1.01 + erf(x * 0.70710678))", NULL},
	{"0.5 * x * (1.0 + tanh(0.79788456 * (x + 0.0452 * x * x * x)))", NULL},
	{"x * max(0.0, min(1.0, x * 0.168 + 0.5))", NULL},
	{"max(x, x * x)", NULL},
	{"x / x", NULL},
	{"x - x", NULL},
	{"min(max(x, 2.0), 1.0)", NULL},
};

/* The letter x as the result so far. */
static const char *
over_result(Arena *arena, const char *epilogue)
{
	Buf text = {.arena = arena};
	for (const char *c = epilogue; *c; c++) {
		bool is_x = *c == 'x' && (c == epilogue || !strchr("ae", c[-1]));
		buf_puts(&text, is_x ? X : (char[]){*c, 0});
	}
	return buf_text(&text);
}

START_TEST(spelled)
{
	Arena *arena = arena_new("spelled");
	VendorMatch m;
	const char *posts = spellings[_i].posts;
	bool is_match = match_epilogue(arena, over_result(arena, spellings[_i].epilogue), &m);
	ck_assert_msg(is_match == (posts != NULL), "%s", spellings[_i].epilogue);
	if (posts)
		ck_assert_str_eq(kinds_of(arena, &m), posts);
	arena_free(arena);
}
END_TEST

/* ---- random ones ---- */

typedef struct Maker {
	Arena *arena;
	uint64_t dice;
	int numbers, spoiled; /* how many were written; which is 1 % larger, -1: none */
} Maker;

static bool
flip(Maker *m)
{
	return random_below(&m->dice, 2);
}

static const char *
number(Maker *m, double value)
{
	if (m->numbers++ == m->spoiled)
		value *= 1.01;
	return arena_printf(m->arena, "%.9f", value);
}

static const char *
two(Maker *m, const char *a, const char *op, const char *b)
{
	return flip(m) ? arena_printf(m->arena, "(%s %s %s)", a, op, b)
	               : arena_printf(m->arena, "(%s %s %s)", b, op, a);
}

static const char *
bound(Maker *m, const char *name, const char *a, double limit)
{
	const char *b = number(m, limit);
	return flip(m) ? arena_printf(m->arena, "%s(%s, %s)", name, a, b)
	               : arena_printf(m->arena, "%s(%s, %s)", name, b, a);
}

static const char *
times(Maker *m, const char *a, double factor)
{
	return flip(m) ? two(m, a, "*", number(m, factor))
	               : arena_printf(m->arena, "(%s / %s)", a, number(m, 1 / factor));
}

static const char *
clipped(Maker *m, const char *a, double lo, double hi)
{
	return flip(m) ? bound(m, "min", bound(m, "max", a, lo), hi)
	               : bound(m, "max", bound(m, "min", a, hi), lo);
}

static const char *
gelu(Maker *m, const char *x, bool is_erf)
{
	const char *arg, *cube = flip(m) ? arena_printf(m->arena, "pow(%s, 3.0)", x)
	                                 : two(m, two(m, x, "*", x), "*", x);
	if (is_erf)
		arg = arena_printf(m->arena, "erf(%s)", times(m, x, sqrt(0.5)));
	else
		arg = arena_printf(m->arena, "tanh(%s)",
		                   times(m, two(m, x, "+", times(m, cube, 0.044715)), 0.7978845608));
	if (flip(m))
		return times(m, two(m, x, "+", two(m, x, "*", arg)), 0.5);
	const char *sum = two(m, arg, "+", number(m, 1));
	switch (random_below(&m->dice, 3)) {
	case 0:
		return two(m, times(m, x, 0.5), "*", sum);
	case 1:
		return two(m, x, "*", times(m, sum, 0.5));
	default:
		return times(m, two(m, x, "*", sum), 0.5);
	}
}

static const char *
logistic(Maker *m, const char *top, const char *x, double a)
{
	const char *sum = two(m, number(m, 1), "+", arena_printf(m->arena, "exp(%s)", times(m, x, -a)));
	if (!top)
		return arena_printf(m->arena, "(1.0 / %s)", sum);
	return flip(m) ? arena_printf(m->arena, "(%s / %s)", top, sum)
	               : two(m, top, "*", arena_printf(m->arena, "(1.0 / %s)", sum));
}

static const char *
hardswish(Maker *m, const char *x)
{
	if (flip(m))
		return two(m, x, "*", clipped(m, two(m, times(m, x, 1.0 / 6), "+", number(m, 0.5)), 0, 1));
	return times(m, two(m, x, "*", clipped(m, two(m, x, "+", number(m, 3)), 0, 6)), 1.0 / 6);
}

static const char *
respelled(Maker *m, const char *x)
{
	switch (random_below(&m->dice, 9)) {
	case 0:
		return gelu(m, x, true);
	case 1:
		return gelu(m, x, false);
	case 2:
		return logistic(m, x, x, 1);
	case 3:
		return logistic(m, x, x, 1.702);
	case 4:
		return logistic(m, NULL, x, 1);
	case 5:
		return hardswish(m, x);
	case 6:
		return clipped(m, x, -1, 6);
	case 7:
		return flip(m) ? arena_printf(m->arena, "(%s < 0.0 ? %s : %s)", x, times(m, x, 0.125), x)
		               : arena_printf(m->arena, "(%s >= 0.0 ? %s : %s)", x, x, times(m, x, 0.125));
	default:
		return two(m, times(m, x, 1.5), "+", number(m, 0.25));
	}
}

/* Any scalar over x. */
static const char *
scalar(Maker *m, int depth)
{
	static const char *const binary[] = {"+", "-", "*", "/"};
	static const char *const unary[] = {"exp", "tanh", "erf", "abs"};
	static const double numbers[] = {0.5, 1, 2, 3, -1, 0.25};
	unsigned kind = random_below(&m->dice, depth > 0 ? 8 : 2);
	if (kind == 0)
		return number(m, numbers[random_below(&m->dice, countof(numbers))]);
	if (kind == 1)
		return X;
	const char *a = scalar(m, depth - 1);
	if (kind == 2)
		return arena_printf(m->arena, "%s(%s)", unary[random_below(&m->dice, 4)], a);
	const char *b = scalar(m, depth - 1);
	if (kind == 3)
		return arena_printf(m->arena, "%s(%s, %s)", flip(m) ? "max" : "min", a, b);
	if (kind == 4)
		return arena_printf(m->arena, "(%s < %s ? %s : %s)", a, number(m, 0), b, X);
	return arena_printf(m->arena, "(%s %s %s)", a, binary[random_below(&m->dice, 4)], b);
}

START_TEST(random_ones)
{
	int tried[3] = {0}, matched[3] = {0};
	for (int i = _i * PROGRAMS; i < (_i + 1) * PROGRAMS; i++) {
		Maker m = {.arena = arena_new("random"), .dice = (uint64_t)i, .spoiled = -1};
		VendorMatch match;
		int what = i % 3;
		if (what == 1)
			m.spoiled = (int)random_below(&m.dice, 4);
		const char *text = what == 2 ? scalar(&m, 3) : respelled(&m, X);
		tried[what]++;
		bool is_match = match_epilogue(m.arena, text, &match);
		matched[what] += is_match;
		ck_assert_msg(is_match || what > 0, "no match: %s", text);
		arena_free(m.arena);
	}
	if (getenv("MATCH_PROGRAMS"))
		printf("match: %d of %d spelled anew, %d of %d with a number changed, %d of %d others\n",
		       matched[0], tried[0], matched[1], tried[1], matched[2], tried[2]);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("posts");
	const char *given = getenv("MATCH_PROGRAMS");
	int programs = given ? atoi(given) : PROGRAMS;
	tcase_add_loop_test(tcase, spelled, 0, countof(spellings));
	tcase_add_loop_test(tcase, random_ones, 0, (programs + PROGRAMS - 1) / PROGRAMS);
	return unit_run(tcase);
}
