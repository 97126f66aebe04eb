/* OrderTerms: sums of indices in the order in which their terms change.
 *
 *     for n in N                                      for n in N
 *       for i in 16 @vector(i32x16)                     for i in 16 @vector(i32x16)
 *         if (0 <= i+n-3)                       =>        if (-n+3 <= i)
 *           Y[i+n*16] = X[2*i+n*32-6]                       Y[n*16+i] = X[n*32-6+i*2]
 *
 * In an index, what changes seldom stands first, so that the C compiler can keep its sum, and last
 * what counts the lanes: base + i*step is one element for each lane at that step, and codegen looks
 * for no other form of it. In a comparison the lanes stand alone on a side: it is made in lanes as
 * narrow as those of the loop, once.
 *
 * needs    flat kernels
 * keeps    values, statements
 * breaks   the order that simplifying gives sums: no pass that simplifies comes behind it
 */
#include "expr/index/poly.h"
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

enum { LANES = INT32_MAX }; /* the depth of a vector's lanes */

typedef struct Order {
	ExprCtx *ctx;
	Map depths; /* Var to how late it changes: 1, 2 … */
} Order;

static int
depth_of(const Order *order, const Expr *e)
{
	int depth = 0;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		void *its = walk.e->op == EX_var ? map_find_ptr(&order->depths, walk.e->var) : NULL;
		depth = (int)(uintptr_t)its > depth ? (int)(uintptr_t)its : depth;
	}
	return depth;
}

/* The atom that changes most often; NULL where symbols are all. */
static const Expr *
last_atom(const Order *order, const Poly *sum)
{
	const Expr *last = NULL;
	int most = 0;
	for (int t = 0; t < sum->count; t++)
		for (int i = 0; i < sum->term[t].natom; i++) {
			const Expr *atom = sum->term[t].atom[i];
			int depth = depth_of(order, atom);
			if (depth > most || (depth == most && depth > 0 && atom->op == EX_var))
				last = atom;
			most = depth > most ? depth : most;
		}
	return last;
}

static const Expr *
plus(ExprCtx *ctx, const Expr *a, const Expr *b)
{
	int64_t value;
	if (!expr_is_zero(a) && expr_as_i64(b, &value) && value < 0 && value > INT64_MIN)
		return expr_sub(ctx, a, expr_i64(ctx, -value));
	return expr_is_zero(a) ? b : expr_is_zero(b) ? a : expr_add(ctx, a, b);
}

static const Expr *
times(ExprCtx *ctx, const Expr *atom, const Poly *factor)
{
	const Expr *by = poly_build(ctx, factor);
	return expr_is_one(by) ? atom : expr_mul(ctx, atom, by);
}

/* The terms in order; the constant stands before those that count lanes. */
static const Expr *
ordered(const Order *order, Poly *sum, int64_t constant)
{
	ExprCtx *ctx = order->ctx;
	Poly factor, rest;
	const Expr *last = last_atom(order, sum);
	bool is_lane = last && depth_of(order, last) == LANES;
	if (!is_lane && constant)
		return plus(ctx, ordered(order, sum, 0), expr_i64(ctx, constant));
	if (!last || !poly_split_atom(sum, last, &factor, &rest))
		return plus(ctx, poly_build(ctx, sum), expr_i64(ctx, constant));
	return plus(ctx, ordered(order, &rest, constant), times(ctx, last, &factor));
}

static const Expr *
order_sum(const Order *order, Poly *sum)
{
	int64_t constant = poly_constant(sum);
	if (constant)
		must(poly_add_term(sum, &(Term){.coef = -constant}));
	return ordered(order, sum, constant);
}

static const Buffer *
order_access(Kernel *kernel, const Buffer *buffer, const Expr *const **index, void *arg)
{
	const Expr **ordered = NEW_N(kernel->arena, const Expr *, buffer->tensor.rank);
	for (int d = 0; d < buffer->tensor.rank; d++) {
		Poly sum;
		poly_of_any((*index)[d], &sum);
		ordered[d] = order_sum(arg, &sum);
	}
	*index = ordered;
	return buffer;
}

/* i + n < 3 for lanes i: i < 3 - n. */
static const Expr *
order_test(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Order *order = arg;
	Poly gap, factor, rest, other;
	int64_t step;
	bool is_test = e->type == DT_BOOL && e->argc == 2 && e->arg[0]->type == DT_I64;
	if (!is_test || !poly_gap(e->arg[1], e->arg[0], 0, &gap))
		return e;
	const Expr *lane = last_atom(order, &gap);
	if (!lane || lane->op != EX_var || depth_of(order, lane) != LANES ||
	    !poly_split_atom(&gap, lane, &factor, &rest) || !poly_is_const(&factor, &step))
		return e;
	bool is_left = step > 0;
	poly_const(&factor, is_left ? step : -step);
	poly_const(&other, 0);
	must(poly_add_scaled(&other, &rest, is_left ? -1 : 1));
	const Expr *sides[] = {times(ctx, lane, &factor), order_sum(order, &other)};
	return expr_op(ctx, e->op, (const Expr *[]){sides[!is_left], sides[is_left]});
}

bool
pass_OrderTerms(Kernel *kernel, PassContext *context)
{
	(void)context;
	int depth = 0;
	Order order = {kernel->ctx, {.arena = kernel->arena}};
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);)
		if (walk.stmt->var)
			map_set_ptr(&order.depths, walk.stmt->var,
			            (void *)(uintptr_t)(walk.stmt->lanes ? LANES : ++depth));
	stmt_redirect(kernel, kernel->body, order_access, &order);
	stmt_rewrite_exprs(kernel, kernel->body, order_test, &order);
	return true;
}
