/* Rows whose meaning is a text of nodes (BODY in ops.def), put into the place of one.
 *
 *     BODY("%f = DequantizeLinear(%x, %s, %z)\n"
 *          "%g = Softmax(%f) \"*\"\n"
 *          "%y = QuantizeLinear(%g, %t, %u)")
 *
 * Values are the row's inputs and outputs, by name; an output that no line gives is not supported.
 * A node called "*" takes those attributes of the replaced one that its own operator has, too, and
 * the row's default where that is another. Of optional inputs that are not there: a node whose
 * first input is missing is not made, and nor is what it gives; one that lacks another input which
 * its operator demands gives its first input, as an Add without a bias does.
 */
#include <string.h>

#include "graph/expand.h"
#include "graph/inner.h"

/* Whether a line of the row's gives this output. */
static bool
gives(const OpInfo *op, int output)
{
	const char *name = op->outputs[output].name;
	for (const char *at = op->formula; (at = strstr(at, name)); at++)
		if (at[-1] == '%' && strchr(" ,", at[strlen(name)]))
			return true;
	return false;
}

/* The body as a graph of its own, of inputs that have no type yet. */
static Graph *
read_body(Arena *arena, const OpInfo *op)
{
	Buf text = {.arena = arena};
	buf_puts(&text, "graph body(");
	for (int i = 0; i < op->ninput; i++)
		buf_printf(&text, "%s%%%s: f32", i ? ", " : "", op->inputs[i].name);
	buf_puts(&text, ") -> ");
	for (int i = 0; i < op->noutput; i++)
		if (gives(op, i))
			buf_printf(&text, "%s%%%s", i ? ", " : "", op->outputs[i].name);
	buf_printf(&text, " {\n%s\n}\n", op->formula);
	return graph_parse(arena, "ops.def", buf_text(&text));
}

/* What stands for a value of the body; NULL: it is not there. */
static Value *
stand_in(const Expander *m, const Map *made, Value *value)
{
	if (value && value->constant)
		return graph_constant(m->region->graph, graph_fresh_name(m->region->graph, value->name),
		                      value->constant);
	return value ? map_find_ptr(made, value) : NULL;
}

static void
take_attributes(const Expander *m, const Node *line, Node *made)
{
	for (int i = 0; i < line->nattr; i++)
		node_add_attr(made, &line->attrs[i]);
	if (!line->loc.node || strcmp(line->loc.node, "*") != 0)
		return;
	for (int i = 0; i < m->node->op->nattr; i++) {
		const AttrSpec *row = &m->node->op->attrs[i], *own = op_attr(made->op, row->name);
		const Attr *attr = own ? attr_find(m->node, row->name) : NULL;
		bool is_other =
			attr && attr->kind == ATTR_FLOAT && own->fallback && attr->f != own->fallback->f;
		if (is_other || (attr && attr != row->fallback))
			node_add_attr(made, attr);
	}
}

static void
put_line(const Expander *m, Map *made, const Node *line)
{
	Value **inputs = NEW_N(m->region->graph->arena, Value *, line->ninput + 1);
	int count = 0;
	bool is_whole = true;
	for (int i = 0; i < line->ninput; i++) {
		inputs[i] = stand_in(m, made, line->inputs[i]);
		count = inputs[i] ? i + 1 : count;
		is_whole = is_whole && (inputs[i] || op_input(line->op, i)->optional);
	}
	if (line->ninput > 0 && !inputs[0])
		return;
	if (!is_whole) {
		map_set_ptr(made, line->outputs[0], inputs[0]);
		return;
	}
	Node *node =
		expander_node(m, op_text(m->region->graph->arena, line->op), count, inputs, line->noutput);
	take_attributes(m, line, node);
	expander_result(m, node);
	for (int i = 0; i < line->noutput; i++)
		map_set_ptr(made, line->outputs[i], node->outputs[i]);
}

void
expand_body(Node *node)
{
	Graph *graph = node->parent->graph;
	Expander m = {node->parent, node, node};
	Map made = {.arena = graph->arena};
	const Graph *body = read_body(graph->arena, node->op);
	for (int i = 0; i < node->op->ninput; i++)
		map_set_ptr(&made, body->body->params[i], expander_input(node, i));
	for (const Node *line = body->body->first; line; line = line->next)
		put_line(&m, &made, line);
	for (int i = 0, given = 0; i < node->noutput; i++) {
		if (!gives(node->op, i))
			continue;
		Value *result = map_find_ptr(&made, body->body->results[given++]);
		if (!node->outputs[i])
			continue;
		if (result->type.dtype != node->outputs[i]->type.dtype)
			fail_unsupported(&node->loc, "%s gives %s without a zero point, expected %s",
			                 node->op->name, dtype_name(result->type.dtype),
			                 dtype_name(node->outputs[i]->type.dtype));
		value_replace_uses(node->outputs[i], result);
	}
	node_remove(node);
}
