/* Canonical form and fingerprint: for derivation, CSE and matching; never part of a constructor.
 *
 * Canonical: integer index arithmetic in affine normal form; commutative operands sorted;
 * comparisons as lt/le; sum iterators ordered by their use (refined to a fixed point); names gone.
 * The fingerprint hashes everything that decides the meaning: boxes, guards, fills, types, bodies,
 * accumulators, what the reads read. Two programs with equal fingerprints mean the same.
 */
#ifndef EXPR_STAGE_CANON_H
#define EXPR_STAGE_CANON_H

#include "expr/stage/stage.h"

/* The same stage in canonical form (reads refer to the same tensors; results are new). */
Stage *expr_canon(ExprCtx *ctx, const Stage *stage);
Program *program_canon(const Program *program); /* itself where it is canonical */

/* Inputs count by position and type. Of a canonical program it is read, not computed. */
Hash128 program_fingerprint(const Program *program);

#endif
