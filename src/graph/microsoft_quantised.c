/* Operators of com.microsoft on quantised tensors that are not only lines of nodes (ops.def).
 *
 *     %y = com.microsoft.MatMulNBits(%a, %b, %s) {K=64, N=8, bits=4, block_size=32}
 *     =>
 *     %w = DequantizeLinear(%b', %s', %z) {axis=1, block_size=32}      b' is u4[8,64], z is 8
 *     %y = MatMul(%a, Transpose(%w))
 */
#include <string.h>

#include "graph/expand.h"
#include "graph/inner.h"
#include "graph/ops/helpers.h"

static void
refuse_channels_last(const Infer *infer)
{
	if (attr_int(infer->node, "channels_last"))
		fail_unsupported(&infer->node->loc, "channels_last is not supported");
}

void
infer_QLinearGlobalAveragePool(Infer *infer)
{
	refuse_channels_last(infer);
	infer_global_pool(infer);
}

void
infer_QLinearAveragePool(Infer *infer)
{
	refuse_channels_last(infer);
	infer_AveragePool(infer);
}

/* Before opset 13 an axis was the first of many that are one. */
void
infer_QLinearSoftmax(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), x->rank);
	if (attr_int(infer->node, "opset") < 13 && axis != x->rank - 1)
		fail_unsupported(&infer->node->loc, "softmax over all axes from %d on is not supported",
		                 axis);
	infer_as_first(infer, 0, x->dtype);
}

void
infer_microsoft_product(Infer *infer)
{
	infer_product(infer, infer_input(infer, 0), infer_input(infer, 1), DT_F32);
}

static Value *
dequantised(const Expander *m, Value *x, Value *scale, Value *zero, int axis)
{
	Value *parts[] = {x, scale, zero};
	Node *made = expander_node(m, "DequantizeLinear", zero ? 3 : 2, parts, 1);
	node_set_int(made, "axis", axis);
	return expander_result(m, made);
}

/* ---- QLinearConcat --------------------------------------------------------------------------- */

enum { Y_SCALE, Y_ZERO, FIRST };

void
infer_QLinearConcat(Infer *infer)
{
	const Dim *dims[MAX_RANK];
	const Type *first = infer_input(infer, FIRST);
	if (!first || (infer->node->ninput - FIRST) % 3)
		infer_fail(infer, "expected tensors, each with a scale and a zero point");
	int axis = infer_axis(infer, attr_int(infer->node, "axis"), first->rank);
	type_dims(first, dims);
	for (int i = FIRST + 3; i < infer->node->ninput; i += 3) {
		const Type *next = infer_input(infer, i);
		if (!next || next->rank != first->rank)
			infer_fail(infer, "input %d has not the rank of the first", (i - FIRST) / 3);
		for (int d = 0; d < first->rank; d++)
			dims[d] = d == axis ? dim_add(infer->ctx, dims[d], next->dims[d])
			                    : infer_equal(infer, dims[d], next->dims[d], "dims of the inputs");
	}
	infer_set(infer, 0, infer_input(infer, Y_ZERO)->dtype, first->rank, dims);
}

void
expand_QLinearConcat(Node *node)
{
	Expander m = {node->parent, node, node};
	int count = (node->ninput - FIRST) / 3;
	Value **parts = NEW_N(node->parent->graph->arena, Value *, count);
	for (int i = 0; i < count; i++) {
		Value *const *x = &node->inputs[FIRST + 3 * i];
		parts[i] = dequantised(&m, x[0], x[1], x[2], 1);
	}
	Node *joined = expander_node(&m, "Concat", count, parts, 1);
	node_set_int(joined, "axis", attr_int(node, "axis"));
	Value *whole[] = {expander_result(&m, joined), node->inputs[Y_SCALE], node->inputs[Y_ZERO]};
	node_become(node, expander_result(&m, expander_node(&m, "QuantizeLinear", 3, whole, 1)));
}

/* ---- QGemm ----------------------------------------------------------------------------------- */

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, C, RESULT_SCALE, RESULT_ZERO };

void
infer_QGemm(Infer *infer)
{
	const Type *a = infer_input(infer, A), *b = infer_input(infer, B);
	const Type *zero = infer_input(infer, RESULT_ZERO);
	int ta = attr_int(infer->node, "transA") != 0, tb = attr_int(infer->node, "transB") != 0;
	infer_rank(infer, A, 2);
	infer_rank(infer, B, 2);
	infer_equal(infer, a->dims[!ta], b->dims[tb], "inner dims of a and b");
	DType type = !infer_input(infer, RESULT_SCALE) ? DT_F32 : zero ? zero->dtype : DT_U8;
	infer_set(infer, 0, type, 2, (const Dim *[]){a->dims[ta], b->dims[!tb]});
}

void
expand_QGemm(Node *node)
{
	Expander m = {node->parent, node, node};
	double alpha = (double)attr_float(node, "alpha");
	Value *scale = node->inputs[A_SCALE], *c = expander_input(node, C);
	if (alpha != 1)
		scale = expander_binary(&m, "Mul", scale, expander_number(&m, DT_F32, alpha));
	Value *operands[3] = {dequantised(&m, node->inputs[A], scale, node->inputs[A_ZERO], 1),
	                      dequantised(&m, node->inputs[B], node->inputs[B_SCALE],
	                                  node->inputs[B_ZERO], attr_int(node, "transB") ? 0 : 1)};
	if (c) {
		operands[2] = expander_binary(&m, "Mul", expander_cast(&m, c, DT_F32),
		                              expander_binary(&m, "Mul", scale, node->inputs[B_SCALE]));
	}
	Node *gemm = expander_node(&m, "Gemm", c ? 3 : 2, operands, 1);
	node_set_int(gemm, "transA", attr_int(node, "transA"));
	node_set_int(gemm, "transB", attr_int(node, "transB"));
	Value *y[] = {expander_result(&m, gemm), expander_input(node, RESULT_SCALE),
	              expander_input(node, RESULT_ZERO)};
	if (y[1])
		y[0] = expander_result(&m, expander_node(&m, "QuantizeLinear", y[2] ? 3 : 2, y, 1));
	node_become(node, y[0]);
}

/* ---- QAttention ------------------------------------------------------------------------------ */

enum { X, W, BIAS, X_SCALE, W_SCALE, MASK, X_ZERO, W_ZERO, PAST };

void
infer_QAttention(Infer *infer)
{
	const Type *x = infer_input(infer, X), *w = infer_input(infer, W);
	infer_rank(infer, X, 3);
	infer_rank(infer, W, 2);
	infer_equal(infer, x->dims[2], w->dims[0], "dims of x and its weights");
	if (expander_input(infer->node, PAST) || infer_wants(infer, 1))
		fail_unsupported(&infer->node->loc, "past and present states are not supported");
	infer_set(infer, 0, DT_F32, 3,
	          (const Dim *[]){x->dims[0], x->dims[1],
	                          dim_floordiv(infer->ctx, w->dims[1], dim_const(infer->ctx, 3))});
	infer_set_unknown(infer, 1, DT_F32);
}

void
expand_QAttention(Node *node)
{
	Expander m = {node->parent, node, node};
	Value *parts[] = {
		dequantised(&m, node->inputs[X], node->inputs[X_SCALE], expander_input(node, X_ZERO), 1),
		dequantised(&m, node->inputs[W], node->inputs[W_SCALE], expander_input(node, W_ZERO), 1),
		node->inputs[BIAS], expander_input(node, MASK)};
	Node *made = expander_node(&m, "com.microsoft.Attention", parts[3] ? 4 : 3, parts, 1);
	for (int i = 0; i < node->nattr; i++)
		node_add_attr(made, &node->attrs[i]);
	node_become(node, expander_result(&m, made));
	node_expand(made);
}

/* ---- MatMulNBits ----------------------------------------------------------------------------- */

enum { MATRIX = 1, SCALES, ZEROS, ORDER, ADDED };

void
infer_MatMulNBits(Infer *infer)
{
	const Type *a = infer_input(infer, A);
	const Dim *dims[MAX_RANK];
	infer_least_rank(infer, A, 1);
	type_dims(a, dims);
	infer_equal(infer, dims[a->rank - 1], dim_const(infer->ctx, attr_int(infer->node, "K")),
	            "the last dim of a and K");
	dims[a->rank - 1] = dim_const(infer->ctx, attr_int(infer->node, "N"));
	infer_set(infer, 0, a->dtype, a->rank, dims);
}

static Value *
constant_of(const Expander *m, const Array *array)
{
	Graph *graph = m->region->graph;
	return graph_constant(graph, graph_fresh_name(graph, "blocks"), array);
}

/* Numbers of so many bits, `row` bytes for each of `rows`, as a tensor of `columns`; the same
 * bytes where nothing lies between the rows. */
static Array *
unpacked(Arena *arena, DType type, const Array *bytes, int64_t rows, int64_t columns)
{
	int64_t row = rows > 0 ? array_count(bytes) / rows : 0, bits = dtype_bits(type);
	Array *made = array_new(arena, type, 2, (const int64_t[]){rows, columns});
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c = 0; c < columns; c++) {
			int64_t byte = dtype_load_i64(DT_U8, bytes->data, r * row + c * bits / 8);
			dtype_store_i64(type, made->data, r * columns + c,
			                byte >> c * bits % 8 & ((1 << bits) - 1));
		}
	return made;
}

typedef struct Blocks {
	DType type;
	int64_t rows, size, count; /* of a block; blocks of a row */
} Blocks;

static Blocks
blocks_of(const Node *node)
{
	int64_t bits = attr_int(node, "bits"), size = attr_int(node, "block_size");
	int64_t terms = attr_int(node, "K"), rows = attr_int(node, "N");
	const Array *matrix = value_fixed(node->inputs[MATRIX]);
	const Value *zeros = expander_input(node, ZEROS);
	if (bits != 4 && bits != 8)
		fail_unsupported(&node->loc, "weights of %lld bits are not supported", (long long)bits);
	if (!matrix || (zeros && zeros->type.dtype == DT_U8 && !value_fixed(zeros)))
		fail_unsupported(&node->loc, "weights that are not constant are not supported");
	if (attr_int(node, "weight_prepacked"))
		fail_unsupported(&node->loc, "weights packed for one machine (weight_prepacked) are not "
		                             "supported");
	if (size < 1 || terms < 1 || rows < 1)
		fail(&node->loc, "K, N and block_size must be above 0");
	Blocks b = {bits == 4 ? DT_U4 : DT_U8, rows, size, (terms + size - 1) / size};
	if (array_count(matrix) != rows * b.count * size * bits / 8)
		fail(&node->loc, "the weights have %lld bytes, expected %lld",
		     (long long)array_count(matrix), (long long)(rows * b.count * size * bits / 8));
	return b;
}

/* A number for each block of a row. */
static Value *
by_blocks(const Expander *m, const Blocks *b, Value *numbers)
{
	const int64_t dims[] = {b->rows, b->count};
	return expander_binary(m, "Reshape", numbers, expander_integers(m, 2, dims));
}

static Value *
zeros_of(const Expander *m, const Blocks *b)
{
	Arena *arena = m->region->graph->arena;
	Value *given = expander_input(m->node, ZEROS);
	if (given && given->type.dtype != DT_U8)
		return by_blocks(m, b, given);
	if (given)
		return constant_of(m, unpacked(arena, b->type, value_fixed(given), b->rows, b->count));
	Array *middle = array_new(arena, b->type, 2, (const int64_t[]){b->rows, b->count});
	for (int64_t i = 0; i < array_count(middle); i++)
		dtype_store_i64(b->type, middle->data, i, b->type == DT_U4 ? 8 : 128);
	return constant_of(m, middle);
}

/* The first K of each row. */
static Value *
without_padding(const Expander *m, Value *rows, const Blocks *b)
{
	int64_t terms = attr_int(m->node, "K");
	if (terms == b->count * b->size)
		return rows;
	Value *parts[] = {rows, expander_integer(m, 1, 0), expander_integer(m, 1, terms),
	                  expander_integer(m, 1, 1)};
	return expander_result(m, expander_node(m, "Slice", 4, parts, 1));
}

/* The block that each column belongs to: as g_idx says, or one behind the other. */
static Value *
block_of_columns(const Expander *m, const Blocks *b)
{
	Value *given = expander_input(m->node, ORDER);
	int64_t terms = attr_int(m->node, "K"), *block = NEW_N(m->region->graph->arena, int64_t, terms);
	for (int64_t k = 0; k < terms; k++)
		block[k] = k / b->size;
	return given ? given : expander_integers(m, (int)terms, block);
}

/* A number for each column, of those for each block. */
static Value *
by_columns(const Expander *m, Value *numbers, Value *block)
{
	Node *made = expander_node(m, "Gather", 2, (Value *[]){numbers, block}, 1);
	node_set_int(made, "axis", 1);
	return expander_result(m, made);
}

/* The weights as floats. DequantizeLinear says it where blocks are in order and zero points of the
 * weights' type. */
static Value *
dequantized(const Expander *m, const Blocks *b, Value *rows)
{
	Value *zeros = zeros_of(m, b), *scales = by_blocks(m, b, m->node->inputs[SCALES]);
	if (expander_input(m->node, ORDER) || zeros->type.dtype != b->type) {
		Value *block = block_of_columns(m, b);
		DType type = scales->type.dtype;
		rows = expander_cast(m, without_padding(m, rows, b), type);
		zeros = by_columns(m, expander_cast(m, zeros, type), block);
		rows = expander_binary(m, "Sub", rows, zeros);
		return expander_binary(m, "Mul", rows, by_columns(m, scales, block));
	}
	Node *wide = expander_node(m, "DequantizeLinear", 3, (Value *[]){rows, scales, zeros}, 1);
	node_set_int(wide, "axis", 1);
	node_set_int(wide, "block_size", b->size);
	return without_padding(m, expander_result(m, wide), b);
}

void
expand_MatMulNBits(Node *node)
{
	Expander m = {node->parent, node, node};
	Blocks b = blocks_of(node);
	const Array *matrix = value_fixed(node->inputs[MATRIX]);
	Array *numbers = unpacked(node->parent->graph->arena, b.type, matrix, b.rows, b.count * b.size);
	Value *rows = dequantized(&m, &b, constant_of(&m, numbers));
	Value *y =
		expander_binary(&m, "MatMul", node->inputs[A], expander_unary(&m, "Transpose", rows));
	if (expander_input(node, ADDED))
		y = expander_binary(&m, "Add", y, node->inputs[ADDED]);
	node_become(node, y);
}

/* ---- GatherBlockQuantized -------------------------------------------------------------------- */

enum { TABLE, INDICES, TABLE_SCALES, TABLE_ZEROS };

/* How many numbers a byte of the table holds: 1 where its type says itself how many bits it has. */
static int64_t
numbers_in_byte(const Node *node)
{
	int64_t bits = attr_int(node, "bits");
	if (node->inputs[TABLE]->type.dtype != DT_U8 || bits == 8)
		return 1;
	if (bits != 4)
		fail_unsupported(&node->loc, "a table of %lld bits is not supported", (long long)bits);
	return 2;
}

void
infer_GatherBlockQuantized(Infer *infer)
{
	const Type *table = infer_input(infer, TABLE), *at = infer_input(infer, INDICES);
	const Dim *dims[2 * MAX_RANK];
	int axis = infer_axis(infer, attr_int(infer->node, "gather_axis"), table->rank), rank = 0;
	int64_t many = numbers_in_byte(infer->node);
	if (many > 1 && (axis != 0 || table->rank != 2))
		fail_unsupported(&infer->node->loc,
		                 "two numbers in a byte are supported in tables of rank 2, gathered along "
		                 "axis 0");
	for (int d = 0; d < table->rank; d++)
		if (d == axis)
			for (int i = 0; i < at->rank; i++)
				dims[rank++] = at->dims[i];
		else
			dims[rank++] = dim_mul_i64(infer->ctx, table->dims[d], many);
	infer_set(infer, 0, infer_dtype(infer, 0), rank, dims);
}

/* An operand of the table's type, a number an element. */
static Value *
numbers_of(const Expander *m, int index)
{
	Value *x = m->node->inputs[index];
	if (numbers_in_byte(m->node) == 1)
		return x;
	const Array *bytes = value_fixed(x);
	const Array *scales = value_fixed(m->node->inputs[TABLE_SCALES]);
	if (!bytes || !scales || bytes->rank != 2 || scales->rank != 2)
		fail_unsupported(&m->node->loc, "two numbers in a byte are supported in constants of "
		                                "rank 2");
	int64_t columns = index == TABLE ? 2 * bytes->dims[1] : scales->dims[1];
	if (bytes->dims[1] != (columns + 1) / 2 || bytes->dims[0] != scales->dims[0])
		fail(&m->node->loc, "zero points and scales differ in dims");
	Arena *arena = m->region->graph->arena;
	return constant_of(m, unpacked(arena, DT_U4, bytes, bytes->dims[0], columns));
}

/* Of bytes the middle is 0 where nothing else is said. */
static Value *
table_zeros(const Expander *m, DType type)
{
	if (expander_input(m->node, TABLE_ZEROS))
		return numbers_of(m, TABLE_ZEROS);
	if (m->node->inputs[TABLE]->type.dtype != DT_U8)
		return NULL;
	Value *scales = m->node->inputs[TABLE_SCALES];
	Node *shape = expander_node(m, "Shape", 1, &scales, 1);
	Value *dims = expander_result(m, shape);
	Value *middle = expander_number(m, type, type == DT_U4 ? 8 : 128);
	return expander_binary(m, "Expand", middle, dims);
}

void
expand_GatherBlockQuantized(Node *node)
{
	Expander m = {node->parent, node, node};
	Value *table = numbers_of(&m, TABLE);
	Value *parts[] = {table, node->inputs[TABLE_SCALES], table_zeros(&m, table->type.dtype)};
	Node *wide = expander_node(&m, "DequantizeLinear", parts[2] ? 3 : 2, parts, 1);
	node_set_int(wide, "axis", attr_int(node, "quantize_axis"));
	node_set_int(wide, "block_size", attr_int(node, "block_size"));
	Value *of[] = {expander_result(&m, wide), node->inputs[INDICES]};
	Node *made = expander_node(&m, "Gather", 2, of, 1);
	node_set_int(made, "axis", attr_int(node, "gather_axis"));
	node_become(node, expander_result(&m, made));
}
