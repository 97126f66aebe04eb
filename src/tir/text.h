/* What printing, parsing and emitting kernels share: the words of the text, and names that differ.
 */
#ifndef TIR_TEXT_H
#define TIR_TEXT_H

#include "base/map.h"
#include "tir/stmt.h"

const char *bind_name(Bind bind);    /* NULL for serial */
Bind bind_find(const char *name);    /* BIND_COUNT: none */
const char *scope_name(Scope scope); /* not of SCOPE_PARAM */
int scope_by_name(const char *name); /* -1: none */

/* Rename variables and local buffers so that no two things of the kernel have one name; gives all
 * names, to their owners. */
Map kernel_name_apart(const Kernel *kernel);

#endif
