/* SimplifyShapeOf keeps what a graph means, and makes it smaller: random graphs of what exporters
 * compute of shapes (Shape, Gather, Slice, Concat, Where of Equal, products of dims) over open,
 * empty and scalar tensors give the same integers before and after, by no more nodes that are no
 * views.
 * SHAPE_GRAPHS says how many; some hundreds without it.
 */
#include <stdlib.h>

#include "eval/eval.h"
#include "graph/infer.h"
#include "passes/passes.h"
#include "random_number.h"
#include "unit.h"

enum { GRAPHS = 500, MAX_NODES = 14, MAX_VALUES = 40, MAX_RANK = 4 };

typedef struct Case {
	uint64_t state;
	Graph *graph;
	int count;
	Value *values[MAX_VALUES]; /* of integers, scalars or vectors */
} Case;

static int
below(Case *c, int count)
{
	return (int)random_below(&c->state, (unsigned)count);
}

static Value *
numbers(Case *c, int count, const int64_t *data)
{
	Graph *g = c->graph;
	return graph_constant(g, graph_fresh_name(g, "i"), array_vector_i64(g->arena, count, data));
}

static Value *
number(Case *c, int64_t value)
{
	return numbers(c, 1, &value);
}

static Value *
scalar(Case *c, int64_t value)
{
	Array *array = array_new(c->graph->arena, DT_I64, 0, NULL);
	dtype_store_i64(DT_I64, array->data, 0, value);
	return graph_constant(c->graph, graph_fresh_name(c->graph, "s"), array);
}

static Node *
node(Case *c, const char *op, int ninput, Value *const *inputs)
{
	static const Loc none = {0};
	const char *name = "";
	return node_new(c->graph->body, NULL, op, &none, ninput, inputs, 1, &name);
}

static Value *
any(Case *c)
{
	return c->values[below(c, c->count)];
}

static Node *
shape(Case *c)
{
	Node *made = node(c, "Shape", 1, &c->graph->body->params[below(c, 2)]);
	if (below(c, 3) == 0)
		node_set_int(made, "start", below(c, 3) - 1);
	if (below(c, 3) == 0)
		node_set_int(made, "end", below(c, 4) - 1);
	return made;
}

static Node *
gather(Case *c)
{
	int64_t places[] = {below(c, 4) - 1, below(c, 4) - 1};
	int way = below(c, 3);
	Value *at = way == 0 ? scalar(c, places[0]) : numbers(c, way, places);
	return node(c, "Gather", 2, (Value *[]){any(c), at});
}

static Node *
concat(Case *c)
{
	Value *parts[3];
	int count = 1 + below(c, 3);
	for (int i = 0; i < count; i++)
		parts[i] = below(c, 4) ? any(c) : number(c, below(c, 5) - 1);
	Node *made = node(c, "Concat", count, parts);
	node_set_int(made, "axis", 0);
	return made;
}

static Node *
where(Case *c)
{
	Value *x = any(c);
	Node *equal = node(c, "Equal", 2, (Value *[]){x, number(c, -1)});
	node_infer(c->graph, equal);
	return node(c, "Where", 3, (Value *[]){equal->outputs[0], number(c, 1), x});
}

static Node *
any_node(Case *c)
{
	static const char *const twos[] = {"Add", "Mul", "Max", "Sub"};
	if (c->count == 0)
		return shape(c);
	switch (below(c, 9)) {
	case 0:
	case 1:
		return shape(c);
	case 2:
	case 3:
		return gather(c);
	case 4:
		return concat(c);
	case 5:
		return where(c);
	case 6:
		return node(c, below(c, 2) ? "Unsqueeze" : "Squeeze", 2, (Value *[]){any(c), number(c, 0)});
	case 7: {
		Node *made = node(c, "ReduceProd", 1, (Value *[]){any(c)});
		node_set_int(made, "keepdims", below(c, 2));
		return made;
	}
	default:
		return node(c, twos[below(c, 4)], 2,
		            (Value *[]){any(c), below(c, 2) ? any(c) : number(c, 1)});
	}
}

/* Nodes that do not take what they got are no mistakes: others are made. */
static void
grow(Case *c)
{
	Node *made = any_node(c);
	const Type *type = &made->outputs[0]->type;
	if (node_try_infer(made) && (type->rank == 0 || type->rank == 1))
		c->values[c->count++] = made->outputs[0];
	else
		node_remove(made);
}

static bool
make_graph(Case *c, Arena *arena)
{
	Graph *g = c->graph = graph_new(arena, "g", "random");
	for (int i = 0; i < 2; i++) {
		const Dim **dims = NEW_N(arena, const Dim *, MAX_RANK);
		int rank = below(c, MAX_RANK + 1);
		for (int d = 0; d < rank; d++)
			dims[d] = below(c, 3) ? dim_symbol(g->ctx, (const char *[]){"N", "M", "K"}[below(c, 3)])
			                      : dim_const(g->ctx, below(c, 4));
		Type type = type_tensor(DT_F32, rank, dims);
		graph_input(g, i ? "b" : "a", &type);
	}
	for (int i = 0; i < MAX_NODES; i++)
		grow(c);
	if (c->count == 0)
		return false;
	Value *outputs[] = {c->values[c->count - 1], any(c)};
	graph_set_outputs(g, 1 + (outputs[0] != outputs[1]), outputs);
	graph_infer(g);
	return true;
}

/* Nodes that are no views, and the others. */
static int
size_of(const Graph *graph)
{
	int count = 0;
	for (const Node *n = graph->body->first; n; n = n->next)
		count +=
			n->op->code != OP_Reshape && n->op->code != OP_Squeeze && n->op->code != OP_Unsqueeze;
	return count;
}

static Array *
input_of(Case *c, Arena *arena, const Value *value)
{
	int64_t dims[MAX_RANK];
	for (int d = 0; d < value->type.rank; d++)
		if (!dim_is_const(value->type.dims[d], &dims[d]))
			dims[d] = value->type.dims[d] == dim_symbol(c->graph->ctx, "N")   ? 2
			          : value->type.dims[d] == dim_symbol(c->graph->ctx, "M") ? 3
			                                                                  : 0;
	return array_new(arena, DT_F32, value->type.rank, dims);
}

static void
check_same(const Case *c, const Array *before, const Array *after, const char *text)
{
	Buf now = {.arena = c->graph->arena};
	graph_print(&now, c->graph);
	ck_assert_msg(array_count(before) == array_count(after) && before->rank == after->rank &&
	                  array_same_bytes(before, after),
	              "other integers\n%s%s", text, buf_text(&now));
}

typedef struct Run {
	const Graph *graph;
	const Array *data[2], *outputs[2];
} Run;

static void
run(void *arg)
{
	Run *r = arg;
	eval_graph(r->graph->arena, r->graph, r->data, r->outputs);
}

START_TEST(mean_the_same)
{
	int changed = 0, smaller = 0, ran = 0;
	for (int i = 0; i < GRAPHS; i++) {
		Arena *arena = arena_new("test");
		Case c = {.state = (uint64_t)_i * GRAPHS + (uint64_t)i};
		if (make_graph(&c, arena)) {
			Run before = {.graph = c.graph};
			for (int k = 0; k < 2; k++)
				before.data[k] = input_of(&c, arena, c.graph->body->params[k]);
			Run after = before;
			PassContext context = {.arena = arena, .running = "test", .level = 1};
			pass_FoldConstant(c.graph, &context);
			pass_DeadCodeElimination(c.graph, &context);
			Buf text = {.arena = arena};
			graph_print(&text, c.graph);
			Failure refused; /* an index that is outside */
			bool runs = try_run(run, &before, &refused);
			int size = size_of(c.graph), rounds = 0;
			while (pass_SimplifyShapeOf(c.graph, &context)) {
				ck_assert_msg(++rounds < MAX_NODES, "it does not end\n%s", buf_text(&text));
				pass_EliminateCommonSubexpr(c.graph, &context);
				pass_DeadCodeElimination(c.graph, &context);
			}
			graph_check(c.graph);
			if (runs)
				run(&after);
			for (int k = 0; runs && k < c.graph->body->nresult; k++)
				check_same(&c, before.outputs[k], after.outputs[k], buf_text(&text));
			ran += runs;
			ck_assert_msg(size_of(c.graph) <= size, "it has grown\n%s", buf_text(&text));
			changed += rounds > 0;
			smaller += size_of(c.graph) < size;
		}
		arena_free(arena);
	}
	ck_assert_int_gt(changed, GRAPHS / 5);
	ck_assert_int_gt(smaller, GRAPHS / 10);
	ck_assert_int_gt(ran, GRAPHS / 3);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("shape of");
	const char *given = getenv("SHAPE_GRAPHS");
	int graphs = given ? atoi(given) : GRAPHS;
	tcase_add_loop_test(t, mean_the_same, 0, (graphs + GRAPHS - 1) / GRAPHS);
	return unit_run(t);
}
