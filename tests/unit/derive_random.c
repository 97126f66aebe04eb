/* Random derivations: any elementary operation on any stage of random small programs, a few in a
 * row, gives a program of the same values, and so does its canonical form. Sizes are odd, numbers
 * are small integers, so that every order of a sum is exact.
 *
 * usage: derive_random [COUNT [SEED]]    applications; 3,000 in make test, 100,000 of each rule
 *                                        with 3,000,000
 */
#include <stdio.h>
#include <stdlib.h>

#include "derive_equal.h"
#include "derive_steps.h"
#include "expr/stage/intern.h"
#include "target/target.h"

enum { MAX_STEPS = 5 };

static int count = 3000;

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

/* A kind of step first, mostly the one that was applied least, then a step of it: so that
 * rare rules get their share. */
static const Step *
choose(const Steps *steps)
{
	int listed[STEP_NUMBERS] = {0}, kinds = 0, kind = 0;
	bool has_kind = false;
	for (int i = 0; i < steps->list.count; i++)
		kinds += listed[step_number(&steps->list.data[i])]++ == 0;
	bool is_least = pick(8);
	int skip = pick(kinds);
	for (int k = 0; k < STEP_NUMBERS; k++)
		if (listed[k] && (is_least ? !has_kind || applied[k] < applied[kind] : skip-- == 0)) {
			kind = k;
			has_kind = true;
		}
	int number = pick(listed[kind]);
	const Step *step = steps->list.data;
	while (step_number(step) != kind || number-- > 0)
		step++;
	return step;
}

static int
least_applied(void)
{
	int least = 0;
	for (int k = 1; k < STEP_NUMBERS; k++)
		if (k != RULE_COUNT + STEP_rule && applied[k] < applied[least])
			least = k;
	return least;
}

/* One to which the step that was applied least applies, if that is soon found. */
static const Program *
choose_program(ExprCtx *ctx)
{
	enum { TRIES = 20 };
	const Program *program = make_program(ctx);
	int least = least_applied();
	for (int tries = pick(2) ? TRIES : 0; tries > 0; tries--) {
		Steps steps = {.arena = arena};
		list_steps(&steps, program);
		for (int i = 0; i < steps.list.count; i++)
			if (step_number(&steps.list.data[i]) == least)
				return program;
		program = make_program(ctx);
	}
	return program;
}

/* A few steps from a random program; how many were applied. */
static int
walk(ExprCtx *kept, StageTable *table)
{
	int done = 0;
	slack = 0;
	ArenaMark mark = arena_mark(arena);
	const Program *program = choose_program(expr_ctx_beside(arena, kept));
	Sample sample = make_sample(program);
	Array **wanted = values_of(program, &sample);
	for (int tries = 0; tries < 3 * MAX_STEPS && done < MAX_STEPS; tries++) {
		Steps steps = {.arena = arena};
		list_steps(&steps, program);
		const Step *step = choose(&steps);
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

/* What far numbers make may be larger than memory, which is for whoever replays to see. */
static bool
has_few_elements(const Program *program)
{
	int64_t most = 0;
	for (int s = 0; s < program->nstage; s++) {
		int64_t points = probe_dim(NULL, stage_points(program->ctx, program->stages[s]));
		most = points > most ? points : most;
	}
	return most < 1000000;
}

/* A number as a file may hold it: about the size of what there is, or far from it. */
static int64_t
any_number(void)
{
	static const int64_t far[] = {INT32_MIN, INT32_MAX, 1 << 30, 64, 63, 1000};
	return pick(4) ? pick(14) - 2 : far[pick(6)];
}

/* Steps with any numbers, for any stage, are refused or as right as others. */
START_TEST(any_numbers_are_right_or_refused)
{
	Arena *own = arena_new("kept");
	ExprCtx *kept = expr_ctx_new(own);
	int taken = 0;
	arena = arena_new("test");
	for (int i = 0; i < 4 * count; i++) {
		ArenaMark mark = arena_mark(arena);
		const Program *program = choose_program(expr_ctx_beside(arena, kept));
		RuleStep step = {(RuleCode)pick(RULE_COUNT), pick(program->nstage + 2) - 1, {0}};
		for (int k = 0; k < RULE_ARGS; k++)
			step.arg[k] = any_number();
		const Program *next = rule_apply(program, &step, NULL);
		slack = step.rule == RULE_bilinear ? 2e-3 : 0;
		if (next && has_few_elements(next)) {
			Sample sample = make_sample(program);
			check_equal(values_of(program, &sample), program, next, &sample);
			taken++;
		}
		arena_release(arena, mark);
	}
	ck_assert_int_gt(taken, count / 20);
	arena_free(arena);
	arena_free(own);
}
END_TEST

int
main(int argc, char **argv)
{
	count = argc > 1 ? atoi(argv[1]) : count;
	state = argc > 2 ? strtoull(argv[2], NULL, 10) : state;
	TCase *t = tcase_create("derive_random");
	tcase_add_test(t, every_derivation_keeps_the_values);
	tcase_add_test(t, any_numbers_are_right_or_refused);
	return unit_run(t);
}
