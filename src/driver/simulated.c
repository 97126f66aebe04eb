/* run --device simulated: what a bundle says to a GPU, said to threads that are fibers. */
#include "driver/simulated.h"

#include <string.h>

#include "codegen/common/codegen.h"
#include "codegen/cuda/cuda.h"
#include "driver/files.h"
#include "driver/parts.h"
#include "target/target.h"

/* The target that is asked for, or the first whose device has a simulator. */
static int
find_target(const Options *options, const Bundle *bundle, const char *path)
{
	for (int t = 0; t < bundle->manifest->ntarget; t++) {
		const char *name = bundle->manifest->targets[t].device;
		const Device *device = device_find(name);
		bool is_asked = !options->target.count || strcmp(options->target.data[0], name) == 0;
		if (is_asked && device && device->simulator)
			return t;
	}
	fail_as(FAIL_USAGE, NULL,
	        "--device simulated: %s has no target that is simulated%s%s; compile its model with "
	        "--target cuda:sm_90",
	        path, options->target.count ? ", or not " : "",
	        options->target.count ? options->target.data[0] : "");
}

/* The CUDA C beside the kernels: kernels/cuda-sm_90.cu. */
static const char *
source_of(Arena *arena, const Bundle *bundle, const ManifestTarget *target, const char *path)
{
	const char *name = file_base(target->kernels), *dot = strrchr(name, '.');
	const char *entry = arena_printf(arena, "kernels/%.*s%s", (int)(dot ? dot - name : 0), name,
	                                 artefact_cubin.source_suffix);
	const ZipEntry *found = zip_find(&bundle->zip, entry);
	if (!found)
		fail_unsupported(NULL, "--device simulated: %s does not hold %s: compile the model again",
		                 path, entry);
	return arena_strndup(arena, (const char *)found->data.data, found->data.size);
}

const char *
simulated_bundle(const Options *options, Arena *arena, const char *path, const char **device)
{
	Bytes bytes = file_map(arena, path);
	if (file_kind(path, bytes) != FILE_BUNDLE)
		fail_as(FAIL_USAGE, NULL, "--device simulated is for a bundle: %s is none", path);
	const Bundle *bundle = bundle_get(arena, path, bytes, BUNDLE_VERIFY_ALL);
	int t = find_target(options, bundle, path);
	const ManifestTarget *made = &bundle->manifest->targets[t];
	*device = device_find(made->device)->simulator;
	const Target target = {.device = device_find(*device)};
	if (!*made->kernels)
		fail_unsupported(NULL, "--device simulated: %s has no kernel", path);
	const char *source = source_of(arena, bundle, made, path);
	Bytes code = cuda_simulate(arena, &target, bundle_plan(arena, bundle, t), source);
	Blob blob = blob_of(arena, (const char *)code.data, code.size);
	const BundleChange change = {.entry = made->kernels,
	                             .data = &blob,
	                             .device = *device,
	                             .needs = artefact_simulation.needs(arena, target.device)};
	const char *copy = arena_printf(arena, "%s/simulated.twb", file_temporary_folder(arena));
	bundle_amend(arena, path, copy, 1, &change);
	return copy;
}
