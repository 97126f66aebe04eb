/* Dice, data and nodes for random cases. */
#include "random.h"

#include <math.h>
#include <string.h>

static uint64_t
next(Trial *t)
{
	uint64_t z = t->dice += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

int64_t
roll(Trial *t, int64_t lo, int64_t hi)
{
	return hi <= lo ? lo : lo + (int64_t)(next(t) % (uint64_t)(hi - lo + 1));
}

bool
chance(Trial *t, int percent)
{
	return roll(t, 0, 99) < percent;
}

double
uniform(Trial *t, double lo, double hi)
{
	return lo + (hi - lo) * (double)(next(t) >> 11) * 0x1p-53;
}

int64_t
pick_of(Trial *t, int count, const int64_t *values)
{
	return values[roll(t, 0, count - 1)];
}

Array *
trial_array(Trial *t, DType type, int rank, const int64_t *dims, double lo, double hi)
{
	Array *array = array_new(t->arena, type, rank, dims);
	bool ties = hi - lo >= 2 && chance(t, 25);
	for (int64_t i = 0; i < array_count(array); i++) {
		double x = uniform(t, lo, hi);
		if (dtype_is_float(type))
			dtype_store_f64(type, array->data, i, ties ? round(2 * x) / 2 : x);
		else
			dtype_store_i64(type, array->data, i, llround(x));
	}
	return array;
}

Array *
trial_integers(Trial *t, DType type, int rank, const int64_t *dims, int64_t lo, int64_t hi)
{
	Array *array = array_new(t->arena, type, rank, dims);
	for (int64_t i = 0; i < array_count(array); i++)
		dtype_store_i64(type, array->data, i, roll(t, lo, hi));
	return array;
}

Value *
trial_input(Trial *t, const char *name, const Array *data, bool has_batch)
{
	Type type = type_of_array(t->graph->ctx, data);
	if (t->is_symbolic && has_batch && data->rank > 0) {
		const Dim **dims = NEW_N(t->arena, const Dim *, data->rank);
		memcpy(dims, type.dims, (size_t)data->rank * sizeof *dims);
		dims[0] = dim_symbol(t->graph->ctx, "N");
		type.dims = dims;
	}
	vec_push(t->arena, &t->inputs, data);
	return graph_input(t->graph, name, &type);
}

Value *
trial_constant(Trial *t, const char *name, const Array *data)
{
	return graph_constant(t->graph, name, data);
}

Value *
trial_data(Trial *t, const char *name, const Array *data)
{
	return chance(t, 70) ? trial_constant(t, name, data) : trial_input(t, name, data, false);
}

static void
add_attr(Trial *t, Attr attr)
{
	vec_push(t->arena, &t->attrs, attr);
}

void
trial_int(Trial *t, const char *name, int64_t value)
{
	add_attr(t, (Attr){.name = name, .kind = ATTR_INT, .i = value});
}

void
trial_float(Trial *t, const char *name, double value)
{
	add_attr(t, (Attr){.name = name, .kind = ATTR_FLOAT, .f = (float)value});
}

void
trial_string(Trial *t, const char *name, const char *value)
{
	add_attr(
		t, (Attr){.name = name, .kind = ATTR_STRING, .s = value, .count = (int64_t)strlen(value)});
}

void
trial_ints(Trial *t, const char *name, int count, const int64_t *values)
{
	int64_t *copy = arena_memdup(t->arena, values, (size_t)count * sizeof *values);
	add_attr(t, (Attr){.name = name, .kind = ATTR_INTS, .count = count, .ints = copy});
}

void
trial_floats(Trial *t, const char *name, int64_t count, const float *values)
{
	float *copy = arena_memdup(t->arena, values, (size_t)count * sizeof *values);
	add_attr(t, (Attr){.name = name, .kind = ATTR_FLOATS, .count = count, .floats = copy});
}

void
trial_strings(Trial *t, const char *name, int64_t count, const char *const *values)
{
	const char **copy = arena_memdup(t->arena, values, (size_t)count * sizeof *values);
	add_attr(t, (Attr){.name = name, .kind = ATTR_STRINGS, .count = count, .strings = copy});
}

void
trial_tensor(Trial *t, const char *name, const Array *value)
{
	add_attr(t, (Attr){.name = name, .kind = ATTR_TENSOR, .tensor = value});
}

Value **
trial_node(Trial *t, const char *op, int ninput, Value *const *inputs, int noutput)
{
	static const char *const names[] = {"", "", "", "", "", "", "", ""};
	Loc loc = {.file = "random", .node = arena_strdup(t->arena, op), .op = op};
	Region *region = t->region ? t->region : t->graph->body;
	Node *node = node_new(region, NULL, op, &loc, ninput, inputs, noutput, names);
	for (int i = 0; i < t->attrs.count; i++)
		node_add_attr(node, &t->attrs.data[i]);
	t->attrs.count = 0;
	return node->outputs;
}

void
trial_finish(Trial *t, int count, Value *const *outputs)
{
	graph_set_outputs(t->graph, count, outputs);
}
