/* einnet_search: breadth first, see search.h. */
#include "einnet/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "einnet/converge.h"
#include "expr/stage/intern.h"

typedef struct State {
	const Program *program;
	int parent, depth;
	double bound; /* seconds */
	RuleStep step;
} State;

typedef struct Search {
	Arena *arena, *work; /* what is kept; what a step makes, until its state is done */
	StageTable *table;
	Calls *calls;
	const SearchOptions *options;
	VEC(State) states;
	HashSet seen, seen_candidates;
	double best;
	SearchResult result;
} Search;

/* ---- candidates ------------------------------------------------------------------------------ */

static void
tell(const Search *search, const Visit *visit)
{
	if (search->options->visit)
		search->options->visit(search->options->arg, visit);
}

static void
add_candidate(Search *search, int number, const Program *program, int converged)
{
	const State *state = &search->states.data[number];
	program = program_canon_in(search->table, program);
	if (!hash_set_add(search->arena, &search->seen_candidates, program_fingerprint(program)))
		return;
	program = program_intern(search->table, program);
	Candidate candidate = {.program = program};
	candidate.cost = einnet_cost(search->calls, search->work, program, search->options->constant);
	RuleStep *steps = NEW_N(search->arena, RuleStep, state->depth + 1);
	for (int at = number, left = state->depth; left > 0; at = search->states.data[at].parent)
		steps[--left] = search->states.data[at].step;
	candidate.way = (Derivation){state->depth, steps, converged};
	vec_push(search->arena, &search->result.list, candidate);
	if (candidate.cost.seconds < search->best)
		search->best = candidate.cost.seconds;
	tell(search, &(Visit){number, state->parent, state->depth, NULL, FATE_candidate,
	                      candidate.cost.seconds, program});
}

/* The state as it is, where it is what was given or products in another order, and what it
 * converges to. */
static void
converge(Search *search, int number, const Program *kept)
{
	ArenaMark mark = arena_mark(search->work);
	const Program *program = program_import(expr_ctx_beside(search->work, kept->ctx), kept, NULL);
	int total = 0;
	const State *state = &search->states.data[number];
	if (state->depth == 0 || state->step.rule == RULE_associate)
		add_candidate(search, number, program, -1);
	for (int s = 0; s < program->nstage; s++) {
		const Program *forms[CONVERGED_MAX];
		if (!einnet_is_open(program, s, search->options->constant))
			continue;
		int count = derivation_converge(search->calls, search->work, program, s,
		                                search->options->constant, forms);
		for (int k = 0; k < count; k++)
			add_candidate(search, number, forms[k], total + k);
		total += count;
	}
	arena_release(search->work, mark);
}

/* ---- exploring ------------------------------------------------------------------------------- */

static bool
is_too_dear(const Search *search, double bound)
{
	double most = search->options->most;
	return !search->options->keeps_dear &&
	       (bound > search->best || (search->states.count > 1 && most > 0 && bound > most));
}

static int
most_states(const SearchOptions *options)
{
	return options->states ? options->states : DERIVE_STATES;
}

/* What a state converges to is seen when it is met: the sooner others are too dear. */
static void
visit(Search *search, const Program *program, int parent, const RuleStep *step)
{
	int depth = parent < 0 ? 0 : search->states.data[parent].depth + 1;
	Visit note = {-1, parent, depth, step, FATE_met, 0, program};
	if (!hash_set_add(search->arena, &search->seen, program_fingerprint(program))) {
		search->result.met++;
		tell(search, &note);
		return;
	}
	note.seconds = einnet_bound(program, search->options->constant, search->options->target);
	if (is_too_dear(search, note.seconds)) {
		search->result.dear++;
		note.fate = FATE_too_dear;
		tell(search, &note);
		return;
	}
	if (search->states.count == most_states(search->options)) {
		search->result.is_cut = true;
		return;
	}
	State state = {program_intern(search->table, program), parent, depth, note.seconds, {0}};
	if (step)
		state.step = *step;
	note.state = search->states.count;
	note.fate = FATE_kept;
	vec_push(search->arena, &search->states, state);
	tell(search, &note);
	converge(search, note.state, state.program);
}

/* A product whose sum is already split in two is split no further. */
static bool
is_summed_again(const Program *program, const Stage *stage)
{
	for (int k = 0; k < program->nstage; k++)
		if (program->stages[k]->kind == STAGE_reduce &&
		    stage_reads(program->stages[k], stage->results[0]))
			return true;
	return false;
}

/* Steps that only lead where others do: a factor that is known is stored in any layout by what it
 * converges to. */
static bool
is_worth(const Search *search, const Program *program, const RuleStep *step)
{
	const Stage *stage = program->stages[step->stage];
	if (step->rule == RULE_split_sum)
		return !is_summed_again(program, stage);
	if (step->rule == RULE_associate)
		return !einnet_is_constant(program, stage->results[0], search->options->constant);
	if (step->rule != RULE_position && step->rule != RULE_split_operand &&
	    step->rule != RULE_unfold && step->rule != RULE_bilinear)
		return true;
	const Tensor *factor = stage_read_at(stage, (int)step->arg[0])->tensor;
	return !einnet_is_constant(program, factor, search->options->constant);
}

/* Products are joined in a plain form: what makes more than that of each of them alone multiplies
 * the ways, and is as good behind the joining. In which order they are computed is asked of those
 * that were given, not of the sums that other rules make. */
static uint32_t
disabled_in(const Search *search, int number)
{
	const uint32_t plain = 1u << RULE_split_sum | 1u << RULE_position | 1u << RULE_unfold |
	                       1u << RULE_merge_products | 1u << RULE_associate;
	const State *states = search->states.data;
	bool is_joined = !search->options->merges, is_given = true;
	for (int at = number; states[at].parent >= 0; at = states[at].parent) {
		is_joined |= rule_joins(states[at].step.rule);
		is_given &= states[at].step.rule == RULE_associate;
	}
	return search->options->disabled | (is_joined ? 0 : ~plain) |
	       (is_given ? 0 : 1u << RULE_associate);
}

static void
explore(Search *search, int number, const Program *program)
{
	uint32_t disabled = disabled_in(search, number);
	RuleSteps steps = {.arena = search->work};
	bool *is_open = NEW_N(search->work, bool, program->nstage + 1);
	for (int s = 0; s < program->nstage; s++)
		is_open[s] = einnet_is_open(program, s, search->options->constant);
	for (int s = 0; s < program->nstage; s++)
		for (int rule = 0; rule < RULE_COUNT; rule++)
			if (rule_explores((RuleCode)rule) && !(disabled >> rule & 1) &&
			    (is_open[s] || rule == RULE_associate))
				rule_list(&steps, (RuleCode)rule, program, s);
	for (int i = 0; i < steps.list.count && !search->result.is_cut; i++) {
		const RuleStep *step = &steps.list.data[i];
		if (!is_worth(search, program, step))
			continue;
		const Program *next =
			derivation_step(search->work, program, search->options->constant, step, NULL);
		search->result.derivations++;
		if (next)
			visit(search, program_canon_in(search->table, next), number, step);
		else
			search->result.refused++;
	}
}

static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *x = a, *y = b;
	if (x->cost.seconds != y->cost.seconds)
		return x->cost.seconds < y->cost.seconds ? -1 : 1;
	if (x->way.nstep != y->way.nstep)
		return x->way.nstep - y->way.nstep;
	return x->way.converged - y->way.converged;
}

static void
run(Search *search, const Program *program)
{
	const SearchOptions *o = search->options;
	int depth = o->depth ? o->depth : DERIVE_DEPTH;
	visit(search, program_canon_in(search->table, program), -1, NULL);
	for (int i = 0; i < search->states.count && !search->result.is_cut; i++) {
		const State state = search->states.data[i];
		if (o->progress)
			o->progress(o->arg, i, search->states.count);
		if (state.depth == depth || is_too_dear(search, state.bound))
			continue;
		ArenaMark mark = arena_mark(search->work);
		ExprCtx *ctx = expr_ctx_beside(search->work, state.program->ctx);
		explore(search, i, program_import(ctx, state.program, NULL));
		arena_release(search->work, mark);
	}
	search->result.states = search->states.count;
}

SearchResult
einnet_search(Arena *arena, ExprCtx *ctx, const Program *program, const SearchOptions *options)
{
	Search search = {.arena = arena,
	                 .work = arena_new_in(arena, "einnet_search"),
	                 .table = stage_table_new(ctx),
	                 .calls = einnet_calls_new(arena, options->target),
	                 .options = options,
	                 .best = 1e300};
	run(&search, program);
	qsort(search.result.list.data, (size_t)search.result.list.count,
	      sizeof *search.result.list.data, compare_candidates);
	arena_reset(search.work);
	return search.result;
}
