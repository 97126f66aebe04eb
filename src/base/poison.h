/* Memory that nobody may touch, where AddressSanitizer looks on: an allocator that hands out parts
 * of a larger piece poisons it, lifts that from what it gives, and leaves a gap behind each part.
 */
#ifndef BASE_POISON_H
#define BASE_POISON_H

#ifdef __SANITIZE_ADDRESS__ /* gcc's word for it; clang's is a feature */
#define HAS_ASAN 1
#elif defined __has_feature
#define HAS_ASAN __has_feature(address_sanitizer)
#else
#define HAS_ASAN 0
#endif

#if HAS_ASAN
#include <sanitizer/asan_interface.h>
enum { POISON_GAP = 32 };
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
enum { POISON_GAP = 0 };
#endif

#endif
