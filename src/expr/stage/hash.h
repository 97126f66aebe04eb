/* Hashes of scalars by what they mean: independent of the order of commutative operands and of
 * terms of index sums, of names of iterators and tensors, and of when nodes were made.
 */
#ifndef EXPR_STAGE_HASH_H
#define EXPR_STAGE_HASH_H

#include "expr/scalar/ctx.h"
#include "expr/stage/canon.h"

enum { HASH_ITERS = 64, HASH_OPERANDS = 32, HASH_TENSORS = 16 };

/* Tensors count by their fingerprints, those that have none by identity; or by labels. */
typedef struct Hasher {
	ExprCtx *ctx;
	Memo *memo;   /* nodes hashed so far; two numbers each */
	bool is_free; /* sums and products of floats may be regrouped: an order-free term */
	Hash128 iters[HASH_ITERS]; /* what iterators count as */
	int ntensor;               /* 0: no labels */
	const Tensor *tensors[HASH_TENSORS];
	Hash128 labels[HASH_TENSORS];
} Hasher;

void hasher_open(Hasher *hasher, ExprCtx *ctx);
void hasher_close(Hasher *hasher);
/* Iterators, or nested sums, count as something else now: forget what was hashed. */
void hasher_forget(Hasher *hasher);
/* Iterators count by position, as at first. */
void hasher_count_positions(Hasher *hasher);
/* From now on the tensors that the stage reads count by their types, their boxes and their place
 * among them: the same for a stage that reads others in their places. Not where it reads more than
 * HASH_TENSORS, or is a scatter. */
void hasher_label(Hasher *hasher, const Stage *stage);
/* The same for what has become of it; false where it still reads as many, and nothing changes. */
bool hasher_relabel(Hasher *hasher, const Stage *stage);
Hash128 hash_scalar(Hasher *hasher, const Expr *e);
Hash128 hash_tensor(const Tensor *tensor);

/* The operands of e where their order makes no difference, nested ones of the same operation
 * included where their grouping makes none; 0 where it does. Room for HASH_OPERANDS. */
int hash_operands(const Hasher *hasher, const Expr *e, const Expr **out);

Hash128 hash_word(uint64_t word);
/* Result k of a stage of this hash. */
Hash128 hash_result(Hash128 stage, int k);
Hash128 hash_position(int position);
int hash_compare(Hash128 a, Hash128 b);
/* Of a set: sorts the array. */
Hash128 hash_unordered(Hash128 *hashes, int count);

/* expr_canon() with a hasher, which has the labels of what comes out. */
Stage *canon_stage(Hasher *hasher, const Stage *stage);

/* What a stage computes of what it reads; its iterators count by position. In canonical form; or as
 * it is written, equal for equal texts only. Both with the labels of the stage. */
Hash128 hash_form(Hasher *hasher, const Stage *stage);
Hash128 hash_written(Hasher *hasher, const Stage *stage);
/* The latter, for one stage; false where it has no labels. */
bool hash_text(ExprCtx *ctx, const Stage *stage, Hash128 *hash);
/* And with what it reads. */
Hash128 hash_with_reads(const Hasher *hasher, Hash128 form);

#endif
