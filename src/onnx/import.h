/* Reading a model: what the files of the importer share. Only src/onnx includes this.
 *
 * A node passes through a Draft: names resolved to values, attributes copied, still in the model's
 * opset. The rows of upgrade.c rewrite it until it is in the dialect, then it enters the graph.
 */
#ifndef ONNX_IMPORT_H
#define ONNX_IMPORT_H

#include "onnx/names.h"
#include "onnx/onnx.h"
#include "onnx/walk.h"

typedef struct Sequence Sequence; /* sequence.c */

/* What a name means: a value, a sequence of some, or neither: an optional input of a function that
 * its call left out. */
typedef struct Meaning {
	Value *value;
	const Sequence *sequence;
} Meaning;

/* Names visible in a graph or a function body, and those around it. */
typedef struct Scope {
	const struct Scope *outer;
	Map meanings; /* Meaning */
} Scope;

/* The call being inlined: its attributes stand in for references in the body. */
typedef struct Call {
	const struct Call *outer;
	const Onnx__FunctionProto *function;
	Map attrs;          /* Onnx__AttributeProto, resolved */
	Map outputs;        /* names of the function's outputs to those of the call's */
	const char *name;   /* of the calling node, outer calls in front: "a/b" */
	const char *origin; /* name of the outermost calling node: what the model calls it */
	int depth;
} Call;

typedef VEC(Failure) FailureVec;

typedef struct Import {
	Arena *arena; /* the graph as it is imported, and what that takes */
	Arena *kept;  /* what a copy of it shares: the message, elements, rows of unknown operators */
	Graph *graph;
	const char *file;
	const char *folder;             /* NULL: no external data */
	const OnnxReadOptions *options; /* or NULL */
	Bytes bytes;
	bool is_mapped; /* they are of a mapped file */
	const Onnx__ModelProto *model;
	const Call *call; /* NULL: in the model's own graph */
	Map functions;    /* Onnx__FunctionProto by function_key() */
	Map value_info;   /* Onnx__ValueInfoProto by name: types the model gives inner values */
	Map files;        /* Bytes of external files, by location */
	int region_depth;
	uint64_t dense_bytes;  /* made from sparse tensors */
	FailureVec *obstacles; /* NULL: stop at the first */
} Import;

enum {
	IMPORT_MAX_NODES = 1 << 16, /* of inlined functions: calls of calls multiply */
	IMPORT_MAX_CALLS = 100,     /* nested calls, as ONNX's own checker */
	IMPORT_MAX_REGIONS = 32,
};

/* Optional texts of messages are NULL when absent. */
static inline const char *
text_of(const char *text)
{
	return text ? text : "";
}

/* ---- notes (notes.c) ---- */

/* NULL: there are none. */
const Notes *notes_import(const Import *import, const char *doc, size_t count,
                          Onnx__StringStringEntryProto *const *pairs);
/* Those of a node, without the names that an earlier export noted: these are its origins. */
void notes_of_node(const Import *import, Node *node, const Onnx__NodeProto *proto);
/* Those of a graph and of the values that its scope has. */
void notes_of_graph(const Import *import, Region *region, const Scope *scope,
                    const Onnx__GraphProto *proto);

/* ---- tensors (tensor.c, external.c) ---- */

/* The elements of a tensor: a view of the file, of the message, or a copy where neither fits. */
const Array *tensor_import(Import *import, const Onnx__TensorProto *proto, const Loc *loc);
const Array *sparse_import(Import *import, const Onnx__SparseTensorProto *proto, const Loc *loc);
/* The bytes of a tensor with data_location EXTERNAL that has `size` of them. */
Bytes external_bytes(Import *import, const Onnx__TensorProto *proto, size_t size, const Loc *loc);

/* ---- types (type.c) ---- */

/* Named dims become symbols where `keep_names`, else every dim that is not a number is fresh. */
Type type_import(Import *import, const Onnx__TypeProto *proto, bool keep_names, const Loc *loc);

/* Believe the model's word for the type of a value that nothing was inferred for. Unknown dims of
 * it would be symbols that nothing defines: then, unless the graph is open, only the element type
 * is taken. */
void type_adopt(Import *import, Value *value, const Onnx__ValueInfoProto *info, const Loc *loc);

/* ---- attributes (attr.c) ---- */

typedef struct Draft Draft;

/* The attribute that stands for `proto` in the current call; NULL when the call does not give it.
 */
const Onnx__AttributeProto *attr_resolve(const Import *import, const Onnx__AttributeProto *proto,
                                         const Loc *loc);
/* Copy an attribute that is no graph. */
Attr attr_import(Import *import, const Onnx__AttributeProto *proto, const Loc *loc);
/* Its type; guessed from the field in use where a file of IR 1 does not say. */
Onnx__AttributeProto__AttributeType attr_type(const Onnx__AttributeProto *proto);

/* ---- nodes on their way in (draft.c) ---- */

typedef struct DraftGraph {
	const char *name; /* of the attribute */
	const Onnx__GraphProto *proto;
} DraftGraph;

/* A node to come behind the draft's own: op(output, second) {attr}, which takes over its name. */
typedef struct DraftAfter {
	int output;
	const char *op;
	Value *second; /* or NULL */
	Attr attr;     /* ATTR_NONE: none */
} DraftAfter;

struct Draft {
	Import *import;
	Region *region;
	Loc loc;
	const char *origin; /* the model's node, where that is not loc.node */
	const char *op, *domain;
	int64_t version;     /* of the domain */
	VEC(Value *) inputs; /* NULL: absent, or a sequence */
	bool has_sequence;   /* among the inputs */
	StrVec outputs;      /* "": absent */
	AttrVec attrs;
	VEC(DraftGraph) graphs;
	VEC(DraftAfter) after;
};

int64_t draft_int(const Draft *draft, const char *name, int64_t fallback);
float draft_float(const Draft *draft, const char *name, float fallback);
const char *draft_string(const Draft *draft, const char *name, const char *fallback);
const int64_t *draft_ints(const Draft *draft, const char *name, int64_t *count); /* or NULL */
void draft_set_int(Draft *draft, const char *name, int64_t value);
void draft_set_string(Draft *draft, const char *name, const char *value);

Value *draft_input(const Draft *draft, int index); /* NULL when absent or beyond the end */
int draft_rank(const Draft *draft, int index);     /* of an input; -1: not known */
DType draft_dtype(const Draft *draft, int index);  /* of an input; DT_NONE: not known */
void draft_set_input(Draft *draft, int index, Value *value);
bool draft_wants(const Draft *draft, int output); /* somebody asked for this output */
void draft_cut_outputs(Draft *draft, int count);  /* drop those from `count` on */

/* Constants and helper nodes in front of the draft; `base` names the value. */
Value *draft_constant(Draft *draft, const char *base, const Array *data);
Value *draft_ints_constant(Draft *draft, const char *base, int64_t count, const int64_t *values);
Value *draft_number(Draft *draft, const char *base, DType type, double value);
Value *draft_emit(Draft *draft, const char *op, int ninput, Value *const *inputs, int nattr,
                  const Attr *attrs);
void draft_after(Draft *draft, int output, const char *op, Value *second, Attr attr);

/* Check against the operator's row and add to the graph, its regions too. */
void draft_finish(Draft *draft, Scope *scope);

#define draft_fail(draft, ...) fail(&(draft)->loc, __VA_ARGS__)
#define draft_unsupported(draft, ...) fail_unsupported(&(draft)->loc, __VA_ARGS__)

/* Rewrite the draft from its version to the dialect (upgrade.c). */
void draft_upgrade(Draft *draft);
/* Nodes whose axes and steps are known in place of one whose data decides them (of_data.c). */
void cumulative_of_data(Draft *draft);
void pad_of_data(Draft *draft);
void slice_of_data(Draft *draft);
void squeeze_of_data(Draft *draft);
void unsqueeze_of_data(Draft *draft);
void reduce_of_data(Draft *draft);
/* What the dialect calls an operator of ai.onnx, which may have had another name. */
const char *upgrade_name(const char *op);

/* The row of an operator in the dialect, or NULL: rows of our own are no operators of a model. */
const OpInfo *known_row(const Import *import, const char *domain, const char *op);
/* No row of ops.def has the draft's operator: say so, of all of the model's that none has
 * (unknown.c). */
_Noreturn void unknown_fail(const Draft *draft);
/* The same of a model that is read to be written: a row of its own for this node. */
const OpInfo *unknown_row(const Draft *draft);

/* ---- graphs and functions (import.c, order.c, function.c, branch.c,
 * sequence.c) ---- */

const Meaning *scope_find(const Scope *scope, const char *name); /* outwards; or NULL */
void scope_define(Import *import, Scope *scope, const char *name, Value *value, const Loc *loc);
/* The same meaning by this name. */
void scope_share(Import *import, Scope *scope, const char *name, const Meaning *meaning,
                 const Loc *loc);
/* The name in the graph of a new value of that name in the model: inside a call, "call/name". */
const char *import_name(const Import *import, const char *name);

/* What a node is called: by its first output where it has no name. */
const char *node_name(const Onnx__NodeProto *node);
/* The names of nodes it was made from, as an earlier export noted them; none: it noted nothing. */
StrVec node_noted_origins(Arena *arena, const Onnx__NodeProto *proto);
void import_nodes(Import *import, Region *region, Scope *scope, size_t count,
                  Onnx__NodeProto *const *nodes);
void import_initializers(Import *import, Scope *scope, const Onnx__GraphProto *proto);
/* One level deeper in nested graphs; leaving is region_depth--. */
void import_enter(Import *import, const Loc *loc);
const Meaning *import_result(const Scope *scope, const Onnx__GraphProto *proto, size_t index,
                             const Loc *loc);
void import_results(Import *import, Region *region, const Scope *scope,
                    const Onnx__GraphProto *proto, const Loc *loc);
/* The body of a region: inputs, initializers, nodes, outputs. */
void import_region(Import *import, Region *region, const Scope *outer,
                   const Onnx__GraphProto *proto, const Loc *loc);
/* The version of a domain where we are: in the model, or in the function being inlined. */
int64_t import_version(const Import *import, const char *domain);
/* Fails where two versions of one domain are imported. */
void opsets_check(const Import *import, size_t count, Onnx__OperatorSetIdProto *const *opsets);
const char *domain_normal(const char *domain); /* "" for ai.onnx and NULL */

/* Topological order of nodes, the given one where it is right; fails naming a node of a cycle. */
const int *import_order(Import *import, size_t count, Onnx__NodeProto *const *nodes);

void functions_index(Import *import);
/* Fails when inlining would make too much of the model. (function_size.c) */
void functions_measure(Import *import);
const Onnx__FunctionProto *function_find(const Import *import, const Onnx__NodeProto *node);
void function_inline(Import *import, Region *region, Scope *scope,
                     const Onnx__FunctionProto *function, const Onnx__NodeProto *node,
                     const Loc *loc);

/* In place of an If that is decided already, its side; false: it is none. */
bool branch_inline(Draft *draft, Scope *scope);
/* Tensors in place of a sequence; false: the draft is still a node, of tensors. */
bool sequence_import(Draft *draft, Scope *scope, const Onnx__NodeProto *node);

#endif
