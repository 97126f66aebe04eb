/* What inspect says of a GPU's kernels, none of which has run: a table of the part that codegen
 * writes (codegen/cuda/modelled.c), and the sum of modelled times; where libraries are called, with
 * these calls and with our kernels in their place.
 */
#include <string.h>

#include "bundle/fields.h"
#include "cli/verbs/inspect.h"
#include "codegen/common/bundle.h"
#include "driver/parts.h"
#include "target/target.h"

static const Field modelled_kernel_fields[] = {
	{FIELD_OR("kernel", ModelledKernel, kernel, 0)},
	{FIELD_OR("bound", ModelledKernel, bound, 0)},
	{FIELD_OR("blocks", ModelledKernel, blocks, 0)},
	{FIELD_OR("threads", ModelledKernel, threads, 0)},
	{FIELD_OR("registers", ModelledKernel, registers, 0)},
	{FIELD_OR("shared", ModelledKernel, shared, 0)},
	{FIELD_OR("local", ModelledKernel, local, 0)},
	{FIELD_OR("occupancy", ModelledKernel, occupancy, 0)},
	{FIELD_OR("mflop", ModelledKernel, mflop, 0)},
	{FIELD_OR("mbytes", ModelledKernel, mbytes, 0)},
	{FIELD_OR("coalesced", ModelledKernel, coalesced, 0)},
	{FIELD_OR("conflicts", ModelledKernel, conflicts, 0)},
	{FIELD_OR("microseconds", ModelledKernel, microseconds, 0)},
};
static const Record modelled_kernel_record = {RECORD(ModelledKernel, modelled_kernel_fields)};
static const Field modelled_fields[] = {
	{FIELD_LIST("kernels", ModelledEntry, kernels, count), .most = 1 << 20,
     .of = &modelled_kernel_record},
};
static const Record modelled_record = {RECORD(ModelledEntry, modelled_fields)};

const ModelledEntry *
modelled_read(Arena *arena, const char *path, const Bundle *bundle, int target)
{
	const char *device = device_file_name(arena, bundle->manifest->targets[target].device);
	const char *entry = arena_printf(arena, MODELLED_FOLDER "%s.json", device);
	const ZipEntry *found = zip_find(&bundle->zip, entry);
	ModelledEntry *modelled = NEW(arena, ModelledEntry);
	if (found)
		bundle_part_read(arena, path, entry, found->data, &modelled_record, modelled);
	return modelled;
}

const ModelledKernel *
modelled_find(const ModelledEntry *modelled, const Plan *plan, const PlanStep *step)
{
	for (int i = 0; i < modelled->count && step->kernel >= 0; i++)
		if (strcmp(modelled->kernels[i].kernel, plan->kernels[step->kernel]) == 0)
			return &modelled->kernels[i];
	return NULL;
}

/* Seconds of a plan's steps; what is in branches and loops is counted once. */
typedef struct Sums {
	double kernels, calls;
	double fallbacks; /* of kernels that are not run where calls are made */
	int ncall;
} Sums;

static void
add_steps(Sums *sums, const Device *device, const ModelledEntry *modelled, const Plan *plan)
{
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		const ModelledKernel *kernel = modelled_find(modelled, plan, step);
		bool is_covered = step->covered_by >= 0;
		bool is_call = step->kind == PT_VENDOR && !is_covered;
		*(is_call || is_covered ? &sums->fallbacks : &sums->kernels) +=
			kernel ? kernel->microseconds * 1e-6 : 0;
		if (is_call)
			sums->calls += device_step_seconds(device, WORK_library, step->units ? step->units : "",
			                                   step->flops, step->bytes);
		sums->ncall += is_call;
		for (int k = 0; k < step->nbody; k++)
			add_steps(sums, device, modelled, step->bodies[k]);
	}
}

static void
report_calls(Report *report, Arena *arena, const Bundle *bundle, int target,
             const ModelledEntry *modelled)
{
	const Device *device = device_find(bundle->manifest->targets[target].device);
	Sums s = {0};
	if (device)
		add_steps(&s, device, modelled, bundle_plan(arena, bundle, target));
	if (s.ncall > 0)
		report_text(report, arena_printf(arena, "modelled_calls_%d", target), "with calls",
		            arena_printf(arena,
		                         "%.3f ms: %d calls %.3f, kernels %.3f; without, by fallback "
		                         "kernels, %.3f ms",
		                         (s.calls + s.kernels) * 1e3, s.ncall, s.calls * 1e3,
		                         s.kernels * 1e3, (s.fallbacks + s.kernels) * 1e3));
}

/* What is known of a target's kernels without a GPU: by machine code, by running some blocks in the
 * interpreter, and, of times, by a model. */
void
report_modelled(Report *report, Arena *arena, const char *path, const Bundle *bundle, int target)
{
	const ModelledEntry *modelled = modelled_read(arena, path, bundle, target);
	double sum = 0;
	if (modelled->count == 0)
		return;
	Table *table = report_table(report, arena_printf(arena, "modelled_%d", target),
	                            ">blocks|>threads|>registers|>shared|>local|>occupancy:occupied|>"
	                            "mflop:MFLOP|>mbytes:MB|>coalesced|>conflicts|>microseconds:"
	                            "modelled us|bound|kernel");
	for (int i = 0; i < modelled->count; i++) {
		const ModelledKernel *k = &modelled->kernels[i];
		sum += k->microseconds;
		table_row(table, "%.0f|%.0f|%.0f|%.0f|%.0f|%.2f|%.1f|%.2f|%.2f|%.2f|%.1f|%s|%s", k->blocks,
		          k->threads, k->registers, k->shared, k->local, k->occupancy, k->mflop, k->mbytes,
		          k->coalesced, k->conflicts, k->microseconds, k->bound, k->kernel);
	}
	report_text(report, arena_printf(arena, "modelled_sum_%d", target), "modelled",
	            arena_printf(arena, "%.3f ms on %s, not run", sum / 1e3,
	                         bundle->manifest->targets[target].device));
	report_calls(report, arena, bundle, target, modelled);
}
