/* What inspect says of a GPU's kernels, none of which has run: a table of the part that codegen
 * writes (codegen/cuda/modelled.c), and the sum of modelled times.
 */
#include "bundle/fields.h"
#include "cli/verbs/inspect.h"
#include "codegen/common/bundle.h"
#include "driver/parts.h"

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
}
