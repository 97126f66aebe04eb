/* Inference on texts: what stands in the result, what is known, what is refused. */
#include "unit.h"

#include <string.h>

#include "graph/infer.h"
#include "graph/meaning.h"

static Arena *arena;

static void
set_up(void)
{
	arena = arena_new("infer");
}

static void
tear_down(void)
{
	arena_free(arena);
}

typedef struct Job {
	const char *text;
	Graph *graph;
} Job;

static void
infer_text(void *arg)
{
	Job *job = arg;
	job->graph = graph_parse(arena, "t", job->text);
	graph_infer(job->graph);
	graph_check(job->graph);
}

static Graph *
infer(const char *text)
{
	Job job = {text, NULL};
	Failure failure;
	if (!try_run(infer_text, &job, &failure))
		ck_abort_msg("%s", failure.text);
	return job.graph;
}

static void
refuse(const char *text, const char *message)
{
	Job job = {text, NULL};
	Failure failure;
	ck_assert_msg(!try_run(infer_text, &job, &failure), "accepted: %s", text);
	ck_assert_str_eq(failure.text, message);
}

static const char *
type_of(const Graph *graph, const char *name)
{
	Buf buf = {.arena = arena};
	const Value *value = graph_find_value(graph, name);
	ck_assert_ptr_nonnull(value);
	type_print(&buf, &value->type);
	return buf_text(&buf);
}

static const char *
known_of(const Graph *graph, const char *name)
{
	Buf buf = {.arena = arena};
	const Known *known = graph_find_value(graph, name)->known;
	for (int i = 0; known && i < known->count; i++) {
		buf_puts(&buf, i ? " " : "");
		if (known->value[i])
			dim_print(&buf, known->value[i]);
		else
			buf_puts(&buf, "?");
	}
	return known ? buf_text(&buf) : "nothing";
}

/* ---- known integers -------------------------------------------------------------------------- */

#define SHAPES \
	"%zero: i64 = {0} %one: i64 = {1} %two: i64 = {2} %four: i64 = {4} %heads: i64[1] = {12}\n" \
	"%minus: i64[1] = {-1} %axis: i64[1] = {0} %far: i64[1] = {9223372036854775807}\n" \
	"%s = Shape(%x)\n%n = Gather(%s, %zero)\n%m = Gather(%s, %one)\n%w = Gather(%s, %two)\n" \
	"%n1 = Unsqueeze(%n, %axis)\n%m1 = Unsqueeze(%m, %axis)\n%h = Div(%w, %heads)\n"

/* What exporters write around attention: nothing of it needs to be computed. */
START_TEST(shape_arithmetic)
{
	Graph *g = infer("graph g(%x: f32[N,S,768]) -> %y {\n" SHAPES
	                 "%c = Concat(%n1, %m1, %heads, %h) {axis=0}\n"
	                 "%y = Reshape(%x, %c)\n"
	                 "%c2 = Concat(%n1, %m1, %minus) {axis=0}\n"
	                 "%back = Reshape(%y, %c2)\n"
	                 "}\n");
	ck_assert_str_eq(known_of(g, "s"), "N S 768");
	ck_assert_str_eq(known_of(g, "n"), "N");
	ck_assert_str_eq(known_of(g, "h"), "64");
	ck_assert_str_eq(known_of(g, "c"), "N S 12 64");
	ck_assert_str_eq(type_of(g, "y"), "f32[N,S,12,64]");
	ck_assert_str_eq(type_of(g, "back"), "f32[N,S,768]");
	ck_assert_int_eq(g->assumptions.count, 0);
}
END_TEST

/* Every operator with a meaning takes part, without a rule of its own. */
START_TEST(known_values)
{
	static const struct {
		const char *line, *known;
	} cases[] = {
		{"Add(%n, %four)", "N+4"},
		{"Mul(%n, %m)", "N*S"},
		{"Sub(%n, %n)", "0"},
		{"Div(%w, %four)", "192"},
		{"Div(%n, %two)", "N/2"},
		{"Div(%minus, %two)", "0"},
		{"Mod(%n, %two)", "N%2"},
		{"Neg(%minus)", "1"},
		{"Min(%n, %n)", "N"},
		{"Max(%n, %zero)", "N"},
		{"Abs(%minus)", "1"},
		{"Equal(%n, %n)", "1"},
		{"Equal(%n, %m)", "nothing"},
		{"Less(%n, %zero)", "0"},
		{"GreaterOrEqual(%n, %zero)", "1"},
		{"Where(%yes, %n, %m)", "N"},
		{"Cast(%n) {to=6}", "N"},
		{"Cast(%w) {to=2}", "0"},
		{"Clip(%four, %zero, %two)", "2"},
		{"Concat(%n1, %minus, %m1) {axis=0}", "N -1 S"},
		{"Slice(%s, %axis, %far)", "N S 768"},
		{"Slice(%s, %minus, %far)", "768"},
		{"ReduceProd(%s) {keepdims=0}", "N*S*768"},
		{"ReduceMax(%s, %axis)", "max(768, max(N, S))"},
		{"Gather(%s, %back)", "S 768"},
		{"Reshape(%n, %axis1)", "N"},
		{"Expand(%n1, %two1)", "N N"},
		{"ConstantOfShape(%two1) {value=i64[1]{7}}", "7 7"},
		{"Range(%zero, %four, %one)", "0 1 2 3"},
		{"Tile(%n1, %two1)", "N N"},
		{"Size(%x)", "N*S*768"},
		{"Squeeze(%n1)", "N"},
		{"Trilu(%sq)", "5"},
		{"Relu(%n)", "N"},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		const char *text =
			arena_printf(arena, "%s%s\n}\n",
		                 "graph g(%x: f32[N,S,768]) -> %y {\n" SHAPES
		                 "%back: i64[2] = {1, -1} %axis1: i64[1] = {1} %two1: i64[1] = {2}\n"
		                 "%yes: bool = {1} %sq: i64[1,1] = {5}\n%y = ",
		                 cases[i].line);
		ck_assert_msg(!strcmp(known_of(infer(text), "y"), cases[i].known), "%s: %s, expected %s",
		              cases[i].line, known_of(infer(text), "y"), cases[i].known);
	}
}
END_TEST

/* Arithmetic that leaves 64 bits is no failure: the value is not known, or wraps as it would. */
START_TEST(known_overflow)
{
	Graph *g = infer("graph g(%x: f32[N]) -> %y {\n%big: i64 = {9223372036854775807}\n"
	                 "%n = Size(%x)\n%y = Mul(%n, %big)\n%z = Mul(%y, %big)\n}\n");
	ck_assert_ptr_nonnull(g);
}
END_TEST

/* A shape on its way through floats becomes a symbol with a definition; numbers stay numbers. */
START_TEST(known_floats)
{
	Graph *g = infer("graph g(%x: f32[N,H]) -> %y, %r {\n%one: i64 = {1} %axis: i64[1] = {0}\n"
	                 "%half: f32 = {0.5} %three: f32 = {3} %s = Shape(%x)\n%h = Gather(%s, %one)\n"
	                 "%f = Cast(%h) {to=1}\n%m = Mul(%f, %half)\n%fl = Floor(%m)\n"
	                 "%i = Cast(%fl) {to=7}\n%i1 = Unsqueeze(%i, %axis)\n"
	                 "%y = ConstantOfShape(%i1)\n%end = Div(%three, %half)\n"
	                 "%r = Range(%half, %end, %half)\n}\n");
	const Dim *dim = graph_find_value(g, "y")->type.dims[0];
	ck_assert_int_eq(dim->op, EX_symbol);
	Buf buf = {.arena = arena};
	graph_print(&buf, g);
	ck_assert_ptr_nonnull(strstr(buf_text(&buf), " = i64(floor(f32(H) * 0.5))\n"));
	ck_assert_str_eq(type_of(g, "r"), "f32[11]");
}
END_TEST

/* A depth may be a float: cut to an integer, or a symbol with a definition. */
START_TEST(depths_are_floats)
{
	Graph *g = infer("graph g(%x: f32[N], %i: i64[M]) -> %y, %z, %w {\n"
	                 "%v: f32[2] = {0, 1} %more: f32 = {3.7} %half: f32 = {0.5}\n"
	                 "%s = Shape(%x)\n%f = Cast(%s) {to=11}\n%g = Cast(%s) {to=1}\n"
	                 "%m = Mul(%g, %half)\n%y = OneHot(%i, %more, %v)\n"
	                 "%z = OneHot(%i, %f, %v)\n%w = OneHot(%i, %m, %v)\n}\n");
	ck_assert_str_eq(type_of(g, "y"), "f32[M,3]");
	ck_assert_str_eq(type_of(g, "z"), "f32[M,N]");
	Buf buf = {.arena = arena};
	graph_print(&buf, g);
	ck_assert_ptr_nonnull(strstr(buf_text(&buf), " = i64(f32(N) * 0.5)\n"));
}
END_TEST

/* ---- symbols --------------------------------------------------------------------------------- */

START_TEST(equal_symbols_become_one)
{
	Graph *g = infer("graph g(%x: f32[N,4], %y: f32[M,4], %z: f32[3,K]) -> %a, %b {\n"
	                 "%a = Add(%x, %y)\n%t = Transpose(%z)\n%b = MatMul(%a, %t)\n}\n");
	ck_assert_str_eq(type_of(g, "y"), "f32[N,4]");
	ck_assert_str_eq(type_of(g, "z"), "f32[3,4]");
	ck_assert_str_eq(type_of(g, "b"), "f32[N,3]");
	ck_assert_int_eq(g->assumptions.count, 0);
	ck_assert_int_eq(g->symbols.count, 1);
}
END_TEST

START_TEST(other_equalities_are_assumed)
{
	Graph *g = infer("graph g(%x: f32[N,6], %m: f32[M,2,6]) -> %y {\n"
	                 "%s: i64[3] = {-1, 2, 6}\n%r = Reshape(%x, %s)\n%y = Add(%r, %m)\n}\n");
	ck_assert_str_eq(type_of(g, "r"), "f32[N/2,2,6]");
	ck_assert_int_eq(g->assumptions.count, 2);
	ck_assert_str_eq(g->assumptions.data[0].what, "elements before and after");
}
END_TEST

START_TEST(dims_from_data)
{
	Graph *g = infer("graph g(%x: f32[N,4], %k: i64[1], %s: i64[2]) -> %v, %z, %r, %e {\n"
	                 "%v, %i = TopK(%x, %k)\n%z = NonZero(%x)\n%r = Reshape(%x, %s)\n"
	                 "%e = ConstantOfShape(%s)\n%u = Unique(%x)\n}\n");
	ck_assert_ptr_eq(graph_find_value(g, "v")->type.dims[1],
	                 graph_find_value(g, "i")->type.dims[1]);
	Buf first = {.arena = arena}, second = {.arena = arena};
	graph_print(&first, g);
	graph_infer(g); /* finds the same symbols again */
	graph_print(&second, g);
	ck_assert_str_eq(buf_text(&first), buf_text(&second));
}
END_TEST

START_TEST(slices)
{
	static const struct {
		const char *start, *end, *step, *type;
	} cases[] = {
		{"0", "-1", "1", "f32[max(0, H-1),8]"},
		{"1", "9223372036854775807", "1", "f32[max(0, H-1),8]"},
		{"-1", "-9223372036854775807", "-1", "f32[H,8]"},
		{"-2", "9223372036854775807", "1", "f32[H-max(0, H-2),8]"},
		{"0", "9223372036854775807", "2", "f32[(H+1)/2,8]"},
	};
	for (size_t i = 0; i < countof(cases); i++) {
		const char *text = arena_printf(
			arena,
			"graph g(%%x: f32[H,8]) -> %%y {\n%%a: i64[1] = {0} %%s: i64[1] = {%s} "
			"%%e: i64[1] = {%s} %%t: i64[1] = {%s}\n%%y = Slice(%%x, %%s, %%e, %%a, %%t)\n}\n",
			cases[i].start, cases[i].end, cases[i].step);
		ck_assert_str_eq(type_of(infer(text), "y"), cases[i].type);
	}
}
END_TEST

/* ---- regions --------------------------------------------------------------------------------- */

START_TEST(branches_merge)
{
	Graph *g = infer("graph g(%c: bool, %x: f32[N,4], %y: f32[M,4]) -> %a, %b {\n"
	                 "%a, %b = If(%c) then_branch { %t = Relu(%x) yield %t, %x }\n"
	                 "else_branch { %e = Neg(%x) yield %e, %y }\n}\n");
	ck_assert_str_eq(type_of(g, "a"), "f32[N,4]");
	const Value *b = graph_find_value(g, "b");
	ck_assert(dim_is(b->type.dims[1], 4));
	ck_assert_ptr_ne(b->type.dims[0], graph_find_value(g, "x")->type.dims[0]);
	ck_assert_ptr_ne(b->type.dims[0], graph_find_value(g, "y")->type.dims[0]);
}
END_TEST

/* A condition that is known decides: no symbol, and the numbers of the branch are known outside. */
START_TEST(branch_is_decided)
{
	Graph *g = infer("graph g(%x: f32[2,3], %z: f32[2,3,4]) -> %a, %b {\n"
	                 "%two: i64 = {2} %s = Shape(%x) %r = Size(%s) %c = Equal(%r, %two)\n"
	                 "%t, %a = If(%c) then_branch { %u = Shape(%x) yield %u, %x }\n"
	                 "else_branch { %v = Shape(%z) yield %v, %z }\n"
	                 "%b = ConstantOfShape(%t)\n}\n");
	ck_assert_str_eq(type_of(g, "a"), "f32[2,3]");
	ck_assert_str_eq(type_of(g, "b"), "f32[2,3]");
}
END_TEST

START_TEST(loop_states_grow)
{
	Graph *g = infer("graph g(%x: f32[N,4]) -> %s, %a {\n%m: i64 = {5} %yes: bool = {1}\n"
	                 "%s, %f, %a = Loop(%m, %yes, %x, %x) body(%i, %c, %g, %h) {\n"
	                 "%j = Concat(%g, %x) {axis=0}\n%k = Neg(%h)\nyield %c, %j, %k, %h }\n}\n");
	const Dim *inside = graph_find_value(g, "g")->type.dims[0];
	const Dim *outside = graph_find_value(g, "s")->type.dims[0];
	ck_assert_ptr_ne(inside, outside);
	ck_assert_str_eq(type_of(g, "f"), "f32[N,4]");
	ck_assert_str_eq(type_of(g, "a"), "f32[5,N,4]");
}
END_TEST

START_TEST(scans)
{
	Graph *g = infer("graph g(%s: f32[4], %x: f32[N,T,4]) -> %e, %y {\n"
	                 "%e, %y = Scan(%s, %x) {num_scan_inputs=1, scan_input_axes=[1], "
	                 "scan_output_axes=[-1]} body(%p, %r) {\n"
	                 "%q = Add(%p, %p)\nyield %q, %r }\n}\n");
	ck_assert_str_eq(type_of(g, "e"), "f32[4]");
	ck_assert_str_eq(type_of(g, "r"), "f32[N,4]");
	ck_assert_str_eq(type_of(g, "y"), "f32[N,4,T]");
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */

START_TEST(refusals)
{
	refuse("graph g(%x: f32[2], %y: f32[3]) -> %z {\n%z = Add(%x, %y) \"sum\"\n}",
	       "t:2: node \"sum\" (Add): dim 0 of the inputs: 2 and 3 differ "
	       "(inputs x: f32[2], y: f32[3])");
	refuse("graph g(%x: f32[2], %y: i64[2]) -> %z {\n%z = Add(%x, %y)\n}",
	       "t:2: (Add): input b is i64, expected f32 as the inputs before it");
	refuse("graph g(%x: i64[2]) -> %z {\n%z = Sin(%x)\n}",
	       "t:2: (Sin): input x is i64, which the operator does not take");
	refuse("graph g(%x: f32[2]) -> %z {\n%z = Add(%x)\n}", "t:2: (Add): input b is missing");
	refuse("graph g(%x: f32[2]) -> %z {\n%z = Relu(%x, %x)\n}",
	       "t:2: (Relu): 2 inputs given, expected at most 1");
	refuse("graph g(%x: f32[2]) -> %z {\n%z = Concat(%x)\n}",
	       "t:2: (Concat): attribute axis is missing");
	refuse("graph g(%x: f32[N,2]) -> %z {\n%z = Concat(%x) {axis=2}\n}",
	       "t:2: (Concat): axis 2 is outside -2..1");
	refuse("graph g(%x: f32[2,3]) -> %z {\n%s: i64[2] = {-1, -1}\n%z = Reshape(%x, %s)\n}",
	       "t:3: (Reshape): elements 0 and 1 of the shape are both -1");
	refuse("graph g(%x: f32[2,3]) -> %z {\n%s: i64[2] = {4, 2}\n%z = Reshape(%x, %s)\n}",
	       "t:3: (Reshape): elements before and after: 6 and 8 differ "
	       "(inputs x: f32[2,3], s: i64[2])");
	refuse("graph g(%x: f32[2,3], %a: i64[1]) -> %z {\n%z = ReduceSum(%x, %a)\n}",
	       "t:2: (ReduceSum): input axes is only known at run time; --fix a=NUMBERS fixes that");
	refuse(
		"graph g(%x: f32[2,3]) -> %z {\n%z = Einsum(%x) {equation=\"ij->ijk\"}\n}",
		"t:2: (Einsum): equation \"ij->ijk\": a letter of the result is unknown or stands twice");
	refuse("graph g(%x: i64[2], %n: i4[3]) -> %y {\n"
	       "%y = Scan(%x) {num_scan_inputs=1} body(%p) uses %n { yield %n }\n}",
	       "t:2: (Scan): an iteration takes or gives elements of i4, which share bytes: "
	       "cast to i8");
	refuse("graph g(%n: u2[2,4]) -> %y {\n"
	       "%y = Scan(%n) {num_scan_inputs=1} body(%p) { %c = Cast(%p) {to=1} yield %c }\n}",
	       "t:2: (Scan): an iteration takes or gives elements of u2, which share bytes: "
	       "cast to i8");
}
END_TEST

/* A float tensor of unknown rank goes through without a meaning. */
START_TEST(unknown_rank)
{
	Graph *g = infer("graph g(%s: seq(f32[*]), %i: i64) -> %y {\n"
	                 "%x = SequenceAt(%s, %i)\n%y = Relu(%x)\n}\n");
	ck_assert_str_eq(type_of(g, "y"), "f32[*]");
	ck_assert(!node_has_meaning(graph_find_value(g, "y")->def));
}
END_TEST

/* A node that is only tried leaves no equality behind, neither to be checked nor to prove with. */
START_TEST(trials_leave_nothing)
{
	Graph *g = graph_parse(arena, "t",
	                       "graph g(%a: f32[2,64], %b: f32[N,7]) -> %y {\n"
	                       "  %y = Relu(%b)\n}\n");
	graph_infer(g);
	int facts = dim_assumed(g->ctx), assumptions = g->assumptions.count;
	const char *name = "";
	Node *first = g->body->first;
	Node *node = node_new(g->body, first, "MatMul", &first->loc, 2, g->body->params, 1, &name);
	ck_assert(!node_try_infer(node));
	ck_assert_int_eq(dim_assumed(g->ctx), facts);
	ck_assert_int_eq(g->assumptions.count, assumptions);
	node_infer(g, node); /* taken in earnest, it assumes that N is 64 */
	ck_assert_int_gt(g->assumptions.count, assumptions);
}
END_TEST

/* What must be equal becomes one at once, along a chain of three and a number as well; but what
 * meets a 1 in a broadcast need not be 1. */
START_TEST(chains_of_symbols)
{
	Graph *g = infer("graph g(%x: f32[A,B], %y: f32[A,C], %z: f32[A,D], %w: f32[1,4]) -> %r {\n"
	                 "%p = Add(%y, %z)\n%q = Add(%x, %p)\n%r = Mul(%q, %w)\n}\n");
	ck_assert_str_eq(type_of(g, "x"), "f32[A,4]");
	ck_assert_str_eq(type_of(g, "z"), "f32[A,4]");
	ck_assert_int_eq(g->wishes.count, 3);
	g = infer("graph g(%x: f32[A,B], %y: f32[A,C]) -> %s, %r {\n"
	          "%k: i64[1] = {1}\n%s = Squeeze(%y, %k)\n%r = Add(%x, %y)\n}\n");
	ck_assert_str_eq(type_of(g, "x"), "f32[A,B]");
	ck_assert_str_eq(type_of(g, "y"), "f32[A,1]");
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("infer");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, chains_of_symbols);
	tcase_add_test(t, shape_arithmetic);
	tcase_add_test(t, known_values);
	tcase_add_test(t, known_overflow);
	tcase_add_test(t, known_floats);
	tcase_add_test(t, depths_are_floats);
	tcase_add_test(t, equal_symbols_become_one);
	tcase_add_test(t, other_equalities_are_assumed);
	tcase_add_test(t, dims_from_data);
	tcase_add_test(t, slices);
	tcase_add_test(t, branches_merge);
	tcase_add_test(t, branch_is_decided);
	tcase_add_test(t, loop_states_grow);
	tcase_add_test(t, scans);
	tcase_add_test(t, refusals);
	tcase_add_test(t, unknown_rank);
	tcase_add_test(t, trials_leave_nothing);
	return unit_run(t);
}
