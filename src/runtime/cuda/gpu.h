/* GPUs of NVIDIA as a backend, by the functions of cudart.h: code.c loads, stream.c gives work,
 * copy.c copies and records. */
#ifndef RUNTIME_CUDA_GPU_H
#define RUNTIME_CUDA_GPU_H

#include "runtime/backend.h"
#include "runtime/cuda/cudart.h"

/* The kernels of a plan, for the device that was current when they were loaded. */
typedef struct GpuCode {
	BackendCode head;
	int device;
	CudaLibrary *library;
	CudaKernel *kernels[]; /* by their number in the plan */
} GpuCode;

/* LANES: streams for steps that run side by side, the first for all others. MARKS: a ring; who
 * waits for a mark whose event stands for another by now waits for that. */
enum { LANES = 4, MARKS = 16 };

/* What of the host's memory a recorded run reads or writes. CUDA would read it when it likes: so it
 * goes by way of memory that is pinned. */
typedef struct Staged {
	struct Staged *next;
	void *host, *pinned;
	size_t bytes;
	bool is_result;
} Staged;

struct BackendCapture {
	int device;
	CudaGraphRun *run;
	Staged *staged;
};

typedef struct GpuStream {
	Stream head;
	Memory memory;
	const GpuCode *code; /* NULL: the plan has no kernels */
	int device;
	CudaStream *lanes[LANES];
	CudaEvent *marks[MARKS], *forked, *joined[LANES];
	uint64_t given, done; /* marks */
	TwStatus *status;     /* pinned: kernels write to it, the host looks at it when it waits */
	BackendReport late;   /* what mark() could not report; code TW_OK: nothing */
	Block workspace;      /* of libraries' calls, which are in turn where they need it */
	bool is_forked;
	int next, used;            /* lane of the next work, and how many have had some, since fork() */
	BackendCapture *recording; /* NULL: nothing is recorded */
	const BackendCapture *replayed; /* whose results wait in pinned memory */
} GpuStream;

/* Whether a call went well; else the report has its function and CUDA's words. */
bool cuda_check(BackendReport *report, const char *function, int error);
#define CUDA_TRY(report, name, ...) \
	cuda_check(report, "cuda" #name, cuda_runtime()->name(__VA_ARGS__))

/* Why a function that gives a pointer gives NULL, for gpu_trouble(). Returns NULL. */
void *cuda_refuse(const BackendReport *report);

/* Make a device this thread's, and what it was again: the caller's choice stays. Gives -1 where
 * nothing is to be put back. */
int cuda_enter(int device);
void cuda_leave(int before);

/* ---- Functions of the record (code.c, stream.c, copy.c) ---- */

BackendFit gpu_fit(const char *needs);
TwCode gpu_load(Bytes image, const char *name, const Plan *plan, BackendCode **loaded, char *error,
                size_t error_size);
void gpu_unload(BackendCode *loaded);
void *gpu_hold(Bytes bytes);
void gpu_drop(void *held);
bool gpu_trouble(BackendReport *report);
Stream *gpu_open(const BackendCode *code, const Workers *workers, Memory *memory);
void gpu_close(Stream *stream);
bool gpu_reserve(Stream *stream, size_t bytes);
bool gpu_launch(Stream *stream, const BackendLaunch *launch, BackendReport *report);
bool gpu_call(Stream *stream, const BackendCall *call, BackendReport *report);
int gpu_enter(const BackendCode *loaded);
void gpu_fork(Stream *stream);
bool gpu_join(Stream *stream, BackendReport *report);
bool gpu_copy(Stream *stream, const BackendCopy *copy, BackendReport *report);
bool gpu_record(Stream *stream);
BackendCapture *gpu_capture(Stream *stream);
bool gpu_replay(Stream *stream, const BackendCapture *capture, BackendReport *report);
void gpu_forget(BackendCapture *capture);
bool gpu_reach(const void *memory, BackendReach *reach, BackendReport *report);
bool gpu_meet(Stream *stream, void *callers, bool is_behind, BackendReport *report);
uint64_t gpu_mark(Stream *stream);
bool gpu_wait(Stream *stream, uint64_t mark, BackendReport *report);

/* Give the host the results of the replay, which is done. */
void gpu_deliver(GpuStream *gpu);

#endif
