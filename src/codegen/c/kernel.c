/* The file of all kernels: what they use of the prelude, one function per distinct kernel, the
 * table.
 *
 *     static void k0_conv1(const TwArgs *args, const tw_f32 *restrict X, …, tw_i64 N, begin, end)
 *     void tw_k0(const TwArgs *args, int64_t begin, int64_t end) { k0_conv1(args,
 * args->buffers[0]…); }
 *
 * Arguments are parameters of a function of their own because that is where `restrict` counts.
 * Kernels whose text is the same share one function. Each stands under `#if TW_IN(i)`, so that a
 * file can be compiled in parts by several compilers at once.
 */
#include <ctype.h>
#include <string.h>

#include "codegen/c/emit.h"
#include "tir/loops/loops.h"
#include "tir/text.h"

/* ---- names ----------------------------------------------------------------------------------- */

static bool
is_reserved(const char *name)
{
	static const char *const words[] = {
		"args",   "begin",   "end",      "flat",     "rest",     "auto",     "break",
		"case",   "char",    "const",    "continue", "default",  "do",       "double",
		"else",   "enum",    "extern",   "float",    "for",      "goto",     "if",
		"inline", "int",     "long",     "main",     "register", "restrict", "return",
		"short",  "signed",  "sizeof",   "static",   "struct",   "switch",   "typedef",
		"typeof", "union",   "unsigned", "void",     "volatile", "while",    "memcpy",
		"memset", "memmove", "asm",      "unix",     "linux",    "TwArgs",   "i",
	};
	for (size_t k = 0; k < countof(words); k++)
		if (strcmp(words[k], name) == 0)
			return true;
	if (strncmp(name, "tw_", 3) == 0 || strncmp(name, "TW_", 3) == 0)
		return true;
	/* t12, m3: ours */
	return strchr("tmlefb", name[0]) && name[1] &&
	       strspn(name + 1, "0123456789") == strlen(name + 1);
}

/* A C identifier like `name` that nothing else in the kernel has. */
static void
give_name(Emit *em, Map *taken, const void *owner, const char *name)
{
	char *base = arena_strdup(em->arena, name && *name ? name : "v");
	for (char *c = base; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	if (isdigit((unsigned char)base[0]) || base[0] == '_' || is_reserved(base))
		base = arena_printf(em->arena, "v_%s", base);
	const char *unique = base;
	for (int i = 1; map_find(taken, unique); i++)
		unique = arena_printf(em->arena, "%s_v%d", base, i);
	map_set(taken, unique, (void *)owner);
	map_set_ptr(&em->names, owner, (void *)unique);
}

typedef struct Naming {
	Emit *em;
	Map taken;
	bool is_plain; /* names by order only, so that equal kernels have equal texts */
	int count;
} Naming;

static void
name_thing(Naming *naming, const void *owner, const char *name)
{
	if (naming->is_plain)
		name = emit_text(naming->em, "n%d", naming->count++);
	give_name(naming->em, &naming->taken, owner, name);
}

static void
name_everything(Emit *em, bool is_plain)
{
	const Kernel *kernel = em->kernel;
	Naming naming = {.em = em, .taken = {.arena = em->arena}, .is_plain = is_plain};
	for (int i = 0; i < kernel->buffers.count; i++) {
		const Tensor *tensor = &kernel->buffers.data[i]->tensor;
		name_thing(&naming, tensor, tensor->name);
	}
	for (int i = 0; i < kernel->symbols.count; i++)
		name_thing(&naming, kernel->symbols.data[i], kernel->symbols.data[i]->name);
	for (StmtWalk walk = stmt_walk(em->arena, kernel->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		if (stmt->var)
			name_thing(&naming, stmt->var, stmt->var->name);
		if (stmt->kind == STMT_ALLOC)
			name_thing(&naming, &stmt->buffer->tensor, stmt->buffer->tensor.name);
	}
}

/* ---- one kernel ------------------------------------------------------------------------------ */

static const char *
parameter_type(Emit *em, const Buffer *buffer)
{
	return emit_text(em, "%s%s *%s", buffer->is_output ? "" : "const ", c_type(buffer->tensor.type),
	                 buffer->may_alias ? "" : "restrict ");
}

static void
print_parameters(Emit *em)
{
	const Kernel *kernel = em->kernel;
	buf_puts(em->out, "(const TwArgs *args");
	for (int i = 0; i < kernel->buffers.count; i++) {
		const Buffer *buffer = kernel->buffers.data[i];
		buf_printf(em->out, ", %s%s", parameter_type(em, buffer), name_of(em, &buffer->tensor));
	}
	for (int i = 0; i < kernel->symbols.count; i++)
		buf_printf(em->out, ", const tw_i64 %s", name_of(em, kernel->symbols.data[i]));
	buf_puts(em->out, ", const tw_i64 begin, const tw_i64 end)\n{\n");
}

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
emit_function(Emit *em)
{
	em->next_name = 0;
	em->depth = 1;
	em->vector = NULL;
	em->facts = facts_new(em->ctx, em->arena);
	print_parameters(em);
	emit_line(em, "if (begin >= end)");
	emit_line(em, "\treturn;");
	begin_statement(em, 0, NULL);
	const char *offset = "0";
	for (StmtWalk walk = stmt_walk(em->arena, em->kernel->body); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_ALLOC && walk.stmt->buffer->scope == SCOPE_SCRATCH)
			offset = open_scratch(em, &walk.stmt->buffer->tensor, offset);
	emit_list(em, em->kernel->body);
	buf_puts(em->out, "}\n");
}

/* Parameters and body. */
static const char *
kernel_text(Emit *em, bool is_plain)
{
	em->names = em->forms = em->lets = em->masks = (Map){.arena = em->arena};
	name_everything(em, is_plain);
	em->out = NEW(em->arena, Buf);
	em->out->arena = em->arena;
	emit_function(em);
	return buf_text(em->out);
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

/* A comment cannot end early or hold strange characters. */
static void
print_ancestry(Buf *out, const Kernel *kernel)
{
	const char *words = kernel->ancestry ? kernel->ancestry : kernel->name;
	buf_puts(out, "/* ");
	for (; *words; words++)
		buf_putc(out,
		         (*words == '/' && out->data[out->size - 1] == '*') || *words < ' ' ? ' ' : *words);
	buf_puts(out, " */\n");
}

/* ---- the file -------------------------------------------------------------------------------- */

/* A file is compiled in parts, by several compilers at once. */
static const char FRAME[] =
	"#ifdef TW_PARTS\n#define TW_IN(i) ((i) % TW_PARTS == TW_PART)\n#else\n#define TW_IN(i) 1\n"
	"#endif\n#define TW_KERNEL __attribute__((visibility(\"hidden\")))\n"
	"#define TW_BODY static __attribute__((noinline)) void\n";

static void
print_table(Buf *out, int count, const int *function)
{
	buf_puts(out, "\n#if TW_IN(0)\n");
	for (int i = 0; i < count; i++)
		if (function[i] == i)
			buf_printf(out, "TW_KERNEL TwKernel tw_k%d;\n", i);
	buf_printf(out, "static TwKernel *const tw_table[%d] = {", count ? count : 1);
	for (int i = 0; i < count; i++)
		buf_printf(out, "%s tw_k%d,", i % 8 ? "" : "\n\t", function[i]);
	buf_printf(out,
	           "%s};\n__attribute__((visibility(\"default\"))) const TwKernels tw_kernels_v1 = {\n"
	           "\tTW_KERNEL_ABI, %d, tw_table\n};\n#endif\n",
	           count ? "\n" : "0", count);
}

const char *
codegen_c(Arena *arena, const Target *target, int count, Kernel *const *kernels)
{
	Map known = {.arena = arena}; /* text of a function to its index + 1 */
	int *function = NEW_N(arena, int, count + 1);
	Buf bodies = {.arena = arena};
	for (int i = 0; i < count; i++) {
		pass_Flatten(kernels[i], NULL); /* for texts, and passes chosen by hand */
		pass_PlaceRegisters(kernels[i], NULL);
		if (!kernels[i]->is_normal)
			pass_Normalize(kernels[i], NULL);
		Emit em = {.arena = arena,
		           .target = target,
		           .kernel = kernels[i],
		           .ctx = kernels[i]->ctx,
		           .lanes.arena = arena};
		Work work = work_begin(&kernels[i]->loc, NULL);
		const char *plain = kernel_text(&em, true);
		work_end(work);
		uintptr_t same = (uintptr_t)map_find(&known, plain);
		function[i] = same ? (int)same - 1 : i;
		if (same)
			continue;
		map_set(&known, plain, (void *)(uintptr_t)(i + 1));
		char *name = arena_printf(arena, "k%d_%s", i, kernels[i]->name);
		for (char *c = name; *c; c++)
			if (!isalnum((unsigned char)*c))
				*c = '_';
		buf_printf(&bodies, "\n#if TW_IN(%d)\n", i);
		print_ancestry(&bodies, kernels[i]);
		buf_printf(&bodies, "TW_BODY\n%s%s\n", name, kernel_text(&em, false));
		print_wrapper(&bodies, i, name, kernels[i]);
		buf_puts(&bodies, "#endif\n");
	}
	print_table(&bodies, count, function);
	Buf out = {.arena = arena};
	buf_printf(&out, "/* Kernels for %s. Compile freestanding: see README. */\n%s",
	           target->device->name, FRAME);
	prelude_print(&out, target, buf_text(&bodies));
	buf_puts(&out, buf_text(&bodies));
	return buf_text(&out);
}
