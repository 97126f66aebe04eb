/* Tilewright: open a bundle and run it.
 *
 *     TwError error;
 *     TwBundle *bundle;
 *     TwSession *session;
 *     if (tw_open("resnet18.twb", NULL, &bundle, &error) != TW_OK) die(error.text);
 *     if (tw_session_new(bundle, NULL, &session, &error) != TW_OK) die(error.text);
 *     int64_t dims[4] = {1, 3, 224, 224};
 *     tw_bind_input(session, 0, image, sizeof image, 4, dims, &error);
 *     tw_bind_output(session, 0, scores, sizeof scores, &error);
 *     if (tw_run(session, &error) != TW_OK) die(error.text);
 *
 * A bundle is immutable and may be shared by any number of threads; a session belongs to one thread
 * at a time. Results are the same bits for any number of threads. A bundle holds machine code:
 * opening it is trusting it as one trusts a shared library (see `sha256` in TwOpenOptions).
 *
 * Every function that can fail gives a code and, where `error` is not NULL, a sentence. Structs
 * that begin with `size` are given as {sizeof(TheStruct)} with the other members zero for defaults;
 * a newer library accepts those of an older header.
 *
 * C99 and C++; needs no other header of this project. Linux.
 */
#ifndef TILEWRIGHT_H
#define TILEWRIGHT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TW_VERSION_MAJOR 0
#define TW_VERSION_MINOR 1
#define TW_VERSION_PATCH 0

/* The library's version: major * 10000 + minor * 100 + patch. */
uint32_t tw_version(void);
const char *tw_version_text(void); /* "0.1.0" */

typedef enum TwCode {
	TW_OK = 0,
	TW_USAGE = 1,       /* a call's arguments are wrong: unknown index, nothing bound, … */
	TW_FILE = 2,        /* cannot be opened, read or made */
	TW_DAMAGED = 3,     /* not a bundle, or changed since it was written */
	TW_UNSUPPORTED = 4, /* made for another machine, or by a newer version */
	TW_SHAPE = 5,       /* an input's type, rank or dims do not fit the model */
	TW_DATA = 6,        /* a value in the data is out of range: an index, a count */
	TW_MEMORY = 7,      /* out of memory, over the limit, or the caller's memory is too small */
	TW_CANCELLED = 8,
	TW_DEVICE = 9,   /* a vendor library or device reported an error */
	TW_INTERNAL = 10 /* a bug of this library or of the compiler */
} TwCode;

typedef struct TwError {
	TwCode code;
	char text[1020]; /* one line, no full stop */
} TwError;

/* Element types, with ONNX's numbers. Sub-byte types are packed, the first element lowest. Strings
 * are arrays of `const char *`. */
typedef enum TwType {
	TW_F32 = 1,
	TW_U8 = 2,
	TW_I8 = 3,
	TW_U16 = 4,
	TW_I16 = 5,
	TW_I32 = 6,
	TW_I64 = 7,
	TW_STRING = 8,
	TW_BOOL = 9,
	TW_F16 = 10,
	TW_F64 = 11,
	TW_U32 = 12,
	TW_U64 = 13,
	TW_C64 = 14,
	TW_C128 = 15,
	TW_BF16 = 16,
	TW_F8E4M3FN = 17,
	TW_F8E4M3FNUZ = 18,
	TW_F8E5M2 = 19,
	TW_F8E5M2FNUZ = 20,
	TW_U4 = 21,
	TW_I4 = 22,
	TW_F4E2M1 = 23,
	TW_F8E8M0 = 24,
	TW_U2 = 25,
	TW_I2 = 26
} TwType;

const char *tw_type_name(TwType type); /* "f32" */

typedef struct TwBundle TwBundle;
typedef struct TwSession TwSession;

/* ---- Opening ---- */

enum { TW_VERIFY_ALL = 0, TW_VERIFY_CODE = 1 };

typedef void TwLog(void *context, const char *line);

typedef struct TwOpenOptions {
	size_t size;
	const char *target; /* "cpu:x86-64-v3"; NULL: the best one in the bundle for this machine */
	const char *sha256; /* 64 hex digits that the file must have; NULL: any */
	int verify;         /* TW_VERIFY_ALL; TW_VERIFY_CODE does not hash the weights */
	int no_vendor;      /* 1: never load a vendor library, run the fallback kernels */
	TwLog *log;         /* called from the opening thread and from sessions' threads */
	void *log_context;
	int log_calls; /* 1: the log also has how a vendor library does each call, and how long it took
	                  to prepare */
} TwOpenOptions;

/* Open a bundle. tw_open_memory() reads `data` in place when it is 64-byte aligned and copies it
 * otherwise; it must stay until tw_close() and all sessions are gone. tw_open_descriptor() does not
 * take the descriptor over. */
TwCode tw_open(const char *path, const TwOpenOptions *options, TwBundle **bundle, TwError *error);
TwCode tw_open_descriptor(int descriptor, const TwOpenOptions *options, TwBundle **bundle,
                          TwError *error);
TwCode tw_open_memory(const void *data, size_t data_size, const TwOpenOptions *options,
                      TwBundle **bundle, TwError *error);

/* Give the bundle back; it goes when its last session is gone too. NULL is accepted. */
void tw_close(TwBundle *bundle);

/* ---- Signature: texts live as long as the bundle ---- */

typedef struct TwDim {
	int64_t value;      /* the extent, or -1 when it depends on a symbol */
	const char *symbol; /* "N", or an expression such as "N*2 + 1"; NULL when it is a number */
	int64_t lo, hi;     /* range of a plain symbol; value..value for a number; else 0..INT64_MAX */
	int is_data_dependent; /* 1: known only when the run has computed it */
} TwDim;

typedef struct TwTensorInfo {
	const char *name;
	TwType type;
	int rank;
	const TwDim *dims;
	int is_data_dependent; /* 1: some dim is; "sizes known before" does not hold for it */
	int has_default;       /* 1: an input that need not be bound: the bundle has what holds then */
} TwTensorInfo;

int tw_input_count(const TwBundle *bundle);
int tw_output_count(const TwBundle *bundle);
const TwTensorInfo *tw_input(const TwBundle *bundle, int index); /* NULL: no such index */
const TwTensorInfo *tw_output(const TwBundle *bundle, int index);
int tw_find_input(const TwBundle *bundle, const char *name); /* -1: no such name */
int tw_find_output(const TwBundle *bundle, const char *name);
const char *tw_target(const TwBundle *bundle);   /* the chosen one: "cpu:x86-64-v4" */
const char *tw_producer(const TwBundle *bundle); /* "tilewright 0.1.0" */
const char *tw_vendor(const TwBundle *bundle);   /* "oneDNN 2.6.3", "" when none is used */

/* ---- Sessions ---- */

/* What a step did, for profiles. */
typedef struct TwStep {
	size_t size;
	int index, depth;    /* position in its plan; 0 in the main plan, 1 inside an If or Loop … */
	const char *name;    /* "conv1+relu1" */
	const char *origins; /* original node names, joined by ", " */
	const char *kind;    /* "kernel", "vendor", "host", "copy", "if", "loop", "scan" */
	const char *impl;    /* the vendor's implementation, the kernel's function or the host row */
	double seconds;
	double flops, bytes; /* as counted when compiling, at the probe size */
	const char *units;   /* of the machine, for products: "s8", "bf16", "f32", "f64"; "": none */
} TwStep;

typedef void TwProfile(void *context, const TwStep *step);

/* Call task(arg, i) once for each i in 0..count-1, in any order and on any threads, and return when
 * all are done. */
typedef void TwParallelFor(void *context, int count, void (*task)(void *arg, int index), void *arg);

typedef struct TwSessionOptions {
	size_t size;
	int threads; /* 0: the cores this process may use; 1: none is started; more than four for each
	                core are as many as that, and the log says so */
	int spin_us; /* how long idle threads look for work behind a run before they sleep; within one
	                2000 at least. 0: 50, -1: not at all, in neither */
	TwParallelFor *parallel_for; /* the caller's threads instead of ours; used `threads` wide */
	void *parallel_context;
	void *(*allocate)(void *context, size_t bytes, size_t alignment);
	void (*release)(void *context, void *memory, size_t bytes); /* both or none */
	void *memory_context;
	void *arena; /* the caller's memory for temporaries, 64-byte aligned; NULL: allocated */
	size_t arena_size;
	size_t memory_limit;        /* bytes this session may allocate; 0: no limit */
	const volatile int *cancel; /* looked at between steps; not 0: tw_run() gives TW_CANCELLED */
	TwProfile *profile;         /* after each step, in the thread that runs */
	void *profile_context;
} TwSessionOptions;

TwCode tw_session_new(TwBundle *bundle, const TwSessionOptions *options, TwSession **session,
                      TwError *error);
void tw_session_free(TwSession *session); /* NULL is accepted */

/* Bind memory; it is used in place, never copied, until bound anew (but for an input of one element
 * along a dim of another size, where the model broadcasts it: before each run). The data need not
 * be there before tw_run(). Inputs are dense, row-major; data 64-byte aligned is fastest, any
 * alignment of the element is accepted. Fails (TW_SHAPE) on another rank, and where a dim that is a
 * number is another one; how inputs must fit each other is looked at by tw_prepare(). */
TwCode tw_bind_input(TwSession *session, int index, const void *data, size_t bytes, int rank,
                     const int64_t *dims, TwError *error);

/* Bind memory of at least the size needed, which may overlap no input and no other output: tw_run()
 * looks. NULL: the session's own (the default). Memory for a data-dependent output that turns out
 * too small gives TW_MEMORY. */
TwCode tw_bind_output(TwSession *session, int index, void *data, size_t bytes, TwError *error);

/* Bind sizes: checks inputs against each other, places temporaries, makes vendor primitives.
 * tw_run() does it when it has not been done. */
TwCode tw_prepare(TwSession *session, TwError *error);

/* An output's type and dims: after tw_prepare(), or after tw_run() where they depend on data. The
 * dims stay until the next tw_prepare() or tw_run(). data is NULL before the first run unless
 * bound. */
typedef struct TwTensor {
	TwType type;
	int rank;
	const int64_t *dims;
	void *data;
	size_t bytes;
} TwTensor;

TwCode tw_get_output(TwSession *session, int index, TwTensor *tensor, TwError *error);

/* Bytes of temporaries for what is prepared: what `arena` must have to need no other memory for
 * them. 0 before tw_prepare(). */
size_t tw_arena_bytes(const TwSession *session);

/* Bytes the session holds now, and the most it ever held. */
void tw_memory(const TwSession *session, size_t *now, size_t *most);

/* Run on what is bound. After the first run with the same dims nothing is allocated (outputs and
 * values whose size depends on data excepted, whose memory only grows). */
TwCode tw_run(TwSession *session, TwError *error);

/* ---- GPUs ----
 *
 * Inputs and outputs may be bound to the GPU's memory, which is used in place, or to pinned memory
 * (cudaMalloc(), cudaHostAlloc()). tw_run() is as ever: it waits. */

/* Give a run and do not wait for it. It begins when what `stream`, a cudaStream_t of the caller's,
 * has been given is done (NULL: CUDA's default stream), and what that stream is given afterwards
 * begins when the run is done. All inputs and outputs are bound, to memory that the GPU reaches
 * (else TW_USAGE); TW_UNSUPPORTED on CPUs, and where the host takes part: nodes that it computes,
 * sizes that depend on data. The first two runs with the same sizes and memory may wait, for
 * earlier ones. */
TwCode tw_run_async(TwSession *session, void *stream, TwError *error);

/* Wait for all that tw_run_async() gave, and say what went wrong in it: an index out of range, an
 * error of the device's. tw_run() and a later tw_run_async() that waits say it, too. */
TwCode tw_wait(TwSession *session, TwError *error);

#ifdef __cplusplus
}
#endif

#endif
