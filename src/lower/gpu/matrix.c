/* Products by tensor cores: a warp has a part of a block's tile in the registers of its lanes, as
 * products of 16 x 8. Slices of both factors lie in shared memory, the next one on its way while
 * one is used: 64 terms of 16 bits, or half of that where sums are no multiples.
 *
 *     Y[m,n] = f16(sum(k) f32(A[m,k]) * f32(B[k,n]))    64 x 64 a block, 32 x 32 a warp
 *
 * Where factors are boxes of their tensors, one loop along each side, other loops are blocks. Of
 * convolutions, and whatever else is a sum of products, a slice is copied as product.c does it, by
 * rows or columns and terms.
 */
#include "lower/gpu/product.h"

enum { M = 16, N = 8, STEPS = 4, SIDES_OF_TILE = 2 };

/* Of a block and of a warp. */
typedef struct MatrixSize {
	int64_t block[SIDES_OF_TILE], warp[SIDES_OF_TILE];
} MatrixSize;

static const MatrixSize sizes[] = {
	{{128, 128}, {64, 64}},
	{{128, 64}, {64, 32}},
	{{64, 64}, {32, 32}},
	{{32, 32}, {16, 16}},
};

/* ---- what is one ----------------------------------------------------------------------------- */

/* The product of warps for these factors, none of whose bits it drops; NULL: there is none. */
static const WarpOp *
operation_of(const GpuWriter *w, const Product *product)
{
	const Stage *sum = w->group->program->stages[0];
	for (int i = 0; i < warp_op_count(); i++) {
		const WarpOp *op = warp_op_at(i);
		bool is_exact = op->kind == WARP_MMA && dtype_bits(op->types[0]) <= 16;
		if (is_exact && op->types[0] == product->factor[ROWS]->type &&
		    op->types[1] == product->factor[COLUMNS]->type && op->sum == sum->body[0]->type &&
		    op->capability <= w->target->device->gpu->capability)
			return op;
	}
	return NULL;
}

/* Whether each index is one iterator, or a number: a slice is a box. */
static bool
is_box(const Expr *read)
{
	for (int d = 0; d < read->argc; d++) {
		int64_t number;
		bool is_iter = read->arg[d]->op == EX_iter;
		if (!is_iter && !expr_as_i64(read->arg[d], &number))
			return false;
		for (int e = 0; e < d && is_iter; e++)
			if (read->arg[e] == read->arg[d])
				return false;
	}
	return true;
}

/* Of the sum; 0: no number. */
static int64_t
terms_of(const GpuWriter *w)
{
	const Stage *sum = w->group->program->stages[0];
	int64_t terms = 1, extent;
	for (int i = 0; i < sum->nreduce; i++) {
		if (!dim_is_const(sum->iters[sum->nloop + i].hi, &extent))
			return 0;
		terms = probe_times(terms, extent);
	}
	return terms;
}

/* Terms of a slice. */
static int64_t
slice_of(const GpuWriter *w, const WarpOp *operation)
{
	int64_t most = (int64_t)STEPS * operation->a->cols;
	return terms_of(w) % most == 0 ? most : most / 2;
}

/* Whether no slice is short: otherwise terms of zeros are in it. */
static bool
has_whole_slices(const GpuWriter *w, const WarpOp *operation)
{
	int64_t terms = terms_of(w);
	return terms > 0 && terms % slice_of(w, operation) == 0;
}

/* Boxes of bytes would be copied byte by byte. */
static bool
has_boxes(const GpuWriter *w, const Product *product, const WarpOp *operation)
{
	const Stage *sum = w->group->program->stages[0];
	return sum->nreduce == 1 && !sum->guard && operation->sum == DT_F32 &&
	       is_box(product->factor[0]) && is_box(product->factor[1]) &&
	       has_whole_slices(w, operation);
}

/* Whether four bytes of it are copied at once at least, as asynchronous copies need. */
static bool
has_words(const GpuWriter *w, const Expr *factor)
{
	int last = factor->tensor->rank - 1;
	int64_t word = 32 / dtype_bits(factor->type);
	const Dim *const *stride = NULL;
	for (int i = 0; i < w->group->program->ninput; i++)
		if (w->group->program->inputs[i] == factor->tensor)
			stride = w->nest->arguments[i]->stride;
	for (int d = 0; d < last; d++) {
		int64_t apart;
		if (stride && (!dim_is_const(stride[d], &apart) || apart % word != 0))
			return false;
	}
	int64_t extent;
	return dim_is_const(factor->tensor->hi[last], &extent) && extent % word == 0 &&
	       factor->arg[last]->op == EX_iter && (!stride || dim_is(stride[last], 1));
}

/* A side is one loop of a box's, or all of them. */
static int64_t
extent_of(const GpuWriter *w, const Product *product, Side side, bool is_box)
{
	int k = product->loops[side][product->count[side] - 1];
	return is_box ? probe_dim(w->target, w->group->root->iters[w->group->shared[k]].hi)
	              : product->extent[side];
}

/* The tile with which the unit that has the most blocks is done first. To load a row or column of
 * a slice takes as long as LOADED products of each of its terms: of 4096 x 4096 by 4096, an H100
 * does 280, 214, 166 and 80 TFLOP/s by these sizes (docs/measurements/2026-11-26.md). */
static const MatrixSize *
size_of(const GpuWriter *w, const Product *product, bool is_box)
{
	enum { LOADED = 112 };
	int64_t of[SIDES_OF_TILE], others = w->group->points, units = w->target->device->units;
	const MatrixSize *best = NULL;
	double least = 0;
	for (int side = 0; side < SIDES_OF_TILE; side++) {
		of[side] = extent_of(w, product, (Side)side, is_box);
		others /= of[side] > 0 ? of[side] : 1;
	}
	for (size_t i = 0; i < countof(sizes); i++) {
		int64_t blocks = others;
		const int64_t *block = sizes[i].block;
		for (int side = 0; side < SIDES_OF_TILE; side++)
			blocks *= (of[side] + block[side] - 1) / block[side];
		int64_t rounds = (blocks + units - 1) / units;
		double work = (double)(block[0] * block[1] + LOADED * (block[0] + block[1]));
		work *= (double)rounds;
		if (!best || work < least) {
			best = &sizes[i];
			least = work;
		}
	}
	return best;
}

/* ---- the script ------------------------------------------------------------------------------ */

/* A side as blocks, warps, products of a warp, and what one product has. */
typedef struct Cut {
	const char *block, *warp, *tile, *element;
} Cut;

static Cut
cut_side(GpuWriter *w, const char *loop, const MatrixSize *size, Side side)
{
	static const char *const names[][4] = {{"rows", "warp_rows", "m", "mi"},
	                                       {"columns", "warp_columns", "n", "ni"}};
	ScriptWriter *script = &w->script;
	const char *const *name = names[side];
	const char *inner = script_name(script, "inner"), *rest = script_name(script, "inner");
	Cut cut = {script_name(script, name[0]), script_name(script, name[1]),
	           script_name(script, name[2]), script_name(script, name[3])};
	gpu_split(script, PRIM_split_whole, loop, size->block[side], cut.block, inner);
	gpu_split(script, PRIM_split, inner, size->warp[side], cut.warp, rest);
	gpu_split(script, PRIM_split, rest, side == ROWS ? M : N, cut.tile, cut.element);
	return cut;
}

/* The loops that are cut, and the others, which are blocks: where factors are boxes, all but the
 * last of a side. */
static StrVec
take_sides(GpuWriter *w, const Product *product, bool is_box, const char *names[SIDES])
{
	StrVec others = {0};
	if (!is_box) {
		gpu_fuse_sides(w, product, names);
		if (names[BOTH])
			vec_push(w->arena, &others, names[BOTH]);
		return others;
	}
	for (int side = 0; side < SIDES_OF_TILE; side++) {
		int k = product->loops[side][product->count[side] - 1];
		names[side] = w->nest->shared[k]->var->name;
	}
	for (int k = 0; k < w->group->nshared; k++) {
		const char *name = w->nest->shared[k]->var->name;
		if (name != names[ROWS] && name != names[COLUMNS])
			vec_push(w->arena, &others, name);
	}
	return others;
}

static void
bind_grid(GpuWriter *w, const Product *product, const StrVec *others, const Cut *rows,
          const Cut *columns)
{
	ScriptWriter *script = &w->script;
	StrVec order = strings_copy(w->arena, others);
	const char *const inner[] = {rows->block,      columns->block, rows->warp,    columns->warp,
	                             columns->element, rows->element,  columns->tile, rows->tile};
	int64_t most[3] = {1, gpu_product_most(w, product, ROWS),
	                   gpu_product_most(w, product, COLUMNS)};
	for (size_t i = 0; i < countof(inner); i++)
		vec_push(w->arena, &order, inner[i]);
	script_reorder(script, order.count, order.data);
	for (int k = 0; k < w->group->nshared; k++)
		most[0] = probe_times(most[0], gpu_most(w, k)); /* no fewer than the others have */
	const char *both = others->count > 0 ? gpu_fuse(script, others->count, others->data) : NULL;
	gpu_bind_blocks(w, (const char *const[]){both, rows->block, columns->block}, most);
	script_bind(script, rows->warp, BIND_THREAD_Z);
	script_bind(script, columns->warp, BIND_THREAD_Y);
}

static const char *
share(GpuWriter *w, const Expr *factor, const char *slice, const char *name)
{
	const char *made = script_name(&w->script, name);
	ScriptStep *step = script_step(&w->script, PRIM_cache_read, slice);
	vec_push(w->arena, &step->buffers, gpu_argument(w, factor->tensor));
	step->scope = SCOPE_SHARED;
	vec_push(w->arena, &step->made, made);
	return made;
}

static void
load(GpuWriter *w, const char *matrix, const char *loop)
{
	ScriptStep *step = script_step(&w->script, PRIM_load_matrix, loop);
	vec_push(w->arena, &step->buffers, matrix);
}

/* Both slices, by the loops of their sides and the terms. */
static void
share_slices(GpuWriter *w, const Product *product, const Cut *rows, const Cut *columns,
             const StrVec *terms, const char *slice)
{
	const Cut *const cuts[] = {rows, columns};
	const char *made[SIDES_OF_TILE];
	for (int side = 0; side < SIDES_OF_TILE; side++) {
		StrVec loops = {0};
		const char *const all[] = {cuts[side]->warp, cuts[side]->tile, cuts[side]->element};
		for (size_t i = 0; i < countof(all); i++)
			vec_push(w->arena, &loops, all[i]);
		made[side] = gpu_share_slice(w, product, (Side)side, &loops, terms, slice);
	}
	gpu_fetch_ahead(w, slice, made[ROWS], made[COLUMNS]);
}

/* Both as the boxes that they are, the next ones on their way. */
static void
load_boxes(GpuWriter *w, const Product *product, const char *slice, const Cut *rows,
           const Cut *columns, const char *const fragments[2])
{
	const char *left = share(w, product->factor[0], slice, "left");
	const char *right = share(w, product->factor[1], slice, "right");
	load(w, fragments[0], rows->tile);
	load(w, fragments[1], columns->tile);
	if (!has_words(w, product->factor[0]) || !has_words(w, product->factor[1]))
		return;
	ScriptStep *ahead = script_step(&w->script, PRIM_prefetch, slice);
	vec_push(w->arena, &ahead->buffers, left);
	vec_push(w->arena, &ahead->buffers, right);
}

/* Three loops become a product of warps, whose factors are loaded where they stand still. */
static void
tensorize(GpuWriter *w, const WarpOp *operation, const Cut *rows, const Cut *columns,
          const char *term, const char *lane, const char *fragments[2])
{
	ScriptStep *step = script_step(&w->script, PRIM_tensorize, rows->element);
	fragments[0] = script_name(&w->script, "fa");
	fragments[1] = script_name(&w->script, "fb");
	vec_push(w->arena, &step->loops, columns->element);
	vec_push(w->arena, &step->loops, term);
	step->warp_op = operation;
	vec_push(w->arena, &step->made, lane);
	vec_push(w->arena, &step->made, fragments[0]);
	vec_push(w->arena, &step->made, fragments[1]);
}

static void
write_matrix(GpuWriter *w, const Product *product, const WarpOp *operation, bool is_box)
{
	ScriptWriter *script = &w->script;
	const MatrixSize *size = size_of(w, product, is_box);
	const Buffer *const *acc = w->nest->stages[0].acc;
	const char *sides[SIDES], *fragments[2];
	StrVec others = take_sides(w, product, is_box, sides);
	Cut rows = cut_side(w, sides[ROWS], size, ROWS);
	Cut columns = cut_side(w, sides[COLUMNS], size, COLUMNS);
	const char *slice = script_name(script, "slice"), *rest = script_name(script, "inner");
	const char *terms[] = {script_name(script, "k"), script_name(script, "ki")};
	gpu_split(script, is_box ? PRIM_split : PRIM_split_whole, gpu_fuse_terms(w, product),
	          slice_of(w, operation), slice, rest);
	gpu_split(script, PRIM_split, rest, operation->a->cols, terms[0], terms[1]);
	bind_grid(w, product, &others, &rows, &columns);
	const char *const own[] = {rows.tile, columns.tile, rows.element, columns.element};
	const char *behind[countof(own)];
	for (size_t i = 0; i < countof(own); i++) {
		behind[i] = script_name(script, own[i]);
		script_fission(script, own[i], 1, acc, SCOPE_REG, behind[i]);
	}
	const char *const inside[] = {slice,        terms[0],        rows.tile, columns.tile,
	                              rows.element, columns.element, terms[1]};
	script_reorder(script, countof(inside), inside);
	script_reorder(script, countof(behind), behind);
	const char *lane = script_name(script, "lane");
	if (!is_box) {
		ScriptStep *lanes = script_step(script, PRIM_lanes, NULL);
		vec_push(w->arena, &lanes->made, lane);
		share_slices(w, product, &rows, &columns, &(StrVec){.data = terms, .count = 2}, slice);
	}
	tensorize(w, operation, &rows, &columns, terms[1], lane, fragments);
	if (is_box) {
		load_boxes(w, product, slice, &rows, &columns, fragments);
	} else {
		load(w, fragments[0], rows.tile);
		load(w, fragments[1], columns.tile);
	}
	const char *const straight[] = {terms[0], rows.tile, columns.tile, behind[0], behind[1]};
	for (size_t i = 0; i < countof(straight); i++)
		script_bind(script, straight[i], BIND_UNROLL);
}

bool
gpu_write_matrix(GpuWriter *w, const Product *product)
{
	const WarpOp *operation = operation_of(w, product);
	if (!operation)
		return false;
	bool is_box = has_boxes(w, product, operation);
	if (!is_box && !w->target->is_finite && !has_whole_slices(w, operation))
		return false;
	write_matrix(w, product, operation, is_box);
	return true;
}
