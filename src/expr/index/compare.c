/* Comparisons of indices that nothing decides, in fewer or smaller numbers.
 *
 *     i*16 + b < 160   =>   i < 10                where 0 <= b < 16
 *     i*3 < 10         =>   i < 4
 *     i*3 == 12        =>   i == 4,   i*3 == 10   =>   false
 *
 * i/3 < 4 stays: it bounds the quotient, which is what stands in a read that it guards.
 */
#include "expr/index/facts.h"

/* p = g*blocks + rest, 0 <= rest < g: p >= 0 where blocks >= 0. */
static bool
count_blocks(Facts *facts, const Poly *p, int64_t g, Poly *blocks)
{
	Poly rest;
	int64_t first, last, constant = poly_constant(p);
	poly_const(&rest, 0);
	poly_const(blocks, 0);
	for (int i = 0; i < p->count; i++) {
		Term t = p->term[i];
		bool is_block = t.coef % g == 0;
		t.coef /= is_block ? g : 1;
		if (t.natom && !poly_add_term(is_block ? blocks : &rest, &t))
			return false;
	}
	Range range = poly_interval(facts, &rest);
	if (blocks->count == 0 || range.lo == INT64_MIN || range.hi == INT64_MAX ||
	    __builtin_add_overflow(range.lo, constant, &first) ||
	    __builtin_add_overflow(range.hi, constant, &last))
		return false;
	int64_t whole = first / g - (first % g < 0), whole_last = last / g - (last % g < 0);
	return whole == whole_last && poly_add_term(blocks, &(Term){.coef = whole});
}

/* p > 0 */
static const Expr *
positive(ExprCtx *ctx, const Poly *p)
{
	const Expr *sides[2];
	return poly_split_signs(ctx, p, sides) ? expr_lt(ctx, sides[1], sides[0]) : NULL;
}

/* p >= 0 where what lies within a block decides nothing. */
static const Expr *
compare_blocks(Facts *facts, const Poly *p)
{
	Poly blocks;
	for (int i = 0; i < p->count; i++) {
		int64_t g = p->term[i].coef < 0 ? -p->term[i].coef : p->term[i].coef;
		if (g < 2 || p->term[i].natom == 0 || !count_blocks(facts, p, g, &blocks))
			continue;
		return poly_add_term(&blocks, &(Term){.coef = 1}) ? positive(facts->ctx, &blocks) : NULL;
	}
	return NULL;
}

static int64_t
common_divisor(const Poly *p)
{
	int64_t g = 0;
	for (int i = 0; i < p->count; i++)
		for (int64_t rest = p->term[i].natom ? p->term[i].coef : 0; rest;) {
			int64_t next = rest == -1 ? 0 : g % rest;
			g = rest;
			rest = next;
		}
	return g < 0 && g > INT64_MIN ? -g : g;
}

/* g*a + k == 0, for the greatest g that there is: a + k/g == 0, or never. */
static const Expr *
compare_multiples(ExprCtx *ctx, const Expr *e)
{
	Poly p;
	const Expr *sides[2];
	bool is_single = e->arg[0]->op == EX_iter && e->arg[1]->op == EX_const;
	if (is_single || !poly_gap(e->arg[1], e->arg[0], 0, &p))
		return e;
	int64_t g = common_divisor(&p);
	if (g < 2)
		return e;
	if (poly_constant(&p) % g != 0)
		return expr_bool(ctx, e->op == EX_ne);
	for (int i = 0; i < p.count; i++)
		p.term[i].coef /= g;
	if (!poly_split_signs(ctx, &p, sides))
		return e;
	bool is_left = expr_is_const(sides[0]); /* the number stands right */
	return expr_op(ctx, (ExprOp)e->op, (const Expr *[]){sides[is_left], sides[!is_left]});
}

const Expr *
index_compare(Facts *facts, const Expr *e)
{
	bool is_strict = e->op == EX_lt || e->op == EX_gt, is_below = e->op == EX_lt || e->op == EX_le;
	Poly p;
	if (!is_index_compare(e) || !e->arg[0]->is_tame || !e->arg[1]->is_tame)
		return e;
	if (e->op == EX_eq || e->op == EX_ne)
		return compare_multiples(facts->ctx, e);
	if (e->op < EX_lt || e->op > EX_ge ||
	    !poly_gap(e->arg[!is_below], e->arg[is_below], -is_strict, &p))
		return e;
	const Expr *other = compare_blocks(facts, &p);
	return other ? other : e;
}
