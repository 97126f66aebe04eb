/* What the tests of tiles share: tasks from texts. */
#ifndef UNIT_ROLLER_RIG_H
#define UNIT_ROLLER_RIG_H

#include "../../bench/roller_ops.h"
#include "program/forms.h"
#include "roller/roller.h"
#include "unit.h"

static Arena *arena;

static inline const Target *
target_on(const char *device)
{
	Target *target = NEW(arena, Target);
	*target = (Target){.device = device_find(device)};
	ck_assert_ptr_nonnull(target->device);
	return target;
}

static inline const TileTask *
try_task(const char *text, const char *device, const char **reason)
{
	const Program *program = program_parse(expr_ctx_new(arena), "roller.e", text);
	program = program_collapse_dims(arena, program_squeeze_dims(arena, program, NULL), NULL);
	return roller_task(arena, program, target_on(device), reason);
}

static inline const TileTask *
task_of(const char *text, const char *device)
{
	const char *reason;
	const TileTask *task = try_task(text, device, &reason);
	ck_assert_msg(task, "%s: %s", text, reason);
	return task;
}

static inline const TileTask *
matmul_task(int m, int n, int k, const char *device)
{
	return task_of(matmul_text(arena, m, n, k), device);
}

#endif
