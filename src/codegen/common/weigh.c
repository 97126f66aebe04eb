/* How much code a kernel has become, told from the compiler's assembly.
 *
 *     k3_conv:                    instructions of kernel 3
 *     .L5:                        a loop: a jump goes back to this label
 *             vmovups (%rax), …   counts 8, in two loops 64
 *             jne     .L5
 *
 * What is a label, an instruction or a jump is the same for all assemblers that compilers speak to:
 * labels end in a colon, directives begin with a dot, and what names a label that stands above it
 * is a jump back. How often loops run is not known; so a number says something beside that of
 * another code for the same kernel only.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "codegen/common/codegen.h"

enum { PER_LOOP = 8, MAX_DEPTH = 8 };

/* A function's instructions are numbered; labels have the number of the next one. */
typedef struct Weighing {
	Arena *arena;
	int count;  /* of instructions so far */
	Map labels; /* to their number + 1 */
	Map last;   /* label to the last jump back to it */
} Weighing;

/* "k12_name:" and what compilers make of the name; -1: no kernel's body. */
static int
kernel_of_label(const char *line)
{
	char *end;
	if (line[0] != 'k' || !isdigit((unsigned char)line[1]))
		return -1;
	long number = strtol(line + 1, &end, 10);
	return *end == '_' ? (int)number : -1;
}

/* The word that names a label of this function, at the end of an instruction. */
static void
note_jump(Weighing *w, const char *line, size_t length)
{
	size_t from = length;
	while (from > 0 && !isspace((unsigned char)line[from - 1]) && line[from - 1] != ',')
		from--;
	const char *word = arena_strndup(w->arena, line + from, length - from);
	if (map_find(&w->labels, word))
		map_set(&w->last, word, (void *)(uintptr_t)(w->count + 1));
}

static void
add_weight(const Weighing *w, CodeWeight *weight)
{
	int *change = NEW_N(w->arena, int, w->count + 2);
	for (int i = 0; i < w->last.count; i++) {
		uintptr_t from = (uintptr_t)map_find(&w->labels, w->last.entries[i].name);
		change[from - 1]++;
		change[(uintptr_t)w->last.entries[i].value]--;
	}
	weight->loops += w->last.count;
	for (int i = 0, depth = 0; i < w->count; i++) {
		double one = 1;
		depth += change[i];
		weight->depth = depth > weight->depth ? depth : weight->depth;
		for (int d = 0; d < depth && d < MAX_DEPTH; d++)
			one *= PER_LOOP;
		weight->instructions += one;
	}
}

static void
begin_function(Weighing *w)
{
	w->count = 0;
	w->labels = w->last = (Map){.arena = w->arena};
}

/* Kernels of one text share a function: the table at the end of the text says whose. */
static void
share_weights(const char *text, int count, CodeWeight *weights)
{
	static const char table[] = "tw_table[", entry[] = " tw_k";
	const char *at = strstr(text, table);
	for (int i = 0; at && i < count; i++) {
		at = strstr(at, entry);
		if (!at)
			return;
		at += strlen(entry);
		int function = atoi(at);
		if (function >= 0 && function < i)
			weights[i] = weights[function];
	}
}

void
codegen_weigh(Arena *arena, const Target *target, const char *text, int count, CodeWeight *weights)
{
	Weighing w = {.arena = arena_new_in(arena, "weighing")};
	int kernel = -1;
	memset(weights, 0, (size_t)count * sizeof *weights);
	begin_function(&w);
	for (const char *line = codegen_assembly(w.arena, target, text), *next; *line; line = next) {
		size_t length = strcspn(line, "\n");
		next = line + length + (line[length] == '\n');
		if (length > 0 && line[length - 1] == ':') {
			bool is_local = line[0] == '.';
			if (!is_local && kernel >= 0 && kernel < count)
				add_weight(&w, &weights[kernel]);
			if (!is_local) {
				kernel = kernel_of_label(line);
				begin_function(&w);
			}
			const char *label = arena_strndup(w.arena, line, length - 1);
			map_set(&w.labels, label, (void *)(uintptr_t)(w.count + 1));
		} else if (line[0] == '\t' && line[1] != '.') {
			note_jump(&w, line, length);
			w.count++;
		}
	}
	if (kernel >= 0 && kernel < count)
		add_weight(&w, &weights[kernel]);
	arena_reset(w.arena);
	share_weights(text, count, weights);
}

bool
codegen_is_heavier(const CodeWeight *a, const CodeWeight *b)
{
	return a->loops == b->loops && a->depth == b->depth && a->instructions > b->instructions;
}
