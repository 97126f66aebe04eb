/* The rows of vendor.def and one of a second library, in the place of src/target/rows.c. */
#include "target/vendor.h"

#define CALL(...) {__VA_ARGS__},
#define POST(library, kind, numbers, pattern)
#define TYPES(first, second, in_sum, of_result) \
	.operands = {DT_##first, DT_##second}, .sum = DT_##in_sum, .result = DT_##of_result

const VendorRow vendor_rows[] = {
#include "target/vendor.def"
	CALL(.library = "toy", .name = "matmul", TYPES(U8, I8, I32, I32),
         .stage = "Y[m, n] = sum(k) A[m, k] * B[k, n]", .epilogue = "x")};

const int vendor_row_count = countof(vendor_rows);
