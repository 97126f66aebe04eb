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

/* A memory of a device. Rows of a tile whose distance is a multiple of banks * bank_bytes meet in
 * one bank (of a cache: in one set, and ways of them lie there side by side). */
typedef struct MemLevel {
	const char *name; /* "registers", "shared", "L1", "L2", "L3", "memory" */
	int64_t bytes;    /* of one thread's registers, of a group's shared memory, of one core's
	                     cache; 0: no end */
	int sharers;      /* units that share it; 0: all */
	double rate;     /* GB/s from there towards the registers: of one core, of a GPU of all units */
	int transaction; /* bytes that it moves at least */
	int banks, bank_bytes, ways;
	int page; /* bytes of a page; 0: of no interest */
} MemLevel;

enum { MEM_LEVELS = 5 };

typedef struct Device {
	const char *name; /* "cpu:x86-64-v3" */
	const char *doc;
	const char *march; /* the C compiler's -march; NULL: not a CPU */
	/* What is made for it, by name (codegen/common/codegen.h); NULL: nothing, it is a row for tiles
	 * and times only. And the device that runs the same kernels where it is not there; or NULL. */
	const char *artefact, *simulator;
	int vector_bytes; /* 16, 32, 64 */
	int registers;    /* vector registers */
	bool has_fma, has_f16, has_bf16;
	bool is_apart;             /* its memory is not the host's: values are copied there and back */
	int64_t l1, l2, l3;        /* bytes per core; l3 shared */
	double gflops;             /* f32 per core at nominal clock; of a GPU: of all units */
	double bandwidth;          /* GB/s per core from DRAM; of a GPU: of all units */
	const struct GpuInfo *gpu; /* NULL: a CPU */
	const struct Maker *maker; /* how kernels are made for it; see maker.h */
	struct {                   /* GFLOP/s, as gflops is for f32; 0: no such instruction */
		double f64, tf32, f16, bf16, s8;
	} peak;
	int units;   /* multiprocessors; of a CPU 1: a bundle is the same for any number of cores */
	int issue;   /* threads that begin an instruction of a unit at once: 1, or warps' */
	int threads; /* the most of one group: a core's 1, or of a block */
	int sums;    /* vector sums under way before the first one is done */
	struct {     /* the least product of a tensor core or dot product: of 16-bit floats, of s8 */
		int m, n, k;
	} product[2];
	int nlevel; /* from the nearest to the largest */
	MemLevel levels[MEM_LEVELS];
} Device;

/* What only GPUs have; see devices.def. */
typedef struct GpuInfo {
	int capability;
	int registers, threads, blocks; /* per unit */
	int64_t shared_bytes;           /* the same */
	int64_t memory;                 /* bytes */
	int64_t clock, memory_clock;    /* kHz */
	/* For models of time: shares of the peaks of f32, memory and shared memory that kernels reach,
	 * and of all else what does not hide behind the longest; seconds of a launch, of a barrier,
	 * and until what is read is there; threads of a unit with which arithmetic, and memory, are at
	 * full speed; seconds that a block lives at least. */
	double reach_f32, reach_memory, reach_shared, exposed, launch, wait, latency, busy, loading,
		life;
} GpuInfo;

/* A row by name; "cpu:native" resolves to the best row this machine can run. NULL: none. */
const Device *device_find(const char *name);
const Device *device_native(void); /* NULL: no row fits this machine */
bool device_runs_here(const Device *device);
/* The row with the caches that this machine has, for its own CPU. */
Device device_as_here(const Device *device);
int device_count(void);
const Device *device_at(int index);

/* Estimates for one core. Traffic: the time to hand these bytes from one step to the next, at the
 * speed of the cache if they fit into it, else of memory. Work: the time of so many floating-point
 * operations; our loops reach a smaller part of the machine's peak than a library does. */
typedef enum WorkKind { WORK_loops, WORK_library } WorkKind;
double device_traffic_seconds(const Device *device, double bytes);
/* GFLOP/s of a core's units for products of this type ("f32" …); 0: it has none of their own. */
double device_peak(const Device *device, const char *units);
double device_work_seconds(const Device *device, WorkKind kind, double flops);
/* A library's call: a launch, and the longer of work, in these units or else f32's, and traffic. */
double device_step_seconds(const Device *device, WorkKind kind, const char *units, double flops,
                           double bytes);

/* What the compiler may ask of the world. Any function may be NULL: then the answer is "no". */
typedef struct Oracle {
	void *self;
	/* Whether this vendor library can be used at all. */
	bool (*available)(void *self, const char *library);
	/* Whether the call's library runs it, at the probe sizes, with a real implementation (never a
	 * reference), named in *impl (may be NULL; lives as long as the oracle); false: why not, or it
	 * stays as it is. */
	bool (*accept)(void *self, const VendorCall *call, const char **impl);
	/* The same with the time to choose by, half-way between one thread and as many as runs have by
	 * default. *seconds comes as that of the fastest that it is compared with, or 0. */
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
	/* Of the libraries for GPUs the one that alone a person wants to be asked, by name; or NULL. */
	const char *only;
} Oracle;

typedef struct Target {
	const Device *device;
	const char *row;      /* as measured (driver/measure/native.h); NULL: as in devices.def */
	const Oracle *oracle; /* NULL: no vendor libraries, nothing measured */
	const Binding *probe; /* symbol values to choose at; default 1 per symbol */
	const char *compiler; /* the command that compiles its kernels; NULL: as the environment says */
	bool is_plain;        /* loops as they come: no lanes, no tiles */
	bool is_finite;       /* numbers are: a term that a border leaves out may be one of zeros */
	bool is_trial;        /* made to be timed, then thrown away: no fallbacks, made-up constants */
} Target;

/* Whether calls of this vendor library can be made; of NULL none can. */
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
