/* From a node to its tensor expression.
 *
 * node_program() makes the program of one node: inputs are the node's present inputs in order
 * (constants too), outputs its outputs. For a `fused` node it is the composition of the programs of
 * the nodes in its region. Builders are written with expr/stage/build.h over this struct:
 */
#ifndef GRAPH_MEANING_H
#define GRAPH_MEANING_H

#include "expr/index/text.h"
#include "graph/graph.h"

struct Build {
	ExprCtx *ctx;
	const Graph *graph;
	const Node *node; /* attributes */
	int nin, nout;    /* of the node; the lists below have room for the row's, if these are more */
	const Type *const *in_types;  /* NULL where absent */
	const Type *const *out_types; /* NULL where nobody asked */
	Tensor *const *in;            /* reads; NULL where absent */
	const Known *const *known;    /* of inputs; NULL where nothing is known */
	const Array *const *constant; /* of inputs; NULL unless constant */
	const Tensor **out;           /* to be filled in where out_types is not NULL */
};

#define FORMULA(text)
#define HOST
#define MISSING
#define CONTROL
#define BODY(lines)
#define NODES(name)
#define BUILD(name, examples) void build_##name(Build *);
#define OP(name, domain, since, inputs, outputs, attrs, infer, meaning, effect, doc) meaning
#include "graph/ops.def"
#undef OP
#undef BUILD
#undef NODES
#undef BODY
#undef CONTROL
#undef HOST
#undef MISSING
#undef FORMULA

/* Element `element` of integer input `index` as a dim: known, or the symbol that infer made for it
 * with infer_element(); NULL when neither. */
const Dim *build_dim(const Build *build, int index, int element);
/* The same of a slice's bound: infer_bound_value(). */
const Dim *build_bound(const Build *build, int index, int element);
#define build_fail(build, ...) fail_unsupported(&(build)->node->loc, __VA_ARGS__)

/* The program, or NULL for host and control nodes. Cached nowhere: callers keep it. Fails with the
 * node's place when the rank of an input is unknown. */
Program *node_meaning(const Graph *graph, const Node *node);

/* The composition of several nodes of one region, in order: inputs are the values they use from
 * outside (listed in `inputs`, which the caller gives room for all operands of all nodes), outputs
 * the values asked for. */
Program *nodes_meaning(const Graph *graph, int count, const Node *const *nodes, int noutput,
                       Value *const *outputs, Value **inputs);

/* Whether a node has a meaning (formula, builder, or a region of such: fused). */
bool node_has_meaning(const Node *node);

/* Whether its one result is a function of its inputs, and nothing else happens. */
bool node_is_function(const Node *node);
/* A node that nobody reads goes, and functions before it that were for it alone. */
void node_drop(Node *node);

/* Values of the program's inputs, in order: the node's distinct present inputs. */
int node_meaning_inputs(const Node *node, Value **inputs);

/* The scalar of a row with a formula, over reads at the loops of `stage` (broadcasting). */
const Expr *formula_scalar(const Build *build, StageBuilder *stage);
/* For texts that call operators with a formula: Gelu(x, approximate = tanh). What is not given has
 * its default. */
TextOperators formula_operators(const OpTable *table);

/* Expression: the operator whose meaning stands in the node itself, as the text of a program.
 *
 *     %y: f32[N,4] = Expression(%a, %b) {expr="expr sum(A: f32[M], B: f32[4]) -> Y {\n
 *       Y[m:M, i:4]: f32 = A[m] + B[i]\n}\n"}
 *
 * It says what derivation finds and no operator of ONNX does. The text is closed, as a function is:
 * its symbols are its own, and what each stands for is read off the dims of the inputs, so that a
 * node may be cloned, moved, and its graph be bound to sizes, without anybody looking at the text.
 */

/* A node that computes the program's outputs (of any ctx, NULL ones left out) from `inputs`, one
 * for each of the program's, types inferred. NULL with the reason in *why (the graph's arena) where
 * a text cannot say it: a symbol that no dim of an input tells, a read that is not proven. */
Node *node_new_expression(Region *region, Node *before, const Loc *loc, const Program *program,
                          Value *const *inputs, const char **why);

/* The first symbol that no dim of the program's inputs tells: then no node can say the program, nor
 * one that follows from it. NULL: there is none. */
const Symbol *expression_untold(Arena *arena, const Program *program);

#endif
