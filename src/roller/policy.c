/* The policy that we construct tiles by: alignment with the device's row.
 *
 * execution unit   registers: lanes of a vector, or the unit of a product instruction; a piece's
 *                  threads are a multiple of those that begin at once
 * transaction      the axis along which memory lies is a multiple of what memory moves, or whole
 * banks            rows of a copy begin in different ones: padding
 * shape            a tile may waste a share of an axis (epsilon)
 */
#include "roller/roller.h"

enum { MOST_STEPS = 8, MOST_IN_THREAD = 32, LONGEST_STEP = 128 };

bool
is_aligned_to_shape(int64_t extent, int64_t size, double waste)
{
	int64_t padded = (extent + size - 1) / size * size;
	return (double)padded <= (double)extent * (1 + waste) || size >= extent;
}

static bool
has_threads(const TileTask *task)
{
	return task->device->threads > 1;
}

static int64_t
common_multiple(int64_t a, int64_t b)
{
	return a / common_divisor(a, b) * b;
}

/* Sizes of the axis at the level are multiples of this. */
static int64_t
step_of(const TileTask *task, const TileProgram *program, int level, int axis)
{
	int64_t step = level > 0 ? program->tile[level - 1][axis] : task->unit[axis];
	if (level == 0 && axis == task->lane && !has_threads(task))
		return common_multiple(step, target_lanes(task->target, task->type));
	for (int k = 0; k < task->naccess && level > 0; k++) {
		const TileAccess *access = &task->accesses[k];
		int64_t moved = (int64_t)task->device->levels[level + 1].transaction * 8 / access->bits;
		if (access->run_axis == axis && moved > 1)
			step = common_multiple(step, moved);
	}
	return step;
}

static int64_t
most_of(const TileTask *task, int level, int axis)
{
	int64_t extent = task->extents[axis];
	bool is_term = task->axes[axis].kind != AXIS_loop;
	if (level == 0 && is_term)
		return 0;
	int64_t most = extent;
	if (has_threads(task))
		most = level == 0 ? MOST_IN_THREAD * task->unit[axis] : is_term ? LONGEST_STEP : extent;
	return most < extent ? most : extent;
}

/* Multiples of a step: 1 to 8, then eight in each octave; in a thread powers of two. */
static int64_t
after(int64_t count, bool is_power)
{
	int64_t by = 1;
	while (by * MOST_STEPS * 2 <= count)
		by *= 2;
	return is_power ? count * 2 : count + by;
}

static int64_t
next_size(const TilePolicy *policy, const TileTask *task, const TileProgram *program, int level,
          int axis)
{
	int64_t size = program->tile[level][axis], extent = task->extents[axis];
	int64_t step = step_of(task, program, level, axis), most = most_of(task, level, axis);
	if (size >= most)
		return 0;
	for (int64_t n = after(size / step, level == 0 && has_threads(task)); n * step < most;
	     n = after(n, level == 0 && has_threads(task)))
		if (is_aligned_to_shape(extent, n * step, policy->waste))
			return n * step;
	return is_aligned_to_shape(extent, most, policy->waste) ? most : 0;
}

static bool
first_tile(const TilePolicy *policy, const TileTask *task, TileProgram *program, int level)
{
	for (int a = 0; a < task->naxis; a++) {
		int64_t extent = task->extents[a], size = step_of(task, program, level, a);
		int64_t above = level > 0 ? program->tile[level - 1][a] : task->unit[a];
		size = size < extent ? size : extent > above ? extent : above;
		/* One of the sizes between may waste less than what moves together. */
		if (!is_aligned_to_shape(extent, size, policy->waste) && level == 0)
			return false;
		program->tile[level][a] = size;
		if (!is_aligned_to_shape(extent, size, policy->waste)) {
			int64_t next = next_size(policy, task, program, level, a);
			if (next == 0)
				return false;
			program->tile[level][a] = next;
		}
	}
	return true;
}

static double
score_of(const TilePolicy *policy, const TileTask *task, const TileProgram *program, int level,
         int axis, int64_t next)
{
	(void)policy;
	double reuse = tile_reuse(task, program, level, axis, next);
	/* Where nothing is read twice, along memory first. */
	double order = task->lane == axis ? 2 : 1 + (double)axis / SPAN_AXES;
	return reuse > 0 ? reuse : reuse < 0 ? -1 : order * 1e-30;
}

static void
pad_rows(const TileTask *task, TileProgram *program, int level)
{
	const MemLevel *memory = &task->device->levels[level];
	for (int k = 0; k < task->naccess && memory->banks > 0; k++) {
		const TileAccess *access = &task->accesses[k];
		program->padding[k] = 0;
		if (access->is_result || access->rank < 2 || access->bits < 8)
			continue;
		const Span *last = access->dims[access->rank - 1];
		int64_t row = span_size(last, program->tile[level], task->extents);
		int64_t part = span_size(last, program->tile[0], task->extents);
		int64_t lane = memory->bank_bytes * 8 / access->bits;
		bool has_rows = access_elements(task, access, program->tile[0]) > part;
		lane = lane > 1 ? lane : 1;
		int64_t rows = access_elements(task, access, program->tile[level]) / row;
		/* In so many banks rows begin, and each holds so many. */
		int64_t apart = lane * memory->banks / common_divisor(row, lane * memory->banks);
		if (has_rows && rows > apart * memory->ways)
			program->padding[k] = bank_padding(row, part, memory->banks, lane);
	}
}

/* Few results: several threads sum for each, so that all that begin at once have something. */
static int64_t
share_sums(const TileTask *task, const TileProgram *program)
{
	int64_t terms = 1, sharers = 1;
	for (int a = 0; a < task->naxis; a++)
		if (task->axes[a].kind == AXIS_term)
			terms = probe_times(terms, program->tile[1][a] / program->tile[0][a]);
	while (sharers * 2 <= terms && program->threads * sharers < task->device->issue)
		sharers *= 2;
	return sharers;
}

/* Half of a cache: what streams through needs room, too. */
int64_t
tile_room(const TileTask *task, int level)
{
	const MemLevel *memory = &task->device->levels[level];
	if (level == 0)
		return task->device->registers - (has_threads(task) ? TILE_REGISTERS : 0);
	return has_threads(task) ? memory->bytes
	                         : memory->bytes / (memory->sharers ? memory->sharers : 1) / 2;
}

static bool
fits(const TilePolicy *policy, const TileTask *task, TileProgram *program, int level)
{
	const Device *device = task->device;
	int64_t registers = program_registers(task, program);
	(void)policy;
	if (level == 0)
		return registers <= tile_room(task, level);
	if (level == 1)
		pad_rows(task, program, level);
	int64_t bytes = program_footprint(task, program, level);
	if (bytes > tile_room(task, level) || !has_threads(task))
		return bytes <= tile_room(task, level);
	program->threads =
		probe_times(tile_count(task, program->tile[0], program->tile[1]), task->unit_threads);
	program->sharers = share_sums(task, program);
	program->threads *= program->sharers;
	return program->threads <= device->threads &&
	       program->threads * (registers + TILE_REGISTERS) <= device->gpu->registers;
}

/* No tile makes its arithmetic longer than moving everything once. */
static bool
is_bound_by_memory(const TileTask *task)
{
	const Device *device = task->device;
	double bytes = tile_input_bytes(task, task->extents) + tile_result_bytes(task, task->extents);
	return tile_points(task, task->extents) / task->peak <
	       bytes / (device->levels[device->nlevel - 1].rate * 1e9);
}

static bool
is_regular(const TilePolicy *policy, const TileTask *task, const TileProgram *program, int level)
{
	if (policy->takes_any)
		return true;
	if (has_threads(task)) {
		int64_t issue = is_bound_by_memory(task) ? task->device->issue / 4 : task->device->issue;
		return level == 0 || program->threads % issue == 0;
	}
	if (level > 0 || !task->is_dot || task->lane < 0)
		return true;
	int64_t sums = 0, lanes = target_lanes(task->target, task->type);
	for (int k = 0; k < task->naccess; k++)
		if (task->accesses[k].is_result)
			sums += access_elements(task, &task->accesses[k], program->tile[0]);
	bool is_sum_in_lanes = task->axes[task->lane].kind != AXIS_loop;
	return sums / (is_sum_in_lanes ? 1 : lanes) >= task->device->sums;
}

/* A cache has no other use: a tile that fills a quarter of its room, or is all there is, does. */
static bool
fills_cache(const TileTask *task, const TileProgram *program, int level)
{
	bool is_whole = true;
	for (int a = 0; a < task->naxis; a++)
		is_whole &= program->tile[level][a] >= task->extents[a];
	return is_whole || program_footprint(task, program, level) >= tile_room(task, level) / 4;
}

static bool
is_enough(const TilePolicy *policy, const TileTask *task, const TileProgram *program, int level)
{
	const Device *device = task->device;
	const int64_t *tile = program->tile[level];
	int below = has_threads(task) && level > 0 ? device->nlevel - 1 : level + 1;
	double bytes = tile_input_bytes(task, tile) + tile_result_bytes(task, tile);
	(void)policy;
	if (!has_threads(task) && level > 0)
		return fills_cache(task, program, level);
	return is_bound_by_memory(task) ||
	       tile_points(task, tile) / task->peak > bytes / (device->levels[below].rate * 1e9);
}

TilePolicy
roller_policy(const TileTask *task, int index)
{
	static const double WASTES[TILE_POLICIES] = {0, 0.2, 1, 1};
	bool has_caches = !has_threads(task);
	return (TilePolicy){.first = first_tile,
	                    .next = next_size,
	                    .score = score_of,
	                    .fits = fits,
	                    .is_regular = is_regular,
	                    .is_enough = is_enough,
	                    .waste = WASTES[index],
	                    .takes_any = index == TILE_POLICIES - 1,
	                    .most = 96,
	                    .share = {has_caches ? 8 : 24, has_caches ? 4 : 0, 2, 0},
	                    .visits = 3000};
}
