/* The rows of vendor.def. */
#include "target/vendor.h"

#include <string.h>

#define CALL(...)
#define POST(library, kind, error, loses, numbers, pattern) \
	{library, POST_##kind, POST_##error, LOSES_##loses, numbers, pattern},
static const PostRow posts[] = {
#include "target/vendor.def"
};
#undef CALL
#undef POST

const VendorLosses vendor_loses_any = {~0u, ~0u};

/* A NaN that a call loses is a fault that nobody sees any more, and our pools are as fast; post-ops
 * pay too much. Where sums are in another order, the sign of a zero says nothing. */
VendorLosses
vendor_losses(const PassContext *context)
{
	enum { EXACT = 2 }; /* the -O below which it is */
	static const VendorLosses nothing, order = {LOSES_zero, LOSES_zero};
	if (context->values == VALUES_finite)
		return vendor_loses_any;
	if (context->values == VALUES_all || context->level < EXACT)
		return nothing;
	return pass_is_finite(context)
	           ? (VendorLosses){LOSES_zero | LOSES_infinity | LOSES_padding, ~0u}
	           : order;
}

int
vendor_count(void)
{
	return vendor_row_count;
}

const VendorRow *
vendor_at(int index)
{
	return &vendor_rows[index];
}

const PostRow *
vendor_post_at(int index)
{
	return index < (int)countof(posts) ? &posts[index] : NULL;
}

bool
vendor_has(const char *name)
{
	int i = 0;
	while (i < vendor_row_count && strcmp(vendor_rows[i].name, name) != 0)
		i++;
	return i < vendor_row_count;
}

bool
vendor_calls_programs(const Target *target)
{
	bool calls = false;
	for (int i = 0; i < vendor_row_count; i++)
		calls |= vendor_rows[i].program && target_calls(target, vendor_rows[i].library);
	return calls;
}

bool
vendor_wants_last(const Target *target, DType type)
{
	for (int i = 0; i < vendor_row_count; i++) {
		const VendorRow *row = &vendor_rows[i];
		if ((row->storage & STORAGE_last) && dtype_is_among(type, row->operands[0]) &&
		    target_calls(target, row->library))
			return true;
	}
	return false;
}

bool
vendor_calls(const Target *target)
{
	for (int i = 0; i < vendor_count(); i++)
		if (target_calls(target, vendor_rows[i].library))
			return true;
	return false;
}
