/* Every row of ops.def with operands that do not fit: ranks, types, counts, absent inputs and
 * outputs, attributes, symbols in any place. Inference, the meaning and lowering end in success or
 * in a sentence about the model; a bug of ours, or a signal, fails the test.
 *
 * With arguments `ROW [FIRST [COUNT]]` only cases of this row are tried, and printed as text.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/compile.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/manager.h"
#include "random_number.h"

enum { TRIES = 12, MAX_OPERANDS = 16 };

typedef struct Case {
	const OpTable *ops;
	const OpInfo *op;
	uint64_t seed;
	Arena *arena;
	Graph *graph;
	DType letters[26];
	int rank;           /* most operands have it … */
	const Dim *dims[6]; /* … and these dims */
	bool is_lowered;
} Case;

static unsigned
below(Case *c, unsigned count)
{
	return random_below(&c->seed, count);
}

static bool
chance(Case *c, unsigned percent)
{
	return below(c, 100) < percent;
}

/* ---- operands ---- */

static DType
type_in(Case *c, uint64_t set)
{
	static const DType usual[] = {DT_F32, DT_I64, DT_I32, DT_BOOL, DT_U8, DT_I8, DT_F16};
	for (size_t i = 0; i < countof(usual) && !chance(c, 20); i++)
		if (set >> usual[i] & 1)
			return usual[i];
	for (int i = 0; i < 200; i++) {
		DType type = (DType)(1 + below(c, DT_COUNT - 1));
		if (set >> type & 1)
			return type;
	}
	return DT_F32;
}

static DType
operand_type(Case *c, const ParamSpec *spec)
{
	if (!spec || chance(c, 3))
		return (DType)(1 + below(c, DT_COUNT - 1));
	DType *letter = spec->letter ? &c->letters[spec->letter - 'A'] : NULL;
	DType known = letter ? *letter : DT_NONE;
	if (known != DT_NONE)
		return known;
	DType type = type_in(c, spec->types);
	if (letter)
		*letter = type;
	return type;
}

static const Dim *
some_dim(Case *c)
{
	static const char *const symbols[] = {"N", "M", "K"};
	static const int64_t numbers[] = {1, 1, 2, 3, 4, 4, 6, 8, 0};
	ExprCtx *ctx = c->graph->ctx;
	return chance(c, 70) ? dim_const(ctx, numbers[below(c, countof(numbers))])
	                     : dim_symbol(ctx, symbols[below(c, countof(symbols))]);
}

static Type
operand_shape(Case *c, DType type)
{
	int rank = chance(c, 70) ? c->rank : (int)below(c, 6);
	const Dim **dims = NEW_N(c->arena, const Dim *, 6);
	int shift = chance(c, 50) ? 0 : c->rank - rank;
	for (int i = 0; i < rank; i++) {
		bool is_shared = i + shift >= 0 && i + shift < c->rank && chance(c, 80);
		dims[i] = is_shared ? c->dims[i + shift] : some_dim(c);
	}
	return type_tensor(type, rank, dims);
}

/* Shapes, axes, counts: what is usually a constant. */
static Value *
small_constant(Case *c, const char *name, DType type)
{
	int64_t count = below(c, 6), numbers[6];
	int rank = count == 1 && chance(c, 50) ? 0 : 1;
	for (int i = 0; i < 6; i++)
		numbers[i] = chance(c, 90) ? (int64_t)below(c, 8) - 2 : INT64_MIN + (int64_t)below(c, 2);
	Array *array = array_new(c->arena, type, rank, &count);
	for (int64_t i = 0; i < array_count(array); i++)
		if (dtype_is_float(type))
			dtype_store_f64(type, array->data, i, (double)(numbers[i] % 8) / 2);
		else
			dtype_store_i64(type, array->data, i, numbers[i]);
	return graph_constant(c->graph, name, array);
}

static Value *
operand(Case *c, int index)
{
	char name[16];
	const ParamSpec *spec = op_input(c->op, index);
	snprintf(name, sizeof name, "x%d", index);
	if (chance(c, spec && spec->optional ? 40 : 2))
		return NULL;
	Type type = {.kind = TYPE_TENSOR};
	type.dtype = operand_type(c, spec);
	bool is_sequence = spec && (spec->types & TYPES_SEQUENCE) && chance(c, 90);
	bool is_plain = dtype_is_arithmetic(type.dtype) && type.dtype != DT_BOOL;
	bool is_index = type.dtype == DT_I64 || type.dtype == DT_I32;
	if (is_plain && chance(c, is_index ? 60 : 5))
		return small_constant(c, name, type.dtype);
	type = operand_shape(c, type.dtype);
	if (chance(c, 2))
		type = type_tensor(type.dtype, -1, NULL);
	if (is_sequence) {
		Type *element = NEW(c->arena, Type);
		*element = type;
		type = (Type){.kind = TYPE_SEQUENCE, .rank = -1, .element = element};
	}
	return graph_input(c->graph, name, &type);
}

/* ---- attributes ---- */

static const char *
some_word(Case *c)
{
	static const char *const words[] = {
		"NOTSET",    "SAME_UPPER",    "SAME_LOWER", "VALID",   "constant",   "reflect",
		"edge",      "wrap",          "none",       "sum",     "mean",       "nearest",
		"linear",    "cubic",         "LEFT",       "RIGHT",   "DCR",        "CRD",
		"add",       "mul",           "max",        "min",     "half_pixel", "asymmetric",
		"ij,jk->ik", "bij,bjk->bik",  "...i->i",    "forward", "reverse",    "bidirectional",
		"tanh",      "align_corners", "bilinear",   "zeros",   "border",
	};
	return words[below(c, countof(words))];
}

static int64_t
some_int(Case *c)
{
	return chance(c, 95) ? (int64_t)below(c, 12) - 3 : INT64_MAX - (int64_t)below(c, 2);
}

static Attr
some_attr(Case *c, const AttrSpec *spec)
{
	Attr attr = {.name = spec->name, .kind = (AttrKind)spec->kind};
	int64_t *ints = NEW_N(c->arena, int64_t, 8);
	attr.count = below(c, 6);
	for (int i = 0; i < 8; i++)
		ints[i] = some_int(c);
	switch (attr.kind) {
	case ATTR_INT:
		attr.i = some_int(c);
		break;
	case ATTR_FLOAT:
		attr.f = (float)below(c, 9) / 2 - 1;
		break;
	case ATTR_STRING:
		attr.s = some_word(c);
		attr.count = (int64_t)strlen(attr.s);
		break;
	case ATTR_INTS:
		attr.count = chance(c, 60) && c->rank >= 2 ? c->rank - 2 : attr.count;
		attr.ints = ints;
		break;
	case ATTR_FLOATS:
		attr.floats = NEW_N(c->arena, float, 8);
		break;
	case ATTR_TENSOR:
		attr.tensor = array_scalar_i64(c->arena, 3);
		break;
	default:
		attr.kind = ATTR_NONE;
	}
	return attr;
}

/* ---- the case ---- */

static void
make_graph(Case *c)
{
	const OpInfo *op = c->op;
	Value *inputs[MAX_OPERANDS + 1], *results[MAX_OPERANDS];
	const char *names[MAX_OPERANDS];
	int least = 0, count, nresult = 0;
	while (least < op->ninput && !op->inputs[least].optional && !op->inputs[least].variadic)
		least++;
	bool is_open = op->ninput > 0 && op->inputs[op->ninput - 1].variadic;
	int most = is_open ? op->ninput + 2 : op->ninput;
	count = least + (int)below(c, (unsigned)(most - least) + 1);
	if (chance(c, 4))
		count = (int)below(c, (unsigned)most + 2);
	for (int i = 0; i < count; i++)
		inputs[i] = operand(c, i);
	int noutput = chance(c, 4) ? (int)below(c, (unsigned)op->noutput + 2)
	                           : 1 + (int)below(c, (unsigned)op->noutput);
	for (int i = 0; i < noutput; i++)
		names[i] = chance(c, 8) ? NULL : "";
	Loc loc = {.file = "strange", .node = "n", .op = op_text(c->arena, op)};
	Node *node =
		node_new(c->graph->body, NULL, op_text(c->arena, op), &loc, count, inputs, noutput, names);
	for (int i = 0; i < op->nattr; i++)
		if (op->attrs[i].required ? chance(c, 98) : chance(c, 35)) {
			Attr attr = some_attr(c, &op->attrs[i]);
			if (attr.kind != ATTR_NONE)
				node_add_attr(node, &attr);
		}
	for (int i = 0; i < noutput; i++)
		if (node->outputs[i])
			results[nresult++] = node->outputs[i];
	graph_set_outputs(c->graph, nresult, results);
}

static void
begin_case(Case *c, const OpTable *ops, const OpInfo *op, int number)
{
	*c = (Case){.ops = ops, .op = op, .seed = (uint64_t)number * 977 + (uint64_t)op->code};
	c->arena = arena_new("strange");
	c->graph = graph_new(c->arena, "strange", "strange");
	c->rank = (int)below(c, 6);
	for (int i = 0; i < 6; i++)
		c->dims[i] = some_dim(c);
	make_graph(c);
}

static void
try_case(void *arg)
{
	Case *c = arg;
	static const char *const device = "cpu:x86-64-v3";
	graph_infer(c->graph);
	graph_check(c->graph);
	const Node *node = c->graph->body->first;
	if (node_has_meaning(node))
		program_check(node_meaning(c->graph, node));
	else
		return;
	Target *target = NEW(c->arena, Target);
	target->device = device_find(device);
	PassContext context = {.arena = c->arena, .run = run_passes, .level = 3, .target = target};
	compile_graph(c->arena, c->graph, &context);
	c->is_lowered = true;
}

static bool
is_tried(const OpInfo *op)
{
	return op->meaning != MEANING_CONTROL && op->code != OP_fused;
}

START_TEST(strange_operands_end_in_a_sentence)
{
	Arena *arena = arena_new("rows");
	const OpTable *ops = op_table_new(arena);
	const OpInfo *op = op_row(ops, (OpCode)_i);
	int bad = 0;
	for (int i = 0, tries = unit_count("STRANGE_TRIES", TRIES); is_tried(op) && i < tries; i++) {
		Case c;
		Failure failure = {0};
		begin_case(&c, ops, op, i);
		bool is_done = try_run(try_case, &c, &failure);
		if (!is_done && failure.kind != FAIL_INVALID && failure.kind != FAIL_UNSUPPORTED) {
			printf("%s %d: %s (pass %s)\n", op->name, i, failure.text, failure.pass);
			bad++;
		}
		arena_free(c.arena);
	}
	arena_free(arena);
	ck_assert_int_eq(bad, 0);
}
END_TEST

static int
show(int argc, char **argv)
{
	Arena *arena = arena_new("rows");
	const OpTable *ops = op_table_new(arena);
	const OpInfo *op = op_find(ops, "", argv[1]);
	int first = argc > 2 ? atoi(argv[2]) : 0, count = argc > 3 ? atoi(argv[3]) : 1;
	for (int i = first; op && i < first + count; i++) {
		Case c;
		Failure failure = {0};
		begin_case(&c, ops, op, i);
		Buf text = {.arena = c.arena};
		graph_print(&text, c.graph);
		printf("# %s %d\n%s", op->name, i, buf_text(&text));
		fflush(stdout);
		if (!try_run(try_case, &c, &failure))
			failure_print(&failure);
		printf("%s\n", c.is_lowered ? "lowered" : "");
		arena_free(c.arena);
	}
	arena_free(arena);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc > 1)
		return show(argc, argv);
	TCase *tcase = tcase_create("strange");
	tcase_add_loop_test(tcase, strange_operands_end_in_a_sentence, 1, OP_COUNT);
	return unit_run(tcase);
}
