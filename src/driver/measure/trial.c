/* trial_seconds: programs as models of their own, compiled in a temporary folder, run in turns; and
 * trial_pass: a model with and without a pass, in the same way. */
#include "driver/measure/trial.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/file.h"
#include "bundle/json.h"
#include "driver/choices.h"
#include "driver/proof/session.h"
#include "graph/infer.h"
#include "passes/derived_nodes.h"

/* Long runs are not repeated as often: of a second each, noise is the smaller part. A model is one
 * question, and has the time of many. */
typedef struct Patience {
	int least, most; /* rounds */
	int fair;        /* rounds in which nothing is hopeless or decided yet: one may be disturbed */
	double enough;   /* seconds of processors of all rounds, behind the least */
} Patience;

static const Patience of_programs = {2, 4, 0, 0.5}, of_models = {1, 30, 3, 2},
					  of_bundles = {1, 16, 4, 2};

/* What so far is so much slower than the best takes no further turns; and no second run, if the
 * first, in fresh memory, is slower than the least of first runs by that again. */
static const double HOPELESS = 1.3;

/* A first run of so many seconds is a turn: fresh memory is the smaller part of it. */
static const double LONG_RUN = 0.25;

enum { TURNS_MOST = 32 };

static const double NEVER = 1e30; /* seconds of what has not run */

typedef struct Trial {
	TrialCompile *compile;
	Options options;
	Arena *arena;       /* of one program's compiling, or of one turn */
	const Graph *graph; /* NULL: of `program` */
	const Program *program;
	const bool *constant;
	const char *bundle;
	int threads;
	Session *sessions[2]; /* with one thread, and with all */
	Arena *opened[2];     /* what holds them */
	double least[2];      /* with one thread, and as runs have by default; 0: it cannot be run */
	double moved[2];      /* of that, the share of relayouts */
	double moved_now;
	double first;      /* run of this turn */
	double best_first; /* the least of these of all, with so many threads */
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
	Place place = {graph->body, NULL, &loc, 0, NULL, is_trial, NULL};
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

/* Seconds, kept if they are the least: where there is one thread those of its processor, as long on
 * a busy machine as on an idle one. */
static double
run_once(Trial *trial, Session *session, double *least)
{
	double (*clock)(void) = trial->threads == 1 ? thread_seconds : now_seconds;
	trial->moved_now = 0;
	double start = clock(), start_now = now_seconds();
	session_run(session);
	double seconds = clock() - start, passed = now_seconds() - start_now;
	if (seconds < *least) {
		*least = seconds;
		trial->moved[trial->threads == 0] = trial->moved_now / passed;
	}
	return seconds;
}

/* The least of a few runs. The first of a new session, in fresh memory, is none of them, and the
 * first of another is one if it is long: what it finds in the caches is the smaller part. */
static void
run_often(Trial *trial, Session *session, bool is_new)
{
	static const double BUDGET = 0.015;
	int which = trial->threads == 0;
	double *least = &trial->least[which], known = *least;
	trial->first = run_once(trial, session, least);
	if (is_new && trial->first > BUDGET && trial->first > HOPELESS * HOPELESS * trial->best_first)
		return;
	bool is_long = trial->first > (is_new ? LONG_RUN : BUDGET);
	double turn = is_long ? trial->first : NEVER, spent = is_long ? BUDGET : 0;
	if (!is_long)
		*least = known;
	for (int runs = is_long; runs < 1 || (spent < BUDGET && runs < 100); runs++) {
		double seconds = run_once(trial, session, least);
		turn = seconds < turn ? seconds : turn;
		spent += seconds;
	}
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
	trial->compile(&trial->options, trial->arena, graph, trial->bundle);
	trial->least[0] = trial->least[1] = NEVER;
}

static void
take_turn(void *arg)
{
	Trial *trial = arg;
	int which = trial->threads == 0;
	bool is_new = !trial->sessions[which];
	if (is_new) {
		TwSessionOptions settings = {.size = sizeof settings,
		                             .threads = trial->threads,
		                             .profile = note_step,
		                             .profile_context = trial};
		trial->opened[which] = arena_new("trial");
		trial->sessions[which] =
			session_open(trial->opened[which], trial->bundle, "trial", &trial->options, &settings);
		session_expect_end(trial->sessions[which]);
		session_inputs(trial->sessions[which], &trial->options);
	}
	run_often(trial, trial->sessions[which], is_new);
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

/* Half-way, as a factor, between the two; what is hopeless with one thread has run with no more. */
static double
seconds_of(const Trial *trial)
{
	double last = trial->least[1] < NEVER ? trial->least[1] : trial->least[0];
	return trial->least[0] > 0 ? sqrt(trial->least[0] * last) : 0;
}

static double
relayouts_of(const Trial *trial)
{
	double last = trial->least[1] < NEVER ? trial->moved[1] : trial->moved[0];
	return seconds_of(trial) * (trial->moved[0] + last) / 2;
}

/* Has not run, cannot be run, or is far slower than the best. */
static bool
is_hopeless(const Trial *trial, const double best[2])
{
	double with_one = trial->least[0] / best[0];
	double with_all = trial->least[1] < NEVER ? trial->least[1] / best[1] : with_one;
	return trial->least[0] == 0 ||
	       (trial->least[0] < NEVER && (with_one + with_all) / 2 > HOPELESS);
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

/* What is fastest so far has a median turn so much below any turn of all others, with each number
 * of threads: more rounds would say the same. */
static bool
is_decided(int count, Trial *trials, const double best[2], double margin)
{
	int fastest = -1;
	for (int i = 0; i < count; i++)
		if (trials[i].least[0] > 0 && trials[i].least[0] <= best[0] &&
		    trials[i].least[1] <= best[1])
			fastest = i;
	for (int t = 0; fastest >= 0 && t < 2; t++) {
		double median = timing_of(trials[fastest].nturn[t], trials[fastest].turns[t]).seconds;
		for (int i = 0; i < count; i++)
			if (i != fastest && trials[i].least[0] > 0 && trials[i].least[t] <= margin * median)
				return false;
	}
	return fastest >= 0;
}

/* Whether another round would change nothing. */
static bool
is_enough(int count, Trial *trials, const double best[2], Patience patience, int round,
          double seconds)
{
	double margin = patience.fair > 0 ? 1 : 1 + TIMING_NOISY;
	int open = 0;
	for (int i = 0; i < count; i++)
		open += round >= patience.fair ? !is_hopeless(&trials[i], best) : trials[i].least[0] > 0;
	return round > 0 && (open < 2 || (round >= patience.least && seconds > patience.enough) ||
	                     (round > patience.fair && is_decided(count, trials, best, margin)));
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

/* What takes turns. It is shared with the process that runs them, which may die of one. */
typedef struct Turns {
	Patience patience;
	Progress *progress;
	bool stay_open; /* sessions, from round to round */
	bool is_over;
	int count;
	int now; /* whose turn it is; -1: nobody's */
	Trial trials[];
} Turns;

/* A kernel cannot be interrupted: a turn of so many seconds ends the process, and what took it is
 * out. */
enum { TURN_MOST = 30 };

/* Bytes of bundles whose sessions are open together. */
static const double OPEN_MOST = 512e6;

static void
close_session(Trial *trial, int which)
{
	arena_free(trial->opened[which]);
	trial->opened[which] = NULL;
	trial->sessions[which] = NULL;
}

static void
take_one(Turns *turns, int t, int threads)
{
	Trial *trial = &turns->trials[t];
	trial->threads = threads;
	turns->now = t;
	alarm(TURN_MOST);
	attempt(trial, take_turn);
	alarm(0);
	turns->now = -1;
	if (!turns->stay_open)
		close_session(trial, threads == 0);
}

/* One after another in each round, so that a noise of the machine falls on all. The first, which
 * all are compared with, runs with all threads, too, however slow it is. Long runs are disturbed
 * less: their first round counts as any other does. */
static void
take_rounds(void *arg)
{
	Turns *turns = arg;
	int count = turns->count;
	Trial *trials = turns->trials;
	Patience patience = turns->patience;
	for (int i = 0; i < 2 * count; i++) { /* those of a process that died */
		trials[i / 2].sessions[i % 2] = NULL;
		trials[i / 2].opened[i % 2] = NULL;
	}
	double best[2] = {NEVER, NEVER}, first[2] = {NEVER, NEVER}, start = used_seconds();
	for (int turn = 0; turn < patience.most * count * 2; turn++) {
		int round = turn / (count * 2), which = turn / count % 2;
		Trial *trial = &trials[turn % count];
		double seconds = used_seconds() - start;
		if (round > 0 && best[0] < NEVER && best[0] > LONG_RUN)
			patience.fair = 0;
		show_turns(turns->progress, "the whole model, running", turn, patience.most * count * 2,
		           seconds / patience.enough);
		if (turn % (count * 2) == 0 && is_enough(count, trials, best, patience, round, seconds))
			break;
		bool is_new = trial == trials && trial->least[which] == NEVER;
		if (trial->least[0] == 0 || (round >= patience.fair && !is_new && is_hopeless(trial, best)))
			continue;
		trial->best_first = first[which];
		take_one(turns, turn % count, 1 - which);
		if (trial->least[0] == 0)
			continue;
		first[which] = trial->first < first[which] ? trial->first : first[which];
		best[which] = trial->least[which] < best[which] ? trial->least[which] : best[which];
	}
	for (int i = 0; i < 2 * count; i++)
		close_session(&trials[i / 2], i % 2);
	turns->is_over = true;
}

static double
bundle_bytes(Arena *arena, const char *path)
{
	return (double)file_map(arena, path).size;
}

/* In a process of their own, where sessions stay open as far as they fit into memory. */
static void
take_turns(int count, Trial *trials, Patience patience, Progress *progress)
{
	static const double HOURS = 1e5;
	size_t size = (size_t)count * sizeof *trials;
	Turns *turns =
		mmap(NULL, sizeof *turns + size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (turns == MAP_FAILED)
		fail_environment(NULL, "out of memory");
	double bytes = 0;
	for (int i = 0; i < count; i++)
		bytes += trials[i].least[0] > 0 ? bundle_bytes(trials[i].arena, trials[i].bundle) : 0;
	*turns = (Turns){
		.patience = patience, .progress = progress, .stay_open = bytes < OPEN_MOST, .count = count};
	memcpy(turns->trials, trials, size);
	for (const char *why; !turns->is_over;) {
		turns->now = -1;
		if (run_limited(HOURS, take_rounds, turns, &turns->is_over, sizeof turns->is_over, &why))
			break;
		for (int i = 0; i < count; i++) /* who died, or all if nobody is to blame */
			if (i == turns->now || turns->now < 0)
				turns->trials[i].least[0] = 0;
		turns->is_over = turns->now < 0;
	}
	memcpy(trials, turns->trials, size);
	munmap(turns, sizeof *turns + size);
}

static Options
trial_options(const Options *given, Arena *arena, const char *target)
{
	Options options = *given;
	options.quiet = true;
	options.json = options.log = options.timings = false;
	options.prove = "none";
	options.no_prepack = true;
	options.rewrites = -1;
	options.keep = options.choices = options.dump_after = options.verify = NULL;
	options.shape = options.fix = options.given_schedules = (StrVec){0};
	options.target = (StrVec){0};
	options.disable = strings_copy(arena, &given->disable);
	vec_push(arena, &options.target, target);
	return options;
}

bool
trial_seconds(const Options *options, Arena *arena, const char *target, TrialCompile *compile,
              int count, const Program *const *programs, const bool *constant, double *seconds,
              double *relayouts)
{
	Arena *kept = arena_new_in(arena, "trials"), *passing = arena_new_in(arena, "trial");
	const char *folder = file_temporary_folder(kept);
	Trial *trials = NEW_N(kept, Trial, count);
	for (int i = 0; i < count; i++) {
		trials[i] = (Trial){.compile = compile,
		                    .options = trial_options(options, kept, target),
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
		relayouts[i] = relayouts_of(&trials[i]);
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
	for (int i = 0; i < choices->count; i++)
		json_put(&buf, "{'key': %s, 'chosen': %s, 'candidates': ''}\n", choices->entries[i].name,
		         (const char *)choices->entries[i].value);
	const char *text = choices_text(arena, NULL, &buf);
	file_write(arena, path, text ? text : "", text ? strlen(text) : 0);
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
trial_pass(const Options *options, Arena *arena, const char *target, TrialCompile *compile,
           const TrialModel *model, double without[2], double with[2], bool *noisy)
{
	Arena *kept = arena_new_in(arena, "trials"), *passing = arena_new_in(arena, "trial");
	const char *folder = file_temporary_folder(kept);
	Trial trials[2];
	for (int i = 0; i < 2; i++) {
		trials[i] = (Trial){.compile = compile,
		                    .options = trial_options(options, kept, target),
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

/* With one number of threads its median turn is below any turn of the first; and with none it is
 * slower by more than noise, which is the same the other way round. */
static bool
is_clearly_faster(Trial *trial, Trial *first)
{
	static const double EQUAL = 1.01;
	bool is_clear = false;
	for (int t = 0; t < 2; t++) {
		double median = timing_of(trial->nturn[t], trial->turns[t]).seconds;
		double before = timing_of(first->nturn[t], first->turns[t]).seconds;
		if (trial->turns[t][0] > before && median > EQUAL * before) /* they are sorted now */
			return false;
		is_clear |= median < first->turns[t][0];
	}
	return is_clear;
}

int
trial_fastest(const Options *options, Arena *arena, int count, const char *const *paths,
              double *seconds, bool *noisy, Progress *progress)
{
	Arena *kept = arena_new_in(arena, "trials"), *passing = arena_new_in(arena, "trial");
	Trial *trials = NEW_N(kept, Trial, count);
	int best = 0;
	for (int i = 0; i < count; i++) {
		trials[i] = (Trial){
			.options = *options, .arena = passing, .bundle = paths[i], .least = {NEVER, NEVER}};
		trials[i].options.quiet = true;
	}
	take_turns(count, trials, of_bundles, progress);
	for (int i = 0; i < count; i++) {
		seconds[i] = seconds_of(&trials[i]);
		bool runs = trials[0].least[0] > 0 && trials[i].least[0] > 0;
		if (i > 0 && runs && is_clearly_faster(&trials[i], &trials[0]) &&
		    seconds[i] < seconds[best])
			best = i;
	}
	*noisy = is_noisy(count, trials);
	arena_reset(kept);
	return best;
}
