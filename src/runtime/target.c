/* Which target of a bundle this machine runs. */
#include <stdio.h>
#include <string.h>

#include "base/cpu.h"
#include "runtime/bundle.h"

static int
refuse_target(const ManifestTarget *target, char *error, size_t error_size)
{
	int row = cpu_row(target->march);
	snprintf(error, error_size,
	         "the bundle needs %s (%s); this machine has %s: run `tilewright compile MODEL "
	         "--target cpu:%s`",
	         row >= 0 ? cpu_adds(row) : target->march, target->device, cpu_march(), cpu_march());
	return -1;
}

int
bundle_find_target(const Bundle *bundle, const char *device, char *error, size_t error_size)
{
	const Manifest *manifest = bundle->manifest;
	int best = -1, best_row = -1, least = -1;
	for (int i = 0; i < manifest->ntarget; i++) {
		const ManifestTarget *target = &manifest->targets[i];
		int row = cpu_row(target->march);
		if (device && strcmp(device, target->device) != 0)
			continue;
		if (least < 0 || row < cpu_row(manifest->targets[least].march))
			least = i;
		if (cpu_runs(row) && row > best_row) {
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
