/* Backends: what the executor asks of the device that runs a plan's kernels.
 *
 * The executor follows a plan and knows places, not devices: a buffer lies where kernels run
 * (PLACE_DEVICE) or where host operators run (PLACE_HOST; plan.h). On the CPU there is one memory
 * and everything lies in the first; a plan for a device with memory of its own has buffers in both,
 * and a copy step wherever a value goes from one to the other. An address in PLACE_DEVICE is only
 * ever computed with here, never followed.
 *
 * A Stream is one session's work on the device, done in the order it was given. Work may still be
 * under way when the function that gave it returns. Three guarantees make further synchronisation
 * by the executor unnecessary: when a launch or a call returns, its tables of arguments have been
 * read; when a copy from the host returns, its source has been read; and wait() returns only when
 * the work before the mark is done.
 *
 *              CPU (runtime/cpu)         CUDA would use
 *     load     the object into memory    cuModuleLoadData of the cubin, cuModuleGetFunction each
 *     hold     in place                  cuMemAlloc, cuMemcpyHtoD: weights, once per bundle
 *     open     a table of workers        cuStreamCreate; cuMemAllocAsync behind stream->memory
 *     reserve  scratch of each worker    one cuMemAlloc as the vendor library's workspace
 *     copy     copy_strided()            cuMemcpyAsync; a kernel where strides are given
 *     launch   pieces on the pool        cuLaunchKernel(grid, block, shared): parameters are the
 *                                        addresses and symbols as they are then, and a TwStatus
 *                                        of the stream's in device memory
 *     call     pieces on the pool        cublasLtMatmul, cudnnBackendExecute on the stream
 *     fork     launches and calls wait   cuEventRecord; the next go to streams in turn
 *     join     all their pieces at once  cuStreamWaitEvent for each of these streams
 *     mark     nothing                   cuEventRecord of the next event of a ring
 *     wait     nothing                   cuEventSynchronize, then a look at the TwStatus
 *     record   none: a launch is a call  cuStreamBeginCapture
 *     capture                            cuStreamEndCapture, cuGraphInstantiate
 *     replay                             cuGraphLaunch
 *     forget                             cuGraphExecDestroy
 */
#ifndef RUNTIME_BACKEND_H
#define RUNTIME_BACKEND_H

#include "base/blob.h"
#include "runtime/abi.h"
#include "runtime/memory.h"
#include "runtime/plan/plan.h"
#include "runtime/pool.h"
#include "runtime/tilewright.h"
#include "runtime/vendor.h"

/* Kernels on the device; a backend adds what it needs behind this. */
typedef struct BackendCode {
	int count;
} BackendCode;

typedef struct Stream {
	Memory *memory; /* gives blocks in PLACE_DEVICE; takes them back when work on them is done */
} Stream;

/* What went wrong, and in which step: its number, as given with the work. Work that was given
 * earlier may be what a later function reports. */
typedef struct BackendReport {
	TwCode code;
	int step;
	TwStatus status; /* TW_DATA: what a kernel's check found */
	char text[256];  /* otherwise */
} BackendReport;

/* Between places both sides are dense. Never from host to host. */
typedef struct BackendCopy {
	int step;
	size_t size; /* of an element */
	int rank;
	const int64_t *dims;
	PlanPlace from, to;
	const void *source;
	const int64_t *source_strides; /* elements; NULL: dense */
	void *target;
	const int64_t *target_strides;
} BackendCopy;

typedef struct BackendLaunch {
	int step;
	int kernel;                  /* its number in the code */
	int64_t extent;              /* of the flat index, > 0 */
	double work;                 /* operations and bytes, 0: not known */
	const int64_t *grid, *block; /* PLAN_AXES each; 0: the plan says nothing */
	int64_t shared;
	int nbuffer, nsymbol;
	void *const *buffers;
	const int64_t *symbols;
} BackendLaunch;

/* Work that was recorded, to be done as often as wanted. */
typedef struct BackendCapture BackendCapture;

typedef struct BackendCall {
	int step;
	PreparedCall *call;
	double work; /* operations and bytes, 0: not known */
	int nbuffer;
	void *const *buffers; /* in the order of the step's arguments; NULL: absent */
} BackendCall;

/* How well this machine runs code that needs something. */
typedef struct BackendFit {
	int value;         /* of two that it runs the larger uses more of it; below 0 it does not, and
	                      lacks less the larger the value */
	const char *needs; /* what the code needs, for people: "AVX2 and FMA" */
	const char *have;  /* what there is, as it stands behind ':' in the name of a target */
} BackendFit;

/* Functions that give a bool give false with a report. */
typedef struct Backend {
	const char *name; /* what stands before ':' in the target's name */

	/* ---- of a bundle; any thread ---- */

	BackendFit (*fit)(const char *needs); /* of code that needs this (ManifestTarget) */
	/* Kernels from a part of the bundle, `name` for sentences. */
	TwCode (*load)(Bytes image, const char *name, BackendCode **code, char *error,
	               size_t error_size);
	void (*unload)(BackendCode *code); /* NULL is accepted */
	/* Bytes of the host's that never change, in PLACE_DEVICE. NULL: no memory. */
	void *(*hold)(Bytes bytes);
	void (*drop)(void *held); /* NULL is accepted */

	/* ---- of a session; one thread at a time ---- */

	/* `memory` and `workers` stay the session's. NULL: no memory. */
	Stream *(*open)(const BackendCode *code, const Workers *workers, Memory *memory);
	void (*close)(Stream *stream); /* NULL is accepted */
	/* Scratch of at least `bytes` for each part of a launch or call that runs on its own. */
	bool (*reserve)(Stream *stream, size_t bytes);
	bool (*copy)(Stream *stream, const BackendCopy *copy, BackendReport *report);
	bool (*launch)(Stream *stream, const BackendLaunch *launch, BackendReport *report);
	bool (*call)(Stream *stream, const BackendCall *call, BackendReport *report);
	/* From fork() to join(), launches and calls may be done in any order, or side by side; their
	 * tables stay until join(). NULL, both: this backend does all in order. */
	void (*fork)(Stream *stream);
	bool (*join)(Stream *stream, BackendReport *report);
	/* A number for everything given so far, and waiting until that is done. */
	uint64_t (*mark)(Stream *stream);
	bool (*wait)(Stream *stream, uint64_t mark, BackendReport *report);

	/* ---- of a session: recorded work; NULL, all four: this backend records nothing ---- */

	/* From record() on, what is given is written down and not done, and nothing is waited for.
	 * False: no memory, nothing is recorded. */
	bool (*record)(Stream *stream);
	/* The end of it: all that was given since. NULL: no memory. */
	BackendCapture *(*capture)(Stream *stream);
	/* Give all of it, with the addresses and numbers that were given then. What it copies from the
	 * host is read in its turn, not now. */
	bool (*replay)(Stream *stream, const BackendCapture *capture, BackendReport *report);
	void (*forget)(BackendCapture *capture); /* once replays are done; NULL is accepted */
} Backend;

/* The CPU, and the CPU behind memory of its own, for tests. */
extern const Backend backend_cpu, backend_test;

/* The backend of a target's device ("cpu:x86-64-v3"); NULL: this library has none. The better one
 * of two kinds is the one with the smaller rank. */
const Backend *backend_find(const char *device);
int backend_rank(const Backend *backend);

#endif
