/* Weights: the tensors of an open bundle that do not change, each once.
 *
 *     0 .. plain.size                 lie in weights.bin as the model has them
 *     plain.size .. + only_packed     lie nowhere so: a library's packed forms (runtime/vendor.h)
 *                                     hold the same numbers in another order
 *
 * A plan's offsets count through both. The library runs with its forms and never asks for the
 * second kind; a fallback kernel, another version of the library and the prover do. Then all of
 * them are put back in order, once, in memory of their own (packed_restore()).
 */
#ifndef RUNTIME_WEIGHTS_H
#define RUNTIME_WEIGHTS_H

#include <pthread.h>

#include "base/file.h"

typedef struct Weights {
	Bytes plain, store; /* views; the store holds packed forms */
	size_t only_packed;
	unsigned char *restored; /* room for those, untouched until they are asked for */
	bool is_restored;
	pthread_mutex_t lock; /* of is_restored */
} Weights;

/* False where memory is out, or the store has not all that it must. weights_close() is right for
 * zeros and behind a failure. */
bool weights_open(Weights *weights, Bytes plain, size_t only_packed, Bytes store, char *error,
                  size_t error_size);
void weights_close(Weights *weights);

/* Where a plan's offset lies; and back: -1 where `data` is no weight's. */
const unsigned char *weights_at(const Weights *weights, int64_t offset);
int64_t weights_offset(const Weights *weights, const void *data);

/* Before the bytes at `data` are read: puts them back in order where they are not. False: no
 * memory. */
bool weights_need(Weights *weights, const void *data);

#endif
