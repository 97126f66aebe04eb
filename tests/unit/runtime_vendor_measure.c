/* What oneDNN says when it is asked for a call: its time, what would run, or that there is none.
 * Without the library the test says "skipped". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/onednn/call.h"
#include "unit.h"
#include "vendor_block.h"

static Vendor *vendor;

static void
set_up(void)
{
	char error[300];
	vendor = vendor_onednn.open(error, sizeof error);
	if (!vendor)
		printf("skipped: for want of oneDNN: %s\n", error);
}

static void
tear_down(void)
{
	if (vendor)
		vendor_onednn.close(vendor);
}

START_TEST(measuring)
{
	if (!vendor)
		return;
	char error[300], impl[VENDOR_IMPL_SIZE];
	int64_t x[4] = {1, 64, 28, 28}, w[4] = {64, 64, 3, 3}, m = 64, one[2] = {1, 1};
	float *weights = calloc(64 * 64 * 9, sizeof *weights);
	const VendorArg args[] = {{DT_F32, 4, x, NULL, vendor_layout(), NULL, false, 0},
	                          {DT_F32, 4, w, NULL, NULL, weights, false, 0},
	                          {DT_F32, 1, &m, NULL, NULL, weights, false, 0},
	                          {DT_F32, 4, x, NULL, vendor_layout(), NULL, false, 0}};
	const StepAttr attrs[] = {{"pads_lo", SA_INTS, 2, one, NULL, NULL}};
	const VendorCall desc = {"onednn", "conv", 4, args, 1, attrs};
	Timing time = {0};
	ck_assert_msg(vendor_onednn.measure(vendor, &desc, 1, &time, impl, error, sizeof error), "%s",
	              error);
	ck_assert(time.seconds > 0 && time.spread >= 0);
	ck_assert(impl[0] && !strstr(impl, "ref"));
	Timing slower = {.seconds = time.seconds / 1e3}; /* than another: one run says that */
	ck_assert(vendor_onednn.measure(vendor, &desc, 1, &slower, impl, error, sizeof error));
	ck_assert(slower.seconds > 0 && slower.spread == 0);
	VendorArg made_up[4];
	memcpy(made_up, args, sizeof args);
	made_up[1].constant = NULL;
	made_up[1].is_weight = true;
	const VendorCall again = {"onednn", "conv", 4, made_up, 1, attrs};
	char same[VENDOR_IMPL_SIZE];
	ck_assert(vendor_onednn.accept(vendor, &again, same, error, sizeof error));
	for (int i = 0; i < 2; i++)
		ck_assert(vendor_onednn.measure(vendor, &again, 1, &time, same, error, sizeof error));
	ck_assert_str_eq(impl, same);
	int64_t two[2] = {2, 2}, y[4] = {1, 64, 14, 14}; /* which no version has Winograd for */
	made_up[3].dims = y;
	const StepAttr strided[] = {attrs[0],
	                            {"strides", SA_INTS, 2, two, NULL, NULL},
	                            {"algorithm", SA_STRING, 0, NULL, NULL, "winograd"}};
	const VendorCall none = {"onednn", "conv", 4, made_up, 3, strided};
	ck_assert(!vendor_onednn.accept(vendor, &none, impl, error, sizeof error));
	ck_assert_msg(strstr(error, "winograd") != NULL, "%s", error);
	free(weights);
}
END_TEST

/* Whether Winograd runs a 3x3 convolution of 64 channels on such an image when it is asked for. */
static bool
has_winograd(int64_t height, int64_t width)
{
	int64_t x[4] = {2, 64, height, width}, w[4] = {64, 64, 3, 3}, one[2] = {1, 1};
	char impl[VENDOR_IMPL_SIZE], error[256];
	const VendorArg args[4] = {{DT_F32, 4, x, NULL, vendor_layout(), NULL, false, 0},
	                           {DT_F32, 4, w, NULL, NULL, NULL, true, 0},
	                           {DT_NONE, 0, NULL, NULL, NULL, NULL, false, 0},
	                           {DT_F32, 4, x, NULL, vendor_layout(), NULL, false, 0}};
	const StepAttr attrs[] = {{"pads_lo", SA_INTS, 2, one, NULL, NULL},
	                          {"algorithm", SA_STRING, 0, NULL, NULL, "winograd"}};
	const VendorCall desc = {"onednn", "conv", 4, args, 2, attrs};
	return vendor_onednn.accept(vendor, &desc, impl, error, sizeof error);
}

/* The algorithm was chosen at a typical size: of few tiles it is not used. */
START_TEST(few_tiles)
{
	if (!vendor)
		return;
	ck_assert(!has_winograd(4, 5));
	ck_assert(!has_winograd(2, 2));
	ck_assert(!has_winograd(17, 1));
	ck_assert_int_eq(has_winograd(7, 7), has_winograd(28, 28));
}
END_TEST

/* Few rows of packed weights are pixels, where the library has blocks of channels for them. */
START_TEST(few_rows)
{
	int64_t a[2] = {2, 64}, b[2] = {64, 128}, y[2] = {2, 128};
	char impl[VENDOR_IMPL_SIZE], error[256];
	const VendorArg args[4] = {{DT_F32, 2, a, NULL, NULL, NULL, false, 0},
	                           {DT_F32, 2, b, NULL, NULL, NULL, true, 0},
	                           {DT_NONE, 0, NULL, NULL, NULL, NULL, false, 0},
	                           {DT_F32, 2, y, NULL, NULL, NULL, false, 0}};
	const VendorCall desc = {"onednn", "matmul", 4, args, 0, NULL};
	if (!vendor)
		return;
	for (a[0] = y[0] = 2; a[0] <= 32; a[0] = y[0] = a[0] * 16) {
		ck_assert_msg(vendor_onednn.accept(vendor, &desc, impl, error, sizeof error), "%s", error);
		bool is_image = strstr(impl, "1x1") != NULL;
		ck_assert_msg(is_image == (a[0] == 2) || !strstr(impl, "avx512"), "%s", impl);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("vendor_measure");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, measuring);
	tcase_add_test(t, few_tiles);
	tcase_add_test(t, few_rows);
	return unit_run(t);
}
