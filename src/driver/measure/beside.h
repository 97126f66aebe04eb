/* Our kernels beside the library's calls: a bundle holds both, and they take turns. */
#ifndef DRIVER_MEASURE_BESIDE_H
#define DRIVER_MEASURE_BESIDE_H

#include "base/map.h"
#include "driver/options.h"
#include "tir/module.h"

/* A node whose steps are a library's calls, and the kernels that do the same. */
typedef struct Rival {
	const char *value;    /* the node's first result */
	double library, ours; /* seconds of a run, of all these steps */
} Rival;

typedef struct Beside {
	Rival *rivals; /* that took part, those with the most to gain first */
	int count;
	int faster; /* so many of them gain by more than noise */
	double run; /* seconds of a run with the library, one thread */
} Beside;

/* Run the bundle, of which this is the module, with its library and with the fallback kernels in
 * turns, at the sizes that it was made for. Fails when it cannot be run. */
Beside beside_measure(const Options *options, Arena *arena, const char *bundle,
                      const Module *module);

/* Add the denials of the first `count` rivals' calls to PassContext.recorded. */
void beside_deny(Arena *arena, const Beside *beside, int count, Map *denied);

/* The values of denials as the text of an answer, and back; what is no such text adds nothing. */
const char *beside_answer(Arena *arena, const Map *denied);
void beside_recall(Arena *arena, const char *answer, Map *denied);

#endif
