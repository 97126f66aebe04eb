/* cuDNN asked for devices that are not here: it names an engine for each convolution that rows of
 * vendor.def have, or has only engines that round to fewer bits, which are not taken and said.
 * Without the library the test says "skipped".
 *
 *     build/test/runtime_cudnn COUNT SEED
 *
 * draws so many calls for each device instead of forty.
 */
#include "cudnn_calls.h"

START_TEST(random_convolutions)
{
	int taken = 0, at_open = 0;
	open_for(&devices[_i]);
	state += (uint64_t)_i << 32;
	for (int i = 0; vendor && i < count; i++) {
		Conv c;
		draw(&c, 70, 20);
		bool is = accept_drawn(&c);
		ck_element_msg(!is || strstr(impl, "engine "), "%s: %s", text_of(&c), impl);
		taken += is;
		at_open += strncmp(impl, "at open", 7) == 0;
	}
	printf("%s: of %d calls %d are taken, %d of these at open\n", devices[_i].name, count, taken,
	       at_open);
}
END_TEST

/* Those of networks, which engines that need no driver compute. */
START_TEST(common_convolutions)
{
	static const struct {
		int x[4], w[4], stride, pad, groups;
		const char *post;
	} cases[] = {
		{{1, 3, 224, 224}, {64, 3, 7, 7}, 2, 3, 1, "relu"},
		{{8, 64, 56, 56}, {64, 64, 3, 3}, 1, 1, 1, "sum(3);relu"},
		{{1, 256, 14, 14}, {1024, 256, 1, 1}, 1, 0, 1, ""},
		{{2, 32, 112, 112}, {32, 1, 3, 3}, 1, 1, 32, ""},
	};
	static const DType types[] = {DT_F32, DT_F16, DT_BF16};
	open_for(&devices[_i]);
	for (int k = 0; vendor && k < 4 * 3 * 2; k++) {
		Conv c = {.groups = {cases[k % 4].groups}};
		for (int i = 0; i < 4; i++) {
			c.x[i] = cases[k % 4].x[i];
			c.w[i] = cases[k % 4].w[i];
			c.strides[i % 2] = cases[k % 4].stride;
			c.pads[i % 2] = cases[k % 4].pad;
			c.dilations[i % 2] = 1;
		}
		complete(&c, 2, types[k / 4 % 3], k < 12 ? NULL : "nhwc", true, cases[k % 4].post);
		ck_assert_msg(accept(&c.call), "%s: %s", text_of(&c), error);
		ck_assert_msg(strncmp(impl, "engine ", 7) == 0, "%s: %s", text_of(&c), impl);
	}
}
END_TEST

/* ---- what is refused ---- */

START_TEST(refusals_are_sentences)
{
	Conv c = {.x = {1, 16, 8, 8}, .w = {16, 16, 3, 3}, .groups = {1}, .strides = {1, 1}};
	c.dilations[0] = c.dilations[1] = 1;
	open_for(&devices[0]);
	if (!vendor)
		return;
	complete(&c, 2, DT_F32, "nc8hw", true, "");
	ck_assert(!accept(&c.call) && strstr(error, "blocks"));
	complete(&c, 2, DT_I32, NULL, true, "");
	ck_assert(!accept(&c.call) && strstr(error, "type"));
	complete(&c, 2, DT_F32, NULL, true, "linear(2,1)");
	ck_assert(!accept(&c.call) && strstr(error, "post-op"));
	complete(&c, 2, DT_F16, NULL, true, "relu");
	c.y[1]++; /* more channels than filters: the library's own words */
	ck_assert_msg(!accept(&c.call) && strncmp(error, "cuDNN says", 10) == 0, "%s", error);
	VendorDevice unknown = devices[0];
	unknown.capability = 1;
	ck_assert(!vendor_cudnn.use_device(vendor, &unknown, error, sizeof error) || !accept(&c.call));
}
END_TEST

int
main(int argc, char **argv)
{
	TCase *tcase = tcase_create("cudnn");
	count = argc > 1 ? atoi(argv[1]) : count;
	state = argc > 2 ? (uint64_t)atoi(argv[2]) : state;
	tcase_add_checked_fixture(tcase, NULL, tear_down);
	tcase_add_loop_test(tcase, random_convolutions, 0, (int)countof(devices));
	tcase_add_loop_test(tcase, common_convolutions, 0, (int)countof(devices));
	tcase_add_test(tcase, refusals_are_sentences);
	return unit_run(tcase);
}
