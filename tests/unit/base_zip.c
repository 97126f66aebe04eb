/* The container: what is written is read, and nothing that was not written so is accepted. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/zip.h"
#include "unit.h"

static Arena *arena;
static char folder[] = "/tmp/tw-zip-XXXXXX";

static void
set_up(void)
{
	arena = arena_new("test");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void
tear_down(void)
{
	arena_free(arena);
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static const char *
path(const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static const struct {
	const char *name, *contents;
} PARTS[] = {{"manifest.json", "{}"}, {"a/empty", ""}, {"weights/0", "0123456789"}};

/* A bundle of PARTS, as bytes that may be changed. */
static unsigned char *
sample(size_t *size)
{
	ZipWriter *zip = zip_create(arena, path("sample"));
	for (size_t i = 0; i < countof(PARTS); i++)
		zip_add(zip, PARTS[i].name, PARTS[i].contents, strlen(PARTS[i].contents));
	zip_commit(zip);
	Bytes file = file_map(arena, path("sample"));
	*size = file.size;
	return arena_memdup(arena, file.data, file.size);
}

/* Why the reader refuses these bytes; NULL when it does not. */
static const char *
refusal(const unsigned char *data, size_t size)
{
	ZipReader zip;
	char error[256] = "";
	bool is_open = zip_open(&zip, (Bytes){data, size}, error, sizeof error);
	zip_close(&zip);
	return is_open ? NULL : arena_strdup(arena, error);
}

static bool
opens(const unsigned char *data, size_t size)
{
	return refusal(data, size) == NULL;
}

START_TEST(round_trip)
{
	size_t size;
	unsigned char *data = sample(&size);
	ZipReader zip;
	char error[256];
	ck_assert(zip_open(&zip, (Bytes){data, size}, error, sizeof error));
	ck_assert_int_eq(zip.count, countof(PARTS));
	for (size_t i = 0; i < countof(PARTS); i++) {
		const ZipEntry *entry = zip_find(&zip, PARTS[i].name);
		size_t length = strlen(PARTS[i].contents);
		ck_assert_ptr_eq(entry, &zip.entries[i]);
		ck_assert_uint_eq(entry->data.size, length);
		ck_assert_uint_eq((size_t)(entry->data.data - data) % ZIP_ALIGN, 0);
		ck_assert(length == 0 || memcmp(entry->data.data, PARTS[i].contents, length) == 0);
		ck_assert_uint_eq(entry->crc32, crc32_of(0, PARTS[i].contents, length));
	}
	ck_assert_ptr_null(zip_find(&zip, "a"));
	zip_close(&zip);
	unsigned char *again = sample(&size);
	ck_assert_mem_eq(data, again, size);
}
END_TEST

START_TEST(no_entries_and_many)
{
	for (int count = 0; count <= 3000; count += 1500) {
		ZipWriter *zip = zip_create(arena, path("many"));
		for (int i = 0; i < count; i++)
			zip_add(zip, arena_printf(arena, "k/%d", i), &i, sizeof i);
		zip_commit(zip);
		Bytes file = file_map(arena, path("many"));
		ZipReader reader;
		char error[256];
		ck_assert_msg(zip_open(&reader, file, error, sizeof error), "%s", error);
		ck_assert_int_eq(reader.count, count);
		for (int i = 0; i < count; i++)
			ck_assert_mem_eq(reader.entries[i].data.data, &i, sizeof i);
		zip_close(&reader);
	}
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* whose shadow of 4 GiB takes too long */

/* Copy a pipe to a file, leaving holes for zeros. */
static void *
copy_sparse(void *arg)
{
	const char *const *names = arg;
	static unsigned char block[1 << 16];
	int in = open(names[0], O_RDONLY), out = open(names[1], O_RDWR | O_CREAT, 0600);
	off_t size = 0;
	for (ssize_t got; (got = read(in, block, sizeof block)) > 0; size += got)
		if (block[0] || memcmp(block, block + 1, (size_t)got - 1) != 0)
			ck_assert_int_eq(pwrite(out, block, (size_t)got, size), got);
	ck_assert_int_eq(ftruncate(out, size), 0);
	close(in);
	close(out);
	return NULL;
}

/* An entry and an offset above 4 GiB: the ZIP64 fields of headers, directory and end. */
START_TEST(above_4_gib)
{
	size_t large = ((size_t)1 << 32) + 5;
	const char *names[] = {path("pipe"), path("large")};
	pthread_t copier;
	ck_assert_int_eq(mkfifo(names[0], 0600), 0);
	ck_assert_int_eq(pthread_create(&copier, NULL, copy_sparse, names), 0);
	ZipWriter *zip = zip_create(arena, names[0]);
	zip_add(zip, "large", arena_alloc(arena, large), large);
	zip_add(zip, "far", "x", 1);
	zip_commit(zip);
	pthread_join(copier, NULL);
	Bytes file = file_map(arena, names[1]);
	ZipReader reader;
	char error[256];
	ck_assert_msg(zip_open(&reader, file, error, sizeof error), "%s", error);
	ck_assert_uint_eq(reader.entries[0].data.size, large);
	ck_assert_mem_eq(reader.entries[1].data.data, "x", 1);
	zip_close(&reader);
	const char *listing = "python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); "
						  "sys.exit(z.read(\"far\") != b\"x\")' ";
	if (system("python3 -c 0 2>/dev/null") == 0)
		ck_assert_int_eq(system(arena_printf(arena, "%s%s", listing, names[1])), 0);
}
END_TEST

#endif

START_TEST(other_tools_read_it)
{
	size_t size;
	sample(&size);
	char command[256];
	snprintf(command, sizeof command,
	         "python3 -c 'import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); "
	         "sys.exit(z.testzip() is not None or z.read(\"weights/0\") != b\"0123456789\")' %s",
	         path("sample"));
	if (system("python3 -c 0 2>/dev/null") == 0)
		ck_assert_int_eq(system(command), 0);
}
END_TEST

START_TEST(truncated_anywhere)
{
	size_t size;
	unsigned char *data = sample(&size);
	for (size_t length = 0; length < size; length++) {
		unsigned char *part = malloc(length + 1); /* so that a read past the end is seen */
		memcpy(part, data, length);
		ck_assert_msg(!opens(part, length), "accepted when cut to %zu bytes", length);
		free(part);
	}
	unsigned char *longer = arena_grow(arena, data, size, size + 1);
	ck_assert(!opens(longer, size + 1));
	ck_assert(!opens(longer + 1, size));
}
END_TEST

/* One bit changed: refused, or the change is in the contents and its CRC shows it. */
START_TEST(any_flipped_bit)
{
	size_t size;
	unsigned char *data = sample(&size);
	int in_contents = 0;
	for (size_t i = 0; i < size * 8; i++) {
		data[i / 8] ^= (unsigned char)(1 << i % 8);
		ZipReader zip;
		char error[256];
		if (zip_open(&zip, (Bytes){data, size}, error, sizeof error)) {
			int bad = 0;
			for (int k = 0; k < zip.count; k++)
				bad += crc32_of(0, zip.entries[k].data.data, zip.entries[k].data.size) !=
				       zip.entries[k].crc32;
			ck_assert_msg(bad == 1, "bit %zu of byte %zu does not matter", i % 8, i / 8);
			in_contents++;
		}
		zip_close(&zip);
		data[i / 8] ^= (unsigned char)(1 << i % 8);
	}
	ck_assert_int_eq(in_contents, 8 * 12); /* "{}" and ten digits */
}
END_TEST

static unsigned char *
find(unsigned char *data, size_t size, const char *what, int nth)
{
	for (size_t i = 0; i + strlen(what) <= size; i++)
		if (memcmp(data + i, what, strlen(what)) == 0 && nth-- == 0)
			return data + i;
	return NULL;
}

/* Damage that agrees with itself in both headers, where only the rule itself can refuse. */
START_TEST(consistent_lies)
{
	static const char *const names[] = {"../passwd1",   "/etc/pass", "a//b/cdef", "weights/.",
	                                    "weights\\0",   "./eights0", "a/../bcde", "weights:0",
	                                    "weights\0010", "a/empty\0x"};
	for (size_t i = 0; i < countof(names); i++) {
		size_t size;
		unsigned char *data = sample(&size);
		for (int nth = 0; nth < 2; nth++)
			memcpy(find(data, size, "weights/0", 0), names[i], 9);
		ck_assert_str_eq(refusal(data, size),
		                 "the bundle has an entry with a name that is not allowed");
	}
	/* The same name twice. */
	ZipWriter *zip = zip_create(arena, path("twice"));
	zip_add(zip, "same1", "a", 1);
	zip_add(zip, "same2", "b", 1);
	zip_commit(zip);
	Bytes file = file_map(arena, path("twice"));
	unsigned char *data = arena_memdup(arena, file.data, file.size);
	for (int nth = 0; nth < 2; nth++)
		find(data, file.size, "same2", 0)[4] = '1';
	ck_assert_str_eq(refusal(data, file.size), "the bundle has two entries named same1");
}
END_TEST

/* Directory and headers of overlapping or reordered entries, gaps, and sizes beyond the file. */
START_TEST(wrong_directory)
{
	size_t size;
	unsigned char *data = sample(&size);
	unsigned char *first = find(data, size, "PK\1\2", 0), *second = find(data, size, "PK\1\2", 1);
	unsigned char *end = find(data, size, "PK\5\6", 0);
	size_t record = (size_t)(second - first);
	unsigned char *copy = arena_memdup(arena, data, size);
	/* The second record says what the first says: the same contents twice. */
	memcpy(copy + (second - data), first, record < 46 ? record : 46);
	ck_assert(!opens(copy, size));
	/* Offsets that overlap, sizes beyond the file, counts and places that lie. */
	const struct {
		size_t at;
		unsigned char value;
	} lies[] = {
		{(size_t)(second - data) + 42, 1},  {(size_t)(first - data) + 24, 255},
		{(size_t)(first - data) + 27, 255}, {(size_t)(end - data) + 10, 2},
		{(size_t)(end - data) + 10, 4},     {(size_t)(end - data) + 8, 255},
		{(size_t)(end - data) + 16, 0},     {(size_t)(end - data) + 19, 255},
		{(size_t)(end - data) + 12, 0},     {(size_t)(end - data) + 20, 1},
		{(size_t)(first - data) + 8, 1},    {(size_t)(first - data) + 10, 8},
	};
	for (size_t i = 0; i < countof(lies); i++) {
		memcpy(copy, data, size);
		ck_assert_uint_ne(copy[lies[i].at], lies[i].value);
		copy[lies[i].at] = lies[i].value;
		ck_assert_msg(!opens(copy, size), "accepted lie %zu", i);
	}
	/* A gap before the directory, the end record moved accordingly. */
	size_t start = (size_t)(first - data);
	copy = arena_alloc(arena, size + 1);
	memcpy(copy, data, start);
	memcpy(copy + start + 1, first, size - start);
	copy[(size_t)(end - data) + 1 + 16]++;
	ck_assert(!opens(copy, size + 1));
	ck_assert(opens(data, size));
}
END_TEST

START_TEST(random_bytes)
{
	uint64_t seed = 7;
	for (int round = 0; round < 20000; round++) {
		unsigned char noise[160];
		for (size_t i = 0; i < sizeof noise; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			noise[i] = (unsigned char)(seed >> 56);
		}
		memcpy(noise + sizeof noise - 22, "PK\5\6\0\0\0\0", 8); /* get past the first look */
		ck_assert(!opens(noise, sizeof noise));
	}
}
END_TEST

typedef struct Add {
	const char *name;
	int times;
} Add;

static void
add(void *arg)
{
	const Add *job = arg;
	ZipWriter *zip = zip_create(arena, path("refused"));
	for (int i = 0; i < job->times; i++)
		zip_add(zip, job->name, "x", 1);
	zip_commit(zip);
}

START_TEST(the_writer_refuses_the_same_names)
{
	Add jobs[] = {{"", 1}, {"/a", 1}, {"a/../b", 1}, {"a", 2}, {"a b", 1}, {"a/", 1}};
	for (size_t i = 0; i < countof(jobs); i++) {
		Failure failure;
		ck_assert(!try_run(add, &jobs[i], &failure));
		ck_assert(!file_exists(path("refused")));
	}
}
END_TEST

START_TEST(sums)
{
	ck_assert_uint_eq(crc32_of(0, "123456789", 9), 0xCBF43926);
	ck_assert_uint_eq(crc32_of(0, "", 0), 0);
	size_t size = 100003;
	unsigned char *data = arena_alloc(arena, size);
	for (size_t i = 0; i < size; i++)
		data[i] = (unsigned char)(i * i >> 3);
	uint32_t bytewise = 0; /* short pieces take the slow path */
	for (size_t i = 0; i < size; i += 97)
		bytewise = crc32_of(bytewise, data + i, size - i < 97 ? size - i : 97);
	ck_assert_uint_eq(crc32_of(0, data, size), bytewise);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("zip");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, round_trip);
	tcase_add_test(tcase, no_entries_and_many);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_test(tcase, above_4_gib);
#endif
	tcase_add_test(tcase, other_tools_read_it);
	tcase_add_test(tcase, truncated_anywhere);
	tcase_add_test(tcase, any_flipped_bit);
	tcase_add_test(tcase, consistent_lies);
	tcase_add_test(tcase, wrong_directory);
	tcase_add_test(tcase, random_bytes);
	tcase_add_test(tcase, the_writer_refuses_the_same_names);
	tcase_add_test(tcase, sums);
	return unit_run(tcase);
}
