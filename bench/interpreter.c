/* How fast the interpreter is: multiply-adds a second on products and convolutions, in both modes,
 * and of 64 points of the result.
 *
 * usage: build/bench-interpreter      the median of 5 runs each; one thread
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "expr/interp/points.h"

enum { RUNS = 5, POINTS = 64 };

typedef struct Case {
	const char *name, *text;
	double terms;     /* multiply-adds */
	double of_points; /* of 64 points of the result */
	bool is_large;    /* points only */
} Case;

static const Case cases[] = {
	{"matmul 256",
     "expr e(A: f32[256,256], B: f32[256,256]) -> Y {\n"
     " Y[m:256, n:256]: f32 = sum(k:256) A[m,k] * B[k,n]\n}\n",
     256.0 * 256 * 256, 64.0 * 256, false},
	{"conv 3x3, 64 channels",
     "expr e(X: f32[1,64,28,28], W: f32[64,64,3,3]) -> Y {\n"
     " Y[n:1, f:64, p:28, q:28]: f32 = sum(c:64, r:3, s:3 where 0 <= p+r-1, p+r-1 < 28,"
     " 0 <= q+s-1, q+s-1 < 28) X[n, c, p+r-1, q+s-1] * W[f, c, r, s]\n}\n",
     64.0 * 64 * 28 * 28 * 9, 64.0 * 576, false},
	{"conv 1x1, 256 channels",
     "expr e(X: f32[1,256,14,14], W: f32[256,256]) -> Y {\n"
     " Y[n:1, f:256, p:14, q:14]: f32 = sum(c:256) X[n, c, p, q] * W[f, c]\n}\n",
     256.0 * 256 * 14 * 14, 64.0 * 256, false},
	{"conv 3x3, 512 channels",
     "expr e(X: f32[1,512,14,14], W: f32[512,512,3,3]) -> Y {\n"
     " Y[n:1, f:512, p:14, q:14]: f32 = sum(c:512, r:3, s:3 where 0 <= p+r-1, p+r-1 < 14,"
     " 0 <= q+s-1, q+s-1 < 14) X[n, c, p+r-1, q+s-1] * W[f, c, r, s]\n}\n",
     512.0 * 512 * 14 * 14 * 9, 64.0 * 4608, true},
	{"relu and matmul 4096",
     "expr e(A: f32[64,4096], B: f32[4096,4096]) -> Y {\n"
     " X[m:64, k:4096]: f32 = max(A[m,k], 0)\n"
     " Y[m:64, n:4096]: f32 = sum(k:4096) X[m,k] * B[k,n]\n}\n",
     64.0 * 4096 * 4096, 64.0 * 4096, true},
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
		program_eval_bound(arena, program, NULL, bounds, &bound, (BoundWay){0});
	else
		program_eval(arena, program, NULL, inputs, &out);
	double seconds = now() - start;
	arena_free(arena);
	return seconds;
}

static double
run_points(const Program *program, const Array *const *inputs)
{
	Arena *arena = arena_new("points");
	PointInput in[2];
	int64_t at[POINTS];
	PointSet set = {.count = POINTS, .at = at}, *sets = &set;
	const PointInput *given[2] = {&in[0], &in[1]};
	const int64_t *dims;
	for (int i = 0; i < 2; i++)
		in[i] =
			(PointInput){inputs[i]->type, inputs[i]->rank, inputs[i]->dims, NULL, inputs[i]->data};
	int rank = program_output_dims(arena, program, NULL, given, 0, &dims);
	for (int i = 0; i < POINTS; i++)
		at[i] = i * (dims_count(rank, dims) - 1) / (POINTS - 1);
	double start = now();
	program_eval_points(arena, program, NULL, given, &sets, 1e9, (PointWay){0});
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
	double exact[RUNS] = {0}, bound[RUNS] = {0}, points[RUNS];
	for (int i = 0; i < 2; i++) {
		inputs[i] = made_up(arena, program->inputs[i]);
		bounds[i] = c->is_large ? NULL : bound_from_array(arena, inputs[i]);
	}
	for (int r = 0; r < RUNS; r++) {
		points[r] = run_points(program, inputs);
		if (c->is_large)
			continue;
		exact[r] = run_once(program, inputs, NULL);
		bound[r] = run_once(program, inputs, bounds);
	}
	qsort(exact, RUNS, sizeof *exact, by_value);
	qsort(bound, RUNS, sizeof *bound, by_value);
	qsort(points, RUNS, sizeof *points, by_value);
	printf("%-24s", c->name);
	if (c->is_large)
		printf(" %9s %9s", "", "");
	else
		printf(" %9.0f %9.0f", c->terms / exact[RUNS / 2] / 1e6, c->terms / bound[RUNS / 2] / 1e6);
	printf(" %9.0f %9.2f\n", c->of_points / points[RUNS / 2] / 1e6, 1e3 * points[RUNS / 2]);
	arena_free(arena);
}

int
main(void)
{
	Failure failure;
	printf("M multiply-adds / s          exact     bound  64 points   (ms)\n");
	for (size_t i = 0; i < countof(cases); i++)
		if (!try_run(run_case, (void *)(uintptr_t)&cases[i], &failure)) {
			fprintf(stderr, "%s\n", failure.text);
			return failure.kind;
		}
	return 0;
}
