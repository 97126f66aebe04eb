/* DeriveExpressions over texts of models; times are made up: one way is the fastest. */
#ifndef DERIVE_RIG_H
#define DERIVE_RIG_H

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "einnet/rules.h"
#include "eval/eval.h"
#include "expr/stage/canon.h"
#include "graph/infer.h"
#include "passes/manager.h"

static const char *model;          /* set by each test */
static int fastest;                /* of the programs that are timed */
static int fastest_merged;         /* of those of several nodes */
static int timed, merged;          /* questions, and those about several nodes */
static int batches;                /* of these, the first of each kind, then others */
static int stages;                 /* of the program that the last was to be faster than */
static int64_t rows[8];            /* of each */
static double with[2], without[2]; /* of whole models; 0: they cannot be measured */
static bool fails;                 /* whatever is asked of the oracle */
static int judged;                 /* whole models */
static Map judged_by;              /* what was chosen then */
static const char *answer;         /* to every question; NULL: what was remembered */
static const char *depth;          /* of the search */
static const char *most;           /* nodes of a question */
static const char *longest;        /* milliseconds of a search of which nothing is said */
static int64_t symbol;             /* its value at the probe sizes */
static Arena *kept;                /* of what is remembered */
static Map memory;

static void
time_programs(void *self, int count, const Program *const *programs, const bool *constant,
              double *seconds, double *relayouts)
{
	(void)self;
	if (fails)
		fail(NULL, "a trial failed");
	int products = 0;
	for (int s = 0; s < programs[0]->nstage; s++)
		products += stage_is_product(programs[0]->stages[s]);
	bool is_merged = products > 1;
	const Tensor *x = programs[0]->inputs[0];
	ck_assert_int_gt(count, 1);
	ck_assert(!constant[0]);
	static uint64_t last;
	uint64_t asked = program_fingerprint(programs[0]).low;
	if (batches++ == 0 || asked != last) {
		ck_assert(dim_is_const(x->hi[x->rank / 2], &rows[timed++ % 8]));
		merged += is_merged;
	}
	last = asked;
	stages = programs[0]->nstage;
	for (int i = 0; i < count; i++)
		seconds[i] = i == (is_merged ? fastest_merged : fastest) ? 1e-3 : 2e-3;
	for (int i = 0; i < count; i++)
		relayouts[i] = 0;
}

static bool
time_pass(void *self, const Graph *graph, const Binding *sizes, const char *pass,
          const Map *choices, double seconds_without[2], double seconds_with[2])
{
	(void)self, (void)sizes;
	for (const Node *node = graph->body->first; node; node = node->next)
		ck_assert_str_ne(node->op->name, "Expression"); /* it is as it was given */
	ck_assert_str_eq(pass, "DeriveExpressions");
	judged++;
	judged_by = (Map){.arena = kept};
	for (int i = 0; i < choices->count; i++)
		map_set(&judged_by, arena_strdup(kept, choices->entries[i].name),
		        arena_strdup(kept, choices->entries[i].value));
	memcpy(seconds_without, without, sizeof without);
	memcpy(seconds_with, with, sizeof with);
	return with[0] > 0;
}

static const char *
recall(void *self, Arena *arena, const char *question)
{
	(void)self, (void)arena;
	return answer ? answer : map_find(&memory, question);
}

static void
remember(void *self, const char *question, const char *what)
{
	(void)self;
	map_set(&memory, arena_strdup(kept, question), arena_strdup(kept, what));
}

static const Oracle oracle = {
	.time = time_programs, .time_pass = time_pass, .recall = recall, .remember = remember};

typedef struct Outcome {
	Arena *arena;
	PassContext context;
	const Graph *graph;
} Outcome;

/* The one symbol is so large. */
static const Binding *
probe_of(Arena *arena, const Graph *graph)
{
	int id = graph->symbols.data[0].symbol->id;
	int64_t *value = NEW_N(arena, int64_t, id + 1);
	bool *is_bound = NEW_N(arena, bool, id + 1);
	Binding *binding = NEW(arena, Binding);
	value[id] = symbol;
	is_bound[id] = true;
	*binding = (Binding){.count = id + 1, .value = value, .is_bound = is_bound};
	return binding;
}

/* The pass over the text, with so many seconds for its questions ("" always enough, however slow
 * the machine) and a record (chosen NULL: none). */
static Outcome
derive(const char *seconds, const char *key, const char *chosen)
{
	Outcome outcome = {.arena = arena_new("test")};
	Target *target = NEW(outcome.arena, Target);
	*target = (Target){.device = device_find("cpu:x86-64-v4"), .oracle = &oracle};
	outcome.context = (PassContext){.arena = outcome.arena,
	                                .run = run_passes,
	                                .level = 3,
	                                .target = target,
	                                .verify = true,
	                                .config = {.arena = outcome.arena},
	                                .recorded = {.arena = outcome.arena}};
	map_set(&outcome.context.config, "DeriveExpressions.depth", arena_strdup(outcome.arena, depth));
	map_set(&outcome.context.config, "DeriveExpressions.budget", arena_strdup(outcome.arena, "60"));
	map_set(&outcome.context.config, "DeriveExpressions.together",
	        arena_strdup(outcome.arena, most));
	map_set(&outcome.context.config, "DeriveExpressions.long",
	        arena_strdup(outcome.arena, longest));
	map_set(&outcome.context.config, "DeriveExpressions.seconds",
	        arena_strdup(outcome.arena, *seconds ? seconds : "1000000"));
	if (chosen)
		map_set(&outcome.context.recorded, key, arena_strdup(outcome.arena, chosen));
	vec_push(outcome.arena, &outcome.context.only, "DeriveExpressions");
	Graph *graph = graph_parse(outcome.arena, "text", model);
	graph_infer(graph);
	if (graph->symbols.count)
		target->probe = probe_of(outcome.arena, graph);
	timed = merged = judged = batches = 0;
	run_graph_passes(graph, &outcome.context);
	outcome.graph = graph;
	return outcome;
}

static void
set_up(void)
{
	kept = arena_new("kept");
	memory = (Map){.arena = kept};
	answer = NULL;
	with[0] = with[1] = 0;
	without[0] = without[1] = 1;
	depth = "2";
	most = "1";
	longest = "3000000";
	symbol = 128;
	fastest = fastest_merged = 1;
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr)); /* warnings are wanted */
}

static void
tear_down(void)
{
	arena_free(kept);
}

/* Whether what is said of such a rule is so refused. */
static bool
is_refused(const PassContext *context, const char *rule, const char *why)
{
	bool is_logged = false;
	for (int i = 0; i < context->log.count; i++) {
		const PassEvent *event = &context->log.data[i];
		is_logged |= event->reason && strcmp(event->rule, rule) == 0 && strstr(event->reason, why);
	}
	return is_logged;
}

static int
count_derived(const Outcome *outcome)
{
	int count = 0;
	for (int i = 0; i < outcome->context.log.count; i++)
		count += outcome->context.log.data[i].made &&
		         strcmp(outcome->context.log.data[i].made, "Expression") == 0;
	return count;
}

#endif
