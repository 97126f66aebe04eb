/* Types of values, and their text: f32[N,3], f32 (a scalar), f32[*] (rank not known), seq(T),
 * optional(T).
 */
#include <string.h>

#include "graph/inner.h"

Type
type_tensor(DType dtype, int rank, const Dim *const *dims)
{
	return (Type){.kind = TYPE_TENSOR, .dtype = dtype, .rank = rank, .dims = dims};
}

Type
type_of_array(ExprCtx *ctx, const Array *array)
{
	const Dim **dims = NEW_N(expr_ctx_arena(ctx), const Dim *, array->rank);
	for (int i = 0; i < array->rank; i++)
		dims[i] = dim_const(ctx, array->dims[i]);
	return type_tensor(array->type, array->rank, dims);
}

bool
type_equal(const Type *a, const Type *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == TYPE_SEQUENCE || a->kind == TYPE_OPTIONAL)
		return a->element == b->element ||
		       (a->element && b->element && type_equal(a->element, b->element));
	if (a->kind == TYPE_UNKNOWN)
		return true;
	if (a->dtype != b->dtype || a->rank != b->rank)
		return false;
	for (int i = 0; i < a->rank; i++)
		if (a->dims[i] != b->dims[i])
			return false;
	return true;
}

bool
type_is_static(const Type *type)
{
	if (type->kind != TYPE_TENSOR || type->rank < 0)
		return false;
	int64_t extent;
	for (int i = 0; i < type->rank; i++)
		if (!dim_is_const(type->dims[i], &extent))
			return false;
	return true;
}

bool
type_takes(const Type *type, const Array *array)
{
	bool fits = type->kind == TYPE_TENSOR && type->dtype == array->type &&
	            (type->rank < 0 || type->rank == array->rank);
	for (int i = 0; fits && i < type->rank; i++) {
		int64_t extent;
		fits = !dim_is_const(type->dims[i], &extent) || extent == array->dims[i];
		for (int k = 0; k < i; k++)
			fits &= type->dims[k] != type->dims[i] || array->dims[k] == array->dims[i];
	}
	return fits;
}

void
type_dims(const Type *type, const Dim **dims)
{
	for (int i = 0; i < type->rank; i++)
		dims[i] = type->dims[i];
}

const Dim *
type_count(ExprCtx *ctx, const Type *type)
{
	return dim_product(ctx, type->rank, type->dims);
}

void
type_print(Buf *buf, const Type *type)
{
	if (type->kind == TYPE_SEQUENCE || type->kind == TYPE_OPTIONAL) {
		buf_puts(buf, type->kind == TYPE_SEQUENCE ? "seq(" : "optional(");
		if (type->element)
			type_print(buf, type->element);
		buf_puts(buf, ")");
		return;
	}
	if (type->kind == TYPE_UNKNOWN) {
		buf_puts(buf, "?");
		return;
	}
	buf_puts(buf, type->dtype == DT_NONE ? "?" : dtype_name(type->dtype));
	if (type->rank < 0)
		buf_puts(buf, "[*]");
	for (int i = 0; i < type->rank; i++) {
		buf_puts(buf, i ? "," : "[");
		dim_print(buf, type->dims[i]);
	}
	if (type->rank > 0)
		buf_puts(buf, "]");
}

const char *
type_text(Arena *arena, const Type *type)
{
	Buf buf = {.arena = arena};
	type_print(&buf, type);
	return buf_text(&buf);
}
