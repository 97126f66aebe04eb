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

Hash128
hash_result(Hash128 stage, int k)
{
	return hash128_combine(stage, hash_word((uint64_t)k));
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
hasher_open(Hasher *hasher, ExprCtx *ctx)
{
	hasher->ctx = ctx;
	hasher->memo = memo_take(ctx);
	hasher->is_free = false;
	hasher->ntensor = 0;
	hasher_count_positions(hasher);
}

Hash128
hash_position(int position)
{
	return (Hash128){UINT64_C(1) << 46, (uint64_t)position};
}

void
hasher_count_positions(Hasher *hasher)
{
	for (int i = 0; i < HASH_ITERS; i++)
		hasher->iters[i] = hash_position(i);
	hasher_forget(hasher);
}

void
hasher_close(Hasher *hasher)
{
	memo_give(hasher->ctx, hasher->memo);
	hasher->memo = NULL;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

Hash128
hash_tensor(const Tensor *tensor)
{
	return tensor->fingerprint.low ? tensor->fingerprint
	                               : hash_word(UINT64_C(1) << 40 | (uint64_t)tensor->id);
}

/* Where the tensor stands among those with labels, or would stand. */
static int
find_label(const Hasher *hasher, Hash128 hash)
{
	int at = 0;
	while (at < hasher->ntensor && hash_compare(hash_tensor(hasher->tensors[at]), hash) < 0)
		at++;
	return at;
}

static Hash128
hash_read(const Hasher *hasher, const Tensor *tensor)
{
	Hash128 hash = hash_tensor(tensor);
	int at = hasher->ntensor > 0 ? find_label(hasher, hash) : 0;
	return at < hasher->ntensor ? hasher->labels[at] : hash;
}

static Hash128
hash_leaf(const Hasher *hasher, const Expr *e)
{
	switch (e->op) {
	case EX_iter:
		return hasher->iters[e->iter < HASH_ITERS ? e->iter : HASH_ITERS - 1];
	case EX_symbol:
		return hash128(e->symbol->name, strlen(e->symbol->name));
	case EX_var:
		return (Hash128){UINT64_C(1) << 41, (uint64_t)e->var->id};
	case EX_read:
		return hash_read(hasher, e->tensor);
	case EX_const:
		return (Hash128){0, e->value.u64};
	default:
		return (Hash128){0};
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

/* scale * p + extra as a set of terms, each a coefficient and a set of atoms. The atoms lie below
 * what is hashed, so they have their hashes. */
static Hash128
hash_poly(const Hasher *hasher, const Poly *p, int64_t scale, int64_t extra)
{
	Hash128 terms[POLY_TERMS + 1], atoms[POLY_ATOMS + 1];
	int count = 0;
	int64_t constant = (int64_t)((uint64_t)poly_constant(p) * (uint64_t)scale + (uint64_t)extra);
	for (int i = 0; i < p->count; i++) {
		const Term *t = &p->term[i];
		for (int k = 0; k < t->natom; k++)
			atoms[k] =
				t->atom[k]->argc == 0 ? hash_leaf(hasher, t->atom[k]) : hash_at(hasher, t->atom[k]);
		uint64_t coef = (uint64_t)t->coef * (uint64_t)scale;
		if (t->natom > 0)
			terms[count++] = hash128_combine((Hash128){coef, 1}, hash_unordered(atoms, t->natom));
	}
	if (constant != 0)
		terms[count++] = (Hash128){(uint64_t)constant, 2};
	return hash128_combine((Hash128){EX_add, DT_I64}, hash_unordered(terms, count));
}

static bool
hash_sum(const Hasher *hasher, const Expr *e, Hash128 *out)
{
	Poly p;
	if (e->op != EX_add && e->op != EX_sub && e->op != EX_mul && e->op != EX_neg)
		return false;
	if (!poly_of(e, &p))
		return false;
	*out = hash_poly(hasher, &p, 1, 0);
	return true;
}

/* An equation of indices says the same of P and of -P. */
static bool
hash_equation(const Hasher *hasher, const Expr *e, Hash128 *out)
{
	Poly p;
	if ((e->op != EX_eq && e->op != EX_ne) || e->arg[0]->type != DT_I64 ||
	    !poly_gap(e->arg[1], e->arg[0], 0, &p))
		return false;
	Hash128 both[] = {hash_poly(hasher, &p, 1, 0), hash_poly(hasher, &p, -1, 0)};
	*out = hash128_combine((Hash128){e->op, DT_BOOL}, hash_unordered(both, 2));
	return true;
}

/* A choice by 0 <= P is the opposite one by 0 <= -P-1. */
static bool
hash_choice(const Hasher *hasher, const Expr *e, Hash128 *out)
{
	Poly p;
	const Expr *condition = e->op == EX_select ? e->arg[0] : NULL;
	if (!condition || condition->op != EX_le || !expr_is_zero(condition->arg[0]) ||
	    !poly_of(condition->arg[1], &p))
		return false;
	Hash128 ways[] = {
		hash128_combine(hash_poly(hasher, &p, 1, 0), hash_at(hasher, e->arg[1])),
		hash128_combine(hash_poly(hasher, &p, -1, -1), hash_at(hasher, e->arg[2])),
	};
	*out = hash128_combine((Hash128){EX_select, e->type}, hash_unordered(ways, 2));
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
	default:
		return false;
	}
}

/* Whether nested operations of this kind are one operation on a set: a junction is lazy, which only
 * matters to reads; sums and products of floats are so only where terms may be rounded anyhow. */
static bool
is_associative(const Hasher *hasher, const Expr *e)
{
	if (e->op == EX_and || e->op == EX_or)
		return !e->has_read;
	return (e->op == EX_add || e->op == EX_mul) && (hasher->is_free || !dtype_is_float(e->type));
}

int
hash_operands(const Hasher *hasher, const Expr *e, const Expr **out)
{
	int count = 2;
	if (!is_commutative(e) && !is_associative(hasher, e))
		return 0;
	out[0] = e->arg[0];
	out[1] = e->arg[1];
	for (int i = 0; is_associative(hasher, e) && i < count;) {
		const Expr *inner = out[i];
		if (inner->op != e->op || count == HASH_OPERANDS) {
			i++;
			continue;
		}
		out[i] = inner->arg[0];
		out[count++] = inner->arg[1];
	}
	return count;
}

static Hash128
hash_node(const Hasher *hasher, const Expr *e)
{
	Hash128 hash, local[HASH_OPERANDS];
	const Expr *operands[HASH_OPERANDS];
	if (e->op == EX_iter)
		return hash_leaf(hasher, e);
	if ((e->type == DT_I64 && hash_sum(hasher, e, &hash)) || hash_equation(hasher, e, &hash) ||
	    hash_choice(hasher, e, &hash))
		return hash;
	int count = hash_operands(hasher, e, operands);
	uint64_t head = e->op | (uint64_t)e->type << 8 | (uint64_t)e->flags << 16;
	Hash128 leaf = hash_leaf(hasher, e);
	hash = (Hash128){head ^ leaf.low, leaf.high ^ (uint64_t)(count ? count : e->argc) << 32};
	for (int i = 0; i < count; i++)
		local[i] = hash_at(hasher, operands[i]);
	if (count > 0)
		return hash128_combine(hash, hash_unordered(local, count));
	for (int i = 0; i < e->argc; i++)
		hash = hash128_combine(hash, hash_at(hasher, e->arg[i]));
	return e->argc > 0 ? hash : hash128(&hash, sizeof hash);
}

static void
push_hash(Memo *memo, Hash128 hash)
{
	vec_push(memo->arena, &memo->numbers, (int64_t)hash.low);
	vec_push(memo->arena, &memo->numbers, (int64_t)hash.high);
}

Hash128
hash_scalar(Hasher *hasher, const Expr *e)
{
	Memo *memo = hasher->memo;
	int done = memo->nodes.count;
	walk_nodes(memo, e, WALK_TO_SUMS);
	for (int i = done; i < memo->nodes.count; i++)
		push_hash(memo, hash_node(hasher, memo->nodes.data[i]));
	return hash_at(hasher, e);
}

/* ---- stages ---------------------------------------------------------------------------------- */

/* The parts of a stage as the hasher hashes scalars. */
static Hash128
hash_parts(Hasher *hasher, const Stage *stage, Hash128 (*scalar)(Hasher *, const Expr *))
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
		hash = hash128_combine(hash, scalar(hasher, stage->iters[i].lo));
		hash = hash128_combine(hash, scalar(hasher, stage->iters[i].hi));
	}
	for (int i = 0; i < stage->nresult; i++)
		hash = hash128_combine(hash, hash_word(stage->results[i]->type));
	for (int i = 0; i < stage->nbody; i++)
		hash = hash128_combine(hash, scalar(hasher, stage->body[i]));
	if (stage->kind == STAGE_scatter) {
		hash = hash128_combine(hash, hash_tensor(stage->init));
		for (int i = 0; i < stage->init->rank; i++)
			hash = hash128_combine(hash, scalar(hasher, stage->target[i]));
	}
	return stage->guard ? hash128_combine(hash, scalar(hasher, stage->guard)) : hash;
}

Hash128
hash_form(Hasher *hasher, const Stage *stage)
{
	return hash_parts(hasher, stage, hash_scalar);
}

Hash128
hash_with_reads(const Hasher *hasher, Hash128 form)
{
	for (int i = 0; i < hasher->ntensor; i++)
		form = hash128_combine(form, hash_tensor(hasher->tensors[i]));
	return form;
}

/* What has no read is known by its node; reads count by what they read. */
static Hash128
hash_as_written(Hasher *hasher, const Expr *e)
{
	if (!e->has_read)
		return (Hash128){e->hash, e->type};
	Memo *memo = hasher->memo;
	int done = memo->nodes.count;
	walk_nodes(memo, e, WALK_TO_READS);
	for (int i = done; i < memo->nodes.count; i++) {
		const Expr *node = memo->nodes.data[i];
		Hash128 hash = {node->hash, node->type};
		if (node->has_read) {
			hash = (Hash128){node->op | (uint64_t)node->type << 8 | (uint64_t)node->flags << 16,
			                 (uint64_t)node->argc};
			if (node->op == EX_read)
				hash = hash128_combine(hash, hash_read(hasher, node->tensor));
			for (int k = 0; k < node->argc; k++)
				hash = hash128_combine(hash, hash_at(hasher, node->arg[k]));
		}
		push_hash(memo, hash);
	}
	return hash_at(hasher, e);
}

Hash128
hash_written(Hasher *hasher, const Stage *stage)
{
	hasher_forget(hasher);
	Hash128 hash = hash_parts(hasher, stage, hash_as_written);
	hasher_forget(hasher);
	return hash;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static Hash128
hash_box(const Tensor *tensor, int place)
{
	uint64_t head[] = {UINT64_C(1) << 47, (uint64_t)place, tensor->type, (uint64_t)tensor->rank};
	Hash128 hash = hash128(head, sizeof head);
	for (int i = 0; i < tensor->rank; i++) {
		bool begins_at_0 = !tensor->lo || expr_is_zero(tensor->lo[i]);
		uint64_t lo = begins_at_0 ? 0 : tensor->lo[i]->hash;
		hash = hash128_combine(hash, (Hash128){lo, tensor->hi[i]->hash});
	}
	return hash;
}

/* False where there is no room. */
static bool
add_label(Hasher *hasher, const Tensor *tensor)
{
	Hash128 hash = hash_tensor(tensor);
	int at = find_label(hasher, hash);
	if (at < hasher->ntensor && hash128_equal(hash_tensor(hasher->tensors[at]), hash))
		return true;
	if (hasher->ntensor == HASH_TENSORS)
		return false;
	for (int i = hasher->ntensor++; i > at; i--)
		hasher->tensors[i] = hasher->tensors[i - 1];
	hasher->tensors[at] = tensor;
	return true;
}

static void
note_read(const Tensor *tensor, void *arg)
{
	Hasher *hasher = arg;
	if (hasher->ntensor >= 0 && !add_label(hasher, tensor))
		hasher->ntensor = -1;
}

/* The tensors that the stage reads, in their order. */
static void
list_reads(Hasher *hasher, const Stage *stage)
{
	hasher->ntensor = stage->kind == STAGE_scatter ? -1 : 0;
	stage_visit_reads(stage, note_read, hasher);
	if (hasher->ntensor < 0)
		hasher->ntensor = 0;
}

void
hasher_label(Hasher *hasher, const Stage *stage)
{
	list_reads(hasher, stage);
	for (int i = 0; i < hasher->ntensor; i++)
		hasher->labels[i] = hash_box(hasher->tensors[i], i);
	hasher_forget(hasher);
}

bool
hasher_relabel(Hasher *hasher, const Stage *stage)
{
	int before = hasher->ntensor;
	if (before == 0)
		return false;
	list_reads(hasher, stage);
	if (hasher->ntensor == before)
		return false;
	hasher_label(hasher, stage);
	return true;
}

bool
hash_text(ExprCtx *ctx, const Stage *stage, Hash128 *hash)
{
	Hasher hasher;
	hasher_open(&hasher, ctx);
	hasher_label(&hasher, stage);
	bool is_labelled = hasher.ntensor > 0;
	if (is_labelled)
		*hash = hash_written(&hasher, stage);
	hasher_close(&hasher);
	return is_labelled;
}
