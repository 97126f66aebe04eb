/* Nodes whose products DeriveExpressions asks about together.
 *
 *     %a = Conv(%x, %v)       of one level: neither needs the other, and no product lies on a way
 *     %b = Conv(%x, %w)       from one to the other
 */
#ifndef PASSES_DERIVE_SIBLINGS_H
#define PASSES_DERIVE_SIBLINGS_H

#include "graph/graph.h"
#include "passes/derive_trials.h"

/* A node that computes a product. */
typedef struct Asker {
	Node *node;
	const Program *program;
	Value **inputs;            /* of the program, when it asked */
	const bool *constant;      /* of these */
	int level;                 /* products on the longest way to it, in its region */
	Question *question;        /* about it alone; NULL: none */
	struct Siblings *siblings; /* NULL: none */
} Asker;

enum { SIBLINGS_MOST = 4 };

typedef struct Siblings {
	int count;
	Asker *members[SIBLINGS_MOST]; /* in order of the nodes */
	const char *names;             /* for the log */
	int ninput;
	Value **inputs; /* of all, each once */
	bool *constant;
	Question *question; /* NULL: nothing to ask */
} Siblings;

typedef VEC(Asker) Askers;
typedef VEC(Siblings *) SiblingsVec;

/* The level of a node by those of the nodes before it: levels[node] counts the node itself. */
int derive_level(const Map *levels, const Node *node);

/* Sets askers of one level together that share a factor, or have equal boxes: at most `most`. */
void derive_siblings(Arena *arena, const Askers *askers, int most, SiblingsVec *groups);

/* One program of those of the members, whose outputs are its. */
const Program *siblings_joined(const Siblings *group, const Program *const *programs);

/* The values that are the group's inputs now: nodes before it may have been replaced. */
void siblings_inputs(Arena *arena, const Siblings *group, Value **inputs);

#endif
