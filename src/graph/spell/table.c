/* What does not depend on data, as constants: places of elements, masks, numbers. The interpreter
 * evaluates them. */
#include "expr/interp/interp.h"
#include "expr/stage/build.h"
#include "graph/spell/inner.h"

int
spell_iters(const Spell *s, const Expr *e, int *iters)
{
	int count = 0;
	for (int i = 0; i < s->rank; i++)
		if (e->iters >> i & 1)
			iters[count++] = i;
	return count;
}

const Expr *
spell_without_ones(const Spell *s, const Expr *e)
{
	const Expr *fixed[SPELL_ITERS];
	for (int i = 0; i < s->rank; i++)
		fixed[i] = dim_is(s->extent[i], 1) ? s->stage->iters[i].lo : NULL;
	return expr_substitute(s->ctx, e, s->rank, fixed);
}

static void
check_size(const Spell *s, const Expr *e, int count, const int *iters)
{
	int64_t elements = 1, extent;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		if (walk.e->op == EX_symbol)
			spell_fail(s, "a table depends on %s, which is open", walk.e->symbol->name);
	for (int i = 0; i < count; i++) {
		if (!dim_is_const(s->extent[iters[i]], &extent))
			spell_fail(s, "a table has a dim of open size");
		if (__builtin_mul_overflow(elements, extent, &elements) || elements > SPELL_TABLE)
			spell_fail(s, "a table has more than %d elements", SPELL_TABLE);
	}
	if (elements == 0)
		spell_fail(s, "there are no elements");
}

Array *
spell_table(const Spell *s, const Expr *e, int count, const int *iters)
{
	const Dim *dims[SPELL_ITERS];
	const Expr *map[SPELL_ITERS] = {NULL};
	check_size(s, e, count, iters);
	for (int i = 0; i < count; i++)
		dims[i] = s->extent[iters[i]];
	StageBuilder *stage = stage_open(s->ctx, "table", count, dims);
	for (int i = 0; i < count; i++)
		map[iters[i]] = expr_add(s->ctx, stage_iter(stage, i), s->stage->iters[iters[i]].lo);
	const Expr *body = expr_substitute(s->ctx, e, s->rank, map);
	const Tensor *table = stage_map(stage, (DType)e->type, body);
	Array *values;
	program_eval(s->arena, program_new(s->ctx, "table", 0, NULL, 1, &table), NULL, NULL, &values);
	return values;
}

Value *
spell_known(const Spell *s, const Expr *e)
{
	int iters[SPELL_ITERS];
	const Expr *fixed = spell_without_ones(s, e);
	int count = spell_iters(s, fixed, iters);
	const Array *table = spell_table(s, fixed, count, iters);
	int64_t *dims = NEW_N(s->arena, int64_t, s->rank + 1);
	for (int i = 0, k = 0; i < s->rank; i++)
		dims[i] = k < count && iters[k] == i ? table->dims[k++] : 1;
	Array *spread = arena_memdup(s->arena, table, sizeof *table);
	spread->rank = s->rank;
	spread->dims = dims;
	return spell_array(s, spread);
}
