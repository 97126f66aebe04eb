/* Canonical form and fingerprints: what means the same counts the same, and nothing else does. */
#include <string.h>

#include "expr/stage/build.h"
#include "expr/stage/intern.h"
#include "unit.h"

static Arena *arena;
static ExprCtx *ctx;

static Hash128
fingerprint(const char *text)
{
	Arena *own = arena_new("test");
	Hash128 hash = program_fingerprint(program_parse(expr_ctx_new(own), "test.e", text));
	arena_free(own);
	return hash;
}

/* Each line: programs that mean the same. */
static const char *const same[][3] = {
	{"expr f(X: f32[N,C]) -> Y { Y[n:N]: f32 = sum(c:C) X[n,c] }",
     "expr other(A: f32[N,C]) -> B { B[row:N]: f32 = sum(col:C) A[row,col] }", NULL},
	{"expr f(X: f32[N], Y: f32[N]) -> Z { Z[n:N]: f32 = X[n] + Y[n] }",
     "expr f(X: f32[N], Y: f32[N]) -> Z { Z[n:N]: f32 = Y[n] + X[n] }", NULL},
	{"expr f(X: f32[C,H,W], K: f32[C,3,5]) -> Y { Y[h:H-2,w:W-4]: f32 = "
     "sum(c:C, r:3, s:5) X[c,h+r,w+s] * K[c,r,s] }",
     "expr f(X: f32[C,H,W], K: f32[C,3,5]) -> Y { Y[h:H-2,w:W-4]: f32 = "
     "sum(s:5, c:C, r:3) K[c,r,s] * X[c,r+h,s+w] }",
     NULL},
	{"expr f(X: f32[H,W], K: f32[3,3]) -> Y { Y[h:H-2,w:W-2]: f32 = "
     "sum(r:3, s:3) X[h+r,w+s] * K[r,s] }",
     "expr f(X: f32[H,W], K: f32[3,3]) -> Y { Y[h:H-2,w:W-2]: f32 = "
     "sum(a:3, b:3) X[h+b,w+a] * K[b,a] }",
     NULL},
	{"expr f(X: f32[9]) -> Y { Y[]: f32 = sum(a:3, b:3) X[a] * X[b] }",
     "expr f(X: f32[9]) -> Y { Y[]: f32 = sum(b:3, a:3) X[a] * X[b] }", NULL},
	{"expr f(X: f32[H]) -> Y { Y[h:H]: f32 = sum(r:3 where 0 <= h+r-1, h+r-1 < H) X[h+r-1] }",
     "expr f(X: f32[H]) -> Y { Y[h:H]: f32 = sum(r:3 where h+r <= H, r+h > 0, h < H) X[h+r-1] }",
     "expr f(X: f32[H]) -> Y { Y[h:H]: f32 = sum(r:3, z:1 where 2*h >= 2-2*r+z, h+r-1 < H) "
     "X[(h*4+r*4-4+z)/4] }"},
	/* a guard is a set, however its conditions are nested */
	{"expr f(X: f32[H]) -> Y { Y[h:H]: f32 = sum(r:3 where h+r < 9 && (0 <= h+r-1 && h+r-1 < H)) "
     "X[h+r-1] }",
     "expr f(X: f32[H]) -> Y { Y[h:H]: f32 = sum(r:3 where h+r <= H, (h+r < 9 && 0 < h+r)) "
     "X[h+r-1] }",
     NULL},
	/* of an order-free term products and sums are sets too */
	{"expr f(X: f32[N,C], Y: f32[C], Z: f32[N]) -> V { V[n:N]: f32 = "
     "sum(c:C) X[n,c] * (Y[c] * (Z[n] + (X[n,c] + Y[c]))) }",
     "expr f(X: f32[N,C], Y: f32[C], Z: f32[N]) -> V { V[n:N]: f32 = "
     "sum(c:C) (X[n,c] + Z[n] + Y[c]) * X[n,c] * Y[c] }",
     NULL},
	{"expr f(X: f32[9]) -> Y { Y[]: f32 = sum(a:3, b:3, c:3) X[a] * (X[b] * X[2*c+1]) }",
     "expr f(X: f32[9]) -> Y { Y[]: f32 = sum(b:3, c:3, a:3) X[2*b+1] * X[a] * X[c] }", NULL},
	/* equations and choices whose first iterator is another */
	{"expr f(X: f32[9]) -> Y { Y[]: f32 = sum(a:3, b:3 where a - 2*b == 0) X[2*a+b] }",
     "expr f(X: f32[9]) -> Y { Y[]: f32 = sum(b:3, a:3 where 2*b - a == 0) X[2*a+b] }", NULL},
	{"expr f(X: f32[9]) -> Y { Y[]: f32 = sum(a:3, b:3) (a - b > 0 ? X[a] : X[a+2*b]) }",
     "expr f(X: f32[9]) -> Y { Y[]: f32 = sum(b:3, a:3) (b - a >= 0 ? X[a+2*b] : X[a]) }", NULL},
	{"expr f(X: f32[N,M]) -> Y { T[i:N*M]: f32 = X[i/M, i%M]\n Y[i:N*M]: f32 = exp(T[i]) }",
     "expr f(X: f32[N,M]) -> Y { T[i:N*M]: f32 = X[(i+2*M)/M-2, (i+M)%M]\n Y[k:N*M]: f32 = "
     "exp(T[k]) }",
     NULL},
	{"expr f(X: f32[N]) -> Y { Y[i:N]: f32 = i > 3 ? X[i] : 0 }",
     "expr f(X: f32[N]) -> Y { Y[i:N]: f32 = !(i >= 4) ? 0 : X[i] }", NULL},
	/* under a condition its opposite does not hold, however that is written */
	{"expr f(X: f32[3]) -> Y { Y[i:3]: f32 = i%2 == 0 ? X[i] : i%2 == 0 ? f32(1) : f32(2) }",
     "expr f(X: f32[3]) -> Y { Y[i:3]: f32 = !(i%2 == 0) ? (i%2 == 0 ? f32(1) : f32(2)) : X[i] }",
     "expr f(X: f32[3]) -> Y { Y[i:3]: f32 = i%2 != 0 ? (i%2 != 0 ? f32(2) : f32(1)) : X[i] }"},
	/* what is left of the condition no longer shows that the first read is in range */
	{"expr f(V: f32[5]) -> Y { Y[a:3, b:2]: f32 = 2*b + 2*b - 2 < 2*a - 2 ? "
     "(V[a + a - 1] else 1) * V[(a-1)%5] : (V[b + 2*a - 1] else 1) }",
     "expr f(V: f32[5]) -> Y { Y[y:3, v:2]: f32 = v*4 - 2 + 1 <= y*2 - 2 ? "
     "V[(y-1)%5] * (V[y - 1 + y] else 1) : (V[-1 + y*2 + v] else 1) }",
     NULL},
	{"expr f(X: f32[N]) -> Y { Y[i:N]: f32 = scan i from 0: prev + X[i] }",
     "expr f(X: f32[N]) -> Q { Q[k:N]: f32 = scan k from 0: X[k] + prev }", NULL},
};

START_TEST(same_meanings_have_one_fingerprint)
{
	for (size_t i = 0; i < countof(same); i++)
		for (int k = 1; k < 3 && same[i][k]; k++)
			ck_assert_msg(hash128_equal(fingerprint(same[i][0]), fingerprint(same[i][k])), "%s\n%s",
			              same[i][0], same[i][k]);
}
END_TEST

/* No two of these mean the same. */
static const char *const different[] = {
	"expr f(X: f32[N,C]) -> Y { Y[n:N]: f32 = sum(c:C) X[n,c] }",
	"expr f(X: f32[N,C]) -> Y { Y[c:C]: f32 = sum(n:N) X[n,c] }",
	"expr f(X: f32[N,C]) -> Y { Y[n:N]: f32 = sum(c:C-1) X[n,c] }",
	"expr f(X: f32[N,C]) -> Y { Y[n:N]: f32 = sum(c:1..C) X[n,c] }",
	"expr f(X: f32[N,C]) -> Y { Y[n:N]: f32 = max(c:C) X[n,c] }",
	"expr f(X: f16[N,C]) -> Y { Y[n:N]: f16 = sum(c:C) X[n,c] }",
	"expr f(X: f16[N,C]) -> Y { Y[n:N]: f16 = sum f32 (c:C) f32(X[n,c]) }",
	"expr f(X: f32[N,C]) -> Y { Y[n:N]: f32 = sum(c:C where c < n) X[n,c] }",
	"expr f(X: f32[N,C]) -> Y { Y[n:N]: f32 = sum(c:C where c <= n) X[n,c] }",
	"expr f(X: f32[N,C]) -> Y { Y[n:N]: f32 = sum(c:C where c % 2 == 0) X[n,c] }",
	"expr f(X: f32[N,C]) -> Y { Y[n:N]: f32 = sum(c:C where c % 2 == 1) X[n,c] }",
	/* square kernels: K[r,s] is not K[s,r] */
	"expr f(X: f32[9,9], K: f32[3,3]) -> Y { Y[h:7,w:7]: f32 = sum(r:3,s:3) X[h+r,w]*K[r,s] }",
	"expr f(X: f32[9,9], K: f32[3,3]) -> Y { Y[h:7,w:7]: f32 = sum(r:3,s:3) X[h+r,w]*K[s,r] }",
	/* mods, compound quotients, fills */
	"expr f(X: f32[N]) -> Y { Y[i:N]: f32 = X[i%3*0] }",
	"expr f(X: f32[8]) -> Y { Y[i:N]: f32 = X[i%3] }",
	"expr f(X: f32[8]) -> Y { Y[i:N]: f32 = X[i%4] }",
	"expr f(X: f32[8]) -> Y { Y[i:N]: f32 = X[(i+1)%4] }",
	"expr f(X: f32[N]) -> Y { Y[i:N+1]: f32 = X[i] else 0 }",
	"expr f(X: f32[N]) -> Y { Y[i:N+1]: f32 = X[i] else 1 }",
	"expr f(X: f32[N]) -> Y { Y[i:N+1]: f32 = X[i] else -0 }",
	"expr f(X: f32[N], Z: f32[N]) -> Y { Y[i:N]: f32 = X[i] - Z[i] }",
	"expr f(X: f32[N], Z: f32[N]) -> Y { Y[i:N]: f32 = Z[i] - X[i] }",
	"expr f(X: f32[N], Z: f32[N]) -> Y { Y[i:N]: f32 = X[i] - (Z[i] - X[i]) }",
	"expr f(X: f32[N], Z: f32[N]) -> Y { Y[i:N]: f32 = X[i] + (Z[i] + X[i]) }",
	"expr f(X: f32[N], Z: f32[N]) -> Y { Y[i:N]: f32 = Z[i] + (X[i] + X[i]) }",
	"expr f(X: f32[N], Z: f32[N]) -> Y { Y[]: f32 = sum(i:N) Z[i] + (X[i] + X[i]) }",
	"expr f(X: f32[N], Z: f32[N]) -> Y { Y[]: f32 = sum(i:N) Z[i] * (X[i] + X[i]) }",
	"expr f(X: f32[N], Z: f32[N]) -> Y { Y[]: f32 = sum(i:N) X[i] * (X[i] * Z[i]) }",
	"expr f(X: f32[N], Z: f32[N]) -> Y { Y[]: f32 = max(i:N) X[i] * (X[i] * Z[i]) }",
	"expr f(X: f32[N], Z: f32[N]) -> Y { Y[]: f32 = max(i:N) (X[i] * X[i]) * Z[i] }",
	"expr f(X: f32[N]) -> Y { Y[i:N]: f32 = scan i from 0: prev + X[i] }",
	"expr f(X: f32[N]) -> Y { Y[i:N]: f32 = scan reverse i from 0: prev + X[i] }",
	"expr f(X: f32[N], S: f32[]) -> Y { Y[i:N]: f32 = scan i from S: prev + X[i] }",
	"expr f(X: f32[D,M], I: i64[K]) -> Y { Y[k:K,j:M]: f32 = X[at(I[k], 0..D), j] }",
	"expr f(X: f32[D,M], I: i64[K]) -> Y { Y[k:K,j:M]: f32 = X[at(I[k], 0..D, wrap), j] }",
	"expr f(X: f32[D], I: i64[K]) -> Y { Y = scatter X, (k:K) in order: [at(I[k], 0..D)] = 7 }",
	"expr f(X: f32[D], I: i64[K]) -> Y { Y = scatter X, (k:K) in order: [at(I[k], 0..D)] add= 7 }",
	"expr f(X: f32[9]) -> V, I { (V: f32, I: i64)[] = argmax first (a:3, b:3) X[a+b] with a }",
	"expr f(X: f32[9]) -> V, I { (V: f32, I: i64)[] = argmax first (b:3, a:3) X[a+b] with a }",
	"expr f(X: f32[9]) -> V, I { (V: f32, I: i64)[] = argmax last (b:3, a:3) X[a+b] with a }",
	"expr f(X: f32[9]) -> I { (V: f32, I: i64)[] = argmax last (b:3, a:3) X[a+b] with a }",
};

START_TEST(other_meanings_have_other_fingerprints)
{
	Hash128 hashes[countof(different)];
	for (size_t i = 0; i < countof(different); i++) {
		hashes[i] = fingerprint(different[i]);
		for (size_t k = 0; k < i; k++)
			ck_assert_msg(!hash128_equal(hashes[i], hashes[k]), "%s\n%s", different[i],
			              different[k]);
	}
}
END_TEST

START_TEST(canonical_programs_are_a_fixed_point)
{
	for (size_t i = 0; i < countof(different); i++) {
		arena = arena_new("test");
		ctx = expr_ctx_new(arena);
		Program *program = program_parse(ctx, "test.e", different[i]);
		Program *canon = program_canon(program);
		Buf once = {.arena = arena}, twice = {.arena = arena};
		program_print(&once, canon);
		program_print(&twice, program_canon(canon));
		ck_assert_str_eq(buf_text(&once), buf_text(&twice));
		ck_assert(hash128_equal(program_fingerprint(program), program_fingerprint(canon)));
		arena_free(arena);
	}
}
END_TEST

START_TEST(stages_with_equal_inputs_are_equal)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
	Program *p = program_parse(ctx, "test.e",
	                           "expr f(X: f32[N], Z: f32[N]) -> A, B, C {\n"
	                           "P[i:N]: f32 = X[i] * X[i]\n Q[k:N]: f32 = X[k] * X[k]\n"
	                           "A[i:N]: f32 = P[i] + 1\n B[i:N]: f32 = 1 + Q[i]\n"
	                           "C[i:N]: f32 = Z[i] + 1 }");
	Hash128 hash[3];
	for (int i = 0; i < 3; i++)
		hash[i] = program_canon(p)->outputs[i]->fingerprint;
	ck_assert(hash128_equal(hash[0], hash[1]));
	ck_assert(!hash128_equal(hash[0], hash[2]));
	arena_free(arena);
}
END_TEST

START_TEST(equal_stages_are_one)
{
	static const char *const text =
		"expr f(X: f32[N], K: f32[3], L: f32[3]) -> Y {\n"
		" A[i:N, r:3]: f32 = X[i+r] else 0\n P[i:N]: f32 = sum(r:3) A[i, r] * K[r]\n"
		" B[j:N, s:3]: f32 = X[s+j] else 0\n Q[i:N]: f32 = sum(r:3) B[i, r] * L[r]\n"
		" Y[i:N]: f32 = P[i] - Q[i] }";
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
	const Program *given = program_parse(ctx, "test.e", text), *canon = program_canon(given);
	program_check(canon);
	ck_assert_int_eq(given->nstage, 5);
	ck_assert_int_eq(canon->nstage, 4);
	ck_assert(hash128_equal(program_fingerprint(given), program_fingerprint(canon)));
	arena_free(arena);
}
END_TEST

/* What was interned before is found again, from any ctx; one stage more is one stage more. */
START_TEST(equal_computations_are_one_tensor)
{
	static const char *const texts[] = {
		"expr f(X: f32[N,N]) -> Y { P[i:N,k:N]: f32 = X[i,k] * X[k,i]\n"
		" Y[i:N]: f32 = sum(k:N) P[i,k] + 1 }",
		"expr g(A: f32[N,N]) -> B { Q[a:N,b:N]: f32 = A[b,a] * A[a,b]\n"
		" B[a:N]: f32 = sum(j:N) 1 + Q[a,j] }",
		"expr h(A: f32[N,N]) -> C { Q[a:N,b:N]: f32 = A[b,a] * A[a,b]\n"
		" C[a:N]: f32 = sum(j:N) 2 + Q[a,j] }",
	};
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
	StageTable *table = stage_table_new(ctx);
	const Program *kept[countof(texts)];
	size_t used[countof(texts)];
	for (size_t i = 0; i < countof(texts); i++) {
		Arena *work = arena_new("work");
		kept[i] = program_intern(table, program_parse(expr_ctx_new(work), "test.e", texts[i]));
		arena_free(work);
		used[i] = arena_used(arena);
	}
	ck_assert_ptr_eq(kept[0]->outputs[0], kept[1]->outputs[0]);
	ck_assert_ptr_ne(kept[0]->outputs[0], kept[2]->outputs[0]);
	ck_assert_ptr_eq(kept[0]->stages[0], kept[2]->stages[0]);
	ck_assert_uint_lt(used[1] - used[0], 300); /* the list of its stages */
	for (size_t i = 0; i < countof(texts); i++) {
		program_check(kept[i]);
		ck_assert(hash128_equal(program_fingerprint(kept[i]), fingerprint(texts[i])));
	}
	arena_free(arena);
}
END_TEST

/* Boxes that begin at 0, said or not. */
START_TEST(numbers_for_symbols_are_as_written)
{
	static const char open[] = "expr f(X: f32[9,4], Z: f32[4,9]) -> Y {\n"
							   " T[i:M..9, j:4]: f32 = X[i, j] + 1\n"
							   " Y[i:M..9]: f32 = sum(j:4) T[i, j] * Z[j, i] }";
	static const char at_zero[] = "expr f(X: f32[9,4], Z: f32[4,9]) -> Y {\n"
								  " T[i:9, j:4]: f32 = X[i, j] + 1\n"
								  " Y[i:9]: f32 = sum(j:4) T[i, j] * Z[j, i] }";
	arena = arena_new("test");
	const Program *program = program_parse(expr_ctx_new(arena), "test.e", open);
	int64_t value = 0;
	bool is_bound = true;
	const Program *bound = program_bind(program, &(Binding){1, &value, &is_bound});
	ck_assert(hash128_equal(program_fingerprint(bound), fingerprint(at_zero)));
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("expr_canon");
	tcase_add_test(t, same_meanings_have_one_fingerprint);
	tcase_add_test(t, other_meanings_have_other_fingerprints);
	tcase_add_test(t, canonical_programs_are_a_fixed_point);
	tcase_add_test(t, equal_stages_are_one);
	tcase_add_test(t, equal_computations_are_one_tensor);
	tcase_add_test(t, stages_with_equal_inputs_are_equal);
	tcase_add_test(t, numbers_for_symbols_are_as_written);
	return unit_run(t);
}
