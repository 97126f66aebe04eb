/* Post-ops: from a step's text to oneDNN's attributes.
 *
 *     "sum(3);relu"      "add(4);clip(0,6)"      "gelu_erf"
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/onednn/call.h"

enum { POST_ELTWISE, POST_BINARY, POST_SUM };

/* alpha and beta are the values where the text gives none. */
typedef struct PostRow {
	const char *name;
	int kind;
	const char *algorithm; /* element-wise: oneDNN's name */
	int number;            /* binary */
	float alpha, beta;
} PostRow;

static const PostRow POSTS[] = {
	{"relu", POST_ELTWISE, "eltwise_relu", 0, 0, 0},
	{"leaky_relu", POST_ELTWISE, "eltwise_relu", 0, 0.01f, 0},
	{"elu", POST_ELTWISE, "eltwise_elu", 0, 1, 0},
	{"tanh", POST_ELTWISE, "eltwise_tanh", 0, 0, 0},
	{"sigmoid", POST_ELTWISE, "eltwise_logistic", 0, 0, 0},
	{"gelu_erf", POST_ELTWISE, "eltwise_gelu_erf", 0, 0, 0},
	{"gelu_tanh", POST_ELTWISE, "eltwise_gelu_tanh", 0, 0, 0},
	{"swish", POST_ELTWISE, "eltwise_swish", 0, 1, 0},
	{"hardswish", POST_ELTWISE, "eltwise_hardswish", 0, 1.0f / 6, 0.5f},
	{"hardsigmoid", POST_ELTWISE, "eltwise_hardsigmoid", 0, 0.2f, 0.5f},
	{"clip", POST_ELTWISE, "eltwise_clip", 0, 0, 6},
	{"exp", POST_ELTWISE, "eltwise_exp", 0, 0, 0},
	{"abs", POST_ELTWISE, "eltwise_abs", 0, 0, 0},
	{"sqrt", POST_ELTWISE, "eltwise_sqrt", 0, 0, 0},
	{"square", POST_ELTWISE, "eltwise_square", 0, 0, 0},
	{"linear", POST_ELTWISE, "eltwise_linear", 0, 1, 0},
	{"round", POST_ELTWISE, "eltwise_round", 0, 0, 0},
	{"mish", POST_ELTWISE, "eltwise_mish", 0, 0, 0},
	{"add", POST_BINARY, NULL, DNNL_BINARY_ADD, 0, 0},
	{"mul", POST_BINARY, NULL, DNNL_BINARY_ADD + 1, 0, 0},
	{"max", POST_BINARY, NULL, DNNL_BINARY_ADD + 2, 0, 0},
	{"min", POST_BINARY, NULL, DNNL_BINARY_ADD + 3, 0, 0},
	{"sub", POST_BINARY, NULL, DNNL_BINARY_ADD + 5, 0, 0},
	{"sum", POST_SUM, NULL, 0, 0, 0},
};

static const PostRow *
find_post(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof POSTS / sizeof *POSTS; i++)
		if (strlen(POSTS[i].name) == length && memcmp(POSTS[i].name, name, length) == 0)
			return &POSTS[i];
	return NULL;
}

/* Up to two numbers in parentheses at *text; their count, or -1. */
static int
read_numbers(const char **text, double numbers[2])
{
	const char *at = *text;
	int count = 0;
	if (*at != '(')
		return 0;
	do {
		char *end;
		if (count == 2)
			return -1;
		numbers[count++] = strtod(at + 1, &end);
		if (end == at + 1)
			return -1;
		at = end;
	} while (*at == ',');
	if (*at != ')')
		return -1;
	*text = at + 1;
	return count;
}

/* The operand of a binary post-op or sum: follows dst wherever it is not broadcast. */
static bool
add_operand(CallPlan *plan, CallPost *post, double number)
{
	CallTensor tensor;
	const CallOperand *dst = &plan->operands[plan->dst];
	int arg = (int)number, code = (plan->api->post_op_base * (plan->npost + 1)) | DNNL_SRC_1;
	if (number != arg || arg < 0 || arg >= plan->desc->narg)
		return call_refuse(plan, "a post-op names argument %g", number);
	if (!call_tensor(plan, arg, &tensor))
		return false;
	bool fits = call_raise(&tensor, dst->tensor.rank);
	for (int i = 0; i < dst->tensor.rank && fits; i++)
		fits = tensor.dims[i] == dst->tensor.dims[i] ||
		       (tensor.dims[i] == 1 && post->kind == POST_BINARY);
	if (post->kind == POST_SUM)
		fits = fits && tensor.block == dst->tensor.block && tensor.type == dst->tensor.type &&
		       !memcmp(tensor.strides, dst->tensor.strides,
		               (size_t)tensor.rank * sizeof *tensor.strides);
	CallOperand *operand =
		fits ? call_operand(plan, post->kind == POST_SUM ? 0 : code, arg, &tensor) : NULL;
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
		if (before->kind == POST_ELTWISE && before->algorithm == post->algorithm &&
		    (before->alpha != post->alpha || before->beta != post->beta))
			return true;
	}
	return false;
}

static bool
has_sum(const CallPlan *plan)
{
	for (int i = 0; i < plan->npost; i++)
		if (plan->posts[i].kind == POST_SUM)
			return true;
	return false;
}

static bool
read_post(CallPlan *plan, const char **text)
{
	double numbers[2] = {0, 0};
	size_t length = 0;
	while (isalnum((unsigned char)(*text)[length]) || (*text)[length] == '_')
		length++;
	const PostRow *row = find_post(*text, length);
	if (!row || plan->npost == CALL_POSTS)
		return call_refuse(plan, "post-op '%.20s' is not known or one too many", *text);
	*text += length;
	int count = read_numbers(text, numbers);
	if (count < 0 || (row->kind != POST_ELTWISE && count != 1))
		return call_refuse(plan, "post-op %s has wrong numbers", row->name);
	CallPost *post = &plan->posts[plan->npost];
	*post = (CallPost){.kind = row->kind, .algorithm = row->number, .operand = -1};
	post->alpha = count > 0 ? (float)numbers[0] : row->alpha;
	post->beta = count > 1 ? (float)numbers[1] : row->beta;
	if (row->kind == POST_SUM && has_sum(plan))
		return call_refuse(plan, "post-op sum comes twice, and the result lies in one place");
	if (row->kind != POST_ELTWISE && !add_operand(plan, post, numbers[0]))
		return false;
	if (row->kind == POST_ELTWISE) {
		post->algorithm = dnnl_find_eltwise(plan->api, row->algorithm);
		if (!post->algorithm)
			return call_refuse(plan, "this version has no post-op %s", row->name);
		if (is_shadowed(plan, post))
			return call_refuse(plan, "post-op %s comes twice with different numbers", row->name);
	}
	plan->npost++;
	return true;
}

bool
call_read_posts(CallPlan *plan)
{
	const char *text = call_attr_text(plan, "post", "");
	while (*text) {
		if (*text == ';' || *text == ' ') {
			text++;
			continue;
		}
		if (!read_post(plan, &text))
			return false;
	}
	return true;
}

static int
append_post(const CallPlan *plan, void *ops, const CallPost *post, DnnlMd *const *mds)
{
	if (post->kind == POST_ELTWISE)
		return dnnl_append_eltwise(plan->api, ops, post->algorithm, post->alpha, post->beta);
	if (post->kind == POST_SUM)
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
