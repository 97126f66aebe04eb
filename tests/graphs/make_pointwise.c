/* Operators of one element, by their rows alone; conversions; reductions. */
#include "gen.h"

#include <math.h>
#include <string.h>

/* ---- attributes ------------------------------------------------------------------------------ */

static const struct {
	const char *attr, *values[3];
	int count;
} WORDS[] = {
	{"approximate", {"none", "tanh"}, 2},
	{"direction", {"LEFT", "RIGHT"}, 2},
};

static void
random_words(Trial *t, const char *name)
{
	for (size_t i = 0; i < countof(WORDS); i++)
		if (strcmp(WORDS[i].attr, name) == 0)
			trial_string(t, name, WORDS[i].values[roll(t, 0, WORDS[i].count - 1)]);
}

/* Floats and switches of a pointwise operator. */
static void
random_attrs(Gen *g, const OpInfo *op, DType type)
{
	Trial *t = &g->dice;
	for (int i = 0; i < op->nattr; i++) {
		const AttrSpec *attr = &op->attrs[i];
		if (strcmp(attr->name, "fmod") == 0)
			trial_int(t, "fmod", dtype_is_float(type) || chance(t, 40));
		else if (attr->kind == ATTR_STRING)
			random_words(t, attr->name);
		else if (chance(t, 50))
			continue;
		else if (attr->kind == ATTR_FLOAT)
			trial_float(t, attr->name, (double)roll(t, 1, 12) / 8);
		else if (attr->kind == ATTR_INT)
			trial_int(t, attr->name, chance(t, 50));
	}
}

/* ---- by the row ------------------------------------------------------------------------------ */

typedef struct Operands {
	Value *values[TRIAL_MAX_INPUTS];
	Value *of_letter[26];
	int count;
} Operands;

static void
take_operand(Gen *g, const Row *row, const ParamSpec *spec, Operands *o)
{
	Value **same = spec->letter ? &o->of_letter[spec->letter - 'A'] : NULL;
	Value *x;
	bool is_within = strcmp(row->op, "PRelu") == 0;
	if (same && *same)
		x = gen_mate(g, *same, is_within);
	else
		x = gen_take(g, spec->types, 0, 5);
	if (o->count == 0)
		x = gen_bring(g, x, row->domain < DIVISOR ? row->domain : ANY);
	else if (row->domain >= DIVISOR)
		x = gen_bring(g, x, row->domain);
	if (same && !*same)
		*same = x;
	o->values[o->count++] = x;
}

/* Where: its condition has another type, and must broadcast as well. */
static void
take_condition(Gen *g, Operands *o)
{
	Value *like = o->values[1];
	Value *inputs[] = {like, gen_mate(g, like, false)};
	static const char *const compare[] = {"Less", "GreaterOrEqual", "Equal"};
	bool is_number = dtype_is_float(gen_dtype(like)) || dtype_is_integer(gen_dtype(like));
	o->values[0] = gen_dtype(like) == DT_BOOL ? gen_mate(g, like, false)
	               : is_number                ? gen_one(g, compare[roll(&g->dice, 0, 2)], 2, inputs)
	                                          : gen_like(g, like, DT_BOOL);
	if (!o->values[0])
		gen_give_up();
}

void
make_pointwise(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	const OpInfo *op = op_row(g->graph->ops, row->code);
	Operands o = {.count = 0};
	bool is_where = row->code == OP_Where;
	for (int i = 0; i < op->ninput; i++) {
		const ParamSpec *spec = &op->inputs[i];
		if (spec->optional && chance(t, 40))
			o.values[o.count++] = NULL;
		else if (is_where && i == 0)
			o.count++;
		else
			take_operand(g, row, spec, &o);
		for (int more = (int)roll(t, 0, 2); spec->variadic && more > 0; more--)
			take_operand(g, row, spec, &o);
	}
	if (is_where)
		take_condition(g, &o);
	random_attrs(g, op, gen_dtype(o.values[is_where ? 1 : 0]));
	gen_node(g, row->op, o.count, o.values, 1);
}

void
make_pow(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	(void)row;
	Value *x = gen_take(g, TYPES(float), 0, 5), *inputs[2];
	if (chance(t, 60)) {
		inputs[0] = x;
		inputs[1] = gen_scalar(g, gen_dtype(x), (double)PICK(t, 0, 1, 2, 2, 3));
	} else {
		inputs[0] = gen_bring(g, x, POSITIVE);
		inputs[1] = chance(t, 50) ? gen_bring(g, gen_mate(g, inputs[0], false), SMALL)
		                          : gen_scalar(g, DT_I64, (double)roll(t, -2, 3));
	}
	gen_node(g, "Pow", 2, inputs, 1);
}

/* ---- conversions ----------------------------------------------------------------------------- */

static const DType STORED[] = {DT_F8E4M3FN, DT_F8E4M3FNUZ, DT_F8E5M2, DT_F8E5M2FNUZ, DT_U4,
                               DT_I4,       DT_F4E2M1,     DT_U2,     DT_I2,         DT_F8E8M0};

static bool
holds(DType type, double least, double most)
{
	switch (type) {
	case DT_U4:
		return least >= 0 && most <= 15;
	case DT_I4:
		return least >= -8 && most <= 7;
	case DT_U2:
		return least >= 0 && most <= 3;
	case DT_I2:
		return least >= -2 && most <= 1;
	case DT_F8E8M0:
		return least > 0;
	default:
		return dtype_class(type) == DC_U ? least >= 0 && most <= 127
		                                 : fmax(-least, most) <= (type == DT_I8 ? 127 : 6000);
	}
}

void
make_cast(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	static const DType to[] = {DT_F32, DT_F32, DT_F64, DT_F16, DT_BF16, DT_I8,  DT_U8,
	                           DT_I16, DT_U16, DT_I32, DT_U32, DT_I64,  DT_U64, DT_BOOL};
	Value *x = gen_take(g, ~(TYPES(string) | BIT(DT_C64) | BIT(DT_C128)), 0, 5);
	double least, most;
	gen_range(g, x, &least, &most);
	bool is_stored = dtype_class(gen_dtype(x)) == DC_S;
	DType type = !is_stored && chance(t, 25) ? STORED[roll(t, 0, countof(STORED) - 1)]
	                                         : to[roll(t, 0, countof(to) - 1)];
	if (is_stored)
		type = DT_F32;
	if (type != DT_BOOL && least <= most && !holds(type, least, most))
		gen_give_up();
	bool is_like = row->code == OP_CastLike;
	Value *inputs[] = {x, is_like ? gen_scalar(g, type, 1) : NULL};
	if (!is_like)
		trial_int(t, "to", type);
	Value *y = *gen_node(g, row->op, is_like ? 2 : 1, inputs, 1);
	if (dtype_class(type) == DC_S && chance(t, 85)) {
		trial_int(t, "to", DT_F32);
		gen_node(g, "Cast", 1, &y, 1);
	}
}

void
make_bit_cast(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	static const DType pairs[][2] = {{DT_F32, DT_I32}, {DT_I32, DT_U32}, {DT_I64, DT_U64},
	                                 {DT_F16, DT_I16}, {DT_I8, DT_U8},   {DT_F64, DT_I64}};
	int which = (int)roll(t, 0, countof(pairs) - 1);
	Value *x = gen_take(g, BIT(pairs[which][0]), 0, 4);
	trial_int(t, "to", pairs[which][1]);
	gen_node(g, row->op, 1, &x, 1);
}

void
make_dropout(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *inputs[] = {gen_take(g, TYPES(float), 0, 4), gen_scalar(g, DT_F32, 0.5),
	                   gen_scalar(g, DT_BOOL, 0)};
	gen_node(g, row->op, chance(t, 50) ? 1 : 3, inputs, chance(t, 30) ? 2 : 1);
}

void
make_trilu(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *inputs[] = {gen_take(g, TYPES(num), 2, 4),
	                   gen_scalar(g, DT_I64, (double)roll(t, -3, 3))};
	trial_int(t, "upper", chance(t, 50));
	gen_node(g, row->op, chance(t, 60) ? 2 : 1, inputs, 1);
}

/* ---- reductions ------------------------------------------------------------------------------ */

void
make_reduce(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	const OpInfo *op = op_row(g->graph->ops, row->code);
	Value *x = gen_bring(g, gen_take(g, op->inputs[0].types, 0, 5), row->domain);
	int rank = gen_rank(x), count = 0;
	int64_t axes[GRAPH_RANK];
	for (int i = 0; i < rank; i++)
		if (chance(t, 45))
			axes[count++] = gen_axis(g, i, rank);
	bool has_axes = chance(t, 85);
	Value *inputs[] = {x, has_axes ? gen_ints(g, DT_I64, count, axes) : NULL};
	trial_int(t, "keepdims", chance(t, 50));
	if (chance(t, 30))
		trial_int(t, "noop_with_empty_axes", chance(t, 60));
	gen_node(g, row->op, has_axes ? 2 : 1, inputs, 1);
}

void
make_arg(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	const OpInfo *op = op_row(g->graph->ops, row->code);
	Value *x = gen_take(g, op->inputs[0].types, 1, 5);
	trial_int(t, "axis", gen_axis(g, (int)roll(t, 0, gen_rank(x) - 1), gen_rank(x)));
	trial_int(t, "keepdims", chance(t, 50));
	if (chance(t, 40))
		trial_int(t, "select_last_index", 1);
	gen_node(g, row->op, 1, &x, 1);
}

void
make_cumulative(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	const OpInfo *op = op_row(g->graph->ops, row->code);
	Value *x = gen_bring(g, gen_take(g, op->inputs[0].types, 1, 4), row->domain);
	int64_t axis = gen_axis(g, (int)roll(t, 0, gen_rank(x) - 1), gen_rank(x));
	Value *inputs[] = {x, gen_scalar(g, DT_I64, (double)axis)};
	trial_int(t, "exclusive", chance(t, 30));
	trial_int(t, "reverse", chance(t, 40));
	gen_node(g, row->op, 2, inputs, 1);
}

void
make_nothing(Gen *g, const Row *row)
{
	(void)g, (void)row;
	gen_give_up();
}
