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

typedef struct Zoo Zoo;

struct Zoo {
	Arena *arena;
	Graph *graph;
	const Dim *batch;
	StrVec settings;                            /* "length=2000": what --set said */
	void (*append)(Zoo *zoo, const char *path); /* NULL, or puts more into the written model */
};

/* A number that --set may change; those that no model asks for are mistakes. */
int64_t zoo_setting(Zoo *zoo, const char *name, int64_t fallback);

/* ---- build.c: values and nodes ---- */

Value *zoo_input(Zoo *zoo, const char *name, DType type, int rank, const int64_t *dims);
void zoo_outputs(Zoo *zoo, int count, Value *const *values, const char *const *names);

/* A weight whose data weights_fill() will make; layers that share one call it by the same name. */
Value *zoo_weight(Zoo *zoo, const char *name, int rank, const int64_t *dims);
Value *zoo_number(Zoo *zoo, const char *name, float value);
Value *zoo_ints(Zoo *zoo, const char *name, int64_t count, const int64_t *values);
Value *zoo_int(Zoo *zoo, const char *name, int64_t value); /* a scalar */

Attr zoo_attr_int(const char *name, int64_t value);
Attr zoo_attr_float(const char *name, float value);
Attr zoo_attr_string(const char *name, const char *value);
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

/* In the place of a Conv's square kernel, stride and pad; pads are the same at both ends. */
typedef struct Window {
	int64_t kernel[2], pad[2], stride, dilation, output_padding;
} Window;

Value *zoo_conv(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv);
Value *zoo_conv_window(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv,
                       Window window);
Value *zoo_conv_transpose_window(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv,
                                 Window window);
Value *zoo_conv_transpose(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv);
Value *zoo_batch_norm(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t channels);
Value *zoo_conv_norm(Zoo *zoo, const char *scope, const char *conv_path, const char *norm_path,
                     const char *conv_scope, const char *norm_scope, Value *x, Conv conv);
Value *zoo_max_pool(Zoo *zoo, const char *scope, Value *x, int64_t kernel, int64_t stride,
                    int64_t pad, int64_t ceil_mode);
Value *zoo_linear(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t in, int64_t out);
Value *zoo_flatten(Zoo *zoo, const char *scope, Value *x);
const char *zoo_text(Zoo *zoo, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- vision.c: parts of ResNet ---- */

Value *resnet_stem(Zoo *zoo); /* from images to 64 channels of 56x56 */
Value *resnet_bottlenecks(Zoo *zoo, int stage, int depth, Value *x, int64_t in);

/* ---- the models ---- */

void resnet18(Zoo *zoo);
void resnet50(Zoo *zoo);
void vgg11(Zoo *zoo);
void mobilenetv2(Zoo *zoo);
void squeezenet(Zoo *zoo);
void dcgan(Zoo *zoo);
void infogan(Zoo *zoo);
void fsrcnn(Zoo *zoo);
void csrnet(Zoo *zoo);
void gcn(Zoo *zoo);
void longformer(Zoo *zoo);
void longformer_tiny(Zoo *zoo);
void bert_base(Zoo *zoo);
void bert_tiny(Zoo *zoo);

/* ---- weights.c ---- */

/* Give data to every constant that has none (Array.data NULL), by what it is used for. */
void weights_fill(Graph *graph);
/* Take the data from weights that are all one value, and put constants without data in the place of
 * ConstantOfShape nodes; returns how many. */
int weights_forget(Graph *graph);

#endif
