/* Options about short floats. */
#include "driver/precision.h"

#include <string.h>

#include "graph/infer.h"

void
precision_ask(const Options *options, PassContext *context)
{
	Arena *arena = context->arena;
	if (!options->precision && options->keep_fp32.count)
		fail_as(FAIL_USAGE, NULL, "--keep-fp32: expected --precision with it, from which it keeps");
	if (!options->precision)
		return;
	context->required = strings_copy(arena, &context->required);
	vec_push(arena, &context->required, "ToMixedPrecision");
	map_set(&context->config, "ToMixedPrecision.type", (void *)(uintptr_t)options->precision);
	for (int i = 0; i < options->keep_fp32.count; i++)
		map_set(&context->config,
		        arena_printf(arena, "ToMixedPrecision.%s", options->keep_fp32.data[i]),
		        arena_strdup(arena, "f32")); /* each is one that a pass has read or not */
}

static Value *
cast_to(Graph *graph, Node *before, Value *value, DType type)
{
	const char *name = "";
	const Loc loc = {.file = graph->file, .node = value->name};
	Node *cast = node_new(graph->body, before, "Cast", &loc, 1, &value, 1, &name);
	node_set_int(cast, "to", type);
	node_infer(graph, cast);
	return cast->outputs[0];
}

static bool
is_f32(const Value *value)
{
	return value->type.kind == TYPE_TENSOR && value->type.dtype == DT_F32 && !value->constant;
}

void
precision_of_ends(const Options *options, Graph *graph)
{
	if (!options->io_precision)
		return;
	DType type = strcmp(options->io_precision, "bf16") == 0 ? DT_BF16 : DT_F16;
	Region *body = graph->body;
	graph_infer(graph);
	for (int i = 0; i < body->nresult; i++) {
		Value *value = body->results[i];
		if (!is_f32(value))
			continue;
		Value *made = cast_to(graph, NULL, value, type);
		value_swap_names(value, made);
		region_set_result(body, i, made);
	}
	for (int i = 0; i < body->nparam; i++) {
		Value *value = body->params[i];
		if (!is_f32(value))
			continue;
		int count = value->uses.count;
		const Use *uses =
			arena_memdup(graph->arena, value->uses.data, (size_t)count * sizeof *uses);
		value->type.dtype = type;
		Value *wide = cast_to(graph, body->first, value, DT_F32);
		for (int k = 0; k < count; k++)
			if (uses[k].node)
				node_set_input(uses[k].node, uses[k].index, wide);
	}
	region_update_captures(body);
}
