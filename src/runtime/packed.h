/* A store of packed forms, which a bundle may bring (runtime/bundle.h, packed/NAME.bin): a cache. A
 * form whose key is not there is packed from the plain weights. */
#ifndef RUNTIME_PACKED_H
#define RUNTIME_PACKED_H

#include "runtime/vendor.h"

/* The bytes as a store; empty where they are none. */
Bytes packed_store(Bytes bytes);
/* The form of this key and size in a store; NULL: there is none. */
const void *packed_find(Bytes store, Hash128 key, size_t bytes);
/* A store of these forms, which are sorted; free() the result then. NULL: no memory. */
void *packed_write(size_t count, PackedForm *forms, Blob *store);

#endif
