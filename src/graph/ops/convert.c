/* Conversions between element types, and the operators whose operands differ in type. */
#include <string.h>

#include "graph/ops/helpers.h"

static bool
is_storage(DType type)
{
	return dtype_class(type) == DC_S;
}

/* Storage types convert to and from one arithmetic type each. */
static DType
beside_storage(DType type)
{
	return dtype_is_code_integer(type) ? DT_I32 : DT_F32;
}

static int
cast_flags(const Node *node, DType to)
{
	int flags = attr_int(node, "saturate") ? 0 : CAST_NOSAT;
	const char *mode = attr_string(node, "round_mode");
	if (to == DT_F8E8M0 && mode && !strcmp(mode, "down"))
		flags |= CAST_ROUND_DOWN;
	if (to == DT_F8E8M0 && mode && !strcmp(mode, "nearest"))
		flags |= CAST_ROUND_NEAREST;
	return flags;
}

void
build_Cast(Build *b)
{
	ExprCtx *ctx = b->ctx;
	DType to = b->out_types[0]->dtype;
	StageBuilder *y = output_open(b, 0);
	const Expr *x = read_here(y, b->in[0]);
	DType from = (DType)x->type;
	if (from != to) {
		if (is_storage(from))
			x = expr_cast(ctx, beside_storage(from), x);
		if (is_storage(to))
			x = expr_cast(ctx, beside_storage(to), x);
		x = is_storage(to) ? expr_cast_flags(ctx, to, x, cast_flags(b->node, to))
		                   : expr_cast(ctx, to, x);
	}
	b->out[0] = stage_map(y, to, x);
}

void
build_BitCast(Build *b)
{
	DType to = b->out_types[0]->dtype;
	StageBuilder *y = output_open(b, 0);
	b->out[0] = stage_map(y, to, expr_bitcast(b->ctx, to, read_here(y, b->in[0])));
}

/* The type both operands of a power are converted to: the base's, unless a float exponent says
 * more than it can. */
static DType
power_type(DType base, DType exponent)
{
	if (!dtype_is_float(exponent))
		return base;
	if (!dtype_is_float(base) || exponent == DT_F64)
		return DT_F64;
	return dtype_bits(base) < dtype_bits(exponent) ? exponent : base;
}

void
build_Pow(Build *b)
{
	ExprCtx *ctx = b->ctx;
	const Type *type = b->out_types[0];
	DType work = power_type(b->in[0]->type, b->in[1]->type);
	StageBuilder *y = output_open(b, 0);
	const Expr *power[2];
	for (int i = 0; i < 2; i++)
		power[i] = expr_cast(ctx, work, read_broadcast(y, ctx, type, b->in[i]));
	const Expr *body = expr_pow(ctx, power[0], power[1]);
	b->out[0] = stage_map(y, type->dtype, expr_cast(ctx, type->dtype, body));
}

/* Inference: nothing is dropped. A node in training has no meaning (node_has_meaning). */
void
build_Dropout(Build *b)
{
	if (b->out_types[0]) {
		StageBuilder *y = output_open(b, 0);
		b->out[0] = stage_map(y, b->in[0]->type, read_here(y, b->in[0]));
	}
	if (b->out_types[1])
		b->out[1] = stage_map(output_open(b, 1), DT_BOOL, expr_bool(b->ctx, true));
}
