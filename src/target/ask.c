/* ask_accept … ask_remember: each question as a step that may fail. */
#include "target/ask.h"

typedef struct Ask {
	PassContext *context;
	const Oracle *oracle;
	const VendorCall *call;
	const char **impl;
	int count;
	const Program *const *programs;
	const bool *constant;
	double *seconds, *relayouts; /* of a model: without and with the pass */
	const struct Graph *graph;
	const Map *choices;
	const char *question, *answer;
	bool is_yes;
} Ask;

bool
ask_try(PassContext *context, const char *rule, const char *nodes, void (*step)(void *), void *arg)
{
	Failure failure;
	if (try_run(step, arg, &failure))
		return true;
	pass_note(context, rule, nodes, NULL, arena_strdup(context->arena, failure.text));
	return false;
}

static bool
answered(Ask *ask, const char *rule, const char *nodes, void (*step)(void *))
{
	return ask_try(ask->context, rule, nodes, step, ask) && ask->is_yes;
}

static const Oracle *
oracle_of(const PassContext *context)
{
	static const Oracle nothing = {0};
	const Target *target = context->target;
	return target && target->oracle ? target->oracle : &nothing;
}

static void
accept(void *arg)
{
	Ask *ask = arg;
	ask->is_yes = ask->oracle->accept(ask->oracle->self, ask->call, ask->impl);
}

bool
ask_accept(PassContext *context, const VendorCall *call, const char **impl)
{
	Ask ask = {.context = context, .oracle = oracle_of(context), .call = call, .impl = impl};
	return ask.oracle->accept && answered(&ask, "accept", call->row, accept);
}

static void
measure(void *arg)
{
	Ask *ask = arg;
	ask->is_yes = ask->oracle->measure(ask->oracle->self, ask->call, ask->seconds, ask->impl);
}

bool
ask_measure(PassContext *context, const VendorCall *call, double *seconds, const char **impl)
{
	Ask ask = {.context = context,
	           .oracle = oracle_of(context),
	           .call = call,
	           .seconds = seconds,
	           .impl = impl};
	return ask.oracle->measure && answered(&ask, "measure", call->row, measure);
}

static void
time_programs(void *arg)
{
	Ask *ask = arg;
	ask->oracle->time(ask->oracle->self, ask->count, ask->programs, ask->constant, ask->seconds,
	                  ask->relayouts);
	ask->is_yes = true;
}

bool
ask_time(PassContext *context, int count, const Program *const *programs, const bool *constant,
         double *seconds, double *relayouts)
{
	Ask ask = {.context = context,
	           .oracle = oracle_of(context),
	           .count = count,
	           .programs = programs,
	           .constant = constant,
	           .seconds = seconds,
	           .relayouts = relayouts};
	return ask.oracle->time && answered(&ask, "measure", "candidates", time_programs);
}

static void
time_pass(void *arg)
{
	Ask *ask = arg;
	ask->is_yes =
		ask->oracle->time_pass(ask->oracle->self, ask->graph, ask->context->target->probe,
	                           ask->context->running, ask->choices, ask->seconds, ask->relayouts);
}

bool
ask_time_pass(PassContext *context, const struct Graph *graph, const Map *choices,
              double without[2], double with[2])
{
	Ask ask = {.context = context,
	           .oracle = oracle_of(context),
	           .graph = graph,
	           .choices = choices,
	           .seconds = without,
	           .relayouts = with};
	return ask.oracle->time_pass && answered(&ask, "measure", "the model", time_pass);
}

static void
recall(void *arg)
{
	Ask *ask = arg;
	ask->answer = ask->oracle->recall(ask->oracle->self, ask->context->arena, ask->question);
	ask->is_yes = ask->answer != NULL;
}

const char *
ask_recall(PassContext *context, const char *question)
{
	Ask ask = {.context = context, .oracle = oracle_of(context), .question = question};
	return ask.oracle->recall && answered(&ask, "recall", "an answer", recall) ? ask.answer : NULL;
}

static void
remember(void *arg)
{
	Ask *ask = arg;
	ask->oracle->remember(ask->oracle->self, ask->question, ask->answer);
}

void
ask_remember(PassContext *context, const char *question, const char *answer)
{
	Ask ask = {
		.context = context, .oracle = oracle_of(context), .question = question, .answer = answer};
	if (ask.oracle->remember)
		ask_try(context, "remember", "an answer", remember, &ask);
}
