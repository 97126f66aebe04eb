/* If, Loop and Scan: their regions, run as often as they say. */
#include <string.h>

#include "eval/inner.h"
#include "graph/expand.h"

/* ---- slices ---------------------------------------------------------------------------------- */

/* A tensor with one axis more, at `axis`: written or read slice by slice. Bounds have up to four
 * buffers, exact tensors one. */
typedef struct Buffers {
	int count;
	char *data[4];
	size_t size[4];
	DType packed; /* of a type under a byte: data[0] by elements */
} Buffers;

static Buffers
buffers_of(const Cell *cell)
{
	Buffers b = {.packed = DT_NONE};
	if (cell->array) {
		int bits = dtype_bits(cell->array->type);
		b.data[0] = cell->array->data;
		b.size[0] = cell->array->type == DT_STRING ? sizeof(char *) : (size_t)bits / 8;
		b.packed = bits > 0 && bits < 8 ? cell->array->type : DT_NONE;
		b.count = 1;
		return b;
	}
	const BoundArray *bounds = cell->bounds;
	const struct {
		void *data;
		size_t size;
	} all[] = {{bounds->value, sizeof(double)},
	           {bounds->integer, sizeof(int64_t)},
	           {bounds->bound, sizeof(double)},
	           {bounds->undecided, 1}};
	for (int i = 0; i < 4; i++) {
		b.data[i] = all[i].data;
		b.size[i] = all[i].size;
	}
	b.count = 4;
	return b;
}

/* Move slice `index` of a whole (outer, extent, inner) to or from a part (outer, inner). */
static void
move_slice(const Cell *whole, const Cell *part, int64_t outer, int64_t extent, int64_t inner,
           int64_t index, bool is_write)
{
	Buffers w = buffers_of(whole), p = buffers_of(part);
	for (int64_t o = 0; o < outer && w.packed; o++)
		for (int64_t i = 0; i < inner; i++) {
			int64_t at = (o * extent + index) * inner + i, from = o * inner + i;
			if (is_write)
				dtype_store_f64(w.packed, w.data[0], at, dtype_load_f64(w.packed, p.data[0], from));
			else
				dtype_store_f64(w.packed, p.data[0], from, dtype_load_f64(w.packed, w.data[0], at));
		}
	for (int k = 0; k < w.count && !w.packed; k++)
		for (int64_t o = 0; w.data[k] && p.data[k] && o < outer; o++) {
			char *at = w.data[k] + (size_t)((o * extent + index) * inner) * w.size[k];
			char *from = p.data[k] + (size_t)(o * inner) * w.size[k];
			memcpy(is_write ? at : from, is_write ? from : at, (size_t)inner * w.size[k]);
		}
}

static const int64_t *
dims_of(const Cell *cell, int *rank)
{
	*rank = cell->array ? cell->array->rank : cell->bounds->rank;
	return cell->array ? cell->array->dims : cell->bounds->dims;
}

static Cell
new_cell(const Eval *eval, DType type, int rank, const int64_t *dims)
{
	Cell cell = {.memory = arena_new("slices")};
	Array *array = array_new(cell.memory, type, rank, dims);
	if (eval->mode == EVAL_exact) {
		cell.array = array;
		return cell;
	}
	BoundArray *b = bound_from_array(cell.memory, array);
	int64_t count = array_count(array);
	if (b->value)
		b->bound = NEW_N(cell.memory, double, count + 1);
	else
		b->undecided = NEW_N(cell.memory, uint8_t, count + 1);
	cell.bounds = b;
	return cell;
}

/* Slice `index` of a value along `axis`, as the value of a region's parameter. */
static void
give_slice(Eval *eval, const Value *param, const Value *value, int axis, int64_t index)
{
	const Cell *whole = eval_cell(eval, value);
	int rank, kept = 0;
	const int64_t *dims = dims_of(whole, &rank);
	int64_t part_dims[ARRAY_MAX_RANK];
	for (int d = 0; d < rank; d++)
		if (d != axis)
			part_dims[kept++] = dims[d];
	Cell part =
		new_cell(eval, whole->array ? whole->array->type : whole->bounds->type, kept, part_dims);
	move_slice(whole, &part, dims_count(axis, dims), dims[axis],
	           dims_count(rank - axis - 1, dims + axis + 1), index, false);
	eval_set_cell(eval, param, part);
}

/* Results of all iterations, one behind the other. */
typedef VEC(Cell) Slices;

/* Put slices together along a new axis; `reversed`: the first one last. */
static void
set_stacked(Eval *eval, const Value *output, const Value *result, const Slices *slices, int axis,
            bool reversed)
{
	int rank = result->type.rank;
	int64_t dims[ARRAY_MAX_RANK] = {0};
	const int64_t *part = NULL;
	Binding binding = eval_binding(eval);
	if (slices->count > 0)
		part = dims_of(&slices->data[0], &rank);
	if (rank < 0)
		fail_unsupported(NULL, "a loop without iterations gives %%%s, of unknown rank",
		                 output->name);
	axis += axis < 0 ? rank + 1 : 0;
	for (int d = 0; d < rank; d++) {
		int64_t extent = 0;
		if (part)
			extent = part[d];
		else
			dim_eval(result->type.dims[d], &binding, &extent);
		dims[d < axis ? d : d + 1] = extent;
	}
	dims[axis] = slices->count;
	Cell whole = new_cell(eval, result->type.dtype, rank + 1, dims);
	for (int i = 0; i < slices->count; i++)
		move_slice(&whole, &slices->data[i], dims_count(axis, dims), slices->count,
		           dims_count(rank - axis, dims + axis + 1), reversed ? slices->count - 1 - i : i,
		           true);
	eval_set_cell(eval, output, whole);
}

static void
free_slices(Slices *slices)
{
	for (int i = 0; i < slices->count; i++)
		arena_free(slices->data[i].memory);
}

/* ---- regions that run once ------------------------------------------------------------------- */

static void
eval_once(Eval *eval, const Node *node, const Region *region)
{
	eval_region(eval, region);
	for (int k = 0; k < node->noutput; k++)
		if (node->outputs[k])
			eval_set_cell(eval, node->outputs[k], eval_copy(eval, region->results[k]));
}

static void
eval_if(Eval *eval, const Node *node)
{
	bool is_true = eval_number(eval, node->inputs[0], &node->loc) != 0;
	eval_once(eval, node, node_region(node, is_true ? "then_branch" : "else_branch"));
}

static void
eval_fused(Eval *eval, const Node *node)
{
	eval_once(eval, node, node->regions[0]);
}

static void
eval_enter(Eval *eval, const Node *node)
{
	eval_set_cell(eval, node->outputs[0], eval_copy(eval, node->inputs[0]));
}

/* ---- Loop ------------------------------------------------------------------------------------ */

static void
give_number(Eval *eval, const Value *param, DType type, int64_t number)
{
	Array *array = array_new(eval->arena, type, param->type.rank < 0 ? 0 : param->type.rank,
	                         (const int64_t[]){1});
	dtype_store_i64(type, array->data, 0, number);
	eval_give(eval, param, array);
}

/* All states move at once: a result may be another state's parameter. */
static void
move_states(Eval *eval, int count, Value *const *to, Value *const *from)
{
	Cell *cells = NEW_N(eval->arena, Cell, count + 1);
	for (int i = 0; i < count; i++)
		cells[i] = eval_copy(eval, from[i]);
	for (int i = 0; i < count; i++)
		eval_set_cell(eval, to[i], cells[i]);
}

static double
elements_of(Eval *eval, int count, Value *const *values)
{
	double elements = 0;
	for (int i = 0; i < count; i++) {
		int rank;
		const int64_t *dims = dims_of(eval_cell(eval, values[i]), &rank);
		elements += (double)dims_count(rank, dims);
	}
	return elements;
}

/* What is evaluated here is evaluated on inputs that nobody gave, with which a loop may have no
 * end, unless a count says how many turns it makes. So many, or so many elements, take the
 * interpreter about a second. */
static void
count_turn(Eval *eval, const Node *node, const Region *body, int64_t limit)
{
	enum { MOST_TURNS = 2000, MOST_COUNTED = 20000 };
	static const double MOST_ELEMENTS = 2e7;
	if (limit <= MOST_COUNTED)
		return;
	eval->turns++;
	eval->handed += elements_of(eval, body->nresult, body->results);
	if (eval->turns > MOST_TURNS || eval->handed > MOST_ELEMENTS)
		fail_unsupported(&node->loc, "no end was seen at these inputs in %lld turns",
		                 (long long)eval->turns);
}

static void
eval_loop(Eval *eval, const Node *node)
{
	const Region *body = node_region(node, "body");
	int states = body->nparam - 2, scans = body->nresult - 1 - states;
	const Value *limit = node->inputs[0], *condition = node->ninput > 1 ? node->inputs[1] : NULL;
	int64_t most = limit ? eval_number(eval, limit, &node->loc) : INT64_MAX;
	bool goes_on = condition ? eval_number(eval, condition, &node->loc) != 0 : true;
	Slices *slices = NEW_N(eval->arena, Slices, scans + 1);
	move_states(eval, states, body->params + 2, node->inputs + 2);
	for (int64_t i = 0; i < most && goes_on; i++) {
		give_number(eval, body->params[0], DT_I64, i);
		give_number(eval, body->params[1], DT_BOOL, 1);
		eval_region(eval, body);
		goes_on = eval_number(eval, body->results[0], &node->loc) != 0;
		if (goes_on)
			count_turn(eval, node, body, most);
		for (int k = 0; k < scans; k++)
			vec_push(eval->arena, &slices[k], eval_copy(eval, body->results[1 + states + k]));
		move_states(eval, states, body->params + 2, body->results + 1);
	}
	for (int k = 0; k < node->noutput; k++) {
		if (!node->outputs[k])
			continue;
		if (k < states)
			eval_set_cell(eval, node->outputs[k], eval_copy(eval, body->params[2 + k]));
		else
			set_stacked(eval, node->outputs[k], body->results[1 + k], &slices[k - states], 0,
			            false);
	}
	for (int k = 0; k < scans; k++)
		free_slices(&slices[k]);
}

/* ---- Scan ------------------------------------------------------------------------------------ */

static int64_t
list_entry(const Node *node, const char *name, int index)
{
	int64_t count;
	const int64_t *list = attr_ints(node, name, &count);
	return index < count ? list[index] : 0;
}

static int64_t
scan_length(Eval *eval, const Node *node, int states, int scans)
{
	int64_t length = -1;
	for (int i = 0; i < scans; i++) {
		int rank;
		const int64_t *dims = dims_of(eval_cell(eval, node->inputs[states + i]), &rank);
		int64_t axis = list_entry(node, "scan_input_axes", i);
		int64_t extent = dims[axis < 0 ? axis + rank : axis];
		if (length >= 0 && extent != length)
			fail(&node->loc, "scan inputs have %lld and %lld slices", (long long)length,
			     (long long)extent);
		length = extent;
	}
	return length;
}

static void
give_scan_slices(Eval *eval, const Node *node, const Region *body, int states, int64_t step,
                 int64_t length)
{
	for (int i = 0; i < body->nparam - states; i++) {
		int rank;
		dims_of(eval_cell(eval, node->inputs[states + i]), &rank);
		int64_t axis = list_entry(node, "scan_input_axes", i);
		bool is_reversed = list_entry(node, "scan_input_directions", i) != 0;
		give_slice(eval, body->params[states + i], node->inputs[states + i],
		           (int)(axis < 0 ? axis + rank : axis), is_reversed ? length - 1 - step : step);
	}
}

static void
eval_scan(Eval *eval, const Node *node)
{
	const Region *body = node_region(node, "body");
	int inputs = (int)attr_int(node, "num_scan_inputs"), states = node->ninput - inputs;
	int outputs = body->nresult - states;
	int64_t length = scan_length(eval, node, states, inputs);
	Slices *slices = NEW_N(eval->arena, Slices, outputs + 1);
	move_states(eval, states, body->params, node->inputs);
	for (int64_t step = 0; step < length; step++) {
		give_scan_slices(eval, node, body, states, step, length);
		eval_region(eval, body);
		for (int k = 0; k < outputs; k++)
			vec_push(eval->arena, &slices[k], eval_copy(eval, body->results[states + k]));
		move_states(eval, states, body->params, body->results);
	}
	for (int k = 0; k < node->noutput; k++) {
		if (!node->outputs[k])
			continue;
		if (k < states)
			eval_set_cell(eval, node->outputs[k], eval_copy(eval, body->params[k]));
		else
			set_stacked(eval, node->outputs[k], body->results[k], &slices[k - states],
			            (int)list_entry(node, "scan_output_axes", k - states),
			            list_entry(node, "scan_output_directions", k - states) != 0);
	}
	for (int k = 0; k < outputs; k++)
		free_slices(&slices[k]);
}

/* ---- other nodes ----------------------------------------------------------------------------- */

void
eval_expanded(Eval *eval, const Node *node)
{
	Arena *memory = arena_new("expanded");
	Array *like = NEW_N(memory, Array, node->ninput + 1);
	for (int i = 0; i < node->ninput; i++) {
		const Cell *cell = node->inputs[i] ? eval_cell(eval, node->inputs[i]) : NULL;
		if (!cell)
			continue;
		like[i].type = cell->array ? cell->array->type : cell->bounds->type;
		like[i].dims = dims_of(cell, &like[i].rank);
	}
	Graph *graph = node_expanded(memory, node, like);
	Eval *inner = eval_new(memory, graph, eval->mode);
	for (int i = 0, k = 0; i < node->ninput; i++)
		if (node->inputs[i] && !value_fixed(node->inputs[i])) {
			const Cell *cell = eval_cell(eval, node->inputs[i]);
			eval_set_cell(inner, graph->body->params[k++], (Cell){cell->array, cell->bounds, NULL});
		}
	eval_region(inner, graph->body);
	for (int i = 0, k = 0; i < node->noutput; i++)
		if (node->outputs[i])
			eval_set_cell(eval, node->outputs[i], eval_copy(inner, graph->body->results[k++]));
	arena_free(memory);
}

void
eval_control(Eval *eval, const Node *node)
{
	static const struct {
		const char *name;
		void (*run)(Eval *eval, const Node *node);
	} rows[] = {{"If", eval_if},
	            {"Loop", eval_loop},
	            {"Scan", eval_scan},
	            {"fused", eval_fused},
	            {"Enter", eval_enter}};
	for (size_t i = 0; i < countof(rows); i++)
		if (strcmp(rows[i].name, node->op->name) == 0) {
			rows[i].run(eval, node);
			return;
		}
	fail_unsupported(&node->loc, "this control operator cannot be evaluated yet");
}
