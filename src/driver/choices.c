/* Choices as lines of JSON. */
#include "driver/choices.h"

#include <string.h>

#include "base/file.h"
#include "bundle/json.h"

enum { CHOICES_FORMAT = 2 };

const char *
choices_text(Arena *arena, const char *row, const Buf *lines)
{
	if (lines->size == 0 && !row)
		return NULL;
	return arena_printf(arena, "{\"choices\": %d%s%s}\n%s", CHOICES_FORMAT,
	                    row ? ", \"row\": " : "", row ? row : "", buf_text(lines));
}

/* The first line of what is not empty. Choices of another format would be asked by other names. */
static void
check_format(const Loc *loc, const char *text)
{
	Json *json = json_read(text, strcspn(text, "\n"));
	const Json *format = json_member(json, "choices");
	double seen = json_is(format, JSON_NUMBER) ? format->number : 1;
	bool is_object = json_is(json, JSON_OBJECT);
	json_free(json);
	if (*text && !is_object)
		fail(loc, "this is no file of choices; compile with --keep writes one, choices.jsonl");
	if (*text && seen != CHOICES_FORMAT)
		fail(loc,
		     "these choices have format %g and this version reads %d: compile without --choices, "
		     "with --keep, and take the choices.jsonl that it writes",
		     seen, CHOICES_FORMAT);
}

void
choices_parse(Arena *arena, const char *path, const char *text, const char *member, Map *values)
{
	Loc loc = {.file = path, .line = 1};
	check_format(&loc, text);
	for (text += strcspn(text, "\n"); *text; loc.line++) {
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

const char *
choices_value(const Plan *plan, int step)
{
	const char *node = plan->steps[step].name;
	for (; step < plan->nstep && strcmp(plan->steps[step].name, node) == 0; step++) {
		const PlanStep *now = &plan->steps[step];
		for (int k = now->narg - now->noutput; k < now->narg; k++)
			if (now->args[k] >= 0 && plan->buffers[now->args[k]].is_value)
				return plan->buffers[now->args[k]].name;
	}
	return NULL;
}

void
choices_deny(Arena *arena, const char *known, const char *kind, int count,
             const char *const *values, const char *path)
{
	Buf lines = {.arena = arena};
	for (int i = 0; i < count; i++)
		json_put(&lines, "{'key': %s, 'chosen': %s, 'candidates': %s}\n",
		         arena_printf(arena, "deny %s %s", kind, values[i]), "left out", "");
	const char *text =
		known ? arena_printf(arena, "%s%s", file_text(arena, known), count ? buf_text(&lines) : "")
			  : choices_text(arena, NULL, &lines);
	file_write(arena, path, text, strlen(text));
}
