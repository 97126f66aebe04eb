/* demands_learn: rooms (rooms.h) at a few sizes, as sums over symbols.
 *
 *     past 2, seq 3:  59 left of 64 rows      past 3: 58      seq 4: 58
 *     64 - past - seq  >=  0                  another size: as that says
 *
 * Symbols may move one by one, or those of batches together: a mask that is laid out in rows again
 * (batch*total / batch2) says something only where both batches are the same.
 */
#include "driver/sizes/learn.h"

#include <limits.h>

#include "driver/sizes/axes.h"
#include "driver/sizes/sizes.h"
#include "expr/index/poly.h"
#include "expr/scalar/ctx.h"

enum {
	SYMBOLS = 64, /* a model with more is not asked */
	BENT = 8,     /* axes of which products are looked for */
	DISTANT = 29, /* how much further something may begin or end */
};

typedef struct Learner {
	Arena *arena, *scratch; /* `scratch` goes at the end */
	const Graph *graph;
	Rooms *rooms;
	VEC(const Symbol *) groups; /* what moves: a symbol, or the first of some that do together */
	int *group_of;              /* by Symbol.id; -1: does not move */
	Divisors divisors;
	Axes axes; /* of all groups */
	const Binding *sizes;
	bool *is_said; /* per check: whether it was a sum already, or can be none */
	const Binding *fixed;
	const Region *region; /* that shall run */
	Learnt found;
} Learner;

/* ---- sizes ---- */

/* Whether the symbol is the first dim of an input that has more: a batch. */
static bool
is_batch(const Graph *graph, const Symbol *symbol)
{
	for (int i = 0; i < graph->body->nparam; i++) {
		const Type *type = &graph->body->params[i]->type;
		if (type->rank > 1 && type->dims[0]->op == EX_symbol && type->dims[0]->symbol == symbol)
			return true;
	}
	return false;
}

static void
make_groups(Learner *l, bool joins_batches)
{
	int batch = -1;
	l->groups.count = 0;
	for (int i = 0; i < l->rooms->symbols.count; i++) {
		const Symbol *symbol = l->rooms->symbols.data[i];
		bool is_joined = joins_batches && is_batch(l->graph, symbol);
		int group = is_joined && batch >= 0 ? batch : l->groups.count;
		if (group == l->groups.count)
			vec_push(l->scratch, &l->groups, symbol);
		l->group_of[symbol->id] = group;
		batch = is_joined ? group : batch;
	}
}

static Axes
axes_in(const Learner *l, int group, bool is_divided)
{
	return symbol_axes(l->scratch, l->graph->ctx, is_divided ? &l->divisors : NULL,
	                   l->groups.data[group]);
}

/* Sizes near those of the groups. */
static const Binding *
sizes_near(const Learner *l, const int64_t *size)
{
	int count = l->graph->ctx->symbol_list.count;
	Binding wanted = {count, NEW_N(l->scratch, int64_t, count + 1),
	                  NEW_N(l->scratch, bool, count + 1)};
	for (int i = 0; i < count; i++)
		((int64_t *)(uintptr_t)wanted.value)[i] = l->group_of[i] < 0 ? 1 : size[l->group_of[i]];
	return sizes_in(l->scratch, l->graph, l->region, &l->found.demands, &wanted, l->fixed);
}

/* Small sizes that differ, so that what depends on one symbol does not look as if it did on
 * another, and that leave the axes room: also where demands have moved them once. */
static const Binding *
apart(const Learner *l)
{
	const Binding *sizes = NULL;
	int64_t *size = NEW_N(l->scratch, int64_t, l->groups.count + 1);
	for (int turn = 0; turn < 2; turn++) {
		for (int g = 0; g < l->groups.count; g++) {
			Axes axes = axes_in(l, g, true);
			size[g] = axes_level(&axes, sizes ? sizes->value[l->groups.data[g]->id] : 2 + g);
		}
		sizes = sizes_near(l, size);
	}
	return sizes;
}

/* The axes of all groups at the sizes. */
static void
make_axes(Learner *l)
{
	l->axes.count = 0;
	for (int g = 0; g < l->groups.count; g++) {
		Axes axes = axes_in(l, g, true);
		int64_t size = l->sizes->value[l->groups.data[g]->id];
		if (axes_level(&axes, size) != size)
			axes = axes_in(l, g, false);
		for (int k = 0; k < axes.count; k++)
			vec_push(l->scratch, &l->axes, axes.data[k]);
	}
}

/* What there was at some sizes. */
typedef struct Seen {
	Binding at;
	const Room *rooms;
} Seen;

/* With each group so much larger. */
static Seen
observe(Learner *l, const int64_t *more)
{
	Binding at = *l->sizes;
	int64_t *value = arena_memdup(l->scratch, at.value, (size_t)at.count * sizeof *value);
	for (int i = 0; i < at.count; i++)
		value[i] += l->group_of[i] < 0 ? 0 : more[l->group_of[i]];
	at.value = value;
	return (Seen){at, rooms_at(l->rooms, &at)};
}

/* With two axes a step further; -1: none. */
static Seen
observe_two(Learner *l, int first, int second)
{
	const int moved[] = {first, second};
	int64_t *more = NEW_N(l->scratch, int64_t, l->groups.count + 1);
	for (int i = 0; i < (int)countof(moved); i++) {
		const Axis *axis = moved[i] < 0 ? NULL : &l->axes.data[moved[i]];
		if (axis)
			more[l->group_of[axis->symbol->id]] += axis->step;
	}
	return observe(l, more);
}

/* ---- sums over symbols ---- */

/* Rooms as sums over how far each axis is from `sizes`, d, by what is seen a step from there:
 *
 *     constant + sum slope[i]*d[i] + sum bend[i,k]*d[i]*d[k]
 *
 * where of an axis with itself d*(d-1)/2 stands. Each term is 1 where it is measured and 0 at all
 * sizes before, so that what is seen there beside the sum so far is its factor. Bends are of few
 * axes: an index into several dims at once has some (batch*total + position). */
typedef struct Fit {
	const Dim **sums; /* one for each check; NULL: it is none */
	Seen uneven[3];   /* sizes at which no two terms cancel: more than one, since one may fit by
	                   * chance, and a distant one, since some things begin or end */
} Fit;

static const Dim *
distance(const Learner *l, int axis)
{
	int64_t from = 0;
	const Dim *at = l->axes.data[axis].at;
	dim_eval(at, l->sizes, &from);
	return dim_add_i64(l->graph->ctx, at, -from);
}

/* The term of these axes; -1: of none. Without the first terms a sum is none; a bend that cannot be
 * seen is taken for 0. */
static void
add_term(Learner *l, Fit *fit, int i, int k)
{
	ExprCtx *ctx = l->graph->ctx;
	Seen seen = observe_two(l, i, k);
	const Dim *one = dim_const(ctx, 1), *x = i < 0 ? one : distance(l, i);
	const Dim *y = k < 0 ? one : i == k ? dim_sub(ctx, x, one) : distance(l, k);
	for (int c = 0; c < l->rooms->checks.count; c++) {
		const Dim **sum = &fit->sums[c];
		int64_t left, square = i == k && i >= 0 ? 2 : 1;
		if (!seen.rooms[c].is_known && k < 0)
			*sum = NULL;
		if (!*sum || !seen.rooms[c].is_known || !dim_eval(*sum, &seen.at, &left))
			continue;
		int64_t more = seen.rooms[c].left - left;
		const Dim *term = dim_mul_i64(ctx, dim_mul(ctx, x, y), more / square);
		*sum = more % square ? NULL : dim_add(ctx, *sum, term);
	}
}

static bool
is_as_observed(const Fit *fit, int check)
{
	const Dim *sum = fit->sums[check];
	bool is_seen = false;
	for (int t = 0; t < (int)countof(fit->uneven) && sum; t++) {
		const Room *room = &fit->uneven[t].rooms[check];
		int64_t left;
		if (room->is_known && (!dim_eval(sum, &fit->uneven[t].at, &left) || left != room->left))
			return false;
		is_seen = is_seen || room->is_known;
	}
	return is_seen;
}

static bool
depends_on(const Dim *sum, const Symbol *symbol)
{
	for (ExprWalk walk = expr_walk(sum); expr_step(&walk);)
		if (walk.e->op == EX_symbol && walk.e->symbol == symbol)
			return true;
	return false;
}

/* What the rooms around the sizes are as sums, with bends along the axes on which a check depends
 * that is no plain sum. */
static Fit
fit_sums(Learner *l)
{
	static const int primes[] = {3, 5, 2, 7, 11, 13};
	int count = l->axes.count, ngroup = l->groups.count, nchecks = l->rooms->checks.count,
		nbent = 0, bent[BENT];
	Fit fit = {.sums = NEW_N(l->scratch, const Dim *, nchecks + 1)};
	int64_t *more = NEW_N(l->scratch, int64_t, ngroup + 1);
	for (int c = 0; c < nchecks; c++)
		fit.sums[c] = dim_const(l->graph->ctx, 0);
	for (int i = -1; i < count; i++)
		add_term(l, &fit, i, -1);
	for (int t = 0; t < (int)countof(fit.uneven); t++) {
		for (int g = 0; g < ngroup; g++)
			more[g] = t == 0   ? 1 + g % 3
			          : t == 1 ? primes[(g + 1) % (int)countof(primes)]
			                   : DISTANT + 2 * g;
		fit.uneven[t] = observe(l, more);
	}
	for (int i = 0; i < count; i++) {
		bool is_bent = false;
		for (int c = 0; c < nchecks && !is_bent; c++)
			is_bent = fit.sums[c] && depends_on(fit.sums[c], l->axes.data[i].symbol) &&
			          !is_as_observed(&fit, c);
		if (is_bent && nbent < BENT)
			bent[nbent++] = i;
	}
	for (int i = 0; i < nbent; i++)
		for (int k = i; k < nbent; k++)
			if (i != k || l->axes.data[bent[i]].most > 1)
				add_term(l, &fit, bent[i], bent[k]);
	return fit;
}

/* a <= b, or a == b, where b - a is what is left. */
static Demand
demand_of(const Check *check, const Dim *left)
{
	const Expr *sides[2] = {left, dim_const(left->ctx, 0)};
	Poly sum;
	if (poly_of(left, &sum))
		poly_split_signs(left->ctx, &sum, sides);
	return (Demand){sides[1], sides[0], check->a != NULL, check->region, check->loc};
}

static bool
is_new(const Demands *found, const Demand *demand)
{
	for (int i = 0; i < found->count; i++)
		if (found->data[i].a == demand->a && found->data[i].b == demand->b)
			return false;
	return true;
}

/* Whether it says nothing of sizes, or nothing that some would not satisfy: what is left never
 * shrinks, and is there at the least sizes. */
static bool
is_idle(const Check *check, const Dim *left)
{
	Poly sum;
	int64_t least = 0;
	if (dim_is_const(left, &least))
		return true;
	if (check->a || !poly_of(left, &sum))
		return false;
	for (int i = 0; i < sum.count; i++) {
		const Term *term = &sum.term[i];
		int64_t value = term->coef;
		for (int k = 0; k < term->natom; k++) {
			int64_t lo, hi;
			dim_range(term->atom[k], &lo, &hi);
			if (lo < 0)
				return false;
			value *= lo;
		}
		if (term->natom > 0 && term->coef < 0)
			return false;
		least += value;
	}
	return least >= 0;
}

static bool
add_demand(Learner *l, Demand demand)
{
	if (!is_new(&l->found.demands, &demand))
		return false;
	vec_push(l->arena, &l->found.demands, demand);
	return true;
}

/* Sizes that moved together must be the same. */
static void
add_joined(Learner *l, const Check *check)
{
	for (int i = 0; i < l->rooms->symbols.count; i++) {
		const Symbol *symbol = l->rooms->symbols.data[i];
		const Symbol *first = l->groups.data[l->group_of[symbol->id]];
		if (symbol != first)
			add_demand(l, (Demand){dim_symbol(l->graph->ctx, first->name),
			                       dim_symbol(l->graph->ctx, symbol->name), true, check->region,
			                       check->loc});
	}
}

/* Demands that rooms around some sizes show; whether one is new. */
static bool
find_demands(Learner *l, bool joins_batches)
{
	bool has_new = false;
	make_groups(l, joins_batches);
	l->sizes = apart(l);
	make_axes(l);
	Fit fit = fit_sums(l);
	for (int c = 0; c < l->rooms->checks.count; c++) {
		const Check *check = &l->rooms->checks.data[c];
		if (l->is_said[c] || !is_as_observed(&fit, c))
			continue;
		l->is_said[c] = true;
		if (is_idle(check, fit.sums[c]))
			continue;
		if (joins_batches)
			add_joined(l, check);
		has_new |= add_demand(l, demand_of(check, fit.sums[c]));
	}
	return has_new;
}

/* ---- what inputs hold ---- */

/* Whether a check is come to where the learner's region runs; of what takes a branch whether the
 * region lies in that. */
static bool
matters(const Learner *l, const Check *check)
{
	if (!check->is_choice)
		return !regions_are_exclusive(check->region, l->region);
	const Region *r = l->region;
	while (r && r != check->region)
		r = r->parent;
	return r != NULL;
}

/* Checks that fail, or are not come to, with these values. */
static int
failing(Learner *l, const InputRanges *made_up)
{
	int count = 0;
	l->rooms->made_up = made_up;
	const Room *rooms = observe_two(l, -1, -1).rooms;
	l->rooms->made_up = NULL;
	for (int c = 0; c < l->rooms->checks.count; c++) {
		const Check *check = &l->rooms->checks.data[c];
		bool holds = rooms[c].is_known && (check->a ? rooms[c].left == 0 : rooms[c].left >= 0);
		count += matters(l, check) && !holds;
	}
	return count;
}

/* An input whose values make checks fail as they are made up holds the largest, or 0, if fewer do
 * then: a mask that is counted, and must be 1 everywhere. So does what takes the branch that shall
 * run, however it is made up. Returns how many fail. */
static int
mend_values(Learner *l, InputRanges *found)
{
	InputRanges best = input_ranges(l->scratch, l->graph, l->sizes, NULL);
	int least = failing(l, &best);
	bool is_taken = region_branch(l->region) != NULL;
	const Region *body = l->graph->body;
	for (int i = 0; i < body->nparam && (least > 0 || is_taken); i++) {
		const Value *input = body->params[i];
		DType type = input->type.kind == TYPE_TENSOR ? input->type.dtype : DT_NONE;
		if (!dtype_is_integer(type) && type != DT_BOOL)
			continue;
		InputRange most = {input->name, 2, NULL, 0};
		input_range_at(&best, input->name, l->sizes, &most);
		InputRange tried[2] = {{input->name, most.extent, NULL, most.extent - 1},
		                       {input->name, 1, NULL, 0}};
		InputRanges with[2] = {{0}, {0}};
		int failed[2];
		for (int k = 0; k < 2; k++) {
			input_ranges_add(l->scratch, &with[k], &best);
			input_ranges_add(l->scratch, &with[k], &(InputRanges){.count = 1, .data = &tried[k]});
			failed[k] = failing(l, &with[k]);
		}
		int k = failed[1] < failed[0];
		if (failed[k] > least || (failed[k] == least && !(is_taken && failed[0] != failed[1])))
			continue;
		least = failed[k];
		best = with[k];
		vec_push(l->arena, found, tried[k]);
	}
	return least;
}

/* A run for each region that needs sizes of its own. */
static void
find_runs(Learner *l)
{
	const Region *regions[MOST_RUNS];
	int least = INT_MAX;
	Learnt *found = &l->found;
	make_groups(l, false);
	int count = sizes_regions(l->scratch, l->graph, &found->demands, l->fixed, regions);
	for (int i = 0; i < count; i++) {
		InputRanges values = {0};
		l->region = regions[i];
		l->sizes = apart(l);
		int failed = mend_values(l, &values);
		int at = failed < least ? 0 : i;
		found->runs[i] = found->runs[at];
		found->runs[at].region = l->region;
		found->runs[at].values = values;
		found->nrun++;
		least = failed < least ? failed : least;
	}
}

/* ---- all ---- */

static void
learn(void *arg)
{
	Learner *l = arg;
	l->rooms = rooms_new(l->scratch, l->graph);
	int nsymbol = l->rooms->symbols.count, nchecks = l->rooms->checks.count;
	if (nsymbol > SYMBOLS || nchecks == 0)
		return;
	l->is_said = NEW_N(l->scratch, bool, nchecks + 1);
	for (int c = 0; c < nchecks; c++)
		l->is_said[c] = l->rooms->checks.data[c].is_choice;
	l->divisors = divisors_of(l->scratch, l->rooms);
	l->group_of = NEW_N(l->scratch, int, l->graph->ctx->symbol_list.count + 1);
	for (int i = 0; i < l->graph->ctx->symbol_list.count; i++)
		l->group_of[i] = -1;
	/* What one demand hides another may ask: a node behind a check that fails. Checks are finite,
	 * and so is the work that rooms do. */
	while (nsymbol > 0 && (find_demands(l, false) || find_demands(l, true)))
		;
	find_runs(l);
}

Learnt
demands_learn(Arena *arena, const Graph *graph, const Binding *fixed)
{
	Failure failure;
	Learner l = {.arena = arena, .scratch = arena_new("demands"), .graph = graph, .fixed = fixed};
	try_run(learn, &l, &failure); /* where that fails, what was learnt is known all the same */
	arena_free(l.scratch);
	return l.found;
}
