/* Kernels of one operator beside a copy of the same bytes, and beside oneDNN's primitive.
 *
 * usage: build/bench-forms [-t THREADS] [-r ROUNDS] BUNDLE… [-- PRIMITIVE]
 *
 *     softmax DIMS AXIS          pool max|avg DIMS KERNEL STRIDE PAD     mean DIMS AXIS…
 *     layernorm DIMS             depthwise DIMS KERNEL STRIDE PAD        reorder DIMS ORDER
 *     eltwise relu|sigmoid|gelu DIMS                                     matmul MxK N
 *     conv DIMS FILTERS KERNEL STRIDE PAD
 *
 * DIMS as 8x64x56x56, an order as 0231. All take turns; what is printed is the lower quartile of
 * each one's times in ms, of the processor for one thread, and how much of a copy's speed the first
 * bundle has, how many times the primitive's, and how many times each further bundle's. A copy
 * reads and writes half of the bytes of the bundle's inputs and outputs each. Convolutions run in
 * rows as the bundle's, and in the layout that the library likes best, with the way there and back
 * ("turned"), without it ("its layout"), and by Winograd's algorithm where the library has it.
 */
#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/tilewright.h"

enum { MOST = 8, MOST_CALLS = 3, MOST_DIMS = 8, MOST_ROUNDS = 1000, HUGE_PAGE = 2 << 20 };

typedef struct Call {
	dnnl_primitive_t primitive;
	dnnl_exec_arg_t args[4];
	int nargs;
} Call;

typedef struct Subject {
	const char *name;
	TwSession *session; /* a bundle; or … */
	float *from, *to;   /* … a copy, of so many bytes; or … */
	size_t bytes;
	Call calls[MOST_CALLS]; /* … primitives */
	int ncall;
	double times[MOST_ROUNDS];
} Subject;

static int threads = 1, rounds = 31;
static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void
fail(const char *what)
{
	fprintf(stderr, "bench-forms: %s\n", what);
	exit(1);
}

static void
check(TwCode code, const TwError *error)
{
	if (code != TW_OK)
		fail(error->text);
}

static void
check_call(dnnl_status_t status)
{
	if (status != dnnl_success)
		fail("the library refuses this primitive");
}

static double
now(void)
{
	struct timespec t;
	clock_gettime(threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *
new_data(size_t bytes)
{
	size_t whole = (bytes + HUGE_PAGE) / HUGE_PAGE * HUGE_PAGE;
	float *data = aligned_alloc(HUGE_PAGE, whole);
	if (!data)
		fail("no memory");
	madvise(data, whole, MADV_HUGEPAGE); /* as the runtime's own memory */
	for (size_t i = 0; i < bytes / sizeof *data; i++)
		data[i] = (float)(i * 37 % 201) / 100 - 1;
	return data;
}

/* ---- bundles ---- */

static size_t
open_bundle(Subject *s, const char *path)
{
	TwError error;
	TwBundle *bundle;
	TwSessionOptions options = {.size = sizeof options, .threads = threads};
	size_t total = 0;
	s->name = path;
	check(tw_open(path, NULL, &bundle, &error), &error);
	check(tw_session_new(bundle, &options, &s->session, &error), &error);
	for (int i = 0; i < tw_input_count(bundle); i++) {
		const TwTensorInfo *info = tw_input(bundle, i);
		int64_t dims[MOST_DIMS];
		size_t bytes = sizeof(float);
		for (int d = 0; d < info->rank && d < MOST_DIMS; d++)
			bytes *= (size_t)(dims[d] = info->dims[d].value);
		check(tw_bind_input(s->session, i, new_data(bytes), bytes, info->rank, dims, &error),
		      &error);
		total += bytes;
	}
	check(tw_prepare(s->session, &error), &error);
	for (int i = 0; i < tw_output_count(bundle); i++) {
		TwTensor tensor;
		check(tw_get_output(s->session, i, &tensor, &error), &error);
		check(tw_bind_output(s->session, i, new_data(tensor.bytes), tensor.bytes, &error), &error);
		total += tensor.bytes;
	}
	return total;
}

/* ---- primitives ---- */

static int
read_dims(const char *text, dnnl_dim_t *dims)
{
	int rank = 0;
	for (const char *at = text; at; at = strchr(at, 'x') ? strchr(at, 'x') + 1 : NULL)
		dims[rank++] = atoll(at);
	return rank;
}

/* Dense, with dims in memory in the order of `order`; NULL: as they are. */
static dnnl_memory_desc_t
dense(int rank, const dnnl_dim_t *dims, const char *order)
{
	dnnl_memory_desc_t desc;
	dnnl_dims_t strides;
	dnnl_dim_t step = 1;
	for (int i = rank - 1; i >= 0; i--) {
		int d = order ? order[i] - '0' : i;
		strides[d] = step;
		step *= dims[d];
	}
	check_call(dnnl_memory_desc_init_by_strides(&desc, rank, dims, dnnl_f32, strides));
	return desc;
}

static dnnl_memory_desc_t
any(int rank, const dnnl_dim_t *dims)
{
	dnnl_memory_desc_t desc;
	check_call(dnnl_memory_desc_init_by_tag(&desc, rank, dims, dnnl_f32, dnnl_format_tag_any));
	return desc;
}

static void
add_argument(Call *call, int index, const dnnl_memory_desc_t *desc)
{
	dnnl_memory_t memory;
	check_call(
		dnnl_memory_create(&memory, desc, engine, new_data(dnnl_memory_desc_get_size(desc))));
	call->args[call->nargs++] = (dnnl_exec_arg_t){index, memory};
}

/* The primitive of what is described; its tensors as its implementation wants them. */
static void
finish(Subject *s, dnnl_primitive_desc_t pd, int has_weights)
{
	Call *call = &s->calls[s->ncall++];
	check_call(dnnl_primitive_create(&call->primitive, pd));
	add_argument(call, DNNL_ARG_SRC, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0));
	if (has_weights)
		add_argument(call, DNNL_ARG_WEIGHTS,
		             dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0));
	add_argument(call, DNNL_ARG_DST, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0));
}

static void
reorder(Subject *s, const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to)
{
	dnnl_primitive_desc_t pd;
	if (dnnl_memory_desc_equal(from, to))
		return;
	check_call(dnnl_reorder_primitive_desc_create(&pd, from, engine, to, engine, NULL));
	finish(s, pd, 0);
}

static void
describe(Subject *s, const void *op, int has_weights)
{
	dnnl_primitive_desc_t pd;
	check_call(dnnl_primitive_desc_create(&pd, op, NULL, engine, NULL));
	finish(s, pd, has_weights);
}

static dnnl_dim_t
extent(dnnl_dim_t size, dnnl_dim_t kernel, dnnl_dim_t stride, dnnl_dim_t pad)
{
	return (size + 2 * pad - kernel) / stride + 1;
}

static void
make_pool(Subject *s, char **a)
{
	dnnl_dims_t in, out;
	int rank = read_dims(a[2], in);
	dnnl_dim_t k = atoi(a[3]), step = atoi(a[4]), pad = atoi(a[5]);
	dnnl_dims_t kernel = {k, k}, strides = {step, step}, none = {0, 0}, pads = {pad, pad};
	memcpy(out, in, sizeof in);
	for (int d = 2; d < rank; d++)
		out[d] = extent(in[d], k, step, pad);
	dnnl_memory_desc_t src = dense(rank, in, NULL), dst = dense(rank, out, NULL);
	dnnl_pooling_v2_desc_t op;
	check_call(dnnl_pooling_v2_forward_desc_init(
		&op, dnnl_forward_inference,
		strcmp(a[1], "max") == 0 ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding, &src, &dst,
		strides, kernel, none, pads, pads));
	describe(s, &op, 0);
}

/* A convolution: depthwise where no filters are named. */
typedef struct Window {
	dnnl_dims_t in, out, filters, strides, pads;
	int rank, is_depthwise;
} Window;

static Window
read_window(char **a)
{
	int is_depthwise = strcmp(a[0], "depthwise") == 0;
	char **rest = a + 3 - is_depthwise; /* KERNEL STRIDE PAD */
	dnnl_dim_t k = atoi(rest[0]), step = atoi(rest[1]), pad = atoi(rest[2]);
	Window w = {.strides = {step, step}, .pads = {pad, pad}, .is_depthwise = is_depthwise};
	w.rank = read_dims(a[1], w.in);
	dnnl_dim_t c = w.in[1], f = is_depthwise ? c : atoi(a[2]);
	dnnl_dims_t out = {w.in[0], f, extent(w.in[2], k, step, pad), extent(w.in[3], k, step, pad)};
	dnnl_dims_t filters = {c, 1, 1, k, k}, full = {f, c, k, k};
	memcpy(w.out, out, sizeof out);
	memcpy(w.filters, is_depthwise ? filters : full, sizeof filters);
	return w;
}

/* NULL: the library has no such implementation. */
static dnnl_primitive_desc_t
window_call(const Window *w, dnnl_alg_kind_t algorithm, int is_any)
{
	const dnnl_dims_t none = {0, 0};
	dnnl_memory_desc_t src = is_any ? any(w->rank, w->in) : dense(w->rank, w->in, NULL),
					   dst = is_any ? any(w->rank, w->out) : dense(w->rank, w->out, NULL),
					   weights = any(w->rank + w->is_depthwise, w->filters);
	dnnl_convolution_desc_t op;
	dnnl_primitive_desc_t pd;
	check_call(dnnl_dilated_convolution_forward_desc_init(&op, dnnl_forward_inference, algorithm,
	                                                      &src, &weights, NULL, &dst, w->strides,
	                                                      none, w->pads, w->pads));
	return dnnl_primitive_desc_create(&pd, &op, NULL, engine, NULL) == dnnl_success ? pd : NULL;
}

static void
turn_window(Subject *s, const char *name, const Window *w, dnnl_primitive_desc_t pd)
{
	dnnl_memory_desc_t src = dense(w->rank, w->in, NULL), dst = dense(w->rank, w->out, NULL);
	s->name = name;
	reorder(s, &src, dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0));
	finish(s, pd, 1);
	reorder(s, dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), &dst);
}

static int
make_windows(Subject *s, char **a)
{
	Window w = read_window(a);
	dnnl_primitive_desc_t rows = window_call(&w, dnnl_convolution_direct, 0),
						  liked = window_call(&w, dnnl_convolution_direct, 1),
						  winograd = window_call(&w, dnnl_convolution_winograd, 1);
	int n = 0;
	if (!rows || !liked)
		fail("the library refuses this convolution");
	s[n].name = "oneDNN";
	finish(&s[n++], rows, 1);
	turn_window(&s[n++], "oneDNN, turned", &w, liked);
	s[n].name = "oneDNN, its layout";
	finish(&s[n++], liked, 1);
	if (winograd)
		turn_window(&s[n++], "oneDNN, Winograd", &w, winograd);
	return n;
}

static void
make_matmul(Subject *s, char **a)
{
	dnnl_dims_t from, right, to;
	read_dims(a[1], from);
	right[0] = from[1];
	right[1] = to[1] = atoll(a[2]);
	to[0] = from[0];
	dnnl_memory_desc_t src = dense(2, from, NULL), dst = dense(2, to, NULL), w = any(2, right);
	dnnl_matmul_desc_t op;
	check_call(dnnl_matmul_desc_init(&op, &src, &w, NULL, &dst));
	describe(s, &op, 1);
}

static void
make_rows(Subject *s, char **a)
{
	dnnl_dims_t dims, reduced;
	int rank = read_dims(a[1], dims);
	dnnl_memory_desc_t src = dense(rank, dims, NULL);
	memcpy(reduced, dims, sizeof dims);
	if (strcmp(a[0], "softmax") == 0) {
		dnnl_softmax_desc_t op;
		check_call(dnnl_softmax_forward_desc_init(&op, dnnl_forward_inference, &src, atoi(a[2])));
		describe(s, &op, 0);
	} else if (strcmp(a[0], "layernorm") == 0) {
		dnnl_layer_normalization_desc_t op;
		check_call(dnnl_layer_normalization_forward_desc_init(&op, dnnl_forward_inference, &src,
		                                                      NULL, 1e-5f, 0));
		describe(s, &op, 0);
	} else {
		dnnl_reduction_desc_t op;
		for (int i = 2; a[i]; i++)
			reduced[atoi(a[i])] = 1;
		dnnl_memory_desc_t dst = dense(rank, reduced, NULL);
		check_call(dnnl_reduction_desc_init(&op, dnnl_reduction_mean, &src, &dst, 0, 0));
		describe(s, &op, 0);
	}
}

static void
make_map(Subject *s, char **a)
{
	dnnl_dims_t dims;
	int is_reorder = strcmp(a[0], "reorder") == 0;
	int rank = read_dims(a[2 - is_reorder], dims);
	dnnl_memory_desc_t src = dense(rank, dims, NULL), dst = src;
	if (is_reorder) {
		dst = dense(rank, dims, a[2]);
		reorder(s, &src, &dst);
		return;
	}
	dnnl_alg_kind_t kind = strcmp(a[1], "relu") == 0      ? dnnl_eltwise_relu
	                       : strcmp(a[1], "sigmoid") == 0 ? dnnl_eltwise_logistic
	                                                      : dnnl_eltwise_gelu_erf;
	dnnl_eltwise_desc_t op;
	check_call(dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, kind, &src, 0, 0));
	describe(s, &op, 0);
}

static int
make_primitives(Subject *s, char **a)
{
	check_call(dnnl_engine_create(&engine, dnnl_cpu, 0));
	check_call(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
	s->name = "oneDNN";
	if (strcmp(a[0], "conv") == 0 || strcmp(a[0], "depthwise") == 0)
		return make_windows(s, a);
	if (strcmp(a[0], "pool") == 0)
		make_pool(s, a);
	else if (strcmp(a[0], "matmul") == 0)
		make_matmul(s, a);
	else if (strcmp(a[0], "reorder") == 0 || strcmp(a[0], "eltwise") == 0)
		make_map(s, a);
	else
		make_rows(s, a);
	return 1;
}

/* ---- turns ---- */

static void
run(const Subject *s)
{
	TwError error;
	if (s->session) {
		check(tw_run(s->session, &error), &error);
	} else if (s->ncall) {
		for (int i = 0; i < s->ncall; i++)
			check_call(dnnl_primitive_execute(s->calls[i].primitive, stream, s->calls[i].nargs,
			                                  s->calls[i].args));
		check_call(dnnl_stream_wait(stream));
	} else {
		typedef float Vector __attribute__((vector_size(64)));
		size_t n = s->bytes / sizeof(Vector);
#pragma omp parallel for num_threads(threads) schedule(static)
		for (size_t i = 0; i < n; i++)
			((Vector *)s->to)[i] = ((Vector *)s->from)[i];
	}
}

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	static Subject subjects[MOST];
	int n = 0, i = 1;
	size_t bytes = 0;
	for (; i + 1 < argc && argv[i][0] == '-' && argv[i][1] != '-'; i += 2)
		*(argv[i][1] == 't' ? &threads : &rounds) = atoi(argv[i + 1]);
	if (rounds < 4 || rounds > MOST_ROUNDS || threads < 1)
		fail("4 to 1000 rounds, at least one thread");
	omp_set_num_threads(threads);
	for (; i < argc && strcmp(argv[i], "--") != 0 && n < MOST - 5; i++) {
		size_t size = open_bundle(&subjects[n++], argv[i]);
		bytes = bytes ? bytes : size;
	}
	if (n == 0)
		fail("no bundle");
	subjects[n++] = (Subject){
		.name = "copy", .from = new_data(bytes / 2), .to = new_data(bytes / 2), .bytes = bytes / 2};
	if (i + 1 < argc)
		n += make_primitives(&subjects[n], argv + i + 1);
	for (int round = -2; round < rounds; round++)
		for (int s = 0; s < n; s++) {
			double start = now();
			run(&subjects[s]);
			if (round >= 0)
				subjects[s].times[round] = (now() - start) * 1e3;
		}
	for (int s = 0; s < n; s++)
		qsort(subjects[s].times, (size_t)rounds, sizeof(double), by_size);
	double ours = subjects[0].times[rounds / 4];
	printf("%-24s %9.4f ms", subjects[0].name, ours);
	for (int s = 1; s < n; s++)
		printf("  %5.2f of %s", subjects[s].times[rounds / 4] / ours, subjects[s].name);
	printf("\n");
	return 0;
}
