/* Random derivations: any elementary operation on any stage of random small programs, a few in a
 * row, gives a program of the same values, and so does its canonical form. Sizes are odd, numbers
 * are small integers, so that every order of a sum is exact.
 *
 * usage: derive_random [COUNT [SEED [NUMBERS]]]
 * COUNT    applications; 10,000 in make test, 100,000 of each rule with 2,100,000
 * NUMBERS  steps with any numbers, 12,000
 */
#include <stdio.h>
#include <stdlib.h>

#include "derive_equal.h"
#include "derive_steps.h"
#include "expr/stage/intern.h"
#include "target/target.h"

enum { MAX_STEPS = 5, MAX_TRIES = 4 }; /* in a row; from each program */

#define BILINEAR_SLACK 2e-3

static int count = 10000, numbers = 12000;

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

/* Applies a step, if it applies: what it makes is compared, and given on. */
static const Program *
try_step(const Program *program, const Step *step, Array *const *wanted, const Sample *sample,
         StageTable *table)
{
	const Program *next = apply_step(program, step, NULL);
	if (!next)
		return NULL;
	check_equal(wanted, program, next, sample);
	const Program *canon = check_canon(wanted, next, sample, table);
	applied[step_number(step)]++;
	return pick(2) ? canon : next;
}

/* Several steps from a random program, one of which is taken, and so on; how many were applied. */
static int
walk(ExprCtx *kept, StageTable *table)
{
	int done = 0;
	slack = 0;
	ArenaMark mark = arena_mark(arena);
	const Program *program = make_program(expr_ctx_beside(arena, kept));
	Sample sample = make_sample(program);
	Array **wanted = values_of(program, &sample);
	for (int turn = 0; turn < MAX_STEPS; turn++) {
		Steps steps = {.arena = arena};
		const Program *given = program;
		list_steps(&steps, given);
		double exact = slack, reached = slack;
		for (int tries = 0; tries < MAX_TRIES; tries++) {
			const Step *step = choose(&steps);
			bool is_rounded = step->kind == STEP_rule && step->rule.rule == RULE_bilinear;
			slack = is_rounded ? BILINEAR_SLACK : exact;
			const Program *next = try_step(given, step, wanted, &sample, table);
			if (!next)
				continue;
			program = next;
			reached = slack;
			done++;
		}
		slack = reached;
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
	for (int k = 0; count > 10000 && k < STEP_NUMBERS; k++)
		printf("%s: %d applications\n", step_name(k), applied[k]);
	arena_free(arena);
	arena_free(own);
}
END_TEST

/* What far numbers make may be larger than memory, which is for whoever replays to see. A sum of
 * no terms has results. */
static bool
has_few_elements(const Program *program, const Sample *sample)
{
	enum { MANY = 30000 };
	const Target target = {.probe = &sample->binding};
	int64_t most = 0;
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		int64_t elements = 1;
		for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
			const Dim *extent = dim_sub(program->ctx, stage->iters[i].hi, stage->iters[i].lo);
			int64_t steps = probe_dim(&target, extent);
			elements = probe_times(elements, steps > 1 ? steps : 1);
		}
		most = elements > most ? elements : most;
	}
	return most < MANY;
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
	for (int i = 0; i < numbers; i++) {
		ArenaMark mark = arena_mark(arena);
		const Program *program = make_program(expr_ctx_beside(arena, kept));
		RuleStep step = {(RuleCode)pick(RULE_COUNT), pick(program->nstage + 2) - 1, {0}};
		for (int k = 0; k < RULE_ARGS; k++)
			step.arg[k] = any_number();
		const Program *next = rule_apply(program, &step, NULL);
		slack = step.rule == RULE_bilinear ? BILINEAR_SLACK : 0;
		Sample sample = make_sample(program);
		if (next && has_few_elements(next, &sample)) {
			check_equal(values_of(program, &sample), program, next, &sample);
			taken++;
		}
		arena_release(arena, mark);
	}
	ck_assert_int_gt(taken, numbers / 80);
	arena_free(arena);
	arena_free(own);
}
END_TEST

int
main(int argc, char **argv)
{
	count = argc > 1 ? atoi(argv[1]) : count;
	state = argc > 2 ? strtoull(argv[2], NULL, 10) : state;
	numbers = argc > 3 ? atoi(argv[3]) : numbers;
	TCase *t = tcase_create("derive_random");
	tcase_add_test(t, every_derivation_keeps_the_values);
	tcase_add_test(t, any_numbers_are_right_or_refused);
	return unit_run(t);
}
