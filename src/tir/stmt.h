/* Stmt: how a group is computed. Loops, stores, guards, buffers with scopes, bindings.
 *
 *     kernel conv1_relu1(N, X: f32[N,3,224,224], W: f32[64,3,7,7], Y: out f32[N,64,112,112]) {
 *       for n in N @parallel
 *         for f in 64 @parallel
 *           for p in 112, q in 112 {
 *             acc: f32 @reg = 0.0
 *             for c in 3, r in 7, s in 7
 *               if (0 <= 2*p + r - 3 && …)
 *                 acc[] += X[n, c, 2*p + r - 3, 2*q + s - 3] * W[f, c, r, s]
 *             Y[n, f, p, q] = max(acc[], 0.0)
 *           }
 *     }
 *
 * Scalars are Exprs over EX_var (loop counters, lets), symbols and reads of buffers. Statements are
 * mutable trees in the kernel's arena; a list of statements is linked by `next`.
 *
 * A @vector loop may run its iterations in lockstep. A store with an op to a register or element
 * that does not depend on its variable is a reduction across the lanes.
 *
 * A loop @vector(i32x16) is one vector of the machine (loops/vectorize.c): it runs from 0, at most
 * 16 times, and i32 says that its values take 4 bytes a lane; i64: 8. Its body may hold serial and
 * unrolled loops whose bounds are the same for all lanes, registers (one per lane, at one index for
 * all), lets, stores, conditions that differ per lane (masks), reads at any index (contiguous,
 * uniform, or gathered).
 *
 * EX_at may stand in any index of a kernel: it wraps, reports an index outside into the status
 * where flagged AT_CHECK, and is clamped, so no access leaves its buffer. Lazy operations stay
 * lazy.
 *
 * A loop bound to an axis, @block.x … @thread.z, is not repeated: each thread runs the kernel's
 * statements once, and the variable is its number there. Registers are a thread's own, @shared
 * memory is a block's. `sync` is reached by all threads of a block and orders what they did before
 * and behind it. Operations of threads are rows of target/warp.def; see docs/blocks.md.
 *
 * A kernel says `flat` behind its arguments when addresses are explicit (loops/flatten.c): each
 * index is the number of an element. That is the form that codegen prints.
 */
#ifndef TIR_STMT_H
#define TIR_STMT_H

#include "expr/index/simplify.h"
#include "expr/stage/reduce.h"
#include "target/target.h"
#include "target/warp.h"

typedef struct Stmt Stmt;
typedef struct Buffer Buffer;
typedef struct Kernel Kernel;
struct Script;

typedef enum StmtKind {
	STMT_FOR,     /* for var in lo..hi @bind { body } */
	STMT_STORE,   /* buffer[index] = value, or op= value */
	STMT_IF,      /* if (condition) body else other */
	STMT_LET,     /* var = value, visible in the statements behind it in this list */
	STMT_ALLOC,   /* buffer @scope, visible in the statements behind it; value: initial, or NULL */
	STMT_SYNC,    /* barrier of the threads of a block */
	STMT_WARP_OP, /* buffer[index] = warp_op(args), or op=; or warp_op(args): warp.def */
} StmtKind;

typedef enum Bind {
	BIND_SERIAL,
	BIND_PARALLEL, /* outermost, perfectly nested: cut among workers as one flat index */
	BIND_VECTOR,   /* all iterations in lockstep; no dependence between them except reductions */
	BIND_UNROLL,
	BIND_TURN, /* a copy of vectors that lie across rows: by rows (loops/turn_loops.c) */
	BIND_BLOCK_X,
	BIND_BLOCK_Y,
	BIND_BLOCK_Z,
	BIND_THREAD_X,
	BIND_THREAD_Y,
	BIND_THREAD_Z,
	BIND_COUNT
} Bind;

enum { GRID_AXES = 3, BOUND_AXES = 6 }; /* from BIND_BLOCK_X on: of blocks, of both */

typedef enum Scope {
	SCOPE_PARAM,   /* an argument of the kernel */
	SCOPE_REG,     /* scalars, vectors and small arrays of constant extent: registers */
	SCOPE_STACK,   /* constant extent, at most STACK_BYTES in all */
	SCOPE_SCRATCH, /* this worker's scratch memory: any extent */
	SCOPE_SHARED,  /* a CUDA block's shared memory */
} Scope;

enum { STACK_BYTES = 16384 };

/* A buffer is a tensor that can be written. EX_read nodes point at &buffer->tensor. Element
 * address: base + sum index[d] * stride[d] (in elements). */
struct Buffer {
	Tensor tensor; /* first member */
	Scope scope;
	const Dim *const *stride; /* NULL: dense row-major */
	int param;                /* position among the kernel's buffers, -1: local */
	int lanes;                /* @reg(16): one vector register (PlaceRegisters); 0: none */
	bool is_output;           /* the kernel writes it */
	bool may_alias;           /* may share storage with another argument (in place) */
};

/* The op of a store: STORE_SET, or the reduce row that combines: sum (may contract to fma), prod,
 * max or min, the rows of one state. */
enum { STORE_SET = -1 };

struct Stmt {
	StmtKind kind;
	Stmt *next;
	Loc loc;

	const Var *var;           /* FOR, LET */
	const Expr *lo, *hi;      /* FOR */
	Bind bind;                /* FOR */
	int lanes, lane_bytes;    /* FOR @vector: one vector of so many lanes (Vectorize); 0: not yet */
	Stmt *body, *other;       /* FOR: body; IF: body, other */
	const Expr *condition;    /* IF */
	const Buffer *buffer;     /* STORE, ALLOC; WARP_OP with a result */
	const Expr *const *index; /* STORE; WARP_OP with a result: its first element */
	const Expr *value;        /* STORE, LET, ALLOC */
	int op;                   /* STORE, WARP_OP */
	const WarpOp *warp_op;    /* WARP_OP */
	const Expr *const *args;  /* WARP_OP: numbers, and places as reads of their first element */
};

struct Kernel {
	Arena *arena;
	ExprCtx *ctx;
	const char *name;
	Loc loc;
	const char *function;        /* what its code is called, once it is printed: "k3_conv1" */
	const char *ancestry;        /* "conv1 + relu1; schedule: …": printed in the emitted text */
	bool is_plain;               /* its loops stay as they come: no pass above -O0 */
	const struct Script *script; /* what is to be done to the naive loops; NULL: it is done */
	const struct KernelSource *source; /* what it was made of (lower/lower.h); NULL: not said */
	bool is_flat;                /* buffers are rows of elements, but for registers (Flatten) */
	bool is_normal;              /* operands stand in the order of Normalize; simplifying ends it */
	VEC(const Symbol *) symbols; /* parameters, in order */
	VEC(Buffer *) buffers;       /* arguments, in order */
	Stmt *body;
	const Dim *extent;  /* product of the @parallel loops: the flat index 0..extent */
	const Dim *scratch; /* bytes of scratch per worker; NULL: none */
};

Kernel *kernel_new(Arena *arena, ExprCtx *ctx, const char *name, const Loc *loc);
Buffer *kernel_param(Kernel *kernel, const char *name, DType type, int rank, const Dim *const *dims,
                     bool is_output);
Buffer *kernel_local(Kernel *kernel, const char *name, DType type, int rank, const Dim *const *dims,
                     Scope scope);
/* Sets extent, scratch and symbols from the body. Call when the body is complete. */
void kernel_finish(Kernel *kernel);

Stmt *stmt_for(Kernel *kernel, const Var *var, const Expr *lo, const Expr *hi, Bind bind,
               Stmt *body);
Stmt *stmt_store(Kernel *kernel, const Buffer *buffer, const Expr *const *index, int op,
                 const Expr *value);
Stmt *stmt_if(Kernel *kernel, const Expr *condition, Stmt *body, Stmt *other);
Stmt *stmt_let(Kernel *kernel, const Var *var, const Expr *value);
Stmt *stmt_alloc(Kernel *kernel, const Buffer *buffer, const Expr *initial);
Stmt *stmt_sync(Kernel *kernel);
/* With a result: buffer and index of its first element, and op; else NULL, NULL, STORE_SET. */
Stmt *stmt_warp_op(Kernel *kernel, const WarpOp *warp_op, const Buffer *buffer,
                   const Expr *const *index, int op, const Expr *const *args);
/* Whether threads, or their copies, meet there: nothing moves across it. */
bool stmt_is_barrier(const Stmt *stmt);
/* How many elements side by side an operand names, -1 being the result; 0: it names none. */
int stmt_width(const Stmt *stmt, int operand);
Stmt *stmt_append(Stmt *list, Stmt *tail); /* either may be NULL; gives the head; walks the list */

/* A list that grows at its end, each time at the cost of what is added; starts as {0}. */
typedef struct StmtList {
	Stmt *first, *last;
} StmtList;
void stmt_list_add(StmtList *list, Stmt *tail); /* NULL: nothing */

void kernel_print(Buf *buf, const Kernel *kernel);
void stmt_print(Buf *buf, const Stmt *list); /* for the debugger, under the names as they are */
Kernel *kernel_parse(Arena *arena, ExprCtx *ctx, const char *file, const char *text);

/* Fails (FAIL_BUG) unless: definitions precede uses, indices are proven in range under their
 * conditions (of a flat kernel those of registers only), @parallel loops are outermost and perfect,
 * @vector bodies have no forbidden dependence, register buffers have constant extents, outputs are
 * written. */
void kernel_check(const Kernel *kernel);
/* Fails (FAIL_UNSUPPORTED) unless a launch of the kernel is possible on the GPU: blocks along y and
 * z, threads and shared memory of one, and its operations exist there. */
void kernel_check_launch(const Kernel *kernel, const Device *device);
/* The same, and its arrays @reg fit into registers. */
void kernel_check_device(const Kernel *kernel, const Device *device);

/* Evaluate a kernel as it stands, over the whole flat range (or begin..end): the oracle of every
 * loop transformation. buffers[k] belongs to argument k and is written in place. Symbols by
 * Symbol.id. Fails on an index out of range, what is read before it is written or has arrived, a
 * barrier that some threads do not reach, and a race between threads, blocks or iterations. */
void kernel_eval(const Kernel *kernel, const Binding *binding, Array *const *buffers);

/* The indices outside that a kernel reported: each with its range once, in ascending order. */
typedef struct OutsideIndex {
	int64_t index, extent;
} OutsideIndex;
typedef struct OutsideIndices {
	Arena *arena;
	VEC(OutsideIndex) list;
} OutsideIndices;

/* The same, but an index outside is noted, and it goes on with one inside, as code does. Which are
 * reported is what every loop transformation keeps, whatever the data; which one comes first is
 * not, since workers race for that. */
void kernel_eval_reporting(const Kernel *kernel, const Binding *binding, Array *const *buffers,
                           OutsideIndices *reports);
bool reports_equal(const OutsideIndices *a, const OutsideIndices *b);

/* The statements of a list and those inside, each before what it holds:
 *
 *     for (StmtWalk walk = stmt_walk(arena, list); stmt_step(&walk);)
 *         if (walk.stmt->kind == STMT_FOR) … */
typedef struct StmtWalk {
	Stmt *stmt;
	Arena *arena;
	VEC(Stmt *) pending;
} StmtWalk;
StmtWalk stmt_walk(Arena *arena, Stmt *list);
bool stmt_step(StmtWalk *walk);

#endif
