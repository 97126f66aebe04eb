/* prefetch: what an iteration reads of shared memory is on its way while the one before runs.
 *
 *     for ko in 8 {                             for sa_0 in 2
 *       for sa_0 in 2                             sa[0, …] = cp.async(A[…0…], 16)
 *         sa[…] = A[…ko…]                       cp.async.commit
 *       sync                                    for ko in 8 {
 *       S(sa)                             =>      if (ko + 1 < 8)
 *       sync                                        for sa_0 in 2
 *     }                                               sa[(ko + 1)%2, …] = cp.async(A[…ko + 1…], 16)
 *                                                 cp.async.commit
 *     prefetch sa at ko                           cp.async.wait(1)
 *                                                 sync
 *                                                 S(sa[ko%2])
 *                                                 sync
 *                                               }
 */
#include <string.h>

#include "tir/schedule/grid.h"
#include "tir/text.h"

/* Two iterations have a half of each buffer. */
typedef struct Prefetch {
	Scheduling *s;
	Stmt *loop;
	VEC(const Buffer *) old, made;
	const Expr *half;
} Prefetch;

static const Buffer *
to_half(Kernel *kernel, const Buffer *buffer, const Expr *const **index, void *arg)
{
	const Prefetch *p = arg;
	for (int i = 0; i < p->old.count; i++) {
		if (buffer != p->old.data[i])
			continue;
		int rank = buffer->tensor.rank;
		const Expr **place = NEW_N(kernel->arena, const Expr *, rank + 1);
		place[0] = p->half;
		for (int d = 0; d < rank; d++)
			place[d + 1] = (*index)[d];
		*index = place;
		return p->made.data[i];
	}
	return NULL;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* The store of a copy, in its loops and conditions; NULL: it is none. */
static Stmt *
store_of(Stmt *stmt)
{
	while (stmt && (stmt->kind == STMT_FOR || stmt->kind == STMT_IF) && !stmt->other &&
	       stmt->body && !stmt->body->next)
		stmt = stmt->body;
	bool is_copy = stmt && stmt->kind == STMT_STORE && stmt->value->op == EX_read &&
	               ((const Buffer *)stmt->value->tensor)->scope == SCOPE_PARAM;
	return is_copy ? stmt : NULL;
}

/* The store becomes an operation; the loop of its lanes one statement. */
static void
make_async(Prefetch *p, Stmt *copy)
{
	Kernel *kernel = p->s->kernel;
	ExprCtx *ctx = kernel->ctx;
	Stmt *at = copy, *store = store_of(copy), *outer = NULL;
	int64_t width = 1;
	for (; at != store; at = at->body)
		if (at->kind == STMT_FOR && at->bind == BIND_VECTOR)
			outer = at;
	const Expr *value = store->value, *const *index = store->index;
	if (outer && outer->body == store && expr_as_i64(outer->hi, &width)) {
		Stmt *body = stmt_copy(kernel, store, outer->var, expr_i64(ctx, 0));
		value = body->value;
		index = body->index;
	}
	int64_t bytes = width * dtype_bits(value->type) / 8;
	if (bytes != 4 && bytes != 8 && bytes != 16)
		refuse_step(p->s, "%s is copied by %lld bytes, not 4, 8 or 16", store->buffer->tensor.name,
		            (long long)bytes);
	const Expr *args[] = {value, expr_i64(ctx, bytes)};
	Stmt *to = width > 1 ? outer : store, *next = to->next;
	*to = *stmt_warp_op(kernel, warp_op_find("cp.async"), store->buffer, index, STORE_SET, args);
	to->next = next;
}

/* The statements in front of the first barrier, each a copy to a named buffer; they are cut off. */
static Stmt *
cut_copies(Prefetch *p)
{
	const Scheduling *s = p->s;
	Stmt *copies = p->loop->body, *last = NULL;
	int found = 0;
	for (Stmt *at = copies; at && at->kind != STMT_SYNC; at = at->next) {
		const Stmt *store = store_of(at);
		if (!store || store->buffer->scope != SCOPE_SHARED ||
		    !is_named_buffer(s, &store->buffer->tensor))
			refuse_step(s,
			            "not only copies to these stand in front of the first barrier of loop %s",
			            p->loop->var->name);
		vec_push(s->kernel->arena, &p->old, store->buffer);
		last = at;
		found++;
	}
	if (!last || !last->next || found != s->step->buffers.count)
		refuse_step(s, "loop %s does not begin with copies to these, and a barrier",
		            p->loop->var->name);
	p->loop->body = last->next;
	last->next = NULL;
	return copies;
}

/* ---- halves ---------------------------------------------------------------------------------- */

/* Buffers of two halves take the places of the old ones. */
static void
make_halves(Prefetch *p)
{
	Kernel *kernel = p->s->kernel;
	for (int i = 0; i < p->old.count; i++) {
		const Tensor *old = &p->old.data[i]->tensor;
		const Dim **dims = NEW_N(kernel->arena, const Dim *, old->rank + 1);
		if (old->rank == ARRAY_MAX_RANK)
			refuse_step(p->s, "%s has too many dims", old->name);
		dims[0] = dim_const(kernel->ctx, 2);
		for (int d = 0; d < old->rank; d++)
			dims[d + 1] = old->hi[d];
		vec_push(kernel->arena, &p->made,
		         kernel_local(kernel, old->name, old->type, old->rank + 1, dims, SCOPE_SHARED));
	}
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);)
		for (int i = 0; i < p->old.count && walk.stmt->kind == STMT_ALLOC; i++)
			if (walk.stmt->buffer == p->old.data[i])
				walk.stmt->buffer = p->made.data[i];
}

static const Expr *
half_of(const Prefetch *p, const Expr *position)
{
	return expr_floormod(p->s->ctx, position, expr_i64(p->s->ctx, 2));
}

/* Copies for the iteration `value`, to its half. */
static Stmt *
copies_for(Prefetch *p, Stmt *copies, const Expr *value)
{
	Stmt *list = stmt_copy(p->s->kernel, copies, p->loop->var, value);
	p->half = half_of(p, value);
	stmt_redirect(p->s->kernel, list, to_half, p);
	return list;
}

static Stmt *
thread_op(const Prefetch *p, const char *name, const Expr *arg)
{
	return stmt_warp_op(p->s->kernel, warp_op_find(name), NULL, NULL, STORE_SET, &arg);
}

void
primitive_prefetch(Scheduling *s)
{
	Kernel *kernel = s->kernel;
	ExprCtx *ctx = s->ctx;
	Prefetch p = {.s = s, .loop = named_loop(s, 0)};
	Stmt *loop = p.loop;
	Grid grid = find_grid(s);
	if (loop == grid.inner)
		refuse_step(s, "there is no iteration before");
	check_met_by_all(s, &grid, loop);
	if (!is_certain_at(s, loop, expr_lt(ctx, loop->lo, loop->hi)))
		refuse_step(s, "it is not certain that loop %s runs", loop->var->name);
	Stmt *copies = cut_copies(&p);
	for (Stmt *copy = copies; copy; copy = copy->next)
		make_async(&p, copy);
	make_halves(&p);
	const Expr *here = expr_var(ctx, loop->var), *next = expr_add(ctx, here, expr_i64(ctx, 1));
	Stmt *first = copies_for(&p, copies, loop->lo);
	stmt_append(first, thread_op(&p, "cp.async.commit", NULL));
	Stmt *front = stmt_if(kernel, expr_lt(ctx, next, loop->hi), copies_for(&p, copies, next), NULL);
	stmt_append(front, thread_op(&p, "cp.async.commit", NULL));
	stmt_append(front, thread_op(&p, "cp.async.wait", expr_i64(ctx, 1)));
	p.half = half_of(&p, here);
	stmt_redirect(kernel, loop->body, to_half, &p);
	loop->body = stmt_append(front, loop->body);
	Stmt *behind = NEW(kernel->arena, Stmt);
	*behind = *loop;
	*loop = *stmt_append(first, behind);
	kernel_name_apart(kernel);
}
