/* lower_vendor: a vendor step for a matched group, its best variant by measuring, its fallback.
 *
 * The step's arguments are buffers as runtime/vendor.h orders them: operands, bias, operands of
 * post-ops, result. The fallback kernel takes the same buffers in the same order. Variants (rows
 * that fit, direct or Winograd, residual as sum or as a binary addition) are timed at the probe
 * sizes from -O3 on; a group for which no library has a real implementation becomes kernels of
 * ours.
 */
#include <string.h>

#include "lower/program.h"
#include "lower/vendor.h"
#include "lower/vendor_call.h"
#include "program/layout.h"
#include "target/ask.h"

/* -O: below MEASURED a model has one bundle, and no Winograd, which is no exact sum; below REROUNDS
 * it is rounded to 16 bits wherever it says so. */
enum { MEASURED = 3, REROUNDS = 2 };

/* Where nothing can be measured, the library's first answer is taken. */
static bool
is_measured(const PassContext *context)
{
	const Oracle *oracle = context->target->oracle;
	return context->level >= MEASURED && oracle && oracle->measure;
}

/* What became of a program: of all rows that fit and all their variants one is chosen here. */
typedef struct Asking {
	Lowering *low;
	bool covers; /* rows that are programs are asked for, and others are not */
	VendorFound found;
	VEC(Variant) variants;
	Variant best;
	const char *slower;  /* an implementation that was passed over */
	const char *impl;    /* of a device that is not here: what its library named */
	const char *unseen;  /* one that nobody can measure here, and is taken */
	const char *refusal; /* what the library says to the first variant; NULL: nothing */
	PassChoice choice;   /* where several variants were asked for */
} Asking;

/* ---- choosing ---- */

/* The first is taken where nothing is measured: a sum in place costs a copy at most, while some of
 * the library's matrix products do other post-ops element by element (six times the product's own
 * time on MobileNetV2's residuals). */
static void
list_variants(Asking *asking, VendorStep *v)
{
	const VendorMatch *m = v->match;
	const PassContext *context = v->low->context;
	bool is_timed = is_measured(context);
	bool may_vary = is_timed && m->nchoice && !context->is_strict && pass_is_finite(context);
	int choices = may_vary ? m->nchoice : 1;
	for (int by_rows = 0; by_rows <= (is_timed && m->row->has_rows); by_rows++)
		for (int c = 0; c < choices; c++)
			for (int r = v->residual >= 0; r >= 0; r--)
				vec_push(v->low->arena, &asking->variants,
				         ((Variant){v, m->choices[c], by_rows, r}));
}

static const char *
algorithm_text(Arena *arena, const Variant *variant)
{
	const char *name = variant->algorithm ? variant->algorithm : "plain";
	return variant->by_rows ? arena_printf(arena, "%s-rows", name) : name;
}

/* The first row needs no name: the question has it. */
static const char *
variant_text(const Asking *asking, const Variant *variant)
{
	Arena *arena = asking->low->context->arena;
	const VendorRow *row = variant->step->match->row;
	const char *text = arena_printf(arena, "%s %s", algorithm_text(arena, variant),
	                                variant->is_sum ? "sum" : "add");
	return row == asking->variants.data[0].step->match->row
	           ? text
	           : arena_printf(arena, "%s.%s %s", row->library, row->name, text);
}

static bool
recorded_choice(Asking *asking, const char *key)
{
	const char *chosen = map_find(&asking->low->context->recorded, key);
	for (int i = 0; chosen && i < asking->variants.count; i++)
		if (strcmp(chosen, variant_text(asking, &asking->variants.data[i])) == 0) {
			asking->best = asking->variants.data[i];
			return true;
		}
	return false;
}

/* What an implementation in passes takes besides the arithmetic, of one core at 3 GHz: to unfold
 * windows, a row of an image at a time, and for post-ops, per element
 * (docs/measurements/2026-11-25.md, "Calls in passes"). */
static double
passes_seconds(const Target *target, const VendorMatch *m)
{
	static const double ROW = 75e-9, POST = 4e-9;
	const Stage *main = m->program->stages[0];
	double points = (double)probe_dim(target, stage_points(m->program->ctx, main));
	double unfolded = m->window > 1 ? points / (double)m->serves : 0;
	double row = (double)probe_dim(target, main->iters[main->nloop - 1].hi);
	double posts = m->npost > 0 ? probe_elements(target, m->result.tensor) : 0;
	double bytes = 2 * unfolded * dtype_bits(m->result.tensor->type) / 8;
	return POST * posts + ROW * unfolded / row + device_traffic_seconds(target->device, bytes);
}

/* Both compute the same sum, and are taken to be as good at that: what the library does besides
 * makes the difference. So much of it is beyond what the model may be wrong by; what is left is
 * measured in the model itself from -O3 on (driver/measure/beside.c). */
static bool
is_slower_than_ours(const Asking *asking, const Variant *variant, const char *impl)
{
	static const double SHARE = 0.3;
	const VendorMatch *m = variant->step->match;
	const Target *target = asking->low->context->target;
	if (!m->passes || !impl || !strstr(impl, m->passes))
		return false;
	const Dim *points = stage_points(m->program->ctx, m->program->stages[0]);
	double flops = 2.0 * (double)probe_dim(target, points);
	return passes_seconds(target, m) >
	       SHARE * device_work_seconds(target->device, WORK_library, flops);
}

/* Another algorithm, not another way to cut. */
static bool
is_algorithm(const Variant *variant)
{
	return variant->algorithm && !variant->by_rows;
}

bool
vendor_is_other_algorithm(const Variant *variant)
{
	return variant->algorithm && strcmp(variant->algorithm, variant->step->match->choices[0]) != 0;
}

/* Note a choice where it was made first: steps with one key are alike. */
void
lower_note_choice(PassContext *context, PassChoice choice)
{
	if (!pass_choice_find(context, choice.key))
		vec_push(context->arena, &context->choices, choice);
}

/* The fastest variant, or the first, where times are not asked for; NULL: none is real.
 * `candidates` says what was seen. */
static const char *
ask(Asking *asking, bool is_timed, Buf *candidates)
{
	PassContext *context = asking->low->context;
	const char *chosen = NULL;
	for (int i = 0; i < asking->variants.count && (is_timed || !chosen); i++) {
		const Variant *variant = &asking->variants.data[i];
		double seconds = asking->choice.seconds;
		const char *impl = NULL;
		VendorCall query = vendor_question(variant);
		if (!(is_timed ? ask_measure(context, &query, &seconds, &impl)
		               : ask_accept(context, &query, &impl))) {
			asking->choice.has_refused |= is_algorithm(variant);
			if (impl && !asking->refusal)
				asking->refusal = arena_strdup(context->arena, impl);
			continue;
		}
		if (is_slower_than_ours(asking, variant, impl)) {
			asking->slower = arena_strdup(context->arena, impl);
			continue;
		}
		const char *text = variant_text(asking, variant);
		buf_printf(candidates, candidates->size ? ", %s" : "%s", text);
		if (is_timed)
			buf_printf(candidates, " %.1f us", seconds * 1e6);
		buf_printf(candidates, " (%s)%s", impl ? impl : "",
		           vendor_is_other_algorithm(variant) ? ", which rounds more than a plain sum"
		                                              : "");
		if (!chosen || seconds < asking->choice.seconds) {
			chosen = text;
			asking->choice.seconds = seconds;
			asking->best = *variant;
			asking->impl = is_timed || context->target->oracle->measure ? NULL : impl;
		}
	}
	return chosen;
}

/* For a device that is not here: what its library says is noted. */
static bool
choose_untimed(Asking *asking)
{
	PassContext *context = asking->low->context;
	const Variant *first = &asking->variants.data[0];
	VendorCall question = vendor_question(first);
	const char *key = vendor_text(context->arena, &question);
	Buf candidates = {.arena = context->arena};
	const char *chosen = ask(asking, false, &candidates);
	asking->unseen = buf_text(&candidates);
	if (chosen)
		lower_note_choice(context,
		                  (PassChoice){.key = key, .chosen = chosen, .candidates = asking->unseen});
	return chosen != NULL;
}

/* A variant that is real, or false: below -O3 the first that a library has, from there on the
 * fastest, measured once for all steps that are alike. A recorded choice is taken as it is. */
static bool
choose(Asking *asking)
{
	PassContext *context = asking->low->context;
	Buf candidates = {.arena = context->arena};
	if (asking->variants.count == 0)
		return false;
	if (!context->target->oracle->measure)
		return choose_untimed(asking);
	if (asking->variants.count == 1 || !is_measured(context))
		return ask(asking, false, &candidates);
	VendorCall question = vendor_question(&asking->variants.data[0]);
	const char *key = vendor_text(asking->low->arena, &question), *chosen;
	const PassChoice *known = pass_choice_find(context, key);
	if (recorded_choice(asking, key))
		chosen = variant_text(asking, &asking->best);
	else
		chosen = ask(asking, true, &candidates);
	if (!chosen)
		return false;
	if (known)
		asking->choice = *known;
	asking->choice.key = key;
	asking->choice.chosen = chosen;
	asking->choice.candidates = buf_text(&candidates);
	map_set(&context->recorded, key, (void *)(uintptr_t)chosen);
	lower_note_choice(context, asking->choice);
	return true;
}

/* ---- the fallback ---- */

/* Where the result is stored in blocks of channels, the kernel has them in lanes, and would gather
 * weights that are stored by output channel. It reads them in blocks instead; who runs it stores
 * them so first (runtime/vendor.h: fallback_weights). */
static MBuffer *
block_weights(VendorStep *v, MBuffer *weights, const MBuffer *result)
{
	int64_t block = layout_block(result->layout);
	const char *layout = layout_of_weights(v->low->arena, weights->rank, block);
	bool lies_as_called = weights->layout || (v->match->row->storage & STORAGE_last);
	if (block == 0 || !layout || lies_as_called)
		return weights;
	MBuffer *blocked = NEW(v->low->arena, MBuffer);
	*blocked = *weights;
	blocked->layout = layout;
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
		bool is_weights = v->tensors[i] == m->operands[1].tensor && v->args[i]->kind == PB_WEIGHT;
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

/* Why there is no step; nothing where no row has the main stage. */
static void
log_refusal(const Asking *asking, const Node *node)
{
	PassContext *context = asking->low->context;
	const VendorFound *found = &asking->found;
	const VendorRow *row = found->count     ? found->match[0].row
	                       : found->stopped ? found->stopped
	                                        : found->lossy;
	const char *made = NULL, *reason = NULL;
	if (!row)
		return;
	if (row == found->lossy)
		reason = "it loses NaN, which --values finite allows";
	else if (!found->count)
		reason = arena_printf(context->arena, "epilogue stops at %s", found->stop);
	else if (asking->slower)
		made = arena_printf(context->arena, "our kernel: faster than %s", asking->slower);
	else
		reason = asking->refusal          ? asking->refusal
		         : asking->variants.count ? "the library refuses it"
		                                  : "an operand does not lie as the call needs it";
	pass_log(context, row->name, node->loc.node, made, reason);
}

/* Rows of one kind that the program matches. */
static VendorFound
find_rows(Lowering *low, const Program *program, bool covers, MBuffer *const *inputs,
          MBuffer *const *outputs)
{
	VendorFound found = {.count = 1, .match = NEW(low->arena, VendorMatch)};
	bool *fixed = NEW_N(low->arena, bool, program->ninput + program->noutput + 1);
	for (int i = 0; i < program->ninput; i++)
		fixed[i] = lower_is_strided(low, inputs[i]);
	if (program->noutput != 1 || !outputs[0])
		return (VendorFound){.count = 0};
	fixed[program->ninput] = lower_is_strided(low, outputs[0]);
	if (!covers && match_reorder(low, program, inputs, outputs, found.match))
		return found;
	found = vendor_match(low->forms, low->arena, program, low->context->target, fixed);
	int count = 0;
	for (int i = 0; i < found.count; i++)
		if ((found.match[i].row->program != NULL) == covers)
			found.match[count++] = found.match[i];
	found.count = count;
	return found;
}

/* The call may round once where the model does more often, and a row that is a program where the
 * model does not. */
static bool
is_too_inexact(Asking *asking, const VendorMatch *match)
{
	bool is_whole = match->row->program != NULL;
	bool has_more = match->npost > 0 || match->bias || match->result.tensor->type == DT_F32;
	bool is =
		(is_whole || (match->rounds_less && has_more)) && asking->low->context->level < REROUNDS;
	if (is)
		asking->refusal = "below -O2 all is rounded as the model says";
	if (match->row->program && asking->low->context->is_strict)
		asking->refusal = "it rounds on its way, which --accuracy strict forbids";
	return is || (match->row->program && asking->low->context->is_strict);
}

/* The variant of a row that the group matches and its library runs; false: there is none. Views are
 * kept of the chosen row alone. */
static bool
prepare(Asking *asking, const Node *node, const Program *program, MBuffer *const *inputs,
        MBuffer *const *outputs)
{
	Lowering *low = asking->low;
	int before = low->module->buffers.count;
	asking->found = find_rows(low, program, asking->covers, inputs, outputs);
	for (int i = 0; i < asking->found.count; i++) {
		VendorStep *v = NEW(low->arena, VendorStep);
		const VendorMatch *match = &asking->found.match[i];
		if (is_too_inexact(asking, match))
			continue;
		*v = (VendorStep){
			.low = low, .node = node, .match = match, .program = match->program, .inputs = inputs};
		if (!vendor_gather(v, outputs[0]))
			continue;
		if (vendor_may_pad(v))
			list_variants(asking, v);
		else
			asking->refusal = "it multiplies its padding, too, by weights that may be infinite";
	}
	bool is_chosen = choose(asking);
	low->module->buffers.count = before;
	return is_chosen;
}

const PassChoice *
lower_vendor_choice(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                    MBuffer *const *outputs)
{
	Asking *asking = NEW(low->arena, Asking);
	asking->low = low;
	bool is_made = prepare(asking, node, program, inputs, outputs);
	return is_made && asking->choice.key ? &asking->choice : NULL;
}

static void
add_text(VendorStep *v, const char *name, const char *text)
{
	StepAttr attr = {.name = name, .kind = SA_STRING, .count = 1, .string = text};
	if (text)
		vec_push(v->low->arena, &v->attrs, attr);
}

/* The chosen call, with its fallback unless steps stand in its place. */
static MStep *
make_step(Asking *asking, const Node *node, const Program *program, MBuffer *const *outputs)
{
	Lowering *low = asking->low;
	VendorStep *v = asking->best.step;
	v->narg = 0;
	must(vendor_gather(v, outputs[0]));
	vendor_store_weights(v);
	VendorCall call = vendor_question(&asking->best);
	add_text(v, "impl", asking->impl); /* with which the library begins where the step runs */
	add_text(v, "loses", vendor_losses_text(&asking->best));
	bool has_kernel = !asking->covers && !low->context->target->is_trial;
	Kernel *kernel = has_kernel ? fallback(v) : NULL;
	MStep *step = lower_step(low, PT_VENDOR, node, v->narg - 1, v->args, 1, &v->args[v->narg - 1]);
	step->plan.library = v->match->row->library;
	step->plan.row = v->match->row->name;
	step->question = vendor_text(low->arena, &call);
	step->kernel = kernel;
	step->plan.nattr = v->attrs.count;
	step->plan.attrs = v->attrs.data;
	lower_count_work(low, step, program);
	if (v->match->row->program) /* which multiplies its operands, whatever scales them in ours */
		step->plan.units = dtype_name(v->match->result.tensor->type);
	return step;
}

static void
log_call(const Asking *asking, const Node *node)
{
	PassContext *context = asking->low->context;
	const Variant *best = &asking->best;
	pass_log(context, best->step->match->row->name, node->loc.node,
	         best->algorithm  ? algorithm_text(context->arena, best)
	         : asking->unseen ? arena_printf(context->arena, "vendor call: %s", asking->unseen)
	                          : "vendor call",
	         NULL);
}

bool
lower_vendor(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
             MBuffer *const *outputs)
{
	Asking asking = {.low = low};
	if (!prepare(&asking, node, program, inputs, outputs)) {
		log_refusal(&asking, node);
		return false;
	}
	make_step(&asking, node, program, outputs);
	log_call(&asking, node);
	return true;
}

bool
lower_vendor_takes(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                   MBuffer *const *outputs)
{
	Asking asking = {.low = low, .covers = true};
	bool takes = prepare(&asking, node, program, inputs, outputs);
	if (!takes && asking.found.count)
		log_refusal(&asking, node);
	return takes;
}

/* By more than the model of time may be wrong: a call that moves as much memory as our kernel is
 * none. But one is made for a person who names its library, as one does to measure. */
static bool
is_faster(const Target *target, const MStep *call, double seconds, double than)
{
	static const double ERROR = 1.25;
	const char *only = target->oracle->only;
	return seconds * ERROR < than || (only && strcmp(only, call->plan.library) == 0);
}

MStep *
lower_vendor_whole(Lowering *low, const Node *node, const Program *program, MBuffer *const *inputs,
                   MBuffer *const *outputs, double seconds)
{
	Asking asking = {.low = low, .covers = true};
	Module *module = low->module;
	int buffers = module->buffers.count, steps = module->steps.count;
	must(prepare(&asking, node, program, inputs, outputs));
	MStep *step = make_step(&asking, node, program, outputs);
	double call = device_step_seconds(low->context->target->device, WORK_library, step->plan.units,
	                                  step->plan.flops, step->plan.bytes);
	if (is_faster(low->context->target, step, call, seconds)) {
		log_call(&asking, node);
		return step;
	}
	module->buffers.count = buffers;
	module->steps.count = steps;
	pass_log(low->context, step->plan.row, node->loc.node,
	         arena_printf(low->context->arena, "our kernels: modelled %.1f us, the call %.1f",
	                      seconds * 1e6, call * 1e6),
	         NULL);
	return NULL;
}
