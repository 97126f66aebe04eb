/* Post-ops: from a step's to oneDNN's attributes. */
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
		if (!add_post(plan, &posts[i]))
			return false;
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
call_make_attr(const CallPlan *plan, DnnlMd *const *mds)
{
	enum { SCRATCHPAD_USER = 1 };
	const DnnlApi *api = plan->api;
	void *attr = NULL, *ops = NULL;
	int status = api->primitive_attr_create(&attr);
	if (!status)
		status = api->primitive_attr_set_scratchpad_mode(attr, SCRATCHPAD_USER);
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
