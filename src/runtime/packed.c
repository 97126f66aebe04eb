/* Stores of packed forms: a head, `count` entries, then data at multiples of 64. */
#include <stdlib.h>
#include <string.h>

#include "runtime/vendor.h"

typedef struct StoreHead {
	char magic[8];
	uint64_t count;
	char reserved[48];
} StoreHead;

typedef struct StoreEntry {
	Hash128 key;
	uint64_t offset, bytes;
	PackedPart part;
	PackedLayout layout;
} StoreEntry;

static const char MAGIC[8] = "TWPACK2";

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

static uint64_t
count_entries(Bytes store)
{
	return store.size ? ((const StoreHead *)(const void *)store.data)->count : 0;
}

static PackedForm
form_at(Bytes store, uint64_t i)
{
	const StoreEntry *entries = (const void *)(store.data + sizeof(StoreHead));
	return (PackedForm){entries[i].key,
	                    entries[i].part,
	                    entries[i].layout,
	                    {store.data + entries[i].offset, entries[i].bytes}};
}

const void *
packed_find(Bytes store, Hash128 key, const PackedPart *part, size_t bytes)
{
	for (uint64_t i = 0; i < count_entries(store); i++) {
		PackedForm form = form_at(store, i);
		if (hash128_equal(form.key, key) && form.data.size == bytes &&
		    memcmp(&form.part, part, sizeof *part) == 0)
			return form.data.data;
	}
	return NULL;
}

/* ---- reading forms ---- */

/* Where the elements of a part lie in its form: the sum of a number for each of its indices. */
typedef struct Places {
	const PackedPart *part;
	int64_t *of[VENDOR_MOST_DIMS]; /* in the form, for each index of a dim */
} Places;

/* What one dim adds: blocks of it from the innermost, then what is left by its stride. */
static int64_t
place_of(const PackedLayout *layout, int dim, int64_t index)
{
	int64_t at = 0, inner = 1;
	for (int64_t b = layout->nblock - 1; b >= 0; b--) {
		if (layout->dim[b] == dim) {
			at += index % layout->block[b] * inner;
			index /= layout->block[b];
		}
		inner *= layout->block[b];
	}
	return at + index * layout->strides[dim];
}

/* Numbers small enough that no sum of products of them overflows, and as much data as elements. */
static bool
is_sound(const PackedForm *form)
{
	static const int64_t MOST = (int64_t)1 << 40;
	const PackedPart *part = &form->part;
	const PackedLayout *layout = &form->layout;
	int64_t count = 1, most_inner = 1;
	bool is = 0 <= layout->begin && layout->begin < MOST && 1 <= layout->rank &&
	          layout->rank <= VENDOR_MOST_DIMS && part->rank == layout->rank &&
	          0 <= layout->nblock && layout->nblock <= VENDOR_MOST_DIMS &&
	          (part->element == 1 || part->element == 2 || part->element == 4);
	for (int64_t b = 0; is && b < layout->nblock; b++) {
		is = 1 <= layout->block[b] && layout->block[b] <= 1024 && most_inner <= 1 << 20 &&
		     0 <= layout->dim[b] && layout->dim[b] < layout->rank;
		most_inner *= layout->block[b];
	}
	for (int64_t d = 0; is && d < part->rank; d++) {
		is = 1 <= part->size[d] && part->size[d] <= (int64_t)form->data.size / count &&
		     0 <= part->strides[d] && part->strides[d] < MOST / part->size[d] &&
		     0 <= layout->strides[d] && layout->strides[d] < MOST / part->size[d];
		count *= part->size[d];
	}
	return is;
}

/* The furthest element of the part, in elements from its first. */
static int64_t
reach_of(const PackedPart *part)
{
	int64_t reach = 0;
	for (int64_t d = 0; d < part->rank; d++)
		reach += (part->size[d] - 1) * part->strides[d];
	return reach;
}

/* Fill the tables; false: no memory, or an element would lie outside of the form. */
static bool
find_places(const PackedForm *form, Places *places)
{
	int64_t last = form->layout.begin;
	places->part = &form->part;
	for (int d = 0; d < (int)form->part.rank; d++) {
		int64_t size = form->part.size[d], most = 0;
		places->of[d] = malloc((size_t)size * sizeof *places->of[d]);
		for (int64_t i = 0; places->of[d] && i < size; i++) {
			places->of[d][i] = place_of(&form->layout, d, i);
			most = places->of[d][i] > most ? places->of[d][i] : most;
		}
		if (!places->of[d])
			return false;
		last += most;
	}
	return (uint64_t)last < form->data.size / (uint64_t)form->part.element;
}

static void
free_places(Places *places)
{
	for (int d = 0; d < VENDOR_MOST_DIMS; d++)
		free(places->of[d]);
}

#define COPY_ROW(type) \
	for (int64_t i = 0; i < size; i++) \
	((type *)to)[i * stride] = ((const type *)data)[from + of[i]]

static void
copy_row(const Places *places, int64_t from, const void *data, void *to)
{
	int d = (int)places->part->rank - 1;
	const int64_t *of = places->of[d], size = places->part->size[d];
	const int64_t stride = places->part->strides[d];
	if (places->part->element == 1)
		COPY_ROW(uint8_t);
	else if (places->part->element == 2)
		COPY_ROW(uint16_t);
	else
		COPY_ROW(uint32_t);
}

static void
copy_dims(const Places *places, int d, int64_t from, const void *data, unsigned char *to)
{
	const PackedPart *part = places->part;
	if (d + 1 == part->rank) {
		copy_row(places, from, data, to);
		return;
	}
	for (int64_t i = 0; i < part->size[d]; i++)
		copy_dims(places, d + 1, from + places->of[d][i], data,
		          to + i * part->strides[d] * part->element);
}

bool
packed_read(const PackedForm *form, int64_t begin, void *to, size_t bytes)
{
	int64_t at = form->part.offset - begin;
	if (!is_sound(form) || at < 0 || at % form->part.element || (uint64_t)at >= bytes ||
	    reach_of(&form->part) >= ((int64_t)bytes - at) / form->part.element)
		return false;
	Places places = {NULL, {NULL}};
	bool is_read = find_places(form, &places);
	if (is_read)
		copy_dims(&places, 0, form->layout.begin, form->data.data, (unsigned char *)to + at);
	free_places(&places);
	return is_read;
}

/* ---- weights that are only packed ---- */

static bool
is_behind(const PackedForm *form, uint64_t begin)
{
	return form->layout.rank > 0 && form->part.offset >= 0 && (uint64_t)form->part.offset >= begin;
}

size_t
packed_bytes_behind(Bytes store, size_t begin)
{
	size_t bytes = 0;
	for (uint64_t i = 0; i < count_entries(store); i++) {
		PackedForm form = form_at(store, i);
		bytes += is_behind(&form, begin) ? form.data.size + MEMORY_ALIGN : 0;
	}
	return bytes;
}

bool
packed_restore(Bytes store, int64_t begin, void *to, size_t bytes)
{
	bool is_done = true;
	for (uint64_t i = 0; i < count_entries(store) && is_done; i++) {
		PackedForm form = form_at(store, i);
		is_done = !is_behind(&form, (uint64_t)begin) || packed_read(&form, begin, to, bytes);
	}
	return is_done;
}

/* ---- writing ---- */

/* Workers pack in any order, and equal choices must give equal bytes. */
static int
by_place(const void *a, const void *b)
{
	const PackedForm *x = a, *y = b;
	if (x->part.offset != y->part.offset)
		return x->part.offset < y->part.offset ? -1 : 1;
	if (x->key.high != y->key.high)
		return x->key.high < y->key.high ? -1 : 1;
	if (x->key.low != y->key.low)
		return x->key.low < y->key.low ? -1 : 1;
	return memcmp(&x->part, &y->part, sizeof x->part);
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
	qsort(forms, count, sizeof *forms, by_place);
	memcpy(head->magic, MAGIC, sizeof MAGIC);
	head->count = count;
	pieces[0] = (BlobPiece){0, {(void *)head, table}};
	for (size_t i = 0; i < count; i++) {
		const PackedForm *form = &forms[i];
		entry[i] = (StoreEntry){form->key, at, form->data.size, form->part, form->layout};
		pieces[i + 1] = (BlobPiece){at, form->data};
		at += aligned(form->data.size);
	}
	*store = (Blob){at, (int64_t)count + 1, pieces};
	return pieces;
}
