/* Facts, inside: what bounds.c, prove.c, index.c and simplify.c share. */
#ifndef EXPR_INDEX_FACTS_H
#define EXPR_INDEX_FACTS_H

#include "expr/index/budget.h"
#include "expr/index/poly.h"
#include "expr/index/simplify.h"

/* A closed interval; the ends of int64_t stand for no bound. */
typedef struct Range {
	int64_t lo, hi;
} Range;

typedef enum FactKind {
	FACT_BOUND,   /* lo <= atom <= last; either may be NULL */
	FACT_KNOWN,   /* atom >= 0, an index expression */
	FACT_TRUE,    /* atom, another condition */
	FACT_OFF = 4, /* with one of these: not now */
} FactKind;

_Static_assert(FACT_OFF > FACT_TRUE && (FACT_OFF & (FACT_OFF - 1)) == 0, "a bit of its own");

typedef struct Fact {
	FactKind kind;
	const Expr *atom, *lo, *last;
	const Term *first; /* FACT_KNOWN: the first term of atom's polynomial */
	uint64_t key;      /* of all that proofs may use, up to this one */
} Fact;

struct Facts {
	ExprCtx *ctx;
	Arena *arena;
	VEC(Fact) list;
	bool divisors_nonzero; /* dims: evaluated only where they are */
	Memo *ranges;          /* from nodes to indices of `intervals`; emptied when facts change */
	VEC(Range) intervals;
	int zeros, known; /* of the ctx's zeros so many are facts, which come first: so many */
	int forgotten;    /* the ctx's, when these were made */
	Facts *next;      /* in the ctx's list of closed ones */
};

/* Facts added between two marks do not hold until this is done again. */
void facts_toggle(Facts *facts, int from, int to);

extern const Range range_all;
Range range_add(Range a, Range b);
Range range_mul(Range a, Range b);
Range range_scale(Range a, int64_t by);

Range facts_interval(Facts *facts, const Expr *e);
Range poly_interval(Facts *facts, const Poly *p);

/* Whether e says something about indices: assuming it may help to prove. */
bool is_index_condition(const Expr *e);
bool is_index_compare(const Expr *e); /* the simplest of them */

/* What can be said of a condition. */
typedef enum Certainty { UNDECIDED, CERTAIN, IMPOSSIBLE } Certainty;
Certainty facts_decide(Facts *facts, const Expr *e);
/* The same where a fact is e itself, or its opposite. */
Certainty facts_say(const Facts *facts, const Expr *e);

/* Whether p >= 0 at every point. */
bool prove_nonneg(Facts *facts, const Poly *p);

/* A comparison of indices that is not decided, with less in it; itself where there is none. */
const Expr *index_compare(Facts *facts, const Expr *e);

/* The normal form of floordiv(a, b), floormod(a, b), min and max of operands in normal form. */
const Expr *index_floordiv(Facts *facts, const Expr *a, const Expr *b);
const Expr *index_floormod(Facts *facts, const Expr *a, const Expr *b);
const Expr *index_minmax(Facts *facts, ExprOp op, const Expr *a, const Expr *b);
/* The normal form of sums, differences, products: like terms joined, x/k*k + x%k = x. */
const Expr *index_sum(Facts *facts, const Expr *e);

#endif
