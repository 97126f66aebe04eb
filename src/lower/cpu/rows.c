/* Rows of a register tile (cpu.h). */
#include "lower/cpu/cpu.h"

/* Of the vector registers, the accumulators of a tile: the factors are beside them, and what the C
 * compiler keeps at hand. */
static const double SHARE_OF_ROWS = 0.375;

/* Of the reads of e, some move along the iterator and some do not; of those that move with the
 * lanes, with `must_share`, none does. */
static bool
shares_reads(const Expr *e, int iter, int lane, bool must_share)
{
	int still = 0, moving = 0, vectors = 0;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		bool moves = walk.e->op == EX_read && cost_moves(walk.e, iter);
		still += walk.e->op == EX_read && !moves;
		moving += moves;
		vectors += moves && cost_moves(walk.e, lane);
	}
	return still > 0 && moving > 0 && !(must_share && vectors > 0);
}

/* Rows of shared loop k, as many as divide it; 0: none. */
static int
rows_of(Coster *c, const Group *group, int lane, int k, bool must_share)
{
	const Stage *stage = group->program->stages[0];
	const Iter *iter = &group->root->iters[group->shared[k]];
	ExprCtx *ctx = c->program->ctx;
	int row = group->map[0][k], rows = (int)(SHARE_OF_ROWS * c->target->device->registers);
	if (k == lane || !dim_is(iter->lo, 0) || (stage->guard && expr_uses_iter(stage->guard, row)) ||
	    !shares_reads(stage->body[0], row, group->map[0][lane], must_share))
		return 0;
	while (rows > 1 && !dim_is(dim_floormod(ctx, iter->hi, dim_const(ctx, rows)), 0))
		rows--;
	return rows > 1 ? rows : 0;
}

int
rows_choose(Coster *c, const Group *group, int lane, int *row)
{
	if (!program_reduction(group->program))
		return 0;
	for (int turn = 0; turn < 2; turn++)
		for (*row = group->nshared - 1; *row >= 0; --*row) {
			int rows = rows_of(c, group, lane, *row, turn == 0);
			if (rows > 0)
				return rows;
		}
	return 0;
}
