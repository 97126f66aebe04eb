/* Steps that run far from what the machine allows: sums of products that a library would do several
 * times as fast, and why they are our own. By work at the sizes that were chosen for.
 */
#include "cli/slow.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "target/target.h"
#include "target/vendor.h"

/* What is heavy: a share of all operations, so many of them, and so many for each byte. */
enum { HEAVY_PERCENT = 5, HEAVY_FLOPS = 10000000, HEAVY_INTENSITY = 4, SHOWN = 3 };

typedef struct Slow {
	Arena *arena;
	double flops; /* of all steps */
	VEC(const MStep *) steps;
} Slow;

static void
count_steps(Slow *slow, const Module *module)
{
	for (int i = 0; i < module->steps.count; i++) {
		const MStep *step = module->steps.data[i];
		slow->flops += step->flops;
		if (step->kind == MS_KERNEL && step->flops >= HEAVY_FLOPS &&
		    step->flops >= HEAVY_INTENSITY * step->bytes)
			vec_push(slow->arena, &slow->steps, step);
		for (int k = 0; k < step->nbody; k++)
			count_steps(slow, step->bodies[k]);
	}
}

static int
heaviest_first(const void *a, const void *b)
{
	double x = (*(const MStep *const *)a)->flops, y = (*(const MStep *const *)b)->flops;
	return (x < y) - (x > y);
}

/* What lowering said when it asked for a call; NULL: that our kernel is the better one. */
static const char *
reason_of(const PassContext *context, const MStep *step)
{
	for (int i = context->log.count - 1; i >= 0; i--) {
		const PassEvent *event = &context->log.data[i];
		if (event->nodes && step->loc.node && vendor_has(event->rule) &&
		    strcmp(event->nodes, step->loc.node) == 0)
			return event->reason;
	}
	return "no library call does this";
}

const char *
slow_steps(Arena *arena, const PassContext *context, const Module *module)
{
	Slow slow = {.arena = arena};
	Buf text = {.arena = arena};
	int shown = 0;
	if (!vendor_calls(context->target))
		return NULL;
	count_steps(&slow, module);
	if (slow.steps.count)
		qsort(slow.steps.data, (size_t)slow.steps.count, sizeof *slow.steps.data, heaviest_first);
	for (int i = 0; i < slow.steps.count; i++) {
		const MStep *step = slow.steps.data[i];
		const char *reason = reason_of(context, step);
		double percent = 100 * step->flops / slow.flops;
		if (!reason || percent < HEAVY_PERCENT)
			continue;
		if (shown < SHOWN)
			buf_printf(&text, "%s%s (%.0f %% of the work): %s", text.size ? "; " : "", step->name,
			           percent, reason);
		shown++;
	}
	if (shown > SHOWN)
		buf_printf(&text, "; and %d more", shown - SHOWN);
	return text.size ? buf_text(&text) : NULL;
}
