/* Expression nodes: made from programs, fitted to dims, refused where their texts are wrong. */
#include "unit.h"

#include <string.h>

#include "expr/interp/interp.h"
#include "expr/stage/build.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "random_number.h"

static Arena *arena;

static void
set_up(void)
{
	arena = arena_new("expression");
}

static void
tear_down(void)
{
	arena_free(arena);
}

static Program *
program_of(const char *text)
{
	return program_parse(expr_ctx_new(arena), "test", text);
}

/* A graph with the program as its only node, on inputs whose types are texts. */
static Node *
try_node(const char *text, int ninput, const char *const *types, const char **why)
{
	Buf head = {.arena = arena};
	buf_puts(&head, "graph g(");
	for (int i = 0; i < ninput; i++)
		buf_printf(&head, "%s%%x%d: %s", i ? ", " : "", i, types[i]);
	buf_puts(&head, ") -> %x0 { }");
	Graph *graph = graph_parse(arena, "t", buf_text(&head));
	Loc loc = {.node = "e"};
	Node *node =
		node_new_expression(graph->body, NULL, &loc, program_of(text), graph->body->params, why);
	if (node) {
		graph_set_outputs(graph, 1, node->outputs);
		graph_infer(graph);
		graph_check(graph);
	}
	return node;
}

static const char *
type_of(const Value *value)
{
	Buf buf = {.arena = arena};
	type_print(&buf, &value->type);
	return buf_text(&buf);
}

/* ---- dims ------------------------------------------------------------------------------------ */

static const char PAIRS[] = "expr pairs(A: f32[N,2*M+1], B: f32[N+M]) -> Y {\n"
							"  Y[n:N, m:M]: f32 = A[n, 2*m+1] * B[n+m]\n"
							"}\n";

START_TEST(symbols_are_read_off_the_dims_of_the_inputs)
{
	static const struct {
		const char *a, *b, *y;
	} ROWS[] = {
		{"f32[3,9]", "f32[7]", "f32[3,4]"},
		{"f32[M,5]", "f32[M+2]", "f32[M,2]"},
		{"f32[M,2*K+3]", "f32[M+K+1]", "f32[M,K+1]"},
		{"f32[2*M,2*N*M+1]", "f32[N*M+2*M]", "f32[M*2,M*N]"},
	};
	for (size_t i = 0; i < countof(ROWS); i++) {
		const char *why = NULL;
		Node *node =
			try_node(PAIRS, 4, (const char *[]){ROWS[i].a, ROWS[i].b, "f32[M,K]", "f32[N]"}, &why);
		ck_assert_ptr_nonnull(node);
		ck_assert_str_eq(type_of(node->outputs[0]), ROWS[i].y);
		program_check(node_meaning(node->parent->graph, node));
	}
}
END_TEST

START_TEST(it_computes_what_the_program_does)
{
	const char *why = NULL;
	Node *node = try_node(PAIRS, 2, (const char *[]){"f32[2,5]", "f32[4]"}, &why);
	Array *a = array_new(arena, DT_F32, 2, (int64_t[]){2, 5});
	Array *b = array_new(arena, DT_F32, 1, (int64_t[]){4});
	for (int i = 0; i < 10; i++)
		((float *)a->data)[i] = (float)i;
	for (int i = 0; i < 4; i++)
		((float *)b->data)[i] = (float)(1 << i);
	Array *y = NULL;
	program_eval(arena, node_meaning(node->parent->graph, node), NULL, (const Array *const[]){a, b},
	             &y);
	ck_assert_mem_eq(y->data, ((float[]){1, 6, 12, 32}), 4 * sizeof(float));
}
END_TEST

static Graph *
graph_of(const char *text)
{
	Graph *graph = graph_parse(arena, "t", text);
	graph_infer(graph);
	graph_check(graph);
	return graph;
}

static const char *
meaning_of(const Graph *graph)
{
	Buf buf = {.arena = arena};
	const Program *program = node_meaning(graph, graph->body->last);
	program_check(program);
	program_print(&buf, program);
	return buf_text(&buf);
}

/* The same value twice, and a clone, whose ctx is another. */
START_TEST(clones_mean_the_same)
{
	Graph *graph =
		graph_of("graph g(%x: f32[N,N]) -> %y {\n"
	             "  %y = Expression(%x, %x) {expr=\"expr f(A: f32[P,Q], B: f32[Q,P]) -> Y"
	             " { Y[p:P, q:Q]: f32 = A[p, q] - B[q, p] }\"}\n"
	             "}\n");
	const char *meaning = meaning_of(graph);
	ck_assert_str_eq(meaning, "expr Expression(x0: f32[N,N]) -> Y {\n"
	                          "  Y[p:N, q:N]: f32 = x0[p, q] - x0[q, p]\n"
	                          "}\n");
	Graph *clone = graph_clone(arena, graph);
	graph_infer(clone);
	ck_assert_str_eq(meaning_of(clone), meaning);
}
END_TEST

/* Where the dims of an input are quotients, these are what the text has symbols for. */
START_TEST(quotients_of_dims_become_symbols)
{
	static const char text[] = "expr f(A: f32[N,(H+1)/2], B: f32[(H+1)/2-1]) -> Y {\n"
							   "  Y[n:N, h:(H+1)/2-1]: f32 = A[n, h+1] * B[h]\n"
							   "}\n";
	const char *why = NULL, *types[] = {"f32[M,(L+1)/2]", "f32[(L+1)/2-1]", "f32[L]"};
	Node *node = try_node(text, 3, types, &why);
	ck_assert_ptr_nonnull(node);
	ck_assert_str_eq(attr_string(node, "expr"), "expr f(A: f32[N,D2], B: f32[D2-1]) -> Y {\n"
	                                            "  Y[n:N, h:D2-1]: f32 = A[n, h+1] * B[h]\n"
	                                            "}\n");
	ck_assert_str_eq(type_of(node->outputs[0]), "f32[M,(L+1)/2-1]");
}
END_TEST

/* A symbol of the text is none of the graph's, whatever it is called, and what the text says of it
 * must hold of what it stands for. */
START_TEST(names_of_symbols_do_not_meet)
{
	static const char text[] = "expr f(A: f32[M,N]) -> Y {\n"
							   "  symbol M in 1..64\n"
							   "  Y[n:N, m:M]: f32 = A[m, n]\n"
							   "}\n";
	const char *why = NULL;
	ck_assert_ptr_null(try_node(text, 1, (const char *[]){"f32[N,M]"}, &why));
	ck_assert_str_eq(why, "t: node \"e\" (Expression): symbol M of the expression is N, expected "
	                      "1..64");
	ck_assert_ptr_nonnull(try_node(text, 1, (const char *[]){"f32[64,M]"}, &why));
	ck_assert_ptr_null(try_node(text, 1, (const char *[]){"f32[65,M]"}, &why));
}
END_TEST

START_TEST(what_a_text_assumes_is_checked)
{
	static const char text[] = "expr f(A: f32[M], B: f32[N]) -> Y {\n"
							   "  assume M - N == 0\n"
							   "  Y[n:N]: f32 = A[n]*B[n]\n"
							   "}\n";
	const char *why = NULL;
	Node *node = try_node(text, 2, (const char *[]){"f32[K]", "f32[L]"}, &why);
	ck_assert_ptr_nonnull(node);
	ck_assert_int_eq(node->parent->graph->assumptions.count, 1); /* checked when bound */
	ck_assert_ptr_null(try_node(text, 2, (const char *[]){"f32[3]", "f32[4]"}, &why));
	ck_assert_ptr_nonnull(strstr(why, "what the expression assumes: -1 and 0 differ"));
}
END_TEST

/* ---- what cannot be -------------------------------------------------------------------------- */

static void
infer_text(void *arg)
{
	Graph *graph = graph_of(arg);
	for (const Node *node = graph->body->first; node; node = node->next)
		program_check(node_meaning(graph, node));
}

START_TEST(wrong_texts_are_refused_with_a_sentence)
{
	static const struct {
		const char *text, *message;
	} ROWS[] = {
		{"", "expr:1: expected 'expr' at the beginning"},
		{"expr f(A: f32[4]) -> Y { Y[i:4]: f32 = A[i+1] }", "not certainly in 0..4"},
		{"expr f(A: f32[4]) -> Y { Y[i:4]: f32 = B[i] }", "B"},
		{"expr f(A: f32[4]) -> Y { Y[m:M]: f32 = 1.0 }",
	     "no dim of an input tells what symbol M is"},
		{"expr f(A: f32[M*N]) -> Y { Y[m:M]: f32 = 1.0 }", "no dim of an input tells"},
		{"expr f(A: f32[M/2]) -> Y { Y[m:M/2]: f32 = A[m] }", "no dim of an input tells"},
		{"expr f(A: f32[5]) -> Y { Y[i:5]: f32 = A[i] }", "dim 0 of input 0 (A): 5 and 4 differ"},
		{"expr f(A: f32[2,2]) -> Y { Y[i:2]: f32 = A[i, i] }",
	     "input 0 (A) is f32 of rank 1, expected f32 of rank 2"},
		{"expr f(A: i32[4]) -> Y { Y[i:4]: i32 = A[i] }", "expected i32 of rank 1"},
		{"expr f(A: string[4]) -> Y { Y[i:4]: i32 = 1 }", "string, which has no expressions"},
		{"expr f() -> Y { Y[i:4]: f32 = 1.0 }", "1 inputs given, expected the 0"},
		{"expr f(A: f32[4]) -> A { }", "output 'A' is an input"},
		{"expr f(A: f32[4]) -> Y, Y { Y[i:4]: f32 = A[i] }", "output 'Y' is named twice"},
		{"expr f(A: f32[4]) -> Y { Y[i:1..4]: f32 = A[i] }", "output 'Y' does not begin at 0"},
		{"expr f(A: f32[4]) -> _ { Y[i:4]: f32 = A[i] }", "does not compute output 0"},
		{"expr f(A: f32[4]) -> Y { Y[i:4, j:4000000000000000000]: f32 = A[i] }", ""},
	};
	for (size_t i = 0; i < countof(ROWS); i++) {
		Failure failure;
		char *graph = arena_printf(arena,
		                           "graph g(%%x: f32[4]) -> %%y {\n"
		                           "  %%y = Expression(%%x) {expr=\"%s\"} \"e\"\n}\n",
		                           ROWS[i].text);
		ck_assert_msg(!try_run(infer_text, graph, &failure), "accepted: %s", ROWS[i].text);
		ck_assert_msg(failure.kind == FAIL_INVALID, "%s: %s", ROWS[i].text, failure.text);
		ck_assert_ptr_nonnull(strstr(failure.text, "node \"e\" (Expression): "));
		ck_assert_msg(strstr(failure.text, ROWS[i].message), "%s: %s", ROWS[i].text, failure.text);
	}
}
END_TEST

/* Mutants of a right text are right as well, or refused. */
START_TEST(no_text_is_our_bug)
{
	static const char right[] =
		"graph g(%x: f32[N,9], %w: f32[3,4]) -> %y {\n"
		"  %y, %z = Expression(%x, %w) {expr=\"expr f(A: f32[N,3*C], W: f32[3,D]) -> Y, I { "
		"T[n:N, c:C+2]: f32 = A[n, 3*c-1] else 0 "
		"(Y: f32, I: i64)[n:N, d:D] = argmax first (c:C, k:3 where c+k < C) T[n, c+k]*W[k, d] "
		"with 2*c }\"} \"e\"\n"
		"}\n";
	static const char pieces[] = "0123456789NCDMYAWT:+-*/%()[]{}.,=<>&| ncdk";
	uint64_t dice = 1;
	Arena *outer = arena;
	for (int i = 0; i < 4000; i++) {
		Failure failure;
		arena = arena_new("mutant");
		size_t begin = (size_t)(strchr(right, '(') - right);
		char *text = arena_strdup(arena, right);
		for (unsigned k = random_below(&dice, 3) + 1; i > 0 && k > 0; k--)
			text[begin + random_below(&dice, (unsigned)(strlen(right) - begin))] =
				pieces[random_below(&dice, sizeof pieces - 1)];
		bool is_right = try_run(infer_text, text, &failure);
		ck_assert_msg(is_right || i > 0, "%s", failure.text);
		ck_assert_msg(is_right || failure.kind != FAIL_BUG, "%s\nin %s", failure.text, text);
		arena_free(arena);
	}
	arena = outer;
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("expression");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, symbols_are_read_off_the_dims_of_the_inputs);
	tcase_add_test(t, it_computes_what_the_program_does);
	tcase_add_test(t, clones_mean_the_same);
	tcase_add_test(t, quotients_of_dims_become_symbols);
	tcase_add_test(t, names_of_symbols_do_not_meet);
	tcase_add_test(t, what_a_text_assumes_is_checked);
	tcase_add_test(t, wrong_texts_are_refused_with_a_sentence);
	tcase_add_test(t, no_text_is_our_bug);
	return unit_run(t);
}
