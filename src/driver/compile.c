/* tilewright compile: the whole compiler on one page.
 *
 *     read → graph passes → lower, which runs the program passes of each group → loop passes, the
 *          last two where they help
 *          → plan → C → machine code → bundle → prove
 *
 * Each target goes its own way from the model on, because layouts and vendor calls differ; weights
 * are stored once.
 */
#include "driver/compile.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "driver/choices.h"
#include "driver/history.h"
#include "driver/measure/beside.h"
#include "driver/measure/native.h"
#include "driver/measure/oracle.h"
#include "driver/measure/trial.h"
#include "driver/obstacles.h"
#include "driver/parts.h"
#include "driver/progress.h"
#include "driver/proof/finish.h"
#include "driver/proof/session.h"
#include "driver/sizes/inputs.h"
#include "driver/sizes/learn.h"
#include "driver/sizes/sizes.h"
#include "driver/slow.h"
#include "driver/texts.h"
#include "graph/infer.h"
#include "lower/lower.h"
#include "runtime/tilewright.h"
#include "target/ask.h"

/* Seconds by the clock, for --timings: where they go besides passes. */
typedef struct Spent {
	double reading; /* the model, its types, the sizes to choose at */
	double passes;  /* and what they measure */
	double kernels; /* compiling them, and writing the bundle */
	double ours;    /* our kernels beside the library's calls */
	double proving; /* and the self-test's sample */
} Spent;

typedef struct Compilation {
	Options options;
	Arena *arena;
	const char *path; /* of the model */
	Bytes bytes;
	const Graph *given;   /* the model where it is no file */
	const char *draft;    /* where the bundle is made, until it is proved */
	Made *made;           /* of each target; the first decides what is said of the model */
	const char *sha256;   /* of its bytes */
	Map denied;           /* choices that proving found wrong */
	Map beaten;           /* calls that our kernels beat, and better scripts, of the first target */
	bool is_recalled;     /* they were found so before */
	Map *folded;          /* what follows from weights, of all its bundles */
	int taken;            /* of the choices of --choices */
	Graph *model;         /* as read */
	PassContext *context; /* of the first target */
	const Module *module; /* of that */
	Buf choices;
	const char *row; /* of the target that has it measured */
	Progress *progress;
	Spent *spent;
	Compiled result;
} Compilation;

const Module *
compile_to_loops(Arena *arena, Graph *graph, PassContext *context)
{
	const ObstacleVec before = graph_refuse_sizes(graph);
	run_graph_passes(graph, context);
	graph_refuse_obstacles(graph, &before);
	return lower_graph(arena, graph, context);
}

const Module *
compile_graph(Arena *arena, Graph *graph, PassContext *context)
{
	const Module *module = compile_to_loops(arena, graph, context);
	run_loop_passes(module, context);
	verify_all_texts(context, graph, module);
	return module;
}

static void
deny_all(PassContext *context, const Map *denied)
{
	for (int i = 0; i < denied->count; i++)
		map_set(&context->recorded, denied->entries[i].name, denied->entries[i].value);
}

static void
compile_trial(const Options *options, Arena *arena, const Graph *graph, const char *output)
{
	compile_given(options, arena, graph, output);
}

Target *
target_new(const Options *options, Arena *arena, const char *name, const Graph *graph)
{
	Learnt learnt = demands_learn(arena, graph, sizes_asked(options, arena, graph));
	const Binding *sizes = sizes_typical(options, arena, graph, &learnt);
	return target_at(options, arena, name, sizes, compile_trial);
}

static void recall_beaten(Compilation *c, PassContext *context);

static BundleTarget
compile_target(Compilation *c, int index)
{
	double start = now_seconds();
	Graph *graph = c->given ? graph_clone(c->arena, c->given)
	                        : model_read_bytes(&c->options, c->arena, c->path, c->bytes);
	graph_infer(graph); /* symbols that must be equal, or numbers, are so before sizes are chosen */
	PassContext *context = pipeline_new(&c->options, c->arena, 3);
	Made *made = &c->made[index];
	made->compiled = graph;
	made->asked = sizes_asked(&c->options, c->arena, graph);
	made->learnt = demands_learn(c->arena, graph, made->asked);
	const Binding *sizes = sizes_typical(&c->options, c->arena, graph, &made->learnt);
	made->ranges = input_ranges(c->arena, graph, sizes, &made->learnt.runs[0].values);
	Target *chosen =
		target_at(&c->options, c->arena, target_name(&c->options, index), sizes, compile_trial);
	native_correct(&c->options, c->arena, target_name(&c->options, index), context->level, chosen);
	c->row = chosen->row ? chosen->row : c->row;
	chosen->is_trial = c->given != NULL;
	made->device = chosen->device;
	context->target = chosen;
	context->folded = c->folded;
	context->progress = progress_show;
	context->progress_arg = c->progress;
	oracle_watch(context->target->oracle, c->progress);
	deny_all(context, &c->denied);
	if (index == 0) {
		context->before = c->denied.count == 0 ? c->context : NULL;
		recall_beaten(c, context);
		deny_all(context, &c->beaten);
		c->model = graph_clone(c->arena, graph);
		if (c->options.shape.count)
			c->result.broken = demands_broken(c->arena, graph, &made->learnt.demands, sizes);
		c->context = context;
	}
	double read = now_seconds();
	BundleTarget target = {context->target, compile_graph(c->arena, graph, context), NULL};
	c->spent->reading += read - start;
	c->spent->passes += now_seconds() - read;
	c->module = index == 0 ? target.module : c->module;
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

typedef struct Simulating {
	Arena *arena;
	const char *path;
	BundleInput input;
} Simulating;

static void
write_stand_in(void *arg)
{
	Simulating *simulating = arg;
	bundle_write(simulating->arena, simulating->path, &simulating->input);
}

/* What proves a target whose device is not here: the same module, its kernels' text compiled for
 * this machine. Where that cannot be, the reason is the proof's. */
static StandIn
simulate(Compilation *c, const BundleInput *input, int index)
{
	const char *name = input->targets[index].target->device->simulator;
	bool is_asked = !c->options.prove || strcmp(c->options.prove, "none") != 0;
	if (!name || !is_asked)
		return (StandIn){0};
	Target target = *input->targets[index].target;
	BundleTarget only = input->targets[index];
	target.device = device_find(name);
	only.target = &target;
	StandIn stand_in = {.path = file_draft(c->arena, c->result.path), .target = name};
	Simulating simulating = {c->arena, stand_in.path, *input};
	simulating.input.ntarget = 1;
	simulating.input.targets = &only;
	Failure failure;
	if (!try_run(write_stand_in, &simulating, &failure))
		stand_in.trouble =
			arena_printf(c->arena, "its kernels cannot be simulated: %s", failure.text);
	return stand_in;
}

/* Compile for all targets and write, without the choices that are denied. */
static void
write_bundle(Compilation *c)
{
	int count = target_count(&c->options);
	BundleTarget *targets = NEW_N(c->arena, BundleTarget, count);
	c->made = NEW_N(c->arena, Made, count);
	c->row = NULL;
	c->choices = (Buf){.arena = c->arena};
	for (int i = 0; i < count; i++)
		targets[i] = compile_target(c, i);
	if (c->options.choices && !c->given && c->options.rewrites < 0)
		choices_check(&c->options, c->path, c->context->recorded.count - c->denied.count, c->taken);
	const Binding *sizes = c->context->target->probe;
	const Made *first = &c->made[0];
	const char *entry = sizes_text(c->arena, first->compiled, sizes, &first->learnt.demands);
	c->result.sizes = sizes_read(c->arena, c->path, bytes_of(entry));
	c->result.assumed = graph_assumed_text(c->arena, c->model);
	c->result.sizes_entry = entry;
	const History history = history_of(c->arena, c->context);
	BundlePart parts[] = {text_part(HISTORY_ENTRY, history_text(c->arena, &history)),
	                      text_part(INPUTS_ENTRY, input_ranges_text(c->arena, &first->ranges)),
	                      text_part(SIZES_ENTRY, entry)};
	BundleInput input = {
		.producer = arena_printf(c->arena, "tilewright %s", tw_version_text()),
		.model_name = model_name(c->arena, c->path),
		.model_sha256 = c->sha256,
		.pipeline = pipeline_text(c->arena, c->context),
		.ntarget = count,
		.targets = targets,
		.choices = choices_text(c->arena, c->row, &c->choices),
		.npart = (int)countof(parts),
		.parts = parts,
		.progress = progress_show,
		.progress_arg = c->progress,
	};
	c->result.slow = slow_steps(c->arena, c->context, targets[0].module);
	c->result.nodes_before = graph_node_count(c->model);
	c->result.nodes_after = graph_node_count(first->compiled);
	double start = now_seconds();
	c->result.written = bundle_write(c->arena, c->draft, &input);
	c->spent->kernels += now_seconds() - start;
	for (int i = 0; i < count; i++)
		c->made[i].stand_in = simulate(c, &input, i);
}

/* Finish what was written, and compile until the result is proved: choices that were found wrong
 * are denied, and in the end all are. */
static void
prove(Compilation *c)
{
	enum { ATTEMPTS = 4 };
	for (int attempt = 1;; attempt++) {
		double start = now_seconds();
		const Finish finish = {.path = c->draft,
		                       .place = c->result.path,
		                       .name = model_name(c->arena, c->path),
		                       .model = c->model,
		                       .count = target_count(&c->options),
		                       .made = c->made,
		                       .written = &c->result.written};
		c->result.finished = finish_bundle(&c->options, c->arena, &finish);
		c->spent->proving += now_seconds() - start;
		const ProofResult *wrong = proofs_wrong(&c->result.finished.proofs);
		if (!wrong)
			break;
		bool is_new = attempt < ATTEMPTS && proof_deny(c->arena, wrong, &c->denied);
		proof_warn(c->arena, c->path, wrong, is_new, c->options.level);
		c->options.level = is_new ? c->options.level : 0;
		write_bundle(c);
	}
}

/* ---- our kernels instead of the library's calls, and which of them --------------------------- */

/* Whether these are measured in the model: where times are measured at all. */
static bool
tries_ours(const Compilation *c)
{
	bool is_asked = !c->options.tune || strcmp(c->options.tune, "none") != 0;
	return is_asked && c->context->level >= LEVEL_MEASURED && !c->given && !c->options.choices &&
	       c->context->target->oracle;
}

static bool
is_full(const Compilation *c)
{
	return c->options.tune && strcmp(c->options.tune, "full") == 0;
}

static const char *
question_of(Compilation *c, bool is_looked_long)
{
	Buf buf = {.arena = c->arena};
	buf_printf(&buf, "beside 2 %s%s %s", is_looked_long ? "full" : "quick",
	           c->context->is_strict ? " strict" : "", c->sha256);
	if (c->options.values)
		buf_printf(&buf, " values %s", c->options.values);
	for (int i = 0; i < c->options.shape.count; i++)
		buf_printf(&buf, " %s", c->options.shape.data[i]);
	return buf_text(&buf);
}

static void
recall_beaten(Compilation *c, PassContext *context)
{
	c->context = context;
	if (!tries_ours(c) || c->is_recalled)
		return;
	const char *known = ask_recall(context, question_of(c, true));
	if (!known && !is_full(c))
		known = ask_recall(context, question_of(c, false));
	if (!known)
		return;
	c->is_recalled = true;
	beside_recall(c->arena, known, &c->beaten);
}

/* Another bundle of the same model, with these choices too. */
static Compilation *
compile_with(const Compilation *c, const Map *choices)
{
	Compilation *other = arena_memdup(c->arena, c, sizeof *c);
	other->beaten = (Map){.arena = c->arena};
	other->is_recalled = true;
	other->draft = file_draft(c->arena, c->result.path);
	for (int i = 0; i < c->beaten.count; i++)
		map_set(&other->beaten, c->beaten.entries[i].name, c->beaten.entries[i].value);
	for (int i = 0; i < choices->count; i++)
		map_set(&other->beaten, choices->entries[i].name, choices->entries[i].value);
	write_bundle(other);
	return other;
}

/* And without the first `count` of these calls. */
static Compilation *
compile_without(const Compilation *c, const Beside *beside, int count)
{
	Map denied = {.arena = c->arena};
	beside_deny(c->arena, beside, count, &denied);
	return compile_with(c, &denied);
}

/* A model that runs so long is tried only where much is promised: each try takes runs. */
static const double LONG_SECONDS = 0.3;

/* A share of a run that is worth a try. */
static const double WORTH_TRYING = 0.02;

enum { MOST_BUNDLES = 4 };

/* Whether what the first `count` nodes gain is worth a try, when this share of the time of our
 * kernels may be saved besides. */
static bool
is_promising(const Beside *beside, int count, double share)
{
	double gain = 0;
	for (int i = 0; i < count; i++)
		gain += beside->rivals[i].library - (1 - share) * beside->rivals[i].ours;
	return count > 0 && gain > WORTH_TRYING * beside->run;
}

/* Whether to try it without any call: our kernels alone have the storage that they would choose. */
static bool
may_win_alone(const Beside *beside)
{
	static const double STORAGE = 0.12; /* what that is worth */
	return beside->faster < beside->count &&
	       is_promising(beside, beside->count, beside->run < LONG_SECONDS ? STORAGE : 0);
}

static int
count_choices(const Map *choices, const char *kind)
{
	int count = 0;
	for (int i = 0; i < choices->count; i++)
		count += strncmp(choices->entries[i].name, kind, strlen(kind)) == 0;
	return count;
}

/* "our kernels in the place of 3 library calls, other scripts for 1 kernel: …" */
static const char *
ours_text(Arena *arena, const Map *choices, double now, double before)
{
	int calls = count_choices(choices, "deny vendor "), tiles = count_choices(choices, "tile ");
	Buf buf = {.arena = arena};
	if (calls)
		buf_printf(&buf, "our kernel%s in the place of %d library call%s", calls == 1 ? "" : "s",
		           calls, calls == 1 ? "" : "s");
	if (tiles)
		buf_printf(&buf, "%sother scripts for %d kernel%s", calls ? ", " : "", tiles,
		           tiles == 1 ? "" : "s");
	buf_printf(&buf, ": %.3f ms a run, %.3f ms without", now * 1e3, before * 1e3);
	return buf_text(&buf);
}

/* Take the fastest of these, the first of which is `c` itself; whether it is another one. */
static bool
take_fastest(Compilation *c, int count, Compilation *const *bundles, bool *noisy)
{
	const char *paths[MOST_BUNDLES];
	double seconds[MOST_BUNDLES];
	for (int i = 0; i < count; i++)
		paths[i] = bundles[i]->draft;
	int best = trial_fastest(&c->options, c->arena, count, paths, seconds, noisy, c->progress);
	const Tuned tuned = c->result.tuned;
	*c = *bundles[best];
	c->result.tuned = tuned;
	if (best > 0)
		c->result.ours = ours_text(c->arena, &c->beaten, seconds[best], seconds[0]);
	return best > 0;
}

/* Without the calls that lose to our kernels, and without any. */
static int
add_denials(const Compilation *c, const Beside *beside, int count, Compilation **bundles)
{
	if (is_promising(beside, beside->faster, 0))
		bundles[count++] = compile_without(c, beside, beside->faster);
	if (may_win_alone(beside))
		bundles[count++] = compile_without(c, beside, beside->count);
	return count;
}

/* Candidates of our kernels first, then our kernels beside the library. What is faster alone has to
 * make the whole model faster, all together, or else the half of the denials that promises more. On
 * a busy machine, or where the budget was spent, it is asked again next time. */
static void
compare_ours(void *arg)
{
	Compilation *c = arg;
	Map better = {.arena = c->arena};
	Tuned *tuned = &c->result.tuned;
	*tuned = tune_measure(&c->options, c->context, c->draft, c->module, c->progress, &better);
	if (c->options.shard)
		return;
	Compilation *bundles[MOST_BUNDLES] = {c};
	int count = 1;
	bool noisy = false, is_found = false;
	if (tuned->gain > WORTH_TRYING * tuned->run)
		bundles[count++] = compile_with(c, &better);
	const Compilation *last = bundles[count - 1];
	Beside beside = {0};
	if (c->result.written.vendor > 0 && tuned->ours > WORTH_TRYING * tuned->run)
		beside = beside_measure(&c->options, c->arena, last->draft, last->module);
	count = add_denials(last, &beside, count, bundles);
	if (count > 1)
		is_found = take_fastest(c, count, bundles, &noisy);
	if (count > 1 && !is_found && beside.faster > 1 && beside.run < LONG_SECONDS) {
		bundles[1] = compile_without(last == c ? c : bundles[1], &beside, beside.faster / 2);
		is_found = take_fastest(c, 2, bundles, &noisy);
	}
	if ((is_found || !noisy) && c->result.tuned.left == 0)
		ask_remember(c->context, question_of(c, is_full(c)), beside_answer(c->arena, &c->beaten));
}

/* Whatever fails here, what was compiled stays as it is. */
static void
try_ours(Compilation *c)
{
	Compilation kept = *c;
	const Spent before = *c->spent;
	double start = now_seconds();
	if (tries_ours(c) && !c->is_recalled && !ask_try(c->context, "beside", NULL, compare_ours, c))
		*c = kept;
	*c->spent = before;
	c->spent->ours = now_seconds() - start;
}

static void
tell_spent(const Compilation *c)
{
	const struct {
		const char *what;
		double seconds;
	} rows[] = {
		{"reading", c->spent->reading},          {"passes, measuring", c->spent->passes},
		{"kernels, writing", c->spent->kernels}, {"ours or the library's", c->spent->ours},
		{"proof, self-test", c->spent->proving}, {"all", c->result.seconds},
	};
	for (size_t i = 0; i < countof(rows); i++)
		fprintf(stderr, "%-24s %8.2f ms\n", rows[i].what, rows[i].seconds * 1e3);
}

static Compiled
compile(Compilation *c)
{
	double start = now_seconds();
	Arena *arena = c->arena;
	tune_budget(&c->options); /* refused before anything is done */
	c->denied = (Map){.arena = arena};
	c->beaten = (Map){.arena = arena};
	c->folded = NEW(arena, Map);
	c->folded->arena = arena;
	c->spent = NEW(arena, Spent);
	c->progress = NEW(arena, Progress);
	*c->progress = progress_begin(&c->options);
	arena_spill(arena, file_folder(arena, c->result.path));
	if (!c->given)
		c->bytes = file_map(arena, c->path);
	c->sha256 = sha256_hex(arena, c->bytes.data, c->bytes.size);
	c->draft = file_draft(arena, c->result.path);
	write_bundle(c);
	if (!c->given) {
		try_ours(c);
		prove(c);
		proofs_require(&c->options, c->arena, c->path, &c->result.finished.proofs);
	}
	file_publish(arena, c->draft, c->result.path);
	c->result.trouble = oracle_trouble(c->context->target->oracle);
	c->result.noise = oracle_noise(c->context->target->oracle);
	progress_end(c->progress);
	if (c->options.keep)
		bundle_keep(arena, c->result.path, c->options.keep);
	arena_spill(arena, NULL);
	c->result.seconds = now_seconds() - start;
	if (c->options.timings)
		tell_spent(c);
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
