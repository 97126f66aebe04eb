/* CUDA C as C++ of fibers (codegen_simulation()): compiled by $CXX or c++, loaded, launched. */
#ifndef UNIT_CUDA_RUN_H
#define UNIT_CUDA_RUN_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "bundle/abi.h"
#include "codegen/cuda/cuda.h"

#include <check.h>

static inline const char *
host_compiler(void)
{
	const char *named = getenv("CXX");
	return named && *named ? named : "c++";
}

static inline bool
has_host_compiler(void)
{
	static char command[512];
	snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", host_compiler());
	return system(command) == 0;
}

static inline void *
load_on_host(Arena *arena, const Target *target, int count, Kernel *const *kernels)
{
	const char *text = codegen_simulation(arena, target, count, kernels);
	const char *folder = file_temporary_folder(arena);
	const char *source = arena_printf(arena, "%s/kernels.cpp", folder);
	const char *library = arena_printf(arena, "%s/kernels.so", folder);
	file_write(arena, source, text, strlen(text));
	const char *command = arena_printf(
		arena,
		"%s -std=gnu++20 -O1 -w -shared -fPIC -fvisibility=hidden -fwrapv -fno-strict-aliasing "
		"-ffp-contract=off -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics "
		"-fno-tree-loop-distribute-patterns -fmax-errors=5 %s -o %s -lm",
		host_compiler(), source, library);
	ck_assert_msg(system(command) == 0, "%s", command);
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(handle, "%s", dlerror());
	return handle;
}

/* Run kernel `index` of the library, all its blocks. */
static inline void
launch_on_host(void *library, int index, void *const *buffers, const int64_t *symbols)
{
	const TwKernels *kernels = dlsym(library, "tw_kernels_v1");
	TwStatus status = {0};
	TwArgs args = {.size = sizeof args,
	               .abi = TW_KERNEL_ABI,
	               .buffers = buffers,
	               .symbols = symbols,
	               .status = &status};
	ck_assert(kernels && kernels->abi == TW_KERNEL_ABI && index < (int)kernels->count);
	kernels->table[index](&args, 0, INT64_MAX);
}

#endif
