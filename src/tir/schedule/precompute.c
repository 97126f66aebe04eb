/* precompute: what is made of an input's elements, and nothing else, is made in front.
 *
 *     for m in 32                                for t_0 in 64, t_1 in 16
 *       for k in 64, b in 16                       t[t_0, t_1] = f32(W[t_0, t_1]) * S[t_1]
 *         Y[m, b] += X[m, k]              =>     for m in 32
 *                    * (f32(W[k, b])               for k in 64, b in 16
 *                       * S[b])                      Y[m, b] += X[m, k] * t[k, b]
 *
 *     precompute W at q @scratch -> t            q stands around all that
 *
 * It is the largest part of the one expression that reads W which changes with the same loops as
 * what is read, and reads but arguments that nobody stores. The local has a dim for each of these
 * loops, in their order, those in lanes last; they run from 0 to a number.
 */
#include <string.h>

#include "tir/schedule/local.h"
#include "tir/text.h"

typedef struct Precompute {
	Scheduling *s;
	Stmt *loop;
	const Access *access;    /* of the input */
	const Expr *made;        /* what is made of it … */
	VEC(const Stmt *) loops; /* … and the loops with which that changes: dims of the local */
} Precompute;

/* ---- what it is ------------------------------------------------------------------------------ */

static const Access *
only_access(const Scheduling *s, const AccessVec *all)
{
	const Tensor *tensor = named_tensor(s, all);
	const Access *found = NULL;
	for (int i = 0; i < all->count; i++) {
		if (all->data[i].tensor != tensor)
			continue;
		if (found)
			refuse_step(s, "%s is used at more than one place", tensor->name);
		found = &all->data[i];
	}
	return found;
}

/* Loops with which the read changes, outermost first, those in lanes last. */
static void
find_loops(Precompute *p)
{
	VEC(const Stmt *) inward = {0};
	Arena *arena = p->s->kernel->arena;
	for (const Around *at = p->access->around; at; at = at->outer) {
		bool is_used = false;
		for (int d = 0; d < p->access->tensor->rank; d++)
			is_used |= expr_uses_var(p->access->index[d], at->loop->var);
		if (is_used)
			vec_push(arena, &inward, at->loop);
	}
	for (int is_lane = 0; is_lane < 2; is_lane++)
		for (int i = inward.count - 1; i >= 0; i--)
			if ((inward.data[i]->bind == BIND_VECTOR) == is_lane)
				vec_push(arena, &p->loops, inward.data[i]);
	for (int i = 0; i < p->loops.count; i++) {
		int64_t extent;
		const Stmt *loop = p->loops.data[i];
		if (!expr_is_zero(loop->lo) || !expr_as_i64(loop->hi, &extent))
			refuse_step(p->s, "loop %s does not run from 0 to a number", loop->var->name);
	}
}

static bool
is_counted(const Precompute *p, const Var *var)
{
	for (int i = 0; i < p->loops.count; i++)
		if (p->loops.data[i]->var == var)
			return true;
	return false;
}

/* Whether it changes with these loops alone of all that stands inside, and reads arguments that
 * stay as they are. */
static bool
is_theirs(const Precompute *p, const Expr *e)
{
	for (StmtWalk walk = stmt_walk(p->s->kernel->arena, p->loop->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		if (stmt->var && !is_counted(p, stmt->var) && expr_uses_var(e, stmt->var))
			return false;
		if (stmt->kind == STMT_STORE && expr_reads(e, &stmt->buffer->tensor))
			return false;
	}
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		if (walk.e->op == EX_at ||
		    (walk.e->op == EX_read && ((const Buffer *)walk.e->tensor)->scope != SCOPE_PARAM))
			return false;
	return true;
}

/* The largest such part around the read. */
static void
find_made(Precompute *p)
{
	for (StmtWalk walk = stmt_walk(p->s->kernel->arena, p->loop->body); stmt_step(&walk);) {
		if (!walk.stmt->value || !expr_reads(walk.stmt->value, p->access->tensor))
			continue;
		for (ExprWalk exprs = expr_walk(walk.stmt->value); expr_step(&exprs);) {
			const Expr *e = exprs.e;
			bool is_around = p->made ? expr_holds(e, p->made)
			                         : e->op == EX_read && e->tensor == p->access->tensor;
			if (is_around && is_theirs(p, e))
				p->made = e;
		}
	}
	if (!p->made || p->made->type == DT_BOOL)
		refuse_step(p->s, "nothing is made of %s that could be made in front",
		            p->access->tensor->name);
}

/* It is computed in all iterations now, under no condition. */
static void
check_range(const Precompute *p)
{
	Facts *facts = facts_at(p->s, p->loop->body);
	for (int i = 0; i < p->loops.count; i++)
		facts_var(facts, p->loops.data[i]->var, p->loops.data[i]->lo, p->loops.data[i]->hi);
	for (ExprWalk walk = expr_walk(p->made); expr_step(&walk);)
		if (walk.e->op == EX_read && read_range(facts, walk.e->tensor, walk.e->arg))
			refuse_step(p->s, "%s may be read outside then", walk.e->tensor->name);
	facts_close(facts);
}

/* ---- the local ------------------------------------------------------------------------------- */

static const Buffer *
make_local(const Precompute *p)
{
	const Dim **dims = NEW_N(p->s->kernel->arena, const Dim *, p->loops.count + 1);
	for (int i = 0; i < p->loops.count; i++)
		dims[i] = p->loops.data[i]->hi;
	return kernel_local(p->s->kernel, made_name(p->s, 0), (DType)p->made->type, p->loops.count,
	                    dims, p->s->step->scope);
}

/* Loops that fill it. */
static Stmt *
fill(const Precompute *p, const Buffer *local)
{
	Kernel *kernel = p->s->kernel;
	int count = p->loops.count;
	Map values = {.arena = kernel->arena};
	const Expr **place = NEW_N(kernel->arena, const Expr *, count + 1);
	for (int i = 0; i < count; i++) {
		const char *name = arena_printf(kernel->arena, "%s_%d", local->tensor.name, i);
		const Stmt *loop = p->loops.data[i];
		place[i] = expr_var(p->s->ctx, var_new(p->s->ctx, name, DT_I64, loop->lo, loop->hi));
		map_set_ptr(&values, loop->var, (void *)(uintptr_t)place[i]);
	}
	const Expr *value = expr_replace_vars(p->made, &values);
	Stmt *body = stmt_store(kernel, local, place, STORE_SET, value);
	for (int i = count - 1; i >= 0; i--)
		body = stmt_for(kernel, place[i]->var, place[i]->var->lo, place[i]->var->hi, BIND_SERIAL,
		                body);
	return body;
}

typedef struct Replaced {
	const Expr *made, *read;
} Replaced;

static const Expr *
replace_made(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Replaced *replaced = arg;
	(void)ctx;
	return e == replaced->made ? replaced->read : e;
}

void
primitive_precompute(Scheduling *s)
{
	Precompute p = {.s = s, .loop = named_loop(s, 0)};
	AccessVec all = {0};
	find_accesses(s->kernel, p.loop->body, &all);
	p.access = only_access(s, &all);
	check_only_read(s, p.access->tensor);
	find_loops(&p);
	find_made(&p);
	check_range(&p);
	const Buffer *local = make_local(&p);
	Stmt *front = stmt_append(stmt_alloc(s->kernel, local, NULL), fill(&p, local));
	const Expr **place = NEW_N(s->kernel->arena, const Expr *, p.loops.count + 1);
	for (int i = 0; i < p.loops.count; i++)
		place[i] = expr_var(s->ctx, p.loops.data[i]->var);
	Replaced replaced = {p.made, expr_read(s->ctx, &local->tensor, place)};
	stmt_rewrite_exprs(s->kernel, p.loop->body, replace_made, &replaced);
	p.loop->body = stmt_append(front, p.loop->body);
	kernel_name_apart(s->kernel);
}
