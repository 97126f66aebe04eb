/* Folding by names, then by neighbours. */
#include "cli/page/sheets.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"

enum { NODE_W = 184, NODE_H = 56, FOLDERS_MOST = 32 };

typedef struct Folding {
	Arena *arena;
	int count, most;
	const SheetNode *nodes;
	Sheets sheets;
	int *home, *item; /* of each node the sheet that it stands on, and which item it is */
} Folding;

/* "conv" of "/layer1/conv/Conv" at depth 1; length 0: the name has no such folder. */
static const char *
folder_at(const char *name, int depth, size_t *length)
{
	const char *at = name + (*name == '/');
	if (depth > FOLDERS_MOST)
		return *length = 0, at;
	for (int i = 0; i < depth; i++) {
		const char *end = strchr(at, '/');
		if (!end)
			return *length = 0, at;
		at = end + 1;
	}
	const char *end = strchr(at, '/');
	*length = end ? (size_t)(end - at) : 0;
	return at;
}

static const char *
folder_text(const Folding *f, int node, int depth)
{
	size_t length;
	const char *at = folder_at(f->nodes[node].name, depth, &length);
	return length ? arena_strndup(f->arena, at, length) : NULL;
}

static int
add_sheet(Folding *f, const char *title, int parent, int count)
{
	vec_push(f->arena, &f->sheets, (Sheet){.title = title, .parent = parent, .count = count});
	return f->sheets.count - 1;
}

/* ---- by names ---- */

/* Nodes that share a folder, in the order of their first one. */
typedef struct Group {
	const char *title;
	IntVec nodes;
} Group;

typedef VEC(Group *) Groups;

/* Those without a folder, and of small groups, are groups of one. */
static Groups
group_nodes(const Folding *f, const IntVec *nodes, int depth)
{
	Map named = {.arena = f->arena};
	Groups groups = {0}, kept = {0};
	for (int i = 0; i < nodes->count; i++) {
		const char *title = folder_text(f, nodes->data[i], depth);
		Group *group = title ? map_find(&named, title) : NULL;
		if (!group) {
			group = NEW(f->arena, Group);
			group->title = title;
			vec_push(f->arena, &groups, group);
			if (title)
				map_set(&named, title, group);
		}
		vec_push(f->arena, &group->nodes, nodes->data[i]);
	}
	for (int i = 0; i < groups.count; i++) {
		bool is_small = groups.data[i]->nodes.count < SHEET_LEAST;
		for (int k = 0; is_small && k < groups.data[i]->nodes.count; k++) {
			Group *single = NEW(f->arena, Group);
			vec_push(f->arena, &single->nodes, groups.data[i]->nodes.data[k]);
			vec_push(f->arena, &kept, single);
		}
		if (!is_small)
			vec_push(f->arena, &kept, groups.data[i]);
	}
	return kept;
}

static void fold(Folding *f, int sheet, const IntVec *nodes, int depth);

static void
add_node(Folding *f, int sheet, int node)
{
	vec_push(f->arena, &f->sheets.data[sheet].items, (SheetItem){node, -1});
}

static void
add_groups(Folding *f, int sheet, const Groups *groups, int depth)
{
	for (int i = 0; i < groups->count; i++) {
		const Group *group = groups->data[i];
		if (group->nodes.count == 1) {
			add_node(f, sheet, group->nodes.data[0]);
			continue;
		}
		int inner = add_sheet(f, group->title, sheet, group->nodes.count);
		vec_push(f->arena, &f->sheets.data[sheet].items, (SheetItem){-1, inner});
		fold(f, inner, &group->nodes, depth + 1);
	}
}

/* ---- by neighbours ---- */

/* "Shape_7" of "/layer1/Shape_7". */
static const char *
tail(const char *name)
{
	const char *slash = strrchr(name, '/');
	return slash && slash[1] ? slash + 1 : name;
}

/* A sheet for items first..end-1 of another; its place is among those of that. */
static void
add_piece(Folding *f, int sheet, const SheetItems *items, int first, int end)
{
	int inner = add_sheet(f, NULL, sheet, 0);
	Sheet *piece = &f->sheets.data[inner];
	for (int i = first; i < end; i++) {
		const SheetItem *item = &items->data[i];
		vec_push(f->arena, &piece->items, *item);
		piece->count += item->sheet >= 0 ? f->sheets.data[item->sheet].count : 1;
		if (item->sheet >= 0)
			f->sheets.data[item->sheet].parent = inner;
	}
	const SheetItem *a = &items->data[first], *b = &items->data[end - 1];
	piece->title =
		arena_printf(f->arena, "%s … %s",
	                 a->node >= 0 ? tail(f->nodes[a->node].name) : f->sheets.data[a->sheet].title,
	                 b->node >= 0 ? tail(f->nodes[b->node].name) : f->sheets.data[b->sheet].title);
	vec_push(f->arena, &f->sheets.data[sheet].items, (SheetItem){-1, inner});
}

/* Too many items become sheets of `most` at most: single nodes first, and only where that does not
 * do sheets too. */
static void
cut_items(Folding *f, int sheet)
{
	SheetItems single = {0}, others = {0}, whole = f->sheets.data[sheet].items;
	if (whole.count <= f->most)
		return;
	for (int i = 0; i < whole.count; i++)
		if (whole.data[i].node >= 0)
			vec_push(f->arena, &single, whole.data[i]);
		else
			vec_push(f->arena, &others, whole.data[i]);
	bool is_all = single.count < SHEET_LEAST;
	const SheetItems *cut = is_all ? &whole : &single;
	int pieces = (cut->count + f->most - 1) / f->most;
	f->sheets.data[sheet].items = is_all ? (SheetItems){0} : others;
	for (int p = 0; p < pieces; p++)
		add_piece(f, sheet, cut, (int)((int64_t)cut->count * p / pieces),
		          (int)((int64_t)cut->count * (p + 1) / pieces));
	cut_items(f, sheet);
}

static void
fold(Folding *f, int sheet, const IntVec *nodes, int depth)
{
	if (nodes->count <= f->most) {
		for (int i = 0; i < nodes->count; i++)
			add_node(f, sheet, nodes->data[i]);
		return;
	}
	Groups groups = group_nodes(f, nodes, depth);
	while (groups.count == 1 && groups.data[0]->title) /* all share it: the next folder */
		groups = group_nodes(f, nodes, ++depth);
	add_groups(f, sheet, &groups, depth);
	cut_items(f, sheet);
}

/* ---- what is drawn ---- */

/* The item of this sheet that a node stands in; -1: it stands elsewhere. */
static int
item_within(const Folding *f, const int *item_of_sheet, int sheet, int node)
{
	int at = f->home[node], item = f->item[node];
	while (at != sheet && at >= 0) {
		item = item_of_sheet[at];
		at = f->sheets.data[at].parent;
	}
	return at == sheet ? item : -1;
}

static void
find_homes(Folding *f, int *item_of_sheet)
{
	for (int s = 0; s < f->sheets.count; s++)
		for (int i = 0; i < f->sheets.data[s].items.count; i++) {
			const SheetItem *item = &f->sheets.data[s].items.data[i];
			if (item->sheet >= 0) {
				item_of_sheet[item->sheet] = i;
				continue;
			}
			f->home[item->node] = s;
			f->item[item->node] = i;
		}
}

static void
add_edge(const Folding *f, Map *seen, Layout *layout, int from, int to)
{
	const char *key = arena_printf(f->arena, "%d %d", from, to);
	if (from < 0 || to < 0 || from == to || map_find(seen, key))
		return;
	map_set(seen, key, layout);
	vec_push(f->arena, &layout->edges, (LayoutEdge){.from = from, .to = to});
}

/* An edge between two nodes is drawn on the sheet where they part, and nowhere else. */
static int
sheet_of_edge(const Folding *f, int from, int to)
{
	for (int a = f->home[from]; a >= 0; a = f->sheets.data[a].parent)
		for (int b = f->home[to]; b >= 0; b = f->sheets.data[b].parent)
			if (a == b)
				return a;
	return 0;
}

static void
add_edges(Folding *f, const int *item_of_sheet)
{
	Map *seen = NEW_N(f->arena, Map, f->sheets.count);
	for (int s = 0; s < f->sheets.count; s++)
		seen[s].arena = f->arena;
	for (int node = 0; node < f->count; node++)
		for (int k = 0; k < f->nodes[node].inputs.count; k++) {
			int from = f->nodes[node].inputs.data[k], s = sheet_of_edge(f, from, node);
			add_edge(f, &seen[s], &f->sheets.data[s].layout, item_within(f, item_of_sheet, s, from),
			         item_within(f, item_of_sheet, s, node));
		}
}

Sheets
sheets_make(Arena *arena, int count, const SheetNode *nodes, int most)
{
	Folding f = {.arena = arena, .count = count, .most = most, .nodes = nodes};
	f.home = NEW_N(arena, int, count + 1);
	f.item = NEW_N(arena, int, count + 1);
	IntVec all = {0};
	for (int i = 0; i < count; i++)
		vec_push(arena, &all, i);
	fold(&f, add_sheet(&f, "all", -1, count), &all, 0);
	int *item_of_sheet = NEW_N(arena, int, f.sheets.count);
	find_homes(&f, item_of_sheet);
	for (int s = 0; s < f.sheets.count; s++)
		for (int i = 0; i < f.sheets.data[s].items.count; i++)
			vec_push(arena, &f.sheets.data[s].layout.boxes, (LayoutBox){.w = NODE_W, .h = NODE_H});
	add_edges(&f, item_of_sheet);
	for (int s = 0; s < f.sheets.count; s++)
		layout_make(arena, &f.sheets.data[s].layout);
	return f.sheets;
}
