/* ONNX Runtime as a baseline, when libonnxruntime is there: loaded at run time, by its C API. */
#ifndef CLI_ORT_H
#define CLI_ORT_H

#include "base/array.h"

typedef struct Ort Ort;

/* The library: $ORT_LIBRARY, or the newest under build/ort, or the system's. Fails
 * (FAIL_ENVIRONMENT) saying how to get it. Everything goes with the arena. */
Ort *ort_open(Arena *arena, const char *model, int threads);
void ort_bind(Ort *ort, int count, const char *const *names, Array *const *inputs);
void ort_run(Ort *ort);
int ort_output_count(const Ort *ort);
const char *ort_output_name(const Ort *ort, int index);
Array *ort_output(Ort *ort, int index); /* a view, valid until the next run; no strings */

#endif
