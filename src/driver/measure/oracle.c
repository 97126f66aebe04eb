/* Questions of the compiler about calls, answered by their libraries; programs,
 * by running them; and what was found out so, kept on disk from one compilation to the next. */
#include "driver/measure/oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cache.h"
#include "base/cpu.h"
#include "codegen/common/codegen.h"
#include "driver/measure/trial.h"
#include "runtime/pool.h"
#include "runtime/tilewright.h"
#include "runtime/vendor.h"

/* A longer answer is nobody's. */
enum { ANSWER_MOST = 16384 };

enum { REFUSAL_SIZE = 256 };

typedef struct Answers {
	Arena *arena;
	const Options *options;
	TrialCompile *compile;
	Vendors vendors;
	char trouble[256]; /* why one of them cannot be used; "": they can */
	Map names;         /* of implementations, one copy each */
	Map accepted;      /* call -> "+" and a name, or "-" and why not */
	const Target *target;
	Cache *cache;            /* opened at the first question, with what it goes by: */
	const char *machine;     /* all but the call that decides about its time */
	const char *surrounding; /* all but the question that decides about an answer */
	int measured, noisy;     /* measurements, and those whose repeated runs differ too much */
	Progress *progress;      /* NULL: nobody looks on */
	int driver; /* of a GPU: the version of CUDA's driver that it will run with; 0: not said */
} Answers;

static void
release(void *handle)
{
	vendors_close(&((Answers *)handle)->vendors);
}

/* What --config says for FuseOps, the last time; NULL: nothing. */
static const char *
configured(const Options *options, const char *key)
{
	static const char pass[] = "FuseOps.";
	const char *found = NULL;
	for (int i = 0; i < options->config.count; i++) {
		const char *text = options->config.data[i];
		size_t length = strlen(key);
		if (strncmp(text, pass, strlen(pass)) == 0 &&
		    strncmp(text + strlen(pass), key, length) == 0 && text[strlen(pass) + length] == '=')
			found = text + strlen(pass) + length + 1;
	}
	return found;
}

/* Whether its calls run where the target does: on the host, or on a GPU, of whose libraries one
 * alone may be asked for. */
static bool
is_for_target(const Answers *answers, const char *library)
{
	const char *only = configured(answers->options, "library");
	bool is_for_gpu = false;
	for (int i = 0; vendor_libraries[i]; i++)
		if (strcmp(vendor_libraries[i]->name, library) == 0)
			is_for_gpu = vendor_libraries[i]->use_device != NULL;
	return is_for_gpu == (answers->driver > 0) &&
	       (!is_for_gpu || !only || strcmp(only, library) == 0);
}

/* A library for GPUs answers for the target's, which need not be here. */
static bool
tell_device(Answers *answers, Vendor *vendor)
{
	const Device *device = answers->target->device;
	const GpuInfo *gpu = device->gpu;
	const VendorDevice told = {
		.name = device->doc,
		.capability = gpu->capability,
		.units = device->units,
		.registers = gpu->registers,
		.threads = gpu->threads,
		.blocks = gpu->blocks,
		.threads_block = device->threads,
		.shared_block = device->levels[1].bytes,
		.l2 = device->levels[2].bytes,
		.memory = gpu->memory,
		.clock = gpu->clock,
		.memory_clock = gpu->memory_clock,
		.driver = answers->driver,
	};
	return vendor->library->use_device(vendor, &told, answers->trouble, sizeof answers->trouble);
}

/* NULL: it cannot be used, or none is to be. */
static Vendor *
vendor_of(Answers *answers, const char *library)
{
	if (answers->options->no_vendor || !is_for_target(answers, library))
		return NULL;
	bool is_new = !vendors_find(&answers->vendors, library);
	Vendor *vendor =
		vendors_open(&answers->vendors, library, answers->trouble, sizeof answers->trouble);
	bool is_told = !vendor || !is_new || !answers->driver || tell_device(answers, vendor);
	return is_told ? vendor : NULL;
}

static bool
is_available(void *self, const char *library)
{
	return vendor_of(self, library) != NULL;
}

/* As what is timed is compiled for. */
static const char *
name_of_target(const Answers *answers)
{
	return answers->target->row ? "cpu:native" : answers->target->device->name;
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
	note_measured(answers,
	              trial_seconds(answers->options, answers->arena, name_of_target(answers),
	                            answers->compile, count, programs, constant, seconds, relayouts));
}

static bool
time_pass(void *self, const Graph *graph, const Binding *sizes, const char *pass,
          const Map *choices, double without[2], double with[2])
{
	Answers *answers = self;
	bool is_noisy = false;
	const TrialModel model = {graph, sizes, pass, choices, answers->progress};
	bool is_done = trial_pass(answers->options, answers->arena, name_of_target(answers),
	                          answers->compile, &model, without, with, &is_noisy);
	note_measured(answers, is_noisy);
	return is_done;
}

/* ---- answers of earlier compilations --------------------------------------------------------- */

/* "model name	: …" of the first core: machines of one row differ. "" where nothing says it. */
const char *
processor_text(Arena *arena)
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

/* A device that is not here is what its row says, with this driver. */
static const char *
find_machine(Answers *answers)
{
	char versions[128];
	const char *row = answers->target->row;
	for (int i = 0; vendor_libraries[i]; i++)
		vendor_of(answers, vendor_libraries[i]->name);
	vendors_text(&answers->vendors, versions, sizeof versions);
	if (answers->driver)
		return arena_printf(answers->arena, "answers 6, tilewright %s, %s, driver %d, %s\n",
		                    tw_version_text(), answers->target->device->name, answers->driver,
		                    versions);
	return arena_printf(answers->arena,
	                    "answers 4, tilewright %s, %s, %d cores of %s, %s\n%s\n%s\n",
	                    tw_version_text(), answers->target->device->name, pool_cores(), cpu_march(),
	                    versions, processor_text(answers->arena), row ? row : "");
}

static void
find_surrounding(void *arg)
{
	static const char asking[] = "DeriveExpressions."; /* who asks says it in the question */
	Answers *answers = arg;
	const Options *o = answers->options;
	Buf buf = {.arena = answers->arena};
	buf_printf(&buf, "%s%s\n", answers->machine, codegen_compiler(answers->arena));
	buf_printf(&buf, "level %lld\nthreads %lld\nfold %lld\n", (long long)o->level,
	           (long long)o->threads, (long long)o->fold_limit);
	if (o->rewrites >= 0)
		buf_printf(&buf, "rewrites %lld\n", (long long)o->rewrites);
	if (o->accuracy)
		buf_printf(&buf, "accuracy %s\n", o->accuracy);
	if (o->values)
		buf_printf(&buf, "values %s\n", o->values);
	if (o->precision)
		buf_printf(&buf, "precision %s\n", o->precision);
	put_words(&buf, "keep-fp32", &o->keep_fp32);
	put_words(&buf, "passes", &o->passes);
	put_words(&buf, "disable", &o->disable);
	put_words(&buf, "require", &o->require);
	for (int i = 0; i < o->config.count; i++)
		if (strncmp(o->config.data[i], asking, strlen(asking)) != 0)
			buf_printf(&buf, "config %s\n", o->config.data[i]);
	answers->surrounding = buf_text(&buf);
}

static void
open_cache(Answers *answers)
{
	if (!answers->cache)
		answers->cache = cache_open(answers->arena, NULL, CACHE_LIMIT);
	if (!answers->machine)
		answers->machine = find_machine(answers);
}

/* False: there are no answers, as without a C compiler. */
static bool
has_answers(Answers *answers)
{
	Failure failure;
	open_cache(answers);
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
	return has_answers(answers) ? find_answer(answers, arena, answers->surrounding, question)
	                            : NULL;
}

static void
remember(void *self, const char *question, const char *answer)
{
	Answers *answers = self;
	size_t size = strlen(answer);
	if (size <= ANSWER_MOST && has_answers(answers))
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

static bool
is_line(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return !*text;
}

/* "8.1e-05 jit:avx512_core": anything else is not used. */
static bool
parse_timed(const char *text, double *seconds, char name[VENDOR_IMPL_SIZE])
{
	char *end;
	*seconds = strtod(text, &end);
	size_t length = strlen(end);
	if (end == text || *end != ' ' || !(*seconds > 0 && *seconds < 1e6) || length < 2 ||
	    length > VENDOR_IMPL_SIZE || !is_line(end))
		return false;
	memcpy(name, end + 1, length);
	return true;
}

/* A call's time is the machine's alone, whatever the options: the compilations of one search, and
 * later ones, measure it once. */
static bool
measure_once(Answers *answers, Vendor *vendor, const VendorCall *call, double *seconds,
             char name[VENDOR_IMPL_SIZE], char error[REFUSAL_SIZE])
{
	open_cache(answers);
	const char *question = call_text(answers->arena, call);
	const char *known = find_answer(answers, answers->arena, answers->machine, question);
	if (known && parse_timed(known, seconds, name))
		return true;
	Timing time = {.seconds = *seconds};
	if (!vendor->library->measure(vendor, call, pool_cores(), &time, name, error, REFUSAL_SIZE))
		return false;
	*seconds = time.seconds;
	note_measured(answers, time.spread >= TIMING_NOISY);
	const char *text = arena_printf(answers->arena, "%.9g %s", *seconds, name);
	cache_store(answers->cache, key_of(answers->machine, question), text, strlen(text));
	return true;
}

/* What was found out earlier of a device that is not here: its libraries' answers hold wherever
 * they are asked. NULL: nothing. */
static const char *
find_accepted(Answers *answers, const char *question)
{
	if (!answers->driver)
		return NULL;
	open_cache(answers);
	const char *known = find_answer(answers, answers->arena, answers->machine, question);
	bool is_one = known && (*known == '+' || *known == '-') && known[1] && is_line(known);
	size_t most = is_one && *known == '+' ? VENDOR_IMPL_SIZE : REFUSAL_SIZE;
	return is_one && strlen(known) <= most ? known : NULL;
}

/* A library is asked once about calls that are alike: cuDNN takes milliseconds, and memory that it
 * keeps. */
static bool
accept_once(Answers *answers, Vendor *vendor, const VendorCall *call, char name[VENDOR_IMPL_SIZE],
            char error[REFUSAL_SIZE])
{
	const char *question = call_text(answers->arena, call);
	const char *known = map_find(&answers->accepted, question);
	if (!known && (known = find_accepted(answers, question)) != NULL)
		map_set(&answers->accepted, question, (void *)(uintptr_t)known);
	if (!known) {
		bool is_accepted = vendor->library->accept(vendor, call, name, error, REFUSAL_SIZE);
		known = arena_printf(answers->arena, "%c%s", is_accepted ? '+' : '-',
		                     is_accepted ? name : error);
		map_set(&answers->accepted, question, (void *)(uintptr_t)known);
		if (answers->driver)
			cache_store(answers->cache, key_of(answers->machine, question), known, strlen(known));
	}
	bool is_yes = *known == '+';
	snprintf(is_yes ? name : error, is_yes ? VENDOR_IMPL_SIZE : REFUSAL_SIZE, "%s", known + 1);
	return is_yes;
}

/* What its library says to a call: a name, or why it does not run it. */
static bool
ask_library(Answers *answers, const VendorCall *call, double *seconds, const char **impl)
{
	char name[VENDOR_IMPL_SIZE] = "", error[REFUSAL_SIZE] = "";
	Vendor *vendor = vendor_of(answers, call->library);
	bool is_done = vendor && (seconds ? measure_once(answers, vendor, call, seconds, name, error)
	                                  : accept_once(answers, vendor, call, name, error));
	const char *said = is_done ? name : error;
	if (impl && *said)
		*impl = map_intern(&answers->names, said, strlen(said));
	return is_done;
}

static bool
measure(void *self, const VendorCall *call, double *seconds, const char **impl)
{
	return ask_library(self, call, seconds, impl);
}

static bool
accept(void *self, const VendorCall *call, const char **impl)
{
	return ask_library(self, call, NULL, impl);
}

const Oracle *
oracle_new(const Options *options, Arena *arena, const Target *target, TrialCompile *compile)
{
	Answers *answers = NEW(arena, Answers);
	*answers = (Answers){.arena = arena,
	                     .options = options,
	                     .compile = compile,
	                     .names = {.arena = arena},
	                     .accepted = {.arena = arena},
	                     .target = target};
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
	if (device_runs_here(target->device))
		return oracle;
	const char *driver = configured(options, "driver");
	answers->driver = target->device->gpu && driver ? atoi(driver) : 0;
	*oracle = (Oracle){.self = answers,
	                   .available = is_available,
	                   .accept = accept,
	                   .only = configured(options, "library")};
	return answers->driver > 0 ? oracle : NULL;
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
