/* Kernels as functions: the names of things, and a function for each distinct kernel. */
#include <ctype.h>
#include <string.h>

#include "codegen/c/emit.h"
#include "tir/loops/loops.h"
#include "tir/text.h"

/* ---- names ----------------------------------------------------------------------------------- */

static bool
is_reserved(const Emit *em, const char *name)
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
	for (const char *const *word = em->dialect->reserved; word && *word; word++)
		if (strcmp(*word, name) == 0)
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
	if (isdigit((unsigned char)base[0]) || base[0] == '_' || is_reserved(em, base))
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
	                 buffer->may_alias ? "" : em->dialect->restricted);
}

void
emit_parameters(Emit *em)
{
	const Kernel *kernel = em->kernel;
	for (int i = 0; i < kernel->buffers.count; i++) {
		const Buffer *buffer = kernel->buffers.data[i];
		buf_printf(em->out, "%s%s, ", parameter_type(em, buffer), name_of(em, &buffer->tensor));
	}
	for (int i = 0; i < kernel->symbols.count; i++)
		buf_printf(em->out, "const tw_i64 %s, ", name_of(em, kernel->symbols.data[i]));
}

static void
emit_function(Emit *em)
{
	em->next_name = 0;
	em->depth = 1;
	em->vector = NULL;
	em->facts = facts_new(em->ctx, em->arena);
	em->dialect->head(em);
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

/* A comment cannot end early or hold strange characters. */
void
print_ancestry(Buf *out, const Kernel *kernel)
{
	const char *words = kernel->ancestry ? kernel->ancestry : kernel->name;
	buf_puts(out, "/* ");
	for (; *words; words++)
		buf_putc(out,
		         (*words == '/' && out->data[out->size - 1] == '*') || *words < ' ' ? ' ' : *words);
	buf_puts(out, " */\n");
}

void
emit_kernels(Buf *out, const Target *target, const Dialect *dialect, int count,
             Kernel *const *kernels, int *function)
{
	Arena *kept = arena_new_in(out->arena, "kernels' texts");
	Arena *arena = arena_new_in(out->arena, "a kernel's text");
	Map known = {.arena = kept}; /* text of a function to its index + 1 */
	for (int i = 0; i < count; i++) {
		arena_reset(arena);
		pass_Flatten(kernels[i], NULL); /* for texts, and passes chosen by hand */
		pass_PlaceRegisters(kernels[i], NULL);
		if (!kernels[i]->is_normal)
			pass_Normalize(kernels[i], NULL);
		Emit em = {.arena = arena,
		           .dialect = dialect,
		           .target = target,
		           .kernel = kernels[i],
		           .ctx = kernels[i]->ctx,
		           .lanes.arena = arena};
		Work work = work_begin(&kernels[i]->loc, NULL);
		const char *plain = kernel_text(&em, true);
		work_end(work);
		uintptr_t same = (uintptr_t)map_find(&known, plain);
		function[i] = same ? (int)same - 1 : i;
		kernels[i]->function = kernels[function[i]]->function;
		if (same)
			continue;
		map_set(&known, arena_strdup(kept, plain), (void *)(uintptr_t)(i + 1));
		char *name = arena_printf(out->arena, "k%d_%s", i, kernels[i]->name);
		for (char *c = name; *c; c++)
			if (!isalnum((unsigned char)*c))
				*c = '_';
		kernels[i]->function = name;
		dialect->function(out, i, name, kernels[i], kernel_text(&em, false));
	}
	arena_reset(arena);
	arena_reset(kept);
}
