/* The copies of reindex: element by element of c, or 16 bytes at a time.
 *
 *     for c_0 in rounds {
 *       let at = …                                    what is divided: k of k / 9 and k % 9
 *       if (all of it is inside)
 *         for c_1 in 4 @vector c[…] = X[…]
 *       else
 *         for c_2 in 4 c[…] = guard ? X[…] : 0
 *     }
 */
#include "tir/schedule/reindex.h"
#include "tir/text.h"

/* ---- places ---------------------------------------------------------------------------------- */

/* The listed loops' variables at element `number`, the last loop's `lane` further. */
static Map
vars_at(const Reindex *r, Facts *facts, const Expr *number, const Expr *lane)
{
	ExprCtx *ctx = r->s->ctx;
	Map values = {.arena = r->s->kernel->arena};
	int64_t inside = 1;
	for (int i = r->loops.count - 1; i >= 0; i--) {
		const Expr *at = expr_floordiv(ctx, number, expr_i64(ctx, inside));
		if (i > 0)
			at = expr_floormod(ctx, at, expr_i64(ctx, r->sizes.data[i]));
		if (i == r->loops.count - 1)
			at = expr_add(ctx, at, lane);
		map_set_ptr(&values, r->loops.data[i]->var, (void *)expr_simplify(facts, at));
		inside *= r->sizes.data[i];
	}
	return values;
}

/* c's place of these values. */
const Expr *const *
reindex_place(const Reindex *r, Facts *facts, const Map *values)
{
	ExprCtx *ctx = r->s->ctx;
	const Expr **place = NEW_N(r->s->kernel->arena, const Expr *, 2);
	int rows = (int)r->s->step->number, rank = 0;
	for (int first = 0, last = rows; first < r->loops.count; first = last, last = r->loops.count) {
		const Expr *at = NULL;
		for (int i = first; i < last; i++) {
			const Expr *var = expr_replace_vars(expr_var(ctx, r->loops.data[i]->var), values);
			const Expr *size = expr_i64(ctx, r->sizes.data[i]);
			at = at ? expr_add(ctx, expr_mul(ctx, at, size), var) : var;
		}
		if (at)
			place[rank++] = facts ? expr_simplify(facts, at) : at;
	}
	return place;
}

/* ---- minima ---------------------------------------------------------------------------------- */

/* Behind its end, a loop of whole pieces does its last iteration again: min(i, N-1). Where another
 * condition says that there is nothing behind the end, it is i. */
static const Expr *
settle_min(ExprCtx *ctx, const Expr *e, void *facts)
{
	for (int i = 0; e->op == EX_min && i < 2; i++)
		if (facts_prove(facts, expr_le(ctx, e->arg[i], e->arg[1 - i])))
			return e->arg[i];
	return e;
}

static bool
has_op(const Expr *e, ExprOp op)
{
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		if (walk.e->op == op)
			return true;
	return false;
}

static void
assume_without_min(Facts *facts, const Expr *guard)
{
	if (guard->op == EX_and) {
		assume_without_min(facts, guard->arg[0]);
		assume_without_min(facts, guard->arg[1]);
	} else if (!has_op(guard, EX_min)) {
		facts_assume(facts, guard);
	}
}

static const Expr *name_divided(ExprCtx *ctx, const Expr *e, void *arg);

void
reindex_settle(Reindex *r, Facts *facts)
{
	ExprCtx *ctx = r->s->ctx;
	int mark = facts_mark(facts);
	for (int i = 0; i < r->loops.count; i++)
		facts_var(facts, r->loops.data[i]->var, expr_i64(r->s->ctx, 0),
		          expr_i64(r->s->ctx, r->sizes.data[i]));
	r->used = r->read;
	if (r->guard) {
		assume_without_min(facts, r->guard);
		r->guard = expr_rewrite(r->s->ctx, r->guard, settle_min, facts);
		r->used = expr_rewrite(r->s->ctx, r->read, settle_min, facts);
	}
	facts_release(facts, mark);
	r->used = expr_rewrite(ctx, r->used, name_divided, r);
	r->guard = r->guard ? expr_rewrite(ctx, r->guard, name_divided, r) : NULL;
}

/* The same, supposed that there is nothing behind the end: `inside` says so. */
typedef struct Unclamp {
	const Reindex *r;
	const Expr *inside;
} Unclamp;

static bool
moves(const Reindex *r, const Expr *e)
{
	for (int k = 0; k < r->loops.count; k++)
		if (expr_uses_var(e, r->loops.data[k]->var))
			return true;
	return false;
}

static const Expr *
unclamp(ExprCtx *ctx, const Expr *e, void *arg)
{
	Unclamp *u = arg;
	for (int i = 0; e->op == EX_min && i < 2; i++) {
		if (!moves(u->r, e->arg[i]) || moves(u->r, e->arg[1 - i]))
			continue;
		u->inside = expr_both(ctx, u->inside, expr_le(ctx, e->arg[i], e->arg[1 - i]));
		return e->arg[i];
	}
	return e;
}

/* ---- what is divided ------------------------------------------------------------------------- */

/* k of k / 9 and k % 9 gets a name, so that a sum of such parts is seen to be k again. */
static const Expr *
name_divided(ExprCtx *ctx, const Expr *e, void *arg)
{
	Reindex *r = arg;
	if ((e->op != EX_floordiv && e->op != EX_floormod) || e->arg[0]->op == EX_var)
		return e;
	for (int i = 0; i < r->named.count; i++)
		if (expr_uses_var(e->arg[0], r->named.data[i].var))
			return e;
	int at = 0;
	while (at < r->named.count && r->named.data[at].value != e->arg[0])
		at++;
	if (at == r->named.count) {
		const Var *var = var_new(ctx, "at", DT_I64, expr_i64(ctx, 0), expr_i64(ctx, 0));
		vec_push(r->s->kernel->arena, &r->named, (Named){var, e->arg[0]});
	}
	const Expr *parts[] = {expr_var(ctx, r->named.data[at].var), e->arg[1]};
	return expr_op(ctx, e->op, parts);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* One copy under way: element `number` and those of some lanes behind it. */
typedef struct Piece {
	Facts *facts;
	const Expr *number, *lane;
	bool is_wide; /* all lanes lie side by side, inside */
	Map values;   /* of the listed loops, and of what is divided */
	Stmt *lets;
	bool is_one; /* wide: each of these moves as the lanes do, or stands still */
} Piece;

/* Whether from lane to lane the scalar grows by one (1) or stays (0); else -1. */
static int
step_of(const Reindex *r, const Piece *p, const Expr *e)
{
	ExprCtx *ctx = r->s->ctx;
	Map first = vars_at(r, p->facts, p->number, expr_i64(ctx, 0));
	Map here = vars_at(r, p->facts, p->number, p->lane);
	const Expr *apart = expr_sub(ctx, expr_replace_vars(e, &here), expr_replace_vars(e, &first));
	apart = expr_simplify(p->facts, apart);
	return expr_is_zero(apart) ? 0 : apart == p->lane ? 1 : -1;
}

static const Expr *
without_clamps(const Reindex *r, const Piece *p, const Expr *e)
{
	return p->is_wide ? expr_rewrite(r->s->ctx, e, unclamp, &(Unclamp){.r = r}) : e;
}

/* Lets for what is divided, at lane 0 where the piece is wide. */
static void
open_piece(const Reindex *r, Piece *p)
{
	ExprCtx *ctx = r->s->ctx;
	Map at = vars_at(r, p->facts, p->number, p->is_wide ? expr_i64(ctx, 0) : p->lane);
	p->values = vars_at(r, p->facts, p->number, p->lane);
	p->is_one = true;
	for (int i = 0; i < r->named.count; i++) {
		const Expr *value = without_clamps(r, p, r->named.data[i].value);
		int step = p->is_wide ? step_of(r, p, value) : 0;
		value = expr_simplify(p->facts, expr_replace_vars(value, &at));
		const char *name = arena_printf(r->s->kernel->arena, "%s_at", r->buffer->tensor.name);
		const Var *var = var_new(ctx, name, DT_I64, NULL, NULL);
		Stmt *let = stmt_let(r->s->kernel, var, value);
		facts_let(p->facts, let);
		p->lets = stmt_append(p->lets, let);
		const Expr *here = expr_var(ctx, var);
		here = step == 1 ? expr_add(ctx, here, p->lane) : here;
		map_set_ptr(&p->values, r->named.data[i].var, (void *)here);
		p->is_one &= step >= 0;
	}
}

static const Expr *
in_piece(const Reindex *r, const Piece *p, const Expr *e)
{
	return expr_replace_vars(without_clamps(r, p, e), &p->values);
}

/* Whether a condition of a wide piece holds for all lanes where it holds for the first and last. */
static bool
is_monotone(const Reindex *r, const Piece *p, const Expr *guard)
{
	if (!guard)
		return true;
	if (guard->op == EX_and)
		return is_monotone(r, p, guard->arg[0]) && is_monotone(r, p, guard->arg[1]);
	ExprCtx *ctx = r->s->ctx;
	const Expr *here = in_piece(r, p, guard);
	const Expr *first = expr_replace_var(here, p->lane->var, expr_i64(ctx, 0));
	bool is_still = true, is_order = here->op == EX_lt || here->op == EX_le;
	for (int i = 0; i < 2 && is_order; i++) {
		const Expr *apart = expr_sub(ctx, here->arg[i], first->arg[i]);
		apart = expr_simplify(p->facts, apart);
		is_still &= expr_is_zero(apart) || apart == p->lane;
	}
	return here == first || (is_order && is_still);
}

/* Whether width lanes of X lie side by side from a multiple of their number on. */
static bool
is_side_by_side(const Reindex *r, const Piece *p, int64_t width)
{
	ExprCtx *ctx = r->s->ctx;
	const Expr *read = in_piece(r, p, r->used);
	const Expr *place = flat_index(ctx, (const Buffer *)read->tensor, read->arg);
	place = expr_simplify(p->facts, place);
	Map values = {.arena = r->s->kernel->arena};
	for (const Stmt *let = p->lets; let; let = let->next)
		map_set_ptr(&values, let->var, (void *)let->value);
	const Expr *first = expr_replace_var(place, p->lane->var, expr_i64(ctx, 0));
	const Expr *apart = expr_simplify(p->facts, expr_sub(ctx, place, first));
	const Expr *rest = expr_floormod(ctx, expr_replace_vars(first, &values), expr_i64(ctx, width));
	return apart == p->lane && expr_is_zero(expr_simplify(p->facts, rest));
}

/* What makes a wide piece certain: nothing behind the end, and the guard for all lanes. */
static const Expr *
wide_condition(const Reindex *r, const Piece *p)
{
	ExprCtx *ctx = r->s->ctx;
	Unclamp u = {.r = r};
	expr_rewrite(ctx, r->used, unclamp, &u);
	for (int i = 0; i < r->named.count; i++)
		expr_rewrite(ctx, r->named.data[i].value, unclamp, &u);
	const Expr *here = expr_both(ctx, u.inside, r->guard), *both = NULL;
	if (!here)
		return NULL;
	here = in_piece(r, p, here);
	for (int64_t lane = 0; lane < r->width; lane += r->width - 1) {
		const Expr *one = expr_replace_var(here, p->lane->var, expr_i64(ctx, lane));
		both = expr_both(ctx, both, expr_simplify(p->facts, one));
	}
	both = expr_simplify(p->facts, both);
	return both == expr_bool(ctx, true) ? NULL : both;
}

/* c[…] = guard ? X[…] : 0 */
static Stmt *
store_piece(const Reindex *r, const Piece *p)
{
	ExprCtx *ctx = r->s->ctx;
	const Expr *value = in_piece(r, p, r->used);
	if (r->guard && !p->is_wide)
		value = expr_select(ctx, in_piece(r, p, r->guard), value, expr_number(ctx, value->type, 0));
	return stmt_store(r->s->kernel, r->buffer, reindex_place(r, p->facts, &p->values), STORE_SET,
	                  value);
}

static const Var *
counter(const Reindex *r, int number, int64_t count)
{
	ExprCtx *ctx = r->s->ctx;
	const char *name = arena_printf(r->s->kernel->arena, "%s_%d", r->buffer->tensor.name, number);
	return var_new(ctx, name, DT_I64, expr_i64(ctx, 0), expr_i64(ctx, count));
}

/* Elements one by one: all of the piece. */
static Stmt *
copy_singly(const Reindex *r, Facts *facts, const Expr *number)
{
	ExprCtx *ctx = r->s->ctx;
	const Var *lane = counter(r, 2, r->width);
	const Expr *at = r->width > 1 ? expr_var(ctx, lane) : expr_i64(ctx, 0);
	int mark = facts_mark(facts);
	facts_var(facts, lane, lane->lo, lane->hi);
	Piece p = {.facts = facts, .number = number, .lane = at};
	open_piece(r, &p);
	Stmt *body = stmt_append(p.lets, store_piece(r, &p));
	facts_release(facts, mark);
	return r->width > 1 ? stmt_for(r->s->kernel, lane, lane->lo, lane->hi, BIND_SERIAL, body)
	                    : body;
}

static Stmt *
copy_piece(const Reindex *r, Facts *facts, const Expr *number)
{
	if (r->width == 1)
		return copy_singly(r, facts, number);
	Kernel *kernel = r->s->kernel;
	const Var *lane = counter(r, 1, r->width);
	int mark = facts_mark(facts);
	facts_var(facts, lane, lane->lo, lane->hi);
	Piece p = {
		.facts = facts, .number = number, .lane = expr_var(r->s->ctx, lane), .is_wide = true};
	open_piece(r, &p);
	const Expr *condition = wide_condition(r, &p);
	Stmt *wide = stmt_for(kernel, lane, lane->lo, lane->hi, BIND_VECTOR, store_piece(r, &p));
	facts_release(facts, mark);
	if (condition)
		wide = stmt_if(kernel, condition, wide, copy_singly(r, facts, number));
	return stmt_append(p.lets, wide);
}

/* for c_0 in rounds { … } */
Stmt *
reindex_copy(Reindex *r, Facts *facts)
{
	ExprCtx *ctx = r->s->ctx;
	int64_t at_once = r->width * r->grid.threads;
	const Var *round = counter(r, 0, (r->count + at_once - 1) / at_once);
	const Expr *before = expr_mul(ctx, expr_var(ctx, round), expr_i64(ctx, r->grid.threads));
	const Expr *number = expr_add(ctx, before, r->grid.thread);
	const Expr *is_one = expr_lt(ctx, number, expr_i64(ctx, r->count / r->width));
	bool is_whole = r->count % at_once == 0;
	int mark = facts_mark(facts);
	facts_var(facts, round, round->lo, round->hi);
	if (!is_whole)
		facts_assume(facts, is_one);
	number = expr_simplify(facts, expr_mul(ctx, number, expr_i64(ctx, r->width)));
	Stmt *body = copy_piece(r, facts, number);
	facts_release(facts, mark);
	if (!is_whole)
		body = stmt_if(r->s->kernel, is_one, body, NULL);
	return stmt_for(r->s->kernel, round, round->lo, round->hi, BIND_SERIAL, body);
}

/* As many elements at once as lie side by side from a multiple of their number on. */
int64_t
reindex_width(const Reindex *r, Facts *facts)
{
	ExprCtx *ctx = r->s->ctx;
	int bits = dtype_bits(r->read->tensor->type);
	for (int64_t width = bits < 8 ? 1 : WIDEST_COPY * 8 / bits; width > 1; width /= 2) {
		const Var *group = counter(r, 0, r->count / width), *lane = counter(r, 1, width);
		if (r->sizes.data[r->loops.count - 1] % width != 0)
			continue;
		int mark = facts_mark(facts);
		facts_var(facts, group, group->lo, group->hi);
		facts_var(facts, lane, lane->lo, lane->hi);
		const Expr *number = expr_mul(ctx, expr_var(ctx, group), expr_i64(ctx, width));
		Piece p = {.facts = facts, .number = number, .lane = expr_var(ctx, lane), .is_wide = true};
		open_piece(r, &p);
		bool fits = p.is_one && is_side_by_side(r, &p, width) && is_monotone(r, &p, r->guard);
		facts_release(facts, mark);
		if (fits)
			return width;
	}
	return 1;
}
