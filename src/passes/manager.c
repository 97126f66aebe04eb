/* The pass manager: one table, one loop.
 *
 * A pass is a row of passes.def and a function pass_NAME(); this file finds rows, decides which are
 * enabled (disabled wins, then required, then the level), runs them in the order of the table,
 * checks, dumps and times after each, and keeps the rewrite log.
 */
#include "passes/manager.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "graph/infer.h"
#include "passes/passes.h"

#define ROW_graph(fn) .graph = fn
#define ROW_loop(fn) .loop = fn
#define PASS(ir_, name_, level_, portability_, numerics_, doc_) \
	{.name = #name_, \
	 .ir = PASS_##ir_, \
	 .level = level_, \
	 .portability = PORT_##portability_, \
	 .numerics = NUM_##numerics_, \
	 .doc = doc_, \
	 ROW_##ir_(pass_##name_)},
static const PassInfo passes[] = {
#include "passes/passes.def"
};
#undef PASS

const PassInfo *
pass_at(int index)
{
	return index >= 0 && index < (int)countof(passes) ? &passes[index] : NULL;
}

const PassInfo *
pass_find(const char *name)
{
	for (size_t i = 0; i < countof(passes); i++)
		if (strcasecmp(passes[i].name, name) == 0)
			return &passes[i];
	return NULL;
}

static bool
list_has(const StrVec *list, const char *name)
{
	for (int i = 0; i < list->count; i++)
		if (strcasecmp(list->data[i], name) == 0)
			return true;
	return false;
}

bool
pass_enabled(const PassContext *context, const PassInfo *pass)
{
	if (list_has(&context->disabled, pass->name))
		return false;
	if (context->only.count > 0)
		return list_has(&context->only, pass->name);
	if (list_has(&context->required, pass->name))
		return true;
	return pass->level <= context->level && pass->numerics != NUM_approximate;
}

/* Names that share most letters with a wrong one, for the message. */
static const char *
near_names(Arena *arena, const char *wrong)
{
	Buf buf = {.arena = arena};
	for (size_t i = 0; i < countof(passes); i++)
		if (tolower(passes[i].name[0]) == tolower(wrong[0]))
			buf_printf(&buf, "%s%s", buf.size ? ", " : "", passes[i].name);
	if (buf.size)
		return buf_text(&buf);
	for (size_t i = 0; i < countof(passes); i++)
		buf_printf(&buf, "%s%s", buf.size ? ", " : "", passes[i].name);
	return buf_text(&buf);
}

static void
check_names(const PassContext *context, const StrVec *names)
{
	for (int i = 0; i < names->count; i++)
		if (!pass_find(names->data[i]))
			fail_as(FAIL_USAGE, NULL, "no pass is called '%s'; near it: %s", names->data[i],
			        near_names(context->arena, names->data[i]));
}

void
pass_context_check(const PassContext *context)
{
	check_names(context, &context->required);
	check_names(context, &context->disabled);
	check_names(context, &context->only);
	for (int i = 0; i < context->config.count; i++) {
		const char *key = context->config.entries[i].name, *dot = strchr(key, '.');
		const char *pass = dot ? arena_strndup(context->arena, key, (size_t)(dot - key)) : key;
		if (!dot || !pass_find(pass))
			fail_as(FAIL_USAGE, NULL, "--config %s: expected PASS.key=value; passes near it: %s",
			        key, near_names(context->arena, key));
	}
}

static double
now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int
region_nodes(const Region *region)
{
	int count = 0;
	for (const Node *node = region->first; node; node = node->next) {
		count++;
		for (int i = 0; i < node->nregion && node->op->code != OP_fused; i++)
			count += region_nodes(node->regions[i]);
	}
	return count;
}

int
graph_node_count(const Graph *graph)
{
	return region_nodes(graph->body);
}

static bool
dump_wanted(const PassContext *context, const PassInfo *pass)
{
	const char *which = context->dump_after;
	return which && (strcmp(which, "all") == 0 || strcasecmp(which, pass->name) == 0);
}

/* ---- what the outside sees ---- */

typedef struct Signature {
	int ninput, count; /* inputs, then outputs */
	const char **names;
	Type *types;
} Signature;

static Signature
signature_of(Arena *arena, const Graph *graph)
{
	const Region *body = graph->body;
	Signature s = {.ninput = body->nparam, .count = body->nparam + body->nresult};
	s.names = NEW_N(arena, const char *, s.count + 1);
	s.types = NEW_N(arena, Type, s.count + 1);
	for (int i = 0; i < s.count; i++) {
		const Value *value = i < s.ninput ? body->params[i] : body->results[i - s.ninput];
		s.names[i] = value->name;
		s.types[i] = value->type;
	}
	return s;
}

/* Dims may become better known, never others. */
static bool
keeps_type(const Type *before, const Type *after)
{
	int64_t a, b;
	if (before->kind != TYPE_TENSOR || before->dtype == DT_NONE)
		return true;
	if (after->kind != TYPE_TENSOR || after->dtype != before->dtype ||
	    (before->rank >= 0 && after->rank != before->rank))
		return false;
	for (int d = 0; d < before->rank; d++)
		if (dim_is_const(before->dims[d], &a) && (!dim_is_const(after->dims[d], &b) || a != b))
			return false;
	return true;
}

/* Names, order and types of inputs and outputs are the model's, whatever a pass did. */
static void
check_signature(const Graph *graph, PassContext *context, const Signature *before)
{
	Signature after = signature_of(context->arena, graph);
	if (after.ninput != before->ninput || after.count != before->count)
		fail_as(FAIL_BUG, &(Loc){.file = graph->file},
		        "pass %s: %d inputs and %d outputs became %d "
		        "and %d",
		        context->running, before->ninput, before->count - before->ninput, after.ninput,
		        after.count - after.ninput);
	for (int i = 0; i < after.count; i++) {
		const char *what = i < after.ninput ? "input" : "output";
		if (strcmp(before->names[i], after.names[i]) != 0)
			fail_as(FAIL_BUG, &(Loc){.file = graph->file}, "pass %s: %s '%s' has become '%s'",
			        context->running, what, before->names[i], after.names[i]);
		if (!keeps_type(&before->types[i], &after.types[i]))
			fail_as(FAIL_BUG, &(Loc){.file = graph->file}, "pass %s: %s '%s' has another type",
			        context->running, what, before->names[i]);
	}
}

static void
run_graph_pass(Graph *graph, PassContext *context, const PassInfo *pass)
{
	Signature signature = signature_of(context->arena, graph);
	PassTiming timing = {.pass = pass->name, .nodes_before = graph_node_count(graph)};
	Arena *before_arena = context->verify_each ? arena_new_in(context->arena, "verify") : NULL;
	Graph *before = before_arena ? graph_clone(before_arena, graph) : NULL;
	Work work = work_begin(&(Loc){.file = graph->file}, pass->name);
	double start = now();

	context->running = pass->name;
	timing.changed = pass->graph(graph, context);
	timing.seconds = now() - start;
	timing.nodes_after = graph_node_count(graph);
	vec_push(context->arena, &context->timings, timing);

	check_signature(graph, context, &signature);
	if (context->verify)
		graph_check(graph);
	if (before && timing.changed)
		context->verify_each(context->verify_arg, pass->name, before, graph);
	if (dump_wanted(context, pass) && context->dump)
		context->dump(context->dump_arg, pass->name, graph, timing.changed);
	if (before_arena)
		arena_reset(before_arena);
	context->running = NULL;
	work_end(work);
}

void
run_graph_passes(Graph *graph, PassContext *context)
{
	pass_context_check(context);
	graph_infer(graph);            /* what every pass needs */
	if (context->only.count > 0) { /* exactly these, in the order given */
		for (int i = 0; i < context->only.count; i++) {
			const PassInfo *pass = pass_find(context->only.data[i]);
			if (pass->ir == PASS_graph && pass_enabled(context, pass))
				run_graph_pass(graph, context, pass);
		}
		return;
	}
	for (size_t i = 0; i < countof(passes); i++) {
		if (passes[i].ir != PASS_graph || !pass_enabled(context, &passes[i]))
			continue;
		if (context->progress)
			context->progress(context->progress_arg, passes[i].name, (int)i, (int)countof(passes));
		run_graph_pass(graph, context, &passes[i]);
	}
}

void
run_kernel_passes(Kernel *kernel, PassContext *context)
{
	for (size_t i = 0; i < countof(passes); i++) {
		bool is_optional = passes[i].level > 0;
		if (passes[i].ir != PASS_loop || !pass_enabled(context, &passes[i]) ||
		    (kernel->is_plain && is_optional))
			continue;
		context->running = passes[i].name;
		Work work = work_begin(&kernel->loc, passes[i].name);
		passes[i].loop(kernel, context);
		if (context->verify)
			kernel_check(kernel);
		work_end(work);
	}
	context->running = NULL;
}

void
run_loop_passes(const Module *module, PassContext *context)
{
	for (int i = 0; i < module->steps.count; i++) {
		const MStep *step = module->steps.data[i];
		if (step->kernel)
			run_kernel_passes(step->kernel, context);
		for (int k = 0; k < step->nbody; k++)
			run_loop_passes(step->bodies[k], context);
	}
}
