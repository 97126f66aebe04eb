/* Bundles as somebody else might have made them, hashes and all:
 *
 *     amend FROM.twb TO.twb drop ENTRY           without this part, as an older version wrote it
 *     amend FROM.twb TO.twb xor ENTRY AT VALUE   with one byte of it changed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/parts.h"

typedef struct Job {
	Arena *arena;
	char **argv;
} Job;

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
	if (strcmp(argv[3], "xor") == 0) {
		size_t at = (size_t)atoll(argv[5]);
		if (at >= part.size)
			fail(NULL, "%s has %zu bytes", argv[4], part.size);
		unsigned char *data = arena_memdup(job->arena, part.data, part.size);
		data[at] ^= (unsigned char)atoi(argv[6]);
		changed = blob_of(job->arena, data, part.size);
		change.data = &changed;
	}
	bundle_amend(job->arena, argv[1], argv[2], 1, &change);
}

int
main(int argc, char **argv)
{
	Failure failure;
	bool is_drop = argc == 5 && strcmp(argv[3], "drop") == 0;
	if (!is_drop && (argc != 7 || strcmp(argv[3], "xor") != 0)) {
		fprintf(stderr, "usage: amend FROM TO drop ENTRY | xor ENTRY AT VALUE\n");
		return 2;
	}
	Job job = {arena_new("amend"), argv};
	bool is_done = try_run(amend, &job, &failure);
	if (!is_done)
		fprintf(stderr, "%s\n", failure.text);
	arena_free(job.arena);
	return is_done ? 0 : 1;
}
