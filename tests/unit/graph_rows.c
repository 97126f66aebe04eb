/* Every row of ops.def that has a meaning: what infer says and what the program computes agree.
 *
 * Pointwise rows get random broadcast shapes of every element type they take. The others have
 * examples in the table, which `list ops` shows; a row without one fails the test. Each graph is
 * checked, printed and read back; each program is verified, printed, read back and run on small
 * data.
 */
#include "ops.h"

/* ---- one graph ------------------------------------------------------------------------------- */

static const char *
graph_text(const Graph *graph)
{
	Buf buf = {.arena = graph->arena};
	graph_print(&buf, graph);
	return buf_text(&buf);
}

static void
check_graph_text(const Graph *graph)
{
	Arena *arena = arena_new("again");
	const char *text = graph_text(graph);
	ck_assert_str_eq(text, graph_text(graph_parse(arena, "again", text)));
	ck_assert_str_eq(text, graph_text(graph_clone(arena, graph)));
	arena_free(arena);
}

/* The text says what the node means where the data of numbered weights is not there: `run --prove`
 * reads it so from a bundle. */
static void
check_bare_text(const Graph *graph, const Program *program)
{
	Graph *bare = graph_parse_bare(arena_new("bare"), "bare", graph_text(graph));
	for (int i = 0; i < bare->constants.count; i++)
		if (!bare->constants.data[i]->constant->data)
			bare->constants.data[i]->constant = NULL;
	graph_infer(bare);
	Buf want = {.arena = bare->arena}, seen = {.arena = bare->arena};
	program_print(&want, program);
	program_print(&seen, node_meaning(bare, bare->body->last));
	ck_assert_str_eq(buf_text(&seen), buf_text(&want));
	arena_free(bare->arena);
}

/* Small data for an input; symbols are 3. Integers are 0 or 1, so they serve as indices. */
static const Array *
input_data(Arena *arena, const Tensor *tensor, const Binding *binding)
{
	int64_t dims[ARRAY_MAX_RANK];
	Dice dice = {7};
	for (int i = 0; i < tensor->rank; i++)
		ck_assert(dim_eval(tensor->hi[i], binding, &dims[i]));
	if (dtype_class(tensor->type) == DC_S)
		return array_new(arena, tensor->type, tensor->rank, dims);
	return random_array(arena, &dice, tensor->type, tensor->rank, dims, 0, 1);
}

static void
run_program(const Graph *graph, const Node *node, const Program *program)
{
	enum { SYMBOLS = 512, EXTENT = 3 };
	int64_t values[SYMBOLS];
	bool is_bound[SYMBOLS];
	for (int i = 0; i < SYMBOLS; i++) {
		values[i] = EXTENT;
		is_bound[i] = true;
	}
	Binding binding = {SYMBOLS, values, is_bound};
	const Array **inputs = NEW_N(graph->arena, const Array *, program->ninput);
	Value **sources = NEW_N(graph->arena, Value *, node->ninput);
	ck_assert_int_eq(node_meaning_inputs(node, sources), program->ninput);
	for (int i = 0; i < program->ninput; i++)
		inputs[i] = sources[i]->constant ? sources[i]->constant
		                                 : input_data(graph->arena, program->inputs[i], &binding);
	Array **outputs = NEW_N(graph->arena, Array *, node->noutput);
	program_eval(graph->arena, program, &binding, inputs, outputs);
	for (int i = 0; i < node->noutput; i++) {
		if (!node->outputs[i])
			continue;
		const Type *type = &node->outputs[i]->type;
		ck_assert_int_eq(outputs[i]->type, type->dtype);
		ck_assert_int_eq(outputs[i]->rank, type->rank);
		for (int d = 0; d < type->rank; d++) {
			int64_t extent;
			ck_assert(dim_eval(type->dims[d], &binding, &extent));
			ck_assert_int_eq(outputs[i]->dims[d], extent);
		}
	}
}

static void
check_node_text(void *arg)
{
	Graph *graph = graph_parse(arena_new("row"), "row", arg);
	graph_infer(graph);
	graph_check(graph);
	check_graph_text(graph);
	const Node *node = graph->body->last;
	ck_assert(node_has_meaning(node));
	Program *program = node_meaning(graph, node);
	program_check(program);
	test_check_text(program);
	check_bare_text(graph, program);
	run_program(graph, node, program);
	arena_free(graph->arena);
}

static void
check_text(char *text)
{
	Failure failure;
	if (!try_run(check_node_text, text, &failure))
		ck_abort_msg("%s\nin %s", failure.text, text);
}

/* ---- rows with examples ---------------------------------------------------------------------- */

/* Extents by chance, three times. */
START_TEST(examples)
{
	Arena *arena = arena_new("example");
	const OpInfo *op = op_row(op_table_new(arena), (OpCode)_i);
	Dice dice = {(uint64_t)_i + 1};
	int count = 0;
	for (bool is_there = true; is_there; count += is_there)
		for (int round = 0; is_there && round < 3; round++) {
			int64_t extents[26];
			for (int i = 0; i < 26; i++)
				extents[i] = roll(&dice, 2, 6);
			const char *text = op_example(arena, op, count, extents);
			is_there = text != NULL;
			if (text)
				check_text(arena_strdup(arena, text));
		}
	ck_assert_msg((count > 0) == (op->meaning == MEANING_BUILD), "%s: examples", op->name);
	arena_free(arena);
}
END_TEST

/* ---- pointwise rows -------------------------------------------------------------------------- */

static bool
is_pointwise(const OpInfo *op)
{
	return op->meaning == MEANING_FORMULA;
}

/* A shape that broadcasts to `rank` dims: some missing in front, some 1. */
static void
put_shape(Buf *buf, Dice *dice, int rank, const int64_t *extents, bool is_whole)
{
	int first = is_whole ? 0 : (int)roll(dice, 0, rank);
	for (int i = first; i < rank; i++) {
		buf_puts(buf, i == first ? "[" : ",");
		if (!is_whole && roll(dice, 0, 3) == 0)
			buf_puts(buf, "1");
		else if (i == 0)
			buf_puts(buf, "N");
		else
			buf_printf(buf, "%d", (int)extents[i]);
	}
	buf_puts(buf, first < rank ? "]" : "");
}

static DType
type_of_param(const ParamSpec *param, DType letter)
{
	if (param->letter)
		return letter;
	for (int type = 1; type < DT_COUNT; type++)
		if (param->types >> type & 1)
			return (DType)type;
	return DT_NONE;
}

/* A node of the row with operands of element type `letter`. */
static char *
pointwise_text(Arena *arena, const OpInfo *op, DType letter, Dice *dice)
{
	Buf params = {.arena = arena}, uses = {.arena = arena};
	int64_t extents[4];
	int rank = (int)roll(dice, 1, 4);
	for (int i = 0; i < 4; i++)
		extents[i] = roll(dice, 2, 5);
	int count = op->inputs[op->ninput - 1].variadic ? (int)roll(dice, 1, 3) : op->ninput;
	for (int i = 0; i < count; i++) {
		const ParamSpec *param = op_input(op, i);
		buf_puts(&uses, i ? ", " : "");
		if (param->optional && roll(dice, 0, 2) == 0) {
			buf_puts(&uses, "_");
			continue;
		}
		buf_printf(&uses, "%%x%d", i);
		buf_printf(&params, "%s%%x%d: %s", params.size ? ", " : "", i,
		           dtype_name(type_of_param(param, letter)));
		if (!param->optional)
			put_shape(&params, dice, rank, extents, i == 0);
	}
	bool has_direction = op_attr(op, "direction") != NULL;
	return arena_printf(arena, "graph row(%s) -> %%y {\n  %%y = %s(%s)%s\n}\n", buf_text(&params),
	                    op_text(arena, op), buf_text(&uses),
	                    has_direction ? " {direction=\"LEFT\"}" : "");
}

static bool
takes(const OpInfo *op, DType type)
{
	bool is_plain = dtype_is_arithmetic(type);
	return is_plain && (op->inputs[0].letter || op->ninput > 1) &&
	       (op->inputs[op->ninput - 1].types >> type & 1);
}

START_TEST(pointwise)
{
	Arena *arena = arena_new("pointwise");
	const OpInfo *op = op_row(op_table_new(arena), (OpCode)_i);
	Dice dice = {(uint64_t)_i + 99};
	for (int type = 1; is_pointwise(op) && type < DT_COUNT; type++) {
		if (!takes(op, (DType)type))
			continue;
		for (int round = 0; round < 2; round++)
			check_text(pointwise_text(arena, op, (DType)type, &dice));
	}
	arena_free(arena);
}
END_TEST

START_TEST(every_row)
{
	Arena *arena = arena_new("rows");
	const OpTable *table = op_table_new(arena);
	for (int code = 1; code < OP_COUNT; code++) {
		const OpInfo *op = op_row(table, (OpCode)code);
		Buf buf = {.arena = arena};
		op_print(&buf, table, op);
		ck_assert_ptr_nonnull(strstr(buf_text(&buf), op->doc));
		ck_assert_ptr_eq(op_find(table, op->domain, op->name), op);
	}
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("rows");
	tcase_add_test(t, every_row);
	tcase_add_loop_test(t, examples, 1, OP_COUNT);
	tcase_add_loop_test(t, pointwise, 1, OP_COUNT);
	return unit_run(t);
}
