/* tile_steps(): a program's way through construct_tiles(), without branches that led elsewhere. */
#include <math.h>
#include <string.h>

#include "roller/roller.h"

/* The axis of the largest score among those that are not as long as the program's; -1: none is
 * left that grows to exactly that. */
static int
next_axis(const TilePolicy *policy, const TileTask *task, const TileProgram *program,
          TileStep *step, int64_t *size)
{
	int best = -1;
	for (int a = 0; a < task->naxis; a++) {
		int64_t next = policy->next(policy, task, &step->program, step->level, a);
		step->score[a] = NAN;
		if (next <= step->program.tile[step->level][a])
			continue;
		step->score[a] = policy->score(policy, task, &step->program, step->level, a, next);
		bool is_on_way = next <= program->tile[step->level][a];
		if (!is_on_way || (best >= 0 && step->score[a] <= step->score[best]))
			continue;
		best = a;
		*size = next;
	}
	return best;
}

static void
add_step(const TilePolicy *policy, const TileTask *task, TileSteps *steps, TileStep step)
{
	int level = step.level;
	bool fits = policy->fits(policy, task, &step.program, level); /* which fills in threads */
	step.is_enough = fits && policy->is_regular(policy, task, &step.program, level) &&
	                 policy->is_enough(policy, task, &step.program, level);
	vec_push(task->arena, steps, step);
}

static bool
grow_level(const TilePolicy *policy, const TileTask *task, const TileProgram *program, int level,
           TileProgram *tile, TileSteps *steps)
{
	TileStep step = {.level = level, .axis = -1, .program = *tile};
	if (!policy->first(policy, task, &step.program, level))
		return false;
	do {
		TileStep behind = step;
		int64_t size = 0;
		add_step(policy, task, steps, step);
		behind.axis = next_axis(policy, task, program, &behind, &size);
		if (behind.axis >= 0)
			behind.program.tile[level][behind.axis] = size;
		step = behind;
	} while (step.axis >= 0);
	*tile = step.program;
	return memcmp(tile->tile[level], program->tile[level],
	              sizeof tile->tile[level][0] * (size_t)task->naxis) == 0;
}

TileSteps
tile_steps(const TileTask *task, const TileProgram *program, double *waste)
{
	TileSteps steps = {0};
	for (int i = 0; i < TILE_POLICIES; i++) {
		TilePolicy policy = roller_policy(task, i);
		TileProgram tile;
		bool is_there = true;
		memset(&tile, 0, sizeof tile);
		tile.cut = tile.sharers = tile.stages = tile.threads = 1;
		steps.count = 0;
		*waste = policy.waste;
		for (int l = 0; l < task->nlevel && is_there; l++)
			is_there = grow_level(&policy, task, program, l, &tile, &steps);
		if (is_there)
			return steps;
	}
	steps.count = 0;
	return steps;
}
