/* Blob: contents in pieces that lie anywhere in memory, with zeros between them. What is as large
 * as a model's weights is hashed and written so, and never put together in memory.
 *
 *     offset 0: 100 bytes   offset 128: 40 bytes   size 192
 *     => 100 bytes, 28 zeros, 40 bytes, 24 zeros
 */
#ifndef BASE_BLOB_H
#define BASE_BLOB_H

#include "base/file.h"
#include "base/map.h"

typedef struct BlobPiece {
	uint64_t offset;
	Bytes data;
} BlobPiece;

/* The pieces ascend, do not overlap, and end within `size`. */
typedef struct Blob {
	uint64_t size;
	int64_t count;
	const BlobPiece *pieces;
} Blob;

/* Contents in one piece. The blob lives in the arena, the bytes stay the caller's. */
Blob blob_of(Arena *arena, const void *data, size_t size);

/* The contents in order, zeros included, in portions of any size. */
void blob_each(const Blob *blob, void (*take)(void *arg, const void *data, size_t size), void *arg);

/* hash128() of the contents. */
Hash128 blob_hash(const Blob *blob);

#endif
