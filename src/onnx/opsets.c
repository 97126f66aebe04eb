/* What an opset knows: operators and attributes that are younger than it (opsets.def), and which
 * attributes became inputs (moved.def). And lists of attributes. */
#include <string.h>

#include "onnx/export.h"

#define MOVED(opset, ops, name, kind, input) {opset, ops, name, ATTR_##kind, input},
const MovedAttr moved_attrs[] = {
#include "onnx/moved.def"
};
#undef MOVED
const int moved_attr_count = countof(moved_attrs);

const Attr *
attrs_find(const AttrVec *attrs, const char *name)
{
	for (int i = 0; i < attrs->count; i++)
		if (strcmp(attrs->data[i].name, name) == 0)
			return &attrs->data[i];
	return NULL;
}

void
attrs_remove(AttrVec *attrs, const char *name)
{
	const Attr *attr = attrs_find(attrs, name);
	if (!attr)
		return;
	int i = (int)(attr - attrs->data);
	attrs->count--;
	memmove(&attrs->data[i], &attrs->data[i + 1], (size_t)(attrs->count - i) * sizeof *attr);
}

void
attrs_set(Arena *arena, AttrVec *attrs, Attr attr)
{
	attrs_remove(attrs, attr.name);
	vec_push(arena, attrs, attr);
}

/* Attributes that came later than their operator, or than opset 6: left out where they say what the
 * row's default says, otherwise the opset that brought them is needed. */
typedef struct LaterAttr {
	int since;
	const char *ops, *attrs;
} LaterAttr;

static const LaterAttr LATER_ATTRS[] = {
#define FIRST(opset, ops)
#define LATER(opset, ops, attrs) {opset, ops, attrs},
#include "onnx/opsets.def"
#undef LATER
#undef FIRST
};

static bool
says_default(const OutNode *node, const Attr *attr)
{
	const AttrSpec *spec = op_attr(node->node->op, attr->name);
	const Attr *fallback = spec ? spec->fallback : NULL;
	if (!fallback || fallback->kind != attr->kind)
		return false;
	if (attr->kind == ATTR_INT)
		return attr->i == fallback->i;
	if (attr->kind == ATTR_FLOAT)
		return attr->f == fallback->f;
	return attr->kind == ATTR_STRING && strcmp(attr->s, fallback->s) == 0;
}

void
out_drop_later(OutNode *node)
{
	for (size_t i = 0; i < countof(LATER_ATTRS); i++) {
		const LaterAttr *later = &LATER_ATTRS[i];
		if (node->out->opset >= later->since || !word_is_among(node->op, later->ops))
			continue;
		for (int k = node->attrs.count - 1; k >= 0; k--) {
			const Attr *attr = &node->attrs.data[k];
			bool is_counted = strcmp(attr->name, "num_outputs") == 0; /* split_equal looks at it */
			if (!word_is_among(attr->name, later->attrs))
				continue;
			if (!says_default(node, attr) && !is_counted)
				out_need(node, later->since);
			attrs_remove(&node->attrs, attr->name);
		}
	}
}

/* Operators that came, or got the form they are written in, after opset 1. */
static const struct {
	int opset;
	const char *ops;
} FIRST_OPSETS[] = {
#define FIRST(opset, ops) {opset, ops},
#define LATER(opset, ops, attrs)
#include "onnx/opsets.def"
#undef LATER
#undef FIRST
};

void
out_need_operator(OutNode *node)
{
	for (size_t i = 0; i < countof(FIRST_OPSETS); i++)
		if (word_is_among(node->op, FIRST_OPSETS[i].ops))
			out_need(node, FIRST_OPSETS[i].opset);
}
