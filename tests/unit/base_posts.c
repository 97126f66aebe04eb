/* Post-ops as a plan spells them: what is written is read again, and nothing else is. */
#include <string.h>

#include "base/arena.h"
#include "base/call.h"
#include "unit.h"

#define POST_KIND(name, numbers, has_argument) has_argument,
static const bool has_argument[] = {
#include "base/post.def"
};
#undef POST_KIND

START_TEST(written_and_read)
{
	Arena *arena = arena_new("posts");
	char error[100];
	for (int kind = 0; kind < POST_KINDS; kind++) {
		StepPost posts[2] = {{kind, {0}, -1}, {POST_clip, {-1, 0.1}, -1}}, read[POST_MAX];
		if (has_argument[kind])
			posts[0].arg = 3;
		Buf text = {.arena = arena}, again = {.arena = arena};
		posts_write(&text, 2, posts);
		ck_assert_int_eq(posts_read(buf_text(&text), read, error, sizeof error), 2);
		posts_write(&again, 2, read);
		ck_assert_str_eq(buf_text(&again), buf_text(&text));
		ck_assert(read[0].kind == posts[0].kind && read[0].arg == posts[0].arg);
		ck_assert(read[1].numbers[0] == -1 && read[1].numbers[1] == 0.1);
	}
	arena_free(arena);
}
END_TEST

START_TEST(refused)
{
	static const char *const texts[] = {
		"gelu",       ";",         "relu;;relu",
		"relu()",     "clip(1)",   "clip(1,2,3)",
		"clip(1,2",   "clip(1 2)", "sum",
		"sum(x)",     "relu tanh", "abs(1)",
		"clip(,2)",   "(3)",       "relu,tanh",
		"clip(1,2)x", "RELU",      "relu;relu;relu;relu;relu;relu;relu;relu;relu",
	};
	for (size_t i = 0; i < countof(texts); i++) {
		StepPost posts[POST_MAX];
		char error[100] = "";
		ck_assert_msg(posts_read(texts[i], posts, error, sizeof error) < 0, "%s", texts[i]);
		ck_assert(strstr(error, "post-op '"));
	}
}
END_TEST

/* An argument that cannot be one is none: who runs the call says so. */
START_TEST(arguments)
{
	static const char *const texts[] = {"add(-1)", "add(1e30)", "add(nan)", "add(inf)"};
	for (size_t i = 0; i < countof(texts); i++) {
		StepPost posts[POST_MAX];
		char error[100];
		ck_assert_int_eq(posts_read(texts[i], posts, error, sizeof error), 1);
		ck_assert_int_eq(posts[0].arg, -1);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("posts");
	tcase_add_test(t, written_and_read);
	tcase_add_test(t, refused);
	tcase_add_test(t, arguments);
	return unit_run(t);
}
