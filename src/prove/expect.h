/* What a value should be at some of its points, and whether it is. */
#ifndef PROVE_EXPECT_H
#define PROVE_EXPECT_H

#include "expr/interp/points.h"
#include "prove/facts.h"
#include "prove/memory.h"

/* A control operator is interpreted as a whole when its regions take at most so many operations. */
#define CONTROL_OPERATIONS 2e7

/* More operations than this for one node's points count as not proved: a second or so. */
#define POINT_OPERATIONS 1e8

/* Points of a value of these dims: corners, borders, then anywhere; sorted, without repetition. */
PointSet *points_choose(Arena *arena, uint64_t seed, int rank, const int64_t *dims);
/* As many of the elements that are listed, in order: the first, the last, then any. */
PointSet *points_of(Arena *arena, uint64_t seed, int64_t count, const int64_t *elements);

/* What a node's results should be: one set per output, NULL where nobody asks. */
typedef struct Expected {
	const char *reason; /* why not; NULL: they are there */
	bool is_long;       /* that: a loop or a branch would take too long */
	PointSet **outputs;
	const Array **whole; /* of a host operator: its results, for shapes and texts; else NULL */
} Expected;

/* Values for the symbols that a frame has bound, by the graph's numbers. */
Binding expect_binding(Arena *arena, const Graph *graph, const Frame *frame);

/* Evaluate a node now, from what the frame's buffers hold: at these points of its results, NULL: at
 * chosen ones. Never fails: says a reason. */
Expected *expect_node(Arena *arena, const Graph *graph, const PlanFacts *facts,
                      const NodeFacts *node, const Frame *frame, uint64_t seed,
                      PointSet *const *points);

/* The elements of a constant or of another buffer as expectations: exactly these. */
PointSet *expect_array(Arena *arena, const Array *array, uint64_t seed);

/* NULL, or a sentence that says where and how `held` differs; and in numbers. */
const char *expect_judge(Arena *arena, const PointSet *expected, const Held *held, Agreement *out);
/* The same with all of what a host operator makes: of another shape, or another text. */
const char *expect_whole(Arena *arena, const Array *expected, const Held *held);

#endif
