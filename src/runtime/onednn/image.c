/* Products of few rows as convolutions: a row is a pixel, its columns are channels.
 *
 *     Y[M,N] = A[M,K]·B[K,N]   =>   conv 1x1 of A as an image of 1 x M pixels with K channels
 *
 * Few rows read each element of a packed B from memory for a few operations, so that memory decides
 * their time, and the library's kernels for products ask it for half of what it has: 12 GB/s on one
 * core, those for convolutions in blocks of channels 18 (docs/measurements/2026-11-23.md, "Few
 * rows"). A and Y are copied into blocks, which is little beside B; where there is one row, they
 * lie so.
 */
#include <string.h>

#include "runtime/onednn/call.h"

enum {
	FEW_ROWS = 8,    /* more compute as long as they read */
	MOST_BLOCK = 16, /* channels: as many as the widest vectors have lanes */
};

/* A matrix as pixels; false where its columns are no whole blocks. */
static bool
take_pixels(CallOperand *operand, int64_t block)
{
	CallTensor *tensor = &operand->tensor;
	int64_t rows = tensor->dims[0], columns = tensor->dims[1], step = tensor->strides[0];
	if (tensor->rank != 2 || columns % block != 0 || tensor->strides[1] != 1)
		return false;
	int row = operand->follow[0], column = operand->follow[1];
	*tensor = (CallTensor){.type = tensor->type,
	                       .rank = 4,
	                       .dims = {1, columns, 1, rows},
	                       .strides = {rows * step, block, rows * step, step},
	                       .order = {0, 1, 2, 3},
	                       .block = block};
	const int follow[] = {-1, column, -1, row};
	for (int i = 0; i < 4; i++)
		call_follow(operand, i, follow[i], 1);
	return true;
}

/* [K,N] as N filters of 1x1. */
static void
take_filters(CallOperand *operand)
{
	CallTensor *tensor = &operand->tensor;
	int64_t terms = tensor->dims[0], columns = tensor->dims[1];
	int column = operand->follow[1];
	*tensor = (CallTensor){.type = tensor->type,
	                       .rank = 4,
	                       .dims = {columns, terms, 1, 1},
	                       .strides = {tensor->strides[1], tensor->strides[0], 1, 1},
	                       .order = {0, 1, 2, 3},
	                       .block = 1};
	const int follow[] = {column, -1, -1, -1};
	for (int i = 0; i < 4; i++)
		call_follow(operand, i, follow[i], 1);
}

/* [1,N] as [N]. */
static void
take_bias(CallOperand *operand)
{
	CallTensor *tensor = &operand->tensor;
	tensor->rank = 1;
	tensor->dims[0] = tensor->dims[1];
	tensor->strides[0] = tensor->strides[1];
	call_follow(operand, 0, operand->follow[1], 1);
}

static bool
take_operand(CallOperand *operand, int64_t block)
{
	if (operand->code == DNNL_WEIGHTS)
		take_filters(operand);
	else if (operand->code == DNNL_BIAS)
		take_bias(operand);
	else if (!take_pixels(operand, block))
		return false;
	operand->is_slab = operand->code != DNNL_WEIGHTS && operand->code != DNNL_BIAS;
	return true;
}

/* Whether operand 1 is a packed matrix, and few rows of it are asked for. */
static bool
has_few_rows(const CallPlan *plan)
{
	const CallTensor *dst = &plan->operands[plan->dst].tensor;
	return plan->operands[1].is_packed && dst->rank == 2 && 0 < dst->dims[0] &&
	       dst->dims[0] <= FEW_ROWS && plan->operands[1].tensor.rank == 2;
}

bool
call_as_image(CallPlan *plan, int refused)
{
	int64_t block = MOST_BLOCK >> refused;
	CallOperand operands[CALL_OPERANDS];
	if (refused > 1 || !has_few_rows(plan))
		return false;
	memcpy(operands, plan->operands, sizeof operands);
	for (int i = 0; i < plan->noperand; i++)
		if (!take_operand(&operands[i], block))
			return false;
	memcpy(plan->operands, operands, sizeof operands);
	plan->window =
		(DnnlWindow){.spatial = 2, .kernel = {1, 1}, .strides = {1, 1}, .dilations = {1, 1}};
	plan->algorithm = DNNL_DIRECT;
	plan->describe = call_describe_conv;
	return true;
}
