/* --verify=each and --verify=texts: what a pass left is compared with what it got, and a rewriting
 * that changes results is named. */
#include "unit.h"

#include <string.h>

#include "cli/model.h"
#include "graph/infer.h"

static const char BEFORE[] = "graph g(%x: f32[2,3]) -> %y {\n"
							 "  %t = Add(%x, %x)  \"twice\"\n"
							 "  %y = Exp(%t)      \"exp\"\n"
							 "}\n";

typedef struct Rewrite {
	Options options;
	const char *after;
} Rewrite;

static Graph *
graph_of(Arena *arena, const char *text)
{
	Graph *graph = graph_parse(arena, "g", text);
	graph_infer(graph);
	return graph;
}

static void
verify(void *arg)
{
	Rewrite *rewrite = arg;
	Arena *arena = rewrite->options.arena;
	Graph *before = graph_of(arena, BEFORE), *after = graph_of(arena, rewrite->after);
	verify_texts(NULL, "Test", before, after);
	verify_rewrite(&rewrite->options, "Test", before, after);
}

START_TEST(equal_results_pass)
{
	Rewrite rewrite = {{.arena = arena_new("test"), .seed = 1},
	                   "graph g(%x: f32[2,3]) -> %y {\n  %c: f32 = {2}\n"
	                   "  %t = Mul(%x, %c)\n  %y = Exp(%t)\n}\n"};
	Failure failure;
	ck_assert_msg(try_run(verify, &rewrite, &failure), "%s", failure.text);
	arena_free(rewrite.options.arena);
}
END_TEST

START_TEST(other_results_name_the_pass)
{
	Rewrite rewrite = {{.arena = arena_new("test"), .seed = 1},
	                   "graph g(%x: f32[2,3]) -> %y {\n  %c: f32 = {2.00001}\n"
	                   "  %t = Mul(%x, %c)\n  %y = Exp(%t)\n}\n"};
	Failure failure;
	ck_assert(!try_run(verify, &rewrite, &failure));
	ck_assert_int_eq(failure.kind, FAIL_BUG);
	ck_assert_msg(strstr(failure.text, "Test changed output y: element 0 is") == failure.text, "%s",
	              failure.text);
	arena_free(rewrite.options.arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("cli_verify");
	tcase_add_test(t, equal_results_pass);
	tcase_add_test(t, other_results_name_the_pass);
	return unit_run(t);
}
