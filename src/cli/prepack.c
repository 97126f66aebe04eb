/* Adding packed weights to a bundle: a session is prepared as for a run, which packs everything,
 * and the file is written again with one more part (runtime/bundle.h, packed/NAME.bin). The plain
 * weights stay: what the library finds no packed form for, another version of it for example, is
 * packed from them when sizes are bound.
 */
#include "cli/prepack.h"

#include <stdlib.h>
#include <string.h>

#include "cli/session.h"
#include "runtime/bundle.h"
#include "runtime/signature.h"

typedef struct Prepack {
	const Options *options;
	Arena *arena;
	const char *path, *device;
	Bytes store;
} Prepack;

/* Run under try_run(): a bundle for another machine cannot be prepared here, and need not be. */
static void
make_store(void *arg)
{
	Prepack *job = arg;
	size_t size = 0;
	Session *session = session_open(job->arena, job->path, job->options, NULL);
	session_inputs(session, job->options);
	Vendor *vendor = signature_vendor(session->bundle);
	void *store = vendor ? vendor_export(vendor, &size) : NULL;
	job->device = tw_target(session->bundle);
	if (!store)
		return;
	arena_defer(job->arena, free, store);
	job->store = (Bytes){store, size};
}

static const char *
entry_name(Arena *arena, const char *device)
{
	char *name = arena_printf(arena, "packed/%s.bin", device);
	for (char *c = name; *c; c++)
		if (*c == ':')
			*c = '-';
	return name;
}

/* The manifest with the new part at the end. */
static const char *
extend_manifest(const Prepack *job, const Manifest *old, const char *entry)
{
	Manifest manifest = *old;
	ManifestTarget *targets = NEW_N(job->arena, ManifestTarget, old->ntarget + 1);
	ManifestPart *parts = NEW_N(job->arena, ManifestPart, old->npart + 1);
	for (int i = 0; i < old->ntarget; i++) {
		targets[i] = old->targets[i];
		if (strcmp(targets[i].device, job->device) == 0)
			targets[i].packed = entry;
	}
	memcpy(parts, old->parts, (size_t)old->npart * sizeof *parts);
	parts[old->npart] =
		(ManifestPart){entry, job->store.size, hash128(job->store.data, job->store.size)};
	manifest.targets = targets;
	manifest.parts = parts;
	manifest.npart++;
	Buf json = {.arena = job->arena};
	manifest_write(&json, &manifest);
	return buf_text(&json);
}

static void
close_bundle(void *bundle)
{
	bundle_close(bundle);
}

int64_t
prepack_bundle(const Options *options, Arena *arena, const char *path)
{
	Prepack job = {.options = options, .arena = arena, .path = path};
	Failure failure;
	Bundle *bundle = NEW(arena, Bundle);
	char error[512];
	if (!try_run(make_store, &job, &failure) || job.store.size == 0)
		return 0;
	if (!bundle_open(bundle, file_map(arena, path), BUNDLE_VERIFY_CODE, error, sizeof error))
		fail_as(FAIL_BUG, NULL, "%s", error);
	arena_defer(arena, close_bundle, bundle);
	const char *entry = entry_name(arena, job.device);
	if (zip_find(&bundle->zip, entry))
		return 0;
	const char *manifest = extend_manifest(&job, bundle->manifest, entry);
	ZipWriter *zip = zip_create(arena, path);
	zip_add(zip, "manifest.json", manifest, strlen(manifest));
	for (int i = 1; i < bundle->zip.count; i++)
		zip_add(zip, bundle->zip.entries[i].name, bundle->zip.entries[i].data.data,
		        bundle->zip.entries[i].data.size);
	zip_add(zip, entry, job.store.data, job.store.size);
	zip_commit(zip);
	return (int64_t)job.store.size;
}
