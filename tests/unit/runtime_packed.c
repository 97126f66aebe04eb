/* Weights that a bundle has only in a library's packed forms: they come back byte by byte, and what
 * is no form of them is refused. Without oneDNN the test says "skipped". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/onednn/call.h"
#include "unit.h"
#include "vendor_block.h"

enum { K = 1280, N = 1000, WIDE_BYTES = K * N * 4 };

/* One row by a matrix so wide that it is cut into parts. */
static void
pack_matrix(Vendor *vendor, DType x, DType w, const void *weights)
{
	char error[300] = "";
	const int64_t row[] = {1, K}, matrix[] = {K, N}, result[] = {1, N};
	const VendorArg args[] = {{x, 2, row, NULL, NULL, NULL, false, 0},
	                          {w, 2, matrix, NULL, NULL, weights, false, 0},
	                          {.type = DT_NONE},
	                          {DT_F32, 2, result, NULL, NULL, NULL, false, 0}};
	const VendorCall call = {"onednn", "matmul", 4, args, 0, NULL};
	PreparedCall *made = vendor_onednn.prepare(vendor, &call, error, sizeof error);
	ck_assert_msg(made, "%s by %s: %s", dtype_name(x), dtype_name(w), error);
	vendor_onednn.drop(made);
}

static void
append(void *arg, const void *data, size_t size)
{
	unsigned char **end = arg;
	memcpy(*end, data, size);
	*end += size;
}

/* The forms as a bundle's store; free() it. */
static Bytes
store_of(size_t count, PackedForm *forms)
{
	Blob blob;
	unsigned char *store;
	void *pieces = packed_write(count, forms, &blob);
	ck_assert(pieces && posix_memalign((void **)&store, 64, blob.size) == 0);
	unsigned char *end = store;
	blob_each(&blob, append, &end);
	free(pieces);
	return (Bytes){store, blob.size};
}

static void
check_forms(size_t count, PackedForm *forms, const void *right, size_t size)
{
	char error[300];
	Weights weights;
	Bytes store = store_of(count, forms);
	ck_assert(weights_open(&weights, (Bytes){0}, size, store, error, sizeof error));
	const unsigned char *begin = weights_at(&weights, 0);
	ck_assert(weights_need(&weights, begin) && memcmp(begin, right, size) == 0);
	ck_assert_int_eq(weights_offset(&weights, begin + 64), 64);
	weights_close(&weights);
	ck_assert(!weights_open(&weights, (Bytes){0}, size, (Bytes){0}, error, sizeof error));
	unsigned char *room = malloc(size);
	ck_assert(packed_read(&forms[0], 0, room, size));
	ck_assert(!packed_read(&forms[0], 0, room, 64)); /* reaches beyond */
	forms[0].layout.strides[0] *= 2;
	ck_assert(!packed_read(&forms[0], 0, room, size)); /* would be read beyond its data */
	forms[0].layout.strides[0] = -1;
	ck_assert(!packed_read(&forms[0], 0, room, size));
	free(room);
	free((void *)(uintptr_t)store.data);
}

START_TEST(weights_come_back)
{
	static const DType xs[] = {DT_F32, DT_U8, DT_I8}, ws[] = {DT_F32, DT_I8, DT_I8};
	unsigned char *right = malloc(WIDE_BYTES);
	for (int i = 0; i < WIDE_BYTES; i++)
		right[i] = (unsigned char)(i * 7 + i / 251);
	int kinds = vendor_has_bytes() ? 3 : 1;
	if (kinds == 1)
		printf("skipped: for want of vnni: no products of bytes\n");
	for (int kind = 0; kind < kinds; kind++) {
		char error[300];
		size_t count, size = (size_t)K * N * dtype_bits(ws[kind]) / 8;
		Vendor *vendor = vendor_onednn.open(error, sizeof error);
		if (!vendor) {
			printf("skipped: for want of oneDNN: %s\n", error);
			break;
		}
		const Vendors vendors = {.open = {vendor}};
		Weights weights;
		ck_assert(weights_open(&weights, (Bytes){right, size}, 0, (Bytes){0}, error, sizeof error));
		vendors_use_weights(&vendors, &weights);
		pack_matrix(vendor, xs[kind], ws[kind], right);
		PackedForm *forms = vendors_packed(&vendors, &count);
		if (forms && forms[0].layout.rank > 0) /* versions 3 tell no layout */
			check_forms(count, forms, right, size);
		else
			ck_assert(strncmp(vendor->version, "oneDNN 3", 8) == 0);
		free(forms);
		vendor_onednn.close(vendor);
		weights_close(&weights);
	}
	free(right);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("packed");
	tcase_add_test(t, weights_come_back);
	return unit_run(t);
}
