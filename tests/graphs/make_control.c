/* If, Loop and Scan: bodies are made as graphs are, and end as their types ask. Sequences,
 * optionals, texts and random numbers, which are refused in a sentence. */
#include "gen.h"

enum { MAX_DEPTH = 4, MAX_BODY_DEPTH = 2 };

/* ---- bodies ---------------------------------------------------------------------------------- */

static void
enter(Gen *g, Region *region, int most)
{
	if (++g->depth > most)
		gen_give_up();
	g->region = region;
	g->focus = NULL;
}

/* What a region made is seen no longer. */
static void
leave(Gen *g, Region *region, int pool)
{
	g->depth--;
	g->region = region;
	g->pool.count = pool;
}

/* The last value of the region, as the type of `like`: a sum with its mean. */
static Value *
fold_into(Gen *g, Value *like, Value *last)
{
	Trial *t = &g->dice;
	bool is_same = gen_dtype(last) == gen_dtype(like) && type_equal(&last->type, &like->type);
	if (is_same && chance(t, 70))
		return last;
	if (!dtype_is_float(gen_dtype(last)))
		last = gen_cast(g, last, DT_F32);
	trial_int(t, "keepdims", 0);
	Value *mean = gen_one(g, "ReduceMean", 1, &last);
	Value *inputs[] = {like, gen_cast(g, mean, gen_dtype(like))};
	return gen_one(g, chance(t, 70) ? "Add" : "Mul", 2, inputs);
}

static Value *
last_of(const Gen *g, int pool)
{
	for (int i = g->pool.count - 1; i >= pool; i--)
		if (g->pool.data[i].value->region == g->region && g->pool.data[i].data)
			return g->pool.data[i].value;
	return NULL;
}

static Value *
some_value(Gen *g)
{
	Trial *t = &g->dice;
	uint64_t types = chance(t, 80) ? BIT(DT_F32) : BIT(DT_F16) | BIT(DT_F64) | BIT(DT_I64);
	return gen_take(g, types, 0, 4);
}

/* A body's parameter, with the data it has at first. */
static Value *
add_param(Gen *g, Region *region, const Type *type, const Array *data)
{
	Value *param = region_param(region, graph_fresh_name(g->graph, "p"), type);
	vec_push(g->arena, &g->pool, (Entry){param, data, 0});
	return param;
}

/* ---- If -------------------------------------------------------------------------------------- */

static Value *
condition(Gen *g)
{
	Trial *t = &g->dice;
	if (chance(t, 30))
		return gen_input(g, DT_BOOL, 0, NULL);
	Value *x = gen_take(g, BIT(DT_F32), 0, 4);
	trial_int(t, "keepdims", 0);
	Value *inputs[] = {gen_one(g, "ReduceSum", 1, &x), gen_scalar(g, DT_F32, 0.1875)};
	return gen_one(g, chance(t, 50) ? "Greater" : "Less", 2, inputs);
}

static void
make_side(Gen *g, Node *node, const char *name, Value *like)
{
	Region *outer = g->region, *side = region_new(node, name);
	int pool = g->pool.count;
	enter(g, side, MAX_DEPTH);
	gen_nodes(g, (int)roll(&g->dice, 0, 3));
	if (g->depth < MAX_DEPTH && chance(&g->dice, 30))
		gen_try(g, row_of(OP_If));
	Value *last = last_of(g, pool), *results[2] = {last ? fold_into(g, like, last) : like, like};
	region_set_results(side, node->noutput, results);
	leave(g, outer, pool);
}

void
make_branch(Gen *g, const Row *row)
{
	Value *like = some_value(g), *cond = condition(g);
	Node *node = gen_open(g, row->op, 1, &cond, chance(&g->dice, 15) ? 2 : 1);
	make_side(g, node, "then_branch", like);
	make_side(g, node, "else_branch", like);
	gen_settle(g, node);
}

/* ---- Loop ------------------------------------------------------------------------------------ */

/* What a body gives: its states as they came or changed, then values of its own. */
static void
body_results(Gen *g, Region *body, int pool, int first, int states, int outputs, Value **results)
{
	Value *last = last_of(g, pool + body->nparam);
	for (int i = 0; i < states; i++) {
		Value *state = body->params[first + i];
		results[i] = last && chance(&g->dice, 75) ? fold_into(g, state, last) : state;
	}
	for (int i = 0; i < outputs; i++) {
		Value *own = last_of(g, pool);
		results[states + i] = own && chance(&g->dice, 60) ? own : body->params[body->nparam - 1];
	}
}

static void
make_loop_body(Gen *g, Node *node, int states, int outputs)
{
	Trial *t = &g->dice;
	Region *outer = g->region, *body = region_new(node, "body");
	int pool = g->pool.count;
	Type number = type_tensor(DT_I64, 0, NULL), flag = type_tensor(DT_BOOL, 0, NULL);
	Array *yes = array_new(g->arena, DT_BOOL, 0, NULL);
	dtype_store_i64(DT_BOOL, yes->data, 0, 1);
	enter(g, body, MAX_BODY_DEPTH);
	add_param(g, body, &number, array_scalar_i64(g->arena, 0));
	add_param(g, body, &flag, yes);
	for (int i = 0; i < states; i++)
		add_param(g, body, &node->inputs[2 + i]->type, gen_data(g, node->inputs[2 + i]));
	gen_nodes(g, (int)roll(t, 1, 4));
	Value *results[6] = {body->params[1]};
	if (chance(t, 20)) { /* stops by itself */
		Value *inputs[] = {body->params[0], gen_scalar(g, DT_I64, (double)roll(t, 0, 3))};
		results[0] = gen_one(g, "Less", 2, inputs);
	}
	body_results(g, body, pool, 2, states, outputs, results + 1);
	region_set_results(body, 1 + states + outputs, results);
	leave(g, outer, pool);
}

void
make_loop(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int states = (int)roll(t, 1, 2), outputs = (int)roll(t, 0, 2);
	Value *inputs[4] = {gen_scalar(g, DT_I64, (double)roll(t, 0, 5)), NULL};
	if (chance(t, 20))
		inputs[0] = gen_input(g, DT_I64, 0, NULL);
	for (int i = 0; i < states; i++)
		inputs[2 + i] = some_value(g);
	Node *node = gen_open(g, row->op, 2 + states, inputs, states + outputs);
	make_loop_body(g, node, states, outputs);
	gen_settle(g, node);
}

/* ---- Scan ------------------------------------------------------------------------------------ */

typedef struct ScanPlan {
	int states, scans, outputs;
	int64_t in_axes[2], in_ways[2], out_axes[2], out_ways[2];
} ScanPlan;

static Type
slice_type(Gen *g, const Value *x, int axis, const Array **data)
{
	const Dim **dims = NEW_N(g->arena, const Dim *, GRAPH_RANK);
	int64_t *extents = NEW_N(g->arena, int64_t, GRAPH_RANK);
	int count = 0;
	for (int i = 0; i < gen_rank(x); i++)
		if (i != axis) {
			extents[count] = gen_dim(g, x, i);
			dims[count++] = x->type.dims[i];
		}
	Array *slice = array_new(g->arena, gen_dtype(x), count, extents);
	for (int64_t i = 0; i < array_count(slice) && array_count(gen_data(g, x)) > i; i++)
		dtype_store_f64(slice->type, slice->data, i,
		                dtype_load_f64(slice->type, gen_data(g, x)->data, i));
	*data = slice;
	return type_tensor(gen_dtype(x), count, dims);
}

static void
make_scan_body(Gen *g, Node *node, const ScanPlan *p)
{
	Region *outer = g->region, *body = region_new(node, "body");
	int pool = g->pool.count;
	enter(g, body, MAX_BODY_DEPTH);
	for (int i = 0; i < p->states; i++)
		add_param(g, body, &node->inputs[i]->type, gen_data(g, node->inputs[i]));
	for (int i = 0; i < p->scans; i++) {
		const Array *data;
		const Value *x = node->inputs[p->states + i];
		int64_t axis = p->in_axes[i] < 0 ? p->in_axes[i] + gen_rank(x) : p->in_axes[i];
		Type type = slice_type(g, x, (int)axis, &data);
		add_param(g, body, &type, data);
	}
	gen_nodes(g, (int)roll(&g->dice, 0, 3));
	Value *results[6];
	body_results(g, body, pool, 0, p->states, p->outputs, results);
	region_set_results(body, p->states + p->outputs, results);
	leave(g, outer, pool);
}

void
make_scan(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	ScanPlan p = {(int)roll(t, 0, 2), (int)PICK(t, 1, 1, 2), (int)roll(t, 1, 2), .in_axes = {0}};
	Value *inputs[4];
	for (int i = 0; i < p.states; i++)
		inputs[i] = some_value(g);
	Value *x = gen_take(g, BIT(DT_F32) | BIT(DT_I64), 1, 4);
	for (int i = 0; i < p.scans; i++) {
		Value *other = i ? gen_like(g, x, gen_dtype(x)) : x;
		inputs[p.states + i] = other ? other : x;
		p.in_axes[i] = i ? p.in_axes[0] : chance(t, 60) ? 0 : roll(t, 0, gen_rank(x) - 1);
		p.in_ways[i] = chance(t, 40);
	}
	for (int i = 0; i < p.outputs; i++) {
		p.out_axes[i] = chance(t, 80) ? 0 : -1;
		p.out_ways[i] = chance(t, 45);
	}
	Node *node = gen_open(g, row->op, p.states + p.scans, inputs, p.states + p.outputs);
	trial_int(t, "num_scan_inputs", p.scans);
	trial_ints(t, "scan_input_axes", p.scans, p.in_axes);
	trial_ints(t, "scan_input_directions", p.scans, p.in_ways);
	trial_ints(t, "scan_output_axes", p.outputs, p.out_axes);
	trial_ints(t, "scan_output_directions", p.outputs, p.out_ways);
	for (int i = 0; i < t->attrs.count; i++)
		node_add_attr(node, &t->attrs.data[i]);
	t->attrs.count = 0;
	make_scan_body(g, node, &p);
	gen_settle(g, node);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* A node that no interpreter knows: the graph ends with it. */
static Value *
refused(Gen *g, const char *op, int ninput, Value *const *inputs)
{
	return gen_open(g, op, ninput, inputs, 1)->outputs[0];
}

void
make_random(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	bool is_like = row->code != OP_RandomNormal && row->code != OP_RandomUniform;
	int64_t dims[] = {2, 3};
	Value *x = is_like ? gen_take(g, BIT(DT_F32), 2, 2) : NULL;
	if (!is_like)
		trial_ints(t, "shape", 2, dims);
	refused(g, row->op, is_like, &x);
	g->is_over = true;
}

void
make_sequence(Gen *g, const Row *row)
{
	Value *x = gen_take(g, BIT(DT_F32), 1, 3), *parts[] = {x, x}, *at = gen_scalar(g, DT_I64, 0);
	bool is_empty = row->code == OP_SequenceEmpty, is_split = row->code == OP_SplitToSequence;
	Value *all = is_empty   ? refused(g, "SequenceEmpty", 0, NULL)
	             : is_split ? refused(g, "SplitToSequence", 1, &x)
	                        : refused(g, "SequenceConstruct", 2, parts);
	Value *more[] = {all, x, at}, *less[] = {all, at};
	if (row->code == OP_SequenceInsert)
		all = refused(g, "SequenceInsert", 3, more);
	if (row->code == OP_SequenceErase)
		all = refused(g, "SequenceErase", 2, less);
	less[0] = all;
	if (row->code == OP_ConcatFromSequence) {
		trial_int(&g->dice, "axis", 0);
		refused(g, row->op, 1, &all);
	} else if (row->code == OP_SequenceAt) {
		refused(g, row->op, 2, less);
	} else {
		refused(g, "SequenceLength", 1, &all);
	}
	g->is_over = true;
}

void
make_optional(Gen *g, const Row *row)
{
	Value *x = gen_take(g, BIT(DT_F32), 1, 3), *held = refused(g, "Optional", 1, &x);
	refused(g, row->code == OP_OptionalGetElement ? row->op : "OptionalHasElement", 1, &held);
	g->is_over = true;
}

void
make_string(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t two = 2;
	Array *texts = array_new(g->arena, DT_STRING, 1, &two);
	((const char **)texts->data)[0] = "a b";
	((const char **)texts->data)[1] = "c";
	Value *x = gen_constant(g, texts), *inputs[] = {x, x};
	if (row->code == OP_RegexFullMatch)
		trial_string(t, "pattern", "a.*");
	refused(g, row->op, row->code == OP_StringConcat ? 2 : 1, inputs);
	g->is_over = true;
}
