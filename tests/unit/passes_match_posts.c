/* Epilogues against the rows POST: what exporters write; operators that rows name, with attributes
 * by chance; random ones by the laws of sums, products and bounds; the same with a number changed
 * by 1 %; and any scalars at all. Whatever matches must give what the interpreter gives, by the
 * definitions in vendor_rows.h.
 * MATCH_PROGRAMS says how many random ones; a few thousand without it.
 */
#include "program/forms.h"
#include "vendor_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "expr/interp/interp.h"
#include "graph/infer.h"
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

/* Each rounds, as its library does. */
static double
apply_posts(Arena *arena, const VendorMatch *m, double x)
{
	for (int i = 0; i < m->npost; i++) {
		Buf text = {.arena = arena};
		posts_write(&text, 1, &m->post[i].post);
		char *name = arena_strdup(arena, buf_text(&text));
		name[strcspn(name, "(")] = '\0';
		const double *numbers = m->post[i].post.numbers;
		x = (double)(float)row_post(name, x, numbers[0], numbers[1], 0);
	}
	return x;
}

/* S is A itself: a product with one term, by 1. */
static Program *
program_of(Arena *arena, const char *epilogue)
{
	const char *text = arena_printf(arena,
	                                "expr made(A: f32[%d,1], B: f32[1,1]) -> Z {\n"
	                                "S[m:%d, n:1]: f32 = sum(k:1) A[m,k] * B[k,n]\n"
	                                "Z[m:%d, n:1]: f32 = %s\n}\n",
	                                POINTS, POINTS, POINTS, epilogue);
	Program *program = program_parse(expr_ctx_new(arena), "made", text);
	program_check(program);
	return program;
}

/* A match is judged at some points; `epilogue` is for messages. */
static bool
match_program(Arena *arena, const Program *program, const char *epilogue, VendorMatch *m)
{
	if (!row_match(arena, program_inline_stages(arena, program), m))
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

static bool
match_epilogue(Arena *arena, const char *epilogue, VendorMatch *m)
{
	return match_program(arena, program_of(arena, epilogue), epilogue, m);
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
	/* who rounds by adding what is large gets it */
	{"(x + 12582912.0) - 12582911.0", "linear(1,12582912);linear(1,-12582911)"},
	{"((x + 12582912.0) - 12582912.0) * 0.25",
     "linear(1,12582912);linear(1,-12582912);linear(0.25,0)"},
	{"(x + 12582912.0) * 0.25 - 3145728.0", "linear(1,12582912);linear(0.25,0);linear(1,-3145728)"},
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

/* The letter x as the result so far, which is written so. */
static const char *
over(Arena *arena, const char *epilogue, const char *result)
{
	Buf text = {.arena = arena};
	for (const char *c = epilogue; *c; c++) {
		bool is_x = *c == 'x' && (c == epilogue || !strchr("ae", c[-1]));
		buf_puts(&text, is_x ? result : (char[]){*c, 0});
	}
	return buf_text(&text);
}

static const char *
over_result(Arena *arena, const char *epilogue)
{
	return over(arena, epilogue, X);
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

/* ---- where an epilogue stops ---- */

static const char *const stops[][2] = {
	{"max(x, x * x)", "max(x, x * x)"},
	{"max(0.0, cos(x)) * 2.0", "cos(x)"},
	{"log(1.0 + exp(max(x, 0.0)))", "log(x)"},
	{"x * 2.0 / x", "x * 2 / x"},
};

START_TEST(stopped)
{
	Arena *arena = arena_new("stopped");
	const Program *program = program_of(arena, over_result(arena, stops[_i][0]));
	VendorFound found =
		vendor_match(row_forms(arena), arena, program_inline_stages(arena, program), NULL, NULL);
	ck_assert_int_eq(found.count, 0);
	ck_assert_str_eq(found.stopped->name, "matmul");
	ck_assert_str_eq(found.stop, stops[_i][1]);
	arena_free(arena);
}
END_TEST

/* ---- operators ---- */

/* As a node behind a product, and what it is; a number in both is one by chance. */
static const struct {
	const char *node, *post;
} operators[] = {
	{"Relu(%%s)", "relu"},
	{"Gelu(%%s)", "gelu_erf"},
	{"Gelu(%%s) {approximate=\"tanh\"}", "gelu_tanh"},
	{"Swish(%%s)", "swish(1)"},
	{"Swish(%%s) {alpha=%.13g}", "swish(%.13g)"},
	{"HardSwish(%%s)", "hardswish"},
	{"Sigmoid(%%s)", "sigmoid"},
	{"Tanh(%%s)", "tanh"},
	{"LeakyRelu(%%s)", "leaky_relu(0.009999999776482582)"},
	{"LeakyRelu(%%s) {alpha=%.13g}", "leaky_relu(%.13g)"},
	{"Elu(%%s)", "elu(1)"},
	{"Elu(%%s) {alpha=%.13g}", "elu(%.13g)"},
	{"Exp(%%s)", "exp"},
	{"Abs(%%s)", "abs"},
};

START_TEST(named)
{
	Arena *arena = arena_new("named");
	uint64_t dice = (uint64_t)_i;
	size_t which = (size_t)_i % countof(operators);
	float number = 0.0625f + (float)random_below(&dice, 4000) / 1024;
	Buf text = {.arena = arena}, post = {.arena = arena};
	buf_printf(&text,
	           "graph g(%%a: f32[%d,1], %%b: f32[1,1]) -> %%y {\n  %%s = MatMul(%%a, %%b)\n"
	           "  %%y = ",
	           POINTS);
	buf_printf(&text, operators[which].node, (double)number);
	buf_puts(&text, "\n}\n");
	buf_printf(&post, operators[which].post, (double)number);
	Graph *graph = graph_parse(arena, "named", buf_text(&text));
	graph_infer(graph);
	const Node *nodes[] = {graph->body->first, graph->body->first->next};
	Value *inputs[8];
	const Program *program = nodes_meaning(graph, 2, nodes, 1, graph->body->results, inputs);
	VendorMatch m;
	ck_assert_msg(match_program(arena, program, buf_text(&text), &m), "%s", buf_text(&text));
	ck_assert_str_eq(kinds_of(arena, &m), buf_text(&post));
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

/* ---- 16 bits ---- */

/* What stands behind an f16 of a row that rounds once; "" is no post-op, NULL no match. */
static const struct {
	const char *epilogue, *posts;
} halves[] = {
	{"x", ""},
	{"max(x, 0.0)", "relu"},
	{"min(6.0, max(0.0, x))", "clip(0,6)"},
	{"1.0 / (exp(-x) + 1.0)", "sigmoid"},
	{"x / (1.0 + exp(-x))", "swish(1)"},
	{"f16(tanh(f32(x)))", "tanh"},
	{"max(f16(f32(x) / (1.0 + exp(-f32(x)))), 0.0)", "swish(1);relu"},
	{"x < 0.0 ? x * 0.25 : x", "leaky_relu(0.25)"},
	{"x * 0.5 * (erf(x / 1.4142135) + 1.0)", "gelu_erf"},
	{"0.5 * x * (1.0 + tanh(0.7978846 * (x + 0.044715 * x * x * x)))", "gelu_tanh"},
	{"0.5 * x * (1.0 + tanh(0.8 * (x + 0.044715 * x * x * x)))", NULL},
	{"f16(bf16(x))", NULL},
	{"f16(i32(f32(x)))", NULL},
	{"x + x * x", NULL},
};

START_TEST(halves_round_once)
{
	Arena *arena = arena_new("test");
	const char *epilogue = over(arena, halves[_i].epilogue, "f16(" X ")");
	const char *made = arena_printf(arena,
	                                "expr made(A: f16[%d,1], B: f16[1,1]) -> Z {\n"
	                                "S[m:%d, n:1]: f32 = sum(k:1) f32(A[m,k]) * f32(B[k,n])\n"
	                                "Z[m:%d, n:1]: f16 = %s\n}\n",
	                                POINTS, POINTS, POINTS, epilogue);
	const Program *program = program_parse(expr_ctx_new(arena), "made", made);
	Array *a = array_new(arena, DT_F16, 2, (int64_t[]){POINTS, 1}), *z;
	Array *one = array_new(arena, DT_F16, 2, (int64_t[]){1, 1});
	VendorMatch m;
	bool is_match = row_match(arena, program_inline_stages(arena, program), &m);
	ck_assert_msg(is_match == (halves[_i].posts != NULL), "%s", halves[_i].epilogue);
	if (is_match)
		ck_assert_str_eq(kinds_of(arena, &m), halves[_i].posts);
	dtype_store_f64(DT_F16, one->data, 0, 1);
	for (int i = 0; i < POINTS; i++)
		dtype_store_f64(DT_F16, a->data, i, -4 + 0.53 * i);
	program_eval(arena, program, NULL, (const Array *const[]){a, one}, &z);
	for (int i = 0; is_match && i < POINTS; i++) {
		double is = dtype_load_f64(DT_F16, z->data, i);
		double by_row = apply_posts(arena, &m, dtype_load_f64(DT_F16, a->data, i));
		ck_assert_msg(fabs(is - by_row) <= 4e-3 * fmax(0.1, fabs(is)), "%s: %g, not %g",
		              halves[_i].epilogue, by_row, is);
	}
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("posts");
	const char *given = getenv("MATCH_PROGRAMS");
	int programs = given ? atoi(given) : PROGRAMS;
	tcase_add_loop_test(tcase, spelled, 0, countof(spellings));
	tcase_add_loop_test(tcase, halves_round_once, 0, (int)countof(halves));
	tcase_add_loop_test(tcase, stopped, 0, countof(stops));
	tcase_add_loop_test(tcase, named, 0, 8 * countof(operators));
	tcase_add_loop_test(tcase, random_ones, 0, (programs + PROGRAMS - 1) / PROGRAMS);
	return unit_run(tcase);
}
