/* derive_offsets: a sum of products over windows becomes one matrix product, and a sum of its
 * results at offsets (EinNet's examples A and B).
 *
 *     Y[n,f,p] = sum(c, r where (p+1-r)%2 == 0, 0 <= (p+1-r)/2 < H) X[n,c,(p+1-r)/2] * W[c,f,r]
 * =>  T[n,f,r,i] = sum(c) X[n,c,i] * W[c,f,r]
 *     Y[n,f,p] = sum(r where (p+1-r)%2 == 0, 0 <= (p+1-r)/2 < H) T[n,f,r,(p+1-r)/2]
 *
 * Elementary operations do it, so each step has its own proof: split the sum over c from that over
 * r; substitute p by the position i = (p+1-r)/2 and the phase e = (p+1-r)%2; tighten to e = 0 and
 * to the positions that X has; relax where the reader leaves out some of these; drop e.
 */
#include "expr/index/simplify.h"
#include "program/derive.h"
#include "program/derive_inner.h"

enum { MAX_ITERS = 64, MAX_WINDOWS = 4 };

/* (loop + factor*tap + rest) / stride, an index of x. */
typedef struct Window {
	int dim, loop, tap; /* iterators: w moves with the tap, -1 where its kernel has extent 1 */
	int64_t factor, stride;
	const Dim *rest;
} Window;

typedef struct Offsets {
	ExprCtx *ctx;
	const Expr *x, *w; /* the factors; x is read through windows */
	int count;
	Window windows[MAX_WINDOWS];
} Offsets;

/* ---- recognising ----------------------------------------------------------------------------- */

static bool
read_window(const Offsets *o, int total, const Expr *index, Window *window)
{
	const Dim *coefficient[MAX_ITERS];
	const Expr *rest;
	int64_t c;
	window->stride = 1;
	if (index->op == EX_floordiv) {
		if (!expr_as_i64(index->arg[1], &window->stride) || window->stride < 1)
			return false;
		index = index->arg[0];
	}
	if (!expr_affine(o->ctx, index, total, coefficient, &rest))
		return false;
	window->loop = window->tap = -1;
	window->rest = dim_from_expr(o->ctx, rest);
	for (int i = 0; i < total; i++) {
		bool is_tap = expr_uses_iter(o->w, i);
		int *slot = is_tap ? &window->tap : &window->loop;
		if (!dim_is_const(coefficient[i], &c) || (c != 0 && (*slot >= 0 || (!is_tap && c != 1))))
			return false;
		if (c != 0)
			*slot = i;
		if (c != 0 && is_tap)
			window->factor = c;
	}
	return window->rest && window->loop >= 0;
}

static bool
is_fixed(const Expr *index)
{
	return index->op == EX_iter || expr_is_const(index);
}

/* False when an index of x is no window, or an iterator of one stands elsewhere in x too. */
static bool
read_windows(Offsets *o, int total)
{
	uint64_t used = 0, fixed = 0;
	o->count = 0;
	for (int d = 0; d < o->x->argc; d++) {
		const Expr *index = o->x->arg[d];
		Window *window = &o->windows[o->count];
		if (is_fixed(index)) {
			fixed |= index->iters;
			continue;
		}
		if (o->count == MAX_WINDOWS || (used & index->iters) ||
		    !read_window(o, total, index, window))
			return false;
		used |= index->iters;
		window->dim = d;
		o->count++;
	}
	return o->count > 0 && !(used & fixed);
}

/* The factors of the stage and their windows. */
static bool
recognise(Offsets *o, const Stage *stage)
{
	const Expr *body = expr_without_casts(stage->body[0]);
	int total = stage->nloop + stage->nreduce;
	if (stage->kind != STAGE_reduce || stage->reduce != REDUCE_sum || body->op != EX_mul ||
	    total > MAX_ITERS - 2 * MAX_WINDOWS)
		return false;
	for (int k = 0; k < 2; k++) {
		o->x = expr_without_casts(body->arg[k]);
		o->w = expr_without_casts(body->arg[1 - k]);
		bool fits = o->x->op == EX_read && o->w->op == EX_read && o->x->tensor != o->w->tensor;
		for (int d = 0; fits && d < o->w->argc; d++)
			fits = is_fixed(o->w->arg[d]);
		if (fits && read_windows(o, total))
			return true;
	}
	return false;
}

/* The product's stage of a derived program; NULL when it has none any more. */
static const Stage *
find_product(const Offsets *o, const Program *program)
{
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		if (stage->kind == STAGE_reduce && expr_reads(stage->body[0], o->x->tensor) &&
		    expr_reads(stage->body[0], o->w->tensor))
			return stage;
	}
	return NULL;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The sum over taps outside; the product's stage then has them as loops. */
static const Program *
split_taps(Offsets *o, const Program *program, const Stage *stage, Reason *why)
{
	unsigned outer = 0;
	for (int k = 0; k < o->count; k++)
		if (o->windows[k].tap >= stage->nloop)
			outer |= 1u << (o->windows[k].tap - stage->nloop);
	if (outer)
		program = derive_split_sum(program, stage, outer, why);
	if (program && !recognise(o, find_product(o, program)))
		return derive_refuse(why, "the product is not found again");
	return program;
}

/* Loops in the order of a matrix product: those of both factors, of x, of w, then positions; or
 * those of w last. */
typedef struct Order {
	int count, loop[MAX_ITERS]; /* old loops; of a window: its position takes the place */
	uint64_t listed;
} Order;

static void
list_loop(Order *order, const Stage *stage, int loop)
{
	if (loop < stage->nloop && !(order->listed >> loop & 1)) {
		order->listed |= UINT64_C(1) << loop;
		order->loop[order->count++] = loop;
	}
}

/* Loops that stand alone in this read; with `also`, only those the other uses too. */
static void
list_fixed(Order *order, const Stage *stage, const Expr *read, const Expr *also)
{
	for (int d = 0; d < read->argc; d++)
		if (read->arg[d]->op == EX_iter && (!also || expr_uses_iter(also, read->arg[d]->iter)))
			list_loop(order, stage, read->arg[d]->iter);
}

static void
order_loops(const Offsets *o, const Stage *stage, bool weights_last, Order *order)
{
	*order = (Order){0};
	list_fixed(order, stage, o->x, o->w);
	list_fixed(order, stage, o->x, NULL);
	if (!weights_last)
		list_fixed(order, stage, o->w, NULL);
	for (int k = 0; k < o->count; k++)
		list_loop(order, stage, o->windows[k].loop);
	list_fixed(order, stage, o->w, NULL);
	for (int i = 0; i < stage->nloop; i++) /* of neither */
		list_loop(order, stage, i);
}

static const Window *
window_of(const Offsets *o, int loop)
{
	for (int k = 0; k < o->count; k++)
		if (o->windows[k].loop == loop)
			return &o->windows[k];
	return NULL;
}

/* Where loop + factor*tap + rest reaches, divided by the stride, and all that x has. */
static Iter
position_box(const Offsets *o, const Stage *stage, const Window *window)
{
	ExprCtx *ctx = o->ctx;
	const Iter *loop = &stage->iters[window->loop];
	const Dim *lo = dim_add(ctx, loop->lo, window->rest), *stride = dim_const(ctx, window->stride);
	const Dim *last = dim_add(ctx, dim_add_i64(ctx, loop->hi, -1), window->rest);
	if (window->tap >= 0) {
		const Iter *tap = &stage->iters[window->tap];
		const Dim *a = dim_mul_i64(ctx, tap->lo, window->factor);
		const Dim *b = dim_mul_i64(ctx, dim_add_i64(ctx, tap->hi, -1), window->factor);
		lo = dim_add(ctx, lo, window->factor > 0 ? a : b);
		last = dim_add(ctx, last, window->factor > 0 ? b : a);
	}
	lo = dim_floordiv(ctx, lo, stride);
	last = dim_floordiv(ctx, last, stride);
	return (Iter){loop->name, dim_min(ctx, lo, dim_const(ctx, 0)),
	              dim_max(ctx, dim_add_i64(ctx, last, 1), o->x->tensor->hi[window->dim])};
}

/* loop + factor*tap + rest, of which the stride takes position and phase. */
static const Expr *
window_sum(const Offsets *o, const Window *window)
{
	ExprCtx *ctx = o->ctx;
	const Expr *sum = expr_add(ctx, expr_iter(ctx, window->loop), window->rest);
	if (window->tap < 0)
		return sum;
	const Expr *tap = expr_iter(ctx, window->tap);
	return expr_add(ctx, sum, expr_mul(ctx, expr_i64(ctx, window->factor), tap));
}

/* The loop again, from the new iterators at `position` (and its phase, and the tap's new place). */
static const Expr *
window_loop(const Offsets *o, const Window *window, int position, int phase, int tap)
{
	ExprCtx *ctx = o->ctx;
	const Expr *stride = expr_i64(ctx, window->stride);
	const Expr *sum = expr_mul(ctx, stride, expr_iter(ctx, position));
	sum = expr_add(ctx, sum, expr_iter(ctx, phase));
	if (window->tap >= 0) {
		const Expr *moved = expr_mul(ctx, expr_i64(ctx, window->factor), expr_iter(ctx, tap));
		sum = expr_sub(ctx, sum, moved);
	}
	return expr_sub(ctx, sum, window->rest);
}

/* Loops by positions: phases first, then the loops in order. */
static const Program *
substitute_positions(const Offsets *o, const Program *program, const Order *order, Reason *why)
{
	ExprCtx *ctx = o->ctx;
	const Stage *stage = find_product(o, program);
	const Expr *forward[MAX_ITERS], *inverse[MAX_ITERS];
	Iter iters[MAX_ITERS];
	int place[MAX_ITERS];
	for (int k = 0; k < o->count; k++) {
		const Expr *stride = expr_i64(ctx, o->windows[k].stride);
		forward[k] = expr_floormod(ctx, window_sum(o, &o->windows[k]), stride);
		iters[k] = (Iter){"e", dim_const(ctx, 0), dim_const(ctx, o->windows[k].stride)};
	}
	for (int j = 0; j < order->count; j++) {
		int loop = order->loop[j], to = o->count + j;
		const Window *window = window_of(o, loop);
		place[loop] = to;
		iters[to] = window ? position_box(o, stage, window) : stage->iters[loop];
		forward[to] = expr_iter(ctx, loop);
		inverse[loop] = expr_iter(ctx, to);
		if (window)
			forward[to] = expr_floordiv(ctx, window_sum(o, window), expr_i64(ctx, window->stride));
	}
	for (int k = 0; k < o->count; k++) {
		const Window *window = &o->windows[k];
		int tap = window->tap >= 0 ? place[window->tap] : -1;
		inverse[window->loop] = window_loop(o, window, place[window->loop], k, tap);
	}
	Bijection map = {order->count, o->count + order->count, forward, inverse, iters};
	return derive_substitute(program, stage, &map, why);
}

/* The product without conditions, over all positions of x, at phase 0. */
static const Program *
fit_boxes(const Offsets *o, const Program *program, const Order *order, Reason *why)
{
	ExprCtx *ctx = o->ctx;
	const Dim *zero = dim_const(ctx, 0);
	if (find_product(o, program)->guard)
		program = derive_tighten(program, find_product(o, program), why);
	if (!program || !find_product(o, program) || find_product(o, program)->guard)
		return derive_refuse(why, "the guard leaves more than a box");
	for (int j = 0; j < order->count && program; j++) {
		const Stage *stage = find_product(o, program);
		const Window *window = window_of(o, order->loop[j]);
		const Iter *iter = &stage->iters[o->count + j];
		if (!window)
			continue;
		const Dim *extent = o->x->tensor->hi[window->dim];
		if (iter->lo != zero || iter->hi != extent)
			program = derive_relax(program, stage, o->count + j, zero, extent, why);
	}
	return program;
}

static const Program *
drop_phases(const Offsets *o, const Program *program, Reason *why)
{
	ExprCtx *ctx = o->ctx;
	const Stage *stage = find_product(o, program);
	const Expr *forward[MAX_ITERS], *inverse[MAX_ITERS];
	Iter iters[MAX_ITERS];
	if (stage->guard)
		return derive_refuse(why, "the product keeps a guard");
	for (int i = 0; i < stage->nloop; i++) {
		bool is_phase = i < o->count;
		if (is_phase && (!dim_is(stage->iters[i].lo, 0) || !dim_is(stage->iters[i].hi, 1)))
			return derive_refuse(why, "terms of several phases are wanted");
		inverse[i] = is_phase ? expr_i64(ctx, 0) : expr_iter(ctx, i - o->count);
		if (is_phase)
			continue;
		forward[i - o->count] = expr_iter(ctx, i);
		iters[i - o->count] = stage->iters[i];
	}
	Bijection map = {stage->nloop, stage->nloop - o->count, forward, inverse, iters};
	return derive_substitute(program, stage, &map, why);
}

Program *
derive_offsets(const Program *program, const Stage *stage, bool weights_last, const Stage **product,
               Reason *why)
{
	Offsets o = {.ctx = program->ctx};
	Order order;
	const char *obstacle = derive_obstacle(stage, false);
	if (obstacle)
		return derive_refuse(why, obstacle);
	if (!recognise(&o, stage))
		return derive_refuse(why, "the stage is no sum of products over windows");
	program = split_taps(&o, program, stage, why);
	if (!program)
		return NULL;
	order_loops(&o, find_product(&o, program), weights_last, &order);
	program = substitute_positions(&o, program, &order, why);
	program = program ? fit_boxes(&o, program, &order, why) : NULL;
	program = program ? drop_phases(&o, program, why) : NULL;
	*product = program ? find_product(&o, program) : NULL;
	return (Program *)(uintptr_t)program;
}
