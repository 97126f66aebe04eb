/* derivation_generalize: see derivation.h. */
#include "einnet/derivation.h"

#include "expr/stage/canon.h"
#include "target/target.h"

/* What a part leads to, beside what was found. */
typedef enum Likeness {
	OTHER,
	ALIKE, /* it costs the same: loops or factors may stand in another order */
	SAME,
} Likeness;

typedef struct Generalizing {
	Arena *arena;
	const bool *constant;
	Calls *calls;                   /* of the target */
	const Program *program, *bound; /* canonical: with symbols, and where they have values */
	Cost cost;                      /* of `bound` */
	RuleStep *steps;
	Derivation way; /* of these steps, as they are named so far */
} Generalizing;

static Likeness
likeness(const Generalizing *g, const Program *program)
{
	const Program *bound = program_canon(program_bind(program, g->calls->target->probe));
	if (hash128_equal(program_fingerprint(bound), program_fingerprint(g->bound)))
		return SAME;
	Cost cost = einnet_cost(g->calls, g->arena, bound, g->constant);
	bool is_alike = cost.calls == g->cost.calls && cost.kernels == g->cost.kernels &&
	                cost.flops == g->cost.flops && cost.bytes == g->cost.bytes;
	return is_alike ? ALIKE : OTHER;
}

/* The steps of the part's rule, and each with one number of what was found: which tiles are worth
 * it, say, is asked of sizes. Of forms, none. */
static RuleSteps
names_of(const Generalizing *g, int part)
{
	RuleSteps names = {.arena = g->arena};
	if (part == g->way.nstep)
		return names;
	const RuleStep found = g->steps[part];
	for (int s = 0; s < g->program->nstage; s++)
		rule_list(&names, found.rule, g->program, s);
	for (int i = 0, listed = names.list.count; i < listed; i++)
		for (int k = 0; k < RULE_ARGS; k++) {
			RuleStep step = names.list.data[i];
			if (step.arg[k] == found.arg[k])
				continue;
			step.arg[k] = found.arg[k];
			vec_push(g->arena, &names.list, step);
		}
	return names;
}

/* Name the part by its number among those, or among forms; false: there is none. */
static bool
name_part(Generalizing *g, int part, const RuleSteps *names, int number)
{
	if (part == g->way.nstep)
		g->way.converged = number;
	else if (number < names->list.count)
		g->steps[part] = names->list.data[number];
	else
		return false;
	return true;
}

/* To the program behind the part, which is what was found, or most like it. */
static bool
take_part(Generalizing *g, int part, Reason *why)
{
	RuleSteps names = names_of(g, part);
	bool is_form = part == g->way.nstep;
	RuleStep first = g->steps[part];
	int form = g->way.converged, best = -1;
	const Program *end = derivation_part(g->arena, g->program, g->constant, &g->way, part, why);
	Likeness most = end ? likeness(g, end) : OTHER;
	for (int i = 0; most < SAME && name_part(g, part, &names, i); i++) {
		const Program *next =
			derivation_part(g->arena, g->program, g->constant, &g->way, part, NULL);
		if (!next && is_form)
			break;
		Likeness seen = next ? likeness(g, next) : OTHER;
		if (seen <= most)
			continue;
		most = seen;
		end = next;
		best = i;
	}
	if (best >= 0) {
		name_part(g, part, &names, best);
	} else {
		g->steps[part] = first;
		g->way.converged = form;
	}
	g->program = end;
	return end != NULL;
}

const Program *
derivation_generalize(Arena *arena, const Target *target, const Program *program,
                      const bool *constant, const Derivation *found, Derivation *way, Reason *why)
{
	RuleStep *steps = NEW_N(arena, RuleStep, found->nstep + 1);
	Generalizing g = {.arena = arena,
	                  .constant = constant,
	                  .calls = einnet_calls_new(arena, target),
	                  .program = program_canon(program),
	                  .bound = program_canon(program_bind(program, target->probe)),
	                  .steps = steps,
	                  .way = {found->nstep, steps, found->converged}};
	for (int i = 0; i < found->nstep; i++)
		steps[i] = found->steps[i];
	for (int part = 0; part < derivation_parts(found); part++) {
		g.bound = derivation_part(arena, g.bound, constant, found, part, why);
		if (!g.bound)
			return NULL;
		g.cost = einnet_cost(g.calls, arena, g.bound, constant);
		if (!take_part(&g, part, why))
			return NULL;
	}
	*way = g.way;
	return g.program;
}
