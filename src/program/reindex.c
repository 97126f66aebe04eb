#include "program/reindex.h"

#include <string.h>

#include "expr/index/facts.h"

typedef struct Image {
	const Tensor *tensor;
	int rank; /* -1: its dims are the old ones */
	NewDim *dims;
} Image;

typedef struct Reindexer {
	const Reindex *how;
	ExprCtx *ctx;
	Map images; /* Tensor -> Image */
	const NewStage *to;
	bool is_changed; /* a tensor has other dims, a stage other iterators */
} Reindexer;

/* What becomes of a tensor, said by the pass; `made`, a copy of it, gets these dims and stands for
 * it from now on. */
static void
set_image(Reindexer *r, const Tensor *tensor, Tensor *made)
{
	Arena *arena = r->how->arena;
	Image *image = NEW(arena, Image);
	image->tensor = made;
	image->dims = NEW_N(arena, NewDim, 2 * tensor->rank + 1);
	image->rank = r->how->tensor(r->how->self, tensor, image->dims);
	map_set_ptr(&r->images, tensor, image);
	if (image->rank < 0)
		return;
	const Dim **lo = NEW_N(arena, const Dim *, image->rank + 1);
	const Dim **hi = NEW_N(arena, const Dim *, image->rank + 1);
	bool is_based = true;
	for (int d = 0; d < image->rank; d++) {
		lo[d] = image->dims[d].lo;
		hi[d] = image->dims[d].hi;
		is_based &= dim_is(lo[d], 0);
	}
	made->rank = image->rank;
	made->lo = is_based ? NULL : lo;
	made->hi = hi;
	r->is_changed = true;
}

static const Tensor *
image_of(const Reindexer *r, const Tensor *tensor)
{
	const Image *image = tensor ? map_find_ptr(&r->images, tensor) : NULL;
	return image ? image->tensor : tensor;
}

/* ---- scalars ---- */

/* The indices of a tensor's new dims from those of its old ones. */
static const Expr *const *
new_index(Reindexer *r, const Image *image, const Expr *const *index)
{
	if (image->rank < 0)
		return index;
	const Expr **out = NEW_N(r->how->arena, const Expr *, image->rank + 1);
	for (int d = 0; d < image->rank; d++) {
		const NewDim *dim = &image->dims[d];
		const Expr *block = expr_i64(r->ctx, dim->block);
		out[d] = dim->block == 0     ? index[dim->dim]
		         : dim->is_remainder ? expr_floormod(r->ctx, index[dim->dim], block)
		                             : expr_floordiv(r->ctx, index[dim->dim], block);
	}
	return out;
}

static const Expr *
reindex_node(ExprCtx *ctx, const Expr *e, void *arg)
{
	Reindexer *r = arg;
	if (e->op == EX_iter)
		return r->to->old[e->iter];
	const Image *image = e->op == EX_read ? map_find_ptr(&r->images, e->tensor) : NULL;
	return image ? expr_read(ctx, image->tensor, new_index(r, image, e->arg)) : e;
}

/* A scalar of the old stage as one of `made`, in which `known` is true. */
static const Expr *
reindexed(Reindexer *r, const Stage *made, const Expr *known, const Expr *e)
{
	e = e ? expr_rewrite(r->ctx, e, reindex_node, r) : NULL;
	if (!e || !r->how->is_simplified)
		return e;
	Facts *facts = facts_of_stage(r->ctx, expr_ctx_arena(r->ctx), made);
	if (known)
		facts_assume(facts, known);
	e = expr_simplify(facts, e);
	facts_close(facts);
	return e;
}

/* ---- stages ---- */

static NewStage
new_stage(Reindexer *r, const Stage *stage)
{
	int count = stage->nloop + stage->nreduce;
	NewStage to = {stage->nloop, stage->nreduce, NEW_N(r->how->arena, Iter, count + 2),
	               NEW_N(r->how->arena, const Expr *, count + 2), NULL};
	memcpy(to.iters, stage->iters, (size_t)count * sizeof *to.iters);
	stage_identity(r->ctx, count, to.old);
	if (r->how->stage)
		r->how->stage(r->how->self, stage, &to);
	r->is_changed |= to.nloop + to.nreduce != count;
	return to;
}

static void
reindex_scatter(Reindexer *r, const Stage *stage, Stage *made)
{
	const Tensor *result = stage->results[0];
	const Expr **target = NEW_N(r->how->arena, const Expr *, result->rank + 1);
	for (int d = 0; d < result->rank; d++)
		target[d] = reindexed(r, made, NULL, stage->target[d]);
	made->target = new_index(r, map_find_ptr(&r->images, result), target);
	made->init = image_of(r, stage->init);
}

static void
reindex_stage(Reindexer *r, const Stage *stage)
{
	ExprCtx *ctx = r->ctx;
	NewStage to = new_stage(r, stage);
	Stage *made = stage_clone(ctx, stage);
	r->to = &to;
	made->iters = to.iters;
	made->nloop = to.nloop;
	made->nreduce = to.nreduce;
	made->guard = reindexed(r, made, to.inside, stage->guard);
	bool is_sum = stage->kind == STAGE_reduce;
	if (to.inside && is_sum)
		made->guard = expr_both(ctx, to.inside, made->guard);
	const Expr **body = NEW_N(r->how->arena, const Expr *, stage->nbody);
	for (int k = 0; k < stage->nbody; k++) {
		body[k] = reindexed(r, made, is_sum ? made->guard : to.inside, stage->body[k]);
		if (r->how->body)
			body[k] = r->how->body(r->how->self, stage, body[k]);
		if (to.inside && stage->kind == STAGE_map)
			body[k] =
				expr_select(ctx, to.inside, body[k], expr_number(ctx, (DType)body[k]->type, 0));
	}
	made->body = body;
	for (int k = 0; k < stage->nresult; k++)
		set_image(r, stage->results[k], made->results[k]);
	if (stage->kind == STAGE_scatter)
		reindex_scatter(r, stage, made);
}

Program *
program_reindex(const Reindex *how)
{
	const Program *p = how->program;
	Reindexer r = {.how = how, .ctx = p->ctx, .images = {.arena = how->arena}};
	Tensor **inputs = NEW_N(how->arena, Tensor *, p->ninput + 1);
	const Tensor **outputs = NEW_N(how->arena, const Tensor *, p->noutput + 1);
	for (int k = 0; k < p->ninput; k++) {
		inputs[k] = tensor_copy(p->ctx, p->inputs[k]);
		inputs[k]->type = how->type ? how->type(how->self, p->inputs[k]) : inputs[k]->type;
		r.is_changed |= inputs[k]->type != p->inputs[k]->type;
		set_image(&r, p->inputs[k], inputs[k]);
	}
	for (int s = 0; s < p->nstage; s++) {
		if (p->stages[s]->scan)
			fail_as(FAIL_BUG, &p->stages[s]->loc, "stage %s of a scan cannot be reindexed",
			        p->stages[s]->name);
		reindex_stage(&r, p->stages[s]);
	}
	for (int k = 0; k < p->noutput; k++)
		outputs[k] = image_of(&r, p->outputs[k]);
	if (!r.is_changed)
		return (Program *)(uintptr_t)p;
	return program_new(p->ctx, p->name, p->ninput, inputs, p->noutput, outputs);
}
