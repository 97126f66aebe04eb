/* Scalars: an operation of scalar.def is an operator, or a few. */
#include "graph/spell/inner.h"

/* Operations that an operator of ONNX computes, at the types it takes. */
static const struct {
	ExprOp op;
	DTypeClass only; /* DC_NONE: any */
	const char *name;
} OPERATORS[] = {
	{EX_add, DC_NONE, "Add"},           {EX_sub, DC_NONE, "Sub"},
	{EX_mul, DC_NONE, "Mul"},           {EX_div, DC_NONE, "Div"},
	{EX_quot, DC_NONE, "Div"},          {EX_floormod, DC_NONE, "Mod"},
	{EX_neg, DC_NONE, "Neg"},           {EX_abs, DC_NONE, "Abs"},
	{EX_sign, DC_NONE, "Sign"},         {EX_min, DC_NONE, "Min"},
	{EX_max, DC_NONE, "Max"},           {EX_floor, DC_NONE, "Floor"},
	{EX_ceil, DC_NONE, "Ceil"},         {EX_round, DC_NONE, "Round"},
	{EX_sqrt, DC_NONE, "Sqrt"},         {EX_exp, DC_NONE, "Exp"},
	{EX_log, DC_NONE, "Log"},           {EX_pow, DC_F, "Pow"},
	{EX_sin, DC_NONE, "Sin"},           {EX_cos, DC_NONE, "Cos"},
	{EX_tan, DC_NONE, "Tan"},           {EX_asin, DC_NONE, "Asin"},
	{EX_acos, DC_NONE, "Acos"},         {EX_atan, DC_NONE, "Atan"},
	{EX_sinh, DC_NONE, "Sinh"},         {EX_cosh, DC_NONE, "Cosh"},
	{EX_tanh, DC_NONE, "Tanh"},         {EX_asinh, DC_NONE, "Asinh"},
	{EX_acosh, DC_NONE, "Acosh"},       {EX_atanh, DC_NONE, "Atanh"},
	{EX_erf, DC_NONE, "Erf"},           {EX_lt, DC_NONE, "Less"},
	{EX_le, DC_NONE, "LessOrEqual"},    {EX_gt, DC_NONE, "Greater"},
	{EX_ge, DC_NONE, "GreaterOrEqual"}, {EX_eq, DC_NONE, "Equal"},
	{EX_and, DC_NONE, "And"},           {EX_or, DC_NONE, "Or"},
	{EX_not, DC_NONE, "Not"},           {EX_isnan, DC_NONE, "IsNaN"},
	{EX_isinf, DC_NONE, "IsInf"},       {EX_bitnot, DC_NONE, "BitwiseNot"},
	{EX_bitand, DC_NONE, "BitwiseAnd"}, {EX_bitor, DC_NONE, "BitwiseOr"},
	{EX_bitxor, DC_NONE, "BitwiseXor"},
};

static Value *
binary(const Spell *s, const char *op, Value *a, Value *b)
{
	return spell_op(s, op, 2, (Value *[]){a, b});
}

static Value *
one(const Spell *s, DType type)
{
	return spell_known(s, expr_number(s->ctx, type, 1));
}

/* Operations that take a few operators. */
static Value *
spell_few(const Spell *s, const Expr *e, Value *const *args)
{
	switch (e->op) {
	case EX_ne:
		return spell_op(s, "Not", 1, (Value *[]){binary(s, "Equal", args[0], args[1])});
	case EX_fma:
		return binary(s, "Add", binary(s, "Mul", args[0], args[1]), args[2]);
	case EX_floordiv:
		return binary(s, "Div", binary(s, "Sub", args[0], binary(s, "Mod", args[0], args[1])),
		              args[1]);
	case EX_log1p:
		return spell_op(s, "Log", 1,
		                (Value *[]){binary(s, "Add", args[0], one(s, (DType)e->type))});
	case EX_expm1:
		return binary(s, "Sub", spell_op(s, "Exp", 1, args), one(s, (DType)e->type));
	default:
		spell_fail(s, "%s", scalar_info((ExprOp)e->op)->name);
	}
}

static Value *
spell_operation(const Spell *s, const Expr *e, Value *const *args)
{
	DTypeClass class = dtype_class((DType)e->type);
	for (size_t i = 0; i < countof(OPERATORS); i++)
		if (OPERATORS[i].op == (ExprOp)e->op &&
		    (OPERATORS[i].only == DC_NONE || OPERATORS[i].only == class))
			return spell_op(s, OPERATORS[i].name, e->argc, args);
	return spell_few(s, e, args);
}

Value *
spell_where(Spell *s, const Expr *condition, Value *x, Value *y)
{
	bool holds;
	if (facts_prove(s->facts, condition))
		return x;
	Value *mask = spell_scalar(s, condition);
	holds = mask->constant != NULL;
	for (int64_t i = 0; holds && i < array_count(mask->constant); i++)
		holds = dtype_load_i64(DT_BOOL, mask->constant->data, i) != 0;
	return holds ? x : spell_op(s, "Where", 3, (Value *[]){mask, x, y});
}

static Value *
spell_node(Spell *s, const Expr *e)
{
	Value *args[3] = {NULL};
	if (!e->has_read)
		return spell_known(s, e);
	if (e->op == EX_read)
		return spell_read(s, e, NULL, NULL);
	if (e->op == EX_cast) {
		if (e->flags)
			spell_fail(s, "a conversion that is not the usual one");
		return spell_cast(s, spell_scalar(s, e->arg[0]), (DType)e->type);
	}
	if (!scalar_info((ExprOp)e->op))
		spell_fail(s, "%s", e->op == EX_at ? "an index from data" : "bits as another type");
	bool is_read_or = e->op == EX_select && !e->arg[0]->has_read && e->arg[1]->op == EX_read &&
	                  expr_is_const(e->arg[2]);
	if (is_read_or)
		return spell_read(s, e->arg[1], e->arg[0], e->arg[2]);
	if (e->op == EX_select)
		return spell_where(s, e->arg[0], spell_scalar(s, e->arg[1]), spell_scalar(s, e->arg[2]));
	for (int i = 0; i < e->argc; i++)
		args[i] = spell_scalar(s, e->arg[i]);
	return spell_operation(s, e, args);
}

Value *
spell_scalar(Spell *s, const Expr *e)
{
	Value *known = map_find_ptr(&s->scalars, e);
	if (known)
		return known;
	if (s->depth++ > SPELL_DEPTH)
		spell_fail(s, "a formula of more than %d operations in one another", SPELL_DEPTH);
	Value *value = spell_node(s, e);
	map_set_ptr(&s->scalars, e, value);
	s->depth--;
	return value;
}
