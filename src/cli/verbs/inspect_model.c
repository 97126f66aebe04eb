/* tilewright inspect MODEL: what a model says of itself, and how much it computes. Nothing is
 * compiled; what cannot be inferred is left out of the sums, and said.
 */
#include <string.h>

#include "cli/report/report.h"
#include "cli/verbs/inspect.h"
#include "driver/files.h"
#include "driver/sizes/learn.h"
#include "driver/sizes/sizes.h"
#include "graph/infer.h"
#include "graph/meaning.h"

/* Of one operator, over all its nodes; a body of a loop counts once. */
typedef struct OpWork {
	const char *name;
	int nodes;
	double macs; /* terms of sums of products, at the sizes */
} OpWork;

typedef struct Inspecting {
	Arena *arena;
	Graph *graph;
	const Binding *sizes;
	VEC(OpWork) ops; /* in the order in which the model has them first */
	int unknown;     /* nodes whose work cannot be said */
	const Node *node;
	double macs; /* of that */
} Inspecting;

/* Types, the sizes that are usual, and what they leave to others. */
static void
choose_sizes(const Options *options, Inspecting *in)
{
	const Binding *asked = sizes_asked(options, in->arena, in->graph);
	const Learnt learnt = demands_learn(in->arena, in->graph, asked);
	in->sizes = sizes_typical(options, in->arena, in->graph, &learnt);
}

static void
count_macs(void *arg)
{
	Inspecting *in = arg;
	const Program *program = node_meaning(in->graph, in->node);
	for (int i = 0; program && i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		int64_t points;
		if (!stage_summed_product(stage))
			continue;
		if (!dim_eval(stage_points(program->ctx, stage), in->sizes, &points))
			fail_unsupported(NULL, "open");
		in->macs += (double)points;
	}
}

static OpWork *
work_of(Inspecting *in, const char *name)
{
	for (int i = 0; i < in->ops.count; i++)
		if (strcmp(in->ops.data[i].name, name) == 0)
			return &in->ops.data[i];
	vec_push(in->arena, &in->ops, (OpWork){.name = name});
	return &in->ops.data[in->ops.count - 1];
}

static void
count_all(Inspecting *in)
{
	Failure failure;
	for (const Node *node = NULL; (node = region_step(in->graph->body, node));) {
		OpWork *work = work_of(in, op_text(in->arena, node->op));
		work->nodes++;
		in->node = node;
		in->macs = 0;
		MeaningKind kind = node->op->meaning;
		bool is_known = kind == MEANING_CONTROL || kind == MEANING_HOST; /* it multiplies nothing */
		if (is_known || try_run(count_macs, in, &failure))
			work->macs += in->macs;
		else
			in->unknown++;
	}
}

/* Constants by type: "f32: 11,689,512 in 62". */
static void
report_weights(Report *report, const Graph *graph)
{
	struct {
		int tensors;
		double elements, bytes;
	} of[DT_COUNT] = {{0, 0, 0}};
	double elements = 0;
	for (int i = 0; i < graph->constants.count; i++) {
		const Array *data = graph->constants.data[i]->constant;
		if (!data)
			continue;
		of[data->type].tensors++;
		of[data->type].elements += (double)array_count(data);
		of[data->type].bytes += data->type == DT_STRING ? 0 : (double)array_bytes(data);
		elements += dtype_is_float(data->type) ? (double)array_count(data) : 0;
	}
	report_number(report, "parameters", "parameters", elements, "%.0f");
	Table *table = report_table(report, "constants", "type:constants|>tensors|>elements|>bytes");
	for (int t = 0; t < DT_COUNT; t++)
		if (of[t].tensors)
			table_row(table, "%s|%.0f|%.0f|%.0f", dtype_name((DType)t), (double)of[t].tensors,
			          of[t].elements, of[t].bytes);
}

static void
report_values(Report *report, Arena *arena, const Graph *graph)
{
	Table *inputs = report_table(report, "inputs", "name:input|type|default");
	for (int i = 0; i < graph->body->nparam; i++) {
		const Value *input = graph->body->params[i];
		table_row(inputs, "%s|%s|%s", input->name, type_text(arena, &input->type),
		          value_default(input) ? "yes" : "");
	}
	Table *outputs = report_table(report, "outputs", "name:output|type");
	for (int i = 0; i < graph->body->nresult; i++) {
		const Value *output = graph->body->results[i];
		table_row(outputs, "%s|%s", output->name, type_text(arena, &output->type));
	}
}

static void
report_head(Report *report, Arena *arena, const char *path, Bytes bytes, const Graph *graph)
{
	Buf opsets = {.arena = arena};
	for (int i = 0; i < graph->opsets.count; i++) {
		const OpsetImport *opset = &graph->opsets.data[i];
		buf_printf(&opsets, "%s%s%s%lld", i ? ", " : "", opset->domain, *opset->domain ? " " : "",
		           (long long)opset->version);
	}
	report_text(report, "model", "model", model_name(arena, path));
	report_text(report, "sha256", "SHA-256", sha256_hex(arena, bytes.data, bytes.size));
	report_text(report, "size", "size", size_text(arena, (double)bytes.size));
	if (opsets.size)
		report_text(report, "opsets", "opset", buf_text(&opsets));
	if (graph->producer && *graph->producer)
		report_text(report, "producer", "producer",
		            arena_printf(arena, "%s %s", graph->producer,
		                         graph->producer_version ? graph->producer_version : ""));
	if (!graph->metadata.count)
		return;
	Table *table = report_table(report, "metadata", "key:metadata|value:");
	for (int i = 0; i < graph->metadata.count; i++)
		table_row(table, "%s|%s", graph->metadata.data[i].key, graph->metadata.data[i].value);
}

void
inspect_model(const Options *options, const char *path, Bytes bytes)
{
	Inspecting in = {.arena = options->arena};
	Report *report = report_new(options);
	in.graph = model_read_open(options, in.arena, path, bytes);
	graph_infer(in.graph);
	report_head(report, in.arena, path, bytes, in.graph);
	choose_sizes(options, &in);
	count_all(&in);
	double macs = 0;
	for (int i = 0; i < in.ops.count; i++)
		macs += in.ops.data[i].macs;
	const Demands none = {0};
	const char *entry = sizes_text(in.arena, in.graph, in.sizes, &none);
	const SizesEntry sizes =
		sizes_read(in.arena, path, (Bytes){(const void *)entry, strlen(entry)});
	if (*sizes.chosen)
		report_text(report, "at", "at", sizes.chosen);
	report_number(report, "macs", "multiply-adds", macs, "%.0f");
	report_values(report, in.arena, in.graph);
	report_weights(report, in.graph);
	Table *table = report_table(report, "operators", "operator|>nodes|>macs:multiply-adds");
	for (int i = 0; i < in.ops.count; i++)
		table_row(table, "%s|%.0f|%.0f", in.ops.data[i].name, (double)in.ops.data[i].nodes,
		          in.ops.data[i].macs);
	report_print(report);
	if (in.unknown)
		report_say(options, "of %d node%s the work cannot be said before it runs\n", in.unknown,
		           in.unknown == 1 ? "" : "s");
}
