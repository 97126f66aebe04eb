/* trial_seconds: programs as models of their own, compiled in a temporary folder, run in turns. */
#include "cli/trial.h"

#include <string.h>

#include "base/clock.h"
#include "cli/compile.h"
#include "cli/session.h"
#include "graph/infer.h"
#include "passes/derived_nodes.h"

enum { ROUNDS = 4, LEAST_ROUNDS = 2 };

/* Long runs are not repeated as often: of a second each, noise is the smaller part. */
static const double ENOUGH = 1.5; /* seconds of all rounds */

/* What the first round shows to be so much slower takes no further turns. */
static const double HOPELESS = 1.5;

typedef struct Trial {
	Options options;
	Arena *arena; /* of one program's compiling, or of one turn */
	const Program *program;
	const bool *constant;
	const char *bundle;
	int threads;
	double least[2]; /* with one thread, and as runs have by default; 0: it cannot be run */
	double moved[2]; /* of that, in relayouts */
	double moved_now;
} Trial;

/* Small numbers: denormals would be slow, and zeros say nothing. */
static const Array *
made_up(Arena *arena, const Type *type)
{
	int64_t dims[ARRAY_MAX_RANK];
	for (int d = 0; d < type->rank; d++)
		if (!dim_is_const(type->dims[d], &dims[d]))
			return NULL;
	Array *array = array_new(arena, type->dtype, type->rank, dims);
	for (int64_t k = 0; k < array_count(array); k++)
		dtype_store_f64(array->type, array->data, k, (double)(k * 37 % 101 - 50) / 64);
	return array;
}

Graph *
trial_graph(Arena *arena, const Program *program, const bool *constant)
{
	Graph *graph = graph_new(arena, "derived", "derived");
	program = program_import(graph->ctx, program, NULL);
	Value **inputs = NEW_N(arena, Value *, program->ninput + 1);
	for (int i = 0; i < program->ninput; i++) {
		const Tensor *t = program->inputs[i];
		Type type = type_tensor(t->type, t->rank, t->hi);
		const char *name = graph_fresh_name(graph, t->name);
		const Array *data = made_up(arena, &type);
		if (!data)
			return NULL;
		inputs[i] =
			constant[i] ? graph_constant(graph, name, data) : graph_input(graph, name, &type);
	}
	Loc loc = {.file = "derived", .node = "derived"};
	Place place = {graph->body, NULL, &loc, 0, NULL};
	const char *why;
	Value **results = NEW_N(arena, Value *, program->noutput + 1);
	if (!derived_nodes(graph, &place, program, inputs, constant, results, &why))
		return NULL;
	graph_set_outputs(graph, program->noutput, results);
	return graph;
}

/* A library's steps that compute nothing bring values into another storage. */
static void
note_step(void *context, const TwStep *step)
{
	Trial *trial = context;
	if (strcmp(step->kind, "vendor") == 0 && step->flops == 0)
		trial->moved_now += step->seconds;
}

/* The least of a few runs. */
static void
run_often(Trial *trial, Session *session)
{
	static const double BUDGET = 0.015;
	double *least = &trial->least[trial->threads == 0], *moved = &trial->moved[trial->threads == 0];
	double spent = 0;
	session_run(session);
	for (int runs = 0; runs < 1 || (spent < BUDGET && runs < 100); runs++) {
		trial->moved_now = 0;
		double start = now_seconds();
		session_run(session);
		double seconds = now_seconds() - start;
		if (seconds < *least) {
			*least = seconds;
			*moved = trial->moved_now;
		}
		spent += seconds;
	}
}

static void
compile_trial(void *arg)
{
	Trial *trial = arg;
	Graph *graph = trial_graph(trial->arena, trial->program, trial->constant);
	if (!graph)
		return;
	compile_given(&trial->options, trial->arena, graph, trial->bundle);
	trial->least[0] = trial->least[1] = 1e30;
}

static void
take_turn(void *arg)
{
	Trial *trial = arg;
	TwSessionOptions settings = {.size = sizeof settings,
	                             .threads = trial->threads,
	                             .profile = note_step,
	                             .profile_context = trial};
	Session *session =
		session_open(trial->arena, trial->bundle, "trial", &trial->options, &settings);
	session_inputs(session, &trial->options);
	run_often(trial, session);
}

/* One that fails is out; nothing of it stays in memory. */
static void
attempt(Trial *trial, void (*step)(void *))
{
	Failure failure;
	if (!try_run(step, trial, &failure))
		trial->least[0] = 0;
	arena_reset(trial->arena);
}

/* Half-way between the two. */
static double
seconds_of(const Trial *trial)
{
	return trial->least[0] > 0 ? (trial->least[0] + trial->least[1]) / 2 : 0;
}

/* One after another in each round, so that a noise of the machine falls on all; one is open at a
 * time, because together they may not fit in memory. */
static void
take_turns(int count, Trial *trials)
{
	double best = 1e30, start = now_seconds();
	for (int round = 0; round < ROUNDS; round++) {
		if (round >= LEAST_ROUNDS && now_seconds() - start > ENOUGH)
			return;
		for (int i = 0; i < count; i++)
			for (int threads = 1; threads >= 0; threads--) {
				Trial *trial = &trials[i];
				trial->threads = threads;
				if (trial->least[0] > 0 && (round == 0 || seconds_of(trial) <= HOPELESS * best))
					attempt(trial, take_turn);
			}
		for (int i = 0; i < count; i++)
			if (trials[i].least[0] > 0 && seconds_of(&trials[i]) < best)
				best = seconds_of(&trials[i]);
	}
}

static Options
trial_options(const Options *given, Arena *arena, const char *target)
{
	Options options = *given;
	options.quiet = true;
	options.json = options.log = options.timings = false;
	options.prove = "none";
	options.no_prepack = true;
	options.keep = options.choices = options.dump_after = options.verify = NULL;
	options.shape = options.fix = options.given_schedules = (StrVec){0};
	options.target = options.disable = (StrVec){0};
	vec_push(arena, &options.target, target);
	for (int i = 0; i < given->disable.count; i++)
		vec_push(arena, &options.disable, given->disable.data[i]);
	vec_push(arena, &options.disable, "DeriveExpressions");
	return options;
}

void
trial_seconds(const Options *options, Arena *arena, const char *target, int count,
              const Program *const *programs, const bool *constant, double *seconds,
              double *relayouts)
{
	Arena *kept = arena_new_in(arena, "trials"), *passing = arena_new_in(arena, "trial");
	const char *folder = file_temporary_folder(kept);
	Trial *trials = NEW_N(kept, Trial, count);
	for (int i = 0; i < count; i++) {
		trials[i] = (Trial){.options = trial_options(options, kept, target),
		                    .arena = passing,
		                    .program = programs[i],
		                    .constant = constant,
		                    .bundle = arena_printf(kept, "%s/trial%d.twb", folder, i)};
		trials[i].options.arena = passing;
		attempt(&trials[i], compile_trial);
	}
	take_turns(count, trials);
	for (int i = 0; i < count; i++) {
		seconds[i] = seconds_of(&trials[i]);
		relayouts[i] = (trials[i].moved[0] + trials[i].moved[1]) / 2;
	}
	arena_reset(kept);
}
