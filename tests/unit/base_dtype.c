/* Element types: the table, packing of small types, rounding and saturation, arrays' sizes. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/dtype.h"
#include "base/fail.h"
#include "unit.h"

START_TEST(names_and_numbers)
{
	for (int type = 1; type < DT_COUNT; type++)
		ck_assert_int_eq(dtype_find(dtype_name((DType)type)), type);
	ck_assert_int_eq(dtype_find("f31"), DT_NONE);
	ck_assert_int_eq(DT_F32, 1);
	ck_assert_int_eq(DT_BF16, 16);
	ck_assert_int_eq(DT_I2, 26);
	ck_assert_int_eq(DT_COUNT, 27);
	ck_assert(dtype_is_float(DT_BF16) && !dtype_is_float(DT_F8E5M2) && !dtype_is_float(DT_I32));
	ck_assert(dtype_is_integer(DT_U8) && !dtype_is_integer(DT_BOOL) && !dtype_is_integer(DT_I4));
	ck_assert(dtype_is_arithmetic(DT_BOOL) && !dtype_is_arithmetic(DT_C64));
	ck_assert(dtype_is_signed(DT_I8) && dtype_is_signed(DT_F16) && !dtype_is_signed(DT_U64));
	ck_assert_str_eq(dtype_name((DType)99), "unknown");
}
END_TEST

START_TEST(sizes)
{
	size_t bytes;
	ck_assert(dtype_bytes(DT_F32, 3, &bytes) && bytes == 12);
	ck_assert(dtype_bytes(DT_I4, 3, &bytes) && bytes == 2);
	ck_assert(dtype_bytes(DT_U2, 5, &bytes) && bytes == 2);
	ck_assert(dtype_bytes(DT_C128, 0, &bytes) && bytes == 0);
	ck_assert(!dtype_bytes(DT_STRING, 1, &bytes));
	ck_assert(!dtype_bytes(DT_F32, -1, &bytes));
	ck_assert(!dtype_bytes(DT_F64, INT64_MAX / 8, &bytes));
	ck_assert(!dtype_bytes(DT_NONE, 1, &bytes));
}
END_TEST

/* Every value of every packed type at every place in a byte, neighbours untouched. */
START_TEST(small_types_pack_low_first)
{
	const DType types[] = {DT_U4, DT_I4, DT_U2, DT_I2, DT_F4E2M1};
	for (size_t t = 0; t < countof(types); t++) {
		int bits = dtype_bits(types[t]), per_byte = 8 / bits;
		for (int place = 0; place < 2 * per_byte; place++)
			for (int code = 0; code < 1 << bits; code++) {
				unsigned char source[2] = {0, 0}, target[2] = {0xFF, 0xFF},
							  expected[2] = {0xFF, 0xFF};
				int shift = place % per_byte * bits;
				source[place / per_byte] = (unsigned char)(code << shift);
				expected[place / per_byte] &= (unsigned char)~(((1 << bits) - 1) << shift);
				expected[place / per_byte] |= (unsigned char)(code << shift);
				double value = dtype_load_f64(types[t], source, place);
				dtype_store_f64(types[t], target, place, value);
				ck_assert_mem_eq(target, expected, 2);
				if (types[t] == DT_F4E2M1)
					continue;
				bool is_signed = types[t] == DT_I4 || types[t] == DT_I2;
				int half = 1 << (bits - 1);
				ck_assert_int_eq(dtype_load_i64(types[t], source, place),
				                 is_signed && code >= half ? code - 2 * half : code);
				dtype_store_i64(types[t], target, place, dtype_load_i64(types[t], source, place));
				ck_assert_mem_eq(target, expected, 2);
			}
	}
}
END_TEST

typedef struct Conversion {
	DType type;
	double given, stored;
} Conversion;

START_TEST(stores_round_and_saturate)
{
	const Conversion rows[] = {
		{DT_I8, 200, 127},
		{DT_I8, -200, -128},
		{DT_I8, -3.9, -3},
		{DT_U8, -1, 0},
		{DT_U8, 300, 255},
		{DT_I4, 9, 7},
		{DT_I4, -9, -8},
		{DT_U4, 99, 15},
		{DT_I2, 5, 1},
		{DT_I32, NAN, 0},
		{DT_I32, 1e20, 2147483647},
		{DT_I64, 1e30, 0x1p63},
		{DT_I64, -1e30, -0x1p63},
		{DT_U64, 1e30, 0x1p64},
		{DT_U64, 0x1p63, 0x1p63},
		{DT_U32, 4294967295.9, 4294967295.0},
		{DT_BOOL, -0.5, 1},
		{DT_BOOL, 0, 0},
		{DT_F32, 0.1, (double)0.1f},
		{DT_F16, 1e6, INFINITY},
		{DT_F16, 2049, 2048},
		{DT_BF16, 257, 256},
		{DT_F8E4M3FN, 1000, 448},
		{DT_F8E5M2FNUZ, -1e9, -57344},
		{DT_F8E8M0, 3, 4},
		{DT_F4E2M1, 2.4, 2},
		{DT_F64, 1e-320, 1e-320},
	};
	for (size_t i = 0; i < countof(rows); i++) {
		unsigned char place[32] = {0};
		dtype_store_f64(rows[i].type, place, 1, rows[i].given);
		ck_assert_msg(dtype_load_f64(rows[i].type, place, 1) == rows[i].stored,
		              "%s: %g stored as %g", dtype_name(rows[i].type), rows[i].given,
		              dtype_load_f64(rows[i].type, place, 1));
	}
}
END_TEST

START_TEST(integers_wrap)
{
	unsigned char place[16] = {0};
	dtype_store_i64(DT_I8, place, 1, 200);
	ck_assert_int_eq(dtype_load_i64(DT_I8, place, 1), -56);
	dtype_store_i64(DT_U16, place, 1, -1);
	ck_assert_int_eq(dtype_load_i64(DT_U16, place, 1), 65535);
	dtype_store_i64(DT_U64, place, 0, -1);
	ck_assert_double_eq(dtype_load_f64(DT_U64, place, 0), 0x1p64);
	dtype_store_i64(DT_F32, place, 0, 16777217);
	ck_assert_int_eq(dtype_load_i64(DT_F32, place, 0), 16777216);
	dtype_store_i64(DT_BOOL, place, 0, 256);
	ck_assert_int_eq(dtype_load_i64(DT_BOOL, place, 0), 1);
}
END_TEST

static void
make_huge(void *arg)
{
	array_new(arg, DT_F32, 3, (const int64_t[]){1ll << 31, 1ll << 31, 4});
}

static void
make_negative(void *arg)
{
	array_new(arg, DT_F32, 1, (const int64_t[]){-1});
}

START_TEST(arrays_check_their_size)
{
	Arena *arena = arena_new("test");
	Failure failure;
	ck_assert(!try_run(make_huge, arena, &failure));
	ck_assert(!try_run(make_negative, arena, &failure));
	ck_assert_int_eq(dims_count(3, (const int64_t[]){1ll << 40, 1ll << 40, 0}), 0);
	ck_assert_int_eq(dims_count(0, NULL), 1);
	Array *array = array_new(arena, DT_I4, 2, (const int64_t[]){3, 3});
	ck_assert_uint_eq((uintptr_t)array->data % 64, 0);
	ck_assert_uint_eq(array_bytes(array), 5);
	Array *copy = array_from(arena, DT_I4, 2, array->dims, array->data);
	ck_assert(array_same_bytes(array, copy));
	((char *)copy->data)[4] = 1;
	ck_assert(!array_same_bytes(array, copy));
	Array *words = array_from(arena, DT_STRING, 1, (const int64_t[]){1}, &(const char *){"a"});
	Array *other = array_from(arena, DT_STRING, 1, (const int64_t[]){1},
	                          &(const char *){arena_strdup(arena, "a")});
	ck_assert(array_same_bytes(words, other));
	ck_assert(!array_same_bytes(array_scalar_i64(arena, 1),
	                            array_vector_i64(arena, 1, (const int64_t[]){1})));
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("dtype");
	tcase_add_test(tcase, names_and_numbers);
	tcase_add_test(tcase, sizes);
	tcase_add_test(tcase, small_types_pack_low_first);
	tcase_add_test(tcase, stores_round_and_saturate);
	tcase_add_test(tcase, integers_wrap);
	tcase_add_test(tcase, arrays_check_their_size);
	return unit_run(tcase);
}
