/* Module: a lowered graph. Kernels, buffers, steps: what becomes a bundle's plan, still in Exprs.
 *
 * Lowering (src/lower) makes a Module from a Graph; the loop passes transform its
 * kernels; codegen/common/bundle.c prints kernels and turns the rest into a runtime Plan.
 */
#ifndef TIR_MODULE_H
#define TIR_MODULE_H

#include "bundle/plan.h"
#include "tir/stmt.h"

typedef struct Module Module;
typedef struct MBuffer MBuffer;

/* A value that has storage. Shapes are logical; `layout` says how the elements lie. */
struct MBuffer {
	const char *name;
	DType type;
	int rank;
	const Dim *const *dims;
	PlanBufferKind kind;       /* what is for the pool is PB_TEMP here, and is_data_sized */
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

typedef struct MStep {
	PlanStep plan; /* as the plan has it, but for what follows and for its dims */
	Loc loc;
	const void *source;   /* the same for steps of one node; NULL: of none */
	const char *question; /* of a vendor's: all that decides about its time, at the probe sizes */
	Kernel *kernel;       /* of a vendor's: the fallback */
	struct MStep *covered_by; /* plan.h; NULL: none */
	MBuffer **args;           /* NULL: absent. For kernels: in the order of kernel->buffers */
	Module **bodies;
	const Dim *points; /* of its heaviest stage: with them flops grow; NULL: not said */
} MStep;

typedef VEC(MStep *) MStepVec;

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
	bool is_apart; /* kernels work in another memory than host steps; PT_COPY goes between them */
	VEC(MBuffer *) buffers;
	MStepVec steps;
	VEC(MBuffer *) inputs;
	VEC(MBuffer *) outputs;
	VEC(MSymbol) symbols;
	VEC(MAssumption) assumptions;
	VEC(InputWish) wishes; /* where it is no nested one */
};

/* A step in no list yet. */
MStep *mstep_new(Arena *arena, PlanStepKind kind, const char *name, int ninput,
                 MBuffer *const *inputs, int noutput, MBuffer *const *outputs);

/* The steps of a module, each before those of its bodies. */
MStepVec module_steps(Arena *arena, const Module *module);

/* The buffer that holds the storage of a buffer: through views to their base. */
MBuffer *mbuffer_root(MBuffer *buffer);

void module_print(Buf *buf, const Module *module); /* for people: steps, buffers, kernels */

#endif
