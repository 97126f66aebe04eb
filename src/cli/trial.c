/* trial_seconds: programs as models of their own, compiled in a temporary folder, run in turns; and
 * trial_pass: a model with and without a pass, in the same way. */
#include "cli/trial.h"

#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/limit.h"
#include "cli/choices.h"
#include "cli/compile.h"
#include "cli/session.h"
#include "graph/infer.h"
#include "passes/derived_nodes.h"
#include "runtime/json.h"

/* Long runs are not repeated as often: of a second each, noise is the smaller part. A model is one
 * question, and has the time of many. */
typedef struct Patience {
	int least, most; /* rounds */
	int fair;        /* rounds in which nothing is hopeless or decided yet: one may be disturbed */
	double enough;   /* seconds of all rounds, behind the least */
} Patience;

static const Patience of_programs = {2, 4, 0, 1.5}, of_models = {1, 30, 3, 8};

/* What so far is so much slower than the best takes no further turns; and no second run, if the
 * first, in fresh memory, is slower than that again. */
static const double HOPELESS = 1.3;

enum { TURNS_MOST = 32 };

static const double NEVER = 1e30; /* seconds of what has not run */

typedef struct Trial {
	Options options;
	Arena *arena;       /* of one program's compiling, or of one turn */
	const Graph *graph; /* NULL: of `program` */
	const Program *program;
	const bool *constant;
	const char *bundle;
	int threads;
	double least[2]; /* with one thread, and as runs have by default; 0: it cannot be run */
	double moved[2]; /* of that, in relayouts */
	double moved_now;
	double best; /* the least of all at so many threads */
	int nturn[2];
	double turns[2][TURNS_MOST]; /* the least of each turn */
} Trial;

Graph *
trial_graph(Arena *arena, const Program *program, const bool *constant, bool is_trial)
{
	Graph *graph = graph_new(arena, "derived", "derived");
	program = program_import(graph->ctx, program, NULL);
	Value **inputs = NEW_N(arena, Value *, program->ninput + 1);
	for (int i = 0; i < program->ninput; i++) {
		const Tensor *t = program->inputs[i];
		Type type = type_tensor(t->type, t->rank, t->hi);
		const char *name = graph_fresh_name(graph, t->name);
		const Array *data = derived_made_up(arena, &type);
		if (!data)
			return NULL;
		inputs[i] =
			constant[i] ? graph_constant(graph, name, data) : graph_input(graph, name, &type);
	}
	Loc loc = {.file = "derived", .node = "derived"};
	Place place = {graph->body, NULL, &loc, 0, NULL, is_trial};
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

/* Seconds, kept if they are the least. */
static double
run_once(Trial *trial, Session *session, double *least)
{
	trial->moved_now = 0;
	double start = now_seconds();
	session_run(session);
	double seconds = now_seconds() - start;
	if (seconds < *least) {
		*least = seconds;
		trial->moved[trial->threads == 0] = trial->moved_now;
	}
	return seconds;
}

/* The least of a few runs behind the first. */
static void
run_often(Trial *trial, Session *session)
{
	static const double BUDGET = 0.015;
	double *least = &trial->least[trial->threads == 0], known = *least, spent = 0;
	double first = run_once(trial, session, least);
	if (first > BUDGET && first > HOPELESS * HOPELESS * trial->best)
		return;
	*least = known;
	double turn = NEVER;
	for (int runs = 0; runs < 1 || (spent < BUDGET && runs < 100); runs++) {
		double seconds = run_once(trial, session, least);
		turn = seconds < turn ? seconds : turn;
		spent += seconds;
	}
	int which = trial->threads == 0;
	if (trial->nturn[which] < TURNS_MOST)
		trial->turns[which][trial->nturn[which]++] = turn;
}

static void
compile_trial(void *arg)
{
	Trial *trial = arg;
	const Graph *graph = trial->graph
	                         ? trial->graph
	                         : trial_graph(trial->arena, trial->program, trial->constant, true);
	if (!graph)
		return;
	compile_given(&trial->options, trial->arena, graph, trial->bundle);
	trial->least[0] = trial->least[1] = NEVER;
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

/* A turn of so many seconds is ended, and what took it is out. */
static const double TURN_MOST = 30;

/* One that fails is out; nothing of it stays in memory. */
static void
attempt(Trial *trial, void (*step)(void *))
{
	Failure failure;
	if (!try_run(step, trial, &failure))
		trial->least[0] = 0;
	arena_reset(trial->arena);
}

static void
turn_aside(void *arg)
{
	attempt(arg, take_turn);
}

/* A kernel cannot be interrupted: a turn is taken in a process of its own. */
static void
take_limited(Trial *trial)
{
	const char *why;
	if (!run_limited(TURN_MOST, turn_aside, trial, trial, sizeof *trial, &why))
		trial->least[0] = 0;
}

/* Half-way between the two; what is hopeless with one thread has run with no more. */
static double
seconds_of(const Trial *trial)
{
	double last = trial->least[1] < NEVER ? trial->least[1] : trial->least[0];
	return trial->least[0] > 0 ? (trial->least[0] + last) / 2 : 0;
}

static bool
is_hopeless(const Trial *trial, const double best[2])
{
	bool is_done = trial->least[1] < NEVER;
	double seconds = trial->least[0] + (is_done ? trial->least[1] : 0);
	double least = best[0] + (is_done ? best[1] : 0);
	return trial->least[0] < NEVER && seconds > HOPELESS * least;
}

/* Repeated turns of the fastest differ by more than it and the next do. */
static bool
is_noisy(int count, Trial *trials)
{
	Trial *best = NULL;
	double next = NEVER;
	for (int i = 0; i < count; i++)
		if (trials[i].least[0] > 0 && (!best || seconds_of(&trials[i]) < seconds_of(best)))
			best = &trials[i];
	for (int i = 0; best && i < count; i++)
		if (trials[i].least[0] > 0 && &trials[i] != best && seconds_of(&trials[i]) < next)
			next = seconds_of(&trials[i]);
	for (int t = 0; best && t < 2; t++) {
		double spread = timing_of(best->nturn[t], best->turns[t]).spread;
		if (spread >= TIMING_NOISY && spread > next / seconds_of(best) - 1)
			return true;
	}
	return false;
}

/* What is fastest so far has a median turn below any turn of all others, with each number of
 * threads: more rounds would say the same. */
static bool
is_decided(int count, Trial *trials, const double best[2])
{
	int fastest = -1;
	for (int i = 0; i < count; i++)
		if (trials[i].least[0] > 0 && trials[i].least[0] <= best[0] &&
		    trials[i].least[1] <= best[1])
			fastest = i;
	for (int t = 0; fastest >= 0 && t < 2; t++) {
		double median = timing_of(trials[fastest].nturn[t], trials[fastest].turns[t]).seconds;
		for (int i = 0; i < count; i++)
			if (i != fastest && trials[i].least[0] > 0 && trials[i].least[t] <= median)
				return false;
	}
	return fastest >= 0;
}

/* In hundredths: by turns, or by time, whichever ends first. */
static void
show_turns(Progress *progress, const char *what, int turn, int all, double share)
{
	double done = (double)turn / all;
	done = done > share ? done : share;
	if (progress)
		progress_show(progress, what, done < 1 ? (int)(100 * done) : 100, 100);
}

/* One after another in each round, so that a noise of the machine falls on all; one is open at a
 * time, because together they may not fit in memory. */
static void
take_turns(int count, Trial *trials, Patience patience, Progress *progress)
{
	double best[2] = {NEVER, NEVER}, start = now_seconds();
	for (int turn = 0; turn < patience.most * count * 2; turn++) {
		int round = turn / (count * 2), threads = 1 - turn % 2;
		Trial *trial = &trials[turn / 2 % count];
		show_turns(progress, "deriving: the whole model, running", turn, patience.most * count * 2,
		           (now_seconds() - start) / patience.enough);
		bool is_new = turn % (count * 2) == 0;
		if (is_new && round >= patience.least && now_seconds() - start > patience.enough)
			return;
		if (is_new && patience.fair > 0 && round > patience.fair && is_decided(count, trials, best))
			return;
		if (trial->least[0] == 0 || (round >= patience.fair && is_hopeless(trial, best)))
			continue;
		double *least = &best[threads == 0];
		trial->threads = threads;
		trial->best = *least;
		take_limited(trial);
		if (trial->least[0] > 0 && trial->least[threads == 0] < *least)
			*least = trial->least[threads == 0];
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
	return options;
}

bool
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
		vec_push(kept, &trials[i].options.disable, "DeriveExpressions");
		attempt(&trials[i], compile_trial);
	}
	take_turns(count, trials, of_programs, NULL);
	bool noisy = is_noisy(count, trials);
	for (int i = 0; i < count; i++) {
		seconds[i] = seconds_of(&trials[i]);
		relayouts[i] = (trials[i].moved[0] + trials[i].moved[1]) / 2;
	}
	arena_reset(kept);
	return noisy;
}

/* ---- models ---------------------------------------------------------------------------------- */

/* As a choices.jsonl: what is recorded is not asked. */
static const char *
write_choices(Arena *arena, const char *folder, const Map *choices)
{
	Buf buf = {.arena = arena};
	const char *path = arena_printf(arena, "%s/choices.jsonl", folder);
	choices_begin(&buf);
	for (int i = 0; i < choices->count; i++)
		json_put(&buf, "{'key': %s, 'chosen': %s, 'candidates': ''}\n", choices->entries[i].name,
		         (const char *)choices->entries[i].value);
	file_write(arena, path, buf_text(&buf), buf.size);
	return path;
}

static void
take_sizes(Arena *arena, Options *options, const TrialModel *model)
{
	const Graph *graph = model->graph;
	for (int i = 0; model->sizes && i < graph->symbols.count; i++) {
		const Symbol *symbol = graph->symbols.data[i].symbol;
		if (symbol->id < model->sizes->count && model->sizes->is_bound[symbol->id])
			vec_push(arena, &options->shape,
			         arena_printf(arena, "%s=%lld", symbol->name,
			                      (long long)model->sizes->value[symbol->id]));
	}
}

bool
trial_pass(const Options *options, Arena *arena, const char *target, const TrialModel *model,
           double without[2], double with[2], bool *noisy)
{
	Arena *kept = arena_new_in(arena, "trials"), *passing = arena_new_in(arena, "trial");
	const char *folder = file_temporary_folder(kept);
	Trial trials[2];
	for (int i = 0; i < 2; i++) {
		trials[i] = (Trial){.options = trial_options(options, kept, target),
		                    .arena = passing,
		                    .graph = model->graph,
		                    .bundle = arena_printf(kept, "%s/trial%d.twb", folder, i)};
		trials[i].options.arena = passing;
		take_sizes(kept, &trials[i].options, model);
	}
	vec_push(kept, &trials[0].options.disable, model->pass);
	trials[1].options.choices = write_choices(kept, folder, model->choices);
	for (int i = 0; i < 2; i++) {
		if (model->progress)
			progress_show(model->progress, "deriving: the whole model, compiling", i, 2);
		attempt(&trials[i], compile_trial);
	}
	take_turns(2, trials, of_models, model->progress);
	*noisy = is_noisy(2, trials);
	for (int t = 0; t < 2; t++) {
		without[t] = trials[0].least[t];
		with[t] = trials[1].least[t];
	}
	bool is_done = trials[0].least[0] > 0 && trials[1].least[0] > 0;
	arena_reset(kept);
	return is_done;
}
