/* Whether two buffers of one storage share no element: pieces of a concatenation. */
#include "base/dtype.h"
#include "bundle/plan.h"

/* A view at a sample. Dim 1 of a blocked layout counts blocks. */
typedef struct Part {
	int rank;
	int64_t offset, unit; /* elements; of a block */
	int64_t dims[PLAN_MAX_RANK], strides[PLAN_MAX_RANK];
} Part;

static bool
read_part(const Plan *plan, const PlanBuffer *view, const int64_t *symbols, Part *part)
{
	bool is_blocked = layout_dim(view->layout) >= 0;
	*part = (Part){.rank = view->rank, .unit = is_blocked ? layout_block(view->layout) : 1};
	if (view->kind != PB_VIEW || part->unit < 1 || (part->unit > 1 && !view->strides) ||
	    !plan_dim_eval(plan, view->offset_dim, symbols, &part->offset))
		return false;
	for (int d = 0; d < part->rank; d++)
		if (!plan_dim_eval(plan, view->dims[d], symbols, &part->dims[d]) || part->dims[d] < 0)
			return false;
	plan_strides(part->rank, part->dims, part->strides);
	for (int d = 0; view->strides && d < part->rank; d++)
		if (!plan_dim_eval(plan, view->strides[d], symbols, &part->strides[d]))
			return false;
	if (part->unit > 1 && part->rank > 1)
		part->dims[1] = (part->dims[1] + part->unit - 1) / part->unit;
	return true;
}

/* Behind the last element that dims `from` and later reach, from the first one on. */
static int64_t
span_end(const Part *part, int from)
{
	int64_t end = part->offset + part->unit, more;
	for (int d = from; d < part->rank; d++)
		if (part->dims[d] == 0)
			return part->offset;
		else if (__builtin_mul_overflow(part->dims[d] - 1, part->strides[d], &more) ||
		         __builtin_add_overflow(end, more, &end))
			return INT64_MAX;
	return end;
}

/* Whether all of b lies behind all of a, or does so in every image. */
static bool
lies_behind(const Part *a, const Part *b)
{
	if (span_end(a, 0) <= b->offset)
		return true;
	return a->rank > 0 && a->rank == b->rank && a->strides[0] == b->strides[0] &&
	       span_end(a, 1) <= b->offset && span_end(b, 1) <= a->offset + a->strides[0];
}

bool
plan_parts_are_apart(const Plan *plan, int a, int b, const int64_t *symbols)
{
	Part x, y;
	return read_part(plan, &plan->buffers[a], symbols, &x) &&
	       read_part(plan, &plan->buffers[b], symbols, &y) &&
	       (lies_behind(&x, &y) || lies_behind(&y, &x));
}
