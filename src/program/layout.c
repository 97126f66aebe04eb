/* program_apply_layouts, program_unfuse: one iterator becomes two.
 *
 *     Y[n:N,c:C,h:H,w:W] = X[n,c,h,w] + B[c]                      X, Y stored as nc16hw
 *     => Y[n:N,o:C/16,h:H,w:W,i:16] = X[n,o,h,w,i] + B[16*o + i]
 *
 * An iterator is split when it stands alone at the blocked dim of a tensor it reads or makes; so
 * are the dims of intermediates it makes or reads, and the iterators of other stages at those.
 * Elsewhere the old iterator is 16*o + i, which is contiguous along i all the same.
 */
#include "program/layout.h"
#include "program/unit.h"
#include "expr/stage/build.h"

#include <stdlib.h>
#include <string.h>

int64_t
layout_block(const char *layout)
{
	if (!layout)
		return 0;
	while (*layout && (*layout < '0' || *layout > '9'))
		layout++;
	return *layout ? strtoll(layout, NULL, 10) : 0;
}

int
layout_dim(const char *layout)
{
	int letters = 0;
	while (layout[letters] && (layout[letters] < '0' || layout[letters] > '9'))
		letters++;
	return letters - 1;
}

const char *
layout_blocked(Arena *arena, int rank, int64_t block)
{
	static const char *const spatial[] = {[3] = "w", [4] = "hw", [5] = "dhw"};
	if (rank < 3 || rank > 5)
		return NULL;
	return arena_printf(arena, "nc%lld%s", (long long)block, spatial[rank]);
}

int
layout_dims(ExprCtx *ctx, const char *layout, int rank, const Dim *const *dims, const Dim **stored)
{
	int64_t block = layout_block(layout);
	memcpy(stored, dims, (size_t)rank * sizeof *dims);
	if (block == 0)
		return rank;
	const Dim *b = dim_const(ctx, block);
	int channel = layout_dim(layout);
	stored[channel] = dim_ceildiv(ctx, dims[channel], b);
	stored[rank] = b;
	return rank + 1;
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
	bool is_last; /* the inner part is stored last, not behind the outer one */
} Split;

typedef struct Blocker {
	Arena *arena;
	ExprCtx *ctx;
	const Program *program;
	Map tensors;   /* Tensor -> Split */
	Split *stages; /* loops and reductions */
	int now;
	bool changed;
	Map replaced;       /* Tensor -> Tensor */
	const Expr **iters; /* old iterators over the new ones */
} Blocker;

static Split *
split_of(Blocker *b, const Tensor *tensor)
{
	Split *split = map_find_ptr(&b->tensors, tensor);
	if (!split) {
		split = NEW(b->arena, Split);
		split->dim = -1;
		map_set_ptr(&b->tensors, tensor, split);
	}
	return split;
}

static bool
same_split(const Split *a, const Split *b)
{
	return a->dim == b->dim && a->block == b->block && a->is_last == b->is_last;
}

/* A tensor of the program is split so, and with it the stage that makes it, whatever that was split
 * by before, and its other results: those of one stage are stored alike, as its loops run. */
static void
split_results(Blocker *b, const Tensor *tensor, Split split)
{
	for (int s = 0; tensor->stage && s < b->program->nstage; s++)
		if (b->program->stages[s] == tensor->stage)
			b->stages[s] = split;
	*split_of(b, tensor) = split;
	for (int r = 0; tensor->stage && r < tensor->stage->nresult; r++)
		*split_of(b, tensor->stage->results[r]) = split;
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
	bool is_output = false;
	for (int k = 0; k < p->noutput; k++)
		is_output |= p->outputs[k] && p->outputs[k]->stage == tensor->stage;
	return tensor->stage && !is_output;
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
		split_results(b, read->tensor, (Split){d, loop->block, true});
		b->changed = true;
		return;
	}
}

static void
note_read(const Expr *e, void *arg)
{
	Blocker *b = arg;
	if (e->op != EX_read)
		return;
	const Split *split = split_of(b, e->tensor);
	Split *mine = &b->stages[b->now];
	const Stage *stage = b->program->stages[b->now];
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
			Split *mine = &b->stages[s];
			b->now = s;
			for (int r = 0; mine->dim < 0 && r < stage->nresult; r++)
				if (split_of(b, stage->results[r])->dim >= 0) {
					*mine = *split_of(b, stage->results[r]);
					b->changed = true;
				}
			for (int k = 0; k < stage->nbody; k++)
				expr_visit(stage->body[k], note_read, b);
			for (int r = 0; r < stage->nresult; r++) {
				Split *result = split_of(b, stage->results[r]);
				if (result->dim < 0 && mine->dim >= 0 && mine->dim < stage->nloop) {
					*result = (Split){mine->dim, mine->block, false};
					b->changed = true;
				}
			}
		}
	} while (b->changed);
}

/* ---- the rewrite ---- */

/* Dims (and lo, all 0 here) of a tensor with its dim split. */
static int
split_dims(Blocker *b, const Split *split, int rank, const Dim *const *dims, const Dim **out)
{
	const Dim *block = dim_const(b->ctx, split->block);
	int n = 0;
	for (int d = 0; d < rank; d++) {
		out[n++] = d == split->dim ? dim_ceildiv(b->ctx, dims[d], block) : dims[d];
		if (d == split->dim && !split->is_last)
			out[n++] = block;
	}
	if (split->dim >= 0 && split->is_last)
		out[n++] = block;
	return n;
}

static const Expr *
split_read(ExprCtx *ctx, const Expr *e, void *arg)
{
	Blocker *b = arg;
	if (e->op == EX_iter)
		return b->iters[e->iter];
	const Tensor *tensor = e->op == EX_read ? map_find_ptr(&b->replaced, e->tensor) : NULL;
	if (!tensor)
		return e;
	const Split *split = split_of(b, e->tensor);
	const Expr *block = expr_i64(ctx, split->block);
	const Expr **index = NEW_N(b->arena, const Expr *, e->argc + 2);
	const Expr *inner = NULL;
	int n = 0;
	for (int d = 0; d < e->argc; d++) {
		if (d != split->dim) {
			index[n++] = e->arg[d];
			continue;
		}
		inner = expr_floormod(ctx, e->arg[d], block);
		index[n++] = expr_floordiv(ctx, e->arg[d], block);
		if (!split->is_last)
			index[n++] = inner;
	}
	if (inner && split->is_last)
		index[n++] = inner;
	return expr_read(ctx, tensor, index);
}

/* New iterators of stage s, and the old ones over them. */
static Iter *
split_iters(Blocker *b, const Stage *stage, const Split *split, bool is_last, int *nloop)
{
	int n = stage->nloop + stage->nreduce, count = 0, outer = -1, inner = -1;
	Iter *iters = NEW_N(b->arena, Iter, n + 2);
	int *position = NEW_N(b->arena, int, n + 1);
	const Dim *zero = dim_const(b->ctx, 0), *block = dim_const(b->ctx, split->block);
	for (int i = 0; i < n; i++) {
		if (i == stage->nloop && is_last && split->dim >= 0 && split->dim < stage->nloop) {
			inner = count;
			iters[count++] = (Iter){"b", zero, block};
		}
		position[i] = count;
		iters[count++] = stage->iters[i];
		if (i != split->dim)
			continue;
		outer = position[i];
		iters[outer].hi = dim_ceildiv(b->ctx, stage->iters[i].hi, block);
		if (!is_last || i >= stage->nloop) {
			inner = count;
			iters[count++] = (Iter){"b", zero, block};
		}
	}
	if (split->dim >= 0 && inner < 0) {
		inner = count;
		iters[count++] = (Iter){"b", zero, block};
	}
	b->iters = NEW_N(b->arena, const Expr *, n + 1);
	for (int i = 0; i < n; i++)
		b->iters[i] = expr_iter(b->ctx, position[i]);
	if (split->dim >= 0)
		b->iters[split->dim] = expr_add(
			b->ctx, expr_mul(b->ctx, expr_i64(b->ctx, split->block), expr_iter(b->ctx, outer)),
			expr_iter(b->ctx, inner));
	*nloop = stage->nloop + (split->dim >= 0 && split->dim < stage->nloop);
	return iters;
}

static const Expr *
rewrite(Blocker *b, const Stage *clone, const Expr *e, const Expr *known)
{
	Facts *facts = facts_of_stage(b->ctx, b->arena, clone);
	if (known)
		facts_assume(facts, known);
	return expr_simplify(facts, expr_rewrite(b->ctx, e, split_read, b));
}

static void
split_stage(Blocker *b, int s)
{
	const Stage *stage = b->program->stages[s];
	const Split *split = &b->stages[s];
	const Split *result = split_of(b, stage->results[0]);
	for (int r = 1; r < stage->nresult; r++)
		if (!same_split(split_of(b, stage->results[r]), result))
			fail_as(FAIL_BUG, &stage->loc, "results of stage %s are to be stored in two ways",
			        stage->name);
	Stage *clone = stage_clone(b->ctx, stage);
	int nloop;
	clone->iters = split_iters(b, stage, split, result->is_last, &nloop);
	clone->nreduce = stage->nloop + stage->nreduce + (split->dim >= 0) - nloop;
	clone->nloop = nloop;
	const Expr *inside = NULL;
	if (split->dim >= 0 && is_ragged(b->ctx, stage->iters[split->dim].hi, split->block))
		inside = expr_lt(b->ctx, b->iters[split->dim], stage->iters[split->dim].hi);
	clone->guard = stage->guard ? rewrite(b, clone, stage->guard, inside) : NULL;
	if (inside && stage->kind == STAGE_reduce)
		clone->guard = clone->guard ? expr_and(b->ctx, inside, clone->guard) : inside;
	const Expr *known = stage->kind == STAGE_reduce ? clone->guard : inside;
	const Expr **body = NEW_N(b->arena, const Expr *, stage->nbody);
	for (int k = 0; k < stage->nbody; k++) {
		body[k] = rewrite(b, clone, stage->body[k], known);
		if (inside && stage->kind == STAGE_map) /* the padding of a block is zero */
			body[k] =
				expr_select(b->ctx, inside, body[k], expr_number(b->ctx, (DType)body[k]->type, 0));
	}
	clone->body = body;
	for (int r = 0; r < stage->nresult; r++) {
		Tensor *tensor = clone->results[r];
		const Dim **dims = NEW_N(b->arena, const Dim *, tensor->rank + 2);
		tensor->rank = split_dims(b, split_of(b, stage->results[r]), tensor->rank,
		                          stage->results[r]->hi, dims);
		tensor->hi = dims;
		tensor->lo = NULL;
		map_set_ptr(&b->replaced, stage->results[r], tensor);
	}
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
	const Program *p = b->program;
	Tensor **inputs = NEW_N(b->arena, Tensor *, p->ninput + 1);
	for (int k = 0; k < p->ninput; k++) {
		const Tensor *t = p->inputs[k];
		const Dim **dims = NEW_N(b->arena, const Dim *, t->rank + 2);
		inputs[k] = (Tensor *)(uintptr_t)t;
		if (split_of(b, t)->dim < 0)
			continue;
		int rank = split_dims(b, split_of(b, t), t->rank, t->hi, dims);
		inputs[k] = tensor_new(b->ctx, t->name, t->type, rank, dims);
		map_set_ptr(&b->replaced, t, inputs[k]);
	}
	find_splits(b);
	for (int s = 0; s < p->nstage; s++)
		split_stage(b, s);
	const Tensor **outputs = NEW_N(b->arena, const Tensor *, p->noutput + 1);
	for (int k = 0; k < p->noutput; k++)
		outputs[k] = p->outputs[k] ? map_find_ptr(&b->replaced, p->outputs[k]) : NULL;
	return program_new(b->ctx, p->name, p->ninput, inputs, p->noutput, outputs);
}

static void
start(Blocker *b, const Program *program)
{
	b->program = program;
	b->stages = NEW_N(b->arena, Split, program->nstage + 1);
	for (int s = 0; s < program->nstage; s++)
		b->stages[s].dim = -1;
}

Program *
program_apply_layouts(Arena *arena, const Program *program, const char *const *layouts)
{
	Blocker b = {.arena = arena,
	             .ctx = program->ctx,
	             .tensors = {.arena = arena},
	             .replaced = {.arena = arena}};
	bool any = false;
	for (int k = 0; k < program->ninput + program->noutput; k++)
		any |= layout_block(layouts[k]) != 0;
	if (!any)
		return (Program *)(uintptr_t)program;
	start(&b, program = with_map_outputs(&b, program, layouts));
	for (int k = 0; k < program->ninput + program->noutput; k++) {
		const Tensor *t =
			k < program->ninput ? program->inputs[k] : program->outputs[k - program->ninput];
		if (t && layout_block(layouts[k]))
			split_results(&b, t, (Split){layout_dim(layouts[k]), layout_block(layouts[k]), true});
	}
	return apply_splits(&b);
}

Program *
program_block_input(Arena *arena, const Program *program, int input, int dim, int64_t block)
{
	Blocker b = {.arena = arena,
	             .ctx = program->ctx,
	             .tensors = {.arena = arena},
	             .replaced = {.arena = arena}};
	start(&b, program);
	*split_of(&b, program->inputs[input]) = (Split){dim, block, true};
	return apply_splits(&b);
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
find_reshape(const Expr *e, void *arg)
{
	int64_t factor;
	bool is_part = e->op == EX_floordiv || e->op == EX_floormod;
	if (is_part && e->arg[0]->op == EX_iter && expr_as_i64(e->arg[1], &factor))
		try_apart(arg, e->arg[0]->iter, factor);
}

/* Phases of a strided window (transposed convolution): (i + rest) % factor in a guard. Each phase
 * meets its own taps, and along i / factor the reads are contiguous. */
static void
find_phases(const Expr *e, void *arg)
{
	Apart *apart = arg;
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
		expr_visit(stage->body[k], find_reshape, &apart);
	if (stage->guard)
		expr_visit(stage->guard, find_phases, &apart);
	if (apart.iter < 0)
		return false;
	*split = (Split){apart.iter, apart.factor, false};
	return true;
}

Program *
program_unfuse(Arena *arena, const Program *program)
{
	enum { MAX_ROUNDS = 8 }; /* one split per stage and round */
	for (int round = 0; round < MAX_ROUNDS; round++) {
		Blocker b = {.arena = arena,
		             .ctx = program->ctx,
		             .tensors = {.arena = arena},
		             .replaced = {.arena = arena}};
		bool found = false;
		start(&b, program);
		for (int s = 0; s < program->nstage && !found; s++) {
			if (program->stages[s]->scan)
				return (Program *)(uintptr_t)program;
			found = taken_apart(b.ctx, arena, program->stages[s], &b.stages[s]);
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
	return unit_take_nest(unit, program_unfuse(unit->arena, unit->program), context);
}
