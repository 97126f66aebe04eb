/* Graph: what the model says. Nodes with an operator, values with a type, subgraphs as regions.
 *
 *     graph g(%x: f32[N,3,224,224]) -> %y {
 *       %w: f32[64,3,7,7]     = weight 0
 *       %c: f32[N,64,112,112] = Conv(%x, %w) {strides=[2,2], pads=[3,3,3,3]}   "conv1"
 *       %y: f32[N,64,112,112] = Relu(%c)                                       "relu1"
 *     }
 *
 * Mutable; nodes of a region stand in topological order. A node inside a region may use values of
 * the regions around it: these captures are listed in the region (explicit, checked, printed) and
 * appear in the use lists of the outer values like any other use. Everything lives in graph->arena.
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include "base/call.h"
#include "expr/index/dim.h"
#include "graph/op.h"

typedef struct Graph Graph;
typedef struct Region Region;
typedef struct Value Value;

typedef enum TypeKind {
	TYPE_UNKNOWN, /* not inferred yet */
	TYPE_TENSOR,
	TYPE_SEQUENCE,
	TYPE_OPTIONAL,
} TypeKind;

typedef struct Type {
	TypeKind kind;
	DType dtype;                /* tensors; DT_NONE = not known */
	int rank;                   /* -1: unknown; such a value has no meaning until bound */
	const Dim *const *dims;     /* never NULL entries: an unknown dim is a fresh symbol */
	const struct Type *element; /* sequences and optionals */
} Type;

/* Integer values known before running: the elements of a small integer tensor in row-major order,
 * each a dim or NULL where unknown. Shape, Gather, Concat, Mul … of these stay known, so that
 * subgraphs which compute shapes need no execution. On the way through floats (a shape times a
 * scale, rounded) elements of the smallest float tensors are scalars over symbols as well. */
typedef struct Known {
	int count;
	const Dim *const *value;
} Known;

enum { KNOWN_MAX = 1024 };

/* One use: operand `index` of `node`, or result `index` of `region` (node NULL). */
typedef struct Use {
	Node *node;
	Region *region;
	int index;
} Use;

typedef struct StringPair {
	const char *key, *value;
} StringPair;

/* What a model says of a thing to its readers, and no runtime asks for: it is kept, and written
 * again with what the thing has become. */
typedef struct Notes {
	const char *doc; /* or NULL */
	VEC(StringPair) pairs;
} Notes;

struct Value {
	const char *name; /* unique in the graph; printed as %name */
	Type type;
	Node *def;      /* producer; NULL: a region's parameter or a constant */
	int result;     /* which output of def, or which parameter */
	Region *region; /* where it is defined */
	VEC(Use) uses;
	const Array *constant; /* initializers and folded results (data may be a view of the file) */
	bool is_default;       /* an input: its constant is what holds where nothing is given */
	const Known *known;    /* or NULL */
	const char *layout;    /* storage, "nc16hw"; NULL: plain */
	int weight;            /* number in texts, for constants */
	bool is_made_up;       /* its name: neither the model has it nor who made the node */
	bool is_listed;        /* the model says its type by its name (value_info) */
	const Notes *notes;    /* or NULL */
};

typedef enum AttrKind {
	ATTR_NONE,
	ATTR_INT,
	ATTR_FLOAT,
	ATTR_STRING,
	ATTR_TENSOR,
	ATTR_TYPE,
	ATTR_INTS,
	ATTR_FLOATS,
	ATTR_STRINGS,
	ATTR_GRAPH, /* its body is a region of the node */
} AttrKind;

typedef struct Attr {
	const char *name;
	AttrKind kind;
	int64_t count; /* of ints, floats, strings */
	union {
		int64_t i;
		float f;
		const char *s; /* terminated; `count` bytes may hold zeros */
		const int64_t *ints;
		const float *floats;
		const char *const *strings;
		const Array *tensor;
		const Type *type;
	};
} Attr;

struct Node {
	const OpInfo *op;
	Loc loc; /* model file, node name, operator */
	int ninput, noutput;
	Value **inputs;  /* NULL: absent optional input, `_` in texts */
	Value **outputs; /* NULL: an output nobody asked for */
	int nattr;
	Attr *attrs;
	int nregion;
	Region **regions;   /* If: then, else; Loop, Scan: body; fused: the original nodes */
	StrVec origins;     /* names of the model's nodes it came from */
	const Notes *notes; /* or NULL */
	Region *parent;
	Node *prev, *next;
	int mark;        /* scratch of walks inside this folder */
	bool is_waiting; /* could not be inferred yet: types of outputs are the model's word */
};

struct Region {
	Graph *graph;
	Region *parent; /* NULL: the graph's body */
	Node *owner;    /* NULL: the graph's body */
	const char *name;
	const Notes *notes; /* or NULL */
	int nparam, nresult;
	Value **params;
	Value **results;
	VEC(Value *) captures; /* values of outer regions used inside, in order of first use */
	Node *first, *last;
};

/* Where a symbol gets its value: exactly one place each. */
typedef enum SymbolSource {
	SYMBOL_DIM,     /* axis `index` of `value`: an input, or the output of a host step */
	SYMBOL_ELEMENT, /* element `index` of integer tensor `value`, read when it is computed, and
	                   clamped to its range if symbol_clamps() */
	SYMBOL_EXPR,    /* an i64 scalar over other symbols and constants (Resize's floor(f32(H)*s)) */
} SymbolSource;

typedef struct SymbolDef {
	const Symbol *symbol;
	SymbolSource source;
	Value *value;
	int index;
	const Expr *expr;
	Region *region; /* SYMBOL_EXPR: bound on each entry of it */
} SymbolDef;

/* Two dims assumed equal because they met in a broadcast or an equality: checked when the region is
 * entered that holds the node. */
typedef struct Assumption {
	const Dim *a, *b;
	Loc loc;
	const char *what; /* "dim 0 of inputs a and b" */
	Region *region;   /* the graph's body, or of an If, a Loop or a Scan */
} Assumption;

typedef struct OpsetImport {
	const char *domain; /* "" = ai.onnx */
	int64_t version;
} OpsetImport;

struct Graph {
	Arena *arena;
	ExprCtx *ctx;
	const OpTable *ops;
	const char *name, *file;
	Region *body;           /* params: inputs; results: outputs */
	VEC(Value *) constants; /* initializers, in order; Value.weight is the index */
	VEC(SymbolDef) symbols;
	VEC(Assumption) assumptions;
	VEC(InputWish) wishes;   /* assumptions that unify.c has made part of the inputs' types */
	VEC(OpsetImport) opsets; /* the model's own, for export */
	VEC(StringPair) metadata;
	StrVec data_files; /* beside the model, with weights that stand in it */
	int64_t ir_version, model_version;
	bool is_open; /* for ONNX only: types that cannot be inferred stay unknown, operators too */
	const char *producer, *producer_version, *domain, *doc; /* NULL or "": none */
	int next_name;                                          /* for fresh names */
	Map *names;                                             /* name to Value */
	Map *symbol_map;  /* Symbol to its SymbolDef's index + 1 */
	Map *expressions; /* text of an Expression to what was read (expression.c) */
};

/* ---- building -------------------------------------------------------------------------------- */

Graph *graph_new(Arena *arena, const char *name, const char *file);
Value *graph_input(Graph *graph, const char *name, const Type *type);
Value *graph_constant(Graph *graph, const char *name, const Array *data); /* data is kept */
void graph_set_outputs(Graph *graph, int count, Value *const *outputs);

/* A name not used yet, beginning with `base`. */
const char *graph_fresh_name(Graph *graph, const char *base);

/* Append (before == NULL) or insert a node. Outputs are made here: `output_names[k]` NULL = absent,
 * "" = a fresh name. Types are unknown until inferred. */
Node *node_new(Region *region, Node *before, const char *op, const Loc *loc, int ninput,
               Value *const *inputs, int noutput, const char *const *output_names);
Node *node_new_row(Region *region, Node *before, const OpInfo *op, const Loc *loc, int ninput,
                   Value *const *inputs, int noutput, const char *const *output_names);
void node_add_attr(Node *node, const Attr *attr); /* replaces one of the same name */
void node_set_int(Node *node, const char *name, int64_t number);
void node_set_input(Node *node, int index, Value *value);
/* As people call it: by the model's name, or its first output's where it has none. */
const char *node_called(const Node *node);
void node_remove(Node *node); /* its outputs must be unused */
void node_move(Node *node, Region *region, Node *before);
Region *region_new(Node *owner, const char *name);
/* The node behind one in a region and all inside: its own regions' nodes come before the next. NULL
 * is before the first and behind the last. */
Node *region_step(const Region *region, const Node *node);
Region *node_region(const Node *node, const char *name); /* fails where there is none */
Value *region_param(Region *region, const char *name, const Type *type);
void region_set_results(Region *region, int count, Value *const *results);
void region_set_result(Region *region, int index, Value *value);
void region_update_captures(Region *region); /* and of all regions inside and around */

/* Every use of `old` becomes a use of `new`, symbols too; graph outputs keep their names, and a new
 * value whose name is made up takes that of the old one. */
void value_replace_uses(Value *old, Value *new);
/* What an element or a dim of the old value was, that of the new one is: definitions of symbols. */
void symbols_move(Graph *graph, const Value *old, Value *new);
/* Forget symbols that no type, known integer or assumption speaks of; whether there were any. */
bool symbols_prune(Graph *graph);
/* Of ai.onnx, the model's own; a text's is the newest. */
int64_t graph_opset(const Graph *graph);
/* The graph at these sizes of symbols: they are numbers in all types. */
void graph_bind(Graph *graph, const Binding *sizes);
void value_swap_names(Value *a, Value *b); /* a name that must move with a role */
bool value_is_graph_output(const Value *value);
/* Its names, and its notes where the node has none. */
void node_add_origins(Node *node, const Node *from);
/* Whether a value of `region` is visible inside `inner` (same region or around it). */
/* The value of this name anywhere in the graph, or NULL. */
Value *graph_find_value(const Graph *graph, const char *name);
bool region_encloses(const Region *region, const Region *inner);

/* Restore topological order in every region; fails naming a node of a cycle. */
void graph_sort(Graph *graph);
/* A deep copy with its own ctx and arena (constants' data and notes shared). */
Graph *graph_clone(Arena *arena, const Graph *graph);
/* Some nodes of the body as a graph of their own: what none of them reads are its results; types
 * are those of the whole until graph_infer(). */
typedef struct GraphPart {
	const bool *kept; /* by a node's place in the body */
	/* The value that stands for one of outside: an input, a constant. */
	Value *(*outside)(void *arg, Graph *part, const Value *value);
	void *arg;
} GraphPart;
Graph *graph_part(Arena *arena, const Graph *graph, const GraphPart *part);
/* The definition of a symbol, or NULL. */
const SymbolDef *symbol_def_find(const Graph *graph, const Symbol *symbol);
bool symbol_reads(const Graph *graph, const Value *value); /* one is read from it */
/* The region that binds a symbol; the innermost one that binds a symbol of a scalar (the body where
 * it has none). */
Region *symbol_home(const SymbolDef *def);
Region *symbols_home(const Graph *graph, const Expr *e);
/* The region that is entered where a node runs: around its group, if it stands in one. */
Region *region_entered(const Node *node);
/* Who assumes it: node "add" (Add) in then_branch of node "if". */
const char *assumption_place(Arena *arena, const Assumption *assumption);
/* Nodes of all regions; a group is one. */
int graph_node_count(const Graph *graph);

/* Region `index` in the order of plans: an If has its then-branch first, whichever the model names
 * first. */
Region *node_body(const Node *node, int index);

/* The row's effect, except that a random operator that has a meaning (Dropout in inference) is
 * pure. */
Effect node_effect(const Node *node);

/* ---- attributes: the row's default stands in for an absent one --------------------------------
 * Kinds are checked when a node enters the graph; asking for a name that is not in the row is our
 * bug. */
const Attr *attr_find(const Node *node, const char *name); /* NULL: absent, no default */
int64_t attr_int(const Node *node, const char *name);
float attr_float(const Node *node, const char *name);
const char *attr_string(const Node *node, const char *name); /* NULL when absent, no default */
/* count = -1 when absent. */
const int64_t *attr_ints(const Node *node, const char *name, int64_t *count);
bool attr_has(const Node *node, const char *name); /* given explicitly */
/* As an attribute of a step, which points into this one; false: no step has its kind. */
bool attr_for_step(const Attr *attr, StepAttr *made);
const char *attr_kind_name(AttrKind kind); /* "ints" */

/* ---- texts, checking ------------------------------------------------------------------------- */

void graph_print(Buf *buf, const Graph *graph);
/* Weights are `weight N: type[dims]` with seeded values when parsed without data (seed = N), small
 * constants may be written `= {1, 2, 3}`. */
Graph *graph_parse(Arena *arena, const char *file, const char *text);
/* The same where the data of numbered weights lies elsewhere: their arrays have data NULL. */
Graph *graph_parse_bare(Arena *arena, const char *file, const char *text);
/* Constants, and then the defaults of inputs, are weight 0, 1, … in the graph's text. */
void graph_number_weights(Graph *graph);
/* Make the graph what its text says, numbered so and changed since by somebody: weights are found
 * by number. Fails as graph_parse(), and leaves the graph as it was. */
void graph_replace(Graph *graph, const char *file, const char *text);
void type_print(Buf *buf, const Type *type);
const char *type_text(Arena *arena, const Type *type); /* the same */
void attr_print(Buf *buf, const Attr *attr);           /* axis=1 */
void node_print(Buf *buf, const Node *node);           /* for the debugger, and of results */
void value_print(Buf *buf, const Value *value);        /* for the debugger */
/* Fails (FAIL_BUG) unless: order, use lists, captures, types present after inference, attributes of
 * the row, one definition per symbol. */
void graph_check(const Graph *graph);

/* ---- types ----------------------------------------------------------------------------------- */

Type type_tensor(DType dtype, int rank, const Dim *const *dims);
Type type_of_array(ExprCtx *ctx, const Array *array);
bool type_equal(const Type *a, const Type *b);
bool type_is_static(const Type *type);                 /* every dim a constant */
bool type_takes(const Type *type, const Array *array); /* so far as the type says its dims */
const Array *value_fixed(const Value *value); /* what it always is; NULL: computed, or given */
Array *value_known_array(Arena *arena, const Value *value); /* Value.known; NULL: not all numbers */
const Array *value_default(const Value *value); /* of an input of a known size; NULL: none */
const Dim *type_count(ExprCtx *ctx, const Type *type);

#endif
