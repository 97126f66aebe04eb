/* Converging: a product's loops and operands in the order that a library call has them. */
#ifndef EINNET_CONVERGE_H
#define EINNET_CONVERGE_H

#include "base/hash_set.h"
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

#endif
