/* Derivation: each elementary operation gives an equal program, checked by the interpreter on small
 * integers (where every order of a sum is exact), and a convolution becomes a matrix product and a
 * reduction over offsets.
 */
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "expr/interp/interp.h"
#include "expr/stage/build.h"
#include "expr/stage/canon.h"
#include "program/derive.h"
#include "unit.h"

static Arena *arena;
static ExprCtx *ctx;
static uint64_t seed;

static int
pick(int below)
{
	return (int)(random_next(&seed) % (uint64_t)below);
}

static void
open_ctx(void)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
}

static const char *
text_of(const Program *program)
{
	Buf buf = {.arena = arena};
	program_print(&buf, program);
	return buf_text(&buf);
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* Inputs of a program: small integers, none of them zero. Symbols get `size`. */
typedef struct Sample {
	const Array *inputs[8];
	Binding binding;
} Sample;

static Sample *
make_sample(const Program *program, int size)
{
	Sample *sample = NEW(arena, Sample);
	int64_t *values = NEW_N(arena, int64_t, 64);
	bool *is_bound = NEW_N(arena, bool, 64);
	for (int i = 0; i < 64; i++) {
		values[i] = size + i % 3;
		is_bound[i] = true;
	}
	sample->binding = (Binding){64, values, is_bound};
	for (int i = 0; i < program->ninput; i++) {
		const Tensor *input = program->inputs[i];
		int64_t dims[8];
		for (int k = 0; k < input->rank; k++)
			ck_assert(dim_eval(input->hi[k], &sample->binding, &dims[k]));
		Array *array = array_new(arena, input->type, input->rank, dims);
		for (int64_t k = 0; k < array_count(array); k++)
			dtype_store_f64(array->type, array->data, k, pick(2) ? pick(3) + 1 : -1 - pick(3));
		sample->inputs[i] = array;
	}
	return sample;
}

static void
check_equal(const Program *a, const Program *b, const Sample *sample)
{
	Array *x[4] = {NULL}, *y[4] = {NULL};
	program_eval(arena, a, &sample->binding, sample->inputs, x);
	program_eval(arena, b, &sample->binding, sample->inputs, y);
	for (int i = 0; i < a->noutput; i++) {
		ck_assert_int_eq(array_count(x[i]), array_count(y[i]));
		for (int64_t k = 0; k < array_count(x[i]); k++) {
			double seen = dtype_load_f64(y[i]->type, y[i]->data, k);
			double wanted = dtype_load_f64(x[i]->type, x[i]->data, k);
			ck_assert_msg(seen == wanted, "element %d is %g, not %g\n%s\n%s", (int)k, seen, wanted,
			              text_of(a), text_of(b));
		}
	}
}

/* A step that must succeed, with its check. */
static Program *
step(const Program *before, Program *after, const char *why, const Sample *sample)
{
	ck_assert_msg(after != NULL, "refused: %s\n%s", why ? why : "", text_of(before));
	program_check(after);
	check_equal(before, after, sample);
	return after;
}

/* ---- finding one's way ----------------------------------------------------------------------- */

/* The stage with this many loops that reads both inputs of a product (or any reduction). */
static const Stage *
product_stage(const Program *program)
{
	for (int i = 0; i < program->nstage; i++)
		if (program->stages[i]->kind == STAGE_reduce && program->stages[i]->body[0]->op == EX_mul)
			return program->stages[i];
	return NULL;
}

/* Position of the loop of this name. */
static int
loop(const Stage *stage, const char *name)
{
	for (int i = 0; i < stage->nloop; i++)
		if (stage->iters[i].name && strcmp(stage->iters[i].name, name) == 0)
			return i;
	ck_abort_msg("no loop %s", name);
	return -1;
}

static Program *
skew(const Program *p, const char *i, const char *j, int64_t b, const Sample *sample)
{
	Bijection map;
	Reason why = NULL;
	const Stage *stage = product_stage(p);
	ck_assert(derive_skew(ctx, stage, loop(stage, i), loop(stage, j), b, &map));
	return step(p, derive_substitute(p, stage, &map, &why), why, sample);
}

static Program *
fuse(const Program *p, const char *i, const char *j, const Sample *sample)
{
	Bijection map;
	Reason why = NULL;
	const Stage *stage = product_stage(p);
	ck_assert(derive_fuse(ctx, stage, loop(stage, i), loop(stage, j), &map));
	return step(p, derive_substitute(p, stage, &map, &why), why, sample);
}

static Program *
extract(const Program *p, int factor, const Sample *sample)
{
	Reason why = NULL;
	const Stage *stage = product_stage(p);
	Program *q = derive_extract(p, stage, stage->body[0]->arg[factor], &why);
	return step(p, q, why, sample);
}

/* ---- Conv3x3 to matrix product and OffsetReduce ---------------------------------------------- */

typedef struct Conv {
	int n, h, w, c, f, r, s, top, left, bottom, right;
} Conv;

static Program *
convolution(const Conv *v)
{
	char text[1000];
	snprintf(
		text, sizeof text,
		"expr conv(A: f32[%d,%d,%d,%d], K: f32[%d,%d,%d,%d]) -> Y {\n"
		"Y[n:%d, h:%d, w:%d, f:%d]: f32 = sum(c:%d, r:%d, s:%d where 0 <= h+r-%d, h+r-%d < %d, "
		"0 <= w+s-%d, w+s-%d < %d) A[n, h+r-%d, w+s-%d, c] * K[r, s, f, c] }",
		v->n, v->h, v->w, v->c, v->r, v->s, v->f, v->c, v->n, v->h + v->top + v->bottom - v->r + 1,
		v->w + v->left + v->right - v->s + 1, v->f, v->c, v->r, v->s, v->top, v->top, v->h, v->left,
		v->left, v->w, v->top, v->left);
	return program_parse(ctx, "conv.e", text);
}

/* T5[i,j] = sum(c) T4[i,c] * T3[j,c], whatever computes T4 and T3. */
static bool
is_matrix_product(const Stage *stage)
{
	if (stage->nloop != 2 || stage->nreduce != 1 || stage->guard || stage->reduce != REDUCE_sum ||
	    stage->body[0]->op != EX_mul)
		return false;
	const Expr *a = stage->body[0]->arg[0], *b = stage->body[0]->arg[1];
	const Expr *i = expr_iter(ctx, 0), *j = expr_iter(ctx, 1), *c = expr_iter(ctx, 2);
	return a->op == EX_read && b->op == EX_read && a->argc == 2 && b->argc == 2 && a->arg[0] == i &&
	       a->arg[1] == c && b->arg[0] == j && b->arg[1] == c;
}

static const Conv convs[] = {
	{1, 7, 7, 3, 2, 3, 3, 1, 1, 1, 1}, /* as in the paper, with fewer channels */
	{2, 5, 4, 2, 3, 3, 3, 1, 1, 1, 1}, {1, 6, 5, 2, 2, 3, 3, 0, 2, 1, 1}, /* asymmetric */
	{2, 5, 7, 1, 2, 3, 3, 2, 0, 0, 1}, {1, 5, 6, 2, 2, 2, 5, 1, 2, 0, 2},
	{1, 4, 4, 2, 2, 3, 3, 0, 0, 0, 0},
};

START_TEST(convolution_becomes_matrix_product)
{
	const Conv *v = &convs[_i];
	seed = 17 + (uint64_t)_i;
	open_ctx();
	Reason why = NULL;
	Program *p = convolution(v), *first = p;
	const Sample *sample = make_sample(p, 1);
	program_check(p);
	p = step(p, derive_split_sum(p, product_stage(p), 6, &why), why, sample); /* r, s outside */
	p = skew(p, "h", "r", 1, sample);
	p = skew(p, "w", "s", 1, sample);
	if (v->top + v->bottom + v->left + v->right > 0)
		p = step(p, derive_tighten(p, product_stage(p), &why), why, sample);
	ck_assert_ptr_null(product_stage(p)->guard);
	p = fuse(p, "h", "w", sample);
	p = fuse(p, "n", "h", sample);
	p = fuse(p, "r", "s", sample);
	p = fuse(p, "r", "f", sample);
	Bijection map;
	ck_assert(derive_permute(ctx, product_stage(p),
	                         (int[]){loop(product_stage(p), "n"), loop(product_stage(p), "r")},
	                         &map));
	p = step(p, derive_substitute(p, product_stage(p), &map, &why), why, sample);
	p = extract(p, 0, sample);
	p = extract(p, 1, sample);
	ck_assert_msg(is_matrix_product(product_stage(p)), "%s", text_of(p));
	check_equal(first, p, sample);
	/* what is left is one sum over the offsets */
	const Stage *reduce = p->outputs[0]->stage;
	ck_assert_int_eq(p->nstage, 4);
	ck_assert_int_eq(reduce->nreduce, 2);
	ck_assert(reduce->body[0]->op == EX_read);
	ck_assert_ptr_eq(reduce->body[0]->tensor->stage, product_stage(p));
	arena_free(arena);
}
END_TEST

START_TEST(golden_text_of_the_papers_example)
{
	const Conv v = {1, 7, 7, 512, 512, 3, 3, 1, 1, 1, 1};
	open_ctx();
	Program *p = convolution(&v);
	Bijection map;
	p = derive_split_sum(p, product_stage(p), 6, NULL);
	ck_assert(derive_skew(ctx, product_stage(p), 3, 0, 1, &map));
	p = derive_substitute(p, product_stage(p), &map, NULL);
	ck_assert(derive_skew(ctx, product_stage(p), 4, 1, 1, &map));
	p = derive_substitute(p, product_stage(p), &map, NULL);
	p = derive_tighten(p, product_stage(p), NULL);
	program_check(p);
	ck_assert_str_eq(text_of(p),
	                 "expr conv(A: f32[1,7,7,512], K: f32[3,3,512,512]) -> Y_2 {\n"
	                 "  Y[r:3, s:3, n:1, h:1..8, w:1..8, f:512]: f32 = "
	                 "sum(c:512) A[n, h-1, w-1, c] * K[r, s, f, c]\n"
	                 "  Y_2[n:1, h:7, w:7, f:512]: f32 = sum(r:3, s:3 where "
	                 "0 <= h+r-1, h+r-1 < 7, 0 <= w+s-1, w+s-1 < 7) Y[r, s, n, h+r, w+s, f]\n"
	                 "}\n");
	arena_free(arena);
}
END_TEST

/* ---- single operations ----------------------------------------------------------------------- */

static const char conv1d[] =
	"expr f(X: f32[C,H], K: f32[C,5], B: f32[H]) -> Y {\n"
	"S[h:H]: f32 = sum(c:C, r:5 where 0 <= h+r-2, h+r-2 < H) X[c, h+r-2] * K[c, r]\n"
	"Y[h:H]: f32 = max(S[h] + B[h], 0) }";

START_TEST(loops_split_unevenly)
{
	open_ctx();
	seed = 5;
	for (int size = 1; size < 8; size++) {
		Program *p = program_parse(ctx, "split.e", conv1d);
		const Sample *sample = make_sample(p, size);
		for (int factor = 2; factor < 5; factor++) {
			Bijection map;
			Reason why = NULL;
			const Stage *stage = product_stage(p);
			ck_assert(derive_split(ctx, stage, 0, factor, &map));
			Program *q = step(p, derive_substitute(p, stage, &map, &why), why, sample);
			ck_assert_int_eq(product_stage(q)->nloop, 2);
		}
	}
	arena_free(arena);
}
END_TEST

START_TEST(sums_merge_again)
{
	open_ctx();
	seed = 6;
	Program *p = program_parse(ctx, "merge.e", conv1d);
	const Sample *sample = make_sample(p, 5);
	Reason why = NULL;
	Program *q = step(p, derive_split_sum(p, product_stage(p), 2, &why), why, sample);
	ck_assert_int_eq(q->nstage, 3);
	Program *r = step(q, derive_merge(q, product_stage(q), &why), why, sample);
	ck_assert_int_eq(r->nstage, 2);
	ck_assert_int_eq(product_stage(r)->nreduce, 2);
	ck_assert(hash128_equal(program_fingerprint(p), program_fingerprint(r)));
	arena_free(arena);
}
END_TEST

START_TEST(outer_sums_stay_when_merged)
{
	open_ctx();
	seed = 7;
	Program *p = program_parse(ctx, "outer.e",
	                           "expr f(X: f32[N,K], W: f32[K,M], V: f32[M]) -> Y {\n"
	                           "T[n:N,m:M]: f32 = sum(k:K) X[n,k] * W[k,m]\n"
	                           "Y[n:N]: f32 = sum(m:M where m < n) T[n,m] * V[m] }");
	const Sample *sample = make_sample(p, 4);
	Reason why = NULL;
	Program *q = step(p, derive_merge(p, p->stages[0], &why), why, sample);
	ck_assert_int_eq(q->nstage, 1);
	ck_assert_int_eq(q->stages[0]->nreduce, 2);
	/* not linear: refused */
	p = program_parse(ctx, "outer.e",
	                  "expr f(X: f32[N,K]) -> Y {\n T[n:N]: f32 = sum(k:K) X[n,k]\n"
	                  "Y[]: f32 = sum(n:N) T[n] * T[n] }");
	ck_assert_ptr_null(derive_merge(p, p->stages[0], &why));
	ck_assert_str_eq(why, "the reader is not linear in the value");
	arena_free(arena);
}
END_TEST

START_TEST(maps_merge_into_readers)
{
	open_ctx();
	seed = 8;
	Program *p = program_parse(ctx, "map.e",
	                           "expr f(X: f32[N]) -> Y {\n P[i:N+4]: f32 = X[i-2] else 0\n"
	                           "Y[i:N+2]: f32 = sum(r:3) P[i+r] }");
	const Sample *sample = make_sample(p, 5);
	Reason why = NULL;
	Program *q = step(p, derive_merge(p, p->stages[0], &why), why, sample);
	ck_assert_str_eq(text_of(q), "expr f(X: f32[N]) -> Y {\n"
	                             "  Y[i:N+2]: f32 = sum(r:3 where 0 <= i+r-2, i+r-2 < N) "
	                             "X[i+r-2]\n}\n");
	arena_free(arena);
}
END_TEST

/* A value that is not zero outside keeps its test: a bias is added before the border. */
START_TEST(a_bias_is_not_tightened_away)
{
	open_ctx();
	seed = 9;
	Program *p = program_parse(ctx, "bias.e",
	                           "expr f(X: f32[N], B: f32[]) -> Y {\n"
	                           "T[i:N+2]: f32 = sum(k:1 where 0 <= i-1, i-1 < N) X[i-1+k*0]\n"
	                           "Y[i:N+2]: f32 = T[i] + B[] }");
	const Sample *sample = make_sample(p, 3);
	Reason why = NULL;
	Program *q = step(p, derive_tighten(p, p->stages[0], &why), why, sample);
	ck_assert_str_eq(text_of(q), "expr f(X: f32[N], B: f32[]) -> Y {\n"
	                             "  T[i:1..N+1]: f32 = sum(k:1) X[i-1]\n"
	                             "  Y[i:N+2]: f32 = (T[i] else 0) + B[]\n"
	                             "}\n");
	ck_assert_ptr_null(derive_tighten(q, q->stages[0], &why));
	arena_free(arena);
}
END_TEST

/* Two loops whose bounds follow from each other's, over a length that may be 0: a bound is taken
 * where it is certainly one, or the box would be cut again and again. */
START_TEST(tightening_takes_certain_bounds_only)
{
	open_ctx();
	Program *p = program_parse(ctx, "certain.e",
	                           "expr f(X: f32[H]) -> Y {\n"
	                           "T[i:2, j:H+1]: f32 = sum(k:1 where 0 <= i+j-1, 0 <= H-i-j) "
	                           "X[i+j-1+k*0]\n"
	                           "Y[i:2, j:H+1]: f32 = T[i, j] + 1 }");
	ck_assert_ptr_null(derive_tighten(p, p->stages[0], NULL));
	arena_free(arena);
}
END_TEST

/* Bounds by coefficients other than 1 round the right way, also below zero. */
START_TEST(tightening_rounds_by_floor)
{
	open_ctx();
	seed = 10;
	for (int size = 1; size < 9; size++) {
		Program *p = program_parse(ctx, "floor.e",
		                           "expr f(X: f32[H]) -> Y {\n"
		                           "T[i:-7..9, j:6]: f32 = sum(r:2 where 0 <= 3*i+r+5-2*j, "
		                           "3*i+r+5-2*j < H) X[3*i+r+5-2*j]\n"
		                           "Y[i:16, j:6]: f32 = T[i-7, j] + 1 }");
		const Sample *sample = make_sample(p, size);
		Reason why = NULL;
		program_check(p);
		step(p, derive_tighten(p, p->stages[0], &why), why, sample);
	}
	arena_free(arena);
}
END_TEST

/* 5 taps become 2 x 3: relax to 6 with a zero tap, split the sum's iterator. */
START_TEST(a_kernel_grows_and_splits)
{
	open_ctx();
	seed = 11;
	for (int size = 1; size < 7; size++) {
		Program *p = program_parse(ctx, "relax.e", conv1d);
		const Sample *sample = make_sample(p, size);
		Reason why = NULL;
		Program *q =
			derive_relax(p, product_stage(p), 2, dim_const(ctx, 0), dim_const(ctx, 6), &why);
		q = step(p, q, why, sample);
		ck_assert_int_eq(q->nstage, 3); /* the padded kernel */
		const Stage *stage = product_stage(q);
		const Expr *c = expr_iter(ctx, 0), *a = expr_iter(ctx, 1), *b = expr_iter(ctx, 2);
		const Expr *three = expr_i64(ctx, 3), *r = expr_iter(ctx, 1);
		const Expr *forward[] = {c, expr_floordiv(ctx, r, three), expr_floormod(ctx, r, three)};
		const Expr *inverse[] = {c, expr_add(ctx, expr_mul(ctx, a, three), b)};
		const Iter iters[] = {stage->iters[1],
		                      {"a", dim_const(ctx, 0), dim_const(ctx, 2)},
		                      {"b", dim_const(ctx, 0), dim_const(ctx, 3)}};
		Bijection map = {2, 3, forward, inverse, iters};
		q = step(q, derive_substitute_sum(q, stage, &map, &why), why, sample);
		ck_assert_int_eq(product_stage(q)->nreduce, 3);
		q = step(q, derive_split_sum(q, product_stage(q), 2, &why), why, sample);
		q = skew(q, "h", "a", 3, sample);
	}
	arena_free(arena);
}
END_TEST

static const Expr *
read_of(const Stage *stage, const Tensor *tensor)
{
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
		if (walk.e->op == EX_read && walk.e->tensor == tensor)
			return walk.e;
	return NULL;
}

/* A stage that a step makes may be there: canonical, and before the new one or behind it. */
START_TEST(a_factor_is_stored_once)
{
	open_ctx();
	for (int first = 0; first < 2; first++) {
		const Program *p = program_canon(program_parse(
			ctx, "twice.e",
			"expr f(X: f32[9], K: f32[3], L: f32[3]) -> Y {\n"
			"A[i:7]: f32 = sum(r:3) X[i+r] * K[r]\n B[i:7]: f32 = sum(r:3) X[i+r] * L[r]\n"
			"Y[i:7]: f32 = A[i] - B[i] }"));
		const Sample *sample = make_sample(p, 1);
		for (int k = 0; k < 2; k++) {
			const Tensor *factor = p->inputs[k == first ? 1 : 2];
			const Stage *stage = NULL;
			for (int s = 0; s < p->nstage; s++)
				stage = read_of(p->stages[s], factor) ? p->stages[s] : stage;
			Reason why = NULL;
			p = program_canon(
				step(p, derive_unfold(p, stage, read_of(stage, p->inputs[0]), &why), why, sample));
		}
		program_check(p);
		ck_assert_msg(p->nstage == 4, "%s", text_of(p));
	}
	arena_free(arena);
}
END_TEST

/* A loop that the index takes off: the positions come from behind. */
START_TEST(positions_of_a_loop_that_runs_down)
{
	open_ctx();
	Program *p = program_parse(ctx, "down.e",
	                           "expr f(X: f32[9], K: f32[3]) -> Y {\n"
	                           "Y[p:4, q:3]: f32 = sum(r:3) X[4-p+q+r] * K[r] }");
	const Sample *sample = make_sample(p, 1);
	const Stage *stage = p->stages[0];
	const Expr *read = read_of(stage, p->inputs[0]);
	Bijection map;
	Reason why = NULL;
	ck_assert(derive_position(ctx, stage, read->arg[0], 0, &map));
	step(p, derive_substitute(p, stage, &map, &why), why, sample);
	arena_free(arena);
}
END_TEST

/* Terms of both sums are left out where either leaves them out. */
START_TEST(merged_sums_have_both_guards)
{
	open_ctx();
	Program *p = program_parse(ctx, "guards.e",
	                           "expr f(X: f32[4,3], W: f32[3]) -> Y {\n"
	                           "T[p:4, r:3]: f32 = sum(c:3 where c <= p) X[p, c] * W[r]\n"
	                           "Y[p:4]: f32 = sum(r:3 where r <= p) T[p, r] * W[r] }");
	Reason why = NULL;
	step(p, derive_merge(p, p->stages[0], &why), why, make_sample(p, 1));
	arena_free(arena);
}
END_TEST

/* What the reader asks for is not all that is asked for. */
START_TEST(an_output_keeps_its_guard)
{
	open_ctx();
	Program *p = program_parse(ctx, "output.e",
	                           "expr f(X: f32[8], K: f32[3]) -> T, Y {\n"
	                           "T[p:6]: f32 = sum(r:3 where p < 4) X[p+r] * K[r]\n"
	                           "Y[p:3]: f32 = T[p] + 1 }");
	Reason why = NULL;
	const Expr *read = read_of(p->stages[0], p->inputs[0]);
	step(p, derive_unfold(p, p->stages[0], read, &why), why, make_sample(p, 1));
	arena_free(arena);
}
END_TEST

START_TEST(relaxed_loops_are_not_read)
{
	open_ctx();
	seed = 12;
	Program *p = program_parse(ctx, "loop.e", conv1d);
	const Sample *sample = make_sample(p, 5);
	Reason why = NULL;
	const Dim *H = dim_symbol(ctx, "H");
	Program *q =
		derive_relax(p, product_stage(p), 0, dim_const(ctx, -1), dim_add_i64(ctx, H, 3), &why);
	step(p, q, why, sample);
	ck_assert_ptr_null(derive_relax(p, product_stage(p), 0, dim_const(ctx, 1), H, &why));
	arena_free(arena);
}
END_TEST

/* The copy of what the last stage reads looks like the first, whose reads are in range, but for a
 * tensor in an index, or in the condition of another index: without the last stage's conditions,
 * B[i] may be anything. */
START_TEST(another_index_is_not_certain)
{
	static const char *const texts[] = {
		"expr f(A: i32[5], B: i32[5], K: u8[8], X: f32[8,256]) -> Y, Z {\n"
		"Y[i:5]: f32 = 0 <= i64(A[i]) && i64(A[i]) < 8 ? X[A[i], K[A[i]]] : 0\n"
		"Z[i:5]: f32 = 0 <= i64(A[i]) && i64(A[i]) < 8 && 0 <= i64(B[i]) && i64(B[i]) < 8\n"
		"    ? X[A[i], K[B[i]]] : 0 }",
		"expr f(A: i32[5], B: i32[5], K: u8[9], X: f32[8,9,256]) -> Y {\n"
		"Y[i:5]: f32 = 0 <= i64(A[i]) && i64(A[i]) < 8 && 0 <= i64(B[i]) && i64(B[i]) < 9\n"
		"    ? X[A[i], A[i], K[B[i]]] : 0 }"};
	open_ctx();
	Program *p = program_parse(ctx, "index.e", texts[_i]);
	program_check(p);
	Reason why = NULL;
	const Stage *last = p->stages[p->nstage - 1];
	ck_assert_ptr_null(derive_extract(p, last, read_of(last, p->inputs[3]), &why));
	ck_assert_str_eq(why, "a read would not certainly be in range");
	arena_free(arena);
}
END_TEST

START_TEST(what_does_not_apply_says_why)
{
	open_ctx();
	Reason why = NULL;
	Bijection map;
	Program *p = program_parse(ctx, "no.e",
	                           "expr f(X: f32[D], I: i64[K]) -> Y {\n"
	                           "Y[k:K]: f32 = sum(r:3, s:2) X[at(I[k], 0..D)] }");
	ck_assert_ptr_null(derive_split_sum(p, p->stages[0], 1, &why));
	ck_assert_str_eq(why, "the stage reads indirectly");
	p = program_parse(ctx, "no.e", conv1d);
	ck_assert_ptr_null(derive_split_sum(p, product_stage(p), 3, &why));
	ck_assert_ptr_null(derive_merge(p, p->stages[p->nstage - 1], &why));
	ck_assert_str_eq(why, "the stage is an output");
	/* not a bijection: h and h+1 would both become h/2 */
	const Expr *h = expr_iter(ctx, 0), *two = expr_i64(ctx, 2);
	const Expr *forward[] = {expr_floordiv(ctx, h, two)}, *inverse[] = {expr_mul(ctx, h, two)};
	map = (Bijection){1, 1, forward, inverse, product_stage(p)->iters};
	ck_assert_ptr_null(derive_substitute(p, product_stage(p), &map, &why));
	ck_assert_str_eq(why, "the inverse does not certainly undo the map");
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("expr_derive");
	tcase_add_loop_test(t, convolution_becomes_matrix_product, 0, (int)countof(convs));
	tcase_add_test(t, golden_text_of_the_papers_example);
	tcase_add_test(t, loops_split_unevenly);
	tcase_add_test(t, sums_merge_again);
	tcase_add_test(t, outer_sums_stay_when_merged);
	tcase_add_test(t, maps_merge_into_readers);
	tcase_add_test(t, a_bias_is_not_tightened_away);
	tcase_add_test(t, tightening_rounds_by_floor);
	tcase_add_test(t, tightening_takes_certain_bounds_only);
	tcase_add_test(t, a_kernel_grows_and_splits);
	tcase_add_test(t, a_factor_is_stored_once);
	tcase_add_test(t, positions_of_a_loop_that_runs_down);
	tcase_add_test(t, merged_sums_have_both_guards);
	tcase_add_test(t, an_output_keeps_its_guard);
	tcase_add_test(t, relaxed_loops_are_not_read);
	tcase_add_loop_test(t, another_index_is_not_certain, 0, 2);
	tcase_add_test(t, what_does_not_apply_says_why);
	return unit_run(t);
}
