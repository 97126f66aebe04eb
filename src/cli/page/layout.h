/* Where boxes and the lines between them stand, so that lines go down and no two boxes overlap.
 *
 *     a -> b, a -> c, b -> c        a
 *                                   |\
 *                                   b |        layers 0, 1, 2
 *                                   |/
 *                                   c
 *
 * As Sugiyama has it: layers by longest path, a place for each layer that a line passes, an order
 * in each layer by the mean of neighbours, and as little bend as that order allows. Nothing is left
 * to chance: the same graph gives the same picture.
 */
#ifndef CLI_PAGE_LAYOUT_H
#define CLI_PAGE_LAYOUT_H

#include "base/vec.h"

typedef struct LayoutPoint {
	int x, y;
} LayoutPoint;

typedef struct LayoutBox {
	int w, h;  /* given */
	int x, y;  /* made: of the corner at the left above */
	int layer; /* made */
} LayoutBox;

/* One that leads to a box in front of it in the given order goes up: such an edge closes a circle,
 * which only boxes that stand for several nodes can do. */
typedef struct LayoutEdge {
	int from, to;            /* given: boxes */
	VEC(LayoutPoint) points; /* made: from the end of one box to the begin of the other */
} LayoutEdge;

typedef struct Layout {
	VEC(LayoutBox) boxes; /* in an order in which most edges lead forward */
	VEC(LayoutEdge) edges;
	int w, h; /* made: of all */
} Layout;

void layout_make(Arena *arena, Layout *layout);

#endif
