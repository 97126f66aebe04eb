/* The plan of a random graph, and its text. */
#include "graphs.h"

#include <math.h>
#include <string.h>

#include "eval/eval.h"
#include "graph/text.h"
#include "onnx/onnx.h"

enum { OPSET = 24, IR_VERSION = 11, TRIES = 8, PAIR_TRIES = 60 };

/* ---- which operators ------------------------------------------------------------------------- */

/* Operators are drawn by kind, then by row: the eighty pointwise ones are not all there is. */
static const Row *
draw_row(Gen *g)
{
	static const int weights[KIND_COUNT] = {
		[KIND_elementwise] = 26, [KIND_reduction] = 9, [KIND_view] = 22,     [KIND_concat] = 7,
		[KIND_gather] = 6,       [KIND_scatter] = 4,   [KIND_matmul] = 8,    [KIND_conv] = 5,
		[KIND_pool] = 3,         [KIND_norm] = 6,      [KIND_quantised] = 2, [KIND_generator] = 2,
		[KIND_control] = 5,      [KIND_host] = 1,
	};
	static const OpCode common[] = {OP_Add, OP_Mul, OP_Sub, OP_Relu, OP_Cast, OP_Where, OP_Sigmoid};
	Trial *t = &g->dice;
	int total = 0, kind = 0;
	if (chance(t, 8))
		return row_of(common[roll(t, 0, countof(common) - 1)]);
	for (int i = 0; i < KIND_COUNT; i++)
		total += weights[i];
	for (int64_t at = roll(t, 0, total - 1); at >= weights[kind]; kind++)
		at -= weights[kind];
	for (;;) {
		const Row *row = row_of((OpCode)roll(t, 1, OP_COUNT - 1));
		if ((int)row->kind == kind)
			return row;
	}
}

static int
node_count(const Gen *g)
{
	int count = 0;
	for (const Node *node = g->region->first; node; node = node->next)
		count++;
	return count;
}

void
gen_nodes(Gen *g, int count)
{
	Trial *t = &g->dice;
	for (int tries = 0; node_count(g) < count && tries < 3 * count && !g->is_over; tries++) {
		bool has_base = g->pool.count > 0;
		if (has_base && !g->focus && chance(t, 60)) /* a chain rather than a heap */
			g->focus = g->pool.data[g->pool.count - 1].value;
		gen_try(g, draw_row(g));
		g->focus = NULL;
	}
}

/* The graphs of a run go round all rows, and all pairs of a view and a kind behind it. */
static void
theme_row(Gen *g, int number)
{
	const Row *row = row_of((OpCode)(1 + number % (OP_COUNT - 1)));
	for (int tries = 0; tries < TRIES && !gen_try(g, row); tries++)
		continue;
}

static const Row *
view_row(int number)
{
	for (int code = 1;; code = code % (OP_COUNT - 1) + 1)
		if (row_of((OpCode)code)->kind == KIND_view && number-- == 0)
			return row_of((OpCode)code);
}

static const Row *
row_of_kind(Gen *g, Kind kind)
{
	for (;;) {
		const Row *row = row_of((OpCode)roll(&g->dice, 1, OP_COUNT - 1));
		if (row->kind == kind)
			return row;
	}
}

/* A view of row->code with a reader of row->kind right behind it. */
static void
make_pair(Gen *g, const Row *row)
{
	const Row *view = row_of(row->code), *reader = row_of_kind(g, row->kind);
	view->make(g, view);
	Value *seen = g->region->last->outputs[0];
	bool is_read = false;
	g->focus = seen;
	reader->make(g, reader);
	for (int i = 0; i < seen->uses.count; i++) {
		const Node *user = seen->uses.data[i].node;
		is_read |= user && row_of(user->op->code)->kind == row->kind;
	}
	if (!is_read)
		gen_give_up();
}

static void
theme_pair(Gen *g, int number)
{
	int views = 0;
	for (int code = 1; code < OP_COUNT; code++)
		views += row_of((OpCode)code)->kind == KIND_view;
	const Row *view = view_row(number % views);
	Kind kind = (Kind)(number / views % KIND_refused);
	Row pair = {.code = view->code, .kind = kind, .make = make_pair};
	for (int tries = 0; tries < PAIR_TRIES && !gen_try(g, &pair); tries++)
		continue;
	g->focus = NULL;
}

/* An element type with operators that take any. */
static void
theme_type(Gen *g, int number)
{
	Trial *t = &g->dice;
	int64_t dims[] = {-1, -1, -1};
	Value *x = gen_input(g, (DType)(1 + number % (DT_COUNT - 1)), (int)roll(t, 0, 3), dims);
	for (int tries = 0; tries < 3 * TRIES && x->uses.count < 2 && !g->is_over; tries++) {
		g->focus = chance(t, 60) ? x : g->pool.data[g->pool.count - 1].value;
		gen_try(g, row_of_kind(g, (Kind)PICK(t, KIND_view, KIND_view, KIND_concat, KIND_gather)));
	}
	g->focus = NULL;
}

/* ---- results --------------------------------------------------------------------------------- */

static bool
can_leave(const Value *value)
{
	return value->type.kind == TYPE_TENSOR && value->type.rank >= 0;
}

/* Outputs that nobody reads go without a name, by chance; one stays. */
static void
drop_outputs(Gen *g, const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		int left = 0;
		for (int i = 0; i < node->noutput; i++)
			left += node->outputs[i] != NULL;
		for (int i = 0; i < node->noutput && left > 1; i++)
			if (node->outputs[i]->uses.count == 0 && chance(&g->dice, 35)) {
				node->outputs[i] = NULL;
				left--;
			}
		for (int i = 0; i < node->nregion; i++)
			drop_outputs(g, node->regions[i]);
	}
}

static void
add_results(Gen *g)
{
	Trial *t = &g->dice;
	VEC(Value *) results = {0};
	for (const Node *node = g->region->first; node; node = node->next)
		for (int i = 0; i < node->noutput; i++) {
			Value *value = node->outputs[i];
			if (value && ((value->uses.count == 0 && results.count < 6) || chance(t, 12)))
				vec_push(g->arena, &results, value);
		}
	if (g->graph->body->nparam && chance(t, 6))
		vec_push(g->arena, &results, g->graph->body->params[0]);
	if (g->graph->constants.count && chance(t, 6))
		vec_push(g->arena, &results,
		         g->graph->constants.data[roll(t, 0, g->graph->constants.count - 1)]);
	Value *again = results.count ? results.data[roll(t, 0, results.count - 1)] : NULL;
	if (again && chance(t, 6))
		vec_push(g->arena, &results, again);
	int kept = 0;
	for (int i = 0; i < results.count; i++)
		if (can_leave(results.data[i]) || g->is_over)
			results.data[kept++] = results.data[i];
	graph_set_outputs(g->graph, kept, results.data);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static void
forget_types(const Region *region)
{
	for (Node *node = region->first; node; node = node->next) {
		node->loc.node = NULL;
		for (int i = 0; i < node->noutput; i++)
			if (node->outputs[i])
				node->outputs[i]->type = (Type){.rank = -1};
		for (int i = 0; i < node->nregion; i++) {
			for (int k = 0; k < node->regions[i]->nparam; k++)
				node->regions[i]->params[k]->type = (Type){.rank = -1};
			forget_types(node->regions[i]);
		}
	}
}

const char *
graph_source(Arena *arena, Graph *graph)
{
	graph = graph_clone(arena, graph);
	int inputs = 0, constants = 0;
	for (int i = 0; i < graph->body->nparam; i++)
		if (graph->body->params[i]->uses.count)
			graph->body->params[inputs++] = graph->body->params[i];
	graph->body->nparam = inputs;
	for (int i = 0; i < graph->constants.count; i++)
		if (graph->constants.data[i]->uses.count)
			graph->constants.data[constants++] = graph->constants.data[i];
	graph->constants.count = constants;
	forget_types(graph->body);
	graph->symbols.count = graph->assumptions.count = 0;
	Buf text = {.arena = arena};
	graph_print(&text, graph);
	return buf_text(&text);
}

bool
graph_is_byte(DType type)
{
	return dtype_is_code_integer(type) || (dtype_is_integer(type) && dtype_bits(type) <= 8);
}

void
graph_ends(DType type, int64_t *least, int64_t *most)
{
	bool is_signed = dtype_is_signed(type) || type == DT_I4 || type == DT_I2;
	*most = ((int64_t)1 << (dtype_bits(type) - is_signed)) - 1;
	*least = is_signed ? -*most - 1 : 0;
}

static void
settle_element(Array *array, int64_t at, uint64_t seed, bool is_byte)
{
	int64_t least, most;
	if (!is_byte) {
		double scale = fabs(dtype_load_f64(array->type, array->data, at)) / 16 + 1.0 / 64;
		dtype_store_f64(array->type, array->data, at, scale);
		return;
	}
	graph_ends(array->type, &least, &most);
	int64_t number = (int64_t)(hash_mix(seed, (uint64_t)at) >> 40) % (most - least + 1);
	dtype_store_i64(array->type, array->data, at, least + number);
}

void
graph_settle_weight(Value *value)
{
	Array *array = (Array *)(uintptr_t)value->constant;
	int64_t count = array_count(array);
	bool is_byte = graph_is_byte(array->type), is_small = dtype_is_code_integer(array->type);
	bool is_scale = dtype_is_float(array->type) && strncmp(value->name, GRAPH_SCALE, 5) == 0;
	int64_t inline_most = is_small ? 0 : is_byte ? TEXT_INLINE_MAX : TEXT_INLINE_FLOATS;
	if (count <= inline_most || (!is_byte && !is_scale))
		return;
	for (int64_t i = 0; i < count; i++)
		settle_element(array, i, (uint64_t)value->weight, is_byte);
}

Graph *
graph_read(Arena *arena, const char *text)
{
	Graph *graph = graph_parse(arena, "random", text);
	for (int i = 0; i < graph->constants.count; i++)
		graph_settle_weight(graph->constants.data[i]);
	return graph;
}

const char *
graph_make(Arena *arena, uint64_t seed, int number, Theme theme, char *note)
{
	Gen *g = NEW(arena, Gen);
	Trial *t = &g->dice;
	g->arena = t->arena = arena;
	g->seed = seed;
	t->dice = seed;
	g->graph = t->graph = graph_new(arena, "random", "random");
	g->region = g->graph->body;
	g->note = note;
	g->most = theme == THEME_quantised ? 1e8 : 5000; /* sums of bytes, before they are scaled */
	t->is_symbolic = chance(t, 45);
	int count = (int)roll(t, 2, 12);
	int what = (int)roll(t, 0, 99);
	if (theme != THEME_any) {
		(theme == THEME_derived ? gen_derived : gen_quantised)(g, number);
		count = node_count(g) + (int)roll(t, 0, 3);
	} else if (what < 46) {
		theme_row(g, number);
	} else if (what < 92) {
		theme_pair(g, number);
	} else {
		theme_type(g, number);
	}
	gen_nodes(g, count);
	if (!g->region->first)
		return NULL;
	drop_outputs(g, g->region);
	add_results(g);
	return graph_source(arena, g->graph);
}
