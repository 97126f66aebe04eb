/* program_squeeze: drop dims and iterators of extent 1.
 *
 *     Y[n:1,c:C,p:P] = max(X[0,c,p] + B[c,0], 0.0)      =>   Y[c:C,p:P] = max(X[c,p] + B[c], 0.0)
 *
 * The storage is the same; loops of one iteration would only hide from the analyses which dims move
 * together. Symbolic extents stay, whatever they are bound to.
 */
#include "program/forms.h"
#include "program/unit.h"

typedef struct Squeezer {
	Arena *arena;
	ExprCtx *ctx;
	Map fixed;    /* Tensor -> itself: keeps its dims */
	Map replaced; /* Tensor -> Tensor */
	const Expr **iters;
} Squeezer;

static bool
is_one(const Dim *lo, const Dim *hi)
{
	return dim_is(hi, 1) && (!lo || dim_is(lo, 0));
}

static bool
drops(const Squeezer *s, const Tensor *tensor, int dim)
{
	return is_one(tensor->lo ? tensor->lo[dim] : NULL, tensor->hi[dim]) &&
	       !map_find_ptr(&s->fixed, tensor);
}

static int
kept_dims(Squeezer *s, const Tensor *tensor, const Dim **dims, const Dim **los)
{
	int rank = 0;
	for (int d = 0; d < tensor->rank; d++) {
		if (drops(s, tensor, d))
			continue;
		los[rank] = tensor->lo ? tensor->lo[d] : dim_const(s->ctx, 0);
		dims[rank++] = tensor->hi[d];
	}
	return rank;
}

static const Expr *
squeeze_node(ExprCtx *ctx, const Expr *e, void *arg)
{
	Squeezer *s = arg;
	if (e->op == EX_iter)
		return s->iters[e->iter];
	const Tensor *tensor = e->op == EX_read ? map_find_ptr(&s->replaced, e->tensor) : NULL;
	if (!tensor)
		return e;
	const Expr **index = NEW_N(s->arena, const Expr *, e->argc + 1);
	int rank = 0;
	for (int d = 0; d < e->argc; d++)
		if (!drops(s, e->tensor, d))
			index[rank++] = e->arg[d];
	return expr_read(ctx, tensor, index);
}

static const Expr *
squeezed(Squeezer *s, const Expr *e)
{
	return e ? expr_rewrite(s->ctx, e, squeeze_node, s) : NULL;
}

/* The iterators that stay; s->iters gets the old ones over them. */
static Iter *
kept_iters(Squeezer *s, const Stage *stage, int *nloop, int *count)
{
	int n = stage->nloop + stage->nreduce;
	Iter *iters = NEW_N(s->arena, Iter, n + 1);
	s->iters = NEW_N(s->arena, const Expr *, n + 1);
	*count = *nloop = 0;
	for (int i = 0; i < n; i++) {
		bool is_result = stage->kind != STAGE_scatter && i < stage->nloop;
		bool keep = !is_one(stage->iters[i].lo, stage->iters[i].hi) ||
		            (is_result && map_find_ptr(&s->fixed, stage->results[0]));
		s->iters[i] = keep ? expr_iter(s->ctx, *count) : expr_i64(s->ctx, 0);
		if (!keep)
			continue;
		iters[(*count)++] = stage->iters[i];
		*nloop += i < stage->nloop;
	}
	return iters;
}

static void
squeeze_stage(Squeezer *s, const Stage *stage)
{
	int nloop, count;
	Stage *clone = stage_clone(s->ctx, stage);
	clone->iters = kept_iters(s, stage, &nloop, &count);
	clone->nloop = nloop;
	clone->nreduce = count - nloop;
	const Expr **body = NEW_N(s->arena, const Expr *, stage->nbody);
	for (int b = 0; b < stage->nbody; b++)
		body[b] = squeezed(s, stage->body[b]);
	clone->body = body;
	clone->guard = squeezed(s, stage->guard);
	if (stage->kind == STAGE_scatter) {
		const Expr **target = NEW_N(s->arena, const Expr *, stage->results[0]->rank + 1);
		const Tensor *init = map_find_ptr(&s->replaced, stage->init);
		int rank = 0;
		for (int d = 0; d < stage->results[0]->rank; d++)
			if (!drops(s, stage->results[0], d))
				target[rank++] = squeezed(s, stage->target[d]);
		clone->target = target;
		clone->init = init ? init : stage->init;
	}
	for (int r = 0; r < stage->nresult; r++) {
		Tensor *tensor = clone->results[r];
		const Dim **dims = NEW_N(s->arena, const Dim *, 2 * tensor->rank + 1);
		const Dim **los = dims + tensor->rank;
		bool has_lo = tensor->lo != NULL;
		tensor->rank = kept_dims(s, stage->results[r], dims, los);
		tensor->hi = dims;
		tensor->lo = has_lo ? los : NULL;
		map_set_ptr(&s->replaced, stage->results[r], tensor);
	}
}

static Tensor **
squeeze_inputs(Squeezer *s, const Program *p)
{
	Tensor **inputs = NEW_N(s->arena, Tensor *, p->ninput + 1);
	for (int i = 0; i < p->ninput; i++) {
		Tensor *t = inputs[i] = p->inputs[i];
		const Dim **dims = NEW_N(s->arena, const Dim *, 2 * t->rank + 1);
		int rank = kept_dims(s, t, dims, dims + t->rank);
		if (rank == t->rank)
			continue;
		inputs[i] = tensor_new(s->ctx, t->name, t->type, rank, dims);
		map_set_ptr(&s->replaced, t, inputs[i]);
	}
	return inputs;
}

Program *
program_squeeze(Arena *arena, const Program *program, const bool *fixed)
{
	const Program *p = program;
	Squeezer s = {
		.arena = arena, .ctx = p->ctx, .fixed = {.arena = arena}, .replaced = {.arena = arena}};
	for (int k = 0; fixed && k < p->ninput + p->noutput; k++) {
		const Tensor *t = k < p->ninput ? p->inputs[k] : p->outputs[k - p->ninput];
		if (t && fixed[k])
			map_set_ptr(&s.fixed, t, (void *)(uintptr_t)t);
	}
	for (int i = 0; i < p->nstage; i++)
		if (p->stages[i]->scan)
			return (Program *)(uintptr_t)program;
	Tensor **inputs = squeeze_inputs(&s, p);
	for (int i = 0; i < p->nstage; i++)
		squeeze_stage(&s, p->stages[i]);
	const Tensor **outputs = NEW_N(arena, const Tensor *, p->noutput + 1);
	for (int k = 0; k < p->noutput; k++) {
		const Tensor *new = p->outputs[k] ? map_find_ptr(&s.replaced, p->outputs[k]) : NULL;
		outputs[k] = new ? new : p->outputs[k];
	}
	return program_new(p->ctx, p->name, p->ninput, inputs, p->noutput, outputs);
}

bool
pass_SqueezeDims(ProgramUnit *unit, PassContext *context)
{
	const bool *fixed = unit_fixed(unit, context);
	return unit_take_nest(unit, program_squeeze(unit->arena, unit->program, fixed), context);
}
