/* Running flat code: the kinds of instructions, then blocks and steps. */
#include <string.h>

#include "expr/interp/listed.h"
#include "expr/scalar/math.h"

/* ---- registers ------------------------------------------------------------------------------- */

int
reg_lanes(const Machine *m, int reg)
{
	return m->regs.data[reg].is_uniform ? 1 : m->n;
}

Operand
reg_operand(const Machine *m, int reg)
{
	return (Operand){m->regs.data[reg].data, !m->regs.data[reg].is_uniform};
}

double *
reg_bounds(Machine *m, int reg)
{
	Reg *r = &m->regs.data[reg];
	if (r->bound != r->own_bound) {
		memset(r->own_bound, 0, (size_t)reg_lanes(m, reg) * sizeof(double));
		r->bound = r->own_bound;
	}
	return r->bound;
}

const unsigned char *
mask_of(const Machine *m, int mask, MaskState *state)
{
	*state = mask == NO_MASK ? MASK_all : m->regs.data[mask].state;
	return *state == MASK_mixed ? m->regs.data[mask].data : NULL;
}

/* ---- instructions ---------------------------------------------------------------------------- */

void
run_op(Machine *m, const Instr *in)
{
	Operand args[3];
	for (int i = 0; i < in->narg; i++)
		args[i] = reg_operand(m, in->arg[i]);
	Reg *out = &m->regs.data[in->out];
	int n = out->is_uniform ? 1 : m->n;
	out->bound = out->deviation = NULL;
	out->data = out->own;
	in->fn(n, out->own, args);
	if (in->bound)
		in->bound(m, in, n);
	if (m->is_listed)
		deviate_run(m, in, n);
	if (m->joined > 0)
		join_sum(m, in, n);
}

static MaskState
state_of(const unsigned char *mask, int n)
{
	int count = 0;
	for (int i = 0; i < n; i++)
		count += mask[i];
	return count == 0 ? MASK_none : count == n ? MASK_all : MASK_mixed;
}

static void
find_runs(const unsigned char *mask, int n, Runs *runs)
{
	runs->count = 0;
	for (int i = 0; i < n; i++) {
		if (!mask[i])
			continue;
		if (runs->count == RUNS_MAX) {
			runs->count = -1;
			return;
		}
		int first = i;
		while (i < n && mask[i])
			i++;
		runs->first[runs->count] = (short)first;
		runs->length[runs->count++] = (short)(i - first);
	}
}

void
run_mask(Machine *m, const Instr *in)
{
	Reg *out = &m->regs.data[in->out];
	const Reg *condition = &m->regs.data[in->arg[0]];
	int n = out->is_uniform ? 1 : m->n, step = !condition->is_uniform;
	const unsigned char *c = condition->data;
	unsigned char *y = out->own, flip = in->is_negated;
	for (int i = 0; i < n; i++)
		y[i] = c[i * step] ^ flip;
	/* undecided lanes may go either way: both arms are needed there */
	for (int i = 0; condition->bound && i < n; i++)
		y[i] |= condition->bound[i * step] > 0;
	if (in->narg == 2) {
		const unsigned char *outer = m->regs.data[in->arg[1]].data;
		int outer_step = !m->regs.data[in->arg[1]].is_uniform;
		for (int i = 0; i < n; i++)
			y[i] &= outer[i * outer_step];
	}
	out->state = state_of(y, n);
	if (out->state == MASK_mixed)
		find_runs(y, n, out->runs);
}

void
run_iter(Machine *m, const Instr *in)
{
	*(int64_t *)m->regs.data[in->out].own = m->cur[in->flags];
}

void
run_lane_iter(Machine *m, const Instr *in)
{
	int64_t *y = m->regs.data[in->out].own, first = m->cur[in->flags];
	const int64_t *rel = m->rel[in->flags];
	for (int i = 0; i < m->n; i++)
		y[i] = first + rel[i];
}

void
run_at(Machine *m, const Instr *in)
{
	MaskState state;
	const unsigned char *mask = mask_of(m, in->mask, &state);
	const Reg *index = &m->regs.data[in->arg[0]];
	Reg *out = &m->regs.data[in->out];
	int n = out->is_uniform ? 1 : m->n;
	const int64_t *x = index->data;
	int64_t *y = out->own, extent = in->extent;
	bool is_mask_uniform = in->mask != NO_MASK && m->regs.data[in->mask].is_uniform;
	out->bound = out->deviation = NULL;
	for (int i = 0; i < n; i++) {
		int64_t v = (in->flags & AT_WRAP) && x[i] < 0 ? x[i] + extent : x[i];
		bool is_taken = state == MASK_all ||
		                (state == MASK_mixed && (out->is_uniform || mask[is_mask_uniform ? 0 : i]));
		is_taken &= !m->is_collecting || !index->bound || index->bound[i] == 0;
		if ((v < 0 || v >= extent) && (in->flags & AT_CHECK) && is_taken)
			fail(&m->stage->loc, "index %lld is outside of its range 0..%lld", (long long)x[i],
			     (long long)extent - 1);
		y[i] = v < 0 || extent == 0 ? 0 : v >= extent ? extent - 1 : v;
	}
	if (in->bound)
		in->bound(m, in, n);
}

static void
bitcast_lane(const Reg *x, const Reg *out, int i)
{
	unsigned char memory[8] = {0}, lane[8] = {0};
	Scalar value = block_get(x->type, (const char *)x->data + (size_t)i * block_size(x->type));
	block_put(x->logical, lane, scalar_cast(x->logical, 0, x->type, value));
	block_store_stride(x->logical, 1, memory, 0, 1, lane);
	block_load_stride(out->logical, 1, lane, memory, 0, 1);
	value = scalar_cast(out->type, 0, out->logical, block_get(out->logical, lane));
	block_put(out->type, (char *)out->own + (size_t)i * block_size(out->type), value);
}

void
run_bitcast(Machine *m, const Instr *in)
{
	const Reg *x = &m->regs.data[in->arg[0]];
	Reg *out = &m->regs.data[in->out];
	int n = out->is_uniform ? 1 : m->n;
	out->bound = out->deviation = NULL;
	if (m->is_bound) { /* bits are those of the type itself, not of the double that stands for it */
		for (int i = 0; i < n; i++)
			bitcast_lane(x, out, i);
		in->bound(m, in, n);
		return;
	}
	unsigned char memory[BLOCK_LANES * 8];
	block_store_stride(x->type, n, memory, 0, 1, x->data);
	block_load_stride(out->type, n, out->own, memory, 0, 1);
}

void
run_memo(Machine *m, const Instr *in)
{
	StepMemo *memo = in->memo;
	int64_t key = 0;
	for (int k = 0; k < memo->nkey; k++)
		key +=
			(m->cur[memo->key[k]] - m->lo[memo->key[k]]) / memo->key_unit[k] * memo->key_stride[k];
	char *block = memo->blocks + (size_t)key * memo->block_size;
	Reg *out = &m->regs.data[in->out];
	if (!memo->is_filled[key]) {
		interp_execute(m, &memo->code);
		const Reg *result = &m->regs.data[memo->result];
		memcpy(block, result->data, (size_t)reg_lanes(m, memo->result) * block_size(result->type));
		memo->states[key] = result->state;
		if (memo->runs)
			memo->runs[key] = *result->runs;
		memo->is_filled[key] = true;
	}
	out->data = block;
	out->state = memo->states[key];
	if (memo->runs)
		out->runs = &memo->runs[key];
}

void
interp_execute(Machine *m, const InstrVec *code)
{
	for (int i = 0; i < code->count; i++)
		code->data[i]->run(m, code->data[i]);
}

/* ---- reduction ------------------------------------------------------------------------------- */

static void
start_states(Machine *m)
{
	for (int k = 0; k < m->nstate; k++) {
		Reg *acc = &m->regs.data[m->acc[k]];
		int n = acc->is_uniform ? 1 : m->n;
		size_t size = block_size(acc->type);
		acc->data = acc->own;
		acc->bound = acc->deviation = NULL;
		block_put(acc->type, acc->own, m->identity[k]);
		for (int i = 1; i < n; i++)
			memcpy((char *)acc->own + (size_t)i * size, acc->own, size);
	}
	if (m->sum_abs)
		bound_sum_start(m);
	if (m->sums)
		deviate_sum_start(m);
}

/* Let register `to` become `from` in the lanes of the mask (NULL: all). */
static void
merge(Machine *m, int to, int from, const unsigned char *mask)
{
	Reg *a = &m->regs.data[to], *b = &m->regs.data[from];
	if (to == from)
		return;
	int n = reg_lanes(m, to), step = !b->is_uniform;
	unsigned char all = 1;
	Operand args[3] = {{mask ? mask : &all, mask != NULL}, {b->data, step}, {a->data, 1}};
	args[2].step = !a->is_uniform;
	block_op(EX_select, a->type)(n, a->own, args);
	if (!a->bound && !b->bound)
		return;
	if (m->is_listed)
		deviate_merge(m, to, from, mask);
	double *bound = reg_bounds(m, to);
	for (int i = 0; i < n; i++)
		if (!mask || mask[i])
			bound[i] = b->bound ? b->bound[i * step] : 0;
}

static void
combine_lanes(Machine *m, const unsigned char *mask)
{
	if (m->product && sum_product(m, mask))
		return;
	if (m->sums)
		deviate_sum_step(m, mask);
	if (m->sum_abs) {
		bound_sum_step(m, mask);
		return;
	}
	Reg *acc = &m->regs.data[m->acc[0]];
	const Runs *runs = mask ? runs_of(m, m->guard) : NULL;
	if (m->fold && (!mask || runs)) {
		Operand term = reg_operand(m, m->terms[0]);
		size_t size = block_size(acc->type);
		if (!mask)
			m->fold(m->n, acc->own, term);
		for (int k = 0; runs && k < runs->count; k++)
			m->fold(
				runs->length[k], (char *)acc->own + (size_t)runs->first[k] * size,
				(Operand){(const char *)term.data + (term.step ? (size_t)runs->first[k] * size : 0),
			              term.step});
		return;
	}
	interp_execute(m, &m->combine_code);
	for (int k = 0; k < m->nstate; k++)
		merge(m, m->acc[k], m->next[k], mask);
}

/* The lanes are terms: one after the other into the one state. */
static void
fold_lanes(Machine *m, const unsigned char *mask)
{
	if (m->sums)
		deviate_sum_fold(m, mask);
	if (m->sum_abs) {
		bound_sum_fold(m, mask);
		return;
	}
	Reg *acc = &m->regs.data[m->acc[0]], *term = &m->regs.data[m->terms[0]];
	if (m->fold) {
		size_t size = term->is_uniform ? 0 : block_size(term->type);
		for (int i = 0; i < m->n; i++)
			if (!mask || mask[i])
				m->fold(1, acc->own, (Operand){(char *)term->data + (size_t)i * size, 0});
		return;
	}
	/* through the combining code, with the term's register showing lane after lane */
	Reg lanes = *term;
	size_t size = lanes.is_uniform ? 0 : block_size(lanes.type);
	for (int i = 0; i < m->n; i++) {
		if (mask && !mask[i])
			continue;
		term->is_uniform = true;
		term->data = (char *)lanes.data + (size_t)i * size;
		int lane = lanes.is_uniform ? 0 : i;
		term->bound = lanes.bound ? lanes.bound + lane : NULL;
		term->deviation = lanes.deviation ? lanes.deviation + lane : NULL;
		interp_execute(m, &m->combine_code);
		merge(m, m->acc[0], m->next[0], NULL);
	}
	*term = lanes;
}

static void
combine_step(Machine *m)
{
	MaskState state;
	const unsigned char *mask = mask_of(m, m->guard, &state);
	if (state == MASK_none)
		return;
	if (m->guard != NO_MASK && m->regs.data[m->guard].is_uniform)
		mask = NULL;
	if (m->is_folded)
		fold_lanes(m, mask);
	else
		combine_lanes(m, mask);
}

/* Run what changed when stepped iterator `changed` moved. */
static void
run_levels(Machine *m, int changed)
{
	for (int level = changed + 1; level <= m->nstep; level++)
		interp_execute(m, &m->guard_code[level]);
	bool is_wanted = m->guard == NO_MASK || m->regs.data[m->guard].state != MASK_none;
	for (int level = changed + 1; level <= m->nstep; level++)
		if (is_wanted || level < m->guard_level)
			interp_execute(m, &m->code[level]);
}

/* The next value of the stepped iterators in row-major order: the outermost that moved, or -1. */
static int
advance(Machine *m)
{
	for (int k = m->nstep - 1; k >= 0; k--) {
		int iter = m->step[k];
		m->cur[iter] += m->step_size[k];
		if (m->cur[iter] < m->hi[iter])
			return k;
		m->cur[iter] = m->lo[iter];
	}
	return -1;
}

static void
run_terms(Machine *m)
{
	for (int i = m->stage->nloop; i < m->niter; i++) {
		m->cur[i] = m->lo[i];
		if (m->hi[i] <= m->lo[i])
			return;
	}
	for (int changed = 0; changed >= 0; changed = advance(m)) {
		if (m->is_folded) {
			int64_t left = m->nlane ? m->hi[m->lane[0]] - m->cur[m->lane[0]] : 1;
			m->n = (int)((left < m->chunk ? left : m->chunk) * m->inner);
		}
		run_levels(m, changed);
		combine_step(m);
	}
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void
store_results(Machine *m)
{
	for (int k = 0; k < m->stage->nresult; k++) {
		const ReadInfo *place = m->places[k];
		if (!place)
			continue;
		const Reg *r = &m->regs.data[m->results[k]];
		int n = m->is_folded ? 1 : m->n;
		if (!m->is_listed)
			address_lanes(m, place, NULL, n);
		const int64_t *index = m->is_listed ? m->slots : m->index;
		Store *store = place->store;
		unsigned char spread[BLOCK_LANES * 8];
		const void *data = r->data;
		if (r->is_uniform && n > 1) {
			for (int i = 0; i < n; i++)
				memcpy(spread + (size_t)i * block_size(r->type), r->data, block_size(r->type));
			data = spread;
		}
		block_store(store->type, n, store->data, index, data);
		for (int i = 0; store->bound && i < n; i++)
			store->bound[index[i]] = r->bound ? r->bound[r->is_uniform ? 0 : i] : 0;
		for (int i = 0; store->deviation && i < n; i++)
			store->deviation[index[i]] = reg_deviation(r, i);
	}
}

/* What a memo holds is good while the block's iterators that it depends on stay. */
static void
renew_memo(const Machine *m, StepMemo *memo)
{
	bool is_same = !m->is_listed && (memo->is_cut_key || memo->n == m->n);
	for (int k = 0; k < memo->nouter; k++) {
		is_same &= memo->seen[k] == m->cur[memo->outer[k]];
		memo->seen[k] = m->cur[memo->outer[k]];
	}
	memo->n = m->n;
	if (!is_same)
		memset(memo->is_filled, 0, (size_t)memo->count);
}

static void
run_reduction(Machine *m)
{
	start_states(m);
	run_terms(m);
	if (m->sums) {
		bound_sum_finish(m);
		deviate_sum_finish(m);
		return;
	}
	if (!m->sum_abs || bound_sum_finish(m) || !m->product)
		return;
	m->is_careful = true;
	start_states(m);
	run_terms(m);
	bound_sum_finish(m);
	m->is_careful = false;
}

void
interp_run_block(Machine *m)
{
	for (int k = 0; k < m->memos.count; k++)
		renew_memo(m, m->memos.data[k]);
	interp_execute(m, &m->guard_code[0]);
	interp_execute(m, &m->code[0]);
	if (m->stage->kind == STAGE_reduce) {
		run_reduction(m);
		interp_execute(m, &m->finish);
	}
	if (m->is_collecting)
		return;
	if (m->stage->kind == STAGE_scatter)
		interp_scatter(m);
	else
		store_results(m);
}

/* Sampling needs bounds that say "unknown" in what is left out: the caller fills them in. */
void
interp_run(Machine *m)
{
	int nloop = m->stage->nloop;
	for (int i = 0; i < nloop; i++) {
		if (m->hi[i] <= m->lo[i])
			return;
		if (i != m->fixed)
			m->cur[i] = m->lo[i];
	}
	int cut = !m->is_folded && m->nlane ? m->lane[0] : -1;
	for (;;) {
		if (!m->is_folded) {
			int64_t left = cut >= 0 ? m->hi[cut] - m->cur[cut] : 1;
			m->n = (int)((left < m->chunk ? left : m->chunk) * m->inner);
		}
		if (!m->keep || hash_mix(1, m->block) < m->keep || m->block == 0)
			interp_run_block(m);
		m->block++;
		int i = nloop - 1;
		for (; i >= 0; i--) {
			if (i == m->fixed || (!m->is_folded && m->is_lane[i] && i != cut))
				continue;
			m->cur[i] += i == cut ? m->chunk : 1;
			if (m->cur[i] < m->hi[i])
				break;
			m->cur[i] = m->lo[i];
		}
		if (i < 0)
			return;
	}
}
