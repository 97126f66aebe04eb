/* lower_block_weights: store constant weights in blocks of output channels, where channels are what
 * should run in vector lanes.
 *
 *     Y[o,p] = sum(c, r) X[c,p+r] * W[c,o,r]          few positions p, many channels o
 *     => lanes along i:  Y[16*b + i, p] = sum(c, r) X[c,p+r] * W'[c,b,r,i]
 *
 * Of a transposed convolution each phase of the result takes its own taps, stored together:
 *
 *     Y[p] = sum(c, r where (p-r) % 2 == 0) X[c,(p-r)/2] * W'[c,b,r,i]
 *     => W''[b,r%2,c,r/2,i]
 *
 * Only for one sum of products with constant weights, when no loop reads the other operand
 * contiguously over a vector's length, or when values beside them are stored in blocks of channels.
 * The weights are rearranged once, when compiling.
 */
#include <string.h>

#include "lower/weights.h"
#include "program/forms.h"
#include "program/layout.h"
#include "target/maker.h"

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
	const Expr *body = main ? stage_summed_product(main) : NULL;
	if (!body)
		return false;
	for (int k = 0; k < 2; k++) {
		sum->w = expr_without_casts(body->arg[k]);
		sum->x = expr_without_casts(body->arg[1 - k]);
		if (sum->w->op != EX_read || sum->x->op != EX_read || sum->w->tensor == sum->x->tensor)
			return false;
		sum->type = (DType)body->type;
		sum->is_widened = dtype_is_short_float(sum->w->tensor->type) && body->type == DT_F32 &&
		                  body->arg[k]->op == EX_cast && body->arg[k]->arg[0] == sum->w;
		sum->weight = input_number(p, sum->w->tensor);
		if (sum->weight >= 0 && is_constant[sum->weight])
			return true;
	}
	return false;
}

typedef struct Sharing {
	ExprCtx *ctx;
	int iter;
	int64_t count;
} Sharing;

/* The group of a channel, which is the same for as many. */
static const Expr *
without_group(ExprCtx *ctx, const Expr *e, void *arg)
{
	Sharing *sharing = arg;
	int64_t count;
	if (e->op != EX_floordiv || e->arg[0]->op != EX_iter || e->arg[0]->iter != sharing->iter ||
	    !expr_as_i64(e->arg[1], &count) || count < 1)
		return e;
	sharing->count = count < sharing->count ? count : sharing->count;
	return expr_i64(ctx, 0);
}

static int64_t
share_of(ExprCtx *ctx, const Stage *main, const Weighted *sum, int iter)
{
	Sharing sharing = {ctx, iter, INT64_MAX};
	bool elsewhere = main->guard && expr_uses_iter(main->guard, iter);
	for (int k = 0; k < sum->x->argc; k++)
		elsewhere |=
			expr_uses_iter(expr_rewrite(ctx, sum->x->arg[k], without_group, &sharing), iter);
	return elsewhere ? 1 : sharing.count;
}

static int64_t
terms_of(const Stage *main)
{
	int64_t terms = 1, extent;
	for (int i = main->nloop; i < main->nloop + main->nreduce; i++)
		terms = dim_is_const(main->iters[i].hi, &extent) ? probe_times(terms, extent) : INT64_MAX;
	return terms;
}

/* The longest loop that reads x contiguously; 0: there is none. */
static int64_t
row_of(const Program *p, const Target *target, const Expr *x)
{
	const Stage *main = p->stages[0];
	const Expr *last = x->argc > 0 ? x->arg[x->argc - 1] : NULL, *rest;
	const Dim **coefficient =
		NEW_N(expr_ctx_arena(p->ctx), const Dim *, main->nloop + main->nreduce + 1);
	int64_t row = 0;
	if (!last || !expr_affine(p->ctx, last, main->nloop + main->nreduce, coefficient, &rest))
		return 0;
	for (int i = 0; i < main->nloop; i++) {
		int64_t extent = probe_dim(target, main->iters[i].hi);
		row = dim_is(coefficient[i], 1) && extent > row ? extent : row;
	}
	return row;
}

static bool
is_matrix(const Stage *main, const Expr *x)
{
	bool has_window = main->nreduce != 1 || main->guard;
	for (int d = 0; d < x->argc; d++)
		has_window |= x->arg[d]->op != EX_iter;
	return !has_window;
}

bool
weighted_sum(const Program *p, const Target *target, const bool *is_constant, Weighted *sum)
{
	if (!find_factors(p, is_constant, sum))
		return false;
	const Stage *main = p->stages[0];
	sum->share = 0;
	sum->terms = terms_of(main);
	sum->row = row_of(p, target, sum->x);
	sum->is_matrix = is_matrix(main, sum->x);
	int64_t positions;
	sum->has_rows = main->nloop > 0 && dim_is_const(main->iters[main->nloop - 1].hi, &positions);
	for (int d = 0; d < sum->w->argc; d++) {
		const Expr *index = sum->w->arg[d];
		if (index->op != EX_iter || index->iter >= main->nloop)
			continue;
		int64_t share = share_of(p->ctx, main, sum, index->iter);
		if (share <= sum->share)
			continue;
		sum->channel = index->iter;
		sum->dim = d;
		sum->share = share;
	}
	return sum->share > 0;
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

MBuffer *
lower_weight(Lowering *low, const MBuffer *weight, const char *word, Array *data)
{
	Type type = type_of_array(low->graph->ctx, data);
	const char *name = arena_printf(low->arena, "%s.%s", weight->name, word);
	MBuffer *buffer = lower_temp(low, name, type.dtype, type.rank, type.dims);
	buffer->kind = PB_WEIGHT;
	buffer->data = data;
	return buffer;
}

static MBuffer *
new_weight(Lowering *low, const MBuffer *weight, Array *data, int64_t block)
{
	return lower_weight(low, weight, arena_printf(low->arena, "blocks%lld", (long long)block),
	                    data);
}

MBuffer *
lower_weight_in_layout(Lowering *low, const MBuffer *weight, const char *layout)
{
	int64_t block = layout_block(layout);
	MBuffer *made = new_weight(
		low, weight, panels_of(low->arena, weight->data, layout_dim(layout), block), block);
	made->rank = weight->rank;
	made->dims = weight->dims;
	made->layout = layout;
	return made;
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

/* Weights by output channel first get a layout, in blocks of it, and ApplyLayouts does the rest: as
 * values in blocks of channels need them, or where plain rows are short or sums long. Beside
 * numbers of 8 bits, which have one block of all channels, they have one, too. */
static bool
store_in_layout(Lowering *low, const Program *part, const Weighted *sum, bool has_layout,
                MBuffer **args)
{
	const MBuffer *weight = args[sum->weight];
	const Maker *maker = maker_of(low->context->target);
	int64_t vector = target_lanes(low->context->target, sum->type);
	int64_t block = layout_block(args[part->ninput]->layout);
	int64_t lanes = block > vector ? block : maker->weight_lanes(sum, vector);
	const char *layout = layout_of_weights(low->arena, weight->rank, lanes);
	if (lanes == 0 || part->noutput != 1 || sum->dim != 0 || (block > 0 && block != lanes) ||
	    (block == 0 && sum->share == 1) || !layout || sum->w->argc != weight->rank ||
	    weight->data->dims[0] % lanes != 0)
		return false;
	if (!has_layout && !maker->weights_pay(sum, lanes, true))
		return false;
	args[sum->weight] = lower_weight_in_layout(low, weight, layout);
	return true;
}

/* What the sum's iterator at this index is divided by where the guard asks for a remainder, if that
 * divides the extent; else 1. */
static int64_t
phases_at(const Stage *main, const Expr *index, int64_t extent)
{
	int64_t factor = 1;
	if (index->op != EX_iter || index->iter < main->nloop || !main->guard)
		return 1;
	for (ExprWalk walk = expr_walk(main->guard); expr_step(&walk);)
		if (walk.e->op == EX_floormod && expr_uses_iter(walk.e->arg[0], index->iter) &&
		    (!expr_as_i64(walk.e->arg[1], &factor) || factor < 1))
			factor = 1;
	return extent % factor == 0 ? factor : 1;
}

/* The dims of a tensor by phases: dim d, of which factors[d] > 1 is a divisor, as remainder and
 * quotient, all remainders behind the first dim, which has none. */
static int
phase_dims(ExprCtx *ctx, const Tensor *tensor, const int64_t *factors, NewDim *dims)
{
	const Dim *zero = dim_const(ctx, 0);
	int rank = 0;
	dims[rank++] = (NewDim){.dim = 0, .lo = zero, .hi = tensor->hi[0]};
	for (int d = 1; d < tensor->rank; d++)
		if (factors[d] > 1)
			dims[rank++] = (NewDim){d, factors[d], true, zero, dim_const(ctx, factors[d])};
	for (int d = 1; d < tensor->rank; d++) {
		const Dim *count = dim_floordiv(ctx, tensor->hi[d], dim_const(ctx, factors[d]));
		dims[rank++] = (NewDim){d, factors[d] > 1 ? factors[d] : 0, false, zero, count};
	}
	return rank;
}

/* The elements of `data` where a tensor of these dims has them. */
static Array *
in_dims(Arena *arena, const Array *data, int rank, const NewDim *dims)
{
	int64_t extents[ARRAY_MAX_RANK], at[ARRAY_MAX_RANK] = {0};
	for (int k = 0; k < rank; k++)
		must(dim_is_const(dims[k].hi, &extents[k]));
	Array *out = array_new(arena, data->type, rank, extents);
	size_t size = (size_t)dtype_bits(data->type) / 8;
	for (int64_t from = 0; from < array_count(data); from++) {
		int64_t to = 0;
		for (int k = 0; k < rank; k++) {
			int64_t i = at[dims[k].dim], block = dims[k].block;
			to = to * extents[k] + (block == 0 ? i : dims[k].is_remainder ? i % block : i / block);
		}
		memcpy((char *)out->data + (size_t)to * size, (char *)data->data + (size_t)from * size,
		       size);
		for (int d = data->rank - 1; d >= 0 && ++at[d] == data->dims[d]; d--)
			at[d] = 0;
	}
	return out;
}

/* Blocked weights of a transposed convolution by phases. */
static const Program *
store_phases(Lowering *low, const Program *p, int weight, int64_t block, MBuffer **args)
{
	const Array *data = args[weight]->data;
	const Stage *main = p->stages[0];
	const Expr *read = NULL;
	int64_t factors[ARRAY_MAX_RANK] = {1};
	NewDim dims[2 * ARRAY_MAX_RANK];
	for (ExprWalk walk = expr_walk(main->body[0]); expr_step(&walk);)
		if (walk.e->op == EX_read && walk.e->tensor == p->inputs[weight])
			read = walk.e;
	for (int d = 1; d < data->rank; d++)
		factors[d] = phases_at(main, read->arg[d], data->dims[d]);
	int rank = phase_dims(p->ctx, p->inputs[weight], factors, dims);
	if (rank == data->rank || rank > ARRAY_MAX_RANK)
		return p;
	args[weight] = new_weight(low, args[weight], in_dims(low->arena, data, rank, dims), block);
	return program_store_input(low->arena, p, weight, rank, dims);
}

/* How often a sum's weight is used: for each position. */
static double
uses_of(const Program *p, const Target *target, const Weighted *sum)
{
	const Stage *main = p->stages[0];
	double uses = 1;
	for (int i = 0; i < main->nloop; i++) {
		bool moves = false;
		for (int d = 0; d < sum->w->argc; d++)
			moves |= expr_uses_iter(sum->w->arg[d], i);
		uses *= moves ? 1 : (double)probe_dim(target, main->iters[i].hi);
	}
	return uses;
}

/* Weights of f16 and bf16 that serve often are stored as the f32 that they are computed as: turned
 * once, when compiling. Those that serve once are waited for: half of the bytes, half of it. Where
 * kernels do not run in vector registers, products may have units for factors as they are. */
static const Program *
widen_weight(Lowering *low, const Program *p, const bool *is_constant, MBuffer **args)
{
	enum { FEWEST_USES = 8 };
	const Target *target = low->context->target;
	Weighted sum;
	int reads = 0;
	if (!(maker_of(target)->passes & DEVICES_vectors) || p->stages[0]->scan ||
	    !weighted_sum(p, target, is_constant, &sum) || !sum.is_widened ||
	    uses_of(p, target, &sum) < FEWEST_USES)
		return p;
	for (int s = 0; s < p->nstage; s++)
		reads += stage_reads(p->stages[s], p->inputs[sum.weight]);
	MBuffer *weight = args[sum.weight];
	if (reads != 1)
		return p;
	args[sum.weight] = lower_weight(low, weight, "f32", array_in_f32(low->arena, weight->data));
	return program_widen_input(low->arena, p, sum.weight);
}

/* Whether a sum is a product of two matrices that is better as it is: its columns, all positions of
 * an image, lie side by side, and so does its result. */
static bool
is_plain_product(const Lowering *low, const Program *part, const bool *is_constant)
{
	const Target *target = low->context->target;
	Weighted sum;
	const Program *p = program_squeeze_dims(low->arena, part, NULL);
	p = program_collapse_dims(low->arena, p, NULL);
	return weighted_sum(p, target, is_constant, &sum) && sum.is_matrix &&
	       dtype_is_float(sum.type) &&
	       !maker_of(target)->weights_pay(&sum, target_lanes(target, sum.type), true);
}

const Program *
lower_block_weights(Lowering *low, const Program *part, MBuffer **args)
{
	Weighted sum;
	bool has_layout = false, has_strides = false;
	bool *is_constant = NEW_N(low->arena, bool, part->ninput + 1);
	for (int i = 0; i < part->ninput; i++)
		is_constant[i] = args[i]->kind == PB_WEIGHT && !args[i]->layout;
	for (int i = 0; i < part->ninput + part->noutput; i++) {
		has_layout |= args[i]->layout != NULL;
		has_strides |= !args[i]->layout && lower_is_strided(low, args[i]);
	}
	const Target *target = low->context->target;
	const Maker *maker = maker_of(target);
	part = widen_weight(low, part, is_constant, args);
	if (part->stages[0]->scan || !weighted_sum(part, target, is_constant, &sum) ||
	    (!has_layout && !has_strides && is_plain_product(low, part, is_constant)) ||
	    store_in_layout(low, part, &sum, has_layout, args) || has_layout || has_strides)
		return part;
	const Program *p = program_split_dims(low->arena, program_squeeze_dims(low->arena, part, NULL));
	const Program *quads = lower_take_quads(low, p, is_constant, args);
	part = quads == p ? part : quads;
	p = quads;
	if (!weighted_sum(p, target, is_constant, &sum) || sum.share != INT64_MAX)
		return part;
	int64_t lanes = target_lanes(target, sum.type);
	if (maker->weight_lanes(&sum, lanes) != lanes || !maker->weights_pay(&sum, lanes, false))
		return part;
	args[sum.weight] = blocked_weight(low, args[sum.weight], sum.w->tensor, sum.dim, lanes);
	p = program_block_input(low->arena, p, sum.weight, sum.dim, lanes);
	return store_phases(low, p, sum.weight, lanes, args);
}
