/* Operators whose meaning is other nodes (NODES in ops.def). */
#ifndef GRAPH_EXPAND_H
#define GRAPH_EXPAND_H

#include "graph/graph.h"

/* Put the nodes that `node` stands for into its place. */
void node_expand(Node *node);

/* A graph of its own with this node alone, expanded: inputs and outputs are those of the node that
 * are there, in order, but what is fixed (value_fixed) is a constant of it; the inputs have the
 * types and dims of `like`, without its data. */
Graph *node_expanded(Arena *arena, const Node *node, const Array *like);

/* For who makes them: where nodes go, before `before`, or at the end of a body that is inferred
 * later as a whole. */
typedef struct Expander {
	Region *region;
	Node *before;
	const Node *node; /* what they stand for */
} Expander;

enum { EXPANDER_OUTPUTS = 4 };
Value *expander_input(const Node *node, int index); /* NULL: absent */
Node *expander_node(const Expander *m, const char *op, int ninput, Value *const *inputs,
                    int noutput);
/* Its first output; where there are attributes, they come before. */
Value *expander_result(const Expander *m, Node *made);
Value *expander_unary(const Expander *m, const char *op, Value *x);
Value *expander_binary(const Expander *m, const char *op, Value *a, Value *b);
Value *expander_cast(const Expander *m, Value *x, DType type); /* x itself where it has the type */
/* Its axes in this order. */
Value *expander_transposed(const Expander *m, Value *x, int count, const int64_t *order);
/* Parts of these widths along the last axis. */
void expander_split(const Expander *m, Value *x, int count, const int64_t *widths, Value **parts);
/* An i64 constant: a scalar where rank is 0. */
Value *expander_integer(const Expander *m, int rank, int64_t number);
Value *expander_integers(const Expander *m, int count, const int64_t *numbers);
Value *expander_number(const Expander *m, DType type, double value);

/* Have `result` in the place of the node's first output, and the node gone. */
void node_become(Node *node, Value *result);

/* Of rows whose meaning is a text of nodes (body.c). */
void expand_body(Node *node);

#define FORMULA(text)
#define HOST
#define MISSING
#define CONTROL
#define BUILD(name, examples)
#define NODES(name) void expand_##name(Node *);
#define BODY(lines)
#define OP(name, domain, since, inputs, outputs, attrs, infer, meaning, effect, doc) meaning
#include "graph/ops.def"
#undef OP
#undef BODY
#undef NODES
#undef BUILD
#undef CONTROL
#undef HOST
#undef MISSING
#undef FORMULA

#endif
