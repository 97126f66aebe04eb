/* Reads: the elements that a stage takes of a tensor, laid out by the stage's iterators.
 *
 *     T[n, h+r-1, r, c]      dims 1 and 2 share an iterator: they become one, read at (h+r-1)*R + r
 *
 * Each group of dims that share iterators is indexed on its own (place.c), together with those
 * parts of the condition under which the read happens that speak of the same iterators. The others
 * mask the value.
 */
#include <string.h>

#include "graph/spell/inner.h"

typedef struct Groups {
	int count;
	SpellGroup list[SPELL_ITERS];
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
		SpellGroup *group = &groups->list[groups->count++];
		for (int i = d; i < rank; i++)
			if (first[i] == d)
				group->dims[group->ndim++] = i;
	}
}

static void
place_group(const Spell *s, const Tensor *tensor, const Expr *const *index, SpellGroup *group)
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

/* ---- a read ---------------------------------------------------------------------------------- */

/* One dim for each group. */
static Value *
join_dims(const Spell *s, Value *x, const Groups *groups)
{
	int axes[SPELL_ITERS], count = 0;
	const Dim *dims[SPELL_ITERS];
	for (int g = 0; g < groups->count; g++) {
		const SpellGroup *group = &groups->list[g];
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

/* ---- the condition --------------------------------------------------------------------------- */

/* Give a group the parts of the condition that speak of its iterators only, where its sizes are
 * numbers; what is left, or NULL. */
static const Expr *
share_out(const Spell *s, const Expr *condition, Groups *groups)
{
	if (!condition)
		return NULL;
	if (condition->op == EX_and)
		return expr_both(s->ctx, share_out(s, condition->arg[0], groups),
		                 share_out(s, condition->arg[1], groups));
	int64_t number;
	const Expr *part = spell_without_ones(s, condition);
	for (int g = 0; g < groups->count && !part->has_read && part->iters; g++) {
		SpellGroup *group = &groups->list[g];
		if ((part->iters & ~group->place->iters) || !dim_is_const(group->extent, &number) ||
		    !dim_is_const(group->points, &number))
			continue;
		if (!facts_prove(s->facts, part))
			group->condition = expr_both(s->ctx, group->condition, part);
		return NULL;
	}
	return condition;
}

static void
index_of(const Spell *s, const Expr *read, const Expr **index)
{
	if (read->argc > SPELL_ITERS)
		spell_fail(s, "'%s' has %d dims", read->tensor->name, read->argc);
	for (int d = 0; d < read->argc; d++) {
		if (read->arg[d]->has_read)
			spell_fail(s, "'%s' is read at what data say", read->tensor->name);
		index[d] = spell_without_ones(s, expr_cast(s->ctx, DT_I64, read->arg[d]));
	}
}

Value *
spell_read(Spell *s, const Expr *read, const Expr *condition, const Expr *fill)
{
	const Tensor *tensor = read->tensor;
	Value *x = map_find_ptr(&s->values, tensor);
	const Expr *index[SPELL_ITERS];
	Groups *groups = NEW(s->arena, Groups);
	if (!x)
		spell_fail(s, "'%s' is of a scan", tensor->name);
	index_of(s, read, index);
	find_groups(read->argc, index, groups);
	for (int g = 0; g < groups->count; g++)
		place_group(s, tensor, index, &groups->list[g]);
	const Expr *left = share_out(s, condition, groups);
	x = join_dims(s, x, groups);
	for (int g = 0; g < groups->count; g++) /* what makes less of it first */
		if (spell_range(s, &x, g, &groups->list[g]))
			groups->list[g].is_done = true;
	for (int g = 0; g < groups->count; g++)
		if (!groups->list[g].is_done)
			x = spell_places(s, x, g, &groups->list[g], fill);
	x = spread(s, x, groups);
	return left ? spell_where(s, left, x, spell_known(s, fill)) : x;
}
