/* --precision, --keep-fp32 and --io-precision. */
#ifndef DRIVER_PRECISION_H
#define DRIVER_PRECISION_H

#include "driver/options.h"
#include "graph/graph.h"
#include "passes/manager.h"

/* Have ToMixedPrecision run as the options say. */
void precision_ask(const Options *options, PassContext *context);

/* --io-precision: inputs and outputs of f32 get the short type, with casts to and from it, which
 * passes move or take away. Default values stay f32, and so do their inputs. */
void precision_of_ends(const Options *options, Graph *graph);

#endif
