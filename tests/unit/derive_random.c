/* Random derivations: any elementary operation on any stage of random small programs, a few in a
 * row, gives a program of the same values, and so does its canonical form. Sizes are odd, numbers
 * are small integers, so that every order of a sum is exact.
 *
 * usage: derive_random [COUNT]     applications; 3,000 in make test, 100,000 for all
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "derive_programs.h"
#include "derive_steps.h"
#include "expr/stage/intern.h"

enum { MAX_STEPS = 5 };

static int count = 3000;

/* ---- values ---------------------------------------------------------------------------------- */

/* Relative error that is accepted: bilinear algorithms are not exact of integers. */
static double slack;

static void
check_output(const Array *wanted, const Array *seen, const Program *before, const Program *after)
{
	ck_assert_int_eq(array_count(seen), array_count(wanted));
	for (int64_t k = 0; k < array_count(seen); k++) {
		double x = dtype_load_f64(wanted->type, wanted->data, k);
		double y = dtype_load_f64(seen->type, seen->data, k);
		ck_assert_msg(x == y || fabs(x - y) <= slack * (1 + fabs(x)),
		              "element %d is %g, not %g\n%s%s", (int)k, y, x, text_of(before),
		              text_of(after));
	}
}

static void
check_equal(Array *const *wanted, const Program *before, const Program *after, const Sample *sample)
{
	program_check(after);
	Array **seen = values_of(after, sample);
	for (int i = 0; i < before->noutput; i++)
		check_output(wanted[i], seen[i], before, after);
}

/* ---- walks ----------------------------------------------------------------------------------- */

static int applied[STEP_NUMBERS];

/* The canonical form, also by a table that has met the stages of others. */
static const Program *
check_canon(Array *const *wanted, const Program *program, const Sample *sample, StageTable *table)
{
	const Program *canon = program_canon(program), *known = program_canon_in(table, program);
	check_equal(wanted, program, canon, sample);
	check_equal(wanted, program, known, sample);
	ck_assert_msg(hash128_equal(program_fingerprint(canon), program_fingerprint(known)), "%s%s",
	              text_of(canon), text_of(known));
	program_intern(table, known);
	return known;
}

/* A few steps from a random program; how many were applied. */
static int
walk(ExprCtx *kept, StageTable *table)
{
	int done = 0;
	slack = 0;
	ArenaMark mark = arena_mark(arena);
	const Program *program = make_program(expr_ctx_beside(arena, kept));
	Sample sample = make_sample(program);
	Array **wanted = values_of(program, &sample);
	for (int tries = 0; tries < 3 * MAX_STEPS && done < MAX_STEPS; tries++) {
		Steps steps = {.arena = arena};
		list_steps(&steps, program);
		const Step *step = &steps.list.data[pick(steps.list.count)];
		const Program *next = apply_step(program, step, NULL);
		if (!next)
			continue;
		if (step->kind == STEP_rule && step->rule.rule == RULE_bilinear)
			slack = 2e-3;
		check_equal(wanted, program, next, &sample);
		const Program *canon = check_canon(wanted, next, &sample, table);
		program = pick(2) ? canon : next;
		applied[step_number(step)]++;
		done++;
	}
	arena_release(arena, mark);
	return done;
}

START_TEST(every_derivation_keeps_the_values)
{
	Arena *own = arena_new("kept");
	ExprCtx *kept = expr_ctx_new(own);
	StageTable *table = stage_table_new(kept);
	arena = arena_new("test");
	for (int done = 0; done < count;)
		done += walk(kept, table);
	applied[RULE_COUNT + STEP_rule] = 1; /* counted by rule */
	for (int k = 0; k < STEP_NUMBERS; k++)
		ck_assert_msg(applied[k] > 0, "%s was never applied", step_name(k));
	for (int k = 0; count > 3000 && k < STEP_NUMBERS; k++)
		printf("%s: %d applications\n", step_name(k), applied[k]);
	arena_free(arena);
	arena_free(own);
}
END_TEST

int
main(int argc, char **argv)
{
	count = argc > 1 ? atoi(argv[1]) : count;
	TCase *t = tcase_create("derive_random");
	tcase_add_test(t, every_derivation_keeps_the_values);
	return unit_run(t);
}
