/* derive_position: a loop by the position that an index takes.
 *
 *     T[r, p] = sum(c) X[c, (p+1-r)/2] * W[c,r]        index (p+1-r)/2, loop p
 * =>  e = (p+1-r)%2, i = (p+1-r)/2                     p = 2*i + e - 1 + r
 *
 * EinNet's skew where the index is a sum; with a stride its remainder is a loop of its own. Terms
 * of the sum's iterators are left out of the position: (p+1-r)/2 where r is summed gives the phases
 * i = (p+1)/2, e = (p+1)%2.
 */
#include "expr/index/facts.h"
#include "program/derive.h"
#include "program/derive_inner.h"

enum { MAX_ITERS = 62 };

typedef struct Position {
	int64_t stride, sign; /* index = (sign*loop + rest) / stride */
	const Expr *sum, *rest;
} Position;

/* The one quotient by a constant in the index; NULL: there is none, or several. */
static const Expr *
find_quotient(const Expr *index, int64_t *divisor)
{
	const Expr *found = NULL;
	int count = 0;
	for (ExprWalk walk = expr_walk(index); expr_step(&walk);) {
		if (walk.e->op != EX_floordiv && walk.e->op != EX_floormod)
			continue;
		found = walk.e;
		count++;
	}
	bool is_quotient = count == 1 && found->op == EX_floordiv &&
	                   expr_as_i64(found->arg[1], divisor) && *divisor >= 2;
	return is_quotient ? found : NULL;
}

const Expr *
derive_dividend(ExprCtx *ctx, const Expr *index, int64_t *divisor)
{
	const Dim *coefficient[MAX_ITERS];
	const Expr *rest, *quotient = find_quotient(index, divisor);
	if (quotient) {
		const Expr *e = expr_replace(ctx, index, quotient, expr_iter(ctx, MAX_ITERS - 1));
		if (expr_affine(ctx, e, MAX_ITERS, coefficient, &rest) &&
		    dim_is(coefficient[MAX_ITERS - 1], 1)) {
			e = expr_replace(ctx, index, quotient, expr_i64(ctx, 0));
			return expr_add(ctx, quotient->arg[0], expr_mul(ctx, e, quotient->arg[1]));
		}
	}
	*divisor = 1;
	return index;
}

/* The index over the loops; false when it is no such sum of iterators. */
static bool
read_index(ExprCtx *ctx, const Stage *stage, const Expr *index, int loop, Position *found)
{
	const Dim *coefficient[MAX_ITERS];
	const Expr *rest;
	int total = stage->nloop + stage->nreduce;
	index = derive_dividend(ctx, index, &found->stride);
	if (total > MAX_ITERS || !expr_affine(ctx, index, total, coefficient, &rest) ||
	    !dim_is_const(coefficient[loop], &found->sign) || (found->sign != 1 && found->sign != -1))
		return false;
	found->rest = rest;
	for (int i = 0; i < stage->nloop; i++)
		if (i != loop && !expr_is_zero(coefficient[i]))
			found->rest =
				expr_add(ctx, found->rest, expr_mul(ctx, coefficient[i], expr_iter(ctx, i)));
	const Expr *term = expr_iter(ctx, loop);
	found->sum =
		found->sign > 0 ? expr_add(ctx, found->rest, term) : expr_sub(ctx, found->rest, term);
	return true;
}

/* What the sum can be, over the box. */
static bool
bounds_of(ExprCtx *ctx, const Stage *stage, const Expr *sum, const Dim **lo, const Dim **last)
{
	const Dim *coefficient[MAX_ITERS];
	const Expr *rest;
	int64_t c;
	if (!expr_affine(ctx, sum, stage->nloop, coefficient, &rest))
		return false;
	*lo = *last = dim_from_expr(ctx, rest);
	for (int i = 0; i < stage->nloop && *lo; i++) {
		if (!dim_is_const(coefficient[i], &c))
			return false;
		const Dim *a = dim_mul_i64(ctx, stage->iters[i].lo, c);
		const Dim *b = dim_mul_i64(ctx, dim_add_i64(ctx, stage->iters[i].hi, -1), c);
		*lo = dim_add(ctx, *lo, c > 0 ? a : b);
		*last = dim_add(ctx, *last, c > 0 ? b : a);
	}
	return *lo != NULL;
}

bool
derive_position(ExprCtx *ctx, const Stage *stage, const Expr *index, int loop, Bijection *out)
{
	Position at;
	const Dim *lo, *last;
	int n = stage->nloop;
	if (loop < 0 || loop >= n || n + 1 >= MAX_ITERS || !read_index(ctx, stage, index, loop, &at) ||
	    !bounds_of(ctx, stage, at.sum, &lo, &last))
		return false;
	Arena *arena = expr_ctx_arena(ctx);
	bool has_phase = at.stride > 1;
	int count = n + has_phase, place = loop + has_phase;
	const Expr **forward = NEW_N(arena, const Expr *, count);
	const Expr **inverse = NEW_N(arena, const Expr *, n + 1);
	Iter *iters = NEW_N(arena, Iter, count);
	const Expr *stride = expr_i64(ctx, at.stride);
	for (int i = 0; i < n; i++) {
		int to = i + (has_phase && i >= loop);
		forward[to] = expr_iter(ctx, i);
		inverse[i] = expr_iter(ctx, to);
		iters[to] = stage->iters[i];
	}
	forward[place] = has_phase ? expr_floordiv(ctx, at.sum, stride) : at.sum;
	iters[place].lo = dim_floordiv(ctx, lo, stride);
	iters[place].hi = dim_add_i64(ctx, dim_floordiv(ctx, last, stride), 1);
	const Expr *sum = expr_iter(ctx, place);
	if (has_phase) {
		forward[loop] = expr_floormod(ctx, at.sum, stride);
		iters[loop] = (Iter){"e", dim_const(ctx, 0), dim_const(ctx, at.stride)};
		sum = expr_add(ctx, expr_mul(ctx, stride, sum), expr_iter(ctx, loop));
	}
	/* sign*loop = sum - rest, where rest is over the other loops */
	const Expr *rest = expr_simplify_alone(ctx, expr_substitute(ctx, at.rest, n, inverse));
	inverse[loop] = at.sign > 0 ? expr_sub(ctx, sum, rest) : expr_sub(ctx, rest, sum);
	*out = (Bijection){n, count, forward, inverse, iters};
	return true;
}
