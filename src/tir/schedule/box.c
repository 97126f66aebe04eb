/* The box of a buffer that a list of statements touches, seen from where the list stands: per dim
 * the least index and how many there are, for all iterations of the loops inside.
 *
 *     for ki in 64, u in min(6, M - 6*t)      A[6*t .. 6*t + min(6, M-6*t), 64*ko .. 64*ko + 64],
 *       … A[6*t + u, 64*ko + ki] …            at most 6 x 64
 *
 * Where each index begins and ends is said by its span (expr/index/span.h). Where that is not known
 * there is no box.
 */
#include "expr/index/span.h"
#include "tir/schedule/inner.h"

typedef struct Ends {
	SpanEnds ends; /* the facts are those of the place of the list */
	const Scheduling *s;
	const Around *around; /* the loops that are left behind, axes from the inside out */
} Ends;

/* Which of the loops counts with the variable. */
static int
axis_of(const void *self, const Expr *leaf, int64_t *from)
{
	const Ends *w = self;
	int axis = 0;
	*from = 0;
	for (const Around *at = w->around; at; at = at->outer, axis++)
		if (leaf->op == EX_var && at->loop->var == leaf->var)
			return axis;
	return -1;
}

/* The least or the largest value of an index; NULL when that is not known. */
static const Expr *
end_of(const Ends *w, const Expr *e, bool is_last)
{
	if (e->has_read || e->type != DT_I64)
		return NULL;
	const Span *span = span_make(w->s->kernel->arena, e, axis_of, w);
	return span->axes ? span_end(&w->ends, span, is_last) : e;
}

static const Expr *
end_of_loop(const SpanEnds *ends, int axis, bool is_last)
{
	const Ends *w = (const Ends *)ends;
	const Around *at = w->around;
	while (axis-- > 0)
		at = at->outer;
	const Expr *last = expr_sub(w->s->ctx, at->loop->hi, expr_i64(w->s->ctx, 1));
	return end_of(w, is_last ? last : at->loop->lo, is_last);
}

/* a or b, whichever is the smaller one (the larger one). */
static const Expr *
outer_of(const Ends *w, const Expr *a, const Expr *b, bool is_last)
{
	ExprCtx *ctx = w->s->ctx;
	if (!a || a == b ||
	    facts_prove(w->ends.facts, is_last ? expr_le(ctx, a, b) : expr_le(ctx, b, a)))
		return b;
	if (facts_prove(w->ends.facts, is_last ? expr_le(ctx, b, a) : expr_le(ctx, a, b)))
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
	int mark = facts_mark(w->ends.facts);
	w->around = access->around;
	for (const Around *at = w->around; at; at = at->outer)
		facts_var(w->ends.facts, at->loop->var, at->loop->lo, at->loop->hi);
	return mark;
}

/* Grow the dim from *lo to *last by the index of an access. */
static void
add_index(Ends *w, const Access *access, int d, const Expr **lo, const Expr **last)
{
	int mark = enter_access(w, access);
	const Expr *index = expr_simplify(w->ends.facts, access->index[d]);
	facts_release(w->ends.facts, mark);
	const Expr *from = end_of(w, index, false), *to = end_of(w, index, true);
	if (!from || !to)
		refuse_dim(w->s, access->tensor, d);
	*lo = outer_of(w, *lo, expr_simplify(w->ends.facts, from), false);
	*last = outer_of(w, *last, expr_simplify(w->ends.facts, to), true);
}

/* The verifier will ask the same of the local. */
static void
check_inside(Ends *w, const Access *access, const Box *box)
{
	ExprCtx *ctx = w->s->ctx;
	int mark = enter_access(w, access);
	for (int d = 0; d < box->rank; d++) {
		const Expr *at = expr_simplify(w->ends.facts, expr_sub(ctx, access->index[d], box->lo[d]));
		if (!facts_prove(w->ends.facts, expr_le(ctx, expr_i64(ctx, 0), at)) ||
		    !facts_prove(w->ends.facts, expr_lt(ctx, at, box->size[d])))
			refuse_dim(w->s, access->tensor, d);
	}
	facts_release(w->ends.facts, mark);
}

/* ---- how much at most ------------------------------------------------------------------------ */

typedef struct Swap {
	const Expr *from, *to;
} Swap;

static const Expr *
swap(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Swap *swap = arg;
	(void)ctx;
	return e == swap->from ? swap->to : e;
}

/* A window that begins at 2*x in an image ends at 2*min(54, x+7): that is at most 14 further on,
 * whatever x is. NULL: no number comes of either side of a minimum with which the scalar grows. */
static const Dim *
bound_without_clamp(const Scheduling *s, Facts *facts, const Expr *e)
{
	ExprCtx *ctx = s->ctx;
	const Dim *least = NULL;
	int64_t growth, bound, seen = INT64_MAX;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		if (walk.e->op != EX_min)
			continue;
		Swap more = {walk.e, expr_add(ctx, walk.e, expr_i64(ctx, 1))};
		const Expr *grown = expr_sub(ctx, expr_rewrite(ctx, e, swap, &more), e);
		bool grows = expr_as_i64(expr_simplify(facts, grown), &growth) && growth > 0;
		for (int i = 0; grows && i < 2; i++) {
			Swap side = {walk.e, walk.e->arg[i]};
			const Expr *most = expr_simplify(facts, expr_rewrite(ctx, e, swap, &side));
			if (!expr_as_i64(most, &bound) || bound >= seen)
				continue;
			seen = bound;
			least = dim_const(ctx, bound < 0 ? 0 : bound);
		}
	}
	return least;
}

const Dim *
bound_of(const Scheduling *s, Facts *facts, const Expr *extent)
{
	int64_t lo, hi;
	const Dim *dim = dim_from_expr(s->ctx, extent);
	if (dim)
		return dim;
	dim = bound_without_clamp(s, facts, extent);
	if (dim)
		return dim;
	facts_range(facts, extent, &lo, &hi); /* what is left of a product of symbols has no least */
	if (hi < INT64_MAX)
		return dim_const(s->ctx, hi < 0 ? 0 : hi);
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
	Ends ends = {{s->ctx, facts, end_of_loop}, s, NULL};
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
