/* The box of a buffer that a list of statements touches, seen from where the list stands: per dim
 * the least index and how many there are, for all iterations of the loops inside.
 *
 *     for ki in 64, u in min(6, M - 6*t)      A[6*t .. 6*t + min(6, M-6*t), 64*ko .. 64*ko + 64],
 *       … A[6*t + u, 64*ko + ki] …            at most 6 x 64
 *
 * An index is taken apart into sums, quotients and choices of what has known ends. Where that does
 * not succeed there is no box.
 */
#include "expr/index/poly.h"
#include "tir/schedule/inner.h"

typedef struct Ends {
	const Scheduling *s;
	Facts *facts;         /* of the place of the list */
	const Around *around; /* the loops that are left behind */
} Ends;

static const Stmt *
inner_loop(const Ends *w, const Var *var)
{
	for (const Around *at = w->around; at; at = at->outer)
		if (at->loop->var == var)
			return at->loop;
	return NULL;
}

static bool
moves_inside(const Ends *w, const Expr *e)
{
	for (const Around *at = w->around; at; at = at->outer)
		if (expr_uses_var(e, at->loop->var))
			return true;
	return false;
}

static const Expr *end_of(const Ends *w, const Expr *e, bool is_last);

/* coef * atoms, of which at most one moves and the others are no less than 0. */
static const Expr *
end_of_term(const Ends *w, const Term *term, bool is_last)
{
	ExprCtx *ctx = w->s->ctx;
	const Expr *product = expr_i64(ctx, term->coef);
	bool may_move = true;
	for (int i = 0; i < term->natom && product; i++) {
		const Expr *atom = term->atom[i];
		if (moves_inside(w, atom)) {
			atom = may_move ? end_of(w, atom, is_last == (term->coef > 0)) : NULL;
			may_move = false;
		} else if (term->natom > 1 && !facts_prove(w->facts, expr_le(ctx, expr_i64(ctx, 0), atom)))
			atom = NULL;
		product = atom ? expr_mul(ctx, product, atom) : NULL;
	}
	return product;
}

static const Expr *
end_of_sum(const Ends *w, const Expr *e, bool is_last)
{
	Poly p;
	const Expr *sum = expr_i64(w->s->ctx, 0);
	if (!poly_of(e, &p))
		return NULL;
	for (int i = 0; i < p.count && sum; i++) {
		const Expr *end = end_of_term(w, &p.term[i], is_last);
		sum = end ? expr_add(w->s->ctx, sum, end) : NULL;
	}
	return sum;
}

static const Expr *
end_of_quotient(const Ends *w, const Expr *e, bool is_last)
{
	ExprCtx *ctx = w->s->ctx;
	int64_t divisor;
	if (!expr_as_i64(e->arg[1], &divisor) || divisor < 1)
		return NULL;
	if (e->op == EX_floormod)
		return expr_i64(ctx, is_last ? divisor - 1 : 0);
	const Expr *end = end_of(w, e->arg[0], is_last);
	return end ? expr_floordiv(ctx, end, e->arg[1]) : NULL;
}

/* The least or the largest value of an index; NULL when that is not known. */
static const Expr *
end_of(const Ends *w, const Expr *e, bool is_last)
{
	ExprCtx *ctx = w->s->ctx;
	if (e->has_read || e->type != DT_I64)
		return NULL;
	if (!moves_inside(w, e))
		return e;
	switch (e->op) {
	case EX_var: {
		const Stmt *loop = inner_loop(w, e->var);
		return is_last ? end_of(w, expr_sub(ctx, loop->hi, expr_i64(ctx, 1)), true)
		               : end_of(w, loop->lo, false);
	}
	case EX_add:
	case EX_sub:
	case EX_neg:
	case EX_mul:
		return end_of_sum(w, e, is_last);
	case EX_floordiv:
	case EX_floormod:
		return end_of_quotient(w, e, is_last);
	case EX_min:
	case EX_max: {
		const Expr *a = end_of(w, e->arg[0], is_last), *b = end_of(w, e->arg[1], is_last);
		return a && b ? expr_op(ctx, e->op, (const Expr *[]){a, b}) : NULL;
	}
	default:
		return NULL;
	}
}

/* a or b, whichever is the smaller one (the larger one). */
static const Expr *
outer_of(const Ends *w, const Expr *a, const Expr *b, bool is_last)
{
	ExprCtx *ctx = w->s->ctx;
	if (!a || a == b || facts_prove(w->facts, is_last ? expr_le(ctx, a, b) : expr_le(ctx, b, a)))
		return b;
	if (facts_prove(w->facts, is_last ? expr_le(ctx, b, a) : expr_le(ctx, a, b)))
		return a;
	return is_last ? expr_max(ctx, a, b) : expr_min(ctx, a, b);
}

static _Noreturn void
refuse_dim(const Scheduling *s, const Tensor *tensor, int d)
{
	refuse_step(s, "which part of dim %d of %s is used there is not known", d, tensor->name);
}

/* From here on the loops around the access are known to run. */
static int
enter_access(Ends *w, const Access *access)
{
	int mark = facts_mark(w->facts);
	w->around = access->around;
	for (const Around *at = w->around; at; at = at->outer)
		facts_var(w->facts, at->loop->var, at->loop->lo, at->loop->hi);
	return mark;
}

/* Grow the dim from *lo to *last by the index of an access. */
static void
add_index(Ends *w, const Access *access, int d, const Expr **lo, const Expr **last)
{
	int mark = enter_access(w, access);
	const Expr *index = expr_simplify(w->facts, access->index[d]);
	facts_release(w->facts, mark);
	const Expr *from = end_of(w, index, false), *to = end_of(w, index, true);
	if (!from || !to)
		refuse_dim(w->s, access->tensor, d);
	*lo = outer_of(w, *lo, expr_simplify(w->facts, from), false);
	*last = outer_of(w, *last, expr_simplify(w->facts, to), true);
}

/* The verifier will ask the same of the local. */
static void
check_inside(Ends *w, const Access *access, const Box *box)
{
	ExprCtx *ctx = w->s->ctx;
	int mark = enter_access(w, access);
	for (int d = 0; d < box->rank; d++) {
		const Expr *at = expr_simplify(w->facts, expr_sub(ctx, access->index[d], box->lo[d]));
		if (!facts_prove(w->facts, expr_le(ctx, expr_i64(ctx, 0), at)) ||
		    !facts_prove(w->facts, expr_lt(ctx, at, box->size[d])))
			refuse_dim(w->s, access->tensor, d);
	}
	facts_release(w->facts, mark);
}

const Dim *
bound_of(const Scheduling *s, Facts *facts, const Expr *extent)
{
	int64_t lo, hi;
	const Dim *dim = dim_from_expr(s->ctx, extent);
	if (dim)
		return dim;
	if (facts_range(facts, extent, &lo, &hi))
		return dim_const(s->ctx, hi < 0 ? 0 : hi);
	/* What a piece has left of a product of symbols has no range, the piece has. */
	for (int i = 0; i < 2 && extent->op == EX_min && !dim; i++)
		dim = bound_of(s, facts, extent->arg[i]);
	return dim;
}

const Dim *
bound_of_loop(const Scheduling *s, const Stmt *loop)
{
	Facts *facts = facts_at(s, loop);
	const Dim *bound = bound_of(s, facts, loop_extent(s, loop));
	facts_close(facts);
	return bound;
}

Box
find_box(const Scheduling *s, Facts *facts, const AccessVec *all, const Tensor *tensor)
{
	Box box = {.rank = tensor->rank};
	Ends ends = {s, facts, NULL};
	for (int d = 0; d < tensor->rank; d++) {
		const Expr *lo = NULL, *last = NULL;
		for (int i = 0; i < all->count; i++)
			if (all->data[i].tensor == tensor)
				add_index(&ends, &all->data[i], d, &lo, &last);
		const Expr *next = expr_add(s->ctx, last, expr_i64(s->ctx, 1));
		const Expr *extent = tidy_dim(s->ctx, expr_simplify(facts, expr_sub(s->ctx, next, lo)));
		box.lo[d] = lo;
		box.extent[d] = extent;
		box.size[d] = bound_of(s, facts, extent);
		if (!box.size[d])
			refuse_step(s, "there is no bound for how much of dim %d of %s is used there", d,
			            tensor->name);
	}
	for (int i = 0; i < all->count; i++)
		if (all->data[i].tensor == tensor)
			check_inside(&ends, &all->data[i], &box);
	return box;
}
