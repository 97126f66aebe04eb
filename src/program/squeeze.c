/* program_squeeze_dims: drop dims and iterators of extent 1.
 *
 *     Y[n:1,c:C,p:P] = max(X[0,c,p] + B[c,0], 0.0)      =>   Y[c:C,p:P] = max(X[c,p] + B[c], 0.0)
 *
 * The storage is the same; loops of one iteration would only hide from the analyses which dims move
 * together, and so would what is left of them: p + 0 becomes p.
 *
 * Symbolic extents stay, whatever they are bound to, and so do the dims of tensors of which an
 * index is checked: the index goes with its dim, and nothing would be reported.
 *
 * needs    nothing
 * keeps    values, storage
 * breaks   ranks
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

static void
fix(Squeezer *s, const Tensor *tensor)
{
	map_set_ptr(&s->fixed, tensor, (void *)(uintptr_t)tensor);
}

static bool
checks(int rank, const Expr *const *index)
{
	bool is_found = false;
	for (int d = 0; d < rank; d++)
		is_found |= index[d]->has_check;
	return is_found;
}

/* Tensors of which the stage checks an index keep their dims, and a scatter's result has those of
 * what it starts from. */
static void
fix_checked(Squeezer *s, const Stage *stage)
{
	for (ExprWalk walk = stage_walk(stage); expr_step(&walk);)
		if (walk.e->op == EX_read && checks(walk.e->argc, walk.e->arg))
			fix(s, walk.e->tensor);
	if (stage->kind != STAGE_scatter)
		return;
	const Tensor *result = stage->results[0];
	bool is_fixed = checks(result->rank, stage->target) || map_find_ptr(&s->fixed, result) ||
	                map_find_ptr(&s->fixed, stage->init);
	if (is_fixed) {
		fix(s, result);
		fix(s, stage->init);
	}
}

Program *
program_squeeze_dims(Arena *arena, const Program *p, const bool *fixed)
{
	Squeezer s = {.ctx = p->ctx, .fixed = {.arena = arena}};
	for (int k = 0; fixed && k < p->ninput + p->noutput; k++) {
		const Tensor *t = k < p->ninput ? p->inputs[k] : p->outputs[k - p->ninput];
		if (t && fixed[k])
			fix(&s, t);
	}
	for (int i = 0; i < p->nstage; i++)
		if (p->stages[i]->scan)
			return (Program *)(uintptr_t)p;
	for (int count = -1; count != s.fixed.count;) { /* scatters behind each other */
		count = s.fixed.count;
		for (int i = 0; i < p->nstage; i++)
			fix_checked(&s, p->stages[i]);
	}
	return program_reindex(
		&(Reindex){arena, p, squeeze_tensor, squeeze_stage, .self = &s, .is_simplified = true});
}

bool
pass_SqueezeDims(ProgramUnit *unit, PassContext *context)
{
	const bool *fixed = unit_fixed(unit, context);
	return unit_take_nest(unit, program_squeeze_dims(unit->arena, unit->program, fixed), context);
}
