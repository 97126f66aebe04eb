/* Shares of guards: what probe_share() counts is what the interpreter sums, on any guard whose
 * conditions meet few points; by a sample, it is near.
 */
#include <math.h>

#include "base/random.h"
#include "expr/interp/interp.h"
#include "target/target.h"
#include "unit.h"

static Arena *arena;
static ExprCtx *ctx;
static uint64_t seed;

static int
pick(int below)
{
	return (int)(random_next(&seed) % (uint64_t)below);
}

static const Program *
sum_where(const char *iters, const char *guard)
{
	const char *text = arena_printf(arena,
	                                "expr f(X: f32[1]) -> Y {\n"
	                                " Y[n:1]: f32 = sum(%s where %s) X[n]\n}\n",
	                                iters, guard);
	return program_parse(ctx, "probe.e", text);
}

/* How many terms the sum has. */
static double
count_terms(const Program *program)
{
	const Array *inputs[] = {array_from(arena, DT_F32, 1, (int64_t[]){1}, &(float){1})};
	Array *output = NULL;
	program_eval(arena, program, &(Binding){0}, inputs, &output);
	return dtype_load_f64(DT_F32, output->data, 0);
}

static void
check_share(const Program *program, double tolerance)
{
	const Stage *stage = program->stages[0];
	double points = (double)probe_dim(NULL, stage_points(ctx, stage));
	double share = probe_share(NULL, stage), expected = count_terms(program) / points;
	ck_assert_msg(fabs(share - expected) <= tolerance, "the share is %g, not %g", share, expected);
}

/* A condition on some of four iterators of at most five places: all points are counted. */
static const char *
some_condition(void)
{
	static const char names[] = "abcd";
	int i = pick(4), j = pick(4), number = pick(6);
	switch (pick(4)) {
	case 0:
		return arena_printf(arena, "%c < %d", names[i], number);
	case 1:
		return arena_printf(arena, "%d <= %c + %c", number, names[i], names[j]);
	case 2:
		return arena_printf(arena, "(%c + 2*%c)%%%d == 0", names[i], names[j], 1 + number);
	default:
		return arena_printf(arena, "%c - %c < %d", names[i], names[j], number - 2);
	}
}

START_TEST(shares_are_what_the_interpreter_counts)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
	seed = (uint64_t)_i;
	const char *iters = arena_printf(arena, "a:%d, b:%d, c:%d, d:%d", 1 + pick(5), 1 + pick(5),
	                                 1 + pick(5), 1 + pick(5));
	const char *guard = some_condition();
	for (int count = pick(5); count > 0; count--)
		guard = arena_printf(arena, "%s, %s", guard, some_condition());
	check_share(sum_where(iters, guard), 1e-12);
	arena_free(arena);
}
END_TEST

/* Windows of large images: each dim by itself, so that both are counted. */
START_TEST(conditions_without_a_common_iterator_are_independent)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
	check_share(
		sum_where("a:100, b:3, c:200, d:5", "0 <= a+b-1, a+b-1 < 100, 0 <= c+d-2, c+d < 202"),
		1e-6);
	arena_free(arena);
}
END_TEST

START_TEST(many_points_are_sampled)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
	check_share(sum_where("a:40, b:40, c:40", "a + b < c"), 0.03);
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("target_probe");
	tcase_add_loop_test(t, shares_are_what_the_interpreter_counts, 0, 500);
	tcase_add_test(t, conditions_without_a_common_iterator_are_independent);
	tcase_add_test(t, many_points_are_sampled);
	return unit_run(t);
}
