/* Writing a model: what the files of the exporter share. Only src/onnx includes this.
 *
 * The graph is not touched. Each node becomes an OutNode, names in the place of values; the rows of
 * downgrade.c take it back to the target opset, and may find that it cannot be said there: then the
 * whole graph is written for the first opset that can.
 */
#ifndef ONNX_EXPORT_H
#define ONNX_EXPORT_H

#include "onnx/names.h"
#include "onnx/onnx.h"
#include "onnx/wire.h"

typedef struct Export {
	Arena *arena; /* scratch */
	const Graph *graph;
	int64_t opset;  /* being written */
	int64_t needed; /* the least that can say all nodes seen so far */
	int64_t ir_version;
	Map renamed;               /* Value to another name: results of fused nodes */
	Map skipped;               /* Node that another one says too */
	Map made;                  /* names of values made up here, so that they differ */
	Map node_names;            /* names of nodes written so far */
	Map used;                  /* names that some node or output uses */
	VEC(const Array *) arrays; /* constants made up here, for array_names */
	StrVec array_names;
	VEC(OpsetImport) opsets; /* those of the model, and of domains that nodes bring */
} Export;

typedef struct OutNode {
	Export *out;
	const Node *node;
	const char *op, *domain;
	StrVec inputs; /* "": absent */
	StrVec outputs;
	AttrVec attrs;
} OutNode;

/* ---- data.c ---- */
void out_type(const Export *out, Wire *wire, const Type *type);
void out_tensor(Wire *wire, const char *name, const Array *data);
void out_attr(const Export *out, Wire *wire, const Attr *attr);
int type_ir_version(const Type *type); /* the first IR version that has it */

/* ---- opsets.c ---- */

/* Leave out attributes that the opset does not know where they say what it means anyway. */
void out_drop_later(OutNode *node);
void out_need_operator(OutNode *node);

/* ---- downgrade.c ---- */

/* The model must be written for `opset` at least. */
void out_need(OutNode *node, int opset);

/* Take a node from the dialect to out->opset; raises out->needed where that cannot say it. */
void out_downgrade(OutNode *node);

#endif
