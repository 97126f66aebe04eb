/* The rows of vendor.def and those of a second library, in the place of src/target/rows.c. */
#include "target/vendor.h"

#define CALL(...) {__VA_ARGS__},
#define POST(...)
#define TYPES(first, second, in_sum, of_result) \
	.operands = {first, second}, .sum = in_sum, .result = of_result

const VendorRow vendor_rows[] = {
#include "target/vendor.def"
#include "rows.def"
};

const int vendor_row_count = countof(vendor_rows);
