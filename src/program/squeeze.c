/* program_squeeze_dims: drop dims and iterators of extent 1.
 *
 *     Y[n:1,c:C,p:P] = max(X[0,c,p] + B[c,0], 0.0)      =>   Y[c:C,p:P] = max(X[c,p] + B[c], 0.0)
 *
 * The storage is the same; loops of one iteration would only hide from the analyses which dims move
 * together. Symbolic extents stay, whatever they are bound to.
 */
#include "program/forms.h"
#include "program/reindex.h"
#include "program/unit.h"

typedef struct Squeezer {
	ExprCtx *ctx;
	Map fixed; /* Tensor -> itself: keeps its dims */
} Squeezer;

static int
squeeze_tensor(void *self, const Tensor *tensor, NewDim *dims)
{
	Squeezer *s = self;
	int rank = 0;
	for (int d = 0; d < tensor->rank; d++) {
		const Dim *lo = tensor->lo ? tensor->lo[d] : dim_const(s->ctx, 0);
		if (!dim_is(lo, 0) || !dim_is(tensor->hi[d], 1) || map_find_ptr(&s->fixed, tensor))
			dims[rank++] = (NewDim){.dim = d, .lo = lo, .hi = tensor->hi[d]};
	}
	return rank == tensor->rank ? -1 : rank;
}

static void
squeeze_stage(void *self, const Stage *stage, NewStage *to)
{
	Squeezer *s = self;
	int count = 0, nloop = 0;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		const Iter *iter = &stage->iters[i];
		bool is_result = stage->kind != STAGE_scatter && i < stage->nloop;
		bool stays = !dim_is(iter->lo, 0) || !dim_is(iter->hi, 1) ||
		             (is_result && map_find_ptr(&s->fixed, stage->results[0]));
		to->old[i] = stays ? expr_iter(s->ctx, count) : expr_i64(s->ctx, 0);
		if (!stays)
			continue;
		to->iters[count++] = *iter;
		nloop += i < stage->nloop;
	}
	to->nloop = nloop;
	to->nreduce = count - nloop;
}

Program *
program_squeeze_dims(Arena *arena, const Program *p, const bool *fixed)
{
	Squeezer s = {.ctx = p->ctx, .fixed = {.arena = arena}};
	for (int k = 0; fixed && k < p->ninput + p->noutput; k++) {
		const Tensor *t = k < p->ninput ? p->inputs[k] : p->outputs[k - p->ninput];
		if (t && fixed[k])
			map_set_ptr(&s.fixed, t, (void *)(uintptr_t)t);
	}
	for (int i = 0; i < p->nstage; i++)
		if (p->stages[i]->scan)
			return (Program *)(uintptr_t)p;
	return program_reindex(&(Reindex){arena, p, squeeze_tensor, squeeze_stage, &s, false});
}

bool
pass_SqueezeDims(ProgramUnit *unit, PassContext *context)
{
	const bool *fixed = unit_fixed(unit, context);
	return unit_take_nest(unit, program_squeeze_dims(unit->arena, unit->program, fixed), context);
}
