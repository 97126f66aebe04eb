/* Infer functions of operators with regions: If, Loop, Scan, fused.
 *
 * A state of a Loop whose dim changes from one iteration to the next gets a symbol in the body,
 * bound on each entry; outside, what a region's own symbols decide is an unknown dim of the result.
 */
#include <stdio.h>
#include <string.h>

#include "graph/inner.h"

/* ---- symbols of regions ---------------------------------------------------------------------- */

/* Whether a scalar depends on a symbol that gets its value inside a region. */
static bool
is_defined_inside(const Graph *graph, const Region *region, const Expr *e)
{
	return region_encloses(region, symbols_home(graph, e));
}

/* A dim of a region's result as seen from outside. */
static const Dim *
outside_dim(Infer *infer, Region *region, const Dim *dim, int output, int axis)
{
	dim = region_leave_dim(region, dim);
	if (is_defined_inside(infer->graph, region, dim))
		return infer_output_dim(infer, output, axis);
	return dim;
}

/* ---- merging --------------------------------------------------------------------------------- */

static void
fail_kinds(const Infer *infer, int output)
{
	infer_fail(infer, "output %d has different types in the regions", output);
}

/* One type for output `output` that holds values of both. */
static Type
merge_types(Infer *infer, int output, const Type *a, const Type *b)
{
	if (a->kind != b->kind || (a->kind == TYPE_TENSOR && a->dtype != b->dtype))
		fail_kinds(infer, output);
	if (a->kind != TYPE_TENSOR)
		return *a;
	if (a->rank != b->rank)
		return type_tensor(a->dtype, -1, NULL);
	const Dim **dims = NEW_N(infer->graph->arena, const Dim *, a->rank < 0 ? 0 : a->rank);
	for (int i = 0; i < a->rank; i++)
		dims[i] = a->dims[i] == b->dims[i] ? a->dims[i] : infer_output_dim(infer, output, i);
	return type_tensor(a->dtype, a->rank, dims);
}

/* In an open graph a region's result may be of no known type; then so is what the node gives. */
static void
wait_for_type(const Infer *infer, const Type *result)
{
	if (result->kind == TYPE_UNKNOWN)
		fail_unsupported(&infer->node->loc, "the type of a result of its region is not known");
}

/* The type of a region's result for the node's output, perhaps with a leading dim. */
static Type
outside_type(Infer *infer, Region *region, const Type *type, int output, const Dim *lead)
{
	wait_for_type(infer, type);
	if (type->kind != TYPE_TENSOR || type->rank < 0)
		return *type;
	int shift = lead != NULL;
	const Dim **dims = NEW_N(infer->graph->arena, const Dim *, type->rank + shift);
	if (lead)
		dims[0] = lead;
	for (int i = 0; i < type->rank; i++)
		dims[i + shift] = outside_dim(infer, region, type->dims[i], output, i + shift);
	return type_tensor(type->dtype, type->rank + shift, dims);
}

/* What is known of a region's result and does not depend on the region's own symbols. */
static void
pass_known(Infer *infer, Region *region, int output)
{
	const Known *known = value_known(infer->graph, region->results[output]);
	if (!known)
		return;
	const Dim **values = NEW_N(infer->graph->arena, const Dim *, known->count);
	for (int i = 0; i < known->count; i++) {
		const Dim *value = region_leave_dim(region, known->value[i]);
		if (value && !is_defined_inside(infer->graph, region, value))
			values[i] = value;
	}
	infer_set_known(infer, output, known->count, values);
}

/* The region that an If runs; NULL: decided at run time. */
static Region *
side_taken(const Infer *infer, Region *const *sides)
{
	const Known *condition = infer_known(infer, 0);
	int64_t value;
	if (!condition || condition->count != 1 || !condition->value[0] ||
	    !dim_is_const(condition->value[0], &value))
		return NULL;
	return sides[value ? 0 : 1];
}

void
infer_If(Infer *infer)
{
	const Node *node = infer->node;
	Region *sides[2] = {node_region(infer->node, "then_branch"),
	                    node_region(infer->node, "else_branch")};
	for (int i = 0; i < 2; i++) {
		region_infer(infer->graph, sides[i]);
		if (sides[i]->nparam > 0)
			infer_fail(infer,
			           "%s has formal inputs, expected none: it uses the values around the node",
			           sides[i]->name);
		if (sides[i]->nresult != node->noutput)
			infer_fail(infer, "region %s gives %d results, expected %d", sides[i]->name,
			           sides[i]->nresult, node->noutput);
	}
	Region *taken = side_taken(infer, sides);
	for (int i = 0; i < node->noutput; i++) {
		if (!infer_wants(infer, i))
			continue;
		Region *first = taken ? taken : sides[0], *second = taken ? taken : sides[1];
		Type a = outside_type(infer, first, &first->results[i]->type, i, NULL);
		Type b = outside_type(infer, second, &second->results[i]->type, i, NULL);
		Type both = merge_types(infer, i, &a, &b);
		infer_set_type(infer, i, &both);
		if (taken)
			pass_known(infer, taken, i);
	}
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* Widen a parameter to hold the result that comes back to it; false when it does already. */
static bool
widen_param(Infer *infer, Value *param, const Type *back)
{
	Type *type = &param->type;
	if (type->kind == TYPE_OPTIONAL)
		return false; /* holds what comes back, and nothing at first */
	wait_for_type(infer, back);
	if (type->kind != back->kind || (type->kind == TYPE_TENSOR && type->dtype != back->dtype))
		infer_fail(infer, "state %%%s changes its type from one iteration to the next",
		           param->name);
	if (type->kind != TYPE_TENSOR || type->rank < 0)
		return false;
	if (type->rank != back->rank) {
		*type = type_tensor(type->dtype, -1, NULL);
		return true;
	}
	bool has_changed = false;
	const Dim **dims =
		arena_memdup(infer->graph->arena, type->dims, (size_t)type->rank * sizeof *type->dims);
	for (int i = 0; i < type->rank; i++) {
		if (dims[i] == back->dims[i])
			continue;
		const Dim *wide = infer_value_dim(infer, param, i);
		has_changed |= dims[i] != wide;
		dims[i] = wide;
	}
	type->dims = dims;
	return has_changed;
}

/* Infer a body until its states have the types they begin an iteration with. */
static void
infer_states(Infer *infer, Region *body, int first_param, int first_result, int count)
{
	bool has_changed = true;
	int assumed = infer->graph->assumptions.count;
	while (has_changed) {
		has_changed = false;
		infer->graph->assumptions.count = assumed; /* of states that were too narrow */
		region_infer(infer->graph, body);
		for (int i = 0; i < count; i++)
			has_changed |= widen_param(infer, body->params[first_param + i],
			                           &body->results[first_result + i]->type);
	}
}

/* The trip count where nothing but m stops the loop. */
static const Dim *
trip_count(Infer *infer, const Region *body, int output)
{
	const Known *m = infer_known(infer, 0), *cond = infer_known(infer, 1);
	Value *stop = body->results[0];
	const Known *again = value_known(infer->graph, stop);
	bool is_always =
		(!infer_input(infer, 1) || (cond && cond->value[0] && dim_is(cond->value[0], 1)));
	bool is_passed = stop->def == NULL && stop == body->params[1];
	bool goes_on = is_passed || (again && again->value[0] && dim_is(again->value[0], 1));
	if (m && m->value[0] && is_always && goes_on)
		return m->value[0];
	return infer_output_dim(infer, output, 0);
}

/* What an iteration takes or gives begins with a byte. */
static void
check_slices(Infer *infer, DType type)
{
	if (dtype_bits(type) > 0 && dtype_bits(type) < 8)
		infer_fail(infer,
		           "an iteration takes or gives elements of %s, which share bytes: cast to i8",
		           dtype_name(type));
}

void
infer_Loop(Infer *infer)
{
	const Node *node = infer->node;
	Region *body = node_region(infer->node, "body");
	int states = node->ninput - 2, scans = node->noutput - states;
	if (states < 0 || scans < 0 || body->nparam != states + 2 ||
	    body->nresult != 1 + states + scans)
		infer_fail(infer, "the body has %d parameters and %d results for %d states and %d scans",
		           body->nparam, body->nresult, states < 0 ? 0 : states, scans < 0 ? 0 : scans);
	body->params[0]->type = type_tensor(DT_I64, 0, NULL);
	body->params[1]->type = type_tensor(DT_BOOL, 0, NULL);
	for (int i = 0; i < states; i++)
		if (infer_input(infer, 2 + i))
			body->params[2 + i]->type = region_enter_type(body, infer_input(infer, 2 + i));
	infer_states(infer, body, 2, 1, states);
	for (int i = 0; i < node->noutput; i++) {
		if (!infer_wants(infer, i))
			continue;
		bool is_state = i < states && body->params[2 + i]->type.kind != TYPE_OPTIONAL;
		const Type *inner = is_state ? &body->params[2 + i]->type : &body->results[1 + i]->type;
		if (i >= states)
			check_slices(infer, inner->dtype);
		const Dim *lead = i < states ? NULL : trip_count(infer, body, i);
		Type type = outside_type(infer, body, inner, i, lead);
		infer_set_type(infer, i, &type);
	}
}

/* ---- Scan ------------------------------------------------------------------------------------ */

static int64_t
scan_axis(const Infer *infer, const char *attr, int index, int rank)
{
	int64_t count;
	const int64_t *axes = attr_ints(infer->node, attr, &count);
	return count > index ? infer_axis(infer, axes[index], rank) : 0;
}

/* A parameter that sees one slice of scan input `index`. */
static void
set_slice(Infer *infer, Value *param, int index, int input, const Dim **trips)
{
	const Type *x = infer_input(infer, input);
	if (!x || x->rank == 0)
		infer_fail(infer, "scan input %d has no axis to scan", index);
	check_slices(infer, x->dtype);
	if (x->rank < 0) {
		param->type = type_tensor(x->dtype, -1, NULL);
		return;
	}
	int axis = (int)scan_axis(infer, "scan_input_axes", index, x->rank);
	const Dim **dims = NEW_N(infer->graph->arena, const Dim *, x->rank);
	for (int i = 0, to = 0; i < x->rank; i++)
		if (i != axis)
			dims[to++] = x->dims[i];
	Type slice = type_tensor(x->dtype, x->rank - 1, dims);
	param->type = region_enter_type(param->region, &slice);
	*trips = *trips ? infer_equal(infer, *trips, x->dims[axis], "lengths of the scan inputs")
	                : x->dims[axis];
}

/* A result of each step, stacked along its scan axis. */
static void
set_stacked(Infer *infer, Region *body, int index, int output, const Dim *trips)
{
	const Type *inner = &body->results[output]->type;
	if (inner->kind != TYPE_TENSOR || inner->rank < 0) {
		Type type = outside_type(infer, body, inner, output, NULL);
		infer_set_type(infer, output, &type);
		return;
	}
	check_slices(infer, inner->dtype);
	int axis = (int)scan_axis(infer, "scan_output_axes", index, inner->rank + 1);
	const Dim **dims = NEW_N(infer->graph->arena, const Dim *, inner->rank + 1);
	for (int i = 0, from = 0; i <= inner->rank; i++)
		dims[i] = i == axis ? trips : outside_dim(infer, body, inner->dims[from++], output, i);
	infer_set(infer, output, inner->dtype, inner->rank + 1, dims);
}

void
infer_Scan(Infer *infer)
{
	const Node *node = infer->node;
	Region *body = node_region(infer->node, "body");
	int scans = (int)attr_int(node, "num_scan_inputs"), states = node->ninput - scans;
	const Dim *trips = NULL;
	if (scans < 1 || states < 0 || body->nparam != node->ninput || body->nresult != node->noutput ||
	    states > node->noutput)
		infer_fail(infer, "the body has %d parameters and %d results for %d inputs and %d outputs",
		           body->nparam, body->nresult, node->ninput, node->noutput);
	for (int i = 0; i < states; i++)
		body->params[i]->type = region_enter_type(body, infer_input(infer, i));
	for (int i = 0; i < scans; i++)
		set_slice(infer, body->params[states + i], i, states + i, &trips);
	infer_states(infer, body, 0, 0, states);
	for (int i = 0; i < node->noutput; i++) {
		if (!infer_wants(infer, i))
			continue;
		if (i >= states) {
			set_stacked(infer, body, i - states, i, trips);
			continue;
		}
		Type type = outside_type(infer, body, &body->params[i]->type, i, NULL);
		infer_set_type(infer, i, &type);
	}
}

/* ---- fused ----------------------------------------------------------------------------------- */

void
infer_fused(Infer *infer)
{
	const Node *node = infer->node;
	if (node->nregion != 1 || node->regions[0]->nresult != node->noutput)
		infer_fail(infer, "a group has one region with a result for each output");
	Region *region = node->regions[0];
	region_infer(infer->graph, region);
	for (int i = 0; i < node->noutput; i++) {
		infer_set_type(infer, i, &region->results[i]->type);
		if (node->outputs[i])
			node->outputs[i]->known = region->results[i]->known;
	}
}
