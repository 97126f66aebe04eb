/* tilewright compile: the whole compiler on one page.
 *
 *     read → graph passes → lower, which runs the program passes of each group → loop passes, the
 *          last two where they help
 *          → plan → C → machine code → bundle → prove
 *
 * Each target goes its own way from the model on, because layouts and vendor calls differ; weights
 * are stored once.
 */
#include "cli/compile.h"

#include <string.h>

#include "base/clock.h"
#include "cli/choices.h"
#include "cli/finish.h"
#include "cli/inputs.h"
#include "cli/obstacles.h"
#include "cli/oracle.h"
#include "cli/parts.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/sizes.h"
#include "cli/slow.h"
#include "graph/infer.h"
#include "lower/lower.h"
#include "runtime/tilewright.h"

typedef struct Compilation {
	Options options;
	Arena *arena;
	const char *path; /* of the model */
	Bytes bytes;
	const Graph *given;    /* the model where it is no file */
	const char *draft;     /* where the bundle is made, until it is proved */
	Map denied;            /* choices that proving found wrong */
	int taken;             /* of the choices of --choices */
	Graph *model;          /* as read */
	const Graph *compiled; /* for the first target, behind its passes */
	const Binding *asked;  /* --shape's sizes of that */
	Learnt learnt;         /* what it runs with */
	InputRanges ranges;    /* of its inputs */
	PassContext *context;  /* of that */
	Buf choices;
	Progress progress;
	Compiled result;
} Compilation;

const Module *
compile_graph(Arena *arena, Graph *graph, PassContext *context)
{
	graph_refuse_sizes(graph);
	run_graph_passes(graph, context);
	graph_refuse_obstacles(graph);
	Module *module = lower_graph(arena, graph, context);
	run_loop_passes(module, context);
	verify_all_texts(context, graph, module);
	return module;
}

static BundleTarget
compile_target(Compilation *c, int index)
{
	Graph *graph = c->given ? graph_clone(c->arena, c->given)
	                        : model_read_bytes(&c->options, c->arena, c->path, c->bytes);
	graph_infer(graph); /* symbols that must be equal, or numbers, are so before sizes are chosen */
	PassContext *context = pipeline_new(&c->options, c->arena, 3);
	const Binding *asked = sizes_asked(&c->options, c->arena, graph);
	Learnt learnt = demands_learn(c->arena, graph, asked);
	const Binding *sizes = sizes_typical(&c->options, c->arena, graph, &learnt);
	Target *chosen = target_at(&c->options, c->arena, target_name(&c->options, index), sizes);
	chosen->is_trial = c->given != NULL;
	context->target = chosen;
	context->progress = progress_show;
	context->progress_arg = &c->progress;
	oracle_watch(context->target->oracle, &c->progress);
	for (int i = 0; i < c->denied.count; i++)
		map_set(&context->recorded, c->denied.entries[i].name, c->denied.entries[i].value);
	if (index == 0) {
		c->model = graph_clone(c->arena, graph);
		c->compiled = graph;
		c->asked = asked;
		c->learnt = learnt;
		c->ranges = input_ranges(c->arena, graph, sizes, &learnt.runs[0].values);
		if (c->options.shape.count)
			c->result.broken = demands_broken(c->arena, graph, &c->learnt.demands, sizes);
		c->context = context;
	}
	BundleTarget target = {context->target, compile_graph(c->arena, graph, context), NULL};
	Buf text = {.arena = c->arena};
	graph_print(&text, graph);
	target.graph = buf_text(&text);
	pipeline_report(&c->options, context);
	choices_write(&c->choices, &c->options, context);
	c->taken += choices_taken(context);
	return target;
}

static Bytes
bytes_of(const char *text)
{
	return (Bytes){(const unsigned char *)text, strlen(text)};
}

static BundlePart
text_part(const char *entry, const char *text)
{
	return (BundlePart){entry, bytes_of(text)};
}

/* Compile for all targets and write, without the choices that are denied. */
static void
write_bundle(Compilation *c)
{
	int count = target_count(&c->options);
	BundleTarget *targets = NEW_N(c->arena, BundleTarget, count);
	c->choices = (Buf){.arena = c->arena};
	for (int i = 0; i < count; i++)
		targets[i] = compile_target(c, i);
	if (c->options.choices && !c->given)
		choices_check(&c->options, c->path, c->context->recorded.count - c->denied.count, c->taken);
	const Binding *sizes = c->context->target->probe;
	const char *entry = sizes_text(c->arena, c->compiled, sizes, &c->learnt.demands);
	c->result.sizes = sizes_read(c->arena, c->path, bytes_of(entry));
	c->result.sizes_entry = entry;
	BundlePart parts[] = {text_part(INPUTS_ENTRY, input_ranges_text(c->arena, &c->ranges)),
	                      text_part(SIZES_ENTRY, entry)};
	BundleInput input = {
		.producer = arena_printf(c->arena, "tilewright %s", tw_version_text()),
		.model_name = model_name(c->arena, c->path),
		.model_sha256 = sha256_hex(c->arena, c->bytes.data, c->bytes.size),
		.pipeline = pipeline_text(c->arena, c->context),
		.ntarget = count,
		.targets = targets,
		.choices = c->choices.size ? buf_text(&c->choices) : NULL,
		.npart = (int)countof(parts),
		.parts = parts,
		.progress = progress_show,
		.progress_arg = &c->progress,
	};
	c->result.slow = slow_steps(c->arena, c->context, targets[0].module);
	c->result.nodes_before = graph_node_count(c->model);
	c->result.nodes_after = graph_node_count(c->compiled);
	c->result.written = bundle_write(c->arena, c->draft, &input);
}

/* Compile until the result is proved: choices that were found wrong are denied, and in the end all
 * are. */
static void
compile_proved(Compilation *c)
{
	enum { ATTEMPTS = 4 };
	const ProofResult *proof = &c->result.finished.proof;
	for (int attempt = 1;; attempt++) {
		write_bundle(c);
		c->result.finished = finish_bundle(
			&c->options, c->arena,
			&(Finish){c->draft, c->result.path, model_name(c->arena, c->path), c->model,
		              c->compiled, c->asked, &c->learnt, &c->ranges, &c->result.written});
		if (!proof_failed(proof))
			break;
		bool is_new = attempt < ATTEMPTS && proof_deny(c->arena, proof, &c->denied);
		proof_warn(c->arena, c->path, proof, is_new, c->options.level);
		c->options.level = is_new ? c->options.level : 0;
	}
}

static Compiled
compile(Compilation *c)
{
	double start = now_seconds();
	Arena *arena = c->arena;
	c->denied = (Map){.arena = arena};
	c->progress = progress_begin(&c->options);
	arena_spill(arena, file_folder(arena, c->result.path));
	if (!c->given)
		c->bytes = file_map(arena, c->path);
	c->draft = file_draft(arena, c->result.path);
	if (c->given) {
		write_bundle(c);
	} else {
		compile_proved(c);
		proof_require(&c->options, c->arena, c->path, &c->result.finished.proof);
	}
	file_publish(arena, c->draft, c->result.path);
	c->result.trouble = oracle_trouble(c->context->target->oracle);
	c->result.noise = oracle_noise(c->context->target->oracle);
	progress_end(&c->progress);
	if (c->options.keep)
		bundle_keep(arena, c->result.path, c->options.keep);
	arena_spill(arena, NULL);
	c->result.seconds = now_seconds() - start;
	return c->result;
}

Compiled
compile_file(const Options *options, Arena *arena, const char *path, const char *output)
{
	Compilation c = {
		.options = *options,
		.arena = arena,
		.path = path,
		.result.path = output ? output : bundle_name(arena, path),
	};
	return compile(&c);
}

Compiled
compile_given(const Options *options, Arena *arena, const Graph *graph, const char *output)
{
	Compilation c = {
		.options = *options,
		.arena = arena,
		.path = graph->name,
		.bytes = {(const unsigned char *)"", 0},
		.given = graph,
		.result.path = output,
	};
	return compile(&c);
}
