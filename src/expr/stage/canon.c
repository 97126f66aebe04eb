/* Canonical form: see canon.h.
 *
 * The order of a reduction's iterators is found by colours: each iterator begins as its box, and
 * takes as its new colour the hash of the terms with itself marked, until no more iterators part.
 * Iterators that still look alike are parted one at a time, each tried first, and the order with
 * the least hash is taken. Square kernels need this: K[r,s] and K[s,r] differ, X[r]*X[s] do not.
 */
#include "expr/stage/canon.h"

#include "expr/index/facts.h"
#include "expr/stage/hash.h"

/* ---- scalars --------------------------------------------------------------------------------- */

/* P >= 0 with its coefficients divided by their gcd (the constant rounded down); for an equality
 * false when the constant is no multiple. */
static bool
divide_by_gcd(Poly *p, bool is_equality)
{
	Term g = {0};
	for (int i = 0; i < p->count; i++)
		if (p->term[i].natom > 0)
			term_gcd(&g, &g, &(Term){.coef = p->term[i].coef});
	if (g.coef <= 1)
		return true;
	for (int i = 0; i < p->count; i++) {
		int64_t rest = p->term[i].coef % g.coef;
		if (rest != 0 && is_equality)
			return false;
		p->term[i].coef = p->term[i].coef / g.coef - (rest < 0);
	}
	if (p->count > 0 && p->term[p->count - 1].coef == 0)
		p->count--;
	return true;
}

/* a <= b + extra as 0 <= P */
static const Expr *
canon_le(ExprCtx *ctx, const Expr *a, const Expr *b, int64_t extra)
{
	Poly p, q;
	if (!poly_of(b, &p) || !poly_of(a, &q) || !poly_add_scaled(&p, &q, -1) ||
	    !poly_add_term(&p, &(Term){.coef = extra}))
		return extra == 0 ? expr_le(ctx, a, b) : expr_lt(ctx, a, b);
	divide_by_gcd(&p, false);
	return expr_le(ctx, expr_i64(ctx, 0), poly_build(ctx, &p));
}

static const Expr *
canon_eq(ExprCtx *ctx, ExprOp op, const Expr *a, const Expr *b)
{
	Poly p, q, sum;
	poly_const(&sum, 0);
	const Expr *zero = expr_i64(ctx, 0);
	if (!poly_of(b, &p) || !poly_of(a, &q) || !poly_add_scaled(&p, &q, -1))
		return expr_op(ctx, op, (const Expr *[]){a, b});
	if (!divide_by_gcd(&p, true))
		return expr_bool(ctx, op == EX_ne);
	/* the sign under which the first term is positive; terms are sorted */
	if (p.count > 0 && p.term[0].coef < 0 && poly_add_scaled(&sum, &p, -1))
		poly_copy(&p, &sum);
	return expr_op(ctx, op, (const Expr *[]){poly_build(ctx, &p), zero});
}

static const Expr *
canon_index_compare(ExprCtx *ctx, const Expr *e)
{
	const Expr *a = e->arg[0], *b = e->arg[1];
	switch (e->op) {
	case EX_lt:
		return canon_le(ctx, a, b, -1);
	case EX_le:
		return canon_le(ctx, a, b, 0);
	case EX_gt:
		return canon_le(ctx, b, a, -1);
	case EX_ge:
		return canon_le(ctx, b, a, 0);
	default:
		return canon_eq(ctx, e->op, a, b);
	}
}

static bool
is_compare(const Expr *e)
{
	return e->op >= EX_lt && e->op <= EX_ne;
}

static const Expr *
canon_not(ExprCtx *ctx, const Expr *e)
{
	static const uint8_t opposite[] = {EX_ge, EX_gt, EX_le, EX_lt, EX_ne, EX_eq};
	const Expr *x = e->arg[0];
	if (!is_compare(x) || dtype_is_float(x->arg[0]->type))
		return e;
	ExprOp op = (ExprOp)opposite[x->op - EX_lt];
	const Expr *flipped = expr_op(ctx, op, x->arg);
	return x->arg[0]->type == DT_I64 && is_compare(flipped) ? canon_index_compare(ctx, flipped)
	                                                        : flipped;
}

/* Of a condition on indices and its opposite the one with a positive first coefficient, and == of
 * == and !=, whichever arm it takes. */
static const Expr *
canon_select(ExprCtx *ctx, const Expr *e)
{
	const Expr *condition = e->arg[0];
	Poly p;
	bool is_index = is_compare(condition) && condition->arg[0]->type == DT_I64;
	bool is_turned = condition->op == EX_not || (is_index && condition->op == EX_ne);
	if (is_index && condition->op == EX_le && poly_of(condition->arg[1], &p))
		is_turned = p.count > 0 && p.term[0].coef < 0;
	if (!is_turned)
		return e;
	const Expr *opposite =
		condition->op == EX_not ? condition->arg[0] : canon_not(ctx, expr_not(ctx, condition));
	return expr_select(ctx, opposite, e->arg[2], e->arg[1]);
}

static const Expr *
swap_operands(Hasher *hasher, const Expr *e)
{
	const Expr *a = e->arg[0], *b = e->arg[1];
	bool is_sorted = hash_compare(hash_scalar(hasher, a), hash_scalar(hasher, b)) <= 0;
	return is_sorted ? e : expr_op(hasher->ctx, e->op, (const Expr *[]){b, a});
}

static const Expr *
canon_node(ExprCtx *ctx, const Expr *e, void *arg)
{
	Hasher *hasher = arg;
	if (is_compare(e) && e->arg[0]->type == DT_I64)
		return canon_index_compare(ctx, e);
	switch (e->op) {
	case EX_gt:
		return expr_lt(ctx, e->arg[1], e->arg[0]);
	case EX_ge:
		return expr_le(ctx, e->arg[1], e->arg[0]);
	case EX_not:
		return canon_not(ctx, e);
	case EX_select:
		return canon_select(ctx, e);
	case EX_add:
	case EX_mul: /* index sums are sorted already */
		return e->type == DT_I64 && !e->has_read ? e : swap_operands(hasher, e);
	case EX_min:
	case EX_max:
	case EX_eq:
	case EX_ne:
	case EX_bitand:
	case EX_bitor:
	case EX_bitxor:
		return swap_operands(hasher, e);
	default:
		return e;
	}
}

static const Expr *
canon_scalar(Hasher *hasher, Facts *facts, const Expr *e)
{
	return expr_rewrite(hasher->ctx, expr_simplify(facts, e), canon_node, hasher);
}

/* ---- guards ---------------------------------------------------------------------------------- */

enum { MAX_TERMS = 64 };

static int
split_guard(const Expr *guard, const Expr **terms)
{
	int count = 0;
	while (guard && guard->op == EX_and && count < MAX_TERMS - 1) {
		terms[count++] = guard->arg[1];
		guard = guard->arg[0];
	}
	if (guard)
		terms[count++] = guard;
	return count;
}

/* Terms the box or the others imply go, the rest are sorted by hash. The order of the terms kept
 * must not depend on their order now, so they are sorted first. */
static void
sort_terms(Hasher *hasher, const Expr **terms, int count)
{
	for (int i = 1; i < count; i++)
		for (int k = i; k > 0; k--) {
			Hash128 a = hash_scalar(hasher, terms[k - 1]), b = hash_scalar(hasher, terms[k]);
			if (hash_compare(a, b) <= 0)
				break;
			const Expr *swap = terms[k];
			terms[k] = terms[k - 1];
			terms[k - 1] = swap;
		}
}

static bool
is_implied(Facts *facts, const Expr *const *terms, int count, int which)
{
	int mark = facts_mark(facts);
	for (int i = 0; i < count; i++)
		if (i != which)
			facts_assume(facts, terms[i]);
	bool implied = facts_prove(facts, terms[which]);
	facts_release(facts, mark);
	return implied;
}

static const Expr *
canon_guard(Hasher *hasher, Facts *facts, const Expr *guard)
{
	const Expr *terms[MAX_TERMS], *joined = NULL;
	int count = split_guard(guard, terms);
	for (int i = 0; i < count; i++)
		terms[i] = canon_scalar(hasher, facts, terms[i]);
	sort_terms(hasher, terms, count);
	for (int i = count - 1; i >= 0; i--)
		if (is_implied(facts, terms, count, i)) {
			for (int k = i; k + 1 < count; k++)
				terms[k] = terms[k + 1];
			count--;
		}
	for (int i = 0; i < count; i++)
		joined = joined ? expr_and(hasher->ctx, joined, terms[i]) : terms[i];
	return joined && joined->op == EX_const && joined->value.u64 ? NULL : joined;
}

/* ---- the order of a reduction's iterators ---------------------------------------------------- */

static Hash128
box_hash(Hasher *hasher, const Stage *stage, int position)
{
	Hash128 hash = hash128_combine(hash_scalar(hasher, stage->iters[position].lo),
	                               hash_scalar(hasher, stage->iters[position].hi));
	return hash128_combine(hash, hash_word(UINT64_C(1) << 42));
}

/* The terms with the iterators as they count now. */
static Hash128
terms_hash(Hasher *hasher, const Stage *stage)
{
	const Expr *guard[MAX_TERMS];
	Hash128 hashes[MAX_TERMS], hash = hash_word(0);
	hasher_forget(hasher);
	for (int i = 0; i < stage->nbody; i++)
		hash = hash128_combine(hash, hash_scalar(hasher, stage->body[i]));
	int count = split_guard(stage->guard, guard);
	for (int i = 0; i < count; i++)
		hashes[i] = hash_scalar(hasher, guard[i]);
	return hash128_combine(hash, hash_unordered(hashes, count));
}

static int
count_colours(const Hash128 *colours, int count)
{
	int distinct = 0;
	for (int i = 0; i < count; i++) {
		bool is_new = true;
		for (int k = 0; k < i && is_new; k++)
			is_new = !hash128_equal(colours[i], colours[k]);
		distinct += is_new;
	}
	return distinct;
}

/* Refine the colours until no more iterators part. */
static void
refine(Hasher *hasher, const Stage *stage, Hash128 *colours)
{
	int n = stage->nreduce, distinct = count_colours(colours, n);
	Hash128 next[HASH_ITERS];
	for (int round = 0; round < n && distinct < n; round++) {
		for (int i = 0; i < n; i++)
			hasher->iters[stage->nloop + i] = colours[i];
		for (int i = 0; i < n; i++) {
			hasher->iters[stage->nloop + i] = hash_word(UINT64_C(1) << 43);
			next[i] = hash128_combine(colours[i], terms_hash(hasher, stage));
			hasher->iters[stage->nloop + i] = colours[i];
		}
		for (int i = 0; i < n; i++)
			colours[i] = next[i];
		int now = count_colours(colours, n);
		if (now == distinct)
			break;
		distinct = now;
	}
}

typedef struct Ordering {
	Hasher *hasher;
	const Stage *stage;
	int tries; /* left; beyond them ties are broken by position */
	bool has_best;
	Hash128 best;
	int order[HASH_ITERS]; /* order[k] = reduction iterator that comes k-th */
} Ordering;

static void
take_order(Ordering *o, const Hash128 *colours)
{
	int order[HASH_ITERS], n = o->stage->nreduce;
	for (int i = 0; i < n; i++) {
		int at = i;
		for (; at > 0 && hash_compare(colours[order[at - 1]], colours[i]) > 0; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (int k = 0; k < n; k++)
		o->hasher->iters[o->stage->nloop + order[k]] = hash_word((uint64_t)(o->stage->nloop + k));
	Hash128 hash = terms_hash(o->hasher, o->stage);
	if (o->has_best && hash_compare(hash, o->best) >= 0)
		return;
	o->has_best = true;
	o->best = hash;
	for (int k = 0; k < n; k++)
		o->order[k] = order[k];
}

/* Part the iterators that look alike, one at a time. */
static void
search_order(Ordering *o, Hash128 *colours)
{
	int n = o->stage->nreduce, tied = -1;
	refine(o->hasher, o->stage, colours);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			if (hash128_equal(colours[i], colours[k]) &&
			    (tied < 0 || hash_compare(colours[i], colours[tied]) < 0))
				tied = i;
	if (tied < 0 || o->tries <= 0) {
		take_order(o, colours);
		return;
	}
	Hash128 tie = colours[tied];
	for (int i = 0; i < n; i++) {
		Hash128 parted[HASH_ITERS];
		if (!hash128_equal(colours[i], tie) || (o->has_best && o->tries-- <= 0))
			continue;
		for (int k = 0; k < n; k++)
			parted[k] = colours[k];
		parted[i] = hash128_combine(tie, hash_word(1));
		search_order(o, parted);
	}
}

static void
order_iterators(Hasher *hasher, const Stage *stage, int *order)
{
	Ordering o = {.hasher = hasher, .stage = stage, .tries = 60};
	Hash128 colours[HASH_ITERS];
	must(stage->nloop + stage->nreduce <= HASH_ITERS);
	hasher_forget(hasher);
	for (int i = 0; i < stage->nreduce; i++)
		colours[i] = box_hash(hasher, stage, stage->nloop + i);
	search_order(&o, colours);
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		hasher->iters[i] = hash_word((uint64_t)i);
	hasher_forget(hasher);
	for (int k = 0; k < stage->nreduce; k++)
		order[k] = o.order[k];
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* Every scalar of the stage through a map of its iterators. */
static void
substitute_all(ExprCtx *ctx, Stage *stage, const Expr *const *map)
{
	int count = stage->nloop + stage->nreduce;
	const Expr **body = NEW_N(ctx->arena, const Expr *, stage->nbody);
	for (int i = 0; i < stage->nbody; i++)
		body[i] = expr_substitute(ctx, stage->body[i], count, map);
	stage->body = body;
	if (stage->guard)
		stage->guard = expr_substitute(ctx, stage->guard, count, map);
}

/* Reduction iterators that take one value become that value. */
static void
drop_single_iterators(ExprCtx *ctx, Stage *stage)
{
	int count = stage->nloop + stage->nreduce, kept = stage->nloop;
	const Expr **map = NEW_N(ctx->arena, const Expr *, count + 1);
	Iter *iters = arena_memdup(ctx->arena, stage->iters, (size_t)count * sizeof *iters);
	stage_identity(ctx, stage->nloop, map);
	for (int i = stage->nloop; i < count; i++) {
		bool is_single = dim_add_i64(ctx, iters[i].lo, 1) == iters[i].hi;
		map[i] = is_single ? iters[i].lo : expr_iter(ctx, kept);
		if (!is_single)
			iters[kept++] = iters[i];
	}
	if (kept == count)
		return;
	substitute_all(ctx, stage, map);
	stage->nreduce = kept - stage->nloop;
	stage->iters = iters;
}

static void
permute_iterators(ExprCtx *ctx, Stage *stage, const int *order)
{
	int count = stage->nloop + stage->nreduce;
	const Expr **map = NEW_N(ctx->arena, const Expr *, count + 1);
	Iter *iters = arena_memdup(ctx->arena, stage->iters, (size_t)count * sizeof *iters);
	stage_identity(ctx, stage->nloop, map);
	for (int k = 0; k < stage->nreduce; k++) {
		map[stage->nloop + order[k]] = expr_iter(ctx, stage->nloop + k);
		iters[stage->nloop + k] = stage->iters[stage->nloop + order[k]];
	}
	stage->iters = iters;
	substitute_all(ctx, stage, map);
}

static void
canon_scalars(Hasher *hasher, Stage *stage)
{
	ExprCtx *ctx = hasher->ctx;
	Facts *facts = facts_of_stage(ctx, ctx->arena, stage);
	if (stage->guard)
		stage->guard = canon_guard(hasher, facts, stage->guard);
	if (stage->guard)
		facts_assume(facts, stage->guard);
	const Expr **body = NEW_N(ctx->arena, const Expr *, stage->nbody);
	for (int i = 0; i < stage->nbody; i++)
		body[i] = canon_scalar(hasher, facts, stage->body[i]);
	stage->body = body;
	if (stage->kind != STAGE_scatter)
		return;
	const Expr **target = NEW_N(ctx->arena, const Expr *, stage->init->rank + 1);
	for (int i = 0; i < stage->init->rank; i++)
		target[i] = canon_scalar(hasher, facts, stage->target[i]);
	stage->target = target;
}

static void
drop_names(ExprCtx *ctx, Stage *stage)
{
	int count = stage->nloop + stage->nreduce;
	Iter *iters = arena_memdup(ctx->arena, stage->iters, (size_t)count * sizeof *iters);
	for (int i = 0; i < count; i++)
		iters[i].name = NULL;
	stage->iters = iters;
}

Stage *
canon_stage(Hasher *hasher, const Stage *stage)
{
	ExprCtx *ctx = hasher->ctx;
	Stage *canon = stage_clone(ctx, stage);
	int order[HASH_ITERS];
	drop_names(ctx, canon);
	if (canon->kind == STAGE_reduce)
		drop_single_iterators(ctx, canon);
	hasher_forget(hasher);
	canon_scalars(hasher, canon);
	if (canon->kind == STAGE_reduce && reduce_info(canon->reduce)->freedom != REDUCE_ordered &&
	    canon->nreduce > 1) {
		order_iterators(hasher, canon, order);
		permute_iterators(ctx, canon, order);
		canon_scalars(hasher, canon); /* sums and guards in the order of the new positions */
	}
	hasher_forget(hasher);
	return canon;
}

Stage *
expr_canon(ExprCtx *ctx, const Stage *stage)
{
	Hasher hasher;
	hasher_open(&hasher, ctx, NULL);
	Stage *canon = canon_stage(&hasher, stage);
	hasher_close(&hasher);
	return canon;
}
