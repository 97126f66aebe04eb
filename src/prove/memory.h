/* Values as they lie in memory while a plan runs. */
#ifndef PROVE_MEMORY_H
#define PROVE_MEMORY_H

#include "base/array.h"
#include "base/map.h"
#include "runtime/exec/exec.h"

/* A value in its storage: dense, strided, or in blocks along one dim (graph.h: layouts). */
typedef struct Held {
	DType type;
	int rank;
	const int64_t *dims;
	int64_t strides[PLAN_MAX_RANK]; /* elements; of blocks along the blocked dim */
	bool is_dense;                  /* row-major and without gaps */
	bool is_view;
	int block_dim; /* -1: none */
	int64_t block;
	unsigned char *at;   /* its first element, in the memory where it lies, */
	unsigned char *data; /* and as the host reads it: there, or in a copy that held_of() made */
} Held;

/* Where a frame's buffer lies now, without `data`; false when its dims are not known or it has no
 * memory. What a device's memory holds is never read by address. */
bool held_at(const Frame *frame, int buffer, Held *held);
/* The same with what it holds; a copy lives in `arena`. Fails when the device does. */
bool held_of(Arena *arena, const Frame *frame, int buffer, Held *held);

/* Bytes from `at` to the first byte of the value and to the one behind the last, gaps included;
 * false where it has none. */
bool held_span(const Held *held, int64_t *low, int64_t *high);

/* Bytes of the memory in a place: as they lie there, or a copy in `arena`. Fails as held_of(). */
const unsigned char *place_read(Arena *arena, const Frame *frame, PlanPlace place,
                                const unsigned char *at, size_t bytes);

/* The extent of dim d in the storage; of the blocked dim, in blocks. */
int64_t held_stored(const Held *held, int d);

/* Where the element of this flat row-major index lies, in elements. */
int64_t held_offset(const Held *held, int64_t index);

/* All elements one behind the other: the storage itself, or a copy in `arena`. */
const void *held_dense(Arena *arena, const Held *held);

/* Whether two have one type and shape, and the same bits. */
bool held_equal(Arena *arena, const Held *a, const Held *b);

/* Of all elements, and of the padding of incomplete blocks where that is the value's own. */
Hash128 held_hash(const Held *held);

/* Memory before anyone writes it: a signalling NaN in every float type, no number people use in the
 * integers, and neither false nor true. */
void memory_poison(void *data, size_t bytes);
void place_poison(const Frame *frame, PlanPlace place, unsigned char *at, size_t bytes);
/* The value's own elements, padding included where that is. */
void held_poison(const Held *held);
/* What was read by held_of(), and changed, goes back to where it lies. */
void held_write(const Frame *frame, PlanPlace place, const Held *held);
/* Poison where it lies, from what held_of() read. */
void held_spoil(const Frame *frame, PlanPlace place, const Held *held);
/* Elements that are still as memory_poison() left them. 0 for types too short to tell. */
int64_t held_unwritten(const Held *held);
bool held_is_unwritten(const Held *held, int64_t index); /* of floats of 16 bits or more */
/* Elements of its own padding that are not 0, as they must be in blocked storage. */
int64_t held_padding(const Held *held);

#endif
