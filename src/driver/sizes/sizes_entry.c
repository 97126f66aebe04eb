/* sizes.json, a bundle's part: what it was made for, and what the model demands of other sizes. */
#include "driver/sizes/sizes.h"

#include "driver/parts.h"

const char *
sizes_text(Arena *arena, const Graph *graph, const Binding *sizes, const Demands *learnt)
{
	Buf buf = {.arena = arena};
	const char *before = "{";
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		if (!symbol_is_input(def))
			continue;
		buf_puts(&buf, before);
		json_put(&buf, "%s: %lld", def->symbol->name, (long long)sizes->value[def->symbol->id]);
		before = ", ";
	}
	for (int i = 0; i < learnt->count; i++) {
		json_put(&buf, i ? ", " : ", 'demands': [");
		const Demand *demand = &learnt->data[i];
		json_put(&buf, "{'relation': %s, 'node': %s, 'branch': %d}", demand_text(arena, demand),
		         demand->loc.node, region_branch(demand->region) != NULL);
	}
	buf_puts(&buf, *before == '{' ? "{}\n" : learnt->count ? "]}\n" : "}\n");
	return buf_text(&buf);
}

int64_t
sizes_find(const char *text, size_t size, const char *symbol, int64_t other)
{
	Json *json = json_read(text, size);
	const Json *item = json_member(json, symbol);
	int64_t found = json_is(item, JSON_NUMBER) && item->number >= 0 && item->number <= INT32_MAX
	                    ? (int64_t)item->number
	                    : other;
	json_free(json);
	return found;
}

/* What stands of a demand in the part. */
typedef struct DemandEntry {
	const char *relation, *node;
	bool in_branch;
} DemandEntry;

typedef struct DemandEntries {
	int count;
	const DemandEntry *list;
} DemandEntries;

static const Field demand_fields[] = {
	{FIELD("relation", DemandEntry, relation)},
	{FIELD("node", DemandEntry, node)},
	{FIELD_OR("branch", DemandEntry, in_branch, 0)},
};
static const Record demand_record = {RECORD(DemandEntry, demand_fields)};
static const Field demands_fields[] = {
	{FIELD_LIST_OR_NONE("demands", DemandEntries, list, count), .most = 1 << 16,
     .of = &demand_record},
};
static const Record demands_record = {RECORD(DemandEntries, demands_fields)};

SizesEntry
sizes_read(Arena *arena, const char *path, Bytes text)
{
	Buf chosen = {.arena = arena}, asked = {.arena = arena};
	DemandEntries demands = {0};
	bundle_part_read(arena, path, "the sizes", text, &demands_record, &demands);
	for (int i = 0; i < demands.count; i++)
		buf_printf(&asked, "%s%s (node %s%s)", asked.size ? ", " : "", demands.list[i].relation,
		           demands.list[i].node,
		           demands.list[i].in_branch ? ", where its branch is taken" : "");
	Json *json = json_read((const char *)text.data, text.size);
	for (const Json *item = json ? json->child : NULL; item; item = item->next)
		if (json_is(item, JSON_NUMBER))
			buf_printf(&chosen, "%s%s=%.0f", chosen.size ? ", " : "", item->name, item->number);
	json_free(json);
	return (SizesEntry){buf_text(&chosen), buf_text(&asked)};
}
