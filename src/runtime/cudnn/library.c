/* cuDNN as a vendor library: asked when compiling, for a device that need not be here; when a plan
 * runs, by the backend of GPUs (run.c). */
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "runtime/cudnn/api.h"

extern const VendorLibrary vendor_cudnn;

static Vendor *
open_library(char *error, size_t error_size)
{
	Cudnn *cudnn = calloc(1, sizeof *cudnn);
	if (!cudnn) {
		refuse_with(error, error_size, "out of memory");
		return NULL;
	}
	if (!cudnn_load(&cudnn->api, error, error_size)) {
		free(cudnn);
		return NULL;
	}
	pthread_mutex_init(&cudnn->lock, NULL);
	int version = (int)cudnn->api.GetVersion();
	cudnn->head.library = &vendor_cudnn;
	snprintf(cudnn->head.version, sizeof cudnn->head.version, "cuDNN %d.%d.%d", version / 10000,
	         version / 100 % 100, version % 100);
	return &cudnn->head;
}

static void
drop_device(Cudnn *cudnn)
{
	if (cudnn->device)
		cudnn->api.BackendDestroyDescriptor(cudnn->device);
	cudnn->device = NULL;
}

static void
close_library(Vendor *vendor)
{
	Cudnn *cudnn = (Cudnn *)vendor;
	drop_device(cudnn);
	if (cudnn->handle)
		cudnn->api.Destroy(cudnn->handle);
	pthread_mutex_destroy(&cudnn->lock);
	free(cudnn);
}

/* Its properties as cuDNN reads them. */
static int
write_device(const VendorDevice *d, char *text, size_t size)
{
	enum { SHARED = 49152, RESERVED = 1024 }; /* without asking for more; for the system */
	return snprintf(
		text, size,
		"{\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64],"
		"\"regsPerBlock\":%d,\"multiProcessorCount\":%d,\"warpSize\":32,"
		"\"maxSharedMemoryPerBlock\":%d,\"maxSharedMemoryPerBlockOptin\":%lld,"
		"\"reservedSharedMemoryPerBlock\":%d,\"maxRegistersPerSM\":%d,\"maxCtasPerSM\":%d,"
		"\"maxThreadsPerBlock\":%d,\"maxThreadsPerSM\":%d,\"pciDeviceId\":0,\"isTccDriver\":0,"
		"\"supportCoopLaunch\":1,\"totalGlobalMem\":%lld,\"smClockRateKHz\":%lld,"
		"\"memClockRateKHz\":%lld,\"l2CacheSize\":%lld,\"cudaDeviceId\":0,\"deviceVer\":%d,"
		"\"driverVer\":%d,\"deviceName\":\"%s\"}",
		d->registers, d->units, SHARED, (long long)d->shared_block, RESERVED, d->registers,
		d->blocks, d->threads_block, d->threads, (long long)d->memory, (long long)d->clock,
		(long long)d->memory_clock, (long long)d->l2, d->capability * 10, d->driver, d->name);
}

static bool
use_device(Vendor *vendor, const VendorDevice *device, char *error, size_t error_size)
{
	enum { JSON = 2702 };
	Cudnn *cudnn = (Cudnn *)vendor;
	char text[1500];
	int length = write_device(device, text, sizeof text);
	const CudnnAttr attrs[] = {{JSON, CUDNN_TYPE_CHAR, length, text}, {0}};
	CudnnPile pile = {.api = &cudnn->api, .error = error, .error_size = error_size};
	if (length < 0 || length >= (int)sizeof text)
		return refuse_with(error, error_size, "the device's name is too long");
	drop_device(cudnn);
	cudnn->device = cudnn_make(&pile, CUDNN_DEVICE, attrs);
	if (!cudnn->device)
		cudnn_free(&pile);
	return cudnn->device != NULL;
}

static bool
accept(Vendor *vendor, const VendorCall *call, char impl[VENDOR_IMPL_SIZE], char *error,
       size_t error_size)
{
	const Cudnn *cudnn = (const Cudnn *)vendor;
	if (!cudnn->device)
		return refuse_with(error, error_size, "cuDNN was told of no device");
	return cudnn_choose(cudnn, call, NULL, impl, error, error_size);
}

const VendorLibrary vendor_cudnn = {
	.name = "cudnn",
	.open = open_library,
	.close = close_library,
	.use_device = use_device,
	.accept = accept,
	.prepare = cudnn_prepare,
	.drop = cudnn_drop,
	.enqueue = cudnn_enqueue,
};
