/* Costs of programs: each part that is one kernel or one call moves its operands and results and
 * computes; the larger of both counts, and a step to begin it. */

#include <math.h>
#include <string.h>

#include "einnet/converge.h"
#include "expr/stage/hash.h"
#include "program/forms.h"
#include "target/maker.h"

/* To begin a step: the executor's walk, a call into a library. */
static const double STEP_SECONDS = 1e-6;

/* Products of weights alone are computed when compiling, by the interpreter: of more operations
 * that takes seconds, for each candidate. */
static const double KNOWN_MOST = 4e9;

/* Of the operations, where a call has another algorithm beside the direct one. */
static const double OTHER_ALGORITHM = 0.6;

static double
count_of(const Target *target, const Dim *dim)
{
	return (double)probe_dim(target, dim);
}

/* Channels of a convolution come in blocks of a vector's lanes, whether it has them or not; where
 * they fill not one, libraries have lanes of something else. */
static double
share_of_channels(const Target *target, double channels)
{
	double lanes = (double)target_lanes(target, DT_F32);
	return lanes > 0 && channels > lanes ? channels / (ceil(channels / lanes) * lanes) : 1;
}

/* Of a call's peak, what a matrix of so many rows and columns comes to: less than a register tile
 * or two of either leave it idle. */
static double
share_of_shape(const Target *target, const Call *call)
{
	static const double ROWS = 8, COLUMNS = 24;
	if (call->rank < 2)
		return 1;
	if (call->row->fill == FILL_lanes)
		return share_of_channels(target, (double)call->extents[1]);
	if (call->row->fill != FILL_tiles)
		return 1;
	double rows = (double)call->extents[call->rank - 2];
	double columns = (double)call->extents[call->rank - 1];
	return rows / (rows + ROWS) * columns / (columns + COLUMNS);
}

static double
bytes_of(const Target *target, const Tensor *tensor)
{
	return probe_elements(target, tensor) * dtype_bits(tensor->type) / 8;
}

static double
points_of(const Target *target, const Stage *stage)
{
	return count_of(target, stage_points(stage->body[0]->ctx, stage));
}

/* ---- one part ---- */

static Cost
cost_of_part(Calls *calls, Arena *arena, const Program *part)
{
	Cost cost = {0};
	const Target *target = calls->target;
	const Call *call =
		stage_is_product(part->stages[0]) ? einnet_call(calls, arena, part, 0) : NULL;
	bool is_call = call && call->row->library;
	double compute = 0;
	for (int s = 0; s < part->nstage; s++) {
		const Stage *stage = part->stages[s];
		double share = stage->guard ? probe_share(target, stage) : 1;
		double flops = share * points_of(target, stage) * stage_point_work(stage);
		bool is_library = is_call && s == 0;
		double share_done = is_library && call->nchoice > 1 ? OTHER_ALGORITHM : 1;
		share_done /= is_library ? share_of_shape(target, call) : 1;
		cost.flops += flops;
		compute += device_work_seconds(target->device, is_library ? WORK_library : WORK_loops,
		                               flops * share_done);
	}
	double traffic = 0;
	for (int i = 0; i < part->ninput + part->noutput; i++) {
		const Tensor *t = i < part->ninput ? part->inputs[i] : part->outputs[i - part->ninput];
		double bytes = bytes_of(target, t);
		cost.bytes += bytes;
		traffic += device_traffic_seconds(target->device, bytes);
	}
	cost.seconds = fmax(compute, traffic) + STEP_SECONDS;
	cost.calls = is_call;
	cost.kernels = !is_call;
	return cost;
}

typedef struct Places {
	const Program *part;
	Hash128 hash;
} Places;

/* Which input it is, or which result of which stage. */
static void
note_place(const Tensor *tensor, void *arg)
{
	Places *places = arg;
	const Program *part = places->part;
	int input = 0, stage = 0;
	while (input < part->ninput && part->inputs[input] != tensor)
		input++;
	while (input == part->ninput && part->stages[stage] != tensor->stage)
		stage++;
	int result = input == part->ninput ? tensor->result : 0;
	int place[] = {input, stage, result};
	places->hash = hash128_combine(places->hash, hash128(place, sizeof place));
}

/* What the part's cost follows from; false where that has no hash. */
static bool
hash_part(const Program *part, Hash128 *hash)
{
	Places places = {part, hash_word((uint64_t)part->nstage)};
	for (int s = 0; s < part->nstage; s++) {
		Hash128 text;
		if (!hash_text(part->ctx, part->stages[s], &text))
			return false;
		places.hash = hash128_combine(places.hash, text);
		stage_visit_reads(part->stages[s], note_place, &places);
	}
	for (int i = 0; i < part->noutput; i++)
		note_place(part->outputs[i], &places);
	*hash = places.hash;
	return true;
}

static Cost
known_cost(Calls *calls, Arena *arena, const Program *part)
{
	Hash128 hash;
	if (!hash_part(part, &hash))
		return cost_of_part(calls, arena, part);
	void **known = hash_set_value(calls->arena, &calls->costs, hash);
	if (!*known) {
		Cost cost = cost_of_part(calls, arena, part);
		*known = arena_memdup(calls->arena, &cost, sizeof cost);
	}
	return *(const Cost *)*known;
}

static bool
is_known(const Program *program, const Program *part, const bool *constant)
{
	for (int i = 0; i < part->noutput; i++)
		if (!einnet_is_constant(program, part->outputs[i], constant))
			return false;
	return true;
}

static void
add_part(Calls *calls, Arena *arena, const Program *program, const Program *part,
         const bool *constant, Cost *total)
{
	if (is_known(program, part, constant))
		return;
	Cost cost = known_cost(calls, arena, part);
	total->seconds += cost.seconds;
	total->flops += cost.flops;
	total->bytes += cost.bytes;
	total->calls += cost.calls;
	total->kernels += cost.kernels;
}

/* Stages from `first` on, up to a call, as kernels. Gives where they end. */
static int
add_kernels(Calls *calls, Arena *arena, const Program *program, int first, const bool *constant,
            Cost *total)
{
	ProgramVec parts = {0};
	int last = first;
	do
		last++;
	while (last < program->nstage && !einnet_is_open(program, last, constant));
	const Program *between = program_part(arena, program, first, last);
	program_cut(arena, program_inline_stages(arena, between), calls->target, &parts);
	for (int p = 0; p < parts.count; p++)
		add_part(calls, arena, program, parts.data[p], constant, total);
	return last;
}

Cost
einnet_cost(Calls *calls, Arena *arena, const Program *program, const bool *constant)
{
	Cost total = {0};
	for (int s = 0; s < program->nstage;) {
		if (einnet_is_open(program, s, constant) && einnet_call(calls, arena, program, s)) {
			const Program *part = program_part(arena, program, s, s + 1);
			add_part(calls, arena, program, part, constant, &total);
			s++;
		} else {
			s = add_kernels(calls, arena, program, s, constant, &total);
		}
	}
	return total;
}

double
einnet_bound(const Program *program, const bool *constant, const Target *target)
{
	double seconds = 0;
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		double flops = stage_is_product(stage) ? 2 * points_of(target, stage) : 0;
		if (flops > KNOWN_MOST && einnet_is_constant(program, stage->results[0], constant))
			return INFINITY;
		if (!einnet_is_open(program, s, constant))
			continue;
		flops = stage->guard ? 0 : flops;
		double bytes = program_gives(program, stage) ? 0 : 2 * bytes_of(target, stage->results[0]);
		double traffic = device_traffic_seconds(target->device, bytes);
		seconds += fmax(flops / (target->device->gflops * 1e9), traffic);
	}
	return seconds;
}
