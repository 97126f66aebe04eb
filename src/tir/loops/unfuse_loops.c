/* UnfuseLoops: a loop whose variable is only taken apart again is the loops that it was made of.
 *
 *     for k in 18                                 for k in 2, k_1 in 3, k_2 in 3
 *       O[k/9*64 + k%9/3*8 + k%3] += W[k]   =>      O[k*64 + k_1*8 + k_2] += W[k*9 + k_1*3 + k_2]
 *
 * The divisors by which it is taken apart cut it where each divides the next and the last one the
 * extent. Each new loop counts one digit; simplifying sees what a quotient of their sum is.
 *
 * needs    nothing
 * keeps    the order of the iterations
 * breaks   nothing
 * not for  loops that are cut among workers or run in lanes
 */
#include "tir/loops/loops.h"
#include "tir/rewrite.h"

enum { MAX_CUTS = 4 };

/* The numbers by which a variable is divided, ascending. */
typedef struct Cuts {
	const Var *var;
	int64_t by[MAX_CUTS];
	int count;
	bool is_refused; /* too many */
} Cuts;

static void
add_cut(Cuts *cuts, int64_t by)
{
	int at = 0;
	while (at < cuts->count && cuts->by[at] < by)
		at++;
	if (by < 2 || (at < cuts->count && cuts->by[at] == by))
		return;
	if (cuts->count == MAX_CUTS) {
		cuts->is_refused = true;
		return;
	}
	for (int i = cuts->count++; i > at; i--)
		cuts->by[i] = cuts->by[i - 1];
	cuts->by[at] = by;
}

static bool
is_var(const Expr *e, const Var *var)
{
	return e->op == EX_var && e->var == var;
}

/* k/c, k%c, k%m/c, k/m%c */
static void
note_division(Cuts *cuts, const Expr *e)
{
	int64_t by, inner = 1;
	if ((e->op != EX_floordiv && e->op != EX_floormod) || !expr_as_i64(e->arg[1], &by))
		return;
	const Expr *x = e->arg[0];
	bool is_quotient = x->op == EX_floordiv;
	if (is_quotient || x->op == EX_floormod) {
		if (!expr_as_i64(x->arg[1], &inner))
			return;
		inner = is_quotient ? inner : 1;
		x = x->arg[0];
	}
	if (is_var(x, cuts->var) && inner > 0 && !__builtin_mul_overflow(by, inner, &by))
		add_cut(cuts, by);
}

static const Expr *
look(ExprCtx *ctx, const Expr *e, void *cuts)
{
	(void)ctx;
	note_division(cuts, e);
	return e;
}

/* The extent in units of the last cut; NULL where the cuts do not divide each other and it. */
static const Expr *
cut_extent(Kernel *kernel, const Stmt *loop, const Cuts *cuts)
{
	ExprCtx *ctx = kernel->ctx;
	if (cuts->is_refused || cuts->count == 0 || !expr_is_zero(loop->lo))
		return NULL;
	for (int i = 1; i < cuts->count; i++)
		if (cuts->by[i] % cuts->by[i - 1] != 0)
			return NULL;
	const Expr *last = expr_i64(ctx, cuts->by[cuts->count - 1]);
	bool is_whole = expr_is_zero(expr_simplify_alone(ctx, expr_floormod(ctx, loop->hi, last)));
	return is_whole ? expr_simplify_alone(ctx, expr_floordiv(ctx, loop->hi, last)) : NULL;
}

static bool
unfuse(Kernel *kernel, Stmt *loop)
{
	ExprCtx *ctx = kernel->ctx;
	Cuts cuts = {.var = loop->var};
	if (loop->bind != BIND_SERIAL)
		return false;
	stmt_rewrite_exprs(kernel, loop->body, look, &cuts);
	const Expr *extent = cut_extent(kernel, loop, &cuts);
	if (!extent || expr_is_one(extent))
		return false;
	const Expr *sum = expr_i64(ctx, 0);
	Stmt *body = NULL, *inner = NULL;
	for (int i = 0; i <= cuts.count; i++) { /* from the last digit */
		int64_t unit = i > 0 ? cuts.by[i - 1] : 1;
		const Expr *hi = i < cuts.count ? expr_i64(ctx, cuts.by[i] / unit) : extent;
		const Var *digit = var_new(ctx, loop->var->name, DT_I64, expr_i64(ctx, 0), hi);
		const Expr *part = expr_mul(ctx, expr_var(ctx, digit), expr_i64(ctx, unit));
		sum = expr_add(ctx, part, sum);
		body = stmt_for(kernel, digit, NULL, hi, BIND_SERIAL, body);
		inner = inner ? inner : body;
	}
	stmt_substitute(kernel, loop->body, loop->var, sum);
	inner->body = loop->body;
	body->next = loop->next;
	body->loc = loop->loc;
	*loop = *body;
	return true;
}

bool
pass_UnfuseLoops(Kernel *kernel, PassContext *context)
{
	(void)context;
	bool changed = false;
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_FOR)
			changed |= unfuse(kernel, walk.stmt);
	if (changed)
		tir_simplify(kernel);
	return changed;
}
