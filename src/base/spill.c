/* Spilled blocks. A large block is an mmap() of its own: of a file without a name in the folder, so
 * that its pages can be written out; or, where no such file can be made, of anonymous memory. Small
 * blocks come from malloc(). The size alone decides which it is, so that a block can be given back
 * without a note of how it was made. */
#include "base/arena.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORTH_A_FILE = 1 << 18 };

/* A file that no name leads to, or not for long where the file system wants one. */
static int
open_unnamed(const char *folder)
{
	char path[PATH_MAX];
	int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file >= 0 || snprintf(path, sizeof path, "%s/.tilewright-XXXXXX", folder) >= PATH_MAX)
		return file;
	file = mkostemp(path, O_CLOEXEC);
	if (file >= 0)
		unlink(path);
	return file;
}

/* The disk's room is taken at once: a page that cannot be written later would be a signal. */
static void *
map_file(const char *folder, size_t size)
{
	void *memory = MAP_FAILED;
	int file = open_unnamed(folder);
	if (file < 0)
		return MAP_FAILED;
	if (posix_fallocate(file, 0, (off_t)size) == 0)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	return memory;
}

static void *
small_block(size_t size, size_t alignment)
{
	void *memory;
	if (posix_memalign(&memory, alignment, size ? size : 1))
		return NULL;
	return memset(memory, 0, size);
}

void *
spill_alloc(void *folder, size_t size, size_t alignment)
{
	if (size < WORTH_A_FILE)
		return small_block(size, alignment);
	if (size > SIZE_MAX / 2)
		return NULL;
	void *memory = map_file(folder, size);
	if (memory == MAP_FAILED)
		memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

void
spill_release(void *folder, void *memory, size_t size)
{
	(void)folder;
	if (size < WORTH_A_FILE)
		free(memory);
	else if (memory)
		munmap(memory, size);
}
