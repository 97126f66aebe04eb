/* Making loop IR: kernels, buffers, statements; what a finished kernel knows of itself; walks.
 *
 * A kernel is built from the inside out or by appending to lists, then kernel_finish() derives what
 * its caller must know to launch it: the extent of the flat parallel index, the bytes of scratch
 * memory per worker, and the symbols it takes as arguments.
 */
#include "tir/rewrite.h"

enum { SCRATCH_ALIGN = 64 };

Kernel *
kernel_new(Arena *arena, ExprCtx *ctx, const char *name, const Loc *loc)
{
	Kernel *kernel = NEW(arena, Kernel);
	kernel->arena = arena;
	kernel->ctx = ctx;
	kernel->name = arena_strdup(arena, name);
	if (loc)
		kernel->loc = *loc;
	return kernel;
}

/* A buffer begins with its tensor, so the two are made as one object: tensor_new() gives identity
 * and a copy of the dims, which the buffer takes over. */
static Buffer *
buffer_new(Kernel *kernel, const char *name, DType type, int rank, const Dim *const *dims)
{
	Buffer *buffer = NEW(kernel->arena, Buffer);
	buffer->tensor = *tensor_new(kernel->ctx, name, type, rank, dims);
	buffer->param = -1;
	return buffer;
}

Buffer *
kernel_param(Kernel *kernel, const char *name, DType type, int rank, const Dim *const *dims,
             bool is_output)
{
	Buffer *buffer = buffer_new(kernel, name, type, rank, dims);
	buffer->scope = SCOPE_PARAM;
	buffer->param = kernel->buffers.count;
	buffer->is_output = is_output;
	vec_push(kernel->arena, &kernel->buffers, buffer);
	return buffer;
}

Buffer *
kernel_local(Kernel *kernel, const char *name, DType type, int rank, const Dim *const *dims,
             Scope scope)
{
	must(scope != SCOPE_PARAM);
	Buffer *buffer = buffer_new(kernel, name, type, rank, dims);
	buffer->scope = scope;
	return buffer;
}

/* ---- statements ------------------------------------------------------------------------------ */

static Stmt *
stmt_new(Kernel *kernel, StmtKind kind)
{
	Stmt *stmt = NEW(kernel->arena, Stmt);
	stmt->kind = kind;
	stmt->loc = kernel->loc;
	stmt->op = STORE_SET;
	return stmt;
}

Stmt *
stmt_for(Kernel *kernel, const Var *var, const Expr *lo, const Expr *hi, Bind bind, Stmt *body)
{
	Stmt *stmt = stmt_new(kernel, STMT_FOR);
	stmt->var = var;
	stmt->lo = lo ? lo : expr_i64(kernel->ctx, 0);
	stmt->hi = hi;
	stmt->bind = bind;
	stmt->body = body;
	return stmt;
}

Stmt *
stmt_store(Kernel *kernel, const Buffer *buffer, const Expr *const *index, int op,
           const Expr *value)
{
	Stmt *stmt = stmt_new(kernel, STMT_STORE);
	stmt->buffer = buffer;
	size_t bytes = (size_t)buffer->tensor.rank * sizeof *index;
	stmt->index = arena_memdup(kernel->arena, index, bytes);
	stmt->op = op;
	stmt->value = value;
	return stmt;
}

Stmt *
stmt_if(Kernel *kernel, const Expr *condition, Stmt *body, Stmt *other)
{
	Stmt *stmt = stmt_new(kernel, STMT_IF);
	stmt->condition = condition;
	stmt->body = body;
	stmt->other = other;
	return stmt;
}

Stmt *
stmt_let(Kernel *kernel, const Var *var, const Expr *value)
{
	Stmt *stmt = stmt_new(kernel, STMT_LET);
	stmt->var = var;
	stmt->value = value;
	return stmt;
}

Stmt *
stmt_alloc(Kernel *kernel, const Buffer *buffer, const Expr *initial)
{
	Stmt *stmt = stmt_new(kernel, STMT_ALLOC);
	stmt->buffer = buffer;
	stmt->value = initial;
	return stmt;
}

Stmt *
stmt_sync(Kernel *kernel)
{
	return stmt_new(kernel, STMT_SYNC);
}

Stmt *
stmt_warp_op(Kernel *kernel, const WarpOp *warp_op, const Buffer *buffer, const Expr *const *index,
             int op, const Expr *const *args)
{
	Stmt *stmt = stmt_new(kernel, STMT_WARP_OP);
	stmt->warp_op = warp_op;
	stmt->buffer = buffer;
	if (buffer)
		stmt->index =
			arena_memdup(kernel->arena, index, (size_t)buffer->tensor.rank * sizeof *index);
	stmt->op = op;
	stmt->args = arena_memdup(kernel->arena, args, (size_t)warp_op->nargs * sizeof *args);
	return stmt;
}

bool
stmt_is_barrier(const Stmt *stmt)
{
	return stmt->kind == STMT_SYNC ||
	       (stmt->kind == STMT_WARP_OP && stmt->warp_op->kind != WARP_HINT);
}

int
stmt_width(const Stmt *stmt, int operand)
{
	const WarpOp *warp_op = stmt->warp_op;
	const Fragment *fragments[] = {warp_op->d, warp_op->a, warp_op->b};
	bool is_place = operand < 0 ? stmt->buffer != NULL : warp_op_takes_place(warp_op, operand);
	int64_t bytes = 0;
	if (!is_place)
		return 0;
	switch (warp_op->kind) {
	case WARP_MMA:
		return fragments[operand + 1]->count;
	case WARP_LOAD:
		return operand < 0 ? warp_op->d->count : warp_op->d->cols;
	case WARP_COPY:
		expr_as_i64(stmt->args[1], &bytes);
		return (int)(bytes * 8 / dtype_bits(stmt->buffer->tensor.type));
	default:
		return 1;
	}
}

Stmt *
stmt_append(Stmt *list, Stmt *tail)
{
	if (!list)
		return tail;
	Stmt *last = list;
	while (last->next)
		last = last->next;
	last->next = tail;
	return list;
}

void
stmt_list_add(StmtList *list, Stmt *tail)
{
	if (!tail)
		return;
	if (list->first)
		list->last->next = tail;
	else
		list->first = tail;
	while (tail->next)
		tail = tail->next;
	list->last = tail;
}

/* ---- walks ----------------------------------------------------------------------------------- */

StmtWalk
stmt_walk(Arena *arena, Stmt *list)
{
	StmtWalk walk = {.arena = arena};
	if (list)
		vec_push(arena, &walk.pending, list);
	return walk;
}

bool
stmt_step(StmtWalk *walk)
{
	Stmt *last = walk->stmt, *behind[] = {last ? last->next : NULL, last ? last->other : NULL,
	                                      last ? last->body : NULL};
	for (size_t i = 0; i < countof(behind); i++)
		if (behind[i])
			vec_push(walk->arena, &walk->pending, behind[i]);
	if (walk->pending.count == 0)
		return false;
	walk->stmt = walk->pending.data[--walk->pending.count];
	return true;
}

static const Expr *const *
rewrite_exprs(Kernel *kernel, int count, const Expr *const *list, ExprRewrite replace, void *arg)
{
	const Expr **made = NEW_N(kernel->arena, const Expr *, count + 1);
	for (int i = 0; i < count; i++)
		made[i] = expr_rewrite(kernel->ctx, list[i], replace, arg);
	return made;
}

static void
rewrite_stmt(Kernel *kernel, Stmt *stmt, ExprRewrite replace, void *arg)
{
	const Expr **fields[] = {&stmt->lo, &stmt->hi, &stmt->condition, &stmt->value};
	for (size_t i = 0; i < countof(fields); i++)
		if (*fields[i])
			*fields[i] = expr_rewrite(kernel->ctx, *fields[i], replace, arg);
	if (stmt->index)
		stmt->index = rewrite_exprs(kernel, stmt->buffer->tensor.rank, stmt->index, replace, arg);
	if (stmt->args)
		stmt->args = rewrite_exprs(kernel, stmt->warp_op->nargs, stmt->args, replace, arg);
}

void
stmt_rewrite_exprs(Kernel *kernel, Stmt *list, ExprRewrite replace, void *arg)
{
	for (StmtWalk walk = stmt_walk(kernel->arena, list); stmt_step(&walk);)
		rewrite_stmt(kernel, walk.stmt, replace, arg);
}

bool
stmt_reports(const Stmt *stmt)
{
	const Expr *fields[] = {stmt->lo, stmt->hi, stmt->condition, stmt->value};
	bool is_found = false;
	for (size_t i = 0; i < countof(fields); i++)
		is_found |= fields[i] && fields[i]->has_check;
	for (int d = 0; stmt->index && d < stmt->buffer->tensor.rank; d++)
		is_found |= stmt->index[d]->has_check;
	for (int i = 0; stmt->args && i < stmt->warp_op->nargs; i++)
		is_found |= stmt->args[i]->has_check;
	return is_found;
}

typedef struct Redirecting {
	Kernel *kernel;
	Redirect *redirect;
	void *arg;
} Redirecting;

static const Expr *
redirect_read(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Redirecting *r = arg;
	const Expr *const *index = e->arg;
	const Buffer *to = NULL;
	if (e->op == EX_read)
		to = r->redirect(r->kernel, (const Buffer *)e->tensor, &index, r->arg);
	return to ? expr_read(ctx, &to->tensor, index) : e;
}

void
stmt_redirect(Kernel *kernel, Stmt *list, Redirect *redirect, void *arg)
{
	stmt_rewrite_exprs(kernel, list, redirect_read, &(Redirecting){kernel, redirect, arg});
	for (StmtWalk walk = stmt_walk(kernel->arena, list); stmt_step(&walk);) {
		Stmt *stmt = walk.stmt;
		const Buffer *to = NULL;
		if (stmt->index)
			to = redirect(kernel, stmt->buffer, &stmt->index, arg);
		stmt->buffer = to ? to : stmt->buffer;
	}
}

/* ---- finishing ------------------------------------------------------------------------------- */

static void
collect_symbols(Kernel *kernel, const Expr *e)
{
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		bool is_new = walk.e->op == EX_symbol;
		for (int i = 0; is_new && i < kernel->symbols.count; i++)
			is_new = kernel->symbols.data[i] != walk.e->symbol;
		if (is_new)
			vec_push(kernel->arena, &kernel->symbols, walk.e->symbol);
	}
}

static void
collect_from_buffer(Kernel *kernel, const Buffer *buffer)
{
	for (int d = 0; d < buffer->tensor.rank; d++) {
		collect_symbols(kernel, buffer->tensor.hi[d]);
		if (buffer->stride)
			collect_symbols(kernel, buffer->stride[d]);
	}
}

static const Dim *
buffer_bytes(Kernel *kernel, const Buffer *buffer)
{
	ExprCtx *ctx = kernel->ctx;
	const Dim *count = dim_product(ctx, buffer->tensor.rank, buffer->tensor.hi);
	const Dim *bytes = dim_mul_i64(ctx, count, (dtype_bits(buffer->tensor.type) + 7) / 8);
	const Dim *lines = dim_ceildiv(ctx, bytes, dim_const(ctx, SCRATCH_ALIGN));
	return dim_mul_i64(ctx, lines, SCRATCH_ALIGN);
}

static void
collect_from_stmt(Kernel *kernel, const Stmt *stmt)
{
	collect_symbols(kernel, stmt->lo);
	collect_symbols(kernel, stmt->hi);
	collect_symbols(kernel, stmt->condition);
	for (int d = 0; stmt->index && d < stmt->buffer->tensor.rank; d++)
		collect_symbols(kernel, stmt->index[d]);
	for (int i = 0; stmt->args && i < stmt->warp_op->nargs; i++)
		collect_symbols(kernel, stmt->args[i]);
	collect_symbols(kernel, stmt->value);
	if (stmt->kind != STMT_ALLOC)
		return;
	collect_from_buffer(kernel, stmt->buffer);
	if (stmt->buffer->scope == SCOPE_SCRATCH) {
		const Dim *bytes = buffer_bytes(kernel, stmt->buffer);
		kernel->scratch = kernel->scratch ? dim_add(kernel->ctx, kernel->scratch, bytes) : bytes;
	}
}

static int
place_of_symbol(int count, const Symbol *const *symbols, const Symbol *symbol)
{
	int i = 0;
	while (i < count && symbols[i] != symbol)
		i++;
	return i;
}

/* Those that stood in this order stay so, others come behind them. In which order they are met goes
 * by how expressions are kept, and is another one where a kernel's text is read back. */
static void
keep_order(Kernel *kernel, int count, const Symbol *const *order)
{
	for (int i = 1; i < kernel->symbols.count; i++) {
		const Symbol *symbol = kernel->symbols.data[i];
		int place = place_of_symbol(count, order, symbol), k = i;
		for (; k > 0 && place_of_symbol(count, order, kernel->symbols.data[k - 1]) > place; k--)
			kernel->symbols.data[k] = kernel->symbols.data[k - 1];
		kernel->symbols.data[k] = symbol;
	}
}

void
kernel_finish(Kernel *kernel)
{
	ExprCtx *ctx = kernel->ctx;
	int count = kernel->symbols.count;
	const Symbol **order = kernel->symbols.data;
	kernel->symbols.data = NULL;
	kernel->symbols.count = kernel->symbols.capacity = 0;
	kernel->scratch = NULL;
	for (int i = 0; i < kernel->buffers.count; i++)
		collect_from_buffer(kernel, kernel->buffers.data[i]);
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);)
		collect_from_stmt(kernel, walk.stmt);
	keep_order(kernel, count, order);
	kernel->extent = dim_const(ctx, 1);
	for (Stmt *loop = kernel->body; loop && loop->kind == STMT_FOR && loop->bind == BIND_PARALLEL;
	     loop = loop->body) {
		const Dim *extent = dim_from_expr(ctx, expr_sub(ctx, loop->hi, loop->lo));
		if (!extent)
			fail_as(FAIL_BUG, &kernel->loc, "kernel %s: the extent of @parallel loop %s is no dim",
			        kernel->name, loop->var->name);
		kernel->extent = dim_mul(ctx, kernel->extent, extent);
	}
}
