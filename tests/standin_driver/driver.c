/* What stands for NVIDIA's driver where there is none, for cuDNN alone: a library of its name
 * (libcuda.so.1) that has no device and says yes to code that is loaded. With it cuDNN compiles and
 * finishes plans of engines that it compiles where they run, so that a test can read what they are
 * of (tests/unit/runtime_cudnn_products.c). It proves that the library takes a graph, and no more:
 * nothing runs.
 */
#include <dlfcn.h>
#include <stdint.h>

enum { NO_DEVICE = 100, VERSION = 13000 };

/* Handles that are given out and never looked at. */
#define GIVES(name, number) \
	int name(void **handle); \
	int name(void **handle) \
	{ \
		*handle = (void *)(uintptr_t)(number); \
		return 0; \
	}
GIVES(cuLibraryLoadData, 0x1000)
GIVES(cuLibraryGetKernel, 0x2000)
GIVES(cuModuleLoadData, 0x3000)
GIVES(cuModuleGetFunction, 0x4000)
GIVES(cuKernelGetFunction, 0x5000)

/* What is looked up, and not called, or without need of an answer. */
#define IS_THERE(name) \
	int name(void); \
	int name(void) \
	{ \
		return 0; \
	}
IS_THERE(cuCtxGetCurrent)
IS_THERE(cuCtxGetLimit)
IS_THERE(cuCtxPopCurrent)
IS_THERE(cuCtxPushCurrent)
IS_THERE(cuDeviceGet)
IS_THERE(cuKernelGetAttribute)
IS_THERE(cuKernelSetAttribute)
IS_THERE(cuLaunchCooperativeKernel)
IS_THERE(cuLaunchKernel)
IS_THERE(cuLaunchKernelEx)
IS_THERE(cuLibraryLoadFromFile)
IS_THERE(cuLibraryUnload)
IS_THERE(cuLinkAddData)
IS_THERE(cuLinkComplete)
IS_THERE(cuLinkCreate)
IS_THERE(cuLinkDestroy)
IS_THERE(cuOccupancyMaxPotentialClusterSize)
IS_THERE(cuStreamGetCtx)

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuDeviceGetCount(int *count);
int cuGetErrorString(int error, const char **text);
int cuGetErrorName(int error, const char **text);
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                        int *status);

int
cuInit(unsigned flags)
{
	(void)flags;
	return NO_DEVICE;
}

int
cuDriverGetVersion(int *version)
{
	*version = VERSION;
	return 0;
}

int
cuDeviceGetCount(int *count)
{
	*count = 0;
	return 0;
}

int
cuGetErrorString(int error, const char **text)
{
	(void)error;
	*text = "an error of the stand-in";
	return 0;
}

int
cuGetErrorName(int error, const char **text)
{
	return cuGetErrorString(error, text);
}

int
cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
	(void)version, (void)flags;
	*function = dlsym(RTLD_DEFAULT, name);
	*function = *function ? *function : (void *)(uintptr_t)cuLaunchKernel;
	if (status)
		*status = 0;
	return 0;
}
