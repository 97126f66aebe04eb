/* The prelude, cut down to what the kernels use: the items that their text names, and those that
 * these use, which stand before them. Items without a name, as memcpy, which the compiler may call,
 * are always there.
 */
#include "codegen/c/prelude.h"

#include <string.h>

#include "codegen/c/emit.h"

/* The next word of a text, copied; NULL: none is left. */
static const char *
next_word(Arena *arena, const char **at)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	const char *word = strpbrk(*at, letters);
	if (!word)
		return NULL;
	size_t size = strspn(word, letters);
	*at = word + size;
	return arena_strndup(arena, word, size);
}

void
prelude_print(Buf *out, const Target *target, const char *kernels)
{
	Arena *arena = arena_new_in(out->arena, "the kernels' prelude");
	Map items = {.arena = arena}; /* a name to 1 + the item that defines it */
	bool *is_wanted = NEW_N(arena, bool, prelude_count);
	const Device *device = target->device;
	bool is_x86 = device->march && strncmp(device->march, "x86", 3) == 0;
	int machine = is_x86 ? device->vector_bytes : 0;
	const char *word;
	for (int i = 0; i < prelude_count; i++) {
		const PreludeItem *item = &prelude_items[i];
		if (device->gpu ? item->x86_bytes != PRELUDE_CUDA
		                : item->x86_bytes != PRELUDE_CPU && item->x86_bytes != machine)
			continue;
		is_wanted[i] = *item->names == '\0';
		for (const char *at = item->names; (word = next_word(arena, &at));)
			map_set(&items, word, (void *)(intptr_t)(i + 1));
	}
	while ((word = next_word(arena, &kernels))) {
		intptr_t item = (intptr_t)map_find(&items, word);
		if (item)
			is_wanted[item - 1] = true;
	}
	for (int i = prelude_count - 1; i >= 0; i--)
		for (const short *use = prelude_items[i].uses; is_wanted[i] && *use >= 0; use++)
			is_wanted[*use] = true;
	for (int i = 0; i < prelude_count; i++)
		if (is_wanted[i])
			buf_puts(out, prelude_items[i].text);
	arena_reset(arena);
}
