/* What this machine's CPU can do, by row of cpu.def. */
#include "base/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

#include "base/fail.h"

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

static bool
has_dot(void)
{
	enum { BF16 = 5 };
	unsigned a, b, c, d;
	return has_v4() && __builtin_cpu_supports("avx512vnni") &&
	       __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> BF16 & 1);
}

/* The processor has the instructions, and the kernel keeps the registers of tiles (XCR0). */
static bool
has_tiles(void)
{
	enum { OSXSAVE = 27, AMX_BF16 = 22, TILES = 3 << 17 };
	unsigned a, b, c, d, kept, high;
	if (!has_leaf(1, OSXSAVE) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d >> AMX_BF16 & 1))
		return false;
	__asm__("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
	return (kept & TILES) == TILES;
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

static bool
has_dot(void)
{
	return false;
}

static bool
has_tiles(void)
{
	return false;
}
#endif

static bool
has_arm_dot(void)
{
#if defined(__aarch64__) && defined(__linux__)
	enum { ASIMDDP = 20 };
	return getauxval(AT_HWCAP) >> ASIMDDP & 1;
#else
	return false;
#endif
}

static bool
has_nothing(void)
{
	return true;
}

typedef struct CpuRow {
	const char *name, *march;
	int is_ours; /* this program's architecture */
	bool (*check)(void);
	int has_kernels;
	const char *adds;
} CpuRow;

static const CpuRow ROWS[] = {
#define CPU(name, march, architecture, check, kernels, adds) \
	{name, march, architecture, check, kernels, adds},
#include "base/cpu.def"
#undef CPU
};

enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS, NO_ROW = -1 };

static bool
is_here(int row)
{
	return ROWS[row].is_ours && ROWS[row].check();
}

static const char *
name_of_cap(void)
{
	const char *name = getenv("TILEWRIGHT_CPU");
	return name && *name ? name : NULL;
}

static int
row_named(const char *name)
{
	for (int i = 0; i < ROW_COUNT; i++)
		if (strcmp(ROWS[i].name, name) == 0)
			return i;
	return NO_ROW;
}

/* The last row that may run: all, up to the one that is named, or none. */
static int
last_row(void)
{
	const char *name = name_of_cap();
	int row = name ? row_named(name) : ROW_COUNT - 1;
	return name && row != NO_ROW && !is_here(row) ? NO_ROW : row;
}

int
cpu_row(const char *march)
{
	for (int i = 0; i < ROW_COUNT; i++)
		if (strcmp(ROWS[i].march, march) == 0)
			return i;
	return NO_ROW;
}

bool
cpu_runs(int row)
{
	return row != NO_ROW && row <= last_row() && is_here(row);
}

bool
cpu_supports(const char *march)
{
	return cpu_runs(cpu_row(march));
}

static int
best_row(void)
{
	int row = ROW_COUNT - 1;
	while (row != NO_ROW && !cpu_runs(row))
		row--;
	return row;
}

const char *
cpu_march(void)
{
	int row = best_row();
	return row == NO_ROW ? "unknown" : ROWS[row].march;
}

const char *
cpu_name(void)
{
	int row = best_row();
	return row == NO_ROW ? "unknown" : ROWS[row].name;
}

bool
cpu_has_kernels(void)
{
	int row = best_row();
	return row != NO_ROW && ROWS[row].has_kernels;
}

bool
cpu_has_tiles(void)
{
	return !name_of_cap() && has_tiles();
}

const char *
cpu_adds(int row)
{
	return ROWS[row].adds;
}

const char *
cpu_cap(void)
{
	return name_of_cap() ? cpu_march() : NULL;
}

bool
cpu_check_cap(char *error, size_t error_size)
{
	const char *name = name_of_cap();
	if (!name || last_row() != NO_ROW)
		return true;
	char names[200] = "";
	for (int i = 0; i < ROW_COUNT; i++)
		if (is_here(i))
			snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
			         *names ? ", " : "", ROWS[i].name);
	int row = row_named(name);
	if (row == NO_ROW)
		return refuse_with(error, error_size,
		                   "TILEWRIGHT_CPU: there is no processor '%.40s'; this machine can be "
		                   "taken for one of: %s",
		                   name, names);
	return refuse_with(error, error_size,
	                   "TILEWRIGHT_CPU: this machine cannot be taken for %s, which needs %s; it "
	                   "can for one of: %s",
	                   name, ROWS[row].adds, names);
}
