/* lower_concat: a concatenation without a copy. Its inputs become views of the result, so whoever
 * makes them writes in place.
 *
 *     Y[n,c,p] = c < 64 ? A[n,c,p] : B[n,c-64,p]      A = view of Y at 0, B = view of Y at 64*P
 *
 * The form is found on the expression: a chain of selects along one loop, whose arms read whole
 * tensors one behind the other. Each input must be a temporary that only this node reads.
 *
 * In row-major storage the pieces must be contiguous, so every dim before the axis is 1: strided
 * results would cost their kernels dense rows. In blocked storage (batch, then blocks of channels)
 * each piece begins at a block; pieces of more than one image have the result's stride from image
 * to image. Their producers must know that stride, so these are placed before anything is lowered.
 * Where channels lie last, pieces have the result's strides from place to place.
 */
#include "lower/node.h"
#include "lower/program.h"
#include "program/layout.h"
#include "target/vendor.h"

enum { MAX_PIECES = 64 };

typedef struct Pieces {
	int axis, count;
	const Tensor *tensor[MAX_PIECES];
	const Dim *begin[MAX_PIECES];
} Pieces;

/* An arm reads the whole of a tensor at the stage's loops, from `begin` to `end` along the axis. A
 * tensor that is broadcast, of which a part is read, or which another arm reads (it can lie in one
 * place only) is no piece. */
static bool
add_piece(ExprCtx *ctx, const Stage *stage, Pieces *pieces, const Expr *read, const Dim *begin,
          const Dim *end)
{
	if (read->op != EX_read || pieces->count == MAX_PIECES || read->argc != stage->nloop)
		return false;
	for (int p = 0; p < pieces->count; p++)
		if (pieces->tensor[p] == read->tensor)
			return false;
	for (int d = 0; d < read->argc; d++) {
		const Dim *extent = stage->iters[d].hi;
		const Expr *expected = expr_iter(ctx, d);
		if (d == pieces->axis) {
			extent = dim_sub(ctx, end, begin);
			expected = expr_is_zero(begin) ? expected : expr_sub(ctx, expected, begin);
		}
		bool is_one = expr_is_zero(read->arg[d]) && dim_is(extent, 1);
		if (read->tensor->hi[d] != extent || (read->arg[d] != expected && !is_one))
			return false;
	}
	pieces->tensor[pieces->count] = read->tensor;
	pieces->begin[pieces->count++] = begin;
	return true;
}

static bool
find_pieces(ExprCtx *ctx, const Stage *stage, Pieces *pieces)
{
	const Expr *e = stage->body[0];
	const Dim *begin = dim_const(ctx, 0);
	if (e->op != EX_select || e->arg[0]->op != EX_lt || e->arg[0]->arg[0]->op != EX_iter)
		return false;
	pieces->axis = e->arg[0]->arg[0]->iter;
	while (e->op == EX_select) {
		const Expr *test = e->arg[0];
		bool is_axis =
			test->op == EX_lt && test->arg[0]->op == EX_iter && test->arg[0]->iter == pieces->axis;
		const Dim *end = is_axis ? dim_from_expr(ctx, test->arg[1]) : NULL;
		if (!end || !add_piece(ctx, stage, pieces, e->arg[1], begin, end))
			return false;
		begin = end;
		e = e->arg[2];
	}
	return add_piece(ctx, stage, pieces, e, begin, stage->iters[pieces->axis].hi);
}

/* Channels lie last, as a library wants them. */
static bool
lies_last(const Lowering *low, const MBuffer *buffer)
{
	return buffer->layout && layout_dim(buffer->layout) == 1 &&
	       dim_is(buffer->dims[1], layout_block(buffer->layout)) &&
	       vendor_wants_last(low->context->target, buffer->type);
}

/* Elements between neighbours along the axis, of the result's storage; NULL when pieces do not lie
 * in it as they must. */
static const Dim *
axis_stride(const Lowering *low, const MBuffer *out, int axis, int64_t block)
{
	ExprCtx *ctx = low->graph->ctx;
	const Dim *stride = dim_const(ctx, 1);
	if (lies_last(low, out))
		return axis == 1 ? stride : NULL;
	for (int d = 0; d < axis && !block; d++)
		if (!dim_is(out->dims[d], 1))
			return NULL;
	if (block && axis != 1)
		return NULL;
	for (int d = axis + 1; d < out->rank; d++)
		stride = dim_mul(ctx, stride, out->dims[d]);
	return stride; /* blocked: begin is a multiple of the block, so begin * stride holds too */
}

static int
uses_outside_groups(const Value *value)
{
	int count = 0;
	for (int i = 0; i < value->uses.count; i++) {
		const Node *user = value->uses.data[i].node;
		bool is_inner = user && user->parent->owner && user->parent->owner->op->code == OP_fused;
		count += !is_inner;
	}
	return count;
}

static bool
is_size_of(const MBuffer *buffer, const Expr *symbol)
{
	bool is_found = false;
	for (int d = 0; d < buffer->rank; d++)
		for (ExprWalk walk = expr_walk(buffer->dims[d]); expr_step(&walk);)
			is_found |= walk.e == symbol;
	return is_found;
}

/* The dim has a symbol that the known buffer has not, and that a node's results define. */
static bool
is_known_later(const Graph *graph, const MBuffer *known, const Dim *dim)
{
	bool is_later = false;
	for (ExprWalk walk = expr_walk(dim); expr_step(&walk);) {
		if (walk.e->op != EX_symbol || is_size_of(known, walk.e))
			continue;
		const SymbolDef *def = symbol_def_find(graph, walk.e->symbol);
		if (def && def->expr)
			expr_walk_add(&walk, def->expr);
		else if (def)
			is_later |= def->value->def != NULL;
	}
	return is_later;
}

/* What a host operator finds decides extents of the result: it may run only after the piece that
 * would stand there is made. */
static bool
is_sized_later(const Lowering *low, const MBuffer *out, const MBuffer *piece)
{
	for (int d = 0; d < out->rank; d++)
		if (is_known_later(low->graph, piece, out->dims[d]))
			return true;
	return false;
}

static bool
may_write_in_place(const Lowering *low, const Value *value, const MBuffer *piece,
                   const MBuffer *out, const Dim *begin, int64_t block)
{
	int64_t first;
	if (!value->def || value->region != low->region || uses_outside_groups(value) != 1 ||
	    piece->kind != PB_TEMP || piece->is_data_sized || piece->type != out->type ||
	    is_sized_later(low, out, piece))
		return false;
	if (lies_last(low, out))
		return lies_last(low, piece);
	if (layout_block(piece->layout) != block)
		return false;
	return block == 0 || (dim_is_const(begin, &first) && first % block == 0);
}

static const Dim *const *
strides_of(Lowering *low, const MBuffer *buffer)
{
	if (buffer->kind == PB_VIEW)
		return buffer->strides;
	const Dim **strides = NEW_N(low->arena, const Dim *, buffer->rank + 1);
	layout_strides(low->graph->ctx, buffer->layout, buffer->rank, buffer->dims, strides);
	return strides;
}

/* `view` of a blocked piece goes from image to image as the result does, and of one whose channels
 * lie last from place to place. */
static void
stride_images(Lowering *low, MBuffer *view, const MBuffer *out)
{
	size_t size = (size_t)view->rank * sizeof *view->strides;
	const Dim *const *whole = strides_of(low, out);
	const Dim **strides = arena_memdup(low->arena, view->strides, size);
	bool is_last = lies_last(low, view);
	for (int d = 0; d < (is_last ? view->rank : 1); d++)
		strides[d] = whole[d];
	if (is_last || !dim_is(view->dims[0], 1))
		view->strides = strides;
}

/* `piece` and the views of it become views of `out`, which may be a view itself. */
static void
make_view(Lowering *low, MBuffer *piece, MBuffer *out, const Dim *offset)
{
	ExprCtx *ctx = low->graph->ctx;
	piece->strides = strides_of(low, piece);
	piece->kind = PB_VIEW;
	piece->base = piece;
	piece->of = out;
	piece->offset = dim_const(ctx, 0);
	for (int i = 0; i < low->module->buffers.count; i++) {
		MBuffer *view = low->module->buffers.data[i];
		if (view->kind != PB_VIEW || view->base != piece)
			continue;
		view->base = out->kind == PB_VIEW ? out->base : out;
		view->offset = dim_add(ctx, view->offset, offset);
		if (out->kind == PB_VIEW)
			view->offset = dim_add(ctx, view->offset, out->offset);
		if (piece->layout)
			stride_images(low, view, out);
	}
}

/* The pieces become views of the node's result. */
static bool
place_pieces(Lowering *low, const Node *node, const Program *program, Value *const *values)
{
	ExprCtx *ctx = low->graph->ctx;
	Pieces pieces = {0};
	MBuffer *buffers[MAX_PIECES];
	if (program->nstage != 1 || program->noutput != 1 || program->stages[0]->scan ||
	    program->stages[0]->kind != STAGE_map || !find_pieces(ctx, program->stages[0], &pieces))
		return false;
	MBuffer *out = lower_buffer(low, node->outputs[0]);
	if (dtype_bits(out->type) < 8)
		return false; /* a piece may end within a byte */
	int64_t block = layout_block(out->layout);
	const Dim *stride = axis_stride(low, out, pieces.axis, block);
	for (int p = 0; stride && p < pieces.count; p++) {
		buffers[p] = NULL;
		for (int i = 0; i < program->ninput; i++)
			if (program->inputs[i] == pieces.tensor[p] &&
			    may_write_in_place(low, values[i], lower_buffer(low, values[i]), out,
			                       pieces.begin[p], block))
				buffers[p] = lower_buffer(low, values[i]);
		if (!buffers[p] || !lower_may_begin(low, dim_mul(ctx, pieces.begin[p], stride), out->type))
			return false;
	}
	for (int p = 0; stride && p < pieces.count; p++)
		make_view(low, buffers[p], out, dim_mul(ctx, pieces.begin[p], stride));
	return stride != NULL;
}

bool
lower_concat(Lowering *low, const Node *node, const Program *program, Value *const *values)
{
	if (map_find_ptr(&low->placed, node))
		return true;
	if (node->noutput != 1 || !node->outputs[0] || node->outputs[0]->layout)
		return false;
	return place_pieces(low, node, program, values);
}

void
lower_place_concats(Lowering *low, const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		if (node->noutput != 1 || node->ninput < 2 || !node->outputs[0] ||
		    !node->outputs[0]->layout || !node_has_meaning(node) ||
		    pass_denied(low->context, "view", node->outputs[0]->name))
			continue;
		Value **values = NEW_N(low->arena, Value *, node->ninput + 1);
		const Program *program = node_program(low->arena, low->graph, node, values);
		if (place_pieces(low, node, program, values))
			map_set_ptr(&low->placed, node, (void *)(uintptr_t)node);
	}
}
