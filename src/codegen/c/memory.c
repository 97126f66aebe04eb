/* Reads and stores: how the lanes of each access lie.
 *
 * An index is printed as it stands. In a vector it is the same for all lanes, or it is base + lane
 * (a vector load or store) or base + lane * step (a strided access); what is no such sum is done
 * lane by lane.
 */
#include "codegen/c/emit.h"

/* ---- addresses ------------------------------------------------------------------------------- */

/* A sum of products as it stands, at each of its uses: a C compiler finds what these share. */
const char *
sum_text(Emit *em, const Expr *e)
{
	bool is_product = e->op == EX_mul, is_sum = e->op == EX_add || e->op == EX_sub;
	if (!is_sum && !is_product)
		return emit_scalar(em, e);
	const Expr *a = e->arg[0], *b = e->arg[1];
	const char *left = first_operand(em, e, is_product ? emit_scalar(em, a) : sum_text(em, a));
	bool is_inner = is_sum && (b->op == EX_add || b->op == EX_sub || b->op == EX_mul);
	const char *right = is_inner ? sum_text(em, b) : emit_scalar(em, b);
	if (is_inner && b->op != EX_mul)
		right = emit_text(em, "(%s)", right);
	return emit_text(em, "%s %c %s", left, is_product ? '*' : e->op == EX_add ? '+' : '-', right);
}

const Expr *
lane_step(Emit *em, const Expr *e)
{
	const Expr *lane = e->op == EX_mul ? e->arg[0] : e;
	if (!in_lanes(em) || lane->op != EX_var || lane->var != em->vector->loop->var)
		return NULL;
	const Expr *step = e->op == EX_mul ? e->arg[1] : expr_i64(em->ctx, 1);
	return emit_varies(em, step) ? NULL : step;
}

/* An index as base + lane * step, which is how Normalize leaves it; false when it is no such sum.
 */
typedef struct Ramp {
	const Expr *base, *step;
} Ramp;

static bool
is_ramp(Emit *em, const Expr *index, Ramp *ramp)
{
	const Expr *last = index->op == EX_add ? index->arg[1] : index;
	ramp->base = index->op == EX_add ? index->arg[0] : expr_i64(em->ctx, 0);
	ramp->step = lane_step(em, last);
	return ramp->step && !emit_varies(em, ramp->base);
}

/* ---- reads ----------------------------------------------------------------------------------- */

static const char *
element_text(Emit *em, const Tensor *tensor, const char *address)
{
	const char *name = name_of(em, tensor);
	if (dtype_bits(tensor->type) < 8)
		return emit_text(em, "tw_load_code(%s, %s, %d)", name, address, dtype_bits(tensor->type));
	if (tensor->type == DT_BOOL)
		return emit_text(em, "(%s[%s] != 0)", name, address);
	return emit_text(em, "%s[%s]", name, address);
}

/* The prelude's call for lanes in memory: load or store, at a step gather or scatter; with a mask
 * where not all lanes count. value: what is to be stored, or NULL. */
static const char *
memory_call(Emit *em, const Tensor *tensor, const Ramp *ramp, const char *value)
{
	Buf call = {.arena = em->arena};
	bool is_row = expr_is_one(ramp->step);
	const char *mask = natural_mask(em, em->vector->mask, tensor->type);
	const char *verb = value ? (is_row ? "store" : "scatter") : is_row ? "load" : "gather";
	buf_printf(&call, "tw_%s%s_%sx%d(%s + (%s)", verb, mask ? "m" : "",
	           dtype_name(memory_type(tensor->type)), em->vector->lanes, name_of(em, tensor),
	           sum_text(em, ramp->base));
	const char *args[] = {is_row ? NULL : emit_scalar(em, ramp->step), value, mask};
	for (size_t i = 0; i < countof(args); i++)
		if (args[i])
			buf_printf(&call, ", %s", args[i]);
	buf_putc(&call, ')');
	return buf_text(&call);
}

static Val
read_lanes(Emit *em, const Expr *e, const Ramp *ramp)
{
	const char *call = memory_call(em, e->tensor, ramp, NULL);
	if (e->type == DT_BOOL)
		call =
			full_mask(em, emit_text(em, "((tw_i32x%d)(%s != 0))", em->vector->lanes, call), DT_I32);
	return (Val){call, VECTOR};
}

/* One element for all lanes, read only where a lane asks for it. */
static Val
read_uniform(Emit *em, const Expr *e)
{
	const char *element = element_text(em, e->tensor, sum_text(em, e->arg[0]));
	bool is_guarded = in_lanes(em) && em->vector->mask && em->vector->mask != em->vector->live;
	if (is_guarded)
		element = emit_text(em, "(tw_any_i%dx%d(%s) ? %s : 0)", em->vector->width * 8,
		                    em->vector->lanes, em->vector->mask, element);
	return (Val){element, UNIFORM};
}

Val
emit_read(Emit *em, const Expr *e)
{
	if (is_register(e->tensor))
		return read_reg(em, e);
	Ramp ramp;
	if (!emit_varies(em, e->arg[0]))
		return read_uniform(em, e);
	if (has_vector(em, e->type) && dtype_bits(e->type) >= 8 && is_ramp(em, e->arg[0], &ramp))
		return read_lanes(em, e, &ramp);
	return (Val){NULL, LANES}; /* the caller goes lane by lane */
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* a*b + c in one rounding, where the machine has it and the sum is free to use it. */
static bool
may_contract(const Emit *em, const Stmt *stmt)
{
	return stmt->op == REDUCE_sum && stmt->value->op == EX_mul && em->target->device->has_fma &&
	       (stmt->value->type == DT_F32 || stmt->value->type == DT_F64);
}

/* A factor that 16 bits hold, as bytes less a zero point are. */
static bool
is_short(Emit *em, const Expr *factor, bool *is_negative)
{
	int64_t least, most;
	bool is_known = facts_range(em->facts, without_lets(em, factor), &least, &most);
	*is_negative = least < 0;
	return is_known && least >= INT16_MIN && most <= INT16_MAX;
}

/* old + a * b of two such factors, of which one that is not negative, or is the same for all lanes,
 * stands first; NULL: they are none. */
static const char *
short_sum(Emit *em, const Expr *product, const char *old)
{
	bool is_negative[2];
	if (product->op != EX_mul || product->type != DT_I32 || em->vector->lanes < 4)
		return NULL;
	for (int k = 0; k < 2; k++)
		if (!is_short(em, product->arg[k], &is_negative[k]))
			return NULL;
	bool is_signed = is_negative[0] && is_negative[1];
	int first = is_signed ? !emit_varies(em, product->arg[1]) : is_negative[0];
	const char *a = emit_vector(em, product->arg[first]);
	return emit_text(em, "tw_short%s_add_i32x%d(%s, %s, %s)", is_signed ? "ss" : "us",
	                 em->vector->lanes, old, a, emit_vector(em, product->arg[!first]));
}

/* The new contents of a place that holds `old`. */
const char *
stored_text(Emit *em, const Stmt *stmt, bool is_vector, const char *old)
{
	char name[24];
	DType type = stmt->value->type;
	if (may_contract(em, stmt)) {
		const Expr *const *factors = stmt->value->arg;
		if (!is_vector)
			return fma_text(em, type, emit_scalar(em, factors[0]), emit_scalar(em, factors[1]),
			                old);
		value_name(type, name, em->vector->lanes);
		const char *a = emit_vector(em, factors[0]);
		return emit_text(em, "tw_fma_%s(%s, %s, %s)", name, a, emit_vector(em, factors[1]), old);
	}
	const Expr *sum = stmt->value;
	if (is_vector && stmt->op == REDUCE_sum && scalar_is_dot(sum->op) && emit_varies(em, sum)) {
		const char *a = emit_vector(em, sum->arg[0]), *b = emit_vector(em, sum->arg[1]);
		return emit_text(em, "tw_%s_add_u32x%d(%s, %s, %s)", scalar_info(sum->op)->name,
		                 em->vector->lanes, old, a, b);
	}
	const char *shorts =
		is_vector && stmt->op == REDUCE_sum ? short_sum(em, stmt->value, old) : NULL;
	if (shorts)
		return shorts;
	const char *value = is_vector ? emit_vector(em, stmt->value) : emit_scalar(em, stmt->value);
	return stmt->op == STORE_SET
	           ? value
	           : binary_text(em, reduce_fold(stmt->op), type, is_vector, old, value);
}

static void
store_scalar(Emit *em, const Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	const char *address = sum_text(em, stmt->index[0]);
	const char *old = element_text(em, tensor, address);
	const char *value = stored_text(em, stmt, false, old);
	const char *name = name_of(em, tensor);
	if (dtype_bits(tensor->type) < 8)
		emit_line(em, "tw_store_code(%s, %s, %d, %s);", name, address, dtype_bits(tensor->type),
		          value);
	else
		emit_line(em, "%s[%s] = %s;", name, address, value);
}

static void
store_lanes(Emit *em, const Stmt *stmt, const Ramp *ramp)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	const char *old = NULL;
	if (stmt->op != STORE_SET)
		old = read_lanes(em, expr_read(em->ctx, tensor, stmt->index), ramp).text;
	const char *value = stored_text(em, stmt, true, old);
	if (tensor->type == DT_BOOL)
		value = emit_text(em, "((tw_u32x%d)%s & 1u)", em->vector->lanes,
		                  natural_mask(em, value, DT_I32));
	emit_line(em, "%s;", memory_call(em, tensor, ramp, value));
}

void
emit_store(Emit *em, const Stmt *stmt)
{
	const Expr *index = stmt->buffer->tensor.rank ? stmt->index[0] : NULL;
	begin_statement(em, 2, (const Expr *[]){stmt->value, index});
	if (emit_fold(em, stmt))
		return;
	if (is_register(&stmt->buffer->tensor)) {
		store_reg(em, stmt);
		return;
	}
	Ramp ramp;
	DType type = stmt->value->type;
	if (!in_lanes(em)) {
		store_scalar(em, stmt);
	} else if (has_vector(em, type) && dtype_bits(type) >= 8 &&
	           is_ramp(em, stmt->index[0], &ramp)) {
		store_lanes(em, stmt, &ramp);
	} else {
		int mark = enter_lanes(em);
		store_scalar(em, stmt);
		leave_lanes(em, mark);
	}
}
