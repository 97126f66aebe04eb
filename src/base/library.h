/* Libraries that are loaded when something asks for them, and stay until the process ends. */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include <stdbool.h>

/* False in a static program: dlopen() would bring a second C library there, and the process would
 * end by a signal. */
bool library_can_load(void);

/* The first of these files that can be loaded, NULL behind the last. `folder` ends with '/', or is
 * "": where the system looks. NULL: none of them. */
void *library_open(const char *folder, const char *const *names);

/* One of NVIDIA's, where the system looks, then in lib64/ and lib/ (Python's wheels have the
 * second) of the folder that the variable `own` names (NULL: of none), of $CUDA_HOME and
 * $CUDA_PATH, and of /usr/local/cuda. Set-uid programs do not ask the environment. */
void *library_open_cuda(const char *own, const char *const *names);

/* dlsym() gives an object pointer; POSIX says that it holds a function's address. `function` points
 * to a pointer to a function, which becomes NULL where there is none of this name. */
void library_find(void *library, const char *name, void *function);

#endif
