/* Arenas: memory with one owner and one end.
 *
 * Everything a compilation makes lives in an arena and goes when the arena goes; nothing is freed
 * singly. Handles that are not memory (files, maps, libraries) are registered with arena_defer()
 * and released with it, on every path, also when fail() unwinds past their owner.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

/* A place in an arena to go back to. */
typedef struct ArenaMark {
	void *deferred;
	size_t chunk_count, chunk_used, used;
} ArenaMark;

/* Make an empty arena; `name` (static text) appears in out-of-memory messages. Never NULL. */
Arena *arena_new(const char *name);

/* An arena that goes with `owner`, also when a failure unwinds past who made it. arena_reset()
 * gives its memory back before. */
Arena *arena_new_in(Arena *owner, const char *name);

/* Run the deferred releases in reverse order, then free everything. NULL is accepted. */
void arena_free(Arena *arena);

/* As arena_free(), but the arena stays usable and empty. */
void arena_reset(Arena *arena);

/* Give back what was allocated and deferred since the mark, last marks first. Memory in use stays
 * with the arena, so that a scratch arena that is filled again and again asks for none. */
ArenaMark arena_mark(const Arena *arena);
void arena_release(Arena *arena, ArenaMark mark);

/* Zeroed memory, aligned to 16 bytes; fails (FAIL_ENVIRONMENT) when memory is out. */
void *arena_alloc(Arena *arena, size_t size);

/* The same for count * size bytes, checked against overflow. */
void *arena_alloc_n(Arena *arena, size_t count, size_t size);

/* A larger copy of an allocation; the old one stays where it is until the arena goes. */
void *arena_grow(Arena *arena, const void *old, size_t old_size, size_t new_size);

/* Zeroed memory aligned to `align` (a power of two, at most 4096): tensors, scratch. */
void *arena_alloc_aligned(Arena *arena, size_t size, size_t align);

char *arena_strdup(Arena *arena, const char *text);
char *arena_strndup(Arena *arena, const char *text, size_t length);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void *arena_memdup(Arena *arena, const void *data, size_t size);

/* Large allocations from now on lie in files without names in this folder, whose pages the system
 * can write out (spill_alloc()); NULL: no longer. Not under AddressSanitizer, which does not look
 * there for pointers. */
void arena_spill(Arena *arena, const char *folder);
const char *arena_folder(const Arena *arena); /* that folder, or NULL */

/* Call release(handle) when the arena is freed or reset. */
void arena_defer(Arena *arena, void (*release)(void *), void *handle);

/* Bytes handed out so far: for reports and tests. */
size_t arena_used(const Arena *arena);

#define NEW(arena, T) ((T *)arena_alloc((arena), sizeof(T)))
#define NEW_N(arena, T, n) ((T *)arena_alloc_n((arena), (size_t)(n), sizeof(T)))

#define countof(array) (sizeof(array) / sizeof((array)[0]))

/* Memory that may leave memory: large blocks in files without names.
 *
 * A compiler holds weights that it looks at seldom. In a file's pages the system can write them out
 * when memory is short, where there is no swap too. The file vanishes with the block, also when the
 * process is killed.
 */

/* `folder` is the path of the folder whose disk takes the pages (a context pointer, as allocators
 * have one). Zeroed, aligned to `alignment`, at most a page's. Small blocks, and all where such
 * files cannot be made or the disk has no room, are memory as any other. NULL when that is out. */
void *spill_alloc(void *folder, size_t size, size_t alignment);
void spill_release(void *folder, void *memory, size_t size); /* NULL is accepted */

#endif
