/* program_apply_layouts, program_split_dims: one iterator becomes two.
 *
 *     Y[n:N,c:C,h:H,w:W] = X[n,c,h,w] + B[c]                      X, Y stored as nc16hw
 *     => Y[n:N,o:C/16,h:H,w:W,i:16] = X[n,o,h,w,i] + B[16*o + i]
 *
 * An iterator is split when it stands alone at the blocked dim of a tensor it reads or makes; so
 * are the dims of intermediates it makes or reads, and the iterators of other stages at those.
 * Elsewhere the old iterator is 16*o + i, which is contiguous along i all the same.
 *
 * needs    the dims of the model: nothing merged, none dropped
 * keeps    values
 * breaks   dims: behind it they are those of the storage, or parts of them
 */
#include "program/layout.h"
#include "program/reindex.h"
#include "program/unit.h"
#include "expr/stage/build.h"

#include <string.h>

const char *
layout_blocked(Arena *arena, int rank, int64_t block)
{
	static const char *const spatial[] = {[3] = "w", [4] = "hw", [5] = "dhw"};
	if (rank < 3 || rank > 5)
		return NULL;
	return arena_printf(arena, "nc%lld%s", (long long)block, spatial[rank]);
}

const char *
layout_of_weights(Arena *arena, int rank, int64_t block)
{
	static const char *const rest[] = {[3] = "iw", [4] = "ihw", [5] = "idhw"};
	if (rank < 3 || rank > 5)
		return NULL;
	return arena_printf(arena, "o%lld%s", (long long)block, rest[rank]);
}

void
layout_strides(ExprCtx *ctx, const char *layout, int rank, const Dim *const *dims,
               const Dim **strides)
{
	int64_t block = layout_block(layout);
	const Dim *step = dim_const(ctx, block ? block : 1);
	for (int d = rank - 1; d >= 0; d--) {
		bool is_channel = block && d == layout_dim(layout);
		strides[d] = step;
		step = dim_mul(ctx, step,
		               is_channel ? dim_ceildiv(ctx, dims[d], dim_const(ctx, block)) : dims[d]);
	}
}

/* What is split in a tensor or stage: dim or iterator d by `block`. At most one. */
typedef struct Split {
	int dim; /* -1: none */
	int64_t block;
	bool is_last;  /* the inner part is stored last, not behind the outer one */
	bool is_first; /* the outer part is stored first */
} Split;

typedef struct Blocker {
	Arena *arena;
	ExprCtx *ctx;
	const Program *program;
	Map tensors; /* Tensor -> Split of a dim */
	Map stages;  /* Stage -> Split of an iterator */
	bool changed;
} Blocker;

/* Of a tensor or a stage. */
static Split *
split_of(Map *splits, const void *of)
{
	Split *split = map_find_ptr(splits, of);
	if (!split) {
		split = NEW(splits->arena, Split);
		split->dim = -1;
		map_set_ptr(splits, of, split);
	}
	return split;
}

static bool
same_split(const Split *a, const Split *b)
{
	return a->dim == b->dim && a->block == b->block && a->is_last == b->is_last &&
	       a->is_first == b->is_first;
}

static Blocker
start(Arena *arena, const Program *program)
{
	return (Blocker){.arena = arena,
	                 .ctx = program->ctx,
	                 .program = program,
	                 .tensors = {.arena = arena},
	                 .stages = {.arena = arena}};
}

/* The stage that makes a tensor; NULL: it is given, perhaps by a part of the program that is a
 * kernel of its own. */
static const Stage *
maker_in(const Program *p, const Tensor *tensor)
{
	bool is_given = false;
	for (int k = 0; k < p->ninput; k++)
		is_given |= p->inputs[k] == tensor;
	return is_given ? NULL : tensor->stage;
}

/* A tensor of the program is split so, and with it the stage that makes it, whatever that was split
 * by before, and its other results: those of one stage are stored alike, as its loops run. */
static void
split_results(Blocker *b, const Tensor *tensor, Split split)
{
	const Stage *maker = maker_in(b->program, tensor);
	if (maker)
		*split_of(&b->stages, maker) = split;
	*split_of(&b->tensors, tensor) = split;
	for (int r = 0; maker && r < maker->nresult; r++)
		*split_of(&b->tensors, maker->results[r]) = split;
}

static bool
is_ragged(ExprCtx *ctx, const Dim *extent, int64_t block)
{
	return !dim_is(dim_floormod(ctx, extent, dim_const(ctx, block)), 0);
}

/* A result that goes out in plain storage cannot have an incomplete last block. */
static bool
must_stay_whole(const Blocker *b, const Stage *stage, int iter, int64_t block)
{
	const Program *p = b->program;
	if (iter >= stage->nloop || !is_ragged(b->ctx, stage->iters[iter].hi, block))
		return false;
	for (int k = 0; k < p->noutput; k++) {
		const Split *split = p->outputs[k] ? map_find_ptr(&b->tensors, p->outputs[k]) : NULL;
		if (p->outputs[k] && p->outputs[k]->stage == stage && (!split || split->dim < 0))
			return true;
	}
	return false;
}

/* Made by a stage none of whose results goes out. */
static bool
is_intermediate(const Program *p, const Tensor *tensor)
{
	const Stage *maker = maker_in(p, tensor);
	return maker && !program_gives(p, maker);
}

/* An intermediate is stored as the loop that reads it runs: then the stage that makes it runs so
 * too, instead of over blocks of what it reads itself (a convolution: of its input's channels). */
static void
split_as_read(Blocker *b, const Expr *read, const Stage *reader, const Split *loop)
{
	if (loop->dim >= reader->nloop || !is_intermediate(b->program, read->tensor))
		return;
	for (int d = 0; d < read->argc; d++) {
		if (read->arg[d]->op != EX_iter || read->arg[d]->iter != loop->dim)
			continue;
		split_results(b, read->tensor, (Split){d, loop->block, true, false});
		b->changed = true;
		return;
	}
}

static void
note_read(Blocker *b, const Stage *stage, const Expr *e)
{
	const Split *split = split_of(&b->tensors, e->tensor);
	Split *mine = split_of(&b->stages, stage);
	if (split->dim < 0 && mine->dim >= 0)
		split_as_read(b, e, stage, mine);
	if (split->dim < 0 || mine->dim >= 0 || e->arg[split->dim]->op != EX_iter ||
	    must_stay_whole(b, stage, e->arg[split->dim]->iter, split->block))
		return;
	mine->dim = e->arg[split->dim]->iter;
	mine->block = split->block;
	b->changed = true;
}

/* From the last stage to the first, so that readers decide. */
static void
find_splits(Blocker *b)
{
	const Program *p = b->program;
	do {
		b->changed = false;
		for (int s = p->nstage - 1; s >= 0; s--) {
			const Stage *stage = p->stages[s];
			Split *mine = split_of(&b->stages, stage);
			for (int r = 0; mine->dim < 0 && r < stage->nresult; r++)
				if (split_of(&b->tensors, stage->results[r])->dim >= 0) {
					*mine = *split_of(&b->tensors, stage->results[r]);
					b->changed = true;
				}
			for (int k = 0; k < stage->nbody; k++)
				for (ExprWalk walk = expr_walk(stage->body[k]); expr_step(&walk);)
					if (walk.e->op == EX_read)
						note_read(b, stage, walk.e);
			for (int r = 0; r < stage->nresult; r++) {
				Split *result = split_of(&b->tensors, stage->results[r]);
				if (result->dim < 0 && mine->dim >= 0 && mine->dim < stage->nloop) {
					*result = (Split){mine->dim, mine->block, false, false};
					b->changed = true;
				}
			}
		}
	} while (b->changed);
}

/* ---- the rewrite ---- */

/* The dims of a tensor with its dim split. */
static int
split_tensor(void *self, const Tensor *tensor, NewDim *dims)
{
	Blocker *b = self;
	const Split *split = split_of(&b->tensors, tensor);
	const Dim *zero = dim_const(b->ctx, 0), *block = dim_const(b->ctx, split->block);
	const NewDim inner = {split->dim, split->block, true, zero, block};
	int n = 0;
	if (split->dim < 0)
		return -1;
	const Dim *blocks = dim_ceildiv(b->ctx, tensor->hi[split->dim], block);
	const NewDim outer = {split->dim, split->block, false, zero, blocks};
	if (split->is_first)
		dims[n++] = outer;
	for (int d = 0; d < tensor->rank; d++) {
		if (d != split->dim)
			dims[n++] = (NewDim){.dim = d, .lo = zero, .hi = tensor->hi[d]};
		else if (!split->is_first)
			dims[n++] = outer;
		if (d == split->dim && !split->is_last)
			dims[n++] = inner;
	}
	if (split->is_last)
		dims[n++] = inner;
	return n;
}

/* The iterator that is split: its inner part stands behind it, or, where results are so stored,
 * last of the loops. */
static void
split_stage(void *self, const Stage *stage, NewStage *to)
{
	Blocker *b = self;
	const Split *split = split_of(&b->stages, stage),
				*result = split_of(&b->tensors, stage->results[0]);
	ExprCtx *ctx = b->ctx;
	int count = 0, i = split->dim;
	for (int r = 1; r < stage->nresult; r++)
		if (!same_split(split_of(&b->tensors, stage->results[r]), result))
			fail_as(FAIL_BUG, &stage->loc, "results of stage %s are to be stored in two ways",
			        stage->name);
	if (i < 0)
		return;
	bool is_loop = i < stage->nloop;
	int inner = result->is_last && is_loop ? stage->nloop : i + 1;
	for (int k = 0; k < stage->nloop + stage->nreduce; k++) {
		count += count == inner;
		to->iters[count] = stage->iters[k];
		to->old[k] = expr_iter(ctx, count++);
	}
	const Dim *extent = stage->iters[i].hi, *block = dim_const(ctx, split->block);
	to->iters[i].hi = dim_ceildiv(ctx, extent, block);
	to->iters[inner] = (Iter){"b", dim_const(ctx, 0), block};
	to->old[i] = expr_add(ctx, expr_mul(ctx, expr_i64(ctx, split->block), expr_iter(ctx, i)),
	                      expr_iter(ctx, inner));
	to->nloop += is_loop;
	to->nreduce += !is_loop;
	if (is_ragged(ctx, extent, split->block))
		to->inside = expr_lt(ctx, to->old[i], extent);
}

/* Ragged outputs that a reduction makes get a map stage, which zeroes their padding. */
static const Program *
with_map_outputs(Blocker *b, const Program *p, const char *const *layouts)
{
	const Tensor **outputs = NEW_N(b->arena, const Tensor *, p->noutput + 1);
	bool changed = false;
	for (int k = 0; k < p->noutput; k++) {
		const Tensor *t = outputs[k] = p->outputs[k];
		int64_t block = layout_block(layouts[p->ninput + k]);
		if (!t || block == 0 || !t->stage || t->stage->kind == STAGE_map ||
		    !is_ragged(b->ctx, t->hi[layout_dim(layouts[p->ninput + k])], block))
			continue;
		StageBuilder *copy = stage_open(b->ctx, t->name, t->rank, t->hi);
		outputs[k] = stage_map(copy, t->type, stage_read_broadcast(copy, t));
		changed = true;
	}
	if (!changed)
		return p;
	return program_new(p->ctx, p->name, p->ninput, p->inputs, p->noutput, outputs);
}

/* The program with every split put into it, found ones and those that follow from them. */
static Program *
apply_splits(Blocker *b)
{
	find_splits(b);
	return program_reindex(
		&(Reindex){b->arena, b->program, split_tensor, split_stage, b, .is_simplified = true});
}

Program *
program_apply_layouts(Arena *arena, const Program *program, const char *const *layouts)
{
	Blocker b = start(arena, program);
	bool any = false;
	for (int k = 0; k < program->ninput + program->noutput; k++)
		any |= layout_block(layouts[k]) != 0;
	if (!any)
		return (Program *)(uintptr_t)program;
	b.program = program = with_map_outputs(&b, program, layouts);
	for (int k = 0; k < program->ninput + program->noutput; k++) {
		const Tensor *t =
			k < program->ninput ? program->inputs[k] : program->outputs[k - program->ninput];
		if (t && layout_block(layouts[k]))
			split_results(&b, t,
			              (Split){layout_dim(layouts[k]), layout_block(layouts[k]), true, false});
	}
	return apply_splits(&b);
}

Program *
program_block_input(Arena *arena, const Program *program, int input, int dim, int64_t block)
{
	Blocker b = start(arena, program);
	*split_of(&b.tensors, program->inputs[input]) = (Split){dim, block, true, true};
	return apply_splits(&b);
}

/* ---- an input in given dims ---- */

typedef struct Stored {
	const Tensor *tensor;
	int rank;
	const NewDim *dims;
} Stored;

static int
stored_tensor(void *self, const Tensor *tensor, NewDim *dims)
{
	const Stored *stored = self;
	if (tensor != stored->tensor)
		return -1;
	memcpy(dims, stored->dims, (size_t)stored->rank * sizeof *dims);
	return stored->rank;
}

Program *
program_store_input(Arena *arena, const Program *program, int input, int rank, const NewDim *dims)
{
	Stored stored = {program->inputs[input], rank, dims};
	return program_reindex(
		&(Reindex){arena, program, stored_tensor, NULL, &stored, .is_simplified = true});
}

static int
same_dims(void *self, const Tensor *tensor, NewDim *dims)
{
	(void)self;
	(void)tensor;
	(void)dims;
	return -1;
}

static DType
wide_type(void *self, const Tensor *input)
{
	return input == self ? DT_F32 : input->type;
}

Program *
program_widen_input(Arena *arena, const Program *program, int input)
{
	return program_reindex(&(Reindex){.arena = arena,
	                                  .program = program,
	                                  .tensor = same_dims,
	                                  .type = wide_type,
	                                  .self = program->inputs[input]});
}

/* ---- indices that take an iterator apart ---- */

typedef struct Apart {
	ExprCtx *ctx;
	Arena *arena;
	const Stage *stage;
	int iter; /* -1: none found yet */
	int64_t factor;
} Apart;

static void
try_apart(Apart *apart, int iter, int64_t factor)
{
	const Stage *stage = apart->stage;
	if (apart->iter >= 0 || iter >= stage->nloop || factor < 2 ||
	    !dim_is(stage->iters[iter].lo, 0) || dim_is(stage->iters[iter].hi, factor) ||
	    is_ragged(apart->ctx, stage->iters[iter].hi, factor))
		return;
	apart->iter = iter;
	apart->factor = factor;
}

/* A reshape that splits a dim: i / factor and i % factor. */
static void
find_reshape(Apart *apart, const Expr *e)
{
	int64_t factor;
	bool is_part = e->op == EX_floordiv || e->op == EX_floormod;
	if (is_part && e->arg[0]->op == EX_iter && expr_as_i64(e->arg[1], &factor))
		try_apart(apart, e->arg[0]->iter, factor);
}

/* Phases of a strided window (transposed convolution): (i + rest) % factor in a guard. Each phase
 * meets its own taps, and along i / factor the reads are contiguous. */
static void
find_phases(Apart *apart, const Expr *e)
{
	int n = apart->stage->nloop + apart->stage->nreduce;
	const Dim **coefficient = NEW_N(apart->arena, const Dim *, n + 1);
	const Expr *rest;
	int64_t factor;
	if (e->op != EX_floormod || !expr_as_i64(e->arg[1], &factor) ||
	    !expr_affine(apart->ctx, e->arg[0], n, coefficient, &rest))
		return;
	for (int i = 0; i < apart->stage->nloop; i++)
		if (dim_is(coefficient[i], 1))
			try_apart(apart, i, factor);
}

static bool
taken_apart(ExprCtx *ctx, Arena *arena, const Stage *stage, Split *split)
{
	Apart apart = {.ctx = ctx, .arena = arena, .stage = stage, .iter = -1};
	if (stage->kind == STAGE_scatter)
		return false;
	for (int k = 0; k < stage->nbody; k++)
		for (ExprWalk walk = expr_walk(stage->body[k]); expr_step(&walk);)
			find_reshape(&apart, walk.e);
	for (ExprWalk walk = expr_walk(stage->guard); expr_step(&walk);)
		find_phases(&apart, walk.e);
	if (apart.iter < 0)
		return false;
	*split = (Split){apart.iter, apart.factor, false, false};
	return true;
}

Program *
program_split_dims(Arena *arena, const Program *program)
{
	enum { MAX_ROUNDS = 8 }; /* one split per stage and round */
	for (int round = 0; round < MAX_ROUNDS; round++) {
		Blocker b = start(arena, program);
		bool found = false;
		for (int s = 0; s < program->nstage && !found; s++) {
			if (program->stages[s]->scan)
				return (Program *)(uintptr_t)program;
			found = taken_apart(b.ctx, arena, program->stages[s],
			                    split_of(&b.stages, program->stages[s]));
		}
		if (!found)
			break;
		program = apply_splits(&b);
	}
	return (Program *)(uintptr_t)program;
}

bool
pass_ApplyLayouts(ProgramUnit *unit, PassContext *context)
{
	const char *const *layouts = unit_layouts(unit, context);
	unit->is_stored = true;
	return unit_take(unit, program_apply_layouts(unit->arena, unit->program, layouts));
}

bool
pass_SplitDims(ProgramUnit *unit, PassContext *context)
{
	return unit_take_nest(unit, program_split_dims(unit->arena, unit->program), context);
}
