/* Elements chosen by what they are: NonZero, Compress. */
#include <string.h>

#include "host/inner.h"

static bool
is_nonzero(const Array *x, int64_t i)
{
	if (x->type == DT_STRING)
		return ((const char *const *)x->data)[i][0] != 0;
	return dtype_class(x->type) == DC_F || dtype_class(x->type) == DC_S
	           ? dtype_load_f64(x->type, x->data, i) != 0
	           : dtype_load_i64(x->type, x->data, i) != 0;
}

const char *
host_NonZero(HostCall *call)
{
	const Array *x = host_input(call, 0);
	int64_t size = array_count(x), count = 0, at = 0;
	for (int64_t i = 0; i < size; i++)
		count += is_nonzero(x, i);
	Array *y = call->output(call->context, 0, DT_I64, 2, (int64_t[]){x->rank, count});
	if (!y)
		return host_no_memory;
	int64_t *out = y->data;
	for (int64_t i = 0; i < size; i++) {
		if (!is_nonzero(x, i))
			continue;
		int64_t rest = i;
		for (int d = x->rank - 1; d >= 0; d--) {
			out[d * count + at] = rest % x->dims[d];
			rest /= x->dims[d];
		}
		at++;
	}
	return NULL;
}

const char *
host_Compress(HostCall *call)
{
	const Array *x = host_input(call, 0), *condition = host_input(call, 1);
	const StepAttr *given = host_attr(call, "axis");
	int64_t flat = array_count(x), dims[ARRAY_MAX_RANK];
	const Array line = {x->type, 1, &flat, x->data};
	const Array *from = given ? x : &line;
	int axis = host_axis(host_int(call, "axis", 0), from->rank);
	if (axis < 0)
		return host_error(call, "axis is outside of rank %d", from->rank);
	Split split = host_split(from, axis);
	const unsigned char *keep = condition->data;
	int64_t length = array_count(condition), count = 0, at = 0;
	for (int64_t i = length; i > split.extent; i--)
		if (keep[i - 1])
			return host_error(call, "the condition selects index %lld of extent %lld",
			                  (long long)(i - 1), (long long)split.extent);
	length = length < split.extent ? length : split.extent;
	for (int64_t i = 0; i < length; i++)
		count += keep[i] != 0;
	memcpy(dims, from->dims, (size_t)from->rank * sizeof *dims);
	dims[axis] = count;
	Array *y = call->output(call->context, 0, x->type, from->rank, dims);
	if (!y)
		return host_no_memory;
	for (int64_t o = 0; o < split.outer; o++)
		for (int64_t i = 0; i < length; i++)
			if (keep[i]) {
				host_copy(x->type, y->data, at, x->data, (o * split.extent + i) * split.inner,
				          split.inner);
				at += split.inner;
			}
	return NULL;
}
