/* Normalisation, one operation of cuDNN's, whose number is epsilon:
 *
 *     layer_norm (x, w, b, _, _, y)  =>  y = (x - mean) / sqrt(variance + epsilon) * w + b
 *
 * cuDNN normalises all dims but the first, or of an instance the places behind its channels, with
 * four dims at least: a row is 1 x C x 1 x 1, as are factors, an image 1 x C x P x 1.
 */
#include "runtime/cudnn/build.h"

enum { X, SCALE, BIAS, RESULT = 5, RANK = 4 };

/* An argument of so many dims behind its first, which may be missing; more follow, of 1. */
static bool
read_rows(Builder *b, int arg, int dims, Shape *shape)
{
	if (!build_shape(b, arg, shape))
		return false;
	if (shape->rank == dims)
		build_insert_dim(shape, 0);
	if (shape->rank != dims + 1)
		return build_refuse(b, "a norm of other dims than rows and their numbers");
	if (shape->strides[dims] != 1 && shape->dims[dims] != 1)
		return build_refuse(b, "numbers of a row lie apart");
	if (!build_is_aligned(shape))
		return build_refuse(b, "rows of a norm begin between multiples of 16 bytes");
	while (shape->rank < RANK)
		build_insert_dim(shape, shape->rank);
	return true;
}

static bool
build_norm(Builder *b, int mode, int dims)
{
	enum { MODE = 2000, PHASE, ROWS, FACTORS = 2005, ADDED, EPSILON, Y = 2013, INFERENCE = 0 };
	Shape x, scale, bias;
	bool has_bias = b->call->args[BIAS].type != DT_NONE;
	if (!read_rows(b, X, dims, &x) || !read_rows(b, SCALE, 1, &scale) ||
	    !read_rows(b, RESULT, dims, &b->result) || (has_bias && !read_rows(b, BIAS, 1, &bias)))
		return false;
	if (!cudnn_number(b->call))
		return build_refuse(b, "a norm without epsilon");
	CudnnAttr attrs[] = {ENUM(MODE, CUDNN_TYPE_NORM_MODE, mode),
	                     ENUM(PHASE, CUDNN_TYPE_NORM_PHASE, INFERENCE),
	                     PART(ROWS, build_tensor(b, X + 1, &x)),
	                     PART(FACTORS, build_tensor(b, SCALE + 1, &scale)),
	                     PART(EPSILON, build_number(b)),
	                     PART(Y, build_next(b, true)),
	                     PART(ADDED, has_bias ? build_tensor(b, BIAS + 1, &bias) : NULL),
	                     {0}};
	if (!has_bias)
		attrs[6] = (CudnnAttr){0};
	b->operations[b->count] = cudnn_make(b->pile, CUDNN_NORM_FORWARD, attrs);
	return b->operations[b->count++] != NULL;
}

bool
build_layer_norm(Builder *b)
{
	enum { LAYER = 0 };
	return build_norm(b, LAYER, 1);
}

bool
build_rms_norm(Builder *b)
{
	enum { RMS = 4 };
	return build_norm(b, RMS, 1);
}

bool
build_instance_norm(Builder *b)
{
	enum { INSTANCE = 1 };
	return build_norm(b, INSTANCE, 2);
}
