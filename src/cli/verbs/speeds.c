/* Why a step takes its time. --profile runs the bundle; without it, what the machine needs at least
 * by its row, and of a GPU's kernels what was modelled when they were compiled. */
#include <math.h>

#include "cli/measure/profile.h"
#include "cli/report/fate.h"
#include "cli/verbs/fates.h"
#include "cli/verbs/inspect.h"
#include "runtime/pool.h"

typedef struct Speeds {
	Arena *arena;
	Machine machine;
	const Profile *profile; /* NULL: nothing was run */
	const ModelledEntry *modelled;
	double run; /* seconds of all steps */
	Table *table;
} Speeds;

static Speed
speed_at(const Speeds *s, const Plan *plan, int index, double *seconds)
{
	const PlanStep *step = &plan->steps[index];
	double times = 1;
	*seconds = NAN;
	if (s->profile)
		*seconds = profile_seconds(s->profile, plan->nesting, index, step->name, &times);
	Speed speed = speed_of(&s->machine, step, *seconds, times);
	const ModelledKernel *modelled =
		s->profile || step->kind != PT_KERNEL ? NULL : modelled_find(s->modelled, plan, step);
	if (modelled) {
		speed.least = modelled->microseconds * 1e-6;
		speed.bound = modelled->bound;
	}
	return speed;
}

static double
sum_of(const Speeds *s, const Plan *plan)
{
	double sum = 0, seconds;
	for (int i = 0; i < plan->nstep; i++) {
		const Speed speed = speed_at(s, plan, i, &seconds);
		sum += s->profile ? (isnan(seconds) ? 0 : seconds) : speed.least;
	}
	return sum > 0 ? sum : NAN;
}

static void
speed_row(const Speeds *s, const Plan *plan, int index, const char *at)
{
	double seconds;
	const Speed speed = speed_at(s, plan, index, &seconds);
	if (s->profile)
		table_row(s->table, "%s|%.1f|%.1f|%.1f|%.0f|%.1f|%.0f|%s", at, seconds * 1e6,
		          100 * seconds / s->run, speed.gflops, 100 * speed.of_peak, speed.bandwidth,
		          100 * speed.of_memory, speed.bound);
	else
		table_row(s->table, "%s|%.1f|%.1f|%s", at, speed.least * 1e6, 100 * speed.least / s->run,
		          speed.bound);
}

/* The steps of a plan that are of this node of the model, or are this one (NULL: all), and what
 * such a step has inside. */
static void
speed_rows(const Speeds *s, const Plan *plan, const Node *node, const PlanStep *only,
           const char *prefix)
{
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		bool is_wanted = (!node || step_is_of(plan, step, node)) && (!only || step == only);
		const char *at = arena_printf(s->arena, "%s%d", prefix, i);
		if (is_wanted)
			speed_row(s, plan, i, at);
		for (int k = 0; k < step->nbody; k++)
			speed_rows(s, step->bodies[k], node, step == only ? NULL : only,
			           arena_printf(s->arena, "%s.", at));
	}
}

void
report_speeds(const Explained *e, Report *report, const Plan *plan, const Node *node,
              const PlanStep *only)
{
	const Options *options = &e->options;
	const char *path = options->args.data[0];
	const char *device = e->bundle->manifest->targets[0].device;
	int threads = options->threads > 0 ? (int)options->threads : pool_cores();
	Speeds s = {.arena = e->arena,
	            .machine = {device_find(device), threads},
	            .modelled = modelled_read(e->arena, path, e->bundle, 0)};
	double seconds;
	if (!s.machine.device)
		return;
	if (options->profile)
		s.profile = profile_bundle(options, e->arena, path, &seconds);
	s.run = sum_of(&s, plan);
	s.table = report_table(report, "speed",
	                       s.profile ? ">at:step|>us|>percent:% of a run|>gflops:GFLOP/s|>peak:% "
	                                   "of peak|>bandwidth:GB/s|>memory:% of memory|bound:bound by"
	                                 : ">at:step|>us:at least us|>percent:% of all|bound:bound by");
	speed_rows(&s, plan, node, only, "");
}
