/* What builders share: index scalars, operators applied to tensors, sliding windows.
 *
 * A builder gives one tensor per output; an operator that ONNX defines by a function body calls
 * other operators on tensors, so that it reads as that body:
 *
 *     mean = op_mean(ctx, x, axes, false, DT_F32);
 *     variance = op_variance(ctx, x, mean, axes, DT_F32);
 *
 * Sums of f16 and bf16 run in f32 (work_type), and the result is rounded to its type once.
 */
#ifndef GRAPH_OPS_HELPERS_H
#define GRAPH_OPS_HELPERS_H

#include "graph/inner.h"
#include "graph/meaning.h"

enum { MAX_RANK = ARRAY_MAX_RANK };

Axes axes_from(int first, int rank); /* first .. rank-1 */
/* Number of elements along the axes of the set. */
const Dim *dims_over(ExprCtx *ctx, const Tensor *x, Axes axes);
/* An axis attribute of a node, counted from 0 (infer has checked it). */
int build_axis(const Build *b, const char *name, int rank);
/* Entry i of an attribute; `fallback` where it is absent; fails unless it has `count` entries. */
int64_t attr_at(const Node *node, const char *name, int count, int i, int64_t fallback);

/* ---- index scalars: as the expr_ constructors, without terms that do nothing ----------------- */

const Expr *index_add(ExprCtx *ctx, const Expr *a, const Expr *b);
const Expr *index_sub(ExprCtx *ctx, const Expr *a, const Expr *b);
const Expr *index_mul(ExprCtx *ctx, const Expr *a, const Expr *b);
const Expr *index_div(ExprCtx *ctx, const Expr *a, const Expr *b); /* rounded down */
const Expr *index_mod(ExprCtx *ctx, const Expr *a, const Expr *b);
const Expr *index_scale(ExprCtx *ctx, const Expr *a, int64_t factor);
const Expr *index_shift(ExprCtx *ctx, const Expr *a, int64_t offset);
/* Position i, 0 <= i < extent, used as an index below `limit`: i itself where extent <= limit is
 * proven, else at(i, 0..limit, check). */
const Expr *index_within(ExprCtx *ctx, const Expr *i, const Dim *extent, const Dim *limit);
/* A value of an index tensor: negative counts from behind, outside fails the step. */
const Expr *index_wrapped(ExprCtx *ctx, const Expr *value, const Dim *limit);

/* Length of the index tuples of GatherND and ScatterND: the last dim of indices, 1..most. */
int index_tuple(const Loc *loc, const Dim *last, int most);

/* ---- scalars --------------------------------------------------------------------------------- */

/* A scalar from text, as in ops.def; names[] of args[] are separated by spaces. */
const Expr *scalar_text(ExprCtx *ctx, const char *text, const char *names, const Expr *const *args);

/* ---- types ----------------------------------------------------------------------------------- */

DType work_type(DType type);        /* f32 for f16, bf16 and storage types; else the type */
DType work_type2(DType a, DType b); /* f64 if either is, else f32 */
const Expr *scalar_as(ExprCtx *ctx, DType type, const Expr *x); /* a cast; storage through f32 */
const Expr *dim_as(ExprCtx *ctx, DType type, const Dim *dim);
const Expr *zero_of(ExprCtx *ctx, DType type); /* of any type, storage types included */
/* An element of a constant. */
const Expr *element_of_array(ExprCtx *ctx, const Array *array, int64_t index);

/* ---- stages and reads ------------------------------------------------------------------------ */

/* A stage of output `output` of the node, open for reads; its name is the row's. */
StageBuilder *output_open(Build *b, int output);
/* Positions of the first `rank` loops. */
void loops_of(StageBuilder *y, int rank, const Expr **index);
/* x[index…] at this stage, whose loops have these dims: where the range follows from assumptions
 * only (dims that infer took to be equal), the index is checked at run time. */
const Expr *read_checked(StageBuilder *y, ExprCtx *ctx, const Type *loops, const Tensor *x,
                         const Expr *const *index);
/* x under ONNX broadcasting at a stage with these dims, checked in the same way. */
const Expr *read_broadcast(StageBuilder *y, ExprCtx *ctx, const Type *loops, const Tensor *x);
/* x at this stage's loops. */
const Expr *read_here(StageBuilder *stage, const Tensor *x);
/* x at the stage's first `rank` loops without those in `axes`, which x does not have. */
const Expr *read_row(StageBuilder *stage, const Tensor *x, int rank, Axes axes);
bool tensor_is_scalar(const Tensor *x); /* one element, whatever the rank */
/* The only element, or element i of a vector: for parameters per tensor or per channel. */
const Expr *read_scalar_or_vector(StageBuilder *stage, const Tensor *x, const Expr *i);

/* ---- operators on tensors -------------------------------------------------------------------- */

/* ONNX broadcast of two dims whose agreement infer has checked. */
const Dim *broadcast_dim(const Dim *a, const Dim *b);

const Tensor *op_cast(ExprCtx *ctx, const Tensor *x, DType type);
/* A formula over operands, in their work types, at each point of the first; those of a lower rank
 * lack `axes`. */
Tensor *op_formula(ExprCtx *ctx, const char *name, DType type, const char *text, const char *names,
                   Axes axes, const Tensor *const *operands);
Tensor *op_concat2(ExprCtx *ctx, const Tensor *a, const Tensor *b, int axis);

/* Open a stage over the axes of x that are not in the set, reducing those that are (keep: they stay
 * as loops of extent 1); index[] becomes the position in x. */
StageBuilder *reduction_open(ExprCtx *ctx, const char *name, const Tensor *x, Axes axes, bool keep,
                             const Expr **index);
/* Terms are x converted to `acc`, the result to `type`. */
Tensor *op_reduce(ExprCtx *ctx, ReduceOp op, const Tensor *x, Axes axes, bool keep, DType acc,
                  DType type);
Tensor *op_mean(ExprCtx *ctx, const Tensor *x, Axes axes, bool keep, DType type);
/* Mean of the squares of x - mean, where mean has the other axes only (NULL: 0). */
Tensor *op_variance(ExprCtx *ctx, const Tensor *x, const Tensor *mean, Axes axes, DType type);

Tensor *op_softmax(ExprCtx *ctx, const Tensor *x, int axis, DType type);
Tensor *op_log_softmax(ExprCtx *ctx, const Tensor *x, int axis, DType type);

/* Rows and columns with leading axes broadcast, as ONNX MatMul, to those of `out`: which of two
 * open dims it is, infer says. Sums are of type acc, with zero points (NULL: none) taken off:
 * scalar, per row of a, per column of b. */
Tensor *op_matmul_zero(ExprCtx *ctx, const Tensor *a, const Tensor *b, const Tensor *a_zero,
                       const Tensor *b_zero, const Type *out, DType acc, DType type);
/* A quantisation parameter at row m and column n of a product (NULL: of the other operand): per
 * tensor, a vector, or of the operand's rank over `batch` leading loops, with extent 1 along k. */
const Expr *read_product_parameter(ExprCtx *ctx, StageBuilder *y, const Tensor *t, int batch,
                                   const Expr *m, const Expr *n);

/* ---- sliding windows: one spatial axis of a convolution or pooling --------------------------- */

typedef struct Window {
	const Dim *in, *kernel, *out;
	int64_t stride, dilation;
	const Dim *before, *after; /* padding */
} Window;

/* Attributes strides, dilations, pads and auto_pad of a node as windows over `count` spatial axes;
 * `kernel` has their sizes. With `ceil`, a last window may hang over the end, provided it starts
 * inside the input or the padding before it. */
void windows_of(ExprCtx *ctx, const Node *node, int count, const Dim *const *in,
                const Dim *const *kernel, bool ceil, Window *windows);
/* Call the loops n, `channel`, p, q, o. */
void window_name_loops(StageBuilder *stage, int rank, const char *channel);
/* The taps of spatial axis `axis` as a reduction iterator: r, s, t. */
const Expr *window_over(ExprCtx *ctx, StageBuilder *stage, const Window *w, int axis);
/* The input position of tap r of the window at output position p. */
const Expr *window_source(ExprCtx *ctx, const Window *w, const Expr *p, const Expr *r);
/* How many taps of the window at p lie in lo..hi of the input. */
const Expr *window_taps(ExprCtx *ctx, const Window *w, const Expr *p, const Dim *lo, const Dim *hi);

/* sum over c, r… of (X[n, g*C + c, …] - x_zero) * (W[f, c, r…] - w_zero[f]), in type acc, with the
 * windows of the node's attributes; zero points may be NULL. */
Tensor *op_conv(ExprCtx *ctx, const Node *node, const Tensor *x, const Tensor *w,
                const Tensor *x_zero, const Tensor *w_zero, DType acc, DType type);
/* Output 0 as a convolution of types x and w with the node's attributes. */
void infer_convolution(Infer *infer, const Type *x, const Type *w, DType type);
/* Input `index`, a scale or zero point of operand `of` of a product: one element, one for each row
 * (or column) of the operand, or of the operand's rank with extent 1 along what is summed. */
void infer_product_parameter(Infer *infer, int index, int of, bool is_row);
/* Output 0 as the matrix product of types a and b. */
void infer_product(Infer *infer, const Type *a, const Type *b, DType type);

#endif
