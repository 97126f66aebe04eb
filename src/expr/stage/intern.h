/* Interned stages, for searches only: constructors keep order and grouping as built.
 *
 * A table holds canonical stages in a ctx of its own. Equal computations on equal inputs are one
 * Tensor there, which knows its fingerprint, so a program met again costs nothing, and one that
 * differs in a stage costs that stage. What a step of a search makes lies in another ctx, in an
 * arena that goes back to its mark when the step is done:
 *
 *     const Program *work = program_import(scratch, state, NULL);   keeps fingerprints
 *     const Program *next = program_canon(derive_…(work, …));      only what is new is worked on
 *     if (is_new(program_fingerprint(next)))                        read, not computed
 *         state = program_intern(table, next);
 */
#ifndef EXPR_STAGE_INTERN_H
#define EXPR_STAGE_INTERN_H

#include "expr/stage/canon.h"

typedef struct StageTable StageTable;

/* An empty table in the ctx; both live in its arena. */
StageTable *stage_table_new(ExprCtx *ctx);

/* The table's own program of the same meaning, in canonical form; from any ctx. */
Program *program_intern(StageTable *table, const Program *program);

#endif
