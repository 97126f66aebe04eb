/* A row as this machine has it: as text, from text, measured, and kept in the cache. */
#include "driver/measure/native.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cache.h"
#include "base/cpu.h"
#include "base/file.h"
#include "bundle/json.h"
#include "driver/measure/oracle.h"
#include "driver/measure/peak.h"

enum { LINE = 64, WAYS_MOST = 64, CACHE_LEAST = 4096, CACHE_MOST = 1 << 28 };

/* What a rate may be of its row's; and no text of a row is longer. */
static const double RATE_LEAST = 1. / 64, RATE_MOST = 64;
enum { TEXT_MOST = 1024 };

static const char *
row_text(Arena *arena, const Device *row)
{
	Buf buf = {.arena = arena};
	const MemLevel *l1 = &row->levels[1], *l2 = &row->levels[2];
	json_put(&buf,
	         "{'device': %s, 'gflops': %g, 'bf16': %g, 'bandwidth': %g, "
	         "'l1': %lld, 'l1_ways': %d, 'l2': %lld, 'l2_ways': %d}",
	         row->name, row->gflops, row->peak.bf16, row->bandwidth, (long long)l1->bytes, l1->ways,
	         (long long)l2->bytes, l2->ways);
	return buf_text(&buf);
}

/* ---- from a text ----------------------------------------------------------------------------- */

/* NaN where there is none. */
static double
number(const Json *json, const char *name)
{
	const Json *member = json_member(json, name);
	return json_is(member, JSON_NUMBER) ? member->number : NAN;
}

static bool
read_cache(const Json *json, const char *name, const char *name_of_ways, MemLevel *level)
{
	double bytes = number(json, name), ways = number(json, name_of_ways);
	if (!(bytes >= CACHE_LEAST && bytes <= CACHE_MOST && ways >= 1 && ways <= WAYS_MOST))
		return false;
	level->ways = (int)ways;
	level->bytes = (int64_t)bytes;
	level->banks = (int)(level->bytes / LINE / level->ways);
	return level->banks > 0;
}

/* All rates of a core go with its clock, but for those of bf16: some processors do as many products
 * of bf16 as of f32, others twice or sixteen times as many. */
static void
set_rates(Device *row, double gflops, double bf16, double bandwidth)
{
	double factor = gflops / row->gflops;
	row->gflops = gflops;
	row->peak.bf16 = bf16;
	row->peak.f64 *= factor;
	row->peak.f16 *= factor;
	row->peak.s8 *= factor;
	for (int i = 1; i < row->nlevel - 1; i++)
		row->levels[i].rate *= factor;
	row->bandwidth = row->levels[row->nlevel - 1].rate = bandwidth;
}

static bool
is_rate(double rate, double of_row)
{
	return rate >= of_row * RATE_LEAST && rate <= of_row * RATE_MOST;
}

static bool
take_row(const Json *json, Device *row)
{
	const Json *device = json_member(json, "device");
	double gflops = number(json, "gflops"), bandwidth = number(json, "bandwidth");
	double bf16 = number(json, "bf16");
	Device here = *row;
	if (!json_is(device, JSON_TEXT) || strcmp(device->text, row->name) != 0 ||
	    !is_rate(gflops, row->gflops) || !is_rate(bandwidth, row->bandwidth) ||
	    !is_rate(bf16, row->peak.bf16) || !read_cache(json, "l1", "l1_ways", &here.levels[1]) ||
	    !read_cache(json, "l2", "l2_ways", &here.levels[2]))
		return false;
	here.l1 = here.levels[1].bytes;
	here.l2 = here.levels[2].bytes;
	set_rates(&here, gflops, bf16, bandwidth);
	*row = here;
	return true;
}

bool
native_read(const char *text, size_t size, Device *row)
{
	Json *json = size <= TEXT_MOST ? json_read(text, size) : NULL;
	bool is_read = take_row(json, row);
	json_free(json);
	return is_read;
}

/* The first line of --choices has it as a member. */
static bool
read_choices(const Options *options, Arena *arena, Device *row)
{
	const char *text = options->choices ? file_text(arena, options->choices) : "";
	Json *json = json_read(text, strcspn(text, "\n"));
	bool is_read = take_row(json_member(json, "row"), row);
	json_free(json);
	return is_read;
}

/* ---- measured -------------------------------------------------------------------------------- */

static double
in_steps(double measured, double of_row)
{
	double rate = of_row * exp2(round(2 * log2(measured / of_row)) / 2);
	return measured > 0 ? round(rate * 10) / 10 : of_row;
}

/* How many times as fast as f32, so measured, products of bf16 are. Of those that the library does
 * in tiles, and no kernel of ours, the row's number stands. */
static double
bf16_share(const Device *device, double gflops)
{
	bool is_measured = device->peak.bf16 > 0 && !cpu_has_tiles();
	return is_measured ? in_steps(peak_bf16_gflops(), gflops) / gflops
	                   : device->peak.bf16 / device->gflops;
}

static const char *
measure(Arena *arena, const Device *device)
{
	Device here = device_as_here(device);
	double measured = peak_gflops(device->vector_bytes);
	double gflops = in_steps(measured, device->gflops);
	set_rates(&here, gflops, round(10 * gflops * bf16_share(device, measured)) / 10,
	          in_steps(peak_bandwidth(), device->bandwidth));
	return row_text(arena, &here);
}

/* What is kept is read as what was measured is, so that both decide alike. */
static void
find_row(Arena *arena, Device *row)
{
	const char *machine = arena_printf(arena, "row 2 %s\n%s", row->name, processor_text(arena));
	Cache *cache = cache_open(arena, NULL, CACHE_LIMIT);
	Hash128 key = hash128(machine, strlen(machine));
	Bytes found;
	if (cache_find(cache, arena, key, &found) &&
	    native_read((const char *)found.data, found.size, row))
		return;
	const char *text = measure(arena, row);
	if (native_read(text, strlen(text), row))
		cache_store(cache, key, text, strlen(text));
}

void
native_correct(const Options *options, Arena *arena, const char *name, int level, Target *target)
{
	if (strcmp(name, "cpu:native") != 0 || level < LEVEL_MEASURED)
		return;
	Device *row = NEW(arena, Device);
	*row = *target->device;
	if (!read_choices(options, arena, row))
		find_row(arena, row);
	target->device = row;
	target->row = row_text(arena, row);
}
