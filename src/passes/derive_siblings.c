/* derive_siblings: which products that do not need one another are asked about together.
 *
 * Only such can be merged (merge_products.c). Levels make that cheap to see, and safe: replacing
 * nodes of one level by nodes that need all their inputs makes no cycle, however many groups there
 * are. Chains make none, either: what one needs, its last node needed already.
 */
#include "passes/derive_siblings.h"

#include "einnet/rules.h"
#include "graph/meaning.h"

/* ---- levels ---------------------------------------------------------------------------------- */

static int
level_behind(const Map *levels, const Region *region, const Value *value)
{
	if (!value || !value->def || value->def->parent != region)
		return 0;
	return (int)(intptr_t)map_find_ptr(levels, value->def);
}

int
derive_level(const Map *levels, const Node *node)
{
	int level = 0;
	for (int i = 0; i < node->ninput; i++) {
		int one = level_behind(levels, node->parent, node->inputs[i]);
		level = one > level ? one : level;
	}
	for (int r = 0; r < node->nregion; r++)
		for (int i = 0; i < node->regions[r]->captures.count; i++) {
			int one = level_behind(levels, node->parent, node->regions[r]->captures.data[i]);
			level = one > level ? one : level;
		}
	return level;
}

/* ---- siblings -------------------------------------------------------------------------------- */

/* The first; NULL: none is left where short stages are inlined. */
static const Stage *
product_of(const Asker *asker)
{
	for (int s = 0; s < asker->program->nstage; s++)
		if (stage_is_product(asker->program->stages[s]))
			return asker->program->stages[s];
	return NULL;
}

/* The factor of its product that is this value, read as it is; NULL: none is. */
static const Expr *
read_of(const Asker *asker, const Value *value)
{
	const Program *program = asker->program;
	for (int f = 0; f < 2; f++) {
		const Expr *read = stage_read_at(product_of(asker), f);
		for (int i = 0; i < program->ninput; i++)
			if (program->inputs[i] == read->tensor && asker->inputs[i] == value)
				return read;
	}
	return NULL;
}

/* How often an element is read of a factor for each that goes with it. */
static const Dim *
points_moving(const Asker *asker, const Expr *factor)
{
	ExprCtx *ctx = asker->program->ctx;
	const Stage *stage = product_of(asker);
	const Dim *points = dim_const(ctx, 1);
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		if (expr_uses_iter(factor, i))
			points = dim_mul(ctx, points, dim_sub(ctx, stage->iters[i].hi, stage->iters[i].lo));
	return points;
}

/* Whether they read this value alike; NULL: whether they have equal boxes. */
static bool
is_sibling(const Asker *a, const Asker *b, const Value *shared)
{
	ExprCtx *ctx = a->program->ctx;
	if (b->group || a->node->parent != b->node->parent || a->level != b->level)
		return false;
	const Stage *x = product_of(a), *y = product_of(b);
	if (!x || !y)
		return false;
	if (!shared)
		return stage_same_loops(x, y) && stage_points(ctx, x) == stage_points(ctx, y);
	const Expr *of_a = read_of(a, shared), *of_b = read_of(b, shared);
	return of_a && of_b && points_moving(a, of_a) == points_moving(b, of_b);
}

/* Asker `first` and those behind it that go with it; false: there are none. */
static bool
add_siblings(Arena *arena, const Askers *askers, int first, const Value *shared, int most,
             NodeGroups *groups)
{
	Asker *asker = &askers->data[first];
	NodeGroup *group = NEW(arena, NodeGroup);
	group->members[group->count++] = asker;
	for (int k = first + 1; k < askers->count && group->count < most; k++)
		if (is_sibling(asker, &askers->data[k], shared))
			group->members[group->count++] = &askers->data[k];
	if (group->count < 2)
		return false;
	for (int m = 0; m < group->count; m++)
		group->members[m]->group = group;
	node_group_add_inputs(arena, group);
	vec_push(arena, groups, group);
	return true;
}

/* Factors that are shared first: then there is less to move. */
void
derive_siblings(Arena *arena, const Askers *askers, int most, NodeGroups *groups)
{
	for (int n = 0; n < askers->count; n++) {
		const Asker *asker = &askers->data[n];
		bool is_found = asker->group != NULL;
		for (int i = 0; i < asker->program->ninput && !is_found; i++)
			is_found = add_siblings(arena, askers, n, asker->inputs[i], most, groups);
	}
	for (int n = 0; n < askers->count; n++)
		if (!askers->data[n].group)
			add_siblings(arena, askers, n, NULL, most, groups);
}
