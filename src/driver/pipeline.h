/* Options as a pass context, and what is said of it afterwards. */
#ifndef DRIVER_PIPELINE_H
#define DRIVER_PIPELINE_H

#include "driver/options.h"
#include "passes/manager.h"

/* A pass context with everything the options say. `level`: when -O is not given. Dumps go to
 * standard error. */
PassContext *pipeline_new(const Options *options, Arena *arena, int level);

/* The pipeline in a word, as the manifest records it: "O3,-FuseOps". */
const char *pipeline_text(Arena *arena, const PassContext *context);

/* What --log and --timings ask for, on standard error. */
void pipeline_report(const Options *options, const PassContext *context);

#endif
