/* What the tests of operators begin with: one node, its data, its result by the interpreter.
 *
 *     OpTest t = test_of("MatMul");
 *     test_input(&t, a);
 *     test_input(&t, b);
 *     test_attr_int(&t, "axis", 1);
 *     Array *y = test_run(&t);
 *
 * Dims of an input can be made symbols (test_symbolic), which must not change the result. Every run
 * checks the program, that its text reads back as itself, that infer's dims are the result's, and
 * that some of its points are what bound mode says.
 */
#ifndef OPS_H
#define OPS_H

#include "points_check.h"

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "expr/interp/interp.h"
#include "graph/infer.h"
#include "graph/meaning.h"

enum { OP_TEST_MAX = 16 };

typedef struct OpTest {
	Arena *arena;
	Graph *graph;
	const char *op;
	int ninput, nattr, noutput;
	const Array *inputs[OP_TEST_MAX];
	bool is_constant[OP_TEST_MAX];
	unsigned symbolic[OP_TEST_MAX]; /* bit i: dim i is a symbol */
	Attr attrs[OP_TEST_MAX];
	Array *outputs[OP_TEST_MAX];
} OpTest;

static inline OpTest
test_of(const char *op)
{
	OpTest t = {.arena = arena_new("test"), .op = op, .noutput = 1};
	t.graph = graph_new(t.arena, "test", "test");
	return t;
}

/* NULL: an absent optional input. */
static inline void
test_input(OpTest *t, const Array *data)
{
	ck_assert_int_lt(t->ninput, OP_TEST_MAX);
	t->inputs[t->ninput++] = data;
}

static inline void
test_constant(OpTest *t, const Array *data)
{
	t->is_constant[t->ninput] = true;
	test_input(t, data);
}

/* Dim `dim` of the input added last becomes a symbol. */
static inline void
test_symbolic(OpTest *t, int dim)
{
	t->symbolic[t->ninput - 1] |= 1u << dim;
}

static inline void
test_attr(OpTest *t, Attr attr)
{
	ck_assert_int_lt(t->nattr, OP_TEST_MAX);
	t->attrs[t->nattr++] = attr;
}

static inline void
test_attr_int(OpTest *t, const char *name, int64_t value)
{
	test_attr(t, (Attr){.name = name, .kind = ATTR_INT, .i = value});
}

static inline void
test_attr_float(OpTest *t, const char *name, float value)
{
	test_attr(t, (Attr){.name = name, .kind = ATTR_FLOAT, .f = value});
}

static inline void
test_attr_string(OpTest *t, const char *name, const char *value)
{
	test_attr(
		t, (Attr){.name = name, .kind = ATTR_STRING, .s = value, .count = (int64_t)strlen(value)});
}

static inline void
test_attr_ints(OpTest *t, const char *name, int count, const int64_t *values)
{
	test_attr(t, (Attr){.name = name,
	                    .kind = ATTR_INTS,
	                    .count = count,
	                    .ints = arena_memdup(t->arena, values, (size_t)count * sizeof *values)});
}

static inline Value *
test_value(OpTest *t, int k)
{
	const Array *data = t->inputs[k];
	char name[32];
	snprintf(name, sizeof name, "x%d", k);
	if (!data)
		return NULL;
	if (t->is_constant[k])
		return graph_constant(t->graph, name, data);
	const Dim *dims[ARRAY_MAX_RANK];
	for (int i = 0; i < data->rank; i++) {
		char symbol[32];
		snprintf(symbol, sizeof symbol, "S%d_%d", k, i);
		dims[i] = t->symbolic[k] >> i & 1 ? dim_symbol(t->graph->ctx, symbol)
		                                  : dim_const(t->graph->ctx, data->dims[i]);
	}
	const Dim *const *kept = arena_memdup(t->arena, dims, sizeof dims);
	Type type = type_tensor(data->type, data->rank, kept);
	return graph_input(t->graph, name, &type);
}

static inline Node *
test_node(OpTest *t)
{
	Value *inputs[OP_TEST_MAX];
	const char *names[OP_TEST_MAX];
	for (int k = 0; k < t->ninput; k++)
		inputs[k] = test_value(t, k);
	for (int k = 0; k < t->noutput; k++)
		names[k] = "";
	Loc loc = {.file = "test", .op = t->op};
	Node *node = node_new(t->graph->body, NULL, t->op, &loc, t->ninput, inputs, t->noutput, names);
	for (int k = 0; k < t->nattr; k++)
		node_add_attr(node, &t->attrs[k]);
	graph_set_outputs(t->graph, t->noutput, node->outputs);
	graph_infer(t->graph);
	return node;
}

static inline void
test_check_text(const Program *program)
{
	Arena *arena = arena_new("text");
	Buf first = {.arena = arena}, second = {.arena = arena};
	program_print(&first, program);
	program_print(&second, program_parse(expr_ctx_new(arena), "text", buf_text(&first)));
	ck_assert_str_eq(buf_text(&first), buf_text(&second));
	arena_free(arena);
}

/* Output k must have the type that infer gave it; symbols were bound by the inputs. */
static inline void
test_check_type(const OpTest *t, const Node *node, int k)
{
	const Type *type = &node->outputs[k]->type;
	ck_assert_int_eq(type->dtype, t->outputs[k]->type);
	ck_assert_int_eq(type->rank, t->outputs[k]->rank);
	for (int i = 0; i < type->rank; i++) {
		int64_t dim;
		if (dim_is_const(type->dims[i], &dim))
			ck_assert_int_eq(dim, t->outputs[k]->dims[i]);
	}
}

static inline void
test_run_inside(void *arg)
{
	OpTest *t = arg;
	Node *node = test_node(t);
	Program *program = node_meaning(t->graph, node);
	ck_assert_ptr_nonnull(program);
	program_check(program);
	test_check_text(program);
	const Array *inputs[OP_TEST_MAX];
	int n = 0;
	for (int k = 0; k < t->ninput; k++)
		if (t->inputs[k])
			inputs[n++] = t->inputs[k];
	ck_assert_int_eq(n, program->ninput);
	program_eval(t->arena, program, NULL, inputs, t->outputs);
	check_program_points(t->arena, program, inputs, t->outputs);
	for (int k = 0; k < t->noutput; k++)
		test_check_type(t, node, k);
}

/* The first output; all of them are in t->outputs. */
static inline Array *
test_run(OpTest *t)
{
	Failure failure;
	if (!try_run(test_run_inside, t, &failure))
		ck_abort_msg("%s", failure.text);
	return t->outputs[0];
}

/* The sentence with which infer refuses the node; "" when it does not. */
static inline void
test_infer_inside(void *arg)
{
	test_node(arg);
}

static inline const char *
test_refusal(OpTest *t)
{
	Failure failure;
	if (try_run(test_infer_inside, t, &failure))
		return "";
	return arena_strdup(t->arena, failure.text);
}

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct Dice {
	uint64_t state;
} Dice;

/* lo..hi, both possible. */
static inline int64_t
roll(Dice *dice, int64_t lo, int64_t hi)
{
	return lo + (int64_t)(random_next(&dice->state) % (uint64_t)(hi - lo + 1));
}

/* Numbers in lo..hi: multiples of 1/16 for floats, so that short sums are exact. */
static inline Array *
random_array(Arena *arena, Dice *dice, DType type, int rank, const int64_t *dims, int lo, int hi)
{
	Array *a = array_new(arena, type, rank, dims);
	for (int64_t i = 0; i < array_count(a); i++)
		if (dtype_is_float(type))
			dtype_store_f64(type, a->data, i, (double)roll(dice, lo * 16, hi * 16) / 16);
		else
			dtype_store_i64(type, a->data, i, roll(dice, lo, hi));
	return a;
}

static inline double
value_at(const Array *a, int64_t i)
{
	return dtype_load_f64(a->type, a->data, i);
}

/* Row-major position of an index. */
static inline int64_t
flat_of(const Array *a, const int64_t *index)
{
	int64_t flat = 0;
	for (int i = 0; i < a->rank; i++)
		flat = flat * a->dims[i] + index[i];
	return flat;
}

/* The index of a row-major position. */
static inline void
index_of(const Array *a, int64_t flat, int64_t *index)
{
	for (int i = a->rank - 1; i >= 0; i--) {
		index[i] = flat % a->dims[i];
		flat /= a->dims[i];
	}
}

static inline void
expect_dims(const Array *a, int rank, const int64_t *dims)
{
	ck_assert_int_eq(a->rank, rank);
	for (int i = 0; i < rank; i++)
		ck_assert_int_eq(a->dims[i], dims[i]);
}

static inline void
expect_near(double expected, double seen, double tolerance)
{
	if (isnan(expected))
		ck_assert(isnan(seen));
	else
		ck_assert_double_le(fabs(expected - seen), tolerance * (1 + fabs(expected)));
}

#endif
