/* derive_judge: whether a model is faster with what DeriveExpressions chose for its nodes.
 *
 * Each answer was measured as a model of its own: what its neighbours do with caches and threads is
 * not in it.
 */
#include "passes/derive_groups.h"

#include <string.h>

#include "target/ask.h"

static const char FASTER[] = "faster\n", NOT_FASTER[] = "not faster\n";

static bool
is_derived(const Question *question)
{
	const char *chosen = question->choice.chosen;
	return chosen && !question->reason && strcmp(chosen, AS_GIVEN) != 0;
}

static const char *
way_of(const Question *question)
{
	return is_derived(question) ? question->choice.chosen : AS_GIVEN;
}

/* Something that no record says. */
static bool
is_open(const Asked *asked)
{
	bool is_open = false;
	for (int i = 0; i < asked->questions.count; i++)
		is_open |= is_derived(asked->questions.data[i]) && !asked->questions.data[i]->is_recorded;
	return is_open;
}

/* The model, its sizes, and what was chosen. */
static const char *
question_of(PassContext *context, const Graph *graph, const Asked *asked)
{
	Buf buf = {.arena = context->arena}, text = {.arena = context->arena};
	graph_print(&text, graph);
	Hash128 hash = hash128(buf_text(&text), text.size);
	buf_printf(&buf, "a model with and without what is derived %016llx%016llx\n",
	           (unsigned long long)hash.high, (unsigned long long)hash.low);
	derive_put_sizes(&buf, context->target);
	for (int i = 0; i < asked->questions.count; i++)
		if (is_derived(asked->questions.data[i]))
			buf_printf(&buf, "%s: %s\n", asked->questions.data[i]->key,
			           asked->questions.data[i]->choice.chosen);
	return buf_text(&buf);
}

/* Faster on the whole, and not clearly slower with one thread or with as many as there are. */
static bool
is_faster(const double without[2], const double with[2])
{
	static const double NOISE = 1.03;
	return with[0] / without[0] + with[1] / without[1] < 2 && with[0] <= NOISE * without[0] &&
	       with[1] <= NOISE * without[1];
}

/* NULL: it cannot be measured. */
static const char *
measure(PassContext *context, const Graph *graph, const Asked *asked)
{
	Map choices = {.arena = context->arena};
	double without[2], with[2];
	for (int i = 0; i < asked->questions.count; i++) {
		const PassChoice *choice = &asked->questions.data[i]->choice;
		if (choice->chosen)
			map_set(&choices, choice->key, (void *)(uintptr_t)way_of(asked->questions.data[i]));
	}
	if (context->progress)
		context->progress(context->progress_arg, "deriving: the whole model", 0, 1);
	if (!ask_time_pass(context, graph, &choices, without, with))
		return NULL;
	pass_note(
		context, "measure", "the model",
		arena_printf(context->arena,
	                 "%.1f us and %.1f us with one thread and with all, %.1f and %.1f as given",
	                 with[0] * 1e6, with[1] * 1e6, without[0] * 1e6, without[1] * 1e6),
		NULL);
	return is_faster(without, with) ? FASTER : NOT_FASTER;
}

/* What an earlier compilation found, or this one. */
static const char *
verdict(PassContext *context, const Graph *graph, const Asked *asked)
{
	const char *question = question_of(context, graph, asked);
	const char *known = ask_recall(context, question);
	if (known && (strcmp(known, FASTER) == 0 || strcmp(known, NOT_FASTER) == 0))
		return known;
	if (pass_config_int(context, "DeriveExpressions.seconds", 1) <= 0)
		return NULL;
	const char *found = measure(context, graph, asked);
	if (found)
		ask_remember(context, question, found);
	return found;
}

void
derive_judge(PassContext *context, const Graph *graph, Asked *asked)
{
	const Oracle *oracle = context->target->oracle;
	if (!oracle || !oracle->time_pass || !is_open(asked))
		return;
	const char *found = verdict(context, graph, asked);
	if (!found || strcmp(found, NOT_FASTER) != 0)
		return;
	for (int i = 0; i < asked->questions.count; i++) {
		Question *question = asked->questions.data[i];
		if (!is_derived(question))
			continue;
		question->reason = NOT_AS_A_WHOLE;
		question->choice.chosen = AS_GIVEN;
		question->choice.candidates =
			arena_printf(context->arena, "%s, " NOT_AS_A_WHOLE, question->choice.candidates);
	}
}
