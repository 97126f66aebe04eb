/* Signatures: a plan's inputs and outputs as tilewright.h shows them. */
#include "runtime/handle.h"

/* Whether a dim is known from the dims of inputs alone. */
static bool
dim_is_early(const Plan *plan, int dim)
{
	for (int i = 0; i < plan->dims[dim].count; i++) {
		const PlanToken *token = &plan->dims[dim].tokens[i];
		if (token->op != PD_SYMBOL)
			continue;
		const PlanSymbol *symbol = &plan->symbols[token->value];
		bool is_early =
			symbol->source == PS_INPUT || (symbol->source == PS_DIM && symbol->step == 0);
		if (!is_early)
			return false;
	}
	return true;
}

static TwDim
describe_dim(Arena *arena, const Plan *plan, int dim)
{
	const PlanDim *program = &plan->dims[dim];
	const PlanToken *token = &program->tokens[0];
	if (program->count == 1 && token->op == PD_CONST)
		return (TwDim){token->value, NULL, token->value, token->value, 0};
	Buf text = {.arena = arena};
	bundle_dim_text(&text, plan, dim);
	TwDim result = {-1, arena_strdup(arena, buf_text(&text)), 0, INT64_MAX,
	                !dim_is_early(plan, dim)};
	if (program->count == 1) {
		result.lo = plan->symbols[token->value].lo;
		result.hi = plan->symbols[token->value].hi;
	}
	return result;
}

TwTensorInfo *
signature_tensors(Arena *arena, const Plan *plan, int count, const int *ports)
{
	TwTensorInfo *tensors = NEW_N(arena, TwTensorInfo, count + 1);
	for (int i = 0; i < count; i++) {
		const PlanBuffer *buffer = &plan->buffers[ports[i]];
		TwDim *dims = NEW_N(arena, TwDim, buffer->rank + 1);
		tensors[i] = (TwTensorInfo){buffer->name,
		                            (TwType)buffer->type,
		                            buffer->rank,
		                            dims,
		                            0,
		                            buffer->kind == PB_INPUT && buffer->bytes >= 0};
		for (int d = 0; d < buffer->rank; d++) {
			dims[d] = describe_dim(arena, plan, buffer->dims[d]);
			tensors[i].is_data_dependent |= dims[d].is_data_dependent;
		}
	}
	return tensors;
}
