/* Boxes of an operation's space: how many there are, and what each is of an operand's memory.
 *
 * Cutting looks at shapes only, so results do not depend on the number of threads.
 */
#include <stdio.h>
#include <string.h>

#include "base/work.h"
#include "runtime/onednn/call.h"

/* "aBcd16b": the library's name of a blocked layout. */
static void
tag_name(const CallTensor *tensor, char text[32])
{
	int used = 0;
	for (int i = 0; i < tensor->rank; i++)
		text[used++] = (char)((tensor->order[i] == 1 ? 'A' : 'a') + tensor->order[i]);
	snprintf(text + used, 32 - (size_t)used, "%lldb", (long long)tensor->block);
}

/* Extents of an operand's region for a box; the last box of an axis may be smaller. */
void
call_region_size(const CallOperand *operand, const int64_t *box, int64_t *size)
{
	for (int i = 0; i < operand->tensor.rank; i++)
		size[i] = operand->follow[i] < 0 ? operand->tensor.dims[i]
		                                 : box[operand->follow[i]] * operand->scale[i];
}

/* Whether a region of a blocked tensor is a dense blocked tensor of its own. */
bool
call_region_is_dense(const CallTensor *tensor, const int64_t *size)
{
	int64_t step = tensor->block;
	for (int i = tensor->rank - 1; i >= 0; i--) {
		int dim = tensor->order[i];
		int64_t extent = size[dim];
		if (dim == 1 && tensor->block > 1)
			extent = (extent + tensor->block - 1) / tensor->block;
		if (extent > 1 && tensor->strides[dim] != step)
			return false;
		step *= extent;
	}
	return true;
}

/* The descriptor of a region; NULL when the library has none for it. */
DnnlMd *
call_region_md(const DnnlApi *api, const CallTensor *tensor, const int64_t *size)
{
	char name[32];
	if (tensor->block == 1)
		return dnnl_md_new(api, tensor->rank, size, tensor->type, 0, tensor->strides);
	if (!call_region_is_dense(tensor, size))
		return NULL;
	tag_name(tensor, name);
	int tag = dnnl_find_tag(api, name);
	return tag ? dnnl_md_new(api, tensor->rank, size, tensor->type, tag, NULL) : NULL;
}

int64_t
call_region_offset(const CallOperand *operand, const int64_t *begin)
{
	const CallTensor *tensor = &operand->tensor;
	int64_t offset = 0;
	for (int i = 0; i < tensor->rank; i++) {
		int64_t at = operand->follow[i] < 0 ? 0 : begin[operand->follow[i]] * operand->scale[i];
		offset += (i == 1 ? at / tensor->block : at) * tensor->strides[i];
	}
	return offset * (dtype_bits(tensor->type) / 8);
}

/* A box smaller than the whole along dim 1 is only dense for one image. */
static bool
needs_single_images(const CallPlan *plan)
{
	for (int i = 0; i < plan->noperand; i++) {
		const CallOperand *operand = &plan->operands[i];
		if (operand->tensor.block > 1 && operand->follow[0] == 0 &&
		    !call_region_is_dense(&operand->tensor, operand->tensor.dims))
			return true;
	}
	return false;
}

/* Bytes of all that the call reads and writes. */
static double
moved_bytes(const CallPlan *plan)
{
	double sum = 0;
	for (int i = 0; i < plan->noperand; i++) {
		const CallTensor *tensor = &plan->operands[i].tensor;
		double bytes = (double)dtype_bits(tensor->type) / 8;
		for (int d = 0; d < tensor->rank; d++)
			bytes *= (double)tensor->dims[d];
		sum += bytes;
	}
	return sum;
}

/* How many pieces are worth it. */
static int64_t
wanted_pieces(const CallPlan *plan)
{
	int wanted = work_pieces(work_of(plan->work, moved_bytes(plan)));
	return call_attr_int(plan, "pieces", 0, wanted);
}

/* Cut the first axis, and if that gives too few pieces, the others. */
int64_t
call_cut(CallPlan *plan)
{
	int64_t wanted = wanted_pieces(plan), pieces = 1;
	for (int axis = 0; axis < CALL_AXES; axis++) {
		int64_t units = (plan->extent[axis] + plan->quantum[axis] - 1) / plan->quantum[axis];
		int64_t cuts = units < wanted ? units : wanted < 1 ? 1 : wanted;
		bool is_cut_inside = axis == 0 && wanted > units && plan->extent[1] > plan->quantum[1];
		if (axis == 0 && (is_cut_inside || needs_single_images(plan)))
			cuts = units;
		int64_t units_each = (units + cuts - 1) / cuts;
		plan->chunk[axis] = units_each * plan->quantum[axis];
		if (plan->chunk[axis] > plan->extent[axis])
			plan->chunk[axis] = plan->extent[axis];
		cuts = (plan->extent[axis] + plan->chunk[axis] - 1) / plan->chunk[axis];
		pieces *= cuts;
		wanted = wanted / cuts;
	}
	return pieces;
}
