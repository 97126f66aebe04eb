/* Weights with a seed, made so that activations neither die nor explode.
 *
 * Each weight is filled by what it is used for. A product of n terms with inputs of mean square p
 * gets weights of variance 1/(n p), so that its outputs have variance one; mean and variance are
 * followed through the graph for that, though not through a LayerNorm made of single operators,
 * behind which products come out smaller (tests/spread.sh); only scores of attention get more.
 * Normalisations get statistics that are not trivial: means around 0, variances from 0.5 to 1.5,
 * scales from 0.8 to 1.2. The seed is the weight's name, so that a weight has the same values in
 * whatever order the graph is built.
 */
#include <math.h>
#include <string.h>

#include "zoo.h"

/* Queries and keys are so much larger that attention selects: shares that are nearly equal make all
 * tokens alike after a few layers, and then nothing in a model matters to its output. */
enum { SCORE_GAIN = 2 };

typedef enum Role {
	ROLE_NONE,
	ROLE_CONV,           /* [out, in/group, kernel…] */
	ROLE_CONV_TRANSPOSE, /* [in, out/group, kernel…] */
	ROLE_GEMM,
	ROLE_MATMUL,
	ROLE_TABLE,    /* rows of variance one */
	ROLE_SHIFT,    /* normal, deviation 0.1 */
	ROLE_SCALE,    /* uniform, 0.8 .. 1.2 */
	ROLE_MEAN,     /* normal, deviation 0.3 */
	ROLE_VARIANCE, /* uniform, 0.5 .. 1.5 */
	ROLE_SLOPE,    /* uniform, 0.2 .. 0.3: around PyTorch's 0.25 */
} Role;

/* What an input of an operator is, when it is a constant; input -1: any. */
static const struct {
	const char *op;
	int input;
	Role role;
} ROLES[] = {
	{"Conv", 1, ROLE_CONV},
	{"Conv", 2, ROLE_SHIFT},
	{"ConvTranspose", 1, ROLE_CONV_TRANSPOSE},
	{"ConvTranspose", 2, ROLE_SHIFT},
	{"Gemm", 1, ROLE_GEMM},
	{"Gemm", 2, ROLE_SHIFT},
	{"MatMul", 1, ROLE_MATMUL},
	{"Gather", 0, ROLE_TABLE},
	{"BatchNormalization", 1, ROLE_SCALE},
	{"BatchNormalization", 2, ROLE_SHIFT},
	{"BatchNormalization", 3, ROLE_MEAN},
	{"BatchNormalization", 4, ROLE_VARIANCE},
	{"PRelu", 1, ROLE_SLOPE},
	{"Mul", -1, ROLE_SCALE},
	{"Add", -1, ROLE_SHIFT},
	{"Sum", -1, ROLE_SHIFT},
};

/* ---- a generator that gives the same bits everywhere ---- */

static double
uniform(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15u;
	uint64_t z = *state;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (double)(z >> 11) * 0x1p-53;
}

/* Mean 0, variance 1: four uniform numbers added, which needs no function of the C library. */
static double
normal(uint64_t *state)
{
	double sum = uniform(state) + uniform(state) + uniform(state) + uniform(state);
	return (sum - 2) * 1.7320508075688772;
}

/* ---- mean and variance along the graph, as if everything were normally distributed ---- */

typedef struct Moments {
	double mean, variance;
} Moments;

typedef struct Flow {
	Arena *arena;
	Map of; /* Value to Moments */
} Flow;

static Moments
moments_of(const Flow *flow, const Value *value)
{
	const Moments *known = value ? map_find_ptr(&flow->of, value) : NULL;
	return known ? *known : (Moments){0, 1};
}

static double
mean_square(Moments x)
{
	return x.mean * x.mean + x.variance;
}

/* max(x, 0) of a normal x: both moments in closed form. */
static Moments
of_relu(Moments x)
{
	double deviation = sqrt(x.variance), t = x.mean / deviation;
	double density = exp(-t * t / 2) * 0.3989422804014327;
	double below = 0.5 * erfc(-t * 0.7071067811865476);
	double mean = x.mean * below + deviation * density;
	double square = (x.mean * x.mean + x.variance) * below + x.mean * deviation * density;
	return (Moments){mean, square - mean * mean};
}

/* x above 0, a quarter of it below: 3/4 of max(x, 0), 1/4 of x. */
static Moments
of_prelu(Moments x)
{
	Moments above = of_relu(x);
	double mean = 0.75 * above.mean + 0.25 * x.mean;
	double square = mean_square(above) * 0.9375 + mean_square(x) * 0.0625;
	return (Moments){mean, square - mean * mean};
}

/* The largest of nine neighbours, which resemble each other. */
static Moments
of_max_pool(Moments x)
{
	return (Moments){x.mean + 1.5 * sqrt(x.variance), 0.4 * x.variance};
}

static Moments
of_average(Moments x)
{
	return (Moments){x.mean, 0.3 * x.variance};
}

static Moments
of_normal(Moments x)
{
	(void)x;
	return (Moments){0, 1};
}

static Moments
of_batch_norm(Moments x)
{
	(void)x;
	return (Moments){0, 1.2};
}

static Moments
of_tanh(Moments x)
{
	(void)x;
	return (Moments){0, 0.4};
}

/* What an operator makes of the moments of its first input; others leave them. */
static const struct {
	const char *op;
	Moments (*flow)(Moments x);
} FLOWS[] = {
	{"Relu", of_relu},        {"Clip", of_relu},           {"PRelu", of_prelu},
	{"MaxPool", of_max_pool}, {"AveragePool", of_average}, {"GlobalAveragePool", of_average},
	{"Conv", of_normal},      {"MatMul", of_normal},       {"ConvTranspose", of_normal},
	{"Gemm", of_normal},      {"Gather", of_normal},       {"BatchNormalization", of_batch_norm},
	{"Tanh", of_tanh},
};

static Moments
node_moments(const Flow *flow, const Node *node)
{
	const char *op = node->op->name;
	Moments first = moments_of(flow, node->ninput ? node->inputs[0] : NULL), sum = {0};
	for (size_t i = 0; i < countof(FLOWS); i++)
		if (strcmp(op, FLOWS[i].op) == 0)
			return FLOWS[i].flow(first);
	for (int i = 0; i < node->ninput; i++) {
		Moments part = {0};
		if (node->inputs[i] && !node->inputs[i]->constant)
			part = moments_of(flow, node->inputs[i]);
		sum.mean += part.mean;
		sum.variance += part.variance;
	}
	if (strcmp(op, "Concat") == 0)
		return (Moments){sum.mean / node->ninput, sum.variance / node->ninput};
	if (strcmp(op, "Add") == 0 || strcmp(op, "Sum") == 0)
		return sum.variance > 0 ? sum : first;
	return first;
}

/* ---- roles ---- */

static Role
use_role(const Use *use)
{
	for (size_t i = 0; use->node && i < countof(ROLES); i++)
		if (strcmp(use->node->op->name, ROLES[i].op) == 0 &&
		    (ROLES[i].input < 0 || ROLES[i].input == use->index))
			return ROLES[i].role;
	return ROLE_NONE;
}

/* The use that says what a constant is for, behind changes of its shape; NULL: none does. */
static const Use *
deciding_use(const Value *value)
{
	static const char *const shapes[] = {"Unsqueeze", "Reshape", "Transpose", "Squeeze",
	                                     "Identity"};
	for (;;) {
		if (value->uses.count == 0 || !value->uses.data[0].node)
			return NULL;
		const Use *use = &value->uses.data[0];
		bool is_shape = false;
		for (size_t i = 0; i < countof(shapes); i++)
			is_shape |= use->index == 0 && strcmp(use->node->op->name, shapes[i]) == 0;
		if (!is_shape)
			return use_role(use) == ROLE_NONE ? NULL : use;
		value = use->node->outputs[0];
	}
}

/* The node that computes with the value; extents do not. */
static const Node *
computing_use(const Value *value)
{
	for (int i = 0; i < value->uses.count; i++) {
		const Node *node = value->uses.data[i].node;
		if (node && strcmp(node->op->name, "Shape") != 0)
			return node;
	}
	return NULL;
}

/* To twelve bits, so that the last bits of a C library's exp() do not show in the weights. */
static double
rounded(double x)
{
	int exponent;
	double fraction = frexp(x, &exponent);
	return ldexp(round(ldexp(fraction, 12)), exponent - 12);
}

/* What a weight is made larger by whose product becomes scores of attention: a factor of a product
 * of two computed values that goes to a Softmax. Behind a MatMul the model divides by the root of
 * the number of terms; behind a G2BMM it does not. */
static double
score_gain(const Value *value)
{
	double gain = 0;
	for (const Node *node = computing_use(value); node; node = computing_use(node->outputs[0])) {
		bool is_band = strcmp(node->op->name, "G2BMM") == 0;
		if (strcmp(node->op->name, "Softmax") == 0)
			return gain > 0 ? gain : 1;
		if (!is_band && strcmp(node->op->name, "MatMul") != 0)
			continue;
		if (node->inputs[1]->constant || gain > 0)
			return 1;
		int64_t terms = 1;
		if (is_band)
			dim_is_const(node->inputs[0]->type.dims[2], &terms);
		gain = rounded(SCORE_GAIN / sqrt(sqrt((double)terms)));
	}
	return 1;
}

/* Terms of one sum that a weight takes part in. */
static double
term_count(const Type *weight, Role role, const Node *node)
{
	int64_t dims[8] = {1, 1, 1};
	double kernel = 1;
	for (int i = 0; i < weight->rank && i < (int)countof(dims); i++)
		dim_is_const(weight->dims[i], &dims[i]);
	for (int i = 2; i < weight->rank && i < (int)countof(dims); i++)
		kernel *= (double)dims[i];
	if (role == ROLE_CONV)
		return (double)dims[1] * kernel;
	if (role == ROLE_CONV_TRANSPOSE) {
		const Type *x = &node->inputs[0]->type;
		int64_t count, group = attr_int(node, "group");
		const int64_t *strides = attr_ints(node, "strides", &count);
		bool is_point = x->rank > 2;
		for (int i = 2; i < x->rank; i++)
			is_point = is_point && dim_is(x->dims[i], 1);
		for (int64_t i = 0; i < count && !is_point; i++)
			kernel /= (double)strides[i];
		int64_t channels = dims[0] / group;
		return (double)channels * (is_point ? 1 : kernel);
	}
	if (role == ROLE_GEMM)
		return (double)dims[attr_int(node, "transB") ? 1 : 0];
	return weight->rank >= 2 && weight->rank <= 8 ? (double)dims[weight->rank - 2] : 1;
}

static void
fill(Arena *arena, Array *array, const char *name, Role role, double deviation)
{
	uint64_t state = hash64(name, strlen(name));
	int64_t count = array_count(array);
	float *data = arena_alloc_aligned(arena, array_bytes(array), 64);
	for (int64_t i = 0; i < count; i++) {
		if (role == ROLE_SCALE)
			data[i] = (float)(0.8 + 0.4 * uniform(&state));
		else if (role == ROLE_VARIANCE)
			data[i] = (float)(0.5 + uniform(&state));
		else if (role == ROLE_SLOPE)
			data[i] = (float)(0.2 + 0.1 * uniform(&state));
		else
			data[i] = (float)(deviation * normal(&state));
	}
	array->data = data;
}

/* The mean square of what a weight is multiplied with, on average over the layers that share it. */
static double
factor_square(const Flow *flow, const Value *operand, Role role)
{
	double sum = 0;
	int count = 0;
	for (int i = 0; i < operand->uses.count; i++) {
		const Use *use = &operand->uses.data[i];
		if (use_role(use) != role)
			continue;
		sum += mean_square(moments_of(flow, use->node->inputs[0]));
		count++;
	}
	return sum / count;
}

static void
fill_weight(Graph *graph, const Flow *flow, Value *value)
{
	const Use *use = deciding_use(value);
	Role role = use ? use_role(use) : ROLE_TABLE;
	double deviation = role == ROLE_SHIFT ? 0.1 : role == ROLE_MEAN ? 0.3 : 1;
	Array *array = arena_memdup(graph->arena, value->constant, sizeof *array);
	if (role >= ROLE_CONV && role <= ROLE_MATMUL) {
		const Value *operand = use->node->inputs[use->index]; /* behind changes of shape */
		double terms = term_count(&operand->type, role, use->node);
		deviation = rounded(1 / sqrt(terms * factor_square(flow, operand, role)));
	}
	if (use)
		deviation *= score_gain(use->node->outputs[0]);
	fill(graph->arena, array, value->name, role, deviation);
	value->constant = array;
}

void
weights_fill(Graph *graph)
{
	Flow flow = {.arena = graph->arena, .of = {.arena = graph->arena}};
	for (const Node *node = graph->body->first; node; node = node->next) {
		Moments moments = node_moments(&flow, node);
		for (int i = 0; i < node->noutput; i++)
			if (node->outputs[i])
				map_set_ptr(&flow.of, node->outputs[i],
				            arena_memdup(graph->arena, &moments, sizeof moments));
	}
	for (int i = 0; i < graph->constants.count; i++)
		if (!graph->constants.data[i]->constant->data)
			fill_weight(graph, &flow, graph->constants.data[i]);
}

/* ---- models whose weights were taken out ---- */

static bool
is_one_value(const Array *array)
{
	int64_t count = array->type == DT_F32 ? array_count(array) : 0;
	const float *data = array->data;
	for (int64_t i = 1; i < count; i++)
		if (data[i] != data[0])
			return false;
	return count > 1;
}

static const Array *
without_data(Graph *graph, int rank, const int64_t *dims)
{
	Array *array = NEW(graph->arena, Array);
	*array = (Array){.type = DT_F32, .rank = rank, .dims = dims};
	return array;
}

/* Put a constant without data in the place of a ConstantOfShape whose shape is known. */
static bool
forget_node(Graph *graph, Node *node)
{
	Value *old = node->outputs[0];
	if (!old || !type_is_static(&old->type) || old->type.dtype != DT_F32)
		return false;
	int64_t *dims = NEW_N(graph->arena, int64_t, old->type.rank + 1);
	for (int i = 0; i < old->type.rank; i++)
		dim_is_const(old->type.dims[i], &dims[i]);
	const char *name = old->name;
	Value *new = graph_constant(graph, "weight", without_data(graph, old->type.rank, dims));
	value_replace_uses(old, new);
	node_remove(node);
	map_set(graph->names, new->name, NULL);
	new->name = name;
	map_set(graph->names, name, new);
	return true;
}

int
weights_forget(Graph *graph)
{
	int count = 0;
	for (int i = 0; i < graph->constants.count; i++) {
		Value *value = graph->constants.data[i];
		if (!is_one_value(value->constant) || !deciding_use(value))
			continue;
		value->constant = without_data(graph, value->constant->rank, value->constant->dims);
		count++;
	}
	for (Node *node = graph->body->first, *next; node; node = next) {
		next = node->next;
		if (strcmp(node->op->name, "ConstantOfShape") == 0 && forget_node(graph, node))
			count++;
	}
	return count;
}
