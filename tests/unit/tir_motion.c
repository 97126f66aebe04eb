/* Moving scalars between loops keeps every bit: random loop programs, and those of the golden
 * tests, evaluated by the interpreter before and after each pass and all of them. An index out of
 * range fails there, so no read may leave its guard. Where data are indices out of range, the same
 * ones are reported before and after.
 *
 * MOTION_PROGRAMS says how many; .ci/run asks for 10,000.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "base/file.h"
#include "passes/passes.h"
#include "random_number.h"
#include "tir/stmt.h"

enum {
	ROOM = 4096,
	SMALL = 24,
	SHARE = 1365,
	MAX_VARS = 12,
	MAX_BUFFERS = 8,
	SYMBOL = 3,
	BATCH = 300
};

/* ---- programs -------------------------------------------------------------------------------- */

/* A program in the making: text, and what may be used where it has got to. */
typedef struct Making {
	Buf *out;
	uint64_t seed;
	int depth, names, statements;
	struct {
		char name[8];
		int most; /* its largest value */
	} var[MAX_VARS];
	int count;
	int lane; /* the vector's variable, or -1 */
	/* Where a worker's part of the results begins, and how long an index may get in it. */
	const char *own;
	int most;
	bool has_acc;
} Making;

static unsigned
pick(Making *m, unsigned count)
{
	return random_below(&m->seed, count);
}

#define say(m, ...) buf_printf((m)->out, __VA_ARGS__)

/* A sum of variables; gives its largest value. Nothing is negative. */
static int
make_index(Making *m)
{
	static const int factors[] = {1, 1, 2, 3, 7, 16, 60};
	int most = (int)pick(m, 9), terms = 1 + (int)pick(m, 3);
	bool is_factored = pick(m, 4) == 0;
	say(m, is_factored ? "(i64(%d)" : "i64(%d)", most);
	for (int t = 0; t < terms && m->count > 0; t++) {
		int v = (int)pick(m, (unsigned)m->count), by = factors[pick(m, countof(factors))];
		bool by_symbol = pick(m, 5) == 0;
		by = by_symbol ? SYMBOL : by;
		if (most + by * m->var[v].most > m->most)
			continue;
		most += by * m->var[v].most;
		if (by_symbol)
			say(m, "+%s*N", m->var[v].name);
		else if (by == 2 || by == 3) /* as a fused loop uses its variable */
			say(m, "+%s/6*%d+%s%%6/2*%d+%s%%2", m->var[v].name, by, m->var[v].name, by,
			    m->var[v].name);
		else if (pick(m, 6) == 0)
			say(m, "+%d-(%d-%s)*%d", by * 9, 9, m->var[v].name, by);
		else
			say(m, pick(m, 2) ? "+%s*%d" : "+%s%%64*%d", m->var[v].name, by);
	}
	if (is_factored) {
		say(m, pick(m, 2) ? ")*3" : ")/3");
		most = most * 3;
	}
	return most;
}

/* An index from data, below 64 where the data are. */
static void
make_indirect(Making *m, bool is_checked)
{
	say(m, "at(I[");
	make_index(m);
	say(m, "], 0..64, wrap%s)", is_checked ? ", check" : "");
}

static void
make_test(Making *m, int depth)
{
	static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};
	unsigned kind = pick(m, depth > 2 ? 4 : 8);
	if (kind >= 5) {
		say(m, "(");
		make_test(m, depth + 1);
		say(m, kind == 5 ? " || " : " && ");
		make_test(m, depth + 1);
		say(m, ")");
	} else if (kind == 4) {
		say(m, "!(");
		make_test(m, depth + 1);
		say(m, ")");
	} else if (kind == 3) {
		say(m, "A[");
		make_index(m);
		say(m, "] < 0.5");
	} else if (kind == 2 && pick(m, 4) == 0) {
		make_indirect(m, true);
		say(m, " %s 30", compare[pick(m, 6)]);
	} else if (kind == 1 && m->count > 0) {
		int v = (int)pick(m, (unsigned)m->count);
		say(m, "%s %s %d", m->var[v].name, compare[pick(m, 6)], (int)pick(m, 4));
	} else {
		make_index(m);
		if (kind == 2)
			say(m, "%%%d", 2 + (int)pick(m, 3));
		say(m, " %s %d", compare[pick(m, 6)], (int)pick(m, kind == 2 ? 3 : 40));
	}
}

/* A number of which a part may lie outside of E where the test does not hold. */
static void
make_guarded(Making *m)
{
	size_t from = m->out->size;
	make_index(m);
	const char *text = arena_strndup(m->out->arena, m->out->data + from, m->out->size - from);
	m->out->size = from;
	const char *more = m->count > 0 ? m->var[pick(m, (unsigned)m->count)].name : "N";
	if (pick(m, 2))
		say(m, "(%s >= 5 && %s < %d ? E[%s-5] : 1.5)", text, text, SMALL, text);
	else
		say(m, "(%s+%s < %d ? E[%s] : 1.5)", text, more, SMALL, text);
}

static void
make_number(Making *m, int depth)
{
	unsigned kind = pick(m, depth > 2 ? 5 : 10);
	if (kind <= 1) {
		if (kind)
			say(m, "A[");
		else
			say(m, "%s[%s", pick(m, 2) ? "Y" : "Z", m->own);
		make_index(m);
		say(m, "]");
	} else if (kind == 2) {
		say(m, "f32(");
		make_index(m);
		say(m, ")");
	} else if (kind == 3) {
		make_guarded(m);
	} else if (kind == 4) {
		say(m, "A[");
		make_indirect(m, pick(m, 2));
		say(m, "]");
	} else if (kind == 5) {
		say(m, "(");
		make_test(m, 1);
		say(m, " ? ");
		make_number(m, depth + 1);
		say(m, " : ");
		if (pick(m, 2))
			make_number(m, depth + 1);
		else
			say(m, "0.0");
		say(m, ")");
	} else {
		static const char *const infix[] = {" + ", " * ", " - "};
		say(m, kind == 6 ? "max(" : "(");
		make_number(m, depth + 1);
		say(m, "%s", kind == 6 ? ", " : infix[pick(m, 3)]);
		make_number(m, depth + 1);
		say(m, ")");
	}
}

static void
indent(Making *m)
{
	say(m, "%*s", 2 * m->depth, "");
}

static void make_list(Making *m, int depth);

static void
make_store(Making *m)
{
	static const char *const ops[] = {"=", "+=", "max="};
	indent(m);
	if (m->has_acc && pick(m, 2)) {
		say(m, "acc[] %s ", m->lane >= 0 ? "+=" : ops[pick(m, 3)]);
	} else {
		say(m, "%s[%s", pick(m, 2) ? "Y" : "Z", m->own);
		make_index(m);
		if (m->lane >= 0)
			say(m, "+%s", m->var[m->lane].name);
		say(m, "] %s ", ops[pick(m, 3)]);
	}
	make_number(m, 0);
	say(m, "\n");
}

/* A read that may lie outside of E, in a store that does not happen then. */
static void
make_bold_store(Making *m)
{
	size_t from = m->out->size;
	make_index(m);
	const char *text = arena_strndup(m->out->arena, m->out->data + from, m->out->size - from);
	m->out->size = from;
	indent(m);
	if (pick(m, 2))
		say(m, "if (%s < %d) {\n", text, SMALL);
	else
		say(m, "for z%d in N/%d {\n", m->names++, SYMBOL + 1);
	m->depth++;
	indent(m);
	if (m->lane < 0 && pick(m, 2)) {
		say(m, "for z%d in 2 {\n", m->names++);
		indent(m);
		say(m, "  Y[%sN] = E[%s] + 1.0\n", m->own, text);
		indent(m);
		say(m, "}\n");
	} else {
		say(m, "Y[%sN] += max(E[%s], 1.0)\n", m->own, text);
	}
	m->depth--;
	indent(m);
	say(m, "}\n");
}

/* A loop that does nothing but under a condition, which may be the same for all its iterations; in
 * front of it, or within, an index is reported whether it holds or not. */
static void
make_reporting_loop(Making *m)
{
	bool is_within = pick(m, 3) == 0;
	indent(m);
	say(m, "for z%d in %d {\n", m->names, (int)pick(m, 4));
	indent(m);
	say(m, "  let k%d = ", m->names);
	if (is_within)
		say(m, "i64(0)\n");
	else
		make_indirect(m, true);
	say(m, "\n");
	indent(m);
	say(m, "  if (");
	if (is_within) {
		make_indirect(m, true);
		say(m, " > 5 && ");
	}
	make_test(m, 1);
	say(m, ")\n");
	indent(m);
	say(m, "    Y[%sN] += A[k%d]\n", m->own, m->names++);
	indent(m);
	say(m, "}\n");
}

static void
add_var(Making *m, const char *kind, int most)
{
	snprintf(m->var[m->count].name, sizeof m->var->name, "%s%d", kind, m->names++);
	m->var[m->count++].most = most;
}

static void
make_loop(Making *m, int depth)
{
	int count = m->count, lane = m->lane, extent = 1 + (int)pick(m, 5);
	bool is_vector = lane < 0 && pick(m, 4) == 0, by_symbol = !is_vector && pick(m, 5) == 0;
	indent(m);
	if (count == MAX_VARS) {
		say(m, "Y[%s0] = 1.0\n", m->own);
		return;
	}
	bool is_fused = !is_vector && !by_symbol && pick(m, 4) == 0;
	add_var(m, "i", is_vector ? 7 : is_fused ? 11 : by_symbol ? SYMBOL : extent);
	say(m, "for %s in ", m->var[count].name);
	if (is_vector)
		say(m, "%d @vector(i32x8) {\n", pick(m, 2) ? 8 : extent);
	else if (by_symbol)
		say(m, "N {\n");
	else if (is_fused)
		say(m, "12 {\n");
	else if (count > 0 && lane < 0 && pick(m, 4) == 0)
		say(m, "%s(%d, %d-%s%s) {\n", pick(m, 2) ? "min" : "5-max", extent, 2 * extent,
		    m->var[pick(m, (unsigned)count)].name, pick(m, 2) ? "*3" : "/2");
	else
		say(m, "%d..%d {\n", (int)pick(m, 2), extent);
	m->lane = is_vector ? count : lane;
	make_list(m, depth + 1);
	m->lane = lane;
	m->count = count;
	indent(m);
	say(m, "}\n");
}

static void
make_if(Making *m, int depth)
{
	int count = m->count, again = pick(m, 4) == 0 ? 2 : 1;
	size_t from = m->out->size;
	indent(m);
	say(m, "if (");
	make_test(m, 0);
	say(m, ") {\n");
	const char *head = arena_strndup(m->out->arena, m->out->data + from, m->out->size - from);
	for (int k = 0; k < again; k++) {
		if (k > 0)
			say(m, "%s", head);
		make_list(m, depth + 1);
		m->count = count;
		indent(m);
		say(m, "}\n");
	}
	if (again == 1 && pick(m, 2)) {
		indent(m);
		say(m, "else {\n");
		make_list(m, depth + 1);
		m->count = count;
		indent(m);
		say(m, "}\n");
	}
}

static void
make_let(Making *m)
{
	indent(m);
	if (m->count == MAX_VARS) {
		say(m, "Z[%s0] = 1.0\n", m->own);
		return;
	}
	char name[8];
	snprintf(name, sizeof name, "x%d", m->names);
	say(m, "let %s = ", name);
	int most = 63;
	if (pick(m, 4))
		most = make_index(m);
	else
		make_indirect(m, true);
	add_var(m, "x", most);
	say(m, "\n");
}

static void
make_list(Making *m, int depth)
{
	m->depth++;
	int count = 1 + (int)pick(m, 3);
	count = pick(m, 2) ? 1 : count;
	for (int k = 0; k < count; k++) {
		unsigned kind = m->statements++ > 14 ? 0 : pick(m, 9);
		if (kind >= 6 && depth < 5)
			make_loop(m, depth);
		else if (kind >= 4 && depth < 5)
			make_if(m, depth);
		else if (kind == 3)
			make_let(m);
		else if (kind == 2)
			make_bold_store(m);
		else if (kind == 1 && m->lane < 0)
			make_reporting_loop(m);
		else
			make_store(m);
	}
	if (pick(m, 2))
		make_store(m);
	m->depth--;
}

static const char *
make_program(Arena *arena, uint64_t seed)
{
	Buf out = {.arena = arena};
	Making m = {.out = &out, .seed = seed * 7919 + 1, .lane = -1};
	bool is_parallel = pick(&m, 3) == 0;
	m.own = is_parallel ? arena_printf(arena, "b*%d+", SHARE) : "";
	m.most = is_parallel ? SHARE / 4 : ROOM / 4;
	say(&m,
	    "kernel p(N, A: f32[%d], E: f32[%d], I: i64[%d], Z: out f32[%d], Y: out f32[%d]) flat {\n",
	    ROOM, SMALL, ROOM, ROOM, ROOM);
	m.depth++;
	if (is_parallel) {
		indent(&m);
		say(&m, "for b in 3 @parallel {\n");
		add_var(&m, "b", 2);
		m.var[0].name[1] = 0;
	}
	m.has_acc = pick(&m, 2);
	if (m.has_acc)
		say(&m, "    acc: f32 @reg = 0.25\n");
	make_list(&m, 0);
	indent(&m);
	say(&m, "Y[%s1] += %s\n", m.own, m.has_acc ? "acc[]" : "2.0");
	indent(&m);
	say(&m, "Z[%s1] += 1.0\n", m.own);
	say(&m, is_parallel ? "  }\n}\n" : "}\n");
	return buf_text(&out);
}

/* ---- before and after ------------------------------------------------------------------------ */

typedef struct Results {
	int count;
	Array *arrays[MAX_BUFFERS];
	OutsideIndices reports;
} Results;

/* From data that are indices, or from any; then what is outside is reported. */
static Results
evaluate(Arena *arena, const Kernel *kernel, bool is_wild)
{
	int64_t numbers[16], dims[8];
	bool bound[16];
	Results results = {.count = kernel->buffers.count, .reports.arena = arena};
	uint64_t seed = 5;
	for (int i = 0; i < 16; i++) {
		numbers[i] = SYMBOL;
		bound[i] = true;
	}
	Binding binding = {16, numbers, bound};
	for (int i = 0; i < results.count; i++) {
		const Tensor *tensor = &kernel->buffers.data[i]->tensor;
		for (int d = 0; d < tensor->rank; d++)
			ck_assert(dim_eval(tensor->hi[d], &binding, &dims[d]));
		Array *array = results.arrays[i] = array_new(arena, tensor->type, tensor->rank, dims);
		for (int64_t k = 0; k < array_count(array); k++)
			dtype_store_f64(tensor->type, array->data, k,
			                tensor->type != DT_I64 ? random_below(&seed, 1000) / 77.0 - 6
			                : is_wild              ? random_below(&seed, 200) - 100.0
			                                       : random_below(&seed, 64));
	}
	kernel_eval_reporting(kernel, &binding, results.arrays, is_wild ? &results.reports : NULL);
	return results;
}

static const char *
text_of(Arena *arena, const Kernel *kernel)
{
	Buf text = {.arena = arena};
	kernel_print(&text, kernel);
	return buf_text(&text);
}

typedef bool Pass(Kernel *kernel, PassContext *context);

static Pass *const passes[] = {pass_UnfuseLoops, pass_PartitionLoops, pass_Normalize,
                               pass_HoistBranches, pass_LICM};
enum { ALL = (1 << countof(passes)) - 1 };

typedef struct Job {
	Arena *arena;
	const char *text;
	unsigned chosen; /* bit k: passes[k] */
	int64_t small;
} Job;

static int changes[countof(passes)]; /* how often each has done something */
static int reported;

static void
check_program(void *arg)
{
	Job *job = arg;
	Arena *arena = job->arena;
	Kernel *kernel = kernel_parse(arena, expr_ctx_new(arena), "program", job->text);
	kernel_check(kernel);
	Results expected[2];
	for (int is_wild = 0; is_wild < 2; is_wild++)
		expected[is_wild] = evaluate(arena, kernel, is_wild);
	reported += expected[1].reports.list.count;
	PassContext context = {.arena = arena, .config.arena = arena};
	if (job->small)
		map_set(&context.config, "LICM.small", (void *)"4");
	for (size_t k = 0; k < countof(passes); k++)
		if (job->chosen >> k & 1)
			changes[k] += passes[k](kernel, &context);
	const char *after = text_of(arena, kernel);
	kernel_check(kernel);
	for (int is_wild = 0; is_wild < 2; is_wild++) {
		Results results = evaluate(arena, kernel, is_wild);
		bool is_same = reports_equal(&results.reports, &expected[is_wild].reports);
		for (int i = 0; i < results.count; i++)
			is_same = is_same && array_same_bytes(results.arrays[i], expected[is_wild].arrays[i]);
		ck_assert_msg(is_same, "passes %x, %d and %d reports:\n%.1500s\nhas become\n%.1500s",
		              job->chosen, expected[is_wild].reports.list.count, results.reports.list.count,
		              job->text, after);
	}
}

static void
check_text(const char *text, unsigned chosen, int64_t small)
{
	Arena *arena = arena_new("motion");
	Job job = {arena, text, chosen, small};
	Failure failure;
	if (!try_run(check_program, &job, &failure))
		ck_abort_msg("passes %x: %s\n%.2500s", chosen, failure.text, text);
	arena_free(arena);
}

START_TEST(test_random)
{
	for (int i = 0; i < BATCH; i++) {
		Arena *arena = arena_new("program");
		const char *text = make_program(arena, (uint64_t)_i * BATCH + (uint64_t)i);
		for (unsigned chosen = 1; chosen <= ALL; chosen++)
			if ((chosen & (chosen - 1)) == 0 || chosen == ALL)
				check_text(text, chosen, i % 4 == 0);
		arena_free(arena);
	}
	for (size_t k = 0; k < countof(passes); k++)
		ck_assert_int_gt(changes[k], 0);
	ck_assert_int_gt(reported, 0);
}
END_TEST

/* The golden programs, which the tool compares within a tolerance alone. */
START_TEST(test_golden)
{
	glob_t found;
	ck_assert_int_eq(glob("tests/passes/LICM_g*.t", 0, NULL, &found), 0);
	ck_assert_int_ge(found.gl_pathc, 30);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		Arena *arena = arena_new("golden");
		const char *text = file_text(arena, found.gl_pathv[i]);
		const char *in = strstr(text, "-- in\n") + 6, *out = strstr(in, "-- out\n");
		text = arena_strndup(arena, in, (size_t)(out - in));
		for (unsigned chosen = 1; chosen <= ALL; chosen++)
			check_text(text, chosen, 0);
		arena_free(arena);
	}
	globfree(&found);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("motion");
	const char *given = getenv("MOTION_PROGRAMS");
	tcase_add_loop_test(tcase, test_random, 0, given ? (atoi(given) + BATCH - 1) / BATCH : 1);
	tcase_add_test(tcase, test_golden);
	return unit_run(tcase);
}
