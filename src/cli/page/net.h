/* A graph as boxes: its inputs, its nodes, its outputs, in an order in which edges lead forward.
 *
 * What stands in a body of an If, a Loop or a Scan stands in front of its owner, which reads what
 * the body gives; what stands in a group is part of it.
 */
#ifndef CLI_PAGE_NET_H
#define CLI_PAGE_NET_H

#include "cli/page/page.h"

/* A node, or the value that is an input or an output of the graph. */
typedef struct NetBox {
	const Node *node;
	const Value *value;
	bool is_input;
} NetBox;

typedef struct Net {
	Arena *arena;
	const Graph *graph;
	VEC(NetBox) boxes;
	VEC(const Value *) values; /* as they come to be written, … */
	Map numbers;               /* … and the number + 1 of each */
	Map makers;                /* of a value, the number + 1 of the box that makes it */
	const NetAbout *about;     /* of a model's; NULL: of a result's */
} Net;

Net *net_new(Arena *arena, const Graph *graph);
const char *net_name(const NetBox *box);
const char *net_word(Arena *arena, const NetBox *box); /* "Relu", of a group "Conv + Relu" */
IntVec net_inputs(const Net *net, const NetBox *box);  /* boxes, one for each operand */

#endif
