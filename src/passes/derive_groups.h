/* What DeriveExpressions asks about a graph: of nodes alone, and of groups of nodes as one program.
 *
 *     %a = Conv(%x, %v)       siblings, products of one level: no product lies on a way from one to
 *     %b = Conv(%x, %w)       the other, and both have results
 *
 *     %t = MatMul(%x, %v)     a chain: nothing else reads what passes from node to node, and the
 *     %s = Add(%t, %b)        last has the result. With 64x768 by 768x3072 by 3072x16, V*W is
 *     %y = MatMul(%s, %w)     known when compiling, so that only 64x768 by 768x16 is left; asked
 */
#ifndef PASSES_DERIVE_GROUPS_H
#define PASSES_DERIVE_GROUPS_H

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

/* ---- siblings ---- */

/* The level of a node by those of the nodes before it: levels[node] counts the node itself. */
int derive_level(const Map *levels, const Node *node);

/* Sets askers of one level together that share a factor, or have equal boxes: at most `most`. Those
 * that are in a group stay there. */
void derive_siblings(Arena *arena, const Askers *askers, int most, NodeGroups *groups);

/* ---- chains ---- */

/* Adds the chains, of at most `most` products, that end in askers that are in no group yet. */
void derive_chains(PassContext *context, const Graph *graph, const Askers *askers, int most,
                   NodeGroups *groups);

/* ---- all of a graph ---- */

typedef struct Asked {
	Map by_key;                /* key -> Question */
	Map levels;                /* Node -> level, itself counted */
	VEC(Question *) questions; /* in order of the nodes, then of the groups */
	Askers askers;
	NodeGroups groups;
} Asked;

/* What the nodes ask alone. */
Asked derive_ask(PassContext *context, const Graph *graph);

/* What they ask together; questions that are new stand behind the others. Once, when there are no
 * more askers. */
void derive_ask_groups(PassContext *context, const Graph *graph, Asked *asked);

/* ---- the whole model (derive_whole.c) ---- */

/* What candidates say besides where the model is not faster. */
#define NOT_AS_A_WHOLE "the model as a whole is not faster with it"

/* Measure the model with and without all that was chosen, once: unless all of that is recorded, or
 * no time was given to this pass. Where it is not faster, all answers become "as given". */
void derive_judge(PassContext *context, const Graph *graph, Asked *asked);

#endif
