/* Questions of the compiler about calls, answered by their libraries; programs,
 * by running them; and what was found out so, kept on disk from one compilation to the next. */
#include "cli/oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cache.h"
#include "cli/trial.h"
#include "codegen/common/codegen.h"
#include "runtime/pool.h"
#include "runtime/tilewright.h"
#include "runtime/vendor.h"

/* A longer answer is nobody's. */
enum { ANSWER_MOST = 16384 };

typedef struct Answers {
	Arena *arena;
	const Options *options;
	Vendors vendors;
	char trouble[256]; /* why one of them cannot be used; "": they can */
	Map names;         /* of implementations, one copy each */
	const Device *device;
	Cache *cache;            /* opened at the first question, with what it goes by: */
	const char *machine;     /* all but the call that decides about its time */
	const char *surrounding; /* all but the question that decides about an answer */
	int measured, noisy;     /* measurements, and those whose repeated runs differ too much */
	Progress *progress;      /* NULL: nobody looks on */
} Answers;

static void
release(void *handle)
{
	vendors_close(&((Answers *)handle)->vendors);
}

/* NULL: it cannot be used, or none is to be. */
static Vendor *
vendor_of(Answers *answers, const char *library)
{
	return answers->options->no_vendor ? NULL
	                                   : vendors_open(&answers->vendors, library, answers->trouble,
	                                                  sizeof answers->trouble);
}

static bool
is_available(void *self, const char *library)
{
	return vendor_of(self, library) != NULL;
}

static void
note_measured(Answers *answers, bool is_noisy)
{
	answers->measured++;
	answers->noisy += is_noisy;
}

static void
time_programs(void *self, int count, const Program *const *programs, const bool *constant,
              double *seconds, double *relayouts)
{
	Answers *answers = self;
	note_measured(answers, trial_seconds(answers->options, answers->arena, answers->device->name,
	                                     count, programs, constant, seconds, relayouts));
}

static bool
time_pass(void *self, const Graph *graph, const Binding *sizes, const char *pass,
          const Map *choices, double without[2], double with[2])
{
	Answers *answers = self;
	bool is_noisy = false;
	const TrialModel model = {graph, sizes, pass, choices, answers->progress};
	bool is_done = trial_pass(answers->options, answers->arena, answers->device->name, &model,
	                          without, with, &is_noisy);
	note_measured(answers, is_noisy);
	return is_done;
}

/* ---- answers of earlier compilations --------------------------------------------------------- */

/* "model name	: …" of the first core: machines of one row differ. "" where nothing says it. */
static const char *
processor(Arena *arena)
{
	char line[256] = "";
	FILE *file = fopen("/proc/cpuinfo", "r");
	while (file && fgets(line, sizeof line, file) && strncmp(line, "model name", 10) != 0)
		line[0] = 0;
	if (file)
		fclose(file);
	return arena_strdup(arena, line);
}

static void
put_words(Buf *buf, const char *title, const StrVec *words)
{
	for (int i = 0; i < words->count; i++)
		buf_printf(buf, "%s %s\n", title, words->data[i]);
}

static Hash128
key_of(const char *surrounding, const char *question)
{
	return hash128_combine(hash128(surrounding, strlen(surrounding)),
	                       hash128(question, strlen(question)));
}

static void
find_surrounding(void *arg)
{
	static const char asking[] = "DeriveExpressions."; /* who asks says it in the question */
	Answers *answers = arg;
	const Options *o = answers->options;
	Buf buf = {.arena = answers->arena};
	char versions[128];
	for (int i = 0; vendor_libraries[i]; i++)
		vendor_of(answers, vendor_libraries[i]->name);
	buf_printf(&buf, "answers 2, tilewright %s, %s, %d cores, %s\n%s\n", tw_version_text(),
	           answers->device->name, pool_cores(),
	           vendors_text(&answers->vendors, versions, sizeof versions),
	           processor(answers->arena));
	answers->machine = arena_strdup(answers->arena, buf_text(&buf));
	buf_printf(&buf, "%s\n", codegen_compiler(answers->arena));
	buf_printf(&buf, "level %lld\nthreads %lld\nfold %lld\n", (long long)o->level,
	           (long long)o->threads, (long long)o->fold_limit);
	put_words(&buf, "passes", &o->passes);
	put_words(&buf, "disable", &o->disable);
	put_words(&buf, "require", &o->require);
	for (int i = 0; i < o->config.count; i++)
		if (strncmp(o->config.data[i], asking, strlen(asking)) != 0)
			buf_printf(&buf, "config %s\n", o->config.data[i]);
	answers->surrounding = buf_text(&buf);
}

/* False: nothing can be looked up, as without a C compiler. */
static bool
open_cache(Answers *answers)
{
	Failure failure;
	if (!answers->cache)
		answers->cache = cache_open(answers->arena, NULL, CACHE_LIMIT);
	return answers->surrounding || try_run(find_surrounding, answers, &failure);
}

/* NULL: nothing is known; "": what nobody answers. */
static const char *
find_answer(const Answers *answers, Arena *arena, const char *surrounding, const char *question)
{
	Bytes found;
	if (!cache_find(answers->cache, arena, key_of(surrounding, question), &found))
		return NULL;
	return found.size <= ANSWER_MOST ? arena_strndup(arena, (const char *)found.data, found.size)
	                                 : "";
}

static const char *
recall(void *self, Arena *arena, const char *question)
{
	Answers *answers = self;
	return open_cache(answers) ? find_answer(answers, arena, answers->surrounding, question) : NULL;
}

static void
remember(void *self, const char *question, const char *answer)
{
	Answers *answers = self;
	size_t size = strlen(answer);
	if (size <= ANSWER_MOST && open_cache(answers))
		cache_store(answers->cache, key_of(answers->surrounding, question), answer, size);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void
put_numbers(Buf *buf, char before, int count, const int64_t *numbers)
{
	for (int i = 0; numbers && i < count; i++)
		buf_printf(buf, "%c%lld", i ? 'x' : before, (long long)numbers[i]);
}

/* All that decides about the time of a call. */
static const char *
call_text(Arena *arena, const VendorCall *call)
{
	Buf buf = {.arena = arena};
	buf_printf(&buf, "call %s.%s", call->library, call->row);
	for (int i = 0; i < call->narg; i++) {
		const VendorArg *arg = &call->args[i];
		buf_printf(&buf, "\n%s%s %s", arg->is_weight ? "weight " : "",
		           arg->type == DT_NONE ? "none" : dtype_name(arg->type),
		           arg->layout ? arg->layout : "");
		put_numbers(&buf, ' ', arg->type == DT_NONE ? 0 : arg->rank, arg->dims);
		put_numbers(&buf, '/', arg->type == DT_NONE ? 0 : arg->rank, arg->strides);
	}
	for (int i = 0; i < call->nattr; i++) {
		const StepAttr *attr = &call->attrs[i];
		buf_printf(&buf, "\n%s=%s", attr->name, attr->string ? attr->string : "");
		put_numbers(&buf, ' ', attr->count, attr->ints);
		for (int k = 0; attr->floats && k < attr->count; k++)
			buf_printf(&buf, " %a", (double)attr->floats[k]);
	}
	return buf_text(&buf);
}

/* "8.1e-05 jit:avx512_core": anything else is not used. */
static bool
parse_timed(const char *text, double *seconds, char name[VENDOR_IMPL_SIZE])
{
	char *end;
	*seconds = strtod(text, &end);
	size_t length = strlen(end);
	if (end == text || *end != ' ' || !(*seconds > 0 && *seconds < 1e6) || length < 2 ||
	    length > VENDOR_IMPL_SIZE)
		return false;
	for (const char *c = end; *c; c++)
		if (*c < ' ' || *c > '~')
			return false;
	memcpy(name, end + 1, length);
	return true;
}

/* A call's time is the machine's alone, whatever the options: the compilations of one search, and
 * later ones, measure it once. */
static bool
measure_once(Answers *answers, Vendor *vendor, const VendorCall *call, double *seconds,
             char name[VENDOR_IMPL_SIZE])
{
	char error[256];
	bool is_kept = open_cache(answers);
	const char *question = call_text(answers->arena, call), *known = NULL;
	if (is_kept)
		known = find_answer(answers, answers->arena, answers->machine, question);
	if (known && parse_timed(known, seconds, name))
		return true;
	Timing time;
	if (!vendor->library->measure(vendor, call, pool_cores(), &time, name, error, sizeof error))
		return false;
	*seconds = time.seconds;
	note_measured(answers, time.spread >= TIMING_NOISY);
	if (is_kept) {
		const char *text = arena_printf(answers->arena, "%.9g %s", *seconds, name);
		cache_store(answers->cache, key_of(answers->machine, question), text, strlen(text));
	}
	return true;
}

static bool
measure(void *self, const VendorCall *call, double *seconds, const char **impl)
{
	Answers *answers = self;
	char name[VENDOR_IMPL_SIZE];
	Vendor *vendor = vendor_of(answers, call->library);
	if (!vendor || !measure_once(answers, vendor, call, seconds, name))
		return false;
	if (impl)
		*impl = map_intern(&answers->names, name, strlen(name));
	return true;
}

static bool
accept(void *self, const VendorCall *call, const char **impl)
{
	Answers *answers = self;
	char name[VENDOR_IMPL_SIZE], error[256];
	Vendor *vendor = vendor_of(answers, call->library);
	if (!vendor || !vendor->library->accept(vendor, call, name, error, sizeof error))
		return false;
	if (impl)
		*impl = map_intern(&answers->names, name, strlen(name));
	return true;
}

const Oracle *
oracle_new(const Options *options, Arena *arena, const Device *device)
{
	Answers *answers = NEW(arena, Answers);
	*answers =
		(Answers){.arena = arena, .options = options, .names = {.arena = arena}, .device = device};
	arena_defer(arena, release, answers);
	Oracle *oracle = NEW(arena, Oracle);
	*oracle = (Oracle){.self = answers,
	                   .available = is_available,
	                   .accept = accept,
	                   .measure = measure,
	                   .time = time_programs,
	                   .time_pass = time_pass,
	                   .recall = recall,
	                   .remember = remember};
	return device_runs_here(device) ? oracle : NULL;
}

const char *
oracle_trouble(const Oracle *oracle)
{
	const Answers *answers = oracle ? oracle->self : NULL;
	return answers && answers->trouble[0] ? answers->trouble : NULL;
}

void
oracle_watch(const Oracle *oracle, Progress *progress)
{
	if (oracle)
		((Answers *)oracle->self)->progress = progress;
}

const char *
oracle_noise(const Oracle *oracle)
{
	enum { LEAST = 3, SHARE = 4 }; /* so many, and one measurement in so many */
	const Answers *answers = oracle ? oracle->self : NULL;
	if (!answers || answers->noisy < LEAST || answers->noisy * SHARE < answers->measured)
		return NULL;
	const char *folder = answers->cache ? cache_folder(answers->cache) : NULL;
	return arena_printf(answers->arena,
	                    "repeated runs differed by more than %.0f %% in %d of %d measurements: the "
	                    "machine is busy, and what was chosen may not be the best (%s%s%scompile "
	                    "again when it is idle)",
	                    TIMING_NOISY * 100, answers->noisy, answers->measured,
	                    folder ? "remove " : "", folder ? folder : "", folder ? ", then " : "");
}
