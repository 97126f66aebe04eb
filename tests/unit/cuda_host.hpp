/* CUDA on a CPU, for tests: what the text of kernels takes from CUDA and its PTX.
 *
 * Blocks run one after another; the threads of one are fibers, which run until they wait for others:
 * at a barrier, or at an operation of their warp. Shared memory begins with nothing that anyone may
 * have written. An asynchronous copy happens when it is waited for, and until then its place holds
 * what nobody may read. Fragments are those of target/warp.def.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <vector>

#define __CUDACC__
#define __global__
#define __device__
#define __constant__
#define __shared__ static __attribute__((section("shared")))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))

struct alignas(8) uint2 {
	unsigned x, y;
};
struct alignas(16) uint4 {
	unsigned x, y, z, w;
};

struct Index {
	unsigned x, y, z;
};

extern "C" unsigned char __start_shared[] __attribute__((weak));
extern "C" unsigned char __stop_shared[] __attribute__((weak));

namespace host {

enum { WARP = 32, STACK = 128 << 10, POISON = 0xa5 };

struct Barrier {
	int arrived;
	long generation;
};

struct Copy {
	void *to;
	const void *from; /* NULL: zeros */
	int bytes, group;
};

struct Fiber {
	ucontext_t context;
	Index index;
	int number;
	bool is_done;
	int groups;
	std::vector<Copy> copies;
};

static std::vector<Fiber> fibers;
static std::vector<Barrier> warps;
static Barrier block;
static ucontext_t scheduler;
static Fiber *now;
static long progress;
static unsigned long long slots[1024];
static void (*body)(void **buffers, const long long *symbols);
static void **buffers;
static const long long *symbols;

static void
wait(Barrier *barrier, int count)
{
	long generation = barrier->generation;
	progress++;
	if (++barrier->arrived == count) {
		barrier->arrived = 0;
		barrier->generation++;
		return;
	}
	while (barrier->generation == generation)
		swapcontext(&now->context, &scheduler);
}

static void
wait_warp()
{
	wait(&warps[now->number / WARP], WARP);
}

static void
enter()
{
	body(buffers, symbols);
	now->is_done = true;
	progress++;
	swapcontext(&now->context, &scheduler);
}

/* Fibers take turns, the last ones first in every other block. */
static void
run_block(Index threads, int turn)
{
	static std::vector<char> stacks;
	int count = (int)(threads.x * threads.y * threads.z);
	stacks.resize((size_t)count * STACK);
	fibers.assign((size_t)count, Fiber());
	warps.assign((size_t)(count + WARP - 1) / WARP, Barrier());
	block = Barrier();
	if (__start_shared)
		memset(__start_shared, POISON, (size_t)(__stop_shared - __start_shared));
	for (int i = 0; i < count; i++) {
		Fiber *fiber = &fibers[(size_t)i];
		fiber->number = i;
		fiber->index = {(unsigned)i % threads.x, (unsigned)i / threads.x % threads.y,
		                (unsigned)i / threads.x / threads.y};
		getcontext(&fiber->context);
		fiber->context.uc_stack.ss_sp = &stacks[(size_t)i * STACK];
		fiber->context.uc_stack.ss_size = STACK;
		makecontext(&fiber->context, enter, 0);
	}
	for (int left = count; left > 0;) {
		long before = progress;
		for (int i = 0; i < count; i++) {
			now = &fibers[(size_t)(turn % 2 ? count - 1 - i : i)];
			if (now->is_done)
				continue;
			swapcontext(&scheduler, &now->context);
			left -= now->is_done;
		}
		if (progress == before) {
			fprintf(stderr, "threads wait for each other\n");
			abort();
		}
	}
}

/* ---- operations of a warp -------------------------------------------------------------------- */

/* What each lane gives, for all of them to see. */
static unsigned long long *
publish(unsigned long long value)
{
	slots[now->number] = value;
	wait_warp();
	return &slots[now->number / WARP * WARP];
}

template <typename T>
T
shuffle(T value, int from)
{
	unsigned long long bits = 0;
	memcpy(&bits, &value, sizeof value);
	int lane = now->number % WARP;
	bits = publish(bits)[from < 0 || from >= WARP ? lane : from];
	wait_warp();
	memcpy(&value, &bits, sizeof value);
	return value;
}

#define FRAGMENT(name, rows, cols, count, row_of, col_of) \
	struct name { \
		enum { ROWS = rows, COLS = cols, COUNT = count }; \
		static int row(int l, int i) { return (void)l, (void)i, row_of; } \
		static int col(int l, int i) { return (void)l, (void)i, col_of; } \
	};
#define SHUFFLE(...)
#define LOAD(...)
#define MMA(...)
#define COPY(...)
#include "target/warp.def"

template <typename F>
void
load(unsigned short *d, const unsigned short *row)
{
	unsigned long long *rows = publish((unsigned long long)row);
	for (int i = 0; i < F::COUNT; i++) {
		int lane = now->number % WARP;
		d[i] = ((const unsigned short *)rows[F::row(lane, i)])[F::col(lane, i)];
	}
	wait_warp();
}

static double
of_f16(unsigned short bits)
{
	int exponent = bits >> 10 & 31, fraction = bits & 1023;
	double size = exponent == 31  ? (fraction ? NAN : INFINITY)
	              : exponent == 0 ? ldexp(fraction, -24)
	                              : ldexp(1024 + fraction, exponent - 25);
	return bits >> 15 ? -size : size;
}

static double
of_bf16(unsigned short bits)
{
	unsigned wide = (unsigned)bits << 16;
	float value;
	memcpy(&value, &wide, sizeof value);
	return value;
}

static double
of_tf32(float value)
{
	unsigned bits;
	memcpy(&bits, &value, sizeof bits);
	if (isfinite(value))
		bits = (bits + 0x1000) & ~0x1fffu;
	memcpy(&value, &bits, sizeof bits);
	return value;
}

template <typename F, typename T>
void
gather(const T *mine, double (*wide)(T), double matrix[16][16])
{
	unsigned long long *all = publish((unsigned long long)mine);
	for (int lane = 0; lane < WARP; lane++)
		for (int i = 0; i < F::COUNT; i++)
			matrix[F::row(lane, i)][F::col(lane, i)] = wide(((const T *)all[lane])[i]);
	wait_warp();
}

template <typename A, typename B, typename T>
void
mma(float *d, const T *a, const T *b, double (*wide)(T))
{
	double left[16][16], right[16][16];
	gather<A>(a, wide, left);
	gather<B>(b, wide, right);
	for (int i = 0; i < c16x8::COUNT; i++) {
		int lane = now->number % WARP;
		double sum = d[i];
		for (int k = 0; k < A::COLS; k++)
			sum += left[c16x8::row(lane, i)][k] * right[k][c16x8::col(lane, i)];
		d[i] = (float)sum;
	}
}

/* ---- asynchronous copies --------------------------------------------------------------------- */

static void
copy(void *to, const void *from, int bytes)
{
	if ((unsigned long long)to % bytes || (unsigned long long)from % bytes) {
		fprintf(stderr, "a copy of %d bytes is not aligned\n", bytes);
		abort();
	}
	memset(to, POISON, (size_t)bytes);
	now->copies.push_back({to, from, bytes, now->groups});
}

static void
wait_copies(int left)
{
	std::vector<Copy> kept;
	for (const Copy &one : now->copies) {
		if (one.group + left >= now->groups)
			kept.push_back(one);
		else if (one.from)
			memcpy(one.to, one.from, (size_t)one.bytes);
		else
			memset(one.to, 0, (size_t)one.bytes);
	}
	now->copies = kept;
}

} // namespace host

/* ---- CUDA's names ---------------------------------------------------------------------------- */

static Index blockIdx;
#define threadIdx (host::now->index)

static inline void
__syncthreads()
{
	host::wait(&host::block, (int)host::fibers.size());
}

#define LANE (host::now->number % host::WARP)
#define __shfl_sync(mask, value, by) host::shuffle(value, by)
#define __shfl_xor_sync(mask, value, by) host::shuffle(value, LANE ^ (by))
#define __shfl_up_sync(mask, value, by) host::shuffle(value, LANE - (by))
#define __shfl_down_sync(mask, value, by) host::shuffle(value, LANE + (by))

#define __fmaf_rn(a, b, c) fmaf(a, b, c)
#define __fma_rn(a, b, c) fma(a, b, c)
#define __fsqrt_rn(a) sqrtf(a)
#define __dsqrt_rn(a) sqrt(a)
#define __threadfence_system() ((void)0)

template <typename T>
T
atomicExch(T *place, T value)
{
	T old = *place;
	*place = value;
	return old;
}

template <typename T>
T
atomicCAS(T *place, int old, T value)
{
	T seen = *place;
	if (seen == old)
		*place = value;
	return seen;
}

static inline void
atomicAnd(unsigned *place, unsigned value)
{
	*place &= value;
}

static inline void
atomicOr(unsigned *place, unsigned value)
{
	*place |= value;
}

/* ---- the prelude's operations of threads ----------------------------------------------------- */

#define tw_cp_async_4(to, from) host::copy(to, from, 4)
#define tw_cp_async_8(to, from) host::copy(to, from, 8)
#define tw_cp_async_16(to, from) host::copy(to, from, 16)
#define tw_cp_async_zfill_4(to, from, inside) host::copy(to, (inside) ? from : NULL, 4)
#define tw_cp_async_zfill_8(to, from, inside) host::copy(to, (inside) ? from : NULL, 8)
#define tw_cp_async_zfill_16(to, from, inside) host::copy(to, (inside) ? from : NULL, 16)
#define tw_cp_async_commit() (host::now->groups++)

template <int left>
void
tw_cp_async_wait()
{
	host::wait_copies(left);
}

#define tw_ldmatrix_x1(d, row) host::load<host::r8x8>(d, row)
#define tw_ldmatrix_x2(d, row) host::load<host::c16x8>(d, row)
#define tw_ldmatrix_x4(d, row) host::load<host::r32x8>(d, row)
#define tw_ldmatrix_x1_trans(d, row) host::load<host::t8x8>(d, row)
#define tw_ldmatrix_x2_trans(d, row) host::load<host::b16x8>(d, row)
#define tw_ldmatrix_x4_trans(d, row) host::load<host::t32x8>(d, row)
#define tw_mma_m16n8k16_f16(d, a, b) host::mma<host::a16x16, host::b16x8>(d, a, b, host::of_f16)
#define tw_mma_m16n8k16_bf16(d, a, b) host::mma<host::a16x16, host::b16x8>(d, a, b, host::of_bf16)
#define tw_mma_m16n8k8_tf32(d, a, b) host::mma<host::a16x8, host::b8x8>(d, a, b, host::of_tf32)

__shared__ __align__(16) unsigned char tw_shared[256 << 10];

/* ---- launches -------------------------------------------------------------------------------- */

/* An argument, of whatever type the kernel has there. */
struct Pointer {
	void *place;
	template <typename T>
	operator T *() const
	{
		return (T *)place;
	}
};

extern "C" void
host_launch(void (*body)(void **, const long long *), const unsigned *grid, const unsigned *threads,
            void **buffers, const long long *symbols)
{
	int turn = 0;
	host::body = body;
	host::buffers = buffers;
	host::symbols = symbols;
	for (unsigned z = 0; z < grid[2]; z++)
		for (unsigned y = 0; y < grid[1]; y++)
			for (unsigned x = 0; x < grid[0]; x++) {
				blockIdx = {x, y, z};
				host::run_block({threads[0], threads[1], threads[2]}, turn++);
			}
}
