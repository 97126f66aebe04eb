/* Products as cuDNN is told of them: with what stands for a driver (tests/standin_driver) its
 * engines for them, which it compiles where they run, make plans; the graph of each is read back,
 * evaluated, and compared with the row's definition. Without the library the test says "skipped".
 *
 *     build/test/runtime_cudnn_products COUNT SEED
 */
#include "cudnn_graph.h"

typedef struct Product {
	int64_t dims[RANK][RANK], turned[2];
	VendorArg args[RANK];
	StepAttr attrs[4];
	const char *post;
	VendorCall call;
} Product;

static void
set_arg(Product *p, int arg, DType type, int rank)
{
	p->args[arg] = (VendorArg){.type = type, .rank = rank, .dims = p->dims[arg]};
}

static void
draw_product(Product *p)
{
	static const char *const posts[] = {"", "relu", "sigmoid", "add(3)", "add(3);relu", "mul(3)"};
	enum { MOST_SIDE = 24 };
	int64_t m = 1 + below(MOST_SIDE), n = 1 + below(MOST_SIDE), k = 1 + below(MOST_SIDE);
	DType type = below(2) ? DT_F16 : DT_BF16;
	int nbatch = below(3);
	*p = (Product){.post = posts[below(6)], .turned = {below(2), below(2)}};
	int last = strchr(p->post, '3') ? 4 : 3;
	for (int i = 0; i < nbatch; i++) {
		int64_t extent = 1 + below(3);
		p->dims[0][i] = p->dims[3][i] = p->dims[last][i] = extent;
		p->dims[1][i] = below(3) ? extent : 1;
	}
	p->dims[0][nbatch + p->turned[0]] = p->dims[last][nbatch] = p->dims[3][nbatch] = m;
	p->dims[0][nbatch + 1 - p->turned[0]] = p->dims[1][nbatch + p->turned[1]] = k;
	p->dims[1][nbatch + 1 - p->turned[1]] = p->dims[2][0] = n;
	p->dims[last][nbatch + 1] = p->dims[3][nbatch + 1] = n;
	for (int i = 0; i <= last; i++)
		set_arg(p, i, type, i == 2 ? 1 : nbatch + 2);
	p->args[2].type = below(2) ? type : DT_NONE;
	p->attrs[0] = ints("transpose_a", 1, &p->turned[0]);
	p->attrs[1] = ints("transpose_b", 1, &p->turned[1]);
	p->attrs[2] = (StepAttr){.name = "post", .kind = SA_STRING, .count = 1, .string = p->post};
	p->call = (VendorCall){"cudnn", "matmul", last + 1, p->args, 3, p->attrs};
}

static const char *
product_text(const Product *p)
{
	static char text[300];
	size_t used =
		(size_t)snprintf(text, sizeof text, "%s%s%s%s, post '%s':", dtype_name(p->args[0].type),
	                     p->turned[0] ? ", a turned" : "", p->turned[1] ? ", b turned" : "",
	                     p->args[2].type ? ", bias" : "", p->post);
	for (int a = 0; a < 2; a++)
		for (int i = 0; i < p->args[a].rank; i++)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i ? "x" : " ",
			                         (int)p->dims[a][i]);
	return text;
}

/* Whether the second factor has some of the result's batch, and lacks some. */
static bool
is_in_runs(const Product *p)
{
	int nbatch = p->args[0].rank - 2, own = 0, lacking = 0;
	for (int i = 0; i < nbatch; i++) {
		own += p->dims[1][i] > 1;
		lacking += p->dims[1][i] < p->dims[0][i];
	}
	return own && lacking;
}

static double
behind(const char *post, double x, double z)
{
	x = strstr(post, "add") ? x + z : strstr(post, "mul") ? x * z : x;
	return strstr(post, "relu") ? fmax(x, 0) : strstr(post, "sigmoid") ? 1 / (1 + exp(-x)) : x;
}

/* Where a factor's element (row, column) is, of the matrix with this number of the result's. */
static int64_t
place(const Product *p, int arg, int64_t matrix, int64_t row, int64_t column)
{
	const int64_t *dims = p->dims[arg], *batch = p->dims[p->call.narg - 1];
	int nbatch = p->args[arg].rank - 2;
	int64_t at = 0, factor = dims[nbatch] * dims[nbatch + 1];
	for (int i = nbatch - 1; i >= 0; factor *= dims[i], matrix /= batch[i], i--)
		at += (dims[i] == 1 ? 0 : matrix % batch[i]) * factor;
	return at +
	       (p->turned[arg] ? column * dims[nbatch + 1] + row : row * dims[nbatch + 1] + column);
}

static void
compare(const Product *p, double *const *memory)
{
	int last = p->call.narg - 1, nbatch = p->args[last].rank - 2;
	int64_t m = p->dims[last][nbatch], n = p->dims[last][nbatch + 1];
	int64_t terms = p->dims[0][nbatch + 1 - p->turned[0]];
	for (int64_t i = 0; i < volume(p->dims[last], nbatch + 2); i++) {
		double sum = p->args[2].type == DT_NONE ? 0 : memory[2][i % n];
		for (int64_t k = 0; k < terms; k++)
			sum += memory[0][place(p, 0, i / n / m, i / n % m, k)] *
			       memory[1][place(p, 1, i / n / m, k, i % n)];
		double want = behind(p->post, sum, last == 4 ? memory[3][i] : 0);
		ck_element_msg(fabs(memory[last][i] - want) < 1e-9,
		               "'%s': element %d is %g, not %g\n%.3000s", p->post, (int)i, memory[last][i],
		               want, plan);
	}
}

START_TEST(products_mean_the_call)
{
	bool is_there = has_driver();
	open_for(&devices[1]);
	if (vendor)
		watch_plans();
	for (int i = 0; vendor && i < count; i++) {
		double *memory[RANK] = {NULL};
		Product p;
		draw_product(&p);
		if (is_in_runs(&p)) {
			ck_assert(!accept(&p.call) && strstr(error, "several runs"));
			continue;
		}
		ck_assert_msg(is_there && make_plan(&p.call, &p.attrs[3]), "%s: %s", product_text(&p),
		              error);
		for (int a = 0; a < p.call.narg; a++) {
			int64_t size = volume(p.dims[a], p.args[a].rank);
			memory[a] = malloc((size_t)size * sizeof **memory);
			for (int64_t k = 0; k < size; k++)
				memory[a][k] = below(17) - 8;
		}
		run_plan(memory);
		compare(&p, memory);
		for (int a = 0; a < RANK; a++)
			free(memory[a]);
	}
}
END_TEST

int
main(int argc, char **argv)
{
	TCase *tcase = tcase_create("cudnn_products");
	count = argc > 1 ? atoi(argv[1]) : 5;
	state = argc > 2 ? (uint64_t)atoi(argv[2]) : state;
	tcase_add_checked_fixture(tcase, NULL, tear_down);
	tcase_add_test(tcase, products_mean_the_call);
	return unit_run(tcase);
}
