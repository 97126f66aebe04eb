/* einnet_difference: both programs at points, by the interpreter. */
#include "einnet/derivation.h"

#include <math.h>

#include "base/random.h"
#include "expr/interp/points.h"

/* A few at a time: what many points need of inner tensors is more than the interpreter holds. */
enum { TIMES = 6, POINTS = 16 };

/* More operations than this are not done: half a minute. */
static const double OPERATIONS = 1e10;

/* Behind so many operations no further points are taken: what of a few points needs all of an inner
 * tensor takes as long each time. */
static const double ENOUGH = 1e8;

/* Small numbers, none of them zero: a term that is left out, or that is there twice, shows. */
static PointInput *
made_up(Arena *arena, const Tensor *tensor, const Binding *binding, uint64_t *state)
{
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < tensor->rank; d++)
		if (!dim_eval(tensor->hi[d], binding, &dims[d]))
			fail(NULL, "a dim of input %s is not known", tensor->name);
	Array *array = array_new(arena, tensor->type, tensor->rank, dims);
	for (int64_t k = 0; k < array_count(array); k++) {
		double value = (double)(random_next(state) % 7 + 1) / 4;
		dtype_store_f64(array->type, array->data, k, random_next(state) % 2 ? value : -value);
	}
	PointInput *input = NEW(arena, PointInput);
	*input = (PointInput){array->type, array->rank, array->dims, NULL, array->data};
	return input;
}

/* Corners by taking all of the first and last of each dim in turn, then points anywhere. */
static void
choose_points(Arena *arena, int rank, const int64_t *dims, uint64_t *state, PointSet *set)
{
	int64_t *at = NEW_N(arena, int64_t, POINTS), total = 1;
	for (int d = 0; d < rank; d++)
		total *= dims[d];
	set->count = total > 0 ? POINTS : 0;
	for (int p = 0; p < set->count; p++) {
		at[p] = 0;
		for (int d = 0; d < rank; d++) {
			int64_t any = (int64_t)(random_next(state) % (uint64_t)dims[d]);
			bool is_edge = p < POINTS / 2 && random_next(state) % 2;
			int64_t edge = (int64_t)(random_next(state) % 3) % dims[d];
			at[p] = at[p] * dims[d] + (!is_edge                 ? any
			                           : random_next(state) % 2 ? edge
			                                                    : dims[d] - 1 - edge);
		}
	}
	set->at = at;
}

typedef struct Side {
	const Program *program;
	PointSet **sets;
	double operations; /* done so far */
} Side;

static const char *
evaluate(Arena *arena, Side *side, const PointInput *const *inputs, const Binding *binding)
{
	PointResult result = program_eval_points(arena, side->program, binding, inputs, side->sets,
	                                         OPERATIONS, (PointWay){.joins_sums = true});
	side->operations += result.operations;
	return result.is_done ? NULL : result.reason;
}

/* Infinities are equal to themselves; where bounds are infinite, nothing is known. */
static bool
is_near(double x, double y, double allowed)
{
	return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= allowed || !isfinite(allowed);
}

static const char *
compare(Arena *arena, int output, const PointSet *a, const PointSet *b)
{
	for (int64_t p = 0; p < a->count; p++) {
		bool is_same = a->value ? is_near(a->value[p], b->value[p], a->bound[p] + b->bound[p])
		                        : a->integer[p] == b->integer[p];
		if (!is_same)
			return arena_printf(arena, "element %lld of output %d is %g, not %g",
			                    (long long)a->at[p], output, b->value ? b->value[p] : 0,
			                    a->value ? a->value[p] : 0);
	}
	return NULL;
}

static const char *
difference_at_points(Arena *arena, Side sides[2], const PointInput *const *inputs,
                     const Binding *binding, uint64_t *state)
{
	const Program *given = sides[0].program;
	for (int i = 0; i < given->noutput; i++) {
		const int64_t *dims;
		if (!given->outputs[i])
			continue;
		int rank = program_output_dims(arena, given, binding, inputs, i, &dims);
		PointSet chosen = {0};
		choose_points(arena, rank, dims, state, &chosen);
		for (int s = 0; s < 2; s++)
			sides[s].sets[i] = arena_memdup(arena, &chosen, sizeof chosen);
	}
	for (int s = 0; s < 2; s++) {
		const char *trouble = evaluate(arena, &sides[s], inputs, binding);
		if (trouble)
			return trouble;
	}
	for (int i = 0; i < given->noutput; i++) {
		const char *difference =
			given->outputs[i] ? compare(arena, i, sides[0].sets[i], sides[1].sets[i]) : NULL;
		if (difference)
			return difference;
	}
	return NULL;
}

const char *
einnet_difference(Arena *arena, const Program *given, const Program *derived,
                  const Binding *binding)
{
	uint64_t state = 1;
	Side sides[2] = {{.program = given}, {.program = derived}};
	const PointInput **inputs = NEW_N(arena, const PointInput *, given->ninput + 1);
	for (int i = 0; i < given->ninput; i++)
		inputs[i] = made_up(arena, given->inputs[i], binding, &state);
	for (int s = 0; s < 2; s++)
		sides[s].sets = NEW_N(arena, PointSet *, given->noutput + 1);
	const char *difference = NULL;
	for (int i = 0; i < TIMES && !difference && sides[0].operations + sides[1].operations < ENOUGH;
	     i++)
		difference = difference_at_points(arena, sides, inputs, binding, &state);
	return difference;
}
