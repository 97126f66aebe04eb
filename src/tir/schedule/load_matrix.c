/* load_matrix: registers of a matrix come from shared memory by one operation of a warp.
 *
 *     for mt in 4, nt in 2 {                        for mt in 4 {
 *       fa: f16[8] @reg                               fa: f16[8] @reg
 *       for fa_0 in 8                           =>    fa[0] = ldmatrix.x4(sa[mt*16 + lane%16,
 *         fa[fa_0] = sa[mt*16 + lane/4 + …, …]                               lane/16*8])
 *       … mma(fa[0], …)                               for nt in 2 { … mma(fa[0], …) }
 *     }                                             }
 *
 *     load_matrix fa at mt
 *
 * What a lane loads is compared with the layouts below for each lane and element. Where there is no
 * operation for them (f32, or a matrix that does not lie in rows) the loads themselves move.
 */
#include <string.h>

#include "expr/index/text.h"
#include "tir/schedule/grid.h"
#include "tir/text.h"

/* A fragment's rows, or (is_turned) its columns, lie side by side; `major` and `minor` are where
 * the row that lane l names begins. */
typedef struct Layout {
	const char *op, *product_operand; /* "a", "b" of a product of 16-bit numbers */
	bool is_turned;
	const char *major, *minor;
} Layout;

static const Layout layouts[] = {
	{"ldmatrix.x4", "a", false, "l % 16", "l / 16 * 8"},
	{"ldmatrix.x4.trans", "a", true, "l / 16 * 8 + l % 8", "l / 8 % 2 * 8"},
	{"ldmatrix.x2.trans", "b", false, "l % 16", "0"},
	{"ldmatrix.x2", "b", true, "l % 8", "l / 8 % 2 * 8"},
};

typedef struct Loading {
	Scheduling *s;
	Stmt **alloc; /* the link to it; the loads stand behind */
	Stmt *loads;  /* for i in count: buffer[i] = S[…] */
	const Expr *lane;
	const Expr *const *index;
	const Buffer *from;
} Loading;

static void
find_loads(Loading *l)
{
	const Scheduling *s = l->s;
	const char *name = s->step->buffers.data[0];
	l->alloc = find_alloc(&s->kernel->body, name);
	Stmt *loads = l->alloc ? (*l->alloc)->next : NULL, *store = loads ? loads->body : NULL;
	if (!store || loads->kind != STMT_FOR || store->kind != STMT_STORE || store->next ||
	    store->buffer != (*l->alloc)->buffer || store->value->op != EX_read)
		refuse_step(s, "it is not filled behind where it is made, by a loop of reads");
	l->loads = loads;
	l->from = (const Buffer *)store->value->tensor;
	l->index = store->value->arg;
}

/* ---- layouts --------------------------------------------------------------------------------- */

static const Expr *
at_lane(const Loading *l, const Expr *e, int lane, int i)
{
	ExprCtx *ctx = l->s->ctx;
	e = expr_replace_var(e, l->lane->var, expr_i64(ctx, lane));
	return expr_replace_var(e, l->loads->var, expr_i64(ctx, i));
}

/* Whether index d is `base` and, further on, the row or column of each element. */
static bool
counts(const Loading *l, Facts *facts, int d, const Expr *base, int (*place)(int, int), int count)
{
	ExprCtx *ctx = l->s->ctx;
	for (int lane = 0; lane < WARP_LANES; lane++)
		for (int i = 0; i < count; i++) {
			const Expr *off = expr_sub(ctx, at_lane(l, l->index[d], lane, i), base);
			int64_t value;
			if (!expr_as_i64(expr_simplify(facts, off), &value) ||
			    value != (place ? place(lane, i) : 0))
				return false;
		}
	return true;
}

static const Expr *
of_lane(const Loading *l, const char *text)
{
	Map names = {.arena = l->s->kernel->arena};
	Scanner scan;
	map_set(&names, "l", (void *)l->lane);
	scan_open(&scan, l->s->kernel->arena, "layout", text);
	return expr_parse(l->s->ctx, &scan, &names);
}

/* The place that each lane names, when what is loaded lies so; else NULL. */
static const Expr *
place_in(const Loading *l, Facts *facts, const Layout *layout)
{
	ExprCtx *ctx = l->s->ctx;
	const WarpOp *product = warp_op_find("mma.m16n8k16.f16");
	const Fragment *f = layout->product_operand[0] == 'a' ? product->a : product->b;
	int rank = l->from->tensor.rank, last = rank - 1;
	const Expr **place = NEW_N(l->s->kernel->arena, const Expr *, rank);
	bool is_major_found = false;
	int64_t count;
	if (!expr_as_i64(l->loads->hi, &count) || count != f->count)
		return NULL;
	for (int d = 0; d < rank; d++) {
		int (*major)(int, int) = layout->is_turned ? f->col : f->row;
		int (*minor)(int, int) = layout->is_turned ? f->row : f->col;
		const Expr *base = expr_simplify(facts, at_lane(l, l->index[d], 0, 0));
		const Expr *more = NULL;
		if (d == last && counts(l, facts, d, base, minor, f->count))
			more = of_lane(l, layout->minor);
		else if (d < last && !is_major_found && counts(l, facts, d, base, major, f->count))
			more = of_lane(l, layout->major);
		else if (d == last || !counts(l, facts, d, base, NULL, f->count))
			return NULL;
		is_major_found |= d < last && more;
		place[d] = more ? expr_simplify(facts, expr_add(ctx, base, more)) : base;
	}
	return is_major_found ? expr_read(ctx, &l->from->tensor, place) : NULL;
}

/* One operation in the place of the loads, where there is one. */
static void
load_at_once(Loading *l)
{
	const Buffer *buffer = (*l->alloc)->buffer;
	const Expr *zero = expr_i64(l->s->ctx, 0), *place = NULL;
	Facts *facts = facts_at(l->s, l->loads);
	if (dtype_bits(buffer->tensor.type) != 16 || l->from->scope != SCOPE_SHARED)
		return;
	for (size_t i = 0; i < countof(layouts) && !place; i++) {
		place = place_in(l, facts, &layouts[i]);
		if (!place)
			continue;
		const WarpOp *op = warp_op_find(layouts[i].op);
		Stmt *next = l->loads->next;
		*l->loads = *stmt_warp_op(l->s->kernel, op, buffer, &zero, STORE_SET, &place);
		l->loads->next = next;
	}
}

/* ---- where it is loaded ---------------------------------------------------------------------- */

static const Expr *
last_index(const Loading *l, int d)
{
	bool is_op = l->loads->kind == STMT_WARP_OP;
	return is_op ? l->loads->args[0]->arg[d] : l->index[d];
}

/* Refuses when something in the loop, but for what stands inside those of the loads, moves. */
static void
check_still(const Loading *l, const Stmt *loop)
{
	const Scheduling *s = l->s;
	for (StmtWalk walk = stmt_walk(s->kernel->arena, loop->body); stmt_step(&walk);) {
		const Stmt *stmt = walk.stmt;
		bool is_defined = stmt != l->loads && (stmt->kind == STMT_FOR || stmt->kind == STMT_LET);
		if (stmt->kind == STMT_SYNC || (stmt->buffer == l->from && stmt->kind != STMT_ALLOC))
			refuse_step(s, "%s changes in loop %s", l->from->tensor.name, loop->var->name);
		for (int d = 0; is_defined && d < l->from->tensor.rank; d++)
			if (expr_uses_var(last_index(l, d), stmt->var))
				refuse_step(s, "what is loaded depends on %s", stmt->var->name);
	}
}

void
primitive_load_matrix(Scheduling *s)
{
	Stmt *loop = named_loop(s, 0);
	Grid grid = find_grid(s);
	Loading l = {.s = s, .lane = grid.number[BIND_THREAD_X - BIND_BLOCK_X]};
	if (!l.lane || grid.extent[BIND_THREAD_X - BIND_BLOCK_X] != WARP_LANES)
		refuse_step(s, "@thread.x does not count the lanes of a warp");
	find_loads(&l);
	load_at_once(&l);
	for (const Stmt *at = loop->body; at; at = at->next)
		if (at == l.loads)
			return; /* there it stands */
	bool is_inside = false;
	for (StmtWalk walk = stmt_walk(s->kernel->arena, loop->body); stmt_step(&walk);)
		is_inside |= walk.stmt == l.loads;
	if (!is_inside)
		refuse_step(s, "%s is not loaded in loop %s", s->step->buffers.data[0], loop->var->name);
	check_still(&l, loop);
	Stmt *alloc = *l.alloc;
	*l.alloc = l.loads->next;
	l.loads->next = NULL;
	loop->body = stmt_append(alloc, loop->body);
}
