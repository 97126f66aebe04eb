/* Blobs: a walk over pieces and gaps, and what is made of it. */
#include "base/blob.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

Blob
blob_of(Arena *arena, const void *data, size_t size)
{
	BlobPiece *piece = NEW(arena, BlobPiece);
	*piece = (BlobPiece){0, {data, size}};
	return (Blob){size, 1, piece};
}

void
blob_each(const Blob *blob, void (*take)(void *arg, const void *data, size_t size), void *arg)
{
	static const unsigned char zeros[4096];
	uint64_t at = 0;
	for (int64_t i = 0; i <= blob->count; i++) {
		uint64_t next = i < blob->count ? blob->pieces[i].offset : blob->size;
		while (at < next) {
			size_t gap = next - at < sizeof zeros ? (size_t)(next - at) : sizeof zeros;
			take(arg, zeros, gap);
			at += gap;
		}
		if (i == blob->count || blob->pieces[i].data.size == 0)
			continue;
		take(arg, blob->pieces[i].data.data, blob->pieces[i].data.size);
		at += blob->pieces[i].data.size;
	}
}

static void
hash_portion(void *state, const void *data, size_t size)
{
	XXH3_128bits_update(state, data, size);
}

Hash128
blob_hash(const Blob *blob)
{
	XXH3_state_t state;
	XXH3_INITSTATE(&state);
	XXH3_128bits_reset(&state);
	blob_each(blob, hash_portion, &state);
	XXH128_hash_t hash = XXH3_128bits_digest(&state);
	return (Hash128){hash.low64, hash.high64};
}
