/* Model-local functions: operators that a model brings the meaning of, for any runtime.
 *
 * A body is lines of nodes; a space stands between names.
 *
 *     {"Constant", "", "w", {{.name = "value_int", .ref = "window"}}}    w: the call's attribute
 *     {"Mul", "w two", "width"}
 */
#ifndef MODELS_FUNCTION_H
#define MODELS_FUNCTION_H

#include "zoo.h"

typedef struct FunctionAttr {
	const char *name;
	const char *ref; /* the value is what the call gives this attribute */
	int64_t i;
	int64_t count; /* of `ints`; 0: the value is i */
	int64_t ints[2];
} FunctionAttr;

typedef struct FunctionLine {
	const char *op, *inputs, *output;
	FunctionAttr attrs[2]; /* those with a name */
} FunctionLine;

typedef struct Function {
	const char *domain, *name, *inputs, *output;
	const char *attrs; /* that a call must give */
	int64_t opset;     /* of the body */
	VEC(FunctionLine) lines;
} Function;

/* Put a function into the model that lies in the file. */
void function_append(Arena *arena, const char *path, const Function *function);

#endif
