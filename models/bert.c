/* BERT's encoder (Devlin et al., 2018) as exported before LayerNormalization and Gelu were
 * operators: both as primitives, and shapes computed in the graph.
 */
#include <math.h>

#include "zoo.h"

typedef struct Bert {
	Zoo *zoo;
	int64_t layers, hidden, heads, inner, vocabulary, sequence;
} Bert;

/* Extent `axis` of x, as a vector of one: Shape, Gather, Unsqueeze. */
static Value *
extent(Zoo *zoo, const char *scope, Value *x, int64_t axis)
{
	Value *shape = zoo_unary(zoo, scope, "Shape", x);
	Value *index = zoo_int(zoo, zoo_text(zoo, "%s.index", shape->name), axis);
	Attr first = zoo_attr_int("axis", 0);
	Value *dim = zoo_node(zoo, scope, "Gather", 2, (Value *[]){shape, index}, 1, &first);
	Value *axes = zoo_ints(zoo, zoo_text(zoo, "%s.axes", dim->name), 1, &(int64_t){0});
	return zoo_binary(zoo, scope, "Unsqueeze", dim, axes);
}

/* x with its first two dims kept and the others given: Concat of extents and constants, Reshape. */
static Value *
reshape(Zoo *zoo, const char *scope, Value *x, int count, const int64_t *rest)
{
	Value *parts[4] = {extent(zoo, scope, x, 0), extent(zoo, scope, x, 1)};
	for (int i = 0; i < count; i++)
		parts[2 + i] = zoo_ints(zoo, zoo_text(zoo, "%s.dim%d", parts[0]->name, i), 1, &rest[i]);
	Attr axis = zoo_attr_int("axis", 0);
	Value *shape = zoo_node(zoo, scope, "Concat", 2 + count, parts, 1, &axis);
	return zoo_binary(zoo, scope, "Reshape", x, shape);
}

static Value *
transpose(Zoo *zoo, const char *scope, Value *x, const int64_t *order)
{
	Attr perm = zoo_attr_ints(zoo, "perm", 4, order);
	return zoo_node(zoo, scope, "Transpose", 1, &x, 1, &perm);
}

/* A linear layer on the last axis: MatMul with the transposed weight, Add. */
static Value *
dense(Zoo *zoo, const char *scope, const char *path, Value *x, int64_t in, int64_t out)
{
	Value *weight = zoo_weight(zoo, zoo_text(zoo, "%s.weight_t", path), 2, (int64_t[]){in, out});
	x = zoo_binary(zoo, scope, "MatMul", x, weight);
	return zoo_binary(zoo, scope, "Add", zoo_weight(zoo, zoo_text(zoo, "%s.bias", path), 1, &out),
	                  x);
}

static Value *
mean(Zoo *zoo, const char *scope, Value *x)
{
	Value *axes = zoo_ints(zoo, zoo_text(zoo, "%s.mean_axes", x->name), 1, &(int64_t){-1});
	return zoo_node(zoo, scope, "ReduceMean", 2, (Value *[]){x, axes}, 0, NULL);
}

static Value *
layer_norm(Bert *bert, const char *scope, const char *path, Value *x)
{
	Zoo *zoo = bert->zoo;
	Value *centred = zoo_binary(zoo, scope, "Sub", x, mean(zoo, scope, x));
	Value *two = zoo_number(zoo, zoo_text(zoo, "%s/Constant_output_0", scope), 2);
	Value *variance = mean(zoo, scope, zoo_binary(zoo, scope, "Pow", centred, two));
	Value *tiny = zoo_number(zoo, zoo_text(zoo, "%s/Constant_1_output_0", scope), 1e-12f);
	Value *deviation = zoo_unary(zoo, scope, "Sqrt", zoo_binary(zoo, scope, "Add", variance, tiny));
	Value *unit = zoo_binary(zoo, scope, "Div", centred, deviation);
	Value *scale = zoo_weight(zoo, zoo_text(zoo, "%s.weight", path), 1, &bert->hidden);
	Value *shift = zoo_weight(zoo, zoo_text(zoo, "%s.bias", path), 1, &bert->hidden);
	return zoo_binary(zoo, scope, "Add", zoo_binary(zoo, scope, "Mul", unit, scale), shift);
}

static Value *
gelu(Zoo *zoo, const char *scope, Value *x)
{
	Value *root = zoo_number(zoo, zoo_text(zoo, "%s/Constant_output_0", scope), sqrtf(2));
	Value *one = zoo_number(zoo, zoo_text(zoo, "%s/Constant_1_output_0", scope), 1);
	Value *half = zoo_number(zoo, zoo_text(zoo, "%s/Constant_2_output_0", scope), 0.5f);
	Value *y = zoo_unary(zoo, scope, "Erf", zoo_binary(zoo, scope, "Div", x, root));
	y = zoo_binary(zoo, scope, "Mul", x, zoo_binary(zoo, scope, "Add", y, one));
	return zoo_binary(zoo, scope, "Mul", y, half);
}

/* Queries, keys or values by head: [N, S, H] -> [N, heads, S, H/heads], keys with S last. */
static Value *
heads(Bert *bert, const char *scope, const char *path, const char *name, Value *x, bool is_key)
{
	Zoo *zoo = bert->zoo;
	const char *inner = zoo_text(zoo, "%s/%s", scope, name);
	Value *y = dense(zoo, inner, zoo_text(zoo, "%s.%s", path, name), x, bert->hidden, bert->hidden);
	y = reshape(zoo, scope, y, 2, (int64_t[]){bert->heads, bert->hidden / bert->heads});
	static const int64_t plain[] = {0, 2, 1, 3}, turned[] = {0, 2, 3, 1};
	return transpose(zoo, scope, y, is_key ? turned : plain);
}

static Value *
attention(Bert *bert, const char *scope, const char *path, Value *x, Value *mask)
{
	Zoo *zoo = bert->zoo;
	const char *self = zoo_text(zoo, "%s/self", scope);
	const char *self_path = zoo_text(zoo, "%s.self", path);
	Value *query = heads(bert, self, self_path, "query", x, false);
	Value *key = heads(bert, self, self_path, "key", x, true);
	Value *value = heads(bert, self, self_path, "value", x, false);
	int64_t width = bert->hidden / bert->heads;
	Value *root = zoo_number(zoo, zoo_text(zoo, "%s/Constant_output_0", self), sqrtf((float)width));
	Value *scores = zoo_binary(zoo, self, "Div", zoo_binary(zoo, self, "MatMul", query, key), root);
	scores = zoo_binary(zoo, self, "Add", scores, mask);
	Attr axis = zoo_attr_int("axis", -1);
	Value *shares = zoo_node(zoo, self, "Softmax", 1, &scores, 1, &axis);
	Value *context = zoo_binary(zoo, self, "MatMul", shares, value);
	context = transpose(zoo, self, context, (int64_t[]){0, 2, 1, 3});
	context = reshape(zoo, self, context, 1, &bert->hidden);
	const char *output = zoo_text(zoo, "%s/output", scope);
	Value *y = dense(zoo, zoo_text(zoo, "%s/dense", output), zoo_text(zoo, "%s.output.dense", path),
	                 context, bert->hidden, bert->hidden);
	y = zoo_binary(zoo, output, "Add", y, x);
	return layer_norm(bert, zoo_text(zoo, "%s/LayerNorm", output),
	                  zoo_text(zoo, "%s.output.LayerNorm", path), y);
}

static Value *
layer(Bert *bert, int index, Value *x, Value *mask)
{
	Zoo *zoo = bert->zoo;
	const char *scope = zoo_text(zoo, "/encoder/layer.%d", index);
	const char *path = zoo_text(zoo, "encoder.layer.%d", index);
	x = attention(bert, zoo_text(zoo, "%s/attention", scope), zoo_text(zoo, "%s.attention", path),
	              x, mask);
	Value *y = dense(zoo, zoo_text(zoo, "%s/intermediate/dense", scope),
	                 zoo_text(zoo, "%s.intermediate.dense", path), x, bert->hidden, bert->inner);
	y = gelu(zoo, zoo_text(zoo, "%s/intermediate/intermediate_act_fn", scope), y);
	y = dense(zoo, zoo_text(zoo, "%s/output/dense", scope), zoo_text(zoo, "%s.output.dense", path),
	          y, bert->inner, bert->hidden);
	y = zoo_binary(zoo, zoo_text(zoo, "%s/output", scope), "Add", y, x);
	return layer_norm(bert, zoo_text(zoo, "%s/output/LayerNorm", scope),
	                  zoo_text(zoo, "%s.output.LayerNorm", path), y);
}

static Value *
embedding(Bert *bert, const char *name, int64_t rows, Value *ids)
{
	Zoo *zoo = bert->zoo;
	Value *table = zoo_weight(zoo, zoo_text(zoo, "embeddings.%s.weight", name), 2,
	                          (int64_t[]){rows, bert->hidden});
	return zoo_binary(zoo, zoo_text(zoo, "/embeddings/%s", name), "Gather", table, ids);
}

/* The first S of the positions 0 … limit-1, S computed from the input. */
static Value *
positions(Bert *bert, Value *ids)
{
	Zoo *zoo = bert->zoo;
	int64_t limit = bert->sequence > 512 ? bert->sequence : 512;
	Array *all = array_new(zoo->arena, DT_I64, 2, (int64_t[]){1, limit});
	for (int64_t i = 0; i < limit; i++)
		dtype_store_i64(DT_I64, all->data, i, i);
	Value *inputs[] = {
		graph_constant(zoo->graph, "embeddings.position_ids", all),
		zoo_ints(zoo, "/embeddings/starts", 1, &(int64_t){0}),
		extent(zoo, "/embeddings", ids, 1),
		zoo_ints(zoo, "/embeddings/axes", 1, &(int64_t){1}),
	};
	return zoo_node(zoo, "/embeddings", "Slice", 4, inputs, 0, NULL);
}

static Value *
embeddings(Bert *bert, Value *ids, Value *types)
{
	Zoo *zoo = bert->zoo;
	Value *x = embedding(bert, "word_embeddings", bert->vocabulary, ids);
	x = zoo_binary(zoo, "/embeddings", "Add", x,
	               embedding(bert, "token_type_embeddings", 2, types));
	x = zoo_binary(zoo, "/embeddings", "Add", x,
	               embedding(bert, "position_embeddings", 512, positions(bert, ids)));
	return layer_norm(bert, "/embeddings/LayerNorm", "embeddings.LayerNorm", x);
}

/* 0 where the mask is 1, the lowest float where it is 0, as [N, 1, 1, S]. */
static Value *
attention_bias(Zoo *zoo, Value *mask)
{
	Value *axes = zoo_ints(zoo, "/mask_axes", 2, (int64_t[]){1, 2});
	Value *wide = zoo_binary(zoo, "", "Unsqueeze", mask, axes);
	Attr to = zoo_attr_int("to", DT_F32);
	Value *real = zoo_node(zoo, "", "Cast", 1, &wide, 1, &to);
	Value *one = zoo_number(zoo, "/Constant_output_0", 1);
	Value *lowest = zoo_number(zoo, "/Constant_1_output_0", -3.4028234663852886e38f);
	return zoo_binary(zoo, "", "Mul", zoo_binary(zoo, "", "Sub", one, real), lowest);
}

static void
bert_model(Bert *bert)
{
	Zoo *zoo = bert->zoo;
	int64_t shape[] = {0, bert->sequence};
	Value *ids = zoo_input(zoo, "input_ids", DT_I64, 2, shape);
	Value *mask = zoo_input(zoo, "attention_mask", DT_I64, 2, shape);
	Value *types = zoo_input(zoo, "token_type_ids", DT_I64, 2, shape);
	Value *bias = attention_bias(zoo, mask);
	Value *x = embeddings(bert, ids, types);
	for (int i = 0; i < bert->layers; i++)
		x = layer(bert, i, x, bias);
	Attr axis = zoo_attr_int("axis", 1);
	Value *first = zoo_int(zoo, "/pooler/Constant_output_0", 0);
	Value *pooled = zoo_node(zoo, "/pooler", "Gather", 2, (Value *[]){x, first}, 1, &axis);
	pooled = zoo_linear(zoo, "/pooler/dense", "pooler.dense", pooled, bert->hidden, bert->hidden);
	pooled = zoo_unary(zoo, "/pooler/activation", "Tanh", pooled);
	zoo_outputs(zoo, 2, (Value *[]){x, pooled},
	            (const char *[]){"last_hidden_state", "pooler_output"});
}

void
bert_base(Zoo *zoo)
{
	bert_model(&(Bert){zoo, 12, 768, 12, 3072, 30522, 128});
}

/* The same graph, small enough for every test run. */
void
bert_tiny(Zoo *zoo)
{
	bert_model(&(Bert){zoo, 2, 128, 2, 512, 1000, 16});
}
