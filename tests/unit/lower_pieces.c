/* One answer to how many pieces a kernel has: SplitReduction cuts a long sum if the loops that the
 * compiler makes of it, by all its passes, have few, and those of its chunks more.
 */
#include "expr/scalar/ctx.h"
#include "lower/lower.h"
#include "passes/manager.h"
#include "program/group.h"
#include "random_number.h"
#include "tir/loops/loops.h"
#include "unit.h"

static uint64_t state = 1;

static int
pick(int below)
{
	return (int)random_below(&state, (unsigned)below);
}

static int
extent(void)
{
	static const int some[] = {1, 1, 2, 3, 7, 8, 12, 16, 16, 24, 33, 64, 113, 512};
	return some[pick(countof(some))];
}

/* Products with every factor in lanes, with windows, behind maps; rows and columns; of some 2^20
 * terms. */
static const char *
program_text(Arena *arena)
{
	int m = extent(), n = extent(), b = 1 + pick(3), taps = 1 + pick(4), k;
	while (m * n > 4096)
		m = extent();
	k = (1 << 20) / (m * n) + pick(64) + 1;
	switch (pick(5)) {
	case 0:
		return arena_printf(arena,
		                    "expr f(X: f32[%d,%d,%d], W: f32[%d,%d]) -> Y {\n"
		                    " Y[b:%d, m:%d, n:%d]: f32 = sum(k:%d) X[b, m, k] * W[k, n]\n}\n",
		                    b, m, k, k, n, b, m, n, k);
	case 1:
		return arena_printf(arena,
		                    "expr f(X: f32[%d,%d], W: f32[%d,%d]) -> Y {\n"
		                    " T[n:%d, m:%d]: f32 = sum(k:%d) X[m, k] * W[n, k]\n"
		                    " Y[n:%d, m:%d]: f32 = max(T[n, m], 0)\n}\n",
		                    m, k, n, k, n, m, k, n, m);
	case 2:
		return arena_printf(
			arena,
			"expr f(X: f32[%d,%d,%d], W: f32[%d,%d,16]) -> Y {\n"
			" Y[f:%d, p:%d, v:16]: f32 = sum(r:%d, k:%d) X[k, p+r, 0] * W[f, k, v]\n}\n",
			k, m + taps, 1, n, k, n, m, taps, k);
	case 3:
		return arena_printf(arena,
		                    "expr f(X: f32[%d,%d]) -> Y {\n"
		                    " Y[m:%d]: f32 = %s(k:%d) X[m, k]\n}\n",
		                    m * n, k, m * n, pick(2) ? "sum" : "max", k);
	default:
		return arena_printf(arena,
		                    "expr f(X: f32[%d,%d,%d]) -> Y {\n"
		                    " Y[b:%d, n:%d]: f32 = %s(k:%d) X[b, k, n]\n}\n",
		                    m, k, n, m, n, pick(2) ? "sum" : "max", k);
	}
}

static const char *
text_of(Arena *arena, const Program *program)
{
	Buf buf = {.arena = arena};
	program_print(&buf, program);
	return buf_text(&buf);
}

/* Parallel pieces of the kernel that the compiler makes of it. */
static int64_t
pieces_of(const Program *part, PassContext *context)
{
	static const Loc none = {0};
	Arena *arena = context->arena;
	int count = part->ninput + part->noutput;
	ProgramUnit unit = {.arena = arena,
	                    .name = "k",
	                    .target = context->target,
	                    .program = part,
	                    .layouts = NEW_N(arena, const char *, count + 1),
	                    .fixed = NEW_N(arena, bool, count + 1)};
	run_passes(context, IR_nest, &unit);
	const Dim *const **dense = NEW_N(arena, const Dim *const *, count + 1);
	Kernel *kernel = lower_group(arena, unit.program, dense, "k", &none, "", context->target, 0);
	pass_ApplySchedule(kernel, context);
	kernel_finish(kernel);
	return probe_dim(context->target, kernel->extent);
}

enum Fate { MANY, CUT, LEFT };

/* A long sum is cut only if its kernel would have few pieces, and what then runs in front has more.
 * LEFT: it has few, and would have no more. */
static enum Fate
check_split(const Program *program, PassContext *context)
{
	ProgramUnit unit = {.arena = context->arena, .target = context->target, .program = program};
	int64_t before = pieces_of(program, context);
	if (!pass_SplitReduction(&unit, context))
		return before < 8 ? LEFT : MANY;
	int64_t after = pieces_of(program_part(context->arena, unit.program, 0, 1), context);
	ck_element_msg(before < 8 && after > before, "%lld pieces, cut, and then %lld:\n%s",
	               (long long)before, (long long)after, text_of(context->arena, unit.program));
	return CUT;
}

static enum Fate
check_text(const char *text, const char *device)
{
	Arena *arena = arena_new("test");
	Target target = {.device = device_find(device)};
	PassContext context = {.arena = arena, .level = 3, .target = &target};
	enum Fate fate = check_split(program_parse(expr_ctx_new(arena), "random.e", text), &context);
	arena_free(arena);
	return fate;
}

START_TEST(long_sums)
{
	static const char *const devices[] = {"cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:aarch64"};
	Arena *arena = arena_new("texts");
	int count[3] = {0};
	for (int i = 0; i < 1000; i++)
		count[check_text(program_text(arena), devices[i % 3])]++;
	ck_assert_int_gt(count[MANY], 200);
	ck_assert_int_gt(count[CUT], 200);
	ck_assert_int_lt(count[LEFT], 10);
	arena_free(arena);
}
END_TEST

/* A tile of 8 x 16 sums in registers is one piece, however many results that are. */
START_TEST(one_tile)
{
	ck_assert_int_eq(CUT, check_text("expr f(X: f32[8,65536], W: f32[65536,16]) -> Y {\n"
	                                 " Y[m:8, n:16]: f32 = sum(k:65536) X[m, k] * W[k, n]\n}\n",
	                                 "cpu:x86-64-v4"));
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("pieces");
	tcase_add_test(tcase, long_sums);
	tcase_add_test(tcase, one_tile);
	return unit_run(tcase);
}
