/* Questions of the compiler in the words of runtime/vendor.h, answered by oneDNN itself; programs,
 * by running them; and what was found out so, kept on disk from one compilation to the next. */
#include "cli/oracle.h"

#include <stdio.h>
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
	Vendor *vendor;
	bool is_tried;
	char trouble[256]; /* why `vendor` is NULL */
	Map names;         /* of implementations, one copy each */
	const Device *device;
	Cache *cache;            /* opened at the first question, with what it goes by: */
	const char *surrounding; /* all but the question that decides about an answer */
} Answers;

static void
release(void *handle)
{
	Answers *answers = handle;
	if (answers->vendor)
		vendor_close(answers->vendor);
}

static bool
is_available(void *self, const char *library)
{
	Answers *answers = self;
	if (strcmp(library, "onednn") != 0)
		return false;
	if (!answers->is_tried)
		answers->vendor = vendor_open(answers->trouble, sizeof answers->trouble);
	answers->is_tried = true;
	return answers->vendor != NULL;
}

static bool
measure(void *self, const VendorCall *call, double *seconds, const char **impl)
{
	Answers *answers = self;
	if (!is_available(self, "onednn"))
		return false;
	char name[VENDOR_IMPL_SIZE], error[256];
	if (!dnnl_measure(answers->vendor, call, pool_cores(), seconds, name, error, sizeof error))
		return false;
	if (impl)
		*impl = map_intern(&answers->names, name, strlen(name));
	return true;
}

static void
time_programs(void *self, int count, const Program *const *programs, const bool *constant,
              double *seconds, double *relayouts)
{
	Answers *answers = self;
	trial_seconds(answers->options, answers->arena, answers->device->name, count, programs,
	              constant, seconds, relayouts);
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

static void
find_surrounding(void *arg)
{
	static const char asking[] = "DeriveExpressions."; /* who asks says it in the question */
	Answers *answers = arg;
	const Options *o = answers->options;
	Buf buf = {.arena = answers->arena};
	bool is_used = is_available(answers, "onednn");
	buf_printf(&buf, "answers 1, tilewright %s, %s, %d cores, %s\n%s\n%s\n", tw_version_text(),
	           answers->device->name, pool_cores(), is_used ? vendor_name(answers->vendor) : "",
	           processor(answers->arena), codegen_compiler(answers->arena));
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

static Hash128
key_of(const Answers *answers, const char *question)
{
	return hash128_combine(hash128(answers->surrounding, strlen(answers->surrounding)),
	                       hash128(question, strlen(question)));
}

static const char *
recall(void *self, Arena *arena, const char *question)
{
	Answers *answers = self;
	Bytes found;
	if (!open_cache(answers) ||
	    !cache_find(answers->cache, arena, key_of(answers, question), &found))
		return NULL;
	return found.size <= ANSWER_MOST ? arena_strndup(arena, (const char *)found.data, found.size)
	                                 : "";
}

static void
remember(void *self, const char *question, const char *answer)
{
	Answers *answers = self;
	size_t size = strlen(answer);
	if (size <= ANSWER_MOST && open_cache(answers))
		cache_store(answers->cache, key_of(answers, question), answer, size);
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
	                   .measure = measure,
	                   .time = time_programs,
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
