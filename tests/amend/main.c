/* Bundles as somebody else might have made them, hashes and all:
 *
 *     amend FROM.twb TO.twb drop ENTRY           without this part, as an older version wrote it
 *     amend FROM.twb TO.twb xor ENTRY AT VALUE   with one byte of it changed
 *     amend FROM.twb TO.twb set ENTRY FILE       with what is in the file
 *     amend FROM.twb TO.twb target DEVICE NEEDS  its first target is for this device
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/zip.h"
#include "bundle/bundle.h"
#include "driver/parts.h"

typedef struct Job {
	Arena *arena;
	char **argv;
} Job;

/* The part with one byte changed, or what stands in a file. */
static Bytes
changed_part(const Job *job, Bytes part)
{
	char **argv = job->argv;
	if (strcmp(argv[3], "set") == 0)
		return file_map(job->arena, argv[5]);
	size_t at = (size_t)atoll(argv[5]);
	if (at >= part.size)
		fail(NULL, "%s has %zu bytes", argv[4], part.size);
	unsigned char *data = arena_memdup(job->arena, part.data, part.size);
	data[at] ^= (unsigned char)atoi(argv[6]);
	return (Bytes){data, part.size};
}

/* The manifest is the first entry. */
static void
name_target(const Job *job)
{
	char error[300];
	Bundle bundle;
	Buf json = {.arena = job->arena};
	if (!bundle_open(&bundle, file_map(job->arena, job->argv[1]), BUNDLE_VERIFY_ALL, error,
	                 sizeof error))
		fail(NULL, "%s", error);
	Manifest manifest = *bundle.manifest;
	ManifestTarget *targets = arena_memdup(job->arena, manifest.targets,
	                                       (size_t)manifest.ntarget * sizeof *manifest.targets);
	targets[0].device = job->argv[4];
	targets[0].needs = job->argv[5];
	manifest.targets = targets;
	manifest_write(&json, &manifest);
	ZipWriter *zip = zip_create(job->arena, job->argv[2]);
	zip_add(zip, bundle.zip.entries[0].name, buf_text(&json), json.size);
	for (int i = 1; i < bundle.zip.count; i++)
		zip_add(zip, bundle.zip.entries[i].name, bundle.zip.entries[i].data.data,
		        bundle.zip.entries[i].data.size);
	zip_commit(zip);
	bundle_close(&bundle);
}

static void
amend(void *arg)
{
	Job *job = arg;
	char **argv = job->argv;
	if (strcmp(argv[3], "target") == 0) {
		name_target(job);
		return;
	}
	Blob changed;
	BundleChange change = {.entry = argv[4]};
	Bytes part = bundle_part(job->arena, argv[1], argv[4]);
	if (!part.data)
		fail(NULL, "%s has no part %s", argv[1], argv[4]);
	if (strcmp(argv[3], "drop") != 0) {
		Bytes data = changed_part(job, part);
		changed = blob_of(job->arena, data.data, data.size);
		change.data = &changed;
	}
	bundle_amend(job->arena, argv[1], argv[2], 1, &change);
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *verb;
		int argc;
	} verbs[] = {{"drop", 5}, {"xor", 7}, {"set", 6}, {"target", 6}};
	Failure failure;
	bool is_known = false;
	for (size_t i = 0; argc > 4 && i < countof(verbs); i++)
		is_known = is_known || (strcmp(argv[3], verbs[i].verb) == 0 && argc == verbs[i].argc);
	if (!is_known) {
		fprintf(stderr, "usage: amend FROM TO drop ENTRY | xor ENTRY AT VALUE | set ENTRY FILE | "
		                "target DEVICE NEEDS\n");
		return 2;
	}
	Job job = {arena_new("amend"), argv};
	bool is_done = try_run(amend, &job, &failure);
	if (!is_done)
		fprintf(stderr, "%s\n", failure.text);
	arena_free(job.arena);
	return is_done ? 0 : 1;
}
