/* A copy with more outputs is the file and some bytes behind it. In protobuf's wire format a
 * message that is given twice is one, and lists in it are joined:
 *
 *     model { graph { node … output y } }  graph { output a  output b }
 *   = model { graph { node … output y  output a  output b } }
 *
 * So no weight is looked at, and nothing is lost that we would not know.
 */
#include "onnx/outline.h"

#include <string.h>

#include "onnx/import.h"
#include "onnx/wire.h"

enum { MODEL_GRAPH = 7, GRAPH_OUTPUT = 12, VALUE_NAME = 1 }; /* numbers of fields in onnx.proto */

static StrVec
names_of(Arena *arena, size_t count, char *const *names)
{
	StrVec list = {0};
	for (size_t i = 0; i < count; i++)
		vec_push(arena, &list, text_of(names[i]));
	return list;
}

static void
add_node(Arena *arena, Outline *outline, const Onnx__NodeProto *proto)
{
	OutlineNode node = {.name = node_name(proto), .op = text_of(proto->op_type)};
	node.inputs = names_of(arena, proto->n_input, proto->input);
	node.outputs = names_of(arena, proto->n_output, proto->output);
	node.origins = node_noted_origins(arena, proto);
	if (node.origins.count == 0)
		vec_push(arena, &node.origins, node.name);
	vec_push(arena, &outline->nodes, node);
	for (int i = 0; i < node.outputs.count; i++)
		map_set(&outline->by_output, node.outputs.data[i], (void *)(uintptr_t)outline->nodes.count);
}

static void
add_external(Arena *arena, Outline *outline, const Onnx__TensorProto *tensor)
{
	for (size_t i = 0; i < tensor->n_external_data; i++) {
		const char *key = text_of(tensor->external_data[i]->key);
		const char *location = text_of(tensor->external_data[i]->value);
		bool is_known = strcmp(key, "location") != 0;
		for (int k = 0; !is_known && k < outline->external.count; k++)
			is_known = strcmp(outline->external.data[k], location) == 0;
		if (!is_known)
			vec_push(arena, &outline->external, location);
	}
}

const Outline *
outline_read(Arena *arena, const char *path)
{
	Outline *outline = NEW(arena, Outline);
	*outline = (Outline){.path = path, .file = file_map(arena, path), .by_output.arena = arena};
	const Onnx__ModelProto *model =
		onnx_unpack(arena, path, &onnx__model_proto__descriptor, outline->file);
	const Onnx__GraphProto *graph = model->graph;
	if (!graph)
		fail(&(Loc){.file = path}, "the file holds no graph: is it an ONNX model?");
	for (size_t i = 0; i < graph->n_node; i++)
		add_node(arena, outline, graph->node[i]);
	for (size_t i = 0; i < graph->n_output; i++)
		vec_push(arena, &outline->outputs, text_of(graph->output[i]->name));
	for (size_t i = 0; i < graph->n_initializer; i++)
		add_external(arena, outline, graph->initializer[i]);
	return outline;
}

void
outline_expose(Arena *arena, const Outline *outline, const StrVec *names, const char *path)
{
	Wire graph = {.arena = arena}, model = {.arena = arena};
	for (int i = 0; i < names->count; i++) {
		Wire value = {.arena = arena};
		wire_text(&value, VALUE_NAME, names->data[i]);
		wire_message(&graph, GRAPH_OUTPUT, &value);
	}
	wire_message(&model, MODEL_GRAPH, &graph);
	FileWriter *file = file_create(arena, path);
	file_put(file, outline->file.data, outline->file.size);
	wire_save(file, &model);
	file_commit(file);
}
