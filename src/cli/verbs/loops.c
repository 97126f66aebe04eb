/* What a bundle does not hold of its kernels: scripts of their schedules, and loops. Its model is
 * compiled again, by its pipeline and its choices, down to loops. They are a kernel's where the C
 * that would be made of them is the bundle's.
 */
#include <string.h>

#include "bundle/json.h"
#include "cli/page/page.h"
#include "cli/verbs/explained.h"
#include "codegen/common/codegen.h"
#include "driver/compile.h"
#include "tir/script.h"

enum { LOOPS_MOST = 1500000 }; /* bytes of all */

typedef struct Again {
	Options options;
	const char *source; /* of the bundle's kernels */
	Explained e;
	Buf json;
	Map seen; /* functions: equal kernels have one */
	int count, found;
} Again;

static KernelList
kernels_of(Arena *arena, const Module *module)
{
	KernelList list = {0};
	MStepVec steps = module_steps(arena, module);
	for (int i = 0; i < steps.count; i++)
		if (steps.data[i]->kernel)
			vec_push(arena, &list.kernels, steps.data[i]->kernel);
	return list;
}

static const char *
script_text(Arena *arena, const Kernel *kernel)
{
	Buf text = {.arena = arena};
	if (kernel->script)
		script_print(&text, kernel->script, "");
	return buf_text(&text);
}

static const char *
loops_text(Arena *arena, const Kernel *kernel)
{
	Buf text = {.arena = arena};
	kernel_print(&text, kernel);
	return buf_text(&text);
}

/* Printing gives loops other names, so it comes behind the C. */
static void
write_kernel(Again *again, const char *text, const Kernel *kernel, const char *script)
{
	Arena *arena = again->e.arena;
	const char *name = kernel->function ? kernel->function : kernel->name;
	const char *made = kernel_source(arena, text, name);
	const char *had = kernel_source(arena, again->source, name);
	if (!made || !had || strcmp(made, had) != 0)
		return;
	again->found++;
	if (map_find(&again->seen, name) || again->json.size > LOOPS_MOST)
		return;
	map_set(&again->seen, name, again);
	json_put(&again->json, again->seen.count > 1 ? ",\n%s:[%s,%s]" : "\n%s:[%s,%s]", name, script,
	         loops_text(arena, kernel));
}

static void
make_again(void *arg)
{
	Again *again = arg;
	again->e = explained_open(&again->options);
	Arena *arena = again->e.arena;
	const Target *target = again->e.context->target;
	const Module *module = compile_to_loops(arena, again->e.graph, again->e.context);
	KernelList list = kernels_of(arena, module);
	again->count = list.kernels.count;
	const char **scripts = NEW_N(arena, const char *, again->count + 1);
	for (int i = 0; i < again->count; i++)
		scripts[i] = script_text(arena, list.kernels.data[i]);
	run_loop_passes(module, again->e.context);
	const char *text =
		artefact_of(target->device)->emit(arena, target, again->count, list.kernels.data);
	for (int i = 0; i < again->count; i++)
		write_kernel(again, text, list.kernels.data[i], scripts[i]);
}

/* Seconds of passes: those of this compilation, since those of the bundle's are not part of it. */
static void
write_passes(Buf *json, const PassContext *context)
{
	for (int i = 0; context && i < context->timings.count; i++)
		json_put(json, i ? ",[%s,%g]" : "[%s,%g]", context->timings.data[i].pass,
		         context->timings.data[i].seconds);
}

Loops
loops_again(const Options *options, const ManifestTarget *target, const char *source)
{
	Arena *arena = options->arena;
	Again *again = NEW(arena, Again);
	*again =
		(Again){.options = *options, .source = source, .json.arena = arena, .seen.arena = arena};
	Failure failure;
	Buf json = {.arena = arena};
	again->options.shape = again->options.target = (StrVec){0}; /* --shape is of runs */
	again->options.no_vendor = !*target->vendor;
	vec_push(arena, &again->options.target, target->device);
	bool is_made = try_run(make_again, again, &failure);
	json_put(&json, "'loops':{");
	buf_puts(&json, buf_text(&again->json));
	json_put(&json, "\n},\n'passes':[");
	if (options->gives_runs)
		write_passes(&json, again->e.context);
	buf_puts(&json, "],\n");
	Loops loops = {.json = buf_text(&json), .said = ""};
	if (!is_made)
		loops.said = arena_printf(arena, "left out: %s", failure.text);
	else if (again->found < again->count)
		loops.said = arena_printf(arena, "of %d kernels of %d: others became other C here",
		                          again->found, again->count);
	return loops;
}
