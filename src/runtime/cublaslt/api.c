/* Loading cuBLASLt, and what it says. */
#include "runtime/cublaslt/api.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/library.h"

bool
lt_load(LtApi *api, char *error, size_t error_size)
{
	static const char *const names[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
	void *library = library_can_load() ? library_open_cuda(NULL, names) : NULL;
	if (!library)
		return refuse_with(error, error_size,
		                   "cuBLASLt (libcublasLt.so.13 or .12) is not installed: install it, or "
		                   "name CUDA's folder in $CUDA_HOME");
	library_find(library, "cublasLtGetVersion", &api->GetVersion);
	library_find(library, "cublasLtGetStatusString", &api->GetStatusString);
	bool has_all = api->GetVersion && api->GetStatusString;
#define F(name, parameters) \
	library_find(library, "cublasLt" #name, &api->name); \
	has_all = has_all && api->name;
	CUBLASLT_FUNCTIONS(F)
#undef F
	return has_all || refuse_with(error, error_size, "cuBLASLt lacks functions of CUDA 12's");
}

bool
lt_check(const LtMaker *maker, const char *function, int status)
{
	if (status == LT_OK)
		return true;
	snprintf(maker->error, maker->error_size, "%s: %s (cuBLAS's status %d)", function,
	         maker->product->api->GetStatusString(status), status);
	return false;
}
