/* Texts of a row of vendor.def, in iterators and numbers that are known: scalars, conditions. */
#include <ctype.h>

#include "expr/index/text.h"
#include "program/match_solver.h"

const Expr *
solver_value(Solver *s, const char *text, DType type)
{
	Scanner scan;
	scan_open(&scan, s->arena, "vendor.def", text);
	TextScope scope = {.names = &s->names};
	return expr_parse_in(s->ctx, &scan, &scope, type);
}

bool
solver_number(Solver *s, const char *text, int64_t *number)
{
	return expr_as_i64(expr_simplify(s->facts, solver_value(s, text, DT_I64)), number);
}

void
solver_name(Solver *s, const char *text, const Expr *value)
{
	map_set(&s->names, text, (void *)(uintptr_t)value);
}

void
solver_name_number(Solver *s, const char *text, int64_t number)
{
	solver_name(s, text, expr_i64(s->ctx, number));
}

const Dim *
solver_extent(const Solver *s, int iter)
{
	return s->bound[iter] < 0 ? dim_const(s->ctx, 1) : s->main->iters[s->bound[iter]].hi;
}

void
solver_name_iters(Solver *s)
{
	const Dim *taps = dim_const(s->ctx, 1);
	for (int i = 0; i < s->form->niter; i++) {
		char *capital = arena_strdup(s->arena, s->form->iters[i]);
		*capital = (char)toupper((unsigned char)*capital);
		solver_name(s, capital, solver_extent(s, i));
		solver_name(s, s->form->iters[i],
		            s->bound[i] < 0 ? expr_i64(s->ctx, 0) : expr_iter(s->ctx, s->bound[i]));
		if (i >= s->form->nloop)
			taps = dim_mul(s->ctx, taps, solver_extent(s, i));
	}
	solver_name(s, "TAPS", taps);
	solver_name_number(s, "COPIES", s->form->copies);
}

bool
solver_holds(Solver *s, const char *limits)
{
	const char *items[ROW_LIST];
	int count = row_list(s->arena, limits, s->form->copies, items);
	for (int i = 0; i < count; i++)
		if (!facts_prove(s->facts, solver_value(s, items[i], DT_BOOL)))
			return false;
	return true;
}
