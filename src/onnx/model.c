/* Whole models: the header, inputs and outputs of the model's own graph, and the three ways in.
 *
 * A name in both `initializer` and `input` is a default that the caller may override, from IR 4 on;
 * before, every initializer had to be listed as an input, and is a plain constant here.
 */
#include <string.h>

#include "base/array_words.h"
#include "base/fail.h"
#include "onnx/import.h"

static void
import_header(Import *import)
{
	const Onnx__ModelProto *model = import->model;
	Graph *graph = import->graph;
	Loc loc = {.file = import->file};
	if (model->ir_version > ONNX_IR)
		warn(&loc, "IR version %lld is newer than %d; fields it added are ignored",
		     (long long)model->ir_version, ONNX_IR);
	graph->ir_version = model->ir_version;
	graph->producer = model->producer_name;
	graph->producer_version = model->producer_version;
	graph->domain = model->domain;
	graph->model_version = model->model_version;
	graph->doc = model->doc_string;
	opsets_check(import, model->n_opset_import, model->opset_import);
	for (size_t i = 0; i < model->n_opset_import; i++) {
		OpsetImport opset = {domain_normal(model->opset_import[i]->domain),
		                     model->opset_import[i]->version};
		bool is_again = false;
		for (int k = 0; k < graph->opsets.count; k++)
			is_again |= strcmp(graph->opsets.data[k].domain, opset.domain) == 0;
		if (is_again)
			continue;
		if (!*opset.domain && (opset.version > ONNX_DIALECT || opset.version < 1))
			fail_unsupported(&loc, "opset %lld; supported are 1 to %d", (long long)opset.version,
			                 ONNX_DIALECT);
		vec_push(import->arena, &graph->opsets, opset);
	}
	for (size_t i = 0; i < model->n_metadata_props; i++) {
		StringPair pair = {text_of(model->metadata_props[i]->key),
		                   text_of(model->metadata_props[i]->value)};
		vec_push(import->arena, &graph->metadata, pair);
	}
}

/* Whether an input is fixed to a value; then its constant is defined. */
static bool
fix_input(Import *import, Scope *scope, const char *name, const Type *type, const Loc *loc)
{
	for (int i = 0; import->options && i < import->options->nfixed; i++) {
		const OnnxFixed *fixed = &import->options->fixed[i];
		if (strcmp(fixed->input, name) != 0)
			continue;
		const Array *value = fixed->value;
		if (!value)
			value = array_of_words(import->kept, fixed->words, type->dtype, type->rank);
		if (!value)
			fail_as(FAIL_USAGE, loc,
			        "the model says %s, --fix gives '%s': expected @FILE or numbers",
			        type_text(import->arena, type), fixed->words);
		if (!type_takes(type, value)) {
			Type given = type_of_array(import->graph->ctx, value);
			fail_as(FAIL_USAGE, loc, "the model says %s, --fix gives %s",
			        type_text(import->arena, type), type_text(import->arena, &given));
		}
		scope_define(import, scope, name, graph_constant(import->graph, name, value), loc);
		return true;
	}
	return false;
}

/* What is fixed must have been an input; `scope` has those alone. */
static void
check_fixed(const Import *import, const Scope *scope)
{
	const OnnxReadOptions *options = import->options;
	const Region *body = import->graph->body;
	const char **names = NEW_N(import->arena, const char *, body->nparam + 1);
	for (int i = 0; i < body->nparam; i++)
		names[i] = body->params[i]->name;
	for (int i = 0; options && i < options->nfixed; i++)
		if (!map_find(&scope->meanings, options->fixed[i].input))
			fail_unknown(&(Loc){.file = import->file}, "input", options->fixed[i].input,
			             body->nparam, names, NULL);
}

static void
import_inputs(Import *import, Scope *scope, const Onnx__GraphProto *proto)
{
	Map initialized = {.arena = import->arena};
	for (size_t i = 0; i < proto->n_initializer; i++)
		map_set(&initialized, text_of(proto->initializer[i]->name), proto->initializer[i]);
	bool are_constants = import->model->ir_version < 4;
	for (size_t i = 0; i < proto->n_input; i++) {
		const char *name = text_of(proto->input[i]->name);
		Loc loc = {.file = import->file, .node = name, .op = "input"};
		if (!*name)
			fail(&loc, "an input without a name");
		if (are_constants && map_find(&initialized, name))
			continue;
		Type type = type_import(import, proto->input[i]->type, true, &loc);
		if (type.kind == TYPE_UNKNOWN || (type.kind == TYPE_TENSOR && type.dtype == DT_NONE))
			fail(&loc, "an input without a type");
		if (map_find(&scope->meanings, name))
			fail(&loc, "value '%s' is defined twice", name);
		if (!fix_input(import, scope, name, &type, &loc))
			scope_define(import, scope, name, graph_input(import->graph, name, &type), &loc);
	}
	check_fixed(import, scope);
}

/* Outputs are known by their names; a value inside that has taken one gives it back. */
static void
claim_name(Graph *graph, Value *value, const char *name)
{
	if (strcmp(value->name, name) == 0)
		return;
	Value *other = graph_find_value(graph, name);
	if (other) {
		other->name = graph_fresh_name(graph, name);
		map_set(graph->names, other->name, other);
	}
	map_set(graph->names, value->name, NULL);
	value->name = name;
	map_set(graph->names, name, value);
}

/* What the model says of an output must not contradict what follows from its nodes; where nothing
 * follows yet, it is believed. */
static void
check_output(Import *import, Value *value, const Onnx__ValueInfoProto *proto)
{
	Loc loc = {.file = import->file, .node = text_of(proto->name), .op = "output"};
	Type said = type_import(import, proto->type, false, &loc);
	Type *type = &value->type;
	bool is_unknown = type->kind == TYPE_UNKNOWN;
	type_adopt(import, value, proto, &loc);
	if (is_unknown || said.kind == TYPE_UNKNOWN)
		return;
	if (type->kind != said.kind)
		fail(&loc, "the model says it is a %s, its node makes a %s",
		     said.kind == TYPE_TENSOR ? "tensor" : "sequence or optional",
		     type->kind == TYPE_TENSOR ? "tensor" : "sequence or optional");
	if (type->kind != TYPE_TENSOR || said.dtype == DT_NONE)
		return;
	if (type->dtype != DT_NONE && type->dtype != said.dtype)
		fail(&loc, "the model says %s, its node makes %s", dtype_name(said.dtype),
		     dtype_name(type->dtype));
	if (type->rank >= 0 && said.rank >= 0 && type->rank != said.rank)
		warn(&loc, "the model says rank %d, its node makes rank %d", said.rank, type->rank);
}

/* A dim that several inputs decide has the name that the model gives it: for whoever reads the
 * model when it is written again. */
static void
name_dims(Import *import, const Value *value, const Onnx__TypeProto *proto)
{
	Graph *graph = import->graph;
	bool is_tensor = proto && proto->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	const Onnx__TensorShapeProto *shape = is_tensor ? proto->tensor_type->shape : NULL;
	for (int i = 0; shape && i < value->type.rank && (size_t)i < shape->n_dim; i++) {
		const Dim *dim = value->type.dims[i];
		const char *name = text_of(shape->dim[i]->dim_param);
		const SymbolDef *def = dim->op == EX_symbol ? symbol_def_find(graph, dim->symbol) : NULL;
		if (!*name || !def || def->source != SYMBOL_EXPR)
			continue;
		StringPair pair = {arena_printf(import->arena, KEY_DIM "%s", dim->symbol->name), name};
		vec_push(graph->arena, &graph->metadata, pair);
	}
}

static void
import_outputs(Import *import, const Scope *scope, const Onnx__GraphProto *proto)
{
	Loc loc = {.file = import->file};
	Graph *graph = import->graph;
	if (proto->n_output == 0)
		fail(&loc, "the graph has no outputs");
	import_results(import, graph->body, scope, proto, &loc);
	for (int i = 0; i < graph->body->nresult; i++) {
		claim_name(graph, graph->body->results[i], proto->output[i]->name);
		check_output(import, graph->body->results[i], proto->output[i]);
		if (graph->is_open)
			name_dims(import, graph->body->results[i], proto->output[i]->type);
	}
}

static void
index_types(Import *import, const Onnx__GraphProto *proto)
{
	import->value_info.arena = import->arena;
	for (size_t i = 0; i < proto->n_value_info; i++)
		map_set(&import->value_info, text_of(proto->value_info[i]->name), proto->value_info[i]);
}

/* The file's path stands in `import`, as who asked says it. */
static void
import_model(Import *import, Bytes bytes)
{
	Arena *kept = import->kept;
	import->file = arena_strdup(kept, import->file);
	import->folder = import->options ? import->options->external_folder : NULL;
	import->bytes = bytes;
	import->files.arena = kept;
	import->model = onnx_unpack(kept, import->file, &onnx__model_proto__descriptor, bytes);
	const Onnx__GraphProto *proto = import->model->graph;
	Loc loc = {.file = import->file};
	if (!proto)
		fail(&loc, "the file holds no graph: is it an ONNX model?");
	import->graph = graph_new(import->arena, text_of(proto->name), import->file);
	import->graph->is_open = import->options && import->options->is_open;
	import_header(import);
	functions_index(import);
	functions_measure(import);
	index_types(import, proto);
	Scope scope = {.meanings = {.arena = import->arena}};
	import_inputs(import, &scope, proto);
	import_initializers(import, &scope, proto);
	import_nodes(import, import->graph->body, &scope, proto->n_node, proto->node);
	import_outputs(import, &scope, proto);
	notes_of_graph(import, import->graph->body, &scope, proto);
	region_update_captures(import->graph->body);
}

/* Inferring types builds the meaning of most nodes, which takes more memory than the graph: that is
 * copied, and the rest goes. */
static Graph *
read_model(Arena *arena, const char *name, Bytes bytes, bool is_mapped,
           const OnnxReadOptions *options)
{
	Arena *work = arena_new_in(arena, "import");
	Import import = {
		.arena = work, .kept = arena, .options = options, .file = name, .is_mapped = is_mapped};
	import_model(&import, bytes);
	Graph *graph = graph_clone(arena, import.graph);
	arena_reset(work);
	return graph;
}

Graph *
onnx_read_bytes(Arena *arena, const char *name, Bytes bytes, const OnnxReadOptions *options)
{
	return read_model(arena, name, bytes, false, options);
}

/* The options with the model's own folder where none is given. */
static OnnxReadOptions
with_folder(Arena *arena, const char *path, const OnnxReadOptions *options)
{
	OnnxReadOptions full = options ? *options : (OnnxReadOptions){0};
	if (!full.external_folder && strcmp(path, "-") != 0)
		full.external_folder = file_folder(arena, path);
	return full;
}

Graph *
onnx_read(Arena *arena, const char *path, const OnnxReadOptions *options)
{
	OnnxReadOptions full = with_folder(arena, path, options);
	bool is_mapped;
	Bytes bytes = file_map_or_read(arena, path, &is_mapped);
	return read_model(arena, path, bytes, is_mapped, &full);
}

/* ---- all obstacles ---- */

static void
check_model(void *arg)
{
	Import *import = arg;
	import_model(import, file_map_or_read(import->arena, import->file, &import->is_mapped));
}

int
onnx_obstacles(Arena *arena, const char *path, const OnnxReadOptions *options, const Failure **list)
{
	FailureVec obstacles = {0};
	Arena *scratch = arena_new_in(arena, "looking for obstacles"); /* the model goes again */
	OnnxReadOptions full = with_folder(scratch, path, options);
	Import import = {
		.arena = scratch, .kept = scratch, .options = &full, .file = path, .obstacles = &obstacles};
	Failure failure;
	if (!try_run(check_model, &import, &failure))
		vec_push(scratch, &obstacles, failure);
	*list = arena_memdup(arena, obstacles.data, (size_t)obstacles.count * sizeof **list);
	arena_reset(scratch);
	return obstacles.count;
}
