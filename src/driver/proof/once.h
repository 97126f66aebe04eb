/* Weights stored once: a library's packed form of a weight is enough where the library alone reads
 * it, since it can be read back (runtime/weights.h).
 */
#ifndef DRIVER_PROOF_ONCE_H
#define DRIVER_PROOF_ONCE_H

#include "driver/parts.h"
#include "runtime/vendor.h"

typedef struct Once {
	Blob weights;        /* without those that are only packed */
	int64_t only_packed; /* bytes of these; 0: nothing changes */
	Blob plan;           /* with offsets as they then are */
	const char *plan_entry;
} Once;

/* Decide for a bundle of one target, and give the forms the offsets as they will be. */
Once weights_once(Arena *arena, const Bundle *bundle, size_t count, PackedForm *forms);

#endif
