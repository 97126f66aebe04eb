/* What this machine's CPU can do (cpu.def), and which target of a bundle suits it. */
#include <stdio.h>
#include <string.h>

#include "runtime/bundle.h"

#if defined(__x86_64__)
#include <cpuid.h>
enum { X86 = 1, ARM = 0 };

/* Bits of CPUID that the compiler's own test has no name for. */
static bool
has_leaf(unsigned leaf, unsigned bit_of_ecx)
{
	unsigned a, b, c, d;
	return __get_cpuid(leaf, &a, &b, &c, &d) && (c >> bit_of_ecx & 1);
}

static bool
has_v2(void)
{
	return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") &&
	       __builtin_cpu_supports("popcnt");
}

static bool
has_v3(void)
{
	enum { F16C = 29, MOVBE = 22, LZCNT = 5 };
	return has_v2() && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && has_leaf(1, F16C) &&
	       has_leaf(1, MOVBE) && has_leaf(0x80000001, LZCNT);
}

static bool
has_v4(void)
{
	return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vl");
}
#else
#if defined(__aarch64__)
enum { X86 = 0, ARM = 1 };
#else
enum { X86 = 0, ARM = 0 };
#endif

static bool
has_v2(void)
{
	return false;
}

static bool
has_v3(void)
{
	return false;
}

static bool
has_v4(void)
{
	return false;
}
#endif

static bool
has_nothing(void)
{
	return true;
}

typedef struct CpuRow {
	const char *march;
	int is_ours; /* this program's architecture */
	bool (*check)(void);
	const char *adds;
} CpuRow;

static const CpuRow ROWS[] = {
#define CPU(march, architecture, check, adds) {march, architecture, check, adds},
#include "runtime/cpu/cpu.def"
#undef CPU
};

enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

static int
find_row(const char *march)
{
	for (int i = 0; i < ROW_COUNT; i++)
		if (strcmp(ROWS[i].march, march) == 0)
			return i;
	return -1;
}

static bool
row_runs(int row)
{
	return row >= 0 && ROWS[row].is_ours && ROWS[row].check();
}

bool
cpu_supports(const char *march)
{
	return row_runs(find_row(march));
}

const char *
cpu_march(void)
{
	for (int i = ROW_COUNT - 1; i >= 0; i--)
		if (row_runs(i))
			return ROWS[i].march;
	return "unknown";
}

static int
refuse_target(const ManifestTarget *target, char *error, size_t error_size)
{
	int row = find_row(target->march);
	snprintf(error, error_size,
	         "the bundle needs %s (%s); this machine has %s: run `tilewright compile MODEL "
	         "--target cpu:%s`",
	         row >= 0 ? ROWS[row].adds : target->march, target->device, cpu_march(), cpu_march());
	return -1;
}

int
bundle_find_target(const Bundle *bundle, const char *device, char *error, size_t error_size)
{
	const Manifest *manifest = bundle->manifest;
	int best = -1, best_row = -1, least = -1;
	for (int i = 0; i < manifest->ntarget; i++) {
		const ManifestTarget *target = &manifest->targets[i];
		int row = find_row(target->march);
		if (device && strcmp(device, target->device) != 0)
			continue;
		if (least < 0 || row < find_row(manifest->targets[least].march))
			least = i;
		if (row_runs(row) && row > best_row) {
			best = i;
			best_row = row;
		}
	}
	if (best >= 0)
		return best;
	if (least >= 0)
		return refuse_target(&manifest->targets[least], error, error_size);
	snprintf(error, error_size,
	         "the bundle has nothing for %.60s: run `tilewright compile MODEL "
	         "--target %.60s`",
	         device ? device : "any machine", device ? device : "cpu:native");
	return -1;
}
