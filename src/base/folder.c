/* Folders in $TMPDIR that last as long as their arena, or at most their process.
 *
 * Nobody can answer SIGKILL, so each folder is locked while its process lives, and whoever makes
 * the next removes those that nobody locks. A lock, unlike the number of a process in the name, is
 * seen from all containers that share the disk.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define PREFIX "tilewright-folder-"

enum { ATTEMPTS = 16 };

typedef struct Folder {
	const char *path;
	int lock;
} Folder;

static int
remove_entry(const char *path, const struct stat *info, int kind, struct FTW *walk)
{
	(void)info;
	(void)kind;
	(void)walk;
	return remove(path);
}

static void
remove_tree(const char *path)
{
	nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void
remove_folder(void *handle)
{
	Folder *folder = handle;
	remove_tree(folder->path);
	litter_remove(folder->path);
	close(folder->lock);
}

static int
open_folder(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void
remove_stale(Arena *arena, const char *base)
{
	DIR *all = opendir(base);
	struct dirent *entry;
	struct stat status;
	while (all && (entry = readdir(all))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		const char *path = arena_printf(arena, "%s/%s", base, entry->d_name);
		int lock = open_folder(path);
		if (lock < 0)
			continue;
		bool is_ours = fstat(lock, &status) == 0 && status.st_uid == geteuid();
		if (is_ours && flock(lock, LOCK_EX | LOCK_NB) == 0)
			remove_tree(path);
		close(lock);
	}
	if (all)
		closedir(all);
}

/* A new folder's lock, or -1: another process took it for a stale one before it was locked. Where
 * the disk has no locks, nobody can take it. */
static int
lock_folder(const char *path)
{
	struct stat status;
	int lock = open_folder(path);
	if (lock < 0)
		return -1;
	bool is_taken = flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	if (!is_taken && stat(path, &status) == 0)
		return lock;
	close(lock);
	return -1;
}

const char *
file_temporary_folder(Arena *arena)
{
	const char *named = getenv("TMPDIR"), *base = named && *named ? named : "/tmp";
	remove_stale(arena, base);
	for (int i = 0; i < ATTEMPTS; i++) {
		char *path = arena_printf(arena, "%s/" PREFIX "XXXXXX", base);
		if (!mkdtemp(path))
			break;
		int lock = lock_folder(path);
		if (lock < 0)
			continue;
		Folder *folder = NEW(arena, Folder);
		*folder = (Folder){path, lock};
		litter_add(path);
		arena_defer(arena, remove_folder, folder);
		return path;
	}
	fail_environment(NULL, "%s: a temporary folder cannot be made: %s", base, strerror(errno));
}
