/* Scalars: typed, immutable, hash-consed expressions, shared by stages and loops.
 *
 * Equal expressions of one ExprCtx are equal pointers. Order of operands and association stay as
 * built: `a+b` and `b+a` are two nodes, because floats are not associative and because index
 * regrouping (loop-invariant code motion) is a pass, not an accident. Constructors fold constants
 * only; simplify.h and canon.h do more when asked.
 *
 * Leaves:   constants, symbols (dims known at run time), iterators of a stage by position
 *           (loops first, then reductions), variables of loops, reads of tensors.
 * Dims:     a Dim is a scalar of type i64 over symbols only, in normal form (dim.h).
 * Iterators are positions, so renaming is free and equal bodies are equal pointers.
 */
#ifndef EXPR_SCALAR_EXPR_H
#define EXPR_SCALAR_EXPR_H

#include "base/array.h"
#include "base/buf.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "base/map.h"
#include "base/vec.h"

typedef struct ExprCtx ExprCtx;
typedef struct Expr Expr;
typedef struct Expr Dim; /* in the normal form of dim.h */
typedef struct Tensor Tensor;
typedef struct Symbol Symbol;
typedef struct Var Var;
typedef struct Stage Stage;

typedef enum ExprOp {
	EX_const,   /* value */
	EX_symbol,  /* symbol: a dim bound at run time, i64 */
	EX_iter,    /* position: an iterator of the stage the scalar stands in, i64 */
	EX_var,     /* var: a loop variable or let of the loop IR */
	EX_read,    /* tensor[arg…]: an element of a tensor (stages) or buffer (loops) */
	EX_at,      /* at(arg0, 0..arg1, flags): an integer scalar as an index with a declared range */
	EX_cast,    /* type(arg0), cast flags */
	EX_bitcast, /* the same bits as another type of equal width */
#define SCALAR(name, text, prec, arity, types, cost, ulp, doc) EX_##name,
#include "expr/scalar/scalar.def"
#undef SCALAR
	EX_COUNT
} ExprOp;

/* EX_at: what happens to an index outside 0..D. wrap: a negative one gets D added first. check: one
 * still outside fails the step (and is clamped meanwhile); otherwise it is clamped silently. */
enum { AT_WRAP = 1, AT_CHECK = 2 };

/* EX_cast to storage types (ONNX Cast): default is saturating; e8m0 rounds by mode. Float to int
 * saturates, NaN becomes 0; integer to integer wraps; to bool: value != 0. */
enum { CAST_NOSAT = 1, CAST_ROUND_DOWN = 2, CAST_ROUND_NEAREST = 4 };

struct Expr {
	uint8_t op;            /* ExprOp */
	uint8_t type;          /* DType of the result */
	uint8_t flags;         /* AT_…, CAST_… */
	uint8_t has_read : 1;  /* some EX_read below (or is one): derived, for quick tests */
	uint8_t has_var : 1;   /* the same of EX_var */
	uint8_t has_check : 1; /* the same of EX_at with AT_CHECK: evaluating it may report an index */
	uint8_t is_sum : 1;    /* known to be an index sum over leaves in normal form (index/poly.h) */
	uint8_t is_tame : 1;   /* arithmetic of indices, taken not to overflow: data is not (derived) */
	int argc;
	uint32_t id;    /* order of creation within the ctx: operands have smaller ones */
	uint32_t size;  /* derived: nodes of its text, shared ones as often as they stand there */
	ExprCtx *ctx;   /* owner */
	uint64_t iters; /* derived: bit i = uses iterator i, bit 63 = uses one from 63 on */
	uint64_t hash;  /* derived: of the structure, the same in any ctx; reads by Tensor.id */
	union {
		Scalar value;         /* EX_const: f16/bf16 in bits16, integers and bool in i64/u64 */
		int iter;             /* EX_iter */
		const Symbol *symbol; /* EX_symbol */
		const Var *var;       /* EX_var */
		const Tensor *tensor; /* EX_read */
	};
	const Expr *arg[];
};

/* A dim known only at run time. One per name in a ctx. Simplification uses lo..hi and no more. */
struct Symbol {
	const char *name;
	int64_t lo, hi; /* inclusive; default 0 .. 2^31-1 */
	int id;         /* order of creation */
};

/* A variable of the loop IR: loop counters and lets. Compared by identity. */
struct Var {
	const char *name;
	DType type;
	const Expr *lo, *hi; /* lo <= value < hi where known (loop counters), else NULL */
	int id;
};

/* Something that can be read: an input of a program, a result of a stage, a buffer of a loop nest.
 * Compared by identity. A stage's result may begin above 0 (lo) and is read at absolute places. */
struct Tensor {
	const char *name;
	DType type;
	int rank;
	const Dim *const *lo; /* NULL: all 0 */
	const Dim *const *hi; /* extents where lo is 0 */
	const Stage *stage;   /* producer; NULL for inputs, buffers and previous states of a scan */
	int result;           /* which of the stage's results */
	int id;
	Hash128 fingerprint; /* of canonical ones: what it computes (expr/stage/canon.h); else 0 */
};

/* A ctx owns its tables in `arena` and is never shared by threads. */
ExprCtx *expr_ctx_new(Arena *arena);
/* One for the steps of a search: its symbols are those of `kept`, which remembers all proofs. */
ExprCtx *expr_ctx_beside(Arena *arena, ExprCtx *kept);
Arena *expr_ctx_arena(const ExprCtx *ctx);
/* Nodes walked and steps of proofs so far: tests see that this grows no faster than a model. */
uint64_t expr_ctx_work(const ExprCtx *ctx);

/* ---- constructors ----------------------------------------------------------------------------
 * They check operand types against scalar.def (assert: a wrong type is our bug; the parser fails
 * with a place instead) and fold when all operands are constants. */

const Expr *expr_i64(ExprCtx *ctx, int64_t value);
const Expr *expr_bool(ExprCtx *ctx, bool value);
const Expr *expr_const(ExprCtx *ctx, DType type, Scalar value);
const Expr *expr_number(ExprCtx *ctx, DType type, double value); /* rounded, saturated to type */
const Expr *expr_lowest(ExprCtx *ctx, DType type);  /* -inf for floats, least integer, false */
const Expr *expr_highest(ExprCtx *ctx, DType type); /* inf, greatest integer, true */
const Expr *expr_iter(ExprCtx *ctx, int position);
const Expr *expr_var(ExprCtx *ctx, const Var *var);
const Expr *expr_symbol(ExprCtx *ctx, const Symbol *symbol);
const Expr *expr_read(ExprCtx *ctx, const Tensor *tensor, const Expr *const *index);
const Expr *expr_at(ExprCtx *ctx, const Expr *index, const Dim *extent, int flags);
const Expr *expr_cast(ExprCtx *ctx, DType type, const Expr *x); /* x itself when of that type */
const Expr *expr_cast_flags(ExprCtx *ctx, DType type, const Expr *x, int flags);
const Expr *expr_bitcast(ExprCtx *ctx, DType type, const Expr *x);

/* Any operation of scalar.def; expr_add(ctx, a, b) and so on are below. */
const Expr *expr_op(ExprCtx *ctx, ExprOp op, const Expr *const *args);

#define EXPR_1(name) \
	static inline const Expr *expr_##name(ExprCtx *ctx, const Expr *a) \
	{ \
		return expr_op(ctx, EX_##name, (const Expr *[]){a}); \
	}
#define EXPR_2(name) \
	static inline const Expr *expr_##name(ExprCtx *ctx, const Expr *a, const Expr *b) \
	{ \
		return expr_op(ctx, EX_##name, (const Expr *[]){a, b}); \
	}
#define EXPR_3(name) \
	static inline const Expr *expr_##name(ExprCtx *ctx, const Expr *a, const Expr *b, \
	                                      const Expr *c) \
	{ \
		return expr_op(ctx, EX_##name, (const Expr *[]){a, b, c}); \
	}
#define SCALAR(name, text, prec, arity, types, cost, ulp, doc) EXPR_##arity(name)
#include "expr/scalar/scalar.def"
#undef SCALAR

/* a && b, where NULL is no condition. */
const Expr *expr_both(ExprCtx *ctx, const Expr *a, const Expr *b);
/* !condition; of integers the opposite comparison. */
const Expr *expr_opposite(ExprCtx *ctx, const Expr *condition);

/* Rebuild a node of any kind with other operands (same op, type, flags, leaf data). */
const Expr *expr_with_args(ExprCtx *ctx, const Expr *e, const Expr *const *args);

/* New tensors, variables and symbols. Names are copied. A symbol of a known name is returned as is;
 * symbol_fresh() appends a number to make an unused name. */
Tensor *tensor_new(ExprCtx *ctx, const char *name, DType type, int rank, const Dim *const *dims);
Var *var_new(ExprCtx *ctx, const char *name, DType type, const Expr *lo, const Expr *hi);
const Symbol *symbol_get(ExprCtx *ctx, const char *name);
const Symbol *symbol_fresh(ExprCtx *ctx, const char *prefix);
void symbol_set_range(const Symbol *symbol, int64_t lo, int64_t hi); /* before anything used it */

/* Whether a value beyond the range is taken for the nearest one in it, not refused: where it bounds
 * a slice, which ends at a tensor's ends in any case. The least range says so. */
static inline bool
symbol_clamps(int64_t lo)
{
	return lo == INT32_MIN;
}

/* ---- properties ------------------------------------------------------------------------------ */

typedef struct ScalarInfo {
	const char *name, *text; /* text: infix spelling or NULL */
	int precedence, arity;
	enum {
		RULE_same,
		RULE_float,
		RULE_int,
		RULE_cmp,
		RULE_bool,
		RULE_test,
		RULE_select,
		RULE_words
	} rule;
	int cost, ulp;
	const char *doc;
} ScalarInfo;

/* The row of an operation of scalar.def; NULL for the leaves, at, cast and bitcast. */
const ScalarInfo *scalar_info(ExprOp op);
ExprOp scalar_find(const char *name); /* EX_COUNT when there is none */
/* The result type for operands of these types, by the row's rule; DT_NONE when they do not fit. */
DType scalar_result_type(ExprOp op, const DType *args);

bool expr_is_const(const Expr *e);
bool expr_is_compare(const Expr *e);    /* one of < <= > >= == != */
bool scalar_is_dot(ExprOp op);          /* of the bytes of words */
ExprOp scalar_opposite(ExprOp compare); /* which holds where this one does not, of integers */
bool expr_as_i64(const Expr *e, int64_t *value); /* integer or bool constant */
double expr_const_f64(const Expr *e);            /* any constant, as a double */
bool expr_is_zero(const Expr *e);
bool expr_is_one(const Expr *e);
int expr_cost(const Expr *e); /* sum of the rows' costs over distinct nodes, reads 0 */

/* Evaluate an operation on constants as kernels do (scalar.def, exact mode). */
Scalar scalar_eval(ExprOp op, DType type, const Scalar *args, DType arg_type);
Scalar scalar_cast(DType to, int flags, DType from, Scalar value);

/* ---- substitution and walking ---------------------------------------------------------------- */

/* Replace iterators by position: map[i] for EX_iter i (NULL keeps it), i < count. */
const Expr *expr_substitute(ExprCtx *ctx, const Expr *e, int count, const Expr *const *map);

/* Bottom-up rewrite with a memo: replace(node, with operands already rewritten) gives the new node
 * or its argument back. */
typedef const Expr *(*ExprRewrite)(ExprCtx *ctx, const Expr *e, void *arg);
const Expr *expr_rewrite(ExprCtx *ctx, const Expr *e, ExprRewrite replace, void *arg);
/* With `other` in the place of `node` wherever that stands. */
const Expr *expr_replace(ExprCtx *ctx, const Expr *e, const Expr *node, const Expr *other);

/* The distinct nodes of an expression (NULL has none), operands first:
 *
 *     for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
 *         if (walk.e->op == EX_read) …
 *
 * It goes to its end: a walk that is left before keeps its memory from the next ones. */
typedef struct ExprWalk {
	const Expr *e;
	int at;
	struct Memo *memo;
} ExprWalk;
ExprWalk expr_walk(const Expr *e);
/* Of these the ones that have a read, and e: few. */
ExprWalk expr_walk_reads(const Expr *e);
bool expr_step(ExprWalk *walk);
/* Append what nodes another expression has more, also while walking: a symbol's definition, say. */
void expr_walk_add(ExprWalk *walk, const Expr *e);
bool expr_holds(const Expr *e, const Expr *node); /* somewhere in it, or as itself */
bool expr_uses_iter(const Expr *e, int position);
bool expr_reads(const Expr *e, const Tensor *tensor);
const Expr *expr_without_casts(const Expr *e); /* what the casts around it are applied to */
/* Whether each check in `from` stands in `to`, too: a form without it reports less. */
bool expr_keeps_checks(const Expr *from, const Expr *to);

/* Copy into another ctx; tensors, symbols and variables are mapped by name through `map` (PtrMap
 * from old tensor/var to new), symbols by name. */
const Expr *expr_import(ExprCtx *to, const Expr *e, const Map *map);

/* The same where every symbol stands for a dim of the other ctx: `given` holds these too, and may
 * hold other nodes without reads and iterators, such as (H + 1)/2. */
const Expr *expr_apply(ExprCtx *to, const Expr *e, const Map *given);

#endif
