/* derive_associate: a sum of products, one factor of which is made by another, in the other order.
 *
 *     T[k,p] = sum(j) V[k,j] * X[j,p]           Y[f,p] = sum(k) W[f,k] * (s[] * T[k,p] + b[k])
 * =>  U[f,j] = sum(k) W[f,k] * V[k,j]
 *     P[f,p] = sum(j) U[f,j] * X[j,p]           Q[f] = sum(k) W[f,k] * b[k]
 *     Y[f,p] = P[f,p] * s[] + Q[f]
 *
 * What is added on the way to the second product is summed by itself. Sums that X does not move
 * under end in U, with what scales their terms; all of the guard that they stand in goes with them.
 */
#include "expr/stage/build.h"
#include "program/derive.h"
#include "program/derive_inner.h"

enum { MAX_ITERS = 60, MAX_WAY = 8 };

typedef struct Pair {
	ExprCtx *ctx;
	const Program *program;
	const Stage *reader, *made; /* the product that reads, and what makes its factor */
	const Expr *const *index;   /* where it is read of `made`, over the reader's iterators */
	const Expr *other;          /* body = other * scaled(made) + rest */
	const Expr *scale, *rest;   /* NULL: nothing scales, nothing is added */
	bool divides;               /* made / scale, not made * scale */
	int nway;                   /* expressions on the way from one to the other */
	/* of both sums as one: the reader's loops, its sum, the other's */
	int total;
	Iter iters[MAX_ITERS];
	const Expr *kept;             /* the factor that stays outside */
	uint64_t inner;               /* iterators of sums that end before it is multiplied */
	const Expr *inside, *outside; /* the guard of these, and of the others; NULL: none */
} Pair;

/* ---- from the reader to what makes its factor ------------------------------------------------ */

static bool follow(Pair *pair, const Expr *value);

static bool
follow_read(Pair *pair, const Expr *read)
{
	const Stage *stage = read->tensor->stage;
	if (!stage || derive_obstacle(stage, false) || !derive_only_reader(pair->program, stage))
		return false;
	if (stage->kind == STAGE_map)
		return follow(pair, expr_substitute(pair->ctx, stage->body[0], stage->nloop, read->arg));
	pair->made = stage;
	pair->index = read->arg;
	return derive_is_product(stage);
}

/* Behind `value`, with what stands beside it on the way. */
static bool
follow_beside(Pair *pair, const Expr *value, const Expr *scale, bool divides, const Expr *rest)
{
	Pair before = *pair;
	pair->scale = scale;
	pair->divides = divides;
	pair->rest = rest;
	if (follow(pair, value))
		return true;
	*pair = before;
	return false;
}

static const Expr *
scaled(const Pair *pair, const Expr *e)
{
	return !pair->scale    ? e
	       : pair->divides ? expr_div(pair->ctx, e, pair->scale)
	                       : expr_mul(pair->ctx, e, pair->scale);
}

/* The rest where `added` stands beside what is followed. */
static const Expr *
with_added(const Pair *pair, const Expr *added)
{
	ExprCtx *ctx = pair->ctx;
	added = expr_mul(ctx, pair->other, scaled(pair, added));
	return pair->rest ? expr_add(ctx, pair->rest, added) : added;
}

/* One scale is moved as it is. Two would be joined, and who knows whether their type holds what
 * they make. */
static bool
follow(Pair *pair, const Expr *value)
{
	const Expr *const *arg = value->arg, *scale = pair->scale, *rest = pair->rest;
	bool divides = pair->divides;
	if (++pair->nway > MAX_WAY)
		return false;
	switch (value->op) {
	case EX_read:
		return follow_read(pair, value);
	case EX_mul:
		return !scale && (follow_beside(pair, arg[0], arg[1], false, rest) ||
		                  follow_beside(pair, arg[1], arg[0], false, rest));
	case EX_div:
		return !scale && dtype_is_float(value->type) &&
		       follow_beside(pair, arg[0], arg[1], true, rest);
	case EX_add:
		return follow_beside(pair, arg[0], scale, divides, with_added(pair, arg[1])) ||
		       follow_beside(pair, arg[1], scale, divides, with_added(pair, arg[0]));
	default:
		return false;
	}
}

/* ---- the other order ------------------------------------------------------------------------- */

static uint64_t
bit(int iter)
{
	return UINT64_C(1) << iter;
}

static void
add_condition(Pair *pair, const Expr *condition)
{
	if (condition && condition->op == EX_and) {
		add_condition(pair, condition->arg[0]);
		add_condition(pair, condition->arg[1]);
	} else if (condition && condition->iters & pair->inner) {
		pair->inside = expr_both(pair->ctx, pair->inside, condition);
	} else if (condition) {
		pair->outside = expr_both(pair->ctx, pair->outside, condition);
	}
}

/* Both sums as one, and what of it ends inside; false: nothing does, or all. */
static bool
join(Pair *pair, int kept)
{
	ExprCtx *ctx = pair->ctx;
	const Stage *reader = pair->reader, *made = pair->made;
	int own = reader->nloop + reader->nreduce, count = made->nloop + made->nreduce;
	const Expr *map[MAX_ITERS];
	pair->total = own + made->nreduce;
	if (pair->total > MAX_ITERS || count > MAX_ITERS)
		return false;
	for (int i = 0; i < own; i++)
		pair->iters[i] = reader->iters[i];
	for (int i = 0; i < made->nreduce; i++)
		pair->iters[own + i] = made->iters[made->nloop + i];
	for (int i = 0; i < count; i++)
		map[i] = i < made->nloop ? pair->index[i] : expr_iter(ctx, own + i - made->nloop);
	pair->kept = expr_substitute(ctx, made->body[0]->arg[kept], count, map);
	const Expr *other = expr_substitute(ctx, made->body[0]->arg[!kept], count, map);
	pair->other = expr_mul(ctx, pair->other, other);
	int outer = 0;
	for (int i = reader->nloop; i < pair->total; i++) {
		outer += expr_uses_iter(pair->kept, i);
		pair->inner |= expr_uses_iter(pair->kept, i) ? 0 : bit(i);
	}
	add_condition(pair, reader->guard);
	add_condition(pair, made->guard ? expr_substitute(ctx, made->guard, count, map) : NULL);
	return outer > 0 && pair->inner;
}

/* A read of the sum of `body` under `guard` over the iterators `sums`, as a stage of its own over
 * those others of the first `total` iterators that either uses. */
static const Expr *
sum_of(const Pair *pair, const Expr *body, const Expr *guard, int total, uint64_t sums)
{
	ExprCtx *ctx = pair->ctx;
	uint64_t used = body->iters | (guard ? guard->iters : 0);
	const Expr *map[MAX_ITERS] = {NULL}, *index[MAX_ITERS];
	Iter iters[MAX_ITERS];
	int nloop = 0, count = 0;
	for (int i = 0; i < total; i++)
		if (used & ~sums & bit(i)) {
			index[nloop] = expr_iter(ctx, i);
			iters[nloop] = pair->iters[i];
			map[i] = expr_iter(ctx, nloop++);
		}
	for (int i = 0; i < total; i++)
		if (sums & bit(i)) {
			iters[nloop + count] = pair->iters[i];
			map[i] = expr_iter(ctx, nloop + count++);
		}
	body = expr_substitute(ctx, body, total, map);
	guard = guard ? expr_substitute(ctx, guard, total, map) : NULL;
	DType type = pair->reader->acc;
	Stage *sum =
		derive_stage(ctx, pair->reader, STAGE_reduce, nloop, count, iters, &body, guard, &type);
	stage_tidy(ctx, sum);
	return expr_read(ctx, sum->results[0], index);
}

/* The sum over the iterators that the kept factor moves under. */
static Stage *
outer_product(const Pair *pair, const Expr *first)
{
	ExprCtx *ctx = pair->ctx;
	const Stage *reader = pair->reader;
	const Expr *body = expr_mul(ctx, first, pair->kept), *map[MAX_ITERS] = {NULL};
	Iter iters[MAX_ITERS];
	int count = 0;
	for (int i = 0; i < pair->total; i++)
		if (!(pair->inner & bit(i))) {
			iters[count] = pair->iters[i];
			map[i] = expr_iter(ctx, count++);
		}
	body = expr_substitute(ctx, body, pair->total, map);
	const Expr *guard =
		pair->outside ? expr_substitute(ctx, pair->outside, pair->total, map) : NULL;
	DType type = reader->results[0]->type;
	return derive_stage(ctx, reader, STAGE_reduce, reader->nloop, count - reader->nloop, iters,
	                    &body, guard, &type);
}

/* The reader anew: the product of the kept factor, scaled, and the sum of what is added. */
static Stage *
turned(Pair *pair)
{
	ExprCtx *ctx = pair->ctx;
	const Stage *reader = pair->reader;
	int own = reader->nloop + reader->nreduce;
	uint64_t sums = (bit(own) - 1) & ~(bit(reader->nloop) - 1);
	bool scales_result = pair->scale && !(pair->scale->iters & sums);
	const Expr *terms = scales_result ? pair->other : scaled(pair, pair->other);
	Stage *product =
		outer_product(pair, sum_of(pair, terms, pair->inside, pair->total, pair->inner));
	if (!scales_result && !pair->rest)
		return product;
	const Expr *index[MAX_ITERS];
	for (int i = 0; i < reader->nloop; i++)
		index[i] = expr_iter(ctx, i);
	const Expr *body = expr_read(ctx, product->results[0], index);
	if (scales_result)
		body = scaled(pair, body);
	if (pair->rest)
		body = expr_add(ctx, body, sum_of(pair, pair->rest, reader->guard, own, sums));
	DType type = reader->results[0]->type;
	return derive_stage(ctx, reader, STAGE_map, reader->nloop, 0, reader->iters, &body, NULL,
	                    &type);
}

static bool
is_all_of(const Stage *stage, DType type)
{
	return stage->acc == type && stage->results[0]->type == type &&
	       (DType)stage->body[0]->type == type;
}

Program *
derive_associate(const Program *program, const Stage *stage, int factor, int kept, Reason *why)
{
	const Expr *body = stage->body[0];
	if (derive_obstacle(stage, false) || stage_summed_product(stage) != body || factor < 0 ||
	    factor > 1 || kept < 0 || kept > 1)
		return derive_refuse(why, "the stage is no plain sum of products");
	Pair pair = {
		.ctx = program->ctx, .program = program, .reader = stage, .other = body->arg[!factor]};
	if (!follow(&pair, body->arg[factor]))
		return derive_refuse(why, "no product that nothing else reads makes the factor");
	if (!is_all_of(stage, stage->acc) || !is_all_of(pair.made, stage->acc))
		return derive_refuse(why, "the value is rounded before it is summed again");
	if (!join(&pair, kept))
		return derive_refuse(why, "the other order sums nothing before, or all");
	return derive_certain(program, derive_replace(program, stage, turned(&pair)), why);
}
