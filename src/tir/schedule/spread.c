/* spread: the threads of a block share the iterations of loops that stand one after another.
 *
 *     for b in 64 @block.x {                  for b in 64 @block.x, t in 128 @thread.x {
 *       sum: f32 @reg = 0                       sum: f32 @reg = 0
 *       for k in 1000                   =>      for k in 8
 *         sum[] += X[b, k]                        if (k*128+t < 1000)
 *       for i in 1000                               sum[] += X[b, k*128+t]
 *         Y[b, i] = X[b, i] / sum[]             … sum[] of all 128 threads …
 *     }                                         for i in 8
 *                                                 if (i*128+t < 1000)
 *     spread k, i 128 -> t                          Y[b, i*128+t] = X[b, i*128+t] / sum[]
 *                                             }
 *
 * What stands outside of these loops each thread does for itself, and the first one stores what
 * goes to memory. A sum over such a loop is one of parts: the lanes of a warp give each other
 * theirs, warps theirs through shared memory, always in the same order. An array that such a loop
 * fills lies in registers where each thread uses its own part (spread_own.c), else in shared
 * memory, and barriers stand behind what uses it.
 */
#include "tir/schedule/grid.h"
#include "tir/schedule/spread_own.h"
#include "tir/text.h"

enum { MOST_THREADS = 1024 /* of a block, on all devices */, FEW_ROUNDS = 8 };

typedef struct Spreading {
	Scheduling *s;
	Kernel *kernel;
	ExprCtx *ctx;
	Stmt **loops;       /* those of the step, as they were */
	Grid grid;          /* around: the threads that there are besides */
	const Expr *thread; /* number among those that share */
	int64_t threads;    /* of them */
	bool in_loop;       /* what is repeated waits for its readers, too */
	Map arrays;         /* Tensor of a local that became shared to its Buffer */
	Map own;            /* of one of which each thread has its part to that */
	Stmt *made;         /* what makes these */
	VEC(Stmt *) sums;   /* ALLOCs of sums whose parts are not together yet */
} Spreading;

/* ---- what there is --------------------------------------------------------------------------- */

static bool
is_spread(const Spreading *sp, const Stmt *stmt)
{
	for (int i = 0; stmt->kind == STMT_FOR && i < sp->s->step->loops.count; i++)
		if (sp->loops[i] == stmt)
			return true;
	return false;
}

/* Whether the statement is such a loop or holds one. */
static bool
holds_spread(const Spreading *sp, Stmt *stmt)
{
	bool is_found = is_spread(sp, stmt);
	for (StmtWalk walk = stmt_walk(sp->kernel->arena, stmt->body); stmt_step(&walk);)
		is_found |= is_spread(sp, walk.stmt);
	for (StmtWalk walk = stmt_walk(sp->kernel->arena, stmt->other); stmt_step(&walk);)
		is_found |= is_spread(sp, walk.stmt);
	return is_found;
}

static bool
makes(Spreading *sp, Stmt *list, const Buffer *buffer)
{
	for (StmtWalk walk = stmt_walk(sp->kernel->arena, list); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_ALLOC && walk.stmt->buffer == buffer)
			return true;
	return false;
}

static bool
touches_array(Spreading *sp, Stmt *list)
{
	AccessVec all = {0};
	find_accesses(sp->kernel, list, &all);
	for (int i = 0; i < all.count; i++)
		if (map_find_ptr(&sp->arrays, all.data[i].tensor))
			return true;
	return false;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* The shared array that takes the local's place: one for each of the other threads. */
static void
share_array(Spreading *sp, const Buffer *local)
{
	const Tensor *old = &local->tensor;
	const Dim *dims[ARRAY_MAX_RANK + GRID_AXES];
	int rank = 0;
	int64_t size;
	for (int axis = BOUND_AXES - 1; axis >= GRID_AXES; axis--)
		if (sp->grid.number[axis])
			dims[rank++] = dim_const(sp->ctx, sp->grid.extent[axis]);
	for (int d = 0; d < old->rank; d++) {
		if (!dim_is_const(old->hi[d], &size))
			refuse_step(sp->s, "how large %s is is no number", old->name);
		dims[rank++] = old->hi[d];
	}
	if (rank > ARRAY_MAX_RANK)
		refuse_step(sp->s, "%s has too many dims", old->name);
	Buffer *made = kernel_local(sp->kernel, old->name, old->type, rank, dims, SCOPE_SHARED);
	map_set_ptr(&sp->arrays, old, made);
	sp->made = stmt_append(stmt_alloc(sp->kernel, made, NULL), sp->made);
}

static const Buffer *
redirect_array(Kernel *kernel, const Buffer *buffer, const Expr *const **index, void *arg)
{
	Spreading *sp = arg;
	const Buffer *made = map_find_ptr(&sp->arrays, &buffer->tensor);
	if (!made)
		return NULL;
	const Expr **at = NEW_N(kernel->arena, const Expr *, made->tensor.rank + 1);
	int rank = 0;
	for (int axis = BOUND_AXES - 1; axis >= GRID_AXES; axis--)
		if (sp->grid.number[axis])
			at[rank++] = sp->grid.number[axis];
	for (int d = 0; d < buffer->tensor.rank; d++)
		at[rank++] = (*index)[d];
	*index = at;
	return made;
}

/* Arrays that spread loops of the list store to, made outside of them. */
static void
find_arrays(Spreading *sp, Stmt *list, Stmt *loop)
{
	for (StmtWalk walk = stmt_walk(sp->kernel->arena, loop->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		if (stmt->kind != STMT_STORE || stmt->buffer->scope == SCOPE_PARAM ||
		    stmt->buffer->tensor.rank == 0 || makes(sp, loop->body, stmt->buffer) ||
		    map_find_ptr(&sp->arrays, &stmt->buffer->tensor) ||
		    map_find_ptr(&sp->own, &stmt->buffer->tensor))
			continue;
		Buffer *own = spread_own(sp->s, sp->loops, list, stmt->buffer);
		if (!own) {
			share_array(sp, stmt->buffer);
			continue;
		}
		map_set_ptr(&sp->own, &stmt->buffer->tensor, own);
		sp->made = stmt_append(stmt_alloc(sp->kernel, own, NULL), sp->made);
	}
}

static Stmt *
without_arrays(Spreading *sp, Stmt *list)
{
	StmtList kept = {0};
	for (Stmt *next; list; list = next) {
		next = list->next;
		list->next = NULL;
		list->body = without_arrays(sp, list->body);
		list->other = without_arrays(sp, list->other);
		bool is_array =
			list->kind == STMT_ALLOC && (map_find_ptr(&sp->arrays, &list->buffer->tensor) ||
		                                 map_find_ptr(&sp->own, &list->buffer->tensor));
		if (is_array && list->value)
			refuse_step(sp->s, "%s has an initial value", list->buffer->tensor.name);
		if (!is_array)
			stmt_list_add(&kept, list);
	}
	return kept.first;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* acc op= shfl.xor(acc, 16), 8, 4, 2, 1: as many as share, of a warp at most. */
static Stmt *
join_lanes(Spreading *sp, const Buffer *acc, int op)
{
	ExprCtx *ctx = sp->ctx;
	int64_t lanes = sp->threads < WARP_LANES ? sp->threads : WARP_LANES, count = 0;
	while (INT64_C(1) << count < lanes)
		count++;
	const Expr *zero = expr_i64(ctx, 0), *rounds = expr_i64(ctx, count);
	const Var *round = var_new(ctx, "lane", DT_I64, zero, rounds);
	const Expr *half = expr_shr(ctx, expr_i64(ctx, lanes / 2), expr_var(ctx, round));
	const Expr **args = NEW_N(sp->kernel->arena, const Expr *, 2);
	args[0] = expr_read(ctx, &acc->tensor, NULL);
	args[1] = half;
	Stmt *give = stmt_warp_op(sp->kernel, warp_op_find("shfl.xor"), acc, NULL, op, args);
	return stmt_for(sp->kernel, round, zero, rounds, BIND_UNROLL, give);
}

/* Where a warp's part lies, of the threads that share. */
static const Expr *const *
part_index(Spreading *sp, const Expr *warp)
{
	const Expr **at = NEW_N(sp->kernel->arena, const Expr *, GRID_AXES + 1);
	int rank = 0;
	for (int axis = BOUND_AXES - 1; axis >= GRID_AXES; axis--)
		if (sp->grid.number[axis])
			at[rank++] = sp->grid.number[axis];
	at[rank] = warp;
	return at;
}

static Stmt *
join_warps(Spreading *sp, const Buffer *acc, int op)
{
	ExprCtx *ctx = sp->ctx;
	Kernel *kernel = sp->kernel;
	DType type = acc->tensor.type;
	const Expr *lanes = expr_i64(ctx, WARP_LANES), *zero = expr_i64(ctx, 0),
			   *warps = expr_i64(ctx, sp->threads / WARP_LANES);
	const Dim *dims[GRID_AXES + 1];
	int rank = 0;
	for (int axis = BOUND_AXES - 1; axis >= GRID_AXES; axis--)
		if (sp->grid.number[axis])
			dims[rank++] = dim_const(ctx, sp->grid.extent[axis]);
	dims[rank++] = warps;
	Buffer *parts = kernel_local(kernel, "parts", type, rank, dims, SCOPE_SHARED);
	sp->made = stmt_append(stmt_alloc(kernel, parts, NULL), sp->made);
	const Expr *is_first = expr_eq(ctx, expr_floormod(ctx, sp->thread, lanes), zero);
	const Expr *warp = expr_floordiv(ctx, sp->thread, lanes);
	Stmt *give = stmt_store(kernel, parts, part_index(sp, warp), STORE_SET,
	                        expr_read(ctx, &acc->tensor, NULL));
	Stmt *list = stmt_if(kernel, is_first, give, NULL);
	list = stmt_append(list, stmt_sync(kernel));
	list = stmt_append(list, stmt_store(kernel, acc, NULL, STORE_SET,
	                                    reduce_identity(ctx, (ReduceOp)op, 0, type)));
	const Var *var = var_new(ctx, "warp", DT_I64, zero, warps);
	const Expr *part = expr_read(ctx, &parts->tensor, part_index(sp, expr_var(ctx, var)));
	Stmt *take = stmt_store(kernel, acc, NULL, op, part);
	list = stmt_append(list, stmt_for(kernel, var, zero, warps, BIND_SERIAL, take));
	return sp->in_loop ? stmt_append(list, stmt_sync(kernel)) : list;
}

/* The op by which spread loops of the statement add to the register; STORE_SET: none does. */
static int
op_of_sum(Spreading *sp, Stmt *stmt, const Buffer *acc)
{
	int op = STORE_SET;
	for (StmtWalk walk = stmt_walk(sp->kernel->arena, stmt); stmt_step(&walk);) {
		if (!is_spread(sp, walk.stmt))
			continue;
		for (StmtWalk in = stmt_walk(sp->kernel->arena, walk.stmt->body); stmt_step(&in);)
			if (in.stmt->kind == STMT_STORE && in.stmt->buffer == acc) {
				if (in.stmt->op == STORE_SET || (op != STORE_SET && op != in.stmt->op))
					refuse_step(sp->s, "%s is no sum", acc->tensor.name);
				op = in.stmt->op;
			}
	}
	return op;
}

static bool
is_identity(Spreading *sp, const Stmt *alloc, int op)
{
	return alloc->value &&
	       alloc->value == reduce_identity(sp->ctx, (ReduceOp)op, 0, alloc->buffer->tensor.type);
}

/* Behind a statement of the list in which the register is made: all parts together. */
static Stmt *
join_sum(Spreading *sp, Stmt *stmt, const Stmt *alloc)
{
	const Buffer *acc = alloc->buffer;
	int op = acc->tensor.rank == 0 ? op_of_sum(sp, stmt, acc) : STORE_SET;
	if (op == STORE_SET)
		return NULL;
	if (!is_identity(sp, alloc, op))
		refuse_step(sp->s, "%s does not begin with nothing", acc->tensor.name);
	Stmt *list = join_lanes(sp, acc, op);
	return sp->threads > WARP_LANES ? stmt_append(list, join_warps(sp, acc, op)) : list;
}

/* ---- loops and the rest ---------------------------------------------------------------------- */

/* A loop's place in arrays of which each thread has a part: its round. */
typedef struct OwnPlace {
	const Spreading *sp;
	const Var *var;
	const Expr *round;
	bool is_used;
} OwnPlace;

static const Buffer *
redirect_own(Kernel *kernel, const Buffer *buffer, const Expr *const **index, void *arg)
{
	OwnPlace *place = arg;
	const Buffer *own = map_find_ptr(&place->sp->own, &buffer->tensor);
	if (!own)
		return NULL;
	const Expr **at = NEW(kernel->arena, const Expr *);
	*at = expr_replace_var((*index)[0], place->var, place->round);
	*index = at;
	place->is_used = true;
	return own;
}

/* Whether the loop may be written out, so that what its rounds load is on its way together. */
static bool
is_short(Spreading *sp, const Expr *rounds, Stmt *body)
{
	int64_t count;
	for (StmtWalk walk = stmt_walk(sp->kernel->arena, body); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_FOR && walk.stmt->bind == BIND_SERIAL)
			return false;
	return expr_as_i64(rounds, &count) && count <= FEW_ROUNDS;
}

/* Iterations t, t + threads, … */
static Stmt *
share_loop(Spreading *sp, Stmt *loop)
{
	ExprCtx *ctx = sp->ctx;
	const Expr *zero = expr_i64(ctx, 0), *extent = loop_extent(sp->s, loop);
	const Expr *at_once = expr_i64(ctx, sp->threads);
	const Expr *up = expr_add(ctx, extent, expr_i64(ctx, sp->threads - 1));
	const Expr *rounds = tidy_dim(ctx, expr_floordiv(ctx, up, at_once));
	const Var *round = var_new(ctx, loop->var->name, DT_I64, zero, rounds);
	const Expr *first = expr_mul(ctx, expr_var(ctx, round), at_once);
	const Expr *value = expr_add(ctx, first, sp->thread);
	const Dim *dim = dim_from_expr(ctx, extent);
	bool is_whole = dim && dim_is(dim_floormod(ctx, dim, dim_const(ctx, sp->threads)), 0);
	const Expr *is_one = expr_lt(ctx, value, extent);
	if (!expr_is_zero(loop->lo))
		value = expr_add(ctx, loop->lo, value);
	OwnPlace place = {sp, loop->var, expr_var(ctx, round), false};
	stmt_redirect(sp->kernel, loop->body, redirect_own, &place);
	stmt_substitute(sp->kernel, loop->body, loop->var, value);
	Stmt *body = is_whole ? loop->body : stmt_if(sp->kernel, is_one, loop->body, NULL);
	bool is_flat = place.is_used || is_short(sp, rounds, body); /* registers have no address */
	Bind bind = is_flat ? BIND_UNROLL : BIND_SERIAL;
	return stmt_for(sp->kernel, round, zero, rounds, bind, body);
}

/* A statement that all threads do alike: the first one stores what goes to memory. */
static Stmt *
store_once(Spreading *sp, Stmt *stmt)
{
	bool is_memory = false, is_own = false;
	for (StmtWalk walk = stmt_walk(sp->kernel->arena, stmt); stmt_step(&walk);) {
		if (walk.stmt->kind != STMT_STORE)
			continue;
		is_memory |= walk.stmt->buffer->scope == SCOPE_PARAM;
		is_own |= walk.stmt->buffer->scope != SCOPE_PARAM && !makes(sp, stmt, walk.stmt->buffer);
		if (map_find_ptr(&sp->arrays, &walk.stmt->buffer->tensor))
			refuse_step(sp->s, "all threads store to %s", walk.stmt->buffer->tensor.name);
	}
	if (is_memory && is_own)
		refuse_step(sp->s, "a statement stores to memory and to what is a thread's own");
	if (!is_memory)
		return stmt;
	const Expr *is_first = expr_eq(sp->ctx, sp->thread, expr_i64(sp->ctx, 0));
	return stmt_if(sp->kernel, is_first, stmt, NULL);
}

static Stmt *spread_list(Spreading *sp, Stmt *list);

static Stmt *
spread_stmt(Spreading *sp, Stmt *stmt)
{
	if (is_spread(sp, stmt)) {
		bool uses_array = touches_array(sp, stmt->body);
		Stmt *list = share_loop(sp, stmt);
		if (uses_array && sp->in_loop)
			list = stmt_append(stmt_sync(sp->kernel), list);
		return uses_array ? stmt_append(list, stmt_sync(sp->kernel)) : list;
	}
	if (stmt->kind == STMT_FOR && holds_spread(sp, stmt)) {
		bool in_loop = sp->in_loop;
		if (stmt->bind != BIND_SERIAL && stmt->bind != BIND_UNROLL)
			refuse_step(sp->s, "@%s loop %s stands around it", bind_name(stmt->bind),
			            stmt->var->name);
		if (stmt->lo->has_read || stmt->hi->has_read)
			refuse_step(sp->s, "how often loop %s runs differs between threads", stmt->var->name);
		sp->in_loop = true;
		stmt->body = spread_list(sp, stmt->body);
		sp->in_loop = in_loop;
		return stmt;
	}
	if (stmt->kind == STMT_IF && holds_spread(sp, stmt))
		refuse_step(sp->s, "a condition stands around it");
	return stmt->kind == STMT_LET || stmt->kind == STMT_ALLOC ? stmt : store_once(sp, stmt);
}

static Stmt *
spread_list(Spreading *sp, Stmt *list)
{
	StmtList made = {0};
	int first = sp->sums.count;
	for (Stmt *next; list; list = next) {
		Stmt *joins = NULL;
		next = list->next;
		list->next = NULL;
		if (list->kind == STMT_ALLOC)
			vec_push(sp->kernel->arena, &sp->sums, list);
		for (int i = first; i < sp->sums.count && holds_spread(sp, list); i++)
			joins = stmt_append(joins, join_sum(sp, list, sp->sums.data[i]));
		stmt_list_add(&made, spread_stmt(sp, list));
		stmt_list_add(&made, joins);
	}
	sp->sums.count = first;
	return made.first;
}

/* ---- barriers that order nothing ------------------------------------------------------------- */

static void
add_accesses(Spreading *sp, const Stmt *stmt, AccessVec *all)
{
	Stmt alone = *stmt;
	alone.next = NULL;
	find_accesses(sp->kernel, &alone, all);
}

/* Whether one of the two writes an array of the block that the other one touches. */
static bool
must_meet(const Spreading *sp, const AccessVec *before, const AccessVec *behind)
{
	for (int i = 0; i < before->count; i++)
		for (int k = 0; k < behind->count; k++) {
			const Access *a = &before->data[i], *b = &behind->data[k];
			const Buffer *buffer = (const Buffer *)a->tensor;
			bool is_array = buffer->scope == SCOPE_SHARED || map_find_ptr(&sp->arrays, a->tensor);
			if (a->tensor == b->tensor && is_array && (a->is_store || b->is_store))
				return true;
		}
	return false;
}

typedef VEC(Stmt *) Events;

/* What happens in turn: barriers, and statements without any. A loop with barriers goes round
 * twice, and where it may not run at all, what it does stands on both sides, too. */
static void
list_events(Spreading *sp, Stmt *list, Events *events)
{
	Arena *arena = sp->kernel->arena;
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		int64_t lo, hi;
		bool is_round = stmt->kind == STMT_FOR && has_barriers(sp->s, stmt->body);
		bool runs = is_round && expr_as_i64(stmt->lo, &lo) && expr_as_i64(stmt->hi, &hi) && lo < hi;
		if (!runs)
			vec_push(arena, events, stmt);
		for (int turn = 0; turn < 2 && is_round; turn++)
			list_events(sp, stmt->body, events);
		if (is_round && !runs)
			vec_push(arena, events, stmt);
	}
}

/* Whether the barrier stands, wherever it is reached, between parts that only read. */
static bool
is_idle(Spreading *sp, const Events *events, const Stmt *sync)
{
	for (int i = 0; i < events->count; i++) {
		AccessVec before = {0}, behind = {0};
		if (events->data[i] != sync)
			continue;
		for (int k = i - 1; k >= 0 && events->data[k]->kind != STMT_SYNC; k--)
			add_accesses(sp, events->data[k], &before);
		for (int k = i + 1; k < events->count && events->data[k]->kind != STMT_SYNC; k++)
			add_accesses(sp, events->data[k], &behind);
		if (must_meet(sp, &before, &behind))
			return false;
	}
	return true;
}

static Stmt *
without(Stmt *list, const Stmt *gone)
{
	StmtList kept = {0};
	for (Stmt *next; list; list = next) {
		next = list->next;
		list->next = NULL;
		list->body = without(list->body, gone);
		if (list != gone)
			stmt_list_add(&kept, list);
	}
	return kept.first;
}

static Stmt *
without_idle_barriers(Spreading *sp, Stmt *list)
{
	for (bool is_changed = true; is_changed;) {
		Events events = {0};
		is_changed = false;
		list_events(sp, list, &events);
		for (int i = 0; i < events.count && !is_changed; i++)
			if (events.data[i]->kind == STMT_SYNC && is_idle(sp, &events, events.data[i])) {
				list = without(list, events.data[i]);
				is_changed = true;
			}
	}
	return list;
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* What one iteration stores no other one uses, but for sums; nor do threads find in memory what
 * another one of them stored. */
static void
check_loops(Spreading *sp, Stmt *list)
{
	const Scheduling *s = sp->s;
	AccessVec all = {0};
	for (int i = 0; i < s->step->loops.count; i++) {
		Stmt *loop = sp->loops[i];
		for (StmtWalk walk = stmt_walk(sp->kernel->arena, loop->body); stmt_step(&walk);)
			if (is_spread(sp, walk.stmt))
				refuse_step(s, "loop %s stands in loop %s", walk.stmt->var->name, loop->var->name);
		if (loop->bind != BIND_SERIAL)
			refuse_step(s, "loop %s is bound to @%s", loop->var->name, bind_name(loop->bind));
		if (sp->grid.around)
			check_met_by_all(s, &sp->grid, loop);
		check_apart(s, loop, true);
		find_arrays(sp, list, loop);
	}
	for (StmtWalk walk = stmt_walk(sp->kernel->arena, list); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_FOR && walk.stmt->bind == BIND_PARALLEL)
			refuse_step(s, "@parallel loop %s stands there", walk.stmt->var->name);
	find_accesses(sp->kernel, list, &all);
	for (int i = 0; i < all.count; i++)
		for (int k = 0; k < all.count; k++) {
			const Access *a = &all.data[i], *b = &all.data[k];
			if (a->tensor == b->tensor && a->is_store && !b->is_store &&
			    ((const Buffer *)a->tensor)->scope == SCOPE_PARAM)
				refuse_step(s, "%s is stored and read", a->tensor->name);
		}
}

void
primitive_spread(Scheduling *s)
{
	Kernel *kernel = s->kernel;
	int64_t threads = s->step->number;
	Spreading sp = {.s = s,
	                .kernel = kernel,
	                .ctx = s->ctx,
	                .grid = find_grid(s),
	                .threads = threads,
	                .arrays = {.arena = kernel->arena},
	                .own = {.arena = kernel->arena}};
	Stmt **body = sp.grid.inner ? &sp.grid.inner->body : &kernel->body;
	bool is_part = threads > 1 && threads < WARP_LANES && !(threads & (threads - 1));
	if ((!is_part && (threads < WARP_LANES || threads % WARP_LANES != 0)) ||
	    threads > MOST_THREADS || sp.grid.threads * threads > MOST_THREADS ||
	    sp.grid.threads * threads % WARP_LANES != 0)
		refuse_step(s,
		            "threads that share are warps of %d, or a power of two that divides one, and a "
		            "block has whole warps and %d threads at most",
		            WARP_LANES, MOST_THREADS);
	if (sp.grid.is_bound[BIND_THREAD_X - BIND_BLOCK_X])
		refuse_step(s, "@thread.x is another loop's");
	if (has_barriers(s, *body))
		refuse_step(s, "threads meet there already");
	sp.loops = NEW_N(kernel->arena, Stmt *, s->step->loops.count);
	for (int i = 0; i < s->step->loops.count; i++)
		sp.loops[i] = named_loop(s, i);
	check_loops(&sp, *body);
	const Expr *zero = expr_i64(s->ctx, 0), *count = expr_i64(s->ctx, threads);
	const Var *var = new_counter(s, 0, zero, count);
	sp.thread = expr_var(s->ctx, var);
	Stmt *list = spread_list(&sp, *body);
	list = without_idle_barriers(&sp, without_arrays(&sp, list));
	stmt_redirect(kernel, list, redirect_array, &sp);
	list = stmt_append(sp.made, list);
	*body = stmt_for(kernel, var, zero, count, BIND_THREAD_X, list);
	kernel_name_apart(kernel);
}
