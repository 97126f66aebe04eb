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
	int64_t low, high;
	DType type = frame->plan->buffers[buffer].type;
	if (element_bytes(type) == 0 || type == DT_STRING || !held_at(frame, buffer, &held) ||
	    !held.at || !held_span(&held, &low, &high))
		return false;
	*range = (Range){held.at + low, held.at + high};
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
	PlanPlace place = frame->plan->buffers[root].place;
	const unsigned char *base = frame->base[place];
	const Block *arena = &frame->arena[place];
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
note(Arena *arena, Margins *margins, const Frame *frame, int buffer, const Range *range)
{
	if (range->low >= range->high)
		return;
	Margin margin = {
		.buffer = buffer, .at = range->low, .bytes = (size_t)(range->high - range->low)};
	PlanPlace place = frame->plan->buffers[buffer].place;
	memcpy(margin.before, place_read(arena, frame, place, margin.at, margin.bytes), margin.bytes);
	vec_push(arena, &margins->list, margin);
}

void
margins_reserve(Frame *frame, int buffer)
{
	int root = plan_root(frame->plan, buffer);
	Slot *slot = &frame->slots[root];
	PlanPlace place = frame->plan->buffers[root].place;
	if (slot->is_own && slot->has_dims && !slot->bound &&
	    exec_reserve(frame->exec, place, &slot->own, slot->bytes + MARGIN) == TW_OK)
		place_poison(frame, place, slot->own.data, slot->own.capacity);
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
		note(arena, margins, frame, s->args[k], &(Range){low, own.low});
		note(arena, margins, frame, s->args[k], &(Range){own.high, high});
	}
}

int
margins_broken(Arena *scratch, const Margins *margins, const Frame *frame)
{
	for (int i = 0; i < margins->list.count; i++) {
		const Margin *margin = &margins->list.data[i];
		PlanPlace place = frame->plan->buffers[margin->buffer].place;
		const void *now = place_read(scratch, frame, place, margin->at, margin->bytes);
		if (memcmp(now, margin->before, margin->bytes) != 0)
			return margin->buffer;
	}
	return -1;
}
