/* Choices as lines of JSON. */
#include "cli/choices.h"

#include <string.h>

#include "base/file.h"
#include "runtime/json.h"

void
choices_parse(Arena *arena, const char *path, const char *text, const char *member, Map *values)
{
	Loc loc = {.file = path};
	for (loc.line = 1; *text; loc.line++) {
		size_t length = strcspn(text, "\n");
		Json *json = json_read(text, length);
		const Json *key = json_member(json, "key");
		const Json *value = json_member(json, member);
		bool is_whole = json_is(key, JSON_TEXT) && json_is(value, JSON_TEXT);
		if (is_whole)
			map_set(values, arena_strdup(arena, key->text), arena_strdup(arena, value->text));
		json_free(json);
		if (!is_whole && length)
			fail(&loc, "expected {\"key\": …, \"%s\": …}", member);
		text += length + (text[length] == '\n');
	}
}

void
choices_read(Arena *arena, const char *path, const char *member, Map *values)
{
	choices_parse(arena, path, file_text(arena, path), member, values);
}

int
choices_taken(const PassContext *context)
{
	int taken = 0;
	for (int i = 0; i < context->recorded.count; i++)
		taken += pass_choice_find(context, context->recorded.entries[i].name) != NULL;
	return taken;
}

void
choices_check(const Options *options, const char *model, int count, int taken)
{
	if (count > 0 && taken == 0)
		fail_as(FAIL_USAGE, NULL,
		        "--choices %s: none of its %d choices concerns %s: they were made for another "
		        "model, with other options or on another machine",
		        options->choices, count, model);
}

void
choices_write(Buf *buf, const Options *options, const PassContext *context)
{
	Map measured = {.arena = buf->arena};
	if (options->choices)
		choices_read(buf->arena, options->choices, "candidates", &measured);
	for (int i = 0; i < context->choices.count; i++) {
		const PassChoice *choice = &context->choices.data[i];
		const char *before = map_find(&measured, choice->key);
		json_put(buf, "{'key': %s, 'chosen': %s, 'candidates': %s}\n", choice->key, choice->chosen,
		         before ? before : choice->candidates);
	}
}
