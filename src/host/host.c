#include "host/host.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/inner.h"

static const HostInfo rows[] = {
#define HOST_OP(name, doc) {#name, host_##name, doc},
#include "host/host.def"
#undef HOST_OP
};

const char host_no_memory[] = "not enough memory";

int
host_count(void)
{
	return (int)countof(rows);
}

const HostInfo *
host_row(int index)
{
	return &rows[index];
}

const HostInfo *
host_find(const char *name)
{
	for (size_t i = 0; i < countof(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

const StepAttr *
host_attr(const HostCall *call, const char *name)
{
	return step_attr(call->nattr, call->attrs, name);
}

int64_t
host_int(const HostCall *call, const char *name, int64_t otherwise)
{
	return step_attr_int(call->nattr, call->attrs, name, 0, otherwise);
}

const Array *
host_input(const HostCall *call, int index)
{
	return index < call->ninput ? call->inputs[index] : NULL;
}

bool
host_wants(const HostCall *call, int index)
{
	return index < call->noutput && (!call->is_wanted || call->is_wanted[index]);
}

const char *
host_error(HostCall *call, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(call->error, sizeof call->error, format, args);
	va_end(args);
	return call->error;
}

void
host_copy(DType type, void *to, int64_t to_index, const void *from, int64_t from_index,
          int64_t count)
{
	int64_t size = type == DT_STRING ? (int64_t)sizeof(char *) : dtype_bits(type) / 8;
	if (count <= 0)
		return;
	if (size > 0) {
		memcpy((char *)to + to_index * size, (const char *)from + from_index * size,
		       (size_t)(count * size));
		return;
	}
	for (int64_t i = 0; i < count; i++)
		dtype_store_f64(type, to, to_index + i, dtype_load_f64(type, from, from_index + i));
}

uint64_t
host_order(DType type, const void *data, int64_t index)
{
	const uint64_t top = UINT64_C(1) << 63;
	if (type == DT_U64)
		return (uint64_t)dtype_load_i64(type, data, index);
	if (dtype_is_integer(type) || type == DT_BOOL)
		return (uint64_t)dtype_load_i64(type, data, index) ^ top;
	double value = dtype_load_f64(type, data, index) + 0.0; /* no negative zero */
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	if (isnan(value))
		return UINT64_MAX;
	return bits & top ? ~bits : bits | top;
}

Split
host_split(const Array *array, int axis)
{
	return (Split){dims_count(axis, array->dims), array->dims[axis],
	               dims_count(array->rank - axis - 1, array->dims + axis + 1)};
}

int
host_axis(int64_t axis, int rank)
{
	axis += axis < 0 ? rank : 0;
	return axis >= 0 && axis < rank ? (int)axis : -1;
}
