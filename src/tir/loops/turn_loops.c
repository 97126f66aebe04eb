/* TurnLoops: vectors whose elements lie far apart, and side by side with those of the next vector,
 * are loaded along the rows where they lie and turned in registers.
 *
 *     for u in 16                               for u in 16 @turn
 *       for i in 16 @vector(i32x16)       =>      for i in 16 @vector(i32x16)
 *         t[u*16+i] = X[i*S+u]                      t[u*16+i] = X[i*S+u]
 *
 * A loop @turn does what it says, and holds nothing but such a copy: into memory at hand, which no
 * argument is, vectors one behind the other. Code for it touches the same elements, by whole rows:
 * 16 loads and 64 shuffles, where one by one are 256 loads. Several vectors of a row (t wider than
 * lanes) become a loop each.
 *
 * needs    Flatten, Vectorize, HoistBranches: that nothing stands between the two loops
 * keeps    values
 * breaks   nothing
 * leaves   elements of other than 4 bytes, which have vectors of their own size
 */
#include "expr/index/poly.h"
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

/* index = coefficient * var + rest */
static bool
splits(ExprCtx *ctx, const Expr *index, const Var *var, int64_t coefficient, Poly *rest)
{
	Poly all, factor;
	int64_t value;
	poly_of_any(index, &all);
	return poly_split_atom(&all, expr_var(ctx, var), &factor, rest) &&
	       poly_is_const(&factor, &value) && (coefficient == 0 ? value > 0 : value == coefficient);
}

/* Whether the copy reads side by side from one iteration of `loop` to the next. */
static bool
is_copy(Kernel *kernel, const Stmt *loop, const Stmt *vector, const Stmt *store)
{
	ExprCtx *ctx = kernel->ctx;
	Poly rest, step, origin;
	const Expr *value = store->value;
	if (value->op != EX_read || dtype_bits(value->type) != 32 ||
	    store->buffer->scope == SCOPE_PARAM || store->op != STORE_SET ||
	    ((const Buffer *)value->tensor)->scope != SCOPE_PARAM || value->arg[0]->has_check)
		return false;
	if (!splits(ctx, store->index[0], vector->var, 1, &rest) ||
	    !splits(ctx, poly_build(ctx, &rest), loop->var, 0, &origin) ||
	    !splits(ctx, value->arg[0], loop->var, 1, &rest) ||
	    !poly_split_atom(&rest, expr_var(ctx, vector->var), &step, &origin))
		return false;
	const Expr *apart = poly_build(ctx, &step), *from = poly_build(ctx, &origin);
	const Expr *parts[] = {apart, from, vector->hi, loop->hi};
	for (size_t i = 0; i < countof(parts); i++)
		if (expr_uses_var(parts[i], vector->var) || expr_uses_var(parts[i], loop->var) ||
		    parts[i]->has_read)
			return false;
	return !expr_is_zero(apart);
}

static bool
is_turned(Kernel *kernel, const Stmt *loop)
{
	if (loop->kind != STMT_FOR || loop->bind != BIND_SERIAL || !expr_is_zero(loop->lo) ||
	    !loop->body)
		return false;
	for (const Stmt *vector = loop->body; vector; vector = vector->next)
		if (vector->kind != STMT_FOR || vector->lane_bytes != 4 || vector->body->next ||
		    vector->body->kind != STMT_STORE || !is_copy(kernel, loop, vector, vector->body))
			return false;
	return true;
}

/* A loop for each of the vectors in it. */
static Stmt *
turn(Kernel *kernel, Stmt *loop)
{
	StmtList made = {0};
	for (Stmt *next, *vector = loop->body; vector; vector = next) {
		next = vector->next;
		vector->next = NULL;
		Stmt *alone = stmt_for(kernel, loop->var, loop->lo, loop->hi, BIND_TURN, vector);
		stmt_list_add(&made, made.first ? stmt_copy(kernel, alone, NULL, NULL) : alone);
	}
	return made.first;
}

static Stmt *
turn_list(Kernel *kernel, Stmt *list, bool *changed)
{
	StmtList made = {0};
	for (Stmt *next, *stmt = list; stmt; stmt = next) {
		next = stmt->next;
		stmt->next = NULL;
		if (is_turned(kernel, stmt)) {
			stmt = turn(kernel, stmt);
			*changed = true;
		} else {
			stmt->body = turn_list(kernel, stmt->body, changed);
			stmt->other = turn_list(kernel, stmt->other, changed);
		}
		stmt_list_add(&made, stmt);
	}
	return made.first;
}

bool
pass_TurnLoops(Kernel *kernel, PassContext *context)
{
	(void)context;
	bool changed = false;
	kernel->body = turn_list(kernel, kernel->body, &changed);
	return changed;
}
