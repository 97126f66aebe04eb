/* tune_measure: which of a kernel's candidates is the fastest, in the model itself.
 *
 *     survey   one thread, as the bundle runs: what each kernel and each call takes, and without
 *              the library what the fallback kernels do
 *     choose   kernels that have something to win: their share of the run, less what the machine's
 *              peak says they take in any case
 *     race     their candidates, compiled as one object, in turns with one thread and with all:
 *              the first of each kernel together, then the second …
 *
 * Kernels that are alike are one contest. Where a candidate is faster than what is there by more
 * than noise, that is an answer, kept for all models that have such a kernel.
 */
#include "driver/measure/tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "codegen/common/codegen.h"
#include "driver/measure/beside.h"
#include "driver/measure/swap.h"
#include "driver/proof/session.h"
#include "lower/lower.h"
#include "runtime/pool.h"
#include "target/ask.h"
#include "target/maker.h"

/* How long to look. */
typedef struct Effort {
	const char *name;
	int candidates; /* of a kernel, the first included */
	int batch;      /* contests at once */
	double most;    /* seconds of processors behind which no further batch begins */
	int rounds;
	int teams;     /* 1: one thread alone, by the processor's clock, which others disturb less */
	double least;  /* share of a run that a kernel must promise */
	double enough; /* seconds of a race, behind its first round */
	double turn;   /* and of a turn */
} Effort;

static const Effort quick = {"quick", 7, 4, 4, 3, 1, 0.005, 2, 0.01};
static const Effort full = {"full", SWAP_CANDIDATES, 8, 1e9, SWAP_ROUNDS, SWAP_TEAMS, 0, 30, 0.03};

/* To be faster by less is to be equally fast; a candidate that is so much slower in its first turn
 * takes no other; and a fallback that takes so many times as long as the library's call is not
 * worth a race. */
static const double WORTH = 0.97, HOPELESS = 1.3, NEAR = 1.5;

static const double NEVER = 1e30; /* seconds of what has not run */

/* A run so long is not repeated where nothing is compared, nor run whole for a few kernels. */
static const double LONG_RUN = 0.1;

/* Seconds that all runs of a race, or of a survey, may take together. */
static const double MOST_SECONDS = 300;

typedef struct Tuning {
	const Options *options;
	PassContext *context;
	Arena *arena;
	const Effort *effort;
	Progress *progress;
	Swap swap;
	double start;    /* on the clock */
	int has_library; /* of the session at work */
	bool is_survey;
	int most;          /* candidates of any contest of this race */
	int teams;         /* 1: there is but one thread */
	Contest *contests; /* all */
	int count;
	Tuned tuned;
} Tuning;

/* ---- options --------------------------------------------------------------------------------- */

double
tune_budget(const Options *options)
{
	char *end;
	const char *text = options->tune_budget;
	double count = text ? strtod(text, &end) : 0;
	if (!text)
		return 0;
	double unit = *end == 'h' ? 3600 : *end == 'm' ? 60 : 1;
	bool is_whole = end > text && (!*end || (strchr("hms", *end) && !end[1]));
	if (!is_whole || !(count > 0 && count < 1e7))
		fail_as(FAIL_USAGE, NULL, "--budget %s: expected a time, as 90s, 10m or 2h", text);
	return count * unit;
}

bool
tune_shard(const Options *options, int *share, int *shares)
{
	char *end = NULL;
	const char *text = options->shard;
	long k = text ? strtol(text, &end, 10) : 0;
	long n = end && end > text && *end == '/' ? strtol(end + 1, &end, 10) : 0;
	if (!text)
		return false;
	if (*end || k < 1 || n < k || n > 1000000)
		fail_as(FAIL_USAGE, NULL, "--shard %s: expected K/N, as 1/4 for the first of four", text);
	*share = (int)k - 1;
	*shares = (int)n;
	return true;
}

/* ---- who takes part -------------------------------------------------------------------------- */

static const int64_t *
symbols_of(Tuning *t, const Kernel *kernel)
{
	int64_t *values = NEW_N(t->arena, int64_t, kernel->symbols.count + 1);
	for (int i = 0; i < kernel->symbols.count; i++)
		values[i] =
			probe_dim(t->context->target, dim_symbol(kernel->ctx, kernel->symbols.data[i]->name));
	return values;
}

static bool
takes_part(const MStep *step)
{
	bool is_call = step->plan.kind == PT_VENDOR;
	return step->kernel && step->kernel->source && step->kernel->source->key &&
	       (is_call ? step->source != NULL : step->plan.kind == PT_KERNEL);
}

static void
list_contests(Tuning *t, const MStepVec *steps)
{
	Map known = {.arena = t->arena};
	t->contests = NEW_N(t->arena, Contest, steps->count + 1);
	t->swap.of_step = (Map){.arena = t->arena};
	for (int i = 0; i < steps->count; i++) {
		const MStep *step = steps->data[i];
		if (!takes_part(step))
			continue;
		const Kernel *kernel = step->kernel;
		const char *kind = step->plan.kind == PT_VENDOR ? "call" : "kernel";
		const char *name = arena_printf(t->arena, "%s %s", kind, kernel->source->key);
		Contest *contest = map_find(&known, name);
		if (!contest) {
			contest = &t->contests[t->count++];
			*contest = (Contest){.key = kernel->source->key,
			                     .step = step,
			                     .is_call = step->plan.kind == PT_VENDOR,
			                     .extent = probe_dim(t->context->target, kernel->extent),
			                     .symbols = symbols_of(t, kernel),
			                     .library = NEVER,
			                     .least = NEVER};
			map_set(&known, name, contest);
		}
		contest->count++;
		map_set_ptr(&t->swap.of_step, step, contest);
	}
	t->swap.contests = t->contests;
	t->swap.count = t->count;
}

/* ---- running --------------------------------------------------------------------------------- */

/* The least of each contest in some runs behind the first, in which memory is new. */
static void
take_turn(Tuning *t, Session *session, int pick)
{
	Swap *swap = &t->swap;
	swap->pick = pick;
	for (int i = 0; i < t->count; i++)
		t->contests[i].least = NEVER;
	double start = now_seconds();
	for (int runs = 0; runs < 2 || (runs < 50 && now_seconds() - start < t->effort->turn); runs++) {
		double seconds = now_seconds() - start;
		bool is_long = seconds > (t->is_survey ? LONG_RUN : t->effort->turn);
		if (runs == 1 && is_long && (pick > 0 || t->is_survey))
			return;
		swap_run(swap, session);
		for (int i = 0; i < t->count; i++) {
			Contest *c = &t->contests[i];
			if (c->now > 0 && (c->now < c->least || runs == 1))
				c->least = c->now;
		}
	}
}

static void
survey(Tuning *t, Session *session)
{
	take_turn(t, session, 0);
	for (int i = 0; i < t->count; i++) {
		Contest *c = &t->contests[i];
		if (c->is_call && t->has_library)
			c->library = c->least;
		else if (c->is_call || t->has_library)
			c->turns[0][0][0] = c->least;
	}
	/* the whole run stands behind the contests, and is carried back with them */
	if (t->has_library)
		t->contests[t->count].least = t->swap.run;
}

/* By its first turn with one thread, on the processor's clock: anything may disturb it with all. */
static bool
is_hopeless(const Contest *c, int pick)
{
	return pick > c->ncandidate || c->turns[0][pick][0] > HOPELESS * c->turns[0][0][0];
}

/* Whether a candidate of this number may still win somewhere. */
static bool
has_open(const Tuning *t, int pick, bool is_first)
{
	bool is_open = pick == 0;
	for (int i = 0; i < t->count && !is_open; i++) {
		const Contest *c = &t->contests[i];
		bool runs = c->ncandidate >= pick && c->is_call == !t->has_library;
		is_open = runs && (is_first || !is_hopeless(c, pick));
	}
	return is_open;
}

static void
race(Tuning *t, Session *session, int team)
{
	double start = now_seconds();
	for (int round = 0; round < t->effort->rounds; round++) {
		bool is_over = round > 0 && now_seconds() - start > t->effort->enough;
		for (int pick = 0; pick <= t->most; pick++) {
			bool is_taken = !is_over && has_open(t, pick, team + round == 0);
			if (is_taken)
				take_turn(t, session, pick);
			for (int i = 0; i < t->count; i++) {
				Contest *c = &t->contests[i];
				if (c->is_call == !t->has_library)
					c->turns[team][pick][round] = is_taken ? c->least : NEVER;
			}
		}
	}
}

static void
use_session(void *arg)
{
	Tuning *t = arg;
	for (int team = 0; team < (t->is_survey ? 1 : t->teams); team++) {
		Arena *arena = arena_new_in(t->arena, "session");
		Session *session = swap_open(arena, &t->swap, t->has_library, team == 0 ? 1 : 0);
		if (session && t->is_survey)
			survey(t, session);
		else if (session)
			race(t, session, team);
		arena_reset(arena);
	}
}

static void
use_session_safely(void *arg)
{
	Failure failure;
	Tuning *t = arg;
	if (!try_run(use_session, arg, &failure))
		t->contests[t->count].least = -1;
}

/* In a process of its own: a kernel cannot be interrupted. False: something failed. */
static bool
use_sessions(Tuning *t, bool is_survey)
{
	const char *why;
	t->is_survey = is_survey;
	for (int without = 0; without < 2; without++) {
		bool is_wanted = !without;
		for (int i = 0; i < t->count; i++)
			is_wanted |= t->contests[i].is_call && (is_survey || t->contests[i].ncandidate > 0);
		t->has_library = !without;
		if (is_wanted && (!run_limited(MOST_SECONDS, use_session_safely, t, t->contests,
		                               (size_t)(t->count + 1) * sizeof(Contest), &why) ||
		                  t->contests[t->count].least < 0))
			return false;
	}
	return true;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* What these steps take now. */
static double
seconds_now(const Contest *c)
{
	return c->is_call ? c->library : c->turns[0][0][0];
}

/* What a better kernel may save of a run, at most. */
static double
promise(const Tuning *t, const Contest *c)
{
	double least = c->step->plan.flops * c->count / (t->context->target->device->gflops * 1e9);
	return seconds_now(c) - least;
}

/* Whether there is any to be made. */
static bool
has_candidates(const Tuning *t, const Contest *c)
{
	return lower_candidate(t->arena, c->step->kernel, t->context->target, 1) != NULL;
}

static bool
is_worth(const Tuning *t, const Contest *c)
{
	int share, shares;
	double now = seconds_now(c);
	if (now >= NEVER || now <= 0 || promise(t, c) <= t->effort->least * t->tuned.run ||
	    (c->is_call && c->turns[0][0][0] > NEAR * now))
		return false;
	Hash128 hash = hash128(c->key, strlen(c->key));
	return !tune_shard(t->options, &share, &shares) || (int)(hash.low % (uint64_t)shares) == share;
}

static const Tuning *sorted;

static int
more_first(const void *a, const void *b)
{
	const Contest *x = *(Contest *const *)a, *y = *(Contest *const *)b;
	double gain = promise(sorted, x) - promise(sorted, y);
	return gain > 0 ? -1 : gain < 0 ? 1 : strcmp(x->key, y->key);
}

/* Those that are worth it, the most promising first. */
static int
choose(const Tuning *t, Contest **chosen)
{
	int count = 0;
	for (int i = 0; i < t->count; i++)
		if (is_worth(t, &t->contests[i]) && has_candidates(t, &t->contests[i]))
			chosen[count++] = &t->contests[i];
	sorted = t;
	if (count > 0)
		qsort(chosen, (size_t)count, sizeof *chosen, more_first);
	return count;
}

/* By a single run each, which may be disturbed by so much. */
static double
ours_at_most(const Tuning *t)
{
	static const double DOUBT = 0.7;
	double sum = 0;
	for (int i = 0; i < t->count; i++) {
		const Contest *c = &t->contests[i];
		double gain = c->is_call && c->library < NEVER ? c->library - DOUBT * c->turns[0][0][0] : 0;
		sum += gain > 0 ? gain : 0;
	}
	return sum;
}

/* ---- candidates ------------------------------------------------------------------------------ */

typedef VEC(Kernel *) Kernels;

static bool
has_same_symbols(const Kernel *a, const Kernel *b)
{
	bool is_same = a->symbols.count == b->symbols.count;
	for (int i = 0; is_same && i < a->symbols.count; i++)
		is_same = a->symbols.data[i] == b->symbols.data[i];
	return is_same;
}

/* A kernel in fewer pieces than these leaves cores idle on machines that have more. */
static bool
has_pieces(const Tuning *t, const Contest *c, int64_t pieces)
{
	int enough = maker_of(t->context->target)->enough_pieces;
	return pieces >= enough || pieces >= c->extent;
}

/* Candidate `number` as the next one of those that can be printed; false: there are no more. */
static bool
make_candidate(Tuning *t, Contest *c, int number, Kernels *made)
{
	const Target *target = t->context->target;
	Kernel *kernel = lower_candidate(t->arena, c->step->kernel, target, number);
	if (!kernel)
		return false;
	t->context->run(t->context, IR_loop, kernel);
	int64_t extent = probe_dim(target, kernel->extent);
	if (!has_same_symbols(kernel, c->step->kernel) || extent < 1)
		return false;
	if (!has_pieces(t, c, extent))
		return true;
	int64_t scratch = kernel->scratch ? probe_dim(target, kernel->scratch) : 0;
	t->swap.scratch = scratch > t->swap.scratch ? scratch : t->swap.scratch;
	vec_push(t->arena, made, kernel);
	c->ncandidate++;
	c->numbers[c->ncandidate] = number;
	c->extents[c->ncandidate] = extent;
	return true;
}

static void
make_candidates(Tuning *t, Contest *c, Kernels *made)
{
	c->first = made->count;
	c->ncandidate = 0;
	for (int k = 1; k < SWAP_CANDIDATES && c->ncandidate + 1 < t->effort->candidates; k++)
		if (!make_candidate(t, c, k, made))
			return;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The candidate whose median turn is below any turn of what is there by more than noise, with one
 * thread and with all; of several that with the least time. 0: none. */
static int
best_of(const Tuning *t, Contest *c, double *seconds)
{
	int best = 0, rounds = t->effort->rounds;
	for (int pick = 1; pick <= c->ncandidate; pick++) {
		double sum = 0;
		bool is_faster = true;
		for (int team = 0; team < t->teams; team++) {
			double turns[SWAP_ROUNDS];
			int count = 0;
			for (int r = 0; r < rounds; r++)
				if (c->turns[team][pick][r] < NEVER)
					turns[count++] = c->turns[team][pick][r];
			double median = count ? median_of(count, turns) : NEVER;
			for (int r = 0; r < rounds; r++)
				is_faster = is_faster && median < WORTH * c->turns[team][0][r];
			sum += median;
		}
		if (is_faster && (best == 0 || sum < *seconds)) {
			best = pick;
			*seconds = sum;
		}
	}
	*seconds /= t->teams;
	return best;
}

static const char *
question_of(const Tuning *t, const Contest *c, const Effort *effort)
{
	return arena_printf(t->arena, "candidates 2 %s %s", effort->name, c->key);
}

/* A number, then what took how long, for people; what is no such text is nothing. */
static void
take_answer(Tuning *t, const Contest *c, const char *answer, Map *found)
{
	int pick = atoi(answer);
	if (pick <= 0 || pick >= SWAP_CANDIDATES)
		return;
	map_set(found, c->key, arena_strdup(t->context->arena, answer));
	t->tuned.faster++;
	const char *before = strstr(answer, ", before "); /* what is not there promises nothing */
	double now = strtod(answer + strcspn(answer, " "), NULL);
	double then = before ? strtod(before + strlen(", before "), NULL) : now;
	if (then > now)
		t->tuned.gain += (then - now) * 1e-6 * c->count;
}

static void
answer(Tuning *t, Contest *c, Map *found)
{
	double seconds = 0, before = 0;
	int best = best_of(t, c, &seconds);
	for (int team = 0; team < t->teams; team++)
		before += c->turns[team][0][0] / t->teams;
	double unit = 1e6 / c->count;
	const char *text = best ? arena_printf(t->arena, "%d %.1f us, before %.1f us", c->numbers[best],
	                                       seconds * unit, before * unit)
	                        : "0";
	ask_remember(t->context, question_of(t, c, t->effort), text);
	take_answer(t, c, text, found);
	t->tuned.asked++;
}

/* What is known of a kernel: by looking long, or as now. */
static const char *
known_answer(const Tuning *t, const Contest *c)
{
	const char *known = ask_recall(t->context, question_of(t, c, &full));
	return known || t->effort == &full ? known
	                                   : ask_recall(t->context, question_of(t, c, t->effort));
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Make and race so many contests; false: they cannot be run. */
static bool
ask_batch(Tuning *t, Contest **batch, int count, Map *found)
{
	const Target *target = t->context->target;
	Kernels made = {0};
	for (int i = 0; i < t->count; i++)
		t->contests[i].ncandidate = 0;
	t->most = 0;
	for (int i = 0; i < count; i++) {
		make_candidates(t, batch[i], &made);
		t->most = batch[i]->ncandidate > t->most ? batch[i]->ncandidate : t->most;
	}
	if (made.count > 0) {
		const Artefact *artefact = artefact_of(target->device);
		const char *source = artefact->emit(t->arena, target, made.count, made.data);
		t->swap.object = artefact->compile(t->arena, target, source, NULL);
		t->swap.is_partial = t->tuned.run > LONG_RUN && swap_may_be_partial(t->swap.module);
		if (!use_sessions(t, false))
			return false;
	}
	for (int i = 0; i < count; i++)
		answer(t, batch[i], found);
	return true;
}

/* The budget that was given. What this effort leaves is not asked next time either. */
static bool
is_spent(const Tuning *t)
{
	double budget = tune_budget(t->options);
	return budget > 0 && now_seconds() - t->start > budget;
}

static void
ask_all(Tuning *t, Contest **chosen, int count, Map *found)
{
	int todo = 0, done = 0;
	for (int i = 0; i < count; i++) {
		const char *known = known_answer(t, chosen[i]);
		t->tuned.known += known != NULL;
		if (known)
			take_answer(t, chosen[i], known, found);
		else
			chosen[todo++] = chosen[i];
	}
	double used = used_seconds();
	while (done < todo && !is_spent(t) && used_seconds() - used < t->effort->most) {
		int size = todo - done < t->effort->batch ? todo - done : t->effort->batch;
		progress_show(t->progress, "measuring kernels", done, todo);
		if (!ask_batch(t, chosen + done, size, found))
			break;
		done += size;
	}
	t->tuned.left = is_spent(t) || t->effort == &full ? todo - done : 0;
}

Tuned
tune_measure(const Options *options, PassContext *context, const char *bundle, const Module *module,
             Progress *progress, Map *found)
{
	bool is_full = options->tune && strcmp(options->tune, "full") == 0;
	Tuning t = {.options = options,
	            .context = context,
	            .arena = context->arena,
	            .effort = is_full ? &full : &quick,
	            .progress = progress,
	            .start = now_seconds(),
	            .swap = {.options = options, .bundle = bundle, .module = module}};
	t.teams = options->threads == 1 || pool_cores() == 1 ? 1 : t.effort->teams;
	MStepVec steps = module_steps(t.arena, module);
	t.tuned.ours = NEVER;
	list_contests(&t, &steps);
	if (t.count == 0 || !use_sessions(&t, true))
		return t.tuned;
	t.tuned.run = t.contests[t.count].least;
	t.tuned.ours = ours_at_most(&t);
	Contest **chosen = NEW_N(t.arena, Contest *, t.count);
	t.tuned.kernels = choose(&t, chosen);
	ask_all(&t, chosen, t.tuned.kernels, found);
	return t.tuned;
}
