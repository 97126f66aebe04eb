/* Reads: the elements that a stage takes of a tensor, laid out by the stage's iterators.
 *
 *     T[n, h+r-1, r, c]      dims 1 and 2 share an iterator: they become one, read at (h+r-1)*R + r
 *
 * Each group of dims that share iterators is indexed on its own: not at all where the place is the
 * position already (which is proven for open sizes too), by Slice where it is a range, otherwise by
 * Gather with a table of places. What a guard or a select does not let happen reads anywhere: the
 * value is masked.
 */
#include <string.h>

#include "graph/spell/inner.h"

typedef struct Group {
	int ndim, dims[SPELL_ITERS];   /* of the tensor */
	const Dim *extent;             /* of these dims as one */
	const Expr *place;             /* in it */
	int niter, iters[SPELL_ITERS]; /* in the order in which the result has them */
	const Dim *points;             /* of these iterators as one */
} Group;

typedef struct Groups {
	int count;
	Group list[SPELL_ITERS];
} Groups;

/* ---- groups of dims -------------------------------------------------------------------------- */

/* Dims that share iterators, directly or through others, in the order of their first ones. */
static void
find_groups(int rank, const Expr *const *index, Groups *groups)
{
	int first[SPELL_ITERS]; /* dim of the group */
	for (int d = 0; d < rank; d++) {
		first[d] = d;
		for (int e = 0; e < d; e++) {
			if (!(index[d]->iters & index[e]->iters) || first[e] == first[d])
				continue;
			int kept = first[e] < first[d] ? first[e] : first[d];
			int gone = first[e] + first[d] - kept;
			for (int i = 0; i <= d; i++)
				first[i] = first[i] == gone ? kept : first[i];
		}
	}
	for (int d = 0; d < rank; d++) {
		if (first[d] != d)
			continue;
		Group *group = &groups->list[groups->count++];
		for (int i = d; i < rank; i++)
			if (first[i] == d)
				group->dims[group->ndim++] = i;
	}
}

static void
place_group(const Spell *s, const Tensor *tensor, const Expr *const *index, Group *group)
{
	ExprCtx *ctx = s->ctx;
	const Expr *place = expr_i64(ctx, 0);
	group->extent = dim_const(ctx, 1);
	for (int i = 0; i < group->ndim; i++) {
		int d = group->dims[i];
		const Dim *lo = tensor->lo ? tensor->lo[d] : dim_const(ctx, 0);
		const Dim *extent = dim_sub(ctx, tensor->hi[d], lo);
		place = expr_add(ctx, expr_mul(ctx, place, extent), expr_sub(ctx, index[d], lo));
		group->extent = dim_mul(ctx, group->extent, extent);
	}
	group->place = expr_simplify(s->facts, place);
	group->niter = spell_iters(s, group->place, group->iters);
	group->points = dim_const(ctx, 1);
	for (int i = 0; i < group->niter; i++)
		group->points = dim_mul(ctx, group->points, s->extent[group->iters[i]]);
}

/* ---- what needs no table --------------------------------------------------------------------- */

/* The place of the first point and the steps along the iterators, where the place is affine. */
static bool
is_affine(const Spell *s, const Group *group, const Dim **step, const Dim **first)
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
make_consecutive(const Spell *s, Group *group, const Dim *const *step)
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

/* Read a group of which one index is a range, or all; NULL where it is neither. */
static Value *
read_range_of(const Spell *s, Value *x, int axis, Group *group)
{
	const Dim *step[SPELL_ITERS], *first;
	int64_t from, count, by = 1, extent;
	if (!is_affine(s, group, step, &first))
		return NULL;
	bool is_dense = make_consecutive(s, group, step);
	if (is_dense && dim_is(first, 0) && group->points == group->extent)
		return x;
	bool is_row = is_dense || (group->niter == 1 && dim_is_const(step[group->iters[0]], &by));
	if (!is_row || by < 1 || !dim_is_const(first, &from) || !dim_is_const(group->points, &count) ||
	    !dim_is_const(group->extent, &extent) || count < 1 || from < 0 ||
	    from + (count - 1) * by >= extent)
		return NULL;
	return spell_slice(s, x, axis, from, count, by);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool
is_counting(const Array *table, int64_t extent)
{
	int64_t count = array_count(table);
	for (int64_t i = 0; i < count; i++)
		if (dtype_load_i64(DT_I32, table->data, i) != i)
			return false;
	return count == extent;
}

static Value *
read_by_table(const Spell *s, Value *x, int axis, const Group *group)
{
	ExprCtx *ctx = s->ctx;
	int64_t extent;
	if (!dim_is_const(group->extent, &extent))
		spell_fail(s, "elements are picked along a dim of open size");
	if (extent < 1 || extent > INT32_MAX)
		spell_fail(s, "elements are picked of %lld", (long long)extent);
	const Expr *least = expr_max(ctx, group->place, expr_i64(ctx, 0));
	const Expr *place = expr_min(ctx, least, expr_i64(ctx, extent - 1));
	Array *table = spell_table(s, expr_cast(ctx, DT_I32, place), group->niter, group->iters);
	if (is_counting(table, extent))
		return x;
	int64_t count = array_count(table);
	table->rank = 1;
	table->dims = arena_memdup(s->arena, &count, sizeof count);
	return spell_gather(s, x, axis, table);
}

/* ---- a read ---------------------------------------------------------------------------------- */

/* One dim for each group. */
static Value *
join_dims(const Spell *s, Value *x, const Groups *groups)
{
	int axes[SPELL_ITERS], count = 0;
	const Dim *dims[SPELL_ITERS];
	for (int g = 0; g < groups->count; g++) {
		const Group *group = &groups->list[g];
		memcpy(axes + count, group->dims, (size_t)group->ndim * sizeof *axes);
		count += group->ndim;
		dims[g] = group->extent;
	}
	return spell_reshape(s, spell_transpose(s, x, axes), groups->count, dims);
}

/* From one dim for each group to one for each iterator of the stage. */
static Value *
spread(const Spell *s, Value *x, const Groups *groups)
{
	int order[SPELL_ITERS], axes[SPELL_ITERS], count = 0, rank = 0;
	const Dim *dims[SPELL_ITERS];
	for (int g = 0; g < groups->count; g++)
		for (int i = 0; i < groups->list[g].niter; i++) {
			order[count] = groups->list[g].iters[i];
			dims[count] = s->extent[order[count]];
			count++;
		}
	x = spell_reshape(s, x, count, dims);
	for (int i = 0; i < s->rank; i++) {
		dims[i] = dim_const(s->ctx, 1);
		for (int k = 0; k < count; k++)
			if (order[k] == i) {
				axes[rank++] = k;
				dims[i] = s->extent[i];
			}
	}
	return spell_reshape(s, spell_transpose(s, x, axes), s->rank, dims);
}

Value *
spell_read(Spell *s, const Expr *read)
{
	const Tensor *tensor = read->tensor;
	Value *x = map_find_ptr(&s->values, tensor);
	const Expr *index[SPELL_ITERS];
	Groups *groups = NEW(s->arena, Groups);
	if (!x)
		spell_fail(s, "'%s' is of a scan", tensor->name);
	if (read->argc > SPELL_ITERS)
		spell_fail(s, "'%s' has %d dims", tensor->name, read->argc);
	for (int d = 0; d < read->argc; d++) {
		if (read->arg[d]->has_read)
			spell_fail(s, "'%s' is read at what data say", tensor->name);
		index[d] = spell_without_ones(s, expr_cast(s->ctx, DT_I64, read->arg[d]));
	}
	find_groups(read->argc, index, groups);
	for (int g = 0; g < groups->count; g++)
		place_group(s, tensor, index, &groups->list[g]);
	x = join_dims(s, x, groups);
	for (int g = 0; g < groups->count; g++) {
		Value *range = read_range_of(s, x, g, &groups->list[g]);
		x = range ? range : read_by_table(s, x, g, &groups->list[g]);
	}
	return spread(s, x, groups);
}
