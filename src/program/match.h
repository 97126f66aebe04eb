/* Which vendor kernel a group's main stage is, found on its expression.
 *
 * A group is a sum of products (or a window's maximum or sum) with map stages behind it. The rows,
 * by which operands and result an iterator moves (research: EinNet's iterator table):
 *
 *     matmul   sum A[b,m,k] * B[b,k,n]            b: all three, m: A and Y, n: B and Y, k: A and B
 *     conv     sum X[n, g*C+c, s*p+d*r-l, …] * W[f,c,r,…]   n,p: X and Y, f: W and Y, c,r: X and W
 *     pool     max or sum X[n,c, s*p+d*r-l, …]    r: X only
 *
 * Guards must be exactly the borders of the reads: then omitted terms are the library's padding.
 */
#ifndef PROGRAM_MATCH_H
#define PROGRAM_MATCH_H

#include "program/group.h"
#include "target/vendor.h"

enum { VENDOR_SPATIAL = 3 };

typedef struct VendorMatch {
	const char *row;        /* "conv", "matmul", "pool" */
	const Program *program; /* whose tensors the fields below are: one main stage, one epilogue */
	const Tensor *src, *weights; /* weights NULL: pool */
	const Tensor *bias;          /* NULL: none */
	const Tensor *dst;
	int npost;
	PostOp post[POST_MAX]; /* without the bias */
	/* conv and pool */
	int spatial;
	int64_t group;
	int64_t strides[VENDOR_SPATIAL], dilations[VENDOR_SPATIAL];
	int64_t pads_lo[VENDOR_SPATIAL], pads_hi[VENDOR_SPATIAL];
	int64_t kernel[VENDOR_SPATIAL];
	const char *kind; /* pool: "max", "avg_padded" */
	/* matmul */
	bool transpose_a, transpose_b;
} VendorMatch;

/* True with the match filled in; false when no row fits. Programs are matched as they come from
 * program_inline(); matmul after program_collapse() with `fixed` (inputs
 * keep their positions), which match->program then is. */
bool vendor_match(Arena *arena, const Program *program, const Target *target, const bool *fixed,
                  VendorMatch *match);

/* What a match says of itself, as attributes of its row; `attrs` has room for VENDOR_ATTRS, and
 * points into the match. Algorithm and post-ops are the caller's. Gives their number. */
enum { VENDOR_ATTRS = 8 };
int vendor_match_attrs(const VendorMatch *match, StepAttr *attrs);

#endif
