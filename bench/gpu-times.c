/* usage: bench-gpu-times [DEVICE] [ID…]        (make build/bench-gpu-times)
 *
 * What the model of time (tir/gpu_time.c) says of the kernels that are made of the 119 operators of
 * Roller's evaluation, without running any: beside the reachable roofline of the device, and for
 * cuda:v100 beside the published times of Roller's best of ten: rank correlation (Spearman's) and
 * geometric error. Registers are those of NVRTC's code, for V100 of sm_80's. No constant is fitted.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cuda/cuda.h"
#include "lower/lower.h"
#include "passes/manager.h"
#include "program/forms.h"
#include "program/group.h"
#include "roller_ops.h"
#include "target/maker.h"
#include "tir/count.h"

typedef struct Result {
	const RollerOp *op;
	double modelled, roofline; /* milliseconds */
} Result;

typedef struct Job {
	Arena *arena;
	const Target *target;
	const RollerOp *op;
	Result result;
} Job;

/* ---- kernels --------------------------------------------------------------------------------- */

static Kernel *
lowered(Arena *arena, const Program *part, const Target *target)
{
	static const Loc none = {0};
	PassContext context = {.arena = arena, .target = target};
	const Dim *const **dense = NEW_N(arena, const Dim *const *, part->ninput + part->noutput + 1);
	Kernel *kernel = lower_group(arena, part, dense, "k", &none, "", target, 0);
	const PassInfo *pass;
	for (int i = 0; (pass = pass_at(i)); i++)
		if (pass->ir == IR_loop &&
		    (maker_of(target)->passes & pass->devices) == (unsigned)pass->devices)
			pass->run(kernel, &context);
	return kernel;
}

static double
kernel_milliseconds(Arena *arena, const Program *part, const Target *target)
{
	Kernel *kernel = lowered(arena, part, target);
	KernelCounts counts = kernel_count(kernel, target->probe);
	int capability = target->device->gpu->capability < 80 ? 80 : target->device->gpu->capability;
	const char *text = codegen_cuda(arena, target, 1, &kernel);
	CubinKernel code = cubin_kernel(arena, cuda_compile(arena, text, capability), kernel->function);
	KernelTime time = kernel_time(target->device, &counts, code.registers, DT_NONE);
	if (code.local_bytes > 0)
		printf("     %lld bytes of local memory\n", (long long)code.local_bytes);
	return (time.seconds > 0 ? time.seconds : INFINITY) * 1e3;
}

/* ---- operators ------------------------------------------------------------------------------- */

static double
tensor_bytes(const Target *target, int count, const Tensor *const *tensors)
{
	double bytes = 0;
	for (int i = 0; i < count; i++)
		bytes += probe_elements(target, tensors[i]) * dtype_bits(tensors[i]->type) / 8;
	return bytes;
}

/* Arithmetic or memory, at the shares of the peaks that good kernels reach, and a launch. */
static double
roofline(const Program *program, const Target *target)
{
	const Device *device = target->device;
	const GpuInfo *gpu = device->gpu;
	double flops = 0, giga = 1e9;
	double bytes = tensor_bytes(target, program->ninput, (const Tensor *const *)program->inputs) +
	               tensor_bytes(target, program->noutput, (const Tensor *const *)program->outputs);
	for (int s = 0; s < program->nstage; s++)
		flops += (double)probe_dim(target, stage_points(program->ctx, program->stages[s])) *
		         stage_point_work(program->stages[s]);
	return (fmax(flops / (device->gflops * giga * gpu->reach_f32),
	             bytes / (device->bandwidth * giga * gpu->reach_memory)) +
	        gpu->launch) *
	       1e3;
}

static void
model(void *arg)
{
	Job *job = arg;
	Arena *arena = job->arena;
	const Program *program = program_parse(expr_ctx_new(arena), job->op->id, job->op->text);
	program = program_collapse_dims(arena, program_squeeze_dims(arena, program, NULL), NULL);
	job->result.roofline = roofline(program, job->target);
	PassContext context = {.arena = arena, .target = job->target};
	ProgramUnit unit = {.arena = arena, .name = "op", .target = job->target, .program = program};
	pass_SplitReduction(&unit, &context);
	int first = unit.program == program ? unit.program->nstage : 1;
	double all =
		kernel_milliseconds(arena, program_part(arena, unit.program, 0, first), job->target);
	if (first < unit.program->nstage)
		all += kernel_milliseconds(
			arena, program_part(arena, unit.program, first, unit.program->nstage), job->target);
	job->result.modelled = all;
}

static Result
try_op(const RollerOp *op, const Target *target)
{
	Job job = {arena_new("operator"), target, op, {.op = op}};
	Failure failure;
	bool is_done = try_run(model, &job, &failure);
	printf("%-4s %-10s %9.4f ms %9.4f roofline %9.4f published%s%s\n", op->id, op->kind,
	       job.result.modelled, job.result.roofline, op->best, is_done ? "" : " ",
	       is_done ? "" : failure.text);
	arena_free(job.arena);
	return job.result;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Of the operators of a kind; NULL: all. */
static void
compare(const Result *all, int count, const char *kind)
{
	double modelled[ROLLER_OPS], published[ROLLER_OPS], error = 0, bias = 0;
	int n = 0, near = 0, fair = 0;
	for (int i = 0; i < count; i++) {
		if (all[i].modelled <= 0 || (kind && strcmp(all[i].op->kind, kind) != 0))
			continue;
		double off = log(all[i].modelled / all[i].op->best);
		near += all[i].modelled <= 1.25 * all[i].roofline;
		fair += all[i].modelled <= 1.5 * all[i].roofline;
		modelled[n] = all[i].modelled;
		published[n++] = all[i].op->best;
		error += fabs(off);
		bias += off;
	}
	printf(
		"%-10s %3d: %3d within 1.25 of the roofline, %3d within 1.5; with V100's published times: "
		"rank correlation %.3f, geometric error %.3f, modelled/published %.3f\n",
		kind ? kind : "all", n, near, fair, rank_correlation(n, modelled, published),
		exp(error / n), exp(bias / n));
}

int
main(int argc, char **argv)
{
	const Target target = {.device = device_find(argc > 1 ? argv[1] : "cuda:v100"),
	                       .is_finite = true};
	RollerOp ops[ROLLER_OPS];
	Result results[ROLLER_OPS];
	Arena *arena = arena_new("operators");
	int count = roller_ops(arena, ops), tried = 0;
	if (!target.device || !target.device->gpu) {
		fprintf(stderr, "there is no GPU '%s'\n", argv[1]);
		return 2;
	}
	for (int i = 0; i < count; i++) {
		bool is_asked = argc <= 2;
		for (int k = 2; k < argc; k++)
			is_asked |= strcmp(argv[k], ops[i].id) == 0;
		if (is_asked)
			results[tried++] = try_op(&ops[i], &target);
	}
	for (int k = 0; argc <= 2 && k < 7; k++)
		compare(results, tried,
		        (const char *[]){"matmul", "conv", "depthwise", "pool", "relu", "reduce", NULL}[k]);
	arena_free(arena);
	return 0;
}
