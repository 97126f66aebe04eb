/* lower_block_weights: store constant weights in blocks of output channels, where channels are what
 * should run in vector lanes.
 *
 *     Y[o,p] = sum(c, r) X[c,p+r] * W[c,o,r]          few positions p, many channels o
 *     => lanes along i:  Y[16*b + i, p] = sum(c, r) X[c,p+r] * W'[c,b,r,i]
 *
 * Only for one sum of products with constant weights, when no loop reads the other operand
 * contiguously over a vector's length. The weights are rearranged once, when compiling.
 */
#include <string.h>

#include "lower/inner.h"
#include "program/layout.h"

typedef struct Factors {
	const Expr *x, *w; /* reads */
	int weight;        /* input number of w's tensor */
	int channel;       /* loop that only w moves with */
	int dim;           /* of w */
} Factors;

static int
input_number(const Program *p, const Tensor *tensor)
{
	for (int i = 0; i < p->ninput; i++)
		if (p->inputs[i] == tensor)
			return i;
	return -1;
}

static bool
find_factors(const Program *p, MBuffer *const *args, Factors *f)
{
	const Stage *main = p->stages[0];
	if (main->kind != STAGE_reduce || main->reduce != REDUCE_sum || main->nbody != 1)
		return false;
	const Expr *body = expr_without_casts(main->body[0]);
	if (body->op != EX_mul)
		return false;
	for (int k = 0; k < 2; k++) {
		f->w = expr_without_casts(body->arg[k]);
		f->x = expr_without_casts(body->arg[1 - k]);
		if (f->w->op != EX_read || f->x->op != EX_read || f->w->tensor == f->x->tensor)
			return false;
		f->weight = input_number(p, f->w->tensor);
		if (f->weight >= 0 && args[f->weight]->kind == MB_WEIGHT)
			return true;
	}
	return false;
}

/* A loop that stands alone at one dim of the weights and nowhere else in the product. */
static bool
find_channel(const Stage *main, Factors *f)
{
	for (int d = 0; d < f->w->argc; d++) {
		const Expr *index = f->w->arg[d];
		if (index->op != EX_iter || index->iter >= main->nloop)
			continue;
		bool elsewhere = main->guard && expr_uses_iter(main->guard, index->iter);
		for (int k = 0; k < f->x->argc; k++)
			elsewhere |= expr_uses_iter(f->x->arg[k], index->iter);
		if (elsewhere)
			continue;
		f->channel = index->iter;
		f->dim = d;
		return true;
	}
	return false;
}

/* Whether some loop of a vector's length reads x contiguously: then it is the better lane. */
static bool
has_long_row(Lowering *low, const Stage *main, const Expr *x, int64_t lanes)
{
	const Expr *last = x->argc > 0 ? x->arg[x->argc - 1] : NULL;
	ExprCtx *ctx = low->graph->ctx;
	const Dim **coefficient = NEW_N(low->arena, const Dim *, main->nloop + main->nreduce + 1);
	const Expr *rest;
	if (!last || !expr_affine(ctx, last, main->nloop + main->nreduce, coefficient, &rest))
		return false;
	for (int i = 0; i < main->nloop; i++)
		if (dim_is(coefficient[i], 1) &&
		    probe_dim(low->context->target, main->iters[i].hi) >= lanes)
			return true;
	return false;
}

/* The elements of `data` with dim d cut into blocks, which come last. */
static Array *
block_data(Arena *arena, const Array *data, int dim, int64_t block)
{
	int64_t dims[ARRAY_MAX_RANK + 1];
	memcpy(dims, data->dims, (size_t)data->rank * sizeof *dims);
	dims[dim] /= block;
	dims[data->rank] = block;
	Array *out = array_new(arena, data->type, data->rank + 1, dims);
	Blocking blocking = blocking_of(data, dim, block);
	blocking_copy(&blocking, data->data, out->data);
	return out;
}

static MBuffer *
blocked_weight(Lowering *low, const MBuffer *weight, const Tensor *tensor, int dim, int64_t block)
{
	/* the program's tensor may have lost dims of extent 1: same bytes, other dims */
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < tensor->rank; d++)
		dim_is_const(tensor->hi[d], &dims[d]);
	Array same = {weight->data->type, tensor->rank, dims, weight->data->data};
	Array *data = block_data(low->arena, &same, dim, block);
	Type type = type_of_array(low->graph->ctx, data);
	const char *name = arena_printf(low->arena, "%s.blocks%lld", weight->name, (long long)block);
	MBuffer *buffer = lower_temp(low, name, type.dtype, type.rank, type.dims);
	buffer->kind = MB_WEIGHT;
	buffer->data = data;
	return buffer;
}

const Program *
lower_block_weights(Lowering *low, const Program *part, MBuffer **args)
{
	Factors f = {0};
	const Device *device = low->context->target->device;
	for (int i = 0; i < part->ninput + part->noutput; i++)
		if (args[i]->layout || lower_is_strided(low, args[i]))
			return part;
	if (part->stages[0]->scan || !find_factors(part, args, &f))
		return part;
	const Program *p = program_split_dims(low->arena, program_squeeze_dims(low->arena, part, NULL));
	if (!find_factors(p, args, &f) || !find_channel(p->stages[0], &f))
		return part;
	int64_t lanes = device->vector_bytes * 8 / dtype_bits(f.w->tensor->type), channels;
	for (int d = 0; d < f.w->argc; d++)
		if (!dim_is_const(f.w->tensor->hi[d], &channels))
			return part;
	dim_is_const(f.w->tensor->hi[f.dim], &channels);
	if (channels % lanes != 0 || has_long_row(low, p->stages[0], f.x, lanes))
		return part;
	args[f.weight] = blocked_weight(low, args[f.weight], f.w->tensor, f.dim, lanes);
	return program_block_input(low->arena, p, f.weight, f.dim, lanes);
}
