/* Drafts: nodes on their way into the graph (import.h). What rows of upgrade.c do to them, and the
 * last step, where a draft is checked against the operator's row and becomes a node.
 */
#include <stdio.h>
#include <string.h>

#include "graph/infer.h"
#include "onnx/import.h"

/* ---- attributes ---- */

/* An attribute that must be of a kind when it is there. */
static const Attr *
find_kind(const Draft *draft, const char *name, AttrKind kind)
{
	const Attr *attr = attrs_find(&draft->attrs, name);
	if (attr && attr->kind != kind)
		draft_fail(draft, "attribute %s is of kind %s, expected %s", name,
		           attr_kind_name(attr->kind), attr_kind_name(kind));
	return attr;
}

int64_t
draft_int(const Draft *draft, const char *name, int64_t fallback)
{
	const Attr *attr = find_kind(draft, name, ATTR_INT);
	return attr ? attr->i : fallback;
}

float
draft_float(const Draft *draft, const char *name, float fallback)
{
	const Attr *attr = find_kind(draft, name, ATTR_FLOAT);
	return attr ? attr->f : fallback;
}

const char *
draft_string(const Draft *draft, const char *name, const char *fallback)
{
	const Attr *attr = find_kind(draft, name, ATTR_STRING);
	return attr ? attr->s : fallback;
}

const int64_t *
draft_ints(const Draft *draft, const char *name, int64_t *count)
{
	static const int64_t none;
	const Attr *attr = find_kind(draft, name, ATTR_INTS);
	*count = attr ? attr->count : 0;
	return attr ? (attr->ints ? attr->ints : &none) : NULL;
}

void
draft_set_int(Draft *draft, const char *name, int64_t value)
{
	attrs_set(draft->import->arena, &draft->attrs,
	          (Attr){.name = name, .kind = ATTR_INT, .i = value});
}

void
draft_set_string(Draft *draft, const char *name, const char *value)
{
	Attr attr = {.name = name, .kind = ATTR_STRING, .s = value, .count = (int64_t)strlen(value)};
	attrs_set(draft->import->arena, &draft->attrs, attr);
}

/* ---- inputs and outputs ---- */

Value *
draft_input(const Draft *draft, int index)
{
	return index < draft->inputs.count ? draft->inputs.data[index] : NULL;
}

int
draft_rank(const Draft *draft, int index)
{
	const Value *value = draft_input(draft, index);
	return value && value->type.kind == TYPE_TENSOR ? value->type.rank : -1;
}

DType
draft_dtype(const Draft *draft, int index)
{
	const Value *value = draft_input(draft, index);
	return value && value->type.kind == TYPE_TENSOR ? value->type.dtype : DT_NONE;
}

void
draft_set_input(Draft *draft, int index, Value *value)
{
	while (draft->inputs.count <= index)
		vec_push(draft->import->arena, &draft->inputs, NULL);
	draft->inputs.data[index] = value;
}

bool
draft_wants(const Draft *draft, int output)
{
	return output < draft->outputs.count && *draft->outputs.data[output];
}

void
draft_cut_outputs(Draft *draft, int count)
{
	if (draft->outputs.count > count)
		draft->outputs.count = count;
}

/* ---- helpers in front ---- */

/* A name for a value that the model has no name for: "conv1_out.axes". */
static const char *
helper_name(const Draft *draft, const char *base)
{
	const char *first = "";
	for (int i = 0; i < draft->outputs.count && !*first; i++)
		first = draft->outputs.data[i];
	return arena_printf(draft->import->arena, "%s.%s", import_name(draft->import, first), base);
}

Value *
draft_constant(Draft *draft, const char *base, const Array *data)
{
	return graph_constant(draft->import->graph, helper_name(draft, base), data);
}

Value *
draft_ints_constant(Draft *draft, const char *base, int64_t count, const int64_t *values)
{
	return draft_constant(draft, base, array_vector_i64(draft->import->kept, count, values));
}

Value *
draft_number(Draft *draft, const char *base, DType type, double value)
{
	Array *array = array_new(draft->import->kept, type, 0, NULL);
	dtype_store_f64(type, array->data, 0, value);
	return draft_constant(draft, base, array);
}

typedef struct InferJob {
	Graph *graph;
	Node *node;
} InferJob;

static void
infer_node(void *arg)
{
	InferJob *job = arg;
	node_infer(job->graph, job->node);
}

/* Give the outputs types. Inference needs those of all inputs, and may have to wait for values that
 * are only known at run time: then outputs stay unknown, except that a list of obstacles says so.
 */
static void
infer_types(const Draft *draft, Node *node)
{
	const FailureVec *obstacles = draft->import->obstacles;
	if (node->nregion && obstacles && obstacles->count)
		return;
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && node->inputs[i]->type.kind == TYPE_UNKNOWN)
			return;
	InferJob job = {draft->import->graph, node};
	Failure failure;
	if (try_run(infer_node, &job, &failure))
		return;
	node->is_waiting = true;
	if (failure.kind != FAIL_UNSUPPORTED || obstacles)
		fail_again(&failure);
}

static void
set_origin(const Draft *draft, Node *node)
{
	const char *origin = draft->origin ? draft->origin : draft->loc.node;
	if (origin && *origin)
		vec_push(draft->import->arena, &node->origins, origin);
}

static Node *
add_helper(Draft *draft, const char *op, int ninput, Value *const *inputs, int nattr,
           const Attr *attrs, const char *output)
{
	Node *node = node_new(draft->region, NULL, op, &draft->loc, ninput, inputs, 1, &output);
	for (int i = 0; i < nattr; i++)
		node_add_attr(node, &attrs[i]);
	set_origin(draft, node);
	infer_types(draft, node);
	return node;
}

Value *
draft_emit(Draft *draft, const char *op, int ninput, Value *const *inputs, int nattr,
           const Attr *attrs)
{
	const char *name = helper_name(draft, op);
	return add_helper(draft, op, ninput, inputs, nattr, attrs, name)->outputs[0];
}

void
draft_after(Draft *draft, int output, const char *op, Value *second, Attr attr)
{
	vec_push(draft->import->arena, &draft->after, (DraftAfter){output, op, second, attr});
}

/* ---- into the graph ---- */

static void
check_inputs(const Draft *draft, const OpInfo *op)
{
	for (int i = 0; i < draft->inputs.count; i++) {
		const ParamSpec *param = op_input(op, i);
		if (!param)
			draft_fail(draft, "%d inputs, at most %d are expected", draft->inputs.count,
			           op->ninput);
		if (!draft->inputs.data[i] && !param->optional && !param->variadic)
			draft_fail(draft, "input %d (%s) is absent", i, param->name);
	}
	for (int i = draft->inputs.count; i < op->ninput; i++)
		if (!op->inputs[i].optional && !op->inputs[i].variadic)
			draft_fail(draft, "input %d (%s) is missing", i, op->inputs[i].name);
	if (draft->outputs.count > 0 && !op_output(op, draft->outputs.count - 1))
		draft_fail(draft, "%d outputs, at most %d are expected", draft->outputs.count, op->noutput);
}

/* Vectors of one element for the scalars that models give in their place. */
static void
make_vectors(Draft *draft, const OpInfo *op)
{
	static const int64_t axis;
	for (int i = 0; i < draft->inputs.count; i++) {
		const ParamSpec *param = op_input(op, i);
		if (!param || !param->takes_scalar || draft_rank(draft, i) != 0)
			continue;
		Value *inputs[] = {draft_input(draft, i), draft_ints_constant(draft, "axes", 1, &axis)};
		draft_set_input(draft, i, draft_emit(draft, "Unsqueeze", 2, inputs, 0, NULL));
	}
}

static const DraftGraph *
find_graph(const Draft *draft, const char *name)
{
	for (int i = 0; i < draft->graphs.count; i++)
		if (strcmp(draft->graphs.data[i].name, name) == 0)
			return &draft->graphs.data[i];
	return NULL;
}

static void
check_attrs(const Draft *draft, const OpInfo *op)
{
	for (int i = 0; i < draft->attrs.count; i++) {
		const Attr *attr = &draft->attrs.data[i];
		const AttrSpec *spec = op_attr(op, attr->name);
		if (!spec)
			draft_fail(draft, "unknown attribute '%s' (opset %lld)", attr->name,
			           (long long)draft->version);
		if (spec->kind != (int)attr->kind)
			draft_fail(draft, "attribute %s is of kind %s, expected %s", attr->name,
			           attr_kind_name(attr->kind), attr_kind_name((AttrKind)spec->kind));
	}
	for (int i = 0; i < draft->graphs.count; i++) {
		const AttrSpec *spec = op_attr(op, draft->graphs.data[i].name);
		if (!spec || spec->kind != ATTR_GRAPH)
			draft_fail(draft, "unknown graph attribute '%s'", draft->graphs.data[i].name);
	}
	for (int i = 0; i < op->nattr; i++) {
		const char *name = op->attrs[i].name;
		if (op->attrs[i].required && !attrs_find(&draft->attrs, name) && !find_graph(draft, name))
			draft_fail(draft, "attribute %s is missing", name);
	}
}

/* Whether an output without a name may be cut off; of Split, If, Loop and Scan the number of
 * outputs says something. */
static bool
is_left_out(const Draft *draft, const OpInfo *op, int index)
{
	const ParamSpec *param = op_output(op, index);
	return !*draft->outputs.data[index] && param && !param->variadic;
}

/* Whether a node of draft->after takes over the name of an output. */
static bool
is_wrapped(const Draft *draft, int output)
{
	for (int i = 0; i < draft->after.count; i++)
		if (draft->after.data[i].output == output)
			return true;
	return false;
}

static const char **
output_names(const Draft *draft)
{
	const char **names = NEW_N(draft->import->arena, const char *, draft->outputs.count + 1);
	for (int i = 0; i < draft->outputs.count; i++) {
		if (!*draft->outputs.data[i])
			continue;
		const char *name = import_name(draft->import, draft->outputs.data[i]);
		names[i] = is_wrapped(draft, i)
		               ? arena_printf(draft->import->arena, "%s.%s", name, draft->op)
		               : name;
	}
	return names;
}

/* Add the nodes behind: each takes what the one before made of its output. */
static void
add_after(Draft *draft, Value **results)
{
	for (int i = 0; i < draft->after.count; i++) {
		const DraftAfter *after = &draft->after.data[i];
		int k = after->output;
		if (k >= draft->outputs.count || !results[k])
			continue;
		Value *inputs[] = {results[k], after->second};
		const char *name = import_name(draft->import, draft->outputs.data[k]);
		results[k] = add_helper(draft, after->op, after->second ? 2 : 1, inputs,
		                        after->attr.kind != ATTR_NONE, &after->attr, name)
		                 ->outputs[0];
	}
}

static void
add_regions(Draft *draft, Node *node, const Scope *scope)
{
	for (int i = 0; i < node->op->nattr; i++) {
		const DraftGraph *graph = find_graph(draft, node->op->attrs[i].name);
		if (!graph)
			continue;
		Region *region = region_new(node, graph->name);
		import_region(draft->import, region, scope, graph->proto, &draft->loc);
	}
}

/* What could not be inferred may be in the model's value_info. */
static void
believe_types(const Draft *draft, Node *node)
{
	Import *import = draft->import;
	for (int i = 0; i < draft->outputs.count; i++) /* inference may have added some */
		if (node->outputs[i] && !import->call && import->region_depth == 0)
			type_adopt(import, node->outputs[i],
			           map_find(&import->value_info, draft->outputs.data[i]), &draft->loc);
}

void
draft_finish(Draft *draft, Scope *scope)
{
	Import *import = draft->import;
	const OpInfo *op = known_row(import, draft->domain, draft->op);
	bool is_open = import->options && import->options->is_open;
	if (!op && !is_open)
		unknown_fail(draft);
	if (!op)
		op = unknown_row(draft);
	while (op->code && draft->inputs.count > 0 && !draft->inputs.data[draft->inputs.count - 1])
		draft->inputs.count--;
	while (op->code && draft->outputs.count > 0 && is_left_out(draft, op, draft->outputs.count - 1))
		draft->outputs.count--;
	check_inputs(draft, op);
	make_vectors(draft, op);
	check_attrs(draft, op);
	Node *node = node_new_row(draft->region, NULL, op, &draft->loc, draft->inputs.count,
	                          draft->inputs.data, draft->outputs.count, output_names(draft));
	for (int i = 0; i < draft->attrs.count; i++)
		node_add_attr(node, &draft->attrs.data[i]);
	set_origin(draft, node);
	add_regions(draft, node, scope);
	infer_types(draft, node);
	believe_types(draft, node);
	Value **results =
		arena_memdup(import->arena, node->outputs, (size_t)node->noutput * sizeof *node->outputs);
	add_after(draft, results);
	for (int i = 0; i < draft->outputs.count; i++)
		if (results[i])
			scope_define(import, scope, draft->outputs.data[i], results[i], &draft->loc);
}
