/* Operators that ops.def does not have.
 *
 * Who compiles gets all of a model's in one sentence, and does not find the next one only when the
 * first is gone. Who optimizes wants the others optimized: then an unknown node gets a row of its
 * own and passes through, with its attributes and graphs, in the very opset it came in.
 */
#include <string.h>

#include "onnx/import.h"

typedef struct Search {
	Import *import;
	Map seen;
	Buf text;
	int count;
} Search;

const OpInfo *
known_row(const Import *import, const char *domain, const char *op)
{
	const OpInfo *row = op_find(import->graph->ops, domain, op);
	return row && strcmp(row->domain, "tilewright") != 0 ? row : NULL;
}

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
	    known_row(import, domain, *domain ? op : upgrade_name(op)))
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

/* What exporters write unless they are told otherwise. */
static const char *
way_out(const Draft *draft)
{
	if (strcmp(draft->domain, "ai.onnx.ml") == 0 && strcmp(draft->op, "ZipMap") == 0)
		return "; it only names columns: export without it (skl2onnx: options={id(model): "
			   "{'zipmap': False}}; onnxmltools: zipmap=False)";
	return "; `tilewright list ops` shows those that are";
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
	draft_unsupported(draft, "operator%s %s %s not supported in any opset%s", is_single ? "" : "s",
	                  is_single ? full_name(import->arena, draft->domain, draft->op)
	                            : buf_text(&search.text),
	                  is_single ? "is" : "are", way_out(draft));
}

/* The domain's version must be said when writing; a function may have brought it along. */
static void
keep_version(const Draft *draft)
{
	Import *import = draft->import;
	for (int i = 0; i < import->graph->opsets.count; i++) {
		const OpsetImport *opset = &import->graph->opsets.data[i];
		if (strcmp(opset->domain, draft->domain) != 0)
			continue;
		if (opset->version != draft->version)
			draft_unsupported(draft,
			                  "an unknown operator of version %lld in a function, where the model "
			                  "imports %lld",
			                  (long long)draft->version, (long long)opset->version);
		return;
	}
	vec_push(import->arena, &import->graph->opsets, (OpsetImport){draft->domain, draft->version});
}

const OpInfo *
unknown_row(const Draft *draft)
{
	Arena *arena = draft->import->kept;
	int count = 0;
	AttrSpec *attrs = NEW_N(arena, AttrSpec, draft->attrs.count + draft->graphs.count + 1);
	for (int i = 0; i < draft->attrs.count; i++)
		attrs[count++] =
			(AttrSpec){.name = draft->attrs.data[i].name, .kind = (int)draft->attrs.data[i].kind};
	for (int i = 0; i < draft->graphs.count; i++)
		attrs[count++] = (AttrSpec){.name = draft->graphs.data[i].name, .kind = ATTR_GRAPH};
	keep_version(draft);
	return op_unknown(arena, draft->domain, draft->op, (int)draft->version, count, attrs);
}
