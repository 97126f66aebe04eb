/* Kernels and scripts that make threads of their loops: by hand here, and those of the lesson in
 * docs/schedules.md at sizes that the interpreter is done with in a second. */
#ifndef UNIT_THREAD_SCRIPTS_H
#define UNIT_THREAD_SCRIPTS_H

#include <string.h>

#include "base/file.h"
#include "tir/script.h"

#include "kernels.h"
#include "loop_passes.h"

#define TILED(type, a, b, product) \
	"kernel mm(A: " type ", B: " type ", Y: out f32[32,48]) {\n" \
	"  for m in 32, n in 48 {\n" \
	"    acc: f32 @reg = 0\n" \
	"    for k in 32\n" \
	"      acc[] += " product(a, b) "\n" \
									"    Y[m, n] = max(acc[], 0)\n" \
									"  }\n" \
									"}\n"
#define WIDENED(a, b) "f32(A[" a "]) * f32(B[" b "])"
#define PLAIN(a, b) "A[" a "] * B[" b "]"
#define TURNED(a, b) "B[" b "] * A[" a "]"

static const char HALVES[] = TILED("f16[64,64]", "m, k", "k, n", WIDENED);
static const char HALVES_TURNED[] = TILED("f16[64,64]", "k, m", "n, k", WIDENED);
static const char HALVES_BF16[] = TILED("bf16[64,64]", "m, k", "k, n", WIDENED);
static const char FLOATS[] = TILED("f32[64,64]", "m, k", "k, n", TURNED);
static const char ROWS[] = "kernel rows(N, X: f32[N,37], Y: out f32[N,35]) {\n"
						   "  for n in N, t in 35 {\n"
						   "    acc: f32 @reg = 0\n"
						   "    for r in 5\n"
						   "      if (0 <= t + r - 1 && t + r - 1 < 37)\n"
						   "        acc[] += X[n, t+r-1]\n"
						   "    Y[n, t] = acc[]\n"
						   "  }\n"
						   "}\n";

/* Three loops of a row, which give each other a sum and an array. */
static const char STAGES[] = "kernel stages(N, X: f32[N,70], Y: out f32[N,70], Z: out f32[N]) {\n"
							 "  for n in N {\n"
							 "    e: f32[70] @stack\n"
							 "    acc: f32 @reg = 0\n"
							 "    for k in 70\n"
							 "      acc[] += X[n, k]\n"
							 "    for i in 70\n"
							 "      e[i] = X[n, i] * 2 - acc[]\n"
							 "    most: f32 @reg = -inf\n"
							 "    for l in 70\n"
							 "      most[] max= e[69-l]\n"
							 "    for j in 70\n"
							 "      Y[n, j] = e[69-j] + most[]\n"
							 "    Z[n] = most[] + acc[]\n"
							 "  }\n"
							 "}\n";
/* A loop around them: what is shared is used again and again. */
static const char ROUNDS[] = "kernel rounds(N, X: f32[N,4,40], Y: out f32[N,4,40]) {\n"
							 "  for n in N, r in 4 {\n"
							 "    e: f32[40] @stack\n"
							 "    acc: f32 @reg = 0\n"
							 "    for i in 40 {\n"
							 "      let x = X[n, r, i] + 1\n"
							 "      e[i] = x * x\n"
							 "    }\n"
							 "    for k in 40\n"
							 "      acc[] += e[39-k] + X[n, r, k]\n"
							 "    for j in 40\n"
							 "      Y[n, r, j] = e[39-j] - acc[]\n"
							 "  }\n"
							 "}\n";

/* What is shared is read by each thread for itself behind the loops that fill it: the next turn
 * has to wait for that. */
static const char PEEKS[] = "kernel peeks(N, X: f32[N,4,70], Y: out f32[N,4]) {\n"
							"  for n in N, r in 4 {\n"
							"    e: f32[70] @stack\n"
							"    for i in 70\n"
							"      e[i] = X[n, r, i] * 2\n"
							"    Y[n, r] = e[69] + e[40] + 1\n"
							"  }\n"
							"}\n";

/* Warps give each other parts of a sum again and again. */
static const char TOTALS[] = "kernel totals(N, X: f32[N,4,70], Y: out f32[N,4]) {\n"
							 "  for n in N, r in 4 {\n"
							 "    acc: f32 @reg = 0\n"
							 "    for k in 70\n"
							 "      acc[] += X[n, r, k]\n"
							 "    Y[n, r] = acc[]\n"
							 "  }\n"
							 "}\n";

/* Tiles that go on behind all ends: what lies there is copied from inside, and not used. */
static const char RAGGED[] = "kernel ragged(A: f32[30,17], B: f32[17,24], Y: out f32[30,24]) {\n"
							 "  for m in 30, n in 24 {\n"
							 "    acc: f32 @reg = 0\n"
							 "    for k in 17\n"
							 "      acc[] += A[m, k] * B[k, n]\n"
							 "    Y[m, n] = acc[] + 1\n"
							 "  }\n"
							 "}\n";

/* A factor that lies transposed: its rows are no neighbours. */
static const char STRIDED[] =
	"kernel strided(A: f16[32,32], B: f16[32,48] strides(1, 32), Y: out f32[32,48]) {\n"
	"  for m in 32, n in 48 {\n"
	"    acc: f32 @reg = 0\n"
	"    for k in 32\n"
	"      acc[] += f32(A[m, k]) * f32(B[k, n])\n"
	"    Y[m, n] = max(acc[], 0)\n"
	"  }\n"
	"}\n";

/* Windows with borders, places and terms as one loop each, which tiles do not divide. */
static const char WINDOWS[] =
	"kernel windows(N, X: f32[N,8,9,8], W: f32[20,8,3,3], Y: out f32[N,20,9,8]) {\n"
	"  for n in N, f in 20, p in 9, q in 8 {\n"
	"    acc: f32 @reg = 0\n"
	"    for c in 8, r in 3, s in 3\n"
	"      if (0 <= p+r-1 && p+r-1 < 9 && 0 <= q+s-1 && q+s-1 < 8)\n"
	"        acc[] += X[n, c, p+r-1, q+s-1] * W[f, c, r, s]\n"
	"    Y[n, f, p, q] = acc[] + 1\n"
	"  }\n"
	"}\n";
#define IM2COL(split_k) \
	"  reorder f, n, p, q\n  fuse n, p -> np\n  fuse np, q -> npq\n" \
	"  split_whole f 16 -> bf, f1\n  split f1 8 -> u, tf\n" \
	"  split_whole npq 32 -> bq, q1\n  split q1 2 -> tq, v\n" \
	"  reorder bf, bq, tf, tq, u, v\n  bind bf @block.y\n  bind bq @block.x\n" \
	"  bind tf @thread.y\n  bind tq @thread.x\n" \
	"  fission v acc @reg -> v_1\n  fission u acc @reg -> u_1\n" \
	"  fuse c, r -> cr\n  fuse cr, s -> k\n" split_k " k 16 -> ko, ki\n" \
	"  reorder ko, ki, u, v\n  bind v @vector\n"

/* A block of 32 x 24, two warps by one; the steps of the sum are 16. */
#define WARPS(steps) \
	"  split m 16 -> wm, mi\n  split n 24 -> bn, n1\n  split n1 8 -> nt, ni\n" \
	"  split k 16 -> ko, k1\n  split k1 " steps " -> kt, ki\n" \
	"  reorder bn, wm, ni, mi, nt\n  bind bn @block.x\n  bind wm @thread.y\n" \
	"  fission nt acc @reg -> nt_1\n  fission mi acc @reg -> mi_1\n" \
	"  fission ni acc @reg -> ni_1\n  reorder ko, kt, nt, mi, ni, ki\n" \
	"  reorder nt_1, mi_1, ni_1\n"
#define SHARED "  cache_read A at ko @shared -> sa\n  cache_read B at ko @shared -> sb\n"
#define LOADED "  load_matrix fa at kt\n  load_matrix fb at nt\n"
#define AHEAD "  prefetch sa, sb at ko\n"
#define F16 "  tensorize mi, ni, ki mma.m16n8k16.f16 -> lane, fa, fb\n"
#define BF16 "  tensorize mi, ni, ki mma.m16n8k16.bf16 -> lane, fa, fb\n"
#define TF32 "  tensorize mi, ni, ki mma.m16n8k8.tf32 -> lane, fa, fb\n"

typedef struct ThreadScript {
	const char *text, *steps;
	const char *holds; /* the scheduled text, or NULL */
} ThreadScript;

static const ThreadScript thread_scripts[] = {
	{RAGGED,
     "  split_whole m 16 -> bm, m1\n  split m1 8 -> u, tm\n  split_whole n 20 -> bn, tn\n"
     "  split k 8 -> ko, ki\n  reorder bm, bn, tm, tn, u\n  bind bm @block.y\n"
     "  bind bn @block.x\n  bind tm @thread.y\n  bind tn @thread.x\n"
     "  fission u acc @reg -> u_1\n  reorder ko, ki, u\n" SHARED,
     "sb: f32[8,20] @shared"},
	{WINDOWS,
     IM2COL("  split_whole") "  reindex u, tf, ki 2 W at ko @shared -> sw\n"
                             "  reindex ki, tq, v 1 X at ko @shared -> sx\n",
     "for sw_1 in 4 @vector"},
	{WINDOWS,
     IM2COL("  split") "  reindex ki, u, tf 1 W at ko @shared -> sw\n"
                       "  reindex tq, v, ki 0 X at ko @shared -> sx\n",
     "acc[v, u] += sx["},
	{HALVES,
     WARPS("16") "  reindex wm, mi, kt, ki 2 A at ko @shared -> sa\n"
                 "  reindex kt, ki, nt, ni 2 B at ko @shared -> sb\n",
     "for sa_1 in 8 @vector"},
	{ROWS,
     "  bind n @block.x\n  split t 7 -> tt, tr\n  bind tt @thread.y\n"
     "  bind tr @thread.x\n  reindex tt, tr, r 2 X at tr @shared -> c\n",
     "acc[] += c[tt*7+tr, r]"},
	{STAGES, "  bind n @block.x\n  spread k, i, l, j 32 -> t\n", "e: f32[70] @shared"},
	{STAGES, "  bind n @block.x\n  spread k, i, l, j 96 -> t\n", "parts: f32[3] @shared"},
	{STAGES,
     "  split_whole n 4 -> b, w\n  bind b @block.x\n  bind w @thread.y\n"
     "  spread k, i, l, j 64 -> t\n",
     "e: f32[4,70] @shared"},
	{STAGES,
     "  split_whole n 16 -> b, w\n  bind b @block.x\n  bind w @thread.y\n"
     "  spread k, i, l, j 4 -> t\n",
     "shr(2, lane)"},
	{ROUNDS, "  bind n @block.x\n  spread i, k, j 64 -> t\n", "for r in 4"},
	{TOTALS, "  bind n @block.x\n  spread k 96 -> t\n", "parts: f32[3] @shared"},
	{PEEKS, "  bind n @block.x\n  spread i 64 -> t\n", "if (t == 0)"},
	{ROUNDS, "  bind n @block.x\n  bind r @thread.y\n  spread i, k, j 32 -> t\n",
     "e: f32[4,40] @shared"},
	{HALVES, WARPS("16"), NULL},
	{HALVES, WARPS("16") F16, "fa[fa_0] = A["},
	{HALVES, WARPS("16") F16 SHARED, "fa[fa_0] = sa["},
	{STRIDED, WARPS("16") F16 SHARED LOADED, "for sb_0 in 6"},
	{HALVES, WARPS("16") F16 SHARED LOADED, "fa[0] = ldmatrix.x4(sa["},
	{HALVES, WARPS("16") F16 SHARED LOADED AHEAD "  bind nt @unroll\n", "= cp.async(A["},
	{HALVES_TURNED, WARPS("16") F16 SHARED LOADED AHEAD, "ldmatrix.x4.trans(sa["},
	{HALVES_TURNED, WARPS("16") F16 SHARED LOADED, "ldmatrix.x2(sb["},
	{HALVES_BF16, WARPS("16") BF16 SHARED LOADED AHEAD, "ldmatrix.x2.trans(sb["},
	{FLOATS, WARPS("8") TF32 SHARED LOADED AHEAD, "mma.m16n8k8.tf32("},
	/* copies of what is no multiple of the threads, of single elements, and at a border */
	{ROWS,
     "  bind n @block.x\n  split t 7 -> tt, tr\n  bind tt @thread.y\n"
     "  bind tr @thread.x\n  cache_read X at tr @shared -> c\n",
     NULL},
	{ROWS,
     "  bind n @block.y\n  split t 5 -> bt, tr\n  bind bt @block.x\n"
     "  bind tr @thread.x\n  cache_read X at r @shared -> c\n",
     NULL},
	{FLOATS,
     "  split m 16 -> bm, tm\n  split n 16 -> bn, tn\n  split k 4 -> ko, ki\n"
     "  reorder bm, bn, tm, tn\n  bind bm @block.y\n  bind bn @block.x\n"
     "  bind tm @thread.y\n  bind tn @thread.x\n" SHARED AHEAD,
     "cp.async(B["},
};
enum { MAX_LESSONS = 8 };

/* The kernels of the lesson: products of 128 for 1024, 16 channels of 28 x 28 for 64 of 56 x 56.
 * Those without a schedule have no steps. */
static inline int
lesson_scripts(ThreadScript *scripts)
{
	Bytes page = file_map(arena, "docs/schedules.md");
	char *text = arena_strndup(arena, (const char *)page.data, page.size);
	int count = 0;
	for (char *at; (at = strstr(text, ".l <<'END'\n"));) {
		char *from = strchr(at, '\n') + 1, *to = strstr(from, "    END\n");
		char *schedule = strstr(from, "    schedule {\n");
		ck_assert(to && count < MAX_LESSONS);
		text = to;
		bool is_plain = !schedule || schedule > to;
		const char *kernel =
			arena_strndup(arena, from, (size_t)((is_plain ? to : schedule) - from));
		kernel = replaced(replaced(replaced(kernel, "1024", "128"), "64", "16"), "56", "28");
		scripts[count++] = (ThreadScript){kernel, "", "= cp.async("};
		if (is_plain) {
			scripts[count - 1].holds = "+= shfl.xor(";
			continue;
		}
		schedule = strchr(schedule, '\n') + 1;
		*strstr(schedule, "    }\n") = 0;
		scripts[count - 1].steps = schedule;
	}
	return count;
}

/* All of them, made into threads; what has no steps is. */
static inline Kernel *
scheduled(const ThreadScript *script)
{
	if (!script->steps[0])
		return read_kernel(script->text);
	Kernel *kernel =
		read_kernel(arena_printf(arena, "%sschedule {\n%s}\n", script->text, script->steps));
	script_apply(kernel, kernel->script);
	kernel->script = NULL;
	return kernel;
}

#endif
