/* Exec: a program of a user's as a pass, exec:./mypass.
 *
 * It reads the graph's text on standard input and writes all of it again, changed or not, on
 * standard output: `weight N` stands for the data of this number, which it never sees. Its result
 * is read, inferred and checked as anyone's text, and has the inputs and outputs of the graph.
 * What it says on standard error is noted. It may run several times in a compilation.
 *
 * needs    nothing
 * keeps    inputs, outputs; what the program keeps
 * breaks   what the program breaks: --verify each finds it
 */
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/filter.h"
#include "graph/infer.h"
#include "passes/passes.h"

typedef struct Exec {
	Graph *graph;
	const char *text; /* what the program wrote */
	Graph *before;
} Exec;

/* "f32[N,3] %x": ends must be these still. */
static const char *
ends_text(Arena *arena, const Region *body, bool is_input)
{
	Buf text = {.arena = arena};
	int count = is_input ? body->nparam : body->nresult;
	for (int i = 0; i < count; i++) {
		const Value *value = is_input ? body->params[i] : body->results[i];
		buf_printf(&text, "%s%%%s", i ? ", " : "", value->name);
		if (is_input)
			buf_printf(&text, ": %s", type_text(arena, &value->type));
	}
	return buf_text(&text);
}

static void
check_ends(const Exec *exec, bool is_input)
{
	Arena *arena = exec->graph->arena;
	const char *before = ends_text(arena, exec->before->body, is_input);
	const char *after = ends_text(arena, exec->graph->body, is_input);
	if (strcmp(before, after) != 0)
		fail(NULL, "the %s became (%s), and must stay (%s)", is_input ? "inputs" : "outputs", after,
		     before);
}

static void
take(void *arg)
{
	const Exec *exec = arg;
	graph_replace(exec->graph, "its output", exec->text);
	check_ends(exec, true);
	check_ends(exec, false);
	graph_sort(exec->graph);
	graph_infer(exec->graph);
	graph_check(exec->graph);
}

static const char *
node_text(Arena *arena, const Node *node)
{
	Buf text = {.arena = arena};
	node_print(&text, node);
	return buf_text(&text);
}

/* Names of the nodes that `other` has not, or has otherwise. */
static const char *
names_beside(Arena *arena, const Graph *graph, const Graph *other)
{
	Map texts = {.arena = arena};
	Buf names = {.arena = arena};
	for (const Node *node = NULL; (node = region_step(other->body, node));)
		map_count(&texts, node_text(arena, node));
	for (const Node *node = NULL; (node = region_step(graph->body, node));)
		if (!map_find(&texts, node_text(arena, node)))
			buf_printf(&names, "%s%s", names.size ? ", " : "", node_called(node));
	return buf_text(&names);
}

static _Noreturn void
fail_program(FailKind kind, const char *name, const char *why, const char *said)
{
	fail_as(kind, NULL, "%s: %s%s%s", name, why, *said ? "; it says: " : "", said);
}

bool
pass_Exec(Graph *graph, PassContext *context)
{
	Arena *arena = graph->arena;
	const char *name = context->running;
	int64_t seconds = pass_config_int(context, "Exec.seconds", 60);
	Buf text = {.arena = arena};
	graph_number_weights(graph);
	graph_print(&text, graph);
	Filtered done = filter_run(arena, strchr(name, ':') + 1, buf_text(&text), (double)seconds);
	if (!done.text)
		fail_program(FAIL_ENVIRONMENT, name, done.why, done.said);
	if (*done.said)
		pass_note(context, "says", done.said, NULL, NULL);
	if (strcmp(done.text, buf_text(&text)) == 0)
		return false;
	Failure failure;
	Exec exec = {graph, done.text, graph_clone(arena, graph)};
	if (!try_run(take, &exec, &failure))
		fail_program(FAIL_INVALID, name, failure.text, done.said);
	pass_log(context, "rewrites", names_beside(arena, exec.before, graph),
	         names_beside(arena, graph, exec.before), NULL);
	return true;
}
