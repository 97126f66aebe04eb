/* Demands: what a model's own checks ask of its sizes, where no type says it.
 *
 *     past + seq <= 64        the positions of a sequence and its past lie within a table
 *     past + seq <= total     a mask has an element for each of them
 *
 * Types say which dims are equal (Graph.assumptions). What an index may be says only the check that
 * fails when it is outside: so the integers that become indices are computed at a few small sizes,
 * and how far the largest stays from its end is written as a sum over the symbols.
 */
#ifndef CLI_DEMANDS_H
#define CLI_DEMANDS_H

#include "cli/inputs.h"

typedef struct Demand {
	const Dim *a, *b;
	bool is_equal;  /* a == b; else a <= b */
	bool in_branch; /* only where the choice is taken that its node belongs to */
	Loc loc;        /* of the node that checks it */
} Demand;

typedef VEC(Demand) Demands;

/* What checks show besides the model's assumptions, about the symbols of `graph`; and, where
 * `values` is not NULL, which integers its inputs must hold where other made-up ones would make a
 * check fail. Never fails: what cannot be computed is not known. */
Demands demands_learn(Arena *arena, const Graph *graph, InputRanges *values);

/* Whether it holds; also where a size is not known. */
bool demand_holds(const Demand *demand, const Binding *sizes);

/* "past + seq <= total". */
const char *demand_text(Arena *arena, const Demand *demand);

/* What the model says to these sizes, and which node does: "past + seq <= 64 does not hold, they
 * are 128 and 64 (node positions)"; NULL: nothing against them. Branches are passed over: they may
 * not be taken. */
const char *demands_broken(Arena *arena, const Graph *graph, const Demands *learnt,
                           const Binding *sizes);

#endif
