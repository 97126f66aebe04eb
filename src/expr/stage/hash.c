/* Hashes of scalars: see hash.h. */
#include "expr/stage/hash.h"

#include <stdlib.h>
#include <string.h>

#include "expr/index/poly.h"

Hash128
hash_word(uint64_t word)
{
	return hash128(&word, sizeof word);
}

int
hash_compare(Hash128 a, Hash128 b)
{
	if (a.high != b.high)
		return a.high < b.high ? -1 : 1;
	return a.low == b.low ? 0 : a.low < b.low ? -1 : 1;
}

static int
compare_entries(const void *a, const void *b)
{
	Hash128 x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return hash_compare(x, y);
}

Hash128
hash_unordered(Hash128 *hashes, int count)
{
	if (count > 1)
		qsort(hashes, (size_t)count, sizeof *hashes, compare_entries);
	return hash128(hashes, (size_t)count * sizeof *hashes);
}

void
hasher_forget(Hasher *hasher)
{
	memo_clear(hasher->memo);
}

void
hasher_open(Hasher *hasher, ExprCtx *ctx, const Map *tensors)
{
	hasher->ctx = ctx;
	hasher->memo = memo_take(ctx);
	hasher->tensors = tensors;
	for (int i = 0; i < HASH_ITERS; i++)
		hasher->iters[i] = hash_word((uint64_t)i);
}

void
hasher_close(Hasher *hasher)
{
	memo_give(hasher->ctx, hasher->memo);
	hasher->memo = NULL;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static Hash128
hash_name(const char *name)
{
	return hash128(name, strlen(name));
}

static Hash128
hash_tensor(const Hasher *hasher, const Tensor *tensor)
{
	const Hash128 *known = hasher->tensors ? map_find_ptr(hasher->tensors, tensor) : NULL;
	if (known)
		return *known;
	return hash_word(UINT64_C(1) << 40 | (uint64_t)tensor->id);
}

static Hash128
hash_leaf(const Hasher *hasher, const Expr *e)
{
	switch (e->op) {
	case EX_iter:
		return hasher->iters[e->iter < HASH_ITERS ? e->iter : HASH_ITERS - 1];
	case EX_symbol:
		return hash_name(e->symbol->name);
	case EX_var:
		return hash_word(UINT64_C(1) << 41 | (uint64_t)e->var->id);
	case EX_read:
		return hash_tensor(hasher, e->tensor);
	case EX_const:
		return hash_word(e->value.u64);
	default:
		return hash_word(0);
	}
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static Hash128
hash_at(const Hasher *hasher, const Expr *e)
{
	uint64_t index = 0;
	memo_find(hasher->memo, e, &index);
	return (Hash128){(uint64_t)hasher->memo->numbers.data[2 * index],
	                 (uint64_t)hasher->memo->numbers.data[2 * index + 1]};
}

/* An index sum as a set of terms, each a coefficient and a set of atoms. The atoms lie below e, so
 * they have their hashes. */
static bool
hash_sum(const Hasher *hasher, const Expr *e, Hash128 *out)
{
	Poly p;
	Hash128 terms[POLY_TERMS];
	if (e->op != EX_add && e->op != EX_sub && e->op != EX_mul && e->op != EX_neg)
		return false;
	if (!poly_of(e, &p))
		return false;
	for (int i = 0; i < p.count; i++) {
		Hash128 atoms[POLY_ATOMS];
		for (int k = 0; k < p.term[i].natom; k++)
			atoms[k] = hash_at(hasher, p.term[i].atom[k]);
		terms[i] = hash128_combine(hash_word((uint64_t)p.term[i].coef),
		                           hash_unordered(atoms, p.term[i].natom));
	}
	*out = hash128_combine(hash_word(EX_add), hash_unordered(terms, p.count));
	return true;
}

static bool
is_commutative(const Expr *e)
{
	switch (e->op) {
	case EX_add:
	case EX_mul:
	case EX_min:
	case EX_max:
	case EX_eq:
	case EX_ne:
	case EX_bitand:
	case EX_bitor:
	case EX_bitxor:
		return true;
	case EX_and:
	case EX_or: /* lazy, which only matters to reads */
		return !e->has_read;
	default:
		return false;
	}
}

static Hash128
hash_node(const Hasher *hasher, const Expr *e)
{
	Hash128 hash, local[8];
	if (e->argc == 0 && e->op == EX_iter)
		return hash_leaf(hasher, e);
	if (e->type == DT_I64 && hash_sum(hasher, e, &hash))
		return hash;
	uint64_t head =
		e->op | (uint64_t)e->type << 8 | (uint64_t)e->flags << 16 | (uint64_t)e->argc << 24;
	hash = hash128_combine(hash_word(head), hash_leaf(hasher, e));
	if (is_commutative(e)) {
		local[0] = hash_at(hasher, e->arg[0]);
		local[1] = hash_at(hasher, e->arg[1]);
		return hash128_combine(hash, hash_unordered(local, 2));
	}
	for (int i = 0; i < e->argc; i++)
		hash = hash128_combine(hash, hash_at(hasher, e->arg[i]));
	return hash;
}

Hash128
hash_scalar(Hasher *hasher, const Expr *e)
{
	Memo *memo = hasher->memo;
	int done = memo->nodes.count;
	walk_nodes(memo, e);
	for (int i = done; i < memo->nodes.count; i++) {
		Hash128 hash = hash_node(hasher, memo->nodes.data[i]);
		vec_push(memo->arena, &memo->numbers, (int64_t)hash.low);
		vec_push(memo->arena, &memo->numbers, (int64_t)hash.high);
	}
	return hash_at(hasher, e);
}

/* ---- stages ---------------------------------------------------------------------------------- */

static Hash128
hash_guard(Hasher *hasher, const Expr *guard)
{
	Hash128 terms[128];
	int count = 0;
	while (guard && guard->op == EX_and && count < 127) {
		terms[count++] = hash_scalar(hasher, guard->arg[1]);
		guard = guard->arg[0];
	}
	if (guard)
		terms[count++] = hash_scalar(hasher, guard);
	return hash_unordered(terms, count);
}

Hash128
hash_stage(Hasher *hasher, const Stage *stage)
{
	uint64_t head[] = {stage->kind,
	                   (uint64_t)stage->nloop,
	                   (uint64_t)stage->nreduce,
	                   (uint64_t)stage->nbody,
	                   stage->kind == STAGE_reduce ? stage->reduce + 1u : 0,
	                   stage->kind == STAGE_reduce ? stage->acc : 0,
	                   stage->kind == STAGE_scatter ? (uint64_t)(stage->combine + 2) : 0,
	                   stage->scan ? (uint64_t)stage->scan_axis + 1 : 0};
	Hash128 hash = hash128(head, sizeof head);
	for (int i = 0; i < stage->nloop + stage->nreduce; i++) {
		hash = hash128_combine(hash, hash_scalar(hasher, stage->iters[i].lo));
		hash = hash128_combine(hash, hash_scalar(hasher, stage->iters[i].hi));
	}
	for (int i = 0; i < stage->nresult; i++)
		hash = hash128_combine(hash, hash_word(stage->results[i]->type));
	for (int i = 0; i < stage->nbody; i++)
		hash = hash128_combine(hash, hash_scalar(hasher, stage->body[i]));
	if (stage->kind == STAGE_scatter) {
		hash = hash128_combine(hash, hash_tensor(hasher, stage->init));
		for (int i = 0; i < stage->init->rank; i++)
			hash = hash128_combine(hash, hash_scalar(hasher, stage->target[i]));
	}
	return hash128_combine(hash, hash_guard(hasher, stage->guard));
}
