/* Questions of the compiler in the words of runtime/vendor.h, answered by oneDNN itself. */
#include "cli/oracle.h"

#include <string.h>

#include "cli/trial.h"
#include "runtime/pool.h"
#include "runtime/vendor.h"

typedef struct Answers {
	Arena *arena;
	const Options *options;
	Vendor *vendor;
	bool is_tried;
	char trouble[256]; /* why `vendor` is NULL */
	Map names;         /* of implementations, one copy each */
} Answers;

static void
release(void *handle)
{
	Answers *answers = handle;
	if (answers->vendor)
		vendor_close(answers->vendor);
}

static bool
is_available(void *self, const char *library)
{
	Answers *answers = self;
	if (strcmp(library, "onednn") != 0)
		return false;
	if (!answers->is_tried)
		answers->vendor = vendor_open(answers->trouble, sizeof answers->trouble);
	answers->is_tried = true;
	return answers->vendor != NULL;
}

static bool
measure(void *self, const VendorCall *call, double *seconds, const char **impl)
{
	Answers *answers = self;
	if (!is_available(self, "onednn"))
		return false;
	char name[VENDOR_IMPL_SIZE], error[256];
	if (!dnnl_measure(answers->vendor, call, pool_cores(), seconds, name, error, sizeof error))
		return false;
	if (impl)
		*impl = map_intern(&answers->names, name, strlen(name));
	return true;
}

static bool
time_program(void *self, const Program *program, const bool *constant, double *seconds)
{
	Answers *answers = self;
	return trial_seconds(answers->options, answers->arena, program, constant, seconds);
}

const Oracle *
oracle_new(const Options *options, Arena *arena, const Device *device)
{
	Answers *answers = NEW(arena, Answers);
	*answers = (Answers){.arena = arena, .options = options, .names = {.arena = arena}};
	arena_defer(arena, release, answers);
	Oracle *oracle = NEW(arena, Oracle);
	*oracle = (Oracle){
		.self = answers, .available = is_available, .measure = measure, .time = time_program};
	return device_runs_here(device) ? oracle : NULL;
}

const char *
oracle_trouble(const Oracle *oracle)
{
	const Answers *answers = oracle ? oracle->self : NULL;
	return answers && answers->trouble[0] ? answers->trouble : NULL;
}
