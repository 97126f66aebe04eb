/* margins: where a result begins and ends in its storage, and the bytes on both sides. */
#include "prove/margin.h"

#include <string.h>

#include "prove/memory.h"

/* Bytes from `low` up to, not with, `high`. */
typedef struct Range {
	const unsigned char *low, *high;
} Range;

/* From the first to the last byte of a value, gaps between its rows included. */
static bool
range_of(const Frame *frame, int buffer, Range *range)
{
	Held held;
	size_t size = element_bytes(frame->plan->buffers[buffer].type);
	if (size == 0 || frame->plan->buffers[buffer].type == DT_STRING ||
	    !held_of(frame, buffer, &held) || !held.data || dims_count(held.rank, held.dims) == 0)
		return false;
	int64_t low = 0, high = held.block_dim >= 0 ? held.block : 1;
	for (int d = 0; d < held.rank; d++) {
		int64_t span = (held_stored(&held, d) - 1) * held.strides[d];
		low += span < 0 ? span : 0;
		high += span > 0 ? span : 0;
	}
	range->low = held.data + low * (int64_t)size;
	range->high = held.data + high * (int64_t)size;
	return true;
}

/* The memory that the storage of a buffer is a part of. */
static bool
memory_around(const Frame *frame, int buffer, Range *range)
{
	int root = plan_root(frame->plan, buffer);
	const Slot *slot = &frame->slots[root];
	if (slot->is_own) {
		*range = (Range){slot->own.data, slot->own.data + slot->own.capacity};
		return slot->data && slot->data == slot->own.data;
	}
	const unsigned char *base = frame->base[PLACE_DEVICE];
	const Block *arena = &frame->arena[PLACE_DEVICE];
	size_t bytes = base == arena->data ? arena->capacity : frame->arena_bytes;
	*range = (Range){base, base + bytes};
	return frame->plan->buffers[root].kind == PB_TEMP && base;
}

/* Leave what another result of the step takes of the memory on both sides of `own`. */
static void
keep_off(Range *around, const Range *own, const Range *other)
{
	if (other->low >= own->high && other->low < around->high)
		around->high = other->low;
	else if (other->high <= own->low && other->high > around->low)
		around->low = other->high;
	else if (other->low < own->high && other->high > own->low)
		*around = *own; /* they lie between each other's rows */
}

static void
note(Arena *arena, Margins *margins, int buffer, const unsigned char *low,
     const unsigned char *high)
{
	if (low >= high)
		return;
	Margin margin = {.buffer = buffer, .at = low, .bytes = (size_t)(high - low)};
	memcpy(margin.before, low, margin.bytes);
	vec_push(arena, &margins->list, margin);
}

void
margins_reserve(Frame *frame, int buffer)
{
	Slot *slot = &frame->slots[plan_root(frame->plan, buffer)];
	if (slot->is_own && slot->has_dims && !slot->bound &&
	    block_reserve(&frame->exec->memory, &slot->own, slot->bytes + MARGIN))
		memory_poison(slot->own.data, slot->own.capacity);
}

void
margins_note(Arena *arena, Margins *margins, const Frame *frame, int step)
{
	const PlanStep *s = &frame->plan->steps[step];
	margins->list.count = 0;
	for (int k = s->narg - s->noutput; k < s->narg; k++) {
		Range own, around, other;
		if (s->args[k] < 0 || !range_of(frame, s->args[k], &own) ||
		    !memory_around(frame, s->args[k], &around))
			continue;
		for (int i = s->narg - s->noutput; i < s->narg; i++)
			if (i != k && s->args[i] >= 0 && range_of(frame, s->args[i], &other))
				keep_off(&around, &own, &other);
		const unsigned char *low = own.low, *high = own.high;
		low = low - around.low > MARGIN ? low - MARGIN : around.low;
		high = around.high - high > MARGIN ? high + MARGIN : around.high;
		note(arena, margins, s->args[k], low, own.low);
		note(arena, margins, s->args[k], own.high, high);
	}
}

int
margins_broken(const Margins *margins)
{
	for (int i = 0; i < margins->list.count; i++) {
		const Margin *margin = &margins->list.data[i];
		if (memcmp(margin->at, margin->before, margin->bytes) != 0)
			return margin->buffer;
	}
	return -1;
}
