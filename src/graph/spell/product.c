/* Sums of products as MatMul: loops of both operands are its batch, those of one its rows or
 * columns, and the reduction's iterators that both depend on are summed by it.
 *
 *     Y[h, m, n] = sum(k) A[m, h, k] * B[h, n, k]     =>     MatMul of A [h, m, k] and B [h, k, n]
 */
#include "graph/spell/inner.h"

typedef struct Axis {
	int count;
	int at[SPELL_ITERS];
} AxisList;

typedef enum Role { ROLE_BATCH, ROLE_ROW, ROLE_COLUMN, ROLE_SUM, ROLE_NONE, ROLE_COUNT } Role;

static Role
role_of(const Spell *s, const Value *a, const Value *b, int i)
{
	bool in_a = spell_has(a, i), in_b = spell_has(b, i);
	if (i >= s->stage->nloop)
		return in_a && in_b ? ROLE_SUM : ROLE_NONE;
	return in_a && in_b ? ROLE_BATCH : in_a ? ROLE_ROW : in_b ? ROLE_COLUMN : ROLE_NONE;
}

bool
spell_is_product(const Spell *s, const Value *a, const Value *b)
{
	DType type = a->type.dtype;
	bool has_sum = false, is_whole = true;
	for (int i = s->stage->nloop; i < s->rank; i++) {
		has_sum |= role_of(s, a, b, i) == ROLE_SUM;
		is_whole &= spell_has(a, i) || spell_has(b, i) || dim_is(s->extent[i], 1);
	}
	return has_sum && is_whole &&
	       (type == DT_F32 || type == DT_F64 || type == DT_I32 || type == DT_I64);
}

/* Of the reduction's iterators, those that only x depends on are summed at once. */
static Value *
sum_own(const Spell *s, Value *x, const Value *other)
{
	Axes own = 0;
	for (int i = s->stage->nloop; i < s->rank; i++)
		if (spell_has(x, i) && !spell_has(other, i))
			own |= AXIS(i);
	return spell_reduce(s, "ReduceSum", x, own, true);
}

/* The value with its axes in the order of these roles, each of which becomes one dim (a batch only
 * where there is one). */
static Value *
arrange(const Spell *s, Value *x, const AxisList *lists, const Role *order)
{
	int axes[SPELL_ITERS], count = 0, rank = 0;
	const Dim *dims[3];
	bool is_listed[SPELL_ITERS] = {false};
	for (int r = 0; r < 3; r++) {
		const AxisList *list = &lists[order[r]];
		const Dim *extent = dim_const(s->ctx, 1);
		for (int i = 0; i < list->count; i++) {
			axes[count++] = list->at[i];
			is_listed[list->at[i]] = true;
			extent = dim_mul(s->ctx, extent, s->extent[list->at[i]]);
		}
		if (order[r] != ROLE_BATCH || list->count > 0)
			dims[rank++] = extent;
	}
	for (int i = 0; i < s->rank; i++) /* of extent 1 in x */
		if (!is_listed[i])
			axes[count++] = i;
	return spell_reshape(s, spell_transpose(s, x, axes), rank, dims);
}

/* The operand whose loops come first in the result is the left one: the result is in order then. */
static bool
begins_with_columns(const Spell *s, const Value *a, const Value *b)
{
	for (int i = 0; i < s->stage->nloop; i++) {
		Role role = role_of(s, a, b, i);
		if (role == ROLE_ROW || role == ROLE_COLUMN)
			return role == ROLE_COLUMN;
	}
	return false;
}

Value *
spell_product(const Spell *s, Value *a, Value *b)
{
	if (begins_with_columns(s, a, b))
		return spell_product(s, b, a);
	static const Role left[] = {ROLE_BATCH, ROLE_ROW, ROLE_SUM};
	static const Role right[] = {ROLE_BATCH, ROLE_SUM, ROLE_COLUMN};
	static const Role result[] = {ROLE_BATCH, ROLE_ROW, ROLE_COLUMN, ROLE_NONE};
	AxisList lists[ROLE_COUNT] = {{0}};
	for (int i = 0; i < s->rank; i++) {
		AxisList *list = &lists[role_of(s, a, b, i)];
		list->at[list->count++] = i;
	}
	Value *own_a = sum_own(s, a, b), *own_b = sum_own(s, b, a);
	Value *y =
		spell_op(s, "MatMul", 2,
	             (Value *[]){arrange(s, own_a, lists, left), arrange(s, own_b, lists, right)});
	const Dim *dims[SPELL_ITERS];
	int place[SPELL_ITERS], count = 0;
	for (int r = 0; r < 4; r++)
		for (int i = 0; i < lists[result[r]].count; i++) {
			int axis = lists[result[r]].at[i];
			if (axis >= s->stage->nloop)
				continue;
			dims[count] = result[r] == ROLE_NONE ? dim_const(s->ctx, 1) : s->extent[axis];
			place[axis] = count++;
		}
	return spell_transpose(s, spell_reshape(s, y, count, dims), place);
}
