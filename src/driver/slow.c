/* Steps that run far from what the machine allows: sums of products that a library would do several
 * times as fast, and why they are our own. By work at the sizes that were chosen for.
 */
#include "driver/slow.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "lower/node.h"
#include "target/target.h"
#include "target/vendor.h"

/* What is heavy: a share of all operations, so many of them, and so many for each byte. */
enum { HEAVY_PERCENT = 5, HEAVY_FLOPS = 10000000, HEAVY_INTENSITY = 4, SHOWN = 3 };

static bool
is_heavy(const PlanStep *step)
{
	return step->kind == PT_KERNEL && step->flops >= HEAVY_FLOPS &&
	       step->flops >= HEAVY_INTENSITY * step->bytes;
}

static int
heaviest_first(const void *a, const void *b)
{
	double x = (*(const MStep *const *)a)->plan.flops, y = (*(const MStep *const *)b)->plan.flops;
	return (x < y) - (x > y);
}

/* What lowering said when it asked for a call; NULL: that our kernel is the better one. */
static const char *
reason_of(PassContext *context, const MStep *step)
{
	if (step->source && node_is_denied(context, step->source, "vendor"))
		return NULL;
	for (int i = context->log.count - 1; i >= 0; i--) {
		const PassEvent *event = &context->log.data[i];
		if (event->nodes && step->loc.node && vendor_has(event->rule) &&
		    strcmp(event->nodes, step->loc.node) == 0)
			return event->reason;
	}
	return "no library call does this";
}

const char *
slow_steps(Arena *arena, PassContext *context, const Module *module)
{
	Buf text = {.arena = arena};
	double flops = 0; /* of all steps */
	int shown = 0;
	if (!vendor_calls(context->target))
		return NULL;
	MStepVec steps = module_steps(arena, module);
	for (int i = 0; i < steps.count; i++)
		flops += steps.data[i]->plan.flops;
	if (steps.count)
		qsort(steps.data, (size_t)steps.count, sizeof *steps.data, heaviest_first);
	for (int i = 0; i < steps.count; i++) {
		const MStep *step = steps.data[i];
		const char *reason = reason_of(context, step);
		double percent = 100 * step->plan.flops / flops;
		if (!is_heavy(&step->plan) || !reason || percent < HEAVY_PERCENT)
			continue;
		if (shown < SHOWN)
			buf_printf(&text, "%s%s (%.0f %% of the work): %s", text.size ? "; " : "",
			           step->plan.name, percent, reason);
		shown++;
	}
	if (shown > SHOWN)
		buf_printf(&text, "; and %d more", shown - SHOWN);
	return text.size ? buf_text(&text) : NULL;
}
