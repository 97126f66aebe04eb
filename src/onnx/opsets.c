/* What an opset knows: operators and attributes that are younger than it (opsets.def), and which
 * attributes became inputs (moved.def). */
#include <string.h>

#include "onnx/export.h"
#include "onnx/names.h"

#define MOVED(opset, ops, name, kind, input) {opset, ops, name, ATTR_##kind, input},
const MovedAttr moved_attrs[] = {
#include "onnx/moved.def"
};
#undef MOVED
const int moved_attr_count = countof(moved_attrs);

bool
op_is_among(const char *op, const char *ops)
{
	size_t length = strlen(op);
	for (const char *at = ops; *at; at += strspn(at, " ")) {
		size_t word = strcspn(at, " ");
		if (word == length && memcmp(at, op, length) == 0)
			return true;
		at += word;
	}
	return false;
}

/* Attributes that came later than their operator, or than opset 6: left out where they say what the
 * row's default says, otherwise the opset that brought them is needed. */
typedef struct LaterAttr {
	int since;
	const char *op, *attr;
} LaterAttr;

static const LaterAttr LATER_ATTRS[] = {
#define FIRST(op, opset)
#define LATER(op, attr, opset) {opset, #op, #attr},
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
		if (node->out->opset >= later->since || strcmp(later->op, node->op) != 0)
			continue;
		const Attr *attr = out_find(node, later->attr);
		bool is_counted = strcmp(later->attr, "num_outputs") == 0; /* split_equal looks at it */
		if (attr && !says_default(node, attr) && !is_counted)
			out_need(node, later->since);
		if (attr)
			out_drop(node, later->attr);
	}
}

/* Operators that came, or got the form they are written in, after opset 1. */
static const struct {
	const char *op;
	int opset;
} FIRST_OPSETS[] = {
#define FIRST(op, opset) {#op, opset},
#define LATER(op, attr, opset)
#include "onnx/opsets.def"
#undef LATER
#undef FIRST
};

void
out_need_operator(OutNode *node)
{
	for (size_t i = 0; i < countof(FIRST_OPSETS); i++)
		if (strcmp(FIRST_OPSETS[i].op, node->op) == 0)
			out_need(node, FIRST_OPSETS[i].opset);
}
