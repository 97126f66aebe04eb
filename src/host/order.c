/* Elements in order: TopK, Unique. */
#include <stdlib.h>
#include <string.h>

#include "host/inner.h"

/* ---- TopK ------------------------------------------------------------------------------------ */

typedef struct Key {
	uint64_t order;
	int64_t index;
} Key;

static int
compare_keys(const void *left, const void *right)
{
	const Key *a = left, *b = right;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

const char *
host_TopK(HostCall *call)
{
	const Array *x = host_input(call, 0);
	int axis = host_axis(host_int(call, "axis", -1), x->rank);
	int64_t k = dtype_load_i64(DT_I64, host_input(call, 1)->data, 0), dims[ARRAY_MAX_RANK];
	bool is_largest = host_int(call, "largest", 1) != 0;
	if (axis < 0)
		return host_error(call, "axis is outside of rank %d", x->rank);
	Split split = host_split(x, axis);
	if (k < 0 || k > split.extent)
		return host_error(call, "k is %lld, but the axis has %lld elements", (long long)k,
		                  (long long)split.extent);
	memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
	dims[axis] = k;
	Array *values =
		host_wants(call, 0) ? call->output(call->context, 0, x->type, x->rank, dims) : NULL;
	Array *indices =
		host_wants(call, 1) ? call->output(call->context, 1, DT_I64, x->rank, dims) : NULL;
	Key *keys = call->scratch(call->context, (size_t)(split.extent + 1) * sizeof *keys);
	if (!keys || (host_wants(call, 0) && !values) || (host_wants(call, 1) && !indices))
		return host_no_memory;
	for (int64_t o = 0; o < split.outer * split.inner; o++) {
		int64_t first = o / split.inner * split.extent * split.inner + o % split.inner;
		int64_t place = o / split.inner * k * split.inner + o % split.inner;
		for (int64_t i = 0; i < split.extent; i++) {
			uint64_t order = host_order(x->type, x->data, first + i * split.inner);
			keys[i] = (Key){is_largest ? ~order : order, i};
		}
		qsort(keys, (size_t)split.extent, sizeof *keys, compare_keys);
		for (int64_t i = 0; i < k; i++) {
			if (values)
				host_copy(x->type, values->data, place + i * split.inner, x->data,
				          first + keys[i].index * split.inner, 1);
			if (indices)
				((int64_t *)indices->data)[place + i * split.inner] = keys[i].index;
		}
	}
	return NULL;
}

/* ---- Unique ---------------------------------------------------------------------------------- */

/* Slices along an axis are compared element by element in row-major order. */
typedef struct Slices {
	const Array *x;
	Split split;
} Slices;

static int
compare_elements(const Array *x, int64_t a, int64_t b)
{
	if (x->type == DT_STRING) {
		const char *const *texts = x->data;
		return strcmp(texts[a], texts[b]);
	}
	uint64_t left = host_order(x->type, x->data, a), right = host_order(x->type, x->data, b);
	return left < right ? -1 : left > right;
}

static int
compare_slices(const Slices *s, int64_t a, int64_t b)
{
	for (int64_t o = 0; o < s->split.outer; o++)
		for (int64_t i = 0; i < s->split.inner; i++) {
			int64_t base = o * s->split.extent * s->split.inner + i;
			int order =
				compare_elements(s->x, base + a * s->split.inner, base + b * s->split.inner);
			if (order != 0)
				return order;
		}
	return 0;
}

static int
compare_slice_then_index(const void *left, const void *right, void *slices)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
	int order = compare_slices(slices, a, b);
	return order != 0 ? order : a < b ? -1 : a > b;
}

/* A group of equal slices: order by first member instead of by value. */
typedef struct Group {
	int64_t first, count, rank; /* rank: by value */
} Group;

static int
compare_first(const void *left, const void *right)
{
	int64_t a = ((const Group *)left)->first, b = ((const Group *)right)->first;
	return a < b ? -1 : a > b;
}

/* Group the sorted slices; group_of[i] is the rank by value of slice i's group. */
static int64_t
group_slices(const Slices *s, const int64_t *sorted, Group *groups, int64_t *group_of)
{
	int64_t count = 0;
	for (int64_t i = 0; i < s->split.extent; i++) {
		if (i == 0 || compare_slices(s, sorted[i - 1], sorted[i]) != 0) {
			groups[count] = (Group){sorted[i], 0, count};
			count++;
		}
		groups[count - 1].count++;
		group_of[sorted[i]] = count - 1;
	}
	return count;
}

static const char *
write_groups(HostCall *call, const Slices *s, int64_t count, const Group *groups,
             const int64_t *group_of, int64_t *place_of)
{
	Array *indices = NULL, *inverse = NULL, *counts = NULL;
	if (host_wants(call, 1) && !(indices = call->output(call->context, 1, DT_I64, 1, &count)))
		return host_no_memory;
	if (host_wants(call, 2) &&
	    !(inverse = call->output(call->context, 2, DT_I64, 1, &s->split.extent)))
		return host_no_memory;
	if (host_wants(call, 3) && !(counts = call->output(call->context, 3, DT_I64, 1, &count)))
		return host_no_memory;
	for (int64_t i = 0; i < count; i++) {
		place_of[groups[i].rank] = i;
		if (indices)
			((int64_t *)indices->data)[i] = groups[i].first;
		if (counts)
			((int64_t *)counts->data)[i] = groups[i].count;
	}
	for (int64_t i = 0; inverse && i < s->split.extent; i++)
		((int64_t *)inverse->data)[i] = place_of[group_of[i]];
	return NULL;
}

const char *
host_Unique(HostCall *call)
{
	const Array *x = host_input(call, 0);
	bool has_axis = host_attr(call, "axis") != NULL;
	int64_t flat = array_count(x), dims[ARRAY_MAX_RANK];
	const Array line = {x->type, 1, &flat, x->data}, *from = has_axis ? x : &line;
	int axis = host_axis(host_int(call, "axis", 0), from->rank);
	if (axis < 0)
		return host_error(call, "axis is outside of rank %d", from->rank);
	Slices s = {from, host_split(from, axis)};
	size_t room = (size_t)s.split.extent + 1;
	int64_t *sorted = call->scratch(call->context, room * sizeof(int64_t));
	int64_t *group_of = call->scratch(call->context, room * sizeof(int64_t));
	int64_t *place_of = call->scratch(call->context, room * sizeof(int64_t));
	Group *groups = call->scratch(call->context, room * sizeof(Group));
	if (!sorted || !group_of || !place_of || !groups)
		return host_no_memory;
	for (int64_t i = 0; i < s.split.extent; i++)
		sorted[i] = i;
	qsort_r(sorted, (size_t)s.split.extent, sizeof *sorted, compare_slice_then_index, &s);
	int64_t count = group_slices(&s, sorted, groups, group_of);
	if (!host_int(call, "sorted", 1))
		qsort(groups, (size_t)count, sizeof *groups, compare_first);
	memcpy(dims, from->dims, (size_t)from->rank * sizeof *dims);
	dims[axis] = count;
	Array *y =
		host_wants(call, 0) ? call->output(call->context, 0, x->type, from->rank, dims) : NULL;
	if (host_wants(call, 0) && !y)
		return host_no_memory;
	for (int64_t o = 0; y && o < s.split.outer; o++)
		for (int64_t i = 0; i < count; i++)
			host_copy(x->type, y->data, (o * count + i) * s.split.inner, x->data,
			          (o * s.split.extent + groups[i].first) * s.split.inner, s.split.inner);
	return write_groups(call, &s, count, groups, group_of, place_of);
}
