/* Graphs as texts and as data: what is printed reads back, edits keep the verifier quiet,
 * mistakes are named with their line.
 */
#include "unit.h"

#include <string.h>

#include "graph/infer.h"
#include "graph/meaning.h"

static Arena *arena;

static void
set_up(void)
{
	arena = arena_new("text");
}

static void
tear_down(void)
{
	arena_free(arena);
}

static const char *
text_of(const Graph *graph)
{
	Buf buf = {.arena = arena};
	graph_print(&buf, graph);
	return buf_text(&buf);
}

typedef struct Job {
	const char *text;
	Graph *graph;
} Job;

static void
parse_text(void *arg)
{
	Job *job = arg;
	job->graph = graph_parse(arena, "t", job->text);
	graph_check(job->graph);
}

static Graph *
parse(const char *text)
{
	Job job = {text, NULL};
	Failure failure;
	if (!try_run(parse_text, &job, &failure))
		ck_abort_msg("%s", failure.text);
	return job.graph;
}

static void
refuse(const char *text, const char *message)
{
	Job job = {text, NULL};
	Failure failure;
	ck_assert_msg(!try_run(parse_text, &job, &failure), "accepted: %s", text);
	ck_assert_str_eq(failure.text, message);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Each is exactly what the printer writes. */
static const char *const TEXTS[] = {
	"graph empty() {\n"
	"}\n",

	"graph ranges(%x: f32[N,M]) -> %x {\n"
	"  symbol N in 1..64\n"
	"  symbol M in 2..32\n"
	"}\n",

	"graph g(%x: f32[N,3,8,8], %s: f32 = {0.5}, %v: f32[9] = weight 3) -> %y, %x {\n"
	"  symbol N in 1..64\n"
	"  %w: f32[4,3,1,1] = weight 0\n"
	"  %k: i64[2]       = {1, -9223372036854775808}\n"
	"  %b: bool         = {1}\n"
	"  %u: u64[1]       = {18446744073709551615}\n"
	"  %t: string[2]    = {\"a\", \"line\\n\"}\n"
	"  %f: f16[2]       = {0.5, nan}\n"
	"  %e: f32[0]       = {}\n"
	"  %c: f32[N,4,8,8] @nc16hw = Conv(%x, %w) {strides=[2,1], group=1}  \"conv1\" from \"a\", "
	"\"b\"\n"
	"  %y: f32[N,4,8,8]         = Clip(%c, _, %s)\n"
	"}\n",

	"graph \"a graph/1\"(%\"in put\": f32[*], %q: seq(f32[N]), %o: optional(seq(i64))) -> %z {\n"
	"  %z: f32[*]      = Relu(%\"in put\")\n"
	"  %a, _, %b: ?[3] = Unique(%z)\n"
	"}\n",

	"graph attrs(%x: f32[2]) -> %y {\n"
	"  %y: i32[2] = ConstantOfShape(%x) {value=i32[2]{7, -1}}\n"
	"  %o         = Optional() {type=seq(f32[N,2])}\n"
	"  %e         = Einsum(%x) {equation=\"i->i\\\"\"}\n"
	"  %n         = StringNormalizer(%x) {stopwords=[\"a\",\"b c\"], is_case_sensitive=1}\n"
	"  %l         = LeakyRelu(%x) {alpha=-0.1}\n"
	"  %s         = Swish(%x) {alpha=inf}\n"
	"}\n",

	"graph control(%c: bool, %x: f32[N], %m: i64) -> %y, %s {\n"
	"  symbol D1 = dim(%y, 0)\n"
	"  symbol E2 in -2147483648..2147483647 = %m[0]\n"
	"  symbol S3 = i64(floor(f32(N) * 0.5))\n"
	"  assume D1 == N*2  \"why\"\n"
	"  %y: f32[D1]          = If(%c)  \"if\" then_branch uses %x {\n"
	"    %t: f32[N] = Relu(%x)\n"
	"    yield %t\n"
	"  } else_branch uses %c, %x {\n"
	"    %u: f32[N] = If(%c) then_branch uses %x {\n"
	"      yield %x\n"
	"    } else_branch uses %x {\n"
	"      %v: f32[N] = Neg(%x)\n"
	"      yield %v\n"
	"    }\n"
	"    yield %u\n"
	"  }\n"
	"  %s: f32[S3], %f      = Loop(%m, _, %x) body(%i: i64, %b: bool, %p: f32[N]) uses %m {\n"
	"    %n: i64 = Add(%i, %m)\n"
	"    yield %b, %p, %n\n"
	"  }\n"
	"  %g: f32[D1], %h: f32 = fused(%y, %x)  \"group\" from \"r\", \"s\" {\n"
	"    %r: f32[D1] = Relu(%y)\n"
	"    %k: f32     = ReduceSum(%x)\n"
	"    yield %r, %k\n"
	"  }\n"
	"}\n",
};

START_TEST(texts_read_back)
{
	const char *text = TEXTS[_i];
	Graph *graph = parse(text);
	ck_assert_str_eq(text_of(graph), text);
	Graph *copy = graph_clone(arena, graph);
	graph_check(copy);
	ck_assert_str_eq(text_of(copy), text);
}
END_TEST

START_TEST(refusals)
{
	refuse("graph g(%x: f32[2]) -> %y {\n  %y = Relu(%z)\n}", "t:2: %z is not defined");
	refuse("graph g(%x: f32[2]) -> %y {\n}", "t:1: %y is not defined");
	refuse("graph g(%x: f32[2]) -> %x {\n  %x = Relu(%x)\n}", "t:2: %x is defined twice");
	refuse("graph g(%x: f32[2]) -> %x {\n  %y = Rleu(%x)\n}", "t:2: operator Rleu is not known");
	refuse("graph g(%x: f32[2]) -> %x {\n  %y = Relu %x\n}",
	       "t:2: expected '(' before inputs, saw '%x'");
	refuse("graph g(%x: g32[2]) -> %x {\n}", "t:1: no type is called g32");
	refuse("graph g(%x: f32[2]) -> %x {\n  %y = Relu(%x) {beta=1}\n}",
	       "t:2: attribute beta is not one of Relu");
	refuse("graph g(%x: f32[2]) -> %x {\n  %y = Concat(%x) {axis=0.5}\n}",
	       "t:2: expected integer, saw '0.5'");
	refuse("graph g(%x: f32[2]) -> %x {\n  %w: f32[N] = weight 0\n}",
	       "t:2: a constant needs a type with numbers for dims");
	refuse("graph g(%x: f32[2]) -> %x {\n  %w: i64[2] = {1}\n}",
	       "t:2: expected ',' between elements, saw '}'");
	refuse("graph g(%x: f32[N]) -> %x {\n  symbol N = %x[0]\n}", "t:2: symbol N is defined twice");
	refuse("graph g(%x: f32[2]) -> %x {\n  %y = Relu(%x)", "t:2: expected a value (%name), saw ''");
	refuse("graph g(%c: bool, %x: f32[2]) -> %x {\n"
	       "  %y = If(%c) then_branch { %a = Relu(%x) yield %a }\n"
	       "  else_branch { %b = Relu(%a) yield %b }\n}",
	       "t:3: %a is defined in another region");
	refuse("graph g(%c: bool, %x: f32[2]) -> %x {\n"
	       "  %y = If(%c) then_branch uses %c { yield %x }\n  else_branch { yield %x }\n}",
	       "t:2: the values that region then_branch uses are not these, in this order");
}
END_TEST

/* ---- edits ----------------------------------------------------------------------------------- */

static Node *
node_of(const Graph *graph, const char *value)
{
	return graph_find_value(graph, value)->def;
}

START_TEST(replace_and_remove)
{
	Graph *g = parse("graph g(%x: f32[2]) -> %y {\n  %a = Relu(%x)\n  %b = Identity(%a)\n"
	                 "  %y = Add(%b, %b)\n}\n");
	value_replace_uses(graph_find_value(g, "b"), graph_find_value(g, "a"));
	node_remove(node_of(g, "b"));
	graph_check(g);
	ck_assert_str_eq(text_of(g), "graph g(%x: f32[2]) -> %y {\n  %a = Relu(%x)\n"
	                             "  %y = Add(%a, %a)\n}\n");
	ck_assert_ptr_null(graph_find_value(g, "b"));
}
END_TEST

/* The outside knows outputs by their names. */
START_TEST(outputs_keep_their_names)
{
	Graph *g = parse("graph g(%x: f32[2]) -> %y {\n  %a = Relu(%x)\n  %y = Identity(%a)\n}\n");
	Value *y = graph_find_value(g, "y");
	value_replace_uses(y, graph_find_value(g, "a"));
	node_remove(y->def);
	graph_check(g);
	ck_assert_str_eq(text_of(g), "graph g(%x: f32[2]) -> %y {\n  %y = Relu(%x)\n}\n");
}
END_TEST

/* What FuseOps does: nodes move into a region, their outer uses go to the group's outputs. */
START_TEST(group)
{
	Graph *g = parse("graph g(%x: f32[N,4], %w: f32[4,3]) -> %y {\n  %c = MatMul(%x, %w)  \"m\"\n"
	                 "  %r = Relu(%c)  \"r\"\n  %y = Neg(%r)\n}\n");
	graph_infer(g);
	Node *c = node_of(g, "c"), *r = node_of(g, "r");
	Value *inputs[] = {graph_find_value(g, "x"), graph_find_value(g, "w")};
	Node *fused = node_new(g->body, c, "fused", &c->loc, 2, inputs, 1, (const char *[]){"z"});
	fused->outputs[0]->type = r->outputs[0]->type;
	value_replace_uses(r->outputs[0], fused->outputs[0]);
	Region *region = region_new(fused, "body");
	node_add_origins(fused, c);
	node_add_origins(fused, r);
	node_move(c, region, NULL);
	node_move(r, region, NULL);
	region_set_results(region, 1, r->outputs);
	region_update_captures(region);
	graph_infer(g);
	graph_check(g);
	ck_assert_str_eq(text_of(g), "graph g(%x: f32[N,4], %w: f32[4,3]) -> %y {\n"
	                             "  %z: f32[N,3] = fused(%x, %w)  \"m\" from \"m\", \"r\" {\n"
	                             "    %c: f32[N,3] = MatMul(%x, %w)  \"m\"\n"
	                             "    %r: f32[N,3] = Relu(%c)  \"r\"\n"
	                             "    yield %r\n"
	                             "  }\n"
	                             "  %y: f32[N,3] = Neg(%z)\n"
	                             "}\n");
	Program *program = node_meaning(g, fused);
	program_check(program);
	ck_assert_int_eq(program->nstage, 2);
	ck_assert_ptr_eq(program->outputs[0]->stage, program->stages[1]);
}
END_TEST

START_TEST(sorting)
{
	Graph *g = parse("graph g(%x: f32[2], %c: bool) -> %y {\n  %a = Relu(%x)\n  %b = Neg(%a)\n"
	                 "  %y = If(%c) then_branch { yield %b } else_branch { yield %a }\n}\n");
	Node *b = node_of(g, "b"), *y = node_of(g, "y");
	node_move(y, g->body, g->body->first);
	node_move(b, g->body, g->body->first);
	graph_sort(g);
	graph_check(g);
	ck_assert_ptr_eq(g->body->first, node_of(g, "a"));
	ck_assert_ptr_eq(g->body->last, y);
}
END_TEST

static void
sort_graph(void *arg)
{
	graph_sort(arg);
}

START_TEST(cycles)
{
	Graph *g = parse("graph g(%x: f32[2]) -> %y {\n  %a = Relu(%x)  \"first\"\n"
	                 "  %y = Neg(%a)  \"second\"\n}\n");
	node_set_input(node_of(g, "a"), 0, graph_find_value(g, "y"));
	Failure failure;
	ck_assert(!try_run(sort_graph, g, &failure));
	ck_assert_str_eq(failure.text,
	                 "t:2: node \"first\" (Relu): the node is part of a cycle: its results are "
	                 "needed to compute them");
}
END_TEST

/* A long chain in reverse order needs no deep stack. */
START_TEST(long_chains)
{
	enum { LENGTH = 5000 };
	Graph *g = graph_new(arena, "chain", NULL);
	const Dim *dims[] = {dim_symbol(g->ctx, "N")};
	Type type = type_tensor(DT_F32, 1, dims);
	Value *x = graph_input(g, "x", &type);
	for (int i = 0; i < LENGTH; i++) {
		Node *node = node_new(g->body, NULL, "Relu", NULL, 1, &x, 1, (const char *[]){""});
		x = node->outputs[0];
		node_move(node, g->body, g->body->first);
	}
	graph_set_outputs(g, 1, &x);
	graph_sort(g);
	graph_infer(g);
	graph_check(g);
	const char *text = text_of(g);
	ck_assert_str_eq(text_of(parse(text)), text);
}
END_TEST

/* ---- the verifier ---------------------------------------------------------------------------- */

static void
check_graph(void *arg)
{
	graph_check(arg);
}

static const char *
complaint(Graph *graph)
{
	Failure failure;
	if (try_run(check_graph, graph, &failure))
		return "";
	ck_assert_int_eq(failure.kind, FAIL_BUG);
	return arena_strdup(arena, failure.text);
}

START_TEST(verifier)
{
	const char *text = "graph g(%x: f32[2], %c: bool) -> %y {\n  %a = Relu(%x)\n  %b = Neg(%a)\n"
					   "  %y = If(%c) then_branch { yield %b } else_branch { yield %a }\n}\n";
	Graph *g = parse(text);
	node_move(node_of(g, "b"), g->body, g->body->first);
	ck_assert_str_eq(complaint(g), "t:3: (Neg): %a is used before it is defined");
	g = parse(text);
	graph_find_value(g, "a")->uses.count--;
	ck_assert_ptr_nonnull(strstr(complaint(g), "%a"));
	g = parse(text);
	node_of(g, "y")->regions[0]->captures.count = 0;
	ck_assert_str_eq(complaint(g),
	                 "t:4: (If): the captures of region then_branch are not up to date");
	g = parse(text);
	graph_find_value(g, "a")->type =
		type_tensor(DT_F32, 1, (const Dim *[]){dim_symbol(g->ctx, "Q")});
	ck_assert_str_eq(complaint(g), "t:2: (Relu): symbol Q in the type of %a has no definition");
}
END_TEST

static Value *
as_input(void *arg, Graph *part, const Value *value)
{
	const Dim *dims[] = {dim_const(part->ctx, *(const int64_t *)arg)};
	Type type = type_tensor(value->type.dtype, 1, arena_memdup(arena, dims, sizeof dims));
	return graph_input(part, value->name, &type);
}

/* Some nodes as a model: its inputs are what they read from outside, those of regions too, at other
 * sizes; weights come along where they are read. */
START_TEST(parts)
{
	int64_t size = 2;
	bool kept[] = {false, true, true, false};
	Graph *graph = graph_parse(arena, "g",
	                           "graph g(%x: f32[4], %c: bool) -> %z {\n"
	                           "  %w: f32[1] = {3}\n"
	                           "  %v: f32[1] = {5}\n"
	                           "  %a = Mul(%x, %v) \"a\"\n"
	                           "  %b = Add(%a, %w) \"b\"\n"
	                           "  %k = Cast(%b) {to=9} \"k\"\n"
	                           "  %z = Neg(%b) \"z\"\n"
	                           "}\n");
	graph_infer(graph);
	Graph *part = graph_part(arena, graph, &(GraphPart){kept, as_input, &size});
	graph_infer(part);
	graph_check(part);
	ck_assert_str_eq(text_of(part), "graph g(%a: f32[2]) -> %k {\n"
	                                "  %w: f32[1] = {3}\n"
	                                "  %b: f32[2]  = Add(%a, %w)  \"b\"\n"
	                                "  %k: bool[2] = Cast(%b) {to=9}  \"k\"\n"
	                                "}\n");
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("text");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, texts_read_back, 0, (int)countof(TEXTS));
	tcase_add_test(t, refusals);
	tcase_add_test(t, replace_and_remove);
	tcase_add_test(t, outputs_keep_their_names);
	tcase_add_test(t, group);
	tcase_add_test(t, sorting);
	tcase_add_test(t, cycles);
	tcase_add_test(t, long_chains);
	tcase_add_test(t, parts);
	tcase_add_test(t, verifier);
	return unit_run(t);
}
