/* Transposed convolutions: a product of all positions and a sum at offsets, by rules alone; sums
 * over the terms that a stride leaves.
 */
#include <stdio.h>

#include "derive_equal.h"
#include "einnet/derivation.h"

static ExprCtx *ctx;

static void
open_ctx(void)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
}

static void
check_same(const Program *before, const Program *after)
{
	Sample sample = make_sample(before);
	check_equal(values_of(before, &sample), before, after, &sample);
}

/* A transposed convolution, and what is added behind it. */
static Program *
transposed_with(int in, int out, int k, int stride, int dilation, int before)
{
	char text[800];
	snprintf(text, sizeof text,
	         "expr f(X: f32[2,3,%d,4], W: f32[3,2,%d,2], B: f32[2]) -> Y {\n"
	         "T[n:2, f:2, p:%d, q:7]: f32 = sum(c:3, r:%d, s:2 where (p+%d-%d*r)%%%d == 0,\n"
	         " 0 <= (p+%d-%d*r)/%d, (p+%d-%d*r)/%d < %d, (q+1-s)%%2 == 0, 0 <= (q+1-s)/2,\n"
	         " (q+1-s)/2 < 4) X[n, c, (p+%d-%d*r)/%d, (q+1-s)/2] * W[c, f, r, s]\n"
	         "Y[n:2, f:2, p:%d, q:7]: f32 = max(T[n, f, p, q] + B[f], 0) }",
	         in, k, out, k, before, dilation, stride, before, dilation, stride, before, dilation,
	         stride, in, before, dilation, stride, out);
	return program_parse(ctx, "transposed.e", text);
}

/* Whether some tap of some place reads X at all. */
static bool
reads_something(int in, int out, int k, int stride, int dilation, int before)
{
	for (int p = 0; p < out; p++)
		for (int r = 0; r < k; r++) {
			int at = p + before - dilation * r;
			if (at >= 0 && at % stride == 0 && at / stride < in)
				return true;
		}
	return false;
}

/* The product that has c for its sum, and how often a window's loop became positions. */
static const Stage *
open_product(const Program *program)
{
	for (int s = 0; s < program->nstage; s++)
		if (einnet_is_open(program, s, NULL))
			return program->stages[s];
	ck_abort_msg("no product in %s", text_of(program));
	return NULL;
}

/* Taps are summed behind the product, whose loops are positions then, by rules alone: of the loops
 * of a window the last one is no tap. */
static const Program *
with_offsets(const Program *program)
{
	RuleStep taps = {RULE_split_sum, 0, {6}};
	Reason why = NULL;
	const Program *next = derivation_step(arena, program, NULL, &taps, &why);
	for (int window = 0; window < 2 && next; window++) {
		RuleSteps steps = {.arena = arena};
		for (int s = 0; s < next->nstage; s++)
			if (einnet_is_open(next, s, NULL))
				rule_list(&steps, RULE_position, next, s);
		program = next;
		for (int i = steps.list.count - 1; i >= 0 && program == next; i--) {
			const Program *moved = derivation_step(arena, next, NULL, &steps.list.data[i], &why);
			next = moved ? moved : next;
		}
	}
	ck_assert_msg(next != NULL, "%s", why);
	return next;
}

/* Strides, dilations and borders of all kinds, results longer and shorter than their inputs reach:
 * the product has no guard. */
START_TEST(a_transposed_convolution_is_a_product_and_offsets)
{
	state = 13;
	for (int turn = 0; turn < 60; turn++) {
		int in = 1 + pick(5), k = 1 + pick(4), stride = 1 + pick(3), dilation = 1 + pick(3);
		int out = 1 + pick(9), before = pick(5);
		if (!reads_something(in, out, k, stride, dilation, before))
			continue;
		open_ctx();
		Program *p = transposed_with(in, out, k, stride, dilation, before);
		const Program *q = with_offsets(p);
		check_same(p, q);
		const Stage *product = open_product(q);
		ck_assert_msg(!product->guard, "%s", text_of(q));
		ck_assert_int_eq(product->nreduce, 1);
		arena_free(arena);
	}
}
END_TEST

/* Only terms of the right remainder are left, also where the stride does not divide the kernel. A
 * factor that shares one with the stride has no inverse. */
START_TEST(terms_are_picked_by_their_remainder)
{
	state = 14;
	for (int turn = 0; turn < 40; turn++) {
		int in = 1 + pick(5), k = 2 + pick(4), stride = 2 + pick(3), dilation = 1 + pick(4);
		int out = 2 + pick(8), before = pick(5);
		if (!reads_something(in, out, k, stride, dilation, before))
			continue;
		open_ctx();
		Program *p = transposed_with(in, out, k, stride, dilation, before);
		Reason why = NULL;
		Program *q = derive_residue(p, p->stages[0], 6, &why);
		ck_assert_msg(q != NULL, "%s", why);
		check_same(p, q);
		Program *both = derive_residue(q, q->stages[0], 5, &why);
		bool is_coprime = (stride % 2 || dilation % 2) && (stride != 3 || dilation != 3);
		ck_assert_msg((both != NULL) == is_coprime, "%s\n%s", why, text_of(q));
		if (both)
			check_same(q, both);
		arena_free(arena);
	}
}
END_TEST

START_TEST(golden_text_of_picked_terms)
{
	open_ctx();
	Program *p = transposed_with(3, 6, 4, 2, 1, 1);
	Reason why = NULL;
	Program *q = derive_residue(p, p->stages[0], 5, &why);
	ck_assert_msg(q != NULL, "%s", why);
	q = derive_residue(q, q->stages[0], 6, &why);
	ck_assert_str_eq(text_of(q),
	                 "expr f(X: f32[2,3,3,4], W: f32[3,2,4,2], B: f32[2]) -> Y {\n"
	                 "  T[n:2, f:2, p:6, q:7]: f32 = sum(c:3, r:2, s:1 where 0 <= (p+1)/2-r, "
	                 "(p+1)/2-r < 3) X[n, c, (p+1)/2-r, (q+1)/2-s] * "
	                 "W[c, f, r*2+(p+1)%2, s*2+(q+1)%2]\n"
	                 "  Y[n:2, f:2, p:6, q:7]: f32 = max(T[n, f, p, q] + B[f], 0)\n"
	                 "}\n");
	arena_free(arena);
}
END_TEST

START_TEST(golden_text_of_product_and_offsets)
{
	open_ctx();
	const Program *q = with_offsets(transposed_with(3, 6, 4, 2, 1, 1));
	ck_assert_str_eq(
		text_of(q),
		"expr f(X: f32[2,3,3,4], W: f32[3,2,4,2], B: f32[2]) -> Y {\n"
		"  T[r:4, s:2, n:2, f:2, e:1, p:3, e_2:1, q:4]: f32 = sum(c:3) X[n, c, p, q] * "
		"W[c, f, r, s]\n"
		"  T_2[n:2, f:2, p:6, q:7]: f32 = sum(r:4, s:2 where (p-r+1)%2 == 0, 0 <= (p-r+1)/2, "
		"(p-r+1)/2 < 3, (q-s+1)%2 == 0) T[r, s, n, f, (p-r+1)%2, (p-r+1)/2, (q-s+1)%2, "
		"(q-s+1)/2]\n"
		"  Y[n:2, f:2, p:6, q:7]: f32 = max(T_2[n, f, p, q] + B[f], 0)\n"
		"}\n");
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("derive_transposed");
	tcase_add_test(t, a_transposed_convolution_is_a_product_and_offsets);
	tcase_add_test(t, terms_are_picked_by_their_remainder);
	tcase_add_test(t, golden_text_of_picked_terms);
	tcase_add_test(t, golden_text_of_product_and_offsets);
	return unit_run(t);
}
