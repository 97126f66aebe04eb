/* program_fold_numbers: single numbers of the model become constants of the expressions.
 *
 *     Y[n] = pow(X[n] - M[0], E[])     E = {2.0}      =>   Y[n] = (X[n] - M[0]) * (X[n] - M[0])
 *
 * So they cost no load, patterns with numbers match, and some powers and quotients become what they
 * mean: x to the 2 is x*x (as exact as pow, and cheap), x / 2^k is x * 2^-k (the same bits). Of f32
 * and f64, whose pow is known to some units in the last place, also x to the 3, 4, -1 and 1/2.
 */
#include <math.h>

#include "program/forms.h"
#include "program/unit.h"

typedef struct Constants {
	const Program *program;
	const Array *const *values;
} Constants;

static bool
is_single(const Array *value)
{
	return value && dtype_is_arithmetic(value->type) && array_count(value) == 1;
}

static const Expr *
constant_scalar(ExprCtx *ctx, const Array *array)
{
	DTypeClass class = dtype_class(array->type);
	if (class == DC_F)
		return expr_number(ctx, array->type, dtype_load_f64(array->type, array->data, 0));
	Scalar value = {.i64 = dtype_load_i64(array->type, array->data, 0)};
	return expr_const(ctx, array->type, value);
}

static bool
is_power_of_two(double value)
{
	int exponent;
	return isfinite(value) && frexp(value, &exponent) == 0.5 && exponent > -60 && exponent < 60;
}

/* pow's root of -0 is 0 and of -inf is inf. */
static const Expr *
root(ExprCtx *ctx, const Expr *x)
{
	DType type = (DType)x->type;
	const Expr *is_lowest = expr_eq(ctx, x, expr_lowest(ctx, type));
	const Expr *positive = expr_add(ctx, expr_sqrt(ctx, x), expr_number(ctx, type, 0));
	return expr_select(ctx, is_lowest, expr_highest(ctx, type), positive);
}

/* x to a number, as what costs less; NULL: as pow. */
static const Expr *
power(ExprCtx *ctx, const Expr *x, double exponent)
{
	if (exponent == 2)
		return expr_mul(ctx, x, x);
	if (x->type != DT_F32 && x->type != DT_F64)
		return NULL;
	if (exponent == 3)
		return expr_mul(ctx, expr_mul(ctx, x, x), x);
	if (exponent == 4)
		return power(ctx, power(ctx, x, 2), 2);
	if (exponent == -1)
		return expr_div(ctx, expr_number(ctx, (DType)x->type, 1), x);
	return exponent == 0.5 ? root(ctx, x) : NULL;
}

static const Expr *
fold(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Constants *constants = arg;
	const Program *p = constants->program;
	if (e->op == EX_read)
		for (int i = 0; i < p->ninput; i++)
			if (p->inputs[i] == e->tensor && is_single(constants->values[i]))
				return constant_scalar(ctx, constants->values[i]);
	bool has_constant = e->argc == 2 && expr_is_const(e->arg[1]) && dtype_is_float((DType)e->type);
	const Expr *as_power = NULL;
	if (has_constant && e->op == EX_pow)
		as_power = power(ctx, e->arg[0], expr_const_f64(e->arg[1]));
	if (as_power)
		return as_power;
	if (has_constant && e->op == EX_div && is_power_of_two(expr_const_f64(e->arg[1]))) {
		double inverse = 1 / expr_const_f64(e->arg[1]);
		return expr_mul(ctx, e->arg[0], expr_number(ctx, (DType)e->type, inverse));
	}
	return e;
}

Program *
program_fold_numbers(const Program *program, const Array *const *values)
{
	Constants constants = {program, values};
	return program_rewrite(program, fold, &constants);
}

bool
pass_FoldNumbers(ProgramUnit *unit, PassContext *context)
{
	return unit_take(unit, program_fold_numbers(unit->program, unit_values(unit, context)));
}
