/* ToMixedPrecision: compute in f16 or bf16 what gains by it, where that is asked for.
 *
 *     %y: f32 = Conv(%x, %w)            %u: f16 = Cast(%x)
 *     %z: f32 = Relu(%y)         =>     %y: f16 = Conv(%u, %w')        %w' is %w in f16
 *     %s: f32 = Softmax(%z)             %z: f16 = Relu(%y)
 *     %d: f32 = Conv(%z, %k)            %v: f32 = Cast(%z)
 *                                       %s: f32 = Softmax(%v)
 *                                       %d: f16 = Conv(%z, %k')  …
 *
 * Operators are in three classes (precision.def): products are wanted short, what has no row stays
 * long, and the others go with their neighbours, so that there are as few casts as there can be. A
 * value is cast once, for all its readers in the other type: it is a net of its node and of these,
 * and the casts are a smallest cut of all nets; of several, that with the most in f32. Inputs,
 * outputs and what goes into and out of branches and loops stay as they are.
 *
 * A value that the model casts from the short type is the short one in other words, so that a
 * second run finds nothing to do. A node stays f32 that reads numbers which the short type does not
 * hold, and so does what follows it: a mask of -1e9 must not meet scores as an infinity.
 *
 * needs    shapes, topological order
 * keeps    shapes, order, types of inputs and outputs; values but for roundings
 * breaks   nothing
 */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/half.h"
#include "graph/infer.h"
#include "passes/min_cut.h"
#include "passes/passes.h"

typedef enum Kind { KIND_long, KIND_products, KIND_follows, KIND_any } Kind;

typedef struct Row {
	OpCode code;
	Kind kind;
	int bf16; /* opset */
} Row;

#define PRECISION(name, kind, bf16) {OP_##name, KIND_##kind, bf16},
static const Row ROWS[] = {
#include "passes/precision.def"
};
#undef PRECISION

typedef struct Mixer {
	Graph *graph;
	PassContext *context;
	DType type; /* the short one */
	int64_t opset;
	Map things; /* Node -> what stands for it in the cut, and its Kind */
	Cut *cut;
	const bool *is_long; /* by thing */
	Map shorts;          /* Value of f32 -> the short one */
	VEC(Value *) narrowed;
} Mixer;

/* What the pass knows of a node. */
typedef struct Thing {
	Kind kind;
	int place;     /* CUT_NEAR: short, CUT_FAR: long, or one that may be either */
	bool is_cast;  /* between the two types */
	bool is_large; /* made of a number that the short type does not hold, as masks are */
} Thing;

static Thing *thing_of(Mixer *m, const Node *node);

/* ---- which nodes ---- */

static bool
has_type(const Value *value, DType type)
{
	return value && value->type.kind == TYPE_TENSOR && value->type.dtype == type;
}

/* From f32 to the short type, or back. */
static bool
is_cast(const Node *node, DType from, DType to)
{
	return node->op->code == OP_Cast && has_type(node->inputs[0], from) &&
	       has_type(node->outputs[0], to);
}

/* Operand `index` has the type that the node computes in, not one of its own, as scales have. */
static bool
goes_along(const Node *node, int index)
{
	const ParamSpec *in = op_input(node->op, index);
	return in && in->letter && in->letter == op_output(node->op, 0)->letter;
}

/* By the model's names of it: its own, those of what it was made of, and its outputs'. */
static bool
is_kept(const Mixer *m, const Node *node)
{
	StrVec names = strings_copy(m->graph->arena, &node->origins);
	if (node->loc.node)
		vec_push(m->graph->arena, &names, node->loc.node);
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i])
			vec_push(m->graph->arena, &names, node->outputs[i]->name);
	bool is_kept = false;
	for (int i = 0; i < names.count; i++) {
		const char *key = arena_printf(m->graph->arena, "ToMixedPrecision.%s", names.data[i]);
		is_kept |= pass_config_text(m->context, key, NULL) != NULL;
	}
	return is_kept;
}

static float
rounded(const Mixer *m, float value)
{
	return m->type == DT_F16 ? f16_to_f32(f64_to_f16(value)) : bf16_to_f32(f64_to_bf16(value));
}

/* No number becomes infinite. One that stands alone, as an epsilon does, or that is divided by,
 * keeps its digits as well: among many others a small one adds little, and may go. */
static bool
holds(const Mixer *m, const Array *data, bool is_exact)
{
	const float *from = data->data;
	float least = m->type == DT_F16 ? 0x1p-14F : 0x1p-126F;
	for (int64_t i = 0; i < array_count(data); i++)
		if ((isfinite(from[i]) && !isfinite(rounded(m, from[i]))) ||
		    (is_exact && from[i] != 0 && fabsf(from[i]) < least))
			return false;
	return true;
}

/* A bound that is infinite is none, as it was. */
static bool
holds_inputs(Mixer *m, const Node *node)
{
	for (int i = 0; i < node->ninput; i++) {
		const Value *input = node->inputs[i];
		if (!has_type(input, DT_F32) || !goes_along(node, i) ||
		    (node->op->code == OP_Clip && i > 0))
			continue;
		const Array *data = value_fixed(input);
		bool is_exact = data && (array_count(data) == 1 || node->op->code == OP_Div);
		if ((data && !holds(m, data, is_exact)) ||
		    (input->def && thing_of(m, input->def)->is_large))
			return false;
	}
	return true;
}

static Kind
stays(const Mixer *m, const Node *node, const char *why)
{
	pass_log(m->context, "short", node->loc.node ? node->loc.node : node->op->name, NULL, why);
	return KIND_long;
}

static Kind
kind_of(Mixer *m, const Node *node, Thing *thing)
{
	const Row *row = NULL;
	for (size_t i = 0; i < countof(ROWS) && !row; i++)
		row = ROWS[i].code == node->op->code ? &ROWS[i] : NULL;
	if (!row || row->kind == KIND_any)
		return row ? KIND_any : KIND_long;
	if (is_kept(m, node) || !has_type(node->outputs[0], DT_F32))
		return KIND_long;
	if (m->type == DT_BF16 && m->opset < row->bf16)
		return stays(m, node,
		             arena_printf(m->context->arena, "it takes bf16 from opset %d on", row->bf16));
	if (holds_inputs(m, node))
		return row->kind;
	thing->is_large = row->kind == KIND_follows; /* sums of products are numbers like others */
	return stays(m, node, "the type does not hold a number that it is made of");
}

/* ---- which are short ---- */

static Thing *
thing_of(Mixer *m, const Node *node)
{
	Thing *thing = map_find_ptr(&m->things, node);
	if (thing)
		return thing;
	thing = NEW(m->graph->arena, Thing);
	thing->is_cast = is_cast(node, DT_F32, m->type) || is_cast(node, m->type, DT_F32);
	thing->kind = thing->is_cast ? KIND_products : kind_of(m, node, thing);
	thing->place = thing->kind == KIND_products ? CUT_NEAR : CUT_FAR;
	if (thing->kind == KIND_follows)
		thing->place = cut_thing(m->cut);
	map_set_ptr(&m->things, node, thing);
	return thing;
}

/* A value's node (the far end for what comes from outside) and its readers. */
static void
add_net(Mixer *m, const Value *value)
{
	IntVec things = {0};
	if (!has_type(value, DT_F32) || value_fixed(value))
		return;
	const Node *def = value->def;
	bool is_first = def && (def->outputs[0] == value || op_output(def->op, 0)->variadic);
	vec_push(m->graph->arena, &things, is_first ? thing_of(m, def)->place : CUT_FAR);
	for (int i = 0; i < value->uses.count; i++) {
		const Use *use = &value->uses.data[i];
		const Thing *reader = use->node ? thing_of(m, use->node) : NULL;
		if (reader && reader->kind == KIND_any)
			continue;
		bool follows = reader && (reader->is_cast || goes_along(use->node, use->index));
		vec_push(m->graph->arena, &things, follows ? reader->place : CUT_FAR);
	}
	cut_net(m->cut, things.count, things.data);
}

static void
add_nets(Mixer *m)
{
	for (const Node *node = NULL; (node = region_step(m->graph->body, node));)
		thing_of(m, node); /* what makes a value before what reads it */
	for (int i = 0; i < m->graph->body->nparam; i++)
		add_net(m, m->graph->body->params[i]);
	for (const Node *node = NULL; (node = region_step(m->graph->body, node));) {
		for (int i = 0; i < node->noutput; i++)
			if (node->outputs[i])
				add_net(m, node->outputs[i]);
		for (int r = 0; r < node->nregion; r++)
			for (int i = 0; i < node->regions[r]->nparam; i++)
				add_net(m, node->regions[r]->params[i]);
	}
}

static bool
is_short(Mixer *m, const Node *node)
{
	const Thing *thing = thing_of(m, node);
	return thing->kind == KIND_any || !m->is_long[thing->place];
}

/* ---- rewriting ---- */

static Value *
cast_behind(Value *value, DType type)
{
	const Node *def = value->def;
	Region *region = value->region;
	const Loc none = {.node = value->name};
	const char *name = "";
	Node *cast = node_new(region, def ? def->next : region->first, "Cast", def ? &def->loc : &none,
	                      1, &value, 1, &name);
	node_set_int(cast, "to", type);
	node_infer(region->graph, cast);
	if (def)
		node_add_origins(cast, def);
	return cast->outputs[0];
}

/* A cast that the model has of it, moved to where all readers stand behind it. */
static Value *
cast_there_is(const Mixer *m, const Value *value)
{
	Node *before = value->def ? value->def->next : value->region->first;
	for (int i = 0; i < value->uses.count; i++) {
		Node *cast = value->uses.data[i].node;
		if (!cast || cast->parent != value->region || !is_cast(cast, DT_F32, m->type))
			continue;
		if (cast != before)
			node_move(cast, value->region, before);
		return cast->outputs[0];
	}
	return NULL;
}

static Array *
array_narrowed(const Mixer *m, const Array *data)
{
	Array *out = array_new(m->graph->arena, m->type, data->rank, data->dims);
	const float *from = data->data;
	uint16_t *to = out->data;
	for (int64_t i = 0; i < array_count(data); i++)
		to[i] = m->type == DT_F16 ? f64_to_f16(from[i]) : f64_to_bf16(from[i]);
	return out;
}

static Value *
short_of(Mixer *m, Value *value)
{
	Value *found = map_find_ptr(&m->shorts, value);
	if (found || !has_type(value, DT_F32))
		return found ? found : value;
	if (value->def && is_cast(value->def, m->type, DT_F32))
		found = value->def->inputs[0];
	else if (value_fixed(value))
		found = graph_constant(m->graph, graph_fresh_name(m->graph, value->name),
		                       array_narrowed(m, value_fixed(value)));
	else
		found = cast_there_is(m, value);
	found = found ? found : cast_behind(value, m->type);
	map_set_ptr(&m->shorts, value, found);
	return found;
}

static void
shorten(Mixer *m, Node *node)
{
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && goes_along(node, i))
			node_set_input(node, i, short_of(m, node->inputs[i]));
	for (int i = 0; i < node->noutput; i++)
		if (has_type(node->outputs[i], DT_F32)) {
			node->outputs[i]->type.dtype = m->type;
			vec_push(m->graph->arena, &m->narrowed, node->outputs[i]);
		}
	pass_log(m->context, "short", node->loc.node, "", NULL);
}

static Value *
wide_of(Value *value, Value **wide)
{
	*wide = *wide ? *wide : cast_behind(value, DT_F32);
	return *wide;
}

/* Readers in f32 of what has become short get it of a Cast; an output keeps its name. */
static void
widen_readers(Mixer *m, Value *value)
{
	Value *wide = NULL;
	int count = value->uses.count;
	const Use *uses = arena_memdup(m->graph->arena, value->uses.data, (size_t)count * sizeof *uses);
	for (int i = 0; i < count; i++)
		if (uses[i].node && !is_short(m, uses[i].node))
			node_set_input(uses[i].node, uses[i].index, wide_of(value, &wide));
	if (value_is_graph_output(value))
		value_swap_names(value, wide_of(value, &wide));
	for (int i = 0; i < count; i++)
		if (!uses[i].node)
			region_set_result(uses[i].region, uses[i].index, wide_of(value, &wide));
	for (int i = 0; i < count; i++)
		if (uses[i].node && is_cast(uses[i].node, m->type, m->type)) {
			value_replace_uses(uses[i].node->outputs[0], value);
			node_remove(uses[i].node);
		}
}

static void
rewrite(Mixer *m)
{
	for (Node *node = NULL; (node = region_step(m->graph->body, node));) {
		Thing *thing = thing_of(m, node);
		if (thing->is_cast || thing->kind == KIND_any || m->is_long[thing->place])
			continue;
		if (pass_may_rewrite(m->context))
			shorten(m, node);
		else
			thing->place = CUT_FAR;
	}
	for (int i = 0; i < m->narrowed.count; i++)
		widen_readers(m, m->narrowed.data[i]);
	for (int i = 0; i < m->shorts.count; i++) { /* weights keep their names */
		Value *wide = (Value *)(uintptr_t)m->shorts.entries[i].key,
			  *made = m->shorts.entries[i].value;
		if (value_fixed(wide) && wide->uses.count == 0)
			value_swap_names(wide, made);
	}
	region_update_captures(m->graph->body);
}

bool
pass_ToMixedPrecision(Graph *graph, PassContext *context)
{
	Arena *arena = graph->arena;
	const char *type = pass_config_text(context, "ToMixedPrecision.type", "fp16");
	Mixer m = {.graph = graph,
	           .context = context,
	           .type = strcmp(type, "bf16") == 0 ? DT_BF16 : DT_F16,
	           .opset = graph_opset(graph),
	           .things = {.arena = arena},
	           .cut = cut_new(arena),
	           .shorts = {.arena = arena}};
	add_nets(&m);
	m.is_long = cut_solve(m.cut);
	rewrite(&m);
	return m.narrowed.count > 0;
}
