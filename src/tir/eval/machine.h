/* The machine that interprets kernels, as its parts see it.
 *
 * compile.c turns the scalars of each statement into a flat program over slots, once. run.c walks
 * the statements: all threads of a block go through them side by side, each with slots and
 * registers of its own; memory.c holds buffers; races.c knows who touched an element last; warp.c
 * runs the operations of target/warp.def.
 */
#ifndef TIR_EVAL_MACHINE_H
#define TIR_EVAL_MACHINE_H

#include "target/warp.h"
#include "tir/count.h"

/* The axes are @block.x … @thread.z in the order of Bind, threads from THREAD_AXIS on. MAX_THREADS:
 * of a block; no device has more. */
enum { AXES = 6, THREAD_AXIS = 3, MAX_THREADS = 1024 };

/* Who touches an element: unit is a block, or an iteration of the @parallel loops; barriers cut the
 * run of a block into epochs, counted from 1. */
typedef struct Who {
	int unit, thread, epoch; /* epoch 0: nobody */
} Who;

typedef struct Touched {
	Who writer, readers[2];
} Touched;

typedef enum ElementState { ELEMENT_EMPTY, ELEMENT_SET, ELEMENT_COMING } ElementState;

/* Where a buffer's elements are. */
typedef struct Storage {
	const Buffer *buffer;
	int64_t *dims, *strides;
	int64_t count;        /* elements that may be addressed */
	bool is_private;      /* each thread has so many, one thread's behind the other's */
	unsigned char *data;  /* NULL: not made yet */
	unsigned char *state; /* ElementState of each; NULL: all are set */
	Touched *touched;     /* NULL: no two can meet there */
	double watched;       /* bytes that blocks touch, while it is counted */
} Storage;

typedef struct Place {
	Storage *storage;
	const int *index; /* slots */
} Place;

typedef struct Instruction {
	uint8_t act, op, type, arg_type, flags;
	int dst, arg[3];
	int target;
	Storage *storage; /* a read: indices are slots list[arg[0]…] */
} Instruction;

/* A statement with its compiled scalars. */
typedef struct Code {
	const Stmt *stmt;
	int number; /* from 1 on, in order */
	struct Code *next, *body, *other;
	VEC(Instruction) ins;
	IntVec list;
	int result[4];         /* lo, hi / condition / value: slots */
	Place to;              /* STORE, ALLOC, WARP_OP */
	Place from[WARP_ARGS]; /* WARP_OP: operands that are places */
	int arg[WARP_ARGS];    /* WARP_OP: operands that are numbers: slots */
	int var;               /* FOR, LET: slot */
	int *active[2];        /* FOR, IF: the threads that go on, and those that do not */
} Code;

typedef struct Known {
	const Expr *e;
	int slot;
} Known;

/* An asynchronous copy that has not arrived. */
typedef struct Coming {
	const Storage *from; /* NULL: zeros */
	Storage *to;
	int64_t from_at, to_at;
	int count, group;
} Coming;

typedef struct Thread {
	Scalar *slots;
	VEC(Coming) coming;
	int groups; /* committed ones; the open one has this number */
} Thread;

/* An access, of which a warp's by one instruction are counted together. */
typedef struct Logged {
	int64_t key;
	const Storage *storage;
	int64_t byte;
	int size, warp;
	bool is_write;
} Logged;

enum { WATCH_SECTORS = 1 << 18, WATCH_RECENT = 1 << 12 };

/* What is counted while some blocks run (count.c). */
typedef struct Watch {
	Arena *arena;
	bool is_short;            /* of long loops a few turns stand for all */
	double weight;            /* how often what runs now does */
	int64_t key;              /* the instruction that runs, by its place */
	bool is_merging;          /* lanes of a vector: one access */
	bool has_read, has_begun; /* since the last barrier: arguments, and copies of them */
	VEC(Logged) log;
	uint64_t *seen; /* sectors of this block, hashed: WATCH_SECTORS places */
	int nseen;
	/* What warps have read in this turn of the innermost loop, hashed, since somebody stored: they
	 * have it in registers. */
	uint64_t recent[WATCH_RECENT], turn;
	KernelCounts counts;
} Watch;

typedef struct Machine {
	const Kernel *kernel;
	Watch *watch; /* NULL: nothing is counted, and all blocks run */
	Arena *arena;
	const Binding *binding;
	OutsideIndices *reports; /* of indices outside; NULL: they fail */
	Map storages;            /* Tensor to Storage */
	Map vars;                /* Var to slot + 1 */
	VEC(Scalar) slots;       /* as each thread finds them */
	VEC(Known) known; /* nodes computed so far in the program being compiled: a stack of scopes */

	int64_t extent[AXES], block[THREAD_AXIS];
	int ncode;
	int count; /* threads of a block, and … */
	int *all;  /* … their numbers */
	Thread *threads;
	bool is_shared; /* more than one may run at a time: accesses are watched */

	Who now;
	Scalar *at;       /* the slots of the thread that runs */
	const Stmt *stmt; /* what it runs */
} Machine;

/* Threads that run a statement, in order of their numbers. */
typedef struct Active {
	const int *threads;
	int count;
} Active;

static inline void
enter_thread(Machine *m, int thread)
{
	m->now.thread = thread;
	m->at = m->threads[thread].slots;
}

/* Fail at the statement that runs. */
_Noreturn void machine_fail(const Machine *m, FailKind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- compile.c ---- */
int new_slot(Machine *m);
Code *compile_list(Machine *m, const Stmt *list);
void run_code(Machine *m, const Code *code); /* of the thread that was entered */

/* ---- memory.c ---- */
int64_t dim_value(const Machine *m, const Expr *dim);
Storage *storage_of(Machine *m, const Tensor *tensor);
/* The bits of an element, by its number. */
Scalar element_load(DType type, const unsigned char *data, int64_t at);
void element_store(DType type, unsigned char *data, int64_t at, Scalar value);
/* The number of the first of `count` elements side by side; fails where one is outside. */
int64_t locate_elements(const Machine *m, Place place, int count);
/* An element, by what locate_elements() gave: who uses it is noted, and mistakes fail. */
Scalar read_at(Machine *m, const Storage *storage, int64_t at);
void write_at(Machine *m, Storage *storage, int64_t at, Scalar value);
void storage_make(Machine *m, Storage *storage, const Scalar *initial);
void storages_enter_block(Machine *m); /* shared memory is new */

/* ---- races.c: of storage that is watched ---- */
void note_read(const Machine *m, const Storage *storage, int64_t at);
void note_write(const Machine *m, const Storage *storage, int64_t at);

/* ---- count.c: while something is counted ---- */
typedef void RunBlock(Machine *m, const Code *body);
void watch_access(Machine *m, const Storage *storage, int64_t at, bool is_write);
void watch_code(Machine *m, const Code *code, int threads);
void watch_product(Machine *m, const WarpOp *op);
void watch_flush(Machine *m);     /* what was noted since is counted */
void watch_turn(Watch *watch);    /* another turn of a loop, or of all threads */
void watch_barrier(Watch *watch); /* all threads have reached one */
void watch_grid(Machine *m, const Code *body, RunBlock *run);
/* kernel_eval() with it. (run.c) */
void kernel_watch(const Kernel *kernel, const Binding *binding, Array *const *buffers,
                  Watch *watch);

/* ---- warp.c ---- */
void run_warp_op(Machine *m, const Code *code, Active active);

#endif
