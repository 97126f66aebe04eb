/* Kernels in tests: read from texts, printed, and evaluated on the same data. */
#ifndef UNIT_KERNELS_H
#define UNIT_KERNELS_H

#include <string.h>

#include "base/array.h"
#include "tir/stmt.h"

#include <check.h>

static const char CONV[] =
	"kernel conv(N, X: f32[N,2,9,9], W: f32[3,2,3,3], Y: out f32[N,3,5,5]) \"conv1; naive\" {\n"
	"  for n in N @parallel\n"
	"    for f in 3 @parallel\n"
	"      for p in 5, q in 5 {\n"
	"        acc: f32 @reg = 0\n"
	"        for c in 2, r in 3, s in 3\n"
	"          if (0 <= 2*p+r-1 && 2*p+r-1 < 9 && 0 <= 2*q+s-1 && 2*q+s-1 < 9)\n"
	"            acc[] += X[n, c, 2*p+r-1, 2*q+s-1] * W[f, c, r, s]\n"
	"        Y[n, f, p, q] = max(acc[], 0)\n"
	"      }\n"
	"}\n";

static Arena *arena;
static ExprCtx *ctx;

static void
setup(void)
{
	arena = arena_new("test");
	ctx = expr_ctx_new(arena);
}

static void
teardown(void)
{
	arena_free(arena);
}

static inline Kernel *
read_kernel(const char *text)
{
	return kernel_parse(arena, ctx, "test.l", text);
}

static inline const char *
printed(const Kernel *kernel)
{
	Buf buf = {.arena = arena};
	kernel_print(&buf, kernel);
	return buf_text(&buf);
}

enum { BATCH = 3, MAX_BUFFERS = 8 };

/* Every symbol is BATCH. */
static inline Binding
batch_binding(void)
{
	int64_t *values = NEW_N(arena, int64_t, 64);
	bool *is_bound = NEW_N(arena, bool, 64);
	for (int i = 0; i < 64; i++) {
		values[i] = BATCH;
		is_bound[i] = true;
	}
	return (Binding){64, values, is_bound};
}

/* Arguments of fixed data. */
static inline void
make_arrays(const Kernel *kernel, Array **arrays)
{
	uint64_t state = 1;
	Binding binding = batch_binding();
	for (int i = 0; i < kernel->buffers.count; i++) {
		const Tensor *tensor = &kernel->buffers.data[i]->tensor;
		int64_t dims[8];
		for (int d = 0; d < tensor->rank; d++)
			ck_assert(dim_eval(tensor->hi[d], &binding, &dims[d]));
		arrays[i] = array_new(arena, tensor->type, tensor->rank, dims);
		for (int64_t k = 0; k < array_count(arrays[i]); k++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			/* small integers: sums are exact, so their order does not matter */
			dtype_store_f64(tensor->type, arrays[i]->data, k, (double)((int)(state >> 60) - 7));
		}
	}
}

/* Evaluate with N = BATCH on fixed data; gives the last argument's elements, and the indices
 * outside that were reported, if anyone asks. */
static inline Array *
evaluated_reporting(const Kernel *kernel, OutsideIndices *reports)
{
	Binding binding = batch_binding();
	Array *arrays[MAX_BUFFERS] = {NULL};
	make_arrays(kernel, arrays);
	kernel_eval_reporting(kernel, &binding, arrays, reports);
	return arrays[kernel->buffers.count - 1];
}

static inline Array *
evaluated(const Kernel *kernel)
{
	return evaluated_reporting(kernel, NULL);
}

/* The text with another word in place of each of this one. */
static inline const char *
replaced(const char *text, const char *word, const char *other)
{
	Buf buf = {.arena = arena};
	for (const char *at; (at = strstr(text, word)); text = at + strlen(word)) {
		buf_write(&buf, text, (size_t)(at - text));
		buf_puts(&buf, other);
	}
	buf_puts(&buf, text);
	return buf_text(&buf);
}

#endif
