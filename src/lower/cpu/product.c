/* Sums of products whose channels run in lanes (product.h): recognising them, and which tiles are
 * legal.
 */
#include <string.h>

#include "lower/cpu/product.h"

enum {
	MOST_SUMS = 32,       /* vectors in a tile, of any device */
	MOST_STRAIGHT = 1024, /* multiply-adds of a step that is straight code */
	CANDIDATES = 9,       /* of Roller's */
};

/* ---- recognising ----------------------------------------------------------------------------- */

int64_t
product_extent(const Product *p, int shared)
{
	return iter_extent(&p->group->root->iters[p->group->shared[shared]]);
}

int64_t
product_terms(const Product *p, int i)
{
	return iter_extent(&p->stage->iters[p->stage->nloop + i]);
}

static int64_t
stride_of(Product *p, const Stage *stage, int iter, const Tensor *tensor, const Expr *const *index)
{
	int64_t stride;
	p->coster.stage = stage;
	p->coster.iter = iter;
	return cost_stride(&p->coster, tensor, index, &stride) ? stride : -1;
}

int64_t
product_stride(Product *p, const Expr *read, int shared)
{
	return stride_of(p, p->stage, p->group->map[0][shared], read->tensor, read->arg);
}

static int64_t
result_stride(Product *p, int shared)
{
	const Stage *root = p->group->root;
	const Expr **index = NEW_N(p->coster.arena, const Expr *, root->nloop + root->nreduce + 1);
	stage_identity(p->coster.program->ctx, root->nloop, index);
	return stride_of(p, root, p->group->shared[shared], root->results[0], index);
}

static bool
is_sum_of_products(const Group *group)
{
	const Stage *stage = group->program->stages[0];
	if (!stage_summed_product(stage) || group->nshared > PRODUCT_LOOPS ||
	    stage->nreduce > PRODUCT_LOOPS)
		return false;
	for (int s = 0; s < group->program->nstage; s++)
		if (group->program->stages[s]->nloop != group->nshared ||
		    (s > 0 && group->program->stages[s]->kind != STAGE_map))
			return false;
	return true;
}

/* A whole vector of w, or half of one, that is all of a loop; or a longer loop, to be cut. */
static bool
find_lane(Product *p)
{
	p->lanes = target_lanes(p->coster.target, (DType)stage_summed_product(p->stage)->type);
	for (p->lane = p->group->nshared - 1; p->lane >= 0; p->lane--) {
		int64_t extent = product_extent(p, p->lane);
		bool is_whole = extent > 1 && (extent == p->lanes || extent == half_lanes(p->lanes));
		if (!(p->is_cut ? extent > p->lanes : is_whole) || product_stride(p, p->w, p->lane) != 1)
			continue;
		p->lanes = p->is_cut ? p->lanes : extent;
		return true;
	}
	return false;
}

/* What a factor is read from: what its casts are of, or the words that it unpacks. */
static const Expr *
factor_read(const Expr *factor)
{
	const Expr *found = expr_without_casts(factor);
	for (ExprWalk walk = expr_walk(factor); expr_step(&walk);)
		if (found->op != EX_read && walk.e->op == EX_read && walk.e->tensor->type == DT_U32)
			found = walk.e;
	return found;
}

/* Either factor is w; loops that are vectors come first. */
bool
product_read(Product *p, int reading)
{
	if (p->coster.target->is_plain || !is_sum_of_products(p->group))
		return false;
	const Expr *body = stage_summed_product(p->stage);
	p->is_cut = reading >= 2;
	p->w = factor_read(body->arg[reading % 2]);
	p->unpacks_w = p->w != expr_without_casts(body->arg[reading % 2]);
	p->x = expr_without_casts(body->arg[1 - reading % 2]);
	if (p->w->op != EX_read || p->x->op != EX_read || (p->unpacks_w && p->is_cut) || !find_lane(p))
		return false;
	p->widens_x = dtype_is_short_float(p->x->tensor->type) && body->type == DT_F32;
	int64_t along = product_stride(p, p->x, p->lane);
	p->is_turned = result_stride(p, p->lane) != 1;
	return (along == 0 || along == 1) &&
	       (!p->is_turned || (!p->is_cut && p->coster.program->noutput == 1));
}

/* ---- what is legal --------------------------------------------------------------------------- */

static bool
find_straight(const Product *p, const ProductTile *tile, const Expr *guard, bool *straight)
{
	if (guard->op == EX_and)
		return find_straight(p, tile, guard->arg[0], straight) &&
		       find_straight(p, tile, guard->arg[1], straight);
	bool has_tile = false;
	for (int k = 0; k < p->group->nshared; k++) {
		int iter = p->group->map[0][k];
		bool is_row = k != p->lane && tile->registers[k] > 1 && expr_uses_iter(p->x, iter);
		if (!expr_uses_iter(guard, iter) || (k != p->lane && tile->registers[k] == 1))
			continue;
		if (!is_row)
			return false;
		has_tile = true;
	}
	for (int i = 0; i < p->stage->nreduce && has_tile; i++) {
		int64_t extent = product_terms(p, i);
		if (!expr_uses_iter(guard, p->stage->nloop + i))
			continue;
		straight[i] = true;
		if (extent == 0 || extent > PRODUCT_STRAIGHT)
			return false;
	}
	return true;
}

bool
product_straight(const Product *p, const ProductTile *tile, bool *straight)
{
	for (int i = 0; i < p->stage->nreduce; i++)
		straight[i] = false;
	return !p->stage->guard || find_straight(p, tile, p->stage->guard, straight);
}

/* A block is of whole tiles: where there is one, its sums may wait in memory for the next round of
 * terms. */
static bool
is_legal_loop(const Product *p, const ProductTile *tile, int k)
{
	int64_t extent = product_extent(p, k), size = tile->registers[k];
	if (size < 1 || (extent > 0 && size > extent) ||
	    (k == p->lane ? size != p->lanes : size > MOST_SUMS))
		return false;
	return tile->block[k] == 0 || (extent > 0 && extent % size == 0 && tile->block[k] % size == 0 &&
	                               tile->block[k] > 0 && tile->block[k] <= extent);
}

static bool
is_permutation(const Product *p, const ProductTile *tile)
{
	bool seen[PRODUCT_LOOPS] = {false};
	for (int k = 0; k < p->group->nshared; k++) {
		int at = tile->order[k];
		if (at < 0 || at >= p->group->nshared || seen[at])
			return false;
		seen[at] = true;
	}
	return true;
}

bool
product_is_legal(const Product *p, const ProductTile *tile)
{
	int64_t sums = 1, steps = 1;
	bool straight[PRODUCT_LOOPS], has_round = false, is_whole = true, is_legal = true;
	for (int k = 0; k < p->group->nshared; k++) {
		int64_t extent = product_extent(p, k);
		is_legal = is_legal && is_legal_loop(p, tile, k);
		if (!is_legal)
			return false;
		sums = probe_times(sums, k == p->lane ? 1 : tile->registers[k]);
		is_whole &= tile->registers[k] == 1 || (extent > 0 && extent % tile->registers[k] == 0);
	}
	for (int i = 0; i < p->stage->nreduce; i++) {
		int64_t extent = product_terms(p, i), terms = tile->terms[i];
		if (terms < 0 || (terms > 0 && (extent == 0 || terms >= extent)))
			return false;
		has_round |= terms > 0;
	}
	if (sums > MOST_SUMS || !is_permutation(p, tile) || !product_straight(p, tile, straight))
		return false;
	for (int i = 0; i < p->stage->nreduce; i++) {
		steps = straight[i] ? steps * product_terms(p, i) : steps;
		if (straight[i] && tile->terms[i] > 0)
			return false;
	}
	return sums * steps <= MOST_STRAIGHT && (!has_round || (is_whole && !p->is_turned));
}

/* Candidate k: that of the rules, then those of Roller's. */
static const ProductTile *
find_candidate(Product *p, const ProductTile *rules, int *candidate)
{
	ProductTile *tiles = NEW_N(p->coster.arena, ProductTile, CANDIDATES);
	int k = *candidate, count = 0;
	if (k > 0 && !p->unpacks_w)
		count = product_tiles(p, CANDIDATES, tiles);
	(*candidate)--;
	if (k == 0)
		return rules;
	for (int i = 0; i < count; i++)
		if (memcmp(&tiles[i], rules, sizeof *rules) != 0 && (*candidate)-- == 0)
			return &tiles[i];
	return NULL;
}

const Script *
product_script(Arena *arena, const Group *group, const Target *target, const Nest *nest,
               int *candidate)
{
	Product p = {.coster = {.arena = arena, .program = group->program, .target = target},
	             .group = group,
	             .stage = group->program->stages[0]};
	ProductTile rules;
	for (int i = 0; i < PRODUCT_READINGS; i++)
		if (product_read(&p, i) && product_rules(&p, &rules)) {
			const ProductTile *tile = find_candidate(&p, &rules, candidate);
			return tile ? product_write(&p, tile, nest) : NULL;
		}
	return NULL;
}
