/* derive_merge_products: several sums of products become one, of which each one's readers read a
 * part.
 *
 *     A[m, n:N1] = sum(k) X[m,k] * V[k,n]       B[m, n:N2] = sum(k) X[m,k] * W[k,n]
 * =>  F[n:N1+N2, k] = n < N1 ? V[k,n] : W[k,n-N1]           beside each other, of one factor
 *     P[m, n:N1+N2] = sum(k) X[m,k] * F[n,k]
 *     A[m, n] = P[m, n]                         B[m, n] = P[m, N1+n]
 *
 *     A[m,n] = sum(k) X[m,k] * V[k,n]           B[m,n] = sum(k) Y[m,k] * W[k,n]
 * =>  E[e:2, m, k] = e < 1 ? X[m,k] : Y[m,k]    F[e:2, k, n] = e < 1 ? V[k,n] : W[k,n]
 *     P[e:2, m, n] = sum(k) E[e,m,k] * F[e,k,n] stacked, of equal boxes
 *
 * Each term is computed as it was: guards are equal and stay.
 */
#include "expr/index/facts.h"
#include "expr/stage/build.h"
#include "program/derive.h"
#include "program/derive_inner.h"

enum { MAX_ITERS = 60, MAX_MERGED = 16 };

/* One of the products. Iterators of the product that all become are: loops, the one that tells them
 * apart, the sum's. */
typedef struct Part {
	const Stage *stage;
	const Expr *factor[2];      /* the first is common, unless they are stacked */
	const Expr *map[MAX_ITERS]; /* its iterators over those of all */
	int64_t begin, end;         /* what of the new loop is its */
} Part;

typedef struct Merger {
	ExprCtx *ctx;
	const Program *program;
	bool is_stack;
	int count, nloop, nreduce, at; /* `at`: the new loop, of nloop */
	Part parts[MAX_MERGED];
	Iter iters[MAX_ITERS];
	const Expr *guard;
} Merger;

/* ---- what can be merged ---------------------------------------------------------------------- */

static bool
is_merged_product(const Stage *stage)
{
	return derive_is_product(stage) && stage->nloop + stage->nreduce < MAX_ITERS;
}

static bool
reads_any(const Stage *stage, const Map *tensors)
{
	bool found = false;
	for (ExprWalk walk = stage_walk(stage); expr_step(&walk);)
		found |= walk.e->op == EX_read && map_find_ptr(tensors, walk.e->tensor);
	return found;
}

/* Whether the stage computes from results of the parts, which it would have computed again. */
static bool
follows_parts(const Merger *m, const Stage *stage)
{
	Map made = {.arena = expr_ctx_arena(m->ctx)};
	for (int i = 0; i < m->count; i++)
		map_set_ptr(&made, m->parts[i].stage->results[0], m->parts[i].stage->results[0]);
	for (int s = 0; s < m->program->nstage; s++) {
		const Stage *one = m->program->stages[s];
		bool is_made = reads_any(one, &made);
		if (one == stage)
			return is_made;
		for (int k = 0; is_made && k < one->nresult; k++)
			map_set_ptr(&made, one->results[k], one->results[k]);
	}
	return true;
}

static bool
same_box(const Iter *a, const Iter *b)
{
	return a->lo == b->lo && a->hi == b->hi;
}

static bool
same_kind(const Stage *a, const Stage *b)
{
	return a->results[0]->type == b->results[0]->type && a->acc == b->acc &&
	       a->body[0]->type == b->body[0]->type;
}

static const Expr *
mapped(const Merger *m, const Part *part, const Expr *e)
{
	int total = part->stage->nloop + part->stage->nreduce;
	return e ? expr_substitute(m->ctx, e, total, part->map) : NULL;
}

static bool
has_condition(const Expr *guard, const Expr *condition)
{
	return guard == condition ||
	       (guard && guard->op == EX_and &&
	        (has_condition(guard->arg[0], condition) || has_condition(guard->arg[1], condition)));
}

/* Each condition of one is the other's: their order is that of iterators, which may differ. */
static bool
has_conditions(const Expr *guard, const Expr *all)
{
	if (all && all->op == EX_and)
		return has_conditions(guard, all->arg[0]) && has_conditions(guard, all->arg[1]);
	return !all || has_condition(guard, all);
}

static bool
same_guard(const Expr *a, const Expr *b)
{
	return has_conditions(a, b) && has_conditions(b, a);
}

/* ---- beside each other ----------------------------------------------------------------------- */

static bool
same_coefficients(const Expr *a, int i, const Expr *b, int j)
{
	const Dim *x[MAX_ITERS], *y[MAX_ITERS];
	const Expr *rest;
	for (int d = 0; d < a->argc; d++)
		if (!expr_affine(a->ctx, a->arg[d], MAX_ITERS, x, &rest) ||
		    !expr_affine(a->ctx, b->arg[d], MAX_ITERS, y, &rest) || x[i] != y[j])
			return false;
	return true;
}

/* The iterators that move the common factor are those of the first part that move it alike. */
static bool
match_iterators(const Merger *m, Part *part)
{
	const Part *first = &m->parts[0];
	const Stage *a = first->stage, *b = part->stage;
	uint64_t taken = 0;
	if (a->nreduce != b->nreduce)
		return false;
	for (int j = 0; j < b->nloop + b->nreduce; j++) {
		if (!expr_uses_iter(part->factor[0], j)) {
			if (j >= b->nloop)
				return false;
			continue;
		}
		for (int i = 0; i < a->nloop + a->nreduce && !part->map[j]; i++)
			if ((i < a->nloop) == (j < b->nloop) && !(taken >> i & 1) &&
			    same_box(&a->iters[i], &b->iters[j]) &&
			    same_coefficients(first->factor[0], i, part->factor[0], j)) {
				part->map[j] = first->map[i];
				taken |= UINT64_C(1) << i;
			}
		if (!part->map[j])
			return false;
	}
	return true;
}

/* Its other loops are the digits of what it has of the new one, the last moving fastest. */
static bool
add_digits(Merger *m, Part *part)
{
	ExprCtx *ctx = m->ctx;
	const Stage *stage = part->stage;
	int64_t begin = m->count ? m->parts[m->count - 1].end : 0, extent, size = 1;
	const Expr *number = expr_sub(ctx, expr_iter(ctx, m->at), expr_i64(ctx, begin));
	for (int i = stage->nloop - 1; i >= 0; i--) {
		if (expr_uses_iter(part->factor[0], i))
			continue;
		if (!dim_is(stage->iters[i].lo, 0) || !dim_is_const(stage->iters[i].hi, &extent) ||
		    extent < 1 || extent > INT32_MAX / size)
			return false;
		const Expr *quotient = expr_floordiv(ctx, number, expr_i64(ctx, size));
		part->map[i] = expr_floormod(ctx, quotient, expr_i64(ctx, extent));
		size *= extent;
	}
	part->begin = begin;
	part->end = begin + size;
	return true;
}

/* Loops and sum of the product, as the first part has those that move the common factor. */
static void
take_first_beside(Merger *m, Part *part)
{
	const Stage *stage = part->stage;
	m->nloop = 0;
	for (int i = 0; i < stage->nloop; i++)
		if (expr_uses_iter(part->factor[0], i)) {
			m->iters[m->nloop] = stage->iters[i];
			part->map[i] = expr_iter(m->ctx, m->nloop++);
		}
	m->at = m->nloop++;
	m->nreduce = stage->nreduce;
	for (int k = 0; k < stage->nreduce; k++) {
		m->iters[m->nloop + k] = stage->iters[stage->nloop + k];
		part->map[stage->nloop + k] = expr_iter(m->ctx, m->nloop + k);
	}
}

static bool
add_beside(Merger *m, Part *part)
{
	for (int k = 0; k < part->stage->nreduce; k++)
		if (!expr_uses_iter(part->factor[0], part->stage->nloop + k))
			return false;
	if (m->count == 0)
		take_first_beside(m, part);
	else if (part->factor[0]->tensor != m->parts[0].factor[0]->tensor || !match_iterators(m, part))
		return false;
	if (!add_digits(m, part))
		return false;
	return m->count == 0 ||
	       mapped(m, part, part->factor[0]) == mapped(m, &m->parts[0], m->parts[0].factor[0]);
}

/* ---- stacked --------------------------------------------------------------------------------- */

static bool
moved_by_same(const Expr *a, const Expr *b, int total)
{
	for (int i = 0; i < total; i++)
		if (expr_uses_iter(a, i) != expr_uses_iter(b, i))
			return false;
	return true;
}

static bool
add_stacked(Merger *m, Part *part)
{
	const Stage *stage = part->stage;
	int total = stage->nloop + stage->nreduce;
	m->at = 0;
	if (m->count == 0) {
		m->nloop = stage->nloop + 1;
		m->nreduce = stage->nreduce;
	}
	if (m->nloop != stage->nloop + 1 || m->nreduce != stage->nreduce)
		return false;
	for (int i = 0; i < total; i++) {
		if (m->count && !same_box(&stage->iters[i], &m->iters[i + 1]))
			return false;
		m->iters[i + 1] = stage->iters[i];
		part->map[i] = expr_iter(m->ctx, i + 1);
	}
	part->begin = m->count;
	part->end = m->count + 1;
	for (int f = 0; m->count && f < 2; f++)
		if (part->factor[f]->type != m->parts[0].factor[f]->type ||
		    !moved_by_same(part->factor[f], m->parts[0].factor[f], total))
			return false;
	return true;
}

/* ---- merging --------------------------------------------------------------------------------- */

static bool
add_part(Merger *m, const Stage *stage, int common)
{
	const Expr *body = stage->body[0];
	Part *part = &m->parts[m->count];
	*part = (Part){.stage = stage, .factor = {body->arg[common], body->arg[!common]}};
	if (m->count && (!same_kind(m->parts[0].stage, stage) ||
	                 part->factor[1]->type != m->parts[0].factor[1]->type))
		return false;
	if (m->is_stack ? !add_stacked(m, part) : !add_beside(m, part))
		return false;
	const Expr *guard = mapped(m, part, stage->guard);
	if (m->count && (!same_guard(guard, m->guard) || follows_parts(m, stage)))
		return false;
	m->guard = m->count ? m->guard : guard;
	m->count++;
	return true;
}

/* The factor of all, over the iterators that one of them is moved by and the new loop. */
static const Expr *
joined_factor(const Merger *m, int which)
{
	ExprCtx *ctx = m->ctx;
	const Expr *own[MAX_MERGED], *all = NULL, *from[MAX_ITERS] = {NULL}, *index[MAX_ITERS];
	const Stage *like = m->parts[0].stage;
	Iter iters[MAX_ITERS];
	int count = 0;
	bool is_moved[MAX_ITERS] = {false};
	is_moved[m->at] = true;
	for (int p = 0; p < m->count; p++) {
		own[p] = mapped(m, &m->parts[p], m->parts[p].factor[which]);
		for (int i = 0; i < m->nloop + m->nreduce; i++)
			is_moved[i] |= expr_uses_iter(own[p], i);
	}
	for (int i = 0; i < m->nloop + m->nreduce; i++)
		if (is_moved[i]) {
			iters[count] = m->iters[i];
			index[count] = expr_iter(ctx, i);
			from[i] = expr_iter(ctx, count++);
		}
	DType type = (DType)own[0]->type;
	const Expr *zero = expr_number(ctx, type, 0), *number = from[m->at];
	Stage *copy = derive_stage(ctx, like, STAGE_map, count, 0, iters, &zero, NULL, &type);
	for (int p = m->count - 1; p >= 0; p--) {
		const Expr *value = expr_substitute(ctx, own[p], m->nloop + m->nreduce, from);
		const Expr *is_before = expr_lt(ctx, number, expr_i64(ctx, m->parts[p].end));
		Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), copy);
		facts_assume(facts, expr_le(ctx, expr_i64(ctx, m->parts[p].begin), number));
		facts_assume(facts, is_before);
		const Expr *range = read_range(facts, value->tensor, value->arg);
		facts_close(facts);
		value = range ? expr_select(ctx, range, value, zero) : value;
		all = all ? expr_select(ctx, is_before, value, all) : value;
	}
	copy->body = arena_memdup(expr_ctx_arena(ctx), &all, sizeof all);
	stage_tidy(ctx, copy);
	return expr_read(ctx, copy->results[0], index);
}

/* What a part's readers read: it, where it stands in the result of all. */
static Stage *
part_of(const Merger *m, const Part *part, const Tensor *whole)
{
	ExprCtx *ctx = m->ctx;
	const Stage *stage = part->stage;
	const Expr *index[MAX_ITERS] = {NULL}, *number = expr_i64(ctx, part->begin);
	int64_t extent = 1, size = 1;
	for (int i = stage->nloop - 1; i >= 0; i--) {
		bool is_digit = !m->is_stack && !expr_uses_iter(part->factor[0], i);
		for (int k = 0; k < m->nloop && !is_digit; k++)
			if (part->map[i] == expr_iter(ctx, k))
				index[k] = expr_iter(ctx, i);
		if (!is_digit)
			continue;
		dim_is_const(stage->iters[i].hi, &extent);
		number = expr_add(ctx, number, expr_mul(ctx, expr_i64(ctx, size), expr_iter(ctx, i)));
		size *= extent;
	}
	index[m->at] = number;
	const Expr *body = expr_read(ctx, whole, index);
	DType type = whole->type;
	return derive_stage(ctx, stage, STAGE_map, stage->nloop, 0, stage->iters, &body, NULL, &type);
}

static Program *
merge(Merger *m, Reason *why)
{
	ExprCtx *ctx = m->ctx;
	const Stage *like = m->parts[0].stage;
	m->iters[m->at] = (Iter){NULL, dim_const(ctx, 0), dim_const(ctx, m->parts[m->count - 1].end)};
	const Expr *common =
		m->is_stack ? joined_factor(m, 0) : mapped(m, &m->parts[0], m->parts[0].factor[0]);
	const Expr *body = expr_mul(ctx, common, joined_factor(m, 1));
	DType type = like->results[0]->type;
	Stage *whole = derive_stage(ctx, like, STAGE_reduce, m->nloop, m->nreduce, m->iters, &body,
	                            m->guard, &type);
	Map results = {.arena = expr_ctx_arena(ctx)};
	for (int p = 0; p < m->count; p++)
		map_set_ptr(&results, m->parts[p].stage->results[0],
		            part_of(m, &m->parts[p], whole->results[0])->results[0]);
	return derive_certain(m->program, program_substitute(m->program, &results), why);
}

Program *
derive_merge_products(const Program *program, const Stage *stage, int common, Reason *why)
{
	Merger m = {.ctx = program->ctx, .program = program, .is_stack = common < 0};
	if (common > 1 || !is_merged_product(stage) || !add_part(&m, stage, common == 1))
		return derive_refuse(why, "the stage is no plain sum of products");
	int s = 0;
	while (s < program->nstage && program->stages[s] != stage)
		s++;
	for (s++; s < program->nstage && m.count < MAX_MERGED; s++) {
		const Stage *other = program->stages[s];
		if (is_merged_product(other) && !add_part(&m, other, 0))
			add_part(&m, other, 1);
	}
	if (m.count < 2)
		return derive_refuse(why, "no other product goes with it");
	return merge(&m, why);
}
