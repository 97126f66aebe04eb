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
 *              CPU (runtime/cpu)         GPU (runtime/cuda)
 *     load     the object into memory    cudaLibraryLoadData of the cubin, and each kernel by name
 *     hold     in place                  cudaMalloc, cudaMemcpy: weights, once per bundle
 *     open     a table of workers        cudaStreamCreate; cudaMallocAsync behind stream->memory
 *     reserve  scratch of each worker    cudaMallocAsync: the libraries' workspace
 *     copy     copy_strided()            cudaMemcpyAsync; cudaMemcpy2DAsync where there are strides
 *     launch   pieces on the pool        cudaLaunchKernel(grid, block, shared): parameters are the
 *                                        addresses and symbols as they are then, and a TwStatus
 *                                        of the stream's in pinned memory of the host's
 *     call     pieces on the pool        the library enqueues it
 *     fork     launches and calls wait   cudaEventRecord; the next go to streams in turn
 *     join     all their pieces at once  cudaStreamWaitEvent for each of these streams
 *     mark     nothing                   cudaEventRecord of the next event of a ring
 *     wait     nothing                   cudaEventSynchronize, then a look at the TwStatus
 *     record   none: a launch is a call  cudaStreamBeginCapture
 *     capture                            cudaStreamEndCapture, cudaGraphInstantiate
 *     replay                             cudaGraphLaunch
 *     forget                             cudaGraphExecDestroy
 */
#ifndef RUNTIME_BACKEND_H
#define RUNTIME_BACKEND_H

#include "base/blob.h"
#include "bundle/abi.h"
#include "bundle/plan.h"
#include "runtime/memory.h"
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
	int step;        /* -1: the device does not say */
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
	int64_t first, extent;       /* of the flat index, blocks where there are any; extent > 0 */
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
	const char *have;  /* what there is, as it stands behind ':' in the name of a target; or, */
	const char *lack;  /* where there is nothing, why: a sentence. NULL: `have` says it. Both: code
	                      can be made for another machine only */
} BackendFit;

/* Who can follow an address of the caller's. */
typedef enum BackendReach { REACH_HOST, REACH_BOTH, REACH_DEVICE } BackendReach;

/* Functions that give a bool give false with a report. */
typedef struct Backend {
	const char *name; /* what stands before ':' in the target's name */

	/* ---- of a bundle; any thread ---- */

	BackendFit (*fit)(const char *needs); /* of code that needs this (ManifestTarget) */
	/* Kernels from a part of the bundle, `name` for sentences; the plan names them. */
	TwCode (*load)(Bytes image, const char *name, const Plan *plan, BackendCode **code, char *error,
	               size_t error_size);
	void (*unload)(BackendCode *code); /* NULL is accepted */
	/* Bytes of the host's that never change, in PLACE_DEVICE. NULL: no memory. */
	void *(*hold)(Bytes bytes);
	void (*drop)(void *held); /* NULL is accepted */
	/* Behind a NULL or false without a report, in the same thread: true with one where something
	 * other than memory was missing. NULL: it is always memory. */
	bool (*trouble)(BackendReport *report);

	/* Of memory that the caller binds, which either side of a copy may be; NULL: the host alone. */
	bool (*reach)(const void *memory, BackendReach *reach, BackendReport *report);

	/* ---- of a session; one thread at a time ---- */

	/* `memory` and `workers` stay the session's. NULL: no memory. */
	Stream *(*open)(const BackendCode *code, const Workers *workers, Memory *memory);
	void (*close)(Stream *stream); /* NULL is accepted */
	/* Scratch of at least `bytes` for each part of a launch or call that runs on its own. */
	bool (*reserve)(Stream *stream, size_t bytes);
	bool (*copy)(Stream *stream, const BackendCopy *copy, BackendReport *report);
	bool (*launch)(Stream *stream, const BackendLaunch *launch, BackendReport *report);
	bool (*call)(Stream *stream, const BackendCall *call, BackendReport *report);
	/* This thread asks a library for something on the code's device, from enter() to leave(). NULL,
	 * both: calls are run here in pieces; else they are enqueued on a stream of the device's. */
	int (*enter)(const BackendCode *code);
	void (*leave)(int before);
	/* From fork() to join(), launches and calls may be done in any order, or side by side; their
	 * tables stay until join(). NULL, both: this backend does all in order. */
	void (*fork)(Stream *stream);
	bool (*join)(Stream *stream, BackendReport *report);
	/* A number for everything given so far, and waiting until that is done. */
	uint64_t (*mark)(Stream *stream);
	bool (*wait)(Stream *stream, uint64_t mark, BackendReport *report);

	/* Work given from now on waits for what a stream of the caller's has been given, or that for
	 * this one's. The host does not wait. NULL: there are no such streams. */
	bool (*meet)(Stream *stream, void *callers, bool is_behind, BackendReport *report);

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

/* The backend of a target's device ("cpu:x86-64-v3"); NULL: this library has none. One that is a
 * library of its own is loaded here, from where this library lies: never from where a bundle says,
 * and never by a program that has its owner's rights (set-uid). */
const Backend *backend_find(const char *device);
/* The library that would have to be there for that; NULL: there is none. */
const char *backend_library(const char *device);
/* The better one of two kinds is the one with the smaller rank. */
int backend_rank(const Backend *backend);

/* What such a library exports as tw_backend_NAME: its record, if it was built with this header. */
enum { BACKEND_ABI = 1 };
typedef const Backend *BackendEntry(int abi);

#endif
