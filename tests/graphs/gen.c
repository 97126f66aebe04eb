/* Making a random graph, node by node.
 *
 * Each node is inferred and evaluated as soon as it stands there, at the first binding of the
 * symbols: what the types refuse, what gives infinities or too much data is taken away again. So
 * graphs are right by construction of the whole, not of each row, and a row may try its luck.
 *
 * A node that shows a fault of ours stays, as the last one: the graph is then the finding.
 */
#include "graphs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/eval.h"
#include "graph/infer.h"
#include "graph/text.h"

enum { GAVE_UP = 99 /* a FailKind of our own */, GRAPH_SYMBOLS = 64 };

static const Row ROWS[] = {
#define ROW(op, kind, make, domain) {#op, OP_##op, KIND_##kind, make_##make, domain},
#include "operators.def"
#undef ROW
};

const Row *
row_of(OpCode code)
{
	return &ROWS[code - 1];
}

const char *
kind_name(Kind kind)
{
	static const char *const names[] = {
#define KIND(name) #name,
#include "kinds.def"
#undef KIND
	};
	return kind < KIND_COUNT ? names[kind] : "output";
}

const char *
rows_check(void)
{
	static const char *const names[] = {
		NULL,
#define OP(name, ...) #name,
#include "graph/ops.def"
#undef OP
	};
	for (int code = 1; code < OP_COUNT; code++)
		if (code > (int)countof(ROWS) || ROWS[code - 1].code != (OpCode)code)
			return names[code];
	return NULL;
}

void
gen_give_up(void)
{
	fail_as((FailKind)GAVE_UP, NULL, "not here");
}

/* ---- looking --------------------------------------------------------------------------------- */

DType
gen_dtype(const Value *value)
{
	return value->type.dtype;
}

int
gen_rank(const Value *value)
{
	return value->type.rank;
}

static Entry *
find_entry(const Gen *g, const Value *value)
{
	for (int i = g->pool.count - 1; i >= 0; i--)
		if (g->pool.data[i].value == value)
			return &g->pool.data[i];
	return NULL;
}

const Array *
gen_data(const Gen *g, const Value *value)
{
	const Entry *entry = find_entry(g, value);
	return entry ? entry->data : value->constant;
}

int64_t
gen_dim(const Gen *g, const Value *value, int axis)
{
	const Array *data = gen_data(g, value);
	if (!data || axis >= data->rank)
		gen_give_up();
	return data->dims[axis];
}

int64_t
gen_fixed(const Value *value, int axis)
{
	int64_t dim;
	return dim_is_const(value->type.dims[axis], &dim) ? dim : -1;
}

int64_t
gen_elements(const Gen *g)
{
	return g->is_large ? LARGE_ELEMENTS : GRAPH_ELEMENTS;
}

bool
gen_is_fixed(const Value *value)
{
	return type_is_static(&value->type);
}

int64_t
gen_size(Gen *g)
{
	Trial *t = &g->dice;
	if (chance(t, 2))
		return 0;
	if (chance(t, 85))
		return PICK(t, 1, 2, 3, 4, 5, 7, 8);
	return PICK(t, 13, 16, 17, 31, 33, 65);
}

int64_t
gen_axis(Gen *g, int axis, int rank)
{
	return chance(&g->dice, 30) ? axis - rank : axis;
}

void
gen_range(const Gen *g, const Value *value, double *least, double *most)
{
	const Array *data = gen_data(g, value);
	*least = INFINITY;
	*most = -INFINITY;
	for (int64_t i = 0, count = data ? array_count(data) : 0; i < count; i++) {
		double x = dtype_load_f64(data->type, data->data, i);
		*least = fmin(*least, x);
		*most = fmax(*most, x);
	}
}

/* ---- new values ------------------------------------------------------------------------------ */

/* M has the value of N at any time: graphs in which they meet assume that they are equal. */
static const char *const SYMBOLS[] = {"N", "S", "M"};

int64_t
graph_symbol_value(uint64_t seed, int run, const char *name)
{
	static const int64_t first[] = {2, 3, 4, 5, 7, 8}, second[] = {1, 3, 5, 7, 9, 13};
	if (strcmp(name, "M") == 0)
		name = "N";
	uint64_t pick = hash_mix(seed, hash64(name, strlen(name))) % countof(first);
	return run ? second[(pick + (uint64_t)run) % countof(second)] : first[pick];
}

typedef struct Sizes {
	int64_t value[GRAPH_SYMBOLS];
	bool is_bound[GRAPH_SYMBOLS];
} Sizes;

/* The symbols' values in a run. */
static Binding
bind_run(const Gen *g, int run, Sizes *sizes)
{
	*sizes = (Sizes){.value = {0}};
	for (size_t i = 0; i < countof(SYMBOLS); i++) {
		int id = symbol_get(g->graph->ctx, SYMBOLS[i])->id;
		if (id < GRAPH_SYMBOLS) {
			sizes->value[id] = graph_symbol_value(g->seed, run, SYMBOLS[i]);
			sizes->is_bound[id] = true;
		}
	}
	return (Binding){GRAPH_SYMBOLS, sizes->value, sizes->is_bound};
}

static void
add_entry(Gen *g, Value *value, const Array *data)
{
	vec_push(g->arena, &g->pool, (Entry){value, data, 0});
}

static Array *
made_up(Gen *g, const char *name, DType type, int rank, const int64_t *dims)
{
	return sample_input(g->arena, g->seed, name, NULL, type, rank, dims);
}

Value *
gen_input_of(Gen *g, DType type, int rank, const Dim *const *dims)
{
	Sizes sizes;
	Binding binding = bind_run(g, 0, &sizes);
	int64_t extents[GRAPH_RANK + 2];
	for (int i = 0; i < rank; i++)
		if (!dim_eval(dims[i], &binding, &extents[i]))
			gen_give_up();
	if (dims_count(rank, extents) > gen_elements(g))
		gen_give_up();
	const char *name = graph_fresh_name(g->graph, "x");
	const Dim *const *kept = arena_memdup(g->arena, dims, (size_t)rank * sizeof *dims);
	Type made = type_tensor(type, rank, kept);
	Value *value = graph_input(g->graph, name, &made);
	add_entry(g, value, made_up(g, name, type, rank, extents));
	return value;
}

const Dim *
gen_extent(Gen *g, const char *symbol, int percent, int64_t size)
{
	bool is_symbol = g->dice.is_symbolic && chance(&g->dice, percent);
	return is_symbol ? dim_symbol(g->graph->ctx, symbol) : dim_const(g->graph->ctx, size);
}

/* Leading and trailing dims are symbols by chance, where they have that symbol's value or are free
 * to take it. */
Value *
gen_input(Gen *g, DType type, int rank, const int64_t *given)
{
	Trial *t = &g->dice;
	const Dim *dims[GRAPH_RANK + 2];
	int64_t extents[GRAPH_RANK + 2];
	for (int i = 0; i < rank; i++) {
		int which = i == 0 ? 0 : 1;
		bool is_free = given[i] < 0;
		extents[i] = is_free ? gen_size(g) : given[i];
		dims[i] = dim_const(g->graph->ctx, extents[i]);
		if (!t->is_symbolic || !is_free || !chance(t, i < 2 ? 60 : 15))
			continue;
		extents[i] = graph_symbol_value(g->seed, 0, SYMBOLS[which]);
		dims[i] = dim_symbol(g->graph->ctx, SYMBOLS[which]);
	}
	for (int i = 0; i < rank && dims_count(rank, extents) > gen_elements(g); i++)
		if (extents[i] > 3 && given[i] < 0) {
			extents[i] = 3;
			dims[i] = dim_const(g->graph->ctx, 3);
		}
	return gen_input_of(g, type, rank, dims);
}

static bool
is_simple(const Gen *g, const Dim *dim)
{
	int64_t number;
	bool is_simple = dim_is_const(dim, &number);
	for (size_t i = 0; i < countof(SYMBOLS); i++)
		is_simple |= dim == dim_symbol(g->graph->ctx, SYMBOLS[i]);
	return is_simple;
}

Value *
gen_like_but(Gen *g, const Value *x, DType type, int axis)
{
	const Dim *dims[GRAPH_RANK + 2], *own = dim_symbol(g->graph->ctx, "N");
	bool is_other = chance(&g->dice, axis < 0 ? 20 : 50);
	int rank = 0;
	if (!gen_data(g, x))
		return NULL;
	for (int i = 0; i < gen_rank(x); i++) {
		const Dim *dim = x->type.dims[i];
		if (!is_simple(g, dim))
			return NULL;
		if (i != axis)
			dims[rank++] = is_other && dim == own ? dim_symbol(g->graph->ctx, "M") : dim;
	}
	return gen_input_of(g, type, rank, dims);
}

Value *
gen_like(Gen *g, const Value *x, DType type)
{
	return gen_like_but(g, x, type, -1);
}

Value *
gen_constant(Gen *g, const Array *data)
{
	return graph_constant(g->graph, graph_fresh_name(g->graph, "c"), data);
}

Value *
gen_weight(Gen *g, DType type, int rank, const int64_t *dims)
{
	Trial *t = &g->dice;
	int64_t count = dims_count(rank, dims);
	bool is_integer = dtype_is_integer(type) || type == DT_BOOL;
	if (count > gen_elements(g))
		gen_give_up();
	if (dtype_class(type) == DC_X && !dtype_is_code_integer(type))
		return gen_input(g, type, rank, dims);
	if (dtype_is_code_integer(type) ||
	    count > (is_integer ? TEXT_INLINE_MAX : TEXT_INLINE_FLOATS)) {
		int number = g->graph->constants.count;
		Value *seeded = gen_constant(g, array_seeded(g->arena, type, rank, dims, (uint64_t)number));
		graph_settle_weight(seeded);
		return seeded;
	}
	Array *data = array_new(g->arena, type, rank, dims);
	int64_t least = dtype_is_signed(type) ? -4 : 0, most = type == DT_BOOL ? 1 : 9;
	if (graph_is_byte(type))
		graph_ends(type, &least, &most);
	for (int64_t i = 0; i < count; i++)
		if (is_integer)
			dtype_store_i64(type, data->data, i, roll(t, least, most));
		else
			dtype_store_f64(type, data->data, i, (double)roll(t, -8, 8) / 4);
	return gen_constant(g, data);
}

Value *
gen_weight_or_input(Gen *g, DType type, int rank, const int64_t *dims)
{
	return chance(&g->dice, 65) ? gen_weight(g, type, rank, dims) : gen_input(g, type, rank, dims);
}

Value *
gen_scale_weight(Gen *g, DType type, int64_t count)
{
	Array *data = array_seeded(g->arena, type, 1, &count, (uint64_t)g->graph->constants.count);
	Value *value = graph_constant(g->graph, graph_fresh_name(g->graph, GRAPH_SCALE), data);
	graph_settle_weight(value);
	return value;
}

Value *
gen_scales(Gen *g, DType type, int rank, const int64_t *dims)
{
	Value *inputs[] = {gen_bring(g, gen_weight(g, type, rank, dims), POSITIVE),
	                   gen_scalar(g, type, 0.0625)};
	return gen_one(g, "Mul", 2, inputs);
}

Value *
gen_ints(Gen *g, DType type, int count, const int64_t *values)
{
	int64_t length = count;
	Array *data = array_new(g->arena, type, 1, &length);
	for (int i = 0; i < count; i++)
		dtype_store_i64(type, data->data, i, values[i]);
	return gen_constant(g, data);
}

Value *
gen_scalar(Gen *g, DType type, double value)
{
	Array *data = array_new(g->arena, type, 0, NULL);
	if (dtype_is_float(type))
		dtype_store_f64(type, data->data, 0, value);
	else
		dtype_store_i64(type, data->data, 0, (int64_t)value);
	return gen_constant(g, data);
}

Value *
gen_indices(Gen *g, DType type, int rank, const int64_t *dims, int64_t extent)
{
	Trial *t = &g->dice;
	int64_t count = dims_count(rank, dims);
	if (extent < 1 || count > gen_elements(g))
		gen_give_up();
	if (count <= TEXT_INLINE_MAX && chance(t, 50)) {
		bool has_negative = chance(t, 40);
		return gen_constant(
			g, trial_integers(t, type, rank, dims, has_negative ? -extent : 0, extent - 1));
	}
	Value *any = gen_input(g, type, rank, dims);
	Value *inputs[] = {any, gen_scalar(g, type, (double)extent)};
	return gen_one(g, "Mod", 2, inputs);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void
note_text(Gen *g)
{
	if (!g->note)
		return;
	const char *text = graph_source(g->arena, g->graph);
	snprintf(g->note, GRAPH_TEXT, "%s", text);
}

typedef struct Step {
	Gen *g;
	Node *node;
	const Row *row;
} Step;

static void
evaluate(void *arg)
{
	const Step *step = arg;
	Gen *g = step->g;
	Eval *eval = eval_new(g->arena, g->graph, EVAL_exact);
	for (int i = 0; i < g->pool.count; i++)
		if (g->pool.data[i].data)
			eval_give(eval, g->pool.data[i].value, g->pool.data[i].data);
	const Node *node = step->node;
	eval_nodes(eval, 1, &node);
	for (int i = 0; i < node->noutput; i++) {
		const Array *a = node->outputs[i] ? eval_array(eval, node->outputs[i]) : NULL;
		if (a)
			add_entry(g, node->outputs[i],
			          array_from(g->arena, a->type, a->rank, a->dims, a->data));
	}
}

/* Numbers that errors stay small beside, and not too many. */
static bool
is_sound(const Gen *g, const Array *a)
{
	double most = a->type == DT_F16 ? 200 : g->most;
	int64_t count = array_count(a);
	if (count > gen_elements(g) || a->rank > GRAPH_RANK)
		return false;
	for (int64_t i = 0; i < count && dtype_is_float(a->type); i++)
		if (!(fabs(dtype_load_f64(a->type, a->data, i)) <= most))
			return false;
	return true;
}

/* Dims that were assumed to be equal must be so, at the first binding. */
static void
check_assumptions(const Gen *g, int before)
{
	Sizes sizes;
	Binding binding = bind_run(g, 0, &sizes);
	for (int i = before; i < g->graph->assumptions.count; i++) {
		const Assumption *a = &g->graph->assumptions.data[i];
		int64_t left, right;
		if (dim_eval(a->a, &binding, &left) && dim_eval(a->b, &binding, &right) && left != right)
			gen_give_up();
	}
}

static void
infer_node(void *arg)
{
	const Step *step = arg;
	node_infer(step->g->graph, step->node);
}

static void
count_uses(Gen *g, const Node *node)
{
	for (int i = 0; i < node->ninput; i++) {
		Entry *entry = node->inputs[i] ? find_entry(g, node->inputs[i]) : NULL;
		if (entry)
			entry->uses++;
		if (g->focus && node->inputs[i] == g->focus)
			g->focus = NULL;
	}
}

/* A window that is larger than what it moves over gives an extent below 0: no model has that. */
static void
check_extents(const Gen *g, const Type *type)
{
	for (int run = 0; run < GRAPH_RUNS; run++) {
		Sizes sizes;
		Binding binding = bind_run(g, run, &sizes);
		for (int d = 0; d < type->rank; d++) {
			int64_t extent;
			if (dim_eval(type->dims[d], &binding, &extent) && extent < 0)
				gen_give_up();
		}
	}
}

static void
check_outputs(const Gen *g, const Node *node)
{
	for (int i = 0; i < node->noutput; i++) {
		const Type *type = node->outputs[i] ? &node->outputs[i]->type : NULL;
		if (type && type->kind == TYPE_TENSOR && type->rank < 0)
			gen_give_up();
		if (type && type->kind == TYPE_TENSOR)
			check_extents(g, type);
	}
}

/* Texts and complex numbers, which no interpreter knows: what reads them comes last. */
static bool
is_strange(const Node *node, const Failure *failure)
{
	bool is_strange = false;
	for (int i = 0; i < node->ninput; i++)
		is_strange |= node->inputs[i] && dtype_class(gen_dtype(node->inputs[i])) == DC_X;
	return is_strange && failure->kind == FAIL_UNSUPPORTED;
}

void
gen_settle(Gen *g, Node *node)
{
	Step step = {.g = g, .node = node};
	Failure failure;
	int before = g->pool.count, assumed = g->graph->assumptions.count;
	note_text(g);
	region_update_captures(g->graph->body);
	bool is_done = try_run(infer_node, &step, &failure) && (check_outputs(g, node), true) &&
	               try_run(evaluate, &step, &failure);
	if (!is_done) {
		g->is_over |= failure.kind == FAIL_BUG || is_strange(node, &failure);
		fail_again(&failure);
	}
	check_assumptions(g, assumed);
	for (int i = before; i < g->pool.count; i++)
		if (!is_sound(g, g->pool.data[i].data))
			gen_give_up();
	count_uses(g, node);
}

Node *
gen_open(Gen *g, const char *op, int ninput, Value *const *inputs, int noutput)
{
	g->dice.region = g->region;
	return (*trial_node(&g->dice, op, ninput, inputs, noutput))->def;
}

Value **
gen_node(Gen *g, const char *op, int ninput, Value *const *inputs, int noutput)
{
	Node *node = gen_open(g, op, ninput, inputs, noutput);
	gen_settle(g, node);
	return node->outputs;
}

Value *
gen_one(Gen *g, const char *op, int ninput, Value *const *inputs)
{
	return *gen_node(g, op, ninput, inputs, 1);
}

/* ---- trying ---------------------------------------------------------------------------------- */

static void
make_row(void *arg)
{
	const Step *step = arg;
	step->row->make(step->g, step->row);
}

static void
take_back(Gen *g, Region *region, const Node *last, int pool)
{
	while (region->last != last)
		node_remove(region->last);
	g->region = region;
	g->pool.count = pool;
	g->dice.attrs.count = 0;
	region_update_captures(g->graph->body);
}

bool
gen_try(Gen *g, const Row *row)
{
	Step step = {.g = g, .row = row};
	Failure failure;
	Region *region = g->region;
	Node *last = region->last;
	int pool = g->pool.count, depth = g->depth;
	Value *focus = g->focus;
	if (try_run(make_row, &step, &failure))
		return true;
	g->depth = depth;
	g->focus = focus;
	if (g->is_over)
		return true; /* the fault stays */
	take_back(g, region, last, pool);
	return false;
}
