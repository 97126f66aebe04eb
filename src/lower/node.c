/* What lowering, fusion and matching ask of a node. */
#include "lower/node.h"

#include "graph/meaning.h"
#include "program/forms.h"

const Array *const *
known_values(Arena *arena, const Program *meaning, Value *const *values)
{
	const Array **known = NEW_N(arena, const Array *, meaning->ninput + 1);
	for (int i = 0; i < meaning->ninput; i++)
		known[i] = values[i]->is_default ? NULL : values[i]->constant;
	return known;
}

Program *
program_with_values(Arena *arena, const Program *meaning, Value *const *values)
{
	const Array *const *known = known_values(arena, meaning, values);
	return program_inline_stages(arena, program_fold_numbers(meaning, known));
}

Program *
node_program(Arena *arena, const Graph *graph, const Node *node, Value **values)
{
	const Program *meaning = node_meaning(graph, node);
	node_meaning_inputs(node, values);
	return program_with_values(arena, meaning, values);
}

bool
node_is_denied(PassContext *context, const Node *node, const char *choice)
{
	bool is_found = false;
	for (int i = 0; i < node->noutput; i++)
		is_found |= node->outputs[i] && pass_denied(context, choice, node->outputs[i]->name);
	return is_found;
}
