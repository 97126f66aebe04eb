/* Names of blocked storage: letters stand for dims, in order, and a number behind one is its block.
 *
 *     "nc16hw":  element [n,c,h,w] lies at [n, c/16, h, w, c%16]
 *     "o16ihw":  element [o,i,h,w] lies at [o/16, i, h, w, o%16]
 */
#ifndef BASE_LAYOUT_H
#define BASE_LAYOUT_H

#include <stdint.h>

/* The block of a layout; 0 for NULL and for unblocked ones. */
int64_t layout_block(const char *layout);

/* The dim that is blocked; -1 where none is. */
int layout_dim(const char *layout);

#endif
