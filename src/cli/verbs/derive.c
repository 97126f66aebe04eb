/* tilewright derive: what a search finds for one expression, and how it follows.
 *
 * The search is that of the pass DeriveExpressions; here it is shown, recorded and replayed.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/report/nodes.h"
#include "cli/report/report.h"
#include "driver/compile.h"
#include "driver/measure/trial.h"
#include "driver/progress.h"
#include "driver/texts.h"
#include "einnet/rules.h"
#include "einnet/search.h"
#include "expr/stage/canon.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "program/forms.h"

enum { SHOWN = 8 };

typedef struct Question {
	const Options *options;
	Arena *arena;
	const Program *program;
	const bool *constant;
	const Target *target;
	FileWriter *record, *picture, *model; /* --derivation, --dot, -o */
	Arena *lines;                         /* of a line of it */
	Progress progress;
	VEC(Visit) visits;
} Question;

/* ---- rules by name --------------------------------------------------------------------------- */

/* --rules FILE: a name on each line; what stands behind a # is for people. */
static uint32_t
rules_of_file(Arena *arena, const char *path)
{
	uint32_t bits = 0;
	Loc loc = {.file = path};
	const char *text = file_text(arena, path);
	for (loc.line = 1; *text; loc.line++) {
		size_t length = strcspn(text, "\n"), named = strcspn(text, "#\n");
		const char *from = text + strspn(text, " \t\r");
		const char *end = text + named;
		while (end > from && strchr(" \t\r", end[-1]))
			end--;
		if (end > from)
			bits |= rule_bit(&loc, arena_strndup(arena, from, (size_t)(end - from)));
		text += length + (text[length] == '\n');
	}
	if (!bits)
		fail_as(FAIL_USAGE, &(Loc){.file = path}, "no rule is named: expected one on each line");
	return bits;
}

/* --without and --rules: the rules that a search leaves out. Fails on a name that no exploring rule
 * has, of a file with the line. */
static uint32_t
rules_left_out(const Options *options)
{
	uint32_t bits = options->rules ? ~rules_of_file(options->arena, options->rules) : 0;
	for (int i = 0; i < options->without.count; i++)
		bits |= rule_bit(NULL, options->without.data[i]);
	return bits;
}

/* ---- what is asked --------------------------------------------------------------------------- */

static double
work_of(const Target *target, const Program *program)
{
	double work = 0;
	for (int s = 0; s < program->nstage; s++)
		if (stage_is_product(program->stages[s]))
			work += (double)probe_dim(target, stage_points(program->ctx, program->stages[s]));
	return work;
}

/* What can be searched: without it there is no expression to write anything about. */
static const Node *
node_asked(const Question *d, const Graph *graph)
{
	const char *name = d->options->node;
	const Node *node = node_named(graph, name);
	StrVec names = {0};
	node_names(d->arena, graph, &names);
	if (!node)
		fail_unknown(&(Loc){.file = graph->file}, "node", name, names.count, names.data,
		             arena_printf(d->arena, "print %s", graph->file));
	if (!node_has_meaning(node))
		fail_unsupported(&node->loc, "only operators that are expressions can be derived from");
	return node;
}

/* The one with the most products. */
static const Node *
node_of_most_work(const Question *d, const Graph *graph)
{
	const Node *found = NULL;
	double most = 0;
	for (const Node *node = graph->body->first; node; node = node->next) {
		double work = node_has_meaning(node) ? work_of(d->target, node_meaning(graph, node)) : 0;
		if (work > most) {
			most = work;
			found = node;
		}
	}
	if (!found)
		fail_as(FAIL_USAGE, NULL, "%s: no node is a sum of products; --node names another",
		        graph->file);
	return found;
}

static void
read_node(Question *d, const char *path)
{
	options_refuse(
		d->options, OF_MODEL,
		arena_printf(d->arena, "%s is a model; its constants are known (--fix makes more)", path));
	Graph *graph = model_read(d->options, d->arena, path);
	graph_infer(graph);
	d->target = target_new(d->options, d->arena, target_name(d->options, 0), graph);
	const Node *node = d->options->node ? node_asked(d, graph) : node_of_most_work(d, graph);
	d->program = node_meaning(graph, node);
	Value **inputs = NEW_N(d->arena, Value *, node->ninput + 1);
	int count = node_meaning_inputs(node, inputs);
	bool *constant = NEW_N(d->arena, bool, count + 1);
	for (int i = 0; i < count; i++)
		constant[i] = inputs[i]->constant != NULL;
	d->constant = constant;
}

static int
input_named(const Question *d, const char *name)
{
	const char **names = NEW_N(d->arena, const char *, d->program->ninput + 1);
	for (int i = 0; i < d->program->ninput; i++) {
		names[i] = d->program->inputs[i]->name;
		if (strcmp(names[i], name) == 0)
			return i;
	}
	fail_unknown(NULL, "input", name, d->program->ninput, names, NULL);
}

static void
read_text(Question *d, const char *path, const char *text)
{
	options_refuse(d->options, OF_EXPR, arena_printf(d->arena, "%s is an expression", path));
	d->program = text_program(d->arena, path, text);
	Target *target = NEW(d->arena, Target);
	*target = (Target){.device = device_of(target_name(d->options, 0))};
	d->target = target;
	bool *constant = NEW_N(d->arena, bool, d->program->ninput + 1);
	for (int i = 0; i < d->options->constant.count; i++)
		constant[input_named(d, d->options->constant.data[i])] = true;
	d->constant = constant;
}

static void
read_subject(Question *d)
{
	const char *arg = d->options->args.data[0];
	if (strncmp(arg, "expr ", 5) == 0) {
		read_text(d, "argument", arg);
		return;
	}
	Bytes bytes = file_map(d->arena, arg);
	if (file_kind(arg, bytes) == FILE_EXPR)
		read_text(d, arg, arena_strndup(d->arena, (const char *)bytes.data, bytes.size));
	else
		read_node(d, arg);
	d->program = program_inline_stages(d->arena, d->program);
}

/* Before there is anything to write, so that a long search does not end in nothing. */
static void
open_files(Question *d)
{
	const Options *o = d->options;
	d->record = o->derivation && !o->replay ? file_create(d->arena, o->derivation) : NULL;
	d->picture = o->dot && !o->replay ? file_create(d->arena, o->dot) : NULL;
	d->model = o->output ? file_create(d->arena, o->output) : NULL;
}

static void
write_file(FileWriter *file, const Buf *text)
{
	file_put(file, text->data, text->size);
	file_commit(file);
}

/* ---- records --------------------------------------------------------------------------------- */

static const char *const fates[] = {"kept", "met before", "too dear", "candidate"};

static const char *
step_text(Arena *arena, const RuleStep *step)
{
	Buf buf = {.arena = arena};
	rule_print(&buf, step);
	return buf_text(&buf);
}

/* One line of --derivation. */
static void
record_line(Question *d, const Visit *visit)
{
	ArenaMark mark = arena_mark(d->lines);
	Buf text = {.arena = d->lines}, line = {.arena = d->lines};
	program_print(&text, visit->program);
	buf_printf(&line,
	           "{\"state\": %d, \"parent\": %d, \"depth\": %d, \"step\": \"%s\", "
	           "\"fate\": \"%s\", \"us\": %.3f, \"program\": \"",
	           visit->state, visit->parent, visit->depth,
	           visit->step ? step_text(d->lines, visit->step) : "", fates[visit->fate],
	           visit->seconds * 1e6);
	for (const char *c = buf_text(&text); *c; c++)
		if (*c == '\n')
			buf_puts(&line, "\\n");
		else
			buf_printf(&line, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
	buf_puts(&line, "\"}\n");
	file_put(d->record, line.data, line.size);
	arena_release(d->lines, mark);
}

static void
record(void *arg, const Visit *visit)
{
	Question *d = arg;
	Visit kept = *visit;
	kept.program = NULL; /* lives until its state is done */
	if (visit->step)
		kept.step = arena_memdup(d->arena, visit->step, sizeof *visit->step);
	if (visit->fate != FATE_met)
		vec_push(d->arena, &d->visits, kept);
	if (d->record)
		record_line(d, visit);
}

static void
show_progress(void *arg, int done, int total)
{
	Question *d = arg;
	progress_show(&d->progress, "exploring", done, total);
}

/* The states on the way to candidates. */
static void
write_dot(Question *d)
{
	Buf out = {.arena = d->arena};
	int count = 0;
	for (int i = 0; i < d->visits.count; i++)
		count = d->visits.data[i].state >= count ? d->visits.data[i].state + 1 : count;
	bool *on_way = NEW_N(d->arena, bool, count + 1);
	const Visit **states = NEW_N(d->arena, const Visit *, count + 1);
	for (int i = 0; i < d->visits.count; i++)
		if (d->visits.data[i].fate == FATE_kept)
			states[d->visits.data[i].state] = &d->visits.data[i];
	for (int i = 0; i < d->visits.count; i++)
		for (int s = d->visits.data[i].fate == FATE_candidate ? d->visits.data[i].state : -1;
		     s >= 0; s = states[s]->parent)
			on_way[s] = true;
	buf_puts(&out, "digraph derivation {\n  node [shape=box, fontname=monospace];\n");
	for (int s = 0; s < count; s++) {
		if (!on_way[s])
			continue;
		buf_printf(&out, "  s%d [label=\"%d\"];\n", s, s);
		if (states[s]->parent >= 0)
			buf_printf(&out, "  s%d -> s%d [label=\"%s\"];\n", states[s]->parent, s,
			           step_text(d->arena, states[s]->step));
	}
	for (int i = 0; i < d->visits.count; i++)
		if (d->visits.data[i].fate == FATE_candidate)
			buf_printf(&out,
			           "  c%d [label=\"%.1f us\", shape=ellipse];\n  s%d -> c%d [style=dashed];\n",
			           i, d->visits.data[i].seconds * 1e6, d->visits.data[i].state, i);
	buf_puts(&out, "}\n");
	write_file(d->picture, &out);
}

/* ---- results --------------------------------------------------------------------------------- */

static void
show_candidates(Question *d, Report *report, const SearchResult *result)
{
	Table *table =
		report_table(report, "candidates", ">us|>calls|>kernels|>mflop:Mflop|>kbytes:kB|steps");
	for (int i = 0; i < result->list.count && i < SHOWN; i++) {
		const Candidate *c = &result->list.data[i];
		table_row(table, "%.1f|%.0f|%.0f|%.2f|%.1f|%s", c->cost.seconds * 1e6,
		          (double)c->cost.calls, (double)c->cost.kernels, c->cost.flops * 1e-6,
		          c->cost.bytes * 1e-3, derivation_text(d->arena, &c->way));
	}
}

static void
show_program(Question *d, const char *title, const Program *program)
{
	Buf text = {.arena = d->arena};
	program_print(&text, program);
	printf("%s\n%s", title, buf_text(&text));
}

/* -o: the program as the text of a graph. */
static void
write_model(Question *d, const Program *program)
{
	Graph *graph = trial_graph(d->arena, program, d->constant, false);
	Buf text = {.arena = d->arena};
	if (!graph)
		fail_unsupported(
			NULL, "-o: the program has symbols, and only one without can be written as a model");
	graph_print(&text, graph);
	write_file(d->model, &text);
}

static void
show_counts(Report *report, const SearchResult *result, double seconds)
{
	report_number(report, "states", "programs kept", result->states, "%.0f");
	report_number(report, "met", "met before", result->met, "%.0f");
	report_number(report, "dear", "too dear", result->dear, "%.0f");
	report_number(report, "derivations", "derivations", (double)result->derivations, "%.0f");
	report_number(report, "per_second", "per second", (double)result->derivations / seconds,
	              "%.0f");
	report_number(report, "seconds", "time", seconds, "%.2f s");
}

static int
search(Question *d)
{
	const Options *o = d->options;
	d->lines = arena_new_in(d->arena, "lines");
	d->progress = progress_begin(o);
	SearchOptions options = {.target = d->target,
	                         .constant = d->constant,
	                         .depth = (int)o->depth,
	                         .states = (int)o->budget,
	                         .disabled = rules_left_out(o),
	                         .keeps_dear = o->everything,
	                         .visit = o->derivation || o->dot ? record : NULL,
	                         .progress = show_progress,
	                         .arg = d};
	open_files(d);
	double start = now_seconds();
	SearchResult result = einnet_search(d->arena, d->program->ctx, d->program, &options);
	double seconds = now_seconds() - start;
	progress_end(&d->progress);
	if (d->record)
		file_commit(d->record);
	Report *report = report_new(o);
	show_candidates(d, report, &result);
	show_counts(report, &result, seconds);
	report_print(report);
	if (!o->json && !o->quiet && result.is_cut)
		printf("\nthere were more than --budget allows\n");
	if (!o->json && !o->quiet && result.list.count)
		show_program(d, "\nthe least:", result.list.data[0].program);
	if (o->dot)
		write_dot(d);
	if (o->output)
		write_model(d, result.list.data[0].program);
	return 0;
}

/* ---- replay ---------------------------------------------------------------------------------- */

/* "split_sum 0 3; converge 1", with the program after each. */
static void
show_step(Question *d, Table *steps, const char *step, const Program *program)
{
	Buf text = {.arena = d->arena};
	program_print(&text, program);
	if (d->options->json)
		table_row(steps, "%s|%s", step, buf_text(&text));
	else
		show_program(d, arena_printf(d->arena, "%s:", step), program);
}

static int
replay(Question *d)
{
	Arena *arena = d->arena;
	Derivation way;
	Reason why = NULL;
	if (!derivation_parse(arena, d->options->replay, &way))
		fail_as(FAIL_USAGE, NULL, "--replay: expected steps as derive prints them, saw '%s'",
		        d->options->replay);
	open_files(d);
	Report *report = report_new(d->options);
	Table *steps = report_table(report, "steps", "step|program");
	const Program *program = program_canon(d->program);
	show_step(d, steps, "given", program);
	for (int i = 0; i < derivation_parts(&way); i++) {
		const char *text = derivation_part_text(arena, &way, i);
		program = derivation_part(arena, program, d->constant, &way, i, &why);
		if (!program)
			fail_as(FAIL_USAGE, NULL, "--replay: '%s' does not apply there%s%s", text,
			        why ? ": " : "", why ? why : "");
		show_step(d, steps, text, program);
	}
	if (d->options->output)
		write_model(d, program);
	if (d->options->json)
		report_print(report);
	return 0;
}

int
verb_derive(const Options *options)
{
	Question d = {.options = options, .arena = options->arena};
	read_subject(&d);
	return options->replay ? replay(&d) : search(&d);
}
