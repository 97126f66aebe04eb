/* Divisors come from dims: those of the values that are computed, and those that are checked. */
#include "driver/sizes/axes.h"

#include "expr/index/poly.h"
#include "expr/scalar/ctx.h"

enum {
	LARGEST = 64, /* divisor: a window; sizes stay small */
	DIGITS = 4,   /* of one symbol */
};

/* ---- divisors ---- */

/* One that is there already is not added. They stay sorted. */
static void
add_divisor(Arena *arena, Divisors *all, Divisor d)
{
	d.plus = ((d.plus % d.by) + d.by) % d.by;
	for (int i = 0; i < all->count; i++)
		if (all->data[i].symbol == d.symbol && all->data[i].plus == d.plus &&
		    all->data[i].by == d.by)
			return;
	vec_push(arena, all, d);
	for (int i = all->count - 1; i > 0 && all->data[i - 1].by > d.by; i--) {
		all->data[i] = all->data[i - 1];
		all->data[i - 1] = d;
	}
}

/* Quotients and remainders of a symbol, with a number added. Where -S + c is divided, -floor((c -
 * S)/q) is floor((S - c + q - 1)/q). */
static void
add_divisors(Arena *arena, Divisors *all, const Dim *dim)
{
	Poly sum;
	int64_t by;
	for (ExprWalk walk = expr_walk(dim); expr_step(&walk);) {
		bool divides = walk.e->op == EX_floordiv || walk.e->op == EX_floormod;
		if (!divides || !dim_is_const(walk.e->arg[1], &by) || by < 2 || by > LARGEST ||
		    !poly_of(walk.e->arg[0], &sum) || sum.count < 1 || sum.count > 2)
			continue;
		const Term *term = &sum.term[0];
		int64_t plus = poly_constant(&sum);
		bool is_plain = term->natom == 1 && term->atom[0]->op == EX_symbol &&
		                (sum.count == 1 || sum.term[1].natom == 0);
		if (is_plain && (term->coef == 1 || term->coef == -1))
			add_divisor(arena, all,
			            (Divisor){term->atom[0]->symbol,
			                      term->coef == 1 ? plus % by : by - 1 - plus % by, by});
	}
}

Divisors
divisors_of(Arena *arena, const Rooms *rooms)
{
	Divisors all = {0};
	const Graph *graph = rooms->graph;
	for (int i = 0; i < rooms->nodes.count; i++)
		for (int o = 0; o < rooms->nodes.data[i]->noutput; o++) {
			const Value *value = rooms->nodes.data[i]->outputs[o];
			for (int d = 0; value && d < value->type.rank; d++)
				add_divisors(arena, &all, value->type.dims[d]);
		}
	for (int i = 0; i < rooms->checks.count; i++) {
		const Check *check = &rooms->checks.data[i];
		add_divisors(arena, &all, check->b);
		if (check->a)
			add_divisors(arena, &all, check->a);
	}
	for (int i = 0; i < graph->symbols.count; i++)
		if (graph->symbols.data[i].source == SYMBOL_EXPR)
			add_divisors(arena, &all, graph->symbols.data[i].expr);
	return all;
}

/* ---- axes ---- */

/* Those of the symbol that divide one another, and whose windows begin together: 1 is the first. */
static int
digits_of(const Divisors *divisors, const Symbol *symbol, Divisor digits[DIGITS])
{
	int count = 0;
	digits[count++] = (Divisor){symbol, 0, 1};
	for (int i = 0; divisors && i < divisors->count && count < DIGITS; i++) {
		const Divisor *d = &divisors->data[i], *last = &digits[count - 1];
		if (d->symbol == symbol && d->by % last->by == 0 && (d->plus - last->plus) % last->by == 0)
			digits[count++] = *d;
	}
	return count;
}

Axes
symbol_axes(Arena *arena, ExprCtx *ctx, const Divisors *divisors, const Symbol *symbol)
{
	Axes axes = {0};
	Divisor digits[DIGITS];
	int count = digits_of(divisors, symbol, digits);
	int64_t plus = digits[count - 1].plus;
	const Dim *size = dim_add_i64(ctx, dim_symbol(ctx, symbol->name), plus), *above = NULL;
	for (int k = count - 1; k >= 0; k--) {
		int64_t step = digits[k].by, end = above ? digits[k + 1].by / step : INT64_MAX;
		const Dim *whole = dim_floordiv(ctx, size, dim_const(ctx, step));
		const Dim *at = above ? dim_sub(ctx, whole, dim_mul_i64(ctx, above, end)) : whole;
		vec_push(arena, &axes, (Axis){symbol, at, plus, step, end == 2 ? 1 : 2, end});
		above = whole;
	}
	return axes;
}

int64_t
axes_level(const Axes *axes, int64_t size)
{
	for (int i = 0; i < axes->count;) {
		const Axis *axis = &axes->data[i++];
		bool has_room = (size + axis->plus) / axis->step % axis->end + axis->most < axis->end;
		size += !has_room;
		i = has_room ? i : 0;
	}
	return size;
}
