/* What work takes, by the device's row: proportions, to compare ways of doing one thing. */
#include <string.h>

#include "target/target.h"

double
device_traffic_seconds(const Device *device, double bytes)
{
	static const double IN_CACHE = 4;
	double rate = device->bandwidth * 1e9;
	return bytes / (bytes <= (double)device->l2 ? rate * IN_CACHE : rate);
}

double
device_work_seconds(const Device *device, WorkKind kind, double flops)
{
	static const double share[] = {[WORK_loops] = 0.25, [WORK_library] = 0.6};
	return flops / (device->gflops * 1e9 * share[kind]);
}

double
device_peak(const Device *device, const char *units)
{
	const struct {
		const char *units;
		double peak;
	} rows[] = {{"f32", device->gflops},
	            {"f64", device->peak.f64},
	            {"f16", device->peak.f16},
	            {"bf16", device->peak.bf16},
	            {"s8", device->peak.s8}};
	for (size_t i = 0; i < countof(rows); i++)
		if (!strcmp(units, rows[i].units))
			return rows[i].peak;
	return 0;
}

double
device_step_seconds(const Device *device, WorkKind kind, const char *units, double flops,
                    double bytes)
{
	double peak = device_peak(device, units);
	double work = device_work_seconds(device, kind, flops);
	double traffic = device_traffic_seconds(device, bytes);
	work *= peak > 0 ? device->gflops / peak : 1;
	return (work > traffic ? work : traffic) + (device->gpu ? device->gpu->launch : 0);
}
