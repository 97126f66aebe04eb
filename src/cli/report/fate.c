/* Where a node is computed; else the last rewrite that took it; else where its value lies. */
#include "cli/report/fate.h"

#include <string.h>

#include "graph/meaning.h"

static bool
is_from(const PlanStep *step, const char *node)
{
	size_t length = strlen(node);
	for (const char *at = step->origins; at && length; at = strstr(at, ", ")) {
		at += at == step->origins ? 0 : 2;
		if (strncmp(at, node, length) == 0 && (!at[length] || strncmp(at + length, ", ", 2) == 0))
			return true;
	}
	return false;
}

/* A node of a function of the model has the function's call as its origin: its value says more. */
bool
step_is_of(const Plan *plan, const PlanStep *step, const Node *node)
{
	if (node->loc.node && is_from(step, node->loc.node))
		return true;
	for (int k = step->narg - step->noutput; k < step->narg; k++)
		for (int i = 0; i < node->noutput && step->args[k] >= 0; i++)
			if (node->outputs[i] && plan->buffers[step->args[k]].name &&
			    strcmp(node->outputs[i]->name, plan->buffers[step->args[k]].name) == 0)
				return true;
	return false;
}

/* ---- steps ---- */

typedef struct Steps {
	Buf numbers;          /* "3, 5.0" */
	const PlanStep *only; /* NULL: there are several */
	int count;
} Steps;

/* Steps of branches and bodies have the numbers of those around them in front. */
static void
find_steps(Steps *steps, Arena *arena, const Plan *plan, const Node *node, const char *prefix)
{
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		if (step_is_of(plan, step, node)) {
			buf_printf(&steps->numbers, "%s%s%d", steps->count ? ", " : "", prefix, i);
			steps->only = steps->count++ ? NULL : step;
		}
		for (int k = 0; k < step->nbody; k++)
			find_steps(steps, arena, step->bodies[k], node,
			           arena_printf(arena, "%s%d.", prefix, i));
	}
}

static const char *
steps_text(Arena *arena, const Plan *plan, const Node *node)
{
	Steps steps = {.numbers = {.arena = arena}};
	find_steps(&steps, arena, plan, node, "");
	const char *numbers = steps.count ? buf_text(&steps.numbers) : NULL;
	const PlanStep *step = steps.only;
	if (!step)
		return numbers ? arena_printf(arena, "steps %s", numbers) : NULL;
	if (step->kind == PT_VENDOR)
		return arena_printf(arena, "step %s: %s of %s", numbers, step->row, step->library);
	return arena_printf(arena, "step %s: %s%s%s", numbers, plan_step_words[step->kind],
	                    step->row && *step->row ? " " : "", step->row ? step->row : "");
}

/* ---- rewrites ---- */

/* The last that was made of it; that it was removed in the end says less, and what stays itself has
 * become nothing else. */
static const char *
rewrite_text(Arena *arena, const History *history, const char *node)
{
	const char *removed = NULL;
	for (int i = history->lines.count - 1; i >= 0; i--) {
		const HistoryLine *line = &history->lines.data[i];
		for (int k = line->reason ? 0 : line->nodes.count; k-- > 0;) {
			const char *made = k < line->made.count ? line->made.data[k] : "";
			if (strcmp(line->nodes.data[k], node) != 0 || strcmp(made, node) == 0)
				continue;
			if (*made)
				return arena_printf(arena, "%s, %s: %s", line->pass, line->rule, made);
			removed = removed ? removed : arena_printf(arena, "%s, %s", line->pass, line->rule);
		}
	}
	return removed;
}

/* ---- storage ---- */

static const char *
storage_text(const Plan *plan, const char *value)
{
	for (int i = 0; i < plan->nbuffer; i++)
		if (plan->buffers[i].name && strcmp(plan->buffers[i].name, value) == 0)
			return plan->buffers[i].kind == PB_VIEW     ? "a view: nothing is computed"
			       : plan->buffers[i].kind == PB_WEIGHT ? "known when compiling"
			                                            : "what it reads is written into its place";
	for (int i = 0; i < plan->nstep; i++)
		for (int k = 0; k < plan->steps[i].nbody; k++) {
			const char *text = storage_text(plan->steps[i].bodies[k], value);
			if (text)
				return text;
		}
	return NULL;
}

/* A node that computes nothing may lie where its input does; a shape is part of the plan. */
static const char *
nothing_text(const Graph *graph, const Node *node)
{
	bool is_known = true;
	for (int i = 0; i < node->noutput; i++)
		is_known &= !node->outputs[i] || node->outputs[i]->known;
	if (is_known)
		return "known from the sizes: nothing is computed";
	const Program *program = node_has_meaning(node) ? node_meaning(graph, node) : NULL;
	for (int s = 0; program && s < program->nstage; s++)
		if (program->stages[s]->kind != STAGE_map || program->stages[s]->body[0]->op != EX_read)
			return NULL;
	return program ? "it lies where its input does: nothing is computed" : NULL;
}

const char *
fate_of(Arena *arena, const Plan *plan, const History *history, const Graph *graph,
        const Node *node)
{
	const char *name = node->loc.node ? node->loc.node : "";
	const char *text = steps_text(arena, plan, node);
	text = text || !*name ? text : rewrite_text(arena, history, name);
	for (int i = 0; i < node->noutput && !text; i++)
		text = node->outputs[i] ? storage_text(plan, node->outputs[i]->name) : NULL;
	return text ? text : nothing_text(graph, node);
}
