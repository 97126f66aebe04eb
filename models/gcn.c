/* The Global Convolutional Network (Peng et al., 2017), in the form EinNet (OSDI '23) was measured
 * on: ResNet-50 whose last two stages have large separable kernels, heads of that kind on all four
 * stages, and a decoder that adds them up from the coarsest to the finest.
 *
 * Normalisations are nodes of their own, as PyTorch exports them and as the zoo's ResNets have
 * them: that compilers fold them belongs to what is measured.
 */
#include "zoo.h"

enum { CLASSES = 21 };

/* A separable kernel: k along the height or along the width. */
static Value *
conv_along(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv, int axis)
{
	Window window = {{1, 1}, {0, 0}, 1, 1, 0};
	window.kernel[axis] = conv.kernel;
	window.pad[axis] = conv.kernel / 2;
	return zoo_conv_window(zoo, scope, path, x, conv, window);
}

/* ---- the backbone ---- */

static Value *
conv_along_norm_relu(Zoo *zoo, const char *scope, const char *path, const char *name, Value *x,
                     Conv conv, int axis)
{
	const char *side = zoo_text(zoo, "%s/conv_%s", scope, name);
	x = conv_along(zoo, side, zoo_text(zoo, "%s.conv_%s", path, name), x, conv, axis);
	x = zoo_batch_norm(zoo, zoo_text(zoo, "%s/bn_%s", scope, name),
	                   zoo_text(zoo, "%s.bn_%s", path, name), x, conv.out);
	return zoo_unary(zoo, zoo_text(zoo, "%s/relu_%s", scope, name), "Relu", x);
}

/* kx1 then 1xk, and 1xk then kx1, added up. */
static Value *
separable_pair(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv)
{
	Conv second = conv;
	second.in = conv.out;
	Value *left = conv_along_norm_relu(zoo, scope, path, "l1", x, conv, 0);
	left = conv_along_norm_relu(zoo, scope, path, "l2", left, second, 1);
	Value *right = conv_along_norm_relu(zoo, scope, path, "r1", x, conv, 1);
	right = conv_along_norm_relu(zoo, scope, path, "r2", right, second, 0);
	return zoo_binary(zoo, scope, "Add", left, right);
}

typedef struct GcnStage {
	int number, depth;
	int64_t in, width, out, kernel;
} GcnStage;

static Value *
bottleneck(Zoo *zoo, const char *scope, const char *path, Value *x, const GcnStage *stage,
           bool is_first)
{
	int64_t in = is_first ? stage->in : stage->out, stride = is_first ? 2 : 1;
	Value *y = separable_pair(zoo, zoo_text(zoo, "%s/gcn", scope), zoo_text(zoo, "%s.gcn", path), x,
	                          (Conv){in, stage->width, stage->kernel, 1, 0, 1, false});
	y = zoo_conv_norm(zoo, scope, zoo_text(zoo, "%s.conv", path), zoo_text(zoo, "%s.bn", path),
	                  "conv", "bn", y, (Conv){stage->width, stage->out, 1, stride, 0, 1, false});
	if (is_first)
		x = zoo_conv_norm(zoo, scope, zoo_text(zoo, "%s.downsample.0", path),
		                  zoo_text(zoo, "%s.downsample.1", path), "downsample/downsample.0",
		                  "downsample/downsample.1", x,
		                  (Conv){in, stage->out, 1, stride, 0, 1, true});
	return zoo_binary(zoo, scope, "Add", y, x);
}

/* All blocks but the first are one module, called again and again. */
static Value *
gcn_stage(Zoo *zoo, Value *x, const GcnStage *stage)
{
	for (int i = 0; i < stage->depth; i++)
		x = bottleneck(zoo, zoo_text(zoo, "/layer%d/layer%d.%d", stage->number, stage->number, i),
		               zoo_text(zoo, "layer%d.%d", stage->number, i > 0), x, stage, i == 0);
	return x;
}

/* ---- heads and decoder ---- */

static Value *
head(Zoo *zoo, int number, Value *x, int64_t in)
{
	const char *path = zoo_text(zoo, "gcn%d", number), *scope = zoo_text(zoo, "/%s", path);
	Value *sides[2];
	for (int side = 0; side < 2; side++) {
		Conv conv = {in, CLASSES, 11, 1, 0, 1, true};
		sides[side] = x;
		for (int i = 0; i < 2; i++) {
			const char *name = zoo_text(zoo, "conv_%c%d", "lr"[side], i + 1);
			sides[side] =
				conv_along(zoo, zoo_text(zoo, "%s/%s", scope, name),
			               zoo_text(zoo, "%s.%s", path, name), sides[side], conv, side ^ i);
			conv.in = CLASSES;
		}
	}
	return zoo_binary(zoo, scope, "Add", sides[0], sides[1]);
}

/* Boundaries refined: x + conv(ReLU(conv(x))). */
static Value *
refine(Zoo *zoo, int number, Value *x)
{
	const char *path = zoo_text(zoo, "br%d", number), *scope = zoo_text(zoo, "/%s", path);
	Conv conv = {CLASSES, CLASSES, 3, 1, 1, 1, true};
	Value *y =
		zoo_conv(zoo, zoo_text(zoo, "%s/conv1", scope), zoo_text(zoo, "%s.conv1", path), x, conv);
	y = zoo_unary(zoo, zoo_text(zoo, "%s/relu", scope), "Relu", y);
	y = zoo_conv(zoo, zoo_text(zoo, "%s/conv2", scope), zoo_text(zoo, "%s.conv2", path), y, conv);
	return zoo_binary(zoo, scope, "Add", x, y);
}

/* To extent x extent, bilinear, corners aligned; the exporter computes sizes in the graph. */
static Value *
resize(Zoo *zoo, Value *x, int64_t extent)
{
	const char *base = zoo_text(zoo, "/decoder/%s", x->name);
	Value *slice[] = {
		zoo_unary(zoo, "", "Shape", x),
		zoo_ints(zoo, zoo_text(zoo, "%s.starts", base), 1, &(int64_t){0}),
		zoo_ints(zoo, zoo_text(zoo, "%s.ends", base), 1, &(int64_t){2}),
		zoo_ints(zoo, zoo_text(zoo, "%s.axes", base), 1, &(int64_t){0}),
	};
	Value *sizes[] = {
		zoo_node(zoo, "", "Slice", 4, slice, 0, NULL),
		zoo_ints(zoo, zoo_text(zoo, "%s.extents", base), 2, (int64_t[]){extent, extent}),
	};
	Attr axis = zoo_attr_int("axis", 0);
	Value *inputs[] = {x, NULL, NULL, zoo_node(zoo, "", "Concat", 2, sizes, 1, &axis)};
	Attr attrs[] = {
		zoo_attr_string("coordinate_transformation_mode", "align_corners"),
		zoo_attr_float("cubic_coeff_a", -0.75f),
		zoo_attr_string("mode", "linear"),
		zoo_attr_string("nearest_mode", "floor"),
	};
	return zoo_node(zoo, "", "Resize", 4, inputs, 4, attrs);
}

void
gcn(Zoo *zoo)
{
	static const GcnStage third = {3, 6, 512, 85, 1024, 5}, fourth = {4, 6, 1024, 128, 2048, 7};
	static const int64_t widths[] = {256, 512, 1024, 2048};
	Value *x[4];
	x[0] = resnet_bottlenecks(zoo, 1, 3, resnet_stem(zoo), 64);
	x[1] = resnet_bottlenecks(zoo, 2, 4, x[0], 256);
	x[2] = gcn_stage(zoo, x[1], &third);
	x[3] = gcn_stage(zoo, x[2], &fourth);
	for (int i = 0; i < 4; i++)
		x[i] = refine(zoo, i + 1, head(zoo, i + 1, x[i], widths[i]));
	Value *y = resize(zoo, x[3], 14);
	y = resize(zoo, refine(zoo, 5, zoo_binary(zoo, "", "Add", x[2], y)), 28);
	y = resize(zoo, refine(zoo, 6, zoo_binary(zoo, "", "Add", x[1], y)), 56);
	y = resize(zoo, refine(zoo, 7, zoo_binary(zoo, "", "Add", x[0], y)), 56);
	y = refine(zoo, 9, resize(zoo, refine(zoo, 8, y), 224));
	y = zoo_conv(zoo, "/conv_out", "conv_out", y, (Conv){CLASSES, CLASSES, 1, 1, 0, 1, true});
	zoo_outputs(zoo, 1, &y, (const char *[]){"output"});
}
