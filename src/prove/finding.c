/* Findings: what they say of the step, and whether it is known to lose what was lost. */
#include "prove/finding.h"

#include <math.h>

static bool
is_blocked(const PlanFacts *facts, int buffer, int step)
{
	bool found = facts->plan->buffers[buffer].layout != NULL;
	for (int k = 0; step >= 0 && k < facts->plan->steps[step].narg; k++) {
		int arg = facts->plan->steps[step].args[k];
		found = found || (arg >= 0 && facts->plan->buffers[arg].layout);
	}
	return found;
}

ProofFinding
finding_of(const PlanFacts *facts, const Claim *claim, const char *text)
{
	const PlanStep *step = claim->step >= 0 ? &facts->plan->steps[claim->step] : NULL;
	return (ProofFinding){
		.value = claim->value,
		.kind = step ? step->kind : PT_COPY,
		.is_view = !step,
		.is_blocked = is_blocked(facts, claim->made, claim->step),
		.step = step ? step->name : "a view",
		.text = text,
	};
}

/* Whether an operand of the step holds NaN or an infinity. */
static bool
reads_special(Arena *scratch, const Frame *frame, const PlanStep *step)
{
	Held held;
	for (int k = 0; k < step->narg - step->noutput; k++) {
		if (step->args[k] < 0 || !held_of(scratch, frame, step->args[k], &held))
			continue;
		Array array = {held.type, held.rank, held.dims,
		               (void *)(uintptr_t)held_dense(scratch, &held)};
		if (!array_is_finite(&array))
			return true;
	}
	return false;
}

const char *
finding_loss(Arena *scratch, const PlanFacts *facts, const Frame *frame, const Claim *claim,
             const Agreement *seen)
{
	const PlanStep *step = claim->step >= 0 ? &facts->plan->steps[claim->step] : NULL;
	const StepAttr *loses = step ? plan_attr(step, "loses") : NULL;
	bool is_known = loses && seen->wrong > 0 &&
	                (seen->special == seen->wrong || reads_special(scratch, frame, step));
	return is_known ? loses->string : NULL;
}
