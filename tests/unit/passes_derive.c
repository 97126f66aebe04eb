/* DeriveExpressions: what is asked, in which order, what is kept, and what of it is believed. Times
 * are made up: one way is the fastest.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "graph/infer.h"
#include "passes/manager.h"

/* Windows over 36 x 36 and 28 x 28 elements, the second twice. */
static const char text[] = "graph g(%s: f32[1,128,28,28], %l: f32[1,128,36,36]) -> %a, %b, %c {\n"
						   "%w: f32[128,128,3,3] = weight 0\n"
						   "%a = Conv(%s, %w) {pads=[1,1,1,1]} \"small\"\n"
						   "%b = Conv(%l, %w) {pads=[1,1,1,1]} \"large\"\n"
						   "%n = Neg(%s)\n"
						   "%c = Conv(%n, %w) {pads=[1,1,1,1]} \"again\" }";

static int fastest;        /* of the programs that are timed */
static int timed;          /* questions */
static int64_t rows[8];    /* of each */
static const char *answer; /* to every question; NULL: what was remembered */
static const char *depth;  /* of the search */
static Arena *kept;        /* of what is remembered */
static Map memory;

static void
time_programs(void *self, int count, const Program *const *programs, const bool *constant,
              double *seconds, double *relayouts)
{
	(void)self;
	ck_assert_int_gt(count, 1);
	ck_assert(!constant[0] && constant[1]);
	ck_assert(dim_is_const(programs[0]->inputs[0]->hi[2], &rows[timed++ % 8]));
	for (int i = 0; i < count; i++)
		seconds[i] = i == fastest ? 1e-3 : 2e-3;
	for (int i = 0; i < count; i++)
		relayouts[i] = 0;
}

static const char *
recall(void *self, Arena *arena, const char *question)
{
	(void)self, (void)arena;
	return answer ? answer : map_find(&memory, question);
}

static void
remember(void *self, const char *question, const char *what)
{
	(void)self;
	map_set(&memory, arena_strdup(kept, question), arena_strdup(kept, what));
}

static const Oracle oracle = {.time = time_programs, .recall = recall, .remember = remember};

typedef struct Outcome {
	Arena *arena;
	PassContext context;
	const Graph *graph;
} Outcome;

/* The pass over the text, with so many seconds for its questions ("" always enough, however slow the
 * machine) and a record (chosen NULL: none). */
static Outcome
derive(const char *seconds, const char *key, const char *chosen)
{
	Outcome outcome = {.arena = arena_new("test")};
	Target *target = NEW(outcome.arena, Target);
	*target = (Target){.device = device_find("cpu:x86-64-v4"), .oracle = &oracle, .threads = 1};
	outcome.context = (PassContext){.arena = outcome.arena,
	                                .run = run_passes,
	                                .level = 3,
	                                .target = target,
	                                .verify = true,
	                                .config = {.arena = outcome.arena},
	                                .recorded = {.arena = outcome.arena}};
	map_set(&outcome.context.config, "DeriveExpressions.depth", arena_strdup(outcome.arena, depth));
	map_set(&outcome.context.config, "DeriveExpressions.budget", arena_strdup(outcome.arena, "30"));
	map_set(&outcome.context.config, "DeriveExpressions.seconds",
	        arena_strdup(outcome.arena, *seconds ? seconds : "1000000"));
	if (chosen)
		map_set(&outcome.context.recorded, key, arena_strdup(outcome.arena, chosen));
	vec_push(outcome.arena, &outcome.context.only, "DeriveExpressions");
	Graph *graph = graph_parse(outcome.arena, "text", text);
	graph_infer(graph);
	timed = 0;
	run_graph_passes(graph, &outcome.context);
	outcome.graph = graph;
	return outcome;
}

static void
set_up(void)
{
	kept = arena_new("kept");
	memory = (Map){.arena = kept};
	answer = NULL;
	depth = "2";
	fastest = 1;
	ck_assert_ptr_nonnull(freopen("/dev/null", "w", stderr)); /* warnings are wanted */
}

static void
tear_down(void)
{
	arena_free(kept);
}

static int
count_choices(const Outcome *outcome, const char *measured)
{
	int count = 0;
	for (int i = 0; i < outcome->context.choices.count; i++)
		count += strstr(outcome->context.choices.data[i].candidates, measured) != NULL;
	return count;
}

static int
count_derived(const Outcome *outcome)
{
	int count = 0;
	for (int i = 0; i < outcome->context.log.count; i++)
		count += outcome->context.log.data[i].made &&
		         strcmp(outcome->context.log.data[i].made, "Expression") == 0;
	return count;
}

/* Equal questions once, the most work first; the choices stand in the order of the nodes. */
START_TEST(the_most_work_is_asked_first)
{
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(timed, 2);
	ck_assert(rows[0] == 36 && rows[1] == 28);
	ck_assert_int_eq(outcome.context.choices.count, 2);
	ck_assert_int_eq(count_derived(&outcome), 3);
	fastest = 0;
	memory = (Map){.arena = kept};
	Outcome same = derive("", NULL, NULL);
	ck_assert_int_eq(count_derived(&same), 0);
	arena_free(same.arena);
	arena_free(outcome.arena);
}
END_TEST

START_TEST(what_is_remembered_is_not_measured)
{
	Outcome first = derive("", NULL, NULL);
	fastest = 0;
	Outcome second = derive("0", NULL, NULL);
	ck_assert_int_eq(timed, 0);
	ck_assert_int_eq(second.context.choices.count, 2);
	for (int i = 0; i < 2; i++) {
		const PassChoice *a = &first.context.choices.data[i], *b = &second.context.choices.data[i];
		ck_assert_str_eq(a->key, b->key);
		ck_assert_str_eq(a->chosen, b->chosen);
		ck_assert_str_eq(a->candidates, b->candidates);
	}
	ck_assert_int_eq(count_derived(&second), 3);
	arena_free(second.arena);
	arena_free(first.arena);
}
END_TEST

START_TEST(another_depth_is_another_question)
{
	Outcome first = derive("", NULL, NULL);
	depth = "1";
	Outcome second = derive("0", NULL, NULL);
	ck_assert_int_eq(count_choices(&second, "no time left"), 2);
	arena_free(second.arena);
	arena_free(first.arena);
}
END_TEST

START_TEST(a_record_comes_first)
{
	Outcome first = derive("", NULL, NULL);
	const PassChoice *choice = &first.context.choices.data[1];
	ck_assert_str_ne(choice->chosen, "as given");
	Outcome second = derive("", choice->key, "as given");
	ck_assert_str_eq(second.context.choices.data[1].chosen, "as given");
	ck_assert_int_eq(timed, 0);
	ck_assert_int_eq(count_derived(&second), 2);
	/* One that does not apply stands, too, and makes nothing. */
	Outcome third = derive("", choice->key, "converge 99");
	ck_assert_str_eq(third.context.choices.data[1].chosen, "converge 99");
	ck_assert_int_eq(timed, 0);
	ck_assert_int_eq(count_derived(&third), 2);
	arena_free(third.arena);
	arena_free(second.arena);
	arena_free(first.arena);
}
END_TEST

START_TEST(without_time_nothing_is_measured)
{
	Outcome outcome = derive("0", NULL, NULL);
	ck_assert_int_eq(timed, 0);
	ck_assert_int_eq(count_choices(&outcome, "no time left"), 2);
	ck_assert_int_eq(memory.count, 0);
	ck_assert_int_eq(count_derived(&outcome), 0);
	arena_free(outcome.arena);
}
END_TEST

static const char *const hostile[] = {
	"",
	"\n",
	"\n\n",
	"as given",
	"as given\n",
	"as given\n\n",
	"as given\nmeasured",
	"as given\nmeasured\nmore\n",
	"as given\nme\tasured\n",
	"as given\n\xff\n",
	"converge\nmeasured\n",
	"converge 0 0\nmeasured\n",
	"converge -1\nmeasured\n",
	"converge 99999\nmeasured\n",
	"converge 99999999999999999999\nmeasured\n",
	"residue 0 0\nmeasured\n",
	"nothing 0 0\nmeasured\n",
	"unfold 7 0\nmeasured\n",
	"unfold -1 0\nmeasured\n",
	"unfold 0 9\nmeasured\n",
	"unfold 0 -9223372036854775808\nmeasured\n",
	"unfold 0 0 0 0 0 0\nmeasured\n",
	"bilinear 0 0 2 99\nmeasured\n",
	"split_terms 0 4 4611686018427387904\nmeasured\n",
	"split_terms 0 4 1000000000; split_operand 0 0 1 1000000000\nmeasured\n",
	"split_terms 0 4 100000; converge 0\nmeasured\n",
	"split_loop 0 1 0\nmeasured\n",
	"split_sum 0 -1\nmeasured\n",
	"unfold 0 0;\nmeasured\n;",
	"position 0 0 2 99\nmeasured\n",
};

START_TEST(hostile_answers_are_not_believed)
{
	answer = hostile[_i];
	Outcome outcome = derive("0", NULL, NULL);
	ck_assert_msg(count_choices(&outcome, "no time left") == 2, "'%s' is believed", answer);
	ck_assert_int_eq(count_derived(&outcome), 0);
	arena_free(outcome.arena);
}
END_TEST

/* It is measured again, and what is remembered takes its place. */
START_TEST(no_derivation_is_endless)
{
	Buf buf = {.arena = kept};
	for (int i = 0; i < 2000; i++)
		buf_puts(&buf, "split_loop 0 2 2; ");
	buf_puts(&buf, "converge 0\nmeasured\n");
	answer = buf_text(&buf);
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(timed, 2);
	ck_assert_int_eq(memory.count, 2);
	arena_free(outcome.arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("derive");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, the_most_work_is_asked_first);
	tcase_add_test(tcase, what_is_remembered_is_not_measured);
	tcase_add_test(tcase, another_depth_is_another_question);
	tcase_add_test(tcase, a_record_comes_first);
	tcase_add_test(tcase, without_time_nothing_is_measured);
	tcase_add_loop_test(tcase, hostile_answers_are_not_believed, 0, (int)countof(hostile));
	tcase_add_test(tcase, no_derivation_is_endless);
	return unit_run(tcase);
}
