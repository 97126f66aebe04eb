/* Numbers that look random and are the same each time: Knuth's linear congruential generator, of
 * whose states the upper 31 bits are given.
 */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t
random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return *state >> 33;
}

#endif
