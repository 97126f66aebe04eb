/* Which weights a bundle needs only in their packed forms.
 *
 * Those that steps read as a library's operand 1, and nothing else, and whose bytes come back from
 * the forms without a difference: what a library pads, scales or transforms stays stored plain
 * beside its form. The others move together, these get offsets behind them:
 *
 *     offsets 0 a 64 b 192 c 256, b is only packed   =>   0 a 64 c 128 | 128 b
 */
#include "driver/proof/once.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

enum { ALIGN = 64 };

typedef struct Weight {
	int64_t offset, bytes, moved; /* where it is, and will be */
	bool is_plain;                /* somebody reads it so */
} Weight;

typedef VEC(Weight) WeightVec;

typedef struct Weighing {
	Arena *arena;
	const Bundle *bundle;
	WeightVec weights; /* by offset, once settled */
} Weighing;

/* ---- who reads what ---- */

static void
add_weights(Weighing *w, const Plan *plan)
{
	for (int i = 0; i < plan->nbuffer; i++) {
		const PlanBuffer *b = &plan->buffers[i];
		if (b->kind == PB_WEIGHT || (b->kind == PB_INPUT && b->bytes >= 0))
			vec_push(w->arena, &w->weights,
			         (Weight){b->offset, b->bytes, 0, b->kind == PB_INPUT || plan->nesting > 0});
	}
	for (int s = 0; s < plan->nstep; s++)
		for (int k = 0; k < plan->steps[s].nbody; k++)
			add_weights(w, plan->steps[s].bodies[k]);
}

static int
by_offset(const void *a, const void *b)
{
	int64_t x = ((const Weight *)a)->offset, y = ((const Weight *)b)->offset;
	return x < y ? -1 : x > y;
}

/* One entry for each offset. */
static void
settle_weights(Weighing *w)
{
	int count = 0;
	Weight *data = w->weights.data;
	if (w->weights.count > 1)
		qsort(data, (size_t)w->weights.count, sizeof *data, by_offset);
	for (int i = 0; i < w->weights.count; i++) {
		if (count == 0 || data[count - 1].offset != data[i].offset) {
			data[count++] = data[i];
			continue;
		}
		Weight *same = &data[count - 1];
		same->bytes = data[i].bytes > same->bytes ? data[i].bytes : same->bytes;
		same->is_plain |= data[i].is_plain;
	}
	w->weights.count = count;
}

/* The weight that has this byte; NULL: none. */
static Weight *
weight_at(const Weighing *w, int64_t offset)
{
	int lo = 0, hi = w->weights.count;
	while (lo < hi) {
		int middle = lo + (hi - lo) / 2;
		if (w->weights.data[middle].offset <= offset)
			lo = middle + 1;
		else
			hi = middle;
	}
	Weight *found = lo ? &w->weights.data[lo - 1] : NULL;
	return found && offset - found->offset < found->bytes ? found : NULL;
}

/* A buffer that is read otherwise than as operand 1 of a call. */
static void
need_plain(const Weighing *w, const Plan *plan, int buffer)
{
	while (buffer >= 0 && plan->buffers[buffer].kind == PB_VIEW)
		buffer = plan->buffers[buffer].base;
	if (buffer < 0 || plan->buffers[buffer].kind != PB_WEIGHT)
		return;
	Weight *weight = weight_at(w, plan->buffers[buffer].offset);
	if (weight)
		weight->is_plain = true;
}

/* Of nested plans all weights are plain, and so is what they capture. */
static void
mark_readers(const Weighing *w, const Plan *plan)
{
	for (int s = 0; s < plan->nstep; s++) {
		const PlanStep *step = &plan->steps[s];
		for (int i = 0; i < step->narg; i++)
			if (step->kind != PT_VENDOR || i != 1)
				need_plain(w, plan, step->args[i]);
		for (int k = 0; k < step->nbody; k++)
			for (int i = 0; i < step->bodies[k]->nbuffer; i++)
				if (step->bodies[k]->buffers[i].kind == PB_CAPTURE)
					need_plain(w, plan, step->bodies[k]->buffers[i].index);
	}
	for (int i = 0; i < plan->nsymbol; i++)
		if (plan->symbols[i].source == PS_ELEMENT)
			need_plain(w, plan, plan->symbols[i].buffer);
	for (int i = 0; i < plan->noutput; i++)
		need_plain(w, plan, plan->outputs[i]);
	for (int i = 0; i < plan->nbuffer; i++)
		if (plan->buffers[i].kind == PB_VIEW)
			need_plain(w, plan, i);
}

/* ---- whether forms hold it all ---- */

/* Read back over bytes that all differ from the right ones. */
static bool
comes_back(const Weighing *w, const Weight *weight, size_t count, const PackedForm *forms)
{
	const unsigned char *right = w->bundle->weights.data + weight->offset;
	unsigned char *back = malloc((size_t)weight->bytes + 1);
	bool is_same = back != NULL;
	for (int64_t i = 0; back && i < weight->bytes; i++)
		back[i] = right[i] ^ 0xff;
	for (size_t i = 0; is_same && i < count; i++)
		if (weight_at(w, forms[i].part.offset) == weight && forms[i].layout.rank > 0)
			is_same = packed_read(&forms[i], weight->offset, back, (size_t)weight->bytes);
	is_same = is_same && memcmp(back, right, (size_t)weight->bytes) == 0;
	free(back);
	return is_same;
}

/* ---- moving ---- */

static int64_t
aligned(int64_t size)
{
	return (size + ALIGN - 1) / ALIGN * ALIGN;
}

/* Those of this kind, from `at` on; gives where they end. */
static int64_t
place_weights(Weighing *w, bool is_plain, int64_t at)
{
	for (int i = 0; i < w->weights.count; i++) {
		Weight *weight = &w->weights.data[i];
		if (weight->is_plain != is_plain)
			continue;
		weight->moved = at;
		at += aligned(weight->bytes);
	}
	return at;
}

static void
move_offsets(const Weighing *w, const Plan *plan)
{
	for (int i = 0; i < plan->nbuffer; i++) {
		PlanBuffer *b = (PlanBuffer *)(uintptr_t)&plan->buffers[i];
		if (b->kind == PB_WEIGHT || (b->kind == PB_INPUT && b->bytes >= 0)) {
			const Weight *weight = weight_at(w, b->offset);
			b->offset = weight ? weight->moved : 0; /* none: of no bytes */
		}
	}
	for (int s = 0; s < plan->nstep; s++)
		for (int k = 0; k < plan->steps[s].nbody; k++)
			move_offsets(w, plan->steps[s].bodies[k]);
}

static Blob
plain_weights(const Weighing *w, int64_t size)
{
	BlobPiece *pieces = NEW_N(w->arena, BlobPiece, w->weights.count + 1);
	int64_t count = 0;
	for (int i = 0; i < w->weights.count; i++) {
		const Weight *weight = &w->weights.data[i];
		if (weight->is_plain)
			pieces[count++] =
				(BlobPiece){(uint64_t)weight->moved,
			                {w->bundle->weights.data + weight->offset, (size_t)weight->bytes}};
	}
	return (Blob){(uint64_t)size, count, pieces};
}

static void
move_forms(const Weighing *w, size_t count, PackedForm *forms)
{
	for (size_t i = 0; i < count; i++) {
		const Weight *weight = weight_at(w, forms[i].part.offset);
		if (weight)
			forms[i].part.offset += weight->moved - weight->offset;
	}
}

Once
weights_once(Arena *arena, const Bundle *bundle, size_t count, PackedForm *forms)
{
	Weighing w = {.arena = arena, .bundle = bundle};
	Once once = {.only_packed = 0};
	if (bundle->manifest->ntarget != 1)
		return once;
	const Plan *plan = bundle_plan(arena, bundle, 0);
	if (plan->is_apart)
		return once;
	add_weights(&w, plan);
	settle_weights(&w);
	mark_readers(&w, plan);
	for (int i = 0; i < w.weights.count; i++) {
		Weight *weight = &w.weights.data[i];
		weight->is_plain =
			weight->is_plain || weight->bytes <= 0 || !comes_back(&w, weight, count, forms);
	}
	int64_t plain = place_weights(&w, true, 0);
	plain = plain ? plain : ALIGN; /* a bundle with weights has weights.bin */
	once.only_packed = place_weights(&w, false, plain) - plain;
	if (once.only_packed == 0)
		return once;
	once.weights = plain_weights(&w, plain);
	move_forms(&w, count, forms);
	move_offsets(&w, plan);
	Buf json = {.arena = arena};
	plan_write(&json, plan);
	once.plan_entry = bundle->manifest->targets[0].plan;
	once.plan = blob_of(arena, json.data, json.size);
	return once;
}
