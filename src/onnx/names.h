/* What importer and exporter say alike: keys of what ONNX has no field for, and what changed
 * between opsets.
 */
#ifndef ONNX_NAMES_H
#define ONNX_NAMES_H

#include "graph/graph.h"

/* Graph metadata: KEY_DIM "d_batch_size" = "batch size", the model's spelling of a symbol. */
#define KEY_DIM "tilewright.dim."

/* metadata_props of a node (IR 10), or the beginning of its doc_string: the names of the model's
 * nodes it was made from, one per line. */
#define KEY_ORIGINS "tilewright.origins"

/* A row of moved.def. */
typedef struct MovedAttr {
	int below; /* the opset since which it is an input */
	const char *ops, *name;
	AttrKind kind;
	int input;
} MovedAttr;

extern const MovedAttr moved_attrs[];
extern const int moved_attr_count;

/* Attributes of a node on its way in or out. */
typedef VEC(Attr) AttrVec;
const Attr *attrs_find(const AttrVec *attrs, const char *name); /* or NULL */
void attrs_remove(AttrVec *attrs, const char *name);
void attrs_set(Arena *arena, AttrVec *attrs, Attr attr);

#endif
