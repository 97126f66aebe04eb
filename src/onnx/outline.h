/* The model's own graph as it stands in the file: names only, nothing inferred, nothing rewritten.
 * For those who look for the model's values elsewhere, as compare does. */
#ifndef ONNX_OUTLINE_H
#define ONNX_OUTLINE_H

#include "base/file.h"
#include "base/map.h"
#include "base/vec.h"

typedef struct OutlineNode {
	const char *name;       /* its first output's where it has none of its own */
	const char *op;         /* Conv */
	StrVec origins;         /* as Node.origins are when the model is read */
	StrVec inputs, outputs; /* names of values; "": absent */
} OutlineNode;

typedef struct Outline {
	const char *path;
	Bytes file;
	VEC(OutlineNode) nodes;
	StrVec outputs;  /* the model's */
	StrVec external; /* files of its weights, by their locations */
	Map by_output;   /* name of a value to the number of the node that makes it + 1 */
} Outline;

const Outline *outline_read(Arena *arena, const char *path);

/* Write a copy of the model in which these values are outputs, too, behind its own. */
void outline_expose(Arena *arena, const Outline *outline, const StrVec *names, const char *path);

#endif
