/* The simplifier against evaluation: random scalars under random facts (boxes, some as long as a
 * symbol or another iterator, and conditions assumed to hold) have the same value before and after,
 * wherever the facts hold, and proofs and ranges say nothing that is not so. None that is in normal
 * form costs more when it is simplified again, and none at all where expr_lighten() is asked.
 *
 * SIMPLIFY_EXPRESSIONS says how many; .ci/run asks for 10^6.
 */
#include <stdlib.h>
#include <string.h>

#include "expr/index/text.h"
#include "expr/scalar/ctx.h"
#include "random_number.h"
#include "unit.h"

enum { ITERS = 4, SYMBOLS = 2, ASSUMED = 3, POINTS = 8, BATCH = 20000, PER_CTX = 100 };

static Arena *arena;
static ExprCtx *ctx;
static uint64_t seed;
static int most = INT32_MAX; /* steps of a question */
static int decided;          /* conditions */
static const char *const symbol_names[SYMBOLS] = {"A", "B"};

static int
pick(int below)
{
	return (int)random_below(&seed, (unsigned)below);
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct Point {
	int64_t iter[ITERS], symbol[SYMBOLS];
} Point;

static int64_t value_at(const Expr *e, const Point *at);

static int64_t
operation_at(const Expr *e, const Point *at)
{
	Scalar args[3];
	if (e->op == EX_select)
		return value_at(e->arg[value_at(e->arg[0], at) ? 1 : 2], at);
	if (e->op == EX_and || e->op == EX_or) {
		int64_t left = value_at(e->arg[0], at);
		return left == (e->op == EX_or) ? left : value_at(e->arg[1], at);
	}
	for (int i = 0; i < e->argc; i++)
		args[i] = (Scalar){.i64 = value_at(e->arg[i], at)};
	Scalar result = scalar_eval((ExprOp)e->op, (DType)e->type, args, (DType)e->arg[0]->type);
	return e->type == DT_BOOL ? result.u64 != 0 : result.i64;
}

static int64_t
value_at(const Expr *e, const Point *at)
{
	if (e->op == EX_const)
		return e->value.i64;
	if (e->op == EX_iter)
		return at->iter[e->iter];
	if (e->op == EX_symbol)
		return at->symbol[e->symbol->name[0] - 'A'];
	return operation_at(e, at);
}

/* ---- scalars --------------------------------------------------------------------------------- */

static const Expr *
random_leaf(void)
{
	int kind = pick(6);
	return kind == 0   ? expr_i64(ctx, pick(14) - 3)
	       : kind == 1 ? dim_symbol(ctx, symbol_names[pick(SYMBOLS)])
	                   : expr_iter(ctx, pick(ITERS));
}

static const Expr *random_condition(int depth);

/* k*a + b / c and the like, as indices are. */
static const Expr *
random_index(int depth)
{
	static const ExprOp ops[] = {EX_add, EX_sub, EX_add, EX_mul, EX_min, EX_max};
	int kind = depth == 0 ? 0 : pick(10);
	if (kind < 2)
		return random_leaf();
	const Expr *a = random_index(depth - 1);
	if (kind < 5)
		return expr_op(ctx, pick(2) ? EX_floordiv : EX_floormod,
		               (const Expr *[]){a, pick(4) ? expr_i64(ctx, pick(9) + 1) : random_leaf()});
	if (kind == 5)
		return expr_mul(ctx, a, expr_i64(ctx, pick(10) - 2));
	if (kind == 6)
		return expr_select(ctx, random_condition(1), a, random_index(depth - 1));
	return expr_op(ctx, ops[pick(countof(ops))], (const Expr *[]){a, random_index(depth - 1)});
}

static const Expr *
random_condition(int depth)
{
	static const ExprOp ops[] = {EX_lt, EX_le, EX_gt, EX_ge, EX_eq, EX_ne};
	int kind = depth == 0 ? 5 : pick(6);
	if (kind < 2) {
		const Expr *a = random_condition(depth - 1), *b = random_condition(depth - 1);
		return kind ? expr_and(ctx, a, b) : expr_or(ctx, a, b);
	}
	if (kind == 2)
		return expr_not(ctx, random_condition(depth - 1));
	const Expr *right = pick(2) ? expr_i64(ctx, pick(20) - 4) : random_index(1);
	return expr_op(ctx, ops[pick(countof(ops))], (const Expr *[]){random_index(2), right});
}

/* Larger than what expr_lighten() takes apart, with operands that stand in it twice. */
static const Expr *
random_sum(void)
{
	const Expr *twice = random_index(3), *sum = twice;
	for (int count = pick(40); count > 0; count--)
		sum = expr_add(
			ctx, sum, pick(3) ? random_index(3) : expr_mul(ctx, twice, expr_i64(ctx, pick(9) - 4)));
	return sum;
}

/* ---- facts ----------------------------------------------------------------------------------- */

typedef struct Box {
	int64_t lo[ITERS], extent[ITERS];
	int end[ITERS]; /* a symbol's number; -1: the extent is one */
} Box;

typedef struct Known {
	Box box;
	Point point; /* one at which all of them hold */
	Facts *facts;
	const Expr *assumed[ASSUMED];
	int count;
} Known;

static void
random_point(const Box *box, const int64_t *symbol, Point *point)
{
	memcpy(point->symbol, symbol, sizeof point->symbol);
	for (int i = 0; i < ITERS; i++)
		point->iter[i] = box->lo[i] + pick((int)box->extent[i]);
}

static void
random_facts(Known *known)
{
	Box *box = &known->box;
	int64_t symbol[SYMBOLS] = {pick(6) + 1, pick(6) + 1};
	known->facts = facts_new(ctx, arena);
	known->count = pick(ASSUMED + 1);
	for (int i = 0; i < ITERS; i++) {
		box->end[i] = pick(2 + SYMBOLS) - 2;
		box->lo[i] = box->end[i] < 0 ? pick(5) - 2 : 0;
		box->extent[i] = box->end[i] < 0 ? pick(9) + 1 : symbol[box->end[i]];
		facts_iter(known->facts, i, expr_i64(ctx, box->lo[i]),
		           box->end[i] < 0 ? expr_i64(ctx, box->lo[i] + box->extent[i])
		                           : dim_symbol(ctx, symbol_names[box->end[i]]));
	}
	random_point(box, symbol, &known->point);
	for (int i = 0; i < known->count; i++) {
		const Expr *condition = random_condition(1);
		if (!value_at(condition, &known->point))
			condition = expr_not(ctx, condition);
		known->assumed[i] = condition;
		facts_assume(known->facts, condition);
	}
}

static bool
all_hold(const Known *known, const Point *point)
{
	for (int i = 0; i < known->count; i++)
		if (!value_at(known->assumed[i], point))
			return false;
	return true;
}

static const char *
text_of(const Expr *e)
{
	static const char *const names[ITERS] = {"h", "i", "j", "k"};
	Buf buf = {.arena = arena};
	TextNames text = {.iters = names, .niter = ITERS};
	expr_print_in(&buf, e, &text, (DType)e->type);
	return buf_text(&buf);
}

static const char *
facts_text(const Known *known, const Point *at)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < ITERS; i++)
		buf_printf(&buf, "%c=%lld in %lld..%lld%s ", "hijk"[i], (long long)at -> iter[i],
		           (long long)known -> box.lo[i],
		           (long long)(known->box.lo[i] + known->box.extent[i]),
		           known->box.end[i] < 0 ? "" : symbol_names[known->box.end[i]]);
	buf_printf(&buf, "A=%lld B=%lld", (long long)at->symbol[0], (long long)at->symbol[1]);
	for (int i = 0; i < known->count; i++)
		buf_printf(&buf, "; %s", text_of(known->assumed[i]));
	return buf_text(&buf);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void
check_at(const Known *known, const Expr *before, const Expr *after, const Point *at)
{
	int64_t lo, hi, x = value_at(before, at), y = value_at(after, at);
	ck_assert_msg(x == y, "%s became %s: %lld, %lld; %s", text_of(before), text_of(after),
	              (long long)x, (long long)y, facts_text(known, at));
	if (before->type == DT_BOOL) {
		ck_assert_msg(x || !facts_prove(known->facts, before), "%s is proven; %s", text_of(before),
		              facts_text(known, at));
		ck_assert_msg(!x || !facts_disprove(known->facts, before), "%s is disproven; %s",
		              text_of(before), facts_text(known, at));
	} else if (facts_range(known->facts, before, &lo, &hi)) {
		ck_assert_msg(lo <= x && x <= hi, "%s in %lld..%lld is %lld; %s", text_of(before),
		              (long long)lo, (long long)hi, (long long)x, facts_text(known, at));
	}
}

/* What is counted is what a machine would do: i+i and i*2 are one operation each, and of other
 * numbers of nodes. */
static void
check_cost(const Known *known, const Expr *before, const Expr *after)
{
	ck_assert_msg(expr_cost(after) <= expr_cost(before), "%s has grown to %s; %s", text_of(before),
	              text_of(after), facts_text(known, &known->point));
}

static void
check_one(void)
{
	Known known;
	Point point;
	random_facts(&known);
	const Expr *before = pick(2) ? random_condition(3) : pick(32) ? random_index(4) : random_sum();
	const Expr *after = expr_simplify(known.facts, before);
	const Expr *again = expr_simplify(known.facts, after);
	const Expr *light = expr_lighten(known.facts, before);
	if (most == INT32_MAX) { /* else another form may be found at each attempt */
		check_cost(&known, after, again);
		check_cost(&known, light, expr_lighten(known.facts, light));
	}
	check_cost(&known, before, light);
	if (before->type == DT_BOOL)
		decided += facts_prove(known.facts, before) || facts_disprove(known.facts, before);
	check_at(&known, before, after, &known.point);
	check_at(&known, before, light, &known.point);
	check_at(&known, after, again, &known.point);
	for (int k = 0; k < POINTS; k++) {
		random_point(&known.box, known.point.symbol, &point);
		if (!all_hold(&known, &point))
			continue;
		check_at(&known, before, after, &point);
		check_at(&known, before, light, &point);
	}
	facts_close(known.facts);
}

static void
check_batch(int number)
{
	for (int i = 0; i < BATCH; i++) {
		if (i % PER_CTX == 0) {
			arena_free(arena);
			arena = arena_new("test");
			ctx = expr_ctx_new(arena);
			ctx->steps_most = most;
		}
		seed = ((uint64_t)number * BATCH + (uint64_t)i) * 0x9E3779B9u + 12345;
		check_one();
	}
	arena_free(arena);
	arena = NULL;
}

START_TEST(simplified_is_equal)
{
	check_batch(_i);
}
END_TEST

/* What a question may cost decides how much is known, never what: with no step at all, what is said
 * literally. */
START_TEST(a_small_budget_is_undecided)
{
	static const int budgets[] = {0, 1, 2, 4, 8, 16, INT32_MAX};
	int before = -1;
	for (int i = 0; i < (int)countof(budgets); i++) {
		most = budgets[i];
		decided = 0;
		check_batch(0);
		ck_assert_msg(decided > before, "%d steps decide %d, fewer %d", most, decided, before);
		before = decided;
	}
}
END_TEST

/* Of no step nothing is known that is not said literally. */
START_TEST(no_step_knows_nothing)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
	ctx->steps_most = _i ? INT32_MAX : 0;
	Facts *facts = facts_new(ctx, arena);
	const Expr *i = expr_iter(ctx, 0), *n = dim_symbol(ctx, "A"), *zero = expr_i64(ctx, 0);
	facts_iter(facts, 0, zero, n);
	const Expr *twice = expr_add(ctx, i, i), *claim = expr_le(ctx, zero, twice);
	int64_t lo, hi;
	facts_range(facts, twice, &lo, &hi);
	ck_assert_int_eq(lo == 0, _i);
	ck_assert_int_eq(facts_prove(facts, claim), _i);
	ck_assert_int_eq(facts_disprove(facts, expr_not(ctx, claim)), _i);
	ck_assert_int_eq(expr_simplify(facts, claim)->op == EX_const, _i);
	ck_assert_int_eq(dim_proves_le(ctx, n, expr_add(ctx, n, expr_i64(ctx, 1))), _i);
	ck_assert(facts_prove(facts, expr_lt(ctx, i, n)));
	arena_free(arena);
	arena = NULL;
}
END_TEST

/* Each level asks twice about the one below. */
START_TEST(shared_conditions_end)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
	Facts *facts = facts_new(ctx, arena);
	const Expr *e = expr_lt(ctx, expr_iter(ctx, 0), dim_symbol(ctx, "A"));
	for (int k = 0; k < 60; k++) {
		const Expr *a = expr_lt(ctx, expr_iter(ctx, 1), expr_i64(ctx, k));
		const Expr *b = expr_lt(ctx, expr_iter(ctx, 2), expr_i64(ctx, k));
		e = expr_or(ctx, expr_and(ctx, e, a), expr_and(ctx, e, b));
	}
	ck_assert(!facts_prove(facts, e) && !facts_disprove(facts, e));
	expr_simplify(facts, e);
	arena_free(arena);
	arena = NULL;
}
END_TEST

int
main(void)
{
	const char *given = getenv("SIMPLIFY_EXPRESSIONS");
	TCase *tcase = tcase_create("simplify");
	tcase_add_loop_test(tcase, simplified_is_equal, 0, given ? atoi(given) / BATCH : 1);
	tcase_add_test(tcase, a_small_budget_is_undecided);
	tcase_add_loop_test(tcase, no_step_knows_nothing, 0, 2);
	tcase_add_test(tcase, shared_conditions_end);
	return unit_run(tcase);
}
