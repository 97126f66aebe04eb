/* The cache on disk: FOLDER/ab/cdef... holds a head {magic, key, hash, size} and the contents.
 *
 * Nothing of a file is believed before its key and the XXH3 of its contents agree. Reading touches
 * the file's time, so the oldest are those unused for longest; when the total passes the limit,
 * they go until three quarters of it are left.
 */
#include "base/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

struct Cache {
	Arena *arena;
	const char *folder;   /* NULL: cannot be used */
	uint64_t limit, used; /* bytes; `used` is counted once, at the first store */
	bool is_counted, has_warned, is_silent;
};

typedef struct Head {
	char magic[8];
	Hash128 key, hash;
	uint64_t size;
} Head;

static const char MAGIC[8] = "TWCACHE1";

static const char *
default_folder(Arena *arena)
{
	const char *base = getenv("XDG_CACHE_HOME");
	if (base && *base == '/')
		return arena_printf(arena, "%s/tilewright", base);
	base = getenv("HOME");
	return base && *base == '/' ? arena_printf(arena, "%s/.cache/tilewright", base) : NULL;
}

Cache *
cache_open(Arena *arena, const char *folder, uint64_t limit_bytes)
{
	Cache *cache = NEW(arena, Cache);
	cache->arena = arena;
	cache->folder = folder ? arena_strdup(arena, folder) : default_folder(arena);
	cache->limit = limit_bytes;
	return cache;
}

const char *
cache_folder(const Cache *cache)
{
	return cache->folder;
}

void
cache_be_silent(Cache *cache)
{
	cache->is_silent = true;
}

static const char *
entry_path(const Cache *cache, Arena *arena, Hash128 key)
{
	return arena_printf(arena, "%s/%02x/%014llx%016llx", cache->folder, (unsigned)(key.high >> 56),
	                    (unsigned long long)(key.high & 0xFFFFFFFFFFFFFFull),
	                    (unsigned long long)key.low);
}

/* What try_run() passes through: the request and what came of it. */
typedef struct Job {
	Cache *cache;
	Arena *arena;
	const char *path;
	Head head;
	const void *data;
	Bytes found;
} Job;

static void
map_entry(void *arg)
{
	Job *job = arg;
	job->found = file_map(job->arena, job->path);
}

/* Whether the file is whole and of this key. */
static bool
is_right(Job *job, const struct stat *status, Hash128 key)
{
	Failure failure;
	/* A pipe or device in its place must not even be opened. */
	if (!S_ISREG(status->st_mode) ||
	    (uint64_t)status->st_size > job->cache->limit + sizeof job->head ||
	    !try_run(map_entry, job, &failure) || job->found.size < sizeof job->head)
		return false;
	memcpy(&job->head, job->found.data, sizeof job->head);
	job->found.data += sizeof job->head;
	job->found.size -= sizeof job->head;
	return memcmp(job->head.magic, MAGIC, sizeof MAGIC) == 0 && hash128_equal(job->head.key, key) &&
	       job->head.size == job->found.size &&
	       hash128_equal(job->head.hash, hash128(job->found.data, job->found.size));
}

bool
cache_find(Cache *cache, Arena *arena, Hash128 key, Bytes *found)
{
	struct stat status;
	if (!cache->folder)
		return false;
	Job job = {.cache = cache, .arena = arena, .path = entry_path(cache, arena, key)};
	if (lstat(job.path, &status) != 0)
		return false;
	if (!is_right(&job, &status, key)) {
		bool is_there = lstat(job.path, &status) == 0; /* not trimmed meanwhile */
		if (is_there && !cache->has_warned && !cache->is_silent)
			warn(NULL, "a damaged file of the cache is not used: %s", job.path);
		cache->has_warned |= is_there;
		return false;
	}
	utimensat(AT_FDCWD, job.path, NULL, 0);
	*found = job.found;
	return true;
}

typedef struct Old {
	const char *path;
	struct timespec time;
	uint64_t size;
} Old;

static int
compare_age(const void *a, const void *b)
{
	const Old *left = a, *right = b;
	if (left->time.tv_sec != right->time.tv_sec)
		return left->time.tv_sec < right->time.tv_sec ? -1 : 1;
	if (left->time.tv_nsec != right->time.tv_nsec)
		return left->time.tv_nsec < right->time.tv_nsec ? -1 : 1;
	return strcmp(left->path, right->path);
}

typedef VEC(Old) OldVec;

static void
close_folder(void *handle)
{
	closedir(handle);
}

/* Add the regular files of one two-letter folder. */
static void
list_folder(Arena *arena, const char *folder, OldVec *files)
{
	DIR *dir = opendir(folder);
	if (!dir)
		return;
	arena_defer(arena, close_folder, dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct stat status;
		const char *path = arena_printf(arena, "%s/%s", folder, entry->d_name);
		if (lstat(path, &status) == 0 && S_ISREG(status.st_mode))
			vec_push(arena, files, ((Old){path, status.st_mtim, (uint64_t)status.st_size}));
	}
}

/* Count what is there, and remove the oldest files if that is over the limit. */
static void
trim(Cache *cache, Arena *arena)
{
	OldVec files = {0};
	for (int i = 0; i < 256; i++)
		list_folder(arena, arena_printf(arena, "%s/%02x", cache->folder, (unsigned)i), &files);
	cache->used = 0;
	cache->is_counted = true;
	for (int i = 0; i < files.count; i++)
		cache->used += files.data[i].size;
	if (cache->used <= cache->limit)
		return;
	qsort(files.data, (size_t)files.count, sizeof *files.data, compare_age);
	for (int i = 0; i < files.count && cache->used > cache->limit / 4 * 3; i++)
		if (unlink(files.data[i].path) == 0)
			cache->used -= files.data[i].size;
}

static void
store_entry(void *arg)
{
	Job *job = arg;
	file_make_folder(file_folder(job->arena, job->path));
	FileWriter *writer = file_create(job->arena, job->path);
	file_put(writer, &job->head, sizeof job->head);
	file_put(writer, job->data, (size_t)job->head.size);
	file_commit(writer);
	job->cache->used += sizeof job->head + job->head.size;
	if (!job->cache->is_counted || job->cache->used > job->cache->limit)
		trim(job->cache, job->arena);
}

void
cache_store(Cache *cache, Hash128 key, const void *data, size_t size)
{
	if (!cache->folder || size > cache->limit)
		return;
	Arena *scratch = arena_new("cache");
	Job job = {.cache = cache, .arena = scratch, .data = data};
	job.path = entry_path(cache, scratch, key);
	memcpy(job.head.magic, MAGIC, sizeof MAGIC);
	job.head.key = key;
	job.head.hash = hash128(data, size);
	job.head.size = size;
	Failure failure;
	if (!try_run(store_entry, &job, &failure)) {
		if (!cache->is_silent)
			warn(NULL, "the cache is not used: %s", failure.text);
		cache->folder = NULL;
	}
	arena_free(scratch);
}
