/* Reads and stores: how the lanes of each access lie.
 *
 * An address is simplified under the facts of the place, then cut into terms `coefficient *
 * scalar`. Terms that change seldom stand first, so that the C compiler can keep their sum. In a
 * @vector loop the coefficient of the loop's variable decides: 0 is one element for all lanes, 1 is
 * a vector load or store, another number a strided access; what is no such sum is done lane by
 * lane.
 */
#include "codegen/c/emit.h"

#include <string.h>

/* ---- addresses ------------------------------------------------------------------------------- */

static void
add_term(Emit *em, Address *address, const Expr *atom, const Dim *factor)
{
	const Expr *inner = atom->op == EX_cast ? atom->arg[0] : atom;
	if (inner->op == EX_var && in_lanes(em) && find_var(em, inner->var)->kind == VAR_LANE) {
		const Dim *old = address->lane_factor;
		address->lane_factor = old ? dim_add(em->ctx, old, factor) : factor;
		return;
	}
	address->is_affine = address->is_affine && !emit_varies(em, atom);
	int depth = 0;
	for (ExprWalk walk = expr_walk(atom); expr_step(&walk);) {
		int its = walk.e->op == EX_var ? find_var(em, walk.e->var)->depth : 0;
		depth = its > depth ? its : depth;
	}
	for (int i = 0; i < address->count; i++)
		if (address->terms[i].atom == atom) {
			address->terms[i].factor = dim_add(em->ctx, address->terms[i].factor, factor);
			return;
		}
	if (address->count == MAX_TERMS)
		fail_as(FAIL_BUG, &em->kernel->loc, "kernel %s: an address of more than %d terms",
		        em->kernel->name, MAX_TERMS);
	address->terms[address->count++] = (Term){atom, factor, depth};
}

static void
add_terms(Emit *em, Address *address, const Expr *e, const Dim *factor)
{
	ExprCtx *ctx = em->ctx;
	int64_t value;
	const Dim *dim;
	if (constant_value(em, e, &value)) {
		address->rest = dim_add(ctx, address->rest, dim_mul_i64(ctx, factor, value));
	} else if (e->op == EX_add || e->op == EX_sub) {
		add_terms(em, address, e->arg[0], factor);
		add_terms(em, address, e->arg[1], e->op == EX_add ? factor : dim_mul_i64(ctx, factor, -1));
	} else if (e->op == EX_neg) {
		add_terms(em, address, e->arg[0], dim_mul_i64(ctx, factor, -1));
	} else if (e->op == EX_mul && constant_value(em, e->arg[0], &value)) {
		add_terms(em, address, e->arg[1], dim_mul_i64(ctx, factor, value));
	} else if (e->op == EX_mul && (dim = dim_from_expr(ctx, e->arg[1]))) {
		add_terms(em, address, e->arg[0], dim_mul(ctx, factor, dim));
	} else if (e->op == EX_mul && (dim = dim_from_expr(ctx, e->arg[0]))) {
		add_terms(em, address, e->arg[1], dim_mul(ctx, factor, dim));
	} else if ((dim = dim_from_expr(ctx, e))) {
		address->rest = dim_add(ctx, address->rest, dim_mul(ctx, factor, dim));
	} else {
		add_term(em, address, e, factor);
	}
}

void
make_address(Emit *em, Address *address, const Expr *flat)
{
	address->count = 0;
	address->rest = dim_const(em->ctx, 0);
	address->lane_factor = NULL;
	address->is_affine = true;
	add_terms(em, address, flat, dim_const(em->ctx, 1));
	if (address->lane_factor && dim_is(address->lane_factor, 0))
		address->lane_factor = NULL;
}

const char *
dim_text(Emit *em, const Dim *dim)
{
	int64_t value;
	if (dim_is_const(dim, &value))
		return c_number(em, DT_I64, (Scalar){.i64 = value});
	return emit_scalar(em, dim);
}

static const char *
term_text(Emit *em, const char *atom, const Dim *factor)
{
	if (dim_is(factor, 1))
		return atom;
	return emit_text(em, "%s * %s", dim_text(em, factor), atom);
}

/* The address of lane 0 as an expression, seldom changing terms first. */
const char *
address_text(Emit *em, const Address *address)
{
	const char *sum = NULL;
	int64_t value;
	const Dim *constant = address->rest;
	if (!dim_is_const(constant, &value))
		sum = emit_scalar(em, constant);
	for (int depth = 0; depth <= em->vars.count; depth++) {
		for (int i = 0; i < address->count; i++) {
			const Term *term = &address->terms[i];
			if (term->depth != depth || dim_is(term->factor, 0))
				continue;
			const char *atom = c_cast(em, DT_I64, 0, term->atom->type, emit_scalar(em, term->atom));
			const char *part = term_text(em, atom, term->factor);
			sum = sum ? emit_text(em, "%s + %s", sum, part) : part;
		}
	}
	if (!dim_is_const(constant, &value) || (value == 0 && sum))
		return sum;
	const char *rest = c_number(em, DT_I64, (Scalar){.i64 = value});
	return sum ? emit_text(em, "%s + %s", sum, rest) : rest;
}

bool
split_lanes(Emit *em, const Expr *e, int64_t *factor, const char **rest)
{
	Address address;
	make_address(em, &address, expr_simplify(em->facts, e));
	if (!address.is_affine || !address.lane_factor || !dim_is_const(address.lane_factor, factor))
		return false;
	*rest = address_text(em, &address);
	return true;
}

/* The number of the element, simplified; remembered per place, since loops are emitted several
 * times. */
const Expr *
flat_address(Emit *em, const Buffer *buffer, const Expr *const *index)
{
	ExprCtx *ctx = em->ctx;
	const Expr *flat = expr_i64(ctx, 0);
	for (int d = 0; d < buffer->tensor.rank; d++) {
		const Expr *i = expr_cast(ctx, DT_I64, index[d]);
		flat = d == 0 ? i : expr_add(ctx, expr_mul(ctx, flat, buffer->tensor.hi[d]), i);
	}
	int facts = facts_mark(em->facts);
	for (int i = 0; i < em->simplified.count; i++)
		if (em->simplified.data[i].from == flat && em->simplified.data[i].place == em->place &&
		    em->simplified.data[i].facts == facts)
			return em->simplified.data[i].to;
	const Expr *simple = expr_simplify(em->facts, flat);
	vec_push(em->arena, &em->simplified, (Simplified){flat, simple, em->place, facts});
	return simple;
}

/* ---- reads ----------------------------------------------------------------------------------- */

const char *
buffer_name(Emit *em, const Tensor *tensor)
{
	return map_find_ptr(&em->names, tensor);
}

static const char *
element_text(Emit *em, const Tensor *tensor, const char *address)
{
	const char *name = buffer_name(em, tensor);
	if (dtype_bits(tensor->type) < 8)
		return emit_text(em, "tw_load_code(%s, %s, %d)", name, address, dtype_bits(tensor->type));
	if (tensor->type == DT_BOOL)
		return emit_text(em, "(%s[%s] != 0)", name, address);
	return emit_text(em, "%s[%s]", name, address);
}

/* What the prelude calls elements of this type in memory, with the lanes of this loop. */
static const char *
memory_name(Emit *em, DType type)
{
	return emit_text(em, "%sx%d", dtype_name(memory_type(type)), em->vector->lanes);
}

static Val
read_lanes(Emit *em, const Expr *e, const Address *address)
{
	DType type = e->type;
	int bytes = dtype_bits(lane_type(type)) / 8;
	const char *name = buffer_name(em, e->tensor), *at = address_text(em, address);
	const char *mask = natural_mask(em, em->vector->mask, bytes), *call;
	const char *what = memory_name(em, type);
	if (dim_is(address->lane_factor, 1)) {
		call = mask ? emit_text(em, "tw_loadm_%s(%s + (%s), %s)", what, name, at, mask)
		            : emit_text(em, "tw_load_%s(%s + (%s))", what, name, at);
	} else {
		const char *step = dim_text(em, address->lane_factor);
		call = mask ? emit_text(em, "tw_gatherm_%s(%s + (%s), %s, %s)", what, name, at, step, mask)
		            : emit_text(em, "tw_gather_%s(%s + (%s), %s)", what, name, at, step);
	}
	if (type == DT_BOOL)
		call = full_mask(em, emit_text(em, "((tw_i32x%d)(%s != 0))", em->vector->lanes, call), 4);
	return (Val){call, VECTOR};
}

/* One element for all lanes, read only where a lane asks for it. */
static Val
read_uniform(Emit *em, const Expr *e, const Address *address)
{
	const char *element = element_text(em, e->tensor, address_text(em, address));
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
	bool differs = false;
	for (int d = 0; d < e->argc; d++)
		differs = differs || emit_varies(em, e->arg[d]);
	Address address;
	const Expr *flat = flat_address(em, (const Buffer *)e->tensor, e->arg);
	make_address(em, &address, flat);
	if (!differs || (address.is_affine && !address.lane_factor))
		return read_uniform(em, e, &address);
	if (address.is_affine && has_vector(em, e->type) && dtype_bits(e->type) >= 8)
		return read_lanes(em, e, &address);
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

/* The new contents of a place that holds `old`. */
const char *
stored_text(Emit *em, const Stmt *stmt, bool is_vector, const char *old)
{
	char name[24];
	DType type = stmt->value->type;
	if (may_contract(em, stmt)) {
		const Expr *const *factors = stmt->value->arg;
		if (!is_vector)
			return emit_text(em, "__builtin_fma%s(%s, %s, %s)", type == DT_F32 ? "f" : "",
			                 emit_scalar(em, factors[0]), emit_scalar(em, factors[1]), old);
		value_name(type, name, em->vector->lanes);
		const char *a = emit_vector(em, factors[0]);
		return emit_text(em, "tw_fma_%s(%s, %s, %s)", name, a, emit_vector(em, factors[1]), old);
	}
	const char *value = is_vector ? emit_vector(em, stmt->value) : emit_scalar(em, stmt->value);
	return stmt->op == STORE_SET ? value : combine_text(em, stmt->op, type, is_vector, old, value);
}

static void
store_scalar(Emit *em, const Stmt *stmt, const char *address)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	const char *old = element_text(em, tensor, address);
	const char *value = stored_text(em, stmt, false, old);
	const char *name = buffer_name(em, tensor);
	if (dtype_bits(tensor->type) < 8)
		emit_line(em, "tw_store_code(%s, %s, %d, %s);", name, address, dtype_bits(tensor->type),
		          value);
	else
		emit_line(em, "%s[%s] = %s;", name, address, value);
}

static void
store_lanes(Emit *em, const Stmt *stmt, const Address *address)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	DType type = tensor->type;
	int lanes = em->vector->lanes, bytes = dtype_bits(lane_type(type)) / 8;
	const char *name = buffer_name(em, tensor), *at = address_text(em, address);
	const char *mask = natural_mask(em, em->vector->mask, bytes), *what = memory_name(em, type);
	const char *old = NULL;
	if (stmt->op != STORE_SET)
		old = read_lanes(em, expr_read(em->ctx, tensor, stmt->index), address).text;
	const char *value = stored_text(em, stmt, true, old);
	if (type == DT_BOOL)
		value = emit_text(em, "((tw_u32x%d)%s & 1u)", lanes, natural_mask(em, value, 4));
	if (dim_is(address->lane_factor, 1) && mask)
		emit_line(em, "tw_storem_%s(%s + (%s), %s, %s);", what, name, at, value, mask);
	else if (dim_is(address->lane_factor, 1))
		emit_line(em, "tw_store_%s(%s + (%s), %s);", what, name, at, value);
	else if (mask)
		emit_line(em, "tw_scatterm_%s(%s + (%s), %s, %s, %s);", what, name, at,
		          dim_text(em, address->lane_factor), value, mask);
	else
		emit_line(em, "tw_scatter_%s(%s + (%s), %s, %s);", what, name, at,
		          dim_text(em, address->lane_factor), value);
}

static void
store_each_lane(Emit *em, const Stmt *stmt)
{
	Address address;
	int mark = enter_lanes(em);
	make_address(em, &address, flat_address(em, stmt->buffer, stmt->index));
	store_scalar(em, stmt, address_text(em, &address));
	leave_lanes(em, mark);
}

void
emit_store(Emit *em, const Stmt *stmt)
{
	int rank = stmt->buffer->tensor.rank;
	const Expr *exprs[ARRAY_MAX_RANK + 1] = {stmt->value};
	for (int d = 0; d < rank; d++)
		exprs[d + 1] = stmt->index[d];
	begin_statement(em, rank + 1, exprs);
	if (emit_fold(em, stmt))
		return;
	if (is_register(&stmt->buffer->tensor)) {
		store_reg(em, stmt);
		return;
	}
	Address address;
	make_address(em, &address, flat_address(em, stmt->buffer, stmt->index));
	if (!in_lanes(em)) {
		store_scalar(em, stmt, address_text(em, &address));
	} else if (address.is_affine && address.lane_factor && has_vector(em, stmt->value->type) &&
	           dtype_bits(stmt->value->type) >= 8) {
		store_lanes(em, stmt, &address);
	} else {
		store_each_lane(em, stmt);
	}
}
