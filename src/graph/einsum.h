/* Einsum's equation: which axes the letters are. */
#ifndef GRAPH_EINSUM_H
#define GRAPH_EINSUM_H

#include "graph/graph.h"

enum {
	EINSUM_OPERANDS = 16,
	EINSUM_DOTS = 256,
	EINSUM_LABELS = EINSUM_DOTS + ARRAY_MAX_RANK,
};

/* The labels of an operand's axes: a letter, or EINSUM_DOTS + place counted from the last one. */
typedef struct EinsumTerm {
	int rank;
	int label[ARRAY_MAX_RANK];
} EinsumTerm;

typedef struct Einsum {
	int nin;
	EinsumTerm in[EINSUM_OPERANDS], out;
	int uses[EINSUM_LABELS]; /* how often each label stands in the operands */
	int ndots;               /* most axes any ellipsis stands for */
} Einsum;

/* Of operands of these ranks; fails with the node's place where it says nothing. */
void einsum_parse(const Node *node, int nin, const int *ranks, Einsum *eq);

#endif
