/* What the graphs of a run had in them: asked for by name, so that what never came is seen. */
#include "graphs.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static bool
is_in_body_twice(const Region *body, const Value *value)
{
	int count = 0;
	for (int i = 0; i < body->nresult; i++)
		count += body->results[i] == value;
	return count > 1;
}

static void
add_value(Coverage *c, const Graph *graph, const Value *value)
{
	const Type *type = &value->type;
	if (type->kind != TYPE_TENSOR)
		return;
	c->types[type->dtype]++;
	c->rank_0 += type->rank == 0;
	for (int i = 0; i < type->rank; i++) {
		c->dim_of_1 += dim_is(type->dims[i], 1);
		c->no_elements += dim_is(type->dims[i], 0);
	}
	c->used_twice += value->uses.count > 1;
	bool is_result = value_is_graph_output(value);
	c->input_is_output += is_result && !value->def && !value->constant;
	c->constant_is_output += is_result && value->constant;
	c->scalar_is_output += is_result && type->rank == 0;
	c->value_is_two_outputs += is_in_body_twice(graph->body, value);
}

static bool
has_negative(const Node *node)
{
	const Value *steps = node->op->code == OP_Slice && node->ninput > 4 ? node->inputs[4] : NULL;
	if (!steps || !steps->constant)
		return false;
	for (int64_t i = 0; i < array_count(steps->constant); i++)
		if (dtype_load_i64(steps->constant->type, steps->constant->data, i) < 0)
			return true;
	return false;
}

static bool
is_reversed(const Node *node)
{
	int64_t count;
	const int64_t *ways =
		node->op->code == OP_Scan ? attr_ints(node, "scan_output_directions", &count) : NULL;
	for (int64_t i = 0; ways && i < count; i++)
		if (ways[i])
			return true;
	return false;
}

static void
add_pairs(Coverage *c, const Node *node)
{
	const Value *first = node->outputs[0];
	c->scalar_of_a_view += first && first->type.rank == 0;
	for (int k = 0; k < node->noutput; k++) {
		const Value *value = node->outputs[k];
		for (int i = 0; value && i < value->uses.count; i++) {
			const Node *user = value->uses.data[i].node;
			c->views[node->op->code][user ? (int)row_of(user->op->code)->kind : KIND_COUNT]++;
		}
	}
}

static void
add_operands(Coverage *c, const Node *node, Kind kind)
{
	for (int i = 0; i < node->ninput; i++)
		for (int k = i + 1; k < node->ninput; k++)
			if (node->inputs[i] && node->inputs[i] == node->inputs[k]) {
				c->twice_by_a_node++;
				c->concat_of_one_value += kind == KIND_concat;
			}
	const Value *a = node->ninput > 0 ? node->inputs[0] : NULL;
	const Value *b = node->ninput > 1 ? node->inputs[1] : NULL;
	if (kind == KIND_elementwise && a && b)
		c->broadcast += !type_equal(&a->type, &b->type);
	if ((kind == KIND_matmul || kind == KIND_conv) && b) {
		c->weight_operand += b->constant != NULL;
		c->input_operand += !b->constant && !b->def;
	}
}

static const Node *
maker_of(const Value *value, OpCode code)
{
	return value && value->def && value->def->op->code == code ? value->def : NULL;
}

/* A letter twice in one term of an Einsum. */
static bool
has_diagonal(const char *equation)
{
	for (const char *term = equation; *term && *term != '-'; term += *term == ',') {
		const char *first = term;
		for (; *term && *term != ',' && *term != '-'; term++)
			for (const char *before = first; before < term; before++)
				if (*before == *term)
					return true;
	}
	return false;
}

/* What only some operators have. */
static void
add_special(Coverage *c, const Node *node)
{
	const Value *second = node->ninput > 1 ? node->inputs[1] : NULL;
	int64_t size;
	int expands = 0;
	for (int i = 0; node->op->code == OP_Concat && i < node->ninput; i++) {
		const Node *stacked = maker_of(node->inputs[i], OP_Unsqueeze);
		expands += maker_of(stacked ? stacked->inputs[0] : node->inputs[i], OP_Expand) != NULL;
	}
	c->concat_of_expands += expands > 1;
	if (node->op->code == OP_Einsum)
		c->diagonal += has_diagonal(attr_string(node, "equation"));
	if (node->op->code == OP_Attention && node->ninput > 4 && node->inputs[4])
		c->symbolic_past += !dim_is_const(node->inputs[4]->type.dims[2], &size);
	if (node->op->code == OP_LayerNormalization || node->op->code == OP_RMSNormalization) {
		int64_t axis = attr_int(node, "axis"), rank = node->inputs[0]->type.rank;
		c->parameter_of_more_axes += second->type.rank > (axis < 0 ? -axis : rank - axis);
	}
	if (node->op->code == OP_QLinearMatMul)
		c->parameter_of_more_axes += second->type.rank > 1;
	for (int i = 0; i < node->noutput; i++)
		c->unasked[node->op->code] += !node->outputs[i];
}

static void
add_region(Coverage *c, const Graph *graph, const Region *region, int depth, bool is_refused)
{
	c->depth_3 += depth == 3;
	c->depth_4 += depth == 4;
	for (const Node *node = region->first; node; node = node->next) {
		Kind kind = row_of(node->op->code)->kind;
		c->rows[node->op->code]++;
		c->refused_rows[node->op->code] += is_refused;
		if (kind == KIND_view)
			add_pairs(c, node);
		add_operands(c, node, kind);
		add_special(c, node);
		c->negative_step += has_negative(node);
		c->reversed_scan += is_reversed(node);
		for (int i = 0; i < node->noutput; i++)
			if (node->outputs[i])
				add_value(c, graph, node->outputs[i]);
		for (int i = 0; i < node->nregion; i++) {
			c->capture += node->regions[i]->captures.count;
			add_region(c, graph, node->regions[i], depth + 1, is_refused);
		}
	}
}

void
coverage_add(Coverage *c, const Graph *graph, const char *text, bool is_refused)
{
	/* Symbols that are assumed to be equal are one when all is inferred. */
	c->equal_symbols += strstr(text, "[M") || strstr(text, ",M");
	for (int i = 0; i < graph->body->nparam; i++)
		add_value(c, graph, graph->body->params[i]);
	for (int i = 0; i < graph->constants.count; i++)
		add_value(c, graph, graph->constants.data[i]);
	int symbols = 0;
	for (int i = 0; i < graph->symbols.count; i++) {
		const Value *value = graph->symbols.data[i].value;
		symbols += value && !value->def && !value->region->parent;
	}
	c->symbolic += symbols > 0;
	c->two_symbols += symbols > 1;
	add_region(c, graph, graph->body, 0, is_refused);
}

/* ---- printing -------------------------------------------------------------------------------- */

static int
print_rows(const Coverage *c)
{
	int seen = 0, asked = 0, refused = 0;
	for (int code = 1; code < OP_COUNT; code++) {
		asked += row_of((OpCode)code)->kind != KIND_ours;
		seen += c->rows[code] > 0;
		refused += c->rows[code] > 0 && c->rows[code] == c->refused_rows[code];
	}
	printf("operators: %d of %d, of which %d only in graphs that were refused; missing:", seen,
	       asked, refused);
	for (int code = 1; code < OP_COUNT; code++)
		if (!c->rows[code] && row_of((OpCode)code)->kind != KIND_ours)
			printf(" %s", row_of((OpCode)code)->op);
	printf("\n");
	return asked - seen;
}

/* Whether a row has outputs that may go without a name; others have one when it is inferred. */
static bool
may_be_unasked(const OpInfo *op, const Row *row)
{
	bool may = false;
	for (int i = 0; i < op->noutput; i++)
		may |= op->outputs[i].optional || op->outputs[i].variadic;
	return row->kind < KIND_refused && may;
}

static void
print_unasked(const Coverage *c, const OpTable *ops)
{
	int seen = 0, asked = 0;
	printf("outputs not asked for; missing:");
	for (int code = 1; code < OP_COUNT; code++) {
		const Row *row = row_of((OpCode)code);
		if (!may_be_unasked(op_row(ops, (OpCode)code), row))
			continue;
		asked++;
		seen += c->unasked[code] > 0;
		if (!c->unasked[code])
			printf(" %s", row->op);
	}
	printf("\noutputs not asked for: of %d operators of %d\n", seen, asked);
}

static void
print_pairs(const Coverage *c)
{
	int seen = 0, asked = 0;
	printf("views and what reads them; missing:");
	for (int code = 1; code < OP_COUNT; code++) {
		const Row *row = row_of((OpCode)code);
		for (int kind = 0; row->kind == KIND_view && kind <= KIND_COUNT; kind++) {
			if (kind >= KIND_refused && kind < KIND_COUNT)
				continue;
			asked++;
			seen += c->views[code][kind] > 0;
			if (!c->views[code][kind])
				printf(" %s-%s", row->op, kind_name((Kind)kind));
		}
	}
	printf("\npairs: %d of %d\n", seen, asked);
}

int
coverage_print(const Coverage *c, const OpTable *ops, int64_t graphs)
{
	int missing = print_rows(c);
	print_unasked(c, ops);
	print_pairs(c);
	printf("types:");
	for (int type = 1; type < DT_COUNT; type++)
		printf(" %s %lld", dtype_name((DType)type), (long long)c->types[type]);
	printf("\nin %lld graphs:", (long long)graphs);
#define FEATURE(name) printf(" " #name " %lld", (long long)c->name);
#include "features.def"
#undef FEATURE
	printf("\n");
	return missing;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static void
add_counts(int64_t *sum, const int64_t *more, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof *sum; i++)
		sum[i] += more[i];
}

void
plain_sentence(char *to, size_t room, const char *from)
{
	const char *end = to + room - 1;
	for (; *from && to < end; from++)
		if (*from == '%' || (*from == '"' && from[1] != ' ')) {
			from += strcspn(from + 1, " ,:;\"");
			*to++ = '_';
		} else if (*from < '0' || *from > '9') {
			*to++ = *from;
		} else if (from[1] < '0' || from[1] > '9') {
			*to++ = '#';
		}
	*to = 0;
}

static int64_t
count_reason(Tallies *tallies, const char *text, int64_t count)
{
	for (int i = 0; i < GRAPH_REASONS; i++) {
		ReasonCount *reason = &tallies->reasons[i];
		if (!reason->count)
			snprintf(reason->text, sizeof reason->text, "%s", text);
		if (strcmp(reason->text, text) == 0) {
			return reason->count += count;
		}
	}
	return 0;
}

int64_t
tallies_reason(Tallies *tallies, const char *what, const char *sentence)
{
	char text[sizeof tallies->reasons[0].text], all[GRAPH_REASON + 40];
	snprintf(all, sizeof all, "%s: %s", what, sentence);
	plain_sentence(text, sizeof text, all);
	return count_reason(tallies, text, 1);
}

void
tallies_add(Tallies *sum, const Tallies *more)
{
	add_counts(&sum->cases, &more->cases, offsetof(Tallies, reasons));
	for (int i = 0; i < GRAPH_REASONS && more->reasons[i].count; i++)
		count_reason(sum, more->reasons[i].text, more->reasons[i].count);
	add_counts(sum->runs, more->runs, offsetof(Tallies, worst) - offsetof(Tallies, runs));
	for (int i = 0; i < WAY_COUNT; i++)
		sum->worst[i] = more->worst[i] > sum->worst[i] ? more->worst[i] : sum->worst[i];
	add_counts((int64_t *)&sum->coverage, (const int64_t *)&more->coverage, sizeof sum->coverage);
}
