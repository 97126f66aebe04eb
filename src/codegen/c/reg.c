/* Register buffers, and where local buffers begin.
 *
 * A register is a C local: a scalar, or a vector where it is one of so many lanes or made inside a
 * vector, where each lane has its own. Of these there may be a row, which is an array.
 */
#include "codegen/c/emit.h"

bool
is_register(const Tensor *tensor)
{
	return ((const Buffer *)tensor)->scope == SCOPE_REG;
}

/* One per lane of the vector around. */
static bool
is_own(const Emit *em, const Tensor *tensor)
{
	return em->vector && lanes_own(&em->lanes, tensor);
}

static bool
is_scalar(const Emit *em, const Tensor *tensor)
{
	return !is_own(em, tensor) && !((const Buffer *)tensor)->lanes;
}

/* The lvalue of an access. Of registers, those that operations of threads name may have dims. */
static const char *
place_text(Emit *em, const Tensor *tensor, const Expr *const *index)
{
	const char *name = name_of(em, tensor);
	const Buffer *buffer = (const Buffer *)tensor;
	if (tensor->rank == 0 || buffer->lanes)
		return name;
	const Expr *element = tensor->rank > 1 ? flat_index(em->ctx, buffer, index) : index[0];
	return emit_text(em, "%s[%s]", name, sum_text(em, element));
}

const char *
scalar_place(Emit *em, const Tensor *tensor, const Expr *const *index)
{
	if (is_register(tensor))
		return place_text(em, tensor, index);
	return emit_text(em, "%s[%s]", name_of(em, tensor), sum_text(em, index[0]));
}

Val
read_reg(Emit *em, const Expr *e)
{
	const char *place = place_text(em, e->tensor, e->arg);
	if (is_scalar(em, e->tensor))
		return (Val){place, UNIFORM};
	Val val = {place, has_vector(em, e->type) ? VECTOR : LANES};
	return em->vector->lane ? (Val){lane_of(em, e->type, val), UNIFORM} : val;
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* Whether nobody reads the lanes that the mask leaves out: they are those of iterations that do not
 * happen, or stand behind the end of the register. */
static bool
is_whole(Emit *em, const Tensor *tensor)
{
	int64_t count, extent;
	const Vector *vector = em->vector;
	if (is_own(em, tensor))
		return vector->mask == vector->tail || vector->mask == map_find_ptr(&em->masks, tensor);
	return vector->mask == vector->tail && expr_as_i64(vector->loop->hi, &count) &&
	       dim_is_const(tensor->hi[0], &extent) && count == extent;
}

void
store_reg(Emit *em, const Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	const char *place = place_text(em, tensor, stmt->index);
	if (is_scalar(em, tensor)) {
		emit_line(em, "%s = %s;", place, stored_text(em, stmt, false, place));
		return;
	}
	if (!has_vector(em, tensor->type)) {
		int mark = enter_lanes(em);
		place = emit_text(em, "%s[%s]", place, em->vector->lane);
		emit_line(em, "%s = %s;", place, stored_text(em, stmt, false, place));
		leave_lanes(em, mark);
		return;
	}
	const char *value = stored_text(em, stmt, true, place);
	const char *mask = em->vector->mask;
	if (mask && !is_whole(em, tensor))
		value = v_pick(em, tensor->type, mask, value, place);
	emit_line(em, "%s = %s;", place, value);
}

/* ---- allocs ---------------------------------------------------------------------------------- */

/* Lines that fill an array of `rows`, or of `rows` times `lanes`: a count that is NULL is none. */
static void
fill(Emit *em, const char *place, const char *rows, const char *lanes, const char *value)
{
	const char *counts[] = {rows, lanes};
	int depth = em->depth;
	for (size_t k = 0; k < countof(counts); k++) {
		if (!counts[k])
			continue;
		const char *i = new_name(em, 'l');
		emit_line(em, "for (tw_i64 %s = 0; %s < %s; %s++)", i, i, counts[k], i);
		place = emit_text(em, "%s[%s]", place, i);
		em->depth++;
	}
	emit_line(em, "%s = %s;", place, value);
	em->depth = depth;
}

static const char *
initial_text(Emit *em, const Stmt *stmt)
{
	char name[24];
	DType type = stmt->value->type;
	if (em->vector)
		return has_vector(em, type) ? emit_vector(em, stmt->value) : emit_scalar(em, stmt->value);
	if (!stmt->buffer->lanes)
		return emit_scalar(em, stmt->value);
	value_name(type, name, stmt->buffer->lanes);
	return emit_text(em, "tw_set_%s(%s)", name, emit_scalar(em, stmt->value));
}

static void
alloc_reg(Emit *em, const Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	int lanes = em->vector ? em->vector->lanes : stmt->buffer->lanes;
	bool is_each = em->vector && !has_vector(em, tensor->type);
	bool is_row = tensor->rank > 0 && !stmt->buffer->lanes;
	const char *type = lanes && !is_each ? c_vector(em, tensor->type, lanes) : c_type(tensor->type);
	const char *name = name_of(em, tensor);
	const char *initial = stmt->value ? initial_text(em, stmt) : NULL;
	map_set_ptr(&em->masks, tensor, em->vector ? (void *)em->vector->mask : NULL);
	if (!is_row && !is_each) {
		emit_line(em, initial ? "%s %s = %s;" : "%s %s;", type, name, initial);
		return;
	}
	const Dim *count = dim_product(em->ctx, tensor->rank, tensor->hi);
	const char *rows = is_row ? emit_scalar(em, count) : NULL;
	const char *each = is_each ? emit_text(em, "%d", lanes) : NULL;
	emit_line(em, "%s %s%s%s%s;", type, name, rows ? emit_text(em, "[%s]", rows) : "",
	          each ? emit_text(em, "[%s]", each) : "", em->dialect->aligned);
	if (initial)
		fill(em, name, rows, each, initial);
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
	if (stmt->buffer->scope == SCOPE_SHARED) {
		em->dialect->threads(em, stmt);
		return;
	}
	const char *name = name_of(em, tensor);
	const char *count = emit_scalar(em, dim_product(em->ctx, tensor->rank, tensor->hi));
	if (stmt->buffer->scope == SCOPE_STACK)
		emit_line(em, "%s %s[%s]%s;", c_type(tensor->type), name, count, em->dialect->aligned);
	if (stmt->value)
		fill(em, name, count, NULL, emit_scalar(em, stmt->value));
}
