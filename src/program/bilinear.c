/* derive_bilinear: a window of few taps by a bilinear algorithm (Winograd, Toom and Cook).
 *
 *     Y[p] = sum(c, r:R) X[c, p+r+o] * W[c,r]
 * =>  V[e,c,t] = sum(a) B[e,a] * X[c, m*t+a+o]       a, e < m+R-1
 *     U[e,c] = sum(r) G[e,r] * W[c,r]
 *     M[e,t] = sum(c) V[e,c,t] * U[e,c]
 *     Y[p] = sum(e) A[p%m,e] * M[e,p/m]
 *
 * m values take m+R-1 products instead of m*R. B, G and A come from the points at which polynomials
 * are evaluated: 0, 1, -1, 2, -2, 1/2, -1/2 and infinity (Lavin and Gray, CVPR'16, section 4; the
 * construction is that of Blahut, Fast Algorithms for Signal Processing, chapter 5). Roundings grow
 * with the points; structural zeros are multiplied: for finite values.
 */
#include "expr/index/facts.h"
#include "program/derive.h"
#include "program/derive_inner.h"

enum { MAX_ITERS = 60, MAX_POINTS = 8 };

static const double points[MAX_POINTS - 1] = {0, 1, -1, 2, -2, 0.5, -0.5};

typedef struct Bilinear {
	ExprCtx *ctx;
	const Stage *stage;
	const Expr *x, *w;
	int dim, wdim;     /* of x and w: what the window and the tap index */
	int loop, tap;     /* iterators */
	int64_t m, taps;   /* values of a tile, R */
	const Dim *rest;   /* o */
	const Expr *guard; /* what is left of it */
} Bilinear;

/* ---- matrices -------------------------------------------------------------------------------- */

typedef struct Matrix {
	int rows, columns;
	double at[MAX_POINTS][MAX_POINTS];
} Matrix;

/* Coefficients of the product of (x - point) over all points but `left_out`, the lowest first. */
static void
multiply_out(int count, int left_out, double *coefficient)
{
	int degree = 0;
	coefficient[0] = 1;
	for (int j = 0; j < count; j++) {
		if (j == left_out)
			continue;
		coefficient[++degree] = 0;
		for (int k = degree; k >= 0; k--)
			coefficient[k] = (k > 0 ? coefficient[k - 1] : 0) - points[j] * coefficient[k];
	}
}

static void
fill_matrices(int64_t m, int64_t taps, Matrix *a, Matrix *b, Matrix *g)
{
	int size = (int)(m + taps - 1), finite = size - 1;
	*a = (Matrix){(int)m, size, {{0}}};
	*b = (Matrix){size, size, {{0}}};
	*g = (Matrix){size, (int)taps, {{0}}};
	for (int i = 0; i < finite; i++) {
		double f = 1, power = 1;
		for (int j = 0; j < finite; j++)
			f *= j == i ? 1 : points[i] - points[j];
		multiply_out(finite, i, b->at[i]);
		for (int k = 0; k < size; k++, power *= points[i]) {
			if (k < m)
				a->at[k][i] = power;
			if (k < taps)
				g->at[i][k] = power / f;
		}
	}
	multiply_out(finite, -1, b->at[finite]);
	a->at[m - 1][finite] = 1;
	g->at[finite][taps - 1] = 1;
}

/* The matrix as a stage that reads nothing. */
static const Tensor *
table(ExprCtx *ctx, const Stage *like, const char *name, const Matrix *matrix)
{
	const Expr *row = expr_iter(ctx, 0), *column = expr_iter(ctx, 1);
	const Expr *body = expr_number(ctx, DT_F32, 0);
	for (int i = matrix->rows - 1; i >= 0; i--) {
		const Expr *values = expr_number(ctx, DT_F32, 0);
		for (int k = matrix->columns - 1; k >= 0; k--) {
			const Expr *is_here = expr_eq(ctx, column, expr_i64(ctx, k));
			const Expr *value = expr_number(ctx, DT_F32, matrix->at[i][k]);
			values = expr_select(ctx, is_here, value, values);
		}
		body = expr_select(ctx, expr_eq(ctx, row, expr_i64(ctx, i)), values, body);
	}
	Iter iters[2] = {{NULL, dim_const(ctx, 0), dim_const(ctx, matrix->rows)},
	                 {NULL, dim_const(ctx, 0), dim_const(ctx, matrix->columns)}};
	DType type = DT_F32;
	Stage named = *like;
	named.name = name;
	return derive_stage(ctx, &named, STAGE_map, 2, 0, iters, &body, NULL, &type)->results[0];
}

static const Expr *
entry(ExprCtx *ctx, const Tensor *matrix, const Expr *row, const Expr *column)
{
	return expr_read(ctx, matrix, (const Expr *[]){row, column});
}

/* ---- recognising ----------------------------------------------------------------------------- */

/* The guard's conditions that use neither loop nor tap; NULL in *fault where another does that the
 * border of x does not imply. */
static const Expr *
guard_without(Bilinear *b, Facts *facts, const Expr *guard, const Expr *border, bool *fault)
{
	if (!guard)
		return NULL;
	if (guard->op == EX_and) {
		const Expr *one = guard_without(b, facts, guard->arg[0], border, fault);
		return expr_both(b->ctx, one, guard_without(b, facts, guard->arg[1], border, fault));
	}
	if (!expr_uses_iter(guard, b->loop) && !expr_uses_iter(guard, b->tap))
		return guard;
	int mark = facts_mark(facts);
	if (border)
		facts_assume(facts, border);
	*fault |= !facts_prove(facts, guard);
	facts_release(facts, mark);
	return NULL;
}

/* Dim d of x alone is moved, by loop + tap + rest. */
static bool
read_window(Bilinear *b)
{
	const Dim *coefficient[MAX_ITERS];
	const Expr *rest;
	int total = b->stage->nloop + b->stage->nreduce;
	if (!expr_affine(b->ctx, b->x->arg[b->dim], total, coefficient, &rest))
		return false;
	for (int i = 0; i < total; i++)
		if (!dim_is(coefficient[i], i == b->loop || i == b->tap))
			return false;
	for (int d = 0; d < b->x->argc; d++)
		if (d != b->dim &&
		    (expr_uses_iter(b->x->arg[d], b->loop) || expr_uses_iter(b->x->arg[d], b->tap)))
			return false;
	b->rest = dim_from_expr(b->ctx, rest);
	return b->rest != NULL;
}

/* The tap stands in one dim of w, all of it, and the loop in none. */
static bool
read_tap(Bilinear *b)
{
	b->wdim = -1;
	for (int d = 0; d < b->w->argc; d++) {
		const Expr *index = b->w->arg[d];
		if (index->op == EX_iter && index->iter == b->tap && b->wdim < 0)
			b->wdim = d;
		else if (expr_uses_iter(index, b->tap) || expr_uses_iter(index, b->loop))
			return false;
	}
	return b->wdim >= 0;
}

static const char *
recognise(Bilinear *b)
{
	const Stage *stage = b->stage;
	const Expr *body = stage->body[0];
	int total = stage->nloop + stage->nreduce;
	if (stage_summed_product(stage) != body || stage->acc != DT_F32 ||
	    stage->results[0]->type != DT_F32 || total > MAX_ITERS - 2)
		return "the stage is no sum of products of f32";
	if (body->arg[0] != b->x && body->arg[1] != b->x)
		return "the stage has no such factor";
	b->w = body->arg[body->arg[0] == b->x];
	if (b->x->op != EX_read || b->w->op != EX_read || b->x->tensor->lo || b->w->tensor->lo)
		return "the factors are no plain reads";
	if (b->dim < 0 || b->dim >= b->x->argc || b->loop < 0 || b->loop >= stage->nloop ||
	    b->tap < stage->nloop || b->tap >= total || !read_window(b) || !read_tap(b))
		return "the index is no loop and tap, which stand nowhere else";
	if (!dim_is(stage->iters[b->loop].lo, 0) || !dim_is(stage->iters[b->tap].lo, 0) ||
	    !dim_is_const(stage->iters[b->tap].hi, &b->taps) || b->taps < 2 || b->m < 2 ||
	    b->m + b->taps - 1 > MAX_POINTS)
		return "too few taps for it, or too many";
	if (stage->nreduce < 2)
		return "nothing but the taps is summed";
	Facts *facts = facts_of_stage(b->ctx, expr_ctx_arena(b->ctx), stage);
	bool fault = false;
	const Expr *border = read_range(facts, b->x->tensor, b->x->arg);
	b->guard = guard_without(b, facts, stage->guard, border, &fault);
	facts_close(facts);
	return fault ? "the guard asks more of loop and tap than the border" : NULL;
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* The operand's dims with `count` values in front, where dim d is `hi` long, or gone (NULL). */
static int
dims_with(Bilinear *b, const Tensor *tensor, int64_t count, int d, const Dim *hi, Iter *iters)
{
	const Dim *zero = dim_const(b->ctx, 0);
	int n = 0;
	iters[n++] = (Iter){NULL, zero, dim_const(b->ctx, count)};
	for (int k = 0; k < tensor->rank; k++)
		if (k != d || hi)
			iters[n++] = (Iter){NULL, zero, k == d ? hi : tensor->hi[k]};
	return n;
}

/* sum(k:terms) matrix[e,k] * tensor[…, index(k), …] over those dims. */
static const Tensor *
transformed(Bilinear *b, const char *name, const Tensor *matrix, int64_t terms,
            const Tensor *tensor, int d, int nloop, const Iter *loops, bool has_dim)
{
	ExprCtx *ctx = b->ctx;
	Iter iters[MAX_ITERS];
	const Expr *index[MAX_ITERS];
	for (int i = 0; i < nloop; i++)
		iters[i] = loops[i];
	iters[nloop] = (Iter){NULL, dim_const(ctx, 0), dim_const(ctx, terms)};
	const Expr *term = expr_iter(ctx, nloop);
	for (int k = 0, at = 1; k < tensor->rank; k++)
		index[k] = k == d && !has_dim ? term : expr_iter(ctx, at++);
	if (has_dim) {
		const Expr *first = expr_mul(ctx, index[d], expr_i64(ctx, b->m));
		index[d] = expr_add(ctx, expr_add(ctx, first, term), b->rest);
	}
	const Expr *factor = entry(ctx, matrix, expr_iter(ctx, 0), term);
	const Expr *body = expr_mul(ctx, expr_read(ctx, tensor, index), factor);
	DType type = DT_F32;
	Stage named = *b->stage;
	named.name = name;
	Stage *stage = derive_stage(ctx, &named, STAGE_reduce, nloop, 1, iters, &body, NULL, &type);
	Facts *facts = facts_of_stage(ctx, expr_ctx_arena(ctx), stage);
	stage->guard = read_range(facts, tensor, index);
	facts_close(facts);
	return stage->results[0];
}

/* The products of transformed tiles and taps, e in front of the loops, the tap gone. */
static Stage *
products(Bilinear *b, const Tensor *v, const Tensor *u)
{
	ExprCtx *ctx = b->ctx;
	const Stage *stage = b->stage;
	int total = stage->nloop + stage->nreduce, count = 0;
	const Expr *map[MAX_ITERS] = {NULL}, *at[MAX_ITERS];
	Iter iters[MAX_ITERS];
	iters[count++] = (Iter){NULL, dim_const(ctx, 0), v->hi[0]};
	for (int i = 0; i < total; i++) {
		if (i == b->tap)
			continue;
		iters[count] = stage->iters[i];
		if (i == b->loop)
			iters[count].hi = dim_ceildiv(ctx, stage->iters[i].hi, dim_const(ctx, b->m));
		map[i] = expr_iter(ctx, count++);
	}
	at[0] = expr_iter(ctx, 0);
	for (int d = 0; d < b->x->argc; d++)
		at[d + 1] = d == b->dim ? map[b->loop] : expr_substitute(ctx, b->x->arg[d], total, map);
	const Expr *left = expr_read(ctx, v, at);
	for (int d = 0, k = 1; d < b->w->argc; d++)
		if (d != b->wdim)
			at[k++] = expr_substitute(ctx, b->w->arg[d], total, map);
	const Expr *body = expr_mul(ctx, left, expr_read(ctx, u, at));
	const Expr *guard = b->guard ? expr_substitute(ctx, b->guard, total, map) : NULL;
	DType type = DT_F32;
	return derive_stage(ctx, stage, STAGE_reduce, stage->nloop + 1, stage->nreduce - 1, iters,
	                    &body, guard, &type);
}

/* The stage's values from the products. */
static Stage *
values(Bilinear *b, const Tensor *products, const Tensor *matrix)
{
	ExprCtx *ctx = b->ctx;
	const Stage *stage = b->stage;
	int n = stage->nloop;
	Iter iters[MAX_ITERS];
	const Expr *at[MAX_ITERS], *m = expr_i64(ctx, b->m), *p = expr_iter(ctx, b->loop);
	for (int i = 0; i < n; i++) {
		iters[i] = stage->iters[i];
		at[i + 1] = i == b->loop ? expr_floordiv(ctx, p, m) : expr_iter(ctx, i);
	}
	iters[n] = (Iter){NULL, dim_const(ctx, 0), products->hi[0]};
	at[0] = expr_iter(ctx, n);
	const Expr *factor = entry(ctx, matrix, expr_floormod(ctx, p, m), at[0]);
	const Expr *body = expr_mul(ctx, expr_read(ctx, products, at), factor);
	DType type = DT_F32;
	return derive_stage(ctx, stage, STAGE_reduce, n, 1, iters, &body, NULL, &type);
}

Program *
derive_bilinear(const Program *program, const Stage *stage, const Expr *read, int d, int loop,
                int tap, int64_t m, Reason *why)
{
	ExprCtx *ctx = program->ctx;
	Bilinear b = {
		.ctx = ctx, .stage = stage, .x = read, .dim = d, .loop = loop, .tap = tap, .m = m};
	const char *obstacle = derive_obstacle(stage, false);
	obstacle = obstacle ? obstacle : recognise(&b);
	if (obstacle)
		return derive_refuse(why, obstacle);
	Matrix ma, mb, mg;
	Iter iters[MAX_ITERS];
	fill_matrices(m, b.taps, &ma, &mb, &mg);
	int64_t size = m + b.taps - 1;
	const Dim *tiles = dim_ceildiv(ctx, stage->iters[loop].hi, dim_const(ctx, m));
	int n = dims_with(&b, b.x->tensor, size, d, tiles, iters);
	const Tensor *v =
		transformed(&b, "V", table(ctx, stage, "B", &mb), size, b.x->tensor, d, n, iters, true);
	n = dims_with(&b, b.w->tensor, size, b.wdim, NULL, iters);
	const Tensor *u = transformed(&b, "U", table(ctx, stage, "G", &mg), b.taps, b.w->tensor, b.wdim,
	                              n, iters, false);
	Stage *m_stage = products(&b, v, u);
	Stage *y = values(&b, m_stage->results[0], table(ctx, stage, "A", &ma));
	return derive_certain(program, derive_replace(program, stage, y), why);
}
