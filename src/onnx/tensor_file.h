/* Values in files: the .pb of ONNX's test data (TensorProto, SequenceProto, OptionalProto).
 *
 *     Data in = data_read(arena, "input_0.pb", TYPE_TENSOR);
 *     data_write(arena, "output_0.pb", "y", &in);
 *
 * A file does not say which of the three it holds; the type of the model's input or output does.
 */
#ifndef ONNX_TENSOR_FILE_H
#define ONNX_TENSOR_FILE_H

#include "base/array.h"
#include "graph/graph.h"

/* A value: a tensor, a sequence of `count` items, or an optional with one item or none. */
typedef struct Data {
	TypeKind kind;
	const Array *tensor; /* TYPE_TENSOR */
	const char *name;    /* what the file calls it, or "" */
	int count;
	struct Data *items;
} Data;

/* Read a value of a kind; tensors may be views of the mapping, which lives in `arena`. */
Data data_read(Arena *arena, const char *path, TypeKind kind);

/* Write a value; `name` may be NULL. */
void data_write(Arena *arena, const char *path, const char *name, const Data *data);

#endif
