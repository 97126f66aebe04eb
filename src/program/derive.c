/* Derivation: what its operations share, splitting sums, merging and extracting stages. */
#include "program/derive.h"

#include "expr/index/facts.h"
#include "expr/stage/build.h"
#include "program/derive_inner.h"

/* ---- shared ---------------------------------------------------------------------------------- */

Program *
derive_refuse(const char **why, const char *reason)
{
	if (why)
		*why = reason;
	return NULL;
}

const char *
derive_obstacle(const Stage *stage, bool any_results)
{
	bool is_indirect = false;
	if (stage->kind == STAGE_scatter)
		return "the stage is a scatter";
	if (stage->scan)
		return "the stage is a step of a scan";
	if (!any_results && stage->nresult != 1)
		return "the stage has several results";
	for (int i = 0; i < stage->nbody; i++)
		for (ExprWalk walk = expr_walk(stage->body[i]); expr_step(&walk);)
			is_indirect |= walk.e->op == EX_at;
	return is_indirect ? "the stage reads indirectly" : NULL;
}

bool
derive_is_product(const Stage *stage)
{
	const Expr *body = stage->body[0];
	return !derive_obstacle(stage, false) && stage_summed_product(stage) == body &&
	       body->arg[0]->op == EX_read && body->arg[1]->op == EX_read &&
	       body->arg[0] != body->arg[1];
}

Program *
derive_replace(const Program *program, const Stage *old, const Stage *replacement)
{
	Map map = {.arena = program->ctx->arena};
	for (int i = 0; i < old->nresult; i++)
		map_set_ptr(&map, old->results[i], replacement->results[i]);
	return program_substitute(program, &map);
}

static const Expr *
inline_read(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Stage *stage = arg;
	if (e->op != EX_read || e->tensor != stage->results[0])
		return e;
	return expr_substitute(ctx, stage->body[0], stage->nloop, e->arg);
}

Program *
derive_inline(const Program *program, const Stage *stage)
{
	must(stage->kind == STAGE_map);
	return program_rewrite_tidy(program, inline_read, (void *)(uintptr_t)stage);
}

static bool
has_same_box(const Tensor *a, const Tensor *b)
{
	bool is_same = a->rank == b->rank && !a->lo == !b->lo;
	for (int d = 0; d < a->rank && is_same; d++)
		is_same = a->hi[d] == b->hi[d] && (!a->lo || a->lo[d] == b->lo[d]);
	return is_same;
}

/* Whether b is a with reads of other tensors, of the same boxes. Indices, and conditions of
 * choices, are the same: what others hold says nothing of these. */
static bool
reads_as(const Expr *a, const Expr *b)
{
	if (a == b)
		return true;
	bool is_same = a->op == b->op && a->type == b->type && a->flags == b->flags &&
	               a->argc == b->argc && a->argc > 0 && budget_take(a->ctx) &&
	               (a->op != EX_read || has_same_box(a->tensor, b->tensor));
	for (int i = 0; i < a->argc && is_same; i++)
		is_same = a->op == EX_read || (a->op == EX_select && i == 0)
		              ? a->arg[i] == b->arg[i]
		              : reads_as(a->arg[i], b->arg[i]);
	return is_same;
}

/* Whether a stage has the same reads, so that they are in range here as they were there. */
static bool
is_proven(const Program *before, const Stage *stage)
{
	bool is_found = false;
	for (int s = 0; s < before->nstage && !is_found; s++) {
		const Stage *old = before->stages[s];
		is_found = stage->kind != STAGE_scatter && old->kind == stage->kind &&
		           old->guard == stage->guard && old->nbody == stage->nbody &&
		           stage_same_iters(old, stage);
		for (int k = 0; k < stage->nbody && is_found; k++) {
			int outside = budget_begin(old->body[k]->ctx, BUDGET_reads);
			is_found = reads_as(old->body[k], stage->body[k]);
			budget_end(old->body[k]->ctx, outside);
		}
	}
	return is_found;
}

Program *
derive_certain(const Program *before, Program *after, const char **why)
{
	return derive_certain_beside(before, NULL, after, why);
}

Program *
derive_certain_beside(const Program *before, const Stage *certain, Program *after, const char **why)
{
	for (int i = 0; i < after->nstage; i++)
		if (after->stages[i] != certain && !program_has_stage(before, after->stages[i]) &&
		    !is_proven(before, after->stages[i]) &&
		    !stage_reads_are_certain(after->ctx, after->stages[i]))
			return derive_refuse(why, "a read would not certainly be in range");
	return after;
}

Stage *
derive_stage(ExprCtx *ctx, const Stage *like, StageKind kind, int nloop, int nreduce,
             const Iter *iters, const Expr *const *body, const Expr *guard, const DType *types)
{
	Arena *arena = expr_ctx_arena(ctx);
	Stage *stage = arena_memdup(arena, like, sizeof *like);
	const Dim **lo = NEW_N(arena, const Dim *, nloop + 1),
			  **hi = NEW_N(arena, const Dim *, nloop + 1);
	Tensor **results = NEW_N(arena, Tensor *, like->nresult);
	bool is_shifted = false;
	for (int i = 0; i < nloop; i++) {
		lo[i] = iters[i].lo;
		hi[i] = iters[i].hi;
		is_shifted |= !expr_is_zero(lo[i]);
	}
	stage->kind = kind;
	stage->nloop = nloop;
	stage->nreduce = nreduce;
	stage->iters = arena_memdup(arena, iters, (size_t)(nloop + nreduce) * sizeof *iters);
	stage->nbody = like->nresult;
	stage->body = arena_memdup(arena, body, (size_t)stage->nbody * sizeof *body);
	stage->guard = guard;
	for (int i = 0; i < like->nresult; i++) {
		results[i] = tensor_new(ctx, like->results[i]->name, types[i], nloop, hi);
		results[i]->lo = is_shifted ? lo : NULL;
		results[i]->stage = stage;
		results[i]->result = i;
	}
	stage->results = results;
	return stage;
}

const Expr *
derive_in_box(ExprCtx *ctx, int count, const Expr *const *at, const Iter *box)
{
	const Expr *all = NULL;
	for (int i = 0; i < count; i++) {
		const Expr *inside =
			expr_and(ctx, expr_le(ctx, box[i].lo, at[i]), expr_lt(ctx, at[i], box[i].hi));
		all = expr_both(ctx, all, inside);
	}
	return all;
}

/* ---- splitting a sum ------------------------------------------------------------------------- */

/* The guard's terms that use none of the iterators in `mask`. */
static const Expr *
guard_without(ExprCtx *ctx, const Expr *guard, uint64_t mask)
{
	if (!guard)
		return NULL;
	if (guard->op != EX_and)
		return guard->iters & mask ? NULL : guard;
	const Expr *a = guard_without(ctx, guard->arg[0], mask);
	const Expr *b = guard_without(ctx, guard->arg[1], mask);
	return expr_both(ctx, a, b);
}

/* Positions of the old iterators in the inner and in the outer stage. */
typedef struct Split {
	Iter inner[64], outer[64];
	const Expr *to_inner[64], *to_outer[64]; /* old position to new scalar; NULL: not there */
	const Expr *index[64];                   /* of the inner stage, in the outer's iterators */
	int nouter;
} Split;

static void
plan_split(ExprCtx *ctx, const Stage *stage, unsigned outer, Split *split)
{
	int n = stage->nloop, inner = 0;
	*split = (Split){0};
	for (int k = 0; k < stage->nreduce; k++)
		if (outer >> k & 1) {
			split->inner[inner] = stage->iters[n + k];
			split->to_inner[n + k] = expr_iter(ctx, inner);
			split->outer[n + split->nouter] = stage->iters[n + k];
			split->to_outer[n + k] = split->index[inner++] = expr_iter(ctx, n + split->nouter++);
		}
	for (int i = 0; i < n; i++) {
		split->inner[inner] = split->outer[i] = stage->iters[i];
		split->to_inner[i] = expr_iter(ctx, inner);
		split->to_outer[i] = split->index[inner++] = expr_iter(ctx, i);
	}
	for (int k = 0; k < stage->nreduce; k++)
		if (!(outer >> k & 1)) {
			split->inner[inner] = stage->iters[n + k];
			split->to_inner[n + k] = expr_iter(ctx, inner++);
		}
}

Program *
derive_split_sum(const Program *program, const Stage *stage, unsigned outer, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	int n = stage->nloop, total = n + stage->nreduce;
	Split split;
	unsigned all = stage->nreduce < 32 ? (1u << stage->nreduce) - 1 : ~0u;
	const char *obstacle = derive_obstacle(stage, false);
	if (obstacle)
		return derive_refuse(why, obstacle);
	if (stage->kind != STAGE_reduce || reduce_info(stage->reduce)->states != 1 || total > 63)
		return derive_refuse(why, "the stage is no reduction of one state");
	if (outer == 0 || outer >= all)
		return derive_refuse(why, "some iterators must stay inside and some outside");
	plan_split(ctx, stage, outer, &split);
	uint64_t inside = 0;
	for (int k = 0; k < stage->nreduce; k++)
		inside |= outer >> k & 1 ? 0 : UINT64_C(1) << (n + k);
	const Expr *body = expr_substitute(ctx, stage->body[0], total, split.to_inner);
	const Expr *guard =
		stage->guard ? expr_substitute(ctx, stage->guard, total, split.to_inner) : NULL;
	Stage *inner =
		derive_stage(ctx, stage, STAGE_reduce, n + split.nouter, stage->nreduce - split.nouter,
	                 split.inner, &body, guard, &stage->acc);
	guard = guard_without(ctx, stage->guard, inside);
	guard = guard ? expr_substitute(ctx, guard, total, split.to_outer) : NULL;
	body = expr_read(ctx, inner->results[0], split.index);
	DType type = stage->results[0]->type;
	Stage *sum =
		derive_stage(ctx, stage, STAGE_reduce, n, split.nouter, split.outer, &body, guard, &type);
	return derive_certain(program, derive_replace(program, stage, sum), why);
}

/* ---- merging --------------------------------------------------------------------------------- */

typedef struct Uses {
	const Stage *producer;
	int readers;         /* stages that read it */
	const Stage *reader; /* the last of them */
	bool is_whole;       /* used other than by a read: an initial value */
	bool reads_now;
} Uses;

static void
note_use(const Tensor *tensor, void *arg)
{
	Uses *uses = arg;
	uses->reads_now |= tensor && tensor->stage == uses->producer;
}

static Uses
find_uses(const Program *program, const Stage *producer)
{
	Uses uses = {.producer = producer};
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		uses.reads_now = false;
		stage_visit_reads(stage, note_use, &uses);
		uses.readers += uses.reads_now;
		uses.reader = uses.reads_now ? stage : uses.reader;
		uses.is_whole |= stage->kind == STAGE_scatter && stage->init->stage == producer;
		for (int k = 0; stage->scan && k < stage->scan->nstate; k++)
			uses.is_whole |= stage->scan->init[k] && stage->scan->init[k]->stage == producer;
	}
	return uses;
}

const Stage *
derive_only_reader(const Program *program, const Stage *stage)
{
	Uses uses = find_uses(program, stage);
	bool is_only = uses.readers == 1 && !uses.is_whole && !program_gives(program, stage);
	return is_only ? uses.reader : NULL;
}

/* How often the product e reads the stage as a factor; -1 where it reads it otherwise. */
static int
count_factors(const Expr *e, const Stage *stage, const Expr **read)
{
	if (e->op == EX_mul) {
		int a = count_factors(e->arg[0], stage, read), b = count_factors(e->arg[1], stage, read);
		return a < 0 || b < 0 ? -1 : a + b;
	}
	if (e->op == EX_read && e->tensor->stage == stage) {
		*read = e;
		return 1;
	}
	return expr_reads(e, stage->results[0]) ? -1 : 0;
}

/* The reader with the producer's terms in the place of its read: a copy (no iterators of its own)
 * or a sum. The producer's reduction iterators come behind the reader's. */
static Program *
merge_reduction(const Program *program, const Stage *producer, const Stage *reader,
                const Expr *read)
{
	ExprCtx *ctx = program->ctx;
	int own = reader->nloop + reader->nreduce;
	Iter iters[64];
	const Expr *map[64], *guard = reader->guard;
	for (int i = 0; i < own; i++)
		iters[i] = reader->iters[i];
	for (int i = 0; i < producer->nloop; i++)
		map[i] = read->arg[i];
	for (int k = 0; k < producer->nreduce; k++) {
		iters[own + k] = producer->iters[producer->nloop + k];
		map[producer->nloop + k] = expr_iter(ctx, own + k);
	}
	int total = producer->nloop + producer->nreduce;
	const Expr *terms = expr_substitute(ctx, producer->body[0], total, map);
	const Expr *body = expr_replace(ctx, reader->body[0], read, terms);
	if (producer->guard) {
		const Expr *more = expr_substitute(ctx, producer->guard, total, map);
		guard = expr_both(ctx, guard, more);
	}
	DType type = reader->results[0]->type;
	Stage *merged = derive_stage(ctx, reader, STAGE_reduce, reader->nloop,
	                             reader->nreduce + producer->nreduce, iters, &body, guard, &type);
	merged->reduce = producer->reduce;
	merged->acc = producer->acc;
	stage_tidy(ctx, merged);
	return derive_replace(program, reader, merged);
}

/* Why the terms of the producer cannot stand for its value in the reader; NULL when they can. */
static const char *
reduction_obstacle(const Stage *producer, const Stage *reader, const Expr **read)
{
	bool is_copy = reader->kind == STAGE_map && reader->body[0]->op == EX_read;
	if (reduce_info(producer->reduce)->states != 1)
		return "the reduction has several states";
	if (reader->nloop + reader->nreduce + producer->nreduce > 63)
		return "too many iterators";
	if (is_copy) {
		*read = reader->body[0];
		return reader->results[0]->type == producer->results[0]->type ? NULL : "the copy converts";
	}
	if (reader->kind != STAGE_reduce || reader->reduce != producer->reduce)
		return "the reader is neither a copy nor the same reduction";
	if (producer->results[0]->type != producer->acc || reader->acc != producer->acc)
		return "the value is rounded before it is summed again";
	if (reader->body[0]->op == EX_read && reader->body[0]->tensor->stage == producer) {
		*read = reader->body[0];
		return NULL;
	}
	if (reader->reduce != REDUCE_sum || count_factors(reader->body[0], producer, read) != 1)
		return "the reader is not linear in the value";
	return NULL;
}

Program *
derive_merge(const Program *program, const Stage *producer, Reason *why)
{
	Uses uses = find_uses(program, producer);
	const char *obstacle = derive_obstacle(producer, false);
	if (obstacle)
		return derive_refuse(why, obstacle);
	if (program_gives(program, producer))
		return derive_refuse(why, "the stage is an output");
	if (uses.is_whole)
		return derive_refuse(why, "the stage is somewhere an initial value");
	if (uses.readers != 1)
		return derive_refuse(why, "the stage has not one reader");
	if (producer->kind == STAGE_map)
		return derive_certain(program, derive_inline(program, producer), why);
	const Expr *read = NULL;
	obstacle = derive_obstacle(uses.reader, false);
	if (!obstacle)
		obstacle = reduction_obstacle(producer, uses.reader, &read);
	if (obstacle)
		return derive_refuse(why, obstacle);
	return derive_certain(program, merge_reduction(program, producer, uses.reader, read), why);
}

/* ---- extracting ------------------------------------------------------------------------------ */

Program *
derive_extract(const Program *program, const Stage *stage, const Expr *read, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	int total = stage->nloop + stage->nreduce, count = 0;
	Iter iters[64];
	const Expr *map[64] = {NULL}, *index[64];
	const char *obstacle = derive_obstacle(stage, false);
	if (obstacle)
		return derive_refuse(why, obstacle);
	if (read->op != EX_read || !expr_reads(stage->body[0], read->tensor) || total > 63)
		return derive_refuse(why, "the stage has no such read");
	for (int i = 0; i < total; i++)
		if (expr_uses_iter(read, i)) {
			iters[count] = stage->iters[i];
			index[count] = expr_iter(ctx, i);
			map[i] = expr_iter(ctx, count++);
		}
	const Expr *body = expr_substitute(ctx, read, total, map);
	DType type = read->type;
	Stage like = *stage;
	like.name = read->tensor->name;
	Stage *copy = derive_stage(ctx, &like, STAGE_map, count, 0, iters, &body, NULL, &type);
	Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), copy);
	const Expr *range = read_range(facts, read->tensor, body->arg);
	facts_close(facts);
	if (range) {
		body = expr_select(ctx, range, body, expr_number(ctx, type, 0));
		copy->body = arena_memdup(expr_ctx_arena(ctx), &body, sizeof body);
	}
	const Expr *changed =
		expr_replace(ctx, stage->body[0], read, expr_read(ctx, copy->results[0], index));
	type = stage->results[0]->type;
	Stage *reader = derive_stage(ctx, stage, stage->kind, stage->nloop, stage->nreduce,
	                             stage->iters, &changed, stage->guard, &type);
	return derive_certain(program, derive_replace(program, stage, reader), why);
}
