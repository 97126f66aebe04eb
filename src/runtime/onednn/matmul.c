/* The row matmul: […,M,K] times […,K,N], as few and as large products as the strides allow.
 *
 * Where b has no batch of its own and everything is dense above the rows, the batch of a becomes
 * rows: one product, whose b is packed once. Where both have the same dense batch, it becomes one
 * dim. Otherwise the batch stays as it is, with broadcasting.
 */
#include <string.h>

#include "base/work.h"
#include "runtime/onednn/call.h"

enum { AXIS_BATCH = 0, AXIS_ROW = 1, AXIS_COLUMN = 2 };

enum {
	ROWS = 32,         /* no piece has fewer rows, … */
	PANEL = 64,        /* … or columns */
	COPIED_TERMS = 64, /* of a sum, beside which a copy of its result costs little */
};

typedef struct Matmul {
	CallPlan *plan;
	CallTensor a, b, dst;
	int rank; /* of dst, before dims are joined */
} Matmul;

static void
swap_last(CallTensor *tensor)
{
	int i = tensor->rank - 2, j = tensor->rank - 1;
	int64_t dim = tensor->dims[i], stride = tensor->strides[i];
	tensor->dims[i] = tensor->dims[j];
	tensor->strides[i] = tensor->strides[j];
	tensor->dims[j] = dim;
	tensor->strides[j] = stride;
}

static bool
raise(CallTensor *tensor, int rank)
{
	return tensor->rank >= 1 && tensor->block == 1 && call_raise(tensor, rank);
}

/* The last of dims `from`..`to` that is not 1: neighbours along all of them lie as far apart as
 * along it. The stride of a dim of 1 says nothing. */
static int
innermost(const CallTensor *tensor, int from, int to)
{
	while (to > from && tensor->dims[to] == 1)
		to--;
	return to;
}

/* Whether dims `from`..`to` lie so that they can be counted as one. */
static bool
can_join(const CallTensor *tensor, int from, int to)
{
	int inner = innermost(tensor, from, to);
	for (int i = inner - 1; i >= from; i--) {
		if (tensor->dims[i] == 1)
			continue;
		if (tensor->strides[i] != tensor->strides[inner] * tensor->dims[inner])
			return false;
		inner = i;
	}
	return true;
}

/* Make dims `from`..`to` one. */
static void
join(CallTensor *tensor, int from, int to)
{
	int64_t count = 1, removed = to - from;
	for (int i = from; i <= to; i++)
		count *= tensor->dims[i];
	tensor->strides[from] = tensor->strides[innermost(tensor, from, to)];
	tensor->dims[from] = count;
	for (int i = from + 1; i + removed < tensor->rank; i++) {
		tensor->dims[i] = tensor->dims[i + removed];
		tensor->strides[i] = tensor->strides[i + removed];
	}
	tensor->rank -= (int)removed;
}

static bool
has_batch(const CallTensor *tensor)
{
	for (int i = 0; i < tensor->rank - 2; i++)
		if (tensor->dims[i] != 1)
			return true;
	return false;
}

/* Whether an argument of a post-op keeps its meaning when the result's dims 0..to become one: it
 * has them all, or none of them. */
static bool
post_joins(const Matmul *m, int arg, int to)
{
	CallTensor tensor;
	bool has_all = true, has_none = true;
	if (!call_tensor(m->plan, arg, &tensor) || !raise(&tensor, m->rank))
		return false;
	for (int i = 0; i <= to; i++) {
		has_all = has_all && tensor.dims[i] == m->dst.dims[i];
		has_none = has_none && tensor.dims[i] == 1;
	}
	return (has_all && can_join(&tensor, 0, to)) || has_none;
}

/* Whether dims 0..to of the result, and of what post-ops name, can be one. */
static bool
result_joins(const Matmul *m, int to)
{
	const VendorCall *desc = m->plan->desc;
	bool joins = can_join(&m->dst, 0, to);
	for (int i = 3; i < desc->narg - 1 && joins; i++)
		joins = desc->args[i].type == DT_NONE || post_joins(m, i, to);
	return joins;
}

/* Join what can be joined; `joined` is the last result dim joined into dim 0, or 0. */
static int
simplify(Matmul *m)
{
	int last = m->rank - 2;
	bool is_same = true;
	for (int i = 0; i < last; i++)
		is_same = is_same && m->a.dims[i] == m->b.dims[i];
	if (last == 0)
		return 0;
	if (!has_batch(&m->b) && can_join(&m->a, 0, last) && result_joins(m, last)) {
		join(&m->a, 0, last);
		join(&m->b, 0, last - 1);
		memmove(m->b.dims, m->b.dims + 1, 2 * sizeof *m->b.dims);
		memmove(m->b.strides, m->b.strides + 1, 2 * sizeof *m->b.strides);
		m->b.rank--;
		join(&m->dst, 0, last);
		return last;
	}
	if (last > 1 && is_same && can_join(&m->a, 0, last - 1) && can_join(&m->b, 0, last - 1) &&
	    result_joins(m, last - 1)) {
		join(&m->a, 0, last - 1);
		join(&m->b, 0, last - 1);
		join(&m->dst, 0, last - 1);
		return last - 1;
	}
	return 0;
}

/* A row or column of extent 1 may have any stride, but the library takes one for the distance of
 * rows and refuses, when it runs, what is too near for that. */
static void
settle_ones(CallTensor *tensor)
{
	for (int i = tensor->rank - 2; i < tensor->rank; i++) {
		int other = i == tensor->rank - 2 ? i + 1 : i - 1;
		if (tensor->dims[i] == 1)
			tensor->strides[i] = tensor->strides[other] == 1 ? tensor->dims[other] : 1;
	}
}

static bool
shapes_fit(const Matmul *m)
{
	int i = m->rank - 2, j = m->rank - 1;
	bool fits = m->a.dims[j] == m->b.dims[i] && m->dst.dims[i] == m->a.dims[i] &&
	            m->dst.dims[j] == m->b.dims[j];
	for (int d = 0; d < i; d++) {
		int64_t a = m->a.dims[d], b = m->b.dims[d];
		fits = fits && (a == b || a == 1 || b == 1) && m->dst.dims[d] == (a == 1 ? b : a);
	}
	return fits;
}

static int
describe_matmul(const CallPlan *plan, const DnnlWindow *window, void **desc, DnnlMd *const *mds,
                const void *attr)
{
	(void)window;
	return dnnl_describe_matmul(plan->api, desc, mds[0], mds[1], call_bias(plan, mds),
	                            mds[plan->dst], attr);
}

/* A bias [N] (or anything that broadcasts as one row) as [1,…,1,N]. */
static bool
add_bias(Matmul *m)
{
	CallPlan *plan = m->plan;
	CallTensor bias;
	int columns = m->dst.rank - 1;
	if (plan->desc->args[2].type == DT_NONE)
		return true;
	if (!call_tensor(plan, 2, &bias))
		return false;
	while (bias.rank > 1 && bias.dims[0] == 1) {
		join(&bias, 0, 1);
	}
	if (bias.rank != 1 || bias.dims[0] != m->dst.dims[columns] || !raise(&bias, m->dst.rank))
		return call_refuse(plan, "the bias does not fit");
	CallOperand *operand = call_operand(plan, DNNL_BIAS, 2, &bias);
	call_follow(operand, columns, AXIS_COLUMN, 1);
	return true;
}

static void
follow_batch(CallOperand *operand, const CallTensor *dst)
{
	if (dst->rank > 2 && operand->tensor.dims[0] == dst->dims[0])
		call_follow(operand, 0, AXIS_BATCH, 1);
}

/* Post-ops are read against the result as it is in the plan, then joined like it. */
static bool
add_posts(Matmul *m, int joined)
{
	CallPlan *plan = m->plan;
	CallOperand *dst = &plan->operands[plan->dst];
	int first = plan->noperand;
	CallOperand simple = *dst;
	CallTensor whole;
	if (!call_tensor(plan, plan->desc->narg - 1, &whole))
		return false;
	dst->tensor = whole;
	if (!call_read_posts(plan))
		return false;
	plan->operands[plan->dst] = simple;
	plan->scales.dim = simple.tensor.rank - 1;
	for (int i = first; i < plan->noperand; i++) {
		CallOperand *operand = &plan->operands[i];
		if (joined)
			join(&operand->tensor, 0, joined);
		for (int d = 0; d < DNNL_RANK; d++)
			operand->follow[d] = -1;
		for (int d = 0; d < simple.tensor.rank; d++)
			if (operand->tensor.dims[d] == simple.tensor.dims[d])
				call_follow(operand, d, simple.follow[d], 1);
	}
	return true;
}

/* As many times the unit as the extent needs, when it is cut into so many pieces. */
static int64_t
piece_of(int64_t extent, int64_t pieces, int64_t unit)
{
	int64_t each = (extent + pieces - 1) / pieces;
	return (each + unit - 1) / unit * unit;
}

/* Panels of a packed matrix follow from that matrix alone, so that it is packed once for any number
 * of rows; what more pieces are worth it are cut along rows. */
static void
cut_panels(CallPlan *plan, int64_t rows, int64_t columns, int64_t terms)
{
	double bytes = 4.0 * (double)columns * (double)terms;
	int64_t panels = call_attr_int(plan, "pieces", 0, work_pieces(work_of(0, bytes)));
	plan->quantum[AXIS_COLUMN] = piece_of(columns, panels, PANEL);
	panels = (columns - 1) / plan->quantum[AXIS_COLUMN] + 1;
	int64_t left = work_pieces(plan->work) / panels;
	plan->quantum[AXIS_ROW] = piece_of(rows, left < 1 ? 1 : left, ROWS);
}

/* Cuts: batch first; of a plain product the longer side, since the other operand is then read once
 * per piece from a near cache. */
static void
set_axes(Matmul *m, bool is_packed)
{
	CallPlan *plan = m->plan;
	int i = m->dst.rank - 2, j = i + 1;
	int64_t rows = m->dst.dims[i], columns = m->dst.dims[j], terms = m->a.dims[m->a.rank - 1];
	plan->work = 2.0 * (double)terms;
	for (int d = 0; d < m->dst.rank; d++)
		plan->work *= (double)m->dst.dims[d];
	plan->extent[AXIS_BATCH] = m->dst.rank > 2 ? m->dst.dims[0] : 1;
	plan->extent[AXIS_ROW] = rows;
	plan->extent[AXIS_COLUMN] = columns;
	plan->quantum[AXIS_ROW] = rows > columns ? ROWS : rows;
	plan->quantum[AXIS_COLUMN] = rows > columns ? columns : PANEL;
	if (is_packed && m->dst.rank == 2 && 0 < rows && rows <= columns)
		cut_panels(plan, rows, columns, terms);
}

/* Columns of a matrix are no dense matrix, and for others the library has only older kernels: 20
 * instead of 90 GFLOP/s for a few rows. So pieces of columns get copies. */
static void
mark_slabs(const Matmul *m)
{
	CallPlan *plan = m->plan;
	int column = m->dst.rank - 1;
	if (m->a.dims[m->a.rank - 1] < COPIED_TERMS)
		return;
	for (int i = 0; i < plan->noperand; i++) {
		CallOperand *operand = &plan->operands[i];
		bool is_matrix = operand->code != DNNL_WEIGHTS && operand->code != DNNL_BIAS &&
		                 operand->tensor.rank == m->dst.rank;
		operand->is_slab = is_matrix && operand->follow[column] == AXIS_COLUMN;
	}
}

/* Without instructions for bf16 the library adds products in pairs: behind an odd number of terms
 * it multiplies by a zero, and an infinity there makes a NaN. */
static bool
adds_a_term(const Matmul *m)
{
	enum { AVX512_BF16 = 0xe7 };
	bool is_emulated = (m->plan->api->get_effective_cpu_isa() & AVX512_BF16) != AVX512_BF16;
	return m->a.type == DT_BF16 && m->a.dims[m->a.rank - 1] % 2 == 1 && is_emulated;
}

bool
call_plan_matmul(CallPlan *plan)
{
	Matmul m = {.plan = plan};
	int last = plan->desc->narg - 1;
	if (last < 3)
		return call_refuse(plan, "matmul needs four arguments");
	if (!call_tensor(plan, 0, &m.a) || !call_tensor(plan, 1, &m.b) ||
	    !call_tensor(plan, last, &m.dst))
		return false;
	m.rank = m.dst.rank;
	if (m.rank < 2 || m.a.rank < 2 || m.b.rank < 2 || !raise(&m.a, m.rank) ||
	    !raise(&m.b, m.rank) || !raise(&m.dst, m.rank))
		return call_refuse(plan, "the ranks do not fit together");
	if (call_attr_int(plan, "transpose_a", 0, 0))
		swap_last(&m.a);
	if (call_attr_int(plan, "transpose_b", 0, 0))
		swap_last(&m.b);
	if (!shapes_fit(&m))
		return call_refuse(plan, "the shapes do not fit together");
	if (adds_a_term(&m))
		return call_refuse(plan, "an odd number of products of bf16 needs AVX-512 BF16");
	int joined = simplify(&m), rows = m.dst.rank - 2;
	settle_ones(&m.a);
	settle_ones(&m.b);
	settle_ones(&m.dst);
	plan->describe = describe_matmul;
	CallOperand *a = call_operand(plan, DNNL_SRC, 0, &m.a);
	follow_batch(a, &m.dst);
	call_follow(a, rows, AXIS_ROW, 1);
	CallOperand *b = call_operand(plan, DNNL_WEIGHTS, 1, &m.b);
	follow_batch(b, &m.dst);
	call_follow(b, rows + 1, AXIS_COLUMN, 1);
	b->is_packed = b->constant != NULL;
	set_axes(&m, b->is_packed);
	if (!add_bias(&m))
		return false;
	CallOperand *dst = call_operand(plan, DNNL_DST, last, &m.dst);
	plan->dst = plan->noperand - 1;
	follow_batch(dst, &m.dst);
	call_follow(dst, rows, AXIS_ROW, 1);
	call_follow(dst, rows + 1, AXIS_COLUMN, 1);
	if (!add_posts(&m, joined))
		return false;
	mark_slabs(&m);
	plan->is_image = call_as_image(plan, plan->attempt);
	return true;
}
