/* The dialect of C for a CPU: one function per distinct kernel, called through a table.
 *
 *     static void k0_conv1(const TwArgs *args, const tw_f32 *restrict X, …, tw_i64 N, begin, end)
 *     void tw_k0(const TwArgs *args, int64_t begin, int64_t end) { k0_conv1(args,
 * args->buffers[0]…); }
 *
 * Arguments are parameters of a function of their own because that is where `restrict` counts.
 * @parallel loops decode the flat range begin..end once and then count like an odometer. The file
 * compiles as it stands; units.c cuts it at TW_BODY and TW_KERNEL, so that each kernel is
 * compiled alone.
 */
#include <string.h>

#include "codegen/c/emit.h"

/* ---- the parallel range ---------------------------------------------------------------------- */

/* From the flat index to the loops' variables, innermost first; afterwards they are counted. */
static void
decode_begin(Emit *em, int count, const Stmt *const *loops)
{
	emit_line(em, "tw_i64 rest = begin;");
	for (int i = count - 1; i >= 0; i--) {
		const char *name = name_of(em, loops[i]->var);
		const Expr *extent = dim_from_expr(em->ctx, expr_sub(em->ctx, loops[i]->hi, loops[i]->lo));
		const char *lo = emit_scalar(em, loops[i]->lo), *width = emit_scalar(em, extent);
		const char *start = expr_is_zero(loops[i]->lo) ? "" : emit_text(em, "%s + ", lo);
		if (i == 0) {
			emit_line(em, "tw_i64 %s = %srest;", name, start);
			break;
		}
		emit_line(em, "tw_i64 %s = %s(tw_i64)((tw_u64)rest %% (tw_u64)%s);", name, start, width);
		emit_line(em, "rest = (tw_i64)((tw_u64)rest / (tw_u64)%s);", width);
	}
}

static void
count_on(Emit *em, int count, const Stmt *const *loops)
{
	for (int i = count - 1; i > 0; i--) {
		const char *name = name_of(em, loops[i]->var);
		emit_line(em, "if (++%s < %s)", name, emit_scalar(em, loops[i]->hi));
		emit_line(em, "\tcontinue;");
		emit_line(em, "%s = %s;", name, emit_scalar(em, loops[i]->lo));
	}
	emit_line(em, "%s++;", name_of(em, loops[0]->var));
}

static void
emit_parallel(Emit *em, const Stmt *outermost)
{
	const Stmt *loops[ARRAY_MAX_RANK], *body = outermost;
	int count = 0;
	while (body && body->kind == STMT_FOR && body->bind == BIND_PARALLEL && !body->next) {
		must(count < ARRAY_MAX_RANK);
		loops[count++] = body;
		body = body->body;
	}
	begin_statement(em, 0, NULL);
	decode_begin(em, count, loops);
	emit_line(em, "for (tw_i64 flat = begin; flat < end; flat++) {");
	for (int i = 0; i < count; i++)
		learn_loop(em, loops[i]);
	em->depth++;
	emit_line(em, "{");
	emit_block(em, body);
	emit_line(em, "}");
	begin_statement(em, 0, NULL);
	count_on(em, count, loops);
	em->depth--;
	emit_line(em, "}");
}

static bool
emit_loop(Emit *em, const Stmt *loop)
{
	if (loop->bind == BIND_PARALLEL && !em->vector && loop == em->kernel->body)
		emit_parallel(em, loop);
	else if (loop->bind == BIND_VECTOR && loop->lanes)
		emit_vector_loop(em, loop);
	else if (loop->bind == BIND_TURN)
		emit_turn(em, loop);
	else if (loop->bind >= BIND_BLOCK_X && loop->bind < BIND_COUNT)
		fail_as(FAIL_BUG, &em->kernel->loc, "kernel %s: a CPU has no blocks and threads",
		        em->kernel->name);
	else
		return false;
	return true;
}

static void
emit_hint(Emit *em, const Stmt *stmt)
{
	const Expr *place = stmt->args[0];
	const char *name = name_of(em, place->tensor);
	begin_statement(em, place->argc, place->arg);
	/* The place may lie outside of the buffer, where no pointer may point. */
	emit_line(em, "__builtin_prefetch((const void *)((tw_i64)%s + %s * %d), 0, %d);", name,
	          emit_scalar(em, place->arg[0]), (dtype_bits(place->tensor->type) + 7) / 8,
	          strcmp(stmt->warp_op->name, "fetch.near") == 0 ? 3 : 2);
}

static void
emit_threads(Emit *em, const Stmt *stmt)
{
	if (stmt->kind == STMT_WARP_OP && stmt->warp_op->kind == WARP_HINT) {
		emit_hint(em, stmt);
		return;
	}
	fail_as(FAIL_BUG, &em->kernel->loc, "kernel %s: a CPU has no %s", em->kernel->name,
	        stmt->kind == STMT_SYNC      ? "barriers"
	        : stmt->kind == STMT_WARP_OP ? stmt->warp_op->name
	                                     : "shared memory");
}

/* ---- functions ------------------------------------------------------------------------------- */

/* A buffer in scratch memory at `offset`, the text of the bytes used so far; gives the next one. */
static const char *
open_scratch(Emit *em, const Tensor *tensor, const char *offset)
{
	const char *name = name_of(em, tensor), *type = c_type(tensor->type);
	emit_line(em, "%s *restrict const %s = (%s *)((char *)args->scratch + %s);", type, name, type,
	          offset);
	const Dim *count = dim_product(em->ctx, tensor->rank, tensor->hi);
	const Dim *bytes = dim_mul_i64(em->ctx, count, (dtype_bits(tensor->type) + 7) / 8);
	const char *next = new_name(em, 'e');
	emit_line(em, "const tw_i64 %s = %s + (%s + 63) / 64 * 64;", next, offset,
	          emit_scalar(em, bytes));
	return next;
}

static void
emit_head(Emit *em)
{
	buf_puts(em->out, "(const TwArgs *args, ");
	emit_parameters(em);
	buf_puts(em->out, "const tw_i64 begin, const tw_i64 end)\n{\n");
	emit_line(em, "if (begin >= end)");
	emit_line(em, "\treturn;");
	begin_statement(em, 0, NULL);
	const char *offset = "0";
	for (StmtWalk walk = stmt_walk(em->arena, em->kernel->body); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_ALLOC && walk.stmt->buffer->scope == SCOPE_SCRATCH)
			offset = open_scratch(em, &walk.stmt->buffer->tensor, offset);
}

static void
print_wrapper(Buf *out, int index, const char *name, const Kernel *kernel)
{
	buf_printf(
		out, "TW_KERNEL void\ntw_k%d(const TwArgs *args, int64_t begin, int64_t end)\n{\n\t%s(args",
		index, name);
	for (int i = 0; i < kernel->buffers.count; i++)
		buf_printf(out, ", args->buffers[%d]", i);
	for (int i = 0; i < kernel->symbols.count; i++)
		buf_printf(out, ", args->symbols[%d]", i);
	buf_puts(out, ", begin, end);\n}\n");
}

static void
print_function(Buf *out, int index, const char *name, const Kernel *kernel, const char *text)
{
	buf_putc(out, '\n');
	print_ancestry(out, kernel);
	buf_printf(out, "TW_BODY\n%s%s\n", name, text);
	print_wrapper(out, index, name, kernel);
}

/* ---- the file -------------------------------------------------------------------------------- */

void
print_frame(Buf *out, const char *memory)
{
	buf_printf(out,
	           "#define TW_KERNEL __attribute__((visibility(\"hidden\")))\n"
	           "#define TW_BODY static __attribute__((noinline)) void\n#define TW_LINKAGE %s\n",
	           memory);
}

static void
print_table(Buf *out, int count, const int *function)
{
	buf_putc(out, '\n');
	for (int i = 0; i < count; i++)
		if (function[i] == i)
			buf_printf(out, "TW_KERNEL TwKernel tw_k%d;\n", i);
	buf_printf(out, "static TwKernel *const tw_table[%d] = {", count ? count : 1);
	for (int i = 0; i < count; i++)
		buf_printf(out, "%s tw_k%d,", i % 8 ? "" : "\n\t", function[i]);
	buf_printf(out,
	           "%s};\n__attribute__((visibility(\"default\"))) const TwKernels tw_kernels_v1 = {\n"
	           "\tTW_KERNEL_ABI, %d, tw_table\n};\n",
	           count ? "\n" : "0", count);
}

const char *
codegen_c(Arena *arena, const Target *target, int count, Kernel *const *kernels)
{
	static const Dialect dialect = {
		.restricted = "restrict ",
		.reporter = "args",
		.aligned = " __attribute__((aligned(64)))",
		.head = emit_head,
		.function = print_function,
		.loop = emit_loop,
		.threads = emit_threads,
	};
	int *function = NEW_N(arena, int, count + 1);
	Buf bodies = {.arena = arena};
	emit_kernels(&bodies, target, &dialect, count, kernels, function);
	print_table(&bodies, count, function);
	Buf out = {.arena = arena};
	buf_printf(&out, "/* Kernels for %s. Compile freestanding: see README. */\n",
	           target->device->name);
	print_frame(&out, "static");
	prelude_print(&out, target, buf_text(&bodies), true);
	buf_puts(&out, buf_text(&bodies));
	return buf_text(&out);
}
