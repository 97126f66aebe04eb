/* EliminateCommonSubexpr: compute once what two nodes compute alike.
 *
 * Value numbering in order: a node equals an earlier one when operator, attributes (defaults filled
 * in), inputs with their holes, and asked-for outputs agree, and the earlier one is visible where
 * the later one stands (same region or around it). Integers that are known before running, as parts
 * of shapes are, are equal by what is known, whatever computes them:
 *
 *     %s = Concat(%n, {2, 8})              {N, 2, 8}
 *     %t = Where(Equal(%s, -1), 1, %s)     {N, 2, 8}    =>   %s
 *
 * Constants are equal by type, dims and bytes. Random and stateful nodes are never merged; nodes
 * with regions are left alone.
 *
 * needs    shapes, topological order
 * keeps    shapes, order, values
 * breaks   nothing
 */
#include <string.h>

#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"

typedef struct Numbering {
	Arena *arena;
	Graph *graph;
	PassContext *context;
	Map nodes;                /* text of the node's key -> NodeList */
	bool changed, has_joined; /* has_joined: dims of what was merged have symbols of their own */
} Numbering;

typedef VEC(Node *) NodeList;

static void
key_attr(Buf *key, const Attr *attr)
{
	buf_printf(key, ";%s=", attr->name);
	switch (attr->kind) {
	case ATTR_INT:
		buf_printf(key, "%lld", (long long)attr->i);
		break;
	case ATTR_FLOAT:
		buf_printf(key, "%a", (double)attr->f);
		break;
	case ATTR_STRING:
		buf_quote(key, attr->s);
		break;
	case ATTR_INTS:
		for (int64_t i = 0; i < attr->count; i++)
			buf_printf(key, "%lld,", (long long)attr->ints[i]);
		break;
	case ATTR_FLOATS:
		for (int64_t i = 0; i < attr->count; i++)
			buf_printf(key, "%a,", (double)attr->floats[i]);
		break;
	default: /* strings, tensors, types: by identity */
		buf_printf(key, "%p", (const void *)attr->strings);
	}
}

static const char *
key_of(Numbering *n, const Node *node)
{
	Buf key = {.arena = n->arena};
	buf_printf(&key, "%s.%s(", node->op->domain, node->op->name);
	for (int i = 0; i < node->ninput; i++)
		buf_printf(&key, "%s,", node->inputs[i] ? node->inputs[i]->name : "_");
	buf_puts(&key, ")->");
	for (int i = 0; i < node->noutput; i++)
		buf_putc(&key, node->outputs[i] ? 'y' : '_');
	for (int i = 0; i < node->op->nattr; i++) {
		const Attr *attr = attr_find(node, node->op->attrs[i].name);
		if (attr)
			key_attr(&key, attr);
	}
	return buf_text(&key);
}

/* Of a single output whose integers are all known; NULL: it is none. */
static const char *
key_of_known(Numbering *n, const Node *node)
{
	const Value *y = node->noutput == 1 ? node->outputs[0] : NULL;
	if (!y || !y->known || !dtype_is_integer(y->type.dtype))
		return NULL;
	Buf key = {.arena = n->arena};
	buf_printf(&key, "%d:", (int)y->type.dtype);
	for (int d = 0; d < y->type.rank; d++)
		buf_printf(&key, "%p,", (const void *)y->type.dims[d]);
	for (int i = 0; i < y->known->count; i++) {
		if (!y->known->value[i])
			return NULL;
		buf_printf(&key, ":%p", (const void *)y->known->value[i]);
	}
	return buf_text(&key);
}

/* What data decides has a symbol of its own in each of two equal results: values computed from the
 * one have dims that are the other's. */
static void
join_dims(Numbering *n, const Value *value, const Value *earlier)
{
	const Type *type = &value->type;
	for (int d = 0; type->kind == TYPE_TENSOR && d < type->rank; d++) {
		if (type->dims[d] == earlier->type.dims[d])
			continue;
		dim_assume_equal(type->dims[d]->ctx, type->dims[d], earlier->type.dims[d]);
		n->has_joined = true;
	}
}

static void
merge(Numbering *n, Node *node, Node *earlier)
{
	for (int i = 0; i < node->noutput; i++) {
		if (!node->outputs[i])
			continue;
		join_dims(n, node->outputs[i], earlier->outputs[i]);
		value_replace_uses(node->outputs[i], earlier->outputs[i]);
	}
	pass_log(n->context, "merge", node->loc.node, earlier->loc.node, NULL);
	node_add_origins(earlier, node);
	node_remove(node);
	n->changed = true;
}

static bool
is_graph_result(const Node *node)
{
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] && value_is_graph_output(node->outputs[i]))
			return true;
	return false;
}

/* The node of that key that is seen from the region; else NULL, and `node` is the next one's. */
static Node *
earlier_of(Numbering *n, const char *key, Node *node)
{
	NodeList *list = key ? map_find(&n->nodes, key) : NULL;
	if (!key)
		return NULL;
	if (!list) {
		list = NEW(n->arena, NodeList);
		map_set(&n->nodes, key, list);
	}
	for (int i = 0; i < list->count; i++)
		if (region_encloses(list->data[i]->parent, node->parent))
			return list->data[i];
	vec_push(n->arena, list, node);
	return NULL;
}

static void
number_region(Numbering *n, Region *region)
{
	for (Node *node = region->first, *next; node; node = next) {
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			number_region(n, node->regions[i]);
		if (node_effect(node) != EFFECT_pure || node->nregion > 0 || !pass_may_rewrite(n->context))
			continue;
		Node *earlier = earlier_of(n, key_of(n, node), node);
		if (!earlier)
			earlier = earlier_of(n, key_of_known(n, node), node);
		if (earlier && !is_graph_result(node)) /* which keeps its name */
			merge(n, node, earlier);
	}
}

/* Constants with equal bytes become one. */
static void
merge_constants(Numbering *n)
{
	Map seen = {.arena = n->arena};
	Graph *graph = n->graph;
	for (int i = 0; i < graph->constants.count; i++) {
		Value *value = graph->constants.data[i];
		size_t bytes;
		if (value->is_default || value->constant->type == DT_STRING ||
		    !dtype_bytes(value->constant->type, array_count(value->constant), &bytes))
			continue;
		Hash128 hash = hash128(value->constant->data, bytes);
		const char *key = arena_printf(
			n->arena, "%d:%d:%016llx%016llx:%zu", (int)value->constant->type, value->constant->rank,
			(unsigned long long)hash.high, (unsigned long long)hash.low, bytes);
		Value *first = map_find(&seen, key);
		if (first && array_same_bytes(first->constant, value->constant)) {
			if (value->uses.count > 0) {
				value_replace_uses(value, first);
				n->changed = true;
			}
		} else if (!first)
			map_set(&seen, key, value);
	}
}

bool
pass_EliminateCommonSubexpr(Graph *graph, PassContext *context)
{
	Arena *arena = arena_new_in(graph->arena, "common subexpressions");
	Numbering n = {.arena = arena, .graph = graph, .context = context, .nodes = {.arena = arena}};
	merge_constants(&n);
	number_region(&n, graph->body);
	region_update_captures(graph->body);
	if (n.has_joined)
		graph_infer(graph); /* a plan knows nothing of what is assumed: views are of equal dims */
	arena_reset(arena);
	return n.changed;
}
