/* WidenHalves: compute f16 and bf16 as f32 where the machine has no faster units for them.
 *
 *     %y: f16 = Conv(%x, %w)            %u: f32 = Cast(%x)
 *     %z: f16 = Relu(%y)         =>     %v: f32 = Conv(%u, %w')        %w' is %w in f32
 *                                       %t: f32 = Relu(%v)
 *                                       %z: f16 = Cast(%t)
 *
 * Such a machine computes them as f32 in any case, or no faster. Where all nodes do, a library's
 * calls of f32 and blocks of channels serve these models, too, and numbers are converted where they
 * come in and go out. They are rounded less often than the model says: that is judged by bounds
 * which leave these roundings open (BoundWay.keeps_halves). A result that jumps where its operand
 * is rounded has the model's roundings: integers, bools and whole numbers are made of f16, as they
 * were.
 *
 * Large constants that are used seldom, as tables that few rows are taken from and weights of a
 * product of one row, stay as they are, and so do the nodes that read them: these wait for memory.
 * Graphs without sums of products are left alone.
 *
 * needs    shapes, topological order
 * keeps    shapes, order; values but for roundings to f16 and bf16
 * breaks   nothing
 */
#include "graph/infer.h"
#include "graph/meaning.h"
#include "lower/node.h"
#include "passes/passes.h"

enum { LARGE = 64 << 10, FEWEST_USES = 8 };

typedef struct Replaced {
	Node *node, *by;
} Replaced;

typedef struct Widener {
	Graph *graph;
	PassContext *context;
	Map wide; /* Value of few bits -> Value of f32 */
	VEC(Replaced) replaced;
} Widener;

/* Whether it is a tensor of numbers that the machine has no units for, or none that are faster than
 * those for f32: AVX-512's dot products of bf16 are not on every processor. What is beyond 65504 is
 * infinite in f16, and a number in f32. */
static bool
is_half(const Widener *w, const Value *value)
{
	const Device *device = w->context->target->device;
	bool keeps_infinities = w->context->values == VALUES_all;
	if (!device || !value || value->type.kind != TYPE_TENSOR)
		return false;
	return (value->type.dtype == DT_F16 && device->peak.f16 <= device->gflops &&
	        !keeps_infinities) ||
	       (value->type.dtype == DT_BF16 && device->peak.bf16 <= device->gflops);
}

/* ---- which nodes ---- */

static double
points_of(const Widener *w, const Program *p)
{
	double points = 0;
	for (int s = 0; s < p->nstage; s++) {
		double here = (double)probe_dim(w->context->target, stage_points(p->ctx, p->stages[s]));
		points = here > points ? here : points;
	}
	return points;
}

/* Whether it reads a large constant that is used so seldom that the node waits for it. */
static bool
waits_for_constant(const Widener *w, const Node *node)
{
	for (int i = 0; i < node->ninput; i++) {
		const Array *data = is_half(w, node->inputs[i]) ? value_fixed(node->inputs[i]) : NULL;
		if (!data || 2 * array_count(data) < LARGE)
			continue;
		Value **values = NEW_N(w->graph->arena, Value *, node->ninput + 1);
		const Program *p = node_program(w->graph->arena, w->graph, node, values);
		if (points_of(w, p) < FEWEST_USES * (double)array_count(data))
			return true;
	}
	return false;
}

/* Whether some result is no float, or a remainder, a sign or a whole number. */
static bool
jumps(const Widener *w, const Node *node)
{
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] && !dtype_is_float(node->outputs[i]->type.dtype))
			return true;
	Value **values = NEW_N(w->graph->arena, Value *, node->ninput + 1);
	const Program *p = node_program(w->graph->arena, w->graph, node, values);
	for (int s = 0; s < p->nstage; s++) {
		ExprOp op = expr_without_casts(p->stages[s]->body[0])->op;
		if (op == EX_rem || op == EX_sign || (op >= EX_floor && op <= EX_round))
			return true;
	}
	return false;
}

static bool
is_candidate(const Widener *w, const Node *node)
{
	bool any = false;
	for (int i = 0; i < node->ninput; i++)
		any |= is_half(w, node->inputs[i]);
	for (int i = 0; i < node->noutput; i++)
		any |= is_half(w, node->outputs[i]);
	return any && node->nregion == 0 && node_effect(node) == EFFECT_pure &&
	       node_has_meaning(node) && !jumps(w, node) && !waits_for_constant(w, node);
}

/* Whether some node sums products of such numbers. */
static bool
sums_products(const Widener *w, const Region *region)
{
	for (Node *node = region_step(region, NULL); node; node = region_step(region, node)) {
		if (node->ninput < 2 || !is_half(w, node->inputs[0]) || !is_candidate(w, node))
			continue;
		Value **values = NEW_N(w->graph->arena, Value *, node->ninput + 1);
		const Program *p = node_program(w->graph->arena, w->graph, node, values);
		for (int s = 0; s < p->nstage; s++)
			if (stage_summed_product(p->stages[s]))
				return true;
	}
	return false;
}

/* ---- rewriting ---- */

static Value *
cast_behind(Value *value, DType type)
{
	const Node *def = value->def;
	Region *region = value->region;
	Node *before = def && def->parent == region ? def->next : region->first;
	const Loc none = {0};
	const char *name = "";
	Node *cast = node_new(region, before, "Cast", def ? &def->loc : &none, 1, &value, 1, &name);
	node_set_int(cast, "to", type);
	node_infer(region->graph, cast);
	if (def)
		node_add_origins(cast, def);
	return cast->outputs[0];
}

static Value *
wide_of(Widener *w, Value *value)
{
	if (!is_half(w, value))
		return value;
	Value *wide = map_find_ptr(&w->wide, value);
	const Array *data = value_fixed(value);
	if (!wide && data)
		wide = graph_constant(w->graph, graph_fresh_name(w->graph, value->name),
		                      array_in_f32(w->graph->arena, data));
	if (!wide)
		wide = cast_behind(value, DT_F32);
	map_set_ptr(&w->wide, value, wide);
	return wide;
}

/* Whether the results are those of the node, with f32 for what has few bits. */
static bool
gives_the_same(const Widener *w, const Node *node, const Node *made)
{
	for (int i = 0; i < node->noutput; i++) {
		if (!node->outputs[i])
			continue;
		const Type *old = &node->outputs[i]->type, *new = &made->outputs[i]->type;
		DType type = is_half(w, node->outputs[i]) ? DT_F32 : old->dtype;
		if (old->kind != TYPE_TENSOR || new->kind != TYPE_TENSOR || new->dtype != type ||
		    old->rank != new->rank)
			return false;
		for (int d = 0; d < old->rank; d++)
			if (old->dims[d] != new->dims[d])
				return false;
	}
	return true;
}

static Node *
widened(Widener *w, Node *node)
{
	Value **inputs = NEW_N(w->graph->arena, Value *, node->ninput + 1);
	const char **names = NEW_N(w->graph->arena, const char *, node->noutput + 1);
	for (int i = 0; i < node->ninput; i++)
		inputs[i] = node->inputs[i] ? wide_of(w, node->inputs[i]) : NULL;
	for (int i = 0; i < node->noutput; i++)
		names[i] = node->outputs[i] ? "" : NULL;
	Node *made = node_new_row(node->parent, node, node->op, &node->loc, node->ninput, inputs,
	                          node->noutput, names);
	for (int i = 0; i < node->nattr; i++)
		node_add_attr(made, &node->attrs[i]);
	if (node->op->code == OP_Cast && is_half(w, node->outputs[0]))
		node_set_int(made, "to", DT_F32);
	node_add_origins(made, node);
	if (node_try_infer(made) && gives_the_same(w, node, made))
		return made;
	node_remove(made);
	return NULL;
}

static void
replace(Widener *w, Node *node, Node *by)
{
	for (int i = 0; i < node->noutput; i++) {
		Value *old = node->outputs[i], *new = by->outputs[i];
		if (!old)
			continue;
		if (!is_half(w, old)) {
			value_replace_uses(old, new);
			continue;
		}
		symbols_move(w->graph, old, new);
		map_set_ptr(&w->wide, old, new);
	}
	vec_push(w->graph->arena, &w->replaced, ((Replaced){node, by}));
}

static void
widen_region(Widener *w, Region *region)
{
	for (Node *node = region->first, *next; node; node = next) {
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			widen_region(w, node->regions[i]);
		bool is_tried = pass_may_rewrite(w->context) && is_candidate(w, node);
		Node *by = is_tried ? widened(w, node) : NULL;
		if (!by)
			continue;
		pass_log(w->context, "widen", node->loc.node, "", NULL);
		replace(w, node, by);
	}
}

/* Who still reads numbers of few bits gets them of a Cast; then the nodes replaced go. */
static void
narrow_rest(Widener *w)
{
	for (int k = w->replaced.count - 1; k >= 0; k--) {
		Node *node = w->replaced.data[k].node;
		for (int i = 0; i < node->noutput; i++) {
			Value *old = node->outputs[i];
			if (!old || old->uses.count == 0)
				continue;
			Value *new = w->replaced.data[k].by->outputs[i];
			value_replace_uses(old, cast_behind(new, old->type.dtype));
		}
		node_remove(node);
	}
}

bool
pass_WidenHalves(Graph *graph, PassContext *context)
{
	Widener w = {.graph = graph, .context = context, .wide = {.arena = graph->arena}};
	if (!sums_products(&w, graph->body))
		return false;
	widen_region(&w, graph->body);
	narrow_rest(&w);
	region_update_captures(graph->body);
	return w.replaced.count > 0;
}
