/* Schedule primitives (schedule.h): loops are cut, joined, moved and copied; the meaning stays. */
#include "tir/schedule/schedule.h"

static _Noreturn void
refuse(const Kernel *kernel, const Stmt *loop, const char *why)
{
	fail_as(FAIL_BUG, &kernel->loc, "kernel %s: loop %s: %s", kernel->name,
	        loop->kind == STMT_FOR ? loop->var->name : "(none)", why);
}

/* An integer scalar in the normal form of dims where it is one. */
static const Expr *
tidy(ExprCtx *ctx, const Expr *e)
{
	const Dim *dim = dim_from_expr(ctx, e);
	return dim ? dim : e;
}

static const Expr *
extent_of(Kernel *kernel, const Stmt *loop)
{
	if (loop->kind != STMT_FOR)
		refuse(kernel, loop, "not a loop");
	return tidy(kernel->ctx, expr_sub(kernel->ctx, loop->hi, loop->lo));
}

static const Var *
new_counter(Kernel *kernel, const Var *from, const char *suffix, const Expr *lo, const Expr *hi)
{
	char *name = arena_printf(kernel->arena, "%s%s", from->name, suffix);
	return var_new(kernel->ctx, name, DT_I64, lo, hi);
}

static bool
divides(ExprCtx *ctx, const Expr *extent, int64_t factor)
{
	const Dim *dim = dim_from_expr(ctx, extent);
	return dim && dim_is(dim_floormod(ctx, dim, dim_const(ctx, factor)), 0);
}

/* Make `loop` the outer of two: outer in count, inner in factor; its variable becomes
 * lo + outer*factor + inner, of which `offset` gets the part behind lo. */
static Stmt *
cut_loop(Kernel *kernel, Stmt *loop, const Expr *count, int64_t factor, const Expr **offset)
{
	ExprCtx *ctx = kernel->ctx;
	const Expr *zero = expr_i64(ctx, 0), *step = expr_i64(ctx, factor);
	const Var *outer = new_counter(kernel, loop->var, "_o", zero, count);
	const Var *inner = new_counter(kernel, loop->var, "_i", zero, step);
	*offset = expr_add(ctx, expr_mul(ctx, expr_var(ctx, outer), step), expr_var(ctx, inner));
	const Expr *value = expr_is_zero(loop->lo) ? *offset : expr_add(ctx, loop->lo, *offset);
	stmt_substitute(kernel, loop->body, loop->var, value);
	loop->body = stmt_for(kernel, inner, zero, step, BIND_SERIAL, loop->body);
	loop->var = outer;
	loop->lo = zero;
	loop->hi = count;
	return loop;
}

Stmt *
tir_split(Kernel *kernel, Stmt *loop, int64_t factor)
{
	ExprCtx *ctx = kernel->ctx;
	const Expr *extent = extent_of(kernel, loop), *offset;
	if (factor < 1)
		refuse(kernel, loop, "cannot be split by less than one");
	const Expr *step = expr_i64(ctx, factor);
	const Expr *up = expr_add(ctx, extent, expr_i64(ctx, factor - 1));
	const Expr *count = tidy(ctx, expr_floordiv(ctx, up, step));
	cut_loop(kernel, loop, count, factor, &offset);
	if (!divides(ctx, extent, factor))
		loop->body->body = stmt_if(kernel, expr_lt(ctx, offset, extent), loop->body->body, NULL);
	return loop;
}

Stmt *
tir_split_tail(Kernel *kernel, Stmt *loop, int64_t factor)
{
	ExprCtx *ctx = kernel->ctx;
	const Expr *extent = extent_of(kernel, loop), *offset;
	if (factor < 1)
		refuse(kernel, loop, "cannot be split by less than one");
	const Expr *step = expr_i64(ctx, factor);
	const Expr *count = tidy(ctx, expr_floordiv(ctx, extent, step));
	if (!divides(ctx, extent, factor)) {
		const Expr *lo = tidy(ctx, expr_add(ctx, loop->lo, expr_mul(ctx, count, step)));
		const Var *var = new_counter(kernel, loop->var, "_t", lo, loop->hi);
		Stmt *body = stmt_copy(kernel, loop->body, loop->var, expr_var(ctx, var));
		Stmt *tail = stmt_for(kernel, var, lo, loop->hi, BIND_SERIAL, body);
		tail->next = loop->next;
		loop->next = tail;
	}
	return cut_loop(kernel, loop, count, factor, &offset);
}

/* The loop that `outer` holds and nothing else. */
static Stmt *
only_loop(const Kernel *kernel, const Stmt *outer)
{
	Stmt *inner = outer->kind == STMT_FOR ? outer->body : NULL;
	if (!inner || inner->kind != STMT_FOR || inner->next)
		refuse(kernel, outer, "does not hold exactly one loop");
	return inner;
}

Stmt *
tir_fuse(Kernel *kernel, Stmt *outer)
{
	ExprCtx *ctx = kernel->ctx;
	Stmt *inner = only_loop(kernel, outer);
	if (expr_uses_var(inner->lo, outer->var) || expr_uses_var(inner->hi, outer->var))
		refuse(kernel, inner, "its bounds depend on the loop around");
	const Expr *width = extent_of(kernel, inner);
	const Expr *count = tidy(ctx, expr_mul(ctx, extent_of(kernel, outer), width));
	char *name = arena_printf(kernel->arena, "%s%s", outer->var->name, inner->var->name);
	const Var *var = var_new(ctx, name, DT_I64, expr_i64(ctx, 0), count);
	const Expr *flat = expr_var(ctx, var);
	const Expr *high = expr_floordiv(ctx, flat, width), *low = expr_floormod(ctx, flat, width);
	Stmt *body = inner->body;
	stmt_substitute(kernel, body, inner->var,
	                expr_is_zero(inner->lo) ? low : expr_add(ctx, inner->lo, low));
	stmt_substitute(kernel, body, outer->var,
	                expr_is_zero(outer->lo) ? high : expr_add(ctx, outer->lo, high));
	outer->var = var;
	outer->lo = expr_i64(ctx, 0);
	outer->hi = count;
	outer->body = body;
	return outer;
}

/* ---- order ----------------------------------------------------------------------------------- */

typedef struct Stores {
	VEC(const Buffer *) set, local; /* plainly stored; made inside */
	Arena *arena;
	const Kernel *kernel;
	const Stmt *loop;
} Stores;

static void
collect_stores(Stmt *stmt, void *arg)
{
	Stores *stores = arg;
	if (stmt->kind == STMT_STORE && stmt->op == STORE_SET)
		vec_push(stores->arena, &stores->set, stmt->buffer);
	if (stmt->kind == STMT_ALLOC)
		vec_push(stores->arena, &stores->local, stmt->buffer);
}

static void
check_read(const Expr *e, void *arg)
{
	Stores *stores = arg;
	if (e->op != EX_read)
		return;
	for (int i = 0; i < stores->local.count; i++)
		if (&stores->local.data[i]->tensor == e->tensor)
			return;
	for (int i = 0; i < stores->set.count; i++)
		if (&stores->set.data[i]->tensor == e->tensor)
			refuse(stores->kernel, stores->loop, "an iteration may read what another stored");
}

static void
check_reads_of(Stmt *stmt, void *arg)
{
	const Expr *fields[] = {stmt->lo, stmt->hi, stmt->condition, stmt->value};
	for (size_t i = 0; i < countof(fields); i++)
		if (fields[i])
			expr_visit(fields[i], check_read, arg);
}

void
tir_reorder(Kernel *kernel, Stmt *outermost, int count, const Var *const *order)
{
	Stmt **loops = NEW_N(kernel->arena, Stmt *, count), *inner = outermost;
	Stmt *old = NEW_N(kernel->arena, Stmt, count);
	for (int i = 0; i < count; i++) {
		loops[i] = inner;
		old[i] = *inner;
		inner = i + 1 < count ? only_loop(kernel, inner) : inner->body;
	}
	Stores stores = {.arena = kernel->arena, .kernel = kernel, .loop = outermost};
	stmt_visit(inner, collect_stores, &stores);
	stmt_visit(inner, check_reads_of, &stores);
	for (int i = 0; i < count; i++) {
		const Stmt *from = NULL;
		for (int k = 0; k < count; k++)
			if (old[k].var == order[i])
				from = &old[k];
		if (!from)
			refuse(kernel, outermost, "the new order names a variable that is not of the nest");
		for (int k = i; k < count; k++)
			if (expr_uses_var(from->lo, order[k]) || expr_uses_var(from->hi, order[k]))
				refuse(kernel, from, "its bounds depend on a loop that would stand inside");
		loops[i]->var = from->var;
		loops[i]->lo = from->lo;
		loops[i]->hi = from->hi;
		loops[i]->bind = from->bind;
		loops[i]->loc = from->loc;
	}
}

void
tir_bind(Kernel *kernel, Stmt *loop, Bind bind)
{
	if (loop->kind != STMT_FOR)
		refuse(kernel, loop, "not a loop");
	loop->bind = bind;
}

void
tir_unroll(Kernel *kernel, Stmt *loop)
{
	ExprCtx *ctx = kernel->ctx;
	int64_t lo, hi;
	if (loop->kind != STMT_FOR || !expr_as_i64(loop->lo, &lo) || !expr_as_i64(loop->hi, &hi))
		refuse(kernel, loop, "its bounds are no constants");
	Stmt *copies = NULL, *next = loop->next;
	for (int64_t i = lo; i < hi; i++)
		copies = stmt_append(copies, stmt_copy(kernel, loop->body, loop->var, expr_i64(ctx, i)));
	if (copies) {
		stmt_append(copies, next);
		*loop = *copies;
	} else {
		loop->body = NULL; /* an empty loop: tir_simplify() drops it */
	}
}
