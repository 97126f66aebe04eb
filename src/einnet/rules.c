/* Where rules apply, and their application: by what stages show, never by what they are called. */
#include "einnet/rules_inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "expr/index/simplify.h"

enum { MAX_TERMS = 11 };

/* ---- stages ---------------------------------------------------------------------------------- */

bool
stage_is_product(const Stage *stage)
{
	const Expr *product = stage_summed_product(stage);
	if (!product || stage->nresult != 1 || stage->scan ||
	    stage->nloop + stage->nreduce > RULE_ITERS)
		return false;
	const Expr *a = expr_without_casts(product->arg[0]), *b = expr_without_casts(product->arg[1]);
	return a->op == EX_read && b->op == EX_read && a != b;
}

const Expr *
stage_read_at(const Stage *stage, int number)
{
	const Expr *found = NULL;
	int count = 0;
	for (ExprWalk walk = expr_walk_reads(stage->body[0]); expr_step(&walk);)
		if (walk.e->op == EX_read && count++ == number)
			found = walk.e;
	return found;
}

/* ---- what rules share ------------------------------------------------------------------------ */

bool
rule_extent(const Stage *stage, int i, int64_t *extent)
{
	int64_t lo;
	return dim_is_const(stage->iters[i].lo, &lo) && lo == 0 &&
	       dim_is_const(stage->iters[i].hi, extent);
}

bool
rule_linear(const Stage *stage, const Expr *index, Linear *out)
{
	const Dim *coefficient[RULE_ITERS];
	const Expr *rest;
	int total = stage->nloop + stage->nreduce;
	*out = (Linear){0};
	index = derive_dividend(index->ctx, index, &out->divisor);
	if (total > RULE_ITERS || !expr_affine(index->ctx, index, total, coefficient, &rest))
		return false;
	for (int i = 0; i < total; i++) {
		if (!dim_is_const(coefficient[i], &out->factor[i]))
			return false;
		out->count += out->factor[i] != 0;
	}
	return true;
}

void
rule_add_last(const Lister *l, int64_t a, int64_t b, int64_t c, int64_t d)
{
	RuleStep step = l->step;
	step.arg[0] = a;
	step.arg[1] = b;
	step.arg[2] = c;
	step.arg[3] = d;
	for (int i = 0; i < l->steps->list.count; i++)
		if (memcmp(&l->steps->list.data[i], &step, sizeof step) == 0)
			return;
	vec_push(l->steps->arena, &l->steps->list, step);
}

void
rule_add(const Lister *l, int64_t a, int64_t b, int64_t c)
{
	rule_add_last(l, a, b, c, 0);
}

void
rule_each_window(const Lister *l, void (*visit)(const Lister *, int read, int dim, const Linear *))
{
	int number = 0;
	Linear linear;
	for (ExprWalk walk = expr_walk_reads(l->stage->body[0]); expr_step(&walk);) {
		if (walk.e->op != EX_read)
			continue;
		for (int d = 0; d < walk.e->argc; d++) {
			uint64_t iters = walk.e->arg[d]->iters;
			bool has_several = iters & (iters - 1);
			if (has_several && rule_linear(l->stage, walk.e->arg[d], &linear) && linear.count > 1)
				visit(l, number, d, &linear);
		}
		number++;
	}
}

/* ---- splitting a sum ------------------------------------------------------------------------- */

static void
list_taps(const Lister *l, int read, int dim, const Linear *linear)
{
	(void)read;
	(void)dim;
	uint64_t *taps = l->found;
	for (int k = 0; k < l->stage->nreduce; k++)
		if (linear->factor[l->stage->nloop + k] != 0)
			*taps |= UINT64_C(1) << k;
}

/* Sets of iterators that stand in windows: what others sum, a call sums as well. */
static void
list_split_sum(const Lister *l)
{
	const Stage *stage = l->stage;
	uint64_t taps = 0;
	Lister finder = *l;
	finder.found = &taps;
	rule_each_window(&finder, list_taps);
	for (uint64_t bits = 1; stage->nreduce < 16 && bits + 1 < UINT64_C(1) << stage->nreduce; bits++)
		if ((bits & ~taps) == 0)
			rule_add(l, (int64_t)bits, 0, 0);
}

static Program *
apply_split_sum(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	return derive_split_sum(program, stage, (unsigned)arg[0], why);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* Where the loops alone make no sum, and nothing is divided, the loop is the position already. */
static void
list_positions(const Lister *l, int read, int dim, const Linear *linear)
{
	int loops = 0;
	for (int i = 0; i < l->stage->nloop; i++)
		loops += linear->factor[i] != 0;
	for (int i = 0; i < l->stage->nloop && (loops > 1 || linear->divisor > 1); i++)
		if (linear->factor[i] == 1 || linear->factor[i] == -1)
			rule_add(l, read, dim, i);
}

static void
list_position(const Lister *l)
{
	rule_each_window(l, list_positions);
}

static Program *
apply_position(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	const Expr *read = stage_read_at(stage, (int)arg[0]);
	Bijection map;
	if (!read || arg[1] < 0 || arg[1] >= read->argc ||
	    !derive_position(program->ctx, stage, read->arg[arg[1]], (int)arg[2], &map))
		return derive_refuse(why, "the index is no sum of loops with this one once");
	return derive_substitute(program, stage, &map, why);
}

static void
list_reversals(const Lister *l, int read, int dim, const Linear *linear)
{
	(void)read;
	(void)dim;
	for (int i = 0; i < l->stage->nloop; i++)
		if (linear->factor[i] < 0)
			rule_add(l, i, 0, 0);
}

static void
list_reverse(const Lister *l)
{
	rule_each_window(l, list_reversals);
}

static Program *
apply_reverse(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	Bijection map;
	if (!derive_reverse(program->ctx, stage, (int)arg[0], &map))
		return derive_refuse(why, "the stage has no such loop");
	return derive_substitute(program, stage, &map, why);
}

/* A loop beside an iterator that moves the index by a factor, or under a divisor. */
static void
list_splits(const Lister *l, int read, int dim, const Linear *linear)
{
	int64_t extent;
	(void)read;
	(void)dim;
	for (int i = 0; i < l->stage->nloop; i++) {
		if ((linear->factor[i] != 1 && linear->factor[i] != -1) ||
		    !rule_extent(l->stage, i, &extent))
			continue;
		for (int k = -1; k < l->stage->nloop + l->stage->nreduce; k++) {
			int64_t factor = k < 0 ? linear->divisor : linear->factor[k];
			factor = factor < 0 ? -factor : factor;
			if (k != i && factor > 1 && factor <= RULE_FACTOR && factor < extent)
				rule_add(l, i, factor, 0);
		}
	}
}

static void
list_split_loop(const Lister *l)
{
	rule_each_window(l, list_splits);
}

static Program *
apply_split_loop(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	Bijection map;
	if (!derive_split(program->ctx, stage, (int)arg[0], arg[1], &map))
		return derive_refuse(why, "the stage has no such loop");
	return derive_substitute(program, stage, &map, why);
}

/* ---- terms ----------------------------------------------------------------------------------- */

/* Whether a loop moves the index by this factor: a stride. */
static bool
is_stride(const Lister *l, const Linear *linear, int64_t factor)
{
	for (int i = 0; i < l->stage->nloop; i++)
		if (linear->factor[i] == factor || linear->factor[i] == -factor)
			return true;
	return false;
}

/* Kernels of more than four taps become several of few; those under a stride fall into phases. */
static void
list_term_splits(const Lister *l, int read, int dim, const Linear *linear)
{
	enum { FEW = 4 };
	int64_t extent;
	(void)read;
	(void)dim;
	for (int i = l->stage->nloop; i < l->stage->nloop + l->stage->nreduce; i++) {
		if (linear->factor[i] == 0 || !rule_extent(l->stage, i, &extent) || extent > MAX_TERMS)
			continue;
		for (int64_t factor = 2; factor <= FEW && factor < extent; factor++)
			if (extent > FEW || is_stride(l, linear, factor))
				rule_add(l, i, factor, 0);
	}
}

static void
list_split_terms(const Lister *l)
{
	rule_each_window(l, list_term_splits);
}

/* The sum up to a multiple of the factor: the stage's number may change. */
static const Program *
relaxed(const Program *program, const Stage **stage, int iter, int64_t by, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	const Dim *factor = dim_const(ctx, by), *hi = (*stage)->iters[iter].hi;
	const Dim *up = dim_mul(ctx, dim_ceildiv(ctx, hi, factor), factor);
	if (up == hi)
		return program;
	const Program *next = derive_relax(program, *stage, iter, (*stage)->iters[iter].lo, up, why);
	for (int s = 0; next && s < next->nstage; s++) {
		const Stage *made = next->stages[s];
		if (made->kind == STAGE_reduce && made->nloop == (*stage)->nloop &&
		    made->nreduce == (*stage)->nreduce && made->iters[iter].hi == up &&
		    !program_has_stage(program, made)) {
			*stage = made;
			return next;
		}
	}
	return NULL;
}

static Program *
apply_split_terms(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	Bijection map;
	int iter = (int)arg[0];
	if (stage->kind != STAGE_reduce || iter < stage->nloop ||
	    iter >= stage->nloop + stage->nreduce || arg[1] < 2)
		return derive_refuse(why, "the stage has no such iterator of a sum");
	const Program *next = relaxed(program, &stage, iter, arg[1], why);
	if (!next || !derive_split_terms(program->ctx, stage, iter, arg[1], &map))
		return NULL;
	return derive_substitute_sum(next, stage, &map, why);
}

static bool
fixes_remainder(const Expr *guard)
{
	if (guard && guard->op == EX_and)
		return fixes_remainder(guard->arg[0]) || fixes_remainder(guard->arg[1]);
	return guard && guard->op == EX_eq && guard->arg[0]->op == EX_floormod;
}

static void
list_residue(const Lister *l)
{
	bool is_asked = l->stage->kind == STAGE_reduce && fixes_remainder(l->stage->guard);
	for (int k = 0; is_asked && k < l->stage->nreduce; k++)
		rule_add(l, l->stage->nloop + k, 0, 0);
}

static Program *
apply_residue(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	return derive_residue(program, stage, (int)arg[0], why);
}

static void
list_term_reversals(const Lister *l, int read, int dim, const Linear *linear)
{
	bool is_up = false;
	(void)dim;
	for (int i = 0; i < l->stage->nloop; i++)
		is_up |= linear->factor[i] > 0;
	for (int i = l->stage->nloop; i < l->stage->nloop + l->stage->nreduce && is_up; i++)
		if (linear->factor[i] < 0 && linear->divisor == 1)
			rule_add(l, i, read, 0);
}

static void
list_reverse_terms(const Lister *l)
{
	rule_each_window(l, list_term_reversals);
}

static Program *
apply_reverse_terms(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	Bijection map;
	if (!derive_reverse_terms(program->ctx, stage, (int)arg[0], &map))
		return derive_refuse(why, "the stage has no such iterator of a sum");
	return derive_substitute_sum(program, stage, &map, why);
}

/* ---- several products ------------------------------------------------------------------------ */

/* The factors of the stage that a product behind it has, too. By these the rule counts: in which
 * order a product has its factors depends on their sizes, and on whether these are known.
 * *is_alike: a product behind it has the same loops. */
static int
shared_factors(const Program *program, const Stage *stage, int shared[2], bool *is_alike)
{
	int count = 0;
	bool is_behind = false, shares[2] = {false};
	*is_alike = false;
	for (int s = 0; stage_is_product(stage) && s < program->nstage; s++) {
		const Stage *other = program->stages[s];
		if (is_behind && stage_is_product(other)) {
			*is_alike |= stage_same_loops(other, stage);
			for (int f = 0; f < 2; f++)
				shares[f] |= expr_reads(other->body[0], stage_read_at(stage, f)->tensor);
		}
		is_behind |= other == stage;
	}
	for (int f = 0; f < 2; f++)
		if (shares[f])
			shared[count++] = f;
	return count;
}

/* From the first of those that have the factor; of equal boxes, where they share none. */
static void
list_merge_products(const Lister *l)
{
	int shared[2];
	bool is_alike;
	int count = shared_factors(l->program, l->stage, shared, &is_alike);
	for (int k = 0; k < count; k++)
		rule_add(l, k, 0, 0);
	if (is_alike && count == 0)
		rule_add(l, -1, 0, 0);
}

static Program *
apply_merge_products(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	int shared[2];
	bool is_alike;
	int count = shared_factors(program, stage, shared, &is_alike);
	if (arg[0] < -1 || arg[0] >= count)
		return derive_refuse(why, "no other product has such a factor");
	return derive_merge_products(program, stage, arg[0] < 0 ? -1 : shared[arg[0]], why);
}

/* Of factors that are read, or made where they are multiplied. */
static void
list_associate(const Lister *l)
{
	const Expr *body = l->stage->body[0];
	for (int f = 0; f < 2 && body->op == EX_mul && l->stage->kind == STAGE_reduce; f++)
		for (ExprWalk walk = expr_walk_reads(body->arg[f]); expr_step(&walk);)
			for (int kept = 0; kept < 2; kept++)
				if (walk.e->op == EX_read && walk.e->tensor->stage)
					rule_add(l, f, kept, 0);
}

static Program *
apply_associate(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	return derive_associate(program, stage, (int)arg[0], (int)arg[1], why);
}

/* ---- boxes, merging -------------------------------------------------------------------------- */

static void
list_tighten(const Lister *l)
{
	rule_add(l, 0, 0, 0);
}

static Program *
apply_tighten(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	(void)arg;
	return derive_tighten(program, stage, why);
}

static void
list_merge(const Lister *l)
{
	rule_add(l, 0, 0, 0);
}

static Program *
apply_merge(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	(void)arg;
	return derive_merge(program, stage, why);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define RULE(name, kind, numerics, args, doc) {#name, RULE_##kind, #numerics, args, doc},
static const RuleInfo infos[] = {
#include "einnet/rules.def"
};
#undef RULE

#define RULE(name, kind, numerics, args, doc) {list_##name, apply_##name},
static const struct {
	void (*list)(const Lister *);
	Program *(*apply)(const Program *, const Stage *, const int64_t *arg, Reason *);
} actions[] = {
#include "einnet/rules.def"
};
#undef RULE

const RuleInfo *
rule_info(RuleCode rule)
{
	return &infos[rule];
}

RuleCode
rule_find(const char *name)
{
	int rule = 0;
	while (rule < RULE_COUNT && strcmp(infos[rule].name, name) != 0)
		rule++;
	return (RuleCode)rule;
}

uint32_t
rule_bit(const Loc *loc, const char *name)
{
	const char *names[RULE_COUNT];
	int count = 0;
	RuleCode rule = rule_find(name);
	if (rule != RULE_COUNT && rule_explores(rule))
		return 1u << rule;
	if (rule != RULE_COUNT)
		fail_as(FAIL_USAGE, loc,
		        "rule '%s' is applied wherever it can be; only rules that explore can be chosen "
		        "(tilewright list rules shows them)",
		        name);
	for (int k = 0; k < RULE_COUNT; k++)
		if (rule_explores((RuleCode)k))
			names[count++] = infos[k].name;
	fail_unknown(loc, "rule", name, count, names, "list rules");
}

uint32_t
rule_bits(Arena *arena, const char *names)
{
	uint32_t bits = 0;
	while (*names) {
		size_t length = strcspn(names, ",");
		bits |= rule_bit(NULL, arena_strndup(arena, names, length));
		names += length + (names[length] == ',');
	}
	return bits;
}

bool
rule_explores(RuleCode rule)
{
	return infos[rule].kind != RULE_converging;
}

bool
rule_joins(RuleCode rule)
{
	return infos[rule].kind == RULE_joining;
}

void
rule_list(RuleSteps *steps, RuleCode rule, const Program *program, int stage)
{
	Lister lister = {steps, program, program->stages[stage], {.rule = rule, .stage = stage}, NULL};
	if (lister.stage->nloop + lister.stage->nreduce <= RULE_ITERS)
		actions[rule].list(&lister);
}

Program *
rule_apply(const Program *program, const RuleStep *step, Reason *why)
{
	if (step->stage < 0 || step->stage >= program->nstage)
		return derive_refuse(why, "the program has no such stage");
	return actions[step->rule].apply(program, program->stages[step->stage], step->arg, why);
}

void
rule_print(Buf *buf, const RuleStep *step)
{
	const RuleInfo *info = rule_info(step->rule);
	buf_printf(buf, "%s %d", info->name, step->stage);
	int count = *info->args ? 1 : 0;
	for (const char *c = info->args; *c; c++)
		count += *c == ' ';
	for (int i = 0; i < count; i++)
		buf_printf(buf, " %" PRId64, step->arg[i]);
}

bool
rule_parse(const char *text, RuleStep *step)
{
	char name[32];
	int length = 0;
	*step = (RuleStep){0};
	if (sscanf(text, "%31s %d%n", name, &step->stage, &length) != 2)
		return false;
	step->rule = rule_find(name);
	for (int i = 0; i < RULE_ARGS && text[length]; i++) {
		char *end;
		step->arg[i] = strtoll(text + length, &end, 10);
		if (end == text + length || step->arg[i] != (int32_t)step->arg[i])
			return false;
		length = (int)(end - text);
	}
	return step->rule != RULE_COUNT && !text[length];
}
