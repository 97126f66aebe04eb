/* What the files of the speller share. */
#ifndef GRAPH_SPELL_INNER_H
#define GRAPH_SPELL_INNER_H

#include "expr/stage/stage.h"
#include "graph/inner.h"

/* A scalar of the stage at work is a value of `rank` dims, one per iterator; an iterator that it
 * does not depend on has extent 1 there, so that operators broadcast. */
typedef struct Spell {
	Node *node; /* operators go before it */
	Graph *graph;
	ExprCtx *ctx;
	Arena *arena;
	Map values; /* Tensor to Value */
	/* the stage at work */
	const Stage *stage;
	int rank; /* loops, then the reduction's iterators */
	const Dim **extent;
	Facts *facts;
	Map scalars; /* Expr to Value */
	int depth;
} Spell;

enum { SPELL_ITERS = 60, SPELL_DEPTH = 400, SPELL_TABLE = 1 << 24, SPELL_ELEMENTS = 1 << 29 };

#define spell_fail(spell, ...) \
	fail_unsupported(&(spell)->node->loc, "no operators of ONNX say this: " __VA_ARGS__)

/* ---- make.c: operators, none where nothing would change ---- */
Value *spell_op(const Spell *s, const char *op, int ninput, Value *const *inputs);
Value *spell_cast(const Spell *s, Value *x, DType type);
Value *spell_array(const Spell *s, const Array *array);
Value *spell_ints(const Spell *s, int count, const int64_t *numbers);
Value *spell_reshape(const Spell *s, Value *x, int rank, const Dim *const *dims);
Value *spell_transpose(const Spell *s, Value *x, const int *axes); /* axis i is the old axes[i] */
Value *spell_expand(const Spell *s, Value *x, int rank, const Dim *const *dims);
Value *spell_gather(const Spell *s, Value *x, int axis, const Array *table);
Value *spell_slice(const Spell *s, Value *x, int axis, int64_t first, int64_t count, int64_t by);
Value *spell_pad(const Spell *s, Value *x, int axis, int64_t before, int64_t behind,
                 const Expr *fill);
Value *spell_reduce(const Spell *s, const char *op, Value *x, Axes axes, bool keeps);

/* ---- table.c ---- */

/* A scalar without reads over these iterators of the stage, as an array of one dim for each. Fails
 * where it is not the same for all sizes, or too large. */
Array *spell_table(const Spell *s, const Expr *e, int count, const int *iters);
/* The iterators that a scalar depends on, in order. */
int spell_iters(const Spell *s, const Expr *e, int *iters);
/* The scalar where iterators of extent 1 are what they always are. */
const Expr *spell_without_ones(const Spell *s, const Expr *e);
/* A scalar without reads as a value. */
Value *spell_known(const Spell *s, const Expr *e);

/* ---- place.c: dims of a tensor that share iterators, as one ---- */
typedef struct SpellGroup {
	int ndim, dims[SPELL_ITERS];   /* of the tensor */
	const Dim *extent;             /* of these dims as one */
	const Expr *place;             /* in it */
	const Expr *condition;         /* where it does not hold, a fill value is read; or NULL */
	int niter, iters[SPELL_ITERS]; /* in the order in which the result has them */
	const Dim *points;             /* of these iterators as one */
	bool is_done;
} SpellGroup;

/* Axis `axis` of x, which is the group's dims, as its iterators: by what is proven of them, if that
 * is enough; by a table. */
bool spell_range(const Spell *s, Value **x, int axis, SpellGroup *group);
Value *spell_places(const Spell *s, Value *x, int axis, const SpellGroup *group, const Expr *fill);

/* ---- read.c, scalar.c ---- */

/* A read where the condition holds (NULL: it does), otherwise fill, a constant of its type. */
Value *spell_read(Spell *s, const Expr *read, const Expr *condition, const Expr *fill);
Value *spell_scalar(Spell *s, const Expr *e);
/* x where the condition, of indices only, holds, otherwise y. */
Value *spell_where(Spell *s, const Expr *condition, Value *x, Value *y);

/* ---- split.c ---- */
const Stage *spell_split_loops(ExprCtx *ctx, Arena *arena, const Stage *stage);

/* ---- product.c ---- */

/* The sum of a product of two values over the reduction's iterators, by MatMul: a value of the
 * loops. */
Value *spell_product(const Spell *s, Value *a, Value *b);
bool spell_is_product(const Spell *s, const Value *a, const Value *b);

/* Whether the value depends on iterator i. */
bool spell_has(const Value *value, int i);

#endif
