/* The engine of inference: operands against the row, the row's function, known integers.
 *
 * A node's row says which element types go together; its infer function gives dims; what is left,
 * the values of small integer outputs, comes from running the row's own meaning on dims (known.c).
 * Running it again is stable: symbols made for data-dependent dims are found by what defines them.
 */
#include "graph/infer.h"

#include <stdio.h>
#include <string.h>

#include "base/scan.h"
#include "graph/inner.h"

enum {
	INPUTS_SHOWN = 4, /* of a node, in messages */
	SHORT_DIM = 56,   /* nodes; a plan nests no deeper than 32 */
};

/* ---- operands -------------------------------------------------------------------------------- */

static Value *
input_value(const Infer *infer, int index)
{
	return index < infer->node->ninput ? infer->node->inputs[index] : NULL;
}

const Type *
infer_input(const Infer *infer, int index)
{
	Value *value = input_value(infer, index);
	return value ? &value->type : NULL;
}

const Known *
infer_known(const Infer *infer, int index)
{
	Value *value = input_value(infer, index);
	return value ? value_known(infer->graph, value) : NULL;
}

const Array *
infer_constant(const Infer *infer, int index)
{
	Value *value = input_value(infer, index);
	return value ? value_fixed(value) : NULL;
}

bool
infer_wants(const Infer *infer, int output)
{
	return output < infer->node->noutput && infer->node->outputs[output];
}

int
infer_axis(const Infer *infer, int64_t axis, int rank)
{
	if (axis < -rank || axis >= rank)
		infer_fail(infer, "axis %lld is outside -%d..%d", (long long)axis, rank, rank - 1);
	return (int)(axis < 0 ? axis + rank : axis);
}

/* What to do about a number that only a run gives. */
static const char *
remedy(const Infer *infer, int index)
{
	const Value *value = input_value(infer, index);
	if (!value->def && value->region == infer->graph->body)
		return arena_printf(infer->graph->arena, "--fix %s=NUMBERS fixes that", value->name);
	return "--fix makes a constant of an input that it is computed from";
}

int
infer_length(Infer *infer, int index)
{
	const Type *type = infer_input(infer, index);
	const Known *known = infer_known(infer, index);
	int64_t count = known ? known->count : -1;
	if (count < 0 && type->rank == 0)
		count = 1;
	if (count < 0 && type->rank == 1 && !dim_is_const(type->dims[0], &count))
		count = -1;
	if (count < 0 || type->rank > 1)
		fail_unsupported(&infer->node->loc, "the length of input %s is only known at run time; %s",
		                 op_input(infer->node->op, index)->name, remedy(infer, index));
	if (count > ARRAY_MAX_RANK)
		infer_fail(infer, "input %s has %lld elements, expected at most %d",
		           op_input(infer->node->op, index)->name, (long long)count, ARRAY_MAX_RANK);
	return (int)count;
}

/* The symbol made here shows, to who can fix inputs, which value inference waits for. */
void
infer_wait(Infer *infer, int index, int element)
{
	if (dtype_is_integer(infer_input(infer, index)->dtype))
		infer_index_value(infer, index, element);
	fail_unsupported(&infer->node->loc, "input %s is only known at run time; %s",
	                 op_input(infer->node->op, index)->name, remedy(infer, index));
}

const int64_t *
infer_numbers(Infer *infer, int index, int *count)
{
	*count = -1;
	if (!infer_input(infer, index))
		return NULL;
	*count = infer_length(infer, index);
	const Known *known = infer_known(infer, index);
	int64_t *numbers = NEW_N(infer->graph->arena, int64_t, *count);
	for (int i = 0; i < *count; i++)
		if (!known || !known->value[i] || !dim_is_const(known->value[i], &numbers[i]))
			infer_wait(infer, index, i);
	return numbers;
}

/* ---- results --------------------------------------------------------------------------------- */

void
infer_set_type(Infer *infer, int output, const Type *type)
{
	if (!infer_wants(infer, output))
		return;
	Value *value = infer->node->outputs[output];
	const Type *old = &value->type;
	if (type->kind == TYPE_TENSOR && type->rank < 0 && old->kind == TYPE_TENSOR && old->rank >= 0)
		return; /* what was declared is better than nothing */
	value->type = *type;
}

const Dim *
infer_assumed(const Infer *infer, const Dim *dim)
{
	const Graph *graph = infer->graph;
	int64_t number;
	if (dim_is_const(dim, &number))
		return dim;
	for (int i = 0; i < graph->assumptions.count; i++) {
		const Assumption *known = &graph->assumptions.data[i];
		if (known->a == dim && dim_is_const(known->b, &number) &&
		    region_encloses(known->region, infer->node->parent))
			return known->b;
	}
	return dim;
}

void
infer_set(Infer *infer, int output, DType dtype, int rank, const Dim *const *dims)
{
	if (!infer_wants(infer, output))
		return;
	if (rank > ARRAY_MAX_RANK)
		infer_fail(infer, "rank %d is more than %d", rank, ARRAY_MAX_RANK);
	const Dim **copy = NEW_N(infer->graph->arena, const Dim *, rank);
	for (int i = 0; i < rank; i++) {
		int64_t extent;
		if (dim_is_const(dims[i], &extent) && extent < 0)
			infer_fail(infer, "dim %d of the result would be %lld", i, (long long)extent);
		copy[i] = graph_short_dim(infer->graph, infer_assumed(infer, dims[i]));
	}
	Type type = type_tensor(dtype, rank, copy);
	infer_set_type(infer, output, &type);
}

void
infer_set_unknown(Infer *infer, int output, DType dtype)
{
	Type type = type_tensor(dtype, -1, NULL);
	infer_set_type(infer, output, &type);
}

void
infer_set_known(Infer *infer, int output, int count, const Dim *const *values)
{
	if (!infer_wants(infer, output) || count > KNOWN_MAX)
		return;
	Arena *arena = infer->graph->arena;
	Known *known = NEW(arena, Known);
	known->count = count;
	known->value = arena_memdup(arena, values, (size_t)count * sizeof *values);
	infer->node->outputs[output]->known = known;
}

/* ---- dims ------------------------------------------------------------------------------------ */

/* Whether two dims differ by a number other than 0. */
static bool
proves_different(ExprCtx *ctx, const Dim *a, const Dim *b)
{
	int64_t difference;
	return dim_is_const(dim_sub(ctx, a, b), &difference) && difference != 0;
}

static const char *
dim_text(Arena *arena, const Dim *dim)
{
	Buf buf = {.arena = arena};
	dim_print(&buf, dim);
	return buf_text(&buf);
}

static void
assume_equal(Infer *infer, const Dim *a, const Dim *b, const char *what)
{
	Graph *graph = infer->graph;
	Region *region = region_entered(infer->node);
	for (int i = 0; i < graph->assumptions.count; i++) {
		const Assumption *old = &graph->assumptions.data[i];
		bool is_same = (old->a == a && old->b == b) || (old->a == b && old->b == a);
		if (is_same && region_encloses(old->region, region))
			return;
	}
	Assumption assumption = {a, b, infer->node->loc, arena_strdup(graph->arena, what), region};
	vec_push(graph->arena, &graph->assumptions, assumption);
	dim_assume_equal(graph->ctx, a, b); /* the node's own meaning relies on it already */
}

/* "inputs x: f32[2,3], w: f32[4,5]": the node's operands, for messages. */
static const char *
inputs_text(const Infer *infer)
{
	Buf buf = {.arena = infer->graph->arena};
	int shown = 0;
	for (int i = 0; i < infer->node->ninput; i++) {
		const Value *value = infer->node->inputs[i];
		if (!value || shown == INPUTS_SHOWN)
			continue;
		buf_printf(&buf, "%s %s: ", shown++ ? "," : "inputs", value->name);
		type_print(&buf, &value->type);
	}
	return buf_text(&buf);
}

const Dim *
infer_equal(Infer *infer, const Dim *a, const Dim *b, const char *what)
{
	if (a == b)
		return a;
	Arena *arena = infer->graph->arena;
	if (proves_different(infer->ctx, a, b))
		infer_fail(infer, "%s: %s and %s differ (%s)", what, dim_text(arena, a), dim_text(arena, b),
		           inputs_text(infer));
	assume_equal(infer, a, b, what);
	int64_t number;
	return dim_is_const(b, &number) ? b : a;
}

static const Symbol *
find_symbol(const Graph *graph, const SymbolDef *like, int64_t lo)
{
	for (int i = 0; i < graph->symbols.count; i++) {
		const SymbolDef *def = &graph->symbols.data[i];
		if (def->source == like->source && def->value == like->value && def->index == like->index &&
		    def->expr == like->expr && symbol_clamps(def->symbol->lo) == symbol_clamps(lo))
			return def->symbol;
	}
	return NULL;
}

static const Dim *
define_symbol(Graph *graph, const char *prefix, SymbolDef def, int64_t lo, int64_t hi)
{
	def.symbol = find_symbol(graph, &def, lo);
	if (!def.symbol) {
		def.symbol = symbol_fresh(graph->ctx, prefix);
		symbol_set_range(def.symbol, lo, hi);
		symbol_def_add(graph, &def);
	}
	return expr_symbol(graph->ctx, def.symbol);
}

const Dim *
infer_element(Infer *infer, int index, int element)
{
	SymbolDef def = {NULL, SYMBOL_ELEMENT, input_value(infer, index), element, NULL, NULL};
	return define_symbol(infer->graph, "E", def, 0, INT32_MAX);
}

static const Dim *
known_element(const Infer *infer, int index, int element)
{
	const Known *known = infer_known(infer, index);
	return known && element < known->count ? known->value[element] : NULL;
}

const Dim *
infer_dim_value(Infer *infer, int index, int element)
{
	const Dim *known = known_element(infer, index, element);
	int64_t number;
	if (known && dim_is_const(known, &number) && number < 0)
		infer_fail(infer, "element %d of input %s is %lld, expected 0 or more", element,
		           op_input(infer->node->op, index)->name, (long long)number);
	return known ? known : infer_element(infer, index, element);
}

const Dim *
infer_index_value(Infer *infer, int index, int element)
{
	const Dim *known = known_element(infer, index, element);
	SymbolDef def = {NULL, SYMBOL_ELEMENT, input_value(infer, index), element, NULL, NULL};
	return known ? known : define_symbol(infer->graph, "E", def, -INT32_MAX, INT32_MAX);
}

const Dim *
infer_bound_value(Infer *infer, int index, int element)
{
	const Dim *known = known_element(infer, index, element);
	SymbolDef def = {NULL, SYMBOL_ELEMENT, input_value(infer, index), element, NULL, NULL};
	return known ? known : define_symbol(infer->graph, "E", def, INT32_MIN, INT32_MAX);
}

const Dim *
graph_expr_symbol(Graph *graph, const char *prefix, const Expr *definition)
{
	const Dim *dim = dim_from_expr(graph->ctx, definition);
	SymbolDef def = {NULL, SYMBOL_EXPR, NULL, 0, definition, NULL};
	return dim ? dim : define_symbol(graph, prefix, def, 0, INT32_MAX);
}

/* Arithmetic on long dims takes longer at each node, and what a node uses twice would stand twice
 * in all that follows. Sums of many dims stay: each of their terms stands by itself. */
const Dim *
graph_short_dim(Graph *graph, const Dim *dim)
{
	int64_t lo, hi;
	if (!dim || dim->size <= SHORT_DIM || dim->is_sum)
		return dim;
	if (dim->type != DT_I64)
		return NULL;
	dim_range(dim, &lo, &hi);
	return define_symbol(graph, "S", (SymbolDef){NULL, SYMBOL_EXPR, NULL, 0, dim, NULL},
	                     lo == INT64_MIN ? lo + 1 : lo, hi);
}

const Dim *
infer_symbol(Infer *infer, const char *prefix, const Expr *definition)
{
	return graph_expr_symbol(infer->graph, prefix, definition);
}

const Dim *
infer_output_dim(Infer *infer, int output, int axis)
{
	must(infer_wants(infer, output));
	return infer_value_dim(infer, infer->node->outputs[output], axis);
}

const Dim *
infer_value_dim(Infer *infer, Value *value, int axis)
{
	SymbolDef def = {NULL, SYMBOL_DIM, value, axis, NULL, NULL};
	return define_symbol(infer->graph, "D", def, 0, INT32_MAX);
}

/* ---- one node -------------------------------------------------------------------------------- */

static uint64_t
type_bit(const Type *type)
{
	switch (type->kind) {
	case TYPE_SEQUENCE:
		return TYPES_SEQUENCE;
	case TYPE_OPTIONAL:
		return TYPES_OPTIONAL;
	default:
		return (uint64_t)1 << type->dtype;
	}
}

static void
check_input(Infer *infer, int index)
{
	const Node *node = infer->node;
	const ParamSpec *spec = op_input(node->op, index);
	const Value *value = node->inputs[index];
	if (!spec)
		infer_fail(infer, "%d inputs given, expected at most %d", node->ninput, node->op->ninput);
	if (!value) {
		if (!spec->optional)
			infer_fail(infer, "input %s is missing", spec->name);
		return;
	}
	const Type *type = &value->type;
	if (type->kind == TYPE_UNKNOWN)
		infer_fail(infer, "the type of input %s (%%%s) is not known", spec->name, value->name);
	if (spec->vector && type->kind == TYPE_TENSOR && type->rank >= 0)
		infer_rank(infer, index, 1);
	if (type->kind == TYPE_TENSOR && type->dtype == DT_NONE)
		return;
	if (!(spec->types & type_bit(type)))
		infer_fail(infer, "input %s is %s, which the operator does not take", spec->name,
		           type->kind == TYPE_TENSOR     ? dtype_name(type->dtype)
		           : type->kind == TYPE_SEQUENCE ? "a sequence"
		                                         : "an optional");
	if (!spec->letter || type->kind != TYPE_TENSOR)
		return;
	DType *bound = &infer->letters[spec->letter - 'A'];
	if (*bound != DT_NONE && *bound != type->dtype)
		infer_fail(infer, "input %s is %s, expected %s as the inputs before it", spec->name,
		           dtype_name(type->dtype), dtype_name(*bound));
	*bound = type->dtype;
}

/* Outputs that nobody wants may be left out, but not all of them. */
static void
check_outputs(Infer *infer)
{
	const Node *node = infer->node;
	bool is_any = false;
	if (node->noutput > 0 && !op_output(node->op, node->noutput - 1))
		infer_fail(infer, "%d outputs named, expected at most %d", node->noutput,
		           node->op->noutput);
	for (int i = 0; i < node->noutput; i++)
		is_any |= node->outputs[i] != NULL;
	if (!is_any)
		infer_fail(infer, "the node has no output");
	for (int i = 0; i < node->op->noutput; i++)
		if (!node->op->outputs[i].optional && !node->op->outputs[i].variadic)
			node_want_output(infer->node, i); /* meanings may rely on it */
}

static void
check_operands(Infer *infer)
{
	const Node *node = infer->node;
	const OpInfo *op = node->op;
	for (int i = 0; i < node->ninput; i++)
		check_input(infer, i);
	for (int i = node->ninput; i < op->ninput; i++)
		if (!op->inputs[i].optional && (!op->inputs[i].variadic || i == 0))
			infer_fail(infer, "input %s is missing", op->inputs[i].name);
	check_outputs(infer);
	for (int i = 0; i < op->nattr; i++) {
		const AttrSpec *spec = &op->attrs[i];
		if (spec->required && spec->kind != ATTR_GRAPH && !attr_has(node, spec->name))
			infer_fail(infer, "attribute %s is missing", spec->name);
		if (spec->words && !word_is_among(attr_string(node, spec->name), spec->words))
			infer_fail(infer, "%s '%s' is none of: %s", spec->name, attr_string(node, spec->name),
			           spec->words);
	}
}

DType
infer_dtype(const Infer *infer, int output)
{
	const ParamSpec *spec = op_output(infer->node->op, output);
	if (spec->letter)
		return infer->letters[spec->letter - 'A'];
	for (int type = 1; type < DT_COUNT; type++)
		if (spec->types == (uint64_t)1 << type)
			return (DType)type;
	return DT_NONE;
}

/* A row's function sees ranks only; when an input has none, neither have the outputs. */
static bool
has_unranked_input(const Node *node)
{
	for (int i = 0; i < node->ninput; i++) {
		const Value *value = node->inputs[i];
		if (value && value->type.kind == TYPE_TENSOR && value->type.rank < 0)
			return true;
	}
	return false;
}

static bool
takes_unranked(const OpInfo *op)
{
	return op->meaning == MEANING_CONTROL ||
	       (op->ninput > 0 && op->inputs[0].types == TYPES_SEQUENCE);
}

/* Types of the outputs; what is known of their elements goes. */
static void
infer_outputs(Infer *infer)
{
	Node *node = infer->node;
	check_operands(infer);
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i])
			node->outputs[i]->known = NULL;
	if (has_unranked_input(node) && !takes_unranked(node->op)) {
		for (int i = 0; i < node->noutput && !infer->graph->is_open; i++)
			infer_set_unknown(infer, i, infer_dtype(infer, i));
		return;
	}
	node->op->infer(infer);
	if (node->op->meaning == MEANING_UNKNOWN)
		return;
	for (int i = 0; i < node->noutput; i++)
		if (node->outputs[i] && node->outputs[i]->type.kind == TYPE_UNKNOWN)
			fail_as(FAIL_BUG, &node->loc, "infer gave output %d no type", i);
}

typedef struct InferJob {
	Graph *graph;
	Node *node;
} InferJob;

static void
infer_strictly(void *arg)
{
	InferJob *job = arg;
	Infer infer = {.graph = job->graph, .ctx = job->graph->ctx, .node = job->node};
	Work work = work_begin(&job->node->loc, NULL);
	infer_outputs(&infer);
	job->node->is_waiting = false;
	node_find_known(job->graph, job->node); /* nothing where ranks are unknown */
	work_end(work);
}

/* In an open graph what cannot be inferred keeps the types that the model gave it. */
void
node_infer(Graph *graph, Node *node)
{
	Failure failure;
	InferJob job = {graph, node};
	if (!graph->is_open) {
		infer_strictly(&job);
		return;
	}
	for (int i = 0; i < node->ninput; i++)
		if (node->inputs[i] && node->inputs[i]->type.kind == TYPE_UNKNOWN)
			return;
	if (try_run(infer_strictly, &job, &failure))
		return;
	node->is_waiting = true;
	if (failure.kind != FAIL_UNSUPPORTED)
		fail_again(&failure);
}

bool
node_try_infer(Node *node)
{
	Graph *graph = node->parent->graph;
	Failure refused;
	InferJob job = {graph, node};
	int assumptions = graph->assumptions.count, facts = dim_assumed(graph->ctx);
	bool fits = try_run(infer_strictly, &job, &refused) && graph->assumptions.count == assumptions;
	if (!fits) {
		graph->assumptions.count = assumptions;
		dim_forget(graph->ctx, facts);
	}
	return fits;
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* What a region assumes may still be about symbols from outside (enter.c): until it is not, it is
 * no fact for what follows. */
void
region_infer(Graph *graph, Region *region)
{
	int facts = dim_assumed(graph->ctx);
	for (Node *node = region->first; node; node = node->next)
		node_infer(graph, node);
	if (region->owner && region->owner->op->code != OP_fused)
		dim_forget(graph->ctx, facts);
}

/* Whether what defines a symbol still belongs to the graph. */
static bool
is_alive(const SymbolDef *def)
{
	if (def->value && def->value->def && !def->value->def->parent)
		return false;
	for (const Region *region = symbol_home(def); region->owner; region = region->parent)
		if (!region->owner->parent)
			return false;
	return true;
}

/* Definitions of symbols by values and in regions that are gone go too. */
static void
prune_symbols(Graph *graph)
{
	bool *is_gone = NEW_N(graph->arena, bool, graph->symbols.count);
	bool is_any = false;
	for (int i = 0; i < graph->symbols.count; i++) {
		is_gone[i] = !is_alive(&graph->symbols.data[i]);
		is_any |= is_gone[i];
	}
	if (is_any)
		symbols_remove(graph, is_gone);
}

void
graph_infer(Graph *graph)
{
	do { /* each round removes a symbol, or gives a region one of its own */
		graph->assumptions.count = 0;
		dim_forget(graph->ctx, 0);
		region_infer(graph, graph->body);
	} while ((!graph->is_open && graph_unify_symbols(graph)) || graph_enter_regions(graph));
	for (int i = 0; i < graph->assumptions.count; i++)
		dim_assume_equal(graph->ctx, graph->assumptions.data[i].a, graph->assumptions.data[i].b);
	prune_symbols(graph);
}
