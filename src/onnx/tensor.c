/* TensorProto -> Array: every element type, from raw bytes, typed fields or a file beside the
 * model.
 *
 * Nothing is copied that can stay: raw data is a view of the mapped file where it is aligned for
 * its type, typed fields of the same layout are views of the message. Copies are made of misaligned
 * raw data (protobuf aligns nothing), of bools that are neither 0 nor 1, and of narrow types that
 * the message holds as int32.
 */
#include "onnx/import.h"

#include <string.h>

/* Which typed field holds elements of a type. */
typedef enum TypedField {
	FIELD_INT32,
	FIELD_FLOAT,
	FIELD_INT64,
	FIELD_UINT64,
	FIELD_DOUBLE,
	FIELD_STRING,
} TypedField;

static const struct {
	TypedField field;
	bool is_pair; /* an element takes two entries of the field */
	bool exact;   /* the field's entries are laid out as the type's elements */
} FIELDS[DT_COUNT] = {
	/* all others: cut from int32_data */
	[DT_F32] = {FIELD_FLOAT, false, true},      [DT_C64] = {FIELD_FLOAT, true, true},
	[DT_F64] = {FIELD_DOUBLE, false, true},     [DT_C128] = {FIELD_DOUBLE, true, true},
	[DT_I32] = {FIELD_INT32, false, true},      [DT_I64] = {FIELD_INT64, false, true},
	[DT_U64] = {FIELD_UINT64, false, true},     [DT_U32] = {FIELD_UINT64, false, false},
	[DT_STRING] = {FIELD_STRING, false, false},
};

/* The message's typed fields under one form. */
typedef struct FieldData {
	const char *name;
	size_t count, size;
	void *data;
} FieldData;

static void
list_fields(const Onnx__TensorProto *proto, FieldData *fields)
{
	fields[FIELD_FLOAT] = (FieldData){"float_data", proto->n_float_data, 4, proto->float_data};
	fields[FIELD_INT32] = (FieldData){"int32_data", proto->n_int32_data, 4, proto->int32_data};
	fields[FIELD_INT64] = (FieldData){"int64_data", proto->n_int64_data, 8, proto->int64_data};
	fields[FIELD_UINT64] = (FieldData){"uint64_data", proto->n_uint64_data, 8, proto->uint64_data};
	fields[FIELD_DOUBLE] = (FieldData){"double_data", proto->n_double_data, 8, proto->double_data};
	fields[FIELD_STRING] = (FieldData){"string_data", proto->n_string_data, 0, proto->string_data};
}

static const char *
tensor_name(const Onnx__TensorProto *proto)
{
	return proto->name && *proto->name ? proto->name : "?";
}

/* Type and shape, with the number of elements. */
static Array *
import_shape(Import *import, const Onnx__TensorProto *proto, const Loc *loc, int64_t *count)
{
	int32_t type = proto->data_type;
	if (type <= DT_NONE || type >= DT_COUNT)
		fail(loc, "tensor \"%s\": element type %d is not one of ONNX's", tensor_name(proto), type);
	if (proto->n_dims > ARRAY_MAX_RANK)
		fail_unsupported(loc, "tensor \"%s\": rank %zu, the limit is %d", tensor_name(proto),
		                 proto->n_dims, ARRAY_MAX_RANK);
	if (proto->segment)
		fail_unsupported(loc, "tensor \"%s\": stored in segments", tensor_name(proto));
	Array *array = NEW(import->kept, Array);
	array->type = (DType)type;
	array->rank = (int)proto->n_dims;
	array->dims = proto->dims;
	*count = dims_count(array->rank, array->dims);
	for (int i = 0; i < array->rank; i++)
		if (array->dims[i] < 0)
			fail(loc, "tensor \"%s\": dim %d is %lld", tensor_name(proto), i,
			     (long long)array->dims[i]);
	if (*count < 0)
		fail(loc, "tensor \"%s\": the product of its dims is too large", tensor_name(proto));
	return array;
}

/* Bools must be 0 or 1 for everybody who reads them; files may hold any byte. */
static void *
clean_bools(Arena *arena, void *data, size_t size)
{
	const unsigned char *bytes = data;
	size_t i = 0;
	while (i < size && bytes[i] <= 1)
		i++;
	if (i == size)
		return data;
	unsigned char *copy = arena_memdup(arena, data, size);
	for (; i < size; i++)
		copy[i] = copy[i] != 0;
	return copy;
}

/* A view of packed little-endian bytes, or a copy where the type's alignment wants one: then a file
 * that they are mapped from is not in memory as well. */
static void
take_raw(Import *import, Array *array, int64_t count, Bytes raw, bool is_mapped, const char *name,
         const Loc *loc)
{
	size_t size;
	if (!dtype_bytes(array->type, count, &size))
		fail(loc, "tensor \"%s\": %s cannot stand in raw data", name, dtype_name(array->type));
	if (raw.size != size)
		fail(loc, "tensor \"%s\": %zu bytes of data where %zu are expected for %lld elements of %s",
		     name, raw.size, size, (long long)count, dtype_name(array->type));
	size_t align = (size_t)dtype_bits(array->type) / 8;
	if (dtype_class(array->type) == DC_X)
		align /= 2; /* a complex number is two */
	array->data = (void *)(uintptr_t)raw.data;
	if (align > 1 && (uintptr_t)raw.data % align != 0) {
		array->data = arena_alloc_aligned(import->kept, size, 64);
		if (size)
			memcpy(array->data, raw.data, size);
		if (is_mapped)
			file_forget(raw);
	}
	if (array->type == DT_BOOL)
		array->data = clean_bools(import->kept, array->data, size);
}

static const char *const *
take_strings(Import *import, const Onnx__TensorProto *proto, const Loc *loc)
{
	const char **texts = NEW_N(import->kept, const char *, proto->n_string_data + 1);
	for (size_t i = 0; i < proto->n_string_data; i++) {
		ProtobufCBinaryData text = proto->string_data[i];
		if (text.len && memchr(text.data, 0, text.len))
			fail_unsupported(loc, "tensor \"%s\": a zero byte in string %zu", tensor_name(proto),
			                 i);
		texts[i] = arena_strndup(import->kept, text.len ? (const char *)text.data : "", text.len);
	}
	return texts;
}

/* Entries of int32_data or uint64_data cut to the width of the type. 4- and 2-bit types are packed
 * already: an entry holds one byte. */
static void
narrow(Import *import, Array *array, const FieldData *field, size_t size)
{
	size_t width = size / (field->count ? field->count : 1);
	unsigned char *bytes = arena_alloc_aligned(import->kept, size, 64);
	array->data = bytes;
	for (size_t i = 0; i < field->count; i++) {
		const unsigned char *entry = (const unsigned char *)field->data + i * field->size;
		if (array->type == DT_BOOL) {
			int32_t value;
			memcpy(&value, entry, sizeof value);
			bytes[i] = value != 0;
		} else {
			memcpy(bytes + i * width, entry, width); /* little endian: the low bytes */
		}
	}
}

static void
take_typed(Import *import, Array *array, int64_t count, const Onnx__TensorProto *proto,
           const FieldData *fields, const Loc *loc)
{
	TypedField want = FIELDS[array->type].field;
	const FieldData *field = &fields[want];
	size_t size = 0;
	int64_t entries;
	int64_t each = FIELDS[array->type].is_pair ? 2 : 1;
	bool fits = !__builtin_mul_overflow(count, each, &entries) &&
	            (want == FIELD_STRING || dtype_bytes(array->type, count, &size));
	if (fits && dtype_bits(array->type) < 8 && want == FIELD_INT32)
		entries = (int64_t)size;
	if (!fits || field->count != (uint64_t)entries)
		fail(loc, "tensor \"%s\": %zu entries of %s for %lld elements of %s", tensor_name(proto),
		     field->count, field->name, (long long)count, dtype_name(array->type));
	if (want == FIELD_STRING)
		array->data = (void *)(uintptr_t)take_strings(import, proto, loc);
	else if (FIELDS[array->type].exact)
		array->data = field->data;
	else
		narrow(import, array, field, size);
}

const Array *
tensor_import(Import *import, const Onnx__TensorProto *proto, const Loc *loc)
{
	int64_t count;
	Array *array = import_shape(import, proto, loc, &count);
	FieldData fields[FIELD_STRING + 1];
	list_fields(proto, fields);
	int given = proto->has_raw_data;
	const char *other = NULL;
	for (TypedField f = FIELD_INT32; f <= FIELD_STRING; f++)
		if (fields[f].count) {
			given++;
			other = f == FIELDS[array->type].field ? other : fields[f].name;
		}
	bool is_external = proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
	if (given + is_external > 1)
		fail(loc, "tensor \"%s\": its elements are given in more than one field",
		     tensor_name(proto));
	if (other)
		fail(loc, "tensor \"%s\": elements of type %s are given in %s, which is for other types",
		     tensor_name(proto), dtype_name(array->type), other);
	size_t size = 0;
	if (is_external && dtype_bytes(array->type, count, &size))
		take_raw(import, array, count, external_bytes(import, proto, size, loc), true,
		         tensor_name(proto), loc);
	else if (proto->has_raw_data)
		take_raw(import, array, count, onnx_raw_view(import->bytes, &proto->raw_data),
		         import->is_mapped, tensor_name(proto), loc);
	else
		take_typed(import, array, count, proto, fields, loc);
	if (!array->data)
		array->data = arena_alloc(import->kept, 1); /* no elements; never NULL for readers */
	return array;
}

/* ---- sparse tensors: written out, since nothing behind the importer knows them ---- */

enum { DENSE_LIMIT = 1 << 30 }; /* bytes a model may ask for with a few bytes of its own */

/* The place of element i in row-major order, checked. */
static int64_t
sparse_place(const Array *dense, const Array *indices, int64_t count, int64_t i, const Loc *loc)
{
	const int64_t *index = indices->data;
	int64_t place = 0;
	if (indices->rank == 1) {
		place = index[i];
	} else {
		for (int d = 0; d < dense->rank; d++) {
			int64_t at = index[i * dense->rank + d];
			if (at < 0 || at >= dense->dims[d])
				fail(loc, "sparse tensor: index %lld outside dim %d of %lld", (long long)at, d,
				     (long long)dense->dims[d]);
			place = place * dense->dims[d] + at;
		}
	}
	if (place < 0 || place >= count)
		fail(loc, "sparse tensor: index %lld outside its %lld elements", (long long)place,
		     (long long)count);
	return place;
}

static void
check_indices(const Array *dense, const Array *values, const Array *indices, const Loc *loc)
{
	bool is_flat = indices->rank == 1;
	bool is_table = indices->rank == 2 && indices->dims[1] == dense->rank;
	if (values->rank != 1 || indices->type != DT_I64 || !(is_flat || is_table) ||
	    indices->dims[0] != values->dims[0])
		fail(loc, "sparse tensor: its indices must be i64[NNZ] or i64[NNZ, %d], its values [NNZ]",
		     dense->rank);
}

const Array *
sparse_import(Import *import, const Onnx__SparseTensorProto *proto, const Loc *loc)
{
	if (!proto->values || !proto->indices)
		fail(loc, "sparse tensor without %s", proto->values ? "indices" : "values");
	const Array *values = tensor_import(import, proto->values, loc);
	const Array *indices = tensor_import(import, proto->indices, loc);
	Array shape = {.type = values->type, .rank = (int)proto->n_dims, .dims = proto->dims};
	if (proto->n_dims > ARRAY_MAX_RANK)
		fail_unsupported(loc, "sparse tensor of rank %zu, the limit is %d", proto->n_dims,
		                 ARRAY_MAX_RANK);
	int64_t count = array_count(&shape);
	size_t size, width = (size_t)dtype_bits(values->type) / 8;
	if (count < 0 || !dtype_bytes(values->type, count, &size) || width == 0)
		fail(loc, "sparse tensor: dims that overflow, or elements of %s", dtype_name(values->type));
	import->dense_bytes += size;
	if (size > DENSE_LIMIT || import->dense_bytes > DENSE_LIMIT)
		fail_unsupported(loc, "sparse tensors of more than %d bytes when written out", DENSE_LIMIT);
	Array *dense = array_new(import->kept, values->type, shape.rank, shape.dims);
	check_indices(dense, values, indices, loc);
	int64_t last = -1;
	for (int64_t i = 0; i < values->dims[0]; i++) {
		int64_t place = sparse_place(dense, indices, count, i, loc);
		if (place <= last)
			fail(loc, "sparse tensor: its indices do not rise at element %lld", (long long)i);
		last = place;
		memcpy((char *)dense->data + (size_t)place * width,
		       (const char *)values->data + (size_t)i * width, width);
	}
	return dense;
}
