/* Flatten: the address of each access, as one index.
 *
 *     Y: out f32[N,3,50]                      Y: out f32[150*N]
 *     Y[n, c, i] = X[n, c, i]          =>     Y[150*n+50*c+i] = X[150*n+50*c+i]
 *
 * A buffer becomes a row of elements, an index the sum of index times stride, simplified under what
 * is known where it stands, so that X[hw / 7, hw % 7] is X[hw]. Registers keep their dims: they
 * have names, no addresses.
 *
 * needs    indices that were proven in range: afterwards nobody can, since what guards say of one
 *          dim is no longer seen
 * keeps    statements, values
 * breaks   what asks for a dim: behind it come only passes that say so
 */
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

typedef struct Flattening {
	Kernel *kernel;
	Map rows; /* Tensor to the Buffer that it becomes */
} Flattening;

static const Dim *
stride_of(ExprCtx *ctx, const Buffer *buffer, int d)
{
	const Tensor *tensor = &buffer->tensor;
	if (buffer->stride)
		return buffer->stride[d];
	return dim_product(ctx, tensor->rank - d - 1, tensor->hi + d + 1);
}

/* The elements from the first to behind the last. */
static const Dim *
span_of(ExprCtx *ctx, const Buffer *buffer)
{
	const Tensor *tensor = &buffer->tensor;
	if (!buffer->stride)
		return dim_product(ctx, tensor->rank, tensor->hi);
	const Dim *span = dim_const(ctx, 1), *one = span;
	for (int d = 0; d < tensor->rank; d++) {
		const Dim *steps = dim_sub(ctx, tensor->hi[d], one);
		span = dim_add(ctx, span, dim_mul(ctx, steps, stride_of(ctx, buffer, d)));
	}
	return span;
}

static Buffer *
make_row(Flattening *flat, const Buffer *buffer)
{
	Kernel *kernel = flat->kernel;
	const Dim *span = span_of(kernel->ctx, buffer);
	Buffer *row =
		kernel_local(kernel, buffer->tensor.name, buffer->tensor.type, 1, &span, SCOPE_REG);
	row->scope = buffer->scope;
	row->param = buffer->param;
	row->is_output = buffer->is_output;
	row->may_alias = buffer->may_alias;
	map_set_ptr(&flat->rows, &buffer->tensor, row);
	return row;
}

const Expr *
flat_index(ExprCtx *ctx, const Buffer *buffer, const Expr *const *index)
{
	const Expr *sum = expr_i64(ctx, 0);
	for (int d = 0; d < buffer->tensor.rank; d++) {
		const Expr *part = expr_cast(ctx, DT_I64, index[d]), *step = stride_of(ctx, buffer, d);
		part = expr_is_one(step) ? part : expr_mul(ctx, part, step);
		sum = expr_is_zero(sum) ? part : expr_add(ctx, sum, part);
	}
	return sum;
}

static const Buffer *
flatten_access(Kernel *kernel, const Buffer *buffer, const Expr *const **index, void *arg)
{
	const Flattening *flat = arg;
	const Buffer *row = map_find_ptr(&flat->rows, &buffer->tensor);
	const Expr **at = NEW(kernel->arena, const Expr *);
	*at = row ? flat_index(kernel->ctx, buffer, *index) : NULL;
	*index = row ? at : *index;
	return row;
}

bool
pass_Flatten(Kernel *kernel, PassContext *context)
{
	(void)context;
	if (kernel->is_flat)
		return false;
	Flattening flat = {.kernel = kernel, .rows.arena = kernel->arena};
	for (int i = 0; i < kernel->buffers.count; i++)
		kernel->buffers.data[i] = make_row(&flat, kernel->buffers.data[i]);
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_ALLOC && walk.stmt->buffer->scope != SCOPE_REG)
			walk.stmt->buffer = make_row(&flat, walk.stmt->buffer);
	stmt_redirect(kernel, kernel->body, flatten_access, &flat);
	kernel->is_flat = true;
	tir_simplify(kernel);
	return true;
}
