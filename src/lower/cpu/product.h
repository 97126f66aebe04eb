/* Sums of products whose channels run in lanes: the group, a tile of it, the script for any tile.
 *
 *     Y[f,p,q,b] = sum(c,r,s) X[c,p+r,q+s] * W[f,c,r,s,b]        b:16 in lanes
 *
 *     registers   f 2, q 14, b 16     28 vectors of sums; a step loads two of W, 14 numbers of X
 *     block       p 4, q 28           tiles that take turns, outside of them what is parallel
 *     terms       c 64                of a sum in a round; sums wait in memory for the next one
 *
 * product.c recognises groups, product_rules.c and product_tiles.c choose tiles, product_script.c
 * writes the script.
 */
#ifndef LOWER_CPU_PRODUCT_H
#define LOWER_CPU_PRODUCT_H

#include "lower/cpu/cpu.h"

enum {
	PRODUCT_LOOPS = 16,    /* shared loops, and loops of the sum, at most */
	PRODUCT_STRAIGHT = 16, /* steps of a window as straight code */
};

typedef struct Product {
	Coster coster;
	const Group *group;
	const Stage *stage;
	const Expr *x, *w; /* the factors: w has channels in lanes */
	bool unpacks_w;    /* w holds words, of which and of constants the factor is computed
	                    * (lower/codes.c) … */
	bool precomputes;  /* … and serves so many rows that it is worth storing */
	int lane;          /* shared iterator */
	int64_t lanes;     /* of a vector */
	bool is_cut;       /* the lane's loop has more iterations */
	bool widens_x;     /* x is of f16 or bf16 and computed as f32 */
	bool is_turned;    /* the result does not have the lanes side by side */
} Product;

/* Of shared loop k, and of loop i of the sum. */
typedef struct ProductTile {
	int64_t registers[PRODUCT_LOOPS]; /* iterations that are in registers at once; 1: no tile */
	int64_t block[PRODUCT_LOOPS]; /* iterations of a block, whose tiles take turns; 0: no block */
	int64_t terms[PRODUCT_LOOPS]; /* steps in a round of the sum; 0: all */
	int order[PRODUCT_LOOPS];     /* shared loops, outermost first; those with shorter last tiles
	                               * stand inside the others in any case */
} ProductTile;

/* Whether the group is such a product, by its k-th reading: k from 0 to 3. */
enum { PRODUCT_READINGS = 4 };
bool product_read(Product *p, int reading);
/* Iterations of a shared loop, or of a loop of the sum; 0: a symbol says it. */
int64_t product_extent(const Product *p, int shared);
int64_t product_terms(const Product *p, int i);
/* Elements between neighbours along a shared loop, in a factor; -1: it differs. */
int64_t product_stride(Product *p, const Expr *read, int shared);
/* Steps of the sum that a condition counts together with loops of the tile: they become straight
 * code, so that a border is tested once for a whole tile. False: it tells channels apart, or there
 * are too many. */
bool product_straight(const Product *p, const ProductTile *tile, bool *straight);
/* Whether a script can be written for it. */
bool product_is_legal(const Product *p, const ProductTile *tile);

/* One register tile by rules of thumb; false: none is full enough. (product_rules.c) */
bool product_rules(Product *p, ProductTile *tile);

/* Legal tiles by Roller, the best by its model first; at most `most`. (product_tiles.c) */
int product_tiles(Product *p, int most, ProductTile *tiles);

/* The script for a legal tile. (product_script.c) */
const Script *product_write(const Product *p, const ProductTile *tile, const Nest *nest);

#endif
