/* Spans: how an index moves inside a part of its loops' iterations, by intervals over index maps.
 *
 *     2*p + r - 1,   tile p:4, r:3      9 places: 2*(4-1) + (3-1) + 1
 *     i / 3,         tile i:4           2 places: tiles begin at 0, 4, 8 ..., 8..11 is 2..3
 *     i % 3,         tile i:3           3 places
 *
 * An index is taken apart once, into sums, quotients and choices of axes: iterators or variables
 * that move. Of that, span_size() says by numbers how many places the largest tile touches, whose
 * tiles begin at multiples of their size: what is known of where an index begins (a residue) makes
 * quotients exact, and remainders of an axis. Else it is an upper bound. span_end() says where the
 * places begin and end, as formulas.
 */
#ifndef EXPR_INDEX_SPAN_H
#define EXPR_INDEX_SPAN_H

#include "expr/index/simplify.h"

enum { SPAN_AXES = 16 };

typedef struct SpanTerm {
	int64_t factor;
	const Expr *by;          /* times this, which does not move; NULL: times nothing */
	int axis;                /* times this; or -1, and … */
	const struct Span *atom; /* … this; NULL: nothing of it moves */
} SpanTerm;

/* An index: a sum, or an operation on one or two such. */
typedef struct Span {
	ExprOp op; /* EX_add: the sum; EX_floordiv, EX_floormod; EX_min, EX_max; EX_at: any place */
	int64_t constant;
	int nterm;
	const SpanTerm *terms;
	const struct Span *arg[2];
	int64_t divisor;
	uint64_t axes;  /* those that move it, as bits */
	bool is_open;   /* some of it may be anywhere: data says where, or no operation above */
	int64_t spread; /* other reads of the tensor stand up to so much further */
} Span;

/* Which axis an iterator or a variable is; -1: it does not move. It is counted from *from. */
typedef int SpanAxis(const void *self, const Expr *leaf, int64_t *from);
const Span *span_make(Arena *arena, const Expr *index, SpanAxis *axis_of, const void *self);
/* A plain axis. */
const Span *span_axis(Arena *arena, int axis);
/* How many places it has at most, first to last, in any tile of these sizes; all is numbers. */
int64_t span_size(const Span *span, const int64_t *tile, const int64_t *extents);
/* The same index but for a constant: then how much further the second one stands. */
bool span_offset(const Span *a, const Span *b, int64_t *offset);
/* The factor of the axis in a sum; 0 where it is none, or has none. */
int64_t span_factor(const Span *span, int axis);

/* Where axes end: the least or the last value of one, or NULL. */
typedef struct SpanEnds {
	ExprCtx *ctx;
	Facts *facts;
	const Expr *(*end_of)(const struct SpanEnds *ends, int axis, bool is_last);
} SpanEnds;
/* The least or the largest place; NULL when that is not known. */
const Expr *span_end(const SpanEnds *ends, const Span *span, bool is_last);

/* The greatest common divisor of two numbers of 0 or more. */
int64_t common_divisor(int64_t a, int64_t b);

#endif
