/* The bounded walk: what stays, what is refused, and that weights are not copied. */
#include "unit.h"

#include <assert.h>
#include <stdlib.h>

#include "onnx/walk.h"
#include "onnx_make.h"

typedef struct UnpackJob {
	Arena *arena;
	Bytes bytes;
	Onnx__ModelProto *model;
} UnpackJob;

static void
unpack(void *arg)
{
	UnpackJob *job = arg;
	job->model = onnx_unpack(job->arena, "test.onnx", &onnx__model_proto__descriptor, job->bytes);
}

/* Walk bytes that must be refused with this text. */
static void
refuse(const void *data, size_t size, const char *text)
{
	Arena *arena = arena_new("test");
	Bytes bytes = {data, size};
	UnpackJob job = {.arena = arena, .bytes = bytes};
	Failure failure;
	ck_assert(!try_run(unpack, &job, &failure));
	ck_assert_int_eq(failure.kind, FAIL_INVALID);
	ck_assert_msg(strstr(failure.text, text) != NULL, "'%s' is not in '%s'", text, failure.text);
	arena_free(arena);
}

#define REFUSE(bytes, text) refuse(bytes, sizeof(bytes) - 1, text)

START_TEST(raw_data_stays_in_the_file)
{
	Arena *arena = arena_new("test");
	ModelMaker m = maker(arena);
	size_t size = 1 << 20;
	char *data = arena_alloc(arena, size);
	for (size_t i = 0; i < size; i++)
		data[i] = (char)(i * 7);
	make_initializer(&m, "w", DT_U8, 1, &(int64_t){1 << 20}, data, size);
	Bytes bytes = make_model(&m, 8, 17);
	Bytes skeleton = walk_message(arena, "test.onnx", &onnx__model_proto__descriptor, bytes);
	ck_assert_uint_lt(skeleton.size, 200);
	UnpackJob job = {.arena = arena, .bytes = bytes};
	unpack(&job);
	Onnx__TensorProto *tensor = job.model->graph->initializer[0];
	Bytes view = onnx_raw_view(bytes, &tensor->raw_data);
	ck_assert_uint_eq(view.size, size);
	ck_assert(view.data > bytes.data && view.data + size <= bytes.data + bytes.size);
	ck_assert_mem_eq(view.data, data, size);
	arena_free(arena);
}
END_TEST

START_TEST(unknown_fields_are_skipped)
{
	Arena *arena = arena_new("test");
	/* ir_version = 8, field 100 of each wire type, producer_name = "p" */
	static const char text[] = "\x08\x08"
							   "\xa0\x06\x01"
							   "\xa1\x06zzzzzzzz"
							   "\xa2\x06\x03zzz"
							   "\xa5\x06zzzz"
							   "\x12\x01p";
	UnpackJob job = {.arena = arena, .bytes = {(const unsigned char *)text, sizeof text - 1}};
	unpack(&job);
	ck_assert_int_eq(job.model->ir_version, 8);
	ck_assert_str_eq(job.model->producer_name, "p");
	arena_free(arena);
}
END_TEST

START_TEST(packed_and_plain_numbers_are_the_same)
{
	Arena *arena = arena_new("test");
	/* graph { initializer { dims 2 3 (packed), dims 4 (plain) } } */
	static const char text[] = "\x3a\x08\x2a\x06\x0a\x02\x02\x03\x08\x04";
	UnpackJob job = {.arena = arena, .bytes = {(const unsigned char *)text, sizeof text - 1}};
	unpack(&job);
	Onnx__TensorProto *tensor = job.model->graph->initializer[0];
	ck_assert_uint_eq(tensor->n_dims, 3);
	ck_assert_int_eq(tensor->dims[0] * 100 + tensor->dims[1] * 10 + tensor->dims[2], 234);
	arena_free(arena);
}
END_TEST

START_TEST(wrong_bytes_are_refused_with_their_place)
{
	REFUSE("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a number of more than 10 bytes");
	REFUSE("\x08\x80", "in ir_version: the file is cut off or damaged: it ends inside");
	REFUSE("\x12\x05pp", "byte 1, in producer_name: the file is cut off: of 5 bytes 2 are there");
	REFUSE("\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7fpp", "the file is cut off");
	REFUSE("\x3a\x02\x12\x05",
	       "byte 3, in graph.name: the file is cut off: of 5 bytes 0 are there");
	REFUSE("\x3a\x02\x12\x05ppppp", "byte 3, in graph.name: the file is damaged: of 5 bytes 0");
	REFUSE("\x10\x05", "in producer_name: a field of wire type 0, expected 2");
	REFUSE("\x0b", "byte 0, in ir_version: a field of wire type 3");
	REFUSE("\xa3\x06", "this is no ONNX file (byte 2: a field of wire type 3, which ONNX");
	REFUSE("\x02\x00", "a field of number 0");
	REFUSE("\x12\x02p\x00", "a zero byte in a text");
	REFUSE("\x3a\x00\x3a\x00", "in graph: the field is given twice");
	REFUSE("\x3a\x07\x2a\x05\x22\x03zzz", "graph.initializer[0].float_data[0]: 3 bytes are no");
	/* a dimension that is a number and a name */
	REFUSE("\x3a\x11\x5a\x0f\x12\x0d\x0a\x0b\x12\x09\x0a\x07\x08\x01\x12\x01N\x08\x02",
	       "given twice");
}
END_TEST

START_TEST(a_thousand_levels_are_refused)
{
	Arena *arena = arena_new("test");
	Wire inner = {.arena = arena};
	for (int i = 0; i < 1000; i++) { /* graph { node { attribute { g { … } } } } */
		Wire graph = {.arena = arena}, node = {.arena = arena}, attr = {.arena = arena};
		wire_message(&attr, 6, &inner);
		wire_message(&node, 5, &attr);
		wire_message(&graph, 1, &node);
		inner = graph;
	}
	Wire model = {.arena = arena};
	wire_message(&model, 7, &inner);
	Bytes bytes = make_bytes(arena, &model);
	refuse(bytes.data, bytes.size, "messages nested deeper than 100");
	arena_free(arena);
}
END_TEST

START_TEST(a_small_file_cannot_unpack_to_gigabytes)
{
	Arena *arena = arena_new("test");
	size_t count = 4 << 20;
	char *attrs = arena_alloc(arena, 2 * count); /* attributes of no bytes: 2 each, 300 in memory */
	for (size_t i = 0; i < count; i++)
		attrs[2 * i] = 0x2a;
	Wire graph = {.arena = arena}, model = {.arena = arena};
	wire_bytes(&graph, 1, attrs, 2 * count);
	wire_message(&model, 7, &graph);
	Bytes bytes = make_bytes(arena, &model);
	refuse(bytes.data, bytes.size, "is refused");
	arena_free(arena);
}
END_TEST

int
main(void)
{
	TCase *t = tcase_create("onnx_walk");
	tcase_add_test(t, raw_data_stays_in_the_file);
	tcase_add_test(t, unknown_fields_are_skipped);
	tcase_add_test(t, packed_and_plain_numbers_are_the_same);
	tcase_add_test(t, wrong_bytes_are_refused_with_their_place);
	tcase_add_test(t, a_thousand_levels_are_refused);
	tcase_add_test(t, a_small_file_cannot_unpack_to_gigabytes);
	return unit_run(t);
}
