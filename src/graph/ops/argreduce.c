/* ArgMax and ArgMin: the position of the largest or smallest along an axis.
 *
 *     (V, I)[n] = argmax first (k:C) X[n,k] with k
 *
 * Ties go to the first position, or to the last with select_last_index; a NaN wins.
 */
#include "graph/ops/helpers.h"

void
infer_arg_reduction(Infer *infer)
{
	const Type *x = infer_input(infer, 0);
	infer_reduced(infer, AXIS(infer_axis(infer, attr_int(infer->node, "axis"), x->rank)));
}

static void
build_arg_reduction(Build *b, ReduceOp first, ReduceOp last)
{
	const Tensor *x = b->in[0];
	int axis = build_axis(b, "axis", x->rank);
	bool keep = attr_int(b->node, "keepdims") != 0;
	bool is_last = attr_int(b->node, "select_last_index") != 0;
	const Expr *index[MAX_RANK];
	StageBuilder *y = reduction_open(b->ctx, "best", x, AXIS(axis), keep, index);
	Tensor *results[2];
	stage_reduce_tuple(y, is_last ? last : first, 2, (const DType[]){x->type, DT_I64},
	                   (const Expr *[]){stage_read(y, x, index), index[axis]}, results);
	b->out[0] = results[1];
}

void
build_ArgMax(Build *b)
{
	build_arg_reduction(b, REDUCE_argmax_first, REDUCE_argmax_last);
}

void
build_ArgMin(Build *b)
{
	build_arg_reduction(b, REDUCE_argmin_first, REDUCE_argmin_last);
}
