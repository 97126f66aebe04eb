/* Nodes for a program that a derivation found. */
#ifndef PASSES_DERIVED_NODES_H
#define PASSES_DERIVED_NODES_H

#include "graph/graph.h"
#include "program/match.h"

/* What becomes of a stage. */
typedef struct DerivedPart {
	bool is_known;            /* it follows from constants: computed when compiling */
	const Program *program;   /* the stage alone */
	const VendorMatch *match; /* the call that computes it; NULL: a kernel does */
} DerivedPart;

DerivedPart derived_part(VendorForms *forms, Arena *arena, const Program *program, int stage,
                         const bool *constant);

typedef struct Place {
	Region *region;
	Node *before; /* NULL: at the end */
	const Loc *loc;
	const Node *origin; /* whose origins the nodes get; NULL: none */
} Place;

/* Expression nodes (and Reshapes) that compute the program's one output from `inputs`, one for each
 * of its own; constant[k]: inputs[k] is a constant. The program is of the graph's ctx. NULL, with
 * the reason, where that cannot be: nodes may be there then that nobody reads. */
Value *derived_nodes(Graph *graph, const Place *place, const Program *program, Value *const *inputs,
                     const bool *constant, const char **why);

#endif
