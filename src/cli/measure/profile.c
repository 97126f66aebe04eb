/* Steps are told apart by depth, index and name: nested plans count from 0 again. */
#include "cli/measure/profile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "bundle/json.h"
#include "driver/proof/session.h"

typedef struct StepTimes {
	const char *name, *origins, *kind, *impl, *units;
	int depth;
	double total, flops, bytes; /* seconds of `count` executions; the others of one */
	int count;
} StepTimes;

typedef struct Event {
	const StepTimes *step;
	double begin, seconds;
} Event;

struct Profile {
	Arena *arena;
	Map steps; /* "depth:index:name" -> StepTimes */
	VEC(Event) events;
	int begun; /* runs */
	double origin;
};

Profile *
profile_new(Arena *arena)
{
	Profile *profile = NEW(arena, Profile);
	*profile = (Profile){.arena = arena, .steps = {.arena = arena}, .origin = now_seconds()};
	return profile;
}

enum { KEY_SIZE = 256 };

static void
step_key(char key[KEY_SIZE], int depth, int index, const char *name)
{
	snprintf(key, KEY_SIZE, "%d:%d:%s", depth, index, name);
}

static StepTimes *
find_step(Profile *profile, const TwStep *step)
{
	char key[KEY_SIZE];
	step_key(key, step->depth, step->index, step->name);
	StepTimes *times = map_find(&profile->steps, key);
	if (times)
		return times;
	times = NEW(profile->arena, StepTimes);
	*times = (StepTimes){
		.name = arena_strdup(profile->arena, step->name),
		.origins = arena_strdup(profile->arena, step->origins),
		.kind = arena_strdup(profile->arena, step->kind),
		.impl = arena_strdup(profile->arena, step->impl),
		.units = arena_strdup(profile->arena, step->units),
		.depth = step->depth,
		.flops = step->flops,
		.bytes = step->bytes,
	};
	map_set(&profile->steps, arena_strdup(profile->arena, key), times);
	return times;
}

/* The first run makes what later ones find made (the library's kernels, memory's pages): its times
 * count only where it stays the only one. */
void
profile_begin(Profile *profile)
{
	profile->events.count = 0;
	if (++profile->begun == 2)
		for (int i = 0; i < profile->steps.count; i++) {
			StepTimes *times = profile->steps.entries[i].value;
			times->total = times->count = 0;
		}
}

void
profile_step(void *context, const TwStep *step)
{
	Profile *profile = context;
	StepTimes *times = find_step(profile, step);
	times->total += step->seconds;
	times->count++;
	double begin = now_seconds() - profile->origin - step->seconds;
	vec_push(profile->arena, &profile->events, (Event){times, begin, step->seconds});
}

static int
slower_first(const void *a, const void *b)
{
	const StepTimes *x = *(StepTimes *const *)a, *y = *(StepTimes *const *)b;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Of the peak of the units that the step's products are for. */
static const char *
share_of(Arena *arena, const StepTimes *step, const Machine *machine)
{
	const char *units;
	if (!machine->device || !*step->units)
		return "";
	double peak = machine_peak(machine, step->units, &units);
	double gflops = step->total > 0 ? step->flops * step->count / step->total * 1e-9 : 0;
	return arena_printf(arena, "%.0f %% of %s", 100 * gflops / peak, units);
}

static void
step_row(Table *table, const StepTimes *step, double runs, double all, const char *share)
{
	double rate = step->total > 0 ? 1e-9 * step->count / step->total : 0;
	table_row(table, "%.3f ms|%.1f|%.1f|%.1f|%s|%s|%s|%s", step->total / runs * 1e3,
	          all > 0 ? 100 * step->total / all : 0, step->flops * rate, step->bytes * rate, share,
	          step->kind, step->name, step->impl);
}

/* Runs that count. */
static int
profile_runs(const Profile *profile)
{
	return profile->begun > 1 ? profile->begun - 1 : 1;
}

double
profile_seconds(const Profile *profile, int depth, int index, const char *name, double *times)
{
	char key[KEY_SIZE];
	step_key(key, depth, index, name);
	const StepTimes *step = map_find(&profile->steps, key);
	if (times)
		*times = step ? (double)step->count / profile_runs(profile) : 1;
	return step ? step->total / profile_runs(profile) : NAN;
}

const Profile *
profile_bundle(const Options *options, Arena *arena, const char *path, double *seconds)
{
	enum { RUNS_MOST = 1000 };
	Profile *profile = profile_new(arena);
	TwSessionOptions settings = {
		.size = sizeof settings, .profile = profile_step, .profile_context = profile};
	Session *session = session_open(arena, path, path, options, &settings);
	session_inputs(session, options);
	profile_begin(profile); /* the first run makes what later ones find made */
	session_run(session);
	int64_t most = options->runs > 0 ? options->runs : RUNS_MOST, count = 0;
	double spent = 0, start = now_seconds();
	while (count < most && (options->runs > 0 || spent < 0.5)) {
		profile_begin(profile);
		session_run(session);
		spent = now_seconds() - start;
		count++;
	}
	*seconds = spent / (double)count;
	return profile;
}

void
profile_report(Profile *profile, Report *report, const Machine *machine)
{
	int runs = profile_runs(profile);
	int count = profile->steps.count;
	const StepTimes **order = NEW_N(profile->arena, const StepTimes *, count + 1);
	double all = 0;
	for (int i = 0; i < count; i++) {
		order[i] = profile->steps.entries[i].value;
		all += order[i]->depth == 0 ? order[i]->total : 0;
	}
	qsort(order, (size_t)count, sizeof *order, slower_first);
	Table *table = report_table(
		report, "profile",
		">ms:time|>percent:%|>gflops:GFLOP/s|>bandwidth:GB/s|>share:share|kind|name:step|impl:by");
	for (int i = 0; i < count; i++)
		step_row(table, order[i], runs, all, share_of(profile->arena, order[i], machine));
	report_number(report, "profile_ms", "all steps", all / runs * 1e3, "%.3f ms");
}

void
profile_trace(const Profile *profile, Arena *arena, const char *path)
{
	Buf buf = {.arena = arena};
	json_put(&buf, "{'displayTimeUnit': 'ms', 'traceEvents': [");
	for (int i = 0; i < profile->events.count; i++) {
		const Event *event = &profile->events.data[i];
		const StepTimes *step = event->step;
		buf_puts(&buf, i ? ",\n" : "\n");
		json_put(&buf, "{'name': %s, 'cat': %s, 'ph': 'X', 'pid': 1, 'tid': %d, ", step->name,
		         step->kind, step->depth + 1);
		json_put(&buf, "'ts': %g, 'dur': %g, 'args': {'nodes': %s, 'by': %s}}", event->begin * 1e6,
		         event->seconds * 1e6, step->origins, step->impl);
	}
	buf_puts(&buf, "\n]}\n");
	file_write(arena, path, buf.data, buf.size);
}
