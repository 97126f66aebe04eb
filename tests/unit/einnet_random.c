/* Whatever a search finds has the values of what it was given: random small programs with windows,
 * of odd sizes, strides, dilations and borders; all candidates of each, by the interpreter.
 *
 * usage: einnet_random [COUNT [SEED]]    candidates; 1,500 in make test
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/measure/trial.h"
#include "derive_equal.h"
#include "einnet/converge.h"
#include "einnet/search.h"
#include "einnet/derivation.h"
#include "expr/stage/hash.h"
#include "lower/node.h"
#include "vendor_rows.h"

static int count = 1500;
static int used[RULE_COUNT], converged, called, calls;

static void
count_steps(const Candidate *candidate)
{
	for (int i = 0; i < candidate->way.nstep; i++) {
		used[candidate->way.steps[i].rule]++;
		if (candidate->way.steps[i].rule == RULE_bilinear)
			slack = 2e-3;
	}
	converged += candidate->way.converged >= 0;
	called += candidate->cost.calls > 0;
}

static bool
is_library_call(const VendorMatch *match)
{
	return match && match->row->library;
}

static bool
has_symbols(const Program *program)
{
	int64_t extent;
	bool has = false;
	for (int i = 0; i < program->ninput; i++)
		for (int d = 0; d < program->inputs[i]->rank; d++)
			has |= !dim_is_const(program->inputs[i]->hi[d], &extent);
	return has;
}

/* A product that the search took for a call stands in a node that lowering finds to be one. */
static void
check_calls(const Candidate *candidate, const bool *constant)
{
	const Program *program = candidate->program;
	VendorForms *forms = vendor_forms_new(arena, NULL, vendor_loses_any);
	Graph *graph = trial_graph(arena, program, constant, false);
	int expected = 0, found = 0;
	ck_assert_msg(graph || has_symbols(program), "no nodes for\n%s", text_of(program));
	if (!graph)
		return;
	for (int s = 0; s < program->nstage; s++)
		expected += stage_is_product(program->stages[s]) &&
		            !einnet_is_constant(program, program->stages[s]->results[0], constant) &&
		            is_library_call(einnet_match(forms, arena, program, s));
	for (const Node *node = graph->body->first; node; node = node->next) {
		VendorMatch match;
		Value **values = NEW_N(arena, Value *, node->ninput + 1);
		found += strcmp(node->op->name, "Expression") == 0 &&
		         row_match(arena, node_program(arena, graph, node, values), &match) &&
		         is_library_call(&match);
	}
	ck_assert_msg(found >= expected, "%d of %d calls\n%s", found, expected, text_of(program));
	calls += found;
}

/* What a search remembers of parts is what it would find again. */
static void
check_cost(const Candidate *candidate, const bool *constant, const Target *target)
{
	Cost seen = candidate->cost;
	Cost wanted = einnet_cost(einnet_calls_new(arena, target), arena, candidate->program, constant);
	ck_assert_msg(seen.seconds == wanted.seconds && seen.flops == wanted.flops &&
	                  seen.bytes == wanted.bytes && seen.calls == wanted.calls &&
	                  seen.kernels == wanted.kernels,
	              "%g s, %d calls, not %g s, %d calls\n%s", seen.seconds, seen.calls,
	              wanted.seconds, wanted.calls, text_of(candidate->program));
}

static void
check_candidate(const Program *given, const Candidate *candidate, const bool *constant,
                const Sample *sample, Array *const *wanted)
{
	slack = 0;
	count_steps(candidate);
	const char *difference = einnet_difference(arena, given, candidate->program, &sample->binding);
	ck_assert_msg(!difference, "%s: %s\n%s%s", derivation_text(arena, &candidate->way), difference,
	              text_of(given), text_of(candidate->program));
	check_equal(wanted, given, candidate->program, sample);
	if (given->noutput == 1)
		check_calls(candidate, constant);
	const Program *again = derivation_replay(arena, given, constant, &candidate->way);
	ck_assert_msg(
		again && hash128_equal(program_fingerprint(again), program_fingerprint(candidate->program)),
		"%s leads elsewhere when it is replayed\n%s", derivation_text(arena, &candidate->way),
		text_of(given));
}

/* One program; how many candidates it had. States are few: far ones are met as well as near ones,
 * since rules are left out by chance. */
static int
try_program(ExprCtx *kept)
{
	ArenaMark mark = arena_mark(arena);
	ExprCtx *ctx = expr_ctx_beside(arena, kept);
	const Program *program = make_program(ctx);
	while (program->noutput > 1) /* is asked of one node yet, which has one */
		program = make_program(ctx);
	Sample sample = make_sample(program);
	Target target = {.device = device_find("cpu:x86-64-v3"), .probe = &sample.binding};
	bool constant[MAX_INPUTS] = {false, pick(4) != 0, true};
	SearchOptions options = {
		.target = &target, .constant = constant, .depth = 4, .states = 60, .keeps_dear = true};
	for (int rule = 0; rule < RULE_COUNT; rule++)
		options.disabled |= (uint32_t)(pick(3) == 0) << rule;
	SearchResult result = einnet_search(arena, ctx, program, &options);
	Array **wanted = values_of(program, &sample);
	for (int i = 0; i < result.list.count; i++) {
		check_candidate(program, &result.list.data[i], constant, &sample, wanted);
		check_cost(&result.list.data[i], constant, &target);
	}
	arena_release(arena, mark);
	return result.list.count;
}

START_TEST(candidates_have_the_values_of_what_was_given)
{
	Arena *own = arena_new("kept");
	ExprCtx *kept = expr_ctx_new(own);
	arena = arena_new("test");
	int done = 0, programs = 0;
	for (; done < count; programs++)
		done += try_program(kept);
	ck_assert_int_gt(called, count / 4);
	ck_assert_int_gt(calls, count / 8);
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		if (rule_info((RuleCode)rule)->kind == RULE_exploring)
			ck_assert_msg(used[rule] > 0, "%s was in no candidate",
			              rule_info((RuleCode)rule)->name);
		if (count > 1500 && used[rule])
			printf("%s: in %d candidates\n", rule_info((RuleCode)rule)->name, used[rule]);
	}
	if (count > 1500)
		printf("%d programs, %d candidates, %d converged, %d with calls\n", programs, done,
		       converged, called);
	arena_free(arena);
	arena_free(own);
}
END_TEST

int
main(int argc, char **argv)
{
	count = argc > 1 ? atoi(argv[1]) : count;
	state = argc > 2 ? strtoull(argv[2], NULL, 10) : state;
	TCase *t = tcase_create("einnet_random");
	tcase_add_test(t, candidates_have_the_values_of_what_was_given);
	return unit_run(t);
}
