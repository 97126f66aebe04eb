/* Scalars to C: one node at a time, shared nodes named, lazy operations with their reads inside.
 *
 * Expressions are graphs, so a node with several users becomes a named constant at its first use;
 * what is named inside an arm of a lazy operation is forgotten behind it.
 */
#include "codegen/c/emit.h"

#include <stdio.h>
#include <string.h>

void
emit_line(Emit *em, const char *format, ...)
{
	va_list args;
	for (int i = 0; i < em->depth; i++)
		buf_putc(em->out, '\t');
	va_start(args, format);
	buf_vprintf(em->out, format, args);
	va_end(args);
	buf_putc(em->out, '\n');
}

const char *
new_name(Emit *em, char kind)
{
	return emit_text(em, "%c%d", kind, em->next_name++);
}

const char *
name_of(const Emit *em, const void *owner)
{
	return map_find_ptr(&em->names, owner);
}

/* ---- statements' bookkeeping ----------------------------------------------------------------- */

void
begin_statement(Emit *em, int count, const Expr *const *exprs)
{
	em->memo.count = 0;
	em->uses = (Map){.arena = em->arena};
	em->varying = (Map){.arena = em->arena};
	for (int k = 0; k < count; k++)
		for (ExprWalk walk = expr_walk(exprs[k]); expr_step(&walk);)
			for (int i = 0; i < walk.e->argc; i++) {
				uintptr_t uses = (uintptr_t)map_find_ptr(&em->uses, walk.e->arg[i]);
				map_set_ptr(&em->uses, walk.e->arg[i], (void *)(uses + 1));
			}
}

bool
in_lanes(const Emit *em)
{
	return em->vector && !em->vector->lane;
}

bool
has_vector(const Emit *em, DType type)
{
	if (dtype_class(type) == DC_S)
		return false;
	return type == DT_BOOL || dtype_bits(lane_type(type)) / 8 <= em->vector->width;
}

bool
emit_varies(Emit *em, const Expr *e)
{
	if (!in_lanes(em))
		return false;
	uintptr_t known = (uintptr_t)map_find_ptr(&em->varying, e);
	if (known)
		return known == 2;
	bool is_varying = e->argc == 0 || e->op == EX_read ? lanes_differ(&em->lanes, e) : false;
	for (int i = 0; i < e->argc && !is_varying; i++)
		is_varying = emit_varies(em, e->arg[i]);
	map_set_ptr(&em->varying, e, (void *)(uintptr_t)(is_varying ? 2 : 1));
	return is_varying;
}

/* ---- masks ----------------------------------------------------------------------------------- */

static const char *
convert_mask(Emit *em, const char *mask, int from, int to)
{
	if (!mask || from == to)
		return mask;
	return emit_text(em, "__builtin_convertvector(%s, tw_i%dx%d)", mask, to, em->vector->lanes);
}

const char *
natural_mask(Emit *em, const char *mask, DType type)
{
	return convert_mask(em, mask, em->vector->width * 8, dtype_bits(lane_type(type)));
}

const char *
full_mask(Emit *em, const char *mask, DType type)
{
	return convert_mask(em, mask, dtype_bits(lane_type(type)), em->vector->width * 8);
}

/* ---- lane mode ------------------------------------------------------------------------------- */

int
enter_lanes(Emit *em)
{
	int mark = em->memo.count;
	const char *lane = new_name(em, 'l');
	emit_line(em, "for (int %s = 0; %s < %d; %s++) {", lane, lane, em->vector->lanes, lane);
	em->depth++;
	if (em->vector->mask) {
		emit_line(em, "if (!%s[%s])", em->vector->mask, lane);
		emit_line(em, "\tcontinue;");
	}
	em->vector->lane = lane;
	return mark;
}

void
leave_lanes(Emit *em, int mark)
{
	em->vector->lane = NULL;
	em->memo.count = mark;
	em->depth--;
	emit_line(em, "}");
}

const char *
lane_of(Emit *em, DType type, Val val)
{
	if (val.form == UNIFORM)
		return val.text;
	const char *element = emit_text(em, "%s[%s]", val.text, em->vector->lane);
	if (val.form == LANES)
		return element;
	if (type == DT_BOOL)
		return emit_text(em, "(%s != 0)", element);
	return dtype_bits(type) < 32 ? emit_text(em, "((%s)%s)", c_type(type), element) : element;
}

/* The type of an array that holds values of `type`, one per lane. */
static const char *
lane_array(Emit *em, DType type)
{
	if (type == DT_BOOL)
		return em->vector->width == 8 ? "tw_i64" : "tw_i32";
	return c_type(has_vector(em, type) ? lane_type(type) : type);
}

/* Compute e lane by lane. */
static Val
emit_lanes(Emit *em, const Expr *e)
{
	char name[24];
	const char *array = new_name(em, 't');
	emit_line(em, "%s %s[%d]%s;", lane_array(em, e->type), array, em->vector->lanes,
	          em->vector->mask ? " = {0}" : "");
	if (!em->vector->mask) /* gcc makes vectors of it, gathers too */
		emit_line(em, "_Pragma(\"omp simd\")");
	int mark = enter_lanes(em);
	const char *lane = em->vector->lane, *value = emit_scalar(em, e);
	emit_line(em, e->type == DT_BOOL ? "%s[%s] = -(%s);" : "%s[%s] = %s;", array, lane, value);
	leave_lanes(em, mark);
	if (!has_vector(em, e->type))
		return (Val){array, LANES};
	const char *vector = new_name(em, 't');
	DType type = e->type != DT_BOOL ? e->type : em->vector->width == 8 ? DT_I64 : DT_I32;
	value_name(type, name, em->vector->lanes);
	emit_line(em, "const %s %s = tw_load_%s(%s);", c_vector(em, e->type, em->vector->lanes), vector,
	          name, array);
	return (Val){vector, VECTOR};
}

/* ---- conversions of form --------------------------------------------------------------------- */

static const char *
as_vector(Emit *em, DType type, Val val)
{
	char name[24];
	if (val.form == VECTOR)
		return val.text;
	must(val.form == UNIFORM);
	bool is_mask = type == DT_BOOL;
	if (is_mask)
		type = em->vector->width == 8 ? DT_I64 : DT_I32;
	value_name(type, name, em->vector->lanes);
	return emit_text(em, is_mask ? "tw_set_%s(-(%s))" : "tw_set_%s(%s)", name, val.text);
}

const char *
emit_scalar(Emit *em, const Expr *e)
{
	Val val = emit_value(em, e);
	must(val.form == UNIFORM);
	return val.text;
}

const char *
emit_vector(Emit *em, const Expr *e)
{
	return as_vector(em, e->type, emit_value(em, e));
}

/* ---- lazy operations ------------------------------------------------------------------------- */

/* Emit into `arm` instead of the current text, assuming a condition. */
typedef struct Arm {
	Buf text;
	Buf *out;
	int memo, facts;
} Arm;

static void
enter_arm(Emit *em, Arm *arm, const Expr *condition, bool holds)
{
	arm->text = (Buf){.arena = em->arena};
	arm->out = em->out;
	arm->memo = em->memo.count;
	arm->facts = facts_mark(em->facts);
	if (condition)
		learn_condition(em, condition, holds);
	em->out = &arm->text;
	em->depth++;
}

static void
leave_arm(Emit *em, Arm *arm)
{
	em->out = arm->out;
	em->memo.count = arm->memo;
	em->depth--;
	facts_release(em->facts, arm->facts);
}

/* select, and, or of a scalar condition. Only an arm with reads has to wait for it. */
static Val
emit_choice(Emit *em, const Expr *e, const char *condition, bool is_vector)
{
	ExprCtx *ctx = em->ctx;
	const Expr *yes = e->op == EX_or ? expr_bool(ctx, true) : e->arg[1];
	const Expr *no = e->op == EX_select ? e->arg[2]
	                 : e->op == EX_or   ? e->arg[1]
	                                    : expr_bool(ctx, false);
	Arm arms[2];
	const char *values[2];
	for (int i = 0; i < 2; i++) {
		const Expr *arm = i ? no : yes;
		arms[i].text.size = 0;
		if (arm->has_read)
			enter_arm(em, &arms[i], e->arg[0], i == 0);
		values[i] = is_vector ? emit_vector(em, arm) : emit_scalar(em, arm);
		if (arm->has_read)
			leave_arm(em, &arms[i]);
	}
	if (!arms[0].text.size && !arms[1].text.size) {
		if (!is_vector && e->op != EX_select)
			return (Val){emit_text(em, "(%s %s %s)", condition, e->op == EX_and ? "&&" : "||",
			                       values[e->op == EX_or]),
			             UNIFORM};
		return (Val){emit_text(em, "(%s ? %s : %s)", condition, values[0], values[1]),
		             is_vector ? VECTOR : UNIFORM};
	}
	const char *name = new_name(em, 't');
	emit_line(em, "%s %s;",
	          is_vector ? c_vector(em, e->type, em->vector->lanes) : value_type(em, e), name);
	emit_line(em, "if (%s) {", condition);
	if (arms[0].text.size)
		buf_puts(em->out, buf_text(&arms[0].text));
	emit_line(em, "\t%s = %s;", name, values[0]);
	emit_line(em, "} else {");
	if (arms[1].text.size)
		buf_puts(em->out, buf_text(&arms[1].text));
	emit_line(em, "\t%s = %s;", name, values[1]);
	emit_line(em, "}");
	return (Val){name, is_vector ? VECTOR : UNIFORM};
}

/* The arm of a choice that differs between lanes: its reads happen in the lanes that take it. */
static const char *
emit_masked_arm(Emit *em, const Expr *e, const Expr *condition, const char *mask, bool holds)
{
	if (!e->has_read)
		return emit_vector(em, e);
	const char *outer = em->vector->mask;
	const char *chosen = holds ? mask : emit_text(em, "(~%s)", mask);
	Arm arm;
	enter_arm(em, &arm, condition, holds);
	em->depth--;
	em->out = arm.out; /* no block: masks do what the branch would */
	const char *both = new_name(em, 'm');
	emit_line(em, outer ? "const %s %s = %s & %s;" : "const %s %s = %s;",
	          c_vector(em, DT_BOOL, em->vector->lanes), both, chosen, outer);
	em->vector->mask = both;
	const char *value = emit_vector(em, e), *name = new_name(em, 't');
	emit_line(em, "const %s %s = %s;", c_vector(em, e->type, em->vector->lanes), name, value);
	em->vector->mask = outer;
	em->depth++;
	leave_arm(em, &arm);
	return name;
}

static Val
emit_lazy(Emit *em, const Expr *e)
{
	if (!emit_varies(em, e))
		return emit_choice(em, e, emit_scalar(em, e->arg[0]), false);
	if (!has_vector(em, e->type))
		return emit_lanes(em, e);
	if (!emit_varies(em, e->arg[0]))
		return emit_choice(em, e, emit_scalar(em, e->arg[0]), true);
	const char *test = emit_vector(em, e->arg[0]), *mask = new_name(em, 'm');
	emit_line(em, "const %s %s = %s;", c_vector(em, DT_BOOL, em->vector->lanes), mask, test);
	const char *args[3] = {mask, NULL, NULL};
	for (int i = 1; i < e->argc; i++)
		args[i] = emit_masked_arm(em, e->arg[i], e->arg[0], mask,
		                          e->op == EX_select ? i == 1 : e->op == EX_and);
	return (Val){v_operation(em, e, args), VECTOR};
}

/* ---- operations ------------------------------------------------------------------------------ */

static Val
emit_at(Emit *em, const Expr *e)
{
	if (emit_varies(em, e))
		return emit_lanes(em, e);
	const char *index = new_name(em, 't'), *wrapped = index;
	const char *value = c_cast(em, DT_I64, 0, e->arg[0]->type, emit_scalar(em, e->arg[0]));
	const char *extent = emit_scalar(em, e->arg[1]);
	emit_line(em, "const tw_i64 %s = %s;", index, value);
	if (e->flags & AT_WRAP)
		wrapped = emit_text(em, "(%s < 0 ? %s + %s : %s)", index, index, extent, index);
	if (e->flags & AT_CHECK)
		value = emit_text(em, "tw_at_check(%s, %s, %s, %s)", em->dialect->reporter, wrapped, extent,
		                  index);
	else
		value = emit_text(em, "tw_at(%s, %s)", wrapped, extent);
	return (Val){narrow_text(em, e, value), UNIFORM};
}

static const char *
bitcast_text(Emit *em, const Expr *e, const char *x)
{
	DType from = e->arg[0]->type, to = e->type;
	if (from == DT_F32 || from == DT_F64)
		x = emit_text(em, "tw_bits_%s(%s)", dtype_name(from), x);
	if (to == DT_F32 || to == DT_F64)
		return emit_text(em, "tw_float_%s(%s)", dtype_name(to), x);
	return emit_text(em, "((%s)%s)", c_type(to), x);
}

/* Floor division of numbers known not to be negative, by a positive one, is C's. */
static const char *
simple_division(Emit *em, const Expr *e, const char *const *args)
{
	int64_t lo, hi, low_divisor;
	if ((e->op != EX_floordiv && e->op != EX_floormod) || e->type != DT_I64)
		return NULL;
	if (!facts_range(em->facts, without_lets(em, e->arg[0]), &lo, &hi) || lo < 0 ||
	    !facts_range(em->facts, without_lets(em, e->arg[1]), &low_divisor, &hi) || low_divisor <= 0)
		return NULL;
	bool is_short = is_narrow(em, e->arg[0]) && is_narrow(em, e->arg[1]);
	return emit_text(em,
	                 is_short ? "((tw_i32)((tw_u32)%s %s (tw_u32)%s))"
	                          : "((tw_i64)((tw_u64)%s %s (tw_u64)%s))",
	                 args[0], e->op == EX_floordiv ? "/" : "%", args[1]);
}

static Val
emit_uniform(Emit *em, const Expr *e)
{
	const char *args[3];
	for (int i = 0; i < e->argc; i++)
		args[i] = emit_scalar(em, e->arg[i]);
	if (e->op == EX_cast)
		return (Val){narrow_text(em, e, c_cast(em, e->type, e->flags, e->arg[0]->type, args[0])),
		             UNIFORM};
	if (e->op == EX_bitcast)
		return (Val){bitcast_text(em, e, args[0]), UNIFORM};
	const char *narrow = simple_division(em, e, args);
	if (!narrow)
		narrow = narrow_operation(em, e, args);
	if (narrow)
		return (Val){narrow, UNIFORM};
	args[0] = first_operand(em, e, args[0]);
	return (Val){c_operation(em, e, args), UNIFORM};
}

/* One side of a comparison in lanes of 32 bits: lane * step, or the same for all; NULL when it is
 * neither. */
static const char *
test_side(Emit *em, const Expr *e)
{
	int64_t step;
	const Expr *by = lane_step(em, e);
	if (by && expr_as_i64(by, &step) && step < 1 << 20)
		return emit_text(em, "tw_iota_i32x%d() * %lld", em->vector->lanes, (long long)step);
	if (by || emit_varies(em, e))
		return NULL; /* what is the same is far from 0 where it is cut to 31 bits */
	return emit_text(em, "tw_set_i32x%d(tw_near(%s))", em->vector->lanes, sum_text(em, e));
}

/* Indices that Normalize has left to be compared in narrow lanes. */
static const char *
emit_lane_test(Emit *em, const Expr *e)
{
	if (e->type != DT_BOOL || e->argc != 2 || e->arg[0]->type != DT_I64 || em->vector->width != 4)
		return NULL;
	const char *left = test_side(em, e->arg[0]);
	const char *right = left ? test_side(em, e->arg[1]) : NULL;
	return right ? binary_text(em, e->op, DT_I32, true, left, right) : NULL;
}

static Val
emit_varying(Emit *em, const Expr *e)
{
	const char *args[3];
	const char *test = emit_lane_test(em, e);
	if (test)
		return (Val){test, VECTOR};
	bool is_vector = has_vector(em, e->type) && e->op != EX_bitcast;
	for (int i = 0; i < e->argc; i++)
		is_vector = is_vector && has_vector(em, e->arg[i]->type);
	if (!is_vector)
		return emit_lanes(em, e);
	for (int i = 0; i < e->argc; i++)
		args[i] = emit_vector(em, e->arg[i]);
	const char *result = e->op == EX_cast ? v_cast(em, e->type, e->flags, e->arg[0]->type, args[0])
	                                      : v_operation(em, e, args);
	return result ? (Val){result, VECTOR} : emit_lanes(em, e);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static Val
emit_var(Emit *em, const Expr *e)
{
	if (!em->vector || e->var != em->vector->loop->var) {
		Form form = (Form)(uintptr_t)map_find_ptr(&em->forms, e->var);
		Val val = {name_of(em, e->var), form};
		return em->vector && em->vector->lane ? (Val){lane_of(em, e->type, val), UNIFORM} : val;
	}
	if (em->vector->lane)
		return (Val){emit_text(em, "((tw_i64)%s)", em->vector->lane), UNIFORM};
	if (!has_vector(em, DT_I64))
		return emit_lanes(em, e);
	return (Val){emit_text(em, "tw_iota_i64x%d()", em->vector->lanes), VECTOR};
}

static Val
emit_node(Emit *em, const Expr *e)
{
	if (e->op == EX_select || e->op == EX_and || e->op == EX_or)
		return emit_lazy(em, e);
	if (e->op == EX_read) {
		Val val = emit_read(em, e);
		return val.text ? val : emit_lanes(em, e);
	}
	if (e->op == EX_at)
		return emit_at(em, e);
	return emit_varies(em, e) ? emit_varying(em, e) : emit_uniform(em, e);
}

static bool
is_name(const char *word)
{
	for (; *word; word++)
		if (strchr("+-*/ (?[.<>", *word))
			return false;
	return true;
}

/* Give a value a name when it has several users or can only be reached by one. An index of one
 * operation is as short as its name. */
static Val
keep(Emit *em, const Expr *e, Val val)
{
	uintptr_t uses = (uintptr_t)map_find_ptr(&em->uses, e);
	bool is_short = val.form == UNIFORM && e->type == DT_I64 && !e->has_read && expr_cost(e) < 2;
	if (val.form != LANES && (uses < 2 || is_short))
		return val;
	if (val.form != LANES && !is_name(val.text)) {
		const char *name = new_name(em, 't');
		const char *type =
			val.form == VECTOR ? c_vector(em, e->type, em->vector->lanes) : value_type(em, e);
		emit_line(em, "const %s %s = %s;", type, name, val.text);
		val.text = name;
	}
	vec_push(em->arena, &em->memo, (Memo){e, val});
	return val;
}

Val
emit_value(Emit *em, const Expr *e)
{
	if (e->op == EX_const)
		return (Val){c_number(em, e->type, e->value), UNIFORM};
	if (e->op == EX_symbol)
		return (Val){narrow_text(em, e, name_of(em, e->symbol)), UNIFORM};
	if (e->op == EX_var)
		return emit_var(em, e);
	for (int i = em->memo.count - 1; i >= 0; i--) {
		if (em->memo.data[i].e != e)
			continue;
		Val val = em->memo.data[i].val;
		if (em->vector && em->vector->lane)
			return (Val){lane_of(em, e->type, val), UNIFORM};
		return val;
	}
	return keep(em, e, emit_node(em, e));
}
