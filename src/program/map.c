/* Changing iterators by a bijection.
 *
 * The stage is computed over the new box and read at the images of the old indices. Points of the
 * new box that are no image are never read; they need a guard only where the stage itself would
 * read out of range there. That is what makes a skewed convolution a plain matrix product:
 *
 *     T[r, h] = sum(c where 0 <= h+r-1 < H) A[h+r-1, c]*K[r, c]
 *     T'[r, t] = sum(c where 0 <= t-1 < H) A[t-1, c]*K[r, c]      read at [r, h+r]
 */

#include "expr/index/facts.h"
#include "program/derive.h"
#include "program/derive_inner.h"

enum { MAX_ITERS = 64 };

/* One of the old iterators, in the box that it had. */
static bool
is_old_loop(const Expr *e, const Iter *box, const Iter *old, int count)
{
	return e->op == EX_iter && e->iter < count && box->lo == old[e->iter].lo &&
	       box->hi == old[e->iter].hi;
}

/* `old`: the iterators that are mapped. */
static const char *
find_fault(Facts *facts, const Bijection *map, const Iter *old)
{
	ExprCtx *ctx = facts->ctx;
	for (int i = 0; i < map->nold; i++) {
		const Expr *back = expr_substitute(ctx, map->inverse[i], map->nnew, map->forward);
		if (back == expr_iter(ctx, i) || expr_simplify(facts, back) == expr_iter(ctx, i))
			continue;
		if (!facts_prove(facts, expr_eq(ctx, back, expr_iter(ctx, i)))) /* of extent 1 */
			return "the inverse does not certainly undo the map";
	}
	for (int j = 0; j < map->nnew; j++) {
		if (is_old_loop(map->forward[j], &map->iters[j], old, map->nold))
			continue;
		const Expr *at = expr_simplify(facts, map->forward[j]);
		if (!facts_prove(facts, expr_le(ctx, map->iters[j].lo, at)) ||
		    !facts_prove(facts, expr_lt(ctx, at, map->iters[j].hi)))
			return "an image does not certainly lie in the new box";
	}
	return NULL;
}

/* forward and inverse compose to the identity on the old box, and forward stays in the new one;
 * `base` is the position of the first of these iterators in the stage. */
static const char *
check_bijection(ExprCtx *ctx, const Stage *stage, const Bijection *map, int base)
{
	Facts *facts = facts_new(ctx, expr_ctx_arena(ctx));
	for (int i = 0; i < map->nold; i++)
		facts_iter(facts, i, stage->iters[base + i].lo, stage->iters[base + i].hi);
	const char *fault = find_fault(facts, map, stage->iters + base);
	facts_close(facts);
	return fault;
}

/* Omit (or make zero) the points outside the old box. */
static void
guard_image(ExprCtx *ctx, Stage *stage, int count, const Expr *const *old, const Iter *box)
{
	const Expr *inside = derive_in_box(ctx, count, old, box);
	if (!inside)
		return;
	if (stage->kind == STAGE_reduce) {
		stage->guard = expr_both(ctx, stage->guard, inside);
	} else {
		DType type = stage->results[0]->type;
		const Expr *body = expr_select(ctx, inside, stage->body[0], expr_number(ctx, type, 0));
		stage->body = arena_memdup(expr_ctx_arena(ctx), &body, sizeof body);
	}
}

/* The stage over the new loops; old loops are scalars over them. *is_certain: all its reads are in
 * range; else not asked of what comes out. */
static Stage *
map_loops(ExprCtx *ctx, const Stage *stage, const Bijection *map, bool *is_certain)
{
	Iter iters[MAX_ITERS];
	const Expr *old[MAX_ITERS], *body[REDUCE_MAX_STATES], *guard = stage->guard;
	DType types[REDUCE_MAX_STATES];
	int total = stage->nloop + stage->nreduce;
	for (int j = 0; j < map->nnew; j++)
		iters[j] = map->iters[j];
	for (int i = 0; i < stage->nloop; i++)
		old[i] = map->inverse[i];
	for (int k = 0; k < stage->nreduce; k++) {
		iters[map->nnew + k] = stage->iters[stage->nloop + k];
		old[stage->nloop + k] = expr_iter(ctx, map->nnew + k);
	}
	for (int i = 0; i < stage->nbody; i++) {
		body[i] = expr_substitute(ctx, stage->body[i], total, old);
		types[i] = stage->results[i]->type;
	}
	guard = guard ? expr_substitute(ctx, guard, total, old) : NULL;
	Stage *mapped =
		derive_stage(ctx, stage, stage->kind, map->nnew, stage->nreduce, iters, body, guard, types);
	stage_tidy(ctx, mapped);
	*is_certain = stage_reads_are_certain(ctx, mapped);
	if (*is_certain)
		return mapped;
	guard_image(ctx, mapped, stage->nloop, old, stage->iters);
	stage_tidy(ctx, mapped);
	return mapped;
}

/* A copy of result k of the mapped stage with the old loops. */
static Stage *
copy_back(ExprCtx *ctx, const Stage *stage, const Stage *mapped, const Bijection *map, int k)
{
	Stage like = *stage;
	like.nresult = 1;
	like.results = stage->results + k;
	like.name = stage->results[k]->name;
	DType type = stage->results[k]->type;
	const Expr *body = expr_read(ctx, mapped->results[k], map->forward);
	return derive_stage(ctx, &like, STAGE_map, stage->nloop, 0, stage->iters, &body, NULL, &type);
}

Program *
derive_substitute(const Program *program, const Stage *stage, const Bijection *map, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	const char *obstacle = derive_obstacle(stage, true);
	if (obstacle)
		return derive_refuse(why, obstacle);
	if (map->nold != stage->nloop || map->nnew + stage->nreduce > MAX_ITERS - 1)
		return derive_refuse(why, "the map is over other iterators");
	obstacle = check_bijection(ctx, stage, map, 0);
	if (obstacle)
		return derive_refuse(why, obstacle);
	bool is_certain;
	Stage *mapped = map_loops(ctx, stage, map, &is_certain);
	const Stage *certain = is_certain ? mapped : NULL;
	Map copies = {.arena = expr_ctx_arena(ctx)};
	const Stage *copy[REDUCE_MAX_STATES];
	for (int k = 0; k < stage->nresult; k++) {
		copy[k] = copy_back(ctx, stage, mapped, map, k);
		map_set_ptr(&copies, stage->results[k], copy[k]->results[0]);
	}
	Program *derived = program_substitute(program, &copies);
	for (int k = 0; k < stage->nresult; k++)
		derived = derive_inline(derived, copy[k]); /* stays where it is an output */
	return derive_certain_beside(program, certain, derived, why);
}

Program *
derive_substitute_sum(const Program *program, const Stage *stage, const Bijection *map, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	int n = stage->nloop;
	Iter iters[MAX_ITERS];
	const Expr *old[MAX_ITERS], *shift[MAX_ITERS], *body[REDUCE_MAX_STATES];
	DType types[REDUCE_MAX_STATES];
	const char *obstacle = derive_obstacle(stage, true);
	if (!obstacle && (stage->kind != STAGE_reduce || map->nold != stage->nreduce ||
	                  n + map->nnew > MAX_ITERS - 1))
		obstacle = "the map is over other iterators";
	if (!obstacle && reduce_info(stage->reduce)->freedom == REDUCE_ordered)
		obstacle = "the order of the reduction matters";
	if (!obstacle)
		obstacle = check_bijection(ctx, stage, map, n);
	if (obstacle)
		return derive_refuse(why, obstacle);
	for (int i = 0; i < n; i++) {
		iters[i] = stage->iters[i];
		old[i] = expr_iter(ctx, i);
	}
	for (int j = 0; j < map->nnew; j++) {
		iters[n + j] = map->iters[j];
		shift[j] = expr_iter(ctx, n + j);
	}
	for (int i = 0; i < map->nold; i++)
		old[n + i] = expr_substitute(ctx, map->inverse[i], map->nnew, shift);
	for (int i = 0; i < stage->nbody; i++) {
		body[i] = expr_substitute(ctx, stage->body[i], n + map->nold, old);
		types[i] = stage->results[i]->type;
	}
	const Expr *guard = stage->guard;
	guard = guard ? expr_substitute(ctx, guard, n + map->nold, old) : NULL;
	Stage *mapped = derive_stage(ctx, stage, STAGE_reduce, n, map->nnew, iters, body, guard, types);
	guard_image(ctx, mapped, map->nold, old + n, stage->iters + n);
	/* each old point must be met once: a new point counts only if it is the image of its own */
	for (int j = 0; j < map->nnew; j++) {
		const Expr *image = expr_substitute(ctx, map->forward[j], map->nold, old + n);
		mapped->guard = expr_and(ctx, mapped->guard, expr_eq(ctx, image, shift[j]));
	}
	stage_tidy(ctx, mapped);
	return derive_certain(program, derive_replace(program, stage, mapped), why);
}

/* ---- families of bijections ------------------------------------------------------------------ */

typedef struct Parts {
	const Expr *forward[MAX_ITERS], *inverse[MAX_ITERS];
	Iter iters[MAX_ITERS];
} Parts;

static Parts *
identity_parts(ExprCtx *ctx, const Stage *stage)
{
	Parts *parts = NEW(expr_ctx_arena(ctx), Parts);
	stage_identity(ctx, stage->nloop, parts->forward);
	stage_identity(ctx, stage->nloop, parts->inverse);
	for (int i = 0; i < stage->nloop; i++)
		parts->iters[i] = stage->iters[i];
	return parts;
}

static void
fill_bijection(Bijection *out, const Parts *parts, int nold, int nnew)
{
	*out = (Bijection){nold, nnew, parts->forward, parts->inverse, parts->iters};
}

static bool
are_loops(const Stage *stage, int i, int j)
{
	return i >= 0 && j >= 0 && i < stage->nloop && j < stage->nloop && i != j;
}

bool
derive_skew(ExprCtx *ctx, const Stage *stage, int i, int j, int64_t b, Bijection *out)
{
	if (!are_loops(stage, i, j) || b == 0)
		return false;
	Parts *parts = identity_parts(ctx, stage);
	const Expr *moved = expr_mul(ctx, expr_i64(ctx, b), expr_iter(ctx, j));
	parts->forward[i] = expr_add(ctx, expr_iter(ctx, i), moved);
	parts->inverse[i] = expr_sub(ctx, expr_iter(ctx, i), moved);
	const Dim *first = dim_mul_i64(ctx, stage->iters[j].lo, b);
	const Dim *last = dim_mul_i64(ctx, dim_add_i64(ctx, stage->iters[j].hi, -1), b);
	parts->iters[i].lo = dim_add(ctx, stage->iters[i].lo, b > 0 ? first : last);
	parts->iters[i].hi = dim_add(ctx, stage->iters[i].hi, b > 0 ? last : first);
	fill_bijection(out, parts, stage->nloop, stage->nloop);
	return true;
}

/* z = (i - lo)*len(j) + (j - lo) takes the place of i, and j goes. */
bool
derive_fuse(ExprCtx *ctx, const Stage *stage, int i, int j, Bijection *out)
{
	if (!are_loops(stage, i, j))
		return false;
	Parts *parts = identity_parts(ctx, stage);
	const Iter *a = &stage->iters[i], *b = &stage->iters[j];
	const Dim *width = dim_sub(ctx, b->hi, b->lo), *height = dim_sub(ctx, a->hi, a->lo);
	int n = stage->nloop, at = i - (j < i);
	const Expr *x = expr_sub(ctx, expr_iter(ctx, i), a->lo);
	const Expr *y = expr_sub(ctx, expr_iter(ctx, j), b->lo), *z = expr_iter(ctx, at);
	for (int k = j; k + 1 < n; k++) {
		parts->forward[k] = parts->forward[k + 1];
		parts->iters[k] = parts->iters[k + 1];
	}
	for (int k = 0; k < n; k++)
		parts->inverse[k] = expr_iter(ctx, k - (k > j));
	parts->forward[at] = expr_add(ctx, expr_mul(ctx, x, width), y);
	parts->inverse[i] = expr_add(ctx, expr_floordiv(ctx, z, width), a->lo);
	parts->inverse[j] = expr_add(ctx, expr_floormod(ctx, z, width), b->lo);
	parts->iters[at] = (Iter){a->name, dim_const(ctx, 0), dim_mul(ctx, height, width)};
	fill_bijection(out, parts, n, n - 1);
	return true;
}

/* i - lo = q*factor + r: q takes the place of i, and r comes behind it. */
bool
derive_split(ExprCtx *ctx, const Stage *stage, int i, int64_t factor, Bijection *out)
{
	if (i < 0 || i >= stage->nloop || factor < 2 || stage->nloop + 2 > MAX_ITERS)
		return false;
	Parts *parts = identity_parts(ctx, stage);
	const Iter *iter = &stage->iters[i];
	const Dim *length = dim_sub(ctx, iter->hi, iter->lo), *k = dim_const(ctx, factor);
	const Expr *x = expr_sub(ctx, expr_iter(ctx, i), iter->lo);
	const Expr *q = expr_iter(ctx, i), *r = expr_iter(ctx, i + 1);
	for (int m = stage->nloop; m > i + 1; m--) {
		parts->forward[m] = expr_iter(ctx, m - 1);
		parts->iters[m] = stage->iters[m - 1];
		parts->inverse[m - 1] = expr_iter(ctx, m);
	}
	parts->forward[i] = expr_floordiv(ctx, x, k);
	parts->forward[i + 1] = expr_floormod(ctx, x, k);
	parts->inverse[i] = expr_add(ctx, expr_add(ctx, expr_mul(ctx, q, k), r), iter->lo);
	parts->iters[i] = (Iter){iter->name, dim_const(ctx, 0), dim_ceildiv(ctx, length, k)};
	parts->iters[i + 1] = (Iter){NULL, dim_const(ctx, 0), k};
	fill_bijection(out, parts, stage->nloop, stage->nloop + 1);
	return true;
}

bool
derive_permute(ExprCtx *ctx, const Stage *stage, const int *order, Bijection *out)
{
	Parts *parts = identity_parts(ctx, stage);
	uint64_t seen = 0;
	for (int k = 0; k < stage->nloop; k++) {
		if (order[k] < 0 || order[k] >= stage->nloop || (seen >> order[k] & 1))
			return false;
		seen |= UINT64_C(1) << order[k];
		parts->forward[k] = expr_iter(ctx, order[k]);
		parts->inverse[order[k]] = expr_iter(ctx, k);
		parts->iters[k] = stage->iters[order[k]];
	}
	fill_bijection(out, parts, stage->nloop, stage->nloop);
	return true;
}

bool
derive_reverse(ExprCtx *ctx, const Stage *stage, int i, Bijection *out)
{
	if (i < 0 || i >= stage->nloop)
		return false;
	Parts *parts = identity_parts(ctx, stage);
	const Iter *iter = &stage->iters[i];
	const Dim *ends = dim_add_i64(ctx, dim_add(ctx, iter->lo, iter->hi), -1);
	parts->forward[i] = parts->inverse[i] = expr_sub(ctx, ends, expr_iter(ctx, i));
	fill_bijection(out, parts, stage->nloop, stage->nloop);
	return true;
}

bool
derive_from_zero(ExprCtx *ctx, const Stage *stage, Bijection *out)
{
	Parts *parts = identity_parts(ctx, stage);
	bool is_moved = false;
	for (int i = 0; i < stage->nloop; i++) {
		const Iter *iter = &stage->iters[i];
		is_moved |= !expr_is_zero(iter->lo);
		parts->forward[i] = expr_sub(ctx, expr_iter(ctx, i), iter->lo);
		parts->inverse[i] = expr_add(ctx, expr_iter(ctx, i), iter->lo);
		parts->iters[i].lo = dim_const(ctx, 0);
		parts->iters[i].hi = dim_sub(ctx, iter->hi, iter->lo);
	}
	fill_bijection(out, parts, stage->nloop, stage->nloop);
	return is_moved;
}

/* One of the sum's iterators. */
static bool
is_term(const Stage *stage, int i)
{
	return i >= stage->nloop && i < stage->nloop + stage->nreduce;
}

bool
derive_split_terms(ExprCtx *ctx, const Stage *stage, int i, int64_t factor, Bijection *out)
{
	int n = stage->nreduce, at = is_term(stage, i) ? i - stage->nloop : -1;
	if (at < 0 || factor < 2 || n + 2 > MAX_ITERS || !dim_is(stage->iters[i].lo, 0))
		return false;
	Parts *parts = NEW(expr_ctx_arena(ctx), Parts);
	const Expr *by = expr_i64(ctx, factor), *whole = expr_iter(ctx, at);
	for (int k = 0; k < n; k++) {
		int to = k + (k > at);
		parts->forward[to] = expr_iter(ctx, k);
		parts->inverse[k] = expr_iter(ctx, to);
		parts->iters[to] = stage->iters[stage->nloop + k];
	}
	parts->inverse[at] = expr_add(ctx, expr_mul(ctx, whole, by), expr_iter(ctx, at + 1));
	parts->forward[at] = expr_floordiv(ctx, whole, by);
	parts->forward[at + 1] = expr_floormod(ctx, whole, by);
	parts->iters[at].hi = dim_ceildiv(ctx, parts->iters[at].hi, by);
	parts->iters[at + 1] = (Iter){NULL, dim_const(ctx, 0), by};
	fill_bijection(out, parts, n, n + 1);
	return true;
}

bool
derive_reverse_terms(ExprCtx *ctx, const Stage *stage, int i, Bijection *out)
{
	int n = stage->nreduce, at = is_term(stage, i) ? i - stage->nloop : -1;
	if (at < 0)
		return false;
	Parts *parts = NEW(expr_ctx_arena(ctx), Parts);
	stage_identity(ctx, n, parts->forward);
	stage_identity(ctx, n, parts->inverse);
	for (int k = 0; k < n; k++)
		parts->iters[k] = stage->iters[stage->nloop + k];
	const Dim *ends = dim_add_i64(ctx, dim_add(ctx, stage->iters[i].lo, stage->iters[i].hi), -1);
	parts->forward[at] = parts->inverse[at] = expr_sub(ctx, ends, expr_iter(ctx, at));
	fill_bijection(out, parts, n, n);
	return true;
}
