/* Writing protobuf's wire format: messages built from the inside out, big data spliced in.
 *
 *     Wire tensor = {.arena = arena};
 *     wire_text(&tensor, 8, "w");
 *     wire_data(&tensor, 9, bytes, size);       not copied: noted where it belongs
 *     wire_message(&graph, 5, &tensor);
 *     wire_save(file, &graph);
 *
 * Fields come out in the order they are put, numbers in their shortest form: equal calls give equal
 * bytes. Weights are never copied; they go from where they are to the file.
 */
#ifndef ONNX_WIRE_H
#define ONNX_WIRE_H

#include "base/buf.h"
#include "base/file.h"
#include "base/vec.h"

typedef struct Splice {
	size_t at; /* in the buffer: the data comes before the byte here */
	const void *data;
	size_t size;
} Splice;

typedef struct Wire {
	Arena *arena;
	Buf buf;
	VEC(Splice) splices;
	uint64_t spliced; /* bytes of all splices */
} Wire;

uint64_t wire_size(const Wire *wire);

void wire_int(Wire *wire, int field, int64_t value);
void wire_float(Wire *wire, int field, float value);
void wire_bytes(Wire *wire, int field, const void *data, size_t size);
void wire_text(Wire *wire, int field, const char *text);              /* nothing when NULL or "" */
void wire_data(Wire *wire, int field, const void *data, size_t size); /* kept until saved */
void wire_message(Wire *wire, int field, const Wire *inner);
void wire_ints(Wire *wire, int field, int64_t count, const int64_t *values); /* packed */
void wire_floats(Wire *wire, int field, int64_t count, const float *values); /* packed */

void wire_save(FileWriter *file, const Wire *wire);

#endif
