/* tilewright explain: what DeriveExpressions answered for each node, and how the answer follows.
 *
 * Nothing is searched or measured: what was chosen is applied again, step by step.
 */
#include <stdio.h>
#include <string.h>

#include "cli/explained.h"
#include "cli/inspect.h"
#include "cli/nodes.h"
#include "cli/parts.h"
#include "cli/report.h"
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
	VendorForms *forms = vendor_forms_new(arena);
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
	Map counts; /* why nodes ask nothing -> how many, ints */
	Table *answers;
} Reasons;

static void
count_reason(Arena *arena, Map *counts, const char *why)
{
	int *count = map_find(counts, why);
	if (!count) {
		count = NEW(arena, int);
		map_set(counts, why, count);
	}
	(*count)++;
}

static void
answer_row(const Explained *e, Reasons *reasons, const Node *node, const Question *question,
           bool is_merged)
{
	const char *why = NULL;
	Answer answer = answer_of(e, question->key);
	bool is_known = answer.chosen || e->bundle || !e->is_asked;
	const char *became = is_known ? AS_GIVEN : table_empty;
	const Derivation *way = way_of(e, question, &answer, &why);
	if (way)
		became = parts_text(
			e, question, derivation_replay(e->arena, question->program, question->constant, way));
	if (is_merged)
		became = arena_printf(e->arena, "with others: %s", became);
	if (answer.taken > 0 && answer.given > 0)
		table_row(reasons->answers, "%s|%s|%s|%.1f|%.1f|%.2f|%s", node_called(node), node->op->name,
		          became, answer.taken, answer.given, answer.given / answer.taken,
		          way ? answer.chosen : why);
	else
		table_row(reasons->answers, "%s|%s|%s|%s|%s|%s|%s", node_called(node), node->op->name,
		          became, table_empty, table_empty, table_empty, way ? answer.chosen : why);
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
			count_reason(e->arena, &reasons->counts, why);
		else
			answer_row(e, reasons, node, group ? group->question : &question, group != NULL);
	}
}

static void
explain_all(const Explained *e, Report *report)
{
	Reasons reasons = {.counts = {.arena = e->arena}};
	report_text(report, "model", "model", e->path);
	reasons.answers =
		report_table(report, "nodes",
	                 "node|op:operator|became|>us|>given_us:as given|>gain|steps:steps, or why");
	answer_rows(e, &reasons, e->graph->body);
	Table *others = report_table(report, "others", ">nodes:nodes|why:not searched, because");
	for (int i = 0; i < reasons.counts.count; i++)
		table_row(others, "%.0f|%s", (double)*(int *)reasons.counts.entries[i].value,
		          reasons.counts.entries[i].name);
	report_print(report);
}

/* ---- one node -------------------------------------------------------------------------------- */

/* What is shown in pieces, with the text of programs between: facts, steps, tables. */
typedef struct Page {
	const Explained *e;
	const Options *options;
	Report *facts, *tables; /* as JSON one */
	bool has_tables;
	Table *steps;
} Page;

static Page
page_new(const Explained *e, const Options *options)
{
	Page page = {.e = e, .options = options, .facts = report_new(options)};
	page.tables = options->json ? page.facts : report_new(options);
	return page;
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
	printf("\n%s: %s\n", text, rule ? rule->doc : law);
	if (rule)
		printf("  (%s; %s)\n", arguments, rule->numerics);
	fputs(buf_text(&buf), stdout);
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
	VendorForms *forms = vendor_forms_new(arena);
	page->has_tables = true;
	Table *table = report_table(page->tables, "parts", "part:stage|becomes");
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
	page->has_tables = true;
	Table *table = report_table(page->tables, "measured", ">us:measured us|chosen|steps");
	for (int i = 0; i < answer->measured.count; i++) {
		const Measured *m = &answer->measured.data[i];
		const char *mark = strcmp(m->way, answer->chosen) == 0 ? "chosen" : "";
		if (m->us > 0)
			table_row(table, "%.1f|%s|%s", m->us, mark, m->way);
		else
			table_row(table, "%s|%s|%s", table_empty, mark, m->way);
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
		report_text(page->facts, "together", "together", group->names);
	Answer answer = answer_of(e, question->key);
	const Derivation *way = way_of(e, question, &answer, &why);
	report_text(page->facts, "inputs", "inputs", inputs_text(e, node, group, question));
	report_text(page->facts, "key", "asked", question->key);
	report_text(page->facts, "chosen", "chosen", answer.chosen ? answer.chosen : "nothing");
	if (way && answer.taken > 0 && answer.given > 0)
		report_text(page->facts, "gain", "gain",
		            arena_printf(e->arena, "%.2f: %.1f us, and %.1f us as given",
		                         answer.given / answer.taken, answer.taken, answer.given));
	report_text(page->facts, "why", why ? "why" : NULL, why);
	if (!page->options->json)
		report_print(page->facts);
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
	for (const Node *node = region->first; node; node = node->next) {
		for (int i = 0; i < node->origins.count; i++)
			if (strcmp(node->origins.data[i], origin) == 0)
				return node;
		for (int i = 0; i < node->nregion; i++) {
			const Node *found = node_from(node->regions[i], origin);
			if (found)
				return found;
		}
	}
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
	Page page = page_new(e, options);
	const Node *node = find_node(e, options->node);
	report_text(page.facts, "model", "model", e->path);
	report_text(page.facts, "node", "node", node ? node_called(node) : options->node);
	report_text(page.facts, "op", "operator", node ? node->op->name : "none is left");
	if (node && node_named(e->graph, options->node) != node)
		report_text(page.facts, "joined", "joined",
		            arena_printf(e->arena, "%s, to this node, by a pass before", options->node));
	if (options->json)
		page.steps =
			report_table(page.facts, "derivation", "step|rule|law|numerics|arguments|program");
	const NodeGroup *group = node ? merged_with(e, node) : NULL;
	const char *why = group  ? NULL
	                  : node ? derive_question(e->context, e->graph, node, &question)
	                         : "a pass before DeriveExpressions computed it or joined it to others";
	if (why) {
		report_text(page.facts, "why", "not searched", why);
		if (!options->json)
			report_print(page.facts);
		if (node)
			show_meaning(&page, node);
	} else {
		show_answer(&page, node, group, group ? group->question : &question);
	}
	if (e->bundle && node && node->loc.node && e->bundle->manifest->ntarget > 0) {
		page.has_tables = true;
		report_steps(page.tables, e->arena, bundle_plan(e->arena, e->bundle, 0), node->loc.node);
	}
	if (page.has_tables)
		report_say(options, "\n");
	if (page.has_tables || options->json)
		report_print(page.tables);
}

int
verb_explain(const Options *options)
{
	Explained e = explained_read(options);
	if (options->node)
		explain_node(&e, options);
	else
		explain_all(&e, report_new(options));
	return 0;
}
