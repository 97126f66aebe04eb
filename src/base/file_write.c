/* Files replaced whole.
 *
 * What is written has no name until it is complete (O_TMPFILE), so that a process that is killed
 * leaves nothing: file_commit() gives it one. A draft is such a file that never has a name of its
 * own; its path is its descriptor's, and writing it anew puts another file behind the descriptor.
 * Where a file system knows no such files, or there is no /proc to link them by, both have names
 * beside their place, which base/litter.c lists.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { NAMES_TRIED = 100, DRAFTS_NAMED = 64 };

struct FileWriter {
	Arena *arena;
	const char *path;      /* where it will be */
	const char *temporary; /* where it is until then; NULL: nowhere, or in place (a device) */
	int fd;                /* -1 once committed or discarded */
	int draft;             /* the descriptor that shall be this file, or -1 */
	bool is_unnamed;
	size_t used; /* of the buffer */
	uint64_t position;
	unsigned char buffer[1 << 16];
};

/* ---- files without names ---- */

static const char DESCRIPTORS[] = "/proc/self/fd/";

/* What drafts will be called, by their descriptors: messages name that. */
static const char *_Atomic draft_names[DRAFTS_NAMED];

static void
name_draft(int fd, const char *path)
{
	if (fd < DRAFTS_NAMED)
		atomic_store(&draft_names[fd], path);
}

const char *
file_shown(const char *path)
{
	size_t prefix = sizeof DESCRIPTORS - 1;
	int fd = strncmp(path, DESCRIPTORS, prefix) == 0 ? atoi(path + prefix) : DRAFTS_NAMED;
	const char *name = fd < DRAFTS_NAMED ? atomic_load(&draft_names[fd]) : NULL;
	return name ? name : path;
}

_Noreturn static void
fail_write(const char *path, int reason)
{
	fail_environment(NULL, "cannot write %s: %s", file_shown(path), strerror(reason));
}

static const char *
descriptor_path(Arena *arena, int fd)
{
	return arena_printf(arena, "%s%d", DESCRIPTORS, fd);
}

/* The descriptor of a draft, or -1: other files that are reached so have names. */
static int
draft_of(const char *path)
{
	struct stat status;
	size_t prefix = sizeof DESCRIPTORS - 1;
	if (strncmp(path, DESCRIPTORS, prefix) != 0 || stat(path, &status) != 0 ||
	    !S_ISREG(status.st_mode) || status.st_nlink > 0)
		return -1;
	return atoi(path + prefix);
}

/* -1: there can be none in this folder. */
static int
open_unnamed(Arena *arena, const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	if (fd >= 0 && access(descriptor_path(arena, fd), F_OK) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A file `temporary` beside the path, under a name that nobody else uses: a new one, or one more
 * name of the unnamed file at `from`. Its descriptor, or 0, or -1. */
static int
make_beside(Arena *arena, const char *path, const char *from, const char **temporary)
{
	int made = -1;
	for (int i = 0; i < NAMES_TRIED; i++) {
		*temporary = arena_printf(arena, "%s.tmp%d.%d", path, (int)getpid(), i);
		if (from)
			made = linkat(AT_FDCWD, from, AT_FDCWD, *temporary, AT_SYMLINK_FOLLOW);
		else
			made = open(*temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (made >= 0)
			litter_add(*temporary);
		if (made >= 0 || errno != EEXIST)
			break;
	}
	return made;
}

/* False with errno. */
static bool
rename_litter(const char *temporary, const char *path)
{
	bool is_done = rename(temporary, path) == 0;
	int reason = errno;
	if (!is_done)
		unlink(temporary);
	litter_remove(temporary);
	errno = reason;
	return is_done;
}

/* Give an unnamed file its name. A name that is taken is replaced by rename(), which wants another
 * one for a moment. False with errno. */
static bool
link_unnamed(Arena *arena, const char *from, const char *path)
{
	const char *temporary;
	if (linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
		return true;
	if (errno != EEXIST || make_beside(arena, path, from, &temporary) < 0)
		return false;
	return rename_litter(temporary, path);
}

/* ---- writers ---- */

/* Registered with the arena: what was not committed vanishes. */
static void
discard(void *handle)
{
	FileWriter *writer = handle;
	if (writer->fd < 0)
		return;
	close(writer->fd);
	writer->fd = -1;
	if (!writer->temporary)
		return;
	unlink(writer->temporary);
	litter_remove(writer->temporary);
}

_Noreturn static void
fail_writer(FileWriter *writer)
{
	int reason = errno;
	discard(writer);
	fail_write(writer->path, reason);
}

/* The path behind symbolic links, so that a link stays and its target is replaced. */
static const char *
resolve(Arena *arena, const char *path)
{
	char *real = draft_of(path) < 0 ? realpath(path, NULL) : NULL;
	if (!real)
		return arena_strdup(arena, path);
	arena_defer(arena, free, real);
	return real;
}

/* The folder of what is behind a draft's descriptor: "/folder/#number (deleted)". */
static const char *
draft_folder(Arena *arena, const char *path)
{
	char target[4096];
	ssize_t length = readlink(path, target, sizeof target);
	return length > 0 ? file_folder(arena, arena_strndup(arena, target, (size_t)length)) : ".";
}

FileWriter *
file_create(Arena *arena, const char *path)
{
	FileWriter *writer = NEW(arena, FileWriter);
	*writer = (FileWriter){.arena = arena, .path = resolve(arena, path), .fd = -1};
	writer->draft = draft_of(path);
	arena_defer(arena, discard, writer);
	struct stat status;
	bool is_there = stat(writer->path, &status) == 0;
	if (is_there && S_ISDIR(status.st_mode))
		fail_environment(NULL, "cannot write %s: it is a folder", path);
	if (is_there && !S_ISREG(status.st_mode)) {
		writer->fd = open(writer->path, O_WRONLY | O_CLOEXEC);
	} else {
		writer->fd = open_unnamed(arena, writer->draft < 0 ? file_folder(arena, writer->path)
		                                                   : draft_folder(arena, path));
		writer->is_unnamed = writer->fd >= 0;
		if (!writer->is_unnamed && writer->draft < 0)
			writer->fd = make_beside(arena, writer->path, NULL, &writer->temporary);
	}
	if (writer->fd < 0)
		fail_write(path, errno);
	return writer;
}

static void
write_all(FileWriter *writer, const unsigned char *data, size_t size)
{
	while (size > 0) {
		ssize_t put = write(writer->fd, data, size);
		if (put < 0 && errno != EINTR)
			fail_writer(writer);
		if (put > 0) {
			data += put;
			size -= (size_t)put;
		}
	}
}

void
file_put(FileWriter *writer, const void *data, size_t size)
{
	writer->position += size;
	if (size >= sizeof writer->buffer - writer->used) {
		write_all(writer, writer->buffer, writer->used);
		writer->used = 0;
	}
	if (size >= sizeof writer->buffer) {
		write_all(writer, data, size);
	} else if (size > 0) {
		memcpy(writer->buffer + writer->used, data, size);
		writer->used += size;
	}
}

uint64_t
file_position(const FileWriter *writer)
{
	return writer->position;
}

void
file_commit(FileWriter *writer)
{
	Arena *arena = writer->arena;
	write_all(writer, writer->buffer, writer->used);
	int fd = writer->fd;
	if (writer->draft >= 0 && dup3(fd, writer->draft, O_CLOEXEC) < 0)
		fail_writer(writer);
	if (writer->is_unnamed && writer->draft < 0 &&
	    !link_unnamed(arena, descriptor_path(arena, fd), writer->path))
		fail_writer(writer);
	writer->fd = -1;
	bool is_done = close(fd) == 0;
	if (writer->temporary && is_done)
		is_done = rename_litter(writer->temporary, writer->path);
	if (!is_done)
		fail_write(writer->path, errno);
}

void
file_write(Arena *arena, const char *path, const void *data, size_t size)
{
	FileWriter *writer = file_create(arena, path);
	file_put(writer, data, size);
	file_commit(writer);
}

/* ---- drafts ---- */

static void
close_draft(void *handle)
{
	name_draft((int)(intptr_t)handle, NULL);
	close((int)(intptr_t)handle);
}

static void
remove_draft(void *path)
{
	unlink(path);
	litter_remove(path);
}

/* Where a draft can lie on the disk of what it will be: beside it, or anywhere for a device. */
static const char *
place_for(Arena *arena, const char *path)
{
	struct stat status;
	if (stat(path, &status) != 0 || S_ISREG(status.st_mode))
		return resolve(arena, path);
	const char *folder = getenv("TMPDIR");
	return arena_printf(arena, "%s/tilewright", folder && *folder ? folder : "/tmp");
}

const char *
file_draft(Arena *arena, const char *path)
{
	const char *place = place_for(arena, path), *draft;
	int fd = open_unnamed(arena, file_folder(arena, place));
	if (fd >= 0) {
		arena_defer(arena, close_draft, (void *)(intptr_t)fd);
		name_draft(fd, arena_strdup(arena, path));
		return descriptor_path(arena, fd);
	}
	fd = make_beside(arena, place, NULL, &draft);
	if (fd < 0)
		fail_write(path, errno);
	close(fd);
	arena_defer(arena, remove_draft, (void *)(uintptr_t)draft);
	return draft;
}

void
file_publish(Arena *arena, const char *draft, const char *path)
{
	struct stat status;
	const char *place = resolve(arena, path);
	if (stat(place, &status) == 0 && !S_ISREG(status.st_mode)) {
		Bytes bytes = file_map(arena, draft);
		file_write(arena, path, bytes.data, bytes.size);
		return;
	}
	bool is_done =
		draft_of(draft) < 0 ? rename_litter(draft, place) : link_unnamed(arena, draft, place);
	if (!is_done)
		fail_write(path, errno);
}
