/* Resize against a definition: every input element weighs kernel(distance). */
#include "ops.h"

typedef struct Case {
	const char *mode, *coordinates, *nearest;
	double scale; /* 0: by size */
	int64_t in, out;
	bool antialias, exclude;
	double start, end; /* of the region, for tf_crop_and_resize */
} Case;

/* In f32, as ONNX writes it: borders between pixels must fall on the same side. */
static float
position(const Case *c, float p)
{
	float in = (float)c->in, out = (float)c->out, start = (float)c->start, end = (float)c->end;
	float scale = c->scale > 0 ? (float)c->scale : out / in;
	float width = c->scale > 0 ? scale * in : out, half = (p + 0.5f) / scale - 0.5f;
	if (strcmp(c->coordinates, "asymmetric") == 0)
		return p / scale;
	if (strcmp(c->coordinates, "align_corners") == 0)
		return width == 1 ? 0 : p * (in - 1) / (width - 1);
	if (strcmp(c->coordinates, "half_pixel_symmetric") == 0)
		return in / 2 * (1 - out / width) + (p + 0.5f) / scale - 0.5f;
	if (strcmp(c->coordinates, "pytorch_half_pixel") == 0)
		return out > 1 ? half : 0;
	if (strcmp(c->coordinates, "tf_crop_and_resize") == 0)
		return width == 1 ? (start + end) / 2 * (in - 1)
		                  : p * (end - start) * (in - 1) / (width - 1) + start * (in - 1);
	return half;
}

static double
nearest(const Case *c, double x)
{
	if (strcmp(c->nearest, "floor") == 0)
		return floor(x);
	if (strcmp(c->nearest, "ceil") == 0)
		return ceil(x);
	return strcmp(c->nearest, "round_prefer_ceil") == 0 ? floor(x + 0.5) : ceil(x - 0.5);
}

static double
kernel(const Case *c, double t)
{
	double a = -0.75;
	if (strcmp(c->mode, "linear") == 0)
		return t < 1 ? 1 - t : 0;
	if (t <= 1)
		return (a + 2) * t * t * t - (a + 3) * t * t + 1;
	return t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
}

/* Element j of x, the borders repeated. */
static double
clamped(const Array *x, int64_t j)
{
	int64_t last = x->dims[0] - 1;
	return value_at(x, j < 0 ? 0 : j > last ? last : j);
}

static double
expected_at(const Case *c, const Array *x, int64_t p)
{
	double at = (double)position(c, (float)p), sum = 0, total = 0;
	double scale = c->scale > 0 ? c->scale : (double)c->out / (double)c->in;
	double stretch = c->antialias ? fmin(scale, 1) : 1;
	bool is_crop = strcmp(c->coordinates, "tf_crop_and_resize") == 0;
	if (is_crop && (at < 0 || at > (double)(c->in - 1)))
		return 9;
	if (strcmp(c->mode, "nearest") == 0)
		return clamped(x, (int64_t)nearest(c, at));
	for (int64_t j = -99; j < 99; j++) {
		double weight = kernel(c, fabs((double)j - at) * stretch);
		if (c->exclude && (j < 0 || j >= c->in))
			weight = 0;
		sum += weight * clamped(x, j);
		total += weight;
	}
	return c->antialias || c->exclude ? sum / total : sum;
}

static void
check_case(const Case *c)
{
	Dice dice = {(uint64_t)(c->in * 100 + c->out)};
	OpTest t = test_of("Resize");
	Array *x = random_array(t.arena, &dice, DT_F32, 1, &c->in, -9, 9);
	float scale = (float)c->scale, roi[] = {(float)c->start, (float)c->end};
	bool is_crop = strcmp(c->coordinates, "tf_crop_and_resize") == 0;
	test_input(&t, x);
	test_input(&t, is_crop ? array_from(t.arena, DT_F32, 1, (int64_t[]){2}, roi) : NULL);
	if (c->scale > 0) {
		test_constant(&t, array_from(t.arena, DT_F32, 1, (int64_t[]){1}, &scale));
	} else {
		test_input(&t, NULL);
		test_constant(&t, array_vector_i64(t.arena, 1, &c->out));
	}
	test_attr_string(&t, "mode", c->mode);
	test_attr_string(&t, "coordinate_transformation_mode", c->coordinates);
	test_attr_string(&t, "nearest_mode", c->nearest);
	test_attr_int(&t, "antialias", c->antialias);
	test_attr_int(&t, "exclude_outside", c->exclude);
	test_attr_float(&t, "extrapolation_value", 9);
	Array *y = test_run(&t);
	expect_dims(y, 1, &c->out);
	for (int64_t p = 0; p < c->out; p++)
		expect_near(expected_at(c, x, p), value_at(y, p), 1e-5);
	arena_free(t.arena);
}

static const char *const COORDINATES[] = {"half_pixel",    "half_pixel_symmetric",
                                          "asymmetric",    "pytorch_half_pixel",
                                          "align_corners", "tf_crop_and_resize"};

/* A case by scale (of exactly representable positions) and one by size. */
static void
check_both(Case c)
{
	double scales[] = {0.5, 0.75, 1.5, 2, 3};
	for (size_t i = 0; i < countof(scales); i++) {
		c.scale = scales[i];
		c.in = 6;
		c.out = (int64_t)floor(scales[i] * 6);
		check_case(&c);
	}
	c.scale = 0;
	for (c.out = 1; c.out < 16; c.out += 7)
		check_case(&c);
}

START_TEST(nearest_pixels)
{
	const char *modes[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
	for (size_t i = 0; i < countof(COORDINATES); i++)
		for (size_t k = 0; k < countof(modes); k++)
			check_both((Case){.mode = "nearest",
			                  .coordinates = COORDINATES[i],
			                  .nearest = modes[k],
			                  .start = 0.25,
			                  .end = 1.25});
}
END_TEST

/* a / b and a negative a, rounded down. */
static int64_t
quotient(int64_t a, int64_t b)
{
	return a < 0 ? -((-a + b - 1) / b) : a / b;
}

/* Positions between two pixels are just there, whatever the extents: in whole numbers, a position
 * is p * in / out, or ((2p + 1) * in - out) / (2 * out). */
static void
check_ties(const char *coordinates, const char *nearest, int64_t in, int64_t out)
{
	OpTest t = test_of("Resize");
	Array *x = array_new(t.arena, DT_F32, 1, &in);
	for (int64_t i = 0; i < in; i++)
		dtype_store_f64(DT_F32, x->data, i, (double)i);
	test_input(&t, x);
	test_input(&t, NULL);
	test_input(&t, NULL);
	test_constant(&t, array_vector_i64(t.arena, 1, &out));
	test_attr_string(&t, "coordinate_transformation_mode", coordinates);
	test_attr_string(&t, "nearest_mode", nearest);
	Array *y = test_run(&t);
	bool is_half = strcmp(coordinates, "half_pixel") == 0;
	bool is_up = strcmp(nearest, "round_prefer_ceil") == 0;
	for (int64_t p = 0; p < out; p++) {
		int64_t twice = is_half ? (2 * p + 1) * in - out : 2 * p * in; /* of out */
		int64_t at = is_up ? quotient(twice + out, 2 * out) : -quotient(out - twice, 2 * out);
		expect_near((double)(at < 0 ? 0 : at >= in ? in - 1 : at), value_at(y, p), 0);
	}
	arena_free(t.arena);
}

START_TEST(ties)
{
	for (int64_t in = 1; in < 30; in += 3)
		for (int64_t out = 1; out < 30; out++) {
			check_ties("asymmetric", "round_prefer_ceil", in, out);
			check_ties("asymmetric", "round_prefer_floor", in, out);
			check_ties("half_pixel", "round_prefer_ceil", in, out);
			check_ties("half_pixel", "round_prefer_floor", in, out);
		}
}
END_TEST

START_TEST(interpolations)
{
	const char *modes[] = {"linear", "cubic"};
	for (size_t i = 0; i < countof(COORDINATES); i++)
		for (int k = 0; k < 8; k++)
			check_both((Case){.mode = modes[k & 1],
			                  .coordinates = COORDINATES[i],
			                  .nearest = "floor",
			                  .antialias = k & 2,
			                  .exclude = k & 4,
			                  .start = 0.2,
			                  .end = 1.1});
}
END_TEST

/* Both axes of an image, one by one: a linear ramp stays one, whatever the sizes. */
START_TEST(two_axes)
{
	OpTest t = test_of("Resize");
	int64_t dims[] = {1, 3, 5}, sizes[] = {5, 9};
	Array *x = array_new(t.arena, DT_F32, 3, dims);
	for (int64_t i = 0; i < 15; i++) {
		int64_t ramp = i / 5 * 10 + i % 5;
		dtype_store_f64(DT_F32, x->data, i, (double)ramp);
	}
	test_input(&t, x);
	test_symbolic(&t, 0);
	test_input(&t, NULL);
	test_input(&t, NULL);
	test_constant(&t, array_vector_i64(t.arena, 2, sizes));
	test_attr_ints(&t, "axes", 2, (int64_t[]){1, -1});
	test_attr_string(&t, "mode", "linear");
	test_attr_string(&t, "coordinate_transformation_mode", "align_corners");
	Array *y = test_run(&t);
	expect_dims(y, 3, (int64_t[]){1, 5, 9});
	for (int64_t i = 0; i < 45; i++) {
		int64_t twice = i / 9 * 10 + i % 9; /* of what stands at row i/9, column i%9 */
		expect_near((double)twice / 2, value_at(y, i), 1e-6);
	}
	arena_free(t.arena);
}
END_TEST

START_TEST(aspect_ratio)
{
	const char *policies[] = {"not_larger", "not_smaller"};
	int64_t expected[2][2] = {{7, 4}, {12, 6}};
	for (int i = 0; i < 2; i++) {
		OpTest t = test_of("Resize");
		int64_t dims[] = {4, 2}, sizes[] = {7, 6};
		Dice dice = {1};
		test_input(&t, random_array(t.arena, &dice, DT_U8, 2, dims, 0, 9));
		test_input(&t, NULL);
		test_input(&t, NULL);
		test_constant(&t, array_vector_i64(t.arena, 2, sizes));
		test_attr_string(&t, "keep_aspect_ratio_policy", policies[i]);
		expect_dims(test_run(&t), 2, expected[i]);
		arena_free(t.arena);
	}
}
END_TEST

START_TEST(refusals)
{
	OpTest t = test_of("Resize");
	float x[] = {1, 2};
	test_input(&t, array_from(t.arena, DT_F32, 1, (int64_t[]){2}, x));
	test_attr_string(&t, "mode", "linear");
	ck_assert_ptr_nonnull(strstr(test_refusal(&t), "expected either scales or sizes"));
	arena_free(t.arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("resize");
	tcase_add_test(t, nearest_pixels);
	tcase_add_test(t, ties);
	tcase_add_test(t, interpolations);
	tcase_add_test(t, two_axes);
	tcase_add_test(t, aspect_ratio);
	tcase_add_test(t, refusals);
	return unit_run(t);
}
