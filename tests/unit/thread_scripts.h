/* Kernels and scripts that make threads of their loops: by hand here, and those of the lesson in
 * docs/schedules.md at sizes that the interpreter is done with in a second. */
#ifndef UNIT_THREAD_SCRIPTS_H
#define UNIT_THREAD_SCRIPTS_H

#include <string.h>

#include "base/file.h"
#include "tir/schedule/schedule.h"

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
	{HALVES, WARPS("16"), NULL},
	{HALVES, WARPS("16") F16, "fa[fa_0] = A["},
	{HALVES, WARPS("16") F16 SHARED, "fa[fa_0] = sa["},
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
