/* ModelProto -> Graph: header, inputs, initializers, nodes in order, regions, outputs.
 *
 * The walk (walk.h) has bounded the bytes; here the model's meaning is checked: names defined
 * before use and once, operators and attributes known to ops.def, sizes of data. Every node is
 * inferred as it enters, so that a wrong rank is reported at the node that has it and the rows of
 * upgrade.c know the ranks of their inputs.
 *
 * With import->obstacles set, a failing node is noted instead, and its outputs become values of
 * unknown type, so that one run lists everything that is in the way.
 */
#include <string.h>

#include "onnx/import.h"
#include "graph/infer.h"

const char *
domain_normal(const char *domain)
{
	return !domain || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

/* ---- names ---- */

const Meaning *
scope_find(const Scope *scope, const char *name)
{
	for (; scope; scope = scope->outer) {
		const Meaning *meaning = map_find(&scope->meanings, name);
		if (meaning)
			return meaning;
	}
	return NULL;
}

void
scope_share(Import *import, Scope *scope, const char *name, const Meaning *meaning, const Loc *loc)
{
	if (map_find(&scope->meanings, name))
		fail(loc, "value '%s' is defined twice", name);
	map_set(&scope->meanings, name, arena_memdup(import->arena, meaning, sizeof *meaning));
}

void
scope_define(Import *import, Scope *scope, const char *name, Value *value, const Loc *loc)
{
	const Meaning meaning = {.value = value};
	scope_share(import, scope, name, &meaning, loc);
}

const char *
import_name(const Import *import, const char *name)
{
	if (!import->call)
		return name;
	const char *output = map_find(&import->call->outputs, name);
	return output ? output : arena_printf(import->arena, "%s/%s", import->call->name, name);
}

/* The same opset twice, as some exporters write it, is valid. */
void
opsets_check(const Import *import, size_t count, Onnx__OperatorSetIdProto *const *opsets)
{
	Map seen = {.arena = import->arena};
	Loc loc = {.file = import->file};
	for (size_t i = 0; i < count; i++) {
		const char *domain = domain_normal(opsets[i]->domain);
		const Onnx__OperatorSetIdProto *old = map_find(&seen, domain);
		if (old && old->version != opsets[i]->version)
			fail(&loc, "opsets %lld and %lld of domain '%s' are imported, expected one",
			     (long long)old->version, (long long)opsets[i]->version, domain);
		map_set(&seen, domain, opsets[i]);
	}
}

int64_t
import_version(const Import *import, const char *domain)
{
	size_t count = import->model->n_opset_import;
	Onnx__OperatorSetIdProto *const *opsets = import->model->opset_import;
	if (import->call && import->call->function->n_opset_import > 0) {
		count = import->call->function->n_opset_import;
		opsets = import->call->function->opset_import;
	}
	for (size_t i = 0; i < count; i++)
		if (strcmp(domain_normal(opsets[i]->domain), domain) == 0)
			return opsets[i]->version;
	if (strcmp(domain, "com.microsoft") == 0)
		return 1;                        /* its only version, which ONNX Runtime takes unsaid */
	return *domain || count > 0 ? 0 : 1; /* files of IR 1 and 2 have no such list */
}

/* ---- nodes ---- */

static void
take_operands(Draft *draft, const Onnx__NodeProto *node, const Scope *scope)
{
	Arena *arena = draft->import->arena;
	for (size_t i = 0; i < node->n_input; i++) {
		const Meaning *meaning = *node->input[i] ? scope_find(scope, node->input[i]) : NULL;
		if (*node->input[i] && !meaning)
			draft_fail(draft, "input '%s' is not defined", node->input[i]);
		vec_push(arena, &draft->inputs, meaning ? meaning->value : NULL);
		draft->has_sequence |= meaning && meaning->sequence;
	}
	for (size_t i = 0; i < node->n_output; i++)
		vec_push(arena, &draft->outputs, node->output[i]);
}

static void
take_attrs(Draft *draft, const Onnx__NodeProto *node)
{
	Import *import = draft->import;
	Map seen = {.arena = import->arena};
	for (size_t i = 0; i < node->n_attribute; i++) {
		const char *name = text_of(node->attribute[i]->name);
		const Onnx__AttributeProto *proto = attr_resolve(import, node->attribute[i], &draft->loc);
		if (!*name)
			draft_fail(draft, "an attribute without a name");
		if (map_find(&seen, name))
			draft_fail(draft, "attribute %s is given twice", name);
		map_set(&seen, name, draft);
		if (!proto)
			continue;
		if (attr_type(proto) == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH) {
			if (!proto->g)
				draft_fail(draft, "attribute %s has no value of its type", name);
			vec_push(import->arena, &draft->graphs, (DraftGraph){name, proto->g});
			continue;
		}
		Attr attr = attr_import(import, proto, &draft->loc);
		attr.name = name;
		vec_push(import->arena, &draft->attrs, attr);
	}
}

/* The value of a Constant, whichever attribute holds it. */
static const Array *
constant_data(const Draft *draft)
{
	Arena *arena = draft->import->kept;
	if (draft->attrs.count != 1)
		draft_fail(draft, "%d attributes, exactly one is expected", draft->attrs.count);
	const Attr *attr = &draft->attrs.data[0];
	switch (attr->kind) {
	case ATTR_TENSOR:
		return attr->tensor;
	case ATTR_INT:
		return array_scalar_i64(arena, attr->i);
	case ATTR_INTS:
		return array_vector_i64(arena, attr->count, attr->ints);
	case ATTR_FLOAT:
		return array_from(arena, DT_F32, 0, NULL, &attr->f);
	case ATTR_FLOATS:
		return array_from(arena, DT_F32, 1, &attr->count, attr->floats);
	case ATTR_STRING:
		return array_from(arena, DT_STRING, 0, NULL, &attr->s);
	case ATTR_STRINGS:
		return array_from(arena, DT_STRING, 1, &attr->count, attr->strings);
	default:
		draft_fail(draft, "unknown attribute '%s'", attr->name);
	}
}

static void
import_constant(const Draft *draft, Scope *scope)
{
	if (draft->inputs.count != 0 || draft->outputs.count != 1)
		draft_fail(draft, "a constant has no inputs and one output");
	const char *name = draft->outputs.data[0];
	Value *value = graph_constant(draft->import->graph, import_name(draft->import, name),
	                              constant_data(draft));
	scope_define(draft->import, scope, name, value, &draft->loc);
}

const char *
node_name(const Onnx__NodeProto *node)
{
	const char *name = text_of(node->name);
	for (size_t i = 0; i < node->n_output && !*name; i++)
		name = node->output[i];
	return name;
}

typedef struct NodeJob {
	Import *import;
	Region *region;
	Scope *scope;
	const Onnx__NodeProto *node;
} NodeJob;

static Loc
node_loc(const Import *import, const Onnx__NodeProto *node)
{
	const char *name = node_name(node);
	if (import->call)
		name = arena_printf(import->arena, "%s/%s", import->call->name, name);
	return (Loc){.file = import->file, .node = name, .op = text_of(node->op_type)};
}

static void
import_node(void *arg)
{
	NodeJob *job = arg;
	Import *import = job->import;
	const Onnx__NodeProto *proto = job->node;
	Draft draft = {
		.import = import,
		.region = job->region,
		.loc = node_loc(import, proto),
		.origin = import->call ? import->call->origin : NULL,
		.op = text_of(proto->op_type),
		.domain = domain_normal(proto->domain),
	};
	work_begin(&draft.loc, NULL); /* until the next node, or the end */
	if (!*draft.op)
		draft_fail(&draft, "the node names no operator");
	const Onnx__FunctionProto *function = function_find(import, proto);
	if (function) {
		function_inline(import, job->region, job->scope, function, proto, &draft.loc);
		return;
	}
	draft.version = import_version(import, draft.domain);
	if (draft.version <= 0)
		draft_fail(&draft, "the model imports no opset of domain '%s'", draft.domain);
	take_operands(&draft, proto, job->scope);
	take_attrs(&draft, proto);
	if (strcmp(draft.op, "Constant") == 0 && !*draft.domain) {
		import_constant(&draft, job->scope);
		return;
	}
	draft_upgrade(&draft);
	if (branch_inline(&draft, job->scope) || sequence_import(&draft, job->scope, proto))
		return;
	draft_finish(&draft, job->scope);
	if (job->region->last)
		notes_of_node(import, job->region->last, proto);
}

/* Note a failure once, and go on with outputs of unknown type. */
static void
note_obstacle(Import *import, const NodeJob *job, const Failure *failure)
{
	bool is_known = false;
	for (int i = 0; i < import->obstacles->count; i++)
		is_known |= strcmp(import->obstacles->data[i].text, failure->text) == 0;
	if (!is_known)
		vec_push(import->arena, import->obstacles, *failure);
	for (size_t i = 0; i < job->node->n_output; i++) {
		const char *name = job->node->output[i];
		if (*name && !map_find(&job->scope->meanings, name))
			scope_define(import, job->scope, name, region_param(job->region, "unknown", NULL),
			             NULL);
	}
}

void
import_nodes(Import *import, Region *region, Scope *scope, size_t count,
             Onnx__NodeProto *const *nodes)
{
	const int *order = import_order(import, count, nodes);
	Work work = work_now();
	for (size_t i = 0; i < count; i++) {
		NodeJob job = {import, region, scope, nodes[order[i]]};
		const Call *call = import->call;
		int depth = import->region_depth;
		Failure failure;
		if (!import->obstacles) {
			import_node(&job);
		} else if (!try_run(import_node, &job, &failure)) {
			import->call = call;
			import->region_depth = depth;
			note_obstacle(import, &job, &failure);
		}
	}
	work_end(work);
}

/* ---- graphs ---- */

static bool
is_fixed(const Import *import, const char *name)
{
	for (int i = 0; import->options && i < import->options->nfixed; i++)
		if (strcmp(import->options->fixed[i].input, name) == 0)
			return true;
	return false;
}

/* Define an initializer; one that is an input of the model too is that input's default, for which
 * another value may be fixed. */
static void
define_constant(Import *import, Scope *scope, const char *name, const Array *data, const Loc *loc)
{
	const Meaning *input = scope->outer ? NULL : map_find(&scope->meanings, name);
	if (!input) {
		Value *value = graph_constant(import->graph, import_name(import, name), data);
		scope_define(import, scope, name, value, loc);
		return;
	}
	if (input->value->constant && is_fixed(import, name))
		return;
	if (input->value->def || input->value->constant)
		fail(loc, "value '%s' is defined twice", name);
	if (!type_takes(&input->value->type, data)) {
		Type type = type_of_array(import->graph->ctx, data);
		fail(loc, "input '%s' is declared as %s, and its default (the initializer) is %s", name,
		     type_text(import->arena, &input->value->type), type_text(import->arena, &type));
	}
	input->value->constant = data;
	input->value->is_default = true;
	input->value->weight = input->value->result;
}

void
import_initializers(Import *import, Scope *scope, const Onnx__GraphProto *proto)
{
	for (size_t i = 0; i < proto->n_initializer; i++) {
		const char *name = text_of(proto->initializer[i]->name);
		Loc loc = {.file = import->file};
		if (!*name)
			fail(&loc, "an initializer without a name");
		const Array *data = tensor_import(import, proto->initializer[i], &loc);
		define_constant(import, scope, name, data, &loc);
	}
	for (size_t i = 0; i < proto->n_sparse_initializer; i++) {
		const Onnx__SparseTensorProto *sparse = proto->sparse_initializer[i];
		const char *name = sparse->values ? text_of(sparse->values->name) : "";
		Loc loc = {.file = import->file};
		if (!*name)
			fail(&loc, "a sparse initializer without a name");
		define_constant(import, scope, name, sparse_import(import, sparse, &loc), &loc);
	}
}

void
import_enter(Import *import, const Loc *loc)
{
	if (++import->region_depth > IMPORT_MAX_REGIONS)
		fail_unsupported(loc, "graphs nested deeper than %d", IMPORT_MAX_REGIONS);
}

const Meaning *
import_result(const Scope *scope, const Onnx__GraphProto *proto, size_t index, const Loc *loc)
{
	const char *name = text_of(proto->output[index]->name);
	const Meaning *meaning = scope_find(scope, name);
	if (!meaning || (!meaning->value && !meaning->sequence))
		fail(loc, "output '%s' of graph '%s' is not computed", name, text_of(proto->name));
	return meaning;
}

void
import_results(Import *import, Region *region, const Scope *scope, const Onnx__GraphProto *proto,
               const Loc *loc)
{
	Value **results = NEW_N(import->arena, Value *, proto->n_output + 1);
	for (size_t i = 0; i < proto->n_output; i++) {
		results[i] = import_result(scope, proto, i, loc)->value;
		if (!results[i])
			fail_unsupported(loc, "output '%s' of graph '%s' is a sequence",
			                 text_of(proto->output[i]->name), text_of(proto->name));
	}
	region_set_results(region, (int)proto->n_output, results);
}

void
import_region(Import *import, Region *region, const Scope *outer, const Onnx__GraphProto *proto,
              const Loc *loc)
{
	import_enter(import, loc);
	int facts = dim_assumed(import->graph->ctx);
	Scope scope = {.outer = outer, .meanings = {.arena = import->arena}};
	for (size_t i = 0; i < proto->n_input; i++) {
		const char *name = text_of(proto->input[i]->name);
		Type type = type_import(import, proto->input[i]->type, false, loc);
		Value *value = region_param(region, import_name(import, name), &type);
		scope_define(import, &scope, name, value, loc);
	}
	import_initializers(import, &scope, proto);
	import_nodes(import, region, &scope, proto->n_node, proto->node);
	import_results(import, region, &scope, proto, loc);
	notes_of_graph(import, region, &scope, proto);
	dim_forget(import->graph->ctx, facts); /* as region_infer() */
	import->region_depth--;
}
