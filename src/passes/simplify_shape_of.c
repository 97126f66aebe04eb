/* SimplifyShapeOf (after OpenVINO's SimplifyShapeOfSubGraph): what is computed of shapes comes from
 * Shape at once.
 *
 *     %s = Shape(%x)                              %x: f32[N,M,8]
 *     %n = Gather(%s, {0})
 *     %m = Gather(%s, {1})
 *     %t = Concat(%n, %m, {-1})             =>    %p = Shape(%x) {start=0, end=2}
 *                                                 %t = Concat(%p, {-1})
 *
 * Inference knows the elements, whatever computes them. A run of them that are dims of one tensor
 * whose shape is asked on the way, side by side, is one Shape; numbers are constants; several runs
 * are joined by one Concat. What they replace is what nobody else reads. A Concat that another one
 * alone reads becomes its parts there, whatever they are.
 *
 * measure  nodes that are no views, then those among them that are neither Shape nor Concat: only
 *          what makes that smaller is done
 * needs    shapes, topological order; an opset in which Shape has start and end
 * keeps    shapes, order, values
 * breaks   nothing
 * not for a machine: there nothing computes what is known
 */
#include "graph/expand.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"
#include "passes/replace.h"

enum { SHAPE_PARTS_SINCE = 15, MAX_CONE = 64, MAX_SOURCES = 16 };

/* Nodes that give integers, which a node is computed by, and that node. */
typedef struct Cone {
	int count, nsource, gone;
	Node *nodes[MAX_CONE];       /* the first `gone` are for the first one alone */
	Value *sources[MAX_SOURCES]; /* of which it asks the shape */
} Cone;

/* Elements side by side. */
typedef struct Run {
	Value *source; /* NULL: numbers */
	int start, count;
} Run;

typedef struct Cost {
	int nodes, others; /* that are no views; and neither Shape nor Concat */
} Cost;

static bool
is_view(const Node *node)
{
	static const OpCode views[] = {OP_Identity, OP_Reshape, OP_Flatten, OP_Squeeze, OP_Unsqueeze};
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (node->op->code == views[i])
			return true;
	return false;
}

static bool
is_in(const Cone *cone, const Node *node)
{
	for (int i = 0; i < cone->count; i++)
		if (cone->nodes[i] == node)
			return true;
	return false;
}

static void
collect(Cone *cone, Node *node)
{
	if (cone->count == MAX_CONE || is_in(cone, node))
		return;
	cone->nodes[cone->count++] = node;
	if (node->op->code == OP_Shape) {
		if (cone->nsource < MAX_SOURCES)
			cone->sources[cone->nsource++] = node->inputs[0];
		return;
	}
	for (int i = 0; i < node->ninput; i++) {
		Node *before = node->inputs[i] ? node->inputs[i]->def : NULL;
		if (before && before->parent == node->parent && node_is_function(before) &&
		    (dtype_is_integer(node->inputs[i]->type.dtype) ||
		     node->inputs[i]->type.dtype == DT_BOOL))
			collect(cone, before);
	}
}

/* Whether all who read it are among the first `count`. */
static bool
is_for_them(const Cone *cone, const Node *node, int count)
{
	const Value *y = node->outputs[0];
	for (int i = 0; i < y->uses.count; i++) {
		bool is = false;
		for (int k = 0; k < count; k++)
			is |= cone->nodes[k] == y->uses.data[i].node;
		if (!is)
			return false;
	}
	return true;
}

/* What goes with the cone's first node. */
static Cost
cost_of(Cone *cone)
{
	int gone = 1;
	for (int i = gone; i < cone->count; i++)
		if (is_for_them(cone, cone->nodes[i], gone)) {
			Node *node = cone->nodes[i];
			cone->nodes[i] = cone->nodes[gone];
			cone->nodes[gone++] = node;
			i = gone - 1;
		}
	Cost cost = {0};
	cone->gone = gone;
	for (int i = 0; i < gone; i++) {
		OpCode code = cone->nodes[i]->op->code;
		cost.nodes += !is_view(cone->nodes[i]);
		cost.others += !is_view(cone->nodes[i]) && code != OP_Shape && code != OP_Concat;
	}
	return cost;
}

/* How many elements from here on are the source's dims from `start` on. */
static int
length_of(const Known *known, int at, const Value *source, int start)
{
	int count = 0;
	while (at + count < known->count && start + count < source->type.rank &&
	       known->value[at + count] == source->type.dims[start + count])
		count++;
	return count;
}

static Run
run_at(const Cone *cone, const Known *known, int at)
{
	int64_t number;
	Run run = {0};
	while (at + run.count < known->count && known->value[at + run.count] &&
	       dim_is_const(known->value[at + run.count], &number))
		run.count++;
	for (int i = 0; i < cone->nsource && !run.count; i++)
		for (int start = 0; start < cone->sources[i]->type.rank; start++) {
			int count = length_of(known, at, cone->sources[i], start);
			if (count > run.count)
				run = (Run){cone->sources[i], start, count};
		}
	return run;
}

/* The number of runs that are all of it; 0: some element is none of a shape. */
static int
runs_of(const Cone *cone, const Known *known, Run *runs)
{
	int count = 0;
	for (int at = 0; at < known->count; at += runs[count++].count) {
		if (count == ARRAY_MAX_RANK)
			return 0;
		runs[count] = run_at(cone, known, at);
		if (runs[count].count == 0)
			return 0;
	}
	return count;
}

/* Whether a Shape gives the run already, and stays. */
static bool
is_there(const Cone *cone, const Run *run)
{
	for (int i = cone->gone; i < cone->count; i++) {
		const Node *node = cone->nodes[i];
		const Known *known = node->op->code == OP_Shape ? node->outputs[0]->known : NULL;
		if (known && node->inputs[0] == run->source && known->count == run->count &&
		    length_of(known, 0, run->source, run->start) == run->count)
			return true;
	}
	return false;
}

static Cost
cost_of_runs(const Cone *cone, const Run *runs, int count)
{
	Cost cost = {.nodes = count > 1};
	for (int i = 0; i < count; i++) {
		bool is_new = runs[i].source && !is_there(cone, &runs[i]);
		for (int k = 0; k < i; k++) /* equal ones become one */
			is_new &= runs[k].source != runs[i].source || runs[k].start != runs[i].start ||
			          runs[k].count != runs[i].count;
		cost.nodes += is_new;
	}
	return cost;
}

static Value *
made_of_run(const Expander *m, const Run *run, const Dim *const *numbers)
{
	Graph *graph = m->region->graph;
	int64_t data[ARRAY_MAX_RANK];
	if (run->source) {
		Value *source = run->source;
		Node *made = expander_node(m, "Shape", 1, &source, 1);
		if (run->count < run->source->type.rank) {
			node_set_int(made, "start", run->start);
			node_set_int(made, "end", run->start + run->count);
		}
		return expander_result(m, made);
	}
	for (int i = 0; i < run->count; i++)
		dim_is_const(numbers[i], &data[i]);
	return graph_constant(graph, graph_fresh_name(graph, "numbers"),
	                      array_vector_i64(graph->arena, run->count, data));
}

static Node *
made_of_runs(Node *node, const Run *runs, int count)
{
	const Expander m = {node->parent, node, node};
	Graph *graph = node->parent->graph;
	const Value *y = node->outputs[0];
	Value *parts[ARRAY_MAX_RANK], *whole;
	for (int i = 0, at = 0; i < count; at += runs[i++].count)
		parts[i] = made_of_run(&m, &runs[i], y->known->value + at);
	whole = parts[0];
	if (count > 1) {
		Node *made = expander_node(&m, "Concat", count, parts, 1);
		node_set_int(made, "axis", 0);
		whole = expander_result(&m, made);
	}
	if (y->type.rank == 0)
		whole = expander_binary(&m, "Reshape", whole,
		                        graph_constant(graph, graph_fresh_name(graph, "shape"),
		                                       array_vector_i64(graph->arena, 0, NULL)));
	return whole->def;
}

/* What stands in its place; NULL: it stays. */
static Node *
simplify(PassContext *context, Node *node)
{
	const Value *y = node->noutput == 1 ? node->outputs[0] : NULL;
	Run runs[ARRAY_MAX_RANK];
	if (!y || !y->known || y->type.dtype != DT_I64 || y->type.rank > 1 || is_view(node) ||
	    y->known->count > ARRAY_MAX_RANK || !node_is_function(node) ||
	    symbol_reads(node->parent->graph, y) || !pass_may_rewrite(context))
		return NULL;
	Cone cone = {.count = 0};
	collect(&cone, node);
	int count = runs_of(&cone, y->known, runs);
	if (count == 0 || (count == 1 && !runs[0].source))
		return NULL;
	Cost before = cost_of(&cone), after = cost_of_runs(&cone, runs, count);
	if (after.nodes > before.nodes || (after.nodes == before.nodes && before.others == 0))
		return NULL;
	Node *made = made_of_runs(node, runs, count);
	put_in_place(context, "parts", node, made);
	return made;
}

static int64_t
axis_of(const Node *concat)
{
	int64_t axis = attr_int(concat, "axis");
	return axis < 0 ? axis + concat->outputs[0]->type.rank : axis;
}

/* A Concat with another's parts in the place of that, which it alone reads; NULL: there is none. */
static Node *
join(PassContext *context, Node *node)
{
	const Expander m = {node->parent, node, node};
	for (int i = 0; node->op->code == OP_Concat && i < node->ninput; i++) {
		Node *inner = node->inputs[i]->def;
		if (!inner || inner->op->code != OP_Concat || inner->parent != node->parent ||
		    node->inputs[i]->uses.count != 1 || axis_of(inner) != axis_of(node) ||
		    !pass_may_rewrite(context))
			continue;
		int count = 0;
		Value **parts = NEW_N(node->parent->graph->arena, Value *, node->ninput + inner->ninput);
		for (int k = 0; k < node->ninput; k++)
			for (int j = 0; j < (k == i ? inner->ninput : 1); j++)
				parts[count++] = k == i ? inner->inputs[j] : node->inputs[k];
		Node *made = expander_node(&m, "Concat", count, parts, 1);
		node_set_int(made, "axis", axis_of(node));
		if (node_infers_as(made, &node->outputs[0]->type)) {
			node_add_origins(made, inner);
			put_in_place(context, "join", node, made);
			return made;
		}
		node_remove(made);
	}
	return NULL;
}

static bool
simplify_region(PassContext *context, Region *region)
{
	bool changed = false;
	for (Node *node = region->last; node; node = node->prev) {
		for (int i = 0; i < node->nregion; i++)
			changed |= simplify_region(context, node->regions[i]);
		Node *made = simplify(context, node), *joined;
		node = made ? made : node;
		changed |= made != NULL;
		while ((joined = join(context, node))) {
			node = joined;
			changed = true;
		}
	}
	return changed;
}

bool
pass_SimplifyShapeOf(Graph *graph, PassContext *context)
{
	bool has_machine = context->target && context->target->device;
	if (has_machine || graph_opset(graph) < SHAPE_PARTS_SINCE)
		return false;
	bool changed = simplify_region(context, graph->body);
	region_update_captures(graph->body);
	return changed;
}
