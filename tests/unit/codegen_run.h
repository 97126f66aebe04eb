/* Emitted kernels beside the interpreter: compile for a target, load, run on the same data. */
#ifndef TESTS_CODEGEN_RUN_H
#define TESTS_CODEGEN_RUN_H

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/abi.h"
#include "codegen/common/bundle.h"
#include "tir/loops/loops.h"

#include <check.h> /* last: it defines fail */

/* A generator of our own, so that data are the same everywhere. */
static inline uint64_t
next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline const TwKernels *
load_kernels(Arena *arena, const Target *target, const char *text, void **library)
{
	Bytes object = codegen_compile(arena, target, text, NULL);
	char path[] = "/tmp/codegen-test-XXXXXX"; /* dlopen() knows libraries by their names */
	int fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, object.data, object.size), (ssize_t)object.size);
	close(fd);
	*library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(*library != NULL, "%s", dlerror());
	unlink(path);
	return dlsym(*library, "tw_kernels_v1");
}

/* Run a kernel over 0..extent in `pieces` parts. Symbols by position. */
static inline void
run_kernel(const TwKernels *kernels, int index, const Kernel *kernel, const Binding *binding,
           Array *const *buffers, int pieces, TwStatus *status)
{
	void *pointers[64];
	int64_t symbols[16], extent, scratch = 0;
	for (int i = 0; i < kernel->buffers.count; i++)
		pointers[i] = buffers[i]->data;
	for (int i = 0; i < kernel->symbols.count; i++)
		symbols[i] = binding->value[kernel->symbols.data[i]->id];
	ck_assert(dim_eval(kernel->extent, binding, &extent));
	if (kernel->scratch)
		ck_assert(dim_eval(kernel->scratch, binding, &scratch));
	TwArgs args = {.size = sizeof args,
	               .abi = TW_KERNEL_ABI,
	               .buffers = pointers,
	               .symbols = symbols,
	               .status = status,
	               .scratch = scratch ? aligned_alloc(64, (size_t)scratch) : NULL};
	for (int k = 0; k < pieces; k++)
		kernels->table[index](&args, extent * k / pieces, extent * (k + 1) / pieces);
	free(args.scratch);
}

/* The C text of kernels after the passes that codegen needs: the kernels are what it prints. */
static inline const char *
make_text(Arena *arena, const Target *target, int count, Kernel *const *kernels)
{
	PassContext context = {.arena = arena, .target = target};
	for (int i = 0; i < count; i++) {
		pass_Flatten(kernels[i], &context);
		pass_Vectorize(kernels[i], &context);
		pass_SplitMasks(kernels[i], &context);
		pass_Unroll(kernels[i], &context);
		pass_PlaceRegisters(kernels[i], &context);
		pass_Normalize(kernels[i], &context);
		pass_HoistBranches(kernels[i], &context);
		pass_TurnLoops(kernels[i], &context);
		pass_LICM(kernels[i], &context);
		kernel_check(kernels[i]);
	}
	return codegen_c(arena, target, count, kernels);
}

/* Fill an array: floats of both signs with exact small values mixed in, integers over their range.
 * */
static inline void
fill_random(Array *array, uint64_t *state)
{
	int64_t count = array_count(array);
	for (int64_t i = 0; i < count; i++) {
		uint64_t r = next_random(state);
		if (dtype_is_float(array->type))
			dtype_store_f64(array->type, array->data, i,
			                r % 7 == 0 ? (double)((int)(r >> 8 & 7) - 3)
			                           : ((double)(r >> 11) / 9007199254740992.0 - 0.5) * 4);
		else if (array->type == DT_BOOL)
			dtype_store_i64(array->type, array->data, i, (int64_t)(r >> 20 & 1));
		else if (dtype_class(array->type) == DC_S)
			((unsigned char *)array->data)[i * dtype_bits(array->type) / 8] =
				(unsigned char)(r >> 9);
		else
			dtype_store_i64(array->type, array->data, i, (int64_t)(r >> 7));
	}
}

static inline Binding
bind_all(Arena *arena, const Kernel *kernel, int64_t value)
{
	int count = 0;
	for (int i = 0; i < kernel->symbols.count; i++)
		if (kernel->symbols.data[i]->id >= count)
			count = kernel->symbols.data[i]->id + 1;
	int64_t *values = NEW_N(arena, int64_t, count + 1);
	bool *is_bound = NEW_N(arena, bool, count + 1);
	for (int i = 0; i < count; i++) {
		values[i] = value;
		is_bound[i] = true;
	}
	return (Binding){count, values, is_bound};
}

/* The largest difference of two arrays of one type: in units of the reference's largest value for
 * floats (0 when all bits agree; NaN agrees with NaN), else the number of differing elements. */
static inline double
array_distance(const Array *a, const Array *b)
{
	double worst = 0, scale = 1e-30;
	int64_t count = array_count(a);
	if (!dtype_is_float(a->type))
		return memcmp(a->data, b->data, array_bytes(a)) ? 1 : 0;
	for (int64_t i = 0; i < count; i++) {
		double x = dtype_load_f64(a->type, a->data, i), y = dtype_load_f64(b->type, b->data, i);
		if (isfinite(x) && fabs(x) > scale)
			scale = fabs(x);
		if (x == y || (isnan(x) && isnan(y)))
			continue;
		double d = fabs(x - y);
		worst = isfinite(d) ? (d > worst ? d : worst) : INFINITY;
	}
	return worst / scale;
}

#endif
