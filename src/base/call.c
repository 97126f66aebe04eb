/* Attributes of steps by name. */
#include "base/call.h"

#include <string.h>

const StepAttr *
step_attr(int count, const StepAttr *attrs, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(attrs[i].name, name) == 0)
			return &attrs[i];
	return NULL;
}

int64_t
step_attr_int(int count, const StepAttr *attrs, const char *name, int index, int64_t otherwise)
{
	const StepAttr *attr = step_attr(count, attrs, name);
	return attr && attr->kind == SA_INTS && index < attr->count ? attr->ints[index] : otherwise;
}
