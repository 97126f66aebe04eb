/* The cache: hits, misses, damage, limits, and going on without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache.h"
#include "unit.h"

static Arena *arena;
static char folder[] = "/tmp/tw-cache-XXXXXX";

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

static Hash128
key(int number)
{
	return hash128(&number, sizeof number);
}

static bool
has(Cache *cache, int number, const char *contents)
{
	Bytes found;
	if (!cache_find(cache, arena, key(number), &found))
		return false;
	ck_assert_uint_eq(found.size, strlen(contents));
	ck_assert_mem_eq(found.data, contents, found.size);
	return true;
}

/* The only file of the cache. */
static const char *
only_file(void)
{
	FILE *list = popen(arena_printf(arena, "find %s -type f", folder), "r");
	char name[256], more[256];
	ck_assert_int_eq(fscanf(list, "%255s %255s", name, more), 1);
	pclose(list);
	return arena_strdup(arena, name);
}

START_TEST(stores_and_finds)
{
	Cache *cache = cache_open(arena, folder, 1 << 20);
	ck_assert(!has(cache, 1, ""));
	cache_store(cache, key(1), "one", 3);
	cache_store(cache, key(2), "", 0);
	ck_assert(has(cache, 1, "one") && has(cache, 2, "") && !has(cache, 3, ""));
	cache_store(cache, key(1), "another", 7);
	Cache *again = cache_open(arena, folder, 1 << 20);
	ck_assert(has(again, 1, "another"));
}
END_TEST

START_TEST(every_damaged_byte_is_a_miss)
{
	Cache *cache = cache_open(arena, folder, 1 << 20);
	cache_store(cache, key(1), "contents", 8);
	const char *file = only_file();
	Bytes good = file_map(arena, file);
	for (size_t i = 0; i < good.size; i++) {
		unsigned char *bad = arena_memdup(arena, good.data, good.size);
		bad[i] ^= 0x10;
		file_write(arena, file, bad, good.size);
		ck_assert_msg(!has(cache, 1, "contents"), "a hit with byte %zu changed", i);
		file_write(arena, file, good.data, i);
		ck_assert_msg(!has(cache, 1, "contents"), "a hit when cut to %zu bytes", i);
	}
	file_write(arena, file, good.data, good.size);
	ck_assert(has(cache, 1, "contents"));
}
END_TEST

START_TEST(what_is_no_file_is_a_miss)
{
	Cache *cache = cache_open(arena, folder, 1 << 20);
	cache_store(cache, key(1), "contents", 8);
	const char *file = only_file();
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(mkfifo(file, 0600), 0);
	ck_assert(!has(cache, 1, "contents"));
	ck_assert_int_eq(unlink(file), 0);
	ck_assert_int_eq(mkdir(file, 0700), 0);
	ck_assert(!has(cache, 1, "contents"));
}
END_TEST

/* The times of files move with the system's clock tick, which may be a hundredth of a second. */
static void
wait_a_tick(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 11000000}, NULL);
}

START_TEST(the_oldest_go_first)
{
	char data[1000] = {0};
	Cache *cache = cache_open(arena, folder, 10500);
	Bytes found;
	for (int i = 0; i < 10; i++)
		cache_store(cache, key(i), data, sizeof data - 100);
	for (int i = 0; i < 10; i++) {
		wait_a_tick(); /* a use shows in the file's time */
		ck_assert(cache_find(cache, arena, key(i), &found));
	}
	wait_a_tick();
	ck_assert(cache_find(cache, arena, key(0), &found)); /* used again: no longer the oldest */
	cache_store(cache, key(10), data, sizeof data - 100);
	cache_store(cache, key(11), data, sizeof data - 100);
	ck_assert(cache_find(cache, arena, key(0), &found));
	ck_assert(!cache_find(cache, arena, key(1), &found));
	ck_assert(!cache_find(cache, arena, key(2), &found));
	ck_assert(cache_find(cache, arena, key(9), &found));
	ck_assert(cache_find(cache, arena, key(11), &found));
	cache_store(cache, key(12), arena_alloc(arena, 20000), 20000); /* never fits */
	ck_assert(!cache_find(cache, arena, key(12), &found));
}
END_TEST

START_TEST(without_a_place_it_always_misses)
{
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr)); /* one warning is wanted */
	Cache *cache = cache_open(arena, "/dev/null/cache", 1 << 20);
	cache_store(cache, key(1), "one", 3);
	cache_store(cache, key(1), "one", 3);
	ck_assert(!has(cache, 1, "one"));
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	cache = cache_open(arena, NULL, 1 << 20);
	cache_store(cache, key(1), "one", 3);
	ck_assert(!has(cache, 1, "one"));
}
END_TEST

START_TEST(the_default_place)
{
	setenv("XDG_CACHE_HOME", folder, 1);
	cache_store(cache_open(arena, NULL, 1 << 20), key(1), "one", 3);
	ck_assert(file_exists(arena_printf(arena, "%s/tilewright", folder)));
	ck_assert(has(cache_open(arena, NULL, 1 << 20), 1, "one"));
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("cache");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, stores_and_finds);
	tcase_add_test(tcase, every_damaged_byte_is_a_miss);
	tcase_add_test(tcase, what_is_no_file_is_a_miss);
	tcase_add_test(tcase, the_oldest_go_first);
	tcase_add_test(tcase, without_a_place_it_always_misses);
	tcase_add_test(tcase, the_default_place);
	return unit_run(tcase);
}
