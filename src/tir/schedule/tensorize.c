/* lanes, tensorize: what three loops add up is a product of matrices in a warp's registers.
 *
 *     acc: f32[16,8] @reg = 0                   for lane in 32 @thread.x {
 *     for mi in 16, ni in 8, ki in 16             acc: f32[4] @reg = 0
 *       acc[mi, ni] +=                            fa: f16[8] @reg
 *         f32(A[mi, ki]) * f32(B[ki, ni])   =>    for fa_0 in 8
 *     for mi_1 in 16, ni_1 in 8                     fa[fa_0] = A[lane/4 + …, lane%4*2 + …]
 *       Y[mi_1, ni_1] = acc[mi_1, ni_1]           … fb …
 *                                                 acc[0] += mma.m16n8k16.f16(fa[0], fb[0])
 *     tensorize mi, ni, ki                        for ni_1 in 4
 *         mma.m16n8k16.f16 -> lane, fa, fb          Y[lane/4 + …, lane%4*2 + …] = acc[ni_1]
 *                                               }
 *
 * Lanes that are there before (lanes) may fill @shared memory with what the factors are read from.
 *
 * The two dims of the sums become those of a lane. So every nest over them does, and nothing else
 * may be stored: all 32 lanes would do it. Loads go element by element, from wherever the factors
 * are; load_matrix makes one operation of them where that is shared memory.
 */
#include <string.h>

#include "expr/index/text.h"
#include "tir/schedule/grid.h"
#include "tir/text.h"

/* Rows, columns, and the steps of the sum. */
typedef struct Product {
	Scheduling *s;
	const WarpOp *op;
	Stmt *nest, *store;
	const Var *row, *col, *step;
	const Expr *a, *b; /* the factors */
	const Tensor *sums;
	const Buffer *lane_sums; /* with one dim for the last two */
	const Expr *lane;
	VEC(Stmt *) users; /* the loops of rows of all nests over sums */
} Product;

static const Expr *
fragment_place(const Scheduling *s, const char *text, const Expr *lane, const Expr *i)
{
	Arena *arena = s->kernel->arena;
	Map names = {.arena = arena};
	Scanner scan;
	map_set(&names, "l", (void *)lane);
	map_set(&names, "i", (void *)i);
	scan_open(&scan, arena, "warp.def", text);
	return expr_parse(s->ctx, &scan, &names);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static void
expect_extent(const Scheduling *s, const Stmt *loop, int64_t extent)
{
	int64_t hi;
	if (!expr_is_zero(loop->lo) || !expr_as_i64(loop->hi, &hi) || hi != extent)
		refuse_step(s, "loop %s does not run from 0 to %lld", loop->var->name, (long long)extent);
}

static const Expr *
factor_of(const Product *p, const Expr *e, DType type)
{
	const Expr *factor = e->type == type ? e : expr_without_casts(e);
	if (factor->type != type)
		refuse_step(p->s, "a factor is not of %s", dtype_name(type));
	return factor;
}

static void
find_factors(Product *p)
{
	const Expr *value = p->store->value;
	if (p->store->op != REDUCE_sum || value->type != p->op->sum || value->op != EX_mul)
		refuse_step(p->s, "what it holds is no sum of products of %s", dtype_name(p->op->sum));
	bool is_turned = expr_uses_var(value->arg[0], p->col);
	p->a = factor_of(p, value->arg[is_turned], p->op->types[0]);
	p->b = factor_of(p, value->arg[!is_turned], p->op->types[1]);
	if (expr_uses_var(p->a, p->col) || expr_uses_var(p->b, p->row))
		refuse_step(p->s, "a factor depends on loops %s and %s", p->row->name, p->col->name);
}

/* Whether the last two indices are these variables, and no other one uses them. */
static bool
ends_in(const Tensor *tensor, const Expr *const *index, const Var *row, const Var *col)
{
	int rank = tensor->rank;
	const Expr *const *last = index + rank - 2;
	if (rank < 2 || last[0]->op != EX_var || last[0]->var != row || last[1]->op != EX_var ||
	    last[1]->var != col)
		return false;
	for (int d = 0; d < rank - 2; d++)
		if (expr_uses_var(index[d], row) || expr_uses_var(index[d], col))
			return false;
	return true;
}

static void
find_product(Product *p)
{
	Scheduling *s = p->s;
	if (s->step->loops.count != 3)
		refuse_step(s, "a product has three loops: rows, columns, and the steps of the sum");
	Stmt *rows = named_loop(s, 0), *cols = named_loop(s, 1), *steps = named_loop(s, 2);
	if (only_loop(s, rows) != cols || only_loop(s, cols) != steps)
		refuse_step(s, "these loops are not a nest in this order");
	p->nest = rows;
	p->store = steps->body;
	p->row = rows->var;
	p->col = cols->var;
	p->step = steps->var;
	expect_extent(s, rows, p->op->d->rows);
	expect_extent(s, cols, p->op->d->cols);
	expect_extent(s, steps, p->op->a->cols);
	if (!p->store || p->store->kind != STMT_STORE || p->store->next)
		refuse_step(s, "it holds more than a sum");
	p->sums = &p->store->buffer->tensor;
	if (p->store->buffer->scope != SCOPE_REG ||
	    !ends_in(p->sums, p->store->index, p->row, p->col) ||
	    expr_uses_var(p->store->index[0], p->step))
		refuse_step(s, "the sums are not @reg with a dim for rows and a last one for columns");
	find_factors(p);
}

/* ---- who else uses the sums ------------------------------------------------------------------ */

/* A nest of rows and columns, all of whose uses of the sums are of its own place. */
static bool
is_nest_over_sums(const Product *p, Stmt *rows, bool *uses)
{
	AccessVec all = {0};
	Stmt *cols = rows->body;
	bool is_over = cols && cols->kind == STMT_FOR && !cols->next;
	int64_t extent[2] = {0, 0};
	find_accesses(p->s->kernel, rows->body, &all);
	*uses = false;
	for (int i = 0; i < all.count; i++)
		if (all.data[i].tensor == p->sums) {
			*uses = true;
			is_over = is_over && ends_in(p->sums, all.data[i].index, rows->var, cols->var);
		}
	return is_over && expr_is_zero(rows->lo) && expr_is_zero(cols->lo) &&
	       expr_as_i64(rows->hi, &extent[0]) && expr_as_i64(cols->hi, &extent[1]) &&
	       extent[0] == p->op->d->rows && extent[1] == p->op->d->cols;
}

/* Each place is of one lane: no iteration needs another one's. */
static void
check_user(const Product *p, Stmt *rows)
{
	AccessVec all = {0};
	check_apart(p->s, rows, false);
	check_apart(p->s, rows->body, false);
	find_accesses(p->s->kernel, rows->body, &all);
	for (int i = 0; i < all.count; i++)
		if (!all.data[i].is_store && all.data[i].tensor != p->sums &&
		    ((const Buffer *)all.data[i].tensor)->is_output)
			refuse_step(p->s, "loop %s reads %s, which is stored", rows->var->name,
			            all.data[i].tensor->name);
}

static void
find_users(Product *p, Stmt *list)
{
	for (; list; list = list->next) {
		bool uses = false;
		if (list == p->nest)
			continue;
		if (list->kind == STMT_FOR && is_nest_over_sums(p, list, &uses) && uses) {
			check_user(p, list);
			vec_push(p->s->kernel->arena, &p->users, list);
			continue;
		}
		bool is_store = list->kind == STMT_STORE || list->kind == STMT_WARP_OP;
		bool is_lanes = is_store && list->buffer && list->buffer->scope == SCOPE_SHARED &&
		                expr_uses_var(list->index[list->buffer->tensor.rank - 1], p->lane->var);
		if (is_store && list->buffer && list->buffer->scope != SCOPE_REG && !is_lanes)
			refuse_step(p->s, "%s is stored by all lanes", list->buffer->tensor.name);
		AccessVec all = {0};
		Stmt alone = *list;
		alone.next = alone.body = alone.other = NULL;
		find_accesses(p->s->kernel, &alone, &all);
		for (int i = 0; i < all.count; i++)
			if (all.data[i].tensor == p->sums)
				refuse_step(p->s, "%s is used outside of a nest over its last two dims",
				            p->sums->name);
		find_users(p, list->body);
		find_users(p, list->other);
	}
}

/* ---- the lanes' part ------------------------------------------------------------------------- */

typedef struct OfLane {
	const Product *p;
	const Expr *i;
} OfLane;

static const Buffer *
to_lane(Kernel *kernel, const Buffer *buffer, const Expr *const **index, void *arg)
{
	const OfLane *of = arg;
	if (&buffer->tensor != of->p->sums)
		return NULL;
	const Expr **place = NEW_N(kernel->arena, const Expr *, buffer->tensor.rank);
	for (int d = 0; d < buffer->tensor.rank - 2; d++)
		place[d] = (*index)[d];
	place[buffer->tensor.rank - 2] = of->i;
	*index = place;
	return of->p->lane_sums;
}

static const Var *
counter(const Product *p, const char *name, int count)
{
	ExprCtx *ctx = p->s->ctx;
	return var_new(ctx, name, DT_I64, expr_i64(ctx, 0), expr_i64(ctx, count));
}

/* for m in 16, n in 8 { S }  =>  for n in 4 { S at what the lane holds } */
static void
take_lane(const Product *p, Stmt *rows)
{
	Kernel *kernel = p->s->kernel;
	Stmt *cols = rows->body, *body = cols->body;
	const Fragment *d = p->op->d;
	const Var *i = counter(p, cols->var->name, d->count);
	OfLane of = {p, expr_var(kernel->ctx, i)};
	stmt_redirect(kernel, body, to_lane, &of);
	stmt_substitute(kernel, body, rows->var, fragment_place(p->s, d->row_text, p->lane, of.i));
	stmt_substitute(kernel, body, cols->var, fragment_place(p->s, d->col_text, p->lane, of.i));
	rows->var = i;
	rows->hi = i->hi;
	rows->body = body;
}

/* A factor in registers: its alloc, the loads, and (*place) its first element. */
static Stmt *
load_factor(const Product *p, int made, const Expr *value, const Var *row, const Var *col,
            const Fragment *fragment, const Expr **place)
{
	Kernel *kernel = p->s->kernel;
	ExprCtx *ctx = kernel->ctx;
	const char *name = made_name(p->s, made);
	const Dim *count = dim_const(ctx, fragment->count);
	Buffer *buffer = kernel_local(kernel, name, (DType)value->type, 1, &count, SCOPE_REG);
	const Var *var = counter(p, arena_printf(kernel->arena, "%s_0", name), fragment->count);
	const Expr *i = expr_var(ctx, var), *zero = expr_i64(ctx, 0);
	value = expr_replace_var(value, row, fragment_place(p->s, fragment->row_text, p->lane, i));
	value = expr_replace_var(value, col, fragment_place(p->s, fragment->col_text, p->lane, i));
	Stmt *load = stmt_store(kernel, buffer, &i, STORE_SET, value);
	*place = expr_read(ctx, &buffer->tensor, &zero);
	return stmt_append(stmt_alloc(kernel, buffer, NULL),
	                   stmt_for(kernel, var, NULL, var->hi, BIND_SERIAL, load));
}

static void
put_product(Product *p)
{
	Kernel *kernel = p->s->kernel;
	Stmt *next = p->nest->next;
	const Expr *factors[2];
	OfLane of = {p, expr_i64(kernel->ctx, 0)};
	const Expr *const *index = p->store->index;
	to_lane(kernel, p->store->buffer, &index, &of);
	Stmt *list = load_factor(p, 1, p->a, p->row, p->step, p->op->a, &factors[0]);
	stmt_append(list, load_factor(p, 2, p->b, p->step, p->col, p->op->b, &factors[1]));
	stmt_append(list, stmt_warp_op(kernel, p->op, p->lane_sums, index, REDUCE_sum, factors));
	stmt_append(list, next);
	*p->nest = *list;
}

static Stmt *
alloc_of(const Product *p)
{
	for (StmtWalk walk = stmt_walk(p->s->kernel->arena, p->s->kernel->body); stmt_step(&walk);)
		if (walk.stmt->kind == STMT_ALLOC && &walk.stmt->buffer->tensor == p->sums)
			return walk.stmt;
	must(!"a local is made somewhere");
	return NULL;
}

static void
make_lane_sums(Product *p)
{
	Kernel *kernel = p->s->kernel;
	int rank = p->sums->rank - 1;
	const Dim **dims = NEW_N(kernel->arena, const Dim *, rank);
	for (int d = 0; d < rank - 1; d++)
		dims[d] = p->sums->hi[d];
	dims[rank - 1] = dim_const(kernel->ctx, p->op->d->count);
	p->lane_sums = kernel_local(kernel, p->sums->name, p->sums->type, rank, dims, SCOPE_REG);
	Stmt *alloc = alloc_of(p);
	if (alloc->value && !expr_is_const(alloc->value))
		refuse_step(p->s, "%s begins with something that is no number", p->sums->name);
	alloc->buffer = p->lane_sums;
}

static const Expr *
add_lanes(Scheduling *s, Stmt **body)
{
	const Var *lane = new_counter(s, 0, expr_i64(s->ctx, 0), expr_i64(s->ctx, WARP_LANES));
	*body = stmt_for(s->kernel, lane, NULL, lane->hi, BIND_THREAD_X, *body);
	return expr_var(s->ctx, lane);
}

void
primitive_lanes(Scheduling *s)
{
	Grid grid = find_grid(s);
	if (grid.is_bound[BIND_THREAD_X - BIND_BLOCK_X])
		refuse_step(s, "@thread.x, which counts the lanes of a warp, is another loop's");
	add_lanes(s, grid.inner ? &grid.inner->body : &s->kernel->body);
}

/* The lanes that are there, or new ones. */
static Stmt **
find_lanes(Product *p, const Grid *grid)
{
	Scheduling *s = p->s;
	Stmt **body = grid->inner ? &grid->inner->body : &s->kernel->body;
	const Expr *lane = grid->number[BIND_THREAD_X - BIND_BLOCK_X];
	if (!lane) {
		p->lane = add_lanes(s, body);
		return &(*body)->body;
	}
	if (strcmp(lane->var->name, s->step->made.data[0]) != 0 ||
	    grid->extent[BIND_THREAD_X - BIND_BLOCK_X] != WARP_LANES)
		refuse_step(s, "@thread.x, which counts the lanes of a warp, is another loop's");
	p->lane = lane;
	return body;
}

void
primitive_tensorize(Scheduling *s)
{
	Kernel *kernel = s->kernel;
	Product p = {.s = s, .op = s->step->warp_op};
	Grid grid = find_grid(s);
	if (kernel->body->kind == STMT_FOR && kernel->body->bind == BIND_PARALLEL)
		refuse_step(s, "its threads are a CPU's");
	find_product(&p);
	Stmt **body = find_lanes(&p, &grid);
	find_users(&p, *body);
	make_lane_sums(&p);
	for (int i = 0; i < p.users.count; i++)
		take_lane(&p, p.users.data[i]);
	put_product(&p);
	kernel_name_apart(kernel);
}
