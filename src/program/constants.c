/* program_fold_numbers: single numbers of the model become constants of the expressions, and tables
 * of integers in steady steps the sums of iterators that they are.
 *
 *     Y[n] = pow(X[n] - M[0], E[])     E = {2.0}      =>   Y[n] = (X[n] - M[0]) * (X[n] - M[0])
 *     Y[m,w] = X[at(I[m,w], 0..9)]     I[m,w] = m+2w  =>   Y[m,w] = X[m + 2*w]
 *
 * So they cost no load, patterns with numbers match, and some powers and quotients become what they
 * mean: x to the 2 is x*x (as exact as pow, and cheap), x / 2^k is x * 2^-k where the type has that
 * (the same bits). Of f32 and f64, whose pow is known to some units in the last place, also x to
 * the 3, 4, -1 and 1/2.
 *
 * needs    constants of the inputs that have one
 * keeps    values; powers and quotients as exact as they were
 * breaks   inputs: what became a number is read no more
 */
#include <math.h>

#include "expr/scalar/affine.h"
#include "expr/stage/stage.h"
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

/* x / 2^k as a product with the same bits; NULL: there is none. */
static const Expr *
quotient(ExprCtx *ctx, const Expr *x, double divisor)
{
	int exponent;
	Affine product;
	AffineStep step = {EX_div, divisor};
	if (fabs(frexp(divisor, &exponent)) != 0.5 || !affine_join((DType)x->type, 1, &step, &product))
		return NULL;
	return expr_mul(ctx, x, expr_number(ctx, (DType)x->type, product.scale));
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
	const Expr *made = NULL;
	if (has_constant && e->op == EX_pow)
		made = power(ctx, e->arg[0], expr_const_f64(e->arg[1]));
	if (has_constant && e->op == EX_div)
		made = quotient(ctx, e->arg[0], expr_const_f64(e->arg[1]));
	return made ? made : e;
}

/* ---- tables in steady steps ------------------------------------------------------------------ */

typedef struct Progression {
	int64_t first, step[ARRAY_MAX_RANK]; /* first + sum of step[d] * index d */
} Progression;

static const int64_t LARGEST_INDEX = INT64_C(1) << 31;

static bool
are_indices(const Array *table)
{
	for (int64_t k = 0, count = array_count(table); k < count; k++) {
		int64_t value = dtype_load_i64(table->type, table->data, k);
		if (value > LARGEST_INDEX || value < -LARGEST_INDEX)
			return false;
	}
	return true;
}

/* Whether every element is what the first two along each dim say. */
static bool
is_progression(const Array *table, Progression *out)
{
	int64_t count = array_count(table), stride = 1;
	if (!are_indices(table))
		return false;
	out->first = dtype_load_i64(table->type, table->data, 0);
	for (int d = table->rank - 1; d >= 0; d--) {
		out->step[d] = 0;
		if (table->dims[d] > 1)
			out->step[d] = dtype_load_i64(table->type, table->data, stride) - out->first;
		stride *= table->dims[d];
	}
	for (int64_t k = 0; k < count; k++) {
		int64_t value = dtype_load_i64(table->type, table->data, k), rest = k;
		for (int d = table->rank - 1; d >= 0; d--) {
			value -= out->step[d] * (rest % table->dims[d]);
			rest /= table->dims[d];
		}
		if (value != out->first)
			return false;
	}
	return true;
}

typedef struct Tables {
	const Program *program;
	const Progression **known; /* of inputs; NULL: none, or too little to say */
} Tables;

static const Expr *
put_progression(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Tables *tables = arg;
	const Progression *p = NULL;
	for (int i = 0; e->op == EX_read && i < tables->program->ninput; i++)
		if (tables->program->inputs[i] == e->tensor)
			p = tables->known[i];
	if (!p)
		return e;
	const Expr *sum = expr_i64(ctx, p->first);
	for (int d = 0; d < e->argc; d++)
		sum = expr_add(ctx, sum, expr_mul(ctx, expr_i64(ctx, p->step[d]), e->arg[d]));
	return sum;
}

/* A table of one number is a number; one of i32 would wrap where it is added to. */
static const Program *
fold_tables(const Program *program, const Array *const *values)
{
	Arena *arena = expr_ctx_arena(program->ctx);
	Tables tables = {program, NEW_N(arena, const Progression *, program->ninput + 1)};
	bool is_any = false;
	for (int i = 0; i < program->ninput; i++) {
		Progression found;
		if (!values[i] || values[i]->type != DT_I64 || array_count(values[i]) < 2 ||
		    !is_progression(values[i], &found))
			continue;
		tables.known[i] = arena_memdup(arena, &found, sizeof found);
		is_any = true;
	}
	return is_any ? program_rewrite_tidy(program, put_progression, &tables) : program;
}

Program *
program_fold_numbers(const Program *program, const Array *const *values)
{
	program = fold_tables(program, values);
	Constants constants = {program, values};
	return program_rewrite(program, fold, &constants);
}

bool
pass_FoldNumbers(ProgramUnit *unit, PassContext *context)
{
	return unit_take(unit, program_fold_numbers(unit->program, unit_values(unit, context)));
}
