/* The verifier of kernels: blocks, threads, shared memory, barriers and operations of threads.
 *
 * For each value a set of axes says between which iterations that run at one time it may differ. A
 * barrier is reached by all threads if nothing around it differs between them. A store that differs
 * in none of the indices and conditions along an axis puts values of all its iterations in one
 * place: a race for certain. Races that depend on more than that are found where they happen, by
 * kernel_eval().
 */
#include "bundle/plan.h"
#include "target/target.h"
#include "tir/check.h"
#include "tir/text.h"

/* ---- axes ------------------------------------------------------------------------------------ */

static bool
may_repeat(const Checker *check, const Expr *lo, const Expr *hi)
{
	ExprCtx *ctx = check->kernel->ctx;
	return !facts_prove(check->facts, expr_le(ctx, hi, expr_add(ctx, lo, expr_i64(ctx, 1))));
}

static bool
is_bound(const Stmt *stmt)
{
	return stmt->kind == STMT_FOR && stmt->bind >= BIND_BLOCK_X;
}

static void
check_axis(Checker *check, const Stmt *loop)
{
	int axis = loop->bind - BIND_BLOCK_X;
	int64_t value;
	const char *name = loop->var->name;
	const Dim *extent = dim_from_expr(check->kernel->ctx, loop->hi);
	if (!expr_is_zero(loop->lo) || !extent)
		check_fails(check, loop, "@%s loop %s does not run from 0 to a dim", bind_name(loop->bind),
		            name);
	if (axis >= GRID_AXES && !dim_is_const(extent, &value))
		check_fails(check, loop, "how many threads @%s loop %s has is no number",
		            bind_name(loop->bind), name);
	if (check->extent[axis] && check->extent[axis] != extent)
		check_fails(check, loop, "loops %s and another one bind @%s, and differ in extent", name,
		            bind_name(loop->bind));
	check->extent[axis] = extent;
	if (may_repeat(check, loop->lo, loop->hi))
		check->parallel |= 1u << axis;
}

void
check_axes(Checker *check)
{
	for (StmtWalk walk = stmt_walk(check->arena, check->kernel->body); stmt_step(&walk);)
		if (is_bound(walk.stmt))
			check_axis(check, walk.stmt);
}

void
check_bound(Checker *check, const Stmt *loop, Axes bounds)
{
	const char *name = loop->var->name;
	bool is_block = is_bound(loop) && loop->bind < BIND_THREAD_X;
	if (is_block && check->inside > 0)
		check_fails(check, loop, "@block loop %s stands in a loop or condition", name);
	if (is_bound(loop) && (check->parallels > 0 || check->vector))
		check_fails(check, loop, "@%s loop %s stands in a @parallel or @vector loop",
		            bind_name(loop->bind), name);
	Axes own = bounds;
	if (is_bound(loop))
		own = 1u << (loop->bind - BIND_BLOCK_X);
	if (loop->bind == BIND_PARALLEL) {
		must(BOUND_AXES + check->parallels < 30);
		own = 1u << (BOUND_AXES + check->parallels++);
		check->parallel |= may_repeat(check, loop->lo, loop->hi) ? own : 0;
	}
	map_set_ptr(&check->axes, loop->var, (void *)(uintptr_t)own);
	check->inside += !is_block;
	check->in_block |= is_bound(loop);
}

void
leave_axes(Checker *check, const Checker *outer)
{
	check->parallel = outer->parallel;
	check->parallels = outer->parallels;
	check->around = outer->around;
	check->inside = outer->inside;
	check->in_block = outer->in_block;
}

/* Memory that all threads see says to all the same at one place. */
Axes
axes_of(const Checker *check, const Expr *e)
{
	Axes axes = 0;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		if (walk.e->op == EX_var)
			axes |= (Axes)(uintptr_t)map_find_ptr(&check->axes, walk.e->var);
		if (walk.e->op != EX_read)
			continue;
		Scope scope = ((const Buffer *)walk.e->tensor)->scope;
		axes |= READS | (scope == SCOPE_PARAM || scope == SCOPE_SHARED ? 0 : THREAD_AXES);
	}
	return axes;
}

static const char *
axis_name(Axes axes)
{
	for (int axis = 0; axis < BOUND_AXES; axis++)
		if (axes & 1u << axis)
			return bind_name((Bind)(BIND_BLOCK_X + axis));
	return bind_name(BIND_PARALLEL);
}

/* ---- statements ------------------------------------------------------------------------------ */

void
check_race(Checker *check, const Stmt *store)
{
	const Tensor *tensor = &store->buffer->tensor;
	Axes seen = check->around, met = check->parallel;
	if (store->buffer->scope == SCOPE_SHARED)
		met &= THREAD_AXES;
	else if (store->buffer->scope != SCOPE_PARAM)
		return;
	for (int d = 0; d < tensor->rank; d++)
		seen |= axes_of(check, store->index[d]);
	if (!(seen & READS) && (met & ~seen))
		check_fails(check, store, "all iterations of @%s store to one place of %s",
		            axis_name(met & ~seen), tensor->name);
}

void
check_scope(Checker *check, const Stmt *alloc)
{
	const Tensor *tensor = &alloc->buffer->tensor;
	int64_t size;
	bool is_grid = false;
	for (int axis = 0; axis < BOUND_AXES; axis++)
		is_grid |= check->extent[axis] != NULL;
	if (alloc->buffer->scope == SCOPE_SCRATCH && is_grid)
		check_fails(check, alloc, "%s is a worker's scratch memory, and there are blocks",
		            tensor->name);
	if (alloc->buffer->scope != SCOPE_SHARED)
		return;
	if (!check->in_block)
		check_fails(check, alloc, "shared buffer %s is made outside of blocks", tensor->name);
	if (alloc->value)
		check_fails(check, alloc, "shared buffer %s has an initial value, of no thread",
		            tensor->name);
	for (int d = 0; d < tensor->rank; d++)
		if (!dim_is_const(tensor->hi[d], &size))
			check_fails(check, alloc, "shared buffer %s has no constant extents", tensor->name);
}

/* 0: no loop is bound to threads. */
static int64_t
count_threads(const Dim *const *extent)
{
	int64_t threads = 0, value = 1;
	for (int axis = GRID_AXES; axis < BOUND_AXES; axis++)
		if (extent[axis] && dim_is_const(extent[axis], &value) &&
		    __builtin_mul_overflow(threads ? threads : 1, value, &threads))
			threads = INT64_MAX;
	return threads;
}

static void
check_among_threads(const Checker *check, const Stmt *stmt, const char *what)
{
	if (check->vector)
		check_fails(check, stmt, "%s in a @vector loop", what);
	if (count_threads(check->extent) == 0)
		check_fails(check, stmt, "%s where no loop is bound to threads", what);
}

void
check_sync(Checker *check, const Stmt *sync)
{
	check_among_threads(check, sync, "a barrier");
	if (check->around & THREAD_AXES & check->parallel)
		check_fails(check, sync, "what decides whether a barrier is reached may differ along @%s",
		            axis_name(check->around & THREAD_AXES & check->parallel));
}

static void
expect_scope(const Checker *check, const Stmt *stmt, const Tensor *tensor, Scope scope)
{
	if (((const Buffer *)tensor)->scope != scope)
		check_fails(check, stmt, "%s takes no %s, which is not %s", stmt->warp_op->name,
		            tensor->name, scope == SCOPE_PARAM ? "an argument" : scope_name(scope));
}

static void
check_result(Checker *check, const Stmt *stmt)
{
	const WarpOp *op = stmt->warp_op;
	const Tensor *tensor = &stmt->buffer->tensor;
	bool is_product = op->kind == WARP_MMA;
	if (is_product ? stmt->op != REDUCE_sum : stmt->op != STORE_SET && op->kind != WARP_SHUFFLE)
		check_fails(check, stmt, "%s is %s", op->name, is_product ? "added" : "not combined");
	if (is_product ? tensor->type != op->sum
	               : op->kind == WARP_LOAD && dtype_bits(tensor->type) != 16)
		check_fails(check, stmt, "%s has another type than %s", op->name, tensor->name);
	if (op->kind != WARP_SHUFFLE)
		expect_scope(check, stmt, tensor, op->kind == WARP_COPY ? SCOPE_SHARED : SCOPE_REG);
	check_target(check, stmt, stmt_width(stmt, -1));
}

static void
check_operand(Checker *check, const Stmt *stmt, int i)
{
	const WarpOp *op = stmt->warp_op;
	const Expr *arg = stmt->args[i];
	DType result = stmt->buffer ? stmt->buffer->tensor.type : DT_NONE;
	int64_t number;
	int mark = facts_mark(check->facts);
	if (op->kind == WARP_COPY && i == 0 && op->nargs == 3)
		facts_assume(check->facts, expr_replace_vars(stmt->args[2], &check->lets));
	check_scalar(check, stmt, arg, warp_op_operand_type(op, i, result), "an operand");
	if (warp_op_takes_place(op, i)) {
		expect_scope(check, stmt, arg->tensor,
		             op->kind == WARP_COPY   ? SCOPE_PARAM
		             : op->kind == WARP_LOAD ? SCOPE_SHARED
		                                     : SCOPE_REG);
		prove_place(check, stmt, arg->tensor, arg->arg, stmt_width(stmt, i));
	} else if (op->kind == WARP_WAIT && (!expr_as_i64(arg, &number) || number < 0)) {
		check_fails(check, stmt, "how many groups %s leaves is no number", op->name);
	}
	facts_release(check->facts, mark);
}

void
check_warp_op(Checker *check, const Stmt *stmt)
{
	const WarpOp *op = stmt->warp_op;
	int64_t threads = count_threads(check->extent), bytes;
	if (op->kind == WARP_HINT) {
		const Expr *place = stmt->args[0];
		for (int d = 0; d < place->argc; d++)
			check_scalar(check, stmt, place->arg[d], place->arg[d]->type, "an index");
		return;
	}
	check_among_threads(check, stmt, op->name);
	if (warp_op_is_of_warp(op) && threads % WARP_LANES != 0)
		check_fails(check, stmt, "%s works in warps of %d, and there are %lld threads", op->name,
		            WARP_LANES, (long long)threads);
	if (op->kind == WARP_COPY &&
	    (!expr_as_i64(stmt->args[1], &bytes) || (bytes != 4 && bytes != 8 && bytes != 16) ||
	     bytes * 8 < dtype_bits(stmt->buffer->tensor.type)))
		check_fails(check, stmt, "%s copies 4, 8 or 16 bytes", op->name);
	for (int i = 0; i < op->nargs; i++)
		check_operand(check, stmt, i);
	if (stmt->buffer)
		check_result(check, stmt);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* What a block of the kernel takes; bytes of shared memory, and of registers of a thread. */
typedef struct Demand {
	const Dim *extent[BOUND_AXES];
	int64_t shared, registers;
} Demand;

static int64_t
buffer_size(const Buffer *buffer)
{
	int64_t count = 1, dim;
	size_t bytes = 0;
	for (int d = 0; d < buffer->tensor.rank; d++)
		if (!dim_is_const(buffer->tensor.hi[d], &dim) || __builtin_mul_overflow(count, dim, &count))
			return INT32_MAX;
	return dtype_bytes(buffer->tensor.type, count, &bytes) && bytes < INT32_MAX ? (int64_t)bytes
	                                                                            : INT32_MAX;
}

static void
add_demand(const Kernel *kernel, const Device *device, const Stmt *stmt, Demand *demand)
{
	if (is_bound(stmt))
		demand->extent[stmt->bind - BIND_BLOCK_X] = stmt->hi;
	if (stmt->kind == STMT_ALLOC && stmt->buffer->scope == SCOPE_SHARED)
		demand->shared += buffer_size(stmt->buffer);
	if (stmt->kind == STMT_ALLOC && stmt->buffer->scope == SCOPE_REG)
		demand->registers += (buffer_size(stmt->buffer) + 3) / 4;
	if (stmt->kind == STMT_WARP_OP && stmt->warp_op->capability > device->gpu->capability)
		fail_unsupported(&stmt->loc, "kernel %s: %s has no %s, which needs capability %d",
		                 kernel->name, device->name, stmt->warp_op->name,
		                 stmt->warp_op->capability);
}

static void
expect_fits(const Kernel *kernel, const Device *device, int64_t taken, int64_t limit,
            const char *what)
{
	if (taken > limit)
		fail_unsupported(&kernel->loc, "kernel %s: %lld %s, and %s has %lld", kernel->name,
		                 (long long)taken, what, device->name, (long long)limit);
}

static Demand
demand_of(Arena *arena, const Kernel *kernel, const Device *device)
{
	Demand demand = {0};
	if (!device->gpu)
		fail_unsupported(&kernel->loc, "kernel %s: %s has no blocks of threads", kernel->name,
		                 device->name);
	for (StmtWalk walk = stmt_walk(arena, kernel->body); stmt_step(&walk);)
		add_demand(kernel, device, walk.stmt, &demand);
	return demand;
}

void
kernel_check_launch(const Kernel *kernel, const Device *device)
{
	Arena *arena = arena_new_in(kernel->arena, "checking a launch");
	Demand demand = demand_of(arena, kernel, device);
	expect_fits(kernel, device, count_threads(demand.extent), device->threads,
	            "threads in a block");
	for (int axis = 1; axis < GRID_AXES; axis++) {
		int64_t blocks = 0;
		if (demand.extent[axis])
			dim_is_const(demand.extent[axis], &blocks);
		expect_fits(kernel, device, blocks, PLAN_GRID_MOST,
		            axis == 1 ? "blocks along y" : "blocks along z");
	}
	expect_fits(kernel, device, demand.shared, device->levels[1].bytes,
	            "bytes of shared memory in a block");
	arena_reset(arena);
}

void
kernel_check_device(const Kernel *kernel, const Device *device)
{
	kernel_check_launch(kernel, device);
	Arena *arena = arena_new_in(kernel->arena, "checking a kernel");
	Demand demand = demand_of(arena, kernel, device);
	expect_fits(kernel, device, demand.registers, device->registers, "registers in a thread");
	expect_fits(kernel, device, demand.registers * count_threads(demand.extent),
	            device->gpu->registers, "registers in a block");
	arena_reset(arena);
}
