/* Targets: machines by row (devices.def), vendor calls by row (vendor.def), and the questions the
 * compiler may ask of the outside (Oracle), which src/cli fills in. Nothing here touches a device
 * or a vendor library.
 */
#ifndef TARGET_TARGET_H
#define TARGET_TARGET_H

#include "base/call.h"
#include "base/map.h"
#include "expr/stage/stage.h"

struct Graph;

typedef struct Device {
	const char *name; /* "cpu:x86-64-v3" */
	const char *doc;
	const char *march; /* the C compiler's -march; NULL: not a CPU */
	int vector_bytes;  /* 16, 32, 64 */
	int registers;     /* vector registers */
	bool has_fma, has_f16, has_bf16;
	bool is_apart;             /* its memory is not the host's: values are copied there and back */
	int64_t l1, l2, l3;        /* bytes per core; l3 shared */
	double gflops;             /* f32 per core at nominal clock; of a GPU: of all units */
	double bandwidth;          /* GB/s per core from DRAM; of a GPU: of all units */
	const struct GpuInfo *gpu; /* NULL: a CPU */
	const struct Maker *maker; /* how kernels are made for it; see maker.h */
} Device;

/* What only GPUs have; see devices.def. Sizes in bytes, rates in GB/s and GFLOP/s. */
typedef struct GpuInfo {
	int capability, units;
	int registers, threads, blocks; /* per unit */
	int threads_block;              /* the most in one block */
	int64_t shared_bytes, shared_bytes_block;
	double shared_bandwidth;
	double tf32, f16, f64;
} GpuInfo;

/* A row by name; "cpu:native" resolves to the best row this machine can run. NULL: none. */
const Device *device_find(const char *name);
const Device *device_native(void); /* NULL: no row fits this machine */
bool device_runs_here(const Device *device);
int device_count(void);
const Device *device_at(int index);

/* Estimates for one core. Traffic: the time to hand these bytes from one step to the next, at the
 * speed of the cache if they fit into it, else of memory. Work: the time of so many floating-point
 * operations; our loops reach a smaller part of the machine's peak than a library does. */
typedef enum WorkKind { WORK_loops, WORK_library } WorkKind;
double device_traffic_seconds(const Device *device, double bytes);
double device_work_seconds(const Device *device, WorkKind kind, double flops);

/* What the compiler may ask of the world. Any function may be NULL: then the answer is "no". */
typedef struct Oracle {
	void *self;
	/* Whether this vendor library can be used at all. */
	bool (*available)(void *self, const char *library);
	/* Whether the call's library runs it, at the probe sizes, with a real implementation (never a
	 * reference), named in *impl (may be NULL; lives as long as the oracle). */
	bool (*accept)(void *self, const VendorCall *call, const char **impl);
	/* The same with the time to choose by, half-way between one thread and as many as runs have by
	 * default. */
	bool (*measure)(void *self, const VendorCall *call, double *seconds, const char **impl);
	/* What programs that can replace one another take as models of their own, compiled for this
	 * machine with all passes but those that derive: seconds, half-way as above, measured in turns
	 * so that what else the machine does falls on all alike. constant[k]: input k is known when
	 * compiling. 0 where one cannot be compiled. relayouts[i]: how much of that a library's copies
	 * between storages take. */
	void (*time)(void *self, int count, const Program *const *programs, const bool *constant,
	             double *seconds, double *relayouts);
	/* What a model takes in which the pass of this name finds nothing to do, and where it does what
	 * these choices say (key -> chosen): seconds with one thread and as runs have by default, in
	 * turns. False: one of the two cannot be compiled, or does not run. */
	bool (*time_pass)(void *self, const struct Graph *graph, const Binding *sizes, const char *pass,
	                  const Map *choices, double without[2], double with[2]);
	/* What was found out by measuring in an earlier compilation, with all that decides about it as
	 * it is now: machine, libraries, compilers, options. NULL: nothing; else a text that anyone may
	 * have written. */
	const char *(*recall)(void *self, Arena *arena, const char *question);
	void (*remember)(void *self, const char *question, const char *answer);
} Oracle;

typedef struct Target {
	const Device *device;
	const Oracle *oracle; /* NULL: no vendor libraries, nothing measured */
	int threads;
	const Binding *probe; /* symbol values to choose at; default 1 per symbol */
	bool is_plain;        /* loops as they come: no lanes, no tiles */
	bool is_trial;        /* made to be timed, then thrown away: no fallbacks, made-up constants */
} Target;

/* Whether calls of this vendor library can be made and measured; of NULL none can. */
bool target_calls(const Target *target, const char *library);

/* A number for a dim at the probe sizes: symbols not bound there count as 1. Products of them
 * may be larger than any number: then the largest. */
int64_t probe_dim(const Target *target, const Dim *dim);
int64_t probe_times(int64_t a, int64_t b);
/* How many elements a tensor has there. */
double probe_elements(const Target *target, const Tensor *tensor);
/* Of the points of its box, the share that the stage's guard leaves at the probe sizes: counted, or
 * by a sample of them where many iterators are met in one condition; 1 where data decides. Windows
 * that reach beyond small images leave little. */
double probe_share(const Target *target, const Stage *stage);

#endif
