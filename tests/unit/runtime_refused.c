/* Sessions whose runs were refused: what fails between two runs leaves nothing behind, whatever it
 * is (sizes, data, memory, a cancel), so the next run answers as one of a fresh session does.
 *
 * Each case is a model whose sizes depend on data, and a few situations, some of which are refused.
 * All three in a row are tried, in one session; what a fresh session says of each is what is right.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/tilewright.h"
#include "unit.h"

enum { MOST_INPUTS = 3, MOST_OUTPUTS = 3, MOST_BYTES = 4096, LIMIT = 1 << 20 };

/* Elements are `values` over and over. */
typedef struct Given {
	int64_t dims[2], values[4];
} Given;

enum { MOST_SITUATIONS = 5 };

typedef struct Case {
	const char *text;
	int count;
	Given situations[MOST_SITUATIONS][MOST_INPUTS];
} Case;

/* clang-format off */
/* BitwiseOr makes sizes that only a body knows. */
static const Case CASES[] = {
	{"graph fill(%k: i64[2]) -> %y { %y = ConstantOfShape(%k)  \"fill\" }",
	 5, {{{{2}, {2, 3}}}, {{{2}, {5, -1}}}, {{{2}, {5, 3}}}, {{{2}, {2000, 3000}}},
	     {{{2}, {0, 3}}}}},
	{"graph pad(%x: f32[N,M], %p: i64[4]) -> %y { %y = Pad(%x, %p)  \"pad\" }",
	 5, {{{{2, 3}, {1, 2, 3, 4}}, {{4}, {0, 1, 0, 1}}}, {{{2, 3}, {1}}, {{4}, {-2, 0, -2, 0}}},
	     {{{2, 3}, {5}}, {{4}, {-2, 1, 3, 1}}}, {{{1, 3}, {7}}, {{4}, {1, 1, 1, 1}}},
	     {{{2, 3}, {7}}, {{4}, {0, 0, -3, 1}}}}},
	{"graph split(%x: f32[N], %s: i64[2]) -> %y, %z { %y, %z = Split(%x, %s)  \"split\" }",
	 5, {{{{8}, {1, 2, 3, 4}}, {{2}, {3, 5}}}, {{{8}, {4, 3, 2, 1}}, {{2}, {5, -1}}},
	     {{{8}, {4, 3, 2}}, {{2}, {5, 3}}}, {{{8}, {1, 2, 3}}, {{2}, {5, 5}}},
	     {{{6}, {1, 2, 3}}, {{2}, {3, 3}}}}},
	/* a host step tells a size, a kernel checks an index */
	{"graph host(%x: f32[N], %i: i64[K]) -> %y, %z {"
	 " %n = NonZero(%x)  \"nonzero\"\n %s = Squeeze(%n)\n %a = Gather(%x, %s)\n"
	 " %y = Gather(%a, %i)  \"pick\"\n %z = Add(%a, %a) }",
	 5, {{{{4}, {1, 0, 3, 4}}, {{1}, {2}}}, {{{4}, {0, 0, 3, 4}}, {{1}, {2}}},
	     {{{4}, {0, 0, 3, 4}}, {{1}, {1}}}, {{{5}, {9, 9, 9, 9}}, {{2}, {4, 1}}},
	     {{{4}, {5, 6, 7, 8}}, {{1}, {-5}}}}},
	/* a library's product of late sizes */
	{"graph product(%k: i64[2], %x: f32[M,16], %i: i64) -> %y, %z {"
	 " %s: i64[2] = {16,64}\n %n = ConstantOfShape(%s)\n %w = Exp(%n)\n"
	 " %a = Expand(%x, %k)\n %y = MatMul(%a, %w)  \"product\"\n"
	 " %z = Gather(%y, %i) {axis=0}  \"row\" }",
	 5, {{{{2}, {4, 16}}, {{1}, {1, 2, 3, 4}}, {{0}, {3}}},
	     {{{2}, {6, 16}}, {{1}, {5, 2, 3, 4}}, {{0}, {6}}},
	     {{{2}, {6, 16}}, {{1}, {5, 2, 3, 4}}, {{0}, {5}}},
	     {{{2}, {6, 12}}, {{1}, {5, 2, 3, 4}}, {{0}, {5}}},
	     {{{2}, {70000, 16}}, {{1}, {5, 2, 3, 4}}, {{0}, {5}}}}},
	{"graph branch(%c: i64, %x: f32[N], %k: i64[2]) -> %y {"
	 " %b = Cast(%c) {to=9}\n %y = If(%b)  \"if\" then_branch {\n"
	 "  %n = NonZero(%x)\n  %u = BitwiseOr(%k, %c)\n  %f = ConstantOfShape(%u)  \"fill\"\n"
	 "  %g = Gather(%f, %n) {axis=0}\n  %r = Flatten(%g)  yield %r\n } else_branch {\n"
	 "  %p = Pad(%x, %k)  \"pad\"\n  %t = Reshape(%p, %k)  \"shape\"  yield %t\n } }",
	 5, {{{{0}, {1}}, {{3}, {1, 0, 2}}, {{2}, {2, 3}}},
	     {{{0}, {1}}, {{3}, {1, 3, 2}}, {{2}, {5, 3}}},
	     {{{0}, {1}}, {{3}, {1, 3, 2}}, {{2}, {5, -1}}},
	     {{{0}, {0}}, {{3}, {3, 4, 5}}, {{2}, {5, 2}}},
	     {{{0}, {0}}, {{2}, {3, 4}}, {{2}, {2, 2}}}}},
	{"graph loop(%m: i64, %x: f32[N], %p: i64[2]) -> %y, %z {"
	 " %y, %z = Loop(%m, _, %x)  \"loop\" body(%i, %c, %v) {\n"
	 "  %w = Pad(%v, %p)  \"pad\"\n  %u = BitwiseOr(%p, %m)\n"
	 "  %o = ConstantOfShape(%u)\n  %s = ReduceSum(%o) {keepdims=0}\n"
	 "  yield %c, %w, %s\n } }",
	 5, {{{{0}, {2}}, {{3}, {1, 2, 3}}, {{2}, {1, 2}}},
	     {{{0}, {2}}, {{3}, {1, 2, 3}}, {{2}, {4, -4}}},
	     {{{0}, {2}}, {{3}, {1, 2, 3}}, {{2}, {4, 2}}}, {{{0}, {0}}, {{2}, {7}}, {{2}, {3, -4}}},
	     {{{0}, {1}}, {{2}, {7}}, {{2}, {3, 900000}}}}},
	{"graph inner(%m: i64, %x: f32[N], %p: i64[2]) -> %y {"
	 " %y = Loop(%m, _, %x)  \"loop\" body(%i, %c, %v) {\n"
	 "  %u = BitwiseOr(%p, %m)\n  %o = ConstantOfShape(%u)  \"fill\"\n  %e = Exp(%o)\n"
	 "  %s = ReduceSum(%e) {keepdims=0}\n  %w = Add(%v, %s)\n  yield %c, %w\n } }",
	 4, {{{{0}, {2}}, {{3}, {1, 2, 3}}, {{2}, {1, 2}}},
	     {{{0}, {2}}, {{3}, {1, 2, 3}}, {{2}, {4, -4}}},
	     {{{0}, {2}}, {{3}, {1, 2, 3}}, {{2}, {4, 2}}},
	     {{{0}, {2}}, {{3}, {1, 2, 3}}, {{2}, {900000, 2}}}}},
	{"graph scan(%x: f32[N,M], %k: i64[2], %i: i64) -> %y, %z {"
	 " %s = ConstantOfShape(%k)  \"fill\"\n %y, %z = Scan(%s, %x) {num_scan_inputs=1}  \"scan\""
	 " body(%a, %u) {\n  %v = Gather(%u, %i) {axis=0}  \"pick\"\n  %b = Add(%a, %v)\n"
	 "  %n = NonZero(%b)\n  %d = Shape(%n)\n  yield %b, %d\n } }",
	 5, {{{{2, 3}, {1, 2, 3, 4}}, {{2}, {2, 3}}, {{0}, {1}}},
	     {{{2, 3}, {1, 2, 3, 4}}, {{2}, {5, -1}}, {{0}, {1}}},
	     {{{2, 3}, {1, 2, 3, 4}}, {{2}, {5, 3}}, {{0}, {3}}},
	     {{{2, 4}, {1, 2, 3, 4}}, {{2}, {5, 3}}, {{0}, {3}}},
	     {{{0, 4}, {1}}, {{2}, {3, 3}}, {{0}, {-9}}}}},
	{"graph deep(%m: i64, %k: i64[2], %x: f32[N]) -> %y {"
	 " %y = Loop(%m, _, %x)  \"outer\" body(%i, %c, %v) {\n"
	 "  %odd = Cast(%i) {to=9}\n  %w = If(%odd)  \"if\" then_branch {\n"
	 "   %f = ConstantOfShape(%k)  \"fill\"\n   %q = ReduceSum(%f) {keepdims=0}\n"
	 "   %j = Add(%v, %q)  yield %j\n  } else_branch {\n"
	 "   %l = Loop(%m, _, %v)  \"inner\" body(%i2, %c2, %v2) {\n"
	 "    %p = Pad(%v2, %k)  \"pad\"  yield %c2, %p\n   }\n   yield %l\n  }\n"
	 "  yield %c, %w\n } }",
	 5, {{{{0}, {2}}, {{2}, {2, 3}}, {{2}, {1, 2}}}, {{{0}, {2}}, {{2}, {5, -1}}, {{2}, {1, 2}}},
	     {{{0}, {2}}, {{2}, {5, 3}}, {{2}, {1, 2}}}, {{{0}, {1}}, {{2}, {-9, 3}}, {{3}, {1, 2}}},
	     {{{0}, {3}}, {{2}, {1, 0}}, {{3}, {1, 2}}}}},
	{"graph range(%a: i64, %b: i64) -> %y, %z {"
	 " %c: i64 = {2}\n %y = Range(%a, %b, %c)  \"range\"\n %z = NonZero(%y) }",
	 5, {{{{0}, {0}}, {{0}, {6}}}, {{{0}, {-5}}, {{0}, {900000}}}, {{{0}, {-5}}, {{0}, {6}}},
	     {{{0}, {9}}, {{0}, {6}}}, {{{0}, {0}}, {{0}, {INT64_MAX}}}}},
	{"graph most(%x: f32[N], %k: i64[1]) -> %y, %z {"
	 " %y, %z = TopK(%x, %k)  \"topk\" }",
	 5, {{{{4}, {1, 4, 3, 2}}, {{1}, {2}}}, {{{4}, {1, 4, 3, 2}}, {{1}, {5}}},
	     {{{4}, {2, 4, 3, 2}}, {{1}, {4}}}, {{{5}, {2, 4, 3, 2}}, {{1}, {5}}},
	     {{{5}, {2, 4, 3, 2}}, {{1}, {-1}}}}},
};
/* clang-format on */

enum { NCASE = sizeof CASES / sizeof *CASES };

/* ---- Sessions that can be made to fail ---- */

typedef struct Session {
	TwSession *session;
	TwBundle *bundle;
	_Alignas(16) unsigned char memory[MOST_INPUTS][MOST_BYTES];
	int64_t dims[MOST_INPUTS][2]; /* as bound */
	bool is_bound, always_binds;
	long allocations; /* until the one that fails, */
	long steps;       /* and until the run is cancelled; below 0: neither */
	volatile int cancel;
} Session;

static void *
allocate(void *context, size_t bytes, size_t alignment)
{
	void *memory = NULL;
	Session *s = context;
	if (s->allocations >= 0 && s->allocations-- == 0)
		return NULL;
	return posix_memalign(&memory, alignment, bytes) ? NULL : memory;
}

static void
release(void *context, void *memory, size_t bytes)
{
	(void)context;
	(void)bytes;
	free(memory);
}

static void
count_step(void *context, const TwStep *step)
{
	Session *s = context;
	(void)step;
	if (s->steps >= 0 && s->steps-- == 0)
		s->cancel = 1;
}

static TwError error;

static void
session_open(Session *s, TwBundle *bundle, bool always_binds)
{
	*s = (Session){.bundle = bundle, .always_binds = always_binds, .allocations = -1, .steps = -1};
	TwSessionOptions options = {.size = sizeof options,
	                            .threads = 1,
	                            .allocate = allocate,
	                            .release = release,
	                            .memory_context = s,
	                            .memory_limit = LIMIT,
	                            .cancel = &s->cancel,
	                            .profile = count_step,
	                            .profile_context = s};
	ck_assert_msg(!tw_session_new(bundle, &options, &s->session, &error), "%s", error.text);
}

/* Put numbers where inputs are bound, or bind them. */
static void
give(Session *s, const Given *given)
{
	for (int i = 0; i < tw_input_count(s->bundle); i++) {
		const TwTensorInfo *info = tw_input(s->bundle, i);
		size_t count = 1;
		for (int d = 0; d < info->rank; d++)
			count *= (size_t)(info->dims[d].value >= 0 ? info->dims[d].value : given[i].dims[d]);
		int64_t dims[2] = {given[i].dims[0], info->rank == 2 ? given[i].dims[1] : 0};
		if (info->rank == 2 && info->dims[1].value >= 0)
			dims[1] = info->dims[1].value;
		for (size_t k = 0; k < count && k < MOST_BYTES / 8; k++)
			if (info->type == TW_F32)
				((float *)(void *)s->memory[i])[k] = (float)given[i].values[k % 4];
			else
				((int64_t *)(void *)s->memory[i])[k] = given[i].values[k % 4];
		if (s->is_bound && !s->always_binds && memcmp(dims, s->dims[i], sizeof dims) == 0)
			continue;
		memcpy(s->dims[i], dims, sizeof dims);
		TwCode code =
			tw_bind_input(s->session, i, s->memory[i], MOST_BYTES, info->rank, dims, &error);
		ck_assert_msg(!code, "%s", error.text);
	}
	s->is_bound = true;
}

/* What a run said, or gave: as text. */
typedef struct Answer {
	TwCode code;
	char text[40000];
} Answer;

static size_t
print_tensor(const TwTensor *tensor, char *text, size_t size)
{
	size_t used = 0, unit = tensor->type == TW_F32 ? 4 : 8;
	for (int d = 0; d < tensor->rank; d++)
		used += (size_t)snprintf(text + used, size - used, "%lld,", (long long)tensor->dims[d]);
	for (size_t i = 0; i < tensor->bytes / unit && used + 40 < size; i++) {
		float number = 0;
		int64_t integer = 0;
		const char *at = (const char *)tensor->data + i * unit;
		memcpy(unit == 4 ? (void *)&number : (void *)&integer, at, unit);
		used += (size_t)snprintf(text + used, size - used, " %g", number + (double)integer);
	}
	return used + (size_t)snprintf(text + used, size - used, ";");
}

static void
run(Session *s, const Given *given, Answer *answer)
{
	size_t used = 0;
	*answer = (Answer){0};
	give(s, given);
	answer->code = tw_run(s->session, &error);
	s->cancel = 0;
	if (answer->code)
		snprintf(answer->text, sizeof answer->text, "%s", error.text);
	for (int i = 0; i < tw_output_count(s->bundle) && !answer->code; i++) {
		TwTensor tensor;
		ck_assert(!tw_get_output(s->session, i, &tensor, &error));
		used += print_tensor(&tensor, answer->text + used, sizeof answer->text - used);
	}
}

static void
check_same(const Case *c, const char *what, const Answer *seen, const Answer *wanted)
{
	const int head = 400; /* of a line that would be long */
	bool is_same = seen->code == wanted->code && strcmp(seen->text, wanted->text) == 0;
	if (!is_same && (seen->code != TW_MEMORY || wanted->code != TW_MEMORY)) /* it says how much */
		ck_abort_msg("%.14s, %s: code %d, %.*s; a fresh session gives code %d, %.*s", c->text, what,
		             (int)seen->code, head, seen->text, (int)wanted->code, head, wanted->text);
}

/* ---- Tests ---- */

static char folder[] = "/tmp/tw-refused-XXXXXX";

static void
set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void
tear_down(void)
{
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0);
}

static Answer fresh[MOST_SITUATIONS];

/* The case's bundle, and what fresh sessions answer. */
static TwBundle *
open_case(const Case *c)
{
	char path[64], command[400];
	snprintf(path, sizeof path, "%s/m.g", folder);
	FILE *file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs(c->text, file);
	fclose(file);
	const char *tw = getenv("TILEWRIGHT");
	snprintf(command, sizeof command, "%s compile -q --tune none --prove none %s -o %s/m.twb",
	         tw ? tw : "build/tilewright", path, folder);
	ck_assert_int_eq(system(command), 0);
	snprintf(path, sizeof path, "%s/m.twb", folder);
	TwBundle *bundle;
	ck_assert_msg(!tw_open(path, NULL, &bundle, &error), "%s", error.text);
	int good = 0;
	for (int i = 0; i < c->count; i++) {
		Session s;
		session_open(&s, bundle, true);
		run(&s, c->situations[i], &fresh[i]);
		good += fresh[i].code == TW_OK;
		tw_session_free(s.session);
	}
	ck_assert_msg(good >= 2 && good < c->count, "%.14s: %d situations are good", c->text, good);
	return bundle;
}

/* Three runs in a row, each of any situation. */
static void
try_three(const Case *c, TwBundle *bundle, int number, bool always_binds)
{
	Session s;
	session_open(&s, bundle, always_binds);
	for (int i = 0; i < 3; i++, number /= c->count) {
		char what[40];
		Answer seen;
		snprintf(what, sizeof what, "run %d, situation %d", i, number % c->count);
		run(&s, c->situations[number % c->count], &seen);
		check_same(c, what, &seen, &fresh[number % c->count]);
	}
	tw_session_free(s.session);
}

START_TEST(sizes_and_data)
{
	const Case *c = &CASES[_i];
	TwBundle *bundle = open_case(c);
	for (int number = 0; number < c->count * c->count * c->count; number++)
		for (int always_binds = 0; always_binds < 2; always_binds++)
			try_three(c, bundle, number, always_binds);
	tw_close(bundle);
}
END_TEST

/* Between two runs one that fails at the n-th allocation, or is cancelled behind the n-th step.
 * False when n is beyond them. */
static bool
try_failing(const Case *c, TwBundle *bundle, int from, int to, int n, bool is_cancel)
{
	Session s;
	Answer seen;
	session_open(&s, bundle, false);
	run(&s, c->situations[from], &seen);
	*(is_cancel ? &s.steps : &s.allocations) = n;
	run(&s, c->situations[to], &seen);
	bool is_over = s.steps >= 0 || s.allocations >= 0;
	s.steps = s.allocations = -1;
	if (seen.code != TW_CANCELLED && seen.code != TW_MEMORY)
		check_same(c, is_cancel ? "a run not cancelled" : "a run with memory", &seen, &fresh[to]);
	run(&s, c->situations[to], &seen);
	check_same(c, is_cancel ? "behind a cancelled run" : "behind a run without memory", &seen,
	           &fresh[to]);
	run(&s, c->situations[from], &seen);
	check_same(c, "and back", &seen, &fresh[from]);
	tw_session_free(s.session);
	return !is_over;
}

START_TEST(memory_and_cancel)
{
	enum { MOST = 500 };
	const Case *c = &CASES[_i];
	TwBundle *bundle = open_case(c);
	int failed = 0;
	for (int pair = 0; pair < c->count * c->count; pair++)
		for (int is_cancel = 0; is_cancel < 2; is_cancel++)
			for (int n = 0; n < MOST; n++, failed++)
				if (!try_failing(c, bundle, pair / c->count, pair % c->count, n, is_cancel))
					break;
	ck_assert_int_ge(failed, c->count);
	tw_close(bundle);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("refused");
	tcase_add_unchecked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, sizes_and_data, 0, NCASE);
	tcase_add_loop_test(t, memory_and_cancel, 0, NCASE);
	return unit_run(t);
}
