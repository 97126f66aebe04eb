/* Tensors of a call, and operations that several graphs have. */
#include "runtime/cudnn/build.h"

#include <stdio.h>
#include <string.h>

bool
build_refuse(Builder *b, const char *what)
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

/* One block of all of a dim lies inside of the others. */
static void
block_strides(Shape *shape, int last)
{
	int64_t stride = shape->dims[last];
	for (int d = shape->rank - 1; d >= 0; d--) {
		shape->strides[d] = d == last ? 1 : stride;
		stride *= d == last ? 1 : shape->dims[d];
	}
}

bool
build_strides(Shape *shape, const char *layout)
{
	int64_t stride = 1;
	int last = layout_dim(layout);
	if (last >= 0)
		return block_strides(shape, last), true;
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

void
build_insert_dim(Shape *shape, int at)
{
	size_t moved = (size_t)(shape->rank - at) * sizeof *shape->dims;
	int64_t stride = at < shape->rank ? shape->dims[at] * shape->strides[at] : 1;
	memmove(shape->dims + at + 1, shape->dims + at, moved);
	memmove(shape->strides + at + 1, shape->strides + at, moved);
	shape->dims[at] = 1;
	shape->strides[at] = stride;
	shape->rank++;
}

bool
build_shape(Builder *b, int arg, Shape *shape)
{
	const VendorArg *a = &b->call->args[arg];
	*shape = (Shape){.type = type_of(a->type), .rank = a->rank, .offset = a->offset % ALIGNMENT};
	if (shape->type < 0 || a->rank < 1 || a->rank > DIMS)
		return build_refuse(b,
		                    "an argument's type or rank is none of those that cuDNN is asked for");
	memcpy(shape->dims, a->dims, (size_t)a->rank * sizeof *a->dims);
	int last = layout_dim(a->layout);
	bool is_one_block = last < 0 || (last < a->rank && layout_block(a->layout) == a->dims[last]);
	if (!is_one_block || (!a->strides && !build_strides(shape, a->layout)))
		return build_refuse(b, "an argument is stored in blocks");
	if (a->strides)
		memcpy(shape->strides, a->strides, (size_t)a->rank * sizeof *a->strides);
	if (last >= 0)
		shape->strides[last] = 1;
	return true;
}

CudnnDescriptor *
build_tensor(Builder *b, int64_t id, const Shape *s)
{
	bool is_virtual = id >= VIRTUAL_ID;
	enum { ALIGN = 900, DATA_TYPE, DIMENSIONS, STRIDES, ID = 906, IS_VIRTUAL };
	return MAKE(b->pile, CUDNN_TENSOR, TYPE(DATA_TYPE, s->type), INTS(DIMENSIONS, s->rank, s->dims),
	            INTS(STRIDES, s->rank, s->strides), INT(ID, id),
	            INT(ALIGN, s->offset ? s->offset & -s->offset : ALIGNMENT),
	            YES(IS_VIRTUAL, is_virtual));
}

bool
build_join_batch(Builder *b, Shape *s)
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
			return build_refuse(b, "a batch whose matrices lie in several runs");
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

bool
build_join_result(Builder *b)
{
	enum { RANK = 3 };
	Shape joined = b->result;
	b->result.rank = RANK;
	bool is_joined = build_join_batch(b, &joined);
	b->result = joined;
	return is_joined;
}

CudnnDescriptor *
build_argument(Builder *b, int arg, int along)
{
	Shape shape;
	if (!build_shape(b, arg, &shape))
		return NULL;
	if (along >= 0) {
		if (shape.rank != 1)
			return build_refuse(b, "a bias is no vector"), NULL;
		while (shape.rank < b->whole.rank)
			build_insert_dim(&shape, shape.rank <= along ? 0 : shape.rank);
	} else if (b->is_spread) {
		build_insert_dim(&shape, 2);
	}
	while (shape.rank < b->whole.rank)
		build_insert_dim(&shape, 0);
	return build_join_batch(b, &shape) ? build_tensor(b, arg + 1, &shape) : NULL;
}

CudnnDescriptor *
build_next(Builder *b, bool is_last)
{
	Shape shape = b->result;
	if (!is_last)
		shape.type = b->between;
	return b->value = build_tensor(b, is_last ? b->call->narg : VIRTUAL_ID + b->count, &shape);
}

const float *
cudnn_number(const VendorCall *call)
{
	for (int i = 0; i < call->nattr; i++)
		if (call->attrs[i].kind == SA_FLOATS && call->attrs[i].count == 1)
			return call->attrs[i].floats;
	return NULL;
}

CudnnDescriptor *
build_number(Builder *b)
{
	enum { ALIGN = 900, DATA_TYPE, DIMENSIONS, STRIDES, ID = 906, IS_VIRTUAL, BY_VALUE };
	static const int64_t ones[DIMS] = {1, 1, 1, 1, 1};
	return MAKE(b->pile, CUDNN_TENSOR, TYPE(DATA_TYPE, F32), INTS(DIMENSIONS, b->result.rank, ones),
	            INTS(STRIDES, b->result.rank, ones), INT(ID, b->call->narg + 1),
	            INT(ALIGN, (int64_t)sizeof(float)), YES(IS_VIRTUAL, false), YES(BY_VALUE, true));
}

bool
build_is_aligned(const Shape *shape)
{
	int64_t bytes = shape->type == F32 ? 4 : 2;
	bool is = shape->offset == 0;
	for (int i = 0; i < shape->rank - 1; i++)
		is &= shape->dims[i] == 1 || shape->strides[i] * bytes % ALIGNMENT == 0;
	return is;
}

/* ---- operations ---- */

void
build_pointwise(Builder *b, const PointwiseRow *row, const double *numbers,
                CudnnDescriptor *operand, bool is_last)
{
	enum { MODE = 0, PRECISION, ROW = 750, X, OPERAND, Y };
	CudnnAttr attrs[POST_NUMBERS + 3] = {ENUM(MODE, CUDNN_TYPE_POINTWISE_MODE, row->mode),
	                                     TYPE(PRECISION, F32)};
	for (int i = 0; i < POST_NUMBERS && row->numbers[i]; i++)
		attrs[2 + i] = (CudnnAttr){row->numbers[i], CUDNN_TYPE_DOUBLE, 1, &numbers[i]};
	CudnnDescriptor *how = cudnn_make(b->pile, CUDNN_POINTWISE, attrs), *x = b->value;
	CudnnDescriptor *y = build_next(b, is_last);
	b->operations[b->count++] =
		operand ? MAKE(b->pile, CUDNN_POINTWISE_OPERATION, PART(ROW, how), PART(X, x), PART(Y, y),
	                   PART(OPERAND, operand))
				: MAKE(b->pile, CUDNN_POINTWISE_OPERATION, PART(ROW, how), PART(X, x), PART(Y, y));
}

void
build_product(Builder *b, CudnnDescriptor *x, CudnnDescriptor *y, CudnnDescriptor *result)
{
	enum { SUM = 1500, A = 1520, B, C, HOW };
	CudnnDescriptor *how = MAKE(b->pile, CUDNN_MATMUL, TYPE(SUM, F32));
	b->operations[b->count++] = MAKE(b->pile, CUDNN_MATMUL_OPERATION, PART(HOW, how), PART(A, x),
	                                 PART(B, y), PART(C, result));
}

void
build_swap_last(Shape *shape)
{
	int64_t *d = shape->dims + shape->rank - 2, *s = shape->strides + shape->rank - 2;
	int64_t dim = d[0], stride = s[0];
	d[0] = d[1], s[0] = s[1];
	d[1] = dim, s[1] = stride;
}
