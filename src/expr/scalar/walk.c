/* Walks over expressions as graphs: each distinct node once, operands first, without recursion (a
 * group composed of a thousand operators is a thousand nodes deep, and shares much).
 */
#include <string.h>

#include "expr/scalar/ctx.h"

/* ---- memos ----------------------------------------------------------------------------------- */

enum { MEMO_SLOTS = 64 };

Memo *
memo_take(ExprCtx *ctx)
{
	Memo *memo = ctx->memos;
	if (memo) {
		ctx->memos = memo->next;
		return memo;
	}
	memo = NEW(ctx->arena, Memo);
	memo->arena = ctx->arena;
	memo->slot_count = MEMO_SLOTS;
	memo->slots = NEW_N(ctx->arena, MemoSlot, MEMO_SLOTS);
	memo->stamp = 1;
	return memo;
}

void
memo_clear(Memo *memo)
{
	memo->count = 0;
	memo->nodes.count = 0;
	memo->stack.count = 0;
	memo->numbers.count = 0;
	if (++memo->stamp == 0) { /* after 2^32 uses old stamps could be taken for new ones */
		memset(memo->slots, 0, (size_t)memo->slot_count * sizeof *memo->slots);
		memo->stamp = 1;
	}
}

void
memo_give(ExprCtx *ctx, Memo *memo)
{
	memo_clear(memo);
	memo->next = ctx->memos;
	ctx->memos = memo;
}

static MemoSlot *
memo_slot(const Memo *memo, const Expr *key)
{
	uint32_t mask = (uint32_t)memo->slot_count - 1;
	uint32_t at = (key->id * UINT32_C(0x9E3779B1)) >> 7 & mask;
	while (memo->slots[at].stamp == memo->stamp && memo->slots[at].key != key)
		at = (at + 1) & mask;
	return &memo->slots[at];
}

bool
memo_find(const Memo *memo, const Expr *key, uint64_t *value)
{
	const MemoSlot *slot = memo_slot(memo, key);
	if (slot->stamp != memo->stamp)
		return false;
	*value = slot->value;
	return true;
}

static void
memo_grow(Memo *memo)
{
	MemoSlot *old = memo->slots;
	int old_count = memo->slot_count;
	memo->slot_count *= 4;
	memo->slots = NEW_N(memo->arena, MemoSlot, memo->slot_count);
	for (int i = 0; i < old_count; i++)
		if (old[i].stamp == memo->stamp)
			*memo_slot(memo, old[i].key) = old[i];
}

void
memo_set(Memo *memo, const Expr *key, uint64_t value)
{
	if (memo->count > memo->slot_count / 2)
		memo_grow(memo);
	MemoSlot *slot = memo_slot(memo, key);
	memo->count += slot->stamp != memo->stamp;
	*slot = (MemoSlot){key, value, memo->stamp};
}

const Expr *
memo_find_expr(const Memo *memo, const Expr *key)
{
	uint64_t value;
	return memo_find(memo, key, &value) ? (const Expr *)(uintptr_t)value : NULL;
}

void
memo_set_expr(Memo *memo, const Expr *key, const Expr *value)
{
	memo_set(memo, key, (uint64_t)(uintptr_t)value);
}

/* ---- walking --------------------------------------------------------------------------------- */

/* The stack holds triples (node, next operand, its slot of the memo). A node enters the memo when
 * it is first met, so that the stack never holds it twice; one without operands is done at once. */
static void
enter_node(Memo *memo, const Expr *e, WalkEnds ends)
{
	if (memo->count > memo->slot_count / 2)
		memo_grow(memo);
	MemoSlot *slot = memo_slot(memo, e);
	if (slot->stamp == memo->stamp)
		return;
	memo->count++;
	*slot = (MemoSlot){e, (uint64_t)memo->nodes.count, memo->stamp};
	if (walk_argc(e, ends) == 0) {
		vec_push(memo->arena, &memo->nodes, e);
		return;
	}
	vec_push(memo->arena, &memo->stack, (uint64_t)(uintptr_t)e);
	vec_push(memo->arena, &memo->stack, 0);
	vec_push(memo->arena, &memo->stack, (uint64_t)(slot - memo->slots));
}

void
walk_nodes(Memo *memo, const Expr *e, WalkEnds ends)
{
	int before = memo->nodes.count;
	enter_node(memo, e, ends);
	while (memo->stack.count > 0) {
		uint64_t *top = &memo->stack.data[memo->stack.count - 3];
		const Expr *node = (const Expr *)(uintptr_t)top[0];
		if (top[1] < (uint64_t)node->argc) {
			const Expr *next = node->arg[top[1]++];
			if (next->has_read || ends != WALK_READS)
				enter_node(memo, next, ends);
			continue;
		}
		bool has_moved = top[2] >= (uint64_t)memo->slot_count || memo->slots[top[2]].key != node;
		MemoSlot *slot = has_moved ? memo_slot(memo, node) : &memo->slots[top[2]];
		slot->value = (uint64_t)memo->nodes.count;
		vec_push(memo->arena, &memo->nodes, node);
		memo->stack.count -= 3;
	}
	e->ctx->work += (uint64_t)(memo->nodes.count - before);
}

int64_t
memo_number(const Memo *memo, const Expr *node)
{
	uint64_t index = 0;
	memo_find(memo, node, &index);
	return memo->numbers.data[index];
}

void
expr_walk_add(ExprWalk *walk, const Expr *e)
{
	if (!e)
		return;
	if (!walk->memo) {
		walk->e = e;
		walk->memo = memo_take(e->ctx);
	}
	walk_nodes(walk->memo, e, WALK_TO_LEAVES);
}

ExprWalk
expr_walk(const Expr *e)
{
	ExprWalk walk = {0};
	expr_walk_add(&walk, e);
	return walk;
}

ExprWalk
expr_walk_reads(const Expr *e)
{
	ExprWalk walk = {.e = e, .memo = memo_take(e->ctx)};
	walk_nodes(walk.memo, e, WALK_READS);
	return walk;
}

bool
expr_step(ExprWalk *walk)
{
	Memo *memo = walk->memo;
	if (memo && walk->at < memo->nodes.count) {
		walk->e = memo->nodes.data[walk->at++];
		return true;
	}
	if (memo)
		memo_give(walk->e->ctx, memo);
	walk->memo = NULL;
	return false;
}

const Expr *
expr_without_casts(const Expr *e)
{
	while (e->op == EX_cast)
		e = e->arg[0];
	return e;
}

bool
expr_holds(const Expr *e, const Expr *node)
{
	bool is_found = false;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		is_found |= walk.e == node;
	return is_found;
}

bool
expr_keeps_checks(const Expr *from, const Expr *to)
{
	bool keeps = true;
	for (ExprWalk walk = expr_walk(from->has_check && to != from ? from : NULL); expr_step(&walk);)
		if (walk.e->op == EX_at && (walk.e->flags & AT_CHECK))
			keeps = keeps && to->has_check && expr_holds(to, walk.e);
	return keeps;
}

bool
expr_uses_iter(const Expr *e, int position)
{
	if (position < 63)
		return e->iters >> position & 1;
	if (!(e->iters >> 63))
		return false;
	bool is_used = false;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);)
		is_used |= walk.e->op == EX_iter && walk.e->iter == position;
	return is_used;
}

bool
expr_reads(const Expr *e, const Tensor *tensor)
{
	if (!e->has_read)
		return false;
	Memo *memo = memo_take(e->ctx);
	bool is_read = false;
	walk_nodes(memo, e, WALK_READS);
	for (int i = 0; i < memo->nodes.count; i++)
		is_read |= memo->nodes.data[i]->op == EX_read && memo->nodes.data[i]->tensor == tensor;
	memo_give(e->ctx, memo);
	return is_read;
}

int
expr_cost(const Expr *e)
{
	int64_t cost = 0;
	for (ExprWalk walk = expr_walk(e); expr_step(&walk);) {
		const ScalarInfo *row = scalar_info(walk.e->op);
		cost += row ? row->cost : 0;
	}
	return cost < INT32_MAX ? (int)cost : INT32_MAX;
}

/* ---- rewriting ------------------------------------------------------------------------------- */

const Expr *
walk_fold_on(Memo *memo, ExprCtx *to, const Expr *e, WalkEnds ends, WalkFold fold, void *arg)
{
	walk_nodes(memo, e, ends);
	for (int i = memo->numbers.count; i < memo->nodes.count; i++) {
		const Expr *node = memo->nodes.data[i];
		const Expr *local[8];
		int argc = walk_argc(node, ends);
		const Expr **args = argc <= 8 ? local : NEW_N(to->arena, const Expr *, argc);
		for (int k = 0; k < argc; k++)
			args[k] = (const Expr *)(uintptr_t)memo_number(memo, node->arg[k]);
		const Expr *made = fold(to, node, argc > 0 ? args : node->arg, arg);
		vec_push(memo->arena, &memo->numbers, (int64_t)(uintptr_t)made);
	}
	return (const Expr *)(uintptr_t)memo_number(memo, e);
}

const Expr *
walk_fold(ExprCtx *to, const Expr *e, WalkEnds ends, WalkFold fold, void *arg)
{
	if (walk_argc(e, ends) == 0)
		return fold(to, e, e->arg, arg);
	Memo *memo = memo_take(e->ctx);
	const Expr *result = walk_fold_on(memo, to, e, ends, fold, arg);
	memo_give(e->ctx, memo);
	return result;
}

typedef struct Rewriting {
	ExprRewrite replace;
	void *arg;
} Rewriting;

static const Expr *
rebuild_node(ExprCtx *ctx, const Expr *e, const Expr *const *args, void *arg)
{
	const Rewriting *rewriting = arg;
	return rewriting->replace(ctx, expr_with_args(ctx, e, args), rewriting->arg);
}

const Expr *
walk_rewrite(ExprCtx *ctx, const Expr *e, WalkEnds ends, ExprRewrite replace, void *arg)
{
	return walk_fold(ctx, e, ends, rebuild_node, &(Rewriting){replace, arg});
}

const Expr *
expr_rewrite(ExprCtx *ctx, const Expr *e, ExprRewrite replace, void *arg)
{
	return walk_rewrite(ctx, e, WALK_TO_LEAVES, replace, arg);
}

static const Expr *
put_for_node(ExprCtx *ctx, const Expr *e, void *arg)
{
	const Expr *const *pair = arg;
	(void)ctx;
	return e == pair[0] ? pair[1] : e;
}

const Expr *
expr_replace(ExprCtx *ctx, const Expr *e, const Expr *node, const Expr *other)
{
	const Expr *pair[2] = {node, other};
	return expr_rewrite(ctx, e, put_for_node, pair);
}

typedef struct Substitution {
	int count;
	const Expr *const *map;
} Substitution;

static const Expr *
substitute_iter(ExprCtx *ctx, const Expr *e, void *arg)
{
	(void)ctx;
	const Substitution *sub = arg;
	if (e->op != EX_iter || e->iter >= sub->count || !sub->map[e->iter])
		return e;
	return sub->map[e->iter];
}

const Expr *
expr_substitute(ExprCtx *ctx, const Expr *e, int count, const Expr *const *map)
{
	if (e->iters == 0)
		return e;
	if (e->op == EX_iter)
		return e->iter < count && map[e->iter] ? map[e->iter] : e;
	return expr_rewrite(ctx, e, substitute_iter, &(Substitution){count, map});
}

/* ---- import ---------------------------------------------------------------------------------- */

static const void *
find_mapped(const Map *map, const void *old)
{
	const void *found = map ? map_find_ptr(map, old) : NULL;
	must(found || !old);
	return found;
}

static const Expr *
import_leaf(ExprCtx *to, const Expr *e, const Map *map)
{
	if (e->op == EX_iter)
		return expr_iter(to, e->iter);
	Expr head = {.op = e->op, .type = e->type, .flags = e->flags};
	head.value = e->value;
	if (e->op == EX_var)
		head.var = find_mapped(map, e->var);
	if (e->op == EX_symbol) {
		const Symbol *symbol = symbol_get(to, e->symbol->name);
		symbol_set_range(symbol, e->symbol->lo, e->symbol->hi);
		head.symbol = symbol;
	}
	return expr_intern(to, &head, NULL);
}

static const Expr *
import_node(ExprCtx *to, const Expr *e, const Expr *const *args, void *map)
{
	if (e->argc == 0 && e->op != EX_read)
		return import_leaf(to, e, map);
	Expr head = {.op = e->op, .type = e->type, .flags = e->flags, .argc = e->argc};
	if (e->op == EX_read)
		head.tensor = find_mapped(map, e->tensor);
	return expr_intern(to, &head, args);
}

const Expr *
walk_import(Memo *memo, ExprCtx *to, const Expr *e, const Map *map)
{
	return walk_fold_on(memo, to, e, WALK_TO_LEAVES, import_node, (void *)(uintptr_t)map);
}

const Expr *
expr_import(ExprCtx *to, const Expr *e, const Map *map)
{
	return walk_fold(to, e, WALK_TO_LEAVES, import_node, (void *)(uintptr_t)map);
}

/* ---- application ----------------------------------------------------------------------------- */

/* By the constructors, which fold: a symbol may have become a number. */
static const Expr *
apply_node(ExprCtx *to, const Expr *e, const Expr *const *args, void *given)
{
	if (e->op == EX_symbol)
		return find_mapped(given, e->symbol);
	if (e->op == EX_read)
		return expr_read(to, find_mapped(given, e->tensor), args);
	const Expr *dim = e->argc > 0 && !e->iters && !e->has_read ? map_find_ptr(given, e) : NULL;
	if (dim)
		return dim;
	return e->argc == 0 ? import_leaf(to, e, given) : expr_with_args(to, e, args);
}

const Expr *
expr_apply(ExprCtx *to, const Expr *e, const Map *given)
{
	return walk_fold(to, e, WALK_TO_LEAVES, apply_node, (void *)(uintptr_t)given);
}
