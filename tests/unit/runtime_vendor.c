/* oneDNN behind vendor.h: every row against the plain definition, in several layouts, cuts and
 * post-ops. Without the library the test says "skipped". */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/onednn/call.h"
#include "unit.h"
#include "vendor_block.h"

#if defined(__has_include)
#if __has_include(<dnnl.h>)
#include <dnnl.h>
#if DNNL_VERSION_MAJOR == 2
_Static_assert(sizeof(dnnl_memory_desc_t) == 696, "runtime/onednn/api.c copies this much");
_Static_assert(sizeof(dnnl_convolution_desc_t) <= 8192, "runtime/onednn/api.c has room for this");
_Static_assert(sizeof(dnnl_pooling_v2_desc_t) <= 8192, "runtime/onednn/api.c has room for this");
#endif
#endif
#endif

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

/* Reproducible numbers in -1..1. */
static float
number(unsigned *state)
{
	*state = *state * 1664525u + 1013904223u;
	return (float)(int)(*state >> 8) / (float)(1 << 23) - 1;
}

static float *
numbers(int64_t count, unsigned seed)
{
	float *data = malloc((size_t)count * sizeof *data);
	for (int64_t i = 0; i < count; i++)
		data[i] = number(&seed);
	return data;
}

static bool
same_bytes(const void *a, const void *b, size_t size)
{
	return memcmp(a, b, size) == 0;
}

static int64_t
product(int rank, const int64_t *dims)
{
	int64_t count = 1;
	for (int i = 0; i < rank; i++)
		count *= dims[i];
	return count;
}

/* Channels in the library's blocks, zero padded. */
static float *
blocked(const float *plain, const int64_t *d)
{
	int64_t block = vendor_block(), blocks = (d[1] + block - 1) / block, area = d[2] * d[3];
	float *data = calloc((size_t)(d[0] * blocks * block * area), sizeof *data);
	for (int64_t n = 0; n < d[0]; n++)
		for (int64_t c = 0; c < d[1]; c++)
			for (int64_t i = 0; i < area; i++)
				data[((n * blocks + c / block) * area + i) * block + c % block] =
					plain[(n * d[1] + c) * area + i];
	return data;
}

/* Run all pieces; false when the library has nothing for the call. */
static bool
run(const VendorCall *desc, void *const *buffers, int *pieces)
{
	char error[300] = "";
	PreparedCall *call = vendor_onednn.prepare(vendor, desc, error, sizeof error);
	if (!call) {
		printf("%s: %s\n", desc->row, error);
		return false;
	}
	ck_assert_ptr_null(strstr(call->impl, "ref"));
	void *scratch = NULL;
	ck_assert_int_eq(posix_memalign(&scratch, 64, call->scratch + 64), 0);
	for (int again = 0; again < 2; again++)
		for (int i = 0; i < call->pieces; i++)
			ck_assert_msg(vendor_onednn.run(call, i, buffers, scratch, error, sizeof error), "%s",
			              error);
	if (pieces)
		*pieces = call->pieces;
	free(scratch);
	vendor_onednn.drop(call);
	return true;
}

typedef struct ConvCase {
	int64_t n, c, h, w, m, k, group, stride, dilation, pad_lo, pad_hi;
	const char *src_layout, *dst_layout, *post, *algorithm;
	bool by_rows;
	int64_t pieces; /* 0: by shape */
} ConvCase;

static float
post_value(const char *post, float value, float other)
{
	if (strncmp(post, "sum(3)", 6) == 0 || strncmp(post, "add(3)", 6) == 0)
		value += other;
	if (strstr(post, "relu"))
		value = value > 0 ? value : 0;
	if (strstr(post, "clip(0,6)"))
		value = value < 0 ? 0 : value > 6 ? 6 : value;
	if (strstr(post, "tanh;linear(0.5,0)"))
		value = 0.5f * tanhf(value);
	return value;
}

/* By definition, in double. */
static float *
conv_reference(const ConvCase *t, const float *x, const float *w, const float *b, const float *r,
               const int64_t *out)
{
	float *y = malloc((size_t)product(4, out) * sizeof *y), *at = y;
	int64_t in = t->c / t->group, each = t->m / t->group;
	for (int64_t n = 0; n < t->n; n++)
		for (int64_t m = 0; m < t->m; m++)
			for (int64_t p = 0; p < out[2]; p++)
				for (int64_t q = 0; q < out[3]; q++, at++) {
					double sum = b[m];
					for (int64_t c = 0; c < in; c++)
						for (int64_t i = 0; i < t->k; i++)
							for (int64_t j = 0; j < t->k; j++) {
								int64_t h = p * t->stride + i * t->dilation - t->pad_lo;
								int64_t v = q * t->stride + j * t->dilation - t->pad_lo;
								if (h < 0 || h >= t->h || v < 0 || v >= t->w)
									continue;
								sum +=
									(double)
										x[((n * t->c + m / each * in + c) * t->h + h) * t->w + v] *
									w[((m * in + c) * t->k + i) * t->k + j];
							}
					*at = post_value(t->post, (float)sum, r[at - y]);
				}
	return y;
}

static void
check_conv(const ConvCase *t, bool must_exist)
{
	int64_t span = (t->k - 1) * t->dilation + 1;
	int64_t x_dims[4] = {t->n, t->c, t->h, t->w}, w_dims[4] = {t->m, t->c / t->group, t->k, t->k};
	int64_t out[4] = {t->n, t->m, (t->h + t->pad_lo + t->pad_hi - span) / t->stride + 1,
	                  (t->w + t->pad_lo + t->pad_hi - span) / t->stride + 1};
	float *x = numbers(product(4, x_dims), 1), *w = numbers(product(4, w_dims), 2);
	float *b = numbers(t->m, 3), *r = numbers(product(4, out), 4);
	float *want = conv_reference(t, x, w, b, r, out);
	float *x_in = t->src_layout ? blocked(x, x_dims) : NULL;
	float *r_in = t->dst_layout ? blocked(r, out) : NULL;
	int64_t block = vendor_block(), padded = (t->m + block - 1) / block * block;
	float *y = calloc((size_t)(product(4, out) / t->m * padded), sizeof *y);
	bool has_other = strstr(t->post, "(3)") != NULL;
	int64_t s[2] = {t->stride, t->stride}, d[2] = {t->dilation, t->dilation};
	int64_t lo[2] = {t->pad_lo, t->pad_lo}, rows = t->by_rows;
	const StepAttr attrs[] = {
		{"group", SA_INTS, 1, &t->group, NULL, NULL},
		{"strides", SA_INTS, 2, s, NULL, NULL},
		{"dilations", SA_INTS, 2, d, NULL, NULL},
		{"pads_lo", SA_INTS, 2, lo, NULL, NULL},
		{"post", SA_STRING, 0, NULL, NULL, t->post},
		{"algorithm", SA_STRING, 0, NULL, NULL, t->algorithm ? t->algorithm : "direct"},
		{"rows", SA_INTS, 1, &rows, NULL, NULL},
		{"pieces", SA_INTS, 1, &t->pieces, NULL, NULL},
	};
	VendorArg args[5] = {{DT_F32, 4, x_dims, NULL, t->src_layout, NULL, false, 0},
	                     {DT_F32, 4, w_dims, NULL, NULL, w, false, 0},
	                     {DT_F32, 1, &t->m, NULL, NULL, b, false, 0},
	                     {DT_F32, 4, out, NULL, t->dst_layout, NULL, false, 0},
	                     {DT_F32, 4, out, NULL, t->dst_layout, NULL, false, 0}};
	void *buffers[5] = {x_in ? x_in : x, w, b, has_other ? (r_in ? r_in : r) : y, y};
	VendorCall desc = {"onednn", "conv", has_other ? 5 : 4, args, t->pieces ? 8 : 7, attrs};
	int pieces = 0;
	bool exists = run(&desc, buffers, &pieces);
	ck_assert(exists || !must_exist);
	float *want_out = t->dst_layout ? blocked(want, out) : NULL;
	int64_t count = product(4, out) / t->m * (t->dst_layout ? padded : t->m);
	for (int64_t i = 0; i < count && exists; i++)
		ck_assert_msg(fabsf(y[i] - (want_out ? want_out : want)[i]) < 2e-4f,
		              "element %lld: %g instead of %g", (long long)i, (double)y[i],
		              (double)(want_out ? want_out : want)[i]);
	if (t->pieces > 1 && exists)
		ck_assert_int_gt(pieces, 1);
	free(x), free(w), free(b), free(r), free(want), free(x_in), free(r_in), free(y), free(want_out);
}

/* Without AVX-512 oneDNN has no Winograd, and no blocks where whole windows lie in the padding. */
static bool
is_known(const ConvCase *t)
{
	int64_t reach = (t->k - 1) * t->dilation;
	return vendor_is_wide() || (!t->algorithm && (t->pad_lo == 0 || t->pad_lo < reach));
}

START_TEST(conv)
{
	const char *const B = vendor_layout(), *const LETTERS = vendor_is_wide() ? "aBcd16b" : "aBcd8b";
	const ConvCase CASES[] = {
		{1, 3, 23, 23, 64, 7, 1, 2, 1, 3, 3, NULL, B, "relu", NULL, false, 0},
		{2, 32, 14, 14, 64, 3, 1, 1, 1, 1, 1, B, B, "sum(3);relu", NULL, false, 0},
		{1, 32, 14, 14, 128, 3, 1, 1, 1, 1, 1, B, B, "sum(3);relu", NULL, false, 2},
		{1, 32, 14, 14, 128, 3, 1, 1, 1, 1, 1, B, LETTERS, "relu", NULL, false, 0},
		{3, 32, 14, 14, 128, 1, 1, 2, 1, 0, 0, B, B, "clip(0,6)", NULL, false, 6},
		{1, 64, 14, 14, 64, 3, 1, 1, 1, 1, 1, B, B, "relu", "winograd", false, 0},
		{1, 64, 14, 14, 128, 3, 1, 1, 1, 1, 1, B, B, "sum(3);relu", "winograd", false, 2},
		{1, 64, 17, 17, 64, 3, 64, 1, 1, 1, 1, B, B, "clip(0,6)", NULL, false, 4},
		{1, 24, 9, 9, 24, 3, 24, 2, 1, 1, 0, B, B, "", NULL, false, 0},
		{2, 32, 9, 9, 64, 3, 2, 1, 1, 1, 1, B, B, "relu", NULL, false, 2},
		{1, 32, 15, 15, 32, 3, 1, 1, 2, 2, 2, B, B, "add(3);relu", NULL, false, 0},
		{1, 16, 9, 9, 24, 3, 1, 1, 1, 1, 1, B, B, "relu", NULL, false, 0},
		{1, 8, 9, 9, 12, 3, 1, 1, 1, 1, 1, NULL, NULL, "relu", NULL, false, 0},
		/* plain pieces of one image: windows and borders that no blocked kernel takes */
		{1, 64, 9, 40, 64, 32, 2, 1, 1, 16, 16, NULL, NULL, "relu", NULL, false, 2},
		{1, 64, 20, 20, 128, 3, 1, 1, 1, 1, 1, NULL, NULL, "relu", NULL, false, 2},
		/* slabs of rows: with borders, strides, dilation, a sum, groups, plain storage, few rows */
		{1, 32, 22, 19, 32, 3, 1, 1, 1, 1, 1, B, B, "relu", NULL, true, 4},
		{1, 32, 23, 19, 64, 3, 1, 2, 1, 1, 1, B, B, "sum(3);relu", NULL, true, 6},
		{2, 32, 23, 19, 48, 3, 1, 1, 2, 2, 2, B, B, "add(3);relu", NULL, true, 8},
		{1, 3, 45, 45, 16, 7, 1, 2, 1, 3, 2, NULL, B, "", NULL, true, 4},
		{1, 40, 17, 9, 24, 1, 1, 1, 1, 0, 0, B, B, "sum(3)", NULL, true, 4},
		{1, 32, 30, 12, 32, 3, 32, 1, 1, 1, 1, B, B, "clip(0,6)", NULL, true, 8},
		{1, 32, 30, 30, 32, 3, 1, 1, 1, 1, 1, B, B, "sum(3);relu", "winograd", true, 4},
		{1, 32, 5, 30, 32, 3, 1, 1, 1, 1, 1, B, B, "relu", "winograd", true, 2},
		{1, 32, 9, 9, 32, 5, 1, 1, 1, 4, 4, B, B, "relu", NULL, true, 9},
	};
	if (!vendor)
		return;
	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
		check_conv(&CASES[i], (CASES[i].dst_layout || CASES[i].pieces > 1) && is_known(&CASES[i]));
}
END_TEST

typedef struct MatmulCase {
	int rank_a, rank_b;
	int64_t a[4], b[4];
	bool transpose_b, is_constant, has_bias;
	const char *post;
	int64_t pieces;
	int64_t strides_a[4]; /* all 0: dense */
	bool transpose_a;
} MatmulCase;

static void
check_matmul(const MatmulCase *t)
{
	int rank = t->rank_a > t->rank_b ? t->rank_a : t->rank_b;
	int64_t out[4], batch = 1;
	int64_t m = t->a[t->rank_a - (t->transpose_a ? 1 : 2)];
	int64_t k = t->a[t->rank_a - (t->transpose_a ? 2 : 1)];
	int64_t n = t->b[t->rank_b - (t->transpose_b ? 2 : 1)];
	for (int i = 0; i < rank - 2; i++) {
		int ia = i - (rank - t->rank_a), ib = i - (rank - t->rank_b);
		out[i] = ia < 0 ? t->b[ib] : ib < 0 || t->a[ia] != 1 ? t->a[ia] : t->b[ib];
		batch *= out[i];
	}
	out[rank - 2] = m;
	out[rank - 1] = n;
	float *a = numbers(product(t->rank_a, t->a), 5), *b = numbers(product(t->rank_b, t->b), 6);
	float *bias = numbers(n, 7), *other = numbers(batch * m * n, 8);
	float *y = calloc((size_t)(batch * m * n), sizeof *y);
	int64_t batch_a = product(t->rank_a - 2, t->a), batch_b = product(t->rank_b - 2, t->b);
	int64_t one = t->transpose_b, also = t->transpose_a;
	const StepAttr attrs[] = {{"transpose_b", SA_INTS, 1, &one, NULL, NULL},
	                          {"transpose_a", SA_INTS, 1, &also, NULL, NULL},
	                          {"post", SA_STRING, 0, NULL, NULL, t->post},
	                          {"pieces", SA_INTS, 1, &t->pieces, NULL, NULL}};
	VendorArg args[5] = {
		{DT_F32, t->rank_a, t->a, t->strides_a[0] ? t->strides_a : NULL, NULL, NULL, false, 0},
		{DT_F32, t->rank_b, t->b, NULL, NULL, t->is_constant ? b : NULL, false, 0},
		{t->has_bias ? DT_F32 : DT_NONE, 1, &n, NULL, NULL, bias, false, 0},
		{DT_F32, rank, out, NULL, NULL, NULL, false, 0},
		{DT_F32, rank, out, NULL, NULL, NULL, false, 0}};
	void *buffers[5] = {a, b, bias, other, y};
	bool has_other = strstr(t->post, "(3)") != NULL;
	if (!has_other)
		buffers[3] = y;
	VendorCall desc = {"onednn", "matmul", has_other ? 5 : 4, args, t->pieces ? 4 : 3, attrs};
	ck_assert(run(&desc, buffers, NULL));
	for (int64_t g = 0; g < batch; g++)
		for (int64_t i = 0; i < m; i++)
			for (int64_t j = 0; j < n; j++) {
				/* Batches of the cases are equal, or absent on one side. */
				int64_t ga = batch_a == batch ? g : 0, gb = batch_b == batch ? g : 0;
				double sum = t->has_bias ? bias[j] : 0;
				for (int64_t p = 0; p < k; p++)
					sum += (double)a[t->transpose_a ? (ga * k + p) * m + i : (ga * m + i) * k + p] *
					       b[t->transpose_b ? (gb * n + j) * k + p : (gb * k + p) * n + j];
				int64_t at = (g * m + i) * n + j;
				double want = (double)post_value(t->post, (float)sum, other[at]);
				if (strstr(t->post, "gelu_erf"))
					want = want * 0.5 * (1 + erf(want / sqrt(2)));
				ck_assert_msg(fabs((double)y[at] - want) < 2e-4, "%g instead of %g", (double)y[at],
				              want);
			}
	free(a), free(b), free(bias), free(other), free(y);
}

START_TEST(matmul)
{
	static const MatmulCase CASES[] = {
		{2, 2, {1, 512}, {512, 1000}, false, true, true, "", 4, {0}, false},
		{2, 2, {1, 512}, {1000, 512}, true, true, true, "relu", 0, {0}, false},
		{3, 2, {2, 64, 96}, {96, 160}, false, true, true, "gelu_erf", 3, {0}, false},
		{3, 2, {2, 64, 96}, {96, 32}, false, true, false, "add(3);relu", 4, {0}, false},
		{3, 2, {2, 64, 96}, {96, 160}, false, true, true, "sum(3)", 2, {0}, false},
		{4, 4, {2, 3, 17, 24}, {2, 3, 24, 33}, false, false, false, "", 6, {0}, false},
		{4, 4, {2, 3, 17, 24}, {2, 3, 33, 24}, true, false, false, "", 0, {0}, false},
		{2, 3, {17, 24}, {4, 24, 33}, false, false, false, "", 2, {0}, false},
		{2, 2, {17, 24}, {24, 33}, false, false, false, "tanh;linear(0.5,0)", 0, {0}, false},
		/* a dim of 1 has any stride, also one that makes no sense as a leading dimension */
		{3, 2, {2, 3, 1}, {1, 4}, false, true, false, "", 0, {3, 1, 3}, false},
		{2, 2, {1, 24}, {24, 33}, false, false, false, "", 0, {1, 1}, false},
		/* a batch of single rows is one product */
		{3, 2, {5, 24, 1}, {24, 33}, false, true, true, "add(3);relu", 0, {0}, true},
		{3, 2, {5, 24, 3}, {24, 33}, false, true, false, "add(3)", 0, {0}, true},
		{4, 2, {1, 5, 1, 24}, {24, 33}, false, true, false, "sum(3)", 2, {0}, false},
		/* few rows of packed weights: images, copied into blocks; panels of weights, whole too */
		{2, 2, {4, 64}, {64, 512}, false, true, true, "gelu_erf", 4, {0}, false},
		{2, 2, {8, 64}, {512, 64}, true, true, true, "sum(3)", 3, {0}, false},
		{3, 2, {2, 3, 48}, {48, 96}, false, true, false, "add(3);relu", 0, {0}, false},
		{2, 2, {1, 96}, {96, 96}, false, true, true, "add(3)", 0, {0}, false},
		{2, 2, {5, 64}, {64, 128}, false, true, true, "relu", 2, {0}, false},
		{2, 2, {3, 40}, {40, 96}, false, true, true, "", 0, {0}, false},
		/* more rows than one piece of a panel has */
		{2, 2, {100, 80}, {80, 640}, false, true, true, "add(3);relu", 9, {0}, false},
	};
	if (!vendor)
		return;
	for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
		check_matmul(&CASES[i]);
}
END_TEST

START_TEST(pool_and_reorder)
{
	if (!vendor)
		return;
	int64_t in[4] = {2, 40, 9, 9}, out[4] = {2, 40, 5, 5};
	int64_t kernel[2] = {3, 3}, strides[2] = {2, 2}, pads[2] = {1, 1};
	float *x = numbers(product(4, in), 9), *want = blocked(x, in);
	/* three blocks of 16, or five of 8 */
	int64_t padded = vendor_is_wide() ? 48 : 40;
	float *xb = calloc((size_t)(2 * padded * 81), sizeof *xb);
	float *yb = calloc((size_t)(2 * padded * 25), sizeof *yb);
	float *y = calloc((size_t)product(4, out), sizeof *y);
	VendorArg plain = {DT_F32, 4, in, NULL, NULL, NULL, false, 0};
	VendorArg block = {DT_F32, 4, in, NULL, vendor_layout(), NULL, false, 0};
	VendorArg small = {DT_F32, 4, out, NULL, vendor_layout(), NULL, false, 0};
	VendorArg small_plain = {DT_F32, 4, out, NULL, NULL, NULL, false, 0};
	int64_t three = 3;
	const StepAttr cut[] = {{"pieces", SA_INTS, 1, &three, NULL, NULL}};
	const VendorArg first[] = {plain, block};
	VendorCall desc = {"onednn", "reorder", 2, first, 1, cut};
	ck_assert(run(&desc, (void *[]){x, xb}, NULL));
	ck_assert_mem_eq(xb, want, (size_t)(2 * padded * 81) * sizeof *xb);
	const StepAttr attrs[] = {{"kernel", SA_INTS, 2, kernel, NULL, NULL},
	                          {"strides", SA_INTS, 2, strides, NULL, NULL},
	                          {"pads_lo", SA_INTS, 2, pads, NULL, NULL},
	                          {"kind", SA_STRING, 0, NULL, NULL, "max"}};
	const VendorArg second[] = {block, small};
	desc = (VendorCall){"onednn", "pool", 2, second, 4, attrs};
	ck_assert(run(&desc, (void *[]){xb, yb}, NULL));
	const VendorArg third[] = {small, small_plain};
	desc = (VendorCall){"onednn", "reorder", 2, third, 0, NULL};
	ck_assert(run(&desc, (void *[]){yb, y}, NULL));
	for (int64_t c = 0; c < 80; c++)
		for (int64_t p = 0; p < 5; p++)
			for (int64_t q = 0; q < 5; q++) {
				float most = -2;
				for (int64_t i = 0; i < 9; i++) {
					int64_t h = 2 * p + i / 3 - 1, w = 2 * q + i % 3 - 1;
					if (h >= 0 && h < 9 && w >= 0 && w < 9)
						most = fmaxf(most, x[(c * 9 + h) * 9 + w]);
				}
				ck_assert(y[(c * 5 + p) * 5 + q] == most);
			}
	free(x), free(want), free(xb), free(yb), free(y);
}
END_TEST

/* A result that is a part of the channels of a larger tensor: how Concat is written in place. */
START_TEST(view_in_place)
{
	if (!vendor)
		return;
	enum { HERE = 16, ALL = 3 * HERE, AREA = 36 };
	int64_t x_dims[4] = {2, HERE, 6, 6}, w_dims[4] = {HERE, HERE, 1, 1}, out[4] = {2, HERE, 6, 6};
	int64_t block = vendor_block(), m = HERE;
	int64_t strides[4] = {ALL * AREA, block * AREA, 6 * block, block};
	float *x = numbers(product(4, x_dims), 1), *w = numbers(HERE * HERE, 2), *b = numbers(HERE, 3);
	float *xb = blocked(x, x_dims), *y = calloc(2 * ALL * AREA, sizeof *y);
	const VendorArg args[] = {{DT_F32, 4, x_dims, NULL, vendor_layout(), NULL, false, 0},
	                          {DT_F32, 4, w_dims, NULL, NULL, w, false, 0},
	                          {DT_F32, 1, &m, NULL, NULL, b, false, 0},
	                          {DT_F32, 4, out, strides, vendor_layout(), NULL, false, 0}};
	VendorCall desc = {"onednn", "conv", 4, args, 0, NULL};
	ck_assert(run(&desc, (void *[]){xb, w, b, y + HERE * AREA}, NULL));
	for (int64_t n = 0; n < 2; n++)
		for (int64_t f = 0; f < ALL; f++)
			for (int64_t i = 0; i < AREA; i++) {
				double sum = 0;
				if (f >= HERE && f < 2 * HERE) {
					sum = b[f - HERE];
					for (int64_t c = 0; c < HERE; c++)
						sum += (double)x[(n * HERE + c) * AREA + i] * w[(f - HERE) * HERE + c];
				}
				float got = y[((n * (ALL / block) + f / block) * AREA + i) * block + f % block];
				ck_assert(fabs((double)got - sum) < 1e-4);
			}
	free(x), free(w), free(b), free(xb), free(y);
}
END_TEST

static int
count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	int count = 0;
	for (struct dirent *entry; (entry = readdir(folder));)
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

START_TEST(no_thread_of_its_own)
{
	if (!vendor)
		return;
	int before = count_threads();
	ConvCase t = {4,      64,   56,    56, 64, 3, 1, 1, 1, 1, 1, vendor_layout(), vendor_layout(),
	              "relu", NULL, false, 0};
	check_conv(&t, true);
	ck_assert_int_eq(count_threads(), before);
}
END_TEST

START_TEST(refusals)
{
	if (!vendor)
		return;
	char error[300] = "";
	int64_t dims[4] = {1, 16, 4, 4}, m = 16, w[4] = {16, 16, 1, 1};
	const VendorArg args[] = {{DT_F32, 4, dims, NULL, NULL, NULL, false, 0},
	                          {DT_F32, 4, w, NULL, NULL, NULL, false, 0},
	                          {DT_F32, 1, &m, NULL, NULL, NULL, false, 0},
	                          {DT_F32, 4, dims, NULL, NULL, NULL, false, 0}};
	static const char *const POSTS[] = {
		"sum(9)",
		"nonsense",
		"relu(",
		"add(0,1)",
		"sum(1)",
		"sum(0);sum(0)",
		"add(1e30)",
		"linear(2,0);tanh;linear(0.5,0)", /* computed with 2 both times by oneDNN 2.6 */
	};
	for (size_t i = 0; i < sizeof POSTS / sizeof *POSTS; i++) {
		const StepAttr attrs[] = {{"post", SA_STRING, 0, NULL, NULL, POSTS[i]}};
		const VendorCall desc = {"onednn", "conv", 4, args, 1, attrs};
		error[0] = 0;
		ck_assert_ptr_null(vendor_onednn.prepare(vendor, &desc, error, sizeof error));
		ck_assert(error[0]);
	}
	const VendorCall unknown = {"onednn", "softmax", 4, args, 0, NULL};
	ck_assert_ptr_null(vendor_onednn.prepare(vendor, &unknown, error, sizeof error));
	const VendorArg odd[] = {{DT_F32, 4, dims, NULL, "nnhw", NULL, false, 0}, args[3]};
	const VendorCall layout = {"onednn", "reorder", 2, odd, 0, NULL};
	ck_assert_ptr_null(vendor_onednn.prepare(vendor, &layout, error, sizeof error));
}
END_TEST

static void
append(void *arg, const void *data, size_t size)
{
	unsigned char **end = arg;
	memcpy(*end, data, size);
	*end += size;
}

/* Packed weights that came with a bundle are used, and only where they are what they must be. */
START_TEST(store)
{
	if (!vendor)
		return;
	char error[300];
	int64_t x_dims[4] = {1, 16, 6, 6}, w_dims[4] = {32, 16, 3, 3}, out[4] = {1, 32, 4, 4}, m = 32;
	float *x = numbers(16 * 36, 1), *xb = blocked(x, x_dims), *w = numbers(32 * 144, 2);
	float *b = numbers(32, 3), first[512], y[512];
	Bytes weights = {(const unsigned char *)w, 32 * 144 * sizeof *w};
	const VendorArg args[] = {{DT_F32, 4, x_dims, NULL, vendor_layout(), NULL, false, 0},
	                          {DT_F32, 4, w_dims, NULL, NULL, w, false, 0},
	                          {DT_F32, 1, &m, NULL, NULL, b, false, 0},
	                          {DT_F32, 4, out, NULL, vendor_layout(), NULL, false, 0}};
	const VendorCall desc = {"onednn", "conv", 4, args, 0, NULL};
	void *buffers[] = {xb, w, b, first};
	const Vendors first_one = {.open = {vendor}};
	Weights bare, stored;
	ck_assert(weights_open(&bare, weights, 0, (Bytes){NULL, 0}, error, sizeof error));
	vendors_use_weights(&first_one, &bare);
	ck_assert(run(&desc, buffers, NULL));
	Blob blob;
	size_t count;
	PackedForm *forms = vendors_packed(&first_one, &count);
	void *pieces = forms ? packed_write(count, forms, &blob) : NULL;
	bool has_store = pieces != NULL; /* the first versions 3 have none */
	size_t size = has_store ? blob.size : 0;
	ck_assert(has_store || strncmp(vendor->version, "oneDNN 3", 8) == 0);
	buffers[3] = y;
	for (int round = 0; has_store && round < 6; round++) {
		unsigned char *copy;
		ck_assert_int_eq(posix_memalign((void **)&copy, 64, size), 0);
		unsigned char *end = copy;
		blob_each(&blob, append, &end);
		/* 0: as it is; 1: other numbers; 2: another key; 3 to 5: not a store. */
		if (round == 1)
			memset(copy + size - weights.size, 0, weights.size);
		if (round == 2)
			copy[64]++;
		if (round == 3)
			copy[0]++;
		if (round == 4)
			memset(copy + 8, 0xff, 8);
		if (round == 5)
			copy[64 + 16 + 7]++; /* an offset far away */
		Vendor *other = vendor_onednn.open(error, sizeof error), *mine = vendor;
		const Vendors other_one = {.open = {other}};
		ck_assert(weights_open(&stored, weights, 0, (Bytes){copy, size}, error, sizeof error));
		vendors_use_weights(&other_one, &stored);
		vendor = other;
		ck_assert(run(&desc, buffers, NULL));
		ck_assert(same_bytes(first, y, sizeof y) == (round != 1));
		vendor = mine;
		vendor_onednn.close(other);
		free(copy);
	}
	free(x), free(xb), free(w), free(b), free(pieces), free(forms);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("vendor");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, conv);
	tcase_add_test(t, matmul);
	tcase_add_test(t, pool_and_reorder);
	tcase_add_test(t, view_in_place);
	tcase_add_test(t, no_thread_of_its_own);
	tcase_add_test(t, refusals);
	tcase_add_test(t, store);
	return unit_run(t);
}
