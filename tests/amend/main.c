/* Bundles as somebody else might have made them, hashes and all:
 *
 *     amend FROM.twb TO.twb drop ENTRY           without this part, as an older version wrote it
 *     amend FROM.twb TO.twb xor ENTRY AT VALUE   with one byte of it changed
 *     amend FROM.twb TO.twb set ENTRY FILE       with what is in the file
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/parts.h"

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

static void
amend(void *arg)
{
	Job *job = arg;
	char **argv = job->argv;
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
	} verbs[] = {{"drop", 5}, {"xor", 7}, {"set", 6}};
	Failure failure;
	bool is_known = false;
	for (size_t i = 0; argc > 4 && i < countof(verbs); i++)
		is_known = is_known || (strcmp(argv[3], verbs[i].verb) == 0 && argc == verbs[i].argc);
	if (!is_known) {
		fprintf(stderr, "usage: amend FROM TO drop ENTRY | xor ENTRY AT VALUE | set ENTRY FILE\n");
		return 2;
	}
	Job job = {arena_new("amend"), argv};
	bool is_done = try_run(amend, &job, &failure);
	if (!is_done)
		fprintf(stderr, "%s\n", failure.text);
	arena_free(job.arena);
	return is_done ? 0 : 1;
}
