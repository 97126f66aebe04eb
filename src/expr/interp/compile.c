/* From a stage to flat code: see code.h for the shape of it.
 *
 * One pass over the expressions, each distinct node compiled once per mask. A node that does not
 * read anything needs no mask: it may be computed for lanes nobody wants.
 */
#include <string.h>

#include "expr/interp/compile.h"
#include "expr/interp/listed.h"
#include "expr/scalar/ctx.h"

/* ---- registers and emission ------------------------------------------------------------------ */

static Reg *
reg_at(const Compiler *c, int reg)
{
	return &c->m->regs.data[reg];
}

int
compile_reg(Compiler *c, DType type, bool is_uniform)
{
	Machine *m = c->m;
	Reg reg = {.type = held_type(m->is_bound, type), .logical = type, .is_uniform = is_uniform};
	size_t lanes = is_uniform ? 1 : BLOCK_LANES;
	reg.own = reg.data = arena_alloc_aligned(c->arena, lanes * block_size(reg.type), 64);
	if (m->is_bound)
		reg.own_bound = arena_alloc_aligned(c->arena, lanes * sizeof(double), 64);
	if (m->is_listed)
		reg.own_deviation = arena_alloc_aligned(c->arena, lanes * sizeof(double), 64);
	vec_push(c->arena, &m->regs, reg);
	return m->regs.count - 1;
}

static int
level_of(uint64_t deps)
{
	return deps ? 64 - __builtin_clzll(deps) : 0;
}

static void
place(Compiler *c, Instr *in, int level)
{
	Scope *scope = c->scope;
	while (scope->code && scope->outer && level < scope->level)
		scope = scope->outer;
	vec_push(c->arena, scope->code ? scope->code : &c->lists[level], in);
}

/* Append an instruction; its result depends on what its operands, its mask and `deps` say. */
static int
emit(Compiler *c, Instr *in, uint64_t deps)
{
	bool is_given = in->narg > 0;
	for (int i = 0; i < in->narg; i++) {
		deps |= reg_at(c, in->arg[i])->deps;
		is_given &= reg_at(c, in->arg[i])->is_given;
	}
	if (in->mask != NO_MASK)
		deps |= reg_at(c, in->mask)->deps;
	Reg *out = reg_at(c, in->out);
	out->deps = deps;
	out->is_given |= is_given;
	out->level = level_of(deps);
	place(c, in, out->level);
	return in->out;
}

static Instr *
new_instr(Compiler *c, void (*run)(Machine *, const Instr *), int narg, const int *args)
{
	Instr *in = NEW(c->arena, Instr);
	in->run = run;
	in->mask = NO_MASK;
	in->narg = narg;
	for (int i = 0; i < narg; i++)
		in->arg[i] = args[i];
	return in;
}

static bool
are_uniform(const Compiler *c, int count, const int *regs)
{
	for (int i = 0; i < count; i++)
		if (!reg_at(c, regs[i])->is_uniform)
			return false;
	return true;
}

static int
constant(Compiler *c, DType type, Scalar value)
{
	int reg = compile_reg(c, type, true);
	DType held = reg_at(c, reg)->type;
	reg_at(c, reg)->is_given = true;
	block_put(held, reg_at(c, reg)->own, scalar_cast(held, 0, type, value));
	return reg;
}

/* ---- what is known of an expression ---------------------------------------------------------- */

/* Reads and checked indices need the mask they stand under. */
static bool
is_lazy(Compiler *c, const Expr *e)
{
	if (e->has_read || e->op == EX_at)
		return true;
	if (e->argc == 0)
		return false;
	void *known = map_find_ptr(&c->lazy, e);
	if (known)
		return known == (void *)&c->lazy;
	bool lazy = false;
	for (int i = 0; i < e->argc && !lazy; i++)
		lazy = is_lazy(c, e->arg[i]);
	map_set_ptr(&c->lazy, e, lazy ? (void *)&c->lazy : (void *)c);
	return lazy;
}

static bool
is_number(const Compiler *c, const Expr *e, int64_t *value)
{
	if (e->op == EX_iter || e->op == EX_var || e->has_read || e->type != DT_I64)
		return false;
	return dim_eval(e, &c->stores->binding, value);
}

/* Add scale * e to an address: coefficients of iterators and a constant. */
static bool
add_affine(const Compiler *c, const Expr *e, int64_t scale, int64_t *coef, int64_t *base)
{
	int64_t value;
	if (e->op == EX_iter) {
		coef[e->iter] += scale;
		return true;
	}
	if (e->op == EX_add || e->op == EX_sub)
		return add_affine(c, e->arg[0], scale, coef, base) &&
		       add_affine(c, e->arg[1], e->op == EX_add ? scale : -scale, coef, base);
	if (e->op == EX_neg)
		return add_affine(c, e->arg[0], -scale, coef, base);
	if (e->op == EX_mul && is_number(c, e->arg[0], &value))
		return add_affine(c, e->arg[1], scale * value, coef, base);
	if (e->op == EX_mul && is_number(c, e->arg[1], &value))
		return add_affine(c, e->arg[0], scale * value, coef, base);
	if (!is_number(c, e, &value))
		return false;
	*base += scale * value;
	return true;
}

static int
step_of(const Machine *m, int iter)
{
	for (int k = 0; k < m->nstep; k++)
		if (m->step[k] == iter)
			return k;
	return -1;
}

/* Stepped iterators that a change of `iter` counts for. */
static uint64_t
deps_of_iter(const Machine *m, int iter)
{
	if (m->is_lane[iter])
		return m->is_folded ? 1ull << (m->nstep - 1) : 0;
	int step = step_of(m, iter);
	return step < 0 ? 0 : 1ull << step;
}

/* ---- operations ------------------------------------------------------------------------------ */

static int
emit_op(Compiler *c, ExprOp op, DType type, int narg, const int *args)
{
	DType operand = reg_at(c, args[narg - 1])->type, logical = reg_at(c, args[narg - 1])->logical;
	Instr *in = new_instr(c, run_op, narg, args);
	in->op = op;
	in->fn = block_op(op, operand);
	in->bound = c->m->is_bound ? bound_op(op) : NULL;
	in->to = logical;
	must(in->fn);
	in->out = compile_reg(c, type, are_uniform(c, narg, args));
	emit(c, in, 0);
	if (c->m->is_bound || !block_rounds(type) || op == EX_select)
		return in->out;
	/* computed in f32 */
	BlockCast steps[BLOCK_CAST_MAX];
	block_cast_steps(type, DT_F32, 0, steps);
	Instr *round = new_instr(c, run_op, 1, &in->out);
	round->fn = steps[0].fn;
	round->out = compile_reg(c, type, reg_at(c, in->out)->is_uniform);
	return emit(c, round, 0);
}

int
compile_cast(Compiler *c, DType to, int flags, int reg)
{
	Machine *m = c->m;
	DType from = reg_at(c, reg)->type, held = held_type(m->is_bound, to);
	if (reg_at(c, reg)->logical == to)
		return reg;
	BlockCast steps[BLOCK_CAST_MAX];
	int count = block_cast_steps(held, from, m->is_bound ? 0 : flags, steps), source = reg;
	for (int i = 0; i < count; i++) {
		Instr *in = new_instr(c, run_op, 1, &reg);
		in->fn = steps[i].fn;
		in->out = compile_reg(c, i == count - 1 ? to : steps[i].type, reg_at(c, reg)->is_uniform);
		if (m->is_bound && i == count - 1) {
			in->bound = bound_cast;
			in->to = to;
			in->flags = flags;
			in->narg = 2; /* bounds come from what was there before the first step */
			in->arg[1] = source;
		}
		reg = emit(c, in, 0);
	}
	return reg;
}

static int
mask_and(Compiler *c, int mask, int condition, bool is_negated)
{
	for (int i = 0; i < c->masks.count; i++)
		if (c->masks.data[i].mask == mask && c->masks.data[i].condition == condition &&
		    c->masks.data[i].is_negated == is_negated)
			return c->masks.data[i].reg;
	int args[2] = {condition, mask}, narg = mask == NO_MASK ? 1 : 2;
	Instr *in = new_instr(c, run_mask, narg, args);
	in->is_negated = is_negated;
	in->out = compile_reg(c, DT_BOOL, are_uniform(c, narg, args));
	reg_at(c, in->out)->runs = NEW(c->arena, Runs);
	emit(c, in, 0);
	if (!c->scope->code) /* a memo's registers do not live outside of it */
		vec_push(c->arena, &c->masks, (MaskKey){mask, condition, in->out, is_negated});
	return in->out;
}

/* The second operand of && and ||, and the arms of a select, under what the first one says. */
static int
compile_arm(Compiler *c, const Expr *arm, int mask, int condition, bool is_negated)
{
	return compile_expr(c, arm,
	                    is_lazy(c, arm) ? mask_and(c, mask, condition, is_negated) : NO_MASK);
}

static int
compile_lazy(Compiler *c, const Expr *e, int mask)
{
	int args[3] = {compile_expr(c, e->arg[0], mask)};
	if (e->op == EX_select) {
		args[1] = compile_arm(c, e->arg[1], mask, args[0], false);
		args[2] = compile_arm(c, e->arg[2], mask, args[0], true);
	} else {
		args[1] = compile_arm(c, e->arg[1], mask, args[0], e->op == EX_or);
	}
	return emit_op(c, e->op, e->type, e->argc, args);
}

static int
compile_iter(Compiler *c, const Expr *e)
{
	Machine *m = c->m;
	Instr *in = new_instr(c, m->is_lane[e->iter] ? run_lane_iter : run_iter, 0, NULL);
	in->flags = e->iter;
	in->out = compile_reg(c, DT_I64, !m->is_lane[e->iter]);
	reg_at(c, in->out)->is_given = true;
	return emit(c, in, deps_of_iter(m, e->iter));
}

static int
compile_at(Compiler *c, const Expr *e, int mask)
{
	int index = compile_expr(c, e->arg[0], mask);
	if (e->arg[0]->type != DT_I64)
		index = compile_cast(c, DT_I64, 0, index);
	int64_t extent;
	if (!is_number(c, e->arg[1], &extent))
		fail_as(FAIL_BUG, &c->m->stage->loc, "the range of an indirect index is not known");
	Instr *in = new_instr(c, run_at, 1, &index);
	in->flags = e->flags;
	in->extent = extent;
	in->mask = mask;
	in->bound = c->m->is_bound ? bound_at : NULL;
	in->out = compile_reg(c, DT_I64, reg_at(c, index)->is_uniform);
	return emit(c, in, 0);
}

static int
compile_bitcast(Compiler *c, const Expr *e, int mask)
{
	int arg = compile_expr(c, e->arg[0], mask);
	Instr *in = new_instr(c, run_bitcast, 1, &arg);
	in->to = e->type;
	in->bound = c->m->is_bound ? bound_bitcast : NULL;
	in->out = compile_reg(c, e->type, reg_at(c, arg)->is_uniform);
	return emit(c, in, 0);
}

/* ---- reads ----------------------------------------------------------------------------------- */

static void
push_term(Compiler *c, Term **terms, int *count, Term term)
{
	*terms = arena_grow(c->arena, *terms, (size_t)*count * sizeof term,
	                    (size_t)(*count + 1) * sizeof term);
	(*terms)[(*count)++] = term;
}

/* Turn coefficients into what run_read() walks: iterators with one value, and a table for lanes. */
void
compile_offsets(Compiler *c, ReadInfo *info, const int64_t *coef)
{
	Machine *m = c->m;
	for (int i = 0; i < m->niter; i++) {
		if (coef[i] != 0)
			push_term(c, &info->scalars, &info->nscalar, (Term){i, coef[i], 0, 0});
		info->is_lanes |= coef[i] != 0 && m->is_lane[i];
	}
	if (!info->is_lanes)
		return;
	if (m->is_listed && !m->is_folded) {
		listed_offsets(m, info, coef);
		return;
	}
	int64_t lanes = m->chunk * m->inner;
	info->offset = NEW_N(c->arena, int64_t, lanes);
	for (int k = 0; k < m->nlane; k++)
		for (int64_t i = 0; i < lanes; i++)
			info->offset[i] += coef[m->lane[k]] * m->rel[m->lane[k]][i];
	info->stride = lanes > 1 ? info->offset[1] : 1;
	info->is_strided = true;
	for (int64_t i = 0; i < lanes && info->is_strided; i++)
		info->is_strided = info->offset[i] == i * info->stride;
	for (info->row = 1; info->row < lanes; info->row++)
		if (info->offset[info->row] != info->offset[0] + info->row)
			break;
	for (int64_t i = 0; i < lanes; i++)
		if (info->offset[i] != info->offset[i / info->row * info->row] + i % info->row)
			info->row = 1;
}

/* An affine address that leaves the tensor though no mask could save it is our bug. */
static void
check_range(const Compiler *c, const ReadInfo *info, const int64_t *coef)
{
	const Machine *m = c->m;
	int64_t least = 0, most = 0;
	for (int i = 0; i < m->niter; i++) {
		if (m->hi[i] <= m->lo[i])
			return;
		int64_t a = coef[i] * m->lo[i], b = coef[i] * (m->hi[i] - 1);
		least += a < b ? a : b;
		most += a < b ? b : a;
	}
	if (info->base + least < info->store->least || info->base + most > info->store->most)
		fail_as(FAIL_BUG, &m->stage->loc, "stage %s reads %s outside of its range", m->stage->name,
		        info->tensor->name);
}

static ReadInfo *
compile_address(Compiler *c, const Tensor *tensor, const Expr *const *index, int mask)
{
	ReadInfo *info = NEW(c->arena, ReadInfo);
	info->tensor = tensor;
	info->store = stores_get(c->stores, tensor);
	int64_t coef[MAX_ITER] = {0};
	for (int k = 0; k < tensor->rank; k++) {
		int64_t more[MAX_ITER] = {0}, base = 0;
		const Store *store = info->store;
		if (add_affine(c, index[k], store->stride[k], more, &base)) {
			for (int i = 0; i < c->m->niter; i++)
				coef[i] += more[i];
			info->base += base - store->lo[k] * store->stride[k];
			continue;
		}
		Term term = {compile_memo(c, index[k], mask), store->stride[k], store->dims[k],
		             store->lo[k]};
		push_term(c, &info->regs, &info->nreg, term);
	}
	compile_offsets(c, info, coef);
	if (mask == NO_MASK && info->nreg == 0)
		check_range(c, info, coef);
	return info;
}

static int
compile_read(Compiler *c, const Expr *e, int mask)
{
	ReadInfo *info = compile_address(c, e->tensor, e->arg, mask);
	Instr *in = new_instr(c, c->m->is_listed ? run_listed_read : run_read, 0, NULL);
	in->read = info;
	in->mask = mask;
	in->bound = c->m->is_bound ? bound_read : NULL;
	if (c->m->is_listed)
		listed_casts(info);
	bool is_uniform = !info->is_lanes;
	uint64_t deps = 0;
	for (int i = 0; i < info->nscalar; i++)
		deps |= deps_of_iter(c->m, info->scalars[i].which);
	for (int i = 0; i < info->nreg; i++) {
		is_uniform &= reg_at(c, info->regs[i].which)->is_uniform;
		deps |= reg_at(c, info->regs[i].which)->deps;
	}
	in->out = compile_reg(c, e->type, is_uniform);
	return emit(c, in, deps);
}

/* ---- memos ----------------------------------------------------------------------------------- */

/* The stepped iterators an expression without reads depends on. */
static uint64_t
deps_of(const Compiler *c, const Expr *e)
{
	uint64_t deps = 0;
	for (int i = 0; i < c->m->niter; i++)
		if (expr_uses_iter(e, i))
			deps |= deps_of_iter(c->m, i);
	return deps;
}

/* Worth it: an outer stepped iterator does not matter, and the others have few values. */
static bool
is_worth_memo(const Compiler *c, const Expr *e, uint64_t deps)
{
	const Machine *m = c->m;
	if (m->is_folded || c->scope->code || e->argc == 0)
		return false;
	int64_t values = 1;
	bool is_repeated = false;
	for (int k = 0; k < level_of(deps); k++) {
		int64_t extent = m->hi[m->step[k]] - m->lo[m->step[k]];
		if (!(deps >> k & 1))
			is_repeated |= extent > 1;
		else if (extent > MEMO_LIMIT || (values *= extent) > MEMO_LIMIT)
			return false;
	}
	return is_repeated;
}

static void
add_key(StepMemo *memo, int iter, int64_t unit, int64_t values)
{
	memo->key[memo->nkey] = iter;
	memo->key_unit[memo->nkey] = unit;
	memo->key_stride[memo->nkey++] = memo->count;
	memo->count *= (int)values;
}

/* The iterators of blocks an expression depends on: more keys while there are few values (the
 * chunks of a lane), else with other values the memo is void. */
static void
add_outer(const Machine *m, StepMemo *memo, const Expr *e)
{
	for (int i = 0; i < m->niter; i++) {
		bool is_cut = m->nlane && i == m->lane[0];
		if (!expr_uses_iter(e, i) || step_of(m, i) >= 0 || (m->is_lane[i] && !is_cut))
			continue;
		int64_t extent = m->hi[i] - m->lo[i], unit = is_cut ? m->chunk : 1;
		int64_t values = extent > 0 ? (extent + unit - 1) / unit : 1;
		bool is_key = i != m->fixed && values <= MEMO_LIMIT / (memo->count ? memo->count : 1);
		memo->is_cut_key |= is_cut && is_key;
		if (is_key)
			add_key(memo, i, unit, values);
		else
			memo->outer[memo->nouter++] = i;
	}
}

static StepMemo *
new_memo(Compiler *c, const Expr *e, uint64_t deps, DType type)
{
	Machine *m = c->m;
	StepMemo *memo = NEW(c->arena, StepMemo);
	memo->count = 1;
	for (int k = level_of(deps) - 1; k >= 0; k--)
		if (deps >> k & 1)
			add_key(memo, m->step[k], 1, m->hi[m->step[k]] - m->lo[m->step[k]]);
	add_outer(m, memo, e);
	memo->block_size = BLOCK_LANES * block_size(type);
	memo->is_filled = NEW_N(c->arena, bool, memo->count);
	memo->states = NEW_N(c->arena, MaskState, memo->count);
	if (type == DT_BOOL)
		memo->runs = NEW_N(c->arena, Runs, memo->count);
	memo->blocks = arena_alloc_aligned(c->arena, (size_t)memo->count * memo->block_size, 64);
	vec_push(c->arena, &m->memos, memo);
	return memo;
}

/* A condition becomes a mask, an index i64. */
static int
compile_root(Compiler *c, const Expr *e, int mask)
{
	int reg = compile_expr(c, e, mask);
	return e->type == DT_BOOL ? mask_and(c, mask, reg, false) : compile_cast(c, DT_I64, 0, reg);
}

/* Compile e so that its values are remembered per block, when that saves work. */
int
compile_memo(Compiler *c, const Expr *e, int mask)
{
	uint64_t deps = is_lazy(c, e) ? 0 : deps_of(c, e);
	if (is_lazy(c, e) || !is_worth_memo(c, e, deps))
		return compile_root(c, e, mask);
	DType type = e->type == DT_BOOL ? DT_BOOL : DT_I64;
	StepMemo *memo = new_memo(c, e, deps, type);
	Scope scope = {.outer = c->scope, .code = &memo->code, .level = level_of(deps)};
	c->scope = &scope;
	int result = compile_root(c, e, NO_MASK);
	c->scope = scope.outer;
	memo->result = result;
	Instr *in = new_instr(c, run_memo, 0, NULL);
	in->memo = memo;
	in->out = compile_reg(c, type, reg_at(c, result)->is_uniform);
	return emit(c, in, deps);
}

/* ---- expressions ----------------------------------------------------------------------------- */

static int
compile_new(Compiler *c, const Expr *e, int mask)
{
	int64_t value;
	switch (e->op) {
	case EX_const:
		return constant(c, e->type, e->value);
	case EX_symbol:
		if (!is_number(c, e, &value))
			fail(&c->m->stage->loc, "symbol %s has no value", e->symbol->name);
		return constant(c, DT_I64, (Scalar){.i64 = value});
	case EX_iter:
		return compile_iter(c, e);
	case EX_var:
		return (int)((intptr_t)map_find_ptr(&c->vars, e->var) - 1);
	case EX_read:
		return compile_read(c, e, mask);
	case EX_at:
		return compile_at(c, e, mask);
	case EX_cast:
		return compile_cast(c, e->type, e->flags, compile_expr(c, e->arg[0], mask));
	case EX_bitcast:
		return compile_bitcast(c, e, mask);
	case EX_select:
	case EX_and:
	case EX_or:
		return compile_lazy(c, e, mask);
	default:
		break;
	}
	int args[3];
	for (int i = 0; i < e->argc; i++)
		args[i] = compile_expr(c, e->arg[i], mask);
	return emit_op(c, e->op, e->type, e->argc, args);
}

static Map *
values_of(Compiler *c, Scope *scope, int mask)
{
	while (scope->values.count <= mask + 1)
		vec_push(c->arena, &scope->values, NULL);
	Map **values = &scope->values.data[mask + 1];
	if (!*values) {
		*values = NEW(c->arena, Map);
		(*values)->arena = c->arena;
	}
	return *values;
}

int
compile_expr(Compiler *c, const Expr *e, int mask)
{
	if (!is_lazy(c, e))
		mask = NO_MASK;
	for (Scope *scope = c->scope; scope; scope = scope->outer) {
		void *known = map_find_ptr(values_of(c, scope, mask), e);
		if (!known && mask != NO_MASK) /* what all lanes have, some have */
			known = map_find_ptr(values_of(c, scope, NO_MASK), e);
		if (known)
			return (int)((intptr_t)known - 1);
	}
	int reg = compile_new(c, e, mask);
	map_set_ptr(values_of(c, c->scope, mask), e, (void *)((intptr_t)reg + 1));
	return reg;
}
