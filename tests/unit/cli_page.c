/* The page of `report`: layouts of random graphs, sheets of large ones, hostile names. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/random.h"
#include "bundle/json.h"
#include "cli/page/page.h"
#include "cli/page/sheets.h"

static Arena *arena;

static void
begin(void)
{
	arena = arena_new("test");
}

static void
end(void)
{
	arena_free(arena);
}

/* ---- layouts ---- */

static Layout
random_layout(uint64_t seed)
{
	uint64_t state = seed;
	Layout layout = {0};
	int count = 1 + (int)(random_next(&state) % 120);
	for (int i = 0; i < count; i++)
		vec_push(arena, &layout.boxes,
		         (LayoutBox){.w = 20 + (int)(random_next(&state) % 181), .h = 30});
	int edges = (int)(random_next(&state) % (uint64_t)(2 * count));
	for (int e = 0; e < edges; e++) { /* any: circles and edges from a box to itself, too */
		int from = (int)(random_next(&state) % (uint64_t)count);
		int to = (int)(random_next(&state) % (uint64_t)count);
		vec_push(arena, &layout.edges, (LayoutEdge){.from = from, .to = to});
	}
	layout_make(arena, &layout);
	return layout;
}

static bool
boxes_touch(const LayoutBox *a, const LayoutBox *b)
{
	return a->x < b->x + b->w && b->x < a->x + a->w && a->y < b->y + b->h && b->y < a->y + a->h;
}

/* Lines may bend between layers; where one passes a layer it is upright, beside its boxes. */
static void
check_line(const Layout *layout, const LayoutEdge *edge)
{
	for (int k = 1; k < edge->points.count; k++) {
		LayoutPoint a = edge->points.data[k - 1], b = edge->points.data[k];
		bool is_up = edge->from > edge->to;
		ck_element_msg(is_up ? a.y > b.y : a.y < b.y, "edge %d to %d turns round", edge->from,
		               edge->to);
		for (int i = 0; k % 2 == 0 && i < layout->boxes.count; i++) {
			const LayoutBox *box = &layout->boxes.data[i];
			bool is_beside = a.x <= box->x || a.x >= box->x + box->w;
			bool is_passed = a.y == box->y || b.y == box->y;
			ck_element_msg(!is_passed || is_beside, "edge %d to %d runs over box %d", edge->from,
			               edge->to, i);
		}
	}
}

START_TEST(layouts)
{
	for (uint64_t seed = 1; seed <= 150; seed++) {
		Layout layout = random_layout(seed), again = random_layout(seed);
		for (int i = 0; i < layout.boxes.count; i++) {
			const LayoutBox *box = &layout.boxes.data[i];
			ck_assert(box->x >= 0 && box->x + box->w <= layout.w);
			ck_assert(box->y >= 0 && box->y + box->h <= layout.h);
			ck_assert_mem_eq(box, &again.boxes.data[i], sizeof *box);
			for (int k = 0; k < i; k++)
				ck_element_msg(!boxes_touch(box, &layout.boxes.data[k]), "seed %d: %d and %d",
				               (int)seed, i, k);
		}
		for (int e = 0; e < layout.edges.count; e++) {
			const LayoutEdge *edge = &layout.edges.data[e];
			ck_assert_int_eq(edge->points.count > 0, edge->from != edge->to);
			ck_assert_int_eq(edge->points.count, again.edges.data[e].points.count);
			check_line(&layout, edge);
		}
	}
}
END_TEST

/* ---- sheets ---- */

/* Each node stands on one sheet; sheets have at most so many boxes, and stand in their parents. */
static void
check_sheets(int count, const SheetNode *nodes, int most)
{
	Sheets sheets = sheets_make(arena, count, nodes, most);
	int *seen = NEW_N(arena, int, count), *opened = NEW_N(arena, int, sheets.count);
	for (int s = 0; s < sheets.count; s++) {
		const Sheet *sheet = &sheets.data[s];
		ck_assert_int_le(sheet->items.count, most);
		ck_assert_int_eq(sheet->items.count, sheet->layout.boxes.count);
		int inside = 0;
		for (int i = 0; i < sheet->items.count; i++) {
			const SheetItem *item = &sheet->items.data[i];
			ck_assert_int_eq(item->node < 0, item->sheet >= 0);
			inside += item->node >= 0 ? 1 : sheets.data[item->sheet].count;
			if (item->node >= 0)
				seen[item->node]++;
			else {
				opened[item->sheet]++;
				ck_assert_int_eq(sheets.data[item->sheet].parent, s);
			}
		}
		ck_assert_int_eq(inside, sheet->count);
	}
	for (int i = 0; i < count; i++)
		ck_assert_int_eq(seen[i], 1);
	for (int s = 0; s < sheets.count; s++) {
		int depth = 0;
		for (int at = s; at >= 0; at = sheets.data[at].parent)
			depth++;
		ck_assert_int_le(depth, 40);
		ck_assert_int_eq(opened[s], s > 0);
	}
	ck_assert_int_eq(sheets.data[0].parent, -1);
}

START_TEST(sheets)
{
	enum { COUNT = 5000 };
	SheetNode *nodes = NEW_N(arena, SheetNode, COUNT);
	for (int f = 0; f < 5; f++) {
		for (int i = 0; i < COUNT; i++) {
			nodes[i].inputs = (IntVec){0};
			if (i)
				vec_push(arena, &nodes[i].inputs, i - 1 - (i % 7) % i);
			nodes[i].name = f == 0   ? arena_printf(arena, "n%d", i)
			                : f == 1 ? arena_printf(arena, "/m/layer%d/op%d", i / 50, i)
			                : f == 2 ? arena_printf(arena, "/m/%d/%d/b/op", i / 900, i / 9)
			                : f == 3 ? arena_printf(arena, "/x/y/z/all%d", i)
			                         : arena_printf(arena, "/%d/op", i % 3);
		}
		check_sheets(COUNT, nodes, 80);
		check_sheets(80, nodes, 80);
		check_sheets(0, nodes, 80);
	}
}
END_TEST

/* As many folders as somebody may write: deeper ones are not looked at. */
START_TEST(deep_names)
{
	enum { COUNT = 2000, DEEPEST = 3000 };
	SheetNode *nodes = NEW_N(arena, SheetNode, COUNT);
	char *deep = NEW_N(arena, char, 2 * DEEPEST + 1);
	for (int i = 0; i < DEEPEST; i++)
		deep[2 * i] = '/', deep[2 * i + 1] = 'a';
	for (int i = 0; i < COUNT; i++)
		nodes[i].name = arena_printf(arena, "%.*s/op", 2 * (1 + i), deep);
	check_sheets(COUNT, nodes, 80);
}
END_TEST

/* ---- the page ---- */

START_TEST(hostile_names)
{
	static const char *const names[] = {
		"</script><script>alert(1)</script>",
		"\"><img src=x onerror=alert(1)>",
		"<!--<script>",
		"]]>",
		"\\u003c/script>",
		"one\xe2\x80\xa8 two\xe2\x80\xa9",
		"'); alert(1); ('",
		"line\nend\ttab\x01\x7f",
		"&lt;&amp;",
	};
	for (size_t i = 0; i < countof(names); i++) {
		Buf json = {.arena = arena}, html = {.arena = arena};
		json_put(&json, "{'name':%s}", names[i]);
		page_write(&html, buf_text(&json));
		const char *data = strstr(buf_text(&html), "id=\"data\">");
		ck_assert_ptr_nonnull(data);
		data += strlen("id=\"data\">");
		size_t size = (size_t)(strchr(data, '<') - data);
		ck_assert(strncmp(data + size, "</script>\n<script>\n\"use strict\";", 30) == 0);
		Json *read = json_read(data, size);
		const Json *name = json_member(read, "name");
		ck_assert(json_is(name, JSON_TEXT));
		ck_assert_str_eq(name->text, names[i]);
		json_free(read);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("page");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, layouts);
	tcase_add_test(t, sheets);
	tcase_add_test(t, deep_names);
	tcase_add_test(t, hostile_names);
	return unit_run(t);
}
