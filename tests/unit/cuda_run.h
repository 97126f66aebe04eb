/* CUDA C as C++ over cuda_host.hpp: compiled by $CXX or g++, loaded, launched. */
#ifndef UNIT_CUDA_RUN_H
#define UNIT_CUDA_RUN_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "codegen/cuda/cuda.h"

#include <check.h>

typedef void Body(void **buffers, const long long *symbols);
typedef void Launch(Body *body, const unsigned *grid, const unsigned *threads, void **buffers,
                    const long long *symbols);

static inline const char *
host_compiler(void)
{
	const char *named = getenv("CXX");
	return named && *named ? named : "g++";
}

static inline bool
has_host_compiler(void)
{
	static char command[512];
	snprintf(command, sizeof command, "%s --version >/dev/null 2>&1", host_compiler());
	return system(command) == 0;
}

/* A function for each kernel, which takes its arguments apart. */
static inline void
add_bodies(Buf *text, int count, Kernel *const *kernels)
{
	for (int i = 0; i < count; i++) {
		const char *name = arena_printf(text->arena, "\nk%d_%s(", i, kernels[i]->name);
		if (!strstr(buf_text(text), name))
			continue; /* an equal one is there */
		buf_printf(text, "extern \"C\" void body%d(void **b, const long long *s)\n{\n\t(void)s;\n",
		           i);
		buf_printf(text, "\t%s", name + 1);
		for (int k = 0; k < kernels[i]->buffers.count; k++)
			buf_printf(text, "Pointer{b[%d]}, ", k);
		for (int k = 0; k < kernels[i]->symbols.count; k++)
			buf_printf(text, "s[%d], ", k);
		buf_puts(text, "NULL, 0);\n}\n");
	}
}

static inline void *
load_on_host(Arena *arena, const char *text)
{
	const char *folder = file_temporary_folder(arena);
	const char *source = arena_printf(arena, "%s/kernels.cpp", folder);
	const char *library = arena_printf(arena, "%s/kernels.so", folder);
	file_write(arena, source, text, strlen(text));
	const char *command = arena_printf(
		arena,
		"%s -std=gnu++20 -O1 -w -shared -fPIC -fwrapv -fno-strict-aliasing -ffp-contract=off "
		"-fmax-errors=5 -Itests/unit -Isrc %s -o %s",
		host_compiler(), source, library);
	ck_assert_msg(system(command) == 0, "%s", command);
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(handle, "%s", dlerror());
	return handle;
}

/* Run kernel `index` of the library; false: an equal one stands for it. */
static inline bool
launch_on_host(void *library, int index, const unsigned sizes[6], void **buffers,
               const long long *symbols)
{
	char name[32];
	snprintf(name, sizeof name, "body%d", index);
	void *symbol = dlsym(library, name);
	if (!symbol)
		return false;
	Body *body;
	Launch *launch;
	memcpy(&body, &symbol, sizeof symbol);
	symbol = dlsym(library, "host_launch");
	memcpy(&launch, &symbol, sizeof symbol);
	launch(body, sizes, sizes + 3, buffers, symbols);
	return true;
}

#endif
