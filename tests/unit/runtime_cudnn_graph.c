/* What cuDNN is told means what the call says: the graph is read back from the JSON of the plan
 * that cuDNN made of it, evaluated by what cuDNN's manual says of its operations, and compared with
 * the definition of the row, on the same memory. Without the library the test says "skipped".
 */
#include <math.h>

#include "cudnn_graph.h"

enum { CHANNELS = 5, PLACES = 6 };

/* ---- the row's definition ---- */

/* Dims of an argument as n, c, depth, height, width. */
static void
spread(const Conv *c, int arg, int64_t d[RANK])
{
	int rank = c->args[arg].rank;
	for (int i = 0; i < RANK; i++)
		d[i] = i < 2                 ? c->args[arg].dims[i]
		       : i < RANK - rank + 2 ? 1
		                             : c->args[arg].dims[i - 5 + rank];
}

/* `pitch`: channels from place to place; 0: as many as there are. */
static int64_t
place(const Conv *c, const int64_t d[RANK], const int64_t i[RANK], int64_t pitch)
{
	int64_t area = d[2] * d[3] * d[4], in_area = (i[2] * d[3] + i[3]) * d[4] + i[4];
	return c->args[0].layout ? (i[0] * area + in_area) * (pitch ? pitch : d[1]) + i[1]
	                         : (i[0] * d[1] + i[1]) * area + in_area;
}

static double
value_of(const Conv *c, double *const *memory, const int64_t y[RANK])
{
	int64_t dx[RANK], dw[RANK];
	int first = RANK - c->args[0].rank;
	double sum = 0;
	spread(c, 0, dx);
	spread(c, 1, dw);
	for (int64_t t = 0; t < volume(dw + 1, 4); t++) {
		int64_t r[RANK] = {y[1]}, x[RANK] = {y[0]}, rest = t;
		bool is_inside = true;
		for (int d = 4; d >= 1; rest /= dw[d--])
			r[d] = rest % dw[d];
		x[1] = r[1] + y[1] / (dw[0] / c->groups[0]) * dw[1];
		for (int d = 2; d < RANK; d++) {
			int k = d - 2 - first;
			x[d] = k < 0 ? 0 : y[d] * c->strides[k] + r[d] * c->dilations[k] - c->pads[k];
			is_inside &= 0 <= x[d] && x[d] < dx[d];
		}
		sum += is_inside ? memory[0][place(c, dx, x, 0)] * memory[1][place(c, dw, r, 0)] : 0;
	}
	return sum + (c->args[2].type == DT_NONE ? 0 : memory[2][y[1]]);
}

static double
posts_of(const char *post, double x, double z)
{
	x = strstr(post, "sum") ? x + z : x;
	x = strstr(post, "relu") || strstr(post, "clip") ? fmax(x, 0) : x;
	x = strstr(post, "clip") ? fmin(x, 6) : x;
	x = strstr(post, "mul") ? x * z : x;
	return strstr(post, "sigmoid") ? 1 / (1 + exp(-x)) : x;
}

/* ---- both ---- */

static void
fill(const Conv *c, double **memory)
{
	for (int i = 0; i < c->call.narg; i++) {
		int64_t size = volume(c->args[i].dims, c->args[i].rank);
		size = i > 2 && c->pitch ? size / c->y[1] * c->pitch : size;
		memory[i] = malloc((size_t)size * sizeof **memory);
		for (int64_t k = 0; k < size; k++)
			memory[i][k] = below(17) - 8;
	}
}

static void
compare(const Conv *c, double *const *memory)
{
	int64_t dy[RANK], at[RANK];
	int last = c->call.narg - 1;
	spread(c, last, dy);
	for (int64_t i = 0; i < volume(dy, RANK); i++) {
		int64_t rest = i;
		for (int d = 4; d >= 0; rest /= dy[d--])
			at[d] = rest % dy[d];
		int64_t here = place(c, dy, at, c->pitch);
		double want =
			posts_of(c->attrs[4].string, value_of(c, memory, at), last == 4 ? memory[3][here] : 0);
		ck_element_msg(fabs(memory[last][here] - want) < 1e-9, "%s: element %d is %g, not %g\n%s",
		               text_of(c), (int)i, memory[last][here], want, plan);
	}
}

START_TEST(graphs_mean_the_call)
{
	int seen = 0, sums = 0, parts = 0;
	open_for(&devices[_i]);
	state += (uint64_t)(_i + 100) << 32;
	if (vendor)
		watch_plans();
	for (int i = 0; vendor && i < count; i++) {
		double *memory[5] = {NULL};
		Conv c;
		draw(&c, CHANNELS, PLACES);
		plan[0] = 0;
		if (!accept_drawn(&c) || !plan[0])
			continue; /* no plan: at open */
		fill(&c, memory);
		run_plan(memory);
		compare(&c, memory);
		for (int k = 0; k < 5; k++)
			free(memory[k]);
		seen++;
		sums += strstr(c.attrs[4].string, "sum") != NULL;
		parts += c.pitch > 0;
	}
	ck_assert_msg(!vendor || (seen > count / 4 && sums > 0 && parts > 0),
	              "%d plans, %d sums, %d parts", seen, sums, parts);
}
END_TEST

int
main(int argc, char **argv)
{
	TCase *tcase = tcase_create("cudnn_graph");
	count = argc > 1 ? atoi(argv[1]) : 60;
	tcase_add_checked_fixture(tcase, NULL, tear_down);
	tcase_add_loop_test(tcase, graphs_mean_the_call, 0, (int)countof(devices));
	return unit_run(tcase);
}
