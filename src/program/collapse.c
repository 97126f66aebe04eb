/* program_collapse_dims: merge adjacent dims that are always used together.
 *
 *     Y[n:N,c:C,h:H,w:W] = max(X[n,c,h,w] + B[c], 0.0)
 *     =>  Y[n:N,c:C,hw:H*W] = max(X[n,c,hw] + B[c], 0.0)
 *
 * Optimistic fixed point: every adjacent pair of dims of every tensor, and every adjacent pair of
 * loops (or of reductions) of every stage, may be merged until some access contradicts it. What is
 * left is consistent, so one rewrite applies all of it.
 *
 * needs    nothing
 * keeps    values, storage
 * breaks   dims: behind it nobody knows which one was which of the model
 */
#include "program/forms.h"
#include "program/reindex.h"
#include "program/unit.h"

/* pair[i]: positions i and i+1 may be merged. */
typedef struct Pairs {
	bool *pair;
} Pairs;

typedef struct Collapser {
	Arena *arena;
	const Program *program;
	ExprCtx *ctx;
	Map tensors; /* Tensor -> Pairs over its dims */
	Map stages;  /* Stage -> Pairs over its iterators */
	bool changed;
	/* while visiting one stage */
	const Stage *stage;
	Pairs *now;
} Collapser;

static Pairs *
pairs_of(Collapser *c, const Tensor *tensor)
{
	Pairs *pairs = map_find_ptr(&c->tensors, tensor);
	if (!pairs) {
		pairs = NEW(c->arena, Pairs);
		pairs->pair = NEW_N(c->arena, bool, tensor->rank + 1);
		for (int d = 0; d + 1 < tensor->rank; d++)
			pairs->pair[d] = true;
		map_set_ptr(&c->tensors, tensor, pairs);
	}
	return pairs;
}

static void
forbid(Collapser *c, bool *pair)
{
	if (*pair) {
		*pair = false;
		c->changed = true;
	}
}

static bool
is_full(Collapser *c, const Iter *iter, const Dim *extent)
{
	(void)c;
	return dim_is(iter->lo, 0) && iter->hi == extent;
}

static bool
is_zero_of_one(const Expr *index, const Dim *extent)
{
	return expr_is_zero(index) && dim_is(extent, 1);
}

/* Dims d and d+1 of this read: merged iterators i and i+1 in full, or both the 0 of an extent 1. */
static bool
pair_fits(Collapser *c, const Expr *read, int d)
{
	const Tensor *t = read->tensor;
	const Expr *a = read->arg[d], *b = read->arg[d + 1];
	if (is_zero_of_one(a, t->hi[d]) && is_zero_of_one(b, t->hi[d + 1]))
		return true;
	return a->op == EX_iter && b->op == EX_iter && b->iter == a->iter + 1 &&
	       c->now->pair[a->iter] && is_full(c, &c->stage->iters[a->iter], t->hi[d]) &&
	       is_full(c, &c->stage->iters[b->iter], t->hi[d + 1]);
}

/* Whether `read` uses iterator i and i+1 only as one adjacent bare pair that its tensor merges. */
static bool
read_allows(Collapser *c, const Expr *read, int i)
{
	Pairs *dims = pairs_of(c, read->tensor);
	for (int d = 0; d < read->argc; d++) {
		const Expr *index = read->arg[d];
		if (!expr_uses_iter(index, i) && !expr_uses_iter(index, i + 1))
			continue;
		if (index->op != EX_iter)
			return false;
		bool is_first =
			index->iter == i && d + 1 < read->argc && dims->pair[d] && pair_fits(c, read, d);
		bool is_second =
			index->iter == i + 1 && d > 0 && dims->pair[d - 1] && pair_fits(c, read, d - 1);
		if (!is_first && !is_second)
			return false;
	}
	return true;
}

static void
check_node(Collapser *c, const Expr *e)
{
	int n = c->stage->nloop + c->stage->nreduce;
	if (e->op == EX_read) {
		Pairs *dims = pairs_of(c, e->tensor);
		for (int d = 0; d + 1 < e->argc; d++)
			if (dims->pair[d] && !pair_fits(c, e, d))
				forbid(c, &dims->pair[d]);
		for (int i = 0; i + 1 < n; i++)
			if (c->now->pair[i] && !read_allows(c, e, i))
				forbid(c, &c->now->pair[i]);
		return;
	}
	for (int k = 0; k < e->argc; k++) /* an iterator used as a number */
		if (e->arg[k]->op == EX_iter) {
			int i = e->arg[k]->iter;
			forbid(c, &c->now->pair[i]);
			if (i > 0)
				forbid(c, &c->now->pair[i - 1]);
		}
}

static void
check_root(Collapser *c, const Expr *e)
{
	if (e->op == EX_iter) {
		forbid(c, &c->now->pair[e->iter]);
		if (e->iter > 0)
			forbid(c, &c->now->pair[e->iter - 1]);
	}
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		check_node(c, walk.e);
}

static void
check_stage(Collapser *c, int s)
{
	const Stage *stage = c->program->stages[s];
	int n = stage->nloop + stage->nreduce;
	c->stage = stage;
	c->now = map_find_ptr(&c->stages, stage);
	if (stage->nloop > 0 && stage->nreduce > 0)
		forbid(c, &c->now->pair[stage->nloop - 1]); /* a loop and a reduction */
	if (stage->kind == STAGE_scatter)
		for (int i = 0; i + 1 < n; i++)
			forbid(c, &c->now->pair[i]);
	for (int d = 0; stage->kind == STAGE_scatter && d < stage->results[0]->rank; d++)
		check_root(c, stage->target[d]);
	for (int b = 0; b < stage->nbody; b++)
		check_root(c, stage->body[b]);
	if (stage->guard)
		check_root(c, stage->guard);
	for (int k = 0; k < stage->nresult; k++) {
		Pairs *dims = pairs_of(c, stage->results[k]);
		for (int d = 0; d + 1 < stage->results[k]->rank; d++) {
			bool both = stage->kind != STAGE_scatter && dims->pair[d] && c->now->pair[d] &&
			            dim_is(stage->iters[d].lo, 0) && dim_is(stage->iters[d + 1].lo, 0);
			if (!both)
				forbid(c, &dims->pair[d]);
			if (stage->kind != STAGE_scatter && !dims->pair[d])
				forbid(c, &c->now->pair[d]);
		}
	}
	if (stage->kind == STAGE_scatter && stage->init) {
		Pairs *dims = pairs_of(c, stage->init);
		for (int d = 0; d + 1 < stage->init->rank; d++)
			forbid(c, &dims->pair[d]);
	}
}

/* ---- the rewrite ---- */

static int
merge_tensor(void *self, const Tensor *tensor, NewDim *dims)
{
	Collapser *c = self;
	Pairs *pairs = pairs_of(c, tensor);
	int rank = 0;
	for (int d = 0; d < tensor->rank; d++) {
		const Dim *lo = tensor->lo ? tensor->lo[d] : dim_const(c->ctx, 0);
		if (d > 0 && pairs->pair[d - 1])
			dims[rank - 1].hi = dim_mul(c->ctx, dims[rank - 1].hi, tensor->hi[d]);
		else
			dims[rank++] = (NewDim){.dim = d, .lo = lo, .hi = tensor->hi[d]};
	}
	return rank == tensor->rank ? -1 : rank;
}

static void
merge_stage(void *self, const Stage *stage, NewStage *to)
{
	Collapser *c = self;
	const Pairs *pairs = map_find_ptr(&c->stages, stage);
	int count = 0, nloop = 0;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		if (i > 0 && pairs->pair[i - 1]) {
			to->iters[count - 1].hi = dim_mul(c->ctx, to->iters[count - 1].hi, stage->iters[i].hi);
		} else {
			to->iters[count++] = stage->iters[i];
			nloop += i < stage->nloop;
		}
		to->old[i] = expr_iter(c->ctx, count - 1);
	}
	to->nloop = nloop;
	to->nreduce = count - nloop;
}

static void
find_pairs(Collapser *c, const bool *fixed)
{
	const Program *p = c->program;
	for (int k = 0; fixed && k < p->ninput + p->noutput; k++) {
		const Tensor *t = k < p->ninput ? p->inputs[k] : p->outputs[k - p->ninput];
		for (int d = 0; t && fixed[k] && d + 1 < t->rank; d++)
			pairs_of(c, t)->pair[d] = false;
	}
	for (int s = 0; s < p->nstage; s++) {
		int n = p->stages[s]->nloop + p->stages[s]->nreduce;
		Pairs *pairs = NEW(c->arena, Pairs);
		pairs->pair = NEW_N(c->arena, bool, n + 1);
		for (int i = 0; i + 1 < n; i++)
			pairs->pair[i] = true;
		map_set_ptr(&c->stages, p->stages[s], pairs);
	}
	do {
		c->changed = false;
		for (int s = 0; s < p->nstage; s++)
			check_stage(c, s);
	} while (c->changed);
}

Program *
program_collapse_dims(Arena *arena, const Program *program, const bool *fixed)
{
	Collapser c = {.arena = arena,
	               .program = program,
	               .ctx = program->ctx,
	               .tensors = {.arena = arena},
	               .stages = {.arena = arena}};
	for (int s = 0; s < program->nstage; s++)
		if (program->stages[s]->scan)
			return (Program *)(uintptr_t)program;
	find_pairs(&c, fixed);
	return program_reindex(&(Reindex){arena, program, merge_tensor, merge_stage, .self = &c});
}

bool
pass_CollapseDims(ProgramUnit *unit, PassContext *context)
{
	const bool *fixed = unit_fixed(unit, context);
	return unit_take_nest(unit, program_collapse_dims(unit->arena, unit->program, fixed), context);
}
