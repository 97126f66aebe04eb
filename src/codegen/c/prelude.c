/* The prelude, cut down to what the kernels use.
 *
 * Its files, with their macros put in (macros.c), are a list of items: functions, types, and blocks
 * that the C compiler decides (#ifdef __clang__ …). C names a thing before it uses it, so an item
 * defines the names tw_… and TW_… that no item before it has, and uses the others. Items that
 * define none, as memcpy, which the compiler may call, are always there.
 */
#include <ctype.h>
#include <string.h>

#include "codegen/c/emit.h"
#include "codegen/c/macros.h"
#include "expr/scalar/prelude.h"

typedef struct Item {
	const char *text;
	bool is_wanted;
} Item;

typedef struct Prelude {
	Arena *arena;
	VEC(Item *) items;
	Map owners; /* name to the Item that defines it */
} Prelude;

/* ---- the whole text -------------------------------------------------------------------------- */

/* One instance of the float functions (lanes_open.h says how). */
static void
add_floats(Buf *source, int width, int lanes)
{
	buf_printf(source, "#define TW_WIDTH %d\n#define TW_LANES %d\n", width, lanes);
	buf_puts(source, prelude_text("lanes_open.h"));
	buf_puts(source, prelude_text("float.h"));
	buf_puts(source, prelude_text(width == 64 ? "math64.h" : "math32.h"));
	buf_puts(source, prelude_text("lanes_close.h"));
}

static const char *
whole_text(Arena *arena, const Target *target)
{
	static const char *const names[] = {"abi.h",     "types.h",   "ints.h",  "convert.h",
	                                    "storage.h", "pi_bits.h", "kernel.h"};
	bool is_x86 = strncmp(target->device->march, "x86", 3) == 0;
	Buf source = {.arena = arena};
	buf_printf(&source, "#define TW_X86_BYTES %d\n", is_x86 ? target->device->vector_bytes : 0);
	for (size_t i = 0; i < countof(names); i++)
		buf_puts(&source, prelude_text(names[i]));
	add_floats(&source, 64, 0);
	add_floats(&source, 32, 0);
	for (int lanes = 4; lanes <= 16; lanes *= 2) {
		add_floats(&source, 64, lanes / 2);
		add_floats(&source, 32, lanes);
	}
	buf_puts(&source, prelude_text("lanes.h"));
	return c_expand(arena, buf_text(&source));
}

/* ---- items ----------------------------------------------------------------------------------- */

/* Where a block #if … #endif ends. */
static const char *
block_end(const char *at)
{
	int depth = 0;
	do {
		depth += strncmp(at, "#if", 3) == 0;
		depth -= strncmp(at, "#endif", 6) == 0;
		at += strcspn(at, "\n") + 1;
	} while (depth > 0 && *at);
	return at;
}

/* Where a definition ends: behind the braces of a function, or a semicolon. */
static const char *
definition_end(const char *at)
{
	int depth = 0;
	bool is_function = false;
	char before = ' ';
	for (; *at; at += c_token(at)) {
		if (*at == '{' && depth++ == 0)
			is_function = before == ')';
		if (*at == '}' && --depth == 0 && is_function)
			return at + 1;
		if (*at == ';' && depth == 0)
			return at + 1;
		if (!isspace((unsigned char)*at))
			before = *at;
	}
	return at;
}

/* The end of the comments at `at` when a definition follows on the next line, else NULL. */
static const char *
skip_comments(const char *at)
{
	while (strncmp(at, "/*", 2) == 0) {
		at += c_token(at);
		if (at[0] != '\n' || at[1] == '\n')
			return NULL;
		at++;
	}
	return at;
}

/* The next token that is a name of the prelude's, copied; NULL: none is left. */
static const char *
next_name(Arena *arena, const char **at)
{
	while (**at) {
		const char *word = *at;
		*at += c_token(word);
		if (strncmp(word, "tw_", 3) == 0 || strncmp(word, "TW_", 3) == 0)
			return arena_strndup(arena, word, (size_t)(*at - word));
	}
	return NULL;
}

static void
add_item(Prelude *prelude, const char *text, size_t size)
{
	Item *item = NEW(prelude->arena, Item);
	item->text = arena_strndup(prelude->arena, text, size);
	item->is_wanted = true;
	vec_push(prelude->arena, &prelude->items, item);
	const char *at = item->text, *name;
	while ((name = next_name(prelude->arena, &at))) {
		if (map_find(&prelude->owners, name))
			continue;
		map_set(&prelude->owners, name, item);
		item->is_wanted = false;
	}
}

static void
split(Prelude *prelude, const char *at)
{
	while (*(at += strspn(at, " \t\n"))) {
		const char *body = skip_comments(at);
		if (!body) {
			at += c_token(at);
			continue;
		}
		const char *end = *body == '#' ? block_end(body) : definition_end(body);
		add_item(prelude, at, (size_t)(end - at));
		at = end;
	}
}

/* ---- what is used ---------------------------------------------------------------------------- */

static void
want(Prelude *prelude, const char *text)
{
	const char *name;
	while ((name = next_name(prelude->arena, &text))) {
		Item *item = map_find(&prelude->owners, name);
		if (!item || item->is_wanted)
			continue;
		item->is_wanted = true;
		want(prelude, item->text);
	}
}

static void
print_item(Buf *out, const char *text)
{
	bool is_short = !strchr(text, '\n');
	buf_puts(out, is_short ? "" : "\n");
	while (*text) {
		size_t size = strcspn(text, "\n");
		buf_write(out, text, size);
		buf_puts(out, size ? "\n" : ""); /* blank lines are where macros were */
		text += size + (text[size] == '\n');
	}
}

void
prelude_print(Buf *out, const Target *target, const char *kernels)
{
	Arena *arena = arena_new_in(out->arena, "the kernels' prelude");
	Prelude prelude = {.arena = arena, .owners.arena = arena};
	split(&prelude, whole_text(arena, target));
	for (int i = 0; i < prelude.items.count; i++)
		if (prelude.items.data[i]->is_wanted)
			want(&prelude, prelude.items.data[i]->text);
	want(&prelude, kernels);
	for (int i = 0; i < prelude.items.count; i++)
		if (prelude.items.data[i]->is_wanted)
			print_item(out, prelude.items.data[i]->text);
	arena_reset(arena);
}
