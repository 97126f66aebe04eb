#include "base/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the program itself, which comes first: does it ask for a dynamic linker? */
static int
look_for_linker(struct dl_phdr_info *info, size_t size, void *found)
{
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		*(bool *)found |= info->dlpi_phdr[i].p_type == PT_INTERP;
	return 1;
}

bool
library_can_load(void)
{
	bool found = false;
	dl_iterate_phdr(look_for_linker, &found);
	return found;
}

void *
library_open(const char *folder, const char *const *names)
{
	void *library = NULL;
	char path[PATH_MAX];
	for (; *names && !library; names++)
		if (snprintf(path, sizeof path, "%s%s", folder, *names) < (int)sizeof path)
			library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	return library;
}

void *
library_open_cuda(const char *own, const char *const *names)
{
	static const char *const folders[] = {"lib64", "lib"};
	const char *const homes[] = {own ? secure_getenv(own) : NULL, secure_getenv("CUDA_HOME"),
	                             secure_getenv("CUDA_PATH"), "/usr/local/cuda"};
	enum { PLACES = 2 * sizeof homes / sizeof *homes };
	void *library = library_open("", names);
	char folder[PATH_MAX];
	for (int i = 0; i < PLACES && !library; i++) {
		const char *home = homes[i / 2];
		if (home && *home && snprintf(folder, sizeof folder, "%s/%s/", home, folders[i % 2]) > 0)
			library = library_open(folder, names);
	}
	return library;
}

void
library_find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);
	memcpy(function, &symbol, sizeof symbol);
}
