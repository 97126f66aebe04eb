/* How fast a step is beside what its machine allows, and what bounds it: the roofline in words. */
#ifndef CLI_MEASURE_SPEED_H
#define CLI_MEASURE_SPEED_H

#include "bundle/plan.h"
#include "target/target.h"

/* What steps run on. */
typedef struct Machine {
	const Device *device; /* NULL: no row is known */
	int threads;          /* of a CPU; a GPU's row is of all its units */
} Machine;

/* Of a run's executions of a step. */
typedef struct Speed {
	double least;              /* seconds that the machine needs by its row */
	double gflops, bandwidth;  /* GFLOP/s and GB/s that are reached; NAN: nothing was measured */
	double of_peak, of_memory; /* as shares of the machine's */
	const char *bound;         /* what bounds it, in plain words */
} Speed;

/* `seconds` of so many executions; NAN: not measured. */
Speed speed_of(const Machine *machine, const PlanStep *step, double seconds, double times);

/* GFLOP/s of all threads in the units of a step's products, or in f32's where the row has no such
 * ones, which *name says. */
double machine_peak(const Machine *machine, const char *units, const char **name);

#endif
