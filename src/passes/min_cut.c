/* A smallest cut by the largest flow between the ends.
 *
 * Each net is a pipe of width 1 that its things pour into and drink from; pipes to and from things
 * are as wide as one likes (Lawler's form of a hypergraph). As much flows from the near end to the
 * far one as nets must be cut. Paths are found one by one, the shortest first: there are as many as
 * nets in the cut.
 */
#include "passes/min_cut.h"

#include <limits.h>

#include "base/vec.h"

enum { WIDE = INT_MAX / 2, NONE = -1 };

/* Edge e and its opposite, e ^ 1, stand beside each other. */
typedef struct Edge {
	int to, room, next; /* next: of those that leave the same place */
} Edge;

struct Cut {
	Arena *arena;
	IntVec first; /* edge that leaves a place: things, and two ends of each net's pipe */
	VEC(Edge) edges;
};

int
cut_thing(Cut *cut)
{
	vec_push(cut->arena, &cut->first, NONE);
	return cut->first.count - 1;
}

Cut *
cut_new(Arena *arena)
{
	Cut *cut = NEW(arena, Cut);
	cut->arena = arena;
	cut_thing(cut);
	cut_thing(cut);
	return cut;
}

static void
add_edge(Cut *cut, int from, int to, int room)
{
	int *first = cut->first.data, edge = cut->edges.count;
	vec_push(cut->arena, &cut->edges, ((Edge){to, room, first[from]}));
	first[from] = edge;
	vec_push(cut->arena, &cut->edges, ((Edge){from, 0, first[to]}));
	first[to] = edge + 1;
}

void
cut_net(Cut *cut, int count, const int *things)
{
	int in = cut_thing(cut), out = cut_thing(cut);
	add_edge(cut, in, out, 1);
	for (int i = 0; i < count; i++) {
		add_edge(cut, things[i], in, WIDE);
		add_edge(cut, out, things[i], WIDE);
	}
}

/* The edge by which each place is reached from the near end, while there is room. */
static bool
find_path(const Cut *cut, int *queue, int *by)
{
	for (int i = 0; i < cut->first.count; i++)
		by[i] = NONE;
	int count = 0;
	queue[count++] = CUT_NEAR;
	for (int k = 0; k < count && by[CUT_FAR] == NONE; k++)
		for (int e = cut->first.data[queue[k]]; e != NONE; e = cut->edges.data[e].next) {
			int to = cut->edges.data[e].to;
			if (cut->edges.data[e].room == 0 || by[to] != NONE || to == CUT_NEAR)
				continue;
			by[to] = e;
			queue[count++] = to;
		}
	return by[CUT_FAR] != NONE;
}

/* Where nothing comes to any more from the near end. */
static const bool *
far_side(const Cut *cut, const int *by)
{
	bool *is_far = NEW_N(cut->arena, bool, cut->first.count);
	for (int i = 0; i < cut->first.count; i++)
		is_far[i] = i != CUT_NEAR && by[i] == NONE;
	return is_far;
}

const bool *
cut_solve(Cut *cut)
{
	int *queue = NEW_N(cut->arena, int, cut->first.count);
	int *by = NEW_N(cut->arena, int, cut->first.count);
	Edge *edges = cut->edges.data;
	while (find_path(cut, queue, by))
		for (int at = CUT_FAR; at != CUT_NEAR; at = edges[by[at] ^ 1].to) {
			edges[by[at]].room--;
			edges[by[at] ^ 1].room++;
		}
	return far_side(cut, by);
}
