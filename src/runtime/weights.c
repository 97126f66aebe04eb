/* Weights that lie in a bundle plain, and those that it has only packed. */
#include "runtime/weights.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/fail.h"
#include "runtime/vendor.h"

bool
weights_open(Weights *weights, Bytes plain, size_t only_packed, Bytes store, char *error,
             size_t error_size)
{
	*weights = (Weights){.plain = plain, .store = packed_store(store)};
	pthread_mutex_init(&weights->lock, NULL);
	if (only_packed == 0)
		return true;
	if (packed_bytes_behind(weights->store, plain.size) < only_packed)
		return refuse_with(error, error_size,
		                   "the bundle's packed weights are missing or have another format, and "
		                   "%zu bytes of weights are stored only there: compile the model again",
		                   only_packed);
	/* Pages take no memory before they are touched. */
	void *room = mmap(NULL, only_packed, PROT_READ | PROT_WRITE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED) {
		errno = ENOMEM;
		return refuse_with(error, error_size, "out of memory for the weights");
	}
	weights->restored = room;
	weights->only_packed = only_packed;
	return true;
}

void
weights_close(Weights *weights)
{
	if (weights->restored)
		munmap(weights->restored, weights->only_packed);
	pthread_mutex_destroy(&weights->lock);
	*weights = (Weights){.is_restored = false};
}

const unsigned char *
weights_at(const Weights *weights, int64_t offset)
{
	size_t at = (size_t)offset;
	return at >= weights->plain.size && weights->restored
	           ? weights->restored + (at - weights->plain.size)
	           : weights->plain.data + at;
}

static bool
is_restored_place(const Weights *weights, const void *data)
{
	return weights->restored &&
	       (uintptr_t)data - (uintptr_t)weights->restored < weights->only_packed;
}

int64_t
weights_offset(const Weights *weights, const void *data)
{
	uintptr_t at = (uintptr_t)data - (uintptr_t)weights->plain.data;
	if (is_restored_place(weights, data))
		return (int64_t)(weights->plain.size + ((uintptr_t)data - (uintptr_t)weights->restored));
	return at < weights->plain.size ? (int64_t)at : -1;
}

bool
weights_need(Weights *weights, const void *data)
{
	if (!is_restored_place(weights, data))
		return true;
	pthread_mutex_lock(&weights->lock);
	if (!weights->is_restored)
		weights->is_restored = packed_restore(weights->store, (int64_t)weights->plain.size,
		                                      weights->restored, weights->only_packed);
	bool is_there = weights->is_restored;
	pthread_mutex_unlock(&weights->lock);
	return is_there;
}
