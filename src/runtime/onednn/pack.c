/* Packed weights: once per library, weight and layout, until the bundle is closed.
 *
 * A bundle may bring forms that were packed when it was made (a "store"). They are a cache: each
 * has a key of all that decides its layout (library, instruction set, descriptor) beside the part
 * of the weights that it holds, and what has no key here is packed from the plain weights.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/onednn/call.h"
#include "runtime/vendor.h"

/* A weight in the layout that some primitive wants. */
struct Packed {
	Packed *next;
	const void *source;
	int64_t size[DNNL_RANK], strides[DNNL_RANK]; /* of the region of the source */
	int rank;
	DnnlMd *md;
	Hash128 key; /* valid when has_key, as the next two */
	PackedPart part;
	PackedLayout layout;
	bool has_key, is_padded;
	const void *data; /* in the block or in a store */
	size_t bytes;
	Memory memory; /* of the block */
	Block block;
};

static void
pack_free(Dnnl *dnnl, Packed *packed)
{
	dnnl_md_free(&dnnl->api, packed->md);
	block_free(&packed->block);
	free(packed);
}

void
packed_free(Dnnl *dnnl)
{
	while (dnnl->packed) {
		Packed *packed = dnnl->packed;
		dnnl->packed = packed->next;
		pack_free(dnnl, packed);
	}
}

void
packed_forget(Dnnl *dnnl, const void *data, size_t bytes)
{
	uintptr_t begin = (uintptr_t)data;
	pthread_mutex_lock(&dnnl->lock);
	for (Packed **at = &dnnl->packed; *at;) {
		Packed *packed = *at;
		if ((uintptr_t)packed->source - begin < bytes) {
			*at = packed->next;
			pack_free(dnnl, packed);
		} else {
			at = &packed->next;
		}
	}
	pthread_mutex_unlock(&dnnl->lock);
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

/* ---- Keys ---- */

typedef struct PackKey {
	char name[64]; /* the library and its version */
	int64_t isa;
	Hash128 md;
} PackKey;

/* What a packed form is of, and what decides its layout. False when it cannot be told: weights that
 * are not the bundle's, and descriptors that cannot be read (of the first versions 3). */
static bool
pack_key(const Dnnl *dnnl, const CallTensor *tensor, const void *source, const int64_t *size,
         const DnnlMd *md, Packed *packed)
{
	int64_t offset = dnnl->weights ? weights_offset(dnnl->weights, source) : -1;
	PackKey whole;
	memset(&whole, 0, sizeof whole);
	if (offset < 0 || !dnnl_md_key(&dnnl->api, md, &whole.md, &packed->is_padded))
		return false;
	memcpy(whole.name, dnnl->head.version, sizeof whole.name);
	whole.isa = dnnl->api.get_effective_cpu_isa();
	packed->key = hash128(&whole, sizeof whole);
	PackedPart *part = &packed->part;
	*part = (PackedPart){
		.offset = offset, .element = dtype_bits(tensor->type) / 8, .rank = tensor->rank};
	memcpy(part->size, size, (size_t)tensor->rank * sizeof *size);
	memcpy(part->strides, tensor->strides, (size_t)tensor->rank * sizeof *size);
	packed->layout = (PackedLayout){.rank = 0};
	if (tensor->block == 1)
		dnnl_md_layout(&dnnl->api, md, &packed->layout);
	return true;
}

void
dnnl_use_memory(Vendor *vendor, const Memory *memory)
{
	((Dnnl *)vendor)->memory = *memory;
}

void
dnnl_use_weights(Vendor *vendor, Weights *weights)
{
	((Dnnl *)vendor)->weights = weights;
}

size_t
dnnl_packed(const Vendor *vendor, PackedForm *forms)
{
	size_t count = 0;
	for (const Packed *packed = ((const Dnnl *)vendor)->packed; packed; packed = packed->next) {
		if (!packed->has_key)
			continue;
		if (forms)
			forms[count] = (PackedForm){
				packed->key, packed->part, packed->layout, {packed->data, packed->bytes}};
		count++;
	}
	return count;
}

/* ---- Packing ---- */

/* Packing, by the library. Some of its copies into forms with sums of columns, as of bytes by
 * bytes, want the source without gaps: then it gets such a copy. */
static bool
pack_now(const DnnlApi *api, Memory *memory, const CallTensor *tensor, const void *source,
         const int64_t *size, const DnnlMd *md, void *target)
{
	DnnlMd *plain = call_region_md(api, tensor, size);
	bool is_done = plain && reorder_now(api, plain, source, md, target);
	dnnl_md_free(api, plain);
	if (is_done || call_region_is_dense(tensor, size))
		return is_done;
	size_t bytes = (size_t)dtype_bits(tensor->type) / 8;
	for (int d = 0; d < tensor->rank; d++)
		bytes *= (size_t)size[d];
	Block copy = {.data = NULL};
	DnnlMd *dense = call_dense_md(api, tensor, size);
	if (dense && block_reserve(memory, &copy, bytes)) {
		call_copy_in(tensor, size, source, copy.data);
		is_done = reorder_now(api, dense, copy.data, md, target);
	}
	block_free(&copy);
	dnnl_md_free(api, dense);
	return is_done;
}

/* Take a form from the store: as it lies there, but for padding, which the library clears, and a
 * store is read-only. */
static bool
take_packed(Packed *packed, const void *stored)
{
	packed->data = stored;
	if (!packed->is_padded)
		return true;
	if (!block_reserve(&packed->memory, &packed->block, packed->bytes))
		return false;
	packed->data = memcpy(packed->block.data, stored, packed->bytes);
	return true;
}

/* Fill a new form: from the store, or by the library. */
static bool
fill_packed(Dnnl *dnnl, Packed *packed, const CallTensor *tensor, const void *source,
            const int64_t *size, const DnnlMd *md)
{
	const DnnlApi *api = &dnnl->api;
	packed->memory = dnnl->memory;
	packed->source = source;
	packed->rank = tensor->rank;
	memcpy(packed->size, size, (size_t)tensor->rank * sizeof *size);
	memcpy(packed->strides, tensor->strides, (size_t)tensor->rank * sizeof *size);
	packed->bytes = api->memory_desc_get_size(md);
	packed->md = dnnl_md_copy(api, md);
	packed->has_key = pack_key(dnnl, tensor, source, size, md, packed);
	const void *stored = packed->has_key ? packed_find(dnnl->weights->store, packed->key,
	                                                   &packed->part, packed->bytes)
	                                     : NULL;
	if (!packed->md || stored)
		return packed->md && take_packed(packed, stored);
	if (dnnl->weights && !weights_need(dnnl->weights, source))
		return false;
	bool is_done = block_reserve(&packed->memory, &packed->block, packed->bytes) &&
	               pack_now(api, &packed->memory, tensor, source, size, md, packed->block.data);
	packed->data = packed->block.data;
	return is_done;
}

static Packed *
pack_new(Dnnl *dnnl, const CallTensor *tensor, const void *source, const int64_t *size,
         const DnnlMd *md)
{
	Packed *packed = calloc(1, sizeof *packed);
	if (!packed)
		return NULL;
	if (fill_packed(dnnl, packed, tensor, source, size, md))
		return packed;
	pack_free(dnnl, packed);
	return NULL;
}

/* The packed form that fits, or NULL. Under the lock. */
static Packed *
find_packed(const Dnnl *dnnl, const CallTensor *tensor, const void *source, const int64_t *size,
            const DnnlMd *md)
{
	Packed *packed = dnnl->packed;
	while (packed &&
	       !is_packed_form(&dnnl->api, packed, source, tensor->rank, size, tensor->strides, md))
		packed = packed->next;
	return packed;
}

/* Packing is done without the lock, so that several workers pack at once; when two made the same
 * form, the second goes. */
const void *
packed_get(Dnnl *dnnl, const CallTensor *tensor, const void *source, const int64_t *size,
           const DnnlMd *md)
{
	pthread_mutex_lock(&dnnl->lock);
	Packed *found = find_packed(dnnl, tensor, source, size, md);
	pthread_mutex_unlock(&dnnl->lock);
	if (found)
		return found->data;
	Packed *made = pack_new(dnnl, tensor, source, size, md);
	if (!made)
		return NULL;
	pthread_mutex_lock(&dnnl->lock);
	found = find_packed(dnnl, tensor, source, size, md);
	if (!found) {
		made->next = dnnl->packed;
		dnnl->packed = made;
	}
	pthread_mutex_unlock(&dnnl->lock);
	if (!found)
		return made->data;
	pack_free(dnnl, made);
	return found->data;
}
