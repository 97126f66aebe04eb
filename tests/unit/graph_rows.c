/* Every row of ops.def that has a meaning: what infer says and what the program computes agree.
 *
 * Pointwise rows get random broadcast shapes of every element type they take. The others have an
 * example below, a line of graph text in which $a … $f are random extents from 2 to 6 and capital
 * letters are symbols; a row without an example fails the test. Each graph is checked, printed and
 * read back; each program is verified, printed, read back and run on small data.
 */
#include "ops.h"

#include <ctype.h>

typedef struct Example {
	const char *op, *params, *line, *constants;
} Example;

static const Example EXAMPLES[] = {
	{"BitCast", "%x: f32[N,$a]", "%y = BitCast(%x) {to=6}", ""},
	{"Cast", "%x: f32[N,$a]", "%y = Cast(%x) {to=10}", ""},
	{"Cast", "%x: i64[$a,H]", "%y = Cast(%x) {to=22}", ""},
	{"CastLike", "%x: i32[N,$a], %l: bf16[2]", "%y = CastLike(%x, %l)", ""},
	{"Dropout", "%x: f32[N,$a]", "%y, %m = Dropout(%x)", ""},
	{"Pow", "%x: f32[N,$a], %e: i32[$a]", "%y = Pow(%x, %e)", ""},
	{"ArgMax", "%x: f32[N,$a,$b]", "%y = ArgMax(%x) {axis=1, keepdims=0}", ""},
	{"ArgMin", "%x: f32[N,$a,$b]", "%y = ArgMin(%x) {axis=-1}", ""},
	{"CumSum", "%x: f16[N,$a]", "%y = CumSum(%x, %c) {exclusive=1}", "%c: i64 = {1}"},
	{"CumProd", "%x: i32[N,$a]", "%y = CumProd(%x, %c) {reverse=1}", "%c: i32[1] = {-2}"},
	{"CenterCropPad", "%x: f32[N,$a,$b]", "%y = CenterCropPad(%x, %c) {axes=[1,2]}",
     "%c: i64[2] = {4, 3}"},
	{"Concat", "%x: f32[N,$a,$b], %z: f32[N,$c,$b]", "%y = Concat(%x, %z, %x) {axis=1}", ""},
	{"ConstantOfShape", "%x: i64[2]", "%y = ConstantOfShape(%c) {value=f16[1]{2}}",
     "%c: i64[2] = {3, 2}"},
	{"DepthToSpace", "%x: f32[N,8,$a,$b]", "%y = DepthToSpace(%x) {blocksize=2}", ""},
	{"DepthToSpace", "%x: f32[N,8,H,W]", "%y = DepthToSpace(%x) {blocksize=2, mode=\"CRD\"}", ""},
	{"Einsum", "%x: f32[N,$a,$b], %z: f32[N,$b,$c]",
     "%y = Einsum(%x, %z) {equation=\"bij,bjk->bik\"}", ""},
	{"Einsum", "%x: f32[N,$a,$a]", "%y = Einsum(%x) {equation=\"...ii->...i\"}", ""},
	{"Einsum", "%x: i32[$a,$b], %z: i32[$b]", "%y = Einsum(%x, %z) {equation=\"ab,b\"}", ""},
	{"Expand", "%x: f32[N,1,$a]", "%y = Expand(%x, %c)", "%c: i64[4] = {2, 1, 3, 1}"},
	{"EyeLike", "%x: f32[$a,N]", "%y = EyeLike(%x) {dtype=7, k=-1}", ""},
	{"Flatten", "%x: f32[N,$a,H,$b]", "%y = Flatten(%x) {axis=2}", ""},
	{"Flatten", "%x: f32[N,$a]", "%y = Flatten(%x) {axis=0}", ""},
	{"OneHot", "%x: i64[N,$a], %v: f32[2]", "%y = OneHot(%x, %c, %v) {axis=1}", "%c: i64 = {5}"},
	{"Pad", "%x: f32[N,$a,$b]", "%y = Pad(%x, %c)", "%c: i64[6] = {0, 1, 2, 0, -1, 3}"},
	{"Pad", "%x: u8[N,$a,$b]", "%y = Pad(%x, %c, _, %ax) {mode=\"reflect\"}",
     "%c: i64[2] = {1, 1} %ax: i64[1] = {-1}"},
	{"Pad", "%x: f32[N,$a,H]", "%y = Pad(%x, %c) {mode=\"edge\"}",
     "%c: i64[6] = {1, 0, 2, 0, 1, 3}"},
	{"Pad", "%x: f32[$a,$b]", "%y = Pad(%x, %c) {mode=\"wrap\"}", "%c: i64[4] = {1, 0, 2, 3}"},
	{"Range", "%x: f32[N]", "%y = Range(%c, %n, %d)", "%c: i64 = {9} %n: i64 = {2} %d: i64 = {-3}"},
	{"Range", "%x: f32[N]", "%y = Range(%c, %n, %d)",
     "%c: f32 = {0.5} %n: f32 = {2} %d: f32 = {0.25}"},
	{"ReduceL1", "%x: f32[N,$a,$b]", "%y = ReduceL1(%x, %c)", "%c: i64[1] = {1}"},
	{"ReduceL2", "%x: i32[N,$a,$b]", "%y = ReduceL2(%x) {keepdims=0}", ""},
	{"ReduceLogSum", "%x: f64[N,$a]", "%y = ReduceLogSum(%x, %c) {keepdims=0}",
     "%c: i64[1] = {-1}"},
	{"ReduceLogSumExp", "%x: f16[N,$a]", "%y = ReduceLogSumExp(%x, %c)", "%c: i64[1] = {-1}"},
	{"ReduceMax", "%x: bool[N,$a]", "%y = ReduceMax(%x, %c)", "%c: i64[1] = {0}"},
	{"ReduceMin", "%x: u8[N,$a]", "%y = ReduceMin(%x, %c) {keepdims=0}", "%c: i64[1] = {0}"},
	{"ReduceMean", "%x: f32[N,$a,H]", "%y = ReduceMean(%x, %c)", "%c: i64[2] = {0, 2}"},
	{"ReduceMean", "%x: i64[N,$a]", "%y = ReduceMean(%x) {noop_with_empty_axes=1}", ""},
	{"ReduceProd", "%x: bf16[N,$a]", "%y = ReduceProd(%x, %c)", "%c: i64[1] = {1}"},
	{"ReduceSum", "%x: f32[N,$a]", "%y = ReduceSum(%x, %c) {noop_with_empty_axes=1}",
     "%c: i64[0] = {}"},
	{"ReduceSumSquare", "%x: f32[N,$a]", "%y = ReduceSumSquare(%x)", ""},
	{"Reshape", "%x: f32[N,$a,6]", "%y = Reshape(%x, %c)", "%c: i64[4] = {0, -1, 2, 3}"},
	{"Reshape", "%x: f32[6,$a,$b]", "%y = Reshape(%x, %c)", "%c: i64[3] = {2, 3, -1}"},
	{"ReverseSequence", "%x: f32[$a,N,$b], %l: i64[N]", "%y = ReverseSequence(%x, %l)", ""},
	{"Shape", "%x: f32[N,$a,H]", "%y = Shape(%x) {start=-2}", ""},
	{"Size", "%x: f32[N,$a]", "%y = Size(%x)", ""},
	{"Slice", "%x: f32[N,$a,$b]", "%y = Slice(%x, %c, %n, %d, %d)",
     "%c: i64[2] = {-1, 1} %n: i64[2] = {-9, 5} %d: i64[2] = {2, -1}"},
	{"Slice", "%x: f32[N,$a,6]", "%y = Slice(%x, %c, %n, %ax, %d)",
     "%c: i64[1] = {5} %n: i64[1] = {-9223372036854775807} %ax: i64[1] = {-1} %d: i64[1] = {-2}"},
	{"Slice", "%x: f32[H,$a]", "%y = Slice(%x, %c, %n, %ax)",
     "%c: i32[1] = {1} %n: i32[1] = {-1} %ax: i32[1] = {0}"},
	{"SpaceToDepth", "%x: f32[N,$a,4,6]", "%y = SpaceToDepth(%x) {blocksize=2}", ""},
	{"Split", "%x: f32[N,6]", "%y, %z = Split(%x, %c) {axis=1}", "%c: i64[2] = {2, 4}"},
	{"Split", "%x: f32[N,7]", "%y, _, %z = Split(%x) {axis=1, num_outputs=3}", ""},
	{"Squeeze", "%x: f32[1,N,1,$a]", "%y = Squeeze(%x)", ""},
	{"Squeeze", "%x: f32[1,N,1,$a]", "%y = Squeeze(%x, %c)", "%c: i64[1] = {-2}"},
	{"Tile", "%x: f32[N,$a]", "%y = Tile(%x, %c)", "%c: i64[2] = {2, 3}"},
	{"Transpose", "%x: f32[N,$a,H,$b]", "%y = Transpose(%x) {perm=[0,2,3,1]}", ""},
	{"Transpose", "%x: i4[$a,$b]", "%y = Transpose(%x)", ""},
	{"Trilu", "%x: f32[N,$a,$b]", "%y = Trilu(%x, %c) {upper=0}", "%c: i64 = {-1}"},
	{"Unsqueeze", "%x: f32[N,$a]", "%y = Unsqueeze(%x, %c)", "%c: i64[2] = {0, -1}"},
	{"AveragePool", "%x: f32[N,$a,7,6]",
     "%y = AveragePool(%x) {kernel_shape=[3,2], pads=[1,0,1,0]}", ""},
	{"Conv", "%x: f32[N,4,6,5], %w: f32[6,2,3,3], %b: f32[6]",
     "%y = Conv(%x, %w, %b) {group=2, pads=[1,0,1,0], strides=[2,1]}", ""},
	{"ConvTranspose", "%x: f32[N,3,4,5], %w: f32[3,2,3,3]",
     "%y = ConvTranspose(%x, %w) {strides=[2,2]}", ""},
	{"GlobalAveragePool", "%x: f32[N,$a,$b,$c]", "%y = GlobalAveragePool(%x)", ""},
	{"GlobalLpPool", "%x: f32[N,$a,$b,$c]", "%y = GlobalLpPool(%x)", ""},
	{"GlobalMaxPool", "%x: f32[N,$a,$b,$c]", "%y = GlobalMaxPool(%x)", ""},
	{"LpPool", "%x: f32[N,$a,6,6]", "%y = LpPool(%x) {kernel_shape=[2,2]}", ""},
	{"MaxPool", "%x: f32[N,$a,6,6]", "%y, %i = MaxPool(%x) {kernel_shape=[2,2], strides=[2,2]}",
     ""},
	{"Resize", "%x: f32[1,$a,4,4]", "%y = Resize(%x, _, _, %c)", "%c: i64[4] = {1, $a, 6, 7}"},
	{"BatchNormalization", "%x: f32[N,$a,$b], %s: f32[$a], %m: f32[$a]",
     "%y = BatchNormalization(%x, %s, %s, %m, %s)", ""},
	{"GroupNormalization", "%x: f32[N,4,$a], %s: f32[4]",
     "%y = GroupNormalization(%x, %s, %s) {num_groups=2}", ""},
	{"GridSample", "%x: f32[N,$a,$b,$c], %g: f32[N,$d,2,2]", "%y = GridSample(%x, %g)", ""},
	{"GridSample", "%x: f32[N,$a,$b,$c], %g: f32[N,$d,2,2]",
     "%y = GridSample(%x, %g) {mode=\"cubic\", padding_mode=\"reflection\"}", ""},
	{"GridSample", "%x: f16[N,$a,H,$b,$c], %g: f32[N,2,2,$d,3]",
     "%y = GridSample(%x, %g) {mode=\"nearest\", padding_mode=\"border\", align_corners=1}", ""},
	{"RotaryEmbedding", "%x: f32[N,2,$a,8], %c: f32[N,$a,4]", "%y = RotaryEmbedding(%x, %c, %c)",
     ""},
	{"RotaryEmbedding", "%x: f32[N,$a,24], %c: f32[9,2], %p: i64[N,$a]",
     "%y = RotaryEmbedding(%x, %c, %c, %p)"
     " {num_heads=3, rotary_embedding_dim=4, interleaved=1}",
     ""},
	{"Col2Im", "%x: f32[N,12,6]", "%y = Col2Im(%x, %s, %c) {strides=[2,1], pads=[1,0,0,0]}",
     "%s: i64[2] = {5, 3} %c: i64[2] = {3, 1}"},
	{"HannWindow", "%x: f32[N]", "%y = HannWindow(%c)", "%c: i64 = {9}"},
	{"HammingWindow", "%x: f32[N]", "%y = HammingWindow(%c) {periodic=0}", "%c: i32 = {8}"},
	{"BlackmanWindow", "%x: f32[N]", "%y = BlackmanWindow(%c) {output_datatype=11}",
     "%c: i64[1] = {5}"},
	{"DFT", "%x: f32[N,$a,1]", "%y = DFT(%x) {onesided=1}", ""},
	{"DFT", "%x: f32[N,$a,2]", "%y = DFT(%x, %l, %c) {inverse=1}", "%l: i64 = {7} %c: i64 = {0}"},
	{"DFT", "%x: f64[$a,3,2]", "%y = DFT(%x) {inverse=1, onesided=1}", ""},
	{"NegativeLogLikelihoodLoss", "%x: f32[N,4,$a], %t: i64[N,$a], %w: f32[4]",
     "%y = NegativeLogLikelihoodLoss(%x, %t, %w) {ignore_index=-1}", ""},
	{"SoftmaxCrossEntropyLoss", "%x: f32[N,4], %t: i32[N]",
     "%y, %p = SoftmaxCrossEntropyLoss(%x, %t) {reduction=\"none\"}", ""},
	{"Hardmax", "%x: f32[N,$a]", "%y = Hardmax(%x)", ""},
	{"InstanceNormalization", "%x: f32[N,$a,$b], %s: f32[$a]",
     "%y = InstanceNormalization(%x, %s, %s)", ""},
	{"LRN", "%x: f32[N,$a,$b,$c]", "%y = LRN(%x) {size=3}", ""},
	{"LayerNormalization", "%x: f32[N,$a,$b], %s: f32[$b]", "%y = LayerNormalization(%x, %s, %s)",
     ""},
	{"LogSoftmax", "%x: f32[N,$a]", "%y = LogSoftmax(%x)", ""},
	{"LpNormalization", "%x: f32[N,$a]", "%y = LpNormalization(%x)", ""},
	{"MeanVarianceNormalization", "%x: f32[N,$a,$b,$c]", "%y = MeanVarianceNormalization(%x)", ""},
	{"RMSNormalization", "%x: f32[N,$a], %s: f32[$a]", "%y = RMSNormalization(%x, %s)", ""},
	{"Softmax", "%x: f32[N,$a]", "%y = Softmax(%x)", ""},
	{"Gather", "%x: f32[$a,N], %i: i64[$b]", "%y = Gather(%x, %i)", ""},
	{"GatherElements", "%x: f32[$a,$b], %i: i64[$a,$b]", "%y = GatherElements(%x, %i)", ""},
	{"GatherND", "%x: f32[$a,$b], %i: i64[N,2]", "%y = GatherND(%x, %i)", ""},
	{"ScatterElements", "%x: f32[$a,$b], %i: i64[$a,2], %u: f32[$a,2]",
     "%y = ScatterElements(%x, %i, %u) {axis=1}", ""},
	{"ScatterND", "%x: f32[$a,$b], %i: i64[1,2], %u: f32[1]", "%y = ScatterND(%x, %i, %u)", ""},
	{"ConvInteger", "%x: u8[1,2,5,5], %w: u8[3,2,2,2]", "%y = ConvInteger(%x, %w)", ""},
	{"DequantizeLinear", "%x: u8[N,$a], %s: f32", "%y = DequantizeLinear(%x, %s)", ""},
	{"DynamicQuantizeLinear", "%x: f32[N,$a]", "%y, %s, %z = DynamicQuantizeLinear(%x)", ""},
	{"MatMulInteger", "%x: u8[N,$a], %w: u8[$a,$b]", "%y = MatMulInteger(%x, %w)", ""},
	{"QLinearConv", "%x: u8[1,2,5,5], %w: u8[3,2,2,2], %s: f32, %z: u8",
     "%y = QLinearConv(%x, %s, %z, %w, %s, %z, %s, %z)", ""},
	{"QLinearMatMul", "%x: u8[N,$a], %w: u8[$a,$b], %s: f32, %z: u8",
     "%y = QLinearMatMul(%x, %s, %z, %w, %s, %z, %s, %z)", ""},
	{"QuantizeLinear", "%x: f32[N,$a], %s: f32, %z: u8", "%y = QuantizeLinear(%x, %s, %z)", ""},
	{"Attention", "%q: f32[1,2,$a,4], %k: f32[1,2,$b,4]", "%y = Attention(%q, %k, %k)", ""},
	{"Gemm", "%x: f32[N,$a], %w: f32[$b,$a], %c: f32[$b]", "%y = Gemm(%x, %w, %c) {transB=1}", ""},
	{"MatMul", "%x: f32[N,$a,$b], %w: f32[$b,$c]", "%y = MatMul(%x, %w)", ""},
};

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

static const char *
fill_extents(Arena *arena, const char *text, const int64_t *extents)
{
	Buf buf = {.arena = arena};
	for (; *text; text++) {
		if (text[0] == '$' && islower((unsigned char)text[1]))
			buf_printf(&buf, "%d", (int)extents[*++text - 'a']);
		else
			buf_putc(&buf, *text);
	}
	return buf_text(&buf);
}

START_TEST(examples)
{
	const Example *e = &EXAMPLES[_i];
	Arena *arena = arena_new("example");
	Dice dice = {(uint64_t)_i + 1};
	for (int round = 0; round < 3; round++) {
		int64_t extents[26];
		for (int i = 0; i < 26; i++)
			extents[i] = roll(&dice, 2, 6);
		char *text = arena_printf(arena, "graph row(%s) -> %%y {\n%s\n%s\n}\n", e->params,
		                          e->constants, e->line);
		check_text(arena_strdup(arena, fill_extents(arena, text, extents)));
	}
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
	                    op->name, buf_text(&uses), has_direction ? " {direction=\"LEFT\"}" : "");
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

/* Adding a row without an example is noticed here. */
START_TEST(every_row)
{
	Arena *arena = arena_new("rows");
	const OpTable *table = op_table_new(arena);
	for (int code = 1; code < OP_COUNT; code++) {
		const OpInfo *op = op_row(table, (OpCode)code);
		bool is_found = op->meaning != MEANING_BUILD;
		for (size_t i = 0; i < countof(EXAMPLES); i++)
			is_found |= !strcmp(EXAMPLES[i].op, op->name);
		ck_assert_msg(is_found, "%s has no example", op->name);
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
	tcase_add_loop_test(t, examples, 0, (int)countof(EXAMPLES));
	tcase_add_loop_test(t, pointwise, 1, OP_COUNT);
	return unit_run(t);
}
