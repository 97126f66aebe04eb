/* Nodes whose products DeriveExpressions asks about together, as one program.
 *
 *     %a = Conv(%x, %v)       siblings: neither needs the other, and both have results
 *     %b = Conv(%x, %w)
 *
 *     %t = MatMul(%x, %v)     a chain: nothing else reads what passes from node to node, and the
 *     %s = Add(%t, %b)        last has the result
 *     %y = MatMul(%s, %w)
 */
#ifndef PASSES_DERIVE_GROUP_H
#define PASSES_DERIVE_GROUP_H

#include "graph/graph.h"
#include "passes/derive_trials.h"

/* A node that computes a product, or stands between two in a chain. */
typedef struct Asker {
	Node *node;
	const Program *program;
	Value **inputs;          /* of the program, when it asked */
	const bool *constant;    /* of these */
	int level;               /* products on the longest way to it, in its region */
	Question *question;      /* about it alone; NULL: none */
	struct NodeGroup *group; /* NULL: none */
} Asker;

typedef VEC(Asker) Askers;

enum { GROUP_MOST = 8, PRODUCTS_MOST = 4 }; /* nodes of a group, and products among them */

typedef struct NodeGroup {
	int count;
	Asker *members[GROUP_MOST]; /* in order of the nodes */
	int first;         /* member: it and those behind it have results, others are read inside */
	const char *names; /* for the log */
	int ninput;
	Value **inputs; /* of all, each once */
	bool *constant;
	Question *question; /* NULL: nothing to ask */
} NodeGroup;

typedef VEC(NodeGroup *) NodeGroups;

/* Its inputs, by its members. */
void node_group_add_inputs(Arena *arena, NodeGroup *group);

/* One program of those of the members: its outputs are those of members `first` on. */
const Program *node_group_program(const NodeGroup *group, const Program *const *programs);

/* The values that are the group's inputs now: nodes before it may have been replaced. */
void node_group_inputs(Arena *arena, const NodeGroup *group, Value **inputs);

#endif
