/* What is known of each kernel of a GPU without one, as JSON for inspect: what its blocks do by the
 * interpreter (tir/count.h), what the machine code takes, and how long that takes by the model.
 */
#include "codegen/cuda/emit.h"
#include "tir/count.h"

/* The type whose products of matrices it has. */
static DType
product_type(Arena *arena, const Kernel *kernel)
{
	for (StmtWalk walk = stmt_walk(arena, kernel->body); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_WARP_OP && walk.stmt->warp_op->kind == WARP_MMA)
			return walk.stmt->warp_op->types[0];
	return DT_NONE;
}

static double
share(double part, double all)
{
	return all > 0 ? part / all : 1;
}

typedef struct Counting {
	const Kernel *kernel;
	const Binding *sizes;
	KernelCounts counts;
} Counting;

static void
count(void *arg)
{
	Counting *counting = arg;
	counting->counts = kernel_count(counting->kernel, counting->sizes);
}

static const char *
kernel_text(Arena *arena, const Target *target, const Kernel *kernel, Bytes cubin)
{
	Buf buf = {.arena = arena}, *json = &buf;
	Failure failure;
	Counting counting = {.kernel = kernel, .sizes = target->probe};
	const KernelCounts *c = &counting.counts;
	bool is_counted = try_run(count, &counting, &failure);
	if (!is_counted && failure.kind == FAIL_BUG)
		fail_as(FAIL_BUG, &kernel->loc, "%s", failure.text);
	CubinKernel code = cubin_kernel(json->arena, cubin, kernel->function);
	buf_printf(json, "{\"kernel\": \"%s\", \"registers\": %lld, \"local\": %lld", kernel->function,
	           (long long)code.registers, (long long)code.local_bytes);
	if (is_counted) {
		KernelTime time =
			kernel_time(target->device, c, code.registers, product_type(json->arena, kernel));
		buf_printf(json, ", \"blocks\": %.0f, \"threads\": %d, \"shared\": %lld", c->blocks,
		           c->threads, (long long)c->shared);
		buf_printf(json, ", \"occupancy\": %.2f, \"mflop\": %.3f, \"mbytes\": %.4f", time.occupancy,
		           c->operations / 1e6, c->memory / 1e6);
		buf_printf(json, ", \"coalesced\": %.2f, \"conflicts\": %.2f",
		           share(c->asked, c->sectors * 32), share(c->rounds, c->words));
		buf_printf(json, ", \"microseconds\": %.3f, \"bound\": \"%s\"", time.seconds * 1e6,
		           time.bound ? time.bound : "it does not fit");
	}
	buf_puts(json, "}");
	return buf_text(json);
}

const char *
cuda_modelled(Arena *arena, const Target *target, int count, Kernel *const *kernels, Bytes cubin)
{
	Buf json = {.arena = arena};
	Map known = {.arena = arena}; /* by function: equal kernels share one */
	buf_puts(&json, "{\"kernels\": [");
	for (int i = 0; i < count; i++) {
		const char *text = map_find(&known, kernels[i]->function);
		text = text ? text : kernel_text(arena, target, kernels[i], cubin);
		map_set(&known, kernels[i]->function, (void *)(uintptr_t)text);
		buf_printf(&json, "%s%s", i ? ",\n " : "\n ", text);
	}
	buf_puts(&json, "\n]}\n");
	return buf_text(&json);
}
