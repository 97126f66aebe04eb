/* The zoo: real topologies with seeded weights, in the form PyTorch exports them.
 *
 *     build/zoo resnet18 --symbolic -o resnet18.onnx
 *
 * A model is a function that builds a Graph with names as the PyTorch exporter gives them
 * ("/layer1/layer1.0/conv1/Conv", weights "layer1.0.conv1.weight"), its weights still without data;
 * weights_fill() then gives each the values that keep the variance of activations near one. The
 * exporter writes it at opset 17.
 */
#ifndef MODELS_ZOO_H
#define MODELS_ZOO_H

#include "graph/graph.h"

typedef struct Zoo {
	Arena *arena;
	Graph *graph;
	const Dim *batch;
} Zoo;

/* ---- build.c: values and nodes ---- */

Value *zoo_input(Zoo *zoo, const char *name, DType type, int rank, const int64_t *dims);
void zoo_outputs(Zoo *zoo, int count, Value *const *values, const char *const *names);

/* A weight whose data weights_fill() will make. */
Value *zoo_weight(Zoo *zoo, const char *name, int rank, const int64_t *dims);
Value *zoo_number(Zoo *zoo, const char *name, float value);
Value *zoo_ints(Zoo *zoo, const char *name, int64_t count, const int64_t *values);
Value *zoo_int(Zoo *zoo, const char *name, int64_t value); /* a scalar */

Attr zoo_attr_int(const char *name, int64_t value);
Attr zoo_attr_float(const char *name, float value);
Attr zoo_attr_ints(Zoo *zoo, const char *name, int count, const int64_t *values);

/* A node "SCOPE/OP" with one output "SCOPE/OP_output_0"; a repeated name gets _1, _2, as PyTorch's.
 */
Value *zoo_node(Zoo *zoo, const char *scope, const char *op, int ninput, Value *const *inputs,
                int nattr, const Attr *attrs);
Value *zoo_unary(Zoo *zoo, const char *scope, const char *op, Value *x);
Value *zoo_binary(Zoo *zoo, const char *scope, const char *op, Value *x, Value *y);

/* Layers; `scope` is "/layer1/layer1.0", `path` the weights' prefix "layer1.0.conv1". */
typedef struct Conv {
	int64_t in, out, kernel, stride, pad, group;
	bool has_bias;
} Conv;

Value *zoo_conv(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv);
Value *zoo_conv_transpose(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv);
Value *zoo_batch_norm(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t channels);
Value *zoo_max_pool(Zoo *zoo, const char *scope, Value *x, int64_t kernel, int64_t stride,
                    int64_t pad, int64_t ceil_mode);
Value *zoo_linear(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t in, int64_t out);
Value *zoo_flatten(Zoo *zoo, const char *scope, Value *x);
const char *zoo_text(Zoo *zoo, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- the models ---- */

void resnet18(Zoo *zoo);
void resnet50(Zoo *zoo);
void vgg11(Zoo *zoo);
void mobilenetv2(Zoo *zoo);
void squeezenet(Zoo *zoo);
void dcgan(Zoo *zoo);
void bert_base(Zoo *zoo);
void bert_tiny(Zoo *zoo);

/* ---- weights.c ---- */

/* Give data to every constant that has none (Array.data NULL), by what it is used for. */
void weights_fill(Graph *graph);
/* Take the data from weights that are all one value, and put constants without data in the place of
 * ConstantOfShape nodes; returns how many. */
int weights_forget(Graph *graph);

#endif
