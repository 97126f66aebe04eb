/* FuseOps: group nodes so that each group reads its inputs and writes its outputs once.
 *
 *     %c = Conv(%x, %w)
 *     %b = Add(%c, %bias)       =>   %r = fused(%x, %w, %bias) { … yield %r }
 *     %r = Relu(%b)
 *
 * Each node in order asks to join the group of one of its producers. Whether it may is decided on
 * the composed expression, never on operator names: the stages must share loops (group.h), the
 * device's maker must take them for one kernel, and nothing may be computed twice unless it is
 * free. A group holds at most one heavy stage (a sum of products: convolution, matrix product), and
 * behind it only stages that read its result in place, so that a vendor call can absorb them;
 * nothing is put before it. Where calls may be of several nodes (lower/covering.c) what is turned
 * or repeated for products alone is not joined with what makes it (moves.h). A call has one
 * result: where libraries are called, a heavy group ends with the node whose result others need as
 * well, and what would stand behind that begins another group.
 *
 * needs    shapes, topological order
 * keeps    shapes, order
 * breaks   operators: behind it many stand within groups
 * not     nodes without a meaning, with random or stateful effect, or across regions
 */
#include <string.h>

#include "graph/infer.h"
#include "graph/meaning.h"
#include "lower/node.h"
#include "lower/moves.h"
#include "passes/passes.h"
#include "program/forms.h"
#include "program/group.h"
#include "target/vendor.h"

enum { MAX_NODES = 64 }; /* longer groups gain nothing and make long kernels */

typedef struct Cluster {
	VEC(const Node *) nodes; /* in order */
	bool has_heavy;
	bool is_open; /* others may join */
} Cluster;

typedef struct Fuser {
	Arena *arena;
	Graph *graph;
	PassContext *context;
	Map cluster_of; /* Node -> Cluster */
	Map deciding; /* Value -> itself: a symbol is read from its elements, before anything uses it */
	Map behind;   /* Node -> itself: a heavy group would have a second result with it */
	VEC(Cluster *) clusters;
	Region *region;
} Fuser;

/* ---- what a program is ---- */

static int
count_heavy(const Program *program)
{
	int count = 0;
	for (int s = 0; s < program->nstage; s++)
		count += stage_is_heavy(program->stages[s]);
	return count;
}

/* Everything behind the heavy stage is map stages over its own box. */
static bool
is_heavy_with_epilogue(const Program *program)
{
	if (program->nstage == 0 || !stage_is_heavy(program->stages[0]))
		return false;
	const Stage *heavy = program->stages[0];
	for (int s = 1; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		if (stage->kind != STAGE_map || stage->nloop != heavy->nloop)
			return false;
		for (int i = 0; i < stage->nloop; i++)
			if (stage->iters[i].hi != heavy->iters[i].hi)
				return false;
	}
	return true;
}

/* ---- clusters ---- */

static Cluster *
cluster_of(const Fuser *f, const Node *node)
{
	return map_find_ptr(&f->cluster_of, node);
}

/* Whether some node of `cluster` is reached going backwards from `from`, other than directly. */
typedef struct Search {
	const Fuser *fuser;
	const Cluster *target;
	Map seen;
} Search;

static bool
depends_on(Search *search, const Node *from)
{
	VEC(const Node *) pending = {0};
	Arena *arena = search->fuser->arena;
	vec_push(arena, &pending, from);
	while (pending.count > 0) {
		const Node *node = pending.data[--pending.count];
		if (map_find_ptr(&search->seen, node))
			continue;
		map_set_ptr(&search->seen, node, search);
		const Cluster *cluster = cluster_of(search->fuser, node);
		if (cluster == search->target)
			return true;
		/* a cluster runs as one: everything it needs comes before it */
		int count = cluster ? cluster->nodes.count : 1;
		for (int m = 0; m < count; m++) {
			const Node *member = cluster ? cluster->nodes.data[m] : node;
			for (int i = 0; i < member->ninput; i++)
				if (member->inputs[i] && member->inputs[i]->def &&
				    member->inputs[i]->def->parent == search->fuser->region)
					vec_push(arena, &pending, member->inputs[i]->def);
			for (int r = 0; r < member->nregion; r++)
				for (int c = 0; c < member->regions[r]->captures.count; c++) {
					const Value *value = member->regions[r]->captures.data[c];
					if (value->def && value->def->parent == search->fuser->region)
						vec_push(arena, &pending, value->def);
				}
		}
	}
	return false;
}

/* Joining must not make a cycle: no other operand may depend on the cluster. */
static bool
would_cycle(const Fuser *f, const Cluster *cluster, const Node *node)
{
	Search search = {.fuser = f, .target = cluster, .seen = {.arena = f->arena}};
	for (int i = 0; i < node->ninput; i++) {
		const Node *def = node->inputs[i] ? node->inputs[i]->def : NULL;
		if (!def || def->parent != f->region || cluster_of(f, def) == cluster)
			continue;
		if (depends_on(&search, def))
			return true;
	}
	return false;
}

static bool
is_member(const Cluster *cluster, const Node *node)
{
	for (int i = 0; i < cluster->nodes.count; i++)
		if (cluster->nodes.data[i] == node)
			return true;
	return false;
}

static bool
is_used_outside(const Fuser *f, const Cluster *cluster, const Node *joining, const Value *value)
{
	if (map_find_ptr(&f->deciding, value))
		return true;
	for (int i = 0; i < value->uses.count; i++) {
		const Node *user = value->uses.data[i].node;
		if (!user || (user != joining && !is_member(cluster, user)))
			return true;
	}
	return value_is_graph_output(value);
}

typedef VEC(Value *) ValueVec;

static void
collect_outputs(const Fuser *f, const Cluster *cluster, const Node *joining, ValueVec *outputs)
{
	for (int n = 0; n < cluster->nodes.count + (joining ? 1 : 0); n++) {
		const Node *node = n < cluster->nodes.count ? cluster->nodes.data[n] : joining;
		for (int i = 0; i < node->noutput; i++)
			if (node->outputs[i] && is_used_outside(f, cluster, joining, node->outputs[i]))
				vec_push(f->arena, outputs, node->outputs[i]);
	}
}

/* The composed program of a cluster with one more node, inlined as lowering will do. */
static const Program *
compose(const Fuser *f, const Cluster *cluster, const Node *joining)
{
	int count = cluster->nodes.count, noperand = 0;
	const Node **nodes = NEW_N(f->arena, const Node *, count + 1);
	for (int i = 0; i < count; i++)
		nodes[i] = cluster->nodes.data[i];
	if (joining)
		nodes[count++] = joining;
	for (int i = 0; i < count; i++)
		noperand += nodes[i]->ninput;
	ValueVec outputs = {0};
	collect_outputs(f, cluster, joining, &outputs);
	Value **inputs = NEW_N(f->arena, Value *, noperand + 1);
	Program *program = nodes_meaning(f->graph, count, nodes, outputs.count, outputs.data, inputs);
	bool *is_constant = NEW_N(f->arena, bool, program->ninput + 1);
	for (int i = 0; i < program->ninput; i++)
		is_constant[i] = value_fixed(inputs[i]) != NULL;
	return program_inline_codes(program_with_values(f->graph->arena, program, inputs), is_constant);
}

/* Element by element it makes wider numbers of such of 8 bits, or fewer, or of bf16: who reads its
 * result makes that as cheaply, from fewer bytes. */
static bool
widens(const Node *node)
{
	if (node->ninput < 1 || node->noutput != 1 || !node->inputs[0] || !node_may_fuse(node))
		return false;
	const Type *x = &node->inputs[0]->type, *y = &node->outputs[0]->type;
	bool is_short = dtype_is_code(x->dtype) || x->dtype == DT_BF16;
	return x->kind == TYPE_TENSOR && y->kind == TYPE_TENSOR && is_short &&
	       dtype_bits(y->dtype) > (dtype_is_code(x->dtype) ? 8 : 16) &&
	       (node->op->code == OP_DequantizeLinear || node->op->code == OP_Cast);
}

static bool
have_same_type(const Value *a, const Value *b)
{
	bool are = a && a->type.kind == TYPE_TENSOR && b->type.kind == TYPE_TENSOR &&
	           a->type.dtype == b->type.dtype && a->type.rank == b->type.rank;
	for (int d = 0; are && d < a->type.rank; d++)
		are = a->type.dims[d] == b->type.dims[d];
	return are;
}

/* As wide as it is stored in any case: a result of the graph, or added to another such tensor, as
 * residuals are. A sum of bf16 is f32 before it is rounded. */
static bool
is_stored_wide(const Node *cast)
{
	const Value *wide = cast->outputs[0];
	if (cast->op->code != OP_Cast || wide->uses.count != 1)
		return false;
	const Node *user = wide->uses.data[0].node;
	if (!user)
		return value_is_graph_output(wide);
	const Value *other =
		user->op->code == OP_Add ? user->inputs[1 - wide->uses.data[0].index] : NULL;
	return other && other != wide && have_same_type(other, wide);
}

/* Its group stores what it reads anyway, or could have a library store it. */
static bool
widens_stored(const Fuser *f, const Cluster *cluster, const Node *node)
{
	const Value *x = widens(node) ? node->inputs[0] : NULL;
	if (!x || !x->def || cluster_of(f, x->def) != cluster)
		return false;
	return is_used_outside(f, cluster, node, x) || (cluster->has_heavy && !is_stored_wide(node));
}

/* What the group has so far moves elements, too. */
static bool
only_moves(const Fuser *f, const Cluster *cluster)
{
	bool only = true, repeats = false;
	for (int i = 0; i < cluster->nodes.count && only; i++)
		only = node_moves(f->arena, f->graph, cluster->nodes.data[i], &repeats);
	return only;
}

static const char *
refusal(const Fuser *f, const Cluster *cluster, const Node *node, const Program *own)
{
	const char *reason = NULL;
	if (!pass_may_rewrite(f->context))
		return "left out";
	if (!cluster->is_open || cluster->nodes.count >= MAX_NODES)
		return "the producer's group is closed";
	if (vendor_calls_programs(f->context->target)) {
		if (node_turns_for_products(f->arena, f->graph, node))
			return "products read it as it lies";
		if (node_repeats_for_products(f->arena, f->graph, node) && !only_moves(f, cluster))
			return "products read it as it was before";
	}
	if (count_heavy(own) > 0)
		return "nothing is computed inside the loops of a sum of products";
	if (widens_stored(f, cluster, node))
		return "it would store wider numbers";
	if (would_cycle(f, cluster, node))
		return "another operand depends on the group";
	const Program *joined = compose(f, cluster, node);
	if (joined->nstage == 0)
		return "nothing to compute";
	if (cluster->has_heavy && map_find_ptr(&f->behind, node))
		return "the sum of products would have two results";
	if (cluster->has_heavy && !is_heavy_with_epilogue(joined))
		return "not a plain epilogue of the sum of products";
	if (!group_is_good(f->arena, joined, f->context->target, &reason))
		return reason;
	return NULL;
}

/* Nothing joins behind a node that decides a symbol: its step must be over before others begin. */
static bool
decides_symbol(const Fuser *f, const Node *node)
{
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] && map_find_ptr(&f->deciding, node->outputs[i]))
			return true;
	return false;
}

static Cluster *
start_cluster(Fuser *f, const Node *node, const Program *program)
{
	Cluster *cluster = NEW(f->arena, Cluster);
	vec_push(f->arena, &cluster->nodes, node);
	const char *reason;
	cluster->has_heavy = count_heavy(program) > 0;
	cluster->is_open =
		program->nstage > 0 && !decides_symbol(f, node) &&
		(cluster->has_heavy ? is_heavy_with_epilogue(program)
	                        : group_is_good(f->arena, program, f->context->target, &reason));
	map_set_ptr(&f->cluster_of, node, cluster);
	vec_push(f->arena, &f->clusters, cluster);
	return cluster;
}

/* What alone makes an operand wider comes into the group that reads it, before its last node. */
static void
take_widened(Fuser *f, Cluster *cluster, const Node *node)
{
	for (int i = 0; i < node->ninput; i++) {
		const Node *def = node->inputs[i] ? node->inputs[i]->def : NULL;
		Cluster *other = def && def->parent == f->region ? cluster_of(f, def) : NULL;
		const char *reason;
		if (!other || other == cluster || other->nodes.count != 1 || !widens(def) ||
		    is_used_outside(f, cluster, node, def->outputs[0]))
			continue;
		Cluster joined = {.nodes = {.count = 0}};
		for (int k = 0; k + 1 < cluster->nodes.count; k++)
			vec_push(f->arena, &joined.nodes, cluster->nodes.data[k]);
		vec_push(f->arena, &joined.nodes, def);
		vec_push(f->arena, &joined.nodes, node);
		const Program *program = compose(f, &joined, NULL);
		bool is_good = cluster->has_heavy
		                   ? is_heavy_with_epilogue(program)
		                   : group_is_good(f->arena, program, f->context->target, &reason);
		if (!is_good)
			continue;
		cluster->nodes = joined.nodes;
		other->nodes.count = 0;
		map_set_ptr(&f->cluster_of, def, cluster);
	}
}

static void
place_node(Fuser *f, const Node *node)
{
	Value **values = NEW_N(f->arena, Value *, node->ninput + 1);
	const Program *own = node_program(f->graph->arena, f->graph, node, values);
	if (node_is_denied(f->context, node, "fusion"))
		return;
	for (int i = 0; i < node->ninput; i++) {
		const Node *def = node->inputs[i] ? node->inputs[i]->def : NULL;
		Cluster *cluster = def && def->parent == f->region ? cluster_of(f, def) : NULL;
		if (!cluster)
			continue;
		const char *reason = refusal(f, cluster, node, own);
		pass_log(f->context, "join", node->loc.node, reason ? NULL : def->loc.node, reason);
		if (reason)
			continue;
		vec_push(f->arena, &cluster->nodes, node);
		map_set_ptr(&f->cluster_of, node, cluster);
		cluster->is_open = !decides_symbol(f, node);
		take_widened(f, cluster, node);
		return;
	}
	take_widened(f, start_cluster(f, node, own), node);
}

/* ---- making the nodes ---- */

static Node *
node_after(const Cluster *cluster)
{
	return cluster->nodes.data[cluster->nodes.count - 1]->next;
}

static void
redirect_uses(Region *inside, Value *old, Value *new)
{
	for (int i = old->uses.count - 1; i >= 0; i--) {
		Use use = old->uses.data[i];
		if (use.node && use.node->parent != inside)
			node_set_input(use.node, use.index, new);
		else if (use.region && use.region != inside)
			region_set_result(use.region, use.index, new);
	}
}

static void
make_fused(Fuser *f, const Cluster *cluster)
{
	ValueVec outputs = {0}, inputs = {0};
	Map seen = {.arena = f->arena};
	collect_outputs(f, cluster, NULL, &outputs);
	for (int n = 0; n < cluster->nodes.count; n++) {
		const Node *node = cluster->nodes.data[n];
		for (int i = 0; i < node->ninput; i++) {
			Value *value = node->inputs[i];
			bool is_inner = value && value->def && is_member(cluster, value->def);
			if (!value || is_inner || map_find_ptr(&seen, value))
				continue;
			map_set_ptr(&seen, value, value);
			vec_push(f->arena, &inputs, value);
		}
	}
	const char **names = NEW_N(f->arena, const char *, outputs.count + 1);
	for (int i = 0; i < outputs.count; i++)
		names[i] = "";
	const Node *last = cluster->nodes.data[cluster->nodes.count - 1];
	Node *fused = node_new(f->region, node_after(cluster), "fused", &last->loc, inputs.count,
	                       inputs.data, outputs.count, names);
	Region *body = region_new(fused, "group");
	for (int n = 0; n < cluster->nodes.count; n++) {
		Node *node = (Node *)(uintptr_t)cluster->nodes.data[n];
		node_move(node, body, NULL);
		node_add_origins(fused, node);
	}
	for (int i = 0; i < outputs.count; i++) {
		Value *inner = outputs.data[i], *outer = fused->outputs[i];
		value_swap_names(inner, outer); /* the group's result goes by the model's name */
		outer->type = inner->type;
		outer->known = inner->known;
		redirect_uses(body, inner, outer);
		symbols_move(f->graph, inner, outer);
	}
	region_set_results(body, outputs.count, outputs.data);
}

/* What stands behind the last node that leaves a heavy cluster with one result is noted, so that it
 * won't join. Known at the end only: on the way, SiLU has two. Whether there was any. */
static bool
note_behind(Fuser *f, Cluster *cluster)
{
	int before = f->behind.count;
	ValueVec outputs = {0};
	collect_outputs(f, cluster, NULL, &outputs);
	while (outputs.count > 1 && cluster->nodes.count > 1) {
		const Node *last = cluster->nodes.data[--cluster->nodes.count];
		map_set_ptr(&f->behind, last, (void *)(uintptr_t)last);
		outputs.count = 0;
		collect_outputs(f, cluster, NULL, &outputs);
	}
	return f->behind.count > before;
}

static bool
have_one_result(Fuser *f)
{
	bool is_so = true;
	for (int i = 0; i < f->clusters.count; i++)
		if (f->clusters.data[i]->has_heavy && vendor_calls(f->context->target))
			is_so &= !note_behind(f, f->clusters.data[i]);
	return is_so;
}

static void
place_nodes(Fuser *f, const Region *region)
{
	f->clusters.count = 0;
	f->cluster_of = (Map){.arena = f->arena};
	for (const Node *node = region->first; node; node = node->next)
		if (node_may_fuse(node))
			place_node(f, node);
}

/* Each reader of a wider copy gets one of its own, so that it can make it itself. */
static bool
split_widened(Region *region, Node *node)
{
	if (!widens(node) || value_is_graph_output(node->outputs[0]))
		return false;
	Value *y = node->outputs[0];
	const Node *first = y->uses.count ? y->uses.data[0].node : NULL;
	bool changed = false;
	for (int i = y->uses.count - 1; i > 0; i--) {
		Use use = y->uses.data[i];
		const char *name = "";
		if (!use.node || use.node == first || use.node->parent != region)
			continue;
		Node *copy = node_new_row(region, node->next, node->op, &node->loc, node->ninput,
		                          node->inputs, 1, &name);
		for (int k = 0; k < node->nattr; k++)
			node_add_attr(copy, &node->attrs[k]);
		node_add_origins(copy, node);
		node_infer(region->graph, copy);
		node_set_input(use.node, use.index, copy->outputs[0]);
		changed = true;
	}
	return changed;
}

static bool
fuse_region(Fuser *f, Region *region)
{
	bool changed = false;
	for (Node *node = region->first; node; node = node->next)
		for (int i = 0; i < node->nregion; i++)
			changed |= fuse_region(f, node->regions[i]);
	f->region = region;
	for (Node *node = region->first; node; node = node->next)
		changed |= split_widened(region, node);
	do
		place_nodes(f, region);
	while (!have_one_result(f));
	for (int i = 0; i < f->clusters.count; i++)
		if (f->clusters.data[i]->nodes.count > 1) {
			make_fused(f, f->clusters.data[i]);
			changed = true;
		}
	return changed;
}

bool
pass_FuseOps(Graph *graph, PassContext *context)
{
	Arena *arena = arena_new_in(graph->arena, "FuseOps");
	Fuser f = {.arena = arena,
	           .graph = graph,
	           .context = context,
	           .deciding = {.arena = arena},
	           .behind = {.arena = arena}};
	for (int i = 0; i < graph->symbols.count; i++) {
		Value *value = graph->symbols.data[i].value;
		if (graph->symbols.data[i].source == SYMBOL_ELEMENT)
			map_set_ptr(&f.deciding, value, value);
	}
	bool changed = fuse_region(&f, graph->body);
	graph_sort(graph);
	region_update_captures(graph->body);
	arena_reset(arena);
	return changed;
}
