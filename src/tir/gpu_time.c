/* kernel_time(): what a kernel takes on a GPU by the device's row, from what its blocks do.
 *
 *     resident   blocks that a unit holds at once, by shared memory, registers and threads
 *     turns      blocks that the busiest unit runs one after another, or beside one another
 *     longest    of instructions and products, shared memory and the first cache, the second,
 *                memory, and the turns of blocks that wait for it
 *
 *     chain      of a unit's turns, what each block waits for by itself: what its threads read
 *                before a barrier comes late, and its arithmetic begins behind that
 *
 * The others hide behind the longest but for a share of them, and so does the chain, where other
 * blocks have enough to do. The shares of the peaks and the times of a launch, of a barrier and of
 * what is read are columns of devices.def.
 */
#include "tir/count.h"

static double
least(double a, double b)
{
	return a < b ? a : b;
}

static int64_t
kernel_resident(const Device *device, const KernelCounts *counts, int64_t registers)
{
	enum { RESERVED = 1024, UNIT = 8 }; /* bytes that each block takes besides; of registers */
	const GpuInfo *gpu = device->gpu;
	int64_t of_thread = (registers + UNIT - 1) / UNIT * UNIT, threads = counts->threads;
	int64_t resident = gpu->blocks;
	const int64_t limits[] = {
		gpu->shared_bytes / (counts->shared + RESERVED),
		of_thread > 0 ? gpu->registers / (of_thread * threads) : resident,
		gpu->threads / threads,
	};
	for (size_t i = 0; i < countof(limits); i++)
		resident = limits[i] < resident ? limits[i] : resident;
	return resident;
}

/* Seconds of the units' schedulers, or of what they feed: floats, and products of warps. Shared
 * memory moves 128 bytes a unit and cycle, which says how long a cycle is. */
static double
arithmetic(const Device *device, const KernelCounts *c, DType product)
{
	enum { WAVE = 128 };
	double giga = 1e9, cycles = device->levels[1].rate * giga / WAVE; /* of all units */
	double issue = c->instructions / (cycles * device->issue);
	double floats = (c->operations - c->products) / (device->gflops * giga);
	double rate = dtype_bits(product) == 8 ? device->peak.s8
	              : product == DT_F32      ? device->peak.tf32
	                                       : device->peak.f16;
	double products = c->products > 0 ? c->products / (rate * giga) : 0;
	double most = issue > floats ? issue : floats;
	return most / device->gpu->reach_f32 + products;
}

/* Seconds that a block waits which has its unit to itself, and so much work: copies that are on
 * their way hide behind that. */
static double
block_waits(const GpuInfo *gpu, const KernelCounts *c, double work)
{
	double ahead = c->ahead * gpu->latency / c->blocks - work;
	return (ahead > 0 ? ahead : 0) +
	       (c->fetches * gpu->latency + c->barriers * gpu->wait) / c->blocks;
}

KernelTime
kernel_time(const Device *device, const KernelCounts *c, int64_t registers, DType product)
{
	enum { SECTOR = 32, WAVE = 128, PARTS = 5 };
	static const char *const names[PARTS] = {"instructions", "shared memory", "L2", "memory",
	                                         "latency"};
	const GpuInfo *gpu = device->gpu;
	double units = device->units, giga = 1e9;
	KernelTime time = {.resident = kernel_resident(device, c, registers)};
	if (time.resident < 1 || c->blocks < 1)
		return time;
	double per_unit = (double)(int64_t)((c->blocks + units - 1) / units);
	double resident = least(per_unit, (double)time.resident), threads = resident * c->threads;
	double late = per_unit * units / c->blocks; /* units that have nothing to do at the end */
	double rate = device->levels[1].rate * giga * gpu->reach_shared;
	double issued = arithmetic(device, c, product);
	double moved = (c->rounds * WAVE + c->sectors * SECTOR) / rate;
	double parts[PARTS] = {
		late / least(1, threads / gpu->busy) * issued,
		late * moved,
		c->reused * SECTOR / (device->levels[2].rate * giga * least(1, c->blocks / units)),
		c->memory / (device->bandwidth * giga * gpu->reach_memory * least(1, c->blocks / units) *
	                 least(1, threads / gpu->loading)),
		c->memory > 0 ? per_unit / resident * gpu->life : 0,
	};
	double all = 0, most = 0;
	for (int i = 0; i < PARTS; i++) {
		all += parts[i];
		if (parts[i] > most) {
			most = parts[i];
			time.bound = names[i];
		}
	}
	double together = most + (all - most) * gpu->exposed;
	issued /= least(1, c->threads / gpu->busy);
	double work = units / c->blocks * (issued > moved ? issued : moved);
	double waits = block_waits(gpu, c, work);
	double chain = per_unit / resident * (work + waits);
	if (chain > together && waits > work)
		time.bound = "latency";
	time.seconds = chain > together ? chain : together;
	if (time.seconds < gpu->launch)
		time.bound = "launch";
	time.seconds += gpu->launch;
	time.occupancy = least(1, (double)time.resident * c->threads / gpu->threads);
	return time;
}
