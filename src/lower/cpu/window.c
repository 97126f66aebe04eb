/* Whether windows of neighbouring rows share what they read (cpu.h). */
#include "base/work.h"
#include "expr/index/span.h"
#include "lower/cpu/cpu.h"

enum {
	MAX_WINDOW = 32,
	MAX_ROW = 64, /* longer rows wait for memory, not for loads from cache */
	/* Straight code: terms of all rows. A row of one vector is done by one copy of it, longer ones
	 * have more of them, for their borders. */
	SHORT_TERMS = 400,
	LONG_TERMS = 100,
	LONG_ROWS = 5,
};

static int
iter_of(const void *self, const Expr *leaf, int64_t *from)
{
	(void)self;
	*from = 0;
	return leaf->op == EX_iter ? leaf->iter : -1;
}

/* The reduction's iterator with which something is read at row + iterator; -1: nothing is. */
static int
find_counter(Arena *arena, const Stage *stage, int row)
{
	int counter = -1;
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
		for (int d = 0; walk.e->op == EX_read && d < walk.e->argc; d++) {
			const Span *span = span_make(arena, walk.e->arg[d], iter_of, NULL);
			for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++)
				if (span->nterm == 2 && span_factor(span, row) == 1 && span_factor(span, i) == 1 &&
				    expr_is_zero(stage->iters[i].lo))
					counter = i;
		}
	return counter;
}

/* Terms of a reduction over a small box, behind which stages are maps; else 0. */
static int64_t
window_terms(const Program *p)
{
	const Stage *stage = program_reduction(p);
	int64_t terms = 1;
	if (!stage)
		return 0;
	for (int i = stage->nloop; i < stage->nloop + stage->nreduce; i++) {
		int64_t extent = iter_extent(&stage->iters[i]);
		terms = extent > MAX_WINDOW ? 0 : terms * extent;
		if (terms > MAX_WINDOW)
			return 0;
	}
	return terms;
}

/* So many rows at once leave enough pieces, and not too much code. */
static bool
is_legal(int64_t rows, int64_t extent, int64_t pieces, int64_t terms, int64_t most)
{
	return rows > 1 && extent % rows == 0 && terms * rows <= most && pieces / rows >= WORK_PIECES;
}

/* Number `candidate` of the row counts that are legal: the rule's, then all from the longest on. */
static int
choose_rows(int64_t extent, int64_t pieces, int64_t terms, int longest, bool is_short,
            int candidate)
{
	int rule = is_short ? longest : LONG_ROWS;
	while (rule > 1 && !is_legal(rule, extent, pieces, terms, is_short ? SHORT_TERMS : LONG_TERMS))
		rule--;
	if (candidate == 0)
		return rule > 1 ? rule : 0;
	for (int rows = longest; rows > 1; rows--)
		if (rows != rule && is_legal(rows, extent, pieces, terms, SHORT_TERMS) && --candidate == 0)
			return rows;
	return 0;
}

int
window_rows(Arena *arena, const Group *group, const Target *target, int row, int lane,
            int candidate, int *counter)
{
	const Stage *stage = group->program->stages[0];
	const Iter *iters = group->root->iters;
	int64_t terms = window_terms(group->program), pieces = 1;
	int64_t extent = iter_extent(&iters[group->shared[row]]);
	int64_t length = iter_extent(&iters[group->shared[lane]]);
	int64_t lanes = target_lanes(target, group->root->results[0]->type);
	if (terms == 0 || extent == 0 || length == 0 || length > MAX_ROW)
		return 0;
	for (int k = 0; k < group->nshared; k++)
		if (k != lane && iter_extent(&iters[group->shared[k]]) > 0)
			pieces *= iter_extent(&iters[group->shared[k]]);
	*counter = find_counter(arena, stage, group->map[0][row]);
	return *counter < 0 ? 0
	                    : choose_rows(extent, pieces, terms, target->device->registers / 2,
	                                  length <= lanes, candidate);
}
