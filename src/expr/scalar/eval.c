/* Scalar operations on single values: blocks of one lane, so there is one table of meanings. */

#include "expr/scalar/blocks.h"

/* Largest lane. */
typedef union Cell {
	double align;
	unsigned char bytes[8];
} Cell;

static Scalar
run_cast(const BlockCast *steps, int count, DType from, Scalar value)
{
	Cell cell[2];
	block_put(from, &cell[0], value);
	for (int i = 0; i < count; i++)
		steps[i].fn(1, &cell[(i + 1) & 1], &(Operand){&cell[i & 1], 0});
	return block_get(steps[count - 1].type, &cell[count & 1]);
}

Scalar
scalar_cast(DType to, int flags, DType from, Scalar value)
{
	if (to == from)
		return value;
	BlockCast steps[BLOCK_CAST_MAX];
	return run_cast(steps, block_cast_steps(to, from, flags, steps), from, value);
}

Scalar
scalar_eval(ExprOp op, DType type, const Scalar *args, DType arg_type)
{
	const ScalarInfo *row = scalar_info(op);
	BlockFn fn = block_op(op, op == EX_select ? type : arg_type);
	must(row && fn);
	Cell in[3], out;
	Operand operands[3] = {{&args[0], 0}, {&args[1], 0}};
	if (arg_type == DT_I64 && (type == DT_I64 || type == DT_BOOL) && row->arity == 2) {
		Scalar value = {.u64 = 0}; /* as lanes have them */
		fn(1, &value, operands);
		return value;
	}
	for (int i = 0; i < row->arity; i++) {
		block_put(op == EX_select && i > 0 ? type
		          : op == EX_select        ? DT_BOOL
		                                   : arg_type,
		          &in[i], args[i]);
		operands[i] = (Operand){&in[i], 0};
	}
	fn(1, &out, operands);
	if (!block_rounds(type))
		return block_get(type, &out);
	/* computed in f32: round */
	BlockCast steps[BLOCK_CAST_MAX];
	block_cast_steps(type, DT_F32, 0, steps);
	steps[0].fn(1, &in[0], &(Operand){&out, 0});
	return block_get(type, &in[0]);
}
