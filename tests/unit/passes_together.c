/* DeriveExpressions asks about several nodes at once: products beside each other, and chains of
 * them. What comes out has the results of the model. */
#include "derive_rig.h"

#include "expr/index/text.h"
#include "passes/derive_groups.h"
#include "passes/derived_nodes.h"

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
		Array *array = array_new(arena, type->dtype, type->rank, dims);
		for (int64_t k = 0; k < array_count(array); k++)
			dtype_store_f64(array->type, array->data, k, (double)((k * 37 + i) % 23 - 11) / 8);
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
			double x = dtype_load_f64(wanted[i]->type, wanted[i]->data, k);
			double y = dtype_load_f64(seen[i]->type, seen[i]->data, k);
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

/* Linear attention: keys with values first. */
static const char attention[] =
	"graph g(%q: f32[2,128,16], %k: f32[2,16,128], %v: f32[2,128,16]) -> %y {\n"
	"%s: f32[1] = {4.0}\n"
	"%a = MatMul(%q, %k) \"qk\"\n"
	"%b = Div(%a, %s) \"scale\"\n"
	"%y = MatMul(%b, %v) \"qkv\" }\n";

/* Linear attention of a type that no call of the library has. */
static const char doubles[] = "graph g(%q: f64[128,16], %k: f64[16,512], %v: f64[512,16]) -> %y {\n"
							  "%a = MatMul(%q, %k) \"qk\"\n"
							  "%y = MatMul(%a, %v) \"qkv\" }\n";

/* Wide in the middle, where what is added is of no use, either. */
static const char dense[] = "graph g(%x: f32[128,64]) -> %y {\n"
							"%u: f32[64,512] = weight 0\n"
							"%b: f32[512] = weight 1\n"
							"%v: f32[512,512] = weight 2\n"
							"%w: f32[512,32] = weight 3\n"
							"%r = MatMul(%x, %u) \"one\"\n"
							"%s = Add(%r, %b) \"bias\"\n"
							"%t = MatMul(%s, %v) \"two\"\n"
							"%z = MatMul(%t, %w) \"three\"\n"
							"%y = Relu(%z) }\n";

/* At the border the bias of the first is not everywhere in the second's window. */
static const char squeeze[] = "graph g(%x: f32[1,16,28,28]) -> %y {\n"
							  "%v: f32[96,16,1,1] = weight 0\n"
							  "%b: f32[96] = weight 1\n"
							  "%w: f32[16,96,3,3] = weight 2\n"
							  "%c: f32[16] = weight 3\n"
							  "%t = Conv(%x, %v, %b) \"wide\"\n"
							  "%y = Conv(%t, %w, %c) {pads=[1,1,1,1]} \"back\" }\n";

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

typedef struct Together {
	const char *text, *op, *depth; /* the operator of its products */
	int left;                      /* of these */
	int questions, groups;
	const char *name; /* of a group, in the log */
	const char *law;  /* that joins them */
} Together;

static const Together together[] = {
	{separable, "Conv", "4", 0, 1, 1, "height with width", "merge_products"},
	{projections, "MatMul", "2", 0, 1, 2, "q2 with k2 with v2", "merge_products"},
	{apart, "MatMul", "2", 0, 1, 1, "a with b", "merge_products"},
	{open, "MatMul", "2", 0, 1, 1, "a with b", "merge_products"},
	{uneven, "Conv", "2", 1, 1, 1, "a with c", "merge_products"},
	{attention, "MatMul", "2", 0, 1, 1, "qk with scale with qkv", "associate"},
	{doubles, "MatMul", "2", 0, 1, 1, "qk with qkv", "associate"},
	{dense, "MatMul", "3", 0, 1, 1, "one with bias with two with three", "associate"},
	{squeeze, "Conv", "2", 0, 1, 1, "wide with back", "associate"},
};

static const PassChoice *
joined_choice(const Outcome *outcome, const char *law)
{
	for (int i = 0; i < outcome->context.choices.count; i++)
		if (strstr(outcome->context.choices.data[i].candidates, law))
			return &outcome->context.choices.data[i];
	ck_abort_msg("nothing was joined");
	return NULL;
}

START_TEST(products_are_joined)
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
	const PassChoice *choice = joined_choice(&outcome, t->law);
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

/* Linear attention over texts of any length. */
static const char open_attention[] =
	"graph g(%q: f32[2,N,16], %k: f32[2,16,N], %v: f32[2,N,16]) -> %y {\n"
	"%a = MatMul(%q, %k) \"qk\"\n"
	"%y = MatMul(%a, %v) \"qkv\" }\n";

static const int64_t lengths[] = {128, 160, 257, 512, 777, 1000};

/* What a step is called depends on sizes; that there is one does not. */
START_TEST(any_length_finds_the_other_order)
{
	model = open_attention;
	symbol = lengths[_i];
	depth = "1";
	most = "4";
	fastest = 0;
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(count_derived(&outcome), 1);
	ck_assert_ptr_nonnull(strstr(joined_choice(&outcome, "associate")->chosen, "associate"));
	check_results(&outcome);
	arena_free(outcome.arena);
}
END_TEST

/* Any number of images, of operators whose forms join these with positions; sides of which the half
 * alone does not tell the whole. */
static const char *const open_images[] = {
	"graph g(%x: f32[N,8,10,10]) -> %y {\n"
	"%w: f32[8,1,9,9] = weight 0\n"
	"%y = ConvTranspose(%x, %w) {strides=[4,4], pads=[4,4,4,4], output_padding=[3,3]} \"up\" }\n",
	"graph g(%x: f32[N,16,12,12]) -> %y {\n"
	"%w: f32[16,16,3,3] = weight 0\n"
	"%y = Conv(%x, %w) {pads=[2,2,2,2], dilations=[2,2]} \"dilated\" }\n",
	"graph g(%x: f32[1,8,N,N]) -> %y {\n"
	"%w: f32[8,8,3,3] = weight 0\n"
	"%y = Conv(%x, %w) {pads=[2,2,2,2], dilations=[2,2]} \"sides\" }\n",
};

/* What is found for some sizes becomes nodes for any. */
START_TEST(forms_are_nodes_with_symbols)
{
	model = open_images[_i];
	symbol = 64;
	depth = "3";
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(count_derived(&outcome), 1);
	check_results(&outcome);
	arena_free(outcome.arena);
}
END_TEST

/* What was measured at one length is no answer for another. */
START_TEST(other_sizes_are_another_question)
{
	model = open_attention;
	depth = "1";
	most = "4";
	symbol = 200;
	Outcome first = derive("", NULL, NULL);
	ck_assert_int_gt(timed, 0);
	Outcome again = derive("", NULL, NULL);
	ck_assert_int_eq(timed, 0);
	symbol = 300;
	Outcome other = derive("", NULL, NULL);
	ck_assert_int_gt(timed, 0);
	arena_free(other.arena);
	arena_free(again.arena);
	arena_free(first.arena);
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

/* What needs all of the first product as it is, is no chain; nor is what another order makes more
 * of. */
static const char *const cut[] = {
	"%t = MatMul(%x, %v)\n %r = Relu(%t)\n %y = MatMul(%r, %w)",
	"%t = MatMul(%x, %v)\n %u = MatMul(%t, %w)\n %s = ReduceSum(%t, %z)\n %y = Add(%s, %u)",
	"%t = MatMul(%x, %v)\n %s = Mul(%t, %t)\n %y = MatMul(%s, %w)",
	"%t = MatMul(%x, %w)\n %y = MatMul(%t, %v)",
};

START_TEST(other_ways_are_no_chains)
{
	char text[512];
	snprintf(
		text, sizeof text,
		"graph g(%%x: f32[%s]) -> %%y {\n%%v: f32[64,512] = weight 0\n%%w: f32[512,64] = weight "
		"1\n%%z: i64[1] = {1}\n %s }\n",
		_i == 3 ? "64,512" : "64,64", cut[_i]);
	model = text;
	most = "4";
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(merged, 0);
	ck_assert_int_eq(outcome.context.choices.count, 0);
	arena_free(outcome.arena);
}
END_TEST

/* Of weights an order may take more than a compiler should: a record that asks for it is left. */
START_TEST(weights_are_multiplied_within_limits)
{
	model = "graph g(%x: f32[64,16]) -> %y {\n"
			"%u: f32[16,2048] = weight 0\n"
			"%v: f32[2048,1024] = weight 1\n"
			"%w: f32[1024,2048] = weight 2\n"
			"%r = MatMul(%x, %u)\n"
			"%s = MatMul(%r, %v)\n"
			"%y = MatMul(%s, %w) }\n";
	static const char *const ways[] = {"associate 2 1 1; converge 0",
	                                   "associate 1 1 0; converge 0"};
	most = "4";
	fastest_merged = 0;
	Outcome given = derive("", NULL, NULL);
	ck_assert_int_eq(given.context.choices.count, 1);
	const char *key = given.context.choices.data[0].key;
	for (int i = 0; i < 2; i++) {
		Outcome outcome = derive("0", key, ways[i]);
		ck_assert_int_eq(count_derived(&outcome), i);
		arena_free(outcome.arena);
	}
	arena_free(given.arena);
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

/* What a cache says of several nodes at once, and does not hold. */
static const char *const hostile[] = {
	"merge_products\nmeasured\n",
	"merge_products 0 7\nmeasured\n",
	"merge_products 0 -2\nmeasured\n",
	"merge_products 9 0\nmeasured\n",
	"merge_products 0 0; merge_products 0 0; merge_products 0 0; converge 0\nmeasured\n",
	"associate\nmeasured\n",
	"associate 1\nmeasured\n",
	"associate 0 0 0\nmeasured\n",
	"associate 1 7 0\nmeasured\n",
	"associate 1 0 7\nmeasured\n",
	"associate 1 -1 -1\nmeasured\n",
	"associate -9223372036854775808 0 0\nmeasured\n",
	"associate 1 0 0; associate 1 0 0; associate 1 0 0; converge 5\nmeasured\n",
	"converge -1\nmeasured\n",
	"position 0 0 0 99\nmeasured\n",
};

START_TEST(hostile_answers_join_nothing)
{
	static const char *const models[] = {projections, attention};
	int count = (int)countof(hostile);
	model = models[_i / count];
	most = "4";
	answer = hostile[_i % count];
	Outcome outcome = derive("0", NULL, NULL);
	const PassChoice *choices = outcome.context.choices.data;
	for (int i = 0; i < outcome.context.choices.count; i++)
		ck_assert_msg(strcmp(choices[i].chosen, "as given") == 0, "'%s' is believed", answer);
	ck_assert_int_gt(outcome.context.choices.count, 0);
	ck_assert_int_eq(count_derived(&outcome), 0);
	check_results(&outcome);
	arena_free(outcome.arena);
}
END_TEST

typedef struct Spoiled {
	const char *text;
	bool is_node;     /* what infer says of the first node's result is wrong, or: */
	const char *rule; /* the input of the first that asks lost its extents; what is refused then */
	int askers, groups, questions;
} Spoiled;

static const Spoiled spoiled[] = {
	{projections, true, "ask", 5, 2, 2},
	{projections, false, "ask", 6, 2, 1},
	{attention, false, "chain", 2, 0, 0},
};

/* An error in setting up a question or a group leaves that one out. */
START_TEST(an_error_leaves_one_question_out)
{
	const Spoiled *s = &spoiled[_i];
	Arena *arena = arena_new("test");
	Target target = {.device = device_find("cpu:x86-64-v4")};
	PassContext context = {.arena = arena, .target = &target, .config = {.arena = arena}};
	Graph *graph = graph_parse(arena, "text", s->text);
	graph_infer(graph);
	if (s->is_node)
		graph->body->first->outputs[0]->type.rank--;
	Asked asked = derive_ask(&context, graph);
	if (!s->is_node)
		asked.askers.data[0].program->inputs[0]->hi = NEW_N(arena, const Dim *, 4);
	derive_ask_groups(&context, graph, &asked);
	ck_assert(is_refused(&context, s->rule, s->is_node ? "infer and meaning" : "dims[i]"));
	int questions = 0;
	for (int g = 0; g < asked.groups.count; g++)
		questions += asked.groups.data[g]->question != NULL;
	ck_assert_int_eq(asked.askers.count, s->askers);
	ck_assert_int_eq(asked.groups.count, s->groups);
	ck_assert_int_eq(questions, s->questions);
	arena_free(arena);
}
END_TEST

/* What follows from weights alone is known when compiling, but where its size is not. */
static const char *const of_weights[] = {
	"expr p(x: f32[N,8], w: f32[8]) -> y {\n"
	"t[n:N, k:8]: f32 = w[k] + w[k]\n y[n:N, k:8]: f32 = x[n,k] * t[n,k] }",
	"expr p(x: f32[N,8], w: f32[8]) -> y {\n"
	"t[k:8]: f32 = w[k] + w[k]\n y[n:N, k:8]: f32 = x[n,k] * t[k] }",
};

START_TEST(weights_of_an_open_size_are_computed_later)
{
	model =
		"graph g(%x: f32[N,8]) -> %y { %w: f32[8] = weight 0 %t = Add(%w, %w) %y = Mul(%x, %t) }";
	Outcome outcome = {.arena = arena_new("test")};
	Graph *graph = graph_parse(outcome.arena, "text", model);
	graph_infer(graph);
	const Program *program = program_parse(graph->ctx, "test.e", of_weights[_i]);
	static const bool constant[2] = {false, true};
	Node *first = graph->body->first, *last = first->next;
	Place place = {graph->body, first, &last->loc, 1, &last, false, NULL};
	Value *inputs[2] = {last->inputs[0], first->inputs[0]}, *results[1];
	const char *why;
	ck_assert(derived_nodes(graph, &place, program, inputs, constant, results, &why));
	ck_assert_int_eq(count_nodes(graph, "Expression"), _i ? 1 : 2);
	value_replace_uses(last->outputs[0], results[0]);
	outcome.graph = graph;
	check_results(&outcome);
	arena_free(outcome.arena);
}
END_TEST

/* x * u * w, all of u and of w the same. */
static const char *
product_of(Arena *arena, const char *u, const char *w)
{
	enum { ROWS = 64, MIDDLE = 512 };
	Buf text = {.arena = arena};
	const char *const numbers[] = {u, w};
	buf_puts(&text, "graph g(%x: f32[128,64]) -> %y {\n");
	for (int k = 0; k < 2; k++) {
		buf_printf(&text, "%%w%d: f32[%d,%d] = {", k, k ? MIDDLE : ROWS, k ? ROWS : MIDDLE);
		for (int i = 0; i < ROWS * MIDDLE; i++)
			buf_printf(&text, "%s%s", i ? ", " : "", numbers[k]);
		buf_puts(&text, "}\n");
	}
	buf_puts(&text, "%a = MatMul(%x, %w0) \"one\"\n%y = MatMul(%a, %w1) \"two\" }\n");
	return buf_text(&text);
}

static const struct {
	const char *u, *w;
	int derived;
} weights[] = {{"0.5", "2", 1}, {"1e25", "1e25", 0}, {"1e-20", "1e-22", 0}, {"1e-20", "1e20", 1}};

/* Their products are numbers, or are not made. */
START_TEST(weights_keep_to_their_range)
{
	Arena *arena = arena_new("texts");
	model = product_of(arena, weights[_i].u, weights[_i].w);
	depth = "2";
	most = "4";
	fastest = 0;
	Outcome outcome = derive("", NULL, NULL);
	ck_assert_int_eq(count_derived(&outcome), weights[_i].derived);
	arena_free(outcome.arena);
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("together");
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, any_length_finds_the_other_order, 0, (int)countof(lengths));
	tcase_add_test(tcase, other_sizes_are_another_question);
	tcase_add_loop_test(tcase, forms_are_nodes_with_symbols, 0, (int)countof(open_images));
	tcase_add_loop_test(tcase, products_are_joined, 0, (int)countof(together));
	tcase_add_test(tcase, weights_are_multiplied_within_limits);
	tcase_add_loop_test(tcase, weights_keep_to_their_range, 0, (int)countof(weights));
	tcase_add_test(tcase, slower_together_stay_apart);
	tcase_add_test(tcase, products_of_products_stay_apart);
	tcase_add_loop_test(tcase, other_ways_are_no_chains, 0, (int)countof(cut));
	tcase_add_test(tcase, alone_comes_first);
	tcase_add_loop_test(tcase, weights_of_an_open_size_are_computed_later, 0, 2);
	tcase_add_loop_test(tcase, an_error_leaves_one_question_out, 0, (int)countof(spoiled));
	tcase_add_loop_test(tcase, hostile_answers_join_nothing, 0, 2 * (int)countof(hostile));
	return unit_run(tcase);
}
