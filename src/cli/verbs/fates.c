/* Nodes, pairs of nodes and steps. */
#include "cli/verbs/fates.h"

#include <math.h>
#include <string.h>

#include "cli/report/fate.h"
#include "cli/verbs/inspect.h"
#include "cli/report/nodes.h"

const char *
fate_text(const Explained *e, const Plan *plan, const Node *node)
{
	const char *fate = fate_of(e->arena, plan, &e->history, e->given, node);
	return fate ? fate : "nothing says what became of it";
}

void
fates_all(const Explained *e, Report *report, const Plan *plan)
{
	Table *table = report_table(report, "fates", "node|op:operator|became");
	for (const Node *node = NULL; (node = region_step(e->given->body, node));)
		table_row(table, "%s|%s|%s", node_called(node), node->op->name, fate_text(e, plan, node));
}

/* ---- one node -------------------------------------------------------------------------------- */

static void
history_rows(Table *table, const HistoryLine *line, const char *node)
{
	for (int k = 0; k < line->nodes.count; k++)
		if (strcmp(line->nodes.data[k], node) == 0)
			table_row(table, "%s|%.0f|%s|%s|%s|%s", node,
			          k < line->rewrites.count ? line->rewrites.data[k] : NAN, line->pass,
			          line->rule, k < line->made.count ? line->made.data[k] : NULL, line->reason);
}

void
fates_history(const Explained *e, Report *report, const char *pass, const Node *node)
{
	Table *table = report_table(report, "history", "node|>rewrite|pass|rule|made|reason:why not");
	for (int i = 0; i < e->history.lines.count; i++)
		if (!pass || strcmp(e->history.lines.data[i].pass, pass) == 0)
			history_rows(table, &e->history.lines.data[i], node_called(node));
}

/* ---- two nodes ------------------------------------------------------------------------------- */

static const Node *
given_node(const Explained *e, const char *name)
{
	const Node *node = node_named(e->given, name);
	if (!node)
		fail_unknown(&(Loc){.file = e->path}, "node", name, e->names.count, e->names.data,
		             arena_printf(e->arena, "explain %s", e->options.args.data[0]));
	return node;
}

static bool
is_together(const Plan *plan, const Node *a, const Node *b)
{
	bool is = false;
	for (int i = 0; i < plan->nstep && !is; i++) {
		is = step_is_of(plan, &plan->steps[i], a) && step_is_of(plan, &plan->steps[i], b);
		for (int k = 0; k < plan->steps[i].nbody && !is; k++)
			is = is_together(plan->steps[i].bodies[k], a, b);
	}
	return is;
}

static void
explain_fusion(const Explained *e, const Plan *plan, const StrVec *names, Report *report)
{
	if (names->count != 2)
		fail_as(FAIL_USAGE, NULL, "--fusion: expected two nodes, as --fusion conv1,relu1");
	const Node *a = given_node(e, names->data[0]), *b = given_node(e, names->data[1]);
	bool is = is_together(plan, a, b);
	report_text(report, "first", node_called(a), fate_text(e, plan, a));
	report_text(report, "second", node_called(b), fate_text(e, plan, b));
	report_text(report, "together", "together",
	            is ? "one step computes both" : "no step does both");
	fates_history(e, report, "FuseOps", a);
	fates_history(e, report, "FuseOps", b);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void
explain_step(const Explained *e, const Plan *plan, int64_t number, Report *report)
{
	if (number >= plan->nstep)
		fail_as(FAIL_USAGE, NULL, "--step: the plan has steps 0 to %d, saw %lld", plan->nstep - 1,
		        (long long)number);
	const PlanStep *step = &plan->steps[number];
	report_text(report, "kind", "kind", plan_step_words[step->kind]);
	report_text(report, "call", step->library ? "call" : NULL,
	            step->library ? arena_printf(e->arena, "%s of %s", step->row, step->library)
	                          : NULL);
	report_text(report, "name", "name", step->name);
	report_text(report, "origins", "from", step->origins);
	report_number(report, "flops", "operations", step->flops, "%.4g");
	report_number(report, "bytes", "bytes", step->bytes, "%.4g");
	report_speeds(e, report, plan, NULL, step);
	report_arguments(report, e->arena, plan, step);
	Table *table = report_table(report, "history", "node|>rewrite|pass|rule|made|reason:why not");
	for (int i = 0; i < e->history.lines.count; i++)
		for (const Node *node = NULL; (node = region_step(e->given->body, node));)
			if (step_is_of(plan, step, node))
				history_rows(table, &e->history.lines.data[i], node_called(node));
}

void
fates_asked(const Explained *e, const Options *options)
{
	const Plan *plan = explained_plan(e);
	Report *report = report_new(options);
	if (!plan)
		fail_as(FAIL_USAGE, NULL, "--fusion and --step are about a bundle: expected FILE.twb");
	if (options->fusion.count)
		explain_fusion(e, plan, &options->fusion, report);
	else
		explain_step(e, plan, options->step, report);
	report_print(report);
}
