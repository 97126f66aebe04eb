/* Integers of 32 bits for indices, where a dialect counts so (CUDA: a GPU adds and multiplies 32
 * bits at a time, and registers are what it has least of).
 *
 *     const tw_i32 t = threadIdx.x;
 *     X[n * 512 + t * 8]                all in 32 bits
 *     X[(tw_i64)(n * 40000) + t * 8]    a sum that may be larger
 *
 * A value of i64 has 32 bits in the text only where it is known to fit. An operation is done in the
 * type that C gives its operands, so what may not fit begins with one of 64. Whether it fits is
 * asked where it stands: a wider type than needed is never wrong.
 */
#include "codegen/c/emit.h"

#include <string.h>

bool
is_narrow(Emit *em, const Expr *e)
{
	int64_t lo, hi;
	return em->dialect->is_cuda && e->type == DT_I64 &&
	       facts_range(em->facts, without_lets(em, e), &lo, &hi) && lo >= INT32_MIN &&
	       hi <= INT32_MAX;
}

const char *
value_type(Emit *em, const Expr *e)
{
	return is_narrow(em, e) ? c_type(DT_I32) : c_type(e->type);
}

const char *
narrow_text(Emit *em, const Expr *e, const char *text)
{
	return is_narrow(em, e) ? emit_text(em, "((%s)%s)", c_type(DT_I32), text) : text;
}

const char *
first_operand(Emit *em, const Expr *e, const char *text)
{
	static const char wide[] = "(tw_i64)("; /* a sum that begins so has 64 bits */
	if (!em->dialect->is_cuda || e->type != DT_I64 || is_narrow(em, e) ||
	    strncmp(text, wide, sizeof wide - 1) == 0)
		return text;
	for (int i = 0; i < e->argc; i++)
		if (e->arg[i]->op == EX_read && e->arg[i]->type == DT_I64)
			return text; /* what memory holds has 64 bits */
	return emit_text(em, "%s%s)", wide, text);
}

/* Both operands and the result fit. */
const char *
narrow_operation(Emit *em, const Expr *e, const char *const *args)
{
	bool is_call = e->op == EX_floordiv || e->op == EX_floormod || e->op == EX_quot ||
	               e->op == EX_rem || e->op == EX_min || e->op == EX_max;
	if (!is_call || !is_narrow(em, e) || !is_narrow(em, e->arg[0]) || !is_narrow(em, e->arg[1]))
		return NULL;
	return binary_text(em, e->op, DT_I32, false, args[0], args[1]);
}
