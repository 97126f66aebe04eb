/* Models that somebody changed, as messages: whatever still reads goes through the whole compiler
 * (shared/pipeline.h), or out as ONNX and in again.
 *
 * Any sentence that calls the model invalid or unsupported is fine. A crash, a report of a
 * sanitizer, a leak, a hang, a failure that calls itself our bug, or memory out of proportion to
 * the model is a finding.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "graph/op.h"
#include "mutate.h"
#include "onnx.pb-c.h"
#include "onnx/onnx.h"
#include "pipeline.h"

/* ---- a case ---- */

static void
read_model(void *arg)
{
	FuzzCase *one = arg;
	Bytes bytes = {one->data, one->size};
	*(Graph **)one->more = onnx_read_bytes(one->arena, "fuzz.onnx", bytes, NULL);
}

/* The level and the way hang on the bytes, so that a file alone tells the whole case. */
static void
run_model(void *arg)
{
	FuzzCase *one = arg;
	unsigned sum = 0;
	Graph *graph;
	for (size_t i = 0; i < one->size; i++)
		sum = sum * 31 + one->data[i];
	one->more = &graph;
	read_model(one);
	if (sum % 8 == 0)
		fuzz_export(one->arena, graph);
	else
		fuzz_compile(one->arena, graph, sum % 8 == 1 ? 0 : sum % 8 == 2 ? 1 : 3);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_case(run_model, data, size, NULL);
	return 0;
}

/* ---- words ---- */

/* Made once; libFuzzer gives a mutator no argument of ours. */
static Arena *words;
static const OpTable *table;

static const OpInfo *
any_op(uint32_t random)
{
	return op_row(table, (OpCode)(1 + random % (OP_COUNT - 1)));
}

static const char *
word(const ProtobufCFieldDescriptor *field, uint32_t random)
{
	static const char *const STRINGS[] = {
		"SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET",   "LEFT",  "RIGHT",    "linear", "nearest",
		"cubic",      "reflect",    "edge",  "constant", "wrap",  "CRD",      "DCR",    "tanh",
		"none",       "sum",        "mean",  "floor",    "ceil",  "bilinear", "ij,jk",  "...ij->ji",
		"add",        "mul",        "max",   "min",      "zeros", "border",   "N",      "M"};
	static const char *const DOMAINS[] = {"", "ai.onnx", "ai.onnx.ml", "com.microsoft", "x"};
	const OpInfo *op = any_op(random);
	if (strcmp(field->name, "op_type") == 0)
		return op->name;
	if (strcmp(field->name, "domain") == 0)
		return DOMAINS[random % countof(DOMAINS)];
	if (strcmp(field->name, "name") == 0 && op->nattr)
		return op->attrs[random / OP_COUNT % (unsigned)op->nattr].name;
	return STRINGS[random % countof(STRINGS)];
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	words = arena_new("operators");
	table = op_table_new(words);
	return 0;
}

/* ---- changes that keep a model one ---- */

static Onnx__NodeProto *
any_node(Mutator *m, const Onnx__GraphProto *graph)
{
	return graph->n_node ? graph->node[fuzz_random(&m->state) % graph->n_node] : NULL;
}

/* Never NULL, which no list of strings may hold: "" where there is no value, or a nameless one. */
static char *
any_value(Mutator *m, const Onnx__GraphProto *graph)
{
	size_t node = fuzz_random(&m->state) % (graph->n_node + 1);
	uint32_t random = fuzz_random(&m->state);
	char *name = NULL;
	if (node < graph->n_node && graph->node[node]->n_output)
		name = graph->node[node]->output[random % graph->node[node]->n_output];
	else if (random % 2 && graph->n_initializer)
		name = graph->initializer[random / 2 % graph->n_initializer]->name;
	else if (graph->n_input)
		name = graph->input[random / 2 % graph->n_input]->name;
	return name ? name : arena_strdup(m->arena, "");
}

/* One more node of some operator on some values; what it makes is an output. */
static void
add_node(Mutator *m, Onnx__GraphProto *graph)
{
	const OpInfo *op = any_op(fuzz_random(&m->state));
	const Onnx__NodeProto *like = any_node(m, graph);
	if (!like || !graph->n_output || graph->n_node > 64)
		return;
	Onnx__NodeProto *node = (Onnx__NodeProto *)(void *)mutate_copy(m, &like->base);
	if (fuzz_random(&m->state) % 4) {
		node->op_type = arena_strdup(m->arena, op->name);
		node->domain = arena_strdup(m->arena, op->domain);
		node->n_attribute = fuzz_random(&m->state) % 2 ? node->n_attribute : 0;
	}
	size_t count = 1 + fuzz_random(&m->state) % (size_t)(op->ninput ? op->ninput : 1);
	node->n_input = count;
	node->input = NEW_N(m->arena, char *, count);
	for (size_t i = 0; i < count; i++)
		node->input[i] = any_value(m, graph);
	const char *made = arena_printf(m->arena, "made%u", fuzz_random(&m->state) % 1000);
	node->n_output = 1;
	node->output = NEW(m->arena, char *);
	node->output[0] = arena_strdup(m->arena, made);
	Onnx__NodeProto **nodes = NEW_N(m->arena, Onnx__NodeProto *, graph->n_node + 1);
	memcpy(nodes, graph->node, graph->n_node * sizeof *nodes);
	nodes[graph->n_node] = node;
	graph->node = nodes;
	graph->n_node++;
	Onnx__ValueInfoProto **outputs = NEW_N(m->arena, Onnx__ValueInfoProto *, graph->n_output + 1);
	memcpy(outputs, graph->output, graph->n_output * sizeof *outputs);
	outputs[graph->n_output] =
		(Onnx__ValueInfoProto *)(void *)mutate_copy(m, &graph->output[0]->base);
	outputs[graph->n_output]->name = node->output[0];
	outputs[graph->n_output]->type = NULL;
	graph->output = outputs;
	graph->n_output++;
}

/* Another operator with the same operands, or other operands for the same operator. */
static void
change_node(Mutator *m, Onnx__GraphProto *graph)
{
	Onnx__NodeProto *node = any_node(m, graph);
	if (node && fuzz_random(&m->state) % 2)
		node->op_type = arena_strdup(m->arena, any_op(fuzz_random(&m->state))->name);
	else if (node && node->n_input)
		node->input[fuzz_random(&m->state) % node->n_input] = any_value(m, graph);
}

/* What the model says of inner values and outputs would refuse most other changes at once. */
static void
forget_types(Onnx__GraphProto *graph)
{
	graph->n_value_info = 0;
	for (size_t i = 0; i < graph->n_output; i++)
		graph->output[i]->type = NULL;
}

static void
change_model(Mutator *m, Onnx__ModelProto *model, ProtobufCMessage *donor)
{
	Onnx__GraphProto *graph = model->graph;
	uint32_t count = 1 + fuzz_random(&m->state) % 4;
	if (graph && fuzz_random(&m->state) % 2)
		forget_types(graph);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t way = fuzz_random(&m->state) % 8;
		if (graph && way == 0)
			add_node(m, graph);
		else if (graph && way == 1)
			change_node(m, graph);
		else if (graph && way < 7)
			mutate_message(m, &graph->base, donor);
		else
			mutate_message(m, &model->base, donor);
		graph = model->graph;
	}
}

typedef struct Mutation {
	Mutator mutator;
	const uint8_t *data, *other; /* other: a donor, or NULL */
	size_t size, other_size;
	uint8_t *out;
	size_t max_size, result;
} Mutation;

static void
mutate(void *arg)
{
	Mutation *job = arg;
	Arena *arena = job->mutator.arena;
	const ProtobufCMessageDescriptor *type = &onnx__model_proto__descriptor;
	ProtobufCMessage *model = mutate_unpack(arena, type, job->data, job->size), *donor = NULL;
	if (!model)
		return;
	if (job->other)
		donor = mutate_unpack(arena, type, job->other, job->other_size);
	change_model(&job->mutator, (Onnx__ModelProto *)(void *)model, donor);
	size_t size = protobuf_c_message_get_packed_size(model);
	if (size > job->max_size)
		return;
	protobuf_c_message_pack(model, job->out);
	job->result = size;
}

static size_t
run_mutation(Mutation *job, unsigned seed)
{
	Failure failure;
	job->mutator = (Mutator){.arena = arena_new("mutation"), .state = seed, .word = word};
	fuzz_random(&job->mutator.state);
	try_run(mutate, job, &failure);
	arena_free(job->mutator.arena);
	return job->result;
}

/* What is no message (or grew too large) stays as it is, or is changed as bytes. */
size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	uint64_t state = seed;
	Mutation job = {.data = data, .size = size, .out = data, .max_size = max_size};
	size_t made = run_mutation(&job, seed);
	return made ? made : fuzz_change_bytes(data, size, &state);
}

size_t
LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2, size_t size2,
                          uint8_t *out, size_t max_size, unsigned seed)
{
	Mutation job = {.data = data1,
	                .size = size1,
	                .other = data2,
	                .other_size = size2,
	                .out = out,
	                .max_size = max_size};
	return run_mutation(&job, seed);
}
