/* A call of a library: its arguments as buffers, its attributes, and both as a question. */
#include "lower/vendor_call.h"

#include "lower/weights.h"
#include "program/layout.h"

/* ---- arguments ---- */

/* A view from the buffer's first element on, still without strides. */
static MBuffer *
view_of(Lowering *low, MBuffer *base, int rank, const Dim *const *dims)
{
	MBuffer *view = lower_temp(low, base->name, base->type, rank, dims);
	view->kind = PB_VIEW;
	view->base = base->kind == PB_VIEW ? base->base : base;
	view->of = base;
	view->offset = base->kind == PB_VIEW ? base->offset : dim_const(low->graph->ctx, 0);
	return view;
}

/* The same elements under other dims; NULL where strides say otherwise. */
static MBuffer *
view_as(Lowering *low, MBuffer *base, int rank, const Dim *const *dims)
{
	bool same = base->rank == rank;
	for (int d = 0; same && d < rank; d++)
		same = base->dims[d] == dims[d];
	if (same)
		return base;
	if (lower_is_strided(low, base))
		return NULL;
	dims = arena_memdup(low->arena, dims, (size_t)rank * sizeof *dims);
	MBuffer *view = view_of(low, base, rank, dims);
	const Dim **strides = NEW_N(low->arena, const Dim *, rank + 1);
	layout_strides(low->graph->ctx, NULL, rank, dims, strides);
	view->strides = strides;
	return view;
}

/* The buffer's dims in the order of the call. A dim of 1 that it does not have is outermost. */
static MBuffer *
view_in_order(Lowering *low, MBuffer *buffer, const VendorOperand *operand)
{
	ExprCtx *ctx = low->graph->ctx;
	const Dim **strides = NEW_N(low->arena, const Dim *, operand->rank + 1);
	const Dim **dense = NEW_N(low->arena, const Dim *, buffer->rank + 1);
	layout_strides(ctx, NULL, buffer->rank, buffer->dims, dense);
	for (int i = 0; i < operand->rank; i++) {
		int d = operand->dims[i];
		strides[i] = d < 0                     ? dim_product(ctx, buffer->rank, buffer->dims)
		             : buffer->kind == PB_VIEW ? buffer->strides[d]
		                                       : dense[d];
	}
	size_t size = (size_t)operand->rank * sizeof *operand->extents;
	MBuffer *view =
		view_of(low, buffer, operand->rank, arena_memdup(low->arena, operand->extents, size));
	view->strides = strides;
	return view;
}

static MBuffer *
buffer_of(const VendorStep *v, const Tensor *tensor, MBuffer *output)
{
	for (int i = 0; i < v->program->ninput; i++)
		if (v->program->inputs[i] == tensor)
			return v->inputs[i];
	return output;
}

static bool
add_arg(VendorStep *v, const Tensor *tensor, MBuffer *buffer)
{
	v->tensors[v->narg] = tensor;
	v->args[v->narg++] = buffer;
	return buffer != NULL;
}

static bool
takes_layouts(const VendorRow *row)
{
	return row->is_copy || (row->storage & (STORAGE_blocked | STORAGE_last));
}

/* The tensor as the call has it; blocked buffers keep their logical dims, and have no others. */
static MBuffer *
operand_arg(VendorStep *v, const VendorOperand *operand, MBuffer *output)
{
	const Tensor *tensor = operand->tensor;
	MBuffer *buffer = buffer_of(v, tensor, output);
	bool is_whole = vendor_operand_is_whole(operand);
	if (buffer->layout)
		return v->stored[v->narg] = is_whole && takes_layouts(v->match->row) ? buffer : NULL;
	MBuffer *base = v->stored[v->narg] = view_as(v->low, buffer, tensor->rank, tensor->hi);
	return is_whole || !base ? base : view_in_order(v->low, base, operand);
}

/* Constant weights lie as the result does, where the row has channels last: still without bytes,
 * which vendor_store_weights() turns once the call is chosen. */
static MBuffer *
weights_arg(VendorStep *v, const MBuffer *output)
{
	MBuffer *plain = operand_arg(v, &v->match->operands[1], NULL);
	int64_t channels;
	bool is_last = (v->match->row->storage & STORAGE_last) && output->layout && plain &&
	               plain->kind == PB_WEIGHT && !plain->layout &&
	               dim_is_const(plain->dims[1], &channels);
	const char *layout = is_last ? layout_blocked(v->low->arena, plain->rank, channels) : NULL;
	if (!layout)
		return plain;
	MBuffer *turned = NEW(v->low->arena, MBuffer);
	*turned = *plain;
	turned->layout = layout;
	return v->stored[v->narg] = turned;
}

void
vendor_store_weights(VendorStep *v)
{
	MBuffer *weights = v->match->operands[1].tensor ? v->args[1] : NULL;
	if (weights && weights->kind == PB_WEIGHT && weights->layout)
		v->args[1] = v->stored[1] = lower_weight_in_layout(v->low, weights, weights->layout);
}

/* A bias as [M], an operand of a post-op with as many dims as the result. */
static MBuffer *
vector_arg(VendorStep *v, const Tensor *tensor)
{
	const Dim *count = dim_product(v->low->graph->ctx, tensor->rank, tensor->hi);
	return v->stored[v->narg] = view_as(v->low, buffer_of(v, tensor, NULL), 1, &count);
}

/* The operand of a post-op, whose dims are the last ones of the result's tensor. */
static MBuffer *
post_arg(VendorStep *v, const Tensor *tensor)
{
	const VendorOperand *result = &v->match->result;
	VendorOperand operand = {.tensor = tensor, .rank = result->rank};
	for (int i = 0; i < result->rank; i++) {
		int d = result->dims[i] - (result->tensor->rank - tensor->rank);
		operand.dims[i] = d < 0 ? -1 : d;
		operand.extents[i] = d < 0 ? dim_const(v->low->graph->ctx, 1) : tensor->hi[d];
	}
	return operand_arg(v, &operand, NULL);
}

static bool
is_whole(const VendorStep *v, const Tensor *operand)
{
	const Tensor *dst = v->match->result.tensor;
	for (int d = 0; d < dst->rank; d++)
		if (operand->rank != dst->rank || operand->hi[d] != dst->hi[d])
			return false;
	return true;
}

/* The post-op that may be a sum, which adds to what the result's storage holds: the first addition
 * of a whole tensor. There is one such storage, so others are additions. */
static int
find_residual(const VendorStep *v)
{
	for (int i = 0; i < v->match->npost; i++)
		if (v->posts[i].kind == POST_add && is_whole(v, v->match->post[i].operand->tensor))
			return i;
	return -1;
}

bool
vendor_gather(VendorStep *v, MBuffer *output)
{
	const VendorMatch *m = v->match;
	const VendorOperand *weights = &m->operands[1]; /* pools and reorders have none */
	bool fits = add_arg(v, m->operands[0].tensor, operand_arg(v, &m->operands[0], NULL));
	if (weights->tensor)
		fits &= add_arg(v, weights->tensor, weights_arg(v, output));
	for (int k = VENDOR_OPERANDS; m->row->program && k < VENDOR_INPUTS; k++) {
		const VendorOperand *operand = &m->operands[k];
		MBuffer *buffer = operand->tensor ? operand_arg(v, operand, NULL) : NULL;
		fits &= add_arg(v, operand->tensor, buffer) || !operand->tensor;
	}
	if (weights->tensor && !m->row->program)
		fits &= add_arg(v, m->bias, m->bias ? vector_arg(v, m->bias) : NULL) || !m->bias;
	for (int i = 0; i < m->npost; i++) {
		v->posts[i] = m->post[i].post;
		v->posts[i].arg = v->narg;
		if (m->post[i].operand)
			fits &= add_arg(v, m->post[i].operand->tensor, post_arg(v, m->post[i].operand->tensor));
	}
	v->residual = find_residual(v);
	return add_arg(v, m->result.tensor, operand_arg(v, &m->result, output)) && fits;
}

/* ---- attributes ---- */

static void
add_text(VendorStep *v, const char *name, const char *text)
{
	StepAttr attr = {.name = name, .kind = SA_STRING, .count = 1, .string = text};
	vec_push(v->low->arena, &v->attrs, attr);
}

static const char *
post_text(const Variant *variant)
{
	VendorStep *v = variant->step;
	Buf buf = {.arena = v->low->arena};
	if (v->residual >= 0)
		v->posts[v->residual].kind = variant->is_sum ? POST_sum : POST_add;
	posts_write(&buf, v->match->npost, v->posts);
	return buf_text(&buf);
}

static void
fill_attrs(const Variant *variant)
{
	static const int64_t yes = 1;
	VendorStep *v = variant->step;
	const VendorMatch *m = v->match;
	v->attrs.count = 0;
	for (int i = 0; i < m->nattr; i++)
		vec_push(v->low->arena, &v->attrs, m->attrs[i]);
	if (variant->algorithm)
		add_text(v, "algorithm", variant->algorithm);
	if (variant->by_rows)
		vec_push(v->low->arena, &v->attrs,
		         ((StepAttr){.name = "rows", .kind = SA_INTS, .count = 1, .ints = &yes}));
	if (m->npost > 0)
		add_text(v, "post", post_text(variant));
}

/* ---- the question ---- */

static void
describe_arg(VendorStep *v, const MBuffer *buffer, VendorArg *arg)
{
	const Target *target = v->low->context->target;
	*arg = (VendorArg){.type = DT_NONE};
	if (!buffer)
		return;
	int64_t *dims = NEW_N(v->low->arena, int64_t, buffer->rank + 1);
	for (int d = 0; d < buffer->rank; d++)
		dims[d] = probe_dim(target, buffer->dims[d]);
	const MBuffer *base = buffer->kind == PB_VIEW ? buffer->base : buffer;
	int64_t *strides = NEW_N(v->low->arena, int64_t, buffer->rank + 1);
	bool is_strided = lower_is_strided(v->low, buffer);
	for (int d = 0; is_strided && d < buffer->rank; d++)
		strides[d] = probe_dim(target, buffer->strides[d]);
	*arg = (VendorArg){.type = buffer->type,
	                   .rank = buffer->rank,
	                   .dims = dims,
	                   .strides = is_strided ? strides : NULL,
	                   .layout = buffer->layout,
	                   .is_weight = base->kind == PB_WEIGHT};
}

const char *
vendor_text(Arena *arena, const VendorCall *query)
{
	Buf buf = {.arena = arena};
	buf_printf(&buf, "%s.%s", query->library, query->row);
	for (int i = 0; i < query->narg; i++) {
		const VendorArg *arg = &query->args[i];
		buf_putc(&buf, ' ');
		if (arg->type == DT_NONE) {
			buf_putc(&buf, '_');
			continue;
		}
		for (int d = 0; d < arg->rank; d++)
			buf_printf(&buf, "%s%lld", d ? "x" : "", (long long)arg->dims[d]);
		if (arg->type != DT_F32)
			buf_printf(&buf, ":%s", dtype_name(arg->type));
		if (arg->layout)
			buf_printf(&buf, "@%s", arg->layout);
	}
	for (int i = 0; i < query->nattr; i++) {
		const StepAttr *attr = &query->attrs[i];
		buf_printf(&buf, " %s=", attr->name);
		for (int k = 0; attr->ints && k < attr->count; k++)
			buf_printf(&buf, "%s%lld", k ? "," : "", (long long)attr->ints[k]);
		for (int k = 0; attr->floats && k < attr->count; k++)
			buf_printf(&buf, "%s%.9g", k ? "," : "", (double)attr->floats[k]);
		if (attr->string)
			buf_puts(&buf, attr->string);
	}
	return buf_text(&buf);
}

VendorCall
vendor_question(const Variant *variant)
{
	VendorStep *v = variant->step;
	VendorArg *args = NEW_N(v->low->arena, VendorArg, v->narg);
	for (int i = 0; i < v->narg; i++)
		describe_arg(v, v->args[i], &args[i]);
	fill_attrs(variant);
	const StepAttr *attrs =
		arena_memdup(v->low->arena, v->attrs.data, (size_t)v->attrs.count * sizeof *v->attrs.data);
	return (VendorCall){
		v->match->row->library, v->match->row->name, v->narg, args, v->attrs.count, attrs};
}
