/* tilewright explain: what DeriveExpressions answered for each node, and how the answer follows.
 *
 * Nothing is searched or measured: what was chosen is applied again, step by step.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/report/nodes.h"
#include "cli/report/report.h"
#include "cli/verbs/explained.h"
#include "cli/verbs/fates.h"
#include "cli/verbs/inspect.h"
#include "driver/parts.h"
#include "einnet/derivation.h"
#include "expr/stage/canon.h"
#include "graph/meaning.h"
#include "passes/derive_groups.h"
#include "passes/derive_trials.h"
#include "passes/derived_nodes.h"

/* ---- sentences ------------------------------------------------------------------------------- */

static const char *
why_nothing_is_recorded(const Explained *e)
{
	Arena *arena = e->arena;
	if (!e->is_asked)
		return arena_printf(arena, "no search was asked for: the pipeline is %s",
		                    e->bundle ? e->bundle->manifest->pipeline
		                              : "without DeriveExpressions");
	if (e->bundle)
		return "the bundle has no record of it: were --shape, --fix or --config given when it was "
			   "compiled?";
	return e->options.choices
	           ? "the choices have no record of it"
	           : "no choices are given: explain a bundle of the model, or its --choices";
}

/* Why the original stays, by what was measured. */
static const char *
why_as_given(Arena *arena, const Answer *answer)
{
	double given = answer->given, least = answer->least;
	if (answer->note && strcmp(answer->note, "no time left") == 0)
		return "no time was left to search for it (--config DeriveExpressions.seconds=N)";
	if (answer->note && strcmp(answer->note, NOT_AS_A_WHOLE) == 0)
		return arena_printf(
			arena, "%.1f us as given, and %.1f us by the fastest other, but " NOT_AS_A_WHOLE, given,
			least);
	if (answer->note)
		return "the search found nothing that promises to be faster";
	if (answer->measured.count == 0)
		return "the choices say so, without a time";
	if (given <= 0)
		return "the original could not be measured";
	if (least <= 0)
		return "nothing else could be measured";
	return arena_printf(arena, "%.1f us as given, and %.1f us by the fastest other%s", given, least,
	                    least >= given                    ? ""
	                    : least >= CLEARLY_FASTER * given ? ": not clearly faster"
	                                                      : ", which was found to compute "
	                                                        "something else, and was refused");
}

/* The way of an answer that is used; NULL, with the reason, where the original stays. */
static const Derivation *
way_of(const Explained *e, const Question *question, const Answer *answer, const char **why)
{
	Derivation *way = NEW(e->arena, Derivation);
	if (!answer->chosen)
		*why = why_nothing_is_recorded(e);
	else if (strcmp(answer->chosen, AS_GIVEN) == 0)
		*why = why_as_given(e->arena, answer);
	else if (pass_denied(e->context, "derive", question->node))
		*why = DERIVATION_DENIED;
	else if (!derivation_parse(e->arena, answer->chosen, way))
		*why = arena_printf(e->arena, "the recorded '%s' is no derivation", answer->chosen);
	else if (!derivation_replay(e->arena, question->program, question->constant, way))
		*why = arena_printf(e->arena, "the recorded '%s' does not apply", answer->chosen);
	else
		return way;
	return NULL;
}

/* ---- what became of it ----------------------------------------------------------------------- */

static const char *
part_text(Arena *arena, const Program *program, int stage, const DerivedPart *part)
{
	bool is_table = einnet_is_constant(program, program->stages[stage]->results[0], NULL);
	if (part->is_known)
		return is_table ? "a table of numbers" : "computed from weights when compiling";
	if (part->match)
		return arena_printf(arena, "a call: %s of %s", part->row->name, part->row->library);
	return part->row ? arena_printf(arena, "a kernel: %s", part->row->name) : "a kernel";
}

/* "1 call (matmul), 5 kernels, 3 known" */
static const char *
parts_text(const Explained *e, const Question *question, const Program *program)
{
	Arena *arena = e->arena;
	Buf calls = {.arena = arena}, text = {.arena = arena};
	VendorForms *forms = vendor_forms_new(arena, NULL, vendor_loses_any);
	int known = 0, kernels = 0, called = 0;
	for (int s = 0; s < program->nstage; s++) {
		DerivedPart part = derived_part(forms, arena, program, s, question->constant);
		known += part.is_known;
		kernels += !part.is_known && !part.match;
		if (part.match)
			buf_printf(&calls, "%s%s", called++ ? ", " : "", part.match->row->name);
	}
	if (called)
		buf_printf(&text, "%d call%s (%s)", called, called == 1 ? "" : "s", buf_text(&calls));
	if (kernels)
		buf_printf(&text, "%s%d kernel%s", text.size ? ", " : "", kernels, kernels == 1 ? "" : "s");
	if (known)
		buf_printf(&text, "%s%d known", text.size ? ", " : "", known);
	return buf_text(&text);
}

/* ---- all nodes ------------------------------------------------------------------------------- */

typedef struct Reasons {
	Map counts; /* why nodes ask nothing -> how many */
	Table *answers;
} Reasons;

static void
answer_row(const Explained *e, Reasons *reasons, const Node *node, const Question *question,
           bool is_merged)
{
	const char *why = NULL;
	Answer answer = answer_of(e, question->key);
	bool is_known = answer.chosen || e->bundle || !e->is_asked;
	const char *became = is_known ? AS_GIVEN : NULL;
	const Derivation *way = way_of(e, question, &answer, &why);
	if (way)
		became = parts_text(
			e, question, derivation_replay(e->arena, question->program, question->constant, way));
	if (is_merged)
		became = arena_printf(e->arena, "with others: %s", became);
	bool is_timed = answer.taken > 0 && answer.given > 0;
	table_row(reasons->answers, "%s|%s|%s|%.1f|%.1f|%.2f|%s", node_called(node), node->op->name,
	          became, is_timed ? answer.taken : NAN, is_timed ? answer.given : NAN,
	          is_timed ? answer.given / answer.taken : NAN, way ? answer.chosen : why);
}

static void
answer_rows(const Explained *e, Reasons *reasons, const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		Question question;
		for (int i = 0; i < node->nregion; i++)
			answer_rows(e, reasons, node->regions[i]);
		const NodeGroup *group = merged_with(e, node);
		const char *why = group ? NULL : derive_question(e->context, e->graph, node, &question);
		if (why)
			map_count(&reasons->counts, why);
		else
			answer_row(e, reasons, node, group ? group->question : &question, group != NULL);
	}
}

static void
explain_all(const Explained *e, Report *report)
{
	Reasons reasons = {.counts = {.arena = e->arena}};
	const Plan *plan = explained_plan(e);
	report_text(report, "model", "model", e->path);
	if (plan && e->options.profile)
		report_speeds(e, report, plan, NULL, NULL);
	if (plan)
		fates_all(e, report, plan);
	reasons.answers =
		report_table(report, "nodes",
	                 "node|op:operator|became|>us|>given_us:as given|>gain|steps:steps, or why");
	answer_rows(e, &reasons, e->graph->body);
	Table *others = report_table(report, "others", ">nodes:nodes|why:not searched, because");
	for (int i = 0; i < reasons.counts.count; i++)
		table_row(others, "%.0f|%s", (double)(intptr_t)reasons.counts.entries[i].value,
		          reasons.counts.entries[i].name);
	report_print(report);
}

/* ---- one node -------------------------------------------------------------------------------- */

/* Facts, texts of programs, and tables behind a free line. */
typedef struct Page {
	const Explained *e;
	const Options *options;
	Report *report;
	Table *steps; /* in JSON, what else is text */
	bool has_gap;
} Page;

static Table *
page_table(Page *page, const char *key, const char *columns)
{
	if (!page->has_gap)
		report_body(page->report, NULL, "\n");
	page->has_gap = true;
	return report_table(page->report, key, columns);
}

/* "stage 0: Y, read 1, dim 2" */
static const char *
arguments_text(Arena *arena, const RuleStep *step, const Program *before)
{
	Buf buf = {.arena = arena};
	const char *names = rule_info(step->rule)->args;
	buf_printf(&buf, "stage %d: %s", step->stage, program_stage_name(arena, before, step->stage));
	for (int i = 0; *names; i++) {
		size_t length = strcspn(names, " ");
		buf_printf(&buf, ", %.*s %lld", (int)length, names, (long long)step->arg[i]);
		names += length + (names[length] == ' ');
	}
	return buf_text(&buf);
}

/* `step` NULL: none of a rule, `law` says what it is. */
static void
show_step(Page *page, const char *text, const RuleStep *step, const char *law,
          const Program *before, const Program *program)
{
	Arena *arena = page->e->arena;
	Buf buf = {.arena = arena};
	const RuleInfo *rule = step ? rule_info(step->rule) : NULL;
	const char *arguments = step ? arguments_text(arena, step, before) : NULL;
	program_print(&buf, program);
	if (page->options->json) {
		table_row(page->steps, "%s|%s|%s|%s|%s|%s", text, rule ? rule->name : NULL,
		          rule ? rule->doc : law, rule ? rule->numerics : NULL, arguments, buf_text(&buf));
		return;
	}
	report_body(
		page->report, NULL,
		arena_printf(arena, "\n%s: %s\n%s%s", text, rule ? rule->doc : law,
	                 rule ? arena_printf(arena, "  (%s; %s)\n", arguments, rule->numerics) : "",
	                 buf_text(&buf)));
}

/* Each step, from the meaning on; gives the last program. */
static const Program *
show_steps(Page *page, const Question *question, const Derivation *way)
{
	Arena *arena = page->e->arena;
	const Program *program = program_canon(question->program);
	show_step(page, "given", NULL, "what the node means, in canonical form", NULL, program);
	for (int i = 0; i < derivation_parts(way); i++) {
		const RuleStep *step = i < way->nstep ? &way->steps[i] : NULL;
		const Program *before = program;
		program = derivation_part(arena, program, question->constant, way, i, NULL);
		show_step(page, derivation_part_text(arena, way, i), step,
		          "order loops and store factors so that a row of vendor.def matches the product",
		          before, program);
	}
	return program;
}

static void
show_parts(Page *page, const Question *question, const Program *program)
{
	Arena *arena = page->e->arena;
	VendorForms *forms = vendor_forms_new(arena, NULL, vendor_loses_any);
	Table *table = page_table(page, "parts", "part:stage|becomes");
	for (int s = 0; s < program->nstage; s++) {
		DerivedPart part = derived_part(forms, arena, program, s, question->constant);
		table_row(table, "%s|%s", program_stage_name(arena, program, s),
		          part_text(arena, program, s, &part));
	}
}

static void
show_measured(Page *page, const Answer *answer)
{
	if (answer->measured.count == 0)
		return;
	Table *table = page_table(page, "measured", ">us:measured us|chosen|steps");
	for (int i = 0; i < answer->measured.count; i++) {
		const Measured *m = &answer->measured.data[i];
		const char *mark = strcmp(m->way, answer->chosen) == 0 ? "chosen" : "";
		table_row(table, "%.1f|%s|%s", m->us > 0 ? m->us : NAN, mark, m->way);
	}
}

/* "X is %x, W is %w (known)" */
static const char *
inputs_text(const Explained *e, const Node *node, const NodeGroup *group, const Question *question)
{
	Buf buf = {.arena = e->arena};
	Value **own = NEW_N(e->arena, Value *, node->ninput + 1);
	Value **inputs = group ? group->inputs : own;
	int count = group ? group->ninput : node_meaning_inputs(node, own);
	for (int i = 0; i < count; i++)
		buf_printf(&buf, "%s%s is %%%s%s", i ? ", " : "", question->program->inputs[i]->name,
		           inputs[i]->name, question->constant[i] ? ", known when compiling" : "");
	return buf_text(&buf);
}

/* The node means this, and nothing was derived from it. */
static void
show_meaning(Page *page, const Node *node)
{
	const Explained *e = page->e;
	if (node_has_meaning(node) && !node->nregion)
		show_step(page, "given", NULL, "what the node means", NULL, node_meaning(e->graph, node));
}

static void
show_answer(Page *page, const Node *node, const NodeGroup *group, const Question *question)
{
	const Explained *e = page->e;
	const char *why = NULL;
	if (group)
		report_text(page->report, "together", "together", group->names);
	Answer answer = answer_of(e, question->key);
	const Derivation *way = way_of(e, question, &answer, &why);
	report_text(page->report, "inputs", "inputs", inputs_text(e, node, group, question));
	report_text(page->report, "key", "asked", question->key);
	report_text(page->report, "chosen", "chosen", answer.chosen ? answer.chosen : "nothing");
	if (way && answer.taken > 0 && answer.given > 0)
		report_text(page->report, "gain", "gain",
		            arena_printf(e->arena, "%.2f: %.1f us, and %.1f us as given",
		                         answer.given / answer.taken, answer.taken, answer.given));
	report_text(page->report, "why", why ? "why" : NULL, why);
	if (way)
		show_parts(page, question, show_steps(page, question, way));
	else
		show_meaning(page, node);
	show_measured(page, &answer);
}

/* The node as the pass gets it: that of the name, or the one that it was joined to. */
static const Node *
node_from(const Region *region, const char *origin)
{
	for (const Node *node = NULL; (node = region_step(region, node));)
		for (int i = 0; i < node->origins.count; i++)
			if (strcmp(node->origins.data[i], origin) == 0)
				return node;
	return NULL;
}

static const Node *
find_node(const Explained *e, const char *name)
{
	bool is_known = false;
	const Node *node = node_named(e->graph, name);
	node = node ? node : node_from(e->graph->body, name);
	for (int i = 0; i < e->names.count; i++)
		is_known |= strcmp(e->names.data[i], name) == 0;
	if (!node && !is_known)
		fail_unknown(&(Loc){.file = e->path}, "node", name, e->names.count, e->names.data,
		             arena_printf(e->arena, "explain %s", e->options.args.data[0]));
	return node;
}

static void
explain_node(const Explained *e, const Options *options)
{
	Question question;
	Page page = {.e = e, .options = options, .report = report_new(options)};
	const Node *node = find_node(e, options->node), *given = node_named(e->given, options->node);
	const Plan *plan = explained_plan(e);
	report_text(page.report, "model", "model", e->path);
	report_text(page.report, "node", "node", node ? node_called(node) : options->node);
	report_text(page.report, "op", "operator", node ? node->op->name : "none is left");
	if (plan && given)
		report_text(page.report, "became", "became", fate_text(e, plan, given));
	if (node && node_named(e->graph, options->node) != node)
		report_text(page.report, "joined", "joined",
		            arena_printf(e->arena, "%s, to this node, by a pass before", options->node));
	if (options->json)
		page.steps =
			report_table(page.report, "derivation", "step|rule|law|numerics|arguments|program");
	const NodeGroup *group = node ? merged_with(e, node) : NULL;
	const char *why = group  ? NULL
	                  : node ? derive_question(e->context, e->graph, node, &question)
	                         : "a pass before DeriveExpressions computed it or joined it to others";
	if (why) {
		report_text(page.report, "why", "not searched", why);
		if (node)
			show_meaning(&page, node);
	} else {
		show_answer(&page, node, group, group ? group->question : &question);
	}
	if (plan && given) {
		report_body(page.report, NULL, page.has_gap ? "" : "\n");
		fates_history(e, page.report, NULL, given);
		report_steps(page.report, e->arena, plan, given);
		report_speeds(e, page.report, plan, given, NULL);
	}
	report_print(page.report);
}

int
verb_explain(const Options *options)
{
	Explained e = explained_read(options);
	if (options->profile && !e.bundle)
		fail_as(FAIL_USAGE, NULL, "--profile runs a bundle: expected FILE.twb");
	if (options->fusion.count || options->step >= 0)
		fates_asked(&e, options);
	else if (options->node)
		explain_node(&e, options);
	else
		explain_all(&e, report_new(options));
	return 0;
}
