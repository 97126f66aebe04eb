/* speed_of: operations by the peak of their units, bytes by the memory's rate (a cache's where they
 * fit), on as many threads as the step is cut for. The slower of both is what the machine needs. */
#include "cli/measure/speed.h"

#include <math.h>
#include <string.h>

#include "base/work.h"

/* Seconds to begin a step, and to make a library ready for a call. */
static const double BEGIN = 1e-6, CALL = 10e-6;

double
machine_peak(const Machine *machine, const char *units, const char **name)
{
	*name = device_peak(machine->device, units) > 0 ? units : "f32";
	return device_peak(machine->device, *name) * (machine->device->gpu ? 1 : machine->threads);
}

/* Our kernels are cut by their work; a library knows what it does. */
static int
threads_of(const Machine *machine, const PlanStep *step)
{
	int pieces = work_pieces(work_of(step->flops, step->bytes));
	bool is_cut = step->kind == PT_KERNEL && !machine->device->gpu && pieces < machine->threads;
	return is_cut ? pieces : machine->threads;
}

static const char *
bound_of(const PlanStep *step, double compute, double memory, bool has_all, double seconds)
{
	double least = fmax(compute, memory);
	bool is_library = step->kind == PT_VENDOR, is_ours = step->kind == PT_KERNEL;
	if (!is_library && !is_ours)
		return "what it copies, computes on the host, or has inside";
	if (least < BEGIN && !(seconds > CALL))
		return "its begin: it is too small to matter alone";
	if (least < seconds / 2 && is_library && least < CALL)
		return "the library's call: making it takes longer than its work";
	if (least < seconds / 2)
		return is_library
		           ? "the library, which reaches neither limit"
		           : "its loops, which reach neither limit (tilewright tune looks for others)";
	if (!has_all)
		return "its size: too little work to share among all threads";
	return compute > memory ? "compute: the units are busy"
	                        : "memory: its bytes take longer than its operations";
}

Speed
speed_of(const Machine *machine, const PlanStep *step, double seconds, double times)
{
	const char *units;
	const Device *device = machine->device;
	int threads = threads_of(machine, step);
	double cores = device->gpu ? 1 : threads, all = device->gpu ? 1 : machine->threads;
	double peak = machine_peak(machine, step->units ? step->units : "", &units) * 1e9;
	double compute = step->flops / peak * all / cores;
	double memory = device_traffic_seconds(device, step->bytes) / cores, once = seconds / times;
	return (Speed){.least = fmax(compute, memory) * times,
	               .gflops = step->flops / once * 1e-9,
	               .bandwidth = step->bytes / once * 1e-9,
	               .of_peak = step->flops / peak / once,
	               .of_memory = device_traffic_seconds(device, step->bytes) / all / once,
	               .bound = bound_of(step, compute, memory, threads == machine->threads, once)};
}
