/* See linear.h. */
#include "passes/linear.h"

#include "expr/interp/interp.h"
#include "expr/scalar/affine.h"
#include "graph/meaning.h"
#include "program/forms.h"

typedef struct Finder {
	Arena *scratch;
	Graph *graph;
	ExprCtx *ctx;
	const Program *program;
	const Stage *stage;
	const Tensor *variable;       /* the operand that is not constant */
	const Array *const *inputs;   /* of the program; NULL where variable */
	const Expr *by[LINEAR_STEPS]; /* of the steps of `out`, over the stage's iterators */
	Linear *out;
} Finder;

/* ---- the steps of an expression -------------------------------------------------------------- */

static bool find_steps(Finder *f, const Expr *e);

static bool
add_step(Finder *f, ExprOp op, const Expr *by)
{
	if (f->out->count == LINEAR_STEPS)
		return false;
	f->by[f->out->count] = by;
	f->out->steps[f->out->count++] = (LinearStep){op, NULL};
	return true;
}

static bool
find_operation(Finder *f, const Expr *e)
{
	bool left = expr_reads(e->arg[0], f->variable);
	if (left == expr_reads(e->arg[1], f->variable) || !find_steps(f, e->arg[left ? 0 : 1]))
		return false;
	const Expr *by = e->arg[left ? 1 : 0];
	if (e->op != EX_sub)
		return (left || e->op != EX_div) && add_step(f, (ExprOp)e->op, by);
	if (left)
		return add_step(f, EX_add, expr_neg(f->ctx, by));
	return add_step(f, EX_mul, expr_number(f->ctx, (DType)e->type, -1)) && add_step(f, EX_add, by);
}

static bool
find_steps(Finder *f, const Expr *e)
{
	switch (e->op) {
	case EX_read:
		return e->tensor == f->variable;
	case EX_add:
	case EX_sub:
	case EX_mul:
	case EX_div:
		return find_operation(f, e);
	default:
		return false;
	}
}

/* The only loop the scalar depends on: false when there are several. */
static bool
one_iter(Finder *f, const Expr *e)
{
	for (int i = 0; i < f->stage->nloop; i++) {
		if (!expr_uses_iter(e, i) || dim_is(f->stage->iters[i].hi, 1))
			continue;
		if (f->out->channel != NO_DIM && f->out->channel != i)
			return false;
		f->out->channel = i;
	}
	return true;
}

/* The scalar over constants as an array over the channel: [C], or [1] without one. Inputs that are
 * not constant are NULL and not among the small program's inputs. */
static Array *
evaluate(Finder *f, const Expr *e)
{
	const Stage *stage = f->stage;
	const Program *p = f->program;
	int channel = f->out->channel;
	const Dim *extent = channel == NO_DIM ? dim_const(f->ctx, 1) : stage->iters[channel].hi;
	StageBuilder *builder = stage_open(f->ctx, "constant", 1, &extent);
	const Expr **iters = NEW_N(f->scratch, const Expr *, stage->nloop + 1);
	for (int i = 0; i < stage->nloop; i++)
		iters[i] = i == channel ? stage_iter(builder, 0) : expr_i64(f->ctx, 0);
	const Tensor *result = stage_map(builder, stage->results[0]->type,
	                                 expr_substitute(f->ctx, e, stage->nloop, iters));
	Tensor **tensors = NEW_N(f->scratch, Tensor *, p->ninput + 1);
	const Array **arrays = NEW_N(f->scratch, const Array *, p->ninput + 1);
	int count = 0;
	for (int i = 0; i < p->ninput; i++)
		if (f->inputs[i]) {
			tensors[count] = p->inputs[i];
			arrays[count++] = f->inputs[i];
		}
	Program *program = program_new(f->ctx, "constant", count, tensors, 1, &result);
	Array *out;
	program_eval(f->graph->arena, program, NULL, arrays, &out);
	return out;
}

static bool
evaluate_steps(Finder *f)
{
	Linear *l = f->out;
	int64_t extent;
	for (int i = 0; i < l->count; i++)
		if (!one_iter(f, f->by[i]))
			return false;
	if (l->channel != NO_DIM && !dim_is_const(f->stage->iters[l->channel].hi, &extent))
		return false;
	for (int i = 0; i < l->count; i++)
		l->steps[i].by = evaluate(f, f->by[i]);
	return true;
}

/* ---- as one product and one sum -------------------------------------------------------------- */

/* Fills in scale and shift. */
static bool
join(Graph *graph, Linear *l)
{
	int64_t count = 1;
	bool has_scale = false;
	for (int k = 0; k < l->count; k++) {
		count = l->steps[k].by->dims[0] == 1 ? count : l->steps[k].by->dims[0];
		has_scale |= l->steps[k].op != EX_add;
	}
	Array *scale = array_new(graph->arena, DT_F64, 1, &count);
	Array *shift = array_new(graph->arena, DT_F64, 1, &count);
	for (int64_t i = 0; i < count; i++) {
		AffineStep steps[LINEAR_STEPS];
		Affine joined;
		for (int k = 0; k < l->count; k++) {
			const Array *by = l->steps[k].by;
			int64_t at = by->dims[0] > 1 ? i : 0;
			steps[k] = (AffineStep){l->steps[k].op, dtype_load_f64(by->type, by->data, at)};
		}
		if (!affine_join(l->x->type.dtype, l->count, steps, &joined))
			return false;
		dtype_store_f64(DT_F64, scale->data, i, joined.scale);
		dtype_store_f64(DT_F64, shift->data, i, joined.shift);
	}
	l->scale = has_scale ? scale : NULL;
	l->shift = shift;
	return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

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

Value *
linear_operand(const Node *node)
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

bool
linear_of(Arena *scratch, Graph *graph, Node *node, Linear *out)
{
	Value *x = linear_operand(node);
	if (!x || !has_one_result(node))
		return false;
	const Program *program = program_flatten(graph->arena, node_meaning(graph, node));
	if (program->nstage != 1 || program->stages[0]->kind != STAGE_map || program->stages[0]->scan)
		return false;
	const Expr *body = program->stages[0]->body[0];
	Value **values = NEW_N(scratch, Value *, node->ninput + 1);
	const Array **inputs = NEW_N(scratch, const Array *, node->ninput + 1);
	int count = node_meaning_inputs(node, values);
	Finder f = {scratch,          graph,     graph->ctx, program, program->stages[0],
	            .inputs = inputs, .out = out};
	for (int i = 0; i < count; i++) {
		if (values[i] == x)
			f.variable = program->inputs[i];
		inputs[i] = values[i]->constant;
	}
	*out = (Linear){.x = x, .channel = NO_DIM};
	out->is_simple = is_one_operation(body) || expr_cost(body) <= 2;
	return f.variable && is_read_in_place(body, f.variable) && has_dims_of(f.stage, &x->type) &&
	       find_steps(&f, body) && evaluate_steps(&f) && join(graph, out);
}

bool
linear_absorb(Arena *scratch, Graph *graph, Linear *l)
{
	Linear all;
	if (!linear_of(scratch, graph, l->x->def, &all) || all.count + l->count > LINEAR_STEPS ||
	    (all.channel != NO_DIM && l->channel != NO_DIM && all.channel != l->channel))
		return false;
	for (int i = 0; i < l->count; i++)
		all.steps[all.count++] = l->steps[i];
	all.channel = l->channel == NO_DIM ? all.channel : l->channel;
	all.is_simple = l->is_simple;
	if (!join(graph, &all))
		return false;
	*l = all;
	return true;
}
