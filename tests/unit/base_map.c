/* Maps and hashes: order of insertion, replacement, growth, interning. */
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "unit.h"

START_TEST(iteration_is_in_order_of_insertion)
{
	Arena *arena = arena_new("test");
	Map map = {.arena = arena};
	char *names[2000];
	for (int i = 0; i < 2000; i++) {
		names[i] = arena_printf(arena, "value%d", i * 7919 % 2000);
		map_set(&map, names[i], names[i]);
	}
	ck_assert_int_eq(map.count, 2000);
	for (int i = 0; i < 2000; i++) {
		ck_assert_str_eq(map.entries[i].name, names[i]);
		ck_assert_ptr_eq(map_find(&map, arena_strdup(arena, names[i])), names[i]);
	}
	ck_assert_ptr_null(map_find(&map, "value2000"));
	arena_free(arena);
}
END_TEST

START_TEST(setting_again_replaces_in_place)
{
	Arena *arena = arena_new("test");
	Map map = {.arena = arena};
	int a, b;
	ck_assert_ptr_null(map_find(&map, "x"));
	map_set(&map, "x", &a);
	map_set(&map, "y", &a);
	map_set(&map, "x", &b);
	ck_assert_int_eq(map.count, 2);
	ck_assert_str_eq(map.entries[0].name, "x");
	ck_assert_ptr_eq(map_find(&map, "x"), &b);
	ck_assert_ptr_eq(map_find(&map, "y"), &a);
	arena_free(arena);
}
END_TEST

START_TEST(pointers_and_names_do_not_meet)
{
	Arena *arena = arena_new("test");
	Map map = {.arena = arena};
	int keys[1000];
	for (int i = 0; i < 1000; i++)
		map_set_ptr(&map, &keys[i], &keys[999 - i]);
	map_set_ptr(&map, NULL, keys);
	map_set(&map, "x", keys + 1);
	for (int i = 0; i < 1000; i++) {
		ck_assert_ptr_eq(map_find_ptr(&map, &keys[i]), &keys[999 - i]);
		ck_assert_ptr_eq(map.entries[i].key, &keys[i]);
	}
	ck_assert_ptr_eq(map_find_ptr(&map, NULL), keys);
	ck_assert_ptr_eq(map_find(&map, "x"), keys + 1);
	ck_assert_ptr_null(map_find_ptr(&map, &map));
	arena_free(arena);
}
END_TEST

START_TEST(equal_texts_are_interned_once)
{
	Arena *arena = arena_new("test");
	Map map = {.arena = arena};
	char text[] = "abcabcab";
	const char *abc = map_intern(&map, text, 3);
	ck_assert_str_eq(abc, "abc");
	ck_assert_ptr_ne(abc, text);
	ck_assert_ptr_eq(map_intern(&map, text + 3, 3), abc);
	ck_assert_ptr_ne(map_intern(&map, text, 2), abc);
	ck_assert_ptr_ne(map_intern(&map, text, 4), abc);
	ck_assert_ptr_eq(map_intern(&map, "", 0), map_intern(&map, text, 0));
	arena_free(arena);
}
END_TEST

/* The published values of XXH3 for no input, and that order matters. */
START_TEST(hashes)
{
	Hash128 empty = hash128("", 0), a = hash128("a", 1), b = hash128("b", 1);
	ck_assert_uint_eq(empty.high, 0x99aa06d3014798d8u);
	ck_assert_uint_eq(empty.low, 0x6001c324468d497fu);
	ck_assert_uint_eq(hash64("", 0), 0x2d06800538d394c2u);
	ck_assert(!hash128_equal(a, b) && hash128_equal(a, hash128("a", 1)));
	ck_assert(!hash128_equal(hash128_combine(a, b), hash128_combine(b, a)));
	ck_assert_uint_ne(hash_mix(1, 2), hash_mix(2, 3));
	ck_assert_uint_ne(hash_mix(0, 0), 0);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("map");
	tcase_add_test(tcase, iteration_is_in_order_of_insertion);
	tcase_add_test(tcase, setting_again_replaces_in_place);
	tcase_add_test(tcase, pointers_and_names_do_not_meet);
	tcase_add_test(tcase, equal_texts_are_interned_once);
	tcase_add_test(tcase, hashes);
	return unit_run(tcase);
}
