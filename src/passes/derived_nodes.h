/* Nodes for a program that a derivation found. */
#ifndef PASSES_DERIVED_NODES_H
#define PASSES_DERIVED_NODES_H

#include "graph/graph.h"
#include "program/match.h"

/* What becomes of a stage. */
typedef struct DerivedPart {
	bool is_known;            /* it follows from constants: computed when compiling */
	const Program *program;   /* the stage alone */
	const VendorRow *row;     /* what it is by the rows; NULL: none matches */
	const VendorMatch *match; /* the call that computes it; NULL: a kernel does */
} DerivedPart;

DerivedPart derived_part(VendorForms *forms, Arena *arena, const Program *program, int stage,
                         const bool *constant);

/* Small numbers in a row: denormals would be slow, and zeros say nothing. NULL: a dim has no
 * number. */
const Array *derived_made_up(Arena *arena, const Type *type);

typedef struct Place {
	Region *region;
	Node *before; /* NULL: at the end */
	const Loc *loc;
	int norigin;
	Node *const *origins; /* whose origins the nodes get */
	bool is_trial;        /* what follows from constants is made up: only time is asked */
	Map *folded;          /* else it is kept here; or NULL */
} Place;

/* Expression nodes (and Reshapes) that compute the program's outputs from `inputs`, one for each of
 * its own; constant[k]: inputs[k] is a constant. The program is of the graph's ctx. False, with the
 * reason, where that cannot be: nodes may be there then that nobody reads. */
bool derived_nodes(Graph *graph, const Place *place, const Program *program, Value *const *inputs,
                   const bool *constant, Value **results, const char **why);

#endif
