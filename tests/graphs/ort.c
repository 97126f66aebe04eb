/* Where ONNX Runtime (1.31) is known to do otherwise than ONNX says: such graphs are not asked
 * about. Each row was looked at against the standard's text or its reference implementation. */
#include "graphs.h"

#include <math.h>
#include <string.h>

static bool
always(const Node *node)
{
	(void)node;
	return true;
}

/* From corner to corner of one element. */
static bool
has_side_of_one(const Node *node)
{
	const Type *grid = &node->outputs[0]->type;
	bool is_one = false;
	for (int d = 1; d < grid->rank - 1; d++)
		is_one |= dim_is(grid->dims[d], 1);
	return is_one && attr_int(node, "align_corners");
}

/* A result of a body that no node of the body makes, or that is given twice. */
static bool
passes_on(const Node *node)
{
	for (int r = 0; r < node->nregion; r++) {
		const Region *body = node->regions[r];
		for (int i = 0; i < body->nresult; i++) {
			bool is_made = body->results[i]->def && body->results[i]->region == body;
			for (int k = 0; k < i; k++)
				is_made &= body->results[k] != body->results[i];
			if (!is_made)
				return true;
		}
	}
	return false;
}

static bool
is_integer(const Node *node)
{
	return dtype_is_integer(node->inputs[0]->type.dtype);
}

/* Of 64 bits, and of what was computed: what is given has small numbers. */
static bool
is_large_sum(const Node *node)
{
	DType type = node->inputs[0]->type.dtype;
	return (type == DT_I64 || type == DT_U64) && node->inputs[0]->def;
}

static bool
is_nothing(const Value *value)
{
	for (int i = 0; i < value->type.rank; i++)
		if (dim_is(value->type.dims[i], 0))
			return true;
	return false;
}

static bool
has_no_elements(const Node *node)
{
	return is_nothing(node->inputs[0]);
}

static bool
leaves_nothing(const Node *node)
{
	return is_nothing(node->outputs[0]) && !is_nothing(node->inputs[0]);
}

/* Of sequences, which may have no steps. */
static bool
has_lengths(const Node *node)
{
	return has_no_elements(node) || (node->ninput > 4 && node->inputs[4]);
}

/* A sum of no products. */
static bool
is_empty(const Node *node)
{
	const Type *a = &node->inputs[0]->type;
	return a->rank == 2 && dim_is(a->dims[attr_int(node, "transA") ? 0 : 1], 0);
}

/* Extents that are no product of a scale, places between two elements. */
static bool
is_by_scales(const Node *node)
{
	return node->ninput < 4 || !node->inputs[3] ||
	       strcmp(attr_string(node, "keep_aspect_ratio_policy"), "stretch") != 0;
}

static bool
is_rounded_otherwise(const Node *node)
{
	bool is_nearest = strcmp(attr_string(node, "mode"), "nearest") == 0;
	const char *place = attr_string(node, "coordinate_transformation_mode");
	return is_by_scales(node) && (is_nearest || strcmp(place, "align_corners") == 0);
}

/* A single query, or who knows how many. */
static bool
is_masked_otherwise(const Node *node)
{
	const Type *q = &node->inputs[0]->type;
	int64_t rows, mode = attr_int(node, "qk_matmul_output_mode");
	bool is_known = dim_is_const(q->dims[q->rank == 4 ? 2 : 1], &rows);
	return mode == 1 || mode == 2 || (attr_int(node, "is_causal") && (!is_known || rows == 1));
}

/* Floats as integers of two or four bits. */
static bool
is_of_few_bits(const Node *node)
{
	DType type = node->outputs[0]->type.dtype;
	bool is_few = type == DT_U4 || type == DT_I4 || type == DT_U2 || type == DT_I2;
	return is_few && dtype_is_float(node->inputs[0]->type.dtype);
}

/* Whether a short float that was computed is zero. */
static bool
is_bool_of_short(const Node *node)
{
	const Value *x = node->inputs[0];
	bool is_short = x->type.dtype == DT_F16 || x->type.dtype == DT_BF16;
	return is_short && x->def && node->outputs[0]->type.dtype == DT_BOOL;
}

static bool
is_training(const Node *node)
{
	return attr_int(node, "training_mode") != 0;
}

/* With padding to be found: (outputs - 1) * stride + window - extent may be negative. */
static bool
strides_beyond_window(const Node *node)
{
	int64_t nstride, nwindow;
	const int64_t *strides = attr_ints(node, "strides", &nstride);
	const int64_t *window = attr_ints(node, "kernel_shape", &nwindow);
	const char *padding = attr_string(node, "auto_pad");
	bool is_beyond = false;
	for (int64_t i = 0; i < nstride && i < nwindow; i++)
		is_beyond |= strides[i] > window[i];
	return is_beyond && padding && strncmp(padding, "SAME", 4) == 0;
}

static bool
has_third_input(const Node *node)
{
	return node->ninput > 2 && node->inputs[2];
}

static bool
has_order_and_zeros(const Node *node)
{
	const Value *zeros = node->ninput > 4 ? node->inputs[3] : NULL;
	return zeros && node->inputs[4] && zeros->type.dtype == DT_U8;
}

/* Past states of which one is given back and the other is not. */
static bool
lacks_present(const Node *node)
{
	int past = node->op->code == OP_MultiHeadAttention ? 6 : 3;
	bool has_past = node->ninput > past && node->inputs[past];
	for (int i = 1; i <= 2 && has_past; i++)
		if (node->noutput <= i || !node->outputs[i])
			return true;
	return false;
}

static bool
has_readers(const Node *node)
{
	for (int i = 0; i < node->outputs[0]->uses.count; i++)
		if (node->outputs[0]->uses.data[i].node)
			return true;
	return false;
}

static const struct {
	OpCode op;
	bool (*is_other)(const Node *node);
	const char *how;
} ROWS[] = {
	{OP_Scan, passes_on, "a result that is a parameter or an outer value is never written"},
	{OP_Gemm, is_empty, "no beta where there is nothing to multiply"},
	{OP_GRU, has_lengths, "a sequence of no steps ends at 0, not at its initial state"},
	{OP_LSTM, has_lengths, "a sequence of no steps ends at 0, not at its initial state"},
	{OP_RNN, has_lengths, "a sequence of no steps ends at 0, not at its initial state"},
	{OP_BatchNormalization, is_training, "running values are written over the old ones"},
	{OP_Cast, is_of_few_bits, "it rounds, where the standard's reference cuts off"},
	{OP_CastLike, is_of_few_bits, "it rounds, where the standard's reference cuts off"},
	{OP_Cast, is_bool_of_short, "it leaves out roundings: what is 0 as a short float is true"},
	{OP_CastLike, is_bool_of_short, "it leaves out roundings: what is 0 as a short float is true"},
	{OP_Expand, leaves_nothing, "of one element to none it is taken for an identity"},
	{OP_BlackmanWindow, has_readers, "its errors decide among results that are exactly equal"},
	{OP_HammingWindow, has_readers, "its errors decide among results that are exactly equal"},
	{OP_HannWindow, has_readers, "its errors decide among results that are exactly equal"},
	{OP_AveragePool, strides_beyond_window, "padding of less than nothing, which MaxPool refuses"},
	{OP_LpPool, strides_beyond_window, "padding of less than nothing, which MaxPool refuses"},
	{OP_MatMul, has_no_elements, "nothing is written where there is nothing to multiply"},
	{OP_DFT, has_readers, "its errors decide among results that are exactly equal"},
	{OP_STFT, has_readers, "its errors decide among results that are exactly equal"},
	{OP_DynamicQuantizeLinear, always, "a scale of 1 where all are zero"},
	{OP_Attention, is_masked_otherwise,
     "a single query sees all keys; scores that are masked are the lowest number, not -inf"},
	{OP_MultiHeadAttention, lacks_present, "past states are read only if they are results as well"},
	{OP_GroupQueryAttention, lacks_present,
     "past states are read only if they are results as well"},
	{OP_AffineGrid, has_side_of_one, "a side of one element lies at its end, not at its begin"},
	{OP_Resize, is_rounded_otherwise, "it rounds extents and decides ties otherwise"},
	{OP_MaxUnpool, has_third_input, "places count in the dims of output_shape"},
	{OP_QLinearAdd, always, "the zero point is added before it rounds: ties go the other way"},
	{OP_QLinearMul, always, "the zero point is added before it rounds: ties go the other way"},
	{OP_MatMulNBits, has_order_and_zeros, "zero points of bytes are taken for 8 beside g_idx"},
	{OP_QLinearSoftmax, always, "it adds integers of a table of exponentials"},
	{OP_QLinearMatMul, has_no_elements, "nothing is written where there is nothing to multiply"},
	{OP_MatMulInteger, has_no_elements, "nothing is written where there is nothing to multiply"},
	{OP_ReduceLogSum, is_integer, "steps between are integers"},
	{OP_ReduceLogSumExp, is_integer, "steps between are integers"},
	{OP_ReduceSum, is_large_sum, "sums of more than 2^53 are rounded to floats of 64 bits"},
	{OP_ReduceL2, is_integer, "steps between are integers"},
	{OP_ReduceProd, is_integer, "integers are multiplied as floats"},
	{OP_MeanVarianceNormalization, always, "no epsilon: equal elements give NaN"},
};

static const char *
region_deviates(const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		if (row_of(node->op->code)->kind == KIND_reduction && has_no_elements(node))
			return "axes counted from behind are others where there is nothing";
		for (size_t i = 0; i < countof(ROWS); i++)
			if (ROWS[i].op == node->op->code && ROWS[i].is_other(node))
				return ROWS[i].how;
		for (int i = 0; i < node->nregion; i++) {
			const char *how = region_deviates(node->regions[i]);
			if (how)
				return how;
		}
	}
	return NULL;
}

const char *
ort_deviates(const Graph *graph)
{
	return region_deviates(graph->body);
}

static double
region_unit(const Region *region)
{
	double unit = 0x1p-52;
	for (const Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->noutput; i++) {
			DType type = node->outputs[i] ? node->outputs[i]->type.dtype : DT_NONE;
			double own = type == DT_BF16 ? 0x1p-7 : type == DT_F16 ? 0x1p-10 : 0x1p-23;
			unit = dtype_is_float(type) && type != DT_F64 ? fmax(unit, own) : unit;
		}
		for (int i = 0; i < node->nregion; i++)
			unit = fmax(unit, region_unit(node->regions[i]));
	}
	return unit;
}

double
graph_float_unit(const Graph *graph)
{
	return region_unit(graph->body);
}

/* It sums in other orders and has shorter polynomials; of short floats it rounds steps that we do
 * not, and leaves out others. */
double
ort_share(const Graph *graph)
{
	return graph_float_unit(graph) > 0x1p-23 ? 2e-2 : 2e-5;
}
