/* The rows conv, pool and reorder: operands over images and channels. What plans say to oneDNN,
 * beside what all libraries know (runtime/vendor.h):
 *
 * row "conv"    args: src [N,C,spatial…], weights [M,C/g,kernel…], bias [M] or -1, what post-ops
 *               name …, dst [N,M,spatial…]
 *     group       ints: 1 number, default 1
 *     strides, dilations, pads_lo
 *                 ints: one per spatial dim; defaults 1, 1 (ONNX's count: 1 is dense), 0. What the
 *                 last window of the result needs behind the source is padding, too
 *     algorithm   string: "direct" (default), "winograd", "auto"
 *     rows        ints: 1: cut along rows as well, each piece with a copy of those that its windows
 *                 reach, default 0
 * row "matmul"  args: a […,M,K], b […,K,N], bias [N] or -1, what post-ops name …, dst […,M,N];
 *               leading dims broadcast as ONNX MatMul does
 *     transpose_a, transpose_b
 *                 ints: 1: the last two dims of that argument are swapped, default 0
 * row "pool"    args: src, dst
 *     kind        string: "max" or "avg_padded": the mean, padding counted
 *     kernel      ints: one per spatial dim; strides, dilations, pads_lo as above
 * row "reorder" args: src, dst: the same tensor in another layout
 * all rows
 *     pieces      ints: 1 number: most pieces that one run is cut into; default: by shape
 *
 * A weight (b of matmul) that is constant is packed once per bundle.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/onednn/call.h"

bool
call_refuse(CallPlan *plan, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(plan->error, plan->error_size, format, args);
	va_end(args);
	return false;
}

/* ---- Attributes ---- */

int64_t
call_attr_int(const CallPlan *plan, const char *name, int index, int64_t otherwise)
{
	return step_attr_int(plan->desc->nattr, plan->desc->attrs, name, index, otherwise);
}

const char *
call_attr_text(const CallPlan *plan, const char *name, const char *otherwise)
{
	const StepAttr *attr = step_attr(plan->desc->nattr, plan->desc->attrs, name);
	return attr && attr->kind == SA_STRING ? attr->string : otherwise;
}

/* ---- Tensors ---- */

/* The dim that a letter of a layout names: "nhwc" by role, "acdb" by position. */
static int
letter_dim(char letter, int rank, bool by_role)
{
	static const char ROLES[] = "dhw"; /* the last rank-2 of them */
	if (!by_role)
		return tolower((unsigned char)letter) - 'a';
	const char *role = strchr(ROLES, letter);
	return letter == 'n' ? 0 : letter == 'c' ? 1 : role ? rank - 3 + (int)(role - ROLES) : -1;
}

/* Order and block from a layout's name; false when it is not one of the forms of vendor.h. */
static bool
read_layout(const char *layout, CallTensor *tensor)
{
	bool by_role = layout[0] == 'n', seen[DNNL_RANK] = {false};
	int count = 0;
	for (const char *at = layout; *at; at++) {
		int64_t number = 0;
		if (isdigit((unsigned char)*at)) {
			for (; isdigit((unsigned char)*at) && number < 1024; at++)
				number = number * 10 + (*at - '0');
			bool is_channel = by_role ? count == 2 && tensor->order[1] == 1 : *at == 'b';
			if (!is_channel || tensor->block != 1 || number < 2)
				return false;
			tensor->block = number;
			at -= by_role; /* by role the next letter is a dim of its own */
			continue;
		}
		int dim = letter_dim(*at, tensor->rank, by_role);
		if (dim < 0 || dim >= tensor->rank || seen[dim])
			return false;
		seen[dim] = true;
		tensor->order[count++] = dim;
	}
	return count == tensor->rank;
}

/* One block of all channels: they lie side by side behind each point, and have no blocks to the
 * library. Its kernels for numbers of 8 bits and for bf16 want it so, and others do not. */
static bool
put_channels_last(const CallPlan *plan, CallTensor *tensor)
{
	if (tensor->block == 1 || tensor->block != tensor->dims[1] ||
	    dtype_bits(plan->desc->args[0].type) > 16)
		return false;
	tensor->block = 1;
	for (int i = 1; i + 1 < tensor->rank; i++)
		tensor->order[i] = i + 1;
	tensor->order[tensor->rank - 1] = 1;
	return true;
}

static void
dense_strides(CallTensor *tensor)
{
	int64_t step = tensor->block;
	for (int i = tensor->rank - 1; i >= 0; i--) {
		int dim = tensor->order[i];
		int64_t extent = tensor->dims[dim];
		if (dim == 1 && tensor->block > 1)
			extent = (extent + tensor->block - 1) / tensor->block;
		tensor->strides[dim] = step;
		step *= extent > 0 ? extent : 1;
	}
}

bool
call_tensor(CallPlan *plan, int arg, CallTensor *tensor)
{
	const VendorArg *given = &plan->desc->args[arg];
	*tensor = (CallTensor){.type = given->type, .rank = given->rank, .block = 1};
	if (arg >= plan->desc->narg || given->type == DT_NONE || given->rank > VENDOR_MAX_RANK)
		return call_refuse(plan, "argument %d is missing or has too many dims", arg);
	if (!dnnl_type(given->type))
		return call_refuse(plan, "oneDNN has no type %s", dtype_name(given->type));
	for (int i = 0; i < given->rank; i++) {
		tensor->dims[i] = given->dims[i];
		tensor->order[i] = i;
		if (given->dims[i] < 1)
			return call_refuse(plan, "argument %d is empty", arg);
	}
	if (given->layout && !read_layout(given->layout, tensor))
		return call_refuse(plan, "layout '%.40s' is not known", given->layout);
	bool is_last = put_channels_last(plan, tensor);
	dense_strides(tensor);
	for (int i = 0; i < given->rank && given->strides; i++) {
		if (!is_last || i != 1) /* there it is the way to the next block, and there is none */
			tensor->strides[i] = given->strides[i];
		if (given->strides[i] <= 0 && given->dims[i] > 1)
			return call_refuse(plan, "argument %d runs backwards", arg);
	}
	return true;
}

bool
call_raise(CallTensor *tensor, int rank)
{
	int added = rank - tensor->rank;
	if (added < 0 || (added > 0 && tensor->block > 1))
		return false;
	for (int i = rank - 1; i >= 0; i--) {
		tensor->dims[i] = i < added ? 1 : tensor->dims[i - added];
		tensor->strides[i] = i < added ? 0 : tensor->strides[i - added];
		tensor->order[i] = i < added ? i : tensor->order[i - added] + added;
	}
	for (int i = 0; i < added; i++) /* the stride of a dim of 1 only has to be possible */
		tensor->strides[i] = tensor->strides[added] * tensor->dims[added];
	tensor->rank = rank;
	return true;
}

CallOperand *
call_operand(CallPlan *plan, int code, int arg, const CallTensor *tensor)
{
	if (plan->noperand == CALL_OPERANDS) {
		call_refuse(plan, "too many arguments");
		return NULL;
	}
	CallOperand *operand = &plan->operands[plan->noperand++];
	*operand = (CallOperand){.code = code, .arg = arg, .tensor = *tensor};
	operand->constant = plan->desc->args[arg].constant;
	for (int i = 0; i < DNNL_RANK; i++) {
		operand->follow[i] = -1;
		operand->scale[i] = 1;
	}
	return operand;
}

void
call_follow(CallOperand *operand, int dim, int axis, int64_t scale)
{
	operand->follow[dim] = axis;
	operand->scale[dim] = scale;
}

/* ---- Windows ---- */

static bool
read_window(CallPlan *plan, const CallTensor *src, const CallTensor *dst)
{
	DnnlWindow *w = &plan->window;
	w->spatial = src->rank - 2;
	if (w->spatial < 1 || dst->rank != src->rank || src->dims[0] != dst->dims[0])
		return call_refuse(plan, "source and result do not fit together");
	for (int i = 0; i < w->spatial; i++) {
		w->strides[i] = call_attr_int(plan, "strides", i, 1);
		w->dilations[i] = call_attr_int(plan, "dilations", i, 1);
		w->pads_lo[i] = call_attr_int(plan, "pads_lo", i, 0);
		if (w->strides[i] < 1 || w->dilations[i] < 1 || w->kernel[i] < 1)
			return call_refuse(plan, "strides, dilations and kernel must be positive");
		int64_t windows, taps, used;
		if (__builtin_mul_overflow(dst->dims[i + 2] - 1, w->strides[i], &windows) ||
		    __builtin_mul_overflow(w->kernel[i] - 1, w->dilations[i], &taps) ||
		    __builtin_add_overflow(windows, taps + 1, &used) || used > INT32_MAX ||
		    w->pads_lo[i] < INT32_MIN || w->pads_lo[i] > INT32_MAX)
			return call_refuse(plan, "dim %d of the result is too large", i + 2);
		w->pads_hi[i] = used - src->dims[i + 2] - w->pads_lo[i];
	}
	return true;
}

/* ---- conv ---- */

const DnnlMd *
call_bias(const CallPlan *plan, DnnlMd *const *mds)
{
	const DnnlMd *bias = NULL;
	for (int i = 0; i < plan->dst; i++)
		if (plan->operands[i].code == DNNL_BIAS)
			bias = mds[i];
	return bias;
}

int
call_describe_conv(const CallPlan *plan, const DnnlWindow *window, void **desc, DnnlMd *const *mds,
                   const void *attr)
{
	const DnnlMd *bias = call_bias(plan, mds);
	int status = dnnl_describe_conv(plan->api, desc, plan->algorithm, mds[0], mds[1], bias,
	                                mds[plan->dst], window, attr);
	if (status && plan->algorithm == DNNL_WINOGRAD) /* not for this shape: direct does it too */
		status = dnnl_describe_conv(plan->api, desc, DNNL_DIRECT, mds[0], mds[1], bias,
		                            mds[plan->dst], window, attr);
	return status;
}

/* Weights [M, C/g, kernel…] as [g, M/g, C/g, kernel…]. */
static void
split_groups(CallTensor *weights, int64_t groups)
{
	for (int i = weights->rank; i > 1; i--) {
		weights->dims[i] = weights->dims[i - 1];
		weights->strides[i] = weights->strides[i - 1];
	}
	weights->dims[1] = weights->dims[0] / groups;
	weights->strides[1] = weights->strides[0];
	weights->dims[0] = groups;
	weights->strides[0] = weights->strides[1] * weights->dims[1];
	weights->rank++;
	for (int i = 0; i < weights->rank; i++)
		weights->order[i] = i;
}

/* Fewest groups whose channels are whole blocks on both sides, and enough to be worth a call. */
static int64_t
group_quantum(const CallTensor *src, const CallTensor *dst, int64_t in, int64_t out)
{
	int64_t quantum = in * out == 1 ? 16 : 1;
	while (quantum < 64 && (quantum * in % src->block || quantum * out % dst->block))
		quantum *= 2;
	return quantum;
}

/* Fewest output channels of a piece. Measured on 56x56 images of 64 channels: pieces of 32 cost
 * direct convolution 1 %; for Winograd the library then has only direct (1.7 ms, not 1.1). */
static int64_t
channel_quantum(const CallPlan *plan, int64_t out)
{
	return plan->algorithm != DNNL_DIRECT ? 64 : out <= 32 ? 16 : 32;
}

static bool
check_conv(CallPlan *plan, const CallTensor *src, const CallTensor *weights, const CallTensor *dst,
           int64_t groups)
{
	if (weights->rank != src->rank || weights->block != 1 || dst->rank != src->rank || groups < 1 ||
	    weights->dims[0] % groups || src->dims[1] != weights->dims[1] * groups ||
	    dst->dims[1] != weights->dims[0])
		return call_refuse(plan, "channels of source, weights and result do not fit together");
	for (int i = 0; i < src->rank - 2; i++)
		plan->window.kernel[i] = weights->dims[i + 2];
	return read_window(plan, src, dst);
}

/* Whether an image has enough of Winograd's tiles of 4x4, and fills them at least by half: few cost
 * as much as they save, since their weights are four times as large. The algorithm was chosen at a
 * typical size, and an open model may run at any. */
static bool
fills_tiles(const CallTensor *dst)
{
	enum { TILE = 4, LEAST_TILES = 4 };
	double points = 1, tiles = 1;
	for (int i = 2; i < dst->rank; i++) {
		int64_t count = (dst->dims[i] + TILE - 1) / TILE;
		points *= (double)dst->dims[i];
		tiles *= (double)count;
	}
	return tiles >= LEAST_TILES && points >= 0.5 * tiles * TILE * TILE;
}

static int
read_algorithm(const CallPlan *plan, const CallTensor *dst)
{
	const char *name = call_attr_text(plan, "algorithm", "direct");
	bool is_winograd = strcmp(name, "winograd") == 0 && fills_tiles(dst);
	return is_winograd ? DNNL_WINOGRAD : strcmp(name, "auto") == 0 ? DNNL_AUTO : DNNL_DIRECT;
}

/* Fewest rows of a slab, or positions where there is one dim: tiles of Winograd have 4 rows, and
 * kernels take some 30 positions at once. */
static int64_t
row_quantum(const CallPlan *plan, const CallTensor *dst)
{
	return !call_attr_int(plan, "rows", 0, 0) ? dst->dims[2] : dst->rank == 3 ? 64 : 4;
}

/* Operands whose dim 2 follows that of the result. */
static void
mark_slabs(CallPlan *plan)
{
	for (int i = 0; i < plan->noperand; i++)
		plan->operands[i].is_slab =
			plan->operands[i].tensor.rank > 2 && plan->operands[i].follow[2] == AXIS_HEIGHT;
}

/* The library's tiles (AMX) multiply channels of a group's neighbours by 0: an infinity there makes
 * NaN of this group's results. Seen in version 2.6 with 16 channels a group and strides of 2. */
static bool
may_read_neighbours(const CallPlan *plan, const CallTensor *src, int64_t groups, int64_t in)
{
	enum { TILES = 0x200 };
	return groups > 1 && in > 1 && src->type == DT_BF16 &&
	       (plan->api->get_effective_cpu_isa() & TILES);
}

static bool
plan_conv(CallPlan *plan)
{
	CallTensor src, weights, bias, dst;
	int last = plan->desc->narg - 1;
	int64_t groups = call_attr_int(plan, "group", 0, 1);
	if (last < 3 || !call_tensor(plan, 0, &src) || !call_tensor(plan, 1, &weights) ||
	    !call_tensor(plan, last, &dst) || !check_conv(plan, &src, &weights, &dst, groups))
		return last >= 3 ? false : call_refuse(plan, "conv needs four arguments");
	int64_t in = weights.dims[1], out = weights.dims[0] / groups;
	bool is_grouped = groups > 1;
	if (may_read_neighbours(plan, &src, groups, in))
		return call_refuse(plan, "with AMX, groups of bf16 read the infinities of other groups");
	plan->describe = call_describe_conv;
	plan->algorithm = read_algorithm(plan, &dst);
	plan->work = 2.0 * (double)in;
	for (int i = 0; i < dst.rank; i++)
		plan->work *= (double)dst.dims[i] * (i < 2 ? 1 : (double)weights.dims[i]);
	plan->extent[AXIS_IMAGE] = dst.dims[0];
	plan->extent[AXIS_CHANNEL] = is_grouped ? groups : out;
	plan->quantum[AXIS_CHANNEL] =
		is_grouped ? group_quantum(&src, &dst, in, out) : channel_quantum(plan, out);
	plan->extent[AXIS_HEIGHT] = dst.dims[2];
	plan->quantum[AXIS_HEIGHT] = row_quantum(plan, &dst);
	if (is_grouped)
		split_groups(&weights, groups);
	CallOperand *x = call_operand(plan, DNNL_SRC, 0, &src);
	call_follow(x, 0, AXIS_IMAGE, 1);
	call_follow(x, 2, AXIS_HEIGHT, 1);
	x->is_window = true;
	if (is_grouped)
		call_follow(x, 1, AXIS_CHANNEL, in);
	CallOperand *w = call_operand(plan, DNNL_WEIGHTS, 1, &weights);
	call_follow(w, 0, AXIS_CHANNEL, 1);
	w->is_packed = w->constant != NULL;
	if (plan->desc->args[2].type != DT_NONE && last > 2) {
		if (!call_tensor(plan, 2, &bias) || bias.rank != 1 || bias.dims[0] != dst.dims[1])
			return call_refuse(plan, "the bias does not fit");
		call_follow(call_operand(plan, DNNL_BIAS, 2, &bias), 0, AXIS_CHANNEL, is_grouped ? out : 1);
	}
	CallOperand *y = call_operand(plan, DNNL_DST, last, &dst);
	plan->dst = plan->noperand - 1;
	call_follow(y, 0, AXIS_IMAGE, 1);
	call_follow(y, 1, AXIS_CHANNEL, is_grouped ? out : 1);
	call_follow(y, 2, AXIS_HEIGHT, 1);
	if (!call_read_posts(plan))
		return false;
	mark_slabs(plan);
	return true;
}

/* ---- pool and reorder ---- */

static int
describe_pool(const CallPlan *plan, const DnnlWindow *window, void **desc, DnnlMd *const *mds,
              const void *attr)
{
	return dnnl_describe_pool(plan->api, desc, plan->algorithm, mds[0], mds[1], window, attr);
}

static int
describe_reorder(const CallPlan *plan, const DnnlWindow *window, void **desc, DnnlMd *const *mds,
                 const void *attr)
{
	(void)window;
	const DnnlApi *api = plan->api;
	return api->reorder_primitive_desc_create(desc, mds[0], api->engine, mds[1], api->engine, attr);
}

/* Source and result of the same images and channels. */
static bool
plan_pair(CallPlan *plan, const CallTensor *src, const CallTensor *dst)
{
	int64_t quantum = 16;
	while (quantum % src->block || quantum % dst->block)
		quantum++;
	plan->extent[AXIS_IMAGE] = dst->dims[0];
	plan->extent[AXIS_CHANNEL] = dst->rank > 1 ? dst->dims[1] : 1;
	plan->quantum[AXIS_CHANNEL] = quantum;
	CallOperand *x = call_operand(plan, DNNL_SRC, 0, src);
	CallOperand *y = call_operand(plan, DNNL_DST, plan->desc->narg - 1, dst);
	plan->dst = 1;
	call_follow(x, 0, AXIS_IMAGE, 1);
	call_follow(y, 0, AXIS_IMAGE, 1);
	if (dst->rank > 1) {
		call_follow(x, 1, AXIS_CHANNEL, 1);
		call_follow(y, 1, AXIS_CHANNEL, 1);
	}
	return true;
}

static bool
plan_pool(CallPlan *plan)
{
	CallTensor src, dst;
	const char *kind = call_attr_text(plan, "kind", "max");
	if (plan->desc->narg != 2)
		return call_refuse(plan, "pool needs two arguments");
	if (!call_tensor(plan, 0, &src) || !call_tensor(plan, 1, &dst))
		return false;
	for (int i = 0; i < src.rank - 2; i++)
		plan->window.kernel[i] = call_attr_int(plan, "kernel", i, 0);
	if (!read_window(plan, &src, &dst))
		return false;
	if (src.dims[1] != dst.dims[1])
		return call_refuse(plan, "source and result have different channels");
	plan->describe = describe_pool;
	plan->algorithm = strcmp(kind, "max") == 0 ? DNNL_POOL_MAX : DNNL_POOL_AVG_PADDED;
	plan->work = 8; /* a load costs several multiply-adds */
	for (int i = 0; i < dst.rank; i++)
		plan->work *= (double)dst.dims[i] * (i < 2 ? 1 : (double)plan->window.kernel[i - 2]);
	return plan_pair(plan, &src, &dst);
}

static bool
plan_reorder(CallPlan *plan)
{
	CallTensor src, dst;
	if (plan->desc->narg != 2)
		return call_refuse(plan, "reorder needs two arguments");
	if (!call_tensor(plan, 0, &src) || !call_tensor(plan, 1, &dst))
		return false;
	bool is_same = src.rank == dst.rank && src.rank >= 1;
	plan->describe = describe_reorder;
	plan->work = 32;
	for (int i = 0; i < src.rank && is_same; i++) {
		is_same = src.dims[i] == dst.dims[i];
		plan->work *= (double)src.dims[i];
	}
	return is_same ? plan_pair(plan, &src, &dst) : call_refuse(plan, "shapes differ");
}

typedef struct CallRow {
	const char *name;
	bool (*plan)(CallPlan *plan);
} CallRow;

static const CallRow ROWS[] = {
	{"conv", plan_conv},
	{"matmul", call_plan_matmul},
	{"pool", plan_pool},
	{"reorder", plan_reorder},
};

/* Without instructions for products of bytes the library adds them in pairs of 16 bits, which
 * saturate: not what is meant. */
static bool
sums_bytes_exactly(const CallPlan *plan)
{
	enum { AVX512_VNNI = 0x67 };
	const VendorCall *desc = plan->desc;
	bool is_product = desc->narg > 2 && dtype_bits(desc->args[0].type) == 8;
	return !is_product || (plan->api->get_effective_cpu_isa() & AVX512_VNNI) == AVX512_VNNI;
}

bool
call_plan_row(CallPlan *plan)
{
	if (!sums_bytes_exactly(plan))
		return call_refuse(plan, "products of bytes are exact with AVX-512 VNNI only");
	for (int i = 0; i < CALL_AXES; i++)
		plan->extent[i] = plan->quantum[i] = 1;
	for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
		if (strcmp(ROWS[i].name, plan->desc->row) == 0)
			return ROWS[i].plan(plan);
	return call_refuse(plan, "there is no vendor row '%.40s'", plan->desc->row);
}
