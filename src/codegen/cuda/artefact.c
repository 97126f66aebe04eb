/* What is made for GPUs: machine code of one architecture, PTX for later ones, and the kernels'
 * text. Which chips run it is a compute capability, which drivers the compiler's version:
 * "sm_90, driver 13.0".
 */
#include "codegen/common/codegen.h"
#include "codegen/cuda/cuda.h"
#include "codegen/cuda/nvrtc.h"

static const char *
capability_of(const Device *device)
{
	static const struct {
		int number;
		const char *name;
	} all[] = {{75, "sm_75"}, {80, "sm_80"}, {86, "sm_86"},
	           {87, "sm_87"}, {89, "sm_89"}, {90, "sm_90"}};
	for (size_t i = 0; i < countof(all); i++)
		if (device->gpu->capability == all[i].number)
			return all[i].name;
	fail_as(FAIL_BUG, NULL, "%s has a capability of no name", device->name);
}

/* Drivers load what a compiler of their own major version or of an older one has made. */
static const char *
needs_of(Arena *arena, const Device *device)
{
	Nvrtc nvrtc;
	char error[300];
	bool is_there = nvrtc_load(&nvrtc, error, sizeof error);
	return is_there ? arena_printf(arena, "%s, driver %d.0", capability_of(device), nvrtc.major)
	                : capability_of(device);
}

static Bytes
compile(Arena *arena, const Target *target, const char *source, const CodegenWatch *watch)
{
	(void)watch;
	return cuda_compile(arena, source, target->device->gpu->capability);
}

static Bytes
compile_later(Arena *arena, const Target *target, const char *source)
{
	return cuda_compile_ptx(arena, source, target->device->gpu->capability);
}

const Artefact artefact_cubin = {
	.name = "cubin",
	.suffix = ".cubin",
	.source_suffix = ".cu",
	.emit = codegen_cuda,
	.compile = compile,
	.needs = needs_of,
	.later_suffix = ".ptx",
	.later = compile_later,
	.modelled = cuda_modelled,
};
