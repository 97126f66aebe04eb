/* Losses over classes: what the model gave the class that was right.
 *
 *     l[n,p] = -X[n, T[n,p], p] * W[T[n,p]]         0 where T is ignore_index
 *     none: l     sum: sum l     mean: sum l / sum W[T[n,p]]   (W = 1 where it is absent)
 *
 * X are logarithms of probabilities; SoftmaxCrossEntropyLoss makes them from scores first.
 */
#include <string.h>

#include "graph/ops/helpers.h"

static const Dim *const *
infer_loss(Infer *infer)
{
	const Node *node = infer->node;
	const Type *x = infer_input(infer, 0), *labels = infer_input(infer, 1);
	const Type *weights = infer_input(infer, 2);
	const char *reduction = attr_string(node, "reduction");
	if (x->rank < 2 || labels->rank != x->rank - 1)
		infer_fail(infer, "scores of rank %d and labels of rank %d: expected one less, from 1",
		           x->rank, labels->rank);
	const Dim **dims = NEW_N(infer->graph->arena, const Dim *, labels->rank);
	for (int i = 0; i < labels->rank; i++)
		dims[i] = infer_equal(infer, labels->dims[i], x->dims[i ? i + 1 : 0],
		                      "dims of scores and labels");
	if (weights && weights->rank != 1)
		infer_fail(infer, "weights of rank %d, expected 1", weights->rank);
	if (weights)
		infer_equal(infer, weights->dims[0], x->dims[1], "weights and classes");
	if (strcmp(reduction, "none") == 0)
		infer_set(infer, 0, x->dtype, labels->rank, dims);
	else if (strcmp(reduction, "sum") == 0 || strcmp(reduction, "mean") == 0)
		infer_set(infer, 0, x->dtype, 0, NULL);
	else
		infer_fail(infer, "reduction '%s': expected none, sum or mean", reduction);
	return x->dims;
}

void
infer_NegativeLogLikelihoodLoss(Infer *infer)
{
	infer_loss(infer);
}

void
infer_SoftmaxCrossEntropyLoss(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	infer_set(infer, 1, x->dtype, x->rank, infer_loss(infer));
}

/* `value`, or 0 where the label is the one to ignore; reads in `value` do not happen there. */
static const Expr *
unless_ignored(const Build *b, const Expr *label, const Expr *value)
{
	ExprCtx *ctx = b->ctx;
	if (!attr_has(b->node, "ignore_index"))
		return value;
	const Expr *ignored = expr_i64(ctx, attr_int(b->node, "ignore_index"));
	return expr_select(ctx, expr_eq(ctx, label, ignored), expr_number(ctx, (DType)value->type, 0),
	                   value);
}

static const Expr *
label_here(const Build *b, StageBuilder *y)
{
	return expr_cast(b->ctx, DT_I64, read_here(y, b->in[1]));
}

/* The weight of a label's class, 1 where none are given. */
static const Expr *
weight_of(const Build *b, StageBuilder *y, const Expr *label, const Dim *classes, DType work)
{
	if (!b->in[2])
		return expr_number(b->ctx, work, 1);
	const Expr *index = expr_at(b->ctx, label, classes, AT_CHECK);
	return scalar_as(b->ctx, work, stage_read(y, b->in[2], &index));
}

/* l: the loss of each label. */
static Tensor *
losses(const Build *b, const Tensor *x, DType work)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *labels = b->in[1];
	StageBuilder *y = stage_open(ctx, "loss", labels->rank, labels->hi);
	const Expr *label = label_here(b, y), *index[MAX_RANK];
	for (int i = 0; i < labels->rank; i++)
		index[i ? i + 1 : 0] = stage_iter(y, i);
	index[1] = expr_at(ctx, label, x->hi[1], AT_CHECK);
	const Expr *value = expr_neg(ctx, scalar_as(ctx, work, stage_read(y, x, index)));
	if (b->in[2])
		value = expr_mul(ctx, value, weight_of(b, y, label, x->hi[1], work));
	return stage_map(y, work, unless_ignored(b, label, value));
}

static Tensor *
total(const Build *b, const Tensor *x)
{
	return op_reduce(b->ctx, REDUCE_sum, x, axes_from(0, x->rank), false, x->type, x->type);
}

static void
build_loss(Build *b, const Tensor *x)
{
	ExprCtx *ctx = b->ctx;
	const Tensor *labels = b->in[1];
	const char *reduction = attr_string(b->node, "reduction");
	DType type = b->in[0]->type, work = work_type(type);
	const Tensor *loss = losses(b, x, work);
	if (strcmp(reduction, "none") == 0) {
		b->out[0] = op_cast(ctx, loss, type);
		return;
	}
	const Tensor *sum = total(b, loss);
	if (strcmp(reduction, "sum") == 0) {
		b->out[0] = op_cast(ctx, sum, type);
		return;
	}
	StageBuilder *w = stage_open(ctx, "weight", labels->rank, labels->hi);
	const Expr *label = label_here(b, w);
	const Expr *weight = weight_of(b, w, label, x->hi[1], work);
	const Tensor *weights = total(b, stage_map(w, work, unless_ignored(b, label, weight)));
	StageBuilder *y = output_open(b, 0);
	const Expr *mean = expr_div(ctx, read_here(y, sum), read_here(y, weights));
	b->out[0] = stage_map(y, type, expr_cast(ctx, type, mean));
}

void
build_NegativeLogLikelihoodLoss(Build *b)
{
	build_loss(b, b->in[0]);
}

void
build_SoftmaxCrossEntropyLoss(Build *b)
{
	const Tensor *log = op_log_softmax(b->ctx, b->in[0], 1, b->in[0]->type);
	build_loss(b, log);
	b->out[1] = log;
}
