/* tilewright list: the compiler's tables. With a name, everything of that row. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/report.h"
#include "expr/stage/reduce.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "graph/op.h"
#include "graph/text.h"
#include "host/host.h"
#include "passes/manager.h"
#include "target/target.h"

typedef struct List {
	const char *name, *doc;
	void (*table)(const Options *options, Report *report);
	bool (*row)(const Options *options, Report *report, const char *name); /* NULL: none */
} List;

static const char *
meaning_word(const OpInfo *op)
{
	static const char *const words[] = {
		[MEANING_FORMULA] = "formula", [MEANING_BUILD] = "builder", [MEANING_HOST] = "host",
		[MEANING_CONTROL] = "control", [MEANING_NODES] = "nodes",   [MEANING_UNKNOWN] = "none",
	};
	bool is_missing = op->meaning == MEANING_HOST && !host_find(op->name);
	return is_missing ? "none yet" : words[op->meaning];
}

static void
list_ops(const Options *options, Report *report)
{
	const OpTable *ops = op_table_new(options->arena);
	Table *table = report_table(report, "ops", NULL);
	table_column(table, "name", "operator", false);
	table_column(table, "since", "since", true);
	table_column(table, "meaning", "meaning", false);
	table_column(table, "doc", "", false);
	for (int code = 1; code < OP_COUNT; code++) {
		const OpInfo *op = op_row(ops, (OpCode)code);
		table_text(table, op_text(options->arena, op));
		table_number(table, op->since, "%.0f");
		table_text(table, meaning_word(op));
		table_text(table, op->doc);
	}
}

/* The stages of a row's first example. */
static void
print_example(Buf *buf, const OpInfo *op)
{
	static const int64_t extents[26] = {2, 3, 4, 5, 6, 7};
	const char *text = op_example(buf->arena, op, 0, extents);
	if (!text)
		return;
	Graph *graph = graph_parse(buf->arena, "example", text);
	graph_infer(graph);
	buf_puts(buf, text);
	program_print(buf, node_meaning(graph, graph->body->last));
}

/* By the spelling of texts, or by the bare name, in any case. */
static bool
show_op(const Options *options, Report *report, const char *name)
{
	const OpTable *ops = op_table_new(options->arena);
	for (int code = 1; code < OP_COUNT; code++) {
		const OpInfo *op = op_row(ops, (OpCode)code);
		if (strcasecmp(op->name, name) != 0 && strcasecmp(op_text(options->arena, op), name) != 0)
			continue;
		Buf buf = {.arena = options->arena};
		op_print(&buf, ops, op);
		print_example(&buf, op);
		report_text(report, "text", NULL, buf_text(&buf));
		report_say(options, "%s", buf_text(&buf));
		return true;
	}
	return false;
}

static void
list_passes(const Options *options, Report *report)
{
	static const char *const ports[] = {"standard", "private", "hardware"};
	static const char *const numerics[] = {"exact", "reassociating", "finite", "approximate"};
	Table *table = report_table(report, "passes", NULL);
	table_column(table, "name", "pass", false);
	table_column(table, "ir", "on", false);
	table_column(table, "level", "-O", true);
	table_column(table, "portability", "leaves", false);
	table_column(table, "numerics", "numerics", false);
	table_column(table, "doc", "", false);
	const PassInfo *pass;
	for (int i = 0; (pass = pass_at(i)); i++) {
		table_text(table, pass->name);
		table_text(table, pass_ir_name(pass->ir));
		table_number(table, pass->level, "%.0f");
		table_text(table, ports[pass->portability]);
		table_text(table, numerics[pass->numerics]);
		table_text(table, pass->doc);
	}
	(void)options;
}

static void
list_devices(const Options *options, Report *report)
{
	const Device *native = device_native();
	Table *table = report_table(report, "devices", NULL);
	table_column(table, "name", "device", false);
	table_column(table, "here", "here", false);
	table_column(table, "gflops", "GFLOP/s", true);
	table_column(table, "bandwidth", "GB/s", true);
	table_column(table, "doc", "", false);
	for (int i = 0; i < device_count(); i++) {
		const Device *device = device_at(i);
		bool runs = device->march && device_runs_here(device);
		table_text(table, device->name);
		table_text(table, device == native ? "native" : runs ? "runs" : "");
		table_number(table, device->gflops, "%.0f");
		table_number(table, device->bandwidth, "%.1f");
		table_text(table, device->doc);
	}
	(void)options;
}

static void
list_scalars(const Options *options, Report *report)
{
	Table *table = report_table(report, "scalars", NULL);
	table_column(table, "name", "operation", false);
	table_column(table, "text", "text", false);
	table_column(table, "operands", "operands", true);
	table_column(table, "cost", "cost", true);
	table_column(table, "ulp", "ulp", true);
	table_column(table, "doc", "", false);
	for (int op = 0; op < EX_COUNT; op++) {
		const ScalarInfo *info = scalar_info((ExprOp)op);
		if (!info)
			continue;
		table_text(table, info->name);
		table_text(table, info->text);
		table_number(table, info->arity, "%.0f");
		table_number(table, info->cost, "%.0f");
		table_number(table, info->ulp, "%.0f");
		table_text(table, info->doc);
	}
	(void)options;
}

static void
list_reductions(const Options *options, Report *report)
{
	static const char *const freedoms[] = {"free", "exact", "ordered"};
	Table *table = report_table(report, "reductions", NULL);
	table_column(table, "name", "reduction", false);
	table_column(table, "states", "states", true);
	table_column(table, "order", "order", false);
	table_column(table, "identity", "of no terms", false);
	table_column(table, "doc", "", false);
	for (int op = 0; op < REDUCE_COUNT; op++) {
		const ReduceInfo *info = reduce_info((ReduceOp)op);
		table_text(table, info->text);
		table_number(table, info->states, "%.0f");
		table_text(table, freedoms[info->freedom]);
		table_text(table, info->identity);
		table_text(table, info->doc);
	}
	(void)options;
}

static void
list_dtypes(const Options *options, Report *report)
{
	Table *table = report_table(report, "dtypes", NULL);
	table_column(table, "name", "type", false);
	table_column(table, "bits", "bits", true);
	table_column(table, "use", "use", false);
	for (int type = 1; type < DT_COUNT; type++) {
		DType t = (DType)type;
		table_text(table, dtype_name(t));
		table_number(table, dtype_bits(t), "%.0f");
		table_text(table, dtype_is_arithmetic(t)   ? "arithmetic"
		                  : dtype_class(t) == DC_S ? "storage: conversions only"
		                                           : "host operators only");
	}
	(void)options;
}

static const List lists[] = {
	{"ops", "operators; with a name, its row and expression", list_ops, show_op},
	{"passes", "what -O, --passes and --disable choose from", list_passes, NULL},
	{"devices", "machines; --target accepts those that are CPUs", list_devices, NULL},
	{"scalars", "operations of expressions", list_scalars, NULL},
	{"reductions", "how the terms of a reduction combine", list_reductions, NULL},
	{"dtypes", "element types", list_dtypes, NULL},
};

static const List *
find_list(const char *name)
{
	const char *names[countof(lists)];
	for (size_t i = 0; i < countof(lists); i++) {
		names[i] = lists[i].name;
		if (strcmp(lists[i].name, name) == 0)
			return &lists[i];
	}
	const char *near = near_name(name, countof(lists), names);
	fail_as(FAIL_USAGE, NULL, "there is no list '%s'%s%s%s; try: tilewright list", name,
	        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

int
verb_list(const Options *options)
{
	Report *report = report_new(options);
	if (options->args.count == 0) {
		Table *table = report_table(report, "lists", NULL);
		table_column(table, "name", "tilewright list", false);
		table_column(table, "doc", "", false);
		for (size_t i = 0; i < countof(lists); i++) {
			table_text(table, lists[i].name);
			table_text(table, lists[i].doc);
		}
		report_print(report);
		return 0;
	}
	const List *list = find_list(options->args.data[0]);
	if (options->args.count == 1)
		list->table(options, report);
	else if (!list->row)
		fail_as(FAIL_USAGE, NULL, "list %s takes no name", list->name);
	else if (!list->row(options, report, options->args.data[1]))
		fail_as(FAIL_USAGE, NULL, "%s has no row '%s'", list->name, options->args.data[1]);
	report_print(report);
	return 0;
}
