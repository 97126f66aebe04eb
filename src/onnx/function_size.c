/* How much a model becomes once its functions are inlined, found before anything is.
 *
 * Functions that each call the one before twice double what a call becomes; thirty of them are two
 * kilobytes and a thousand million nodes. Each function is measured once, from what its calls
 * become. A unit is a node, and each further kilobyte of its message.
 */
#include "onnx/import.h"

enum { UNIT = 1024 };

typedef struct Size {
	bool is_known; /* false: being measured; a call then goes round, which inlining refuses */
	uint64_t units;
} Size;

typedef struct Measure {
	Import *import;
	Map sizes; /* Onnx__FunctionProto to Size */
	int depth;
} Measure;

static uint64_t nodes_size(Measure *measure, size_t count, Onnx__NodeProto *const *nodes,
                           bool is_copied);

static uint64_t
function_size(Measure *measure, const Onnx__FunctionProto *function)
{
	Size *size = map_find_ptr(&measure->sizes, function);
	if (size)
		return size->is_known ? size->units : 0;
	size = NEW(measure->import->arena, Size);
	map_set_ptr(&measure->sizes, function, size);
	if (measure->depth <= IMPORT_MAX_CALLS) { /* inlining goes no deeper */
		measure->depth++;
		size->units = nodes_size(measure, function->n_node, function->node, true);
		measure->depth--;
	}
	size->is_known = true;
	return size->units;
}

/* Graphs inside of nodes are as deep as the walk over the bytes lets them be. */
static uint64_t
node_size(Measure *measure, const Onnx__NodeProto *node, bool is_copied)
{
	const Onnx__FunctionProto *function = function_find(measure->import, node);
	uint64_t units = 0;
	if (function)
		units = function_size(measure, function);
	if (is_copied)
		units += 1 + onnx__node_proto__get_packed_size(node) / UNIT;
	for (size_t i = 0; i < node->n_attribute; i++)
		if (node->attribute[i]->g)
			units += nodes_size(measure, node->attribute[i]->g->n_node, node->attribute[i]->g->node,
			                    is_copied);
	return units;
}

static uint64_t
nodes_size(Measure *measure, size_t count, Onnx__NodeProto *const *nodes, bool is_copied)
{
	uint64_t units = 0;
	for (size_t i = 0; i < count && units <= IMPORT_MAX_NODES; i++)
		units += node_size(measure, nodes[i], is_copied);
	return units > IMPORT_MAX_NODES ? IMPORT_MAX_NODES + 1 : units;
}

void
functions_measure(Import *import)
{
	Measure measure = {.import = import, .sizes = {.arena = import->arena}};
	const Onnx__GraphProto *graph = import->model->graph;
	if (import->functions.count == 0 || !graph)
		return;
	if (nodes_size(&measure, graph->n_node, graph->node, false) > IMPORT_MAX_NODES)
		fail(&(Loc){.file = import->file}, "more than %d nodes after inlining functions",
		     IMPORT_MAX_NODES);
}
