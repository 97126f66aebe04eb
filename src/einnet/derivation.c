/* Derivations: a step with what converges behind it, a whole way, and its text. */
#include "einnet/derivation.h"

#include <stdio.h>
#include <string.h>

#include "einnet/converge.h"
#include "expr/stage/canon.h"

/* ---- converging by itself -------------------------------------------------------------------- */

/* A map that only maps read. */
static bool
is_between_maps(const Program *program, int s)
{
	const Stage *stage = program->stages[s];
	if (stage->kind != STAGE_map || stage->scan)
		return false;
	for (int i = 0; i < program->noutput; i++)
		if (program->outputs[i] == stage->results[0])
			return false;
	int readers = 0;
	for (int k = 0; k < program->nstage; k++) {
		const Stage *reader = program->stages[k];
		bool reads = false;
		for (ExprWalk walk = stage_walk(reader); expr_step(&walk);)
			reads |= walk.e->op == EX_read && walk.e->tensor == stage->results[0];
		if (reads && reader->kind != STAGE_map)
			return false;
		readers += reads;
	}
	return readers == 1;
}

/* Divisions and remainders in the stage's scalars. */
static int
count_divisions(const Stage *stage)
{
	int count = 0;
	for (ExprWalk walk = stage_walk(stage); expr_step(&walk);)
		count += walk.e->op == EX_floordiv || walk.e->op == EX_floormod;
	return count;
}

static int
all_divisions(const Program *program)
{
	int count = 0;
	for (int s = 0; s < program->nstage; s++)
		if (stage_is_product(program->stages[s]))
			count += count_divisions(program->stages[s]);
	return count;
}

/* Whether the step makes the program plainer: remainders go that only the guard asks for; of factors
 * that are known any layout is free, others are split at most. */
static bool
is_plainer(const Program *before, const bool *constant, const RuleStep *step, const Program *after)
{
	if (step->rule == RULE_residue)
		return all_divisions(after) < all_divisions(before);
	if (step->rule != RULE_split_operand && step->rule != RULE_unfold)
		return true;
	const Expr *read = stage_read_at(before->stages[step->stage], (int)step->arg[0]);
	bool is_known = einnet_is_constant(before, read->tensor, constant);
	return is_known == (step->rule == RULE_unfold);
}

static const Program *
settle_stage(Arena *arena, const Program *program, const bool *constant, int s)
{
	static const RuleCode of_products[] = {RULE_residue, RULE_reverse_terms, RULE_tighten,
	                                       RULE_split_operand, RULE_unfold};
	RuleSteps steps = {.arena = arena};
	for (size_t k = 0; k < countof(of_products) && einnet_is_open(program, s, constant); k++)
		rule_list(&steps, of_products[k], program, s);
	if (is_between_maps(program, s))
		rule_list(&steps, RULE_merge, program, s);
	for (int i = 0; i < steps.list.count; i++) {
		const RuleStep *step = &steps.list.data[i];
		const Program *next = rule_apply(program, step, NULL);
		if (next && is_plainer(program, constant, step, next))
			return next;
	}
	return NULL;
}

static const Program *
settle(Arena *arena, const Program *program, const bool *constant)
{
	enum { MOST = 16 };
	for (int times = 0, s = 0; times < MOST && s < program->nstage; s++) {
		const Program *next = settle_stage(arena, program, constant, s);
		if (!next)
			continue;
		program = next;
		times++;
		s = -1;
	}
	return program;
}

const Program *
derivation_step(Arena *arena, const Program *program, const bool *constant, const RuleStep *step,
                Reason *why)
{
	const Program *next = rule_apply(program, step, why);
	return next ? settle(arena, next, constant) : NULL;
}

const Program *
derivation_replay(Arena *arena, const Program *program, const bool *constant, const Derivation *way)
{
	int converged = way->converged;
	VendorForms *forms = vendor_forms_new(arena);
	program = program_canon(program);
	for (int i = 0; program && i < way->nstep; i++) {
		program = derivation_step(arena, program, constant, &way->steps[i], NULL);
		program = program ? program_canon(program) : NULL;
	}
	for (int s = 0; program && converged >= 0 && s < program->nstage; s++) {
		const Program *found[CONVERGED_MAX];
		if (!einnet_is_open(program, s, constant))
			continue;
		int count = einnet_converge(forms, arena, program, s, constant, found);
		if (converged < count)
			return program_canon(found[converged]);
		converged -= count;
	}
	return converged < 0 ? program : NULL;
}

/* ---- texts ----------------------------------------------------------------------------------- */

void
derivation_print(Buf *buf, const Derivation *way)
{
	for (int i = 0; i < way->nstep; i++) {
		buf_puts(buf, i ? "; " : "");
		rule_print(buf, &way->steps[i]);
	}
	if (way->converged >= 0)
		buf_printf(buf, "%sconverge %d", way->nstep ? "; " : "", way->converged);
	if (way->nstep == 0 && way->converged < 0)
		buf_puts(buf, "as given");
}

bool
derivation_parse(Arena *arena, const char *text, Derivation *way)
{
	VEC(RuleStep) steps = {0};
	*way = (Derivation){.converged = -1};
	if (strcmp(text, "as given") == 0)
		return true;
	while (*text) {
		size_t length = strcspn(text, ";"), skipped = strspn(text, " ");
		const char *word = arena_strndup(arena, text + skipped, length - skipped);
		RuleStep step;
		int behind = 0;
		bool is_last = sscanf(word, "converge %d%n", &way->converged, &behind) == 1;
		if (is_last && (word[behind] || text[length] || way->converged < 0))
			return false;
		if (!is_last && !rule_parse(word, &step))
			return false;
		if (!is_last)
			vec_push(arena, &steps, step);
		text += length + (text[length] == ';');
	}
	way->nstep = steps.count;
	way->steps = steps.data;
	return true;
}
