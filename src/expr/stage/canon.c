/* Canonical form: see canon.h.
 *
 * The order of a reduction's iterators is found by colours: each iterator begins as its box, and
 * one that is not alone in its colour takes as its new one the hash of the terms with itself
 * marked, until no more iterators part. Iterators that still look alike are parted one at a time,
 * each tried first, and the order with the least hash is taken. Square kernels need this: K[r,s]
 * and K[s,r] differ, X[r]*X[s] do not.
 */
#include "expr/stage/canon.h"

#include "expr/index/facts.h"
#include "expr/stage/hash.h"
#include "expr/stage/stage.h"

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
	Poly p;
	if (!poly_gap(a, b, extra, &p))
		return extra == 0 ? expr_le(ctx, a, b) : expr_lt(ctx, a, b);
	divide_by_gcd(&p, false);
	return expr_le(ctx, expr_i64(ctx, 0), poly_build(ctx, &p));
}

static const Expr *
canon_eq(ExprCtx *ctx, ExprOp op, const Expr *a, const Expr *b)
{
	Poly p, sum;
	poly_const(&sum, 0);
	const Expr *zero = expr_i64(ctx, 0);
	if (!poly_gap(a, b, 0, &p))
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

static const Expr *
canon_not(ExprCtx *ctx, const Expr *e)
{
	const Expr *flipped = expr_opposite(ctx, e->arg[0]);
	bool is_index = expr_is_compare(flipped) && flipped->arg[0]->type == DT_I64;
	return is_index ? canon_index_compare(ctx, flipped) : flipped;
}

/* Of a condition on indices and its opposite the one with a positive first coefficient, and == of
 * == and !=, whichever arm it takes. */
static const Expr *
canon_select(ExprCtx *ctx, const Expr *e)
{
	const Expr *condition = e->arg[0];
	Poly p;
	bool is_index = expr_is_compare(condition) && condition->arg[0]->type == DT_I64;
	bool is_turned = condition->op == EX_not || (is_index && condition->op == EX_ne);
	if (is_index && condition->op == EX_le && poly_of(condition->arg[1], &p))
		is_turned = p.count > 0 && p.term[0].coef < 0;
	if (!is_turned)
		return e;
	const Expr *opposite =
		condition->op == EX_not ? condition->arg[0] : canon_not(ctx, expr_not(ctx, condition));
	return expr_select(ctx, opposite, e->arg[2], e->arg[1]);
}

/* Constants of a set are one, as they are where the constructors met them together. */
static int
fold_operands(ExprCtx *ctx, ExprOp op, const Expr **operands, int count)
{
	int kept = 0, first = -1;
	for (int i = 0; i < count; i++) {
		bool is_folded = operands[i]->op == EX_const && first >= 0;
		if (is_folded)
			operands[first] = expr_op(ctx, op, (const Expr *[]){operands[first], operands[i]});
		if (operands[i]->op == EX_const && first < 0)
			first = kept;
		if (!is_folded)
			operands[kept++] = operands[i];
	}
	return kept;
}

/* Operands that count as a set, sorted by what they mean. */
static const Expr *
sort_operands(Hasher *hasher, const Expr *e)
{
	const Expr *operands[HASH_OPERANDS];
	Hash128 hashes[HASH_OPERANDS];
	int count = hash_operands(hasher, e, operands);
	count = fold_operands(hasher->ctx, e->op, operands, count);
	for (int i = 0; i < count; i++) {
		const Expr *operand = operands[i];
		Hash128 hash = hash_scalar(hasher, operand);
		int at = i;
		for (; at > 0 && hash_compare(hashes[at - 1], hash) > 0; at--) {
			hashes[at] = hashes[at - 1];
			operands[at] = operands[at - 1];
		}
		hashes[at] = hash;
		operands[at] = operand;
	}
	const Expr *joined = count > 0 ? operands[0] : e;
	for (int i = 1; i < count; i++)
		joined = expr_op(hasher->ctx, e->op, (const Expr *[]){joined, operands[i]});
	return joined;
}

/* Sums of indices in the order of their terms. */
static const Expr *
sort_terms(ExprCtx *ctx, const Expr *e)
{
	Poly p;
	return !e->is_sum && poly_of(e, &p) ? poly_build(ctx, &p) : e;
}

static const Expr *
canon_node(ExprCtx *ctx, const Expr *e, void *arg)
{
	Hasher *hasher = arg;
	if (expr_is_compare(e) && e->arg[0]->type == DT_I64)
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
	default:
		break;
	}
	if (e->argc == 0 || e->op == EX_read)
		return e;
	if (e->type == DT_I64 && !e->has_read && e->op != EX_min && e->op != EX_max)
		return sort_terms(ctx, e);
	return sort_operands(hasher, e);
}

static const Expr *
write_scalar(Hasher *hasher, Facts *facts, const Expr *e)
{
	(void)facts;
	return walk_rewrite(hasher->ctx, e, WALK_TO_SUMS, canon_node, hasher);
}

/* ---- guards ---------------------------------------------------------------------------------- */

typedef VEC(const Expr *) TermList;

static void
split_guard(Arena *arena, const Expr *e, TermList *terms)
{
	if (e->op != EX_and) {
		vec_push(arena, terms, e);
		return;
	}
	split_guard(arena, e->arg[0], terms);
	split_guard(arena, e->arg[1], terms);
}

/* The guard without terms that the box or the others imply; the facts hold those that stay. False
 * where one or two of them rule all points out. */
static const Expr *
simplify_guard(Facts *facts, const Expr *guard)
{
	TermList all = {0}, terms = {0};
	const Expr *joined = NULL;
	split_guard(facts->arena, guard, &all);
	int *from = NEW_N(facts->arena, int, all.count + 1);
	bool *stays = NEW_N(facts->arena, bool, all.count + 1);
	for (int i = 0; i < all.count; i++)
		all.data[i] = expr_simplify(facts, all.data[i]);
	for (int i = 0; i < all.count; i++) {
		if (all.data[i]->op == EX_const && all.data[i]->value.u64)
			continue;
		if (all.data[i]->op == EX_const)
			return all.data[i];
		from[terms.count] = facts_mark(facts);
		vec_push(facts->arena, &terms, all.data[i]);
		facts_assume(facts, all.data[i]);
	}
	from[terms.count] = facts_mark(facts);
	for (int i = terms.count - 1; i >= 0; i--) {
		facts_toggle(facts, from[i], from[i + 1]);
		Certainty certainty = facts_decide(facts, terms.data[i]);
		if (certainty == CERTAIN)
			continue;
		if (certainty == IMPOSSIBLE)
			return expr_bool(facts->ctx, false);
		facts_toggle(facts, from[i], from[i + 1]);
		stays[i] = true;
	}
	for (int i = 0; i < terms.count; i++)
		if (stays[i])
			joined = expr_both(facts->ctx, joined, terms.data[i]);
	return joined;
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
	Hash128 hash = hash_word(0);
	hasher_forget(hasher);
	for (int i = 0; i < stage->nbody; i++)
		hash = hash128_combine(hash, hash_scalar(hasher, stage->body[i]));
	return stage->guard ? hash128_combine(hash, hash_scalar(hasher, stage->guard)) : hash;
}

static bool
is_alone(const Hash128 *colours, int count, int which)
{
	for (int i = 0; i < count; i++)
		if (i != which && hash128_equal(colours[i], colours[which]))
			return false;
	return true;
}

static int
count_colours(const Hash128 *colours, int count)
{
	int distinct = 0;
	for (int i = 0; i < count; i++)
		distinct += is_alone(colours + i, count - i, 0);
	return distinct;
}

/* Refine the colours until no more iterators part. */
static void
refine(Hasher *hasher, const Stage *stage, Hash128 *colours)
{
	int n = stage->nreduce, distinct = count_colours(colours, n);
	Hash128 next[HASH_ITERS], *iters = hasher->iters + stage->nloop;
	for (int round = 0; round < n && distinct < n; round++) {
		for (int i = 0; i < n; i++)
			iters[i] = next[i] = colours[i];
		for (int i = 0; i < n; i++) {
			if (is_alone(colours, n, i))
				continue;
			iters[i] = hash_word(UINT64_C(1) << 43);
			next[i] = hash128_combine(colours[i], terms_hash(hasher, stage));
			iters[i] = colours[i];
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

/* Take the order by colours if its terms have the least hash so far; the only one needs no hash. */
static void
take_order(Ordering *o, const Hash128 *colours, bool is_only)
{
	int order[HASH_ITERS], n = o->stage->nreduce;
	for (int i = 0; i < n; i++) {
		int at = i;
		for (; at > 0 && hash_compare(colours[order[at - 1]], colours[i]) > 0; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (int k = 0; k < n; k++)
		o->hasher->iters[o->stage->nloop + order[k]] = hash_position(o->stage->nloop + k);
	Hash128 hash = is_only ? (Hash128){0} : terms_hash(o->hasher, o->stage);
	if (o->has_best && hash_compare(hash, o->best) >= 0)
		return;
	o->has_best = true;
	o->best = hash;
	for (int k = 0; k < n; k++)
		o->order[k] = order[k];
}

/* Part the iterators that look alike, one at a time. */
static void
search_order(Ordering *o, Hash128 *colours, bool is_only)
{
	int n = o->stage->nreduce, tied = -1;
	refine(o->hasher, o->stage, colours);
	for (int i = 0; i < n; i++)
		if (!is_alone(colours, n, i) && (tied < 0 || hash_compare(colours[i], colours[tied]) < 0))
			tied = i;
	if (tied < 0 || o->tries <= 0) {
		take_order(o, colours, is_only);
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
		search_order(o, parted, false);
	}
}

/* Whether the iterators have to change places for the order. */
static bool
order_iterators(Hasher *hasher, const Stage *stage, int *order)
{
	Ordering o = {.hasher = hasher, .stage = stage, .tries = 60};
	Hash128 colours[HASH_ITERS];
	bool is_moved = false;
	must(stage->nloop + stage->nreduce <= HASH_ITERS);
	for (int i = 0; i < stage->nreduce; i++)
		colours[i] = box_hash(hasher, stage, stage->nloop + i);
	search_order(&o, colours, true);
	hasher_count_positions(hasher);
	for (int k = 0; k < stage->nreduce; k++) {
		order[k] = o.order[k];
		is_moved |= order[k] != k;
	}
	return is_moved;
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
	const Expr *map[HASH_ITERS];
	Iter *iters = arena_memdup(ctx->arena, stage->iters, (size_t)count * sizeof *iters);
	must(count <= HASH_ITERS);
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
	stage->iters = iters;
	stage->nreduce = kept - stage->nloop;
}

static void
permute_iterators(ExprCtx *ctx, Stage *stage, const int *order)
{
	int count = stage->nloop + stage->nreduce;
	const Expr *map[HASH_ITERS];
	Iter *iters = arena_memdup(ctx->arena, stage->iters, (size_t)count * sizeof *iters);
	stage_identity(ctx, stage->nloop, map);
	for (int k = 0; k < stage->nreduce; k++) {
		map[stage->nloop + order[k]] = expr_iter(ctx, stage->nloop + k);
		iters[stage->nloop + k] = stage->iters[stage->nloop + order[k]];
	}
	stage->iters = iters;
	substitute_all(ctx, stage, map);
}

/* The scalars through `change`, in place. */
static void
change_scalars(Stage *stage, const Expr *(*change)(Hasher *, Facts *, const Expr *), Hasher *hasher,
               Facts *facts)
{
	Arena *arena = hasher->ctx->arena;
	int rank = stage->kind == STAGE_scatter ? stage->init->rank : 0;
	const Expr **scalars = NEW_N(arena, const Expr *, stage->nbody + rank);
	for (int i = 0; i < stage->nbody; i++)
		scalars[i] = change(hasher, facts, stage->body[i]);
	for (int i = 0; i < rank; i++)
		scalars[stage->nbody + i] = change(hasher, facts, stage->target[i]);
	stage->body = scalars;
	stage->target = rank > 0 ? scalars + stage->nbody : stage->target;
}

static const Expr *
simplify_scalar(Hasher *hasher, Facts *facts, const Expr *e)
{
	(void)hasher;
	return expr_simplify(facts, e);
}

/* Without a term, whatever the terms would be: sum(0) 0. */
static void
empty_reduction(ExprCtx *ctx, Stage *stage)
{
	const Expr **body = NEW_N(ctx->arena, const Expr *, stage->nbody);
	Iter *iters = NEW_N(ctx->arena, Iter, stage->nloop + 1);
	for (int i = 0; i < stage->nloop; i++)
		iters[i] = stage->iters[i];
	iters[stage->nloop] = (Iter){NULL, dim_const(ctx, 0), dim_const(ctx, 0)};
	for (int i = 0; i < stage->nbody; i++)
		body[i] = expr_number(ctx, stage->body[i]->type, 0);
	stage->iters = iters;
	stage->nreduce = 1;
	stage->body = body;
	stage->guard = NULL;
}

/* The scalars as they are written, for the iterators in their places. */
static void
write_scalars(Hasher *hasher, Stage *stage)
{
	if (stage->guard)
		stage->guard = write_scalar(hasher, NULL, stage->guard);
	change_scalars(stage, write_scalar, hasher, NULL);
}

static void
simplify_stage(Hasher *hasher, Stage *stage)
{
	ExprCtx *ctx = hasher->ctx;
	Arena *scratch = ctx_scratch(ctx);
	ArenaMark mark = arena_mark(scratch);
	Facts *facts = facts_of_stage(ctx, scratch, stage);
	if (stage->guard)
		stage->guard = simplify_guard(facts, stage->guard);
	if (stage->guard && stage->guard->op == EX_const)
		empty_reduction(ctx, stage);
	else
		change_scalars(stage, simplify_scalar, hasher, facts);
	facts_close(facts);
	arena_release(scratch, mark);
}

/* The stage as it is written, a sum's iterators in their order. */
static void
write_stage(Hasher *hasher, Stage *stage, bool is_ordered)
{
	int order[HASH_ITERS];
	write_scalars(hasher, stage);
	if (is_ordered || stage->nreduce < 2 || !order_iterators(hasher, stage, order))
		return;
	permute_iterators(hasher->ctx, stage, order);
	write_scalars(hasher, stage);
}

static bool
has_same_scalars(const Stage *a, const Stage *b)
{
	for (int i = 0; i < a->nbody; i++)
		if (a->body[i] != b->body[i])
			return false;
	return a->guard == b->guard;
}

/* What is proven may depend on the order of iterators and conditions, so it is settled before, as
 * far as it can be; and behind it, because then less may be left. Where the simpler form no longer
 * shows that a read is in range, the stage is only written, or stays as it was. */
static Stage *
write_canon(Hasher *hasher, const Stage *stage)
{
	ExprCtx *ctx = hasher->ctx;
	Stage *canon = stage_clone(ctx, stage);
	int count = stage->nloop + stage->nreduce;
	Iter *iters = arena_memdup(ctx->arena, stage->iters, (size_t)count * sizeof *iters);
	canon->iters = iters;
	for (int i = 0; i < count; i++)
		iters[i].name = NULL;
	bool is_reduction = stage->kind == STAGE_reduce;
	ReduceFreedom freedom = is_reduction ? reduce_info(stage->reduce)->freedom : REDUCE_ordered;
	hasher->is_free = freedom == REDUCE_order_free;
	Stage first = *canon;
	hasher_forget(hasher);
	if (is_reduction) {
		drop_single_iterators(ctx, canon);
		write_stage(hasher, canon, freedom == REDUCE_ordered);
	}
	Stage written = *canon;
	simplify_stage(hasher, canon);
	if (!is_reduction || !has_same_scalars(canon, &written))
		write_stage(hasher, canon, freedom == REDUCE_ordered);
	if (stage_reads_are_certain(ctx, canon))
		return canon;
	*canon = written;
	if (!is_reduction)
		write_stage(hasher, canon, true);
	if (!stage_reads_are_certain(ctx, canon))
		*canon = first;
	return canon;
}

/* Where a read goes, the labels of the others change, and with them the order. */
Stage *
canon_stage(Hasher *hasher, const Stage *stage)
{
	hasher_label(hasher, stage);
	Stage *canon = write_canon(hasher, stage);
	while (hasher_relabel(hasher, canon))
		canon = write_canon(hasher, canon);
	return canon;
}

Stage *
expr_canon(ExprCtx *ctx, const Stage *stage)
{
	Hasher hasher;
	hasher_open(&hasher, ctx);
	Stage *canon = canon_stage(&hasher, stage);
	hasher_close(&hasher);
	return canon;
}
