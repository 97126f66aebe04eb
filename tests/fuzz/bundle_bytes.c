/* Bundles: any bytes are opened, or refused in a sentence. No code is loaded. The hashes of parts
 * would refuse most changes at once: those of the weights are not looked at, and a mutant is mostly
 * a bundle whose manifest says something else, packed as it should be. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "json.h"
#include "bundle/bundle.h"

static void
open_bundle(void *arg)
{
	FuzzCase *one = arg;
	char error[512] = "";
	Bundle bundle;
	bool is_open = bundle_open(&bundle, (Bytes){one->data, one->size}, BUNDLE_VERIFY_CODE, error,
	                           sizeof error);
	for (int i = 0; is_open && i < bundle.manifest->ntarget; i++) {
		Plan *plan;
		if (bundle_read_plan(&bundle, i, &plan, error, sizeof error))
			plan_free(plan);
		bundle_packed(&bundle, i);
	}
	if (is_open)
		bundle_close(&bundle);
	else if (!*error)
		fuzz_found("a bundle is refused without a word");
}

/* The reader wants what a mapped file has: an address at the start of a page. */
static unsigned char *
aligned_copy(const uint8_t *data, size_t size)
{
	unsigned char *aligned = aligned_alloc(ZIP_ALIGN, (size + ZIP_ALIGN) / ZIP_ALIGN * ZIP_ALIGN);
	return aligned ? memcpy(aligned, data, size) : NULL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *aligned = aligned_copy(data, size);
	if (aligned)
		fuzz_case(open_bundle, aligned, size, NULL);
	free(aligned);
	return 0;
}

/* ---- mutants ---- */

typedef struct Mutation {
	Arena *arena;
	ZipReader zip;
	uint64_t *state;
	uint8_t *out;
	size_t most, size; /* size: of what was made, 0 for nothing */
} Mutation;

/* The parts again, the first one changed. */
static void
pack_again(void *arg)
{
	enum { ROOM = 1 << 16 };
	Mutation *job = arg;
	const ZipEntry *manifest = &job->zip.entries[0];
	if (manifest->data.size > ROOM / 2)
		return;
	uint8_t *text = arena_alloc(job->arena, ROOM);
	memcpy(text, manifest->data.data, manifest->data.size);
	size_t size = fuzz_change_json(text, manifest->data.size, ROOM, job->state);
	if (!size)
		return;
	const char *folder = getenv("TMPDIR");
	const char *path =
		file_draft(job->arena, arena_printf(job->arena, "%s/fuzz.twb", folder ? folder : "/tmp"));
	ZipWriter *zip = zip_create(job->arena, path);
	zip_add(zip, manifest->name, text, size);
	for (int i = 1; i < job->zip.count; i++)
		zip_add(zip, job->zip.entries[i].name, job->zip.entries[i].data.data,
		        job->zip.entries[i].data.size);
	zip_commit(zip);
	Bytes made = file_map(job->arena, path);
	if (made.size > job->most)
		return;
	memcpy(job->out, made.data, made.size);
	job->size = made.size;
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	uint64_t state = seed;
	char error[256];
	Failure failure;
	Mutation job = {.state = &state, .out = data, .most = max_size};
	fuzz_random(&state);
	unsigned char *aligned = fuzz_random(&state) % 8 ? aligned_copy(data, size) : NULL;
	if (aligned && zip_open(&job.zip, (Bytes){aligned, size}, error, sizeof error)) {
		job.arena = arena_new("mutation");
		if (job.zip.count)
			try_run(pack_again, &job, &failure);
		arena_free(job.arena);
		zip_close(&job.zip);
	}
	free(aligned);
	return job.size ? job.size : fuzz_change_bytes(data, size, &state);
}
