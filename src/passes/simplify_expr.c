/* SimplifyExpr: read through nodes that change nothing.
 *
 *     %a = Transpose(%x) {perm=[0,2,1]}
 *     %y = Transpose(%a) {perm=[0,2,1]}      =>   %x
 *
 * Stated on expressions, so that no operator is named: nodes are composed, scalars are simplified
 * by the laws of graph_rules.def, and what is left is compared with something smaller.
 *
 *     none    an earlier value: casts there and back, x * 1, a Slice of all
 *     first   what the node before gives: Relu(Relu(x)), Round(Floor(x))
 *     past    the node on what the one before reads: Add(Expand(x), b), Reshape(Squeeze(x))
 *     one     one operator that moves elements: Transpose(Reshape(Transpose(x))), Slice(Slice(x))
 *     behind  first the node, then what moves elements, if more that does follows:
 *             Transpose(Add(Transpose(x), Transpose(z)))
 *     zeros   an absent input, where that means zeros, too: LSTM's first state
 *
 * Each makes a way from inputs to outputs shorter by a node and none longer, but for the last:
 * there nodes that move elements go towards the outputs, and meet.
 *
 * needs    shapes, topological order
 * keeps    shapes, order, values
 * breaks   nothing
 */
#include <string.h>

#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"
#include "passes/replace.h"
#include "passes/scalar_laws.h"
#include "passes/views.h"
#include "program/forms.h"

enum { MAX_CHAIN = 6 };

typedef struct Simplifier {
	Graph *graph;
	PassContext *context;
	Arena *arena;
	ScalarLaws *laws;
	Map reads;   /* Node to Reads */
	Node *again; /* what was made last, to be looked at next; NULL: nothing */
} Simplifier;

/* ---- meanings ---- */

/* Of nodes in order, without maps in between. */
static Meaning
meaning_of(Simplifier *s, int count, const Node *const *nodes)
{
	Meaning m = meaning_of_nodes(s->arena, s->graph, count, nodes);
	m.program = laws_apply(s->laws, m.program, m.values);
	m.program = program_flatten(s->arena, m.program);
	m.program = laws_apply(s->laws, m.program, m.values);
	return m;
}

/* ---- nodes ---- */

typedef struct Reads {
	bool is_map; /* each element is a scalar of others: no sums, nothing in order */
	int moved;   /* the input whose elements it only moves or casts; -1: none */
} Reads;

static const Reads *
reads_of(Simplifier *s, const Node *node)
{
	Reads *reads = map_find_ptr(&s->reads, node);
	if (reads)
		return reads;
	reads = NEW(s->arena, Reads);
	map_set_ptr(&s->reads, node, reads);
	*reads = (Reads){true, -1};
	const Program *plain = node_meaning(s->graph, node);
	for (int i = 0; i < plain->nstage; i++)
		reads->is_map &= plain->stages[i]->kind == STAGE_map && !plain->stages[i]->scan;
	if (!reads->is_map)
		return reads;
	Meaning m = meaning_of(s, 1, &node);
	int input = view_input(m.program), place = 0;
	while (input >= 0 && node->inputs[place] != m.values[input])
		place++;
	reads->moved = input < 0 ? -1 : place;
	return reads;
}

static bool
is_map(Simplifier *s, const Node *node)
{
	return reads_of(s, node)->is_map;
}

/* The value whose elements the node puts into other places, or casts; NULL: it does something
 * else. */
static Value *
moved_by(Simplifier *s, const Node *node)
{
	int place = node_is_function(node) ? reads_of(s, node)->moved : -1;
	return place < 0 ? NULL : node->inputs[place];
}

static Node *
plain_before(const Node *node, const Value *value)
{
	Node *def = value ? value->def : NULL;
	return def && def->parent == node->parent && node_is_function(def) ? def : NULL;
}

/* Whether its elements are part of what is computed. Others decide dims, axes or places, and must
 * be the vectors that operators want, though inference takes a scalar for one. */
static bool
is_data(const Meaning *m, const Value *value)
{
	for (int i = 0; i < m->program->ninput; i++)
		for (int k = 0; m->values[i] == value && k < m->program->nstage; k++)
			if (stage_reads(m->program->stages[k], m->program->inputs[i]))
				return true;
	return false;
}

/* ---- rewrites ---- */

/* `value` in the place of what the node gives; false: both are known outside by their names. */
static bool
take(Simplifier *s, const char *rule, Node *node, Value *value)
{
	bool is_free = value->def && !value_is_graph_output(value);
	if (value_fixed(value) || (!is_free && value_is_graph_output(node->outputs[0])))
		return false;
	pass_log(s->context, rule, node->loc.node, value->def ? value->def->loc.node : NULL, NULL);
	if (value->def)
		node_add_origins(value->def, node);
	value_replace_uses(node->outputs[0], value);
	node_drop(node);
	return true;
}

/* `made` in the place of `node`, and looked at next. */
static void
replace(Simplifier *s, const char *rule, Node *node, Node *made)
{
	put_in_place(s->context, rule, node, made);
	s->again = made;
}

/* ---- the laws ---- */

/* A single node that gives what it gets. */
static bool
is_none(Simplifier *s, Node *node)
{
	bool has_equal = false;
	for (int i = 0; i < node->ninput; i++)
		has_equal |= node->inputs[i] && type_equal(&node->inputs[i]->type, &node->outputs[0]->type);
	if (!has_equal || !is_map(s, node))
		return false;
	Meaning m = meaning_of(s, 1, (const Node *const *)&node);
	int input = view_input(m.program);
	return input >= 0 && view_is_same(m.program) && take(s, "none", node, m.values[input]);
}

/* The one input that is not a constant; NULL: there are several, or none. */
static Value *
only_variable(const Node *node)
{
	Value *only = NULL;
	for (int i = 0; i < node->ninput; i++) {
		Value *input = node->inputs[i];
		if (!input || input == only || value_fixed(input))
			continue;
		if (only)
			return NULL;
		only = input;
	}
	return only;
}

/* A pair that gives what it gets, what its first node gives, or what its last one gives without. */
static bool
skip_first(Simplifier *s, Node *node, Node *before)
{
	const Node *const pair[] = {before, node};
	Value *between = before->outputs[0], *x = moved_by(s, before);
	if (!x)
		x = only_variable(node) ? only_variable(before) : NULL;
	if (!x || !is_map(s, pair[0]) || (x != moved_by(s, before) && !is_map(s, pair[1])))
		return false;
	Meaning both = meaning_of(s, 2, pair);
	int input = view_input(both.program);
	if (input >= 0 && view_is_same(both.program) && take(s, "none", node, both.values[input]))
		return true;
	if (type_equal(&between->type, &node->outputs[0]->type)) {
		Meaning first = meaning_of(s, 1, pair);
		if (meanings_are_same(&both, &first) && take(s, "first", node, between))
			return true;
	}
	Node *made = node_reading(node, between, x);
	bool is = node_infers_as(made, &node->outputs[0]->type);
	if (is) {
		Meaning without = meaning_of(s, 1, (const Node *const *)&made);
		is = (x->type.rank == between->type.rank || is_data(&without, x)) &&
		     meanings_are_same(&both, &without);
	}
	if (!is) {
		node_remove(made);
		return false;
	}
	node_add_origins(made, before);
	replace(s, "past", node, made);
	return true;
}

/* Nodes that each move what the one before gives, the last one first. */
static int
chain_of(Simplifier *s, Node *node, const Node **chain)
{
	int count = 0;
	for (Value *x; count < MAX_CHAIN && node && (x = moved_by(s, node)); count++) {
		chain[count] = node;
		node = plain_before(node, x);
	}
	return count;
}

/* `made` where it gives what `node` does, else NULL, and it is gone. */
static Node *
typed(Node *made, const Node *node)
{
	if (!made || node_infers_as(made, &node->outputs[0]->type))
		return made;
	node_remove(made);
	return NULL;
}

/* The last `count` nodes as none, or one. */
static bool
replace_chain(Simplifier *s, Node *node, int count, const Node *const *chain)
{
	const Node **nodes = NEW_N(s->arena, const Node *, count);
	for (int i = 0; i < count; i++)
		nodes[i] = chain[count - 1 - i];
	Meaning m = meaning_of(s, count, nodes);
	int input = view_input(m.program);
	Value *x = input < 0 ? NULL : m.values[input];
	if (!x || value_fixed(x))
		return false;
	if (view_is_same(m.program) && take(s, "none", node, x))
		return true;
	Node *made = typed(view_node(m.program, x, node), node);
	if (!made && count == 2)
		made = typed(view_joined(x, nodes[0], node), node);
	if (!made)
		return false;
	for (int i = 0; i < count; i++)
		node_add_origins(made, chain[i]);
	replace(s, "one", node, made);
	return true;
}

static bool
shorten_chain(Simplifier *s, Node *node)
{
	const Node *chain[MAX_CHAIN];
	for (int count = chain_of(s, node, chain); count > 1; count--)
		if (replace_chain(s, node, count, chain))
			return true;
	return false;
}

/* Whether the only way on comes to a node that moves elements. */
static bool
is_moved_later(Simplifier *s, const Node *node)
{
	for (int i = 0; i < MAX_CHAIN; i++) {
		const Value *y = node->outputs[0];
		if (y->uses.count != 1 || !node_is_function(y->uses.data[0].node))
			return false;
		node = y->uses.data[0].node;
		if (moved_by(s, node) == y)
			return true;
	}
	return false;
}

/* Whether a node leaves elements of x out, as Slice does: what works on them is to stay behind. */
static bool
leaves_out(const Simplifier *s, const Value *x, const Value *moved)
{
	ExprCtx *ctx = s->graph->ctx;
	return !dim_proves_le(ctx, type_count(ctx, &x->type), type_count(ctx, &moved->type));
}

/* What the operands are without the nodes that move them, which are listed; false: some operand is
 * not moved, was more before, or is for others, too. */
static bool
unmoved(Simplifier *s, const Node *node, Value **inputs, const Node **moves, int *count)
{
	*count = 0;
	for (int i = 0; i < node->ninput; i++) {
		Value *input = inputs[i] = node->inputs[i];
		const Array *fixed = input ? value_fixed(input) : NULL;
		if (!input || (fixed && array_count(fixed) == 1))
			continue;
		const Node *before = plain_before(node, input);
		inputs[i] = before && input->uses.count == 1 ? moved_by(s, before) : NULL;
		if (!inputs[i] || inputs[i]->type.dtype != input->type.dtype ||
		    leaves_out(s, inputs[i], input))
			return false;
		moves[(*count)++] = before;
	}
	return *count > 0;
}

/* f(move(x), move(z)) as move(f(x, z)). */
static bool
move_behind(Simplifier *s, Node *node)
{
	const Node **nodes = NEW_N(s->arena, const Node *, node->ninput + 1);
	Value **inputs = NEW_N(s->arena, Value *, node->ninput + 1);
	int count;
	if (moved_by(s, node) || !is_moved_later(s, node) || !unmoved(s, node, inputs, nodes, &count))
		return false;
	const Node *move = nodes[0];
	Value *x = moved_by(s, move);
	nodes[count] = node;
	Meaning now = meaning_of(s, count + 1, nodes);
	Node *inner = node_again(node, node, inputs), *outer = NULL;
	Type type = x->type;
	type.dtype = node->outputs[0]->type.dtype;
	if (node_infers_as(inner, &type)) {
		Value **moved = arena_memdup(s->arena, move->inputs, (size_t)move->ninput * sizeof *moved);
		for (int i = 0; i < move->ninput; i++)
			moved[i] = moved[i] == x ? inner->outputs[0] : moved[i];
		outer = node_again(move, node, moved);
	}
	if (outer && node_infers_as(outer, &node->outputs[0]->type)) {
		Meaning then = meaning_of(s, 2, (const Node *const[]){inner, outer});
		if (meanings_are_same(&now, &then)) {
			replace(s, "behind", node, outer);
			s->again = inner;
			return true;
		}
	}
	if (outer)
		node_remove(outer);
	node_remove(inner);
	return false;
}

/* Zeros of whatever dims, also open ones, or parts of them. */
static bool
is_zeros(Simplifier *s, const Value *value)
{
	for (Value *x; value->def && (x = moved_by(s, value->def));)
		value = x;
	const Array *fixed = value_fixed(value);
	const char *data = fixed ? fixed->data : NULL;
	size_t bytes = fixed ? array_bytes(fixed) : 0;
	if (fixed)
		return bytes > 0 && data[0] == 0 && !memcmp(data, data + 1, bytes - 1);
	if (!value->def || !node_is_function(value->def))
		return false;
	Meaning m = meaning_of(s, 1, (const Node *const[]){value->def});
	const Expr *body = m.program->nstage == 1 && m.program->stages[0]->kind == STAGE_map
	                       ? m.program->stages[0]->body[0]
	                       : NULL;
	return body && body->op == EX_const && body->value.u64 == 0;
}

/* An input of zeros goes where nothing says zeros as well: the first states of recurrent cells. */
static bool
leave_zeros(Simplifier *s, Node *node)
{
	bool changed = false;
	for (int i = 0; i < node->ninput && i < node->op->ninput; i++) {
		Value *input = node->op->inputs[i].is_zero ? node->inputs[i] : NULL;
		if (!input || !pass_may_rewrite(s->context) || !is_zeros(s, input))
			continue;
		pass_log(s->context, "zeros", node->loc.node, input->name, NULL);
		node_set_input(node, i, NULL);
		changed = true;
	}
	return changed;
}

static bool
simplify_node(Simplifier *s, Node *node)
{
	if (!node_is_function(node) || value_fixed(node->outputs[0]))
		return false;
	if (is_none(s, node))
		return true;
	for (int i = 0; i < node->ninput; i++) {
		Node *before = plain_before(node, node->inputs[i]);
		if (before && skip_first(s, node, before))
			return true;
	}
	return shorten_chain(s, node) || move_behind(s, node);
}

static bool
simplify_region(Simplifier *s, Region *region)
{
	bool changed = false;
	for (Node *node = region->first, *next; node; node = next) {
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			changed |= simplify_region(s, node->regions[i]);
		s->again = NULL;
		changed |= leave_zeros(s, node);
		changed |= pass_may_rewrite(s->context) && simplify_node(s, node);
		next = s->again ? s->again : next;
	}
	return changed;
}

bool
pass_SimplifyExpr(Graph *graph, PassContext *context)
{
	Arena *arena = arena_new_in(graph->arena, "SimplifyExpr");
	Simplifier s = {graph, context, arena, laws_new(arena, graph->ctx), {.arena = arena}, NULL};
	bool changed = false;
	while (simplify_region(&s, graph->body)) /* what has one reader less may go on */
		changed = true;
	arena_reset(arena);
	return changed;
}
