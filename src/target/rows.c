/* The calls of vendor.def as a table. A program that is linked with another one in its place has
 * other rows (tests/library). */
#include "target/vendor.h"

#define CALL(...) {__VA_ARGS__},
#define POST(...)
#define TYPES(first, second, in_sum, of_result) \
	.operands = {first, second}, .sum = in_sum, .result = of_result

const VendorRow vendor_rows[] = {
#include "target/vendor.def"
};

const int vendor_row_count = countof(vendor_rows);
