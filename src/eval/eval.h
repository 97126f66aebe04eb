/* Evaluate a graph, or part of one: the meaning of each node by the interpreter, host operators by
 * their functions, If, Loop and Scan by running their regions.
 *
 *     Eval *eval = eval_new(arena, graph, EVAL_bound);
 *     eval_give(eval, x, array);
 *     eval_region(eval, graph->body);
 *     Agreement a = bound_compare(eval_bounds(eval, y), seen, 1);
 *
 * exact  as kernels compute, in row-major order. bound: in double with error bounds (interp.h).
 * Symbols get their values where the graph defines them (SymbolDef), regions' on each entry.
 * Constants are known without being given. A value is dropped after its last use, unless it is a
 * result of the region or was asked to be kept.
 */
#ifndef EVAL_EVAL_H
#define EVAL_EVAL_H

#include "expr/interp/interp.h"
#include "graph/graph.h"

typedef struct Eval Eval;

typedef enum EvalMode {
	EVAL_exact,
	EVAL_bound,
} EvalMode;

/* Lives in `arena`, with all results. */
Eval *eval_new(Arena *arena, const Graph *graph, EvalMode mode);

/* Forget all values and symbols: for other inputs, at other sizes. Meanings stay. */
void eval_clear(Eval *eval);

/* The meaning of a node as it is evaluated; NULL: it has none. Fails as node_meaning(). */
const Program *eval_program(Eval *eval, const Node *node);

/* Values stay available although nothing uses them any more. */
void eval_keep_all(Eval *eval);

/* Give a value: an input, or what enters a part of the graph. The data is not copied. */
void eval_give(Eval *eval, const Value *value, const Array *array);
void eval_give_bounds(Eval *eval, const Value *value, const BoundArray *bounds);
/* A symbol's number; those computed from it follow (SYMBOL_EXPR). And all that are known now. */
void eval_give_symbol(Eval *eval, const Symbol *symbol, int64_t number);
Binding eval_binding(const Eval *eval);

/* Run all nodes of a region, or some of one region in the order given. Fails with the node's place
 * when a node cannot be evaluated. */
void eval_region(Eval *eval, const Region *region);
void eval_nodes(Eval *eval, int count, const Node *const *nodes);

/* What a value has become; NULL when it was not computed or was dropped. In bound mode
 * eval_array() gives the rounded values. */
const Array *eval_array(Eval *eval, const Value *value);
const BoundArray *eval_bounds(Eval *eval, const Value *value);

/* The whole graph, exactly: inputs and outputs in the graph's order; an input that is NULL has its
 * default. */
void eval_graph(Arena *arena, const Graph *graph, const Array *const *inputs,
                const Array **outputs);
void eval_graph_bound(Arena *arena, const Graph *graph, const Array *const *inputs,
                      const BoundArray **outputs, BoundWay way);

/* Start-up test: the functions of host.def and the HOST rows of ops.def are the same. The name of
 * one that is missing in the other table, or NULL. */
const char *eval_check_host_rows(const OpTable *table);

#endif
