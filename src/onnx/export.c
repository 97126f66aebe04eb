/* Graph -> ModelProto: nodes in order, at the model's own opset or the next that can say them.
 *
 * A first run over all nodes finds the opset, a second writes; `fused` nodes are opened, so that
 * what they were made from stands in the file. Bytes depend on the graph only. Weights go from
 * where they are (the mapped model, an arena) into the file, or above a limit into PATH.data beside
 * it, each on a page of its own, under a name that we choose.
 */
#include "onnx/export.h"

#include <inttypes.h>
#include <string.h>

#include "graph/spell/spell.h"

static const uint64_t EXTERNAL_ABOVE = 1900000000; /* protobuf ends at 2^31 - 1 */
enum { EXTERNAL_LEAST = 1024, EXTERNAL_ALIGN = 4096, IR_LEAST = 4, IR_METADATA = 10 };

/* ---- names ---- */

static const char *
made_name(Export *out, const char *base)
{
	const char *name = base;
	for (int i = 1; graph_find_value(out->graph, name) || map_find(&out->made, name); i++)
		name = arena_printf(out->arena, "%s_%d", base, i);
	map_set(&out->made, name, out);
	return name;
}

/* What has a made-up name is called by its node: that says more, and stays the same when the file
 * is optimised again. */
static const char *
out_name(Export *out, const Value *value)
{
	const char *name = map_find_ptr(&out->renamed, value);
	if (name || !value->is_made_up || !value->def)
		return name ? name : value->name;
	const char *node = value->def->loc.node;
	node = node && *node ? node : value->def->op->name;
	name = made_name(out, arena_printf(out->arena, "%s.out", node));
	map_set_ptr(&out->renamed, value, (void *)(uintptr_t)name);
	return name;
}

/* A node's name, once in the model: one node of the model may have become several. */
static const char *
node_name(Export *out, const char *base)
{
	if (!base || !*base)
		return "";
	const char *name = base;
	for (int i = 1; map_find(&out->node_names, name); i++)
		name = arena_printf(out->arena, "%s_%d", base, i);
	map_set(&out->node_names, name, out);
	return name;
}

static const char *
use_name(Export *out, const Value *value)
{
	const char *name = out_name(out, value);
	map_set(&out->used, name, out);
	return name;
}

/* ---- notes ---- */

static void
out_pair(const Export *out, Wire *wire, int field, const char *key, const char *value)
{
	Wire pair = {.arena = out->arena};
	wire_text(&pair, 1, key);
	wire_text(&pair, 2, value);
	wire_message(wire, field, &pair);
}

/* The numbers of the fields differ from message to message. */
static void
out_notes(const Export *out, Wire *wire, const Notes *notes, int doc, int pairs)
{
	wire_text(wire, doc, notes ? notes->doc : NULL);
	for (int i = 0; notes && i < notes->pairs.count; i++)
		out_pair(out, wire, pairs, notes->pairs.data[i].key, notes->pairs.data[i].value);
}

/* ---- nodes ---- */

static void out_region(Export *out, Wire *wire, const Region *region, bool is_body);

static OutNode
node_out(Export *out, const Node *node)
{
	OutNode result = {.out = out, .node = node, .op = node->op->name, .domain = node->op->domain};
	for (int i = 0; i < node->ninput; i++) {
		const Value *value = node->inputs[i];
		vec_push(out->arena, &result.inputs, value ? out_name(out, value) : "");
	}
	for (int i = 0; i < node->noutput; i++) {
		const Value *value = node->outputs[i];
		vec_push(out->arena, &result.outputs, value ? out_name(out, value) : "");
	}
	for (int i = 0; i < node->nattr; i++)
		vec_push(out->arena, &result.attrs, node->attrs[i]);
	return result;
}

/* The names of the model's nodes a node was made from, one per line, unless that is its own name.
 */
static const char *
origins_text(const Export *out, const Node *node, const char *own)
{
	const StrVec *origins = &node->origins;
	if (origins->count == 0 || (origins->count == 1 && strcmp(origins->data[0], own) == 0))
		return NULL;
	Buf text = {.arena = out->arena};
	for (int i = 0; i < origins->count; i++)
		buf_printf(&text, "%s%s", i ? "\n" : "", origins->data[i]);
	return buf_text(&text);
}

/* A node's notes, and where it came from: before IR 10 that stands behind its documentation. */
static void
out_node_notes(const Export *out, Wire *wire, const Notes *noted, const char *origins)
{
	Notes notes = noted ? *noted : (Notes){.doc = NULL};
	const char *doc = notes.doc ? notes.doc : "";
	bool has_metadata = out->ir_version >= IR_METADATA;
	if (origins && !has_metadata)
		notes.doc =
			arena_printf(out->arena, "%s%s" KEY_ORIGINS "\n%s", doc, *doc ? "\n" : "", origins);
	out_notes(out, wire, &notes, 6, 9);
	if (origins && has_metadata)
		out_pair(out, wire, 9, KEY_ORIGINS, origins);
}

/* What an operator that we do not know means in another opset, nobody knows. */
static void
check_unknown(const Export *out, const Node *node)
{
	if (!*node->op->domain && out->opset != node->op->since)
		fail_unsupported(&node->loc,
		                 "the operator is not known: it stays in opset %d, and opset %" PRId64
		                 " is needed for others",
		                 node->op->since, out->opset);
}

/* A version that the model itself imports stays; where it says none, nodes need the newest. */
static void
import_domain(Export *out, const char *domain, int64_t version)
{
	for (int i = 0; i < out->opsets.count; i++) {
		OpsetImport *opset = &out->opsets.data[i];
		if (strcmp(opset->domain, domain) != 0)
			continue;
		if (i >= out->graph->opsets.count && opset->version < version)
			opset->version = version;
		return;
	}
	vec_push(out->arena, &out->opsets, ((OpsetImport){domain, version}));
}

static void
out_plain(Export *out, Wire *graph, const Node *node)
{
	OutNode result = node_out(out, node);
	if (node->op->meaning == MEANING_UNKNOWN)
		check_unknown(out, node);
	else
		out_downgrade(&result);
	Wire wire = {.arena = out->arena};
	for (int i = 0; i < result.inputs.count; i++) {
		map_set(&out->used, result.inputs.data[i], out);
		wire_bytes(&wire, 1, result.inputs.data[i], strlen(result.inputs.data[i]));
	}
	for (int i = 0; i < result.outputs.count; i++)
		wire_bytes(&wire, 2, result.outputs.data[i], strlen(result.outputs.data[i]));
	const char *name = node_name(out, node->loc.node);
	wire_text(&wire, 3, name);
	wire_text(&wire, 4, result.op);
	for (int i = 0; i < result.attrs.count; i++) {
		Wire attr = {.arena = out->arena};
		out_attr(out, &attr, &result.attrs.data[i]);
		wire_message(&wire, 5, &attr);
	}
	for (int i = 0; i < node->nregion; i++) {
		Wire attr = {.arena = out->arena}, body = {.arena = out->arena};
		out_region(out, &body, node->regions[i], false);
		wire_text(&attr, 1, node->regions[i]->name);
		wire_message(&attr, 6, &body);
		wire_int(&attr, 20, 5); /* AttributeProto.GRAPH */
		wire_message(&wire, 5, &attr);
	}
	out_node_notes(out, &wire, node->notes, origins_text(out, node, name));
	if (*result.domain)
		import_domain(out, result.domain, node->op->since);
	wire_text(&wire, 7, result.domain);
	wire_message(graph, 1, &wire);
}

static void out_nodes(Export *out, Wire *wire, const Region *region);

/* The nodes inside a fused node; its results take the names of its outputs. */
static void
out_fused(Export *out, Wire *wire, const Node *node)
{
	const Region *region = node->regions[0];
	for (int i = 0; i < region->nparam; i++)
		if (i < node->ninput && node->inputs[i])
			map_set_ptr(&out->renamed, region->params[i],
			            (void *)(uintptr_t)out_name(out, node->inputs[i]));
	for (int i = 0; i < node->noutput && i < region->nresult; i++)
		if (node->outputs[i] && region->results[i])
			map_set_ptr(&out->renamed, region->results[i],
			            (void *)(uintptr_t)out_name(out, node->outputs[i]));
	out_nodes(out, wire, region);
}

static void
out_nodes(Export *out, Wire *wire, const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		if (map_find_ptr(&out->skipped, node))
			continue;
		if (strcmp(node->op->name, "fused") == 0 && node->nregion == 1)
			out_fused(out, wire, node);
		else if (node->op->code == OP_Enter)
			map_set_ptr(&out->renamed, node->outputs[0],
			            (void *)(uintptr_t)use_name(out, node->inputs[0]));
		else if (strcmp(node->op->domain, "tilewright") == 0)
			fail_unsupported(&node->loc,
			                 "this operator is Tilewright's own and cannot be written as ONNX");
		else
			out_plain(out, wire, node);
	}
}

/* ---- graphs ---- */

static void
note_type(Export *out, const Type *type)
{
	int version = type_ir_version(type);
	if (out->ir_version < version)
		out->ir_version = version;
}

static void
out_value(Export *out, Wire *wire, int field, const char *name, const Value *value)
{
	const Type *type = &value->type;
	Wire info = {.arena = out->arena}, inner = {.arena = out->arena};
	wire_text(&info, 1, name);
	bool is_known =
		type->kind != TYPE_UNKNOWN && (type->kind != TYPE_TENSOR || type->dtype != DT_NONE);
	if (is_known) {
		note_type(out, type);
		out_type(out, &inner, type);
		wire_message(&info, 2, &inner);
	}
	out_notes(out, &info, value->notes, 3, 4);
	wire_message(wire, field, &info);
}

/* It is a part of the node that makes the value, so far as origins say. */
static void
out_identity(Export *out, Wire *wire, const char *from, const char *to, const Node *maker)
{
	Wire node = {.arena = out->arena};
	wire_text(&node, 1, from);
	wire_text(&node, 2, to);
	const char *name = node_name(out, to);
	wire_text(&node, 3, name);
	wire_text(&node, 4, "Identity");
	if (maker)
		out_node_notes(out, &node, NULL, origins_text(out, maker, name));
	wire_message(wire, 1, &node);
}

/* Whether a result can stand in a graph's outputs as it is: made by a node of the graph, once. The
 * outputs of a model are known by their names, whatever they are. */
static bool
is_own_result(const Region *region, int index, bool is_body)
{
	const Value *value = region->results[index];
	for (int i = 0; i < index && !is_body; i++)
		if (region->results[i] == value)
			return false;
	bool is_entered = value->def && value->def->op->code == OP_Enter;
	return is_body || (value->region == region && !is_entered && (value->def || !value->constant));
}

static void
out_results(Export *out, Wire *wire, const Region *region, bool is_body)
{
	StrVec names = {0};
	for (int i = 0; i < region->nresult; i++) {
		const char *name = use_name(out, region->results[i]);
		if (!is_own_result(region, i, is_body)) {
			const char *own = made_name(out, arena_printf(out->arena, "%s.result", name));
			out_identity(out, wire, name, own, region->results[i]->def);
			name = own;
		}
		vec_push(out->arena, &names, name);
	}
	for (int i = 0; i < region->nresult; i++)
		out_value(out, wire, 12, names.data[i], region->results[i]);
}

static bool
is_result(const Region *region, const Value *value)
{
	for (int i = 0; i < value->uses.count; i++)
		if (value->uses.data[i].region == region)
			return true;
	return false;
}

/* The types of inner values that the model says by name, as they are now. */
static void
out_listed(Export *out, Wire *wire, const Region *region)
{
	for (const Node *node = region->first; node; node = node->next)
		for (int i = 0; i < node->noutput; i++) {
			const Value *value = node->outputs[i];
			if (value && value->is_listed && !map_find_ptr(&out->skipped, node) &&
			    !is_result(region, value))
				out_value(out, wire, 13, out_name(out, value), value);
		}
}

static void
out_region(Export *out, Wire *wire, const Region *region, bool is_body)
{
	wire_text(wire, 2, region->name);
	out_notes(out, wire, region->notes, 10, 16);
	out_nodes(out, wire, region);
	out_listed(out, wire, region);
	for (int i = 0; i < region->nparam; i++)
		out_value(out, wire, 11, region->params[i]->name, region->params[i]);
	out_results(out, wire, region, is_body);
}

/* ---- the model ---- */

/* Where weights go: into the model's own bytes, or into a file beside it. */
typedef struct DataFile {
	FileWriter *writer; /* NULL: inside */
	const char *name;
} DataFile;

static void
pad_file(FileWriter *writer)
{
	static const char zeros[EXTERNAL_ALIGN];
	uint64_t over = file_position(writer) % EXTERNAL_ALIGN;
	if (over)
		file_put(writer, zeros, EXTERNAL_ALIGN - over);
}

static void
out_external(const Export *out, Wire *wire, const DataFile *file, const char *name,
             const Array *data)
{
	size_t size = array_bytes(data);
	pad_file(file->writer);
	uint64_t offset = file_position(file->writer);
	file_put(file->writer, data->data, size);
	wire_ints(wire, 1, data->rank, data->dims);
	wire_int(wire, 2, data->type);
	wire_text(wire, 8, name);
	out_pair(out, wire, 13, "location", file->name);
	out_pair(out, wire, 13, "offset", arena_printf(out->arena, "%" PRIu64, offset));
	out_pair(out, wire, 13, "length", arena_printf(out->arena, "%zu", size));
	wire_int(wire, 14, 1); /* TensorProto.EXTERNAL */
}

static void
out_constant(Export *out, Wire *graph, const DataFile *file, const char *name, const Array *data,
             const Notes *notes)
{
	Wire wire = {.arena = out->arena};
	Type type = {.kind = TYPE_TENSOR, .dtype = data->type};
	note_type(out, &type);
	if (file->writer && data->type != DT_STRING && array_bytes(data) >= EXTERNAL_LEAST)
		out_external(out, &wire, file, name, data);
	else
		out_tensor(&wire, name, data);
	out_notes(out, &wire, notes, 12, 16);
	wire_message(graph, 5, &wire);
}

/* All constants that something uses, and the defaults of inputs. */
static void
out_constants(Export *out, Wire *graph, const DataFile *file)
{
	const Graph *from = out->graph;
	for (int i = 0; i < from->body->nparam; i++)
		if (from->body->params[i]->constant)
			out_constant(out, graph, file, from->body->params[i]->name,
			             from->body->params[i]->constant, NULL);
	for (int i = 0; i < from->constants.count; i++) {
		const Value *value = from->constants.data[i];
		if (map_find(&out->used, value->name))
			out_constant(out, graph, file, value->name, value->constant, value->notes);
	}
	for (int i = 0; i < out->arrays.count; i++)
		out_constant(out, graph, file, out->array_names.data[i], out->arrays.data[i], NULL);
}

static void
out_opsets(const Export *out, Wire *model)
{
	bool has_default = false;
	for (int i = 0; i < out->opsets.count; i++) {
		OpsetImport opset = out->opsets.data[i];
		bool is_default = !*opset.domain;
		has_default |= is_default;
		Wire wire = {.arena = out->arena};
		wire_text(&wire, 1, opset.domain);
		wire_int(&wire, 2, is_default ? out->opset : opset.version);
		wire_message(model, 8, &wire);
	}
	if (has_default)
		return;
	Wire wire = {.arena = out->arena};
	wire_int(&wire, 2, out->opset);
	wire_message(model, 8, &wire);
}

static Export
begin(const Graph *graph, Arena *arena, int64_t opset)
{
	Export out = {
		.arena = arena,
		.graph = graph,
		.opset = opset,
		.ir_version = graph->ir_version > IR_LEAST ? graph->ir_version : IR_LEAST,
		.renamed = {.arena = arena},
		.skipped = {.arena = arena},
		.made = {.arena = arena},
		.node_names = {.arena = arena},
		.used = {.arena = arena},
	};
	for (int i = 0; i < graph->opsets.count; i++)
		import_domain(&out, graph->opsets.data[i].domain, graph->opsets.data[i].version);
	return out;
}

/* An export at the least opset from `opset` on that can say every node. A first run finds it, and
 * the nodes that others take over. */
static Export
begin_export(const Graph *graph, Arena *arena, int64_t opset)
{
	for (;;) {
		Export out = begin(graph, arena, opset), final = begin(graph, arena, opset);
		Wire wire = {.arena = arena};
		out_region(&out, &wire, graph->body, true);
		final.skipped = out.skipped;
		if (out.needed <= opset)
			return final;
		opset = out.needed;
	}
}

static int64_t
own_opset(const Graph *graph)
{
	for (int i = 0; i < graph->opsets.count; i++)
		if (!*graph->opsets.data[i].domain)
			return graph->opsets.data[i].version;
	return ONNX_DIALECT;
}

static uint64_t
weight_bytes(const Graph *graph)
{
	uint64_t total = 0;
	for (int i = 0; i < graph->body->nparam; i++)
		if (graph->body->params[i]->constant)
			total += array_bytes(graph->body->params[i]->constant);
	for (int i = 0; i < graph->constants.count; i++)
		if (graph->constants.data[i]->type.dtype != DT_STRING)
			total += array_bytes(graph->constants.data[i]->constant);
	return total;
}

static void
out_model(Export *out, Wire *model, const DataFile *file)
{
	Wire graph = {.arena = out->arena};
	out_region(out, &graph, out->graph->body, true);
	out_constants(out, &graph, file);
	wire_int(model, 1, out->ir_version);
	const Graph *from = out->graph;
	bool is_named = from->producer && *from->producer;
	wire_text(model, 2, is_named ? from->producer : "tilewright");
	wire_text(model, 3, from->producer_version);
	wire_text(model, 4, from->domain);
	if (from->model_version)
		wire_int(model, 5, from->model_version);
	wire_text(model, 6, from->doc);
	wire_message(model, 7, &graph);
	out_opsets(out, model);
	for (int i = 0; i < from->metadata.count; i++) {
		StringPair pair = from->metadata.data[i];
		if (strncmp(pair.key, KEY_DIM, strlen(KEY_DIM)) != 0)
			out_pair(out, model, 14, pair.key, pair.value);
	}
}

typedef struct WriteJob {
	Arena *arena;
	const Graph *graph;
	const char *path;
	const OnnxWriteOptions *options;
} WriteJob;

/* The graph, or a copy of it where operators of ours stand for standard ones. */
static const Graph *
standard_graph(Arena *arena, const Graph *graph)
{
	if (!graph_has_expressions(graph))
		return graph;
	Graph *copy = graph_clone(arena, graph);
	graph_spell_expressions(copy);
	return copy;
}

/* Beside the model where that is asked for, or they are too large for it. */
static DataFile
data_file(const WriteJob *job)
{
	const OnnxWriteOptions *options = job->options;
	const char *name = options ? options->weights : NULL, *path = job->path;
	uint64_t limit = options && options->external_above ? options->external_above : EXTERNAL_ABOVE;
	if (!name && weight_bytes(job->graph) <= limit)
		return (DataFile){0};
	path = name ? arena_printf(job->arena, "%s/%s", file_folder(job->arena, path), name)
	            : arena_printf(job->arena, "%s.data", path);
	for (int i = 0; i < job->graph->data_files.count; i++)
		if (file_same(job->graph->data_files.data[i], path))
			fail_as(FAIL_USAGE, NULL,
			        "%s would be written over weights of the model that is read; give another "
			        "name (--weights)",
			        path);
	return (DataFile){file_create(job->arena, path), file_base(path)};
}

static void
write_model(void *arg)
{
	WriteJob *job = arg;
	job->graph = standard_graph(job->arena, job->graph);
	const OnnxWriteOptions *options = job->options;
	int64_t opset = own_opset(job->graph);
	if (options && options->opset > opset)
		opset = options->opset;
	Export out = begin_export(job->graph, job->arena, opset);
	Loc loc = {.file = job->path};
	if (out.opset > opset)
		warn(&loc,
		     "written for opset %" PRId64 ", because opset %" PRId64
		     " has no form for some of its nodes",
		     out.opset, opset);
	if (options && options->opset > 0 && options->opset < own_opset(job->graph))
		warn(&loc,
		     "opset %" PRId64 " was asked for, and the model's own, %" PRId64
		     ", is written: nodes are not put into older forms",
		     options->opset, own_opset(job->graph));
	DataFile file = data_file(job);
	Wire model = {.arena = job->arena};
	out_model(&out, &model, &file);
	if (file.writer)
		file_commit(file.writer);
	FileWriter *writer = file_create(job->arena, job->path);
	wire_save(writer, &model);
	file_commit(writer);
}

void
onnx_write(const Graph *graph, const char *path, const OnnxWriteOptions *options)
{
	Arena *arena = arena_new("export");
	WriteJob job = {arena, graph, path, options};
	Failure failure;
	bool is_done = try_run(write_model, &job, &failure);
	arena_free(arena);
	if (!is_done)
		fail_again(&failure);
}
