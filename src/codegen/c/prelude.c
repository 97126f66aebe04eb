/* The prelude, cut down to what the kernels use: the items that their text names, and those that
 * these use, which stand before them. Items without a name, as memcpy, are what the compiler may
 * call: an object has them once.
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

/* A kernel that calls functions of tens of operations in more places than these does not hold
 * copies of them: an epilogue of 20 sums in registers is printed 20 times, and gcc's time grows
 * with its text (docs/measurements/2026-11-26.md, "Cold compilations"). */
enum { COPIES_MOST = 4 };

static bool
is_math(const PreludeItem *item)
{
	return strstr(item->text, "TW_MATH tw_") != NULL;
}

void
prelude_print(Buf *out, const Target *target, const char *kernels, bool has_memory)
{
	Arena *arena = arena_new_in(out->arena, "the kernels' prelude");
	Map items = {.arena = arena}; /* a name to 1 + the item that defines it */
	bool *is_wanted = NEW_N(arena, bool, prelude_count);
	const Device *device = target->device;
	bool is_x86 = strstr(device->name, ":x86") != NULL; /* not all names of -march say so */
	int machine = is_x86 ? device->vector_bytes : 0;
	const char *word;
	int copies = 0;
	bool has_math = false;
	for (int i = 0; i < prelude_count; i++) {
		const PreludeItem *item = &prelude_items[i];
		if (device->gpu ? item->x86_bytes != PRELUDE_CUDA
		                : item->x86_bytes != PRELUDE_CPU && item->x86_bytes != machine)
			continue;
		is_wanted[i] = has_memory && *item->names == '\0';
		for (const char *at = item->names; (word = next_word(arena, &at));)
			map_set(&items, word, (void *)(intptr_t)(i + 1));
	}
	while ((word = next_word(arena, &kernels))) {
		intptr_t item = (intptr_t)map_find(&items, word);
		if (!item)
			continue;
		is_wanted[item - 1] = true;
		copies += is_math(&prelude_items[item - 1]);
	}
	for (int i = prelude_count - 1; i >= 0; i--)
		for (const short *use = prelude_items[i].uses; is_wanted[i] && *use >= 0; use++)
			is_wanted[*use] = true;
	for (int i = 0; i < prelude_count; i++)
		has_math |= is_wanted[i] && is_math(&prelude_items[i]);
	if (has_math)
		buf_printf(out, "#define TW_MATH %s\n", copies > COPIES_MOST ? "TW_SLOW" : "TW_FN");
	for (int i = 0; i < prelude_count; i++)
		if (is_wanted[i])
			buf_puts(out, prelude_items[i].text);
	arena_reset(arena);
}
