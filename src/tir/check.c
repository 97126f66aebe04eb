/* The verifier of kernels: what every producer of loops must guarantee and every reader may assume.
 *
 * One walk with the facts of the place: loop boxes, conditions around, lazy operations. Lets of
 * integers are put in place of their variables before an index is judged, so that a proof does not
 * depend on how an index was cut into pieces.
 */
#include "tir/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "expr/index/text.h"

void
check_fails(const Checker *check, const Stmt *stmt, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	fail_as(FAIL_BUG, stmt ? &stmt->loc : &check->kernel->loc, "kernel %s: %s", check->kernel->name,
	        text);
}

/* ---- scalars --------------------------------------------------------------------------------- */

/* A variable, or the tensor of a buffer, is defined until leave_scope() with an earlier mark. */
static void
define(Checker *check, const void *what)
{
	vec_push(check->arena, &check->defined, what);
	map_set_ptr(&check->scope, what, (void *)(uintptr_t)what);
}

static void
leave_scope(Checker *check, int mark)
{
	while (check->defined.count > mark)
		map_set_ptr(&check->scope, check->defined.data[--check->defined.count], NULL);
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
check_register(const Checker *check, const Stmt *stmt, const Tensor *tensor,
               const Expr *const *index)
{
	const Buffer *buffer = (const Buffer *)tensor;
	if (in_vector(check) && lanes_own(&check->lanes, tensor) &&
	    lanes_differ_in(&check->lanes, tensor->rank, index))
		check_fails(check, stmt, "the lanes of a vector use different elements of %s",
		            tensor->name);
	if (!buffer->lanes || (in_vector(check) && check->vector->lanes == buffer->lanes &&
	                       index[0]->op == EX_var && index[0]->var == check->vector->var &&
	                       dtype_bits(tensor->type) <= check->vector->lane_bytes * 8))
		return;
	check_fails(check, stmt, "%s is not used as a register of vectors", tensor->name);
}

static void
check_leaf(const Checker *check, const Stmt *stmt, const Expr *e)
{
	if (e->op == EX_var && !map_find_ptr(&check->scope, e->var))
		check_fails(check, stmt, "variable %s is used outside its scope", e->var->name);
	if (e->op == EX_read && !map_find_ptr(&check->scope, e->tensor))
		check_fails(check, stmt, "buffer %s is read outside its scope", e->tensor->name);
	if (e->op == EX_read)
		check_register(check, stmt, e->tensor, e->arg);
	if (e->op == EX_iter)
		check_fails(check, stmt, "%s has no place in a kernel", "an iterator of a stage");
}

static void
prove_index(const Checker *check, const Stmt *stmt, const Buffer *buffer, int d, const Expr *index)
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
	check_fails(check, stmt, "index %d of %s is not proven in range: %s", d, tensor->name,
	            buf_text(&text));
}

/* So many elements side by side. */
void
prove_place(const Checker *check, const Stmt *stmt, const Tensor *tensor, const Expr *const *index,
            int width)
{
	ExprCtx *ctx = check->kernel->ctx;
	if (tensor->rank == 0 && width > 1)
		check_fails(check, stmt, "%s has no %d elements side by side", tensor->name, width);
	for (int d = 0; d < tensor->rank; d++)
		prove_index(check, stmt, (const Buffer *)tensor, d, index[d]);
	if (width > 1)
		prove_index(check, stmt, (const Buffer *)tensor, tensor->rank - 1,
		            expr_add(ctx, expr_cast(ctx, DT_I64, index[tensor->rank - 1]),
		                     expr_i64(ctx, width - 1)));
}

static void check_reads(Checker *check, const Stmt *stmt, const Expr *e);

static void
check_under(Checker *check, const Stmt *stmt, const Expr *condition, bool holds, const Expr *e)
{
	if (!e->has_read)
		return;
	ExprCtx *ctx = check->kernel->ctx;
	condition = expr_replace_vars(condition, &check->lets);
	int mark = facts_mark(check->facts);
	facts_assume(check->facts, holds ? condition : expr_not(ctx, condition));
	check_reads(check, stmt, e);
	facts_release(check->facts, mark);
}

static void
check_reads(Checker *check, const Stmt *stmt, const Expr *e)
{
	if (!e->has_read)
		return;
	bool is_lazy = e->op == EX_select || e->op == EX_and || e->op == EX_or;
	for (int i = 0; i < (is_lazy ? 1 : e->argc); i++)
		check_reads(check, stmt, e->arg[i]);
	if (e->op == EX_select || e->op == EX_and)
		check_under(check, stmt, e->arg[0], true, e->arg[1]);
	if (e->op == EX_select || e->op == EX_or)
		check_under(check, stmt, e->arg[0], false, e->arg[e->op == EX_select ? 2 : 1]);
	if (e->op == EX_read)
		prove_place(check, stmt, e->tensor, e->arg, 1);
}

void
check_scalar(Checker *check, const Stmt *stmt, const Expr *e, DType type, const char *what)
{
	if (!e)
		return;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		check_leaf(check, stmt, walk.e);
	if (type != DT_NONE && e->type != type)
		check_fails(check, stmt, "%s has a wrong type", what);
	check_reads(check, stmt, e);
}

/* ---- statements ------------------------------------------------------------------------------ */

static void check_list(Checker *check, const Stmt *list);

static void
check_body(Checker *check, const Stmt *list)
{
	int mark = check->defined.count;
	check_list(check, list);
	leave_scope(check, mark);
}

/* One vector: its lanes are counted from 0, and there are enough of them. */
static void
check_extent(const Checker *check, const Stmt *stmt)
{
	ExprCtx *ctx = check->kernel->ctx;
	const Expr *hi = expr_replace_vars(stmt->hi, &check->lets);
	if (!expr_is_zero(stmt->lo) ||
	    !facts_prove(check->facts, expr_le(ctx, hi, expr_i64(ctx, stmt->lanes))))
		check_fails(check, stmt, "@vector loop %s may run more often than it has lanes",
		            stmt->var->name);
}

static void
check_for(Checker *check, const Stmt *stmt, bool may_be_parallel)
{
	if (stmt->bind == BIND_PARALLEL && !may_be_parallel)
		check_fails(check, stmt, "@parallel loop %s does not nest perfectly at the top",
		            stmt->var->name);
	if (stmt->bind == BIND_VECTOR && check->vector)
		check_fails(check, stmt, "@vector loop %s stands in another one", stmt->var->name);
	if (in_vector(check) && lanes_differ_in(&check->lanes, 2, (const Expr *[]){stmt->lo, stmt->hi}))
		check_fails(check, stmt, "the bounds of loop %s differ between lanes", stmt->var->name);
	check_scalar(check, stmt, stmt->lo, DT_I64, "a loop's lower bound");
	check_scalar(check, stmt, stmt->hi, DT_I64, "a loop's upper bound");
	if (stmt->lanes)
		check_extent(check, stmt);
	const Stmt *vector = check->vector;
	if (stmt->bind == BIND_VECTOR) {
		check->vector = stmt;
		lanes_note(&check->lanes, stmt);
	}
	Checker outer = *check;
	Axes bounds = axes_of(check, stmt->lo) | axes_of(check, stmt->hi);
	check_bound(check, stmt, bounds);
	check->around |= bounds;
	int mark = facts_mark(check->facts), scope = check->defined.count;
	facts_var(check->facts, stmt->var, expr_replace_vars(stmt->lo, &check->lets),
	          expr_replace_vars(stmt->hi, &check->lets));
	define(check, stmt->var);
	const Stmt *inner = stmt->body;
	if (stmt->bind == BIND_PARALLEL && inner && inner->kind == STMT_FOR && !inner->next)
		check_for(check, inner, true);
	else
		check_body(check, inner);
	leave_scope(check, scope);
	facts_release(check->facts, mark);
	check->vector = vector;
	leave_axes(check, &outer);
}

/* Inside a @vector loop, a plain store to one place for all lanes would depend on their order. */
static void
check_lanes(const Checker *check, const Stmt *stmt)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	bool is_one = !lanes_own(&check->lanes, tensor) &&
	              !lanes_differ_in(&check->lanes, tensor->rank, stmt->index);
	if (is_one && stmt->op == STORE_SET)
		check_fails(check, stmt, "all lanes of a @vector loop store to one place of %s",
		            tensor->name);
	if (is_one && in_vector(check) && dtype_bits(tensor->type) > check->vector->lane_bytes * 8)
		check_fails(check, stmt, "the lanes of a vector are too narrow for a sum in %s",
		            tensor->name);
}

/* Where a statement stores so many elements side by side. */
void
check_target(Checker *check, const Stmt *stmt, int width)
{
	const Tensor *tensor = &stmt->buffer->tensor;
	if (!map_find_ptr(&check->scope, tensor))
		check_fails(check, stmt, "buffer %s is written outside its scope", tensor->name);
	if (stmt->buffer->scope == SCOPE_PARAM && !stmt->buffer->is_output)
		check_fails(check, stmt, "argument %s is written but no output", tensor->name);
	if (stmt->op != STORE_SET && reduce_fold(stmt->op) == EX_COUNT)
		check_fails(check, stmt, "a store to %s combines by no known operation", tensor->name);
	for (int d = 0; d < tensor->rank; d++)
		check_scalar(check, stmt, stmt->index[d], DT_NONE, "an index");
	prove_place(check, stmt, tensor, stmt->index, width);
	check_race(check, stmt);
	check_register(check, stmt, tensor, stmt->index);
	if (check->vector)
		check_lanes(check, stmt);
	if (stmt->buffer->param >= 0)
		check->written.data[stmt->buffer->param] = 1;
}

static void
check_store(Checker *check, const Stmt *stmt)
{
	check_scalar(check, stmt, stmt->value, stmt->buffer->tensor.type, "a stored value");
	check_target(check, stmt, 1);
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
		check_fails(check, stmt, "%s is made in a vector and no register", tensor->name);
	int lanes = stmt->buffer->lanes;
	if (lanes && (check->vector || tensor->rank != 1 || count > lanes || lanes > 16 || lanes < 2 ||
	              (lanes & (lanes - 1))))
		check_fails(check, stmt, "%s is no register of vectors", tensor->name);
	bool is_local = stmt->buffer->scope == SCOPE_REG || stmt->buffer->scope == SCOPE_STACK;
	if (is_local && !is_constant)
		check_fails(check, stmt, "register or stack buffer %s has no constant extents",
		            tensor->name);
	bool is_name = stmt->buffer->scope == SCOPE_REG && count == 1; /* no place in memory */
	if (is_local && !is_name && dtype_bytes(tensor->type, count, &bytes))
		check->stack_bytes += (int64_t)bytes;
	if (check->stack_bytes > STACK_BYTES)
		check_fails(check, stmt, "with %s, local buffers are too large for the stack",
		            tensor->name);
	check_scope(check, stmt);
	check_scalar(check, stmt, stmt->value, tensor->type, "an initial value");
	define(check, tensor);
	lanes_note(&check->lanes, stmt);
}

static void
check_if(Checker *check, const Stmt *stmt)
{
	ExprCtx *ctx = check->kernel->ctx;
	check_scalar(check, stmt, stmt->condition, DT_BOOL, "a condition");
	const Expr *condition = expr_replace_vars(stmt->condition, &check->lets);
	Axes around = check->around;
	check->around |= axes_of(check, stmt->condition);
	check->inside++;
	int mark = facts_mark(check->facts);
	facts_assume(check->facts, condition);
	check_body(check, stmt->body);
	facts_release(check->facts, mark);
	facts_assume(check->facts, expr_not(ctx, condition));
	check_body(check, stmt->other);
	facts_release(check->facts, mark);
	check->inside--;
	check->around = around;
}

static void
check_let(Checker *check, const Stmt *stmt)
{
	check_scalar(check, stmt, stmt->value, stmt->var->type, "a let");
	if (dtype_is_integer(stmt->value->type)) {
		const Expr *value = expr_replace_vars(stmt->value, &check->lets);
		map_set_ptr(&check->lets, stmt->var, (void *)value);
	}
	define(check, stmt->var);
	map_set_ptr(&check->axes, stmt->var, (void *)(uintptr_t)axes_of(check, stmt->value));
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
	case STMT_SYNC:
		check_sync(check, stmt);
		break;
	case STMT_WARP_OP:
		check_warp_op(check, stmt);
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
	check.scope.arena = check.lets.arena = check.axes.arena = check.lanes.arena = arena;
	check_axes(&check);
	for (int i = 0; i < kernel->buffers.count; i++) {
		define(&check, &kernel->buffers.data[i]->tensor);
		vec_push(arena, &check.written, 0);
	}
	check_list(&check, kernel->body);
	for (int i = 0; i < kernel->buffers.count; i++)
		if (kernel->buffers.data[i]->is_output && !check.written.data[i] &&
		    !is_empty(kernel->buffers.data[i]))
			check_fails(&check, NULL, "output %s is never written",
			            kernel->buffers.data[i]->tensor.name);
	arena_reset(arena);
}
