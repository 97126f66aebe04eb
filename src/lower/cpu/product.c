/* product_script: a tile of sums in registers, where one factor has a vector of channels.
 *
 *     Y[f,p,q,b] = sum(c,r,s where 0 <= q+s-1 …) X[c,p+r-1,q+s-1] * W[f,c,r,s,b]
 *
 *     split q 14 -> tile, u              14 positions of a row: each vector that is loaded of W
 *     reorder f, p, tile, b, u           serves all of them, and each of their sums takes one
 *     bind b @vector                     number of X
 *     fission u acc @reg -> u_1
 *     reorder c, r, s, u
 *     bind s @unroll                     what the border tests is then the same for a whole tile
 *
 * Where a row has few positions, several vectors of channels make the tile full, or it takes
 * images side by side. A depthwise convolution has its channels in lanes of both factors; then a
 * vector of W serves a row, too.
 */
#include "lower/cpu/cpu.h"

enum {
	MAX_UNROLLED = 16, /* steps of a window as straight code */
	MAX_BLOCKS = 4,    /* vectors of channels in a tile */
	FEWEST = 4,        /* sums in a tile: fewer wait for one another */
	FAR_ROWS = 8,      /* rows far apart may all lie in one set of the nearest cache: as many fit */
};

typedef struct Product {
	Coster coster;
	const Group *group;
	const Stage *stage;
	const Expr *x, *w;    /* the factors: w has channels in lanes */
	int lane;             /* shared iterators */
	int64_t lanes;        /* of a vector */
	bool is_cut;          /* the lane's loop has more iterations */
	int row, wide;        /* positions of x; blocks of channels, or -1 */
	int64_t rows, blocks; /* of each, in a tile */
	bool is_ragged;       /* the last tile of a row is shorter */
	bool *is_unrolled;    /* per iterator of the stage */
	bool is_turned;       /* the result does not have the lanes side by side */
} Product;

/* ---- recognising ----------------------------------------------------------------------------- */

static int64_t
extent_of(const Product *p, int shared)
{
	const Iter *iter = &p->group->root->iters[p->group->shared[shared]];
	int64_t extent;
	return dim_is(iter->lo, 0) && dim_is_const(iter->hi, &extent) ? extent : 0;
}

/* Elements between neighbours along the shared iterator; -1: it differs. */
static int64_t
stride_of(Product *p, const Stage *stage, int iter, const Tensor *tensor, const Expr *const *index)
{
	int64_t stride;
	p->coster.stage = stage;
	p->coster.iter = iter;
	return cost_stride(&p->coster, tensor, index, &stride) ? stride : -1;
}

static int64_t
read_stride(Product *p, const Expr *read, int shared)
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
	if (!stage_summed_product(stage))
		return false;
	for (int s = 0; s < group->program->nstage; s++)
		if (group->program->stages[s]->nloop != group->nshared ||
		    (s > 0 && group->program->stages[s]->kind != STAGE_map))
			return false;
	return true;
}

/* The steps of the sum that a vector of w takes lie in cache, and on few pages. */
static bool
is_near(Product *p)
{
	const Device *device = p->coster.target->device;
	int64_t span = dtype_bits(p->w->tensor->type) / 8;
	for (int i = p->stage->nloop; i < p->stage->nloop + p->stage->nreduce; i++) {
		int64_t stride, steps = probe_dim(p->coster.target, p->stage->iters[i].hi);
		p->coster.stage = p->stage;
		p->coster.iter = i;
		if (!cost_stride(&p->coster, p->w->tensor, p->w->arg, &stride))
			return false;
		span = probe_times(span, stride > 0 ? probe_times(stride, steps) : 1);
	}
	return span <= device->l2 / 4;
}

/* A whole vector of w, or half of one, that is all of a loop; or a longer loop, to be cut. */
static bool
find_lane(Product *p, bool is_cut)
{
	p->lanes = target_lanes(p->coster.target, p->w->tensor->type);
	p->is_cut = is_cut;
	for (p->lane = p->group->nshared - 1; p->lane >= 0; p->lane--) {
		int64_t extent = extent_of(p, p->lane);
		bool is_whole = extent > 1 && (extent == p->lanes || extent == half_lanes(p->lanes));
		if ((is_cut ? extent > p->lanes : is_whole) && read_stride(p, p->w, p->lane) == 1)
			return !is_cut || is_near(p);
	}
	return false;
}

/* Of the loops before `end`, the innermost along which one factor moves and the other does not; -1:
 * none. */
static int
find_loop(Product *p, int end, const Expr *moving, const Expr *still)
{
	for (int k = end - 1; k >= 0; k--)
		if (k != p->lane && extent_of(p, k) > 1 && read_stride(p, still, k) == 0 &&
		    read_stride(p, moving, k) != 0)
			return k;
	return -1;
}

/* With operand k of the product as w. */
static bool
find_factors(Product *p, int k, bool is_cut)
{
	const Expr *body = stage_summed_product(p->stage);
	p->w = expr_without_casts(body->arg[k]);
	p->x = expr_without_casts(body->arg[1 - k]);
	if (p->w->op != EX_read || p->x->op != EX_read || !find_lane(p, is_cut))
		return false;
	int64_t along = read_stride(p, p->x, p->lane);
	p->wide = find_loop(p, p->group->nshared, p->w, p->x);
	return along == 0 || along == 1;
}

/* Steps that a condition counts together with positions become straight code. False where a
 * condition tells channels apart, or a window is too long. */
static bool
unroll_guard(Product *p, const Expr *guard)
{
	if (guard->op == EX_and)
		return unroll_guard(p, guard->arg[0]) && unroll_guard(p, guard->arg[1]);
	const int *map = p->group->map[0];
	if (expr_uses_iter(guard, map[p->lane]) ||
	    (p->wide >= 0 && expr_uses_iter(guard, map[p->wide])))
		return false;
	for (int i = p->stage->nloop; i < p->stage->nloop + p->stage->nreduce; i++) {
		int64_t extent;
		if (!expr_uses_iter(guard, map[p->row]) || !expr_uses_iter(guard, i))
			continue;
		p->is_unrolled[i] = true;
		if (!dim_is_const(p->stage->iters[i].hi, &extent) || extent > MAX_UNROLLED)
			return false;
	}
	return true;
}

/* ---- the tile -------------------------------------------------------------------------------- */

/* Positions in a tile at most. */
static int64_t
most_rows(Product *p, int64_t sums)
{
	int64_t stride = read_stride(p, p->x, p->row);
	bool is_far = p->wide >= 0 && cost_is_far(p->x->tensor, stride);
	return is_far && sums > FAR_ROWS ? FAR_ROWS : sums;
}

/* The fullest tile of whole rows and blocks, with so many sums at most: with `enough` of them, the
 * one with more rows, since then weights serve more often. */
static int64_t
find_whole_tile(Product *p, int64_t enough, int64_t most)
{
	int64_t positions = extent_of(p, p->row), longest = most_rows(p, most), best = 0;
	int64_t blocks = p->wide >= 0 ? extent_of(p, p->wide) : 1;
	for (int64_t wide = 1; wide <= MAX_BLOCKS; wide++)
		for (int64_t rows = 1; rows <= longest && rows * wide <= most; rows++) {
			bool fits = blocks % wide == 0 && positions % rows == 0;
			bool is_fuller = rows * wide > best && (best < enough || rows > p->rows);
			if (!fits || !is_fuller)
				continue;
			best = rows * wide;
			p->rows = rows;
			p->blocks = wide;
		}
	return best;
}

/* As many sums as fit into registers beside the factors: half of them is enough, and the C compiler
 * manages five eighths. A row that has no whole tiles, as one of 113 positions, gets nearly equal
 * ones, and a shorter last one. How many there are; 0: too few. */
static int64_t
choose_tile(Product *p, int64_t enough)
{
	int64_t most = enough + enough / 4, positions = extent_of(p, p->row);
	int64_t best = find_whole_tile(p, enough, most);
	p->is_ragged = positions > most && best < most / 2;
	if (!p->is_ragged)
		return best >= FEWEST && p->rows > 1 ? best : 0;
	int64_t longest = most_rows(p, enough), tiles = (positions + longest - 1) / longest;
	p->rows = (positions + tiles - 1) / tiles;
	p->blocks = 1;
	return enough;
}

/* The innermost row that fills a tile; where none does, a loop further out, as that of images, that
 * is twice as long in it: weights serve twice as often. */
static bool
find_row(Product *p)
{
	const Stage *stage = p->stage;
	int64_t enough = p->coster.target->device->registers / 2, sums = 0;
	p->rows = 0;
	Product best = *p;
	p->row = p->group->nshared;
	while (sums < enough && (p->row = find_loop(p, p->row, p->x, p->w)) >= 0) {
		p->is_unrolled = NEW_N(p->coster.arena, bool, stage->nloop + stage->nreduce + 1);
		int64_t count = stage->guard && !unroll_guard(p, stage->guard) ? 0 : choose_tile(p, enough);
		if (count == 0 || count < sums || p->rows < 2 * best.rows)
			continue;
		best = *p;
		sums = count;
	}
	*p = best;
	return sums > 0;
}

static bool
recognise(Product *p)
{
	if (p->coster.target->is_plain || !is_sum_of_products(p->group))
		return false;
	for (int k = 0; k < 4; k++) {
		if (!find_factors(p, k % 2, k >= 2) || !find_row(p))
			continue;
		p->is_turned = result_stride(p, p->lane) != 1;
		if (!p->is_turned || (!p->is_cut && p->coster.program->noutput == 1))
			return true;
	}
	return false;
}

/* Whether a block of channels should be done with before the next: all weights together are too
 * many to stay in cache until the next row. */
static bool
is_by_channels(Product *p)
{
	const Stage *stage = p->stage;
	int64_t bytes = dtype_bits(p->w->tensor->type) / 8;
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		bool moves = false;
		for (int d = 0; d < p->w->argc; d++)
			moves |= expr_uses_iter(p->w->arg[d], i);
		if (moves)
			bytes = probe_times(bytes, probe_dim(p->coster.target, stage->iters[i].hi));
	}
	return bytes > p->coster.target->device->l2 / 2;
}

/* ---- the script ------------------------------------------------------------------------------ */

typedef struct Writer {
	const Product *p;
	const Nest *nest;
	ScriptWriter script;
} Writer;

/* Loop k in pieces of so many: their loop, and in *inner the loop of a piece. */
static const char *
write_split(Writer *w, int k, int64_t size, const char *outer, const char **inner)
{
	outer = script_name(&w->script, outer);
	*inner = script_name(&w->script, *inner);
	script_split(&w->script, w->nest->shared[k]->var->name, size, outer, *inner);
	return outer;
}

/* The shared loops, where they are cut the two of each; NULL: there is none. */
typedef struct Loops {
	const char *blocks, *tile, *vectors; /* outside */
	const char *lane, *block, *row;      /* inside */
} Loops;

static Loops
write_splits(Writer *w)
{
	const Product *p = w->p;
	Loops l = {.lane = "lane", .block = "v", .row = "u"};
	l.tile = write_split(w, p->row, p->rows, "tile", &l.row);
	if (p->blocks > 1) {
		l.blocks = write_split(w, p->wide, p->blocks, "blocks", &l.block);
	} else {
		l.block = NULL;
		l.blocks = p->wide >= 0 ? w->nest->shared[p->wide]->var->name : NULL;
	}
	if (p->is_cut)
		l.vectors = write_split(w, p->lane, p->lanes, "vectors", &l.lane);
	else
		l.lane = w->nest->shared[p->lane]->var->name;
	return l;
}

static void
add_loop(const Writer *w, StrVec *loops, const char *loop)
{
	if (loop)
		vec_push(w->script.arena, loops, loop);
}

/* Parallel loops outside, the lanes, the tile. Loops with a shorter last piece are cut where that
 * begins, so they are serial. */
static void
write_shared(Writer *w, const Loops *l, bool by_channels)
{
	const Product *p = w->p;
	StrVec loops = {0};
	bool has_tail = p->is_cut && extent_of(p, p->lane) % p->lanes != 0;
	add_loop(w, &loops, by_channels ? l->blocks : NULL);
	for (int k = 0; k < p->group->nshared; k++)
		if (k != p->row && k != p->wide && k != p->lane)
			add_loop(w, &loops, w->nest->shared[k]->var->name);
	add_loop(w, &loops, by_channels ? NULL : l->blocks);
	add_loop(w, &loops, has_tail ? NULL : l->vectors);
	int parallel = loops.count + !p->is_ragged;
	add_loop(w, &loops, l->tile);
	add_loop(w, &loops, has_tail ? l->vectors : NULL);
	add_loop(w, &loops, l->lane);
	add_loop(w, &loops, l->block);
	add_loop(w, &loops, l->row);
	script_reorder(&w->script, loops.count, loops.data);
	for (int i = 0; i < parallel; i++)
		script_bind(&w->script, loops.data[i], BIND_PARALLEL);
}

/* Behind a tile, its results are turned, so that runs of a row are stored. */
static void
write_turned(Writer *w, const Loops *l)
{
	const NestStage *last = &w->nest->stages[w->p->group->program->nstage - 1];
	const char *turned = script_name(&w->script, "turned");
	ScriptStep *step = script_step(&w->script, PRIM_cache_write, l->tile);
	step->scope = SCOPE_STACK;
	vec_push(w->script.arena, &step->buffers, last->last->tensor.name);
	vec_push(w->script.arena, &step->made, turned);
	script_bind(&w->script, arena_printf(w->script.arena, "%s_%d", turned, l->block ? 2 : 1),
	            BIND_VECTOR);
}

/* Behind the sums of a loop of the tile comes another one for what is done with them. */
static void
write_fission(Writer *w, const char *loop)
{
	const char *behind = script_name(&w->script, loop);
	script_fission(&w->script, loop, 1, w->nest->stages[0].acc, SCOPE_REG, behind);
	script_bind(&w->script, behind, BIND_UNROLL);
}

static void
write_sum(Writer *w, const Loops *l)
{
	const Product *p = w->p;
	const NestStage *nest = &w->nest->stages[0];
	StrVec loops = {0};
	write_fission(w, l->row);
	if (l->block)
		write_fission(w, l->block);
	for (int i = p->stage->nloop; i < p->stage->nloop + p->stage->nreduce; i++)
		vec_push(w->script.arena, &loops, nest->iters[i]->var->name);
	if (l->block)
		vec_push(w->script.arena, &loops, l->block);
	vec_push(w->script.arena, &loops, l->row);
	script_reorder(&w->script, loops.count, loops.data);
	for (int i = p->stage->nloop; i < p->stage->nloop + p->stage->nreduce; i++)
		if (p->is_unrolled[i])
			script_bind(&w->script, nest->iters[i]->var->name, BIND_UNROLL);
	if (l->block)
		script_bind(&w->script, l->block, BIND_UNROLL);
	script_bind(&w->script, l->row, BIND_UNROLL);
}

const Script *
product_script(Arena *arena, const Group *group, const Target *target, const Nest *nest)
{
	Product p = {.coster = {.arena = arena, .program = group->program, .target = target},
	             .group = group,
	             .stage = group->program->stages[0]};
	Writer w = {.p = &p, .nest = nest, .script = script_writer(arena, nest->names)};
	if (!recognise(&p))
		return NULL;
	const Loops loops = write_splits(&w);
	write_shared(&w, &loops, is_by_channels(&p));
	if (p.is_turned)
		write_turned(&w, &loops);
	script_bind(&w.script, loops.lane, BIND_VECTOR);
	write_sum(&w, &loops);
	return w.script.script;
}
