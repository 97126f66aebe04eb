/* Register buffers, and where local buffers begin.
 *
 * Small buffers whose every index is a constant once loops are unrolled become C locals, one per
 * element, or one per vector of elements: that keeps accumulators in registers. Others become
 * arrays. The first walk over the kernel sees how they are used, the second writes them.
 */
#include "codegen/c/emit.h"

enum { MAX_LOCALS = 512 };

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
bool
reg_is_local(const RegInfo *reg)
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

/* The position of an access with all indices constant: flat; whether a vector along the last dim.
 * */
static bool
constant_position(Emit *em, const RegInfo *reg, const Expr *const *index, int64_t *flat,
                  bool *is_row)
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
		if (is_last && emit_varies(em, index[d])) {
			Address address;
			make_address(em, &address, index[d]);
			if (!address.is_affine || address.count > 0 || !dim_is(address.lane_factor, 1) ||
			    !dim_is_const(address.rest, &value))
				return false;
			*is_row = true;
		} else if (!constant_value(em, index[d], &value)) {
			return false;
		}
		*flat = *flat * extent + value;
	}
	return true;
}

/* The first walk: note how the buffer is used. */
void
reg_note(Emit *em, RegInfo *reg, const Expr *const *index)
{
	int64_t flat;
	bool is_row, differs = false;
	bool is_constant = constant_position(em, reg, index, &flat, &is_row);
	for (int d = 0; d < reg->buffer->tensor.rank; d++)
		differs = differs || emit_varies(em, index[d]);
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
		return reg->buffer->tensor.rank ? emit_text(em, "%s_%lld", reg->name, (long long)element)
		                                : reg->name;
	return emit_text(em, "%s[%lld]", reg->name, (long long)element);
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
		place = emit_text(em, "%s[%s]", reg->name, address_text(em, &address));
	}
	return (RegAccess){place, is_row || reg->alloc_lanes > 0};
}

Val
read_reg(Emit *em, const RegInfo *reg, const Expr *e)
{
	RegAccess access = reg_access(em, reg, e->arg);
	if (!access.is_vector)
		return (Val){access.place, UNIFORM};
	bool is_whole = dtype_class(e->type) != DC_S && has_vector(em, e->type);
	Val val = {access.place, is_whole ? VECTOR : LANES};
	return em->vector->lane ? (Val){lane_of(em, e->type, val), UNIFORM} : val;
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* Whether nobody reads the lanes that a partial vector leaves out: they are those of iterations
 * that do not happen, or stand behind the end of a row. */
static bool
is_padded(Emit *em, const RegInfo *reg, const Expr *const *index)
{
	int64_t begin, count, extent;
	Address address;
	const Tensor *tensor = &reg->buffer->tensor;
	if (em->vector->mask != em->vector->tail || reg->alloc_lanes)
		return em->vector->mask == em->vector->tail;
	make_address(em, &address, index[tensor->rank - 1]);
	return dim_is_const(address.rest, &begin) && constant_value(em, em->vector->loop->hi, &count) &&
	       dim_is_const(tensor->hi[tensor->rank - 1], &extent) && begin + count == extent;
}

void
store_reg(Emit *em, const RegInfo *reg, const Stmt *stmt)
{
	char name[24];
	DType type = reg->buffer->tensor.type;
	RegAccess access = reg_access(em, reg, stmt->index);
	if (!access.is_vector) {
		emit_line(em, "%s = %s;", access.place, stored_text(em, stmt, false, access.place));
		return;
	}
	if (!has_vector(em, type) || dtype_class(type) == DC_S) {
		int mark = enter_lanes(em);
		const char *place = emit_text(em, "%s[%s]", access.place, em->vector->lane);
		emit_line(em, "%s = %s;", place, stored_text(em, stmt, false, place));
		leave_lanes(em, mark);
		return;
	}
	const char *value = stored_text(em, stmt, true, access.place);
	const char *mask = em->vector->mask;
	if (mask && (mask == reg->alloc_mask || is_padded(em, reg, stmt->index)))
		mask = NULL;
	if (mask && type == DT_BOOL)
		value = emit_text(em, "((%s & %s) | (%s & ~%s))", value, mask, access.place, mask);
	else if (mask)
		value = emit_text(
			em, "tw_pick_%s(%s, %s, %s)", (value_name(type, name, em->vector->lanes), name),
			natural_mask(em, mask, dtype_bits(lane_type(type)) / 8), value, access.place);
	emit_line(em, "%s = %s;", access.place, value);
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
	return emit_text(em, "tw_set_%s(%s)", name, emit_scalar(em, stmt->value));
}

static void
alloc_array(Emit *em, const RegInfo *reg, const char *type, int64_t objects, const char *initial,
            bool is_per_lane)
{
	const char *lanes = is_per_lane ? emit_text(em, "[%d]", reg->alloc_lanes) : "";
	emit_line(em, "%s %s[%lld]%s __attribute__((aligned(64)));", type, reg->name,
	          (long long)objects, lanes);
	if (!initial)
		return;
	const char *i = new_name(em, 'l');
	emit_line(em, "for (int %s = 0; %s < %lld; %s++)", i, i, (long long)objects, i);
	if (is_per_lane) {
		const char *k = new_name(em, 'l');
		emit_line(em, "\tfor (int %s = 0; %s < %d; %s++)", k, k, reg->alloc_lanes, k);
		emit_line(em, "\t\t%s[%s][%s] = %s;", reg->name, i, k, initial);
	} else {
		emit_line(em, "\t%s[%s] = %s;", reg->name, i, initial);
	}
}

static void
alloc_locals(Emit *em, const RegInfo *reg, const char *type, int64_t objects, const char *initial,
             bool is_per_lane)
{
	for (int64_t i = 0; i < objects; i++) {
		const char *name = element_name(em, reg, i);
		if (is_per_lane && initial)
			emit_line(em, "%s %s[%d]; for (int i = 0; i < %d; i++) %s[i] = %s;", type, name,
			          reg->alloc_lanes, reg->alloc_lanes, name, initial);
		else if (is_per_lane)
			emit_line(em, "%s %s[%d];", type, name, reg->alloc_lanes);
		else if (initial)
			emit_line(em, "%s %s = %s;", type, name, initial);
		else
			emit_line(em, "%s %s;", type, name);
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
	bool is_per_lane =
		reg->alloc_lanes && (dtype_class(element) == DC_S || !has_vector(em, element));
	if (reg_is_local(reg) && is_split(reg))
		alloc_locals(em, reg, type, objects, initial, is_per_lane);
	else
		alloc_array(em, reg, type, objects, initial, is_per_lane);
}

void
emit_alloc(Emit *em, const Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	begin_statement(em, 1, &stmt->value);
	lanes_note(&em->lanes, stmt);
	if (stmt->buffer->scope == SCOPE_REG) {
		alloc_reg(em, stmt);
		return;
	}
	const char *name = buffer_name(em, tensor);
	const Dim *count = dim_product(em->ctx, tensor->rank, tensor->hi);
	if (stmt->buffer->scope == SCOPE_STACK)
		emit_line(em, "%s %s[%s] __attribute__((aligned(64)));", c_type(tensor->type), name,
		          dim_text(em, count));
	if (!stmt->value)
		return;
	const char *value = emit_scalar(em, stmt->value), *i = new_name(em, 'l');
	emit_line(em, "for (tw_i64 %s = 0; %s < %s; %s++)", i, i, dim_text(em, count), i);
	emit_line(em, "\t%s[%s] = %s;", name, i, value);
}
