/* What the parts of vendor_match() share. */
#ifndef PROGRAM_MATCH_INNER_H
#define PROGRAM_MATCH_INNER_H

#include "program/match.h"

/* Dim d of the read is the 0 of an extent of 1. */
bool read_is_one(const Expr *read, int d);

/* Dim d of the read is iterator `position` of the stage, all of it. */
bool read_is_iter(ExprCtx *ctx, const Stage *stage, const Expr *read, int d, int position);

/* What a call may take: an input of the program, of this type. */
bool match_is_operand(const Program *p, const Tensor *tensor, DType type);

/* The stage reduces one tensor, or the product of two, each as it is or cast to the sum's type,
 * over boxes from 0. */
bool match_main_reads(const Program *p, const Stage *stage, const Expr *reads[VENDOR_OPERANDS]);

/* The first stage reads, sums and stores in the row's types, and what follows keeps that. */
bool match_has_types(const Program *p, const Expr *const reads[VENDOR_OPERANDS],
                     const VendorRow *row);

/* The epilogue as one scalar over reads of the main result in place; the read itself where there is
 * none. NULL when the group has another form. */
const Expr *match_epilogue_of(Arena *arena, const Program *p, const Expr **main_read);

/* Post-ops and bias of the match. `channel` is the loop a bias runs over. */
bool match_posts(Arena *arena, VendorMatch *m, int channel);

#endif
