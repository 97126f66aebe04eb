/* Questions of the compiler in the words of runtime/vendor.h, answered by oneDNN itself. */
#include "cli/oracle.h"

#include <string.h>

#include "runtime/vendor.h"

typedef struct Answers {
	Arena *arena;
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
measure(void *self, const VendorQuery *query, double *seconds, const char **impl)
{
	Answers *answers = self;
	if (!is_available(self, "onednn"))
		return false;
	VendorTensor args[VENDOR_MAX_ARGS];
	PlanAttr *attrs = NEW_N(answers->arena, PlanAttr, query->nattr + 1);
	if (query->narg > VENDOR_MAX_ARGS)
		return false;
	for (int i = 0; i < query->narg; i++) {
		const VendorArg *arg = &query->args[i];
		args[i] = (VendorTensor){.type = arg->type,
		                         .rank = arg->rank,
		                         .dims = arg->dims,
		                         .strides = arg->strides,
		                         .layout = arg->layout,
		                         .is_weight = arg->is_weight};
	}
	for (int i = 0; i < query->nattr; i++) {
		const VendorAttr *attr = &query->attrs[i];
		attrs[i] = (PlanAttr){.name = attr->name,
		                      .kind = attr->string ? PA_STRING : PA_INTS,
		                      .count = attr->count,
		                      .ints = attr->ints,
		                      .string = attr->string};
	}
	VendorCallDesc desc = {query->row, query->narg, args, query->nattr, attrs};
	char name[VENDOR_IMPL_SIZE], error[256];
	if (!dnnl_measure(answers->vendor, &desc, seconds, name, error, sizeof error))
		return false;
	if (impl)
		*impl = map_intern(&answers->names, name, strlen(name));
	return true;
}

const Oracle *
oracle_new(Arena *arena, const Device *device)
{
	Answers *answers = NEW(arena, Answers);
	*answers = (Answers){.arena = arena, .names = {.arena = arena}};
	arena_defer(arena, release, answers);
	Oracle *oracle = NEW(arena, Oracle);
	*oracle = (Oracle){.self = answers, .available = is_available, .measure = measure};
	return device_runs_here(device) ? oracle : NULL;
}

const char *
oracle_trouble(const Oracle *oracle)
{
	const Answers *answers = oracle ? oracle->self : NULL;
	return answers && answers->trouble[0] ? answers->trouble : NULL;
}
