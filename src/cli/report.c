/* Tables, facts, JSON. */
#include "cli/report.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	const char *key, *title;
	VEC(Column) columns;
	VEC(Cell) cells;
};

typedef struct Fact {
	const char *key, *label;
	Cell cell;
	Table *table; /* or NULL */
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

/* ---- tables ---- */

Table *
report_table(Report *report, const char *key, const char *title)
{
	Arena *arena = report->options->arena;
	Table *table = NEW(arena, Table);
	*table = (Table){.arena = arena, .key = key, .title = title};
	Fact fact = {.key = key, .table = table};
	vec_push(arena, &report->facts, fact);
	return table;
}

void
table_column(Table *table, const char *key, const char *label, bool is_right)
{
	Column column = {key, label, is_right};
	vec_push(table->arena, &table->columns, column);
}

void
table_text(Table *table, const char *value)
{
	Cell cell = {.text = value};
	vec_push(table->arena, &table->cells, cell);
}

void
table_number(Table *table, double value, const char *format)
{
	Cell cell = number_cell(table->arena, value, format);
	vec_push(table->arena, &table->cells, cell);
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
print_cell(FILE *file, const char *text, int width, bool is_right, bool is_last)
{
	int pad = width - width_of(text);
	fprintf(file, "%*s%s%*s%s", is_right ? pad : 0, "", text ? text : "",
	        is_right || is_last ? 0 : pad, "", is_last ? "\n" : "  ");
}

void
table_print(const Table *table, FILE *file)
{
	int columns = table->columns.count, rows = columns ? table->cells.count / columns : 0;
	int *width = NEW_N(table->arena, int, columns + 1);
	bool is_colour = isatty(fileno(file)) && !getenv("NO_COLOR");
	if (rows == 0)
		return;
	if (table->title)
		fprintf(file, "%s\n", table->title);
	for (int c = 0; c < columns; c++) {
		width[c] = width_of(table->columns.data[c].label);
		for (int r = 0; r < rows; r++) {
			int w = width_of(table->cells.data[r * columns + c].text);
			width[c] = w > width[c] ? w : width[c];
		}
	}
	fputs(is_colour ? "\033[1m" : "", file);
	for (int c = 0; c < columns; c++)
		print_cell(file, table->columns.data[c].label, width[c], table->columns.data[c].is_right,
		           c + 1 == columns);
	fputs(is_colour ? "\033[0m" : "", file);
	for (int r = 0; r < rows; r++)
		for (int c = 0; c < columns; c++)
			print_cell(file, table->cells.data[r * columns + c].text, width[c],
			           table->columns.data[c].is_right, c + 1 == columns);
}

/* ---- JSON ---- */

static cJSON *
cell_json(const Cell *cell)
{
	if (cell->is_number)
		return isfinite(cell->number) ? cJSON_CreateNumber(cell->number) : cJSON_CreateNull();
	return cell->text ? cJSON_CreateString(cell->text) : cJSON_CreateNull();
}

static cJSON *
table_json(const Table *table)
{
	cJSON *list = cJSON_CreateArray();
	int columns = table->columns.count, rows = columns ? table->cells.count / columns : 0;
	for (int r = 0; r < rows; r++) {
		cJSON *row = cJSON_CreateObject();
		for (int c = 0; c < columns; c++)
			cJSON_AddItemToObject(row, table->columns.data[c].key,
			                      cell_json(&table->cells.data[r * columns + c]));
		cJSON_AddItemToArray(list, row);
	}
	return list;
}

static void
print_json(Report *report)
{
	cJSON *object = cJSON_CreateObject();
	cJSON_AddStringToObject(object, "verb", report->options->verb->name);
	for (int i = 0; i < report->facts.count; i++) {
		Fact *fact = &report->facts.data[i];
		cJSON *value = fact->table ? table_json(fact->table) : cell_json(&fact->cell);
		cJSON_AddItemToObject(object, fact->key, value);
	}
	char *text = cJSON_Print(object);
	cJSON_Delete(object);
	if (!text)
		fail_environment(NULL, "out of memory");
	puts(text);
	cJSON_free(text);
}

void
report_print(Report *report)
{
	if (report->options->json) {
		print_json(report);
		return;
	}
	if (report->options->quiet)
		return;
	int width = 0;
	for (int i = 0; i < report->facts.count; i++) {
		int w = width_of(report->facts.data[i].label);
		width = w > width ? w : width;
	}
	for (int i = 0; i < report->facts.count; i++) {
		const Fact *fact = &report->facts.data[i];
		if (fact->table)
			table_print(fact->table, stdout);
		else if (fact->label)
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

/* ---- graphs ---- */

static void
count_region(GraphCounts *counts, const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		int *count = map_find(&counts->ops, node->op->name);
		if (!count) {
			count = NEW(counts->arena, int);
			map_set(&counts->ops, node->op->name, count);
		}
		(*count)++;
		counts->nodes++;
		for (int i = 0; i < node->nregion; i++)
			count_region(counts, node->regions[i]);
	}
}

GraphCounts
graph_counts(Arena *arena, const Graph *graph)
{
	GraphCounts counts = {.arena = arena, .ops = {.arena = arena}};
	count_region(&counts, graph->body);
	for (int i = 0; i < graph->constants.count; i++) {
		const Array *data = graph->constants.data[i]->constant;
		counts.constants++;
		if (data && data->type != DT_STRING)
			counts.constant_bytes += (double)array_bytes(data);
	}
	return counts;
}

static void
count_row(Table *table, const char *name, double before, double after)
{
	table_text(table, name);
	table_number(table, before, "%.0f");
	table_number(table, after, "%.0f");
}

static double
count_of(const GraphCounts *counts, const char *op)
{
	const int *count = map_find(&counts->ops, op);
	return count ? *count : 0;
}

void
report_graphs(Report *report, const GraphCounts *before, const GraphCounts *after)
{
	Table *table = report_table(report, "operators", NULL);
	table_column(table, "operator", "operator", false);
	table_column(table, "before", "before", true);
	table_column(table, "after", "after", true);
	for (int i = 0; i < before->ops.count; i++) {
		const char *op = before->ops.entries[i].name;
		count_row(table, op, count_of(before, op), count_of(after, op));
	}
	for (int i = 0; i < after->ops.count; i++)
		if (!map_find(&before->ops, after->ops.entries[i].name))
			count_row(table, after->ops.entries[i].name, 0,
			          count_of(after, after->ops.entries[i].name));
	count_row(table, "all nodes", before->nodes, after->nodes);
	count_row(table, "constants", before->constants, after->constants);
	count_row(table, "bytes of constants", before->constant_bytes, after->constant_bytes);
}
