/* Programs spelled in standard operators compute what the programs do: random ones and what random
 * derivations make of them, at fixed sizes and at open ones.
 *
 * usage: graph_spell [COUNT]     programs; 600 in make test
 */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "derive_programs.h"
#include "derive_steps.h"
#include "eval/eval.h"
#include "graph/meaning.h"
#include "graph/infer.h"
#include "graph/spell/spell.h"

enum { MAX_STEPS = 4 };

static int count = 1000;

/* ---- graphs ---------------------------------------------------------------------------------- */

/* A graph with inputs like those of the program, of the sample's sizes or open ones. */
static Graph *
graph_for(const Program *program, const Sample *sample, bool is_open)
{
	Buf text = {.arena = arena};
	buf_puts(&text, "graph g(");
	for (int i = 0; i < program->ninput; i++) {
		const Tensor *input = program->inputs[i];
		buf_printf(&text, "%s%%x%d: %s[", i ? ", " : "", i, dtype_name(input->type));
		for (int d = 0; d < input->rank; d++) {
			buf_puts(&text, d ? "," : "");
			if (is_open)
				dim_print(&text, input->hi[d]);
			else
				buf_printf(&text, "%lld", (long long)sample->inputs[i]->dims[d]);
		}
		buf_puts(&text, "]");
	}
	buf_puts(&text, ") -> %x0 { }");
	return graph_parse(arena, "spell", buf_text(&text));
}

static void
spell(void *graph)
{
	graph_spell_expressions(graph);
	graph_check(graph);
}

static bool
is_standard(const Graph *graph)
{
	for (const Node *node = graph->body->first; node; node = node->next)
		if (*node->op->domain)
			return false;
	return true;
}

static const char *
graph_text(const Graph *graph)
{
	Buf buf = {.arena = arena};
	graph_print(&buf, graph);
	return buf_text(&buf);
}

/* Relative error that is accepted: bilinear algorithms are not exact of integers. */
static double slack;

static void
check_values(const Program *program, const Graph *graph, const Array *wanted, const Array *seen)
{
	ck_assert_int_eq(array_count(seen), array_count(wanted));
	for (int64_t k = 0; k < array_count(seen); k++) {
		double x = dtype_load_f64(wanted->type, wanted->data, k);
		double y = dtype_load_f64(seen->type, seen->data, k);
		if (x != y && fabs(x - y) > slack * (1 + fabs(x)))
			fprintf(stderr, "%s%s", text_of(program), graph_text(graph));
		ck_assert_msg(x == y || fabs(x - y) <= slack * (1 + fabs(x)), "element %d is %g, not %g",
		              (int)k, y, x);
	}
}

/* Outputs that were found to be equal are one, and a node gives each value once. */
static bool
has_outputs_twice(const Program *program)
{
	for (int i = 0; i < program->noutput; i++)
		for (int k = 0; k < i; k++)
			if (program->outputs[i] == program->outputs[k])
				return true;
	return false;
}

/* Whether the program was spelled; where it was, the values must be the program's. */
static bool
check_spelled(const Program *program, const Sample *sample, Array *const *wanted, bool is_open)
{
	const char *why = NULL;
	const Array **seen = NEW_N(arena, const Array *, program->noutput);
	Failure failure;
	Graph *graph = graph_for(program, sample, is_open);
	Node *node = node_new_expression(graph->body, NULL, NULL, program, graph->body->params, &why);
	if (!node && has_outputs_twice(program))
		return false;
	if (!node && is_open)
		return false; /* a symbol that no dim tells any more */
	ck_assert_msg(node, "%s\n%s", why, text_of(program));
	graph_set_outputs(graph, node->noutput, node->outputs);
	graph_infer(graph);
	bool can = node_can_spell(node, &failure);
	ck_assert_int_eq(try_run(spell, graph, &failure), can);
	if (!can) {
		bool is_empty = strstr(failure.text, "elements are picked of 0") != NULL;
		ck_assert_msg((is_open || is_empty) && failure.kind == FAIL_UNSUPPORTED, "%s\n%s",
		              failure.text, text_of(program));
		return false;
	}
	ck_assert(is_standard(graph));
	eval_graph(arena, graph, sample->inputs, seen);
	for (int i = 0; i < program->noutput; i++)
		check_values(program, graph, wanted[i], seen[i]);
	return true;
}

START_TEST(random_programs_and_what_is_derived_from_them)
{
	int open = 0, open_spelled = 0;
	for (int i = 0; i < count; i++) {
		arena = arena_new("spell");
		const Program *program = make_program(expr_ctx_new(arena));
		Sample sample = make_sample(program);
		slack = 0;
		Array **wanted = values_of(program, &sample);
		for (int k = pick(MAX_STEPS); k > 0; k--) {
			Steps steps = {.arena = arena};
			list_steps(&steps, program);
			const Step *step = &steps.list.data[pick(steps.list.count)];
			const Program *next = apply_step(program, step, NULL);
			bool is_bilinear = step->kind == STEP_rule && step->rule.rule == RULE_bilinear;
			slack = next && is_bilinear ? 2e-3 : slack;
			program = next ? next : program;
		}
		bool has_symbols = program->ctx->symbol_list.count > 0;
		check_spelled(program, &sample, wanted, false);
		if (has_symbols) {
			open++;
			open_spelled += check_spelled(program, &sample, wanted, true);
		}
		arena_free(arena);
	}
	printf("%d programs with symbols, %d spelled\n", open, open_spelled);
	ck_assert_int_gt(open_spelled, open / 80);
}
END_TEST

/* ---- worked examples ------------------------------------------------------------------------- */

static void
check_close(const char *path, const Array *seen, const Array *wanted)
{
	ck_assert_int_eq(array_count(seen), array_count(wanted));
	for (int64_t k = 0; k < array_count(seen); k++) {
		double x = dtype_load_f64(wanted->type, wanted->data, k);
		double y = dtype_load_f64(seen->type, seen->data, k);
		ck_assert_msg(fabs(x - y) < 1e-4 * (1 + fabs(x)), "%s: element %d is %g, not %g", path,
		              (int)k, y, x);
	}
}

/* Inputs of small numbers, the one open size being 2. */
static const Array **
inputs_of(const Graph *graph)
{
	const Array **inputs = NEW_N(arena, const Array *, graph->body->nparam);
	for (int i = 0; i < graph->body->nparam; i++) {
		const Type *type = &graph->body->params[i]->type;
		int64_t dims[ARRAY_MAX_RANK];
		for (int d = 0; d < type->rank; d++)
			dims[d] = dim_is_const(type->dims[d], &dims[d]) ? dims[d] : 2;
		Array *input = array_new(arena, type->dtype, type->rank, dims);
		for (int64_t k = 0; k < array_count(input); k++)
			dtype_store_f64(type->dtype, input->data, k, (pick(17) - 8) / 8.0);
		inputs[i] = input;
	}
	return inputs;
}

/* Half of the outputs are by operators, the others by what was derived from them. */
static void
check_example(const char *path)
{
	enum { OUTPUTS = 8 };
	const Array *outputs[OUTPUTS], *spelled[OUTPUTS];
	Bytes text = file_map(arena, path);
	Graph *graph =
		graph_parse(arena, path, arena_strndup(arena, (const char *)text.data, text.size));
	graph_infer(graph);
	int half = graph->body->nresult / 2;
	const Array **inputs = inputs_of(graph);
	eval_graph(arena, graph, inputs, outputs);
	for (int i = 0; i < half; i++)
		check_close(path, outputs[half + i], outputs[i]);
	Graph *standard = graph_clone(arena, graph);
	graph_spell_expressions(standard);
	graph_check(standard);
	ck_assert(graph_has_expressions(graph) && is_standard(standard));
	eval_graph(arena, standard, inputs, spelled);
	for (int i = 0; i < 2 * half; i++)
		check_close(path, spelled[i], outputs[i]);
}

START_TEST(worked_examples)
{
	glob_t found;
	ck_assert_int_eq(glob("tests/graphs/derived/*.g", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		arena = arena_new("example");
		check_example(found.gl_pathv[i]);
		arena_free(arena);
	}
	ck_assert_uint_ge(found.gl_pathc, 10);
	globfree(&found);
}
END_TEST

/* Where there is nothing: the type and the number of elements of the result, and what they are. */
START_TEST(sizes_of_nothing)
{
	static const struct {
		const char *x, *text;
		int64_t count;
		double value;
	} ROWS[] = {
		{"f32[0,3]", "Y[n:N, m:M]: f32 = X[n, M-1-m]", 0, 0},
		{"f32[2,0]", "Y[m:M, n:N]: f32 = X[n, m]", 0, 0},
		{"f32[2,0]", "Y[n:N]: f32 = sum(m:M) X[n, m]", 2, 0},
		{"f32[2,0]", "Y[n:N]: f32 = max(m:M) X[n, m]", 2, -INFINITY},
		{"f32[0,2]", "Y[n:N, m:4]: f32 = sum(r:2 where 0 <= m+r-1, m+r-1 < M) X[n, m+r-1]", 0, 0},
		{"f32[2,0]", "Y[n:N, l:N]: f32 = sum(m:M) X[n, m]*X[l, m]", 4, 0},
	};
	for (size_t i = 0; i < countof(ROWS); i++) {
		arena = arena_new("nothing");
		Graph *graph =
			graph_parse(arena, "t",
		                arena_printf(arena,
		                             "graph g(%%x: %s) -> %%y {\n  %%y = Expression(%%x) "
		                             "{expr=\"expr f(X: f32[N,M]) -> Y { %s }\"}\n}\n",
		                             ROWS[i].x, ROWS[i].text));
		const Array *y;
		graph_infer(graph);
		graph_spell_expressions(graph);
		eval_graph(arena, graph, inputs_of(graph), &y);
		ck_assert_int_eq(array_count(y), ROWS[i].count);
		for (int64_t k = 0; k < ROWS[i].count; k++)
			ck_assert(dtype_load_f64(DT_F32, y->data, k) == ROWS[i].value);
		arena_free(arena);
	}
}
END_TEST

/* ---- what operators do not say --------------------------------------------------------------- */

START_TEST(what_cannot_be_said_is_refused)
{
	static const struct {
		const char *type, *text, *message;
	} ROWS[] = {
		{"f32[4]", "Y[n:N]: f32 = scan n from 0: prev + X[n]", "a scan"},
		{"f32[4]", "(Z: f32, Y: i64)[] = argmax first (n:N) X[n] with n", "argmax first"},
		{"i64[4]", "Y[n:N]: i64 = X[at(X[n], 0..N)]", "is read at what data say"},
		{"f32[M]", "Y[n:N]: f32 = X[N-1-n]", "elements are picked along a dim of open size"},
		{"f32[M]", "Y[n:N]: f32 = n%2 == 0 ? X[n] : 0", "a table has a dim of open size"},
		{"f32[0]", "Y[n:4]: f32 = X[n] else 0", "elements are picked of 0"},
	};
	arena = arena_new("refused");
	for (size_t i = 0; i < countof(ROWS); i++) {
		Failure failure;
		const char *format = "graph g(%%x: %s) -> %%y {\n  %%y = Expression(%%x) "
							 "{expr=\"expr f(X: %.3s[N]) -> Y { %s }\"} \"e\"\n}\n";
		Graph *graph = graph_parse(
			arena, "t", arena_printf(arena, format, ROWS[i].type, ROWS[i].type, ROWS[i].text));
		graph_infer(graph);
		ck_assert(!node_can_spell(graph->body->first, &failure) &&
		          failure.kind == FAIL_UNSUPPORTED);
		ck_assert_ptr_nonnull(strstr(failure.text, ROWS[i].message));
		ck_assert_msg(!try_run(spell, graph, &failure), "accepted: %s", ROWS[i].text);
		ck_assert_int_eq(failure.kind, FAIL_UNSUPPORTED);
		const char *said =
			strstr(failure.text, "node \"e\" (Expression): no operators of ONNX say");
		ck_assert_msg(said && strstr(said, ROWS[i].message), "%s: %s", ROWS[i].text, failure.text);
	}
	arena_free(arena);
}
END_TEST

int
main(int argc, char **argv)
{
	count = argc > 1 ? atoi(argv[1]) : count;
	TCase *t = tcase_create("spell");
	tcase_add_test(t, random_programs_and_what_is_derived_from_them);
	tcase_add_test(t, worked_examples);
	tcase_add_test(t, sizes_of_nothing);
	tcase_add_test(t, what_cannot_be_said_is_refused);
	return unit_run(t);
}
