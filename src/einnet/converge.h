/* Converging: a product's loops and operands in the order that a library call has them. */
#ifndef EINNET_CONVERGE_H
#define EINNET_CONVERGE_H

#include "base/map.h"
#include "einnet/rules.h"
#include "program/match.h"

enum { CONVERGED_MAX = 8 };

/* A stage that a row of vendor.def takes. */
typedef struct Call {
	const VendorRow *row; /* NULL: none does */
	int nchoice;          /* of algorithms */
	int rank;             /* of the result, which has these extents at the target's sizes */
	int64_t extents[VENDOR_DIMS];
} Call;

/* What is known of stages and of parts, as they are written, whatever they read: asked once in a
 * search. */
typedef struct Calls {
	Arena *arena;
	const Target *target; /* whose costs are asked for; NULL: none are */
	VendorForms *forms;
	HashSet matched; /* stages, to Call */
	HashSet costs;   /* parts, to Cost */
} Calls;

Calls *einnet_calls_new(Arena *arena, const Target *target);

/* Programs equal to the one given (class finite), in which a row of vendor.def matches stage
 * `stage`, at most CONVERGED_MAX; gives their number. `constant[k]`: input k is known, so that its
 * layouts cost nothing. */
int einnet_converge(Calls *calls, Arena *arena, const Program *program, int stage,
                    const bool *constant, const Program *out[CONVERGED_MAX]);

/* The row that stage `stage` of the program matches as it is, on its own. NULL: none does. */
const VendorMatch *einnet_match(VendorForms *forms, Arena *arena, const Program *program,
                                int stage);
/* What stays of it. NULL: none does. */
const Call *einnet_call(Calls *calls, Arena *arena, const Program *program, int stage);

/* Whether the tensor follows from constant inputs alone. */
bool einnet_is_constant(const Program *program, const Tensor *tensor, const bool *constant);

/* Whether stage `stage` is a product to derive from: of two factors that come from inputs, not both
 * of known ones. Sums with a table of numbers, as bilinear algorithms have them, are none. */
bool einnet_is_open(const Program *program, int stage, const bool *constant);

/* What a program takes, by the device's row: the calls of a library, kernels of ours, and what they
 * leave to one another in memory. */

typedef struct Cost {
	double seconds;      /* of one core */
	double flops, bytes; /* at the probe sizes; bytes that steps read and write */
	int calls, kernels;
} Cost;

/* On the calls' target. What follows from constant inputs alone (`constant[k]` of input k; NULL:
 * none) costs nothing. */
Cost einnet_cost(Calls *calls, Arena *arena, const Program *program, const bool *constant);

/* At least so many seconds, whatever becomes of it: operations of its products at the device's
 * peak, and their results where others read them. INFINITY: its products of known values are too
 * many to be computed when compiling. */
double einnet_bound(const Program *program, const bool *constant, const Target *target);

#endif
