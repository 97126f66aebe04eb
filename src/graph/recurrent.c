/* LSTM, GRU, RNN and com.microsoft's DynamicQuantizeLSTM: types, and what they mean in other nodes.
 *
 *     %y = LSTM(%x, %w, %r, %b)  =>  %g = Add(MatMul(%x, %w'), %b')         all steps at once
 *                                    _, _, %y = Scan(%h, %c, %g) {
 *                                      body(%h, %c, %g) { %a = Add(%g, MatMul(%h, %r'))
 *                                                         … yield %h', %c', %h' } }
 *
 * Each direction is a Scan of its own, over the gates that the inputs give; a step adds what the
 * state gives. Beyond the length of a sequence its state stays, and its output is 0. Directions
 * are joined at the end. With quantised weights a product is one of integers: x is quantised by the
 * range of all its steps, a state by its own in each step.
 */
#include <string.h>

#include "graph/expand.h"
#include "graph/inner.h"

enum { X, W, R, B, LENGTHS, STATE, CELL, PEEPHOLES };      /* inputs; the last two are LSTM's */
enum { W_SCALE = PEEPHOLES + 1, W_ZERO, R_SCALE, R_ZERO }; /* DynamicQuantizeLSTM's */
enum { Y, Y_STATE, Y_CELL, OUTPUTS };
enum { MAX_GATES = 4, MAX_STATES = 2 };

/* ---- making nodes ---------------------------------------------------------------------------- */

/* a + b, where b may be absent. */
static Value *
plus(const Expander *m, Value *a, Value *b)
{
	return b ? expander_binary(m, "Add", a, b) : a;
}

/* Slice `index` of the first axis, without that axis. */
static Value *
pick(const Expander *m, Value *x, int index)
{
	return x ? expander_binary(m, "Gather", x, expander_integer(m, 0, index)) : NULL;
}

static Value *
transpose(const Expander *m, Value *x, int rank, const int64_t *order)
{
	Node *made = expander_node(m, "Transpose", 1, &x, 1);
	int64_t *kept = NEW_N(m->region->graph->arena, int64_t, rank);
	memcpy(kept, order, (size_t)rank * sizeof *kept);
	node_add_attr(made, &(Attr){.name = "perm", .kind = ATTR_INTS, .count = rank, .ints = kept});
	return expander_result(m, made);
}

/* Equal parts of the last axis. */
static void
split(const Expander *m, Value *x, int count, Value **parts)
{
	Node *made = expander_node(m, "Split", 1, &x, count);
	node_set_int(made, "axis", -1);
	node_set_int(made, "num_outputs", count);
	expander_result(m, made);
	memcpy(parts, made->outputs, (size_t)count * sizeof *parts);
}

/* ---- the activations ------------------------------------------------------------------------- */

static Value *
activate(const Expander *m, const char *name, Value *x)
{
	static const char *const known[] = {"Relu", "Sigmoid", "Softplus", "Softsign", "Tanh"};
	for (size_t i = 0; i < countof(known); i++)
		if (strcmp(known[i], name) == 0)
			return expander_unary(m, name, x);
	fail_unsupported(&m->node->loc, "activation %s is not supported", name);
}

/* ---- one direction --------------------------------------------------------------------------- */

/* A row of these for each term of a product; quantised ones have a scale and a zero point. */
typedef struct Weights {
	Value *matrix, *scale, *zero;
} Weights;

typedef struct Direction {
	int number; /* which slice of the weights */
	bool is_reversed;
	const char *names[3]; /* of its activations */
	Value *x;             /* inputs by steps */
	Weights r;            /* of the states */
	Value *bias;          /* of the recurrent product, or NULL */
	Value *peephole[3];   /* of i, o and f, or NULL */
	Value *lengths;       /* i64[N], or NULL */
} Direction;

typedef struct States {
	Value *h, *c; /* c is LSTM's */
} States;

static Value *
product(const Expander *m, Value *a, const Weights *w)
{
	if (!w->scale)
		return expander_binary(m, "MatMul", a, w->matrix);
	Node *quantised = expander_node(m, "DynamicQuantizeLinear", 1, &a, 3);
	expander_result(m, quantised);
	Value *const *q = quantised->outputs;
	Node *whole =
		expander_node(m, "MatMulInteger", 4, (Value *[]){q[0], w->matrix, q[2], w->zero}, 1);
	Node *cast = expander_node(m, "Cast", 1, (Value *[]){expander_result(m, whole)}, 1);
	node_set_int(cast, "to", DT_F32);
	return expander_binary(m, "Mul", expander_result(m, cast),
	                       expander_binary(m, "Mul", q[1], w->scale));
}

/* What the state gives to the gates. */
static Value *
recurrent_part(const Expander *m, const Direction *d, Value *h)
{
	return plus(m, product(m, h, &d->r), d->bias);
}

static Value *
with_peephole(const Expander *m, Value *gate, Value *weight, Value *c)
{
	return weight ? expander_binary(m, "Add", gate, expander_binary(m, "Mul", weight, c)) : gate;
}

static States
step_LSTM(const Expander *m, const Direction *d, Value *g, States s)
{
	Value *gate[4]; /* i o f c */
	split(m, expander_binary(m, "Add", g, recurrent_part(m, d, s.h)), 4, gate);
	Value *i = activate(m, d->names[0], with_peephole(m, gate[0], d->peephole[0], s.c));
	Value *f = activate(m, d->names[0], with_peephole(m, gate[2], d->peephole[2], s.c));
	Value *fresh = expander_binary(m, "Mul", i, activate(m, d->names[1], gate[3]));
	Value *c = expander_binary(m, "Add", expander_binary(m, "Mul", f, s.c), fresh);
	Value *o = activate(m, d->names[0], with_peephole(m, gate[1], d->peephole[1], c));
	return (States){expander_binary(m, "Mul", o, activate(m, d->names[2], c)), c};
}

/* The recurrent product of the hidden gate is reset before it is taken, or after. */
static Value *
hidden_GRU(const Expander *m, const Direction *d, Value *h, Value *reset, Value *after)
{
	if (attr_int(m->node, "linear_before_reset"))
		return expander_binary(m, "Mul", reset, after);
	Value *gate[3];
	split(m, recurrent_part(m, d, expander_binary(m, "Mul", reset, h)), 3, gate);
	return gate[2];
}

static States
step_GRU(const Expander *m, const Direction *d, Value *g, States s)
{
	Value *in[3], *back[3]; /* z r h */
	split(m, g, 3, in);
	split(m, recurrent_part(m, d, s.h), 3, back);
	Value *z = activate(m, d->names[0], expander_binary(m, "Add", in[0], back[0]));
	Value *r = activate(m, d->names[0], expander_binary(m, "Add", in[1], back[1]));
	Value *hidden = expander_binary(m, "Add", in[2], hidden_GRU(m, d, s.h, r, back[2]));
	Value *fresh = activate(m, d->names[1], hidden);
	Value *new = expander_binary(
		m, "Mul",
		expander_binary(m, "Sub", expander_number(m, m->node->inputs[X]->type.dtype, 1), z), fresh);
	return (States){expander_binary(m, "Add", new, expander_binary(m, "Mul", z, s.h)), NULL};
}

static States
step_RNN(const Expander *m, const Direction *d, Value *g, States s)
{
	return (States){
		activate(m, d->names[0], expander_binary(m, "Add", g, recurrent_part(m, d, s.h))), NULL};
}

static const struct Cell {
	const char *name;
	int gates, states, activations;
	const char *defaults[3];
	States (*step)(const Expander *m, const Direction *d, Value *g, States s);
} CELLS[] = {
	{"LSTM", 4, 2, 3, {"Sigmoid", "Tanh", "Tanh"}, step_LSTM},
	{"DynamicQuantizeLSTM", 4, 2, 3, {"Sigmoid", "Tanh", "Tanh"}, step_LSTM},
	{"GRU", 3, 1, 2, {"Sigmoid", "Tanh", NULL}, step_GRU},
	{"RNN", 1, 1, 1, {"Tanh", NULL, NULL}, step_RNN},
};

static const struct Cell *
cell_of(const Node *node)
{
	for (size_t i = 0; i < countof(CELLS); i++)
		if (strcmp(CELLS[i].name, node->op->name) == 0)
			return &CELLS[i];
	fail_as(FAIL_BUG, &node->loc, "no recurrent cell of this name");
}

static bool
is_quantised(const Node *node)
{
	return node->ninput > W_SCALE;
}

static bool
batch_comes_first(const Node *node)
{
	return op_attr(node->op, "layout") && attr_int(node, "layout");
}

/* ---- types ----------------------------------------------------------------------------------- */

static int
direction_count(const Node *node)
{
	return attr_string(node, "direction")[0] == 'b' ? 2 : 1;
}

/* An operand that is there has these dims. */
static void
check_operand(Infer *infer, int index, int rank, const Dim *const *dims)
{
	const Type *type = infer_input(infer, index);
	if (!type)
		return;
	const char *name = op_input(infer->node->op, index)->name;
	if (type->rank != rank)
		infer_fail(infer, "input %s has rank %d, expected %d", name, type->rank, rank);
	for (int d = 0; d < rank; d++)
		infer_equal(infer, type->dims[d], dims[d],
		            arena_printf(infer->graph->arena, "dim %d of input %s", d, name));
}

static const Dim *
times(const Infer *infer, const Dim *dim, int factor)
{
	return dim_mul(infer->ctx, dim, dim_const(infer->ctx, factor));
}

/* Of quantised weights: one scale, or zero point, for a direction, or one for each column. */
static void
check_scales(Infer *infer, const Dim *count, const Dim *gates)
{
	for (int i = W_SCALE; i <= R_ZERO; i++) {
		const Type *type = infer_input(infer, i);
		check_operand(infer, i, type && type->rank == 1 ? 1 : 2, (const Dim *[]){count, gates});
	}
}

void
infer_recurrent(Infer *infer)
{
	const Type *x = infer_input(infer, X), *r = infer_input(infer, R);
	if (x->rank != 3 || r->rank != 3)
		infer_fail(infer, "inputs and recurrent weights have rank 3");
	bool is_batch_first = batch_comes_first(infer->node), is_turned = is_quantised(infer->node);
	const Dim *count = dim_const(infer->ctx, direction_count(infer->node));
	const Dim *time = x->dims[is_batch_first], *batch = x->dims[!is_batch_first];
	const Dim *inner = x->dims[2], *h = r->dims[is_turned ? 1 : 2];
	if (attr_has(infer->node, "hidden_size"))
		infer_equal(infer, h, dim_const(infer->ctx, attr_int(infer->node, "hidden_size")),
		            "hidden_size");
	const Dim *gates = times(infer, h, cell_of(infer->node)->gates);
	const Dim *state[] = {is_batch_first ? batch : count, is_batch_first ? count : batch, h};
	const Dim *w_dims[] = {count, is_turned ? inner : gates, is_turned ? gates : inner};
	const Dim *r_dims[] = {count, is_turned ? h : gates, is_turned ? gates : h};
	check_operand(infer, W, 3, w_dims);
	check_operand(infer, R, 3, r_dims);
	if (is_turned)
		check_scales(infer, count, gates);
	check_operand(infer, B, 2, (const Dim *[]){count, times(infer, gates, 2)});
	check_operand(infer, LENGTHS, 1, &batch);
	check_operand(infer, STATE, 3, state);
	check_operand(infer, CELL, 3, state);
	check_operand(infer, PEEPHOLES, 2, (const Dim *[]){count, times(infer, h, 3)});
	const Dim *by_batch[] = {batch, time, count, h}, *by_time[] = {time, count, batch, h};
	infer_set(infer, Y, x->dtype, 4, is_batch_first ? by_batch : by_time);
	for (int k = Y_STATE; k < infer->node->noutput; k++)
		infer_set(infer, k, x->dtype, 3, state);
}

/* ---- a direction as nodes -------------------------------------------------------------------- */

/* State `input` at the first step: as given, or zeros [N,H]. */
static Value *
first_state(const Expander *m, const Direction *d, int input)
{
	Value *given = expander_input(m->node, input);
	if (given) {
		return pick(
			m, batch_comes_first(m->node) ? transpose(m, given, 3, (int64_t[]){1, 0, 2}) : given,
			d->number);
	}
	Value *batch =
		expander_binary(m, "Gather", expander_unary(m, "Shape", d->x), expander_integer(m, 1, 1));
	Value *width = expander_binary(m, "Gather", expander_unary(m, "Shape", d->r.matrix),
	                               expander_integer(m, 1, 0));
	Node *shape = expander_node(m, "Concat", 2, (Value *[]){batch, width}, 1);
	node_set_int(shape, "axis", 0);
	Node *zeros = expander_node(m, "ConstantOfShape", 1, (Value *[]){expander_result(m, shape)}, 1);
	Graph *graph = m->region->graph;
	Array *zero = array_new(graph->arena, m->node->inputs[X]->type.dtype, 1, (const int64_t[]){1});
	memset(zero->data, 0, array_bytes(zero));
	node_add_attr(zeros, &(Attr){.name = "value", .kind = ATTR_TENSOR, .tensor = zero});
	return expander_result(m, zeros);
}

/* The same of a constant at once: which form a product of integers takes, its weights decide,
 * before constants are folded. */
static Value *
pick_known(const Expander *m, Value *x, int index)
{
	const Array *whole = value_fixed(x);
	if (!whole || whole->rank < 1 || index >= whole->dims[0])
		return pick(m, x, index);
	Graph *graph = m->region->graph;
	Array *part = array_new(graph->arena, whole->type, whole->rank - 1, whole->dims + 1);
	size_t bytes = array_bytes(part);
	memcpy(part->data, (const char *)whole->data + (size_t)index * bytes, bytes);
	return graph_constant(graph, graph_fresh_name(graph, x->name), part);
}

/* Quantised weights stand as a product takes them. */
static Weights
weights_of(const Expander *m, const Direction *d, int matrix, int scale)
{
	Value *w = m->node->inputs[matrix];
	if (!is_quantised(m->node))
		return (Weights){.matrix = transpose(m, pick(m, w, d->number), 2, (const int64_t[]){1, 0})};
	return (Weights){pick_known(m, w, d->number), pick_known(m, m->node->inputs[scale], d->number),
	                 pick_known(m, m->node->inputs[scale + 1], d->number)};
}

static void
read_weights(const Expander *m, Direction *d, Weights *w, Value **bias)
{
	const Node *node = m->node;
	*w = weights_of(m, d, W, W_SCALE);
	d->r = weights_of(m, d, R, R_SCALE);
	if (expander_input(node, B)) {
		Value *halves[2];
		split(m, pick(m, node->inputs[B], d->number), 2, halves);
		*bias = halves[0];
		d->bias = halves[1];
	}
	if (expander_input(node, PEEPHOLES))
		split(m, pick(m, node->inputs[PEEPHOLES], d->number), 3, d->peephole);
}

/* The body of the Scan: states, the gates of a step, and its number where there are lengths. */
static void
make_body(const Expander *outer, Node *scan, const Direction *d, const struct Cell *cell)
{
	Region *body = region_new(scan, "body");
	Expander m = {body, NULL, outer->node};
	States old = {.h = region_param(body, "h", NULL)};
	if (cell->states > 1)
		old.c = region_param(body, "c", NULL);
	Value *g = region_param(body, "g", NULL);
	States new = cell->step(&m, d, g, old);
	Value *y = new.h;
	if (d->lengths) {
		Value *at = region_param(body, "t", NULL);
		Value *is_inside =
			expander_binary(&m, "Unsqueeze", expander_binary(&m, "Less", at, d->lengths),
		                    expander_integer(&m, 1, 1));
		Value *zero = expander_number(&m, outer->node->inputs[X]->type.dtype, 0);
		y = expander_result(&m,
		                    expander_node(&m, "Where", 3, (Value *[]){is_inside, new.h, zero}, 1));
		new.h = expander_result(
			&m, expander_node(&m, "Where", 3, (Value *[]){is_inside, new.h, old.h}, 1));
		if (new.c)
			new.c = expander_result(
				&m, expander_node(&m, "Where", 3, (Value *[]){is_inside, new.c, old.c}, 1));
	}
	Value *results[] = {new.h, new.c ? new.c : y, y};
	region_set_results(body, cell->states + 1, results);
}

static void
set_directions(Node *scan, const char *name, int count, bool is_reversed)
{
	int64_t *list = NEW_N(scan->parent->graph->arena, int64_t, count);
	for (int i = 0; i < count; i++)
		list[i] = is_reversed;
	node_add_attr(scan, &(Attr){.name = name, .kind = ATTR_INTS, .count = count, .ints = list});
}

/* Results of one direction: Y [T,N,H], then the last states [N,H]. */
static void
make_direction(const Expander *m, Direction *d, Value **results)
{
	const struct Cell *cell = cell_of(m->node);
	Value *bias = NULL, *inputs[4];
	Weights w;
	int count = 0;
	read_weights(m, d, &w, &bias);
	for (int i = 0; i < cell->states; i++)
		inputs[count++] = first_state(m, d, STATE + i);
	inputs[count++] = plus(m, product(m, d->x, &w), bias);
	if (d->lengths) {
		Value *time = expander_binary(m, "Gather", expander_unary(m, "Shape", d->x),
		                              expander_integer(m, 0, 0));
		Value *bounds[] = {expander_integer(m, 0, 0), time, expander_integer(m, 0, 1)};
		inputs[count++] = expander_result(m, expander_node(m, "Range", 3, bounds, 1));
	}
	Node *scan = expander_node(m, "Scan", count, inputs, cell->states + 1);
	node_set_int(scan, "num_scan_inputs", count - cell->states);
	set_directions(scan, "scan_input_directions", count - cell->states, d->is_reversed);
	set_directions(scan, "scan_output_directions", 1, d->is_reversed);
	make_body(m, scan, d, cell);
	region_update_captures(scan->regions[0]);
	expander_result(m, scan);
	results[Y] = scan->outputs[cell->states];
	for (int i = 0; i < cell->states; i++)
		results[Y_STATE + i] = scan->outputs[i];
}

/* ---- the node -------------------------------------------------------------------------------- */

/* Names of the activations of direction `number`: those given, or the cell's. */
static void
name_activations(const Node *node, Direction *d)
{
	const struct Cell *cell = cell_of(node);
	const Attr *given = attr_find(node, "activations");
	for (int i = 0; i < cell->activations; i++) {
		int at = d->number * cell->activations + i;
		d->names[i] = given && at < given->count ? given->strings[at] : cell->defaults[i];
	}
}

static void
check_attributes(const Node *node)
{
	static const char *const names[] = {"clip", "activation_alpha", "activation_beta"};
	for (size_t i = 0; i < countof(names); i++)
		if (attr_has(node, names[i]))
			fail_unsupported(&node->loc, "attribute %s is not supported", names[i]);
	if (op_attr(node->op, "input_forget") && attr_int(node, "input_forget"))
		fail_unsupported(&node->loc, "coupled gates (input_forget) are not supported");
}

/* The results of all directions as output `output` of the node. */
static Value *
join(const Expander *m, int count, Value *const *parts, int output)
{
	int axis = output == Y ? 1 : 0;
	Value *joined[2];
	for (int i = 0; i < count; i++)
		joined[i] = expander_binary(m, "Unsqueeze", parts[i], expander_integer(m, 1, axis));
	Value *y = joined[0];
	if (count > 1) {
		Node *concat = expander_node(m, "Concat", count, joined, 1);
		node_set_int(concat, "axis", axis);
		y = expander_result(m, concat);
	}
	if (!batch_comes_first(m->node))
		return y;
	return output == Y ? transpose(m, y, 4, (int64_t[]){2, 0, 1, 3})
	                   : transpose(m, y, 3, (int64_t[]){1, 0, 2});
}

void
expand_recurrent(Node *node)
{
	Expander m = {node->parent, node, node};
	int count = direction_count(node);
	Value *results[2][OUTPUTS] = {{NULL}}, *x = node->inputs[X];
	check_attributes(node);
	if (batch_comes_first(node))
		x = transpose(&m, x, 3, (int64_t[]){1, 0, 2});
	Value *lengths = expander_input(node, LENGTHS);
	if (lengths) {
		Node *cast = expander_node(&m, "Cast", 1, &lengths, 1);
		node_set_int(cast, "to", DT_I64);
		lengths = expander_result(&m, cast);
	}
	for (int i = 0; i < count; i++) {
		bool is_reversed = i == 1 || attr_string(node, "direction")[0] == 'r';
		Direction d = {.number = i, .is_reversed = is_reversed, .x = x, .lengths = lengths};
		name_activations(node, &d);
		make_direction(&m, &d, results[i]);
	}
	for (int k = 0; k < node->noutput; k++) {
		Value *parts[] = {results[0][k], results[1][k]};
		if (node->outputs[k])
			value_replace_uses(node->outputs[k], join(&m, count, parts, k));
	}
	node_remove(node);
}
