/* The executor: runs a plan on a backend, weights and a vendor library, wherever from.
 *
 * An Exec is what one session runs. It has a Frame for its plan and one, made beforehand, for each
 * nested plan. A frame has a value per symbol and dim and a Slot per buffer; binding sizes fills
 * them, running fills in addresses. What depends on data (symbols read from elements or from host
 * outputs) is bound late, before the step that says so, and bound anew only when a value changed.
 *
 *     frame_bind   inputs' dims -> symbols -> dims -> slots, placement, steps
 *     frame_run    for each step: late symbols, arguments, work, status
 *
 * All functions give a TwCode; the sentence is in exec->error.
 */
#ifndef RUNTIME_EXEC_EXEC_H
#define RUNTIME_EXEC_EXEC_H

#include <stdarg.h>

#include "base/array.h"
#include "base/pile.h"
#include "bundle/plan.h"
#include "runtime/backend.h"
#include "runtime/memory.h"
#include "runtime/pool.h"
#include "runtime/tilewright.h"
#include "runtime/vendor.h"

typedef struct Exec Exec;
typedef struct Frame Frame;

/* What sessions share; never written after it was made. */
typedef struct ExecModel {
	const Plan *plan;
	const Backend *backend;
	const BackendCode *code;   /* NULL: the plan has no kernels */
	Weights *weights;          /* in the host's memory; NULL: the plan has none */
	const unsigned char *held; /* and where kernels read the plain ones */
	Vendors vendors;           /* those of the plan; without its library a step falls back */
	TwLog *log;                /* NULL: nobody listens */
	bool says_calls;           /* it also has how each call of a library is made */
	void *log_context;
} ExecModel;

/* A buffer at run time. */
typedef struct Slot {
	struct Slot *root;   /* whose storage it is in: itself but for views */
	unsigned char *data; /* of the storage; views: unused, see slot_data() */
	int64_t *dims;       /* valid when has_dims */
	int64_t *strides;    /* views with strides: valid when has_dims; else NULL */
	int64_t view_offset; /* views: bytes from the root's data; else 0 */
	size_t bytes;        /* needed, when has_dims */
	bool has_dims;
	bool is_late;         /* dims are not known when the frame is bound */
	bool is_own;          /* memory is `own`, reserved when first written */
	const void *constant; /* a weight's bytes as the host reads them, through captures too */
	Block own;
	void *bound; /* outputs: memory given for this run, or NULL */
	size_t bound_bytes;
} Slot;

/* An observer of a run, as the prover is: called before each step, with the symbols of the step
 * bound, and once behind the last step (step == plan->nstep); in nested plans too. A vendor step
 * that has a fallback kernel runs that first, and the observer is called again before the vendor's
 * call, with has_tried set. Any code but TW_OK ends the run. */
typedef TwCode FrameWatch(void *context, Frame *frame, int step, bool has_tried);

/* Which blocks of a kernel are run, by number; none: all. Set by the observer before a step, for
 * that step; it is called again behind them, with has_tried set, before any other step. */
typedef struct BlockSample {
	int count;
	const int64_t *blocks;
} BlockSample;

/* Bytes behind the temporaries while a run is observed: the prover checks that nothing writes
 * there. */
enum { WATCH_ROOM = 256 };

enum { VENDOR_CALLS = 4 };

typedef struct CallEntry {
	PreparedCall *call;
	int64_t *key;
	bool is_refused; /* known to have no implementation: the fallback runs */
} CallEntry;

/* Vendor calls by the dims of their arguments, most recent first. */
typedef struct CallCache {
	Vendor *vendor; /* the step's; NULL: it runs its fallback kernel */
	CallEntry entries[VENDOR_CALLS];
	int count;
	size_t key_bytes;
	char refusal[300]; /* why the last refused one was refused, */
	bool is_said;      /* and whether the log has it */
} CallCache;

/* Values that an iteration hands to the next, and what iterations collected. */
typedef struct Carried {
	Block block[2];
	int rank;
	int64_t dims[PLAN_MAX_RANK];
	int64_t count; /* collected so far */
} Carried;

/* The device's work of a whole run, for the memory and sizes it was recorded with (capture.c). */
typedef struct Capture {
	bool is_possible, is_recording;
	int runs;             /* with this memory and these sizes, step by step */
	BackendCapture *work; /* NULL: not recorded */
	Bytes *bound;         /* the caller's memory: inputs, then outputs */
} Capture;

/* An input or output, and the buffer on the device that it is copied to or from (loan.c). */
typedef struct Loan {
	int port, temp;
	bool is_input;
	unsigned char *own; /* where the second lies otherwise; NULL: it may not be lent */
} Loan;

/* Turns of Loops that may have no end, and operations and bytes of all nested plans. */
typedef struct Turns {
	int64_t count;
	double work;
	bool has_no_end;    /* more of them were made, or more memory was asked for, than a run may; */
	bool has_no_branch; /* or by a branch that was not taken: then no other is shown, either */
} Turns;

typedef struct HostStep HostStep; /* host.c */

/* Working memory of host operators: blocks handed out from the front, kept between calls. */
enum { HOST_BLOCKS = 16 };
typedef struct HostScratch {
	Block blocks[HOST_BLOCKS];
	int block;   /* being filled */
	size_t used; /* of it */
} HostScratch;

typedef struct StepState {
	bool is_bound, is_late;
	bool tells;  /* dims of its results, by giving them */
	bool covers; /* a call in place of other steps, which run where it is not made */
	int number;  /* of the step, among all of the session */
	int late_version;
	int64_t extent, shared;
	double flops, bytes;                       /* at the sizes bound now */
	int64_t grid[PLAN_AXES], block[PLAN_AXES]; /* 1 beyond the axes that the plan has, 0: none */
	size_t scratch;
	int nbuffer;        /* arguments that are there */
	const int *buffers; /* their numbers */
	void **data;        /* per argument, filled when the step runs; NULL: absent */
	int64_t *symbols;
	PreparedCall *call; /* for the sizes bound now; NULL: fallback */
	CallCache *calls;
	Frame **bodies;
	Carried *carried;
	Array *arrays; /* arguments of host and flow steps, then what bodies get for them */
	HostStep *host;
	Block *dense;  /* copies of strided arguments, one per argument */
	Block blocked; /* argument 1, weights, as a vendor step's fallback kernel reads them, */
	void *held;    /* and where it does; NULL: as they lie */
} StepState;

struct Frame {
	Exec *exec;
	const Plan *plan;
	Frame *outer; /* NULL: the main plan */
	int depth;
	bool is_bound; /* else the next run binds all anew: what failed may have left half of it */
	int late_version;
	int64_t *symbols, *dims; /* PLAN_UNBOUND where not known */
	bool *dim_is_late;
	int *late, *late_from; /* own symbols not of inputs, by step; where each step's begin */
	Slot *slots;
	StepState *steps;
	int64_t *size, *offset; /* of temporaries */
	Block arena[PLAN_PLACES];
	unsigned char *base[PLAN_PLACES]; /* of temporaries: in `arena` or the caller's memory */
	size_t arena_bytes;               /* in the host's memory */
};

struct Exec {
	const ExecModel *model;
	Memory memory;
	TwError *error; /* of the call under way; may be NULL */
	Pile pile;      /* tables that live as long as the session */
	Workers workers;
	Stream *stream;
	uint64_t mark;          /* what must be done before the host's memory may be touched */
	const PlanStep **named; /* steps by number */
	int nnamed, step;       /* how many; the one that runs */
	const volatile int *cancel;
	Turns most, turns; /* that a run may make, no count: any; and those of this run */
	TwProfile *profile;
	void *profile_context;
	FrameWatch *watch; /* NULL: none. While watched, also what would not be taken runs, before what
	                      is, so that it is checked: the other branch of an If, the fallback
	                      kernel of a vendor step */
	void *watch_context;
	BlockSample sample;   /* of the next launch: what the observer wants to be run of it */
	unsigned char *arena; /* the caller's, for the main plan */
	size_t arena_size;
	Frame *main;
	Capture capture;
	Loan *loans;
	int nloan;
	bool is_async; /* the run ends when all is given, and nobody waits for it */
	HostScratch host_scratch;
	Block nothing; /* kernels are given its middle for arguments without elements */
};

/* Make the frames of exec->model->plan. */
TwCode exec_open(Exec *exec);
void exec_close(Exec *exec);

/* Record an error: the sentence's control characters are replaced. `error` may be NULL. */
void error_say(TwError *error, TwCode code, const char *format, va_list args);
TwCode exec_fail(Exec *exec, TwCode code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
TwCode exec_out_of_memory(Exec *exec, size_t bytes);
void exec_log(const ExecModel *model, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Scratch of at least `bytes` for whatever runs on its own. */
TwCode exec_reserve_scratch(Exec *exec, size_t bytes);

/* ---- The device and the host ---- */

/* Where blocks in a place come from. */
Memory *exec_memory(Exec *exec, PlanPlace place);
TwCode exec_reserve(Exec *exec, PlanPlace place, Block *block, size_t bytes);
/* The error that a backend reported. */
TwCode exec_report(Exec *exec, const BackendReport *report);
/* Copy as the stream's next work, or at once from host to host. `step` is filled in. */
TwCode exec_copy(Exec *exec, BackendCopy *copy);
TwCode exec_copy_bytes(Exec *exec, size_t bytes, PlanPlace from, const void *source, PlanPlace to,
                       void *target);
/* Copy an array whose elements lie by these strides (NULL: dense) to `target`. */
TwCode exec_copy_array(Exec *exec, const Array *array, PlanPlace from, const int64_t *strides,
                       PlanPlace to, void *target, const int64_t *target_strides);
/* Wait for all copies to the host: before it looks at or changes its memory. */
TwCode exec_await(Exec *exec);
TwCode exec_finish(Exec *exec); /* wait for everything */

/* ---- Frames (bind.c) ---- */

/* Bind sizes to inputs of these types and dims (data is not looked at). */
TwCode frame_bind(Frame *frame, const Array *inputs);
/* Bind the symbols whose place is before step `index`. */
TwCode frame_bind_late(Frame *frame, int index);
/* Says that this dim of an input must be `value`: TW_SHAPE. */
TwCode frame_refuse_dim(Frame *frame, int input, const Array *given, int dim, int64_t value);
/* Elements and bytes of a slot whose dims are known; false when they overflow or are negative. */
bool slot_measure(const PlanBuffer *buffer, const int64_t *dims, size_t *bytes);
size_t element_bytes(DType type); /* 0: less than a byte */

/* ---- Running (exec.c) ---- */

/* Run the main plan or, later, what was recorded of it. Input and bound output memory are in the
 * slots. (capture.c) */
TwCode exec_run(Exec *exec);
void capture_open(Exec *exec);   /* whether a run can be recorded */
TwCode capture_drop(Exec *exec); /* what was recorded no longer holds */
/* Run the steps; the frame is bound, and stays so unless this fails. */
TwCode frame_run(Frame *frame);
/* Give a step, as one of those that may run side by side; and what ends a run. */
TwCode frame_step(Frame *frame, int index);
TwCode exec_end(Exec *exec);
TwCode step_run(Frame *frame, int index);
void *slot_data(const Frame *frame, int buffer);
/* The bytes of a weight, or of a view of one, as the host reads them; NULL: it is none. */
const void *slot_constant(const Frame *frame, int buffer);
/* Bytes that a buffer's own storage takes: in blocked layouts more than its elements do. */
size_t slot_storage(const Frame *frame, int buffer);
/* Make sure that there is memory to write `buffer` to. */
TwCode slot_prepare(Frame *frame, int buffer);
/* Give a buffer the dims of an array that will be written to it, or check that it has them. */
TwCode slot_shape(Frame *frame, int buffer, const Array *array, const PlanStep *step);
/* Write an array, which lies in `from`, to a buffer, taking its dims where they are not known. */
TwCode slot_take(Frame *frame, int buffer, const Array *array, PlanPlace from,
                 const PlanStep *step);
/* A buffer as a dense array; strided views are copied to state->dense[arg]. */
TwCode slot_array(Frame *frame, StepState *state, int arg, int buffer, Array *array);

/* ---- Memory that the caller binds (loan.c) ---- */

void loans_open(Exec *exec);
void loans_bind(Exec *exec); /* temporaries have been placed */
/* TW_USAGE where the host or the device could not follow the address of an input or output. */
TwCode loans_check(Exec *exec, bool is_async);
/* Who can follow an address of the caller's. */
TwCode exec_reach(Exec *exec, const void *memory, BackendReach *reach);
/* For the run that begins: what lies where the caller has it. */
TwCode loans_take(Exec *exec);

/* ---- Steps ---- */

TwCode step_bind(Frame *frame, int index); /* step.c; once its dims are known */
/* Whether a call that is made for the sizes bound now does the step's work. Who looks on is shown
 * all steps. */
bool step_is_covered(const Frame *frame, int index);
TwCode step_bind_kernel(Frame *frame, const PlanStep *step, StepState *state);   /* step.c */
TwCode step_run_kernel(Frame *frame, const PlanStep *step, StepState *state);    /* step.c */
TwCode step_show_fallback(Frame *frame, const PlanStep *step, StepState *state); /* vendor.c */
TwCode step_run_vendor(Frame *frame, const PlanStep *step, StepState *state);    /* vendor.c */
TwCode step_bind_vendor(Frame *frame, const PlanStep *step, StepState *state);   /* vendor.c */
/* Make state->held where the fallback kernel wants it. (fallback.c) */
TwCode step_block_weights(Frame *frame, const PlanStep *step, StepState *state);
/* Open the libraries that the plan names; one that cannot be opened is logged. */
void model_open_vendors(ExecModel *model);
void model_close_vendors(ExecModel *model);
/* Make the calls of all steps with known sizes, on several workers: packing weights takes long. */
TwCode frame_make_calls(Frame *frame);
bool step_has_sizes(const Frame *frame, const PlanStep *step); /* step.c */
void call_cache_free(Exec *exec, CallCache *cache);
TwCode step_run_copy(Frame *frame, const PlanStep *step, StepState *state);
TwCode step_run_host(Frame *frame, const PlanStep *step, StepState *state); /* host.c */
void host_step_make(Exec *exec, const PlanStep *step, StepState *state);
TwCode step_run_if(Frame *frame, const PlanStep *step, StepState *state); /* flow.c */
TwCode step_run_loop(Frame *frame, const PlanStep *step, StepState *state);
TwCode step_run_scan(Frame *frame, const PlanStep *step, StepState *state);

#endif
