/* ZIP in one canonical form.
 *
 * Every byte that is not contents follows from (name, size, crc, offset) of the entries: the
 * functions put_*() make those bytes, for the writer to write and for the reader to compare with.
 * So the reader cannot accept anything that the writer would not have written. It parses only the
 * central directory's names, sizes and sums; offsets must follow one another without a gap.
 *
 *     local header, name, [zip64 sizes], padding field | contents | local header ... | directory
 */
#include "base/zip.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum {
	NAME_LONGEST = 255,
	LOCAL_SIZE = 30,
	CENTRAL_SIZE = 46,
	END_SIZE = 22,
	END64_SIZE = 56,
	LOCATOR_SIZE = 20,
	ZIP64_TAG = 1,
	PADDING_TAG = 0xD935, /* the tag that Android's zipalign pads with; readers skip it */
	DATE = 0x21,          /* 1 January 1980, the first day that ZIP can say */
	HEADER_LONGEST = LOCAL_SIZE + NAME_LONGEST + 20 + 4 + ZIP_ALIGN,
};

static const uint64_t LIMIT32 = 0xFFFFFFFF, LIMIT16 = 0xFFFF;

/* What the directory says of one entry. */
typedef struct Record {
	const char *name; /* not terminated when inside a file */
	size_t name_size;
	uint64_t size, offset; /* offset of the local header */
	uint32_t crc32;
} Record;

/* Bytes under construction; the callers' arrays are large enough for any record. */
typedef struct Bytesink {
	unsigned char *data;
	size_t size;
} Bytesink;

static void
put(Bytesink *sink, int width, uint64_t value)
{
	for (int i = 0; i < width; i++)
		sink->data[sink->size++] = (unsigned char)(value >> 8 * i);
}

static void
put_bytes(Bytesink *sink, const void *data, size_t size)
{
	memcpy(sink->data + sink->size, data, size);
	sink->size += size;
}

static uint64_t
least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The fields that local header and directory share; 4.5 as version needed means ZIP64. */
static void
put_common(Bytesink *sink, const Record *entry, bool is_zip64, size_t extra)
{
	put(sink, 2, is_zip64 ? 45 : 10);
	put(sink, 2, 0); /* no flags: no encryption, no descriptor */
	put(sink, 2, 0); /* stored */
	put(sink, 2, 0); /* midnight */
	put(sink, 2, DATE);
	put(sink, 4, entry->crc32);
	put(sink, 4, least(entry->size, LIMIT32));
	put(sink, 4, least(entry->size, LIMIT32));
	put(sink, 2, entry->name_size);
	put(sink, 2, extra);
}

/* The local header, padded so that the contents begin at a multiple of ZIP_ALIGN. */
static void
put_local(Bytesink *sink, const Record *entry)
{
	bool is_zip64 = entry->size >= LIMIT32;
	size_t fixed = LOCAL_SIZE + entry->name_size + (is_zip64 ? 20 : 0) + 4;
	size_t padding = (size_t)(-(entry->offset + fixed) & (ZIP_ALIGN - 1));
	put(sink, 4, 0x04034B50);
	put_common(sink, entry, is_zip64, (is_zip64 ? 20 : 0) + 4 + padding);
	put_bytes(sink, entry->name, entry->name_size);
	if (is_zip64) {
		put(sink, 2, ZIP64_TAG);
		put(sink, 2, 16);
		put(sink, 8, entry->size);
		put(sink, 8, entry->size);
	}
	put(sink, 2, PADDING_TAG);
	put(sink, 2, padding);
	memset(sink->data + sink->size, 0, padding);
	sink->size += padding;
}

static void
put_central(Bytesink *sink, const Record *entry)
{
	bool is_large = entry->size >= LIMIT32, is_far = entry->offset >= LIMIT32;
	size_t payload = (is_large ? 16 : 0) + (is_far ? 8 : 0);
	put(sink, 4, 0x02014B50);
	put(sink, 2, 45); /* made by: version 4.5, no system's attributes */
	put_common(sink, entry, is_large || is_far, payload ? payload + 4 : 0);
	put(sink, 2, 0); /* no comment */
	put(sink, 2, 0); /* first disk */
	put(sink, 2, 0);
	put(sink, 4, 0);
	put(sink, 4, least(entry->offset, LIMIT32));
	put_bytes(sink, entry->name, entry->name_size);
	if (payload) {
		put(sink, 2, ZIP64_TAG);
		put(sink, 2, payload);
	}
	if (is_large) {
		put(sink, 8, entry->size);
		put(sink, 8, entry->size);
	}
	if (is_far)
		put(sink, 8, entry->offset);
}

static bool
end_is_zip64(uint64_t count, uint64_t offset, uint64_t size)
{
	return count >= LIMIT16 || offset >= LIMIT32 || size >= LIMIT32;
}

/* What follows the directory: the end record, with its ZIP64 form in front where needed. */
static void
put_end(Bytesink *sink, uint64_t count, uint64_t offset, uint64_t size)
{
	if (end_is_zip64(count, offset, size)) {
		put(sink, 4, 0x06064B50);
		put(sink, 8, END64_SIZE - 12);
		put(sink, 2, 45);
		put(sink, 2, 45);
		put(sink, 4, 0);
		put(sink, 4, 0);
		put(sink, 8, count);
		put(sink, 8, count);
		put(sink, 8, size);
		put(sink, 8, offset);
		put(sink, 4, 0x07064B50);
		put(sink, 4, 0);
		put(sink, 8, offset + size);
		put(sink, 4, 1);
	}
	put(sink, 4, 0x06054B50);
	put(sink, 4, 0);
	put(sink, 2, least(count, LIMIT16));
	put(sink, 2, least(count, LIMIT16));
	put(sink, 4, least(size, LIMIT32));
	put(sink, 4, least(offset, LIMIT32));
	put(sink, 2, 0);
}

/* Relative, printable ASCII, components neither empty nor "." nor "..". */
static bool
is_good_name(const char *name, size_t size)
{
	size_t start = 0;
	if (size == 0 || size > NAME_LONGEST)
		return false;
	for (size_t i = 0; i <= size; i++) {
		if (i < size && (name[i] <= ' ' || name[i] > '~' || name[i] == '\\' || name[i] == ':'))
			return false;
		if (i < size && name[i] != '/')
			continue;
		size_t length = i - start;
		if (length == 0 || (length <= 2 && strncmp(name + start, "..", length) == 0))
			return false;
		start = i + 1;
	}
	return true;
}

struct ZipWriter {
	Arena *arena;
	FileWriter *file;
	VEC(Record) entries;
};

ZipWriter *
zip_create(Arena *arena, const char *path)
{
	ZipWriter *zip = NEW(arena, ZipWriter);
	zip->arena = arena;
	zip->file = file_create(arena, path);
	return zip;
}

static void
sum_portion(void *crc, const void *data, size_t size)
{
	*(uint32_t *)crc = crc32_of(*(uint32_t *)crc, data, size);
}

static void
put_portion(void *file, const void *data, size_t size)
{
	file_put(file, data, size);
}

void
zip_add_blob(ZipWriter *zip, const char *name, const Blob *blob)
{
	if (!is_good_name(name, strlen(name)))
		fail(NULL, "'%s' cannot be the name of a bundle's entry", name);
	for (int i = 0; i < zip->entries.count; i++)
		if (strcmp(zip->entries.data[i].name, name) == 0)
			fail(NULL, "a bundle cannot hold two entries named '%s'", name);
	if (zip->entries.count == ZIP_MAX_ENTRIES)
		fail(NULL, "a bundle cannot hold more than %d entries", ZIP_MAX_ENTRIES);
	Record entry = {
		.name = arena_strdup(zip->arena, name),
		.name_size = strlen(name),
		.size = blob->size,
		.offset = file_position(zip->file),
	};
	blob_each(blob, sum_portion, &entry.crc32);
	unsigned char header[HEADER_LONGEST];
	Bytesink sink = {header, 0};
	put_local(&sink, &entry);
	file_put(zip->file, header, sink.size);
	blob_each(blob, put_portion, zip->file);
	vec_push(zip->arena, &zip->entries, entry);
}

void
zip_add(ZipWriter *zip, const char *name, const void *data, size_t size)
{
	const BlobPiece whole = {0, {data, size}};
	zip_add_blob(zip, name, &(Blob){size, 1, &whole});
}

uint64_t
zip_commit(ZipWriter *zip)
{
	unsigned char record[HEADER_LONGEST];
	uint64_t start = file_position(zip->file);
	for (int i = 0; i < zip->entries.count; i++) {
		Bytesink sink = {record, 0};
		put_central(&sink, &zip->entries.data[i]);
		file_put(zip->file, record, sink.size);
	}
	Bytesink sink = {record, 0};
	put_end(&sink, (uint64_t)zip->entries.count, start, file_position(zip->file) - start);
	file_put(zip->file, record, sink.size);
	file_commit(zip->file);
	return file_position(zip->file);
}

/* The directory's place, as the end of the file states it. */
typedef struct Directory {
	uint64_t count, offset, size;
} Directory;

static uint64_t
get(const unsigned char *data, int width)
{
	uint64_t value = 0;
	for (int i = 0; i < width; i++)
		value |= (uint64_t)data[i] << 8 * i;
	return value;
}

/* Find the directory from the end record; false unless the file ends exactly as put_end() does. */
static bool
find_directory(Bytes file, Directory *directory)
{
	if (file.size < END_SIZE)
		return false;
	const unsigned char *end = file.data + file.size - END_SIZE;
	*directory = (Directory){get(end + 10, 2), get(end + 16, 4), get(end + 12, 4)};
	size_t tail = END_SIZE;
	if (end_is_zip64(directory->count, directory->offset, directory->size)) {
		tail += END64_SIZE + LOCATOR_SIZE;
		if (file.size < tail)
			return false;
		end = file.data + file.size - tail;
		*directory = (Directory){get(end + 32, 8), get(end + 48, 8), get(end + 40, 8)};
		if (!end_is_zip64(directory->count, directory->offset, directory->size))
			return false;
	}
	unsigned char expected[END64_SIZE + LOCATOR_SIZE + END_SIZE];
	Bytesink sink = {expected, 0};
	put_end(&sink, directory->count, directory->offset, directory->size);
	return sink.size == tail && memcmp(expected, file.data + file.size - tail, tail) == 0 &&
	       directory->offset <= file.size - tail &&
	       directory->size == file.size - tail - directory->offset;
}

/* Parse one directory record at `at`, `left` bytes before the directory's end. The offset is not
 * taken from it. False when it does not fit. */
static bool
parse_central(const unsigned char *at, size_t left, Record *entry)
{
	if (left < CENTRAL_SIZE)
		return false;
	entry->crc32 = (uint32_t)get(at + 16, 4);
	entry->size = get(at + 24, 4);
	entry->name_size = get(at + 28, 2);
	entry->name = (const char *)at + CENTRAL_SIZE;
	size_t extra = get(at + 30, 2);
	if (left - CENTRAL_SIZE < entry->name_size + extra || entry->name_size > NAME_LONGEST)
		return false;
	if (entry->size == LIMIT32) {
		if (extra < 20)
			return false;
		entry->size = get(at + CENTRAL_SIZE + entry->name_size + 4, 8);
	}
	return true;
}

/* Check the record and its local header at `entry->offset`, byte for byte; set the sizes of both.
 * `limit` is where the directory begins. */
static const char *
check_entry(Bytes file, const Record *entry, const unsigned char *central, size_t central_left,
            uint64_t limit, size_t *central_size, size_t *local_size)
{
	unsigned char expected[HEADER_LONGEST];
	Bytesink sink = {expected, 0};
	put_central(&sink, entry);
	if (sink.size > central_left || memcmp(expected, central, sink.size) != 0)
		return "its directory record is not in canonical form";
	*central_size = sink.size;
	sink.size = 0;
	put_local(&sink, entry);
	if (sink.size > limit - entry->offset)
		return "its header lies outside the file";
	if (memcmp(expected, file.data + entry->offset, sink.size) != 0)
		return "its header does not agree with the directory";
	*local_size = sink.size;
	if (entry->size > limit - entry->offset - sink.size)
		return "its contents lie outside the file";
	return NULL;
}

static int
compare_names(const void *a, const void *b)
{
	const ZipEntry *const *left = a, *const *right = b;
	return strcmp((*left)->name, (*right)->name);
}

/* A name that occurs twice, or NULL; "" when memory is out. */
static const char *
find_repeated(const ZipReader *zip)
{
	const ZipEntry **sorted = malloc((size_t)zip->count * sizeof *sorted + 1);
	if (!sorted)
		return "";
	for (int i = 0; i < zip->count; i++)
		sorted[i] = &zip->entries[i];
	qsort(sorted, (size_t)zip->count, sizeof *sorted, compare_names);
	const char *repeated = NULL;
	for (int i = 1; i < zip->count && !repeated; i++)
		if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
			repeated = sorted[i]->name;
	free(sorted);
	return repeated;
}

/* Fill zip->entries from the directory; names are copied behind the array. */
static bool
read_entries(ZipReader *zip, Bytes file, const Directory *directory, char *error, size_t size)
{
	const unsigned char *at = file.data + directory->offset;
	size_t left = (size_t)directory->size;
	uint64_t offset = 0;
	char *names = (char *)(zip->entries + directory->count);
	for (; (uint64_t)zip->count < directory->count; zip->count++) {
		Record entry = {.offset = offset};
		size_t central_size, local_size;
		if (!parse_central(at, left, &entry))
			return refuse_with(error, size, "the bundle's directory is damaged");
		if (!is_good_name(entry.name, entry.name_size))
			return refuse_with(error, size,
			                   "the bundle has an entry with a name that is not allowed");
		const char *damage =
			check_entry(file, &entry, at, left, directory->offset, &central_size, &local_size);
		if (damage)
			return refuse_with(error, size, "the bundle's entry %.*s is damaged: %s",
			                   (int)entry.name_size, entry.name, damage);
		memcpy(names, entry.name, entry.name_size);
		names[entry.name_size] = 0;
		Bytes data = {file.data + offset + local_size, (size_t)entry.size};
		zip->entries[zip->count] = (ZipEntry){names, data, entry.crc32};
		names += entry.name_size + 1;
		at += central_size;
		left -= central_size;
		offset += local_size + entry.size;
	}
	if (left != 0 || offset != directory->offset)
		return refuse_with(error, size, "the bundle has bytes that belong to no entry");
	const char *repeated = find_repeated(zip);
	if (repeated)
		return refuse_with(error, size,
		                   *repeated ? "the bundle has two entries named %s" : "out of memory%s",
		                   repeated);
	return true;
}

bool
zip_open(ZipReader *zip, Bytes file, char *error, size_t size)
{
	Directory directory;
	*zip = (ZipReader){0};
	if (!find_directory(file, &directory))
		return refuse_with(error, size,
		                   "the file is not a bundle, or its end is missing or damaged");
	/* Each record takes CENTRAL_SIZE bytes and its name, which bounds both allocations. */
	if (directory.count > ZIP_MAX_ENTRIES || directory.count > directory.size / CENTRAL_SIZE)
		return refuse_with(error, size, "the bundle's directory is damaged");
	zip->entries = malloc(directory.count * sizeof *zip->entries + directory.size + 1);
	if (!zip->entries)
		return refuse_with(error, size, "out of memory");
	if (read_entries(zip, file, &directory, error, size))
		return true;
	zip_close(zip);
	return false;
}

void
zip_close(ZipReader *zip)
{
	free(zip->entries);
	*zip = (ZipReader){0};
}

const ZipEntry *
zip_find(const ZipReader *zip, const char *name)
{
	for (int i = 0; i < zip->count; i++)
		if (strcmp(zip->entries[i].name, name) == 0)
			return &zip->entries[i];
	return NULL;
}
