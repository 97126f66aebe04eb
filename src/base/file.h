/* Files: mapped for reading, replaced whole for writing.
 *
 * A file gets its name when it is complete, so that a full disk or a crash leaves the old file or
 * none, and a process that is killed leaves no other.
 */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/fail.h"

typedef struct Bytes {
	const unsigned char *data;
	size_t size;
} Bytes;

/* Map a file for reading until the arena goes. "-" reads standard input. Fails with the reason. */
Bytes file_map(Arena *arena, const char *path);

/* The same, and whether it is mapped: pipes and standard input are read. */
Bytes file_map_or_read(Arena *arena, const char *path, bool *is_mapped);

/* Of a mapped file, for instance what was copied: the pages that lie in it are no memory of this
 * process any more. Who reads them again reads the file again. */
void file_forget(Bytes mapped);

/* The text of a file, terminated. */
const char *file_text(Arena *arena, const char *path);

/* Map `location`, relative to folder `root`, refusing absolute paths, ".." that leads out of it,
 * symbolic links in any component (each is opened on its own, never following one) and anything
 * that is not a regular file. For external data of models. */
Bytes file_map_beneath(Arena *arena, const char *root, const char *location, const Loc *loc);

typedef struct FileWriter FileWriter;

/* Begin a file; nothing appears at `path` before file_commit(). A writer not committed when the
 * arena goes is discarded. All three fail with FAIL_ENVIRONMENT (no space, no permission). */
FileWriter *file_create(Arena *arena, const char *path);
/* What messages call a file: a draft, which has no name yet, as it will be called. */
const char *file_shown(const char *path);
void file_put(FileWriter *writer, const void *data, size_t size);
uint64_t file_position(const FileWriter *writer);
void file_commit(FileWriter *writer);

void file_write(Arena *arena, const char *path, const void *data, size_t size);

/* A file on the disk of `path` that vanishes with the arena or the process: it is empty, is written
 * and read as any other by the path returned, in this process, and is `path` once published. */
const char *file_draft(Arena *arena, const char *path);
void file_publish(Arena *arena, const char *draft, const char *path);

bool file_exists(const char *path);
bool file_is_folder(const char *path);
bool file_same(const char *a, const char *b);            /* both are there, and are one file */
void file_make_folder(const char *path);                 /* with parents */
const char *file_folder(Arena *arena, const char *path); /* "." when there is none */
const char *file_base(const char *path);

/* A new private folder in $TMPDIR, which goes with the arena and all that is in it; one that a
 * killed process left goes when the next is made. */
const char *file_temporary_folder(Arena *arena);

/* SHA-256 as 64 hex digits. */
const char *sha256_hex(Arena *arena, const void *data, size_t size);

/* What must not outlive the process: temporary files and folders, outputs that are not complete,
 * and programs that it started, which would write more of them. Whoever makes one lists it, and
 * takes it off when it is gone or complete; a signal handler removes what is listed.
 */

/* `path` is copied; a long one, or one too many, is not listed. A folder goes with its files. */
void litter_add(const char *path);
void litter_remove(const char *path);

/* The processes of a group, by its number. */
void litter_add_group(int group);
void litter_remove_group(int group);

/* End the groups listed, then remove the files and folders; may be called in a signal handler. */
void litter_sweep(void);

#endif
