/* Files: mapped for reading; paths. Writing is file_write.c. */
#include "base/file.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
	fail_environment(loc, "cannot %s %s: %s", act, file_shown(path), strerror(reason));
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
file_map_or_read(Arena *arena, const char *path, bool *is_mapped)
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
	*is_mapped = S_ISREG(status.st_mode) && !is_input;
	if (!*is_mapped)
		return read_stream(arena, name, fd);
	return map_regular(arena, NULL, name, fd, status.st_size);
}

Bytes
file_map(Arena *arena, const char *path)
{
	bool is_mapped;
	return file_map_or_read(arena, path, &is_mapped);
}

void
file_forget(Bytes mapped)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = ((uintptr_t)mapped.data + page - 1) / page * page;
	uintptr_t to = ((uintptr_t)mapped.data + mapped.size) / page * page;
	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
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

typedef VEC(const char *) Components;

/* The components of a path below a folder, ".." taken back: no component is a link, so that what
 * lies above a folder is what stands in front of it. */
static Components
find_components(Arena *arena, const char *location, const Loc *loc)
{
	Components names = {0};
	if (*location == 0 || *location == '/')
		fail(loc, "external data '%s' is not a relative path", location);
	char *rest = arena_strdup(arena, location);
	for (char *name; (name = strtok_r(rest, "/", &rest));) {
		bool is_up = strcmp(name, "..") == 0;
		if (is_up && names.count-- == 0)
			fail(loc, "external data '%s' leaves the model's folder", location);
		if (!is_up && strcmp(name, ".") != 0)
			vec_push(arena, &names, name);
	}
	if (names.count == 0)
		fail(loc, "external data '%s' names no file", location);
	return names;
}

Bytes
file_map_beneath(Arena *arena, const char *root, const char *location, const Loc *loc)
{
	Components names = find_components(arena, location, loc);
	int fd = open(root, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
	if (fd < 0)
		fail_file(loc, root, "open folder", -1);
	for (int i = 0; i < names.count; i++)
		fd = open_component(fd, names.data[i], i + 1 == names.count, location, loc);
	struct stat status;
	if (fstat(fd, &status) < 0)
		fail_file(loc, location, "examine", fd);
	if (!S_ISREG(status.st_mode)) {
		close(fd);
		fail(loc, "external data '%s' is not a regular file", location);
	}
	return map_regular(arena, loc, location, fd, status.st_size);
}

bool
file_exists(const char *path)
{
	return access(path, F_OK) == 0;
}

bool
file_is_folder(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool
file_same(const char *a, const char *b)
{
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
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
