/* What cuDNN is told means what the call says: the graph is read back from the JSON of the plan
 * that cuDNN made of it, evaluated by what cuDNN's manual says of its operations, and compared with
 * the definition of the row, on the same memory. Without the library the test says "skipped".
 */
#include <math.h>

#include "base/json.h"
#include "cudnn_calls.h"
#include "runtime/cudnn/api.h"

enum { CHANNELS = 5, PLACES = 6, NAMES = 110, RANK = 5 };

/* ---- the JSON of a plan ---- */

static char plan[1 << 16];
static int (*destroy)(CudnnDescriptor *descriptor);

/* Descriptors are given back once all is asked: of a plan, its JSON is kept before. */
static int
keep_plan(CudnnDescriptor *descriptor)
{
	enum { PLAN_JSON = 405 };
	int64_t size = 0;
	const CudnnApi *api = &((const Cudnn *)vendor)->api;
	if (!api->BackendGetAttribute(descriptor, PLAN_JSON, CUDNN_TYPE_CHAR, sizeof plan - 1, &size,
	                              plan))
		plan[size] = 0;
	return destroy(descriptor);
}

static void
watch_plans(void)
{
	CudnnApi *api = &((Cudnn *)vendor)->api;
	destroy = api->BackendDestroyDescriptor;
	api->BackendDestroyDescriptor = keep_plan;
}

/* ---- a graph of cuDNN's ---- */

typedef struct Tensor {
	int rank;
	int64_t dim[RANK], stride[RANK];
	double *data;
	bool is_own;
} Tensor;

static Tensor tensors[NAMES];

static int
numbers(const Json *object, const char *name, int64_t *to)
{
	int length = 0;
	const Json *list = json_member(object, name);
	for (const Json *item = json_is(list, JSON_ARRAY) ? list->child : NULL; item; item = item->next)
		to[length++] = (int64_t)item->number;
	return length;
}

static const char *
text(const Json *object, const char *name)
{
	const Json *member = json_member(object, name);
	return json_is(member, JSON_TEXT) ? member->text : "";
}

static double
number(const Json *object, const char *name)
{
	const Json *member = json_member(object, name);
	ck_assert_msg(json_is(member, JSON_NUMBER), "%s", name);
	return member->number;
}

static Tensor *
tensor_of(const Json *node, const char *name)
{
	return &tensors[atoi(text(node, name))];
}

static int64_t
volume(const int64_t *dims, int rank)
{
	return rank == 0 ? 1 : dims[0] * volume(dims + 1, rank - 1);
}

/* Where element number i lies, of these dims in order; a tensor's dim of 1 stands still. */
static double *
element(const Tensor *t, const int64_t *dims, int64_t i)
{
	int64_t at = 0;
	for (int d = t->rank - 1; d >= 0; i /= dims[d--])
		at += t->dim[d] == 1 ? 0 : i % dims[d] * t->stride[d];
	return &t->data[at];
}

static void
read_tensor(const Json *json, double *const *memory)
{
	int id = atoi(text(json, "name"));
	Tensor *t = &tensors[id];
	t->rank = numbers(json, "dim", t->dim);
	ck_assert_int_eq(numbers(json, "stride", t->stride), t->rank);
	t->is_own = json_member(json, "isVirtual")->number != 0;
	t->data = t->is_own ? calloc((size_t)volume(t->dim, t->rank), sizeof *t->data) : memory[id - 1];
}

/* One element of a convolution's result. */
static double
sum_at(const Json *node, const int64_t *at)
{
	const Tensor *x = tensor_of(node, "X"), *w = tensor_of(node, "W");
	int64_t strides[RANK], dilations[RANK], pads[RANK], taps = volume(w->dim + 1, w->rank - 1);
	int spatial = numbers(node, "stride", strides);
	ck_assert_int_eq(numbers(node, "dilation", dilations), spatial);
	ck_assert_int_eq(numbers(node, json_member(node, "pad") ? "pad" : "pad_lower", pads), spatial);
	int64_t per_group = w->dim[0] / (x->dim[1] / w->dim[1]);
	double sum = 0;
	for (int64_t t = 0; t < taps; t++) {
		int64_t rest = t, from_w = at[1] * w->stride[0], from_x = at[0] * x->stride[0];
		bool is_inside = true;
		for (int d = w->rank - 1; d >= 2; rest /= w->dim[d--]) {
			int64_t r = rest % w->dim[d];
			int64_t i = at[d] * strides[d - 2] + r * dilations[d - 2] - pads[d - 2];
			is_inside &= 0 <= i && i < x->dim[d];
			from_w += r * w->stride[d];
			from_x += i * x->stride[d];
		}
		from_w += rest * w->stride[1];
		from_x += (rest + at[1] / per_group * w->dim[1]) * x->stride[1];
		sum += is_inside ? x->data[from_x] * w->data[from_w] : 0;
	}
	return sum;
}

static void
run_convolution(const Json *node)
{
	const Tensor *y = tensor_of(node, "Y");
	ck_assert_str_eq(text(node, "mode"), "CUDNN_CROSS_CORRELATION");
	ck_assert(number(node, "alpha") == 1 && number(node, "beta") == 0);
	for (int64_t i = 0; i < volume(y->dim, y->rank); i++) {
		int64_t at[RANK], rest = i;
		for (int d = y->rank - 1; d >= 0; rest /= y->dim[d--])
			at[d] = rest % y->dim[d];
		*element(y, y->dim, i) = sum_at(node, at);
	}
}

static double
pointwise(const Json *node, const char *mode, double x, double b)
{
	if (strcmp(mode, "ADD") == 0)
		return x + b;
	if (strcmp(mode, "MUL") == 0)
		return x * b;
	if (strcmp(mode, "SIGMOID_FWD") == 0)
		return 1 / (1 + exp(-x));
	ck_assert_str_eq(mode, "RELU_FWD");
	ck_assert(number(node, "lowerClipSlope") == 0);
	return fmin(fmax(x, number(node, "lowerClip")), number(node, "upperClip"));
}

static void
run_pointwise(const Json *node)
{
	static const char prefix[] = "CUDNN_POINTWISE_";
	const Tensor *x = tensor_of(node, "X"), *y = tensor_of(node, "Y"), *b = NULL;
	const char *mode = text(node, "pointwiseMode");
	ck_assert(strncmp(mode, prefix, strlen(prefix)) == 0);
	if (json_member(node, "B"))
		b = tensor_of(node, "B");
	for (int64_t i = 0; i < volume(y->dim, y->rank); i++)
		*element(y, y->dim, i) = pointwise(node, mode + strlen(prefix), *element(x, y->dim, i),
		                                   b ? *element(b, y->dim, i) : 0);
}

static void
run_plan(double *const *memory)
{
	Json *json = json_read(plan, strlen(plan));
	const Json *graph = json_member(json, "operationGraph");
	ck_assert_msg(graph != NULL, "%s", plan);
	for (const Json *t = json_member(graph, "tensors")->child; t; t = t->next)
		read_tensor(t, memory);
	for (const Json *node = json_member(graph, "nodes")->child; node; node = node->next)
		if (strstr(text(node, "operation"), "CONVOLUTION_FORWARD"))
			run_convolution(node);
		else
			run_pointwise(node);
	for (int i = 0; i < NAMES; i++)
		if (tensors[i].is_own)
			free(tensors[i].data);
	memset(tensors, 0, sizeof tensors);
	json_free(json);
}

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

static int64_t
place(const Conv *c, const int64_t d[RANK], const int64_t i[RANK])
{
	int64_t area = d[2] * d[3] * d[4], in_area = (i[2] * d[3] + i[3]) * d[4] + i[4];
	return c->args[0].layout ? (i[0] * area + in_area) * d[1] + i[1]
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
		sum += is_inside ? memory[0][place(c, dx, x)] * memory[1][place(c, dw, r)] : 0;
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
		int64_t here = place(c, dy, at);
		double want =
			posts_of(c->attrs[4].string, value_of(c, memory, at), last == 4 ? memory[3][here] : 0);
		ck_element_msg(fabs(memory[last][here] - want) < 1e-9, "%s: element %d is %g, not %g\n%s",
		               text_of(c), (int)i, memory[last][here], want, plan);
	}
}

START_TEST(graphs_mean_the_call)
{
	int seen = 0, sums = 0;
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
	}
	ck_assert_msg(!vendor || (seen > count / 4 && sums > 0), "%d plans, %d sums", seen, sums);
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
