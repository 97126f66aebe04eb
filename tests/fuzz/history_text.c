/* Histories: what a stranger's bundle may say was done to a model is read whole or refused, and
 * what was read is written and read again as the same. */
#include <stdlib.h>
#include <string.h>

#include "driver/history.h"
#include "fuzz.h"
#include "json.h"

static const char *
again(Arena *arena, const char *text, size_t size)
{
	History history = history_read(arena, "m.twb", (Bytes){(const unsigned char *)text, size});
	for (int i = 0; i < history.lines.count; i++)
		for (int k = 0; k < history.lines.data[i].nodes.count; k++)
			history_line_text(arena, &history.lines.data[i], k);
	int node = 0;
	history_rewrite(&history, 1, &node);
	return history_text(arena, &history);
}

static void
read_history(void *arg)
{
	FuzzCase *one = arg;
	const char *text = again(one->arena, (const char *)one->data, one->size);
	/* a second time: what is written is in one form; "cut" counts what this writing left out */
	const char *twice = again(one->arena, text, strlen(text));
	if (strcmp(text, twice) != 0)
		fuzz_found("a history is written and read as another one");
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_case(read_history, data, size, NULL);
	return 0;
}

/* Lines are JSON: mostly one of them is changed as such. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	uint64_t state = seed;
	uint8_t *line = data, *end = data + size;
	for (uint32_t skipped = fuzz_random(&state) % 8; skipped > 0; skipped--) {
		uint8_t *newline = memchr(line, '\n', (size_t)(end - line));
		line = newline && newline + 1 < end ? newline + 1 : line;
	}
	uint8_t *newline = memchr(line, '\n', (size_t)(end - line));
	size_t length = (size_t)((newline ? newline : end) - line), before = (size_t)(line - data);
	size_t rest = size - before - length, made = 0;
	uint8_t *changed = malloc(max_size + 1);
	if (changed && fuzz_random(&state) % 8 && length > 0 && max_size > before + rest) {
		memcpy(changed, line, length);
		made = fuzz_change_json(changed, length, max_size - before - rest, &state);
	}
	if (made) {
		memmove(line + made, line + length, rest);
		memcpy(line, changed, made);
	}
	free(changed);
	return made ? before + made + rest : fuzz_change_bytes(data, size, &state);
}
