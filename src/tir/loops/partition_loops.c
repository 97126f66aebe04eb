/* PartitionLoops: iterations that differ in how far the loops in them go are loops of their own.
 *
 *     for io in 4                                 for io in 3
 *       for ii in min(32, 100 - io*32)     =>       for ii in 32
 *         C[io*32 + ii] = …                           C[io*32 + ii] = …
 *                                                 for ii in 4
 *                                                   C[ii + 96] = …
 *
 * A bound that is the smaller or the larger of two sums is one of them before some iteration and
 * the other one from it on. There the loop is cut: within the parts bounds are simpler, often
 * constants, so that lanes need no tail.
 *
 * needs    nothing
 * keeps    the order of the iterations
 * breaks   nothing
 * not for  loops that are cut among workers, or long bodies, which are copied
 */
#include "expr/index/poly.h"
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

enum { MAX_STATEMENTS = 64, MAX_PARTS = 3, MAX_ITERATIONS = 1 << 20, UNKNOWN = 2 };

/* The first iteration at which a and b change places, a - b = step*var + rest; INT64_MIN: none. */
static int64_t
turn(const Expr *a, const Expr *b, const Var *var)
{
	Poly gap;
	int64_t rest;
	if (!poly_gap(b, a, 0, &gap))
		return INT64_MIN;
	rest = poly_constant(&gap);
	const Term *term = &gap.term[0];
	if (gap.count != 1 + (rest != 0) || term->natom != 1 || term->atom[0]->op != EX_var ||
	    term->atom[0]->var != var || rest == INT64_MIN || term->coef == INT64_MIN)
		return INT64_MIN;
	int64_t step = term->coef < 0 ? -term->coef : term->coef;
	int64_t distance = term->coef < 0 ? rest : -rest; /* from 0 to where it is 0, in steps */
	return distance / step + (distance % step > 0);
}

typedef struct Search {
	Kernel *kernel;
	const Stmt *loop;
	int64_t lo, hi, at; /* its bounds; the first cut found within */
} Search;

/* Whether a is below b in iteration i, -1, the same, 0, or above, 1; UNKNOWN where that depends on
 * more than the loop. */
static int
compare_at(const Search *search, const Expr *a, const Expr *b, int64_t i)
{
	const Expr *at = expr_i64(search->kernel->ctx, i);
	int64_t x, y;
	if (!expr_as_i64(expr_replace_var(a, search->loop->var, at), &x) ||
	    !expr_as_i64(expr_replace_var(b, search->loop->var, at), &y))
		return UNKNOWN;
	return (x > y) - (x < y);
}

/* The same as turn() by halving, for sums of quotients. Where both are equal, the loop goes on with
 * the one that is a number. */
static int64_t
find_by_halving(const Search *search, const Expr *bound)
{
	const Expr *a = bound->arg[0], *b = bound->arg[1];
	int64_t lo = search->lo, hi = search->hi - 1;
	int first = compare_at(search, a, b, lo), last = compare_at(search, a, b, hi);
	if (first == UNKNOWN || first == last || hi - lo > MAX_ITERATIONS)
		return INT64_MIN;
	bool is_first_a = (bound->op == EX_min) == (first < 0), is_last_a = !is_first_a;
	if (first == 0)
		is_last_a = (bound->op == EX_min) == (last < 0);
	bool goes_on = first != 0 && expr_is_const(is_first_a ? a : b);
	if ((goes_on && last == 0) || (first == 0 && expr_is_const(is_last_a ? a : b)))
		return INT64_MIN;
	while (hi - lo > 1) {
		int64_t middle = lo + (hi - lo) / 2;
		int now = compare_at(search, a, b, middle);
		*(now == first || (goes_on && now == 0) ? &lo : &hi) = middle;
	}
	return hi;
}

static void
find_turn(Search *search, const Expr *bound)
{
	for (ExprWalk walk = expr_walk(bound); expr_step(&walk);) {
		const Expr *e = walk.e;
		if (e->type != DT_I64 || (e->op != EX_min && e->op != EX_max))
			continue;
		int64_t at = turn(e->arg[0], e->arg[1], search->loop->var);
		if (at == INT64_MIN)
			at = find_by_halving(search, e);
		if (at > search->lo && at < search->hi && at < search->at)
			search->at = at;
	}
}

/* Where to cut the loop; its end where nothing in it calls for that. */
static int64_t
find_cut(Kernel *kernel, const Stmt *loop)
{
	Search search = {.kernel = kernel, .loop = loop};
	int statements = 0;
	if (loop->bind != BIND_SERIAL || !expr_as_i64(loop->lo, &search.lo) ||
	    !expr_as_i64(loop->hi, &search.hi))
		return INT64_MAX;
	search.at = INT64_MAX;
	for (StmtWalk walk = stmt_walk(kernel->arena, loop->body); stmt_step(&walk); statements++)
		if (walk.stmt->kind == STMT_FOR) {
			find_turn(&search, walk.stmt->lo);
			find_turn(&search, walk.stmt->hi);
		}
	return statements <= MAX_STATEMENTS ? search.at : INT64_MAX;
}

static bool
partition(Kernel *kernel, Stmt *list)
{
	bool changed = false;
	for (Stmt *stmt = list; stmt; stmt = stmt->next) {
		changed |= partition(kernel, stmt->body) | partition(kernel, stmt->other);
		for (int parts = 1; stmt->kind == STMT_FOR && parts < MAX_PARTS; parts++) {
			int64_t at = find_cut(kernel, stmt);
			if (at == INT64_MAX)
				break;
			Stmt *next = stmt->next;
			stmt->next = NULL;
			Stmt *behind = stmt_copy(kernel, stmt, NULL, NULL);
			stmt->hi = behind->lo = expr_i64(kernel->ctx, at);
			stmt->next = behind;
			behind->next = next;
			stmt = behind;
			changed = true;
		}
	}
	return changed;
}

bool
pass_PartitionLoops(Kernel *kernel, PassContext *context)
{
	(void)context;
	bool changed = partition(kernel, kernel->body);
	if (changed)
		tir_simplify(kernel);
	return changed;
}
