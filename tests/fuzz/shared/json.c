/* Mutations of JSON texts (json.h), on cJSON's tree. */
#include "json.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "fuzz.h"

typedef struct Place {
	cJSON *parent, *item;
} Place;

typedef VEC(Place) PlaceVec;

typedef struct Tree {
	Arena *arena;
	PlaceVec places;
	uint64_t *state;
} Tree;

static void
collect(Tree *tree, cJSON *parent)
{
	cJSON *item;
	cJSON_ArrayForEach(item, parent)
	{
		vec_push(tree->arena, &tree->places, ((Place){parent, item}));
		collect(tree, item);
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
change_text(const Tree *tree, cJSON *item)
{
	static const char *const WORDS[] = {"",    "s0", "s1", "+",  "*",  "/",
	                                    "-",   "%",  "0",  "-1", "<",  "float",
	                                    "min", "?",  "x",  "4",  "==", "4611686018427387904"};
	const cJSON *other = any_place(tree)->item;
	const char *old = item->valuestring, *from = old + roll(tree, strlen(old) + 1);
	const char *word = WORDS[roll(tree, countof(WORDS))];
	if (cJSON_IsString(other) && roll(tree, 2)) {
		cJSON_SetValuestring(item, other->valuestring);
		return;
	}
	while (from > old && from[-1] != ' ')
		from--;
	const char *end = strchr(from, ' ');
	char *made = arena_printf(tree->arena, "%.*s%s%s", (int)(from - old), old, word,
	                          roll(tree, 8) && end ? end : "");
	cJSON_SetValuestring(item, made);
}

static void
change_value(const Tree *tree, cJSON *item)
{
	if (cJSON_IsNumber(item))
		cJSON_SetNumberValue(item, odd_number(tree, item->valuedouble));
	else if (cJSON_IsString(item))
		change_text(tree, item);
	else if (cJSON_IsBool(item))
		item->type = cJSON_IsTrue(item) ? cJSON_False : cJSON_True;
}

/* A copy of something of the tree in the place of something else, or beside it. */
static void
put_copy(const Tree *tree, const Place *place, const cJSON *source, bool is_more)
{
	cJSON *copy = cJSON_Duplicate(source, true);
	bool is_placed = is_more && cJSON_IsArray(place->parent)
	                     ? cJSON_InsertItemInArray(place->parent, (int)roll(tree, 4), copy)
	                     : copy && cJSON_ReplaceItemViaPointer(place->parent, place->item, copy);
	if (!is_placed)
		cJSON_Delete(copy);
}

/* One change; what was collected is stale after one of the tree's form. */
static void
change_tree(const Tree *tree)
{
	const Place *place = any_place(tree), *other = any_place(tree);
	const char *name = place->item->string;
	switch (roll(tree, 8)) {
	case 0:
		cJSON_Delete(cJSON_DetachItemViaPointer(place->parent, place->item));
		return;
	case 1:
		put_copy(tree, place, place->item, true);
		return;
	case 2:
		if (!name && !other->item->string)
			put_copy(tree, place, other->item, roll(tree, 2));
		return;
	default:
		change_value(tree, place->item);
	}
}

size_t
fuzz_change_json(uint8_t *data, size_t size, size_t most, uint64_t *state)
{
	cJSON *root = cJSON_ParseWithLength((const char *)data, size);
	size_t made = 0;
	for (uint32_t n = 1 + fuzz_random(state) % 3; root && n > 0; n--) {
		Tree tree = {.arena = arena_new("json"), .state = state};
		collect(&tree, root);
		if (tree.places.count)
			change_tree(&tree);
		arena_free(tree.arena);
	}
	char *text = root ? cJSON_PrintUnformatted(root) : NULL;
	cJSON_Delete(root);
	if (text && strlen(text) <= most) {
		made = strlen(text);
		memcpy(data, text, made);
	}
	free(text);
	return made;
}
