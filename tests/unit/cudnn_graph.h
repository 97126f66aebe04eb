/* What cuDNN was told, read back from the JSON of a plan, and evaluated by what its manual says of
 * the operations: on `memory`, that of argument i being the tensor i + 1. */
#ifndef UNIT_CUDNN_GRAPH_H
#define UNIT_CUDNN_GRAPH_H

#include <dlfcn.h>
#include <math.h>
#include <unistd.h>

#include "base/json.h"
#include "cudnn_calls.h"
#include "runtime/cudnn/api.h"

enum { NAMES = 128, RANK = 5 };

/* ---- the JSON of a plan ---- */

static char plan[1 << 20];
static int (*destroy)(CudnnDescriptor *descriptor);

/* Descriptors are given back once all is asked: of a plan, its JSON is kept before. */
static int
keep_plan(CudnnDescriptor *descriptor)
{
	enum { PLAN_JSON = 405 };
	int64_t size = 0;
	const CudnnApi *api = &((const Cudnn *)vendor)->api;
	if (!api->BackendGetAttribute(descriptor, PLAN_JSON, CUDNN_TYPE_CHAR, sizeof plan - 1, &size,
	                              plan))
		plan[size] = 0;
	return destroy(descriptor);
}

/* What stands for a driver, beside this program; cuDNN asks for a library of its name. */
static inline bool
has_driver(void)
{
	static const char name[] = "/standin_driver/libcuda.so.1";
	char path[4096] = "";
	ck_assert(readlink("/proc/self/exe", path, sizeof path - sizeof name) > 0);
	strcpy(strrchr(path, '/'), name);
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL;
}

/* Make the plan as it is made where the bundle runs: of the engine that was named when compiling,
 * compiled. The call has room for an attribute more. */
static inline bool
make_plan(VendorCall *call, StepAttr *more)
{
	CudnnPlan made;
	char named[VENDOR_IMPL_SIZE];
	plan[0] = 0;
	if (!accept(call))
		return false;
	if (!strstr(impl, "at open"))
		return plan[0] != 0;
	memcpy(named, impl, sizeof named);
	*more = (StepAttr){.name = "impl", .kind = SA_STRING, .count = 1, .string = named};
	call->nattr++;
	bool is_made = cudnn_choose((Cudnn *)vendor, call, &made, impl, error, sizeof error);
	if (is_made)
		cudnn_drop_plan(&made);
	call->nattr--;
	return is_made && plan[0] != 0;
}

static void
watch_plans(void)
{
	CudnnApi *api = &((Cudnn *)vendor)->api;
	destroy = api->BackendDestroyDescriptor;
	api->BackendDestroyDescriptor = keep_plan;
}

/* ---- a graph of cuDNN's ---- */

typedef struct Tensor {
	int rank;
	int64_t dim[RANK], stride[RANK];
	double *data;
	bool is_own;
} Tensor;

static Tensor tensors[NAMES];

static int
numbers(const Json *object, const char *name, int64_t *to)
{
	int length = 0;
	const Json *list = json_member(object, name);
	for (const Json *item = json_is(list, JSON_ARRAY) ? list->child : NULL; item; item = item->next)
		to[length++] = (int64_t)item->number;
	return length;
}

static const char *
text(const Json *object, const char *name)
{
	const Json *member = json_member(object, name);
	return json_is(member, JSON_TEXT) ? member->text : "";
}

static double
number(const Json *object, const char *name)
{
	const Json *member = json_member(object, name);
	ck_assert_msg(json_is(member, JSON_NUMBER), "%s", name);
	return member->number;
}

static Tensor *
tensor_of(const Json *object, const char *name)
{
	int id = atoi(text(object, name));
	ck_assert_msg(0 < id && id < NAMES, "a tensor '%s'", text(object, name));
	return &tensors[id];
}

static int64_t
volume(const int64_t *dims, int rank)
{
	return rank == 0 ? 1 : dims[0] * volume(dims + 1, rank - 1);
}

/* Elements from the first to the last one. */
static int64_t
reach(const Tensor *t)
{
	int64_t last = 0;
	for (int d = 0; d < t->rank; d++)
		last += (t->dim[d] - 1) * t->stride[d];
	return last + 1;
}

/* Where element number i lies, of these dims in order; a tensor's dim of 1 stands still. */
static double *
element(const Tensor *t, const int64_t *dims, int64_t i)
{
	int64_t at = 0;
	for (int d = t->rank - 1; d >= 0; i /= dims[d--])
		at += t->dim[d] == 1 ? 0 : i % dims[d] * t->stride[d];
	return &t->data[at];
}

static void
read_tensor(const Json *json, double *const *memory)
{
	int id = atoi(text(json, "name"));
	Tensor *t = tensor_of(json, "name");
	t->rank = numbers(json, "dim", t->dim);
	ck_assert_int_eq(numbers(json, "stride", t->stride), t->rank);
	t->is_own = json_member(json, "isVirtual")->number != 0;
	t->data = t->is_own ? calloc((size_t)reach(t), sizeof *t->data) : memory[id - 1];
}

/* One element of a convolution's result. */
static double
sum_at(const Json *node, const int64_t *at)
{
	const Tensor *x = tensor_of(node, "X"), *w = tensor_of(node, "W");
	int64_t strides[RANK], dilations[RANK], pads[RANK], taps = volume(w->dim + 1, w->rank - 1);
	int spatial = numbers(node, "stride", strides);
	ck_assert_int_eq(numbers(node, "dilation", dilations), spatial);
	ck_assert_int_eq(numbers(node, json_member(node, "pad") ? "pad" : "pad_lower", pads), spatial);
	int64_t per_group = w->dim[0] / (x->dim[1] / w->dim[1]);
	double sum = 0;
	for (int64_t t = 0; t < taps; t++) {
		int64_t rest = t, from_w = at[1] * w->stride[0], from_x = at[0] * x->stride[0];
		bool is_inside = true;
		for (int d = w->rank - 1; d >= 2; rest /= w->dim[d--]) {
			int64_t r = rest % w->dim[d];
			int64_t i = at[d] * strides[d - 2] + r * dilations[d - 2] - pads[d - 2];
			is_inside &= 0 <= i && i < x->dim[d];
			from_w += r * w->stride[d];
			from_x += i * x->stride[d];
		}
		from_w += rest * w->stride[1];
		from_x += (rest + at[1] / per_group * w->dim[1]) * x->stride[1];
		sum += is_inside ? x->data[from_x] * w->data[from_w] : 0;
	}
	return sum;
}

static void
run_convolution(const Json *node)
{
	const Tensor *y = tensor_of(node, "Y");
	ck_assert_str_eq(text(node, "mode"), "CUDNN_CROSS_CORRELATION");
	ck_assert(number(node, "alpha") == 1 && number(node, "beta") == 0);
	for (int64_t i = 0; i < volume(y->dim, y->rank); i++) {
		int64_t at[RANK], rest = i;
		for (int d = y->rank - 1; d >= 0; rest /= y->dim[d--])
			at[d] = rest % y->dim[d];
		*element(y, y->dim, i) = sum_at(node, at);
	}
}

/* One element of what a convolution with these weights would make dY of. */
static double
sum_back_at(const Json *node, const int64_t *at)
{
	const Tensor *x = tensor_of(node, "dY"), *w = tensor_of(node, "W");
	int64_t strides[RANK], dilations[RANK], pads[RANK];
	int spatial = numbers(node, "stride", strides);
	ck_assert_int_eq(numbers(node, "dilation", dilations), spatial);
	ck_assert_int_eq(numbers(node, json_member(node, "pad") ? "pad" : "pad_lower", pads), spatial);
	int64_t groups = tensor_of(node, "dX")->dim[1] / w->dim[1], of_group = w->dim[0] / groups;
	int64_t first = at[1] / w->dim[1] * of_group;
	double sum = 0;
	for (int64_t t = 0; t < of_group * volume(w->dim + 2, spatial); t++) {
		int64_t rest = t, from_w = at[1] % w->dim[1] * w->stride[1], from_x = at[0] * x->stride[0];
		bool is_inside = true;
		for (int d = w->rank - 1; d >= 2; rest /= w->dim[d--]) {
			int64_t r = rest % w->dim[d], place = at[d] + pads[d - 2] - r * dilations[d - 2];
			int64_t i = place / strides[d - 2];
			is_inside &= place >= 0 && place % strides[d - 2] == 0 && i < x->dim[d];
			from_w += r * w->stride[d];
			from_x += i * x->stride[d];
		}
		from_w += (first + rest) * w->stride[0];
		from_x += (first + rest) * x->stride[1];
		sum += is_inside ? x->data[from_x] * w->data[from_w] : 0;
	}
	return sum;
}

static void
run_convolution_back(const Json *node)
{
	const Tensor *y = tensor_of(node, "dX");
	ck_assert_str_eq(text(node, "mode"), "CUDNN_CROSS_CORRELATION");
	ck_assert(number(node, "alpha") == 1 && number(node, "beta") == 0);
	for (int64_t i = 0; i < volume(y->dim, y->rank); i++) {
		int64_t at[RANK], rest = i;
		for (int d = y->rank - 1; d >= 0; rest /= y->dim[d--])
			at[d] = rest % y->dim[d];
		*element(y, y->dim, i) = sum_back_at(node, at);
	}
}

/* C[b, m, n] = sum over k of A[b, m, k] and B[b, k, n]; of fewer b each is that of as many. */
static void
run_product(const Json *node)
{
	const Tensor *a = tensor_of(node, "matA"), *b = tensor_of(node, "matB");
	const Tensor *c = tensor_of(node, "matC");
	int row = c->rank - 2, column = c->rank - 1;
	for (int64_t i = 0; i < volume(c->dim, c->rank); i++) {
		int64_t rest = i, from_a = 0, from_b = 0;
		double sum = 0;
		for (int d = c->rank - 1; d >= 0; rest /= c->dim[d--]) {
			int64_t at = rest % c->dim[d];
			from_a += d == column || a->dim[d] == 1 ? 0 : at * a->stride[d];
			from_b += d == row ? 0 : at / (c->dim[d] / b->dim[d]) * b->stride[d];
		}
		for (int64_t k = 0; k < a->dim[column]; k++)
			sum += a->data[from_a + k * a->stride[column]] * b->data[from_b + k * b->stride[row]];
		*element(c, c->dim, i) = sum;
	}
}

/* Of fractions, which are whole here. */
static int
whole_numbers(const Json *object, const char *name, int64_t *to)
{
	int length = 0;
	for (const Json *item = json_member(object, name)->child; item; item = item->next) {
		ck_assert(item->child->next->number == 1);
		to[length++] = (int64_t)item->child->number;
	}
	return length;
}

/* One element of a pool's result: of a window's elements that are there, and of its padding. */
static double
pooled_at(const Json *node, const char *mode, const int64_t *at)
{
	const Tensor *x = tensor_of(node, "X");
	int64_t size[RANK], strides[RANK], before[RANK], inside = 0;
	int spatial = whole_numbers(node, "windowDim", size);
	ck_assert_int_eq(whole_numbers(node, "stride", strides), spatial);
	ck_assert_int_eq(whole_numbers(node, "prePad", before), spatial);
	double sum = 0, most = -INFINITY;
	for (int64_t t = 0; t < volume(size, spatial); t++) {
		int64_t rest = t, from = at[0] * x->stride[0] + at[1] * x->stride[1];
		bool is_inside = true;
		for (int d = spatial - 1; d >= 0; rest /= size[d--]) {
			int64_t i = at[d + 2] * strides[d] + rest % size[d] - before[d];
			is_inside &= 0 <= i && i < x->dim[d + 2];
			from += i * x->stride[d + 2];
		}
		inside += is_inside;
		sum += is_inside ? x->data[from] : 0;
		most = is_inside ? fmax(most, x->data[from]) : most;
	}
	return strcmp(mode, "MAXPOOL") == 0                   ? most
	       : strcmp(mode, "AVGPOOL_EXCLUDE_PADDING") == 0 ? sum / (double)inside
	                                                      : sum / (double)volume(size, spatial);
}

static void
run_resample(const Json *node)
{
	static const char prefix[] = "CUDNN_RESAMPLE_";
	const Tensor *y = tensor_of(node, "Y");
	const char *mode = text(node, "mode") + strlen(prefix);
	bool is_max = strcmp(mode, "MAXPOOL") == 0;
	ck_assert(is_max || strncmp(mode, "AVGPOOL", 7) == 0);
	ck_assert_str_eq(text(node, "paddingMode"), is_max ? "CUDNN_NEG_INF_PAD" : "CUDNN_ZERO_PAD");
	ck_assert_str_eq(text(node, "nanOpt"), "CUDNN_PROPAGATE_NAN");
	ck_assert_str_eq(text(node, "compType"), "CUDNN_DATA_FLOAT");
	for (int64_t i = 0; i < volume(y->dim, y->rank); i++) {
		int64_t at[RANK], rest = i;
		for (int d = y->rank - 1; d >= 0; rest /= y->dim[d--])
			at[d] = rest % y->dim[d];
		*element(y, y->dim, i) = pooled_at(node, mode, at);
	}
}

static double
pointwise(const Json *node, const char *mode, double x, double b)
{
	if (strcmp(mode, "ADD") == 0)
		return x + b;
	if (strcmp(mode, "MUL") == 0)
		return x * b;
	if (strcmp(mode, "SUB") == 0)
		return x - b;
	if (strcmp(mode, "DIV") == 0)
		return x / b;
	if (strcmp(mode, "EXP") == 0)
		return exp(x);
	if (strcmp(mode, "LOG") == 0)
		return log(x);
	if (strcmp(mode, "SIGMOID_FWD") == 0)
		return 1 / (1 + exp(-x));
	ck_assert_str_eq(mode, "RELU_FWD");
	ck_assert(number(node, "lowerClipSlope") == 0);
	return fmin(fmax(x, number(node, "lowerClip")), number(node, "upperClip"));
}

static void
run_pointwise(const Json *node)
{
	static const char prefix[] = "CUDNN_POINTWISE_";
	const Tensor *x = tensor_of(node, "X"), *y = tensor_of(node, "Y"), *b = NULL;
	const char *mode = text(node, "pointwiseMode");
	ck_assert(strncmp(mode, prefix, strlen(prefix)) == 0);
	if (json_member(node, "B"))
		b = tensor_of(node, "B");
	for (int64_t i = 0; i < volume(y->dim, y->rank); i++)
		*element(y, y->dim, i) = pointwise(node, mode + strlen(prefix), *element(x, y->dim, i),
		                                   b ? *element(b, y->dim, i) : 0);
}

/* Along dims of which the result has 1. */
static void
run_reduction(const Json *node)
{
	const Tensor *x = tensor_of(node, "X"), *y = tensor_of(node, "Y");
	bool is_max = strcmp(text(node, "reductionOp"), "CUDNN_REDUCE_TENSOR_MAX") == 0;
	ck_assert(is_max || strcmp(text(node, "reductionOp"), "CUDNN_REDUCE_TENSOR_ADD") == 0);
	for (int64_t i = 0; i < volume(y->dim, y->rank); i++)
		*element(y, y->dim, i) = is_max ? -INFINITY : 0;
	for (int64_t i = 0; i < volume(x->dim, x->rank); i++) {
		double *sum = element(y, x->dim, i), term = *element(x, x->dim, i);
		*sum = is_max ? fmax(*sum, term) : *sum + term;
	}
}

/* The mean of a row and of its squares, over all dims from `first` on. */
static void
moments_of(const Tensor *x, const int64_t *at, int first, double *mean, double *squares)
{
	int64_t length = volume(x->dim + first, x->rank - first), from = 0;
	for (int d = 0; d < first; d++)
		from += at[d] * x->stride[d];
	*mean = *squares = 0;
	for (int64_t i = 0; i < length; i++) {
		int64_t rest = i, here = from;
		for (int d = x->rank - 1; d >= first; rest /= x->dim[d--])
			here += rest % x->dim[d] * x->stride[d];
		*mean += x->data[here] / (double)length;
		*squares += x->data[here] * x->data[here] / (double)length;
	}
}

static void
run_norm(const Json *node)
{
	const Tensor *x = tensor_of(node, "X"), *y = tensor_of(node, "Y");
	const Tensor *scale = tensor_of(node, "Scale"), *epsilon = tensor_of(node, "epsilonDesc");
	const Tensor *bias = json_member(node, "Bias") ? tensor_of(node, "Bias") : NULL;
	const char *mode = text(node, "mode");
	bool is_rms = strcmp(mode, "CUDNN_RMS_NORM") == 0;
	bool is_instance = strcmp(mode, "CUDNN_INSTANCE_NORM") == 0;
	ck_assert(is_rms || is_instance || strcmp(mode, "CUDNN_LAYER_NORM") == 0);
	ck_assert_str_eq(text(node, "fmode"), "CUDNN_NORM_FWD_INFERENCE");
	for (int64_t i = 0; i < volume(y->dim, y->rank); i++) {
		int64_t at[RANK], rest = i;
		double mean, squares;
		for (int d = y->rank - 1; d >= 0; rest /= y->dim[d--])
			at[d] = rest % y->dim[d];
		moments_of(x, at, is_instance ? 2 : 1, &mean, &squares);
		mean = is_rms ? 0 : mean;
		*element(y, y->dim, i) = (*element(x, y->dim, i) - mean) /
		                             sqrt(squares - mean * mean + epsilon->data[0]) *
		                             *element(scale, y->dim, i) +
		                         (bias ? *element(bias, y->dim, i) : 0);
	}
}

static inline void
run_plan(double *const *memory)
{
	Json *json = json_read(plan, strlen(plan));
	const Json *graph = json_member(json, "operationGraph");
	ck_assert_msg(graph != NULL, "%s", plan);
	for (const Json *t = json_member(graph, "tensors")->child; t; t = t->next)
		read_tensor(t, memory);
	for (const Json *node = json_member(graph, "nodes")->child; node; node = node->next)
		if (strstr(text(node, "operation"), "CONVOLUTION_FORWARD"))
			run_convolution(node);
		else if (strstr(text(node, "operation"), "CONVOLUTION_BACKWARD_DATA"))
			run_convolution_back(node);
		else if (strstr(text(node, "operation"), "MATMUL"))
			run_product(node);
		else if (strstr(text(node, "operation"), "RESAMPLE_FWD"))
			run_resample(node);
		else if (strstr(text(node, "operation"), "REDUCTION"))
			run_reduction(node);
		else if (strstr(text(node, "operation"), "NORM_FORWARD"))
			run_norm(node);
		else
			run_pointwise(node);
	for (int i = 0; i < NAMES; i++)
		if (tensors[i].is_own)
			free(tensors[i].data);
	memset(tensors, 0, sizeof tensors);
	json_free(json);
}

#endif
