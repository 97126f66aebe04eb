/* The verifier of kernels: what every producer of loops must guarantee and every reader may assume.
 *
 * One walk with the facts of the place: loop boxes, conditions around, lazy operations. Lets of
 * integers are put in place of their variables before an index is judged, so that a proof does not
 * depend on how an index was cut into pieces.
 */
#include "expr/index/text.h"
#include "tir/rewrite.h"

#include <stdio.h>

typedef struct Checker {
	const Kernel *kernel;
	Arena *arena;
	Facts *facts;
	VEC(const Var *) vars;       /* in scope */
	VEC(const Buffer *) buffers; /* in scope */
	Map lets;                    /* Var to its value, for integers */
	const Stmt *vector;          /* the @vector loop around, or NULL */
	Lanes lanes;                 /* its */
	IntVec written;              /* per argument */
	int64_t stack_bytes;
} Checker;

static _Noreturn void
broken(const Checker *check, const char *format, const char *what)
{
	char text[256];
	snprintf(text, sizeof text, format, what);
	fail_as(FAIL_BUG, &check->kernel->loc, "kernel %s: %s", check->kernel->name, text);
}

/* ---- scalars --------------------------------------------------------------------------------- */

static bool
has_var(const Checker *check, const Var *var)
{
	for (int i = 0; i < check->vars.count; i++)
		if (check->vars.data[i] == var)
			return true;
	return false;
}

static bool
has_buffer(const Checker *check, const Tensor *tensor)
{
	for (int i = 0; i < check->buffers.count; i++)
		if (&check->buffers.data[i]->tensor == tensor)
			return true;
	return false;
}

/* Whether a vector of the machine is around, not only a loop that may become some. */
static bool
in_vector(const Checker *check)
{
	return check->vector && check->vector->lanes;
}

/* Lanes stand at the same element, each of its own register. A register of vectors is used by those
 * of as many lanes, each lane its element. */
static void
check_register(const Checker *check, const Tensor *tensor, const Expr *const *index)
{
	const Buffer *buffer = (const Buffer *)tensor;
	if (in_vector(check) && lanes_own(&check->lanes, tensor) &&
	    lanes_differ_in(&check->lanes, tensor->rank, index))
		broken(check, "the lanes of a vector use different elements of %s", tensor->name);
	if (!buffer->lanes || (in_vector(check) && check->vector->lanes == buffer->lanes &&
	                       index[0]->op == EX_var && index[0]->var == check->vector->var &&
	                       dtype_bits(tensor->type) <= check->vector->lane_bytes * 8))
		return;
	broken(check, "%s is not used as a register of vectors", tensor->name);
}

static void
check_leaf(const Checker *check, const Expr *e)
{
	if (e->op == EX_var && !has_var(check, e->var))
		broken(check, "variable %s is used outside its scope", e->var->name);
	if (e->op == EX_read && !has_buffer(check, e->tensor))
		broken(check, "buffer %s is read outside its scope", e->tensor->name);
	if (e->op == EX_read)
		check_register(check, e->tensor, e->arg);
	if (e->op == EX_iter)
		broken(check, "%s has no place in a kernel", "an iterator of a stage");
}

static void
prove_index(const Checker *check, const Buffer *buffer, int d, const Expr *index)
{
	const Tensor *tensor = &buffer->tensor;
	if (check->kernel->is_flat && buffer->scope != SCOPE_REG)
		return; /* proven before; the guards of a dim say nothing of an address */
	ExprCtx *ctx = check->kernel->ctx;
	const Expr *i = expr_replace_vars(expr_cast(ctx, DT_I64, index), &check->lets);
	const Expr *zero = expr_i64(ctx, 0);
	if (facts_prove(check->facts, expr_le(ctx, zero, i)) &&
	    facts_prove(check->facts, expr_lt(ctx, i, tensor->hi[d])))
		return;
	Buf text = {.arena = check->arena};
	expr_print(&text, i);
	fail_as(FAIL_BUG, &check->kernel->loc, "kernel %s: index %d of %s is not proven in range: %s",
	        check->kernel->name, d, tensor->name, buf_text(&text));
}

static void check_reads(Checker *check, const Expr *e);

static void
check_under(Checker *check, const Expr *condition, bool holds, const Expr *e)
{
	if (!e->has_read)
		return;
	ExprCtx *ctx = check->kernel->ctx;
	condition = expr_replace_vars(condition, &check->lets);
	int mark = facts_mark(check->facts);
	facts_assume(check->facts, holds ? condition : expr_not(ctx, condition));
	check_reads(check, e);
	facts_release(check->facts, mark);
}

static void
check_reads(Checker *check, const Expr *e)
{
	if (!e->has_read)
		return;
	bool is_lazy = e->op == EX_select || e->op == EX_and || e->op == EX_or;
	for (int i = 0; i < (is_lazy ? 1 : e->argc); i++)
		check_reads(check, e->arg[i]);
	if (e->op == EX_select || e->op == EX_and)
		check_under(check, e->arg[0], true, e->arg[1]);
	if (e->op == EX_select || e->op == EX_or)
		check_under(check, e->arg[0], false, e->arg[e->op == EX_select ? 2 : 1]);
	if (e->op == EX_read)
		for (int d = 0; d < e->argc; d++)
			prove_index(check, (const Buffer *)e->tensor, d, e->arg[d]);
}

static void
check_scalar(Checker *check, const Expr *e, DType type, const char *what)
{
	if (!e)
		return;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		check_leaf(check, walk.e);
	if (type != DT_NONE && e->type != type)
		broken(check, "%s has a wrong type", what);
	check_reads(check, e);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void check_list(Checker *check, const Stmt *list);

static void
check_body(Checker *check, const Stmt *list)
{
	int vars = check->vars.count, buffers = check->buffers.count;
	check_list(check, list);
	check->vars.count = vars;
	check->buffers.count = buffers;
}

/* One vector: its lanes are counted from 0, and there are enough of them. */
static void
check_extent(const Checker *check, const Stmt *stmt)
{
	ExprCtx *ctx = check->kernel->ctx;
	const Expr *hi = expr_replace_vars(stmt->hi, &check->lets);
	if (!expr_is_zero(stmt->lo) ||
	    !facts_prove(check->facts, expr_le(ctx, hi, expr_i64(ctx, stmt->lanes))))
		broken(check, "@vector loop %s may run more often than it has lanes", stmt->var->name);
}

static void
check_for(Checker *check, const Stmt *stmt, bool may_be_parallel)
{
	if (stmt->bind == BIND_PARALLEL && !may_be_parallel)
		broken(check, "@parallel loop %s does not nest perfectly at the top", stmt->var->name);
	if (stmt->bind == BIND_VECTOR && check->vector)
		broken(check, "@vector loop %s stands in another one", stmt->var->name);
	if (in_vector(check) && lanes_differ_in(&check->lanes, 2, (const Expr *[]){stmt->lo, stmt->hi}))
		broken(check, "the bounds of loop %s differ between lanes", stmt->var->name);
	check_scalar(check, stmt->lo, DT_I64, "a loop's lower bound");
	check_scalar(check, stmt->hi, DT_I64, "a loop's upper bound");
	if (stmt->lanes)
		check_extent(check, stmt);
	const Stmt *vector = check->vector;
	if (stmt->bind == BIND_VECTOR) {
		check->vector = stmt;
		lanes_note(&check->lanes, stmt);
	}
	int mark = facts_mark(check->facts);
	facts_var(check->facts, stmt->var, expr_replace_vars(stmt->lo, &check->lets),
	          expr_replace_vars(stmt->hi, &check->lets));
	vec_push(check->arena, &check->vars, stmt->var);
	const Stmt *inner = stmt->body;
	if (stmt->bind == BIND_PARALLEL && inner && inner->kind == STMT_FOR && !inner->next)
		check_for(check, inner, true);
	else
		check_body(check, inner);
	check->vars.count--;
	facts_release(check->facts, mark);
	check->vector = vector;
}

/* Inside a @vector loop, a plain store to one place for all lanes would depend on their order. */
static void
check_lanes(const Checker *check, const Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	bool is_one = !lanes_own(&check->lanes, tensor) &&
	              !lanes_differ_in(&check->lanes, tensor->rank, stmt->index);
	if (is_one && stmt->op == STORE_SET)
		broken(check, "all lanes of a @vector loop store to one place of %s", tensor->name);
	if (is_one && in_vector(check) && dtype_bits(tensor->type) > check->vector->lane_bytes * 8)
		broken(check, "the lanes of a vector are too narrow for a sum in %s", tensor->name);
}

static void
check_store(Checker *check, const Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	if (!has_buffer(check, tensor))
		broken(check, "buffer %s is written outside its scope", tensor->name);
	if (stmt->buffer->scope == SCOPE_PARAM && !stmt->buffer->is_output)
		broken(check, "argument %s is written but no output", tensor->name);
	if (stmt->op != STORE_SET && reduce_fold(stmt->op) == EX_COUNT)
		broken(check, "a store to %s combines by no known operation", tensor->name);
	check_scalar(check, stmt->value, tensor->type, "a stored value");
	for (int d = 0; d < tensor->rank; d++) {
		check_scalar(check, stmt->index[d], DT_NONE, "an index");
		prove_index(check, stmt->buffer, d, stmt->index[d]);
	}
	check_register(check, tensor, stmt->index);
	if (check->vector)
		check_lanes(check, stmt);
	if (stmt->buffer->param >= 0)
		check->written.data[stmt->buffer->param] = 1;
}

static void
check_alloc(Checker *check, const Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	int64_t count = 1, dim;
	size_t bytes = 0;
	bool is_constant = true;
	for (int d = 0; d < tensor->rank; d++) {
		is_constant = is_constant && dim_is_const(tensor->hi[d], &dim);
		count = is_constant && count < INT32_MAX ? count * dim : count;
	}
	if (in_vector(check) && stmt->buffer->scope != SCOPE_REG)
		broken(check, "%s is made in a vector and no register", tensor->name);
	int lanes = stmt->buffer->lanes;
	if (lanes && (check->vector || tensor->rank != 1 || count > lanes || lanes > 16 || lanes < 2 ||
	              (lanes & (lanes - 1))))
		broken(check, "%s is no register of vectors", tensor->name);
	bool is_local = stmt->buffer->scope == SCOPE_REG || stmt->buffer->scope == SCOPE_STACK;
	if (is_local && !is_constant)
		broken(check, "register or stack buffer %s has no constant extents", tensor->name);
	if (is_local && dtype_bytes(tensor->type, count, &bytes))
		check->stack_bytes += (int64_t)bytes;
	if (check->stack_bytes > STACK_BYTES)
		broken(check, "with %s, local buffers are too large for the stack", tensor->name);
	check_scalar(check, stmt->value, tensor->type, "an initial value");
	vec_push(check->arena, &check->buffers, stmt->buffer);
	lanes_note(&check->lanes, stmt);
}

static void
check_if(Checker *check, const Stmt *stmt)
{
	ExprCtx *ctx = check->kernel->ctx;
	check_scalar(check, stmt->condition, DT_BOOL, "a condition");
	const Expr *condition = expr_replace_vars(stmt->condition, &check->lets);
	int mark = facts_mark(check->facts);
	facts_assume(check->facts, condition);
	check_body(check, stmt->body);
	facts_release(check->facts, mark);
	facts_assume(check->facts, expr_not(ctx, condition));
	check_body(check, stmt->other);
	facts_release(check->facts, mark);
}

static void
check_let(Checker *check, const Stmt *stmt)
{
	check_scalar(check, stmt->value, stmt->var->type, "a let");
	if (dtype_is_integer(stmt->value->type)) {
		const Expr *value = expr_replace_vars(stmt->value, &check->lets);
		map_set_ptr(&check->lets, stmt->var, (void *)value);
	}
	vec_push(check->arena, &check->vars, stmt->var);
	lanes_note(&check->lanes, stmt);
}

static void
check_stmt(Checker *check, const Stmt *stmt)
{
	switch (stmt->kind) {
	case STMT_FOR:
		check_for(check, stmt, stmt == check->kernel->body && !stmt->next);
		break;
	case STMT_STORE:
		check_store(check, stmt);
		break;
	case STMT_IF:
		check_if(check, stmt);
		break;
	case STMT_LET:
		check_let(check, stmt);
		break;
	case STMT_ALLOC:
		check_alloc(check, stmt);
		break;
	case STMT_CHECK:
		check_scalar(check, stmt->condition, DT_BOOL, "a check");
		check_scalar(check, stmt->value, DT_I64, "a check's value");
		break;
	case STMT_SYNC:
		if (check->vector)
			broken(check, "%s in a @vector loop", "a barrier");
		break;
	}
}

static void
check_list(Checker *check, const Stmt *list)
{
	for (; list; list = list->next)
		check_stmt(check, list);
}

static bool
is_empty(const Buffer *buffer)
{
	for (int d = 0; d < buffer->tensor.rank; d++)
		if (dim_is(buffer->tensor.hi[d], 0))
			return true;
	return false;
}

void
kernel_check(const Kernel *kernel)
{
	Arena *arena = arena_new_in(kernel->arena, "checking a kernel");
	Checker check = {.kernel = kernel, .arena = arena, .facts = facts_new(kernel->ctx, arena)};
	check.lets.arena = check.lanes.arena = arena;
	for (int i = 0; i < kernel->buffers.count; i++) {
		vec_push(arena, &check.buffers, kernel->buffers.data[i]);
		vec_push(arena, &check.written, 0);
	}
	check_list(&check, kernel->body);
	for (int i = 0; i < kernel->buffers.count; i++)
		if (kernel->buffers.data[i]->is_output && !check.written.data[i] &&
		    !is_empty(kernel->buffers.data[i]))
			broken(&check, "output %s is never written", kernel->buffers.data[i]->tensor.name);
	arena_reset(arena);
}
