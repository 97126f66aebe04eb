/* Memory that may leave memory: large blocks in files without names.
 *
 * A compiler holds weights that it looks at seldom. In a file's pages the system can write them out
 * when memory is short, where there is no swap too. The file vanishes with the block, also when the
 * process is killed.
 */
#ifndef BASE_SPILL_H
#define BASE_SPILL_H

#include <stddef.h>

/* `folder` is the path of the folder whose disk takes the pages (a context pointer, as allocators
 * have one). Zeroed, aligned to `alignment`, at most a page's. Small blocks, and all where such
 * files cannot be made or the disk has no room, are memory as any other. NULL when that is out. */
void *spill_alloc(void *folder, size_t size, size_t alignment);
void spill_release(void *folder, void *memory, size_t size); /* NULL is accepted */

#endif
