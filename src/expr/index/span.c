/* Spans, by numbers and as formulas (span.h). */
#include "expr/index/span.h"

#include "expr/index/poly.h"

/* So far no index goes: what is larger counts as this, and sums of such do not overflow. */
enum { FAR_BITS = 54 };

static bool
is_far(int64_t a)
{
	return a > INT64_C(1) << FAR_BITS || a < -(INT64_C(1) << FAR_BITS);
}

static int64_t
times(int64_t a, int64_t b)
{
	int64_t product;
	if (!__builtin_mul_overflow(a, b, &product) && !is_far(product))
		return product;
	return (a < 0) == (b < 0) ? INT64_C(1) << FAR_BITS : -(INT64_C(1) << FAR_BITS);
}

/* ---- making ---------------------------------------------------------------------------------- */

typedef struct Making {
	Arena *arena;
	SpanAxis *axis_of;
	const void *self;
} Making;

/* The axes that move it, as bits; axes behind the last bit begin again. */
static uint64_t
axes_of(const Making *m, const Expr *e)
{
	uint64_t axes = 0;
	int64_t from;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		if (walk.e->op == EX_iter || walk.e->op == EX_var) {
			int axis = m->axis_of(m->self, walk.e, &from);
			axes |= axis < 0 ? 0 : UINT64_C(1) << (axis & 63);
		}
	return axes;
}

static const Span *make_sum(Making *m, const Expr *e);

/* What is no sum: its value may be anywhere, unless it is one of these. */
static const Span *
make_atom(Making *m, const Expr *e)
{
	Span *span = NEW(m->arena, Span);
	bool is_quotient = e->op == EX_floordiv || e->op == EX_floormod;
	bool is_choice = e->op == EX_min || e->op == EX_max;
	*span = (Span){.op = EX_at, .is_open = true, .axes = axes_of(m, e)};
	if ((is_quotient && expr_as_i64(e->arg[1], &span->divisor) && span->divisor > 0) || is_choice) {
		span->op = (ExprOp)e->op;
		span->is_open = false;
		for (int i = 0; i < (is_choice ? 2 : 1); i++) {
			span->arg[i] = make_sum(m, e->arg[i]);
			span->is_open |= span->arg[i]->is_open;
		}
	}
	return span;
}

/* Two iterators may be of one axis. */
static void
add_term(Span *span, SpanTerm *terms, const SpanTerm *term)
{
	for (int i = 0; i < span->nterm && term->axis >= 0; i++)
		if (terms[i].axis == term->axis && terms[i].by == term->by) {
			terms[i].factor += term->factor;
			return;
		}
	terms[span->nterm++] = *term;
}

/* False: several of its atoms move, or the number is too large. */
static bool
take_term(Making *m, Span *span, SpanTerm *terms, const Term *term)
{
	const Expr *moving = NULL, *product = NULL;
	for (int i = 0; i < term->natom; i++) {
		const Expr *atom = term->atom[i];
		bool moves = axes_of(m, atom) || atom->has_read;
		if (moves && moving)
			return false;
		if (moves)
			moving = atom;
		else
			product = product ? expr_mul(atom->ctx, product, atom) : atom;
	}
	SpanTerm made = {term->coef, product, -1, NULL};
	int64_t from = 0;
	if (is_far(term->coef))
		return false;
	if (moving && (moving->op == EX_iter || moving->op == EX_var))
		made.axis = m->axis_of(m->self, moving, &from);
	else if (moving)
		made.atom = make_atom(m, moving);
	span->constant += moving ? times(term->coef, from) : product ? 0 : term->coef;
	span->axes |= moving ? axes_of(m, moving) : 0;
	span->is_open |= made.atom && made.atom->is_open;
	if (moving || product)
		add_term(span, terms, &made);
	return true;
}

static const Span *
make_sum(Making *m, const Expr *e)
{
	Poly p;
	Span *span = NEW(m->arena, Span);
	if (!e->is_tame || !poly_of(e, &p))
		return make_atom(m, e);
	SpanTerm *terms = NEW_N(m->arena, SpanTerm, p.count + 1);
	*span = (Span){.op = EX_add, .terms = terms};
	for (int i = 0; i < p.count; i++)
		if (!take_term(m, span, terms, &p.term[i]))
			return make_atom(m, e);
	return span;
}

const Span *
span_make(Arena *arena, const Expr *index, SpanAxis *axis_of, const void *self)
{
	return make_sum(&(Making){arena, axis_of, self}, index);
}

const Span *
span_axis(Arena *arena, int axis)
{
	Span *span = NEW(arena, Span);
	SpanTerm *term = NEW(arena, SpanTerm);
	*term = (SpanTerm){1, NULL, axis, NULL};
	*span = (Span){.op = EX_add, .nterm = 1, .terms = term, .axes = UINT64_C(1) << axis};
	return span;
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Places first..first+width, of all tiles; first is `rem` modulo `mod`, or is it where mod is 0. */
typedef struct Places {
	int64_t width, mod, rem;
} Places;

static int64_t
floor_mod(int64_t a, int64_t b)
{
	return (a % b + b) % b;
}

int64_t
common_divisor(int64_t a, int64_t b)
{
	while (b != 0) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

static Places
places_add(Places a, Places b)
{
	int64_t mod = common_divisor(a.mod, b.mod), rem = a.rem + b.rem;
	return (Places){a.width + b.width, mod, mod > 0 ? floor_mod(rem, mod) : rem};
}

static Places
places_of_axis(int64_t factor, int64_t tile, int64_t extent)
{
	int64_t size = tile < extent ? tile : extent;
	int64_t width = times(factor, size - 1), mod = tile < extent ? times(factor, tile) : 0;
	return factor < 0 ? (Places){-width, -mod, mod < 0 ? floor_mod(width, -mod) : width}
	                  : (Places){width, mod, 0};
}

static Places places_of(const Span *span, const int64_t *tile, const int64_t *extents);

static Places
places_scale(Places a, int64_t factor)
{
	int64_t size = factor < 0 ? -factor : factor, mod = times(a.mod, size);
	int64_t rem = times(factor, factor < 0 ? a.rem + a.width : a.rem);
	return (Places){times(a.width, size), mod, mod > 0 ? floor_mod(rem, mod) : rem};
}

static Places
places_of_sum(const Span *span, const int64_t *tile, const int64_t *extents)
{
	Places sum = {span->spread, 0, span->constant};
	for (int i = 0; i < span->nterm; i++) {
		const SpanTerm *term = &span->terms[i];
		Places places = term->by ? (Places){INT64_C(1) << FAR_BITS, 1, 0} /* it is no number */
		                : term->axis >= 0
		                    ? places_of_axis(term->factor, tile[term->axis], extents[term->axis])
		                    : places_scale(places_of(term->atom, tile, extents), term->factor);
		sum = places_add(sum, places);
	}
	return sum;
}

/* Of all residues modulo the divisor that the first place can have, the largest touches most. */
static Places
places_of_quotient(ExprOp op, Places a, int64_t divisor)
{
	int64_t step = common_divisor(a.mod, divisor); /* the divisor itself where the first is known */
	int64_t rem = floor_mod(a.rem, step), most = divisor - step + rem;
	if (op == EX_floormod && most + a.width >= divisor)
		return (Places){divisor - 1, 0, 0};
	if (op == EX_floormod)
		return step == divisor ? (Places){a.width, 0, rem} : (Places){a.width, step, rem};
	Places out = {(most + a.width) / divisor, 1, 0};
	if (a.mod % divisor == 0) {
		out.mod = a.mod / divisor;
		out.rem = (a.rem - floor_mod(a.rem, divisor)) / divisor;
		out.rem = out.mod > 0 ? floor_mod(out.rem, out.mod) : out.rem;
	}
	return out;
}

static Places
places_of(const Span *span, const int64_t *tile, const int64_t *extents)
{
	if (span->op == EX_add)
		return places_of_sum(span, tile, extents);
	if (span->op == EX_floordiv || span->op == EX_floormod)
		return places_of_quotient(span->op, places_of(span->arg[0], tile, extents), span->divisor);
	if (span->op == EX_min || span->op == EX_max) {
		Places a = places_of(span->arg[0], tile, extents);
		Places b = places_of(span->arg[1], tile, extents);
		return (Places){a.width > b.width ? a.width : b.width, 1, 0};
	}
	int64_t points = 1; /* at each point another place */
	for (int i = 0; i < SPAN_AXES; i++)
		points = span->axes >> i & 1 ? times(points, tile[i]) : points;
	return (Places){points - 1, 1, 0};
}

int64_t
span_size(const Span *span, const int64_t *tile, const int64_t *extents)
{
	return places_of(span, tile, extents).width + 1;
}

bool
span_offset(const Span *a, const Span *b, int64_t *offset)
{
	if (a->op != EX_add || b->op != EX_add || a->nterm != b->nterm)
		return false;
	for (int i = 0; i < a->nterm; i++)
		if (a->terms[i].axis < 0 || a->terms[i].axis != b->terms[i].axis ||
		    a->terms[i].factor != b->terms[i].factor || a->terms[i].by != b->terms[i].by)
			return false;
	*offset = b->constant - a->constant;
	return true;
}

int64_t
span_factor(const Span *span, int axis)
{
	for (int i = 0; i < span->nterm; i++)
		if (span->terms[i].axis == axis)
			return span->terms[i].factor;
	return 0;
}

/* ---- as formulas ----------------------------------------------------------------------------- */

static const Expr *
end_of_term(const SpanEnds *ends, const SpanTerm *term, bool is_last)
{
	ExprCtx *ctx = ends->ctx;
	const Expr *factor = expr_i64(ctx, term->factor), *end = expr_i64(ctx, 1);
	bool is_upper = is_last == (term->factor > 0), moves = term->axis >= 0 || term->atom;
	if (moves && term->by && !facts_prove(ends->facts, expr_le(ctx, expr_i64(ctx, 0), term->by)))
		return NULL;
	if (moves)
		end = term->atom ? span_end(ends, term->atom, is_upper)
		                 : ends->end_of(ends, term->axis, is_upper);
	factor = term->by ? expr_mul(ctx, factor, term->by) : factor;
	return end ? expr_mul(ctx, factor, end) : NULL;
}

const Expr *
span_end(const SpanEnds *ends, const Span *span, bool is_last)
{
	ExprCtx *ctx = ends->ctx;
	const Expr *end[2] = {expr_i64(ctx, span->constant), expr_i64(ctx, span->divisor)};
	if (span->op == EX_floormod)
		return expr_i64(ctx, is_last ? span->divisor - 1 : 0);
	for (int i = 0; i < span->nterm && end[0]; i++) {
		const Expr *more = end_of_term(ends, &span->terms[i], is_last);
		end[0] = more ? expr_add(ctx, end[0], more) : NULL;
	}
	for (int i = 0; i < 2 && span->arg[i]; i++)
		end[i] = span_end(ends, span->arg[i], is_last);
	return span->op == EX_at || !end[0] || !end[1] ? NULL
	       : span->op == EX_add                    ? end[0]
	                                               : expr_op(ctx, span->op, end);
}
