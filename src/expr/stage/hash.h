/* Hashes of scalars by what they mean: independent of the order of commutative operands and of
 * terms of index sums, of names of iterators and tensors, and of when nodes were made.
 */
#ifndef EXPR_STAGE_HASH_H
#define EXPR_STAGE_HASH_H

#include "expr/scalar/ctx.h"
#include "expr/stage/canon.h"

enum { HASH_ITERS = 64 };

typedef struct Hasher {
	ExprCtx *ctx;
	Memo *memo;                /* nodes hashed so far; two numbers each */
	const Map *tensors;        /* Tensor to Hash128 *; others count by identity */
	Hash128 iters[HASH_ITERS]; /* what iterators count as */
} Hasher;

void hasher_open(Hasher *hasher, ExprCtx *ctx, const Map *tensors);
void hasher_close(Hasher *hasher);
/* Iterators count as something else now: forget what was hashed. */
void hasher_forget(Hasher *hasher);
Hash128 hash_scalar(Hasher *hasher, const Expr *e);

Hash128 hash_word(uint64_t word);
int hash_compare(Hash128 a, Hash128 b);
/* Of a set: sorts the array. */
Hash128 hash_unordered(Hash128 *hashes, int count);

/* expr_canon() with a hasher that knows what the reads read. */
Stage *canon_stage(Hasher *hasher, const Stage *stage);

/* The fingerprint of one canonical stage; its iterators count by position. */
Hash128 hash_stage(Hasher *hasher, const Stage *stage);

#endif
