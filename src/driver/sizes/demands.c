/* What a demand says of sizes, and where it is asked. */
#include "driver/sizes/demands.h"

#include "base/buf.h"

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
