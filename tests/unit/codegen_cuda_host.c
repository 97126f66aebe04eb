/* The CUDA C of kernels, compiled as C++ of fibers for this machine, computes what the
 * interpreter does, bit for bit: kernels by hand, and random programs of threads.
 *
 * Skipped where there is no C++ compiler ($CXX, or c++).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "codegen/cuda/cuda.h"
#include "cuda_kernels.h"
#include "cuda_run.h"
#include "thread_pairs.h"
#include "thread_scripts.h"
#include "thread_steps.h"
#include "unit.h"

enum { PROGRAMS = 400, MAX_KERNELS = PROGRAMS + 64 };

static const Target target = {0};

/* A kernel on the host beside the interpreter. */
static void
compare_kernel(void *library, int index, const Kernel *kernel, const char *text)
{
	Array *arrays[MAX_BUFFERS];
	void *places[MAX_BUFFERS];
	int64_t symbols[MAX_BUFFERS];
	make_arrays(kernel, arrays);
	for (int i = 0; i < kernel->buffers.count; i++)
		places[i] = arrays[i]->data;
	for (int i = 0; i < MAX_BUFFERS; i++)
		symbols[i] = BATCH;
	launch_on_host(library, index, places, symbols);
	const Array *seen = arrays[kernel->buffers.count - 1], *expected = evaluated(kernel);
	ck_assert_msg(memcmp(seen->data, expected->data, array_bytes(expected)) == 0,
	              "the CUDA C computes something else:\n%s", text);
}

/* Compile all, run all. */
static void
compare_all(int count, Kernel *const *kernels, const char *const *texts)
{
	Target gpu = target;
	gpu.device = device_find("cuda:h100");
	Kernel *printed_kernels[MAX_KERNELS];
	for (int i = 0; i < count; i++)
		printed_kernels[i] = read_kernel(printed(kernels[i]));
	void *library = load_on_host(arena, &gpu, count, printed_kernels);
	for (int i = 0; i < count; i++)
		compare_kernel(library, i, kernels[i], texts[i]);
	dlclose(library);
}

START_TEST(test_pairs)
{
	Kernel *kernels[MAX_KERNELS];
	const char *texts[MAX_KERNELS];
	int count = 0;
	for (size_t i = 0; i < countof(pairs); i++)
		texts[count++] = pairs[i].threads;
	for (size_t i = 0; i < countof(pairs); i++)
		if (strstr(pairs[i].threads, "f16["))
			texts[count++] = replaced(pairs[i].threads, "f16", "bf16");
	for (size_t i = 0; i < countof(cuda_kernels); i++)
		texts[count++] = cuda_kernels[i];
	for (int i = 0; i < count; i++) {
		kernels[i] = read_kernel(texts[i]);
		kernel_check(kernels[i]);
	}
	compare_all(count, kernels, texts);
}
END_TEST

/* What schedules make of loops: by hand, and of the lesson. */
START_TEST(test_scripts)
{
	ThreadScript scripts[countof(thread_scripts) + MAX_LESSONS];
	Kernel *kernels[countof(scripts)];
	const char *texts[countof(scripts)];
	int count = lesson_scripts(scripts);
	for (size_t i = 0; i < countof(thread_scripts); i++)
		scripts[count++] = thread_scripts[i];
	for (int i = 0; i < count; i++) {
		kernels[i] = scheduled(&scripts[i]);
		texts[i] = scripts[i].steps;
	}
	compare_all(count, kernels, texts);
}
END_TEST

/* Every other one behind all passes over loops. */
START_TEST(test_random)
{
	Kernel *kernels[MAX_KERNELS];
	const char *texts[MAX_KERNELS];
	int count = 0;
	for (uint64_t seed = 1; count < PROGRAMS; seed++) {
		uint64_t state = seed;
		Steps steps = make_steps(&state);
		if (is_wrong(&steps))
			continue;
		texts[count] = program_text(&steps, false);
		kernels[count] = read_kernel(texts[count]);
		if (seed % 2)
			take_passes(kernels[count]);
		count++;
	}
	compare_all(count, kernels, texts);
}
END_TEST

int
main(void)
{
	if (!has_host_compiler()) {
		printf("skipped: for want of c++: %s\n", host_compiler());
		return 0;
	}
	TCase *tests = tcase_create("host");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_pairs);
	tcase_add_test(tests, test_scripts);
	tcase_add_test(tests, test_random);
	return unit_run(tests);
}
