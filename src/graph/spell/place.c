/* Picking elements along one dim, by a place computed from iterators.
 *
 * Not at all where the place is the position already (which is proven for open sizes too), by Slice
 * and Pad where places are a row, otherwise by Gather with a table of them; what takes a fill value
 * picks it behind the last element.
 */
#include <string.h>

#include "graph/spell/inner.h"

/* ---- what needs no table --------------------------------------------------------------------- */

/* The place of the first point and the steps along the iterators, where the place is affine. */
static bool
is_affine(const Spell *s, const SpellGroup *group, const Dim **step, const Dim **first)
{
	const Expr *rest;
	if (!expr_affine(s->ctx, group->place, s->rank, step, &rest))
		return false;
	*first = dim_from_expr(s->ctx, rest);
	for (int i = 0; *first && i < group->niter; i++) {
		int at = group->iters[i];
		*first = dim_add(s->ctx, *first, dim_mul(s->ctx, step[at], s->stage->iters[at].lo));
	}
	return *first != NULL;
}

/* Whether the places are consecutive for some order of the iterators, which they are put in: the
 * last steps by 1, each before by what is behind it. */
static bool
make_consecutive(const Spell *s, SpellGroup *group, const Dim *const *step)
{
	const Dim *behind = dim_const(s->ctx, 1);
	for (int to = group->niter - 1; to >= 0; to--) {
		int from = to;
		while (from >= 0 && step[group->iters[from]] != behind)
			from--;
		if (from < 0)
			return false;
		int iter = group->iters[from];
		memmove(&group->iters[from], &group->iters[from + 1],
		        (size_t)(to - from) * sizeof group->iters[0]);
		group->iters[to] = iter;
		behind = dim_mul(s->ctx, behind, s->extent[iter]);
	}
	return true;
}

bool
spell_range(const Spell *s, Value **x, int axis, SpellGroup *group)
{
	const Dim *step[SPELL_ITERS], *first;
	int64_t from, count, by = 1, extent;
	if (group->condition || !is_affine(s, group, step, &first))
		return false;
	bool is_dense = make_consecutive(s, group, step);
	if (is_dense && dim_is(first, 0) && group->points == group->extent)
		return true;
	bool is_row = is_dense || (group->niter == 1 && dim_is_const(step[group->iters[0]], &by));
	if (!is_row || by < 1 || !dim_is_const(first, &from) || !dim_is_const(group->points, &count) ||
	    !dim_is_const(group->extent, &extent) || count < 1 || from < 0 ||
	    from + (count - 1) * by >= extent)
		return false;
	*x = spell_slice(s, *x, axis, from, count, by);
	return true;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Places in the order of the group's iterators; `extent` where the condition does not hold. What
 * others do not let happen may be out of range, and reads anywhere. */
static Array *
table_of(const Spell *s, const SpellGroup *group, int64_t extent)
{
	ExprCtx *ctx = s->ctx;
	const Expr *least = expr_max(ctx, group->place, expr_i64(ctx, 0));
	const Expr *place = expr_min(ctx, least, expr_i64(ctx, extent - 1));
	if (group->condition)
		place = expr_select(ctx, group->condition, place, expr_i64(ctx, extent));
	Array *table = spell_table(s, expr_cast(ctx, DT_I32, place), group->niter, group->iters);
	int64_t count = array_count(table);
	table->rank = 1;
	table->dims = arena_memdup(s->arena, &count, sizeof count);
	return table;
}

/* A row of places in a table, and how many there are before and behind it that fill takes. */
typedef struct Row {
	int64_t before, behind;
	int64_t first, count, by;
	bool has_holes; /* some place anywhere is one of fill */
} Row;

/* Whether the table is one row of places with a step. */
static bool
is_row(const Array *table, int64_t extent, Row *row)
{
	const int32_t *at = table->data;
	int64_t count = table->dims[0];
	*row = (Row){.by = 1};
	for (int64_t i = 0; i < count; i++)
		row->has_holes |= at[i] == extent;
	while (row->before < count && at[row->before] == extent)
		row->before++;
	while (row->behind < count - row->before && at[count - 1 - row->behind] == extent)
		row->behind++;
	row->count = count - row->before - row->behind;
	if (row->count == 0)
		return false;
	at += row->before;
	row->first = at[0];
	row->by = row->count > 1 ? at[1] - at[0] : 1;
	for (int64_t i = 1; i < row->count; i++)
		if (at[i] == extent || at[i] - at[i - 1] != row->by)
			return false;
	return row->by > 0;
}

Value *
spell_places(const Spell *s, Value *x, int axis, const SpellGroup *group, const Expr *fill)
{
	int64_t extent;
	Row row;
	if (!dim_is_const(group->extent, &extent))
		spell_fail(s, "elements are picked along a dim of open size");
	if (extent < 1 || extent >= INT32_MAX)
		spell_fail(s, "elements are picked of %lld", (long long)extent);
	Array *table = table_of(s, group, extent);
	if (is_row(table, extent, &row)) {
		if (row.count != extent)
			x = spell_slice(s, x, axis, row.first, row.count, row.by);
		return spell_pad(s, x, axis, row.before, row.behind, fill);
	}
	return spell_gather(s, row.has_holes ? spell_pad(s, x, axis, 0, 1, fill) : x, axis, table);
}
