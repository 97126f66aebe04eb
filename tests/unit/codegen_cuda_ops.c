/* Every operation of scalar.def on every type it takes, and every cast, as CUDA C: what the C++
 * compiler of this machine makes of it has the interpreter's bits, edges included; NVRTC, where it
 * is, takes it.
 */
#include "cuda_run.h"
#include "ops_kernels.h"
#include "unit.h"

static void
expect_equal(const Kernel *kernel, const Array *expected, const Array *seen, bool is_vector)
{
	ck_assert_msg(array_distance(expected, seen) == 0, "%s, %s loop: %g", kernel->name,
	              is_vector ? "vector" : "plain", array_distance(expected, seen));
}

/* One thread beside the interpreter. */
static void
run_one(Arena *run_arena, void *library, int index, const Kernel *kernel, uint64_t *state)
{
	Array *expected[8], *seen[8];
	void *places[8];
	Binding none = {0};
	int count = kernel->buffers.count;
	for (int i = 0; i < count; i++) {
		int64_t points = POINTS;
		DType type = kernel->buffers.data[i]->tensor.type;
		expected[i] = array_new(run_arena, type, 1, &points);
		if (!kernel->buffers.data[i]->is_output)
			fill_edges(expected[i], state);
		seen[i] = array_from(run_arena, type, 1, &points, expected[i]->data);
		places[i] = seen[i]->data;
	}
	launch_on_host(library, index, places, NULL);
	kernel_eval(kernel, &none, expected);
	for (int i = count - 2; i < count; i++)
		expect_equal(kernel, expected[i], seen[i], i == count - 1);
}

static void
run_suite(void (*add)(Suite1 *suite))
{
	Suite1 suite = {.arena = arena_new("test")};
	Target target = {.device = device_find("cuda:h100")};
	uint64_t state = 0x9E3779B97F4A7C15ull;
	suite.ctx = expr_ctx_new(suite.arena);
	add(&suite);
	int count = suite.kernels.count;
	const char *cuda = codegen_cuda(suite.arena, &target, count, suite.kernels.data);
	char compiler[256];
	if (cuda_compiler(compiler, sizeof compiler))
		cuda_compile(suite.arena, cuda, 90);
	void *library = load_on_host(suite.arena, &target, count, suite.kernels.data);
	for (int i = 0; i < count; i++)
		run_one(suite.arena, library, i, suite.kernels.data[i], &state);
	dlclose(library);
	arena_free(suite.arena);
}

static void (*const adders[])(Suite1 *suite) = {add_floats, add_short_floats, add_integers,
                                                add_casts, add_storage_casts};

START_TEST(test_operations)
{
	run_suite(adders[_i]);
}
END_TEST

int
main(void)
{
	if (!has_host_compiler()) {
		printf("skipped: for want of c++: %s\n", host_compiler());
		return 0;
	}
	TCase *tests = tcase_create("operations");
	tcase_add_loop_test(tests, test_operations, 0, (int)countof(adders));
	return unit_run(tests);
}
