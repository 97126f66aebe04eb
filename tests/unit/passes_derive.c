/* DeriveExpressions: what is asked, in which order, what is kept, and what of it is believed. Times
 * are made up: one way is the fastest.
 */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eval/eval.h"
#include "graph/infer.h"
#include "passes/manager.h"

/* Windows over 36 x 36 and 28 x 28 elements, the second twice. */
static const char windows[] =
	"graph g(%s: f32[1,128,28,28], %l: f32[1,128,36,36]) -> %a, %b, %c {\n"
	"%w: f32[128,128,3,3] = weight 0\n"
	"%a = Conv(%s, %w) {pads=[1,1,1,1]} \"small\"\n"
	"%b = Conv(%l, %w) {pads=[1,1,1,1]} \"large\"\n"
	"%n = Neg(%s)\n"
	"%c = Conv(%n, %w) {pads=[1,1,1,1]} \"again\" }";

static const char *model;
static int fastest;        /* of the programs that are timed */
static int fastest_merged; /* of those of several nodes */
static int timed, merged;  /* questions, and those about several nodes */
static int stages;         /* of the program that the last was to be faster than */
static int64_t rows[8];    /* of each */
static const char *answer; /* to every question; NULL: what was remembered */
static const char *depth;  /* of the search */
static const char *most;   /* nodes of a question */
static Arena *kept;        /* of what is remembered */
static Map memory;

static void
time_programs(void *self, int count, const Program *const *programs, const bool *constant,
              double *seconds, double *relayouts)
{
	(void)self;
	bool is_merged = programs[0]->noutput > 1;
	const Tensor *x = programs[0]->inputs[0];
	ck_assert_int_gt(count, 1);
	ck_assert(!constant[0] && constant[1]);
	ck_assert(dim_is_const(x->hi[x->rank / 2], &rows[timed++ % 8]));
	merged += is_merged;
	stages = programs[0]->nstage;
	for (int i = 0; i < count; i++)
		seconds[i] = i == (is_merged ? fastest_merged : fastest) ? 1e-3 : 2e-3;
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

/* The one symbol is 128. */
static const Binding *
probe_of(Arena *arena, const Graph *graph)
{
	int id = graph->symbols.data[0].symbol->id;
	int64_t *value = NEW_N(arena, int64_t, id + 1);
	bool *is_bound = NEW_N(arena, bool, id + 1);
	Binding *binding = NEW(arena, Binding);
	value[id] = 128;
	is_bound[id] = true;
	*binding = (Binding){.count = id + 1, .value = value, .is_bound = is_bound};
	return binding;
}

/* The pass over the text, with so many seconds for its questions ("" always enough, however slow
 * the machine) and a record (chosen NULL: none). */
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
	map_set(&outcome.context.config, "DeriveExpressions.budget", arena_strdup(outcome.arena, "60"));
	map_set(&outcome.context.config, "DeriveExpressions.together",
	        arena_strdup(outcome.arena, most));
	map_set(&outcome.context.config, "DeriveExpressions.seconds",
	        arena_strdup(outcome.arena, *seconds ? seconds : "1000000"));
	if (chosen)
		map_set(&outcome.context.recorded, key, arena_strdup(outcome.arena, chosen));
	vec_push(outcome.arena, &outcome.context.only, "DeriveExpressions");
	Graph *graph = graph_parse(outcome.arena, "text", model);
	graph_infer(graph);
	if (graph->symbols.count)
		target->probe = probe_of(outcome.arena, graph);
	timed = merged = 0;
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
	model = windows;
	depth = "2";
	most = "1";
	fastest = fastest_merged = 1;
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

/* Equal questions once, the most work first, in all nodes that ask: two ask the smaller. The
 * choices stand in the order of the nodes. */
START_TEST(the_most_work_is_asked_first)
{
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(timed, 2);
	ck_assert(rows[0] == 28 && rows[1] == 36);
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

/* ---- several nodes --------------------------------------------------------------------------- */

/* Along the height and along the width, of one image. */
static const char separable[] = "graph g(%x: f32[1,64,16,16]) -> %a, %b {\n"
								"%v: f32[24,64,5,1] = weight 0\n"
								"%w: f32[24,64,1,5] = weight 1\n"
								"%a = Conv(%x, %v) {pads=[2,0,2,0]} \"height\"\n"
								"%b = Conv(%x, %w) {pads=[0,2,0,2]} \"width\" }\n";

static const char wide[] = "graph g(%x: f32[1,128,28,28]) -> %a, %b {\n"
						   "%v: f32[24,128,5,1] = weight 0\n"
						   "%w: f32[24,128,1,5] = weight 1\n"
						   "%a = Conv(%x, %v) {pads=[2,0,2,0]} \"height\"\n"
						   "%b = Conv(%x, %w) {pads=[0,2,0,2]} \"width\" }\n";

/* Two layers of three projections each; a result of the first is a result of the model. */
static const char projections[] = "graph g(%x: f32[128,64]) -> %q, %y {\n"
								  "%u: f32[64,64] = weight 0\n"
								  "%v: f32[64,64] = weight 1\n"
								  "%w: f32[64,64] = weight 2\n"
								  "%q = MatMul(%x, %u) \"q\"\n"
								  "%k = MatMul(%x, %v) \"k\"\n"
								  "%l = MatMul(%x, %w) \"v\"\n"
								  "%r = Relu(%q)\n"
								  "%s = Sum(%r, %k, %l)\n"
								  "%a = MatMul(%k, %v) \"q2\"\n"
								  "%b = MatMul(%k, %w) \"k2\"\n"
								  "%c = MatMul(%k, %u) \"v2\"\n"
								  "%y = Sum(%a, %b, %c, %s) }\n";

/* Nothing is shared, and what the second needs stands behind what reads the first. */
static const char apart[] = "graph g(%x: f32[64,256], %z: f32[64,256]) -> %r, %b {\n"
							"%v: f32[256,64] = weight 0\n"
							"%w: f32[256,64] = weight 1\n"
							"%a = MatMul(%x, %v) \"a\"\n"
							"%r = Relu(%a)\n"
							"%n = Neg(%z)\n"
							"%b = MatMul(%n, %w) \"b\" }\n";

/* The second needs the first. */
static const char chain[] = "graph g(%x: f32[128,64]) -> %s {\n"
							"%v: f32[64,64] = weight 0\n"
							"%w: f32[64,64] = weight 1\n"
							"%a = MatMul(%x, %v)\n"
							"%n = Neg(%a)\n"
							"%m = Add(%x, %n)\n"
							"%b = MatMul(%m, %v)\n"
							"%s = Add(%a, %b) }\n";

static const char open[] = "graph g(%x: f32[N,64]) -> %a, %b {\n"
						   "%v: f32[64,64] = weight 0\n"
						   "%w: f32[64,128] = weight 1\n"
						   "%a = MatMul(%x, %v) \"a\"\n"
						   "%b = MatMul(%x, %w) \"b\" }\n";

/* Of what one image goes through, the strided window does not go with the others. */
static const char uneven[] = "graph g(%x: f32[1,128,14,14]) -> %a, %b, %c {\n"
							 "%u: f32[32,128,3,3] = weight 0\n"
							 "%v: f32[16,128,3,3] = weight 1\n"
							 "%w: f32[16,128,3,3] = weight 2\n"
							 "%a = Conv(%x, %u) {pads=[1,1,1,1]} \"a\"\n"
							 "%b = Conv(%x, %v) {pads=[1,1,1,1], strides=[2,2]} \"b\"\n"
							 "%c = Conv(%x, %w) {pads=[1,1,1,1]} \"c\" }\n";

/* The results of a model whose inputs' dims are numbers, or 128. */
static void
evaluate(Arena *arena, const Graph *graph, const Array **outputs)
{
	const Array *inputs[4];
	for (int i = 0; i < graph->body->nparam; i++) {
		const Type *type = &graph->body->params[i]->type;
		int64_t dims[4];
		for (int d = 0; d < type->rank; d++)
			dims[d] = dim_is_const(type->dims[d], &dims[d]) ? dims[d] : 128;
		Array *array = array_new(arena, DT_F32, type->rank, dims);
		for (int64_t k = 0; k < array_count(array); k++)
			dtype_store_f64(DT_F32, array->data, k, (double)((k * 37 + i) % 23 - 11) / 8);
		inputs[i] = array;
	}
	eval_graph(arena, graph, inputs, outputs);
}

/* The derived model has the results of the model, under their names. */
static void
check_results(const Outcome *outcome)
{
	Graph *given = graph_parse(outcome->arena, "text", model);
	const Array *wanted[4], *seen[4];
	graph_infer(given);
	evaluate(outcome->arena, given, wanted);
	evaluate(outcome->arena, outcome->graph, seen);
	for (int i = 0; i < given->body->nresult; i++) {
		ck_assert_str_eq(outcome->graph->body->results[i]->name, given->body->results[i]->name);
		ck_assert_int_eq(array_count(seen[i]), array_count(wanted[i]));
		for (int64_t k = 0; k < array_count(seen[i]); k++) {
			double x = dtype_load_f64(DT_F32, wanted[i]->data, k);
			double y = dtype_load_f64(DT_F32, seen[i]->data, k);
			ck_assert_msg(fabs(x - y) <= 1e-4 * (1 + fabs(x)), "result %d: %g, not %g", i, y, x);
		}
	}
}

static int
count_nodes(const Graph *graph, const char *op)
{
	int count = 0;
	for (const Node *node = graph->body->first; node; node = node->next)
		count += strcmp(node->op->name, op) == 0;
	return count;
}

typedef struct Together {
	const char *text, *op, *depth; /* the operator of its products */
	int left;                      /* of these */
	int questions, groups;
	const char *name; /* of a group, in the log */
} Together;

static const Together together[] = {
	{separable, "Conv", "4", 0, 1, 1, "height with width"},
	{projections, "MatMul", "2", 0, 1, 2, "q2 with k2 with v2"},
	{apart, "MatMul", "2", 0, 1, 1, "a with b"},
	{open, "MatMul", "2", 0, 1, 1, "a with b"},
	{uneven, "Conv", "2", 1, 1, 1, "a with c"},
};

static const PassChoice *
merged_choice(const Outcome *outcome)
{
	for (int i = 0; i < outcome->context.choices.count; i++)
		if (strstr(outcome->context.choices.data[i].candidates, "merge_products"))
			return &outcome->context.choices.data[i];
	ck_abort_msg("nothing was merged");
	return NULL;
}

START_TEST(products_are_merged)
{
	const Together *t = &together[_i];
	model = t->text;
	depth = t->depth;
	most = "4";
	fastest = 0;
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(merged, t->questions);
	ck_assert_int_eq(count_derived(&outcome), t->groups);
	ck_assert_int_eq(count_nodes(outcome.graph, t->op), t->left);
	bool is_named = false;
	for (int i = 0; i < outcome.context.log.count; i++)
		is_named |= strcmp(outcome.context.log.data[i].nodes, t->name) == 0;
	ck_assert(is_named);
	check_results(&outcome);
	/* The same from the record alone; one that does not fit stands, too, and makes nothing. */
	const PassChoice *choice = merged_choice(&outcome);
	Outcome second = derive("0", choice->key, choice->chosen);
	ck_assert_int_eq(timed, 0);
	ck_assert_int_eq(count_derived(&second), t->groups);
	check_results(&second);
	memory = (Map){.arena = kept};
	Outcome third = derive("0", choice->key, "merge_products 1 7; converge 0");
	ck_assert_int_eq(count_derived(&third), 0);
	ck_assert_str_eq(third.context.choices.data[third.context.choices.count - 1].chosen,
	                 "merge_products 1 7; converge 0");
	arena_free(third.arena);
	arena_free(second.arena);
	arena_free(outcome.arena);
}
END_TEST

/* What a record makes of products that are not faster, or not to be merged, is what they were. */
START_TEST(slower_together_stay_apart)
{
	model = projections;
	most = "4";
	fastest_merged = 0;
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(merged, 1);
	ck_assert_int_eq(count_derived(&outcome), 0);
	ck_assert_int_eq(count_nodes(outcome.graph, "MatMul"), 6);
	most = "1";
	memory = (Map){.arena = kept};
	fastest_merged = 1;
	Outcome alone = derive("", NULL, NULL);
	ck_assert_int_eq(merged, 0);
	ck_assert_int_eq(count_derived(&alone), 0);
	arena_free(alone.arena);
	arena_free(outcome.arena);
}
END_TEST

START_TEST(products_of_products_stay_apart)
{
	model = chain;
	most = "4";
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(merged, 0);
	ck_assert_int_eq(outcome.context.choices.count, 0);
	arena_free(outcome.arena);
}
END_TEST

/* What is merged has to be faster than what the nodes alone become, and is asked anew where that is
 * another. */
START_TEST(alone_comes_first)
{
	model = wide;
	most = "4";
	depth = "4";
	Outcome fast = derive("", NULL, NULL);
	const PassChoice *alone = &fast.context.choices.data[1];
	ck_assert_str_ne(alone->chosen, "as given");
	ck_assert_int_eq(count_derived(&fast), 1); /* once, together */
	memory = (Map){.arena = kept};
	fastest = fastest_merged = 0;
	Outcome given = derive("", NULL, NULL);
	ck_assert_int_eq(merged, 1);
	ck_assert_int_eq(stages, 2);
	ck_assert_int_eq(memory.count, 3);
	Outcome other = derive("", alone->key, alone->chosen);
	ck_assert_int_eq(merged, 1);
	ck_assert_int_gt(stages, 2);
	ck_assert_int_eq(memory.count, 4);
	ck_assert_int_eq(count_derived(&other), 1);
	arena_free(other.arena);
	arena_free(given.arena);
	arena_free(fast.arena);
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
	tcase_add_loop_test(tcase, products_are_merged, 0, (int)countof(together));
	tcase_add_test(tcase, slower_together_stay_apart);
	tcase_add_test(tcase, products_of_products_stay_apart);
	tcase_add_test(tcase, alone_comes_first);
	return unit_run(tcase);
}
