/* The rows of warp.def. */
#include "target/warp.h"

#include <string.h>

#include "base/arena.h"

#define FRAGMENT(name, rows, cols, count, row_of, col_of) \
	static int name##_row(int l, int i) \
	{ \
		(void)l, (void)i; \
		return row_of; \
	} \
	static int name##_col(int l, int i) \
	{ \
		(void)l, (void)i; \
		return col_of; \
	} \
	static const Fragment name = {rows, cols, count, name##_row, name##_col, #row_of, #col_of};
#define SHUFFLE(id, name, cc, lane, doc) \
	static int shuffle_##id(int l, int b) \
	{ \
		(void)l; \
		return lane; \
	}
#define LOAD(...)
#define MMA(...)
#define COPY(...)
#define HINT(...)
#include "target/warp.def"
#undef FRAGMENT
#undef SHUFFLE
#undef LOAD
#undef MMA
#undef COPY
#undef HINT

enum {
	COPY_async = WARP_COPY,
	COPY_zfill = WARP_COPY,
	COPY_commit = WARP_COMMIT,
	COPY_wait = WARP_WAIT,
};

#define FRAGMENT(...)
#define SHUFFLE(id, name, cc, lane, doc) \
	{name, WARP_SHUFFLE, cc, 2, shuffle_##id, {DT_NONE}, DT_NONE, 0, NULL, NULL, NULL, doc},
#define LOAD(id, name, cc, fragment, doc) \
	{name, WARP_LOAD, cc, 1, NULL, {DT_NONE}, DT_NONE, 0, &fragment, NULL, NULL, doc},
#define MMA(id, name, cc, left, right, sum, fraction, d, a, b, doc) \
	{name, WARP_MMA, cc, 2, NULL, {left, right}, sum, fraction, &d, &a, &b, doc},
#define COPY(id, name, cc, operands, doc) \
	{name, (WarpOpKind)COPY_##id, cc, operands, NULL, {DT_NONE}, DT_NONE, 0, NULL, NULL, NULL, doc},
#define HINT(id, name, doc) \
	{name, WARP_HINT, 0, 1, NULL, {DT_NONE}, DT_NONE, 0, NULL, NULL, NULL, doc},
static const WarpOp rows[] = {
#include "target/warp.def"
};
#undef FRAGMENT
#undef SHUFFLE
#undef LOAD
#undef MMA
#undef COPY
#undef HINT

int
warp_op_count(void)
{
	return (int)countof(rows);
}

const WarpOp *
warp_op_at(int index)
{
	return &rows[index];
}

const WarpOp *
warp_op_find(const char *name)
{
	for (size_t i = 0; i < countof(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

bool
warp_op_takes_place(const WarpOp *op, int arg)
{
	return op->kind == WARP_LOAD || op->kind == WARP_MMA || op->kind == WARP_HINT ||
	       (op->kind == WARP_COPY && arg == 0);
}

DType
warp_op_operand_type(const WarpOp *op, int arg, DType result)
{
	if (op->kind == WARP_MMA)
		return op->types[arg];
	if (op->kind == WARP_COPY && arg == 2)
		return DT_BOOL;
	bool is_value = op->kind == WARP_SHUFFLE && arg == 0;
	return is_value || warp_op_takes_place(op, arg) ? result : DT_I64;
}

bool
warp_op_has_result(const WarpOp *op)
{
	return op->kind <= WARP_COPY;
}

bool
warp_op_is_of_warp(const WarpOp *op)
{
	return op->kind <= WARP_MMA;
}
