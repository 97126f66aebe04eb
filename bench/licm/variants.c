/* Five sets of loop passes over the same naive loops.
 *
 *     none     loops as the definition has them, simplified
 *     halide   sums regrouped and taken out by Halide's costs; no conditions, no reads
 *     paper    Normalize and LICM as published: operands of any chain in order, selects and ifs
 *              joined, all that is invariant taken out; conditions that leave as a whole
 *     still    all our loop passes but HoistBranches and LICM; the sums' terms that a stride leaves
 *              are picked before
 *     moved    these and the two
 *     ours     what the compiler does at -O3, which is moved; for a GPU the lightest of all but
 *              Halide's, by the cubin (blocks.c)
 *
 * The schedule is fixed and untuned: the outer loops are cut among workers, all else stays as the
 * definition has it, without lanes, tiles or registers of several elements.
 */
#include "variants.h"

#include "lower/lower.h"
#include "passes/manager.h"
#include "program/group.h"
#include "tir/loops/loops.h"
#include "tir/script.h"

const char *const variant_names[VARIANTS] = {"none", "halide", "paper", "still", "moved", "ours"};

static const char *const plain_passes[] = {"ApplySchedule", "SimplifyLoops", "Flatten",
                                           "PlaceRegisters", "Normalize"};
static const char *const more_passes[LOWERED][3] = {
	[VARIANT_HALIDE] = {"LICM"},
	[VARIANT_PAPER] = {"HoistBranches", "LICM"},
};
static const char *const settings[LOWERED][4][2] = {
	[VARIANT_NONE] = {{"Normalize.orders", "nothing"}},
	[VARIANT_HALIDE] = {{"Normalize.orders", "sums"},
                        {"LICM.costs", "halide"},
                        {"LICM.least", "2"},
                        {"LICM.registers", "0"}},
	[VARIANT_PAPER] = {{"HoistBranches.whole", "1"}, {"LICM.registers", "0"}},
};

static PassContext *
context_of(Arena *arena, const Target *target, VariantId id)
{
	PassContext *context = NEW(arena, PassContext);
	*context = (PassContext){.arena = arena, .target = target, .level = 3, .config.arena = arena};
	if (id == VARIANT_STILL) {
		vec_push(arena, &context->disabled, "HoistBranches");
		vec_push(arena, &context->disabled, "LICM");
	}
	if (id >= VARIANT_STILL)
		return context;
	for (size_t i = 0; i < countof(plain_passes); i++)
		vec_push(arena, &context->only, plain_passes[i]);
	for (size_t i = 0; i < countof(more_passes[id]) && more_passes[id][i]; i++)
		vec_push(arena, &context->only, more_passes[id][i]);
	for (size_t i = 0; i < countof(settings[id]) && settings[id][i][0]; i++)
		map_set(&context->config, settings[id][i][0], (void *)settings[id][i][1]);
	return context;
}

/* The loops around that nest perfectly go to the workers, but for the last one where it is innermost
 * of all; on a GPU that, too. */
static const Script *
fixed_schedule(Arena *arena, const Kernel *kernel, bool is_gpu)
{
	Buf text = {.arena = arena};
	const Stmt *loop = kernel->body;
	for (; loop && loop->kind == STMT_FOR && !loop->next; loop = loop->body) {
		bool is_last = !loop->body || loop->body->kind != STMT_FOR || loop->body->next;
		if (!is_last || is_gpu || loop == kernel->body)
			buf_printf(&text, "bind %s @parallel\n", loop->var->name);
	}
	Scanner scan;
	scan_open(&scan, arena, NULL, buf_text(&text));
	return script_parse(arena, &scan);
}

/* The terms that a stride leaves out are a matter of conditions, as what loops do is. */
static const Program *
picked(Arena *arena, const Target *target, const Program *program)
{
	PassContext context = {.arena = arena, .target = target, .level = 3};
	ProgramUnit unit = {.arena = arena, .name = "k", .target = target, .program = program};
	vec_push(arena, &context.only, "PickTerms");
	run_passes(&context, IR_nest, &unit);
	return unit.program;
}

Kernel *
lower_variant(Arena *arena, const Target *target, const Program *program, VariantId id)
{
	static const Loc loc = {.file = "bench"};
	const Dim *const **strides =
		NEW_N(arena, const Dim *const *, program->ninput + program->noutput + 1);
	program = id >= VARIANT_STILL ? picked(arena, target, program) : program;
	Kernel *kernel = lower_group(arena, program, strides, "k", &loc, variant_names[id], target, 0);
	if (target->device->gpu && kernel->scratch)
		return NULL;
	kernel->script = fixed_schedule(arena, kernel, target->device->gpu);
	if (target->device->gpu) {
		PassContext context = {.arena = arena, .target = target, .level = 3};
		pass_ApplySchedule(kernel, &context);
		bind_blocks(kernel);
	}
	run_passes(context_of(arena, target, id), IR_loop, kernel);
	kernel_check(kernel);
	return kernel;
}

Parts
lower_variants(Arena *arena, const Target *target, const Program *program)
{
	ProgramVec cut = {0};
	Parts parts = {0};
	program_cut(arena, program, target, &cut);
	for (int p = 0; p < cut.count; p++) {
		Part part = {.program = cut.data[p]};
		for (int id = 0; id < LOWERED; id++)
			part.kernel[id] = lower_variant(arena, target, part.program, (VariantId)id);
		vec_push(arena, &parts, part);
	}
	return parts;
}
