/* Mutations of JSON texts (json.h), on the tree that base/json.h reads. */
#include "json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/vec.h"
#include "fuzz.h"
#include "bundle/json.h"

typedef struct Place {
	Json **link; /* where it hangs: in an object, or in an array */
	bool is_in_array;
} Place;

typedef VEC(Place) PlaceVec;

typedef struct Tree {
	Arena *arena;
	PlaceVec places;
	uint64_t *state;
} Tree;

static bool
holds_others(const Json *json)
{
	return json->kind == JSON_ARRAY || json->kind == JSON_OBJECT;
}

static void
collect(Tree *tree, Json *parent)
{
	if (!holds_others(parent))
		return;
	for (Json **link = &parent->child; *link; link = &(*link)->next) {
		vec_push(tree->arena, &tree->places, ((Place){link, parent->kind == JSON_ARRAY}));
		collect(tree, *link);
	}
}

static size_t
roll(const Tree *tree, size_t sides)
{
	return fuzz_random(tree->state) % sides;
}

static const Place *
any_place(const Tree *tree)
{
	return &tree->places.data[roll(tree, (size_t)tree->places.count)];
}

static double
odd_number(const Tree *tree, double old)
{
	static const double ODD[] = {0,  1,   -1,   2,   3,   4,      5,      7,       8,  15,
	                             16, 255, 4096, 1e6, 1e9, 2147e6, 0x1p53, -0x1p53, 0.5};
	switch (roll(tree, 4)) {
	case 0:
		return old + 1;
	case 1:
		return old - 1;
	default:
		return ODD[roll(tree, countof(ODD))];
	}
}

/* Words are separated by blanks, as in the dims of a plan: one of them becomes another text's. */
static void
change_text(const Tree *tree, Json *item)
{
	static const char *const WORDS[] = {"",    "s0", "s1", "+",  "*",  "/",
	                                    "-",   "%",  "0",  "-1", "<",  "float",
	                                    "min", "?",  "x",  "4",  "==", "4611686018427387904"};
	const Json *other = *any_place(tree)->link;
	const char *old = item->text, *from = old + roll(tree, strlen(old) + 1);
	const char *word = WORDS[roll(tree, countof(WORDS))];
	if (other->kind == JSON_TEXT && roll(tree, 2)) {
		item->text = other->text;
		return;
	}
	while (from > old && from[-1] != ' ')
		from--;
	const char *end = strchr(from, ' ');
	item->text = arena_printf(tree->arena, "%.*s%s%s", (int)(from - old), old, word,
	                          roll(tree, 8) && end ? end : "");
}

static void
change_value(const Tree *tree, Json *item)
{
	if (item->kind == JSON_NUMBER)
		item->number = odd_number(tree, item->number);
	else if (item->kind == JSON_TEXT)
		change_text(tree, item);
	else if (item->kind == JSON_BOOL)
		item->number = 1 - item->number;
}

static Json *
copy_of(const Tree *tree, const Json *item)
{
	Json *copy = NEW(tree->arena, Json);
	*copy = *item;
	copy->next = NULL;
	if (!holds_others(item))
		return copy;
	Json **link = &copy->child;
	*link = NULL;
	for (const Json *child = item->child; child; child = child->next, link = &(*link)->next)
		*link = copy_of(tree, child);
	return copy;
}

/* A copy of something of the tree in the place of something else, or beside it. */
static void
put_copy(const Tree *tree, const Place *place, const Json *source, bool is_more)
{
	Json *copy = copy_of(tree, source), *old = *place->link;
	copy->name = old->name;
	copy->next = is_more ? old : old->next;
	*place->link = copy;
}

/* One change; what was collected is stale after one of the tree's form. */
static void
change_tree(const Tree *tree)
{
	const Place *place = any_place(tree), *other = any_place(tree);
	Json *item = *place->link;
	switch (roll(tree, 8)) {
	case 0:
		*place->link = item->next;
		return;
	case 1:
		put_copy(tree, place, item, true);
		return;
	case 2:
		if (place->is_in_array && other->is_in_array)
			put_copy(tree, place, *other->link, roll(tree, 2));
		return;
	default:
		change_value(tree, item);
	}
}

static void
put_value(Buf *json, const Json *item)
{
	const char *word = item->kind != JSON_BOOL ? "null" : item->number ? "true" : "false";
	if (item->kind == JSON_NUMBER)
		json_put(json, "%g", item->number);
	else if (item->kind == JSON_TEXT)
		json_put(json, "%s", item->text);
	else if (!holds_others(item))
		buf_puts(json, word);
	if (!holds_others(item))
		return;
	bool is_object = item->kind == JSON_OBJECT;
	buf_putc(json, is_object ? '{' : '[');
	for (const Json *child = item->child; child; child = child->next) {
		if (is_object)
			json_put(json, "%s:", child->name);
		put_value(json, child);
		buf_puts(json, child->next ? "," : "");
	}
	buf_putc(json, is_object ? '}' : ']');
}

size_t
fuzz_change_json(uint8_t *data, size_t size, size_t most, uint64_t *state)
{
	Json *root = json_read((const char *)data, size);
	Arena *arena = arena_new("json");
	Buf text = {.arena = arena};
	for (uint32_t n = 1 + fuzz_random(state) % 3; root && n > 0; n--) {
		Tree tree = {.arena = arena, .state = state};
		collect(&tree, root);
		if (tree.places.count)
			change_tree(&tree);
	}
	if (root)
		put_value(&text, root);
	bool fits = text.size <= most;
	size_t made = fits ? text.size : 0;
	if (made)
		memcpy(data, text.data, made);
	json_free(root);
	arena_free(arena);
	return made;
}
