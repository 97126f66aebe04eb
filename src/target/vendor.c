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
vendor_calls(const Target *target)
{
	for (int i = 0; i < vendor_count(); i++)
		if (target_calls(target, vendor_rows[i].library))
			return true;
	return false;
}
