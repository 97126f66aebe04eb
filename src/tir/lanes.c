/* What differs between the lanes of a @vector loop: its variable, what is computed from it, and the
 * registers made inside, of which each lane has one.
 */
#include "tir/rewrite.h"

void
lanes_note(Lanes *lanes, const Stmt *stmt)
{
	if (stmt->kind == STMT_FOR && stmt->bind == BIND_VECTOR) {
		lanes->vars.count = lanes->own.count = 0;
		vec_push(lanes->arena, &lanes->vars, stmt->var);
	} else if (stmt->kind == STMT_LET && lanes_differ(lanes, stmt->value)) {
		vec_push(lanes->arena, &lanes->vars, stmt->var);
	} else if (stmt->kind == STMT_ALLOC && lanes->vars.count > 0) {
		vec_push(lanes->arena, &lanes->own, stmt->buffer);
	}
}

bool
lanes_own(const Lanes *lanes, const Tensor *tensor)
{
	for (int i = 0; i < lanes->own.count; i++)
		if (&lanes->own.data[i]->tensor == tensor)
			return true;
	return false;
}

bool
lanes_differ(const Lanes *lanes, const Expr *e)
{
	if (expr_uses_any(e, lanes->vars.count, lanes->vars.data))
		return true;
	for (ExprWalk walk = expr_walk(lanes->own.count > 0 && e->has_read ? e : NULL);
	     expr_step(&walk);)
		if (walk.e->op == EX_read && lanes_own(lanes, walk.e->tensor))
			return true;
	return false;
}

bool
lanes_differ_in(const Lanes *lanes, int count, const Expr *const *list)
{
	for (int i = 0; i < count; i++)
		if (lanes_differ(lanes, list[i]))
			return true;
	return false;
}

bool
lanes_join(DType type)
{
	return dtype_is_integer(type) || type == DT_F32 || type == DT_F64;
}
