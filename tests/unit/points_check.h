/* Points against what bound mode says of the whole result, for tests of programs. */
#ifndef POINTS_CHECK_H
#define POINTS_CHECK_H

#include <math.h>

#include "expr/interp/points.h"
#include "unit.h"

static inline const char *
text_of(const Program *program)
{
	Buf buf = {.arena = expr_ctx_arena(program->ctx)};
	program_print(&buf, program);
	return buf_text(&buf);
}

static inline PointInput *
point_input(Arena *arena, const Array *array)
{
	PointInput *input = NEW(arena, PointInput);
	*input = (PointInput){array->type, array->rank, array->dims, NULL, array->data};
	return input;
}

static inline bool
is_close(double a, double b)
{
	return a == b || (a != a && b != b) || fabs(a - b) <= 1e-12 * fabs(b);
}

static inline void
check_point(const PointSet *set, int64_t i, const BoundArray *bounds, const char *what)
{
	int64_t at = set->at[i];
	bool is_open = bounds->undecided && bounds->undecided[at];
	double bound = bounds->value && bounds->bound ? bounds->bound[at] : is_open;
	double expected = bounds->value ? bounds->value[at] : (double)bounds->integer[at];
	double value = set->value ? set->value[i] : (double)set->integer[i];
	bool is_same = set->value ? is_close(value, expected) && is_close(set->bound[i], bound)
	                          : set->undecided[i] == is_open &&
	                                (is_open || set->integer[i] == bounds->integer[at]);
	ck_assert_msg(is_same, "point %lld: %.17g +- %g, bound mode says %.17g +- %g\n%s",
	              (long long)at, value, set->value ? set->bound[i] : set->undecided[i], expected,
	              bound, what);
	ck_assert_msg(!set->value || (set->deviation[i] >= 0 && set->deviation[i] <= set->bound[i]),
	              "deviation %g, bound %g\n%s", set->deviation[i], set->bound[i], what);
}

/* `set` has its points; the program has one output. */
static inline void
check_points(Arena *arena, const Program *program, const PointInput *const *inputs, PointSet *set,
             const BoundArray *bounds, const char *what)
{
	PointResult result =
		program_eval_points(arena, program, NULL, inputs, &set, 1e12, (PointWay){0});
	ck_assert_msg(result.is_done, "%s\n%s", result.reason, what);
	ck_assert_int_eq(set->type, bounds->type);
	for (int64_t i = 0; i < set->count; i++)
		check_point(set, i, bounds, what);
}

/* The same elements three apart, of the first dim from the last to the first. */
static inline PointInput *
point_input_apart(Arena *arena, const Array *array)
{
	PointInput *input = point_input(arena, array);
	int64_t count = array_count(array), *strides = NEW_N(arena, int64_t, array->rank + 1);
	int64_t step = 3, first = 0, rows = array->rank ? array->dims[0] : 1;
	size_t bits = (size_t)dtype_bits(array->type);
	for (int d = array->rank - 1; d >= 0; d--) {
		strides[d] = step;
		step *= array->dims[d];
	}
	input->strides = strides;
	char *data = arena_alloc(arena, 3 * (size_t)count * (bits < 8 ? 8 : bits) / 8 + 8);
	if (array->rank > 0 && count > 0 && bits >= 8) {
		strides[0] = -strides[0];
		first = (rows - 1) * -strides[0];
	}
	for (int64_t i = 0, row = count / (rows ? rows : 1); i < count; i++) {
		int64_t at = first + (row ? i / row * strides[0] + i % row * 3 : 0);
		if (dtype_is_float(array->type))
			dtype_store_f64(array->type, data, array->rank ? at : 0,
			                dtype_load_f64(array->type, array->data, i));
		else
			dtype_store_i64(array->type, data, array->rank ? at : 0,
			                dtype_load_i64(array->type, array->data, i));
	}
	input->data = data + first * (int64_t)bits / 8;
	return input;
}

/* First, last, near them, and others in between. */
static inline void
choose_points(Arena *arena, PointSet *set, int64_t size)
{
	enum { MOST = 40 };
	int64_t *at = NEW_N(arena, int64_t, MOST);
	uint64_t state = (uint64_t)size;
	set->at = at;
	for (set->count = 0; set->count < MOST && set->count < size; set->count++) {
		int64_t i = set->count;
		state = hash_mix(state, (uint64_t)i);
		at[i] = size <= MOST || i < 4 ? i
		        : i < 8               ? size + 3 - i
		                              : (int64_t)(state % (uint64_t)size);
	}
}

/* Points of all outputs are what bound mode says; what exact mode says lies within. */
static inline void
check_program_points(Arena *arena, const Program *program, const Array *const *arrays,
                     Array *const *seen)
{
	int ninput = program->ninput, noutput = program->noutput;
	const BoundArray **given = NEW_N(arena, const BoundArray *, ninput + 1);
	BoundArray **bounds = NEW_N(arena, BoundArray *, noutput + 1);
	const PointInput **inputs = NEW_N(arena, const PointInput *, ninput + 1);
	PointSet **sets = NEW_N(arena, PointSet *, noutput + 1);
	const char *text = text_of(program);
	for (int k = 0; k < ninput; k++)
		given[k] = bound_from_array(arena, arrays[k]);
	program_eval_bound(arena, program, NULL, given, bounds, (BoundWay){.sample = 0});
	for (int apart = 0; apart < 2; apart++) {
		for (int k = 0; k < ninput; k++)
			inputs[k] = apart ? point_input_apart(arena, arrays[k]) : point_input(arena, arrays[k]);
		for (int k = 0; k < noutput; k++) {
			sets[k] = program->outputs[k] ? NEW(arena, PointSet) : NULL;
			if (sets[k])
				choose_points(arena, sets[k], array_count(seen[k]));
		}
		PointResult result =
			program_eval_points(arena, program, NULL, inputs, sets, 1e12, (PointWay){0});
		ck_assert_msg(result.is_done, "%s\n%s", result.reason, text);
		for (int k = 0; k < noutput; k++) {
			if (!sets[k])
				continue;
			for (int64_t i = 0; i < sets[k]->count; i++)
				check_point(sets[k], i, bounds[k], text);
			Agreement a = points_compare(sets[k], point_input(arena, seen[k]), 1);
			ck_assert_msg(a.wrong == 0 && a.spread <= POINTS_SPREAD, "spread %g\n%s", a.spread,
			              text);
		}
	}
}

#endif
