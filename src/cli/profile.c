/* Steps are told apart by depth, index and name: nested plans count from 0 again. */
#include "cli/profile.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/session.h"
#include "runtime/json.h"

typedef struct StepTimes {
	const char *name, *origins, *kind, *impl;
	int depth;
	double total, flops, bytes;
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

static StepTimes *
find_step(Profile *profile, const TwStep *step)
{
	char key[256];
	snprintf(key, sizeof key, "%d:%d:%s", step->depth, step->index, step->name);
	StepTimes *times = map_find(&profile->steps, key);
	if (times)
		return times;
	times = NEW(profile->arena, StepTimes);
	*times = (StepTimes){
		.name = arena_strdup(profile->arena, step->name),
		.origins = arena_strdup(profile->arena, step->origins),
		.kind = arena_strdup(profile->arena, step->kind),
		.impl = arena_strdup(profile->arena, step->impl),
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
		for (int i = 0; i < profile->steps.count; i++)
			((StepTimes *)profile->steps.entries[i].value)->total = 0;
}

void
profile_step(void *context, const TwStep *step)
{
	Profile *profile = context;
	StepTimes *times = find_step(profile, step);
	times->total += step->seconds;
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

static void
step_row(Table *table, const StepTimes *step, double runs, double all)
{
	double ms = step->total / runs * 1e3;
	table_row(table, "%.3f ms|%.1f|%.1f|%.1f|%s|%s|%s", ms, all > 0 ? 100 * step->total / all : 0,
	          ms > 0 ? step->flops / ms * 1e-6 : 0, ms > 0 ? step->bytes / ms * 1e-6 : 0,
	          step->kind, step->name, step->impl);
}

void
profile_report(Profile *profile, Report *report)
{
	int runs = profile->begun > 1 ? profile->begun - 1 : 1;
	int count = profile->steps.count;
	const StepTimes **order = NEW_N(profile->arena, const StepTimes *, count + 1);
	double all = 0;
	for (int i = 0; i < count; i++) {
		order[i] = profile->steps.entries[i].value;
		all += order[i]->depth == 0 ? order[i]->total : 0;
	}
	qsort(order, (size_t)count, sizeof *order, slower_first);
	Table *table =
		report_table(report, "profile",
	                 ">ms:time|>percent:%|>gflops:GFLOP/s|>bandwidth:GB/s|kind|name:step|impl:by");
	for (int i = 0; i < count; i++)
		step_row(table, order[i], runs, all);
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
