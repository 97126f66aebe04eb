/* A search for rows that a program matches: what is solved so far, and the row's texts in it. */
#ifndef PROGRAM_MATCH_SOLVER_H
#define PROGRAM_MATCH_SOLVER_H

#include "program/forms.h"
#include "program/match_inner.h"

typedef struct Solver {
	Arena *arena; /* of the search */
	VendorForms *forms;
	VendorRows rows;
	ExprCtx *ctx;
	const Stage *main;
	const RowForm *form;
	const Expr *reads[VENDOR_OPERANDS];
	Facts *facts;              /* of the stage's box */
	bool is_border;            /* what its guard omits, the borders of the reads do */
	Map names;                 /* of the row's texts, to what they are here */
	int bound[ROW_ITERS];      /* iterators of the row to the stage's; -1: absent, of extent 1 */
	unsigned taken;            /* iterators of the stage, as bits */
	unsigned alike[ROW_ITERS]; /* those that move what an iterator of the row moves */
	bool in_order;             /* only tensors whose dims lie in the order of the row */
	VendorMatch *match;
	VendorFound *found; /* of a search for all rows */
} Solver;

/* ---- match_text.c: texts of the row ---- */

/* What an expression of the row is here. */
const Expr *solver_value(Solver *s, const char *text, DType type);
/* The same where it is a number. */
bool solver_number(Solver *s, const char *text, int64_t *number);
/* From now on the row's texts call it so. */
void solver_name(Solver *s, const char *text, const Expr *value);
void solver_name_number(Solver *s, const char *text, int64_t number);
/* Iterators, extents, and how many terms a full sum has. */
void solver_name_iters(Solver *s);
const Dim *solver_extent(const Solver *s, int iter);
/* Whether all of a list of conditions hold. */
bool solver_holds(Solver *s, const char *limits);

/* ---- match_behind.c ---- */

/* What stands behind the main stage: the row's epilogue, or a bias and post-ops. */
bool solver_epilogue(Solver *s, Arena *arena);

#endif
