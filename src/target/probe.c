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

typedef struct Sample {
	const Target *target;
	int64_t point[ARRAY_MAX_RANK * 2]; /* of the iterators */
	bool is_known;                     /* nothing was met that data decides */
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

static int64_t
draw(uint64_t *state, int64_t extent)
{
	return extent > 0 ? (int64_t)(random_next(state) % (uint64_t)extent) : 0;
}

static void
draw_point(Sample *sample, const Stage *stage, uint64_t *state)
{
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		int64_t lo = probe_dim(sample->target, stage->iters[i].lo);
		sample->point[i] = lo + draw(state, probe_dim(sample->target, stage->iters[i].hi) - lo);
	}
}

double
probe_share(const Target *target, const Stage *stage)
{
	enum { SAMPLES = 1024 };
	Sample sample = {.target = target, .is_known = true};
	uint64_t state = 1;
	int count = 0;
	if (!stage->guard || stage->nloop + stage->nreduce > ARRAY_MAX_RANK * 2)
		return 1;
	for (int i = 0; i < SAMPLES && sample.is_known; i++) {
		draw_point(&sample, stage, &state);
		count += value_at(&sample, stage->guard).i64 != 0;
	}
	return !sample.is_known ? 1 : (double)(count ? count : 1) / SAMPLES;
}
