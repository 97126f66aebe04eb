/* SimplifyExpr keeps what a graph means: random chains of nodes that move elements, cast them, or
 * work on each, of small and empty and scalar tensors, with NaN, infinities and -0 among the
 * numbers, before and after: every bit is the same, but for what a NaN carries. Its results are so
 * as well that it finds nothing more to do.
 * SIMPLIFY_GRAPHS says how many; some hundreds without it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"
#include "graph/infer.h"
#include "passes/passes.h"
#include "random_number.h"
#include "same_numbers.h"
#include "unit.h"

enum { GRAPHS = 1000, MAX_NODES = 9, MAX_VALUES = 40, MAX_RANK = 4 };

typedef struct Case {
	uint64_t state;
	Graph *graph;
	int count;
	Value *values[MAX_VALUES];
} Case;

static int
below(Case *c, int count)
{
	return (int)random_below(&c->state, (unsigned)count);
}

static Value *
any(Case *c)
{
	int late = c->count > 3 ? 3 : c->count; /* chains are long */
	return below(c, 3) ? c->values[c->count - 1 - below(c, late)] : c->values[below(c, c->count)];
}

/* ---- constants ---- */

static Value *
integers(Case *c, int count, const int64_t *numbers)
{
	Graph *g = c->graph;
	return graph_constant(g, graph_fresh_name(g, "i"), array_vector_i64(g->arena, count, numbers));
}

/* A number that is often neutral, once or as often as its dims say. */
static Value *
number(Case *c, DType type)
{
	static const double often[] = {0, 1, 1, -0.0, 2, -1, 6, 0.5};
	int64_t dims[] = {1, 1 + below(c, 3)};
	int rank = below(c, 3);
	Array *array = array_new(c->graph->arena, type, rank, dims);
	double value = often[below(c, 8)];
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_f64(type, array->data, i, value + (below(c, 4) ? 0 : 1));
	return graph_constant(c->graph, graph_fresh_name(c->graph, "n"), array);
}

/* ---- nodes ---- */

static Node *
node(Case *c, const char *op, int ninput, Value *const *inputs)
{
	static const Loc none = {0};
	const char *name = "";
	return node_new(c->graph->body, NULL, op, &none, ninput, inputs, 1, &name);
}

static void
set_ints(Case *c, Node *made, const char *name, int count, const int64_t *numbers)
{
	int64_t *kept = arena_memdup(c->graph->arena, numbers, (size_t)count * sizeof *kept);
	node_add_attr(made, &(Attr){.name = name, .kind = ATTR_INTS, .count = count, .ints = kept});
}

static Node *
transpose(Case *c, Value *x)
{
	int64_t perm[MAX_RANK + 1];
	int rank = x->type.rank;
	for (int i = 0; i < rank; i++) {
		int at = below(c, i + 1);
		perm[i] = perm[at];
		perm[at] = i;
	}
	Node *made = node(c, "Transpose", 1, &x);
	set_ints(c, made, "perm", rank, perm);
	return made;
}

/* To its dims in another order, joined, or taken apart; with 0 and -1 at times. */
static Node *
reshape(Case *c, Value *x)
{
	int64_t dims[MAX_RANK + 2];
	int rank = 0;
	for (int d = 0; d < x->type.rank; d++) {
		int64_t extent;
		bool is_fixed = dim_is_const(x->type.dims[d], &extent);
		if (rank > 0 && dims[rank - 1] > 0 && is_fixed && below(c, 3) == 0)
			dims[rank - 1] *= extent;
		else
			dims[rank++] = is_fixed ? extent : 0;
	}
	if (rank > 1 && below(c, 3) == 0) {
		int a = below(c, rank), b = below(c, rank);
		int64_t kept = dims[a];
		dims[a] = dims[b];
		dims[b] = kept;
	}
	if (rank < MAX_RANK && below(c, 3) == 0)
		dims[rank++] = 1;
	if (rank > 0 && below(c, 2) == 0)
		dims[below(c, rank)] = -1;
	return node(c, "Reshape", 2, (Value *[]){x, integers(c, rank, dims)});
}

static Node *
by_axis(Case *c, Value *x, const char *op)
{
	int64_t axis = below(c, x->type.rank + 1);
	return node(c, op, 2, (Value *[]){x, integers(c, 1, &axis)});
}

static Node *
expand(Case *c, Value *x)
{
	int64_t dims[MAX_RANK + 1];
	int rank = x->type.rank + (x->type.rank < MAX_RANK && below(c, 3) == 0);
	for (int d = 0; d < rank; d++)
		dims[d] = below(c, 2) ? 1 : 1 + below(c, 3);
	return node(c, "Expand", 2, (Value *[]){x, integers(c, rank, dims)});
}

static Node *
slice(Case *c, Value *x)
{
	static const int64_t steps[] = {1, 1, 1, -1, -1, 2, -2};
	int64_t axis = below(c, x->type.rank + 1), step = steps[below(c, 7)];
	int64_t from = step < 0 ? (below(c, 2) ? INT64_MAX : -2) : below(c, 3) - 1;
	int64_t to = step < 0 ? (below(c, 2) ? INT64_MIN : 0)
	                      : (const int64_t[]){INT64_MAX, INT64_MAX, 2, -1}[below(c, 4)];
	return node(c, "Slice", 5,
	            (Value *[]){x, integers(c, 1, &from), integers(c, 1, &to), integers(c, 1, &axis),
	                        integers(c, 1, &step)});
}

static Node *
cast(Case *c, Value *x)
{
	static const DType types[] = {DT_F32, DT_F16, DT_BF16, DT_F64, DT_I32, DT_I64,
	                              DT_I8,  DT_U8,  DT_BOOL, DT_F32, DT_F32};
	Node *made = node(c, "Cast", 1, &x);
	node_set_int(made, "to", types[below(c, 11)]);
	return made;
}

static Node *
work(Case *c, Value *x)
{
	static const char *const ones[] = {"Relu", "Neg", "Abs",  "Floor",    "Round",
	                                   "Sign", "Not", "Ceil", "Identity", "Sigmoid"};
	static const char *const twos[] = {"Add", "Sub", "Mul", "Div", "Max",
	                                   "Min", "Pow", "And", "Or"};
	if (below(c, 2))
		return node(c, ones[below(c, 10)], 1, &x);
	Value *other = below(c, 2) ? any(c) : number(c, x->type.dtype);
	bool is_first = below(c, 4);
	return node(c, twos[below(c, 9)], 2, (Value *[]){is_first ? x : other, is_first ? other : x});
}

static Node *
whole(Case *c, Value *x)
{
	if (below(c, 2)) {
		Node *made = node(c, "Softmax", 1, &x);
		node_set_int(made, "axis", -1);
		return made;
	}
	Value *bounds[] = {x, number(c, x->type.dtype), number(c, x->type.dtype)};
	return below(c, 2) ? node(c, "Clip", 3, bounds) : by_axis(c, x, "ReduceSum");
}

static Node *
any_node(Case *c)
{
	Value *x = any(c);
	switch (below(c, 11)) {
	case 0:
	case 1:
		return transpose(c, x);
	case 2:
	case 3:
		return reshape(c, x);
	case 4:
		return by_axis(c, x, below(c, 2) ? "Unsqueeze" : "Squeeze");
	case 5:
		return below(c, 3) ? slice(c, x) : expand(c, x);
	case 6:
		return cast(c, x);
	case 7:
	case 8:
		return work(c, x);
	case 9:
		return slice(c, x);
	default:
		return whole(c, x);
	}
}

/* Nodes that do not take what they got are no mistakes: others are made. */
static void
grow(Case *c)
{
	Node *made = any_node(c);
	const Type *type = &made->outputs[0]->type;
	if (node_try_infer(made) && type->rank >= 0 && type->rank <= MAX_RANK)
		c->values[c->count++] = made->outputs[0];
	else
		node_remove(made);
}

static void
make_graph(Case *c, Arena *arena)
{
	Graph *g = c->graph = graph_new(arena, "g", "random");
	for (int i = 0; i < 2; i++) {
		const Dim **dims = NEW_N(arena, const Dim *, MAX_RANK);
		int rank = below(c, MAX_RANK);
		bool is_cube = below(c, 3) == 0; /* so that types do not tell one order from another */
		for (int d = 0; d < rank; d++)
			dims[d] = is_cube && d > 0 ? dims[0]
			          : below(c, 4)    ? dim_const(g->ctx, below(c, 12) ? 1 + below(c, 4) : 0)
			                           : dim_symbol(g->ctx, below(c, 2) ? "N" : "M");
		Type type = type_tensor(below(c, 4) ? DT_F32 : DT_I8, rank, dims);
		c->values[c->count++] = graph_input(g, i ? "b" : "a", &type);
	}
	for (int i = 0; i < MAX_NODES; i++)
		grow(c);
	Value *outputs[] = {c->values[c->count - 1], any(c)};
	bool is_second = outputs[1]->def && outputs[1] != outputs[0];
	if (!outputs[0]->def) /* an input: nothing was made */
		outputs[0] = node(c, "Identity", 1, outputs)->outputs[0];
	graph_set_outputs(g, 1 + is_second, outputs);
	graph_infer(g);
}

/* ---- running ---- */

static Array *
input_of(Case *c, Arena *arena, const Value *value)
{
	static const double special[] = {-0.0, 0, 1, -1, INFINITY, -INFINITY, NAN, 1e-40, 300, 2.5};
	int64_t dims[MAX_RANK];
	for (int d = 0; d < value->type.rank; d++)
		if (!dim_is_const(value->type.dims[d], &dims[d]))
			dims[d] = value->type.dims[d] == dim_symbol(c->graph->ctx, "N") ? 2 : 3;
	Array *array = array_new(arena, value->type.dtype, value->type.rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_f64(array->type, array->data, i,
		                below(c, 3) ? below(c, 2000) / 100.0 - 10 : special[below(c, 10)]);
	return array;
}

typedef struct Run {
	Arena *arena;
	const Graph *graph;
	const Array *inputs[2], *outputs[2];
} Run;

static void
run(void *arg)
{
	Run *r = arg;
	eval_graph(r->arena, r->graph, r->inputs, r->outputs);
}

START_TEST(mean_the_same)
{
	int simplified = 0, ran = 0;
	for (int i = 0; i < GRAPHS; i++) {
		Arena *arena = arena_new("test");
		Case c = {.state = (uint64_t)_i * GRAPHS + (uint64_t)i};
		make_graph(&c, arena);
		Run before = {.arena = arena, .graph = c.graph}, after;
		for (int k = 0; k < 2; k++)
			before.inputs[k] = input_of(&c, arena, c.graph->body->params[k]);
		Buf text = {.arena = arena};
		graph_print(&text, c.graph);
		after = before;
		Failure refused; /* dims that data does not have */
		bool runs = try_run(run, &before, &refused);
		PassContext context = {.arena = arena, .running = "test", .level = 1};
		pass_DeadCodeElimination(c.graph, &context);
		simplified += pass_SimplifyExpr(c.graph, &context);
		ck_assert_msg(!pass_SimplifyExpr(c.graph, &context), "not all at once\n%s",
		              buf_text(&text));
		pass_DeadCodeElimination(c.graph, &context);
		graph_check(c.graph);
		if (runs) {
			ran++;
			eval_graph(arena, c.graph, after.inputs, after.outputs);
			for (int k = 0; k < c.graph->body->nresult; k++)
				if (!array_same_numbers(before.outputs[k], after.outputs[k])) {
					Buf now = {.arena = arena};
					graph_print(&now, c.graph);
					ck_abort_msg("result %d is another\n%s%s", k, buf_text(&text), buf_text(&now));
				}
		}
		arena_free(arena);
	}
	ck_assert_int_gt(simplified, GRAPHS / 4);
	ck_assert_int_gt(ran, GRAPHS / 2);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("simplify");
	const char *given = getenv("SIMPLIFY_GRAPHS");
	int graphs = given ? atoi(given) : GRAPHS;
	tcase_add_loop_test(t, mean_the_same, 0, (graphs + GRAPHS - 1) / GRAPHS);
	return unit_run(t);
}
