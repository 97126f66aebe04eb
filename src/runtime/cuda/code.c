/* Which GPU there is, kernels and weights on it, and what goes wrong there. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/cuda/gpu.h"

/* ---- Errors ---- */

static _Thread_local BackendReport trouble;

bool
cuda_check(BackendReport *report, const char *function, int error)
{
	if (error == CUDA_OK)
		return true;
	cuda_runtime()->GetLastError(); /* the caller's own calls shall not find it */
	report->code = error == CUDA_NO_MEMORY ? TW_MEMORY : TW_DEVICE;
	snprintf(report->text, sizeof report->text, "%s: %s (CUDA's error %d)", function,
	         cuda_runtime()->GetErrorString(error), error);
	return false;
}

void *
cuda_refuse(const BackendReport *report)
{
	trouble = *report;
	return NULL;
}

bool
gpu_trouble(BackendReport *report)
{
	*report = trouble;
	trouble.code = TW_OK;
	return report->code != TW_OK && report->code != TW_MEMORY;
}

int
cuda_enter(int device)
{
	int before;
	if (cuda_runtime()->GetDevice(&before) != CUDA_OK || before == device)
		return -1;
	cuda_runtime()->SetDevice(device);
	return before;
}

void
cuda_leave(int before)
{
	if (before >= 0)
		cuda_runtime()->SetDevice(before);
}

int
gpu_enter(const BackendCode *loaded)
{
	return loaded ? cuda_enter(((const GpuCode *)loaded)->device) : -1;
}

/* ---- The device ---- */

/* Of the device that is current: 90 for sm_90. */
static bool
find_capability(int *capability, BackendReport *report)
{
	int device, major, minor;
	if (!CUDA_TRY(report, GetDevice, &device) ||
	    !CUDA_TRY(report, DeviceGetAttribute, &major, CUDA_CAPABILITY_MAJOR, device) ||
	    !CUDA_TRY(report, DeviceGetAttribute, &minor, CUDA_CAPABILITY_MINOR, device))
		return false;
	*capability = 10 * major + minor;
	return true;
}

/* Machine code runs on later chips of the same generation. */
static bool
runs(int needed, int capability)
{
	return needed / 10 == capability / 10 && needed <= capability;
}

/* `needs`: "sm_90, driver 13.0". */
BackendFit
gpu_fit(const char *needs)
{
	static _Thread_local char text[300];
	BackendFit no = {.value = INT_MIN, .needs = needs, .lack = text};
	BackendReport report = {.step = -1};
	int needed = 0, major = 0, minor = 0, driver = 0, capability = 0;
	sscanf(needs, "sm_%d, driver %d.%d", &needed, &major, &minor);
	if (!cuda_runtime())
		snprintf(text, sizeof text, "%s", cuda_lack());
	else if (cuda_runtime()->DriverGetVersion(&driver) != CUDA_OK || driver == 0)
		snprintf(text, sizeof text, "there is no driver of NVIDIA's");
	else if (driver < 1000 * major + 10 * minor)
		snprintf(text, sizeof text, "the driver of NVIDIA's is one for CUDA %d.%d: install a later",
		         driver / 1000, driver % 1000 / 10);
	else if (!find_capability(&capability, &report))
		snprintf(text, sizeof text, "%s", report.text);
	else {
		snprintf(text, sizeof text, "sm_%d", capability);
		int value = runs(needed, capability) ? needed : -1 - abs(needed - capability);
		return (BackendFit){.value = value, .needs = needs, .have = text};
	}
	return no;
}

/* ---- Kernels ---- */

void
gpu_unload(BackendCode *loaded)
{
	GpuCode *code = (GpuCode *)loaded;
	if (code && code->library) {
		int before = cuda_enter(code->device);
		cuda_runtime()->LibraryUnload(code->library);
		cuda_leave(before);
	}
	free(code);
}

static bool
load(GpuCode *code, Bytes image, const Plan *plan, BackendReport *report)
{
	if (!CUDA_TRY(report, GetDevice, &code->device) ||
	    !CUDA_TRY(report, LibraryLoadData, &code->library, image.data, NULL, NULL, 0, NULL, NULL,
	              0))
		return false;
	for (int i = 0; i < plan->nkernel; i++)
		if (!CUDA_TRY(report, LibraryGetKernel, &code->kernels[i], code->library, plan->kernels[i]))
			return false;
	return true;
}

TwCode
gpu_load(Bytes image, const char *name, const Plan *plan, BackendCode **loaded, char *error,
         size_t error_size)
{
	size_t count = (size_t)plan->nkernel;
	BackendReport report = {.step = -1};
	GpuCode *code = calloc(1, sizeof *code + count * sizeof *code->kernels);
	*loaded = NULL;
	if (!code) {
		snprintf(error, error_size, "out of memory for the kernels");
		return TW_MEMORY;
	}
	code->head.count = plan->nkernel;
	if (load(code, image, plan, &report)) {
		*loaded = &code->head;
		return TW_OK;
	}
	gpu_unload(&code->head);
	snprintf(error, error_size, "the bundle's kernels %.80s cannot be loaded: %s", name,
	         report.text);
	return report.code;
}

/* ---- Weights ---- */

void
gpu_drop(void *held)
{
	if (held)
		cuda_runtime()->Free(held);
}

void *
gpu_hold(Bytes bytes)
{
	BackendReport report = {.step = -1};
	void *held = NULL;
	/* of no bytes CUDA gives no address, which would be none */
	if (!CUDA_TRY(&report, Malloc, &held, bytes.size > 0 ? bytes.size : 1))
		return cuda_refuse(&report);
	/* The copy may be under way when it returns, and streams that do not block would not wait. */
	if (CUDA_TRY(&report, Memcpy, held, bytes.data, bytes.size, CUDA_COPY_BY_ADDRESS) &&
	    CUDA_TRY(&report, StreamSynchronize, NULL))
		return held;
	gpu_drop(held);
	return cuda_refuse(&report);
}
