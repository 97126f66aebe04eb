/* beside_measure: which calls of a library take longer than our kernels do, in the model itself.
 *
 *     for 1 thread, and for as many as runs have by default, in three rounds:
 *         a session with the library    the least time of each call in some runs
 *         a session without it          the same of its fallback kernel
 *
 * Timed alone, a call finds its operands in caches; here it finds what the step before it left.
 * Nodes that ask the library for the same are one subject: their times are added up. Our kernels
 * run on the storage that the library wanted; what they would choose themselves is tried as a whole
 * model (compile.c).
 */
#include "driver/measure/beside.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "driver/proof/session.h"
#include "graph/graph.h"

enum { ROUNDS = 3, SIDES = 2, TEAMS = 2, RUNS_MOST = 50 };

/* Of a turn; of all rounds, behind the first; and a first run of so many is not repeated: what it
 * makes anew is the smaller part. */
static const double TURN_SECONDS = 0.015, ENOUGH_SECONDS = 2, LONG_SECONDS = 0.1;

/* To be faster by less is to be equally fast. */
static const double WORTH = 0.97;

static const double NEVER = 1e30; /* seconds of what has not run */

/* Nodes that ask for the same. */
typedef struct Subject {
	int count;
	double now;                         /* of the run that goes on, of all these nodes */
	double least[TEAMS][SIDES];         /* of the turn that goes on */
	double turns[TEAMS][SIDES][ROUNDS]; /* of each turn */
} Subject;

typedef struct Part {
	const char *value;
	Subject *subject;
} Part;

typedef struct Race {
	Arena *arena;
	const Options *options;
	const char *bundle;
	const Module *module;
	Map nodes;    /* MStep.source -> its Subject */
	Map subjects; /* what is asked -> Subject */
	VEC(Part) parts;
	int rounds; /* that were run */
	double run; /* the least time of all steps with the library and one thread */
} Race;

/* ---- who takes part ---- */

/* A reorder has no kernel that could be better: what it brings into another storage is there. */
static bool
takes_part(const MStep *step)
{
	return step->plan.kind == PT_VENDOR && step->plan.flops > 0 && step->kernel && step->source;
}

/* All that the calls of one node ask for. */
static const char *
question_of(Arena *arena, const MStepVec *steps, const void *source)
{
	Buf buf = {.arena = arena};
	for (int i = 0; i < steps->count; i++)
		if (steps->data[i]->source == source && takes_part(steps->data[i]))
			buf_printf(&buf, "%s\n", steps->data[i]->question);
	return buf_text(&buf);
}

static const char *
first_result(const Node *node)
{
	int i = 0;
	while (!node->outputs[i])
		i++;
	return node->outputs[i]->name;
}

static void
find_parts(Race *race)
{
	MStepVec steps = module_steps(race->arena, race->module);
	for (int i = 0; i < steps.count; i++) {
		const MStep *step = steps.data[i];
		if (!takes_part(step) || map_find_ptr(&race->nodes, step->source))
			continue;
		const char *question = question_of(race->arena, &steps, step->source);
		Subject *subject = map_find(&race->subjects, question);
		if (!subject) {
			subject = NEW(race->arena, Subject);
			map_set(&race->subjects, question, subject);
		}
		subject->count++;
		map_set_ptr(&race->nodes, step->source, subject);
		vec_push(race->arena, &race->parts, ((Part){first_result(step->source), subject}));
	}
}

/* ---- turns ---- */

/* The step of a plan at this depth; plans have the steps of their modules, in order. */
static const MStep *
step_at(const Module *module, const TwStep *seen, int depth)
{
	if (seen->depth == depth) {
		const MStep *step =
			seen->index < module->steps.count ? module->steps.data[seen->index] : NULL;
		return step && strcmp(step->plan.name, seen->name) == 0 ? step : NULL;
	}
	for (int i = 0; i < module->steps.count; i++)
		for (int k = 0; k < module->steps.data[i]->plan.nbody; k++) {
			const MStep *step = step_at(module->steps.data[i]->bodies[k], seen, depth + 1);
			if (step)
				return step;
		}
	return NULL;
}

static void
note_step(void *context, const TwStep *seen)
{
	Race *race = context;
	const MStep *step = step_at(race->module, seen, 0);
	Subject *subject = step && takes_part(step) ? map_find_ptr(&race->nodes, step->source) : NULL;
	if (subject)
		subject->now += seen->seconds;
}

static void
run_once(Race *race, Session *session, int threads, int side)
{
	for (int i = 0; i < race->subjects.count; i++)
		((Subject *)race->subjects.entries[i].value)->now = 0;
	double start = now_seconds();
	session_run(session);
	double seconds = now_seconds() - start;
	if (threads == 0 && side == 0 && seconds < race->run)
		race->run = seconds;
	for (int i = 0; i < race->subjects.count; i++) {
		Subject *s = race->subjects.entries[i].value;
		if (s->now > 0 && s->now < s->least[threads][side])
			s->least[threads][side] = s->now;
	}
}

static void
forget(Race *race, int threads, int side)
{
	for (int i = 0; i < race->subjects.count; i++)
		((Subject *)race->subjects.entries[i].value)->least[threads][side] = NEVER;
}

static void
take_turn(Race *race, int threads, int side)
{
	Arena *arena = arena_new_in(race->arena, "turn");
	Options options = *race->options;
	options.quiet = true;
	options.no_vendor = side == 1;
	TwSessionOptions settings = {.size = sizeof settings,
	                             .threads = threads == 0 ? 1 : 0,
	                             .profile = note_step,
	                             .profile_context = race};
	Session *session = session_open(arena, race->bundle, "turn", &options, &settings);
	session_expect_end(session);
	session_inputs(session, &options);
	forget(race, threads, side);
	double start = now_seconds();
	run_once(race, session, threads, side);
	bool is_long = now_seconds() - start > LONG_SECONDS;
	if (!is_long)
		forget(race, threads, side);
	start = now_seconds();
	for (int i = 0; !is_long && i < RUNS_MOST && (i == 0 || now_seconds() - start < TURN_SECONDS);
	     i++)
		run_once(race, session, threads, side);
	for (int i = 0; i < race->subjects.count; i++) {
		Subject *s = race->subjects.entries[i].value;
		s->turns[threads][side][race->rounds] = s->least[threads][side];
	}
	arena_reset(arena);
}

static void
take_turns(Race *race)
{
	double start = now_seconds();
	while (race->rounds < ROUNDS && (race->rounds == 0 || now_seconds() - start < ENOUGH_SECONDS)) {
		for (int turn = 0; turn < TEAMS * SIDES; turn++)
			take_turn(race, turn / SIDES, turn % SIDES);
		race->rounds++;
	}
}

/* ---- who is faster ---- */

/* Of one node, half-way between one thread and all, as trials are judged. */
static double
seconds_of(const Race *race, Subject *s, int side)
{
	double sum = 0;
	for (int t = 0; t < TEAMS; t++)
		sum += median_of(race->rounds, s->turns[t][side]);
	return sum / TEAMS / s->count;
}

/* Ours in its median turn beats any turn of the library's, with one thread and with all. */
static bool
is_faster(const Race *race, Subject *s)
{
	for (int t = 0; t < TEAMS; t++) {
		double ours = median_of(race->rounds, s->turns[t][1]);
		for (int i = 0; i < race->rounds; i++)
			if (ours > WORTH * s->turns[t][0][i])
				return false;
	}
	return true;
}

static int
more_to_gain_first(const void *a, const void *b)
{
	const Rival *x = a, *y = b;
	double gain = (x->library - x->ours) - (y->library - y->ours);
	return gain > 0 ? -1 : gain < 0 ? 1 : strcmp(x->value, y->value);
}

Beside
beside_measure(const Options *options, Arena *arena, const char *bundle, const Module *module)
{
	Race race = {.arena = arena,
	             .options = options,
	             .bundle = bundle,
	             .module = module,
	             .nodes = {.arena = arena},
	             .subjects = {.arena = arena},
	             .run = NEVER};
	find_parts(&race);
	Beside result = {.rivals = NEW_N(arena, Rival, race.parts.count + 1)};
	if (race.parts.count == 0)
		return result;
	take_turns(&race);
	result.run = race.run;
	for (int first = 1; first >= 0; first--) /* those that gain by more than noise stand first */
		for (int i = 0; i < race.parts.count; i++) {
			const Part *part = &race.parts.data[i];
			double library = seconds_of(&race, part->subject, 0);
			double ours = seconds_of(&race, part->subject, 1);
			if (library < NEVER && ours < NEVER && is_faster(&race, part->subject) == first)
				result.rivals[result.count++] = (Rival){part->value, library, ours};
			if (first)
				result.faster = result.count;
		}
	qsort(result.rivals, (size_t)result.faster, sizeof(Rival), more_to_gain_first);
	return result;
}

/* ---- denials ---- */

void
beside_deny(Arena *arena, const Beside *beside, int count, Map *denied)
{
	for (int i = 0; i < count; i++) {
		const Rival *r = &beside->rivals[i];
		map_set(denied, arena_printf(arena, "deny vendor %s", r->value),
		        arena_printf(arena, "our kernel takes %.1f us, the library %.1f us", r->ours * 1e6,
		                     r->library * 1e6));
	}
}

const char *
beside_answer(Arena *arena, const Map *denied)
{
	Buf buf = {.arena = arena};
	buf_puts(&buf, "ours:\n");
	for (int i = 0; i < denied->count; i++)
		buf_printf(&buf, "%s\t%s\n", denied->entries[i].name, (char *)denied->entries[i].value);
	return buf_text(&buf);
}

void
beside_recall(Arena *arena, const char *answer, Map *denied)
{
	for (answer += strcspn(answer, "\n"); *answer; answer += strcspn(answer, "\n")) {
		answer++;
		size_t key = strcspn(answer, "\t\n"), all = strcspn(answer, "\n");
		if (key < all)
			map_set(denied, arena_strndup(arena, answer, key),
			        arena_strndup(arena, answer + key + 1, all - key - 1));
	}
}
