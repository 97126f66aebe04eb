/* What a program takes, by the device's row: the calls of a library, kernels of ours, and what they
 * leave to one another in memory. */
#ifndef EINNET_COST_H
#define EINNET_COST_H

#include "einnet/converge.h"

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
