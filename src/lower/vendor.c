/* lower_vendor: a vendor step for a matched group, its best variant by measuring, its fallback.
 *
 * The step's arguments are buffers as runtime/vendor.h orders them: operands, bias, operands of
 * post-ops, result. The fallback kernel takes the same buffers in the same order. Variants (direct
 * or Winograd, residual as sum or as a binary addition) are timed at the probe sizes from -O3 on; a
 * group for which the library has no real implementation becomes kernels of ours.
 */
#include <string.h>

#include "lower/program.h"
#include "lower/vendor.h"
#include "program/layout.h"
#include "program/match.h"
#include "target/ask.h"

enum {
	MAX_ARGS = 4 + POST_MAX,
	MAX_VARIANTS = 4 * VENDOR_CHOICES, /* cut along rows or not, each with both residuals */
	MEASURED = 3, /* -O: below, a model has one bundle, and no Winograd, which is no exact sum */
};

typedef struct Variant {
	const char *algorithm; /* NULL: the row has none */
	bool by_rows;          /* also cut along rows */
	bool is_sum;           /* the residual is added to what the result's storage holds */
} Variant;

typedef struct VendorStep {
	Lowering *low;
	const Node *node;
	const VendorMatch *match;
	const Program *program; /* the match's */
	MBuffer *const *inputs; /* by the program's inputs */
	int narg;
	MBuffer *args[MAX_ARGS];   /* NULL: absent */
	MBuffer *stored[MAX_ARGS]; /* the same with the dims of its tensor */
	const Tensor *tensors[MAX_ARGS];
	StepPost posts[POST_MAX]; /* the match's, with their arguments */
	int residual;             /* of them the addition that may be a sum; -1: none */
	VEC(StepAttr) attrs;
	const char *slower; /* an implementation that was passed over */
	PassChoice choice;  /* where several variants were asked for */
} VendorStep;

/* ---- arguments ---- */

/* A view from the buffer's first element on, still without strides. */
static MBuffer *
view_of(Lowering *low, MBuffer *base, int rank, const Dim *const *dims)
{
	MBuffer *view = lower_temp(low, base->name, base->type, rank, dims);
	view->kind = MB_VIEW;
	view->base = base->kind == MB_VIEW ? base->base : base;
	view->of = base;
	view->offset = base->kind == MB_VIEW ? base->offset : dim_const(low->graph->ctx, 0);
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
		             : buffer->kind == MB_VIEW ? buffer->strides[d]
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

/* The tensor as the call has it; blocked buffers keep their logical dims, and have no others. */
static MBuffer *
operand_arg(VendorStep *v, const VendorOperand *operand, MBuffer *output)
{
	const Tensor *tensor = operand->tensor;
	MBuffer *buffer = buffer_of(v, tensor, output);
	bool is_whole = vendor_operand_is_whole(operand);
	if (buffer->layout)
		return v->stored[v->narg] = is_whole ? buffer : NULL;
	MBuffer *base = v->stored[v->narg] = view_as(v->low, buffer, tensor->rank, tensor->hi);
	return is_whole || !base ? base : view_in_order(v->low, base, operand);
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

/* False when one of them cannot be seen as the row needs it. */
static bool
gather_args(VendorStep *v, MBuffer *output)
{
	const VendorMatch *m = v->match;
	const VendorOperand *weights = &m->operands[1]; /* pools and reorders have none */
	bool fits = add_arg(v, m->operands[0].tensor, operand_arg(v, &m->operands[0], NULL));
	if (weights->tensor) {
		fits &= add_arg(v, weights->tensor, operand_arg(v, weights, NULL));
		fits &= add_arg(v, m->bias, m->bias ? vector_arg(v, m->bias) : NULL) || !m->bias;
	}
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
post_text(VendorStep *v, const Variant *variant)
{
	Buf buf = {.arena = v->low->arena};
	if (v->residual >= 0)
		v->posts[v->residual].kind = variant->is_sum ? POST_sum : POST_add;
	posts_write(&buf, v->match->npost, v->posts);
	return buf_text(&buf);
}

static void
fill_attrs(VendorStep *v, const Variant *variant)
{
	static const int64_t yes = 1;
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
		add_text(v, "post", post_text(v, variant));
}

/* ---- measuring ---- */

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
	const MBuffer *base = buffer->kind == MB_VIEW ? buffer->base : buffer;
	int64_t *strides = NEW_N(v->low->arena, int64_t, buffer->rank + 1);
	bool is_strided = lower_is_strided(v->low, buffer);
	for (int d = 0; is_strided && d < buffer->rank; d++)
		strides[d] = probe_dim(target, buffer->strides[d]);
	*arg = (VendorArg){.type = buffer->type,
	                   .rank = buffer->rank,
	                   .dims = dims,
	                   .strides = is_strided ? strides : NULL,
	                   .layout = buffer->layout,
	                   .is_weight = base->kind == MB_WEIGHT};
}

static const char *
query_text(VendorStep *v, const VendorCall *query)
{
	Buf buf = {.arena = v->low->arena};
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
		if (arg->layout)
			buf_printf(&buf, "@%s", arg->layout);
	}
	for (int i = 0; i < query->nattr; i++) {
		const StepAttr *attr = &query->attrs[i];
		buf_printf(&buf, " %s=", attr->name);
		for (int k = 0; !attr->string && k < attr->count; k++)
			buf_printf(&buf, "%s%lld", k ? "," : "", (long long)attr->ints[k]);
		if (attr->string)
			buf_puts(&buf, attr->string);
	}
	return buf_text(&buf);
}

/* The step with this variant as a question; lives in the lowering's arena. */
static VendorCall
query_of(VendorStep *v, const Variant *variant)
{
	VendorArg *args = NEW_N(v->low->arena, VendorArg, v->narg);
	for (int i = 0; i < v->narg; i++)
		describe_arg(v, v->args[i], &args[i]);
	fill_attrs(v, variant);
	const StepAttr *attrs =
		arena_memdup(v->low->arena, v->attrs.data, (size_t)v->attrs.count * sizeof *v->attrs.data);
	return (VendorCall){
		v->match->row->library, v->match->row->name, v->narg, args, v->attrs.count, attrs};
}

/* The first is taken where nothing is measured: a sum in place costs a copy at most, while some of
 * the library's matrix products do other post-ops element by element (six times the product's own
 * time on MobileNetV2's residuals). */
static int
list_variants(const VendorStep *v, Variant variants[MAX_VARIANTS])
{
	const VendorMatch *m = v->match;
	bool is_measured = v->low->context->level >= MEASURED;
	int count = 0, choices = is_measured && m->nchoice ? m->nchoice : 1;
	for (int by_rows = 0; by_rows <= (is_measured && m->row->has_rows); by_rows++)
		for (int c = 0; c < choices; c++)
			for (int r = v->residual >= 0; r >= 0; r--)
				variants[count++] = (Variant){m->choices[c], by_rows, r};
	return count;
}

static const char *
algorithm_text(Arena *arena, const Variant *variant)
{
	const char *name = variant->algorithm ? variant->algorithm : "plain";
	return variant->by_rows ? arena_printf(arena, "%s-rows", name) : name;
}

static const char *
variant_text(Arena *arena, const Variant *variant)
{
	return arena_printf(arena, "%s %s", algorithm_text(arena, variant),
	                    variant->is_sum ? "sum" : "add");
}

static bool
recorded_choice(VendorStep *v, const char *key, const Variant *variants, int count, Variant *best)
{
	const char *chosen = map_find(&v->low->context->recorded, key);
	for (int i = 0; chosen && i < count; i++)
		if (strcmp(chosen, variant_text(v->low->arena, &variants[i])) == 0) {
			*best = variants[i];
			return true;
		}
	return false;
}

static bool
is_slower_than_ours(const VendorStep *v, const char *impl)
{
	return v->match->slow && impl && strstr(impl, v->match->slow);
}

/* Another algorithm, not another way to cut. */
static bool
is_algorithm(const Variant *variant)
{
	return variant->algorithm && !variant->by_rows;
}

/* Note a choice where it was made first: steps with one key are alike. */
void
lower_note_choice(PassContext *context, PassChoice choice)
{
	if (!pass_choice_find(context, choice.key))
		vec_push(context->arena, &context->choices, choice);
}

/* The fastest of several variants, or the first, where times are not asked for; NULL: none is real.
 * `candidates` says what was seen. */
static const char *
ask(VendorStep *v, int count, const Variant *variants, bool is_timed, Buf *candidates,
    Variant *best)
{
	const char *chosen = NULL;
	for (int i = 0; i < count && (is_timed || !chosen); i++) {
		double seconds = 0;
		const char *impl = "";
		VendorCall query = query_of(v, &variants[i]);
		if (!(is_timed ? ask_measure(v->low->context, &query, &seconds, &impl)
		               : ask_accept(v->low->context, &query, &impl))) {
			v->choice.has_refused |= is_algorithm(&variants[i]);
			continue;
		}
		if (is_slower_than_ours(v, impl)) {
			v->slower = arena_strdup(v->low->arena, impl);
			continue;
		}
		const char *text = variant_text(v->low->context->arena, &variants[i]);
		buf_printf(candidates, "%s%s %.1f us (%s)", candidates->size ? ", " : "", text,
		           seconds * 1e6, impl ? impl : "");
		if (!chosen || seconds < v->choice.seconds) {
			chosen = text;
			v->choice.seconds = seconds;
			*best = variants[i];
		}
	}
	return chosen;
}

/* A variant that is real, or false: below -O3 the first that the library has, from there on the
 * fastest, measured once for all steps that are alike. A recorded choice is taken as it is. */
static bool
choose(VendorStep *v, Variant *best)
{
	PassContext *context = v->low->context;
	Variant variants[MAX_VARIANTS];
	int count = list_variants(v, variants);
	Buf candidates = {.arena = context->arena};
	if (count == 1 || context->level < MEASURED)
		return ask(v, count, variants, false, &candidates, best);
	VendorCall question = query_of(v, &variants[0]);
	const char *key = query_text(v, &question), *chosen;
	const PassChoice *known = pass_choice_find(context, key);
	if (recorded_choice(v, key, variants, count, best))
		chosen = variant_text(context->arena, best);
	else
		chosen = ask(v, count, variants, true, &candidates, best);
	if (!chosen)
		return false;
	if (known)
		v->choice = *known;
	v->choice.key = key;
	v->choice.chosen = chosen;
	v->choice.candidates = buf_text(&candidates);
	map_set(&context->recorded, key, (void *)(uintptr_t)chosen);
	lower_note_choice(context, v->choice);
	return true;
}

/* ---- the fallback ---- */

/* Where the result is stored in blocks of channels, the kernel has them in lanes, and would gather
 * weights that are stored by output channel. It reads them in blocks instead; who runs it stores
 * them so first (runtime/vendor.h: fallback_weights). */
static MBuffer *
block_weights(VendorStep *v, MBuffer *weights, const MBuffer *result)
{
	static const char *const rest[] = {[3] = "iw", [4] = "ihw", [5] = "idhw"};
	int64_t block = layout_block(result->layout);
	if (block == 0 || weights->rank < 3 || weights->rank > 5 || weights->layout)
		return weights;
	MBuffer *blocked = NEW(v->low->arena, MBuffer);
	*blocked = *weights;
	blocked->layout = arena_printf(v->low->arena, "o%lld%s", (long long)block, rest[weights->rank]);
	int64_t *ints = arena_memdup(v->low->arena, &block, sizeof block);
	vec_push(v->low->arena, &v->attrs,
	         ((StepAttr){.name = "fallback_weights", .count = 1, .ints = ints}));
	return blocked;
}

/* The program with its inputs in the order of the step's arguments. A tensor used twice gets a
 * stand-in, so that arguments and parameters agree one to one. */
static Kernel *
fallback(VendorStep *v)
{
	ExprCtx *ctx = v->low->graph->ctx;
	Tensor *inputs[MAX_ARGS];
	MBuffer *args[MAX_ARGS];
	int count = 0, present = 0;
	const VendorMatch *m = v->match;
	for (int i = 0; i < v->narg; i++) {
		if (!v->args[i])
			continue;
		bool is_weights = v->tensors[i] == m->operands[1].tensor && v->args[i]->kind == MB_WEIGHT;
		args[present++] =
			is_weights ? block_weights(v, v->stored[i], v->stored[v->narg - 1]) : v->stored[i];
		if (i == v->narg - 1)
			continue;
		const Tensor *t = v->tensors[i];
		for (int k = 0; k < count; k++)
			if (inputs[k] == t)
				t = tensor_new(ctx, t->name, t->type, t->rank, t->hi);
		inputs[count++] = (Tensor *)(uintptr_t)t;
	}
	const Program *program =
		program_new(ctx, m->program->name, count, inputs, 1, m->program->outputs);
	return lower_kernel(v->low, v->node, program, args);
}

/* ---- the step ---- */

static VendorOperand
whole(const Tensor *tensor)
{
	VendorOperand operand = {.tensor = tensor, .rank = tensor->rank};
	for (int d = 0; d < tensor->rank && d < VENDOR_DIMS; d++) {
		operand.dims[d] = d;
		operand.extents[d] = tensor->hi[d];
	}
	return operand;
}

/* The row of a library that copies between storages; NULL: none can be called. */
static const VendorRow *
copying_row(const Target *target)
{
	for (int i = 0; i < vendor_count(); i++)
		if (vendor_at(i)->is_copy && target_calls(target, vendor_at(i)->library))
			return vendor_at(i);
	return NULL;
}

/* One tensor in two storages: Relayout. */
static bool
match_reorder(Lowering *low, const Program *program, MBuffer *const *inputs,
              MBuffer *const *outputs, VendorMatch *match)
{
	const Stage *stage = program->nstage == 1 ? program->stages[0] : NULL;
	if (!stage || stage->kind != STAGE_map || stage->body[0]->op != EX_read ||
	    program->ninput != 1 || stage->body[0]->tensor != program->inputs[0] ||
	    (inputs[0]->layout != NULL) == (outputs[0]->layout != NULL))
		return false;
	*match = (VendorMatch){.row = copying_row(low->context->target), .program = program};
	match->operands[0] = whole(program->inputs[0]);
	match->result = whole(program->outputs[0]);
	const Tensor *source = program->inputs[0];
	for (int d = 0; d < source->rank; d++)
		if (source->rank != stage->nloop || source->hi[d] != stage->iters[d].hi)
			return false;
	return stage_is_pointwise(stage) && match->row;
}

static void
log_refusal(const VendorStep *v, bool is_seen)
{
	PassContext *context = v->low->context;
	const char *row = v->match->row->name, *node = v->node->loc.node;
	if (is_seen && v->slower)
		pass_log(context, row, node,
		         arena_printf(context->arena, "our kernel: faster than %s", v->slower), NULL);
	else
		pass_log(context, row, node, NULL,
		         is_seen ? "the library refuses it"
		                 : "an operand does not lie as the call needs it");
}

/* The step of a group that a row matches and the library runs, with its best variant; false: there
 * is none. */
static bool
prepare(VendorStep *v, MBuffer *const *outputs, Variant *best)
{
	Lowering *low = v->low;
	const Program *program = v->program;
	VendorMatch *match = NEW(low->arena, VendorMatch); /* attributes of the step point into it */
	bool *fixed = NEW_N(low->arena, bool, program->ninput + program->noutput + 1);
	for (int i = 0; i < program->ninput; i++)
		fixed[i] = lower_is_strided(low, v->inputs[i]);
	if (program->noutput != 1 || !outputs[0])
		return false;
	fixed[program->ninput] = lower_is_strided(low, outputs[0]);
	if (!match_reorder(low, program, v->inputs, outputs, match) &&
	    !vendor_match(low->arena, program, low->context->target, fixed, match))
		return false;
	v->match = match;
	v->program = match->program;
	int before = low->module->buffers.count;
	bool is_seen = gather_args(v, outputs[0]);
	if (is_seen && choose(v, best))
		return true;
	low->module->buffers.count = before; /* the views are not needed */
	log_refusal(v, is_seen);
	return false;
}

const PassChoice *
lower_vendor_choice(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                    MBuffer *const *outputs)
{
	VendorStep *v = NEW(low->arena, VendorStep);
	Variant best;
	int before = low->module->buffers.count;
	*v = (VendorStep){.low = low, .node = node, .program = program, .inputs = inputs};
	bool is_made = prepare(v, outputs, &best);
	low->module->buffers.count = before;
	return is_made && v->choice.key ? &v->choice : NULL;
}

bool
lower_vendor(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
             MBuffer *const *outputs)
{
	VendorStep v = {.low = low, .node = node, .program = program, .inputs = inputs};
	Variant best;
	if (!prepare(&v, outputs, &best))
		return false;
	fill_attrs(&v, &best);
	Kernel *kernel = low->context->target->is_trial ? NULL : fallback(&v);
	MStep *step = lower_step(low, MS_VENDOR, node, v.narg - 1, v.args, 1, &v.args[v.narg - 1]);
	step->library = v.match->row->library;
	step->row = v.match->row->name;
	step->kernel = kernel;
	for (int i = 0; i < v.attrs.count; i++)
		vec_push(low->arena, &step->attrs, v.attrs.data[i]);
	lower_count_work(low, step, program);
	pass_log(low->context, v.match->row->name, node->loc.node,
	         best.algorithm ? algorithm_text(low->context->arena, &best) : "vendor call", NULL);
	return true;
}
