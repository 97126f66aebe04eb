/* Interned stages, for searches only: constructors keep order and grouping as built.
 *
 * A table holds canonical stages in a ctx of its own. Equal computations on equal inputs are one
 * Tensor there, which knows its fingerprint, so a program met again costs nothing, and one that
 * differs in a stage costs that stage. What a step of a search makes lies in another ctx, in an
 * arena that goes back to its mark when the step is done:
 *
 *     ctx = expr_ctx_beside(scratch, state->ctx);
 *     const Program *work = program_import(ctx, state, NULL);       keeps fingerprints
 *     const Program *next = program_canon_in(table, derive_…(work, …));   only what is new is work
 *     if (is_new(program_fingerprint(next)))                        read, not computed
 *         state = program_intern(table, next);
 */
#ifndef EXPR_STAGE_INTERN_H
#define EXPR_STAGE_INTERN_H

#include "expr/stage/canon.h"

typedef struct StageTable StageTable;

/* An empty table in the ctx; both live in its arena. */
StageTable *stage_table_new(ExprCtx *ctx);

/* As program_canon(), with a table that remembers what stages are in canonical form, whatever they
 * read: one that was met before, with others in their places, is copied. */
Program *program_canon_in(StageTable *table, const Program *program);

/* The table's own program of the same meaning, in canonical form; from any ctx. */
Program *program_intern(StageTable *table, const Program *program);

/* What became of a stage that was written so (hash_written()). */
typedef struct Written {
	Hash128 text;
	Hash128 form; /* hash_form() of its canonical form */
	Hash128 hash; /* with what the stage read that it was noted for */
} Written;

/* The canonical form that the table has of it, and its hash; NULL: none. Later ones take the places
 * of earlier ones. */
const Stage *stage_table_find(const StageTable *table, Hash128 text, Hash128 *form);
void stage_table_note(StageTable *table, const Written *written);

#endif
