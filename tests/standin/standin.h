/* What stands for CUDA's runtime where there is no GPU: a library of its name (libcudart.so.13)
 * with the functions that runtime/cuda calls, on this machine's CPU.
 *
 * Kernels are the fibers of codegen/cuda/simulation. Memory of the device lies behind addresses
 * that cannot be followed. Work that was given waits in its stream until somebody waits for it, or
 * until chance takes it (STANDIN_SEED), in any order that streams and events allow; so what is read
 * too early is 0xff. What CUDA leaves undefined is no error here but the end of the process: an
 * argument in the host's memory, a handle or memory that was given back, bytes beyond a block. In a
 * process behind fork() each call gives an error, as CUDA's do.
 *
 *     STANDIN_SEED=N     0: work is done when it is waited for, no sooner
 *     STANDIN_FAIL=N:E   call N gives error E, and so do all behind it where E is 700
 *     STANDIN_SM=80      another chip; STANDIN_DRIVER=12040: another driver
 *
 * It proves order, lifetimes and arguments, and nothing of a device: no numbers and no times.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <stdint.h>

#include "runtime/cuda/cudart.h"

#define F(name, parameters) int cuda##name parameters;
CUDA_FUNCTIONS(F)
#undef F
const char *cudaGetErrorString(int error);

/* ---- For tests, which find them by dlsym() ---- */

typedef struct Standin {
	long (*calls)(void);                /* so far */
	void (*fail)(long call, int error); /* from now on counted; 0: no more */
	int (*live)(void);                  /* handles and blocks that were not given back */
	void (*seed)(unsigned long seed);
	void (*use_device)(int device); /* as cudaSetDevice(), not counted */
	int (*device)(void);
	long (*copied)(void); /* bytes, by copies that were done */
} Standin;

/* ---- Inside ---- */

typedef enum HandleKind {
	IS_LIBRARY,
	IS_STREAM,
	IS_EVENT,
	IS_GRAPH,
	IS_RUN,
	IS_CUDNN,
	IS_DESCRIPTOR,
	IS_CUBLASLT,
	IS_MATMUL,
	IS_LAYOUT,
	IS_WISH,
	IS_DEVICE_BLOCK,
	IS_PINNED_BLOCK
} HandleKind;

/* What every object begins with. */
typedef struct Handle {
	struct Handle *next;
	HandleKind kind;
	int device;
} Handle;

_Noreturn void misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

void handle_add(void *object, HandleKind kind);
void handle_remove(void *object); /* and frees it */
/* Those of a kind; gives how many, `most` at most. */
size_t handle_list(HandleKind kind, void **found, size_t most);
/* An object that is there, of this kind. */
void *handle_check(const void *object, HandleKind kind);
/* The same, whose device is not asked for. */
void *handle_find(const void *object, HandleKind kind);

/* Begin a call: counts it, does some work by chance. Gives an error that it shall give. */
int enter(void);
void leave(void);
int chance(int below);

/* The host's address of `bytes` bytes of the device's or of pinned memory; NULL: it is neither. */
unsigned char *memory_bytes(const void *address, size_t bytes, HandleKind *kind);
void block_release(void *address);

/* A kernel with its parameters, to be started when it has its turn. */
typedef struct Start Start;
int start_new(Start **made, const CudaKernel *kernel, CudaDim grid, CudaDim block, void **args,
              size_t shared);
void start_run(void *work);

/* Work that takes its turn in a stream, as often as it is replayed; free() is its end. */
void call_give(CudaStream *stream, void (*call)(void *work), void *work);

long copied_bytes(void);
/* Some of the work that may be done now. */
void work_some(void);
void work_all(void);
void work_none(void); /* of the default stream, whose device has failed */

#endif
