/* The maker of CPUs (target/maker.h): whether stages stand in one kernel, how weights are stored,
 * and the limits.
 */
#include "base/work.h"
#include "lower/cpu/cpu.h"
#include "lower/weights.h"

enum {
	GROUP_BYTES = 256 * 1024, /* intermediates per point must stay in the L2 cache */
	MIN_POINTS = 8,           /* fewer shared points than this leave cores idle … */
	SMALL_WORK = 1 << 16,     /* … unless the whole is this small */
	HALF_SUM = 32, /* terms that pay for turning a result whose channels fill half a vector */
};

/* ---- one kernel or several ---- */

static bool
is_made_by(const Program *program, const Tensor *tensor)
{
	for (int s = 0; s < program->nstage; s++)
		if (program->stages[s] == tensor->stage)
			return true;
	return false;
}

/* An intermediate read at anything but an iterator or a number is read through a window or a map:
 * then its consumer wants it stored, in a layout of its own. */
static bool
reads_through_window(const Program *program)
{
	bool found = false;
	for (int s = 1; s < program->nstage; s++)
		for (ExprWalk walk = stage_walk(program->stages[s]); expr_step(&walk);) {
			const Expr *e = walk.e;
			if (e->op != EX_read || !e->tensor->stage || !is_made_by(program, e->tensor))
				continue;
			for (int d = 0; d < e->argc; d++)
				found |= e->arg[d]->op != EX_iter && !expr_is_const(e->arg[d]);
		}
	return found;
}

/* A stage that reads nothing and has few elements: within the loops of what reads it it would be
 * made again and again, or keep them from being cut where it ends. */
static bool
has_table(const Program *program, const Target *target)
{
	const Stage *root = program->stages[program->nstage - 1];
	int64_t uses = probe_dim(target, stage_points(program->ctx, root)) / TABLE_USES;
	for (int s = 0; s < program->nstage - 1; s++) {
		const Stage *stage = program->stages[s];
		bool reads = stage->kind != STAGE_map;
		for (ExprWalk walk = stage_walk(stage); expr_step(&walk);)
			reads |= walk.e->op == EX_read;
		if (!reads && probe_dim(target, stage_points(program->ctx, stage)) <= uses)
			return true;
	}
	return false;
}

static bool
may_join(const Group *group, const Target *target, const char **reason)
{
	const Program *program = group->program;
	double work = 0;
	for (int s = 0; s < program->nstage; s++)
		work += (double)probe_dim(target, stage_points(program->ctx, program->stages[s]));
	*reason = reads_through_window(program) ? "an intermediate result is read through a window"
	          : has_table(program, target)  ? "a table is made once"
	          : group->local_bytes > maker_of(target)->group_bytes
	              ? "its intermediate results do not fit in cache"
	          : group->points < MIN_POINTS && work > SMALL_WORK
	              ? "too few shared iterations to occupy the cores"
	              : NULL;
	return !*reason;
}

/* ---- vectors ---- */

static int64_t
vector_lanes(const Device *device, DType type)
{
	int bits = dtype_bits(type);
	return device->vector_bytes * 8 / (bits < 8 ? 8 : bits);
}

int64_t
half_lanes(int64_t vector)
{
	enum { FEWEST = 8 };
	return vector / 2 >= FEWEST ? vector / 2 : 0;
}

static int64_t
weight_lanes(const Weighted *sum, int64_t vector)
{
	int64_t channels;
	for (int d = 0; d < sum->w->argc; d++)
		if (!dim_is_const(sum->w->tensor->hi[d], &channels))
			return 0;
	dim_is_const(sum->w->tensor->hi[sum->dim], &channels);
	for (int64_t lanes = vector; lanes == vector || lanes == half_lanes(vector); lanes /= 2)
		if (channels % lanes == 0 && (lanes == vector || sum->terms >= HALF_SUM) &&
		    (sum->share == INT64_MAX || sum->share == 1 || sum->share % lanes == 0))
			return lanes;
	return 0;
}

/* ---- the record ---- */

/* Loops of a scan or scatter: nothing but pieces. */
static const Script *
script_outer(Arena *arena, int count, const Var *const *loops)
{
	ScriptWriter w = script_writer(arena, (Map){.arena = arena});
	for (int i = count - 1; i >= 0; i--)
		script_bind(&w, loops[i]->name, BIND_PARALLEL);
	return w.script;
}

static int
pieces_of_work(double operations, double bytes)
{
	return work_pieces(work_of(operations, bytes));
}

#define WAYS \
	.group_bytes = GROUP_BYTES, .local_bytes = STACK_BYTES, .enough_pieces = 8, \
	.most_pieces = WORK_PIECES, .may_join = may_join, .script = schedule_cpu, \
	.script_outer = script_outer, .pieces_of_work = pieces_of_work, .lanes = vector_lanes, \
	.weight_lanes = weight_lanes

const Maker maker_cpu = {.passes = DEVICES_vectors, WAYS};
/* Of what is printed for GPUs: nothing is compiled for them yet. */
const Maker maker_gpu = {WAYS};
