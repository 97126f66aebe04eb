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

/* Whole vectors of columns, whole words of terms. */
static bool
unpacks(const Device *device, int bits, int64_t columns, int64_t terms)
{
	return columns % vector_lanes(device, DT_F32) == 0 && terms % (32 / bits) == 0;
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

/* A result whose channels do not lie side by side is turned behind its tile, which costs as much
 * as so many terms of the sum gain. */
enum { LONG_SUM = 64 };

/* Panels of columns are tiles of some vectors, and are copied for all channels: not where an eighth
 * of a tile is empty and the copy serves less often than a result has terms. */
static bool
fits_panels(const Weighted *sum, int64_t lanes)
{
	int64_t tile = PANEL_VECTORS * lanes, channels = 0;
	dim_is_const(sum->w->tensor->hi[sum->dim], &channels);
	bool is_full = sum->row % tile == 0 || sum->row >= 7 * (tile - sum->row % tile);
	return sum->row >= tile && (is_full || channels > sum->terms);
}

static bool
weights_pay(const Weighted *sum, int64_t lanes, bool in_layout)
{
	if (in_layout && sum->is_matrix)
		return !fits_panels(sum, lanes);
	return sum->row < lanes || (in_layout && sum->terms >= LONG_SUM && sum->has_rows);
}

/* ---- what takes how long ---- */

static double
points_of(const Target *target, const Program *program, int stage)
{
	return (double)probe_dim(target, stage_points(program->ctx, program->stages[stage]));
}

/* Whether elements of the operands are used more than a few times each. A matrix times a vector
 * waits for memory, and loops do that as well: 0.01 ms for 960 x 240; a library that takes 240 x 1
 * for a matrix 0.29. */
static bool
is_reused(const Target *target, const Program *program)
{
	static const double LEAST = 4;
	double read = 0;
	for (ExprWalk walk = expr_walk(program->stages[0]->body[0]); expr_step(&walk);)
		if (walk.e->op == EX_read)
			read += probe_elements(target, walk.e->tensor);
	return points_of(target, program, 0) >= LEAST * read;
}

/* A library comes nearer to the peak, but its result is written and read again. Of bytes it comes
 * so much nearer that this is nothing beside it. */
static bool
call_pays(const Target *target, const Program *program)
{
	const Device *device = target->device;
	const Stage *product = program->stages[0];
	double bytes = 4;
	for (int i = 0; i < product->nloop; i++)
		bytes *= (double)probe_dim(target, product->iters[i].hi);
	double traffic = 2 * device_traffic_seconds(device, bytes);
	double flops = 2 * points_of(target, program, 0);
	double share = probe_share(target, product);
	double direct = device_work_seconds(device, WORK_loops, share * flops);
	double call = device_work_seconds(device, WORK_library, flops);
	const Expr *sum = stage_summed_product(product);
	bool is_of_bytes = sum && dtype_is_byte((DType)expr_without_casts(sum->arg[0])->type);
	return is_reused(target, program) && (is_of_bytes || call + traffic < direct);
}

/* They read and write the result, mostly in cache, and compute as fast as plain loops do. */
static double
seconds(const Target *target, const Program *program, int first)
{
	double operations = 0, bytes = 0;
	for (int s = first; s < program->nstage; s++) {
		double points = points_of(target, program, s);
		operations += points * expr_cost(program->stages[s]->body[0]);
		bytes += points * 8;
	}
	return device_work_seconds(target->device, WORK_loops, operations) +
	       device_traffic_seconds(target->device, bytes);
}

/* ---- the record ---- */

/* Of the first form that has so many candidates, and not fewer. */
static const Script *
script(Arena *arena, const Group *group, const Target *target, const Nest *nest, int candidate)
{
	static FormScript *const forms[] = {panels_script, product_script, map_script};
	const Script *made = NULL;
	for (size_t i = 0; i < countof(forms) && !made; i++)
		made = forms[i](arena, group, target, nest, &candidate);
	return made;
}

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

const Maker maker_cpu = {
	.passes = DEVICES_vectors,
	.takes_quads = true,
	.unpacks = unpacks,
	.group_bytes = GROUP_BYTES,
	.local_bytes = STACK_BYTES,
	.enough_pieces = 8,
	.most_pieces = WORK_PIECES,
	.may_join = may_join,
	.script = script,
	.script_outer = script_outer,
	.pieces_of_work = pieces_of_work,
	.lanes = vector_lanes,
	.weight_lanes = weight_lanes,
	.weights_pay = weights_pay,
	.call_pays = call_pays,
	.seconds = seconds,
};
