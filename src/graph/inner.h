/* Inside of the graph, for the files of this folder only. */
#ifndef GRAPH_INNER_H
#define GRAPH_INNER_H

#include "graph/infer.h"

/* A value defined in `region`, named `name` or, where that is taken or empty, a fresh name. */
Value *value_new(Region *region, const char *name);
/* Make sure that the node has this output, under a fresh name if it was left out. */
void node_want_output(Node *node, int index);
void value_add_use(Value *value, Use use);
void value_remove_use(Value *value, Use use);

void symbol_def_add(Graph *graph, const SymbolDef *def);
/* The symbol that a dim is, or NULL. */
const Symbol *dim_as_symbol(const Dim *dim);
/* Forget the definitions marked, by their index. */
void symbols_remove(Graph *graph, const bool *is_gone);
/* The place of a symbol's definition among those by inputs, or -1. */
int graph_input_symbol(const Graph *graph, const Dim *dim);
/* Of symbols of inputs that become one with others, or a number (`settled`), those that may be 1
 * where the others are not, to themselves. (ones.c) */
void graph_find_ones(const Graph *graph, const Map *settled, Map *found);
/* Make one of symbols that were assumed equal; whether there were any. Inference must run again. */
bool graph_unify_symbols(Graph *graph);
/* Give regions symbols of their own where they assume something of symbols from outside; whether
 * there were any. Inference must run again. */
bool graph_enter_regions(Graph *graph);
/* A type from outside as a region sees it; a dim of the region as it is seen from outside. */
Type region_enter_type(Region *region, const Type *type);
const Dim *region_leave_dim(Region *region, const Dim *dim);
/* Make the symbols that are whole dims of a new input, and not defined yet, defined by it. */
void symbols_from_input(Graph *graph, Value *value);

void region_infer(Graph *graph, Region *region);
/* A fresh symbol defined by axis `axis` of a value. */
const Dim *infer_value_dim(Infer *infer, Value *value, int axis);
/* infer_symbol() without a node at hand. */
const Dim *graph_expr_symbol(Graph *graph, const char *prefix, const Expr *definition);
/* What is known of an extent or element, so that it does not grow with the model: a symbol that
 * stands for a long dim, NULL for what is long and no dim, else itself. */
const Dim *graph_short_dim(Graph *graph, const Dim *dim);
/* Give the outputs of a node with a meaning their known integers, by running it on dims. */
void node_find_known(Graph *graph, Node *node);

void type_dims(const Type *type, const Dim **dims); /* a copy, to change */

/* A set of axes. */
typedef uint64_t Axes;
#define AXIS(i) ((Axes)1 << (i))

/* Output 0 as the first input without these axes; with extent 1 there where keepdims is set. */
void infer_reduced(Infer *infer, Axes axes);

/* Shared by infer functions and builders, which must agree. */

/* Which axes of a Reduce node are reduced; `axes` is what is known of its second input. */
Axes reduce_axes(const Node *node, const Known *axes, int rank);
/* Slice's first index and number of elements along an axis. */
int slice_count(const Type *starts, const Type *axes);
void slice_range(ExprCtx *ctx, const Dim *extent, const Dim *from, const Dim *to, int64_t by,
                 const Dim **start, const Dim **length);
/* The axes that Shape shows. */
void shape_range(const Node *node, int rank, int *start, int *count);

#endif
