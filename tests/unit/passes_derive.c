/* DeriveExpressions: what is asked, in which order, what is kept, and what of it is believed. */
#include "derive_rig.h"

/* Windows over 36 x 36 and 28 x 28 elements, the second twice. */
static const char windows[] =
	"graph g(%s: f32[1,128,28,28], %l: f32[1,128,36,36]) -> %a, %b, %c {\n"
	"%w: f32[128,128,3,3] = weight 0\n"
	"%a = Conv(%s, %w) {pads=[1,1,1,1]} \"small\"\n"
	"%b = Conv(%l, %w) {pads=[1,1,1,1]} \"large\"\n"
	"%n = Neg(%s)\n"
	"%c = Conv(%n, %w) {pads=[1,1,1,1]} \"again\" }";

static void
of_windows(void)
{
	set_up();
	model = windows;
}

static int
count_choices(const Outcome *outcome, const char *measured)
{
	int count = 0;
	for (int i = 0; i < outcome->context.choices.count; i++)
		count += strstr(outcome->context.choices.data[i].candidates, measured) != NULL;
	return count;
}

/* Equal questions once, the most work first, in all nodes that ask: two ask the smaller. The
 * choices stand in the order of the nodes. Others of a kind are asked where its first is near. */
START_TEST(the_most_work_is_asked_first)
{
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(timed, 2);
	ck_assert_int_eq(batches, 4);
	ck_assert(rows[0] == 28 && rows[1] == 36);
	ck_assert_int_eq(outcome.context.choices.count, 2);
	ck_assert_int_eq(count_derived(&outcome), 3);
	fastest = 0;
	memory = (Map){.arena = kept};
	Outcome same = derive("", NULL, NULL);
	ck_assert_int_eq(count_derived(&same), 0);
	ck_assert_int_eq(batches, 2);
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

/* An error inside a choice refuses the choice. */
START_TEST(an_error_leaves_what_was_given)
{
	fails = true;
	Outcome outcome = derive("", NULL, NULL);
	fails = false;
	ck_assert(is_refused(&outcome.context, "measure", "a trial failed"));
	ck_assert_int_eq(count_derived(&outcome), 0);
	arena_free(outcome.arena);
}
END_TEST

/* Each of the two questions is searched, and said where that takes more than nothing. */
START_TEST(a_long_search_is_said)
{
	longest = _i ? "0" : longest;
	Outcome outcome = derive("", NULL, NULL);
	int said = 0;
	for (int i = 0; i < outcome.context.log.count; i++) {
		const PassEvent *event = &outcome.context.log.data[i];
		if (strcmp(event->rule, "long search") == 0) {
			said++;
			ck_assert(strstr(event->made, " states, ") && !event->reason);
		}
	}
	ck_assert_int_eq(said, _i ? 2 : 0);
	arena_free(outcome.arena);
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

typedef struct Whole {
	double with[2]; /* for 1 s without, with one thread and with all; 0: it cannot be measured */
	int derived;
} Whole;

static const Whole wholes[] = {
	{{0.9, 0.9}, 3}, {{1.1, 1.1}, 0},  {{1, 1}, 0},    {{0.7, 1.1}, 0},
	{{1.1, 0.7}, 0}, {{0.7, 1.02}, 3}, {{1.02, 1}, 0}, {{0, 0}, 3},
};

/* What is faster alone stays only where the model is; that is asked once, and not of a record. */
START_TEST(the_model_is_faster)
{
	const Whole *w = &wholes[_i];
	bool is_measured = w->with[0] > 0;
	memcpy(with, w->with, sizeof with);
	Outcome first = derive("", NULL, NULL);
	ck_assert_int_eq(judged, 1);
	ck_assert_int_eq(count_derived(&first), w->derived);
	ck_assert_int_eq(memory.count, 2 + is_measured);
	ck_assert_int_eq(judged_by.count, 2);
	for (int i = 0; i < 2; i++) {
		const PassChoice *choice = &first.context.choices.data[i];
		const char *tried = map_find(&judged_by, choice->key);
		ck_assert_str_ne(tried, "as given");
		ck_assert_str_eq(choice->chosen, w->derived ? tried : "as given");
		ck_assert(strstr(choice->candidates, tried));
	}
	ck_assert_int_eq(count_choices(&first, "as a whole"), w->derived ? 0 : 2);
	with[0] = with[1] = w->derived ? 2 : 0.5;
	Outcome second = derive("0", NULL, NULL);
	ck_assert_int_eq(judged, 0);
	ck_assert_int_eq(count_derived(&second), w->derived);
	Outcome third = derive("", NULL, NULL);
	ck_assert_int_eq(judged, !is_measured);
	ck_assert_int_eq(count_derived(&third), is_measured ? w->derived : 0);
	arena_free(third.arena);
	arena_free(second.arena);
	arena_free(first.arena);
}
END_TEST

/* Other answers make another model. */
START_TEST(other_choices_are_another_model)
{
	with[0] = with[1] = 0.9;
	Outcome first = derive("", NULL, NULL);
	with[0] = with[1] = 1.1;
	Outcome second = derive("", first.context.choices.data[0].key, "as given");
	ck_assert_int_eq(judged, 1);
	ck_assert_int_eq(count_derived(&second), 0);
	arena_free(second.arena);
	arena_free(first.arena);
}
END_TEST

/* What no node could say is not searched: the dims of the second tell S/2, which is not S. */
START_TEST(symbols_that_no_dim_tells_are_not_searched)
{
	model = "graph g(%x: f32[1,64,S,S]) -> %b {\n"
			"%w: f32[64,64,3,3] = weight 0\n"
			"%a = Conv(%x, %w) {pads=[1,1,1,1], strides=[2,2]} \"told\"\n"
			"%b = Conv(%a, %w) {pads=[1,1,1,1]} \"untold\" }";
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(timed, 0);
	ck_assert_int_eq(outcome.context.choices.count, 1);
	arena_free(outcome.arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("derive");
	tcase_add_checked_fixture(tcase, of_windows, tear_down);
	tcase_add_test(tcase, the_most_work_is_asked_first);
	tcase_add_test(tcase, what_is_remembered_is_not_measured);
	tcase_add_test(tcase, another_depth_is_another_question);
	tcase_add_test(tcase, a_record_comes_first);
	tcase_add_test(tcase, without_time_nothing_is_measured);
	tcase_add_loop_test(tcase, a_long_search_is_said, 0, 2);
	tcase_add_test(tcase, an_error_leaves_what_was_given);
	tcase_add_loop_test(tcase, hostile_answers_are_not_believed, 0, (int)countof(hostile));
	tcase_add_test(tcase, no_derivation_is_endless);
	tcase_add_loop_test(tcase, the_model_is_faster, 0, (int)countof(wholes));
	tcase_add_test(tcase, other_choices_are_another_model);
	tcase_add_test(tcase, symbols_that_no_dim_tells_are_not_searched);
	return unit_run(tcase);
}
