/* Types, numbers, conversions and operations as C text, by the rows of intrin.def. Bools are 0 or 1
 * as scalars and masks as vectors; f16 and bf16 are their bits, computed through f32.
 */
#include "codegen/c/emit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef enum VectorForm {
	NONE,
	INFIX,
	CALL,
	TEST,
	PICK,
	SHIFT,
} VectorForm;

typedef struct OpText {
	const char *infix;
	VectorForm floats, ints;
	const char *cuda32, *cuda64;
} OpText;

#define INTRIN(op, infix, floats, ints, cuda32, cuda64) \
	[EX_##op] = {infix, floats, ints, cuda32, cuda64},
static const OpText rows[EX_COUNT] = {
#include "target/intrin.def"
};
#undef INTRIN

/* ---- types ----------------------------------------------------------------------------------- */

DType
memory_type(DType type)
{
	if (dtype_is_short_float(type))
		return DT_U16;
	return type == DT_BOOL || dtype_class(type) == DC_S ? DT_U8 : type;
}

DType
lane_type(DType type)
{
	if (type == DT_F32 || type == DT_F64 || type == DT_I64 || type == DT_U64)
		return type;
	return dtype_class(type) == DC_I || type == DT_BOOL ? DT_I32 : DT_U32;
}

const char *
c_type(DType type)
{
	static const char *const names[DT_COUNT] = {
		[DT_F32] = "tw_f32", [DT_F64] = "tw_f64", [DT_I8] = "tw_i8", [DT_I16] = "tw_i16",
		[DT_I32] = "tw_i32", [DT_I64] = "tw_i64", [DT_U8] = "tw_u8", [DT_U16] = "tw_u16",
		[DT_U32] = "tw_u32", [DT_U64] = "tw_u64",
	};
	return names[memory_type(type)];
}

const char *
c_vector(Emit *em, DType type, int lanes)
{
	if (type == DT_BOOL)
		type = em->vector && em->vector->width == 8 ? DT_I64 : DT_I32;
	return emit_text(em, "%sx%d", c_type(lane_type(type)), lanes);
}

/* "f32x16": how the prelude calls vectors of this type of value. */
const char *
value_name(DType type, char out[24], int lanes)
{
	snprintf(out, 24, "%sx%d", dtype_name(lane_type(type)), lanes);
	return out;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static const char *
float_number(Emit *em, DType type, Scalar value)
{
	bool is_double = type == DT_F64;
	double number = is_double ? value.f64 : (double)value.f32;
	if (!isfinite(number)) {
		uint64_t bits = value.u64;
		return is_double ? emit_text(em, "tw_float_f64(0x%llxull)", (unsigned long long)bits)
		                 : emit_text(em, "tw_float_f32(0x%xu)", (unsigned)(uint32_t)bits);
	}
	Buf buf = {.arena = em->arena};
	if (is_double)
		buf_double(&buf, number);
	else
		buf_float(&buf, value.f32);
	const char *digits = buf_text(&buf);
	bool is_whole = strpbrk(digits, ".en") == NULL;
	const char *form = signbit(number) ? "(%s%s%s)" : "%s%s%s";
	return emit_text(em, form, digits, is_whole ? ".0" : "", is_double ? "" : "f");
}

const char *
c_number(Emit *em, DType type, Scalar value)
{
	if (type == DT_F32 || type == DT_F64)
		return float_number(em, type, value);
	if (dtype_is_short_float(type))
		return emit_text(em, "0x%04xu", value.bits16);
	if (dtype_class(type) == DC_U)
		return emit_text(em, type == DT_U64 ? "%lluull" : "%lluu", (unsigned long long)value.u64);
	if (value.i64 == INT64_MIN)
		return "(-9223372036854775807ll - 1)";
	if (type == DT_I32 && value.i64 == INT32_MIN)
		return "(-2147483647 - 1)";
	bool is_long = value.i64 > INT32_MAX || value.i64 < -INT32_MAX;
	const char *form = value.i64 < 0 ? (is_long ? "(%lldll)" : "(%lld)")
	                   : is_long     ? "%lldll"
	                                 : "%lld";
	return emit_text(em, form, (long long)value.i64);
}

/* ---- casts ----------------------------------------------------------------------------------- */

static const char *
storage_of_f32(Emit *em, DType to, int flags, const char *x)
{
	const char *name = dtype_name(to);
	int saturate = !(flags & CAST_NOSAT);
	if (to == DT_F8E8M0)
		return emit_text(em, "tw_%s_of_f32(%s, %d, %d)", name, x, saturate,
		                 flags & CAST_ROUND_NEAREST ? 2
		                 : flags & CAST_ROUND_DOWN  ? 1
		                                            : 0);
	if (to == DT_F4E2M1 || dtype_name(to)[0] != 'f')
		return emit_text(em, "tw_%s_of_f32(%s)", name, x);
	return emit_text(em, "tw_%s_of_f32(%s, %d)", name, x, saturate);
}

/* Storage types meet f32, the small integers also i32; everything else goes there first. */
static const char *
cast_storage(Emit *em, DType to, int flags, DType from, const char *x)
{
	if (dtype_class(from) == DC_S) {
		DType via = dtype_name(from)[0] == 'f' ? DT_F32 : DT_I32;
		const char *wide = emit_text(em, "tw_%s_of_%s(%s)", dtype_name(via), dtype_name(from), x);
		return c_cast(em, to, flags, via, wide);
	}
	bool is_small_int = dtype_name(to)[0] != 'f';
	if (is_small_int && !dtype_is_float(from))
		return emit_text(em, "tw_%s_of_i32((tw_i32)%s)", dtype_name(to), x);
	if (from == DT_F64 && !is_small_int)
		return storage_of_f32(em, to, flags, emit_text(em, "tw_f32_odd_of_f64(%s)", x));
	return storage_of_f32(em, to, flags, c_cast(em, DT_F32, 0, from, x));
}

const char *
c_cast(Emit *em, DType to, int flags, DType from, const char *x)
{
	if (to == from)
		return x;
	if (dtype_class(to) == DC_S || dtype_class(from) == DC_S)
		return cast_storage(em, to, flags, from, x);
	if (dtype_is_short_float(from)) {
		const char *wide = emit_text(em, "tw_f32_of_%s(%s)", dtype_name(from), x);
		return c_cast(em, to, flags, DT_F32, wide);
	}
	if (to == DT_BOOL)
		return emit_text(em, "(%s != 0)", x);
	if (dtype_is_short_float(to)) {
		const char *via =
			from == DT_F32 || from == DT_F64 || from == DT_U64 ? dtype_name(from) : "i64";
		return emit_text(em, "tw_%s_of_%s(%s)", dtype_name(to), via, x);
	}
	if (dtype_is_float(from) && !dtype_is_float(to))
		return emit_text(em, "tw_%s_of_%s(%s)", dtype_name(to), dtype_name(from), x);
	return emit_text(em, "((%s)%s)", c_type(to), x);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The function of an operation on scalars. */
static const char *
function_name(Emit *em, ExprOp op, DType type)
{
	const char *own = type == DT_F32 ? rows[op].cuda32 : type == DT_F64 ? rows[op].cuda64 : NULL;
	if (em->dialect->is_cuda && own)
		return own;
	if (op == EX_fma)
		return type == DT_F32 ? "__builtin_fmaf" : "__builtin_fma";
	return emit_text(em, "tw_%s_%s", scalar_info(op)->name, dtype_name(type));
}

const char *
fma_text(Emit *em, DType type, const char *a, const char *b, const char *c)
{
	return emit_text(em, "%s(%s, %s, %s)", function_name(em, EX_fma, type), a, b, c);
}

/* Bits of scalars, or of all lanes of masks: arithmetic without carries, as the interpreter has it.
 * NULL: they are no such operation. */
static const char *
bit_operation(Emit *em, ExprOp op, bool is_mask, const char *const *args)
{
	static const struct {
		ExprOp op;
		const char *form;
	} forms[] = {
		{EX_add, "(%s ^ %s)"},    {EX_sub, "(%s ^ %s)"},     {EX_bitxor, "(%s ^ %s)"},
		{EX_ne, "(%s ^ %s)"},     {EX_mul, "(%s & %s)"},     {EX_min, "(%s & %s)"},
		{EX_bitand, "(%s & %s)"}, {EX_and, "(%s & %s)"},     {EX_max, "(%s | %s)"},
		{EX_bitor, "(%s | %s)"},  {EX_or, "(%s | %s)"},      {EX_floordiv, "(%s & %s)"},
		{EX_quot, "(%s & %s)"},   {EX_pow, "(%s | !%s)"},    {EX_shl, "(%s & !%s)"},
		{EX_shr, "(%s & !%s)"},   {EX_rem, "(0 & %s & %s)"}, {EX_floormod, "(0 & %s & %s)"},
	};
	enum { OF_MASKS = 11 }; /* the first ones */
	for (size_t i = 0; i < (is_mask ? OF_MASKS : countof(forms)); i++)
		if (forms[i].op == op)
			return emit_text(em, forms[i].form, args[0], args[1]);
	return NULL;
}

static const char *
bool_operation(Emit *em, ExprOp op, const char *const *args)
{
	const char *bits = bit_operation(em, op, false, args);
	if (bits)
		return bits;
	if (op == EX_not || op == EX_bitnot)
		return emit_text(em, "(!%s)", args[0]);
	if (scalar_info(op)->arity == 1) /* neg, abs, sign */
		return args[0];
	return emit_text(em, "(%s %s %s)", args[0], rows[op].infix, args[1]);
}

/* f16 and bf16: operands to f32, one operation, one rounding. */
static const char *
short_operation(Emit *em, const Expr *e, const char *const *args)
{
	DType type = e->arg[e->argc - 1]->type;
	const char *wide[3];
	for (int i = 0; i < e->argc; i++)
		wide[i] = emit_text(em, "tw_f32_of_%s(%s)", dtype_name(type), args[i]);
	const char *call = NULL;
	if (rows[e->op].infix && e->argc == 2)
		call = emit_text(em, "(%s %s %s)", wide[0], rows[e->op].infix, wide[1]);
	else if (e->op == EX_fma)
		call = fma_text(em, DT_F32, wide[0], wide[1], wide[2]);
	else if (e->argc == 2)
		call = emit_text(em, "%s(%s, %s)", function_name(em, e->op, DT_F32), wide[0], wide[1]);
	else
		call = emit_text(em, "%s(%s)", function_name(em, e->op, DT_F32), wide[0]);
	return e->type == type ? emit_text(em, "tw_%s_of_f32(%s)", dtype_name(type), call) : call;
}

/* max(x, c) for a constant c that is no NaN: one instruction and, for a zero, an addition that
 * makes its sign right. NULL where the sign would come out wrong (max with -0, min with +0). */
static const char *
bound_text(Emit *em, const Expr *e, const char *x, bool is_vector)
{
	char name[24];
	const Expr *bound = e->argc == 2 && e->arg[1]->op == EX_const ? e->arg[1] : NULL;
	if (!bound || (e->op != EX_max && e->op != EX_min) || (e->type != DT_F32 && e->type != DT_F64))
		return NULL;
	double c = expr_const_f64(bound);
	if (isnan(c) || (c == 0 && (e->op == EX_min || signbit(c))))
		return NULL;
	value_name(e->type, name, is_vector ? em->vector->lanes : 0);
	if (!is_vector)
		snprintf(name, sizeof name, "%s", dtype_name(e->type));
	const char *number = c_number(em, e->type, bound->value);
	const char *limit = is_vector ? emit_text(em, "tw_set_%s(%s)", name, number) : number;
	return emit_text(em, c == 0 ? "(tw_%s_%s(%s, %s) + 0)" : "tw_%s_%s(%s, %s)",
	                 e->op == EX_max ? "atleast" : "atmost", name, limit, x);
}

const char *
c_operation(Emit *em, const Expr *e, const char *const *args)
{
	DType type = e->arg[e->argc - 1]->type;
	const char *infix = rows[e->op].infix;
	if (e->op == EX_select)
		return emit_text(em, "(%s ? %s : %s)", args[0], args[1], args[2]);
	if (e->op == EX_and || e->op == EX_or)
		return emit_text(em, "(%s %s %s)", args[0], infix, args[1]);
	if (type == DT_BOOL)
		return bool_operation(em, e->op, args);
	if (dtype_is_short_float(type))
		return short_operation(em, e, args);
	const char *bound = bound_text(em, e, args[0], false);
	if (bound)
		return bound;
	if (e->op == EX_fma)
		return fma_text(em, type, args[0], args[1], args[2]);
	bool is_test = e->type == DT_BOOL;
	bool is_infix = infix && (is_test || dtype_is_float(type) || dtype_bits(type) >= 32);
	if (is_infix && e->argc == 1)
		return emit_text(em, "(%s%s)", infix, args[0]);
	if (is_infix)
		return emit_text(em, "(%s %s %s)", args[0], infix, args[1]);
	const char *name = function_name(em, e->op, type);
	if (e->argc == 1)
		return emit_text(em, "%s(%s)", name, args[0]);
	return emit_text(em, "%s(%s, %s)", name, args[0], args[1]);
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* A comparison's result as a mask of the loop's width. */
static const char *
test_mask(Emit *em, DType type, const char *test)
{
	int bits = dtype_bits(lane_type(type));
	return full_mask(em, emit_text(em, "((tw_i%dx%d)%s)", bits, em->vector->lanes, test), type);
}

static const char *
mask_operation(Emit *em, ExprOp op, const char *const *args)
{
	if (op == EX_eq)
		return emit_text(em, "(~(%s ^ %s))", args[0], args[1]);
	if (op == EX_not || op == EX_bitnot)
		return emit_text(em, "(~%s)", args[0]);
	return bit_operation(em, op, true, args);
}

/* Small integers live in lanes of 32 bits and are cut back after what may leave their range. */
static const char *
wrap_lanes(Emit *em, DType type, const char *x)
{
	int spare = 32 - dtype_bits(type);
	if (spare <= 0 || dtype_bits(type) > 32)
		return x;
	return emit_text(em, "(%s << %d >> %d)", x, spare, spare);
}

static const char *
vector_call(Emit *em, const Expr *e, DType type, const char *const *args)
{
	char name[24];
	int lanes = em->vector->lanes;
	if (lanes == 2 && type != DT_F64)
		return NULL; /* the prelude has no such instance */
	value_name(type, name, lanes);
	const char *op = scalar_info(e->op)->name, *call = bound_text(em, e, args[0], true);
	if (e->op == EX_max || e->op == EX_min) /* in few instructions (prelude lanes.h) */
		op = e->op == EX_max ? "most" : "least";
	if (call)
		return call;
	if (e->op == EX_fma && !em->target->device->has_fma)
		return NULL;
	if (e->argc == 1)
		call = emit_text(em, "tw_%s_%s(%s)", op, name, args[0]);
	else if (e->argc == 2)
		call = emit_text(em, "tw_%s_%s(%s, %s)", op, name, args[0], args[1]);
	else
		call = emit_text(em, "tw_%s_%s(%s, %s, %s)", op, name, args[0], args[1], args[2]);
	return e->type == DT_BOOL ? test_mask(em, type, call) : call;
}

static const char *
pick_operation(Emit *em, const Expr *e, DType type, const char *const *args)
{
	char name[24];
	value_name(type, name, em->vector->lanes);
	int bits = dtype_bits(lane_type(type));
	if (e->op == EX_abs && !dtype_is_signed(type))
		return args[0];
	const char *mask = emit_text(em, "(tw_i%dx%d)", bits, em->vector->lanes);
	if (e->op == EX_abs)
		return wrap_lanes(em, type,
		                  emit_text(em, "tw_pick_%s(%s(%s < 0), -%s, %s)", name, mask, args[0],
		                            args[0], args[0]));
	return emit_text(em, "tw_pick_%s(%s(%s %s %s), %s, %s)", name, mask, args[0],
	                 e->op == EX_min ? "<" : ">", args[1], args[0], args[1]);
}

/* C leaves open what a shift by 32 is; a count that may be is looked at lane by lane. */
static const char *
shift_operation(Emit *em, const Expr *e, DType type, const char *const *args)
{
	int64_t least, most;
	const Expr *count = without_lets(em, e->arg[1]);
	while (count->op == EX_cast && dtype_is_integer(count->arg[0]->type))
		count = count->arg[0];
	bool is_known = expr_as_i64(count, &least)
	                    ? (most = least, true)
	                    : count->type == DT_I64 && facts_range(em->facts, count, &least, &most);
	if (dtype_bits(type) != 32 || !is_known || least < 0 || most >= 32)
		return NULL;
	return emit_text(em, "(%s %s %s)", args[0], e->op == EX_shl ? "<<" : ">>", args[1]);
}

static const char *
short_vector(Emit *em, const Expr *e, DType type, const char *const *args)
{
	const char *wide[3];
	const Expr *operands[3];
	Scalar zero = {.u64 = 0};
	for (int i = 0; i < e->argc; i++) {
		wide[i] = v_cast(em, DT_F32, 0, type, args[i]);
		operands[i] = expr_cast(em->ctx, DT_F32, expr_const(em->ctx, type, zero));
	}
	Var *any = var_new(em->ctx, "", DT_F32, NULL, NULL);
	for (int i = 0; i < e->argc; i++)
		operands[i] = expr_var(em->ctx, any); /* no constant: it must not fold */
	const Expr *in_f32 = expr_op(em->ctx, e->op, operands);
	const char *result = v_operation(em, in_f32, wide);
	return !result || e->type == DT_BOOL ? result : v_cast(em, type, 0, DT_F32, result);
}

const char *
v_pick(Emit *em, DType type, const char *mask, const char *yes, const char *no)
{
	char name[24];
	if (type == DT_BOOL)
		return emit_text(em, "((%s & %s) | (~%s & %s))", mask, yes, mask, no);
	value_name(type, name, em->vector->lanes);
	return emit_text(em, "tw_pick_%s(%s, %s, %s)", name, natural_mask(em, mask, type), yes, no);
}

const char *
v_operation(Emit *em, const Expr *e, const char *const *args)
{
	DType type = e->arg[e->argc - 1]->type;
	const OpText *row = &rows[e->op];
	if (e->op == EX_select)
		return v_pick(em, type, args[0], args[1], args[2]);
	if (type == DT_BOOL)
		return mask_operation(em, e->op, args);
	if (dtype_is_short_float(type))
		return short_vector(em, e, type, args);
	VectorForm form = dtype_is_float(type) ? row->floats : row->ints;
	switch (form) {
	case INFIX:
		return wrap_lanes(em, dtype_is_float(type) ? DT_F32 : type,
		                  e->argc == 1 ? emit_text(em, "(%s%s)", row->infix, args[0])
		                               : emit_text(em, "(%s %s %s)", args[0], row->infix, args[1]));
	case TEST:
		return test_mask(em, type, emit_text(em, "(%s %s %s)", args[0], row->infix, args[1]));
	case CALL:
		return vector_call(em, e, type, args);
	case PICK:
		return pick_operation(em, e, type, args);
	case SHIFT:
		return shift_operation(em, e, type, args);
	case NONE:
		break;
	}
	return NULL;
}

/* Floats to integers of at most 32 bits through i32: saturated there, then to the type's range. */
static const char *
v_round(Emit *em, DType to, const char *x)
{
	int lanes = em->vector->lanes, bits = dtype_bits(to);
	if (to == DT_U32)
		return NULL;
	const char *whole = emit_text(em, "tw_i32_of_f32x%d(%s)", lanes, x);
	if (to == DT_I32)
		return whole;
	int high = (1 << (dtype_is_signed(to) ? bits - 1 : bits)) - 1;
	int low = dtype_is_signed(to) ? -high - 1 : 0;
	const char *clamped = emit_text(em, "tw_clamp_i32x%d(%s, %d, %d)", lanes, whole, low, high);
	return dtype_is_signed(to) ? clamped : emit_text(em, "((tw_u32x%d)%s)", lanes, clamped);
}

static const char *
v_of_mask(Emit *em, DType to, const char *mask)
{
	if (dtype_is_short_float(to))
		return v_cast(em, to, 0, DT_F32, v_of_mask(em, DT_F32, mask));
	if (!dtype_is_float(to))
		return emit_text(em, "((%s)(%s & 1))", c_vector(em, to, em->vector->lanes),
		                 natural_mask(em, mask, to));
	return v_pick(em, to, mask, emit_vector(em, expr_number(em->ctx, to, 1)),
	              emit_vector(em, expr_number(em->ctx, to, 0)));
}

/* f32 of lanes of f16 or bf16. What has just been rounded to these stays in its register: between
 * two operations there is nothing to store. */
static const char *
widened_text(Emit *em, DType from, const char *x)
{
	const char *name = dtype_name(from);
	const char *cut = emit_text(em, "tw_%s_of_f32x%d(", name, em->vector->lanes);
	if (strncmp(x, cut, strlen(cut)) == 0)
		return emit_text(em, "tw_round_%sx%d(%s", name, em->vector->lanes, x + strlen(cut));
	return emit_text(em, "tw_f32_of_%sx%d(%s)", name, em->vector->lanes, x);
}

const char *
v_cast(Emit *em, DType to, int flags, DType from, const char *x)
{
	int lanes = em->vector->lanes;
	(void)flags; /* storage types have no vectors */
	if (to == from)
		return x;
	if (from == DT_BOOL)
		return v_of_mask(em, to, x);
	if (dtype_is_short_float(from))
		return v_cast(em, to, flags, DT_F32, widened_text(em, from, x));
	if (to == DT_BOOL)
		return test_mask(em, from, emit_text(em, "(%s != 0)", x));
	if (dtype_is_short_float(to))
		return from != DT_F32 ? NULL
		                      : emit_text(em, "tw_%s_of_f32x%d(%s)", dtype_name(to), lanes, x);
	const char *convert =
		emit_text(em, "__builtin_convertvector(%s, %s)", x, c_vector(em, to, lanes));
	if (dtype_is_float(from) && dtype_is_float(to))
		return convert;
	if (from == DT_F32 && dtype_bits(to) <= 32)
		return v_round(em, to, x);
	bool is_unsigned = from == DT_U32 || from == DT_U64;
	if (dtype_is_float(from) || (is_unsigned && (dtype_is_float(to) || from == DT_U64)))
		return NULL;
	if (dtype_is_float(to)) {
		if (dtype_bits(from) == 64)
			return em->target->device->vector_bytes == 64 ? convert : NULL;
		/* u8 and u16 are small enough to be signed */
		return emit_text(em, "__builtin_convertvector((tw_i32x%d)%s, %s)", lanes, x,
		                 c_vector(em, to, lanes));
	}
	if (dtype_bits(lane_type(to)) == dtype_bits(lane_type(from)))
		return wrap_lanes(em, to, emit_text(em, "((%s)%s)", c_vector(em, to, lanes), x));
	return NULL;
}
