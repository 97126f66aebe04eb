/* What product.c finds of a group that is a product, for those who write its script. */
#ifndef LOWER_GPU_PRODUCT_H
#define LOWER_GPU_PRODUCT_H

#include "lower/gpu/gpu.h"
#include "roller/roller.h"

typedef enum Side { ROWS, COLUMNS, BOTH, SIDES } Side;

/* What is multiplied, and the shared loops (of Group.shared) by whom they move. */
typedef struct Product {
	const Expr *factor[2];
	int loops[SIDES][TILE_ITERS], count[SIDES];
	int64_t extent[SIDES], terms;
} Product;

/* Iterations of a side's loops at most. */
int64_t gpu_product_most(const GpuWriter *w, const Product *product, Side side);

/* The loops in the order of sides, each side as one, NULL for none; those of the sum as one. */
void gpu_fuse_sides(GpuWriter *w, const Product *product, const char *names[SIDES]);
const char *gpu_fuse_terms(GpuWriter *w, const Product *product);
/* What a factor has for the loops of its side and of the terms, in shared memory, a slice at a
 * time, its neighbours along what lies side by side. Returns the name of the buffer. */
const char *gpu_share_slice(GpuWriter *w, const Product *product, Side which, const StrVec *side,
                            const StrVec *terms, const char *slice);

/* Where a GPU can: the next slice is on its way to these while one is used. */
void gpu_fetch_ahead(GpuWriter *w, const char *slice, const char *left, const char *right);

/* By tensor cores (matrix.c); false: it is none for them. */
bool gpu_write_matrix(GpuWriter *w, const Product *product);

#endif
