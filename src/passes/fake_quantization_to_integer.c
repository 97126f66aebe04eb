/* FakeQuantizationToInteger: sum products of quantised numbers as integers, and scale the sums.
 *
 *     %x = DequantizeLinear(%p, sx, zx)          %s = ConvInteger(%p, %q)
 *     %w = DequantizeLinear(%q, sw)              %c = Add(%s, -zx * sum of %q), if zx is not 0
 *     %y = Conv(%x, %w, %b)                 =>   %y = Add(Mul(Cast(%c), sx * sw), %b)
 *
 * (where all numbers on the way are below 2^24, f32 holds them all, and Cast comes before Add)
 *
 * Conv, MatMul and Gemm of dequantised numbers of 8 bits, QLinearConv, QLinearMatMul, ConvInteger
 * and MatMulInteger all get this one form, which a library's calls for bytes match: no zero points
 * in the product, then scale, shift and whatever stands behind it. What is made of constants,
 * FoldConstant evaluates. A QuantizeLinear that follows, behind a Relu at most, divides by its
 * scale; the division goes into the constants.
 *
 * The sum of products of dequantised numbers is one of f32, whose order is free: the integer sum,
 * scaled once, lies within its bound. Sums of the QLinear and Integer operators keep every bit.
 * Sums are short enough that i32 holds them.
 *
 * What is a sum of f32 becomes one of integers only where the target's library or the device's own
 * dot products are faster at it; these are for matrices, whose terms lie side by side. A sum of
 * integers is none the slower without zero points: any kernel of products can do it.
 *
 * needs    shapes, topological order; weights that are not folded yet
 * keeps    shapes, order; values but those of sums of f32, which are joined in another order
 * breaks   nothing
 */
#include <math.h>
#include <string.h>

#include "graph/infer.h"
#include "passes/passes.h"
#include "passes/quantised.h"
#include "target/ask.h"
#include "target/maker.h"
#include "target/vendor.h"

enum { MAX_TERMS = INT32_MAX / (255 * 128) };

typedef struct Product {
	Expander m;
	Node *node;
	Quantised x, w;
	Value *bias, *result_scale, *result_zero; /* NULL: none */
	int64_t lift; /* the zero point that weights of i8 still have: not all fit without */
	bool is_conv;
	bool is_fake;  /* means a sum of f32, of dequantised numbers */
	bool is_small; /* f32 holds all sums, with bias and what zero points add */
} Product;

/* ---- operands ---- */

/* The one zero point of the weights; false: there are several, or it isn't known. */
static bool
zero_of_weights(const Product *p, int64_t *zero)
{
	const Array *array = p->w.zero ? value_fixed(p->w.zero) : NULL;
	*zero = array ? dtype_load_i64(array->type, array->data, 0) : 0;
	return !p->w.zero || (array && array_count(array) == 1);
}

/* Weights less this, where i8 holds them; NULL: it does not, or they are unknown. */
static Value *
moved_weights(const Product *p, int64_t offset)
{
	Graph *graph = p->node->parent->graph;
	const Array *w = value_fixed(p->w.q);
	if (!w)
		return NULL;
	Array *moved = array_new(graph->arena, DT_I8, w->rank, w->dims);
	for (int64_t i = 0; i < array_count(w); i++) {
		int64_t number = dtype_load_i64(w->type, w->data, i) - offset;
		if (number < INT8_MIN || number > INT8_MAX)
			return NULL;
		dtype_store_i64(DT_I8, moved->data, i, number);
	}
	return graph_constant(graph, graph_fresh_name(graph, p->w.q->name), moved);
}

/* Constant weights, or what is rounded of constants. */
static bool
is_known(const Value *w)
{
	const Node *def = w->def;
	return value_fixed(w) ||
	       (def && def->op->code == OP_QuantizeLinear && value_fixed(def->inputs[0]));
}

/* Sums of x are as many as sums of products: one for all channels, or one for each. */
static bool
has_own_sums(const Product *p)
{
	int64_t group = p->is_conv ? attr_int(p->node, "group") : 1;
	return group == 1 || dim_is(p->w.q->type.dims[0], group);
}

/* i8 without a zero point; or with what is left of it, where i8 doesn't hold them without. */
static bool
settle_weights(Product *p)
{
	int64_t zero;
	if (!quantised_are_bytes(p->w.q) || !is_known(p->w.q))
		return false;
	if (p->w.q->type.dtype == DT_I8 && quantised_is_zero(p->w.zero))
		return true;
	if (!zero_of_weights(p, &zero))
		return false;
	Value *moved = moved_weights(p, zero);
	if (!moved && has_own_sums(p)) {
		int64_t middle = p->w.q->type.dtype == DT_U8 ? 128 : 0;
		moved = moved_weights(p, middle);
		p->lift = zero - middle;
	}
	p->w.q = moved;
	return moved;
}

static int
channel_of_weights(const Product *p)
{
	bool is_turned = p->node->op->code == OP_Gemm && attr_int(p->node, "transB");
	return p->is_conv || is_turned ? 0 : p->w.q->type.rank - 1;
}

/* The terms of a sum; 0: not known, or too many. */
static int64_t
terms_of(const Product *p)
{
	const Type *w = &p->w.q->type;
	int channel = channel_of_weights(p);
	int64_t terms = 1, extent;
	for (int d = 0; d < w->rank; d++) {
		if (d == channel)
			continue;
		if (!dim_is_const(w->dims[d], &extent) || extent > MAX_TERMS)
			return 0;
		terms *= extent;
		if (terms > MAX_TERMS)
			return 0;
	}
	return terms;
}

/* Whether f32 holds each sum, and each with a bias of integers. A sum of f32, whose order is free,
 * may be rounded once, but not before what a zero point adds: they nearly cancel where numbers are
 * near the zero point. */
static bool
is_small(const Product *p, int64_t terms)
{
	static const double EXACT = 1 << 24;
	if (p->lift != 0)
		return false;
	if (p->is_fake && quantised_is_zero(p->x.zero))
		return true;
	const Array *w = value_fixed(p->w.q);
	double largest = 255.0 * 128 * (double)terms;
	if (w)
		largest =
			quantised_largest_sum(p->node->parent->graph->arena, &p->x, w, channel_of_weights(p));
	const Array *bias = p->result_scale && p->bias ? value_fixed(p->bias) : NULL;
	if (p->result_scale && p->bias && !bias)
		return false;
	double added = 0;
	for (int64_t i = 0; bias && i < array_count(bias); i++)
		added = fmax(added, fabs(dtype_load_f64(bias->type, bias->data, i)));
	return largest + added < EXACT;
}

/* ---- recognising ---- */

/* Whether scale is one for all, or one for each channel, which is dim `axis` of the weights. */
static bool
is_by_channel(const Node *dequantise, const Value *scale, int rank, int axis)
{
	int given = (int)attr_int(dequantise, "axis");
	return quantised_is_single(scale) ||
	       (scale->type.rank == 1 && (given < 0 ? given + rank : given) == axis);
}

/* Conv(DequantizeLinear, DequantizeLinear), the same of MatMul and Gemm. */
static bool
read_fake(Product *p)
{
	Node *node = p->node;
	OpCode code = node->op->code;
	if ((code != OP_Conv && code != OP_MatMul && code != OP_Gemm) ||
	    !quantised_read(node->inputs[0], &p->x) || !quantised_read(node->inputs[1], &p->w) ||
	    !quantised_is_plain_scale(p->x.scale) ||
	    !quantised_scales_join(p->x.scale, p->w.scale, NULL))
		return false;
	int rank = p->w.q->type.rank, axis = code == OP_Conv ? 0 : rank - 1;
	if (code == OP_Gemm) {
		if (attr_float(node, "alpha") != 1 || attr_float(node, "beta") != 1 ||
		    attr_int(node, "transA"))
			return false;
		axis = attr_int(node, "transB") ? 0 : 1;
	}
	p->is_conv = code == OP_Conv;
	p->is_fake = true;
	p->bias = expander_input(node, 2);
	return (p->is_conv || rank == 2) && is_by_channel(node->inputs[1]->def, p->w.scale, rank, axis);
}

static bool
read_integer(Product *p)
{
	Node *node = p->node;
	OpCode code = node->op->code;
	if (code == OP_ConvInteger || code == OP_MatMulInteger) {
		p->x = (Quantised){node->inputs[0], NULL, expander_input(node, 2)};
		p->w = (Quantised){node->inputs[1], NULL, expander_input(node, 3)};
	} else if (code == OP_QLinearConv || code == OP_QLinearMatMul) {
		p->x = (Quantised){node->inputs[0], node->inputs[1], node->inputs[2]};
		p->w = (Quantised){node->inputs[3], node->inputs[4], node->inputs[5]};
		p->result_scale = node->inputs[6];
		p->result_zero = node->inputs[7];
		p->bias = expander_input(node, 8);
	} else {
		return false;
	}
	p->is_conv = code == OP_ConvInteger || code == OP_QLinearConv;
	bool scales = !p->x.scale || (quantised_is_single(p->x.scale) &&
	                              p->x.scale->type.dtype == DT_F32 && p->w.scale->type.rank <= 1);
	return quantised_are_bytes(p->x.q) && scales && (p->is_conv || p->w.q->type.rank == 2);
}

static bool
is_done(const Product *p)
{
	OpCode code = p->node->op->code;
	return (code == OP_ConvInteger || code == OP_MatMulInteger) && p->node->ninput == 2 &&
	       p->w.q->type.dtype == DT_I8;
}

/* Padding is a number of the operator's, but for SAME, where it depends on sizes. */
static bool
pads_are_given(const Node *node)
{
	const char *how = attr_string(node, "auto_pad");
	return strcmp(how, "NOTSET") == 0 || strcmp(how, "VALID") == 0;
}

static bool
recognise(Product *p)
{
	if (!read_fake(p) && !read_integer(p))
		return false;
	bool is_moved = !quantised_is_zero(p->x.zero);
	if (is_done(p) || !settle_weights(p))
		return false;
	int64_t terms = terms_of(p);
	p->is_small = terms > 0 && is_small(p, terms);
	return terms > 0 && (!is_moved || (quantised_is_single(p->x.zero) &&
	                                   (!p->is_conv || pads_are_given(p->node))));
}

/* ---- writing ---- */

static Value *
integers(const Product *p, int64_t count, const int64_t *numbers)
{
	Graph *graph = p->node->parent->graph;
	return graph_constant(graph, graph_fresh_name(graph, "dims"),
	                      array_vector_i64(graph->arena, count, numbers));
}

static Value *
cast(const Product *p, Value *x, DType type)
{
	Node *made = expander_node(&p->m, "Cast", 1, &x, 1);
	node_set_int(made, "to", type);
	return expander_result(&p->m, made);
}

/* A number, or one for each channel, in the dims that it has beside the result. */
static Value *
along_channel(const Product *p, Value *x)
{
	int64_t dims[ARRAY_MAX_RANK] = {-1};
	int64_t rank = quantised_is_single(x) ? 0 : p->is_conv ? p->x.q->type.rank - 1 : 1;
	for (int i = 1; i < rank; i++)
		dims[i] = 1;
	return expander_binary(&p->m, "Reshape", x, integers(p, rank, dims));
}

/* The source with its zero point as padding. */
static Value *
padded(const Product *p)
{
	int64_t count, pads[2 * ARRAY_MAX_RANK] = {0};
	const int64_t *given = attr_ints(p->node, "pads", &count);
	int rank = p->x.q->type.rank;
	bool any = false;
	for (int64_t i = 0; i < count; i++) {
		pads[i < count / 2 ? 2 + i : rank + 2 + i - count / 2] = given[i];
		any |= given[i] != 0;
	}
	if (!any)
		return p->x.q;
	Value *zero = along_channel(p, p->x.zero);
	return expander_result(
		&p->m,
		expander_node(&p->m, "Pad", 3, (Value *[]){p->x.q, integers(p, 2 * rank, pads), zero}, 1));
}

/* The integer sum of products of x and w as they are stored. */
static Value *
stored_sum(const Product *p, Value *x, Value *w)
{
	if (p->node->op->code == OP_Gemm && attr_int(p->node, "transB"))
		w = expander_unary(&p->m, "Transpose", w);
	Node *made =
		expander_node(&p->m, p->is_conv ? "ConvInteger" : "MatMulInteger", 2, (Value *[]){x, w}, 1);
	for (int i = 0; p->is_conv && i < p->node->nattr; i++)
		if (x == p->x.q || strcmp(p->node->attrs[i].name, "pads") != 0)
			node_add_attr(made, &p->node->attrs[i]);
	return expander_result(&p->m, made);
}

static Value *
summed(const Product *p, Value *x, int64_t count, const int64_t *axes, bool keep)
{
	Node *sums = expander_node(&p->m, "ReduceSum", 2,
	                           (Value *[]){cast(p, x, DT_I32), integers(p, count, axes)}, 1);
	node_set_int(sums, "keepdims", keep);
	return expander_result(&p->m, sums);
}

/* The sum of the numbers of x that each sum of products has: of windows a convolution with ones. */
static Value *
sum_of_source(const Product *p, Value *x)
{
	Graph *graph = p->node->parent->graph;
	if (!p->is_conv)
		return summed(p, x, 1, (int64_t[]){x->type.rank - 1}, true);
	const Array *w = value_fixed(p->w.q);
	int64_t dims[ARRAY_MAX_RANK];
	memcpy(dims, w->dims, (size_t)w->rank * sizeof *dims);
	dims[0] = attr_int(p->node, "group");
	Array *ones = array_new(graph->arena, DT_I8, w->rank, dims);
	memset(ones->data, 1, (size_t)array_count(ones));
	return stored_sum(p, x, graph_constant(graph, graph_fresh_name(graph, "ones"), ones));
}

/* The zero point of x times the sum of each channel's weights, negated. */
static Value *
surplus(const Product *p)
{
	int64_t axes[ARRAY_MAX_RANK], count = 0;
	int channel = channel_of_weights(p);
	for (int d = 0; d < p->w.q->type.rank; d++)
		if (d != channel)
			axes[count++] = d;
	Value *each = summed(p, p->w.q, count, axes, false);
	double lifted = (double)(terms_of(p) * p->lift);
	each = expander_binary(&p->m, "Sub", expander_number(&p->m, DT_I32, lifted), each);
	Value *zero = along_channel(p, cast(p, p->x.zero, DT_I32));
	return expander_binary(&p->m, "Mul", along_channel(p, each), zero);
}

/* What each channel's sum of stored numbers lacks, of integers: NULL: nothing. */
static Value *
added_to(const Product *p)
{
	Value *added = quantised_is_zero(p->x.zero) ? NULL : surplus(p);
	Value *bias = p->result_scale && p->bias ? along_channel(p, p->bias) : NULL;
	return added && bias ? expander_binary(&p->m, "Add", added, bias) : added ? added : bias;
}

/* The one QuantizeLinear behind `value`, and behind a Relu at most, whose scale may go into
 * constants. */
static Node *
quantiser_of(const Product *p, const Value *value)
{
	const Node *user = value->uses.count == 1 ? value->uses.data[0].node : NULL;
	if (user && user->op->code == OP_Relu && !value_is_graph_output(value)) {
		value = user->outputs[0];
		user = value->uses.count == 1 ? value->uses.data[0].node : NULL;
	}
	bool is_one = user && user->op->code == OP_QuantizeLinear && user->parent == p->node->parent &&
	              !value_is_graph_output(value) && user->inputs[0] == value &&
	              quantised_is_single(user->inputs[1]) && value_fixed(user->inputs[1]) &&
	              user->inputs[1]->type.dtype == DT_F32 && attr_int(user, "block_size") == 0 &&
	              quantised_are_bytes(user->outputs[0]) &&
	              dtype_load_f64(DT_F32, value_fixed(user->inputs[1])->data, 0) > 0 &&
	              quantised_scales_join(p->x.scale, p->w.scale, user->inputs[1]);
	return is_one ? (Node *)(uintptr_t)user : NULL;
}

static void
scale_by_one(const Product *p, Node *quantiser)
{
	node_set_input(quantiser, 1, expander_number(&p->m, DT_F32, 1));
}

/* The sum of products less zero points, with a bias of integers, as f32 or, where `type` says so or
 * f32 does not hold it, first as i32. */
static Value *
whole_sum(const Product *p, DType type)
{
	bool is_padded = p->is_conv && !quantised_is_zero(p->x.zero);
	Value *x = is_padded ? padded(p) : p->x.q, *added = added_to(p);
	Value *sum = stored_sum(p, x, p->w.q);
	DType in = p->is_small && type == DT_F32 ? DT_F32 : DT_I32;
	if (in == DT_F32)
		sum = cast(p, sum, in);
	if (added)
		sum = expander_binary(&p->m, "Add", sum, in == DT_F32 ? cast(p, added, in) : added);
	if (p->lift != 0) {
		Value *lift = expander_number(&p->m, DT_I32, (double)-p->lift);
		Value *lifted = expander_binary(&p->m, "Mul", sum_of_source(p, x), lift);
		sum = expander_binary(&p->m, "Add", sum, lifted);
	}
	return in == type ? sum : cast(p, sum, type);
}

/* A constant, or what is dequantised of one. */
static bool
is_steady(const Value *bias)
{
	const Node *def = bias->def;
	return value_fixed(bias) ||
	       (def && def->op->code == OP_DequantizeLinear && value_fixed(def->inputs[0]));
}

static Value *
beside_channels(const Product *p, Value *bias)
{
	return p->is_conv ? along_channel(p, bias) : bias;
}

/* Whether all of these are so far from 0 that numbers divided by them are finite. */
static bool
divide_well(const Value *scale)
{
	const Array *array = value_fixed(scale);
	for (int64_t i = 0; array && i < array_count(array); i++)
		if (!(dtype_load_f64(array->type, array->data, i) > 1e-12))
			return false;
	return array;
}

/* Scaled, with the bias of f32 behind it; or before, in units of the sum, where nothing else is
 * added: a library then adds it with the sum, and has nothing left to do behind the scales. */
static Value *
dequantised(const Product *p, Value *sum)
{
	Node *quantiser = quantiser_of(p, p->node->outputs[0]);
	Value *scale = expander_binary(&p->m, "Mul", p->x.scale, p->w.scale), *bias = p->bias;
	if (bias && is_steady(bias) && quantised_is_zero(p->x.zero) && divide_well(p->x.scale) &&
	    divide_well(p->w.scale)) {
		bias = expander_binary(&p->m, "Div", bias, scale);
		sum = expander_binary(&p->m, "Add", sum, beside_channels(p, bias));
		bias = NULL;
	}
	if (quantiser) {
		scale = expander_binary(&p->m, "Div", scale, quantiser->inputs[1]);
		bias = bias ? expander_binary(&p->m, "Div", bias, quantiser->inputs[1]) : NULL;
		scale_by_one(p, quantiser);
	}
	Value *y = expander_binary(&p->m, "Mul", sum, along_channel(p, scale));
	if (!bias)
		return y;
	return expander_binary(&p->m, "Add", y, beside_channels(p, bias));
}

/* Scaled as QLinear operators say, with one rounding. */
static Value *
requantised(const Product *p, Value *sum)
{
	Value *scale = expander_binary(&p->m, "Mul", p->x.scale, p->w.scale);
	scale = expander_binary(&p->m, "Div", scale, p->result_scale);
	Value *y = expander_binary(&p->m, "Mul", sum, along_channel(p, scale));
	return expander_result(&p->m, expander_node(&p->m, "QuantizeLinear", 3,
	                                            (Value *[]){y, expander_number(&p->m, DT_F32, 1),
	                                                        along_channel(p, p->result_zero)},
	                                            1));
}

/* The one node that reads the sum and makes f32 of it; NULL: there is none. */
static Node *
cast_behind(const Product *p)
{
	const Value *y = p->node->outputs[0];
	Node *user = y->uses.count == 1 && !value_is_graph_output(y) ? y->uses.data[0].node : NULL;
	bool is_cast = user && user->op->code == OP_Cast && user->outputs[0]->type.dtype == DT_F32 &&
	               user->parent == p->node->parent;
	return is_cast ? user : NULL;
}

static void
rewrite(const Product *p)
{
	Node *replaced = p->node, *last = p->x.scale ? NULL : cast_behind(p);
	Value *sum = whole_sum(p, p->x.scale || last ? DT_F32 : DT_I32);
	if (p->x.scale)
		sum = p->result_scale ? requantised(p, sum) : dequantised(p, sum);
	value_replace_uses(last ? last->outputs[0] : replaced->outputs[0], sum);
	if (last)
		node_remove(last);
	node_remove(replaced);
}

/* Which products of bytes take less time than those of f32. */
typedef enum Gain { GAIN_none, GAIN_matrices, GAIN_all } Gain;

/* Whether the library multiplies numbers of 8 bits in a kernel of its own on this machine. */
static bool
library_has_products(PassContext *context)
{
	static const int64_t a[] = {64, 64};
	bool has = false;
	for (int i = 0; i < vendor_count() && !has; i++) {
		const VendorRow *row = vendor_at(i);
		const VendorArg args[] = {{.type = DT_U8, .rank = 2, .dims = a},
		                          {.type = DT_I8, .rank = 2, .dims = a, .is_weight = true},
		                          {.type = DT_NONE},
		                          {.type = DT_F32, .rank = 2, .dims = a}};
		VendorCall call = {row->library, row->name, 4, args, 0, NULL};
		bool takes_matrices = row->stage && (row->storage & STORAGE_strides);
		has = takes_matrices && row->library && dtype_is_among(DT_U8, row->operands[0]) &&
		      target_calls(context->target, row->library) && ask_accept(context, &call, NULL);
	}
	return has;
}

/* The -O from which on channels lie side by side (AssignLayout): for bytes in planes libraries have
 * convolutions that are slower than those of f32. */
enum { BLOCKS = 3 };

static Gain
gain_of(PassContext *context)
{
	const Target *target = context->target;
	const Device *device = target->device;
	if (library_has_products(context))
		return context->level >= BLOCKS ? GAIN_all : GAIN_matrices;
	bool has_dots = device && maker_of(target)->takes_quads && device->peak.s8 > device->gflops;
	return has_dots ? GAIN_matrices : GAIN_none;
}

static bool
gains(const Product *p, Gain gain)
{
	return !p->is_fake || gain == GAIN_all || (gain == GAIN_matrices && !p->is_conv);
}

/* Whether there is anything to write in another form. */
static bool
has_products(Region *region)
{
	for (Node *node = region->first; node; node = node->next) {
		Product p = {.m = {region, node, node}, .node = node};
		if (node_effect(node) == EFFECT_pure && recognise(&p))
			return true;
		for (int i = 0; i < node->nregion; i++)
			if (has_products(node->regions[i]))
				return true;
	}
	return false;
}

static bool
rewrite_region(PassContext *context, Region *region, Gain gain)
{
	bool changed = false;
	for (Node *node = region->first, *next; node; node = next) {
		Product p = {.m = {region, node, node}, .node = node};
		next = node->next;
		for (int i = 0; i < node->nregion; i++)
			changed |= rewrite_region(context, node->regions[i], gain);
		if (node_effect(node) != EFFECT_pure || !pass_may_rewrite(context) || !recognise(&p) ||
		    !gains(&p, gain))
			continue;
		pass_log(context, "integer product", node->loc.node, NULL, NULL);
		if (next && next == cast_behind(&p))
			next = next->next;
		rewrite(&p);
		changed = true;
	}
	return changed;
}

bool
pass_FakeQuantizationToInteger(Graph *graph, PassContext *context)
{
	return has_products(graph->body) && rewrite_region(context, graph->body, gain_of(context));
}
