/* The values between a model's inputs and outputs, as a subject computes them, by the names that
 * the model gives them.
 *
 * Ours are those that have storage: what lies inside a fused group has none. A compiled node knows
 * of which nodes of the model it was made (Node.origins); its value is the result of the last of
 * these, unless a node that reads it has that one among its origins, too. Then it is something on
 * the way: a Conv with the scale of a BatchNormalization, whose shift will still be added.
 *
 * Of another executor they are outputs of a copy of the model, run without its optimisations.
 */
#ifndef CLI_MEASURE_TENSORS_H
#define CLI_MEASURE_TENSORS_H

#include "cli/measure/subject.h"
#include "onnx/outline.h"

typedef struct ModelTensor {
	const char *name;        /* in the model; NULL: no value of the model is known to be this one */
	const OutlineNode *node; /* that makes it there; NULL with the name */
	Array array;
	const char *step, *kind; /* ours: who made it, a "kernel"; else NULL */
	const char *wrong;       /* ours: what it should be by the meaning of its node; NULL: it is */
	int64_t points;          /* ours: compared for that; 0: it was not */
	double worst; /* ours: the largest error there, as a share of what roundings may make */
} ModelTensor;

typedef struct ModelTensors {
	VEC(ModelTensor) list; /* in the order they are made */
	Map index;             /* name to its place + 1 */
} ModelTensors;

/* Of a run on the subject's inputs, by the names of `outline`. `wanted` (NULL: all of the model's
 * nodes) is for other executors: tensors whose names are looked for. All lives in `arena`. */
ModelTensors tensors_of(Subject *subject, Arena *arena, const Outline *outline,
                        const ModelTensors *wanted);

const ModelTensor *tensors_find(const ModelTensors *tensors, const char *name); /* or NULL */

#endif
