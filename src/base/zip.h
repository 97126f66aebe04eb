/* The bundle's container: a ZIP/ZIP64 of stored entries in one canonical form.
 *
 * Written: entries in order, stored, no compression, no encryption, no data descriptors, fixed
 * time stamp (so equal parts give equal bytes), contents aligned to 4 KiB by an extra field.
 * Read: exactly this form and nothing else: one central directory at the end, names unique,
 * relative and without "..", entries not overlapping, sizes inside the file. Anything else is
 * refused with a sentence. The reader allocates one array of entries and copies nothing, returns
 * codes (it is part of the runtime) and never trusts a size before checking it against the file.
 */
#ifndef BASE_ZIP_H
#define BASE_ZIP_H

#include <stdbool.h>

#include "base/blob.h"

enum { ZIP_ALIGN = 4096, ZIP_MAX_ENTRIES = 65535 };

typedef struct ZipWriter ZipWriter;

ZipWriter *zip_create(Arena *arena, const char *path); /* fails as file_create() does */
void zip_add(ZipWriter *zip, const char *name, const void *data, size_t size);
void zip_add_blob(ZipWriter *zip, const char *name, const Blob *blob);
uint64_t zip_commit(ZipWriter *zip); /* directory, then the rename; the bytes of the file */

typedef struct ZipEntry {
	const char *name; /* not terminated in the file: copied */
	Bytes data;       /* inside the mapped file */
	uint32_t crc32;
} ZipEntry;

typedef struct ZipReader {
	ZipEntry *entries; /* malloc'd; zip_close() frees */
	int count;
} ZipReader;

/* True, or false with a sentence in error[size]. Checks structure, not the contents' CRC. */
bool zip_open(ZipReader *zip, Bytes file, char *error, size_t size);
void zip_close(ZipReader *zip);
const ZipEntry *zip_find(const ZipReader *zip, const char *name); /* NULL when absent */

/* CRC-32 (IEEE 802.3), as ZIP uses it. */
uint32_t crc32_of(uint32_t crc, const void *data, size_t size);

#endif
