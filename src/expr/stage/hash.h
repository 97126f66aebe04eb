/* Hashes of scalars by what they mean: independent of the order of commutative operands and of
 * terms of index sums, of names of iterators and tensors, and of when nodes were made.
 */
#ifndef EXPR_STAGE_HASH_H
#define EXPR_STAGE_HASH_H

#include "expr/scalar/ctx.h"
#include "expr/stage/canon.h"

enum { HASH_ITERS = 64, HASH_OPERANDS = 32 };

/* Tensors count by their fingerprints, those that have none by identity. */
typedef struct Hasher {
	ExprCtx *ctx;
	Memo *memo;   /* nodes hashed so far; two numbers each */
	bool is_free; /* sums and products of floats may be regrouped: an order-free term */
	Hash128 iters[HASH_ITERS]; /* what iterators count as */
} Hasher;

void hasher_open(Hasher *hasher, ExprCtx *ctx);
void hasher_close(Hasher *hasher);
/* Iterators, or nested sums, count as something else now: forget what was hashed. */
void hasher_forget(Hasher *hasher);
/* Iterators count by position, as at first. */
void hasher_count_positions(Hasher *hasher);
Hash128 hash_scalar(Hasher *hasher, const Expr *e);
Hash128 hash_tensor(const Tensor *tensor);

/* The operands of e where their order makes no difference, nested ones of the same operation
 * included where their grouping makes none; 0 where it does. Room for HASH_OPERANDS. */
int hash_operands(const Hasher *hasher, const Expr *e, const Expr **out);

Hash128 hash_word(uint64_t word);
Hash128 hash_position(int position);
int hash_compare(Hash128 a, Hash128 b);
/* Of a set: sorts the array. */
Hash128 hash_unordered(Hash128 *hashes, int count);

/* expr_canon() with a hasher that knows what the reads read. */
Stage *canon_stage(Hasher *hasher, const Stage *stage);

/* What one canonical stage computes; its iterators count by position. */
Hash128 hash_stage(Hasher *hasher, const Stage *stage);

#endif
