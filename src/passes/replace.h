/* For passes that compare what nodes mean, and put one in the place of others. */
#ifndef PASSES_REPLACE_H
#define PASSES_REPLACE_H

#include "expr/stage/stage.h"
#include "passes/manager.h"

typedef struct Meaning {
	const Program *program;
	Value **values; /* what its inputs are */
} Meaning;

/* Of the last one's first result, over what nodes in order read from outside. */
Meaning meaning_of_nodes(Arena *arena, const Graph *graph, int count, const Node *const *nodes);

/* The inputs of b are among those of a. */
bool meanings_are_same(const Meaning *a, const Meaning *b);

/* `node` once more with other inputs: in a region, in front of `before` or at the end; or before
 * `place`. */
Node *node_in(const Node *node, Region *region, Node *before, Value *const *inputs);
Node *node_again(const Node *node, Node *place, Value *const *inputs);
/* The same before itself, reading `now` where it reads `old`. */
Node *node_reading(Node *node, const Value *old, Value *now);
/* Whether it can be inferred, and gives this. */
bool node_infers_as(Node *made, const Type *type);

/* `made` in the place of `node`, under its name. */
void put_in_place(PassContext *context, const char *rule, Node *node, Node *made);

#endif
