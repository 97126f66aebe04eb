/* Arenas: alignment, zeros, overflow, order of deferred releases, and what unwinding leaves. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/vec.h"
#include "unit.h"

typedef struct Trace {
	char text[64];
} Trace;

static Trace trace;

static void
note(void *handle)
{
	strcat(trace.text, handle);
}

START_TEST(allocations_are_zeroed_aligned_and_apart)
{
	Arena *arena = arena_new("test");
	unsigned char *all[200];
	for (size_t i = 0; i < countof(all); i++) {
		size_t size = i * 37 % 5000;
		all[i] = arena_alloc(arena, size);
		ck_assert_uint_eq((uintptr_t)all[i] % 16, 0);
		for (size_t k = 0; k < size; k++)
			ck_assert_uint_eq(all[i][k], 0);
		memset(all[i], (int)i, size);
	}
	for (size_t i = 0; i < countof(all); i++)
		for (size_t k = 0; k < i * 37 % 5000; k++)
			ck_assert_uint_eq(all[i][k], (unsigned char)i);
	arena_free(arena);
}
END_TEST

START_TEST(large_alignments_hold)
{
	Arena *arena = arena_new("test");
	for (size_t align = 1; align <= 4096; align *= 2)
		for (size_t size = 1; size < 20000; size = size * 3 + 1) {
			char *memory = arena_alloc_aligned(arena, size, align);
			ck_assert_uint_eq((uintptr_t)memory % align, 0);
			memset(memory, 0x55, size);
		}
	arena_free(arena);
}
END_TEST

START_TEST(release_goes_back_to_the_mark)
{
	Arena *arena = arena_new("test");
	trace.text[0] = 0;
	for (size_t before = 0; before < 9000; before += 3000) {
		char *kept = before ? memset(arena_alloc(arena, before), 7, before) : NULL;
		arena_defer(arena, note, "k");
		size_t used = arena_used(arena);
		for (size_t round = 1; round < 5; round++) {
			ArenaMark mark = arena_mark(arena), inner;
			arena_defer(arena, note, "a");
			for (size_t size = 1; size < 3000000; size = size * 3 + round) {
				char *memory = arena_alloc(arena, size);
				for (size_t i = 0; i < size; i += 1 + i / 50)
					ck_assert_int_eq(memory[i], 0);
				memset(memory, 0x55, size);
			}
			inner = arena_mark(arena);
			memset(arena_alloc(arena, 100), 1, 100);
			arena_defer(arena, note, "b");
			arena_release(arena, inner);
			arena_release(arena, mark);
			ck_assert_uint_eq(arena_used(arena), used);
			ck_assert_str_eq(trace.text, "ba");
			trace.text[0] = 0;
		}
		for (size_t i = 0; i < before; i++)
			ck_assert_int_eq(kept[i], 7);
	}
	arena_free(arena);
	ck_assert_str_eq(trace.text, "kkk");
}
END_TEST

START_TEST(reset_empties_and_stays_usable)
{
	Arena *arena = arena_new("test");
	for (int round = 0; round < 3; round++) {
		ck_assert_uint_eq(arena_used(arena), 0);
		char *memory = arena_alloc(arena, 3000);
		for (int i = 0; i < 3000; i++)
			ck_assert_int_eq(memory[i], 0);
		memset(memory, 1, 3000);
		ck_assert_uint_eq(arena_used(arena), 3000);
		arena_reset(arena);
	}
	arena_free(arena);
	arena_free(NULL);
}
END_TEST

START_TEST(releases_run_once_in_reverse)
{
	Arena *arena = arena_new("test");
	trace.text[0] = 0;
	arena_defer(arena, note, "a");
	arena_defer(arena, note, "b");
	arena_defer(arena, note, "c");
	arena_reset(arena);
	ck_assert_str_eq(trace.text, "cba");
	arena_defer(arena, note, "d");
	arena_free(arena);
	ck_assert_str_eq(trace.text, "cbad");
}
END_TEST

static void
make_and_fail(void *arg)
{
	Arena *arena = arg;
	arena_defer(arena, note, "x");
	arena_alloc(arena, 100);
	arena_defer(arena, note, "y");
	fail(NULL, "no");
}

START_TEST(unwinding_keeps_the_arena_whole)
{
	Arena *arena = arena_new("test");
	Failure failure;
	trace.text[0] = 0;
	ck_assert(!try_run(make_and_fail, arena, &failure));
	ck_assert_str_eq(trace.text, "");
	ck_assert_ptr_nonnull(arena_alloc(arena, 10));
	arena_free(arena);
	ck_assert_str_eq(trace.text, "yx");
}
END_TEST

static void
overflow_product(void *arg)
{
	arena_alloc_n(arg, SIZE_MAX / 2, 4);
}

static void
ask_for_everything(void *arg)
{
	arena_alloc(arg, SIZE_MAX - 8);
}

START_TEST(too_much_fails_with_a_sentence)
{
	void (*const asks[])(void *) = {overflow_product, ask_for_everything};
	for (size_t i = 0; i < countof(asks); i++) {
		Arena *arena = arena_new("weights");
		Failure failure;
		ck_assert(!try_run(asks[i], arena, &failure));
		ck_assert_int_eq(failure.kind, FAIL_ENVIRONMENT);
		ck_assert_ptr_nonnull(strstr(failure.text, "out of memory in arena 'weights'"));
		arena_free(arena);
	}
}
END_TEST

#ifndef __SANITIZE_ADDRESS__ /* which takes the whole address space for itself */
static void
ask_for_more_than_allowed(void *arg)
{
	arena_alloc(arg, (size_t)1 << 40);
}

START_TEST(memory_limit_fails_and_recovers)
{
	Arena *arena = arena_new("test");
	struct rlimit limit = {(rlim_t)1 << 30, (rlim_t)1 << 30};
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
	Failure failure;
	ck_assert(!try_run(ask_for_more_than_allowed, arena, &failure));
	ck_assert_int_eq(failure.kind, FAIL_ENVIRONMENT);
	ck_assert_ptr_nonnull(arena_alloc(arena, 1000));
	arena_free(arena);
}
END_TEST
#endif

START_TEST(texts)
{
	Arena *arena = arena_new("test");
	ck_assert_str_eq(arena_printf(arena, "%d-%s", 12, "ab"), "12-ab");
	ck_assert_str_eq(arena_strndup(arena, "abcdef", 3), "abc");
	ck_assert_str_eq(arena_strndup(arena, "ab", 30), "ab");
	ck_assert_str_eq(arena_strdup(arena, ""), "");
	char *grown = arena_grow(arena, "abc", 3, 100);
	ck_assert_str_eq(grown, "abc");
	arena_free(arena);
}
END_TEST

START_TEST(vectors_grow)
{
	Arena *arena = arena_new("test");
	IntVec numbers = {0};
	for (int i = 0; i < 10000; i++)
		vec_push(arena, &numbers, i * 3);
	ck_assert_int_eq(numbers.count, 10000);
	for (int i = 0; i < 10000; i++)
		ck_assert_int_eq(numbers.data[i], i * 3);
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("arena");
	tcase_add_test(tcase, allocations_are_zeroed_aligned_and_apart);
	tcase_add_test(tcase, large_alignments_hold);
	tcase_add_test(tcase, release_goes_back_to_the_mark);
	tcase_add_test(tcase, reset_empties_and_stays_usable);
	tcase_add_test(tcase, releases_run_once_in_reverse);
	tcase_add_test(tcase, unwinding_keeps_the_arena_whole);
	tcase_add_test(tcase, too_much_fails_with_a_sentence);
#ifndef __SANITIZE_ADDRESS__
	tcase_add_test(tcase, memory_limit_fails_and_recovers);
#endif
	tcase_add_test(tcase, texts);
	tcase_add_test(tcase, vectors_grow);
	return unit_run(tcase);
}
