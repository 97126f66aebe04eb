/* RecognizeOperators: one operator for the nodes that exporters write in its place.
 *
 *     %d = Sub(%x, ReduceMean(%x))
 *     %v = Sqrt(Add(ReduceMean(Pow(%d, 2)), 0.00001))
 *     %y = Add(Mul(Div(%d, %v), %g), %b)              =>   %y = LayerNormalization(%x, %g, %b)
 *
 * No pattern says how they are written. From each node backwards, nodes that nobody else needs are
 * joined, the last one first. Where reductions and functions among them are those of a row
 * of operators.def, that operator is made on what they read, and its meaning compared with theirs
 * (program/solve.h), which solves its numbers, too. Of several sets of nodes the largest is tried
 * first. Sums are re-associated, and numbers within 1e-6 are the same: -O2.
 *
 * needs    shapes, topological order
 * keeps    shapes, order; values but those of sums, which are joined in another order
 * breaks   nothing
 */
#include <string.h>

#include "graph/infer.h"
#include "graph/meaning.h"
#include "graph/text.h"
#include "passes/passes.h"
#include "passes/replace.h"
#include "program/forms.h"
#include "program/solve.h"

enum { CONE_NODES = 24, CONE_INPUTS = 4 };

/* A number that no model has: it stands for one that is to be solved. */
static const float UNKNOWN = 0.7392741F;

typedef struct OperatorRow {
	const char *name;
	int since, inputs;
	const char *axis, *solved, *word;
} OperatorRow;

static const OperatorRow ROWS[] = {
#define OPERATOR(name, since, inputs, axis, solved, word) \
	{#name, since, inputs, axis, solved, word},
#include "passes/operators.def"
#undef OPERATOR
};

enum { ROW_COUNT = (int)(sizeof ROWS / sizeof *ROWS) };

static const ExprOp FUNCTIONS[] = {EX_exp, EX_log, EX_erf, EX_tanh, EX_max, EX_min};

/* What is quickly seen of nodes: how many stages reduce, and by what; which functions they have. */
typedef struct Traits {
	bool is_fit; /* nothing but maps and reductions of one state */
	bool has_root;
	unsigned functions; /* by bit */
	int reductions[REDUCE_COUNT];
} Traits;

/* Nodes for one result, the last ones first. */
typedef struct Cone {
	int count;
	Node *nodes[CONE_NODES];
	Traits traits;
} Cone;

typedef struct Recognizer {
	Graph *graph;
	PassContext *context;
	Arena *arena;
	int64_t opset;
	Traits rows[ROW_COUNT];
	Map traits; /* Node to Traits */
	Map order;  /* Node to its place in its region */
} Recognizer;

/* ---- traits ---- */

/* Powers and roots are written as each other; sums, products and quotients are everywhere. */
static void
note_scalar(Traits *traits, const Expr *e)
{
	traits->has_root |= e->op == EX_sqrt || e->op == EX_pow;
	for (unsigned i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++)
		if (e->op == FUNCTIONS[i] && dtype_is_float((DType)e->type))
			traits->functions |= 1u << i;
}

static Traits
traits_of_program(const Program *program)
{
	Traits traits = {.is_fit = true};
	for (int i = 0; i < program->nstage; i++) {
		const Stage *stage = program->stages[i];
		traits.is_fit &= !stage->scan && stage->kind != STAGE_scatter && stage->nresult == 1;
		if (stage->kind == STAGE_reduce)
			traits.reductions[stage->reduce]++;
		for (ExprWalk walk = stage_walk(stage); expr_step(&walk);)
			note_scalar(&traits, walk.e);
	}
	return traits;
}

static const Traits *
traits_of(Recognizer *r, const Node *node)
{
	Traits *traits = map_find_ptr(&r->traits, node);
	if (traits)
		return traits;
	traits = NEW(r->arena, Traits);
	if (node_is_function(node) && dtype_is_float(node->outputs[0]->type.dtype))
		*traits = traits_of_program(node_meaning(r->graph, node));
	map_set_ptr(&r->traits, node, traits);
	return traits;
}

static bool
fits(const Traits *traits, const Traits *row)
{
	return traits->functions == row->functions && traits->has_root >= row->has_root &&
	       !memcmp(traits->reductions, row->reductions, sizeof row->reductions);
}

/* Whether some row has as many reductions. */
static bool
may_fit(const Recognizer *r, const Traits *traits)
{
	for (int i = 0; i < ROW_COUNT; i++) {
		bool may = !(traits->functions & ~r->rows[i].functions);
		for (int k = 0; k < REDUCE_COUNT; k++)
			may = may && traits->reductions[k] <= r->rows[i].reductions[k];
		if (may)
			return true;
	}
	return false;
}

/* ---- the operator ---- */

static void
give_attributes(Node *node, const OperatorRow *row, int64_t axis, float solved)
{
	const char *word = strchr(row->word, '=');
	if (*row->axis)
		node_set_int(node, row->axis, axis);
	if (*row->solved)
		node_add_attr(node, &(Attr){.name = row->solved, .kind = ATTR_FLOAT, .f = solved});
	if (!word)
		return;
	Arena *arena = node->parent->graph->arena;
	const char *name = arena_strndup(arena, row->word, (size_t)(word - row->word));
	node_add_attr(node, &(Attr){.name = name,
	                            .kind = ATTR_STRING,
	                            .count = (int64_t)strlen(word + 1),
	                            .s = word + 1});
}

/* A row's traits are those of its operator on some input. */
static Traits
traits_of_row(Recognizer *r, const OperatorRow *row)
{
	Graph *graph = graph_parse(r->arena, row->name,
	                           row->inputs == 1 ? "graph g(%x: f32[2,4]) -> %x {\n}\n"
	                                            : "graph g(%x: f32[2,4], %s: f32[4]) -> %x {\n}\n");
	Node *node = node_new(graph->body, NULL, row->name, NULL, row->inputs, graph->body->params, 1,
	                      (const char *[]){"y"});
	give_attributes(node, row, -1, UNKNOWN);
	node_infer(graph, node);
	return traits_of_program(program_flatten(r->arena, node_meaning(graph, node)));
}

/* ---- cones ---- */

static bool
is_in(const Cone *cone, const Node *node)
{
	for (int i = 0; i < cone->count; i++)
		if (cone->nodes[i] == node)
			return true;
	return false;
}

static bool
is_for_cone(const Cone *cone, const Value *value)
{
	for (int i = 0; i < value->uses.count; i++)
		if (!value->uses.data[i].node || !is_in(cone, value->uses.data[i].node))
			return false;
	return true;
}

static intptr_t
place_of(const Recognizer *r, const Node *node)
{
	return (intptr_t)map_find_ptr(&r->order, node);
}

/* The last node that the cone reads and nobody else does. */
static Node *
next_of(Recognizer *r, const Cone *cone)
{
	Node *last = NULL;
	for (int i = 0; i < cone->count; i++)
		for (int k = 0; k < cone->nodes[i]->ninput; k++) {
			const Value *input = cone->nodes[i]->inputs[k];
			Node *node = input ? input->def : NULL;
			if (node && node->parent == cone->nodes[0]->parent && !is_in(cone, node) &&
			    (!last || place_of(r, node) > place_of(r, last)) && is_for_cone(cone, input) &&
			    traits_of(r, node)->is_fit)
				last = node;
		}
	return last;
}

static void
add_to(Recognizer *r, Cone *cone, Node *node)
{
	const Traits *traits = traits_of(r, node);
	cone->nodes[cone->count++] = node;
	cone->traits.functions |= traits->functions;
	cone->traits.has_root |= traits->has_root;
	for (int k = 0; k < REDUCE_COUNT; k++)
		cone->traits.reductions[k] += traits->reductions[k];
}

/* ---- comparing ---- */

/* Of nodes in order: flat, with the numbers that are known, without dims of 1. */
static Meaning
meaning_of(Recognizer *r, int count, const Node *const *nodes)
{
	Meaning m = meaning_of_nodes(r->arena, r->graph, count, nodes);
	const Array **known = NEW_N(r->arena, const Array *, m.program->ninput + 1);
	for (int i = 0; i < m.program->ninput; i++)
		known[i] = value_fixed(m.values[i]);
	m.program = program_fold_numbers(program_flatten(r->arena, m.program), known);
	m.program = program_squeeze_dims(r->arena, program_flatten(r->arena, m.program), NULL);
	return m;
}

static bool
is_read(const Program *program, const Tensor *input)
{
	for (int i = 0; i < program->nstage; i++)
		if (stage_reads(program->stages[i], input))
			return true;
	return false;
}

/* What the program reads, first what is as large as the result; others have fewer dims or are
 * constants. 0: there is none, or more than an operator has. */
static int
inputs_of(const Meaning *m, const Type *result, Value **inputs)
{
	int count = 0, first = -1;
	for (int i = 0; i < m->program->ninput; i++) {
		Value *value = m->values[i];
		if (!is_read(m->program, m->program->inputs[i]))
			continue;
		if (count == CONE_INPUTS)
			return 0;
		if (first < 0 && !value_fixed(value) && type_equal(&value->type, result))
			first = count;
		else if (!value_fixed(value) && value->type.rank >= result->rank)
			return 0;
		inputs[count++] = value;
	}
	if (first < 0)
		return 0;
	Value *large = inputs[first];
	inputs[first] = inputs[0];
	inputs[0] = large;
	return count;
}

/* Whether the operator's node means the same, and for which number. */
static bool
means(Recognizer *r, const Node *made, const Meaning *given, Solved *solved)
{
	ExprCtx *ctx = r->graph->ctx;
	const FormLeaves leaves = {.unknown = {expr_number(ctx, DT_F32, (double)UNKNOWN)}};
	Meaning meaning = meaning_of(r, 1, (const Node *const[]){made});
	int *place = NEW_N(r->arena, int, given->program->ninput + 1);
	for (int i = 0; i < given->program->ninput; i++) {
		place[i] = meaning.program->ninput - 1;
		while (place[i] >= 0 && meaning.values[place[i]] != given->values[i])
			place[i]--;
	}
	return program_solve(r->arena, &leaves, meaning.program, given->program, place, solved);
}

/* The operator on these inputs, for one axis. */
static bool
try_operator(Recognizer *r, const OperatorRow *row, const Cone *cone, const Meaning *given,
             int count, Value *const *inputs, int64_t axis)
{
	Node *sink = cone->nodes[0];
	Node *made =
		node_new(sink->parent, sink, row->name, &sink->loc, count, inputs, 1, (const char *[]){""});
	Solved solved;
	give_attributes(made, row, axis, UNKNOWN);
	bool is = node_try_infer(made) &&
	          type_equal(&made->outputs[0]->type, &sink->outputs[0]->type) &&
	          means(r, made, given, &solved) && (!*row->solved || solved.is_known[0]);
	if (is && *row->solved)
		give_attributes(made, row, axis, (float)solved.value[0]);
	if (!is) {
		node_remove(made);
		return false;
	}
	for (int i = 0; i < cone->count; i++)
		node_add_origins(made, cone->nodes[i]);
	map_set_ptr(&r->order, made, (void *)place_of(r, sink));
	put_in_place(r->context, row->name, sink, made);
	return true;
}

/* For each axis, and with the constants in each order. */
static bool
try_row(Recognizer *r, const OperatorRow *row, const Cone *cone, const Meaning *given, int count,
        Value **inputs)
{
	int rank = *row->axis ? inputs[0]->type.rank : 1;
	for (int axis = 1; axis <= rank; axis++)
		for (int turn = 0; turn < (count > 2 ? 2 : 1); turn++) {
			Value *other = inputs[1];
			if (try_operator(r, row, cone, given, count, inputs, -axis))
				return true;
			if (count > 2) {
				inputs[1] = inputs[2];
				inputs[2] = other;
			}
		}
	return false;
}

static bool
try_cone(Recognizer *r, const Cone *cone)
{
	const Node *nodes[CONE_NODES];
	for (int i = 0; i < cone->count; i++)
		nodes[i] = cone->nodes[cone->count - 1 - i];
	Meaning given = {0};
	for (int i = 0; i < ROW_COUNT; i++) {
		if (r->opset < ROWS[i].since || !fits(&cone->traits, &r->rows[i]))
			continue;
		if (!given.program)
			given = meaning_of(r, cone->count, nodes);
		Value *inputs[CONE_INPUTS];
		int count = inputs_of(&given, &cone->nodes[0]->outputs[0]->type, inputs);
		if (count >= ROWS[i].inputs && count <= op_find(r->graph->ops, "", ROWS[i].name)->ninput &&
		    try_row(r, &ROWS[i], cone, &given, count, inputs))
			return true;
	}
	return false;
}

static bool
recognize_at(Recognizer *r, Node *sink)
{
	Cone cone = {0};
	int sizes[CONE_NODES], count = 0;
	for (Node *node = traits_of(r, sink)->is_fit ? sink : NULL; node; node = next_of(r, &cone)) {
		add_to(r, &cone, node);
		if (!may_fit(r, &cone.traits) || cone.count == CONE_NODES)
			break;
		for (int i = 0; i < ROW_COUNT && cone.count > 1; i++)
			if (fits(&cone.traits, &r->rows[i])) {
				sizes[count++] = cone.count;
				break;
			}
	}
	while (count-- > 0) {
		Cone part = {0};
		for (int i = 0; i < sizes[count]; i++)
			add_to(r, &part, cone.nodes[i]);
		if (try_cone(r, &part))
			return true;
	}
	return false;
}

static bool
recognize_in(Recognizer *r, Region *region)
{
	bool changed = false;
	intptr_t place = 0;
	for (Node *node = region->first; node; node = node->next)
		map_set_ptr(&r->order, node, (void *)++place);
	for (Node *node = region->last, *before; node; node = before) {
		for (int i = 0; i < node->nregion; i++)
			changed |= recognize_in(r, node->regions[i]);
		const Node *behind = node->next;
		changed |= pass_may_rewrite(r->context) && recognize_at(r, node);
		before =
			(behind ? behind->prev : region->last)->prev; /* of the node, or of what was made */
	}
	return changed;
}

bool
pass_RecognizeOperators(Graph *graph, PassContext *context)
{
	Arena *arena = arena_new_in(graph->arena, "RecognizeOperators");
	Recognizer r = {.graph = graph,
	                .context = context,
	                .arena = arena,
	                .opset = graph_opset(graph),
	                .traits = {.arena = arena},
	                .order = {.arena = arena}};
	for (int i = 0; i < ROW_COUNT; i++)
		r.rows[i] = traits_of_row(&r, &ROWS[i]);
	bool changed = recognize_in(&r, graph->body);
	arena_reset(arena);
	return changed;
}
