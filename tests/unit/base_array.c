/* A dim in blocks, element by element against its definition. */
#include "unit.h"

#include "base/array.h"

enum { OUTER = 2, COUNT = 5, INNER = 3 };

static void
check_blocks(int64_t block)
{
	Arena *arena = arena_new("test");
	int64_t dims[] = {OUTER, COUNT, INNER}, blocks = (COUNT + block - 1) / block;
	Array *in = array_new(arena, DT_I16, 3, dims);
	for (int64_t i = 0; i < OUTER * COUNT * INNER; i++)
		dtype_store_i64(DT_I16, in->data, i, i + 1);
	Blocking b = blocking_of(in, 1, block);
	ck_assert_int_eq(blocking_count(&b), OUTER * blocks * INNER * block);
	int16_t *out = arena_alloc(arena, (size_t)blocking_count(&b) * sizeof *out);
	blocking_copy(&b, in->data, out);
	for (int64_t o = 0, at = 0; o < OUTER; o++)
		for (int64_t c = 0; c < blocks; c++)
			for (int64_t i = 0; i < INNER; i++)
				for (int64_t k = 0; k < block; k++, at++) {
					int64_t channel = c * block + k;
					int64_t from = (o * COUNT + channel) * INNER + i;
					ck_assert_int_eq(out[at], channel < COUNT ? from + 1 : 0);
				}
	arena_free(arena);
}

START_TEST(blocks)
{
	check_blocks(1);
	check_blocks(2);     /* the last one is not full */
	check_blocks(COUNT); /* behind the others */
	check_blocks(8);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("base_array");
	tcase_add_test(t, blocks);
	return unit_run(t);
}
