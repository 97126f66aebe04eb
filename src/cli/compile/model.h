/* Models on their way through the compiler: what the verbs share. */
#ifndef CLI_COMPILE_MODEL_H
#define CLI_COMPILE_MODEL_H

#include "base/file.h"
#include "cli/cli.h"
#include "passes/manager.h"
#include "program/unit.h"
#include "target/target.h"

/* What a file holds, found out from its first word. */
typedef enum FileKind { FILE_GRAPH, FILE_EXPR, FILE_LOOPS, FILE_ONNX, FILE_BUNDLE } FileKind;
FileKind file_kind(const char *path, Bytes bytes);
bool is_named_onnx(const char *path);

/* Read ONNX or the text of a graph; --fix is applied. The graph lives in `arena`. */
Graph *model_read(const Options *options, Arena *arena, const char *path);

/* How a model is called in bundles and messages: its file, or "stdin"; and the bundle's file where
 * none is said: model.onnx becomes model.twb in the current folder. */
const char *model_name(Arena *arena, const char *path);
const char *bundle_name(Arena *arena, const char *path);

/* Read a model only to write it again: operators that ops.def does not have pass through. */
Graph *model_read_open(const Options *options, Arena *arena, const char *path);

/* The same from a file that is mapped already (standard input can be read only once). */
Graph *model_read_bytes(const Options *options, Arena *arena, const char *path, Bytes bytes);

/* A pass context with everything the options say. `level`: when -O is not given. Dumps go to
 * standard error. */
PassContext *pipeline_new(const Options *options, Arena *arena, int level);

/* Fails on what a verb would look up only later, or not at all: devices, a data set's folder. */
void options_check(const Options *options);

/* The device of a --target word. Fails where there is none. */
const Device *known_device(const char *name);
/* The same, for which code can be made. Fails otherwise. */
const Device *device_of(const char *name);

/* The pipeline in a word, as the manifest records it: "O3,-FuseOps". */
const char *pipeline_text(Arena *arena, const PassContext *context);

/* How many targets --target names, and which; without it there is one, "cpu:native". */
int target_count(const Options *options);
const char *target_name(const Options *options, int index);

/* The target of a --target word for this graph: its device, the oracle that
 * answers for the libraries, the sizes to choose at. */
Target *target_new(const Options *options, Arena *arena, const char *name, const Graph *graph);
/* The same where sizes were chosen already. */
Target *target_at(const Options *options, Arena *arena, const char *name, const Binding *probe);

/* What --log and --timings ask for, on standard error. */
void pipeline_report(const Options *options, const PassContext *context);

/* The text of a graph, an expression or a kernel, checked: FAIL_INVALID where it is wrong. */
Graph *text_graph(Arena *arena, const char *path, const char *text);
Program *text_program(Arena *arena, const char *path, const char *text);
Kernel *text_kernel(Arena *arena, const char *path, const char *text);

/* Evaluate both on made-up inputs and compare: --verify=each. Loops above some millions of
 * iterations are left out, and so is what does not run at the sizes that are tried: the log says
 * that it is not verified, and why. */
void verify_rewrite(PassContext *context, PassIr ir, const void *before, const void *after);
void verify_unit(PassContext *context, const ProgramUnit *before, const ProgramUnit *after);
void verify_kernel(PassContext *context, const Kernel *before, const Kernel *after);
void verify_left_out(PassContext *context, const char *name, const Failure *why);

/* Print, read and print again what a pass left, or a kernel; fails (FAIL_BUG) unless the texts are
 * equal: --verify=texts. verify_all_texts() does that where it was asked for, also when no pass
 * changed anything. */
void verify_texts(PassContext *context, PassIr ir, const void *before, const void *after);
void verify_all_texts(const PassContext *context, const Graph *graph, const Module *module);

#endif
