/* What a program takes, by the device's row: the longest of what arithmetic and each memory take.
 *
 * Where threads share a memory that kernels fill:
 *
 *     resident   blocks of a unit, by shared memory, registers and threads
 *     wave       blocks that run at once; what they read in common comes from memory once
 *     step       arithmetic, reads of shared memory and loads of one piece of the sum, and a wait
 *     chain      the steps of a block, one after another, each behind what it loads: hidden only
 *                by other blocks of the unit, or by copies that are on their way a step ahead
 *
 * Where caches follow by themselves, each level moves what its tiles load. Constants of GPUs are
 * columns of devices.def; those of caches are fitted (docs/tiles.md).
 */
#include "roller/roller.h"

/* With caches, fitted to register tiles of products and convolutions (docs/tiles.md). */
static const struct {
	double arithmetic; /* share of the peak that loops reach */
	double nearest;    /* share of the rate of the first level behind registers */
	double overlap; /* share of the shorter of arithmetic and loads that hides behind the other */
	double usable;  /* share of the registers that the C compiler has for sums and factors */
	double spill;   /* loads, of each value beyond, in each step */
	double flight;  /* share of the sums that a device has under way that are needed */
	double step;    /* seconds of a step, for its loop */
	double tile;    /* seconds of a tile, besides */
	double moved;   /* share of what levels behind the first take that does not hide */
} CACHES = {0.78, 0.68, 0.99, 0.97, 1.3, 0.5, 0.27e-9, 0.39e-9, 0.69};

enum { MOST_STAGES = 2 }; /* as scripts have them */

static double
longer(double a, double b)
{
	return a > b ? a : b;
}

static double
least(double a, double b)
{
	return a < b ? a : b;
}

/* Parts of what a program takes, in seconds. */
typedef struct Times {
	double arithmetic, nearest, middle, memory, chain;
} Times;

static double
join(const GpuInfo *c, const Times *t, bool is_alone)
{
	double most = longer(longer(t->arithmetic, t->nearest), longer(t->middle, t->memory));
	double rest = t->arithmetic + t->nearest + t->middle + t->memory - most;
	return longer(most + rest * (is_alone ? 1 : c->exposed), t->chain) + c->launch;
}

static const char *
longest(const TileTask *task, const Times *t)
{
	double most = longer(longer(t->arithmetic, t->nearest), longer(t->middle, t->memory));
	const MemLevel *levels = task->device->levels;
	return t->chain > most         ? "latency"
	       : most == t->arithmetic ? "arithmetic"
	       : most == t->nearest    ? levels[1].name
	       : most == t->memory     ? levels[task->device->nlevel - 1].name
	                               : levels[2].name;
}

/* Steps of a piece through its sums. */
static int64_t
steps_of(const TileTask *task, const TileProgram *program, int level)
{
	int64_t steps = 1;
	for (int a = 0; a < task->naxis; a++)
		if (task->axes[a].kind != AXIS_loop)
			steps = probe_times(steps, pieces_of(task->extents[a], program->tile[level][a]));
	return steps;
}

/* ---- blocks of threads ----------------------------------------------------------------------- */

/* What the blocks of one wave read together: neighbours along the last axes. */
static void
tile_of_wave(const TileTask *task, const TileProgram *program, int64_t blocks, int64_t *wave)
{
	for (int a = task->naxis - 1; a >= 0; a--) {
		int64_t count = pieces_of(task->extents[a], program->tile[1][a]);
		wave[a] = task->extents[a];
		if (task->axes[a].kind != AXIS_loop)
			continue;
		int64_t taken = count < blocks ? count : blocks;
		wave[a] =
			(int64_t)least((double)task->extents[a], (double)taken * (double)program->tile[1][a]);
		blocks = pieces_of(blocks, taken);
	}
}

/* What moving rows of so many bytes costs more than their bytes. */
static double
penalty(double run, int transaction)
{
	double parts = run / transaction, whole = (double)(int64_t)(parts + 0.999999);
	return whole / parts;
}

/* Bytes from memory and from the cache before it, for all pieces. */
static void
count_bytes(const TileTask *task, const TileProgram *program, int64_t blocks, double waves,
            double *from_memory, double *from_cache)
{
	const MemLevel *cache = &task->device->levels[2];
	int64_t wave[SPAN_AXES], full[SPAN_AXES];
	double count = (double)tile_count(task, program->tile[1], task->extents);
	*from_memory = *from_cache = 0;
	tile_of_wave(task, program, blocks, wave);
	for (int a = 0; a < task->naxis; a++)
		full[a] = task->axes[a].kind == AXIS_loop ? program->tile[1][a] : task->extents[a];
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		double size = access->bits / 8.0, all = (double)access->elements * size;
		if (access->is_local)
			continue;
		double loads = count * (double)access_elements(task, access, full) * size;
		double once = (double)access_elements(task, access, task->extents) * size;
		once = least(once, all);
		double moved =
			access->is_result || once <= (double)cache->bytes / 2
				? once
				: longer(once,
		                 least(loads, waves * (double)access_elements(task, access, wave) * size));
		double run = access_run(task, access, program->tile[1]);
		*from_cache += loads * penalty(run, cache->transaction);
		*from_memory += moved * penalty(access_run(task, access, wave), cache->transaction);
	}
}

/* Whether steps read it of shared memory: not what only stands before or behind the sums. */
static bool
is_of_steps(const TileTask *task, const TileAccess *access)
{
	uint64_t steps = 0, stages = 0;
	for (int a = 0; a < task->naxis; a++)
		steps |= (uint64_t)(task->axes[a].kind != AXIS_loop) << a;
	for (int s = 0; s < task->nwork; s++)
		stages |= (uint64_t)(steps == 0 || task->works[s].axes & steps) << s;
	return access->is_local ? access_is_array(task, access)
	                        : !access->is_result && access->users & stages;
}

/* What the threads of a block read of shared memory in all steps. */
typedef struct SharedReads {
	double bytes, loads; /* as it moves them, 128 at a time; instructions of threads */
} SharedReads;

/* What the lanes of a warp read in a step: neighbours along the last axes. */
static void
tile_of_warp(const TileTask *task, const TileProgram *program, int64_t *warp)
{
	int64_t lanes = task->unit_threads > 1 ? 1 : 32; /* of units all have the same */
	for (int a = task->naxis - 1; a >= 0; a--) {
		int64_t threads = pieces_of(program->tile[1][a], program->tile[0][a]);
		threads = task->axes[a].kind != AXIS_loop ? 1 : threads < lanes ? threads : lanes;
		warp[a] = program->tile[0][a] * threads;
		lanes = pieces_of(lanes, threads);
	}
}

/* Nothing where threads share nothing. Factors of products come by vectors. */
static SharedReads
shared_reads(const TileTask *task, const TileProgram *program)
{
	enum { ROUND = 128, VECTOR = 16, LANES = 32 };
	const int64_t *step = program->tile[0];
	int64_t warp[SPAN_AXES];
	double points = 1, thread = 0, block = 0, rounds = 0, loads = 0;
	tile_of_warp(task, program, warp);
	for (int a = 0; a < task->naxis; a++)
		points *=
			task->axes[a].kind == AXIS_loop ? 1 : (double)pieces_of(task->extents[a], step[a]);
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		double bytes = access->bits / 8.0, width = task->is_dot ? VECTOR / bytes : 1;
		if (!is_of_steps(task, access))
			continue;
		double issued = (double)access_elements(task, access, step) / width;
		double moved = (double)access_elements(task, access, warp) * bytes / ROUND;
		rounds += task->unit_threads > 1 ? moved : longer(moved, issued) / LANES;
		loads += issued;
		thread += (double)access_elements(task, access, step) * bytes;
		block += (double)access_elements(task, access, program->tile[1]) * bytes;
	}
	double tiles = (double)tile_count(task, step, program->tile[1]);
	double terms = points / (double)steps_of(task, program, 1);
	if (thread * tiles * terms <= 1.01 * block)
		return (SharedReads){0};
	return (SharedReads){rounds * ROUND * tiles * points, loads * tiles * points};
}

/* Blocks that a unit holds at once. */
static int64_t
resident_blocks(const TileTask *task, const TileProgram *program, int stages)
{
	const GpuInfo *gpu = task->device->gpu;
	int64_t bytes = program_footprint(task, program, 1) * stages;
	int64_t registers = (program_registers(task, program) + TILE_REGISTERS + 7) / 8 * 8;
	int64_t resident = gpu->blocks, threads = program->threads;
	resident =
		bytes > 0 && gpu->shared_bytes / bytes < resident ? gpu->shared_bytes / bytes : resident;
	resident = gpu->registers / (registers * threads) < resident
	               ? gpu->registers / (registers * threads)
	               : resident;
	return gpu->threads / threads < resident ? gpu->threads / threads : resident;
}

/* Seconds that a block keeps the arithmetic of a unit busy: the group's operations, or if that
 * takes longer, the instructions for these, for loads, and for where elements of windows lie. */
static double
block_work(const TileTask *task, const TileProgram *program, double loads)
{
	enum { OF_PLACE = 20, ROUND = 128 };
	const Device *device = task->device;
	double points = tile_points(task, program->tile[1]), steps = (double)steps_of(task, program, 1);
	double instructions = task->unit_threads > 1 ? 0 : loads + points / (task->is_dot ? 2 : 1);
	for (int k = 0; k < task->naccess; k++)
		if (task->accesses[k].is_window && is_of_steps(task, &task->accesses[k]))
			instructions += steps * OF_PLACE *
			                (double)access_elements(task, &task->accesses[k], program->tile[1]);
	double issued = instructions / (device->levels[1].rate * 1e9 / ROUND * device->issue);
	return longer(points / task->peak, issued) * device->units / device->gpu->reach_f32 /
	       (double)program->cut;
}

/* A block that has its unit to itself, in so many steps of `own` seconds each. */
static double
chain_of(const GpuInfo *c, int stages, double steps, double own)
{
	double step = stages > 1 ? longer(own, c->latency / (stages - 1)) : own + c->latency;
	return steps * (step + c->wait);
}

/* What the second kernel of a cut sum takes, which adds the parts. */
static double
addition(const TileTask *task, const TileProgram *program)
{
	const GpuInfo *c = task->device->gpu;
	double bytes = tile_result_bytes(task, task->extents) * (double)program->cut;
	double rate = task->device->levels[3].rate * 1e9 * c->reach_memory;
	return program->cut > 1 ? c->launch + c->latency + bytes / rate : 0;
}

static double
predict_blocks(const TileTask *task, TileProgram *program, int stages, Times *t)
{
	const Device *device = task->device;
	const GpuInfo *c = device->gpu;
	int64_t most = resident_blocks(task, program, stages), units = device->units;
	int64_t pieces = program->pieces, steps = pieces_of(steps_of(task, program, 1), program->cut);
	if (most < 1)
		return -1;
	int64_t resident = pieces_of(pieces, units) < most ? pieces_of(pieces, units) : most;
	int64_t whole = pieces / (units * resident), rest = pieces % (units * resident);
	double turns = (double)(whole * resident + pieces_of(rest, units)); /* blocks, of one unit */
	double waves = (double)(whole + (rest > 0)), threads = (double)(resident * program->threads);
	double from_memory, from_cache;
	SharedReads reads = shared_reads(task, program);
	double work = block_work(task, program, reads.loads), cut = (double)program->cut;
	double moved =
		reads.bytes / cut / (device->levels[1].rate * 1e9 * c->reach_shared / (double)units);
	double share = least(1, (double)pieces / (double)units);
	t->arithmetic = turns * work / least(1, threads / c->busy);
	t->nearest = turns * moved;
	count_bytes(task, program, units * resident, waves, &from_memory, &from_cache);
	double results = tile_result_bytes(task, task->extents);
	from_memory += program->cut > 1 ? results * cut : 0;
	double reach = share * least(1, threads / c->loading);
	t->middle = from_cache / (device->levels[2].rate * 1e9 * share);
	t->memory = from_memory / (device->levels[3].rate * 1e9 * c->reach_memory * reach);
	double alone = longer(work / least(1, (double)program->threads / c->busy), moved);
	t->chain = waves * chain_of(c, stages, (double)steps, alone / (double)steps);
	return join(c, t, resident == 1 && stages == 1) + addition(task, program);
}

static double
predict_shared(const TileTask *task, TileProgram *program)
{
	int stages = MOST_STAGES;
	int64_t room = task->device->levels[1].bytes, bytes = program_footprint(task, program, 1);
	double best = -1;
	program->pieces = probe_times(tile_count(task, program->tile[1], task->extents), program->cut);
	if (steps_of(task, program, 1) == 1 || shared_reads(task, program).bytes == 0)
		stages = 1;
	for (int s = 1; s <= stages && bytes * s <= room; s++) {
		Times t = {0};
		double seconds = predict_blocks(task, program, s, &t);
		if (seconds < 0 || (best >= 0 && seconds >= best))
			continue;
		best = seconds;
		program->stages = s;
		program->reason = longest(task, &t);
	}
	return best;
}

/* ---- caches ---------------------------------------------------------------------------------- */

/* Vectors, or numbers where they do not lie side by side, that a register tile loads in each step
 * of its sums, or where there are none, once. */
static double
loads_of(const TileTask *task, const TileProgram *program)
{
	double lanes = (double)target_lanes(task->target, task->type), loads = 0;
	uint64_t terms = 0;
	for (int a = 0; a < task->naxis; a++)
		terms |= (uint64_t)(task->axes[a].kind == AXIS_term) << a;
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		double elements = (double)access_elements(task, access, program->tile[0]);
		bool in_lanes = access->run_axis >= 0 && access->run_axis == task->lane;
		bool in_steps = terms == 0 || task->works[access->stage].axes & terms;
		if (!access->is_result && in_steps)
			loads += in_lanes ? (double)(int64_t)(elements / lanes + 0.99) : elements;
	}
	return loads;
}

/* Vectors of sums that a register tile has under way. */
static double
sums_of(const TileTask *task, const TileProgram *program)
{
	double sums = 0, lanes = (double)target_lanes(task->target, task->type);
	for (int k = 0; k < task->naccess; k++)
		if (task->accesses[k].is_result && !task->accesses[k].is_local)
			sums += (double)access_elements(task, &task->accesses[k], program->tile[0]);
	bool in_lanes = task->lane >= 0 && task->axes[task->lane].kind == AXIS_loop;
	sums /= in_lanes ? least(lanes, (double)program->tile[0][task->lane]) : 1;
	return sums > 1 ? sums : 1;
}

/* Bytes that go into the tiles of a level: inputs of each, and results, which stay while the sum
 * goes on in the level behind. */
static double
bytes_into(const TileTask *task, const TileProgram *program, int level)
{
	const int64_t *tile = program->tile[level];
	int behind = level > 1 && level + 1 < task->nlevel ? level + 1 : level;
	double tiles = 1, inputs = 0, results = 0;
	double rounds = level > 1 && behind == level ? 1 : (double)steps_of(task, program, behind);
	for (int a = 0; a < task->naxis; a++)
		tiles *= (double)pieces_of(task->extents[a], tile[a]);
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		double bytes = access->bits / 8.0;
		if (access->is_result)
			results += access->is_local ? 0 : bytes * (double)access->elements;
		else
			inputs += bytes * (double)access_elements(task, access, tile);
	}
	return tiles * inputs + results * (2 * rounds - 1);
}

/* Where all of the group's tensors are found after another step: the first memory with room. */
static int
home_of(const TileTask *task)
{
	double bytes = 0;
	int level = 1;
	for (int k = 0; k < task->naccess; k++)
		bytes += task->accesses[k].is_local
		             ? 0
		             : (double)task->accesses[k].elements * task->accesses[k].bits / 8;
	while (level < task->device->nlevel - 1 &&
	       bytes > (double)task->device->levels[level].bytes / 2)
		level++;
	return level;
}

/* What a vector that is not full costs more than its numbers. */
static double
empty_lanes(const TileTask *task, const TileProgram *program)
{
	double lanes = (double)target_lanes(task->target, task->type);
	return task->lane < 0 ? lanes : penalty((double)program->tile[0][task->lane], (int)lanes);
}

static double
predict_caches(const TileTask *task, TileProgram *program)
{
	const Device *device = task->device;
	int level = task->nlevel - 1, home = home_of(task), last = device->nlevel - 1;
	double tiles = (double)tile_count(task, program->tile[0], task->extents);
	double steps = tiles * (double)steps_of(task, program, 0), moved = 0;
	double spilt = (double)program_registers(task, program) - device->registers * CACHES.usable;
	double loads = loads_of(task, program) + CACHES.spill * longer(0, spilt);
	double rate = device->levels[1].rate * 1e9 * CACHES.nearest / device->vector_bytes;
	Times t = {.nearest = steps * loads / rate};
	/* Pieces are the largest tiles of which there are several: a bundle runs with any number of
	 * threads, and is the same for all. */
	while (level > 1 && tile_count(task, program->tile[level], task->extents) < 2)
		level--;
	program->pieces =
		probe_times(tile_count(task, program->tile[level], task->extents), program->cut);
	t.arithmetic = tile_points(task, task->extents) * empty_lanes(task, program) /
	               (task->peak * CACHES.arithmetic) *
	               longer(1, device->sums * CACHES.flight / sums_of(task, program));
	for (int l = 1; l < home && l < task->nlevel; l++) {
		double seconds = bytes_into(task, program, l) / (device->levels[l + 1].rate * 1e9);
		double *of = l + 1 == last ? &t.memory : &t.middle;
		*of = longer(*of, seconds);
		moved += seconds;
	}
	program->reason = longest(task, &t);
	double most = longer(t.arithmetic, t.nearest);
	double rest = (1 - CACHES.overlap) * least(t.arithmetic, t.nearest);
	return most + rest + steps * CACHES.step + tiles * CACHES.tile + CACHES.moved * moved;
}

double
predict_seconds(const TileTask *task, TileProgram *program)
{
	return task->device->threads > 1 ? predict_shared(task, program)
	                                 : predict_caches(task, program);
}
