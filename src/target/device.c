/* The rows of devices.def, and which of them this machine is. */
#include "target/maker.h"

#include <string.h>

#include "base/cpu.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

/* A test's program has rows of its own beside these (tests/toy). */
#ifndef DEVICE_ROWS
#define DEVICE_ROWS "target/devices.def"
#endif

#define CPU(name, maker, ...) extern const Maker maker_##maker;
#define GPU CPU
#include DEVICE_ROWS
#undef CPU
#undef GPU

#define ROW(prefix, is_apart, suffix, name, maker, march, vector, registers, fma, f16, bf16, l1, \
            l2, l3, gflops, bandwidth, doc) \
	{prefix name, \
	 doc suffix, \
	 march, \
	 vector, \
	 registers, \
	 fma, \
	 f16, \
	 bf16, \
	 is_apart, \
	 (int64_t)l1 * KIB, \
	 (int64_t)l2 * KIB, \
	 (int64_t)l3 * KIB, \
	 gflops, \
	 bandwidth, \
	 NULL, \
	 &maker_##maker},
#define CPU(...) \
	ROW("cpu:", false, "", __VA_ARGS__) \
	ROW("test:", true, ", behind memory of its own: for tests", __VA_ARGS__)
#define GPU(name, maker, cc, units, regs, threads, blocks, threads_block, smem, smem_block, l2, \
            dram, shared, f32, tf32, f16, f64, doc) \
	{name, \
	 doc, \
	 NULL, \
	 16, \
	 255, \
	 true, \
	 true, \
	 cc >= 80, \
	 true, \
	 (int64_t)smem * KIB, \
	 (int64_t)l2 * MIB, \
	 0, \
	 f32, \
	 dram, \
	 &(const GpuInfo){cc, units, regs, threads, blocks, threads_block, (int64_t)smem * KIB, \
	                  (int64_t)smem_block * KIB, shared, tf32, f16, f64}, \
	 &maker_##maker},
static const Device rows[] = {
#include DEVICE_ROWS
};
#undef ROW
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
		    (!best || rows[i].gflops > best->gflops))
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
target_calls(const Target *target, const char *library)
{
	const Oracle *oracle = target ? target->oracle : NULL;
	return library && oracle && oracle->available && oracle->measure &&
	       oracle->available(oracle->self, library);
}
