/* Arenas: a list of chunks, handed out from the front, given back together.
 *
 * Chunks grow from 4 KiB to 1 MiB, and an allocation larger than a quarter chunk gets a chunk of
 * its own, so that big tensors stay untouched zero pages until used. Under AddressSanitizer every
 * allocation is followed by a poisoned gap, and released chunks go through free(), which poisons
 * them: a read past the end or after the end is reported where it happens.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/poison.h"

enum { ALIGN = 16, CHUNK_MIN = 4096, CHUNK_MAX = 1 << 20 };

typedef struct Chunk {
	struct Chunk *next;
	size_t size, used; /* of the bytes behind this head */
	size_t number;     /* of chunks made before it */
	bool is_spilled;
} Chunk;

typedef struct Deferred {
	struct Deferred *next;
	void (*release)(void *);
	void *handle;
} Deferred;

struct Arena {
	const char *name;
	Chunk *chunks; /* the first is the one being filled */
	Chunk *spare;  /* the largest that arena_release() has emptied, or NULL */
	Deferred *deferred;
	size_t chunk_size, used, chunk_count;
	char *folder; /* of large allocations; NULL: they are memory as any other */
};

/* The head, rounded up so that what follows is aligned as malloc() aligns. */
enum { HEAD = (sizeof(Chunk) + ALIGN - 1) / ALIGN * ALIGN };

static char *
chunk_bytes(Chunk *chunk)
{
	return (char *)chunk + HEAD;
}

_Noreturn static void
fail_memory(const Arena *arena, size_t size)
{
	fail_environment(NULL, "out of memory in arena '%s' (asked for %zu bytes)", arena->name, size);
}

Arena *
arena_new(const char *name)
{
	Arena *arena = calloc(1, sizeof *arena);
	if (!arena)
		fail_environment(NULL, "out of memory for arena '%s'", name);
	arena->name = name;
	arena->chunk_size = CHUNK_MIN;
	return arena;
}

static void
run_deferred(Arena *arena, const Deferred *until)
{
	while (arena->deferred != until) {
		Deferred *deferred = arena->deferred;
		arena->deferred = deferred->next; /* first, so that each is released once */
		deferred->release(deferred->handle);
	}
}

static void
free_chunk(Arena *arena, Chunk *chunk)
{
	ASAN_UNPOISON_MEMORY_REGION(chunk_bytes(chunk), chunk->size);
	if (chunk->is_spilled)
		spill_release(arena->folder, chunk, HEAD + chunk->size);
	else
		free(chunk);
}

void
arena_reset(Arena *arena)
{
	run_deferred(arena, NULL);
	while (arena->chunks) {
		Chunk *chunk = arena->chunks;
		arena->chunks = chunk->next;
		free_chunk(arena, chunk);
	}
	if (arena->spare)
		free_chunk(arena, arena->spare);
	arena->spare = NULL;
	arena->chunk_size = CHUNK_MIN;
	arena->used = 0;
}

/* ---- marks ----------------------------------------------------------------------------------- */

ArenaMark
arena_mark(const Arena *arena)
{
	const Chunk *first = arena->chunks;
	return (ArenaMark){arena->deferred, arena->chunk_count, first ? first->used : 0, arena->used};
}

/* Memory is handed out zeroed. */
static void
empty_chunk(Chunk *chunk, size_t from)
{
	char *bytes = chunk_bytes(chunk) + from;
	ASAN_UNPOISON_MEMORY_REGION(bytes, chunk->used - from);
	memset(bytes, 0, chunk->used - from);
	ASAN_POISON_MEMORY_REGION(bytes, chunk->used - from);
	chunk->used = from;
}

static void
retire_chunk(Arena *arena, Chunk *chunk)
{
	Chunk *spare = arena->spare;
	if (chunk->is_spilled || chunk->size > CHUNK_MAX || (spare && spare->size >= chunk->size)) {
		free_chunk(arena, chunk);
		return;
	}
	if (spare)
		free_chunk(arena, spare);
	empty_chunk(chunk, 0);
	arena->spare = chunk;
}

void
arena_release(Arena *arena, ArenaMark mark)
{
	run_deferred(arena, mark.deferred);
	for (Chunk **place = &arena->chunks; *place;) {
		Chunk *chunk = *place;
		if (chunk->number < mark.chunk_count) {
			place = &chunk->next;
			continue;
		}
		*place = chunk->next;
		retire_chunk(arena, chunk);
	}
	if (arena->chunks)
		empty_chunk(arena->chunks, mark.chunk_used);
	arena->used = mark.used;
}

void
arena_free(Arena *arena)
{
	if (!arena)
		return;
	arena_reset(arena);
	free(arena->folder);
	free(arena);
}

static Chunk *
make_chunk(const Arena *arena, size_t room, bool is_spilled)
{
	Chunk *chunk =
		is_spilled ? spill_alloc(arena->folder, HEAD + room, ALIGN) : calloc(1, HEAD + room);
	if (!chunk)
		return NULL;
	chunk->size = room;
	chunk->is_spilled = is_spilled;
	ASAN_POISON_MEMORY_REGION(chunk_bytes(chunk), room);
	return chunk;
}

/* Add a chunk with room for `size` bytes; one that is for a single large allocation goes behind
 * the chunk being filled. NULL when memory is out. */
static Chunk *
add_chunk(Arena *arena, size_t size)
{
	bool is_single = size > arena->chunk_size / 4 && arena->chunks;
	size_t room = size > arena->chunk_size || is_single ? size : arena->chunk_size;
	if (room > SIZE_MAX - HEAD)
		return NULL;
	bool is_spilled = is_single && arena->folder;
	bool is_reused = !is_single && arena->spare && arena->spare->size >= size;
	Chunk *chunk = is_reused ? arena->spare : make_chunk(arena, room, is_spilled);
	if (!chunk)
		return NULL;
	if (is_reused)
		arena->spare = NULL;
	chunk->number = arena->chunk_count++;
	Chunk **place = is_single ? &arena->chunks->next : &arena->chunks;
	chunk->next = *place;
	*place = chunk;
	if (!is_single && !is_reused && arena->chunk_size < CHUNK_MAX)
		arena->chunk_size *= 2;
	return chunk;
}

/* As arena_alloc_aligned(), but NULL when memory is out. */
static void *
try_alloc(Arena *arena, size_t size, size_t align)
{
	if (size > SIZE_MAX / 2)
		return NULL;
	size_t slack = align > ALIGN ? align - ALIGN : 0;
	size_t need = (size + POISON_GAP + ALIGN - 1) / ALIGN * ALIGN;
	Chunk *chunk = arena->chunks;
	if (!chunk || chunk->size - chunk->used < need + slack)
		chunk = add_chunk(arena, need + slack);
	if (!chunk)
		return NULL;
	char *at = chunk_bytes(chunk) + chunk->used;
	size_t skip = (size_t)(-(uintptr_t)at & (align - 1));
	chunk->used += skip + need;
	arena->used += size;
	ASAN_UNPOISON_MEMORY_REGION(at + skip, size);
	return at + skip;
}

void *
arena_alloc_aligned(Arena *arena, size_t size, size_t align)
{
	void *memory = try_alloc(arena, size, align < ALIGN ? ALIGN : align);
	if (!memory)
		fail_memory(arena, size);
	return memory;
}

void *
arena_alloc(Arena *arena, size_t size)
{
	return arena_alloc_aligned(arena, size, ALIGN);
}

void *
arena_alloc_n(Arena *arena, size_t count, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(count, size, &total))
		fail_environment(NULL, "out of memory in arena '%s' (asked for %zu times %zu bytes)",
		                 arena->name, count, size);
	return arena_alloc(arena, total);
}

void *
arena_grow(Arena *arena, const void *old, size_t old_size, size_t new_size)
{
	void *memory = arena_alloc(arena, new_size);
	size_t kept = old_size < new_size ? old_size : new_size;
	if (kept)
		memcpy(memory, old, kept);
	return memory;
}

void *
arena_memdup(Arena *arena, const void *data, size_t size)
{
	return arena_grow(arena, data, size, size);
}

char *
arena_strndup(Arena *arena, const char *text, size_t length)
{
	size_t size = strnlen(text, length);
	return arena_grow(arena, text, size, size + 1);
}

char *
arena_strdup(Arena *arena, const char *text)
{
	return arena_memdup(arena, text, strlen(text) + 1);
}

char *
arena_printf(Arena *arena, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *text = NULL;
	if (length >= 0) {
		text = try_alloc(arena, (size_t)length + 1, ALIGN);
		if (text)
			vsnprintf(text, (size_t)length + 1, format, again);
	}
	va_end(again);
	if (!text)
		fail_memory(arena, length < 0 ? 0 : (size_t)length + 1);
	return text;
}

/* When there is no memory to remember the handle by, it is released at once. */
void
arena_defer(Arena *arena, void (*release)(void *), void *handle)
{
	Deferred *deferred = try_alloc(arena, sizeof *deferred, ALIGN);
	if (!deferred) {
		release(handle);
		fail_memory(arena, sizeof *deferred);
	}
	*deferred = (Deferred){arena->deferred, release, handle};
	arena->deferred = deferred;
}

void
arena_spill(Arena *arena, const char *folder)
{
	free(arena->folder);
	arena->folder = folder && !POISON_GAP ? strdup(folder) : NULL;
}

const char *
arena_folder(const Arena *arena)
{
	return arena->folder;
}

static void
free_arena(void *arena)
{
	arena_free(arena);
}

Arena *
arena_new_in(Arena *owner, const char *name)
{
	Arena *arena = arena_new(name);
	arena_defer(owner, free_arena, arena);
	return arena;
}

size_t
arena_used(const Arena *arena)
{
	return arena->used;
}
