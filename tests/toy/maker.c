/* A second maker, of a device with 4 KB at hand: what it decides for itself is here, and what it
 * has of CPUs it asks their maker.
 *
 * Kernels are smaller, large arrays lie elsewhere, weights stay as they are, and a script has the
 * outermost loop in parallel and nothing else: no lanes, no tiles. Those of CPUs are its other
 * candidates, so that a test has a kernel that can be made faster.
 */
#include "lower/group.h"
#include "program/group.h"
#include "target/maker.h"
#include "tir/script.h"

extern const Maker maker_cpu;

enum { AT_HAND = 4096, CORES = 4 };

static bool
may_join(const Group *group, const Target *target, const char **reason)
{
	return maker_cpu.may_join(group, target, reason);
}

static const Script *
script(Arena *arena, const Group *group, const Target *target, const Nest *nest, int candidate)
{
	ScriptWriter w = script_writer(arena, nest->names);
	if (candidate > 0)
		return maker_cpu.script(arena, group, target, nest, candidate - 1);
	if (group->nshared > 0)
		script_bind(&w, nest->shared[0]->var->name, BIND_PARALLEL);
	return w.script;
}

static const Script *
script_outer(Arena *arena, int count, const Var *const *loops)
{
	return maker_cpu.script_outer(arena, count, loops);
}

static int
pieces_of_work(double operations, double bytes)
{
	int pieces = maker_cpu.pieces_of_work(operations, bytes);
	return pieces < CORES ? pieces : CORES;
}

static int64_t
lanes(const Device *device, DType type)
{
	return maker_cpu.lanes(device, type);
}

static int64_t
weight_lanes(const struct Weighted *sum, int64_t count)
{
	(void)sum, (void)count;
	return 0;
}

static bool
weights_pay(const struct Weighted *sum, int64_t count, bool in_layout)
{
	(void)sum, (void)count, (void)in_layout;
	return false;
}

static bool
call_pays(const Target *target, const Program *program)
{
	return maker_cpu.call_pays(target, program);
}

static double
seconds(const Target *target, const Program *program, int first)
{
	return maker_cpu.seconds(target, program, first);
}

const Maker maker_toy = {
	.group_bytes = AT_HAND,
	.local_bytes = AT_HAND,
	.enough_pieces = 2,
	.most_pieces = CORES,
	.may_join = may_join,
	.script = script,
	.script_outer = script_outer,
	.pieces_of_work = pieces_of_work,
	.lanes = lanes,
	.weight_lanes = weight_lanes,
	.weights_pay = weights_pay,
	.call_pays = call_pays,
	.seconds = seconds,
};
