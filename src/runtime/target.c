/* Which target of a bundle this machine runs. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "bundle/bundle.h"
#include "runtime/backend.h"

static BackendFit
fit_of(const ManifestTarget *target)
{
	const Backend *backend = backend_find(target->device);
	return backend ? backend->fit(target->needs) : (BackendFit){.value = INT_MIN};
}

bool
bundle_target_runs(const ManifestTarget *target)
{
	return fit_of(target).value >= 0;
}

/* What runs before what does not, then the better kind of device, then what uses more of it, or
 * lacks less. */
static bool
is_better(const ManifestTarget *a, const ManifestTarget *b)
{
	const Backend *kinds[] = {backend_find(a->device), backend_find(b->device)};
	int fit[] = {fit_of(a).value, fit_of(b).value};
	if ((fit[0] >= 0) != (fit[1] >= 0))
		return fit[0] >= 0;
	if (!kinds[0] || !kinds[1] || kinds[0] == kinds[1])
		return fit[0] > fit[1];
	return backend_rank(kinds[0]) < backend_rank(kinds[1]);
}

/* What to do about a target that does not run here. */
static int
refuse_target(const ManifestTarget *target, char *error, size_t error_size)
{
	const Backend *backend = backend_find(target->device);
	BackendFit fit = fit_of(target);
	const char *library = backend_library(target->device);
	if (!backend)
		snprintf(error, error_size,
		         "this library cannot run kernels for %.60s%s%s%s: run `tilewright compile MODEL "
		         "--target cpu:native`",
		         target->device, library ? ", since " : "", library ? library : "",
		         library ? " is not beside it" : "");
	else if (fit.lack && fit.have)
		snprintf(error, error_size, "the bundle needs %.60s (%.60s), and %.300s, %.60s", fit.needs,
		         target->device, fit.lack, fit.have);
	else if (fit.lack)
		snprintf(error, error_size,
		         "the bundle needs %.60s (%.60s), and %.300s; or run `tilewright compile MODEL "
		         "--target cpu:native`",
		         fit.needs, target->device, fit.lack);
	else
		snprintf(error, error_size,
		         "the bundle needs %.60s (%.60s); this machine has %s: run `tilewright compile "
		         "MODEL --target %s:%s`",
		         fit.needs, target->device, fit.have, backend->name, fit.have);
	return -1;
}

int
bundle_find_target(const Bundle *bundle, const char *device, char *error, size_t error_size)
{
	const ManifestTarget *targets = bundle->manifest->targets;
	int best = -1;
	for (int i = 0; i < bundle->manifest->ntarget; i++)
		if ((!device || strcmp(device, targets[i].device) == 0) &&
		    (best < 0 || is_better(&targets[i], &targets[best])))
			best = i;
	if (best >= 0)
		return bundle_target_runs(&targets[best])
		           ? best
		           : refuse_target(&targets[best], error, error_size);
	snprintf(error, error_size,
	         "the bundle has nothing for %.60s: run `tilewright compile MODEL --target %.60s`",
	         device ? device : "any machine", device ? device : "cpu:native");
	return -1;
}
