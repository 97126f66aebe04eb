/* The fastest of a program and of those that a search derives from it.
 *
 * The original is measured in turns with the candidates and stays unless one is clearly faster.
 * That is compared with what it was derived from, by the interpreter at points. The answer is kept
 * for later compilations (target.h's Oracle). What comes back is what a file holds: rules alone can
 * make a program of it, of a size in proportion, and it is compared as any candidate is.
 */
#include "passes/derive_trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "einnet/search.h"
#include "einnet/derivation.h"
#include "target/ask.h"

enum { TRIED = 4, DEPTH = 4, STATES = 1000, MOST_STEPS = 16 };

/* Of a group, merging is one step more. */
enum { MERGING = 1 };

/* What is estimated to take more of the original's time is not tried: the device's row does not
 * tell such programs apart. */
enum { PROMISING = 85 }; /* percent */

/* Merged, operations stay as many and steps get fewer, and the parts that are counted as kernels
 * are often read where they lie: what is to gain is less than the row can tell. */
enum { PROMISING_MERGED = 125 };

/* ---- comparing ------------------------------------------------------------------------------- */

typedef struct Comparison {
	PassContext *context;
	const Question *question;
	const Program *program; /* NULL: what `text` derives */
	const char *text;
	Arena *arena;
	const char *trouble;
} Comparison;

/* Elements of all that the program makes, as numbers that may be too large for integers. */
static double
elements_of(const Target *target, const Program *program)
{
	double sum = 0;
	for (int i = 0; i < program->ninput + program->nstage; i++) {
		const Tensor *t = i < program->ninput ? program->inputs[i]
		                                      : program->stages[i - program->ninput]->results[0];
		sum += probe_elements(target, t);
	}
	return sum;
}

static const Program *
replay(Comparison *c)
{
	/* Windows of 11 by 11 copy what they read 121 times. */
	static const double GROWTH = 256;
	const Target *target = c->context->target;
	const Program *given = c->question->program;
	Derivation way;
	c->trouble = "it is no derivation";
	if (!derivation_parse(c->arena, c->text, &way) || way.nstep > MOST_STEPS)
		return NULL;
	c->trouble = "it does not apply";
	const Program *program = derivation_replay(c->arena, given, c->question->constant, &way);
	if (!program)
		return NULL;
	c->trouble = "it takes too much memory";
	if (!(elements_of(target, program) <= GROWTH * elements_of(target, given)))
		return NULL;
	c->trouble = "it computes too much of weights alone";
	if (isinf(einnet_bound(program, c->question->constant, target)))
		return NULL;
	c->trouble = NULL;
	return program;
}

static void
compare(void *arg)
{
	static const Binding none = {0};
	Comparison *c = arg;
	const Binding *probe = c->context->target->probe;
	const Program *program = c->program ? c->program : replay(c);
	if (program)
		c->trouble =
			einnet_difference(c->arena, c->question->program, program, probe ? probe : &none);
}

static const char *
difference(Comparison *comparison)
{
	Arena *kept = comparison->context->arena;
	Failure failure;
	comparison->arena = arena_new_in(kept, "derived");
	bool is_done = try_run(compare, comparison, &failure);
	const char *trouble = is_done ? comparison->trouble : failure.text;
	trouble = trouble ? arena_strdup(kept, trouble) : NULL;
	arena_reset(comparison->arena);
	return trouble;
}

const char *
derive_trouble(PassContext *context, const Question *question, const char *way)
{
	Comparison comparison = {.context = context, .question = question, .text = way};
	return strcmp(way, AS_GIVEN) == 0 ? NULL : difference(&comparison);
}

/* ---- earlier compilations -------------------------------------------------------------------- */

static int
config_of(const PassContext *context, const char *key, int fallback)
{
	int64_t value = pass_config_int(context, key, fallback);
	return value < 0 ? fallback : value > INT32_MAX ? INT32_MAX : (int)value;
}

static double
promising_share(const PassContext *context, const Question *question)
{
	int percent = question->alone ? PROMISING_MERGED : PROMISING;
	return config_of(context, "DeriveExpressions.promising", percent) / 100.0;
}

/* The bits of all rules but those of DeriveExpressions.rules=A,B; and of the one that computes a
 * sum from sums of its factors, where that is not wanted. */
static uint32_t
rules_left_out(const PassContext *context)
{
	const char *names = pass_config_text(context, "DeriveExpressions.rules", NULL);
	uint32_t inexact = context->is_strict ? rule_bit(NULL, "bilinear") : 0;
	return (names ? ~rule_bits(context->arena, names) : 0) | inexact;
}

/* The question with all of this pass and of the rules that decides about its answer. */
static const char *
full_question(PassContext *context, const Question *question)
{
	Buf buf = {.arena = context->arena};
	uint32_t left_out = rules_left_out(context);
	buf_printf(&buf, "%s%s%s\ndepth %d, states %d, tried %d, under %g, by %g\n", question->key,
	           question->alone ? " alone " : "", question->alone ? question->alone : "",
	           config_of(context, "DeriveExpressions.depth", DEPTH),
	           config_of(context, "DeriveExpressions.budget", STATES), TRIED,
	           promising_share(context, question), CLEARLY_FASTER);
	derive_put_sizes(&buf, context->target);
	for (int rule = 0; rule < RULE_COUNT; rule++) {
		const RuleInfo *info = rule_info((RuleCode)rule);
		if (!(left_out >> rule & 1))
			buf_printf(&buf, "%s %s: %s\n", info->name, info->args, info->doc);
	}
	return buf_text(&buf);
}

/* Two lines, what was chosen and what was measured. */
static bool
parse_answer(Arena *arena, const char *text, PassChoice *choice)
{
	size_t first = strcspn(text, "\n");
	const char *second = text + first + (text[first] == '\n');
	size_t length = strcspn(second, "\n");
	for (const char *c = text; *c; c++)
		if ((*c < ' ' && *c != '\n') || *c > '~')
			return false;
	if (first == 0 || length == 0 || strcmp(second + length, "\n") != 0)
		return false;
	choice->chosen = arena_strndup(arena, text, first);
	choice->candidates = arena_strndup(arena, second, length);
	return true;
}

bool
derive_recall(PassContext *context, Question *question)
{
	PassChoice choice = question->choice;
	const char *text = ask_recall(context, full_question(context, question));
	if (!text)
		return false;
	const char *trouble = parse_answer(context->arena, text, &choice)
	                          ? derive_trouble(context, question, choice.chosen)
	                          : "it is no answer";
	if (trouble)
		warn(NULL, "%s: what the cache has is not used: %s", question->key, trouble);
	else
		question->choice = choice;
	return !trouble;
}

static void
remember(PassContext *context, const Question *question)
{
	ask_remember(context, full_question(context, question),
	             arena_printf(context->arena, "%s\n%s\n", question->choice.chosen,
	                          question->choice.candidates));
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* The original, and after it what is tried: the first of each kind, then others. */
typedef struct Tried {
	Arena *arena;
	int count, kinds;
	const Program *programs[TRIED + 1];
	const char *ways[TRIED + 1];
	Cost costs[TRIED + 1];
	double seconds[TRIED + 1], relayouts[TRIED + 1];
} Tried;

/* What derives products alone has been answered of each of a group's. */
static bool
is_asked(const Question *question, const Derivation *way)
{
	bool is_merged = !question->alone;
	for (int i = 0; i < way->nstep; i++)
		is_merged |= rule_joins(way->steps[i].rule);
	return is_merged && (way->nstep > 0 || way->converged >= 0);
}

/* Alike for all that is known of them: one is tried. */
static bool
is_alike(const Cost *a, const Cost *b)
{
	static const double NEAR = 0.02;
	return a->calls == b->calls && a->kernels == b->kernels &&
	       fabs(a->seconds - b->seconds) <= NEAR * a->seconds;
}

static bool
promises(double share, const Tried *tried, const Candidate *candidate)
{
	bool is_new = candidate->cost.seconds <= share * tried->costs[0].seconds;
	for (int k = 1; k < tried->count; k++)
		is_new = is_new && !is_alike(&tried->costs[k], &candidate->cost);
	return is_new;
}

static bool
is_tried(const Tried *tried, const char *way)
{
	bool is_there = false;
	for (int k = 0; k < tried->count; k++)
		is_there |= strcmp(tried->ways[k], way) == 0;
	return is_there;
}

/* Where symbols have values: proofs about these take no time, and the same laws hold for all. */
static const Program *
at_probe(const PassContext *context, const Program *program)
{
	const Binding *probe = context->target->probe;
	return probe ? program_bind(program, probe) : program;
}

/* Where there are symbols, what is tried is the way that the program with symbols has, at their
 * values; NULL: it has none. */
static const char *
way_of(PassContext *context, const Question *question, Arena *arena, const Candidate *candidate,
       const Program **program)
{
	Derivation way = candidate->way;
	Reason why = NULL;
	*program = candidate->program;
	if (context->target->probe) {
		const Program *given = program_import(expr_ctx_new(arena), question->program, NULL);
		*program = derivation_generalize(arena, context->target, given, question->constant,
		                                 &candidate->way, &way, &why);
	}
	if (!*program) {
		pass_note(context, derivation_text(context->arena, &candidate->way), question->node, NULL,
		          why);
		return NULL;
	}
	*program = at_probe(context, *program);
	return derivation_text(context->arena, &way);
}

typedef struct Selecting {
	PassContext *context;
	const Question *question;
	const Candidate *candidate;
	Tried *tried;
} Selecting;

/* By the same rules, at whatever places: "bilinear 0 0 2 5 1; converge 4" and "bilinear 5 0 3 6 0;
 * converge 0". */
static bool
is_kind(const char *a, const char *b)
{
	static const char places[] = " 0123456789";
	for (;; a++, b++) {
		a += strspn(a, places);
		b += strspn(b, places);
		if (*a != *b || !*a)
			return *a == *b;
	}
}

/* The first of the same kind; 0: there is none. */
static int
first_alike(const Tried *tried, const char *way)
{
	for (int k = 1; k <= tried->kinds; k++)
		if (is_kind(tried->ways[k], way))
			return k;
	return 0;
}

static void
put_tried(Tried *tried, int at, const Program *program, const char *way, Cost cost)
{
	tried->programs[at] = program;
	tried->ways[at] = way;
	tried->costs[at] = cost;
}

static void
add_tried(void *arg)
{
	const Selecting *s = arg;
	Tried *tried = s->tried;
	const Program *program;
	const char *way = way_of(s->context, s->question, tried->arena, s->candidate, &program);
	if (!way || is_tried(tried, way))
		return;
	int at = tried->count++;
	if (!first_alike(tried, way)) {
		int first = ++tried->kinds;
		put_tried(tried, at, tried->programs[first], tried->ways[first], tried->costs[first]);
		at = first;
	}
	put_tried(tried, at, program, way, s->candidate->cost);
}

static void
select_candidates(PassContext *context, const Question *question, const SearchResult *result,
                  Tried *tried)
{
	double share = promising_share(context, question);
	for (int i = 0; i < result->list.count && tried->count <= TRIED; i++) {
		const Candidate *candidate = &result->list.data[i];
		if (is_asked(question, &candidate->way) && promises(share, tried, candidate))
			ask_try(context, derivation_text(context->arena, &candidate->way), question->node,
			        add_tried, &(Selecting){context, question, candidate, tried});
	}
}

/* In a chain of convolutions values stay in blocks: what brings them there and back in a model of
 * its own is not the original's, and at one end in two it is a candidate's. */
static double
seconds_in_chain(const Tried *tried, int i)
{
	double relayouts = tried->relayouts[0];
	return i == 0 ? tried->seconds[0] - relayouts : tried->seconds[i] + relayouts / 2;
}

/* Of one kind, what is estimated to be alike takes alike: others are not asked where the first is
 * so much slower than the original. */
static const double NEAR = 1.2;

static void
drop_hopeless(Tried *tried)
{
	int count = tried->kinds + 1;
	for (int i = count; i < tried->count; i++)
		if (tried->seconds[first_alike(tried, tried->ways[i])] < NEAR * tried->seconds[0])
			put_tried(tried, count++, tried->programs[i], tried->ways[i], tried->costs[i]);
	tried->count = count;
}

/* The first of each kind beside the original, then the others beside it. */
static void
ask_times(PassContext *context, const Question *question, Tried *tried)
{
	double seconds[TRIED + 1], relayouts[TRIED + 1];
	const Program *programs[TRIED + 1] = {tried->programs[0]};
	ask_time(context, tried->kinds + 1, tried->programs, question->constant, tried->seconds,
	         tried->relayouts);
	drop_hopeless(tried);
	int first = tried->kinds, count = tried->count - first;
	if (count <= 1)
		return;
	for (int i = 1; i < count; i++)
		programs[i] = tried->programs[first + i];
	ask_time(context, count, programs, question->constant, seconds, relayouts);
	double scale = seconds[0] > 0 ? tried->seconds[0] / seconds[0] : 0;
	for (int i = 1; i < count; i++) {
		tried->seconds[first + i] = scale * seconds[i];
		tried->relayouts[first + i] = scale * relayouts[i];
	}
}

/* The fastest; the original where none is clearly faster, or it cannot be measured itself. */
static int
least_of(const Tried *tried)
{
	int least = 0;
	for (int i = 1; i < tried->count; i++)
		if (tried->seconds[i] > 0 && seconds_in_chain(tried, i) < seconds_in_chain(tried, least) &&
		    seconds_in_chain(tried, i) < CLEARLY_FASTER * seconds_in_chain(tried, 0))
			least = i;
	return least;
}

/* The fastest that computes the same: comparing takes longer than measuring, so only what would be
 * chosen is compared. */
static int
least_equal(PassContext *context, const Question *question, Tried *tried)
{
	for (int least; (least = least_of(tried)) > 0; tried->seconds[least] = 0) {
		bool is_same = !context->target->probe; /* else: with symbols again */
		Comparison comparison = {.context = context,
		                         .question = question,
		                         .program = is_same ? tried->programs[least] : NULL,
		                         .text = tried->ways[least]};
		const char *trouble = difference(&comparison);
		if (!trouble)
			return least;
		pass_note(context, tried->ways[least], question->node, NULL, trouble);
	}
	return 0;
}

static const char *
measured_text(PassContext *context, const Question *question, const Tried *tried)
{
	Buf buf = {.arena = context->arena};
	for (int i = 0; i < tried->count; i++) {
		buf_printf(&buf, "%s%s ", i ? ", " : "", tried->ways[i]);
		if (tried->seconds[i] > 0) {
			buf_printf(&buf, "%.1f us", seconds_in_chain(tried, i) * 1e6);
		} else {
			buf_puts(&buf, "not measured");
			pass_note(context, tried->ways[i], question->node, NULL, "it cannot be measured");
		}
	}
	return buf_text(&buf);
}

/* A search that takes longer, in milliseconds of a processor, is said. */
enum { LONG_SEARCH = 3000 };

/* What is estimated to be no faster than what there is, whatever becomes of it, is not explored. */
static SearchResult
search(PassContext *context, const Question *question, const Tried *tried)
{
	bool is_group = question->alone != NULL;
	SearchOptions options = {
		.target = context->target,
		.constant = question->constant,
		.depth = config_of(context, "DeriveExpressions.depth", DEPTH) + (is_group ? MERGING : 0),
		.states = config_of(context, "DeriveExpressions.budget", STATES),
		.disabled = rules_left_out(context),
		.most = promising_share(context, question) * tried->costs[0].seconds,
		.merges = is_group,
	};
	double begin = used_seconds();
	SearchResult result = einnet_search(tried->arena, expr_ctx_new(tried->arena),
	                                    at_probe(context, question->program), &options);
	double seconds = used_seconds() - begin;
	if (1000 * seconds > config_of(context, "DeriveExpressions.long", LONG_SEARCH))
		pass_note(context, "long search", question->node,
		          arena_printf(context->arena, "%.1f s, %d states, %lld steps", seconds,
		                       result.states, (long long)result.derivations),
		          NULL);
	return result;
}

typedef struct Measuring {
	PassContext *context;
	Question *question;
	const Program *given;
	Arena *arena;
} Measuring;

static void
measure(void *arg)
{
	const Measuring *m = arg;
	PassContext *context = m->context;
	Question *question = m->question;
	const Program *given =
		program_import(expr_ctx_new(m->arena), at_probe(context, m->given), NULL);
	Tried tried = {.arena = m->arena, .count = 1, .programs = {given}, .ways = {AS_GIVEN}};
	tried.costs[0] = einnet_cost(einnet_calls_new(m->arena, context->target), m->arena, given,
	                             question->constant);
	SearchResult result = search(context, question, &tried);
	select_candidates(context, question, &result, &tried);
	bool is_open = tried.count > 1;
	if (is_open)
		ask_times(context, question, &tried);
	question->choice.candidates = is_open ? measured_text(context, question, &tried)
	                                      : AS_GIVEN ", nothing else promises to be faster";
	int least = is_open ? least_equal(context, question, &tried) : 0;
	question->choice.chosen = tried.ways[least];
	question->choice.seconds = tried.seconds[least];
	question->reason = least     ? NULL
	                   : is_open ? "no candidate is clearly faster"
	                             : "no candidate promises to be faster";
	if (!is_open || tried.seconds[0] > 0)
		remember(context, question);
}

void
derive_give_up(Question *question)
{
	question->choice.chosen = AS_GIVEN;
	question->choice.candidates = AS_GIVEN ", " FAILED;
	question->reason = FAILED;
}

void
derive_measure(PassContext *context, Question *question, const Program *given)
{
	Arena *arena = arena_new_in(context->arena, "DeriveExpressions");
	Measuring measuring = {context, question, given, arena};
	if (!ask_try(context, "search", question->node, measure, &measuring))
		derive_give_up(question);
	arena_reset(arena);
}
