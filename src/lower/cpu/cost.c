/* How an access moves along a loop (cpu.h). */
#include "expr/index/span.h"
#include "lower/cpu/cpu.h"

int64_t
iter_extent(const Iter *iter)
{
	int64_t extent;
	return dim_is(iter->lo, 0) && dim_is_const(iter->hi, &extent) ? extent : 0;
}

static int
axis_of(const void *self, const Expr *leaf, int64_t *from)
{
	*from = 0;
	return leaf->op == EX_iter && leaf->iter == ((const Coster *)self)->iter ? 0 : -1;
}

bool
cost_stride(const Coster *c, const Tensor *t, const Expr *const *index, int64_t *stride)
{
	int64_t step = 1;
	*stride = 0;
	for (int d = t->rank - 1; d >= 0; d--) {
		const Span *span = span_make(c->arena, index[d], axis_of, c);
		if (span->op != EX_add && span->axes)
			return false;
		for (int i = 0; i < span->nterm; i++) {
			const SpanTerm *term = &span->terms[i];
			if (term->axis < 0 && !(term->atom && term->atom->axes))
				continue; /* it does not move */
			if (term->axis < 0 || (term->by && term->by->iters))
				return false;
			int64_t part = term->by ? probe_dim(c->target, term->by) : 1;
			part = probe_times(probe_times(part, term->factor), step);
			if (__builtin_add_overflow(*stride, part, stride))
				*stride = INT64_MAX;
		}
		step = probe_times(step, probe_dim(c->target, t->hi[d]));
	}
	return true;
}
