/* A file of kernels (dialect.c), cut into what compilers are given.
 *
 *     prelude, kernel 0, kernel 1, …, table
 * =>  what kernel 0 needs of the prelude, kernel 0      a unit for each kernel
 *     …
 *     what the compiler may call, the table             and one more
 *
 * A unit says nothing of the file that it comes from: no comment, no number, no name of a node. So
 * equal kernels of several models, and of the many drafts of one, are equal texts, which are
 * compiled once. Its kernel is called by the hash of its text.
 */
#include <string.h>

#include "codegen/c/emit.h"

static const char BODY[] = "\nTW_BODY\n", WRAPPER[] = "\nTW_KERNEL void\n";

/* Behind the two functions of the kernel that begins here. */
static const char *
end_of(const char *kernel)
{
	static const char closed[] = "\n}\n";
	const char *wrapper = strstr(kernel, WRAPPER);
	must(wrapper);
	const char *end = strstr(wrapper, closed);
	must(end);
	return end + strlen(closed);
}

/* A kernel's text with these names in the place of its own. */
static const char *
renamed(Arena *arena, const char *text, const char *body, const char *wrapper)
{
	const char *own = text + strlen(BODY), *rest = own + strcspn(own, "(");
	const char *last = strstr(rest, WRAPPER);
	must(last);
	const char *behind = strchr(last, '('), *called = strstr(behind, "{\n\t");
	must(called);
	return arena_printf(arena, "%s%s%.*s%s%s%.*s{\n\t%s%s", BODY, body, (int)(last - rest), rest,
	                    WRAPPER, wrapper, (int)(called - behind), behind, body,
	                    strchr(called, '('));
}

static const char *
hash_text(Arena *arena, const char *text)
{
	Hash128 hash = hash128(text, strlen(text));
	return arena_printf(arena, "tw_%016llx%016llx", (unsigned long long)hash.high,
	                    (unsigned long long)hash.low);
}

/* The unit of a kernel; `table` gets a line that says how the file's own name is called. */
static const char *
unit_of(Arena *arena, const Target *target, const char *text, Buf *table)
{
	Buf out = {.arena = arena};
	const char *plain = renamed(arena, text, "body", "kernel");
	print_frame(&out, "");
	prelude_print(&out, target, plain, false);
	buf_puts(&out, plain);
	const char *name = hash_text(arena, buf_text(&out));
	const char *own = strstr(text, WRAPPER) + strlen(WRAPPER);
	buf_printf(table, "#define %.*s %s\n", (int)strcspn(own, "("), own, name);
	out.size -= strlen(plain);
	buf_puts(&out, renamed(arena, text, "body", name));
	return buf_text(&out);
}

StrVec
codegen_units(Arena *arena, const Target *target, const char *text)
{
	StrVec units = {0};
	const char *at = strstr(text, BODY), *end = NULL;
	if (!at) {
		vec_push(arena, &units, text);
		return units;
	}
	Buf table = {.arena = arena};
	print_frame(&table, "TW_KERNEL");
	for (; at; at = strstr(end, BODY)) {
		end = end_of(at);
		const char *kernel = arena_strndup(arena, at, (size_t)(end - at));
		vec_push(arena, &units, unit_of(arena, target, kernel, &table));
	}
	prelude_print(&table, target, end, true);
	buf_puts(&table, end);
	vec_push(arena, &units, buf_text(&table));
	return units;
}
