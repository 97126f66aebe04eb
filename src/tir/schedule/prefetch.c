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

/* What a store copies of a parameter, where `inside` holds (NULL: always; elsewhere zeros); NULL:
 * it is no copy. */
static const Expr *
copied(const Stmt *store, const Expr **inside)
{
	const Expr *value = store->value;
	*inside = NULL;
	if (value->op == EX_select && expr_is_zero(value->arg[2])) {
		*inside = value->arg[0];
		value = value->arg[1];
	}
	bool is_copy = store->op == STORE_SET && value->op == EX_read &&
	               ((const Buffer *)value->tensor)->scope == SCOPE_PARAM;
	return is_copy ? value : NULL;
}

/* A store, or the loop of its lanes, becomes an operation. Of other sizes than CUDA's they stay
 * stores, a step ahead, too. */
static void
make_one_async(Prefetch *p, Stmt *at, Stmt *store)
{
	Kernel *kernel = p->s->kernel;
	int64_t width = 1;
	if (at != store && !expr_as_i64(at->hi, &width))
		return;
	if (at != store)
		store = stmt_copy(kernel, store, at->var, expr_i64(p->s->ctx, 0));
	const Expr *inside, *value = copied(store, &inside);
	int64_t bytes = width * dtype_bits(value->type) / 8;
	if ((bytes != 4 && bytes != 8 && bytes != 16) || (at != store && width > 1 && inside))
		return;
	const Expr *args[] = {value, expr_i64(p->s->ctx, bytes), inside};
	Stmt *next = at->next;
	*at = *stmt_warp_op(kernel, warp_op_find(inside ? "cp.async.zfill" : "cp.async"), store->buffer,
	                    store->index, STORE_SET, args);
	at->next = next;
}

/* Whether rows of the buffer begin at multiples of so many elements, as an operation's do. */
static bool
has_whole_rows(const Buffer *buffer, const Expr *width)
{
	int64_t row, count;
	int last = buffer->tensor.rank - 1;
	return last < 1 || (dim_is_const(buffer->tensor.hi[last], &row) && expr_as_i64(width, &count) &&
	                    row % count == 0);
}

/* The stores of a list, in its loops and conditions. */
static void
make_async(Prefetch *p, Stmt *list)
{
	for (Stmt *at = list; at; at = at->next) {
		bool is_wide = at->kind == STMT_FOR && at->bind == BIND_VECTOR &&
		               at->body->kind == STMT_STORE && !at->body->next;
		if (is_wide && !has_whole_rows(at->body->buffer, at->hi)) {
			at->bind = BIND_UNROLL;
			is_wide = false;
		}
		if (at->kind == STMT_STORE || is_wide)
			make_one_async(p, at, is_wide ? at->body : at);
		else if (at->kind == STMT_FOR || at->kind == STMT_IF) {
			make_async(p, at->body);
			make_async(p, at->other);
		}
	}
}

/* Whether all that a list stores are copies to named buffers, which are added to p->old. */
static bool
are_copies(Prefetch *p, const Stmt *list)
{
	for (const Stmt *at = list; at && at->kind != STMT_SYNC; at = at->next) {
		const Expr *inside;
		bool is_loop = at->kind == STMT_FOR || at->kind == STMT_IF;
		if (is_loop && (!are_copies(p, at->body) || !are_copies(p, at->other)))
			return false;
		if (is_loop || at->kind == STMT_LET)
			continue;
		if (at->kind != STMT_STORE || at->buffer->scope != SCOPE_SHARED || !copied(at, &inside) ||
		    !is_named_buffer(p->s, &at->buffer->tensor))
			return false;
		bool is_known = false;
		for (int i = 0; i < p->old.count; i++)
			is_known |= p->old.data[i] == at->buffer;
		if (!is_known)
			vec_push(p->s->kernel->arena, &p->old, at->buffer);
	}
	return true;
}

/* The statements in front of the first barrier, which copy to the named buffers; they are cut
 * off. */
static Stmt *
cut_copies(Prefetch *p)
{
	const Scheduling *s = p->s;
	Stmt *copies = p->loop->body, *last = NULL;
	if (!are_copies(p, copies))
		refuse_step(s, "not only copies to these stand in front of the first barrier of loop %s",
		            p->loop->var->name);
	bool has_names = false; /* which others may use */
	for (Stmt *at = copies; at && at->kind != STMT_SYNC; at = at->next) {
		has_names |= at->kind == STMT_LET;
		last = at;
	}
	if (!last || has_names || !last->next || p->old.count != s->step->buffers.count)
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
	make_async(&p, copies);
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
