/* Text of scalars, stages and programs: what is printed reads back as the same thing. */
#include <math.h>
#include <string.h>

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

/* ---- programs -------------------------------------------------------------------------------- */

static const char *const programs[] = {
	/* the four stages of a softmax */
	"expr softmax(X: f32[N,C]) -> Y {\n"
	"  m[n:N]: f32 = max(c:C) X[n, c]\n"
	"  e[n:N, c:C]: f32 = exp(X[n, c] - m[n])\n"
	"  s[n:N]: f32 = sum(c:C) e[n, c]\n"
	"  Y[n:N, c:C]: f32 = e[n, c] / s[n]\n"
	"}\n",
	"expr tconv(X: f16[N,F,H,W], K: f16[F,O,4,4]) -> Y {\n"
	"  Y[n:N, o:O, h:H*2, w:W*2]: f16 = sum f32 (f:F, r:4, s:4 where (h+1-r)%2 == 0, "
	"(w+1-s)%2 == 0, 0 <= (h+1-r)/2, (h+1-r)/2 < H, 0 <= (w+1-s)/2, (w+1-s)/2 < W) "
	"f32(X[n, f, (h+1-r)/2, (w+1-s)/2]) * f32(K[f, o, r, s])\n"
	"}\n",
	"expr pool(X: f32[N,C,H,W]) -> V, I {\n"
	"  (V: f32, I: i64)[n:N, c:C, p:(H+1)/2, q:(W+1)/2] = argmax first (r:3, s:3 where "
	"0 <= 2*p+r-1, 2*p+r-1 < H, 0 <= 2*q+s-1, 2*q+s-1 < W) X[n, c, 2*p+r-1, 2*q+s-1] "
	"with ((n*C+c)*H+2*p+r-1)*W+2*q+s-1\n"
	"}\n",
	"expr gather(X: f32[D,M], I: i64[K]) -> Y {\n"
	"  Y[i:K, j:M]: f32 = X[at(I[i], 0..D, wrap, check), j]\n"
	"}\n",
	"expr pad(X: f32[N]) -> P {\n"
	"  P[i:N+2]: f32 = X[i-1] else 0\n"
	"}\n",
	"expr cumsum(X: f32[N]) -> Y {\n"
	"  Y[i:N]: f32 = scan i from 0: prev + X[i]\n"
	"}\n",
	"expr rows(X: f32[N,M], X0: f32[M]) -> Y {\n"
	"  Y[i:N, j:M]: f32 = scan reverse i from X0: max(prev, prev[0]) + X[i, j]\n"
	"}\n",
	"expr scatter(X: f32[D,M], I: i32[K,M], U: f32[K,M]) -> Y {\n"
	"  Y = scatter X, (i:K, j:M) in order: [at(I[i, j], 0..D, wrap, check), j] add= U[i, j]\n"
	"}\n",
	"expr set(X: u8[D], I: i64[K]) -> Y {\n"
	"  Y = scatter X, (i:K) in order: [at(I[i], 0..D)] = 7\n"
	"}\n",
	/* a cell with two states, of which the second step reads the first */
	"expr cell(X: f32[T,N], H0: f32[N]) -> H, _, C {\n"
	"  scan t:T, (h: f32[N] = H from H0, c: f32[N] = C from 0) {\n"
	"    C[t:T, n:N]: f32 = c[n] * X[t, n] + h[n]\n"
	"    H[t:T, n:N]: f32 = tanh(C[t, n])\n"
	"  }\n"
	"}\n",
	"expr boxes(X: f32[8]) -> Y {\n"
	"  Z[i:2..6]: f32 = X[i-1] + X[i+1]\n"
	"  Y[]: f32 = sum(i:2..6 where i != 3, i%2 == 0) Z[i]\n"
	"}\n",
	"expr moments(X: f32[N,C]) -> A, B, D {\n"
	"  (A: f32, B: f32, D: f32)[n:N] = meanvar(c:C) 1 with X[n, c], 0\n"
	"}\n",
	"expr ranges(X: f32[N,M]) -> Y {\n"
	"  symbol N in 1..64\n"
	"  assume N-M == 0\n"
	"  Y[n:N]: f32 = X[n, n]\n"
	"}\n",
	/* what a dim of an input is depends on ranges below: E may be negative */
	"expr bounds(X: f32[max(D, min(5, E-E/2147483648*5))]) -> Y {\n"
	"  symbol D in -2147483648..2147483647\n"
	"  symbol E in -2147483648..2147483647\n"
	"  Y[i:max(D, min(5, E-E/2147483648*5))]: f32 = X[i] * 2\n"
	"}\n",
	"expr none() -> Y {\n"
	"  Y[i:4]: f64 = sqrt(f64(i))\n"
	"}\n",
};

static char *
reprint(const char *text)
{
	Buf buf = {.arena = arena};
	program_print(&buf, program_parse(ctx, "test.e", text));
	return buf.data;
}

START_TEST(programs_print_as_they_read)
{
	for (size_t i = 0; i < countof(programs); i++) {
		/* the texts above are as people write them; the printer's own are a fixed point, also in
		 * a ctx that has seen nothing else */
		char text[4096];
		open_ctx();
		char *printed = reprint(programs[i]);
		ck_assert_str_eq(printed, reprint(printed));
		ck_assert_uint_lt(strlen(printed), sizeof text);
		strcpy(text, printed);
		close_ctx();
		open_ctx();
		ck_assert_str_eq(text, reprint(text));
		close_ctx();
	}
}
END_TEST

/* Texts above that are already as the printer would write them. */
START_TEST(examples_print_exactly)
{
	static const int exact[] = {0, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14};
	for (size_t i = 0; i < countof(exact); i++) {
		open_ctx();
		ck_assert_str_eq(programs[exact[i]], reprint(programs[exact[i]]));
		close_ctx();
	}
}
END_TEST

START_TEST(copies_print_alike)
{
	for (size_t i = 0; i < countof(programs); i++) {
		open_ctx();
		Program *program = program_parse(ctx, "test.e", programs[i]);
		Arena *second = arena_new("second");
		ExprCtx *other = expr_ctx_new(second);
		Buf here = {.arena = arena}, there = {.arena = second};
		program_print(&here, program);
		program_print(&there, program_import(other, program, NULL));
		ck_assert_str_eq(buf_text(&here), buf_text(&there));
		arena_free(second);
		close_ctx();
	}
}
END_TEST

/* ---- scalars --------------------------------------------------------------------------------- */

static const Expr *
parse(const char *text)
{
	Scanner scan;
	Map names = {.arena = arena};
	map_set(&names, "x", (void *)(uintptr_t)expr_var(ctx, var_new(ctx, "x", DT_F32, NULL, NULL)));
	map_set(&names, "b", (void *)(uintptr_t)expr_var(ctx, var_new(ctx, "b", DT_BOOL, NULL, NULL)));
	map_set(&names, "i", (void *)(uintptr_t)expr_iter(ctx, 0));
	scan_open(&scan, arena, "scalar", text);
	const Expr *e = expr_parse(ctx, &scan, &names);
	ck_assert_int_eq(scan_peek(&scan)->kind, TOK_END);
	return e;
}

static const char *
text_of(const Expr *e)
{
	Buf buf = {.arena = arena};
	TextNames names = {.niter = 1, .iters = (const char *const[]){"i"}};
	expr_print_in(&buf, e, &names, DT_NONE);
	return buf_text(&buf);
}

START_TEST(scalars_keep_their_form)
{
	static const char *const texts[] = {
		"x + (x + x)",
		"x + x + x",
		"x - (x - x)",
		"-x * x",
		"-(x * x)",
		"x * -1",
		"i+-3*i",
		"b ? x : 0",
		"(b ? x : 1) + 2",
		"b ? b ? x : 1 : 2",
		"select(b, x, 2)",
		"x < 0 == b",
		"(x == 1) == b",
		"!(x < 2) && (b || x != 3)",
		"fma(x, 2, x)",
		"f16(x) * f16(0.1)",
		"u8(x, nosat)",
		"f8e8m0(x, down)",
		"bitcast(i32, x)",
		"x * nan",
		"x * -inf",
		"x + -0",
		"i/2%3",
		"i % 2 / 3",
		"max(i, i64(u8(x)))",
		"u64(18446744073709551615)",
		"i64(-9223372036854775808)",
		"bitcast(f32, u32(2143289345))",
		"x * 1e-38",
		"f32(7)",
		"x * 0.1",
		"i <= 4 && 3 < i",
	};
	open_ctx();
	for (size_t i = 0; i < countof(texts); i++) {
		const Expr *e = parse(texts[i]);
		const char *text = arena_strdup(arena, text_of(e));
		ck_assert_str_eq(text_of(parse(text)), text);
	}
	ck_assert_str_eq(text_of(parse("x - (x - x)")), "x - (x - x)");
	ck_assert_str_eq(text_of(parse("i+(2+i*4)/3")), "i+(2+i*4)/3");
	ck_assert_str_eq(text_of(parse("1 < i < 5")), "1 < i && i < 5");
	ck_assert_str_eq(text_of(parse("x * (1/4)")), "x * 0.25");
	ck_assert_str_eq(text_of(parse("max(x, lowest(x))")), "max(x, -inf)");
	ck_assert_ptr_eq(parse("x(3)"), expr_number(ctx, DT_F32, 3));
	ck_assert_ptr_eq(parse("-0.0"), expr_number(ctx, DT_F32, -0.0));
	close_ctx();
}
END_TEST

START_TEST(shared_nodes_do_not_explode)
{
	open_ctx();
	Tensor *X = tensor_new(ctx, "X", DT_F32, 1, (const Dim *[]){dim_symbol(ctx, "N")});
	StageBuilder *stage = stage_open(ctx, "Y", 1, X->hi);
	const Expr *e = stage_read(stage, X, (const Expr *[]){stage_iter(stage, 0)});
	for (int i = 0; i < 60; i++)
		e = expr_mul(ctx, expr_add(ctx, e, expr_number(ctx, DT_F32, i)), expr_tanh(ctx, e));
	const Tensor *Y = stage_map(stage, DT_F32, e);
	Buf buf = {.arena = arena};
	program_print(&buf, program_new(ctx, "deep", 1, &X, 1, &Y));
	ck_assert_uint_lt(buf.size, 10000);
	ck_assert_str_eq(buf_text(&buf), reprint(buf_text(&buf)));
	close_ctx();
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------------- */

static void
parse_text(void *text)
{
	program_parse(ctx, "bad.e", text);
}

START_TEST(errors_have_a_line)
{
	static const char *const bad[] = {
		"expr f(X: f32[N]) -> Y {\n Y[i:N]: f32 = X[j]\n}",
		"bad.e:2: unknown name 'j'",
		"expr f(X: f32[N]) -> Y {\n Y[i:N]: f32 = X[i] + i\n}",
		"bad.e:3: '+' does not take operands of type f32, i64",
		"expr f(X: f32[N]) -> Z {\n}",
		"bad.e:2: nothing called 'Z' has been defined",
		"expr f(X: f99[N]) -> X {}",
		"bad.e:1: expected a type, saw 'f99'",
		"expr f(X: f32[N/0]) -> X {}",
		"bad.e:1: this is not an extent",
	};
	for (size_t i = 0; i < countof(bad); i += 2) {
		Failure failure;
		open_ctx();
		ck_assert(!try_run(parse_text, (void *)(uintptr_t)bad[i], &failure));
		ck_assert_int_eq(failure.kind, FAIL_INVALID);
		ck_assert_msg(strstr(failure.text, bad[i + 1]) == failure.text,
		              "expected \"%s\", saw \"%s\"", bad[i + 1], failure.text);
		close_ctx();
	}
}
END_TEST

START_TEST(deep_nesting_is_refused)
{
	Failure failure;
	open_ctx();
	Buf buf = {.arena = arena};
	buf_puts(&buf, "expr f(X: f32[4]) -> Y { Y[i:4]: f32 = ");
	for (int i = 0; i < 100000; i++)
		buf_putc(&buf, '(');
	ck_assert(!try_run(parse_text, buf.data, &failure));
	ck_assert_ptr_nonnull(strstr(failure.text, "nested too deep"));
	close_ctx();
}
END_TEST

/* Operands in a row are nested, too: each is walked inside the next. */
START_TEST(long_chains_are_refused)
{
	static const int counts[] = {9000, 100000};
	for (size_t k = 0; k < countof(counts); k++) {
		Failure failure;
		open_ctx();
		Buf buf = {.arena = arena};
		buf_puts(&buf, "expr f(X: f32[4]) -> Y { Y[i:4]: f32 = X[i]");
		for (int i = 0; i < counts[k]; i++)
			buf_puts(&buf, " + X[i]");
		buf_puts(&buf, " }");
		bool is_read = try_run(parse_text, (void *)(uintptr_t)buf_text(&buf), &failure);
		ck_assert_int_eq(is_read, k == 0);
		if (!is_read)
			ck_assert_ptr_nonnull(strstr(failure.text, "more than 10000 operations"));
		close_ctx();
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("expr_text");
	tcase_add_test(t, programs_print_as_they_read);
	tcase_add_test(t, examples_print_exactly);
	tcase_add_test(t, copies_print_alike);
	tcase_add_test(t, scalars_keep_their_form);
	tcase_add_test(t, shared_nodes_do_not_explode);
	tcase_add_test(t, errors_have_a_line);
	tcase_add_test(t, deep_nesting_is_refused);
	tcase_add_test(t, long_chains_are_refused);
	return unit_run(t);
}
