/* What the parts of vendor_match() share. */
#ifndef PROGRAM_MATCH_INNER_H
#define PROGRAM_MATCH_INNER_H

#include "program/form.h"
#include "program/match.h"
#include "program/row.h"

/* The rows POST, read for scalars of one ctx. */
typedef struct PostForms {
	ExprCtx *ctx;
	const Expr *x;
	FormLeaves leaves;
	unsigned losses; /* that are allowed */
	int count;
	const PostRow **rows;
	const Form **forms;
} PostForms;

enum { MAX_ROWS = 48, MAX_COPIES = 8 };

struct VendorForms {
	Arena *arena;
	TextOperators operators;
	VendorLosses losses;
	const PostForms *posts;                    /* of the ctx that was asked about last */
	const RowForm *form[MAX_ROWS][MAX_COPIES]; /* NULL: not read yet */
	const Program *programs[MAX_ROWS][MAX_COPIES];
};

const PostForms *match_read_posts(Arena *arena, ExprCtx *ctx, const TextOperators *operators,
                                  unsigned losses);

/* Dim d of the read is the 0 of an extent of 1. */
bool read_is_one(const Expr *read, int d);

/* Dim d of the read is iterator `position` of the stage, all of it. */
bool read_is_iter(ExprCtx *ctx, const Stage *stage, const Expr *read, int d, int position);

/* What a call may take: an input of the program, of this type. */
bool match_is_operand(const Program *p, const Tensor *tensor, DType type);

/* The stage reduces one tensor, or the product of two, each as it is or cast to the sum's type,
 * over boxes from 0. */
bool match_main_reads(const Program *p, const Stage *stage, const Expr *reads[VENDOR_OPERANDS]);

/* The first stage reads and sums in the row's types, and stores the row's result, or the sum where
 * post-ops may begin with a cast; the program's result is the row's. */
bool match_has_types(const Program *p, const Expr *const reads[VENDOR_OPERANDS],
                     const VendorRow *row);

/* The epilogue as one scalar over reads of the main result in place; the read itself where there is
 * none. NULL when the group has another form. */
const Expr *match_epilogue_of(Arena *arena, const Program *p, const Expr **main_read);

/* Post-ops and bias of a match whose program's epilogue is `body`, a scalar over `main`. `channel`
 * is the loop a bias runs over. NULL, or what of it no row takes. */
const char *match_posts(Arena *arena, const PostForms *forms, VendorMatch *m, const Expr *body,
                        const Expr *main, int channel);

/* ---- match_whole.c ---- */

/* Adds the rows that are programs, if the program is one of them. */
void match_wholes(VendorForms *forms, Arena *arena, const Program *program, const Target *target,
                  const bool *fixed, VendorFound *found);

/* ---- match_operand.c, of operand k ---- */

void match_add_attr(VendorMatch *m, StepAttr attr);
/* Last two dims exchanged: where the row has a word for that, the operand lies as it is. */
void match_tell_swapped(VendorMatch *m, int k);
/* The dims ascend, and only what may stand still is missing. */
bool match_is_in_order(const VendorMatch *m, const RowForm *form, int k);
/* Take away dims in front that broadcasting brings back. */
void match_drop_leading(VendorMatch *m, const RowForm *form, int k);

#endif
