/* Operators that ops.def does not have: all of a model's in one sentence, so that nobody finds the
 * next one only when the first is gone.
 */
#include <string.h>

#include "onnx/import.h"

typedef struct Search {
	Import *import;
	Map seen;
	Buf text;
	int count;
} Search;

static const char *
full_name(Arena *arena, const char *domain, const char *op)
{
	return *domain ? arena_printf(arena, "%s.%s", domain, op) : op;
}

static void
look_at_node(Search *search, const Onnx__NodeProto *node)
{
	Import *import = search->import;
	const char *domain = domain_normal(node->domain), *op = text_of(node->op_type);
	bool is_constant = !*domain && strcmp(op, "Constant") == 0;
	if (!*op || is_constant || function_find(import, node) ||
	    op_find(import->graph->ops, domain, *domain ? op : upgrade_name(op)))
		return;
	const char *name = full_name(import->arena, domain, op);
	if (map_find(&search->seen, name))
		return;
	map_set(&search->seen, name, search);
	buf_printf(&search->text, "%s%s", search->count++ ? ", " : "", name);
}

static void look_at_nodes(Search *search, size_t count, Onnx__NodeProto *const *nodes);

static void
look_into_node(Search *search, const Onnx__NodeProto *node)
{
	for (size_t i = 0; i < node->n_attribute; i++) {
		const Onnx__GraphProto *graph = node->attribute[i]->g;
		if (graph)
			look_at_nodes(search, graph->n_node, graph->node);
	}
}

static void
look_at_nodes(Search *search, size_t count, Onnx__NodeProto *const *nodes)
{
	for (size_t i = 0; i < count; i++) {
		look_at_node(search, nodes[i]);
		look_into_node(search, nodes[i]);
	}
}

_Noreturn void
unknown_fail(const Draft *draft)
{
	Import *import = draft->import;
	Search search = {import, {.arena = import->arena}, {.arena = import->arena}, 0};
	const Onnx__ModelProto *model = import->model;
	if (!import->obstacles) /* they are listed node by node */
		look_at_nodes(&search, model->graph->n_node, model->graph->node);
	for (size_t i = 0; !import->obstacles && i < model->n_functions; i++)
		look_at_nodes(&search, model->functions[i]->n_node, model->functions[i]->node);
	bool is_single = search.count < 2;
	draft_unsupported(draft,
	                  "operator%s %s %s not supported in any opset; `tilewright list ops` shows "
	                  "those that are",
	                  is_single ? "" : "s",
	                  is_single ? full_name(import->arena, draft->domain, draft->op)
	                            : buf_text(&search.text),
	                  is_single ? "is" : "are");
}
