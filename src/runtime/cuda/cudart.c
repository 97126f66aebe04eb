/* Loading CUDA's runtime library. */
#include "runtime/cuda/cudart.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/library.h"

static Cudart table;
static char lack[200];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
load(void)
{
	static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", NULL};
	void *library = library_open_cuda(NULL, names);
	if (!library) {
		snprintf(lack, sizeof lack,
		         "CUDA's runtime (libcudart.so.13 or libcudart.so.12) is not installed: install "
		         "it, or name its folder in $CUDA_HOME");
		return;
	}
	library_find(library, "cudaGetErrorString", &table.GetErrorString);
	const char *missing = table.GetErrorString ? NULL : "cudaGetErrorString";
#define F(name, parameters) \
	library_find(library, "cuda" #name, &table.name); \
	missing = table.name ? missing : "cuda" #name;
	CUDA_FUNCTIONS(F)
#undef F
	if (missing)
		snprintf(lack, sizeof lack,
		         "CUDA's runtime has no function %s: install that of CUDA 12.8 or later", missing);
	else
		table.library = library;
}

const Cudart *
cuda_runtime(void)
{
	pthread_once(&once, load);
	return table.library ? &table : NULL;
}

const char *
cuda_lack(void)
{
	return lack;
}
