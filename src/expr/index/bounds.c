/* Facts and intervals.
 *
 * A fact is a bound of an iterator, variable or symbol (bounds may be dims), an index expression
 * known to be >= 0, or any other condition known to hold. A box that is not empty is itself a fact:
 * inside 0 <= i < N, N is at least 1.
 */

#include "expr/index/facts.h"

const Range range_all = {INT64_MIN, INT64_MAX};

/* ---- intervals ------------------------------------------------------------------------------- */

static int64_t
add_end(int64_t a, int64_t b, int64_t infinite)
{
	int64_t sum;
	if (a == infinite || b == infinite || __builtin_add_overflow(a, b, &sum))
		return infinite;
	return sum;
}

Range
range_add(Range a, Range b)
{
	return (Range){add_end(a.lo, b.lo, INT64_MIN), add_end(a.hi, b.hi, INT64_MAX)};
}

static bool
is_infinite(int64_t end)
{
	return end == INT64_MIN || end == INT64_MAX;
}

/* Product of two ends, with infinities. */
static int64_t
mul_end(int64_t a, int64_t b)
{
	int64_t product;
	if (a == 0 || b == 0)
		return 0;
	if (is_infinite(a) || is_infinite(b) || __builtin_mul_overflow(a, b, &product))
		return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
	return product;
}

Range
range_mul(Range a, Range b)
{
	int64_t ends[4] = {mul_end(a.lo, b.lo), mul_end(a.lo, b.hi), mul_end(a.hi, b.lo),
	                   mul_end(a.hi, b.hi)};
	Range out = {ends[0], ends[0]};
	for (int i = 1; i < 4; i++) {
		out.lo = ends[i] < out.lo ? ends[i] : out.lo;
		out.hi = ends[i] > out.hi ? ends[i] : out.hi;
	}
	return out;
}

Range
range_scale(Range a, int64_t by)
{
	return range_mul(a, (Range){by, by});
}

static int64_t
floor_quotient(int64_t a, int64_t b)
{
	return is_infinite(a) ? a : a / b - (a % b < 0);
}

/* For divisors that are positive; x/0 = 0 lies between as well. What is assumed may be impossible,
 * and then a divisor is nothing at all. */
static Range
range_floordiv(Range a, Range b)
{
	if (b.lo < 1 || is_infinite(b.lo) || b.hi < b.lo)
		return range_all;
	Range out = {a.lo >= 0 ? 0 : floor_quotient(a.lo, b.lo),
	             a.hi < 0 ? -1 : floor_quotient(a.hi, b.lo)};
	if (!is_infinite(b.hi) && a.lo > 0)
		out.lo = floor_quotient(a.lo, b.hi);
	if (!is_infinite(b.hi) && a.hi < 0)
		out.hi = floor_quotient(a.hi, b.hi);
	return out;
}

static Range
range_floormod(Range a, Range b)
{
	if (b.lo < 1)
		return range_all;
	if (a.lo >= 0 && a.hi < b.lo)
		return a;
	Range out = {0, is_infinite(b.hi) ? INT64_MAX : b.hi - 1};
	if (a.lo >= 0 && a.hi < out.hi)
		out.hi = a.hi;
	return out;
}

/* Of what is not negative; a count that is too large gives 0. */
static Range
range_shr(Range a, Range by)
{
	if (a.lo < 0)
		return range_all;
	int least = by.lo < 0 || by.lo > 62 ? 0 : (int)by.lo;
	return (Range){0, is_infinite(a.hi) ? a.hi : a.hi >> least};
}

static Range
range_union(Range a, Range b)
{
	return (Range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static Range
range_minmax(Range a, Range b, bool is_max)
{
	bool first_lo = (a.lo > b.lo) == is_max, first_hi = (a.hi > b.hi) == is_max;
	return (Range){first_lo ? a.lo : b.lo, first_hi ? a.hi : b.hi};
}

static Range
type_range(DType type)
{
	int bits = dtype_bits(type);
	if (type == DT_BOOL)
		return (Range){0, 1};
	if (!dtype_is_integer(type) || bits == 64)
		return dtype_class(type) == DC_U ? (Range){0, INT64_MAX} : range_all;
	int64_t top = INT64_C(1) << (bits - dtype_is_signed(type));
	return (Range){dtype_is_signed(type) ? -top : 0, top - 1};
}

/* ---- what e can be --------------------------------------------------------------------------- */

static Range
bound_interval(Facts *facts, const Expr *atom, Range range)
{
	for (int i = 0; i < facts->list.count; i++) {
		Fact fact = facts->list.data[i];
		if (fact.kind != FACT_BOUND || fact.atom != atom)
			continue;
		int64_t lo = fact.lo ? facts_interval(facts, fact.lo).lo : INT64_MIN;
		int64_t hi = fact.last ? facts_interval(facts, fact.last).hi : INT64_MAX;
		range.lo = lo > range.lo ? lo : range.lo;
		range.hi = hi < range.hi ? hi : range.hi;
	}
	return range;
}

static Range
leaf_interval(Facts *facts, const Expr *e)
{
	if (e->op == EX_const)
		return dtype_is_float(e->type) ? range_all : (Range){e->value.i64, e->value.i64};
	Range range = type_range(e->type);
	if (e->op == EX_symbol)
		range = (Range){e->symbol->lo, e->symbol->hi};
	if (e->op == EX_var && e->var->lo)
		range.lo = facts_interval(facts, e->var->lo).lo;
	if (e->op == EX_var && e->var->hi)
		range.hi = add_end(facts_interval(facts, e->var->hi).hi, -1, INT64_MAX);
	return e->op == EX_read ? range : bound_interval(facts, e, range);
}

static Range
operation_interval(Facts *facts, const Expr *e)
{
	Range a = facts_interval(facts, e->arg[e->op == EX_select]);
	Range b = e->argc > 1 ? facts_interval(facts, e->arg[e->op == EX_select ? 2 : 1]) : a;
	switch (e->op) {
	case EX_add:
		return range_add(a, b);
	case EX_sub:
		return range_add(a, range_scale(b, -1));
	case EX_neg:
		return range_scale(a, -1);
	case EX_mul:
		return range_mul(a, b);
	case EX_floordiv:
		return range_floordiv(a, b);
	case EX_floormod:
		return range_floormod(a, b);
	case EX_shr:
		return range_shr(a, b);
	case EX_min:
	case EX_max:
		return range_minmax(a, b, e->op == EX_max);
	case EX_select:
		return range_union(a, b);
	case EX_at:
		return (Range){0, add_end(b.hi, -1, INT64_MAX)};
	case EX_cast:
		return dtype_is_float(e->arg[0]->type) ? range_all : a;
	default:
		return range_all;
	}
}

static bool
is_within(Range a, Range b)
{
	return a.lo >= b.lo && a.hi <= b.hi;
}

enum { INTERVAL_DEPTH = 200 };

/* Data wraps: an interval that touches an end of its type says nothing, unless it is an index. */
static Range
compute_interval(Facts *facts, const Expr *e)
{
	if (e->argc == 0 || e->op == EX_read)
		return leaf_interval(facts, e);
	Range all = type_range(e->type);
	if (!dtype_is_integer(e->type) && e->type != DT_BOOL)
		return range_all;
	Range range = operation_interval(facts, e);
	bool is_sum = e->op == EX_add || e->op == EX_sub || e->op == EX_neg || e->op == EX_mul;
	if (e->type == DT_I64 && e->is_tame) /* a guard may say more of an atom than its operands */
		return is_sum ? range : bound_interval(facts, e, range);
	return is_within(range, all) && range.lo != INT64_MIN && range.hi != INT64_MAX ? range : all;
}

Range
facts_interval(Facts *facts, const Expr *e)
{
	uint64_t index;
	if (e->op == EX_const)
		return leaf_interval(facts, e);
	if (memo_find(facts->ranges, e, &index))
		return facts->intervals.data[index];
	Range range = type_range(e->type);
	int depth = facts->ranges->stack.count; /* which only counts the nesting */
	int outside = depth > 0 ? 0 : budget_begin(facts->ctx, BUDGET_interval);
	if (depth < INTERVAL_DEPTH && budget_take(facts->ctx)) {
		facts->ranges->stack.count++;
		range = compute_interval(facts, e);
		facts->ranges->stack.count--;
		memo_set(facts->ranges, e, (uint64_t)facts->intervals.count);
		vec_push(facts->arena, &facts->intervals, range);
	}
	if (depth == 0)
		budget_end(facts->ctx, outside);
	return range;
}

/* Where facts leave an atom no value there are no points, and 0 is as right as any other: a fact
 * more never proves less. */
Range
poly_interval(Facts *facts, const Poly *p)
{
	Range sum = {0, 0};
	for (int i = 0; i < p->count; i++) {
		Range product = {p->term[i].coef, p->term[i].coef};
		for (int k = 0; k < p->term[i].natom; k++) {
			Range range = facts_interval(facts, p->term[i].atom[k]);
			if (range.lo > range.hi)
				return (Range){0, 0};
			product = range_mul(product, range);
		}
		sum = range_add(sum, product);
	}
	return sum;
}

bool
facts_range(Facts *facts, const Expr *e, int64_t *lo, int64_t *hi)
{
	Poly p;
	Range range = facts_interval(facts, e);
	if (e->is_tame && poly_of(e, &p)) { /* like terms joined: often narrower */
		Range joined = poly_interval(facts, &p);
		range.lo = joined.lo > range.lo ? joined.lo : range.lo;
		range.hi = joined.hi < range.hi ? joined.hi : range.hi;
	}
	*lo = range.lo;
	*hi = range.hi;
	return !is_infinite(range.lo) && !is_infinite(range.hi);
}

/* ---- adding facts ---------------------------------------------------------------------------- */

static void
forget_ranges(Facts *facts)
{
	memo_clear(facts->ranges);
	facts->intervals.count = 0;
}

/* Fill in the keys from this fact on: what is off, and what proofs do not see, is not in them. */
static void
set_keys(Facts *facts, int from)
{
	for (int i = from; i < facts->list.count; i++) {
		Fact *fact = &facts->list.data[i];
		fact->key = i > 0 ? fact[-1].key : 0;
		if (fact->kind != FACT_BOUND && fact->kind != FACT_KNOWN)
			continue;
		const Expr *said[] = {fact->atom, fact->lo, fact->last};
		fact->key = hash_mix(fact->key, fact->kind + 1u);
		for (int k = 0; k < 3; k++)
			fact->key = hash_mix(fact->key * 3, said[k] ? said[k]->hash : 0);
	}
}

static void
add_fact(Facts *facts, FactKind kind, const Expr *atom, const Expr *lo, const Expr *last)
{
	vec_push(facts->arena, &facts->list, (Fact){kind, atom, lo, last, NULL, 0});
	set_keys(facts, facts->list.count - 1);
	forget_ranges(facts);
}

/* A product of what is never negative is positive only if every factor is. */
static void
add_positive_factors(Facts *facts, const Term *t)
{
	for (int i = 0; i < t->natom; i++)
		if (facts_interval(facts, t->atom[i]).lo < 0)
			return;
	for (int i = 0; i < t->natom && t->coef > 0; i++)
		if (facts_interval(facts, t->atom[i]).lo == 0)
			add_fact(facts, FACT_BOUND, t->atom[i], expr_i64(facts->ctx, 1), NULL);
}

static void add_known(Facts *facts, const Expr *a, const Expr *b, int64_t extra);

/* A sum with quotients is no less than 0: nor are those symbols 0 with which it would be. */
static void
add_positive_symbols(Facts *facts, const Poly *p, const Expr *sum)
{
	bool has_quotient = false;
	for (int i = 0; i < p->count; i++)
		for (int k = 0; k < p->term[i].natom; k++)
			has_quotient |= p->term[i].atom[k]->op == EX_floordiv;
	for (ExprWalk walk = expr_walk(has_quotient ? sum : NULL); expr_step(&walk);) {
		const Expr *zero = expr_i64(facts->ctx, 0), *symbol = walk.e;
		if (symbol->op == EX_symbol && facts_interval(facts, symbol).lo == 0 &&
		    facts_interval(facts, expr_replace(facts->ctx, sum, symbol, zero)).hi < 0)
			add_fact(facts, FACT_BOUND, symbol, expr_i64(facts->ctx, 1), NULL);
	}
}

/* Where a quotient is at least `least`, so is what was divided at least so many times the divisor:
 * a loop over (N+7)/8 pieces runs where N is 1 or more. */
static void
add_dividend(Facts *facts, const Expr *quotient, int64_t least)
{
	int64_t divisor, product;
	if (quotient->op == EX_floordiv && expr_as_i64(quotient->arg[1], &divisor) && divisor > 1 &&
	    !__builtin_mul_overflow(least, divisor, &product))
		add_known(facts, expr_i64(facts->ctx, product), quotient->arg[0], 0);
}

/* a <= b + extra. Where that is of a symbol or iterator and a constant it bounds it. */
static void
add_known(Facts *facts, const Expr *a, const Expr *b, int64_t extra)
{
	Poly p;
	int64_t constant;
	if (!a->is_tame || !b->is_tame || !poly_gap(a, b, extra, &p) || poly_is_const(&p, &constant))
		return;
	if (p.count == 2 && constant < 0)
		add_positive_factors(facts, &p.term[0]);
	const Term *t = &p.term[0];
	bool is_single = p.count == 1 + (constant != 0) && t->natom == 1;
	if (is_single && (t->coef == 1 || t->coef == -1) && constant != INT64_MIN) {
		bool is_lower = t->coef == 1;
		const Expr *end = expr_i64(facts->ctx, is_lower ? -constant : constant);
		add_fact(facts, FACT_BOUND, t->atom[0], is_lower ? end : NULL, is_lower ? NULL : end);
		if (is_lower)
			add_dividend(facts, t->atom[0], -constant);
	} else {
		const Expr *sum = poly_build(facts->ctx, &p);
		if (constant < 0)
			add_positive_symbols(facts, &p, sum);
		add_fact(facts, FACT_KNOWN, sum, NULL, NULL);
		Term *first = NEW(facts->arena, Term);
		*first = p.term[0];
		facts->list.data[facts->list.count - 1].first = first;
	}
}

/* Each stage of a model asks, and dims assumed equal are facts of all of them: who knows these from
 * a question before is asked again. */
Facts *
facts_new(ExprCtx *ctx, Arena *arena)
{
	bool is_again = ctx->closed_facts && arena == ctx->arena;
	Facts *facts = is_again ? ctx->closed_facts : NEW(arena, Facts);
	if (is_again)
		ctx->closed_facts = facts->next;
	facts->ctx = ctx;
	facts->arena = arena;
	facts->divisors_nonzero = false;
	facts->forgotten = ctx->forgotten;
	facts->ranges = memo_take(ctx);
	for (; facts->zeros < ctx->zeros.count; facts->zeros++) {
		const Expr *zero = ctx->zeros.data[facts->zeros];
		add_known(facts, expr_i64(ctx, 0), zero, 0);
		add_known(facts, zero, expr_i64(ctx, 0), 0);
	}
	facts->known = facts->list.count;
	return facts;
}

void
facts_close(Facts *facts)
{
	ExprCtx *ctx = facts->ctx;
	memo_give(ctx, facts->ranges);
	facts->ranges = NULL;
	if (facts->arena != ctx->arena || facts->forgotten != ctx->forgotten)
		return;
	facts->list.count = facts->known;
	facts->intervals.count = 0;
	facts->next = ctx->closed_facts;
	ctx->closed_facts = facts;
}

static void
add_box(Facts *facts, const Expr *atom, const Expr *lo, const Expr *hi)
{
	ExprCtx *ctx = facts->ctx;
	int64_t end;
	bool is_number = hi && expr_as_i64(hi, &end) && end > INT64_MIN;
	const Expr *last = is_number ? expr_i64(ctx, end - 1)
	                   : hi      ? expr_sub(ctx, hi, expr_i64(ctx, 1))
	                             : NULL;
	add_fact(facts, FACT_BOUND, atom, lo, last);
	if (lo && last && !(is_number && lo->op == EX_const))
		add_known(facts, lo, last, 0);
}

void
facts_iter(Facts *facts, int position, const Expr *lo, const Expr *hi)
{
	add_box(facts, expr_iter(facts->ctx, position), lo, hi);
}

/* Below min(a, b) is below a and below b (a tile's last piece). */
static void
assume_below(Facts *facts, const Expr *e, const Expr *hi)
{
	if (hi->op == EX_min) {
		assume_below(facts, e, hi->arg[0]);
		assume_below(facts, e, hi->arg[1]);
	} else
		facts_assume(facts, expr_lt(facts->ctx, e, hi));
}

/* From max(a, b) on is from a on and from b on (a window cut by a border). */
static void
assume_above(Facts *facts, const Expr *e, const Expr *lo)
{
	if (lo->op == EX_max) {
		assume_above(facts, e, lo->arg[0]);
		assume_above(facts, e, lo->arg[1]);
	} else
		facts_assume(facts, expr_le(facts->ctx, lo, e));
}

void
facts_var(Facts *facts, const Var *var, const Expr *lo, const Expr *hi)
{
	const Expr *e = expr_var(facts->ctx, var);
	add_box(facts, e, lo, hi);
	/* what lies between two variables is no box: r in 21-p is p + r < 21 too */
	if (lo && (lo->op == EX_max || lo->has_var))
		assume_above(facts, e, lo);
	if (hi && (hi->op == EX_min || hi->has_var))
		assume_below(facts, e, hi);
}

bool
is_index_compare(const Expr *e)
{
	return expr_is_compare(e) && e->arg[0]->type == DT_I64 && e->arg[0]->is_tame &&
	       e->arg[1]->is_tame;
}

static void
assume_compare(Facts *facts, const Expr *e, bool holds)
{
	const Expr *a = e->arg[0], *b = e->arg[1];
	ExprOp op = holds ? (ExprOp)e->op : scalar_opposite(e->op);
	if (op == EX_lt || op == EX_le || op == EX_eq)
		add_known(facts, a, b, -(op == EX_lt));
	if (op == EX_gt || op == EX_ge || op == EX_eq)
		add_known(facts, b, a, -(op == EX_gt));
}

static void
assume(Facts *facts, const Expr *e, bool holds)
{
	if (e->op == EX_const)
		return;
	if (e->op == EX_not) {
		assume(facts, e->arg[0], !holds);
	} else if (e->op == EX_ne) { /* one form of what is known */
		assume(facts, expr_op(facts->ctx, EX_eq, e->arg), !holds);
	} else if (e->op == (holds ? EX_and : EX_or)) {
		assume(facts, e->arg[0], holds);
		assume(facts, e->arg[1], holds);
	} else {
		add_fact(facts, FACT_TRUE, holds ? e : expr_not(facts->ctx, e), NULL, NULL);
		if (is_index_compare(e))
			assume_compare(facts, e, holds);
	}
}

void
facts_assume(Facts *facts, const Expr *condition)
{
	must(condition->type == DT_BOOL);
	assume(facts, condition, true);
}

int
facts_mark(const Facts *facts)
{
	return facts->list.count;
}

void
facts_release(Facts *facts, int mark)
{
	if (facts->list.count == mark)
		return;
	facts->list.count = mark;
	forget_ranges(facts);
}

void
facts_toggle(Facts *facts, int from, int to)
{
	for (int i = from; i < to; i++)
		facts->list.data[i].kind = (FactKind)(facts->list.data[i].kind ^ FACT_OFF);
	set_keys(facts, from);
	forget_ranges(facts);
}
