/* The laws of graph_rules.def: both sides are the same number, bit for bit but for what a NaN
 * carries, for all pairs of the numbers that are special in a type, and for random ones.
 */
#include <math.h>
#include <string.h>

#include "expr/scalar/ctx.h"
#include "passes/scalar_laws.h"
#include "random_number.h"
#include "unit.h"

enum { NUMBERS = 48, MOST_LAWS = 100 };

static Arena *arena;
static ExprCtx *ctx;

/* A number of the type from random bits; the first ones are special. */
static const Expr *
number(DType type, int i, uint64_t *seed)
{
	static const double special[] = {0,     -0.0, 1,        -1,        2,    -2,   0.5,
	                                 -0.5,  1.5,  2.5,      127,       -128, 1e30, -1e30,
	                                 1e-40, 255,  INFINITY, -INFINITY, NAN};
	int count = (int)(sizeof special / sizeof *special);
	if (i < count)
		return expr_number(ctx, type, special[i]);
	if (i == count)
		return expr_lowest(ctx, type);
	if (i == count + 1)
		return expr_highest(ctx, type);
	uint64_t bits = (uint64_t)random_below(seed, UINT32_MAX) << 32 | random_below(seed, UINT32_MAX);
	uint64_t kept = bits >> (64 - dtype_bits(type));
	if (type == DT_BOOL)
		return expr_bool(ctx, bits & 1);
	if (dtype_is_integer(type))
		return expr_const(ctx, type, scalar_cast(type, 0, DT_U64, (Scalar){.u64 = kept}));
	return expr_const(ctx, type, (Scalar){.u64 = kept});
}

static bool
is_nan(const Expr *e)
{
	return dtype_is_float((DType)e->type) && isnan(expr_const_f64(e));
}

static const Expr *
at(const ScalarLaw *law, const Expr *side, const Expr *x, const Expr *y)
{
	return expr_replace(ctx, expr_replace(ctx, side, law->x, x), law->y, y);
}

static void
check_law(const ScalarLaw *law, DType type, int which)
{
	uint64_t seed = (uint64_t)which;
	for (int i = 0; i < NUMBERS; i++)
		for (int k = 0; k < NUMBERS; k++) {
			const Expr *x = number(type, i, &seed), *y = number(type, k, &seed);
			const Expr *before = at(law, law->before, x, y), *after = at(law, law->after, x, y);
			ck_assert(expr_is_const(before) && expr_is_const(after));
			ck_assert_msg(before == after || (is_nan(before) && is_nan(after)),
			              "law %d of %s: %.17g instead of %.17g for x %.17g, y %.17g", which,
			              dtype_name(type), expr_const_f64(after), expr_const_f64(before),
			              expr_const_f64(x), expr_const_f64(y));
		}
}

START_TEST(laws_keep_every_bit)
{
	static const DType types[] = {DT_F32, DT_F64, DT_F16, DT_BF16, DT_I8,  DT_U8,  DT_I16,
	                              DT_U16, DT_I32, DT_U32, DT_I64,  DT_U64, DT_BOOL};
	for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
		arena = arena_new("laws");
		ctx = expr_ctx_new(arena);
		int count = 0;
		for (const ScalarLaw *law; (law = scalar_law(ctx, types[t], count)); count++)
			check_law(law, types[t], count);
		ck_assert_int_gt(count, 3);
		ck_assert_int_lt(count, MOST_LAWS);
		arena_free(arena);
	}
}
END_TEST

/* A cast and one more are one where the first loses nothing: for all pairs of types. */
START_TEST(straight_casts_lose_nothing)
{
	static const DType types[] = {DT_F32, DT_F64, DT_F16, DT_BF16, DT_I8,  DT_U8,  DT_I16,
	                              DT_U16, DT_I32, DT_U32, DT_I64,  DT_U64, DT_BOOL};
	int count = (int)(sizeof types / sizeof *types), straight = 0;
	for (int i = 0; i < count * count * count; i++) {
		DType a = types[i % count], b = types[i / count % count], c = types[i / count / count];
		arena = arena_new("casts");
		ctx = expr_ctx_new(arena);
		const Expr *x = expr_var(ctx, var_new(ctx, "x", a, NULL, NULL));
		const Expr *twice = expr_cast(ctx, c, expr_cast(ctx, b, x));
		const Expr *now = laws_rewrite(laws_new(arena, ctx), twice);
		straight += now != twice;
		uint64_t seed = (uint64_t)i;
		for (int k = 0; now != twice && k < NUMBERS; k++) {
			const Expr *number_ = number(a, k, &seed);
			const Expr *before = expr_replace(ctx, twice, x, number_);
			const Expr *after = expr_replace(ctx, now, x, number_);
			ck_assert_msg(before == after || (is_nan(before) && is_nan(after)),
			              "%s(%s(%s %.17g)): %.17g instead of %.17g", dtype_name(c), dtype_name(b),
			              dtype_name(a), expr_const_f64(number_), expr_const_f64(after),
			              expr_const_f64(before));
		}
		arena_free(arena);
	}
	ck_assert_int_gt(straight, 200);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("laws");
	tcase_add_test(t, laws_keep_every_bit);
	tcase_add_test(t, straight_casts_lose_nothing);
	return unit_run(t);
}
