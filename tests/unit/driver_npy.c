/* .npy files as NumPy writes them: byte orders, orders of elements, ranks; and what is none. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "driver/sizes/npy.h"

static Arena *arena;
static char path[] = "/tmp/tw-npy-XXXXXX";

static void
begin(void)
{
	arena = arena_new("test");
	strcpy(path, "/tmp/tw-npy-XXXXXX");
	int file = mkstemp(path);
	ck_assert_int_ge(file, 0);
	close(file);
}

static void
end(void)
{
	unlink(path);
	arena_free(arena);
}

static void
write_npy(const char *descr, const char *order, const char *shape, size_t size, const void *data)
{
	char header[118];
	int used =
		snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }",
	             descr, order, shape);
	memset(header + used, ' ', sizeof header - (size_t)used);
	FILE *file = fopen(path, "wb");
	ck_assert_ptr_nonnull(file);
	fwrite("\x93NUMPY\1\0\x76\0", 1, 10, file);
	fwrite(header, 1, sizeof header, file);
	fwrite(data, 1, size, file);
	fclose(file);
}

static void
check_i16(int rank, const int64_t *dims, int count, const int16_t *values)
{
	const Array *array = npy_read(arena, path);
	ck_assert_int_eq(array->type, DT_I16);
	ck_assert_int_eq(array->rank, rank);
	for (int d = 0; d < rank; d++)
		ck_assert_int_eq(array->dims[d], dims[d]);
	for (int i = 0; i < count; i++)
		ck_assert_int_eq(((const int16_t *)array->data)[i], values[i]);
}

START_TEST(orders)
{
	static const int16_t ROWS[] = {1, 2, 3, 4, 5, 6}, COLUMNS[] = {1, 4, 2, 5, 3, 6};
	static const unsigned char SWAPPED[] = {0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6};
	static const int64_t DIMS[] = {2, 3};
	write_npy("<i2", "False", "2, 3", sizeof ROWS, ROWS);
	check_i16(2, DIMS, 6, ROWS);
	write_npy("<i2", "True", "2, 3", sizeof COLUMNS, COLUMNS);
	check_i16(2, DIMS, 6, ROWS);
	write_npy(">i2", "True", "2, 3", sizeof SWAPPED, SWAPPED);
	check_i16(2, DIMS, 6, ROWS);
	write_npy(">i2", "False", "6,", sizeof SWAPPED, SWAPPED);
	check_i16(1, &(int64_t){6}, 6, COLUMNS);
}
END_TEST

START_TEST(ranks_in_fortran_order)
{
	int16_t given[24], expected[24];
	for (int a = 0; a < 2; a++)
		for (int b = 0; b < 3; b++)
			for (int c = 0; c < 4; c++) {
				expected[(a * 3 + b) * 4 + c] = (int16_t)(100 * a + 10 * b + c);
				given[(c * 3 + b) * 2 + a] = (int16_t)(100 * a + 10 * b + c);
			}
	write_npy("<i2", "True", "2, 3, 4", sizeof given, given);
	check_i16(3, (int64_t[]){2, 3, 4}, 24, expected);
	write_npy("<i2", "True", "", 2, given);
	check_i16(0, NULL, 1, expected);
	write_npy("<i2", "True", "2, 0", 0, given);
	check_i16(2, (int64_t[]){2, 0}, 0, expected);
}
END_TEST

START_TEST(complex_numbers_swap_by_parts)
{
	static const unsigned char SWAPPED[] = {0x3f, 0x80, 0, 0, 0x40, 0, 0, 0};
	write_npy(">c8", "False", "1,", sizeof SWAPPED, SWAPPED);
	const Array *array = npy_read(arena, path);
	ck_assert_int_eq(array->type, DT_C64);
	ck_assert(((const float *)array->data)[0] == 1 && ((const float *)array->data)[1] == 2);
}
END_TEST

static void
read_it(void *arg)
{
	npy_read(arg, path);
}

START_TEST(refusals)
{
	Failure failure;
	write_npy("<U4", "False", "1,", 16, "................");
	ck_assert(!try_run(read_it, arena, &failure));
	ck_assert_int_eq(failure.kind, FAIL_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(failure.text, "elements of type '<U4'"));
	write_npy("<i2", "True", "2, 3", 4, "....");
	ck_assert(!try_run(read_it, arena, &failure));
	ck_assert_int_eq(failure.kind, FAIL_INVALID);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("driver_npy");
	tcase_add_checked_fixture(t, begin, end);
	tcase_add_test(t, orders);
	tcase_add_test(t, ranks_in_fortran_order);
	tcase_add_test(t, complex_numbers_swap_by_parts);
	tcase_add_test(t, refusals);
	return unit_run(t);
}
