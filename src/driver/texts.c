/* Texts of the three IRs: read as a user's, and read back as ours.
 *
 * What a check of an IR finds is a bug of whoever made it; in a text that is the user, and his text
 * is invalid.
 *
 * --verify=texts: whatever a compilation goes through prints a text that reads back as itself.
 *
 *     graph  →  text  →  graph  →  text      the texts are equal, for the graph after each pass,
 *     the meaning of each of its nodes, and each kernel after the loop passes
 *
 * So a text shown by --dump-after or print can be edited and used as a test of its own.
 */
#include <string.h>

#include "driver/texts.h"
#include "graph/meaning.h"

typedef enum TextKind { TEXT_GRAPH, TEXT_EXPR, TEXT_KERNEL } TextKind;

/* ---- texts of users ---- */

typedef struct Input {
	TextKind kind;
	const Graph *graph;
	const Program *program;
	const Kernel *kernel;
} Input;

static void
check_input(void *arg)
{
	const Input *input = arg;
	if (input->kind == TEXT_GRAPH)
		graph_check(input->graph);
	else if (input->kind == TEXT_EXPR)
		program_check(input->program);
	else
		kernel_check(input->kernel);
}

static void
refuse_wrong(Input input)
{
	Failure failure;
	if (try_run(check_input, &input, &failure))
		return;
	if (failure.kind == FAIL_BUG)
		failure.kind = FAIL_INVALID;
	fail_again(&failure);
}

Graph *
text_graph(Arena *arena, const char *path, const char *text)
{
	Graph *graph = graph_parse(arena, path, text);
	refuse_wrong((Input){.kind = TEXT_GRAPH, .graph = graph});
	return graph;
}

Program *
text_program(Arena *arena, const char *path, const char *text)
{
	Program *program = program_parse(expr_ctx_new(arena), path, text);
	refuse_wrong((Input){.kind = TEXT_EXPR, .program = program});
	return program;
}

Kernel *
text_kernel(Arena *arena, const char *path, const char *text)
{
	Kernel *kernel = kernel_parse(arena, expr_ctx_new(arena), path, text);
	refuse_wrong((Input){.kind = TEXT_KERNEL, .kernel = kernel});
	return kernel;
}

/* ---- texts of ours ---- */

/* Read a text and print what was read. */
static const char *
print_again(Arena *arena, TextKind kind, const char *text)
{
	Buf again = {.arena = arena};
	if (kind == TEXT_GRAPH)
		graph_print(&again, graph_parse(arena, "text", text));
	else if (kind == TEXT_EXPR)
		program_print(&again, program_parse(expr_ctx_new(arena), "text", text));
	else
		kernel_print(&again, kernel_parse(arena, expr_ctx_new(arena), "text", text));
	return buf_text(&again);
}

typedef struct Reading {
	Arena *arena;
	TextKind kind;
	const char *text, *again;
} Reading;

static void
read_text(void *arg)
{
	Reading *reading = arg;
	reading->again = print_again(reading->arena, reading->kind, reading->text);
}

static void
check_text(Arena *arena, TextKind kind, const char *what, const char *text)
{
	Reading reading = {arena, kind, text, NULL};
	Failure failure;
	if (!try_run(read_text, &reading, &failure))
		fail_as(FAIL_BUG, NULL, "the text of %s does not read back: %s", what, failure.text);
	const char *a = text, *b = reading.again, *line = a;
	for (; *a && *a == *b; a++, b++)
		line = *a == '\n' ? a + 1 : line;
	if (*a != *b) {
		const char *other = b - (a - line);
		fail_as(FAIL_BUG, NULL, "the text of %s has '%.*s' and reads back as '%.*s'", what,
		        (int)strcspn(line, "\n"), line, (int)strcspn(other, "\n"), other);
	}
}

static void
check_meanings(Arena *arena, const Graph *graph)
{
	for (const Node *node = NULL; (node = region_step(graph->body, node));) {
		bool has_ranks = node_has_meaning(node);
		for (int i = 0; i < node->ninput; i++)
			has_ranks &= !node->inputs[i] || node->inputs[i]->type.rank >= 0;
		Program *program = has_ranks ? node_meaning(graph, node) : NULL;
		if (!program)
			continue;
		Buf buf = {.arena = arena};
		program_print(&buf, program);
		check_text(arena, TEXT_EXPR, arena_printf(arena, "the meaning of %s", node->op->name),
		           buf_text(&buf));
	}
}

static void
verify_graph_texts(const char *pass, const Graph *graph)
{
	Arena *arena = arena_new_in(graph->arena, "texts");
	Buf buf = {.arena = arena};
	graph_print(&buf, graph);
	check_text(arena, TEXT_GRAPH, arena_printf(arena, "the graph after %s", pass), buf_text(&buf));
	check_meanings(arena, graph);
	arena_reset(arena);
}

void
verify_texts(PassContext *context, PassIr ir, const void *before, const void *after)
{
	(void)before;
	if (ir == IR_graph)
		verify_graph_texts(context->running, after);
}

static void
verify_kernel_text(const Kernel *kernel)
{
	Arena *arena = arena_new_in(kernel->arena, "texts");
	Buf buf = {.arena = arena};
	kernel_print(&buf, kernel);
	check_text(arena, TEXT_KERNEL, arena_printf(arena, "kernel %s", kernel->name), buf_text(&buf));
	arena_reset(arena);
}

void
verify_all_texts(const PassContext *context, const Graph *graph, const Module *module)
{
	if (context->verify_each != verify_texts)
		return;
	verify_graph_texts("all passes", graph);
	MStepVec steps = module_steps(context->arena, module);
	for (int i = 0; i < steps.count; i++)
		if (steps.data[i]->kernel)
			verify_kernel_text(steps.data[i]->kernel);
}
