/* Module: a lowered graph. Kernels, buffers, steps: what becomes a bundle's plan, still in Exprs.
 *
 * Lowering (src/lower) makes a Module from a Graph; the loop passes transform its
 * kernels; codegen/common/bundle.c prints kernels and turns the rest into a runtime Plan.
 */
#ifndef TIR_MODULE_H
#define TIR_MODULE_H

#include "base/call.h"
#include "tir/stmt.h"

typedef struct Module Module;
typedef struct MBuffer MBuffer;

typedef enum MBufferKind {
	MB_INPUT,
	MB_OUTPUT,
	MB_WEIGHT,
	MB_TEMP,
	MB_VIEW,    /* of base: offset + strides; no step copies it */
	MB_CAPTURE, /* of the module around */
} MBufferKind;

/* A value that has storage. Shapes are logical; `layout` says how the elements lie. */
struct MBuffer {
	const char *name;
	DType type;
	int rank;
	const Dim *const *dims;
	MBufferKind kind;
	int index;                 /* position in its module's list */
	const char *layout;        /* NULL: plain */
	const Array *data;         /* weights; inputs: what holds where nothing is given, or NULL */
	MBuffer *base;             /* views, captures (in the module around) */
	MBuffer *of;               /* views: what it shows, which may be a view of base itself */
	const Dim *offset;         /* views: elements */
	const Dim *const *strides; /* views: elements per dim */
	bool is_data_sized;        /* its size depends on data: lives in the pool */
	bool is_value;             /* holds the graph's value of this name, not a part of a step */
	bool is_host;              /* of a module that is apart: lies in the host's memory */
};

typedef enum MStepKind {
	MS_KERNEL,
	MS_VENDOR,
	MS_HOST,
	MS_COPY,
	MS_IF,
	MS_LOOP,
	MS_SCAN,
} MStepKind;

typedef struct MStep {
	MStepKind kind;
	const char *name;    /* "conv1+relu1" */
	const char *origins; /* original node names joined by ", " */
	Loc loc;
	const void *source;  /* the same for steps of one node; NULL: of none */
	const char *library; /* MS_VENDOR: whose row it is */
	const char *row;     /* vendor.def or host.def row */
	Kernel *kernel;      /* MS_KERNEL; MS_VENDOR: the fallback */
	int narg, noutput;   /* the last noutput args are written */
	MBuffer **args;      /* NULL: absent. For kernels: in the order of kernel->buffers */
	VEC(StepAttr) attrs;
	int nbody;
	Module **bodies;
	double flops, bytes; /* at the probe size */
	const Dim *points;   /* of its heaviest stage: with them flops grow; NULL: not said */
	double point_count;  /* of them, there */
	bool is_beside;      /* may run at the same time as the steps before it (PlanStep) */
} MStep;

/* Where a symbol is bound: as graph.h's SymbolDef, in terms of buffers. */
typedef struct MSymbol {
	const Symbol *symbol;
	enum { MSYM_DIM, MSYM_ELEMENT, MSYM_EXPR } source;
	MBuffer *buffer;
	int index;
	const Expr *expr;
} MSymbol;

/* Two dims that must turn out equal when symbols are bound. */
typedef struct MAssumption {
	const Dim *a, *b;
	const char *what;
} MAssumption;

struct Module {
	Arena *arena;
	ExprCtx *ctx;
	const char *name;
	Module *parent;
	bool is_apart; /* kernels work in another memory than host steps; MS_COPY goes between them */
	VEC(MBuffer *) buffers;
	VEC(MStep *) steps;
	VEC(MBuffer *) inputs;
	VEC(MBuffer *) outputs;
	VEC(MSymbol) symbols;
	VEC(MAssumption) assumptions;
	VEC(InputWish) wishes; /* where it is no nested one */
};

/* The buffer that holds the storage of a buffer: through views to their base. */
MBuffer *mbuffer_root(MBuffer *buffer);

void module_print(Buf *buf, const Module *module); /* for people: steps, buffers, kernels */

#endif
