/* CUDA C is compiled by NVRTC for sm_80 and sm_90: kernels by hand and random programs of threads;
 * and what is counted in the cubins is what the kernels say. Damaged cubins are refused, or read
 * within their bytes.
 *
 * Skipped where there is no NVRTC.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/licm/sass.h"
#include "cuda_kernels.h"
#include "thread_pairs.h"
#include "thread_scripts.h"
#include "thread_steps.h"
#include "unit.h"

/* A kernel as machine code, and its instructions. */
typedef struct Code {
	CubinKernel kernel;
	SassCount sass;
} Code;

enum { PROGRAMS = 500, AT_ONCE = 50, FLIPS = 20000 };

static const int capabilities[] = {80, 90};

static const char *
cuda_text(int count, Kernel *const *kernels, int capability)
{
	Target target = {.device = device_find(capability == 80 ? "cuda:a100" : "cuda:h100")};
	return codegen_cuda(arena, &target, count, kernels);
}

/* ---- texts ----------------------------------------------------------------------------------- */

START_TEST(test_kernels)
{
	for (size_t k = 0; k < countof(capabilities); k++) {
		const char *texts[2 * countof(pairs) + countof(cuda_kernels)];
		Kernel *kernels[countof(texts)];
		int count = 0;
		for (size_t i = 0; i < countof(pairs); i++) {
			texts[count++] = pairs[i].threads;
			texts[count++] = replaced(pairs[i].threads, "f16", "bf16");
		}
		for (size_t i = 0; i < countof(cuda_kernels); i++)
			texts[count++] = cuda_kernels[i];
		for (int i = 0; i < count; i++)
			kernels[i] = read_kernel(texts[i]);
		const char *cuda = cuda_text(count, kernels, capabilities[k]);
		Bytes cubin = cuda_compile(arena, cuda, capabilities[k]);
		ck_assert_int_gt(cubin_kernels(arena, cubin).count, count / 2);
	}
}
END_TEST

START_TEST(test_random)
{
	for (uint64_t seed = 1; seed <= PROGRAMS; seed += AT_ONCE) {
		Kernel *kernels[AT_ONCE];
		for (int i = 0; i < AT_ONCE; i++) {
			uint64_t state = seed + (uint64_t)i;
			Steps steps = make_steps(&state);
			kernels[i] = read_kernel(program_text(&steps, false));
		}
		int capability = capabilities[seed / AT_ONCE % countof(capabilities)];
		Bytes cubin = cuda_compile(arena, cuda_text(AT_ONCE, kernels, capability), capability);
		ck_assert_int_gt(cubin_kernels(arena, cubin).count, AT_ONCE / 2);
	}
}
END_TEST

static void
compile_nonsense(void *arg)
{
	cuda_compile(arena, arg, 90);
}

START_TEST(test_refused)
{
	Failure failure;
	ck_assert(!try_run(compile_nonsense, "extern \"C\" __global__ void k() { none(); }", &failure));
	ck_assert_int_eq(failure.kind, FAIL_ENVIRONMENT);
	ck_assert_msg(strstr(failure.text, "identifier \"none\" is undefined"), "%s", failure.text);
	ck_assert(
		!try_run(compile_nonsense,
	             "/* a1 */\nextern \"C\" __global__ void a() {}\n\n/* conv1+relu1; by hand */\n"
	             "extern \"C\" __global__ void k() {\n\tnone();\n}\n",
	             &failure));
	ck_assert_msg(strstr(failure.text, " for sm_90, in conv1+relu1; by hand: error"), "%s",
	              failure.text);
	setenv("CUDA_HOME", "/nowhere", 1);
	char missing[256];
	bool is_there = cuda_compiler(missing, sizeof missing);
	bool is_compiled = try_run(compile_nonsense, "", &failure);
	unsetenv("CUDA_HOME");
	ck_assert(!is_there && !is_compiled);
	ck_assert_int_eq(failure.kind, FAIL_ENVIRONMENT);
	ck_assert_str_eq(missing, "NVRTC (libnvrtc.so.13 or libnvrtc.so.12) is not in /nowhere");
	ck_assert_msg(strstr(failure.text, missing), "%s", failure.text);
}
END_TEST

/* ---- counts ---------------------------------------------------------------------------------- */

static int64_t
count_of(const Code *code, const char *name)
{
	int64_t all = 0;
	for (int i = 0; i < SASS_CODES; i++)
		if (sass_name(i) && strcmp(sass_name(i), name) == 0)
			all += code->sass.count[i];
	return all;
}

static Code
code_of(Bytes cubin, const char *name)
{
	Code code = {.kernel = cubin_kernel(arena, cubin, name)};
	sass_count(arena, &code.kernel, &code.sass);
	return code;
}

static Bytes
compile_kernel(const char *text, int capability, Code *code)
{
	Kernel *kernel = read_kernel(text);
	Bytes cubin = cuda_compile(arena, cuda_text(1, &kernel, capability), capability);
	*code = code_of(cubin, "k0_k");
	return cubin;
}

START_TEST(test_counts)
{
	int capability = capabilities[_i];
	Code code;
	compile_kernel("kernel k(A: f32[32,24], B: f32[24], Y: out f32[32]) {\n"
	               "  for t in 32 @thread.x {\n"
	               "    acc: f32 @reg = 0.0\n"
	               "    for i in 24 @unroll\n"
	               "      acc[] += A[t, i] * B[i]\n"
	               "    Y[t] = acc[]\n"
	               "  }\n"
	               "}\n",
	               capability, &code);
	ck_assert_int_eq(count_of(&code, "FFMA"), 24);
	ck_assert_int_eq(count_of(&code, "LDG"), 48);
	ck_assert_int_eq(count_of(&code, "STG"), 1);
	ck_assert_int_eq(count_of(&code, "EXIT"), 1);
	ck_assert(code.kernel.registers > 8 && code.kernel.registers <= 255);
	ck_assert(code.sass.loops == 0 && code.sass.branches == 0 && code.kernel.local_bytes == 0);
	ck_assert_int_eq(code.sass.weighted, code.sass.instructions);
}
END_TEST

/* The lesson's kernels use the operations that they ask for, and no memory of a thread's own. */
START_TEST(test_lesson)
{
	ThreadScript scripts[MAX_LESSONS];
	int lessons = lesson_scripts(scripts), capability = capabilities[_i];
	for (int i = 0; i < lessons; i++) {
		Code code;
		Kernel *kernel = scheduled(&scripts[i]);
		Bytes cubin = cuda_compile(arena, cuda_text(1, &kernel, capability), capability);
		code = code_of(cubin, arena_printf(arena, "k0_%s", kernel->name));
		ck_assert_int_eq(code.kernel.local_bytes, 0);
		if (strstr(scripts[i].steps, "tensorize"))
			ck_assert_int_ge(count_of(&code, "HMMA"), 32);
		if (strstr(scripts[i].steps, "prefetch"))
			ck_assert_int_ge(count_of(&code, "LDGSTS"), 8);
		else
			ck_assert_int_ge(count_of(&code, "SHFL"), 10);
	}
}
END_TEST

START_TEST(test_accesses)
{
	Code code;
	compile_kernel("kernel k(X: f32[64,8], Y: out f32[64,8]) {\n"
	               "  for t in 64 @thread.x {\n"
	               "    for v in 8 @vector\n"
	               "      Y[t, v] = X[t, v] + 1.0\n"
	               "  }\n"
	               "}\n",
	               capabilities[_i], &code);
	ck_assert_int_eq(count_of(&code, "LDG"), 2);
	ck_assert_int_eq(count_of(&code, "STG"), 2);
	ck_assert_int_eq(count_of(&code, "FADD"), 8);
}
END_TEST

/* Conversions of f16 and bf16 are instructions. */
START_TEST(test_halves)
{
	Code code;
	compile_kernel("kernel k(X: f16[64,8], Y: out bf16[64,8]) {\n"
	               "  for t in 64 @thread.x {\n"
	               "    for v in 8 @vector\n"
	               "      Y[t, v] = bf16(X[t, v] * 3.0)\n"
	               "  }\n"
	               "}\n",
	               capabilities[_i], &code);
	ck_assert_int_eq(count_of(&code, "LDG"), 1);
	ck_assert_int_eq(count_of(&code, "STG"), 1);
	ck_assert_int_lt(code.sass.instructions, 80);
}
END_TEST

START_TEST(test_shared)
{
	Code code;
	compile_kernel(pairs[0].threads, capabilities[_i], &code);
	ck_assert_int_eq(code.kernel.shared_bytes, 1024);
	ck_assert_int_ge(count_of(&code, "BAR"), 2);
	ck_assert_int_ge(count_of(&code, "LDS"), 2);
	compile_kernel(pairs[6].threads, capabilities[_i], &code);
	ck_assert_int_ge(count_of(&code, "HMMA"), 1);
	ck_assert_int_ge(count_of(&code, "LDSM"), 2);
	compile_kernel(pairs[1].threads, capabilities[_i], &code);
	ck_assert_int_ge(count_of(&code, "SHFL"), 5);
	compile_kernel(pairs[4].threads, capabilities[_i], &code);
	ck_assert_int_ge(count_of(&code, "LDGSTS"), 2);
}
END_TEST

/* A loop in a loop, of counts that nobody knows: the one FFMA weighs 100. */
START_TEST(test_loops)
{
	Code code;
	Bytes cubin = cuda_compile(
		arena,
		"extern \"C\" __global__ void k(const float *X, float *Y, int n, int m)\n{\n"
		"\tfloat a = 0;\n#pragma unroll 1\n\tfor (int i = 0; i < n; i++)\n#pragma unroll 1\n"
		"\t\tfor (int j = 0; j < m; j++)\n"
		"\t\t\ta = __fmaf_rn(a, 3.0f, X[i * m + j]);\n\tY[threadIdx.x] = a;\n}\n",
		capabilities[_i]);
	code = code_of(cubin, "k");
	ck_assert_int_eq(code.sass.loops, 2);
	for (int i = 0; i < SASS_CODES; i++) {
		if (!sass_name(i) || !code.sass.count[i])
			continue;
		bool is_inner = strcmp(sass_name(i), "FFMA") == 0;
		ck_assert_int_le(code.sass.weight[i], 100 * code.sass.count[i]);
		ck_assert(!is_inner || (code.sass.count[i] == 1 && code.sass.weight[i] == 100));
	}
	ck_assert_int_eq(count_of(&code, "FFMA"), 1);
}
END_TEST

/* More than registers hold, and elements that are known when it runs. */
START_TEST(test_spills)
{
	Code code;
	compile_kernel("kernel k(X: f32[64,200], I: i64[64], Y: out f32[64]) {\n"
	               "  for t in 64 @thread.x {\n"
	               "    s: f32[200] @stack\n"
	               "    for i in 200\n"
	               "      s[i] = X[t, i]\n"
	               "    Y[t] = s[at(I[t], 0..200)]\n"
	               "  }\n"
	               "}\n",
	               capabilities[_i], &code);
	ck_assert_int_ge(code.kernel.local_bytes, 800);
	ck_assert_int_ge(count_of(&code, "STL"), 50);
	ck_assert_int_ge(count_of(&code, "LDL"), 1);
}
END_TEST

/* ---- damage ---------------------------------------------------------------------------------- */

typedef struct Damaged {
	Bytes cubin;
	Code code;
} Damaged;

static void
read_damaged(void *arg)
{
	Damaged *damaged = arg;
	cubin_kernels(arena, damaged->cubin);
	damaged->code = code_of(damaged->cubin, "k0_k");
}

/* The bytes have a block of their own, so that sanitizers see where it ends. */
static bool
is_read(const unsigned char *bytes, size_t size)
{
	Failure failure;
	ArenaMark mark = arena_mark(arena);
	unsigned char *copy = malloc(size ? size : 1);
	memcpy(copy, bytes, size);
	Damaged damaged = {.cubin = {copy, size}};
	bool is_right = try_run(read_damaged, &damaged, &failure);
	ck_assert_msg(is_right || failure.kind == FAIL_INVALID, "%s", failure.text);
	free(copy);
	arena_release(arena, mark);
	return is_right;
}

START_TEST(test_damage)
{
	Code code;
	uint64_t state = 1;
	int refused = 0;
	Bytes cubin = compile_kernel(pairs[0].threads, 90, &code);
	ck_assert(is_read(cubin.data, cubin.size));
	for (size_t size = 0; size < cubin.size; size++)
		ck_assert_msg(!is_read(cubin.data, size), "the first %d bytes are read", (int)size);
	unsigned char *bytes = arena_memdup(arena, cubin.data, cubin.size);
	for (int i = 0; i < FLIPS; i++) {
		size_t at = random_below(&state, (unsigned)cubin.size);
		if (i % 2) /* headers say where the rest is */
			at = i % 4 == 1 ? at % 64 : cubin.size - 1 - at % 2048;
		bytes[at] ^= (unsigned char)(1u << random_below(&state, 8));
		refused += !is_read(bytes, cubin.size);
		bytes[at] = cubin.data[at];
	}
	ck_assert_int_gt(refused, FLIPS / 50);
	ck_assert_int_lt(refused, FLIPS);
}
END_TEST

int
main(void)
{
	char compiler[256];
	if (!cuda_compiler(compiler, sizeof compiler)) {
		printf("skipped: for want of NVRTC: %s\n", compiler);
		return 0;
	}
	TCase *tests = tcase_create("cuda");
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, test_kernels);
	tcase_add_test(tests, test_random);
	tcase_add_test(tests, test_refused);
	tcase_add_loop_test(tests, test_counts, 0, (int)countof(capabilities));
	tcase_add_loop_test(tests, test_lesson, 0, (int)countof(capabilities));
	tcase_add_loop_test(tests, test_accesses, 0, (int)countof(capabilities));
	tcase_add_loop_test(tests, test_halves, 0, (int)countof(capabilities));
	tcase_add_loop_test(tests, test_shared, 0, (int)countof(capabilities));
	tcase_add_loop_test(tests, test_loops, 0, (int)countof(capabilities));
	tcase_add_loop_test(tests, test_spills, 0, (int)countof(capabilities));
	tcase_add_test(tests, test_damage);
	return unit_run(tests);
}
