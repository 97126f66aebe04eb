/* side by side: steps that do not depend on one another run at the same time, where one alone has
 * not work for all cores.
 *
 *     one after the other          in waves
 *     a = conv1x1(x)               a = conv1x1(x)
 *     b = conv1x1(x)                 | b = conv1x1(x)
 *     c = conv3x3(b)                 | d = pool(x)
 *     d = pool(x)                  c = conv3x3(b)
 *     e = conv1x1(d)                 | e = conv1x1(d)
 *
 * A wave begins with the first step that is left and takes those behind it that wait for nothing
 * but earlier waves, until there is enough to do. Only kernels and vendor calls move, and none
 * across a step of another kind, nor across one whose result decides a size.
 *
 * Two steps depend on one another when they touch the same storage and one writes it, unless they
 * write different parts: pieces of a concatenation. And no step of a node runs before all that the
 * node reads is there, so that there is one moment at which its inputs can be looked at together:
 * proving evaluates the node then.
 */
#include <string.h>

#include "base/map.h"
#include "lower/lower.h"
#include "program/layout.h"
#include "target/maker.h"

enum {
	LOOK_AHEAD = 32, /* steps: more would keep results alive for long */
	MOST_BESIDE = 8,
};

typedef struct Access {
	int step;
	MBuffer *buffer;
	bool is_write;
} Access;

typedef struct Accesses {
	VEC(Access) list;
} Accesses;

typedef struct Numbers {
	VEC(int) list;
} Numbers;

/* Steps `begin` to `end` - 1 of a module, which may change places. */
typedef struct Segment {
	Arena *arena;
	Module *module;
	const Maker *maker;
	int begin, count;
	MStep **steps;
	Map accesses;     /* root -> Accesses */
	int *waits;       /* per step: how many that it depends on have not run */
	Numbers *waiting; /* per step: who depends on it */
	bool *is_placed;
} Segment;

/* ---- dependences ---- */

static const Dim *const *
strides_of(const Segment *segment, const MBuffer *buffer)
{
	const Dim **strides = NEW_N(segment->arena, const Dim *, buffer->rank + 1);
	layout_strides(segment->module->ctx, buffer->layout, buffer->rank, buffer->dims, strides);
	return buffer->strides ? buffer->strides : strides;
}

/* Behind the last element that dims `from` and later reach, from the first one on. */
static const Dim *
span_end(ExprCtx *ctx, const MBuffer *buffer, const Dim *const *strides, int from)
{
	int64_t block = layout_block(buffer->layout);
	const Dim *end = dim_add_i64(ctx, buffer->offset, block ? block : 1);
	for (int d = from; d < buffer->rank; d++) {
		const Dim *extent = buffer->dims[d];
		if (block && d == layout_dim(buffer->layout))
			extent = dim_ceildiv(ctx, extent, dim_const(ctx, block));
		end = dim_add(ctx, end, dim_mul(ctx, dim_add_i64(ctx, extent, -1), strides[d]));
	}
	return end;
}

/* Whether all of b lies behind all of a, or does so in every image. */
static bool
lies_behind(const Segment *segment, const MBuffer *a, const MBuffer *b)
{
	ExprCtx *ctx = segment->module->ctx;
	const Dim *const *x = strides_of(segment, a), *const *y = strides_of(segment, b);
	if (a->rank == 0 || dim_proves_le(ctx, span_end(ctx, a, x, 0), b->offset))
		return a->rank > 0;
	const Dim *next_image = dim_add(ctx, a->offset, x[0]);
	return x[0] == y[0] && dim_proves_le(ctx, span_end(ctx, a, x, 1), b->offset) &&
	       dim_proves_le(ctx, span_end(ctx, b, y, 1), next_image);
}

static bool
have_one_layout(const MBuffer *a, const MBuffer *b)
{
	return a->layout && b->layout ? strcmp(a->layout, b->layout) == 0 : a->layout == b->layout;
}

/* Pieces of one concatenation. */
static bool
are_parts(const Segment *segment, const MBuffer *a, const MBuffer *b)
{
	return a->offset && b->offset && a->rank == b->rank && have_one_layout(a, b) &&
	       (lies_behind(segment, a, b) || lies_behind(segment, b, a));
}

static void
add_access(Segment *segment, Access access)
{
	MBuffer *root = mbuffer_root(access.buffer);
	Accesses *known = map_find_ptr(&segment->accesses, root);
	if (root->kind == PB_WEIGHT)
		return;
	if (!known) {
		known = NEW(segment->arena, Accesses);
		map_set_ptr(&segment->accesses, root, known);
	}
	for (int i = 0; i < known->list.count; i++) {
		const Access *before = &known->list.data[i];
		if (before->step == access.step || !(before->is_write || access.is_write) ||
		    are_parts(segment, before->buffer, access.buffer))
			continue;
		vec_push(segment->arena, &segment->waiting[before->step].list, access.step);
		segment->waits[access.step]++;
	}
	vec_push(segment->arena, &known->list, access);
}

/* Behind the last of the steps that one node became, from `first` on. */
static int
node_end(const Segment *segment, int first)
{
	const void *source = segment->steps[first]->source;
	int end = first + 1;
	while (source && end < segment->count && segment->steps[end]->source == source)
		end++;
	return end;
}

static bool
is_made_by(const Segment *segment, int begin, int end, MBuffer *buffer)
{
	for (int i = begin; i < end; i++) {
		const MStep *step = segment->steps[i];
		for (int k = step->plan.narg - step->plan.noutput; k < step->plan.narg; k++)
			if (step->args[k] && mbuffer_root(step->args[k]) == mbuffer_root(buffer))
				return true;
	}
	return false;
}

/* Whether the step reads what none of steps `begin` to `end` - 1 makes: not only tables. */
static bool
reads_inputs(const Segment *segment, int begin, int end, const MStep *step)
{
	for (int k = 0; k < step->plan.narg - step->plan.noutput; k++)
		if (step->args[k] && mbuffer_root(step->args[k])->kind != PB_WEIGHT &&
		    !is_made_by(segment, begin, end, step->args[k]))
			return true;
	return false;
}

/* Step i, of a node that became steps `begin` to `end` - 1, waits for what later ones read. */
static void
wait_for_inputs(Segment *segment, int begin, int end, int i)
{
	if (!reads_inputs(segment, begin, end, segment->steps[i]))
		return;
	for (int later = i + 1; later < end; later++) {
		const MStep *step = segment->steps[later];
		for (int k = 0; k < step->plan.narg - step->plan.noutput; k++)
			if (step->args[k] && !is_made_by(segment, begin, end, step->args[k]))
				add_access(segment, (Access){i, step->args[k], false});
	}
}

static void
find_dependences(Segment *segment)
{
	for (int i = 0, begin = 0, end = 0; i < segment->count; i++) {
		const MStep *step = segment->steps[i];
		if (i == end)
			begin = i, end = node_end(segment, i);
		for (int k = 0; k < step->plan.narg; k++)
			if (step->args[k])
				add_access(segment,
				           (Access){i, step->args[k], k >= step->plan.narg - step->plan.noutput});
		wait_for_inputs(segment, begin, end, i);
	}
}

/* ---- waves ---- */

/* The wave that begins with step `first`, appended to the module: gives how many steps it has. */
static int
place_wave(Segment *segment, int first, int placed)
{
	const Maker *maker = segment->maker;
	const MStep *step = segment->steps[first];
	int wave[MOST_BESIDE] = {first}, count = 1;
	int pieces = maker->pieces_of_work(step->plan.flops, step->plan.bytes);
	for (int i = first + 1; i < segment->count && i < first + LOOK_AHEAD; i++) {
		step = segment->steps[i];
		int more = maker->pieces_of_work(step->plan.flops, step->plan.bytes);
		if (pieces >= maker->most_pieces || count == MOST_BESIDE)
			break;
		if (segment->is_placed[i] || segment->waits[i] || more >= maker->most_pieces)
			continue;
		pieces += more;
		wave[count++] = i;
	}
	for (int i = 0; i < count; i++) {
		const Numbers *waiting = &segment->waiting[wave[i]];
		MStep *placed_step = segment->steps[wave[i]];
		placed_step->plan.is_beside = i > 0;
		segment->is_placed[wave[i]] = true;
		segment->module->steps.data[segment->begin + placed + i] = placed_step;
		for (int k = 0; k < waiting->list.count; k++)
			segment->waits[waiting->list.data[k]]--;
	}
	return count;
}

static void
order_segment(Arena *arena, Module *module, const Maker *maker, int begin, int end)
{
	Segment segment = {.arena = arena,
	                   .module = module,
	                   .maker = maker,
	                   .begin = begin,
	                   .count = end - begin,
	                   .accesses = {.arena = arena}};
	size_t size = (size_t)segment.count * sizeof *segment.steps;
	if (segment.count < 2)
		return;
	segment.steps = arena_memdup(arena, module->steps.data + begin, size);
	segment.waits = NEW_N(arena, int, segment.count);
	segment.waiting = NEW_N(arena, Numbers, segment.count);
	segment.is_placed = NEW_N(arena, bool, segment.count);
	find_dependences(&segment);
	for (int i = 0, placed = 0; i < segment.count; i++)
		if (!segment.is_placed[i])
			placed += place_wave(&segment, i, placed);
}

/* ---- segments ---- */

/* The contents of a result decide a size: what follows may need it. */
static bool
decides_size(const Module *module, const MStep *step)
{
	for (int i = 0; i < module->symbols.count; i++) {
		const MSymbol *symbol = &module->symbols.data[i];
		for (int k = step->plan.narg - step->plan.noutput; k < step->plan.narg; k++)
			if (symbol->source == MSYM_ELEMENT && step->args[k] &&
			    mbuffer_root(step->args[k]) == mbuffer_root(symbol->buffer))
				return true;
	}
	return false;
}

void
lower_side_by_side(Arena *arena, Module *module, const Target *target)
{
	int begin = 0;
	for (int i = 0; i < module->steps.count; i++) {
		const MStep *step = module->steps.data[i];
		bool may_move = step->plan.kind == PT_KERNEL || step->plan.kind == PT_VENDOR;
		if (!may_move || decides_size(module, step)) {
			order_segment(arena, module, maker_of(target), begin, i + may_move);
			begin = i + 1;
		}
		for (int k = 0; k < step->plan.nbody; k++)
			lower_side_by_side(arena, step->bodies[k], target);
	}
	order_segment(arena, module, maker_of(target), begin, module->steps.count);
}
