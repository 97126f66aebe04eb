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

/* The rows lo..hi of the source that those of a box read; what the window lacks at both ends. */
static void
window_rows(const CallPlan *plan, const CallBox *box, int64_t extent, int64_t *lo, int64_t *hi,
            DnnlWindow *window)
{
	const DnnlWindow *w = &plan->window;
	*lo = 0;
	*hi = extent;
	if (box->size[AXIS_HEIGHT] == plan->extent[AXIS_HEIGHT])
		return;
	int64_t first = box->begin[AXIS_HEIGHT] * w->strides[0] - w->pads_lo[0];
	int64_t span = (w->kernel[0] - 1) * w->dilations[0] + 1;
	int64_t end = first + (box->size[AXIS_HEIGHT] - 1) * w->strides[0] + span;
	*lo = first < 0 ? 0 : first < extent ? first : extent;
	*hi = end < *lo ? *lo : end < extent ? end : extent;
	window->pads_lo[0] = *lo - first;
	window->pads_hi[0] = end - *hi;
}

static const CallOperand *
find_window(const CallPlan *plan)
{
	for (int i = 0; i < plan->noperand; i++)
		if (plan->operands[i].is_window)
			return &plan->operands[i];
	return NULL;
}

void
call_window(const CallPlan *plan, const CallBox *box, DnnlWindow *window)
{
	const CallOperand *source = find_window(plan);
	int64_t lo, hi;
	*window = plan->window;
	if (source)
		window_rows(plan, box, source->tensor.dims[2], &lo, &hi, window);
}

/* The last box of an axis may be smaller than the others. */
void
call_region(const CallPlan *plan, const CallOperand *operand, const CallBox *box,
            CallRegion *region)
{
	for (int i = 0; i < operand->tensor.rank; i++) {
		int axis = operand->follow[i];
		region->begin[i] = axis < 0 ? 0 : box->begin[axis] * operand->scale[i];
		region->size[i] = axis < 0 ? operand->tensor.dims[i] : box->size[axis] * operand->scale[i];
		if (operand->is_window && axis == AXIS_HEIGHT) {
			DnnlWindow window;
			int64_t hi;
			window_rows(plan, box, operand->tensor.dims[i], &region->begin[i], &hi, &window);
			region->size[i] = hi - region->begin[i];
		}
	}
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

/* The same of images: as if dense where an extent is 1. There strides say nothing, but one image's
 * channels within many are to the library a plain tensor only with strides of their own. Of
 * matrices with one row they choose another kernel, for weights a slower one. */
DnnlMd *
call_image_md(const DnnlApi *api, const CallTensor *tensor, const int64_t *size)
{
	CallTensor image = *tensor;
	int64_t step = 1;
	for (int i = tensor->rank - 1; i >= 0; i--) {
		int dim = tensor->order[i];
		image.strides[dim] = size[dim] == 1 && image.block == 1 ? step : tensor->strides[dim];
		step = image.strides[dim] * size[dim];
	}
	return call_region_md(api, &image, size);
}

int64_t
call_region_offset(const CallTensor *tensor, const CallRegion *region)
{
	int64_t offset = 0;
	for (int i = 0; i < tensor->rank; i++) {
		int64_t at = region->begin[i];
		offset += (i == 1 ? at / tensor->block : at) * tensor->strides[i];
	}
	return offset * (dtype_bits(tensor->type) / 8);
}

/* ---- copies ---- */

/* A tensor of this size with nothing between its elements. */
static CallTensor
dense_of(const CallTensor *tensor, const int64_t *size)
{
	CallTensor dense = *tensor;
	int64_t step = tensor->block;
	for (int i = tensor->rank - 1; i >= 0; i--) {
		int dim = tensor->order[i];
		dense.dims[dim] = size[dim];
		dense.strides[dim] = step;
		step *= dim == 1 ? (size[dim] + tensor->block - 1) / tensor->block : size[dim];
	}
	return dense;
}

DnnlMd *
call_dense_md(const DnnlApi *api, const CallTensor *tensor, const int64_t *size)
{
	CallTensor dense = dense_of(tensor, size);
	return call_region_md(api, &dense, size);
}

/* Dims from the outermost, of which runs of so many bytes are left. */
static void
copy_dims(const CallTensor *from, const CallTensor *to, int level, int levels, size_t run,
          const unsigned char *source, unsigned char *result)
{
	if (level == levels) {
		memcpy(result, source, run);
		return;
	}
	int dim = to->order[level];
	int64_t bytes = dtype_bits(to->type) / 8;
	int64_t count = dim == 1 ? (to->dims[1] + to->block - 1) / to->block : to->dims[dim];
	for (int64_t i = 0; i < count; i++)
		copy_dims(from, to, level + 1, levels, run, source + i * from->strides[dim] * bytes,
		          result + i * to->strides[dim] * bytes);
}

/* Both of the extents of `to`. */
static void
copy_tensor(const CallTensor *from, const CallTensor *to, const void *source, void *result)
{
	int64_t run = to->block;
	int levels = to->rank;
	while (levels > 0) {
		int dim = to->order[levels - 1];
		int64_t count = dim == 1 ? (to->dims[1] + to->block - 1) / to->block : to->dims[dim];
		if (count > 1 && (from->strides[dim] != run || to->strides[dim] != run))
			break;
		run *= count;
		levels--;
	}
	copy_dims(from, to, 0, levels, (size_t)(run * (dtype_bits(to->type) / 8)), source, result);
}

void
call_copy_in(const CallTensor *tensor, const int64_t *size, const void *from, void *to)
{
	CallTensor dense = dense_of(tensor, size);
	copy_tensor(tensor, &dense, from, to);
}

void
call_copy_out(const CallTensor *tensor, const int64_t *size, const void *from, void *to)
{
	CallTensor dense = dense_of(tensor, size), region = *tensor;
	memcpy(region.dims, dense.dims, sizeof region.dims);
	copy_tensor(&dense, &region, from, to);
}

void
call_copy_same(const CallTensor *tensor, const int64_t *size, const void *from, void *to)
{
	CallTensor region = *tensor;
	memcpy(region.dims, size, (size_t)tensor->rank * sizeof *size);
	copy_tensor(&region, &region, from, to);
}

/* ---- cutting ---- */

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
		bool is_cut_inside =
			axis == 0 && wanted > units &&
			(plan->extent[1] > plan->quantum[1] || plan->extent[2] > plan->quantum[2]);
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
