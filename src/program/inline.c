/* program_inline_stages: let a stage compute the map stages it reads.
 *
 *     A[n,c] = X[n,c] + B[c]
 *     Y[n,c] = max(A[n,c], 0.0)      =>   Y[n,c] = max(X[n,c] + B[c], 0.0)
 *
 * A map stage is substituted where each of its elements is read once per point of its only reader,
 * or where it costs no more than a load. Bodies are substituted in
 * topological order, so chains collapse in one walk.
 *
 * needs    nothing
 * keeps    values
 * breaks   stages: what is computed where it is read has none
 */
#include <string.h>

#include "program/forms.h"
#include "program/unit.h"

enum {
	FREE_COST = 1,    /* one add or max, a cast, an index map: as cheap as the load it replaces */
	LONG_INDEX = 400, /* nodes: what costs more than the load of an element that is kept */
};

/* Who reads a tensor: how many stages, how many distinct reads, and the last of each. */
typedef struct Reads {
	int nstage, nread;
	const Stage *stage;
	const Expr *read;
} Reads;

typedef struct Inliner {
	Arena *arena;
	const Program *program;
	bool all;     /* whatever it costs */
	Map reads;    /* Tensor -> Reads */
	Map replaced; /* old Tensor -> new Tensor */
	Map inlined;  /* old Tensor -> its rewritten body */
} Inliner;

static void
count_reads(Inliner *in, const Stage *stage)
{
	for (ExprWalk walk = stage_walk(stage); expr_step(&walk);) {
		if (walk.e->op != EX_read)
			continue;
		Reads *reads = map_find_ptr(&in->reads, walk.e->tensor);
		if (!reads) {
			reads = NEW(in->arena, Reads);
			map_set_ptr(&in->reads, walk.e->tensor, reads);
		}
		if (reads->stage != stage)
			reads->nstage++;
		reads->nread++;
		reads->stage = stage;
		reads->read = walk.e;
	}
}

/* Read by one stage, at one index that moves with every iterator of the reader, over no more
 * points than the stage has: then no element is computed twice. */
static bool
is_read_once(const Inliner *in, const Stage *stage, const Reads *reads)
{
	ExprCtx *ctx = in->program->ctx;
	const Stage *reader = reads->stage;
	if (reads->nstage != 1 || reads->nread != 1)
		return false;
	for (int i = 0; i < reader->nloop + reader->nreduce; i++) {
		if (dim_is(dim_sub(ctx, reader->iters[i].hi, reader->iters[i].lo), 1))
			continue;
		bool moves = false;
		for (int d = 0; d < reads->read->argc; d++)
			moves |= expr_uses_iter(reads->read->arg[d], i);
		if (!moves)
			return false;
	}
	return dim_proves_le(ctx, stage_points(ctx, reader), stage_points(ctx, stage));
}

/* Reshapes and transpositions in turn have each coordinate several times in the next index: of some
 * ten of them one index is longer than memory. */
static bool
has_long_index(const Expr *body)
{
	for (ExprWalk walk = expr_walk(body); expr_step(&walk);)
		for (int d = 0; walk.e->op == EX_read && d < walk.e->argc; d++)
			if (walk.e->arg[d]->size > LONG_INDEX)
				return true;
	return false;
}

/* With what its body is by now, where what it reads stands in it already. */
static bool
wants_inline(const Inliner *in, const Stage *stage, const Expr *body)
{
	if (stage->kind != STAGE_map || stage->scan || program_gives(in->program, stage))
		return false;
	const Reads *reads = map_find_ptr(&in->reads, stage->results[0]);
	if (!reads)
		return false; /* unread: program_new() drops it */
	if (!in->all && has_long_index(body))
		return false;
	return in->all || expr_cost(stage->body[0]) <= FREE_COST || is_read_once(in, stage, reads);
}

static const Expr *
replace_read(ExprCtx *ctx, const Expr *e, void *arg)
{
	Inliner *in = arg;
	if (e->op != EX_read)
		return e;
	const Expr *body = map_find_ptr(&in->inlined, e->tensor);
	if (body)
		return expr_substitute(ctx, body, e->argc, e->arg);
	const Tensor *tensor = map_find_ptr(&in->replaced, e->tensor);
	return tensor ? expr_read(ctx, tensor, e->arg) : e;
}

/* Rewrite one scalar of `stage` and simplify it under the stage's box (and guard, in the body). */
static const Expr *
rewrite(Inliner *in, const Stage *stage, const Expr *e, bool under_guard, const Expr *guard)
{
	ExprCtx *ctx = in->program->ctx;
	const Expr *new = expr_rewrite(ctx, e, replace_read, in);
	if (new == e)
		return e;
	Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), stage);
	if (under_guard && guard)
		facts_assume(facts, guard);
	new = expr_simplify(facts, new);
	facts_close(facts);
	return new;
}

static const Tensor *
replaced(const Inliner *in, const Tensor *tensor)
{
	const Tensor *new = tensor ? map_find_ptr(&in->replaced, tensor) : NULL;
	return new ? new : tensor;
}

static void
rewrite_stage(Inliner *in, const Stage *stage)
{
	const Expr *guard = stage->guard ? rewrite(in, stage, stage->guard, false, NULL) : NULL;
	const Expr **body = NEW_N(in->arena, const Expr *, stage->nbody);
	bool changed = guard != stage->guard;
	for (int i = 0; i < stage->nbody; i++) {
		body[i] = rewrite(in, stage, stage->body[i], true, guard);
		changed |= body[i] != stage->body[i];
	}
	if (wants_inline(in, stage, body[0])) {
		map_set_ptr(&in->inlined, stage->results[0], (void *)(uintptr_t)body[0]);
		return;
	}
	const Tensor *init = replaced(in, stage->init);
	const Expr **target = NULL;
	if (stage->kind == STAGE_scatter) {
		int rank = stage->results[0]->rank;
		target = NEW_N(in->arena, const Expr *, rank);
		for (int d = 0; d < rank; d++) {
			target[d] = rewrite(in, stage, stage->target[d], false, NULL);
			changed |= target[d] != stage->target[d];
		}
		changed |= init != stage->init;
	}
	if (!changed)
		return;
	Stage *clone = stage_clone(in->program->ctx, stage);
	clone->guard = guard;
	clone->body = body;
	if (stage->kind == STAGE_scatter) {
		clone->target = target;
		clone->init = init;
	}
	for (int i = 0; i < stage->nresult; i++)
		map_set_ptr(&in->replaced, stage->results[i], clone->results[i]);
}

static Program *
inline_stages(Arena *arena, const Program *program, bool all)
{
	Inliner in = {.arena = arena,
	              .program = program,
	              .all = all,
	              .reads = {.arena = arena},
	              .replaced = {.arena = arena},
	              .inlined = {.arena = arena}};
	for (int s = 0; s < program->nstage; s++)
		if (program->stages[s]->scan)
			return (Program *)(uintptr_t)program; /* a recurrence is lowered as it stands */
	for (int s = 0; s < program->nstage; s++)
		count_reads(&in, program->stages[s]);
	for (int s = 0; s < program->nstage; s++)
		rewrite_stage(&in, program->stages[s]);
	const Tensor **outputs = NEW_N(arena, const Tensor *, program->noutput);
	for (int i = 0; i < program->noutput; i++)
		outputs[i] = replaced(&in, program->outputs[i]);
	return program_new(program->ctx, program->name, program->ninput, program->inputs,
	                   program->noutput, outputs);
}

Program *
program_inline_stages(Arena *arena, const Program *program)
{
	return inline_stages(arena, program, false);
}

Program *
program_flatten(Arena *arena, const Program *program)
{
	return inline_stages(arena, program, true);
}

bool
pass_InlineStages(ProgramUnit *unit, PassContext *context)
{
	(void)context;
	return unit_take(unit, program_inline_stages(unit->arena, unit->program));
}
