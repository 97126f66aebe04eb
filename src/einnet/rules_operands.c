/* Rules that store factors in other layouts, and bilinear algorithms. */
#include "einnet/rules_inner.h"

/* ---- operands -------------------------------------------------------------------------------- */

static void
list_operand_splits(const Lister *l, int read, int dim, const Linear *linear)
{
	if (linear->divisor > 1)
		return;
	for (int i = 0; i < l->stage->nloop + l->stage->nreduce; i++) {
		int64_t factor = linear->factor[i] < 0 ? -linear->factor[i] : linear->factor[i];
		if (factor > 1 && factor <= RULE_FACTOR)
			rule_add(l, read, dim, factor);
	}
}

void
list_split_operand(const Lister *l)
{
	rule_each_window(l, list_operand_splits);
}

Program *
apply_split_operand(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	const Expr *read = stage_read_at(stage, (int)arg[0]);
	if (!read)
		return derive_refuse(why, "the stage has no such read");
	return derive_split_operand(program, stage, read, (int)arg[1], arg[2], why);
}

static void
list_unfoldings(const Lister *l, int read, int dim, const Linear *linear)
{
	(void)dim;
	(void)linear;
	rule_add(l, read, 0, 0);
}

void
list_unfold(const Lister *l)
{
	rule_each_window(l, list_unfoldings);
}

Program *
apply_unfold(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	const Expr *read = stage_read_at(stage, (int)arg[0]);
	if (!read)
		return derive_refuse(why, "the stage has no such read");
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
	int order[RULE_ITERS];
	int64_t extent, terms = 1;
	if (read->argc > RULE_ITERS || !order_sum_last(stage, read, order))
		return false;
	for (int d = 0; d < read->argc; d++) {
		const Expr *index = read->arg[d];
		if (index->op == EX_iter && index->iter >= stage->nloop)
			terms *= rule_extent(stage, index->iter, &extent) ? extent : LANES;
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
		rule_add_last(l, read, dim, best, last);
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
	    linear->factor[loop] != 1 || linear->factor[tap] != 1 ||
	    !rule_extent(l->stage, tap, &taps) || taps < 2)
		return;
	add_algorithms(l, read, dim, rule_extent(l->stage, loop, &extent) ? extent : ANY, taps);
}

void
list_bilinear(const Lister *l)
{
	rule_each_window(l, list_algorithms);
}

/* The loop and the tap that move the dim. */
static bool
find_window(const Stage *stage, const Expr *read, int dim, int *loop, int *tap)
{
	Linear linear;
	*loop = *tap = -1;
	if (dim < 0 || dim >= read->argc || !rule_linear(stage, read->arg[dim], &linear))
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
	int order[RULE_ITERS], at = 0;
	if ((*read)->argc > RULE_ITERS || !order_sum_last(*stage, *read, order))
		return program;
	const Program *next = derive_permute_operand(program, *stage, *read, order, why);
	while (order[at] != *dim)
		at++;
	*dim = at;
	for (int s = 0; next && s < next->nstage; s++) {
		*stage = next->stages[s];
		if (program_has_stage(program, *stage) || !stage_is_product(*stage))
			continue;
		for (int k = 0; (*read = stage_read_at(*stage, k)); k++)
			if ((*read)->tensor->stage && !program_has_stage(program, (*read)->tensor->stage))
				return next;
	}
	return NULL;
}

Program *
apply_bilinear(const Program *program, const Stage *stage, const int64_t *arg, Reason *why)
{
	const Expr *read = stage_read_at(stage, (int)arg[0]);
	int loop, tap, dim = (int)arg[1];
	if (!read || !find_window(stage, read, dim, &loop, &tap))
		return derive_refuse(why, "the stage has no such window");
	if (arg[3])
		program = store_last(program, &stage, &read, &dim, why);
	return program ? derive_bilinear(program, stage, read, dim, loop, tap, arg[2], why) : NULL;
}
