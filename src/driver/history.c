/* Lines of the history by what they say. */
#include "driver/history.h"

#include <string.h>

#include "base/fail.h"
#include "base/map.h"
#include "base/pile.h"
#include "bundle/fields.h"

enum { HISTORY_FORMAT = 1, HISTORY_BYTES = 1 << 20, NODES_MOST = 1 << 20 };

/* ---- its records ---- */

typedef struct Head {
	int format, cut;
} Head;

static const Field head_fields[] = {
	{FIELD("history", Head, format), .lo = HISTORY_FORMAT, .hi = HISTORY_FORMAT},
	{FIELD("cut", Head, cut), .hi = INT32_MAX},
};

/* Of each node, or of none. */
static void
check_line(const FieldReader *reader, void *record)
{
	const HistoryLine *line = record;
	int count = line->nodes.count, made = line->made.count, numbers = line->rewrites.count;
	if (count == 0 || (made && made != count) || (numbers && numbers != count))
		json_fail(reader->json, "%d nodes, of which %d are made, have %d numbers", count, made,
		          numbers);
}

static const Field line_fields[] = {
	{FIELD("id", HistoryLine, id)},
	{FIELD("pass", HistoryLine, pass)},
	{FIELD("rule", HistoryLine, rule)},
	{FIELD_OR("reason", HistoryLine, reason, 1)},
	{FIELD_LIST("nodes", HistoryLine, nodes.data, nodes.count), .most = NODES_MOST},
	{FIELD_LIST_OR_NONE("made", HistoryLine, made.data, made.count), .most = NODES_MOST},
	{FIELD_LIST_OR_NONE("rewrites", HistoryLine, rewrites.data, rewrites.count), .most = NODES_MOST,
     .lo = 1, .hi = INT32_MAX, .check = check_line},
};
static const Record head_record = {RECORD(Head, head_fields)};
static const Record line_record = {RECORD(HistoryLine, line_fields)};

/* ---- of a compilation ---- */

static const char *
said_of(Arena *arena, const PassEvent *event)
{
	return arena_printf(arena, "%s\n%s\n%s", event->pass ? event->pass : "lowering", event->rule,
	                    event->reason ? event->reason : "");
}

static HistoryLine
line_of(Arena *arena, const PassEvent *event, const char *said)
{
	return (HistoryLine){
		.id = arena_printf(arena, "%08x", (uint32_t)hash64(said, strlen(said))),
		.pass = event->pass ? event->pass : "lowering",
		.rule = event->rule,
		.reason = event->reason,
	};
}

/* What is asked twice is said once. */
static void
add_node(Arena *arena, HistoryLine *line, Map *seen, const PassEvent *event)
{
	const char *node = event->nodes ? event->nodes : "", *made = event->made ? event->made : "";
	const char *key = arena_printf(arena, "%s\n%s\n%s", line->id, node, made);
	if (event->rewrite == 0 && map_find(seen, key))
		return;
	map_set(seen, key, line);
	vec_push(arena, &line->nodes, node);
	if (!event->reason)
		vec_push(arena, &line->made, made);
	if (event->rewrite)
		vec_push(arena, &line->rewrites, event->rewrite);
}

static void
forget_nothing_made(HistoryLine *line)
{
	for (int i = 0; i < line->made.count; i++)
		if (*line->made.data[i])
			return;
	line->made.count = 0;
}

History
history_of(Arena *arena, const PassContext *context)
{
	History history = {.cut = 0};
	Map at = {.arena = arena}, seen = {.arena = arena};
	for (int i = 0; i < context->log.count; i++) {
		const PassEvent *event = &context->log.data[i];
		if (event->is_note)
			continue;
		const char *said = said_of(arena, event);
		uintptr_t index = (uintptr_t)map_find(&at, said);
		if (index == 0) {
			vec_push(arena, &history.lines, line_of(arena, event, said));
			index = (uintptr_t)history.lines.count;
			map_set(&at, said, (void *)index);
		}
		add_node(arena, &history.lines.data[index - 1], &seen, event);
	}
	for (int i = 0; i < history.lines.count; i++)
		forget_nothing_made(&history.lines.data[i]);
	return history;
}

/* ---- as text ---- */

const char *
history_text(Arena *arena, const History *history)
{
	Buf lines = {.arena = arena};
	int cut = 0;
	for (int i = 0; i < history->lines.count; i++) {
		size_t size = lines.size;
		record_write(&lines, &line_record, &history->lines.data[i]);
		buf_puts(&lines, "\n");
		if (lines.size <= HISTORY_BYTES)
			continue;
		lines.size = size;
		cut++;
	}
	Buf text = {.arena = arena};
	record_write(&text, &head_record, &(Head){HISTORY_FORMAT, cut});
	buf_printf(&text, "\n%s", buf_text(&lines));
	return buf_text(&text);
}

/* ---- of a bundle ---- */

static void
free_pile(void *pile)
{
	pile_free(pile);
}

/* Fails with what is wrong with the line. */
static void
read_record(const Loc *loc, Pile *pile, const char *text, size_t size, const Record *record,
            void *to)
{
	char error[512];
	JsonReader r = {pile, "its line", error, sizeof error, false};
	Json *json = json_parse(&r, text, size, HISTORY_BYTES);
	if (!r.failed)
		record_read(&(FieldReader){.json = &r}, record, json, to);
	json_free(json);
	if (r.failed)
		fail(loc, "%s: compile the model again", error);
}

History
history_read(Arena *arena, const char *path, Bytes part)
{
	Head head = {0};
	History history = {.cut = 0};
	Pile *pile = NEW(arena, Pile);
	Loc loc = {.file = arena_printf(arena, "%s, %s", path, HISTORY_ENTRY), .line = 1};
	const char *text = (const char *)part.data, *end = text ? text + part.size : NULL;
	arena_defer(arena, free_pile, pile);
	for (size_t length; text < end; text += length + 1, loc.line++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		HistoryLine line = {.id = NULL};
		length = newline ? (size_t)(newline - text) : (size_t)(end - text);
		if (loc.line == 1) {
			read_record(&loc, pile, text, length, &head_record, &head);
			continue;
		}
		read_record(&loc, pile, text, length, &line_record, &line);
		vec_push(arena, &history.lines, line);
	}
	history.cut = head.cut;
	return history;
}

/* ---- for people ---- */

const char *
history_line_text(Arena *arena, const HistoryLine *line, int node)
{
	const char *made = node < line->made.count ? line->made.data[node] : "";
	return arena_printf(arena, "%s: %s: %s%s%s", line->pass, line->rule, line->nodes.data[node],
	                    line->reason ? " not applied: "
	                    : *made      ? " -> "
	                                 : "",
	                    line->reason ? line->reason : made);
}

const HistoryLine *
history_rewrite(const History *history, int number, int *node)
{
	for (int i = 0; i < history->lines.count; i++) {
		const HistoryLine *line = &history->lines.data[i];
		for (*node = 0; *node < line->rewrites.count; ++*node)
			if (line->rewrites.data[*node] == number)
				return line;
	}
	return NULL;
}
