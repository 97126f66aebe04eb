/* Candidates of our kernels (target/maker.h), measured in the model that they are for. */
#ifndef DRIVER_MEASURE_TUNE_H
#define DRIVER_MEASURE_TUNE_H

#include "base/map.h"
#include "base/pass.h"
#include "driver/options.h"
#include "driver/progress.h"
#include "tir/module.h"

/* What was asked, and what remains. */
typedef struct Tuned {
	int kernels; /* that are different, and matter; of them: */
	int asked;   /* were measured now, */
	int known;   /* before, */
	int left;    /* and not: the budget is spent */
	int faster;  /* have a better candidate */
	double gain; /* seconds of a run that these promise, and … */
	double run;  /* … of a run */
	double ours; /* seconds of a run that our kernels could save in the place of a library's calls,
	              * at most, even if they were a third faster than they are */
} Tuned;

/* Measure the candidates of the kernels of this bundle, of which this is the module, or recall what
 * was measured before, and add the better ones to `found`, as PassContext.recorded has them: "tile
 * KEY" -> "3 …". Nothing is found where the bundle cannot be run. */
Tuned tune_measure(const Options *options, PassContext *context, const char *bundle,
                   const Module *module, Progress *progress, Map *found);

/* How many seconds --budget gives; 0: no limit. And --shard; false: all is ours. */
double tune_budget(const Options *options);
bool tune_shard(const Options *options, int *share, int *shares);

#endif
