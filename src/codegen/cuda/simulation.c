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
#include "codegen/cuda/emit.h"

/* The lines of simulation/fibers.hpp, put into a table when this is built. */
extern const char *const simulation_fibers[];

typedef struct Launch {
	const Expr *extent[BOUND_AXES];
	bool has_barriers, has_shared;
} Launch;

static Launch
launch_of(Arena *arena, const Kernel *kernel)
{
	Launch launch = {0};
	for (StmtWalk walk = stmt_walk(arena, kernel->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		if (stmt->kind == STMT_FOR && stmt->bind >= BIND_BLOCK_X)
			launch.extent[stmt->bind - BIND_BLOCK_X] = stmt->hi;
		launch.has_barriers |= stmt->kind == STMT_SYNC || stmt->kind == STMT_WARP_OP;
		launch.has_shared |= stmt->kind == STMT_ALLOC && stmt->buffer->scope == SCOPE_SHARED;
	}
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

static const char *
axis_text(Arena *arena, const Kernel *kernel, const Launch *launch, int axis)
{
	return launch->extent[axis] ? dim_text(arena, kernel, launch->extent[axis]) : "1";
}

/* The function that runs kernel i, whose code is its own or that of an equal one. */
static void
print_run(Buf *out, int i, const Kernel *kernel)
{
	Arena *arena = out->arena;
	Launch launch = launch_of(arena, kernel);
	const char *function = kernel->function, *axis[BOUND_AXES];
	bool is_dynamic = launch.has_shared && cuda_dynamic_shared(arena, kernel) > 0;
	for (int k = 0; k < BOUND_AXES; k++)
		axis[k] = axis_text(arena, kernel, &launch, k);
	bool has_section = launch.has_shared && !is_dynamic;
	buf_printf(out,
	           "\nstatic void\nbody%d(void *const *b, const int64_t *s, void *status, int step)\n"
	           "{\n\t(void)s;\n\t%s(",
	           i, function);
	for (int k = 0; k < kernel->buffers.count; k++)
		buf_printf(out, "Pointer{b[%d]}, ", k);
	for (int k = 0; k < kernel->symbols.count; k++)
		buf_printf(out, "s[%d], ", k);
	buf_puts(out, "(struct TwStatus *)status, step);\n}\n");
	buf_printf(out, "\nstatic const host::Kernel kernel%d = {body%d, ", i, i);
	if (has_section)
		buf_printf(out, "__start_tw_shared_%s, __stop_tw_shared_%s, ", function, function);
	else
		buf_puts(out, "NULL, NULL, ");
	buf_printf(out, "%lld, {(unsigned)%s, (unsigned)%s, (unsigned)%s}, %s};\n",
	           (long long)(is_dynamic ? cuda_dynamic_shared(arena, kernel) : 0), axis[3], axis[4],
	           axis[5], launch.has_barriers ? "true" : "false");
	buf_printf(
		out, "\nstatic void\nrun%d(const SimulatedArgs *args, int64_t begin, int64_t end)\n{\n", i);
	buf_puts(out, "\tconst int64_t *s = args->symbols;\n\t(void)s;\n");
	buf_printf(out, "\tconst int64_t grid[3] = {%s, %s, %s};\n", axis[0], axis[1], axis[2]);
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
print_named(Buf *out, int count, Kernel *const *kernels)
{
	buf_puts(out, "\nstatic const SimulatedKernel named[] = {\n");
	for (int i = 0; i < count; i++)
		buf_printf(out, "\t{\"%s\", %d, %d, &kernel%d},\n", kernels[i]->function,
		           kernels[i]->buffers.count, kernels[i]->symbols.count, i);
	buf_printf(out,
	           "\t{NULL, 0, 0, NULL}};\n\nextern \"C\" __attribute__((visibility(\"default\"))) "
	           "const Simulated tw_simulated_v1;\nconst Simulated tw_simulated_v1 = "
	           "{named, host_launch};\n");
}

const char *
codegen_simulation(Arena *arena, const Target *target, int count, Kernel *const *kernels)
{
	Buf out = {.arena = arena};
	const char *cuda = codegen_cuda(arena, target, count, kernels);
	for (const char *const *line = simulation_fibers; *line; line++)
		buf_puts(&out, *line);
	print_sections(&out, cuda);
	for (int i = 0; i < count; i++)
		print_run(&out, i, kernels[i]);
	buf_puts(&out, "\ntypedef void SimulatedRun(const SimulatedArgs *args, int64_t begin, int64_t "
	               "end);\n\nstatic SimulatedRun *const table[] = {");
	for (int i = 0; i < count; i++)
		buf_printf(&out, "run%d, ", i);
	buf_puts(&out,
	         "NULL};\n\nextern \"C\" __attribute__((visibility(\"default\"))) const struct {\n"
	         "\tuint32_t abi, count;\n\tSimulatedRun *const *table;\n} tw_kernels_v1;\n");
	buf_printf(&out, "const decltype(tw_kernels_v1) tw_kernels_v1 = {%u, %d, table};\n",
	           TW_KERNEL_ABI, count);
	print_named(&out, count, kernels);
	return buf_text(&out);
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
