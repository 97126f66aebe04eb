/* Bundle files by part: one read, or all written again with changes.
 *
 *     bundle_amend(arena, "m.twb", "m.twb", 1, (BundleChange[]){{"selftest.json", text}});
 */
#ifndef DRIVER_PARTS_H
#define DRIVER_PARTS_H

#include "base/blob.h"
#include "base/fail.h"
#include "bundle/bundle.h"
#include "bundle/fields.h"

/* Fail with what a reader of a part says; for lack of memory (errno) no file is to blame. */
_Noreturn void bundle_refuse(const Loc *loc, const char *error);

/* The bundle in these bytes of a file, and a plan of it, until the arena goes. Fail with what is
 * wrong with them. */
const Bundle *bundle_get(Arena *arena, const char *path, Bytes bytes, BundleVerify verify);
const Plan *bundle_plan(Arena *arena, const Bundle *bundle, int target);

/* A copy of a part, terminated; data NULL when there is no such part or no such bundle. */
Bytes bundle_part(Arena *arena, const char *path, const char *entry);

/* A part as a record, called `what` in messages; its texts live in the arena. Fails where it is
 * damaged. */
void bundle_part_read(Arena *arena, const char *path, const char *what, Bytes part,
                      const Record *record, void *to);

/* --keep: all parts of a bundle as files of this folder. */
void bundle_keep(Arena *arena, const char *path, const char *folder);

/* A part that is replaced where it stands, or added at the end. */
typedef struct BundleChange {
	const char *entry;
	const Blob *data;       /* NULL: it goes */
	const char *packed_for; /* the device whose packed weights these are; NULL: something else */
	int64_t only_packed;    /* with these packed weights: bytes of weights that are plain no more */
	const char *device; /* that runs these kernels instead of the target's; NULL: the same does */
	const char *needs;  /* … and what it must have */
} BundleChange;

/* Write bundle `from` as `to` (which may be the same) with these changes, sizes and hashes in the
 * manifest as they then are. Gives the bytes of the file. */
int64_t bundle_amend(Arena *arena, const char *from, const char *to, int count,
                     const BundleChange *changes);

#endif
