/* Points against what bound mode says of the whole result, for tests of programs. */
#ifndef POINTS_CHECK_H
#define POINTS_CHECK_H

#include <math.h>

#include "unit.h"
#include "expr/points.h"

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
	PointResult result = program_eval_points(arena, program, NULL, inputs, &set, 1e12);
	ck_assert_msg(result.is_done, "%s\n%s", result.reason, what);
	ck_assert_int_eq(set->type, bounds->type);
	for (int64_t i = 0; i < set->count; i++)
		check_point(set, i, bounds, what);
}

#endif
