/* What can be said of a plan before it runs: which of its buffers hold which of the graph's values,
 * and between which steps they are whole.
 *
 * A *boundary* is the moment before a step, or behind the last: boundary i is before step i.
 */
#ifndef PROVE_FACTS_H
#define PROVE_FACTS_H

#include "expr/stage/stage.h"
#include "prove/prove.h"

enum { NEVER = -1 };

/* A node of which some result has storage. */
typedef struct NodeFacts {
	const Node *node;
	const Program *program; /* its meaning; NULL: a control or host operator, or see reason */
	Value **inputs;         /* of the program */
	const char *reason;     /* why its results are not proved; NULL: they are */
	int ready;              /* from this boundary on all its inputs are there */
	bool is_vendor;         /* a library makes one of them */
} NodeFacts;

/* A buffer that holds a value. */
typedef struct Claim {
	int buffer;
	const Value *value;
	int node; /* index into nodes; -1: an input, a constant, a parameter of the region */
	int done; /* from this boundary on it is whole */
	int step; /* that made it: wrote it last, NEVER for a view */
	int made; /* the buffer that the step wrote: this one, or its twin in the device's memory */
} Claim;

typedef struct PlanFacts {
	const Plan *plan;
	const Region *region;
	int *claim_of; /* per buffer: index into claims, or -1 */
	int *done;     /* per buffer: as Claim.done; NEVER: nobody writes it */
	VEC(Claim) claims;
	VEC(NodeFacts) nodes;
	Map values; /* Value -> Claim index + 1, the first of it */
} PlanFacts;

/* The facts of `plan`, lowered from `region`. */
PlanFacts *plan_facts(Arena *arena, const Graph *graph, const Region *region, const Plan *plan);

/* The first buffer that holds a value; NULL: none does. */
Claim *facts_claim(const PlanFacts *facts, const Value *value);

/* The step of a plan that makes the results of a control node; NULL: none. */
const PlanStep *facts_step_of(const PlanFacts *facts, const Node *node);

#endif
