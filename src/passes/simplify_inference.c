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

#include "expr/interp/interp.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/passes.h"
#include "passes/quantised.h"
#include "program/forms.h"

enum { NO_DIM = -1, MAX_CHAIN = 16 };

typedef struct Affine {
	const Expr *scale, *shift; /* NULL: 1, 0; over the stage's iterators and constant reads */
} Affine;

typedef struct Simplifier {
	Graph *graph;
	PassContext *context;
	Arena *arena;
	ExprCtx *ctx;
	const Tensor *variable; /* the operand that is not constant */
	int channel;            /* the loop that scale and shift depend on, or NO_DIM */
} Simplifier;

/* ---- the affine node ---- */

static bool affine_of(Simplifier *s, const Expr *e, Affine *out);

static const Expr *
plus(ExprCtx *ctx, const Expr *a, const Expr *b)
{
	return !a ? b : !b ? a : expr_add(ctx, a, b);
}

static const Expr *
times(ExprCtx *ctx, const Expr *a, const Expr *b)
{
	return !a ? b : !b ? a : expr_mul(ctx, a, b);
}

static bool
reads_variable(const Simplifier *s, const Expr *e)
{
	return expr_reads(e, s->variable);
}

static bool
affine_sum(Simplifier *s, const Expr *e, Affine *out)
{
	Affine a;
	bool left = reads_variable(s, e->arg[0]);
	if (left == reads_variable(s, e->arg[1]))
		return false;
	const Expr *other = e->arg[left ? 1 : 0];
	if (!affine_of(s, e->arg[left ? 0 : 1], &a))
		return false;
	if (e->op == EX_sub && left)
		other = expr_neg(s->ctx, other);
	if (e->op == EX_sub && !left) {
		a.scale = a.scale ? expr_neg(s->ctx, a.scale) : expr_number(s->ctx, (DType)e->type, -1);
		a.shift = a.shift ? expr_neg(s->ctx, a.shift) : NULL;
	}
	*out = (Affine){a.scale, plus(s->ctx, a.shift, other)};
	return true;
}

static bool
affine_product(Simplifier *s, const Expr *e, Affine *out)
{
	Affine a;
	bool left = reads_variable(s, e->arg[0]);
	if (left == reads_variable(s, e->arg[1]) || (e->op == EX_div && !left))
		return false;
	const Expr *other = e->arg[left ? 1 : 0];
	if (!affine_of(s, e->arg[left ? 0 : 1], &a))
		return false;
	if (e->op == EX_div)
		other = expr_div(s->ctx, expr_number(s->ctx, (DType)e->type, 1), other);
	*out = (Affine){times(s->ctx, a.scale, other), a.shift ? times(s->ctx, a.shift, other) : NULL};
	return true;
}

static bool
affine_of(Simplifier *s, const Expr *e, Affine *out)
{
	switch (e->op) {
	case EX_read:
		*out = (Affine){NULL, NULL};
		return e->tensor == s->variable;
	case EX_add:
	case EX_sub:
		return affine_sum(s, e, out);
	case EX_mul:
	case EX_div:
		return affine_product(s, e, out);
	default:
		return false;
	}
}

/* The only loop the scalar depends on: false when there are several. */
static bool
one_iter(Simplifier *s, const Stage *stage, const Expr *e)
{
	for (int i = 0; e && i < stage->nloop; i++) {
		if (!expr_uses_iter(e, i) || dim_is(stage->iters[i].hi, 1))
			continue;
		if (s->channel != NO_DIM && s->channel != i)
			return false;
		s->channel = i;
	}
	return true;
}

/* Every element of the variable is read in place: index d is loop d, or 0 of an extent of 1. */
static bool
is_read_in_place(const Expr *body, const Tensor *variable)
{
	bool in_place = true;
	for (ExprWalk walk = expr_walk(body); expr_step(&walk);)
		for (int d = 0; walk.e->op == EX_read && walk.e->tensor == variable && d < walk.e->argc;
		     d++) {
			const Expr *index = walk.e->arg[d];
			bool is_loop = index->op == EX_iter && index->iter == d;
			in_place &= is_loop || (expr_is_zero(index) && dim_is(variable->hi[d], 1));
		}
	return in_place;
}

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

/* The scalar over constants as an array over the channel: [C], or [1] without one. Inputs that are
 * not constant are NULL and not among the small program's inputs. */
static Array *
evaluate(Simplifier *s, const Program *p, const Stage *stage, const Expr *e,
         const Array *const *inputs, double otherwise)
{
	DType type = stage->results[0]->type;
	const Dim *extent = s->channel == NO_DIM ? dim_const(s->ctx, 1) : stage->iters[s->channel].hi;
	if (!e)
		e = expr_number(s->ctx, type, otherwise);
	StageBuilder *builder = stage_open(s->ctx, "constant", 1, &extent);
	const Expr **iters = NEW_N(s->arena, const Expr *, stage->nloop + 1);
	for (int i = 0; i < stage->nloop; i++)
		iters[i] = i == s->channel ? stage_iter(builder, 0) : expr_i64(s->ctx, 0);
	const Tensor *result =
		stage_map(builder, type, expr_substitute(s->ctx, e, stage->nloop, iters));
	Tensor **tensors = NEW_N(s->arena, Tensor *, p->ninput + 1);
	const Array **arrays = NEW_N(s->arena, const Array *, p->ninput + 1);
	int count = 0;
	for (int i = 0; i < p->ninput; i++)
		if (inputs[i]) {
			tensors[count] = p->inputs[i];
			arrays[count++] = inputs[i];
		}
	Program *program = program_new(s->ctx, "constant", count, tensors, 1, &result);
	Array *out;
	program_eval(s->graph->arena, program, NULL, arrays, &out);
	return out;
}

/* constant * scale along `dim`. */
static const Array *
scaled(Simplifier *s, const Array *constant, const Array *scale, int dim)
{
	Type type = type_of_array(s->ctx, constant), by = type_of_array(s->ctx, scale);
	Tensor *w = tensor_new(s->ctx, "w", type.dtype, type.rank, type.dims);
	Tensor *k = tensor_new(s->ctx, "scale", by.dtype, by.rank, by.dims);
	StageBuilder *builder = stage_open(s->ctx, "scaled", type.rank, type.dims);
	const Expr **index = NEW_N(s->arena, const Expr *, type.rank + 1);
	for (int d = 0; d < type.rank; d++)
		index[d] = stage_iter(builder, d);
	const Expr *factor = s->channel == NO_DIM ? expr_i64(s->ctx, 0) : index[dim];
	const Expr *body =
		expr_mul(s->ctx, stage_read(builder, w, index), stage_read(builder, k, &factor));
	const Tensor *result = stage_map(builder, type.dtype, body);
	Program *program = program_new(s->ctx, "scaled", 2, (Tensor *[]){w, k}, 1, &result);
	Array *out;
	program_eval(s->graph->arena, program, NULL, (const Array *[]){constant, scale}, &out);
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

/* A constant that broadcasts along the channel of a result of this rank: [C,1,1]; [] for a
 * scalar. */
static Value *
channel_constant(Simplifier *s, const Array *data, int rank, const char *name)
{
	int64_t *dims = NEW_N(s->graph->arena, int64_t, rank + 1);
	int tail = s->channel == NO_DIM ? 0 : rank - 1 - s->channel;
	dims[0] = data->dims[0];
	for (int d = 1; d <= tail; d++)
		dims[d] = 1;
	Array *shaped =
		array_from(s->graph->arena, data->type, rank == 0 ? 0 : 1 + tail, dims, data->data);
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
	int count = node_meaning_inputs(producer, values);
	for (int i = 0; i < count; i++) {
		if (dims[i] == NO_DIM)
			continue;
		const Array *data = scaled(s, values[i]->constant, scale, dims[i]);
		Value *constant =
			graph_constant(s->graph, graph_fresh_name(s->graph, values[i]->name), data);
		for (int k = 0; k < producer->ninput; k++)
			if (producer->inputs[k] == values[i])
				node_set_input(producer, k, constant);
	}
	node_add_origins(producer, node);
	return true;
}

static Value *
variable_operand(const Node *node)
{
	Value *variable = NULL;
	for (int i = 0; i < node->ninput; i++) {
		Value *value = node->inputs[i];
		if (!value || (value->constant && !value->is_default))
			continue;
		if (variable)
			return NULL;
		variable = value;
	}
	return variable;
}

static bool
is_one_operation(const Expr *e)
{
	for (int i = 0; i < e->argc; i++)
		if (e->arg[i]->op != EX_read && !expr_is_const(e->arg[i]))
			return false;
	return true;
}

/* x is not broadcast: the stage runs over its dims. */
static bool
has_dims_of(const Stage *stage, const Type *x)
{
	bool same = x->rank == stage->nloop;
	for (int d = 0; same && d < x->rank; d++)
		same = stage->iters[d].hi == x->dims[d];
	return same;
}

/* y = scale * x + shift; [C] along loop `channel` of the result, or [1]. */
typedef struct Linear {
	Value *x;
	Array *scale, *shift; /* scale NULL: 1 */
	int channel;
	bool is_simple; /* no dearer than a Mul and an Add */
} Linear;

/* What only one result is made of, by an operator without state. */
static bool
has_one_result(const Node *node)
{
	for (int k = 1; k < node->noutput; k++)
		if (node->outputs[k])
			return false;
	return node->noutput > 0 && node->outputs[0] && node->nregion == 0 && node_has_meaning(node) &&
	       node_effect(node) == EFFECT_pure && dtype_is_float(node->outputs[0]->type.dtype);
}

static bool
linear_of(Simplifier *s, Node *node, Linear *out)
{
	Value *x = variable_operand(node);
	if (!x || !has_one_result(node))
		return false;
	const Program *program = program_flatten(s->graph->arena, node_meaning(s->graph, node));
	if (program->nstage != 1 || program->stages[0]->kind != STAGE_map || program->stages[0]->scan)
		return false;
	const Stage *stage = program->stages[0];
	Value **values = NEW_N(s->arena, Value *, node->ninput + 1);
	const Array **inputs = NEW_N(s->arena, const Array *, node->ninput + 1);
	int count = node_meaning_inputs(node, values);
	s->variable = NULL;
	for (int i = 0; i < count; i++) {
		if (values[i] == x)
			s->variable = program->inputs[i];
		inputs[i] = values[i]->constant;
	}
	Affine affine;
	s->channel = NO_DIM;
	if (!s->variable || !is_read_in_place(stage->body[0], s->variable) ||
	    !has_dims_of(stage, &x->type) || !affine_of(s, stage->body[0], &affine) ||
	    !one_iter(s, stage, affine.scale) || !one_iter(s, stage, affine.shift))
		return false;
	int64_t extent;
	if (s->channel != NO_DIM && !dim_is_const(stage->iters[s->channel].hi, &extent))
		return false;
	*out = (Linear){.x = x, .channel = s->channel};
	out->scale = affine.scale ? evaluate(s, program, stage, affine.scale, inputs, 1) : NULL;
	out->shift = evaluate(s, program, stage, affine.shift, inputs, 0);
	out->is_simple = is_one_operation(stage->body[0]) || expr_cost(stage->body[0]) <= 2;
	return true;
}

/* ---- one after the other ---- */

/* a * b + c over `count` elements; each is [count], [1] or NULL, which is 1, 1, 0. */
static Array *
times_plus(Simplifier *s, int64_t count, const Array *a, const Array *b, const Array *c)
{
	const Array *all[] = {a, b, c};
	Array *out = array_new(s->graph->arena, (a ? a : b ? b : c)->type, 1, &count);
	for (int64_t i = 0; i < count; i++) {
		double x[] = {1, 1, 0};
		for (size_t k = 0; k < countof(all); k++)
			if (all[k])
				x[k] = dtype_load_f64(all[k]->type, all[k]->data, all[k]->dims[0] > 1 ? i : 0);
		dtype_store_f64(out->type, out->data, i, x[0] * x[1] + x[2]);
	}
	return out;
}

/* Whether nobody else reads what makes x, so that it may change. */
static bool
is_private(const Value *x, const Node *node)
{
	return x->def && x->def->parent == node->parent && x->uses.count == 1 &&
	       !value_is_graph_output(x);
}

/* What makes l->x goes into l; false when that is not linear along the same loop. */
static bool
absorb_producer(Simplifier *s, Linear *l)
{
	Linear inner;
	if (!linear_of(s, l->x->def, &inner) ||
	    (inner.channel != NO_DIM && l->channel != NO_DIM && inner.channel != l->channel))
		return false;
	int64_t a = l->shift->dims[0], b = inner.shift->dims[0], count = a > b ? a : b;
	l->shift = times_plus(s, count, l->scale, inner.shift, l->shift);
	if (l->scale || inner.scale)
		l->scale = times_plus(s, count, l->scale, inner.scale, NULL);
	l->channel = l->channel == NO_DIM ? inner.channel : l->channel;
	l->x = inner.x;
	return true;
}

/* `node` and the private nodes before it that are linear, as one: chain[0] is the node. */
static int
gather_chain(Simplifier *s, Node *node, Node *chain[MAX_CHAIN], Linear *l)
{
	int count = 0;
	const Value *x = variable_operand(node);
	if (!x || !is_private(x, node) || !linear_of(s, node, l))
		return 0;
	chain[count++] = node;
	while (count < MAX_CHAIN && is_private(l->x, chain[count - 1])) {
		chain[count] = l->x->def;
		if (!absorb_producer(s, l))
			break;
		count++;
	}
	return count;
}

static void
write_linear(Simplifier *s, const Linear *l, Node *const *chain, int count)
{
	Value *y = l->x;
	int rank = y->type.rank;
	const Array *shift = l->shift, *before = NULL;
	s->channel = l->channel;
	if (l->scale && !is_all(shift, 0) && quantised_is_sum(l->x))
		before = quantised_shift(s->graph->arena, shift, l->scale);
	if (before)
		y = apply_constant(s, chain[0], "Add", y, channel_constant(s, before, rank, "shift"));
	if (l->scale)
		y = apply_constant(s, chain[0], "Mul", y, channel_constant(s, l->scale, rank, "scale"));
	if (!before && !is_all(shift, 0))
		y = apply_constant(s, chain[0], "Add", y, channel_constant(s, shift, rank, "shift"));
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
