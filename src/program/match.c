/* vendor_match: convolution, matrix product and pooling, by their iterators.
 *
 * A match is exact. Every dim of every operand is read by the index that its row gives it, over the
 * whole box of its iterators and the whole extent of the tensor; coefficients are known and not
 * zero; each reduction has one place; the guard says what the reads say. Anything else (a diagonal,
 * a slice, a tap used twice, a sum over an iterator that moves nothing) is no match.
 */
#include "program/match.h"
#include "program/forms.h"

#include <string.h>

static bool
same_extent(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return a == b || (dim_proves_le(ctx, a, b) && dim_proves_le(ctx, b, a));
}

/* Dim d of the read is the 0 of an extent of 1. */
static bool
is_one(const Expr *read, int d)
{
	return expr_is_zero(read->arg[d]) && dim_is(read->tensor->hi[d], 1);
}

/* Dim d of the read (negative: from behind) is iterator `position`, all of it. */
static bool
is_iter(const Program *p, const Expr *read, int d, int position)
{
	d = d < 0 ? read->argc + d : d;
	const Iter *iter = &p->stages[0]->iters[position];
	const Expr *index = read->arg[d];
	bool stands = (index->op == EX_iter && index->iter == position) || is_one(read, d);
	return stands && same_extent(p->ctx, iter->hi, read->tensor->hi[d]);
}

/* ---- the shape of the group: main stage, then an epilogue of map stages over its box ---- */

static const Expr *
without_casts(const Expr *e)
{
	while (e->op == EX_cast && e->type == DT_F32)
		e = e->arg[0];
	return e;
}

static const Expr *
fold_stage(ExprCtx *ctx, const Expr *e, void *arg)
{
	Map *bodies = arg;
	const Expr *body = e->op == EX_read ? map_find_ptr(bodies, e->tensor) : NULL;
	return body ? expr_substitute(ctx, body, e->argc, e->arg) : e;
}

typedef struct MainReads {
	const Program *program;
	const Tensor *tensor;
	const Expr *read; /* the one read, at the reader's own loops */
	bool in_place;
} MainReads;

static void
check_main_read(const Expr *e, void *arg)
{
	MainReads *reads = arg;
	if (e->op != EX_read || e->tensor != reads->tensor)
		return;
	reads->read = e;
	for (int d = 0; d < e->argc; d++)
		reads->in_place &= is_iter(reads->program, e, d, d);
}

/* The epilogue as one scalar over reads of the main result in place; the read itself where there is
 * none. NULL when the group has another form. */
static const Expr *
epilogue_of(Arena *arena, const Program *p, const Expr **main_read)
{
	const Stage *main = p->stages[0], *last = p->stages[p->nstage - 1];
	if (last->results[0] != p->outputs[0])
		return NULL;
	const Expr **loops = NEW_N(arena, const Expr *, main->nloop + 1);
	stage_identity(p->ctx, main->nloop, loops);
	*main_read = expr_read(p->ctx, main->results[0], loops);
	const Expr *body = *main_read;
	Map bodies = {.arena = arena};
	for (int s = 1; s < p->nstage; s++) {
		const Stage *stage = p->stages[s];
		if (stage->kind != STAGE_map || stage->scan || !stage_same_loops(stage, main))
			return NULL;
		body = expr_rewrite(p->ctx, stage->body[0], fold_stage, &bodies);
		map_set_ptr(&bodies, stage->results[0], (void *)(uintptr_t)body);
	}
	MainReads reads = {p, main->results[0], NULL, true};
	expr_visit(body, check_main_read, &reads);
	return reads.read && reads.in_place ? body : NULL;
}

/* An operand of the epilogue: reads each dim of the result in place, or an extent of 1. */
static bool
is_broadcast_read(const Program *p, const Expr *read, int rank)
{
	for (int d = 0; d < read->argc; d++)
		if (!is_one(read, d) && !is_iter(p, read, d, rank - read->argc + d))
			return false;
	return true;
}

/* A vector over loop `loop` alone: a bias, in any rank. */
static bool
is_vector_over(const Program *p, const Expr *read, int loop)
{
	int found = 0;
	for (int d = 0; d < read->argc; d++) {
		if (is_one(read, d))
			continue;
		if (!is_iter(p, read, d, loop))
			return false;
		found++;
	}
	return found == 1;
}

static bool
is_program_input(const Program *p, const Tensor *tensor)
{
	for (int i = 0; i < p->ninput; i++)
		if (p->inputs[i] == tensor)
			return true;
	return false;
}

/* Post-ops and bias. `channel` is the loop a bias runs over. */
static bool
match_epilogue(Arena *arena, VendorMatch *m, int channel)
{
	const Expr *main;
	const Expr *body = epilogue_of(arena, m->program, &main);
	if (!body)
		return false;
	m->npost = vendor_epilogue(m->program->ctx, arena, body, main, m->post);
	if (m->npost < 0)
		return false;
	int rank = m->program->stages[0]->nloop;
	if (m->npost > 0 && m->post[0].operand && strcmp(m->post[0].text, "sum(%K)") == 0 &&
	    is_vector_over(m->program, m->post[0].operand, channel)) {
		m->bias = m->post[0].operand->tensor;
		memmove(m->post, m->post + 1, (size_t)(m->npost - 1) * sizeof *m->post);
		m->npost--;
	}
	for (int i = 0; i < m->npost; i++) {
		const Expr *read = m->post[i].operand;
		if (read && (read->argc > rank || !is_broadcast_read(m->program, read, rank) ||
		             !is_program_input(m->program, read->tensor) || read->tensor->type != DT_F32))
			return false;
	}
	return !m->bias || (is_program_input(m->program, m->bias) && m->bias->type == DT_F32);
}

/* ---- factors ---- */

static const Expr *
main_body(const Stage *main)
{
	return without_casts(main->body[0]);
}

static bool
two_factors(const Program *p, const Expr **a, const Expr **b)
{
	const Stage *main = p->stages[0];
	const Expr *body = main_body(main);
	if (main->kind != STAGE_reduce || main->reduce != REDUCE_sum || body->op != EX_mul ||
	    main->acc != DT_F32)
		return false;
	*a = without_casts(body->arg[0]);
	*b = without_casts(body->arg[1]);
	return (*a)->op == EX_read && (*b)->op == EX_read && (*a)->tensor->type == DT_F32 &&
	       (*b)->tensor->type == DT_F32 && is_program_input(p, (*a)->tensor) &&
	       is_program_input(p, (*b)->tensor);
}

/* ---- matmul ---- */

/* Leading dims read the result's batch loops, aligned from behind, or an extent of 1. */
static bool
batch_fits(const Program *p, const Expr *read, int nbatch)
{
	int lead = read->argc - 2;
	if (lead > nbatch)
		return false;
	for (int d = 0; d < lead; d++)
		if (!is_one(read, d) && !is_iter(p, read, d, nbatch - lead + d))
			return false;
	return true;
}

/* The result is no larger than what its operands say: each batch loop moves one of them. */
static bool
batch_is_covered(const Stage *main, const Expr *a, const Expr *b)
{
	for (int i = 0; i < main->nloop - 2; i++)
		if (!dim_is(main->iters[i].hi, 1) && !expr_uses_iter(a, i) && !expr_uses_iter(b, i))
			return false;
	return true;
}

static bool
matmul_operand(const Program *p, const Expr *read, int row, int column, bool *transposed)
{
	if (read->argc < 2)
		return false;
	*transposed = false;
	if (is_iter(p, read, -2, row) && is_iter(p, read, -1, column))
		return true;
	*transposed = is_iter(p, read, -2, column) && is_iter(p, read, -1, row);
	return *transposed;
}

static bool
match_matmul(Arena *arena, VendorMatch *m)
{
	const Program *p = m->program;
	const Stage *main = p->stages[0];
	const Expr *a, *b;
	if (!two_factors(p, &a, &b) || main->guard || main->nreduce != 1 || main->nloop < 2 ||
	    !batch_is_covered(main, a, b))
		return false;
	int rows = main->nloop - 2, columns = main->nloop - 1, k = main->nloop;
	for (int swap = 0; swap < 2; swap++) {
		const Expr *left = swap ? b : a, *right = swap ? a : b;
		if (!matmul_operand(p, left, rows, k, &m->transpose_a) ||
		    !matmul_operand(p, right, k, columns, &m->transpose_b) ||
		    !batch_fits(p, left, main->nloop - 2) || !batch_fits(p, right, main->nloop - 2))
			continue;
		m->row = "matmul";
		m->src = left->tensor;
		m->weights = right->tensor;
		m->dst = p->outputs[0];
		return match_epilogue(arena, m, columns);
	}
	return false;
}

/* ---- windows ---- */

/* The factor of iterator i in a window's index: what a row needs where the iterator moves. */
static bool
take_factor(const Stage *main, int i, int64_t c, int64_t *factor)
{
	if (c > 0)
		*factor = c;
	return c > 0 || (c == 0 && dim_is(main->iters[i].hi, 1));
}

/* index = stride * loop + dilation * tap - pad, with nothing else. */
static bool
match_window(VendorMatch *m, int d, const Stage *main, const Expr *index, const Dim *extent,
             int loop, int tap)
{
	ExprCtx *ctx = m->program->ctx;
	const Dim *coefficient[64];
	const Expr *rest;
	int n = main->nloop + main->nreduce;
	int64_t in, out, kernel = 1, offset;
	if (n > 64 || !expr_affine(ctx, index, n, coefficient, &rest) || !expr_as_i64(rest, &offset))
		return false;
	m->strides[d] = m->dilations[d] = 1;
	for (int i = 0; i < n; i++) {
		int64_t c;
		bool fits = dim_is_const(coefficient[i], &c);
		if (fits && i == loop)
			fits = take_factor(main, i, c, &m->strides[d]);
		else if (fits && i == tap)
			fits = take_factor(main, i, c, &m->dilations[d]);
		else
			fits = fits && c == 0;
		if (!fits)
			return false;
	}
	if (tap >= 0 && !dim_is_const(main->iters[tap].hi, &kernel))
		return false;
	m->kernel[d] = kernel;
	m->pads_lo[d] = -offset;
	if (!dim_is_const(extent, &in) || !dim_is_const(main->iters[loop].hi, &out))
		return false;
	m->pads_hi[d] =
		(out - 1) * m->strides[d] + (kernel - 1) * m->dilations[d] + 1 - in - m->pads_lo[d];
	return m->pads_lo[d] >= 0;
}

/* The guard holds wherever the read is in range, so it omits nothing else. */
static bool
guard_is_border(Arena *arena, const Program *p, const Stage *main, const Expr *read)
{
	ExprCtx *ctx = p->ctx;
	if (!main->guard)
		return true;
	Facts *facts = facts_of_stage(ctx, arena, main);
	for (int d = 0; d < read->argc; d++) {
		facts_assume(facts, expr_le(ctx, expr_i64(ctx, 0), read->arg[d]));
		facts_assume(facts, expr_lt(ctx, read->arg[d], read->tensor->hi[d]));
	}
	return facts_prove(facts, main->guard);
}

/* The reduction iterator that dim `d` of the weights reads; -1 for a kernel of extent 1. */
static bool
weight_tap(const Program *p, const Expr *weights, int d, int *tap)
{
	*tap = weights->arg[d]->op == EX_iter ? weights->arg[d]->iter : -1;
	return *tap < 0 ? is_one(weights, d)
	                : *tap >= p->stages[0]->nloop && is_iter(p, weights, d, *tap);
}

/* Each reduction stands in one of these places (-1: an empty one). */
static bool
are_all_reductions(const Stage *main, int count, const int *places)
{
	int taken = 0;
	for (int i = 0; i < count; i++) {
		taken += places[i] >= 0;
		for (int k = 0; k < i; k++)
			if (places[i] >= 0 && places[i] == places[k])
				return false;
	}
	return taken == main->nreduce;
}

/* Channel c of group g: X's channel is c, or floordiv(f, F/G)*C + c. */
static bool
match_group(VendorMatch *m, const Stage *main, const Expr *index, const Tensor *weights, int c)
{
	ExprCtx *ctx = m->program->ctx;
	int64_t channels, per_group, filters;
	if (!dim_is_const(m->src->hi[1], &channels) || !dim_is_const(weights->hi[1], &per_group) ||
	    !dim_is_const(weights->hi[0], &filters) || per_group == 0 || channels % per_group)
		return false;
	m->group = channels / per_group;
	if (m->group == 0 || filters % m->group)
		return false;
	const Expr *f = expr_iter(ctx, 1);
	const Expr *g =
		m->group == 1 ? expr_i64(ctx, 0) : expr_floordiv(ctx, f, expr_i64(ctx, filters / m->group));
	const Expr *expected = expr_mul(ctx, g, expr_i64(ctx, per_group));
	if (c >= 0)
		expected = expr_add(ctx, expected, expr_iter(ctx, c));
	Arena *arena = expr_ctx_arena(ctx);
	Facts *facts = facts_of_stage(ctx, arena, main);
	return facts_prove(facts, expr_eq(ctx, index, expected)) ||
	       expr_simplify(facts, expr_sub(ctx, index, expected)) == expr_i64(ctx, 0);
}

static bool
match_conv(Arena *arena, VendorMatch *m)
{
	const Program *p = m->program;
	const Stage *main = p->stages[0];
	const Expr *x, *w;
	int places[1 + VENDOR_SPATIAL]; /* of the channel, of the taps */
	if (!two_factors(p, &x, &w) || main->nloop < 3 || main->nloop > 2 + VENDOR_SPATIAL ||
	    x->argc != main->nloop || w->argc != main->nloop)
		return false;
	if (!is_iter(p, x, 0, 0) || !is_iter(p, w, 0, 1))
		return false; /* a product commutes: builders put the image first */
	m->src = x->tensor;
	m->weights = w->tensor;
	m->spatial = main->nloop - 2;
	for (int d = 0; d <= m->spatial; d++)
		if (!weight_tap(p, w, 1 + d, &places[d]))
			return false;
	if (!are_all_reductions(main, 1 + m->spatial, places) ||
	    !match_group(m, main, x->arg[1], w->tensor, places[0]))
		return false;
	for (int d = 0; d < m->spatial; d++)
		if (!match_window(m, d, main, x->arg[2 + d], x->tensor->hi[2 + d], 2 + d, places[1 + d]))
			return false;
	if (!guard_is_border(arena, p, main, x))
		return false;
	m->row = "conv";
	m->dst = p->outputs[0];
	return match_epilogue(arena, m, 1);
}

/* ---- pool ---- */

/* The mean over the whole window, padding counted: sum / constant. */
static bool
is_padded_mean(Arena *arena, const VendorMatch *m)
{
	const Expr *main;
	const Expr *body = epilogue_of(arena, m->program, &main);
	int64_t taps = 1;
	for (int d = 0; d < m->spatial; d++)
		taps *= m->kernel[d];
	return body && body->op == EX_div && body->arg[0]->op == EX_read &&
	       body->arg[0]->tensor == main->tensor && expr_is_const(body->arg[1]) &&
	       expr_const_f64(body->arg[1]) == (double)taps;
}

/* Every window has an element that is there: the maximum of none is ours alone. */
static bool
is_never_empty(const VendorMatch *m, const Stage *main, int d)
{
	int64_t in, out;
	if (!dim_is_const(m->src->hi[2 + d], &in) || !dim_is_const(main->iters[2 + d].hi, &out))
		return false;
	for (int64_t i = 0; i < out; i++) {
		int64_t first = i * m->strides[d] - m->pads_lo[d], tap = 0;
		if (first < 0)
			tap = (-first + m->dilations[d] - 1) / m->dilations[d];
		if (tap >= m->kernel[d] || first + tap * m->dilations[d] >= in)
			return false;
	}
	return true;
}

static bool
match_pool(Arena *arena, VendorMatch *m)
{
	const Program *p = m->program;
	const Stage *main = p->stages[0];
	const Expr *x = main_body(main);
	bool is_max = main->reduce == REDUCE_max;
	if (x->op != EX_read || x->tensor->type != DT_F32 || main->acc != DT_F32 || main->nloop < 3 ||
	    main->nloop > 2 + VENDOR_SPATIAL || x->argc != main->nloop ||
	    main->nreduce != main->nloop - 2 || !is_program_input(p, x->tensor) ||
	    !is_iter(p, x, 0, 0) || !is_iter(p, x, 1, 1))
		return false;
	m->src = x->tensor;
	m->dst = p->outputs[0];
	m->spatial = main->nloop - 2;
	for (int d = 0; d < m->spatial; d++)
		if (!match_window(m, d, main, x->arg[2 + d], x->tensor->hi[2 + d], 2 + d,
		                  main->nloop + d) ||
		    (is_max && !is_never_empty(m, main, d)))
			return false;
	if (!guard_is_border(arena, p, main, x))
		return false;
	m->row = "pool";
	if (is_max && p->nstage == 1)
		m->kind = "max";
	else if (main->reduce == REDUCE_sum && is_padded_mean(arena, m))
		m->kind = "avg_padded";
	return m->kind != NULL;
}

/* The main stage reduces f32 to one f32 over boxes that begin at 0. */
static bool
is_main_stage(const Stage *stage)
{
	if (stage->kind != STAGE_reduce || stage->scan || stage->nresult != 1 ||
	    stage->results[0]->type != DT_F32)
		return false;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		if (!dim_is(stage->iters[i].lo, 0))
			return false;
	return true;
}

bool
vendor_match(Arena *arena, const Program *program, const Target *target, const bool *fixed,
             VendorMatch *match)
{
	(void)target;
	if (program->nstage == 0 || program->noutput != 1 || !program->outputs[0] ||
	    program->outputs[0]->type != DT_F32 || !is_main_stage(program->stages[0]))
		return false;
	*match = (VendorMatch){.program = program};
	if (match_conv(arena, match))
		return true;
	*match = (VendorMatch){.program = program};
	if (match_pool(arena, match))
		return true;
	*match = (VendorMatch){.program = program_collapse(arena, program, fixed)};
	return match_matmul(arena, match);
}

int
vendor_match_attrs(const VendorMatch *m, StepAttr *attrs)
{
	static const int64_t one = 1;
	int n = 0;
	if (m->spatial > 0) {
		attrs[n++] = m->weights
		                 ? (StepAttr){.name = "group", .count = 1, .ints = &m->group}
		                 : (StepAttr){.name = "kernel", .count = m->spatial, .ints = m->kernel};
		attrs[n++] = (StepAttr){.name = "strides", .count = m->spatial, .ints = m->strides};
		attrs[n++] = (StepAttr){.name = "dilations", .count = m->spatial, .ints = m->dilations};
		attrs[n++] = (StepAttr){.name = "pads_lo", .count = m->spatial, .ints = m->pads_lo};
		attrs[n++] = (StepAttr){.name = "pads_hi", .count = m->spatial, .ints = m->pads_hi};
	}
	if (m->transpose_a)
		attrs[n++] = (StepAttr){.name = "transpose_a", .count = 1, .ints = &one};
	if (m->transpose_b)
		attrs[n++] = (StepAttr){.name = "transpose_b", .count = 1, .ints = &one};
	if (m->kind)
		attrs[n++] = (StepAttr){.name = "kind", .kind = SA_STRING, .count = 1, .string = m->kind};
	return n;
}
