/* Attention, operation by operation:
 *
 *     attention (q, k, v, a, b, y)   =>  y = softmax(scale * q k^T + a + b) v, in up to twelve
 */
#include <string.h>

#include "runtime/cudnn/build.h"

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
	build_strides(&b->result, NULL);
	CudnnDescriptor *y = build_next(b, false);
	b->operations[b->count++] =
		MAKE(b->pile, CUDNN_REDUCTION_OPERATION, PART(HOW, how), PART(X, x), PART(Y, y));
	return y;
}

/* y = mode(x, operand) in the value's shape. */
static CudnnDescriptor *
map(Builder *b, int mode, CudnnDescriptor *x, CudnnDescriptor *operand)
{
	b->value = x;
	build_pointwise(b, &(PointwiseRow){mode, true, {0}}, NULL, operand, false);
	return b->value;
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

/* Arguments; two may be added. */
enum { Q, K, V, ADDED, ALSO_ADDED, RESULT, RANK = 4 };

/* An argument as batch, heads, rows, columns. */
static bool
read_heads(Builder *b, int arg, Shape *shape)
{
	if (!build_shape(b, arg, shape))
		return false;
	while (shape->rank < RANK)
		build_insert_dim(shape, 0);
	if (shape->rank != RANK)
		return build_refuse(b, "attention of more dims than heads have");
	/* cuDNN 9.19 ends the process over keys whose numbers do. */
	if (shape->strides[RANK - 1] != 1 && shape->dims[RANK - 1] != 1)
		return build_refuse(b, "numbers of a head lie apart");
	return arg == ADDED || arg == ALSO_ADDED || build_is_aligned(shape) ||
	       build_refuse(b, "rows of a head begin between multiples of 16 bytes");
}

/* y = softmax(number * q k^T + what is added) v. */
bool
build_attention(Builder *b)
{
	enum { ADD = 0, MUL };
	Shape q, k, v, added, y;
	if (!read_heads(b, Q, &q) || !read_heads(b, K, &k) || !read_heads(b, V, &v) ||
	    !read_heads(b, RESULT, &y))
		return false;
	b->result = (Shape){F32, y.rank, 0, {y.dims[0], y.dims[1], y.dims[2], k.dims[2]}, {0}};
	build_strides(&b->result, NULL);
	build_swap_last(&k);
	build_product(b, build_tensor(b, Q + 1, &q), build_tensor(b, K + 1, &k), build_next(b, false));
	if (!cudnn_number(b->call))
		return build_refuse(b, "attention without a scale");
	map(b, MUL, b->value, build_number(b));
	for (int arg = ADDED; arg < RESULT; arg++) {
		if (b->call->args[arg].type == DT_NONE)
			continue;
		if (!read_heads(b, arg, &added))
			return false;
		map(b, ADD, b->value, build_tensor(b, arg + 1, &added));
	}
	add_softmax(b, v.type);
	CudnnDescriptor *p = b->value;
	b->result = y;
	build_product(b, p, build_tensor(b, V + 1, &v), build_next(b, true));
	return !b->pile->status;
}
