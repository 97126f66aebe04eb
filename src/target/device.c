/* The rows of devices.def, and which of them this machine is. */
#include "target/maker.h"

#include <string.h>
#include <unistd.h>

#include "base/cpu.h"

enum { KIB = 1024, MIB = 1024 * 1024, GIB = 1024 * 1024 * 1024 };

/* A test's program has rows of its own beside these (tests/toy). */
#ifndef DEVICE_ROWS
#define DEVICE_ROWS "target/devices.def"
#endif

#define CPU(name, maker, ...) extern const Maker maker_##maker;
#define GPU CPU
#include DEVICE_ROWS
#undef CPU
#undef GPU

enum { LINE = 64, PAGE = 4096, SECTOR = 32, BANKS = 32, BANK = 4, REGISTER = 4 };

/* Rows of numbers that lie a multiple of a cache's sets apart meet in one of them, which holds as
 * many as it has ways: its sets are banks of a line each. */
#define CACHE(name, kib, ways, sharers, rate) \
	{ \
		name, (int64_t)kib *KIB, sharers, rate, LINE, (int)((int64_t)kib * KIB / LINE / ways), \
			LINE, ways, PAGE \
	}
#define ROW(prefix, is_apart_, suffix, name_, kind, march_, vector, registers_, fma, f16_, \
            has_bf16_, sums_, l1_, w1, r1, l2_, w2, r2, l3_, w3, r3, f32, f64_, bf16_, s8_, \
            dot_bf16, dot_s8, bandwidth_, doc_) \
	{.name = prefix name_, \
	 .doc = doc_ suffix, \
	 .march = march_, \
	 .artefact = "object", \
	 .vector_bytes = vector, \
	 .registers = registers_, \
	 .has_fma = fma, \
	 .has_f16 = f16_, \
	 .has_bf16 = has_bf16_, \
	 .is_apart = is_apart_, \
	 .l1 = (int64_t)l1_ * KIB, \
	 .l2 = (int64_t)l2_ * KIB, \
	 .l3 = (int64_t)l3_ * KIB, \
	 .gflops = f32, \
	 .bandwidth = bandwidth_, \
	 .maker = &maker_##kind, \
	 .peak = {f64_, 0, 0, bf16_, s8_}, \
	 .units = 1, \
	 .issue = 1, \
	 .threads = 1, \
	 .sums = sums_, \
	 .product = {{1, 1, dot_bf16}, {1, 1, dot_s8}}, \
	 .nlevel = 5, \
	 .levels = {{.name = "registers", .bytes = vector * registers_, .sharers = 1}, \
	            CACHE("L1", l1_, w1, 1, r1), \
	            CACHE("L2", l2_, w2, 1, r2), \
	            CACHE("L3", l3_, w3, 0, r3), \
	            {"memory", 0, 0, bandwidth_, LINE, 0, 0, 0, PAGE}}},
#define CPU(...) \
	ROW("cpu:", false, "", __VA_ARGS__) \
	ROW("test:", true, ", behind memory of its own: for tests", __VA_ARGS__)
/* Kilohertz of a gigahertz; bytes that a unit's shared memory moves in a cycle. */
#define KHZ INT64_C(1000000)
enum { SHARED_BYTES = 128 };
/* The oldest capability that the toolkit's compiler knows. */
enum { LEAST_CAPABILITY = 75 };
#define GPU(name_, kind, cc, ...) \
	CHIP("cuda:" name_, cc < LEAST_CAPABILITY ? NULL : "cubin", "test:" name_, "", kind, cc, \
	     __VA_ARGS__) \
	CHIP("test:" name_, cc < LEAST_CAPABILITY ? NULL : "simulation", NULL, \
	     ", simulated on the CPU: for proofs", kind, cc, __VA_ARGS__)
#define CHIP(name_, artefact_, simulator_, suffix, kind, cc, units_, issue_, regs, threads_, \
             blocks, threads_block, smem, smem_block, l2_, l2_rate, dram, memory_, bus, shared, m, \
             n, k, f32, tf32_, f16_, s8_, f64_, r_f32, r_memory, r_shared, exposed, launch, wait, \
             latency, busy, loading, life, doc_) \
	{.name = name_, \
	 .doc = doc_ suffix, \
	 .artefact = artefact_, \
	 .simulator = simulator_, \
	 .vector_bytes = 16, \
	 .registers = 255, \
	 .has_fma = true, \
	 .has_f16 = true, \
	 .has_bf16 = cc >= 80, \
	 .is_apart = true, \
	 .l1 = (int64_t)smem * KIB, \
	 .l2 = (int64_t)l2_ * MIB, \
	 .gflops = f32, \
	 .bandwidth = dram, \
	 .gpu = \
	     &(const GpuInfo){cc, regs, threads_, blocks, (int64_t)smem * KIB, (int64_t)memory_ * GIB, \
	                      shared * KHZ / (SHARED_BYTES * units_), dram * 8 * KHZ / (2 * bus), \
	                      r_f32, r_memory, r_shared, exposed, launch * 1e-6, wait * 1e-9, \
	                      latency * 1e-9, busy, loading, life * 1e-9}, \
	 .maker = &maker_##kind, \
	 .peak = {f64_, tf32_, f16_, cc >= 80 ? f16_ : 0, s8_}, \
	 .units = units_, \
	 .issue = issue_, \
	 .threads = threads_block, \
	 .sums = 1, \
	 .product = {{m, n, k}, {m, n, 2 * (k)}}, \
	 .nlevel = 4, \
	 .levels = {{.name = "registers", .bytes = 255 * REGISTER, .sharers = 1}, \
	            {"shared", (int64_t)smem_block * KIB, 1, shared, 4 * SECTOR, BANKS, BANK, 1, 0}, \
	            {"L2", (int64_t)l2_ * MIB, units_, l2_rate, SECTOR, 0, 0, 0, 0}, \
	            {"memory", 0, units_, dram, SECTOR, 0, 0, 0, 0}}},
static const Device rows[] = {
#include DEVICE_ROWS
};
#undef ROW
#undef CHIP
#undef KHZ
#undef CACHE
#undef CPU
#undef GPU

int
device_count(void)
{
	return (int)countof(rows);
}

const Device *
device_at(int index)
{
	return &rows[index];
}

/* The best row for this machine, with memory of its own or without. */
static const Device *
find_native(bool is_apart)
{
	const Device *best = NULL;
	for (size_t i = 0; i < countof(rows); i++)
		if (rows[i].is_apart == is_apart && device_runs_here(&rows[i]) &&
		    (!best || rows[i].gflops > best->gflops ||
		     (rows[i].gflops == best->gflops && rows[i].peak.s8 > best->peak.s8)))
			best = &rows[i];
	return best;
}

const Device *
device_native(void)
{
	return find_native(false);
}

const Device *
device_find(const char *name)
{
	if (strcmp(name, "cpu:native") == 0 || strcmp(name, "test:native") == 0)
		return find_native(name[0] == 't');
	for (size_t i = 0; i < countof(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

bool
device_runs_here(const Device *device)
{
	return device->march && cpu_supports(device->march);
}

/* What L3 is said to have may be shared with other guests of a host: the row's is kept. */
Device
device_as_here(const Device *device)
{
	static const int NAMES[][2] = {{_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL1_DCACHE_ASSOC},
	                               {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL2_CACHE_ASSOC}};
	Device here = *device;
	for (int i = 0; i < (int)countof(NAMES) && device_runs_here(device); i++) {
		MemLevel *level = &here.levels[i + 1];
		long bytes = sysconf(NAMES[i][0]), ways = sysconf(NAMES[i][1]);
		if (bytes < LINE || ways < 1 || bytes / LINE < ways)
			continue;
		level->bytes = bytes;
		level->ways = (int)ways;
		level->banks = (int)(bytes / LINE / ways);
	}
	here.l1 = here.levels[1].bytes;
	here.l2 = here.levels[2].bytes;
	return here;
}

const Maker *
maker_of(const Target *target)
{
	return (target && target->device ? target->device : rows)->maker;
}

int64_t
target_lanes(const Target *target, DType type)
{
	return maker_of(target)->lanes(target->device, type);
}

bool
target_unpacks(const Target *target, int bits, int64_t columns, int64_t terms)
{
	const Maker *maker = maker_of(target);
	return maker->unpacks && maker->unpacks(target->device, bits, columns, terms);
}

bool
target_calls(const Target *target, const char *library)
{
	const Oracle *oracle = target ? target->oracle : NULL;
	return library && oracle && oracle->available && oracle->accept &&
	       oracle->available(oracle->self, library);
}
