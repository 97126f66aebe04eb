/* Tables, facts, JSON. */
#include "cli/report/report.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/json.h"
#include "passes/manager.h"

typedef struct Cell {
	const char *text; /* as printed */
	double number;
	bool is_number;
} Cell;

typedef struct Column {
	const char *key, *label;
	bool is_right;
} Column;

struct Table {
	Arena *arena;
	VEC(Column) columns;
	VEC(Cell) cells;
};

typedef struct Fact {
	const char *key, *label;
	Cell cell;
	Table *table;     /* or NULL */
	const char *json; /* or NULL */
	const char *body; /* or NULL */
} Fact;

struct Report {
	const Options *options;
	VEC(Fact) facts;
};

Report *
report_new(const Options *options)
{
	Report *report = NEW(options->arena, Report);
	report->options = options;
	return report;
}

static Cell
number_cell(Arena *arena, double value, const char *format)
{
	char text[64];
	size_t length = strlen(format);
	if (isnan(value))
		return (Cell){NULL, value, true};
	bool is_ms = length > 3 && strcmp(format + length - 3, " ms") == 0;
	if (is_ms && value > 0 && value < 0.1)
		return (Cell){arena_printf(arena, "%.3g us", value * 1e3), value, true};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof text, format, value);
#pragma GCC diagnostic pop
	return (Cell){arena_strdup(arena, text), value, true};
}

void
report_text(Report *report, const char *key, const char *label, const char *value)
{
	Fact fact = {.key = key, .label = label, .cell = {.text = value}};
	vec_push(report->options->arena, &report->facts, fact);
}

void
report_number(Report *report, const char *key, const char *label, double value, const char *format)
{
	Arena *arena = report->options->arena;
	Fact fact = {.key = key, .label = label, .cell = number_cell(arena, value, format)};
	vec_push(arena, &report->facts, fact);
}

void
report_json(Report *report, const char *key, const char *text)
{
	vec_push(report->options->arena, &report->facts, (Fact){.key = key, .json = text});
}

void
report_body(Report *report, const char *key, const char *text)
{
	vec_push(report->options->arena, &report->facts,
	         (Fact){.key = key, .cell = {.text = text}, .body = text});
}

/* ---- tables ---- */

/* The text up to `end` or its own end; *at is moved behind it. */
static const char *
cut(Arena *arena, const char **at, const char *end)
{
	const char *from = *at;
	size_t length = strcspn(from, end);
	*at += length + (from[length] != 0);
	return arena_strndup(arena, from, length);
}

Table *
report_table(Report *report, const char *key, const char *columns)
{
	Arena *arena = report->options->arena;
	Table *table = NEW(arena, Table);
	table->arena = arena;
	while (*columns) {
		const char *name = cut(arena, &columns, "|");
		Column column = {.is_right = *name == '>'};
		name += column.is_right;
		column.key = cut(arena, &name, ":");
		column.label = name[-1] == ':' ? name : column.key;
		vec_push(arena, &table->columns, column);
	}
	Fact fact = {.key = key, .table = table};
	vec_push(arena, &report->facts, fact);
	return table;
}

void
table_row(Table *table, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	while (*format) {
		const char *one = cut(table->arena, &format, "|");
		Cell cell;
		if (strcmp(one, "%s") == 0)
			cell = (Cell){.text = va_arg(args, const char *)};
		else
			cell = number_cell(table->arena, va_arg(args, double), one);
		vec_push(table->arena, &table->cells, cell);
	}
	va_end(args);
}

/* Characters, not bytes: continuation bytes of UTF-8 take no column. */
static int
width_of(const char *text)
{
	int width = 0;
	for (; text && *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void
print_cell(const char *text, int width, bool is_right, bool is_last)
{
	int pad = width - width_of(text);
	printf("%*s%s%*s%s", is_right ? pad : 0, "", text ? text : "", is_right || is_last ? 0 : pad,
	       "", is_last ? "\n" : "  ");
}

static void
table_print(const Table *table)
{
	int columns = table->columns.count, rows = table->cells.count / columns;
	int *width = NEW_N(table->arena, int, columns + 1);
	bool is_colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
	if (rows == 0)
		return;
	for (int c = 0; c < columns; c++) {
		width[c] = width_of(table->columns.data[c].label);
		for (int r = 0; r < rows; r++) {
			int w = width_of(table->cells.data[r * columns + c].text);
			width[c] = w > width[c] ? w : width[c];
		}
	}
	fputs(is_colour ? "\033[1m" : "", stdout);
	for (int c = 0; c < columns; c++)
		print_cell(table->columns.data[c].label, width[c], table->columns.data[c].is_right,
		           c + 1 == columns);
	fputs(is_colour ? "\033[0m" : "", stdout);
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			print_cell(table->cells.data[r * columns + c].text, width[c],
			           table->columns.data[c].is_right, c + 1 == columns);
}

/* ---- JSON ---- */

static void
put_cell(Buf *json, const Cell *cell)
{
	if (cell->is_number ? !isfinite(cell->number) : !cell->text)
		buf_puts(json, "null");
	else if (cell->is_number && fabs(cell->number) < 0x1p53 && trunc(cell->number) == cell->number)
		json_put(json, "%lld", (long long)cell->number);
	else if (cell->is_number)
		json_put(json, "%g", cell->number);
	else
		json_put(json, "%s", cell->text);
}

static void
put_table(Buf *json, const Table *table)
{
	int columns = table->columns.count, rows = table->cells.count / columns;
	buf_putc(json, '[');
	for (int r = 0; r < rows; r++) {
		buf_puts(json, r ? ", {" : "{");
		for (int c = 0; c < columns; c++) {
			json_put(json, c ? ",\n\t\t\t%s:\t" : "\n\t\t\t%s:\t", table->columns.data[c].key);
			put_cell(json, &table->cells.data[r * columns + c]);
		}
		buf_puts(json, "\n\t\t}");
	}
	buf_putc(json, ']');
}

static void
print_json(Report *report)
{
	Buf json = {.arena = report->options->arena};
	json_put(&json, "{\n\t'verb':\t%s", report->options->verb->name);
	for (int i = 0; i < report->facts.count; i++) {
		const Fact *fact = &report->facts.data[i];
		if (!fact->key)
			continue;
		json_put(&json, ",\n\t%s:\t", fact->key);
		if (fact->json)
			buf_puts(&json, fact->json);
		else if (fact->table)
			put_table(&json, fact->table);
		else
			put_cell(&json, &fact->cell);
	}
	buf_puts(&json, "\n}");
	puts(buf_text(&json));
}

void
report_print(Report *report)
{
	if (report->options->json) {
		print_json(report);
		return;
	}
	bool is_quiet = report->options->quiet;
	int width = 0;
	for (int i = 0; i < report->facts.count; i++) {
		int w = width_of(report->facts.data[i].label);
		width = w > width ? w : width;
	}
	for (int i = 0; i < report->facts.count; i++) {
		const Fact *fact = &report->facts.data[i];
		if (fact->body)
			fputs(fact->body, stdout);
		else if (fact->table && !is_quiet)
			table_print(fact->table);
		else if (fact->label && !is_quiet)
			printf("%-*s  %s\n", width, fact->label, fact->cell.text ? fact->cell.text : "");
	}
}

void
report_say(const Options *options, const char *format, ...)
{
	if (options->json || options->quiet)
		return;
	va_list args;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

const char *
size_text(Arena *arena, double bytes)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	int unit = 0;
	for (; bytes >= 1000 && unit + 1 < (int)countof(units); unit++)
		bytes /= 1000;
	return arena_printf(arena, "%.*f %s", unit && bytes < 9.95 ? 1 : 0, bytes, units[unit]);
}

const char *
bundle_sizes_text(Arena *arena, const BundleSizes *sizes)
{
	const struct {
		const char *what;
		double bytes;
	} parts[] = {
		{"weights", sizes->weights},
		{"weights packed for the library", sizes->packed},
		{"code", sizes->code},
		{"the rest (plan, sources, samples)",
	     sizes->all - sizes->weights - sizes->packed - sizes->code},
	};
	Buf buf = {.arena = arena};
	buf_printf(&buf, "%s:", size_text(arena, sizes->all));
	for (size_t i = 0; i < countof(parts); i++)
		if (parts[i].bytes > 0)
			buf_printf(&buf, "%s %s %s", buf.data[buf.size - 1] == ':' ? "" : ",", parts[i].what,
			           size_text(arena, parts[i].bytes));
	return buf_text(&buf);
}

/* ---- graphs ---- */

GraphCounts
graph_counts(Arena *arena, const Graph *graph)
{
	GraphCounts counts = {.ops = {.arena = arena}};
	for (const Node *node = NULL; (node = region_step(graph->body, node)); counts.nodes++)
		map_count(&counts.ops, op_text(arena, node->op));
	for (int i = 0; i < graph->constants.count; i++) {
		const Array *data = graph->constants.data[i]->constant;
		counts.constants++;
		if (data && data->type != DT_STRING)
			counts.constant_bytes += (double)array_bytes(data);
	}
	return counts;
}

static double
count_of(const GraphCounts *counts, const char *op)
{
	return (double)(intptr_t)map_find(&counts->ops, op);
}

void
report_graphs(Report *report, const GraphCounts *before, const GraphCounts *after)
{
	static const char ROW[] = "%s|%.0f|%.0f";
	Table *table = report_table(report, "operators", "operator|>before|>after");
	for (int i = 0; i < before->ops.count; i++) {
		const char *op = before->ops.entries[i].name;
		table_row(table, ROW, op, count_of(before, op), count_of(after, op));
	}
	for (int i = 0; i < after->ops.count; i++) {
		const char *op = after->ops.entries[i].name;
		if (!map_find(&before->ops, op))
			table_row(table, ROW, op, 0.0, count_of(after, op));
	}
	table_row(table, ROW, "all nodes", (double)before->nodes, (double)after->nodes);
	table_row(table, ROW, "constants", (double)before->constants, (double)after->constants);
	table_row(table, ROW, "bytes of constants", before->constant_bytes, after->constant_bytes);
}

const char *
buffer_type_text(Arena *arena, const Plan *plan, const PlanBuffer *buffer)
{
	Buf text = {.arena = arena};
	buf_printf(&text, "%s[", dtype_name(buffer->type));
	for (int d = 0; d < buffer->rank; d++) {
		buf_puts(&text, d ? "," : "");
		bundle_dim_text(&text, plan, buffer->dims[d]);
	}
	buf_printf(&text, "]%s%s", buffer->layout ? " @" : "", buffer->layout ? buffer->layout : "");
	return buf_text(&text);
}

const char *
result_text(Arena *arena, const Plan *plan, const PlanStep *step)
{
	Buf result = {.arena = arena};
	for (int k = step->narg - step->noutput; k < step->narg; k++)
		if (step->args[k] >= 0)
			buf_printf(&result, "%s%s", result.size ? ", " : "",
			           buffer_type_text(arena, plan, &plan->buffers[step->args[k]]));
	return buf_text(&result);
}

static double
part_bytes(const Manifest *manifest, const char *entry)
{
	for (int i = 0; i < manifest->npart; i++)
		if (strcmp(manifest->parts[i].entry, entry) == 0)
			return (double)manifest->parts[i].size;
	return 0;
}

BundleSizes
bundle_sizes(const Manifest *manifest, size_t all)
{
	BundleSizes sizes = {.all = (double)all, .weights = part_bytes(manifest, manifest->weights)};
	for (int i = 0; i < manifest->ntarget; i++) {
		sizes.packed += part_bytes(manifest, manifest->targets[i].packed);
		sizes.code += part_bytes(manifest, manifest->targets[i].kernels);
	}
	return sizes;
}
