/* Norms as cuDNN is told of them: accepted without a driver for each device, and with what stands
 * for one (tests/standin_driver) made into a plan, whose graph is read back, evaluated, and
 * compared with the rows' definitions. Without the library the test says "skipped".
 *
 *     build/test/runtime_cudnn_norms COUNT SEED
 */
#include "cudnn_graph.h"

enum { X, SCALE, BIAS, NONE, NOTHING, RESULT, ARGS, DIMS_MOST = 3 };

typedef struct Norm {
	int64_t x[DIMS_MOST], c[1];
	VendorArg args[ARGS];
	StepAttr attrs[2];
	float epsilon;
	VendorCall call;
} Norm;

/* Of rows, or one row alone; `places`: an instance's, else 0. */
static void
fill_norm(Norm *n, const char *row, int64_t rows, int64_t c, int64_t places, bool is_alone)
{
	int rank = places ? 3 : 2;
	*n = (Norm){.x = {rows, c, places}, .c = {c}, .epsilon = 0.125F};
	const int64_t *dims = is_alone ? n->x + 1 : n->x;
	n->args[X] = n->args[RESULT] = (VendorArg){.rank = rank - is_alone, .dims = dims};
	n->args[SCALE] = n->args[BIAS] = (VendorArg){.rank = 1, .dims = n->c};
	n->attrs[0] =
		(StepAttr){.name = "epsilon", .kind = SA_FLOATS, .count = 1, .floats = &n->epsilon};
	n->call = (VendorCall){"cudnn", row, ARGS, n->args, 1, n->attrs};
}

static void
set_types(Norm *n, DType x, DType factors, bool has_bias, DType result)
{
	n->args[X].type = x;
	n->args[SCALE].type = factors;
	n->args[BIAS].type = has_bias ? factors : DT_NONE;
	n->args[RESULT].type = result;
}

/* As the rows have it: an instance with a bias, and a root mean square without one. */
static void
draw_norm(Norm *n)
{
	static const char *const rows[] = {"layer_norm", "layer_norm", "rms_norm", "instance_norm"};
	static const DType types[] = {DT_F32, DT_F16, DT_BF16};
	int row = below(4);
	bool is_instance = row == 3;
	DType type = types[below(3)], factors = below(3) ? type : DT_F32;
	fill_norm(n, rows[row], 1 + below(9), is_instance ? 1 + below(9) : 8 * (1 + below(9)),
	          is_instance ? 8 * (1 + below(9)) : 0, below(4) == 0);
	n->epsilon = 0.25F * (float)(1 + below(4));
	set_types(n, is_instance || below(3) ? type : DT_F32, factors, row % 2, type);
}

static const char *
norm_text(const Norm *n)
{
	static char text[200];
	snprintf(text, sizeof text, "%s of %d dims, %d x %d x %d, %s by %s to %s, %s bias", n->call.row,
	         n->args[X].rank, (int)n->x[0], (int)n->x[1], (int)n->x[2], dtype_name(n->args[X].type),
	         dtype_name(n->args[SCALE].type), dtype_name(n->args[RESULT].type),
	         n->args[BIAS].type ? "a" : "no");
	return text;
}

/* ---- the rows' definitions ---- */

static double
deviation(const double *row, int64_t length, double mean, double epsilon)
{
	double sum = 0;
	for (int64_t i = 0; i < length; i++)
		sum += (row[i] - mean) * (row[i] - mean);
	return sqrt(sum / (double)length + epsilon);
}

static double
wanted(const Norm *n, double *const *memory, int64_t i)
{
	int64_t length = n->x[2] ? n->x[2] : n->x[1];
	int64_t c = n->x[2] ? i / length % n->x[1] : i % length;
	const double *row = memory[X] + i / length * length;
	double mean = 0;
	for (int64_t k = 0; k < length && strcmp(n->call.row, "rms_norm") != 0; k++)
		mean += row[k] / (double)length;
	return (memory[X][i] - mean) / deviation(row, length, mean, (double)n->epsilon) *
	           memory[SCALE][c] +
	       (n->args[BIAS].type ? memory[BIAS][c] : 0);
}

static void
evaluate(const Norm *n)
{
	double *memory[ARGS + 1] = {NULL}, epsilon = (double)n->epsilon;
	for (int k = 0; k < ARGS; k++) {
		int64_t size = k == NONE || k == NOTHING ? 1 : volume(n->args[k].dims, n->args[k].rank);
		memory[k] = malloc((size_t)size * sizeof **memory);
		for (int64_t i = 0; i < size; i++)
			memory[k][i] = below(17) / 4.0 - 1;
	}
	memory[ARGS] = &epsilon; /* the tensor behind the arguments */
	run_plan(memory);
	for (int64_t i = 0; i < volume(n->args[X].dims, n->args[X].rank); i++) {
		double want = wanted(n, memory, i), is = memory[RESULT][i];
		ck_element_msg(fabs(is - want) < 1e-9 * (1 + fabs(want)),
		               "%s: element %d is %g, not %g\n%.3000s", norm_text(n), (int)i, is, want,
		               plan);
	}
	for (int k = 0; k < ARGS; k++)
		free(memory[k]);
}

/* ---- what is asked ---- */

/* Nobody compiles an engine to answer. */
START_TEST(norms_are_accepted)
{
	open_for(&devices[_i]);
	for (int i = 0; vendor && i < count; i++) {
		Norm n;
		draw_norm(&n);
		ck_assert_msg(accept(&n.call), "%s: %s", norm_text(&n), error);
		ck_assert_msg(strncmp(impl, "at open: ", 9) == 0, "%s: %s", norm_text(&n), impl);
	}
}
END_TEST

START_TEST(norms_mean_the_call)
{
	bool is_there = has_driver();
	open_for(&devices[_i]);
	state += (uint64_t)_i << 32;
	if (vendor)
		watch_plans();
	for (int i = 0; vendor && i < count; i++) {
		Norm n;
		draw_norm(&n);
		ck_assert_msg(is_there && make_plan(&n.call, &n.attrs[1]), "%s: %s", norm_text(&n), error);
		evaluate(&n);
	}
}
END_TEST

START_TEST(refusals_are_sentences)
{
	Norm n;
	open_for(&devices[1]);
	if (!vendor)
		return;
	fill_norm(&n, "layer_norm", 4, 16, 0, false);
	set_types(&n, DT_F16, DT_F16, true, DT_F16);
	ck_assert_msg(accept(&n.call), "%s", error);
	n.x[1] = n.c[0] = 12; /* 24 bytes */
	ck_assert(!accept(&n.call) && strstr(error, "multiples of 16"));
	n.x[1] = n.c[0] = 16;
	n.args[X].strides = (const int64_t[]){1, 16};
	ck_assert(!accept(&n.call) && strstr(error, "lie apart"));
	n.args[X].strides = NULL;
	n.args[X].rank = 3;
	ck_assert(!accept(&n.call) && strstr(error, "other dims"));
	n.args[X].rank = 2;
	n.call.nattr = 0;
	ck_assert(!accept(&n.call) && strstr(error, "without epsilon"));
	n.call.nattr = 1;
	n.call.narg = 4;
	ck_assert(!accept(&n.call) && strstr(error, "this call"));
	n.call.narg = ARGS;
	n.args[SCALE].type = DT_NONE;
	ck_assert(!accept(&n.call) && strstr(error, "type or rank"));
}
END_TEST

int
main(int argc, char **argv)
{
	TCase *tcase = tcase_create("cudnn_norms");
	count = argc > 1 ? atoi(argv[1]) : 4;
	state = argc > 2 ? (uint64_t)atoi(argv[2]) : state;
	tcase_add_checked_fixture(tcase, NULL, tear_down);
	tcase_add_loop_test(tcase, norms_are_accepted, 0, (int)countof(devices));
	tcase_add_loop_test(tcase, norms_mean_the_call, 0, 2);
	tcase_add_test(tcase, refusals_are_sentences);
	return unit_run(tcase);
}
