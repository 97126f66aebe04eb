/* Groups of nodes as one program. */
#include "passes/derive_group.h"

#include "expr/stage/canon.h"
#include "graph/meaning.h"

/* The member that makes the value; -1: none does. */
static int
maker_of(const NodeGroup *group, const Value *value)
{
	for (int m = 0; m < group->count; m++)
		if (value->def == group->members[m]->node)
			return m;
	return -1;
}

static int
input_number(const NodeGroup *group, const Value *value)
{
	int k = 0;
	while (k < group->ninput && group->inputs[k] != value)
		k++;
	return k;
}

void
node_group_add_inputs(Arena *arena, NodeGroup *group)
{
	int most = 0;
	for (int m = 0; m < group->count; m++)
		most += group->members[m]->program->ninput;
	group->inputs = NEW_N(arena, Value *, most + 1);
	group->constant = NEW_N(arena, bool, most + 1);
	for (int m = 0; m < group->count; m++) {
		const Asker *asker = group->members[m];
		for (int i = 0; i < asker->program->ninput; i++) {
			Value *value = asker->inputs[i];
			if (maker_of(group, value) >= 0 || input_number(group, value) < group->ninput)
				continue;
			group->inputs[group->ninput] = value;
			group->constant[group->ninput++] = asker->constant[i];
		}
	}
}

/* The input of all that stands for a member's own. */
static Tensor *
joined_input(const NodeGroup *group, ExprCtx *ctx, const Value *value, const Tensor *own,
             Tensor **inputs)
{
	int k = input_number(group, value);
	const char *name = arena_printf(expr_ctx_arena(ctx), "%c%d", group->constant[k] ? 'w' : 'x', k);
	if (!inputs[k])
		inputs[k] = tensor_new(ctx, name, own->type, own->rank, own->hi);
	return inputs[k];
}

const Program *
node_group_program(const NodeGroup *group, const Program *const *programs)
{
	ExprCtx *ctx = programs[0]->ctx;
	Arena *arena = expr_ctx_arena(ctx);
	Tensor **inputs = NEW_N(arena, Tensor *, group->ninput + 1);
	const Tensor *made[GROUP_MOST];
	for (int m = 0; m < group->count; m++) {
		const Program *program = programs[m];
		Map given = {.arena = arena};
		for (int i = 0; i < program->ninput; i++) {
			const Value *value = group->members[m]->inputs[i];
			int maker = maker_of(group, value);
			const Tensor *own = program->inputs[i];
			const Tensor *joined =
				maker >= 0 ? made[maker] : joined_input(group, ctx, value, own, inputs);
			map_set_ptr(&given, own, (void *)(uintptr_t)joined);
		}
		made[m] = program_substitute(program, &given)->outputs[0];
	}
	return program_new(ctx, "together", group->ninput, inputs, group->count - group->first,
	                   made + group->first);
}

void
node_group_inputs(Arena *arena, const NodeGroup *group, Value **inputs)
{
	for (int m = 0; m < group->count; m++) {
		const Asker *asker = group->members[m];
		Value **present = NEW_N(arena, Value *, asker->node->ninput + 1);
		node_meaning_inputs(asker->node, present);
		for (int i = 0; i < asker->program->ninput; i++) {
			int k = input_number(group, asker->inputs[i]);
			if (k < group->ninput)
				inputs[k] = present[i];
		}
	}
}
