/* Graphs and plans as pictures for dot -Tsvg. */
#include "cli/page/net.h"
#include "cli/page/page.h"
#include "cli/report/report.h"

static void
begin(Buf *dot)
{
	buf_puts(
		dot,
		"digraph {\n  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=11];\n");
}

/* ---- graphs ---- */

static const char *
box_type(Arena *arena, const NetBox *box)
{
	const Value *value = box->node && box->node->noutput ? box->node->outputs[0] : box->value;
	return value ? type_text(arena, &value->type) : "";
}

void
graph_dot(Buf *dot, const Graph *graph)
{
	Arena *arena = dot->arena;
	const Net *net = net_new(arena, graph);
	begin(dot);
	for (int i = 0; i < net->boxes.count; i++) {
		const NetBox *box = &net->boxes.data[i];
		buf_printf(dot, "  n%d [label=", i);
		buf_quote(dot, arena_printf(arena, "%s\n%s\n%s", net_word(arena, box), net_name(box),
		                            box_type(arena, box)));
		buf_puts(dot, box->value ? ", style=filled];\n" : "];\n");
		IntVec inputs = net_inputs(net, box);
		for (int k = 0; k < inputs.count; k++)
			buf_printf(dot, "  n%d -> n%d;\n", inputs.data[k], i);
	}
	buf_puts(dot, "}\n");
}

/* ---- plans ---- */

/* Who wrote what lies in a buffer last: a step; -1: nobody in this plan. */
static void
put_reads(Buf *dot, const Plan *plan, const PlanStep *step, const char *name, const char *prefix,
          const int *writers)
{
	for (int k = 0; k < step->narg - step->noutput; k++) {
		int writer = step->args[k] >= 0 ? writers[plan_root(plan, step->args[k])] : -1;
		if (writer >= 0)
			buf_printf(dot, "  %s%d -> %s;\n", prefix, writer, name);
	}
}

static void
put_steps(Buf *dot, const Plan *plan, const char *prefix)
{
	Arena *arena = dot->arena;
	int *writers = NEW_N(arena, int, plan->nbuffer + 1);
	for (int b = 0; b < plan->nbuffer; b++)
		writers[b] = -1;
	for (int i = 0; i < plan->nstep; i++) {
		const PlanStep *step = &plan->steps[i];
		const char *name = arena_printf(arena, "%s%d", prefix, i);
		buf_printf(dot, "  %s [label=", name);
		buf_quote(dot, arena_printf(arena, "%d %s %s\n%s\n%s", i, plan_step_words[step->kind],
		                            step->row ? step->row : "", step->name ? step->name : "",
		                            result_text(arena, plan, step)));
		buf_puts(dot, step->kind == PT_VENDOR ? ", style=\"rounded,filled\"];\n" : "];\n");
		put_reads(dot, plan, step, name, prefix, writers);
		for (int k = step->narg - step->noutput; k < step->narg; k++)
			if (step->args[k] >= 0)
				writers[plan_root(plan, step->args[k])] = i;
		for (int k = 0; k < step->nbody; k++) {
			const char *inner = arena_printf(arena, "%s_%d_", name, k);
			buf_printf(dot, "  subgraph cluster_%s {\n", inner);
			put_steps(dot, step->bodies[k], inner);
			buf_puts(dot, "  }\n");
			if (step->bodies[k]->nstep)
				buf_printf(dot, "  %s -> %s0 [style=dashed];\n", name, inner);
		}
	}
}

void
plan_dot(Buf *dot, const Plan *plan)
{
	begin(dot);
	put_steps(dot, plan, "s");
	buf_puts(dot, "}\n");
}
