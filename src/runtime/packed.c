/* Stores of packed forms: a head, `count` entries, then data at multiples of 64. */
#include "runtime/packed.h"

#include <stdlib.h>
#include <string.h>

typedef struct StoreHead {
	char magic[8];
	uint64_t count;
	char reserved[48];
} StoreHead;

typedef struct StoreEntry {
	Hash128 key;
	uint64_t offset, bytes;
} StoreEntry;

static const char MAGIC[8] = "TWPACK1";

Bytes
packed_store(Bytes bytes)
{
	const StoreHead *head = (const void *)bytes.data;
	if (bytes.size < sizeof *head || memcmp(head->magic, MAGIC, sizeof MAGIC) != 0 ||
	    head->count > (bytes.size - sizeof *head) / sizeof(StoreEntry))
		return (Bytes){0};
	const StoreEntry *entries = (const void *)(bytes.data + sizeof *head);
	for (uint64_t i = 0; i < head->count; i++)
		if (entries[i].offset % MEMORY_ALIGN || entries[i].offset > bytes.size ||
		    entries[i].bytes > bytes.size - entries[i].offset)
			return (Bytes){0};
	return bytes;
}

const void *
packed_find(Bytes store, Hash128 key, size_t bytes)
{
	const StoreHead *head = (const void *)store.data;
	const StoreEntry *entries = (const void *)(store.data + sizeof *head);
	for (uint64_t i = 0; store.size && i < head->count; i++)
		if (hash128_equal(entries[i].key, key) && entries[i].bytes == bytes)
			return store.data + entries[i].offset;
	return NULL;
}

/* Workers pack in any order, and equal choices must give equal bytes. */
static int
by_key(const void *a, const void *b)
{
	Hash128 x = ((const PackedForm *)a)->key, y = ((const PackedForm *)b)->key;
	if (x.high != y.high)
		return x.high < y.high ? -1 : 1;
	return x.low < y.low ? -1 : x.low > y.low;
}

static size_t
aligned(size_t size)
{
	return (size + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
}

void *
packed_write(size_t count, PackedForm *forms, Blob *store)
{
	size_t table = sizeof(StoreHead) + count * sizeof(StoreEntry);
	uint64_t at = aligned(table);
	BlobPiece *pieces = calloc(1, (count + 1) * sizeof *pieces + table);
	if (!pieces)
		return NULL;
	StoreHead *head = (void *)(pieces + count + 1);
	StoreEntry *entry = (void *)(head + 1);
	qsort(forms, count, sizeof *forms, by_key);
	memcpy(head->magic, MAGIC, sizeof MAGIC);
	head->count = count;
	pieces[0] = (BlobPiece){0, {(void *)head, table}};
	for (size_t i = 0; i < count; i++) {
		entry[i] = (StoreEntry){forms[i].key, at, forms[i].data.size};
		pieces[i + 1] = (BlobPiece){at, forms[i].data};
		at += aligned(forms[i].data.size);
	}
	*store = (Blob){at, (int64_t)count + 1, pieces};
	return pieces;
}
