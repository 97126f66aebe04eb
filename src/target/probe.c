/* Sizes to choose at: what dims are where symbols have their typical values. */
#include "target/target.h"

#include "base/random.h"

int64_t
probe_dim(const Target *target, const Dim *dim)
{
	enum { MAX_SYMBOLS = 256 };
	int64_t value[MAX_SYMBOLS], number;
	bool bound[MAX_SYMBOLS];
	if (dim_is_const(dim, &number))
		return number;
	for (int i = 0; i < MAX_SYMBOLS; i++) {
		bool known =
			target && target->probe && i < target->probe->count && target->probe->is_bound[i];
		value[i] = known ? target->probe->value[i] : 1;
		bound[i] = true;
	}
	int64_t result;
	if (!dim_eval(dim, &(Binding){MAX_SYMBOLS, value, bound}, &result))
		return 1;
	return result;
}

int64_t
probe_times(int64_t a, int64_t b)
{
	int64_t product;
	return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

double
probe_elements(const Target *target, const Tensor *tensor)
{
	double count = 1;
	for (int d = 0; d < tensor->rank; d++)
		count *= (double)probe_dim(target, tensor->hi[d]) -
		         (tensor->lo ? (double)probe_dim(target, tensor->lo[d]) : 0);
	return count;
}

/* ---- guards ---- */

/* Iterators that a node's bits tell apart. */
enum { MAX_ITERS = 63, MAX_TERMS = 64, POINTS = 1024 };

typedef struct Sample {
	const Target *target;
	int count; /* of iterators */
	int64_t lo[MAX_ITERS], extent[MAX_ITERS], point[MAX_ITERS];
	int nterm;
	const Expr *terms[MAX_TERMS]; /* of the guard, by conjunction */
	bool is_known;                /* nothing was met that data decides */
} Sample;

static Scalar
value_at(Sample *sample, const Expr *e)
{
	Scalar args[3];
	if (e->op == EX_const)
		return e->value;
	if (e->op == EX_iter)
		return (Scalar){.i64 = sample->point[e->iter]};
	if (e->op == EX_symbol)
		return (Scalar){.i64 = probe_dim(sample->target, e)};
	if (e->has_read || e->argc == 0 || e->argc > 3) {
		sample->is_known = false;
		return (Scalar){.i64 = 0};
	}
	for (int i = 0; i < e->argc; i++)
		args[i] = value_at(sample, e->arg[i]);
	return scalar_eval((ExprOp)e->op, (DType)e->type, args, (DType)e->arg[0]->type);
}

/* A comparison of sums of iterators with constant factors, as most terms are: what is right less
 * what is left. */
typedef struct Line {
	ExprOp op;
	int count; /* of iterators; -1: it is no such comparison */
	int iter[8];
	int64_t factor[8], rest;
} Line;

static void
read_line(const Sample *sample, const Expr *e, Line *line)
{
	const Dim *factor[MAX_ITERS];
	const Expr *rest;
	*line = (Line){.op = (ExprOp)e->op, .count = -1};
	if (sample->count >= MAX_ITERS || !expr_is_compare(e) || e->arg[0]->type != DT_I64 ||
	    !expr_affine(e->ctx, expr_sub(e->ctx, e->arg[1], e->arg[0]), sample->count, factor,
	                 &rest) ||
	    !expr_as_i64(rest, &line->rest))
		return;
	int count = 0;
	for (int i = 0; i < sample->count; i++) {
		if (expr_is_zero(factor[i]))
			continue;
		if (count == (int)countof(line->iter) || !dim_is_const(factor[i], &line->factor[count]))
			return;
		line->iter[count++] = i;
	}
	line->count = count;
}

static bool
line_holds(const Sample *sample, const Line *line)
{
	int64_t gap = line->rest;
	for (int i = 0; i < line->count; i++)
		gap += line->factor[i] * sample->point[line->iter[i]];
	switch (line->op) {
	case EX_lt:
		return gap > 0;
	case EX_le:
		return gap >= 0;
	case EX_gt:
		return gap < 0;
	case EX_ge:
		return gap <= 0;
	case EX_eq:
		return gap == 0;
	default:
		return gap != 0;
	}
}

/* What stands beyond the last place is one term. */
static void
list_terms(Sample *sample, const Expr *guard)
{
	for (; guard->op == EX_and && sample->nterm < MAX_TERMS - 1; guard = guard->arg[0])
		list_terms(sample, guard->arg[1]);
	must(sample->nterm < MAX_TERMS);
	sample->terms[sample->nterm++] = guard;
}

/* Point k of those that these iterators have in turn; drawn where there are too many. */
static void
move_to(Sample *sample, uint64_t iters, int64_t k, uint64_t *random)
{
	for (int i = 0; i < sample->count; i++) {
		uint64_t number = random ? random_next(random) : (uint64_t)k;
		if ((iters >> i & 1) == 0)
			continue;
		sample->point[i] = sample->lo[i] + (int64_t)(number % (uint64_t)sample->extent[i]);
		k /= sample->extent[i];
	}
}

/* The share of these terms, which depend on these iterators. A sample that meets no point has met
 * few. */
static double
share_of_terms(Sample *sample, const Expr *const *terms, int nterm, uint64_t iters)
{
	int64_t points = 1, count = 0;
	uint64_t state = 1;
	Line lines[MAX_TERMS];
	for (int t = 0; t < nterm; t++)
		read_line(sample, terms[t], &lines[t]);
	for (int i = 0; i < sample->count; i++)
		points = probe_times(points, iters >> i & 1 ? sample->extent[i] : 1);
	bool is_drawn = points > POINTS;
	points = is_drawn ? POINTS : points;
	for (int64_t k = 0; k < points; k++) {
		bool holds = true;
		move_to(sample, iters, k, is_drawn ? &state : NULL);
		for (int t = 0; t < nterm && holds; t++)
			holds = lines[t].count >= 0 ? line_holds(sample, &lines[t])
			                            : value_at(sample, terms[t]).i64 != 0;
		count += holds;
	}
	return (double)(is_drawn && count == 0 ? 1 : count) / (double)points;
}

/* Moves to the front the terms that have iterators in common with the first, or with such; gives
 * their number. */
static int
gather_terms(const Expr **terms, int nterm, uint64_t *iters)
{
	int count = 1;
	*iters = terms[0]->iters;
	for (int t = 1; t < nterm; t++) {
		const Expr *term = terms[t];
		if ((term->iters & *iters) == 0)
			continue;
		*iters |= term->iters;
		terms[t] = terms[count];
		terms[count++] = term;
		t = count - 1; /* those passed over may have one in common now */
	}
	return count;
}

/* Terms that have no iterator in common are independent: their shares are factors. */
double
probe_share(const Target *target, const Stage *stage)
{
	Sample sample = {.target = target, .count = stage->nloop + stage->nreduce, .is_known = true};
	if (!stage->guard || sample.count > MAX_ITERS)
		return 1;
	for (int i = 0; i < sample.count; i++) {
		sample.lo[i] = probe_dim(target, stage->iters[i].lo);
		sample.extent[i] = probe_dim(target, stage->iters[i].hi) - sample.lo[i];
		sample.extent[i] = sample.extent[i] > 0 ? sample.extent[i] : 1;
	}
	list_terms(&sample, stage->guard);
	double share = 1;
	for (int t = 0, count; t < sample.nterm; t += count) {
		uint64_t iters;
		count = gather_terms(sample.terms + t, sample.nterm - t, &iters);
		share *= share_of_terms(&sample, sample.terms + t, count, iters);
	}
	return sample.is_known ? share : 1;
}
