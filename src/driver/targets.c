/* Words of --target. */
#include "driver/targets.h"

#include <string.h>

#include "base/cpu.h"
#include "base/file.h"
#include "codegen/common/codegen.h"
#include "driver/measure/oracle.h"

const Device *
known_device(const char *name)
{
	enum { DEVICES = 64 };
	const char *names[DEVICES] = {"cpu:native"};
	int count = 1;
	const Device *device = device_find(name);
	for (int i = 0; i < device_count() && count < DEVICES; i++)
		names[count++] = device_at(i)->name;
	bool is_native = strcmp(name, "cpu:native") == 0 || strcmp(name, "test:native") == 0;
	if (!device && is_native)
		fail_unsupported(NULL,
		                 "kernels are made for no processor as small as this one, %s; for another: "
		                 "--target cpu:x86-64-v3, or what else `tilewright list devices` shows",
		                 cpu_name());
	if (!device)
		fail_unknown(NULL, "device", name, count, names, "list devices");
	return device;
}

const Device *
device_of(const char *name)
{
	const Device *device = known_device(name);
	if (!artefact_of(device))
		fail_unsupported(
			NULL,
			"--target: no code is made for %s: CUDA's compiler begins at sm_75, and its "
			"row is there for tiles and times (tilewright list devices shows all)",
			name);
	return device;
}

static bool
is_asked_for(const Options *options, const Device *device)
{
	for (int i = 0; i < target_count(options); i++)
		if (known_device(target_name(options, i)) == device)
			return true;
	return false;
}

/* What --cc says for the device; NULL: nothing. */
static const char *
compiler_of(const Options *options, Arena *arena, const Device *device)
{
	const char *command = NULL;
	for (int i = 0; i < options->cc.count; i++) {
		const Setting setting = setting_of(arena, "cc", options->cc.data[i]);
		const Device *named = known_device(setting.name);
		if (!is_asked_for(options, named))
			fail_as(FAIL_USAGE, NULL, "--cc: %s is not among the devices of --target", named->name);
		if (named->gpu)
			fail_as(FAIL_USAGE, NULL, "--cc: kernels of %s are compiled by NVRTC", named->name);
		command = named == device ? setting.value : command;
	}
	return command;
}

void
options_check(const Options *options)
{
	compiler_of(options, options->arena, NULL);
	for (int i = 0; i < options->target.count; i++)
		known_device(options->target.data[i]);
	if (options->data_set && !file_is_folder(options->data_set))
		fail_environment(NULL, "--data-set: there is no folder %s", options->data_set);
}

int
target_count(const Options *options)
{
	return options->target.count ? options->target.count : 1;
}

const char *
target_name(const Options *options, int index)
{
	return options->target.count ? options->target.data[index] : "cpu:native";
}

Target *
target_at(const Options *options, Arena *arena, const char *name, const Binding *probe,
          TrialCompile *compile)
{
	const Device *device = device_of(name);
	Target *target = NEW(arena, Target);
	*target =
		(Target){.device = device, .probe = probe, .compiler = compiler_of(options, arena, device)};
	target->oracle = oracle_new(options, arena, target, compile);
	return target;
}
