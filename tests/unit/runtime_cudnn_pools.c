/* Pools as cuDNN is told of them: it makes a plan for each that the rows of vendor.def have, and
 * what the plan's graph means, read back, is the row's definition. Of channels that lie last its
 * engines are compiled where they run: for those what stands for a driver (tests/standin_driver) is
 * brought, behind all others. Without the library the test says "skipped".
 *
 *     build/test/runtime_cudnn_pools COUNT SEED
 */
#include "cudnn_graph.h"

enum { DIMS_MOST = 3, LAST_COUNT = 6 };

typedef struct Pool {
	int64_t x[RANK], y[RANK], size[DIMS_MOST], strides[DIMS_MOST], pads[DIMS_MOST];
	VendorArg args[2];
	StepAttr attrs[6];
	VendorCall call;
} Pool;

static StepAttr
word(const char *name, const char *value)
{
	return (StepAttr){.name = name, .kind = SA_STRING, .count = 1, .string = value};
}

/* x and the window are there: the rest follows. */
static void
complete_pool(Pool *p, int spatial, DType type, const char *kind, const char *layout)
{
	p->y[0] = p->x[0];
	p->y[1] = p->x[1];
	p->args[0] = (VendorArg){.type = type, .rank = spatial + 2, .dims = p->x, .layout = layout};
	p->args[1] = (VendorArg){.type = type, .rank = spatial + 2, .dims = p->y, .layout = layout};
	p->attrs[0] = ints("kernel", spatial, p->size);
	p->attrs[1] = ints("strides", spatial, p->strides);
	p->attrs[2] = ints("pads_lo", spatial, p->pads);
	p->attrs[3] = word("kind", kind);
	p->call = (VendorCall){"cudnn", "pool", 2, p->args, 4, p->attrs};
}

/* As the rows' limits have it: an element in each window. */
static void
draw_pool(Pool *p, bool is_last)
{
	static const DType types[] = {DT_F32, DT_F16, DT_BF16};
	static const char *const kinds[] = {"max", "avg_padded", "avg"};
	static const char *const layouts[] = {"nwc", "nhwc", "ndhwc"};
	int spatial = 1 + below(DIMS_MOST);
	*p = (Pool){.x = {1 + below(3), is_last ? 2 + below(15) : 1 + below(6)}};
	for (int i = 0; i < spatial; i++) {
		int size = 1 + below(5), stride = 1 + below(3), before = below(size), behind = below(size);
		int least = size > before + behind ? size - before - behind : 1;
		int64_t x = least + below(7), windows = (x + before + behind - size) / stride + 1;
		int left = is_last || below(4) ? 0 : below(3);
		p->x[i + 2] = x;
		p->y[i + 2] = left < windows ? windows - left : windows;
		p->size[i] = size;
		p->strides[i] = stride;
		p->pads[i] = before;
	}
	complete_pool(p, spatial, types[below(3)], kinds[below(3)],
	              is_last ? layouts[spatial - 1] : NULL);
}

static const char *
pool_text(const Pool *p)
{
	static char text[300];
	int rank = p->args[0].rank;
	size_t used =
		(size_t)snprintf(text, sizeof text, "%s, %s, %s:", dtype_name(p->args[0].type),
	                     p->attrs[3].string, p->args[0].layout ? p->args[0].layout : "row-major");
	for (int i = 0; i < rank; i++)
		used +=
			(size_t)snprintf(text + used, sizeof text - used, " %d>%d", (int)p->x[i], (int)p->y[i]);
	for (int i = 0; i + 2 < rank; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, " k%d s%d p%d", (int)p->size[i],
		                         (int)p->strides[i], (int)p->pads[i]);
	return text;
}

/* ---- the row's definition ---- */

/* Where an element lies: channels behind places, or before them. */
static int64_t
place(const VendorArg *arg, const int64_t *index)
{
	int64_t area = volume(arg->dims + 2, arg->rank - 2), in_area = 0;
	for (int d = 2; d < arg->rank; d++)
		in_area = in_area * arg->dims[d] + index[d];
	return arg->layout ? (index[0] * area + in_area) * arg->dims[1] + index[1]
	                   : (index[0] * arg->dims[1] + index[1]) * area + in_area;
}

static double
pool_of(const Pool *p, const double *x, const int64_t *at)
{
	int spatial = p->args[0].rank - 2;
	int64_t from[RANK] = {at[0], at[1]}, taps = volume(p->size, spatial), inside = 0;
	double most = -INFINITY, sum = 0;
	for (int64_t t = 0; t < taps; t++) {
		int64_t rest = t;
		bool is_inside = true;
		for (int d = spatial - 1; d >= 0; rest /= p->size[d--]) {
			from[d + 2] = at[d + 2] * p->strides[d] + rest % p->size[d] - p->pads[d];
			is_inside &= 0 <= from[d + 2] && from[d + 2] < p->x[d + 2];
		}
		double value = is_inside ? x[place(&p->args[0], from)] : 0;
		most = is_inside ? fmax(most, value) : most;
		sum += value;
		inside += is_inside;
	}
	const char *kind = p->attrs[3].string;
	return strcmp(kind, "max") == 0   ? most
	       : strcmp(kind, "avg") == 0 ? sum / (double)inside
	                                  : sum / (double)taps;
}

static void
compare(const Pool *p)
{
	int rank = p->args[0].rank;
	int64_t nx = volume(p->x, rank), ny = volume(p->y, rank);
	double *memory[2] = {malloc((size_t)nx * sizeof(double)), malloc((size_t)ny * sizeof(double))};
	for (int64_t i = 0; i < nx; i++)
		memory[0][i] = below(17) - 20; /* all below 0: padding is not */
	run_plan(memory);
	for (int64_t i = 0; i < ny; i++) {
		int64_t at[RANK], rest = i;
		for (int d = rank - 1; d >= 0; rest /= p->y[d--])
			at[d] = rest % p->y[d];
		double got = memory[1][place(&p->args[1], at)], want = pool_of(p, memory[0], at);
		ck_element_msg(fabs(got - want) < 1e-9, "%s: element %d is %g, not %g\n%.3000s",
		               pool_text(p), (int)i, got, want, plan);
	}
	free(memory[0]);
	free(memory[1]);
}

/* ---- what is asked ---- */

START_TEST(pools_mean_the_call)
{
	open_for(&devices[_i]);
	state += (uint64_t)_i << 32;
	if (vendor)
		watch_plans();
	for (int i = 0; vendor && i < count; i++) {
		Pool p;
		draw_pool(&p, false);
		plan[0] = 0;
		ck_element_msg(accept(&p.call) && plan[0], "%s: %s %s", pool_text(&p), impl, error);
		ck_element_msg(strncmp(impl, "engine ", 7) == 0, "%s: %s", pool_text(&p), impl);
		compare(&p);
	}
}
END_TEST

/* Of f32 it may have an engine of tf32 alone, as one sees where it is compiled. */
START_TEST(channels_last)
{
	bool is_there = has_driver();
	open_for(&devices[_i]);
	state += (uint64_t)(_i + 100) << 32;
	if (vendor)
		watch_plans();
	for (int i = 0; vendor && i < (count < LAST_COUNT ? count : LAST_COUNT); i++) {
		Pool p;
		draw_pool(&p, true);
		bool is_made = is_there && make_plan(&p.call, &p.attrs[4]);
		bool may_fail = p.args[0].type == DT_F32 && strstr(error, "less exactly");
		ck_element_msg(is_made || may_fail, "%s: %s", pool_text(&p), error);
		if (is_made)
			compare(&p);
	}
}
END_TEST

/* Of the engines that cuDNN compiles for this pool the first by number whose configuration is valid
 * makes no plan; one that heuristics list does. */
START_TEST(not_the_first_engine)
{
	Pool p = {.x = {1, 16, 4, 3}, .y = {1, 16, 2, 3}, .size = {1, 1}, .strides = {2, 1}};
	bool is_there = has_driver();
	open_for(&devices[1]);
	if (!vendor)
		return;
	watch_plans();
	complete_pool(&p, 2, DT_BF16, "avg_padded", "nhwc");
	ck_assert_msg(is_there && make_plan(&p.call, &p.attrs[4]), "%s", error);
	compare(&p);
}
END_TEST

START_TEST(refusals_are_sentences)
{
	Pool p = {.x = {1, 4, 8, 8}, .y = {1, 4, 4, 4}, .size = {2, 2}, .strides = {2, 2}};
	open_for(&devices[0]);
	if (!vendor)
		return;
	complete_pool(&p, 2, DT_F32, "max", NULL);
	ck_assert_msg(accept(&p.call), "%s", error);
	complete_pool(&p, 2, DT_F32, "least", NULL);
	ck_assert(!accept(&p.call) && strstr(error, "this pool"));
	complete_pool(&p, 2, DT_I32, "max", NULL);
	ck_assert(!accept(&p.call) && strstr(error, "type"));
	complete_pool(&p, 2, DT_F32, "max", "nc2hw");
	ck_assert(!accept(&p.call) && strstr(error, "blocks"));
	complete_pool(&p, 2, DT_F32, "max", NULL);
	p.args[0].rank = 3;
	ck_assert(!accept(&p.call) && strstr(error, "ranks"));
	complete_pool(&p, 2, DT_F32, "max", NULL);
	p.y[1]++; /* more channels than there are: the library's own words */
	ck_assert_msg(!accept(&p.call) && strncmp(error, "cuDNN says", 10) == 0, "%s %s", impl, error);
	p.call.narg = 1;
	ck_assert(!accept(&p.call) && strstr(error, "this call"));
}
END_TEST

int
main(int argc, char **argv)
{
	TCase *tcase = tcase_create("cudnn_pools");
	count = argc > 1 ? atoi(argv[1]) : count;
	state = argc > 2 ? (uint64_t)atoi(argv[2]) : state;
	tcase_add_checked_fixture(tcase, NULL, tear_down);
	tcase_add_loop_test(tcase, pools_mean_the_call, 0, (int)countof(devices));
	tcase_add_test(tcase, refusals_are_sentences);
	tcase_add_loop_test(tcase, channels_last, 0, 2);
	tcase_add_test(tcase, not_the_first_engine);
	return unit_run(tcase);
}
