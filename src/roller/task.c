/* roller_task(): a group as tiles see it.
 *
 * Axes are the loops of the root and what other stages have besides those that all share; of two
 * stages' iterators that are not shared, those of one extent are one axis (softmax: c four times).
 * Dims of 1 and dims that always go together have been taken care of (program/forms.h). Where
 * kernels fill a tile's memory themselves, axes of a sum of products that the same tensors have
 * are one, too: a copy may lie in any order, and small images make no small tiles.
 *
 *     Y[n,f,h,w] = sum(c,r,s) X[n,c,h+r,w+s] * W[f,c,r,s]     f, n*h*w and c*r*s, as
 *                                                             of X'[n*h*w, c*r*s] (im2col)
 */
#include <string.h>

#include "expr/index/dim.h"
#include "program/group.h"
#include "roller/roller.h"

enum { MAX_ITERS = TILE_ITERS, MAX_SYMBOLS = 256, WARP = 32, WARP_ROWS = 16 };
static const int64_t LONGEST = INT64_C(1) << 40;

typedef struct Builder {
	TileTask *task;
	Group group;
	const char *obstacle;
} Builder;

/* ---- axes ------------------------------------------------------------------------------------ */

static int64_t
number(const Dim *dim)
{
	int64_t value;
	return dim_is_const(dim, &value) ? value : 1;
}

static int64_t
extent_of(const Iter *iter)
{
	int64_t extent = number(iter->hi) - number(iter->lo);
	return extent > 1 ? extent : 1;
}

static int
add_axis(Builder *b, AxisKind kind, int stage, int iter)
{
	TileTask *task = b->task;
	const Iter *at = &b->group.program->stages[stage]->iters[iter];
	if (task->naxis == SPAN_AXES) {
		b->obstacle = "it has more axes than tiles are made for";
		return 0;
	}
	if (extent_of(at) > LONGEST)
		b->obstacle = "an axis is longer than tiles are made for";
	const char *name = at->name ? at->name : arena_printf(task->arena, "i%d", iter);
	task->axes[task->naxis] = (TileAxis){name, kind, extent_of(at), stage, {iter}, 1};
	task->extents[task->naxis] = extent_of(at);
	return task->naxis++;
}

/* An axis that no stage shares, which is as long and which the stage does not have yet. */
static int
find_inner(const Builder *b, int stage, int niter, int64_t extent)
{
	for (int a = 0; a < b->task->naxis; a++) {
		bool is_free = b->task->axes[a].kind != AXIS_loop && b->task->extents[a] == extent;
		for (int i = 0; i < niter; i++)
			is_free &= b->task->axis_of[stage][i] != a;
		if (is_free)
			return a;
	}
	return -1;
}

static void
find_axes(Builder *b)
{
	const Group *group = &b->group;
	const Program *program = group->program;
	int root = program->nstage - 1;
	for (int s = root; s >= 0; s--) { /* the root first */
		const Stage *stage = program->stages[s];
		int count = stage->nloop + stage->nreduce;
		memset(b->task->axis_of[s], -1, sizeof b->task->axis_of[s]);
		for (int k = 0; k < group->nshared; k++) {
			int iter = group->map[s][k];
			b->task->axis_of[s][iter] = s == root ? add_axis(b, AXIS_loop, s, iter)
			                                      : b->task->axis_of[root][group->shared[k]];
		}
		for (int i = 0; i < count && !b->obstacle; i++) {
			if (b->task->axis_of[s][i] >= 0)
				continue;
			int found = find_inner(b, s, count, extent_of(&stage->iters[i]));
			AxisKind kind = i < stage->nloop ? AXIS_inner : AXIS_term;
			b->task->axis_of[s][i] = found >= 0 ? found : add_axis(b, kind, s, i);
			if (kind == AXIS_inner)
				b->task->axes[b->task->axis_of[s][i]].kind = AXIS_inner;
		}
	}
}

/* ---- accesses -------------------------------------------------------------------------------- */

static bool
same_access(const TileAccess *a, const TileAccess *b)
{
	int64_t offset;
	bool is_same = a->tensor == b->tensor && a->is_result == b->is_result;
	for (int d = 0; d < a->rank && is_same; d++)
		is_same = span_offset(a->dims[d], b->dims[d], &offset);
	return is_same;
}

/* One access for both: it begins at the earlier one and ends with the later one. */
static void
join_access(Arena *arena, TileAccess *a, const TileAccess *b)
{
	for (int d = 0; d < a->rank; d++) {
		int64_t offset;
		span_offset(a->dims[d], b->dims[d], &offset);
		Span *joined = NEW(arena, Span);
		*joined = *a->dims[d];
		int64_t last = joined->spread > offset ? joined->spread : offset;
		joined->spread = offset < 0 ? joined->spread - offset : last;
		joined->constant += offset < 0 ? offset : 0;
		a->dims[d] = joined;
	}
}

int64_t
access_stride(const TileAccess *access, int axis)
{
	int64_t stride = 0, step = 1;
	if (axis < 0) /* no loop is: nothing moves along it */
		return 0;
	for (int d = access->rank - 1; d >= 0; d--) {
		const Span *span = access->dims[d];
		if (span->op != EX_add && span->axes >> axis & 1)
			return INT64_MAX;
		for (int i = 0; i < span->nterm; i++) {
			const Span *atom = span->terms[i].atom; /* NULL: what does not move */
			if (atom && atom->axes >> axis & 1)
				return INT64_MAX;
		}
		int64_t part;
		if (__builtin_mul_overflow(span_factor(span, axis), step, &part) ||
		    __builtin_add_overflow(stride, part, &stride) ||
		    __builtin_mul_overflow(step, access->extents[d], &step))
			return INT64_MAX;
	}
	return stride;
}

/* Its place among the program's inputs and, behind these, outputs; -1: an intermediate. */
static int
argument_of(const Program *program, const Tensor *tensor)
{
	for (int i = 0; i < program->ninput + program->noutput; i++)
		if (tensor ==
		    (i < program->ninput ? program->inputs[i] : program->outputs[i - program->ninput]))
			return i;
	return -1;
}

/* How a stage's iterators are axes: all dims are numbers. */
typedef struct StageAxes {
	const Stage *stage;
	const int *axis_of;
} StageAxes;

static int
axis_of_leaf(const void *self, const Expr *leaf, int64_t *from)
{
	const StageAxes *axes = self;
	*from = leaf->op == EX_iter ? number(axes->stage->iters[leaf->iter].lo) : 0;
	return leaf->op == EX_iter ? axes->axis_of[leaf->iter] : -1;
}

static void
add_access(Builder *b, int s, const Tensor *tensor, const Expr *const *index, bool is_result)
{
	TileTask *task = b->task;
	const StageAxes axes = {b->group.program->stages[s], task->axis_of[s]};
	TileAccess access = {.tensor = tensor,
	                     .stage = s,
	                     .argument = argument_of(b->group.program, tensor),
	                     .bits = dtype_bits(tensor->type),
	                     .is_result = is_result,
	                     .rank = tensor->rank,
	                     .elements = 1,
	                     .users = UINT64_C(1) << s,
	                     .run_axis = -1};
	for (int d = 0; d < tensor->rank; d++) {
		int64_t extent = number(tensor->hi[d]) - (tensor->lo ? number(tensor->lo[d]) : 0);
		access.extents[d] = extent > 1 ? extent : 1;
		access.elements = probe_times(access.elements, access.extents[d]);
		access.dims[d] = span_make(task->arena, index[d], axis_of_leaf, &axes);
		access.axes |= access.dims[d]->axes;
	}
	for (int a = 0; a < task->naxis; a++)
		if (access.axes >> a & 1 && access_stride(&access, a) == 1 &&
		    task->extents[a] > access.run_limit) {
			access.run_axis = a;
			access.run_limit = task->extents[a];
		}
	for (int k = 0; k < task->naccess; k++)
		if (same_access(&task->accesses[k], &access)) {
			join_access(task->arena, &task->accesses[k], &access);
			task->accesses[k].users |= access.users;
			return;
		}
	if (task->naccess == TILE_ACCESSES)
		b->obstacle = "it reads more tensors than tiles are made for";
	else
		task->accesses[task->naccess++] = access;
}

static void
find_accesses(Builder *b, int s)
{
	const Program *program = b->group.program;
	const Stage *stage = program->stages[s];
	const Expr *at[MAX_ITERS];
	for (ExprWalk walk = stage_walk(stage); expr_step(&walk);)
		if (walk.e->op == EX_read && !walk.e->tensor->stage && !b->obstacle)
			add_access(b, s, walk.e->tensor, walk.e->arg, false);
	stage_identity(program->ctx, stage->nloop, at);
	for (int r = 0; r < stage->nresult && !b->obstacle; r++) {
		const Tensor *tensor = stage->results[r];
		int known = b->task->naccess;
		add_access(b, s, tensor, at, true);
		if (!b->obstacle)
			b->task->accesses[known].is_local = b->task->accesses[known].argument < 0;
	}
	uint64_t axes = 0;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		axes |= UINT64_C(1) << b->task->axis_of[s][i];
	b->task->works[s].operations = stage_point_work(stage) * probe_share(b->task->target, stage);
	b->task->works[s].cost = stage_point_cost(stage);
	b->task->works[s].axes = axes;
}

/* ---- fused axes ------------------------------------------------------------------------------ */

/* A product of two tensors, of which each has loops that the other one lacks. */
static bool
is_dot(const Builder *b)
{
	const TileTask *task = b->task;
	const Program *program = b->group.program;
	uint64_t loops = 0, missing[2] = {0};
	int reads = 0;
	bool has_product = false;
	for (int s = 0; s < program->nstage; s++)
		has_product |= stage_summed_product(program->stages[s]) != NULL;
	for (int a = 0; a < task->naxis; a++)
		loops |= (uint64_t)(task->axes[a].kind == AXIS_loop && task->extents[a] > 1) << a;
	for (int k = 0; k < task->naccess && has_product; k++) {
		const TileAccess *access = &task->accesses[k];
		bool has_term = false;
		for (int a = 0; a < task->naxis; a++)
			has_term |= task->axes[a].kind == AXIS_term && access->axes >> a & 1;
		if (has_term && reads < 2)
			missing[reads++] = loops & ~access->axes;
	}
	return reads == 2 && (missing[0] & ~missing[1]) && (missing[1] & ~missing[0]);
}

/* The tensors that have the axis, as bits. */
static uint64_t
users_of(const TileTask *task, int axis)
{
	uint64_t users = 0;
	for (int k = 0; k < task->naccess; k++)
		users |= (task->accesses[k].axes >> axis & 1) << k;
	return users;
}

static uint64_t
renumber(uint64_t axes, const int *to)
{
	uint64_t out = 0;
	for (int a = 0; a < SPAN_AXES; a++)
		if (axes >> a & 1)
			out |= UINT64_C(1) << to[a];
	return out;
}

/* Copies have one dim for each axis now, in their order, and so have the tensors for all that
 * tiles ask: how much of them a tile touches. */
static void
gather_access(TileTask *task, TileAccess *access, const int *to)
{
	access->axes = renumber(access->axes, to);
	access->run_axis = access->run_axis < 0 ? -1 : to[access->run_axis];
	access->is_gathered = true;
	for (int d = 0; d < access->rank; d++)
		access->is_window |= access->dims[d]->nterm > 1;
	access->rank = 0;
	for (int a = 0; a < task->naxis; a++)
		if (access->axes >> a & 1 && access->rank < TILE_DIMS) {
			access->extents[access->rank] = task->extents[a];
			access->dims[access->rank++] = span_axis(task->arena, a);
		}
}

static void
fuse_axes(Builder *b)
{
	TileTask *task = b->task;
	int to[SPAN_AXES], count = 0;
	uint64_t users[SPAN_AXES];
	for (int a = 0; a < task->naxis; a++) {
		const TileAxis axis = task->axes[a];
		uint64_t mine = users_of(task, a);
		int at = 0;
		while (at < count && (users[at] != mine || task->axes[at].kind != axis.kind ||
		                      task->axes[at].niter == TILE_DIMS))
			at++;
		to[a] = at;
		users[at] = mine;
		if (at == count) {
			task->axes[count++] = axis;
			continue;
		}
		TileAxis *fused = &task->axes[at];
		if (probe_times(fused->extent, axis.extent) > LONGEST)
			b->obstacle = "an axis is longer than tiles are made for";
		fused->extent = probe_times(fused->extent, axis.extent);
		fused->name = arena_printf(task->arena, "%s.%s", fused->name, axis.name);
		fused->iters[fused->niter++] = axis.iters[0];
	}
	task->naxis = count;
	for (int a = 0; a < count; a++)
		task->extents[a] = task->axes[a].extent;
	for (int k = 0; k < task->naccess; k++)
		gather_access(task, &task->accesses[k], to);
	for (int w = 0; w < task->nwork; w++) {
		task->works[w].axes = renumber(task->works[w].axes, to);
		for (int i = 0; i < TILE_ITERS; i++)
			if (task->axis_of[w][i] >= 0)
				task->axis_of[w][i] = to[task->axis_of[w][i]];
	}
}

/* ---- units ----------------------------------------------------------------------------------- */

/* GFLOP/s of products of such numbers; 0: there is no instruction for them. */
static double
narrow_peak(const Device *device, DType type)
{
	return type == DT_F16                   ? device->peak.f16
	       : type == DT_BF16                ? device->peak.bf16
	       : type == DT_I8 || type == DT_U8 ? device->peak.s8
	                                        : 0;
}

/* The factors of the product: what is read at terms. */
static int
find_factors(const TileTask *task, const TileAccess *factors[2])
{
	int count = 0;
	for (int k = 0; k < task->naccess && count < 2; k++)
		for (int a = 0; a < task->naxis; a++)
			if (!task->accesses[k].is_result && task->axes[a].kind == AXIS_term &&
			    task->accesses[k].axes >> a & 1) {
				factors[count++] = &task->accesses[k];
				break;
			}
	return count;
}

/* What one instruction of a product of narrow numbers takes: rows of the first factor, columns of
 * the second and a length, each along the last such axis. */
static void
find_unit(TileTask *task)
{
	const Device *device = task->device;
	const TileAccess *factors[2];
	double peak = task->type == DT_F64 ? device->peak.f64 : device->gflops;
	task->peak = (peak > 0 ? peak : device->gflops) * 1e9;
	task->unit_threads = 1;
	for (int a = 0; a < task->naxis; a++)
		task->unit[a] = 1;
	if (!task->is_dot || find_factors(task, factors) < 2)
		return;
	DType type = factors[0]->tensor->type;
	peak = narrow_peak(device, type);
	if (peak == 0 || dtype_bits(factors[1]->tensor->type) != dtype_bits(type))
		return;
	int narrow = dtype_bits(type) == 8, rows = device->product[narrow].m;
	bool has_rows = false, has_columns = false, has_length = false;
	for (int a = task->naxis - 1; a >= 0; a--) {
		bool in_first = factors[0]->axes >> a & 1, in_second = factors[1]->axes >> a & 1;
		bool *has = in_first && in_second ? &has_length : in_first ? &has_rows : &has_columns;
		bool is_one = in_first != in_second || task->axes[a].kind == AXIS_term;
		if (is_one && (in_first || in_second) && !*has) {
			task->unit[a] = has == &has_length ? device->product[narrow].k
			                : has == &has_rows ? rows
			                                   : device->product[narrow].n;
			*has = true;
		}
	}
	task->peak = peak * 1e9;
	task->unit_threads = device->threads > 1 ? WARP * rows / WARP_ROWS : 1;
}

int
access_dim(const TileAccess *access, int axis)
{
	int found = -1;
	for (int d = 0; d < access->rank; d++) {
		const Span *span = access->dims[d];
		if (!(span->axes >> axis & 1))
			continue;
		bool is_axis = found < 0 && span->op == EX_add && span->nterm == 1 && span->constant == 0 &&
		               span->spread == 0 && span_factor(span, axis) == 1;
		if (!is_axis)
			return -1;
		found = d;
	}
	return found;
}

/* ---- the task -------------------------------------------------------------------------------- */

/* The program at its typical sizes. */
static const Program *
at_sizes(Arena *arena, const Program *program, const Target *target)
{
	int64_t *value = NEW_N(arena, int64_t, MAX_SYMBOLS);
	bool *bound = NEW_N(arena, bool, MAX_SYMBOLS);
	for (int i = 0; i < MAX_SYMBOLS; i++) {
		bool known = target->probe && i < target->probe->count && target->probe->is_bound[i];
		value[i] = known ? target->probe->value[i] : 1;
		bound[i] = true;
	}
	return program_bind(program, &(Binding){MAX_SYMBOLS, value, bound});
}

static const char *
find_obstacle(const Program *program)
{
	if (program->nstage > TILE_WORKS || program->nstage == 0)
		return program->nstage ? "it has more stages than tiles are made for"
		                       : "it computes nothing";
	for (int s = 0; s < program->nstage; s++) {
		const Stage *stage = program->stages[s];
		if (stage->kind == STAGE_scatter || stage->scan)
			return "scatters and scans run in order";
		if (stage->nloop + stage->nreduce > MAX_ITERS)
			return "it has more axes than tiles are made for";
		for (int r = 0; r < stage->nresult; r++)
			if (stage->results[r]->rank > TILE_DIMS)
				return "a tensor has more dims than tiles are made for";
	}
	for (int i = 0; i < program->ninput; i++)
		if (program->inputs[i]->rank > TILE_DIMS)
			return "a tensor has more dims than tiles are made for";
	return NULL;
}

const TileTask *
roller_task(Arena *arena, const Program *program, const Target *target, const char **reason)
{
	Builder *b = NEW(arena, Builder);
	TileTask *task = b->task = NEW(arena, TileTask);
	*reason = find_obstacle(program);
	if (*reason)
		return NULL;
	program = at_sizes(arena, program, target);
	if (!group_analyse(arena, program, target, &b->group, reason))
		return NULL;
	program = b->group.program;
	const Stage *root = b->group.root;
	*task = (TileTask){.arena = arena, .target = target, .device = target->device};
	task->type = root->results[0]->type;
	for (int s = 0; s < program->nstage; s++)
		if (program->stages[s]->kind == STAGE_reduce)
			task->type = program->stages[s]->acc;
	task->nwork = program->nstage;
	task->nlevel = task->device->threads > 1 ? 2 : task->device->nlevel - 1;
	find_axes(b);
	for (int s = 0; s < program->nstage && !b->obstacle; s++)
		find_accesses(b, s);
	task->is_dot = !b->obstacle && is_dot(b);
	if (task->is_dot && task->device->threads > 1)
		fuse_axes(b);
	*reason = b->obstacle;
	if (b->obstacle)
		return NULL;
	find_unit(task);
	find_lanes(task, program);
	return task;
}

bool
access_is_box(const TileAccess *access)
{
	for (int d = 0; d < access->rank; d++)
		if (access->dims[d]->is_open)
			return false;
	return true;
}
