/* Demands: what a model's own checks ask of its sizes, where no type says it.
 *
 *     past + seq <= 64        the positions of a sequence and its past lie within a table
 *     past + seq <= total     a mask has an element for each of them
 *
 * learn.h finds them.
 */
#ifndef DRIVER_SIZES_DEMANDS_H
#define DRIVER_SIZES_DEMANDS_H

#include "driver/sizes/inputs.h"

typedef struct Demand {
	const Dim *a, *b;
	bool is_equal;        /* a == b; else a <= b */
	const Region *region; /* where it is asked: one of a choice may not run */
	Loc loc;              /* of the node that checks it */
} Demand;

typedef VEC(Demand) Demands;

enum { MOST_RUNS = 4 };

/* What a model lets itself be run with. Branches of an If may never run at the same sizes: then a
 * run is for one of them. */
typedef struct Learnt {
	Demands demands; /* that checks show besides the graph's assumptions */
	int nrun;        /* 0: nothing was learnt, and runs[0] says nothing */
	struct {
		const Region *region; /* NULL: all of the model */
		InputRanges values;   /* that inputs must hold so that this runs and no check fails */
	} runs[MOST_RUNS]; /* the one with the fewest checks that fail all the same is the first */
} Learnt;

/* What was learnt and the graph's own assumptions; all but what is asked where `region` (NULL:
 * nobody asks) does not run: in the other branches of an If. */
Demands demands_in(Arena *arena, const Graph *graph, const Region *region, const Demands *learnt);

/* The branch of an If that the region is, or lies in; NULL: it runs whenever the model does. */
const Region *region_branch(const Region *region);
/* Whether at most one of two runs: they lie in different branches of an If. */
bool regions_are_exclusive(const Region *a, const Region *b);

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
