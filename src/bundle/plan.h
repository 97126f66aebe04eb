/* Plan: what a bundle does, as data. The compiler writes it, the executor follows it, and neither
 * it nor its reader knows whether it came from a bundle, a shared object or the linker.
 *
 * Every size, offset, stride and extent is a dim: an index into plan->dims, a small program over
 * the plan's symbols (postfix; see PlanDim). Steps run in order. Buffers have a kind and, when
 * temporary, a life from the step that first writes to the step that last reads; offsets are
 * computed from lives and sizes by plan_place(), the same function in verifier and runtime.
 */
#ifndef BUNDLE_PLAN_H
#define BUNDLE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/call.h"
#include "base/dtype.h"

typedef struct Plan Plan;

/* A dim in postfix: constants, symbols and operators on a stack of int64. Floats lie there by the
 * bits of an f64: arithmetic of f32 is that of f64 with PD_F32 behind it, which gives the same bits
 * for these operators. */
typedef enum PlanOp {
	PD_CONST,
	PD_NUMBER, /* a float */
	PD_SYMBOL,
	PD_FLOAT, /* of an integer, which must be exact as one */
	PD_F32,   /* the nearest f32 */
	PD_FLOOR,
	PD_CEIL,
	PD_ROUND, /* half to even */
	PD_INT,   /* towards 0; what 62 bits do not hold does not exist */
	PD_ADD,
	PD_SUB,
	PD_MUL,
	PD_FLOORDIV,
	PD_FLOORMOD,
	PD_MIN,
	PD_MAX,
	PD_FADD,
	PD_FSUB,
	PD_FMUL,
	PD_FDIV,
	PD_FMIN, /* NaN if one is */
	PD_FMAX,
	PD_LESS, /* 1 or 0; of integers */
	PD_EQUAL,
	PD_SELECT, /* pops b, a, c: a unless c is 0; what is not chosen need not exist */
} PlanOp;

static inline int
plan_op_arity(PlanOp op)
{
	return op <= PD_SYMBOL ? 0 : op <= PD_INT ? 1 : op == PD_SELECT ? 3 : 2;
}

typedef struct PlanToken {
	PlanOp op;
	int64_t value; /* PD_CONST: the number; PD_NUMBER: its bits; PD_SYMBOL: its index */
} PlanToken;

typedef struct PlanDim {
	int count;
	const PlanToken *tokens;
} PlanDim;

enum {
	PLAN_DIM_DEPTH = 32,
	PLAN_MAX_RANK = 32,
	PLAN_MAX_NESTING = 40,
	PLAN_AXES = 3,
	PLAN_GRID_MOST = 65535, /* blocks along y and z; along x no limit matters */
	PLAN_MOST_BESIDE = 16,
	PLAN_STATIC_SHARED = 48 << 10, /* bytes; what a block shares beyond them is one array whose size
	                                  the launch says */
	PLAN_SHARED_ALIGN = 16,        /* where each of its arrays begins */
};

/* The value of a symbol not bound yet. */
#define PLAN_UNBOUND INT64_MIN
/* The least range of a symbol: it bounds a slice, for which any number means something. */
#define PLAN_CLAMPED INT32_MIN

typedef enum PlanSource {
	PS_INPUT,   /* axis `index` of buffer `buffer` (an input): bound first */
	PS_ELEMENT, /* element `index` of integer buffer `buffer`, before step `step` */
	PS_DIM,     /* the value of dim `dim`, before step `step` */
	PS_OUTPUT,  /* axis `index` of the output of host step `step`-1 in `buffer` */
} PlanSource;

typedef struct PlanSymbol {
	const char *name;
	int64_t lo, hi; /* checked when bound; lo == PLAN_CLAMPED: a value beyond is moved to them */
	PlanSource source;
	int buffer, index, dim, step;
} PlanSymbol;

typedef enum PlanBufferKind {
	PB_INPUT,   /* the caller's; `index` is which */
	PB_OUTPUT,  /* the caller's, or the session's when the caller gives none */
	PB_WEIGHT,  /* in the weights at `offset`, `bytes` long */
	PB_TEMP,    /* placed in the arena by life */
	PB_VIEW,    /* of `base`, at `offset_dim` elements, with `strides` */
	PB_POOL,    /* size depends on data: own growing memory */
	PB_CAPTURE, /* nested plans: buffer `index` of the plan around */
} PlanBufferKind;

/* Which memory a buffer lies in: the one that kernels and vendor calls work in, or the one that
 * host operators, symbols, conditions and trip counts are read in. They are one unless the plan
 * says is_apart; then PLACE_HOST is the second, and copy steps move values between them. */
typedef enum PlanPlace { PLACE_DEVICE, PLACE_HOST, PLAN_PLACES } PlanPlace;

/* As texts have them. */
extern const char *const plan_buffer_words[], *const plan_step_words[];

typedef struct PlanBuffer {
	const char *name;
	DType type;
	int rank;
	const int *dims; /* logical extents */
	PlanBufferKind kind;
	PlanPlace place; /* views and captures: that of what they show */
	int index;
	int64_t offset,
		bytes; /* weights, and what holds for an input where nothing is bound (else -1) */
	int base, offset_dim; /* views */
	int of;               /* views: the buffer it shows a part of, `base` or another view of it */
	const int *strides;   /* views: dims in elements; NULL: dense */
	int size_dim;         /* bytes to place: blocked layouts are larger than their logical size */
	const char *layout;   /* NULL: plain row-major */
	bool is_value;        /* holds the graph's value of this name: can be proved by its meaning */
	int first, last;      /* life, in steps */
} PlanBuffer;

typedef enum PlanStepKind {
	PT_KERNEL,
	PT_VENDOR,
	PT_HOST,
	PT_COPY, /* strided copy between buffers of one shape (a view that had to become dense) */
	PT_IF,   /* args[0]: condition; bodies: then, else */
	PT_LOOP, /* args: M, cond, carried…; body 0 */
	PT_SCAN,
} PlanStepKind;

typedef struct PlanStep {
	PlanStepKind kind;
	const char *name;    /* for people: "conv1+relu1" */
	const char *origins; /* original node names, joined by ", " */
	const char *library; /* PT_VENDOR: whose row it is */
	const char *row;     /* vendor or host row */
	int kernel;          /* PT_KERNEL: in plan->kernels; PT_VENDOR: the fallback, -1 none */
	int extent_dim;      /* of the flat index */
	int scratch_dim;     /* bytes per worker, -1: none */
	int ngrid, nblock;   /* kernels for devices with such: blocks per axis, threads of one, */
	const int *grid, *block;
	int shared_dim; /* and bytes that the threads of a block share, -1: none */
	int nsymbol;
	const int *symbols; /* the kernel's parameters */
	int narg;
	const int *args; /* buffers; -1 = absent */
	int noutput;     /* the last noutput args are written */
	int nattr;
	const StepAttr *attrs;
	int nbody;
	Plan *const *bodies;
	int covered_by; /* a later PT_VENDOR without a kernel: where its call is made, it does this
	                        step's work, too, which is not run then; -1: none */
	bool is_beside; /* may run at the same time as the step before it, and as all that are
	                        beside that one: they touch nothing that one of them writes */
	const char
		*units; /* of the machine that its products are for: "s8", "f32" …; "": no products */
	double flops, bytes; /* at the sizes that the plan was made for, … */
	double points;       /* … where it has so many points, … */
	int points_dim;      /* … and with them flops grow; -1: not said */
} PlanStep;

typedef struct PlanAssumption {
	int a, b;         /* dims that must be equal */
	const char *what; /* "dim 1 of input a and dim 0 of input b" */
} PlanAssumption;

struct Plan {
	int nkernel, nsymbol, ndim, nbuffer, nstep, ninput, noutput, nassumption, nwish;
	const char *const *kernels; /* names of their functions; nested plans have those around */
	const PlanSymbol *symbols;
	const PlanDim *dims;
	const PlanBuffer *buffers;
	const PlanStep *steps;
	const int *inputs, *outputs; /* buffers */
	const PlanAssumption *assumptions;
	const InputWish *wishes;
	bool is_apart;      /* the device's memory is not the host's; nested plans as the one around */
	int nesting;        /* 0: the main plan */
	const Plan *parent; /* nested plans: `symbols` begins with all those of the plan around, by
	                       index; their values are taken from there on entry */
};

/* The float of a PD_NUMBER. */
double plan_number(int64_t bits);

/* False when a symbol is unbound, a divisor 0 or the result overflows. */
bool plan_dim_eval(const Plan *plan, int dim, const int64_t *symbols, int64_t *value);

/* Offsets (64-byte aligned) for the buffers in a place, of `size` bytes each, so that no two alive
 * at once overlap. Deterministic: by size descending, then by index, first fit. Gives the total, or
 * -1 on overflow. offset[i] = -1 for those elsewhere and where size[i] < 0: not placed. */
int64_t plan_place(const Plan *plan, PlanPlace place, const int64_t *size, int64_t *offset);

/* Texts: JSON both ways (the bundle's `plan` entry). Reading checks every index and count and never
 * trusts the text; false with a sentence in error[]. The plan lives in one malloc'd block set. */
void plan_write(Buf *json, const Plan *plan);
bool plan_read(const char *json, size_t size, Plan **plan, char *error, size_t error_size);
void plan_free(Plan *plan);

/* Replay the plan without running it: weights within `weights_size` bytes, every argument written
 * before it is read, in the memory where it is read, nothing touched outside its life, and, for a
 * few values of the symbols, no two buffers alive at once overlapping and every view inside its
 * base (the runtime checks views again for each binding). False with a sentence. */
bool plan_verify(const Plan *plan, size_t weights_size, char *error, size_t error_size);

/* Elements between neighbours along each dim of dense row-major storage. */
void plan_strides(int rank, const int64_t *dims, int64_t *strides);

/* Whether a view of `rank` dims with `strides` from `offset` stays in 0..count-1 elements. */
bool plan_view_fits(int rank, const int64_t *dims, const int64_t *strides, int64_t offset,
                    int64_t count);

/* Whether two views of one storage share no element, as far as these symbols tell: one lies behind
 * the other, altogether or within each step of dim 0. */
bool plan_parts_are_apart(const Plan *plan, int a, int b, const int64_t *symbols);

/* The place of what host operators touch. */
static inline PlanPlace
plan_host(const Plan *plan)
{
	return plan->is_apart ? PLACE_HOST : PLACE_DEVICE;
}

/* The buffer that holds the storage of `buffer`: through views to their base. */
int plan_root(const Plan *plan, int buffer);

/* As step_attr() and step_attr_int(). */
const StepAttr *plan_attr(const PlanStep *step, const char *name);
int64_t plan_attr_int(const PlanStep *step, const char *name, int index, int64_t otherwise);

#endif
