/* Whole kernels: what is emitted agrees with the interpreter of loops, for every length of a tail,
 * all the ways to reach memory, and every CPU this machine runs; objects import nothing; the bits
 * do not depend on how the flat range is cut.
 */
#include "codegen_run.h"

#include "tir/rewrite.h"
#include "unit.h"

enum { LENGTHS = 40 };

typedef struct Case {
	const char *name, *text;
	double tolerance; /* of the largest result, which may be small beside the terms; 0: all bits */
} Case;

static const Case CASES[] = {
	{"map",
     "kernel map(N, X: f32[N], B: f32[N], Y: out f32[N]) {\n"
     "  for i in N @vector\n    Y[i] = max(X[i] * 2.0 + B[i], 0.0)\n}",
     0},
	{"map_f16",
     "kernel map_f16(N, X: f16[N], Y: out f16[N]) {\n"
     "  for i in N @vector\n    Y[i] = f16(f32(X[i]) * 1.5) + X[i]\n}",
     0},
	{"map_bf16",
     "kernel map_bf16(N, X: bf16[N], Y: out bf16[N]) {\n"
     "  for i in N @vector\n    Y[i] = bf16(exp(f32(X[i])))\n}",
     0},
	{"map_f64",
     "kernel map_f64(N, X: f64[N], Y: out f64[N]) {\n"
     "  for i in N @vector\n    Y[i] = X[i] / 3.0 - 1.0\n}",
     0},
	{"map_i64",
     "kernel map_i64(N, X: i64[N], Y: out i64[N]) {\n"
     "  for i in N @vector\n    Y[i] = X[i] * 3 + i\n}",
     0},
	{"map_i8",
     "kernel map_i8(N, X: i8[N], Z: u8[N], Y: out i8[N], V: out u8[N]) {\n"
     "  for i in N @vector {\n    Y[i] = X[i] * X[i] + i8(1)\n"
     "    V[i] = max(Z[i], u8(77)) + Z[i]\n  }\n}",
     0},
	{"quantize",
     "kernel quantize(N, X: f32[N], Y: out i8[N], Z: out u8[N]) {\n"
     "  for i in N @vector {\n    let q = round(X[i] / 0.02)\n"
     "    Y[i] = i8(min(max(q + 3.0, -128.0), 127.0))\n    Z[i] = u8(q)\n  }\n}",
     0},
	{"select_mask",
     "kernel select_mask(N, X: f32[N], M: bool[N], Y: out f32[N], C: out bool[N]) {\n"
     "  for i in N @vector {\n    Y[i] = M[i] ? X[i] : -X[i]\n"
     "    C[i] = X[i] > 0.5 || M[i]\n  }\n}",
     0},
	{"pad",
     "kernel pad(N, X: f32[N], Y: out f32[N+5]) {\n"
     "  for i in N+5 @vector\n    Y[i] = 2 <= i && i - 2 < N ? X[i-2] : 9.0\n}",
     0},
	{"stride2",
     "kernel stride2(N, X: f32[2*N], Y: out f32[N]) {\n"
     "  for i in N @vector\n    Y[i] = X[2*i] + X[2*i+1]\n}",
     0},
	{"stride3",
     "kernel stride3(N, X: f32[3*N], Y: out f32[3*N]) {\n"
     "  for i in N @vector {\n    Y[3*i] = X[3*i+2]\n    Y[3*i+1] = X[3*i]\n"
     "    Y[3*i+2] = -X[3*i+1]\n  }\n}",
     0},
	{"second", /* the last of each is the last element of its buffer */
     "kernel second(N, X: u8[2*N-1], V: i8[2*N-1], U: u16[2*N-1], S: i16[2*N-1], Y: out i32[4,N]) "
     "{\n"
     "  for i in N @vector {\n    Y[0, i] = i32(X[2*i])\n    Y[1, i] = i32(V[2*i])\n"
     "    Y[2, i] = i32(U[2*i])\n    Y[3, i] = i32(S[2*i])\n  }\n}",
     0},
	{"reverse",
     "kernel reverse(N, X: f32[N], Y: out f32[N]) {\n"
     "  for i in N @vector\n    Y[i] = X[N - 1 - i]\n}",
     0},
	{"transpose",
     "kernel transpose(N, X: f32[N,7], Y: out f32[7,N]) {\n"
     "  for j in 7 @parallel\n    for i in N @vector\n      Y[j, i] = X[i, j]\n}",
     0},
	{"turned",
     "kernel turned(N, X: f32[N,23], Y: out f32[23,N]) {\n"
     "  for p in (N+15)/16 @parallel\n    for b in 2 @parallel {\n      t: f32[16,16] @stack\n"
     "      for u in min(16, 23-16*b)\n        for i in min(16, N-16*p) @vector\n"
     "          t[u, i] = X[16*p+i, 16*b+u]\n"
     "      for u in min(16, 23-16*b)\n        for i in min(16, N-16*p) @vector\n"
     "          Y[16*b+u, 16*p+i] = t[u, i]\n    }\n}",
     0},
	{"turned_i32",
     "kernel turned_i32(N, X: i32[N,23], Y: out i32[23,N]) {\n"
     "  for p in (N+15)/16 @parallel\n    for b in 2 @parallel {\n      t: i32[16,16] @stack\n"
     "      for u in min(16, 23-16*b)\n        for i in min(16, N-16*p) @vector\n"
     "          t[u, i] = X[16*p+i, 16*b+u]\n"
     "      for u in min(16, 23-16*b)\n        for i in min(16, N-16*p) @vector\n"
     "          Y[16*b+u, 16*p+i] = t[u, i]\n    }\n}",
     0},
	{"unflatten",
     "kernel unflatten(N, X: f32[N,6], Y: out f32[6*N]) {\n"
     "  for i in 6*N @vector\n    Y[i] = X[i / 6, i % 6]\n}",
     0},
	{"div_mod",
     "kernel div_mod(N, X: f32[N,4], Y: out f32[4*N]) {\n"
     "  for i in 4*N @vector\n    Y[i] = X[i % N, i / N]\n}",
     0},
	{"gather",
     "kernel gather(N, I: i64[N], X: f32[5,3], Y: out f32[N,3]) {\n"
     "  for i in N @parallel\n    for j in 3 @vector\n"
     "      Y[i, j] = X[at(I[i] % 5, 0..5, wrap), j]\n}",
     0},
	{"gather_lanes",
     "kernel gather_lanes(N, I: i64[N], X: f32[5], Y: out f32[N]) {\n"
     "  for i in N @vector\n    Y[i] = X[at(I[i] % 5, 0..5, wrap, check)]\n}",
     0},
	/* indices outside, in lanes that a test leaves alone and in others */
	{"outside",
     "kernel outside(N, I: i64[N], X: f32[5], Y: out f32[N]) {\n"
     "  for i in N @vector {\n    let k = at(I[i] % 6, 0..5, wrap, check)\n"
     "    if (I[i] % 3 == 1 && at(I[i] % 4, 0..3, wrap, check) < i) {\n      Y[i] = X[k]\n"
     "    }\n    else\n      Y[i] = f32(0 * at(I[i] % 10, 0..9, wrap, check))\n  }\n}",
     0},
	{"outside_one",
     "kernel outside_one(N, I: i64[N], X: f32[1,3], Y: out f32[N,3]) {\n"
     "  for i in N @parallel {\n    let k = at(I[i] % 2, 0..1, nowrap, check)\n"
     "    if (N > 9) {\n      for j in 3 @vector\n        Y[i, j] = X[k, j]\n"
     "    }\n    else\n      for j in 3 @vector\n        Y[i, j] = 1.0\n  }\n}",
     0},
	{"sum",
     "kernel sum(N, X: f32[3,N], Y: out f32[3]) {\n  for r in 3 @parallel {\n"
     "    s: f32 @reg = 0.0\n    for i in N @vector\n      s += X[r, i]\n    Y[r] = s\n  }\n}",
     1e-4},
	{"sum_nest", /* one sum of several loops, one of which says where it goes */
     "kernel sum_nest(N, X: f32[3,4,N], Y: out f32[3], Z: out f32[1]) {\n"
     "  m: f32 @reg = -inf\n  for r in 3 {\n    for c in 4\n      for i in N @vector\n"
     "        Y[r] += X[r, c, i]\n    for c in 4\n      for i in N @vector\n"
     "        m max= X[r, c, i]\n  }\n  Z[0] = m\n}",
     1e-4},
	{"sum_i32",
     "kernel sum_i32(N, X: i8[N], Y: out i32[1]) {\n  s: i32 @reg = 0\n"
     "  for i in N @vector\n    s += i32(X[i])\n  Y[0] = s\n}",
     0},
	{"bytes", /* products of 16 bits: of both signs, less a zero point, in partial vectors */
     "kernel bytes(N, X: u8[N], V: i8[N], W: i8[N], S: i16[N], Z: u8[1], Y: out i32[5,N]) {\n"
     "  for i in N @vector {\n    a: i32[5] @reg = 0\n    for s in 3 {\n"
     "      a[0] += i32(W[i]) * i32(X[i])\n      a[1] += i32(V[i]) * i32(W[i])\n"
     "      a[2] += (i32(X[i]) - i32(Z[0])) * i32(W[s % N])\n"
     "      a[3] += i32(S[i]) * i32(S[s % N])\n"
     "      a[4] += (i32(V[i]) * 256) * i32(W[i])\n    }\n"
     "    for r in 5 @unroll\n      Y[r, i] = a[r]\n  }\n}",
     0},
	{"max",
     "kernel max(N, X: f32[N], Y: out f32[1]) {\n  m: f32 @reg = -inf\n"
     "  for i in N @vector\n    m max= X[i]\n  Y[0] = m\n}",
     0},
	{"min_i64",
     "kernel min_i64(N, X: i64[N], Y: out i64[1]) {\n  m: i64 @reg = 9223372036854775807\n"
     "  for i in N @vector\n    m min= X[i]\n  Y[0] = m\n}",
     0},
	{"max_u32",
     "kernel max_u32(N, X: u32[N], Y: out u32[1]) {\n  m: u32 @reg = 0\n"
     "  for i in N @vector\n    m max= X[i]\n  Y[0] = m\n}",
     0},
	{"prod",
     "kernel prod(N, X: f64[N], Y: out f64[1]) {\n  m: f64 @reg = 1.0\n"
     "  for i in N @vector\n    m *= X[i]\n  Y[0] = m\n}",
     1e-14},
	{"dot",
     "kernel dot(N, A: f32[N], B: f32[N], Y: out f32[1]) {\n  s: f32 @reg = 0.0\n"
     "  for i in N @vector\n    s += A[i] * B[i]\n  Y[0] = s\n}",
     1e-4},
	{"softmax",
     "kernel softmax(N, X: f32[2,N], Y: out f32[2,N]) {\n  for n in 2 @parallel {\n"
     "    m: f32 @reg = -inf\n    for c in N @vector\n      m max= X[n, c]\n"
     "    s: f32 @reg = 0.0\n    for c in N @vector {\n      let e = exp(X[n, c] - m)\n"
     "      Y[n, c] = e\n      s += e\n    }\n    for c in N @vector\n      Y[n, c] *= 1.0 / s\n  "
     "}\n}",
     1e-6},
	{"argmax",
     "kernel argmax(N, X: f32[4,N], V: out f32[N], I: out i64[N]) {\n  for j in N @vector {\n"
     "    k: f32 @reg = -inf\n    p: i64 @reg = 0\n    for r in 4 {\n      let x = X[r, j]\n"
     "      if (x > k) {\n        k = x\n        p = r\n      }\n    }\n"
     "    V[j] = k\n    I[j] = p\n  }\n}",
     0},
	{"conv1d",
     "kernel conv1d(N, X: f32[3,N], W: f32[2,3,5], Y: out f32[2,N]) {\n  for f in 2 @parallel\n"
     "    for q in N @vector {\n      acc: f32 @reg = 0.0\n      for c in 3, s in 5\n"
     "        if (0 <= q + s - 2 && q + s - 2 < N)\n"
     "          acc += X[c, q+s-2] * W[f, c, s]\n      Y[f, q] = max(acc, 0.0)\n    }\n}",
     1e-6},
	{"pool",
     "kernel pool(N, X: f32[2*N+1], Y: out f32[N], C: out i64[N]) {\n  for q in N @vector {\n"
     "    m: f32 @reg = -inf\n    n: i64 @reg = 0\n    for s in 3\n"
     "      if (0 <= 2*q + s - 1 && 2*q + s - 1 < 2*N+1) {\n        m max= X[2*q+s-1]\n"
     "        n += 1\n      }\n    Y[q] = m\n    C[q] = n\n  }\n}",
     0},
	{"window", /* few vectors, all at constant positions */
     "kernel window(N, X: f32[N,20], W: f32[5], Y: out f32[N,20]) {\n  for n in N @parallel\n"
     "    for q in 20 @vector {\n      acc: f32 @reg = 0.0\n      for s in 5 @unroll\n"
     "        if (0 <= q + s - 2 && q + s - 2 < 20)\n          acc += X[n, q+s-2] * W[s]\n"
     "      Y[n, q] = acc\n    }\n}",
     1e-6},
	{"wide_window", /* borders only in the first and the last vectors */
     "kernel wide_window(N, X: f32[N,150], Y: out f32[N,150]) {\n  for n in N @parallel\n"
     "    for q in 150 @vector {\n      m: f32 @reg = -inf\n      for s in 5 @unroll\n"
     "        if (0 <= q + s - 2 && q + s - 2 < 150)\n          m max= X[n, q+s-2]\n"
     "      Y[n, q] = m\n    }\n}",
     0},
	{"strided_window",
     "kernel strided_window(N, X: f32[N,39], Y: out f32[N,20]) {\n  for n in N @parallel\n"
     "    for q in 20 @vector {\n      m: f32 @reg = inf\n      for s in 3 @unroll\n"
     "        if (0 <= 2*q + s - 1 && 2*q + s - 1 < 39)\n          m min= X[n, 2*q+s-1]\n"
     "      Y[n, q] = m\n    }\n}",
     0},
	{"phases", /* copies of one place, each with another address */
     "kernel phases(N, X: f32[N,5], W: f32[4], Y: out f32[N,6,2]) {\n  for n in N @parallel\n"
     "    for b in 2 @parallel\n      for q in 6 @vector {\n        acc: f32 @reg = 0.0\n"
     "        for s in 4 @unroll\n          if ((b - s) % 2 == 0 && 0 <= q + (b - s) / 2 &&\n"
     "              q + (b - s) / 2 < 5)\n"
     "            acc += X[n, q + (b - s) / 2] * W[s]\n        Y[n, q, b] = acc\n      }\n}",
     1e-6},
	{"tile",
     "kernel tile(N, A: f32[6,N], B: f32[N,40], C: out f32[6,40]) {\n  acc: f32[6,40] @reg = 0.0\n"
     "  for k in N\n    for i in 6 @unroll\n      for j in 40 @vector\n"
     "        acc[i, j] += A[i, k] * B[k, j]\n  for i in 6 @unroll\n    for j in 40 @vector\n"
     "      C[i, j] = acc[i, j]\n}",
     1e-6},
	{"lane_sums",
     "kernel lane_sums(N, X: f32[N], W: f32[4,N], Y: out f32[4]) {\n  acc: f32[4] @reg = 0.0\n"
     "  for i in N @vector\n    for f in 4 @unroll\n      acc[f] += X[i] * W[f, i]\n"
     "  for f in 4\n    Y[f] = acc[f]\n}",
     1e-4},
	{"locals",
     "kernel locals(N, X: f32[N], Y: out f32[N]) {\n  t: f32[32] @stack\n  u: f32[N] @scratch\n"
     "  v: f32[2*N] @scratch = 1.0\n  for i in 32 @vector\n    t[i] = f32(i) * 0.5\n"
     "  for i in N @vector\n    u[i] = X[i] + v[2*i]\n  for i in N @vector\n"
     "    Y[i] = u[i] * t[i % 32]\n}",
     0},
	{"branches",
     "kernel branches(N, X: f32[N], Y: out f32[N]) {\n  for i in N @vector\n"
     "    if (X[i] > 0.0) {\n      Y[i] = sqrt(X[i])\n    } else {\n      Y[i] = X[i]\n"
     "      if (X[i] < -1.0)\n        Y[i] += -1.0\n    }\n}",
     0},
	{"scan",
     "kernel scan(N, X: f32[N], Y: out f32[N]) {\n  s: f32 @reg = 0.0\n  for i in N {\n"
     "    s += X[i]\n    Y[i] = s\n  }\n}",
     0},
	{"in_place",
     "kernel in_place(N, X: f32[N], Y: out alias f32[N]) {\n  for i in N @vector\n"
     "    Y[i] += X[i]\n}",
     0},
	{"not_twice", /* no element may be computed again */
     "kernel not_twice(N, X: f32[N,20], Y: out f32[N,20], Z: out alias f32[N,20]) {\n"
     "  for n in N @parallel {\n    for i in 20 @vector\n      Y[n, i] = Y[n, i] + X[n, i]\n"
     "    for i in 20 @vector\n      Z[n, i] *= 3.0\n  }\n}",
     0},
	{"strided",
     "kernel strided(N, X: f32[N,3] strides(1, N), Y: out f32[3,N]) {\n  for j in 3 @parallel\n"
     "    for i in N @vector\n      Y[j, i] = X[i, j]\n}",
     0},
	{"nibbles",
     "kernel nibbles(N, X: u4[2*N], S: f32[N], Y: out f32[2*N], Z: out i4[2*N]) {\n"
     "  for i in 2*N @vector {\n    Y[i] = f32(X[i]) * S[i / 2]\n"
     "    Z[i] = i4(i32(X[i]) - 8)\n  }\n}",
     0},
};

typedef struct Loaded {
	Arena *arena;
	ExprCtx *ctx;
	Kernel *kernels[countof(CASES)]; /* as they are emitted */
	Kernel *plain[countof(CASES)];   /* as they are written */
	const TwKernels *table;
	void *library;
} Loaded;

static void
load_cases(Loaded *loaded, const Device *device)
{
	loaded->arena = arena_new("test");
	loaded->ctx = expr_ctx_new(loaded->arena);
	for (size_t i = 0; i < countof(CASES); i++) {
		loaded->kernels[i] = kernel_parse(loaded->arena, loaded->ctx, CASES[i].name, CASES[i].text);
		kernel_check(loaded->kernels[i]);
		loaded->plain[i] = kernel_parse(loaded->arena, loaded->ctx, CASES[i].name, CASES[i].text);
	}
	Target target = {.device = device};
	const char *text = make_text(loaded->arena, &target, countof(CASES), loaded->kernels);
	loaded->table = load_kernels(loaded->arena, &target, text, &loaded->library);
	ck_assert_uint_eq(loaded->table->abi, TW_KERNEL_ABI);
	ck_assert_uint_eq(loaded->table->count, countof(CASES));
}

static void
make_arrays(Arena *arena, const Kernel *kernel, const Binding *binding, uint64_t seed, Array **out)
{
	for (int i = 0; i < kernel->buffers.count; i++) {
		const Tensor *tensor = &kernel->buffers.data[i]->tensor;
		int64_t dims[8];
		for (int d = 0; d < tensor->rank; d++)
			ck_assert(dim_eval(tensor->hi[d], binding, &dims[d]));
		out[i] = array_new(arena, tensor->type, tensor->rank, dims);
		fill_random(out[i], &seed);
	}
}

/* A kernel says one of the indices outside, where there are any. */
static bool
tells(const TwStatus *status, const OutsideIndices *outside)
{
	bool is_one = false;
	for (int i = 0; i < outside->list.count; i++)
		is_one |= status->value == outside->list.data[i].index &&
		          status->limit == outside->list.data[i].extent;
	return outside->list.count == 0 ? status->code == TW_CHECK_NONE
	                                : status->code == TW_CHECK_INDEX && is_one;
}

static void
compare_case(const Loaded *loaded, size_t which, int64_t length, const Device *device)
{
	const Kernel *kernel = loaded->kernels[which];
	Arena *arena = arena_new("case");
	Binding binding = bind_all(arena, kernel, length);
	Array *expected[8], *passed[8], *seen[8], *cut[8];
	uint64_t seed = 77 + (uint64_t)length;
	make_arrays(arena, kernel, &binding, seed, expected);
	make_arrays(arena, kernel, &binding, seed, passed);
	make_arrays(arena, kernel, &binding, seed, seen);
	make_arrays(arena, kernel, &binding, seed, cut);
	OutsideIndices outside = {.arena = arena}, passed_outside = {.arena = arena};
	TwStatus status[2] = {{0}, {0}};
	kernel_eval_reporting(loaded->plain[which], &binding, expected, &outside);
	kernel_eval_reporting(kernel, &binding, passed, &passed_outside);
	ck_assert_msg(reports_equal(&outside, &passed_outside), "%s: other reports", CASES[which].name);
	run_kernel(loaded->table, (int)which, kernel, &binding, seen, 1, &status[0]);
	run_kernel(loaded->table, (int)which, kernel, &binding, cut, 3, &status[1]);
	for (int i = 0; i < 2; i++)
		ck_assert_msg(tells(&status[i], &outside), "%s, length %lld: status %d, index %lld",
		              CASES[which].name, (long long)length, status[i].code,
		              (long long)status[i].value);
	for (int i = 0; i < kernel->buffers.count; i++) {
		if (!kernel->buffers.data[i]->is_output)
			continue;
		double distance = array_distance(expected[i], passed[i]);
		ck_assert_msg(distance <= CASES[which].tolerance, "%s, length %lld, the passes: off by %g",
		              CASES[which].name, (long long)length, distance);
		distance = array_distance(expected[i], seen[i]);
		ck_assert_msg(distance <= CASES[which].tolerance, "%s, length %lld, %s: off by %g",
		              CASES[which].name, (long long)length, device->name, distance);
		ck_assert_msg(array_same_bytes(seen[i], cut[i]), "%s, length %lld: cut in three it differs",
		              CASES[which].name, (long long)length);
	}
	arena_free(arena);
}

START_TEST(test_cases)
{
	for (int d = 0; d < device_count(); d++) {
		if (!device_runs_here(device_at(d)))
			continue;
		Loaded loaded;
		load_cases(&loaded, device_at(d));
		for (size_t i = 0; i < countof(CASES); i++)
			for (int64_t length = 1; length <= LENGTHS; length++)
				compare_case(&loaded, i, length, device_at(d));
		for (size_t i = 0; i < countof(CASES); i++)
			compare_case(&loaded, i, 200, device_at(d));
		dlclose(loaded.library);
		arena_free(loaded.arena);
	}
}
END_TEST

/* Undefined symbols of an ELF object's dynamic table, as nm -u would list them. */
START_TEST(test_imports_nothing)
{
	Loaded loaded;
	load_cases(&loaded, device_native());
	Target target = {.device = device_native()};
	const char *text = make_text(loaded.arena, &target, countof(CASES), loaded.kernels);
	Bytes object = codegen_compile(loaded.arena, &target, text, NULL);
	char path[] = "/tmp/codegen-test-XXXXXX", command[128], line[256];
	int fd = mkstemp(path);
	ck_assert_int_eq(write(fd, object.data, object.size), (ssize_t)object.size);
	close(fd);
	snprintf(command, sizeof command, "nm -D --undefined-only %s", path);
	FILE *out = popen(command, "r");
	ck_assert_msg(!fgets(line, sizeof line, out), "an emitted object imports %s", line);
	ck_assert_int_eq(pclose(out), 0);
	snprintf(command, sizeof command, "nm -D --defined-only %s", path);
	out = popen(command, "r");
	ck_assert(fgets(line, sizeof line, out) && strstr(line, " tw_kernels_v1\n"));
	ck_assert_msg(!fgets(line, sizeof line, out), "an emitted object also exports %s", line);
	pclose(out);
	unlink(path);
	arena_free(loaded.arena);
}
END_TEST

static size_t
case_named(const char *name)
{
	for (size_t i = 0; i < countof(CASES); i++)
		if (strcmp(CASES[i].name, name) == 0)
			return i;
	ck_abort_msg("no case %s", name);
}

/* A checked index outside its range is reported once, with value and limit, and nothing is read
 * outside. */
START_TEST(test_reports_an_index)
{
	Loaded loaded;
	load_cases(&loaded, device_native());
	const char *bad = "kernel bad(N, I: i64[N], X: f32[5], Y: out f32[N]) {\n  for i in N @vector\n"
					  "    Y[i] = X[at(I[i], 0..5, wrap, check)]\n}";
	Kernel *kernel = kernel_parse(loaded.arena, loaded.ctx, "bad", bad);
	Target target = {.device = device_native()};
	const char *text = make_text(loaded.arena, &target, 1, &kernel);
	void *library;
	const TwKernels *table = load_kernels(loaded.arena, &target, text, &library);
	Binding binding = bind_all(loaded.arena, kernel, 21);
	Array *arrays[3];
	make_arrays(loaded.arena, kernel, &binding, 5, arrays);
	int64_t *index = arrays[0]->data;
	for (int i = 0; i < 21; i++)
		index[i] = i % 10 - 5;
	TwStatus status = {0};
	run_kernel(table, 0, kernel, &binding, arrays, 2, &status);
	ck_assert_int_eq(status.code, TW_CHECK_NONE);
	ck_assert(((float *)arrays[2]->data)[0] == ((float *)arrays[1]->data)[0]);
	index[17] = 5;
	index[19] = -6;
	run_kernel(table, 0, kernel, &binding, arrays, 2, &status);
	ck_assert_int_eq(status.code, TW_CHECK_INDEX);
	ck_assert_int_eq(status.value, 5);
	ck_assert_int_eq(status.limit, 5);
	ck_assert(((float *)arrays[2]->data)[17] == ((float *)arrays[1]->data)[4]);
	ck_assert(((float *)arrays[2]->data)[19] == ((float *)arrays[1]->data)[0]);
	dlclose(library);
	dlclose(loaded.library);
	arena_free(loaded.arena);
}
END_TEST

/* Equal kernels share their code; equal inputs give equal bytes. */
START_TEST(test_shares_and_repeats)
{
	Arena *arena = arena_new("test");
	ExprCtx *ctx = expr_ctx_new(arena);
	const char *source = CASES[case_named("map")].text;
	Kernel *kernels[2] = {kernel_parse(arena, ctx, "a", source),
	                      kernel_parse(arena, ctx, "b", source)};
	Target target = {.device = device_native()};
	const char *text = make_text(arena, &target, 2, kernels);
	ck_assert_str_eq(text, make_text(arena, &target, 2, kernels));
	ck_assert(strstr(text, "\ntw_k0(") && !strstr(text, "\ntw_k1("));
	void *library;
	const TwKernels *table = load_kernels(arena, &target, text, &library);
	ck_assert(table->count == 2 && table->table[0] == table->table[1]);
	dlclose(library);
	arena_free(arena);
}
END_TEST

static void
compile_nonsense(void *arena)
{
	Target target = {.device = device_native()};
	codegen_compile(arena, &target, "this is no C;\n", NULL);
}

static int64_t
dim_at(const Plan *plan, int dim, int64_t n)
{
	int64_t value = -1;
	ck_assert(plan_dim_eval(plan, dim, &n, &value));
	return value;
}

/* Loops bound to blocks and threads are the grid and the block of the plan's step. */
START_TEST(test_grid_of_a_plan)
{
	static const char TEXT[] = "kernel tiled(N, X: f32[N,256], Y: out f32[N,256]) {\n"
							   "  for n in N @block.x\n  for t in 256 @thread.x {\n"
							   "    tile: f32[256] @shared\n"
							   "    tile[t] = X[n, t]\n"
							   "    Y[n, t] = tile[t]\n"
							   "  }\n}";
	Arena *arena = arena_new("test");
	ExprCtx *ctx = expr_ctx_new(arena);
	Kernel *kernel = kernel_parse(arena, ctx, "tiled", TEXT);
	Module module = {.arena = arena, .ctx = ctx, .name = "one"};
	MBuffer buffers[2];
	MBuffer *args[] = {&buffers[0], &buffers[1]};
	for (int i = 0; i < 2; i++) {
		const Tensor *tensor = &kernel->buffers.data[i]->tensor;
		buffers[i] = (MBuffer){.name = tensor->name,
		                       .type = tensor->type,
		                       .rank = tensor->rank,
		                       .dims = tensor->hi,
		                       .kind = i ? PB_OUTPUT : PB_INPUT,
		                       .index = i};
		vec_push(arena, &module.buffers, args[i]);
	}
	vec_push(arena, &module.inputs, args[0]);
	vec_push(arena, &module.outputs, args[1]);
	vec_push(arena, &module.symbols,
	         (MSymbol){.symbol = kernel->symbols.data[0], .source = MSYM_DIM, .buffer = args[0]});
	MStep *step = mstep_new(arena, PT_KERNEL, "tiled", 1, args, 1, args + 1);
	step->kernel = kernel;
	vec_push(arena, &module.steps, step);
	WeightPool weights = {.arena = arena};
	KernelList kernels = {0};
	const Plan *plan = plan_of_module(arena, &module, &weights, &kernels);
	const PlanStep *made = &plan->steps[0];
	ck_assert_int_eq(made->ngrid, 3);
	ck_assert_int_eq(made->nblock, 3);
	ck_assert_int_eq(dim_at(plan, made->grid[0], 7), 7);
	ck_assert_int_eq(dim_at(plan, made->grid[1], 7), 1);
	ck_assert_int_eq(dim_at(plan, made->block[0], 7), 256);
	ck_assert_int_eq(dim_at(plan, made->shared_dim, 7), 1024);
	arena_free(arena);
}
END_TEST

START_TEST(test_compiler_errors_are_sentences)
{
	Arena *arena = arena_new("test");
	Failure failure;
	ck_assert(!try_run(compile_nonsense, arena, &failure));
	ck_assert_int_eq(failure.kind, FAIL_ENVIRONMENT);
	ck_assert_msg(strstr(failure.text, "the C compiler 'cc' failed: error:"), "%s", failure.text);
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tests = tcase_create("kernels");
	tcase_add_test(tests, test_cases);
	tcase_add_test(tests, test_imports_nothing);
	tcase_add_test(tests, test_reports_an_index);
	tcase_add_test(tests, test_shares_and_repeats);
	tcase_add_test(tests, test_grid_of_a_plan);
	tcase_add_test(tests, test_compiler_errors_are_sentences);
	return unit_run(tests);
}
