/* One layer of attention in a dilated band, as in LongFormer (Beltagy et al., 2020) and as EinNet
 * (OSDI '23) was measured on it: each token looks at 2 * window + 1 others, `dilation` apart.
 *
 * ONNX has no operator for products in a band. Two functions of the model are that, G2BMM and GBMM
 * of the domain "einnet"; their bodies gather the band, which any runtime can do:
 *
 *     G2BMM(q, k): y[b,m,w] = sum over c of q[b,m,c] k[b, m + dilation (w - window), c]
 *     GBMM(p, v):  y[b,m,c] = sum over w of p[b,m,w] v[b, m + dilation (w - window), c]
 *
 * Outside of the sequence k and v are zero, and these zeros take part in the softmax. The published
 * layer has 10000 tokens and a window of 1000, whose gathered band takes 41 GB an image: the
 * default is a tenth of the tokens and a twentieth of the window; `zoo longformer --set
 * length=2000` asks for others.
 */
#include "function.h"

static const char DOMAIN[] = "einnet";
enum { BODY_OPSET = 17 };

typedef struct Longformer {
	Zoo *zoo;
	int64_t length, window, dilation, heads, hidden;
} Longformer;

/* ---- the functions ---- */

/* `band`, the input `x` at the places [b, m, w] of the band. */
static const FunctionLine GATHER_BAND[] = {
	{"Constant", "", "half", {{.name = "value_int", .ref = "window"}}},
	{"Constant", "", "step", {{.name = "value_int", .ref = "dilation"}}},
	{"Constant", "", "zero", {{.name = "value_int"}}},
	{"Constant", "", "one", {{.name = "value_int", .i = 1}}},
	{"Constant", "", "single", {{.name = "value_ints", .count = 1, .ints = {1}}}},
	{"Constant", "", "none", {{.name = "value_ints", .count = 1, .ints = {0}}}},
	{"Constant", "", "second", {{.name = "value_ints", .count = 1, .ints = {1}}}},
	{"Constant", "", "third", {{.name = "value_ints", .count = 1, .ints = {2}}}},
	{"Constant", "", "fourth", {{.name = "value_ints", .count = 1, .ints = {3}}}},
	{"Mul", "half step", "reach", {{0}}},
	{"Reshape", "reach single", "around", {{0}}},
	{"Concat", "none around none none around none", "pads", {{.name = "axis"}}},
	{"Pad", "x pads", "padded", {{0}}},
	{"Shape", "x", "extents", {{.name = "start", .i = 1}, {.name = "end", .i = 2}}},
	{"Squeeze", "extents none", "length", {{0}}},
	{"Range", "zero length one", "rows", {{0}}},
	{"Unsqueeze", "rows second", "column", {{0}}},
	{"Add", "half half", "both", {{0}}},
	{"Add", "both one", "width", {{0}}},
	{"Range", "zero width one", "taps", {{0}}},
	{"Mul", "taps step", "steps", {{0}}},
	{"Add", "column steps", "places", {{0}}},
	{"Gather", "padded places", "band", {{.name = "axis", .i = 1}}},
};

static const FunctionLine SCORES[] = {
	{"Unsqueeze", "q fourth", "factor", {{0}}},
	{"MatMul", "band factor", "product", {{0}}},
	{"Squeeze", "product fourth", "y", {{0}}},
};

static const FunctionLine SUMS[] = {
	{"Unsqueeze", "p third", "factor", {{0}}},
	{"MatMul", "factor band", "product", {{0}}},
	{"Squeeze", "product third", "y", {{0}}},
};

static void
append(Zoo *zoo, const char *path, const char *name, const char *inputs, size_t count,
       const FunctionLine *lines)
{
	Function function = {DOMAIN, name, inputs, "y", "window dilation", BODY_OPSET, {0}};
	for (size_t i = 0; i < countof(GATHER_BAND); i++)
		vec_push(zoo->arena, &function.lines, GATHER_BAND[i]);
	for (size_t i = 0; i < count; i++)
		vec_push(zoo->arena, &function.lines, lines[i]);
	function_append(zoo->arena, path, &function);
}

static void
longformer_functions(Zoo *zoo, const char *path)
{
	append(zoo, path, "G2BMM", "q x", countof(SCORES), SCORES);
	append(zoo, path, "GBMM", "p x", countof(SUMS), SUMS);
}

/* ---- the layer ---- */

/* A call of G2BMM or GBMM; `last` is the last dim of the result. */
static Value *
call(const Longformer *layer, const char *op, Value *x, Value *y, int64_t last)
{
	static const AttrSpec specs[] = {
		{.name = "window", .kind = ATTR_INT, .required = true},
		{.name = "dilation", .kind = ATTR_INT, .required = true},
	};
	Zoo *zoo = layer->zoo;
	ExprCtx *ctx = zoo->graph->ctx;
	const char *name = zoo_text(zoo, "/%s", op), *output = zoo_text(zoo, "%s_output_0", name);
	const OpInfo *row = op_unknown(zoo->arena, DOMAIN, op, 1, countof(specs), specs);
	Loc loc = {.file = "zoo", .node = name};
	Node *node = node_new_row(zoo->graph->body, NULL, row, &loc, 2, (Value *[]){x, y}, 1, &output);
	node_add_attr(node, &(Attr){.name = "window", .kind = ATTR_INT, .i = layer->window});
	node_add_attr(node, &(Attr){.name = "dilation", .kind = ATTR_INT, .i = layer->dilation});
	const Dim **dims = NEW_N(zoo->arena, const Dim *, 3);
	dims[0] = dim_mul_i64(ctx, zoo->batch, layer->heads);
	dims[1] = dim_const(ctx, layer->length);
	dims[2] = dim_const(ctx, last);
	node->outputs[0]->type = type_tensor(DT_F32, 3, dims);
	return node->outputs[0];
}

static Value *
reshape(Zoo *zoo, const char *scope, Value *x, int rank, const int64_t *dims)
{
	Value *shape = zoo_ints(zoo, zoo_text(zoo, "%s.shape", x->name), rank, dims);
	return zoo_binary(zoo, scope, "Reshape", x, shape);
}

static Value *
transpose(Zoo *zoo, const char *scope, Value *x)
{
	Attr perm = zoo_attr_ints(zoo, "perm", 4, (int64_t[]){0, 2, 1, 3});
	return zoo_node(zoo, scope, "Transpose", 1, &x, 1, &perm);
}

static Value *
dense(const Longformer *layer, const char *path, Value *x, bool has_bias)
{
	Zoo *zoo = layer->zoo;
	const char *scope = zoo_text(zoo, "/%s", path);
	int64_t shape[] = {layer->hidden, layer->hidden};
	Value *weight = zoo_weight(zoo, zoo_text(zoo, "%s.weight_t", path), 2, shape);
	x = zoo_binary(zoo, scope, "MatMul", x, weight);
	if (!has_bias)
		return x;
	Value *bias = zoo_weight(zoo, zoo_text(zoo, "%s.bias", path), 1, shape);
	return zoo_unary(zoo, scope, "Relu", zoo_binary(zoo, scope, "Add", bias, x));
}

/* Queries, keys or values, a matrix for each image and head. */
static Value *
heads(const Longformer *layer, const char *path, Value *x)
{
	Zoo *zoo = layer->zoo;
	const char *scope = zoo_text(zoo, "/%s", path);
	int64_t width = layer->hidden / layer->heads;
	x = dense(layer, path, x, false);
	x = reshape(zoo, scope, x, 4, (int64_t[]){-1, layer->length, layer->heads, width});
	return reshape(zoo, scope, transpose(zoo, scope, x), 3, (int64_t[]){-1, layer->length, width});
}

static void
layer_model(Zoo *zoo, Longformer layer)
{
	layer.zoo = zoo;
	layer.length = zoo_setting(zoo, "length", layer.length);
	layer.window = zoo_setting(zoo, "window", layer.window);
	layer.dilation = zoo_setting(zoo, "dilation", layer.dilation);
	layer.heads = zoo_setting(zoo, "heads", layer.heads);
	if (layer.hidden % layer.heads)
		fail_as(FAIL_USAGE, NULL, "heads: %d is no multiple of it", (int)layer.hidden);
	vec_push(zoo->arena, &zoo->graph->opsets, (OpsetImport){DOMAIN, 1});
	zoo->append = longformer_functions;
	int64_t width = layer.hidden / layer.heads, around = 2 * layer.window + 1;
	Value *x = zoo_input(zoo, "input", DT_F32, 3, (int64_t[]){0, layer.length, layer.hidden});
	Value *query = heads(&layer, "query", x), *key = heads(&layer, "key", x);
	Value *value = heads(&layer, "value", x);
	Value *shares = call(&layer, "G2BMM", query, key, around);
	Attr axis = zoo_attr_int("axis", 2);
	shares = zoo_node(zoo, "", "Softmax", 1, &shares, 1, &axis);
	Value *y = call(&layer, "GBMM", shares, value, width);
	y = reshape(zoo, "", y, 4, (int64_t[]){-1, layer.heads, layer.length, width});
	y = reshape(zoo, "", transpose(zoo, "", y), 3, (int64_t[]){-1, layer.length, layer.hidden});
	y = dense(&layer, "output.1", dense(&layer, "output.0", y, true), true);
	y = zoo_binary(zoo, "", "Add", y, x);
	zoo_outputs(zoo, 1, &y, (const char *[]){"output"});
}

void
longformer(Zoo *zoo)
{
	layer_model(zoo, (Longformer){NULL, 1000, 50, 4, 8, 512});
}

/* The same graph, small enough for every test run; its length is no multiple of the dilation. */
void
longformer_tiny(Zoo *zoo)
{
	layer_model(zoo, (Longformer){NULL, 40, 5, 3, 2, 64});
}
