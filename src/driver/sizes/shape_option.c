/* What --shape says: sizes and ranges of symbols, sizes of inputs. */
#include "driver/sizes/sizes.h"

#include <stdlib.h>
#include <string.h>

#include "expr/scalar/ctx.h"

int
dims_of(const char *option, const char *text, int64_t dims[ARRAY_MAX_RANK])
{
	int rank = 0;
	for (const char *at = text;; at++) {
		char *end;
		long long value = strtoll(at, &end, 10);
		if (end == at || value < 0 || rank == ARRAY_MAX_RANK || (*end && *end != 'x'))
			fail_as(FAIL_USAGE, NULL, "%s: expected sizes as 1x3x224x224, saw '%s'", option, text);
		dims[rank++] = value;
		if (!*end)
			return rank;
		at = end;
	}
}

/* What --shape says of a symbol: "8", "1..16", "1..16:4". */
typedef struct Extent {
	int64_t lo, hi; /* -1: no range is said */
	int64_t size;   /* -1: none */
} Extent;

static Extent
extent_of(const char *text)
{
	Extent extent = {-1, -1, -1};
	char *end;
	const char *dots = strstr(text, "..");
	const char *size = dots ? strchr(dots, ':') : NULL;
	if (dots) {
		extent.lo = strtoll(text, &end, 10);
		bool is_number = end == dots && end > text;
		extent.hi = strtoll(dots + 2, &end, 10);
		is_number = is_number && end > dots + 2 && (size ? end == size : !*end);
		if (!is_number || extent.lo < 0 || extent.hi < extent.lo || extent.hi > INT32_MAX)
			fail_as(FAIL_USAGE, NULL, "--shape: expected a range as 1..16 or 1..16:4, saw '%s'",
			        text);
	}
	if (!dots || size)
		extent.size = number_of("--shape", size ? size + 1 : text);
	if ((!dots || size) && (extent.size < 0 || extent.size > INT32_MAX))
		fail_as(FAIL_USAGE, NULL, "--shape: expected a size from 0 to %d, saw '%s'", INT32_MAX,
		        text);
	if (size && (extent.size < extent.lo || extent.size > extent.hi))
		fail_as(FAIL_USAGE, NULL, "--shape: %lld is not in its range, %s", (long long)extent.size,
		        text);
	return extent;
}

bool
size_asked(const Options *options, Arena *arena, const char *symbol, int64_t *size)
{
	bool is_found = false;
	for (int i = 0; i < options->shape.count; i++) {
		Setting setting = setting_of(arena, "shape", options->shape.data[i]);
		int64_t asked = strcmp(setting.name, symbol) == 0 ? extent_of(setting.value).size : -1;
		if (asked >= 0)
			*size = asked;
		is_found = is_found || asked >= 0;
	}
	return is_found;
}

SizeTable
size_table_new(Arena *arena, const Graph *graph)
{
	int count = graph->ctx->symbol_list.count;
	return (SizeTable){count, NEW_N(arena, int64_t, count + 1), NEW_N(arena, bool, count + 1)};
}

void
size_table_set(const SizeTable *table, const Symbol *symbol, int64_t value)
{
	table->value[symbol->id] = value;
	table->is_bound[symbol->id] = true;
}

const Binding *
size_table_binding(Arena *arena, const SizeTable *table)
{
	Binding *binding = NEW(arena, Binding);
	*binding = (Binding){table->count, table->value, table->is_bound};
	return binding;
}

static void
ask_input(const SizeTable *table, const Value *input, const char *text)
{
	int64_t dims[ARRAY_MAX_RANK], extent;
	int rank = dims_of("--shape", text, dims);
	if (input->type.rank >= 0 && rank != input->type.rank)
		fail_as(FAIL_USAGE, NULL, "--shape: input %s has rank %d, saw %s", input->name,
		        input->type.rank, text);
	for (int d = 0; d < input->type.rank; d++) {
		const Dim *dim = input->type.dims[d];
		if (dim->op == EX_symbol)
			size_table_set(table, dim->symbol, dims[d]);
		else if (dim_is_const(dim, &extent) && extent != dims[d])
			fail_as(FAIL_USAGE, NULL, "--shape: dim %d of input %s is %lld, saw %lld", d,
			        input->name, (long long)extent, (long long)dims[d]);
	}
}

static const char *
symbol_names(Arena *arena, const Graph *graph)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < graph->symbols.count; i++)
		buf_printf(&buf, "%s%s", i ? ", " : "", graph->symbols.data[i].symbol->name);
	return buf.size ? buf_text(&buf) : "none";
}

/* "x: f32[N,3], w: f32[3]" */
static const char *
input_types(Arena *arena, const Graph *graph)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < graph->body->nparam; i++) {
		const Value *input = graph->body->params[i];
		buf_printf(&buf, "%s%s: ", i ? ", " : "", input->name);
		type_print(&buf, &input->type);
	}
	return buf.size ? buf_text(&buf) : "none";
}

/* The symbol of this name among those that the model defines. */
static const Symbol *
symbol_named(const Graph *graph, const char *name)
{
	for (int i = 0; i < graph->symbols.count; i++)
		if (strcmp(graph->symbols.data[i].symbol->name, name) == 0)
			return graph->symbols.data[i].symbol;
	return NULL;
}

const Binding *
sizes_asked(const Options *options, Arena *arena, const Graph *graph)
{
	SizeTable table = size_table_new(arena, graph);
	for (int i = 0; i < options->shape.count; i++) {
		Setting setting = setting_of(arena, "shape", options->shape.data[i]);
		const Value *input = graph_find_value(graph, setting.name);
		const Symbol *symbol = symbol_named(graph, setting.name);
		int64_t size = symbol ? extent_of(setting.value).size : -1;
		if (size >= 0)
			size_table_set(&table, symbol, size);
		else if (symbol)
			continue; /* only a range */
		else if (input && !input->def && !input->constant)
			ask_input(&table, input, setting.value);
		else
			fail_as(FAIL_USAGE, NULL,
			        "--shape: '%s' is neither an input nor a symbol; inputs: %s; symbols: %s",
			        setting.name, input_types(arena, graph), symbol_names(arena, graph));
	}
	return size_table_binding(arena, &table);
}

Graph *
sizes_limit(const Options *options, Arena *arena, Graph *graph)
{
	bool is_limited = false;
	for (int i = 0; i < options->shape.count; i++) {
		Setting setting = setting_of(arena, "shape", options->shape.data[i]);
		const Symbol *symbol = symbol_named(graph, setting.name);
		Extent extent = symbol ? extent_of(setting.value) : (Extent){-1, -1, -1};
		if (extent.lo < 0)
			continue;
		symbol_set_range(symbol, extent.lo, extent.hi);
		is_limited = true;
	}
	return is_limited ? graph_clone(arena, graph) : graph;
}
