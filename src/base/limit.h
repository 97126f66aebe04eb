/* A step that may take too long, or that nothing can interrupt. */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

/* Does the step in a copy of this process and brings back the `size` bytes at `result` as it left
 * them; of all else it did nothing is seen here. False, with a sentence: it took longer than so
 * many seconds and was ended, or it died. It must not fail() out of itself. */
bool run_limited(double seconds, void (*step)(void *), void *arg, void *result, size_t size,
                 const char **why);

#endif
