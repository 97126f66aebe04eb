/* AssignLayout: store chains of convolutions in blocks of channels, with relayouts only at their
 * ends.
 *
 *     %a = fused(%x, %w) {Conv, Relu}          %a @nc16hw = fused(…)
 *     %b = fused(%a, %v) {Conv}          =>    %b @nc16hw = fused(%a, …)
 *     %y = Reshape(%b)                         %p         = Relayout(%b)
 *                                              %y         = Reshape(%p)
 *
 * Vendor convolutions and pools work on blocked storage; groups that read it in place
 * (element-wise, concatenation at multiples of the block) keep it; groups that read it at a plain
 * channel iterator (global pooling) take it and give plain. Everything else gets a Relayout, other
 * sums of products too. Where no library is asked our own products with constant weights make
 * blocks, too: their channels run in lanes (lower/cpu/product.c), where whole blocks fill them.
 * Padding of a last, incomplete block is zero; only vendor steps and Relayout see such values.
 * Numbers of 8 bits and bf16 have one block of all channels, which then lie side by side: libraries
 * have their kernels for those. So have all types of which a library wants channels last, with the
 * weights of its calls (STORAGE_last of target/vendor.h): GPUs' for f16 and bf16.
 *
 * needs    fused groups
 * keeps    shapes, meanings: types are logical
 * breaks   plain storage: behind it dims are not where a tensor of the model has them
 */
#include <string.h>

#include "graph/infer.h"
#include "graph/meaning.h"
#include "lower/node.h"
#include "lower/weights.h"
#include "passes/passes.h"
#include "program/layout.h"
#include "program/match.h"
#include "target/ask.h"
#include "target/maker.h"

typedef enum Role {
	ROLE_OTHER,  /* plain in, plain out */
	ROLE_READER, /* takes blocked, gives plain */
	ROLE_KEEPER, /* gives blocked where its inputs are */
	ROLE_OWN,    /* a product of our own: gives blocked, whatever it takes */
	ROLE_VENDOR, /* wants blocked */
} Role;

typedef struct NodeInfo {
	Role role;
	bool *takes; /* per distinct input value: may be blocked */
	Value **values;
	int nvalue;
	bool may_call;     /* a library is asked for it */
	bool gives_blocks; /* vendor: gives blocked storage only (plain results have no real kernel) */
	bool wants_source; /* vendor: the source should be blocked (not an image of few channels) */
	bool is_whole;     /* vendor: it reads such numbers, and gives all channels in one block */
} NodeInfo;

typedef struct Assigner {
	Graph *graph;
	PassContext *context;
	Arena *arena;
	int64_t block;
	VendorForms *forms;
	Map info;    /* Node -> NodeInfo */
	Map plain;   /* blocked Value -> its plain copy */
	Map blocked; /* plain Value -> its blocked copy */
	bool changed;
} Assigner;

/* As GPUs' libraries have them: what stands between calls may then shift channels. */
static bool
is_wanted_last(const Assigner *a, DType type)
{
	return vendor_wants_last(a->context->target, type);
}

/* All channels are one block. */
static bool
lies_whole(const Assigner *a, DType type)
{
	return dtype_is_byte(type) || type == DT_BF16 || is_wanted_last(a, type);
}

static bool
channels_of(const Assigner *a, const Value *value, int64_t *channels)
{
	DType type = value->type.dtype;
	return value->type.kind == TYPE_TENSOR &&
	       (type == DT_F32 || type == DT_I32 || lies_whole(a, type)) && value->type.rank >= 3 &&
	       value->type.rank <= 5 && dim_is_const(value->type.dims[1], channels);
}

/* Channels of a block. */
static int64_t
block_of(const Assigner *a, bool is_whole, const Dim *channels)
{
	int64_t count;
	return !is_whole ? a->block : dim_is_const(channels, &count) && count > 0 ? count : 1;
}

static const char *
blocked(const Assigner *a, int rank, bool is_whole, const Dim *channels)
{
	return layout_blocked(a->graph->arena, rank, block_of(a, is_whole, channels));
}

static bool
is_even(const Assigner *a, const Value *value)
{
	int64_t channels;
	return channels_of(a, value, &channels) &&
	       channels % block_of(a, lies_whole(a, value->type.dtype), value->type.dims[1]) == 0;
}

/* Whether these are an image's: so few that they stay plain, as blocks would be mostly padding. */
static bool
are_few(const Assigner *a, bool is_whole, const Dim *channels)
{
	int64_t count;
	return dim_is_const(channels, &count) && count < block_of(a, is_whole, channels) / 2;
}

/* ---- how a group reads ---- */

/* 0 at each iteration: of groups of one channel, that channel. */
static bool
is_nothing(const Stage *stage, const Expr *e)
{
	return e->op == EX_iter && dim_is(stage->iters[e->iter].lo, 0) &&
	       dim_is(stage->iters[e->iter].hi, 1);
}

/* An iterator, or one less a multiple of the block; of channels that lie last, any number. */
static bool
is_plain_channel(const Assigner *a, const Stage *stage, const Tensor *tensor, const Expr *index)
{
	int64_t offset;
	bool is_last = is_wanted_last(a, tensor->type), is_whole = lies_whole(a, tensor->type);
	bool shifted = (index->op == EX_sub || index->op == EX_add) && index->arg[0]->op == EX_iter &&
	               ((expr_as_i64(index->arg[1], &offset) &&
	                 (is_last || (!is_whole && offset % a->block == 0))) ||
	                is_nothing(stage, index->arg[1]));
	return index->op == EX_iter || shifted;
}

static bool
reads_channel_plainly(const Assigner *a, const Program *p, const Tensor *tensor)
{
	bool is_plain = true;
	for (int s = 0; s < p->nstage; s++) {
		const Stage *stage = p->stages[s];
		if (stage->kind == STAGE_scatter || stage->scan)
			return false;
		for (ExprWalk walk = stage_walk(stage); expr_step(&walk);)
			if (walk.e->op == EX_read && walk.e->tensor == tensor)
				is_plain &= is_plain_channel(a, stage, tensor, walk.e->arg[1]);
	}
	return is_plain;
}

/* Whether a stage reduces the tensor's channels; with `products`, only if it sums products. */
static bool
reduces_channels(const Program *p, const Tensor *tensor, bool products)
{
	bool is_reduced = false;
	for (int s = 0; s < p->nstage; s++) {
		const Stage *stage = p->stages[s];
		if (stage->nreduce == 0 || (products && expr_without_casts(stage->body[0])->op != EX_mul))
			continue;
		for (ExprWalk walk = expr_walk(stage->body[0]); expr_step(&walk);)
			if (walk.e->op == EX_read && walk.e->tensor == tensor)
				is_reduced |= walk.e->arg[1]->op == EX_iter && walk.e->arg[1]->iter >= stage->nloop;
	}
	return is_reduced;
}

/* A sum of products over the tensor's channels, but no vendor convolution (a transposed one): the
 * library may have the products alone (lower/products.c), and takes matrices, which are plain. */
static bool
sums_channels(const Program *p, const Tensor *tensor)
{
	return reduces_channels(p, tensor, true);
}

/* All stages run over the output's box: then blocked inputs make a blocked output for free. One may
 * reduce windows, as a pool does. Where channels lie last places may be others. */
static bool
is_one_box(const Assigner *a, const Program *p)
{
	const Stage *last = p->stages[p->nstage - 1];
	bool is_last = is_wanted_last(a, last->results[0]->type);
	for (int s = 0; s < p->nstage; s++) {
		const Stage *stage = p->stages[s];
		if (stage->kind == STAGE_scatter || stage->scan || stage->nloop != last->nloop)
			return false;
		for (int i = 0; i < stage->nloop; i++)
			if (stage->iters[i].hi != last->iters[i].hi && (i == 1 || !is_last))
				return false;
	}
	return true;
}

/* Without a layout: plain. */
static VendorArg
argument(const Assigner *a, const Tensor *tensor, const char *layout)
{
	int64_t *dims = NEW_N(a->arena, int64_t, tensor->rank + 1);
	for (int d = 0; d < tensor->rank; d++)
		dims[d] = probe_dim(a->context->target, tensor->hi[d]);
	return (VendorArg){.type = tensor->type, .rank = tensor->rank, .dims = dims, .layout = layout};
}

/* As the source or result of a call. */
static VendorArg
image(const Assigner *a, const Tensor *tensor, bool is_whole)
{
	bool is_plain = are_few(a, is_whole, tensor->hi[1]);
	return argument(a, tensor, is_plain ? NULL : blocked(a, tensor->rank, is_whole, tensor->hi[1]));
}

/* What a tensor of the node's program reads. */
static const Value *
value_of(const NodeInfo *info, const Program *p, const Tensor *tensor)
{
	for (int i = 0; i < p->ninput; i++)
		if (p->inputs[i] == tensor)
			return info->values[i];
	return NULL;
}

/* As the weights of a call that has channels last; others are plain. */
static VendorArg
weights_as(const Assigner *a, const Tensor *weights, const VendorRow *row)
{
	int64_t channels;
	bool is_last = (row->storage & STORAGE_last) && dim_is_const(weights->hi[1], &channels);
	return argument(a, weights, is_last ? blocked(a, weights->rank, true, weights->hi[1]) : NULL);
}

/* Whether the library has a real implementation between values as they are stored: not for groups
 * of channels that are no whole blocks, say, or for weights that it cannot pack, as they are given
 * at run time, or for a convolution whose result is an image. */
static bool
library_runs(const Assigner *a, const NodeInfo *info, const Program *p, const VendorMatch *m)
{
	VendorArg args[4];
	int narg = 0;
	const Tensor *source = m->operands[0].tensor, *weights = m->operands[1].tensor;
	const Value *value = weights ? value_of(info, p, weights) : NULL;
	bool is_whole = lies_whole(a, source->type);
	args[narg++] = image(a, source, is_whole);
	if (weights) {
		args[narg++] = weights_as(a, weights, m->row);
		args[narg - 1].is_weight = value && value_fixed(value);
		args[narg++] = (VendorArg){.type = DT_NONE};
	}
	args[narg++] = image(a, m->result.tensor, is_whole);
	VendorCall query = {m->row->library, m->row->name, narg, args, m->nattr, m->attrs};
	return ask_accept(a->context, &query, NULL);
}

/* Tensors in blocks of channels have their dims in order. */
static bool
takes_blocks(const VendorMatch *m)
{
	return (m->row->storage & (STORAGE_blocked | STORAGE_last)) &&
	       vendor_operand_is_whole(&m->operands[0]) &&
	       (!m->operands[1].tensor || vendor_operand_is_whole(&m->operands[1])) &&
	       vendor_operand_is_whole(&m->result);
}

/* Of a part of p, what the kernel behind the call reads element by element lies as its result. */
static void
examine_vendor(Assigner *a, NodeInfo *info, const VendorMatch *m, const Program *p, bool is_part)
{
	info->role = ROLE_VENDOR;
	info->gives_blocks = m->row->storage & (STORAGE_blocks | STORAGE_last);
	info->is_whole = lies_whole(a, m->operands[0].tensor->type);
	for (int i = 0; i < p->ninput; i++) {
		bool is_source = p->inputs[i] == m->operands[0].tensor;
		bool is_operand =
			is_part && is_even(a, info->values[i]) && reads_channel_plainly(a, p, p->inputs[i]);
		for (int k = 0; k < m->npost; k++)
			is_operand |= m->post[k].operand && m->post[k].operand->tensor == p->inputs[i];
		bool is_weights = p->inputs[i] == m->operands[1].tensor; /* constants: vendor_call.c */
		bool takes_weights = (m->row->storage & STORAGE_last) && !value_fixed(info->values[i]);
		info->takes[i] = is_weights ? takes_weights : is_source || is_operand;
		int64_t channels;
		if (is_source && dim_is_const(p->inputs[i]->hi[1], &channels))
			info->wants_source = !are_few(a, info->is_whole, p->inputs[i]->hi[1]);
		if (is_source)
			info->takes[i] = info->wants_source;
	}
}

/* Of a sum of products with constant weights that no library is asked for, how many output channels
 * run in lanes, a block or half of one; 0: it is none. It reads single elements of its source,
 * however that lies. */
static int64_t
own_lanes(const Assigner *a, const NodeInfo *info, const Program *p)
{
	Weighted sum;
	bool *is_constant = NEW_N(a->arena, bool, p->ninput + 1);
	for (int i = 0; i < p->ninput; i++)
		is_constant[i] = value_fixed(info->values[i]);
	bool is_own = !info->may_call && weighted_sum(p, a->context->target, is_constant, &sum) &&
	              sum.channel == 1 && sum.dim == 0 && sum.w->argc >= 3 && sum.share > 1 &&
	              sum.has_rows;
	return is_own ? maker_of(a->context->target)->weight_lanes(&sum, a->block) : 0;
}

static void
examine_plain(Assigner *a, NodeInfo *info, const Program *p, const Node *node)
{
	int64_t own = own_lanes(a, info, p);
	bool any = own > 0;
	bool gives = is_one_box(a, p) && node->noutput > 0 && (own == 0 || own == a->block);
	for (int i = 0; i < p->ninput; i++) {
		bool even = is_even(a, info->values[i]), sums = even && sums_channels(p, p->inputs[i]);
		/* products of ours read channels that lie last as well as rows */
		bool is_product = own > 0 || (sums && is_wanted_last(a, p->inputs[i]->type));
		info->takes[i] = even && (is_product || !sums) && reads_channel_plainly(a, p, p->inputs[i]);
		any |= info->takes[i];
		gives &= is_product || !info->takes[i] || !reduces_channels(p, p->inputs[i], false);
	}
	if (!any)
		return;
	for (int i = 0; i < node->noutput; i++)
		gives &= node->outputs[i] && is_even(a, node->outputs[i]);
	info->role = !gives ? ROLE_READER : own > 0 ? ROLE_OWN : ROLE_KEEPER;
}

/* Whether the library has a call for this part of p, or for all of it. */
static bool
is_vendor(Assigner *a, NodeInfo *info, const Program *p, const Program *part)
{
	VendorFound found = vendor_match(a->forms, a->graph->arena, part, a->context->target, NULL);
	for (const VendorMatch *m = found.match; m < found.match + found.count; m++)
		if (takes_blocks(m) && library_runs(a, info, p, m)) {
			examine_vendor(a, info, m, p, part != p);
			return true;
		}
	return false;
}

/* A sum of products of bytes with something behind it: in blocks the library has the sum alone
 * where it does not absorb the rest (lower/products.c). In planes it has no kernel for bytes. */
static bool
sums_bytes(const Program *p)
{
	const Expr *product = p->nstage > 1 ? stage_summed_product(p->stages[0]) : NULL;
	return product && dtype_is_byte((DType)expr_without_casts(product->arg[0])->type);
}

static void
examine(Assigner *a, const Node *node)
{
	NodeInfo *info = NEW(a->arena, NodeInfo);
	map_set_ptr(&a->info, node, info);
	info->values = NEW_N(a->arena, Value *, node->ninput + 1);
	info->takes = NEW_N(a->arena, bool, node->ninput + 1);
	if (!node_has_meaning(node) || node_effect(node) != EFFECT_pure)
		return;
	Program *p = node_program(a->graph->arena, a->graph, node, info->values);
	info->nvalue = node_meaning_inputs(node, info->values);
	info->may_call =
		vendor_calls(a->context->target) && !node_is_denied(a->context, node, "vendor");
	if (p->nstage == 0 || (info->may_call && is_vendor(a, info, p, p)))
		return;
	if (info->may_call && sums_bytes(p) &&
	    is_vendor(a, info, p, program_part(a->graph->arena, p, 0, 1)))
		return;
	examine_plain(a, info, p, node);
}

/* ---- which values are blocked ---- */

static NodeInfo *
info_of(const Assigner *a, const Node *node)
{
	return node ? map_find_ptr(&a->info, node) : NULL;
}

static bool
takes(const Assigner *a, const Node *user, const Value *value)
{
	const NodeInfo *info = info_of(a, user);
	for (int i = 0; info && i < info->nvalue; i++)
		if (info->values[i] == value)
			return info->takes[i];
	return false;
}

static bool
somebody_takes(const Assigner *a, const Value *value)
{
	for (int i = 0; i < value->uses.count; i++)
		if (takes(a, value->uses.data[i].node, value))
			return true;
	return false;
}

/* How every big input of a keeper is blocked already (nodes are visited in order); NULL: one is
 * not, or they differ, but for numbers of channels that lie last. */
static const char *
layout_of_inputs(const Assigner *a, const NodeInfo *info, const Value *output)
{
	const char *layout = NULL;
	bool may_differ = is_wanted_last(a, output->type.dtype);
	for (int i = 0; i < info->nvalue; i++) {
		const Value *value = info->values[i];
		if (value->constant || value->type.rank != output->type.rank)
			continue;
		bool differs = layout && value->layout && strcmp(layout, value->layout) != 0;
		if (!value->layout || (differs && !may_differ))
			return NULL;
		layout = value->layout;
	}
	return layout;
}

/* How this result would be blocked; NULL: it stays plain. Bytes lie as whoever reads them wants
 * them, however wide numbers that they are made of do. */
static const char *
layout_of_result(const Assigner *a, const NodeInfo *info, const Value *value)
{
	int64_t channels;
	if (!channels_of(a, value, &channels) || are_few(a, info->is_whole, value->type.dims[1]) ||
	    pass_denied(a->context, "layout", value->name))
		return NULL;
	const char *kept = info->role == ROLE_KEEPER ? layout_of_inputs(a, info, value) : NULL;
	bool is_whole = info->is_whole || lies_whole(a, value->type.dtype);
	if (info->role == ROLE_KEEPER && (!kept || !is_whole))
		return kept && channels % layout_block(kept) == 0 ? kept : NULL;
	return blocked(a, value->type.rank, is_whole, value->type.dims[1]);
}

/* All outputs of a node or none: they may come from one kernel, over one box. */
static void
assign_outputs(Assigner *a, Node *node)
{
	const NodeInfo *info = info_of(a, node);
	bool is_wanted = info->gives_blocks;
	if (info->role == ROLE_OTHER || info->role == ROLE_READER)
		return;
	for (int i = 0; i < node->noutput; i++) {
		if (node->outputs[i] && !layout_of_result(a, info, node->outputs[i]))
			return;
		is_wanted |= node->outputs[i] && somebody_takes(a, node->outputs[i]);
	}
	for (int i = 0; i < node->noutput && is_wanted; i++) {
		Value *value = node->outputs[i];
		if (!value)
			continue;
		value->layout = layout_of_result(a, info, value);
		a->changed = true;
	}
}

/* ---- relayouts ---- */

/* `before` NULL: at the region's end. */
static Value *
relayout(Assigner *a, Region *region, Value *value, const char *layout, Node *before)
{
	const char *name = "";
	const Loc *loc = before ? &before->loc : &value->def->loc;
	Node *node = node_new(region, before, "Relayout", loc, 1, &value, 1, &name);
	node_infer(a->graph, node);
	node->outputs[0]->layout = layout;
	if (value->def)
		node_add_origins(node, value->def);
	map_set_ptr(&a->info, node, NEW(a->arena, NodeInfo));
	return node->outputs[0];
}

static Node *
place_behind(Region *region, const Value *value)
{
	return value->def && value->def->parent == region ? value->def->next : region->first;
}

/* The copy of a value in the other storage, made once, right behind the value. */
static Value *
other_storage(Assigner *a, Region *region, Value *value)
{
	Map *copies = value->layout ? &a->plain : &a->blocked;
	Value *copy = map_find_ptr(copies, value);
	if (copy)
		return copy;
	const Type *type = &value->type;
	const char *layout =
		value->layout ? NULL : blocked(a, type->rank, lies_whole(a, type->dtype), type->dims[1]);
	copy = relayout(a, region, value, layout, place_behind(region, value));
	map_set_ptr(copies, value, copy);
	return copy;
}

/* The storage this node needs a value in: blocked, plain, or as it is. */
static bool
wants_other(const Assigner *a, const Node *node, const Value *value)
{
	const NodeInfo *info = info_of(a, node);
	if (value->layout)
		return !takes(a, node, value) || (info->role != ROLE_VENDOR && !is_even(a, value));
	int64_t channels;
	bool blocked_result = node->noutput > 0 && node->outputs[0] && node->outputs[0]->layout;
	return info->role == ROLE_VENDOR && takes(a, node, value) && !value->constant &&
	       channels_of(a, value, &channels) && value->type.rank == node->outputs[0]->type.rank &&
	       !dim_is(value->type.dims[1], 1) && (blocked_result || info->wants_source);
}

static void
fix_inputs(Assigner *a, Node *node)
{
	for (int i = 0; i < node->ninput; i++) {
		Value *value = node->inputs[i];
		if (!value || !info_of(a, node) || !wants_other(a, node, value))
			continue;
		Value *copy = other_storage(a, node->parent, value);
		/* the group's nodes inside read the same value */
		for (int r = 0; r < node->nregion; r++)
			for (Node *inner = node->regions[r]->first; inner; inner = inner->next)
				for (int k = 0; k < inner->ninput; k++)
					if (inner->inputs[k] == value)
						node_set_input(inner, k, copy);
		node_set_input(node, i, copy);
	}
}

/* What a branch or a loop's body reads from around it, it reads in plain storage. */
static void
fix_captures(Assigner *a, const Node *node)
{
	for (int r = 0; r < node->nregion && node->op->code != OP_fused; r++) {
		const Region *region = node->regions[r];
		for (int c = 0; c < region->captures.count; c++) {
			Value *value = region->captures.data[c];
			Value *copy = value->layout ? other_storage(a, node->parent, value) : NULL;
			for (int i = copy ? value->uses.count - 1 : -1; i >= 0; i--) {
				Use use = value->uses.data[i];
				if (!region_encloses(region, use.node ? use.node->parent : use.region))
					continue;
				if (use.node)
					node_set_input(use.node, use.index, copy);
				else
					region_set_result(use.region, use.index, copy);
			}
		}
	}
}

static void
fix_results(Assigner *a, Region *region)
{
	for (int i = 0; i < region->nresult; i++) {
		Value *value = region->results[i];
		if (!value->layout)
			continue;
		Value *copy = other_storage(a, region, value);
		value_swap_names(value, copy); /* the result keeps the model's name */
		for (int k = i; k < region->nresult; k++)
			if (region->results[k] == value)
				region_set_result(region, k, copy);
	}
}

static void
assign_region(Assigner *a, Region *region)
{
	for (Node *node = region->first; node; node = node->next)
		examine(a, node);
	for (Node *node = region->first; node; node = node->next)
		assign_outputs(a, node);
	for (Node *node = region->first; node; node = node->next) {
		fix_inputs(a, node);
		fix_captures(a, node);
	}
	fix_results(a, region);
}

bool
pass_AssignLayout(Graph *graph, PassContext *context)
{
	Arena *arena = arena_new_in(graph->arena, "AssignLayout");
	TextOperators operators = formula_operators(graph->ops);
	Assigner a = {.graph = graph,
	              .context = context,
	              .forms = vendor_forms_new(graph->arena, &operators, vendor_losses(context)),
	              .arena = arena,
	              .block = target_lanes(context->target, DT_F32),
	              .info = {.arena = arena},
	              .plain = {.arena = arena},
	              .blocked = {.arena = arena}};
	assign_region(&a, graph->body);
	region_update_captures(graph->body);
	arena_reset(arena);
	return a.changed;
}
