/* Ranks: how deep in the loops around a scalar changes.
 *
 *     for j in 8                    rank 1: j
 *       for i in 8 {                rank 2: i, Y[j], for it is written in this loop
 *         Y[j] += X[j] * i          rank 1: X[j], which nothing writes
 *       }
 *
 * Arguments that may share storage are one thing to be written, so are all shared buffers to the
 * barrier of a block. A buffer that is made in a loop is written there.
 */
#include "tir/loops/motion.h"

Ranks
ranks_new(Arena *arena, const Kernel *kernel)
{
	Ranks ranks = {.arena = arena, .kernel = kernel, .time = 1};
	ranks.vars.arena = ranks.written.arena = ranks.known.arena = arena;
	return ranks;
}

/* What a store to the buffer writes. */
static const void *
storage_key(const Ranks *ranks, const Buffer *buffer)
{
	return buffer->may_alias ? (const void *)ranks->kernel : buffer;
}

static int
read_rank(const Ranks *ranks, const Expr *e)
{
	const Buffer *buffer = (const Buffer *)e->tensor;
	int rank = (int)(uintptr_t)map_find_ptr(&ranks->written, storage_key(ranks, buffer));
	int barrier = 0;
	if (buffer->scope == SCOPE_SHARED)
		barrier = (int)(uintptr_t)map_find_ptr(&ranks->written, &ranks->kernel->body);
	return rank > barrier ? rank : barrier;
}

int
ranks_of(Ranks *ranks, const Expr *e)
{
	if (e->op == EX_var)
		return (int)(uintptr_t)map_find_ptr(&ranks->vars, e->var);
	if (e->argc == 0 && e->op != EX_read)
		return 0;
	uint64_t time = e->has_read ? ranks->time : 1;
	uint64_t known = (uintptr_t)map_find_ptr(&ranks->known, e);
	if (known >> 32 == time)
		return (int)(known & UINT32_MAX);
	int rank = e->op == EX_read ? read_rank(ranks, e) : 0;
	for (int i = 0; i < e->argc; i++) {
		int its = ranks_of(ranks, e->arg[i]);
		rank = its > rank ? its : rank;
	}
	map_set_ptr(&ranks->known, e, (void *)(uintptr_t)(time << 32 | (uint64_t)rank));
	return rank;
}

static void
note_write(Ranks *ranks, const void *key, int depth)
{
	void *old = map_find_ptr(&ranks->written, key);
	if ((int)(uintptr_t)old >= depth)
		return;
	vec_push(ranks->arena, &ranks->undo, (struct RankUndo){key, old});
	map_set_ptr(&ranks->written, key, (void *)(uintptr_t)depth);
}

void
ranks_enter(Ranks *ranks, const Stmt *loop)
{
	vec_push(ranks->arena, &ranks->loops, (struct RankLoop){ranks->undo.count, ranks->in_lanes});
	ranks->time++;
	ranks->depth++;
	ranks->in_lanes |= loop->lanes > 0;
	ranks_let(ranks, loop->var, loop->lanes ? RANK_LANES : ranks->depth);
	for (StmtWalk walk = stmt_walk(ranks->arena, loop->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		if (stmt->kind == STMT_ALLOC) /* each lane has its own */
			note_write(ranks, stmt->buffer, ranks->in_lanes ? RANK_LANES : ranks->depth);
		if (stmt->index)
			note_write(ranks, storage_key(ranks, stmt->buffer), ranks->depth);
		if (stmt_is_barrier(stmt)) /* copies arrive */
			note_write(ranks, &ranks->kernel->body, ranks->depth);
	}
}

void
ranks_leave(Ranks *ranks)
{
	struct RankLoop loop = ranks->loops.data[--ranks->loops.count];
	while (ranks->undo.count > loop.undo) {
		struct RankUndo undo = ranks->undo.data[--ranks->undo.count];
		map_set_ptr(&ranks->written, undo.key, undo.old);
	}
	ranks->in_lanes = loop.in_lanes;
	ranks->depth--;
	ranks->time++;
}

void
ranks_let(Ranks *ranks, const Var *var, int rank)
{
	map_set_ptr(&ranks->vars, var, (void *)(uintptr_t)rank);
}
