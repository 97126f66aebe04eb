/* derived_nodes: a node for each stage of a program.
 *
 * A stage that a library computes comes in the form that its row has: dims of 1 gone, dims that go
 * together joined, with Reshapes around, which are views; of rows that lowering joins dims for, it
 * comes as it is. What follows from constants is a constant.
 */
#include "passes/derived_nodes.h"

#include <math.h>

#include <string.h>

#include "einnet/converge.h"
#include "expr/interp/interp.h"
#include "expr/stage/canon.h"
#include "graph/infer.h"
#include "graph/meaning.h"

/* ---- parts ----------------------------------------------------------------------------------- */

/* A stage of weights may have a symbol in its box: then it is computed when that is known. */
static bool
has_size(const Tensor *tensor)
{
	int64_t number;
	for (int d = 0; d < tensor->rank; d++)
		if (!dim_is_const(tensor->hi[d], &number))
			return false;
	return true;
}

DerivedPart
derived_part(VendorForms *forms, Arena *arena, const Program *program, int stage,
             const bool *constant)
{
	const Stage *s = program->stages[stage];
	if (einnet_is_constant(program, s->results[0], constant) && has_size(s->results[0]))
		return (DerivedPart){.is_known = true};
	const Program *part = program_part(arena, program, stage, stage + 1);
	const VendorMatch *match =
		stage_is_product(s) ? einnet_match(forms, arena, program, stage) : NULL;
	bool is_call = match && match->row->library && match->program->ninput == part->ninput;
	return (DerivedPart){
		.program = part, .row = match ? match->row : NULL, .match = is_call ? match : NULL};
}

const Array *
derived_made_up(Arena *arena, const Type *type)
{
	enum { PERIOD = 101 };
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < type->rank; d++)
		if (!dim_is_const(type->dims[d], &dims[d]))
			return NULL;
	Array *array = array_new(arena, type->dtype, type->rank, dims);
	int64_t count = array_count(array), bits = dtype_bits(array->type);
	int64_t single = bits < 8 || count < PERIOD ? count : PERIOD;
	for (int64_t k = 0; k < single; k++)
		dtype_store_f64(array->type, array->data, k, (double)(k * 37 % PERIOD - 50) / 64);
	for (int64_t done = single; done < count;) {
		int64_t more = count - done < done ? count - done : done;
		memcpy((char *)array->data + done * bits / 8, array->data, (size_t)(more * bits / 8));
		done += more;
	}
	return array;
}

/* ---- nodes for a program --------------------------------------------------------------------- */

typedef struct Emitter {
	Graph *graph;
	const Place *place;
	const Program *program; /* of the graph's ctx */
	Value *const *inputs;
	const bool *constant;
	VendorForms *forms;
	Map values; /* Tensor -> Value */
	const char *trouble;
} Emitter;

static void
add_origins(const Emitter *e, Node *node)
{
	for (int i = 0; i < e->place->norigin; i++)
		node_add_origins(node, e->place->origins[i]);
}

static Value *
add_constant(Emitter *e, const Tensor *tensor, const Array *data)
{
	Graph *graph = e->graph;
	Value *value = graph_constant(graph, graph_fresh_name(graph, tensor->name), data);
	map_set_ptr(&e->values, tensor, value);
	return value;
}

/* All that decides about what follows from weights. */
static const char *
folded_key(Arena *arena, const Program *program, int count, const Array *const *arrays)
{
	Hash128 key = program_fingerprint(program);
	for (int i = 0; i < count; i++)
		key = hash128_combine(key, hash128(arrays[i]->data, array_bytes(arrays[i])));
	return arena_printf(arena, "%016llx%016llx", (unsigned long long)key.high,
	                    (unsigned long long)key.low);
}

/* Whether each number has all digits of its type, or is 0. */
static bool
is_in_range(const Array *array)
{
	FloatRange range = dtype_float_range(array->type);
	bool is = true;
	for (int64_t i = 0; is && dtype_is_float(array->type) && i < array_count(array); i++) {
		double size = fabs(dtype_load_f64(array->type, array->data, i));
		is = size == 0 || (range.least <= size && size <= range.most);
	}
	return is;
}

static bool
is_read(const Program *program, const Tensor *input)
{
	for (int s = 0; s < program->nstage; s++)
		if (stage_reads(program->stages[s], input))
			return true;
	return false;
}

/* Products of weights have to be numbers where the weights are: x * 1e25 * 1e25 is finite for many
 * x, and x * inf for none. What follows from no weight is what it is: the most of no terms is
 * -inf. */
static bool
leaves_range(const Array *made, const Program *program, const Array *const *weights)
{
	bool follows = false, are_numbers = true;
	for (int i = 0; i < program->ninput; i++)
		if (is_read(program, program->inputs[i])) {
			follows = true;
			are_numbers &= is_in_range(weights[i]);
		}
	return follows && are_numbers && !is_in_range(made);
}

/* What the stage makes follows from weights: its values, which several bundles of a model share. */
static void
evaluate_stage(Emitter *e, const Stage *stage)
{
	Arena *arena = e->graph->arena;
	const Tensor *tensor = stage->results[0];
	if (e->place->is_trial) {
		Type type = type_tensor(tensor->type, tensor->rank, tensor->hi);
		add_constant(e, tensor, derived_made_up(arena, &type));
		return;
	}
	int count = e->program->ninput;
	Tensor **tensors = NEW_N(arena, Tensor *, count + 1);
	const Array **arrays = NEW_N(arena, const Array *, count + 1);
	int used = 0;
	for (int i = 0; i < count; i++)
		if (e->constant[i]) {
			tensors[used] = e->program->inputs[i];
			arrays[used++] = e->inputs[i]->constant;
		}
	const Program *alone = program_new(e->program->ctx, tensor->name, used, tensors, 1, &tensor);
	Map *folded = e->place->folded;
	const char *key = folded ? folded_key(folded->arena, alone, used, arrays) : NULL;
	Array *out = key ? map_find(folded, key) : NULL;
	if (!out)
		program_eval(key ? folded->arena : arena, alone, NULL, arrays, &out);
	if (key)
		map_set(folded, key, out);
	if (leaves_range(out, alone, arrays))
		e->trouble = "what follows from its weights is beyond their type";
	add_constant(e, tensor, out);
}

static bool
same_dims(const Tensor *a, int rank, const Dim *const *dims)
{
	bool same = a->rank == rank;
	for (int d = 0; same && d < rank; d++)
		same = a->hi[d] == dims[d];
	return same;
}

/* The program with those inputs behind its own, which tell its symbols and are not read. */
static Node *
told_expression(Emitter *e, const Program *program, Value *const *own)
{
	int most = program->ninput + e->program->ninput, count = program->ninput;
	Value **inputs = NEW_N(e->graph->arena, Value *, most + 1);
	Tensor **tensors = NEW_N(e->graph->arena, Tensor *, most + 1);
	for (int i = 0; i < count; i++) {
		inputs[i] = own[i];
		tensors[i] = program->inputs[i];
	}
	for (int i = 0; i < e->program->ninput; i++)
		if (!e->constant[i]) {
			const Type *type = &e->inputs[i]->type;
			inputs[count] = e->inputs[i];
			tensors[count++] =
				tensor_new(program->ctx, e->inputs[i]->name, type->dtype, type->rank, type->dims);
		}
	program = program_new(program->ctx, program->name, count, tensors, program->noutput,
	                      program->outputs);
	return node_new_expression(e->place->region, e->place->before, e->place->loc, program, inputs,
	                           &e->trouble);
}

static Node *
expression(Emitter *e, const Program *program, Value *const *inputs)
{
	const char *untold;
	Node *node = node_new_expression(e->place->region, e->place->before, e->place->loc, program,
	                                 inputs, &untold);
	node = node ? node : told_expression(e, program, inputs);
	if (node)
		add_origins(e, node);
	return node;
}

/* A Reshape whose shape no operand can say, as several dims are only known when it runs: what it
 * means. */
static Value *
with_open_dims(Emitter *e, Value *value, const Tensor *tensor)
{
	Graph *graph = e->graph;
	const Type *from = &value->type, to = type_tensor(tensor->type, tensor->rank, tensor->hi);
	const Node reshape = {.op = op_find(graph->ops, "", "Reshape")};
	Tensor *x = tensor_new(graph->ctx, value->name, from->dtype, from->rank, from->dims);
	const Tensor *y = NULL;
	build_Reshape(&(Build){.ctx = graph->ctx,
	                       .graph = graph,
	                       .node = &reshape,
	                       .nin = 1,
	                       .nout = 1,
	                       .in = &x,
	                       .out_types = (const Type *[]){&to},
	                       .out = &y});
	const Program *program = program_new(graph->ctx, tensor->name, 1, &x, 1, &y);
	Node *node = expression(e, program, &value);
	return node ? node->outputs[0] : value;
}

/* The value under the dims of the tensor, which has as many elements. */
static Value *
with_dims(Emitter *e, Value *value, const Tensor *tensor)
{
	Graph *graph = e->graph;
	if (same_dims(tensor, value->type.rank, value->type.dims))
		return value;
	int64_t shape[ARRAY_MAX_RANK], rank = tensor->rank;
	int open = 0; /* what is left for -1 */
	for (int d = 0; d < tensor->rank; d++)
		if (!dim_is_const(tensor->hi[d], &shape[d])) {
			shape[d] = -1;
			open++;
		}
	if (open > 1)
		return with_open_dims(e, value, tensor);
	Array *dims = array_new(graph->arena, DT_I64, 1, &rank);
	memcpy(dims->data, shape, (size_t)rank * sizeof *shape);
	if (value->constant) {
		Array *data = arena_memdup(graph->arena, value->constant, sizeof *data);
		data->rank = tensor->rank;
		data->dims = arena_memdup(graph->arena, shape, (size_t)rank * sizeof *shape);
		return graph_constant(graph, graph_fresh_name(graph, value->name), data);
	}
	Value *inputs[] = {value, graph_constant(graph, graph_fresh_name(graph, "shape"), dims)};
	Node *node = node_new(e->place->region, e->place->before, "Reshape", e->place->loc, 2, inputs,
	                      1, (const char *const[]){""});
	add_origins(e, node);
	node_infer(graph, node);
	if (!same_dims(tensor, node->outputs[0]->type.rank, node->outputs[0]->type.dims))
		e->trouble = "a dim of a call is only known when it runs";
	return node->outputs[0];
}

/* A node for the part, which is one stage, in the form that `form` has (its inputs at the same
 * positions). */
static void
emit_part(Emitter *e, const Program *part, const Program *form)
{
	Value **inputs = NEW_N(e->graph->arena, Value *, part->ninput + 1);
	for (int i = 0; i < part->ninput; i++)
		inputs[i] = with_dims(e, map_find_ptr(&e->values, part->inputs[i]), form->inputs[i]);
	if (e->trouble)
		return;
	Node *node = expression(e, form, inputs);
	if (node)
		map_set_ptr(&e->values, part->outputs[0], with_dims(e, node->outputs[0], part->outputs[0]));
}

static void
emit_stage(Emitter *e, int s)
{
	Arena *arena = e->graph->arena;
	DerivedPart part = derived_part(e->forms, arena, e->program, s, e->constant);
	if (part.is_known) {
		evaluate_stage(e, e->program->stages[s]);
		return;
	}
	VendorMatch joined; /* as lowering does it; dims of 1 it leaves */
	bool is_joined = part.match && (part.match->row->storage & STORAGE_joined) &&
	                 vendor_match_row(e->forms, arena, part.program, ROWS_of_matrices, &joined);
	emit_part(e, part.program, part.match && !is_joined ? part.match->program : part.program);
}

/* Values begin at 0, and what a stage makes begins where its loops do. */
static const Program *
from_zero(const Program *program)
{
	for (int s = 0; s < program->nstage; s++) {
		Bijection map;
		const Program *next = NULL;
		if (derive_from_zero(program->ctx, program->stages[s], &map))
			next = derive_substitute(program, program->stages[s], &map, NULL);
		program = next ? next : program;
	}
	return program;
}

bool
derived_nodes(Graph *graph, const Place *place, const Program *program, Value *const *inputs,
              const bool *constant, Value **results, const char **why)
{
	Emitter e = {.graph = graph,
	             .place = place,
	             .program = from_zero(program),
	             .inputs = inputs,
	             .constant = constant,
	             .forms = vendor_forms_new(graph->arena, NULL, vendor_loses_any),
	             .values = {.arena = graph->arena}};
	for (int i = 0; i < program->ninput; i++)
		map_set_ptr(&e.values, e.program->inputs[i], inputs[i]);
	for (int s = 0; s < e.program->nstage && !e.trouble; s++)
		emit_stage(&e, s);
	for (int i = 0; i < program->noutput && !e.trouble; i++)
		results[i] = map_find_ptr(&e.values, e.program->outputs[i]);
	*why = e.trouble;
	return !e.trouble;
}
