/* The text of a graph.
 *
 *     graph g(%x: f32[N,3,8,8]) -> %y {
 *       symbol N in 1..64                       a range other than the default
 *       symbol E1 = %s[0]                       read from an element; dim(%v, 1); a scalar
 *       assume N == M  "dim 0 of the inputs"
 *       %w: f32[4,3,1,1] = weight 0             or small ones: = {1, 2, 3}
 *       %c: f32[N,4,8,8] @nc16hw = Conv(%x, %w, _) {strides=[1,1]}  "conv1" from "a", "b"
 *       %y: f32[N,4,8,8] = If(%b)  "if" then_branch uses %c { … yield %t } else_branch …
 *     }
 *
 * Names that are not plain are quoted: %"/layer1/Relu_output_0". Ids never appear.
 */
#include <ctype.h>
#include <string.h>

#include "expr/index/text.h"
#include "graph/inner.h"
#include "graph/text.h"

enum { WIDEST_LEFT = 44 };

/* ---- names ----------------------------------------------------------------------------------- */

/* Whether the tokenizer reads %name as one token. */
static bool
is_plain(const char *name)
{
	for (const char *c = name; *c; c++) {
		bool is_dot = *c == '.' && c > name && (isalpha((unsigned char)c[1]) || c[1] == '_');
		if (!isalnum((unsigned char)*c) && *c != '_' && *c != '$' && !is_dot)
			return false;
	}
	return *name != 0;
}

static void
print_name(Buf *buf, const Value *value)
{
	if (!value) {
		buf_puts(buf, "_");
		return;
	}
	buf_puts(buf, "%");
	if (is_plain(value->name))
		buf_puts(buf, value->name);
	else
		buf_quote(buf, value->name);
}

static void
print_names(Buf *buf, int count, Value *const *values)
{
	for (int i = 0; i < count; i++) {
		buf_puts(buf, i ? ", " : "");
		print_name(buf, values[i]);
	}
}

static void
print_declared(Buf *buf, const Value *value)
{
	print_name(buf, value);
	if (!value)
		return;
	if (value->type.kind != TYPE_UNKNOWN) {
		buf_puts(buf, ": ");
		type_print(buf, &value->type);
	}
	if (value->layout)
		buf_printf(buf, " @%s", value->layout);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void
print_element(Buf *buf, const Array *array, int64_t i)
{
	if (array->type == DT_STRING)
		buf_quote(buf, ((const char *const *)array->data)[i]);
	else if (array->type == DT_U64)
		buf_printf(buf, "%llu", (unsigned long long)dtype_load_i64(DT_U64, array->data, i));
	else if (dtype_is_integer(array->type) || array->type == DT_BOOL)
		buf_printf(buf, "%lld", (long long)dtype_load_i64(array->type, array->data, i));
	else if (array->type == DT_F64)
		buf_double(buf, dtype_load_f64(DT_F64, array->data, i));
	else
		buf_float(buf, (float)dtype_load_f64(array->type, array->data, i));
}

static void
print_elements(Buf *buf, const Array *array)
{
	int64_t count = array_count(array);
	buf_puts(buf, "{");
	for (int64_t i = 0; i < count; i++) {
		buf_puts(buf, i ? ", " : "");
		print_element(buf, array, i);
	}
	buf_puts(buf, "}");
}

/* Numbers that some operator's meaning reads, as the scales of Resize: a text without weights is to
 * say what it means. */
static bool
is_parameter(const Value *value)
{
	for (int i = 0; i < value->uses.count; i++) {
		const Use *use = &value->uses.data[i];
		if (use->node && op_input(use->node->op, use->index)->vector)
			return true;
	}
	return false;
}

static bool
is_inline(const Value *value)
{
	const Array *array = value->constant;
	if (array->type == DT_STRING)
		return true;
	bool is_integer = dtype_is_integer(array->type) || array->type == DT_BOOL;
	int most = is_integer || is_parameter(value) ? TEXT_INLINE_MAX : TEXT_INLINE_FLOATS;
	return dtype_class(array->type) != DC_X && array_count(array) <= most;
}

static void
print_constant(Buf *buf, const Value *value)
{
	if (is_inline(value))
		print_elements(buf, value->constant);
	else
		buf_printf(buf, "weight %d", value->weight);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void
print_array(Buf *buf, const Array *array)
{
	buf_puts(buf, dtype_name(array->type));
	for (int i = 0; i < array->rank; i++)
		buf_printf(buf, "%s%lld", i ? "," : "[", (long long)array->dims[i]);
	buf_puts(buf, array->rank ? "]" : "");
	print_elements(buf, array);
}

static void
print_list(Buf *buf, const Attr *attr)
{
	buf_puts(buf, "[");
	for (int64_t i = 0; i < attr->count; i++) {
		buf_puts(buf, i ? "," : "");
		if (attr->kind == ATTR_INTS)
			buf_printf(buf, "%lld", (long long)attr->ints[i]);
		else if (attr->kind == ATTR_FLOATS)
			buf_float(buf, attr->floats[i]);
		else
			buf_quote(buf, attr->strings[i]);
	}
	buf_puts(buf, "]");
}

void
attr_print(Buf *buf, const Attr *attr)
{
	buf_printf(buf, "%s=", attr->name);
	switch (attr->kind) {
	case ATTR_INT:
		buf_printf(buf, "%lld", (long long)attr->i);
		break;
	case ATTR_FLOAT:
		buf_float(buf, attr->f);
		break;
	case ATTR_STRING:
		buf_quote(buf, attr->s);
		break;
	case ATTR_TENSOR:
		print_array(buf, attr->tensor);
		break;
	case ATTR_TYPE:
		type_print(buf, attr->type);
		break;
	case ATTR_INTS:
	case ATTR_FLOATS:
	case ATTR_STRINGS:
		print_list(buf, attr);
		break;
	case ATTR_NONE:
	case ATTR_GRAPH:
		break;
	}
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void print_region(Buf *buf, const Region *region, int indent);

static void
print_indent(Buf *buf, int indent)
{
	buf_printf(buf, "%*s", indent, "");
}

/* A group's region has no name and no list of captures: they are the node's inputs. */
static void
print_regions(Buf *buf, const Node *node, int indent)
{
	for (int i = 0; i < node->nregion; i++) {
		const Region *region = node->regions[i];
		if (node->op->code != OP_fused) {
			buf_printf(buf, " %s", region->name);
			for (int k = 0; k < region->nparam; k++) {
				buf_puts(buf, k ? ", " : "(");
				print_declared(buf, region->params[k]);
			}
			buf_puts(buf, region->nparam ? ")" : "");
			if (region->captures.count)
				buf_puts(buf, " uses ");
			print_names(buf, region->captures.count, region->captures.data);
		}
		buf_puts(buf, " {\n");
		print_region(buf, region, indent + 2);
		print_indent(buf, indent + 2);
		buf_puts(buf, region->nresult ? "yield " : "yield");
		print_names(buf, region->nresult, region->results);
		buf_puts(buf, "\n");
		print_indent(buf, indent);
		buf_puts(buf, "}");
	}
}

static void
print_left(Buf *buf, const Node *node)
{
	for (int i = 0; i < node->noutput; i++) {
		buf_puts(buf, i ? ", " : "");
		print_declared(buf, node->outputs[i]);
	}
}

/* Its name, and what it was made from where that is not the node of this name alone. */
static void
print_origins(Buf *buf, const Node *node)
{
	bool is_named = node->loc.node && node->loc.node[0];
	if (is_named) {
		buf_puts(buf, "  ");
		buf_quote(buf, node->loc.node);
	}
	if (is_named && node->origins.count == 1 && strcmp(node->origins.data[0], node->loc.node) == 0)
		return;
	for (int i = 0; i < node->origins.count; i++) {
		buf_puts(buf, i ? ", " : " from ");
		buf_quote(buf, node->origins.data[i]);
	}
}

static void
print_node(Buf *buf, const Node *node, int indent, int column)
{
	print_indent(buf, indent);
	print_left(buf, node);
	buf_pad(buf, column);
	buf_printf(buf, " = %s(", op_text(buf->arena, node->op));
	print_names(buf, node->ninput, node->inputs);
	buf_puts(buf, ")");
	for (int i = 0; i < node->nattr; i++) {
		buf_puts(buf, i ? ", " : " {");
		attr_print(buf, &node->attrs[i]);
	}
	buf_puts(buf, node->nattr ? "}" : "");
	print_origins(buf, node);
	print_regions(buf, node, indent);
	buf_puts(buf, "\n");
}

void
node_print(Buf *buf, const Node *node)
{
	print_node(buf, node, 0, 0);
}

void
value_print(Buf *buf, const Value *value)
{
	print_declared(buf, value);
}

/* ---- symbols and assumptions ----------------------------------------------------------------- */

/* A symbol that an input's dim defines, in the default range, says all by standing there. */
static void
print_symbol(Buf *buf, const Graph *graph, const SymbolDef *def, int indent)
{
	const Symbol *symbol = def->symbol;
	bool has_range = symbol->lo != 0 || symbol->hi != INT32_MAX;
	bool is_input =
		def->source == SYMBOL_DIM && !def->value->def && def->value->region == graph->body;
	if (is_input && !has_range)
		return;
	print_indent(buf, indent);
	buf_printf(buf, "symbol %s", symbol->name);
	if (has_range)
		buf_printf(buf, " in %lld..%lld", (long long)symbol->lo, (long long)symbol->hi);
	if (!is_input && def->source == SYMBOL_DIM) {
		buf_puts(buf, " = dim(");
		print_name(buf, def->value);
		buf_printf(buf, ", %d)", def->index);
	} else if (def->source == SYMBOL_ELEMENT) {
		buf_puts(buf, " = ");
		print_name(buf, def->value);
		buf_printf(buf, "[%d]", def->index);
	} else if (def->source == SYMBOL_EXPR) {
		buf_puts(buf, " = ");
		expr_print(buf, def->expr);
	}
	buf_puts(buf, "\n");
}

static void
print_assumption(Buf *buf, const Assumption *assumption, int indent)
{
	print_indent(buf, indent);
	buf_puts(buf, "assume ");
	dim_print(buf, assumption->a);
	buf_puts(buf, " == ");
	dim_print(buf, assumption->b);
	buf_puts(buf, "  ");
	buf_quote(buf, assumption->what ? assumption->what : "");
	buf_puts(buf, "\n");
}

/* What a region binds and checks on each entry; symbols that values define stand in the body. */
static void
print_bound(Buf *buf, const Region *region, int indent)
{
	const Graph *graph = region->graph;
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		if ((def->value ? graph->body : def->region) == region)
			print_symbol(buf, graph, def, indent);
	}
	for (int i = 0; i < graph->assumptions.count; i++)
		if (graph->assumptions.data[i].region == region)
			print_assumption(buf, &graph->assumptions.data[i], indent);
}

/* ---- regions --------------------------------------------------------------------------------- */

/* Where the = of a region's lines stands. */
static int
left_width(Arena *arena, const Region *region, int indent)
{
	int widest = 0;
	Buf left = {.arena = arena};
	for (const Node *node = region->first; node; node = node->next) {
		left.size = 0;
		print_left(&left, node);
		int width = indent + (int)left.size;
		if (width > widest && width <= WIDEST_LEFT)
			widest = width;
	}
	return widest;
}

static void
print_region(Buf *buf, const Region *region, int indent)
{
	if (region->parent)
		print_bound(buf, region, indent);
	int column = left_width(buf->arena, region, indent);
	for (const Node *node = region->first; node; node = node->next)
		print_node(buf, node, indent, column);
}

/* ---- the graph ------------------------------------------------------------------------------- */

static void
print_constants(Buf *buf, const Graph *graph)
{
	int column = 0;
	Buf left = {.arena = buf->arena};
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < graph->constants.count; i++) {
			left.size = 0;
			print_declared(&left, graph->constants.data[i]);
			if (pass == 0) {
				int width = 2 + (int)left.size;
				column = width > column && width <= WIDEST_LEFT ? width : column;
				continue;
			}
			buf_printf(buf, "  %s", buf_text(&left));
			buf_pad(buf, column);
			buf_puts(buf, " = ");
			print_constant(buf, graph->constants.data[i]);
			buf_puts(buf, "\n");
		}
	}
}

void
graph_print(Buf *buf, const Graph *graph)
{
	buf_puts(buf, "graph ");
	if (is_plain(graph->name) && !isdigit((unsigned char)graph->name[0]))
		buf_puts(buf, graph->name);
	else
		buf_quote(buf, graph->name);
	buf_puts(buf, "(");
	for (int i = 0; i < graph->body->nparam; i++) {
		buf_puts(buf, i ? ", " : "");
		print_declared(buf, graph->body->params[i]);
		if (graph->body->params[i]->is_default) {
			buf_puts(buf, " = ");
			print_constant(buf, graph->body->params[i]);
		}
	}
	buf_puts(buf, graph->body->nresult ? ") -> " : ")");
	print_names(buf, graph->body->nresult, graph->body->results);
	buf_puts(buf, " {\n");
	print_bound(buf, graph->body, 2);
	print_constants(buf, graph);
	print_region(buf, graph->body, 2);
	buf_puts(buf, "}\n");
}
