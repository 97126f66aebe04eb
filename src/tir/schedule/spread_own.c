/* Arrays between loops that threads share, of which each thread uses what it has made itself.
 *
 *     for k in 1000                        for r in 8 @unroll
 *       e[k] = exp(X[b,k])           =>      own[r] = exp(X[b,r*128+t])
 *     for k in 1000                        for r in 8 @unroll
 *       sum[] += e[k]                        sum[] += own[r]
 *
 * Iteration k of each loop uses its part of the array and no other, e[k] or e[4*k+v]. Then it lies
 * in registers, and nobody waits.
 */
#include "tir/schedule/spread_own.h"

enum { MOST_BYTES = 128 }; /* of a thread's registers */

typedef struct Search {
	const Buffer *buffer;
	bool is_found;
} Search;

static const Buffer *
look(Kernel *kernel, const Buffer *buffer, const Expr *const **index, void *arg)
{
	Search *search = arg;
	(void)kernel, (void)index;
	search->is_found |= buffer == search->buffer;
	return NULL;
}

/* Whether the list reads or stores the buffer outside of the step's loops. */
static bool
is_used_outside(const Scheduling *s, Stmt *const *loops, Stmt *list, const Buffer *buffer)
{
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		Search search = {buffer, false};
		Stmt alone = *stmt;
		bool is_loop = false;
		for (int i = 0; i < s->step->loops.count; i++)
			is_loop |= loops[i] == stmt;
		if (is_loop)
			continue;
		alone.next = alone.body = alone.other = NULL;
		stmt_redirect(s->kernel, &alone, look, &search);
		if (search.is_found || is_used_outside(s, loops, stmt->body, buffer) ||
		    is_used_outside(s, loops, stmt->other, buffer))
			return true;
	}
	return false;
}

/* Whether the access is of the loop's iteration's own part, of so many elements. */
static bool
is_of_part(const Scheduling *s, const Stmt *loop, const Access *access, int64_t part)
{
	ExprCtx *ctx = s->ctx;
	Facts *facts = facts_new(ctx, s->kernel->arena);
	facts_var(facts, loop->var, loop->lo, loop->hi);
	for (const Around *at = access->around; at; at = at->outer)
		facts_var(facts, at->loop->var, at->loop->lo, at->loop->hi);
	const Expr *number = expr_floordiv(ctx, access->index[0], expr_i64(ctx, part));
	bool is_own = expr_simplify(facts, number) == expr_var(ctx, loop->var);
	facts_close(facts);
	return is_own;
}

/* Elements that each iteration of the loop has of an array of `size`; 0: others, too, or none. */
static int64_t
part_of(const Scheduling *s, Stmt *loop, const Buffer *local, int64_t size)
{
	int64_t extent;
	AccessVec all = {0};
	if (!expr_is_zero(loop->lo) || !expr_as_i64(loop->hi, &extent) || extent < 1 ||
	    size % extent != 0)
		return 0;
	find_accesses(s->kernel, loop->body, &all);
	for (int i = 0; i < all.count; i++)
		if (all.data[i].tensor == &local->tensor &&
		    !is_of_part(s, loop, &all.data[i], size / extent))
			return 0;
	return size / extent;
}

static bool
uses(const Scheduling *s, Stmt *loop, const Buffer *local)
{
	Search search = {local, false};
	stmt_redirect(s->kernel, loop->body, look, &search);
	return search.is_found;
}

Buffer *
spread_own(const Scheduling *s, Stmt *const *loops, Stmt *list, const Buffer *local)
{
	const Tensor *tensor = &local->tensor;
	int64_t size, part = 0, threads = s->step->number;
	if (tensor->rank != 1 || !dim_is_const(tensor->hi[0], &size) ||
	    is_used_outside(s, loops, list, local))
		return NULL;
	for (int i = 0; i < s->step->loops.count; i++) {
		if (!uses(s, loops[i], local))
			continue;
		int64_t one = part_of(s, loops[i], local, size);
		if (one == 0 || (part > 0 && one != part))
			return NULL;
		part = one;
	}
	if (part == 0)
		return NULL;
	int64_t rounds = (size / part + threads - 1) / threads;
	const Dim *count = dim_const(s->ctx, rounds * part);
	if (rounds * part * dtype_bits(tensor->type) > MOST_BYTES * 8)
		return NULL;
	return kernel_local(s->kernel, tensor->name, tensor->type, 1, &count, SCOPE_REG);
}
