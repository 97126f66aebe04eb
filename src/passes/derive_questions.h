/* What a node asks DeriveExpressions, or why it asks nothing.
 *
 *     conv1: derive 8d02960631a06898e099d010027fdb29 xww
 */
#ifndef PASSES_DERIVE_QUESTIONS_H
#define PASSES_DERIVE_QUESTIONS_H

#include "base/pass.h"
#include "graph/graph.h"

/* The program as it was given: the answer where nothing is clearly faster. */
#define AS_GIVEN "as given"
/* Why a node, or a group by its names, keeps its program where "deny derive NAME" is recorded. */
#define DERIVATION_DENIED "the choices deny it"

/* What equal nodes, or equal groups of them, share: the same program with the same inputs known. */
typedef struct Question {
	const char *key;
	int number;             /* in order of asking */
	const Program *program; /* of the graph's ctx */
	const bool *constant;
	double work;       /* operations of products of all that ask, at the probe sizes */
	const char *node;  /* the first that asks, for the log */
	const char *alone; /* of a group: what was chosen for each of its nodes; NULL: it is one node */
	PassChoice choice; /* `chosen` NULL: not answered yet */
	bool is_recorded;  /* the choice is one of --choices, or of the compilation before */
	const char *reason; /* of what was chosen, for the log; NULL: it was the fastest */
} Question;

/* Fill in what the node asks. NULL; or why it asks nothing alone, one sentence for all such nodes:
 * then the program is NULL where it is not worth asking together with others, either. */
const char *derive_question(PassContext *context, const Graph *graph, const Node *node,
                            Question *question);

/* Operations of the program's products, at the probe sizes; without those of known values. */
double derive_work(const struct Target *target, const Program *program, const bool *constant);

/* What symbols are where an answer is measured: it is part of what is asked. */
void derive_put_sizes(Buf *buf, const struct Target *target);

/* Which inputs of the node's meaning are known. */
const bool *derive_known_inputs(Arena *arena, const Node *node);

/* What is asked about a program of several nodes, `node`. */
Question derive_question_of(PassContext *context, const Program *program, const bool *constant,
                            const char *node);

#endif
