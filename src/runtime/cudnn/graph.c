/* A call as a graph of cuDNN's operations: the main one, then what stands behind it, each written
 * to a tensor that is nowhere in memory, but for the last.
 *
 *     conv (x, w, bias, y) post=relu  =>  1 = conv(x, w), 2 = add(1, bias), y = relu(2)
 *
 * Sums and what stands behind them are computed in f32, whatever the operands are, and rounded
 * once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "runtime/cudnn/build.h"

/* ---- what stands behind ---- */

/* Modes of cuDNN's pointwise operations, and attributes that take the post-op's numbers. */
static const PointwiseRow pointwise[POST_KINDS] = {
	[POST_sum] = {0, true, {0}},       [POST_add] = {0, true, {0}},
	[POST_mul] = {1, true, {0}},       [POST_relu] = {100, true, {0}},
	[POST_clip] = {100, true, {3, 4}}, [POST_leaky_relu] = {100, true, {5}},
	[POST_tanh] = {101, true, {0}},    [POST_sigmoid] = {102, true, {0}},
	[POST_elu] = {103, true, {6}},     [POST_gelu_erf] = {104, true, {0}},
	[POST_swish] = {106, true, {8}},   [POST_gelu_tanh] = {107, true, {0}},
};

/* A post-op, which cuDNN may not be asked for. */
static bool
add_post(Builder *b, const StepPost *post, bool is_last)
{
	const PointwiseRow *row = &pointwise[post->kind];
	if (!row->is_known)
		return build_refuse(b, "cuDNN is not asked for this post-op");
	CudnnDescriptor *operand = post->arg >= 0 ? build_argument(b, post->arg, -1) : NULL;
	build_pointwise(b, row, post->numbers, operand, is_last);
	return !b->pile->status;
}

/* The bias, then the others; but a tensor that is added comes before a bias, as in what cuDNN has
 * engines for: both are more terms of one sum. */
static bool
add_posts(Builder *b, int count, const StepPost *posts, bool has_bias, int channel)
{
	int first = has_bias && count > 0 && (posts->kind == POST_sum || posts->kind == POST_add);
	if (first && !add_post(b, posts, false))
		return false;
	if (has_bias)
		build_pointwise(b, &pointwise[POST_add], NULL, build_argument(b, 2, channel),
		                count == first);
	for (int i = first; i < count; i++)
		if (!add_post(b, &posts[i], i == count - 1))
			return false;
	return !b->pile->status;
}

/* ---- main operations ---- */

static int64_t
attr_int(const Builder *b, const char *name, int index, int64_t otherwise)
{
	return step_attr_int(b->call->nattr, b->call->attrs, name, index, otherwise);
}

/* Numbers of a window, from those of the call; of a dim that is only here what makes no
 * difference. Padding behind is what the last of so many windows needs; if a window more would lie
 * behind it, what does is no part of x. */
static bool
read_windows(Builder *b, Shape *x, const Shape *w, const Shape *windows, int64_t window[4][DIMS])
{
	int spatial = b->result.rank - 2, first = b->is_spread;
	for (int i = 0; i < spatial; i++) {
		bool is_ours = i >= first;
		int64_t stride = is_ours ? attr_int(b, "strides", i - first, 1) : 1;
		int64_t dilation = is_ours ? attr_int(b, "dilations", i - first, 1) : 1;
		int64_t before = is_ours ? attr_int(b, "pads_lo", i - first, 0) : 0, used, last;
		if (__builtin_mul_overflow(windows->dims[i + 2] - 1, stride, &last) ||
		    __builtin_mul_overflow(w->dims[i + 2] - 1, dilation, &used) ||
		    __builtin_add_overflow(last, used + 1, &used))
			return build_refuse(b, "a window is too large");
		int64_t behind = used - x->dims[i + 2] - before;
		window[0][i] = stride;
		window[1][i] = dilation;
		window[2][i] = before;
		window[3][i] = behind > 0 ? behind : 0;
		x->dims[i + 2] += -behind >= stride ? behind : 0;
		if (x->dims[i + 2] < 1)
			return build_refuse(b, "windows read padding alone");
	}
	return true;
}

/* The first two arguments, of as many dims as the result. */
static bool
read_image_and_weights(Builder *b, Shape *x, Shape *w)
{
	if (!build_shape(b, 0, x) || !build_shape(b, 1, w))
		return false;
	if (b->is_spread) {
		build_insert_dim(x, 2);
		build_insert_dim(w, 2);
	}
	return (x->rank == b->result.rank && w->rank == x->rank) || build_refuse(b, "ranks differ");
}

static CudnnDescriptor *
make_window(const Builder *b, int64_t window[4][DIMS])
{
	enum { SUM = 100, MODE, DILATIONS, STRIDES, BEHIND, BEFORE, SPATIAL };
	int spatial = b->result.rank - 2;
	return MAKE(b->pile, CUDNN_CONVOLUTION, TYPE(SUM, F32),
	            ENUM(MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1), INT(SPATIAL, spatial),
	            INTS(STRIDES, spatial, window[0]), INTS(DILATIONS, spatial, window[1]),
	            INTS(BEFORE, spatial, window[2]), INTS(BEHIND, spatial, window[3]));
}

static bool
add_conv(Builder *b, bool is_last)
{
	enum { ALPHA = 700, BETA, WINDOW, W, X, Y };
	Shape x, w;
	int64_t window[4][DIMS];
	if (!read_image_and_weights(b, &x, &w) || !read_windows(b, &x, &w, &b->result, window))
		return false;
	b->operations[b->count] =
		MAKE(b->pile, CUDNN_CONVOLUTION_FORWARD, PART(WINDOW, make_window(b, window)),
	         PART(X, build_tensor(b, 1, &x)), PART(W, build_tensor(b, 2, &w)),
	         PART(Y, build_next(b, is_last)), FLOAT(ALPHA, 1), FLOAT(BETA, 0));
	return b->operations[b->count++] != NULL;
}

/* What a convolution of the result, with these weights, would make: x is as that one's result. */
static bool
add_conv_transpose(Builder *b, bool is_last)
{
	enum { ALPHA = 706, BETA, WINDOW, W, Y, X };
	Shape x, w, y = b->result;
	int64_t window[4][DIMS];
	if (!read_image_and_weights(b, &x, &w) || !read_windows(b, &y, &w, &x, window))
		return false;
	if (memcmp(y.dims, b->result.dims, sizeof y.dims) != 0)
		return build_refuse(b, "results that no window reaches");
	b->operations[b->count] =
		MAKE(b->pile, CUDNN_CONVOLUTION_BACKWARD_DATA, PART(WINDOW, make_window(b, window)),
	         PART(X, build_tensor(b, 1, &x)), PART(W, build_tensor(b, 2, &w)),
	         PART(Y, build_next(b, is_last)), FLOAT(ALPHA, 1), FLOAT(BETA, 0));
	return b->operations[b->count++] != NULL;
}

/* A pool's kind as the mode of cuDNN's that is meant, and what it takes padding for. */
static const struct PoolRow {
	const char *kind;
	int mode, padding;
} pools[] = {
	{"max", 3, 1},        /* of padding, which is below all numbers */
	{"avg_padded", 2, 0}, /* zeros, which are counted */
	{"avg", 4, 0},        /* not counted */
};

static const struct PoolRow *
pool_row(const Builder *b)
{
	const StepAttr *kind = step_attr(b->call->nattr, b->call->attrs, "kind");
	for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
		if (kind && kind->kind == SA_STRING && strcmp(kind->string, pools[i].kind) == 0)
			return &pools[i];
	return NULL;
}

/* cuDNN calls it resampling, whose windows have no dilation. A NaN in a window is its largest. */
static bool
add_pool(Builder *b, bool is_last)
{
	enum { MODE = 1700, SUM, SPATIAL, BEHIND, BEFORE, STRIDES, WINDOW, NAN_MODE, PADDING };
	enum { X = 1710, Y, HOW = 1716, KEEP_NAN = 1 };
	const struct PoolRow *row = pool_row(b);
	Shape x, kernel = {.rank = b->result.rank};
	int64_t window[4][DIMS];
	if (!row)
		return build_refuse(b, "cuDNN is not asked for this pool");
	if (!build_shape(b, 0, &x))
		return false;
	if (b->is_spread)
		build_insert_dim(&x, 2);
	if (x.rank != b->result.rank)
		return build_refuse(b, "ranks differ");
	int spatial = x.rank - 2;
	for (int i = 0; i < spatial; i++)
		kernel.dims[i + 2] = i < b->is_spread ? 1 : attr_int(b, "kernel", i - b->is_spread, 1);
	if (!read_windows(b, &x, &kernel, &b->result, window))
		return false;
	CudnnDescriptor *how =
		MAKE(b->pile, CUDNN_RESAMPLE, ENUM(MODE, CUDNN_TYPE_RESAMPLE_MODE, row->mode),
	         TYPE(SUM, F32), ENUM(NAN_MODE, CUDNN_TYPE_NAN_PROPAGATION, KEEP_NAN),
	         ENUM(PADDING, CUDNN_TYPE_PADDING_MODE, row->padding), INT(SPATIAL, spatial),
	         INTS(WINDOW, spatial, kernel.dims + 2), INTS(STRIDES, spatial, window[0]),
	         INTS(BEFORE, spatial, window[2]), INTS(BEHIND, spatial, window[3]));
	b->operations[b->count] =
		MAKE(b->pile, CUDNN_RESAMPLE_FORWARD, PART(HOW, how), PART(X, build_tensor(b, 1, &x)),
	         PART(Y, build_next(b, is_last)));
	return b->operations[b->count++] != NULL;
}

/* The last two dims exchanged, where the call says so; at least three dims. */
static bool
read_matrix(Builder *b, int arg, const char *swapped, Shape *shape)
{
	if (!build_shape(b, arg, shape) || shape->rank < 2)
		return false;
	if (attr_int(b, swapped, 0, 0))
		build_swap_last(shape);
	while (shape->rank < b->whole.rank)
		build_insert_dim(shape, 0);
	return build_join_batch(b, shape);
}

static bool
add_matmul(Builder *b, bool is_last)
{
	Shape x, y;
	if (!read_matrix(b, 0, "transpose_a", &x) || !read_matrix(b, 1, "transpose_b", &y))
		return false;
	build_product(b, build_tensor(b, 1, &x), build_tensor(b, 2, &y), build_next(b, is_last));
	return !b->pile->status;
}

/* ---- the graph ---- */

/* Calls by name, with what computes the main operation. */
static const struct MainRow {
	const char *name;
	bool (*add)(Builder *b, bool is_last);
	bool has_windows, has_bias; /* the second: its third argument may be one */
} mains[] = {
	{"conv", add_conv, true, true},
	{"conv_transpose", add_conv_transpose, true, true},
	{"matmul", add_matmul, false, true},
	{"pool", add_pool, true, false},
};

/* Calls whose graph is all of them, by name. Each has VENDOR_INPUTS operands, any of which may be
 * missing, and the result (vendor.def, program). */
static const struct WholeRow {
	const char *name;
	bool (*build)(Builder *b);
} wholes[] = {
	{"attention", build_attention},
	{"layer_norm", build_layer_norm},
	{"rms_norm", build_rms_norm},
	{"instance_norm", build_instance_norm},
};

static const struct WholeRow *
whole_row(const VendorCall *call)
{
	enum { ARGS = 6 };
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
		if (strcmp(call->row, wholes[i].name) == 0 && call->narg == ARGS)
			return &wholes[i];
	return NULL;
}

static const struct MainRow *
main_row(const VendorCall *call)
{
	for (size_t i = 0; i < sizeof mains / sizeof *mains; i++)
		if (strcmp(call->row, mains[i].name) == 0 && call->narg >= (mains[i].has_bias ? 4 : 2))
			return &mains[i];
	return NULL;
}

/* The result as operations have it, of at least three dims. */
static bool
read_result(Builder *b, const struct MainRow *row)
{
	if (!build_shape(b, b->call->narg - 1, &b->result))
		return false;
	b->is_spread = row->has_windows && b->result.rank == 3;
	if (b->is_spread)
		build_insert_dim(&b->result, 2);
	while (b->result.rank < 3)
		build_insert_dim(&b->result, 0);
	b->whole = b->result;
	return row->has_windows || build_join_result(b);
}

static CudnnDescriptor *
finish(Builder *b, CudnnHandle *handle)
{
	enum { HANDLE = 800, PARTS };
	const CudnnAttr parts[] = {{PARTS, CUDNN_TYPE_DESCRIPTOR, b->count, b->operations},
	                           {HANDLE, CUDNN_TYPE_HANDLE, 1, handle ? &handle : NULL},
	                           {0}};
	return cudnn_make(b->pile, CUDNN_GRAPH, parts);
}

CudnnDescriptor *
cudnn_graph(CudnnPile *pile, const VendorCall *call, CudnnHandle *handle)
{
	Builder b = {.pile = pile, .call = call};
	StepPost posts[POST_MAX];
	const struct MainRow *row = main_row(call);
	const struct WholeRow *whole = whole_row(call);
	if (whole)
		return whole->build(&b) ? finish(&b, handle) : NULL;
	const StepAttr *post = step_attr(call->nattr, call->attrs, "post");
	int count = post ? posts_read(post->string, posts, pile->error, pile->error_size) : 0;
	if (count < 0 || !row)
		return build_refuse(&b, "cuDNN is not asked for this call"), NULL;
	bool has_bias = row->has_bias && call->args[2].type != DT_NONE;
	if (!read_result(&b, row) || !row->add(&b, count == 0 && !has_bias) ||
	    !add_posts(&b, count, posts, has_bias, row->has_windows ? 1 : b.whole.rank - 1))
		return NULL;
	return finish(&b, handle);
}
