/* What operations mean, element by element. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "cudnn.h"

enum { DIMS = 8, F32 = 0, F16 = 2, BF16 = 9, VIRTUAL_ID = 100 };

typedef struct Tensor {
	int type, rank;
	int64_t dims[DIMS], strides[DIMS];
	unsigned char *data; /* as the host has it */
} Tensor;

static int64_t
size_of(int type)
{
	return type == F32 ? 4 : 2;
}

static const CudnnDescriptor *const *
operations(const CudnnDescriptor *graph, int64_t *count)
{
	enum { PARTS = 801 };
	return attr_elements(graph, PARTS, CUDNN_TYPE_DESCRIPTOR, count, false);
}

/* ---- Tensors ---- */

static void
read_numbers(const CudnnDescriptor *tensor, int name, int rank, int64_t *numbers)
{
	int64_t count;
	const void *found = attr_elements(tensor, name, CUDNN_TYPE_INT64, &count, false);
	if (count != rank)
		misuse("a tensor of rank %d has %lld of attribute %d", rank, (long long)count, name);
	memcpy(numbers, found, (size_t)count * sizeof *numbers);
}

static int64_t
span(const Tensor *t)
{
	int64_t last = 1;
	for (int i = 0; i < t->rank; i++)
		last += (t->dims[i] - 1) * t->strides[i];
	return last * size_of(t->type);
}

/* Where one that is not virtual lies, on the device. */
static unsigned char *
find_pointer(const Call *call, int64_t id)
{
	for (int i = 0; i < call->count; i++)
		if (call->ids[i] == id)
			return call->pointers[i];
	misuse("tensor %lld is nowhere", (long long)id);
}

/* A number that is given by its value lies in the host's memory. Where others lie: in slots of the
 * workspace if they are virtual. `call` NULL: its shape alone. */
static Tensor
read_tensor(const Call *call, const CudnnDescriptor *described)
{
	enum { ALIGN = 900, TYPE, DIMENSIONS, STRIDES, ID = 906, BY_VALUE = 908 };
	Tensor t = {.type = attr_enum(described, TYPE, CUDNN_TYPE_DATA_TYPE, -1)};
	int64_t count, id = attr_int(described, ID), align = attr_int(described, ALIGN);
	attr_elements(described, DIMENSIONS, CUDNN_TYPE_INT64, &count, false);
	t.rank = (int)count;
	read_numbers(described, DIMENSIONS, t.rank, t.dims);
	read_numbers(described, STRIDES, t.rank, t.strides);
	if (!call)
		return t;
	HandleKind kind;
	if (attr_elements(described, BY_VALUE, CUDNN_TYPE_BOOLEAN, &count, true)) {
		t.data = find_pointer(call, id);
		return t;
	}
	unsigned char *address = id >= VIRTUAL_ID ? call->workspace + (id - VIRTUAL_ID) * call->slot
	                                          : find_pointer(call, id);
	t.data = memory_bytes(address, (size_t)span(&t), &kind);
	if (!t.data || kind != IS_DEVICE_BLOCK || (uintptr_t)address % (uintptr_t)align)
		misuse("tensor %lld is in no memory of the device's, or not aligned", (long long)id);
	return t;
}

/* At an index, whose dims of 1 stand for all. */
static unsigned char *
place(const Tensor *t, const int64_t *index)
{
	int64_t at = 0;
	for (int i = 0; i < t->rank; i++)
		at += t->dims[i] == 1 ? 0 : index[i] * t->strides[i];
	return t->data + at * size_of(t->type);
}

static float
load(const Tensor *t, const int64_t *index)
{
	float wide;
	uint16_t bits;
	memcpy(&wide, place(t, index), t->type == F32 ? 4 : 0);
	memcpy(&bits, place(t, index), 2);
	return t->type == F32 ? wide : t->type == F16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

static void
store(const Tensor *t, const int64_t *index, float value)
{
	uint16_t bits = t->type == F16 ? f64_to_f16(value) : f64_to_bf16(value);
	if (t->type == F32)
		memcpy(place(t, index), &value, 4);
	else
		memcpy(place(t, index), &bits, 2);
}

/* The next index, the last dim first; false behind the last. */
static bool
step(int rank, const int64_t *dims, int64_t *index)
{
	for (int i = rank - 1; i >= 0; i--) {
		if (++index[i] < dims[i])
			return true;
		index[i] = 0;
	}
	return false;
}

/* ---- Operations ---- */

typedef struct Window {
	int64_t strides[DIMS], dilations[DIMS], before[DIMS];
} Window;

static float
sum_window(const Tensor *x, const Tensor *w, const Window *window, const int64_t *at)
{
	int64_t groups = x->dims[1] / w->dims[1], of_group = w->dims[0] / groups;
	int64_t term[DIMS] = {0}, from[DIMS], weight[DIMS];
	float sum = 0;
	do {
		bool is_inside = true;
		from[0] = at[0];
		from[1] = at[1] / of_group * w->dims[1] + term[0];
		weight[0] = at[1];
		for (int i = 1; i < w->rank; i++)
			weight[i] = term[i - 1];
		for (int i = 0; i < x->rank - 2; i++) {
			from[i + 2] = at[i + 2] * window->strides[i] + term[i + 1] * window->dilations[i] -
			              window->before[i];
			is_inside = is_inside && from[i + 2] >= 0 && from[i + 2] < x->dims[i + 2];
		}
		sum += is_inside ? load(x, from) * load(w, weight) : 0;
	} while (step(w->rank - 1, w->dims + 1, term));
	return sum;
}

static void
convolve(const Call *call, const CudnnDescriptor *operation)
{
	enum { WINDOW = 702, W, X, Y, DILATIONS = 102, STRIDES, BEFORE = 105 };
	Tensor x = read_tensor(call, attr_part(operation, X));
	Tensor w = read_tensor(call, attr_part(operation, W));
	Tensor y = read_tensor(call, attr_part(operation, Y));
	const CudnnDescriptor *how = attr_part(operation, WINDOW);
	Window window;
	int64_t at[DIMS] = {0};
	read_numbers(how, DILATIONS, y.rank - 2, window.dilations);
	read_numbers(how, STRIDES, y.rank - 2, window.strides);
	read_numbers(how, BEFORE, y.rank - 2, window.before);
	do
		store(&y, at, sum_window(&x, &w, &window, at));
	while (step(y.rank, y.dims, at));
}

/* What a convolution of y by w would take from here: the terms whose place is one of x. */
static float
sum_back(const Tensor *x, const Tensor *w, const Tensor *y, const Window *window, const int64_t *at)
{
	int64_t groups = y->dims[1] / w->dims[1], first = at[1] / w->dims[1] * (w->dims[0] / groups);
	int64_t term[DIMS] = {0}, from[DIMS] = {at[0]}, weight[DIMS], sizes[DIMS];
	float sum = 0;
	memcpy(sizes, w->dims, sizeof sizes);
	sizes[0] /= groups;
	sizes[1] = 1;
	do {
		bool is_inside = true;
		memcpy(weight, term, sizeof weight);
		from[1] = weight[0] = first + term[0];
		weight[1] = at[1] % w->dims[1];
		for (int i = 2; i < x->rank; i++) {
			int64_t place = at[i] + window->before[i - 2] - term[i] * window->dilations[i - 2];
			from[i] = place / window->strides[i - 2];
			is_inside = is_inside && place >= 0 && place % window->strides[i - 2] == 0 &&
			            from[i] < x->dims[i];
		}
		sum += is_inside ? load(x, from) * load(w, weight) : 0;
	} while (step(w->rank, sizes, term));
	return sum;
}

static void
convolve_back(const Call *call, const CudnnDescriptor *operation)
{
	enum { WINDOW = 708, W, Y, X, DILATIONS = 102, STRIDES, BEFORE = 105 };
	Tensor x = read_tensor(call, attr_part(operation, X));
	Tensor w = read_tensor(call, attr_part(operation, W));
	Tensor y = read_tensor(call, attr_part(operation, Y));
	const CudnnDescriptor *how = attr_part(operation, WINDOW);
	Window window;
	int64_t at[DIMS] = {0};
	read_numbers(how, DILATIONS, y.rank - 2, window.dilations);
	read_numbers(how, STRIDES, y.rank - 2, window.strides);
	read_numbers(how, BEFORE, y.rank - 2, window.before);
	do
		store(&y, at, sum_back(&x, &w, &y, &window, at));
	while (step(y.rank, y.dims, at));
}

static float
pool_window(const Tensor *x, const Window *window, int mode, const int64_t *size, const int64_t *at)
{
	enum { MAX = 3, MEAN_INSIDE };
	int64_t term[DIMS] = {0}, from[DIMS] = {at[0], at[1]}, inside = 0, taps = 0;
	float sum = 0, most = -INFINITY;
	do {
		bool is_inside = true;
		for (int i = 0; i < x->rank - 2; i++) {
			from[i + 2] = at[i + 2] * window->strides[i] + term[i] - window->before[i];
			is_inside = is_inside && from[i + 2] >= 0 && from[i + 2] < x->dims[i + 2];
		}
		float value = is_inside ? load(x, from) : 0;
		most = is_inside && !(value <= most) ? value : most;
		sum += value;
		inside += is_inside;
		taps++;
	} while (step(x->rank - 2, size, term));
	return mode == MAX ? most : sum / (float)(mode == MEAN_INSIDE ? inside : taps);
}

static void
pool(const Call *call, const CudnnDescriptor *operation)
{
	enum { X = 1710, Y, HOW = 1716, MODE = 1700, BEFORE = 1704, STRIDES, SIZE };
	Tensor x = read_tensor(call, attr_part(operation, X));
	Tensor y = read_tensor(call, attr_part(operation, Y));
	const CudnnDescriptor *how = attr_part(operation, HOW);
	Window window;
	int64_t at[DIMS] = {0}, size[DIMS];
	read_numbers(how, SIZE, y.rank - 2, size);
	read_numbers(how, STRIDES, y.rank - 2, window.strides);
	read_numbers(how, BEFORE, y.rank - 2, window.before);
	int mode = attr_enum(how, MODE, CUDNN_TYPE_RESAMPLE_MODE, -1);
	do
		store(&y, at, pool_window(&x, &window, mode, size, at));
	while (step(y.rank, y.dims, at));
}

static void
multiply(const Call *call, const CudnnDescriptor *operation)
{
	enum { A = 1520, B, C };
	Tensor a = read_tensor(call, attr_part(operation, A));
	Tensor b = read_tensor(call, attr_part(operation, B));
	Tensor c = read_tensor(call, attr_part(operation, C));
	int64_t at[DIMS] = {0}, row[DIMS], column[DIMS];
	do {
		float sum = 0;
		memcpy(row, at, sizeof row);
		memcpy(column, at, sizeof column);
		for (int i = 0; i < c.rank - 2; i++) /* of fewer, each is that of as many */
			column[i] /= c.dims[i] / b.dims[i];
		for (int64_t k = 0; k < a.dims[a.rank - 1]; k++) {
			row[c.rank - 1] = column[c.rank - 2] = k;
			sum += load(&a, row) * load(&b, column);
		}
		store(&c, at, sum);
	} while (step(c.rank, c.dims, at));
}

/* Along the dims of which the result has 1. */
static void
reduce(const Call *call, const CudnnDescriptor *operation)
{
	enum { HOW = 1612, X = 1610, Y, OPERATOR = 1600, ADD = 0, LARGEST = 3 };
	Tensor x = read_tensor(call, attr_part(operation, X));
	Tensor y = read_tensor(call, attr_part(operation, Y));
	int how = attr_enum(attr_part(operation, HOW), OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR, -1);
	int64_t at[DIMS] = {0};
	if (how != ADD && how != LARGEST)
		misuse("a reduction of kind %d, which the stand-in does not know", how);
	do
		store(&y, at, how == ADD ? 0 : -INFINITY);
	while (step(y.rank, y.dims, at));
	do {
		float term = load(&x, at), sum = load(&y, at);
		store(&y, at, how == ADD ? sum + term : fmaxf(sum, term));
	} while (step(x.rank, x.dims, at));
}

/* Over all dims from `first` on, at an index whose others are left alone: the mean of differences
 * from a number, or of their squares. */
static float
mean_of(const Tensor *x, const int64_t *at, int first, float from, bool is_squared)
{
	int64_t here[DIMS], count = 0;
	float sum = 0;
	memcpy(here, at, sizeof here);
	memset(here + first, 0, sizeof here - (size_t)first * sizeof *here);
	do {
		float d = load(x, here) - from;
		sum += is_squared ? d * d : d;
		count++;
	} while (step(x->rank - first, x->dims + first, here + first));
	return sum / (float)count;
}

static void
normalise(const Call *call, const CudnnDescriptor *operation)
{
	enum { MODE = 2000, PHASE, X, SCALE = 2005, BIAS, EPSILON, Y = 2013 };
	enum { LAYER = 0, INSTANCE = 1, RMS = 4, INFERENCE = 0 };
	int mode = attr_enum(operation, MODE, CUDNN_TYPE_NORM_MODE, -1);
	int64_t count, at[DIMS] = {0}, zero[DIMS] = {0};
	bool has_bias = attr_elements(operation, BIAS, CUDNN_TYPE_DESCRIPTOR, &count, true);
	Tensor x = read_tensor(call, attr_part(operation, X));
	Tensor y = read_tensor(call, attr_part(operation, Y));
	Tensor scale = read_tensor(call, attr_part(operation, SCALE));
	Tensor bias = has_bias ? read_tensor(call, attr_part(operation, BIAS)) : x;
	Tensor epsilon = read_tensor(call, attr_part(operation, EPSILON));
	if ((mode != LAYER && mode != INSTANCE && mode != RMS) ||
	    attr_enum(operation, PHASE, CUDNN_TYPE_NORM_PHASE, -1) != INFERENCE)
		misuse("a norm of mode %d, which the stand-in does not know", mode);
	do {
		int first = mode == INSTANCE ? 2 : 1;
		float mean = mode == RMS ? 0 : mean_of(&x, at, first, 0, false);
		float variance = mean_of(&x, at, first, mean, true);
		float value = (load(&x, at) - mean) / sqrtf(variance + load(&epsilon, zero));
		store(&y, at, value * load(&scale, at) + (has_bias ? load(&bias, at) : 0));
	} while (step(y.rank, y.dims, at));
}

static float
point(const CudnnDescriptor *how, float x, float operand)
{
	enum { MODE = 0, LOWER = 3, UPPER, SLOPE };
	int mode = attr_enum(how, MODE, CUDNN_TYPE_POINTWISE_MODE, -1);
	double low = attr_double(how, LOWER, 0), high = attr_double(how, UPPER, INFINITY);
	switch (mode) {
	case 0:
		return x + operand;
	case 1:
		return x * operand;
	case 6:
		return x / operand;
	case 9:
		return x - operand;
	case 13:
		return expf(x);
	case 15:
		return logf(x);
	case 100:
		return x < (float)low    ? (float)(low + attr_double(how, SLOPE, 0) * (x - low))
		       : x > (float)high ? (float)high
		                         : x;
	case 101:
		return tanhf(x);
	case 102:
		return 1 / (1 + expf(-x));
	default:
		misuse("a pointwise operation of mode %d, which the stand-in does not know", mode);
	}
}

static void
map(const Call *call, const CudnnDescriptor *operation)
{
	enum { HOW = 750, X, OPERAND, Y };
	int64_t count, at[DIMS] = {0};
	const void *second = attr_elements(operation, OPERAND, CUDNN_TYPE_DESCRIPTOR, &count, true);
	Tensor x = read_tensor(call, attr_part(operation, X));
	Tensor y = read_tensor(call, attr_part(operation, Y));
	Tensor operand = second ? read_tensor(call, attr_part(operation, OPERAND)) : x;
	const CudnnDescriptor *how = attr_part(operation, HOW);
	do
		store(&y, at, point(how, load(&x, at), load(&operand, at)));
	while (step(y.rank, y.dims, at));
}

/* ---- Graphs ---- */

static int
result_of(const CudnnDescriptor *operation)
{
	int kind = kind_of(operation);
	return kind == CUDNN_CONVOLUTION_FORWARD         ? 705
	       : kind == CUDNN_MATMUL_OPERATION          ? 1522
	       : kind == CUDNN_REDUCTION_OPERATION       ? 1611
	       : kind == CUDNN_RESAMPLE_FORWARD          ? 1711
	       : kind == CUDNN_CONVOLUTION_BACKWARD_DATA ? 710
	       : kind == CUDNN_NORM_FORWARD              ? 2013
	                                                 : 753;
}

bool
graph_has(const CudnnDescriptor *graph, int first)
{
	int64_t count;
	return kind_of(operations(graph, &count)[0]) == first;
}

/* Results but the last are virtual, and none is larger than the first. */
static int64_t
slot_of(const CudnnDescriptor *graph, int64_t *count)
{
	enum { ALIGNED = 64 };
	const CudnnDescriptor *const *all = operations(graph, count);
	Tensor result = read_tensor(NULL, attr_part(all[0], result_of(all[0])));
	return (span(&result) + ALIGNED - 1) / ALIGNED * ALIGNED;
}

int64_t
graph_workspace(const CudnnDescriptor *graph)
{
	int64_t count, slot = slot_of(graph, &count);
	return (count - 1) * slot;
}

void
call_run(void *work)
{
	Call *call = work;
	int64_t count;
	call->slot = slot_of(call->graph, &count);
	const CudnnDescriptor *const *all = operations(call->graph, &count);
	attr_part(call->plan, 401); /* it is there still */
	for (int64_t i = 0; i < count; i++) {
		int kind = kind_of(all[i]);
		(kind == CUDNN_CONVOLUTION_FORWARD         ? convolve
		 : kind == CUDNN_MATMUL_OPERATION          ? multiply
		 : kind == CUDNN_REDUCTION_OPERATION       ? reduce
		 : kind == CUDNN_RESAMPLE_FORWARD          ? pool
		 : kind == CUDNN_CONVOLUTION_BACKWARD_DATA ? convolve_back
		 : kind == CUDNN_NORM_FORWARD              ? normalise
		                                           : map)(call, all[i]);
	}
}
