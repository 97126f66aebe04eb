/* The kernels of a case, each lowered with the same schedule and different loop passes. */
#ifndef BENCH_LICM_VARIANTS_H
#define BENCH_LICM_VARIANTS_H

#include "cases.h"
#include "codegen/common/codegen.h"
#include "bundle/abi.h"
#include "sass.h"
#include "target/target.h"
#include "tir/stmt.h"

typedef enum VariantId {
	VARIANT_NONE,
	VARIANT_HALIDE,
	VARIANT_PAPER,
	VARIANT_STILL,
	VARIANT_MOVED,
	LOWERED,
	VARIANT_OURS = LOWERED, /* on a CPU the one before, for a GPU the lightest */
	VARIANTS
} VariantId;

extern const char *const variant_names[VARIANTS];

/* A part of a case's program that is one kernel. */
typedef struct Part {
	const Program *program;
	Kernel *kernel[LOWERED];      /* NULL: workers' scratch memory, for blocks */
	TwKernel *function[VARIANTS]; /* of variants with one text it is one */
	CubinKernel cubin[VARIANTS];  /* for a GPU, and its instructions */
	SassCount sass[VARIANTS];
	int64_t extent, scratch; /* pieces of work; bytes */
} Part;

typedef VEC(Part) Parts;

/* Lower the program in all variants, for workers or, of a GPU, for blocks of threads. */
Parts lower_variants(Arena *arena, const Target *target, const Program *program);
Kernel *lower_variant(Arena *arena, const Target *target, const Program *program, VariantId id);

/* A naive kernel's @parallel loops become blocks and threads. (blocks.c) */
void bind_blocks(Kernel *kernel);

#endif
