/* --verify=each and --verify=texts: what a pass left is compared with what it got, and a rewriting
 * that changes results is named. */
#include "unit.h"

#include <string.h>

#include "driver/options.h"
#include "driver/texts.h"
#include "driver/verify.h"
#include "expr/scalar/ctx.h"
#include "graph/infer.h"

static const char BEFORE[] = "graph g(%x: f32[2,3]) -> %y {\n"
							 "  %t = Add(%x, %x)  \"twice\"\n"
							 "  %y = Exp(%t)      \"exp\"\n"
							 "}\n";

typedef struct Rewrite {
	Options options;
	const char *pass, *before, *after;
} Rewrite;

static Graph *
graph_of(Arena *arena, const char *text)
{
	Graph *graph = graph_parse(arena, "g", text);
	graph_infer(graph);
	return graph;
}

static void
verify(void *arg)
{
	Rewrite *rewrite = arg;
	Arena *arena = rewrite->options.arena;
	Graph *before = graph_of(arena, rewrite->before), *after = graph_of(arena, rewrite->after);
	PassContext context = {
		.arena = arena, .running = rewrite->pass, .verify_arg = &rewrite->options};
	verify_texts(&context, IR_graph, before, after);
	verify_rewrite(&context, IR_graph, before, after);
}

START_TEST(equal_results_pass)
{
	Rewrite rewrite = {{.arena = arena_new("test"), .seed = 1},
	                   "Test",
	                   BEFORE,
	                   "graph g(%x: f32[2,3]) -> %y {\n  %c: f32 = {2}\n"
	                   "  %t = Mul(%x, %c)\n  %y = Exp(%t)\n}\n"};
	Failure failure;
	ck_assert_msg(try_run(verify, &rewrite, &failure), "%s", failure.text);
	arena_free(rewrite.options.arena);
}
END_TEST

START_TEST(other_results_name_the_pass)
{
	Rewrite rewrite = {{.arena = arena_new("test"), .seed = 1},
	                   "Test",
	                   BEFORE,
	                   "graph g(%x: f32[2,3]) -> %y {\n  %c: f32 = {2.00001}\n"
	                   "  %t = Mul(%x, %c)\n  %y = Exp(%t)\n}\n"};
	Failure failure;
	ck_assert(!try_run(verify, &rewrite, &failure));
	ck_assert_int_eq(failure.kind, FAIL_BUG);
	ck_assert_msg(strstr(failure.text, "Test changed output y: element 0 is") == failure.text, "%s",
	              failure.text);
	arena_free(rewrite.options.arena);
}
END_TEST

static bool
passes(const char *pass, const char *after)
{
	static const char before[] = "graph g(%x: f32[9]) -> %y { %y = Neg(%x) }";
	Rewrite rewrite = {{.arena = arena_new("test"), .seed = 1}, pass, before, after};
	Failure failure;
	bool is_equal = try_run(verify, &rewrite, &failure);
	ck_assert(is_equal || failure.kind == FAIL_BUG);
	arena_free(rewrite.options.arena);
	return is_equal;
}

/* (64 - x) - 64 rounds, where -x does not: as Winograd's forms round beside the plain sum. Rounding
 * is all that is allowed. */
START_TEST(passes_of_class_finite_have_roundings_of_their_own)
{
	static const char rounded[] = "graph g(%x: f32[9]) -> %y {\n  %c: f32 = {64}\n"
								  "  %t = Sub(%c, %x)\n  %y = Sub(%t, %c)\n}\n";
	static const char wrong[] = "graph g(%x: f32[9]) -> %y {\n  %c: f32 = {64}\n"
								"  %d: f32 = {64.0001}\n"
								"  %t = Sub(%c, %x)\n  %y = Sub(%t, %d)\n}\n";
	ck_assert(!passes("FoldBias", rounded));
	ck_assert(passes("DeriveExpressions", rounded));
	ck_assert(!passes("DeriveExpressions", wrong));
}
END_TEST

/* ---- programs and loops ---- */

typedef struct Pair {
	PassIr ir;
	const char *before, *after;
	bool is_stored; /* `after` has X and Y in blocks of 4 */
} Pair;

typedef struct PairJob {
	Arena *arena;
	const Pair *pair;
} PairJob;

static const void *
subject_of(Arena *arena, const Pair *pair, const char *text, bool is_stored)
{
	ExprCtx *ctx = expr_ctx_new(arena);
	static const char *const layouts[] = {"nc4w", "nc4w"};
	if (pair->ir == IR_loop)
		return kernel_parse(arena, ctx, "k", text);
	ProgramUnit *unit = NEW(arena, ProgramUnit);
	*unit = (ProgramUnit){.arena = arena,
	                      .name = "p",
	                      .program = program_parse(ctx, "p", text),
	                      .is_stored = is_stored,
	                      .layouts = pair->is_stored ? layouts : NULL};
	return unit;
}

static void
verify_pair(void *arg)
{
	const PairJob *job = arg;
	const Pair *pair = job->pair;
	Arena *arena = job->arena;
	PassContext context = {.arena = arena, .running = "Test", .config = {.arena = arena}};
	const void *before = subject_of(arena, pair, pair->before, false);
	verify_rewrite(&context, pair->ir, before,
	               subject_of(arena, pair, pair->after, pair->is_stored));
}

static bool
try_pair(const Pair *pair, Failure *failure)
{
	PairJob job = {arena_new("test"), pair};
	bool is_done = try_run(verify_pair, &job, failure);
	arena_free(job.arena);
	return is_done;
}

#define SUM "expr p(X: f32[N,40]) -> Y {\n  Y[n:N]: f32 = sum(k:40) X[n, k]\n}\n"
#define LOOP(body) "kernel k(X: f32[8], Y: out f32[8]) {\n  for i in 8 @parallel\n    " body "\n}\n"

static const Pair EQUAL[] = {
	{IR_nest, SUM, "expr p(X: f32[N,40]) -> Y {\n  Y[n:N]: f32 = sum(k:40) X[n, 39 - k]\n}\n",
     false},
	{IR_nest, "expr p(X: f32[2,6,5]) -> Y {\n  Y[n:2,c:6,w:5]: f32 = X[n, c, w] + 1.0\n}\n",
     "expr p(X: f32[2,2,5,4]) -> Y {\n"
     "  Y[n:2,c:2,w:5,b:4]: f32 = 4*c + b < 6 ? X[n, c, w, b] + 1.0 : 0.0\n}\n",
     true},
	{IR_loop, LOOP("Y[i] = X[i] * 2.0"), LOOP("Y[i] = X[i] + X[i]"), false},
};

static const Pair DIFFERENT[] = {
	{IR_nest, SUM, "expr p(X: f32[N,40]) -> Y {\n  Y[n:N]: f32 = sum(k:39) X[n, k]\n}\n", false},
	{IR_nest, "expr p(X: f32[2,6,5]) -> Y {\n  Y[n:2,c:6,w:5]: f32 = X[n, c, w] + 1.0\n}\n",
     "expr p(X: f32[2,2,5,4]) -> Y {\n"
     "  Y[n:2,c:2,w:5,b:4]: f32 = 4*c + b < 6 ? X[n, c, w, 3 - b] + 1.0 : 0.0\n}\n",
     true},
	{IR_loop, LOOP("Y[i] = X[i] * 2.0"), LOOP("Y[i] = X[7 - i] + X[i]"), false},
};

START_TEST(programs_and_loops)
{
	Failure failure;
	for (size_t i = 0; i < countof(EQUAL); i++)
		ck_assert_msg(try_pair(&EQUAL[i], &failure), "%zu: %s", i, failure.text);
	for (size_t i = 0; i < countof(DIFFERENT); i++) {
		ck_assert_msg(!try_pair(&DIFFERENT[i], &failure), "%zu", i);
		ck_assert_msg(strstr(failure.text, "Test changed Y of ") != NULL, "%s", failure.text);
	}
}
END_TEST

/* ---- sizes ---- */

#define MASKED(body) \
	"kernel k(P, S, T, X: f32[P + S], M: f32[T], Y: out f32[P + S]) {\n" \
	"  for i in P + S @parallel\n    " body "\n}\n"

typedef struct AssumedJob {
	PassContext *context;
	const char *after;
	bool is_open; /* T is assumed to be P + S; else more than itself */
} AssumedJob;

static void
verify_assumed(void *arg)
{
	const AssumedJob *job = arg;
	Arena *arena = job->context->arena;
	ExprCtx *ctx = expr_ctx_new(arena); /* only the pass's own knows what is assumed */
	const Dim *t = expr_symbol(ctx, symbol_get(ctx, "T"));
	const Dim *both = expr_add(ctx, expr_symbol(ctx, symbol_get(ctx, "P")),
	                           expr_symbol(ctx, symbol_get(ctx, "S")));
	dim_assume_equal(ctx, t, job->is_open ? both : expr_add(ctx, t, dim_const(ctx, 1)));
	verify_rewrite(job->context, IR_loop,
	               kernel_parse(arena, expr_ctx_new(arena), "k", MASKED("Y[i] = X[i] * M[i]")),
	               kernel_parse(arena, ctx, "k", job->after));
}

START_TEST(sizes_keep_assumptions)
{
	PassContext context = {.arena = arena_new("test"), .running = "Test"};
	AssumedJob job = {&context, MASKED("Y[i] = M[i] * X[i]"), true};
	Failure failure;
	ck_assert_msg(try_run(verify_assumed, &job, &failure), "%s", failure.text);
	ck_assert_int_eq(context.log.count, 0);
	job.after = MASKED("Y[i] = M[i] + X[i]");
	ck_assert(!try_run(verify_assumed, &job, &failure));
	ck_assert_msg(strstr(failure.text, "Test changed Y of kernel k") != NULL, "%s", failure.text);
	arena_free(context.arena);
}
END_TEST

START_TEST(without_sizes_it_is_said)
{
	PassContext context = {.arena = arena_new("test"), .running = "Test"};
	AssumedJob job = {&context, MASKED("Y[i] = M[i] * X[i]"), false};
	Failure failure;
	ck_assert_msg(try_run(verify_assumed, &job, &failure), "%s", failure.text);
	ck_assert_int_eq(context.log.count, 1);
	ck_assert_str_eq(context.log.data[0].reason,
	                 "not verified: no sizes were found that the model allows");
	arena_free(context.arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("driver_verify");
	tcase_add_test(t, equal_results_pass);
	tcase_add_test(t, other_results_name_the_pass);
	tcase_add_test(t, passes_of_class_finite_have_roundings_of_their_own);
	tcase_add_test(t, programs_and_loops);
	tcase_add_test(t, sizes_keep_assumptions);
	tcase_add_test(t, without_sizes_it_is_said);
	return unit_run(t);
}
