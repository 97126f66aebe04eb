/* Scatter: blocks of updates are computed like a map, then written one by one in their order. */
#include <math.h>
#include <string.h>

#include "expr/interp/listed.h"

/* Where lane i writes: flat element of the result; -1: one that nobody asked for. */
static int64_t
target_of(const Machine *m, const Store *store, int lane)
{
	int64_t at = 0;
	for (int d = 0; d < store->rank; d++) {
		const Reg *r = &m->regs.data[m->target[d]];
		int64_t index = ((const int64_t *)r->data)[r->is_uniform ? 0 : lane] - store->lo[d];
		if (index < 0 || index >= store->dims[d])
			fail_as(FAIL_BUG, &m->stage->loc, "stage %s writes at index %lld, outside of its range",
			        m->stage->name, (long long)index);
		at += index * store->stride[d];
	}
	return store->listing ? listing_find(store->listing, at) : at;
}

static double
target_bound(const Machine *m, const Store *store, int lane)
{
	double bound = 0;
	for (int d = 0; d < store->rank; d++) {
		const Reg *r = &m->regs.data[m->target[d]];
		bound += r->bound ? r->bound[r->is_uniform ? 0 : lane] : 0;
	}
	return bound;
}

void
interp_scatter(Machine *m)
{
	Store *store = m->scatter;
	const Reg *term = &m->regs.data[m->terms[0]];
	size_t size = block_size(term->type);
	bool is_set = m->stage->combine == SCATTER_SET;
	int n = m->n;
	for (int i = 0; i < n; i++) {
		int lane = term->is_uniform ? 0 : i;
		int64_t at = target_of(m, store, i);
		if (at < 0)
			continue;
		const void *value = (const char *)term->data + (size_t)lane * size;
		double bound = term->bound ? term->bound[lane] : 0, deviation = reg_deviation(term, lane);
		if (!is_set) {
			Reg *old = &m->regs.data[m->acc[0]], *next = &m->regs.data[m->terms[1]];
			block_load_stride(store->type, 1, old->own, store->data, at, 1);
			memcpy(next->own, value, size);
			old->data = old->own;
			next->data = next->own;
			old->bound = next->bound = old->deviation = next->deviation = NULL;
			if (store->bound) {
				*(old->bound = old->own_bound) = store->bound[at];
				*(next->bound = next->own_bound) = bound;
			}
			if (store->deviation) {
				*(old->deviation = old->own_deviation) = store->deviation[at];
				*(next->deviation = next->own_deviation) = deviation;
			}
			interp_execute(m, &m->combine_code);
			value = m->regs.data[m->next[0]].data;
			bound = m->regs.data[m->next[0]].bound ? *m->regs.data[m->next[0]].bound : 0;
			deviation = reg_deviation(&m->regs.data[m->next[0]], 0);
		}
		block_store_stride(store->type, 1, store->data, at, 1, value);
		/* a write whose place is not certain may as well have gone elsewhere */
		bool is_certain = !store->bound || target_bound(m, store, i) == 0;
		if (store->bound)
			store->bound[at] = is_certain ? bound : (double)INFINITY;
		if (store->deviation)
			store->deviation[at] = is_certain ? deviation : (double)INFINITY;
	}
}
