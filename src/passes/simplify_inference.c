/* SimplifyInference: fold scales and shifts by constants into what comes before them.
 *
 *     %c = Conv(%x, %w)                                %c = Conv(%x, %w')        w' = w * s
 *     %y = BatchNormalization(%c, s, b, mean, var) =>  %y = Add(%c, %t)          t = shift
 *
 * Stated on expressions, so that it holds for every operator with such a meaning (Conv,
 * ConvTranspose, MatMul, Gemm; BatchNormalization, Mul, Div by constants …):
 *
 * - the node is affine in its one variable operand: y = scale * x + shift, where scale and shift
 *   are made of constants and depend on at most one dim c of the result;
 * - the producer is homogeneous of degree 1 in its constants, each of which is read at exactly c in
 *   one of its dims: then multiplying them by scale[c] multiplies the result.
 *
 * Only the scale moves; the shift stays behind as an Add, which FoldBias makes a bias (moving it
 * before a padded convolution would be wrong). Scales and shifts one after the other are one first.
 * A node without such a producer becomes Mul and Add when it was dearer than that; behind a sum of
 * integers Add and Mul, since libraries add a bias before they scale such sums. Sums are
 * re-associated: -O2.
 *
 * needs    shapes, topological order
 * keeps    shapes, order; values but those of sums, which are joined in another order
 * breaks   nothing
 */
#include <string.h>

#include "expr/scalar/affine.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/linear.h"
#include "passes/passes.h"
#include "passes/quantised.h"
#include "program/forms.h"

enum { MAX_CHAIN = 16 };

typedef struct Simplifier {
	Graph *graph;
	PassContext *context;
	Arena *arena;
	ExprCtx *ctx;
	int channel; /* the loop that scale and shift depend on, or NO_DIM */
} Simplifier;

/* ---- the producer ---- */

typedef struct Degrees {
	const Simplifier *s;
	const Program *program;
	Array *const *constants; /* of the program's inputs; NULL where variable */
	int *dim; /* of each constant input: the dim that is the channel; NO_DIM unseen */
} Degrees;

enum { NOT_HOMOGENEOUS = -1, ANY_DEGREE = -2 };

static int degree_of(Degrees *d, const Stage *stage, const Expr *e, int channel);

static int
degree_of_stage(Degrees *d, const Stage *stage, int channel)
{
	if (stage->kind == STAGE_scatter || stage->scan || stage->nbody != 1)
		return NOT_HOMOGENEOUS;
	if (stage->kind == STAGE_reduce && stage->reduce != REDUCE_sum)
		return NOT_HOMOGENEOUS;
	return degree_of(d, stage, stage->body[0], channel);
}

/* A constant must be read at the channel in exactly one dim, always the same one. */
static int
degree_of_constant(Degrees *d, int input, const Expr *read, int channel)
{
	int found = NO_DIM;
	for (int k = 0; k < read->argc; k++) {
		if (!expr_uses_iter(read->arg[k], channel))
			continue;
		if (read->arg[k]->op != EX_iter || found != NO_DIM)
			return NOT_HOMOGENEOUS;
		found = k;
	}
	if (found == NO_DIM || (d->dim[input] != NO_DIM && d->dim[input] != found))
		return NOT_HOMOGENEOUS;
	d->dim[input] = found;
	return 1;
}

static int
degree_of_read(Degrees *d, const Expr *read, int channel)
{
	const Program *p = d->program;
	for (int i = 0; i < p->ninput; i++)
		if (p->inputs[i] == read->tensor)
			return d->constants[i] ? degree_of_constant(d, i, read, channel) : 0;
	for (int k = 0; read->tensor->stage && k < read->argc; k++)
		if (read->arg[k]->op == EX_iter && read->arg[k]->iter == channel)
			return degree_of_stage(d, read->tensor->stage, k);
	return NOT_HOMOGENEOUS;
}

static int
degree_of(Degrees *d, const Stage *stage, const Expr *e, int channel)
{
	if (e->op == EX_read)
		return degree_of_read(d, e, channel);
	if (e->op == EX_const)
		return expr_const_f64(e) == 0 ? ANY_DEGREE : 0;
	if (e->op == EX_cast && dtype_is_float((DType)e->type))
		return degree_of(d, stage, e->arg[0], channel);
	if (e->op == EX_select) { /* a border: both arms alike, or zero */
		if (e->arg[0]->has_read)
			return NOT_HOMOGENEOUS; /* a negative scale turns comparisons around */
		int a = degree_of(d, stage, e->arg[1], channel);
		int b = degree_of(d, stage, e->arg[2], channel);
		return a == b || b == ANY_DEGREE ? a : NOT_HOMOGENEOUS;
	}
	if (e->op != EX_add && e->op != EX_sub && e->op != EX_mul)
		return NOT_HOMOGENEOUS;
	int a = degree_of(d, stage, e->arg[0], channel);
	int b = degree_of(d, stage, e->arg[1], channel);
	if (a < 0 || b < 0)
		return a == ANY_DEGREE || b == ANY_DEGREE ? (a > b ? a : b) : NOT_HOMOGENEOUS;
	if (e->op == EX_mul)
		return a + b;
	return a == b ? a : NOT_HOMOGENEOUS;
}

/* ---- making constants ---- */

/* constant * scale along `dim`; NULL where the type does not hold a product. */
static const Array *
scaled(Simplifier *s, const Array *constant, const Array *scale, int dim)
{
	int64_t inner = 1, count = scale->dims[0];
	for (int d = dim + 1; d < constant->rank; d++)
		inner *= constant->dims[d];
	Array *out = array_new(s->graph->arena, constant->type, constant->rank, constant->dims);
	for (int64_t i = 0; i < array_count(constant); i++) {
		long double product = dtype_load_f64(constant->type, constant->data, i);
		product *= dtype_load_f64(DT_F64, scale->data, i / inner % count);
		if (!affine_holds(constant->type, product))
			return NULL;
		dtype_store_f64(constant->type, out->data, i, (double)product);
	}
	return out;
}

static bool
is_all(const Array *array, double value)
{
	for (int64_t i = 0; i < array_count(array); i++)
		if (dtype_load_f64(array->type, array->data, i) != value)
			return false;
	return true;
}

/* Numbers as a constant that broadcasts along the channel of x: [C,1,1]; [] for a scalar. */
static Value *
channel_constant(Simplifier *s, const Array *data, const Type *x, const char *name)
{
	int rank = x->rank;
	int64_t *dims = NEW_N(s->graph->arena, int64_t, rank + 1);
	int tail = s->channel == NO_DIM ? 0 : rank - 1 - s->channel;
	dims[0] = data->dims[0];
	for (int d = 1; d <= tail; d++)
		dims[d] = 1;
	Array *shaped = array_new(s->graph->arena, x->dtype, rank == 0 ? 0 : 1 + tail, dims);
	for (int64_t i = 0; i < array_count(shaped); i++)
		dtype_store_f64(x->dtype, shaped->data, i, dtype_load_f64(DT_F64, data->data, i));
	return graph_constant(s->graph, graph_fresh_name(s->graph, name), shaped);
}

/* value (op) constant in front of `before`; gives the result, typed. */
static Value *
apply_constant(Simplifier *s, Node *before, const char *op, Value *value, Value *constant)
{
	const char *name = "";
	Node *node = node_new(before->parent, before, op, &before->loc, 2, (Value *[]){value, constant},
	                      1, &name);
	node_add_origins(node, before);
	node_infer(s->graph, node);
	return node->outputs[0];
}

/* ---- the rewrite ---- */

static void
replace(Node *node, Value *value)
{
	value_replace_uses(node->outputs[0], value);
	node_remove(node);
}

/* Constants of the producer by its program's inputs. */
static bool
producer_takes(Simplifier *s, Node *producer, const Program **program, int **dims)
{
	if (node_effect(producer) != EFFECT_pure || !node_has_meaning(producer) ||
	    producer->nregion > 0 || producer->noutput < 1)
		return false;
	*program = node_meaning(s->graph, producer);
	Value **values = NEW_N(s->arena, Value *, producer->ninput + 1);
	int count = node_meaning_inputs(producer, values), nconstant = 0;
	Array **constants = NEW_N(s->arena, Array *, count + 1);
	*dims = NEW_N(s->arena, int, count + 1);
	for (int i = 0; i < count; i++) {
		(*dims)[i] = NO_DIM;
		bool is_float = dtype_is_float(values[i]->type.dtype);
		if (values[i]->constant && !values[i]->is_default && is_float) {
			constants[i] = (Array *)(uintptr_t)values[i]->constant;
			nconstant++;
		}
	}
	if (nconstant == 0 || !(*program)->outputs[0] || !(*program)->outputs[0]->stage)
		return false;
	Degrees degrees = {s, *program, constants, *dims};
	return degree_of_stage(&degrees, (*program)->outputs[0]->stage, s->channel) == 1;
}

static bool
fold_into_producer(Simplifier *s, Node *node, Node *producer, const Array *scale)
{
	const Program *program;
	int *dims;
	if (s->channel == NO_DIM || !producer_takes(s, producer, &program, &dims))
		return false;
	Value **values = NEW_N(s->arena, Value *, producer->ninput + 1);
	const Array **data = NEW_N(s->arena, const Array *, producer->ninput + 1);
	int count = node_meaning_inputs(producer, values);
	for (int i = 0; i < count; i++)
		if (dims[i] != NO_DIM && !(data[i] = scaled(s, values[i]->constant, scale, dims[i])))
			return false;
	for (int i = 0; i < count; i++) {
		if (!data[i])
			continue;
		Value *constant =
			graph_constant(s->graph, graph_fresh_name(s->graph, values[i]->name), data[i]);
		for (int k = 0; k < producer->ninput; k++)
			if (producer->inputs[k] == values[i])
				node_set_input(producer, k, constant);
	}
	node_add_origins(producer, node);
	return true;
}

/* ---- one after the other ---- */

/* Whether nobody else reads what makes x, so that it may change. */
static bool
is_private(const Value *x, const Node *node)
{
	return x->def && x->def->parent == node->parent && x->uses.count == 1 &&
	       !value_is_graph_output(x);
}

/* `node` and the private nodes before it that are linear, as one: chain[0] is the node. */
static int
gather_chain(Simplifier *s, Node *node, Node *chain[MAX_CHAIN], Linear *l)
{
	int count = 0;
	const Value *x = linear_operand(node);
	if (!x || !is_private(x, node) || !linear_of(s->arena, s->graph, node, l))
		return 0;
	chain[count++] = node;
	while (count < MAX_CHAIN && is_private(l->x, chain[count - 1])) {
		chain[count] = l->x->def;
		if (!linear_absorb(s->arena, s->graph, l))
			break;
		count++;
	}
	return count;
}

static void
write_linear(Simplifier *s, const Linear *l, Node *const *chain, int count)
{
	Value *y = l->x;
	const Type *x = &l->x->type;
	const Array *shift = l->shift, *before = NULL;
	s->channel = l->channel;
	if (l->scale && !is_all(shift, 0) && quantised_is_sum(l->x))
		before = quantised_shift(s->graph->arena, shift, l->scale);
	if (before)
		y = apply_constant(s, chain[0], "Add", y, channel_constant(s, before, x, "shift"));
	if (l->scale)
		y = apply_constant(s, chain[0], "Mul", y, channel_constant(s, l->scale, x, "scale"));
	if (!before && !is_all(shift, 0))
		y = apply_constant(s, chain[0], "Add", y, channel_constant(s, shift, x, "shift"));
	replace(chain[0], y);
	for (int i = 1; i < count; i++)
		node_remove(chain[i]);
}

static bool
simplify_node(Simplifier *s, Node *node)
{
	Linear l;
	Node *chain[MAX_CHAIN];
	int count = pass_may_rewrite(s->context) ? gather_chain(s, node, chain, &l) : 0;
	if (count == 0)
		return false;
	s->channel = l.channel;
	bool folded = l.scale && is_private(l.x, chain[count - 1]) &&
	              fold_into_producer(s, node, l.x->def, l.scale);
	if (folded)
		l.scale = NULL;
	int left = (l.scale != NULL) + !is_all(l.shift, 0);
	if (!folded && left >= count && (count > 1 || l.is_simple))
		return false; /* already as simple */
	if (!folded && left > count && !(s->context->target && s->context->target->device))
		return false; /* others (optimize) have a kernel for one, and none for both */
	for (int i = 1; i < count; i++) {
		node_add_origins(node, chain[i]);
		if (folded)
			node_add_origins(l.x->def, chain[i]);
	}
	pass_log(s->context, folded ? "fold into producer" : "scale and shift", node->loc.node,
	         l.x->def ? l.x->def->loc.node : NULL, NULL);
	write_linear(s, &l, chain, count);
	return true;
}

static bool
simplify_region(Simplifier *s, Region *region)
{
	bool changed = false;
	for (Node *node = region->first, *next; node; node = next) {
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			changed |= simplify_region(s, node->regions[i]);
		changed |= simplify_node(s, node);
	}
	return changed;
}

bool
pass_SimplifyInference(Graph *graph, PassContext *context)
{
	Arena *arena = arena_new_in(graph->arena, "SimplifyInference");
	Simplifier s = {.graph = graph, .context = context, .arena = arena, .ctx = graph->ctx};
	bool changed = simplify_region(&s, graph->body);
	arena_reset(arena);
	return changed;
}
