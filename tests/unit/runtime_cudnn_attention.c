/* Attention as cuDNN is told of it: accepted without a driver for each device, and with what stands
 * for one (tests/standin_driver) made into a plan, whose graph is read back, evaluated, and
 * compared with softmax(scale q k + added) v. Without the library the test says "skipped".
 *
 *     build/test/runtime_cudnn_attention COUNT SEED
 */
#include "cudnn_graph.h"

enum { Q, K, V, ADDED, ALSO_ADDED, RESULT, ARGS, HEADS = 4 };

typedef struct Attention {
	int64_t dims[ARGS][HEADS], strides[ARGS][HEADS];
	VendorArg args[ARGS];
	StepAttr attrs[2];
	float scale;
	int nadded;
	VendorCall call;
} Attention;

/* Dense, or with heads between each other, as a product of all heads leaves them. */
static void
set_arg(Attention *a, int arg, DType type, const int64_t dims[HEADS], bool is_between)
{
	int64_t *stride = a->strides[arg];
	memcpy(a->dims[arg], dims, sizeof a->dims[arg]);
	stride[3] = 1;
	stride[2] = is_between ? dims[1] * dims[3] : dims[3];
	stride[1] = is_between ? dims[3] : dims[2] * dims[3];
	stride[0] = dims[1] * dims[2] * dims[3];
	a->args[arg] =
		(VendorArg){.type = type, .rank = HEADS, .dims = a->dims[arg], .strides = stride};
}

static void
draw_attention(Attention *a)
{
	enum { MOST = 40, STEP = 8, WIDTHS = 4 };
	static const DType types[] = {DT_F16, DT_BF16};
	DType type = types[below(2)];
	int64_t b = 1 + below(3), keys = 1 + below(3), values = 1 + below(3);
	int64_t h = keys * values * (1 + below(2));
	int64_t m = 1 + below(MOST), n = 1 + below(MOST);
	int64_t d = STEP * (1 + below(WIDTHS)), e = below(2) ? d : STEP * (1 + below(WIDTHS));
	*a = (Attention){.scale = 0.125F * (float)(1 + below(4)), .nadded = below(3)};
	set_arg(a, Q, type, (const int64_t[]){b, h, m, d}, below(2));
	set_arg(a, K, type, (const int64_t[]){b, keys, n, d}, below(2));
	set_arg(a, V, type, (const int64_t[]){b, values, n, e}, below(2));
	for (int i = ADDED; i <= ALSO_ADDED; i++) {
		set_arg(a, i, below(2) ? type : DT_F32,
		        (const int64_t[]){below(2) ? b : 1, below(2) ? h : 1, below(2) ? m : 1, n}, false);
		a->args[i].type = i - ADDED < a->nadded ? a->args[i].type : DT_NONE;
	}
	set_arg(a, RESULT, type, (const int64_t[]){b, h, m, e}, below(2));
	a->attrs[0] = (StepAttr){.name = "scale", .kind = SA_FLOATS, .count = 1, .floats = &a->scale};
	a->call = (VendorCall){"cudnn", "attention", ARGS, a->args, 1, a->attrs};
}

static const char *
attention_text(const Attention *a)
{
	static char text[200];
	const int64_t *q = a->dims[Q], *v = a->dims[V];
	snprintf(text, sizeof text, "%s, %d x %d heads of %d, %d to %d of %d, values of %d, %d added",
	         dtype_name(a->args[Q].type), (int)q[0], (int)q[1], (int)v[1], (int)q[2], (int)v[2],
	         (int)q[3], (int)v[3], a->nadded);
	return text;
}

static double
at(const Attention *a, int arg, double *const *memory, const int64_t index[HEADS])
{
	int64_t place = 0;
	for (int i = 0; i < HEADS; i++) {
		int64_t shared = i == 1 ? a->dims[Q][1] / a->dims[arg][1] : 1;
		place += a->dims[arg][i] == 1 ? 0 : index[i] / shared * a->strides[arg][i];
	}
	return memory[arg][place];
}

static double
score(const Attention *a, double *const *memory, const int64_t y[HEADS], int64_t j)
{
	double sum = 0, added = 0;
	for (int i = ADDED; i < ADDED + a->nadded; i++)
		added += at(a, i, memory, (const int64_t[]){y[0], y[1], y[2], j});
	for (int64_t d = 0; d < a->dims[Q][3]; d++)
		sum += at(a, Q, memory, (const int64_t[]){y[0], y[1], y[2], d}) *
		       at(a, K, memory, (const int64_t[]){y[0], y[1], j, d});
	return sum * (double)a->scale + added;
}

static double
wanted(const Attention *a, double *const *memory, const int64_t y[HEADS])
{
	double largest = -INFINITY, sum = 0, weighted = 0;
	for (int64_t j = 0; j < a->dims[K][2]; j++)
		largest = fmax(largest, score(a, memory, y, j));
	for (int64_t j = 0; j < a->dims[K][2]; j++) {
		double p = exp(score(a, memory, y, j) - largest);
		sum += p;
		weighted += p * at(a, V, memory, (const int64_t[]){y[0], y[1], j, y[3]});
	}
	return weighted / sum;
}

static void
compare(const Attention *a, double *const *memory)
{
	int64_t y[HEADS];
	for (int64_t i = 0; i < volume(a->dims[RESULT], HEADS); i++) {
		int64_t rest = i;
		for (int d = HEADS - 1; d >= 0; rest /= a->dims[RESULT][d--])
			y[d] = rest % a->dims[RESULT][d];
		double want = wanted(a, memory, y), is = at(a, RESULT, memory, y);
		ck_element_msg(fabs(is - want) < 1e-9 * (1 + fabs(want)),
		               "%s: element %d is %g, not %g\n%.3000s", attention_text(a), (int)i, is, want,
		               plan);
	}
}

static void
evaluate(const Attention *a)
{
	double *memory[ARGS + 1] = {NULL}, scale = (double)a->scale;
	for (int k = 0; k < ARGS; k++) {
		int64_t size = volume(a->dims[k], HEADS);
		memory[k] = malloc((size_t)size * sizeof **memory);
		for (int64_t i = 0; i < size; i++)
			memory[k][i] = below(9) / 4.0 - 1;
	}
	memory[ARGS] = &scale; /* the tensor behind the arguments */
	run_plan(memory);
	compare(a, memory);
	for (int k = 0; k < ARGS; k++)
		free(memory[k]);
}

/* Nobody compiles an engine to answer. */
START_TEST(attention_is_accepted)
{
	open_for(&devices[_i]);
	for (int i = 0; vendor && i < count; i++) {
		Attention a;
		draw_attention(&a);
		ck_assert_msg(accept(&a.call), "%s: %s", attention_text(&a), error);
		ck_assert_msg(strncmp(impl, "at open: ", 9) == 0, "%s: %s", attention_text(&a), impl);
	}
}
END_TEST

START_TEST(attention_means_the_call)
{
	bool is_there = has_driver();
	open_for(&devices[_i]);
	if (vendor)
		watch_plans();
	for (int i = 0; vendor && i < count; i++) {
		Attention a;
		draw_attention(&a);
		ck_assert_msg(is_there && make_plan(&a.call, &a.attrs[1]), "%s: %s", attention_text(&a),
		              error);
		evaluate(&a);
	}
}
END_TEST

static void
fill_attention(Attention *a, int64_t width)
{
	*a = (Attention){.scale = 1};
	for (int k = 0; k < ARGS; k++)
		set_arg(a, k, DT_F16, (const int64_t[]){2, 2, 16, width}, false);
	a->args[ADDED].type = a->args[ALSO_ADDED].type = DT_NONE;
	a->attrs[0] = (StepAttr){.name = "scale", .kind = SA_FLOATS, .count = 1, .floats = &a->scale};
	a->call = (VendorCall){"cudnn", "attention", ARGS, a->args, 1, a->attrs};
}

/* What the row's limits keep away. */
START_TEST(widths_that_have_no_engine)
{
	static const int64_t widths[] = {60, 4, 264};
	bool is_there = has_driver();
	open_for(&devices[1]);
	for (size_t i = 0; vendor && i < countof(widths); i++) {
		Attention a;
		fill_attention(&a, widths[i]);
		ck_assert(is_there && !make_plan(&a.call, &a.attrs[1]));
	}
}
END_TEST

/* Over keys that are turned cuDNN would end the process. */
START_TEST(numbers_lie_side_by_side)
{
	open_for(&devices[1]);
	for (int arg = 0; vendor && arg < ARGS; arg++) {
		Attention a;
		fill_attention(&a, 64);
		a.args[ADDED].type = a.args[ALSO_ADDED].type = DT_F16;
		a.strides[arg][3] = 16;
		a.strides[arg][2] = 1;
		ck_assert(!accept(&a.call) && strstr(error, "lie apart"));
		a.strides[arg][3] = 1;
		a.strides[arg][2] = 65;
		ck_assert(accept(&a.call) == (arg == ADDED || arg == ALSO_ADDED));
	}
}
END_TEST

int
main(int argc, char **argv)
{
	TCase *tcase = tcase_create("cudnn_attention");
	count = argc > 1 ? atoi(argv[1]) : 3;
	state = argc > 2 ? (uint64_t)atoi(argv[2]) : state;
	tcase_add_checked_fixture(tcase, NULL, tear_down);
	tcase_add_loop_test(tcase, attention_is_accepted, 0, (int)countof(devices));
	tcase_add_loop_test(tcase, attention_means_the_call, 0, 2);
	tcase_add_test(tcase, widths_that_have_no_engine);
	tcase_add_test(tcase, numbers_lie_side_by_side);
	return unit_run(tcase);
}
