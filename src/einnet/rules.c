/* Where rules apply, and their application: by what stages show, never by what they are called. */
#include "einnet/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr/index/simplify.h"

enum { MAX_ITERS = 60, MAX_TERMS = 11, MAX_FACTOR = 64 };

/* ---- stages ---------------------------------------------------------------------------------- */

bool
stage_is_product(const Stage *stage)
{
	if (stage->kind != STAGE_reduce || stage->reduce != REDUCE_sum || stage->nresult != 1 ||
	    stage->scan || stage->nloop + stage->nreduce > MAX_ITERS)
		return false;
	const Expr *body = expr_without_casts(stage->body[0]);
	if (body->op != EX_mul)
		return false;
	const Expr *a = expr_without_casts(body->arg[0]), *b = expr_without_casts(body->arg[1]);
	return a->op == EX_read && b->op == EX_read && a != b;
}

const Expr *
stage_read_at(const Stage *stage, int number)
{
	const Expr *found = NULL;
	for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
		if (walk.e->op == EX_read && number-- == 0)
			found = walk.e;
	return found;
}

static Program *
refuse(Reason *why, const char *reason)
{
	if (why)
		*why = reason;
	return NULL;
}

static bool
extent_of(const Stage *stage, int i, int64_t *extent)
{
	int64_t lo;
	return dim_is_const(stage->iters[i].lo, &lo) && lo == 0 &&
	       dim_is_const(stage->iters[i].hi, extent);
}

/* ---- indices --------------------------------------------------------------------------------- */

/* An index, or what it divides, as a sum of iterators with constant factors. */
typedef struct Linear {
	int64_t factor[MAX_ITERS], divisor;
	int count; /* of iterators that move it */
} Linear;

static bool
linear_of(const Stage *stage, const Expr *index, Linear *out)
{
	const Dim *coefficient[MAX_ITERS];
	const Expr *rest;
	int total = stage->nloop + stage->nreduce;
	*out = (Linear){0};
	index = derive_dividend(index->ctx, index, &out->divisor);
	if (total > MAX_ITERS || !expr_affine(index->ctx, index, total, coefficient, &rest))
		return false;
	for (int i = 0; i < total; i++) {
		if (!dim_is_const(coefficient[i], &out->factor[i]))
			return false;
		out->count += out->factor[i] != 0;
	}
	return true;
}

typedef struct Lister {
	RuleSteps *steps;
	const Program *program;
	const Stage *stage;
	RuleStep step; /* rule and stage */
	uint64_t *found;
} Lister;

static void
add_last(const Lister *l, int64_t a, int64_t b, int64_t c, int64_t d)
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

static void
add(const Lister *l, int64_t a, int64_t b, int64_t c)
{
	add_last(l, a, b, c, 0);
}

/* For each index of each read that is a sum of several iterators. */
static void
each_window(const Lister *l, void (*visit)(const Lister *, int read, int dim, const Linear *))
{
	int number = 0;
	Linear linear;
	for (ExprWalk walk = expr_walk(l->stage->body[0]); expr_step(&walk);) {
		if (walk.e->op != EX_read)
			continue;
		for (int d = 0; d < walk.e->argc; d++)
			if (walk.e->arg[d]->op != EX_iter && linear_of(l->stage, walk.e->arg[d], &linear) &&
			    linear.count > 1)
				visit(l, number, d, &linear);
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
	each_window(&finder, list_taps);
	for (uint64_t bits = 1; stage->nreduce < 16 && bits + 1 < UINT64_C(1) << stage->nreduce; bits++)
		if ((bits & ~taps) == 0)
			add(l, (int64_t)bits, 0, 0);
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
			add(l, read, dim, i);
}

static void
list_position(const Lister *l)
{
	each_window(l, list_positions);
}

static Program *
apply_position(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	const Expr *read = stage_read_at(stage, (int)arg[0]);
	Bijection map;
	if (!read || arg[1] < 0 || arg[1] >= read->argc ||
	    !derive_position(program->ctx, stage, read->arg[arg[1]], (int)arg[2], &map))
		return refuse(why, "the index is no sum of loops with this one once");
	return derive_substitute(program, stage, &map, why);
}

static void
list_reversals(const Lister *l, int read, int dim, const Linear *linear)
{
	(void)read;
	(void)dim;
	for (int i = 0; i < l->stage->nloop; i++)
		if (linear->factor[i] < 0)
			add(l, i, 0, 0);
}

static void
list_reverse(const Lister *l)
{
	each_window(l, list_reversals);
}

static Program *
apply_reverse(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	Bijection map;
	if (!derive_reverse(program->ctx, stage, (int)arg[0], &map))
		return refuse(why, "the stage has no such loop");
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
		if ((linear->factor[i] != 1 && linear->factor[i] != -1) || !extent_of(l->stage, i, &extent))
			continue;
		for (int k = -1; k < l->stage->nloop + l->stage->nreduce; k++) {
			int64_t factor = k < 0 ? linear->divisor : linear->factor[k];
			factor = factor < 0 ? -factor : factor;
			if (k != i && factor > 1 && factor <= MAX_FACTOR && factor < extent)
				add(l, i, factor, 0);
		}
	}
}

static void
list_split_loop(const Lister *l)
{
	each_window(l, list_splits);
}

static Program *
apply_split_loop(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	Bijection map;
	if (!derive_split(program->ctx, stage, (int)arg[0], arg[1], &map))
		return refuse(why, "the stage has no such loop");
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
		if (linear->factor[i] == 0 || !extent_of(l->stage, i, &extent) || extent > MAX_TERMS)
			continue;
		for (int64_t factor = 2; factor <= FEW && factor < extent; factor++)
			if (extent > FEW || is_stride(l, linear, factor))
				add(l, i, factor, 0);
	}
}

static void
list_split_terms(const Lister *l)
{
	each_window(l, list_term_splits);
}

static bool
has_stage(const Program *program, const Stage *stage)
{
	for (int s = 0; s < program->nstage; s++)
		if (program->stages[s] == stage)
			return true;
	return false;
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
		    !has_stage(program, made)) {
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
		return refuse(why, "the stage has no such iterator of a sum");
	const Program *next = relaxed(program, &stage, iter, arg[1], why);
	if (!next || !derive_split_terms(program->ctx, stage, iter, arg[1], &map))
		return NULL;
	return derive_substitute_sum(next, stage, &map, why);
}

static void
list_residue(const Lister *l)
{
	for (int k = 0; l->stage->kind == STAGE_reduce && l->stage->guard && k < l->stage->nreduce; k++)
		add(l, l->stage->nloop + k, 0, 0);
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
			add(l, i, read, 0);
}

static void
list_reverse_terms(const Lister *l)
{
	each_window(l, list_term_reversals);
}

static Program *
apply_reverse_terms(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	Bijection map;
	if (!derive_reverse_terms(program->ctx, stage, (int)arg[0], &map))
		return refuse(why, "the stage has no such iterator of a sum");
	return derive_substitute_sum(program, stage, &map, why);
}

/* ---- operands -------------------------------------------------------------------------------- */

static void
list_operand_splits(const Lister *l, int read, int dim, const Linear *linear)
{
	if (linear->divisor > 1)
		return;
	for (int i = 0; i < l->stage->nloop + l->stage->nreduce; i++) {
		int64_t factor = linear->factor[i] < 0 ? -linear->factor[i] : linear->factor[i];
		if (factor > 1 && factor <= MAX_FACTOR)
			add(l, read, dim, factor);
	}
}

static void
list_split_operand(const Lister *l)
{
	each_window(l, list_operand_splits);
}

static Program *
apply_split_operand(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	const Expr *read = stage_read_at(stage, (int)arg[0]);
	if (!read)
		return refuse(why, "the stage has no such read");
	return derive_split_operand(program, stage, read, (int)arg[1], arg[2], why);
}

static void
list_unfoldings(const Lister *l, int read, int dim, const Linear *linear)
{
	(void)dim;
	(void)linear;
	add(l, read, 0, 0);
}

static void
list_unfold(const Lister *l)
{
	each_window(l, list_unfoldings);
}

static Program *
apply_unfold(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	const Expr *read = stage_read_at(stage, (int)arg[0]);
	if (!read)
		return refuse(why, "the stage has no such read");
	return derive_unfold(program, stage, read, why);
}

/* The dims of the read, those that an iterator of the sum alone moves behind the others. Whether
 * that is another order. */
static bool
order_sum_last(const Stage *stage, const Expr *read, int *order)
{
	int count = 0;
	bool is_changed = false;
	for (int last = 0; last < 2; last++)
		for (int d = 0; d < read->argc; d++) {
			const Expr *index = read->arg[d];
			bool is_sum = index->op == EX_iter && index->iter >= stage->nloop;
			if (is_sum != (last == 1))
				continue;
			is_changed |= count != d;
			order[count++] = d;
		}
	return is_changed;
}

/* Whether lanes are filled by what the sum runs over, once it lies last. */
static bool
has_long_sum(const Stage *stage, const Expr *read)
{
	enum { LANES = 16 };
	int order[MAX_ITERS];
	int64_t extent, terms = 1;
	if (read->argc > MAX_ITERS || !order_sum_last(stage, read, order))
		return false;
	for (int d = 0; d < read->argc; d++) {
		const Expr *index = read->arg[d];
		if (index->op == EX_iter && index->iter >= stage->nloop)
			terms *= extent_of(stage, index->iter, &extent) ? extent : LANES;
	}
	return terms >= LANES;
}

/* The sizes of tiles that take the fewest products for `extent` values, at most ALGORITHMS. */
static void
add_algorithms(const Lister *l, int read, int dim, int64_t extent, int64_t taps)
{
	bool last = has_long_sum(l->stage, stage_read_at(l->stage, read));
	enum { ALGORITHMS = 3, POINTS = 8 };
	int64_t products[POINTS] = {0};
	for (int64_t m = 2; m + taps - 1 <= POINTS; m++)
		products[m] = (extent + m - 1) / m * (m + taps - 1);
	for (int k = 0; k < ALGORITHMS; k++) {
		int best = 0;
		for (int m = 2; m + taps - 1 <= POINTS; m++)
			if (products[m] && (!best || products[m] < products[best]))
				best = m;
		if (!best || products[best] >= extent * taps)
			return;
		products[best] = 0;
		add_last(l, read, dim, best, last);
	}
}

static void
list_algorithms(const Lister *l, int read, int dim, const Linear *linear)
{
	enum { ANY = 1000 }; /* an extent that is known when it runs */
	int64_t taps, extent;
	int tap = -1, loop = -1;
	for (int i = 0; i < l->stage->nloop + l->stage->nreduce; i++)
		if (linear->factor[i] != 0)
			*(i < l->stage->nloop ? &loop : &tap) = i;
	if (linear->divisor > 1 || linear->count != 2 || loop < 0 || tap < 0 ||
	    linear->factor[loop] != 1 || linear->factor[tap] != 1 || !extent_of(l->stage, tap, &taps) ||
	    taps < 2)
		return;
	add_algorithms(l, read, dim, extent_of(l->stage, loop, &extent) ? extent : ANY, taps);
}

static void
list_bilinear(const Lister *l)
{
	each_window(l, list_algorithms);
}

/* The loop and the tap that move the dim. */
static bool
find_window(const Stage *stage, const Expr *read, int dim, int *loop, int *tap)
{
	Linear linear;
	*loop = *tap = -1;
	if (dim < 0 || dim >= read->argc || !linear_of(stage, read->arg[dim], &linear))
		return false;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		if (linear.factor[i] != 0)
			*(i < stage->nloop ? loop : tap) = i;
	return linear.count == 2 && *loop >= 0 && *tap >= 0;
}

/* The factor stored with the sum's dims last; *stage, *read and *dim are what they are then. */
static const Program *
store_last(const Program *program, const Stage **stage, const Expr **read, int *dim, Reason *why)
{
	int order[MAX_ITERS], at = 0;
	if ((*read)->argc > MAX_ITERS || !order_sum_last(*stage, *read, order))
		return program;
	const Program *next = derive_permute_operand(program, *stage, *read, order, why);
	while (order[at] != *dim)
		at++;
	*dim = at;
	for (int s = 0; next && s < next->nstage; s++) {
		*stage = next->stages[s];
		if (has_stage(program, *stage) || !stage_is_product(*stage))
			continue;
		for (int k = 0; (*read = stage_read_at(*stage, k)); k++)
			if ((*read)->tensor->stage && !has_stage(program, (*read)->tensor->stage))
				return next;
	}
	return NULL;
}

static Program *
apply_bilinear(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	const Expr *read = stage_read_at(stage, (int)arg[0]);
	int loop, tap, dim = (int)arg[1];
	if (!read || !find_window(stage, read, dim, &loop, &tap))
		return refuse(why, "the stage has no such window");
	if (arg[3])
		program = store_last(program, &stage, &read, &dim, why);
	return program ? derive_bilinear(program, stage, read, dim, loop, tap, arg[2], why) : NULL;
}

/* ---- several products ------------------------------------------------------------------------ */

/* From the first of those that have the factor; of equal boxes, where they share none. */
static void
list_merge_products(const Lister *l)
{
	bool is_behind = false, shares[2] = {false}, is_alike = false;
	for (int s = 0; stage_is_product(l->stage) && s < l->program->nstage; s++) {
		const Stage *other = l->program->stages[s];
		if (is_behind && stage_is_product(other)) {
			is_alike |= stage_same_loops(other, l->stage);
			for (int f = 0; f < 2; f++)
				shares[f] |= expr_reads(other->body[0], stage_read_at(l->stage, f)->tensor);
		}
		is_behind |= other == l->stage;
	}
	for (int f = 0; f < 2; f++)
		if (shares[f])
			add(l, f, 0, 0);
	if (is_alike && !shares[0] && !shares[1])
		add(l, -1, 0, 0);
}

static Program *
apply_merge_products(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	return derive_merge_products(program, stage, (int)arg[0], why);
}

/* ---- boxes, merging -------------------------------------------------------------------------- */

static void
list_tighten(const Lister *l)
{
	add(l, 0, 0, 0);
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
	add(l, 0, 0, 0);
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

void
rule_list(RuleSteps *steps, RuleCode rule, const Program *program, int stage)
{
	Lister lister = {steps, program, program->stages[stage], {.rule = rule, .stage = stage}, NULL};
	if (lister.stage->nloop + lister.stage->nreduce <= MAX_ITERS)
		actions[rule].list(&lister);
}

Program *
rule_apply(const Program *program, const RuleStep *step, Reason *why)
{
	if (step->stage < 0 || step->stage >= program->nstage)
		return refuse(why, "the program has no such stage");
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
