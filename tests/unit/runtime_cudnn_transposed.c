/* Transposed convolutions as cuDNN is told of them: the graph of each plan, read back, means the
 * row's definition. Without the library the test says "skipped".
 *
 *     build/test/runtime_cudnn_transposed COUNT SEED
 */
#include "cudnn_graph.h"

/* x, w and the window as a call has them; y is what is long enough, and less than a stride more. */
static void
draw_transposed(Conv *c)
{
	static const DType types[] = {DT_F32, DT_F16, DT_BF16};
	int spatial = 1 + below(3), rank = spatial + 2;
	DType type = types[below(3)];
	int groups = below(2) ? 1 : 1 + below(5);
	*c = (Conv){.x = {1 + below(3), groups * (1 + below(5))}, .w = {0, 1 + below(5)}};
	c->groups[0] = groups;
	c->w[0] = c->x[1];
	c->y[0] = c->x[0];
	c->y[1] = c->w[1] * groups;
	for (int i = 0; i < spatial; i++) {
		c->x[i + 2] = 1 + below(6);
		c->w[i + 2] = 1 + below(4);
		c->strides[i] = 1 + below(3);
		c->dilations[i] = 1 + below(2);
		int64_t used = c->dilations[i] * (c->w[i + 2] - 1) + 1;
		int64_t whole = (c->x[i + 2] - 1) * c->strides[i] + used + below((int)c->strides[i]);
		int64_t before = below((int)used), behind = below((int)used);
		bool is_cut = before + behind < whole;
		c->pads[i] = is_cut ? before : 0;
		c->y[i + 2] = is_cut ? whole - before - behind : whole;
	}
	for (int i = 0; i < 4; i++)
		c->args[i] = (VendorArg){.type = i == 2 ? DT_NONE : type, .rank = rank};
	c->args[0].dims = c->x;
	c->args[1].dims = c->w;
	c->args[3].dims = c->y;
	c->attrs[0] = ints("strides", spatial, c->strides);
	c->attrs[1] = ints("dilations", spatial, c->dilations);
	c->attrs[2] = ints("pads_lo", spatial, c->pads);
	c->attrs[3] = ints("group", 1, c->groups);
	c->call = (VendorCall){"cudnn", "conv_transpose", 4, c->args, 4, c->attrs};
}

static const char *
transposed_text(const Conv *c)
{
	static char text[300];
	int rank = c->args[0].rank;
	size_t used = (size_t)snprintf(text, sizeof text, "%s, %d groups:", dtype_name(c->args[0].type),
	                               (int)c->groups[0]);
	for (int i = 0; i < rank; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, " %d,%d>%d", (int)c->x[i],
		                         (int)c->w[i], (int)c->y[i]);
	for (int i = 0; i + 2 < rank; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, " s%d d%d p%d",
		                         (int)c->strides[i], (int)c->dilations[i], (int)c->pads[i]);
	return text;
}

/* ---- the row's definition: each element of x goes where the window has it ---- */

static int64_t
flat(const int64_t *dims, const int64_t *index, int rank)
{
	int64_t at = 0;
	for (int d = 0; d < rank; d++)
		at = at * dims[d] + index[d];
	return at;
}

static void
unflatten(const int64_t *dims, int64_t at, int64_t *index, int rank)
{
	for (int d = rank - 1; d >= 0; at /= dims[d--])
		index[d] = at % dims[d];
}

static void
scatter(const Conv *c, const double *x, const double *w, double *y)
{
	int rank = c->args[0].rank;
	int64_t from[RANK], tap[RANK], to[RANK];
	for (int64_t i = 0; i < volume(c->x, rank); i++)
		for (int64_t t = 0; t < volume(c->w, rank); t++) {
			unflatten(c->x, i, from, rank);
			unflatten(c->w, t, tap, rank);
			bool is_inside = tap[0] == from[1];
			to[0] = from[0];
			to[1] = tap[1] + from[1] / (c->x[1] / c->groups[0]) * c->w[1];
			for (int d = 2; d < rank; d++) {
				to[d] = from[d] * c->strides[d - 2] + tap[d] * c->dilations[d - 2] - c->pads[d - 2];
				is_inside &= 0 <= to[d] && to[d] < c->y[d];
			}
			if (is_inside)
				y[flat(c->y, to, rank)] += x[i] * w[t];
		}
}

static void
compare(const Conv *c)
{
	int rank = c->args[0].rank;
	int64_t nx = volume(c->x, rank), nw = volume(c->w, rank), ny = volume(c->y, rank);
	double *memory[4] = {calloc((size_t)nx, sizeof(double)), calloc((size_t)nw, sizeof(double)),
	                     NULL, calloc((size_t)ny, sizeof(double))};
	double *want = calloc((size_t)ny, sizeof *want);
	for (int64_t i = 0; i < nx; i++)
		memory[0][i] = below(17) - 8;
	for (int64_t i = 0; i < nw; i++)
		memory[1][i] = below(17) - 8;
	scatter(c, memory[0], memory[1], want);
	run_plan(memory);
	for (int64_t i = 0; i < ny; i++)
		ck_element_msg(memory[3][i] == want[i], "%s: element %d is %g, not %g\n%.3000s",
		               transposed_text(c), (int)i, memory[3][i], want[i], plan);
	for (int k = 0; k < 4; k++)
		free(memory[k]);
	free(want);
}

START_TEST(graphs_mean_the_call)
{
	int seen = 0;
	open_for(&devices[_i]);
	state += (uint64_t)_i << 32;
	if (vendor)
		watch_plans();
	for (int i = 0; vendor && i < count; i++) {
		Conv c;
		draw_transposed(&c);
		plan[0] = 0;
		bool is_taken = accept(&c.call);
		bool may_be_refused = c.args[0].type == DT_F32 && strstr(error, "less exactly");
		ck_element_msg(is_taken || may_be_refused, "%s: %s", transposed_text(&c), error);
		if (plan[0] && is_taken)
			compare(&c);
		seen += is_taken && plan[0];
	}
	printf("%s: of %d calls %d have a plan\n", devices[_i].name, count, seen);
	ck_assert(!vendor || seen > count / 4);
}
END_TEST

START_TEST(refusals_are_sentences)
{
	Conv c;
	open_for(&devices[0]);
	if (!vendor)
		return;
	draw_transposed(&c);
	c.y[2] += c.strides[0] + 4; /* as many as no window reaches */
	ck_assert_msg(!accept(&c.call) && strstr(error, "no window reaches"), "%s", error);
	draw_transposed(&c);
	c.args[1].rank = 2;
	ck_assert_msg(!accept(&c.call) && strstr(error, "ranks"), "%s", error);
}
END_TEST

int
main(int argc, char **argv)
{
	TCase *tcase = tcase_create("cudnn_transposed");
	count = argc > 1 ? atoi(argv[1]) : count;
	state = argc > 2 ? (uint64_t)atoi(argv[2]) : state;
	tcase_add_checked_fixture(tcase, NULL, tear_down);
	tcase_add_loop_test(tcase, graphs_mean_the_call, 0, (int)countof(devices));
	tcase_add_test(tcase, refusals_are_sentences);
	return unit_run(tcase);
}
