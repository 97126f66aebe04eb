/* Layers, order, places. */
#include "cli/page/layout.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
	GAP_X = 28,    /* between boxes of a layer */
	GAP_Y = 44,    /* between layers */
	SWEEPS = 8,    /* down and up again: later ones change next to nothing */
	LONGEST = 200, /* layers that an edge has places in; a longer one is drawn over what is there */
	LINE_WEIGHT = 4 /* a bend of a long line is worse than a box beside its neighbours' middle */
};

/* What stands in a layer: a box, or the place where a long edge passes. */
typedef struct Slot {
	int box;   /* -1: an edge passes */
	int layer; /* … */
	int rank;  /* its place in the layer's order */
	double x;  /* of its middle */
	double key;
	IntVec up, down; /* neighbours in the layers above and below */
} Slot;

typedef struct Drawing {
	Arena *arena;
	Layout *layout;
	VEC(Slot) slots; /* those of boxes first */
	VEC(IntVec) layers;
	IntVec *paths; /* of each edge, its slots from above; none: too long */
} Drawing;

static int
upper(const LayoutEdge *edge)
{
	return edge->from < edge->to ? edge->from : edge->to;
}

static int
lower(const LayoutEdge *edge)
{
	return edge->from < edge->to ? edge->to : edge->from;
}

/* ---- layers ---- */

/* Boxes come in order, so that a box has its layer before an edge leads on from it. Then each goes
 * down to where it is wanted: what begins late need not run along all that is before. */
static void
find_layers(const Drawing *d)
{
	LayoutBox *boxes = d->layout->boxes.data;
	int count = d->layout->boxes.count;
	IntVec *below = NEW_N(d->arena, IntVec, count + 1);
	for (int e = 0; e < d->layout->edges.count; e++) {
		const LayoutEdge *edge = &d->layout->edges.data[e];
		if (edge->from != edge->to)
			vec_push(d->arena, &below[upper(edge)], lower(edge));
	}
	for (int i = 0; i < count; i++)
		for (int k = 0; k < below[i].count; k++)
			if (boxes[below[i].data[k]].layer <= boxes[i].layer)
				boxes[below[i].data[k]].layer = boxes[i].layer + 1;
	for (int i = count - 1; i >= 0; i--) {
		int next = INT32_MAX;
		for (int k = 0; k < below[i].count; k++)
			if (boxes[below[i].data[k]].layer < next)
				next = boxes[below[i].data[k]].layer;
		if (below[i].count)
			boxes[i].layer = next - 1;
	}
}

static int
add_slot(Drawing *d, int box, int layer)
{
	while (d->layers.count <= layer)
		vec_push(d->arena, &d->layers, (IntVec){0});
	IntVec *slots = &d->layers.data[layer];
	vec_push(d->arena, &d->slots, (Slot){.box = box, .layer = layer, .rank = slots->count});
	vec_push(d->arena, slots, d->slots.count - 1);
	return d->slots.count - 1;
}

static void
join(Drawing *d, int above, int below)
{
	vec_push(d->arena, &d->slots.data[above].down, below);
	vec_push(d->arena, &d->slots.data[below].up, above);
}

static void
add_slots(Drawing *d)
{
	Layout *layout = d->layout;
	for (int i = 0; i < layout->boxes.count; i++)
		add_slot(d, i, layout->boxes.data[i].layer);
	d->paths = NEW_N(d->arena, IntVec, layout->edges.count + 1);
	for (int e = 0; e < layout->edges.count; e++) {
		const LayoutEdge *edge = &layout->edges.data[e];
		int above = upper(edge), below = lower(edge);
		int first = d->slots.data[above].layer, last = d->slots.data[below].layer;
		if (above == below || last - first > LONGEST)
			continue;
		vec_push(d->arena, &d->paths[e], above);
		for (int layer = first + 1; layer < last; layer++)
			vec_push(d->arena, &d->paths[e], add_slot(d, -1, layer));
		vec_push(d->arena, &d->paths[e], below);
		for (int k = 1; k < d->paths[e].count; k++)
			join(d, d->paths[e].data[k - 1], d->paths[e].data[k]);
	}
}

/* ---- order ---- */

static int
by_key(const void *a, const void *b)
{
	const Slot *x = *(Slot *const *)a, *y = *(Slot *const *)b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sort a layer by the mean place of what its slots are joined to on one side. Places are shares of
 * the layer's width: neighbouring layers have different counts. */
static void
order_layer(Drawing *d, int layer, bool is_downward)
{
	IntVec *slots = &d->layers.data[layer];
	Slot **sorted = NEW_N(d->arena, Slot *, slots->count);
	for (int i = 0; i < slots->count; i++) {
		Slot *slot = sorted[i] = &d->slots.data[slots->data[i]];
		const IntVec *joined = is_downward ? &slot->up : &slot->down;
		slot->key = joined->count ? 0 : (slot->rank + 0.5) / slots->count;
		for (int k = 0; k < joined->count; k++) {
			const Slot *other = &d->slots.data[joined->data[k]];
			slot->key += (other->rank + 0.5) / d->layers.data[other->layer].count / joined->count;
		}
	}
	qsort(sorted, (size_t)slots->count, sizeof *sorted, by_key);
	for (int i = 0; i < slots->count; i++) {
		slots->data[i] = (int)(sorted[i] - d->slots.data);
		sorted[i]->rank = i;
	}
}

/* ---- places ---- */

static double
slot_width(const Drawing *d, const Slot *slot)
{
	return slot->box >= 0 ? d->layout->boxes.data[slot->box].w : 0;
}

/* Neighbours that want places which overlap share one, where their mean is. */
typedef struct Block {
	double sum, weight;
	int count;
} Block;

/* The places next to those that are wanted (key), in the mean square, that keep order and gaps:
 * gaps taken off, wanted places must not fall from left to right, and where they do neighbours are
 * merged. */
static void
place_layer(Drawing *d, int layer)
{
	const IntVec *slots = &d->layers.data[layer];
	Block *blocks = NEW_N(d->arena, Block, slots->count + 1);
	int count = 0;
	double offset = 0;
	for (int i = 0; i < slots->count; i++) {
		const Slot *slot = &d->slots.data[slots->data[i]];
		double weight = slot->box < 0 ? LINE_WEIGHT : 1, half = slot_width(d, slot) / 2;
		blocks[count++] = (Block){(slot->key - half - offset) * weight, weight, 1};
		offset += 2 * half + GAP_X;
		while (count > 1 && blocks[count - 2].sum / blocks[count - 2].weight >=
		                        blocks[count - 1].sum / blocks[count - 1].weight) {
			blocks[count - 2].sum += blocks[count - 1].sum;
			blocks[count - 2].weight += blocks[count - 1].weight;
			blocks[count - 2].count += blocks[count - 1].count;
			count--;
		}
	}
	offset = 0;
	for (int b = 0, i = 0; b < count; b++)
		for (int k = 0; k < blocks[b].count; k++, i++) {
			Slot *slot = &d->slots.data[slots->data[i]];
			double half = slot_width(d, slot) / 2;
			slot->x = blocks[b].sum / blocks[b].weight + offset + half;
			offset += 2 * half + GAP_X;
		}
}

static void
want_middle(Drawing *d, int layer, bool is_downward)
{
	const IntVec *slots = &d->layers.data[layer];
	for (int i = 0; i < slots->count; i++) {
		Slot *slot = &d->slots.data[slots->data[i]];
		const IntVec *joined = is_downward ? &slot->up : &slot->down;
		slot->key = joined->count ? 0 : slot->x;
		for (int k = 0; k < joined->count; k++)
			slot->key += d->slots.data[joined->data[k]].x / joined->count;
	}
	place_layer(d, layer);
}

/* All layers, each after the one that it looks at. */
static void
sweep(Drawing *d, void (*step)(Drawing *, int, bool), bool is_downward)
{
	for (int i = 1; i < d->layers.count; i++)
		step(d, is_downward ? i : d->layers.count - 1 - i, is_downward);
}

static void
find_places(Drawing *d)
{
	for (int i = 0; i < SWEEPS; i++) {
		sweep(d, order_layer, true);
		sweep(d, order_layer, false);
	}
	for (int i = 0; i < d->layers.count; i++)
		place_layer(d, i); /* keys are shares: all to the left, side by side */
	for (int i = 0; i < SWEEPS; i++) {
		sweep(d, want_middle, true);
		sweep(d, want_middle, false);
	}
}

/* ---- what is given back ---- */

static void
set_boxes(const Drawing *d, int *tops)
{
	Layout *layout = d->layout;
	double left = INFINITY, right = 0;
	for (int layer = 0, y = 0; layer < d->layers.count; layer++) {
		int height = 0;
		tops[layer] = y;
		for (int i = 0; i < d->layers.data[layer].count; i++) {
			const Slot *slot = &d->slots.data[d->layers.data[layer].data[i]];
			const LayoutBox *box = slot->box >= 0 ? &layout->boxes.data[slot->box] : NULL;
			height = box && box->h > height ? box->h : height;
			left = fmin(left, slot->x - slot_width(d, slot) / 2);
		}
		y += height + GAP_Y;
		tops[layer + 1] = y;
	}
	for (int i = 0; i < d->slots.count; i++) {
		Slot *slot = &d->slots.data[i];
		double half = slot_width(d, slot) / 2;
		slot->x = floor(slot->x - half - left) + half; /* corners are whole: no gap gets smaller */
		right = fmax(right, slot->x + half);
		if (slot->box < 0)
			continue;
		layout->boxes.data[slot->box].x = (int)(slot->x - half);
		layout->boxes.data[slot->box].y = tops[slot->layer];
	}
	layout->w = (int)right;
	layout->h = d->layers.count ? tops[d->layers.count] - GAP_Y : 0;
}

static void
add_point(const Drawing *d, LayoutEdge *edge, int x, int y)
{
	vec_push(d->arena, &edge->points, (LayoutPoint){x, y});
}

static void
set_edge(const Drawing *d, const int *tops, LayoutEdge *edge, const IntVec *path)
{
	const LayoutBox *above = &d->layout->boxes.data[upper(edge)];
	const LayoutBox *below = &d->layout->boxes.data[lower(edge)];
	if (above == below)
		return;
	add_point(d, edge, above->x + above->w / 2, above->y + above->h);
	for (int k = 1; k + 1 < path->count; k++) {
		const Slot *slot = &d->slots.data[path->data[k]];
		add_point(d, edge, (int)slot->x, tops[slot->layer]);
		add_point(d, edge, (int)slot->x, tops[slot->layer + 1] - GAP_Y);
	}
	add_point(d, edge, below->x + below->w / 2, below->y);
	for (int i = 0, j = edge->points.count - 1; edge->from > edge->to && i < j; i++, j--) {
		LayoutPoint point = edge->points.data[i];
		edge->points.data[i] = edge->points.data[j];
		edge->points.data[j] = point;
	}
}

void
layout_make(Arena *arena, Layout *layout)
{
	Drawing d = {.arena = arena, .layout = layout};
	find_layers(&d);
	add_slots(&d);
	find_places(&d);
	int *tops = NEW_N(arena, int, d.layers.count + 1);
	set_boxes(&d, tops);
	for (int e = 0; e < layout->edges.count; e++)
		set_edge(&d, tops, &layout->edges.data[e], &d.paths[e]);
}
