/* Scripts step by step, and what all primitives need: loops by name, and the sentence why not. */
#include <stdio.h>
#include <string.h>

#include "tir/schedule/grid.h"
#include "tir/text.h"

void
refuse_step(const Scheduling *s, const char *format, ...)
{
	char why[512];
	const Loc *loc = &s->step->loc;
	va_list args;
	va_start(args, format);
	vsnprintf(why, sizeof why, format, args);
	va_end(args);
	const char *primitive = primitive_info(s->step->primitive)->name;
	const StrVec *named = s->step->loops.count     ? &s->step->loops
	                      : s->step->buffers.count ? &s->step->buffers
	                                               : &s->step->made;
	const char *what = named->data[0];
	fail_as(loc->file ? FAIL_INVALID : FAIL_BUG, loc->file ? loc : &s->kernel->loc,
	        "kernel %s: %s %s: %s", s->kernel->name, primitive, what, why);
}

static Stmt *
find_loop(Stmt *list, const char *name)
{
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		if (stmt->kind == STMT_FOR && strcmp(stmt->var->name, name) == 0)
			return stmt;
		Stmt *inner = find_loop(stmt->body, name);
		inner = inner ? inner : find_loop(stmt->other, name);
		if (inner)
			return inner;
	}
	return NULL;
}

Stmt *
named_loop(const Scheduling *s, int index)
{
	const char *name = s->step->loops.data[index];
	Stmt *loop = find_loop(s->kernel->body, name);
	Buf loops = {.arena = s->kernel->arena};
	if (loop)
		return loop;
	for (StmtWalk walk = stmt_walk(loops.arena, s->kernel->body); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_FOR)
			buf_printf(&loops, "%s%s", loops.size ? ", " : "", walk.stmt->var->name);
	refuse_step(s, "there is no loop %s; the loops are %s", name, buf_text(&loops));
}

bool
is_named_buffer(const Scheduling *s, const Tensor *tensor)
{
	for (int i = 0; i < s->step->buffers.count; i++)
		if (strcmp(tensor->name, s->step->buffers.data[i]) == 0)
			return true;
	return false;
}

Stmt *
only_loop(const Scheduling *s, const Stmt *outer)
{
	Stmt *inner = outer->body;
	if (!inner || inner->kind != STMT_FOR || inner->next)
		refuse_step(s, "loop %s does not hold exactly one loop", outer->var->name);
	return inner;
}

const char *
made_name(const Scheduling *s, int index)
{
	const Kernel *kernel = s->kernel;
	const char *name = s->step->made.data[index];
	bool is_taken = false;
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		is_taken |= stmt->var && strcmp(stmt->var->name, name) == 0;
		is_taken |= stmt->kind == STMT_ALLOC && strcmp(stmt->buffer->tensor.name, name) == 0;
	}
	for (int i = 0; i < kernel->buffers.count; i++)
		is_taken |= strcmp(kernel->buffers.data[i]->tensor.name, name) == 0;
	for (int i = 0; i < kernel->symbols.count; i++)
		is_taken |= strcmp(kernel->symbols.data[i]->name, name) == 0;
	for (int i = 0; i < s->step->made.count; i++)
		is_taken |= i != index && strcmp(s->step->made.data[i], name) == 0;
	if (is_taken)
		refuse_step(s, "the name %s is taken", name);
	return name;
}

const Var *
new_counter(const Scheduling *s, int index, const Expr *lo, const Expr *hi)
{
	return var_new(s->ctx, made_name(s, index), DT_I64, lo, hi);
}

const Expr *
tidy_dim(ExprCtx *ctx, const Expr *e)
{
	const Dim *dim = dim_from_expr(ctx, e);
	return dim ? dim : e;
}

const Expr *
loop_extent(const Scheduling *s, const Stmt *loop)
{
	bool is_from_zero = expr_is_zero(loop->lo);
	return tidy_dim(s->ctx, is_from_zero ? loop->hi : expr_sub(s->ctx, loop->hi, loop->lo));
}

/* What has become blocks and threads stays so. */
static void
check_unbound(const Scheduling *s)
{
	for (int i = 0; i < s->step->loops.count; i++) {
		const Stmt *loop = find_loop(s->kernel->body, s->step->loops.data[i]);
		bool is_place = strchr(primitive_info(s->step->primitive)->form, 'a') != NULL;
		if (loop && loop->bind >= BIND_BLOCK_X && !is_place)
			refuse_step(s, "loop %s is bound to @%s", loop->var->name, bind_name(loop->bind));
	}
}

/* Hints name places as they are now: only steps that leave these go on behind them. */
static void
check_without_hints(const Scheduling *s)
{
	Primitive primitive = s->step->primitive;
	bool leaves_places = primitive == PRIM_split || primitive == PRIM_reorder ||
	                     primitive == PRIM_bind || primitive == PRIM_fetch;
	for (StmtWalk walk = stmt_walk(s->kernel->arena, s->kernel->body);
	     !leaves_places && stmt_step(&walk);)
		if (walk.stmt->kind == STMT_WARP_OP && walk.stmt->warp_op->kind == WARP_HINT)
			refuse_step(s, "lines are fetched already; it comes before that");
}

/* What steps find out about loops they find out of statements that one thread alone runs. */
static void
check_alone(const Scheduling *s)
{
	Primitive primitive = s->step->primitive;
	bool is_shared = s->step->scope == SCOPE_SHARED;
	check_unbound(s);
	check_without_hints(s);
	if (is_shared && primitive != PRIM_cache_read && primitive != PRIM_reindex)
		refuse_step(s, "only cache_read and reindex copy to @shared memory");
	bool goes_along = primitive == PRIM_tensorize || primitive == PRIM_load_matrix ||
	                  primitive == PRIM_prefetch || is_shared ||
	                  (primitive == PRIM_bind && s->step->bind == BIND_UNROLL);
	if (!goes_along && has_barriers(s, s->kernel->body))
		refuse_step(s, "threads meet there already, and it moves no barriers");
}

void
script_apply(Kernel *kernel, const Script *script)
{
	static void (*const apply[])(Scheduling *) = {
#define PRIMITIVE(name, form, doc) primitive_##name,
#include "tir/primitives.def"
#undef PRIMITIVE
	};
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);)
		if (stmt_is_barrier(walk.stmt))
			fail_unsupported(&walk.stmt->loc,
			                 "kernel %s: no step moves barriers and operations of "
			                 "threads",
			                 kernel->name);
	for (int i = 0; i < script->steps.count; i++) {
		Scheduling s = {kernel, kernel->ctx, &script->steps.data[i]};
		check_alone(&s);
		apply[s.step->primitive](&s);
	}
	kernel_finish(kernel);
}
