/* A content-addressed cache: key (128-bit hash of everything that decides the result) to bytes.
 *
 * In $XDG_CACHE_HOME/tilewright or ~/.cache/tilewright, two-letter folders, files written whole.
 * A damaged or hostile file is a miss: each carries its key and an XXH3 of its contents; the first
 * is told of. The compiler works without the cache (unwritable folder: one warning). Bounded: the
 * oldest files go when it passes its limit.
 */
#ifndef BASE_CACHE_H
#define BASE_CACHE_H

#include "base/file.h"
#include "base/map.h"

typedef struct Cache Cache;

/* Of the one that all parts of the compiler share. */
#define CACHE_LIMIT ((uint64_t)512 << 20)

/* folder NULL = the default place. Never fails; a cache that cannot be used always misses. */
Cache *cache_open(Arena *arena, const char *folder, uint64_t limit_bytes);
const char *cache_folder(const Cache *cache); /* NULL: there is none */
/* Nothing is told any more: in a process that is not the compiler's. */
void cache_be_silent(Cache *cache);
bool cache_find(Cache *cache, Arena *arena, Hash128 key, Bytes *found);
void cache_store(Cache *cache, Hash128 key, const void *data, size_t size);

#endif
