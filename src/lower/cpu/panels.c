/* panels_script: a product of two matrices of which neither is known before (Goto and van de Geijn,
 * "Anatomy of High-Performance Matrix Multiplication", 2008).
 *
 *     Y[m,n] = sum(k) X[m,k] * W[k,n]
 *
 *     piece      rows and columns of Y, in parallel
 *     panels     what W has for the columns of a piece is copied in the order in which tiles read
 *                it, so that it lies in few pages, and stays in cache while all rows go by
 *     tile       rows and vectors of sums, in registers until all terms are added; the rows of X
 *                are read where they lie
 *
 * With few rows a copy serves too seldom: then tiles read W where it lies, several vectors at once,
 * and each column once.
 *
 * Any dim may be a symbol, and none needs a divisor: tiles are whole (split_whole), panels go on
 * behind the end, and what is stored is guarded. Pieces are tiles of the outermost cache of
 * Roller's first program (src/roller) at the probe sizes, those of its next programs are the other
 * candidates.
 */
#include "lower/cpu/cpu.h"
#include "roller/roller.h"

enum {
	FEWEST_USES = 8,   /* of a number that a piece copies */
	FEWEST_TERMS = 16, /* of a sum */
	LEAST_TILE = 4,    /* rows of a tile */
	CANDIDATES = 10,   /* sizes to make scripts of, the first included, … */
	PROGRAMS = 96,   /* … of so many programs, whose tiles in registers may be all that differs */
	OPEN_PIECE = 64, /* rows or columns of a piece at least, where a symbol says how many */
};

typedef struct Panels {
	Coster coster;
	const Group *group;
	const Stage *stage;
	const Nest *nest;
	const Expr *x, *w;   /* reads: of rows, and of columns, which run in lanes */
	int row, column;     /* shared loops */
	int sum;             /* iterator of the stage */
	int64_t rows, lanes; /* of a tile; vectors of it: */
	int64_t vectors;
	int64_t m, n;  /* of a piece */
	bool copies_w; /* else its vectors are read where they lie */
	bool turns_w;  /* terms lie side by side, and columns apart */
	bool copies_x; /* terms lie apart: a term of all rows of a tile comes to lie side by side; or
	                * they are of f16 or bf16, and the copy of f32 */
} Panels;

/* ---- recognising ----------------------------------------------------------------------------- */

static const Iter *
shared_iter(const Panels *p, int k)
{
	return &p->group->root->iters[p->group->shared[k]];
}

/* At the probe sizes. */
static int64_t
extent_of(const Panels *p, const Iter *iter)
{
	return probe_dim(p->coster.target, iter->hi);
}

static int64_t
shared_extent(const Panels *p, int k)
{
	return extent_of(p, shared_iter(p, k));
}

static bool
is_open(const Iter *iter)
{
	int64_t extent;
	return !dim_is_const(iter->hi, &extent);
}

/* The dim of the tensor whose index is this iterator, and no other's holds it; -1: none. */
static int
dim_along(const Expr *read, int iter)
{
	int found = -1;
	for (int d = 0; d < read->argc; d++) {
		const Expr *index = read->arg[d];
		if (!expr_uses_iter(index, iter))
			continue;
		if (found >= 0 || index->op != EX_iter)
			return -1;
		found = d;
	}
	return found;
}

/* The longest shared loop along which one factor has a dim and the other does not move. */
static int
find_loop(const Panels *p, const Expr *moving, const Expr *still)
{
	int found = -1;
	for (int k = 0; k < p->group->nshared; k++) {
		int iter = p->group->map[0][k];
		if (dim_along(moving, iter) >= 0 && !expr_uses_iter(still, iter) &&
		    (found < 0 || shared_extent(p, k) > shared_extent(p, found)))
			found = k;
	}
	return found;
}

/* Whether a factor is stored in blocks of lanes: a vector's loop lies side by side, and there is
 * another that moves this factor alone. */
static bool
is_in_blocks(const Panels *p, const Expr *factor, const Expr *other)
{
	bool has_lanes = false;
	int loops = 0;
	for (int k = 0; k < p->group->nshared; k++) {
		int iter = p->group->map[0][k];
		int64_t extent = shared_extent(p, k);
		loops += expr_uses_iter(factor, iter) && !expr_uses_iter(other, iter);
		has_lanes |= dim_along(factor, iter) == factor->argc - 1 &&
		             (extent == p->lanes || extent == half_lanes(p->lanes));
	}
	return has_lanes && loops > 1;
}

/* With operand i of the product as w. Columns are what lies side by side in the result. */
static bool
find_factors(Panels *p, int i)
{
	const Expr *body = stage_summed_product(p->stage);
	p->w = expr_without_casts(body->arg[i]);
	p->x = expr_without_casts(body->arg[1 - i]);
	if (p->w->op != EX_read || p->x->op != EX_read || p->w->tensor == p->x->tensor)
		return false;
	p->row = find_loop(p, p->x, p->w);
	p->column = find_loop(p, p->w, p->x);
	return p->row >= 0 && p->column >= 0 &&
	       p->group->shared[p->column] == p->group->root->nloop - 1 &&
	       !is_in_blocks(p, p->x, p->w) && !is_in_blocks(p, p->w, p->x) &&
	       dim_along(p->x, p->sum) >= 0 && dim_along(p->w, p->sum) >= 0;
}

/* The argument of the kernel that a factor is read from. */
static const Buffer *
argument_of(const Panels *p, const Expr *read)
{
	int i = 0;
	while (p->group->program->inputs[i] != read->tensor)
		i++;
	return p->nest->arguments[i];
}

/* Bytes between neighbours along an iterator; the argument may be a view. */
static int64_t
bytes_between(Panels *p, const Expr *read, int iter)
{
	int64_t stride = 0;
	const Buffer *argument = argument_of(p, read);
	p->coster.stage = p->stage;
	p->coster.iter = iter;
	if (argument->stride)
		stride = probe_dim(p->coster.target, argument->stride[dim_along(read, iter)]);
	else if (!cost_stride(&p->coster, read->tensor, read->arg, &stride))
		stride = INT64_MAX;
	return probe_times(stride, dtype_bits(read->tensor->type) / 8);
}

/* Rows of x begin in the same sets of the nearest cache, so that few of them stay there. */
static bool
rows_meet(Panels *p, int64_t bytes)
{
	const MemLevel *nearest = &p->coster.target->device->levels[1]; /* behind registers */
	return bytes % (nearest->banks * nearest->bank_bytes) == 0;
}

static int64_t
element_bytes(const Expr *read)
{
	return dtype_bits(read->tensor->type) / 8;
}

/* Of columns for all terms. */
static int64_t
bytes_of_columns(const Panels *p)
{
	int64_t bytes = probe_times(element_bytes(p->w), shared_extent(p, p->column));
	return probe_times(bytes, extent_of(p, &p->stage->iters[p->sum]));
}

/* Whether vectors of w cost more where they lie: columns lie apart, are not in whole tiles, or of
 * another type; rows of x meet; or w is read again and again from a cache far away, or from one
 * nearer by vectors that cross its lines. */
static bool
copies_pay(Panels *p)
{
	const Device *device = p->coster.target->device;
	int row = p->group->map[0][p->row], column = p->group->map[0][p->column];
	int64_t bytes = bytes_of_columns(p);
	bool is_crossed = bytes_between(p, p->w, p->sum) % device->vector_bytes != 0;
	return is_open(shared_iter(p, p->column)) ||
	       shared_extent(p, p->column) % (p->lanes * p->vectors) != 0 ||
	       dtype_is_short_float(p->w->tensor->type) ||
	       bytes_between(p, p->w, column) != element_bytes(p->w) ||
	       bytes >= (is_crossed ? device->l2 : 2 * device->l2) ||
	       rows_meet(p, bytes_between(p, p->x, row));
}

static bool
begins_at_zero(const Panels *p)
{
	return dim_is(shared_iter(p, p->row)->lo, 0) && dim_is(shared_iter(p, p->column)->lo, 0) &&
	       dim_is(p->stage->iters[p->sum].lo, 0);
}

/* Whether the factor is read at another place, too: what a tile reads of it is then no panel. */
static bool
is_read_apart(const Panels *p, const Expr *factor)
{
	const Program *program = p->group->program;
	for (int s = 0; s < program->nstage; s++)
		for (ExprWalk walk = stage_walk(program->stages[s]); expr_step(&walk);)
			if (walk.e->op == EX_read && walk.e != factor && walk.e->tensor == factor->tensor)
				return true;
	return false;
}

static bool
has_rows_and_columns(const Panels *p)
{
	return shared_extent(p, p->row) > 0 && shared_extent(p, p->column) > 0;
}

static bool
recognise(Panels *p)
{
	const Program *program = p->group->program;
	p->sum = p->stage->nloop;
	if (p->coster.target->is_plain || !stage_summed_product(p->stage) || p->stage->guard ||
	    p->stage->nreduce != 1 || program->noutput != 1)
		return false;
	for (int s = 0; s < program->nstage; s++)
		if (program->stages[s]->nloop != p->group->nshared ||
		    (s > 0 && program->stages[s]->kind != STAGE_map))
			return false;
	p->lanes = target_lanes(p->coster.target, (DType)stage_summed_product(p->stage)->type);
	for (int i = 0; i < 2; i++)
		if (find_factors(p, i))
			return has_rows_and_columns(p) && !is_read_apart(p, p->w) && !is_read_apart(p, p->x) &&
			       begins_at_zero(p) && extent_of(p, &p->stage->iters[p->sum]) >= FEWEST_TERMS;
	return false;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Nearly equal parts of at most `most`, in multiples of `step`: how long they are. */
static int64_t
part_of(int64_t extent, int64_t step, int64_t most)
{
	most = most < step ? step : most;
	int64_t parts = extent > most ? (extent + most - 1) / most : 1;
	return ((extent + parts - 1) / parts + step - 1) / step * step;
}

static int64_t
piece_of(const Panels *p, int loop, int64_t step, int64_t most)
{
	int64_t extent = shared_extent(p, loop);
	return part_of(is_open(shared_iter(p, loop)) && extent < most ? most : extent, step, most);
}

/* A part that is half as long; where the whole may be longer than it looks, no shorter than so. */
static int64_t
half_of(const Panels *p, int loop, int64_t step, int64_t size)
{
	bool is_least = is_open(shared_iter(p, loop)) && size < 2 * OPEN_PIECE;
	return is_least ? size : part_of(shared_extent(p, loop), step, size / 2);
}

/* Pieces for all cores: those of other columns copy nothing twice. Where both factors are copied,
 * of a given number those copy least whose sides are equal. */
static void
make_pieces(Panels *p)
{
	int64_t rows = shared_extent(p, p->row), columns = shared_extent(p, p->column), others = 1;
	for (int k = 0; k < p->group->nshared; k++)
		if (k != p->row && k != p->column)
			others = probe_times(others, shared_extent(p, k));
	int64_t most = maker_of(p->coster.target)->enough_pieces;
	while (probe_times(others, (rows + p->m - 1) / p->m * ((columns + p->n - 1) / p->n)) < most) {
		int64_t m = half_of(p, p->row, p->rows, p->m);
		int64_t n = half_of(p, p->column, p->lanes * p->vectors, p->n);
		if (m >= p->m && n >= p->n)
			return;
		if (n >= p->n || (p->copies_x && p->m > p->n && m < p->m))
			p->m = m;
		else
			p->n = n;
	}
}

/* Iterations of all tiles of this size. */
static int64_t
padded(const Iter *iter, int64_t extent, int64_t size)
{
	return is_open(iter) ? extent : (extent + size - 1) / size * size;
}

/* As many sums as half of the registers hold: the tile that computes and loads least. Rows are cut
 * into nearly equal tiles. */
static void
choose_tile(Panels *p)
{
	enum { LOAD = 4 }; /* products take as long as a load */
	int64_t most = p->coster.target->device->registers / 2;
	const Iter *row = shared_iter(p, p->row), *column = shared_iter(p, p->column);
	int64_t rows = shared_extent(p, p->row), columns = shared_extent(p, p->column);
	double least = 0;
	for (int64_t vectors = 1; vectors <= PANEL_VECTORS; vectors++) {
		int64_t count = most / vectors;
		if (!is_open(row))
			count = (rows + (rows + count - 1) / count - 1) / ((rows + count - 1) / count);
		double points =
			(double)padded(row, rows, count) * (double)padded(column, columns, vectors * p->lanes);
		double loads = (double)(count + vectors) / (double)(count * vectors * LOAD);
		if (p->rows > 0 && points * (1 + loads) >= least)
			continue;
		least = points * (1 + loads);
		p->rows = count;
		p->vectors = vectors;
	}
}

/* What a tile repeats behind the end is there: the prover sees that a loop over pieces of tiles
 * runs only where there is an iteration. */
static bool
has_last(const Panels *p, int loop, int64_t tile, int64_t piece)
{
	ExprCtx *ctx = p->group->program->ctx;
	const Expr *zero = expr_i64(ctx, 0), *extent = shared_iter(p, loop)->hi;
	const Dim *pieces = dim_ceildiv(ctx, dim_ceildiv(ctx, extent, dim_const(ctx, tile)),
	                                dim_const(ctx, piece / tile));
	Facts *facts = facts_new(ctx, p->coster.arena);
	facts_var(facts, var_new(ctx, "piece", DT_I64, zero, pieces), zero, pieces);
	return facts_prove(facts, expr_lt(ctx, zero, extent));
}

static double
least(int64_t a, int64_t b)
{
	return (double)(a < b ? a : b);
}

/* As much of the shared loop as a piece of the program has. */
static int64_t
size_in(const Panels *p, const TileTask *task, const TileProgram *program, int loop)
{
	int64_t size = program->tile[task->nlevel - 1][task->axis_of[0][p->group->map[0][loop]]];
	return is_open(shared_iter(p, loop)) && size < OPEN_PIECE ? OPEN_PIECE : size;
}

/* The piece of a program of Roller's, with as many columns as have room in half of the second
 * cache; whether copies serve often enough. */
static bool
take_program(Panels *p, const TileTask *task, const TileProgram *program)
{
	int64_t step = p->lanes * p->vectors;
	int64_t bytes = probe_times(element_bytes(p->w), extent_of(p, &p->stage->iters[p->sum]));
	int64_t room = p->coster.target->device->l2 / 2 / bytes;
	int64_t columns = size_in(p, task, program, p->column);
	p->m = piece_of(p, p->row, p->rows, size_in(p, task, program, p->row));
	p->n = piece_of(p, p->column, step, columns < room ? columns : room);
	make_pieces(p);
	double copies = p->copies_w ? 1 / least(p->m, shared_extent(p, p->row)) : 0; /* for a term */
	copies += p->copies_x ? 1 / least(p->n, shared_extent(p, p->column)) : 0;
	return copies <= 1. / FEWEST_USES && has_last(p, p->row, p->rows, p->m) &&
	       has_last(p, p->column, step, p->n);
}

/* Whether one of these pieces is the same. */
static bool
is_among(const Panels *p, int count, const Panels *others)
{
	for (int i = 0; i < count; i++)
		if (p->m == others[i].m && p->n == others[i].n)
			return true;
	return false;
}

/* Those of candidate number *candidate; false: there are fewer, by so many it is less now. There is
 * none where copies would serve too seldom. */
static bool
sizes_of_task(Panels *p, const TileTask *task, int *candidate)
{
	Panels seen[CANDIDATES];
	int visited, count = 0, most = *candidate == 0 ? 1 : PROGRAMS;
	if (!task || task->nlevel < 3)
		return false;
	choose_tile(p);
	int column = p->group->map[0][p->column];
	p->copies_x = bytes_between(p, p->x, p->sum) != element_bytes(p->x) ||
	              dtype_is_short_float(p->x->tensor->type);
	p->turns_w = bytes_between(p, p->w, column) != element_bytes(p->w) &&
	             bytes_between(p, p->w, p->sum) == element_bytes(p->w);
	p->copies_w = copies_pay(p);
	TilePrograms found = {0};
	if (p->rows >= LEAST_TILE)
		found = roller_tiles(task, most, &visited);
	for (int i = 0; i < found.count && count < CANDIDATES; i++) {
		bool is_good = take_program(p, task, &found.data[i]);
		if (i == 0 && !is_good)
			return false;
		if (!is_good || is_among(p, count, seen))
			continue;
		if (count == *candidate)
			return true;
		seen[count++] = *p;
	}
	*candidate -= count;
	return false;
}

static bool
choose_sizes(Panels *p, int *candidate)
{
	const char *reason;
	Arena *own = arena_new_in(p->coster.arena, "panels"); /* a task is large */
	bool is_found =
		sizes_of_task(p, roller_task(own, p->group->program, p->coster.target, &reason), candidate);
	arena_reset(own);
	return is_found;
}

/* ---- the script ------------------------------------------------------------------------------ */

typedef struct Writer {
	const Panels *p;
	ScriptWriter script;
	const char *mo, *mi, *u, *no, *ni, *w, *v;
} Writer;

/* Two loops of one; the outer one's name. */
static const char *
cut(Writer *w, Primitive primitive, const char *loop, int64_t size, const char *outer,
    const char *inner, const char **made)
{
	ScriptStep *step = script_step(&w->script, primitive, loop);
	outer = script_name(&w->script, outer);
	*made = script_name(&w->script, inner);
	step->number = size;
	vec_push(w->script.arena, &step->made, outer);
	vec_push(w->script.arena, &step->made, *made);
	return outer;
}

/* The same of a shared loop, where the last tile may go on behind the end. */
static const char *
cut_tiles(Writer *w, int loop, int64_t size, const char *outer, const char *inner,
          const char **made)
{
	int64_t extent;
	bool is_exact = dim_is_const(shared_iter(w->p, loop)->hi, &extent) && extent % size == 0;
	return cut(w, is_exact ? PRIM_split : PRIM_split_whole, w->p->nest->shared[loop]->var->name,
	           size, outer, inner, made);
}

/* Tiles first, which are whole, then pieces of them, of which the last may have fewer. */
static void
write_cuts(Writer *w)
{
	const Panels *p = w->p;
	const char *vectors;
	const char *row = cut_tiles(w, p->row, p->rows, "mt", "u", &w->u);
	w->mo = cut(w, PRIM_split, row, p->m / p->rows, "mo", "mi", &w->mi);
	const char *column = cut_tiles(w, p->column, p->lanes * p->vectors, "nt", "nv", &vectors);
	w->w = cut(w, PRIM_split, vectors, p->lanes, "w", "v", &w->v);
	w->no = cut(w, PRIM_split, column, p->n / p->lanes / p->vectors, "no", "ni", &w->ni);
}

/* Parallel loops, then those of a piece. */
static void
write_pieces(Writer *w)
{
	const Panels *p = w->p;
	StrVec loops = {0};
	for (int k = 0; k < p->group->nshared; k++)
		if (k != p->row && k != p->column)
			vec_push(w->script.arena, &loops, p->nest->shared[k]->var->name);
	vec_push(w->script.arena, &loops, w->mo);
	vec_push(w->script.arena, &loops, w->no);
	int parallel = loops.count;
	/* what lies apart is gone through once, what is copied again and again */
	const char *inside[] = {p->copies_w ? w->mi : w->ni, p->copies_w ? w->ni : w->mi, w->v, w->w,
	                        w->u};
	for (size_t i = 0; i < countof(inside); i++)
		vec_push(w->script.arena, &loops, inside[i]);
	script_reorder(&w->script, loops.count, loops.data);
	for (int i = 0; i < parallel; i++)
		script_bind(&w->script, loops.data[i], BIND_PARALLEL);
	script_bind(&w->script, w->v, BIND_VECTOR);
}

/* All sums of a tile at once, and behind them what is done with them. */
static void
write_sums(Writer *w)
{
	const NestStage *product = &w->p->nest->stages[0];
	const char *loops[] = {product->iters[w->p->sum]->var->name, w->w, w->u};
	for (int i = 2; i > 0; i--) {
		const char *behind = script_name(&w->script, loops[i]);
		script_fission(&w->script, loops[i], 1, product->acc, SCOPE_REG, behind);
		script_bind(&w->script, behind, BIND_UNROLL);
	}
	script_reorder(&w->script, countof(loops), loops);
	script_bind(&w->script, w->u, BIND_UNROLL);
	script_bind(&w->script, w->w, BIND_UNROLL);
}

/* Dims as they are, but the one along the loop in blocks that stand innermost: "ba16" of [a, b]. */
static const char *
panel_order(Arena *arena, const Expr *read, int sum, int along, int64_t block)
{
	int outer = dim_along(read, along), terms = dim_along(read, sum);
	Buf order = {.arena = arena};
	for (int d = 0; d < read->argc; d++)
		if (d != outer && d != terms)
			buf_putc(&order, (char)('a' + d));
	buf_printf(&order, "%c%lld%c", 'a' + outer, (long long)block, 'a' + terms);
	return buf_text(&order);
}

/* What a piece reads of a factor is copied: the name of the copy. */
static const char *
write_pack(Writer *w, const Expr *read, int along, int64_t block, const char *name)
{
	const Panels *p = w->p;
	name = script_name(&w->script, name);
	ScriptStep *step = script_step(&w->script, PRIM_pack, w->no);
	step->order = panel_order(w->script.arena, read, p->sum, p->group->map[0][along], block);
	step->scope = SCOPE_SCRATCH;
	vec_push(w->script.arena, &step->buffers, argument_of(p, read)->tensor.name);
	vec_push(w->script.arena, &step->made, name);
	return name;
}

/* Columns of w. Where their terms lie side by side instead, as many terms as there are lanes are a
 * tile that is turned in registers (TurnLoops). */
static void
write_columns(Writer *w)
{
	const Panels *p = w->p;
	Arena *arena = w->script.arena;
	const char *name = write_pack(w, p->w, p->column, p->lanes, "wp");
	const char *made[] = {"wt", "wu", "wr"};
	script_bind(&w->script, arena_printf(arena, "%s_%d", name, p->w->argc), BIND_VECTOR);
	if (!p->turns_w)
		return;
	const char *terms = arena_printf(arena, "%s_%d", name, p->w->argc - 1);
	ScriptStep *step = script_step(&w->script, PRIM_split_tail, terms);
	step->number = p->lanes;
	for (size_t i = 0; i < countof(made); i++)
		vec_push(arena, &step->made, script_name(&w->script, made[i]));
}

/* The next columns are on their way while these serve all rows; where results go to memory, the
 * next ones' lines as well, which are read before a part is stored. */
static void
write_fetches(Writer *w)
{
	const Panels *p = w->p;
	const Tensor *result = &p->nest->arguments[p->group->program->ninput]->tensor;
	double bytes = probe_elements(p->coster.target, result) * dtype_bits(result->type) / 8;
	StrVec columns = {0}, results = {0};
	vec_push(w->script.arena, &columns, argument_of(p, p->w)->tensor.name);
	vec_push(w->script.arena, &results, result->name);
	if (bytes_of_columns(p) > p->coster.target->device->l2 / 4)
		script_fetch(&w->script, w->ni, w->ni, columns, 1);
	if (bytes > (double)p->coster.target->device->l2)
		script_fetch(&w->script, w->ni, w->mi, results, 1);
}

const Script *
panels_script(Arena *arena, const Group *group, const Target *target, const Nest *nest,
              int *candidate)
{
	Panels p = {.coster = {.arena = arena, .program = group->program, .target = target},
	            .group = group,
	            .stage = group->program->stages[0],
	            .nest = nest};
	if (!recognise(&p) || !choose_sizes(&p, candidate))
		return NULL;
	Writer w = {.p = &p, .script = script_writer(arena, nest->names)};
	write_cuts(&w);
	write_pieces(&w);
	write_sums(&w);
	if (p.copies_w)
		write_columns(&w);
	if (p.copies_x)
		write_pack(&w, p.x, p.row, p.rows, "xp");
	if (!p.copies_w)
		write_fetches(&w);
	return w.script.script;
}
