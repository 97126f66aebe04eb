/* tilewright list: the compiler's tables. With a name, everything of that row. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/report/report.h"
#include "einnet/rules.h"
#include "expr/stage/reduce.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "graph/op.h"
#include "graph/text.h"
#include "passes/manager.h"
#include "target/target.h"
#include "target/vendor.h"
#include "target/warp.h"

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
		[MEANING_CONTROL] = "control", [MEANING_NODES] = "nodes",   [MEANING_MISSING] = "none yet",
		[MEANING_UNKNOWN] = "none",
	};
	return words[op->meaning];
}

static void
list_ops(const Options *options, Report *report)
{
	const OpTable *ops = op_table_new(options->arena);
	Table *table = report_table(report, "ops", "name:operator|>since|meaning|doc:");
	for (int code = 1; code < OP_COUNT; code++) {
		const OpInfo *op = op_row(ops, (OpCode)code);
		table_row(table, "%s|%.0f|%s|%s", op_text(options->arena, op), (double)op->since,
		          meaning_word(op), op->doc);
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
		report_body(report, "text", buf_text(&buf));
		return true;
	}
	return false;
}

static _Noreturn void
unknown_operator(const Options *options, const char *name)
{
	const char *names[OP_COUNT];
	int count = 0;
	const OpTable *ops = op_table_new(options->arena);
	for (int code = 1; code < OP_COUNT; code++)
		names[count++] = op_row(ops, (OpCode)code)->name;
	fail_unknown(NULL, "operator", name, count, names, "list ops");
}

static void
list_passes(const Options *options, Report *report)
{
	static const char *const ports[] = {"standard", "private", "hardware"};
	static const char *const numerics[] = {"exact", "reassociating", "finite", "approximate"};
	Table *table = report_table(report, "passes",
	                            "name:pass|ir:on|>level:-O|portability:leaves|numerics|doc:");
	const PassInfo *pass;
	for (int i = 0; (pass = pass_at(i)); i++)
		table_row(table, "%s|%s|%.0f|%s|%s|%s", pass->name, pass_ir_name(pass->ir),
		          (double)pass->level, ports[pass->portability], numerics[pass->numerics],
		          pass->doc);
	const PassAlias *alias;
	table = report_table(report, "aliases", "name:alias|passes|doc:");
	for (int i = 0; (alias = pass_alias_at(i)); i++)
		table_row(table, "%s|%s|%s", alias->name, *alias->passes ? alias->passes : "none",
		          alias->doc);
	(void)options;
}

static void
list_settings(const Options *options, Report *report)
{
	Table *table = report_table(report, "settings", "name:--config|value|doc:");
	const PassSetting *setting;
	for (int i = 0; (setting = pass_setting_at(i)); i++)
		table_row(table, "%s|%s|%s",
		          arena_printf(options->arena, "%s.%s", setting->pass, setting->key),
		          setting->value, setting->doc);
}

static void
list_rules(const Options *options, Report *report)
{
	static const char *const kinds[] = {
		[RULE_exploring] = "explores", [RULE_joining] = "joins", [RULE_converging] = "converges"};
	Table *table = report_table(report, "rules", "name:rule|kind|numerics|args:arguments|doc:");
	for (int k = 0; k < RULE_COUNT; k++) {
		const RuleInfo *rule = rule_info((RuleCode)k);
		table_row(table, "%s|%s|%s|%s|%s", rule->name, kinds[rule->kind], rule->numerics,
		          rule->args, rule->doc);
	}
	(void)options;
}

static void
list_devices(const Options *options, Report *report)
{
	const Device *native = device_native();
	Table *table =
		report_table(report, "devices", "name:device|here|>gflops:GFLOP/s|>bandwidth:GB/s|doc:");
	for (int i = 0; i < device_count(); i++) {
		const Device *device = device_at(i);
		bool runs = device_runs_here(device);
		table_row(table, "%s|%s|%.0f|%.1f|%s", device->name,
		          device == native ? "native"
		          : runs           ? "runs"
		                           : "",
		          device->gflops, device->bandwidth, device->doc);
	}
	(void)options;
}

static void
list_scalars(const Options *options, Report *report)
{
	Table *table = report_table(report, "scalars", "name:operation|text|>operands|>cost|>ulp|doc:");
	for (int op = 0; op < EX_COUNT; op++) {
		const ScalarInfo *info = scalar_info((ExprOp)op);
		if (info)
			table_row(table, "%s|%s|%.0f|%.0f|%.0f|%s", info->name, info->text, (double)info->arity,
			          (double)info->cost, (double)info->ulp, info->doc);
	}
	(void)options;
}

static void
list_reductions(const Options *options, Report *report)
{
	static const char *const freedoms[] = {"free", "exact", "ordered"};
	Table *table = report_table(report, "reductions",
	                            "name:reduction|>states|order|identity:of no terms|doc:");
	for (int op = 0; op < REDUCE_COUNT; op++) {
		const ReduceInfo *info = reduce_info((ReduceOp)op);
		table_row(table, "%s|%.0f|%s|%s|%s", info->text, (double)info->states,
		          freedoms[info->freedom], info->identity, info->doc);
	}
	(void)options;
}

static void
list_dtypes(const Options *options, Report *report)
{
	Table *table = report_table(report, "dtypes", "name:type|>bits|use");
	for (int type = 1; type < DT_COUNT; type++) {
		DType t = (DType)type;
		table_row(table, "%s|%.0f|%s", dtype_name(t), (double)dtype_bits(t),
		          dtype_is_arithmetic(t)   ? "arithmetic"
		          : dtype_class(t) == DC_S ? "storage: conversions only"
		                                   : "host operators only");
	}
	(void)options;
}

static void
list_warps(const Options *options, Report *report)
{
	Table *table = report_table(report, "warps", "name:operation|>capability|doc:");
	for (int i = 0; i < warp_op_count(); i++) {
		const WarpOp *op = warp_op_at(i);
		table_row(table, "%s|%.0f|%s", op->name, (double)op->capability, op->doc);
	}
	(void)options;
}

/* "f32", or where they differ "u8, i8, in i32, i32": operands, in what is summed, the result. */
static const char *
types_text(Arena *arena, const VendorRow *row)
{
	const char *const *in = row->operands;
	if (!strcmp(in[0], in[1]) && !strcmp(in[0], row->sum) && !strcmp(in[0], row->result))
		return in[0];
	return arena_printf(arena, "%s, %s, in %s, %s", in[0], in[1], row->sum, row->result);
}

/* The main stage, and what must follow it. */
static const char *
form_text(Arena *arena, const VendorRow *row)
{
	bool is_alone = !row->epilogue || strcmp(row->epilogue, "x") == 0;
	return is_alone ? row->stage : arena_printf(arena, "%s, then %s", row->stage, row->epilogue);
}

static void
list_forms(const Options *options, Report *report)
{
	Table *table = report_table(report, "forms", "name:form|by|types|stage:expression");
	for (int i = 0; i < vendor_count(); i++) {
		const VendorRow *row = vendor_at(i);
		const char *text = row->stage ? row->stage : row->program;
		if (text)
			table_row(table, "%s|%s|%s|%s", row->name, row->library ? row->library : "our kernels",
			          types_text(options->arena, row),
			          row->stage ? form_text(options->arena, row) : text);
	}
}

static const List lists[] = {
	{"ops", "operators; with a name, its row and expression", list_ops, show_op},
	{"passes", "what -O, --passes and --disable choose from", list_passes, NULL},
	{"settings", "what --config says to a pass", list_settings, NULL},
	{"rules", "laws of derivation, for derive and DeriveExpressions", list_rules, NULL},
	{"devices", "machines; --target accepts those that are CPUs", list_devices, NULL},
	{"scalars", "operations of expressions", list_scalars, NULL},
	{"reductions", "how the terms of a reduction combine", list_reductions, NULL},
	{"dtypes", "element types", list_dtypes, NULL},
	{"forms", "what stages are matched with: calls of libraries, forms of our kernels", list_forms,
     NULL},
	{"warps", "operations that the threads of a GPU do together", list_warps, NULL},
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
	fail_unknown(NULL, "list", name, countof(lists), names, "list");
}

int
verb_list(const Options *options)
{
	Report *report = report_new(options);
	if (options->args.count == 0) {
		Table *table = report_table(report, "lists", "name:tilewright list|doc:");
		for (size_t i = 0; i < countof(lists); i++)
			table_row(table, "%s|%s", lists[i].name, lists[i].doc);
		report_print(report);
		return 0;
	}
	const List *list = find_list(options->args.data[0]);
	if (options->args.count == 1)
		list->table(options, report);
	else if (!list->row)
		fail_as(FAIL_USAGE, NULL, "list %s takes no name", list->name);
	else if (!list->row(options, report, options->args.data[1]))
		unknown_operator(options, options->args.data[1]);
	report_print(report);
	return 0;
}
