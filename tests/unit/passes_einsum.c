/* EinsumDecomposition keeps what an Einsum means: random equations of two operands, letters in any
 * order, in both, in one, in none of the result, twice, with dots, and dims that are open, 1 or 0.
 * What becomes of it is near the Einsum's own meaning. EINSUM_GRAPHS says how many; some hundreds
 * without it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eval/eval.h"
#include "graph/infer.h"
#include "passes/passes.h"
#include "random_number.h"
#include "unit.h"

enum { GRAPHS = 500, LETTERS = 6 };

typedef struct Case {
	uint64_t state;
	Graph *graph;
	int64_t extents[LETTERS]; /* -1: N, which is 2 */
	char letters[2][2 * LETTERS + 1], result[LETTERS + 1];
} Case;

static int
below(Case *c, int count)
{
	return (int)random_below(&c->state, (unsigned)count);
}

/* ---- equations ---- */

/* At a chance place of the text. */
static void
put(Case *c, char *text, char letter)
{
	size_t length = strlen(text), at = (size_t)below(c, (int)length + 1);
	memmove(text + at + 1, text + at, length - at + 1);
	text[at] = letter;
}

/* Mostly letters of batches, rows, columns and terms; the last ones are none of these, at times. */
static void
make_letters(Case *c)
{
	static const bool in_left[] = {1, 1, 0, 1}, in_right[] = {1, 0, 1, 1},
					  in_result[] = {1, 1, 1, 0};
	int count = 3 + below(c, LETTERS - 2);
	bool is_sorted = below(c, 2);
	for (int i = 0; i < count; i++) {
		char letter = (char)('a' + i);
		int kind = i < 3 ? i + 1 : below(c, 4);
		bool is_odd = below(c, 12) == 0;
		if (in_left[kind] || (is_odd && below(c, 2)))
			put(c, c->letters[0], letter);
		if (in_right[kind])
			put(c, c->letters[1], letter);
		if (is_odd && below(c, 3) == 0)
			put(c, c->letters[below(c, 2)], letter);
		if (in_result[kind] != (is_odd && below(c, 3) == 0))
			put(c, c->result, letter);
		c->extents[i] = below(c, 8) ? 1 + below(c, 4) : below(c, 3) - 1;
	}
	for (int i = 0; is_sorted && c->result[i];
	     i++) /* letters of both operands first, then the left one's */
		for (int k = 0; c->result[k + 1]; k++) {
			char a = c->result[k], b = c->result[k + 1];
			int x = 2 * !strchr(c->letters[0], a) + !strchr(c->letters[1], a);
			int y = 2 * !strchr(c->letters[0], b) + !strchr(c->letters[1], b);
			if (x > y) {
				c->result[k] = b;
				c->result[k + 1] = a;
			}
		}
}

static Value *
operand(Case *c, int side)
{
	ExprCtx *ctx = c->graph->ctx;
	int rank = (int)strlen(c->letters[side]);
	const Dim **dims = NEW_N(c->graph->arena, const Dim *, rank);
	for (int d = 0; d < rank; d++) {
		int64_t extent = c->extents[c->letters[side][d] - 'a'];
		bool is_one = below(c, 20) == 0; /* it is broadcast */
		dims[d] = is_one       ? dim_const(ctx, 1)
		          : extent < 0 ? dim_symbol(ctx, "N")
		                       : dim_const(ctx, extent);
	}
	Type type = type_tensor(DT_F32, rank, dims);
	return graph_input(c->graph, side ? "b" : "a", &type);
}

static Value *
make_einsum(Case *c)
{
	static const Loc none = {0};
	Value *inputs[] = {operand(c, 0), operand(c, 1)};
	Node *node =
		node_new(c->graph->body, NULL, "Einsum", &none, 2, inputs, 1, (const char *[]){""});
	Buf text = {.arena = c->graph->arena};
	bool has_dots = below(c, 6) == 0 && strchr(c->letters[0], 'd') == c->letters[0] &&
	                c->letters[0][0] && c->letters[1][0] == 'd' && c->result[0] == 'd';
	int from = has_dots;
	const char *dots = has_dots ? "..." : "";
	buf_printf(&text, "%s%s,%s%s->%s%s", dots, c->letters[0] + from, dots, c->letters[1] + from,
	           dots, c->result + from);
	const char *equation = buf_text(&text);
	node_add_attr(node, &(Attr){.name = "equation",
	                            .kind = ATTR_STRING,
	                            .count = (int64_t)strlen(equation),
	                            .s = equation});
	return node_try_infer(node) ? node->outputs[0] : NULL;
}

/* ---- running ---- */

static const Array *
data_of(Case *c, const Value *value)
{
	int64_t dims[2 * LETTERS];
	for (int d = 0; d < value->type.rank; d++)
		if (!dim_is_const(value->type.dims[d], &dims[d]))
			dims[d] = 2;
	Array *array = array_new(c->graph->arena, DT_F32, value->type.rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_f64(DT_F32, array->data, i, below(c, 4000) / 500.0 - 4);
	return array;
}

static void
check_near(const Array *before, const Array *after, const char *text)
{
	ck_assert_int_eq(array_count(before), array_count(after));
	for (int64_t i = 0; i < array_count(before); i++) {
		double a = dtype_load_f64(DT_F32, before->data, i);
		double b = dtype_load_f64(DT_F32, after->data, i);
		ck_assert_msg(fabs(a - b) <= 1e-4 * (1 + fabs(a)), "element %d: %.9g, then %.9g\n%s",
		              (int)i, a, b, text);
	}
}

/* For no machine nothing becomes more nodes that are no views; for one, whatever can become a
 * product does. */
static bool
decompose(Case *c, int *views_alone)
{
	const Target target = {.device = device_find("cpu:x86-64-v4")};
	PassContext context = {.arena = c->graph->arena, .running = "test", .level = 2};
	bool is_product = pass_EinsumDecomposition(c->graph, &context);
	*views_alone += is_product;
	for (const Node *node = c->graph->body->first; node; node = node->next)
		ck_assert(node->op->code != OP_Transpose);
	context.target = &target;
	is_product |= pass_EinsumDecomposition(c->graph, &context);
	pass_DeadCodeElimination(c->graph, &context);
	return is_product;
}

START_TEST(products_mean_the_same)
{
	int products = 0, kept = 0, views_alone = 0;
	for (int i = 0; i < GRAPHS; i++) {
		Arena *arena = arena_new("test");
		Case c = {.state = (uint64_t)_i * GRAPHS + (uint64_t)i};
		c.graph = graph_new(arena, "g", "random");
		make_letters(&c);
		Value *y = make_einsum(&c);
		if (y) {
			graph_set_outputs(c.graph, 1, &y);
			graph_infer(c.graph);
			const Array *data[] = {data_of(&c, c.graph->body->params[0]),
			                       data_of(&c, c.graph->body->params[1])};
			const Array *before, *after;
			eval_graph(arena, c.graph, data, &before);
			Buf text = {.arena = arena};
			graph_print(&text, c.graph);
			bool is_product = decompose(&c, &views_alone);
			graph_print(&text, c.graph);
			graph_check(c.graph);
			eval_graph(arena, c.graph, data, &after);
			check_near(before, after, buf_text(&text));
			ck_assert_msg(is_product || c.graph->body->first == c.graph->body->last,
			              "something was left over\n%s", buf_text(&text));
			products += is_product;
			kept += !is_product;
		}
		arena_free(arena);
	}
	ck_assert_int_gt(products, GRAPHS / 5);
	ck_assert_int_gt(kept, GRAPHS / 5);
	ck_assert_int_gt(views_alone, GRAPHS / 50);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("einsum");
	const char *given = getenv("EINSUM_GRAPHS");
	int graphs = given ? atoi(given) : GRAPHS;
	tcase_add_loop_test(t, products_mean_the_same, 0, (graphs + GRAPHS - 1) / GRAPHS);
	return unit_run(t);
}
