/* Host operators on small arrays: values worked out by hand. */
#include <math.h>
#include <string.h>

#include "host/host.h"
#include "unit.h"

typedef struct Bench {
	Arena *arena;
	HostCall call;
	const Array *inputs[5];
	StepAttr attrs[4];
	Array *outputs[4];
	const char *error;
} Bench;

static Array *
make_output(void *context, int index, DType type, int rank, const int64_t *dims)
{
	Bench *b = context;
	return b->outputs[index] = array_new(b->arena, type, rank, dims);
}

static void *
make_scratch(void *context, size_t bytes)
{
	return arena_alloc(((Bench *)context)->arena, bytes);
}

static void
run(Bench *b, const char *name, int ninput, int noutput)
{
	b->call.ninput = ninput;
	b->call.noutput = noutput;
	b->call.inputs = b->inputs;
	b->call.attrs = b->attrs;
	b->call.context = b;
	b->call.output = make_output;
	b->call.scratch = make_scratch;
	ck_assert_ptr_nonnull(host_find(name));
	b->error = host_find(name)->run(&b->call);
}

static Bench
start(void)
{
	return (Bench){.arena = arena_new("host")};
}

static void
set_int(Bench *b, const char *name, const int64_t *value)
{
	b->attrs[b->call.nattr++] = (StepAttr){.name = name, .count = 1, .ints = value};
}

static void
floats(Bench *b, int input, int rank, const int64_t *dims, const float *data)
{
	b->inputs[input] = array_from(b->arena, DT_F32, rank, dims, data);
}

static void
expect_ints(const Array *a, int64_t count, const int64_t *want)
{
	ck_assert_ptr_nonnull(a);
	ck_assert_int_eq(array_count(a), count);
	for (int64_t i = 0; i < count; i++)
		ck_assert_int_eq(dtype_load_i64(a->type, a->data, i), want[i]);
}

START_TEST(nonzero)
{
	Bench b = start();
	floats(&b, 0, 2, (int64_t[]){2, 3}, (float[]){0, 1, NAN, 2, -0.0f, 3});
	run(&b, "NonZero", 1, 1);
	ck_assert_ptr_null(b.error);
	expect_ints(b.outputs[0], 8, (int64_t[]){0, 0, 1, 1, 1, 2, 0, 2});
	arena_free(b.arena);
}
END_TEST

START_TEST(compress)
{
	Bench b = start();
	floats(&b, 0, 2, (int64_t[]){3, 2}, (float[]){1, 2, 3, 4, 5, 6});
	b.inputs[1] = array_from(b.arena, DT_BOOL, 1, (int64_t[]){2}, (uint8_t[]){0, 1});
	run(&b, "Compress", 2, 1); /* flat */
	ck_assert_int_eq(array_count(b.outputs[0]), 1);
	ck_assert(((float *)b.outputs[0]->data)[0] == 2);
	int64_t axis = -1;
	set_int(&b, "axis", &axis);
	run(&b, "Compress", 2, 1);
	ck_assert_int_eq(b.outputs[0]->dims[1], 1);
	expect_ints(b.outputs[0], 3, (int64_t[]){2, 4, 6});
	b.inputs[1] = array_from(b.arena, DT_BOOL, 1, (int64_t[]){3}, (uint8_t[]){0, 1, 1});
	run(&b, "Compress", 2, 1);
	ck_assert_str_eq(b.error, "the condition selects index 2 of extent 2");
	arena_free(b.arena);
}
END_TEST

START_TEST(topk)
{
	Bench b = start();
	int64_t axis = 0, smallest = 0;
	floats(&b, 0, 2, (int64_t[]){4, 2}, (float[]){1, 7, 3, 7, 3, -INFINITY, 2, 0});
	b.inputs[1] = array_vector_i64(b.arena, 1, (int64_t[]){2});
	set_int(&b, "axis", &axis);
	run(&b, "TopK", 2, 2);
	expect_ints(b.outputs[0], 4, (int64_t[]){3, 7, 3, 7});
	expect_ints(b.outputs[1], 4, (int64_t[]){1, 0, 2, 1});
	set_int(&b, "largest", &smallest);
	run(&b, "TopK", 2, 2);
	expect_ints(b.outputs[1], 4, (int64_t[]){0, 2, 3, 3});
	b.inputs[1] = array_vector_i64(b.arena, 1, (int64_t[]){5});
	run(&b, "TopK", 2, 2);
	ck_assert_str_eq(b.error, "k is 5, but the axis has 4 elements");
	arena_free(b.arena);
}
END_TEST

START_TEST(unique)
{
	Bench b = start();
	int64_t unsorted = 0, axis = 0;
	floats(&b, 0, 1, (int64_t[]){6}, (float[]){2, 1, 1, 3, 4, 3});
	run(&b, "Unique", 1, 4);
	expect_ints(b.outputs[0], 4, (int64_t[]){1, 2, 3, 4});
	expect_ints(b.outputs[1], 4, (int64_t[]){1, 0, 3, 4});
	expect_ints(b.outputs[2], 6, (int64_t[]){1, 0, 0, 2, 3, 2});
	expect_ints(b.outputs[3], 4, (int64_t[]){2, 1, 2, 1});
	set_int(&b, "sorted", &unsorted);
	run(&b, "Unique", 1, 4);
	expect_ints(b.outputs[0], 4, (int64_t[]){2, 1, 3, 4});
	expect_ints(b.outputs[2], 6, (int64_t[]){0, 1, 1, 2, 3, 2});
	floats(&b, 0, 2, (int64_t[]){3, 2}, (float[]){5, 6, 1, 2, 5, 6});
	set_int(&b, "axis", &axis);
	run(&b, "Unique", 1, 4);
	expect_ints(b.outputs[0], 4, (int64_t[]){5, 6, 1, 2});
	expect_ints(b.outputs[3], 2, (int64_t[]){2, 1});
	arena_free(b.arena);
}
END_TEST

START_TEST(non_max_suppression)
{
	Bench b = start();
	floats(&b, 0, 3, (int64_t[]){1, 4, 4},
	       (float[]){0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, -0.1f, 1, 0.9f, 1, 11, 0, 10});
	floats(&b, 1, 3, (int64_t[]){1, 1, 4}, (float[]){0.9f, 0.75f, 0.6f, 0.95f});
	b.inputs[2] = array_vector_i64(b.arena, 1, (int64_t[]){3});
	floats(&b, 3, 1, (int64_t[]){1}, (float[]){0.5f});
	run(&b, "NonMaxSuppression", 4, 1);
	expect_ints(b.outputs[0], 6, (int64_t[]){0, 0, 3, 0, 0, 0});
	floats(&b, 4, 1, (int64_t[]){1}, (float[]){0.92f});
	run(&b, "NonMaxSuppression", 5, 1);
	expect_ints(b.outputs[0], 3, (int64_t[]){0, 0, 3});
	b.inputs[2] = NULL;
	run(&b, "NonMaxSuppression", 5, 1);
	ck_assert_int_eq(b.outputs[0]->dims[0], 0);
	arena_free(b.arena);
}
END_TEST

int
main(void)
{
	TCase *tcase = tcase_create("host");
	tcase_add_test(tcase, nonzero);
	tcase_add_test(tcase, compress);
	tcase_add_test(tcase, topk);
	tcase_add_test(tcase, unique);
	tcase_add_test(tcase, non_max_suppression);
	return unit_run(tcase);
}
