/* Making a graph: what makers of nodes (make_*.c) have, and how a node is added (gen.c, pick.c).
 *
 *     void
 *     make_flatten(Gen *g, const Row *row)
 *     {
 *         Value *x = gen_take(g, TYPES(num), 0, 5);
 *         trial_int(&g->dice, "axis", roll(&g->dice, 0, gen_rank(x)));
 *         gen_node(g, row->op, 1, &x, 1);
 *     }
 *
 * Attributes set by trial_*() go to the next node, whichever it is.
 */
#ifndef GRAPHS_GEN_H
#define GRAPHS_GEN_H

#include "../random/random.h"

/* ---- rows: how a graph gets a node of each operator (operators.def) -------------------------- */

typedef enum Kind {
#define KIND(name) KIND_##name,
#include "kinds.def"
#undef KIND
	KIND_COUNT
} Kind;

/* What the first operand of a pointwise operator must lie in, so that results are numbers. */
typedef enum Domain {
	ANY,
	UNIT,      /* -1..1 */
	POSITIVE,  /* not near 0 */
	ABOVE_ONE, /* from 1 up */
	SMALL,     /* within -4..4 */
	DIVISOR,   /* the second operand is not 0 */
	SHIFT,     /* the second operand is below the width */
} Domain;

typedef struct Gen Gen;

typedef struct Row {
	const char *op;
	OpCode code;
	Kind kind;
	void (*make)(Gen *g, const struct Row *row);
	Domain domain;
} Row;

const Row *row_of(OpCode code);
const char *kind_name(Kind kind);
/* Start-up test: every row of ops.def has one here. The name of one that has none, or NULL. */
const char *rows_check(void);

#define ROW(op, kind, make, domain) void make_##make(Gen *g, const Row *row);
#include "operators.def"
#undef ROW

/* ---- making a graph (gen.c) ------------------------------------------------------------------ */

enum {
	GRAPH_RANK = 6,
	GRAPH_ELEMENTS = 6000,
	LARGE_ELEMENTS = 40000,
	GRAPH_RUNS = 2,
	GRAPH_TEXT = 1 << 16
};

/* A value that nodes to come may use, with its data at the first binding. */
typedef struct Entry {
	Value *value;
	const Array *data; /* NULL: no interpreter knows it */
	int uses;
} Entry;

struct Gen {
	Trial dice; /* random numbers, attributes, nodes; its graph is this one */
	Arena *arena;
	Graph *graph;
	Region *region; /* where nodes are added */
	uint64_t seed;
	VEC(Entry) pool; /* what is visible where nodes are added */
	Value *focus;    /* to be used by the next node that can */
	int depth;       /* of regions */
	char *note;      /* GRAPH_TEXT bytes: the graph so far, should the process die; or NULL */
	bool is_over;    /* a node showed a fault: nothing may come behind it */
	bool is_large;   /* values of up to LARGE_ELEMENTS elements */
	double most;     /* size of floats: errors stay small beside them */
};

/* A fitting value: one of the pool or a new one. Types are a set of bits, 1 << DT_…. */
Value *gen_take(Gen *g, uint64_t types, int least, int most);
/* The same type as x, and a shape that broadcasts with it (to it: without growing it). */
Value *gen_mate(Gen *g, Value *x, bool is_within);
/* Dims below 0 are free: a size by chance, or a symbol. */
Value *gen_input(Gen *g, DType type, int rank, const int64_t *given);
Value *gen_input_of(Gen *g, DType type, int rank, const Dim *const *dims);
/* A dim: by chance a symbol, where the graph has symbols. */
const Dim *gen_extent(Gen *g, const char *symbol, int percent, int64_t size);
Value *gen_like(Gen *g, const Value *x, DType type); /* an input of the same shape, or NULL */
Value *gen_like_but(Gen *g, const Value *x, DType type, int axis); /* … without an axis */
Value *gen_constant(Gen *g, const Array *data);
Value *gen_weight(Gen *g, DType type, int rank, const int64_t *dims);
Value *gen_weight_or_input(Gen *g, DType type, int rank, const int64_t *dims);
/* A weight whose numbers are positive (graph_settle), for scales. */
Value *gen_scale_weight(Gen *g, DType type, int64_t count);
/* Small positive numbers, computed from a weight. */
Value *gen_scales(Gen *g, DType type, int rank, const int64_t *dims);
Value *gen_ints(Gen *g, DType type, int count, const int64_t *values);
Value *gen_scalar(Gen *g, DType type, double value);
/* Indices in -extent..extent-1 (from 0 up where not constant). */
Value *gen_indices(Gen *g, DType type, int rank, const int64_t *dims, int64_t extent);

/* A node; it is inferred, evaluated and put into the pool. Fails when it is no good. */
Value **gen_node(Gen *g, const char *op, int ninput, Value *const *inputs, int noutput);
Value *gen_one(Gen *g, const char *op, int ninput, Value *const *inputs);
Node *gen_open(Gen *g, const char *op, int ninput, Value *const *inputs, int noutput);
void gen_settle(Gen *g, Node *node); /* of gen_open(), when its regions are there */
/* Nodes inside a region: as many as can be made of `count`. */
void gen_nodes(Gen *g, int count);
/* Make a node by this row; false when it came to nothing. */
bool gen_try(Gen *g, const Row *row);
/* A graph to derive from (make_derived.c), one of quantised and short numbers (make_quantised.c);
 * `number` chooses the kind. */
void gen_derived(Gen *g, int number);
void gen_quantised(Gen *g, int number);
_Noreturn void gen_give_up(void); /* this operator, here */

DType gen_dtype(const Value *value);
int gen_rank(const Value *value);
const Array *gen_data(const Gen *g, const Value *value);
int64_t gen_dim(const Gen *g, const Value *value, int axis); /* at the first binding */
int64_t gen_elements(const Gen *g);                          /* the most of one value */
int64_t gen_fixed(const Value *value, int axis);             /* -1: symbolic */
bool gen_is_fixed(const Value *value);
int64_t gen_size(Gen *g);                     /* 1, 2, 3, 5, 7, 13, … */
int64_t gen_axis(Gen *g, int axis, int rank); /* perhaps counted from behind */
void gen_range(const Gen *g, const Value *value, double *least, double *most);
/* Brought into a domain, by a node or two where its data is not in it. */
Value *gen_bring(Gen *g, Value *x, Domain domain);
Value *gen_cast(Gen *g, Value *x, DType type);
/* Of another rank, by Unsqueeze, Reshape or a reduction. */
Value *gen_rerank(Gen *g, Value *x, int least, int most);

/* ---- themes (theme.c) ------------------------------------------------------------------------ */

/* A window that fits into the spatial axes of x, as attributes of the next node. */
typedef struct Window {
	int rank;
	int64_t kernel[3], stride[3], dilation[3], pads[6];
	const char *auto_pad; /* in the place of pads */
} Window;

typedef Value *ThemeMaker(Gen *g);

void gen_theme(Gen *g, ThemeMaker *make, bool is_large);
int64_t gen_channels(Gen *g);
Value *gen_image(Gen *g, DType type, int axes);
Value *gen_rows(Gen *g, DType type, int64_t least, int64_t most, int64_t columns);
/* The sides stay as they are where that can be, so that what comes next has something to read. */
Window gen_window(Gen *g, const Value *x, bool is_strided);
void gen_window_attrs(Gen *g, const Window *w);

#define TYPES(name) op_type_set(#name)
#define BIT(type) ((uint64_t)1 << (type))

#endif
