/* A call as a graph of cuDNN's operations: the main one, then what stands behind it, each written
 * to a tensor that is nowhere in memory, but for the last.
 *
 *     conv (x, w, bias, y) post=relu  =>  1 = conv(x, w), 2 = add(1, bias), y = relu(2)
 *     attention (q, k, v, added, y)   =>  y = softmax(scale * q k^T + added) v, in eleven
 *
 * Sums and what stands behind them are computed in f32, whatever the operands are, and rounded
 * once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "runtime/cudnn/api.h"

enum { F32 = 0, DIMS = 5, ALIGNMENT = 16, VIRTUAL_ID = 100, OPERATIONS = POST_MAX + 4 };

/* Attributes as they stand in lists of them. */
#define ATTR(name, type, count, elements) ((CudnnAttr){name, type, count, elements})
#define INTS(name, count, numbers) ATTR(name, CUDNN_TYPE_INT64, count, numbers)
#define INT(name, number) INTS(name, 1, (&(int64_t){number}))
#define YES(name, is) ATTR(name, CUDNN_TYPE_BOOLEAN, 1, (&(bool){is}))
#define ENUM(name, type, number) ATTR(name, type, 1, (&(int){number}))
#define TYPE(name, number) ENUM(name, CUDNN_TYPE_DATA_TYPE, number)
#define FLOAT(name, number) ATTR(name, CUDNN_TYPE_FLOAT, 1, (&(float){number}))
#define PART(name, made) ATTR(name, CUDNN_TYPE_DESCRIPTOR, 1, (&(CudnnDescriptor *){made}))
#define MAKE(pile, kind, ...) cudnn_make(pile, kind, (const CudnnAttr[]){__VA_ARGS__, {0}})

typedef struct Shape {
	int type, rank;
	int64_t offset; /* bytes behind what is aligned */
	int64_t dims[DIMS + 1], strides[DIMS + 1];
} Shape;

typedef struct Builder {
	CudnnPile *pile;
	const VendorCall *call;
	Shape result, whole; /* the second: as the call has it, before its batch is one dim */
	bool is_spread;      /* windows over one dim are windows over two, the first of them 1 */
	int between;         /* type of what operations hand on: F32, but for probabilities */
	int count;
	CudnnDescriptor *operations[OPERATIONS];
	CudnnDescriptor *value; /* what the operations so far give */
} Builder;

static bool
refuse(Builder *b, const char *what)
{
	if (!b->pile->status)
		snprintf(b->pile->error, b->pile->error_size, "%s", what);
	b->pile->status = b->pile->status ? b->pile->status : -1;
	return false;
}

/* ---- tensors ---- */

static int
type_of(DType type)
{
	static const struct {
		DType ours;
		int theirs;
	} types[] = {{DT_F32, F32}, {DT_F16, 2}, {DT_BF16, 9}};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].ours == type)
			return types[i].theirs;
	return -1;
}

/* Which dim a letter of a layout like "nhwc" is: spatial ones stand behind channels, w last. */
static int
dim_of_letter(char letter, int rank)
{
	static const char spatial[] = "whd";
	const char *found = strchr(spatial, letter);
	return letter == 'n' ? 0 : letter == 'c' ? 1 : found ? rank - 1 - (int)(found - spatial) : -1;
}

/* Strides of what lies dense, in the order of a layout, or of its dims. */
static bool
fill_strides(Shape *shape, const char *layout)
{
	int64_t stride = 1;
	if (layout && (int)strlen(layout) != shape->rank)
		return false;
	for (int i = shape->rank - 1; i >= 0; i--) {
		int d = layout ? dim_of_letter(layout[i], shape->rank) : i;
		if (d < 0)
			return false;
		shape->strides[d] = stride;
		stride *= shape->dims[d];
	}
	return true;
}

/* One more dim, of 1, at this place. */
static void
insert_dim(Shape *shape, int at)
{
	size_t moved = (size_t)(shape->rank - at) * sizeof *shape->dims;
	int64_t stride = at < shape->rank ? shape->dims[at] * shape->strides[at] : 1;
	memmove(shape->dims + at + 1, shape->dims + at, moved);
	memmove(shape->strides + at + 1, shape->strides + at, moved);
	shape->dims[at] = 1;
	shape->strides[at] = stride;
	shape->rank++;
}

static bool
read_shape(Builder *b, int arg, Shape *shape)
{
	const VendorArg *a = &b->call->args[arg];
	*shape = (Shape){.type = type_of(a->type), .rank = a->rank, .offset = a->offset % ALIGNMENT};
	if (shape->type < 0 || a->rank < 1 || a->rank > DIMS)
		return refuse(b, "an argument's type or rank is none of those that cuDNN is asked for");
	memcpy(shape->dims, a->dims, (size_t)a->rank * sizeof *a->dims);
	if (a->strides)
		memcpy(shape->strides, a->strides, (size_t)a->rank * sizeof *a->strides);
	else if (!fill_strides(shape, a->layout))
		return refuse(b, "an argument is stored in blocks");
	return true;
}

static CudnnDescriptor *
tensor(Builder *b, int64_t id, const Shape *s)
{
	bool is_virtual = id >= VIRTUAL_ID;
	enum { ALIGN = 900, DATA_TYPE, DIMENSIONS, STRIDES, ID = 906, IS_VIRTUAL };
	return MAKE(b->pile, CUDNN_TENSOR, TYPE(DATA_TYPE, s->type), INTS(DIMENSIONS, s->rank, s->dims),
	            INTS(STRIDES, s->rank, s->strides), INT(ID, id),
	            INT(ALIGN, s->offset ? s->offset & -s->offset : ALIGNMENT),
	            YES(IS_VIRTUAL, is_virtual));
}

/* cuDNN multiplies matrices of one batch: dims before the last two become one, in all arguments. Of
 * those that are no 1 in the result either all are there, one behind the other, or none is. */
static bool
join_batch(Builder *b, Shape *s)
{
	int row = s->rank - 2;
	int64_t extent = 1, of_result = 1, stride = s->dims[row] * s->strides[row];
	if (s->rank == b->result.rank)
		return true;
	for (int i = row - 1; i >= 0; i--) {
		int64_t wanted = b->whole.dims[i], own = s->dims[i];
		bool is_first = of_result == 1, is_none = own == 1 && extent == 1;
		bool is_next =
			own == wanted && extent == of_result && (is_first || s->strides[i] == stride * extent);
		if (wanted == 1)
			continue;
		if (!is_none && !is_next)
			return refuse(b, "a batch whose matrices lie in several runs");
		stride = is_next && is_first ? s->strides[i] : stride;
		extent *= own;
		of_result *= wanted;
	}
	s->dims[0] = extent;
	s->strides[0] = stride;
	for (int i = 1; i < b->result.rank; i++) {
		s->dims[i] = s->dims[row + i - 1];
		s->strides[i] = s->strides[row + i - 1];
	}
	s->rank = b->result.rank;
	return true;
}

static bool
join_result(Builder *b)
{
	enum { RANK = 3 };
	Shape joined = b->result;
	b->result.rank = RANK;
	bool is_joined = join_batch(b, &joined);
	b->result = joined;
	return is_joined;
}

/* An argument of the result's rank, or a vector along one of its dims. */
static CudnnDescriptor *
argument(Builder *b, int arg, int along)
{
	Shape shape;
	if (!read_shape(b, arg, &shape))
		return NULL;
	if (along >= 0) {
		if (shape.rank != 1)
			return refuse(b, "a bias is no vector"), NULL;
		while (shape.rank < b->whole.rank)
			insert_dim(&shape, shape.rank <= along ? 0 : shape.rank);
	} else if (b->is_spread) {
		insert_dim(&shape, 2);
	}
	while (shape.rank < b->whole.rank)
		insert_dim(&shape, 0);
	return join_batch(b, &shape) ? tensor(b, arg + 1, &shape) : NULL;
}

/* Where the next operation writes: the result, or nowhere. */
static CudnnDescriptor *
next_value(Builder *b, bool is_last)
{
	Shape shape = b->result;
	if (!is_last)
		shape.type = b->between;
	return b->value = tensor(b, is_last ? b->call->narg : VIRTUAL_ID + b->count, &shape);
}

/* ---- what stands behind ---- */

/* Modes of cuDNN's pointwise operations, and attributes that take the post-op's numbers. */
static const struct PointwiseRow {
	int mode; /* 0 is an addition: rows that are not here have `is_known` false */
	bool is_known;
	int numbers[POST_NUMBERS];
} pointwise[POST_KINDS] = {
	[POST_sum] = {0, true, {0}},       [POST_add] = {0, true, {0}},
	[POST_mul] = {1, true, {0}},       [POST_relu] = {100, true, {0}},
	[POST_clip] = {100, true, {3, 4}}, [POST_leaky_relu] = {100, true, {5}},
	[POST_tanh] = {101, true, {0}},    [POST_sigmoid] = {102, true, {0}},
	[POST_elu] = {103, true, {6}},     [POST_gelu_erf] = {104, true, {0}},
	[POST_swish] = {106, true, {8}},   [POST_gelu_tanh] = {107, true, {0}},
};

/* y = mode(x) or mode(x, operand), x being the value so far. */
static void
add_pointwise(Builder *b, const struct PointwiseRow *row, const double *numbers,
              CudnnDescriptor *operand, bool is_last)
{
	enum { MODE = 0, PRECISION, ROW = 750, X, OPERAND, Y };
	CudnnAttr attrs[POST_NUMBERS + 3] = {ENUM(MODE, CUDNN_TYPE_POINTWISE_MODE, row->mode),
	                                     TYPE(PRECISION, F32)};
	for (int i = 0; i < POST_NUMBERS && row->numbers[i]; i++)
		attrs[2 + i] = (CudnnAttr){row->numbers[i], CUDNN_TYPE_DOUBLE, 1, &numbers[i]};
	CudnnDescriptor *how = cudnn_make(b->pile, CUDNN_POINTWISE, attrs), *x = b->value;
	CudnnDescriptor *y = next_value(b, is_last);
	b->operations[b->count++] =
		operand ? MAKE(b->pile, CUDNN_POINTWISE_OPERATION, PART(ROW, how), PART(X, x), PART(Y, y),
	                   PART(OPERAND, operand))
				: MAKE(b->pile, CUDNN_POINTWISE_OPERATION, PART(ROW, how), PART(X, x), PART(Y, y));
}

/* A post-op, which cuDNN may not be asked for. */
static bool
add_post(Builder *b, const StepPost *post, bool is_last)
{
	const struct PointwiseRow *row = &pointwise[post->kind];
	if (!row->is_known)
		return refuse(b, "cuDNN is not asked for this post-op");
	CudnnDescriptor *operand = post->arg >= 0 ? argument(b, post->arg, -1) : NULL;
	add_pointwise(b, row, post->numbers, operand, is_last);
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
		add_pointwise(b, &pointwise[POST_add], NULL, argument(b, 2, channel), count == first);
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
			return refuse(b, "a window is too large");
		int64_t behind = used - x->dims[i + 2] - before;
		window[0][i] = stride;
		window[1][i] = dilation;
		window[2][i] = before;
		window[3][i] = behind > 0 ? behind : 0;
		x->dims[i + 2] += -behind >= stride ? behind : 0;
		if (x->dims[i + 2] < 1)
			return refuse(b, "windows read padding alone");
	}
	return true;
}

/* The first two arguments, of as many dims as the result. */
static bool
read_image_and_weights(Builder *b, Shape *x, Shape *w)
{
	if (!read_shape(b, 0, x) || !read_shape(b, 1, w))
		return false;
	if (b->is_spread) {
		insert_dim(x, 2);
		insert_dim(w, 2);
	}
	return (x->rank == b->result.rank && w->rank == x->rank) || refuse(b, "ranks differ");
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
	         PART(X, tensor(b, 1, &x)), PART(W, tensor(b, 2, &w)), PART(Y, next_value(b, is_last)),
	         FLOAT(ALPHA, 1), FLOAT(BETA, 0));
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
		return refuse(b, "results that no window reaches");
	b->operations[b->count] =
		MAKE(b->pile, CUDNN_CONVOLUTION_BACKWARD_DATA, PART(WINDOW, make_window(b, window)),
	         PART(X, tensor(b, 1, &x)), PART(W, tensor(b, 2, &w)), PART(Y, next_value(b, is_last)),
	         FLOAT(ALPHA, 1), FLOAT(BETA, 0));
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
		return refuse(b, "cuDNN is not asked for this pool");
	if (!read_shape(b, 0, &x))
		return false;
	if (b->is_spread)
		insert_dim(&x, 2);
	if (x.rank != b->result.rank)
		return refuse(b, "ranks differ");
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
	b->operations[b->count] = MAKE(b->pile, CUDNN_RESAMPLE_FORWARD, PART(HOW, how),
	                               PART(X, tensor(b, 1, &x)), PART(Y, next_value(b, is_last)));
	return b->operations[b->count++] != NULL;
}

/* c = a b, of matrices in the last two dims. */
static void
multiply(Builder *b, CudnnDescriptor *x, CudnnDescriptor *y, CudnnDescriptor *result)
{
	enum { SUM = 1500, A = 1520, B, C, HOW };
	CudnnDescriptor *how = MAKE(b->pile, CUDNN_MATMUL, TYPE(SUM, F32));
	b->operations[b->count++] = MAKE(b->pile, CUDNN_MATMUL_OPERATION, PART(HOW, how), PART(A, x),
	                                 PART(B, y), PART(C, result));
}

static void
swap_last(Shape *shape)
{
	int64_t *d = shape->dims + shape->rank - 2, *s = shape->strides + shape->rank - 2;
	int64_t dim = d[0], stride = s[0];
	d[0] = d[1], s[0] = s[1];
	d[1] = dim, s[1] = stride;
}

/* The last two dims exchanged, where the call says so; at least three dims. */
static bool
read_matrix(Builder *b, int arg, const char *swapped, Shape *shape)
{
	if (!read_shape(b, arg, shape) || shape->rank < 2)
		return false;
	if (attr_int(b, swapped, 0, 0))
		swap_last(shape);
	while (shape->rank < b->whole.rank)
		insert_dim(shape, 0);
	return join_batch(b, shape);
}

static bool
add_matmul(Builder *b, bool is_last)
{
	Shape x, y;
	if (!read_matrix(b, 0, "transpose_a", &x) || !read_matrix(b, 1, "transpose_b", &y))
		return false;
	multiply(b, tensor(b, 1, &x), tensor(b, 2, &y), next_value(b, is_last));
	return !b->pile->status;
}

/* ---- attention ---- */

/* Of the value so far along the last dim. */
static CudnnDescriptor *
reduce_rows(Builder *b, int how_many)
{
	enum { OPERATOR = 1600, SUM, X = 1610, Y, HOW };
	CudnnDescriptor *how =
		MAKE(b->pile, CUDNN_REDUCTION, ENUM(OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR, how_many),
	         TYPE(SUM, F32));
	CudnnDescriptor *x = b->value;
	b->result.dims[b->result.rank - 1] = 1;
	fill_strides(&b->result, NULL);
	CudnnDescriptor *y = next_value(b, false);
	b->operations[b->count++] =
		MAKE(b->pile, CUDNN_REDUCTION_OPERATION, PART(HOW, how), PART(X, x), PART(Y, y));
	return y;
}

/* y = mode(x, operand) in the value's shape. */
static CudnnDescriptor *
map(Builder *b, int mode, CudnnDescriptor *x, CudnnDescriptor *operand)
{
	b->value = x;
	add_pointwise(b, &(struct PointwiseRow){mode, true, {0}}, NULL, operand, false);
	return b->value;
}

const float *
cudnn_number(const VendorCall *call)
{
	const StepAttr *scale = step_attr(call->nattr, call->attrs, "scale");
	return scale && scale->kind == SA_FLOATS && scale->count == 1 ? scale->floats : NULL;
}

/* A number that is given with each call, as the tensor behind the result. */
static CudnnDescriptor *
number(Builder *b)
{
	enum { ALIGN = 900, DATA_TYPE, DIMENSIONS, STRIDES, ID = 906, IS_VIRTUAL, BY_VALUE };
	static const int64_t ones[DIMS] = {1, 1, 1, 1, 1};
	return MAKE(b->pile, CUDNN_TENSOR, TYPE(DATA_TYPE, F32), INTS(DIMENSIONS, b->result.rank, ones),
	            INTS(STRIDES, b->result.rank, ones), INT(ID, b->call->narg + 1),
	            INT(ALIGN, (int64_t)sizeof(float)), YES(IS_VIRTUAL, false), YES(BY_VALUE, true));
}

/* Probabilities of scores along the last dim, of a type. cuDNN knows attention that keeps no scores
 * by the logarithm of their sum, which is computed, and read by nobody. */
static void
add_softmax(Builder *b, int type)
{
	enum { ADD = 0, DIV = 6, SUB = 9, EXP = 13, LOG = 15, LARGEST = 3 };
	const Shape scores = b->result;
	CudnnDescriptor *x = b->value, *largest = reduce_rows(b, LARGEST);
	b->result = scores;
	CudnnDescriptor *e = map(b, EXP, map(b, SUB, x, largest), NULL), *sum = reduce_rows(b, ADD);
	map(b, ADD, largest, map(b, LOG, sum, NULL));
	b->result = scores;
	b->between = type;
	map(b, DIV, e, sum);
	b->between = F32;
}

/* Whether rows begin at multiples of 16 bytes, as whoever loads so many at once needs it: that
 * cuDNN's engines load fewer where they do not, nothing here would show. */
static bool
is_aligned(const Shape *shape)
{
	bool is = shape->offset == 0;
	for (int i = 0; i < shape->rank - 1; i++)
		is &= shape->dims[i] == 1 || shape->strides[i] * 2 % ALIGNMENT == 0;
	return is;
}

/* An argument as batch, heads, rows, columns. */
static bool
read_heads(Builder *b, int arg, Shape *shape)
{
	enum { RANK = 4, ADDED = 3 };
	if (!read_shape(b, arg, shape))
		return false;
	while (shape->rank < RANK)
		insert_dim(shape, 0);
	if (shape->rank != RANK)
		return refuse(b, "attention of more dims than heads have");
	/* cuDNN 9.19 ends the process over keys whose numbers do. */
	if (shape->strides[RANK - 1] != 1 && shape->dims[RANK - 1] != 1)
		return refuse(b, "numbers of a head lie apart");
	return arg == ADDED || is_aligned(shape) ||
	       refuse(b, "rows of a head begin between multiples of 16 bytes");
}

/* y = softmax(number * q k^T + added) v. */
static bool
add_attention(Builder *b)
{
	enum { Q, K, V, ADDED, RESULT, ADD = 0, MUL };
	Shape q, k, v, added, y;
	if (!read_heads(b, Q, &q) || !read_heads(b, K, &k) || !read_heads(b, V, &v) ||
	    !read_heads(b, RESULT, &y))
		return false;
	b->result = (Shape){F32, y.rank, 0, {y.dims[0], y.dims[1], y.dims[2], k.dims[2]}, {0}};
	fill_strides(&b->result, NULL);
	swap_last(&k);
	multiply(b, tensor(b, Q + 1, &q), tensor(b, K + 1, &k), next_value(b, false));
	if (!cudnn_number(b->call))
		return refuse(b, "attention without a scale");
	map(b, MUL, b->value, number(b));
	if (b->call->args[ADDED].type != DT_NONE) {
		if (!read_heads(b, ADDED, &added))
			return false;
		map(b, ADD, b->value, tensor(b, ADDED + 1, &added));
	}
	add_softmax(b, v.type);
	CudnnDescriptor *p = b->value;
	b->result = y;
	multiply(b, p, tensor(b, V + 1, &v), next_value(b, true));
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
	if (!read_shape(b, b->call->narg - 1, &b->result))
		return false;
	b->is_spread = row->has_windows && b->result.rank == 3;
	if (b->is_spread)
		insert_dim(&b->result, 2);
	while (b->result.rank < 3)
		insert_dim(&b->result, 0);
	b->whole = b->result;
	return row->has_windows || join_result(b);
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
	if (strcmp(call->row, "attention") == 0 && call->narg == 5)
		return add_attention(&b) ? finish(&b, handle) : NULL;
	const StepAttr *post = step_attr(call->nattr, call->attrs, "post");
	int count = post ? posts_read(post->string, posts, pile->error, pile->error_size) : 0;
	if (count < 0 || !row)
		return refuse(&b, "cuDNN is not asked for this call"), NULL;
	bool has_bias = row->has_bias && call->args[2].type != DT_NONE;
	if (!read_result(&b, row) || !row->add(&b, count == 0 && !has_bias) ||
	    !add_posts(&b, count, posts, has_bias, row->has_windows ? 1 : b.whole.rank - 1))
		return NULL;
	return finish(&b, handle);
}
