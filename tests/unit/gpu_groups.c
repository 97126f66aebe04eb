/* usage: gpu_groups [COUNT [SEED]]
 *
 * Random groups as the makers of GPUs and CPUs write them: naive loops interpreted, the GPU's loops
 * interpreted (which finds races), its CUDA C as fibers, and the CPU's C. All have the same bits:
 * data are small integers, whose sums are exact in any order.
 *
 * Each hundred is a test, and a line of progress. Fibers are left out where there is no C++
 * compiler ($CXX, or c++).
 */
#include <stdio.h>
#include <stdlib.h>

#include "codegen_run.h"
#include "cuda_run.h"
#include "kernels.h"
#include "lower/lower.h"
#include "passes/manager.h"
#include "random_number.h"
#include "unit.h"

enum { AT_ONCE = 100 }; /* compiled together */

static uint64_t seed = 1;
static int wanted = 60;

static int
pick(int below)
{
	return (int)random_below(&seed, (unsigned)below);
}

static int
some(int most)
{
	return 1 + pick(most);
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* What is multiplied, and what it is summed up as. */
typedef struct Factors {
	const char *left, *right, *sum;
	bool is_short; /* fewer bits than the sum */
} Factors;

static Factors
pick_factors(void)
{
	static const Factors all[] = {
		{"f32", "f32", "f32", false}, {"f16", "f16", "f32", true}, {"bf16", "bf16", "f32", true},
		{"i8", "i8", "i32", true},    {"u8", "i8", "i32", true},   {"i8", "u8", "i32", true},
		{"u8", "u8", "i32", true},
	};
	return pick(3) ? all[pick(countof(all))] : all[0];
}

static const char *
as_sum(const Factors *factors, const char *read)
{
	return factors->is_short ? arena_printf(arena, "%s(%s)", factors->sum, read) : read;
}

static const char *
product_text(void)
{
	Factors of = pick_factors();
	int m = some(70), n = some(70), b = some(3);
	int k = of.is_short && pick(3) ? 32 * some(3) : some(70);
	const char *batch = pick(3) ? arena_printf(arena, "%d", b) : "N";
	return arena_printf(arena,
	                    "expr f(A: %s[%s,%d,%d], B: %s[%s,%d,%d], C: %s[%d]) -> Z {\n"
	                    " Y[b:%s, m:%d, n:%d]: %s = sum(k:%d) %s * %s\n"
	                    " Z[b:%s, m:%d, n:%d]: %s = max(Y[b,m,n] + C[n], 0)\n}\n",
	                    of.left, batch, m, k, of.right, batch, k, n, of.sum, n, batch, m, n, of.sum,
	                    k, as_sum(&of, "A[b,m,k]"), as_sum(&of, "B[b,k,n]"), batch, m, n, of.sum);
}

static const char *
window_text(void)
{
	Factors of = pick_factors();
	int n = some(3), f = 8 + pick(20), c = some(6), r = some(3), s = some(3), u = some(2);
	int pad = pick(2), h = r + pick(12), w = s + pick(12);
	int p = (h + 2 * pad - r) / u + 1, q = (w + 2 * pad - s) / u + 1;
	const char *read = arena_printf(arena, "X[n,c,%d*p+r-%d,%d*q+s-%d]", u, pad, u, pad);
	return arena_printf(
		arena,
		"expr f(X: %s[%d,%d,%d,%d], W: %s[%d,%d,%d,%d]) -> Y {\n"
		" Y[n:%d, f:%d, p:%d, q:%d]: %s = sum(c:%d, r:%d, s:%d where 0 <= %d*p+r-%d, "
		"%d*p+r-%d < %d, 0 <= %d*q+s-%d, %d*q+s-%d < %d) %s * %s\n}\n",
		of.left, n, c, h, w, of.right, f, c, r, s, n, f, p, q, of.sum, c, r, s, u, pad, u, pad, h,
		u, pad, u, pad, w, as_sum(&of, read), as_sum(&of, "W[f,c,r,s]"));
}

/* A part of a sum, by which both factors move; the last one may be shorter. */
static const char *
part_text(void)
{
	int m = 8 + pick(60), n = 8 + pick(60), part = 16 + pick(20), parts = 2 + pick(4);
	int k = part * parts - (pick(2) ? pick(part) : 0), r = some(3);
	const char *at = arena_printf(arena, "%d*b+k", part);
	const char *where = k % part ? arena_printf(arena, " where %d*b+k < %d", part, k) : "";
	if (pick(2))
		return arena_printf(arena,
		                    "expr f(A: f32[%d,%d], B: f32[%d,%d]) -> Y {\n"
		                    " Y[b:%d, m:%d, n:%d]: f32 = sum(k:%d%s) A[m,%s] * B[%s,n]\n}\n",
		                    m, k, k, n, parts, m, n, part, where, at, at);
	const char *batch = pick(3) ? arena_printf(arena, "%d", some(3)) : "N";
	return arena_printf(arena,
	                    "expr f(X: f32[%s,%d,%d], W: f32[%d,%d,%d]) -> Y {\n"
	                    " Y[b:%d, i:%s, f:%d, p:%d]: f32 = sum(k:%d, r:%d%s) X[i,%s,p+r] * "
	                    "W[f,%s,r]\n}\n",
	                    batch, k, m + r - 1, n, k, r, parts, batch, n, m, part, r, where, at, at);
}

/* The parts' sum, and a map behind it. */
static const char *
parts_text(void)
{
	int m = some(60), n = some(60), parts = 2 + pick(20);
	return arena_printf(arena,
	                    "expr f(P: f32[%d,%d,%d], C: f32[%d]) -> Z {\n"
	                    " Y[m:%d, n:%d]: f32 = sum(b:%d) P[b,m,n]\n"
	                    " Z[m:%d, n:%d]: f32 = max(Y[m,n] + C[n], 0)\n}\n",
	                    parts, m, n, n, m, n, parts, m, n);
}

static const char *
pool_text(void)
{
	int n = some(3), c = some(5), r = some(3), u = some(2), h = r + pick(20), w = r + pick(40);
	int p = (h - r) / u + 1, q = (w - r) / u + 1;
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d,%d,%d], W: f32[%d,%d,%d]) -> Y {\n"
	                    " Y[n:%d, c:%d, p:%d, q:%d]: f32 = %s(r:%d, s:%d) "
	                    "X[n,c,%d*p+r,%d*q+s]%s\n}\n",
	                    n, c, h, w, c, r, r, n, c, p, q, pick(2) ? "max" : "sum", r, r, u, u,
	                    pick(2) ? " * W[c,r,s]" : "");
}

static const char *
turned_text(void)
{
	bool is_wide = pick(2) == 0;
	int a = some(4), b = is_wide ? 8 * some(9) : 8 + pick(60);
	int c = is_wide ? 8 + 4 * pick(20) : 8 + pick(60);
	const char *type = pick(2) ? "f32" : "f16";
	const char *batch = pick(3) ? arena_printf(arena, "%d", a) : "N";
	return arena_printf(arena,
	                    "expr f(X: %s[%s,%d,%d], S: %s[%d]) -> Y {\n"
	                    " Y[n:%s, c:%d, b:%d]: %s = X[n,b,c] * 2 + S[b]\n}\n",
	                    type, batch, b, c, type, b, batch, c, b, type);
}

/* Large enough for several neighbours a thread: rows of any length, read at an offset, or of two
 * tensors side by side; two results, one through the other. */
static const char *
map_text(void)
{
	static const char *const types[] = {"f32", "f16", "bf16", "u8", "i32", "f64", "bool"};
	const char *x = types[pick(countof(types))], *z = types[pick(countof(types))];
	int odd = pick(3) ? 0 : pick(4), apart = pick(4) ? 0 : pick(4);
	int b = 4 + pick(4), c = 128 + pick(100), n = 4 * (50 + pick(50)) + odd;
	int u = odd ? 0 : 4 * pick(3) + apart, h = 4 * pick(n / 4) + apart;
	const char *batch = pick(3) ? arena_printf(arena, "%d", b) : "N";
	const char *both = odd || pick(2) ? arena_printf(arena, "c < %d ? T[c] : f32(V[b,c,n])", h % c)
	                                  : arena_printf(arena, "n < %d ? S[n] : f32(V[b,c,n])", h);
	const char *at = u > 0 ? arena_printf(arena, "n+%d", u) : "n";
	return arena_printf(
		arena,
		"expr f(X: %s[%s,%d,%d], V: %s[%s,%d,%d], S: f32[%d], T: f32[%d]) -> %sZ {\n"
		" Y[b:%s, c:%d, n:%d]: f32 = f32(X[b,c,%s]) * T[c]\n"
		" Z[b:%s, c:%d, n:%d]: %s = %s(Y[b,c,n] - (%s))\n}\n",
		x, batch, c, n + u, x, batch, c, n, n, c, pick(2) ? "Y, " : "", batch, c, n, at, batch, c,
		n, z, z, both);
}

static const char *
row_text(void)
{
	int n = some(40),
		c = pick(2) ? 8 + pick(330) : 4 * (2 + pick(80)); /* the shortest are not joined */
	return arena_printf(arena,
	                    "expr f(X: f32[%d,%d]) -> Y {\n"
	                    " m[n:%d]: f32 = max(c:%d) X[n,c]\n"
	                    " e[n:%d, c:%d]: f32 = m[n] - X[n,c]\n"
	                    " s[n:%d]: f32 = sum(c:%d) e[n,c]\n"
	                    " Y[n:%d, c:%d]: f32 = e[n,c] * 2 - s[n]\n}\n",
	                    n, c, n, c, n, c, n, c, n, c);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static Kernel *
lowered(const char *text, const Device *device, bool is_plain)
{
	static const Loc none = {0};
	Target target = {.device = device, .is_plain = is_plain, .is_finite = true};
	PassContext context = {.arena = arena, .target = &target};
	const Program *program = program_parse(ctx, "groups.e", text);
	const Dim *const **dense =
		NEW_N(arena, const Dim *const *, program->ninput + program->noutput + 1);
	Kernel *kernel = lower_group(arena, program, dense, "k", &none, "", &target, 0);
	const PassInfo *pass;
	if (is_plain)
		kernel->script = NULL;
	for (int i = 0; !is_plain && (pass = pass_at(i)); i++)
		if (pass->ir == IR_loop &&
		    (maker_of(&target)->passes & pass->devices) == (unsigned)pass->devices)
			pass->run(kernel, &context);
	return kernel;
}

/* A GPU, or one unit of it, for which groups as small as these are many threads. */
static const Device *
pick_gpu(void)
{
	const Device *whole = device_find(pick(2) ? "cuda:sm_80" : "cuda:sm_90");
	Device *unit = arena_memdup(arena, whole, sizeof *whole);
	unit->units = 1;
	return pick(2) ? unit : whole;
}

/* Those that are compiled together. */
typedef struct Batch {
	int count, first;
	const char *texts[AT_ONCE];
	Kernel *gpu[AT_ONCE], *cpu[AT_ONCE];
	const Array *expected[AT_ONCE];
} Batch;

static void
expect_same(const Batch *batch, int i, const Array *seen, const char *how)
{
	ck_element_msg(memcmp(seen->data, batch->expected[i]->data, array_bytes(seen)) == 0,
	               "group %d: %s differs\n%s%s", batch->first + i, how, batch->texts[i],
	               printed(batch->gpu[i]));
}

static void
run_fibers(const Batch *batch)
{
	Target target = {.device = device_find("cuda:sm_90")};
	void *library = load_on_host(arena, &target, batch->count, batch->gpu);
	for (int i = 0; i < batch->count; i++) {
		Array *arrays[MAX_BUFFERS];
		void *places[MAX_BUFFERS];
		int64_t symbols[MAX_BUFFERS];
		const Kernel *kernel = batch->gpu[i];
		make_arrays(kernel, arrays);
		for (int k = 0; k < kernel->buffers.count; k++)
			places[k] = arrays[k]->data;
		for (int k = 0; k < MAX_BUFFERS; k++)
			symbols[k] = BATCH;
		launch_on_host(library, i, places, symbols);
		expect_same(batch, i, arrays[kernel->buffers.count - 1], "CUDA C");
	}
	dlclose(library);
}

static void
run_cpu(const Batch *batch)
{
	Target target = {.device = device_native()};
	const char *text = codegen_c(arena, &target, batch->count, batch->cpu);
	void *library;
	const TwKernels *kernels = load_kernels(arena, &target, text, &library);
	Binding binding = batch_binding();
	for (int i = 0; i < batch->count; i++) {
		Array *arrays[MAX_BUFFERS];
		TwStatus status = {0};
		make_arrays(batch->cpu[i], arrays);
		run_kernel(kernels, i, batch->cpu[i], &binding, arrays, 2, &status);
		expect_same(batch, i, arrays[batch->cpu[i]->buffers.count - 1], "C");
	}
	dlclose(library);
}

static void
run_batch(int first, int count)
{
	Batch batch = {.count = count, .first = first};
	for (int i = 0; i < count; i++) {
		const char *const texts[] = {product_text(), window_text(), pool_text(), turned_text(),
		                             row_text(),     map_text(),    part_text(), parts_text()};
		batch.texts[i] = texts[pick(countof(texts))];
		batch.expected[i] = evaluated(lowered(batch.texts[i], device_find("cpu:x86-64-v3"), true));
		batch.gpu[i] = lowered(batch.texts[i], pick_gpu(), false);
		batch.cpu[i] = lowered(batch.texts[i], device_native(), false);
		expect_same(&batch, i, evaluated(batch.gpu[i]), "what the GPU's loops compute");
	}
	run_cpu(&batch);
	if (has_host_compiler())
		run_fibers(&batch);
}

/* A batch, in a process of its own: Check counts a test's microseconds in 31 bits. */
START_TEST(groups)
{
	int first = _i * AT_ONCE, count = wanted - first < AT_ONCE ? wanted - first : AT_ONCE;
	seed += (uint64_t)_i * 1000003;
	setup();
	run_batch(first, count);
	teardown();
	fprintf(stderr, "%d of %d groups agree%s\n", first + count, wanted,
	        has_host_compiler() ? "" : ", without fibers");
}
END_TEST

int
main(int argc, char **argv)
{
	wanted = argc > 1 ? atoi(argv[1]) : wanted;
	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : seed;
	TCase *tcase = tcase_create("groups");
	tcase_add_loop_test(tcase, groups, 0, (wanted + AT_ONCE - 1) / AT_ONCE);
	return unit_run(tcase);
}
