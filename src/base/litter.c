/* A table of paths. An entry is taken by one atomic exchange and is complete before it shows, so
 * that a handler sees whole paths only, whichever thread it interrupts.
 */
#include "base/file.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES = 64, PATH_SIZE = 1024 };
enum { FREE, TAKEN, LISTED };

static struct {
	_Atomic int state;
	char path[PATH_SIZE];
	long owner; /* a forked child sweeps nothing of its parent's */
} entries[ENTRIES];

void
litter_add(const char *path)
{
	size_t size = strlen(path) + 1;
	for (size_t i = 0; size <= PATH_SIZE && i < ENTRIES; i++) {
		int expected = FREE;
		if (!atomic_compare_exchange_strong(&entries[i].state, &expected, TAKEN))
			continue;
		memcpy(entries[i].path, path, size);
		entries[i].owner = (long)getpid();
		atomic_store(&entries[i].state, LISTED);
		return;
	}
}

void
litter_remove(const char *path)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (atomic_load(&entries[i].state) == LISTED && strcmp(entries[i].path, path) == 0) {
			atomic_store(&entries[i].state, FREE);
			return;
		}
}

/* What the system call getdents64 fills in; readdir() allocates, and a handler must not. */
struct Entry {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char kind;
	char name[];
};

static void
remove_files(int folder)
{
	_Alignas(struct Entry) char buffer[4096];
	long got;
	while ((got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0)
		for (long at = 0; at < got;) {
			const struct Entry *entry = (const struct Entry *)(const void *)(buffer + at);
			unlinkat(folder, entry->name, 0);
			at += entry->size;
		}
}

void
litter_sweep(void)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		if (atomic_load(&entries[i].state) != LISTED || entries[i].owner != (long)getpid())
			continue;
		int folder = open(entries[i].path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (folder < 0) {
			unlink(entries[i].path);
			continue;
		}
		remove_files(folder);
		close(folder);
		rmdir(entries[i].path);
	}
}
