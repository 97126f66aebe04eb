/* demands_learn: rooms (rooms.h) at a few sizes, as sums over symbols.
 *
 *     past 2, seq 3:  59 left of 64 rows      past 3: 58      seq 4: 58
 *     64 - past - seq  >=  0                  another size: as that says
 *
 * Symbols may move one by one, or those of batches together: a mask that is laid out in rows again
 * (batch*total / batch2) says something only where both batches are the same.
 */
#include "cli/demands.h"

#include <limits.h>

#include "cli/rooms.h"
#include "cli/sizes.h"
#include "expr/scalar/ctx.h"

enum {
	ROUNDS = 4,   /* what one demand hides another may ask: a node behind a check that fails */
	SYMBOLS = 64, /* a model with more is not asked */
	BENT = 8,     /* symbols of which products are looked for */
};

/* What moves: a symbol, or some together, which have the same size. */
typedef struct Axis {
	const Symbol *symbol; /* the first of it */
	int count;
} Axis;

typedef struct Learner {
	Arena *arena, *scratch; /* `scratch` goes at the end */
	const Graph *graph;
	Rooms *rooms;
	VEC(Axis) axes;
	int *axis_of; /* by Symbol.id; -1: does not move */
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
make_axes(Learner *l, bool joins_batches)
{
	int batch = -1;
	l->axes.count = 0;
	for (int i = 0; i < l->rooms->symbols.count; i++) {
		const Symbol *symbol = l->rooms->symbols.data[i];
		bool is_joined = joins_batches && is_batch(l->graph, symbol);
		int axis = is_joined && batch >= 0 ? batch : l->axes.count;
		if (axis == l->axes.count)
			vec_push(l->scratch, &l->axes, (Axis){symbol, 0});
		l->axes.data[axis].count++;
		l->axis_of[symbol->id] = axis;
		batch = is_joined ? axis : batch;
	}
}

/* Small sizes that differ, so that what depends on one symbol does not look as if it did on
 * another. */
static const Binding *
apart(Learner *l)
{
	int count = l->graph->ctx->symbol_list.count;
	Binding wanted = {count, NEW_N(l->scratch, int64_t, count + 1),
	                  NEW_N(l->scratch, bool, count + 1)};
	for (int i = 0; i < count; i++)
		((int64_t *)(uintptr_t)wanted.value)[i] = 2 + l->axis_of[i];
	return sizes_in(l->scratch, l->graph, l->region, &l->found.demands, &wanted, l->fixed);
}

/* The rooms at the sizes with each axis so many steps further. */
static const Room *
observe(Learner *l, const int64_t *steps)
{
	Binding more = *l->sizes;
	int64_t *value = arena_memdup(l->scratch, more.value, (size_t)more.count * sizeof *value);
	for (int i = 0; i < more.count; i++)
		value[i] += l->axis_of[i] < 0 ? 0 : steps[l->axis_of[i]];
	more.value = value;
	return rooms_at(l->rooms, &more);
}

/* With two of them a step further; -1: none. */
static const Room *
observe_two(Learner *l, int first, int second)
{
	int64_t *steps = NEW_N(l->scratch, int64_t, l->axes.count + 1);
	for (int i = 0; i < l->axes.count; i++)
		steps[i] = (i == first) + (i == second);
	return observe(l, steps);
}

/* ---- sums over symbols ---- */

/* A room as a sum, by differences from its value at `sizes`:
 *
 *     room(sizes + d) = constant + sum slope[i]*d[i] + sum bend[i,k]*d[i]*d[k]
 *
 * where of a symbol with itself d*(d-1)/2 stands. Bends are of few symbols: an index into several
 * dims at once has some (batch*total + position). */
typedef struct Sum {
	int64_t constant, *slope, *bend; /* bend: [count,count], i <= k */
	bool is_known;
} Sum;

static int64_t
size_at(const Learner *l, int axis)
{
	return l->sizes->value[l->axes.data[axis].symbol->id];
}

/* Uneven steps, in which no two terms cancel; two of them, since one may fit by chance. */
enum { TRIALS = 2 };

static int64_t
uneven(int trial, int axis)
{
	static const int primes[] = {3, 5, 2, 7, 11, 13};
	return trial == 0 ? 1 + axis % 3 : primes[(axis + 1) % (int)countof(primes)];
}

static void
observe_uneven(Learner *l, const Room *seen[TRIALS])
{
	int64_t *steps = NEW_N(l->scratch, int64_t, l->axes.count + 1);
	for (int t = 0; t < TRIALS; t++) {
		for (int i = 0; i < l->axes.count; i++)
			steps[i] = uneven(t, i);
		seen[t] = observe(l, steps);
	}
}

static bool
is_as_observed(const Learner *l, const Sum *sum, int check, const Room *const seen[TRIALS])
{
	int count = l->axes.count;
	bool is_seen = false;
	for (int t = 0; t < TRIALS; t++) {
		int64_t room = sum->constant;
		for (int i = 0; i < count; i++) {
			int64_t d = uneven(t, i);
			room += sum->slope[i] * d + sum->bend[i * count + i] * d * (d - 1) / 2;
			for (int k = i + 1; k < count; k++)
				room += sum->bend[i * count + k] * d * uneven(t, k);
		}
		if (seen[t][check].is_known && room != seen[t][check].left)
			return false;
		is_seen = is_seen || seen[t][check].is_known;
	}
	return sum->is_known && is_seen;
}

/* The same sum with symbols instead of steps: constant + slope[i]*x[i] + bend[i,k]*x[i]*x[k]. */
static bool
expand(const Learner *l, Sum *sum)
{
	int count = l->axes.count;
	for (int i = 0; i < count; i++)
		sum->constant -= sum->slope[i] * size_at(l, i);
	for (int i = 0; i < count; i++) {
		int64_t x = size_at(l, i), *square = &sum->bend[i * count + i];
		if (*square % 2 != 0)
			return false;
		*square /= 2;
		sum->slope[i] -= *square * (2 * x + 1);
		sum->constant += *square * x * (x + 1);
		for (int k = i + 1; k < count; k++) {
			int64_t bend = sum->bend[i * count + k], y = size_at(l, k);
			sum->slope[i] -= bend * y;
			sum->slope[k] -= bend * x;
			sum->constant += bend * x * y;
		}
	}
	return true;
}

/* Add a term to the side of the demand on which it is positive. */
static void
add_term(ExprCtx *ctx, Demand *demand, int64_t factor, const Dim *of)
{
	const Dim **side = factor < 0 ? &demand->a : &demand->b;
	if (factor)
		*side = dim_add(ctx, *side, dim_mul_i64(ctx, of, factor < 0 ? -factor : factor));
}

/* a <= b, or a == b, where b - a is what is left. */
static Demand
demand_of(const Learner *l, const Check *check, const Sum *sum)
{
	ExprCtx *ctx = l->graph->ctx;
	int count = l->axes.count;
	const Dim *none = dim_const(ctx, 0);
	Demand demand = {none, none, check->a != NULL, check->region, check->loc};
	for (int i = 0; i < count; i++) {
		const Dim *x = dim_symbol(ctx, l->axes.data[i].symbol->name);
		add_term(ctx, &demand, sum->slope[i], x);
		for (int k = i; k < count; k++)
			if (sum->bend[i * count + k])
				add_term(ctx, &demand, sum->bend[i * count + k],
				         dim_mul(ctx, x, dim_symbol(ctx, l->axes.data[k].symbol->name)));
	}
	add_term(ctx, &demand, sum->constant, dim_const(ctx, 1));
	return demand;
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
is_idle(const Learner *l, const Check *check, const Sum *sum)
{
	int count = l->axes.count;
	bool is_flat = true;
	int64_t least = sum->constant;
	for (int i = 0; i < count; i++) {
		int64_t lo = l->axes.data[i].symbol->lo;
		least += sum->slope[i] * lo;
		is_flat = is_flat && sum->slope[i] == 0;
		for (int k = i; k < count; k++) {
			is_flat = is_flat && sum->bend[i * count + k] == 0;
			least += sum->bend[i * count + k] * lo * l->axes.data[k].symbol->lo;
		}
		for (int k = 0; k < count * count && !check->a; k++)
			least = sum->slope[i] < 0 || sum->bend[k] < 0 ? -1 : least;
	}
	return is_flat || (!check->a && least >= 0);
}

static Sum *
slopes(Learner *l)
{
	int count = l->axes.count, nchecks = l->rooms->checks.count;
	Sum *sums = NEW_N(l->scratch, Sum, nchecks + 1);
	const Room *here = observe_two(l, -1, -1);
	for (int c = 0; c < nchecks; c++)
		sums[c] = (Sum){here[c].left, NEW_N(l->scratch, int64_t, count + 1),
		                NEW_N(l->scratch, int64_t, count * count + 1), here[c].is_known};
	for (int i = 0; i < count; i++) {
		const Room *more = observe_two(l, i, -1);
		for (int c = 0; c < nchecks; c++) {
			sums[c].slope[i] = more[c].left - here[c].left;
			sums[c].is_known = sums[c].is_known && more[c].is_known;
		}
	}
	return sums;
}

/* Second differences along the axes on which a check depends that is no plain sum. */
static void
bends(Learner *l, Sum *sums, const Room *const seen[TRIALS])
{
	int count = l->axes.count, nbent = 0, bent[BENT];
	for (int i = 0; i < count; i++) {
		bool is_bent = false;
		for (int c = 0; c < l->rooms->checks.count; c++)
			is_bent = is_bent || (sums[c].is_known && sums[c].slope[i] &&
			                      !is_as_observed(l, &sums[c], c, seen));
		if (is_bent && nbent < BENT)
			bent[nbent++] = i;
	}
	for (int i = 0; i < nbent; i++)
		for (int k = i; k < nbent; k++) {
			const Room *both = observe_two(l, bent[i], bent[k]);
			for (int c = 0; c < l->rooms->checks.count; c++) {
				const int64_t *slope = sums[c].slope;
				if (both[c].is_known)
					sums[c].bend[bent[i] * count + bent[k]] =
						both[c].left - sums[c].constant - slope[bent[i]] - slope[bent[k]];
			}
		}
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
		const Symbol *first = l->axes.data[l->axis_of[symbol->id]].symbol;
		if (symbol != first)
			add_demand(l, (Demand){dim_symbol(l->graph->ctx, first->name),
			                       dim_symbol(l->graph->ctx, symbol->name), true, check->region,
			                       check->loc});
	}
}

/* What the rooms around some sizes are as sums, where they are; whether one is new. */
static bool
fit(Learner *l, bool joins_batches)
{
	bool has_new = false;
	const Room *seen[TRIALS];
	make_axes(l, joins_batches);
	l->sizes = apart(l);
	Sum *sums = slopes(l);
	observe_uneven(l, seen);
	bends(l, sums, seen);
	for (int c = 0; c < l->rooms->checks.count; c++) {
		const Check *check = &l->rooms->checks.data[c];
		if (l->is_said[c] || !is_as_observed(l, &sums[c], c, seen) || !expand(l, &sums[c]))
			continue;
		l->is_said[c] = true;
		if (is_idle(l, check, &sums[c]))
			continue;
		if (joins_batches)
			add_joined(l, check);
		has_new |= add_demand(l, demand_of(l, check, &sums[c]));
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
	const Room *rooms = observe_two(l, -1, -1);
	l->rooms->made_up = NULL;
	for (int c = 0; c < l->rooms->checks.count; c++) {
		const Check *check = &l->rooms->checks.data[c];
		bool holds = rooms[c].is_known && (check->a ? rooms[c].left == 0 : rooms[c].left >= 0);
		count += matters(l, check) && !holds;
	}
	return count;
}

/* Checks that fail where an input holds nothing but this. */
static int
failing_with(Learner *l, const InputRanges *ranges, const InputRange *one, InputRanges *tried)
{
	const InputRanges more = {.count = 1, .data = (InputRange *)(uintptr_t)one};
	*tried = (InputRanges){0};
	input_ranges_add(l->scratch, tried, ranges);
	input_ranges_add(l->scratch, tried, &more);
	return failing(l, tried);
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
		InputRange range = {input->name, 2, NULL, 0};
		DType type = input->type.kind == TYPE_TENSOR ? input->type.dtype : DT_NONE;
		if (!dtype_is_integer(type) && type != DT_BOOL)
			continue;
		input_range_at(&best, input->name, l->sizes, &range);
		InputRanges with_most, with_zero;
		InputRange most = {input->name, range.extent, NULL, range.extent - 1};
		InputRange zero = {input->name, 1, NULL, 0};
		int by_most = failing_with(l, &best, &most, &with_most);
		int by_zero = failing_with(l, &best, &zero, &with_zero);
		bool is_zero = by_zero < by_most;
		int failed = is_zero ? by_zero : by_most;
		if (failed > least || (failed == least && !(is_taken && by_zero != by_most)))
			continue;
		least = failed;
		best = is_zero ? with_zero : with_most;
		vec_push(l->arena, found, is_zero ? zero : most);
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
	make_axes(l, false);
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
	l->axis_of = NEW_N(l->scratch, int, l->graph->ctx->symbol_list.count + 1);
	for (int i = 0; i < l->graph->ctx->symbol_list.count; i++)
		l->axis_of[i] = -1;
	bool is_better = nsymbol > 0;
	for (int round = 0; round < ROUNDS && is_better; round++)
		is_better = fit(l, false) || fit(l, true);
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

const Region *
region_branch(const Region *region)
{
	while (region && !(region->owner && region->owner->nregion > 1))
		region = region->parent;
	return region;
}

bool
regions_are_exclusive(const Region *a, const Region *b)
{
	for (const Region *x = a; x && x->owner; x = x->parent)
		for (const Region *y = b; y && y->owner; y = y->parent)
			if (x != y && x->owner == y->owner)
				return true;
	return false;
}

Demands
demands_in(Arena *arena, const Graph *graph, const Region *region, const Demands *learnt)
{
	Demands all = {0};
	for (int i = 0; learnt && i < learnt->count; i++)
		if (!regions_are_exclusive(learnt->data[i].region, region))
			vec_push(arena, &all, learnt->data[i]);
	for (int i = 0; i < graph->assumptions.count; i++) {
		const Assumption *a = &graph->assumptions.data[i];
		if (!regions_are_exclusive(a->region, region))
			vec_push(arena, &all, (Demand){a->a, a->b, true, a->region, a->loc});
	}
	return all;
}

bool
demand_holds(const Demand *demand, const Binding *sizes)
{
	int64_t a, b;
	if (!dim_eval(demand->a, sizes, &a) || !dim_eval(demand->b, sizes, &b))
		return true;
	return demand->is_equal ? a == b : a <= b;
}

const char *
demand_text(Arena *arena, const Demand *demand)
{
	Buf buf = {.arena = arena};
	int64_t number;
	bool turns = demand->is_equal ? demand->a->op == EX_symbol && demand->b->op != EX_symbol
	                              : dim_is_const(demand->a, &number);
	dim_print(&buf, turns ? demand->b : demand->a);
	buf_puts(&buf, demand->is_equal ? " == " : turns ? " >= " : " <= ");
	dim_print(&buf, turns ? demand->a : demand->b);
	return buf_text(&buf);
}

static const char *
broken_text(Arena *arena, const Demand *demand, const Binding *sizes)
{
	int64_t a, b;
	if (region_branch(demand->region) || demand_holds(demand, sizes) ||
	    !dim_eval(demand->a, sizes, &a) || !dim_eval(demand->b, sizes, &b))
		return NULL;
	return arena_printf(arena, "%s does not hold, they are %lld and %lld (node %s)",
	                    demand_text(arena, demand), (long long)a, (long long)b,
	                    demand->loc.node ? demand->loc.node : "without a name");
}

const char *
demands_broken(Arena *arena, const Graph *graph, const Demands *learnt, const Binding *sizes)
{
	const char *text = NULL;
	Demands all = demands_in(arena, graph, NULL, learnt);
	for (int i = 0; i < all.count && !text; i++)
		text = broken_text(arena, &all.data[i], sizes);
	return text;
}
