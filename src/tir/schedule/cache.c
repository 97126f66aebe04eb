/* cache_read, pack, cache_write, rfactor: what a loop's body uses of a buffer lies in a local.
 *
 *     for ko in 8 {                            for ko in 8 {
 *       for u in 6, ki in 64                     Ap: f32[6,64] @stack
 *         … A[6*t + u, 64*ko + ki] …    =>       for Ap_0 in 6, Ap_1 in 64
 *     }                                            Ap[Ap_0, Ap_1] = A[6*t + Ap_0, 64*ko + Ap_1]
 *                                                for u in 6, ki in 64
 *     cache_read A at ko @stack -> Ap              … Ap[u, ki] …
 *                                              }
 *
 * cache_write does the same for stores: where these are sums, the local begins with their identity,
 * and what it holds in the end is added. What is stored back must be just what the body stores:
 * the box of its stores, all of it. rfactor is cache_write around a loop and those that it alone
 * stands in, with an element for each of its iterations.
 */
#include <stdlib.h>
#include <string.h>

#include "tir/schedule/grid.h"
#include "tir/text.h"

const Tensor *
named_tensor(const Scheduling *s, const AccessVec *all)
{
	const char *name = s->step->buffers.data[0];
	for (int i = 0; i < all->count; i++)
		if (strcmp(all->data[i].tensor->name, name) == 0)
			return all->data[i].tensor;
	refuse_step(s, "nothing in it uses %s, or that is made there", name);
}

/* Where a local of a loop's body stands. */
static void
check_place(const Scheduling *s, const Stmt *loop)
{
	if (loop->body && loop->body->kind == STMT_FOR && loop->body->bind == BIND_PARALLEL)
		refuse_step(s, "@parallel loop %s in it stands in @parallel loops alone",
		            loop->body->var->name);
}

/* ---- reads ----------------------------------------------------------------------------------- */

void
check_only_read(const Scheduling *s, const Tensor *tensor)
{
	AccessVec everywhere = {0};
	if (((const Buffer *)tensor)->scope != SCOPE_PARAM)
		refuse_step(s, "%s is no argument of the kernel", tensor->name);
	find_accesses(s->kernel, s->kernel->body, &everywhere);
	for (int i = 0; i < everywhere.count; i++)
		if (everywhere.data[i].tensor == tensor && everywhere.data[i].is_store)
			refuse_step(s, "%s is stored too", tensor->name);
}

/* f16 and bf16 that are only turned into f32 there: a copy is turned once, in whole vectors, and
 * not at each of its uses. */
static bool
is_only_widened(const Scheduling *s, Stmt *list, const Tensor *tensor)
{
	bool is_only = dtype_is_short_float(tensor->type);
	for (StmtWalk walk = stmt_walk(s->kernel->arena, list); is_only && stmt_step(&walk);) {
		const Expr *root = walk.stmt->value;
		is_only &= walk.stmt->kind != STMT_WARP_OP &&
		           !(root && root->op == EX_read && root->tensor == tensor);
		ExprWalk exprs = expr_walk(root);
		for (expr_walk_add(&exprs, walk.stmt->condition); expr_step(&exprs);)
			for (int i = 0; i < exprs.e->argc; i++)
				is_only &= exprs.e->arg[i]->op != EX_read || exprs.e->arg[i]->tensor != tensor ||
				           (exprs.e->op == EX_cast && exprs.e->type == DT_F32);
	}
	return is_only;
}

static void
read_into(Scheduling *s, Stmt *loop, Local *l)
{
	check_only_read(s, l->old);
	if (is_only_widened(s, loop->body, l->old))
		l->type = DT_F32;
	local_make(l, made_name(s, 0), NULL);
	local_redirect(l, loop->body);
	Stmt *front = stmt_append(stmt_alloc(s->kernel, l->buffer, NULL), local_move(l, MOVE_IN, 0));
	loop->body = stmt_append(front, loop->body);
	kernel_name_apart(s->kernel);
}

static Local
plan_at(const Scheduling *s, const Stmt *loop, bool is_read)
{
	AccessVec all = {0};
	check_place(s, loop);
	find_accesses(s->kernel, loop->body, &all);
	const Tensor *tensor = named_tensor(s, &all);
	Facts *facts = facts_at(s, loop->body);
	return is_read ? local_plan_reads(s, facts, &all, tensor) : local_plan(s, facts, &all, tensor);
}

void
primitive_cache_read(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0);
	if (s->step->scope == SCOPE_SHARED) {
		share_reads(s, loop);
		return;
	}
	Local l = plan_at(s, loop, true);
	read_into(s, loop, &l);
}

/* "a6b": dim a in blocks of 6, b, and in the end what a block of a holds. */
static void
read_order(Local *l)
{
	const Scheduling *s = l->s;
	Arena *arena = s->kernel->arena;
	int count = l->old->rank;
	bool *is_there = NEW_N(arena, bool, count);
	VEC(Part) blocks = {0};
	l->parts.count = 0;
	const char *at = s->step->order;
	while (*at) {
		int dim = *at - 'a';
		char *end;
		int64_t block = strtoll(at + 1, &end, 10);
		if (dim < 0 || dim >= count || is_there[dim] || (end > at + 1 && block < 1) ||
		    block > INT32_MAX)
			break;
		is_there[dim] = true;
		vec_push(arena, &l->parts, (Part){end > at + 1 ? PART_BLOCKS : PART_WHOLE, dim, block});
		if (end > at + 1)
			vec_push(arena, &blocks, (Part){PART_IN_BLOCK, dim, block});
		at = end;
	}
	if (*at || l->parts.count < count)
		refuse_step(s, "%s does not name each dim of %s once, from a on, with the length of blocks",
		            s->step->order, l->old->name);
	for (int i = 0; i < blocks.count; i++)
		vec_push(arena, &l->parts, blocks.data[i]);
}

void
primitive_pack(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0);
	Local l = plan_at(s, loop, true);
	read_order(&l);
	read_into(s, loop, &l);
}

/* ---- stores ---------------------------------------------------------------------------------- */

/* How all of them store, when nothing reads. */
static int
common_op(const Scheduling *s, const AccessVec *all, const Tensor *tensor)
{
	int op = STORE_SET, count = 0;
	for (int i = 0; i < all->count; i++) {
		const Access *access = &all->data[i];
		if (access->tensor != tensor)
			continue;
		if (!access->is_store)
			refuse_step(s, "%s is read there", tensor->name);
		if (count++ > 0 && access->op != op)
			refuse_step(s, "%s is stored in two ways there", tensor->name);
		op = access->op;
	}
	return op;
}

/* Whether the access stores to all of the box: to as many places as it has. A sum that does not run
 * stores nothing; the identity that is added instead makes no difference. */
static bool
covers(const Local *l, const Access *access)
{
	ExprCtx *ctx = l->s->ctx;
	Arena *arena = l->s->kernel->arena;
	const Expr *places = expr_i64(ctx, 1), *box = places;
	VEC(const Stmt *) loops = {0}, inward = {0};
	for (const Around *at = access->around; at; at = at->outer) {
		bool is_used = false;
		const Stmt *loop = at->loop;
		for (int d = 0; d < l->old->rank; d++)
			is_used |= expr_uses_var(access->index[d], loop->var);
		if (is_used)
			vec_push(arena, &loops, loop);
		else if (access->op == STORE_SET &&
		         !facts_prove(l->facts, expr_lt(ctx, loop->lo, loop->hi)))
			return false;
	}
	for (int i = loops.count - 1; i >= 0; i--) {
		vec_push(arena, &inward, loops.data[i]);
		places = expr_mul(ctx, places, loop_extent(l->s, loops.data[i]));
	}
	for (int d = 0; d < l->old->rank; d++)
		box = expr_mul(ctx, box, l->box.extent[d]);
	return !(access->op == STORE_SET && access->is_conditional) &&
	       expr_is_zero(expr_simplify(l->facts, expr_sub(ctx, places, box))) &&
	       is_injective(l->s, inward.count, inward.data, access);
}

static void
check_covered(const Local *l, const AccessVec *all)
{
	for (int i = 0; i < all->count; i++)
		if (all->data[i].tensor == l->old && !covers(l, &all->data[i]))
			refuse_step(l->s, "it is not certain that all of a box of %s is stored there",
			            l->old->name);
}

/* What stands in front of the loops that store into the local, and behind them. */
static void
store_through(Local *l, int op, Stmt **front, Stmt **behind)
{
	bool is_set = op == STORE_SET, is_reg = l->buffer->scope == SCOPE_REG;
	const Expr *none = is_set ? NULL : reduce_identity(l->s->ctx, (ReduceOp)op, 0, l->old->type);
	*front = stmt_alloc(l->s->kernel, l->buffer, is_reg ? none : NULL);
	if (!is_set && !is_reg)
		*front = stmt_append(*front, local_move(l, MOVE_IDENTITY, op));
	*behind = local_move(l, MOVE_OUT, op);
}

void
primitive_cache_write(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0), *front, *behind;
	AccessVec all = {0};
	find_accesses(s->kernel, loop->body, &all);
	int op = common_op(s, &all, named_tensor(s, &all));
	Local l = plan_at(s, loop, false);
	check_covered(&l, &all);
	local_make(&l, made_name(s, 0), NULL);
	local_redirect(&l, loop->body);
	store_through(&l, op, &front, &behind);
	loop->body = stmt_append(stmt_append(front, loop->body), behind);
	kernel_name_apart(s->kernel);
}

/* The buffer whose elements the loop adds to, the same ones in each iteration. */
static const Tensor *
summed_tensor(const Scheduling *s, const Stmt *loop, const AccessVec *all)
{
	const Tensor *found = NULL;
	for (int i = 0; i < all->count; i++) {
		const Access *access = &all->data[i];
		if (!access->is_store)
			continue;
		if (found && access->tensor != found)
			refuse_step(s, "it stores to %s and to %s", found->name, access->tensor->name);
		for (int d = 0; d < access->tensor->rank; d++)
			if (expr_uses_var(access->index[d], loop->var))
				refuse_step(s, "what it stores to %s is no sum over its iterations",
				            access->tensor->name);
		found = access->tensor;
	}
	if (!found || common_op(s, all, found) == STORE_SET)
		refuse_step(s, "it is no loop of a sum");
	return found;
}

/* The loop that holds a statement, as the first one. */
static Stmt *
find_holder(Stmt *list, const Stmt *inner)
{
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		if (stmt->kind == STMT_FOR && stmt->body == inner)
			return stmt;
		Stmt *found = find_holder(stmt->body, inner);
		found = found ? found : find_holder(stmt->other, inner);
		if (found)
			return found;
	}
	return NULL;
}

/* The outermost loop around that holds nothing else and takes part in the sum. */
static Stmt *
whole_sum(Scheduling *s, Stmt *loop, const Tensor *tensor)
{
	Stmt *top = loop;
	for (Stmt *outer; (outer = find_holder(s->kernel->body, top)) && !top->next;) {
		AccessVec all = {0};
		find_accesses(s->kernel, top, &all);
		for (int i = 0; i < all.count; i++)
			for (int d = 0; d < tensor->rank && all.data[i].tensor == tensor; d++)
				if (expr_uses_var(all.data[i].index[d], outer->var))
					return top;
		if (outer->bind != BIND_SERIAL)
			return top;
		top = outer;
	}
	return top;
}

void
primitive_rfactor(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0), *front, *behind;
	AccessVec all = {0};
	find_accesses(s->kernel, loop->body, &all);
	const Tensor *tensor = summed_tensor(s, loop, &all);
	int op = common_op(s, &all, tensor);
	Stmt *top = whole_sum(s, loop, tensor), *next = top->next;
	top->next = NULL;
	all.count = 0;
	find_accesses(s->kernel, top, &all);
	Local l = local_plan(s, facts_at(s, top), &all, tensor);
	check_covered(&l, &all);
	l.lane = tidy_dim(s->ctx, expr_sub(s->ctx, expr_var(s->ctx, loop->var), loop->lo));
	l.lanes = bound_of_loop(s, loop);
	if (!l.lanes)
		refuse_step(s, "there is no bound for how often it runs");
	vec_push(s->kernel->arena, &l.parts, (Part){PART_LANE, 0, 0});
	local_make(&l, made_name(s, 0), NULL);
	local_redirect(&l, top);
	store_through(&l, op, &front, &behind);
	Stmt *sum = NEW(s->kernel->arena, Stmt);
	*sum = *top;
	*top = *stmt_append(stmt_append(front, sum), behind);
	stmt_append(top, next);
	kernel_name_apart(s->kernel);
}
