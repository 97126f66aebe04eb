/* Which kernels are better off when scalars move between their loops. */
#include "cli/motion.h"

#include <string.h>

#include "codegen/common/codegen.h"
#include "passes/manager.h"
#include "tir/rewrite.h"

static const char *const PASSES[] = {"HoistBranches", "LICM"};
static const char KEY[] = "motion ";

/* A kernel as it is, and with its scalars moved. */
typedef struct Pair {
	Kernel *still, *moved;
	const char *key;
} Pair;

typedef struct Motion {
	Arena *arena;
	PassContext *context;
	double least;   /* work of a kernel for which the C compiler is asked */
	VEC(Pair) open; /* those that no record decides */
} Motion;

/* Of the model's work, from which kernels are weighed; below 0: none is. */
static int64_t
percent_of(const PassContext *context)
{
	return pass_config_int(context, "LICM.weigh", -1);
}

static bool
has_records(const PassContext *context)
{
	for (int i = 0; i < context->recorded.count; i++) {
		const char *key = context->recorded.entries[i].name;
		if (key && strncmp(key, KEY, strlen(KEY)) == 0)
			return true;
	}
	return false;
}

bool
motion_hold(PassContext *context)
{
	bool is_open = (percent_of(context) >= 0 || has_records(context)) &&
	               context->target->device->march && context->only.count == 0;
	for (size_t i = 0; i < countof(PASSES); i++)
		is_open = is_open && pass_enabled(context, pass_find(PASSES[i]));
	for (size_t i = 0; is_open && i < countof(PASSES); i++)
		vec_push(context->arena, &context->disabled, PASSES[i]);
	return is_open;
}

static const char *
text_of(Arena *arena, const Kernel *kernel)
{
	Buf text = {.arena = arena};
	kernel_print(&text, kernel);
	return buf_text(&text);
}

static Kernel *
moved_copy(const Motion *m, Kernel *kernel)
{
	Kernel *copy = arena_memdup(m->arena, kernel, sizeof *kernel);
	copy->body = stmt_copy(copy, kernel->body, NULL, NULL);
	run_passes(m->context, IR_loop, copy);
	return copy;
}

/* Operations and bytes, at the sizes chosen for. */
static double
work_of(const MStep *step)
{
	return step->flops + step->bytes;
}

static double
work_of_all(const Module *module)
{
	double work = 0;
	for (int i = 0; i < module->steps.count; i++) {
		const MStep *step = module->steps.data[i];
		work += work_of(step);
		for (int k = 0; k < step->nbody; k++)
			work += work_of_all(step->bodies[k]);
	}
	return work;
}

static void
decide_kernel(Motion *m, Kernel *kernel, bool is_heavy)
{
	Pair pair = {.still = kernel, .moved = moved_copy(m, kernel)};
	pair.key =
		arena_printf(m->arena, "%s%s %s", KEY, m->context->target->device->name, kernel->name);
	const char *recorded = map_find(&m->context->recorded, pair.key);
	bool is_same = strcmp(text_of(m->arena, pair.moved), text_of(m->arena, kernel)) == 0;
	if (is_heavy && !recorded && !is_same) {
		vec_push(m->arena, &m->open, pair);
		return;
	}
	if (!recorded || strcmp(recorded, "still") != 0)
		kernel->body = pair.moved->body;
	PassChoice choice = {.key = pair.key, .chosen = recorded, .candidates = "moved, still"};
	if (recorded)
		vec_push(m->context->arena, &m->context->choices, choice);
}

static void
decide_module(Motion *m, const Module *module)
{
	for (int i = 0; i < module->steps.count; i++) {
		const MStep *step = module->steps.data[i];
		if (step->kernel)
			decide_kernel(m, step->kernel, m->least >= 0 && work_of(step) >= m->least);
		for (int k = 0; k < step->nbody; k++)
			decide_module(m, step->bodies[k]);
	}
}

static void
decide_by_weight(Motion *m, const Pair *pair, const CodeWeight *still, const CodeWeight *moved)
{
	bool stays = codegen_is_heavier(moved, still);
	const char *weights = arena_printf(m->arena, "moved %.0f, still %.0f instructions by loops",
	                                   moved->instructions, still->instructions);
	PassChoice choice = {
		.key = pair->key, .chosen = stays ? "still" : "moved", .candidates = weights};
	vec_push(m->context->arena, &m->context->choices, choice);
	if (stays)
		pass_log(m->context, "instructions", pair->still->name, NULL, weights);
	else
		pair->still->body = pair->moved->body;
}

/* One file of all kernels in both forms. */
static void
weigh_open(Motion *m)
{
	int count = m->open.count;
	Kernel **kernels = NEW_N(m->arena, Kernel *, 2 * count + 1);
	CodeWeight *weights = NEW_N(m->arena, CodeWeight, 2 * count + 1);
	if (count == 0)
		return;
	for (int i = 0; i < count; i++) {
		kernels[2 * i] = m->open.data[i].still;
		kernels[2 * i + 1] = m->open.data[i].moved;
	}
	const char *text = codegen_c(m->arena, m->context->target, 2 * count, kernels);
	codegen_weigh(m->arena, m->context->target, text, 2 * count, weights);
	for (int i = 0; i < count; i++)
		decide_by_weight(m, &m->open.data[i], &weights[2 * i], &weights[2 * i + 1]);
}

void
motion_choose(Arena *arena, const Module *module, PassContext *context)
{
	double percent = (double)percent_of(context);
	Motion m = {.arena = arena, .context = context, .least = work_of_all(module) * percent / 100};
	context->disabled.count -= (int)countof(PASSES);
	for (size_t i = 0; i < countof(PASSES); i++)
		vec_push(context->arena, &context->only, PASSES[i]);
	decide_module(&m, module);
	context->only.count = 0;
	context->running = "LICM";
	weigh_open(&m);
	context->running = NULL;
}
