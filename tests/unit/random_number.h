/* Numbers that look random and are the same everywhere (splitmix64). */
#ifndef UNIT_RANDOM_NUMBER_H
#define UNIT_RANDOM_NUMBER_H

#include <stdint.h>

static inline unsigned
random_below(uint64_t *state, unsigned count)
{
	*state += 0x9E3779B97F4A7C15u;
	uint64_t z = *state;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return (unsigned)((z ^ z >> 31) >> 33) % count;
}

#endif
