/* derive_siblings: which nodes are asked about together, and the program of all.
 *
 * Only products that do not need one another can be merged (merge_products.c), so of a linear part
 * of a model its siblings are asked about. Levels make that cheap to see, and safe: replacing nodes
 * of one level by nodes that need all their inputs makes no cycle, however many groups there are.
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
	if (b->siblings || a->node->parent != b->node->parent || a->level != b->level)
		return false;
	const Stage *x = product_of(a), *y = product_of(b);
	if (!x || !y)
		return false;
	if (!shared)
		return stage_same_loops(x, y) && stage_points(ctx, x) == stage_points(ctx, y);
	const Expr *of_a = read_of(a, shared), *of_b = read_of(b, shared);
	return of_a && of_b && points_moving(a, of_a) == points_moving(b, of_b);
}

static void
add_inputs(Arena *arena, Siblings *group, const Asker *asker)
{
	int count = asker->program->ninput, total = group->ninput;
	Value **inputs = NEW_N(arena, Value *, total + count + 1);
	bool *constant = NEW_N(arena, bool, total + count + 1);
	for (int i = 0; i < total; i++) {
		inputs[i] = group->inputs[i];
		constant[i] = group->constant[i];
	}
	for (int i = 0; i < count; i++) {
		bool is_new = true;
		for (int k = 0; k < total && is_new; k++)
			is_new = inputs[k] != asker->inputs[i];
		if (!is_new)
			continue;
		inputs[total] = asker->inputs[i];
		constant[total++] = asker->constant[i];
	}
	group->inputs = inputs;
	group->constant = constant;
	group->ninput = total;
}

/* Asker `first` and those behind it that go with it; false: there are none. */
static bool
add_siblings(Arena *arena, const Askers *askers, int first, const Value *shared, int most,
             SiblingsVec *groups)
{
	Asker *asker = &askers->data[first];
	Siblings *group = NEW(arena, Siblings);
	group->members[group->count++] = asker;
	for (int k = first + 1; k < askers->count && group->count < most; k++)
		if (is_sibling(asker, &askers->data[k], shared))
			group->members[group->count++] = &askers->data[k];
	if (group->count < 2)
		return false;
	for (int m = 0; m < group->count; m++) {
		group->members[m]->siblings = group;
		add_inputs(arena, group, group->members[m]);
	}
	vec_push(arena, groups, group);
	return true;
}

/* Factors that are shared first: then there is less to move. */
void
derive_siblings(Arena *arena, const Askers *askers, int most, SiblingsVec *groups)
{
	most = most > SIBLINGS_MOST ? SIBLINGS_MOST : most;
	for (int n = 0; n < askers->count; n++) {
		const Asker *asker = &askers->data[n];
		bool is_found = asker->siblings != NULL;
		for (int i = 0; i < asker->program->ninput && !is_found; i++)
			is_found = add_siblings(arena, askers, n, asker->inputs[i], most, groups);
	}
	for (int n = 0; n < askers->count; n++)
		if (!askers->data[n].siblings)
			add_siblings(arena, askers, n, NULL, most, groups);
}

/* ---- joining --------------------------------------------------------------------------------- */

static int
input_number(const Siblings *group, const Value *value)
{
	int k = 0;
	while (group->inputs[k] != value)
		k++;
	return k;
}

const Program *
siblings_joined(const Siblings *group, const Program *const *programs)
{
	ExprCtx *ctx = programs[0]->ctx;
	Arena *arena = expr_ctx_arena(ctx);
	Tensor **inputs = NEW_N(arena, Tensor *, group->ninput + 1);
	const Tensor *outputs[SIBLINGS_MOST];
	for (int m = 0; m < group->count; m++) {
		const Program *program = programs[m];
		Map given = {.arena = arena};
		for (int i = 0; i < program->ninput; i++) {
			const Tensor *own = program->inputs[i];
			int k = input_number(group, group->members[m]->inputs[i]);
			const char *name = arena_printf(arena, "%c%d", group->constant[k] ? 'w' : 'x', k);
			if (!inputs[k])
				inputs[k] = tensor_new(ctx, name, own->type, own->rank, own->hi);
			map_set_ptr(&given, own, inputs[k]);
		}
		outputs[m] = program_substitute(program, &given)->outputs[0];
	}
	return program_new(ctx, "together", group->ninput, inputs, group->count, outputs);
}

void
siblings_inputs(Arena *arena, const Siblings *group, Value **inputs)
{
	for (int m = 0; m < group->count; m++) {
		const Asker *asker = group->members[m];
		Value **present = NEW_N(arena, Value *, asker->node->ninput + 1);
		node_meaning_inputs(asker->node, present);
		for (int i = 0; i < asker->program->ninput; i++)
			inputs[input_number(group, asker->inputs[i])] = present[i];
	}
}
