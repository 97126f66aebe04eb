/* An operator's row: everything the compiler knows of it (ops.def is the table).
 *
 * The specifications in ops.def are short texts, parsed once into an OpTable:
 *
 *   inputs   "x:T(float), w:T, b:T?"  name:type, ? optional, * variadic (last only). Types: a
 *            letter bound per node, with its set in parentheses; or a set: num float int i64
 *            i32|i64 bool string any seq optional; [] behind it: a vector, [?]: in models a
 *            scalar, too
 *   outputs  "y:T, indices:i64?"; a set name gives the type where it is single
 *   attrs    "strides:ints, group:int=1, mode:string='linear cubic', axis:int!"  ! = required;
 *            of several words the first is the default, and no others are allowed
 *   meaning  FORMULA("max(x, 0)")  pointwise, broadcasting implied; inputs and attributes by name;
 *            absent optional inputs by `lo = lowest(T)` behind the name in the formula
 *            BUILD(Conv, "…")      build_Conv() in src/graph/ops/, examples
 *            HOST                  no expression can say it: host.def has the function
 *            MISSING               nothing computes it yet
 *            CONTROL               its regions are its meaning (If, Loop, Scan)
 *   effect   pure, random, stateful: no pass folds, merges or duplicates the last two
 */
#ifndef GRAPH_OP_H
#define GRAPH_OP_H

#include "expr/stage/build.h"

typedef struct OpInfo OpInfo;
typedef struct OpTable OpTable;
typedef struct Infer Infer;
typedef struct Build Build;
typedef struct Node Node;

typedef enum OpCode {
	OP_NONE,
#define OP(name, ...) OP_##name,
#include "graph/ops.def"
#undef OP
	OP_COUNT
} OpCode;

typedef enum MeaningKind {
	MEANING_FORMULA,
	MEANING_BUILD,
	MEANING_HOST,
	MEANING_CONTROL,
	MEANING_NODES,
	MEANING_MISSING, /* its types and dims are known, and nothing computes it yet */
	MEANING_UNKNOWN, /* no row has it: only passed through, from ONNX to ONNX */
} MeaningKind;

typedef enum Effect {
	EFFECT_pure,
	EFFECT_random,
	EFFECT_stateful,
} Effect;

/* Bits of ParamSpec.types beside those of DType. */
#define TYPES_SEQUENCE ((uint64_t)1 << 62)
#define TYPES_OPTIONAL ((uint64_t)1 << 63)

typedef struct ParamSpec {
	const char *name;
	char letter;    /* type variable, or 0 */
	uint64_t types; /* bit set of DType accepted (1 << DT_…) */
	bool optional, variadic;
	bool vector;       /* of rank 1 */
	bool takes_scalar; /* in models: import makes a vector of it */
	bool is_zero;      /* where it is absent: zeros */
} ParamSpec;

typedef struct AttrSpec {
	const char *name;
	int kind; /* AttrKind of graph.h */
	bool required;
	const struct Attr *fallback; /* default, or NULL */
	const char *words;           /* those that a string may be; NULL: any */
} AttrSpec;

struct OpInfo {
	OpCode code;
	const char *name;   /* ONNX's spelling; operators of ours are lower case (fused) */
	const char *domain; /* "" = ai.onnx */
	int since;          /* version of this meaning in our dialect (opset 28) */
	int ninput, noutput, nattr;
	const ParamSpec *inputs, *outputs;
	const AttrSpec *attrs;
	void (*infer)(Infer *infer);
	MeaningKind meaning;
	const char *formula;  /* of one element, or lines of nodes (BODY) */
	const char *examples; /* NULL: a formula, or nothing to show */
	void (*build)(Build *build);
	void (*expand)(Node *node);
	Effect effect;
	const char *doc;
};

OpTable *op_table_new(Arena *arena); /* parses ops.def; fails (FAIL_BUG) on a wrong row */
/* NULL when unknown. Our own operators are found in domain "" as well: no name is in both. */
const OpInfo *op_find(const OpTable *table, const char *domain, const char *name);
const OpInfo *op_row(const OpTable *table, OpCode code);
/* A row for an operator that the table does not have, of these attributes: any operands, nothing
 * known of them, and no pass may touch it. `since`: the version it is used in. */
const OpInfo *op_unknown(Arena *arena, const char *domain, const char *name, int since, int nattr,
                         const AttrSpec *attrs);

const AttrSpec *op_attr(const OpInfo *op, const char *name); /* NULL: not in the row */
/* The parameter that operand `index` goes to (a variadic one takes the rest), or NULL. */
const ParamSpec *op_input(const OpInfo *op, int index);
const ParamSpec *op_output(const OpInfo *op, int index);
/* The set a word of a specification stands for (float, i64 …); 0 when it is none. */
uint64_t op_type_set(const char *word);
/* How texts write it: the name, with the domain in front unless it is ai.onnx or ours. */
const char *op_text(Arena *arena, const OpInfo *op);

/* The text of a graph with this example of the row; $a is extents[0] and so on. NULL: no more. */
const char *op_example(Arena *arena, const OpInfo *op, int index, const int64_t *extents);

/* Everything of a row, with its expression, as `tilewright list ops NAME` shows it. */
void op_print(Buf *buf, const OpTable *table, const OpInfo *op);

#endif
