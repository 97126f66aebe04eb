/* CUDA on a CPU: what the text of kernels takes from CUDA and its PTX, as freestanding C++.
 *
 * Blocks run one after another; the threads of one are fibers, which run until they wait for
 * others: at a barrier, or at an operation of their warp. Shared memory begins with nothing that
 * anyone may have written. An asynchronous copy happens when it is waited for, and until then its
 * place holds what nobody may read. Fragments are those of target/warp.def. No library is asked for
 * anything, so the object is loaded as any other that holds kernels; what cannot be is a trap.
 */
#include <stddef.h>
#include <stdint.h>

#define __CUDACC__
#define __global__
#define __device__
#define __constant__
#define __shared__ static __attribute__((section(TW_SHARED)))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(n)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define TW_SHARED "tw_shared_any"

/* Several words that move at once: on a GPU they lie at multiples of their size. */
template <int COUNT> struct Words {
	unsigned word[COUNT];
	void operator=(const Words &from)
	{
		if (((uintptr_t)this | (uintptr_t)&from) % sizeof *this)
			__builtin_trap();
		for (int i = 0; i < COUNT; i++)
			word[i] = from.word[i];
	}
};
typedef Words<2> uint2;
typedef Words<4> uint4;

struct Index {
	unsigned x, y, z;
};

/* The compiler may call these whatever it is told. */
extern "C" {
__attribute__((visibility("hidden"))) void *
memcpy(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)to)[i] = ((const unsigned char *)from)[i];
	return to;
}

__attribute__((visibility("hidden"))) void *
memmove(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t at = to < from ? i : size - 1 - i;
		((unsigned char *)to)[at] = ((const unsigned char *)from)[at];
	}
	return to;
}

__attribute__((visibility("hidden"))) void *
memset(void *to, int value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)to)[i] = (unsigned char)value;
	return to;
}

/* Leave one stack, whose place is told to `from`, and go on with another. */
__attribute__((visibility("hidden"))) void tw_switch(void **from, void *to);
}

#if defined(__x86_64__)
__asm__(".text\n.globl tw_switch\n.hidden tw_switch\n.type tw_switch, @function\ntw_switch:\n"
        "\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
        "\tmov %rsp, (%rdi)\n\tmov %rsi, %rsp\n"
        "\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n");
#elif defined(__aarch64__)
__asm__(".text\n.globl tw_switch\n.hidden tw_switch\n.type tw_switch, @function\ntw_switch:\n"
        "\tsub sp, sp, #160\n\tstp x19, x20, [sp]\n\tstp x21, x22, [sp, #16]\n"
        "\tstp x23, x24, [sp, #32]\n\tstp x25, x26, [sp, #48]\n\tstp x27, x28, [sp, #64]\n"
        "\tstp x29, x30, [sp, #80]\n\tstp d8, d9, [sp, #96]\n\tstp d10, d11, [sp, #112]\n"
        "\tstp d12, d13, [sp, #128]\n\tstp d14, d15, [sp, #144]\n"
        "\tmov x2, sp\n\tstr x2, [x0]\n\tmov sp, x1\n"
        "\tldp x19, x20, [sp]\n\tldp x21, x22, [sp, #16]\n\tldp x23, x24, [sp, #32]\n"
        "\tldp x25, x26, [sp, #48]\n\tldp x27, x28, [sp, #64]\n\tldp x29, x30, [sp, #80]\n"
        "\tldp d8, d9, [sp, #96]\n\tldp d10, d11, [sp, #112]\n\tldp d12, d13, [sp, #128]\n"
        "\tldp d14, d15, [sp, #144]\n\tadd sp, sp, #160\n\tret\n");
#endif

/* Memory beyond what a function may declare: one array for all, whose size a launch says. */
static __attribute__((aligned(16))) unsigned char tw_shared[256 << 10];

namespace host {

/* Stacks do not lie a multiple of a cache's sets apart. */
enum {
	WARP = 32,
	THREADS = 1024,
	COPIES = 1024, /* of a thread: what a block of one warp has on its way */
	STACK = (64 << 10) + 192,
	SAVED = 20, /* words that tw_switch() keeps on a stack, at most */
	POISON = 0xa5
};

typedef void Body(void *const *buffers, const int64_t *symbols, void *status, int step);

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
	void *stack; /* where it goes on */
	Index index;
	int number, groups, ncopy;
	bool is_done;
	Copy copies[COPIES];
};

/* What a kernel is, besides its body. (tests/standin/kernel.c has this, too.) */
struct Kernel {
	Body *body;
	unsigned char *shared, *shared_end; /* its static shared memory */
	size_t dynamic;                     /* of tw_shared, used */
	Index threads;
	bool has_barriers; /* threads wait for each other */
};

static Fiber fibers[THREADS];
static __attribute__((aligned(16))) unsigned char stacks[THREADS][STACK];
static Barrier warps[THREADS / WARP], block;
static int count;
static void *scheduler;
static Fiber *now;
static long progress;
static unsigned long long slots[THREADS];
static const Kernel *kernel;
static void *const *buffers;
static const int64_t *symbols;
static void *status;
static int step;

static void
wait(Barrier *barrier, int all)
{
	long generation = barrier->generation;
	progress++;
	if (++barrier->arrived == all) {
		barrier->arrived = 0;
		barrier->generation++;
		return;
	}
	while (barrier->generation == generation)
		tw_switch(&now->stack, scheduler);
}

static void
wait_warp()
{
	wait(&warps[now->number / WARP], WARP);
}

static void
enter()
{
	kernel->body(buffers, symbols, status, step);
	now->is_done = true;
	progress++;
	for (;;)
		tw_switch(&now->stack, scheduler);
}

static void
begin(int i)
{
	Fiber *fiber = &fibers[i];
	Index threads = kernel->threads;
	fiber->number = i;
	fiber->is_done = false;
	fiber->groups = fiber->ncopy = 0;
	fiber->index = {(unsigned)i % threads.x, (unsigned)i / threads.x % threads.y,
	                (unsigned)i / threads.x / threads.y};
	now = fiber;
	if (!kernel->has_barriers)
		return;
	uint64_t *top = (uint64_t *)(((uintptr_t)stacks[i] + STACK - 64) & ~(uintptr_t)63);
#if defined(__aarch64__)
	top -= SAVED;
	for (int k = 0; k < SAVED; k++)
		top[k] = 0;
	top[11] = (uint64_t)(uintptr_t)enter;
#else
	*--top = 0;
	*--top = (uint64_t)(uintptr_t)enter;
	for (int k = 0; k < 6; k++)
		*--top = 0;
#endif
	fiber->stack = top;
}

/* Fibers take turns, the last ones first in every other block. */
static void
run_block(int turn)
{
	for (unsigned char *at = kernel->shared; at < kernel->shared_end; at++)
		*at = POISON;
	for (size_t i = 0; i < kernel->dynamic; i++)
		tw_shared[i] = POISON;
	for (int i = 0; i < count / WARP; i++)
		warps[i] = Barrier();
	block = Barrier();
	for (int i = 0; i < count; i++) {
		begin(i);
		if (!kernel->has_barriers)
			kernel->body(buffers, symbols, status, step);
	}
	for (int left = kernel->has_barriers ? count : 0; left > 0;) {
		long before = progress;
		for (int i = 0; i < count; i++) {
			now = &fibers[turn % 2 ? count - 1 - i : i];
			if (now->is_done)
				continue;
			tw_switch(&scheduler, now->stack);
			left -= now->is_done;
		}
		if (progress == before)
			__builtin_trap(); /* threads wait for each other */
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
	__builtin_memcpy(&bits, &value, sizeof value);
	int lane = now->number % WARP;
	bits = publish(bits)[from < 0 || from >= WARP ? lane : from];
	wait_warp();
	__builtin_memcpy(&value, &bits, sizeof value);
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
#define HINT(...)
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

static float
of_bits(unsigned bits)
{
	float value;
	__builtin_memcpy(&value, &bits, sizeof value);
	return value;
}

static double
of_f16(unsigned short bits)
{
	unsigned exponent = bits >> 10 & 31, fraction = bits & 1023u;
	float small = of_bits(0x33800000); /* 2^-24 */
	double size = exponent == 31  ? of_bits(0x7f800000 | fraction << 13)
	              : exponent == 0 ? (float)fraction * small
	                              : of_bits((exponent + 112) << 23 | fraction << 13);
	return bits >> 15 ? -size : size;
}

static double
of_bf16(unsigned short bits)
{
	return of_bits((unsigned)bits << 16);
}

static double
of_tf32(float value)
{
	unsigned bits;
	__builtin_memcpy(&bits, &value, sizeof bits);
	if ((bits >> 23 & 255) != 255)
		bits = (bits + 0x1000) & ~0x1fffu;
	return of_bits(bits);
}

template <typename F, typename T>
void
gather(const T *mine, double (*wide)(T), double matrix[32][32])
{
	unsigned long long *all = publish((unsigned long long)mine);
	for (int lane = 0; lane < WARP; lane++)
		for (int i = 0; i < F::COUNT; i++)
			matrix[F::row(lane, i)][F::col(lane, i)] = wide(((const T *)all[lane])[i]);
	wait_warp();
}

static float
narrow(float, double sum)
{
	return (float)sum;
}

static int
narrow(int, double sum)
{
	return (int)(unsigned)(long long)sum;
}

template <typename T>
double
of_byte(T value)
{
	return value;
}

template <typename A, typename B, typename S, typename L, typename R>
void
mma(S *d, const L *a, const R *b, double (*wide)(L), double (*wide_right)(R))
{
	double left[32][32], right[32][32];
	gather<A>(a, wide, left);
	gather<B>(b, wide_right, right);
	for (int i = 0; i < c16x8::COUNT; i++) {
		int lane = now->number % WARP;
		double sum = d[i];
		for (int k = 0; k < A::COLS; k++)
			sum += left[c16x8::row(lane, i)][k] * right[k][c16x8::col(lane, i)];
		d[i] = narrow(d[i], sum);
	}
}

/* ---- asynchronous copies --------------------------------------------------------------------- */

static void
copy(void *to, const void *from, int bytes)
{
	if ((uintptr_t)to % (unsigned)bytes || (uintptr_t)from % (unsigned)bytes ||
	    now->ncopy == COPIES)
		__builtin_trap();
	memset(to, POISON, (size_t)bytes);
	now->copies[now->ncopy++] = {to, from, bytes, now->groups};
}

static void
wait_copies(int left)
{
	int kept = 0;
	for (int i = 0; i < now->ncopy; i++) {
		Copy one = now->copies[i];
		if (one.group + left >= now->groups)
			now->copies[kept++] = one;
		else if (one.from)
			memcpy(one.to, one.from, (size_t)one.bytes);
		else
			memset(one.to, 0, (size_t)one.bytes);
	}
	now->ncopy = kept;
}

} // namespace host

/* ---- CUDA's names ---------------------------------------------------------------------------- */

static Index blockIdx;
#define threadIdx (host::now->index)

static inline void
__syncthreads()
{
	host::wait(&host::block, host::count);
}

#define LANE (host::now->number % host::WARP)
#define __shfl_sync(mask, value, by) host::shuffle(value, by)
#define __shfl_xor_sync(mask, value, by) host::shuffle(value, LANE ^ (by))
#define __shfl_up_sync(mask, value, by) host::shuffle(value, LANE - (by))
#define __shfl_down_sync(mask, value, by) host::shuffle(value, LANE + (by))

#define __fmaf_rn(a, b, c) __builtin_fmaf(a, b, c)
#define __fma_rn(a, b, c) __builtin_fma(a, b, c)
#define __fsqrt_rn(a) __builtin_sqrtf(a)
#define __dsqrt_rn(a) __builtin_sqrt(a)
#define __threadfence_system() ((void)0)
static inline float fabsf(float x) { return __builtin_fabsf(x); }
static inline double fabs(double x) { return __builtin_fabs(x); }
static inline float floorf(float x) { return __builtin_floorf(x); }
static inline double floor(double x) { return __builtin_floor(x); }
static inline float ceilf(float x) { return __builtin_ceilf(x); }
static inline double ceil(double x) { return __builtin_ceil(x); }
static inline float truncf(float x) { return __builtin_truncf(x); }
static inline double trunc(double x) { return __builtin_trunc(x); }
static inline float rintf(float x) { return __builtin_rintf(x); }
static inline double rint(double x) { return __builtin_rint(x); }

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
#define tw_mma_m16n8k16_f16(d, a, b) host::mma<host::a16x16, host::b16x8>(d, a, b, host::of_f16, host::of_f16)
#define tw_mma_m16n8k16_bf16(d, a, b) host::mma<host::a16x16, host::b16x8>(d, a, b, host::of_bf16, host::of_bf16)
#define tw_mma_m16n8k8_tf32(d, a, b) \
	host::mma<host::a16x8, host::b8x8>(d, a, b, host::of_tf32, host::of_tf32)
#define TW_MMA_BYTES(d, a, b, left, right) \
	host::mma<host::a16x32, host::b32x8>(d, a, b, host::of_byte<left>, host::of_byte<right>)
#define tw_mma_m16n8k32_s8_s8(d, a, b) TW_MMA_BYTES(d, a, b, tw_i8, tw_i8)
#define tw_mma_m16n8k32_s8_u8(d, a, b) TW_MMA_BYTES(d, a, b, tw_i8, tw_u8)
#define tw_mma_m16n8k32_u8_s8(d, a, b) TW_MMA_BYTES(d, a, b, tw_u8, tw_i8)
#define tw_mma_m16n8k32_u8_u8(d, a, b) TW_MMA_BYTES(d, a, b, tw_u8, tw_u8)

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

/* As bundle/abi.h has it, under names of its own: kernels bring that text, too. */
struct SimulatedArgs {
	uint32_t size, abi;
	void *const *buffers;
	const int64_t *symbols;
	void *scratch, *status;
	int32_t step;
};

/* A kernel by its name, and what starts it. */
struct SimulatedKernel {
	const char *function;
	int nbuffer, nsymbol;
	const host::Kernel *kernel;
};

struct Simulated {
	const SimulatedKernel *kernels; /* the last has no name */
	void (*launch)(const host::Kernel *kernel, const int64_t *grid, int64_t begin, int64_t end,
	               void *const *buffers, const int64_t *symbols, void *status, int step);
};

namespace host {

static int64_t
floordiv(int64_t a, int64_t b)
{
	return b == 0 ? 0 : a / b - (a % b != 0 && (a % b < 0) != (b < 0));
}

static int64_t
floormod(int64_t a, int64_t b)
{
	return b == 0 ? a : a - floordiv(a, b) * b;
}

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

} // namespace host

/* Two at once would share what is here. */
static int tw_busy;

/* The blocks from number `begin` up to `end`, of all that there are. */
static void
host_launch(const host::Kernel *kernel, const int64_t *grid, int64_t begin, int64_t end,
            void *const *buffers, const int64_t *symbols, void *status, int step)
{
	while (__atomic_exchange_n(&tw_busy, 1, __ATOMIC_ACQUIRE))
		;
	host::kernel = kernel;
	host::buffers = buffers;
	host::symbols = symbols;
	host::status = status;
	host::step = step;
	host::count = (int)(kernel->threads.x * kernel->threads.y * kernel->threads.z);
	end = host::least(end, grid[0] * grid[1] * grid[2]);
	for (int64_t i = begin; i < end; i++) {
		blockIdx = {(unsigned)(i % grid[0]), (unsigned)(i / grid[0] % grid[1]),
		            (unsigned)(i / grid[0] / grid[1])};
		host::run_block((int)(i % 2));
	}
	__atomic_store_n(&tw_busy, 0, __ATOMIC_RELEASE);
}
