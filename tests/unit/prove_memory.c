/* How a proof reads values in blocks: what was not written, and padding that is not 0. */
#include "prove/memory.h"
#include "unit.h"

/* Three channels at two places, in blocks of two: the last block has room for a fourth. */
static const int64_t DIMS[] = {1, 3, 2};

static Held
blocked(float *data)
{
	return (Held){.type = DT_F32,
	              .rank = 3,
	              .dims = DIMS,
	              .strides = {8, 4, 2},
	              .block_dim = 1,
	              .block = 2,
	              .data = (unsigned char *)data};
}

START_TEST(padding)
{
	float data[8] = {1, 2, 3, 4, 5, 0, 6, 0};
	Held held = blocked(data);
	ck_assert_int_eq(held_padding(&held), 0);
	data[5] = 7;
	ck_assert_int_eq(held_padding(&held), 1);
	data[7] = -0.0f; /* no zero of the library's */
	ck_assert_int_eq(held_padding(&held), 2);
	held.is_view = true; /* what lies there is somebody else's */
	ck_assert_int_eq(held_padding(&held), 0);
}
END_TEST

START_TEST(unwritten)
{
	Arena *arena = arena_new("test");
	float data[8] = {1, 2, 3, 4, 5, 0, 6, 0};
	Held held = blocked(data);
	ck_assert_int_eq(held_unwritten(&held), 0);
	held_poison(&held);
	ck_assert_int_eq(held_unwritten(&held), 8);
	data[1] = data[5] = 0;
	ck_assert_int_eq(held_unwritten(&held), 6);
	memset(data, 0, sizeof data);
	held.is_view = true; /* then only its elements are poisoned, not its padding */
	held_poison(&held);
	ck_assert_int_eq(held_unwritten(&held), 6);
	ck_assert(data[5] == 0 && data[7] == 0);
	arena_free(arena);
}
END_TEST

/* Rows with gaps: what lies between them is nobody's, and all of it is looked at. */
START_TEST(strided)
{
	enum { ROWS = 3000, COLUMNS = 5, STEP = 7 };
	static float data[ROWS * STEP];
	static const int64_t dims[] = {ROWS, COLUMNS};
	Held held = {.type = DT_F32,
	             .rank = 2,
	             .dims = dims,
	             .strides = {STEP, 1},
	             .is_view = true,
	             .block_dim = -1,
	             .data = (unsigned char *)data};
	Hash128 before = held_hash(&held);
	data[STEP - 1] = 1;
	ck_assert(hash128_equal(held_hash(&held), before));
	data[(ROWS - 1) * STEP + COLUMNS - 1] = 1;
	ck_assert(!hash128_equal(held_hash(&held), before));
	held_poison(&held);
	ck_assert_int_eq(held_unwritten(&held), ROWS * COLUMNS);
	data[(ROWS - 1) * STEP] = data[STEP + 1] = 0;
	ck_assert_int_eq(held_unwritten(&held), ROWS * COLUMNS - 2);
	ck_assert(data[STEP - 1] == 1);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("memory");
	tcase_add_test(t, padding);
	tcase_add_test(t, unwritten);
	tcase_add_test(t, strided);
	return unit_run(t);
}
