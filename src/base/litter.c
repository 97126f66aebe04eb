/* A table of paths and groups. An entry is taken by one atomic exchange and is complete before it
 * shows, so that a handler sees whole entries only, whichever thread it interrupts.
 */
#include "base/file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENTRIES = 64, PATH_SIZE = 1024 };
enum { FREE, TAKEN, LISTED };

typedef struct Entry {
	_Atomic int state;
	char path[PATH_SIZE]; /* empty: a group of processes */
	int group;
	long owner; /* a forked child sweeps nothing of its parent's */
} Entry;

static Entry entries[ENTRIES];

/* With room for `size` bytes of path. */
static void
list(const char *path, size_t size, int group)
{
	for (size_t i = 0; size <= PATH_SIZE && i < ENTRIES; i++) {
		int expected = FREE;
		if (!atomic_compare_exchange_strong(&entries[i].state, &expected, TAKEN))
			continue;
		memcpy(entries[i].path, path, size);
		entries[i].group = group;
		entries[i].owner = (long)getpid();
		atomic_store(&entries[i].state, LISTED);
		return;
	}
}

static void
take_off(const char *path, int group)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (atomic_load(&entries[i].state) == LISTED && entries[i].group == group &&
		    strcmp(entries[i].path, path) == 0) {
			atomic_store(&entries[i].state, FREE);
			return;
		}
}

void
litter_add(const char *path)
{
	list(path, strlen(path) + 1, 0);
}

void
litter_remove(const char *path)
{
	take_off(path, 0);
}

void
litter_add_group(int group)
{
	list("", 1, group);
}

void
litter_remove_group(int group)
{
	take_off("", group);
}

/* What the system call getdents64 fills in; readdir() allocates, and a handler must not. */
struct Name {
	uint64_t inode;
	int64_t offset;
	unsigned short size;
	unsigned char kind;
	char name[];
};

static void
remove_files(int folder)
{
	_Alignas(struct Name) char buffer[4096];
	long got;
	while ((got = syscall(SYS_getdents64, folder, buffer, sizeof buffer)) > 0)
		for (long at = 0; at < got;) {
			const struct Name *entry = (const struct Name *)(const void *)(buffer + at);
			unlinkat(folder, entry->name, 0);
			at += entry->size;
		}
}

/* A file, or a folder and its files: what a process that has just been ended was making may show
 * itself a moment later. */
static void
remove_path(const char *path)
{
	enum { ATTEMPTS = 8 };
	for (int i = 0; i < ATTEMPTS; i++) {
		int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (folder < 0) {
			unlink(path);
			return;
		}
		remove_files(folder);
		close(folder);
		if (rmdir(path) == 0)
			return;
	}
}

void
litter_sweep(void)
{
	bool is_ours[ENTRIES];
	for (size_t i = 0; i < ENTRIES; i++) {
		const Entry *entry = &entries[i];
		is_ours[i] = atomic_load(&entry->state) == LISTED && entry->owner == (long)getpid();
		if (is_ours[i] && entry->group > 0)
			kill(-entry->group, SIGKILL);
	}
	for (size_t i = 0; i < ENTRIES; i++)
		if (is_ours[i] && entries[i].group == 0)
			remove_path(entries[i].path);
}
