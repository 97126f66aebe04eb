/* Small models for unit tests, written with the exporter's wire format.
 *
 *     ModelMaker m = maker(arena);
 *     make_value(&m, 11, "x", DT_F32, 2, (int64_t[]){2, 3});
 *     make_node(&m, "Relu", "x", "y", NULL);
 *     make_value(&m, 12, "y", DT_F32, 2, (int64_t[]){2, 3});
 *     Graph *graph = onnx_read_bytes(arena, "test.onnx", make_model(&m, 8, 17), NULL);
 */
#ifndef ONNX_MAKE_H
#define ONNX_MAKE_H

#include <assert.h>
#include <string.h>

#include "onnx/onnx.h"
#include "onnx/wire.h"

typedef struct ModelMaker {
	Arena *arena;
	Wire graph, functions; /* GraphProto; fields of ModelProto that follow it */
} ModelMaker;

enum { INPUT = 11, OUTPUT = 12, UNNAMED = -1, MINUS_ONE = -100 };

static inline ModelMaker
maker(Arena *arena)
{
	return (ModelMaker){arena, {.arena = arena}, {.arena = arena}};
}

/* The message's bytes with everything spliced in. */
static inline Bytes
make_bytes(Arena *arena, const Wire *wire)
{
	Buf buf = {.arena = arena};
	size_t at = 0;
	for (int i = 0; i < wire->splices.count; i++) {
		const Splice *splice = &wire->splices.data[i];
		buf_write(&buf, wire->buf.data + at, splice->at - at);
		buf_write(&buf, splice->data, splice->size);
		at = splice->at;
	}
	buf_write(&buf, buf_text(&wire->buf) + at, wire->buf.size - at);
	return (Bytes){(const unsigned char *)buf.data, buf.size};
}

/* What a dim of -1, -2 … is called. */
static const char *const NAMES_OF_DIMS[] = {"", "N", "?", "-1", "None", "*", "é"};

static inline Wire
make_type(Arena *arena, DType type, int rank, const int64_t *dims)
{
	Wire tensor = {.arena = arena}, shape = {.arena = arena}, proto = {.arena = arena};
	for (int i = 0; i < rank; i++) {
		Wire dim = {.arena = arena};
		if (dims[i] >= 0 || dims[i] == MINUS_ONE)
			wire_int(&dim, 1, dims[i] == MINUS_ONE ? -1 : dims[i]);
		else
			wire_text(&dim, 2, NAMES_OF_DIMS[-1 - dims[i]]);
		wire_message(&shape, 1, &dim);
	}
	wire_int(&tensor, 1, type);
	if (rank >= 0)
		wire_message(&tensor, 2, &shape);
	wire_message(&proto, 1, &tensor);
	return proto;
}

/* An input (11), output (12) or value_info (13); a dim of -1 is unknown, of -2 called N,
 * and so on (NAMES_OF_DIMS); one of MINUS_ONE is the number -1. */
static inline void
make_value_in(Wire *graph, Arena *arena, int field, const char *name, DType type, int rank,
              const int64_t *dims)
{
	Wire info = {.arena = arena}, proto = make_type(arena, type, rank, dims);
	wire_text(&info, 1, name);
	wire_message(&info, 2, &proto);
	wire_message(graph, field, &info);
}

static inline void
make_value(ModelMaker *m, int field, const char *name, DType type, int rank, const int64_t *dims)
{
	make_value_in(&m->graph, m->arena, field, name, type, rank, dims);
}

static inline Wire
make_tensor(Arena *arena, const char *name, DType type, int rank, const int64_t *dims,
            const void *data, size_t size)
{
	Wire tensor = {.arena = arena};
	wire_ints(&tensor, 1, rank, dims);
	wire_int(&tensor, 2, type);
	wire_text(&tensor, 8, name);
	if (data)
		wire_bytes(&tensor, 9, data, size);
	return tensor;
}

static inline void
make_initializer(ModelMaker *m, const char *name, DType type, int rank, const int64_t *dims,
                 const void *data, size_t size)
{
	Wire tensor = make_tensor(m->arena, name, type, rank, dims, data, size);
	wire_message(&m->graph, 5, &tensor);
}

static inline void
make_i64s(ModelMaker *m, const char *name, int64_t count, const int64_t *values)
{
	make_initializer(m, name, DT_I64, 1, &count, values, (size_t)count * 8);
}

/* Names with spaces between them, as repeated field `field`; "_" is an absent one. */
static inline void
make_names(Wire *node, Arena *arena, int field, const char *names)
{
	for (const char *at = names; *at;) {
		size_t length = strcspn(at, " ");
		const char *name = arena_strndup(arena, at, length);
		wire_bytes(node, field, name, strcmp(name, "_") == 0 ? 0 : length);
		at += length + (at[length] == ' ');
	}
}

static inline Wire
make_node_wire(Arena *arena, const char *op, const char *inputs, const char *outputs,
               const Wire *attrs)
{
	Wire node = {.arena = arena};
	make_names(&node, arena, 1, inputs);
	make_names(&node, arena, 2, outputs);
	wire_text(&node, 4, op);
	if (attrs) {
		buf_write(&node.buf, buf_text(&attrs->buf), attrs->buf.size);
		assert(attrs->splices.count == 0);
	}
	return node;
}

/* `attrs` holds AttributeProtos as fields 5 (put_int() and the like), or other node fields. */
static inline void
make_node(ModelMaker *m, const char *op, const char *inputs, const char *outputs, const Wire *attrs)
{
	Wire node = make_node_wire(m->arena, op, inputs, outputs, attrs);
	wire_message(&m->graph, 1, &node);
}

static inline void
put_int(Wire *attrs, const char *name, int64_t value)
{
	Wire attr = {.arena = attrs->arena};
	wire_text(&attr, 1, name);
	wire_int(&attr, 3, value);
	wire_int(&attr, 20, 2);
	wire_message(attrs, 5, &attr);
}

static inline void
put_float(Wire *attrs, const char *name, float value)
{
	Wire attr = {.arena = attrs->arena};
	wire_text(&attr, 1, name);
	wire_float(&attr, 2, value);
	wire_int(&attr, 20, 1);
	wire_message(attrs, 5, &attr);
}

static inline void
put_string(Wire *attrs, const char *name, const char *value)
{
	Wire attr = {.arena = attrs->arena};
	wire_text(&attr, 1, name);
	wire_bytes(&attr, 4, value, strlen(value));
	wire_int(&attr, 20, 3);
	wire_message(attrs, 5, &attr);
}

static inline void
put_ints(Wire *attrs, const char *name, int64_t count, const int64_t *values)
{
	Wire attr = {.arena = attrs->arena};
	wire_text(&attr, 1, name);
	for (int64_t i = 0; i < count; i++)
		wire_int(&attr, 8, values[i]);
	wire_int(&attr, 20, 7);
	wire_message(attrs, 5, &attr);
}

static inline void
put_graph(Wire *attrs, const char *name, const Wire *graph)
{
	Wire attr = {.arena = attrs->arena};
	wire_text(&attr, 1, name);
	wire_message(&attr, 6, graph);
	wire_int(&attr, 20, 5);
	wire_message(attrs, 5, &attr);
}

static inline void
put_opset(Wire *wire, int field, const char *domain, int64_t version)
{
	Wire opset = {.arena = wire->arena};
	wire_text(&opset, 1, domain);
	wire_int(&opset, 2, version);
	wire_message(wire, field, &opset);
}

static inline Bytes
make_model(const ModelMaker *m, int64_t ir_version, int64_t opset)
{
	Wire model = {.arena = m->arena};
	wire_int(&model, 1, ir_version);
	put_opset(&model, 8, "", opset);
	wire_message(&model, 7, &m->graph);
	if (m->functions.buf.size)
		buf_write(&model.buf, m->functions.buf.data, m->functions.buf.size);
	return make_bytes(m->arena, &model);
}

/* ---- reading them, with the failure if there is one ---- */

typedef struct ReadJob {
	Arena *arena;
	Bytes bytes;
	const char *path;
	const OnnxReadOptions *options;
	Graph *graph;
} ReadJob;

static inline void
read_job(void *arg)
{
	ReadJob *job = arg;
	job->graph = job->path ? onnx_read(job->arena, job->path, job->options)
	                       : onnx_read_bytes(job->arena, "test.onnx", job->bytes, job->options);
}

/* The graph, or NULL with *failure filled in. */
static inline Graph *
try_bytes(Arena *arena, Bytes bytes, Failure *failure)
{
	ReadJob job = {.arena = arena, .bytes = bytes};
	failure->kind = FAIL_NONE;
	return try_run(read_job, &job, failure) ? job.graph : NULL;
}

static inline Graph *
try_path(Arena *arena, const char *path, Failure *failure)
{
	ReadJob job = {.arena = arena, .path = path};
	failure->kind = FAIL_NONE;
	return try_run(read_job, &job, failure) ? job.graph : NULL;
}

/* A model with x: f32[2,3] and y: f32[2,3], and more to come. */
static inline ModelMaker
make_small(Arena *arena)
{
	ModelMaker m = maker(arena);
	make_value(&m, INPUT, "x", DT_F32, 2, (int64_t[]){2, 3});
	make_value(&m, OUTPUT, "y", DT_F32, 2, (int64_t[]){2, 3});
	return m;
}

#endif
