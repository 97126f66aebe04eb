/* The CUDA text of kernels as an object for this machine: fibers.hpp in front, and behind it a
 * function for each kernel that has the arguments of the kernel ABI, whose flat index are the
 * blocks, and starts a fiber for each thread of those it is asked for.
 *
 *     static const host::Kernel kernel3 = {body3, …};
 *     static void run3(const TwArgs *args, int64_t begin, int64_t end)
 *     {
 *         const int64_t *s = args->symbols;
 *         const int64_t grid[3] = {(s[0] + 255) / 256, 1, 1};
 *         host_launch(&kernel3, grid, begin, end, …);
 *     }
 *
 * Pieces of a launch take turns: shared memory and fibers are there once. A second table,
 * tw_simulated_v1, has the kernels by their names in CUDA, for who says himself how many blocks
 * there are: what stands for CUDA's runtime in tests (tests/standin).
 */
#include <string.h>

#include "bundle/abi.h"
#include "bundle/plan.h"
#include "codegen/cuda/emit.h"

/* The lines of simulation/fibers.hpp, put into a table when this is built. */
extern const char *const simulation_fibers[];

/* What running a kernel takes besides its text: of the kernel itself, or of a plan's step. */
typedef struct Launch {
	const char *function;
	int nbuffer, nsymbol;
	const char *axis[BOUND_AXES]; /* blocks, as C++ over s[], the symbols; threads, numbers */
	int64_t dynamic;              /* bytes of shared memory that the launch says; 0: none */
	bool has_barriers, has_shared;
} Launch;

static const char *dim_text(Arena *arena, const Kernel *kernel, const Expr *e);

static Launch
launch_of(Arena *arena, const Kernel *kernel)
{
	Launch launch = {.function = kernel->function,
	                 .nbuffer = kernel->buffers.count,
	                 .nsymbol = kernel->symbols.count};
	for (int k = 0; k < BOUND_AXES; k++)
		launch.axis[k] = "1";
	for (StmtWalk walk = stmt_walk(arena, kernel->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		if (stmt->kind == STMT_FOR && stmt->bind >= BIND_BLOCK_X)
			launch.axis[stmt->bind - BIND_BLOCK_X] = dim_text(arena, kernel, stmt->hi);
		launch.has_barriers |= stmt->kind == STMT_SYNC || stmt->kind == STMT_WARP_OP;
		launch.has_shared |= stmt->kind == STMT_ALLOC && stmt->buffer->scope == SCOPE_SHARED;
	}
	launch.dynamic = launch.has_shared ? cuda_dynamic_shared(arena, kernel) : 0;
	return launch;
}

/* How many blocks there are, over the kernel's symbols. */
static const char *
dim_text(Arena *arena, const Kernel *kernel, const Expr *e)
{
	static const struct {
		ExprOp op;
		const char *format;
	} forms[] = {
		{EX_add, "(%s + %s)"},
		{EX_sub, "(%s - %s)"},
		{EX_mul, "(%s * %s)"},
		{EX_floordiv, "host::floordiv(%s, %s)"},
		{EX_floormod, "host::floormod(%s, %s)"},
		{EX_min, "host::least(%s, %s)"},
		{EX_max, "host::most(%s, %s)"},
	};
	int64_t value;
	if (expr_as_i64(e, &value))
		return arena_printf(arena, "INT64_C(%lld)", (long long)value);
	for (int i = 0; e->op == EX_symbol && i < kernel->symbols.count; i++)
		if (kernel->symbols.data[i] == e->symbol)
			return arena_printf(arena, "s[%d]", i);
	for (size_t i = 0; i < countof(forms); i++) {
		if (e->op != forms[i].op)
			continue;
		const char *text = dim_text(arena, kernel, e->arg[0]);
		for (int k = 1; k < e->argc; k++) {
			Buf buf = {.arena = arena};
			const char *other = dim_text(arena, kernel, e->arg[k]);
			const char *first = strstr(forms[i].format, "%s");
			const char *second = strstr(first + 2, "%s");
			buf_printf(&buf, "%.*s%s%.*s%s%s", (int)(first - forms[i].format), forms[i].format,
			           text, (int)(second - first - 2), first + 2, other, second + 2);
			text = buf_text(&buf);
		}
		return text;
	}
	fail_as(FAIL_BUG, &kernel->loc, "kernel %s: how many blocks it has is no dim", kernel->name);
}

/* The function that runs kernel i, whose code is its own or that of an equal one. */
static void
print_run(Buf *out, int i, const Launch *launch)
{
	const char *function = launch->function;
	bool has_section = launch->has_shared && launch->dynamic == 0;
	buf_printf(out,
	           "\nstatic void\nbody%d(void *const *b, const int64_t *s, void *status, int step)\n"
	           "{\n\t(void)s;\n\t%s(",
	           i, function);
	for (int k = 0; k < launch->nbuffer; k++)
		buf_printf(out, "Pointer{b[%d]}, ", k);
	for (int k = 0; k < launch->nsymbol; k++)
		buf_printf(out, "s[%d], ", k);
	buf_puts(out, "(struct TwStatus *)status, step);\n}\n");
	buf_printf(out, "\nstatic const host::Kernel kernel%d = {body%d, ", i, i);
	if (has_section)
		buf_printf(out, "__start_tw_shared_%s, __stop_tw_shared_%s, ", function, function);
	else
		buf_puts(out, "NULL, NULL, ");
	buf_printf(out, "%lld, {(unsigned)%s, (unsigned)%s, (unsigned)%s}, %s};\n",
	           (long long)launch->dynamic, launch->axis[3], launch->axis[4], launch->axis[5],
	           launch->has_barriers ? "true" : "false");
	buf_printf(
		out, "\nstatic void\nrun%d(const SimulatedArgs *args, int64_t begin, int64_t end)\n{\n", i);
	buf_puts(out, "\tconst int64_t *s = args->symbols;\n\t(void)s;\n");
	buf_printf(out, "\tconst int64_t grid[3] = {%s, %s, %s};\n", launch->axis[0], launch->axis[1],
	           launch->axis[2]);
	buf_printf(out,
	           "\thost_launch(&kernel%d, grid, begin, end, args->buffers, s, args->status, "
	           "args->step);\n}\n",
	           i);
}

/* A kernel's shared memory lies in a section of its own. */
static void
print_sections(Buf *out, const char *cuda)
{
	static const char head[] = "extern \"C\" __global__ ";
	for (const char *at; (at = strstr(cuda, head));) {
		const char *name = strchr(at, '\n') + 1;
		int length = (int)strcspn(name, "(");
		buf_printf(out, "%.*s", (int)(at - cuda), cuda);
		buf_printf(out,
		           "#undef TW_SHARED\n#define TW_SHARED \"tw_shared_%.*s\"\n"
		           "extern \"C\" __attribute__((weak, visibility(\"hidden\"))) unsigned char "
		           "__start_tw_shared_%.*s[], __stop_tw_shared_%.*s[];\n",
		           length, name, length, name, length, name);
		buf_printf(out, "%.*s", (int)(name - at), at);
		cuda = name;
	}
	buf_puts(out, cuda);
}

/* The kernels by name, with what their parameters are. */
static void
print_named(Buf *out, int count, const Launch *launches)
{
	buf_puts(out, "\nstatic const SimulatedKernel named[] = {\n");
	for (int i = 0; i < count; i++)
		buf_printf(out, "\t{\"%s\", %d, %d, &kernel%d},\n", launches[i].function,
		           launches[i].nbuffer, launches[i].nsymbol, i);
	buf_printf(out,
	           "\t{NULL, 0, 0, NULL}};\n\nextern \"C\" __attribute__((visibility(\"default\"))) "
	           "const Simulated tw_simulated_v1;\nconst Simulated tw_simulated_v1 = "
	           "{named, host_launch};\n");
}

/* The CUDA text, and around it what runs it. */
static const char *
simulation_text(Arena *arena, const char *cuda, int count, const Launch *launches)
{
	Buf out = {.arena = arena};
	for (const char *const *line = simulation_fibers; *line; line++)
		buf_puts(&out, *line);
	print_sections(&out, cuda);
	for (int i = 0; i < count; i++)
		print_run(&out, i, &launches[i]);
	buf_puts(&out, "\ntypedef void SimulatedRun(const SimulatedArgs *args, int64_t begin, int64_t "
	               "end);\n\nstatic SimulatedRun *const table[] = {");
	for (int i = 0; i < count; i++)
		buf_printf(&out, "run%d, ", i);
	buf_puts(&out,
	         "NULL};\n\nextern \"C\" __attribute__((visibility(\"default\"))) const struct {\n"
	         "\tuint32_t abi, count;\n\tSimulatedRun *const *table;\n} tw_kernels_v1;\n");
	buf_printf(&out, "const decltype(tw_kernels_v1) tw_kernels_v1 = {%u, %d, table};\n",
	           TW_KERNEL_ABI, count);
	print_named(&out, count, launches);
	return buf_text(&out);
}

const char *
codegen_simulation(Arena *arena, const Target *target, int count, Kernel *const *kernels)
{
	const char *cuda = codegen_cuda(arena, target, count, kernels);
	Launch *launches = NEW_N(arena, Launch, count + 1);
	for (int i = 0; i < count; i++)
		launches[i] = launch_of(arena, kernels[i]);
	return simulation_text(arena, cuda, count, launches);
}

/* ---- from a bundle --------------------------------------------------------------------------- */

/* A step that launches kernel `k`, in the plan or in those inside of it. */
static const PlanStep *
find_launch(const Plan *plan, int k, const Plan **home)
{
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		bool is_launch = step->kind == PT_KERNEL || step->kind == PT_VENDOR;
		*home = plan;
		if (is_launch && step->kernel == k)
			return step;
		for (int b = 0; b < step->nbody; b++) {
			const PlanStep *found = find_launch(step->bodies[b], k, home);
			if (found)
				return found;
		}
	}
	return NULL;
}

/* A plan's dim over the symbols that a step gives to its kernel, from its last token on backwards:
 * what an operator takes stands in front of it. */
static const char *
plan_dim_text(Arena *arena, const Plan *plan, const PlanStep *step, const PlanDim *dim, int *at)
{
	static const char *const before[] = {
		[PD_ADD] = "(",
		[PD_SUB] = "(",
		[PD_MUL] = "(",
		[PD_FLOORDIV] = "host::floordiv(",
		[PD_FLOORMOD] = "host::floormod(",
		[PD_MIN] = "host::least(",
		[PD_MAX] = "host::most(",
	};
	static const char *const between[] = {[PD_ADD] = " + ", [PD_SUB] = " - ", [PD_MUL] = " * "};
	const PlanToken *token = *at > 0 ? &dim->tokens[--*at] : NULL;
	PlanOp op = token ? token->op : PD_SELECT;
	if (op == PD_CONST)
		return arena_printf(arena, "INT64_C(%lld)", (long long)token->value);
	for (int k = 0; op == PD_SYMBOL && k < step->nsymbol; k++)
		if (step->symbols[k] == token->value)
			return arena_printf(arena, "s[%d]", k);
	if ((size_t)op >= countof(before) || !before[op])
		fail_unsupported(NULL, "kernel %s: how many blocks it has cannot be said in C++",
		                 plan->kernels[step->kernel]);
	const char *right = plan_dim_text(arena, plan, step, dim, at);
	const char *left = plan_dim_text(arena, plan, step, dim, at);
	const char *sign = (size_t)op < countof(between) ? between[op] : NULL;
	return arena_printf(arena, "%s%s%s%s)", before[op], left, sign ? sign : ", ", right);
}

static const char *
axis_text(Arena *arena, const Plan *plan, const PlanStep *step, int dim)
{
	int at = plan->dims[dim].count;
	return plan_dim_text(arena, plan, step, &plan->dims[dim], &at);
}

/* Whether threads of a kernel's text meet: by CUDA's words, or by the prelude's for rows of
 * warp.def. */
static bool
text_meets(Arena *arena, const char *text)
{
	bool meets = strstr(text, "sync") != NULL;
	for (int i = 0; i < warp_op_count() && !meets; i++) {
		char *name = arena_printf(arena, "tw_%s", warp_op_at(i)->name);
		for (char *c = name; *c; c++)
			*c = *c == '.' ? '_' : *c;
		meets = strstr(text, name) != NULL;
	}
	return meets;
}

/* How a function is launched, by its head in the text and by the step. */
static Launch
launch_of_step(Arena *arena, const char *cuda, const Plan *plan, int k)
{
	const Plan *home = plan;
	const PlanStep *step = find_launch(plan, k, &home);
	Launch launch = {.function = plan->kernels[k], .nbuffer = -1};
	const char *head = strstr(cuda, arena_printf(arena, "\n%s(", launch.function));
	if (!head || !step || step->ngrid != PLAN_AXES || step->nblock != PLAN_AXES)
		fail(NULL, "kernel %s is in no step, or not in the bundle's source", launch.function);
	const char *end = strstr(head, "\nextern \"C\" __global__");
	const char *body = end ? arena_strndup(arena, head, (size_t)(end - head)) : head;
	for (const char *c = body; *c && *c != ')'; c++)
		launch.nbuffer += *c == '*'; /* all but the status */
	launch.nsymbol = step->nsymbol;
	for (int a = 0; a < PLAN_AXES; a++) {
		launch.axis[a] = axis_text(arena, home, step, step->grid[a]);
		launch.axis[PLAN_AXES + a] = axis_text(arena, home, step, step->block[a]);
	}
	const PlanDim *dim = step->shared_dim < 0 ? NULL : &home->dims[step->shared_dim];
	int64_t shared = dim && dim->tokens[0].op == PD_CONST ? dim->tokens[0].value : 0;
	launch.has_shared = strstr(body, "__shared__") != NULL;
	launch.dynamic = launch.has_shared && shared > PLAN_STATIC_SHARED ? shared : 0;
	launch.has_barriers = text_meets(arena, body);
	return launch;
}

Bytes
cuda_simulate(Arena *arena, const Target *target, const Plan *plan, const char *cuda)
{
	Launch *launches = NEW_N(arena, Launch, plan->nkernel + 1);
	for (int k = 0; k < plan->nkernel; k++)
		launches[k] = launch_of_step(arena, cuda, plan, k);
	const char *text = simulation_text(arena, cuda, plan->nkernel, launches);
	return codegen_compile_cpp(arena, target, text, NULL);
}

static const char *
needs_of_here(Arena *arena, const Device *device)
{
	(void)arena;
	const Device *here = device_native();
	(void)device;
	return here ? here->march : "";
}

const Artefact artefact_simulation = {
	.name = "simulation",
	.suffix = ".so",
	.source_suffix = ".cpp",
	.emit = codegen_simulation,
	.compile = codegen_compile_cpp,
	.needs = needs_of_here,
};
