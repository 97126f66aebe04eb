/* Packed weights: once per library, weight and layout, until the bundle is closed. */
#include <stdlib.h>
#include <string.h>

#include "runtime/dnnl_call.h"
#include "runtime/memory.h"

/* A weight in the layout that some primitive wants. */
struct Packed {
	Packed *next;
	const void *source;
	int64_t size[DNNL_RANK], strides[DNNL_RANK]; /* of the region of the source */
	int rank;
	DnnlMd *md;
	Memory memory; /* of the block */
	Block block;
};

static void
pack_free(Vendor *vendor, Packed *packed)
{
	dnnl_md_free(&vendor->api, packed->md);
	block_free(&packed->memory, &packed->block);
	free(packed);
}

void
packed_free(Vendor *vendor)
{
	while (vendor->packed) {
		Packed *packed = vendor->packed;
		vendor->packed = packed->next;
		dnnl_md_free(&vendor->api, packed->md);
		block_free(&packed->memory, &packed->block);
		free(packed);
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

static Packed *
pack_new(Vendor *vendor, const CallTensor *tensor, const void *source, const int64_t *size,
         const DnnlMd *md)
{
	const DnnlApi *api = &vendor->api;
	Packed *packed = calloc(1, sizeof *packed);
	DnnlMd *plain = packed ? call_region_md(api, tensor, size) : NULL;
	size_t bytes = api->memory_desc_get_size(md);
	if (packed)
		packed->md = dnnl_md_copy(api, md);
	bool is_done = plain && packed->md && block_reserve(&packed->memory, &packed->block, bytes);
	if (is_done) {
		packed->source = source;
		packed->rank = tensor->rank;
		memcpy(packed->size, size, (size_t)tensor->rank * sizeof *size);
		memcpy(packed->strides, tensor->strides, (size_t)tensor->rank * sizeof *size);
		is_done = reorder_now(api, plain, source, md, packed->block.data);
	}
	dnnl_md_free(api, plain);
	if (is_done)
		return packed;
	if (packed)
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
		return found->block.data;
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
		return made->block.data;
	pack_free(vendor, made);
	return found->block.data;
}
