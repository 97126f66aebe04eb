/* The owner of expressions: interning, names, symbols, tensors and variables.
 *
 * Every node goes through expr_intern(): a table of open addressing over (op, type, flags, leaf,
 * operands). Operands are interned before their users, so equality of nodes is equality of
 * pointers, and an operand's id is always smaller than its user's.
 */
#include "expr/scalar/ctx.h"

#include <string.h>

enum { FIRST_SLOTS = 1024 };

ExprCtx *
expr_ctx_new(Arena *arena)
{
	ExprCtx *ctx = NEW(arena, ExprCtx);
	ctx->arena = arena;
	ctx->steps_most = INT32_MAX;
	ctx->slot_count = FIRST_SLOTS;
	ctx->slots = NEW_N(arena, InternSlot, FIRST_SLOTS);
	ctx->names = (Map){.arena = arena};
	ctx->symbols = (Map){.arena = arena};
	return ctx;
}

Arena *
expr_ctx_arena(const ExprCtx *ctx)
{
	return ctx->arena;
}

uint64_t
expr_ctx_work(const ExprCtx *ctx)
{
	return ctx->work;
}

Arena *
ctx_scratch(ExprCtx *ctx)
{
	if (!ctx->scratch)
		ctx->scratch = arena_new_in(ctx->arena, "scratch");
	return ctx->scratch;
}

Hash128 *
proof_slot(ExprCtx *ctx, Hash128 question)
{
	enum { SLOTS = 1 << 14 };
	ExprCtx *keeper = ctx->kept ? ctx->kept : ctx;
	if (!keeper->proofs)
		keeper->proofs = NEW_N(keeper->arena, Hash128, SLOTS);
	return &keeper->proofs[question.low % SLOTS];
}

ExprCtx *
expr_ctx_beside(Arena *arena, ExprCtx *kept)
{
	ExprCtx *ctx = expr_ctx_new(arena);
	ctx->kept = kept;
	ctx->steps_most = kept->steps_most;
	for (int i = 0; i < kept->symbol_list.count; i++) {
		const Symbol *symbol = kept->symbol_list.data[i];
		symbol_set_range(symbol_get(ctx, symbol->name), symbol->lo, symbol->hi);
	}
	return ctx;
}

/* ---- interning ------------------------------------------------------------------------------- */

static uint64_t
leaf_bits(const Expr *head)
{
	uint64_t bits;
	memcpy(&bits, &head->value, sizeof bits);
	return bits;
}

/* What a leaf is, whatever its address. */
static uint64_t
hash_leaf(const Expr *head)
{
	switch (head->op) {
	case EX_symbol:
		return hash64(head->symbol->name, strlen(head->symbol->name));
	case EX_var:
		return (uint64_t)head->var->id;
	case EX_read:
		return (uint64_t)head->tensor->id;
	default:
		return leaf_bits(head);
	}
}

/* As hash_mix(), and in order; two rounds, because proofs rely on it. */
static inline uint64_t
mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93) + value;
	hash = (hash ^ hash >> 29) * UINT64_C(0x9E3779B97F4A7C15);
	return hash ^ hash >> 32;
}

static uint64_t
hash_node(const Expr *head, const Expr *const *args)
{
	uint64_t kind = (uint64_t)head->op | (uint64_t)head->type << 8 | (uint64_t)head->flags << 16 |
	                (uint64_t)head->argc << 24;
	uint64_t hash = mix(kind, hash_leaf(head));
	for (int i = 0; i < head->argc; i++)
		hash = mix(hash, args[i]->hash);
	return hash;
}

static bool
is_same_node(const Expr *e, const Expr *head, const Expr *const *args)
{
	if (e->op != head->op || e->type != head->type || e->flags != head->flags ||
	    e->argc != head->argc || leaf_bits(e) != leaf_bits(head))
		return false;
	for (int i = 0; i < head->argc; i++)
		if (e->arg[i] != args[i])
			return false;
	return true;
}

static void
grow_table(ExprCtx *ctx)
{
	if (ctx->slot_count > UINT32_MAX / 4)
		fail_environment(NULL, "out of memory: more than %u expressions", ctx->count);
	uint32_t slot_count = ctx->slot_count * 2;
	Arena *table = arena_new_in(ctx->arena, "expressions");
	InternSlot *slots = NEW_N(table, InternSlot, slot_count);
	for (uint32_t i = 0; i < ctx->slot_count; i++) {
		if (!ctx->slots[i].e)
			continue;
		uint32_t at = (uint32_t)ctx->slots[i].hash & (slot_count - 1);
		while (slots[at].e)
			at = (at + 1) & (slot_count - 1);
		slots[at] = ctx->slots[i];
	}
	if (ctx->table)
		arena_reset(ctx->table);
	ctx->table = table;
	ctx->slots = slots;
	ctx->slot_count = slot_count;
}

static bool
is_tame_operation(const Expr *e)
{
	switch (e->op) {
	case EX_const:
	case EX_iter:
	case EX_symbol:
	case EX_var:
	case EX_at:
	case EX_add:
	case EX_sub:
	case EX_neg:
	case EX_mul:
	case EX_floordiv:
	case EX_floormod:
	case EX_shr:
	case EX_min:
	case EX_max:
	case EX_select:
		return e->type == DT_I64;
	case EX_cast: /* widening keeps the value */
		return e->type == DT_I64 && dtype_is_integer(e->arg[0]->type) &&
		       dtype_bits(e->arg[0]->type) < 64;
	default:
		return false;
	}
}

/* Below `at` and casts, and where nothing is read, anything may stand. */
static bool
is_tame_node(const Expr *e)
{
	bool is_tame = is_tame_operation(e);
	if (!e->has_read || e->op == EX_at || e->op == EX_cast)
		return is_tame;
	for (int i = e->op == EX_select; i < e->argc; i++)
		is_tame &= e->arg[i]->is_tame;
	return is_tame;
}

/* Fill in what follows from the operands. */
static void
derive_fields(Expr *e)
{
	e->has_read = e->op == EX_read;
	e->has_var = e->op == EX_var;
	e->has_check = e->op == EX_at && (e->flags & AT_CHECK);
	e->size = 1;
	if (e->op == EX_iter)
		e->iters = UINT64_C(1) << (e->iter < 63 ? e->iter : 63);
	for (int i = 0; i < e->argc; i++) {
		e->has_read |= e->arg[i]->has_read;
		e->has_var |= e->arg[i]->has_var;
		e->has_check |= e->arg[i]->has_check;
		e->iters |= e->arg[i]->iters;
		if (__builtin_add_overflow(e->size, e->arg[i]->size, &e->size))
			e->size = UINT32_MAX;
	}
	e->is_tame = is_tame_node(e);
}

const Expr *
expr_intern(ExprCtx *ctx, const Expr *head, const Expr *const *args)
{
	if (ctx->count > ctx->slot_count / 4 * 3)
		grow_table(ctx);
	uint64_t hash = hash_node(head, args);
	uint32_t at = (uint32_t)hash & (ctx->slot_count - 1);
	for (; ctx->slots[at].e; at = (at + 1) & (ctx->slot_count - 1))
		if (ctx->slots[at].hash == hash && is_same_node(ctx->slots[at].e, head, args))
			return ctx->slots[at].e;
	size_t bytes = (size_t)head->argc * sizeof *args;
	Expr *e = arena_alloc(ctx->arena, sizeof *e + bytes);
	memcpy(e, head, sizeof *e);
	if (bytes)
		memcpy(e->arg, args, bytes);
	e->ctx = ctx;
	e->id = ctx->count++;
	e->iters = 0;
	e->hash = hash;
	derive_fields(e);
	ctx->slots[at] = (InternSlot){hash, e};
	return e;
}

/* ---- names, symbols, variables, tensors ------------------------------------------------------ */

const char *
ctx_name(ExprCtx *ctx, const char *name)
{
	return name ? map_intern(&ctx->names, name, strlen(name)) : NULL;
}

const Symbol *
symbol_get(ExprCtx *ctx, const char *name)
{
	Symbol *symbol = map_find(&ctx->symbols, name);
	if (symbol)
		return symbol;
	symbol = NEW(ctx->arena, Symbol);
	*symbol = (Symbol){ctx_name(ctx, name), 0, INT32_MAX, ctx->symbol_list.count};
	vec_push(ctx->arena, &ctx->symbol_list, symbol);
	map_set(&ctx->symbols, symbol->name, symbol);
	return symbol;
}

const Symbol *
symbol_fresh(ExprCtx *ctx, const char *prefix)
{
	for (int i = ctx->symbol_list.count;; i++) {
		char *name = arena_printf(ctx->arena, "%s%d", prefix, i);
		if (!map_find(&ctx->symbols, name))
			return symbol_get(ctx, name);
	}
}

void
symbol_set_range(const Symbol *symbol, int64_t lo, int64_t hi)
{
	must(lo <= hi);
	((Symbol *)(uintptr_t)symbol)->lo = lo;
	((Symbol *)(uintptr_t)symbol)->hi = hi;
}

Tensor *
tensor_new(ExprCtx *ctx, const char *name, DType type, int rank, const Dim *const *dims)
{
	Tensor *tensor = NEW(ctx->arena, Tensor);
	tensor->name = ctx_name(ctx, name);
	tensor->type = type;
	tensor->rank = rank;
	tensor->hi = arena_memdup(ctx->arena, dims, (size_t)rank * sizeof *dims);
	tensor->id = ctx->ntensor++;
	for (int i = 0; i < rank; i++)
		must(dims[i] && dims[i]->type == DT_I64);
	return tensor;
}

Var *
var_new(ExprCtx *ctx, const char *name, DType type, const Expr *lo, const Expr *hi)
{
	Var *var = NEW(ctx->arena, Var);
	*var = (Var){ctx_name(ctx, name), type, lo, hi, ctx->nvar++};
	return var;
}

/* ---- constructors of leaves and of what has no row ------------------------------------------- */

const Expr *
expr_iter(ExprCtx *ctx, int position)
{
	must(position >= 0);
	if (position < CTX_SMALL && ctx->iters[position])
		return ctx->iters[position];
	Expr head = {.op = EX_iter, .type = DT_I64};
	head.iter = position;
	const Expr *e = expr_intern(ctx, &head, NULL);
	if (position < CTX_SMALL)
		ctx->iters[position] = e;
	return e;
}

const Expr *
expr_var(ExprCtx *ctx, const Var *var)
{
	Expr head = {.op = EX_var, .type = (uint8_t)var->type};
	head.var = var;
	return expr_intern(ctx, &head, NULL);
}

const Expr *
expr_symbol(ExprCtx *ctx, const Symbol *symbol)
{
	Expr head = {.op = EX_symbol, .type = DT_I64};
	head.symbol = symbol;
	return expr_intern(ctx, &head, NULL);
}

const Expr *
expr_read(ExprCtx *ctx, const Tensor *tensor, const Expr *const *index)
{
	for (int i = 0; i < tensor->rank; i++)
		must(dtype_is_integer(index[i]->type));
	Expr head = {.op = EX_read, .type = (uint8_t)tensor->type, .argc = tensor->rank};
	head.tensor = tensor;
	return expr_intern(ctx, &head, index);
}

const Expr *
expr_at(ExprCtx *ctx, const Expr *index, const Dim *extent, int flags)
{
	must(dtype_is_integer(index->type) && extent->type == DT_I64);
	Expr head = {.op = EX_at, .type = DT_I64, .flags = (uint8_t)flags, .argc = 2};
	return expr_intern(ctx, &head, (const Expr *[]){index, extent});
}

const Expr *
expr_with_args(ExprCtx *ctx, const Expr *e, const Expr *const *args)
{
	bool is_changed = false;
	for (int i = 0; i < e->argc; i++)
		is_changed |= args[i] != e->arg[i];
	if (!is_changed)
		return e;
	if (e->op == EX_cast)
		return expr_cast_flags(ctx, e->type, args[0], e->flags);
	if (e->op == EX_bitcast)
		return expr_bitcast(ctx, e->type, args[0]);
	if (e->op == EX_at)
		return expr_at(ctx, args[0], args[1], e->flags);
	if (e->op == EX_read)
		return expr_read(ctx, e->tensor, args);
	return expr_op(ctx, e->op, args);
}
