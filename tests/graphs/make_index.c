/* Operators that read or write by index, and those that the host runs. */
#include "gen.h"

static DType
index_type(Gen *g)
{
	return chance(&g->dice, 70) ? DT_I64 : DT_I32;
}

/* An axis of x whose extent is a number of at least 1. */
static int
indexed_axis(Gen *g, const Value *x)
{
	for (int tries = 0; tries < 6; tries++) {
		int axis = (int)roll(&g->dice, 0, gen_rank(x) - 1);
		if (gen_fixed(x, axis) > 0)
			return axis;
	}
	gen_give_up();
}

/* ---- reading --------------------------------------------------------------------------------- */

void
make_gather(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num) | BIT(DT_BOOL), 1, 4);
	int axis = indexed_axis(g, x), rank = (int)PICK(t, 0, 1, 1, 2);
	int64_t dims[] = {chance(t, 30) && t->is_symbolic ? -1 : roll(t, 1, 5), roll(t, 1, 4)};
	bool has_free = dims[0] < 0;
	Value *at =
		has_free && rank ? NULL : gen_indices(g, index_type(g), rank, dims, gen_fixed(x, axis));
	if (!at) {
		Value *inputs[] = {gen_input(g, DT_I64, rank, dims),
		                   gen_scalar(g, DT_I64, (double)gen_fixed(x, axis))};
		at = gen_one(g, "Mod", 2, inputs);
	}
	trial_int(t, "axis", gen_axis(g, axis, gen_rank(x)));
	Value *inputs[] = {x, at};
	gen_node(g, row->op, 2, inputs, 1);
}

void
make_gather_elements(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num), 1, 4);
	int axis = indexed_axis(g, x);
	int64_t dims[GRAPH_RANK];
	for (int i = 0; i < gen_rank(x); i++)
		dims[i] = i == axis ? roll(t, 1, 5) : roll(t, 1, gen_dim(g, x, i));
	Value *inputs[] = {x, gen_indices(g, index_type(g), gen_rank(x), dims, gen_fixed(x, axis))};
	trial_int(t, "axis", gen_axis(g, axis, gen_rank(x)));
	gen_node(g, row->op, 2, inputs, 1);
}

/* Tuples of indices into the first axes of x, behind `batch` common ones. */
static Value *
index_tuples(Gen *g, const Value *x, int batch, int width, int outer, const int64_t *dims)
{
	int64_t shape[GRAPH_RANK] = {0}, extent = INT64_MAX;
	int rank = 0;
	for (int i = 0; i < batch; i++)
		shape[rank++] = gen_fixed(x, i);
	for (int i = 0; i < outer; i++)
		shape[rank++] = dims[i];
	shape[rank++] = width;
	for (int i = 0; i < width; i++)
		if (gen_fixed(x, batch + i) < extent)
			extent = gen_fixed(x, batch + i);
	for (int i = 0; i < rank; i++)
		if (shape[i] < 1)
			gen_give_up();
	return gen_indices(g, DT_I64, rank, shape, extent);
}

void
make_gather_nd(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num), 1, 4);
	int rank = gen_rank(x), batch = rank > 1 && chance(t, 30) ? 1 : 0;
	int width = (int)roll(t, 1, rank - batch);
	Value *at = index_tuples(g, x, batch, width, 1, (int64_t[]){roll(t, 1, 4)});
	trial_int(t, "batch_dims", batch);
	Value *inputs[] = {x, at};
	gen_node(g, row->op, 2, inputs, 1);
}

void
make_reverse_sequence(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num), 2, 4);
	int64_t batch = roll(t, 0, 1), count = gen_fixed(x, (int)batch);
	int64_t extent = gen_fixed(x, (int)(1 - batch));
	if (count < 1 || extent < 1)
		gen_give_up();
	Value *lengths = gen_constant(g, trial_integers(t, DT_I64, 1, &count, 1, extent));
	Value *inputs[] = {x, lengths};
	trial_int(t, "batch_axis", batch);
	trial_int(t, "time_axis", 1 - batch);
	gen_node(g, row->op, 2, inputs, 1);
}

void
make_roi_align(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, BIT(DT_F32), 4, 4);
	int64_t dims[] = {roll(t, 1, 4), 4}, batch = gen_fixed(x, 0);
	if (batch < 1 || gen_dim(g, x, 2) < 2 || gen_dim(g, x, 3) < 2)
		gen_give_up();
	Value *inputs[] = {x, gen_input(g, DT_F32, 2, dims),
	                   gen_constant(g, trial_integers(t, DT_I64, 1, dims, 0, batch - 1))};
	if (chance(t, 50))
		trial_string(t, "coordinate_transformation_mode", "output_half_pixel");
	if (chance(t, 30))
		trial_string(t, "mode", "max");
	trial_int(t, "output_height", roll(t, 1, 3));
	trial_int(t, "output_width", roll(t, 1, 3));
	trial_int(t, "sampling_ratio", roll(t, 0, 3));
	gen_node(g, row->op, 3, inputs, 1);
}

void
make_affine_grid(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int spatial = roll(t, 2, 3);
	int64_t dims[] = {roll(t, 1, 3), spatial, spatial + 1}, size[5] = {dims[0]};
	for (int d = 1; d < spatial + 2; d++)
		size[d] = roll(t, 1, 5);
	Value *inputs[] = {gen_input(g, DT_F32, 3, dims), gen_ints(g, DT_I64, spatial + 2, size)};
	if (chance(t, 50))
		trial_int(t, "align_corners", 1);
	gen_node(g, row->op, 2, inputs, 1);
}

void
make_grid_sample(Gen *g, const Row *row)
{
	static const char *const modes[] = {"linear", "nearest", "cubic"};
	static const char *const paddings[] = {"zeros", "border", "reflection"};
	Trial *t = &g->dice;
	Value *x = gen_take(g, BIT(DT_F32), 4, 4);
	int64_t dims[] = {gen_fixed(x, 0), roll(t, 1, 4), roll(t, 1, 4), 2};
	if (dims[0] < 1 || gen_dim(g, x, 2) < 2 || gen_dim(g, x, 3) < 2)
		gen_give_up();
	Value *inputs[] = {x, gen_input(g, DT_F32, 4, dims)};
	trial_string(t, "mode", modes[roll(t, 0, 2)]);
	trial_string(t, "padding_mode", paddings[roll(t, 0, 2)]);
	trial_int(t, "align_corners", chance(t, 50));
	gen_node(g, row->op, 2, inputs, 1);
}

/* Classes of the places of x, which has them along axis 1; all 0 where their number is a symbol. */
static Value *
random_classes(Gen *g, const Value *x, int64_t classes)
{
	DType type = index_type(g);
	Value *any = gen_like_but(g, x, type, 1);
	if (!any)
		gen_give_up();
	Value *inputs[] = {any, gen_scalar(g, type, (double)(classes < 0 ? 1 : classes))};
	return gen_one(g, "Mod", 2, inputs);
}

void
make_loss(Gen *g, const Row *row)
{
	static const char *const reductions[] = {"mean", "sum", "none"};
	Trial *t = &g->dice;
	Value *x = gen_take(g, BIT(DT_F32), 2, 4);
	int64_t classes = gen_fixed(x, 1);
	bool has_weights = chance(t, 40), has_log = row->code == OP_SoftmaxCrossEntropyLoss;
	if (classes == 0)
		gen_give_up();
	Value *inputs[] = {x, random_classes(g, x, classes), NULL};
	if (has_weights && classes > 0)
		inputs[2] = gen_bring(g, gen_weight(g, DT_F32, 1, &classes), POSITIVE);
	else if (has_weights)
		inputs[2] = gen_bring(g, gen_input_of(g, DT_F32, 1, &x->type.dims[1]), POSITIVE);
	trial_string(t, "reduction", reductions[roll(t, 0, 2)]);
	if (chance(t, 30))
		trial_int(t, "ignore_index", roll(t, 0, classes < 0 ? 0 : classes - 1));
	gen_node(g, row->op, has_weights ? 3 : 2, inputs, has_log && chance(t, 50) ? 2 : 1);
}

/* ---- writing --------------------------------------------------------------------------------- */

static const char *const REDUCTIONS[] = {"none", "add", "max", "min", "mul"};

/* Without a reduction each place is written once: indices are one, or counted up. */
static Value *
scatter_indices(Gen *g, const int64_t *dims, int rank, int axis, int64_t extent, bool is_once)
{
	int64_t inner = 1;
	if (!is_once)
		return gen_indices(g, DT_I64, rank, dims, extent);
	Array *at = array_new(g->arena, DT_I64, rank, dims);
	if (array_count(at) > 16)
		gen_give_up();
	for (int i = axis + 1; i < rank; i++)
		inner *= dims[i];
	for (int64_t i = 0, n = array_count(at); i < n; i++)
		dtype_store_i64(DT_I64, at->data, i, (i / inner + i) % dims[axis] % extent);
	for (int64_t i = 0, n = array_count(at); i < n; i++)
		dtype_store_i64(DT_I64, at->data, i, i / inner % dims[axis]);
	return gen_constant(g, at);
}

void
make_scatter_elements(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num), 1, 3);
	int axis = indexed_axis(g, x), rank = gen_rank(x);
	int64_t dims[GRAPH_RANK], extent = gen_fixed(x, axis);
	const char *reduction = REDUCTIONS[roll(t, 0, 4)];
	for (int i = 0; i < rank; i++)
		dims[i] = roll(t, 1, gen_dim(g, x, i) < 4 ? gen_dim(g, x, i) : 4);
	Value *at = scatter_indices(g, dims, rank, axis, extent, reduction[0] == 'n');
	Value *inputs[] = {x, at, gen_weight_or_input(g, gen_dtype(x), rank, dims)};
	trial_int(t, "axis", gen_axis(g, axis, rank));
	trial_string(t, "reduction", reduction);
	gen_node(g, row->op, 3, inputs, 1);
}

void
make_scatter_nd(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num), 1, 4);
	int rank = gen_rank(x), width = (int)roll(t, 1, rank), count = 1;
	const char *reduction = REDUCTIONS[roll(t, 0, 4)];
	int64_t shape[GRAPH_RANK] = {reduction[0] == 'n' ? 1 : roll(t, 1, 4)};
	Value *at = index_tuples(g, x, 0, width, 1, shape);
	for (int i = width; i < rank; i++)
		if ((shape[count++] = gen_fixed(x, i)) < 0)
			gen_give_up();
	Value *inputs[] = {x, at, gen_weight_or_input(g, gen_dtype(x), count, shape)};
	trial_string(t, "reduction", reduction);
	gen_node(g, row->op, 3, inputs, 1);
}

void
make_tensor_scatter(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num), 3, 4);
	int rank = gen_rank(x), axis = (int)roll(t, 1, rank - 1);
	int64_t dims[GRAPH_RANK], batch = gen_fixed(x, 0);
	for (int d = 0; d < rank; d++)
		if ((dims[d] = gen_fixed(x, d)) < 1)
			gen_give_up();
	int64_t most = dims[axis];
	dims[axis] = roll(t, 1, most);
	bool is_circular = chance(t, 50);
	int64_t last = is_circular ? most - 1 : most - dims[axis];
	Value *inputs[] = {x, gen_weight_or_input(g, gen_dtype(x), rank, dims),
	                   gen_constant(g, trial_integers(t, DT_I64, 1, &batch, 0, last))};
	trial_int(t, "axis", gen_axis(g, axis, rank));
	if (is_circular)
		trial_string(t, "mode", "circular");
	gen_node(g, row->op, chance(t, 80) ? 3 : 2, inputs, 1);
}

void
make_one_hot(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t depth = roll(t, 1, 7), dims[] = {roll(t, 1, 5), roll(t, 1, 3)}, two = 2;
	int rank = (int)roll(t, 0, 2);
	DType type = (DType)PICK(t, DT_F32, DT_F32, DT_I64);
	Array *values = array_new(g->arena, type, 1, &two);
	dtype_store_f64(type, values->data, 1, 1);
	bool has_focus = g->focus && gen_dtype(g->focus) == DT_I64 && gen_rank(g->focus) < 4;
	Value *at = has_focus ? g->focus : gen_indices(g, DT_I64, rank, dims, depth);
	Value *inputs[] = {at, gen_scalar(g, DT_I64, (double)depth), gen_constant(g, values)};
	trial_int(t, "axis", roll(t, -gen_rank(at) - 1, gen_rank(at)));
	gen_node(g, row->op, 3, inputs, 1);
}

void
make_col2im(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t image[] = {roll(t, 2, 5), roll(t, 2, 5)}, block[] = {roll(t, 1, 2), roll(t, 1, 2)};
	int64_t dims[] = {-1, roll(t, 1, 3) * block[0] * block[1],
	                  (image[0] - block[0] + 1) * (image[1] - block[1] + 1)};
	Value *inputs[] = {gen_input(g, DT_F32, 3, dims), gen_ints(g, DT_I64, 2, image),
	                   gen_ints(g, DT_I64, 2, block)};
	gen_node(g, row->op, 3, inputs, 1);
}

/* ---- on the host ----------------------------------------------------------------------------- */

void
make_compress(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num), 1, 4);
	int axis = indexed_axis(g, x);
	int64_t extent = gen_fixed(x, axis);
	Value *inputs[] = {x, gen_weight_or_input(g, DT_BOOL, 1, &extent)};
	trial_int(t, "axis", gen_axis(g, axis, gen_rank(x)));
	gen_node(g, row->op, 2, inputs, 1);
}

void
make_suppression(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	int64_t boxes = roll(t, 1, 9), dims[] = {1, boxes, 4}, classes[] = {1, roll(t, 1, 3), boxes};
	Value *inputs[] = {gen_input(g, DT_F32, 3, dims), gen_input(g, DT_F32, 3, classes),
	                   gen_scalar(g, DT_I64, (double)roll(t, 1, 4)), gen_scalar(g, DT_F32, 0.5),
	                   gen_scalar(g, DT_F32, 0.25)};
	gen_node(g, row->op, (int)roll(t, 3, 5), inputs, 1);
}

void
make_non_zero(Gen *g, const Row *row)
{
	Value *x = gen_take(g, TYPES(num) | BIT(DT_BOOL), 1, 4);
	gen_node(g, row->op, 1, &x, 1);
}

void
make_top_k(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num), 1, 4);
	int axis = indexed_axis(g, x);
	int64_t k = roll(t, 1, gen_fixed(x, axis));
	Value *inputs[] = {x, gen_ints(g, DT_I64, 1, &k)};
	trial_int(t, "axis", gen_axis(g, axis, gen_rank(x)));
	trial_int(t, "largest", chance(t, 60));
	gen_node(g, row->op, 2, inputs, 2);
}

void
make_unique(Gen *g, const Row *row)
{
	Trial *t = &g->dice;
	Value *x = gen_take(g, TYPES(num), 1, 4);
	if (chance(t, 50))
		trial_int(t, "axis", gen_axis(g, (int)roll(t, 0, gen_rank(x) - 1), gen_rank(x)));
	gen_node(g, row->op, 1, &x, (int)PICK(t, 1, 2, 4));
}
