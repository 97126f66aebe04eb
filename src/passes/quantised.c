/* Reading quantised numbers (quantised.h). */
#include "passes/quantised.h"

#include <math.h>
#include <string.h>

#include "expr/scalar/affine.h"

bool
quantised_are_bytes(const Value *value)
{
	return value && value->type.kind == TYPE_TENSOR && dtype_is_byte(value->type.dtype);
}

bool
quantised_is_zero(const Value *value)
{
	const Array *array = value ? value_fixed(value) : NULL;
	for (int64_t i = 0; array && i < array_count(array); i++)
		if (dtype_load_f64(array->type, array->data, i) != 0)
			return false;
	return !value || array;
}

bool
quantised_is_single(const Value *value)
{
	bool is = value->type.kind == TYPE_TENSOR;
	for (int d = 0; is && d < value->type.rank; d++)
		is = dim_is(value->type.dims[d], 1);
	return is;
}

bool
quantised_is_plain_scale(const Value *scale)
{
	const Array *array = quantised_is_single(scale) ? value_fixed(scale) : NULL;
	double number = array ? dtype_load_f64(array->type, array->data, 0) : 0;
	return 1e-30 < number && number < 1e30;
}

bool
quantised_scales_join(const Value *a, const Value *b, const Value *divisor)
{
	const Array *arrays[] = {value_fixed(a), value_fixed(b), divisor ? value_fixed(divisor) : NULL};
	int64_t count = 1;
	for (size_t k = 0; k < countof(arrays); k++) {
		if (!arrays[k] && (k < 2 || divisor))
			return true;
		count = arrays[k] && array_count(arrays[k]) > count ? array_count(arrays[k]) : count;
	}
	for (int64_t i = 0; i < count; i++) {
		AffineStep steps[] = {{EX_mul, 1}, {EX_mul, 1}, {EX_div, 1}};
		Affine joined;
		for (size_t k = 0; k < countof(arrays); k++)
			if (arrays[k])
				steps[k].by = dtype_load_f64(arrays[k]->type, arrays[k]->data,
				                             array_count(arrays[k]) > 1 ? i : 0);
		if (!affine_join(DT_F32, countof(steps), steps, &joined))
			return false;
	}
	return true;
}

bool
quantised_read(const Value *value, Quantised *quantised)
{
	const Node *node = value ? value->def : NULL;
	if (!node || node->op->code != OP_DequantizeLinear || attr_int(node, "block_size") != 0 ||
	    value->type.dtype != DT_F32)
		return false;
	*quantised = (Quantised){node->inputs[0], node->inputs[1], expander_input(node, 2)};
	return quantised_are_bytes(quantised->q) && quantised->scale->type.dtype == DT_F32;
}

bool
quantised_is_sum(const Value *x)
{
	const Node *cast = x->def && x->def->op->code == OP_Cast ? x->def : NULL;
	const Node *sum = cast ? cast->inputs[0]->def : NULL;
	return sum && (sum->op->code == OP_ConvInteger || sum->op->code == OP_MatMulInteger);
}

static double
number_of(const Array *array, int64_t i)
{
	return dtype_load_f64(array->type, array->data, array->dims[0] > 1 ? i : 0);
}

Array *
quantised_shift(Arena *arena, const Array *shift, const Array *scale)
{
	int64_t count = shift->dims[0] > scale->dims[0] ? shift->dims[0] : scale->dims[0];
	Array *out = array_new(arena, shift->type, 1, &count);
	for (int64_t i = 0; i < count; i++) {
		double quotient = number_of(shift, i) / number_of(scale, i);
		if (!affine_holds(DT_F32, quotient))
			return NULL;
		dtype_store_f64(out->type, out->data, i, quotient);
	}
	return out;
}

/* What one channel's weights make of numbers from `low` to `high`, where 0 is one of them: the
 * largest sum in size. */
static double
reach_of(const double weights[2], double low, double high)
{
	double above = high * weights[0] - low * weights[1],
		   below = high * weights[1] - low * weights[0];
	return fmax(above, below);
}

/* Of a zero point that is known when running, each number of 8 bits may be it: the reach is largest
 * at one of the ends. */
double
quantised_largest_sum(Arena *arena, const Quantised *x, const Array *w, int channel)
{
	const Array *zero = x->zero ? value_fixed(x->zero) : NULL;
	double largest = 0, low = x->q->type.dtype == DT_I8 ? -128 : 0, high = low + 255;
	double first = low, last = high;
	if (zero || !x->zero)
		first = last = zero ? dtype_load_f64(zero->type, zero->data, 0) : 0;
	int64_t inner = 1, channels = w->dims[channel];
	for (int d = channel + 1; d < w->rank; d++)
		inner *= w->dims[d];
	double(*sums)[2] = arena_alloc(arena, sizeof *sums * (size_t)(channels + 1));
	memset(sums, 0, sizeof *sums * (size_t)channels);
	for (int64_t i = 0; i < array_count(w); i++) {
		double weight = dtype_load_f64(w->type, w->data, i);
		sums[i / inner % channels][weight < 0] += fabs(weight);
	}
	for (int64_t c = 0; c < channels; c++) {
		largest = fmax(largest, reach_of(sums[c], low, high));
		largest = fmax(largest, reach_of(sums[c], low - first, high - first));
		largest = fmax(largest, reach_of(sums[c], low - last, high - last));
	}
	return largest;
}
