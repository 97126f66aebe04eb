/* Memory of its own: what a device has, made of this process's.
 *
 * A block has two places. Its address is one where nothing may be read or written, by anybody; its
 * bytes lie somewhere else, which only the functions here tell. So whoever follows an address of
 * the device in the host's code is stopped there and then, and an address of the host's is known as
 * none of the device's.
 */
#ifndef RUNTIME_TEST_SPACE_H
#define RUNTIME_TEST_SPACE_H

#include <stdbool.h>
#include <stddef.h>

void *space_alloc(size_t bytes); /* filled with 0xff: floats are NaN; NULL: no memory */
void space_release(void *address);

/* Where the bytes of an address lie; NULL: it is none of the device's. One address behind the end
 * of a block is still its. */
void *space_bytes(const void *address);

#endif
