#include "base/dtype.h"

#include <stdlib.h>
#include <string.h>

static const char *
digits_of(const char *layout)
{
	return layout ? layout + strcspn(layout, "0123456789") : "";
}

int64_t
layout_block(const char *layout)
{
	return strtoll(digits_of(layout), NULL, 10);
}

int
layout_dim(const char *layout)
{
	const char *digits = digits_of(layout);
	return *digits ? (int)(digits - layout) - 1 : -1;
}
