/* sizes.json, a bundle's part: what it was made for, and what the model demands of other sizes. */
#include "cli/sizes.h"

#include "cli/parts.h"
#include "runtime/json.h"

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

/* "past+seq <= 64 (node positions), past+seq <= total (…)". */
static const char *
demands_text(Arena *arena, JsonReader *r, const Json *json)
{
	enum { MOST = 1 << 16 };
	Buf buf = {.arena = arena};
	int count;
	const Json *item = json_array_or_none(r, json, "demands", MOST, &count);
	for (; item && !r->failed; item = item->next)
		buf_printf(&buf, "%s%s (node %s%s)", buf.size ? ", " : "", json_text(r, item, "relation"),
		           json_text(r, item, "node"),
		           json_int_or(r, item, "branch", 0, 1, 0) ? ", where its branch is taken" : "");
	return buf_text(&buf);
}

SizesEntry
sizes_read(Arena *arena, const char *path, Bytes text)
{
	enum { LONGEST = 1 << 22 };
	char error[512];
	Loc loc = {.file = path};
	Pile pile = {0};
	JsonReader r = {&pile, "the sizes", error, sizeof error, false};
	Buf chosen = {.arena = arena};
	Json *json = json_parse(&r, (const char *)text.data, text.size, LONGEST);
	for (const Json *item = json ? json->child : NULL; item; item = item->next)
		if (json_is(item, JSON_NUMBER))
			buf_printf(&chosen, "%s%s=%.0f", chosen.size ? ", " : "", item->name, item->number);
	SizesEntry entry = {buf_text(&chosen), json ? demands_text(arena, &r, json) : ""};
	json_free(json);
	pile_free(&pile);
	if (r.failed)
		bundle_refuse(&loc, error);
	return entry;
}
