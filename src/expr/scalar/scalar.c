/* Scalar operations by row (scalar.def): types, folding of constants, properties. */
#include <math.h>
#include <string.h>

#include "expr/scalar/ctx.h"

#define SCALAR(name, text, prec, arity, types, cost, ulp, doc) \
	[EX_##name] = {#name, text, prec, arity, RULE_##types, cost, ulp, doc},
static const ScalarInfo rows[EX_COUNT] = {
#include "expr/scalar/scalar.def"
};
#undef SCALAR

const ScalarInfo *
scalar_info(ExprOp op)
{
	return (unsigned)op < EX_COUNT && rows[op].name ? &rows[op] : NULL;
}

ExprOp
scalar_find(const char *name)
{
	for (int op = 0; op < EX_COUNT; op++)
		if (rows[op].name && strcmp(rows[op].name, name) == 0)
			return (ExprOp)op;
	return EX_COUNT;
}

static bool
are_equal_types(int count, const DType *types)
{
	for (int i = 1; i < count; i++)
		if (types[i] != types[0])
			return false;
	return true;
}

DType
scalar_result_type(ExprOp op, const DType *args)
{
	const ScalarInfo *row = scalar_info(op);
	bool is_select = row->rule == RULE_select;
	if (is_select && args[0] != DT_BOOL)
		return DT_NONE;
	if (!are_equal_types(row->arity - is_select, args + is_select))
		return DT_NONE;
	DType type = args[is_select];
	switch (row->rule) {
	case RULE_same:
		return dtype_is_arithmetic(type) ? type : DT_NONE;
	case RULE_float:
		return dtype_is_float(type) ? type : DT_NONE;
	case RULE_int:
		return dtype_is_integer(type) || type == DT_BOOL ? type : DT_NONE;
	case RULE_cmp:
		return dtype_is_arithmetic(type) ? DT_BOOL : DT_NONE;
	case RULE_bool:
		return type == DT_BOOL ? DT_BOOL : DT_NONE;
	case RULE_test:
		return dtype_is_float(type) ? DT_BOOL : DT_NONE;
	case RULE_select:
		return type;
	case RULE_words:
		return type == DT_U32 ? DT_I32 : DT_NONE;
	}
	return DT_NONE;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* Integers as wide as their type, other bytes zero: equal values have equal bits. */
static Scalar
tidy_scalar(DType type, Scalar value)
{
	Scalar tidy = {.u64 = 0};
	int spare = 64 - dtype_bits(type);
	if (type == DT_BOOL)
		tidy.u64 = value.u64 != 0;
	else if (dtype_class(type) == DC_I)
		tidy.i64 = (int64_t)(value.u64 << spare) >> spare;
	else if (dtype_class(type) == DC_U)
		tidy.u64 = value.u64 << spare >> spare;
	else if (type == DT_F64)
		tidy.f64 = value.f64;
	else if (type == DT_F32)
		tidy.f32 = value.f32;
	else
		tidy.bits16 = value.bits16;
	return tidy;
}

const Expr *
expr_const(ExprCtx *ctx, DType type, Scalar value)
{
	must(dtype_is_arithmetic(type));
	Expr head = {.op = EX_const, .type = (uint8_t)type};
	head.value = tidy_scalar(type, value);
	return expr_intern(ctx, &head, NULL);
}

const Expr *
expr_i64(ExprCtx *ctx, int64_t value)
{
	if (value < 0 || value >= CTX_SMALL)
		return expr_const(ctx, DT_I64, (Scalar){.i64 = value});
	if (!ctx->small[value])
		ctx->small[value] = expr_const(ctx, DT_I64, (Scalar){.i64 = value});
	return ctx->small[value];
}

const Expr *
expr_bool(ExprCtx *ctx, bool value)
{
	return expr_const(ctx, DT_BOOL, (Scalar){.u64 = value});
}

const Expr *
expr_number(ExprCtx *ctx, DType type, double value)
{
	if (dtype_is_arithmetic(type))
		return expr_const(ctx, type, scalar_cast(type, 0, DT_F64, (Scalar){.f64 = value}));
	return expr_cast(ctx, type, expr_number(ctx, DT_F32, value));
}

const Expr *
expr_lowest(ExprCtx *ctx, DType type)
{
	if (dtype_class(type) == DC_I)
		return expr_const(ctx, type, (Scalar){.u64 = UINT64_C(1) << (dtype_bits(type) - 1)});
	return expr_number(ctx, type, dtype_is_float(type) ? -INFINITY : 0);
}

const Expr *
expr_highest(ExprCtx *ctx, DType type)
{
	if (dtype_class(type) == DC_I)
		return expr_const(ctx, type, (Scalar){.u64 = UINT64_MAX >> (65 - dtype_bits(type))});
	if (dtype_is_float(type))
		return expr_number(ctx, type, INFINITY);
	return expr_const(ctx, type, (Scalar){.u64 = UINT64_MAX});
}

bool
expr_is_const(const Expr *e)
{
	return e->op == EX_const;
}

bool
expr_is_compare(const Expr *e)
{
	return e->op >= EX_lt && e->op <= EX_ne;
}

bool
scalar_is_dot(ExprOp op)
{
	return op == EX_dotus || op == EX_dotss;
}

ExprOp
scalar_opposite(ExprOp compare)
{
	static const uint8_t opposite[] = {EX_ge, EX_gt, EX_le, EX_lt, EX_ne, EX_eq};
	return (ExprOp)opposite[compare - EX_lt];
}

bool
expr_as_i64(const Expr *e, int64_t *value)
{
	if (e->op != EX_const || dtype_is_float(e->type))
		return false;
	*value = e->value.i64;
	return true;
}

double
expr_const_f64(const Expr *e)
{
	must(e->op == EX_const);
	return scalar_cast(DT_F64, 0, e->type, e->value).f64;
}

/* Minus zero is not the neutral zero of a sum, so it does not count as zero. */
bool
expr_is_zero(const Expr *e)
{
	return e->op == EX_const && e->value.u64 == 0;
}

bool
expr_is_one(const Expr *e)
{
	return e->op == EX_const && expr_const_f64(e) == 1;
}

/* ---- operations ------------------------------------------------------------------------------ */

static const Expr *
fold_constants(ExprCtx *ctx, ExprOp op, DType type, int argc, const Expr *const *args)
{
	Scalar values[4];
	for (int i = 0; i < argc; i++) {
		if (args[i]->op != EX_const)
			return NULL;
		values[i] = args[i]->value;
	}
	DType arg_type = args[argc - 1]->type;
	return expr_const(ctx, type, scalar_eval(op, type, values, arg_type));
}

/* What a known condition decides: the arm not taken would not have been evaluated. */
static const Expr *
fold_lazy(ExprOp op, const Expr *const *args)
{
	if (op == EX_select)
		return args[0]->op != EX_const ? NULL : args[0]->value.u64 ? args[1] : args[2];
	if (op != EX_and && op != EX_or)
		return NULL;
	bool neutral = op == EX_and;
	if (args[0]->op == EX_const)
		return (args[0]->value.u64 != 0) == neutral ? args[1] : args[0];
	if (args[1]->op == EX_const && (args[1]->value.u64 != 0) == neutral)
		return args[0];
	return NULL;
}

const Expr *
expr_op(ExprCtx *ctx, ExprOp op, const Expr *const *args)
{
	int argc = rows[op].arity;
	DType types[3] = {DT_NONE, DT_NONE, DT_NONE};
	must(rows[op].name && argc <= 3);
	for (int i = 0; i < argc; i++)
		types[i] = args[i]->type;
	DType type = scalar_result_type(op, types);
	must(type != DT_NONE);
	const Expr *folded = fold_lazy(op, args);
	if (!folded && op != EX_select)
		folded = fold_constants(ctx, op, type, argc, args);
	if (folded)
		return folded;
	Expr head = {.op = (uint8_t)op, .type = (uint8_t)type, .argc = argc};
	return expr_intern(ctx, &head, args);
}

const Expr *
expr_both(ExprCtx *ctx, const Expr *a, const Expr *b)
{
	return a && b ? expr_and(ctx, a, b) : a ? a : b;
}

const Expr *
expr_opposite(ExprCtx *ctx, const Expr *condition)
{
	if (!expr_is_compare(condition) || dtype_is_float(condition->arg[0]->type))
		return expr_not(ctx, condition);
	return expr_op(ctx, scalar_opposite((ExprOp)condition->op), condition->arg);
}

const Expr *
expr_cast_flags(ExprCtx *ctx, DType type, const Expr *x, int flags)
{
	if (x->type == type)
		return x;
	if (x->op == EX_const && dtype_is_arithmetic(type))
		return expr_const(ctx, type, scalar_cast(type, flags, x->type, x->value));
	Expr head = {.op = EX_cast, .type = (uint8_t)type, .flags = (uint8_t)flags, .argc = 1};
	return expr_intern(ctx, &head, &x);
}

const Expr *
expr_cast(ExprCtx *ctx, DType type, const Expr *x)
{
	return expr_cast_flags(ctx, type, x, 0);
}

/* A constant's union holds its bits in the low bytes on every machine this builds for. */
static Scalar
scalar_bits(DType from, Scalar value)
{
	uint64_t bits = value.u64;
	if (dtype_bits(from) < 64)
		bits &= UINT64_MAX >> (64 - dtype_bits(from));
	return (Scalar){.u64 = bits};
}

const Expr *
expr_bitcast(ExprCtx *ctx, DType type, const Expr *x)
{
	must(dtype_bits(type) == dtype_bits(x->type));
	if (x->type == type)
		return x;
	if (x->op == EX_const && dtype_is_arithmetic(type))
		return expr_const(ctx, type, scalar_bits(x->type, x->value));
	Expr head = {.op = EX_bitcast, .type = (uint8_t)type, .argc = 1};
	return expr_intern(ctx, &head, &x);
}
