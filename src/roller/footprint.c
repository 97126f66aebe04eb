/* What tiles touch: elements, bytes, runs, banks, registers, reuse. */
#include "roller/roller.h"

/* No thread has so many. */
enum { MOST_REGISTERS = 1 << 20 };

static int64_t
smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t
pieces_of(int64_t extent, int64_t size)
{
	return (extent + size - 1) / size;
}

int64_t
access_padded(const TileTask *task, const TileAccess *access, const int64_t *tile, int64_t padding)
{
	int64_t count = 1;
	for (int d = 0; d < access->rank; d++) {
		int64_t size = span_size(access->dims[d], tile, task->extents);
		size = smaller(size, access->extents[d]) + (d == access->rank - 1 ? padding : 0);
		count = probe_times(count, size);
	}
	return count;
}

int64_t
access_elements(const TileTask *task, const TileAccess *access, const int64_t *tile)
{
	return access_padded(task, access, tile, 0);
}

double
access_run(const TileTask *task, const TileAccess *access, const int64_t *tile)
{
	int64_t run = 1;
	if (access->is_gathered && access->run_axis >= 0)
		run = smaller(tile[access->run_axis], access->run_limit);
	for (int d = access->rank - 1; d >= 0 && !access->is_gathered; d--) {
		int64_t size = span_size(access->dims[d], tile, task->extents);
		run = probe_times(run, smaller(size, access->extents[d]));
		if (size < access->extents[d])
			break;
	}
	return (double)run * access->bits / 8;
}

/* The tile with sums at full length, as many steps as it takes. */
static void
at_full_length(const TileTask *task, const int64_t *tile, int64_t *full)
{
	for (int a = 0; a < task->naxis; a++)
		full[a] = task->axes[a].kind == AXIS_loop ? tile[a]
		                                          : pieces_of(task->extents[a], tile[a]) * tile[a];
}

double
tile_points(const TileTask *task, const int64_t *tile)
{
	int64_t full[SPAN_AXES];
	double sum = 0;
	at_full_length(task, tile, full);
	for (int w = 0; w < task->nwork; w++) {
		double points = task->works[w].operations;
		for (int a = 0; a < task->naxis; a++)
			points *= task->works[w].axes >> a & 1 ? (double)full[a] : 1;
		sum += points;
	}
	return sum;
}

static double
moved_bytes(const TileTask *task, const int64_t *tile, bool of_results)
{
	int64_t full[SPAN_AXES];
	double bytes = 0;
	at_full_length(task, tile, full);
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		if (access->is_result == of_results && !access->is_local)
			bytes += (double)access_elements(task, access, full) * access->bits / 8;
	}
	return bytes;
}

double
tile_input_bytes(const TileTask *task, const int64_t *tile)
{
	return moved_bytes(task, tile, false);
}

double
tile_result_bytes(const TileTask *task, const int64_t *tile)
{
	return moved_bytes(task, tile, true);
}

int64_t
tile_count(const TileTask *task, const int64_t *tile, const int64_t *of)
{
	int64_t count = 1;
	for (int a = 0; a < task->naxis; a++)
		if (task->axes[a].kind == AXIS_loop)
			count = probe_times(count, pieces_of(of[a], tile[a]));
	return count;
}

bool
access_is_array(const TileTask *task, const TileAccess *access)
{
	bool has_inner = false;
	for (int a = 0; a < task->naxis && access->is_local; a++)
		has_inner |= task->axes[a].kind == AXIS_inner && access->axes >> a & 1;
	return has_inner;
}

int64_t
program_footprint(const TileTask *task, const TileProgram *program, int level)
{
	const int64_t *tile = program->tile[level];
	/* Caches keep results besides inputs from the second on; nearer, they are in registers. */
	bool holds_results = level > 1;
	double bytes = 0;
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		bool is_kept =
			access->is_local ? access_is_array(task, access) : !access->is_result || holds_results;
		int64_t padding = level == 1 && task->device->threads > 1 ? program->padding[k] : 0;
		if (is_kept)
			bytes += (double)access_padded(task, access, tile, padding) * access->bits / 8;
	}
	return bytes < 0x1p62 ? (int64_t)bytes : INT64_MAX;
}

/* What one stage of the group keeps in registers. Of two factors, vectors and numbers that all
 * lanes take, the fewer wait there while the others come one after the other. */
static int64_t
registers_of(const TileTask *task, const TileProgram *program, int stage)
{
	const int64_t *tile = program->tile[0];
	bool is_vector = task->device->threads == 1;
	int64_t lanes = is_vector ? target_lanes(task->target, task->type) : 1;
	int64_t count = 0, vectors = 0, uniform = 0;
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		int64_t elements = smaller(access_elements(task, access, tile), MOST_REGISTERS);
		bool has_lane = task->lane >= 0 && access->axes >> task->lane & 1;
		int bits = access->is_result ? dtype_bits(task->type) : access->bits;
		if (access->stage != stage)
			continue;
		if (is_vector)
			*(access->is_result ? &count
			  : has_lane        ? &vectors
			                    : &uniform) += has_lane ? pieces_of(elements, lanes) : elements;
		else
			count += pieces_of(elements * bits, INT64_C(32) * task->unit_threads);
	}
	return count + (uniform == 0 ? vectors : smaller(vectors, uniform) + 1);
}

/* Stages follow one another. */
int64_t
program_registers(const TileTask *task, const TileProgram *program)
{
	int64_t most = 0;
	for (int s = 0; s < task->nwork; s++)
		most = -smaller(-most, -registers_of(task, program, s));
	return most;
}

/* Bytes that all tiles move. What takes part of a sum at a time writes and reads it again for each
 * part, unless threads keep theirs in registers. */
static double
total_traffic(const TileTask *task, const int64_t *tile)
{
	double rounds = 1;
	for (int a = 0; a < task->naxis && task->device->threads == 1; a++)
		if (task->axes[a].kind == AXIS_term)
			rounds *= (double)pieces_of(task->extents[a], tile[a]);
	return (double)tile_count(task, tile, task->extents) *
	       (tile_input_bytes(task, tile) + tile_result_bytes(task, tile) * (2 * rounds - 1));
}

static double
room_of(const TileTask *task, const TileProgram *program, int level)
{
	return level == 0 ? (double)program_registers(task, program) * 4
	                  : (double)program_footprint(task, program, level);
}

double
tile_reuse(const TileTask *task, const TileProgram *program, int level, int axis, int64_t next)
{
	TileProgram larger = *program;
	larger.tile[level][axis] = next;
	double room = room_of(task, &larger, level) - room_of(task, program, level);
	double saved =
		total_traffic(task, program->tile[level]) - total_traffic(task, larger.tile[level]);
	return room == 0 || saved == 0 ? 0 : saved / room;
}

/* Roller makes a row one part longer than a multiple of all banks; an odd number of parts does the
 * same where banks are a power of two of them, and takes less of short rows. */
int64_t
bank_padding(int64_t row, int64_t part, int64_t banks, int64_t lane)
{
	int64_t all = banks * lane, first = lane * pieces_of(part, lane), parts = all / first;
	if (first > all || all % first != 0 || (parts & (parts - 1)) != 0)
		return (all + first % all - row % all) % all;
	int64_t count = pieces_of(row, first);
	return (count + (count % 2 == 0 && parts > 1)) * first - row;
}
