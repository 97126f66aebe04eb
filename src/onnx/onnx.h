/* ONNX models in and out. The only interface of src/onnx that other folders need for models;
 * tensor_file.h is the one for test data.
 *
 *     Graph *graph = onnx_read(arena, "resnet18.onnx", NULL);
 *     run_passes(graph);
 *     onnx_write(graph, "resnet18.opt.onnx", NULL);
 *
 * Reading upgrades every node to the one dialect, opset 28 (upgrade.c); writing takes them back to
 * the opset that the model came with (downgrade.c). Weights stay views of the mapped file.
 */
#ifndef ONNX_ONNX_H
#define ONNX_ONNX_H

#include "base/file.h"
#include "graph/graph.h"

enum { ONNX_DIALECT = 28, ONNX_IR = 14 };

/* An input that is fixed while reading: it becomes a constant, so that shapes may depend on it. */
typedef struct OnnxFixed {
	const char *input;
	const Array *value; /* NULL: words say it */
	const char *words;  /* numbers of the model's type (base/array_words.h) */
} OnnxFixed;

typedef struct OnnxReadOptions {
	bool is_open; /* operators that ops.def does not have pass through: only to be written again */
	const char *external_folder; /* the one that external data must lie in; NULL: the model's */
	int nfixed;
	const OnnxFixed *fixed;
} OnnxReadOptions;

/* Read, upgrade and infer types node by node. `options` may be NULL. The graph's arena is `arena`,
 * as are the mapping and everything else; keep it as long as the graph. Fails at the first
 * obstacle, except that a node whose types cannot be inferred yet (axes given at run time) keeps
 * outputs of unknown type: graph_infer() says so again, after inputs were fixed or dims bound. */
Graph *onnx_read(Arena *arena, const char *path, const OnnxReadOptions *options);

/* The same from memory, which must outlive the graph. `name` stands in messages; external data is
 * refused when no folder is given. */
Graph *onnx_read_bytes(Arena *arena, const char *name, Bytes bytes, const OnnxReadOptions *options);

/* Everything that keeps the model from being read, without stopping at the first: returns how many
 * and sets *list to them in the order of the model. 0: onnx_read() succeeds. */
int onnx_obstacles(Arena *arena, const char *path, const OnnxReadOptions *options,
                   const Failure **list);

typedef struct OnnxWriteOptions {
	uint64_t external_above; /* bytes of weights from which they go beside the model; 0: 1.9 GB */
	int64_t opset;       /* at least this one; 0: the model's own, or the next that can say it */
	const char *weights; /* the file beside the model that all weights go into; NULL: see above */
} OnnxWriteOptions;

/* Write the graph as a model: names of inputs, outputs and symbols kept, equal bytes for equal
 * graphs. `fused` nodes are written as what they were made from. `options` may be NULL. External
 * data, if needed, goes to PATH.data, which is complete before PATH appears. Weights of the graph
 * itself are never written over. */
void onnx_write(const Graph *graph, const char *path, const OnnxWriteOptions *options);

#endif
