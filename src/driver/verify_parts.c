/* --verify=each for programs and loops.
 *
 * Programs: some points of each output, in double with error bounds on both sides. Loops: all that
 * a kernel writes, as kernels compute; sums may be in another order, and are compared by the size
 * of the result. Both at sizes near 3 that keep what is assumed of them.
 *
 * What reports an index from data is run again on integers of which many are no indices: loops
 * report the same ones as before, programs some where they reported some.
 */
#include <math.h>
#include <string.h>

#include "driver/sizes/inputs.h"
#include "driver/sizes/sizes.h"
#include "driver/verify.h"
#include "expr/interp/points.h"
#include "expr/scalar/ctx.h"
#include "program/layout.h"
#include "tir/rewrite.h"

enum { POINTS = 48, OTHER_SIZE = 3, FAR = 1 << 24 };

static const double OPERATIONS = 1e8, ITERATIONS = 3e6, BYTES = 256e6;

/* Small and odd sizes for all symbols, which what is assumed of them allows. */
static Binding
sizes_of(Arena *arena, ExprCtx *ctx)
{
	const Binding *sizes = sizes_assumed(arena, ctx, OTHER_SIZE);
	if (!sizes)
		fail_unsupported(NULL, "no sizes were found that the model allows");
	return *sizes;
}

/* The same for the symbols of these names in another ctx. */
static Binding
sizes_named(Arena *arena, const ExprCtx *to, const ExprCtx *from, const Binding *sizes)
{
	int count = to->symbol_list.count;
	int64_t *value = NEW_N(arena, int64_t, count + 1);
	bool *is_bound = NEW_N(arena, bool, count + 1);
	for (int i = 0; i < count; i++) {
		const Symbol *known = map_find(&from->symbols, to->symbol_list.data[i]->name);
		value[i] = known ? sizes->value[known->id] : OTHER_SIZE;
		is_bound[i] = true;
	}
	return (Binding){count, value, is_bound};
}

static const int64_t *
dims_at(Arena *arena, const Tensor *tensor, const Binding *sizes)
{
	int64_t *dims = NEW_N(arena, int64_t, tensor->rank + 1);
	for (int d = 0; d < tensor->rank; d++)
		if (!dim_eval(tensor->hi[d], sizes, &dims[d]) || dims[d] < 0)
			fail_unsupported(NULL, "%s has no size here", tensor->name);
	if ((double)dims_count(tensor->rank, dims) * dtype_bits(tensor->type) > BYTES * 8)
		fail_unsupported(NULL, "%s is too large", tensor->name);
	return dims;
}

/* Of integers from data two of three are far from any index where it is wild. */
static Array *
made_up(Arena *arena, const Tensor *tensor, const int64_t *dims, bool is_wild)
{
	Array *array =
		input_make(arena, 1, &(InputRanges){0}, tensor->name, tensor->type, tensor->rank, dims);
	bool is_index = array->type == DT_I32 || array->type == DT_I64;
	for (int64_t i = 0; is_wild && is_index && i < array_count(array); i++) {
		double far = i % 3 == 0 ? 0 : i % 3 == 1 ? FAR : -FAR;
		double value = dtype_load_f64(array->type, array->data, i) + far;
		dtype_store_f64(array->type, array->data, i, value);
	}
	return array;
}

/* ---- programs ---- */

/* One side of a comparison: a program over inputs that are there. */
typedef struct Side {
	Arena *arena;
	const ProgramUnit *unit;
	const Binding *sizes;
	const char *const *layouts; /* of inputs and outputs, where this side has them; NULL: plain */
	const Array *const *inputs; /* dense and plain */
	PointSet **points;
	bool is_done;
} Side;

/* An input as this side stores it. */
static const PointInput *
stored_input(const Side *side, int k)
{
	Arena *arena = side->arena;
	const Tensor *tensor = side->unit->program->inputs[k];
	const char *layout = side->layouts ? side->layouts[k] : NULL;
	const Array *plain = side->inputs[k];
	void *data = plain->data;
	if (layout_block(layout)) {
		Blocking blocking = blocking_of(plain, layout_dim(layout), layout_block(layout));
		data = arena_alloc(arena, (size_t)blocking_count(&blocking) * blocking.size);
		blocking_copy(&blocking, plain->data, data);
	}
	PointInput *input = NEW(arena, PointInput);
	*input = (PointInput){.type = tensor->type,
	                      .rank = tensor->rank,
	                      .dims = dims_at(arena, tensor, side->sizes),
	                      .data = data};
	return input;
}

/* Where element `at` of a plain output lies. */
static int64_t
stored_place(const char *layout, int rank, const int64_t *dims, int64_t at)
{
	int64_t block = layout_block(layout);
	if (block == 0)
		return at;
	int64_t inner = 1, outer = at, count = dims[layout_dim(layout)];
	for (int d = layout_dim(layout) + 1; d < rank; d++)
		inner *= dims[d];
	int64_t rest = outer % inner, c = outer / inner % count, n = outer / inner / count;
	return ((n * ((count + block - 1) / block) + c / block) * inner + rest) * block + c % block;
}

static void
evaluate_side(Side *side)
{
	const Program *p = side->unit->program;
	const PointInput **inputs = NEW_N(side->arena, const PointInput *, p->ninput + 1);
	for (int k = 0; k < p->ninput; k++)
		inputs[k] = stored_input(side, k);
	side->is_done = program_eval_points(side->arena, p, side->sizes, inputs, side->points,
	                                    OPERATIONS, (PointWay){0})
	                    .is_done;
}

/* Points of the outputs as `plain` has them, at the places where `side` stores them. */
static void
choose_points(Side *side, const Side *plain)
{
	const Program *p = plain->unit->program;
	side->points = NEW_N(side->arena, PointSet *, p->noutput + 1);
	for (int k = 0; k < p->noutput; k++) {
		const Tensor *t = p->outputs[k];
		if (!t)
			continue;
		const int64_t *dims = dims_at(side->arena, t, side->sizes);
		int64_t total = dims_count(t->rank, dims), count = total < POINTS ? total : POINTS;
		int64_t *at = NEW_N(side->arena, int64_t, count + 1);
		const char *layout = side->layouts ? side->layouts[p->ninput + k] : NULL;
		for (int64_t i = 0; i < count; i++)
			at[i] = stored_place(layout, t->rank, dims, i * (total / count) + i % (total / count));
		side->points[k] = NEW(side->arena, PointSet);
		*side->points[k] = (PointSet){.count = count, .at = at, .type = t->type};
	}
}

static void
compare_points(const char *pass, const ProgramUnit *unit, const Tensor *output, const PointSet *a,
               const PointSet *b)
{
	for (int64_t i = 0; i < a->count; i++) {
		bool is_undecided = a->integer && (a->undecided[i] || b->undecided[i]);
		double x = a->integer ? (double)a->integer[i] : a->value[i];
		double y = b->integer ? (double)b->integer[i] : b->value[i];
		double bound = a->integer ? 0 : a->bound[i] + b->bound[i];
		bool is_same = is_undecided || x == y || (isnan(x) && isnan(y)) || !(fabs(x - y) > bound);
		if (!is_same)
			fail_as(FAIL_BUG, NULL,
			        "%s changed %s of %s: element %lld is %.9g, expected %.9g within %.3g", pass,
			        output->name, unit->name, (long long)a->at[i], y, x, bound);
	}
}

typedef struct UnitJob {
	PassContext *context;
	Arena *arena;
	const ProgramUnit *before, *after;
} UnitJob;

static void
try_side(void *side)
{
	evaluate_side(side);
}

/* Whether the side reports an index outside; another failure is one here. */
static bool
reports(Side *side)
{
	Failure failure;
	if (try_run(try_side, side, &failure))
		return false;
	if (failure.kind != FAIL_INVALID)
		fail_again(&failure);
	return true;
}

static bool
has_checks(const Program *p)
{
	bool is_found = false;
	for (int i = 0; i < p->nstage; i++)
		for (ExprWalk walk = stage_walk(p->stages[i]); expr_step(&walk);)
			is_found |= walk.e->has_check;
	return is_found;
}

static void
compare_units(void *arg)
{
	const UnitJob *job = arg;
	Arena *arena = job->arena;
	const Program *p = job->before->program;
	const ExprCtx *other = job->after->program->ctx;
	Binding sizes = sizes_of(arena, p->ctx), same = sizes_named(arena, other, p->ctx, &sizes);
	const Array *const *known = unit_values(job->before, job->context);
	const Array **inputs = NEW_N(arena, const Array *, p->ninput + 1);
	Side sides[2] = {{arena, job->before, &sizes, NULL, inputs, NULL, false},
	                 {arena, job->after, &same, NULL, inputs, NULL, false}};
	if (job->after->is_stored && !job->before->is_stored)
		sides[1].layouts = unit_layouts(job->after, job->context);
	for (int s = 0; s < 2; s++)
		choose_points(&sides[s], &sides[0]);
	for (int is_wild = has_checks(p); is_wild >= 0; is_wild--) {
		for (int k = 0; k < p->ninput; k++)
			inputs[k] = known && known[k] ? known[k]
			                              : made_up(arena, p->inputs[k],
			                                        dims_at(arena, p->inputs[k], &sizes), is_wild);
		bool is_reported = reports(&sides[0]);
		if (reports(&sides[1]) != is_reported)
			fail_as(FAIL_BUG, NULL, "%s changed %s: indices outside are %s", job->context->running,
			        job->before->name, is_reported ? "no longer reported" : "reported now");
		if (is_reported)
			continue;
		for (int k = 0; k < p->noutput && sides[0].is_done && sides[1].is_done; k++)
			if (p->outputs[k])
				compare_points(job->context->running, job->before, p->outputs[k],
				               sides[0].points[k], sides[1].points[k]);
	}
}

/* What cannot be evaluated at these sizes is left out, and logged; a difference is a bug. */
static void
try_comparison(PassContext *context, const char *name, void (*compare)(void *), void *job,
               Arena *arena)
{
	Failure failure;
	bool is_done = try_run(compare, job, &failure);
	arena_reset(arena);
	if (!is_done && failure.kind == FAIL_BUG)
		fail_again(&failure);
	if (!is_done)
		verify_left_out(context, name, &failure);
}

void
verify_unit(PassContext *context, const ProgramUnit *before, const ProgramUnit *after)
{
	Arena *arena = arena_new_in(context->arena, "verify");
	try_comparison(context, before->name, compare_units, &(UnitJob){context, arena, before, after},
	               arena);
}

/* ---- loops ---- */

typedef struct Trial {
	Array **args;
	OutsideIndices reports;
} Trial;

/* Iterations of all loops; inf where an extent is not known before. */
static double
iterations(const Stmt *list, const Binding *sizes)
{
	double sum = 0;
	for (const Stmt *s = list; s; s = s->next) {
		double inside = iterations(s->body, sizes) + iterations(s->other, sizes);
		if (s->kind == STMT_FOR) {
			int64_t lo, hi;
			bool is_known = dim_eval(s->lo, sizes, &lo) && dim_eval(s->hi, sizes, &hi);
			inside = !is_known ? HUGE_VAL : hi > lo ? (double)(hi - lo) * (1 + inside) : 0;
		}
		sum += inside;
	}
	return sum;
}

static Trial
run_trial(Arena *arena, const Kernel *kernel, const Binding *sizes, bool is_wild)
{
	Trial trial = {NEW_N(arena, Array *, kernel->buffers.count + 1), {.arena = arena}};
	for (int i = 0; i < kernel->buffers.count; i++) {
		const Tensor *tensor = &kernel->buffers.data[i]->tensor;
		trial.args[i] = made_up(arena, tensor, dims_at(arena, tensor, sizes), is_wild);
	}
	kernel_eval_reporting(kernel, sizes, trial.args, &trial.reports);
	return trial;
}

/* How far two orders of a sum may be apart, by the largest result. */
static double
tolerance_of(const Array *array)
{
	double largest = 0;
	for (int64_t i = 0; i < array_count(array); i++)
		largest = fmax(largest, fabs(dtype_load_f64(array->type, array->data, i)));
	return !dtype_is_float(array->type)    ? 0
	       : dtype_bits(array->type) == 16 ? 2e-2 * largest
	                                       : 1e-4 * largest;
}

static void
compare_arrays(const char *pass, const Kernel *kernel, const Array *a, const Array *b,
               const char *name)
{
	double tolerance = tolerance_of(a);
	if (dtype_bits(a->type) < 8)
		return;
	for (int64_t i = 0; i < array_count(a); i++) {
		double x = dtype_load_f64(a->type, a->data, i), y = dtype_load_f64(b->type, b->data, i);
		if (x != y && !(isnan(x) && isnan(y)) && !(fabs(x - y) <= tolerance))
			fail_as(FAIL_BUG, &kernel->loc,
			        "%s changed %s of kernel %s: element %lld is %.9g, expected %.9g", pass, name,
			        kernel->name, (long long)i, y, x);
	}
}

typedef struct KernelJob {
	PassContext *context;
	Arena *arena;
	const Kernel *before, *after;
} KernelJob;

static void
compare_kernels(void *arg)
{
	const KernelJob *job = arg;
	const Kernel *before = job->before, *after = job->after;
	const char *pass = job->context->running;
	/* `before` is a copy, in a ctx where nothing is assumed. */
	Binding same = sizes_of(job->arena, after->ctx);
	Binding sizes = sizes_named(job->arena, before->ctx, after->ctx, &same);
	if (iterations(before->body, &sizes) > ITERATIONS)
		return;
	bool has_checks = false;
	for (StmtWalk walk = stmt_walk(job->arena, before->body); stmt_step(&walk);)
		has_checks |= stmt_reports(walk.stmt);
	for (int is_wild = 0; is_wild <= (has_checks ? 1 : 0); is_wild++) {
		Trial a = run_trial(job->arena, before, &sizes, is_wild);
		Trial b = run_trial(job->arena, after, &same, is_wild);
		if (!reports_equal(&a.reports, &b.reports))
			fail_as(FAIL_BUG, &after->loc,
			        "%s changed what kernel %s reports: %d indices outside, expected %d", pass,
			        after->name, b.reports.list.count, a.reports.list.count);
		for (int i = 0; i < after->buffers.count; i++)
			if (after->buffers.data[i]->is_output)
				compare_arrays(pass, after, a.args[i], b.args[i],
				               after->buffers.data[i]->tensor.name);
	}
}

static bool
has_strides(const Kernel *kernel)
{
	for (int i = 0; i < kernel->buffers.count; i++)
		if (kernel->buffers.data[i]->stride)
			return true;
	return false;
}

void
verify_kernel(PassContext *context, const Kernel *before, const Kernel *after)
{
	if (has_strides(before) || has_strides(after))
		return; /* something lies where only its step knows; Flatten takes strides away */
	Arena *arena = arena_new_in(context->arena, "verify");
	try_comparison(context, before->name, compare_kernels,
	               &(KernelJob){context, arena, before, after}, arena);
}

void
verify_left_out(PassContext *context, const char *name, const Failure *why)
{
	pass_log(context, "verify", arena_strdup(context->arena, name), NULL,
	         arena_printf(context->arena, "not verified: %s", why->text));
}
