/* Files: mapped for reading, replaced whole for writing. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/litter.h"

typedef struct Mapping {
	void *address;
	size_t size;
} Mapping;

static void
release_mapping(void *handle)
{
	Mapping *mapping = handle;
	munmap(mapping->address, mapping->size);
}

static void
release_descriptor(void *handle)
{
	close((int)(intptr_t)handle);
}

/* Fail with errno's reason, after closing `fd` (-1: none). */
_Noreturn static void
fail_file(const Loc *loc, const char *path, const char *act, int fd)
{
	int reason = errno;
	if (fd >= 0)
		close(fd);
	fail_environment(loc, "cannot %s %s: %s", act, path, strerror(reason));
}

/* Read a pipe or a terminal to its end. Takes the descriptor. */
static Bytes
read_stream(Arena *arena, const char *path, int fd)
{
	arena_defer(arena, release_descriptor, (void *)(intptr_t)fd);
	size_t size = 0, capacity = 1 << 16;
	char *data = arena_alloc(arena, capacity);
	for (;;) {
		if (size == capacity) {
			data = arena_grow(arena, data, size, capacity * 2);
			capacity *= 2;
		}
		ssize_t got = read(fd, data + size, capacity - size);
		if (got == 0)
			return (Bytes){(unsigned char *)data, size};
		if (got < 0 && errno != EINTR)
			fail_file(NULL, path, "read", -1);
		if (got > 0)
			size += (size_t)got;
	}
}

/* Map a regular file. Takes the descriptor: the mapping outlives it. */
static Bytes
map_regular(Arena *arena, const Loc *loc, const char *path, int fd, off_t file_size)
{
	if (file_size == 0) {
		close(fd);
		return (Bytes){(const unsigned char *)"", 0};
	}
	size_t size = (size_t)file_size;
	void *address = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (address == MAP_FAILED)
		fail_file(loc, path, "map", fd);
	close(fd);
	Mapping on_stack = {address, size};
	Mapping *mapping = arena_memdup(arena, &on_stack, sizeof on_stack);
	arena_defer(arena, release_mapping, mapping);
	return (Bytes){address, size};
}

Bytes
file_map(Arena *arena, const char *path)
{
	bool is_input = strcmp(path, "-") == 0;
	int fd = is_input ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	const char *name = is_input ? "standard input" : path;
	if (fd < 0)
		fail_file(NULL, name, "open", -1);
	struct stat status;
	if (fstat(fd, &status) < 0)
		fail_file(NULL, name, "examine", fd);
	if (S_ISDIR(status.st_mode)) {
		close(fd);
		fail_environment(NULL, "cannot open %s: it is a folder", name);
	}
	/* Standard input may be a regular file that is already read to the middle. */
	if (!S_ISREG(status.st_mode) || is_input)
		return read_stream(arena, name, fd);
	return map_regular(arena, NULL, name, fd, status.st_size);
}

const char *
file_text(Arena *arena, const char *path)
{
	Bytes bytes = file_map(arena, path);
	char *text = arena_alloc(arena, bytes.size + 1);
	if (bytes.size)
		memcpy(text, bytes.data, bytes.size);
	if (memchr(text, 0, bytes.size)) {
		Loc loc = {.file = path};
		fail(&loc, "expected a text, saw a zero byte");
	}
	return text;
}

/* Open one component below `folder` (which is closed) without following a link. */
static int
open_component(int folder, const char *name, bool is_last, const char *location, const Loc *loc)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_last ? O_NONBLOCK : O_DIRECTORY);
	int fd = openat(folder, name, flags);
	int reason = errno;
	struct stat status;
	bool is_link = fd < 0 && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	               S_ISLNK(status.st_mode);
	close(folder);
	if (is_link)
		fail(loc, "external data '%s' passes through the symbolic link '%s'", location, name);
	if (fd < 0)
		fail_environment(loc, "cannot open external data '%s': %s", location, strerror(reason));
	return fd;
}

Bytes
file_map_beneath(Arena *arena, const char *root, const char *location, const Loc *loc)
{
	if (*location == 0 || *location == '/')
		fail(loc, "external data '%s' is not a relative path", location);
	char *rest = arena_strdup(arena, location);
	for (char *name = rest, *end; name; name = end ? end + 1 : NULL) {
		end = strchr(name, '/');
		if (strncmp(name, "..", 2) == 0 && (name[2] == '/' || name[2] == 0))
			fail(loc, "external data '%s' leaves the model's folder", location);
	}
	int fd = open(root, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	if (fd < 0)
		fail_file(loc, root, "open folder", -1);
	for (char *name = strtok_r(rest, "/", &rest), *next; name; name = next) {
		next = strtok_r(NULL, "/", &rest);
		fd = open_component(fd, name, !next, location, loc);
	}
	struct stat status;
	if (fstat(fd, &status) < 0)
		fail_file(loc, location, "examine", fd);
	if (!S_ISREG(status.st_mode)) {
		close(fd);
		fail(loc, "external data '%s' is not a regular file", location);
	}
	return map_regular(arena, loc, location, fd, status.st_size);
}

struct FileWriter {
	const char *path;      /* where it will be */
	const char *temporary; /* where it is until then; NULL when written in place (a device) */
	int fd;                /* -1 once committed or discarded */
	size_t used;           /* of the buffer */
	uint64_t position;
	unsigned char buffer[1 << 16];
};

static void
remove_temporary(const FileWriter *writer)
{
	if (!writer->temporary)
		return;
	unlink(writer->temporary);
	litter_remove(writer->temporary);
}

/* Registered with the arena: what was not committed vanishes. */
static void
discard(void *handle)
{
	FileWriter *writer = handle;
	if (writer->fd < 0)
		return;
	close(writer->fd);
	writer->fd = -1;
	remove_temporary(writer);
}

_Noreturn static void
fail_write(FileWriter *writer)
{
	int reason = errno;
	discard(writer);
	fail_environment(NULL, "cannot write %s: %s", writer->path, strerror(reason));
}

/* Open a new file beside the path, under a name that nobody else uses. */
static void
open_temporary(Arena *arena, FileWriter *writer)
{
	for (int i = 0; i < 100; i++) {
		writer->temporary = arena_printf(arena, "%s.tmp%d.%d", writer->path, (int)getpid(), i);
		writer->fd = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (writer->fd >= 0)
			litter_add(writer->temporary);
		if (writer->fd >= 0 || errno != EEXIST)
			return;
	}
}

static void
release_text(void *handle)
{
	free(handle);
}

/* The path behind symbolic links, so that a link stays and its target is replaced. */
static const char *
resolve(Arena *arena, const char *path)
{
	char *real = realpath(path, NULL);
	if (!real)
		return arena_strdup(arena, path);
	arena_defer(arena, release_text, real);
	return real;
}

FileWriter *
file_create(Arena *arena, const char *path)
{
	FileWriter *writer = NEW(arena, FileWriter);
	writer->path = resolve(arena, path);
	writer->fd = -1;
	arena_defer(arena, discard, writer);
	struct stat status;
	bool is_there = stat(writer->path, &status) == 0;
	if (is_there && S_ISDIR(status.st_mode))
		fail_environment(NULL, "cannot write %s: it is a folder", path);
	if (is_there && !S_ISREG(status.st_mode))
		writer->fd = open(writer->path, O_WRONLY | O_CLOEXEC);
	else
		open_temporary(arena, writer);
	if (writer->fd < 0)
		fail_file(NULL, path, "write", -1);
	return writer;
}

static void
write_all(FileWriter *writer, const unsigned char *data, size_t size)
{
	while (size > 0) {
		ssize_t put = write(writer->fd, data, size);
		if (put < 0 && errno != EINTR)
			fail_write(writer);
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
	write_all(writer, writer->buffer, writer->used);
	int fd = writer->fd;
	writer->fd = -1;
	bool is_done =
		close(fd) == 0 && (!writer->temporary || rename(writer->temporary, writer->path) == 0);
	int reason = errno;
	if (writer->temporary && is_done)
		litter_remove(writer->temporary);
	if (is_done)
		return;
	remove_temporary(writer);
	fail_environment(NULL, "cannot write %s: %s", writer->path, strerror(reason));
}

void
file_write(Arena *arena, const char *path, const void *data, size_t size)
{
	FileWriter *writer = file_create(arena, path);
	file_put(writer, data, size);
	file_commit(writer);
}

bool
file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

void
file_make_folder(const char *path)
{
	char part[PATH_MAX];
	size_t length = strlen(path);
	if (length >= sizeof part)
		fail_environment(NULL, "cannot make folder %.80s...: its name is too long", path);
	for (size_t i = 1; i <= length; i++) {
		if (path[i] != '/' && path[i] != 0)
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0777) < 0 && errno != EEXIST)
			fail_environment(NULL, "cannot make folder %s: %s", part, strerror(errno));
	}
	struct stat status;
	if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode))
		fail_environment(NULL, "cannot make folder %s: a file is in its place", path);
}

const char *
file_folder(Arena *arena, const char *path)
{
	const char *slash = strrchr(path, '/');
	if (!slash)
		return ".";
	return slash == path ? "/" : arena_strndup(arena, path, (size_t)(slash - path));
}

const char *
file_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}
