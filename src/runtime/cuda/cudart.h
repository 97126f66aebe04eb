/* CUDA's runtime library, 12.8 or later: declared by hand, loaded when asked for.
 *
 * Nothing here needs CUDA's headers, and a machine without CUDA builds and tests all of it. Handles
 * are pointers to what only the library knows; numbers are those of CUDA's enums.
 */
#ifndef RUNTIME_CUDA_CUDART_H
#define RUNTIME_CUDA_CUDART_H

#include <stdbool.h>
#include <stddef.h>

typedef struct CudaLibrary CudaLibrary;
typedef struct CudaKernel CudaKernel;
typedef struct CudaStream CudaStream;
typedef struct CudaEvent CudaEvent;
typedef struct CudaGraph CudaGraph;
typedef struct CudaGraphRun CudaGraphRun; /* cudaGraphExec_t */

typedef struct CudaDim {
	unsigned x, y, z;
} CudaDim;

typedef struct CudaPointer {
	int type; /* CUDA_PAGEABLE … */
	int device;
	void *on_device, *on_host;
	long reserved[8];
} CudaPointer;

enum {
	CUDA_OK = 0,
	CUDA_NO_MEMORY = 2,
	/* kinds of memory */
	CUDA_PAGEABLE = 0,
	CUDA_PINNED = 1,
	CUDA_DEVICE = 2,
	CUDA_MANAGED = 3,
	/* flags and attributes */
	CUDA_COPY_BY_ADDRESS = 4,
	CUDA_STREAM_NON_BLOCKING = 1,
	CUDA_EVENT_WITHOUT_TIME = 2,
	CUDA_HOST_PORTABLE_MAPPED = 1 | 2,
	CUDA_CAPTURE_RELAXED = 2,
	CUDA_DYNAMIC_SHARED = 8,
	CUDA_CAPABILITY_MAJOR = 75,
	CUDA_CAPABILITY_MINOR = 76,
};

/* name, parameters; each is cuda<name>() and gives CUDA_OK or an error. */
#define CUDA_FUNCTIONS(F) \
	F(GetLastError, (void)) \
	F(DriverGetVersion, (int *version)) \
	F(GetDevice, (int *device)) \
	F(SetDevice, (int device)) \
	F(DeviceGetAttribute, (int *value, int attribute, int device)) \
	F(LibraryLoadData, (CudaLibrary * *library, const void *code, const int *options, \
	                    void *const *values, unsigned count, const int *library_options, \
	                    void *const *library_values, unsigned library_count)) \
	F(LibraryUnload, (CudaLibrary * library)) \
	F(LibraryGetKernel, (CudaKernel * *kernel, CudaLibrary * library, const char *name)) \
	F(KernelSetAttributeForDevice, (CudaKernel * kernel, int attribute, int value, int device)) \
	F(LaunchKernel, (const void *kernel, CudaDim grid, CudaDim block, void **args, size_t shared, \
	                 CudaStream *stream)) \
	F(Malloc, (void **memory, size_t bytes)) \
	F(Free, (void *memory)) \
	F(MallocAsync, (void **memory, size_t bytes, CudaStream *stream)) \
	F(FreeAsync, (void *memory, CudaStream *stream)) \
	F(HostAlloc, (void **memory, size_t bytes, unsigned flags)) \
	F(FreeHost, (void *memory)) \
	F(PointerGetAttributes, (CudaPointer * pointer, const void *memory)) \
	F(Memcpy, (void *to, const void *from, size_t bytes, int kind)) \
	F(MemcpyAsync, (void *to, const void *from, size_t bytes, int kind, CudaStream *stream)) \
	F(Memcpy2DAsync, (void *to, size_t to_pitch, const void *from, size_t from_pitch, \
	                  size_t width, size_t height, int kind, CudaStream *stream)) \
	F(StreamCreateWithFlags, (CudaStream * *stream, unsigned flags)) \
	F(StreamDestroy, (CudaStream * stream)) \
	F(StreamSynchronize, (CudaStream * stream)) \
	F(StreamWaitEvent, (CudaStream * stream, CudaEvent * event, unsigned flags)) \
	F(StreamBeginCapture, (CudaStream * stream, int mode)) \
	F(StreamEndCapture, (CudaStream * stream, CudaGraph * *graph)) \
	F(EventCreateWithFlags, (CudaEvent * *event, unsigned flags)) \
	F(EventDestroy, (CudaEvent * event)) \
	F(EventRecord, (CudaEvent * event, CudaStream * stream)) \
	F(EventSynchronize, (CudaEvent * event)) \
	F(GraphInstantiate, (CudaGraphRun * *run, CudaGraph * graph, unsigned long long flags)) \
	F(GraphDestroy, (CudaGraph * graph)) \
	F(GraphLaunch, (CudaGraphRun * run, CudaStream * stream)) \
	F(GraphExecDestroy, (CudaGraphRun * run))

typedef struct Cudart {
	void *library;
	const char *(*GetErrorString)(int error);
#define F(name, parameters) int(*name) parameters;
	CUDA_FUNCTIONS(F)
#undef F
} Cudart;

/* The table, loaded once in a process; NULL, and a sentence that cuda_lack() gives, where there
 * is none. Looked for where libraries are, then in $CUDA_HOME and $CUDA_PATH, then in
 * /usr/local/cuda. */
const Cudart *cuda_runtime(void);
const char *cuda_lack(void);

#endif
