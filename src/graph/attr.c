/* Attributes: the node's own, or the default of the operator's row. */
#include <string.h>

#include "graph/graph.h"

static Attr *
find_own(const Node *node, const char *name)
{
	for (int i = 0; i < node->nattr; i++)
		if (!strcmp(node->attrs[i].name, name))
			return &node->attrs[i];
	return NULL;
}

void
node_add_attr(Node *node, const Attr *attr)
{
	const AttrSpec *spec = op_attr(node->op, attr->name);
	if (!spec)
		fail(&node->loc, "attribute %s is not one of %s", attr->name, node->op->name);
	if (attr->kind != (AttrKind)spec->kind)
		fail(&node->loc, "attribute %s is of kind %s, expected %s", attr->name,
		     attr_kind_name(attr->kind), attr_kind_name((AttrKind)spec->kind));
	Attr *own = find_own(node, attr->name);
	if (!own) {
		Arena *arena = node->parent->graph->arena;
		size_t size = (size_t)node->nattr * sizeof(Attr);
		node->attrs = arena_grow(arena, node->attrs, size, size + sizeof(Attr));
		own = &node->attrs[node->nattr++];
	}
	*own = *attr;
	own->name = spec->name;
}

void
node_set_int(Node *node, const char *name, int64_t number)
{
	node_add_attr(node, &(Attr){.name = name, .kind = ATTR_INT, .i = number});
}

const Attr *
attr_find(const Node *node, const char *name)
{
	const Attr *own = find_own(node, name);
	if (own)
		return own;
	const AttrSpec *spec = op_attr(node->op, name);
	must(spec);
	return spec->fallback;
}

bool
attr_for_step(const Attr *attr, StepAttr *made)
{
	bool is_single = attr->kind == ATTR_INT || attr->kind == ATTR_FLOAT;
	*made = (StepAttr){.name = attr->name, .count = is_single ? 1 : (int)attr->count};
	switch (attr->kind) {
	case ATTR_INT:
	case ATTR_INTS:
		made->kind = SA_INTS;
		made->ints = is_single ? &attr->i : attr->ints;
		return true;
	case ATTR_FLOAT:
	case ATTR_FLOATS:
		made->kind = SA_FLOATS;
		made->floats = is_single ? &attr->f : attr->floats;
		return true;
	case ATTR_STRING:
		made->kind = SA_STRING;
		made->string = attr->s;
		return true;
	default:
		return false;
	}
}

static const Attr *
find_kind(const Node *node, const char *name, AttrKind kind)
{
	const Attr *attr = attr_find(node, name);
	must(!attr || attr->kind == kind);
	(void)kind;
	return attr;
}

int64_t
attr_int(const Node *node, const char *name)
{
	const Attr *attr = find_kind(node, name, ATTR_INT);
	return attr ? attr->i : 0;
}

float
attr_float(const Node *node, const char *name)
{
	const Attr *attr = find_kind(node, name, ATTR_FLOAT);
	return attr ? attr->f : 0;
}

const char *
attr_string(const Node *node, const char *name)
{
	const Attr *attr = find_kind(node, name, ATTR_STRING);
	return attr ? attr->s : NULL;
}

const int64_t *
attr_ints(const Node *node, const char *name, int64_t *count)
{
	const Attr *attr = find_kind(node, name, ATTR_INTS);
	*count = attr ? attr->count : -1;
	return attr ? attr->ints : NULL;
}

bool
attr_has(const Node *node, const char *name)
{
	return find_own(node, name) != NULL;
}
