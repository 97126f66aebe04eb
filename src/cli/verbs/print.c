/* tilewright print: read a model or a text, run passes if told to, print the text, or draw it.
 *
 * The golden tests' way in: each IR prints and parses the same text, so every pass and every check
 * can be tried alone.
 */
#include <stdio.h>
#include <string.h>

#include "cli/page/page.h"
#include "cli/report/report.h"
#include "codegen/cuda/cuda.h"
#include "driver/compile.h"
#include "driver/measure/native.h"
#include "driver/parts.h"
#include "driver/sizes/learn.h"
#include "driver/sizes/sizes.h"
#include "driver/texts.h"
#include "graph/infer.h"
#include "graph/meaning.h"
#include "passes/manager.h"
#include "program/unit.h"

static FileKind
kind_of_option(const char *word)
{
	return strcmp(word, "graph") == 0 ? FILE_GRAPH : *word == 'e' ? FILE_EXPR : FILE_LOOPS;
}

/* Options that say nothing of what the file holds. */
static void
refuse_options(const Options *options, const char *path, FileKind kind)
{
	static const struct {
		unsigned of;
		const char *words;
	} subjects[] = {[FILE_GRAPH] = {OF_MODEL, "the text of a graph"},
	                [FILE_EXPR] = {OF_EXPR, "the text of an expression"},
	                [FILE_LOOPS] = {OF_LOOPS, "the text of a kernel's loops"},
	                [FILE_ONNX] = {OF_MODEL, "an ONNX model"},
	                [FILE_BUNDLE] = {OF_ANY, "a bundle"}};
	options_refuse(options, subjects[kind].of,
	               arena_printf(options->arena, "%s is %s",
	                            strcmp(path, "-") == 0 ? "the input" : path, subjects[kind].words));
}

/* --dot is a text of its own, of a model's graph or a bundle's plan. */
static void
check_dot(const Options *o, FileKind kind)
{
	if (!o->dot)
		return;
	if (kind == FILE_EXPR || kind == FILE_LOOPS)
		fail_as(FAIL_USAGE, NULL, "--dot draws the graph of a model, or the plan of a bundle");
	if (o->lower || o->c || o->schedule || o->meaning || o->cuda || o->cubin)
		fail_as(FAIL_USAGE, NULL,
		        "--dot draws a graph: leave out --lower, --c, --schedule, --meaning, --cuda "
		        "and --cubin");
	refuse_over_input(o, o->dot);
}

/* ---- expressions and loops ---- */

/* The context of passes over one text; NULL: none are asked for. */
static PassContext *
passes_of_text(const Options *options)
{
	bool is_asked = options->passes.count || options->level >= 0 || options->require.count;
	PassContext *context = pipeline_new(options, options->arena, 0);
	const char *name = target_name(options, 0);
	const Device *device = device_find(name);
	bool is_gpu = device && device->gpu;
	if (!is_asked && is_gpu)
		return NULL; /* a text is only compared with what it has */
	Target *target = NEW(options->arena, Target);
	bool is_for_gpu = is_gpu && (options->cuda || options->cubin);
	*target = (Target){.device = is_for_gpu ? device : device_of(name)};
	context->target = target;
	return is_asked ? context : NULL;
}

static void
print_program(const Options *options, Buf *out, const char *path, const char *text)
{
	Arena *arena = options->arena;
	const Program *program = text_program(arena, path, text);
	PassContext *context = passes_of_text(options);
	if (context) {
		ProgramUnit unit = {
			.arena = arena, .name = program->name, .target = context->target, .program = program};
		for (PassIr ir = IR_program; ir <= IR_nest; ir++)
			run_passes(context, ir, &unit);
		program_check(unit.program);
		program = unit.program;
		pipeline_report(options, context);
	}
	program_print(out, program);
}

static const Device *
gpu_of(const Options *options)
{
	for (int i = 0; i < options->target.count; i++) {
		const Device *device = device_find(options->target.data[i]);
		if (device && device->gpu)
			return device;
	}
	fail_as(FAIL_USAGE, NULL, "--cuda and --cubin need a GPU, such as --target cuda:h100");
}

/* What the machine code of each function takes. */
static void
print_cubin(Buf *out, const char *cuda, int capability)
{
	Arena *arena = out->arena;
	Bytes cubin = cuda_compile(arena, cuda, capability);
	StrVec kernels = cubin_kernels(arena, cubin);
	for (int i = 0; i < kernels.count; i++) {
		CubinKernel kernel = cubin_kernel(arena, cubin, kernels.data[i]);
		buf_printf(out, "%s for sm_%d: %lld registers, %lld bytes local, %lld shared\n",
		           kernels.data[i], capability, (long long)kernel.registers,
		           (long long)kernel.local_bytes, (long long)kernel.shared_bytes);
	}
}

/* As CUDA C, or what its machine code takes. */
static void
print_for_gpu(const Options *options, Buf *out, const Device *gpu, int count,
              Kernel *const *kernels)
{
	const char *cuda = codegen_cuda(options->arena, &(Target){.device = gpu}, count, kernels);
	if (options->cubin)
		print_cubin(out, cuda, gpu->gpu->capability);
	else
		buf_puts(out, cuda);
}

static void
print_kernel(const Options *options, Buf *out, const char *path, const char *text)
{
	Arena *arena = options->arena;
	Kernel *kernel = text_kernel(arena, path, text);
	PassContext *context = passes_of_text(options);
	if (context) {
		run_passes(context, IR_loop, kernel);
		kernel_check(kernel);
		pipeline_report(options, context);
	}
	for (int i = 0; i < options->target.count; i++) {
		const Device *device = device_find(options->target.data[i]);
		if (device && device->gpu)
			kernel_check_device(kernel, device);
	}
	if (options->cuda || options->cubin) {
		print_for_gpu(options, out, gpu_of(options), 1, &kernel);
		return;
	}
	if (options->c) {
		const char *name = target_name(options, 0);
		buf_puts(out, codegen_c(arena, &(Target){.device = device_of(name)}, 1, &kernel));
		return;
	}
	kernel_print(out, kernel);
}

/* ---- graphs ---- */

static void
print_meanings(Buf *out, const Graph *graph, const Region *region)
{
	for (const Node *node = region->first; node; node = node->next) {
		buf_printf(out, "# %s (%s)\n", node->loc.node ? node->loc.node : "", node->op->name);
		const Program *program = node_has_meaning(node) ? node_meaning(graph, node) : NULL;
		if (program) {
			program_check(program);
			program_print(out, program);
		} else {
			buf_puts(out, "# no expression\n");
		}
	}
}

static void
print_lowered(const Options *options, Buf *out, Graph *graph, PassContext *context)
{
	Arena *arena = options->arena;
	Target *target = target_new(options, arena, target_name(options, 0), graph);
	native_correct(options, arena, target_name(options, 0), context->level, target);
	context->target = target;
	if (options->cuda || options->cubin)
		gpu_of(options);
	else if (options->c && target->device->gpu)
		fail_as(FAIL_USAGE, NULL, "--c is for CPUs; the kernels of %s: --cuda",
		        target->device->name);
	const PassInfo *pass;
	for (int i = 0; options->schedule && (pass = pass_at(i)); i++)
		if (pass->ir == IR_loop) /* loops as they come from lowering */
			vec_push(arena, &context->disabled, pass->name);
	const Module *module = compile_graph(arena, graph, context);
	KernelList list = {0};
	MStepVec steps = module_steps(arena, module);
	for (int i = 0; i < steps.count; i++)
		if (steps.data[i]->kernel)
			vec_push(arena, &list.kernels, steps.data[i]->kernel);
	for (int i = 0; options->schedule && i < list.kernels.count; i++)
		kernel_print(out, list.kernels.data[i]);
	if (options->schedule)
		return;
	if (options->cuda || options->cubin)
		print_for_gpu(options, out, gpu_of(options), list.kernels.count, list.kernels.data);
	else if (options->c)
		buf_puts(out, codegen_c(arena, context->target, list.kernels.count, list.kernels.data));
	else
		module_print(out, module);
}

static void
print_graph(const Options *options, Buf *out, Graph *graph)
{
	bool is_lowered =
		options->lower || options->c || options->schedule || options->cuda || options->cubin;
	PassContext *context = pipeline_new(options, options->arena, is_lowered ? 3 : 0);
	bool has_passes = options->level >= 0 || options->passes.count || options->require.count;
	graph_check(graph);
	if (options->shape.count) { /* names that the model does not have are refused */
		Graph *inferred = graph_clone(options->arena, graph);
		graph_infer(inferred);
		sizes_asked(options, options->arena, inferred);
	}
	if (has_passes && !is_lowered) {
		if (passes_need_target(context, IR_graph))
			context->target = target_new(options, options->arena, target_name(options, 0), graph);
		run_graph_passes(graph, context);
		graph_check(graph);
	}
	if (is_lowered)
		print_lowered(options, out, graph, context);
	else if (options->dot)
		graph_dot(out, graph);
	else if (options->meaning) {
		graph_infer(graph);
		print_meanings(out, graph, graph->body);
	} else
		graph_print(out, graph);
	pipeline_report(options, context);
}

int
verb_print(const Options *options)
{
	Arena *arena = options->arena;
	const char *path = options->args.data[0];
	Bytes bytes = file_map(arena, path);
	FileKind kind = options->ir ? kind_of_option(options->ir) : file_kind(path, bytes);
	Buf out = {.arena = arena};
	refuse_options(options, path, kind);
	check_dot(options, kind);
	const char *text = arena_strndup(arena, (const char *)bytes.data, bytes.size);
	if (kind == FILE_BUNDLE && options->dot)
		plan_dot(&out, bundle_plan(arena, bundle_get(arena, path, bytes, BUNDLE_VERIFY_CODE), 0));
	else if (kind == FILE_EXPR)
		print_program(options, &out, path, text);
	else if (kind == FILE_LOOPS)
		print_kernel(options, &out, path, text);
	else
		print_graph(options, &out, model_read_bytes(options, arena, path, bytes));
	Report *report = report_new(options);
	if (options->dot) {
		file_write(arena, options->dot, out.data, out.size);
		report_text(report, "output", "wrote", options->dot);
	} else {
		report_body(report, "text", buf_text(&out));
	}
	report_print(report);
	return 0;
}
