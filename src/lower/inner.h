/* What the parts of lower_graph() share. */
#ifndef LOWER_INNER_H
#define LOWER_INNER_H

#include "graph/meaning.h"
#include "lower/lower.h"
#include "lower/node.h"
#include "program/forms.h"
#include "program/group.h"

typedef struct Lowering {
	Arena *arena;
	Graph *graph;
	PassContext *context;
	Module *module;
	struct Lowering *parent; /* of a nested region */
	const Region *region;
	Map buffers; /* Value -> MBuffer */
	Map placed;  /* Node -> itself: concatenations whose inputs write in place */
	int next_kernel;
	int lowered, nodes; /* of the whole graph: counted where parent is NULL */
	bool is_plain;      /* the node's loops stay as they come */
} Lowering;

/* The buffer of a value: made at its first use; a value of an outer region becomes a capture. */
MBuffer *lower_buffer(Lowering *low, Value *value);

/* A new temporary. */
MBuffer *lower_temp(Lowering *low, const char *name, DType type, int rank, const Dim *const *dims);

/* A new step, appended: names and origins from the node. args are the inputs, then the outputs. */
MStep *lower_step(Lowering *low, MStepKind kind, const Node *node, int ninput, MBuffer **inputs,
                  int noutput, MBuffer **outputs);

/* When the node's program only renumbers elements of one input in place (Reshape, Identity, a
 * leading Slice), make its output a view of that input. Other affine maps (Transpose) become
 * strided views where every reader is a vendor call that takes strides. */
bool lower_view(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs);

/* When a node only puts tensors one behind the other, make its inputs views of its output: their
 * producers write in place. For blocked storage before any node is lowered; else when its turn
 * comes. True when done. (concat.c) */
void lower_place_concats(Lowering *low, const Region *region);
/* For a device with memory of its own: where each value lies, and copies there and back. */
void lower_places(Arena *arena, Module *module);
bool lower_concat(Lowering *low, const Node *node, const Program *program, Value *const *values);

/* Kernels for a program whose inputs and outputs live in these buffers. */
void lower_program(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                   MBuffer *const *outputs);

/* One kernel for a program that is one group. `args` are the buffers of its
 * inputs, then of its outputs: their layouts and strides go into the kernel. (program.c) */
Kernel *lower_kernel(Lowering *low, const Node *node, const Program *part, MBuffer *const *args);

/* Rearranges constant weights where channels should run in lanes: replaces the argument and
 * gives the program that reads it, or `part` itself. (weights.c) */
const Program *lower_block_weights(Lowering *low, const Program *part, MBuffer **args);

/* The sum of a group by a vendor, what stands behind by kernels. Steps are appended; false when
 * that is not possible or not better. (products.c) */
bool lower_products(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                    MBuffer *const *outputs);

/* The sum of a group by a vendor and what stands behind by a kernel, where that is measured to be
 * faster than both in one call: an algorithm may be there for the sum alone. (products.c) */
bool lower_faster_apart(Lowering *low, const Node *node, const Program *program,
                        MBuffer *const *inputs, MBuffer *const *outputs);

/* A view that is not dense row-major. */
bool lower_is_strided(Lowering *low, const MBuffer *buffer);

/* Set the step's flops and bytes at the probe sizes. */
void lower_count_work(Lowering *low, MStep *step, const Program *program);

/* A vendor call for the main stage of a group, when a row of vendor.def matches, the library can
 * run it, and it is not slower. Steps are appended; true when done. (program/match.c) */
bool lower_vendor(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                  MBuffer *const *outputs);
/* What lower_vendor() chooses for it, if there was a choice; NULL: none, or no such call. */
const PassChoice *lower_vendor_choice(Lowering *low, const Node *node, const Program *program,
                                      MBuffer *const *inputs, MBuffer *const *outputs);
/* The choice is made, by measuring or by a record. */
void lower_note_choice(PassContext *context, PassChoice choice);

#endif
