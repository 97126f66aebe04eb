/* Networks that classify images: ResNet, VGG-11, MobileNetV2 and SqueezeNet. */
#include "zoo.h"

static const int64_t IMAGE[] = {0, 3, 224, 224};

/* ---- ResNet (He et al., 2015) in torchvision's form: stride on the 3x3 of a bottleneck ---- */

/* Convolution `i` of a block with its normalisation: conv1 and bn1. */
static Value *
numbered(Zoo *zoo, const char *scope, const char *path, int i, Value *x, Conv conv)
{
	const char *c = zoo_text(zoo, "conv%d", i), *n = zoo_text(zoo, "bn%d", i);
	return zoo_conv_norm(zoo, scope, zoo_text(zoo, "%s.%s", path, c),
	                     zoo_text(zoo, "%s.%s", path, n), c, n, x, conv);
}

static Value *
shortcut(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t in, int64_t out,
         int64_t stride)
{
	if (in == out && stride == 1)
		return x;
	return zoo_conv_norm(zoo, scope, zoo_text(zoo, "%s.downsample.0", path),
	                     zoo_text(zoo, "%s.downsample.1", path), "downsample/downsample.0",
	                     "downsample/downsample.1", x, (Conv){in, out, 1, stride, 0, 1, false});
}

static Value *
basic_block(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t in, int64_t width,
            int64_t stride)
{
	const char *relu = zoo_text(zoo, "%s/relu", scope);
	Value *y = numbered(zoo, scope, path, 1, x, (Conv){in, width, 3, stride, 1, 1, false});
	y = zoo_unary(zoo, relu, "Relu", y);
	y = numbered(zoo, scope, path, 2, y, (Conv){width, width, 3, 1, 1, 1, false});
	y = zoo_binary(zoo, scope, "Add", y, shortcut(zoo, scope, path, x, in, width, stride));
	return zoo_unary(zoo, relu, "Relu", y);
}

static Value *
bottleneck(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t in, int64_t width,
           int64_t stride)
{
	const char *relu = zoo_text(zoo, "%s/relu", scope);
	int64_t out = 4 * width;
	Value *y = numbered(zoo, scope, path, 1, x, (Conv){in, width, 1, 1, 0, 1, false});
	y = zoo_unary(zoo, relu, "Relu", y);
	y = numbered(zoo, scope, path, 2, y, (Conv){width, width, 3, stride, 1, 1, false});
	y = zoo_unary(zoo, relu, "Relu", y);
	y = numbered(zoo, scope, path, 3, y, (Conv){width, out, 1, 1, 0, 1, false});
	y = zoo_binary(zoo, scope, "Add", y, shortcut(zoo, scope, path, x, in, out, stride));
	return zoo_unary(zoo, relu, "Relu", y);
}

typedef Value *Block(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t in,
                     int64_t width, int64_t stride);

/* Stage 1 to 4: blocks of `width` channels inside, a later stage at half the extent. */
static Value *
stage_of(Zoo *zoo, int stage, int depth, Value *x, int64_t in, int64_t expansion, Block *block)
{
	int64_t width = (int64_t)32 << stage;
	for (int i = 0; i < depth; i++) {
		const char *scope = zoo_text(zoo, "/layer%d/layer%d.%d", stage, stage, i);
		const char *path = zoo_text(zoo, "layer%d.%d", stage, i);
		x = block(zoo, scope, path, x, in, width, i == 0 && stage > 1 ? 2 : 1);
		in = width * expansion;
	}
	return x;
}

Value *
resnet_stem(Zoo *zoo)
{
	Value *x = zoo_input(zoo, "input", DT_F32, 4, IMAGE);
	x = zoo_conv_norm(zoo, "", "conv1", "bn1", "conv1", "bn1", x, (Conv){3, 64, 7, 2, 3, 1, false});
	x = zoo_unary(zoo, "/relu", "Relu", x);
	return zoo_max_pool(zoo, "/maxpool", x, 3, 2, 1, 0);
}

Value *
resnet_bottlenecks(Zoo *zoo, int stage, int depth, Value *x, int64_t in)
{
	return stage_of(zoo, stage, depth, x, in, 4, bottleneck);
}

static void
resnet(Zoo *zoo, const int *depths, int64_t expansion, Block *block)
{
	Value *x = resnet_stem(zoo);
	int64_t in = 64;
	for (int stage = 1; stage <= 4; stage++) {
		x = stage_of(zoo, stage, depths[stage - 1], x, in, expansion, block);
		in = ((int64_t)32 << stage) * expansion;
	}
	x = zoo_unary(zoo, "/avgpool", "GlobalAveragePool", x);
	x = zoo_linear(zoo, "/fc", "fc", zoo_flatten(zoo, "", x), in, 1000);
	zoo_outputs(zoo, 1, &x, (const char *[]){"output"});
}

void
resnet18(Zoo *zoo)
{
	resnet(zoo, (int[]){2, 2, 2, 2}, 1, basic_block);
}

void
resnet50(Zoo *zoo)
{
	resnet(zoo, (int[]){3, 4, 6, 3}, 4, bottleneck);
}

/* ---- VGG-11 (Simonyan and Zisserman, 2014): few steps, four fifths of its weights in one ---- */

void
vgg11(Zoo *zoo)
{
	static const int64_t widths[] = {64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0};
	static const int64_t linear[] = {512 * 7 * 7, 4096, 4096, 1000};
	Value *x = zoo_input(zoo, "input", DT_F32, 4, IMAGE);
	int64_t in = 3;
	int index = 0; /* in the sequence: each convolution has a Relu behind it */
	for (size_t i = 0; i < countof(widths); i++, index++) {
		const char *scope = zoo_text(zoo, "/features/features.%d", index);
		if (widths[i] == 0) {
			x = zoo_max_pool(zoo, scope, x, 2, 2, 0, 0);
			continue;
		}
		x = zoo_conv(zoo, scope, zoo_text(zoo, "features.%d", index), x,
		             (Conv){in, widths[i], 3, 1, 1, 1, true});
		x = zoo_unary(zoo, zoo_text(zoo, "/features/features.%d", ++index), "Relu", x);
		in = widths[i];
	}
	x = zoo_flatten(zoo, "", x);
	for (int i = 0; i < 3; i++) {
		x = zoo_linear(zoo, zoo_text(zoo, "/classifier/classifier.%d", 3 * i),
		               zoo_text(zoo, "classifier.%d", 3 * i), x, linear[i], linear[i + 1]);
		if (i < 2)
			x = zoo_unary(zoo, zoo_text(zoo, "/classifier/classifier.%d", 3 * i + 1), "Relu", x);
	}
	zoo_outputs(zoo, 1, &x, (const char *[]){"output"});
}

/* ---- MobileNetV2 (Sandler et al., 2018): expand, depthwise, project ---- */

/* ReLU6 is exported as a Clip whose bounds are constants. */
static Value *
relu6(Zoo *zoo, const char *scope, Value *x)
{
	Value *inputs[] = {
		x,
		zoo_number(zoo, zoo_text(zoo, "%s/Constant_output_0", scope), 0),
		zoo_number(zoo, zoo_text(zoo, "%s/Constant_1_output_0", scope), 6),
	};
	return zoo_node(zoo, scope, "Clip", 3, inputs, 0, NULL);
}

/* Convolution, normalisation and ReLU6: a sequence PATH.0, PATH.1, PATH.2. */
static Value *
conv_norm_relu6(Zoo *zoo, const char *scope, const char *path, Value *x, Conv conv)
{
	x = zoo_conv(zoo, zoo_text(zoo, "%s/%s.0", scope, path), zoo_text(zoo, "%s.0", path), x, conv);
	x = zoo_batch_norm(zoo, zoo_text(zoo, "%s/%s.1", scope, path), zoo_text(zoo, "%s.1", path), x,
	                   conv.out);
	return relu6(zoo, zoo_text(zoo, "%s/%s.2", scope, path), x);
}

static Value *
inverted_residual(Zoo *zoo, int index, Value *x, int64_t in, int64_t out, int64_t stride,
                  int64_t expand)
{
	const char *path = zoo_text(zoo, "features.%d.conv", index);
	const char *scope = zoo_text(zoo, "/features/features.%d/conv", index);
	Value *y = x;
	int part = 0;
	int64_t hidden = in * expand;
	if (expand != 1)
		y = conv_norm_relu6(zoo, zoo_text(zoo, "%s/%s.%d", scope, path, part),
		                    zoo_text(zoo, "%s.%d", path, part), y,
		                    (Conv){in, hidden, 1, 1, 0, 1, false}),
		part++;
	y = conv_norm_relu6(zoo, zoo_text(zoo, "%s/%s.%d", scope, path, part),
	                    zoo_text(zoo, "%s.%d", path, part), y,
	                    (Conv){hidden, hidden, 3, stride, 1, hidden, false});
	part++;
	y = zoo_conv(zoo, zoo_text(zoo, "%s/conv.%d", scope, part), zoo_text(zoo, "%s.%d", path, part),
	             y, (Conv){hidden, out, 1, 1, 0, 1, false});
	part++;
	y = zoo_batch_norm(zoo, zoo_text(zoo, "%s/conv.%d", scope, part),
	                   zoo_text(zoo, "%s.%d", path, part), y, out);
	if (stride == 1 && in == out)
		y = zoo_binary(zoo, zoo_text(zoo, "/features/features.%d", index), "Add", x, y);
	return y;
}

void
mobilenetv2(Zoo *zoo)
{
	/* expansion, channels, blocks, stride of the first */
	static const int64_t rows[][4] = {
		{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2},  {6, 64, 4, 2},
		{6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1},
	};
	Value *x = zoo_input(zoo, "input", DT_F32, 4, IMAGE);
	x = conv_norm_relu6(zoo, "/features/features.0", "features.0", x,
	                    (Conv){3, 32, 3, 2, 1, 1, false});
	int64_t in = 32;
	int index = 1;
	for (size_t r = 0; r < countof(rows); r++)
		for (int64_t i = 0; i < rows[r][2]; i++, index++) {
			int64_t out = rows[r][1], stride = i == 0 ? rows[r][3] : 1;
			x = inverted_residual(zoo, index, x, in, out, stride, rows[r][0]);
			in = out;
		}
	x = conv_norm_relu6(zoo, "/features/features.18", "features.18", x,
	                    (Conv){320, 1280, 1, 1, 0, 1, false});
	x = zoo_flatten(zoo, "", zoo_unary(zoo, "", "GlobalAveragePool", x));
	x = zoo_linear(zoo, "/classifier/classifier.1", "classifier.1", x, 1280, 1000);
	zoo_outputs(zoo, 1, &x, (const char *[]){"output"});
}

/* ---- SqueezeNet 1.1 (Iandola et al., 2016): fire modules ---- */

static Value *
conv_relu(Zoo *zoo, const char *scope, const char *name, const char *path, Value *x, Conv conv)
{
	x = zoo_conv(zoo, zoo_text(zoo, "%s/%s", scope, name), zoo_text(zoo, "%s.%s", path, name), x,
	             conv);
	return zoo_unary(zoo, zoo_text(zoo, "%s/%s_activation", scope, name), "Relu", x);
}

static Value *
fire(Zoo *zoo, int index, Value *x, int64_t in, int64_t squeeze, int64_t expand)
{
	const char *scope = zoo_text(zoo, "/features/features.%d", index);
	const char *path = zoo_text(zoo, "features.%d", index);
	x = conv_relu(zoo, scope, "squeeze", path, x, (Conv){in, squeeze, 1, 1, 0, 1, true});
	Value *parts[] = {
		conv_relu(zoo, scope, "expand1x1", path, x, (Conv){squeeze, expand, 1, 1, 0, 1, true}),
		conv_relu(zoo, scope, "expand3x3", path, x, (Conv){squeeze, expand, 3, 1, 1, 1, true}),
	};
	Attr axis = zoo_attr_int("axis", 1);
	return zoo_node(zoo, scope, "Concat", 2, parts, 1, &axis);
}

void
squeezenet(Zoo *zoo)
{
	/* index in the sequence, squeezed channels, channels of each half; 0: a pool in front */
	static const int64_t rows[][3] = {
		{2, 0, 0}, {3, 16, 64},  {4, 16, 64},   {5, 0, 0},     {6, 32, 128},  {7, 32, 128},
		{8, 0, 0}, {9, 48, 192}, {10, 48, 192}, {11, 64, 256}, {12, 64, 256},
	};
	Value *x = zoo_input(zoo, "input", DT_F32, 4, IMAGE);
	x = zoo_conv(zoo, "/features/features.0", "features.0", x, (Conv){3, 64, 3, 2, 0, 1, true});
	x = zoo_unary(zoo, "/features/features.1", "Relu", x);
	int64_t in = 64;
	for (size_t r = 0; r < countof(rows); r++) {
		int index = (int)rows[r][0];
		if (rows[r][1] == 0) {
			x = zoo_max_pool(zoo, zoo_text(zoo, "/features/features.%d", index), x, 3, 2, 0, 1);
			continue;
		}
		x = fire(zoo, index, x, in, rows[r][1], rows[r][2]);
		in = 2 * rows[r][2];
	}
	x = zoo_conv(zoo, "/classifier/classifier.1", "classifier.1", x,
	             (Conv){in, 1000, 1, 1, 0, 1, true});
	x = zoo_unary(zoo, "/classifier/classifier.2", "Relu", x);
	x = zoo_unary(zoo, "/classifier/classifier.3", "GlobalAveragePool", x);
	x = zoo_flatten(zoo, "", x);
	zoo_outputs(zoo, 1, &x, (const char *[]){"output"});
}
