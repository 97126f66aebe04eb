/* What work takes, by the device's row: proportions, to compare ways of doing one thing. */
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
