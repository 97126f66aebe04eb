/* What scalars cost a machine, in additions, and whether they may run where they did not before.
 *
 *     x + 4          0    goes into the address
 *     x + y, x < y   1
 *     x * 60         2    x * 64: 1
 *     x / 60         3    x / 64: 1, x / y: 20
 *     X[i]           4    shared memory, the stack: 2; registers: 0
 *     exp(x)         8    as scalar.def says
 *
 * By Halide's table, to compare with: sums and products 1, all else 100, and reads stay.
 */
#include "tir/loops/motion.h"

enum {
	COST_MOST = 1 << 20,
	COST_LOAD = 4,
	COST_NEAR_LOAD = 2,
	COST_DIVISION = 20,
	COST_OTHER = 100
};

static bool
is_power_of_2(const Expr *e)
{
	int64_t value;
	return expr_as_i64(e, &value) && value > 0 && (value & (value - 1)) == 0;
}

static bool
is_division(const Expr *e)
{
	return e->op == EX_floordiv || e->op == EX_floormod || e->op == EX_quot ||
	       (e->op == EX_rem && dtype_is_integer(e->type));
}

static int
read_cost(const Expr *e)
{
	Scope scope = ((const Buffer *)e->tensor)->scope;
	return scope == SCOPE_REG                              ? 0
	       : scope == SCOPE_SHARED || scope == SCOPE_STACK ? COST_NEAR_LOAD
	                                                       : COST_LOAD;
}

/* Of the operation alone. */
static int
own_cost(const Expr *e)
{
	const ScalarInfo *row = scalar_info(e->op);
	if (e->op == EX_read)
		return read_cost(e);
	if (e->op == EX_cast)
		return dtype_is_float(e->type) != dtype_is_float(e->arg[0]->type);
	if (!dtype_is_integer(e->type) || e->argc != 2)
		return row ? row->cost : e->op == EX_at;
	if (is_division(e))
		return is_power_of_2(e->arg[1]) ? 1 : expr_is_const(e->arg[1]) ? 3 : COST_DIVISION;
	if (e->op == EX_add || e->op == EX_sub)
		return !expr_is_const(e->arg[1]);
	if (e->op == EX_mul)
		return is_power_of_2(e->arg[1]) ? 1 : 2;
	return row ? row->cost : 1;
}

static int
halide_cost(const Expr *e)
{
	bool is_sum = e->op == EX_add || e->op == EX_sub;
	if (e->op == EX_cast || (is_sum && expr_is_const(e->arg[1])))
		return 0;
	return is_sum || e->op == EX_mul ? 1 : COST_OTHER;
}

const Trait *
trait_of(Traits *traits, const Expr *e)
{
	static const Trait leaf;
	if (e->argc == 0 && e->op != EX_read)
		return &leaf;
	Trait *trait = map_find_ptr(&traits->known, e);
	if (trait)
		return trait;
	trait = NEW(traits->arena, Trait);
	trait->cost = traits->by_halide ? halide_cost(e) : own_cost(e);
	trait->is_unsafe = e->op == EX_read || (is_division(e) && !expr_is_const(e->arg[1]));
	trait->has_effect = e->has_check || (e->has_read && traits->by_halide);
	for (int i = 0; i < e->argc; i++) {
		const Trait *its = trait_of(traits, e->arg[i]);
		trait->cost += its->cost;
		trait->is_unsafe |= its->is_unsafe;
	}
	trait->cost = trait->cost < COST_MOST ? trait->cost : COST_MOST;
	map_set_ptr(&traits->known, e, trait);
	return trait;
}
