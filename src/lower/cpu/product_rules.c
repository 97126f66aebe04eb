/* product_rules(): a tile of whole rows, where they fill registers, by rules of thumb.
 *
 *     rows      the innermost loop along which x moves and w does not: 14 positions of a row, so
 *               that each vector that is loaded of w serves all of them
 *     blocks    where a row has few positions, several vectors of channels make the tile full, or
 *               it takes images side by side
 *
 * A depthwise convolution has its channels in lanes of both factors; then a vector of w serves a
 * row, too.
 */
#include <math.h>

#include "lower/cpu/product.h"

enum {
	MAX_BLOCKS = 6,  /* vectors of channels in a tile, … */
	MAX_FEW = 4,     /* … and where it has few sums */
	MAX_TURNS = 4,   /* tiles of other channels, for which a copy of x serves */
	FEWEST = 4,      /* sums in a tile: fewer wait for one another */
	FEWEST_USES = 8, /* of a factor that is stored, rather than computed each time */
	FAR_BITS = 256 * 8,
	FAR_ROWS = 8, /* rows far apart may all lie in one set of the nearest cache: as many fit */
};

typedef struct Rules {
	Product *p;
	int row, wide;        /* positions of x; blocks of channels, or -1 */
	int64_t rows, blocks; /* of each, in a tile */
} Rules;

/* Of the loops before `end`, the innermost along which one factor moves and the other does not; -1:
 * none. */
static int
find_loop(Product *p, int end, const Expr *moving, const Expr *still)
{
	for (int k = end - 1; k >= 0; k--)
		if (k != p->lane && product_extent(p, k) > 1 && product_stride(p, still, k) == 0 &&
		    product_stride(p, moving, k) != 0)
			return k;
	return -1;
}

/* Positions in a tile at most. */
static int64_t
most_rows(Rules *r, int64_t sums)
{
	int64_t stride = product_stride(r->p, r->p->x, r->row);
	bool is_far =
		r->wide >= 0 && fabs((double)stride) * dtype_bits(r->p->x->tensor->type) >= FAR_BITS;
	return is_far && sums > FAR_ROWS ? FAR_ROWS : sums;
}

/* Straight code at borders keeps more of both factors, several vectors of a loop that is cut lie
 * apart, and what is unpacked takes registers. */
static bool
wants_few(const Rules *r)
{
	return r->p->stage->guard || r->p->is_cut || r->p->unpacks_w;
}

/* Whether registers hold its sums, the factor of which there is less, and a number of the other. */
static bool
fits(const Rules *r, int64_t rows, int64_t wide, int64_t most)
{
	int64_t factors = rows < wide ? rows : wide;
	return wants_few(r) ? rows * wide <= most && wide <= MAX_FEW
	                    : rows * wide + factors < r->p->coster.target->device->registers;
}

/* The tile of whole rows and blocks that loads least for each product; of few sums the fullest, and
 * with `enough` sums, the one with more rows, since then weights serve more often. */
static int64_t
find_whole_tile(Rules *r, int64_t enough, int64_t most)
{
	int64_t positions = product_extent(r->p, r->row), best = 0;
	int64_t longest = most_rows(r, wants_few(r) ? most : positions);
	int64_t blocks = r->wide >= 0 ? product_extent(r->p, r->wide) : 1;
	for (int64_t wide = 1; wide <= MAX_BLOCKS; wide++)
		for (int64_t rows = 1; rows <= longest && fits(r, rows, wide, most); rows++) {
			bool is_fuller = rows * wide > best && (best < enough || rows > r->rows);
			bool loads_less =
				best == 0 || (rows + wide) * best < (r->rows + r->blocks) * rows * wide;
			bool is_better = wants_few(r) ? is_fuller : loads_less;
			if (blocks % wide != 0 || positions % rows != 0 || !is_better)
				continue;
			best = rows * wide;
			r->rows = rows;
			r->blocks = wide;
		}
	return best;
}

/* As many sums as fit into registers beside the factors: half of them is enough, and the C compiler
 * manages five eighths. A row that has no whole tiles, as one of 113 positions, gets nearly equal
 * ones, and a shorter last one. How many there are; 0: too few. */
static int64_t
choose_tile(Rules *r, int64_t enough)
{
	int64_t most = enough + enough / 4, positions = product_extent(r->p, r->row);
	int64_t best = find_whole_tile(r, enough, most);
	if (positions <= most || best >= most / 2)
		return best >= FEWEST && r->rows > 1 ? best : 0;
	int64_t longest = most_rows(r, enough), tiles = (positions + longest - 1) / longest;
	r->rows = (positions + tiles - 1) / tiles;
	r->blocks = 1;
	return enough;
}

/* Whether a block of channels should be done with before the next: all weights together are too
 * many to stay in cache until the next row. */
static bool
is_by_channels(const Product *p)
{
	const Stage *stage = p->stage;
	int64_t bytes = dtype_bits(p->w->tensor->type) / 8;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++)
		if (expr_uses_iter(p->w, i))
			bytes = probe_times(bytes, probe_dim(p->coster.target, stage->iters[i].hi));
	return bytes > p->coster.target->device->l2 / 2;
}

/* Tiles that take turns where x is copied for them: as many as divide. */
static int64_t
choose_turns(const Rules *r)
{
	int64_t tiles = r->wide >= 0 ? product_extent(r->p, r->wide) / r->blocks : 1;
	int64_t turns = r->p->widens_x && tiles > 0 ? MAX_TURNS : 1;
	while (tiles % turns != 0)
		turns--;
	return turns > 1 ? turns * r->blocks : 0;
}

/* The tile, and its loops: blocks of channels outside or inside of the others, then those of
 * vectors and of the row. */
static ProductTile
make_tile(const Rules *r)
{
	const Product *p = r->p;
	ProductTile tile = {.order = {0}};
	int count = 0;
	bool by_channels = is_by_channels(p) || p->unpacks_w;
	int64_t rows = product_extent(p, r->row);
	bool has_tail = p->is_cut && product_extent(p, p->lane) % p->lanes != 0;
	for (int k = 0; k < p->group->nshared; k++)
		tile.registers[k] = 1;
	tile.registers[r->row] = r->rows;
	tile.registers[p->lane] = p->lanes;
	if (r->wide >= 0) {
		tile.registers[r->wide] = r->blocks;
		tile.block[r->wide] = choose_turns(r);
	}
	if (p->precomputes && rows > 0 && rows % r->rows == 0)
		tile.block[r->row] = rows; /* all rows take turns behind what is stored */
	if (by_channels && r->wide >= 0)
		tile.order[count++] = r->wide;
	for (int k = 0; k < p->group->nshared; k++)
		if (k != r->row && k != r->wide && k != p->lane)
			tile.order[count++] = k;
	if (!by_channels && r->wide >= 0)
		tile.order[count++] = r->wide;
	tile.order[count++] = has_tail ? r->row : p->lane;
	tile.order[count++] = has_tail ? p->lane : r->row;
	return tile;
}

static int64_t
probe_rows(const Product *p, int row)
{
	return probe_dim(p->coster.target, p->group->root->iters[p->group->shared[row]].hi);
}

/* A sum that fits into one word of few bits reads the same word in all its terms: there is nothing
 * to lay out in front of it. */
static bool
reads_by_terms(const Product *p)
{
	for (int d = 0; d < p->w->argc; d++)
		for (int i = 0; i < p->stage->nreduce; i++)
			if (expr_uses_iter(p->w->arg[d], p->stage->nloop + i))
				return true;
	return false;
}

/* The innermost row that fills a tile; where none does, a loop further out, as that of images, that
 * is twice as long in it: weights serve twice as often. */
bool
product_rules(Product *p, ProductTile *tile)
{
	int64_t enough = p->coster.target->device->registers / 2, sums = 0, longest = 0;
	bool straight[PRODUCT_LOOPS];
	Rules r = {.p = p, .row = p->group->nshared};
	r.wide = find_loop(p, p->group->nshared, p->w, p->x);
	if (r.wide >= 0 && p->stage->guard && expr_uses_iter(p->stage->guard, p->group->map[0][r.wide]))
		return false;
	while (sums < enough && (r.row = find_loop(p, r.row, p->x, p->w)) >= 0) {
		r.rows = r.blocks = 1;
		p->precomputes = p->unpacks_w && reads_by_terms(p) && probe_rows(p, r.row) >= FEWEST_USES;
		int64_t count = choose_tile(&r, enough);
		const ProductTile found = make_tile(&r);
		if (count == 0 || count < sums || r.rows < 2 * longest ||
		    !product_straight(p, &found, straight))
			continue;
		*tile = found;
		sums = count;
		longest = r.rows;
	}
	return sums > 0;
}
