/* The history of a compilation: as text, read back; texts that nobody vouches for; rewrites that
 * are counted. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/history.h"

static Arena *arena;

static void
begin(void)
{
	arena = arena_new("test");
}

static void
end(void)
{
	arena_free(arena);
}

static PassContext
context_of(const char *pass, bool is_optional)
{
	return (PassContext){.arena = arena, .running = pass, .is_optional = is_optional};
}

static const char text[] = "{\"history\": 1, \"cut\": 0}\n"
						   "{\"id\": \"54c8d7a1\", \"pass\": \"FuseOps\", \"rule\": \"join\", "
						   "\"nodes\": [\"b\", \"\\\"c\\\"\"], "
						   "\"made\": [\"a\", \"\"], \"rewrites\": [1, 2]}\n";

static const char *
text_of(const PassContext *context)
{
	History history = history_of(arena, context);
	return history_text(arena, &history);
}

static History
read_text(const char *from)
{
	return history_read(arena, "m.twb", (Bytes){(const unsigned char *)from, strlen(from)});
}

START_TEST(is_read_as_written)
{
	PassContext context = context_of("FuseOps", true);
	pass_log(&context, "join", "b", "a", NULL);
	pass_log(&context, "join", "\"c\"", NULL, NULL);
	pass_log(&context, "join", "d", NULL, "it is closed\n");
	pass_log(&context, "join", "e", NULL, "it is closed\n");
	pass_log(&context, "join", "e", NULL, "it is closed\n");
	pass_note(&context, "search", "f", "3 s", NULL);
	const char *written = text_of(&context);
	History history = read_text(written);
	ck_assert_int_eq(history.lines.count, 2);
	ck_assert_str_eq(history_line_text(arena, &history.lines.data[0], 0), "FuseOps: join: b -> a");
	ck_assert_str_eq(history_line_text(arena, &history.lines.data[1], 1),
	                 "FuseOps: join: e not applied: it is closed\n");
	ck_assert_int_eq(history.lines.data[1].nodes.count, 2);
	ck_assert_str_eq(history_text(arena, &history), written);
}
END_TEST

START_TEST(ids_stay_when_others_come)
{
	PassContext context = context_of("FuseOps", true), other = context_of("FoldConstant", true);
	pass_log(&context, "join", "b", "a", NULL);
	pass_log(&other, "evaluate", "k", "a", NULL);
	other.running = "FuseOps";
	pass_log(&other, "join", "x", "a", NULL);
	History one = history_of(arena, &context), two = history_of(arena, &other);
	ck_assert_str_eq(one.lines.data[0].id, two.lines.data[1].id);
	ck_assert_str_ne(two.lines.data[0].id, two.lines.data[1].id);
}
END_TEST

START_TEST(numbers_find_their_rewrite)
{
	int node = -1;
	History history = read_text(text);
	ck_assert_ptr_eq(history_rewrite(&history, 2, &node), &history.lines.data[0]);
	ck_assert_int_eq(node, 1);
	ck_assert_ptr_null(history_rewrite(&history, 3, &node));
}
END_TEST

/* Only passes that may be left out have numbers, and only what they made. */
START_TEST(rewrites_are_counted_and_left_out)
{
	PassContext context = context_of("FuseOps", true);
	context.first_out = 2;
	ck_assert(pass_may_rewrite(&context));
	pass_log(&context, "join", "a", NULL, "it is closed");
	ck_assert(pass_may_rewrite(&context));
	pass_log(&context, "join", "b", "a", NULL);
	ck_assert(!pass_may_rewrite(&context));
	context.is_optional = false;
	ck_assert(pass_may_rewrite(&context));
	pass_log(&context, "expand", "c", NULL, NULL);
	ck_assert_int_eq(context.rewrites, 1);
}
END_TEST

static void
read_it(void *from)
{
	read_text(from);
}

START_TEST(damaged_texts_are_refused)
{
	static const char *const wrong[] = {
		"{\"history\": 2, \"cut\": 0}\n",
		"{}\n",
		"nothing\n",
		"{\"history\": 1, \"cut\": 0}\n{\"id\": \"0\"}\n",
		"{\"history\": 1, \"cut\": 0}\n{\"id\": \"0\", \"pass\": \"P\", \"rule\": \"r\", "
		"\"nodes\": []}\n",
		"{\"history\": 1, \"cut\": 0}\n"
		"{\"id\": \"0\", \"pass\": \"P\", \"rule\": \"r\", \"nodes\": [\"a\"], \"rewrites\": [1, "
		"2]}\n",
		"{\"history\": 1, \"cut\": 0}\n"
		"{\"id\": \"0\", \"pass\": \"P\", \"rule\": \"r\", \"nodes\": [\"a\"], \"rewrites\": "
		"[-1]}\n",
		"{\"history\": 1, \"cut\": 0}\n"
		"{\"id\": \"0\", \"pass\": \"P\", \"rule\": \"r\", \"nodes\": [\"a\"], \"made\": [1]}\n",
	};
	Failure failure;
	for (size_t i = 0; i < countof(wrong); i++)
		ck_assert_msg(!try_run(read_it, (void *)(uintptr_t)wrong[i], &failure), "%s", wrong[i]);
	ck_assert_int_eq(read_text("").lines.count, 0);
	for (size_t length = 0; length < sizeof text - 1; length++) /* cut anywhere, no crash */
		try_run(read_it, arena_strndup(arena, text, length), &failure);
}
END_TEST

/* A model of many nodes does not make a bundle of megabytes: it says so. */
START_TEST(what_is_too_long_is_cut)
{
	PassContext context = context_of("FuseOps", true);
	for (int i = 0; i < 20000; i++)
		pass_log(&context, "join", arena_printf(arena, "node %d", i), NULL,
		         arena_printf(arena, "reason %d", i));
	const char *written = text_of(&context);
	ck_assert_uint_le(strlen(written), (1 << 20) + 200);
	ck_assert_int_gt(read_text(written).cut, 1000);
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("history");
	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, is_read_as_written);
	tcase_add_test(tests, ids_stay_when_others_come);
	tcase_add_test(tests, numbers_find_their_rewrite);
	tcase_add_test(tests, rewrites_are_counted_and_left_out);
	tcase_add_test(tests, damaged_texts_are_refused);
	tcase_add_test(tests, what_is_too_long_is_cut);
	return unit_run(tests);
}
