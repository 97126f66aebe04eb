/* Values, nodes and layers of the zoo, named as PyTorch's exporter names them. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "zoo.h"

const char *
zoo_text(Zoo *zoo, const char *format, ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return arena_strdup(zoo->arena, text);
}

/* ---- values ---- */

Value *
zoo_input(Zoo *zoo, const char *name, DType type, int rank, const int64_t *dims)
{
	const Dim **shape = NEW_N(zoo->arena, const Dim *, rank + 1);
	shape[0] = zoo->batch;
	for (int i = 1; i < rank; i++)
		shape[i] = dim_const(zoo->graph->ctx, dims[i]);
	Type full = type_tensor(type, rank, shape);
	return graph_input(zoo->graph, name, &full);
}

void
zoo_outputs(Zoo *zoo, int count, Value *const *values, const char *const *names)
{
	for (int i = 0; i < count; i++) {
		map_set(zoo->graph->names, values[i]->name, NULL);
		values[i]->name = names[i];
		map_set(zoo->graph->names, names[i], values[i]);
	}
	graph_set_outputs(zoo->graph, count, values);
}

Value *
zoo_weight(Zoo *zoo, const char *name, int rank, const int64_t *dims)
{
	Value *shared = graph_find_value(zoo->graph, name);
	if (shared)
		return shared;
	Array *array = NEW(zoo->arena, Array);
	*array = (Array){
		.type = DT_F32,
		.rank = rank,
		.dims = arena_memdup(zoo->arena, dims, (size_t)rank * sizeof *dims),
	};
	return graph_constant(zoo->graph, name, array);
}

Value *
zoo_number(Zoo *zoo, const char *name, float value)
{
	return graph_constant(zoo->graph, name, array_from(zoo->arena, DT_F32, 0, NULL, &value));
}

Value *
zoo_ints(Zoo *zoo, const char *name, int64_t count, const int64_t *values)
{
	return graph_constant(zoo->graph, name, array_vector_i64(zoo->arena, count, values));
}

Value *
zoo_int(Zoo *zoo, const char *name, int64_t value)
{
	return graph_constant(zoo->graph, name, array_scalar_i64(zoo->arena, value));
}

/* ---- nodes ---- */

Attr
zoo_attr_int(const char *name, int64_t value)
{
	return (Attr){.name = name, .kind = ATTR_INT, .i = value};
}

Attr
zoo_attr_float(const char *name, float value)
{
	return (Attr){.name = name, .kind = ATTR_FLOAT, .f = value};
}

Attr
zoo_attr_string(const char *name, const char *value)
{
	return (Attr){.name = name, .kind = ATTR_STRING, .count = (int64_t)strlen(value), .s = value};
}

Attr
zoo_attr_ints(Zoo *zoo, const char *name, int count, const int64_t *values)
{
	return (Attr){
		.name = name,
		.kind = ATTR_INTS,
		.count = count,
		.ints = arena_memdup(zoo->arena, values, (size_t)count * sizeof *values),
	};
}

/* The first of "SCOPE/OP", "SCOPE/OP_1" … that no node has. */
static const char *
node_name(Zoo *zoo, const char *scope, const char *op)
{
	for (int i = 0;; i++) {
		const char *name =
			i == 0 ? zoo_text(zoo, "%s/%s", scope, op) : zoo_text(zoo, "%s/%s_%d", scope, op, i);
		if (!graph_find_value(zoo->graph, zoo_text(zoo, "%s_output_0", name)))
			return name;
	}
}

Value *
zoo_node(Zoo *zoo, const char *scope, const char *op, int ninput, Value *const *inputs, int nattr,
         const Attr *attrs)
{
	const char *name = node_name(zoo, scope, op);
	const char *output = zoo_text(zoo, "%s_output_0", name);
	Loc loc = {.file = "zoo", .node = name};
	Node *node = node_new(zoo->graph->body, NULL, op, &loc, ninput, inputs, 1, &output);
	for (int i = 0; i < nattr; i++)
		node_add_attr(node, &attrs[i]);
	return node->outputs[0];
}

Value *
zoo_unary(Zoo *zoo, const char *scope, const char *op, Value *x)
{
	return zoo_node(zoo, scope, op, 1, &x, 0, NULL);
}

Value *
zoo_binary(Zoo *zoo, const char *scope, const char *op, Value *x, Value *y)
{
	return zoo_node(zoo, scope, op, 2, (Value *[]){x, y}, 0, NULL);
}

/* ---- layers ---- */

static Window
square(int64_t kernel, int64_t stride, int64_t pad)
{
	return (Window){{kernel, kernel}, {pad, pad}, stride, 1, 0};
}

static int
window_attrs(Zoo *zoo, Attr *attrs, const Window *window)
{
	const int64_t *kernel = window->kernel, *pad = window->pad;
	attrs[0] = zoo_attr_ints(zoo, "kernel_shape", 2, kernel);
	attrs[1] = zoo_attr_ints(zoo, "pads", 4, (int64_t[]){pad[0], pad[1], pad[0], pad[1]});
	attrs[2] = zoo_attr_ints(zoo, "strides", 2, (int64_t[]){window->stride, window->stride});
	return 3;
}

static Value *
any_conv(Zoo *zoo, const char *scope, const char *path, const char *op, Value *x, Conv conv,
         const Window *window, const int64_t *channels)
{
	Attr attrs[6];
	int64_t dilation = window->dilation, more = window->output_padding;
	int64_t shape[] = {channels[0], channels[1], window->kernel[0], window->kernel[1]};
	attrs[0] = zoo_attr_ints(zoo, "dilations", 2, (int64_t[]){dilation, dilation});
	attrs[1] = zoo_attr_int("group", conv.group ? conv.group : 1);
	int nattr = 2 + window_attrs(zoo, attrs + 2, window);
	if (more)
		attrs[nattr++] = zoo_attr_ints(zoo, "output_padding", 2, (int64_t[]){more, more});
	Value *inputs[3] = {x, zoo_weight(zoo, zoo_text(zoo, "%s.weight", path), 4, shape)};
	if (conv.has_bias)
		inputs[2] = zoo_weight(zoo, zoo_text(zoo, "%s.bias", path), 1, &conv.out);
	return zoo_node(zoo, scope, op, conv.has_bias ? 3 : 2, inputs, nattr, attrs);
}

Value *
zoo_conv_window(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv, Window window)
{
	int64_t channels[] = {conv.out, conv.in / (conv.group ? conv.group : 1)};
	return any_conv(zoo, scope, path, "Conv", x, conv, &window, channels);
}

Value *
zoo_conv_transpose_window(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv,
                          Window window)
{
	return any_conv(zoo, scope, path, "ConvTranspose", x, conv, &window,
	                (int64_t[]){conv.in, conv.out});
}

Value *
zoo_conv(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv)
{
	Window window = square(conv.kernel, conv.stride, conv.pad);
	return zoo_conv_window(zoo, scope, path, x, conv, window);
}

Value *
zoo_conv_transpose(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv)
{
	Window window = square(conv.kernel, conv.stride, conv.pad);
	return zoo_conv_transpose_window(zoo, scope, path, x, conv, window);
}

Value *
zoo_batch_norm(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t channels)
{
	static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
	Value *inputs[5] = {x};
	for (int i = 0; i < 4; i++)
		inputs[i + 1] = zoo_weight(zoo, zoo_text(zoo, "%s.%s", path, parts[i]), 1, &channels);
	Attr attrs[] = {zoo_attr_float("epsilon", 1e-5f), zoo_attr_float("momentum", 0.9f)};
	return zoo_node(zoo, scope, "BatchNormalization", 5, inputs, 2, attrs);
}

Value *
zoo_conv_norm(Zoo *zoo, const char *scope, const char *conv_path, const char *norm_path,
              const char *conv_scope, const char *norm_scope, Value *x, Conv conv)
{
	x = zoo_conv(zoo, zoo_text(zoo, "%s/%s", scope, conv_scope), conv_path, x, conv);
	return zoo_batch_norm(zoo, zoo_text(zoo, "%s/%s", scope, norm_scope), norm_path, x, conv.out);
}

Value *
zoo_max_pool(Zoo *zoo, const char *scope, Value *x, int64_t kernel, int64_t stride, int64_t pad,
             int64_t ceil_mode)
{
	Attr attrs[4];
	Window window = square(kernel, stride, pad);
	int nattr = window_attrs(zoo, attrs, &window);
	attrs[nattr++] = zoo_attr_int("ceil_mode", ceil_mode);
	return zoo_node(zoo, scope, "MaxPool", 1, &x, nattr, attrs);
}

Value *
zoo_linear(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t in, int64_t out)
{
	Value *inputs[] = {
		x,
		zoo_weight(zoo, zoo_text(zoo, "%s.weight", path), 2, (int64_t[]){out, in}),
		zoo_weight(zoo, zoo_text(zoo, "%s.bias", path), 1, &out),
	};
	Attr transposed = zoo_attr_int("transB", 1);
	return zoo_node(zoo, scope, "Gemm", 3, inputs, 1, &transposed);
}

Value *
zoo_flatten(Zoo *zoo, const char *scope, Value *x)
{
	Attr axis = zoo_attr_int("axis", 1);
	return zoo_node(zoo, scope, "Flatten", 1, &x, 1, &axis);
}
