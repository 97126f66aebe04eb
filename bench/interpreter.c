/* How fast the interpreter is: multiply-adds a second on products and convolutions, in both modes.
 *
 * usage: build/bench-interpreter      the median of 5 runs each; one thread
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "expr/interp.h"

enum { RUNS = 5 };

typedef struct Case {
	const char *name, *text;
	double terms; /* multiply-adds */
} Case;

static const Case cases[] = {
	{"matmul 256",
     "expr e(A: f32[256,256], B: f32[256,256]) -> Y {\n"
     " Y[m:256, n:256]: f32 = sum(k:256) A[m,k] * B[k,n]\n}\n",
     256.0 * 256 * 256},
	{"conv 3x3, 64 channels",
     "expr e(X: f32[1,64,28,28], W: f32[64,64,3,3]) -> Y {\n"
     " Y[n:1, f:64, p:28, q:28]: f32 = sum(c:64, r:3, s:3 where 0 <= p+r-1, p+r-1 < 28,"
     " 0 <= q+s-1, q+s-1 < 28) X[n, c, p+r-1, q+s-1] * W[f, c, r, s]\n}\n",
     64.0 * 64 * 28 * 28 * 9},
	{"conv 1x1, 256 channels",
     "expr e(X: f32[1,256,14,14], W: f32[256,256]) -> Y {\n"
     " Y[n:1, f:256, p:14, q:14]: f32 = sum(c:256) X[n, c, p, q] * W[f, c]\n}\n",
     256.0 * 256 * 14 * 14},
};

static double
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static Array *
made_up(Arena *arena, const Tensor *tensor)
{
	int64_t dims[8];
	for (int d = 0; d < tensor->rank; d++)
		dim_is_const(tensor->hi[d], &dims[d]);
	Array *array = array_new(arena, DT_F32, tensor->rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		((float *)array->data)[i] = (float)((i * 37 + 11) % 101) / 101.0f;
	return array;
}

static double
run_once(const Program *program, const Array *const *inputs, const BoundArray *const *bounds)
{
	Arena *arena = arena_new("run");
	Array *out;
	BoundArray *bound;
	double start = now();
	if (bounds)
		program_eval_bound(arena, program, NULL, bounds, &bound, 0);
	else
		program_eval(arena, program, NULL, inputs, &out);
	double seconds = now() - start;
	arena_free(arena);
	return seconds;
}

static void
run_case(void *arg)
{
	const Case *c = arg;
	Arena *arena = arena_new("case");
	ExprCtx *ctx = expr_ctx_new(arena);
	Program *program = program_parse(ctx, c->name, c->text);
	const Array *inputs[2];
	const BoundArray *bounds[2];
	double exact[RUNS], bound[RUNS];
	for (int i = 0; i < 2; i++) {
		inputs[i] = made_up(arena, program->inputs[i]);
		bounds[i] = bound_from_array(arena, inputs[i]);
	}
	for (int r = 0; r < RUNS; r++) {
		exact[r] = run_once(program, inputs, NULL);
		bound[r] = run_once(program, inputs, bounds);
	}
	qsort(exact, RUNS, sizeof *exact, by_value);
	qsort(bound, RUNS, sizeof *bound, by_value);
	printf("%-24s %9.0f %9.0f\n", c->name, c->terms / exact[RUNS / 2] / 1e6,
	       c->terms / bound[RUNS / 2] / 1e6);
	arena_free(arena);
}

int
main(void)
{
	Failure failure;
	printf("M multiply-adds / s          exact     bound\n");
	for (size_t i = 0; i < countof(cases); i++)
		if (!try_run(run_case, (void *)(uintptr_t)&cases[i], &failure)) {
			fprintf(stderr, "%s\n", failure.text);
			return failure.kind;
		}
	return 0;
}
