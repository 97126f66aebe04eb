/* The manifest is read, its lists are changed, and the file is written whole behind it. */
#include "driver/parts.h"

#include <errno.h>
#include <string.h>

#include "base/vec.h"
#include "driver/files.h"

static void
close_bundle(void *bundle)
{
	bundle_close(bundle);
}

_Noreturn void
bundle_refuse(const Loc *loc, const char *error)
{
	if (errno == ENOMEM)
		fail_environment(loc, "%s", error);
	fail(loc, "%s", error);
}

const Bundle *
bundle_get(Arena *arena, const char *path, Bytes bytes, BundleVerify verify)
{
	char error[512];
	FileKind kind = file_kind(path, bytes);
	Bundle *bundle = NEW(arena, Bundle);
	if (kind != FILE_BUNDLE && kind != FILE_ONNX)
		fail_as(FAIL_USAGE, NULL, "%s is a text, expected a bundle; try: tilewright print %s", path,
		        path);
	if (kind == FILE_ONNX && is_named_onnx(path))
		fail_as(FAIL_USAGE, NULL,
		        "%s is an ONNX model, expected a bundle; try: tilewright check %s, or compile or "
		        "print",
		        path, path);
	if (!bundle_open(bundle, bytes, verify, error, sizeof error))
		bundle_refuse(&(Loc){.file = path}, error);
	arena_defer(arena, close_bundle, bundle);
	return bundle;
}

static void
free_plan(void *plan)
{
	plan_free(plan);
}

const Plan *
bundle_plan(Arena *arena, const Bundle *bundle, int target)
{
	char error[512];
	Plan *plan;
	if (!bundle_read_plan(bundle, target, &plan, error, sizeof error))
		bundle_refuse(&(Loc){.file = bundle->manifest->targets[target].plan}, error);
	arena_defer(arena, free_plan, plan);
	return plan;
}

Bytes
bundle_part(Arena *arena, const char *path, const char *entry)
{
	char error[512];
	Bundle bundle;
	Bytes part = {NULL, 0};
	if (!bundle_open(&bundle, file_map(arena, path), BUNDLE_VERIFY_CODE, error, sizeof error))
		return part;
	const ZipEntry *found = zip_find(&bundle.zip, entry);
	if (found) {
		unsigned char *copy = NEW_N(arena, unsigned char, found->data.size + 1);
		memcpy(copy, found->data.data, found->data.size);
		part = (Bytes){copy, found->data.size};
	}
	bundle_close(&bundle);
	return part;
}

static void
free_pile(void *pile)
{
	pile_free(pile);
}

void
bundle_part_read(Arena *arena, const char *path, const char *what, Bytes part, const Record *record,
                 void *to)
{
	enum { LONGEST = 1 << 26 };
	char error[512];
	Pile *pile = NEW(arena, Pile);
	arena_defer(arena, free_pile, pile);
	JsonReader r = {pile, what, error, sizeof error, false};
	Json *json = json_parse(&r, (const char *)part.data, part.size, LONGEST);
	if (!r.failed)
		record_read(&(FieldReader){.json = &r}, record, json, to);
	json_free(json);
	if (r.failed)
		bundle_refuse(&(Loc){.file = path}, error);
}

void
bundle_keep(Arena *arena, const char *path, const char *folder)
{
	const Bundle *bundle = bundle_get(arena, path, file_map(arena, path), BUNDLE_VERIFY_ALL);
	for (int i = 0; i < bundle->zip.count; i++) {
		const ZipEntry *entry = &bundle->zip.entries[i];
		const char *name = arena_printf(arena, "%s/%s", folder, entry->name);
		file_make_folder(file_folder(arena, name));
		file_write(arena, name, entry->data.data, entry->data.size);
	}
}

/* ---- writing again ---- */

static const BundleChange *
find_change(int count, const BundleChange *changes, const char *entry)
{
	for (int i = 0; i < count; i++)
		if (strcmp(changes[i].entry, entry) == 0)
			return &changes[i];
	return NULL;
}

typedef VEC(ManifestPart) PartList;

static void
add_change(Arena *arena, PartList *list, const BundleChange *change)
{
	const Blob *data = change->data;
	if (data)
		vec_push(arena, list, (ManifestPart){change->entry, data->size, blob_hash(data)});
}

/* The manifest's parts as they will be: what nothing changes keeps its hash. */
static PartList
list_parts(Arena *arena, const Bundle *bundle, int count, const BundleChange *changes)
{
	PartList list = {0};
	for (int i = 0; i < bundle->manifest->npart; i++) {
		const ManifestPart *part = &bundle->manifest->parts[i];
		const BundleChange *change = find_change(count, changes, part->entry);
		if (change)
			add_change(arena, &list, change);
		else
			vec_push(arena, &list, *part);
	}
	for (int i = 0; i < count; i++)
		if (!zip_find(&bundle->zip, changes[i].entry))
			add_change(arena, &list, &changes[i]);
	return list;
}

static const char *
changed_manifest(Arena *arena, const Manifest *old, const PartList *parts, int count,
                 const BundleChange *changes)
{
	Manifest manifest = *old;
	ManifestTarget *targets = NEW_N(arena, ManifestTarget, old->ntarget + 1);
	for (int t = 0; t < old->ntarget; t++) {
		targets[t] = old->targets[t];
		for (int i = 0; i < count; i++)
			if (changes[i].packed_for && strcmp(targets[t].device, changes[i].packed_for) == 0) {
				targets[t].packed = changes[i].entry;
				manifest.only_packed = changes[i].only_packed;
			} else if (changes[i].device && strcmp(targets[t].kernels, changes[i].entry) == 0) {
				targets[t].device = changes[i].device;
				targets[t].needs = changes[i].needs;
			}
	}
	manifest.targets = targets;
	manifest.parts = parts->data;
	manifest.npart = parts->count;
	Buf json = {.arena = arena};
	manifest_write(&json, &manifest);
	return buf_text(&json);
}

int64_t
bundle_amend(Arena *arena, const char *from, const char *to, int count, const BundleChange *changes)
{
	const Bundle *bundle = bundle_get(arena, from, file_map(arena, from), BUNDLE_VERIFY_CODE);
	PartList parts = list_parts(arena, bundle, count, changes);
	const char *manifest = changed_manifest(arena, bundle->manifest, &parts, count, changes);
	ZipWriter *zip = zip_create(arena, to);
	zip_add(zip, "manifest.json", manifest, strlen(manifest));
	for (int i = 0; i < parts.count; i++) {
		const char *entry = parts.data[i].entry;
		const BundleChange *change = find_change(count, changes, entry);
		if (change) {
			zip_add_blob(zip, entry, change->data);
		} else {
			Bytes same = zip_find(&bundle->zip, entry)->data;
			zip_add(zip, entry, same.data, same.size);
		}
	}
	return (int64_t)zip_commit(zip);
}
