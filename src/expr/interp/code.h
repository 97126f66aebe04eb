/* Inside of the interpreter: a stage as flat code over blocks of points.
 *
 * The iterators of a stage are cut in two. *Lane* iterators vary within a block: normally the
 * innermost loops, so that sums keep their row-major order lane by lane; for a reduction to a few
 * points the innermost reduction iterators, whose terms are then folded one after the other. All
 * other iterators have one value per block or per step; a step is a value of the stepped reduction
 * iterators, in row-major order. Each instruction stands in the list of the innermost stepped
 * iterator it depends on, and runs only when that one changed.
 *
 *     sum(c:64, r:3, s:3 where 0 <= p+r-1, …) X[n,c,p+r-1,q+s-1] * W[f,c,r,s]
 *
 * Lanes are p and q. The guard does not depend on c: it is remembered per (r,s) (a memo). X is
 * gathered through a table of offsets made once; W has one address per step and is a *uniform*
 * register of one lane.
 *
 * Lazy operations work by masks: code under a mask may compute nonsense in lanes not taken, but
 * reads there do not happen. In bound mode every float register is a double with an error bound.
 */
#ifndef EXPR_INTERP_CODE_H
#define EXPR_INTERP_CODE_H

#include "expr/interp/interp.h"
#include "expr/scalar/blocks.h"

enum {
	MAX_ITER = 64,
	MEMO_LIMIT = 128, /* remembered blocks per memo */
	NO_MASK = -1,
};

/* A tensor in memory. In bound mode floats are held as f64 and `bound` (NULL: all exact) stands
 * beside the values; integers too may carry a bound: how far another right value may be. */
typedef struct Store {
	DType type; /* of the elements in memory */
	int rank;
	const int64_t *dims, *lo, *stride;
	int64_t count;
	int64_t least, most; /* addresses of its elements */
	void *data;
	double *bound;
	struct Listing *listing; /* the elements there are, and where (listed.h); NULL: all */
	double *deviation;       /* of listed ones */
} Store;

typedef enum MaskState {
	MASK_all,
	MASK_none,
	MASK_mixed,
} MaskState;

/* The lanes a mask takes, as stretches; more than RUNS_MAX: not known. */
enum { RUNS_MAX = 32 };
typedef struct Runs {
	int count; /* -1: too many */
	short first[RUNS_MAX], length[RUNS_MAX];
} Runs;

typedef struct Reg {
	DType type;       /* what the block holds (blocks.h) */
	DType logical;    /* the type of the scalar it stands for: differs for floats in bound mode */
	bool is_uniform;  /* one lane */
	bool is_given;    /* from iterators, symbols and constants alone: no reduction's order counts */
	int level;        /* 0: once per block; 1 + k: when stepped iterator k changes */
	uint64_t deps;    /* stepped iterators, as bits */
	void *own, *data; /* its buffer; where the value is (own, or a place in a tensor) */
	double *own_bound, *bound;         /* bound mode: NULL is exact */
	double *own_deviation, *deviation; /* listed points: of the error; NULL: the bound itself */
	MaskState state;                   /* of masks */
	Runs *runs;                        /* of mixed masks */
} Reg;

typedef struct Machine Machine;
typedef struct Instr Instr;
typedef VEC(Instr *) InstrVec;

/* One term of an address: coefficient times an iterator or an i64 register. */
typedef struct Term {
	int which;
	int64_t factor;
	int64_t limit; /* registers: must be in 0..limit */
	int64_t shift; /* subtracted before (lo of the dim) */
} Term;

typedef struct ReadInfo {
	const Tensor *tensor;
	Store *store;
	int64_t base;
	int nscalar, nreg;
	Term *scalars;   /* iterators outside of the lanes */
	Term *regs;      /* indirect and other non-affine indices */
	bool is_lanes;   /* some lane iterator has a coefficient */
	bool is_strided; /* lane i is at i*stride */
	int row;         /* else: lanes of each stretch of this length are side by side, or 1 */
	int64_t stride;
	int64_t *offset; /* of lane i; NULL when is_strided or not is_lanes */

	/* listed points */
	const int64_t *coef;            /* of each iterator: offsets are made for each block */
	BlockCast cast[BLOCK_CAST_MAX]; /* from elements in memory to what the register holds */
	int ncast;
} ReadInfo;

typedef struct StepMemo {
	InstrVec code;
	int result;
	int nouter; /* other iterators of blocks it depends on, and what they were when it was filled */
	int outer[MAX_ITER];
	int64_t seen[MAX_ITER];
	int n;           /* of lanes, too, */
	bool is_cut_key; /* unless a key says which chunk it is */
	int nkey;
	int key[MAX_ITER];
	int64_t key_unit[MAX_ITER], key_stride[MAX_ITER];
	int count;
	bool *is_filled;
	MaskState *states;
	Runs *runs;
	char *blocks;
	size_t block_size;
} StepMemo;

typedef void (*BoundFn)(Machine *m, const Instr *in, int n);

struct Instr {
	void (*run)(Machine *m, const Instr *in);
	int out, narg, arg[3], mask;
	BlockFn fn;
	BoundFn bound; /* NULL in exact mode and where the result is exact */
	ExprOp op;
	DType to; /* casts: the type converted to */
	int flags;
	bool is_negated; /* masks: of the complement */
	int64_t extent;  /* at */
	ReadInfo *read;
	StepMemo *memo;
};

/* A stage ready to run, with its registers. */
struct Machine {
	Arena *arena;
	const Stage *stage;
	bool is_bound, keeps_halves; /* see BoundWay */
	int niter, fixed;
	int64_t lo[MAX_ITER], hi[MAX_ITER];
	int64_t cur[MAX_ITER];

	int nlane; /* lane iterators, outermost first; the first is cut into chunks */
	int lane[MAX_ITER];
	bool is_lane[MAX_ITER];
	int64_t chunk, inner; /* values of the first lane iterator per block; lanes per value */
	bool is_folded;       /* lanes are terms of the reduction */
	int64_t *rel[MAX_ITER];
	int n; /* lanes of the current block */

	int nstep; /* stepped iterators, outermost first */
	int step[MAX_ITER];
	int64_t step_size[MAX_ITER];

	VEC(Reg) regs;
	InstrVec code[MAX_ITER + 1]; /* by level */
	InstrVec guard_code[MAX_ITER + 1];
	InstrVec combine_code;
	VEC(StepMemo *) memos;
	int guard; /* register, or -1 */
	int guard_level;

	int nstate;
	int terms[REDUCE_MAX_STATES]; /* registers of the bodies */
	int acc[REDUCE_MAX_STATES];   /* registers of the running state */
	int next[REDUCE_MAX_STATES];  /* combined state */
	Scalar identity[REDUCE_MAX_STATES];
	BlockFold fold;                /* sum, prod, max, min in exact mode; NULL: by combine_code */
	Instr *product;                /* the terms are its result, not computed by the code; or NULL */
	BlockFoldProduct fold_product; /* exact mode */
	double product_error, product_tiny; /* bound mode: as bound_product_error() */
	bool is_careful;                    /* bound mode: products one by one all the same */
	double *sum_abs, *sum_bound;        /* bound mode, sums of floats: see bound.c */
	int64_t nterm;

	int results[REDUCE_MAX_STATES];      /* registers to store: state or body, converted */
	InstrVec finish;                     /* conversions of results */
	ReadInfo *places[REDUCE_MAX_STATES]; /* where lanes go */

	/* scatter */
	int target[MAX_ITER];
	Store *scatter;
	int64_t *index; /* scratch, BLOCK_LANES */

	/* listed points (listed.h) */
	bool is_listed, is_collecting;
	double joined; /* additions may have been made with so many terms of a sum; 0: not so */
	struct ListedSums *sums;
	VEC(ReadInfo *) listed_reads;
	int64_t *slots; /* where the results of the block's lanes go */

	uint64_t keep;  /* sampling: blocks with a hash below this are computed; 0: all */
	uint64_t block; /* number of the block */
};

/* Where a tensor is in memory; fails when it is unknown. */
typedef struct Stores {
	Arena *arena;
	Map map; /* Tensor to Store */
	bool is_bound, keeps_halves;
	Binding binding;
} Stores;

Store *stores_get(const Stores *stores, const Tensor *tensor);
Store *stores_new(Stores *stores, const Tensor *tensor); /* zeroed */
/* A store without data: shape and strides from the tensor's dims; of an input, checked. */
Store *stores_shape(Stores *stores, const Tensor *tensor);
Store *stores_input(Stores *stores, const Tensor *tensor, const int64_t *dims);
/* Symbols given by the caller, then those that inputs' shapes say. */
void stores_bind(Stores *stores, const Program *program, const Binding *given,
                 const int64_t *const *dims, const int *ranks);
/* The type elements have in memory and in blocks in this mode. */
DType held_type(bool is_bound, DType type);

/* Compile one stage; iterator `fixed` (or -1) gets its values from outside, one at a time. */
Machine *interp_compile(Stores *stores, ExprCtx *ctx, const Stage *stage, int fixed);
/* Compute all points (of the present value of the fixed iterator). */
void interp_run(Machine *m);
void interp_run_block(Machine *m);
void interp_scatter(Machine *m);

/* The kinds of instructions. */
void run_op(Machine *m, const Instr *in);        /* fn over the operands */
void run_mask(Machine *m, const Instr *in);      /* condition (negated) and mask, with its state */
void run_iter(Machine *m, const Instr *in);      /* iterator `flags`, one value */
void run_lane_iter(Machine *m, const Instr *in); /* iterator `flags`, a value per lane */
void run_at(Machine *m, const Instr *in);
void run_bitcast(Machine *m, const Instr *in);
void run_read(Machine *m, const Instr *in);
void run_memo(Machine *m, const Instr *in);

void interp_execute(Machine *m, const InstrVec *code);
/* The mask an instruction stands under; NULL when all lanes are taken. */
const unsigned char *mask_of(const Machine *m, int mask, MaskState *state);
Operand reg_operand(const Machine *m, int reg);
/* The bounds of a register's lanes, zero when it had none; its own buffer. */
double *reg_bounds(Machine *m, int reg);
int reg_lanes(const Machine *m, int reg); /* 1 or the block's */
/* The stretches of a mixed mask; NULL when there are too many to list. */
const Runs *runs_of(const Machine *m, int mask);
/* Element numbers of the lanes' addresses in m->index (of lane 0 only when nothing varies). With
 * a mask, lanes not taken get the address of one that is; there must be one. */
void address_lanes(Machine *m, const ReadInfo *info, const unsigned char *mask, int n);
/* Whether lane i is element first + i, and all of them are inside the tensor, wanted or not. */
bool is_stretch(const Machine *m, const ReadInfo *info, int n, int64_t *first);

/* The function that bounds the result of an operation or cast; NULL when it is exact given exact
 * operands and its operands cannot carry bounds. */
BoundFn bound_op(ExprOp op);
void bound_cast(Machine *m, const Instr *in, int n);
void bound_read(Machine *m, const Instr *in, int n);
void bound_at(Machine *m, const Instr *in, int n);
void bound_bitcast(Machine *m, const Instr *in, int n);
void bound_product_error(double *own, double *tiny);
/* One step of a sum of floats (sum.c), and what it amounts to at the end: false when some
 * lane overflowed or is not a number, so that its terms must be looked at one by one. */
void bound_sum_start(Machine *m);
void bound_sum_step(Machine *m, const unsigned char *mask);
void bound_sum_fold(Machine *m, const unsigned char *mask);
bool bound_sum_finish(Machine *m);

/* Sums of products make no block of products: find such a stage's multiplication and take it from
 * the code; then its steps, false when this one has to be done in two instructions (the product is
 * ready then). */
void sum_find_product(Machine *m);
bool sum_product(Machine *m, const unsigned char *mask);

#endif
