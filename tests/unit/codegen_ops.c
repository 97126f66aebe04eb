/* Every operation of scalar.def on every type it takes, in a plain and in a @vector loop, emitted
 * for the CPU (f32 and f64: each CPU this machine runs): the interpreter's bits, edges included.
 * Likewise casts. Lengths are no multiples of a vector, so that masked tails take part.
 */
#include "codegen_run.h"
#include "ops_kernels.h"
#include "unit.h"

/* All kernels in one object, each compared with the interpreter on the same data. */
static void
run_suite(Suite1 *suite, const Device *device)
{
	Arena *arena = suite->arena;
	Target target = {.device = device};
	void *library;
	uint64_t state = 0x9E3779B97F4A7C15ull;
	const char *text = make_text(arena, &target, suite->kernels.count, suite->kernels.data);
	const TwKernels *kernels = load_kernels(arena, &target, text, &library);
	ck_assert_uint_eq(kernels->count, (unsigned)suite->kernels.count);
	Binding none = {0};
	for (int k = 0; k < suite->kernels.count; k++) {
		const Kernel *kernel = suite->kernels.data[k];
		Array *expected[8], *seen[8];
		int count = kernel->buffers.count;
		for (int i = 0; i < count; i++) {
			int64_t points = POINTS;
			DType type = kernel->buffers.data[i]->tensor.type;
			expected[i] = array_new(arena, type, 1, &points);
			if (!kernel->buffers.data[i]->is_output)
				fill_edges(expected[i], &state);
			seen[i] = array_from(arena, type, 1, &points, expected[i]->data);
		}
		TwStatus status = {0};
		kernel_eval(kernel, &none, expected);
		run_kernel(kernels, k, kernel, &none, seen, 1, &status);
		for (int i = count - 2; i < count; i++)
			ck_assert_msg(array_distance(expected[i], seen[i]) == 0, "%s for %s, %s loop: %g",
			              kernel->name, device->name, i == count - 1 ? "vector" : "plain",
			              array_distance(expected[i], seen[i]));
	}
	dlclose(library);
}

static void
run_on(const Device *device, void (*add)(Suite1 *suite))
{
	Suite1 suite = {.arena = arena_new("test")};
	suite.ctx = expr_ctx_new(suite.arena);
	add(&suite);
	run_suite(&suite, device);
	arena_free(suite.arena);
}

static void
run_everywhere(void (*add)(Suite1 *suite))
{
	for (int i = 0; i < device_count(); i++)
		if (device_runs_here(device_at(i)))
			run_on(device_at(i), add);
}

START_TEST(test_floats)
{
	run_everywhere(add_floats);
}
END_TEST

/* Integers and casts differ little between CPUs, and compiling takes long: the best CPU only. */
START_TEST(test_short_floats)
{
	run_on(device_native(), add_short_floats);
}
END_TEST

START_TEST(test_integers)
{
	run_on(device_native(), add_integers);
}
END_TEST

START_TEST(test_casts)
{
	run_on(device_native(), add_casts);
}
END_TEST

START_TEST(test_storage_casts)
{
	run_on(device_native(), add_storage_casts);
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("operations");
	tcase_add_test(tests, test_floats);
	tcase_add_test(tests, test_short_floats);
	tcase_add_test(tests, test_integers);
	tcase_add_test(tests, test_casts);
	tcase_add_test(tests, test_storage_casts);
	return unit_run(tests);
}
