/* What DeriveExpressions asks, and the three ways to an answer: a record, an earlier compilation,
 * and searching and measuring.
 *
 *     derive 8d02960631a06898e099d010027fdb29 xww
 * =>  bilinear 0 0 3 4; bilinear 4 0 3 4; converge 0
 */
#ifndef PASSES_DERIVE_TRIALS_H
#define PASSES_DERIVE_TRIALS_H

#include "base/pass.h"
#include "expr/stage/stage.h"

/* The program as it was given: the answer where nothing is clearly faster. */
#define AS_GIVEN "as given"

/* What equal nodes share: the same program with the same inputs known. */
typedef struct Question {
	const char *key;
	int number;             /* in order of asking */
	const Program *program; /* of the graph's ctx */
	const bool *constant;
	double work;        /* operations at the probe sizes */
	const char *node;   /* the first that asks, for the log */
	PassChoice choice;  /* `chosen` NULL: not answered yet */
	const char *reason; /* of what was chosen, for the log; NULL: it was the fastest */
} Question;

/* What an earlier compilation on this machine has measured. False: nothing that can be used. */
bool derive_recall(PassContext *context, Question *question);

/* Search, measure what promises something, and remember. */
void derive_measure(PassContext *context, Question *question);

/* Why a derivation that was read from a file is not used; NULL: it gives an equal program. */
const char *derive_trouble(PassContext *context, const Question *question, const char *way);

#endif
