/* find_lanes(): the axis along which each stage of a group computes neighbours at once: one of the
 * loops that all share, or where that is cheaper, one of each one's own.
 */
#include "roller/roller.h"

/* Whether neighbours along the axis may be computed at once. */
static bool
may_be_lanes(const TileTask *task, const Stage *stage, int s, int axis)
{
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		if (task->axis_of[s][i] == axis)
			return i < stage->nloop || reduce_in_parts(stage->reduce);
	return false;
}

bool
access_turns(const TileTask *task, const TileAccess *access, int lane)
{
	enum { SHORT = 64, TURNED_BITS = 32 };
	int line = access->run_axis;
	return task->device->threads == 1 && access->argument >= 0 && access->bits == TURNED_BITS &&
	       line >= 0 && line != lane && task->axes[lane].kind == AXIS_loop &&
	       task->axes[line].kind != AXIS_loop && task->extents[line] <= SHORT &&
	       access_dim(access, lane) >= 0 && access_dim(access, line) >= 0 &&
	       access_stride(access, lane) == task->extents[line] && access_is_box(access);
}

/* What an access costs where so many neighbours along the axis are taken at once, in loads of one
 * number. */
static double
cost_of_access(const TileTask *task, const TileAccess *access, int axis, double lanes)
{
	const double GATHER = 1.6;  /* a load and an insert, against one vector */
	const double PAIR = 3;      /* of every second element: two vectors and a shuffle */
	const double TURNED = 0.33; /* a share of a square of vectors, copied in registers */
	const double UNIFORM = 0.1;
	bool has_pairs = access->bits <= 32 && task->device->vector_bytes >= 32 && !access->is_result;
	int64_t stride = access->is_gathered ? access->run_axis == axis : access_stride(access, axis);
	if (axis < 0)
		return 1;
	if (access->is_local && task->axes[axis].kind == AXIS_loop)
		return 1 / lanes; /* each lane has its own, side by side */
	return !(access->axes >> axis & 1)        ? UNIFORM
	       : stride == 1                      ? 1 / lanes
	       : stride == 2 && has_pairs         ? PAIR / lanes
	       : access_turns(task, access, axis) ? TURNED
	                                          : GATHER;
}

/* Lanes of a vector that hold something, on average: a short loop leaves some empty. */
static double
used_lanes(const TileTask *task, int bits, int axis)
{
	double full = task->device->vector_bytes * 8.0 / (bits < 8 ? 8 : bits);
	int64_t vectors = axis < 0 ? 1 : pieces_of(task->extents[axis], (int64_t)full);
	return axis < 0 ? 1 : (double)task->extents[axis] / (double)vectors;
}

/* A stage with neighbours along the axis in lanes; -1: one number after the other. */
static double
cost_of_lane(const TileTask *task, const Stage *stage, int s, int axis)
{
	double lanes = used_lanes(task, dtype_bits(stage->results[0]->type), axis);
	double points = 1, writes = 1, cost = 0.5 * task->works[s].cost / lanes, stored = 0;
	bool is_term = false;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		is_term |= i >= stage->nloop && task->axis_of[s][i] == axis;
		points *= (double)task->extents[task->axis_of[s][i]];
		writes = i < stage->nloop ? points : writes;
	}
	for (int k = 0; k < task->naccess; k++) {
		const TileAccess *access = &task->accesses[k];
		double one = cost_of_access(task, access, axis, lanes);
		if (access->stage == s && access->is_result)
			stored = one;
		else if (access->users >> s & 1)
			cost += one;
	}
	/* Across the lanes a tree ends it; a maximum looks for NaN in each step. */
	double tree = stage->reduce == REDUCE_sum || stage->reduce == REDUCE_prod ? 1.5 : 7;
	return points * cost + writes * (is_term ? tree : stored);
}

void
find_lanes(TileTask *task, const Program *program)
{
	double least = 0, own[TILE_WORKS];
	for (int s = 0; s < program->nstage; s++) {
		own[s] = cost_of_lane(task, program->stages[s], s, task->lane_of[s] = -1);
		for (int a = 0; a < task->naxis; a++) {
			double cost =
				task->axes[a].kind != AXIS_loop && may_be_lanes(task, program->stages[s], s, a)
					? cost_of_lane(task, program->stages[s], s, a)
					: own[s];
			if (cost < own[s]) {
				own[s] = cost;
				task->lane_of[s] = a;
			}
		}
		least += own[s];
	}
	task->lane = task->lane_of[program->nstage - 1];
	for (int a = task->naxis - 1; a >= 0; a--) {
		double cost = 0;
		bool may = task->axes[a].kind == AXIS_loop;
		for (int s = 0; s < program->nstage && may; s++) {
			may = may_be_lanes(task, program->stages[s], s, a);
			cost += cost_of_lane(task, program->stages[s], s, a);
		}
		if (may && cost < least) {
			least = cost;
			task->lane = a;
			for (int s = 0; s < program->nstage; s++)
				task->lane_of[s] = a;
		}
	}
}
