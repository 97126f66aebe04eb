/* Reads and stores: the flat address of each access, and how its lanes lie.
 *
 * The address sum of index * stride is simplified under the facts of the place, then cut into terms
 * `coefficient * scalar`. Terms that change seldom stand first, so that the C compiler can keep their
 * sum. In a @vector loop the coefficient of the loop's variable decides: 0 is one element for all
 * lanes, 1 is a vector load or store, another number a strided access; what is no such sum is done
 * lane by lane.
 *
 * Small register buffers whose every index is a constant once loops are unrolled become C locals,
 * one per element, or one per vector of elements (what keeps accumulators in registers). The first
 * walk over the kernel sees how they are used, the second writes them.
 */
#include "codegen/emit.h"

#include <string.h>

enum { MAX_TERMS = 64, MAX_LOCALS = 512 };

typedef struct Term {
	const Expr *atom;
	const Dim *factor;
	int depth; /* of the innermost variable in it */
} Term;

typedef struct Address {
	int count;
	Term terms[MAX_TERMS];
	const Dim *rest;       /* constants and symbols */
	const Dim *lane_factor; /* coefficient of the lane variable; NULL: 0 */
	bool is_affine;        /* no other term differs between lanes */
} Address;

/* ---- addresses ------------------------------------------------------------------------------- */

typedef struct Deepest {
	Emit *em;
	int depth;
} Deepest;

static void
find_deepest(const Expr *e, void *arg)
{
	Deepest *deepest = arg;
	if (e->op != EX_var)
		return;
	int depth = find_var(deepest->em, e->var)->depth;
	if (depth > deepest->depth)
		deepest->depth = depth;
}

static void
add_term(Emit *em, Address *address, const Expr *atom, const Dim *factor)
{
	const Expr *inner = atom->op == EX_cast ? atom->arg[0] : atom;
	if (inner->op == EX_var && in_lanes(em) && find_var(em, inner->var)->kind == VAR_LANE) {
		const Dim *old = address->lane_factor;
		address->lane_factor = old ? dim_add(em->ctx, old, factor) : factor;
		return;
	}
	address->is_affine = address->is_affine && !varies(em, atom);
	Deepest deepest = {em, 0};
	expr_visit(atom, find_deepest, &deepest);
	for (int i = 0; i < address->count; i++)
		if (address->terms[i].atom == atom) {
			address->terms[i].factor = dim_add(em->ctx, address->terms[i].factor, factor);
			return;
		}
	if (address->count == MAX_TERMS)
		fail_as(FAIL_BUG, &em->kernel->loc, "kernel %s: an address of more than %d terms",
		        em->kernel->name, MAX_TERMS);
	address->terms[address->count++] = (Term){atom, factor, deepest.depth};
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

static void
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

static const char *
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
	return text(em, "%s * %s", dim_text(em, factor), atom);
}

/* The address of lane 0 as an expression, seldom changing terms first. */
static const char *
address_text(Emit *em, const Address *address)
{
	const char *sum = NULL;
	const VarInfo *lane = NULL;
	for (int i = 0; i < em->vars.count && address->lane_factor; i++)
		if (em->vars.data[i].kind == VAR_LANE)
			lane = &em->vars.data[i];
	int64_t value;
	if (!dim_is_const(address->rest, &value))
		sum = emit_scalar(em, address->rest);
	for (int depth = 0; depth <= em->vars.count; depth++) {
		for (int i = 0; i < address->count; i++) {
			const Term *term = &address->terms[i];
			if (term->depth != depth || dim_is(term->factor, 0))
				continue;
			const char *atom = c_cast(em, DT_I64, 0, term->atom->type, emit_scalar(em, term->atom));
			const char *part = term_text(em, atom, term->factor);
			sum = sum ? text(em, "%s + %s", sum, part) : part;
		}
	}
	if (lane) {
		const char *part = term_text(em, lane->val.text, address->lane_factor);
		sum = sum ? text(em, "%s + %s", sum, part) : part;
	}
	if (!dim_is_const(address->rest, &value) || (value == 0 && sum))
		return sum;
	const char *rest = c_number(em, DT_I64, (Scalar){.i64 = value});
	return sum ? text(em, "%s + %s", sum, rest) : rest;
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

/* Elements per step along dim d. */
static const Expr *
stride_of(Emit *em, const Buffer *buffer, int d)
{
	if (!buffer->stride || buffer->scope != SCOPE_PARAM) {
		int behind = buffer->tensor.rank - d - 1;
		return dim_product(em->ctx, behind, buffer->tensor.hi + d + 1);
	}
	if (buffer->stride[d])
		return buffer->stride[d];
	for (int i = 0; i < em->strides.count; i++)
		if (em->strides.data[i].buffer == buffer && em->strides.data[i].dim == d)
			return em->strides.data[i].value;
	return expr_i64(em->ctx, 0); /* not reached: kernel.c made one for each */
}

/* The flat address, simplified; remembered per place, since loops are emitted several times. */
static const Expr *
flat_address(Emit *em, const Buffer *buffer, const Expr *const *index)
{
	ExprCtx *ctx = em->ctx;
	const Expr *flat = expr_i64(ctx, 0);
	for (int d = 0; d < buffer->tensor.rank; d++) {
		const Expr *i = expr_cast(ctx, DT_I64, index[d]);
		const Expr *step = stride_of(em, buffer, d);
		const Expr *part = expr_is_one(step) ? i : expr_mul(ctx, i, step);
		flat = expr_is_zero(flat) ? part : expr_add(ctx, flat, part);
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

/* ---- registers ------------------------------------------------------------------------------- */

RegInfo *
find_reg(Emit *em, const Tensor *tensor)
{
	for (int i = em->regs.count - 1; i >= 0; i--)
		if (&em->regs.data[i]->buffer->tensor == tensor)
			return em->regs.data[i];
	return NULL;
}

/* Lanes of the vectors a buffer is kept in: 0 for scalars. */
static int
reg_lanes(const RegInfo *reg)
{
	bool is_clean = !reg->seen_scalar && !reg->seen_odd;
	return reg->alloc_lanes ? reg->alloc_lanes : is_clean ? reg->seen_lanes : 0;
}

/* Whether it lives in C locals; else it is an array in memory like any other. */
static bool
is_local(const RegInfo *reg)
{
	return reg->alloc_lanes > 0 || reg->seen_lanes == 0 || reg_lanes(reg) > 0;
}

static bool
is_split(const RegInfo *reg)
{
	return !reg->seen_variable && reg->count <= MAX_LOCALS;
}

/* How one access to a register buffer lies: the element, or the vector of elements. */
typedef struct RegAccess {
	const char *place; /* an lvalue */
	bool is_vector;    /* a vector along the last dim, or an element that is one itself */
} RegAccess;

/* The position of an access with all indices constant: flat; whether a vector along the last dim. */
static bool
constant_position(Emit *em, const RegInfo *reg, const Expr *const *index, int64_t *flat, bool *is_row)
{
	const Tensor *tensor = &reg->buffer->tensor;
	int64_t extent, value;
	*flat = 0;
	*is_row = false;
	for (int d = 0; d < tensor->rank; d++) {
		dim_is_const(tensor->hi[d], &extent);
		bool is_last = d == tensor->rank - 1;
		if (is_last && reg->seen_lanes > 0 && reg_lanes(reg) > 0 && !reg->alloc_lanes)
			extent = (extent + reg->seen_lanes - 1) / reg->seen_lanes * reg->seen_lanes;
		if (is_last && varies(em, index[d])) {
			Address address;
			make_address(em, &address, index[d]);
			const VarInfo *lane = NULL;
			for (int i = 0; i < em->vars.count; i++)
				if (em->vars.data[i].kind == VAR_LANE)
					lane = &em->vars.data[i];
			if (!address.is_affine || address.count > 0 || !dim_is(address.lane_factor, 1) ||
			    !lane->is_fixed || !dim_is_const(address.rest, &value))
				return false;
			value += lane->value;
			*is_row = true;
		} else if (!constant_value(em, index[d], &value)) {
			return false;
		}
		*flat = *flat * extent + value;
	}
	return true;
}

/* The first walk: note how the buffer is used. */
static void
note_access(Emit *em, RegInfo *reg, const Expr *const *index)
{
	int64_t flat;
	bool is_row, differs = false;
	bool is_constant = constant_position(em, reg, index, &flat, &is_row);
	for (int d = 0; d < reg->buffer->tensor.rank; d++)
		differs = differs || varies(em, index[d]);
	if (!is_constant)
		reg->seen_variable = true;
	if (reg->alloc_lanes)
		return;
	if (!differs) {
		reg->seen_scalar = true;
		return;
	}
	int lanes = em->vector->lanes;
	if (reg->seen_lanes > 0 && reg->seen_lanes != lanes)
		reg->seen_odd = true;
	reg->seen_lanes = lanes;
	if (!is_constant || flat % lanes != 0 || !has_vector(em, reg->buffer->tensor.type) ||
	    reg->buffer->tensor.type == DT_BOOL)
		reg->seen_odd = true;
}

static const char *
element_name(Emit *em, const RegInfo *reg, int64_t element)
{
	if (is_split(reg))
		return reg->buffer->tensor.rank ? text(em, "%s_%lld", reg->name, (long long)element)
		                                : reg->name;
	return text(em, "%s[%lld]", reg->name, (long long)element);
}

/* The lvalue of an access; is_vector where the element is a vector in this context. */
static RegAccess
reg_access(Emit *em, const RegInfo *reg, const Expr *const *index)
{
	int64_t flat;
	bool is_row;
	const char *place;
	if (constant_position(em, reg, index, &flat, &is_row)) {
		int lanes = is_row ? em->vector->lanes : 1;
		place = element_name(em, reg, flat / lanes);
	} else {
		Address address;
		is_row = false;
		make_address(em, &address, flat_address(em, reg->buffer, index));
		place = text(em, "%s[%s]", reg->name, address_text(em, &address));
	}
	return (RegAccess){place, is_row || reg->alloc_lanes > 0};
}

static Val
read_reg(Emit *em, const RegInfo *reg, const Expr *e)
{
	for (int d = 0; d < e->argc && reg->alloc_lanes; d++)
		if (varies(em, e->arg[d]))
			em->has_failed_vector = true; /* each lane another element */
	RegAccess access = reg_access(em, reg, e->arg);
	if (!access.is_vector)
		return (Val){access.place, UNIFORM};
	bool is_whole = dtype_class(e->type) != DC_S && has_vector(em, e->type);
	Val val = {access.place, is_whole ? VECTOR : LANES};
	return em->vector->lane ? (Val){lane_of(em, e->type, val), UNIFORM} : val;
}

/* ---- reads ----------------------------------------------------------------------------------- */

static const char *
buffer_name(Emit *em, const Tensor *tensor)
{
	const RegInfo *reg = find_reg(em, tensor);
	return reg ? reg->name : map_find_ptr(&em->names, tensor);
}

static const char *
element_text(Emit *em, const Tensor *tensor, const char *address)
{
	const char *name = buffer_name(em, tensor);
	if (dtype_bits(tensor->type) < 8)
		return text(em, "tw_load_code(%s, %s, %d)", name, address, dtype_bits(tensor->type));
	if (tensor->type == DT_BOOL)
		return text(em, "(%s[%s] != 0)", name, address);
	return text(em, "%s[%s]", name, address);
}

/* What the prelude calls elements of this type in memory, with the lanes of this loop. */
static const char *
memory_name(Emit *em, DType type)
{
	return text(em, "%sx%d", dtype_name(memory_type(type)), em->vector->lanes);
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
		call = mask ? text(em, "tw_loadm_%s(%s + (%s), %s)", what, name, at, mask)
		            : text(em, "tw_load_%s(%s + (%s))", what, name, at);
	} else {
		const char *step = dim_text(em, address->lane_factor);
		call = mask ? text(em, "tw_gatherm_%s(%s + (%s), %s, %s)", what, name, at, step, mask)
		            : text(em, "tw_gather_%s(%s + (%s), %s)", what, name, at, step);
	}
	if (type == DT_BOOL)
		call = full_mask(em, text(em, "((tw_i32x%d)(%s != 0))", em->vector->lanes, call), 4);
	return (Val){call, VECTOR};
}

/* One element for all lanes, read only where a lane asks for it. */
static Val
read_uniform(Emit *em, const Expr *e, const Address *address)
{
	const char *element = element_text(em, e->tensor, address_text(em, address));
	bool is_guarded = in_lanes(em) && em->vector->mask && em->vector->mask != em->vector->live;
	if (is_guarded)
		element = text(em, "(TW_ANY(i%dx%d, %d, %s) ? %s : 0)", em->vector->width * 8,
		               em->vector->lanes, em->vector->lanes, em->vector->mask, element);
	return (Val){element, UNIFORM};
}

Val
emit_read(Emit *em, const Expr *e)
{
	RegInfo *reg = find_reg(em, e->tensor);
	if (reg && em->walk == 1)
		note_access(em, reg, e->arg);
	if (reg && is_local(reg) && (em->walk == 2 || reg->alloc_lanes || !in_lanes(em)))
		return read_reg(em, reg, e);
	bool differs = false;
	for (int d = 0; d < e->argc; d++)
		differs = differs || varies(em, e->arg[d]);
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
			return text(em, "__builtin_fma%s(%s, %s, %s)", type == DT_F32 ? "f" : "",
			            emit_scalar(em, factors[0]), emit_scalar(em, factors[1]), old);
		value_name(type, name, em->vector->lanes);
		const char *a = emit_vector(em, factors[0]);
		return text(em, "tw_fma_%s(%s, %s, %s)", name, a, emit_vector(em, factors[1]), old);
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
		line(em, "tw_store_code(%s, %s, %d, %s);", name, address, dtype_bits(tensor->type), value);
	else
		line(em, "%s[%s] = %s;", name, address, value);
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
		value = text(em, "((tw_u32x%d)%s & 1u)", lanes, natural_mask(em, value, 4));
	if (dim_is(address->lane_factor, 1) && mask)
		line(em, "tw_storem_%s(%s + (%s), %s, %s);", what, name, at, value, mask);
	else if (dim_is(address->lane_factor, 1))
		line(em, "tw_store_%s(%s + (%s), %s);", what, name, at, value);
	else if (mask)
		line(em, "tw_scatterm_%s(%s + (%s), %s, %s, %s);", what, name, at,
		     dim_text(em, address->lane_factor), value, mask);
	else
		line(em, "tw_scatter_%s(%s + (%s), %s, %s);", what, name, at,
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

static void
store_reg(Emit *em, const RegInfo *reg, const Stmt *stmt)
{
	char name[24];
	DType type = reg->buffer->tensor.type;
	for (int d = 0; d < reg->buffer->tensor.rank && reg->alloc_lanes; d++)
		if (varies(em, stmt->index[d]))
			em->has_failed_vector = true;
	RegAccess access = reg_access(em, reg, stmt->index);
	if (!access.is_vector) {
		line(em, "%s = %s;", access.place, stored_text(em, stmt, false, access.place));
		return;
	}
	if (!has_vector(em, type) || dtype_class(type) == DC_S) {
		int mark = enter_lanes(em);
		const char *place = text(em, "%s[%s]", access.place, em->vector->lane);
		line(em, "%s = %s;", place, stored_text(em, stmt, false, place));
		leave_lanes(em, mark);
		return;
	}
	const char *value = stored_text(em, stmt, true, access.place);
	const char *mask = em->vector->mask;
	if (mask && mask != reg->alloc_mask && mask != em->vector->tail && type == DT_BOOL)
		value = text(em, "((%s & %s) | (%s & ~%s))", value, mask, access.place, mask);
	else if (mask && mask != reg->alloc_mask && mask != em->vector->tail)
		value = text(em, "tw_pick_%s(%s, %s, %s)",
		             (value_name(type, name, em->vector->lanes), name),
		             natural_mask(em, mask, dtype_bits(lane_type(type)) / 8), value, access.place);
	line(em, "%s = %s;", access.place, value);
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
	RegInfo *reg = find_reg(em, &stmt->buffer->tensor);
	if (reg && em->walk == 1)
		note_access(em, reg, stmt->index);
	if (reg && is_local(reg) && (em->walk == 2 || reg->alloc_lanes || !in_lanes(em))) {
		store_reg(em, reg, stmt);
		return;
	}
	Address address;
	make_address(em, &address, flat_address(em, stmt->buffer, stmt->index));
	if (!in_lanes(em)) {
		store_scalar(em, stmt, address_text(em, &address));
	} else if (address.is_affine && !address.lane_factor) {
		em->has_failed_vector = true; /* one place for all lanes, and no reduction */
	} else if (address.is_affine && has_vector(em, stmt->value->type) &&
	           dtype_bits(stmt->value->type) >= 8) {
		store_lanes(em, stmt, &address);
	} else {
		store_each_lane(em, stmt);
	}
}

/* ---- allocs ---------------------------------------------------------------------------------- */

/* How many C objects hold the buffer, and of what type. */
static int64_t
reg_objects(Emit *em, const RegInfo *reg, const char **type)
{
	const Tensor *tensor = &reg->buffer->tensor;
	int lanes = reg_lanes(reg);
	*type = c_type(tensor->type);
	if (lanes == 0)
		return reg->count;
	bool is_whole = !em->vector || has_vector(em, tensor->type);
	if (is_whole)
		*type = c_vector(em, tensor->type, lanes);
	if (reg->alloc_lanes)
		return reg->count;
	int64_t last, rows = 1;
	dim_is_const(tensor->hi[tensor->rank - 1], &last);
	rows = last > 0 ? reg->count / last : 0;
	return rows * ((last + lanes - 1) / lanes);
}

static const char *
initial_text(Emit *em, const RegInfo *reg, const Stmt *stmt)
{
	char name[24];
	DType type = reg->buffer->tensor.type;
	if (!stmt->value)
		return NULL;
	int lanes = reg_lanes(reg);
	if (reg->alloc_lanes && has_vector(em, type) && dtype_class(type) != DC_S)
		return emit_vector(em, stmt->value);
	if (lanes == 0 || reg->alloc_lanes)
		return emit_scalar(em, stmt->value);
	value_name(type, name, lanes);
	return text(em, "tw_set_%s(%s)", name, emit_scalar(em, stmt->value));
}

static void
alloc_array(Emit *em, const RegInfo *reg, const char *type, int64_t objects, const char *initial,
            bool is_per_lane)
{
	const char *lanes = is_per_lane ? text(em, "[%d]", reg->alloc_lanes) : "";
	line(em, "%s %s[%lld]%s __attribute__((aligned(64)));", type, reg->name, (long long)objects,
	     lanes);
	if (!initial)
		return;
	const char *i = new_name(em, 'l');
	line(em, "for (int %s = 0; %s < %lld; %s++)", i, i, (long long)objects, i);
	if (is_per_lane) {
		const char *k = new_name(em, 'l');
		line(em, "\tfor (int %s = 0; %s < %d; %s++)", k, k, reg->alloc_lanes, k);
		line(em, "\t\t%s[%s][%s] = %s;", reg->name, i, k, initial);
	} else {
		line(em, "\t%s[%s] = %s;", reg->name, i, initial);
	}
}

static void
alloc_locals(Emit *em, const RegInfo *reg, const char *type, int64_t objects, const char *initial,
             bool is_per_lane)
{
	for (int64_t i = 0; i < objects; i++) {
		const char *name = element_name(em, reg, i);
		if (is_per_lane && initial)
			line(em, "%s %s[%d]; TW_EACH(%d) %s[i] = %s;", type, name, reg->alloc_lanes,
			     reg->alloc_lanes, name, initial);
		else if (is_per_lane)
			line(em, "%s %s[%d];", type, name, reg->alloc_lanes);
		else if (initial)
			line(em, "%s %s = %s;", type, name, initial);
		else
			line(em, "%s %s;", type, name);
	}
}

/* The buffer's RegInfo: made in the first walk, found again in the second. */
static RegInfo *
open_reg(Emit *em, const Stmt *stmt)
{
	RegInfo *reg = map_find_ptr(&em->all_regs, stmt->buffer);
	if (!reg) {
		reg = NEW(em->arena, RegInfo);
		reg->buffer = stmt->buffer;
		reg->name = map_find_ptr(&em->names, &stmt->buffer->tensor);
		reg->count = 1;
		for (int d = 0; d < stmt->buffer->tensor.rank; d++) {
			int64_t extent = 0;
			dim_is_const(stmt->buffer->tensor.hi[d], &extent);
			reg->count *= extent;
		}
		map_set_ptr(&em->all_regs, stmt->buffer, reg);
	}
	reg->alloc_lanes = in_lanes(em) ? em->vector->lanes : 0;
	reg->alloc_mask = in_lanes(em) ? em->vector->mask : NULL;
	vec_push(em->arena, &em->regs, reg);
	return reg;
}

static void
alloc_reg(Emit *em, const Stmt *stmt)
{
	RegInfo *reg = open_reg(em, stmt);
	const char *type, *initial = initial_text(em, reg, stmt);
	int64_t objects = reg_objects(em, reg, &type);
	DType element = stmt->buffer->tensor.type;
	bool is_per_lane = reg->alloc_lanes && (dtype_class(element) == DC_S || !has_vector(em, element));
	if (is_local(reg) && is_split(reg))
		alloc_locals(em, reg, type, objects, initial, is_per_lane);
	else
		alloc_array(em, reg, type, objects, initial, is_per_lane);
}

void
emit_alloc(Emit *em, const Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	begin_statement(em, 1, &stmt->value);
	if (stmt->buffer->scope == SCOPE_REG) {
		alloc_reg(em, stmt);
		return;
	}
	if (em->vector) {
		em->has_failed_vector = true; /* one per lane would be needed */
		return;
	}
	const char *name = buffer_name(em, tensor);
	const Dim *count = dim_product(em->ctx, tensor->rank, tensor->hi);
	if (stmt->buffer->scope == SCOPE_STACK)
		line(em, "%s %s[%s] __attribute__((aligned(64)));", c_type(tensor->type), name,
		     dim_text(em, count));
	if (!stmt->value)
		return;
	const char *value = emit_scalar(em, stmt->value), *i = new_name(em, 'l');
	line(em, "for (tw_i64 %s = 0; %s < %s; %s++)", i, i, dim_text(em, count), i);
	line(em, "\t%s[%s] = %s;", name, i, value);
}
