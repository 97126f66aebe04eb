/* Derivations: a step with what converges behind it, a whole way, and its text. */
#include "einnet/derivation.h"

#include <stdio.h>
#include <string.h>

#include "einnet/rules_inner.h"
#include "expr/stage/canon.h"

/* ---- converging by itself -------------------------------------------------------------------- */

/* A map that one map reads; a sum that is copied into another layout. */
static bool
is_between_maps(const Program *program, int s)
{
	const Stage *stage = program->stages[s], *reader = derive_only_reader(program, stage);
	if (!reader || reader->kind != STAGE_map || stage->scan)
		return false;
	return stage->kind == STAGE_map ||
	       (stage->kind == STAGE_reduce && reader->body[0]->op == EX_read);
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

/* Whether the step may make the program plainer: remainders go that only the guard asks for; of
 * factors that are known any layout is free, others are split and turned at most. */
static bool
may_be_plainer(const Program *program, const bool *constant, const RuleStep *step)
{
	const Stage *stage = program->stages[step->stage];
	if (step->rule == RULE_residue)
		return count_divisions(stage) > 0;
	if (step->rule == RULE_tighten)
		return true;
	int64_t number = step->arg[step->rule == RULE_reverse_terms];
	const Expr *read = stage_read_at(stage, (int)number);
	bool is_known = einnet_is_constant(program, read->tensor, constant);
	return is_known == (step->rule == RULE_unfold);
}

/* By the first step of the rule that makes it plainer; NULL: none does. */
static const Program *
settle_by(Arena *arena, const Program *program, const bool *constant, RuleCode rule, int s)
{
	RuleSteps steps = {.arena = arena};
	rule_list(&steps, rule, program, s);
	for (int i = 0; i < steps.list.count; i++) {
		const RuleStep *step = &steps.list.data[i];
		if (!may_be_plainer(program, constant, step))
			continue;
		const Program *next = rule_apply(program, step, NULL);
		if (next && (rule != RULE_residue || all_divisions(next) < all_divisions(program)))
			return next;
	}
	return NULL;
}

static const Program *
settle_product(Arena *arena, const Program *program, const bool *constant, int s)
{
	static const RuleCode of_products[] = {RULE_residue, RULE_reverse_terms, RULE_tighten,
	                                       RULE_split_operand, RULE_unfold};
	const Program *next = NULL;
	for (size_t k = 0; k < countof(of_products) && !next; k++)
		next = settle_by(arena, program, constant, of_products[k], s);
	return next;
}

static const Program *
settle_map(const Program *program, int s)
{
	RuleStep merge = {.rule = RULE_merge, .stage = s};
	return is_between_maps(program, s) ? rule_apply(program, &merge, NULL) : NULL;
}

enum { MOST_STEPS = 64 };

/* What converges by itself; of maps alone, layouts are made where they are computed. */
static const Program *
settle(Arena *arena, const Program *program, const bool *constant, bool maps_alone)
{
	for (int times = 0, s = 0; times < MOST_STEPS && s < program->nstage; s++) {
		const Program *next = NULL;
		if (!einnet_is_open(program, s, constant))
			next = settle_map(program, s);
		else if (!maps_alone)
			next = settle_product(arena, program, constant, s);
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
	return next ? settle(arena, next, constant, false) : NULL;
}

/* The order of loops in which the stage's largest read lies; false where it is theirs already. */
static bool
order_as_read(const Stage *stage, int *order)
{
	const Expr *largest = NULL;
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
		if (walk.e->op == EX_read && walk.e->tensor->stage &&
		    (!largest || walk.e->argc > largest->argc))
			largest = walk.e;
	int count = 0;
	bool is_changed = false;
	for (int d = -1; largest && d < largest->argc; d++)
		for (int i = 0; i < stage->nloop; i++) {
			int first = 0;
			while (first < largest->argc && !expr_uses_iter(largest->arg[first], i))
				first++;
			if (first != d && !(first == largest->argc && d < 0))
				continue;
			is_changed |= count != i;
			order[count++] = i;
		}
	return is_changed && count == stage->nloop;
}

/* Sums between calls and results have the loops of what they read: lanes stay lanes. */
static const Program *
settle_orders(const Program *program, const bool *constant)
{
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		int order[64];
		Bijection map;
		if (stage->kind != STAGE_reduce || stage->nloop >= 64 ||
		    !derive_only_reader(program, stage) || einnet_is_open(program, s, constant) ||
		    einnet_is_constant(program, stage->results[0], constant) ||
		    !order_as_read(stage, order) || !derive_permute(program->ctx, stage, order, &map))
			continue;
		const Program *next = derive_substitute(program, stage, &map, NULL);
		program = next ? next : program;
	}
	return program;
}

int
derivation_converge(Calls *calls, Arena *arena, const Program *program, int stage,
                    const bool *constant, const Program *out[CONVERGED_MAX])
{
	const Program *forms[CONVERGED_MAX];
	int count = einnet_converge(calls, arena, program, stage, constant, forms);
	for (int k = 0; k < count; k++) {
		int same = 0;
		while (forms[same] != forms[k])
			same++;
		out[k] = same < k ? out[same] : settle(arena, forms[k], constant, true);
		out[k] = same < k ? out[k] : settle_orders(out[k], constant);
	}
	return count;
}

int
derivation_parts(const Derivation *way)
{
	return way->nstep + (way->converged >= 0);
}

/* The N-th form that the products converge to, counted through all of them. */
static const Program *
converge_to(Arena *arena, const Program *program, const bool *constant, int number, Reason *why)
{
	Calls *calls = einnet_calls_new(arena, NULL);
	for (int s = 0; s < program->nstage; s++) {
		const Program *found[CONVERGED_MAX];
		if (!einnet_is_open(program, s, constant))
			continue;
		int count = derivation_converge(calls, arena, program, s, constant, found);
		if (number < count)
			return program_canon(found[number]);
		number -= count;
	}
	return derive_refuse(why, "the products converge to fewer forms");
}

const Program *
derivation_part(Arena *arena, const Program *program, const bool *constant, const Derivation *way,
                int part, Reason *why)
{
	if (part == way->nstep)
		return converge_to(arena, program, constant, way->converged, why);
	const Program *next = derivation_step(arena, program, constant, &way->steps[part], why);
	return next ? program_canon(next) : NULL;
}

const Program *
derivation_replay(Arena *arena, const Program *program, const bool *constant, const Derivation *way)
{
	program = program_canon(program);
	for (int i = 0; program && i < derivation_parts(way); i++)
		program = derivation_part(arena, program, constant, way, i, NULL);
	return program;
}

/* ---- texts ----------------------------------------------------------------------------------- */

const char *
derivation_part_text(Arena *arena, const Derivation *way, int part)
{
	Buf buf = {.arena = arena};
	if (part == way->nstep)
		buf_printf(&buf, "converge %d", way->converged);
	else
		rule_print(&buf, &way->steps[part]);
	return buf_text(&buf);
}

const char *
derivation_text(Arena *arena, const Derivation *way)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < derivation_parts(way); i++)
		buf_printf(&buf, "%s%s", i ? "; " : "", derivation_part_text(arena, way, i));
	return buf.size ? buf_text(&buf) : "as given";
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
		bool is_last = sscanf(word, "converge %9d%n", &way->converged, &behind) == 1;
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
