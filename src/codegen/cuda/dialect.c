/* The dialect of CUDA C: a __global__ function for each distinct kernel.
 *
 *     for b in 64 @block.x             =>    const tw_i32 b = blockIdx.x;
 *       s: f32[256] @shared                  __shared__ __align__(16) tw_f32 s[256];
 *       for t in 256 @thread.x {             const tw_i32 t = threadIdx.x;
 *         s[t] = X[256*b+t]                  s[t] = X[256 * b + t];
 *         sync                               __syncthreads
 *
 * A block has as many threads as the loops say, so none has to be left out. Shared memory beyond
 * what a function may declare is one array, whose size the launch says.
 */
#include "codegen/cuda/emit.h"

static bool
is_thread_loop(const Stmt *stmt)
{
	return stmt->kind == STMT_FOR && stmt->bind >= BIND_THREAD_X && stmt->bind <= BIND_THREAD_Z;
}

static int64_t
count_threads(const Kernel *kernel)
{
	int64_t extent[3] = {1, 1, 1};
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);)
		if (is_thread_loop(walk.stmt))
			must(expr_as_i64(walk.stmt->hi, &extent[walk.stmt->bind - BIND_THREAD_X]));
	return extent[0] * extent[1] * extent[2];
}

/* ---- shared memory --------------------------------------------------------------------------- */

/* Where a buffer begins among the shared ones; of NULL: where all end. */
static int64_t
shared_offset(Emit *em, const Buffer *buffer)
{
	int64_t offset = 0, count;
	size_t bytes;
	for (StmtWalk walk = stmt_walk(em->arena, em->kernel->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		if (stmt->kind != STMT_ALLOC || stmt->buffer->scope != SCOPE_SHARED)
			continue;
		if (stmt->buffer == buffer)
			break;
		const Tensor *tensor = &stmt->buffer->tensor;
		must(dim_is_const(dim_product(em->ctx, tensor->rank, tensor->hi), &count));
		must(dtype_bytes(memory_type(tensor->type), count, &bytes));
		offset += ((int64_t)bytes + PLAN_SHARED_ALIGN - 1) / PLAN_SHARED_ALIGN * PLAN_SHARED_ALIGN;
	}
	return offset;
}

int64_t
cuda_dynamic_shared(Arena *arena, const Kernel *kernel)
{
	Emit em = {.arena = arena, .kernel = kernel, .ctx = kernel->ctx};
	int64_t bytes = shared_offset(&em, NULL);
	return bytes > PLAN_STATIC_SHARED ? bytes : 0;
}

static void
alloc_shared(Emit *em, const Stmt *alloc)
{
	const Tensor *tensor = &alloc->buffer->tensor;
	const char *type = c_type(tensor->type), *name = name_of(em, tensor);
	if (shared_offset(em, NULL) > PLAN_STATIC_SHARED)
		emit_line(em, "%s *const %s = (%s *)(tw_shared + %lld);", type, name, type,
		          (long long)shared_offset(em, alloc->buffer));
	else
		emit_line(em, "__shared__ __align__(16) %s %s[%s];", type, name,
		          emit_scalar(em, dim_product(em->ctx, tensor->rank, tensor->hi)));
}

static void
emit_threads(Emit *em, const Stmt *stmt)
{
	if (stmt->kind == STMT_SYNC)
		emit_line(em, "__syncthreads();");
	else if (stmt->kind == STMT_WARP_OP)
		emit_warp_op(em, stmt);
	else
		alloc_shared(em, stmt);
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* What is defined inside is seen behind it as well, under names that nothing else has. */
static void
emit_bound_loop(Emit *em, const Stmt *loop)
{
	static const char *const axes[] = {"blockIdx.x",  "blockIdx.y",  "blockIdx.z",
	                                   "threadIdx.x", "threadIdx.y", "threadIdx.z"};
	int mark = facts_mark(em->facts);
	emit_line(em, "const tw_i32 %s = %s;", name_of(em, loop->var), axes[loop->bind - BIND_BLOCK_X]);
	learn_loop(em, loop);
	emit_list(em, loop->body);
	facts_release(em->facts, mark);
}

static bool
emit_loop(Emit *em, const Stmt *loop)
{
	if (loop->bind == BIND_PARALLEL)
		fail_unsupported(&em->kernel->loc,
		                 "kernel %s: a GPU has blocks and threads, and no @parallel loops",
		                 em->kernel->name);
	if (loop->bind == BIND_UNROLL)
		emit_line(em, "#pragma unroll");
	else if (loop->bind == BIND_VECTOR)
		emit_wide_loop(em, loop);
	else
		emit_bound_loop(em, loop);
	return loop->bind != BIND_UNROLL;
}

/* ---- functions ------------------------------------------------------------------------------- */

static void
emit_head(Emit *em)
{
	for (StmtWalk walk = stmt_walk(em->arena, em->kernel->body); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_ALLOC && walk.stmt->buffer->scope == SCOPE_SCRATCH)
			fail_unsupported(&em->kernel->loc,
			                 "kernel %s: %s is larger than a thread of a GPU may hold, or of a "
			                 "size that only a run knows",
			                 em->kernel->name, walk.stmt->buffer->tensor.name);
	buf_putc(em->out, '(');
	emit_parameters(em);
	buf_puts(em->out, "struct TwStatus *status, const int step)\n{\n");
	begin_statement(em, 0, NULL);
}

static void
print_function(Buf *out, int index, const char *name, const Kernel *kernel, const char *text)
{
	(void)index;
	buf_putc(out, '\n');
	print_ancestry(out, kernel);
	buf_printf(out, "extern \"C\" __global__ void __launch_bounds__(%lld)\n%s%s",
	           (long long)count_threads(kernel), name, text);
}

/* Lanes are the threads: a loop that its text calls a vector is a loop here. */
static void
forget_vectors(Kernel *kernel)
{
	for (StmtWalk walk = stmt_walk(kernel->arena, kernel->body); stmt_step(&walk);) {
		walk.stmt->lanes = 0;
		if (walk.stmt->kind == STMT_ALLOC && walk.stmt->buffer->lanes)
			fail_unsupported(&kernel->loc, "kernel %s: a GPU has no vector registers, as %s is one",
			                 kernel->name, walk.stmt->buffer->tensor.name);
	}
}

const char *
codegen_cuda(Arena *arena, const Target *target, int count, Kernel *const *kernels)
{
	/* words of C++ and of CUDA */
	static const char *const reserved[] = {
		"alignas",   "alignof",   "and",       "bool",     "catch",    "class",     "concept",
		"constexpr", "decltype",  "delete",    "export",   "explicit", "false",     "friend",
		"mutable",   "namespace", "new",       "noexcept", "not",      "nullptr",   "operator",
		"or",        "private",   "protected", "public",   "requires", "signed",    "template",
		"this",      "throw",     "true",      "try",      "typeid",   "typename",  "using",
		"virtual",   "wchar_t",   "xor",       "blockDim", "blockIdx", "gridDim",   "threadIdx",
		"warpSize",  "uint2",     "uint4",     "status",   "step",     "atomicCAS", "atomicExch",
		"TwStatus",  NULL,
	};
	static const Dialect dialect = {
		.reserved = reserved,
		.restricted = "__restrict__ ",
		.reporter = "status, step",
		.aligned = " __attribute__((aligned(16)))",
		.is_cuda = true,
		.head = emit_head,
		.function = print_function,
		.loop = emit_loop,
		.threads = emit_threads,
	};
	int *function = NEW_N(arena, int, count + 1);
	Buf bodies = {.arena = arena};
	for (int i = 0; i < count; i++) {
		forget_vectors(kernels[i]);
		kernel_check_launch(kernels[i], target->device);
	}
	emit_kernels(&bodies, target, &dialect, count, kernels, function);
	Buf out = {.arena = arena};
	buf_printf(&out, "/* Kernels for %s, as C++20. */\n", target->device->name);
	prelude_print(&out, target, buf_text(&bodies), true);
	buf_puts(&out, buf_text(&bodies));
	return buf_text(&out);
}
