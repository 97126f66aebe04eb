#include "passes/replace.h"

#include <string.h>

#include "expr/stage/canon.h"
#include "graph/infer.h"
#include "graph/meaning.h"

Meaning
meaning_of_nodes(Arena *arena, const Graph *graph, int count, const Node *const *nodes)
{
	Value *output = nodes[count - 1]->outputs[0];
	int room = 1;
	for (int i = 0; i < count; i++)
		room += nodes[i]->ninput;
	Meaning m = {.values = NEW_N(arena, Value *, room)};
	m.program = nodes_meaning(graph, count, nodes, 1, &output, m.values);
	return m;
}

/* The program `b` over the inputs of `a`; NULL: it reads others. */
static const Program *
over_inputs_of(const Meaning *a, const Meaning *b)
{
	ExprCtx *ctx = a->program->ctx;
	Map tensors = {.arena = expr_ctx_arena(ctx)};
	for (int i = 0; i < b->program->ninput; i++) {
		int at = 0;
		while (at < a->program->ninput && a->values[at] != b->values[i])
			at++;
		if (at == a->program->ninput)
			return NULL;
		map_set_ptr(&tensors, b->program->inputs[i], a->program->inputs[at]);
	}
	const Program *p = program_substitute(b->program, &tensors);
	return program_new(ctx, p->name, a->program->ninput, a->program->inputs, p->noutput,
	                   p->outputs);
}

bool
meanings_are_same(const Meaning *a, const Meaning *b)
{
	const Program *other = over_inputs_of(a, b);
	if (!other)
		return false;
	Hash128 x = program_fingerprint(a->program), y = program_fingerprint(other);
	return !memcmp(&x, &y, sizeof x);
}

bool
node_infers_as(Node *made, const Type *type)
{
	return node_try_infer(made) && type_equal(&made->outputs[0]->type, type);
}

Node *
node_in(const Node *node, Region *region, Node *before, Value *const *inputs)
{
	const char **names = NEW_N(region->graph->arena, const char *, node->noutput);
	names[0] = "";
	Node *made = node_new_row(region, before, node->op, &node->loc, node->ninput, inputs,
	                          node->noutput, names);
	for (int i = 0; i < node->nattr; i++)
		node_add_attr(made, &node->attrs[i]);
	node_add_origins(made, node);
	return made;
}

Node *
node_again(const Node *node, Node *place, Value *const *inputs)
{
	return node_in(node, place->parent, place, inputs);
}

Node *
node_reading(Node *node, const Value *old, Value *now)
{
	Graph *graph = node->parent->graph;
	Value **inputs = NEW_N(graph->arena, Value *, node->ninput);
	for (int i = 0; i < node->ninput; i++)
		inputs[i] = node->inputs[i] == old ? now : node->inputs[i];
	return node_again(node, node, inputs);
}

void
put_in_place(PassContext *context, const char *rule, Node *node, Node *made)
{
	pass_log(context, rule, node->loc.node, made->loc.node, NULL);
	if (!value_is_graph_output(node->outputs[0])) /* these keep theirs by themselves */
		value_swap_names(node->outputs[0], made->outputs[0]);
	value_replace_uses(node->outputs[0], made->outputs[0]);
	node_add_origins(made, node); /* a Transpose behind a product gives what the product gave */
	node_drop(node);
}
