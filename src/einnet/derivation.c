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

static const Program *
settle_stage(Arena *arena, const Program *program, int s)
{
	RuleSteps steps = {.arena = arena};
	if (stage_is_product(program->stages[s])) {
		rule_list(&steps, RULE_reverse_terms, program, s);
		rule_list(&steps, RULE_tighten, program, s);
	} else if (is_between_maps(program, s)) {
		rule_list(&steps, RULE_merge, program, s);
	}
	for (int i = 0; i < steps.list.count; i++) {
		const Program *next = rule_apply(program, &steps.list.data[i], NULL);
		if (next)
			return next;
	}
	return NULL;
}

static const Program *
settle(Arena *arena, const Program *program)
{
	enum { MOST = 16 };
	for (int times = 0, s = 0; times < MOST && s < program->nstage; s++) {
		const Program *next = settle_stage(arena, program, s);
		if (!next)
			continue;
		program = next;
		times++;
		s = -1;
	}
	return program;
}

const Program *
derivation_step(Arena *arena, const Program *program, const RuleStep *step, Reason *why)
{
	const Program *next = rule_apply(program, step, why);
	return next ? settle(arena, next) : NULL;
}

const Program *
derivation_replay(Arena *arena, const Program *program, const bool *constant, const Derivation *way)
{
	int converged = way->converged;
	VendorForms *forms = vendor_forms_new(arena);
	program = program_canon(program);
	for (int i = 0; program && i < way->nstep; i++) {
		program = derivation_step(arena, program, &way->steps[i], NULL);
		program = program ? program_canon(program) : NULL;
	}
	for (int s = 0; program && converged >= 0 && s < program->nstage; s++) {
		const Program *found[CONVERGED_MAX];
		if (!stage_is_product(program->stages[s]))
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
