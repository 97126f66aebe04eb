/* lower_block_weights: store constant weights in blocks of output channels, where channels are what
 * should run in vector lanes.
 *
 *     Y[o,p] = sum(c, r) X[c,p+r] * W[c,o,r]          few positions p, many channels o
 *     => lanes along i:  Y[16*b + i, p] = sum(c, r) X[c,p+r] * W'[c,b,r,i]
 *
 * Only for one sum of products with constant weights, when no loop reads the other operand
 * contiguously over a vector's length, or when values beside them are stored in blocks of channels.
 * The weights are rearranged once, when compiling.
 */
#include <string.h>

#include "lower/inner.h"
#include "lower/weights.h"
#include "program/layout.h"

static int
input_number(const Program *p, const Tensor *tensor)
{
	for (int i = 0; i < p->ninput; i++)
		if (p->inputs[i] == tensor)
			return i;
	return -1;
}

static bool
find_factors(const Program *p, const bool *is_constant, Weighted *sum)
{
	const Stage *main = p->nstage > 0 ? p->stages[0] : NULL;
	if (!main || main->kind != STAGE_reduce || main->reduce != REDUCE_sum || main->nbody != 1)
		return false;
	const Expr *body = expr_without_casts(main->body[0]);
	if (body->op != EX_mul)
		return false;
	for (int k = 0; k < 2; k++) {
		sum->w = expr_without_casts(body->arg[k]);
		sum->x = expr_without_casts(body->arg[1 - k]);
		if (sum->w->op != EX_read || sum->x->op != EX_read || sum->w->tensor == sum->x->tensor)
			return false;
		sum->weight = input_number(p, sum->w->tensor);
		if (sum->weight >= 0 && is_constant[sum->weight])
			return true;
	}
	return false;
}

/* Whether anything but w's own dim moves with the loop. */
static bool
moves_elsewhere(const Stage *main, const Weighted *sum, int iter)
{
	bool elsewhere = main->guard && expr_uses_iter(main->guard, iter);
	for (int k = 0; k < sum->x->argc; k++)
		elsewhere |= expr_uses_iter(sum->x->arg[k], iter);
	return elsewhere;
}

bool
weighted_sum(const Program *p, const bool *is_constant, Weighted *sum)
{
	if (!find_factors(p, is_constant, sum))
		return false;
	const Stage *main = p->stages[0];
	sum->channel = -1;
	sum->is_apart = false;
	for (int d = 0; d < sum->w->argc && !sum->is_apart; d++) {
		const Expr *index = sum->w->arg[d];
		if (index->op != EX_iter || index->iter >= main->nloop)
			continue;
		bool is_apart = !moves_elsewhere(main, sum, index->iter);
		if (sum->channel >= 0 && !is_apart)
			continue;
		sum->channel = index->iter;
		sum->dim = d;
		sum->is_apart = is_apart;
	}
	return sum->channel >= 0;
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

/* The elements of `data` in panels, one for each block of dim d: [d/block, the other dims, block].
 * A product that runs through a panel reads it in one run. */
static Array *
panels_of(Arena *arena, const Array *data, int dim, int64_t block)
{
	int64_t dims[ARRAY_MAX_RANK + 1], outer = 1, inner = 1, count = data->dims[dim];
	int rank = 0;
	dims[rank++] = count / block;
	for (int d = 0; d < data->rank; d++) {
		if (d == dim)
			continue;
		dims[rank++] = data->dims[d];
		outer *= d < dim ? data->dims[d] : 1;
		inner *= d > dim ? data->dims[d] : 1;
	}
	dims[rank++] = block;
	Array *out = array_new(arena, data->type, rank, dims);
	size_t size = (size_t)dtype_bits(data->type) / 8;
	const char *from = data->data;
	for (int64_t o = 0; o < outer; o++)
		for (int64_t c = 0; c < count; c++)
			for (int64_t i = 0; i < inner; i++, from += size) {
				int64_t at = ((c / block * outer + o) * inner + i) * block + c % block;
				memcpy((char *)out->data + (size_t)at * size, from, size);
			}
	return out;
}

static MBuffer *
new_weight(Lowering *low, const MBuffer *weight, Array *data, int64_t block)
{
	Type type = type_of_array(low->graph->ctx, data);
	const char *name = arena_printf(low->arena, "%s.blocks%lld", weight->name, (long long)block);
	MBuffer *buffer = lower_temp(low, name, type.dtype, type.rank, type.dims);
	buffer->kind = MB_WEIGHT;
	buffer->data = data;
	return buffer;
}

static MBuffer *
blocked_weight(Lowering *low, const MBuffer *weight, const Tensor *tensor, int dim, int64_t block)
{
	/* the program's tensor may have lost dims of extent 1: same bytes, other dims */
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < tensor->rank; d++)
		dim_is_const(tensor->hi[d], &dims[d]);
	Array same = {weight->data->type, tensor->rank, dims, weight->data->data};
	return new_weight(low, weight, panels_of(low->arena, &same, dim, block), block);
}

/* The largest of a vector's length and half of it that divides the channels; 0: none does. */
static int64_t
lanes_for(const Lowering *low, const Weighted *sum)
{
	int64_t lanes =
		low->context->target->device->vector_bytes * 8 / dtype_bits(sum->w->tensor->type);
	int64_t channels;
	for (int d = 0; d < sum->w->argc; d++)
		if (!dim_is_const(sum->w->tensor->hi[d], &channels))
			return 0;
	dim_is_const(sum->w->tensor->hi[sum->dim], &channels);
	return channels % lanes == 0 ? lanes : channels % (lanes / 2) == 0 ? lanes / 2 : 0;
}

/* Between values in blocks of channels: weights, by output channel first, are stored so, too, and
 * ApplyLayouts does the rest. */
static void
store_in_layout(Lowering *low, const Program *part, const bool *is_constant, MBuffer **args)
{
	static const char *const rest[] = {[3] = "iw", [4] = "ihw", [5] = "idhw"};
	Weighted sum;
	const MBuffer *result = args[part->ninput];
	if (part->noutput != 1 || !weighted_sum(part, is_constant, &sum) || sum.dim != 0)
		return;
	const MBuffer *weight = args[sum.weight];
	int64_t lanes = lanes_for(low, &sum), block = layout_block(result->layout);
	if (lanes == 0 || (block > 0 && block != lanes) || (block == 0 && !sum.is_apart) ||
	    weight->rank < 3 || weight->rank > 5 || weight->layout || sum.w->argc != weight->rank)
		return;
	Array *data = panels_of(low->arena, weight->data, 0, lanes);
	MBuffer *made = new_weight(low, weight, data, lanes);
	made->rank = weight->rank;
	made->dims = weight->dims;
	made->layout = arena_printf(low->arena, "o%lld%s", (long long)lanes, rest[weight->rank]);
	args[sum.weight] = made;
}

const Program *
lower_block_weights(Lowering *low, const Program *part, MBuffer **args)
{
	Weighted sum;
	int count = part->ninput + part->noutput;
	bool has_layout = false, has_strides = false;
	bool *is_constant = NEW_N(low->arena, bool, part->ninput + 1);
	for (int i = 0; i < part->ninput; i++)
		is_constant[i] = args[i]->kind == MB_WEIGHT && !args[i]->layout;
	for (int i = 0; i < count; i++) {
		has_layout |= args[i]->layout != NULL;
		has_strides |= !args[i]->layout && lower_is_strided(low, args[i]);
	}
	if (has_layout)
		store_in_layout(low, part, is_constant, args);
	if (has_layout || has_strides || part->stages[0]->scan ||
	    !weighted_sum(part, is_constant, &sum))
		return part;
	const Program *p = program_split_dims(low->arena, program_squeeze_dims(low->arena, part, NULL));
	if (!weighted_sum(p, is_constant, &sum) || !sum.is_apart)
		return part;
	int64_t lanes = lanes_for(low, &sum);
	int64_t full = low->context->target->device->vector_bytes * 8 / dtype_bits(sum.w->tensor->type);
	if (lanes != full || has_long_row(low, p->stages[0], sum.x, lanes))
		return part;
	args[sum.weight] = blocked_weight(low, args[sum.weight], sum.w->tensor, sum.dim, lanes);
	return program_block_input(low->arena, p, sum.weight, sum.dim, lanes);
}
