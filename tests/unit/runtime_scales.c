/* Products of bytes with what stands behind them: scales of channels or one, a bias, zero points.
 * Each bit is that of the text, whatever the library is told instead, and however the call is cut.
 * Without oneDNN the test says "skipped". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_number.h"
#include "runtime/onednn/call.h"
#include "unit.h"
#include "vendor_block.h"

enum { M = 24, K = 64, N = 160 };

static unsigned char x[M * K];
static signed char w[K * N], y[M * N];
static float bias[N], scale[N];

static void
fill(uint64_t *state, bool is_tie)
{
	for (int i = 0; i < M * K; i++)
		x[i] = (unsigned char)(random_below(state, 300) ? random_below(state, 4) : 255);
	for (int i = 0; i < K * N; i++)
		w[i] = (signed char)(random_below(state, 300) ? (int)random_below(state, 5) - 2 : -128);
	for (int i = 0; i < N; i++) {
		bias[i] = (float)(int)random_below(state, 2000) - 1000;
		/* powers of two make ties */
		scale[i] = is_tie ? ldexpf(1, -(int)random_below(state, 9))
		                  : 0.0003f * (float)(1 + random_below(state, 90));
	}
}

static float
right(int m, int n, bool has_bias, float factor, bool is_shifted)
{
	int sum = 0;
	for (int k = 0; k < K; k++)
		sum += x[m * K + k] * w[k * N + n];
	float value = (float)sum;
	if (has_bias)
		value = value + bias[n];
	value = value * (factor > 0 ? factor : scale[n]);
	value = rintf(value) + (is_shifted ? 3 : 0);
	return fminf(fmaxf(value, -128), 127);
}

static void
run_call(Vendor *vendor, const VendorCall *call, void *const *buffers)
{
	char error[300] = "";
	void *scratch;
	PreparedCall *made = vendor_onednn.prepare(vendor, call, error, sizeof error);
	ck_assert_msg(made, "%s", error);
	ck_assert_int_eq(posix_memalign(&scratch, 64, made->scratch + 64), 0);
	memset(y, 0x55, sizeof y);
	for (int i = 0; i < made->pieces; i++)
		ck_assert(vendor_onednn.run(made, i, buffers, scratch, error, sizeof error));
	free(scratch);
	vendor_onednn.drop(made);
}

static void
check_case(Vendor *vendor, uint64_t seed)
{
	const int64_t rows = M / 3, n[] = {N}, ws[] = {K, N};
	const int64_t xs[][3] = {{M, K}, {3, rows, K}}, ys[][3] = {{M, N}, {3, rows, N}};
	const int64_t channel[][3] = {{1, N}, {1, 1, N}};
	bool has_bias = seed & 1, is_shifted = seed & 2, is_one = seed & 4, is_batch = seed & 16;
	int rank = is_batch ? 3 : 2; /* the library gets a product of matrices for both */
	float factor = is_one ? 0.25f : 0;
	char post[100];
	snprintf(post, sizeof post, "%s;round%s", is_one ? "linear(0.25,0)" : "mul(3)",
	         is_shifted ? ";linear(1,3)" : "");
	uint64_t state = seed;
	fill(&state, seed & 8);
	const VendorArg args[] = {
		{DT_U8, rank, xs[is_batch], NULL, NULL, NULL, false, 0},
		{DT_I8, 2, ws, NULL, NULL, w, false, 0},
		{has_bias ? DT_F32 : DT_NONE, has_bias, n, NULL, NULL, has_bias ? bias : NULL, false, 0},
		{DT_F32, rank, channel[is_batch], NULL, NULL, scale, false, 0},
		{DT_I8, rank, ys[is_batch], NULL, NULL, NULL, false, 0}};
	const int64_t pieces = 1 + (int64_t)random_below(&state, 4);
	const StepAttr attrs[] = {{.name = "post", .kind = SA_STRING, .string = post},
	                          {.name = "pieces", .kind = SA_INTS, .ints = &pieces, .count = 1}};
	const VendorCall call = {"onednn", "matmul", 5, args, 2, attrs};
	run_call(vendor, &call, (void *[]){x, w, has_bias ? bias : NULL, scale, y});
	for (int i = 0; i < M * N; i++) {
		float want = right(i / N, i % N, has_bias, factor, is_shifted);
		ck_assert_msg((float)y[i] == want, "seed %d, %s, element %d is %d, expected %g", (int)seed,
		              post, i, y[i], (double)want);
	}
}

START_TEST(bits_are_those_of_the_text)
{
	char error[300];
	if (!vendor_has_bytes())
		printf("skipped: for want of vnni: no products of bytes\n");
	for (uint64_t seed = 0; vendor_has_bytes() && seed < 64; seed++) {
		Vendor *vendor = vendor_onednn.open(error, sizeof error); /* it keeps what it packed */
		if (!vendor) {
			printf("skipped: for want of oneDNN: %s\n", error);
			return;
		}
		check_case(vendor, seed);
		vendor_onednn.close(vendor);
	}
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("scales");
	tcase_add_test(t, bits_are_those_of_the_text);
	return unit_run(t);
}
