/* The maker of GPUs: whether stages stand in one kernel, the plain script, and the limits. */
#include "base/work.h"
#include "lower/gpu/gpu.h"
#include "lower/weights.h"
#include "tir/module.h"

enum { MOST_THREADS = 32768 }; /* that a chip has use for */

/* ---- one kernel or several ------------------------------------------------------------------- */

static bool
may_join(const Group *group, const Target *target, const char **reason)
{
	bool fits = gpu_arrays_fit(group, target);
	*reason = fits ? NULL : "its intermediate results do not fit in registers or shared memory";
	return fits;
}

/* ---- the plain script ------------------------------------------------------------------------ */

const char *
gpu_fuse(ScriptWriter *w, int count, const char *const *loops)
{
	const char *name = loops[0];
	for (int i = 1; i < count; i++) {
		const char *made = script_name(w, "i");
		ScriptStep *step = script_step(w, PRIM_fuse, name);
		vec_push(w->arena, &step->loops, loops[i]);
		vec_push(w->arena, &step->made, made);
		name = made;
	}
	return name;
}

void
gpu_split(ScriptWriter *w, Primitive how, const char *loop, int64_t size, const char *outer,
          const char *inner)
{
	ScriptStep *step = script_step(w, how, loop);
	step->number = size;
	vec_push(w->arena, &step->made, outer);
	vec_push(w->arena, &step->made, inner);
}

const char *
gpu_argument(const GpuWriter *w, const Tensor *input)
{
	for (int i = 0; i < w->group->program->ninput; i++)
		if (w->group->program->inputs[i] == input)
			return w->nest->arguments[i]->tensor.name;
	return NULL;
}

void
gpu_bind_flat(ScriptWriter *w, int count, const char *const *loops, int threads, Bind axis)
{
	const char *block = script_name(w, "block"), *thread = script_name(w, "thread");
	const char *flat = gpu_fuse(w, count, loops);
	gpu_split(w, PRIM_split_whole, flat, threads, block, thread);
	script_bind(w, block, BIND_BLOCK_X);
	script_bind(w, thread, axis);
}

int64_t
gpu_most(const GpuWriter *w, int k)
{
	int64_t extent;
	const Dim *dim = w->group->root->iters[w->group->shared[k]].hi;
	return dim_is_const(dim, &extent) ? extent : INT64_MAX;
}

void
gpu_bind_blocks(GpuWriter *w, const char *const loops[3], const int64_t most[3])
{
	Bind axes[] = {BIND_BLOCK_Z, BIND_BLOCK_Y, BIND_BLOCK_X};
	int large = most[0] > most[1] ? 0 : 1;
	if (most[large] > PLAN_GRID_MOST && most[large] > most[2]) {
		axes[2] = axes[large];
		axes[large] = BIND_BLOCK_X;
	}
	for (int i = 0; i < 3; i++)
		if (loops[i])
			script_bind(&w->script, loops[i], axes[i]);
}

static const Script *
script(Arena *arena, const Group *group, const Target *target, const Nest *nest, int candidate)
{
	GpuWriter w = {arena, group, target, nest, script_writer(arena, nest->names)};
	const char **loops = NEW_N(arena, const char *, group->nshared + 1);
	for (int k = 0; k < group->nshared; k++)
		loops[k] = nest->shared[k]->var->name;
	if (candidate > 0)
		return NULL;
	if (gpu_write_product(&w))
		return w.script.script;
	if (gpu_has_rows(group, target))
		gpu_write_rows(&w);
	else if (group->nshared > 0 && !gpu_write_tile(&w) && !gpu_write_map(&w))
		gpu_bind_flat(&w.script, group->nshared, loops, GPU_BLOCK, BIND_THREAD_X);
	return w.script.script;
}

static const Script *
script_outer(Arena *arena, int count, const Var *const *loops)
{
	ScriptWriter w = script_writer(arena, (Map){.arena = arena});
	const char **names = NEW_N(arena, const char *, count + 1);
	for (int i = 0; i < count; i++)
		names[i] = loops[count - 1 - i]->name;
	if (count > 0)
		gpu_bind_flat(&w, count, names, GPU_BLOCK, BIND_THREAD_X);
	return w.script;
}

/* ---- the record ------------------------------------------------------------------------------ */

/* Steps go to the device one after another, and each has all of it. */
static int
pieces_of_work(double operations, double bytes)
{
	(void)operations, (void)bytes;
	return MOST_THREADS;
}

/* Elements of one access. */
static int64_t
lanes(const Device *device, DType type)
{
	int bits = dtype_bits(type);
	return device->vector_bytes * 8 / (bits < 8 ? 8 : bits);
}

static int64_t
weight_lanes(const Weighted *sum, int64_t count)
{
	(void)sum, (void)count;
	return 0;
}

static bool
weights_pay(const Weighted *sum, int64_t count, bool in_layout)
{
	(void)sum, (void)count, (void)in_layout;
	return false;
}

/* A library comes nearer to the peak; but its result is written and read again, by a kernel more.
 * Modelled. */
static bool
call_pays(const Target *target, const Program *program)
{
	const Device *device = target->device;
	const Stage *product = program->stages[0];
	const Expr *sum = stage_summed_product(product);
	if (!sum)
		return false;
	double flops = 2.0 * (double)probe_dim(target, stage_points(program->ctx, product));
	double peak = device_peak(device, dtype_name((DType)expr_without_casts(sum->arg[0])->type));
	double saved = device_work_seconds(device, WORK_loops, flops) -
	               device_work_seconds(device, WORK_library, flops);
	double bytes = 4 * probe_elements(target, product->results[0]);
	double behind = 2 * device_traffic_seconds(device, bytes) + device->gpu->launch;
	return peak > 0 && saved * device->gflops / peak > behind;
}

static double
seconds(const Target *target, const Program *program, int first)
{
	double operations = 0, bytes = 0;
	for (int s = first; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		double points = (double)probe_dim(target, stage_points(program->ctx, stage));
		operations += points * expr_cost(stage->body[0]);
		bytes += points * 8;
	}
	return device_work_seconds(target->device, WORK_loops, operations) +
	       device_traffic_seconds(target->device, bytes);
}

const Maker maker_gpu = {
	.group_bytes = GPU_LOCAL_BYTES,
	.local_bytes = STACK_BYTES, /* what finds no registers is slow, but there */
	.lacks_scratch = true,
	.enough_pieces = GPU_ENOUGH_THREADS,
	.most_pieces = MOST_THREADS,
	.align = 16, /* the widest access */
	.may_join = may_join,
	.script = script,
	.script_outer = script_outer,
	.pieces_of_work = pieces_of_work,
	.lanes = lanes,
	.weight_lanes = weight_lanes,
	.weights_pay = weights_pay,
	.call_pays = call_pays,
	.seconds = seconds,
};
