/* Packed weights: once per library, weight and layout, until the bundle is closed.
 *
 * A bundle may bring forms that were packed when it was made (a "store"). They are a cache: each
 * has a key of all that decides its bytes (library, instruction set, the weights' hash, region,
 * layout), and what has no key here is packed from the plain weights.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/onednn/call.h"

/* A weight in the layout that some primitive wants. */
struct Packed {
	Packed *next;
	const void *source;
	int64_t size[DNNL_RANK], strides[DNNL_RANK]; /* of the region of the source */
	int rank;
	DnnlMd *md;
	Hash128 key; /* valid when has_key */
	bool has_key;
	const void *data; /* in the block or in a store */
	size_t bytes;
	Memory memory; /* of the block */
	Block block;
};

/* A store: this head, `count` entries, then data at multiples of 64. */
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

static void
pack_free(Vendor *vendor, Packed *packed)
{
	dnnl_md_free(&vendor->api, packed->md);
	block_free(&packed->block);
	free(packed);
}

void
packed_free(Vendor *vendor)
{
	while (vendor->packed) {
		Packed *packed = vendor->packed;
		vendor->packed = packed->next;
		pack_free(vendor, packed);
	}
}

void
packed_forget(Vendor *vendor, const void *data, size_t bytes)
{
	uintptr_t begin = (uintptr_t)data;
	pthread_mutex_lock(&vendor->lock);
	for (Packed **at = &vendor->packed; *at;) {
		Packed *packed = *at;
		if ((uintptr_t)packed->source - begin < bytes) {
			*at = packed->next;
			pack_free(vendor, packed);
		} else {
			at = &packed->next;
		}
	}
	pthread_mutex_unlock(&vendor->lock);
}

static bool
is_packed_form(const DnnlApi *api, const Packed *packed, const void *source, int rank,
               const int64_t *size, const int64_t *strides, const DnnlMd *md)
{
	return packed->source == source && packed->rank == rank &&
	       memcmp(packed->size, size, (size_t)rank * sizeof *size) == 0 &&
	       memcmp(packed->strides, strides, (size_t)rank * sizeof *strides) == 0 &&
	       api->memory_desc_equal(packed->md, md);
}

/* Copy between layouts, now. */
static bool
reorder_now(const DnnlApi *api, const DnnlMd *from, const void *source, const DnnlMd *to,
            void *target)
{
	void *desc = NULL, *primitive = NULL, *src = NULL, *dst = NULL;
	bool is_done =
		!api->reorder_primitive_desc_create(&desc, from, api->engine, to, api->engine, NULL) &&
		!api->primitive_create(&primitive, desc) &&
		!api->memory_create(&src, from, api->engine, (void *)(uintptr_t)source) &&
		!api->memory_create(&dst, to, api->engine, target);
	if (is_done) {
		const DnnlArg args[] = {{DNNL_SRC, src}, {DNNL_DST, dst}};
		is_done = !api->primitive_execute(primitive, api->stream, 2, args);
	}
	if (src)
		api->memory_destroy(src);
	if (dst)
		api->memory_destroy(dst);
	if (primitive)
		api->primitive_destroy(primitive);
	if (desc)
		api->primitive_desc_destroy(desc);
	return is_done;
}

/* ---- Stores ---- */

typedef struct PackKey {
	char name[64]; /* the library and its version */
	Hash128 weights;
	int64_t isa, offset, rank, size[DNNL_RANK], strides[DNNL_RANK];
	Hash128 md;
} PackKey;

/* What decides the bytes of a packed form. False when it cannot be told: weights that are not the
 * bundle's, descriptors that cannot be read (of the first versions 3), or padding, which the
 * library may clear and a store is read-only. */
static bool
pack_key(const Vendor *vendor, const CallTensor *tensor, const void *source, const int64_t *size,
         const DnnlMd *md, Hash128 *key)
{
	uintptr_t offset = (uintptr_t)source - (uintptr_t)vendor->weights.data;
	PackKey whole;
	memset(&whole, 0, sizeof whole);
	if (vendor->weights.size == 0 || offset >= vendor->weights.size ||
	    !dnnl_md_key(&vendor->api, md, &whole.md))
		return false;
	memcpy(whole.name, vendor->name, sizeof whole.name);
	whole.weights = vendor->weights_hash;
	whole.isa = vendor->api.get_effective_cpu_isa();
	whole.offset = (int64_t)offset;
	whole.rank = tensor->rank;
	memcpy(whole.size, size, (size_t)tensor->rank * sizeof *size);
	memcpy(whole.strides, tensor->strides, (size_t)tensor->rank * sizeof *size);
	*key = hash128(&whole, sizeof whole);
	return true;
}

/* The bytes that the store has under this key; NULL: none of this size. */
static const void *
find_stored(const Vendor *vendor, Hash128 key, size_t bytes)
{
	const StoreHead *head = (const void *)vendor->store.data;
	const StoreEntry *entries = (const void *)(vendor->store.data + sizeof *head);
	for (uint64_t i = 0; head && i < head->count; i++)
		if (hash128_equal(entries[i].key, key) && entries[i].bytes == bytes)
			return vendor->store.data + entries[i].offset;
	return NULL;
}

void
vendor_use_memory(Vendor *vendor, const Memory *memory)
{
	vendor->memory = *memory;
}

void
vendor_use_weights(Vendor *vendor, Bytes weights, Hash128 hash, Bytes store)
{
	const StoreHead *head = (const void *)store.data;
	vendor->weights = weights;
	vendor->weights_hash = hash;
	if (store.size < sizeof *head || memcmp(head->magic, MAGIC, sizeof MAGIC) != 0 ||
	    head->count > (store.size - sizeof *head) / sizeof(StoreEntry))
		return;
	const StoreEntry *entries = (const void *)(store.data + sizeof *head);
	for (uint64_t i = 0; i < head->count; i++)
		if (entries[i].offset % MEMORY_ALIGN || entries[i].offset > store.size ||
		    entries[i].bytes > store.size - entries[i].offset)
			return;
	vendor->store = store;
}

static int
by_key(const void *a, const void *b)
{
	Hash128 x = (*(const Packed *const *)a)->key, y = (*(const Packed *const *)b)->key;
	if (x.high != y.high)
		return x.high < y.high ? -1 : 1;
	return x.low < y.low ? -1 : x.low > y.low;
}

/* The forms that have keys, in the order of their keys: workers pack in any order, and equal
 * choices must give equal bytes. The list is malloc'd. */
static const Packed **
list_packed(const Vendor *vendor, size_t *count)
{
	*count = 0;
	for (const Packed *packed = vendor->packed; packed; packed = packed->next)
		*count += packed->has_key;
	const Packed **list = *count ? malloc(*count * sizeof *list) : NULL;
	size_t at = 0;
	for (const Packed *packed = vendor->packed; list && packed; packed = packed->next)
		if (packed->has_key)
			list[at++] = packed;
	if (list)
		qsort(list, *count, sizeof *list, by_key);
	return list;
}

static size_t
aligned(size_t size)
{
	return (size + MEMORY_ALIGN - 1) / MEMORY_ALIGN * MEMORY_ALIGN;
}

void *
vendor_export(Vendor *vendor, Blob *store)
{
	size_t count;
	const Packed **list = list_packed(vendor, &count);
	size_t table = sizeof(StoreHead) + count * sizeof(StoreEntry);
	uint64_t at = aligned(table);
	BlobPiece *pieces = list ? calloc(1, (count + 1) * sizeof *pieces + table) : NULL;
	if (pieces) {
		StoreHead *head = (void *)(pieces + count + 1);
		StoreEntry *entry = (void *)(head + 1);
		memcpy(head->magic, MAGIC, sizeof MAGIC);
		head->count = count;
		pieces[0] = (BlobPiece){0, {(void *)head, table}};
		for (size_t i = 0; i < count; i++) {
			entry[i] = (StoreEntry){list[i]->key, at, list[i]->bytes};
			pieces[i + 1] = (BlobPiece){at, {list[i]->data, list[i]->bytes}};
			at += aligned(list[i]->bytes);
		}
		*store = (Blob){at, (int64_t)count + 1, pieces};
	}
	free(list);
	return pieces;
}

/* ---- Packing ---- */

/* Fill a new form: from the store, or by the library. */
static bool
fill_packed(Vendor *vendor, Packed *packed, const CallTensor *tensor, const void *source,
            const int64_t *size, const DnnlMd *md)
{
	const DnnlApi *api = &vendor->api;
	packed->memory = vendor->memory;
	packed->source = source;
	packed->rank = tensor->rank;
	memcpy(packed->size, size, (size_t)tensor->rank * sizeof *size);
	memcpy(packed->strides, tensor->strides, (size_t)tensor->rank * sizeof *size);
	packed->bytes = api->memory_desc_get_size(md);
	packed->md = dnnl_md_copy(api, md);
	packed->has_key = pack_key(vendor, tensor, source, size, md, &packed->key);
	packed->data = packed->has_key ? find_stored(vendor, packed->key, packed->bytes) : NULL;
	if (packed->data || !packed->md)
		return packed->md;
	DnnlMd *plain = call_region_md(api, tensor, size);
	bool is_done = plain && block_reserve(&packed->memory, &packed->block, packed->bytes) &&
	               reorder_now(api, plain, source, md, packed->block.data);
	dnnl_md_free(api, plain);
	packed->data = packed->block.data;
	return is_done;
}

static Packed *
pack_new(Vendor *vendor, const CallTensor *tensor, const void *source, const int64_t *size,
         const DnnlMd *md)
{
	Packed *packed = calloc(1, sizeof *packed);
	if (!packed)
		return NULL;
	if (fill_packed(vendor, packed, tensor, source, size, md))
		return packed;
	pack_free(vendor, packed);
	return NULL;
}

/* The packed form that fits, or NULL. Under the lock. */
static Packed *
find_packed(const Vendor *vendor, const CallTensor *tensor, const void *source, const int64_t *size,
            const DnnlMd *md)
{
	Packed *packed = vendor->packed;
	while (packed &&
	       !is_packed_form(&vendor->api, packed, source, tensor->rank, size, tensor->strides, md))
		packed = packed->next;
	return packed;
}

/* Packing is done without the lock, so that several workers pack at once; when two made the same
 * form, the second goes. */
const void *
vendor_pack(Vendor *vendor, const CallTensor *tensor, const void *source, const int64_t *size,
            const DnnlMd *md)
{
	pthread_mutex_lock(&vendor->lock);
	Packed *found = find_packed(vendor, tensor, source, size, md);
	pthread_mutex_unlock(&vendor->lock);
	if (found)
		return found->data;
	Packed *made = pack_new(vendor, tensor, source, size, md);
	if (!made)
		return NULL;
	pthread_mutex_lock(&vendor->lock);
	found = find_packed(vendor, tensor, source, size, md);
	if (!found) {
		made->next = vendor->packed;
		vendor->packed = made;
	}
	pthread_mutex_unlock(&vendor->lock);
	if (!found)
		return made->data;
	pack_free(vendor, made);
	return found->data;
}
