/* Elementary derivation operations (EinNet, OSDI'23, section 4): each returns an equivalent program
 * with one stage rewritten, or NULL with a reason when its guard does not hold. research notes:
 * rules 3 (split a sum), 1 and 2 (substitute), 4 (merge), 5 (tighten), 9 (relax). Terms of sums are
 * reordered and structural zeros added: results agree within the bound for finite inputs.
 */
#ifndef PROGRAM_DERIVE_H
#define PROGRAM_DERIVE_H

#include "expr/stage/stage.h"

/* NULL, with the reason. */
Program *derive_refuse(const char **why, const char *reason);

/* The only stage that reads it; NULL: there are several, or none, or it is an output, or somewhere
 * an initial value. */
const Stage *derive_only_reader(const Program *program, const Stage *stage);

/* The program with every read of stage's results replaced by its body; it is a map. */
Program *derive_inline(const Program *program, const Stage *stage);

/* Why an operation did not apply; static text or in the ctx's arena. May be NULL. */
typedef const char *Reason;

/* Sum over s1 and s2  =>  sum over s1 of an inner stage summing over s2. `outer` is a bit set of
 * reduction iterators (0-based) that stay outside; the inner stage has them as its first loops. */
Program *derive_split_sum(const Program *program, const Stage *stage, unsigned outer, Reason *why);

/* Change loop iterators by a bijection: forward[j] gives new iterator j over the old iterators,
 * inverse[i] gives old iterator i over the new. New boxes are bounding boxes; the old stage's
 * readers read the new one at forward. Points of the box outside the image of the old box are
 * guarded or provably unread. */
typedef struct Bijection {
	int nold, nnew;
	const Expr *const *forward; /* nnew scalars over old positions */
	const Expr *const *inverse; /* nold scalars over new positions */
	const Iter *iters;          /* the new loops with their boxes */
} Bijection;
Program *derive_substitute(const Program *program, const Stage *stage, const Bijection *map,
                           Reason *why);
/* The two families of EinNet: (i,j) -> (i+b*j, j); (i,j) -> (a*i+b*j). Built as a Bijection. */
bool derive_skew(ExprCtx *ctx, const Stage *stage, int i, int j, int64_t b, Bijection *out);
bool derive_fuse(ExprCtx *ctx, const Stage *stage, int i, int j, Bijection *out);
bool derive_split(ExprCtx *ctx, const Stage *stage, int i, int64_t factor, Bijection *out);
bool derive_permute(ExprCtx *ctx, const Stage *stage, const int *order, Bijection *out);
/* What an index divides, and by what: a - 3*r + 5 and 2, also where it stands as (a-r+1)/2 - r + 2.
 * Itself and 1 where it divides nothing. */
const Expr *derive_dividend(ExprCtx *ctx, const Expr *index, int64_t *divisor);
/* hi-1+lo - i in the place of loop i. */
bool derive_reverse(ExprCtx *ctx, const Stage *stage, int i, Bijection *out);
/* i - lo in the place of each loop; false: all begin at 0. */
bool derive_from_zero(ExprCtx *ctx, const Stage *stage, Bijection *out);
/* The loop by what an index is, (±loop + rest)/s: i = index in its place and, where s > 1, the
 * remainder before it, without terms of the sum's iterators. */
bool derive_position(ExprCtx *ctx, const Stage *stage, const Expr *index, int loop, Bijection *out);

/* The same for the iterators of a sum, in place: nold is the number of reduction iterators, and
 * scalars of the map have these at positions from 0. Points outside the image are omitted. */
Program *derive_substitute_sum(const Program *program, const Stage *stage, const Bijection *map,
                               Reason *why);
/* factor*q + r in the place of iterator i of the sum, which begins at 0: q there, r behind it. */
bool derive_split_terms(ExprCtx *ctx, const Stage *stage, int i, int64_t factor, Bijection *out);
/* hi-1+lo - i in the place of iterator i of the sum. */
bool derive_reverse_terms(ExprCtx *ctx, const Stage *stage, int i, Bijection *out);

/* Substitute a stage's body into its one reader (reads become its body at the index). A reduction
 * goes into a copy of it, and a sum into a sum of it (times factors): their terms are then one
 * sum. */
Program *derive_merge(const Program *program, const Stage *producer, Reason *why);

/* The other way round: give a read of the stage a stage of its own, T[v...] = X[index(v...)], over
 * the iterators that its index uses, in their order; zero where X is not defined. */
Program *derive_extract(const Program *program, const Stage *stage, const Expr *read, Reason *why);

/* A factor of a sum of products in another layout, zero outside the tensor, so that the sum needs
 * no condition for it: dim d in two where its index is by*q + r with 0 <= r < by; or unfolded, over
 * all iterators that the read uses (im2col). Multiplies zeros: for finite values. */
Program *derive_split_operand(const Program *program, const Stage *stage, const Expr *read, int d,
                              int64_t by, Reason *why);
Program *derive_unfold(const Program *program, const Stage *stage, const Expr *read, Reason *why);
/* The same with its dims in another order: new dim k is dim order[k]. */
Program *derive_permute_operand(const Program *program, const Stage *stage, const Expr *read,
                                const int *order, Reason *why);

/* A window of a sum of products by a bilinear algorithm: dim d of the read is loop + tap + rest,
 * and m values take m + R - 1 products, where R is the tap's extent; m + R - 1 is at most 8
 * (bilinear.c). For finite values; roundings grow with m + R. */
Program *derive_bilinear(const Program *program, const Stage *stage, const Expr *read, int d,
                         int loop, int tap, int64_t m, Reason *why);

/* Cut the box to where the value can be non-zero (guards move to the readers), or grow it where the
 * added terms are provably zero or unread. */
Program *derive_tighten(const Program *program, const Stage *stage, Reason *why);
Program *derive_relax(const Program *program, const Stage *stage, int iter, const Dim *lo,
                      const Dim *hi, Reason *why);

/* This product and those behind it in the program that go with it become one, of which each one's
 * readers read a part. Factor `common` (0 or 1) is theirs, and the others stand beside each other;
 * -1: they share nothing but boxes and guards, and are stacked. At most 16 (merge_products.c). */
Program *derive_merge_products(const Program *program, const Stage *stage, int common, Reason *why);

/* A product whose factor `factor` comes from another product, which nothing else reads, the other
 * way round: (W * V) * X for W * (V * X), where X is factor `kept` of the other (associate.c). */
Program *derive_associate(const Program *program, const Stage *stage, int factor, int kept,
                          Reason *why);

/* Where the guard has (a + c*r) % s == 0 with r at `iter`, run over every s-th value of r alone. */
Program *derive_residue(const Program *program, const Stage *stage, int iter, Reason *why);

#endif
