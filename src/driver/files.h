/* What a file holds, and models from files. */
#ifndef DRIVER_FILES_H
#define DRIVER_FILES_H

#include "base/file.h"
#include "driver/options.h"
#include "graph/graph.h"

/* What a file holds, found out from its first word. */
typedef enum FileKind { FILE_GRAPH, FILE_EXPR, FILE_LOOPS, FILE_ONNX, FILE_BUNDLE } FileKind;
FileKind file_kind(const char *path, Bytes bytes);
bool is_named_onnx(const char *path);

/* Read ONNX or the text of a graph; --fix is applied. The graph lives in `arena`. */
Graph *model_read(const Options *options, Arena *arena, const char *path);

/* Read a model only to write it again: operators that ops.def does not have pass through. */
Graph *model_read_open(const Options *options, Arena *arena, const char *path, Bytes bytes);

/* As model_read(), from a file that is mapped already (standard input can be read only once). */
Graph *model_read_bytes(const Options *options, Arena *arena, const char *path, Bytes bytes);

/* How a model is called in bundles and messages: its file, or "stdin"; and the bundle's file where
 * none is said: model.onnx becomes model.twb in the current folder. */
const char *model_name(Arena *arena, const char *path);
const char *bundle_name(Arena *arena, const char *path);

#endif
