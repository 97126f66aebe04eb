/* Texts of the IRs: read and checked, and printed again. */
#ifndef DRIVER_TEXTS_H
#define DRIVER_TEXTS_H

#include "passes/manager.h"

/* The text of a graph, an expression or a kernel, checked: FAIL_INVALID where it is wrong. */
Graph *text_graph(Arena *arena, const char *path, const char *text);
Program *text_program(Arena *arena, const char *path, const char *text);
Kernel *text_kernel(Arena *arena, const char *path, const char *text);

/* Print, read and print again what a pass left, or a kernel; fails (FAIL_BUG) unless the texts are
 * equal: --verify=texts. verify_all_texts() does that where it was asked for, also when no pass
 * changed anything. */
void verify_texts(PassContext *context, PassIr ir, const void *before, const void *after);
void verify_all_texts(const PassContext *context, const Graph *graph, const Module *module);

#endif
