/* Models that somebody broke: cut, overwritten, changed at random. Each is read or refused with one
 * sentence, and nothing is read past an end (make asan). */
#include "unit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "onnx_make.h"

/* A model with most of what a file can hold: raw, typed, sparse and string data, a function,
 * branches, shapes computed in the graph, old and new forms. */
static Bytes
rich_model(Arena *arena)
{
	ModelMaker m = maker(arena);
	float w[36] = {1, 2, 3};
	make_value(&m, INPUT, "x", DT_F32, 4, (int64_t[]){-2, 1, 8, 8});
	make_value(&m, INPUT, "c", DT_BOOL, 0, NULL);
	make_value(&m, OUTPUT, "y", DT_F32, 4, (int64_t[]){-2, 4, 6, 6});
	make_initializer(&m, "w", DT_F32, 4, (int64_t[]){4, 1, 3, 3}, w, sizeof w);
	Wire typed = make_tensor(arena, "b", DT_F32, 1, (int64_t[]){4}, NULL, 0);
	wire_floats(&typed, 4, 4, w);
	wire_message(&m.graph, 5, &typed);
	Wire attrs = {.arena = arena};
	put_ints(&attrs, "kernel_shape", 2, (int64_t[]){3, 3});
	put_ints(&attrs, "strides", 2, (int64_t[]){1, 1});
	make_node(&m, "Conv", "x w b", "conv", &attrs);
	Wire then = {.arena = arena}, other = {.arena = arena}, branches = {.arena = arena};
	Wire node = make_node_wire(arena, "Relu", "conv", "t", NULL);
	wire_message(&then, 1, &node);
	make_value_in(&then, arena, OUTPUT, "t", DT_F32, 4, (int64_t[]){-2, 4, 6, 6});
	node = make_node_wire(arena, "Neg", "conv", "e", NULL);
	wire_message(&other, 1, &node);
	make_value_in(&other, arena, OUTPUT, "e", DT_F32, 4, (int64_t[]){-2, 4, 6, 6});
	put_graph(&branches, "then_branch", &then);
	put_graph(&branches, "else_branch", &other);
	make_node(&m, "If", "c", "picked", &branches);
	make_node(&m, "Shape", "picked", "shape", NULL);
	Wire axis = {.arena = arena};
	put_int(&axis, "axis", 1);
	make_node(&m, "Softmax", "picked", "soft", &axis);
	make_node(&m, "Reshape", "soft shape", "y", NULL);
	return make_model(&m, 8, 12);
}

/* Read bytes from memory of exactly their size; what went wrong must be one line. */
static bool
attempt(const unsigned char *data, size_t size)
{
	Arena *arena = arena_new("test");
	unsigned char *copy = malloc(size ? size : 1);
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, data, size);
	Failure failure;
	Graph *graph = try_bytes(arena, (Bytes){copy, size}, &failure);
	if (!graph) {
		ck_assert(strncmp(failure.text, "test.onnx: ", 11) == 0);
		ck_assert_msg(strlen(failure.text) > 20 && !strchr(failure.text, '\n'), "%s", failure.text);
		ck_assert_msg(failure.kind == FAIL_INVALID || failure.kind == FAIL_UNSUPPORTED, "%s",
		              failure.text);
	}
	arena_free(arena);
	free(copy);
	return graph != NULL;
}

START_TEST(the_model_itself_is_right)
{
	Arena *arena = arena_new("model");
	Bytes bytes = rich_model(arena);
	Failure failure;
	Graph *graph = try_bytes(arena, bytes, &failure);
	ck_assert_msg(graph != NULL, "%s", failure.text);
	arena_free(arena);
}
END_TEST

START_TEST(cut_anywhere)
{
	Arena *arena = arena_new("model");
	Bytes bytes = rich_model(arena);
	for (size_t size = 0; size < bytes.size; size++) /* every place, not 200 of them */
		ck_assert_msg(!attempt(bytes.data, size), "read after a cut at %zu", size);
	arena_free(arena);
}
END_TEST

START_TEST(changed_anywhere)
{
	Arena *arena = arena_new("model");
	Bytes bytes = rich_model(arena);
	unsigned char *copy = arena_alloc(arena, bytes.size);
	uint64_t state = 7;
	int refused = 0;
	for (int round = 0; round < 3000; round++) {
		memcpy(copy, bytes.data, bytes.size);
		for (uint64_t n = 1 + random_next(&state) % 3; n > 0; n--)
			copy[random_next(&state) % bytes.size] = (unsigned char)random_next(&state);
		refused += !attempt(copy, bytes.size);
	}
	ck_assert_int_gt(refused, 1000);
	arena_free(arena);
}
END_TEST

START_TEST(random_bytes)
{
	unsigned char data[512];
	uint64_t state = 11;
	for (int round = 0; round < 2000; round++) {
		size_t size = random_next(&state) % sizeof data;
		for (size_t i = 0; i < size; i++)
			data[i] = (unsigned char)random_next(&state);
		ck_assert(!attempt(data, size));
	}
}
END_TEST

/* A model with one value x: type[dims] and one node, which must be refused with a text. */
static void
refuse_dims(int rank, const int64_t *dims, const char *op, const char *inputs, const char *text)
{
	Arena *arena = arena_new("test");
	ModelMaker m = maker(arena);
	make_value(&m, INPUT, "x", DT_F32, rank, dims);
	make_value(&m, OUTPUT, "y", DT_F32, -1, NULL);
	make_node(&m, op, inputs, "y", NULL);
	Failure failure;
	Graph *graph = try_bytes(arena, make_model(&m, 8, 17), &failure);
	ck_assert_msg(!graph, "%s was read", op);
	ck_assert_msg(strstr(failure.text, text) != NULL, "'%s' is not in '%s'", text, failure.text);
	arena_free(arena);
}

START_TEST(shapes_that_cannot_be)
{
	refuse_dims(2, (int64_t[]){2, 3}, "GlobalAveragePool", "x x", "2 inputs");
	refuse_dims(2, (int64_t[]){2, 3}, "MatMul", "x x", "(MatMul): ");
	refuse_dims(2, (int64_t[]){2, 3}, "Conv", "x x", "(Conv): ");
	refuse_dims(1, (int64_t[]){-7}, "Relu", "nobody", "'nobody' is not defined");
}
END_TEST

/* Functions that each call the one before ten times: 10^8 nodes from a kilobyte. */
START_TEST(functions_that_multiply)
{
	Arena *arena = arena_new("test");
	ModelMaker m = maker(arena);
	make_value(&m, INPUT, "x", DT_F32, 1, (int64_t[]){2});
	make_value(&m, OUTPUT, "y", DT_F32, 1, (int64_t[]){2});
	for (int level = 0; level < 9; level++) {
		Wire function = {.arena = arena}, domain = {.arena = arena};
		wire_text(&domain, 7, "local");
		wire_text(&function, 1, arena_printf(arena, "f%d", level));
		make_names(&function, arena, 4, "v0");
		make_names(&function, arena, 5, "v10");
		for (int i = 0; i < 10; i++) {
			const char *op = level ? arena_printf(arena, "f%d", level - 1) : "Relu";
			Wire node = make_node_wire(arena, op, arena_printf(arena, "v%d", i),
			                           arena_printf(arena, "v%d", i + 1), level ? &domain : NULL);
			wire_message(&function, 7, &node);
		}
		put_opset(&function, 9, "", 17);
		wire_text(&function, 10, "local");
		wire_message(&m.functions, 25, &function);
	}
	Wire call = {.arena = arena};
	wire_text(&call, 7, "local");
	make_node(&m, "f8", "x", "y", &call);
	Bytes bytes = make_model(&m, 9, 17);
	Failure failure;
	ck_assert(!try_bytes(arena, bytes, &failure));
	ck_assert_msg(strstr(failure.text, "nodes after inlining") != NULL, "%s", failure.text);
	ck_assert_uint_lt(arena_used(arena), 4 << 20); /* refused before any is inlined */
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_hostile");
	tcase_add_test(t, the_model_itself_is_right);
	tcase_add_test(t, cut_anywhere);
	tcase_add_test(t, changed_anywhere);
	tcase_add_test(t, random_bytes);
	tcase_add_test(t, shapes_that_cannot_be);
	tcase_add_test(t, functions_that_multiply);
	return unit_run(t);
}
