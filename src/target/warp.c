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
	static const Fragment name = {rows, cols, count, name##_row, name##_col};
#define SHUFFLE(id, name, cc, lane, doc) \
	static int shuffle_##id(int l, int b) \
	{ \
		(void)l; \
		return lane; \
	}
#define LOAD(...)
#define MMA(...)
#define COPY(...)
#include "target/warp.def"
#undef FRAGMENT
#undef SHUFFLE
#undef LOAD
#undef MMA
#undef COPY

enum {
	COPY_async = INTRIN_COPY,
	COPY_zfill = INTRIN_COPY,
	COPY_commit = INTRIN_COMMIT,
	COPY_wait = INTRIN_WAIT,
};

#define FRAGMENT(...)
#define SHUFFLE(id, name, cc, lane, doc) \
	{name, INTRIN_SHUFFLE, cc, 2, shuffle_##id, DT_NONE, 0, NULL, NULL, NULL, doc},
#define LOAD(id, name, cc, fragment, doc) \
	{name, INTRIN_LOAD, cc, 1, NULL, DT_NONE, 0, &fragment, NULL, NULL, doc},
#define MMA(id, name, cc, type, fraction, d, a, b, doc) \
	{name, INTRIN_MMA, cc, 2, NULL, type, fraction, &d, &a, &b, doc},
#define COPY(id, name, cc, operands, doc) \
	{name, (IntrinKind)COPY_##id, cc, operands, NULL, DT_NONE, 0, NULL, NULL, NULL, doc},
static const Intrin rows[] = {
#include "target/warp.def"
};
#undef FRAGMENT
#undef SHUFFLE
#undef LOAD
#undef MMA
#undef COPY

int
intrin_count(void)
{
	return (int)countof(rows);
}

const Intrin *
intrin_at(int index)
{
	return &rows[index];
}

const Intrin *
intrin_find(const char *name)
{
	for (size_t i = 0; i < countof(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

bool
intrin_takes_place(const Intrin *intrin, int arg)
{
	return intrin->kind == INTRIN_LOAD || intrin->kind == INTRIN_MMA ||
	       (intrin->kind == INTRIN_COPY && arg == 0);
}

DType
intrin_operand_type(const Intrin *intrin, int arg, DType result)
{
	if (intrin->kind == INTRIN_MMA)
		return intrin->type;
	if (intrin->kind == INTRIN_COPY && arg == 2)
		return DT_BOOL;
	bool is_value = intrin->kind == INTRIN_SHUFFLE && arg == 0;
	return is_value || intrin_takes_place(intrin, arg) ? result : DT_I64;
}

bool
intrin_has_result(const Intrin *intrin)
{
	return intrin->kind <= INTRIN_COPY;
}

bool
intrin_is_of_warp(const Intrin *intrin)
{
	return intrin->kind <= INTRIN_MMA;
}
