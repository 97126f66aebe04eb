/* Helpers of the host functions. */
#ifndef HOST_INNER_H
#define HOST_INNER_H

#include "host/host.h"

#define HOST_OP(name, doc) const char *host_##name(HostCall *call);
#include "host/host.def"
#undef HOST_OP

/* Attributes by name. */
const StepAttr *host_attr(const HostCall *call, const char *name); /* NULL when not given */
int64_t host_int(const HostCall *call, const char *name, int64_t otherwise);

/* Input `index`, or NULL when absent. */
const Array *host_input(const HostCall *call, int index);
bool host_wants(const HostCall *call, int index);

/* The sentence, formatted into call->error. */
const char *host_error(HostCall *call, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
extern const char host_no_memory[];

/* Move `count` elements; packed types too. */
void host_copy(DType type, void *to, int64_t to_index, const void *from, int64_t from_index,
               int64_t count);

/* A number that orders elements as their values do: -0 as 0, NaN above all. Not for strings. */
uint64_t host_order(DType type, const void *data, int64_t index);

/* Extents before, of and after an axis. */
typedef struct Split {
	int64_t outer, extent, inner;
} Split;
Split host_split(const Array *array, int axis);
/* An axis counted from behind when negative; -1 when out of range. */
int host_axis(int64_t axis, int rank);

#endif
