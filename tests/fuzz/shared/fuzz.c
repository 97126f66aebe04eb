/* One case of a harness, with limits; and changes to bytes. */
#include "fuzz.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

/* ---- memory ---- */

/* The sanitizers' own hooks; absent without one. */
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
	void (*on_malloc)(const volatile void *, size_t), void (*on_free)(const volatile void *));
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void *memory);

/* Hooks get no argument of ours: what is counted stands here. */
static atomic_llong held;
static atomic_bool is_counting;

static void
note_malloc(const volatile void *memory, size_t size)
{
	(void)memory;
	if (!atomic_load(&is_counting))
		return;
	long long now = atomic_fetch_add(&held, (long long)size) + (long long)size;
	if (now > (long long)FUZZ_MEMORY_MB << 20) {
		atomic_store(&is_counting, false);
		fuzz_found("a case of a few kilobytes holds %lld MB", now >> 20);
	}
}

static void
note_free(const volatile void *memory)
{
	if (memory && atomic_load(&is_counting))
		atomic_fetch_sub(&held, (long long)__sanitizer_get_allocated_size(memory));
}

static void
count_memory(bool is_on)
{
	static bool is_installed;
	if (!__sanitizer_install_malloc_and_free_hooks || !__sanitizer_get_allocated_size)
		return;
	if (!is_installed)
		__sanitizer_install_malloc_and_free_hooks(note_malloc, note_free);
	is_installed = true;
	atomic_store(&held, 0);
	atomic_store(&is_counting, is_on);
}

/* ---- cases ---- */

_Noreturn void
fuzz_found(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fputs("FOUND: ", stderr);
	vfprintf(stderr, format, args);
	fputs("\n", stderr);
	va_end(args);
	abort();
}

bool
fuzz_case(void (*fn)(void *fuzz_case), const uint8_t *data, size_t size, void *more)
{
	Failure failure;
	count_memory(true);
	FuzzCase one = {arena_new("fuzz"), data, size, more};
	bool is_fine = try_run(fn, &one, &failure);
	if (!is_fine && failure.kind == FAIL_BUG)
		fuzz_found("%s", failure.text);
	if (!is_fine && (!failure.text[0] || strchr(failure.text, '\n')))
		fuzz_found("a failure in %s", failure.text[0] ? "more than one line" : "no words");
	arena_free(one.arena);
	count_memory(false);
	return is_fine;
}

/* ---- texts ---- */

typedef struct Reading {
	FuzzPrint *print;
	const char *text, *again;
	Arena *arena;
} Reading;

static void
read_again(void *arg)
{
	Reading *reading = arg;
	reading->again = reading->print(reading->arena, reading->text);
}

static void
there_and_back(void *arg)
{
	FuzzCase *one = arg;
	FuzzPrint **print = one->more;
	const char *text = arena_strndup(one->arena, (const char *)one->data, one->size);
	Reading second = {*print, (*print)(one->arena, text), NULL, one->arena};
	Failure failure;
	if (!try_run(read_again, &second, &failure))
		fuzz_found("what was printed does not read back: %s\n%s", failure.text, second.text);
	if (strcmp(second.text, second.again) != 0)
		fuzz_found("what was printed reads back otherwise:\n%s\n%s", second.text, second.again);
}

void
fuzz_text(FuzzPrint *print, const uint8_t *data, size_t size)
{
	fuzz_case(there_and_back, data, size, &print);
}

/* ---- random changes ---- */

uint32_t
fuzz_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* A byte, a bit, a run copied over another, a varint made huge, or a cut. */
size_t
fuzz_change_bytes(unsigned char *data, size_t size, uint64_t *state)
{
	if (size < 16)
		return size;
	size_t at = fuzz_random(state) % size, from = fuzz_random(state) % size;
	size_t length = 1 + fuzz_random(state) % 16;
	if (at + length > size || from + length > size)
		return size;
	switch (fuzz_random(state) % 6) {
	case 0:
		data[at] = (unsigned char)fuzz_random(state);
		return size;
	case 1:
		data[at] ^= (unsigned char)(1 << fuzz_random(state) % 8);
		return size;
	case 2:
		memmove(data + at, data + from, length);
		return size;
	case 3:
		memset(data + at, 0xff, length);
		return size;
	case 4:
		memmove(data + at, data + at + length, size - at - length);
		return size - length;
	default:
		return fuzz_random(state) % 8 == 0 ? at : size;
	}
}
