/* Which open dims of inputs may be 1 where what they meet is not (src/graph/ones.c), and that what
 * a graph gives then is what it gives as ONNX has it: the same text with numbers for sizes. */
#include <string.h>

#include "eval/eval.h"
#include "graph/infer.h"
#include "random_number.h"
#include "unit.h"

static Arena *arena;

static void
set_up(void)
{
	arena = arena_new("ones");
}

static void
tear_down(void)
{
	arena_free(arena);
}

typedef struct Job {
	const char *text;
	Graph *graph;
	const Array *const *inputs;
	const Array *outputs[4];
} Job;

static void
infer_text(void *arg)
{
	Job *job = arg;
	job->graph = graph_parse(arena, "t", job->text);
	graph_infer(job->graph);
	graph_check(job->graph);
}

static void
eval_text(void *arg)
{
	Job *job = arg;
	infer_text(job);
	eval_graph(arena, job->graph, job->inputs, job->outputs);
}

static bool
may_be_one(const Graph *graph, int input, int axis)
{
	for (int i = 0; i < graph->wishes.count; i++) {
		const InputWish *wish = &graph->wishes.data[i];
		if (wish->input == input && wish->axis == axis)
			return wish->may_be_one;
	}
	return false;
}

/* "0.1 1.1": which axes of which inputs may be 1. */
static const char *
ones_of(const char *text)
{
	Job job = {.text = text};
	Failure failure;
	Buf buf = {.arena = arena};
	if (!try_run(infer_text, &job, &failure))
		ck_abort_msg("%s: %s", failure.text, text);
	const Region *body = job.graph->body;
	for (int i = 0; i < body->nparam; i++)
		for (int d = 0; d < body->params[i]->type.rank; d++)
			if (may_be_one(job.graph, i, d))
				buf_printf(&buf, "%s%d.%d", buf.size ? " " : "", i, d);
	return buf_text(&buf);
}

START_TEST(by_hand)
{
	static const struct {
		const char *lines, *ones;
	} cases[] = {
		{"%r = Add(%x, %y)", "0.1 1.1"},
		{"%w: f32[1,4] = {1, 2, 3, 4} %r = Mul(%x, %w)", "0.1"},
		{"%a = Neg(%x) %b = Cast(%y) {to=11} %c = Cast(%b) {to=1} %r = Add(%a, %c)", "0.1 1.1"},
		/* as a mask reaches what it masks */
		{"%k: i64[1] = {1} %u = Unsqueeze(%y, %k) %v = Softmax(%x) %w = Unsqueeze(%v, %k) "
	     "%r = Add(%w, %u)",
	     "1.1"},
		{"%a = Transpose(%x) {perm=[1,0]} %b = Transpose(%y) {perm=[1,0]} %r = Add(%a, %b)",
	     "0.1 1.1"},
		/* the size itself, sums over it, and results without it */
		{"%a = ReduceSum(%x) {keepdims=1} %b = Add(%x, %y) %r = Add(%a, %b)", "1.1"},
		{"%s = Shape(%x) %f = Cast(%s) {to=1} %k: i64 = {1} %g = Gather(%f, %k) %b = Add(%x, %y) "
	     "%r = Add(%g, %b)",
	     "1.1"},
		{"%s = Shape(%y) %f = Cast(%s) {to=1} %k: i64 = {1} %g = Gather(%f, %k) %b = Add(%x, %y) "
	     "%r = Add(%g, %b)",
	     "0.1"},
		{"%r = MatMul(%x, %t) %s = Add(%x, %y) %q = Relu(%s)", "1.1"},
		{"%a = Neg(%y) %b = Add(%x, %y) %r = Concat(%a, %b) {axis=0}", "0.1"},
		{"%a = Neg(%y) %b = Add(%x, %y) %r = ReduceMax(%b) {keepdims=0}", "0.1 1.1"},
		{"%r = MatMul(%x, %z)", ""},
		{"%w: f32[1,4] = {1, 2, 3, 4} %a = Add(%x, %y) %r = Mul(%a, %w)", "0.1 1.1"},
		/* what both give is known once they have met */
		{"%a = Add(%x, %y) %s = Shape(%a) %f = Cast(%s) {to=1} %k: i64 = {1} %g = Gather(%f, %k) "
	     "%r = Mul(%g, %a)",
	     "0.1 1.1"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *text = arena_printf(arena,
		                                "graph g(%%x: f32[A,B], %%y: f32[A,C], %%z: f32[D,3], "
		                                "%%t: f32[B,3]) -> %%r { %s }",
		                                cases[i].lines);
		if (!strstr(cases[i].lines, "%t"))
			text = arena_printf(
				arena, "graph g(%%x: f32[A,B], %%y: f32[A,C], %%z: f32[D,3]) -> %%r { %s }",
				cases[i].lines);
		ck_assert_msg(strcmp(ones_of(text), cases[i].ones) == 0, "%s: '%s', expected '%s'",
		              cases[i].lines, ones_of(text), cases[i].ones);
	}
}
END_TEST

/* What is assumed together may be impossible: A = 1, D = A and A + B = A leave nothing to divide
 * by. */
START_TEST(impossible)
{
	ck_assert_str_eq(ones_of("graph g(%x: f32[A,B], %y: f32[A,D]) -> %s, %m {\n"
	                         "%k: i64[1] = {0} %t = Transpose(%y) %s = Squeeze(%x, %k)\n"
	                         "%c = Concat(%t, %x) {axis=1} %m = MatMul(%c, %x)\n}\n"),
	                 "");
}
END_TEST

/* A number of 1 that others meet: they need not be 1, nor does it have their size. */
START_TEST(number_of_one)
{
	ck_assert_str_eq(ones_of("graph g(%x: f32[A,B], %y: f32[A,C], %z: f32[A,D]) -> %a, %r, %s {\n"
	                         "%k: i64[1] = {0} %m = MatMul(%z, %x) %a = Add(%y, %x)\n"
	                         "%s = Squeeze(%y, %k) %r = Max(%x, %z)\n}\n"),
	                 "");
}
END_TEST

/* ---- at random ------------------------------------------------------------------------------- */

enum { INPUTS = 3, RANK = 2 };
static const char *const symbols[INPUTS][RANK] = {{"A", "B"}, {"A", "C"}, {"A", "D"}};

/* The head of the text: a size of 0 stays a symbol. */
static const char *
head(int64_t sizes[INPUTS][RANK])
{
	Buf buf = {.arena = arena};
	buf_puts(&buf, "graph g(");
	for (int i = 0; i < INPUTS; i++) {
		buf_printf(&buf, "%s%%v%d: f32[", i ? ", " : "", i);
		for (int d = 0; d < RANK; d++)
			if (sizes[i][d])
				buf_printf(&buf, "%s%d", d ? "," : "", (int)sizes[i][d]);
			else
				buf_printf(&buf, "%s%s", d ? "," : "", symbols[i][d]);
		buf_puts(&buf, "]");
	}
	return buf_text(&buf);
}

/* One more line, of values v0 to v(count-1). */
static const char *
random_line(uint64_t *state, int count)
{
	static const char *const forms[] = {
		"%%v%d = Neg(%%v%d)\n",
		"%%v%d = Transpose(%%v%d)\n",
		"%%v%d = Add(%%v%d, %%v%d)\n",
		"%%v%d = Mul(%%v%d, %%v%d)\n",
		"%%v%d = Max(%%v%d, %%v%d)\n",
		"%%v%d = Sub(%%v%d, %%v%d)\n",
		"%%v%d = MatMul(%%v%d, %%v%d)\n",
		"%%v%d = Concat(%%v%d, %%v%d) {axis=0}\n",
		"%%v%d = Concat(%%v%d, %%v%d) {axis=1}\n",
		"%%v%d = Softmax(%%v%d)\n",
		"%%v%d = Softmax(%%v%d) {axis=0}\n",
		"%%v%d = ReduceSum(%%v%d, %%last)\n",
		"%%v%d = ReduceMean(%%v%d, %%first)\n",
		"%%v%d = Unsqueeze(%%v%d, %%first)\n",
		"%%v%d = Squeeze(%%v%d, %%first)\n",
		"%%v%d = Reshape(%%v%d, %%flat)\n",
		"%%v%d = Reshape(%%v%d, %%same)\n",
		"%%v%d = CumSum(%%v%d, %%zero)\n",
		"%%v%d = Trilu(%%v%d)\n",
		"%%v%d = LpNormalization(%%v%d)\n",
		"%%v%d = Gather(%%v%d, %%pick) {axis=1}\n",
		"%%v%d = Gather(%%v%d, %%zero)\n",
	};
	int k = (int)random_below(state, 26), a = (int)random_below(state, (unsigned)count),
		b = (int)random_below(state, (unsigned)count);
	int shown = (int)(sizeof forms / sizeof *forms);
	if (k < shown)
		return arena_printf(arena, forms[k], count, a, b);
	if (k == shown) /* the size as a number */
		return arena_printf(arena, "%%s%d = Shape(%%v%d)\n%%v%d = Cast(%%s%d) {to=1}\n", count, a,
		                    count, count);
	if (k == shown + 1)
		return arena_printf(arena, "%%s%d = Shape(%%v%d)\n%%v%d = Expand(%%v%d, %%s%d)\n", count, a,
		                    count, b, count);
	if (k == shown + 2)
		return arena_printf(arena, "%%s%d = Shape(%%v%d)\n%%v%d = ConstantOfShape(%%s%d)\n", count,
		                    a, count, count);
	return arena_printf(arena, "%%v%d = Where(%%yes, %%v%d, %%v%d)\n", count, a, b);
}

static const char *
text_of(const char *head, const char *lines, int count)
{
	return arena_printf(arena,
	                    "%s) -> %%v%d, %%v%d {\n%%first: i64[1] = {0} %%last: i64[1] = {-1}\n"
	                    "%%zero: i64 = {0} %%pick: i64[2] = {0, 0} %%yes: bool = {1}\n"
	                    "%%flat: i64[1] = {-1} %%same: i64[2] = {0, -1}\n%s}\n",
	                    head, count - 1, count - 2, lines);
}

/* Lines that are sound for open sizes. */
static const char *
random_lines(uint64_t *state, const char *open, int *count)
{
	const char *lines = "";
	Failure failure;
	for (int tries = 0; tries < 14 && *count < INPUTS + 6; tries++) {
		const char *more = arena_printf(arena, "%s%s", lines, random_line(state, *count));
		Job job = {.text = text_of(open, more, *count + 1)};
		if (!try_run(infer_text, &job, &failure))
			continue;
		lines = more;
		++*count;
	}
	return lines;
}

/* Numbers that differ, repeated along axes where `given` is 1 and `taken` is not. */
static const Array *
numbers(int input, const int64_t *given, const int64_t *taken)
{
	Array *array = array_new(arena, DT_F32, RANK, taken);
	float *data = array->data;
	for (int64_t i = 0; i < taken[0]; i++)
		for (int64_t k = 0; k < taken[1]; k++)
			data[i * taken[1] + k] =
				(float)(1 + input + 2 * (given[0] == 1 ? 0 : i) + 5 * (given[1] == 1 ? 0 : k)) / 4;
	return array;
}

/* The graph of open sizes with inputs repeated, and that with numbers, give the same. False: that
 * has no meaning, whether or not sizes are 1 (`larger`), or the first is refused. */
static bool
compare(const char *text, const char *fixed, const char *larger, int64_t given[INPUTS][RANK],
        int64_t taken[INPUTS][RANK])
{
	const Array *plain[INPUTS], *repeated[INPUTS];
	Failure failure;
	for (int i = 0; i < INPUTS; i++) {
		plain[i] = numbers(i, given[i], given[i]);
		repeated[i] = numbers(i, given[i], taken[i]);
	}
	Job ours = {.text = text, .inputs = repeated}, theirs = {.text = fixed, .inputs = plain};
	if (!try_run(eval_text, &theirs, &failure)) {
		Job without = {.text = larger, .inputs = repeated};
		ck_assert_msg(!try_run(eval_text, &without, &(Failure){0}), "%s\n%s%s", failure.text, text,
		              fixed);
		return false;
	}
	if (!try_run(eval_text, &ours, &failure))
		return false; /* it must be what is no input's, too: refused when run */
	for (int i = 0; i < 2; i++) {
		const Array *a = ours.outputs[i], *b = theirs.outputs[i];
		bool is_same = a->rank == b->rank &&
		               (!a->rank || !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims));
		for (int64_t k = 0; is_same && k < array_count(a); k++) {
			double x = dtype_load_f64(a->type, a->data, k), y = dtype_load_f64(b->type, b->data, k);
			double apart = x - y;
			is_same = x == y || (x != x && y != y) ||
			          (apart < 1e-5 * (x > 0 ? x : -x) && apart > -1e-5 * (x > 0 ? x : -x));
		}
		ck_assert_msg(is_same, "result %d differs:\n%s%s", i, text, fixed);
	}
	return true;
}

/* The sizes of a run in which these inputs have one column, and those that the plan has then: 3,
 * but where all that must be equal is 1. False: one of them may not be 1. */
static bool
choose_sizes(const Graph *graph, int pattern, int64_t given[INPUTS][RANK],
             int64_t taken[INPUTS][RANK])
{
	Value *const *params = graph->body->params;
	for (int i = 0; i < INPUTS; i++)
		for (int d = 0; d < RANK; d++) {
			given[i][d] = 3;
			dim_is_const(params[i]->type.dims[d], &given[i][d]);
			if (d == 1 && pattern >> i & 1) {
				given[i][d] = 1;
				if (!may_be_one(graph, i, d))
					return false;
			}
		}
	for (int i = 0; i < INPUTS; i++)
		for (int d = 0; d < RANK; d++) {
			taken[i][d] = 1;
			dim_is_const(params[i]->type.dims[d], &taken[i][d]);
			for (int k = 0; k < INPUTS * RANK; k++)
				if (params[k / RANK]->type.dims[k % RANK] == params[i]->type.dims[d] &&
				    given[k / RANK][k % RANK] != 1)
					taken[i][d] = given[k / RANK][k % RANK];
		}
	return true;
}

START_TEST(at_random)
{
	int64_t open[INPUTS][RANK] = {{0}}, given[INPUTS][RANK], taken[INPUTS][RANK];
	int rounds = unit_count("ONES_ROUNDS", 200), compared = 0;
	for (uint64_t seed = 0; seed < (uint64_t)rounds; seed++) {
		ArenaMark mark = arena_mark(arena);
		uint64_t state = seed;
		int count = INPUTS;
		const char *lines = random_lines(&state, head(open), &count);
		Job job = {.text = text_of(head(open), lines, count)};
		infer_text(&job);
		for (int pattern = 1; pattern < 8; pattern++)
			if (choose_sizes(job.graph, pattern, given, taken))
				compared += compare(job.text, text_of(head(given), lines, count),
				                    text_of(head(taken), lines, count), given, taken);
		arena_release(arena, mark);
	}
	ck_assert_msg(compared > rounds / 8, "only %d compared", compared);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("ones");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, by_hand);
	tcase_add_test(t, impossible);
	tcase_add_test(t, number_of_one);
	tcase_add_test(t, at_random);
	return unit_run(t);
}
