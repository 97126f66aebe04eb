/* Operands: from what is there, made to fit by a node or two, or new. */
#include "gen.h"

#include <math.h>
#include <string.h>

enum { MAX_CANDIDATES = 64 };

static const DType COMMON[] = {DT_F32, DT_F32, DT_F32, DT_F32,  DT_F32, DT_F32,
                               DT_I64, DT_I32, DT_F16, DT_BF16, DT_F64, DT_BOOL,
                               DT_U8,  DT_I8,  DT_I16, DT_U16,  DT_U32, DT_U64};

static DType
draw_type(Gen *g, uint64_t types)
{
	Trial *t = &g->dice;
	bool is_any = (types & BIT(DT_U4)) != 0; /* all types are to come */
	for (int tries = 0; tries < 20 && chance(t, is_any ? 60 : 95); tries++) {
		DType type = COMMON[roll(t, 0, countof(COMMON) - 1)];
		if (types & BIT(type))
			return type;
	}
	for (int tries = 0; tries < 200; tries++) {
		DType type = (DType)roll(t, 1, DT_COUNT - 1);
		if (types & BIT(type))
			return type;
	}
	gen_give_up();
}

static bool
fits(const Entry *entry, uint64_t types, int least, int most)
{
	const Type *type = &entry->value->type;
	return entry->data && type->kind == TYPE_TENSOR && (types & BIT(type->dtype)) &&
	       type->rank >= least && type->rank <= most;
}

/* The later and the less used, the sooner. */
static Value *
draw_entry(Gen *g, uint64_t types, int least, int most)
{
	int candidates[MAX_CANDIDATES], count = 0;
	for (int i = g->pool.count - 1; i >= 0 && count < MAX_CANDIDATES; i--)
		if (fits(&g->pool.data[i], types, least, most))
			candidates[count++] = i;
	if (count == 0)
		return NULL;
	int first = (int)roll(&g->dice, 0, count - 1), second = (int)roll(&g->dice, 0, count - 1);
	const Entry *a = &g->pool.data[candidates[first < second ? first : second]];
	const Entry *b = &g->pool.data[candidates[first < second ? second : first]];
	return a->uses <= b->uses ? a->value : b->value;
}

Value *
gen_cast(Gen *g, Value *x, DType type)
{
	if (gen_dtype(x) == type)
		return x;
	double least, most, top = type == DT_F32 || type == DT_F64 ? 1e9 : 120;
	gen_range(g, x, &least, &most);
	bool is_unsigned = dtype_class(type) == DC_U;
	if (least <= most && (most > top || least < (is_unsigned ? 0 : -top)))
		gen_give_up();
	trial_int(&g->dice, "to", type);
	return gen_one(g, "Cast", 1, &x);
}

static Value *
with_axes(Gen *g, const char *op, Value *x, int count, const int64_t *axes)
{
	Value *inputs[] = {x, gen_ints(g, DT_I64, count, axes)};
	return gen_one(g, op, 2, inputs);
}

Value *
gen_rerank(Gen *g, Value *x, int least, int most)
{
	Trial *t = &g->dice;
	int rank = gen_rank(x);
	int64_t axes[GRAPH_RANK];
	if (rank >= least && rank <= most)
		return x;
	if (rank < least) {
		for (int i = 0; i < least - rank; i++)
			axes[i] = chance(t, 50) ? i : rank + i;
		for (int i = 1; i < least - rank; i++)
			axes[i] = axes[i - 1] + 1;
		return with_axes(g, "Unsqueeze", x, least - rank, axes);
	}
	if (rank - most > 1 || most == 0 || chance(t, 40)) {
		for (int i = 0; i < rank - most; i++)
			axes[i] = i;
		trial_int(t, "keepdims", 0);
		return with_axes(g, dtype_is_float(gen_dtype(x)) ? "ReduceMean" : "ReduceMax", x,
		                 rank - most, axes);
	}
	int64_t shape[GRAPH_RANK] = {-1};
	for (int i = 1; i < most; i++) {
		shape[i] = gen_fixed(x, i + 1);
		if (shape[i] < 1)
			gen_give_up();
	}
	return with_axes(g, "Reshape", x, most, shape);
}

static Value *
new_value(Gen *g, uint64_t types, int least, int most)
{
	int64_t dims[GRAPH_RANK];
	int rank = (int)roll(&g->dice, least, most < 4 ? most : least > 4 ? least : 4);
	for (int i = 0; i < rank; i++)
		dims[i] = -1;
	DType type = draw_type(g, types);
	if (chance(&g->dice, 85))
		return gen_input(g, type, rank, dims);
	for (int i = 0; i < rank; i++)
		dims[i] = gen_size(g);
	return gen_weight(g, type, rank, dims);
}

/* Something there of another type or rank, brought to one that will do. */
static Value *
adapt(Gen *g, Value *x, uint64_t types, int least, int most)
{
	if (!x || !dtype_is_arithmetic(gen_dtype(x)))
		return NULL;
	x = gen_rerank(g, x, least, most);
	return (types & BIT(gen_dtype(x))) ? x : gen_cast(g, x, draw_type(g, types));
}

Value *
gen_take(Gen *g, uint64_t types, int least, int most)
{
	Trial *t = &g->dice;
	if (most > GRAPH_RANK - 1)
		most = GRAPH_RANK - 1;
	Value *focus = g->focus;
	if (focus) {
		Entry entry = {focus, gen_data(g, focus), 0};
		if (fits(&entry, types, least, most))
			return focus;
		if (chance(t, 70) && (focus = adapt(g, focus, types, least, most)))
			return focus;
	}
	Value *found = chance(t, 88) ? draw_entry(g, types, least, most) : NULL;
	if (!found && chance(t, 40))
		found = adapt(g, draw_entry(g, ~(uint64_t)0, 0, GRAPH_RANK), types, least, most);
	return found ? found : new_value(g, types, least, most);
}

/* ---- mates ----------------------------------------------------------------------------------- */

static bool
is_one(const Dim *dim)
{
	return dim_is(dim, 1);
}

static bool
broadcasts(const Value *x, const Value *y, bool is_within)
{
	int a = gen_rank(x), b = gen_rank(y), least = a < b ? a : b;
	if (is_within && b > a)
		return false;
	for (int i = 1; i <= least; i++) {
		const Dim *p = x->type.dims[a - i], *q = y->type.dims[b - i];
		if (p != q && !is_one(q) && (is_within || !is_one(p)))
			return false;
	}
	return (a > b ? a : b) < GRAPH_RANK;
}

static Value *
draw_mate(Gen *g, Value *x, bool is_within)
{
	Value *candidates[MAX_CANDIDATES];
	int count = 0;
	for (int i = g->pool.count - 1; i >= 0 && count < MAX_CANDIDATES; i--) {
		const Entry *entry = &g->pool.data[i];
		if (entry->value != x && fits(entry, BIT(gen_dtype(x)), 0, GRAPH_RANK) &&
		    broadcasts(x, entry->value, is_within))
			candidates[count++] = entry->value;
	}
	return count ? candidates[roll(&g->dice, 0, count - 1)] : NULL;
}

/* A weight whose dims are those of x, 1, or not there. */
static Value *
weight_mate(Gen *g, const Value *x)
{
	Trial *t = &g->dice;
	int64_t dims[GRAPH_RANK];
	int rank = (int)roll(t, 0, gen_rank(x)), from = gen_rank(x) - rank;
	for (int i = 0; i < rank; i++) {
		int64_t dim = gen_fixed(x, from + i);
		dims[i] = dim < 0 || chance(t, 30) ? 1 : dim;
	}
	return gen_weight(g, gen_dtype(x), rank, dims);
}

Value *
gen_mate(Gen *g, Value *x, bool is_within)
{
	Trial *t = &g->dice;
	Value *found = NULL;
	int way = (int)roll(t, 0, 99);
	if (way < 14)
		return x;
	if (way < 60)
		found = draw_mate(g, x, is_within);
	else if (way < 75)
		found = gen_like(g, x, gen_dtype(x));
	if (!found && chance(t, 15) && gen_rank(x) == 0 && !is_within)
		found = gen_take(g, BIT(gen_dtype(x)), 0, 4);
	return found ? found : weight_mate(g, x);
}

/* ---- domains --------------------------------------------------------------------------------- */

static Value *
add_number(Gen *g, const char *op, Value *x, double number)
{
	Value *inputs[] = {x, gen_scalar(g, gen_dtype(x), number)};
	return gen_one(g, op, 2, inputs);
}

static Value *
bring_floats(Gen *g, Value *x, Domain domain)
{
	double least, most;
	gen_range(g, x, &least, &most);
	switch (domain) {
	case UNIT:
		return fmax(-least, most) < 0.999 ? x : gen_one(g, "Sin", 1, &x);
	case SMALL:
		return fmax(-least, most) <= 4 ? x : gen_one(g, "Softsign", 1, &x);
	case POSITIVE:
		return add_number(g, "Add", gen_one(g, "Abs", 1, &x), 0.5);
	case ABOVE_ONE:
		return add_number(g, "Add", gen_one(g, "Abs", 1, &x), 1.25);
	default:
		return x;
	}
}

Value *
gen_bring(Gen *g, Value *x, Domain domain)
{
	DType type = gen_dtype(x);
	if (dtype_is_float(type))
		return bring_floats(g, x, domain == DIVISOR ? POSITIVE : domain);
	if (domain == DIVISOR) /* an integer that is not 0 */
		return add_number(g, "Max", x, (double)roll(&g->dice, 1, 3));
	if (domain == SHIFT)
		return add_number(g, "BitwiseAnd", x, dtype_bits(type) - 1);
	return x;
}
