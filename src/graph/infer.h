/* Infer: types, dims and known integer values of the inputs in, the same of the outputs out.
 * Nothing else computes a shape. A function of a row is infer_NAME(Infer *) in src/graph/infer_*.c
 * or src/graph/ops/; common ones are shared (infer_same, infer_broadcast …).
 */
#ifndef GRAPH_INFER_H
#define GRAPH_INFER_H

#include "graph/graph.h"

struct Infer {
	Graph *graph;
	ExprCtx *ctx;
	Node *node;
	DType letters[26]; /* element types bound to the row's letters so far */
};

#define OP(name, domain, since, inputs, outputs, attrs, infer, meaning, effect, doc) \
	void infer_##infer(Infer *);
#include "graph/ops.def"
#undef OP

/* Infer every node in order, regions included. Fails with the node's place on a contradiction. */
void graph_infer(Graph *graph);
void node_infer(Graph *graph, Node *node);
/* The same of a node that is tried. False: it does not take its inputs, or only if dims are equal
 * that may differ; the graph knows no more than before. */
bool node_try_infer(Node *node);

/* The known elements of a value; those of a small constant are made on demand. NULL: none. */
const Known *value_known(Graph *graph, Value *value);

/* ---- for rows ---- */
const Type *infer_input(const Infer *infer, int index);     /* NULL when absent */
const Known *infer_known(const Infer *infer, int index);    /* NULL when nothing is known */
const Array *infer_constant(const Infer *infer, int index); /* NULL unless constant */
bool infer_wants(const Infer *infer, int output);           /* somebody uses it */
int infer_axis(const Infer *infer, int64_t axis, int rank); /* negative counts from behind; fails */
void infer_set(Infer *infer, int output, DType dtype, int rank, const Dim *const *dims);
void infer_set_unknown(Infer *infer, int output, DType dtype); /* unknown rank */
void infer_as_first(Infer *infer, int output, DType dtype);    /* dims of the first input */
/* The same with another extent along an axis. */
void infer_with_extent(Infer *infer, int output, DType dtype, int axis, const Dim *extent);
void infer_set_type(Infer *infer, int output, const Type *type);
void infer_set_known(Infer *infer, int output, int count, const Dim *const *values);
/* The common dim of two that must be equal: records an assumption when not provably so; fails when
 * provably different. `what` names them in the message. */
const Dim *infer_equal(Infer *infer, const Dim *a, const Dim *b, const char *what);
/* The number that a dim is assumed to be where the node stands, or the dim itself. infer_set() puts
 * it into types, by which operators see that a dim of 1 broadcasts. (For symbols of inputs unify.c
 * does so.) */
const Dim *infer_assumed(const Infer *infer, const Dim *dim);
/* ONNX broadcast of two dims: a literal 1 broadcasts, otherwise infer_equal(). */
const Dim *infer_broadcast_dim(Infer *infer, const Dim *a, const Dim *b, const char *what);
/* A fresh symbol read from element `element` of integer tensor input `index` at run time. */
const Dim *infer_element(Infer *infer, int index, int element);
/* Element `element` of input `index` as a dim: known, or infer_element(). */
const Dim *infer_dim_value(Infer *infer, int index, int element);
/* The same for a number that may be negative, and for the bound of a slice, of which any number of
 * 64 bits means something. */
const Dim *infer_index_value(Infer *infer, int index, int element);
const Dim *infer_bound_value(Infer *infer, int index, int element);
/* The elements of integer vector input `index`, which must be known as numbers (axes); count = -1
 * when the input is absent. Fails (unsupported) when it is only known at run time. */
const int64_t *infer_numbers(Infer *infer, int index, int *count);
/* Fail (unsupported): this element must be known before running. */
_Noreturn void infer_wait(Infer *infer, int index, int element);
/* Number of elements of an integer vector input; fails when that is not known. */
int infer_length(Infer *infer, int index);
/* A fresh symbol defined by an i64 scalar over symbols and constants. */
const Dim *infer_symbol(Infer *infer, const char *prefix, const Expr *definition);
/* A fresh symbol that a host operator's output `output`, axis `axis`, will define. */
const Dim *infer_output_dim(Infer *infer, int output, int axis);
/* The element type of output `output` by the row: its letter as bound by the inputs, or its only
 * type; DT_NONE when the row leaves it open. */
DType infer_dtype(const Infer *infer, int output);
/* ---- what operands must be: fail where they are not, assume it of dims that are open. Absent
 * inputs are fine. ---- */
void infer_rank(const Infer *infer, int index, int rank);
void infer_least_rank(const Infer *infer, int index, int least);
void infer_single(Infer *infer, int index); /* one element, of any rank */
void infer_vector(Infer *infer, int index, const Dim *length);
void infer_single_or_vector(Infer *infer, int index, const Dim *length);
/* The input broadcasts to these dims, which stay as they are. */
void infer_broadcast_to(Infer *infer, int index, int rank, const Dim *const *dims);
/* The element type that an integer attribute names (absent: `otherwise`); one to compute in. */
DType infer_type_attr(const Infer *infer, const char *name, DType otherwise);
DType infer_float_attr(const Infer *infer, const char *name);
#define infer_fail(infer, ...) fail(&(infer)->node->loc, __VA_ARGS__)

#endif
