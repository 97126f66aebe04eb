/* Blobs: pieces and gaps are the same as the bytes put together. Spilled memory: zeroed, apart, and
 * no file to be seen. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/blob.h"
#include "base/arena.h"
#include "no_unnamed.h"
#include "unit.h"

typedef struct Sink {
	unsigned char data[20000];
	size_t size;
} Sink;

static void
append(void *arg, const void *data, size_t size)
{
	Sink *sink = arg;
	ck_assert_uint_le(size, sizeof sink->data - sink->size);
	memcpy(sink->data + sink->size, data, size);
	sink->size += size;
}

static void
check_blob(uint64_t size, int64_t count, const BlobPiece *pieces)
{
	static unsigned char whole[20000];
	static Sink sink;
	memset(whole, 0, sizeof whole);
	for (int64_t i = 0; i < count; i++)
		if (pieces[i].data.size)
			memcpy(whole + pieces[i].offset, pieces[i].data.data, pieces[i].data.size);
	Blob blob = {size, count, pieces};
	sink.size = 0;
	blob_each(&blob, append, &sink);
	ck_assert_uint_eq(sink.size, size);
	ck_assert_int_eq(memcmp(sink.data, whole, size), 0);
	ck_assert(hash128_equal(blob_hash(&blob), hash128(whole, size)));
}

START_TEST(pieces_and_gaps)
{
	unsigned char a[300], b[40];
	memset(a, 0xa5, sizeof a);
	memset(b, 0x5a, sizeof b);
	check_blob(0, 0, NULL);
	check_blob(10000, 0, NULL);
	check_blob(sizeof a, 1, (BlobPiece[]){{0, {a, sizeof a}}});
	check_blob(19999, 3,
	           (BlobPiece[]){{1, {a, sizeof a}}, {301, {b, sizeof b}}, {12000, {a, sizeof a}}});
	check_blob(sizeof b, 2, (BlobPiece[]){{0, {NULL, 0}}, {0, {b, sizeof b}}});
	Arena *arena = arena_new("blob");
	Blob one = blob_of(arena, a, sizeof a);
	check_blob(one.size, one.count, one.pieces);
	arena_free(arena);
}
END_TEST

static int
count_files(const char *folder)
{
	int count = 0;
	DIR *dir = opendir(folder);
	while (dir && readdir(dir))
		count++;
	closedir(dir);
	return count - 2; /* . and .. */
}

/* Check notes each assertion in a file: one for all bytes. */
static bool
holds_only(const unsigned char *bytes, size_t size, unsigned char value)
{
	bool is_so = true;
	for (size_t k = 0; k < size; k++)
		is_so = is_so && bytes[k] == value;
	return is_so;
}

static void
check_spill(const char *folder)
{
	static const size_t sizes[] = {0, 1, 1000, (1 << 18) - 1, 1 << 18, 5000001};
	unsigned char *blocks[countof(sizes)];
	for (size_t i = 0; i < countof(sizes); i++) {
		blocks[i] = spill_alloc((void *)(uintptr_t)folder, sizes[i], 64);
		ck_assert_ptr_nonnull(blocks[i]);
		ck_assert_uint_eq((uintptr_t)blocks[i] % 64, 0);
		ck_assert(holds_only(blocks[i], sizes[i], 0));
		memset(blocks[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < countof(sizes); i++) {
		ck_assert(holds_only(blocks[i], sizes[i], (unsigned char)(i + 1)));
		spill_release(NULL, blocks[i], sizes[i]);
	}
	spill_release(NULL, NULL, 1 << 20);
}

START_TEST(spilled_blocks)
{
	char folder[] = "/tmp/tilewright-spill-XXXXXX";
	ck_assert_ptr_nonnull(mkdtemp(folder));
	check_spill(folder);
	Arena *arena = arena_new("spilled");
	arena_spill(arena, folder);
	for (int i = 0; i < 20; i++) {
		unsigned char *large = arena_alloc_aligned(arena, 3000000, 4096);
		ck_assert_uint_eq((uintptr_t)large % 4096, 0);
		ck_assert(large[0] == 0 && large[2999999] == 0);
		memset(large, i, 3000000);
		ck_assert_ptr_nonnull(arena_alloc(arena, 100));
	}
	ck_assert_int_eq(count_files(folder), 0);
	arena_spill(arena, NULL);
	memset(arena_alloc(arena, 3000000), 1, 3000000);
	arena_free(arena);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* The mappings of files in a folder. */
static int
count_mappings(const char *folder)
{
	char line[4096];
	int count = 0;
	FILE *maps = fopen("/proc/self/maps", "r");
	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof line, maps))
		count += strstr(line, folder) != NULL;
	fclose(maps);
	return count;
}

/* With and without a file system that knows unnamed files. */
START_TEST(spilled_in_files)
{
	char folder[] = "/tmp/tilewright-spill-XXXXXX";
	ck_assert_ptr_nonnull(mkdtemp(folder));
	has_unnamed = _i == 0;
	check_spill(folder);
	void *block = spill_alloc(folder, 1 << 20, 64);
	ck_assert_int_eq(count_mappings(folder), 1);
	ck_assert_int_eq(count_files(folder), 0);
	spill_release(folder, block, 1 << 20);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* Memory all the same. */
START_TEST(no_place_to_spill)
{
	check_spill("/nowhere/at/all");
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("blob");
	tcase_add_test(tcase, pieces_and_gaps);
	tcase_add_test(tcase, spilled_blocks);
	tcase_add_loop_test(tcase, spilled_in_files, 0, 2);
	tcase_add_test(tcase, no_place_to_spill);
	return unit_run(tcase);
}
