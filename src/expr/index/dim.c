/* Dims: index expressions over symbols, always in normal form (index.c has the rules). */

#include "expr/index/facts.h"
#include "expr/index/text.h"

/* Facts about symbols only: their ranges. Divisors of dims are not zero where they are evaluated.
 * Made once per ctx. */
static Facts *
dim_facts(ExprCtx *ctx)
{
	if (!ctx->dim_facts) {
		ctx->dim_facts = facts_new(ctx, ctx->arena);
		ctx->dim_facts->divisors_nonzero = true;
	}
	return ctx->dim_facts;
}

const Dim *
dim_const(ExprCtx *ctx, int64_t value)
{
	return expr_i64(ctx, value);
}

const Dim *
dim_symbol(ExprCtx *ctx, const char *name)
{
	return expr_symbol(ctx, symbol_get(ctx, name));
}

const Dim *
dim_fresh(ExprCtx *ctx, const char *prefix)
{
	return expr_symbol(ctx, symbol_fresh(ctx, prefix));
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static void
check_overflow(bool fits, const char *what, int64_t a, int64_t b)
{
	if (!fits)
		fail(NULL, "%s of extents %lld and %lld does not fit in 64 bits", what, (long long)a,
		     (long long)b);
}

/* Sums, differences and products of two numbers are checked; a coefficient that does not fit keeps
 * its polynomial apart, as an opaque term, and shows when symbols are bound. */
static const Dim *
dim_arith(ExprCtx *ctx, ExprOp op, const Dim *a, const Dim *b)
{
	int64_t x, y, result;
	if (expr_as_i64(a, &x) && expr_as_i64(b, &y)) {
		if (op == EX_add)
			check_overflow(!__builtin_add_overflow(x, y, &result), "sum", x, y);
		else if (op == EX_sub)
			check_overflow(!__builtin_sub_overflow(x, y, &result), "difference", x, y);
		else
			check_overflow(!__builtin_mul_overflow(x, y, &result), "product", x, y);
		return expr_i64(ctx, result);
	}
	return index_sum(dim_facts(ctx), expr_op(ctx, op, (const Expr *[]){a, b}));
}

const Dim *
dim_add(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return dim_arith(ctx, EX_add, a, b);
}

const Dim *
dim_sub(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return dim_arith(ctx, EX_sub, a, b);
}

const Dim *
dim_mul(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return dim_arith(ctx, EX_mul, a, b);
}

static void
check_divisor(const Dim *b)
{
	if (expr_is_zero(b))
		fail(NULL, "an extent is divided by zero");
}

const Dim *
dim_floordiv(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	check_divisor(b);
	return index_floordiv(dim_facts(ctx), a, b);
}

const Dim *
dim_floormod(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	check_divisor(b);
	return index_floormod(dim_facts(ctx), a, b);
}

const Dim *
dim_ceildiv(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return dim_floordiv(ctx, dim_add(ctx, a, dim_add_i64(ctx, b, -1)), b);
}

const Dim *
dim_min(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return index_minmax(dim_facts(ctx), EX_min, a, b);
}

const Dim *
dim_max(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return index_minmax(dim_facts(ctx), EX_max, a, b);
}

const Dim *
dim_add_i64(ExprCtx *ctx, const Dim *a, int64_t b)
{
	return dim_add(ctx, a, expr_i64(ctx, b));
}

const Dim *
dim_mul_i64(ExprCtx *ctx, const Dim *a, int64_t b)
{
	return dim_mul(ctx, a, expr_i64(ctx, b));
}

const Dim *
dim_product(ExprCtx *ctx, int count, const Dim *const *dims)
{
	const Dim *product = expr_i64(ctx, 1);
	for (int i = 0; i < count; i++)
		product = dim_mul(ctx, product, dims[i]);
	return product;
}

/* ---- from other expressions ------------------------------------------------------------------ */

const Dim *
dim_op(ExprCtx *ctx, ExprOp op, const Dim *const *args)
{
	switch (op) {
	case EX_add:
		return dim_add(ctx, args[0], args[1]);
	case EX_sub:
		return dim_sub(ctx, args[0], args[1]);
	case EX_neg:
		return dim_sub(ctx, expr_i64(ctx, 0), args[0]);
	case EX_mul:
		return dim_mul(ctx, args[0], args[1]);
	case EX_floordiv:
		return expr_is_zero(args[1]) ? NULL : dim_floordiv(ctx, args[0], args[1]);
	case EX_floormod:
		return expr_is_zero(args[1]) ? NULL : dim_floormod(ctx, args[0], args[1]);
	case EX_min:
		return dim_min(ctx, args[0], args[1]);
	case EX_max:
		return dim_max(ctx, args[0], args[1]);
	case EX_lt:
	case EX_le:
	case EX_gt:
	case EX_ge:
	case EX_eq:
	case EX_ne: {
		Certainty is_true = facts_decide(dim_facts(ctx), expr_op(ctx, op, args));
		return is_true == UNDECIDED ? NULL : expr_i64(ctx, is_true == CERTAIN);
	}
	default:
		return NULL;
	}
}

/* A node through the constructors above; NULL where it, or something below it, is no dim. */
static const Expr *
normalise(ExprCtx *ctx, const Expr *e, const Expr *const *args, void *arg)
{
	(void)arg;
	bool is_dim = e->type == DT_I64 && e->argc <= 2;
	for (int k = 0; k < e->argc; k++)
		is_dim = is_dim && args[k];
	const Dim *dim = !is_dim ? NULL : e->argc > 0 ? dim_op(ctx, (ExprOp)e->op, args) : e;
	return dim && !dim->iters && dim->op != EX_var && dim->op != EX_read ? dim : NULL;
}

const Dim *
dim_from_expr(ExprCtx *ctx, const Expr *e)
{
	return walk_fold(ctx, e, WALK_TO_LEAVES, normalise, NULL);
}

/* ---- questions ------------------------------------------------------------------------------- */

bool
dim_is_polynomial(const Dim *dim)
{
	Poly p;
	return poly_of(dim, &p);
}

bool
dim_is_const(const Dim *dim, int64_t *value)
{
	return expr_as_i64(dim, value);
}

bool
dim_is(const Dim *dim, int64_t value)
{
	int64_t seen;
	return expr_as_i64(dim, &seen) && seen == value;
}

bool
dim_proves_le(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return a == b || facts_prove(dim_facts(ctx), expr_le(ctx, a, b));
}

bool
dim_proves_lt(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	return facts_prove(dim_facts(ctx), expr_lt(ctx, a, b));
}

bool
dim_stands(ExprCtx *ctx, const Dim *dim, const Dim *loop)
{
	int64_t number;
	if (dim == loop || dim_is_const(dim, &number))
		return dim_is(dim, 1);
	return dim_proves_le(ctx, dim, dim_const(ctx, 1));
}

void
dim_range(const Dim *dim, int64_t *lo, int64_t *hi)
{
	facts_range(dim_facts(dim->ctx), dim, lo, hi);
}

void
dim_assume_equal(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	Poly p;
	if (a == b || !poly_of(expr_sub(ctx, a, b), &p))
		return;
	const Expr *difference = poly_build(ctx, &p);
	for (int i = 0; i < ctx->zeros.count; i++)
		if (ctx->zeros.data[i] == difference)
			return;
	vec_push(ctx->arena, &ctx->zeros, difference);
	if (ctx->dim_facts)
		facts_close(ctx->dim_facts);
	ctx->dim_facts = NULL; /* made again with this fact */
}

int
dim_assumed(const ExprCtx *ctx)
{
	return ctx->zeros.count;
}

void
dim_forget(ExprCtx *ctx, int count)
{
	if (ctx->zeros.count == count)
		return;
	must(count < ctx->zeros.count);
	if (ctx->dim_facts)
		facts_close(ctx->dim_facts);
	ctx->zeros.count = count;
	ctx->dim_facts = NULL;
	ctx->closed_facts = NULL; /* they hold what is forgotten */
	ctx->forgotten++;
}

void
dim_print(Buf *buf, const Dim *dim)
{
	expr_print(buf, dim);
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool
floor_divide(int64_t a, int64_t b, int64_t *quotient, int64_t *rest)
{
	if (b == 0 || (a == INT64_MIN && b == -1))
		return false;
	bool is_rounded = a % b != 0 && (a % b < 0) != (b < 0);
	*quotient = a / b - is_rounded;
	*rest = a % b + (is_rounded ? b : 0);
	return true;
}

static bool
eval_node(const Expr *e, const int64_t *x, const Binding *binding, int64_t *value)
{
	int64_t unused;
	switch (e->op) {
	case EX_const:
		*value = e->value.i64;
		return true;
	case EX_symbol:
		if (!binding || e->symbol->id >= binding->count || !binding->is_bound[e->symbol->id])
			return false;
		*value = binding->value[e->symbol->id];
		return true;
	case EX_add:
		return !__builtin_add_overflow(x[0], x[1], value);
	case EX_sub:
		return !__builtin_sub_overflow(x[0], x[1], value);
	case EX_neg:
		return !__builtin_sub_overflow(0, x[0], value);
	case EX_mul:
		return !__builtin_mul_overflow(x[0], x[1], value);
	case EX_floordiv:
		return floor_divide(x[0], x[1], value, &unused);
	case EX_floormod:
		return floor_divide(x[0], x[1], &unused, value);
	case EX_min:
		*value = x[0] < x[1] ? x[0] : x[1];
		return true;
	case EX_max:
		*value = x[0] > x[1] ? x[0] : x[1];
		return true;
	default:
		return false;
	}
}

bool
dim_eval(const Dim *dim, const Binding *binding, int64_t *value)
{
	if (expr_as_i64(dim, value))
		return true;
	bool is_known = true;
	int64_t result = 0;
	Memo *memo = memo_take(dim->ctx);
	walk_nodes(memo, dim, WALK_TO_LEAVES);
	for (int i = 0; i < memo->nodes.count && is_known; i++) {
		const Expr *node = memo->nodes.data[i];
		int64_t x[2] = {0, 0};
		for (int k = 0; k < node->argc && k < 2; k++)
			x[k] = memo_number(memo, node->arg[k]);
		is_known = eval_node(node, x, binding, &result);
		vec_push(memo->arena, &memo->numbers, result);
	}
	memo_give(dim->ctx, memo);
	if (is_known)
		*value = result;
	return is_known;
}

static const Expr *
bind_symbol(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Binding *binding = arg;
	if (e->op != EX_symbol || e->symbol->id >= binding->count || !binding->is_bound[e->symbol->id])
		return e;
	return expr_i64(ctx, binding->value[e->symbol->id]);
}

const Dim *
dim_bind(ExprCtx *ctx, const Dim *dim, const Binding *binding)
{
	if (expr_is_const(dim))
		return dim;
	const Expr *bound = expr_rewrite(ctx, dim, bind_symbol, (void *)(uintptr_t)binding);
	const Dim *normal = dim_from_expr(ctx, bound);
	if (!normal)
		fail(NULL, "an extent divides by zero when its symbols are bound");
	return normal;
}
