/* The verifier accepts what is right and names what is wrong. */
#include <string.h>

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
check_text(void *text)
{
	program_check(program_parse(ctx, "test.e", text));
}

START_TEST(right_programs_pass)
{
	static const char *const programs[] = {
		"expr softmax(X: f32[N,C]) -> Y { m[n:N]: f32 = max(c:C) X[n,c]\n"
		"e[n:N, c:C]: f32 = exp(X[n,c] - m[n])\n s[n:N]: f32 = sum(c:C) e[n,c]\n"
		"Y[n:N, c:C]: f32 = e[n,c] / s[n] }",
		"expr conv(X: f32[N,C,H,W], K: f32[F,C,3,3]) -> Y { Y[n:N,f:F,p:(H-1)/2+1,q:(W-1)/2+1]: "
		"f32 = sum(c:C, r:3, s:3 where 0 <= 2*p+r-1, 2*p+r-1 < H, 0 <= 2*q+s-1, 2*q+s-1 < W) "
		"X[n,c,2*p+r-1,2*q+s-1] * K[f,c,r,s] }",
		"expr valid(X: f32[H]) -> Y { Y[p:(H-3)/2+1]: f32 = sum(r:3) X[2*p+r] }",
		"expr tconv(X: f32[F,H], K: f32[F,4]) -> Y { Y[h:H*2]: f32 = sum(f:F, r:4 where "
		"(h+1-r)%2 == 0, 0 <= (h+1-r)/2, (h+1-r)/2 < H) X[f,(h+1-r)/2] * K[f,r] }",
		"expr gather(X: f32[D,M], I: i64[K]) -> Y { Y[i:K, j:M]: f32 = X[at(I[i], 0..D, wrap),j] }",
		"expr pad(X: f32[N]) -> P { P[i:N+2]: f32 = X[i-1] else 0 }",
		"expr cat(X: f32[N], Y: f32[M]) -> Z { Z[i:N+M]: f32 = i < N ? X[i] : Y[i-N] }",
		"expr cat(X: f32[N], Y: f32[M]) -> Z { Z[i:N+M]: f32 = !(i >= N) ? X[i] : Y[i-N] }",
		"expr flat(X: f32[N,C,H]) -> Y { Y[i:N*C*H]: f32 = X[i/(C*H), i/H%C, i%H] }",
		"expr deep(X: f32[N,C*H]) -> Y { Y[n:N,c:C,h:H]: f32 = X[n, c*H+h] }",
		"expr scan(X: f32[N]) -> Y { Y[i:N]: f32 = scan i from 0: prev + X[i] }",
		"expr back(X: f32[N]) -> Y { Y[i:N]: f32 = X[N-1-i] }",
		"expr half(X: f32[N]) -> Y { Y[i:N/2]: f32 = X[2*i] + X[2*i+1] }",
		"expr set(X: f32[D], I: i64[K], U: f32[K]) -> Y { "
		"Y = scatter X, (k:K) in order: [at(I[k], 0..D)] = U[k] }",
		"expr shifted(X: f32[N+2]) -> Y { Z[i:1..N+1]: f32 = X[i-1] * X[i]\n"
		"Y[i:N]: f32 = Z[i+1] }",
		"expr same(X: f32[N], Y: f32[M]) -> Z { assume N == M\n Z[i:N]: f32 = X[i] + Y[i] }",
		"expr near(X: f32[N], I: i64[]) -> Z { Z[i:N]: f32 = X[min(max(i-1, 0), N-1)] }",
	};
	for (size_t i = 0; i < countof(programs); i++) {
		Failure failure;
		open_ctx();
		bool passed = try_run(check_text, (void *)(uintptr_t)programs[i], &failure);
		ck_assert_msg(passed, "%s\n%s", programs[i], passed ? "" : failure.text);
		arena_free(arena);
	}
}
END_TEST

START_TEST(wrong_programs_are_named)
{
	static const char *const programs[][2] = {
		{"expr f(X: f32[N]) -> Y { Y[i:N]: f32 = X[i+1] }",
	     "at i+1 in dim 0, not certainly in 0..N"},
		{"expr f(X: f32[N]) -> Y { Y[i:N+1]: f32 = X[i] }", "not certainly in 0..N"},
		{"expr f(X: f32[N]) -> Y { Y[p:(N-3)/2+2]: f32 = sum(r:3) X[2*p+r] }", "not certainly"},
		{"expr f(X: f32[N]) -> Y { Y[p:N]: f32 = sum(r:3 where 0 <= p+r-1) X[p+r-1] }",
	     "at p+r-1 in dim 0"},
		{"expr f(X: f32[N], Y: f32[M]) -> Z { Z[i:N]: f32 = X[i] + Y[i] }", "reads 'Y' at i"},
		{"expr f(X: f32[N]) -> Y { Y[]: f32 = sum(i:N where X[i] > 0) X[i] }",
	     "not a conjunction of comparisons of indices"},
		{"expr f(X: f32[N]) -> Y { Y[]: f32 = sum(i:N where i < 3 || i > 5) X[i] }",
	     "not a conjunction of comparisons of indices"},
		{"expr f(X: f32[N]) -> Y { Y[i:N]: f32 = i < 2 ? 0 : X[i-3] }", "reads 'X' at i-3"},
		{"expr f(X: f32[D], I: i64[K]) -> Y { Y[k:K]: f32 = X[I[k]] }", "reads 'X' at I[k]"},
		{"expr f(X: f32[D], I: i64[K]) -> Y { Y = scatter X, (k:K) in order: [I[k]] = 1 }",
	     "reads 'X' at I[k]"},
	};
	for (size_t i = 0; i < countof(programs); i++) {
		Failure failure;
		open_ctx();
		ck_assert_msg(!try_run(check_text, (void *)(uintptr_t)programs[i][0], &failure), "%s",
		              programs[i][0]);
		ck_assert_msg(failure.kind == FAIL_BUG && strstr(failure.text, programs[i][1]),
		              "expected '%s' in '%s'", programs[i][1], failure.text);
		arena_free(arena);
	}
}
END_TEST

START_TEST(builders_make_what_passes)
{
	open_ctx();
	const Dim *N = dim_symbol(ctx, "N"), *M = dim_symbol(ctx, "M"), *K = dim_symbol(ctx, "K");
	Tensor *A = tensor_new(ctx, "A", DT_F16, 2, (const Dim *[]){N, K});
	Tensor *B = tensor_new(ctx, "B", DT_F16, 2, (const Dim *[]){K, M});
	StageBuilder *y = stage_open(ctx, "Y", 2, (const Dim *[]){N, M});
	const Expr *n = stage_iter(y, 0), *m = stage_iter(y, 1);
	const Expr *k = stage_over(y, "k", dim_const(ctx, 0), K);
	const Expr *a = expr_cast(ctx, DT_F32, stage_read(y, A, (const Expr *[]){n, k}));
	const Expr *b = expr_cast(ctx, DT_F32, stage_read(y, B, (const Expr *[]){k, m}));
	Tensor *Y = stage_reduce(y, REDUCE_sum, DT_F16, expr_mul(ctx, a, b));
	StageBuilder *z = stage_open(ctx, "Z", 2, (const Dim *[]){N, M});
	Tensor *bias = tensor_new(ctx, "bias", DT_F16, 1, &M);
	const Expr *sum = expr_add(ctx, stage_read_broadcast(z, Y), stage_read_broadcast(z, bias));
	const Tensor *Z = stage_map(z, DT_F16, sum);
	Program *program = program_new(ctx, "gemm", 3, (Tensor *[]){A, B, bias}, 1, &Z);
	program_check(program);
	Buf buf = {.arena = arena};
	program_print(&buf, program);
	ck_assert_str_eq(buf_text(&buf),
	                 "expr gemm(A: f16[N,K], B: f16[K,M], bias: f16[M]) -> Z {\n"
	                 "  Y[i0:N, i1:M]: f16 = sum f32 (k:K) f32(A[i0, k]) * f32(B[k, i1])\n"
	                 "  Z[i0:N, i1:M]: f16 = Y[i0, i1] + bias[i1]\n"
	                 "}\n");
	ck_assert(stage_is_pointwise(Z->stage));
	ck_assert(!stage_is_pointwise(Y->stage));
	ck_assert_ptr_eq(stage_points(ctx, Y->stage), dim_mul(ctx, N, dim_mul(ctx, M, K)));
	arena_free(arena);
}
END_TEST

START_TEST(programs_bind_and_substitute)
{
	open_ctx();
	Program *program =
		program_parse(ctx, "test.e",
	                  "expr f(X: f32[N], Z: f32[N]) -> Y { S[]: f32 = sum(i:N) X[i]\n"
	                  "T[i:N]: f32 = Z[i] * 2\n Y[i:N]: f32 = T[i] / S[] }");
	Map map = {.arena = arena};
	map_set_ptr(&map, program->inputs[0], program->inputs[1]);
	Program *one = program_substitute(program, &map);
	program_check(one);
	ck_assert_int_eq(one->ninput, 1);
	/* T does not read X, so it is the same stage as before */
	const Stage *T = NULL;
	for (int i = 0; i < program->nstage; i++)
		if (strcmp(program->stages[i]->name, "T") == 0)
			T = program->stages[i];
	bool is_kept = false;
	for (int i = 0; i < one->nstage; i++)
		is_kept |= one->stages[i] == T;
	ck_assert(is_kept);
	int64_t value = 6;
	bool is_bound = true;
	Program *bound = program_bind(one, &(Binding){1, &value, &is_bound});
	program_check(bound);
	Buf buf = {.arena = arena};
	program_print(&buf, bound);
	ck_assert_str_eq(buf_text(&buf), "expr f(Z: f32[6]) -> Y {\n"
	                                 "  S[]: f32 = sum(i:6) Z[i]\n"
	                                 "  T[i:6]: f32 = Z[i] * 2\n"
	                                 "  Y[i:6]: f32 = T[i] / S[]\n"
	                                 "}\n");
	arena_free(arena);
}
END_TEST

START_TEST(reductions_have_formulas)
{
	open_ctx();
	const Expr *a[3], *b[3], *out[3];
	for (int i = 0; i < 3; i++) {
		a[i] = expr_var(ctx, var_new(ctx, arena_printf(arena, "a%d", i), DT_F32, NULL, NULL));
		b[i] = expr_var(ctx, var_new(ctx, arena_printf(arena, "b%d", i), DT_F32, NULL, NULL));
	}
	for (int op = 0; op < REDUCE_COUNT; op++) {
		int count = reduce_info((ReduceOp)op)->states;
		reduce_combine(ctx, (ReduceOp)op, count ? count : 2, a, b, out);
		for (int i = 0; i < (count ? count : 2); i++) {
			ck_assert_int_eq(out[i]->type, DT_F32);
			ck_assert(expr_is_const(reduce_identity(ctx, (ReduceOp)op, i, DT_F32)));
		}
	}
	reduce_combine(ctx, REDUCE_argmax_first, 2, a, b, out);
	Buf buf = {.arena = arena};
	expr_print(&buf, out[1]);
	ck_assert_str_eq(buf_text(&buf), "b0 > a0 || b0 != b0 && a0 == a0 ? b1 : a1");
	ck_assert_int_eq(reduce_accumulator(REDUCE_sum, DT_BF16), DT_F32);
	ck_assert_int_eq(reduce_accumulator(REDUCE_max, DT_BF16), DT_BF16);
	ck_assert_int_eq(reduce_accumulator(REDUCE_prod, DT_U8), DT_U32);
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("expr_verify");
	tcase_add_test(t, right_programs_pass);
	tcase_add_test(t, wrong_programs_are_named);
	tcase_add_test(t, builders_make_what_passes);
	tcase_add_test(t, programs_bind_and_substitute);
	tcase_add_test(t, reductions_have_formulas);
	return unit_run(t);
}
