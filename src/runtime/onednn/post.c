/* Post-ops: from a step's to oneDNN's attributes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/onednn/call.h"

/* What each kind is to oneDNN: an algorithm for elements by its name, with numbers where the kind
 * has none, or one for two operands. A sum is neither. */
static const struct {
	const char *name;
	float alpha, beta;
	int binary;
} POSTS[POST_KINDS] = {
	[POST_relu] = {"eltwise_relu"},
	[POST_clip] = {"eltwise_clip"},
	[POST_gelu_erf] = {"eltwise_gelu_erf"},
	[POST_gelu_tanh] = {"eltwise_gelu_tanh"},
	[POST_swish] = {"eltwise_swish"},
	[POST_hardswish] = {"eltwise_hardswish", 1.0f / 6, 0.5f},
	[POST_sigmoid] = {"eltwise_logistic"},
	[POST_tanh] = {"eltwise_tanh"},
	[POST_leaky_relu] = {"eltwise_relu"},
	[POST_elu] = {"eltwise_elu"},
	[POST_linear] = {"eltwise_linear"},
	[POST_exp] = {"eltwise_exp"},
	[POST_abs] = {"eltwise_abs"},
	[POST_sqrt] = {"eltwise_sqrt"},
	[POST_round] = {"eltwise_round"},
	[POST_add] = {.binary = DNNL_BINARY_ADD},
	[POST_sub] = {.binary = DNNL_BINARY_ADD + 5},
	[POST_mul] = {.binary = DNNL_BINARY_ADD + 1},
	[POST_max] = {.binary = DNNL_BINARY_ADD + 2},
	[POST_min] = {.binary = DNNL_BINARY_ADD + 3},
};

/* The operand of a binary post-op or sum: follows dst wherever it is not broadcast. */
static bool
add_operand(CallPlan *plan, CallPost *post, int arg)
{
	CallTensor tensor;
	const CallOperand *dst = &plan->operands[plan->dst];
	bool is_sum = post->kind == POST_sum;
	int code = is_sum ? 0 : (plan->api->post_op_base * (plan->npost + 1)) | DNNL_SRC_1;
	if (arg < 0 || arg >= plan->desc->narg)
		return call_refuse(plan, "a post-op names argument %d", arg);
	if (!call_tensor(plan, arg, &tensor))
		return false;
	bool fits = call_raise(&tensor, dst->tensor.rank);
	for (int i = 0; i < dst->tensor.rank && fits; i++)
		fits = tensor.dims[i] == dst->tensor.dims[i] || (tensor.dims[i] == 1 && !is_sum);
	if (is_sum)
		fits = fits && tensor.block == dst->tensor.block && tensor.type == dst->tensor.type &&
		       !memcmp(tensor.strides, dst->tensor.strides,
		               (size_t)tensor.rank * sizeof *tensor.strides);
	CallOperand *operand = fits ? call_operand(plan, code, arg, &tensor) : NULL;
	if (!operand)
		return call_refuse(plan, "argument %d of a post-op does not fit the result", arg);
	for (int i = 0; i < tensor.rank; i++)
		if (tensor.dims[i] != 1 || plan->operands[plan->dst].tensor.dims[i] == 1)
			call_follow(operand, i, plan->operands[plan->dst].follow[i],
			            plan->operands[plan->dst].scale[i]);
	post->operand = plan->noperand - 1;
	return true;
}

/* oneDNN 2.6's kernels keep one pair of numbers per element-wise algorithm, so that the second of
 * two scales would be the first again. */
static bool
is_shadowed(const CallPlan *plan, const CallPost *post)
{
	for (int i = 0; i < plan->npost; i++) {
		const CallPost *before = &plan->posts[i];
		if (POSTS[before->kind].name && before->algorithm == post->algorithm &&
		    (before->alpha != post->alpha || before->beta != post->beta))
			return true;
	}
	return false;
}

static bool
has_sum(const CallPlan *plan)
{
	for (int i = 0; i < plan->npost; i++)
		if (plan->posts[i].kind == POST_sum)
			return true;
	return false;
}

/* ---- scales ---- */

/* Sums of bytes may be scaled before all post-ops, which is much faster than by one of them:
 * version 2.6 needs 146 us for 16 channels to 96 of 112 x 112 with a bias and scales, 232 with a
 * product for the scales, 527 with a product and a sum. The arithmetic is the same. */
static bool
may_scale(const CallPlan *plan)
{
	return plan->api->major == 2 && plan->scales.count == 0 && plan->npost == 0 &&
	       plan->operands[1].tensor.type == DT_I8;
}

/* The dim of dst along which argument `arg`, of f32, lies; -1: it is no such vector. */
static int
channel_of(CallPlan *plan, int arg)
{
	CallTensor tensor;
	const CallTensor *dst = &plan->operands[plan->dst].tensor;
	int dim = plan->operands[0].is_window ? 1 : dst->rank - 1;
	if (arg < 0 || arg >= plan->desc->narg || !call_tensor(plan, arg, &tensor) ||
	    tensor.type != DT_F32 || !call_raise(&tensor, dst->rank))
		return -1;
	for (int i = 0; i < dst->rank; i++)
		if (tensor.dims[i] != (i == dim ? dst->dims[dim] : 1))
			return -1;
	return tensor.strides[dim] == 1 || tensor.dims[dim] == 1 ? dim : -1;
}

/* Take the first post-op as scales where it is a constant product. */
static bool
take_scales(CallPlan *plan, const StepPost *given)
{
	if (!may_scale(plan))
		return false;
	if (given->kind == POST_linear && given->numbers[1] == 0) {
		plan->scales = (CallScales){.count = 1, .one = (float)given->numbers[0]};
		return true;
	}
	int dim = given->kind == POST_mul ? channel_of(plan, given->arg) : -1;
	const VendorArg *arg = dim < 0 ? NULL : &plan->desc->args[given->arg];
	if (!arg || (!arg->constant && !arg->is_weight))
		return false;
	plan->scales = (CallScales){
		.count = plan->operands[plan->dst].tensor.dims[dim], .every = arg->constant, .dim = dim};
	return true;
}

int64_t
call_first_scale(const CallPlan *plan, const CallBox *box)
{
	const CallOperand *dst = &plan->operands[plan->dst];
	int axis = plan->scales.count > 1 ? dst->follow[plan->scales.dim] : -1;
	return axis < 0 ? 0 : box->begin[axis] * dst->scale[plan->scales.dim];
}

/* Of a call that is only asked for no scales are known: any are as good. */
static int
set_scales(const CallPlan *plan, const CallBox *box, void *attr)
{
	const CallScales *scales = &plan->scales;
	const CallOperand *dst = &plan->operands[plan->dst];
	if (scales->count == 0)
		return DNNL_OK;
	if (scales->count == 1)
		return plan->api->primitive_attr_set_output_scales(
			attr, 1, 0, scales->every ? scales->every : &scales->one);
	int axis = dst->follow[scales->dim];
	int64_t count = axis < 0 ? scales->count : box->size[axis] * dst->scale[scales->dim];
	float *any = scales->every ? NULL : calloc((size_t)count, sizeof *any);
	const float *from = any ? any : scales->every + call_first_scale(plan, box);
	int status =
		scales->every || any
			? plan->api->primitive_attr_set_output_scales(attr, count, 1 << scales->dim, from)
			: !DNNL_OK;
	free(any);
	return status;
}

/* Numbers are rounded to even when they are stored as bytes, with or without a number added that
 * is even. */
static void
drop_rounding(CallPlan *plan)
{
	DType type = plan->operands[plan->dst].tensor.type;
	const CallPost *last = plan->npost > 0 ? &plan->posts[plan->npost - 1] : NULL;
	if (!last || (type != DT_I8 && type != DT_U8))
		return;
	if (last->kind == POST_round) {
		plan->npost--;
		return;
	}
	bool is_even = last->kind == POST_linear && last->alpha == 1 && fmodf(last->beta, 2) == 0;
	if (is_even && plan->npost > 1 && last[-1].kind == POST_round) {
		plan->posts[plan->npost - 2] = *last;
		plan->npost--;
	}
}

static bool
add_post(CallPlan *plan, const StepPost *given)
{
	CallPost *post = &plan->posts[plan->npost];
	const char *name = POSTS[given->kind].name;
	*post = (CallPost){.kind = given->kind,
	                   .algorithm = POSTS[given->kind].binary,
	                   .alpha = (float)given->numbers[0] + POSTS[given->kind].alpha,
	                   .beta = (float)given->numbers[1] + POSTS[given->kind].beta};
	if (given->kind == POST_sum && has_sum(plan))
		return call_refuse(plan, "post-op sum comes twice, and the result lies in one place");
	if (!name && !add_operand(plan, post, given->arg))
		return false;
	if (name) {
		post->algorithm = dnnl_find_eltwise(plan->api, name);
		if (!post->algorithm)
			return call_refuse(plan, "this version has no post-op %s", name);
		if (is_shadowed(plan, post))
			return call_refuse(plan, "post-op %s comes twice with different numbers", name);
	}
	plan->npost++;
	return true;
}

bool
call_read_posts(CallPlan *plan)
{
	StepPost posts[POST_MAX];
	int count = posts_read(call_attr_text(plan, "post", ""), posts, plan->error, plan->error_size);
	for (int i = 0; i < count; i++)
		if (!take_scales(plan, &posts[i]) && !add_post(plan, &posts[i]))
			return false;
	drop_rounding(plan);
	return count >= 0;
}

static int
append_post(const CallPlan *plan, void *ops, const CallPost *post, DnnlMd *const *mds)
{
	if (POSTS[post->kind].name)
		return dnnl_append_eltwise(plan->api, ops, post->algorithm, post->alpha, post->beta);
	if (post->kind == POST_sum)
		return dnnl_append_sum(plan->api, ops);
	return plan->api->post_ops_append_binary(ops, post->algorithm, mds[post->operand]);
}

void *
call_make_attr(const CallPlan *plan, const CallBox *box, DnnlMd *const *mds)
{
	enum { SCRATCHPAD_USER = 1 };
	const DnnlApi *api = plan->api;
	void *attr = NULL, *ops = NULL;
	int status = api->primitive_attr_create(&attr);
	if (!status)
		status = api->primitive_attr_set_scratchpad_mode(attr, SCRATCHPAD_USER);
	if (!status)
		status = set_scales(plan, box, attr);
	if (!status)
		status = api->post_ops_create(&ops);
	for (int i = 0; i < plan->npost && !status; i++)
		status = append_post(plan, ops, &plan->posts[i], mds);
	if (!status)
		status = api->primitive_attr_set_post_ops(attr, ops);
	if (ops)
		api->post_ops_destroy(ops);
	if (!status)
		return attr;
	if (attr)
		api->primitive_attr_destroy(attr);
	return NULL;
}
