/* From a stage to a machine: which iterators are lanes, what is computed when. */
#include <string.h>

#include "expr/interp/compile.h"
#include "expr/interp/listed.h"

/* ---- shape ----------------------------------------------------------------------------------- */

static int64_t
extent_of(const Machine *m, int iter)
{
	return m->hi[iter] > m->lo[iter] ? m->hi[iter] - m->lo[iter] : 0;
}

static int64_t
product_of(const Machine *m, int first, int last, int but)
{
	int64_t product = 1;
	for (int i = first; i < last; i++)
		if (i != but)
			product *= extent_of(m, i);
	return product;
}

/* The operation that folds the terms of a reduction one by one; EX_COUNT: none does. */
static ExprOp
fold_op(const Stage *stage)
{
	bool is_single = stage->kind == STAGE_reduce && stage->nbody == 1;
	return is_single ? reduce_fold(stage->reduce) : EX_COUNT;
}

/* Take lanes from the end of iterators first..last-1; the outermost taken may be cut in chunks. */
static void
choose_lanes(Machine *m, int first, int last, int fixed)
{
	int64_t lanes = 1;
	m->inner = m->chunk = 1;
	int order[MAX_ITER];
	for (int i = last - 1; i >= first; i--) {
		if (i == fixed)
			continue;
		int64_t extent = extent_of(m, i) ? extent_of(m, i) : 1, fits = BLOCK_LANES / lanes;
		if (extent > fits && fits < 2)
			break;
		order[m->nlane++] = i;
		m->inner = lanes;
		if (extent > fits) { /* equal pieces rather than a small last one */
			int64_t pieces = (extent + fits - 1) / fits;
			m->chunk = (extent + pieces - 1) / pieces;
			break;
		}
		m->chunk = extent;
		lanes *= extent;
	}
	for (int k = 0; k < m->nlane; k++) {
		m->lane[k] = order[m->nlane - 1 - k];
		m->is_lane[m->lane[k]] = true;
	}
}

/* rel[d][i]: how far lane i is from the block's first value of lane iterator d. */
static void
number_lanes(Machine *m)
{
	int64_t lanes = m->chunk * m->inner, below = 1;
	for (int k = m->nlane - 1; k >= 0; k--) {
		int64_t extent = k == 0 ? m->chunk : extent_of(m, m->lane[k]);
		int64_t *rel = m->rel[m->lane[k]] = NEW_N(m->arena, int64_t, lanes);
		for (int64_t i = 0; i < lanes && extent; i++)
			rel[i] = i / below % extent;
		below *= extent ? extent : 1;
	}
}

/* Iterators as lanes, steps, or fixed; `listed` points of the box, or -1 for all. */
static void
choose_shape(Machine *m, int fixed, int64_t listed)
{
	const Stage *stage = m->stage;
	int64_t points = listed < 0 ? product_of(m, 0, stage->nloop, fixed) : listed;
	m->nterm = product_of(m, stage->nloop, m->niter, -1);
	/* too few points to make blocks of: make them of terms */
	m->is_folded = fold_op(stage) != EX_COUNT && points <= 16 && m->nterm / 4 > points;
	if (m->is_folded)
		choose_lanes(m, stage->nloop, m->niter, -1);
	else if (m->is_listed)
		listed_lanes(m);
	else
		choose_lanes(m, 0, stage->nloop, fixed);
	number_lanes(m);
	for (int i = stage->nloop; i < m->niter; i++) {
		bool is_cut = m->is_folded && m->nlane && i == m->lane[0];
		if (m->is_lane[i] && !is_cut)
			continue;
		m->step[m->nstep] = i;
		m->step_size[m->nstep++] = is_cut ? m->chunk : 1;
	}
}

static void
bind_box(Machine *m, const Stores *stores)
{
	const Stage *stage = m->stage;
	m->niter = stage->nloop + stage->nreduce;
	if (m->niter > MAX_ITER)
		fail_unsupported(&stage->loc, "stage %s has %d iterators", stage->name, m->niter);
	for (int i = 0; i < m->niter; i++)
		if (!dim_eval(stage->iters[i].lo, &stores->binding, &m->lo[i]) ||
		    !dim_eval(stage->iters[i].hi, &stores->binding, &m->hi[i]))
			fail(&stage->loc, "an extent of stage %s has no value", stage->name);
}

/* ---- assembly -------------------------------------------------------------------------------- */

static DType
state_type(const Stage *stage, int state)
{
	return state == 0 ? stage->acc : stage->body[state]->type;
}

/* Compile count expressions over two tuples of variables that stand for registers. */
static void
compile_combine(Compiler *c, ReduceOp op, int count, const DType *types, const int *a, const int *b,
                int *out)
{
	const Expr *left[REDUCE_MAX_STATES] = {0}, *right[REDUCE_MAX_STATES] = {0};
	const Expr *result[REDUCE_MAX_STATES] = {0};
	for (int k = 0; k < count; k++) {
		Var *va = var_new(c->ctx, "a", types[k], NULL, NULL);
		Var *vb = var_new(c->ctx, "b", types[k], NULL, NULL);
		left[k] = expr_var(c->ctx, va);
		right[k] = expr_var(c->ctx, vb);
		map_set_ptr(&c->vars, va, (void *)((intptr_t)a[k] + 1));
		map_set_ptr(&c->vars, vb, (void *)((intptr_t)b[k] + 1));
	}
	reduce_combine(c->ctx, op, count, left, right, result);
	Scope scope = {.outer = c->scope, .code = &c->m->combine_code};
	c->scope = &scope;
	for (int k = 0; k < count; k++)
		out[k] = compile_cast(c, types[k], 0, compile_expr(c, result[k], NO_MASK));
	c->scope = scope.outer;
}

static void
compile_reduce(Compiler *c)
{
	Machine *m = c->m;
	const Stage *stage = m->stage;
	DType types[REDUCE_MAX_STATES];
	m->nstate = stage->nbody;
	if (stage->guard) {
		c->lists = m->guard_code;
		m->guard = compile_memo(c, stage->guard, NO_MASK);
		m->guard_level = m->regs.data[m->guard].level;
		c->lists = m->code;
	}
	for (int k = 0; k < m->nstate; k++) {
		types[k] = state_type(stage, k);
		m->terms[k] = compile_cast(c, types[k], 0, compile_expr(c, stage->body[k], m->guard));
		m->acc[k] = compile_reg(c, types[k], m->is_folded);
		const Expr *identity = reduce_identity(c->ctx, stage->reduce, k, types[k]);
		DType held = m->regs.data[m->acc[k]].type;
		m->identity[k] = scalar_cast(held, 0, identity->type, identity->value);
	}
	if (!m->is_bound)
		m->fold = block_fold(fold_op(stage), m->regs.data[m->acc[0]].type);
	compile_combine(c, stage->reduce, m->nstate, types, m->acc, m->terms, m->next);
	if (m->is_bound && stage->reduce == REDUCE_sum && dtype_is_float(types[0])) {
		m->sum_abs = NEW_N(m->arena, double, BLOCK_LANES);
		m->sum_bound = NEW_N(m->arena, double, BLOCK_LANES);
		m->sums = m->is_listed ? NEW(m->arena, ListedSums) : NULL;
	}
	if (!m->is_listed)
		sum_find_product(m);
	Scope scope = {.outer = c->scope, .code = &m->finish};
	c->scope = &scope;
	for (int k = 0; k < m->nstate; k++)
		m->results[k] = compile_cast(c, stage->results[k]->type, 0, m->acc[k]);
	c->scope = scope.outer;
}

/* One element at a time: acc[0] is what is there, terms[1] what comes. */
static void
compile_scatter(Compiler *c)
{
	Machine *m = c->m;
	const Stage *stage = m->stage;
	DType type = stage->results[0]->type;
	m->scatter = stores_get(c->stores, stage->results[0]);
	for (int d = 0; d < stage->results[0]->rank; d++)
		m->target[d] = compile_memo(c, stage->target[d], NO_MASK);
	m->terms[0] = compile_cast(c, type, 0, compile_expr(c, stage->body[0], NO_MASK));
	if (stage->combine == SCATTER_SET)
		return;
	m->acc[0] = compile_reg(c, type, true);
	m->terms[1] = compile_reg(c, type, true);
	compile_combine(c, (ReduceOp)stage->combine, 1, &type, m->acc, m->terms + 1, m->next);
}

/* Where results go: the loops' position itself. */
static void
compile_places(Compiler *c)
{
	Machine *m = c->m;
	for (int k = 0; k < m->stage->nresult; k++) {
		if (!m->stage->results[k])
			continue;
		ReadInfo *info = NEW(m->arena, ReadInfo);
		int64_t coef[MAX_ITER] = {0};
		info->tensor = m->stage->results[k];
		info->store = stores_get(c->stores, info->tensor);
		for (int d = 0; d < info->store->rank; d++) {
			coef[d] = info->store->stride[d];
			info->base -= info->store->lo[d] * info->store->stride[d];
		}
		if (!m->is_listed)
			compile_offsets(c, info, coef);
		m->places[k] = info;
	}
}

static Machine *
compile_stage(Stores *stores, ExprCtx *ctx, const Stage *stage, int fixed, int64_t listed)
{
	Arena *arena = stores->arena;
	Machine *m = NEW(arena, Machine);
	m->arena = arena;
	m->stage = stage;
	m->is_bound = stores->is_bound;
	m->keeps_halves = stores->keeps_halves;
	m->guard = NO_MASK;
	m->fixed = fixed;
	m->is_listed = listed >= 0;
	m->slots = m->is_listed ? NEW_N(arena, int64_t, BLOCK_LANES) : NULL;
	m->index = NEW_N(arena, int64_t, BLOCK_LANES);
	bind_box(m, stores);
	choose_shape(m, fixed, listed);
	Scope scope = {.outer = NULL};
	Compiler c = {.m = m, .stores = stores, .ctx = ctx, .arena = arena, .lists = m->code};
	c.scope = &scope;
	c.vars.arena = c.lazy.arena = arena;
	if (stage->kind == STAGE_reduce)
		compile_reduce(&c);
	else if (stage->kind == STAGE_scatter)
		compile_scatter(&c);
	else
		m->results[0] =
			compile_cast(&c, stage->results[0]->type, 0, compile_expr(&c, stage->body[0], NO_MASK));
	if (stage->kind != STAGE_scatter)
		compile_places(&c);
	return m;
}

Machine *
interp_compile(Stores *stores, ExprCtx *ctx, const Stage *stage, int fixed)
{
	return compile_stage(stores, ctx, stage, fixed, -1);
}

Machine *
interp_compile_listed(Stores *stores, ExprCtx *ctx, const Stage *stage, int64_t count)
{
	return compile_stage(stores, ctx, stage, -1, count);
}
