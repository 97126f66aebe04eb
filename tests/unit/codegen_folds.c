/* Reductions across the lanes of a @vector loop, of every type, whose lanes are as wide as the
 * type's or, beside 64-bit reads, twice as wide: the interpreter's bits on each CPU this machine
 * runs. Data of floats are such that the order of the terms does not show.
 */
#include "codegen_run.h"
#include "unit.h"

enum { TERMS = 203 };

static const DType TYPES[] = {DT_F32, DT_F64, DT_F16, DT_BF16, DT_I8,  DT_I16,
                              DT_I32, DT_I64, DT_U8,  DT_U16,  DT_U32, DT_U64};

/* Y[0..3] from lanes of the type's own width, Y[4..7] from those that 64 bits need. */
static Kernel *
make_folds(Arena *arena, ExprCtx *ctx, const char *type)
{
	static const char *const ops[] = {"+=", "*=", "min=", "max="};
	Buf text = {.arena = arena};
	buf_printf(&text, "kernel folds_%s(X: %s[%d], W: i64[%d], Y: out %s[8]) {\n", type, type, TERMS,
	           TERMS, type);
	for (int k = 0; k < 8; k++) {
		buf_printf(&text, "  r%d: %s @reg = %s(1)\n", k, type, type);
		buf_printf(&text, "  for i in %d @vector\n    r%d[] %s %s\n", TERMS, k, ops[k % 4],
		           k < 4 ? "X[i]" : arena_printf(arena, "%s(W[i])", type));
		buf_printf(&text, "  Y[%d] = r%d[]\n", k, k);
	}
	buf_puts(&text, "}\n");
	return kernel_parse(arena, ctx, "folds.l", buf_text(&text));
}

/* Integers wrap, whatever they are; floats are 1 and -1, their sums and products exact. */
static void
fill_terms(Array *array, uint64_t *state)
{
	for (int64_t i = 0; i < TERMS; i++) {
		int64_t bits = (int64_t)next_random(state);
		if (dtype_is_float(array->type))
			dtype_store_f64(array->type, array->data, i, bits & 1 ? 1 : -1);
		else
			dtype_store_i64(array->type, array->data, i, bits | 1);
	}
}

static void
compare_folds(Arena *arena, const TwKernels *kernels, int index, const Kernel *kernel)
{
	static const int64_t counts[] = {TERMS, TERMS, 8};
	uint64_t state = 0x9E3779B97F4A7C15ull;
	TwStatus status = {0};
	Binding none = {0};
	Array *expected[3], *seen[3];
	for (int i = 0; i < 3; i++) {
		DType type = kernel->buffers.data[i]->tensor.type;
		expected[i] = array_new(arena, type, 1, &counts[i]);
		if (i == 0)
			fill_terms(expected[i], &state);
		for (int64_t k = 0; i == 1 && k < TERMS; k++) /* what floats hold exactly */
			dtype_store_i64(type, expected[i]->data, k, next_random(&state) & 1 ? 1 : -1);
		seen[i] = array_from(arena, type, 1, &counts[i], expected[i]->data);
	}
	kernel_eval(kernel, &none, expected);
	run_kernel(kernels, index, kernel, &none, seen, 1, &status);
	for (int k = 0; k < 8; k++) {
		double want = dtype_load_f64(expected[2]->type, expected[2]->data, k);
		double have = dtype_load_f64(seen[2]->type, seen[2]->data, k);
		ck_assert_msg(want == have, "%s, fold %d: %g, the interpreter has %g", kernel->name, k,
		              have, want);
	}
}

static void
run_on(const Device *device)
{
	Arena *arena = arena_new("test");
	ExprCtx *ctx = expr_ctx_new(arena);
	Target target = {.device = device};
	Kernel *kernels[countof(TYPES)];
	void *library;
	for (size_t t = 0; t < countof(TYPES); t++)
		kernels[t] = make_folds(arena, ctx, dtype_name(TYPES[t]));
	const char *text = make_text(arena, &target, countof(TYPES), kernels);
	const TwKernels *table = load_kernels(arena, &target, text, &library);
	for (size_t t = 0; t < countof(TYPES); t++)
		compare_folds(arena, table, (int)t, kernels[t]);
	dlclose(library);
	arena_free(arena);
}

START_TEST(test_folds)
{
	for (int i = 0; i < device_count(); i++)
		if (device_runs_here(device_at(i)))
			run_on(device_at(i));
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("folds");
	tcase_add_test(tests, test_folds);
	return unit_run(tests);
}
