/* What all of lowering stands on: the state of one region, its buffers and its steps.
 *
 *     steps  ←  weights, concat, places  ←  program  ←  vendor  ←  products  ←  lower
 *
 * Each calls only those to its left, by their headers: steps.h, weights.h, program.h, vendor.h.
 */
#ifndef LOWER_STEPS_H
#define LOWER_STEPS_H

#include "graph/meaning.h"
#include "lower/lower.h"
#include "program/match.h"

typedef struct Lowering {
	Arena *arena;
	Graph *graph;
	PassContext *context;
	Module *module;
	struct Lowering *parent; /* of a nested region */
	const Region *region;
	Map buffers;        /* Value -> MBuffer */
	Map placed;         /* Node -> itself: concatenations whose inputs write in place */
	VendorForms *forms; /* of vendor.def, read */
	int next_kernel;
	int lowered, nodes; /* of the whole graph: counted where parent is NULL */
	bool is_plain;      /* the node's loops stay as they come */
} Lowering;

/* The buffer of a value: made at its first use; a value of an outer region becomes a capture. */
MBuffer *lower_buffer(Lowering *low, Value *value);

/* A new buffer where a value lives, whether it has one or not. */
MBuffer *lower_value(Lowering *low, const Value *value, PlanBufferKind kind);

/* A new temporary. */
MBuffer *lower_temp(Lowering *low, const char *name, DType type, int rank, const Dim *const *dims);

/* A new step, appended: names and origins from the node. args are the inputs, then the outputs. */
MStep *lower_step(Lowering *low, PlanStepKind kind, const Node *node, int ninput, MBuffer **inputs,
                  int noutput, MBuffer **outputs);

/* A view that is not dense row-major. */
bool lower_is_strided(Lowering *low, const MBuffer *buffer);

/* Set the step's flops and bytes at the probe sizes. */
void lower_count_work(Lowering *low, MStep *step, const Program *program);

#endif
